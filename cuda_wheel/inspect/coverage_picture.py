"""Draw a coverage as SVG and HTML: GPUs in rows, drivers in columns."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from html import escape

from cuda_wheel.builder.describe.coverage import Cell, Coverage, Requirement
from cuda_wheel.builder.releases import GPUS
from cuda_wheel.inspect.coverage_report import CELL_LABELS, driver_groups, gap_lines, group_heading, several_names
from cuda_wheel.runtime.manifest import dotted

__all__ = ["coverage_to_html", "coverage_to_svg"]

FILLS: dict[Cell, str] = {
    "native": "#8fd19e",
    "jit": "#ffdf80",
    "link": "#9ecbff",
    "unproven": "#ffc9a3",
    "none": "#ff9a94",
    "unknown": "#f3f4f6",
}

ROW, HEADING, NAMES, COLUMN, MARGIN = 22, 46, 250, 138, 16
"""Sizes in pixels: the heights of a row and of the column headings, the widths of the GPUs' names and of a column, and
the margins."""

CHARACTER = 7
"""The width of a character in pixels, more than most fonts need on average."""


def coverage_to_svg(coverages: Sequence[Coverage], heading: str, requirement: Requirement) -> str:
    """Return an SVG picture with what the modules lack of a requirement, and what would help.

    The same arguments always give the same text.
    """
    width = NAMES + 2 * MARGIN + COLUMN * max(len(driver_groups(coverage)) for coverage in coverages)
    elements: list[str] = [_text(MARGIN, MARGIN + 14, heading, 'font-weight="600" font-size="15"')]
    y = MARGIN + ROW + 6
    for coverage in coverages:
        y = _add_grid(elements, coverage, y)
    for cell, (label, meaning) in CELL_LABELS.items():
        elements.append(_box(MARGIN, y, FILLS[cell], label, meaning))
        elements.append(_text(MARGIN + COLUMN + 6, y + 15, meaning))
        y += ROW
    for coverage in coverages:
        for number, line in enumerate(gap_lines(coverage, requirement)):
            y += ROW // 2 if number == 0 else 0
            for part in textwrap.wrap(line, (width - 3 * MARGIN) // CHARACTER, break_on_hyphens=False):
                elements.append(_text(2 * MARGIN if number else MARGIN, y + 15, part))
                y += ROW
    height = y + MARGIN
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        'font-family="system-ui, sans-serif" font-size="13" fill="#1f2328">'
    )
    return "\n".join([head, '<rect width="100%" height="100%" fill="white"/>', *elements, "</svg>"]) + "\n"


def coverage_to_html(coverages: Sequence[Coverage], heading: str, requirement: Requirement) -> str:
    """Return the SVG picture in an HTML page."""
    svg = coverage_to_svg(coverages, heading, requirement)
    return f'<!doctype html>\n<meta charset="utf-8">\n<title>coverage of {escape(heading)}</title>\n{svg}'


def _add_grid(elements: list[str], coverage: Coverage, y: int) -> int:
    """Append the elements of a coverage, from `y` downwards, and return where they end."""
    elements.append(_text(MARGIN, y + 14, several_names(coverage.names), 'font-weight="600"'))
    y += ROW
    groups = driver_groups(coverage)
    left = NAMES + MARGIN
    for column, group in enumerate(groups):
        for line, text in enumerate(group_heading(group)):
            elements.append(
                _text(left + column * COLUMN + COLUMN // 2, y + 16 + 17 * line, text, 'text-anchor="middle"')
            )
    y += HEADING
    for gpu in GPUS:
        elements.append(_text(MARGIN, y + 15, f"{gpu.name} {dotted(gpu.capability)}"))
        elements.append(_text(left - 8, y + 15, gpu.examples, 'text-anchor="end" fill="#656d76"'))
        for column, group in enumerate(groups):
            cell = coverage.cells[gpu.capability, group[0]]
            label, meaning = CELL_LABELS[cell]
            tooltip = f"{gpu.name} {gpu.examples}, {', '.join(group_heading(group))}: {meaning}"
            elements.append(_box(left + column * COLUMN, y, FILLS[cell], label, tooltip))
        y += ROW
    return y + MARGIN


def _box(x: int, y: int, fill: str, label: str, tooltip: str) -> str:
    width = COLUMN - 2
    text = _text(x + width // 2, y + 15, label, 'text-anchor="middle"') if label else ""
    shape = f'<rect x="{x}" y="{y}" width="{width}" height="{ROW - 2}" rx="3" fill="{fill}"/>'
    return f"<g><title>{escape(tooltip)}</title>{shape}{text}</g>"


def _text(x: int, y: int, text: str, attributes: str = "") -> str:
    return f'<text x="{x}" y="{y}" {attributes}>{escape(text)}</text>'.replace(" >", ">")
