"""Compile one source for one architecture, with NVRTC and nvJitLink. Runs in workers only; see `workers`.

Text goes in, bytes come out; nothing here knows of projects, wheels or manifests.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

from cuda_wheel import loader
from cuda_wheel.build import dead_code, lowering, ptx
from cuda_wheel.build.diagnostics import Log, Written, read_log
from cuda_wheel.build.errors import CompileError, ConfigError
from cuda_wheel.build.nvrtc import INVALID_OPTION
from cuda_wheel.build.precompiled import compile_text
from cuda_wheel.build.scratch import new_folder
from cuda_wheel.build.timing import phase
from cuda_wheel.build.variables import is_librarys, variables, without_unused
from cuda_wheel.elf import read_cubin
from cuda_wheel.errors import ImageError
from cuda_wheel.loader import resources_of
from cuda_wheel.manifest import GlobalInfo, Version

if TYPE_CHECKING:
    from cuda_wheel.build.device_code import Extraction
    from cuda_wheel.build.mixed_source import Result
    from cuda_wheel.build.nvrtc import Answer, Request
    from cuda_wheel.build.nvvm import Request as IrRequest

__all__ = [
    "EMPTY",
    "FORM_OPTIONS",
    "Compiled",
    "Form",
    "Job",
    "assemble",
    "compile_job",
    "described",
    "floating_point",
    "for_assembler",
    "is_direct",
    "kernel_resources",
    "launches",
    "line_roots",
    "machine_code",
    "may_hold_host_code",
    "nowhere",
    "nvrtc_request",
    "read_answer",
]


Form = Literal["whole", "ptx", "lto"]
"""What a job gives: images that are complete, relocatable PTX, or LTO-IR."""


@dataclass(frozen=True)
class Job:
    """One translation unit for one architecture: gives a cubin, PTX or both from one pass of the front end, or what a
    linker wants."""

    library: str
    """Path of NVRTC, or of libNVVM for its own language. Where that lies decides nothing."""
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
    kind: str = "cuda"
    """The language: "cuda", "nvvm" or "ptx"."""
    form: Form = "whole"
    libdevice: str = ""
    """Path of libdevice, which NVVM IR may ask for. Where that lies decides nothing."""
    nvvm: str = ""
    """Exact release of libNVVM, where that is the compiler; NVRTC's is the toolchain's."""


@dataclass(frozen=True)
class Compiled:
    """What a job gave. `names` maps name expressions to symbols; `log` holds the compiler's warnings."""

    cubin: bytes | None
    ptx: bytes | None
    ptx_version_compiled: Version | None
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
    ltoir: bytes | None = None


EMPTY = Compiled(None, None, None, {}, {}, {}, (), {}, (), "")
"""What nothing is known of."""


# --- compiling ------------------------------------------------------------------------------------


def compile_job(job: Job) -> Compiled:
    """Return the images of one job; raises CompileError with what the compiler says, or ConfigError for its options."""
    compiled = {"cuda": _of_cuda, "nvvm": _of_ir, "ptx": _of_ptx}[job.kind](job)
    if job.form == "lto":
        return compiled
    text = (compiled.ptx or b"").decode()
    if job.lineinfo:
        text = ptx.relocate_files(text, line_roots(job.include_dirs) | {os.getcwd(): ""})
    if job.cubin and compiled.cubin is None:
        with phase("assembling"):
            cubin, resources = _assembled(text, job)
        compiled = replace(compiled, cubin=cubin, resources=resources)
    text = ptx.normalise(text)
    if not job.ptx:
        return replace(compiled, ptx=None)
    with phase("lowering"):
        lowered = lowering.lower(text, job.ptx_version, job.arch, job.source, machine_code)
    return replace(compiled, ptx=lowered.encode())


def line_roots(include_dirs: Sequence[str]) -> dict[str, str]:
    """Return what stands in line information for the folders that its paths begin with: the toolchain's and the
    project's."""
    roots = {folder: "cuda/" for folder in include_dirs if os.path.isabs(folder)}
    return roots | {os.environ.get("PWD", os.getcwd()): ""}


def _of_cuda(job: Job) -> Compiled:
    optimised = None
    if is_direct(job) and dead_code.is_worth(job.root, job.source, job.text, job.include_dirs, job.options):
        optimised = _optimised(job)
    return _without_unused(_translated(job), job) if optimised is None else optimised


def _without_unused(compiled: Compiled, job: Job) -> Compiled:
    """Return what a job gave without the variables of libraries, of which the PTX keeps those that something uses."""
    if compiled.ptx is None or job.form != "whole":
        return compiled
    others = dead_code.others_variables(compiled.variables, job.text, compiled.headers or (), job.include_dirs)
    text = without_unused(ptx.normalise(compiled.ptx.decode()), lambda symbol: symbol in others or is_librarys(symbol))
    own = tuple(variable for variable in compiled.variables if variable.symbol not in others)
    return replace(compiled, ptx=text.encode(), variables=own)


def _optimised(job: Job) -> Compiled | None:
    """Return the images of a job by way of LTO-IR, without what nothing uses; None where that gives less than all.

    The linker's errors are not the user's: NVRTC has its own words for what is missing.
    """
    parts = _translated(replace(job, form="lto"))
    inputs = [("LTOIR", job.source, parts.ltoir or b"")]
    options = [f"-arch=sm_{job.arch}", "-lto", *floating_point(job.options)]
    with phase("linking"), suppress(ImageError), nowhere():
        text, _ = loader.link_code(inputs, [*options, "-ptx"], ptx=True)
        known = _without_unused(replace(described(text.rstrip(b"\0")), headers=parts.headers), job)
        symbols = [variable.symbol for variable in known.variables]
        options += [*dead_code.keeping(symbols), "-Xptxas=-v", *for_assembler(job.options)]
        cubin, log = loader.link_code(inputs, options)
        if not ptx.undefined(text.decode()) and dead_code.is_whole(cubin, known.kernels, symbols):
            return replace(
                parts,
                ltoir=None,
                cubin=cubin,
                ptx=known.ptx,
                ptx_version_compiled=known.ptx_version_compiled,
                kernels=known.kernels,
                bounds=known.bounds,
                variables=known.variables,
                resources=kernel_resources(log, cubin),
                log="\n\n".join(filter(None, [parts.log, str(_read(job, log, lambda file: None))])),
            )
    return None


@phase("compiling")
def _translated(job: Job) -> Compiled:
    """Return what NVRTC makes of a job."""
    whole = cache(lambda: compile_text(nvrtc_request(job)))
    suspect = launches(job) or may_hold_host_code(job, whole())
    result = _without_host_code(job, whole) if suspect else None
    if result is None:
        return read_answer(job, whole())
    compiled = read_answer(job, result.answer, result.expressions, lambda file: _lines_of(file, job), result.lost)
    headers = None if compiled.headers is None else tuple(sorted({*compiled.headers, *result.headers}))
    return replace(compiled, headers=headers, absent=result.absent, blanked=result.blanked)


@phase("compiling")
def _of_ir(job: Job) -> Compiled:
    from cuda_wheel.build.nvvm import compile_ir  # few projects have any
    from cuda_wheel.build.nvvm_log import read_answer

    request: IrRequest = {
        "library": job.library,
        "libdevice": job.libdevice,
        "text": job.text,
        "name": job.source,
        "arch": job.arch,
        "lto": job.form == "lto",
        "options": floating_point(job.options),
    }
    answer = compile_ir(request)
    warnings = read_answer(request, answer)
    return replace(described(answer["ptx"]), ltoir=answer["ltoir"] or None, log=warnings)


@phase("compiling")
def _of_ptx(job: Job) -> Compiled:
    text = job.text.decode()
    try:
        target = ptx.target(text)
        compiled = described(job.text)
    except ValueError as error:
        raise CompileError(f"{job.source}: error: {error}") from error
    fits = target == job.arch if target[-1] in "af" else int(target) <= int(job.arch.rstrip("af"))
    if not fits:
        raise CompileError(
            f"{job.source}: error: is PTX for sm_{target}, which cannot become an image for {job.arch}: leave that out "
            "of architectures"
        )
    return compiled


def described(text: bytes) -> Compiled:
    """Return what PTX says of itself; ValueError where it declares no version."""
    normal = ptx.normalise(text.decode())
    return replace(
        EMPTY,
        ptx=text,
        ptx_version_compiled=ptx.version(normal),
        kernels=ptx.kernels(normal),
        bounds=ptx.bounds(normal),
        variables=variables(normal),
    )


def _assembled(text: str, job: Job) -> tuple[bytes, dict[str, dict[str, int]]]:
    """Return the cubin of PTX, and what each kernel needs."""
    options = [*(["-lineinfo"] if job.lineinfo else []), "-Xptxas=-v", *for_assembler(job.options)]
    try:
        with nowhere():
            cubin, figures = assemble([text], job.arch, options)
    except CompileError as error:
        said = ptx.place_errors(str(error), job.source) if job.kind == "ptx" else str(error)
        raise CompileError(_explained(job, said) if job.kind == "cuda" else said) from None
    return cubin, kernel_resources(figures, cubin)


@contextmanager
def nowhere() -> Iterator[None]:
    """Work in an empty folder: the assembler looks for the files of line numbers and notes when they were changed."""
    before = os.getcwd()
    with new_folder() as folder:
        os.chdir(folder)
        try:
            yield
        finally:
            os.chdir(before)


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
            return _readable(job, whole())
        request = nvrtc_request(job)
        answer = compile_text(
            {
                **request,
                "text": extraction.text,
                "options": [*request["options"], *extraction.options],
                "expressions": list(extraction.expressions),
                "headers": dict(extraction.headers),
            }
        )
        return _readable(job, answer)

    return compile_mixed(job, compile)


def _readable(job: Job, answer: Answer) -> Answer:
    """Return an answer with PTX, where it has LTO-IR alone: that tells nobody which kernels it holds."""
    if job.form != "lto" or answer["error"]:
        return answer
    try:
        text, _ = loader.link_code(
            [("LTOIR", job.source, answer["ltoir"])], [f"-arch=sm_{job.arch}", "-lto", "-ptx"], ptx=True
        )
    except ImageError as error:
        raise CompileError(str(error)) from error
    return {**answer, "ptx": text.rstrip(b"\0")}


def is_direct(job: Job) -> bool:
    """Return whether NVRTC itself makes the machine code of a job."""
    # A real target gives PTX as well, byte for byte what the virtual one would give. With line information the cubin
    # is made from that PTX instead, because NVRTC would write absolute paths into it.
    return job.cubin and not job.lineinfo and job.kind == "cuda" and job.form == "whole"


FORM_OPTIONS: dict[Form, list[str]] = {
    "whole": [],
    "ptx": ["--relocatable-device-code=true"],
    "lto": ["--relocatable-device-code=true", "--dlink-time-opt"],
}


_UNROLLING = "_CCCL_META_UNROLL_LIMIT"
"""How far CCCL unrolls what it does with lists of types: 10 times for nvcc, and 16 for compilers that it does not know,
NVRTC among them. The time to read <cuda/std/utility>, which most of CCCL includes, goes up with two to that power:
half of all time to compile what uses CUB. The images are the same. Source: cuda/std/__type_traits/type_list.h."""


def nvrtc_request(job: Job) -> Request:
    """Return the compilation that a job begins with."""
    direct = is_direct(job)
    options = [f"--gpu-architecture={'sm' if direct else 'compute'}_{job.arch}", *job.options]
    options += [f"--include-path={folder}" for folder in job.include_dirs]
    # What has no linkage gets a symbol of its own, which would hold the number of this process.
    options += [f"--frandom-seed={job.source}"]
    options += ["--ptxas-options=-v"] if direct else []
    options += ["-lineinfo"] if job.lineinfo else []
    options += FORM_OPTIONS[job.form]
    if not any(_UNROLLING in option for option in options) and _UNROLLING.encode() not in job.text:
        options.append(f"--define-macro={_UNROLLING}=10")
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


def kernel_resources(log: str, cubin: bytes | None) -> dict[str, dict[str, int]]:
    """Return what each kernel needs; constant memory, which ptxas does not tell for every target, is the module's."""
    constant = {"constant": read_cubin(cubin).constant} if cubin else {}
    return {symbol: figures | constant for symbol, figures in resources_of(log).items()}


def for_assembler(options: Sequence[str]) -> list[str]:
    """Return, in nvJitLink's words, those of NVRTC's options that it would hand to the assembler."""
    names = {"--maxrregcount": "-maxrregcount", "--ptxas-options": "-Xptxas"}
    words = {**names, **{word: word for word in names.values()}}
    return [f"{words[name]}={value}" for name, value in _valued(options) if name in words]


def _valued(options: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield name and value of each option: "--name=value", or the value as the next option."""
    for option, following in zip(options, [*options[1:], ""], strict=False):  # one more than there are
        name, equals, value = option.partition("=")
        yield name, value if equals else following


_FLOATING_POINT = {"--ftz": "-ftz", "--prec-div": "-prec-div", "--prec-sqrt": "-prec-sqrt", "--fmad": "-fma"}
_FAST_MATH = ("-ftz=1", "-prec-div=0", "-prec-sqrt=0", "-fma=1")
"""What `--use_fast_math` stands for. Source: NVRTC, "Supported Compile Options"."""


def floating_point(options: Sequence[str]) -> list[str]:
    """Return, in the words that nvJitLink and libNVVM have in common, those of NVRTC's options that say how to compute.

    Source: nvJitLink, "Linker Options"; libNVVM, nvvmCompileProgram.
    """
    chosen: list[str] = []
    for name, value in _valued(options):
        name = re.sub(r"^-(?!-)", "--", name)
        if name == "--use_fast_math":
            chosen += _FAST_MATH
        elif name in _FLOATING_POINT:
            chosen.append(f"{_FLOATING_POINT[name]}={int(value.lower() in ('true', '1'))}")
    return chosen


def machine_code(text: str, arch: str) -> bytes:
    """Return machine code for comparison. What relocatable PTX leaves to others is defined beside it, to no purpose."""
    missing = ptx.undefined(text)
    beside = [ptx.definitions(text, missing.values())] if missing else []
    # Debug information would hold a copy of the text, its version included.
    return assemble([text, *beside], arch, ("-Xptxas=--suppress-debug-info",))[0]


def assemble(texts: Sequence[str], arch: str, options: Sequence[str] = ()) -> tuple[bytes, str]:
    """Return the cubin that nvJitLink makes of PTX, and its log; raises CompileError with the assembler's words."""
    inputs = [("PTX", f"module{number}.ptx", text.encode()) for number, text in enumerate(texts)]
    try:
        return loader.link_code(inputs, [f"-arch=sm_{arch}", *options])
    except ImageError as error:
        raise CompileError(str(error)) from error
