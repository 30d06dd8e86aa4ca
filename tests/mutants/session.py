"""Measure rooms: print a line for each, and write the surviving mutants to a file.

Usage: python -m tests.mutants.session [--processes N] [--seconds N] [--output FOLDER] [ROOM ...]

mutmut and not cosmic-ray: it drops arguments and values, which is how a key loses a fact, while cosmic-ray changes
operators and numbers only; and it forks one process for each mutant from one that has imported the tests, so that
thousands of mutants take minutes. It leaves tables outside functions, and properties, as they are. The process that forks
has run no test ("forkserver"): what a test left in a cache would hide the mutants of the code that filled it.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from tests.mutants.equivalent import EQUIVALENT, Equivalent
from tests.mutants.rooms import LOWEST_SCORE, ROOMS, Room

ROOT = Path(__file__).parents[2]

SETTINGS = """
[tool.mutmut]
source_paths = ["cuda_wheel"]
only_mutate = {files}
pytest_add_cli_args_test_selection = {tests}
pytest_add_cli_args = ["-p", "no:cacheprovider", "-p", "no:xdist"]
also_copy = ["fixtures", "scripts"]
use_git_change_detection = false
process_isolation = "forkserver"
timeout_multiplier = 10.0
timeout_constant = 3.0
"""

KILLED = ("killed", "timeout", "segfault", "suspicious", "check was interrupted by user")
"""What mutmut calls mutants that made pytest fail, hang, crash, end with an unusual status, or fail to import a test."""


def prepare(folder: Path, room: Room) -> None:
    """Copy what the tests need into an empty folder, with mutmut's settings, so that the checkout stays as it is."""
    for name in ("cuda_wheel", "hatch_cuda", "setuptools_cuda", "tests", "fixtures", "scripts"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    settings = SETTINGS.format(
        files=json.dumps([f"cuda_wheel/{name}" for name in room.functions]), tests=json.dumps(room.tests)
    )
    (folder / "pyproject.toml").write_text((ROOT / "pyproject.toml").read_text() + settings)
    # Python remembers that a folder of PYTHONPATH was missing when it started.
    (folder / "mutants").mkdir()


def mutate(room: Room, processes: int, seconds: float | None, log: Path) -> list[dict[str, Any]]:
    """Return the mutants of a room and what became of them; mutmut's output goes to `log`."""
    with tempfile.TemporaryDirectory() as name:
        folder, results = Path(name) / "project", Path(name) / "results.json"
        prepare(folder, room)
        # Child processes of the tests must import the mutants too.
        path = os.pathsep.join([str(folder / "mutants"), str(folder)])
        environ = os.environ | {"PYTHONPATH": path, "PYTHONSAFEPATH": "1"}
        command = [sys.executable, "-m", "tests.mutants.mutate"]
        patterns = patterns_of(room)
        with log.open("wb") as output:
            options: dict[str, Any] = {"cwd": folder, "env": environ, "stdout": output, "stderr": subprocess.STDOUT}
            run_for([*command, "run", str(processes), *patterns], seconds, **options)
            subprocess.run([*command, "results", str(results)], check=False, **options)
        if not results.exists():
            raise SystemExit(f"mutmut failed; its output is in {log}")
        found: list[dict[str, Any]] = json.loads(results.read_text())
        return [mutant for mutant in found if any(fnmatch(mutant["name"], pattern) for pattern in patterns)]


def patterns_of(room: Room) -> list[str]:
    """Return the patterns of mutmut's names for the mutants of a room, such as "cuda_wheel.a.x_function__mutmut_*"."""
    return [
        f"cuda_wheel.{file.removesuffix('.py').replace('/', '.')}.{name_in_mutmut(name)}__mutmut_*"
        for file, names in room.functions.items()
        for name in names
    ]


def name_in_mutmut(name: str) -> str:
    """Return mutmut's name of a function, or of a method as in "Image.check"."""
    kind, _, method = name.rpartition(".")
    if name == "*":
        return name
    return f"xǁ{kind}ǁ{method}" if kind else f"x_{name}"


def run_for(command: Sequence[str], seconds: float | None, **options: Any) -> None:
    """Run a command; after some seconds, end it and its children."""
    process = subprocess.Popen(command, start_new_session=True, **options)
    for number in (signal.SIGINT, signal.SIGKILL):
        try:
            process.wait(seconds)
            break
        except subprocess.TimeoutExpired:
            process.send_signal(number)
            seconds = 10
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def changed_lines(diff: str, sign: str) -> str:
    """Return the lines of a diff that begin with a sign, as one."""
    lines = (line[1:].strip() for line in diff.splitlines() if line.startswith(sign) and not line.startswith(3 * sign))
    return " ".join(lines)


def equivalent_of(mutant: dict[str, Any], known: Sequence[Equivalent]) -> Equivalent | None:
    """Return why a mutant is equivalent; None if it is not known to be."""
    before, after = changed_lines(mutant["diff"], "-"), changed_lines(mutant["diff"], "+")
    return next(
        (
            each
            for each in known
            if (f"cuda_wheel/{each.file}", each.line, each.mutant) == (mutant["file"], before, after)
        ),
        None,
    )


def measure(name: str, processes: int, seconds: float | None, output: Path) -> tuple[str, bool]:
    """Return the line that sums a room up, and whether its tests kill enough mutants."""
    room = ROOMS[name]
    found = mutate(room, processes, seconds, output / f"{name}.log")
    mutants = [mutant for mutant in found if mutant["status"] != "not checked"]
    if not mutants:
        return f"{name:10} none of {len(found)} mutants was run", False
    counts = Counter(mutant["status"] for mutant in mutants)
    alive = [mutant for mutant in mutants if mutant["status"] not in KILLED]
    known = [each for each in EQUIVALENT if each.file in room.functions]
    equivalent = {mutant["name"]: each for mutant in alive if (each := equivalent_of(mutant, known))}
    survivors = [mutant for mutant in alive if mutant["name"] not in equivalent]
    killed, total = len(mutants) - len(alive), len(mutants) - len(equivalent)
    score = 100 * killed / total
    (output / f"{name}.txt").write_text("\n".join(f"{each['status']}\n{each['diff']}" for each in survivors))
    stale = [each for each in known if each not in equivalent.values()]
    line = (
        f"{name:10} {len(mutants):5} mutants: {killed:5} killed ({counts['timeout']} by timeout), "
        f"{len(survivors):4} survived, {len(equivalent):3} equivalent; score {score:5.1f} %"
    )
    if len(found) > len(mutants):
        line += f"; {len(found) - len(mutants)} were not run"
    for each in stale:
        line += f"\n  not among the survivors: {each.file}: {each.mutant}"
    return line, score >= LOWEST_SCORE and not stale


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rooms", nargs="*", choices=[*ROOMS, []], metavar="ROOM", help=", ".join(ROOMS))
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--seconds", type=float, help="the time for each room; mutants that are left are not run")
    parser.add_argument("--output", type=Path, default=Path(tempfile.gettempdir()) / "cuda-wheel-mutants")
    arguments = parser.parse_args()
    arguments.output.mkdir(parents=True, exist_ok=True)
    good = True
    for name in arguments.rooms or ROOMS:
        line, is_enough = measure(name, arguments.processes, arguments.seconds, arguments.output)
        print(line, flush=True)
        good = good and is_enough
    print(f"The surviving mutants are in {arguments.output}; the lowest score allowed is {LOWEST_SCORE:.0f} %.")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
