"""Draw a coverage, GPUs in rows and drivers in columns: for a terminal, as SVG, as HTML."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from rich.console import Group
from rich.table import Table
from rich.text import Text

from cuda_wheel.builder.describe.coverage import Cell, Coverage
from cuda_wheel.builder.releases import GPUS, RELEASES
from cuda_wheel.inspect.coverage import columns
from cuda_wheel.runtime.manifest import Version, dotted

__all__ = [
    "terminal",
    "to_html",
    "to_svg",
]


WORDS: dict[Cell, tuple[str, str, str]] = {
    "native": ("native", "machine code", "green"),
    "jit": ("JIT", "compiled by the driver at first use", "yellow"),
    "link": ("nvJitLink", "compiled by nvJitLink, where that is installed", "cyan"),
    "none": ("none", "does not load", "red"),
    "unknown": ("", "the driver does not know the GPU", ""),
}
"""What is written in a cell, what it means, and its colour on a terminal."""


def _heading(drivers: Sequence[Version]) -> tuple[str, str]:
    """Return a column's CUDA versions and driver branches."""
    branches = {release.cuda: release.branch for release in RELEASES}
    ends = list(dict.fromkeys((drivers[0], drivers[-1])))
    numbers = [f"R{branches[cuda]}" if branches[cuda] else "later" for cuda in ends]
    return "CUDA " + " to ".join(map(dotted, ends)), " to ".join(numbers)


# --- on a terminal ----------------------------------------------------------------------------------


def terminal(coverages: Sequence[Coverage]) -> Group:
    """Return what rich prints: a table for each coverage, and what the cells mean."""
    meanings = [
        Text.assemble((f" {word} ", f"black on {colour}"), f" {text}") for word, text, colour in WORDS.values() if word
    ]
    return Group(*map(_table, coverages), *meanings)


def _table(coverage: Coverage) -> Table:
    table = Table(title=Text("\n".join(coverage.names)), title_justify="left", padding=(0, 1))
    table.add_column("GPU")
    table.add_column("", justify="right")
    groups = columns(coverage)
    for group in groups:
        table.add_column("\n".join(_heading(group)).replace("CUDA ", "CUDA\n"), justify="center")
    for gpu in GPUS:
        cells = [WORDS[coverage.cells[gpu.capability, group[0]]] for group in groups]
        name = Text.assemble(gpu.name, (f" {gpu.examples}", "dim"))
        texts = [Text(f" {word} ", f"black on {colour}") if word else "" for word, _, colour in cells]
        table.add_row(name, dotted(gpu.capability), *texts)
    return table


# --- as a picture -----------------------------------------------------------------------------------

FILLS: dict[Cell, str] = {
    "native": "#8fd19e",
    "jit": "#ffdf80",
    "link": "#9ecbff",
    "none": "#ff9a94",
    "unknown": "#f3f4f6",
}


ROW, HEAD, LEFT, COLUMN, GAP = 22, 46, 250, 138, 16
"""Sizes in pixels: a row's height, a heading's, the width of the GPUs' names, of a column, and of what is between."""


def to_svg(coverages: Sequence[Coverage]) -> str:
    """Return a picture: the same coverage gives the same text."""
    parts: list[str] = []
    y = GAP
    for coverage in coverages:
        y = _grid(parts, coverage, y)
    for cell, (word, meaning, _) in WORDS.items():
        parts.append(_box(GAP, y, COLUMN - 2, FILLS[cell], word, meaning))
        parts.append(_text(GAP + COLUMN + 6, y + 15, meaning))
        y += ROW
    width = LEFT + 2 * GAP + COLUMN * max(len(columns(coverage)) for coverage in coverages)
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{y + GAP}" viewBox="0 0 {width} {y + GAP}" '
        'font-family="system-ui, sans-serif" font-size="13" fill="#1f2328">'
    )
    return "\n".join([head, '<rect width="100%" height="100%" fill="white"/>', *parts, "</svg>"]) + "\n"


def _grid(parts: list[str], coverage: Coverage, y: int) -> int:
    """Add a coverage's cells to the parts of a picture, and return where they end."""
    for name in coverage.names:
        parts.append(_text(GAP, y + 14, name, 'font-weight="600"'))
        y += ROW
    groups = columns(coverage)
    for place, group in enumerate(groups):
        for line, text in enumerate(_heading(group)):
            middle = LEFT + GAP + place * COLUMN + COLUMN // 2
            parts.append(_text(middle, y + 16 + 17 * line, text, 'text-anchor="middle"'))
    y += HEAD
    for gpu in GPUS:
        parts.append(_text(GAP, y + 15, f"{gpu.name} {dotted(gpu.capability)}"))
        parts.append(_text(LEFT + GAP - 8, y + 15, gpu.examples, 'text-anchor="end" fill="#656d76"'))
        for place, group in enumerate(groups):
            cell = coverage.cells[gpu.capability, group[0]]
            hint = f"{gpu.name} {gpu.examples}, {', '.join(_heading(group))}: {WORDS[cell][1]}"
            parts.append(_box(LEFT + GAP + place * COLUMN, y, COLUMN - 2, FILLS[cell], WORDS[cell][0], hint))
        y += ROW
    return y + GAP


def _box(x: int, y: int, width: int, fill: str, text: str, hint: str) -> str:
    middle = _text(x + width // 2, y + 15, text, 'text-anchor="middle"') if text else ""
    shape = f'<rect x="{x}" y="{y}" width="{width}" height="{ROW - 2}" rx="3" fill="{fill}"/>'
    return f"<g><title>{escape(hint)}</title>{shape}{middle}</g>"


def _text(x: int, y: int, text: str, attributes: str = "") -> str:
    return f'<text x="{x}" y="{y}" {attributes}>{escape(text)}</text>'.replace(" >", ">")


def to_html(coverages: Sequence[Coverage]) -> str:
    """Return the picture as an HTML page."""
    title = escape(f"coverage of {coverages[0].names[0]}")
    return f'<!doctype html>\n<meta charset="utf-8">\n<title>{title}</title>\n{to_svg(coverages)}'
