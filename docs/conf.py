"""The documentation site: Sphinx with MyST, which reads the pages, and Furo. `nox -s docs` builds it."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "scripts")]

import docs_site  # noqa: E402

from cuda_wheel import __version__  # noqa: E402

project = "cuda-wheel"
version = release = __version__
root_doc = "index"
extensions = ["myst_parser", "sphinx.ext.autodoc"]

# The pages are Markdown that also reads well in the repository: no directives but code blocks.
myst_heading_anchors = 4

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_default_options = {"exclude-members": "__new__, __init__, count, index"}
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 90

html_theme = "furo"
html_title = "cuda-wheel"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
smartquotes = False  # quotes belong to the values in tables


def setup(app):  # type: ignore[no-untyped-def]
    """Let scripts/docs_site.py complete each page and each docstring, and check the site."""
    app.connect("source-read", docs_site.on_page)
    app.connect("autodoc-process-docstring", docs_site.on_docstring)
    app.connect("build-finished", docs_site.on_finished)
