"""`cuda_wheel.compile` as those meet it who come from CuPy's `RawModule` and PyCUDA's `SourceModule`."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import cuda_wheel
from cuda_wheel.builder.errors import CompileError, ConfigError
from cuda_wheel.runtime.errors import UnknownKernelError
from tests.support.driver import Driver
from tests.support.layouts import environment
from tests.support.processes import run
from tests.support.projects import ROOT, write_files

TEMPLATES = """\
#include <cuda_fp16.h>
#include <cooperative_groups.h>
#include <stdint.h>
namespace demo {
enum Mode { SLOW = 2, FAST = 7 };
struct Pair { float x; int y; };
template <typename T, int N> __global__ void gemm(T* x) { *x = (T)N; }
template <Mode MODE> __global__ void run(int64_t* x) { *x = MODE + cooperative_groups::this_thread_block().size(); }
}
#define KERNEL(name, type) extern "C" __global__ void name(type* x, demo::Pair pair) { *x = (type)(pair.x * 2); }
KERNEL(twice_float, float)
KERNEL(twice_half, __half)
__constant__ float table[4];
__device__ int counter;
__global__ void twice(int* x) { *x = table[0] + counter; }
__global__ void twice(float* x) { *x = 2; }
"""


@pytest.mark.slow
@pytest.mark.one_toolchain
def test_templates_are_found_by_name_expressions_and_others_are_compiled_when_asked_for(
    use: Callable[..., Driver], forbid_compilers: Callable[[], None]
) -> None:
    use((8, 6))
    names = ["demo::gemm<float, 3>", "demo::gemm<demo::Pair*,4>", "demo::run<demo::FAST>"]
    module = cuda_wheel.compile(TEMPLATES, instantiate=names)
    assert {
        name: module[name].symbol for name in ("gemm<float,3>", "demo::gemm< demo::Pair* , 4 >", "run<demo::FAST>")
    } == {
        "gemm<float,3>": "_ZN4demo4gemmIfLi3EEEvPT_",
        "demo::gemm< demo::Pair* , 4 >": "_ZN4demo4gemmIPNS_4PairELi4EEEvPT_",
        "run<demo::FAST>": "_ZN4demo3runILNS_4ModeE7EEEvPl",
    }
    assert [each.size for each in module["twice_half"].parameters] == [8, 8]
    assert {name: module.globals[name].size for name in module.globals} == {"table": 16, "counter": 4}
    with pytest.raises(
        UnknownKernelError, match="several kernels 'twice'; use the symbol instead: _Z5twicePf, _Z5twicePi"
    ):
        module["twice"]
    with pytest.raises(UnknownKernelError, match="has no kernel 'twice_flot'; did you mean twice_float"):
        module["twice_flot"]
    other = module["demo::gemm<double, 8>"]
    assert other.symbol == "_ZN4demo4gemmIdLi8EEEvPT_" and other.module is not module
    with pytest.raises(CompileError, match=r"demo::gemm<nothing, 8> \(instantiate\) is not a kernel of this file"):
        module["demo::gemm<nothing, 8>"]
    forbid_compilers()
    assert module["demo::gemm<double, 8>"] is other
    assert cuda_wheel.compile(TEMPLATES, instantiate=names) is module


def test_headers_are_found_from_the_current_folder(
    use: Callable[..., Driver], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use((8, 6))
    write_files(tmp_path, **{"inc/value.h": "#define VALUE 1\n", "more/other.h": '#include "value.h"\n'})
    monkeypatch.chdir(tmp_path)
    source = '#include "other.h"\n#include <value.h>\n__global__ void k(int* x) { *x = VALUE; }'
    ways: list[dict[str, Any]] = [
        {"include_dirs": ["inc", Path("more")]},
        {"options": ["-Iinc", "-I", "more"]},
        {"options": ("--include-path=inc",), "include_dirs": [tmp_path / "more"]},
    ]
    for way in ways:
        assert list(cuda_wheel.compile(source, **way)) == ["k"]
    (tmp_path / "inc/value.h").write_text("#define VALUE nothing\n")
    for way in ways:  # a changed header is noticed, however its folder is named
        with pytest.raises(CompileError, match='identifier "nothing" is undefined'):
            cuda_wheel.compile(source, **way)
    with pytest.raises(
        CompileError,
        match=r'cannot open source file "other.h"(?s:.*)the folders searched are: none; name some in include_dirs',
    ):
        cuda_wheel.compile(source)
    with pytest.raises(CompileError, match=rf"the folders searched are: {tmp_path}/inc$"):
        cuda_wheel.compile(source, include_dirs=["inc"])


def test_options_of_nvrtc_and_nvcc_are_taken(use: Callable[..., Driver]) -> None:
    use((8, 6))
    source = "template <typename T> concept Any = true; __global__ void k(float* x) { *x = VALUE; }"
    options = [
        "-std=c++20",
        "--gpu-architecture=sm_80",
        "--use_fast_math",
        "-lineinfo",
        "-DVALUE=2",
        "--maxrregcount=32",
    ]
    module = cuda_wheel.compile(source, options=options)
    assert str(module.image.target) == "sm_86"  # that of the GPU, and not that of the options
    assert list(cuda_wheel.compile(source, std="c++20", defines={"VALUE": True})) == ["k"]
    for arguments, message in (
        ({"options": ["--nonsense"]}, "NVRTC rejects an option .*--nonsense"),
        ({"options": ["-std=c++20"], "std": "c++17"}, "^options and std contradict each other"),
        ({"defines": {"VALUE": None}}, "^defines.VALUE must be a string, a number, true or false, not None"),
        ({"std": "c++99"}, r"""^std must be "c\+\+03", .* or "c\+\+26", not 'c\+\+99'"""),
    ):
        with pytest.raises(ConfigError, match=message):
            cuda_wheel.compile(source, **arguments)


def test_arguments_that_are_something_else_are_refused_with_what_to_pass(
    use: Callable[..., Driver], tmp_path: Path
) -> None:
    use((8, 6))
    kernel = "__global__ void k(float* x) { *x = 1; }"
    for arguments, message in (
        ({"instantiate": "k<float>"}, r"instantiate must be a list, such as \['k<float>'\], not one str"),
        ({"options": "--fmad=false"}, r"options must be a list, such as \['--fmad=false'\]"),
        ({"include_dirs": "include"}, r"include_dirs must be a list, such as \['include'\]"),
        ({"include_dirs": tmp_path}, "include_dirs must be a list, such as"),
    ):
        with pytest.raises(TypeError, match=message):
            cuda_wheel.compile(kernel, **arguments)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"not PosixPath: pass its read_text\(\)|not WindowsPath: pass its"):
        cuda_wheel.compile(tmp_path)  # type: ignore[arg-type]
    with pytest.raises(
        ValueError, match=r"source is PTX, not CUDA C\+\+: cuda_wheel.load_code\(source.encode\(\)\) loads it"
    ):
        cuda_wheel.compile(
            "//\n// Generated by a compiler\n\n.version 8.0\n.target sm_80\n.visible .entry k() { ret; }"
        )


def test_a_text_without_a_kernel_is_told_what_to_name(use: Callable[..., Driver]) -> None:
    use((8, 6))
    with pytest.raises(CompileError) as error:
        cuda_wheel.compile("template <class T, int N> __global__ void gemm(T* x) { *x = N; }")
    assert str(error.value).endswith('so name their instances, such as: instantiate=["gemm<float, 16>"]')
    with pytest.raises(CompileError, match=r"source.cu has no kernel: it compiles to an empty image.$"):
        cuda_wheel.compile("")
    with pytest.raises(CompileError, match=r'(?s)source.cu:1:.*static assertion failed with "too large".*with N=5'):
        text = 'template <int N> __global__ void k(int*) { static_assert(N < 4, "too large"); }'
        cuda_wheel.compile(text, instantiate=["k<5>"])


PROGRAM = """\
import sys, cuda.bindings
from tests.support.driver import Driver
sys.modules["cuda.bindings.driver"] = cuda.bindings.driver = Driver((8, 6), version=VERSION)
import cuda_wheel
try:
    module = cuda_wheel.compile("template <int N> __global__ void k(int* x) { *x = N; }", instantiate=["k<3>"])
    print(module["k<3>"].symbol, module["k<4>"].symbol, "cuda_wheel.builder.workers.worker" in sys.modules)
except cuda_wheel.CudaWheelError as error:
    print(error)
"""


@pytest.mark.slow
@pytest.mark.one_toolchain
def test_another_process_finds_the_result_and_needs_no_toolchain(tmp_path: Path, extra: str) -> None:
    """The environment has cuda-bindings and no package of the toolchain."""
    environ = {"PYTHONPATH": str(ROOT), "CUDA_PATH": "", "CUDA_HOME": "", "CONDA_PREFIX": ""}
    bare = environment(tmp_path / "bare")
    for version, name in ((12080, "cu12"), (13000, "cu13")):
        result = run(bare, "-c", PROGRAM.replace("VERSION", str(version)), **environ)
        assert f'compiling source needs a toolchain: pip install "cuda-wheel[{name}]". Now: no CUDA' in result.stdout
    program = PROGRAM.replace("VERSION", "13000")
    shown = [run(sys.executable, "-c", program, **environ).stdout for _ in range(2)]
    assert shown == [f"_Z1kILi3EEvPi _Z1kILi4EEvPi {compiled}\n" for compiled in (True, False)]
    assert os.environ["CUDA_WHEEL_CACHE_DIR"]
