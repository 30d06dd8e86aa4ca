"""Precompile the headers of sources that begin with the same includes, once in each worker process.

The preamble of a source is its beginning: comments and directives, up to the first other token. Jobs with equal options
form a group if their preambles begin with the same directives.

NVRTC uses precompiled headers only in the process that made them, and only with the same options. It checks that a
source begins with the text that was precompiled, and its log says whether it used the file that it was given. If
anything fails, the source is compiled without precompiled headers, and this process precompiles nothing more.

The parent process finds the groups (`find_header_groups`), the worker pool sends a `Precompilation` with each call
(`call_with_precompilation`), and in the worker `NvrtcCalls.compile` passes it to `PrecompiledHeaders.compile`.
"""

from __future__ import annotations

import os
import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import cache, lru_cache
from hashlib import sha256
from typing import IO, TYPE_CHECKING, Any, NamedTuple, TypeVar

from cuda_wheel.builder.errors import ConfigError
from cuda_wheel.builder.jobs import Job
from cuda_wheel.builder.rewriting.front_end import USED_PARTS_OPTION, looks_like_host_code
from cuda_wheel.builder.sources import header_dependencies as include_graph
from cuda_wheel.builder.timing import PRECOMPILING, phase
from cuda_wheel.builder.toolchain import nvrtc
from cuda_wheel.builder.toolchain.toolchain import INCLUDE, STAND_INS

if TYPE_CHECKING:
    from cuda_wheel.builder.toolchain.nvrtc import NvrtcRequest, NvrtcResult
__all__ = [
    "HEAP_BYTES",
    "HEAVY_BYTES",
    "MIN_JOBS",
    "PRECOMPILED_HEADERS",
    "HeaderGroup",
    "Precompilation",
    "PrecompiledHeaders",
    "call_with_precompilation",
    "current_precompilation",
    "find_header_groups",
    "header_bytes",
    "is_worthwhile",
    "may_precompile",
    "preamble_prefixes",
    "precompiled_headers",
    "precompiles",
]


T = TypeVar("T")

HEAP_BYTES = 1 << 30
"""Size in bytes of the address space that a process reserves for precompiled headers. This is twice the size that all
headers of CCCL together need, except headers that NVRTC cannot compile."""

HEAVY_BYTES = 1 << 20
"""Size in bytes. Precompiling headers of this total size is worthwhile for MIN_JOBS jobs or more. Headers of a smaller
total `size` need `MIN_JOBS - 1 + HEAVY_BYTES / size` jobs or more."""

# Precompiling takes up to 1.5 times as long as one compilation of a source with these headers, and saves at least two
# thirds of each later compilation.
MIN_JOBS = 3
"""Headers are precompiled only if at least this number of jobs include them."""


class HeaderGroup(NamedTuple):
    """A group of jobs that can share precompiled headers, with the text of one of these jobs."""

    key: str
    """String that identifies the group. It is equal for all jobs of the group, and different for other groups."""
    text: bytes
    """Beginning of one job's source, up to the last include that all jobs of the group have in common. The sources of
    the other jobs may differ from this text in comments and white space."""
    jobs: int
    """Number of the build's jobs that are in the group, at least MIN_JOBS."""


class Precompilation(NamedTuple):
    """The precompiled headers that a worker's call may use, and may make."""

    group: HeaderGroup
    jobs: int
    """Number of jobs of the group that this worker process will probably compile, including the job for which it gets
    this `Precompilation`."""
    folder: str | None
    """Folder in which the worker process may write a new file of precompiled headers. If None, it must not make a new
    file, but may use the file that it made for an earlier job."""


_current: ContextVar[Precompilation | None] = ContextVar("precompilation", default=None)


def current_precompilation() -> Precompilation | None:
    """Return the Precompilation of the worker's current call; None if the call may use no precompiled headers."""
    return _current.get()


@contextmanager
def _allowing(precompilation: Precompilation) -> Iterator[None]:
    token = _current.set(precompilation)
    try:
        yield
    finally:
        _current.reset(token)


def call_with_precompilation(call: tuple[Precompilation, Callable[[Any], T], Any]) -> T:
    """Return `function(argument)` for a call (precompilation, function, argument). While the function runs,
    `current_precompilation` returns the precompilation."""
    precompilation, function, argument = call
    with _allowing(precompilation):
        return function(argument)


@cache
def precompiled_headers() -> PrecompiledHeaders:
    """Return the precompiled headers of this process."""
    return PrecompiledHeaders()


class _HeaderFile(NamedTuple):
    """An open file of precompiled headers. Its name is already deleted, so that it disappears with this process."""

    key: tuple[object, ...]
    """Properties of the request for which the file was made: path of NVRTC, folder, options, headers in memory and
    group. Only requests with equal properties use the file."""
    file: IO[bytes]
    stamps: dict[str, tuple[int, int]]
    """Absolute path of each header in the file -> (modification time in nanoseconds, size in bytes) when it was
    precompiled."""

    @property
    def path(self) -> str:
        return f"/proc/self/fd/{self.file.fileno()}"


class PrecompiledHeaders:
    """The precompiled headers of a process.

    Only one file exists at a time: CUB's headers take 120 MB of disk, and more if a source makes CCCL unroll more (see
    `nvrtc_request`).
    """

    def __init__(self) -> None:
        self._file: _HeaderFile | None = None
        # On other systems than Linux, a process that is killed would leave its files.
        self._enabled = os.path.isdir("/proc/self/fd")

    @property
    def is_empty(self) -> bool:
        """Whether nothing is precompiled."""
        return self._file is None

    def compile(self, request: NvrtcRequest, precompilation: Precompilation) -> NvrtcResult:
        """Return NVRTC's result, compiled with precompiled headers if that is possible and worthwhile.

        The result is the same as without them.
        """
        answer = self._try(request, precompilation)
        if answer is not None and not answer["error"]:
            return answer
        plain = nvrtc.compile_text(request)
        if answer is not None and not plain["error"]:  # the precompiled headers caused the error
            self.disable(request["library"])
        return plain

    def _try(self, request: NvrtcRequest, precompilation: Precompilation) -> NvrtcResult | None:
        """Return NVRTC's result for a request, compiled with precompiled headers. Return None if they cannot be used or
        are not worthwhile.

        If anything goes wrong, return None, and let this process precompile nothing more.
        """
        # Which parts are used differs between the sources of a group.
        if USED_PARTS_OPTION in request["options"]:
            return None
        if not self._enabled or not request["text"].startswith(precompilation.group.text):
            return None
        try:
            file = self._file_for(request, precompilation)
            return None if file is None else self._compile_with(request, file)
        except Exception:  # such as MemoryError, or OSError for a full disk
            self.disable(request["library"])
            return None

    def disable(self, library: str) -> None:
        """Discard what is precompiled, and precompile nothing more. `library` is the path of NVRTC."""
        self._enabled = False
        self.close()
        nvrtc.set_precompiled_heap(library, 0)

    def close(self) -> None:
        """Discard what is precompiled."""
        if self._file is not None:
            self._file.file.close()
            self._file = None

    def _file_for(self, request: NvrtcRequest, precompilation: Precompilation) -> _HeaderFile | None:
        """Return the file of precompiled headers for a request. If this process has no such file, make it.

        Return None if making the file fails. Return None, without making a file, in these cases:
        `precompilation.folder` is None; `precompilation.jobs` jobs are too few to save time; this process has a file of
        the same group for other options.
        """
        group, jobs, folder = precompilation
        # The seed is the name of the source. It affects only what comes after the headers.
        options = tuple(option for option in request["options"] if not option.startswith("--frandom-seed="))
        key = (request["library"], request["folder"], options, request.get("headers", {}), group.key)
        if self._file is not None and self._file.key == key:
            if _stamps(self._file.stamps) != self._file.stamps:  # a header was edited
                self.disable(request["library"])
            return self._file
        # A job that compiles its source with two sets of options would precompile the headers twice for each job.
        has_other_options = self._file is not None and self._file.key[-1] == group.key
        if folder is None or has_other_options:
            return None
        folders = tuple(option.removeprefix(_PATH) for option in options if option.startswith(_PATH))
        before = "".join(f"#include <{name}>\n" for name in include_graph.pre_includes(options))
        if not is_worthwhile(jobs, header_bytes(os.fsencode(before) + group.text, request["folder"], folders)):
            return None
        self.close()
        with phase(PRECOMPILING):
            self._file = _precompile(request, group.text, folder, key)
        if self._file is None:
            self.disable(request["library"])
        return self._file

    def _compile_with(self, request: NvrtcRequest, headers: _HeaderFile) -> NvrtcResult | None:
        """Return NVRTC's result for a request that uses the precompiled `headers`. If NVRTC did not use them, return
        None, and let this process precompile nothing more."""
        answer = nvrtc.compile_text({**request, "options": [*request["options"], f"--use-pch={headers.path}"]})
        first, _, log = answer["log"].partition("\n")
        if first != f'"{request["name"]}": using precompiled header file "{headers.path}"' or answer["headers"] is None:
            self.disable(request["library"])
            return None
        return {**answer, "log": log, "headers": sorted({*headers.stamps, *answer["headers"]})}


_PATH = "--include-path="


def _precompile(request: NvrtcRequest, text: bytes, folder: str, key: tuple[object, ...]) -> _HeaderFile | None:
    """Precompile the headers that `text`, the beginning of a source, includes. Write them to a file in `folder`, and
    return the file. `key` becomes `_HeaderFile.key`.

    Return None if that fails, or if using the file could change the result of a compilation.
    """
    if not _reserve_memory(request["library"]):
        return None
    path = os.path.join(folder, "headers.pch")
    began = time.time_ns()
    options = [*request["options"], f"--create-pch={path}"]
    try:
        answer = nvrtc.compile_text({**request, "text": text + b"\n", "expressions": [], "options": options})
        # Messages before this line are warnings about the headers, which later compilations would not repeat.
        has_no_warnings = answer["log"].startswith(f'"{request["name"]}": creating precompiled header file "{path}"')
        if answer["error"] or not has_no_warnings or answer["headers"] is None:
            return None
        stamps = _stamps(answer["headers"])
        if any(changed >= began for changed, _ in stamps.values()):  # NVRTC may have read an older state, or a part
            return None
        # __BASE_FILE__ differs between the sources of a group.
        texts = (text, *map(os.fsencode, options), *request.get("headers", {}).values(), *map(_content, stamps))
        if any(b"__BASE_FILE__" in content for content in texts):
            return None
        return _HeaderFile(key, open(path, "rb"), stamps)
    finally:
        with suppress(FileNotFoundError):
            os.unlink(path)


@cache
def _reserve_memory(library: str) -> bool:
    """Reserve HEAP_BYTES of address space for NVRTC's precompiled headers. Return whether that succeeded; False on
    Windows.

    `library` is the path of NVRTC. If this process has a limit of address space, the limit is raised by HEAP_BYTES.
    """
    if sys.platform == "win32":
        return False
    import resource  # Windows does not have it

    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    if soft != resource.RLIM_INFINITY:
        if hard != resource.RLIM_INFINITY and hard < soft + HEAP_BYTES:
            return False
        resource.setrlimit(resource.RLIMIT_AS, (soft + HEAP_BYTES, hard))
    return nvrtc.set_precompiled_heap(library, HEAP_BYTES)


def _stamps(paths: Iterable[str]) -> dict[str, tuple[int, int]]:
    """Return path -> (modification time in nanoseconds, size in bytes), for each of the files."""
    found = {path: os.stat(path) for path in paths}
    return {path: (status.st_mtime_ns, status.st_size) for path, status in found.items()}


def _content(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


# NVRTC reads little of these headers, because their include guards are predefined.
_LEAN = re.compile(rb"^[ \t]*#[ \t]*include[ \t]*[<\"](?:cuda|cuda_runtime(?:_api)?)\.h[^\n]*", re.MULTILINE)
"""Matches an `#include` line of <cuda.h>, <cuda_runtime.h> or <cuda_runtime_api.h>. `precompiles` does not count the
size of these headers."""


def precompiles(request: NvrtcRequest) -> bool:
    """Return whether the library headers that a request's group includes are worth precompiling; False if the current
    call may use no precompiled headers.

    If True, the request must keep all parts of the stand-in headers, because all sources of a group must read the same
    text.
    """
    precompilation = _current.get()
    if precompilation is None:
        return False
    folders = [each.removeprefix(_PATH) for each in request["options"] if each.startswith(_PATH)]
    libraries = tuple(folder for folder in folders if folder not in (str(INCLUDE), *STAND_INS))
    text = _LEAN.sub(b"", precompilation.group.text)
    return is_worthwhile(precompilation.jobs, header_bytes(text, request["folder"], libraries))


@lru_cache(maxsize=64)
def header_bytes(text: bytes, root: str, folders: tuple[str, ...]) -> int:
    """Return the approximate size in bytes of the headers that a text includes, at most HEAVY_BYTES.

    Relative include folders start from `root`.
    """
    return include_graph.header_bytes(text, root, folders, HEAVY_BYTES)


def is_worthwhile(jobs: int, size: int) -> bool:
    """Return whether precompiling `size` bytes of headers saves time over so many jobs.

    Measured with NVRTC 12.9 and 13.5: CUB's headers need 2 to 3 jobs, those of all small floating-point types 3,
    `cuda_fp16.h` 6, and small headers 20.
    """
    return size > 0 and jobs >= MIN_JOBS - 1 + HEAVY_BYTES / size


PRECOMPILED_HEADERS = "CUDA_WHEEL_PRECOMPILED_HEADERS"


def may_precompile() -> bool:
    """Return whether the environment variable CUDA_WHEEL_PRECOMPILED_HEADERS allows precompiled headers: "auto", the
    default, does, and "off" does not. Raises ConfigError for any other value."""
    setting = os.environ.get(PRECOMPILED_HEADERS) or "auto"
    if setting not in ("auto", "off"):
        raise ConfigError(f'the environment variable {PRECOMPILED_HEADERS} must be "auto" or "off", not {setting!r}.')
    return setting == "auto"


_COMMENT = rb"//(?:\\\r?\n|[^\n])*|/\*.*?(?:\*/|\Z)|\\\r?\n"
_BLANK = re.compile(rb"(?:\s|" + _COMMENT + rb")*", re.DOTALL)
_DIRECTIVE = re.compile(rb'#(?:"(?:\\.|[^"\\\n])*"?|' + _COMMENT + rb"|[^\n])*", re.DOTALL)
_STRING_OR_COMMENT = re.compile(rb'("(?:\\.|[^"\\\n])*"?)|' + _COMMENT, re.DOTALL)


def preamble_prefixes(text: bytes) -> list[tuple[str, int]]:
    """Return the prefixes of a source's preamble that end with an include, the shortest first: for each, a hash of its
    directives without comments and white space, and its length in bytes.

    For an include inside an `#if`, the prefix ends after the outermost `#endif`.
    """
    prefixes = []
    digest = sha256()
    depth, has_new_include = 0, False
    at = _match_end(_BLANK, text, 0)
    while (end := _match_end(_DIRECTIVE, text, at)) > at:
        directive = b" ".join(_STRING_OR_COMMENT.sub(lambda part: part[1] or b" ", text[at:end])[1:].split())
        digest.update(directive + b"\n")
        depth += directive.startswith(b"if") - directive.startswith(b"endif")
        has_new_include = has_new_include or directive.startswith(b"include")
        if has_new_include and depth == 0:
            prefixes.append((digest.hexdigest(), end))
            has_new_include = False
        at = _match_end(_BLANK, text, end)
    return prefixes


def _match_end(pattern: re.Pattern[bytes], text: bytes, at: int) -> int:
    match = pattern.match(text, at)
    return at if match is None else match.end()


def find_header_groups(jobs: Iterable[Job]) -> dict[Job, HeaderGroup]:
    """Return job -> its group: at least MIN_JOBS jobs with equal options and a common beginning of their preambles.

    A job without such a group is omitted. If a job shares several prefixes of its preamble with others, its group is
    the one with the largest product of jobs and includes.
    """
    prefixes_of = cache(preamble_prefixes)  # the jobs of one source share its text
    prefix_of = cache(lambda text, end: text[:end])
    candidates = {job: _hash_of_settings(job) for job in jobs if _is_candidate(job)}
    counts = Counter((settings, prefix) for job, settings in candidates.items() for prefix, _ in prefixes_of(job.text))
    groups = {}
    for job, settings in candidates.items():
        shared = []
        for includes, (prefix, end) in enumerate(prefixes_of(job.text), 1):
            users = counts[settings, prefix]
            if users >= MIN_JOBS:
                group = HeaderGroup(f"{settings} {prefix}", prefix_of(job.text, end), users)
                shared.append((users * includes, includes, group))
        if shared:
            *_, groups[job] = max(shared)
    return groups


def _is_candidate(job: Job) -> bool:
    return job.kind == "cuda" and not job.missing_headers and not any("pch" in option for option in job.options)


def _hash_of_settings(job: Job) -> str:
    """Return a hash of the job's settings. Two jobs can share precompiled headers only if their hashes are equal."""
    preamble = looks_like_host_code(job.text)
    settings = (job.library, job.root, job.arch, job.cubin, job.options, job.include_dirs, job.lineinfo, job.form)
    return sha256(
        repr((*settings, job.host_code, preamble, job.arch_list)).encode(errors="surrogateescape")
    ).hexdigest()
