"""The reference has everything: settings, commands, public names, environment variables, errors, keys of manifests."""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import pytest

import cuda_wheel
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


def page(name: str) -> str:
    """Return a page of the reference."""
    return (REFERENCE / name).read_text(encoding="utf-8")


def test_every_generated_part_is_in_a_page_and_current(site) -> None:
    pages = {path: path.read_text(encoding="utf-8") for path in (ROOT / "docs").rglob("*.md")}
    found = re.findall(r"^<!-- generated: (.+) -->$", "\n".join(pages.values()), re.MULTILINE)
    assert sorted(found) == sorted(site.GENERATED)
    stale = [path.name for path, text in pages.items() if site.filled(text) != text]
    assert stale == [], "run python scripts/docs_site.py"


def test_a_page_that_is_not_current_or_asks_for_an_unknown_part_is_an_error(site) -> None:
    with pytest.raises(ValueError, match=r"docs/a\.md is not what the code says"):
        site.on_page(None, "a", ["<!-- generated: commands -->\nold\n<!-- end of commands -->"])
    with pytest.raises(KeyError, match="nothing"):
        site.filled("<!-- generated: nothing -->\n<!-- end of nothing -->")


def test_every_key_is_described_with_its_default() -> None:
    text = page("settings.md")
    for item in (*fields(Config), *fields(ModuleConfig)):
        default = item.metadata["default"] and f"`{item.metadata['default']}`"
        assert f"| `{item.name.replace('_', '-')}` | {default} | {item.metadata['doc']} |" in text


def test_every_option_that_is_treated_specially_is_described() -> None:
    _, _, text = page("settings.md").partition("## Compiler options")
    for name in (*IGNORED, *REFUSED, *TRANSLATED):
        assert f"`{name}`" in text


def test_every_command_is_described_with_its_arguments(site) -> None:
    text = page("command-line.md")
    for name, what in COMMANDS.items():
        _, _, section = text.partition(f"\n### {name}\n")
        section = section.partition("\n### ")[0]
        assert what[1:] in section
        with pytest.raises(SystemExit):
            command_parser(name).parse_args([name, "--help"])
        for option in site._subparser(name)._actions:
            assert isinstance(option, site.argparse._HelpAction) or option.help in section
            assert all(f"`{each}`" in section for each in option.option_strings if each not in ("-h", "--help"))


def test_every_public_name_is_described_and_has_a_docstring() -> None:
    text = page("python-api.md")
    for name in cuda_wheel.__all__:
        assert f"\n### {name}\n" in text or name == "__version__"
    for module in ("torch", "torch.arithmetic", "jax", "cupy", "tuning"):
        for name in importlib.import_module(f"cuda_wheel.{module}").__all__:
            assert re.search(rf"^#+ {name}$|`{name}`", text, re.MULTILINE), f"{module}.{name}"
    for method in ("Kernel.launch", "Kernel.bind", "Global.write", "Module.unload"):
        assert f"\n#### {method}\n" in text


def test_every_environment_variable_is_described() -> None:
    text = (REFERENCE / "environment.md").read_text(encoding="utf-8")
    named = {"CONDA_PREFIX", "CUDAARCHS"}
    pattern = re.compile(r"environ(?:\.get\(|\[)\s*[\"']([A-Z_]+)[\"']|[\"'](CUDA_WHEEL_(?!COMPLEX)[A-Z_]*[A-Z])[\"']")
    for path in MODULES.values():
        named |= {match[1] or match[2] for match in pattern.finditer(path.read_text(encoding="utf-8"))}
    assert len(named) > 12
    systems = {
        "LOCALAPPDATA",
        "TRITON_CACHE_DIR",
        "TRITON_DEFAULT_FP_FUSION",
        "XDG_CACHE_HOME",
        "SYSTEMROOT",
        "LD_LIBRARY_PATH",
        "GLIBC_TUNABLES",
        "MIMALLOC_ARENA_RESERVE",
        "PWD",
        "TMPDIR",
        "PATH",
    }
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


class Described(NamedTuple):
    """A class.

    - item:

          d_ = 1

    end
    """

    size: "int" = 0  # noqa: UP037
    """Size in bytes."""

    @property
    def twice(self) -> int:
        """Twice the size."""
        return 2 * self.size

    def undescribed(self) -> None:
        pass

    def add(self, first: "int | None", /, *rest: int, kind: str = "a kind", also: str = "", **more: Any) -> int:  # noqa: UP037
        """Add numbers:

            $ not python

        Raises nothing.
        """
        return 0


def test_a_class_is_described_by_its_source(site) -> None:
    assert (
        importlib.import_module("python_reference").described(Described, level=2)
        == """\
## Described

```python
class Described(NamedTuple): ...
```

A class.

- item:

  ```python
  d_ = 1
  ```

end

- `size: int = 0`: Size in bytes.
- `twice: int`: Twice the size.

### Described.add

```python
def add(
    first: int | None,
    /,
    *rest: int,
    kind: str = "a kind",
    also: str = "",
    **more: Any,
) -> int: ...
```

Add numbers:

```text
$ not python
```

Raises nothing."""
    )


def test_the_usage_of_a_command_fits_the_screen_and_keeps_options_whole(site) -> None:
    line = "cuda-wheel x " + " ".join(f"[--option{n} VALUE{n}]" for n in range(9)) + " FILE [FILE ...]"
    lines = site._usage(line).split("\n")
    assert " ".join(each.strip() for each in lines) == line
    assert len(lines) > 2 and all(len(each) <= site.WIDTH and each.count("[") == each.count("]") for each in lines)


def test_titles_of_code_become_captions_and_the_home_page_gets_its_contents(site) -> None:
    home = """# Home

## Start

Text with [a link](start.md).

## Kinds

- [one](a/one.md), [two](two.md#part),
  and [three](three.md)

Later [four](four.md).

```toml title="x.toml"
a = 1
```
"""
    source = [home]
    site.on_page(None, "index", source)
    assert "```{code-block} toml\n:caption: x.toml\na = 1\n```" in source[0]
    assert source[0].endswith("\n```{toctree}\n:hidden:\n:caption: Kinds\n\na/one.md\nthree.md\n```\n")
    assert source[0].count("{toctree}") == 1


def test_the_start_of_the_readme_links_within_the_site(site, monkeypatch, tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text(
        "# Name\n\nSee [a page](docs/a/b.md#c), [a folder](fixtures/x), [a site](https://x.org).\n\n## Try it\n\nNo.\n"
    )
    monkeypatch.setattr(site, "DOCS", tmp_path / "docs")
    assert site.first_minute() == "See [a page](a/b.md#c), a folder, [a site](https://x.org)."


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
