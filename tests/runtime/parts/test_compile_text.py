"""`cuda_wheel.compile`: a text becomes a loaded module, compiled once for all processes."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import cuda_wheel
from cuda_wheel.builder.errors import CompileError, ConfigError
from cuda_wheel.builder.wheel.loader_copy import copied_files
from cuda_wheel.builder.wheel.outputs import write
from cuda_wheel.cupy import RawKernel, RawModule
from cuda_wheel.runtime.errors import PARTS
from cuda_wheel.runtime.launching import Launcher
from cuda_wheel.runtime.parts.formats.cubin import read_cubin
from tests.support.driver import Driver
from tests.support.processes import run

SOURCE = """
#include "scale.h"
namespace demo {
template <typename T, int N> __global__ void gemm(T* x) { x[threadIdx.x] *= N * SCALE; }
}
__global__ void fill(float* x, unsigned n) { int unused = 1; if (threadIdx.x < n) x[threadIdx.x] = VALUE; }
"""


def test_a_text_becomes_a_module_and_is_compiled_once(
    use: Callable[..., Driver], tmp_path: Path, forbid_compilers: Callable[[], None]
) -> None:
    driver = use((8, 6))
    header = tmp_path / "scale.h"
    header.write_text("#define SCALE 3\n")

    def compiled(**changes: object) -> cuda_wheel.Module:
        arguments = {"instantiate": ["demo::gemm<double, 4>"], "defines": {"VALUE": 1.5}, "include_dirs": [tmp_path]}
        return cuda_wheel.compile(SOURCE, **arguments | changes)

    with pytest.warns(RuntimeWarning, match=r'source.cu:6.*: warning: variable "unused"'):
        module = compiled()
    assert sorted(module) == ["demo::gemm<double, 4>", "fill"]
    assert module["gemm<double,4>"].symbol == "_ZN4demo4gemmIdLi4EEEvPT_"
    assert [each.cpp for each in module["fill"].info.parameters] == ["float*", "unsigned int"]
    assert Launcher(module["fill"]).launch  # as of a wheel: arguments are checked
    assert module.name == "source" and str(module.image.target) == "sm_86" and module.how == "native"
    assert driver.loaded == [driver.loaded[0]] and set(read_cubin(driver.loaded[0]).kernels) == {
        each.symbol for each in module.values()
    }
    assert compiled() is module

    with pytest.warns(RuntimeWarning):  # whatever decides the result compiles it again
        others = [compiled(defines={"VALUE": 2}), compiled(options=["--fmad=false"]), compiled(std="c++20")]
    assert len({id(each) for each in (module, *others)}) == 4
    forbid_compilers()
    use((8, 6))
    assert compiled() is not module  # another driver's; from the cache without a compiler
    assert compiled(defines={"VALUE": 2})["fill"].symbol == module["fill"].symbol
    header.write_text("#define SCALE 4\n")
    with pytest.raises(AssertionError, match="a compiler was started"):
        compiled()


@pytest.mark.parametrize("is_kept", [False, True])
def test_a_text_is_not_compiled_where_that_is_forbidden(
    is_kept: bool,
    use: Callable[..., Driver],
    forbid_compilers: Callable[[], None],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.setenv("CUDA_WHEEL_CACHE_DIR", str(tmp_path / "cache"))
    text = "template <typename T> __global__ void one(T* x) { *x = 1; }\ntemplate __global__ void one<int>(int*);"
    use((8, 6))
    if is_kept:
        cuda_wheel.compile(text)
        module = cuda_wheel.compile(text, jit=cuda_wheel.JitOptions(allow=True))
        module["one<float>"]
    forbid_compilers()
    driver = use((8, 6))
    message = r"^source\.cu must be compiled on this machine \(compute capability 8\.6, driver for CUDA 13\.0\), which "
    with pytest.raises(cuda_wheel.NoImageError, match=message + r"JitOptions\(allow=False\) forbids\. Put the text"):
        cuda_wheel.compile(text, jit=cuda_wheel.JitOptions(allow=False))
    monkeypatch.setenv("CUDA_WHEEL_JIT", "error")
    with pytest.raises(cuda_wheel.NoImageError, match=message + "CUDA_WHEEL_JIT=error forbids"):
        cuda_wheel.compile(text)
    if is_kept:
        with pytest.raises(cuda_wheel.UnknownKernelError, match=r"one<double>[\s\S]*CUDA_WHEEL_JIT=error forbids"):
            module["one<double>"]
        assert module["one<float>"].handle  # compiled before
    with pytest.raises(cuda_wheel.NoImageError, match="CUDA_WHEEL_JIT=error forbids"):
        RawKernel("__global__ void k() {}", "k").kernel  # noqa: B018
    with pytest.raises(cuda_wheel.NoImageError, match="CUDA_WHEEL_JIT=error forbids"):
        RawModule(code=text).get_function("one<int>")
    assert driver.loaded == []


def test_what_does_not_compile_is_an_error_with_the_log(use: Callable[..., Driver]) -> None:
    use((8, 0))
    with pytest.raises(CompileError, match=r"(?s)filter\.cu does not compile.*filter\.cu:1.*nothing"):
        cuda_wheel.compile("__global__ void k() { nothing; }", name="filter")
    with pytest.raises(CompileError, match="has no kernel"):
        cuda_wheel.compile("__device__ int f() { return 1; }")
    with pytest.raises(ConfigError, match="is not a macro name"):
        cuda_wheel.compile("__global__ void k() {}", defines={"A B": 1})
    with pytest.raises(TypeError, match=r"source must be a string of CUDA C\+\+, not bytes"):
        cuda_wheel.compile(b"__global__ void k() {}")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="name must be an identifier"):
        cuda_wheel.compile("__global__ void k() {}", name="a/b")


def test_a_text_for_another_gpu_is_compiled_for_that_one(use: Callable[..., Driver]) -> None:
    driver = use((8, 0), (9, 0))
    modules = [cuda_wheel.compile("__global__ void k(int* x) { *x = 1; }", device=number) for number in (0, 1)]
    assert [str(module.image.target) for module in modules] == ["sm_80", "sm_90"]
    assert len(driver.loaded) == 2


def test_texts_that_reach_no_compiler(use: Callable[..., Driver], forbid_compilers: Callable[[], None]) -> None:
    use((8, 6))
    forbid_compilers()
    with pytest.raises(ValueError, match=r"line 2 of source contains '\\x00', which a compiler cannot read: remove it"):
        cuda_wheel.compile("int a;\nint b;\0int c;")
    with pytest.raises(ValueError, match=r"line 1 of source contains '\\udcff', which a compiler cannot read"):
        cuda_wheel.compile("// \udcff")
    text = "template <int N> __global__ void k(int* x) { *x = N + A; }"
    for arguments in (
        {"instantiate": ['k<1>\n#include "/etc/passwd"']},
        {"defines": {"A": '1\n#include "/etc/passwd"'}},
        {"options": ['-DA=1\n#include "/etc/passwd"']},
        {"include_dirs": ["/tmp\n"]},
    ):
        with pytest.raises(ConfigError, match=r"must be .* line"):
            cuda_wheel.compile(text, **arguments)  # type: ignore[arg-type]


def test_a_vendored_loader_offers_no_compiler(tmp_path: Path) -> None:
    write({f"_vendored/{name}": content for name, content in copied_files(PARTS).items()}, tmp_path)
    result = run(
        sys.executable,
        "-c",
        "import _vendored; 'compile' in _vendored.__all__ or _vendored.compile('')",
        PYTHONPATH=str(tmp_path),
    )
    assert "module '_vendored' has no attribute 'compile'" in result.stdout
