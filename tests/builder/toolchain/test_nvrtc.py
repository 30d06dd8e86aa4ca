"""NVRTC is called with plain dicts; what one call does is in its result, and a source can be compiled apart."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from cuda_wheel.builder.toolchain import nvrtc
from cuda_wheel.builder.toolchain.nvrtc import (
    INVALID_OPTION,
    _compile_in_new_process,
    compile_apart,
    compile_text,
    compile_with_references,
    cross_references,
    floating_point_options,
    line_info_folders,
    preprocessed,
    ptxas_options,
    scratch_file,
    standards,
    supported,
    version,
)
from cuda_wheel.builder.toolchain.toolchain import Toolchain
from cuda_wheel.builder.workers.pool import Workers

if TYPE_CHECKING:
    from cuda_wheel.builder.toolchain.nvrtc import NvrtcRequest, NvrtcResult

KERNEL = "__global__ void k(int* x) { *x = 1; }\n"
TEMPLATE = "template <class T, int N> __global__ void gemm(T* x) { *x = N; }\n"
ENDLESS = "".join(f"#define M{n + 1} M{n} M{n} M{n} M{n}\n" for n in range(40)) + "enum { E = 0 M40 };\n"
"""A source whose macro expands to 4**40 tokens."""


@pytest.fixture
def request_of(toolchain: Toolchain, tmp_path: Path) -> Callable[..., NvrtcRequest]:
    """Return a function that returns the request to compile a text for compute_80."""

    def make(text: str = KERNEL, *options: str, **changes: Any) -> NvrtcRequest:
        return {
            "library": toolchain.libraries[0],
            "folder": str(tmp_path),
            "text": text.encode(),
            "name": "src/k.cu",
            "options": ["--gpu-architecture=compute_80", *options],
            "expressions": [],
            **changes,
        }

    return make


@pytest.fixture
def compiled(workers: Workers, request_of: Callable[..., NvrtcRequest]) -> Callable[..., NvrtcResult]:
    """Return a function that compiles a text in a worker process."""
    return lambda *arguments, **changes: workers.submit(compile_text, request_of(*arguments, **changes)).result()


# --- one compilation ------------------------------------------------------------------------------------


def test_a_result_has_the_code_that_was_asked_for(compiled: Callable[..., NvrtcResult]) -> None:
    result = compiled()
    assert (result["error"], result["log"].strip("\0\n "), result["uses_build_time"]) == ("", "", False)
    assert b".entry _Z1kPi" in result["ptx"] and (result["cubin"], result["ltoir"]) == (b"", b"")
    real = compiled(KERNEL, options=["--gpu-architecture=sm_80"])
    assert real["cubin"].startswith(b"\x7fELF")
    lto = compiled(KERNEL, "--relocatable-device-code=true", "--dlink-time-opt")
    assert lto["ltoir"] and not lto["cubin"]


def test_symbols_are_in_the_order_of_the_name_expressions(compiled: Callable[..., NvrtcResult]) -> None:
    expressions = ["gemm<float, 3>", "k", "gemm<int, -1>"]
    assert compiled(TEMPLATE + KERNEL, expressions=expressions)["symbols"] == [
        *("_Z4gemmIfLi3EEvPT_", "_Z1kPi", "_Z4gemmIiLin1EEvPT_")
    ]


def test_a_mistake_is_no_exception_and_its_log_has_the_name_of_the_source(compiled: Callable[..., NvrtcResult]) -> None:
    result = compiled("__global__ void k() { undeclared; }\n", expressions=["k"])
    assert result["error"] == "NVRTC_ERROR_COMPILATION"
    assert 'src/k.cu(1): error: identifier "undeclared" is undefined' in result["log"]
    assert (result["ptx"], result["symbols"]) == (b"", [])


def test_an_option_that_nvrtc_rejects_has_an_error_of_its_own(compiled: Callable[..., NvrtcResult]) -> None:
    result = compiled(KERNEL, "--no-such-option")
    assert result["error"] == INVALID_OPTION and "no-such-option" in result["log"]
    assert result["headers"] is None  # it is compiled again without the option that lists them


def test_headers_are_the_files_that_were_read(tmp_path: Path, compiled: Callable[..., NvrtcResult]) -> None:
    (tmp_path / "include").mkdir()
    (tmp_path / "include/read.h").write_text('#include "nested.h"\n')
    (tmp_path / "include/nested.h").write_text("inline __device__ int one() { return 1; }\n")
    (tmp_path / "include/other.h").write_text("#error\n")
    text = '#include "read.h"\n#if 0\n#include "other.h"\n#endif\n#if __has_include("other.h")\n#endif\n' + KERNEL
    assert compiled(text, "--include-path=include")["headers"] == [
        *(str(tmp_path / "include" / name) for name in ("nested.h", "read.h"))
    ]
    assert compiled(KERNEL)["headers"] == []


def test_headers_in_memory_come_first_and_empty_ones_that_were_read_are_absent(
    tmp_path: Path, compiled: Callable[..., NvrtcResult]
) -> None:
    (tmp_path / "include").mkdir()
    (tmp_path / "include/own.h").write_text("#error the file\n")
    headers = {"own.h": b"", "unread.h": b"", "full.h": b"#define ONE 1\n"}
    text = "#include <own.h>\n#include <full.h>\n__global__ void k(int* x) { *x = ONE; }\n"
    result = compiled(text, "--include-path=include", headers=headers)
    assert (result["error"], result["absent"], result["headers"]) == ("", ["own.h"], [])


def test_the_standard_error_of_the_process_stays_as_it_was(
    request_of: Callable[..., NvrtcRequest], workers: Workers
) -> None:
    assert workers.submit(_standard_error_is_kept, request_of("#include <stddef.h>\n" + KERNEL)).result()


def _standard_error_is_kept(request: NvrtcRequest) -> bool:
    before = os.fstat(2)
    descriptors = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    for _ in range(3):
        compile_text(request)
    after = os.fstat(2)
    open_now = len(os.listdir("/proc/self/fd")) if descriptors else 0
    return (before.st_dev, before.st_ino) == (after.st_dev, after.st_ino) and open_now <= descriptors + 1


@pytest.mark.one_toolchain
def test_a_scratch_file_is_empty_and_its_own(tmp_path: Path) -> None:
    first, second = scratch_file(), scratch_file()
    try:
        os.write(first, b"text")
        assert (os.fstat(first).st_size, os.fstat(second).st_size) == (4, 0)
    finally:
        os.close(first)
        os.close(second)


def test_a_compiler_knows_its_release_its_architectures_and_its_standards(
    toolchain: Toolchain, workers: Workers
) -> None:
    library = toolchain.libraries[0]
    assert toolchain.nvrtc.startswith("{}.{}.".format(*workers.submit(version, library).result()))
    archs = workers.submit(supported, library).result()
    assert archs == sorted(archs) and tuple(archs) == toolchain.supported and 90 in archs
    known = workers.submit(standards, library).result()
    assert known[:4] == ["c++03", "c++11", "c++14", "c++17"] and "c++20" in known


# --- what the front end writes ----------------------------------------------------------------------------


def test_cross_references_have_a_line_for_each_mention(
    workers: Workers, request_of: Callable[..., NvrtcRequest]
) -> None:
    request = request_of("__device__ int level;\n__global__ void k(int* x) { *x = level; }\n")
    result, mentions = workers.submit(compile_with_references, request).result()
    assert b".entry _Z1kPi" in result["ptx"]
    assert mentions is not None
    lines = [line.split(b"\t") for line in mentions.splitlines() if b"level" in line]
    assert len(lines) == 2 and [line[2] for line in lines] == [b"D", b"U"], mentions
    quick = workers.submit(cross_references, request).result()
    assert quick is not None and quick.count(b"level") == 2
    assert workers.submit(cross_references, request_of("wrong\n")).result() is None


def test_a_preprocessed_text_has_the_headers_and_no_macros(
    tmp_path: Path, workers: Workers, request_of: Callable[..., NvrtcRequest]
) -> None:
    (tmp_path / "one.h").write_text("#define ONE 41 + 1\nint declared;\n")
    text = '#include "one.h"\n__global__ void k(int* x) { *x = ONE; undeclared; }\n'
    found = workers.submit(preprocessed, request_of(text, "--include-path=.")).result()
    assert found is not None
    assert b"*x = 41 + 1; undeclared;" in found and b"int declared;" in found and b"one.h" in found
    assert workers.submit(preprocessed, request_of("#include <no/such.h>\n")).result() is None


# --- in a process of its own --------------------------------------------------------------------------------


def test_a_source_that_is_compiled_apart_has_the_same_result(
    workers: Workers, request_of: Callable[..., NvrtcRequest], compiled: Callable[..., NvrtcResult]
) -> None:
    for text in (KERNEL, "wrong\n"):
        assert workers.submit(compile_apart, request_of(text)).result() == compiled(text)


def test_where_processes_cannot_be_copied_a_new_one_compiles(
    request_of: Callable[..., NvrtcRequest], compiled: Callable[..., NvrtcResult]
) -> None:
    assert _compile_in_new_process(request_of(), 300) == compiled()


@pytest.mark.skipif(sys.platform == "win32", reason="the limit is one of the clock there")
def test_the_limit_of_a_process_of_its_own_is_in_seconds_of_a_core(
    workers: Workers, request_of: Callable[..., NvrtcRequest]
) -> None:
    """On a busy machine, a process waits for a core longer than it computes."""
    result = workers.submit(_after_a_wait, request_of()).result()
    assert result is not None and result["ptx"]


def _after_a_wait(request: NvrtcRequest) -> NvrtcResult | None:
    def waiting(request: NvrtcRequest) -> NvrtcResult:
        time.sleep(1.5)
        return compile_text(request)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(nvrtc, "compile_text", waiting)
        return compile_apart(request, 1)


@pytest.mark.slow
@pytest.mark.timeout(60)
@pytest.mark.parametrize("way", ["copy", "new process"])
def test_a_source_that_takes_too_long_or_crashes_the_compiler_has_no_result(
    way: str, workers: Workers, request_of: Callable[..., NvrtcRequest]
) -> None:
    function = _copy if way == "copy" else _new_process
    assert workers.submit(function, request_of(ENDLESS)).result() is None
    assert workers.submit(function, request_of(folder="/no/such/folder")).result() is None
    assert workers.submit(compile_text, request_of()).result()["ptx"]  # the worker goes on


def _copy(request: NvrtcRequest) -> NvrtcResult | None:
    return compile_apart(request, 1)


def _new_process(request: NvrtcRequest) -> NvrtcResult | None:
    return _compile_in_new_process(request, 1)


# --- options for other compilers ----------------------------------------------------------------------------


@pytest.mark.one_toolchain
@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (("--std=c++17", "--use_fast_math"), ["-ftz=1", "-prec-div=0", "-prec-sqrt=0"]),
        (("--fmad=false", "-use_fast_math", "--ftz=false"), ["-prec-div=0", "-prec-sqrt=0", "-fma=0"]),
        (("-ftz=true", "--fmad", "false"), ["-ftz=1", "-fma=0"]),
        (("--prec-div=false", "--maxrregcount=32"), ["-prec-div=0"]),
        ((), []),
    ],
)
def test_floating_point_options_are_translated_for_other_compilers(
    options: tuple[str, ...], expected: list[str]
) -> None:
    assert floating_point_options(options) == expected


@pytest.mark.one_toolchain
@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (("--std=c++17", "--ftz=true"), []),
        (("--maxrregcount=32", "--ptxas-options=-O1"), ["-maxrregcount=32", "-Xptxas=-O1"]),
        (("-maxrregcount", "32", "-Xptxas", "-O1"), ["-maxrregcount=32", "-Xptxas=-O1"]),
        (("--fmad=false",), ["-Xptxas=--fmad=false"]),
        (("--fmad=false", "--maxrregcount=32"), ["-Xptxas=--fmad=false", "-maxrregcount=32"]),
        (("--fmad=false", "-Xptxas=--fmad=true"), ["-Xptxas=--fmad=true"]),
        (("--fmad=true",), []),
    ],
)
def test_options_for_ptxas_reach_it_through_nvjitlink(options: tuple[str, ...], expected: list[str]) -> None:
    assert ptxas_options(options) == expected


@pytest.mark.one_toolchain
def test_line_information_has_no_folder_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PWD", "/home/me/project")
    found = line_info_folders(("include", "/opt/cuda/include", "/opt/tiles"), ("/opt/tiles",))
    assert found == {"/opt/cuda/include": "cuda/", "/opt/tiles": "system/", "/home/me/project": ""}
    monkeypatch.delenv("PWD")
    assert line_info_folders((), ()) == {os.getcwd(): ""}
