"""Whole extensions by commands (`benchmarks/third_party/host_functions/ends.py`): what is counted, and in which form."""

from __future__ import annotations

import argparse
import importlib
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.projects import ROOT

FOLDER = ROOT / "benchmarks/third_party/host_functions"


@pytest.fixture(scope="module")
def ends() -> Any:
    sys.path.insert(0, str(FOLDER))
    try:
        return importlib.import_module("ends")
    finally:
        sys.path.remove(str(FOLDER))


def test_the_packages_are_those_of_the_list(ends: Any) -> None:
    listed = (FOLDER / "packages.toml").read_text(encoding="utf-8")
    assert all(f'name = "{name}"\n' in listed for name in ends.ENDS)


def test_lines_by_hand_are_those_that_a_patch_adds(ends: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ends, "HERE", tmp_path)
    assert ends.by_hand("demo") == 0
    (tmp_path / "ends").mkdir()
    (tmp_path / "ends/demo.patch").write_text("--- a/x\n+++ b/x\n@@ -1,2 +1,3 @@\n one\n-two\n+2\n+3\n")
    assert ends.by_hand("demo") == 2


def test_outcomes_of_tests_and_scripts_are_counted(ends: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "demo"
    home.mkdir()
    (home / "test_it.py").write_text(
        "import pytest\n\ndef test_a(): pass\n\ndef test_large(): assert 0\n\ndef test_b(): pytest.skip()\n"
    )
    (home / "check.py").write_text("import sys\nsys.exit(sys.argv[1] == 'bad')\n")
    tests = (("test_it.py",), ("check.py", "good"), ("check.py", "bad"))
    monkeypatch.setitem(ends.ENDS, "demo", ends.End((), tests, large="not large"))
    options = argparse.Namespace(every=False, limit=60, json=tmp_path / "ends.json")
    found = ends.tested("demo", tmp_path, Path(sys.executable), tmp_path, options)
    assert found == dict.fromkeys(ends.OUTCOMES, 0) | {"passed": 2, "failed": 1, "skipped": 1, "deselected": 1}
    options.every = True
    assert ends.tested("demo", tmp_path, Path(sys.executable), tmp_path, options)["failed"] == 2
    (home / "check.py").write_text("import time\ntime.sleep(60)\n")
    options.limit = 3
    assert ends.tested("demo", tmp_path, Path(sys.executable), tmp_path, options) == {"stopped": "not done after 3 s"}
