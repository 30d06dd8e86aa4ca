"""Print tables and styled lines: with rich if it is installed, else as plain text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from cuda_wheel.cli.output import printable

__all__ = ["Column", "Line", "StyledText", "Table", "plain_text", "print_report"]


class StyledText(NamedTuple):
    """Text in a style of rich, such as "black on green"; plain text has no styles."""

    text: str
    style: str = ""


Line = str | tuple[StyledText, ...]


@dataclass(frozen=True)
class Column:
    """A column of a table; a heading may have several lines."""

    heading: str
    justify: Literal["left", "center", "right"] = "left"


@dataclass(frozen=True)
class Table:
    """A table with a title above it and a caption below it."""

    title: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Line]]
    caption: str | None = None
    compact: bool = False
    """Whether to draw it without lines, as narrow as plain text."""


def print_report(items: Sequence[Table | Line]) -> None:
    """Print tables and lines to standard output."""
    # Not at the top: rich is optional, and takes longer to import than the rest of the command line together.
    try:
        from rich.console import Console, Group
        from rich.table import Table as RichTable
        from rich.text import Text
    except ImportError:
        print(plain_text(items))
        return

    def rich_text(line: Line) -> Text:
        if isinstance(line, str):
            return Text(line)
        # A style of the whole text applies to the padding of its cell as well.
        return Text(*line[0]) if len(line) == 1 else Text.assemble(*line)

    def rich_table(table: Table) -> RichTable:
        caption = None if table.caption is None else Text(table.caption)
        result = RichTable(title=Text(table.title), caption=caption, title_justify="left", caption_justify="left")
        if table.compact:
            result.box, result.padding, result.pad_edge, result.caption = None, (0, 2, 0, 0), False, caption or Text()
        for column in table.columns:
            result.add_column(Text(column.heading), justify=column.justify)
        for row in table.rows:
            result.add_row(*map(rich_text, row))
        return result

    Console().print(Group(*(rich_table(item) if isinstance(item, Table) else rich_text(item) for item in items)))


def plain_text(items: Iterable[Table | Line]) -> str:
    """Return tables and lines as text without escape sequences; a table's columns are aligned by spaces."""
    blocks = (_plain_table(item) if isinstance(item, Table) else [_plain_line(item)] for item in items)
    return "\n".join(line for block in blocks for line in block)


def _plain_line(line: Line) -> str:
    return printable(line if isinstance(line, str) else "".join(part.text for part in line))


def _plain_table(table: Table) -> list[str]:
    """Return the lines of a table, with an empty line at the end."""
    rows = [[_plain_line(cell).split("\n") for cell in row] for row in table.rows]
    headings = [column.heading.split("\n") for column in table.columns]
    widths = [max(len(line) for row in (headings, *rows) for line in row[index]) for index in range(len(headings))]
    lines = _plain_row(table.columns, headings, widths)
    lines.append("  ".join("-" * width for width in widths))
    for row in rows:
        lines += _plain_row(table.columns, row, widths)
    caption = printable(table.caption).split("\n") if table.caption else []
    return [*printable(table.title).split("\n"), *lines, *caption, ""]


def _plain_row(columns: Sequence[Column], cells: Sequence[Sequence[str]], widths: Sequence[int]) -> list[str]:
    """Return the lines of a row; its cells may have different numbers of lines."""
    pad = {"left": str.ljust, "center": str.center, "right": str.rjust}
    lines = []
    for number in range(max(map(len, cells))):
        texts = (
            pad[column.justify](cell[number] if number < len(cell) else "", width)
            for column, cell, width in zip(columns, cells, widths, strict=True)
        )
        lines.append("  ".join(texts).rstrip())
    return lines
