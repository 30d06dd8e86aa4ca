"""Compile texts that begin alike with the headers of that beginning precompiled. Runs in workers only; see `workers`.

NVRTC reads again only what the same process has precompiled, with the same options. It checks itself whether a text
begins as it must, and its log tells whether it used what it was given. Whatever goes wrong, a text is compiled plainly,
and this process precompiles nothing more.
"""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import cache, lru_cache
from typing import IO, TYPE_CHECKING, Any, NamedTuple, TypeVar

from cuda_wheel.builder.schedule.order import LEAST
from cuda_wheel.builder.timing import PRECOMPILING, phase
from cuda_wheel.builder.toolchain import nvrtc

if TYPE_CHECKING:
    from cuda_wheel.builder.schedule.groups import Group
    from cuda_wheel.builder.toolchain.nvrtc import Answer, Request

__all__ = [
    "Wish",
    "compile_text",
    "is_worth",
    "weight",
    "with_headers",
]


T = TypeVar("T")


HEAP = 1 << 30
"""Bytes of address space for what is precompiled. Half of it is enough for all of CCCL that NVRTC takes, as it is."""


MOST = 1 << 20
"""Bytes of headers from which on a few jobs pay them back."""


class Wish(NamedTuple):
    """What a call may have precompiled. `jobs` is how many of its group, itself included, this process is likely to do;
    `folder` is for the file while it is written."""

    group: Group
    jobs: int
    folder: str | None


class _Headers(NamedTuple):
    """What this process has precompiled: of what, its file, which has no name any more, and the headers in it with
    their times of change in nanoseconds and sizes in bytes."""

    key: tuple[object, ...]
    file: IO[bytes]
    read: dict[str, tuple[int, int]]

    @property
    def path(self) -> str:
        return f"/proc/self/fd/{self.file.fileno()}"


_PATH = "--include-path="


_wish: Wish | None = None


_headers: _Headers | None = None
"""One at a time: CUB's take 120 MB of disk, and more where a source has CCCL unroll more (see `nvrtc_request`)."""


_given_up = not os.path.isdir("/proc/self/fd")
"""Whether all is compiled plainly. Elsewhere than on Linux, a process that is killed would leave its files."""


def with_headers(call: tuple[Wish, Callable[[Any], T], Any]) -> T:
    """Return what a function returns for an argument. What it compiles may be precompiled, as a wish says."""
    global _wish
    _wish, function, argument = call
    try:
        return function(argument)
    finally:
        _wish = None


def compile_text(request: Request) -> Answer:
    """Return what NVRTC makes of a text, as `nvrtc.compile_text` does."""
    answer = None
    suspect = False
    if _wish and not _given_up and not request.get("headers") and request["text"].startswith(_wish.group.text):
        try:
            headers = _headers_for(request, _wish)
            answer = None if headers is None else _compiled(request, headers)
        except Exception:  # of memory, for one
            _give_up(request["library"])
        suspect = answer is not None and bool(answer["error"])
    if answer is None or suspect:
        answer = nvrtc.compile_text(request)
        if suspect and not answer["error"]:
            _give_up(request["library"])
    return answer


def _give_up(library: str) -> None:
    global _given_up, _headers
    _given_up = True
    if _headers is not None:
        _headers.file.close()
        _headers = None
    nvrtc.set_precompiled_heap(library, 0)


def _headers_for(request: Request, wish: Wish) -> _Headers | None:
    """Return what a text can be compiled with, made now if that is worth it."""
    global _headers
    # The seed is the source's name; what it decides is decided after the headers.
    options = tuple(option for option in request["options"] if not option.startswith("--frandom-seed="))
    key = (request["library"], request["folder"], options, wish.group.key)
    if _headers is not None and _headers.key == key:
        if _stamps(_headers.read) != _headers.read:  # edited meanwhile
            _give_up(request["library"])
        return _headers
    same = _headers is not None and _headers.key[-1] == wish.group.key
    if wish.folder is None or same:  # what compiles jobs in two ways would have them precompiled twice for each
        return None
    folders = tuple(each.removeprefix(_PATH) for each in options if each.startswith(_PATH))
    if not is_worth(wish.jobs, weight(wish.group.text, request["folder"], folders)):
        return None
    if _headers is not None:
        _headers.file.close()
        _headers = None
    with phase(PRECOMPILING):
        _headers = _created(request, wish.group.text, wish.folder, key)
    if _headers is None:
        _give_up(request["library"])
    return _headers


def _created(request: Request, text: bytes, folder: str, key: tuple[object, ...]) -> _Headers | None:
    """Return a text's headers, precompiled; None where that cannot be, or would lose something."""
    if not _prepared(request["library"]):
        return None
    path = os.path.join(folder, "headers.pch")
    began = time.time_ns()
    options = [*request["options"], f"--create-pch={path}"]
    try:
        answer = nvrtc.compile_text({**request, "text": text + b"\n", "expressions": [], "options": options})
        # What is told before that line is told of the headers, and would be told once only.
        said = answer["log"].startswith(f'"{request["name"]}": creating precompiled header file "{path}"')
        if answer["error"] or not said or answer["headers"] is None:
            return None
        read = _stamps(answer["headers"])
        if any(changed >= began for changed, _ in read.values()):  # what was read may be older, or a part
            return None
        # That is another one for each source.
        if any(b"__BASE_FILE__" in each for each in (text, *map(os.fsencode, options), *map(_content, read))):
            return None
        return _Headers(key, open(path, "rb"), read)
    finally:
        with suppress(FileNotFoundError):
            os.unlink(path)


def _compiled(request: Request, headers: _Headers) -> Answer | None:
    """Return what NVRTC makes of a text with precompiled headers; None where it does not use them."""
    answer = nvrtc.compile_text({**request, "options": [*request["options"], f"--use-pch={headers.path}"]})
    first, _, log = answer["log"].partition("\n")
    if first != f'"{request["name"]}": using precompiled header file "{headers.path}"' or answer["headers"] is None:
        _give_up(request["library"])
        return None
    return {**answer, "log": log, "headers": sorted({*headers.read, *answer["headers"]})}


@cache
def _prepared(library: str) -> bool:
    """Have memory for what is precompiled, which the limit on this process's memory does not count; return whether."""
    if sys.platform == "win32":
        return False
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    if soft != resource.RLIM_INFINITY:
        if hard != resource.RLIM_INFINITY and hard < soft + HEAP:
            return False
        resource.setrlimit(resource.RLIMIT_AS, (soft + HEAP, hard))
    return nvrtc.set_precompiled_heap(library, HEAP)


def _stamps(paths: Iterable[str]) -> dict[str, tuple[int, int]]:
    found = {path: os.stat(path) for path in paths}
    return {path: (status.st_mtime_ns, status.st_size) for path, status in found.items()}


def _content(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


_INCLUDE = re.compile(rb'^[ \t]*#[ \t]*include[ \t]*[<"]([^>"\n]+)', re.MULTILINE)


@lru_cache(maxsize=64)
def weight(text: bytes, root: str, folders: tuple[str, ...]) -> int:
    """Return about how many bytes of headers a text includes, or MOST if they are more."""
    total = 0
    known: set[str] = set()
    waiting = [(text, root)]
    while waiting and total < MOST:
        content, own = waiting.pop()
        for name in map(os.fsdecode, _INCLUDE.findall(content)):
            paths = (os.path.join(root, folder, name) for folder in (own, *folders))
            path = next(filter(os.path.isfile, paths), None)
            if path is not None and path not in known:
                known.add(path)
                waiting.append((_content(path), os.path.dirname(path)))
                total += len(waiting[-1][0])
    return min(total, MOST)


def is_worth(jobs: int, weight: int) -> bool:
    """Return whether it pays to precompile so many bytes of headers for so many jobs.

    Measured with NVRTC 12.9 and 13.5: CUB's take 2 to 3 jobs, those of all small floating-point types 3, `cuda_fp16.h`
    6, and small ones 20.
    """
    return weight > 0 and jobs >= LEAST - 1 + MOST / weight
