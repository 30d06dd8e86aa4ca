"""Compile a job's source without the host code that is mixed into it. Runs in workers only, where a plain one fails."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from cuda_wheel.builder.errors import CompileError
from cuda_wheel.builder.hostcode.device_code import Extraction, compile_device_code
from cuda_wheel.builder.hostcode.unit import Header
from cuda_wheel.builder.sources.layout import DEVICE_SOURCES
from cuda_wheel.builder.sources.paths import is_inside

if TYPE_CHECKING:
    from cuda_wheel.builder.jobs import Job
    from cuda_wheel.builder.toolchain.nvrtc import Answer

__all__ = [
    "Result",
    "compile_mixed",
]


class Result(NamedTuple):
    """What the compiler made of a source's device code, with the name expressions that it was asked for; the absolute
    paths of the project's headers that were read for it, those where there was no header, and what was left out, in
    words; and the names of the headers that were not found."""

    answer: Answer
    expressions: tuple[str, ...]
    headers: tuple[str, ...]
    absent: tuple[str, ...]
    blanked: tuple[str, ...]
    lost: tuple[str, ...]


_HOST_CODE = re.compile(rb"<<<|\b__host__\b|\bcuda[A-Z]\w*\s*\(|\bint\s+main\s*\(|\bstd\s*::")
"""What nobody writes in device code alone, but for `std::` where libcu++ is meant; headers of the host's apart."""


_MARKERS = ("__global__", "__device__", "__constant__", "__managed__")


_MARKER_LIKE = re.compile(r"\b_+[a-z]+_*\b")


def compile_mixed(job: Job, compile: Callable[[Extraction], Answer]) -> Result | None:
    """Return what `compile` makes of a job's source, or of its device code if it does not take the whole.

    None where there is no host code: what the compiler said of the whole is right then. Raises CompileError where a
    kernel would be lost or there is none, and where `host-code = "reject"` meets host code.
    """
    read: dict[str, str] = {}
    absent: set[str] = set()
    lost: dict[str, None] = {}

    def find(name: str, quoted: bool, includer: str) -> Header | None:
        own = os.path.dirname(includer)
        folders = [folder for folder in job.include_dirs if not os.path.isabs(folder)]
        for folder in [own, *folders] if quoted else folders:
            path = os.path.normpath(os.path.join(folder, name))
            place = os.path.join(job.root, path)
            if os.path.isfile(place):
                if not is_inside(place, Path(job.root)):
                    return Header(place, None)
                read[path] = place
                return Header(path.replace(os.sep, "/"), Path(place).read_bytes())
            absent.add(os.path.normpath(place))
        for folder in job.include_dirs:
            if os.path.isabs(folder) and os.path.isfile(os.path.join(folder, name)):
                return Header(os.path.join(folder, name), None)
        lost[name] = None
        return None

    extraction, answer = compile_device_code(job.text, job.source, find, compile, job.host_code, job.instantiate)
    if extraction.text is job.text:
        return None
    if any(name.endswith(DEVICE_SOURCES) for name in lost):  # a device header that is not there is nothing to pass over
        return None
    foreign = any(each.kind == "include" and each.name.startswith("<") for each in extraction.blanked)
    if not foreign and not _HOST_CODE.search(job.text):
        return None
    if not extraction.kernels and not answer["error"]:
        raise CompileError(f"{job.source} holds host code alone, and no kernel: leave it out by sources.")
    _check_markers(job, extraction, read)
    left_out = []
    for each in extraction.blanked:
        lines = f"{each.line}" if each.last_line == each.line else f"{each.line}-{each.last_line}"
        left_out.append(f"{each.file}:{lines}: {each.kind} {each.name}")
    looked = tuple(sorted(path for path in absent if path.startswith(job.root + os.sep)))
    return Result(answer, extraction.expressions, tuple(sorted(read.values())), looked, tuple(left_out), tuple(lost))


def _check_markers(job: Job, extraction: Extraction, read: Mapping[str, str]) -> None:
    """Raise CompileError where what was taken for host code has a misspelt marker: it may be a kernel."""
    lines_of: dict[str, list[str]] = {}
    for each in extraction.blanked:
        if each.file not in lines_of:
            text = job.text if each.file == job.source else Path(read.get(each.file, os.devnull)).read_bytes()
            lines_of[each.file] = text.decode(errors="replace").splitlines()
        for word in _MARKER_LIKE.findall("\n".join(lines_of[each.file][each.line - 1 : each.last_line])):
            near = difflib.get_close_matches(word, _MARKERS, n=1, cutoff=0.8)
            if near and word not in _MARKERS:
                raise CompileError(
                    f"{each.file}:{each.line}: error: {each.kind} {each.name}: did you mean {near[0]} by {word}?"
                )
