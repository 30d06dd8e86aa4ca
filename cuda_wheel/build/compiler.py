"""Compile one source for one architecture, with NVRTC and nvJitLink. Runs in workers only; see `workers`.

Text goes in, bytes come out; nothing here knows of projects, wheels or manifests.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any

from cuda_wheel import loader
from cuda_wheel.build import lowering, ptx
from cuda_wheel.build.cubin import constant_bytes
from cuda_wheel.build.diagnostics import Log, Written, read_log
from cuda_wheel.build.errors import CompileError, ConfigError
from cuda_wheel.build.nvrtc import INVALID_OPTION, compile_text
from cuda_wheel.build.variables import variables
from cuda_wheel.loader import GlobalInfo, ImageError, Version, resources_of

if TYPE_CHECKING:
    from cuda_wheel.build.device_code import Extraction
    from cuda_wheel.build.mixed_source import Result
    from cuda_wheel.build.nvrtc import Answer, Request

__all__ = [
    "Compiled",
    "Job",
    "assemble",
    "compile_job",
    "launches",
    "may_hold_host_code",
    "nvrtc_request",
    "read_answer",
]


@dataclass(frozen=True)
class Job:
    """One translation unit for one architecture: gives a cubin, PTX or both from one pass of the front end."""

    library: str
    """Path of NVRTC. Where that lies decides nothing."""
    root: str
    """Folder that relative include paths start from: the project's. No image depends on it."""
    source: str
    """Project-relative path with "/": what `__FILE__` and diagnostics say."""
    text: bytes
    arch: str
    cubin: bool
    ptx: bool
    options: tuple[str, ...]
    include_dirs: tuple[str, ...]
    """Project-relative folders first, then absolute ones."""
    instantiate: tuple[str, ...]
    lineinfo: bool
    ptx_version: str
    """ "auto", "as-compiled" or MAJOR.MINOR."""
    host_code: str = "auto"
    """ "auto", "keep" or "reject"."""


@dataclass(frozen=True)
class Compiled:
    """What a job gave. `names` maps name expressions to symbols; `log` holds the compiler's warnings."""

    cubin: bytes | None
    ptx: bytes | None
    ptx_version_compiled: Version
    kernels: dict[str, tuple[Any, ...]]
    bounds: dict[str, dict[str, int]]
    """What the source demands of launches, by kernel symbol."""
    resources: dict[str, dict[str, int]]
    """What the assembler reported, by kernel symbol."""
    variables: tuple[GlobalInfo, ...]
    names: dict[str, str]
    headers: tuple[str, ...] | None
    """Absolute paths of all files that the compiler read beside the source; None where it cannot tell."""
    log: str
    absent: tuple[str, ...] = ()
    """Absolute paths in the project where a header that is left out would be, if there were one."""
    blanked: tuple[str, ...] = ()
    """The host code that was left out, in words."""


# --- compiling ------------------------------------------------------------------------------------


def compile_job(job: Job) -> Compiled:
    """Return the images of one job; raises CompileError with what the compiler says, or ConfigError for its options."""
    whole = cache(lambda: compile_text(nvrtc_request(job)))
    suspect = launches(job) or may_hold_host_code(job, whole())
    result = _without_host_code(job, whole) if suspect else None
    if result is None:
        compiled = read_answer(job, whole())
    else:
        compiled = read_answer(job, result.answer, result.expressions, lambda file: _lines_of(file, job), result.lost)
        headers = None if compiled.headers is None else tuple(sorted({*compiled.headers, *result.headers}))
        compiled = replace(compiled, headers=headers, absent=result.absent, blanked=result.blanked)
    cubin, resources = compiled.cubin, compiled.resources
    text = (compiled.ptx or b"").decode()
    if job.lineinfo:
        roots = {folder: "cuda/" for folder in job.include_dirs if os.path.isabs(folder)}
        text = ptx.relocate_files(text, roots | {os.getcwd(): "", os.environ.get("PWD", job.root): ""})
        if job.cubin:
            # The assembler would look for the files and note when they were last changed.
            with tempfile.TemporaryDirectory() as nowhere:
                os.chdir(nowhere)
                options = ("-lineinfo", "-Xptxas=-v", *_for_assembler(job.options))
                try:
                    cubin, figures = assemble(text, job.arch, options)
                except CompileError as error:
                    raise CompileError(_explained(job, str(error))) from None
                resources = _resources(figures, cubin)
                os.chdir(job.root)
    text = ptx.normalise(text)
    lowered = lowering.lower(text, job.ptx_version, job.arch, job.source, _machine_code) if job.ptx else None
    return replace(compiled, cubin=cubin, ptx=None if lowered is None else lowered.encode(), resources=resources)


def launches(job: Job) -> bool:
    """Return whether a job's text seems to launch kernels, which is host code to be taken out."""
    return job.host_code != "keep" and b"<<<" in job.text


def may_hold_host_code(job: Job, answer: Answer) -> bool:
    """Return whether a plain compilation's answer leaves it open that there is host code to be taken out."""
    return job.host_code != "keep" and answer["error"] not in ("", INVALID_OPTION)


def _without_host_code(job: Job, whole: Callable[[], Answer]) -> Result | None:
    """Return what becomes of the job without its host code; None where nobody can tell what is host code."""
    try:
        from cuda_wheel.build.mixed_source import compile_mixed
    except ImportError:  # the parser is not installed: whoever put the toolchain together left it out
        return None

    def compile(extraction: Extraction) -> Answer:
        if extraction.text is job.text:
            return whole()
        request = nvrtc_request(job)
        return compile_text(
            {
                **request,
                "text": extraction.text,
                "options": [*request["options"], *extraction.options],
                "expressions": list(extraction.expressions),
                "headers": dict(extraction.headers),
            }
        )

    return compile_mixed(job, compile)


def _is_direct(job: Job) -> bool:
    # A real target gives PTX as well, byte for byte what the virtual one would give. With line information the cubin
    # is made from that PTX instead, because NVRTC would write absolute paths into it.
    return job.cubin and not job.lineinfo


def nvrtc_request(job: Job) -> Request:
    """Return the compilation that a job begins with."""
    direct = _is_direct(job)
    options = [f"--gpu-architecture={'sm' if direct else 'compute'}_{job.arch}", *job.options]
    options += [f"--include-path={folder}" for folder in job.include_dirs]
    # What has no linkage gets a symbol of its own, which would hold the number of this process.
    options += [f"--frandom-seed={job.source}"]
    options += ["--ptxas-options=-v"] if direct else []
    options += ["-lineinfo"] if job.lineinfo else []
    return {
        "library": job.library,
        "folder": job.root,
        "text": job.text,
        "name": job.source,
        "options": options,
        "expressions": list(job.instantiate),
    }


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
        raise CompileError(_explained(job, log, written, lost) or answer["error"])
    text = answer["ptx"].decode()
    normal = ptx.normalise(text)
    return Compiled(
        cubin=answer["cubin"] if _is_direct(job) else None,
        ptx=answer["ptx"],
        ptx_version_compiled=ptx.version(text),
        kernels=ptx.kernels(normal),
        bounds=ptx.bounds(normal),
        resources=_resources(log, answer["cubin"]) if _is_direct(job) else {},
        variables=variables(normal),
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


def _explained(job: Job, log: str, written: Written = lambda file: None, lost: Sequence[str] = ()) -> str:
    """Return what a log says, and what would help."""
    from cuda_wheel.build.hints import Case, hints  # what compiles needs no help

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


def _resources(log: str, cubin: bytes | None) -> dict[str, dict[str, int]]:
    """Return what each kernel needs; constant memory, which ptxas does not tell for every target, is the module's."""
    constant = {"constant": constant_bytes(cubin)} if cubin else {}
    return {symbol: figures | constant for symbol, figures in resources_of(log).items()}


def _for_assembler(options: Sequence[str]) -> list[str]:
    """Return, in nvJitLink's words, those of NVRTC's options that it would hand to the assembler."""
    names = {"--maxrregcount": "-maxrregcount", "--ptxas-options": "-Xptxas"}
    words = {**names, **{word: word for word in names.values()}}
    chosen = []
    for option, following in zip(options, [*options[1:], ""], strict=True):
        name, equals, value = option.partition("=")
        if name in words:  # "--name=value", or the value as the next option
            chosen.append(f"{words[name]}={value if equals else following}")
    return chosen


def _machine_code(text: str, arch: str) -> bytes:
    # Debug information would hold a copy of the text, its version included.
    return assemble(text, arch, ("-Xptxas=--suppress-debug-info",))[0]


def assemble(text: str, arch: str, options: Sequence[str] = ()) -> tuple[bytes, str]:
    """Return the cubin that nvJitLink makes of PTX, and its log; raises CompileError with the assembler's words."""
    try:
        return loader.assemble(text.encode(), arch, options)
    except ImageError as error:
        raise CompileError(str(error)) from error
