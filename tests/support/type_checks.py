"""Check a program that uses cuda_wheel with mypy."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from tests.support.processes import run
from tests.support.projects import ROOT

__all__ = ["check_types"]


def check_types(folder: Path, program: str) -> None:
    """Check `program` with `mypy --strict`, in `folder`: errors are in the lines that end in "# wrong", and in no
    others, and each `reveal_type(...)  # TYPE` shows this type, written without the names of modules."""
    (folder / "user.py").write_text(program)
    options = ("--strict", "--no-error-summary", "--hide-error-context", "--cache-dir", folder / "cache")
    result = run(sys.executable, "-m", "mypy", *options, "user.py", cwd=folder, MYPYPATH=str(ROOT))
    lines = list(enumerate(program.splitlines(), 1))
    found = re.findall(r"^user\.py:(\d+): (error|note): (.*)", result.stdout, re.MULTILINE)
    revealed = {
        int(number): re.sub(r"[\w.]+\.", "", text.partition("Revealed type is ")[2].strip('"'))
        for number, _, text in found
        if "Revealed type" in text
    }
    wanted = {number: line.rpartition("  # ")[2] for number, line in lines if "reveal_type(" in line}
    assert revealed == wanted, result.stdout
    errors = {int(number) for number, kind, _ in found if kind == "error"}
    assert errors == {number for number, line in lines if line.endswith("# wrong")}, result.stdout
