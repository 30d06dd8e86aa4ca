"""Compare the ported functions with the originals, bit by bit and in time, on a GPU.

`python benchmarks/third_party/ports/compare.py FOLDER [ROUNDS] [--json FILE] [--only NAME ...]`

The ports are Python functions that take the place of host functions in C++, and launch the same kernels, unedited:

- `knn_cuda.py`: a whole extension of three kernels, with three launches in one function.
- `torch_cluster.py`: a whole extension of seven files: sizes and flags read from the GPU, random numbers, tensors that
  may be missing.
- `pytorch3d.py`: an instance among hundreds by values, and its gradient; sizes read back between three launches; packed
  accessors by value, and tensors with strides.
- `apex_amp.py`: lists of tensors in a struct by value, in several launches.
- `apex_transducer.py`: dropout with the state of PyTorch's generator by value.

FOLDER has the sources and the wheels (see `build.py`). The originals are built with nvcc and PyTorch's headers, all at
once (`extensions.py`). Then each package runs in a process of its own: every call of `cases.py` is made of the original
and of the port with equal inputs and the same state of the random generators, and must give the same bits, also in the
tensors that it changes. Uninitialized memory is filled (PyTorch's deterministic mode). Where threads write the same
memory in any order, the original is called twice: if its two results differ, the port's must be close.

Calls that are timed run in turn, 400 in a row a round; the ratio is that of the medians.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import json
import os
import subprocess
import sys
import time
import traceback
import warnings
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[2]))
sys.path.insert(0, str(Path(__file__).parents[3]))  # run from a checkout, without installing it

from corpus import Package, packages
from results import OURS, THEIRS, calls, times

__all__ = ["lines_of"]

HERE = Path(__file__).parent

HOST_LINES = {"knn_cuda": 66, "torch_cluster": 287, "pytorch3d": 639, "apex_amp": 119, "apex_transducer": 188}
"""Lines of the C++ host functions that are ported, with the templates that choose their kernels; no comments, empty
lines, or functions for the CPU."""
BUILD_LIMIT, RUN_LIMIT = 300, 120
"""In seconds: for all extensions together, and for the calls of one package."""


def lines_of(path: Path) -> int:
    """Return how many lines of a Python file have code: no docstrings, comments and empty lines."""
    text = path.read_text(encoding="utf-8")
    documented = ast.Module | ast.FunctionDef | ast.ClassDef
    docstrings = {
        line
        for node in ast.walk(ast.parse(text))
        if isinstance(node, documented) and ast.get_docstring(node) is not None
        for line in range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1)
    }
    lines = enumerate(map(str.strip, text.splitlines()), 1)
    return sum(bool(line) and not line.startswith("#") and number not in docstrings for number, line in lines)


def build(listed: Sequence[Package], folder: Path) -> dict[str, str]:
    """Build the extensions at once; return the output of those that failed."""
    jobs = str(max(1, len(os.sched_getaffinity(0)) // 2))  # most of the time only the largest package still compiles
    processes = {}
    for package in listed:
        log = (folder / f"{package.name}.log").open("w+")
        command = [sys.executable, HERE / "extensions.py", folder, package.name]
        environ = os.environ | {"MAX_JOBS": jobs}
        processes[package.name] = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, env=environ), log
    failed, began = {}, time.monotonic()
    for name, (process, log) in processes.items():
        try:
            code = process.wait(max(1, BUILD_LIMIT - (time.monotonic() - began)))
        except subprocess.TimeoutExpired:
            process.kill()
            code = "none in time"
        if code:
            log.seek(0)
            failed[name] = f"its extension was not built (exit code {code}):\n{log.read()[-4000:]}"
        print(f"{name}: built after {time.monotonic() - began:.0f} s, exit code {code}", flush=True)
    return failed


def extract(wheels: Path, site: Path) -> None:
    """Install the wheels into a folder."""
    for wheel in wheels.glob("ported_*.whl"):
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(site)


def tensors_in(value: Any) -> list[Any]:
    """Return the tensors in nested lists and tuples."""
    if isinstance(value, list | tuple):
        return [tensor for each in value for tensor in tensors_in(each)]
    return [value] if hasattr(value, "untyped_storage") else []


def called(function: Any, case: Any) -> list[Any]:
    """Call a function with new arguments; return the tensors of its result, and those of its arguments after it."""
    import torch

    arguments = case.arguments()
    torch.manual_seed(1)
    result = function(*arguments)
    torch.cuda.synchronize()
    return [tensor.detach().clone() for tensor in (*tensors_in(result), *tensors_in(arguments))]


def both_called(case: Any) -> tuple[list[Any], list[Any]]:
    """Return what the original and the port give, in the same second if that matters."""
    while True:
        second = int(time.time())
        results = called(case.theirs, case), called(case.ours, case)
        if not case.by_time or second == int(time.time()):
            return results


def difference(theirs: Sequence[Any], ours: Sequence[Any]) -> str:
    """Return how the tensors differ; empty: they have the same bits."""
    import torch

    if len(theirs) != len(ours):
        return f"{len(ours)} tensors and not {len(theirs)}"
    for number, (one, other) in enumerate(zip(theirs, ours, strict=True)):
        if (one.shape, one.dtype) != (other.shape, other.dtype):
            return f"tensor {number}: {list(other.shape)} {other.dtype} and not {list(one.shape)} {one.dtype}"
        left, right = (each.contiguous().reshape(-1).view(torch.uint8) for each in (one, other))
        if not torch.equal(left, right):
            differ = (one != other).sum().item()
            return f"tensor {number}: {differ} of {one.numel()} elements differ, by up to {farthest(one, other):g}"
    return ""


def farthest(one: Any, other: Any) -> float:
    return float((one.double() - other.double()).abs().nan_to_num(float("inf")).max())


def verdict(case: Any) -> str:
    """Return "same bits", or what is known of a case without them."""
    theirs, ours = both_called(case)
    return judged(theirs, ours, partial(called, case.theirs, case) if case.is_racy else None)


def judged(theirs: Sequence[Any], ours: Sequence[Any], again: Callable[[], Sequence[Any]] | None) -> str:
    """Return "same bits", or what is known of tensors without them.

    `again` returns the original's tensors of another call, if two of its calls may differ.
    """
    differs = difference(theirs, ours)
    if not differs:
        return "same bits"
    if again and len(theirs) == len(ours) and (apart := difference(theirs, second := again())):
        if not difference(second, ours):
            return "same bits"
        if all(map(are_alike, theirs, second, ours)):
            kind = "close" if theirs[0].is_floating_point() else "the original differs between two calls"
            return f"{kind}: {differs}; two calls of the original: {apart}"
    return f"DIFFERS: {differs}"


def are_alike(one: Any, again: Any, other: Any) -> bool:
    """Return whether a tensor of the port differs from the original's only as those of two calls of the original do."""
    import torch

    if (one.shape, one.dtype) != (other.shape, other.dtype) or not difference([one], [other]):
        return (one.shape, one.dtype) == (other.shape, other.dtype)
    if one.is_floating_point():
        if torch.allclose(one, other, 1e-4, 1e-5, equal_nan=True):
            return True
        if not torch.equal(one.isnan(), other.isnan()):
            return False
        one, again, other = (each.nan_to_num() for each in (one, again, other))
    # Low precision, and what follows from an order: at most twice as far as the original from itself.
    return farthest(one, other) <= 2 * farthest(one, again)


def shapes(case: Any, results: Sequence[Any]) -> str:
    """Return how the shapes that the port computes without data differ from its results'; empty: they do not.

    Sizes that are not known without data are free.
    """
    from shapes import of_result

    for number, (shape, dtype) in enumerate(of_result(case.ours, case.arguments())):
        tensor = results[number]
        sizes = zip(shape, tensor.shape, strict=True) if len(shape) == tensor.dim() else [(0, 1)]
        if dtype != tensor.dtype or any(size is not None and size != real for size, real in sizes):
            return (
                f"tensor {number} is {list(shape)} {dtype} without data, and {list(tensor.shape)} {tensor.dtype} with"
            )
    return ""


def run_package(package: Package, folder: Path, rounds: int) -> dict[str, Any]:
    """Compare and time the calls of a package in this process."""
    import torch
    from _interleave import compare
    from _results import Goal
    from cases import cases
    from extensions import load
    from launch import microseconds

    sys.path.insert(0, str(folder / "site"))
    warnings.simplefilter("ignore")
    original, port = load(package, folder), importlib.import_module(package.name)
    found, timings = {}, []
    for case in cases(package.name, original, port, package.home(folder / "corpus")):
        torch.use_deterministic_algorithms(True, warn_only=True)
        try:
            found[case.name] = verdict(case)
        except Exception as error:
            found[case.name] = f"FAILED: {type(error).__name__}: {error}"[:1000]
            traceback.print_exc()
        finally:
            torch.use_deterministic_algorithms(False)
        try:
            if not case.differentiates and (wrong := shapes(case, called(case.ours, case))):
                found[f"{case.name}, shapes"] = f"DIFFERS: {wrong}"
        except Exception as error:
            found[f"{case.name}, shapes"] = f"FAILED: {type(error).__name__}: {error}"[:600]
        if found[case.name] != "same bits":
            print(f"{package.name}: {case.name}: {found[case.name]}", flush=True)
        if case.launches and not found[case.name].startswith("FAILED"):
            theirs, ours = (partial(partial, each, *case.arguments()) for each in (case.theirs, case.ours))
            contenders = {THEIRS: microseconds(theirs), OURS: microseconds(ours)}
            goal = Goal(OURS, THEIRS, 1.25 if case.launches >= 3 else 1.5)
            about = f"{case.launches} launches" if case.launches > 1 else "1 launch"
            try:
                timings.append(
                    asdict(
                        compare(
                            f"{package.name}: {case.name}",
                            about,
                            contenders,
                            rounds,
                            "µs",
                            warm_up=2,
                            digits=1,
                            goals=[goal],
                        )
                    )
                )
            except Exception as error:
                found[f"{case.name}, timed"] = f"FAILED: {type(error).__name__}: {error}"[:1000]
                traceback.print_exc()
    counted = {"lines": lines_of(HERE / f"{package.name}.py"), "host_lines": HOST_LINES[package.name]}
    machine = {"gpu": torch.cuda.get_device_name(), "torch": torch.__version__, "python": sys.version.split()[0]}
    return counted | {"calls": found, "timings": timings, "machine": machine}


def others(results: dict[str, dict[str, Any]]) -> list[str]:
    """Return the verdicts of the calls that did not give the same bits."""
    return [
        f"{name}: {call}: {each}"
        for name, result in results.items()
        for call, each in result.get("calls", {}).items()
        if each != "same bits"
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("folder", type=Path)
    parser.add_argument("rounds", nargs="?", type=int, default=15)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--only", nargs="+", metavar="NAME")
    parser.add_argument(
        "--here", action="store_true", help="run one package in this process, without building it first"
    )
    options = parser.parse_intermixed_args()
    folder = options.folder.resolve()
    listed = [each for each in packages(HERE / "packages.toml") if not options.only or each.name in options.only]
    if options.here:
        (package,) = listed
        options.json.write_text(json.dumps(run_package(package, folder, options.rounds), indent=1), encoding="utf-8")
        return
    extract(folder / "wheels", folder / "site")
    failed = build(listed, folder)
    results: dict[str, dict[str, Any]] = {}
    for package in listed:
        name, found = package.name, folder / f"{package.name}.json"
        found.unlink(missing_ok=True)
        if name in failed:
            results[name] = {"failed": failed[name]}
            print(f"{name}: {failed[name]}", flush=True)
            continue
        command = [sys.executable, __file__, folder, str(options.rounds), "--here", "--only", name, "--json", found]
        try:
            code: int | str = subprocess.run(command, timeout=RUN_LIMIT).returncode
        except subprocess.TimeoutExpired:
            code = f"none after {RUN_LIMIT} s"
        results[name] = json.loads(found.read_text()) if found.exists() else {"failed": f"exit code {code}"}
    print(f"\n{calls(results)}\n", *others(results), "", times(results), sep="\n", flush=True)
    if options.json:
        options.json.write_text(json.dumps(results, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
