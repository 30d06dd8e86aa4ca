"""Draw a flowchart, written in the subset of Mermaid's language that the documentation uses, as SVG without a browser.

Nodes are in layers: each edge leads downwards, except edges that close a cycle. An edge that passes layers has a place
in each, and bends around the nodes there. Colours are those of the page, light or dark.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, field
from html import escape

__all__ = ["Chart", "parse", "svg"]

_NODE = r'(\w+)(?:(\[|\{)"([^"]+)"[\]}])?'
_ARROW = r'(?:-- "?([^"]+?)"? )?(<?)-->'
_LINE = re.compile(rf"^\s*{_NODE} {_ARROW} {_NODE}$")

CHARACTER, LINE, PADDING = 7.2, 17, 12
"""Width of a character, height of a line, and distance of text from the edge of its box, in pixels."""
BESIDE, BELOW = 20, 52
"""Minimum distance in pixels between two boxes of a layer, and distance between two layers."""


@dataclass
class Box:
    """A node, or the place where an edge passes through a layer; such a place has no lines of text."""

    lines: list[str]
    decides: bool = False
    layer: int = 0
    x: float = 0.0
    """Middle of the box, in pixels from the left."""
    label: str = ""
    """Label of the edge that ends in the box from above."""
    above: list[str] = field(default_factory=list)
    below: list[str] = field(default_factory=list)

    @property
    def width(self) -> float:
        return 2 * PADDING + CHARACTER * max(map(len, self.lines)) if self.lines else 0

    @property
    def room(self) -> float:
        """Width in pixels of the box or of its label, whichever is wider."""
        return max(self.width, _label_width(self.label))

    @property
    def height(self) -> float:
        return 2 * PADDING + LINE * len(self.lines)


@dataclass
class Edge:
    """An edge: names of the boxes on its way from top to bottom, its label, and whether its first and last end are
    arrows."""

    way: list[str]
    label: str
    arrows: tuple[bool, bool]


@dataclass
class Chart:
    """A flowchart: name -> box, and the edges."""

    boxes: dict[str, Box]
    edges: list[Edge]


def parse(text: str) -> Chart:
    """Return the flowchart of a text. Raises ValueError for a line that is not in the subset of Mermaid's language."""
    chart = Chart({}, [])
    head, *lines = text.strip().splitlines()
    if head != "flowchart TD":
        raise ValueError(f"a flowchart begins with flowchart TD, not with {head}")
    for line in lines:
        match = _LINE.match(line)
        if match is None:
            raise ValueError(f"no edge of a flowchart: {line}")
        start, shape, words, label, both, end, end_shape, end_words = match.groups()
        for name, kind, content in (start, shape, words), (end, end_shape, end_words):
            if content or name not in chart.boxes:
                chart.boxes[name] = Box(_lines_of(content or name), kind == "{")
        chart.edges.append(Edge([start, end], label or "", (bool(both), True)))
    return chart


def _lines_of(words: str) -> list[str]:
    """Return the lines of a box: those that `<br>` ends, or else the words wrapped."""
    return words.split("<br>") if "<br>" in words else textwrap.wrap(words, 26)


def svg(text: str) -> str:
    """Return the SVG of a flowchart, without empty lines."""
    chart = parse(text)
    _set_layers(chart)
    layers = _with_passages(chart)
    _order(chart, layers)
    _set_places(chart, layers)
    tops = _tops(chart, layers)
    width = max(box.x + box.room / 2 for box in chart.boxes.values()) + 1
    height = tops[-1] + max(chart.boxes[name].height for name in layers[-1]) + 1
    head = f'<svg class="flowchart" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" height="{height:.0f}">'
    arrow = '<path d="M0 0L8 4L0 8z"/></marker></defs>'
    marker = '<defs><marker id="arrow" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8"'
    drawn = [*_edges(chart, tops), *_boxes(chart, tops)]
    return "\n".join([head, f'{marker} orient="auto-start-reverse">{arrow}', *drawn, "</svg>"])


def _set_layers(chart: Chart) -> None:
    """Set each box's layer, below the boxes with edges to it. An edge that closes a cycle is reversed first."""
    done: set[str] = set()

    def visit(name: str, way: tuple[str, ...]) -> None:
        for edge in [each for each in chart.edges if each.way[0] == name]:
            if edge.way[1] in (*way, name):
                edge.way, edge.arrows = edge.way[::-1], edge.arrows[::-1]
            elif edge.way[1] not in done:
                visit(edge.way[1], (*way, name))
        done.add(name)

    for name in chart.boxes:
        if name not in done:
            visit(name, ())
    for _ in chart.boxes:
        for edge in chart.edges:
            start, end = (chart.boxes[name] for name in edge.way)
            end.layer = max(end.layer, start.layer + 1)


def _with_passages(chart: Chart) -> list[list[str]]:
    """Add a box without text for each edge in every layer that the edge passes. Return the names of the boxes of each
    layer."""
    for number, edge in enumerate(chart.edges):
        start, end = edge.way
        first, last = chart.boxes[start].layer + 1, chart.boxes[end].layer
        passages = {f"{number}:{layer}": Box([], layer=layer) for layer in range(first, last)}
        chart.boxes.update(passages)
        edge.way = [start, *passages, end]
        for upper, lower in zip(edge.way, edge.way[1:], strict=False):
            chart.boxes[upper].below.append(lower)
            chart.boxes[lower].above.append(upper)
        below = chart.boxes[edge.way[1]]
        below.label = max(below.label, edge.label, key=len)
    count = 1 + max(box.layer for box in chart.boxes.values())
    return [[name for name, box in chart.boxes.items() if box.layer == layer] for layer in range(count)]


def _order(chart: Chart, layers: list[list[str]]) -> None:
    """Sort the boxes of each layer by the mean position of their neighbours in the layers above or below, so that few
    edges cross."""
    place = {name: index for layer in layers for index, name in enumerate(layer)}
    for turn in range(12):
        down = turn % 2 == 0
        for layer in layers if down else reversed(layers):

            def middle(name: str, down: bool = down) -> float:
                others = chart.boxes[name].above if down else chart.boxes[name].below
                return sum(place[other] for other in others) / len(others) if others else place[name]

            layer.sort(key=middle)
            place.update({name: index for index, name in enumerate(layer)})


def _set_places(chart: Chart, layers: list[list[str]]) -> None:
    """Set the `x` of each box near the mean of its neighbours, with room between the boxes of a layer."""
    for turn in range(40):
        for layer in layers if turn % 2 == 0 else reversed(layers):
            boxes = [chart.boxes[name] for name in layer]
            wanted = [_middle(chart, box, turn) for box in boxes]
            # From both sides: what only ever moves to the right drifts.
            from_left = _apart(boxes, wanted)
            from_right = [-x for x in _apart(boxes[::-1], [-x for x in wanted[::-1]])][::-1]
            for box, left, right in zip(boxes, from_left, from_right, strict=True):
                box.x = (left + right) / 2
    start = min(box.x - box.room / 2 for box in chart.boxes.values()) - 1
    for box in chart.boxes.values():
        box.x -= start


def _middle(chart: Chart, box: Box, turn: int) -> float:
    others = (box.above if turn % 2 == 0 else box.below) or [*box.above, *box.below]
    return sum(chart.boxes[name].x for name in others) / len(others)


def _apart(boxes: list[Box], wanted: list[float]) -> list[float]:
    """Return the wanted middles of boxes, given from left to right, moved to the right where boxes would be too
    close."""
    places: list[float] = []
    for index, (box, x) in enumerate(zip(boxes, wanted, strict=True)):
        if places:
            x = max(x, places[-1] + (boxes[index - 1].room + box.room) / 2 + BESIDE)
        places.append(x)
    return places


def _tops(chart: Chart, layers: list[list[str]]) -> list[float]:
    """Return the upper edge of each layer, in pixels from the top."""
    tops = [1.0]
    for layer in layers[:-1]:
        tops.append(tops[-1] + max(chart.boxes[name].height for name in layer) + BELOW)
    return tops


def _edges(chart: Chart, tops: list[float]) -> Iterator[str]:
    labels = []
    for edge in chart.edges:
        path = ""
        for upper, lower in zip(edge.way, edge.way[1:], strict=False):
            start, end = chart.boxes[upper], chart.boxes[lower]
            # A passage is as high as its layer, so that the edge bends only between layers.
            bottom = tops[start.layer] + start.height if start.lines else tops[end.layer] - BELOW
            top = tops[end.layer]
            half = (bottom + top) / 2
            path += f"{'L' if path else 'M'}{start.x:.0f} {bottom:.0f}"
            path += f"C{start.x:.0f} {half:.0f} {end.x:.0f} {half:.0f} {end.x:.0f} {top:.0f}"
            if upper == edge.way[0] and edge.label:
                labels.append(_label(edge.label, end.x, top - 18))
        ends = [end for end, has in zip(("start", "end"), edge.arrows, strict=True) if has]
        yield f'<path d="{path}" ' + " ".join(f'marker-{end}="url(#arrow)"' for end in ends) + "/>"
    yield from labels


def _label_width(text: str) -> float:
    return 0.88 * CHARACTER * len(text) + 6 if text else 0


def _label(text: str, x: float, y: float) -> str:
    width = _label_width(text)
    back = f'<rect class="label" x="{x - width / 2:.0f}" y="{y - 9:.0f}" width="{width:.0f}" height="18"/>'
    return f'{back}<text class="label" x="{x:.0f}" y="{y + 4:.0f}">{escape(text)}</text>'


def _boxes(chart: Chart, tops: list[float]) -> Iterator[str]:
    for box in chart.boxes.values():
        if box.lines:
            x, y = box.x - box.width / 2, tops[box.layer]
            size = f'width="{box.width:.0f}" height="{box.height:.0f}" rx="{14 if box.decides else 4}"'
            lines = "".join(
                f'<text x="{box.x:.0f}" y="{y + PADDING + 13 + LINE * number:.0f}">{escape(line)}</text>'
                for number, line in enumerate(box.lines)
            )
            yield f'<rect x="{x:.0f}" y="{y:.0f}" {size}/>{lines}'
