"""The reference has everything: settings, commands, public names, environment variables, errors, keys of manifests."""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from types import ModuleType

import pytest

from cuda_wheel import runtime
from cuda_wheel.builder import errors as build_errors
from cuda_wheel.builder.config.compiler_options import IGNORED, REFUSED, TRANSLATED
from cuda_wheel.builder.config.settings import Config, ModuleConfig
from cuda_wheel.cli.main import COMMANDS, command_parser
from cuda_wheel.runtime import errors as load_errors
from tests.project.test_rooms import MODULES, tree_of
from tests.support.manifests import plain
from tests.support.projects import ROOT, copy_fixture

pytestmark = pytest.mark.one_toolchain
REFERENCE = ROOT / "docs" / "reference"


@pytest.fixture(scope="module")
def site() -> Iterator[ModuleType]:
    """Return the functions that complete pages for Sphinx."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT / "scripts")
        yield importlib.import_module("docs_site")


def page(site: ModuleType, name: str) -> str:
    """Return a page of the reference as it is in the site."""
    source = [(REFERENCE / name).read_text(encoding="utf-8")]
    site.on_page(None, f"reference/{name}", source)
    return source[0]


def test_every_generated_part_is_in_a_page_and_no_place_is_left(site) -> None:
    text = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "docs").rglob("*.md"))
    assert sorted(re.findall(r"\*Generated when the site is built: (.+)\.\*", text)) == sorted(site.GENERATED)
    assert "Generated when" not in "".join(page(site, path.name) for path in REFERENCE.glob("*.md"))
    with pytest.raises(KeyError, match="nothing"):
        site.filled("*Generated when the site is built: nothing.*")


def test_every_key_is_described_with_its_default(site) -> None:
    text = page(site, "settings.md")
    for item in (*fields(Config), *fields(ModuleConfig)):
        default = item.metadata["default"] and f"`{item.metadata['default']}`"
        assert f"| `{item.name.replace('_', '-')}` | {default} | {item.metadata['doc']} |" in text


def test_every_option_that_is_treated_specially_is_described(site) -> None:
    _, _, text = page(site, "settings.md").partition("## Compiler options")
    for name in (*IGNORED, *REFUSED, *TRANSLATED):
        assert f"`{name}`" in text


def test_every_command_is_described_with_its_arguments(site) -> None:
    text = page(site, "command-line.md")
    for name, what in COMMANDS.items():
        _, _, section = text.partition(f"\n### {name}\n")
        section = section.partition("\n### ")[0]
        assert what[1:] in section
        with pytest.raises(SystemExit):
            command_parser(name).parse_args([name, "--help"])
        for option in site._subparser(name)._actions:
            assert isinstance(option, site.argparse._HelpAction) or option.help in section
            assert all(f"`{each}`" in section for each in option.option_strings if each not in ("-h", "--help"))


def test_every_public_name_is_described_and_has_a_docstring(site) -> None:
    text = page(site, "python-api.md")
    for name in runtime.__all__:
        assert re.search(rf"^\.\. auto(?:function|class|exception):: cuda_wheel\.{name}$", text, re.MULTILINE)
        assert getattr(runtime, name).__doc__
    for name in ("torch", "torch.arithmetic", "jax", "cupy", "tuning"):
        assert f".. automodule:: cuda_wheel.{name}\n" in text


def test_every_environment_variable_is_described() -> None:
    text = (REFERENCE / "environment.md").read_text(encoding="utf-8")
    named = {"CONDA_PREFIX", "CUDAARCHS"}
    pattern = re.compile(r"environ(?:\.get\(|\[)\s*[\"']([A-Z_]+)[\"']|[\"'](CUDA_WHEEL_(?!COMPLEX)[A-Z_]*[A-Z])[\"']")
    for path in MODULES.values():
        named |= {match[1] or match[2] for match in pattern.finditer(path.read_text(encoding="utf-8"))}
    assert len(named) > 12
    systems = {"LOCALAPPDATA", "XDG_CACHE_HOME", "SYSTEMROOT", "LD_LIBRARY_PATH", "GLIBC_TUNABLES", "PWD", "TMPDIR"}
    missing = {name for name in named - systems if f"`{name}`" not in text}
    assert not missing


def test_every_error_is_described_by_its_name() -> None:
    text = (REFERENCE / "errors.md").read_text(encoding="utf-8")
    headings = " ".join(re.findall(r"^### (.+)$", text, re.MULTILINE)) + " CudaWheelError"
    classes = {
        name for name in (*load_errors.__all__, *build_errors.__all__) if name[0].isupper() and not name.isupper()
    }
    assert {name for name in classes if not re.search(rf"\b{name}\b", headings)} == set()


def test_messages_in_the_page_of_errors_are_those_of_the_code() -> None:
    text = (REFERENCE / "errors.md").read_text(encoding="utf-8")
    messages = re.findall(r"^\| `(.+?)` \|", text, re.MULTILINE)
    assert len(messages) > 15
    known = "\n".join(
        message_of(node)
        for tree in map(tree_of, MODULES)
        for node in ast.walk(tree)
        if isinstance(node, (ast.Constant, ast.JoinedStr))
    )
    for message in messages:
        for part in filter(str.strip, message.split("…")):
            assert part.strip(" :.[]") in known, f"{message}: no message has {part!r}"


def message_of(node: ast.AST) -> str:
    """Return the text of a string in the code, with "…" for what is computed. Patterns of messages lose their groups."""
    if isinstance(node, ast.JoinedStr):
        return "".join(message_of(each) if isinstance(each, ast.Constant) else "…" for each in node.values)
    text = node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""
    return re.sub(r"\\(.)", r"\1", text)


@pytest.mark.slow
def test_every_key_of_a_manifest_is_described(tmp_path: Path, cuda_wheel, extra: str) -> None:
    text = (REFERENCE / "manifest.md").read_text(encoding="utf-8")
    for fixture in ("saxpy", "plugin"):
        project = copy_fixture(fixture, tmp_path / fixture, extra)
        result = cuda_wheel("build", project, "-o", tmp_path / "out", CUDAARCHS="80-real")
        assert result.returncode == 0, result.stdout
    manifests = [plain(path.read_text()) for path in (tmp_path / "out").rglob("*.fatbin.json")]
    assert len(manifests) > 2
    assert {key for each in manifests for key in each if f"`{key}`" not in text} == set()


def test_docstrings_become_restructured_text(site) -> None:
    lines = [
        "Return `a | b`, or |x| of NAME_.",
        "",
        "    a = `b`",
        "    |c|",
        "",
        "- item",
        "  more:",
        "",
        "      d_ = 1",
        "end `e`",
    ]
    site.on_docstring(None, "function", "f", None, None, lines)
    assert lines == [
        "Return ``a | b``, or \\|x\\| of NAME\\_.",
        "",
        ".. code-block:: python",
        "",
        "    a = `b`",
        "    |c|",
        "",
        "- item",
        "  more:",
        "",
        "  .. code-block:: python",
        "",
        "      d_ = 1",
        "end ``e``",
    ]


def test_titles_of_code_become_captions_and_the_home_page_gets_its_contents(site) -> None:
    source = ['# Home\n\n## Kinds\n\n- [one](a/one.md) and [two](two.md#part)\n\n```toml title="x.toml"\na = 1\n```\n']
    site.on_page(None, "index", source)
    assert "```{code-block} toml\n:caption: x.toml\na = 1\n```" in source[0]
    assert ":caption: Kinds\n\na/one.md\n```" in source[0]


@pytest.mark.parametrize(
    "text",
    [
        '<script src="https://x.org/a.js"></script>',
        '<script type="module">import mermaid from "https://x.org/a.mjs";</script>',
        '<link rel="stylesheet" href="//x.org/a.css">',
        "<img alt='' src='http://x.org/a.png'>",
        "@font-face { src: url(https://x.org/a.woff2) }",
    ],
)
def test_what_a_page_loads_from_elsewhere_is_found(site, text: str) -> None:
    (found,) = site.loaded_from_elsewhere(f'<a href="https://x.org/">x</a> <script src="_static/a.js"></script> {text}')
    assert "x.org/a" in found
