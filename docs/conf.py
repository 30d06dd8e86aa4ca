"""The documentation site: Sphinx with MyST, which reads the pages, and Furo. `nox -s docs` builds it."""

from __future__ import annotations

import sys
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "scripts")]

import docs_site  # noqa: E402

from cuda_wheel import __version__  # noqa: E402

project = "cuda-wheel"
version = release = __version__
root_doc = "index"
extensions = ["myst_parser", "sphinx_copybutton"]

# The pages are Markdown that also reads well in the repository: no directives but code blocks.
myst_heading_anchors = 4

# The button copies commands without the prompt, and without their output.
copybutton_prompt_text = r"\$ "
copybutton_prompt_is_regexp = True

html_theme = "furo"
html_title = "cuda-wheel"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_copyright = False
smartquotes = False  # quotes belong to the values in tables

# `Source` of [project.urls] in pyproject.toml is the address of the repository. Without it, no page has a link to it.
project_urls = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"].get("urls", {})
repository = project_urls.get("Source", "").rstrip("/")
html_context = {"repository": repository}
if repository.startswith(("https://github.com/", "https://gitlab.com/")):  # the theme knows how these address files
    html_theme_options = {"source_repository": repository, "source_branch": "main", "source_directory": "docs/"}
templates_path = ["_templates"]
html_sidebars = {
    "**": [
        "sidebar/brand.html",
        "sidebar/version.html",
        "sidebar/search.html",
        "sidebar/scroll-start.html",
        "sidebar/navigation.html",
        "sidebar/scroll-end.html",
    ]
}


def setup(app):  # type: ignore[no-untyped-def]
    """Let scripts/docs_site.py complete each page, and check the site."""
    app.connect("source-read", docs_site.on_page)
    app.connect("build-finished", docs_site.on_finished)
