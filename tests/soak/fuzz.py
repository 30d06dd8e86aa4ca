"""Fuzz `targets`, guided by coverage: `python tests/soak/fuzz.py [--executions N] [--seconds S] [TARGET ...]`.

Needs atheris beside cuda-wheel, and no compiler, GPU or network. Each target runs in a process of its own until it has
had its part of the executions, or the time, or fails. At the end come the figures, as a table and as JSON; the exit
status is 1 where anything was found, which is shown.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

SECONDS_OF_ONE = 120
"""How long one input may take: what takes longer is a find."""


def main() -> int:
    from tests.soak.targets import TARGETS

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--executions", type=int, default=10_000_000, help="of all targets together (%(default)s)")
    parser.add_argument("--seconds", type=int, default=0, help="that each target may take (no limit)")
    parser.add_argument("--processes", type=int, default=os.cpu_count(), help="at once (%(default)s)")
    parser.add_argument(
        "--corpus",
        type=lambda path: Path(path).resolve(),
        help="folder to begin with and to keep what is found worth keeping",
    )
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("target", nargs="*", choices=[[], *TARGETS], help=f"of {', '.join(TARGETS)} (all)")
    given = parser.parse_args()
    if given.one:
        fuzz(given.target[0], given.corpus, given.executions, given.seconds)
    if find_spec("atheris") is None:
        parser.error(
            "atheris is not installed: pip install atheris (there are wheels for CPython 3.11 to 3.13, on Linux)"
        )
    targets = given.target or list(TARGETS)
    each = -(-given.executions // len(targets))
    with tempfile.TemporaryDirectory(prefix="cuda-wheel-fuzz-") as scratch, ThreadPoolExecutor(given.processes) as pool:
        jobs = [(name, (given.corpus or Path(scratch)) / name, Path(scratch), each, given.seconds) for name in targets]
        figures = list(pool.map(lambda job: run(*job), jobs))
    print(f"{'target':16}{'executions':>12}{'a second':>10}{'finds':>7}")
    for row in figures:
        print(f"{row['target']:16}{row['executions']:12,}{row['a second']:10,}{len(row['finds']):7}")
    print(f"{'all':16}{sum(row['executions'] for row in figures):12,}")
    print(json.dumps(figures))
    for row in figures:
        for find in row["finds"]:
            print(f"\nfound in {row['target']}: {bytes.fromhex(find)!r}\n{row['told']}")
    return int(any(row["finds"] or row["failed"] for row in figures))


def run(target: str, corpus: Path, scratch: Path, executions: int, seconds: int) -> dict[str, Any]:
    """Fuzz a target in a process, and return its figures, and what was found, in hexadecimal."""
    (folder := scratch / f"{target}.run").mkdir()
    command = [sys.executable, __file__, "--one", "--corpus", str(corpus), target]
    command += ["--executions", str(executions), "--seconds", str(seconds)]
    began = time.monotonic()
    environ = {**os.environ, "TMPDIR": str(folder)}
    done = subprocess.run(
        command, cwd=folder, env=environ, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
    )
    counts = re.findall(r"^(?:stat::number_of_executed_units: |#)(\d+)", done.stdout, re.MULTILINE)
    executed = int(counts[-1]) if counts else 0
    return {
        "target": target,
        "executions": executed,
        "a second": round(executed / (time.monotonic() - began)),
        "finds": [path.read_bytes().hex() for path in sorted(folder.glob("find-*"))],
        "failed": done.returncode != 0,
        "told": done.stdout[-4000:] if done.returncode else "",
    }


def fuzz(target: str, corpus: Path, executions: int, seconds: int) -> None:
    """Fuzz a target in this process, which ends then."""
    import atheris  # type: ignore[import-not-found]

    with atheris.instrument_imports(include=["cuda_wheel"]):
        for name in [name for name in sys.modules if name.startswith(("cuda_wheel", "tests"))]:
            del sys.modules[name]
        from tests.soak.targets import TARGETS
    check, seeds, words = TARGETS[target]
    corpus.mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(seeds):
        (corpus / f"seed-{number}").write_bytes(seed)
    Path("words").write_text("".join(f'"{_quoted(word)}"\n' for word in words))
    limits = [f"-runs={executions}", f"-max_total_time={seconds}", f"-timeout={SECONDS_OF_ONE}", "-rss_limit_mb=4096"]
    options = [*limits, "-dict=words", "-artifact_prefix=find-", "-print_final_stats=1", "-max_len=2048"]
    atheris.Setup([sys.argv[0], str(corpus), *options], check)
    atheris.Fuzz()


def _quoted(word: str) -> str:
    return "".join(f"\\x{byte:02x}" for byte in word.encode())


def finds(target: str) -> dict[str, bytes]:
    """Return what was found of a target, by a name that says what."""
    found = json.loads(Path(__file__).with_name("finds.json").read_text())
    return {name: text.encode(errors="surrogateescape") for name, text in found.get(target, {}).items()}


if __name__ == "__main__":
    sys.exit(main())
