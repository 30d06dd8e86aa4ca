"""Compile the corpus with cuda-wheel: `python benchmarks/third_party/measure.py RESULT.json [KEY ...]`.

Each file becomes one module of a project of its own, in the fetched repository's folder, with the include folders and
the options of its package's build. It is compiled for one target (machine code and PTX of sm_80) in a process of its
own with a time limit, so that a crash or a hang ends only that file. RESULT.json gets one record for each file;
`docs.py` formats it. KEY selects files whose names contain it.

Options: --corpus FOLDER (default: what fetch.py writes), --images FOLDER keeps the fatbins there, --processes N,
--limit SECONDS for a file, --minutes M starts no file after that time, --resume leaves out the files that RESULT.json
has, --failed those that compiled there, --no-settings leaves out the settings of the list, --proposed compiles what
fails with the settings that `cuda-wheel import` proposes, --architecture ENTRY (repeatable) compiles for others.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterable, Sequence
from collections.abc import Set as AbstractSet
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

sys.path.insert(0, str(Path(__file__).parents[2]))  # run from a checkout, without installing it

from corpus import CORPUS, Source, packages, sources

from cuda_wheel.builder.report.reporter import SilentReporter

__all__ = [
    "Outcome",
    "chosen",
    "compile_source",
    "first_error",
    "in_parallel",
    "in_process",
    "parser",
    "read_records",
    "run",
    "settings_of",
    "write_outcomes",
]

T = TypeVar("T")
MODULE = "corpus.m"


@dataclass(frozen=True)
class Outcome:
    """What became of one file."""

    key: str
    result: str
    """"compiled"; the kind of failure: "CompileError", "ConfigError", ...; or what must never be: "traceback", "crash",
    "timeout"."""
    error: str = ""
    """The first error's line, without this machine's folders."""
    message: str = ""
    """The whole message of the failure."""
    seconds: float = 0.0
    """Wall-clock seconds of the build in its process, without Python's start."""
    compile_seconds: float = 0.0
    """Those of the file's own jobs, without what a build does once: its plan, workers that start, the fatbin."""
    kernels: Sequence[str] = ()
    """The names in the manifest."""
    warnings: Sequence[str] = ()
    left_out: Sequence[str] = ()
    """The host code that was left out, because it did not compile."""
    settings: bool = False
    """Whether settings beyond the build's own options were used."""
    proposed: dict[str, Any] = field(default_factory=dict)
    """The settings that `cuda-wheel import` proposes, with which it compiles and without which it does not."""


class Listener(SilentReporter):
    """A reporter that collects a build's warnings and the built module."""

    can_repeat = False  # each file is compiled

    def __init__(self) -> None:
        self.warnings: list[str] = []
        self.kernels: list[str] = []
        self.left_out: list[str] = []
        self.compile_seconds = 0.0

    def step_finished(self, step: Any) -> None:
        self.warnings += [text for text in [getattr(step, "log", "")] if text]
        self.compile_seconds += sum(span.ended - span.began for span in step.times.phases)

    def warning(self, text: str) -> None:
        self.warnings.append(text)

    def module_built(self, module: Any) -> None:
        self.kernels += [kernel.name for kernel in module.manifest.kernels]
        self.left_out += module.manifest.host_code


def settings_of(source: Source, home: Path, settings: bool, architectures: Sequence[str] = ("80",)) -> dict[str, Any]:
    """Return the table `[tool.cuda-wheel]` that compiles one file; with the list's own settings for it, if
    `settings`."""
    package = source.package
    extra = package.settings.get(source.path, {}) if settings else {}
    return {
        "architectures": list(architectures),
        "include-dirs": [folder for folder in package.include if (home / folder).is_dir()],
        "options": list(package.nvcc_options),
        "compress": "none",
        "sbom": False,
        **{key: value for key, value in extra.items() if key != "module"},
        "module": [{"name": MODULE, "sources": [source.path], **extra.get("module", {})}],
    }


def compile_source(
    source: Source, corpus: Path, images: Path | None, settings: bool, architectures: Sequence[str] = ("80",)
) -> Outcome:
    """Compile one file in this process. Unexpected exceptions end in the result "traceback"."""
    from cuda_wheel.builder.config.settings import Config
    from cuda_wheel.builder.project import build_files
    from cuda_wheel.builder.sources.layout import WheelFile
    from cuda_wheel.runtime.errors import CudaWheelError

    listener, home = Listener(), source.package.home(corpus)
    table = settings_of(source, home, settings, architectures)
    began = time.perf_counter()
    result, message = "compiled", ""
    with tempfile.TemporaryDirectory() as scratch:
        output = images / source.key.replace("/", "+") if images else Path(scratch, "output")
        package_file = Path(scratch, "__init__.py")
        package_file.touch()
        files = [WheelFile(package_file, "corpus/__init__.py")]
        try:
            build_files(home.resolve(), Config.from_table(table), files, listener, output)
        except CudaWheelError as error:
            result, message = type(error).__name__, str(error)
        except Exception:
            result, message = "traceback", traceback.format_exc()
    seconds = round(time.perf_counter() - began, 2)
    if re.search(r"Traceback \(most recent|RecursionError|internal error in cuda-wheel", message):
        result = "traceback"
    message = message.replace(str(home.resolve()) + "/", "")
    return Outcome(
        source.key,
        result,
        first_error(message),
        message,
        seconds,
        round(listener.compile_seconds, 2),
        listener.kernels,
        listener.warnings,
        listener.left_out,
        settings and source.path in source.package.settings,
    )


def with_proposed_settings(
    outcome: Outcome, source: Source, corpus: Path, settings: bool, architecture: str
) -> Outcome:
    """Return the outcome of a file that does not compile with the settings that `cuda-wheel import` proposes for it;
    unchanged if they do not help."""
    from cuda_wheel.migrate.module_tables import ProposedModule, try_module

    home = source.package.home(corpus).resolve()
    table = settings_of(source, home, settings)
    module = {
        **table["module"][0],
        **{key: table[key] for key in ("include-dirs", "options", "defines") if key in table},
    }
    trial = try_module(home, ProposedModule(module), architecture)
    added = {key: value for key, value in trial.module.table.items() if module.get(key) != value}
    if trial.error or trial.is_host_code or not added:
        return outcome
    return replace(
        outcome,
        result="compiled",
        error="",
        message="",
        kernels=[kernel.name for kernel in trial.kernels],
        warnings=trial.warnings,
        proposed=added,
    )


def first_error(message: str) -> str:
    """Return the first line of a message that names an error, else its first line."""
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    if "Traceback" in message:
        return lines[-1][:300]
    errors = [line for line in lines if re.search(r"\b(catastrophic )?error\b", line)]
    return next(iter(errors or lines), "")[:300]


def chosen(every: Sequence[Source], keys: Sequence[str], done: AbstractSet[str]) -> list[Source]:
    """Return the files to work on: those with a key that contains one of `keys`, and those first that include
    CUTLASS, because they take longest."""
    todo = [each for each in every if each.key not in done and (not keys or any(key in each.key for key in keys))]
    return sorted(todo, key=lambda source: not any("cutlass" in need.at for need in source.package.needs))


def in_parallel(
    todo: Sequence[Source],
    options: argparse.Namespace,
    function: Callable[[Source, argparse.Namespace], T],
    received: Callable[[T], None],
) -> None:
    """Call `function` for each file in `options.processes` threads, and `received` with each result as it comes."""
    end = time.monotonic() + options.minutes * 60

    def unless_late(source: Source) -> T | None:
        return function(source, options) if time.monotonic() < end else None

    with ThreadPoolExecutor(options.processes) as threads:
        try:
            for future in as_completed([threads.submit(unless_late, source) for source in todo]):
                result = future.result()
                if result is not None:
                    received(result)
        except BaseException:
            threads.shutdown(cancel_futures=True)  # an error ends the run, and not the files after it
            raise


def in_process(source: Source, options: argparse.Namespace) -> Outcome:
    command = [
        sys.executable,
        __file__,
        *(["--list", str(options.list)] if options.list else []),
        "--one",
        "--corpus",
        str(options.corpus),
        "unused",
        source.key,
    ]
    command += ["--images", str(options.images)] * bool(options.images) + ["--no-settings"] * options.no_settings
    command += ["--proposed"] * options.proposed
    command += [part for each in options.architecture for part in ("--architecture", each)]
    with tempfile.TemporaryDirectory() as cache:
        try:
            status, output, errors = run(command, options.limit, CUDA_WHEEL_CACHE_DIR=cache)
        except TimeoutError:
            return Outcome(source.key, "timeout", f"not compiled after {options.limit:g} s", seconds=options.limit)
    try:
        return Outcome(**json.loads(output.splitlines()[-1]))
    except (IndexError, ValueError, TypeError):
        kind = "traceback" if "Traceback" in errors else "crash"
        return Outcome(source.key, kind, first_error(errors) or f"exit status {status}", errors)


def run(command: Sequence[str], limit: float, folder: Path | None = None, **environ: str) -> tuple[int, str, str]:
    """Return a command's exit status, output and errors. At the limit, in seconds, it is killed with all processes that
    it started, and TimeoutError is raised."""
    process = subprocess.Popen(
        command,
        cwd=folder,
        env={**os.environ, **environ},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    try:
        output, errors = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        raise TimeoutError from None
    return process.returncode, output, errors


def read_records(path: Path, kind: Callable[..., T]) -> dict[str, T]:
    """Return the records of a file by key, each as a `kind`; {} if there is no file."""
    if not path.exists():
        return {}
    return {each["key"]: kind(**each) for each in json.loads(path.read_text(encoding="utf-8"))}


def write_outcomes(path: Path, outcomes: Iterable[Outcome]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps([asdict(each) for each in outcomes], indent=1, ensure_ascii=False)
    path.write_text(text + "\n", encoding="utf-8")


def parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("result", type=Path)
    parser.add_argument("keys", nargs="*")
    parser.add_argument("--corpus", type=Path, default=CORPUS)
    parser.add_argument("--list", type=Path, help="another list than packages.toml")
    parser.add_argument("--images", type=Path)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--limit", type=float, default=600)
    parser.add_argument("--minutes", type=float, default=float("inf"))
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("--architecture", action="append", default=[], help="an entry of `architectures`, not 80")
    parser.add_argument("--failed", action="store_true")
    parser.add_argument("--no-settings", action="store_true")
    parser.add_argument("--proposed", action="store_true", help="with the settings that cuda-wheel import proposes")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    return parser


def main() -> None:
    options = parser().parse_intermixed_args()
    every = sources(packages(options.list) if options.list else packages())
    if options.one:
        (source,) = [each for each in every if each.key == options.keys[0]]
        architectures = options.architecture or ["80"]
        settings = not options.no_settings
        outcome = compile_source(source, options.corpus, options.images, settings, architectures)
        if options.proposed and outcome.result == "CompileError":
            outcome = with_proposed_settings(outcome, source, options.corpus, settings, architectures[0])
        print(json.dumps(asdict(outcome)))
        return
    outcomes = read_records(options.result, Outcome)
    done = {key for key, outcome in outcomes.items() if options.resume or outcome.result == "compiled"}
    todo = chosen(every, options.keys, done if options.resume or options.failed else set())

    def received(outcome: Outcome) -> None:
        outcomes[outcome.key] = outcome
        print(f"{outcome.result:12} {outcome.seconds:7.1f} s {len(outcome.kernels):5} {outcome.key}", flush=True)
        write_outcomes(options.result, (outcomes[each.key] for each in every if each.key in outcomes))

    in_parallel(todo, options, in_process, received)
    good = sum(outcome.result == "compiled" for outcome in outcomes.values())
    print(f"{good} of {len(outcomes)} files compile")


if __name__ == "__main__":
    main()
