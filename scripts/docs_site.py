"""Fill the reference pages of the documentation from the code, and turn Markdown into what Sphinx reads.

A page has a line `*Generated when the site is built: NAME.*`, which is replaced with the Markdown of NAME. Nothing that
the code says is written a second time by hand.
"""

from __future__ import annotations

import argparse
import inspect
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

from flowchart import svg

from cuda_wheel import runtime
from cuda_wheel.builder.config import compiler_options as option_table
from cuda_wheel.builder.config.settings import Config, ModuleConfig, Settings
from cuda_wheel.cli.main import COMMANDS, command_parser

__all__ = ["GENERATED", "filled", "loaded_from_elsewhere", "on_docstring", "on_finished", "on_page"]

_PLACE = re.compile(r"^\*Generated when the site is built: ([a-z ]+)\.\*$", re.MULTILINE)
_CHART = re.compile(r"^```mermaid\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_TITLED = re.compile(r'^```(\w+) title="([^"]+)"$', re.MULTILINE)


def on_page(app: Any, page: str, source: list[str]) -> None:
    """Replace the content of a page by the finished Markdown. Sphinx calls this, with the text as the only item of
    `source`."""
    text = filled(source[0]) + (contents(source[0]) if page == "index" else "")
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


def on_docstring(app: Any, what: str, name: str, value: Any, options: Any, lines: list[str]) -> None:
    """Turn a docstring from Markdown into reStructuredText: code in backticks, and indented examples."""
    written: list[str] = []
    example: int | None = None
    for line in lines:
        text = line.lstrip()
        indent = len(line) - len(text)
        if example is not None and text and indent < example:
            example = None
        before = _depth(next((each for each in reversed(written) if each), ""))
        if example is None and text and written[-1:] == [""] and indent >= before + 4:
            example = indent
            written += [" " * before + ".. code-block:: python", ""]
        written.append(line if example is not None else _MARKS.sub(_escaped, line))
    lines[:] = written


_MARKS = re.compile(r"`([^`]+)`|\||_(?!\w)")


def _escaped(match: re.Match[str]) -> str:
    """Return code in backticks in reStructuredText's quotes, and any other matched character with a backslash."""
    return f"``{match[1]}``" if match[1] else f"\\{match[0]}"


def _depth(line: str) -> int:
    """Return the column at which the text of a line begins; in a list, after the mark of the item."""
    return len(line) - len(re.sub(r"^ *(?:- )?", "", line))


def filled(markdown: str) -> str:
    """Return Markdown with the generated text in place of each line that asks for one. Raises KeyError for an unknown
    name."""
    return _PLACE.sub(lambda match: GENERATED[match[1]](), markdown)


def contents(home: str) -> str:
    """Return the tables of contents of the site: for each section of the home page, the pages that it links to."""
    sections = [section.partition("\n") for section in home.split("\n## ")[1:]]
    return "".join(
        f"\n```{{toctree}}\n:hidden:\n:caption: {heading}\n\n"
        + "\n".join(re.findall(r"\]\(([^)]+\.md)\)", links))
        + "\n```\n"
        for heading, _, links in sections
    )


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
    usage = " ".join(parser.format_usage().split()).removeprefix("usage: ")
    rows = [
        f"| {_code(*(action.option_strings or [action.metavar or action.dest]), _value_of(action))} | {action.help} |"
        for action in parser._actions
        if not isinstance(action, argparse._HelpAction)
    ]
    table = ["", "| argument | what it is |", "| --- | --- |", *rows] if rows else []
    return "\n".join([f"### {name}", "", f"{what[0].upper()}{what[1:]}.", "", f"```text\n{usage}\n```", *table])


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
    """Return the Sphinx directives for the public names of `cuda_wheel` of one kind: "function", "class" or
    "exception"."""
    values = {name: getattr(runtime, name) for name in sorted(runtime.__all__, key=str.lower)}
    return _directives(
        f".. auto{kind}:: cuda_wheel.{name}" + "\n   :members:" * (kind == "class")
        for name, value in values.items()
        if _kind(value) == kind
    )


def _kind(value: Any) -> str:
    if not inspect.isclass(value):
        return "function"
    return "exception" if issubclass(value, Exception) else "class"


def module_of(name: str) -> str:
    """Return the Sphinx directive for a module of `cuda_wheel` and the names that it exports."""
    return _directives([f".. automodule:: cuda_wheel.{name}\n   :members:\n   :imported-members:"])


def manifest_records() -> str:
    """Return the Sphinx directives for the records in a manifest that `cuda_wheel` itself does not export."""
    records = ["Manifest", "Target", "KernelInfo", "Parameter", "GlobalInfo", "External", "Carried"]
    return _directives([f".. autoclass:: cuda_wheel.runtime.manifest.{name}\n   :members:" for name in records])


def _directives(lines: Iterable[str]) -> str:
    return "```{eval-rst}\n" + "\n\n".join(lines) + "\n```"


GENERATED: dict[str, Callable[[], str]] = {
    "settings": lambda: settings_table(Config),
    "settings of modules": lambda: settings_table(ModuleConfig, without=Settings),
    "compiler options": nvcc_options,
    "commands": command_line,
    "functions": lambda: python_names("function"),
    "classes": lambda: python_names("class"),
    "exceptions": lambda: python_names("exception"),
    "operators of pytorch": lambda: module_of("torch"),
    "arithmetic": lambda: module_of("torch.arithmetic"),
    "operators of jax": lambda: module_of("jax"),
    "raw modules of cupy": lambda: module_of("cupy"),
    "tuning": lambda: module_of("tuning"),
    "records of manifests": manifest_records,
}
"""NAME in a page's line `*Generated when the site is built: NAME.*` -> function that returns the Markdown for it."""
