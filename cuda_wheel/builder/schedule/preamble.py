"""Find the jobs whose sources begin alike, so that the headers they include there can be compiled once.

A preamble is what a source begins with: comments and directives, up to the first other token.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable
from functools import cache
from hashlib import sha256

from cuda_wheel.builder.compile.request import launches
from cuda_wheel.builder.errors import ConfigError
from cuda_wheel.builder.jobs import Job
from cuda_wheel.builder.schedule.groups import Group
from cuda_wheel.builder.schedule.order import LEAST

__all__ = [
    "PRECOMPILED_HEADERS",
    "beginnings",
    "groups",
    "may_precompile",
]


PRECOMPILED_HEADERS = "CUDA_WHEEL_PRECOMPILED_HEADERS"


def may_precompile() -> bool:
    """Return whether the environment lets headers be precompiled; raises ConfigError where it says what cannot be."""
    wanted = os.environ.get(PRECOMPILED_HEADERS) or "auto"
    if wanted not in ("auto", "off"):
        raise ConfigError(f'the environment variable {PRECOMPILED_HEADERS} must be "auto" or "off", not {wanted!r}.')
    return wanted == "auto"


_COMMENT = rb"//(?:\\\r?\n|[^\n])*|/\*.*?(?:\*/|\Z)|\\\r?\n"


_BLANK = re.compile(rb"(?:\s|" + _COMMENT + rb")*", re.DOTALL)


_DIRECTIVE = re.compile(rb'#(?:"(?:\\.|[^"\\\n])*"?|' + _COMMENT + rb"|[^\n])*", re.DOTALL)


_APART = re.compile(rb'("(?:\\.|[^"\\\n])*"?)|' + _COMMENT, re.DOTALL)


def beginnings(text: bytes) -> list[tuple[str, int]]:
    """Return, for each point of a source's preamble where an include is complete, a hash of its directives up to there
    and the point's offset in bytes. A point is in no `#if`: it lies behind the last `#endif`."""
    found = []
    digest = sha256()
    depth, pending = 0, False
    at = _end(_BLANK, text, 0)
    while (end := _end(_DIRECTIVE, text, at)) > at:
        words = b" ".join(_APART.sub(lambda part: part[1] or b" ", text[at:end])[1:].split())
        digest.update(words + b"\n")
        depth += words.startswith(b"if") - words.startswith(b"endif")
        pending = pending or words.startswith(b"include")
        if pending and depth == 0:
            found.append((digest.hexdigest(), end))
            pending = False
        at = _end(_BLANK, text, end)
    return found


def _end(pattern: re.Pattern[bytes], text: bytes, at: int) -> int:
    match = pattern.match(text, at)
    return at if match is None else match.end()


def groups(jobs: Iterable[Job]) -> dict[Job, Group]:
    """Return the group of each job that has one: LEAST or more of one set of options, whose sources begin alike.

    Of a source's beginnings that counts which stands for most includes, of all its jobs together.
    """
    of_text = cache(beginnings)  # a source's jobs share them
    slices = cache(lambda text, end: text[:end])
    alike = {job: sha256(repr(_options(job)).encode(errors="surrogateescape")).hexdigest() for job in jobs if _may(job)}
    counts = Counter((options, begins) for job, options in alike.items() for begins, _ in of_text(job.text))
    found = {}
    for job, options in alike.items():
        shared = []
        for depth, (begins, end) in enumerate(of_text(job.text), 1):
            many = counts[options, begins]
            if many >= LEAST:
                shared.append((many * depth, depth, Group(f"{options} {begins}", slices(job.text, end), many)))
        if shared:
            *_, found[job] = max(shared)
    return found


def _may(job: Job) -> bool:
    # What holds host code is compiled without it, so not as it stands.
    return job.kind == "cuda" and not launches(job) and not any("pch" in option for option in job.options)


def _options(job: Job) -> tuple[object, ...]:
    """Return what the compiler wants to be the same in: all that decides, but the source."""
    return job.library, job.root, job.arch, job.cubin, job.options, job.include_dirs, job.lineinfo, job.form
