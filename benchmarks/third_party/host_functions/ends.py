"""Move small extensions by commands alone, and run their own tests on a GPU.

`python ends.py build FOLDER`: for each package, `git clone` into FOLDER/NAME at the commit of `packages.toml`,
`cuda-wheel import setup.py --write`, what its output says is to be done, and `pip wheel`. The commands are printed.
Lines that no command writes are those of the patch `ends/NAME.patch` beside this file, if there is one. The wheels go
to FOLDER/wheels, with that of this checkout. It needs this checkout installed, with the extras `cu13` and `import`, and
PyTorch (its CPU build will do), and no GPU. The wheels are for one architecture, to be small; `--architectures` names
another.

`python ends.py test FOLDER --json ENDS.json`: install the wheels into a new virtual environment, and run the packages'
own tests, unedited, from FOLDER/NAME. It needs a GPU, PyTorch for CUDA, pytest, and what the tests import (NumPy,
einops, SciPy). `verdicts.py` makes tables of ENDS.json: name -> {"by_hand": lines written by hand, "tests": outcomes}.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import subprocess
import sys
import tempfile
import venv
from collections.abc import Iterator, Sequence
from importlib import util
from pathlib import Path
from typing import Any, NamedTuple

__all__ = ["ENDS", "End"]

HERE = Path(__file__).parent

OUTCOMES = ("passed", "failed", "error", "skipped", "xfailed", "xpassed", "deselected")
"""What pytest calls the outcomes of tests."""


class End(NamedTuple):
    """A package that is moved as a whole."""

    imports: tuple[str, ...]
    """Modules of the wheel, which must come from the virtual environment."""
    tests: tuple[tuple[str, ...], ...]
    """Arguments of pytest; for a script, its path and arguments. Paths are relative to the repository."""
    folder: str = "."
    """Folder of the setup.py, relative to the repository."""
    links: tuple[str, ...] = ()
    """Links in that folder that lead out of it. `import` says to put copies in their place."""
    large: str = ""
    """Expression for `pytest -k` that leaves out tests which take minutes: their references need gigabytes."""


ENDS = {
    "fast-hadamard-transform": End(
        ("fast_hadamard_transform", "fast_hadamard_transform.fast_hadamard_transform_cuda"),
        (("tests/test_fast_hadamard_transform.py",),),
        large="not 16384 and not 32768",
    ),
    "warp-rnnt": End(
        ("warp_rnnt", "warp_rnnt._C"),
        (("--pyargs", "warp_rnnt.test"),),  # a module of the wheel
        folder="pytorch_binding",
        links=("core.cu", "core_gather.cu", "core_compact.cu", "core.h"),
    ),
    # check.py compares with the C++ for the CPU, which these commands do not move: docs/how-to/cpu-and-gpu.md.
    "spatial-correlation-sampler": End(
        ("spatial_correlation_sampler", "spatial_correlation_sampler_backend"),
        (("grad_check.py", "cuda"), ("check.py", "forward"), ("check.py", "backward")),
    ),
}
"""Name in `packages.toml` -> how it is moved and tested. Chosen among those with own tests that need no downloads, no
data and no package beyond what is named above."""


# --- build ------------------------------------------------------------------------------------------------


def run(command: Sequence[str], folder: Path, **environment: str) -> None:
    """Print a command and run it. Raises CalledProcessError."""
    shown = [*(f"{name}={value}" for name, value in environment.items()), shlex.join(command)]
    print(f"$ {' '.join(shown)}", flush=True)
    subprocess.run(command, cwd=folder, env=os.environ | environment, check=True)


def by_hand(name: str) -> int:
    """Return how many lines of a package were written by hand: those that its patch adds."""
    patch = HERE / "ends" / f"{name}.patch"
    lines = patch.read_text(encoding="utf-8").splitlines() if patch.is_file() else []
    return sum(line.startswith("+") and not line.startswith("+++") for line in lines)


def build(name: str, folder: Path, architectures: str) -> None:
    """Clone a package, move it, and build its wheel. Raises CalledProcessError."""
    from population import LISTED

    end, package = ENDS[name], next(each for each in LISTED if each.name == name)
    clone = folder / name
    run(["git", "clone", "--quiet", f"https://github.com/{package.repository}.git", name], folder)
    run(["git", "checkout", "--quiet", package.commit], clone)
    project = clone / end.folder
    for link in end.links:
        run(["cp", "--remove-destination", os.readlink(project / link), link], project)
    run([sys.executable, "-m", "cuda_wheel", "import", "setup.py", "--write"], project)
    if (HERE / "ends" / f"{name}.patch").is_file():
        run(["git", "apply", str(HERE / "ends" / f"{name}.patch")], clone)
    run(["git", "rm", "--quiet", "setup.py"], project)
    wheels = str(folder / "wheels")
    environment = {"CUDAARCHS": architectures, "PIP_FIND_LINKS": wheels}
    run([sys.executable, "-m", "pip", "wheel", "--no-deps", "--wheel-dir", wheels, "."], project, **environment)


# --- test -------------------------------------------------------------------------------------------------


class Counter:
    """A plugin of pytest that counts outcomes."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        self.counts = {outcome: len(terminalreporter.stats.get(outcome, ())) for outcome in OUTCOMES}


def count(target: Path, arguments: Sequence[str]) -> None:
    """Run pytest in this process, and write the number of tests with each outcome to a file."""
    import pytest

    counter = Counter()
    pytest.main([*arguments, "-q", "-p", "no:cacheprovider"], plugins=[counter])
    target.write_text(json.dumps(counter.counts), encoding="utf-8")


def environment(folder: Path, names: Sequence[str], work: Path) -> Path:
    """Make a virtual environment with the wheels, and what this Python has beside them. Return its Python."""
    venv.create(work / "venv", with_pip=True, system_site_packages=True)
    python = work / "venv/bin/python"
    site = subprocess.check_output([python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"], text=True)
    torch = util.find_spec("torch")
    if torch is None or torch.origin is None:
        raise SystemExit("PyTorch is not installed")
    here = {str(Path(each).resolve()) for each in sys.path if each.endswith("site-packages")}
    here.add(str(Path(torch.origin).parents[1]))
    (Path(site.strip()) / "beside.pth").write_text("\n".join(sorted(here)) + "\n", encoding="utf-8")
    wheels = sorted(map(str, (folder / "wheels").glob("*.whl")))
    install = [str(python), "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--ignore-installed", *wheels]
    subprocess.run(install, check=True)
    for module in ("cuda_wheel", *(each for name in names for each in ENDS[name].imports)):
        found = subprocess.check_output(
            [python, "-c", f"import {module}; print({module}.__file__)"], text=True, cwd=work
        ).strip()
        print(f"{module}: {found}", flush=True)
        if not Path(found).is_relative_to(work):
            raise SystemExit(f"{module} is not the wheel's: {found}")
        if list(Path(found).parent.glob("*.so")):
            raise SystemExit(f"{module} has an extension beside it")
    return python


def commands(name: str, folder: Path, every: bool) -> Iterator[list[str]]:
    """Yield the arguments of Python for each test of a package; of pytest, without those that count."""
    end = ENDS[name]
    for first, *rest in end.tests:
        path = str((folder / name / first).resolve())
        if first.startswith("--"):
            yield ["pytest", first, *rest]
        elif rest:
            yield [path, *rest]
        else:
            yield ["pytest", path, *([] if every or not end.large else ["-k", end.large])]


def tested(name: str, folder: Path, python: Path, work: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Return the outcomes of a package's tests; a script counts as one test."""
    counts = dict.fromkeys(OUTCOMES, 0)
    for number, (first, *rest) in enumerate(commands(name, folder, options.every)):
        result = work / f"{name}-{number}.json"
        is_pytest = first == "pytest"
        command = [str(Path(__file__).resolve()), "_count", str(result), *rest] if is_pytest else [first, *rest]
        print(f"{name}: {shlex.join([first, *rest])}", flush=True)
        with (options.json.parent / f"{name}-{number}.log").open("w", encoding="utf-8") as log:
            try:
                done = subprocess.run(
                    [str(python), *command], cwd=work, stdout=log, stderr=subprocess.STDOUT, timeout=options.limit
                )
            except subprocess.TimeoutExpired:
                return {"stopped": f"not done after {options.limit:g} s"}
        if not is_pytest:
            counts["failed" if done.returncode else "passed"] += 1
        elif result.is_file() and (found := json.loads(result.read_text(encoding="utf-8"))):
            counts = {outcome: counts[outcome] + found[outcome] for outcome in OUTCOMES}
        else:
            return {"stopped": f"pytest ended with {done.returncode}"}
    return counts


def main() -> None:
    if sys.argv[1:2] == ["_count"]:  # in the virtual environment
        count(Path(sys.argv[2]), sys.argv[3:])
        return
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("step", choices=["build", "test"])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", nargs="+", choices=[*ENDS], default=[*ENDS], metavar="NAME")
    parser.add_argument("--architectures", default="90", help="for CUDAARCHS, when wheels are built; default: 90")
    parser.add_argument("--json", type=Path, default=Path("ends.json"), help="where the outcomes go, beside logs")
    parser.add_argument("--limit", type=float, default=60, metavar="SECONDS", help="for each run of tests; default: 60")
    parser.add_argument("--every", action="store_true", help="also the tests that take minutes")
    options = parser.parse_args()
    folder = options.folder.resolve()
    if options.step == "build":
        (folder / "wheels").mkdir(parents=True, exist_ok=True)
        checkout = str(HERE.parents[2])
        run([sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", "wheels", checkout], folder)
        for name in options.only:
            build(name, folder, options.architectures)
        return
    with tempfile.TemporaryDirectory() as made:
        work = Path(made).resolve()
        python = environment(folder, options.only, work)
        results = {
            name: {"by_hand": by_hand(name), "tests": tested(name, folder, python, work, options)}
            for name in options.only
        }
    options.json.write_text(json.dumps(results, indent=1), encoding="utf-8")
    print(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
