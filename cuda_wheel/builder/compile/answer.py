"""Read what NVRTC returned for a job."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from cuda_wheel.builder.compile.request import is_direct
from cuda_wheel.builder.errors import CompileError, ConfigError
from cuda_wheel.builder.images.assembly import described, kernel_resources
from cuda_wheel.builder.jobs import EMPTY, Compiled, Job
from cuda_wheel.builder.messages.diagnostics import Log, Written, read_log
from cuda_wheel.builder.toolchain.nvrtc import INVALID_OPTION
from cuda_wheel.runtime import nvjitlink
from cuda_wheel.runtime.errors import ImageError

if TYPE_CHECKING:
    from cuda_wheel.builder.toolchain.nvrtc import Answer

__all__ = [
    "explained",
    "read_answer",
    "readable",
]


def readable(job: Job, answer: Answer) -> Answer:
    """Return an answer with PTX, where it has LTO-IR alone: that tells nobody which kernels it holds."""
    if job.form != "lto" or answer["error"]:
        return answer
    try:
        text, _ = nvjitlink.link_code(
            [("LTOIR", job.source, answer["ltoir"])], [f"-arch=sm_{job.arch}", "-lto", "-ptx"], ptx=True
        )
    except ImageError as error:
        raise CompileError(str(error)) from error
    return {**answer, "ptx": text.rstrip(b"\0")}


def read_answer(
    job: Job,
    answer: Answer,
    expressions: Sequence[str] | None = None,
    written: Written = lambda file: None,
    lost: Sequence[str] = (),
) -> Compiled:
    """Return what a compilation gave, with its PTX as it was compiled; raises CompileError or ConfigError.

    `expressions` are those that the compiler was asked for, if not the job's; `written` returns the lines of files that
    it was given with changes; `lost` are the headers that were not found and taken for the host's.
    """
    expressions = job.instantiate if expressions is None else expressions
    log = answer["log"]
    if answer["error"] == INVALID_OPTION:
        reason = log.strip("\0\n ").removeprefix("nvrtc: error: ")
        raise ConfigError(f"{job.source}: NVRTC refuses an option (of std, defines or options): {reason}.")
    if answer["error"]:
        raise CompileError(explained(job, log, written, lost) or answer["error"])
    compiled = EMPTY if job.form == "lto" else described(answer["ptx"])
    direct = is_direct(job)
    return replace(
        compiled,
        cubin=answer["cubin"] if direct else None,
        resources=kernel_resources(log, answer["cubin"]) if direct else {},
        ltoir=answer["ltoir"] or None,
        names=dict(zip(expressions, answer["symbols"], strict=True)),
        headers=None if answer["headers"] is None else tuple(answer["headers"]),
        log=str(_read(job, log, written)),
    )


def _read(job: Job, log: str, written: Written) -> Log:
    systems = [folder for folder in job.include_dirs if os.path.isabs(folder)]
    return read_log(log, job.source, job.root, systems, job.instantiate, written)


def _lines_of(file: str, job: Job) -> list[str] | None:
    """Return the lines of the source, or of another file of the project."""
    if file == job.source:
        return job.text.decode(errors="replace").split("\n")
    try:
        with open(os.path.join(job.root, file), encoding="utf-8", errors="replace", newline="\n") as stream:
            return stream.read().split("\n")
    except OSError:
        return None


def explained(job: Job, log: str, written: Written = lambda file: None, lost: Sequence[str] = ()) -> str:
    """Return what a log says, and what would help."""
    from cuda_wheel.builder.messages.hints import (
        Case,
        hints,  # what compiles needs no help
    )

    read = _read(job, log, written)
    standard = next((option[6:] for option in job.options if option.startswith("--std=")), "c++17")
    release = re.search(r"\.so\.(\d+)|nvrtc64_(\d\d)", job.library)
    case = Case(
        text=job.text.decode(errors="replace"),
        arch=job.arch,
        std=standard,
        searched=tuple(folder for folder in job.include_dirs if not os.path.isabs(folder)),
        find=lambda name: _files_of(name, job.root),
        cuda=int(release[1] or release[2]) if release else 12,
        lost=tuple(lost),
    )
    return "\n".join(filter(None, [str(read), *hints(read.diagnostics, case)]))


def _files_of(name: str, root: str) -> list[str]:
    """Return the project-relative paths of all files of that name, but for those in hidden folders."""
    found = []
    for folder, below, files in os.walk(root):
        below[:] = sorted(each for each in below if not each.startswith(".") and each not in _NOT_SEARCHED)
        if name in files:
            found.append(os.path.relpath(os.path.join(folder, name), root).replace(os.sep, "/"))
    return found


_NOT_SEARCHED = ("build", "dist", "node_modules", "site-packages", "__pycache__")
