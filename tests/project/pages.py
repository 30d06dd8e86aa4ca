"""Read the code blocks of Markdown pages, and the projects that they show."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from tests.support.projects import ROOT

__all__ = ["PAGES", "Block", "anchors", "blocks", "name_of", "projects", "prose"]

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
"""Every page for users."""

_BLOCK = re.compile(r'^```(\w*)(?: title="([^"]+)")?\n(.*?)^```$', re.MULTILINE | re.DOTALL)


class Block(NamedTuple):
    """A code block: its language, the file that it is ("" for none), its text, and its first line in the page."""

    language: str
    title: str
    text: str
    line: int


def name_of(page: Path) -> str:
    """Return a page's path below the repository, for the names of tests."""
    return page.relative_to(ROOT).as_posix()


def blocks(page: Path) -> list[Block]:
    """Return the code blocks of a page."""
    text = page.read_text(encoding="utf-8")
    found = [Block(m[1], m[2] or "", m[3], text.count("\n", 0, m.start()) + 2) for m in _BLOCK.finditer(text)]
    assert 2 * len(found) == len(re.findall(r"^```", text, re.MULTILINE)), f"{page}: a block is not read"
    return found


def prose(page: Path) -> str:
    """Return a page without its code blocks."""
    return _BLOCK.sub("", page.read_text(encoding="utf-8"))


def projects(page: Path) -> list[dict[str, str]]:
    """Return the projects in a page, each as texts by path: one for each pyproject.toml.

    All share the page's other files. A package of which the page has no `__init__.py` gets an empty one.
    """
    titled = [each for each in blocks(page) if each.title]
    shared = {each.title: each.text for each in titled if each.title != "pyproject.toml"}
    packages = {match[1] for match in map(re.compile(r"(src/\w+)/").match, shared) if match}
    shared = {f"{package}/__init__.py": "" for package in packages} | shared
    return [shared | {each.title: each.text} for each in titled if each.title == "pyproject.toml"]


def anchors(markdown: str) -> set[str]:
    """Return the anchors of the headings of a page."""
    headings = re.findall(r"^#+ (.+)$", markdown, re.MULTILINE)
    plain = [re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading) for heading in headings]
    return {re.sub(r"[^\w -]", "", heading.lower()).strip().replace(" ", "-") for heading in plain}
