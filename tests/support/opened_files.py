"""Functions for workers of tests: list the files that NVRTC opens, and compile with an NVRTC that cannot list them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cuda_wheel.builder.compile.job import compile_job
from cuda_wheel.builder.jobs import Compiled
from cuda_wheel.builder.toolchain import nvrtc

if TYPE_CHECKING:
    from cuda_wheel.builder.jobs import Job


def opened(call: tuple[str, str, list[bytes], tuple[str, ...]]) -> list[set[str]]:
    """Return the absolute paths of the files that NVRTC opens for each source, whether it compiles or not.

    The call is NVRTC's path, the working folder, the sources and the include folders.
    """
    library, folder, texts, folders = call
    answers = (
        nvrtc.compile_text(
            {
                "library": library,
                "folder": folder,
                "text": text,
                "name": "k.cu",
                "options": ["--gpu-architecture=compute_90", *(f"--include-path={each}" for each in folders)],
                "expressions": [],
            }
        )
        for text in texts
    )
    return [set(answer["headers"] or ()) for answer in answers]


def with_an_unknown_option(job: Job) -> Compiled:
    """Compile with an NVRTC that rejects the option to list headers."""
    return _compiled(job, ["--list-headers-please"])


def with_an_option_that_does_nothing(job: Job) -> Compiled:
    """Compile with an NVRTC that accepts the option and lists nothing."""
    return _compiled(job, [])


def _compiled(job: Job, option: list[str]) -> Compiled:
    before = nvrtc.LIST_HEADERS
    nvrtc.LIST_HEADERS = option
    nvrtc._lists_headers.cache_clear()
    try:
        return compile_job(job)
    finally:
        nvrtc.LIST_HEADERS = before
        nvrtc._lists_headers.cache_clear()
