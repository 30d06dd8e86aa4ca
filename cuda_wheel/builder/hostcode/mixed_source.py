"""Compile a job's source without its host code. Runs only in workers, after the whole source failed to compile."""

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
from cuda_wheel.builder.jobs import Job
from cuda_wheel.builder.sources.layout import DEVICE_SOURCES
from cuda_wheel.builder.sources.paths import is_inside

if TYPE_CHECKING:  # nvrtc defines it for type checkers only
    from cuda_wheel.builder.toolchain.nvrtc import NvrtcResult

__all__ = ["Result", "compile_mixed"]


class Result(NamedTuple):
    """The compiler's result for a source's device code, with the name expressions given to the compiler; the absolute
    paths of the project's headers that were read, and the paths in the project that were searched without finding a
    header; descriptions of the blanked code; and the names of the headers that were not found."""

    answer: NvrtcResult
    expressions: tuple[str, ...]
    headers: tuple[str, ...]
    absent: tuple[str, ...]
    blanked: tuple[str, ...]
    lost: tuple[str, ...]


_HOST_CODE = re.compile(rb"<<<|\b__host__\b|\bcuda[A-Z]\w*\s*\(|\bint\s+main\s*\(|\bstd\s*::")
"""Text that pure device code does not contain, except `std::` if libcu++ is meant. Includes are checked separately."""

_MARKERS = ("__global__", "__device__", "__constant__", "__managed__")

_MARKER_LIKE = re.compile(r"\b_+[a-z]+_*\b")


def compile_mixed(job: Job, compile: Callable[[Extraction], NvrtcResult]) -> Result | None:
    """Return the result of `compile` for a job's source, or for its device code if the whole source does not compile.

    Returns None if there is no host code: then the result for the whole source is the right one. Raises CompileError if
    a kernel would be lost, if there is no kernel, and if there is host code but `host-code` is "reject".
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
    if any(name.endswith(DEVICE_SOURCES) for name in lost):  # a missing device header is an error to report
        return None
    foreign = any(each.kind == "include" and each.name.startswith("<") for each in extraction.blanked)
    if not foreign and not _HOST_CODE.search(job.text):
        return None
    if not extraction.kernels and not answer["error"]:
        raise CompileError(f"{job.source} contains only host code, and no kernel: exclude it with the key sources.")
    _check_markers(job, extraction, read)
    left_out = []
    for each in extraction.blanked:
        lines = f"{each.line}" if each.last_line == each.line else f"{each.line}-{each.last_line}"
        left_out.append(f"{each.file}:{lines}: {each.kind} {each.name}")
    looked = tuple(sorted(path for path in absent if path.startswith(job.root + os.sep)))
    return Result(answer, extraction.expressions, tuple(sorted(read.values())), looked, tuple(left_out), tuple(lost))


def _check_markers(job: Job, extraction: Extraction, read: Mapping[str, str]) -> None:
    """Raise CompileError if blanked code has a misspelt CUDA marker: it may be a kernel."""
    lines_of: dict[str, list[str]] = {}
    for each in extraction.blanked:
        if each.file not in lines_of:
            text = job.text if each.file == job.source else Path(read.get(each.file, os.devnull)).read_bytes()
            lines_of[each.file] = text.decode(errors="replace").splitlines()
        for word in _MARKER_LIKE.findall("\n".join(lines_of[each.file][each.line - 1 : each.last_line])):
            near = difflib.get_close_matches(word, _MARKERS, n=1, cutoff=0.8)
            if near and word not in _MARKERS:
                raise CompileError(
                    f"{each.file}:{each.line}: error: {each.kind} {each.name}: {word} is not a CUDA marker; "
                    f"did you mean {near[0]}?"
                )
