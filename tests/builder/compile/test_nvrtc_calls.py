"""The calls of NVRTC for a job are counted, and their results completed with what NVRTC does not say."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from cuda_wheel.builder.compile import nvrtc_calls
from cuda_wheel.builder.compile.device_variables import declared_names
from cuda_wheel.builder.compile.nvrtc_calls import (
    BUDGET,
    NvrtcCalls,
    may_change_layouts,
    remember_duration,
    with_build_time,
    with_headers,
)
from cuda_wheel.builder.compile.nvrtc_request import nvrtc_request
from cuda_wheel.builder.jobs import Job
from cuda_wheel.builder.toolchain import nvrtc
from cuda_wheel.builder.workers.pool import Workers
from tests.support.projects import write_files

if TYPE_CHECKING:
    from cuda_wheel.builder.toolchain.nvrtc import NvrtcRequest, NvrtcResult

KERNEL = "__global__ void k(int* x) { *x = 1; }\n"


@pytest.fixture
def job(tmp_path: Path) -> Callable[..., Job]:
    """Return a function that returns the job of a source in a project with an include folder and two libraries."""
    for folder in ("include", "toolchain", "library"):
        (tmp_path / folder).mkdir()

    def make(text: str = KERNEL, *options: str) -> Job:
        folders = ("include", str(tmp_path / "library"), str(tmp_path / "toolchain"))
        libraries = (str(tmp_path / "library"),)
        return Job(
            "/n", str(tmp_path), "k.cu", text.encode(), "80", True, True, options, folders, (), False, "auto",
            system_dirs=libraries,
        )  # fmt: skip

    return make


def result_of(headers: list[str] | None = None, error: str = "") -> NvrtcResult:
    """Return NVRTC's result for a source, with the headers that it lists."""
    return {
        "error": error, "log": "", "headers": headers, "absent": [], "ptx": b"", "cubin": b"", "ltoir": b"",
        "symbols": [], "uses_build_time": False,
    }  # fmt: skip


# --- the count ----------------------------------------------------------------------------------------


def attempts(job: Job) -> tuple[str, bool, list[int], int]:
    """Compile a job once, and after an error a second time for all its errors. Return the error, whether the source uses
    the time of the build, the number of calls after each, and the number of errors. Runs in a worker."""
    calls = NvrtcCalls(job)
    request = nvrtc_request(job)
    result = calls.compile(request, "-Xcudafe", "--error_limit=1")
    made = [calls.made]
    whole = calls.all_errors(request, 60) if result["error"] else None
    made += [calls.made] if whole else []
    return result["error"], result["uses_build_time"], made, (whole or result)["log"].count("): error: ")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (KERNEL, ("", False, [1], 0)),
        (KERNEL + "constexpr const char* built = __DATE__;\n", ("", True, [2], 0)),
        (KERNEL + "// __TIME__\n", ("", False, [2], 0)),
        (KERNEL + "int a = b;\nint c = d;\n", ("NVRTC_ERROR_COMPILATION", False, [1, 2], 2)),
        # Preprocessed, and compiled again with `alignas` in place of the attribute; but once for both compilations.
        (KERNEL + "struct __align__(8) S { float4 a; };\n", ("NVRTC_ERROR_COMPILATION", False, [3, 4], 1)),
        (KERNEL + "struct __align__(16) S { float4 a; };\n", ("", False, [1], 0)),
    ],
)
def test_every_call_counts(
    text: str, expected: tuple[object, ...], workers: Workers, job_of: Callable[..., Job]
) -> None:
    assert workers.submit(attempts, job_of(text)).result() == expected


@pytest.mark.one_toolchain
def test_the_budget_is_spent_after_its_last_call(job: Callable[..., Job]) -> None:
    calls = NvrtcCalls(job())
    calls.made = BUDGET - 1
    assert not calls.is_spent
    calls.made += 1
    assert calls.is_spent


def compilations(case: tuple[Job, float, bool]) -> tuple[int, frozenset[str] | None]:
    """Compile a job of whose source the last job took some seconds, and ask for its names if that one did. Return the
    number of programs that NVRTC compiled, and the names. Runs in a worker."""
    job, seconds, asked = case
    count = 0
    original = nvrtc.compile_text

    def counted(request: NvrtcRequest) -> NvrtcResult:
        nonlocal count
        count += 1
        return original(request)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(nvrtc, "compile_text", counted)
        patch.setattr(nvrtc_calls, "compile_text", counted)
        remember_duration(job, seconds, asked_for_names=asked)
        request = nvrtc_request(job)
        NvrtcCalls(job).compile(request)
        names = declared_names(request, ["k.cu"])
        return count, names


@pytest.mark.parametrize(("seconds", "asked", "expected"), [(0.5, True, 1), (60.0, True, 2), (0.5, False, 2)])
def test_names_come_with_the_compilation_if_the_last_job_of_the_source_was_short_and_needed_them(
    seconds: float, asked: bool, expected: int, workers: Workers, job_of: Callable[..., Job]
) -> None:
    """Otherwise a second compilation that instantiates nothing lists them; the names are the same."""
    text = f"namespace cub {{ __device__ int mine; }}\n{KERNEL}// {seconds} {asked}\n"
    count, names = workers.submit(compilations, (job_of(text), seconds, asked)).result()
    assert count == expected
    assert names is not None and "cub::mine" in names


# --- headers ------------------------------------------------------------------------------------------


@pytest.mark.one_toolchain
def test_headers_are_found_by_a_scan_if_nvrtc_cannot_list_them(job: Callable[..., Job], tmp_path: Path) -> None:
    write_files(tmp_path, **{"include/a.h": '#include "b.h"\n', "include/b.h": "\n", "include/unused.h": "\n"})
    request = nvrtc_request(job('#include "a.h"\n' + KERNEL))
    found = with_headers(request, result_of())["headers"]
    assert sorted(found or ()) == [str(tmp_path / "include/a.h"), str(tmp_path / "include/b.h")]
    assert with_headers(request, result_of(["/x.h"]))["headers"] == ["/x.h"]
    assert with_headers(request, result_of(error="NVRTC_ERROR_COMPILATION"))["headers"] is None


@pytest.mark.one_toolchain
@pytest.mark.parametrize("text", ["#include NAME\n", '#include "../outside.h"\n'])
def test_headers_are_unknown_if_the_scan_is_uncertain(text: str, job: Callable[..., Job], tmp_path: Path) -> None:
    write_files(tmp_path.parent, **{"outside.h": "\n"})
    assert with_headers(nvrtc_request(job(text)), result_of())["headers"] is None


# --- the time of the build ----------------------------------------------------------------------------


@pytest.mark.one_toolchain
@pytest.mark.parametrize(
    ("text", "header", "options", "is_asked"),
    [
        ("", "", (), False),
        ("int a = sizeof(__TIME__);", "", (), True),
        ("", "int a = sizeof(__TIMESTAMP__);", (), True),
        ("", "", ("-DWHEN=__DATE__",), True),
        ("#define JOIN(a, b) a##b\nint a = sizeof(JOIN(__TI, ME__));", "", (), True),
        ("// __DATE__", "", (), True),  # the front end knows better
    ],
)
def test_nvrtc_is_asked_for_the_time_of_the_build_only_if_a_text_may_use_it(
    text: str, header: str, options: tuple[str, ...], is_asked: bool, job: Callable[..., Job], tmp_path: Path
) -> None:
    write_files(tmp_path, **{"include/a.h": header, "toolchain/t.h": "__TIME__"})
    headers = [str(tmp_path / "include/a.h"), str(tmp_path / "toolchain/t.h")]
    made = job(text, *options)
    asked: list[Any] = []

    def ask(request: NvrtcRequest) -> bool:
        asked.append(request)
        return True

    request = nvrtc_request(made)
    assert with_build_time(made, request, result_of(headers), ask)["uses_build_time"] == is_asked
    assert asked == [request] * is_asked
    assert not with_build_time(made, request, result_of(headers), lambda request: False)["uses_build_time"]


@pytest.mark.one_toolchain
def test_nothing_is_asked_about_an_error(job: Callable[..., Job]) -> None:
    made = job("__TIME__")
    failed = result_of(error="NVRTC_ERROR_COMPILATION")
    assert with_build_time(made, nvrtc_request(made), failed, lambda request: 1 / 0 > 0) == failed


# --- layouts ------------------------------------------------------------------------------------------

PACKED = "struct S { char c; int i; } __attribute__((packed));\n"


@pytest.mark.one_toolchain
@pytest.mark.parametrize("error", ["", "NVRTC_ERROR_COMPILATION"])
@pytest.mark.parametrize(
    ("text", "file", "options", "expected"),
    [
        (KERNEL, "include/unused.h", (), False),
        (PACKED, "include/a.h", (), True),
        ('#include "a.h"\n', "include/a.h", (), True),
        ('#include "a.h"\n', "library/a.h", (), True),
        (KERNEL, "include/unused.h", ("-DP=__attribute__((packed))",), True),
    ],
)
def test_layouts_may_change_if_a_text_outside_the_toolchain_names_an_attribute(
    text: str, file: str, options: tuple[str, ...], expected: bool, error: str, job: Callable[..., Job], tmp_path: Path
) -> None:
    """After an error, NVRTC lists no headers, and the include folders are searched."""
    write_files(tmp_path, **{file: PACKED})
    made = job(text, *options)
    read = [str(tmp_path / file)] if "include" in text and not error else []
    result = result_of(None if error else read, error)
    assert may_change_layouts(made, nvrtc_request(made), result) == expected


@pytest.mark.one_toolchain
def test_headers_of_the_toolchain_keep_their_layouts(job: Callable[..., Job], tmp_path: Path) -> None:
    write_files(tmp_path, **{"toolchain/a.h": PACKED})
    made = job('#include "a.h"\n')
    assert not may_change_layouts(made, nvrtc_request(made), result_of([str(tmp_path / "toolchain/a.h")]))


@pytest.mark.one_toolchain
def test_a_changed_header_in_memory_is_the_projects_and_a_stand_in_is_not(job: Callable[..., Job]) -> None:
    made = job(KERNEL + "void f() { k<<<1, 1>>>(nullptr); }\n")
    request = nvrtc_request(made)
    assert not may_change_layouts(made, request, result_of([]))
    request["headers"]["a.h"] = PACKED.encode()
    assert may_change_layouts(made, request, result_of([]))
