"""Find jobs whose sources begin with the same directives, so that the headers included there can be compiled once.

The preamble of a source is its beginning: comments and directives, up to the first other token.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable
from functools import cache
from hashlib import sha256

from cuda_wheel.builder.compile.precompiled import MIN_JOBS, HeaderGroup
from cuda_wheel.builder.errors import ConfigError
from cuda_wheel.builder.hostcode.front_end import looks_like_host_code
from cuda_wheel.builder.jobs import Job

__all__ = ["PRECOMPILED_HEADERS", "find_header_groups", "may_precompile", "preamble_prefixes"]

PRECOMPILED_HEADERS = "CUDA_WHEEL_PRECOMPILED_HEADERS"


def may_precompile() -> bool:
    """Return whether the environment allows precompiled headers. Raises ConfigError if the variable is invalid."""
    setting = os.environ.get(PRECOMPILED_HEADERS) or "auto"
    if setting not in ("auto", "off"):
        raise ConfigError(f'the environment variable {PRECOMPILED_HEADERS} must be "auto" or "off", not {setting!r}.')
    return setting == "auto"


_COMMENT = rb"//(?:\\\r?\n|[^\n])*|/\*.*?(?:\*/|\Z)|\\\r?\n"
_BLANK = re.compile(rb"(?:\s|" + _COMMENT + rb")*", re.DOTALL)
_DIRECTIVE = re.compile(rb'#(?:"(?:\\.|[^"\\\n])*"?|' + _COMMENT + rb"|[^\n])*", re.DOTALL)
_STRING_OR_COMMENT = re.compile(rb'("(?:\\.|[^"\\\n])*"?)|' + _COMMENT, re.DOTALL)


def preamble_prefixes(text: bytes) -> list[tuple[str, int]]:
    """Return the prefixes of a source's preamble that end with a complete include, the shortest first.

    Each is a hash of its directives, without comments and white space, and its length in bytes. None ends inside an
    `#if`: it ends after the last `#endif` instead.
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
    """Return the group of each job that has one: at least MIN_JOBS jobs with equal options and a common preamble.

    Of the prefixes of a source's preamble, its group has the one with the largest product of jobs and includes.
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
    """Return a hash of all that must be equal for NVRTC to use the same precompiled headers, but the source."""
    preamble = looks_like_host_code(job.text)
    settings = (job.library, job.root, job.arch, job.cubin, job.options, job.include_dirs, job.lineinfo, job.form)
    return sha256(
        repr((*settings, job.host_code, preamble, job.arch_list)).encode(errors="surrogateescape")
    ).hexdigest()
