"""The flowcharts of the documentation are drawn without a browser, and are readable."""

from __future__ import annotations

import importlib
from itertools import combinations
from types import ModuleType
from typing import Any
from xml.etree import ElementTree

import pytest

from tests.project.pages import PAGES, blocks
from tests.support.projects import ROOT

pytestmark = pytest.mark.one_toolchain

CHARTS = [block.text for page in PAGES[1:] for block in blocks(page) if block.language == "mermaid"]

CIRCLE = """flowchart TD
    a["first & second"] -- "yes" --> b{"a question of more than twenty-six characters?"}
    b --> c
    b --> d["short"]
    c -- again --> a
    a --> d
    d <--> e
"""


@pytest.fixture(scope="module")
def flowchart() -> ModuleType:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT / "scripts")
        return importlib.import_module("flowchart")


def drawn(flowchart: ModuleType, text: str) -> tuple[list[Any], list[Any], list[str]]:
    """Return the boxes and the paths of a chart's SVG, and its texts, with a box's lines in one."""
    root = ElementTree.fromstring(flowchart.svg(text))
    boxes = [each for each in root.iter("rect") if each.get("class") != "label"]
    lines = [(float(each.get("x") or 0), float(each.get("y") or 0), each.text or "") for each in root.iter("text")]
    texts = [" ".join(line for x, y, line in lines if inside(box, x, y)) for box in boxes]
    return boxes, list(root.findall("path")), texts + [line for _, _, line in lines]


def inside(box: Any, x: float, y: float) -> bool:
    left, top, width, height = (float(box.get(name)) for name in ("x", "y", "width", "height"))
    return left <= x <= left + width and top <= y <= top + height


@pytest.mark.parametrize("text", [*CHARTS, CIRCLE])
def test_every_node_edge_and_label_is_drawn_and_no_boxes_overlap(flowchart: ModuleType, text: str) -> None:
    chart = flowchart.parse(text)
    boxes, paths, texts = drawn(flowchart, text)
    assert len(boxes) == len(chart.boxes) and len(paths) == len(chart.edges) == text.count("-->")
    assert {" ".join(box.lines) for box in chart.boxes.values()} <= set(texts)
    assert {edge.label for edge in chart.edges} - {""} <= set(texts)
    for one, other in combinations(boxes, 2):
        x, y, width, height = (float(other.get(name)) for name in ("x", "y", "width", "height"))
        assert not any(inside(one, x + a * width, y + b * height) for a in (0, 0.5, 1) for b in (0, 0.5, 1))
    top = {" ".join(box.lines): float(each.get("y")) for box, each in zip(chart.boxes.values(), boxes, strict=True)}
    first = next(iter(chart.boxes.values()))
    assert min(top.values()) == top[" ".join(first.lines)]


def test_an_edge_that_closes_a_circle_leads_upwards_and_others_downwards(flowchart: ModuleType) -> None:
    _, paths, _ = drawn(flowchart, CIRCLE)
    upwards = [path.get("marker-end") is None for path in paths]
    both = [path.get("marker-start") is not None and path.get("marker-end") is not None for path in paths]
    assert upwards == [False, False, False, True, False, False]
    assert both == [False, False, False, False, False, True]


@pytest.mark.parametrize("line", ["    a --- b", '    subgraph one["two"]', "    a --> b --> c"])
def test_what_is_not_understood_is_an_error(flowchart: ModuleType, line: str) -> None:
    with pytest.raises(ValueError, match="no edge of a flowchart"):
        flowchart.svg(f"flowchart TD\n{line}\n")
    with pytest.raises(ValueError, match="begins with flowchart TD"):
        flowchart.svg("flowchart LR\n    a --> b\n")


def test_lines_of_a_box_end_where_the_author_ends_them(flowchart: ModuleType) -> None:
    chart = flowchart.parse('flowchart TD\n    a["one<br>a second line, which is longer than others"] --> b["c"]\n')
    assert chart.boxes["a"].lines == ["one", "a second line, which is longer than others"]
