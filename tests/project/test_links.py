"""Links in the README and the documentation lead somewhere. `nox -s docs` checks those within the site as well."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.project.pages import PAGES, anchors, name_of, prose
from tests.project.test_rooms import MODULES
from tests.support.projects import ROOT

pytestmark = pytest.mark.one_toolchain


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_to_files_and_headings_exist(page: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", prose(page)):
        if target.startswith("https://"):
            continue
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        assert file.exists(), f"{name_of(page)} links to {target}"
        if page.is_relative_to(ROOT / "docs"):
            assert file.is_relative_to(ROOT / "docs"), f"{name_of(page)} links out of the site: {target}"
        if anchor:
            found = anchors(prose(file))
            assert anchor in found, f"{name_of(page)} links to {target}; there are {sorted(found)}"


def test_the_readme_is_short_and_links_to_every_kind_of_page() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert text.count("\n") <= 150
    for folder in ("tutorials", "how-to", "reference", "explanation"):
        assert f"](docs/{folder}/" in text


def test_the_home_page_links_to_every_page() -> None:
    home = (ROOT / "docs/index.md").read_text(encoding="utf-8")
    pages = [page.relative_to(ROOT / "docs").as_posix() for page in PAGES[2:]]
    assert [path for path in pages if path != "index.md" and f"]({path})" not in home] == []


def test_the_readmes_commands_are_those_of_ci() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    ci = (ROOT / ".ci/run").read_text(encoding="utf-8")
    sessions = set(re.findall(r"nox -s (\w+)", readme + (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")))
    defined = set(re.findall(r"^def (\w+)\(session", (ROOT / "noxfile.py").read_text(encoding="utf-8"), re.MULTILINE))
    assert sessions <= defined
    for line in ("python3 -m venv .venv", ".venv/bin/pip install -q nox uv", ".venv/bin/nox -s"):
        assert line in readme and line in ci


def test_every_session_is_described() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    defined = re.findall(
        r"^@nox\.session.*\n(?:@nox.*\n)*def (\w+)", (ROOT / "noxfile.py").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert len(defined) > 10
    assert [name for name in defined if f"| `{name}` |" not in text] == []


def test_the_code_names_only_pages_that_exist() -> None:
    for name, path in MODULES.items():
        for page in re.findall(r"\bdocs/[\w/-]+\.md", path.read_text(encoding="utf-8")):
            assert (ROOT / page).is_file(), f"{name} names {page}"
