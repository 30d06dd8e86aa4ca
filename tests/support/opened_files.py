"""What the workers of these tests do: ask NVRTC which files it opens, and compile where it does not tell."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cuda_wheel.builder.compile.job import compile_job
from cuda_wheel.builder.jobs import Compiled
from cuda_wheel.builder.toolchain import nvrtc

if TYPE_CHECKING:
    from cuda_wheel.builder.jobs import Job


def opened(call: tuple[str, str, list[bytes], tuple[str, ...]]) -> list[set[str]]:
    """Return the absolute paths of the files that NVRTC opens for each text, whether it compiles or not.

    The call is NVRTC's path, the folder to work in, the texts and the folders of headers.
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
    """Compile with an NVRTC that refuses the option that has it list headers."""
    return _compiled(job, ["--list-headers-please"])


def with_an_option_that_does_nothing(job: Job) -> Compiled:
    """Compile with an NVRTC that takes the option and lists nothing."""
    return _compiled(job, [])


def _compiled(job: Job, option: list[str]) -> Compiled:
    kept = nvrtc.LIST_HEADERS
    nvrtc.LIST_HEADERS = option
    nvrtc._listing.clear()
    try:
        return compile_job(job)
    finally:
        nvrtc.LIST_HEADERS = kept
        nvrtc._listing.clear()
