"""Write a build's warnings and errors about jobs and modules.

Put the errors of several modules together, so that each distinct diagnostic is printed once. Pure functions.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from cuda_wheel.builder.cache.compile_cache import contains_project_path
from cuda_wheel.builder.cxx.demangling import signature
from cuda_wheel.builder.errors import CompileError
from cuda_wheel.builder.jobs import Compiled, Job
from cuda_wheel.builder.plan import ModulePlan
from cuda_wheel.builder.sources.modules import SourceModule
from cuda_wheel.builder.toolchain.toolchain import Toolchain
from cuda_wheel.runtime.errors import CudaWheelError
from cuda_wheel.runtime.manifest import Target
from cuda_wheel.runtime.parts.linking.linkers import Cause, causes, locate_link_errors
from cuda_wheel.runtime.parts.python_kernels.signatures import LANGUAGES

__all__ = [
    "CommonErrors",
    "Failure",
    "as_build_error",
    "bundle_failure",
    "compile_failure",
    "job_warnings",
    "link_failure",
    "merged",
    "not_compiled",
]


_ENOUGH = 3
"""The build ends early if at least this number of sources fail with the same error in a header, and no job has
compiled."""

_SHOWN = 4
"""If several modules have the same diagnostic, a line above it names at most this number of them. "..." stands for the
others."""

_ERROR = re.compile(r"(\S.*?)(?::\d+)?(?::\d+)?: error: ")


class Failure(NamedTuple):
    """The reason why a module cannot be built.

    `heading` is the first line of the message, such as "k.cu does not compile for sm_90 with NVRTC 13.0:", and `by` the
    part of it from "for" on, without the colon. Both are "" if `text` is the whole message. `unnamed_instances` has the
    meaning that it has in CompileError.
    """

    heading: str
    by: str
    text: str
    unnamed_instances: tuple[str, ...] = ()

    def __str__(self) -> str:
        return "\n".join(filter(None, [self.heading, self.text]))


def merged(failures: Mapping[str, Failure]) -> list[str]:
    """Return the error texts of a build, with each diagnostic and each hint once. `failures` is module name -> failure.

    A diagnostic that only one module has is below the heading of that module. A diagnostic that several modules have is
    below a line that names these modules.
    """
    modules: dict[str, dict[str, None]] = {}
    for name, failure in sorted(failures.items()):
        for part in _parts(failure.text) if failure.heading else [failure.text]:
            modules.setdefault(part, {})[name] = None
    groups: dict[tuple[str, ...], list[str]] = {}
    for part, names in modules.items():
        groups.setdefault(tuple(names), []).append(part)
    return [_group({name: failures[name] for name in names}, parts) for names, parts in groups.items()]


def _parts(text: str) -> list[str]:
    """Return the parts of a failure's error message, in order: diagnostics, notes and hints. An empty line ends a
    diagnostic. A line that starts with "note: " or "help: " is a part of its own, and so is each line after it up to
    the next empty line."""
    parts: list[str] = []
    for block in filter(None, text.split("\n\n")):
        lines = block.split("\n")
        ends = [index for index, line in enumerate(lines) if line.startswith(("help: ", "note: "))]
        first = ends[0] if ends else len(lines)
        parts += filter(None, ["\n".join(lines[:first]), *lines[first:]])
    return parts


def _group(sharing: Mapping[str, Failure], parts: Sequence[str]) -> str:
    hints = [part for part in parts if part.startswith(("note: ", "help: "))]
    diagnostics = "\n\n".join(part for part in parts if part not in hints)
    headings = list(dict.fromkeys(failure.heading for failure in sharing.values()))
    heading = headings[0]
    if len(headings) > 1:
        by = ", ".join(dict.fromkeys(failure.by for failure in sharing.values()))
        heading = f"{_modules(list(sharing))} (compiled {by}):"
    return "\n".join(filter(None, [heading, diagnostics, *hints]))


def _modules(names: Sequence[str]) -> str:
    more = ", ..." if len(names) > _SHOWN else ""
    return f"in {len(names)} modules: {', '.join(names[:_SHOWN])}{more}"


class CommonErrors:
    """Counts the sources that fail with the same error in a header.

    A build ends early if all modules include a faulty header: compiling the others would only repeat its error.
    """

    def __init__(self) -> None:
        self._sources: dict[str, set[str]] = {}
        """Error message about a header -> project-relative paths of the sources that fail with this message."""
        self._has_compiled = False

    def job_compiled(self) -> None:
        self._has_compiled = True

    def job_failed(self, text: str, source: str) -> None:
        errors = ((_ERROR.match(part), part) for part in _parts(text))
        for part in (part for match, part in errors if match and match[1] != source):
            self._sources.setdefault(part, set()).add(source)

    def reason_to_end(self, left: int) -> str:
        """Return the message with which the build ends although `left` modules are not compiled; "" to continue it."""
        common = max(map(len, self._sources.values()), default=0)
        if self._has_compiled or common < _ENOUGH or not left:
            return ""
        return f"{not_compiled(left)}: {common} sources fail alike in a header, and none has compiled."


def not_compiled(left: int) -> str:
    """Return how many modules a build that ends early leaves: "2 more modules were not compiled"."""
    return "1 more module was not compiled" if left == 1 else f"{left} more modules were not compiled"


def compile_failure(job: Job, toolchain: Toolchain, error: CompileError, module: ModulePlan | None = None) -> Failure:
    """Return the failure of a module whose job raised `error`.

    The heading names `module` and its macros; None to name only the source, if a single module has it.
    """
    compiler = toolchain.name
    if job.python_compiler:
        compiler = f"{LANGUAGES[job.kind].title} {job.python_compiler.partition(' ')[0]}"
    if job.tileiras:
        compiler += f" and tileiras {job.tileiras.partition(' ')[0]}"
    by = f"for {job.target_name} with {compiler}"
    subject = job.source
    if module is not None:
        macros = [f"{name}={value}" if value else name for name, value in module.module.settings.defines]
        subject = f"{job.source} (module {', '.join([module.module.name, *macros])})"
    heading = f"{subject} does not compile {by}:"
    return Failure(heading, by, _with_suspects(job, str(error)), error.unnamed_instances)


_WORD = re.compile(r"[A-Za-z_]\w*")
_TYPES = frozenset("void bool char short int long float double unsigned signed const true false".split())  # noqa: SIM905
"""C++ keywords that a name expression in the setting `instantiate` may contain. A source uses them without declaring
them."""


def _with_suspects(job: Job, text: str) -> str:
    """Return `text`, the error message of a job, with a better hint if it says that the compiler crashed. The new hint
    lists the names in the setting `instantiate` that may have caused the crash."""
    if "the compiler process died" not in text or not job.instantiate:
        return text
    declared = {*_WORD.findall(job.text.decode(errors="replace")), *_TYPES}
    unknown = [name for name in job.instantiate if not declared.issuperset(_WORD.findall(name))]
    suspects = ", ".join(map(repr, unknown or job.instantiate))
    return (
        f"{text.partition(chr(10) + 'help: ')[0]}\nhelp: NVRTC may crash on a name in instantiate that the source does "
        f"not declare: check {suspects}\nhelp: if that is not it, the compiler ran out of memory or stack: make the "
        "source smaller"
    )


_SYMBOL = re.compile(r"'([A-Za-z_$][\w$]*)'")

_OTHER_GPU = "is machine code for"
"""Part of the error message of `builder.link` if an input is a cubin for another GPU. `builder.link` raises this error
before it calls nvJitLink."""

_LINK_HELP = {
    Cause.UNDEFINED: (
        'add a source that defines it to the module\'s sources, with extern "C" in both or in neither; if the user of '
        "the module is to define it, list it in extern"
    ),
    Cause.DUPLICATE: (
        "define it in one source and declare it extern in the others; or make it inline; or rename one if it is a "
        "kernel (static kernels need different names too), else make it static"
    ),
    Cause.LTOIR_FOR_NEWER_GPU: (
        "LTO-IR and PTX are for their own architecture and later ones: remove the earlier ones from architectures"
    ),
    Cause.NEEDS_LTO: 'LTO-IR, also in a fatbin, object or library, needs link = "lto"',
    Cause.BAD_INPUT: (
        "machine code, in whatever file, is for its own architecture and later ones of that major version: remove the "
        "others from architectures"
    ),
    Cause.NEWER_LTOIR: (
        "LTO-IR links with an nvJitLink of the same major version that is not older than the compiler of the LTO-IR"
    ),
}
"""Cause of a link error -> hint. If a log has several causes, only one hint is shown: the first in the order of this
mapping."""


def link_failure(module: SourceModule, target: Target, nvjitlink: str, error: Exception) -> str:
    """Return the message for a module that does not link for a target.

    `nvjitlink` is the version of nvJitLink; the text of `error` is nvJitLink's log.
    """
    lines = [line for line in locate_link_errors(str(error)).splitlines() if line.strip()]
    names = dict.fromkeys(name for line in lines for name in map(_as_written, _SYMBOL.findall(line)))
    readable = [_SYMBOL.sub(lambda match: f"'{_as_written(match[1])}'", line) for line in lines]
    places = [f"  {name}{where}" for name in names if (where := module.mentions(name))]
    head = f"{module.label} does not link for {target} with nvJitLink {nvjitlink}:"
    return "\n".join([head, *readable, *places, *_link_help("\n".join(lines))])


def _link_help(log: str) -> list[str]:
    found = set(causes(log))
    if Cause.PTX_FOR_NEWER_GPU in found:
        found.add(Cause.LTOIR_FOR_NEWER_GPU)
    if _OTHER_GPU in log:
        found.add(Cause.BAD_INPUT)
    return [f"help: {text}" for cause, text in _LINK_HELP.items() if cause in found][:1]


def _as_written(symbol: str) -> str:
    """Return a symbol as C++ text: "_Z14user_transformf" -> "user_transform(float)"."""
    name, parameters = signature(symbol)
    return name if parameters is None else f"{name}({', '.join(parameters)})"


def bundle_failure(module: ModulePlan, toolchain: Toolchain, error: CompileError) -> str:
    """Return the message for a module whose images could not be bundled into a fatbin."""
    return f"{module.module.label} cannot be bundled with nvFatbin {toolchain.nvfatbin}:\n{error}"


def as_build_error(error: Exception) -> CudaWheelError:
    """Return the error that a build reports for an exception from a worker.

    A CudaWheelError is returned unchanged. An OSError, such as a full disk, becomes a CompileError with the same text;
    any other exception is a bug, and becomes a CompileError that says so.
    """
    if isinstance(error, CudaWheelError):
        return error
    if isinstance(error, OSError):
        return CompileError(str(error))
    return CompileError(f"internal error in cuda-wheel; please report it: {error!r}")


def job_warnings(job: Job, result: Compiled) -> list[str]:
    """Return a warning for each reason why another build may get another result: the time, or the project's folder."""
    warnings = []
    if result.uses_build_time:
        warnings.append(f"{job.source} uses the time of the build (__DATE__ or __TIME__), so every build differs.")
    if contains_project_path(job, result):
        warnings.append(
            f"{job.source} for {job.target_name}: the image contains this folder's path ({job.root}), so builds in "
            "other folders differ."
        )
    return warnings
