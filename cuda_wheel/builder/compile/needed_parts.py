"""Decide which parts of the stand-in headers a source that does not compile may lack.

A first compilation reads only the parts that declare a name in the project's texts. Most sources that fail so have a
mistake, and reading all parts, which takes longer than a small kernel, gives the same errors. The parts are read unless
each error is known to have nothing to do with them.
"""

from __future__ import annotations

import os
import re

from cuda_wheel.builder.compile.error_text import lines_of, read_job_log
from cuda_wheel.builder.jobs import Job
from cuda_wheel.builder.messages.diagnostics import Diagnostic
from cuda_wheel.builder.rewriting.used_parts import (
    large_parts,
    left_out_parts,
    may_be_declared,
    may_need_large_parts,
)
from cuda_wheel.builder.sources.header_search import MISSING_HEADER

__all__ = ["needed_parts"]


_UNKNOWN = re.compile(r'identifier "(\w+)" is undefined|.* "[^"]*" has no member "(\w+)"')
"""Matches the error that a name is not declared; one of the two groups is the name."""

_NO_SCOPE = 'name followed by "::" must be a class or namespace name'

_SCOPE = re.compile(r"(\w+)\s*::")


def needed_parts(job: Job, options: list[str], log: str) -> set[str]:
    """Return those NVRTC options that leave out a part which an error may need. `log` has all errors of a compilation
    with `options`.

    A large part is needed if an error names what it declares (`used_parts.may_need_large_parts`). The others are needed
    unless each line with errors has first of all a name that no part declares.
    """
    left_out, large = left_out_parts(options), large_parts(options)
    errors = [each for each in read_job_log(job, log).diagnostics if each.severity == "error"]
    if not errors or (large and may_need_large_parts(log)):
        return left_out
    first: dict[tuple[str, int | None], Diagnostic] = {}  # what follows in the same line may be a consequence
    for each in errors:
        first.setdefault((each.file, each.line), each)
    unknown = {_unknown_name(job, each) for each in first.values() if not MISSING_HEADER.match(each.message)}
    is_unknown = "" not in unknown and not (unknown and may_be_declared(unknown, job.include_dirs))
    return set() if is_unknown else left_out - large


def _unknown_name(job: Job, error: Diagnostic) -> str:
    """Return the name in a file of the project that the compiler does not know, if that is the error; else ""."""
    if os.path.isabs(error.file) or error.line is None:
        return ""
    if unknown := _UNKNOWN.match(error.message):
        return unknown[1] or unknown[2]
    if error.message != _NO_SCOPE or error.column is None:
        return ""
    line = (lines_of(error.file, job) or [""] * error.line)[error.line - 1]
    scope = _SCOPE.match(line, error.column - 1)
    return scope[1] if scope else ""  # without a scope in the line, a macro expands to it
