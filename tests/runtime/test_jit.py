"""Compile PTX on the user's machine: options, logs, errors and the cache. nvJitLink is the real one."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from pathlib import Path

import pytest

import cuda_wheel as package
from cuda_wheel import DriverError, JitOptions
from cuda_wheel.runtime import loading
from tests.support.driver import Driver, Result

WORDS = b"""ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function '_Z4fillPii' for 'sm_86'
ptxas info    : Function properties for _Z4fillPii
ptxas         .     16 bytes stack frame, 8 bytes spill stores, 4 bytes spill loads
ptxas info    : Used 12 registers, used 0 barriers, 16 bytes smem, 364 bytes cmem[0]
"""
Use = Callable[..., Driver]


JIT = 'architectures = ["120-real", "80-virtual"]'


def test_the_options_reach_the_driver(built, use: Use) -> None:
    built(JIT)
    driver = use((8, 6))
    loading.load("demo.fill", jit=JitOptions(verbose=False, optimization_level=2, max_registers=32, lineinfo=True))
    figures = {name: value for name, value in driver.options.items() if isinstance(value, int) and "SIZE" not in name}
    assert figures == {"LOG_VERBOSE": 0, "OPTIMIZATION_LEVEL": 2, "MAX_REGISTERS": 32, "GENERATE_LINE_INFO": 1}


def test_different_options_give_different_modules(built, use: Use) -> None:
    built(JIT)
    use((8, 6))
    plain, limited = (loading.load("demo.fill", jit=JitOptions(max_registers=count)) for count in (None, 32))
    assert plain is not limited
    assert loading.load("demo.fill") is plain


@pytest.mark.parametrize("options", [JitOptions(optimization_level=5), JitOptions(max_registers=1)])
def test_an_option_that_no_compiler_takes_is_refused(options: JitOptions, built, use: Use) -> None:
    built(JIT)
    use((8, 6))
    with pytest.raises(ValueError, match="must be"):
        loading.load("demo.fill", jit=options)


def test_registers_and_spills_come_from_the_log(built, use: Use) -> None:
    built(JIT)
    use((8, 6)).words = WORDS
    jit = loading.load("demo.fill").jit
    assert jit.log.startswith("ptxas info    : 0 bytes gmem")
    assert (jit.registers, jit.spills) == ({"_Z4fillPii": 12}, {"_Z4fillPii": 12})
    assert jit.seconds > 0


def test_machine_code_has_no_jit(built, use: Use) -> None:
    built('architectures = "86-real"')
    driver = use((8, 6))
    assert loading.load("demo.fill").jit is None
    assert driver.options == {}


def test_an_error_contains_the_log_and_loading_again_works(built, use: Use) -> None:
    built(JIT)
    use(
        (8, 6), cuLibraryGetKernel=Result.CUDA_ERROR_UNSUPPORTED_PTX_VERSION
    ).words = b"ptxas fatal : Unsupported .version"
    with pytest.raises(DriverError) as caught:
        loading.load("demo.fill")
    assert str(caught.value).splitlines() == [
        "compiling demo.fill, ptx compute_80 (PTX 7.0): the driver returned CUDA_ERROR_UNSUPPORTED_PTX_VERSION (222): because",
        "ptxas fatal : Unsupported .version",
    ]  # fmt: skip
    use((8, 6))
    assert loading.load("demo.fill")["fill"].handle


# --- code that lacks kernels ---------------------------------------------------------------------------

OPTIONAL = """
__constant__ float table[4];
#if __CUDA_ARCH__ >= 900
__global__ void late(float* x) { *x = table[0]; }
#endif
__global__ void older(float* x) { *x = table[1]; }
"""
VARIABLES_ONLY = OPTIONAL.replace("__global__ void older", "__device__ void older")


@pytest.fixture
def built_with(
    make_project, cuda_wheel, kept_cache: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[str], None]:
    """Return a function that builds a module of a source, of which one image may lack kernels, and puts it on the path."""

    def build(source: str) -> None:
        table = '[tool.cuda-wheel]\narchitectures = ["90-real", "80-virtual"]\noptional-kernels = ["*"]'
        monkeypatch.setenv("CUDA_WHEEL_CACHE_DIR", str(tmp_path / "cache"))
        project = make_project(table, **{"demo/part.cu": source})
        result = cuda_wheel("build", project, "-o", tmp_path / "out", CUDA_WHEEL_CACHE_DIR=kept_cache)
        assert result.returncode == 0, result.stdout
        monkeypatch.syspath_prepend(tmp_path / "out")

    return build


def test_ptx_without_the_first_kernel_is_compiled_when_it_is_loaded(built_with, use: Use) -> None:
    built_with(OPTIONAL)
    driver = use((8, 6))
    driver.lacking.add(b"_Z4latePf")
    module = loading.load("demo.part")
    assert (module.how, module.kernels) == ("jit", ("late", "older"))
    assert driver.asked == [b"_Z5olderPf"]
    assert module["older"].handle
    with pytest.raises(package.UnknownKernelError, match="was built without that kernel"):
        module["late"]
    failing = use((8, 6), cuLibraryGetKernel=Result.CUDA_ERROR_INVALID_PTX)
    failing.words = b"ptxas fatal"
    with pytest.raises(DriverError, match=r"CUDA_ERROR_INVALID_PTX[^$]*ptxas fatal"):
        loading.load("demo.part")
    assert failing.unloaded


def test_ptx_without_any_kernel_is_compiled_when_it_is_loaded(built_with, use: Use) -> None:
    """The driver counts the kernels: there is none to look up."""
    built_with(VARIABLES_ONLY)
    driver = use((8, 6))
    driver.memory[b"table"] = (ctypes.c_float * 4)(1, 2, 3, 4)
    module = loading.load("demo.part")
    assert driver.asked == ["count"]
    assert module.globals["table"].read() == bytes(driver.memory[b"table"])
    failing = use((8, 6), cuLibraryGetKernelCount=Result.CUDA_ERROR_INVALID_PTX)
    failing.words = b"ptxas fatal"
    with pytest.raises(DriverError, match=r"CUDA_ERROR_INVALID_PTX[^$]*ptxas fatal"):
        loading.load("demo.part")
    assert failing.unloaded


@pytest.mark.parametrize("missing_in", ["driver", "bindings"])
def test_a_driver_that_cannot_count_kernels_compiles_at_the_first_use_of_a_variable(
    missing_in: str, built_with, use: Use
) -> None:
    built_with(VARIABLES_ONLY)
    driver = use((8, 6), version=12020)

    def not_found(library: int) -> None:
        raise RuntimeError('Function "cuLibraryGetKernelCount" not found')

    if missing_in == "driver":
        driver.cuLibraryGetKernelCount = not_found  # type: ignore[assignment,method-assign]
    else:
        driver.without = "cuLibraryGetKernelCount"
    module = loading.load("demo.part")
    assert driver.asked == []
    driver.options["ERROR_LOG_BUFFER"][:11] = b"ptxas fatal"
    driver.cuLibraryGetGlobal = lambda *_: (Result.CUDA_ERROR_INVALID_PTX, None, None)  # type: ignore[method-assign]
    driver.context.device = 0
    with pytest.raises(DriverError, match=r"looking for table[^$]*CUDA_ERROR_INVALID_PTX[^$]*ptxas fatal"):
        module.globals["table"].address  # noqa: B018


# --- more than one GPU, more than one process -------------------------------------------------------


def test_different_gpus_get_different_images(built, use: Use) -> None:
    built('architectures = ["80-real", "90-real"]')
    driver = use((8, 6), (9, 0), (8, 0))
    modules = [loading.load("demo.fill", device=device) for device in range(3)]
    assert [str(module.image.target) for module in modules] == ["sm_80", "sm_90", "sm_80"]
    assert modules[0] is modules[2]
    assert len(driver.loaded) == 2
