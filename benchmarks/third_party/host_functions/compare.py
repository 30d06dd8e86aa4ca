"""Compare the translated host functions with the originals, bit by bit, on a GPU.

`python benchmarks/third_party/host_functions/compare.py FOLDER [--build] [--only NAME ...] [--apart] [--second]
[--json FILE]`

FOLDER/ported is what `translate.py` wrote: the projects, with the sources, from which both sides are built. Nothing
else of FOLDER is needed. `--build` builds the originals with nvcc (`originals.py`, into FOLDER/extensions) and the
wheels of the translations with cuda-wheel (into FOLDER/wheels), all at once, with a log of each in FOLDER/logs. What is
there is not built again. It needs PyTorch for CUDA, nvcc, Ninja, hatchling and the toolchain of cuda-wheel.

The calls of `cases` are made of the original in one process and of the port in another, with equal arguments, the same
state of the random generators, and uninitialized memory filled (PyTorch's deterministic mode). What a call returns, the
arguments after it, or the exception, are saved in FOLDER/results and compared: tensors bit by bit, with strides, and
numbers with their types. A process that crashes, hangs or loses its GPU context loses one call: the next one begins
behind it. The verdict on a call is one of

- `same bits`; `close` or `the original differs`: threads write in any order, and two calls of the original differ so;
- `both raise`, with the exceptions' types;
- `EMPTY LAUNCH`: the original raises for a launch without blocks, which the port leaves out;
- `DIFFERS`: wrong in silence, also where only the original raises;
- `FAILED`: the port raises, is not built, or crashes;
- `NOT COMPARED`: the original does not run, or not with these arguments.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[2]))
sys.path.insert(0, str(Path(__file__).parents[3]))  # run from a checkout, without installing it

from _process import HATCHLING
from originals import built, load
from population import Package, chosen, project_of, python_name, record_of, with_choice
from ports.compare import extract, judged
from verdicts import worst

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))  # `cases` is this folder's, not that of the ports

__all__ = ["outcome", "run_cases", "run_side", "verdict"]

BUILD_LIMIT = 540
"""In seconds, for everything that is built."""
LOAD_LIMIT, LIMIT = 200, 60
"""In seconds: for loading a side, and for a call."""
AGAIN = 8
"""How often more the original gets a call in which threads write in any order."""
LOST = 3
"""Exit code of a process whose GPU context is lost."""


# --- one side, in a process of its own --------------------------------------------------------------------------------


def apart(value: Any, tensors: list[Any]) -> Any:
    """Return what a value is without the data of its tensors, which are added to `tensors`, in host memory."""
    if hasattr(value, "untyped_storage"):
        tensors.append(value.detach().cpu().clone())
        strides = [stride for size, stride in zip(value.shape, value.stride(), strict=True) if size > 1]
        strides *= bool(value.numel())  # those of no elements mean nothing
        about = {"tensor on": value.device.type, "sizes": list(value.shape), "strides": strides}
        return about | {"grad": value.requires_grad}
    if isinstance(value, list | tuple):
        return {type(value).__name__: [apart(each, tensors) for each in value]}
    if isinstance(value, dict):
        return {"dict": [[repr(key), apart(each, tensors)] for key, each in value.items()]}
    if isinstance(value, float):
        return {"float": value.hex()}
    if hasattr(type(value), "__members__"):  # an enumeration of pybind11, or of Python
        return {type(value).__name__: value.name}
    known = value is None or isinstance(value, bool | int | str)
    return {type(value).__name__: repr(value) if known else ""}


def outcome(function_of: Callable[[str], Any], case: Any) -> dict[str, Any]:
    """Call a function with new arguments; return what it returned and the arguments after it, or what it raised."""
    import torch

    try:
        function, arguments = function_of(case.function), case.arguments()
    except Exception as error:
        return {"unusable": f"{type(error).__name__}: {error}"[:600]}
    torch.manual_seed(1)
    try:
        result = function(*arguments)
        if torch.cuda.is_available():
            torch.cuda.synchronize()
        tensors: list[Any] = []
        shape = {"result": apart(result, tensors), "arguments": apart(case.after(arguments), tensors)}
        return {"shape": shape, "tensors": tensors}
    except Exception as error:
        return {"raised": type(error).__name__, "message": str(error)[:600]}


def run_side(function_of: Callable[[str], Any], cases: Sequence[Any], results: Path, first: int, again: int) -> None:
    """Call the cases from number `first` on, and save what each gives in `results`; ends the process with the exit code
    LOST behind a call that lost the GPU context. Racy cases are called `again` times more."""
    import torch

    for number, case in enumerate(cases[first:], first):
        (results / "current").write_text(str(number))
        signal.alarm(LIMIT)
        given = [outcome(function_of, case) for _ in range(1 + again * case.is_racy)]
        torch.save(given, results / "part")
        (results / "part").rename(results / f"{number}.pt")
        signal.alarm(0)
        try:
            if torch.cuda.is_available():
                torch.cuda.synchronize()
        except RuntimeError:
            os._exit(LOST)


def functions_of(module: Any) -> Callable[[str], Any]:
    """Return what finds a function of a side by its name in the cases."""

    def function_of(name: str) -> Any:
        import torch

        namespace, is_operator, rest = name.partition("::")
        found = getattr(torch.ops, namespace) if is_operator else module
        for part in (rest or name).split("."):
            found = getattr(found, part)
        return found

    return function_of


def run_here(package: Package, folder: Path, side: str, results: Path, first: int) -> None:
    """Run the cases of an extension with one side in this process."""
    import torch
    import torch.utils.deterministic
    from cases import cases_of

    warnings.simplefilter("ignore")
    signal.alarm(LOAD_LIMIT)  # ends a process that hangs in C, too
    if side == "original":
        module = load(package, folder)
    else:
        sys.path.insert(0, str(folder / "site"))
        module = importlib.import_module(f"ported_{python_name(package)}")
    torch.use_deterministic_algorithms(True, warn_only=True)
    torch.utils.deterministic.fill_uninitialized_memory = True
    run_side(functions_of(module), cases_of(python_name(package)), results, first, AGAIN if side == "original" else 0)


# --- both sides -------------------------------------------------------------------------------------------------------


def run_cases(command: Sequence[str], results: Path, count: int) -> dict[int, str]:
    """Run a side's process, again behind each case that ends it; return why cases have no result.

    `command` is followed by the number of the first case. Its output goes to `results`/log.txt.
    """
    shutil.rmtree(results, ignore_errors=True)
    results.mkdir(parents=True)
    current, log = results / "current", results / "log.txt"
    lost: dict[int, str] = {}
    first = 0
    while first < count:
        current.unlink(missing_ok=True)
        with log.open("a") as output:
            try:
                limit = LOAD_LIMIT + LIMIT * (count - first)
                code = subprocess.run([*command, str(first)], stdout=output, stderr=output, timeout=limit).returncode
            except subprocess.TimeoutExpired:
                code = -signal.SIGALRM
        if code == 0:
            break
        ended = how_it_ended(code)
        if not current.exists():
            cause = log.read_text(errors="replace").strip().splitlines()[-1:] or [ended]
            return lost | dict.fromkeys(range(first, count), f"is not loaded ({ended}): {cause[0]}"[:600])
        number = int(current.read_text())
        if not (results / f"{number}.pt").exists():
            lost[number] = ended
        first = number + 1
    return lost


def how_it_ended(code: int) -> str:
    if code == -signal.SIGALRM:
        return f"was stopped after {LIMIT} s"
    return f"crashed: {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"


def unlike(one: Any, other: Any, where: str = "") -> str:
    """Return the first place where two values without their tensors' data differ, and how; empty: nowhere."""
    if isinstance(one, dict) and isinstance(other, dict) and one.keys() == other.keys():
        pairs = [(f"{where} {key}".strip(), one[key], other[key]) for key in one]
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        pairs = [(f"{where}[{number}]", *both) for number, both in enumerate(zip(one, other, strict=True))]
    elif one == other:
        return ""
    else:
        return f"{where}: {other} and not {one}"
    return next(filter(None, (unlike(left, right, place) for place, left, right in pairs)), "")


def verdict(theirs: Sequence[Mapping[str, Any]] | str, ours: Sequence[Mapping[str, Any]] | str) -> str:
    """Return the verdict on a case; the outcomes of a side are a string if it has none, which says why."""
    if isinstance(theirs, str):
        return f"NOT COMPARED: the original {theirs}"
    first, *more = theirs
    if "unusable" in first:
        return f"NOT COMPARED: {first['unusable']}"
    if isinstance(ours, str):
        return f"FAILED: the port {ours}"
    (our,) = ours
    if "unusable" in our:
        return f"FAILED: {our['unusable']}"
    if "raised" in our:
        if "raised" not in first or our["raised"] == "NotImplementedError" != first["raised"]:
            return f"FAILED: {our['raised']}: {our['message']}"
        also = "" if our["raised"] == first["raised"] else f", the port {our['raised']}: {our['message']}"
        return f"both raise: {first['raised']}: {first['message']}{also}"
    if "raised" in first and re.match("CUDA error: invalid (configuration )?argument", first["message"]):
        return f"EMPTY LAUNCH: only the original raises {first['raised']}: {first['message']}"
    if "raised" in first:
        return f"DIFFERS: only the original raises {first['raised']}: {first['message']}"
    found = [_compared(first, our, each) for each in more if "shape" in each] or [_compared(first, our, None)]
    return next((each for each in found if not each.startswith("DIFFERS")), found[0])


def _compared(first: Mapping[str, Any], our: Mapping[str, Any], again: Mapping[str, Any] | None) -> str:
    """Return the verdict on what both sides gave. `again`: what another call of the original gave."""
    if wrong := unlike(first["shape"], our["shape"]):
        if again and unlike(first["shape"], again["shape"]):
            return f"the original differs between two calls: the port: {wrong}"
        return f"DIFFERS: {wrong}"
    return judged(first["tensors"], our["tensors"], (lambda: again["tensors"]) if again else None)


def outcomes(results: Path, number: int, lost: Mapping[int, str]) -> Any:
    import torch

    if number in lost:
        return lost[number]
    return torch.load(results / f"{number}.pt", map_location="cpu", weights_only=False)


def compare(package: Package, folder: Path) -> dict[str, Any]:
    """Run and compare the cases of an extension."""
    from cases import cases_of

    name = python_name(package)
    cases = cases_of(name)
    if not cases:
        return {"failed": "no cases"}
    if not built(package, folder).exists():
        return {"failed": "the original is not built"}
    lost, places = {}, {}
    for side in ("original", "port"):
        places[side] = folder / "results" / f"{name}.{side}"
        command = [sys.executable, __file__, str(folder), "--only", name, "--side", side]
        command += ["--results", str(places[side]), "--first"]
        if side == "port" and not (folder / "site" / f"ported_{name}").exists():
            lost[side] = dict.fromkeys(range(len(cases)), "is not built")
        else:
            lost[side] = run_cases(command, places[side], len(cases))
    found = []
    for number, case in enumerate(cases):
        theirs, ours = (outcomes(places[side], number, lost[side]) for side in places)
        text = verdict(theirs, ours) if not case.by_time else "NOT COMPARED: the result depends on the time"
        found.append({"function": case.function, "what": case.what, "verdict": text})
    return {"cases": found, "functions": worst(found)}


def compared(package: Package, folder: Path) -> dict[str, Any]:
    """Return what `compare` does, or why it failed: one extension must not lose the others."""
    try:
        return compare(package, folder)
    except Exception as error:
        traceback.print_exc()
        return {"failed": f"{type(error).__name__}: {error}"}


# --- build ------------------------------------------------------------------------------------------------------------


def build(listed: Sequence[Package], folder: Path) -> None:
    """Build the originals and the wheels at once. What fails is only printed: `compare` says that it is not there."""
    began = time.monotonic()
    for name in ("logs", "wheels"):
        (folder / name).mkdir(exist_ok=True)
    environ = os.environ | {"PYTHONPATH": os.pathsep.join([*with_hook(folder), os.environ.get("PYTHONPATH", "")])}
    environ["CUDA_WHEEL_CACHE_DIR"] = str(folder / "cache")

    def run(what: str, command: Sequence[Any], at: Path, more: Mapping[str, str]) -> None:
        log = folder / "logs" / f"{what}.txt"
        start = time.monotonic()
        with log.open("w") as output:
            process = subprocess.Popen(
                command, cwd=at, stdout=output, stderr=output, env={**environ, **more}, start_new_session=True
            )
            try:
                code: int | str = process.wait(max(1, BUILD_LIMIT - (time.monotonic() - began)))
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)  # the compilers, too
                code = "none in time"
        cause = ""
        if code:
            lines = [line for line in log.read_text(errors="replace").splitlines() if line.strip()]
            errors = [line for line in lines if re.search(r"error\b", line, re.IGNORECASE)]
            cause = f", exit code {code}: {(errors or lines or [''])[0][:300]}"
        took = time.monotonic() - start
        print(f"{what}: {took:.0f} s, until {time.monotonic() - began:.0f} s{cause}", flush=True)

    def size(package: Package) -> int:
        return sum(path.stat().st_size for path in project_of(package, folder).rglob("*") if path.is_file())

    # nvcc takes up to 3 GB with PyTorch's headers. What compiles longest begins first: its sources are large.
    cores = len(os.sched_getaffinity(0))
    by_size = sorted(listed, key=size, reverse=True)
    with ThreadPoolExecutor(max(1, cores // 2)) as theirs, ThreadPoolExecutor(max(1, cores // 5)) as ours:
        for package in by_size:
            name, project = python_name(package), project_of(package, folder)
            if not built(package, folder).exists():
                command = [sys.executable, HERE / "originals.py", folder, name]
                theirs.submit(run, f"{name}.original", command, folder, {"MAX_JOBS": "3"})
            wheels = [*(folder / "wheels").glob(f"ported_{name}-*.whl")]
            if not wheels and (project / "pyproject.toml").exists():
                command = [sys.executable, "-c", HATCHLING, folder / "wheels"]
                ours.submit(run, f"{name}.wheel", command, project, {})


def with_hook(folder: Path) -> list[str]:
    """Return the folders by which hatchling finds cuda-wheel's hook in this checkout, installed or not."""
    place = folder / "hook"
    info = place / "cuda_wheel_hook-1.dist-info"
    info.mkdir(parents=True, exist_ok=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: cuda-wheel-hook\nVersion: 1\n", encoding="utf-8")
    (info / "entry_points.txt").write_text("[hatch]\ncuda = hatch_cuda.hooks\n", encoding="utf-8")
    return [str(place), str(HERE.parents[2])]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    with_choice(parser)
    parser.add_argument("--build", action="store_true", help="build the originals and the wheels before")
    parser.add_argument("--no-compare", action="store_true", help="only build")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--side", choices=("original", "port"), help="run one side in this process, with --results")
    parser.add_argument("--results", type=Path)
    parser.add_argument("--first", type=int, default=0)
    options = parser.parse_args()
    folder = options.folder.resolve()
    listed = chosen(options)
    if options.side:
        (package,) = listed
        run_here(package, folder, options.side, options.results, options.first)
        return
    if options.build:
        build(listed, folder)
    if options.no_compare:
        return
    extract(folder / "wheels", folder / "site")
    results: dict[str, Any] = {}
    with ThreadPoolExecutor(max(1, len(os.sched_getaffinity(0)) // 2)) as pool:  # most of the time PyTorch is imported
        waiting = {pool.submit(compared, package, folder): package for package in listed}
        for each in as_completed(waiting):
            package, found = waiting[each], each.result()
            record = record_of(package, folder)
            translated = json.loads(record.read_text(encoding="utf-8")) if record.exists() else {"failed": "no record"}
            results[package.name] = found | {"translated": translated, "apart": package.apart}
            show(package.name, found)
            if options.json:  # what is done is kept if the rest takes too long
                ordered = {name: results[name] for name in (one.name for one in listed) if name in results}
                written = json.dumps({"machine": machine(), "extensions": ordered}, indent=1)
                options.json.write_text(written, encoding="utf-8")
    totals = Counter(each for found in results.values() for each in found.get("functions", {}).values())
    print(f"\nfunctions: {dict(totals)}", flush=True)


def machine() -> dict[str, str]:
    import torch

    gpu = torch.cuda.get_device_name() if torch.cuda.is_available() else "no GPU"
    return {"gpu": gpu, "torch": torch.__version__, "python": sys.version.split()[0]}


def show(name: str, found: Mapping[str, Any]) -> None:
    """Print what was found of an extension: a line for each function, and one for each case with other bits."""
    print(f"{name}: {found['failed']}" if "failed" in found else f"{name}:", flush=True)
    for function, kind in found.get("functions", {}).items():
        cases = [each for each in found["cases"] if each["function"] == function]
        print(f"  {function}: {kind}, {len(cases)} cases")
        for case in cases:
            if case["verdict"] != "same bits":
                print(f"    {case['what']}: {case['verdict']}"[:400])
    sys.stdout.flush()


if __name__ == "__main__":
    main()
