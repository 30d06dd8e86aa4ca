"""What a hint depends on: the architecture, the standard, the project's files, and the table of names.

`test_hints` has the errors of the installed compiler; here are the cases that it does not report, or in one way only.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import pytest

from cuda_wheel.builder.messages.diagnostics import Diagnostic
from cuda_wheel.builder.messages.hint_rules import (
    CONTAINERS,
    FOREIGN_HEADERS,
    HINTED_HEADERS,
    NO_OVERLOADS,
    OVERLOADS,
    Case,
    header_pattern,
    instruction_not_supported,
    matrix_fragment,
    missing_header,
    needs_architecture,
    needs_standard,
    newer_syntax,
    no_member_of_std,
    not_a_kernel,
    requires_target,
    shared_memory,
    text_at_caret,
    undefined_name,
)

pytestmark = pytest.mark.one_toolchain

FILES = {"tile.h": ["include/parts/tile.h", "old/tile.h"], "top.h": ["top.h"], "fft.h": ["include/xparts/fft.h"]}


def case(
    arch: str = "80",
    std: str = "c++17",
    text: str = "",
    cuda: int = 12,
    files: Mapping[str, Sequence[str]] = FILES,
    missing_headers: tuple[str, ...] = (),
) -> Case:
    return Case(
        text, arch, std, ("demo", "."), lambda name: list(files.get(name, ())), cuda, missing_headers=missing_headers
    )


def matched(*groups: str) -> re.Match[str]:
    """Return a match with these groups."""
    match = re.fullmatch("\n".join(["(.*)"] * len(groups)), "\n".join(groups))
    assert match is not None
    return match


def at_caret(line: str, column: int = 0) -> Diagnostic:
    """Return a diagnostic that shows a line with a caret at a 0-based column."""
    return Diagnostic("k.cu", 1, column + 1, "error", "expected a declaration", "", (f"  {line}", f"  {' ' * column}^"))


NOWHERE = Diagnostic("k.cu", None, None, "error", "")


# --- architectures and standards ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arch", "first", "expected"),
    [
        ("75", 80, "x needs compute capability 8.0: "),
        ("80", 80, None),
        ("90a", 90, None),
        ("90a", 100, "x needs compute capability 10.0: "),
        ("100f", 120, "#if __CUDA_ARCH__ >= 1200"),
    ],
)
def test_a_newer_architecture_is_asked_for_only_where_the_source_is_compiled_for_an_older_one(
    arch: str, first: int, expected: str | None
) -> None:
    hint = needs_architecture("x", first, case(arch))
    assert hint is None if expected is None else expected in str(hint)


@pytest.mark.parametrize(("std", "standard", "asks"), [("c++14", 17, True), ("c++17", 17, False), ("c++20", 17, False)])
def test_a_newer_standard_is_asked_for_only_where_the_source_is_compiled_with_an_older_one(
    std: str, standard: int, asks: bool
) -> None:
    assert needs_standard(standard, case(std=std)) == (
        f'this is C++{standard}: set std = "c++{standard}"' if asks else None
    )


@pytest.mark.parametrize(
    ("line", "column", "std", "expected"),
    [
        ("template <class T> concept C = true;", 19, "c++17", "c++20"),
        ("auto a = 1 <=> 2;", 13, "c++17", "c++20"),
        ("if constexpr (N) {}", 3, "c++14", "c++17"),
        ("for (auto& [a, b] : c) {}", 10, "c++14", "c++17"),
        ("namespace a::b {}", 11, "c++14", "c++17"),
        ("namespace a::b {}", 11, "c++17", None),
        ("int a = ;", 8, "c++14", None),
    ],
)
def test_a_syntax_error_in_a_line_with_newer_syntax_names_its_standard(
    line: str, column: int, std: str, expected: str | None
) -> None:
    hint = newer_syntax(matched(), at_caret(line, column), case(std=std))
    assert hint is None if expected is None else f'std = "{expected}"' in str(hint)


def test_the_text_at_the_caret_is_that_of_the_line_above_it() -> None:
    assert text_at_caret(at_caret("\tint half = 1;", 5)) == "half = 1;"
    assert text_at_caret(NOWHERE) == ""
    assert text_at_caret(NOWHERE._replace(details=("detected in:", "  a ^ b"))) == ""


# --- headers --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "pattern"),
    [
        ("Eigen/Core", "Eigen/*"),
        ("a/b/c.h", "a/*"),
        ("zlib.h", "zlib.h"),
        ("../zlib.h", "../zlib.h"),
        ("./z.h", "./z.h"),
    ],
)
def test_the_pattern_for_a_header_has_the_rest_of_its_library(name: str, pattern: str) -> None:
    assert header_pattern(name) == pattern


@pytest.mark.parametrize(
    ("name", "expected", "other"),
    [
        # The project has it, in a folder that is not searched: the first that fits.
        ("parts/tile.h", 'include/parts/tile.h is in none of the folders that are searched (demo, the project\'s folder)', "missing-headers"),
        ("parts/tile.h", 'add "include" to include-dirs', "old/"),
        ("../parts/tile.h", 'add "include" to include-dirs', "missing-headers"),
        ("tile.h", 'add "include/parts" to include-dirs', "missing-headers"),
        ("top.h", 'add "." to include-dirs', "missing-headers"),
        # A file of the same name in another folder, or in one whose name ends alike, is not the header.
        ("boxes/tile.h", "no file of the project has this name", "add "),
        ("parts/fft.h", "no file of the project has this name", "add "),
        ("vector_tools.h", "no file of the project has this name", "host header"),
        # A library for device code cannot be empty; any other may be, if only host code needs it.
        ("cutlass/gemm.h", 'add "nvidia-cutlass" to build-system.requires', "missing-headers"),
        ("cublas_v2.h", 'set missing-headers = ["cublas_v2.h"]', "include-dirs"),
        ("nowhere/a.h", 'set missing-headers = ["nowhere/*"]', "add "),
        ("nowhere/a.h", "system-include-dirs", "add "),
    ],
)  # fmt: skip
def test_a_missing_header_is_found_or_done_without(name: str, expected: str, other: str) -> None:
    hint = missing_header(matched(name), NOWHERE, case())
    assert expected in hint and other not in hint


def test_a_header_that_may_be_missing_has_its_own_hint() -> None:
    hint = missing_header(matched("Eigen/Core"), NOWHERE, case(missing_headers=("zlib.h", "Eigen/*")))
    assert hint.startswith("missing-headers lists Eigen/Core, which cannot be empty here")


@pytest.mark.parametrize(
    ("cuda", "curand", "nvshmem"), [(12, "nvidia-curand-cu12", "cu12"), (13, "nvidia-curand", "cu13")]
)
def test_the_packages_of_libraries_are_those_of_the_compilers_cuda(cuda: int, curand: str, nvshmem: str) -> None:
    hint = missing_header(matched("curand_kernel.h"), NOWHERE, case(cuda=cuda))
    assert f'add "{curand}" to' in hint
    assert f"nvidia-nvshmem-{nvshmem}" in missing_header(matched("nvshmem.h"), NOWHERE, case(cuda=cuda))
    assert f"cupy-cuda{cuda}x" in missing_header(matched("cupy/carray.cuh"), NOWHERE, case(cuda=cuda))


def test_every_hint_of_the_table_can_be_written() -> None:
    for pattern, hint in FOREIGN_HEADERS:
        re.compile(pattern)
        text = hint.format("a.h", curand="x", nvshmem="y", cupy="z")
        assert text == text.strip() and "{" not in text.replace("{fmt}", ""), hint
    for row in (*OVERLOADS, *NO_OVERLOADS):
        assert re.compile(row["function"]) and re.compile(row["argument"])
    assert all(isinstance(row["architecture"], int) for row in OVERLOADS)
    assert CONTAINERS["vector"] and HINTED_HEADERS["half"] == "cuda_fp16.h"


# --- names ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("concept", 'set std = "c++20"'),
        ("__shfl_down", "CUDA no longer has __shfl_down: use __shfl_down_sync(mask, ...)"),
        ("__reduce_add_sync", "__reduce_add_sync needs compute capability 8.0"),
        ("half", "#include <cuda_fp16.h> declares half"),
        ("cudaMalloc", "cudaMalloc is a host function"),
        ("cuLaunchKernel", "cuLaunchKernel is a host function"),
        ("Threadidx", "did you mean threadIdx?"),
        ("syncthreads", "did you mean __syncthreads?"),
        ("customer", None),
        ("frobnicate", None),
    ],
)
def test_an_undefined_name_has_the_hint_of_its_kind(name: str, expected: str | None) -> None:
    hint = undefined_name(matched(name), NOWHERE, case("75"))
    assert hint is None if expected is None else expected in str(hint)


def test_a_name_that_the_target_has_gets_no_hint() -> None:
    assert undefined_name(matched("__reduce_add_sync"), NOWHERE, case("80")) is None
    assert undefined_name(matched("concept"), NOWHERE, case(std="c++20")) is None


def test_names_of_std_are_for_the_host_or_in_libcuxx() -> None:
    assert no_member_of_std(matched("thread"), NOWHERE, case()).startswith("std::thread is for host code")
    assert "use cuda::std::popcount if libcu++ has it" in no_member_of_std(matched("popcount"), NOWHERE, case())


KERNELS = "template <class T> __global__ void gemm(T* x) {}\n__global__ void scale(float* x) {}\n"


@pytest.mark.parametrize(
    ("expression", "reason", "expected"),
    [
        (
            "help",
            'cannot use non-__global__ function "help"',
            "help is not a __global__ function: instantiate lists kernels",
        ),
        ("ns::gemm<int, 3>", "too many arguments", "ns::gemm exists, but its template arguments are wrong or missing"),
        ("gemm", "cannot determine which instance is intended", "gemm exists, but its template arguments"),
        ("scale", "something else", None),
        ("scal", "undefined", "did you mean scale?"),
        ("gem<float>", "undefined", "did you mean gemm?"),
        ("unrelated", "undefined", "the kernels of this file are gemm, scale"),
    ],
)
def test_a_name_expression_is_compared_with_the_kernels_of_the_file(
    expression: str, reason: str, expected: str | None
) -> None:
    hint = not_a_kernel(matched(expression, reason), NOWHERE, case(text=KERNELS))
    assert hint is None if expected is None else expected in str(hint)


def test_a_file_without_kernels_has_none_to_suggest() -> None:
    assert not_a_kernel(matched("gemm", "undefined"), NOWHERE, case(text="")) is None


# --- ptxas ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("instruction", "first", "suffix", "arch", "expected"),
    [
        ("cp.async.wait_all", "80", "", "75", "needs compute capability 8.0"),
        ("wgmma.fence", "90", "a", "80", 'wgmma.fence is for sm_90a only: set architectures = ["90a-real"]'),
        ("other.op", "100", "a", "120", 'other.op is for sm_100a only: set architectures = ["100a-real"]'),
        ("other.op", "100", "f", "103", "guard the code with #if __CUDA_ARCH_FEAT_SM100_ALL"),
    ],
)
def test_an_instruction_names_the_targets_that_have_it(
    instruction: str, first: str, suffix: str, arch: str, expected: str
) -> None:
    assert expected in str(requires_target(matched(instruction, first, suffix), NOWHERE, case(arch)))


def test_an_instruction_of_unknown_targets_suggests_the_variant_of_this_one() -> None:
    hint = instruction_not_supported(matched("other.op"), NOWHERE, case("100f"))
    assert hint.startswith("sm_100f does not have other.op") and 'architectures = ["100a-real"]' in hint
    assert "is for sm_90a only" in instruction_not_supported(matched("wgmma.fence"), NOWHERE, case("90"))


@pytest.mark.parametrize(
    ("arguments", "arch", "expected"),
    [
        ("matrix_a, 16, 16, 16, __half", "52", "this matrix fragment needs compute capability 7.0"),
        ("matrix_a, 8, 8, 32, experimental::precision::s4", "70", "needs compute capability 7.5"),
        ("matrix_a, 16, 16, 16, __nv_bfloat16", "75", "needs compute capability 8.0"),
        ("matrix_a, 16, 16, 16, __nv_bfloat16", "80", "no matrix fragment has this shape and these types"),
    ],
)
def test_a_matrix_fragment_needs_the_architecture_of_its_type(arguments: str, arch: str, expected: str) -> None:
    assert expected in matrix_fragment(matched(arguments), NOWHERE, case(arch))


def test_sizes_of_shared_memory_are_decimal() -> None:
    hint = shared_memory(matched("61a80", "c000"), NOWHERE, case())
    assert "400000 bytes" in hint and "the limit of 49152" in hint
