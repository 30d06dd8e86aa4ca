"""Measure repeated builds of a wheel, compared with a build without the hook: `python benchmarks/wheel_build.py
[ROUNDS]`.

Each build is a whole process that calls hatchling's `build_wheel` in this environment. It needs cuda-wheel with a
toolchain but no GPU, and should contain nothing else, because hatchling imports every installed hook.
"""

from __future__ import annotations

import sys
import sysconfig
import tempfile
import venv
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path

from _interleave import compare
from _kernels import FIXTURES, PYPROJECT
from _process import build_wheel
from _results import Goal, Result

__all__ = ["measure"]

OFF = "hook off"
KEPT = "all of it kept from before"
FRESH = "likewise, in a new environment"
KERNEL = """\
// {edit}
extern "C" __global__ void axpy{number}(float a, const float* x, float* y, int n)
{{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = a * x[i] + {number} * y[i];
}}
"""
MODULES = 100
THOUSAND = 1000
IMPORTS = "imports, and reading and hashing the inputs of the images."
EACH = (
    "the work for each module: reading, checking and writing its files, planning its jobs, and hatchling's compression "
    "of its images."
)


def measure(rounds: int | None = None) -> Iterator[Result]:
    yield _fixture("saxpy", rounds or 10)
    yield _fixture("reduce_cub", rounds or 7)
    yield _hundred(rounds or 10)
    yield _thousand(rounds or 5)


def _fixture(name: str, rounds: int) -> Result:
    with tempfile.TemporaryDirectory() as cache, tempfile.TemporaryDirectory() as output:

        def built(**environ: str) -> float:
            return build_wheel(FIXTURES / name, Path(output), **environ).seconds * 1000

        def built_elsewhere() -> float:
            with _new_environment() as python:
                return build_wheel(FIXTURES / name, Path(output), python, CUDA_WHEEL_CACHE_DIR=cache).seconds * 1000

        contenders: dict[str, Callable[[], float]] = {
            OFF: lambda: built(HATCH_BUILD_NO_HOOKS="1"),
            "all of it compiled": built,
            "all of it compiled, one job at a time": lambda: built(CUDA_WHEEL_JOBS="1"),
            KEPT: lambda: built(CUDA_WHEEL_CACHE_DIR=cache),
            FRESH: built_elsewhere,
        }
        return compare(
            f"A wheel again: {name}",
            f"The wheel of `fixtures/{name}`; each build is a whole process of hatchling. A new environment has the "
            "same packages in another folder, as in every isolated build.",
            contenders,
            rounds,
            goals=[Goal(contender, OFF, more=60, limit=IMPORTS) for contender in (KEPT, FRESH)],
        )


def _hundred(rounds: int) -> Result:
    edits = count(1)
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        many, one = _project(folder / "many", MODULES), _project(folder / "one", 1)
        cache = str(folder / "cache")
        build_wheel(many, folder / "out", CUDA_WHEEL_CACHE_DIR=cache)
        kept, edited, alone = "nothing changed", "one kernel changed", "the changed kernel alone"

        def milliseconds(project: Path, change: bool = False, **environ: str) -> float:
            if change:
                _write(project, 0, next(edits))
            return build_wheel(project, folder / "out", **environ).seconds * 1000

        return compare(
            f"A wheel again: {MODULES} kernels",
            f"A project of {MODULES} small modules, each for 6 GPUs and with PTX. The contender with the changed "
            "kernel alone is a separate project that is not cached.",
            {
                OFF: lambda: milliseconds(many, HATCH_BUILD_NO_HOOKS="1"),
                kept: lambda: milliseconds(many, CUDA_WHEEL_CACHE_DIR=cache),
                alone: lambda: milliseconds(one, change=True),
                edited: lambda: milliseconds(many, change=True, CUDA_WHEEL_CACHE_DIR=cache),
            },
            rounds,
            goals=[
                Goal(kept, OFF, more=100, limit=EACH),
                Goal(edited, alone, more=100, limit=EACH),
            ],
        )


def _thousand(rounds: int) -> Result:
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        project, cache = _project(folder / "many", THOUSAND), str(folder / "cache")
        build_wheel(project, folder / "out", CUDA_WHEEL_CACHE_DIR=cache)
        kept = "nothing changed"

        def milliseconds(**environ: str) -> float:
            return build_wheel(project, folder / "out", **environ).seconds * 1000

        return compare(
            f"A wheel again: {THOUSAND:,} kernels",
            f"A project of {THOUSAND:,} such modules.",
            {
                OFF: lambda: milliseconds(HATCH_BUILD_NO_HOOKS="1"),
                kept: lambda: milliseconds(CUDA_WHEEL_CACHE_DIR=cache),
            },
            rounds,
            goals=[Goal(kept, OFF, more=500, limit=EACH)],
        )


def _project(root: Path, modules: int) -> Path:
    (root / "demo").mkdir(parents=True)
    (root / "demo" / "__init__.py").touch()
    (root / "pyproject.toml").write_text(PYPROJECT.format(include_dirs="[]", defines="", compress="none"))
    for number in range(modules):
        _write(root, number, 0)
    return root


def _write(root: Path, number: int, edit: int) -> None:
    (root / "demo" / f"axpy{number}.cu").write_text(KERNEL.format(number=number, edit=edit))


@contextmanager
def _new_environment() -> Iterator[Path]:
    """Yield the interpreter of a new environment with the same packages as this one."""
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder)
        packages = Path(sysconfig.get_path("purelib"))
        for each in packages.iterdir():
            with suppress(FileExistsError):
                (Path(folder) / packages.relative_to(sys.prefix) / each.name).symlink_to(each)
        yield Path(folder, "bin", "python")


if __name__ == "__main__":
    list(measure(int(sys.argv[1]) if len(sys.argv) > 1 else None))
