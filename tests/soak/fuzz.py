"""Fuzz `targets`, guided by coverage: `python tests/soak/fuzz.py [--executions N] [--seconds S] [TARGET ...]`.

Needs atheris and cuda-wheel, but no compiler, GPU or network. Each target runs in a separate process until it has run its
share of the executions, until its time is over, or until it fails. At the end, the script prints the figures as a table and
as JSON, and the findings; the exit status is 1 if there are any.
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

INPUT_TIMEOUT = 120
"""Seconds that one input may take; a slower input is a finding."""


def main() -> int:
    from tests.soak.targets import TARGETS

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--executions", type=int, default=10_000_000, help="number for all targets together (%(default)s)"
    )
    parser.add_argument("--seconds", type=int, default=0, help="time limit for each target (default: none)")
    parser.add_argument(
        "--processes", type=int, default=os.cpu_count(), help="number of parallel processes (%(default)s)"
    )
    parser.add_argument(
        "--corpus",
        type=lambda path: Path(path).resolve(),
        help="folder with the initial inputs, to which useful new inputs are added",
    )
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("target", nargs="*", choices=[[], *TARGETS], help=f"one of {', '.join(TARGETS)} (all)")
    options = parser.parse_args()
    if options.one:
        fuzz(options.target[0], options.corpus, options.executions, options.seconds)
    if find_spec("atheris") is None:
        parser.error("atheris is not installed: pip install atheris (it has wheels for CPython 3.11 to 3.13 on Linux)")
    targets = options.target or list(TARGETS)
    each = -(-options.executions // len(targets))
    with (
        tempfile.TemporaryDirectory(prefix="cuda-wheel-fuzz-") as scratch,
        ThreadPoolExecutor(options.processes) as pool,
    ):
        jobs = [
            (name, (options.corpus or Path(scratch)) / name, Path(scratch), each, options.seconds) for name in targets
        ]
        figures = list(pool.map(lambda job: run(*job), jobs))
    print(f"{'target':16}{'executions':>12}{'a second':>10}{'finds':>7}")
    for row in figures:
        print(f"{row['target']:16}{row['executions']:12,}{row['a second']:10,}{len(row['finds']):7}")
    print(f"{'all':16}{sum(row['executions'] for row in figures):12,}")
    print(json.dumps(figures))
    for row in figures:
        for find in row["finds"]:
            print(f"\nfound in {row['target']}: {bytes.fromhex(find)!r}\n{row['log']}")
    return int(any(row["finds"] or row["failed"] for row in figures))


def run(target: str, corpus: Path, scratch: Path, executions: int, seconds: int) -> dict[str, Any]:
    """Fuzz a target in a process; return its figures and its findings in hexadecimal."""
    (folder := scratch / f"{target}.run").mkdir()
    command = [sys.executable, __file__, "--one", "--corpus", str(corpus), target]
    command += ["--executions", str(executions), "--seconds", str(seconds)]
    began = time.monotonic()
    environ = {**os.environ, "TMPDIR": str(folder)}
    result = subprocess.run(
        command, cwd=folder, env=environ, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
    )
    counts = re.findall(r"^(?:stat::number_of_executed_units: |#)(\d+)", result.stdout, re.MULTILINE)
    executed = int(counts[-1]) if counts else 0
    return {
        "target": target,
        "executions": executed,
        "a second": round(executed / (time.monotonic() - began)),
        "finds": [path.read_bytes().hex() for path in sorted(folder.glob("find-*"))],
        "failed": result.returncode != 0,
        "log": result.stdout[-4000:] if result.returncode else "",
    }


def fuzz(target: str, corpus: Path, executions: int, seconds: int) -> None:
    """Fuzz a target in this process, which exits at the end."""
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
    limits = [f"-runs={executions}", f"-max_total_time={seconds}", f"-timeout={INPUT_TIMEOUT}", "-rss_limit_mb=4096"]
    options = [*limits, "-dict=words", "-artifact_prefix=find-", "-print_final_stats=1", "-max_len=2048"]
    atheris.Setup([sys.argv[0], str(corpus), *options], check)
    atheris.Fuzz()


def _quoted(word: str) -> str:
    return "".join(f"\\x{byte:02x}" for byte in word.encode())


def finds(target: str) -> dict[str, bytes]:
    """Return the earlier findings for a target, by a descriptive name."""
    found = json.loads(Path(__file__).with_name("finds.json").read_text())
    return {name: text.encode(errors="surrogateescape") for name, text in found.get(target, {}).items()}


if __name__ == "__main__":
    sys.exit(main())
