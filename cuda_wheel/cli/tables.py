"""Print tables and styled lines: with rich if it is installed, else as plain text.

Make the report of `inspect --size`: tables of the sizes of images, and what dropping a target saves and costs.
"""

from __future__ import annotations

import os
import shutil
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from cuda_wheel.builder.manifest_writer.coverage import Cell, cells_text
from cuda_wheel.builder.report.quantities import count_text, size_text
from cuda_wheel.cli.arguments import printable
from cuda_wheel.inspect.sizes import CoverageLoss, ImageSize, ModuleSize, Size, TargetSize, sizes_by_target, total_size

__all__ = ["Column", "Line", "StyledText", "Table", "plain_text", "print_report", "size_report"]


class StyledText(NamedTuple):
    """Text with a style as rich names it, such as "black on green"; "" for none."""

    text: str
    style: str = ""


Line = str | tuple[StyledText, ...]
"""A line of text: either a plain string, or a tuple of parts. Each part is a `StyledText`: a string and its style, such
as "black on green"."""


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
    """True to draw the table without borders, as narrow as plain text."""


def print_report(items: Sequence[Table | Line]) -> None:
    """Print tables and lines to standard output."""
    if any(isinstance(item, Table) and _is_too_wide(item) for item in items):
        print(_narrow_text(items))
        return
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

    # rich itself leaves out colours only: text that is bold or dim is written with escape sequences as well.
    console = Console(color_system=None if os.environ.get("NO_COLOR") else "auto")
    console.print(Group(*(rich_table(item) if isinstance(item, Table) else rich_text(item) for item in items)))


def _is_too_wide(table: Table) -> bool:
    """Return whether a table is wider than the terminal even if its cells are broken at spaces."""
    cells = zip(*([column.heading for column in table.columns], *table.rows), strict=True)
    widths = [max(map(len, " ".join(map(_plain_line, column)).split()), default=0) for column in cells]
    return sum(widths) + (2 if table.compact else 3) * len(widths) + 1 > shutil.get_terminal_size().columns


def _narrow_text(items: Iterable[Table | Line]) -> str:
    """Return tables and lines as text for a terminal that is too narrow for the tables: one line for each cell."""
    lines: list[str] = []
    for item in items:
        if not isinstance(item, Table):
            lines.append(_plain_line(item))
            continue
        lines += printable(item.title).split("\n")
        headings = [" ".join(column.heading.split()) for column in item.columns]
        for first, *others in item.rows:
            lines.append(_plain_line(first))
            shown = zip(headings[1:], map(_plain_line, others), strict=True)
            lines += [f"  {heading}: {text}" for heading, text in shown if text]
        lines += [*(printable(item.caption).split("\n") if item.caption else []), ""]
    width = shutil.get_terminal_size().columns
    return "\n".join(textwrap.fill(line, width, subsequent_indent="    ", break_on_hyphens=False) for line in lines)


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
    """Return one row of a table as lines of text. `cells` has the lines of each cell of the row; `widths` has the width
    of each column in characters."""
    pad = {"left": str.ljust, "center": str.center, "right": str.rjust}
    lines = []
    for number in range(max(map(len, cells))):
        texts = (
            pad[column.justify](cell[number] if number < len(cell) else "", width)
            for column, cell, width in zip(columns, cells, widths, strict=True)
        )
        lines.append("  ".join(texts).rstrip())
    return lines


CELL_TEXTS: dict[Cell, str] = {
    "native": "machine code",
    "jit": "PTX, compiled by the driver at first use",
    "link": "PTX, compiled by nvJitLink if it is installed",
    "unproven": "an image that is not known to load",
    "none": "no image",
    "unknown": "",
}
"""Cell -> phrase for the image that a GPU and driver get, for use in a sentence: "native" -> "machine code"."""


def size_report(modules: Sequence[ModuleSize], wheel_size: int | None) -> list[Table | Line]:
    """Return a table for each module, a table of all targets, and what dropping each target costs. `wheel_size` is the
    size of the wheel in bytes; None if the modules are not in a wheel."""
    targets, count = sizes_by_target(modules), len({module.found.name for module in modules})
    fatbins, manifests = (
        total_size(module.fatbin for module in modules),
        total_size(module.manifest for module in modules),
    )
    notes = [
        f"{count_text(count, 'module')}: fatbins {_both(fatbins)}, manifests {_both(manifests)}"
        + (
            ""
            if wheel_size is None
            else f"; the {'wheels have' if len(modules) > count else 'wheel has'} {size_text(wheel_size)}"
        ),
        '"installed" is the size of an image in its fatbin, "in a wheel" its size when deflated separately. In the '
        "wheel, images that have content in common take less. The saved sizes compare the fatbins with and without the "
        "target's images.",
    ]
    if any(target.unknown for target in targets):
        notes.append(
            "The size of an image in a compressed fatbin is unknown and counts as zero. To measure "
            "it, build without compression."
        )
    return [
        *map(_module_table, modules),
        _target_table(targets),
        *(line for target in targets for line in _loss_lines(target, count)),
        *notes,
    ]


def _both(size: Size) -> str:
    return f"{size_text(size.installed)} installed, {size_text(size.in_wheel)} in a wheel"


def _module_table(module: ModuleSize) -> Table:
    found = module.found
    alike: dict[str, list[ImageSize]] = {}
    for each in module.images:
        alike.setdefault(str(each.image), []).append(each)
    rows = [(name, *_sizes_text(images)) for name, images in alike.items()]
    columns = [Column("image"), *(Column(heading, "right") for heading in ("size", "installed", "in a wheel"))]
    of_variants = f" ({len(found.manifests)} variants)" if found.manifests[0].variant else ""
    return Table(found.label + of_variants, columns, rows, f"{found.fatbin}: {_both(module.fatbin)}")


def _sizes_text(images: Sequence[ImageSize]) -> tuple[str, str, str]:
    """Return three total sizes of images as text: (size, size when installed, size in a wheel).

    The first is the size before compression. The second is that of the images' byte ranges in fatbins; the third, that
    of these ranges when deflated. If an image is in a compressed fatbin, the second and third are "unknown".
    """
    known = [size for _, size in images if size is not None]
    size = size_text(sum(each.image.size for each in images))
    if len(known) < len(images):
        return size, "unknown", "unknown"
    total = total_size(known)
    return size, size_text(total.installed), size_text(total.in_wheel)


def _target_table(targets: Sequence[TargetSize]) -> Table:
    headings = ("images", "installed", "in a wheel", "without: saved", "saved in a wheel")
    rows = []
    for target in targets:
        known = target.unknown < target.images
        sizes = (size_text(size) if known else "unknown" for size in (*target.size, *target.saved))
        rows.append((str(target.target), str(target.images), *sizes))
    columns = [Column("target"), *(Column(heading, "right") for heading in headings)]
    return Table("all modules, by target", columns, rows, "")


def _loss_lines(target: TargetSize, modules: int) -> Iterator[str]:
    """Yield lines that say what would be lost if the images for a target were dropped.

    Each line names GPUs and drivers that would get a worse image or no image. If nothing is lost, one line says so.
    `target`: target to drop. `modules`: number of all modules.
    """
    for loss in target.lost:
        yield (
            f"without {target.target}{_modules_text(loss, modules)}: {CELL_TEXTS[loss.after]} instead of "
            f"{CELL_TEXTS[loss.before]} for {cells_text(loss.keys)}"
        )
    if target.loses_future_gpus:
        yield f"without {target.target}: no image for future GPUs"
    if not target.lost and not target.loses_future_gpus:
        yield f"without {target.target}: nothing is lost"


def _modules_text(loss: CoverageLoss, modules: int) -> str:
    """Return text that names the modules in `loss`: ", demo.scale and 2 more". Return "" if these are all modules.
    `modules`: number of all modules."""
    if len(loss.names) == modules:
        return ""
    more = len(loss.names) - 1
    return f", {loss.names[0]}" + (f" and {more} more" if more else "")
