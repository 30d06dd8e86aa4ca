"""Device code sees what GCC predefines under nvcc, and the module's architectures. The answers are nvcc 13.0's."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from cuda_wheel.builder.cache.compile_cache import CompileCache
from cuda_wheel.builder.errors import CompileError
from cuda_wheel.builder.jobs import Compiled, Job
from cuda_wheel.builder.toolchain.toolchain import Toolchain
from cuda_wheel.runtime.parts.user_cache import Cache
from tests.support.manifests import plain
from tests.support.processes import run_cuda_wheel

pytestmark = pytest.mark.every_toolchain

Compile = Callable[..., Compiled]

HOST_CODE = "#include <vector>\nvoid launch() { k<<<1, 1>>>(); }\n"

# Each is true with nvcc 13.0 and GCC 12.2, in device code with -std=c++17.
TRUE_WITH_NVCC = (
    "defined(__GNUC__) && __GNUC__ >= 5 && defined(__GNUC_MINOR__) && defined(__GNUC_PATCHLEVEL__)",
    "defined(__GNUG__) && defined(__GXX_RTTI) && defined(__GXX_ABI_VERSION)",
    "defined(__linux__) && defined(__unix__) && defined(__gnu_linux__) && defined(__x86_64__) && defined(__amd64__)",
    "defined(_GNU_SOURCE) && defined(__STRICT_ANSI__) && defined(__LP64__) && defined(__ELF__)",
    "__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ && __SIZEOF_INT128__ == 16 && __SIZEOF_LONG__ == 8",
    "__CHAR_BIT__ == 8 && __INT_MAX__ == 2147483647 && __SIZEOF_LONG_DOUBLE__ == 16 && __BIGGEST_ALIGNMENT__ == 16",
    "__FINITE_MATH_ONLY__ == 0 && __FLT_RADIX__ == 2 && __FLT_MANT_DIG__ == 24 && __DBL_MAX_EXP__ == 1024",
    "defined(__NVCC__) && defined(__CUDACC__) && defined(CUDA_DOUBLE_MATH_FUNCTIONS) && defined(__SSE2__)",
    "!defined(__clang__) && !defined(_MSC_VER) && !defined(__CHAR_UNSIGNED__) && !defined(__FAST_MATH__)",
    "!defined(_OPENMP) && !defined(NDEBUG) && !defined(linux) && !defined(unix) && !defined(__OPTIMIZE__)",
)


@pytest.mark.parametrize("host_code", [HOST_CODE, ""], ids=["with host code", "device code alone"])
def test_macros_are_defined_as_with_nvcc_and_gcc(host_code: str, compiled: Compile) -> None:
    checks = "".join(f"#if !({condition})\n#error {condition}\n#endif\n" for condition in TRUE_WITH_NVCC)
    compiled(f"{checks}__global__ void k() {{}}\n{host_code}")


@pytest.mark.parametrize("host_code", [HOST_CODE, ""], ids=["with host code", "device code alone"])
@pytest.mark.parametrize(("options", "size"), [((), 9), (("-U__GNUC__",), 16)])
def test_a_struct_that_is_packed_for_gcc_is_packed(host_code: str, options, size: int, compiled: Compile) -> None:
    text = f"""\
#if defined(__GNUC__)
#define PACKED __attribute__((packed))
#else
#define PACKED
#endif
struct PACKED P {{ char c; double d; }};
static_assert(sizeof(P) == {size}, "");
__global__ void k() {{}}
{host_code}"""
    compiled(text, options=("--std=c++17", *options))


def test_an_attribute_that_changes_a_layout_and_is_not_supported_is_an_error(compiled: Compile) -> None:
    for declaration in ("typedef float V __attribute__((vector_size(16)));", "struct __attribute__((ms_struct)) S {};"):
        with pytest.raises(CompileError, match="changes the layout of a type"):
            compiled(declaration + "\n__global__ void k() {}")


def test_pragmas_and_attributes_of_gcc_cause_no_warnings(compiled: Compile) -> None:
    text = """\
#ifdef __GNUC__
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused"
#define QUIET(x) _Pragma("GCC diagnostic ignored \\"-Wx\\"") x
QUIET(int f();)
__attribute__((visibility("hidden"))) int g();
#endif
#include <cuda_fp16.h>
#include <cub/cub.cuh>
#pragma unrol
__global__ void k() {}
"""
    assert compiled(text).log.splitlines()[0] == "k.cu:10:9: warning: unrecognized #pragma [#161-D]"


@pytest.mark.parametrize("host_code", [HOST_CODE, ""], ids=["with host code", "device code alone"])
def test_the_list_of_architectures_is_that_of_the_module(host_code: str, compiled: Compile) -> None:
    text = """\
constexpr int list[] = {__CUDA_ARCH_LIST__};
static_assert(sizeof(list) / sizeof(int) == 3 && list[0] == 750 && list[1] == 800 && list[2] == 900, "");
__global__ void k() {}
"""
    compiled(text + host_code, arch_list="750,800,900")


# nvcc 13.0 -gencode arch=compute_90a,code=sm_90a -gencode arch=compute_90,code=compute_90
# -gencode arch=compute_75,code=sm_75: each architecture once, ascending, without letters.
def test_a_build_gives_its_targets_as_nvcc_does(make_project, tmp_path: Path) -> None:
    source = "template <int... n> __global__ void k() {}\ntemplate __global__ void k<__CUDA_ARCH_LIST__>();\n"
    settings = '[tool.cuda-wheel]\narchitectures = ["90a-real", "75-real", "90-virtual"]\n'
    project = make_project(settings, **{"demo/k.cu": source, "demo/h.cu": source + "int main() { k<1><<<1, 1>>>(); }"})
    output = tmp_path / "out"
    result = run_cuda_wheel("build", project, "-o", output, cwd=tmp_path)
    assert result.returncode == 0, result.stdout
    for name in ("k", "h"):
        manifest = plain((output / f"demo/{name}.fatbin.json").read_bytes())
        assert "k<750, 900>" in json.dumps(manifest)


def test_only_jobs_that_read_the_list_depend_on_the_other_targets(
    job_of: Callable[..., Job], compiled: Compile, toolchain: Toolchain, tmp_path: Path
) -> None:
    (tmp_path / "listing.h").write_text("// __CUDA_ARCH_LIST__\n")
    for first_line, depends in (("", False), ('#include "listing.h"', True), ("// __CUDA_ARCH_LIST__", True)):
        text = f"{first_line}\n__global__ void k() {{}}\n"
        job = job_of(text, arch_list="750,800")
        result = compiled(text, arch_list="750,800")
        cache = CompileCache(Cache(tmp_path / f"cache{first_line[:1]}{depends}"), toolchain)
        assert result.names_arch_list == depends
        assert cache.store_job(job, result)
        assert cache.load_job(job) is not None
        assert (cache.load_job(replace(job, arch_list="800")) is None) == depends
