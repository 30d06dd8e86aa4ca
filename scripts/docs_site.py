"""Fill the reference pages of the documentation from the code, and turn Markdown into what Sphinx reads.

A page has the Markdown of NAME between `<!-- generated: NAME -->` and `<!-- end of NAME -->`, so that it reads well in
the repository too. Nothing that the code says is written by hand: `python scripts/docs_site.py` writes these parts, and
a page that is not current is an error in `nox -s docs` and in the tests.
"""

from __future__ import annotations

import argparse
import importlib
import inspect
import re
from collections.abc import Callable, Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

from flowchart import svg
from python_reference import described, with_fences

import cuda_wheel
from cuda_wheel.builder.config import compiler_options as option_table
from cuda_wheel.builder.config.settings import Config, ModuleConfig, NumbaConfig, Settings, TileConfig, TritonConfig
from cuda_wheel.cli.main import COMMANDS, command_parser
from cuda_wheel.runtime import manifest

__all__ = ["GENERATED", "filled", "loaded_from_elsewhere", "on_finished", "on_page"]

DOCS = Path(__file__).parents[1] / "docs"

WIDTH = 90
"""Characters of a line of code that the site shows whole on a screen of 1,280 pixels."""

_PLACE = re.compile(r"^<!-- generated: ([a-z ]+) -->\n.*?^<!-- end of \1 -->$", re.MULTILINE | re.DOTALL)
_CHART = re.compile(r"^```mermaid\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_TITLED = re.compile(r'^```(\w+) title="([^"]+)"$', re.MULTILINE)


def on_page(app: Any, page: str, source: list[str]) -> None:
    """Replace the content of a page by what Sphinx reads. Sphinx calls this, with the text as the only item of
    `source`. Raises ValueError if a generated part is not current."""
    if filled(source[0]) != source[0]:
        raise ValueError(f"docs/{page}.md is not what the code says: run python scripts/docs_site.py")
    text = source[0] + (contents(source[0]) if page == "index" else "")
    text = _CHART.sub(lambda match: f'<figure class="flowchart">\n{svg(match[1])}\n</figure>', text)
    source[0] = _TITLED.sub(_code_block, text)


def _code_block(match: re.Match[str]) -> str:
    """Return the opening lines of a code block, with the caption escaped for Markdown: `__init__.py` would be bold."""
    caption = match[2].replace("_", "\\_")
    return f"```{{code-block}} {match[1]}\n:caption: {caption}"


def on_finished(app: Any, exception: Exception | None) -> None:
    """Raise SphinxError if a page loads a part from another site, so that readers without a network would not see
    it."""
    from sphinx.errors import SphinxError  # inside: the tests of the other functions need no Sphinx

    loading = [
        f"{path.relative_to(app.outdir)} loads {loaded}"
        for path in sorted(Path(app.outdir).rglob("*.*"))
        if path.suffix in (".html", ".css")
        for loaded in loaded_from_elsewhere(path.read_text(encoding="utf-8"))
    ]
    if loading and exception is None:
        raise SphinxError("\n".join(loading))


def loaded_from_elsewhere(text: str) -> list[str]:
    """Return the addresses of other sites from which a page or a style sheet loads scripts, images or styles."""
    return ["".join(parts) for parts in _LOADED.findall(text)]


_LOADED = re.compile(
    r"""<(?:script|img|iframe|source)\b[^>]*\ssrc=["']((?:https?:)?//[^"']+)
    |<link\b(?=[^>]*rel=["'](?:stylesheet|preload|icon))[^>]*\shref=["']((?:https?:)?//[^"']+)
    |\bimport[^;"']{0,80}["'](https?://[^"']+)
    |url\(["']?((?:https?:)?//[^"')]+)""",
    re.VERBOSE,
)


def filled(markdown: str) -> str:
    """Return Markdown with each generated part as the code makes it now. Raises KeyError for an unknown name."""
    return _PLACE.sub(
        lambda match: f"<!-- generated: {match[1]} -->\n\n{GENERATED[match[1]]()}\n\n<!-- end of {match[1]} -->",
        markdown,
    )


def contents(home: str) -> str:
    """Return the tables of contents of the site: for each section of the home page that has a list of pages, these
    pages. Links in the other text of the home page are no part of them."""
    sections = [section.partition("\n") for section in home.split("\n## ")[1:]]
    pages = {heading: _LISTED.findall("".join(_ITEM.findall(text))) for heading, _, text in sections}
    return "".join(
        f"\n```{{toctree}}\n:hidden:\n:caption: {heading}\n\n" + "\n".join(listed) + "\n```\n"
        for heading, listed in pages.items()
        if listed
    )


_ITEM = re.compile(r"^- .*\n(?:  .*\n)*", re.MULTILINE)
_LISTED = re.compile(r"\]\(([^)#]+\.md)\)")


def first_minute() -> str:
    """Return the start of the README, up to the section for a clone, with links that lead within the site. A link to
    what the site lacks becomes its text."""
    text = (DOCS.parent / "README.md").read_text(encoding="utf-8")
    text = text.partition("\n")[2].partition("\n## Try it\n")[0].strip()
    return _LINK.sub(lambda link: f"[{link[1]}]({link[2]})" if link[2] else link[1], text)


_LINK = re.compile(r"\[([^]]+)\]\((?!https:|#)(?:docs/([^)]+)|[^)]+)\)")


def settings_table(cls: type, without: type | None = None) -> str:
    """Return the Markdown table of the settings in a dataclass, without those that the dataclass `without` has too."""
    shared = {item.name for item in fields(without)} if without else set()
    rows = [
        f"| `{item.name.replace('_', '-')}` | {item.metadata['default'] and '`' + item.metadata['default'] + '`'} "
        f"| {item.metadata['doc']} |"
        for item in fields(cls)
        if item.name not in shared
    ]
    return "\n".join(["| key | default | what it is |", "| --- | --- | --- |", *rows])


def nvcc_options() -> str:
    """Return the Markdown table of the nvcc and NVRTC options that the setting `options` translates, ignores or
    refuses."""
    return "\n".join(["| options | what happens |", "| --- | --- |", *_option_rows()])


def _option_rows() -> Iterator[str]:
    shown = [(", ".join(values), f"becomes {_code(*forms)}") for forms, values in _by_value(option_table.TRANSLATED)]
    shown += [(", ".join(values), f"ignored: {why}") for why, values in _by_value(option_table.IGNORED)]
    shown += [(", ".join(values), f"an error: {why}") for why, values in _by_value(option_table.REFUSED)]
    for names, what in shown:
        escaped = what.replace("|", "\\|")
        yield f"| {names} | {escaped} |"


def _by_value(table: dict[str, Any]) -> Iterator[tuple[Any, list[str]]]:
    """Yield each value in a table of options, with the options that have this value."""
    groups: dict[Any, list[str]] = {}
    for name, value in table.items():
        groups.setdefault(value, []).append(_code(name))
    yield from groups.items()


def command_line() -> str:
    """Return a Markdown section for each command: what it does, its usage, and a table of its arguments."""
    return "\n\n".join(_command_section(name, what) for name, what in COMMANDS.items())


def _command_section(name: str, what: str) -> str:
    parser = _subparser(name)
    usage = _usage(" ".join(parser.format_usage().split()).removeprefix("usage: "))
    rows = [
        f"| {_code(*(action.option_strings or [action.metavar or action.dest]), _value_of(action))} | {action.help} |"
        for action in parser._actions
        if not isinstance(action, argparse._HelpAction)
    ]
    table = ["", "| argument | what it is |", "| --- | --- |", *rows] if rows else []
    return "\n".join([f"### {name}", "", f"{what[0].upper()}{what[1:]}.", "", f"```text\n{usage}\n```", *table])


def _usage(line: str) -> str:
    """Return a line of usage on lines that the site shows whole; an option stays together with its value."""
    words = re.findall(r"\[[^]]*\](?: \.\.\.\])?|\S+", line)
    lines = [words[0]]
    for word in words[1:]:
        if len(lines[-1]) + 1 + len(word) > WIDTH:
            lines.append(f"    {word}")
        else:
            lines[-1] += f" {word}"
    return "\n".join(lines)


def _subparser(name: str) -> argparse.ArgumentParser:
    (action,) = (each for each in command_parser(name)._actions if isinstance(each, argparse._SubParsersAction))
    parser: argparse.ArgumentParser = action.choices[name]
    return parser


def _value_of(action: argparse.Action) -> str:
    takes_value = action.option_strings and action.nargs != 0
    return str(action.metavar or action.dest.upper()) if takes_value else ""


def _code(*words: str) -> str:
    return " ".join(f"`{word}`" for word in words if word)


def python_names(kind: str) -> str:
    """Return a Markdown section for each public name of `cuda_wheel` of one kind: "function", "class" or
    "exception"."""
    names = sorted((name for name in cuda_wheel.__all__ if name != "__version__"), key=str.lower)
    return "\n\n".join(
        described(value, level=3) for value in (getattr(cuda_wheel, name) for name in names) if _kind(value) == kind
    )


def _kind(value: Any) -> str:
    if not inspect.isclass(value):
        return "function"
    return "exception" if issubclass(value, Exception) else "class"


def module_of(name: str, level: int = 3) -> str:
    """Return the Markdown of a module of `cuda_wheel`: its docstring, and a section for each name that it exports.

    `level` is that of the sections' headings. Functions without a docstring, which are those of another function for
    `float`, are named at the end.
    """
    module = importlib.import_module(f"cuda_wheel.{name}")
    values = {each: getattr(module, each) for each in module.__all__}
    parts = [with_fences(inspect.cleandoc(module.__doc__ or ""))]
    parts += [described(value, level, constructor=True) for value in values.values() if value.__doc__]
    bare = [f"`{each}`" for each, value in values.items() if not value.__doc__]
    parts += [f"The same for `float`, as the C library computes it: {', '.join(bare)}."] * bool(bare)
    return "\n\n".join(parts)


def manifest_records() -> str:
    """Return a Markdown section for each record of a manifest that `cuda_wheel` itself does not export."""
    records = ["Manifest", "Target", "KernelInfo", "Parameter", "GlobalInfo", "External", "Carried"]
    return "\n\n".join(described(getattr(manifest, name), level=3) for name in records)


GENERATED: dict[str, Callable[[], str]] = {
    "first minute": first_minute,
    "settings": lambda: settings_table(Config),
    "settings of modules": lambda: settings_table(ModuleConfig, without=Settings),
    "settings of triton": lambda: settings_table(TritonConfig),
    "settings of numba": lambda: settings_table(NumbaConfig),
    "settings of tile": lambda: settings_table(TileConfig),
    "compiler options": nvcc_options,
    "commands": command_line,
    "functions": lambda: python_names("function"),
    "classes": lambda: python_names("class"),
    "exceptions": lambda: python_names("exception"),
    "operators of pytorch": lambda: module_of("torch"),
    "arithmetic": lambda: module_of("torch.arithmetic", level=4),
    "operators of jax": lambda: module_of("jax"),
    "raw modules of cupy": lambda: module_of("cupy"),
    "tuning": lambda: module_of("tuning"),
    "records of manifests": manifest_records,
}
"""NAME of a generated part of a page -> function that returns its Markdown."""


def main() -> None:
    """Write the generated parts of all pages, and print the pages that changed."""
    for path in sorted(DOCS.rglob("*.md")):
        text = path.read_text(encoding="utf-8")
        if filled(text) != text:
            path.write_text(filled(text), encoding="utf-8", newline="\n")
            print(path.relative_to(DOCS.parent))


if __name__ == "__main__":
    main()
