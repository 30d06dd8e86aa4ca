"""Compile PTX on the user's machine: options, logs, errors and the cache. nvJitLink is the real one."""

from __future__ import annotations

import ctypes
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import cuda_wheel as package
from cuda_wheel import DriverError, ImageError, JitOptions
from cuda_wheel.runtime import driver as driver_module
from cuda_wheel.runtime import loading
from cuda_wheel.runtime.manifest import parse_version
from cuda_wheel.runtime.parts import nvjitlink
from cuda_wheel.runtime.parts import user_cache as cache
from cuda_wheel.runtime.parts.formats.cubin import read_cubin
from cuda_wheel.runtime.parts.user_cache import Cache
from tests.support.driver import Driver, Result

WORDS = b"""ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function '_Z4fillPii' for 'sm_86'
ptxas info    : Function properties for _Z4fillPii
ptxas         .     16 bytes stack frame, 8 bytes spill stores, 4 bytes spill loads
ptxas info    : Used 12 registers, used 0 barriers, 16 bytes smem, 364 bytes cmem[0]
"""
Use = Callable[..., Driver]


@pytest.fixture
def built(make_project, cuda_wheel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """Return a function that builds a project with a `[tool.cuda-wheel]` table and puts its images on the path."""
    monkeypatch.setenv("CUDA_WHEEL_CACHE_DIR", str(tmp_path / "cache"))

    def build(table: str) -> None:
        result = cuda_wheel(
            "build",
            make_project(f"[tool.cuda-wheel]\n{table}"),
            "-o",
            tmp_path / "out",
            CUDA_WHEEL_CACHE_DIR=str(tmp_path / "build"),
        )
        assert result.returncode == 0, result.stdout
        monkeypatch.syspath_prepend(tmp_path / "out")

    yield build
    sys.modules.pop("demo", None)


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


def built_with(source: str, make_project, cuda_wheel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = '[tool.cuda-wheel]\narchitectures = ["90-real", "80-virtual"]\noptional-kernels = ["*"]'
    monkeypatch.setenv("CUDA_WHEEL_CACHE_DIR", str(tmp_path / "cache"))
    project = make_project(table, **{"demo/part.cu": source})
    result = cuda_wheel("build", project, "-o", tmp_path / "out", CUDA_WHEEL_CACHE_DIR=str(tmp_path / "build"))
    assert result.returncode == 0, result.stdout
    monkeypatch.syspath_prepend(tmp_path / "out")


def test_ptx_without_the_first_kernel_is_compiled_when_it_is_loaded(
    make_project, cuda_wheel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, use: Use
) -> None:
    built_with(OPTIONAL, make_project, cuda_wheel, tmp_path, monkeypatch)
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
    sys.modules.pop("demo", None)


def test_ptx_without_any_kernel_is_compiled_when_it_is_loaded(
    make_project, cuda_wheel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, use: Use
) -> None:
    """The driver counts the kernels: there is none to look up."""
    built_with(VARIABLES_ONLY, make_project, cuda_wheel, tmp_path, monkeypatch)
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
    sys.modules.pop("demo", None)


@pytest.mark.parametrize("missing_in", ["driver", "bindings"])
def test_a_driver_that_cannot_count_kernels_compiles_at_the_first_use_of_a_variable(
    missing_in: str, make_project, cuda_wheel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, use: Use
) -> None:
    built_with(VARIABLES_ONLY, make_project, cuda_wheel, tmp_path, monkeypatch)
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
    sys.modules.pop("demo", None)


# --- through nvJitLink ------------------------------------------------------------------------------

NEWEST = JIT + '\nptx-version = "as-compiled"'


@pytest.fixture
def old(toolchain) -> int:
    """Return the version of the oldest driver that takes machine code of the installed toolchain, but not its PTX."""
    return parse_version(toolchain.nvrtc)[0] * 1000


def test_ptx_that_the_driver_cannot_read_is_compiled_once(built, use: Use, old: int, monkeypatch) -> None:
    built(NEWEST)
    driver = use((8, 6), version=old)
    module = loading.load("demo.fill")
    assert (module.how, str(module.image.target)) == ("link", "compute_80")
    assert driver.loaded[0].startswith(b"\x7fELF")
    assert module.jit.registers["_Z4fillPii"] > 0

    def forbid(*_: object) -> None:
        raise AssertionError("compiled again")

    monkeypatch.setattr(nvjitlink, "link_code", forbid)
    second = use((8, 6), version=old)  # as in another process
    assert loading.load("demo.fill").jit.log == module.jit.log
    assert second.loaded == driver.loaded
    with pytest.raises(AssertionError, match="compiled again"):
        loading.load("demo.fill", jit=JitOptions(max_registers=32))
    use((8, 9), version=old)  # another GPU
    with pytest.raises(AssertionError, match="compiled again"):
        loading.load("demo.fill")
    use((8, 6), version=old + 10)  # another driver
    with pytest.raises(AssertionError, match="compiled again"):
        loading.load("demo.fill")


def test_the_exact_build_of_nvjitlink_is_in_the_cache_key(built, use: Use, old: int, monkeypatch) -> None:
    """Two patches of one CUDA release compile differently. Of an unknown one nothing is kept."""
    built(NEWEST)
    links: list[str] = []
    link = nvjitlink.link_code
    monkeypatch.setattr(nvjitlink, "link_code", lambda *arguments: links.append("") or link(*arguments))

    def compilations() -> int:
        links.clear()
        for _ in range(2):
            use((8, 6), version=old)  # as in another process
            loading.load("demo.fill")
        return len(links)

    assert compilations() == 1
    monkeypatch.setattr(nvjitlink, "nvjitlink_build", lambda: "another patch")
    assert compilations() == 1
    monkeypatch.setattr(nvjitlink, "nvjitlink_build", lambda: None)
    assert compilations() == 2


def test_each_gpu_gets_what_nvjitlink_compiled_for_it(built, use: Use, old: int) -> None:
    built(NEWEST)
    driver = use((8, 6), (8, 9), version=old)
    modules = [loading.load("demo.fill", device=device) for device in (0, 1, 0)]
    assert modules[0] is modules[2] is not modules[1]
    assert [read_cubin(code).arch for code in driver.loaded] == [86, 89]


def test_a_tampered_entry_is_never_loaded(built, use: Use, old: int) -> None:
    built(NEWEST)
    good = use((8, 6), version=old)
    loading.load("demo.fill")
    ((_, _, path),) = Cache().entries()
    Path(path).write_bytes(Path(path).read_bytes().replace(b"\x7fELF", b"\x7fBAD"))
    driver = use((8, 6), version=old)
    with pytest.warns(RuntimeWarning, match="is damaged"):
        loading.load("demo.fill")
    assert driver.loaded == good.loaded


def test_results_of_unchecked_bytes_have_their_own_cache_entries(built, use: Use, old: int, monkeypatch) -> None:
    """CUDA_WHEEL_VERIFY may be off for one process and on for the next."""
    built(NEWEST)
    damaged: list[bool] = [True]
    read = loading.read_image
    monkeypatch.setattr(
        loading, "read_image", lambda *args: read(*args).replace(b"ret;", b"trap;") if damaged else read(*args)
    )
    wrong = use((8, 6), version=old)
    loading.load("demo.fill")
    damaged.clear()
    right = use((8, 6), version=old)
    loading.load("demo.fill")
    assert right.loaded != wrong.loaded
    assert len(Cache().entries()) == 2


def test_without_nvjitlink_the_error_names_the_package(built, use: Use, old: int, extra: str, monkeypatch) -> None:
    built(NEWEST)
    use((8, 6), version=old)
    monkeypatch.setattr(nvjitlink, "nvjitlink_version", lambda: None)
    with pytest.raises(package.NoImageError) as caught:
        loading.load("demo.fill")
    assert "PTX" in str(caught.value) and "or nvJitLink" in str(caught.value)
    assert f"pip install cuda-wheel[{extra}]" in str(caught.value)


def test_an_error_of_nvjitlink_contains_its_log(built, use: Use, old: int, monkeypatch) -> None:
    built(NEWEST)
    use((8, 6), version=old)
    monkeypatch.setattr(loading, "read_image", lambda *_: b"garbage\0")
    with pytest.raises(ImageError, match=r"nvJitLink cannot compile demo\.fill, ptx compute_80 .*: .*ptx"):
        loading.load("demo.fill")
    assert Cache().entries() == []


# --- more than one GPU, more than one process -------------------------------------------------------


def test_different_gpus_get_different_images(built, use: Use) -> None:
    built('architectures = ["80-real", "90-real"]')
    driver = use((8, 6), (9, 0), (8, 0))
    modules = [loading.load("demo.fill", device=device) for device in range(3)]
    assert [str(module.image.target) for module in modules] == ["sm_80", "sm_90", "sm_80"]
    assert modules[0] is modules[2]
    assert len(driver.loaded) == 2


def test_a_forked_process_gets_an_error(built, use: Use, monkeypatch: pytest.MonkeyPatch) -> None:
    built('architectures = "80-real"')
    use((8, 0))
    module = loading.load("demo.fill")
    assert module["fill"].handle
    driver_module.note_fork()
    for act in (lambda: loading.load("demo.fill"), lambda: module["fill"], lambda: driver_module.device_count()):
        with pytest.raises(DriverError, match=r"this process was forked .* 'spawn' or 'forkserver'"):
            act()


def test_a_fork_before_cuda_is_harmless(monkeypatch: pytest.MonkeyPatch) -> None:
    driver_module.reset()
    driver_module.note_fork()
    assert not driver_module.is_forked()


def test_a_process_forked_after_another_library_used_cuda_gets_an_error(use: Use) -> None:
    use(cuInit=Result.CUDA_ERROR_NOT_INITIALIZED)
    with pytest.raises(DriverError, match="this process was forked"):
        driver_module.device_and_driver()


# --- the folder -------------------------------------------------------------------------------------


@pytest.mark.parametrize("platform", ["linux", "darwin", "win32"])
def test_the_cache_folder_follows_the_platform(platform: str, monkeypatch: pytest.MonkeyPatch) -> None:
    module = pytest.importorskip("platformdirs")
    monkeypatch.delenv("CUDA_WHEEL_CACHE_DIR", raising=False)
    monkeypatch.setenv("LOCALAPPDATA", "/somewhere/Local")
    kinds = {"linux": ("unix", "Unix"), "darwin": ("macos", "MacOS"), "win32": ("windows", "Windows")}
    submodule, name = kinds[platform]
    __import__(f"platformdirs.{submodule}")
    if platform == "win32":
        monkeypatch.setattr(sys.modules["platformdirs.windows"], "get_win_folder", lambda _: "/somewhere/Local")
    expected = getattr(getattr(module, submodule), name)("cuda-wheel", appauthor=False).user_cache_dir
    monkeypatch.setattr(sys, "platform", platform)
    assert cache.cache_folder().replace("\\", "/") == expected.replace("\\", "/")


@pytest.mark.skipif(sys.platform == "win32", reason="users of Windows have no numbers")
@pytest.mark.parametrize("variables", [{}, {"CUDA_WHEEL_CACHE_DIR": "~/.cache/x"}, {"XDG_CACHE_HOME": "~/.cache"}])
def test_without_a_home_directory_the_cache_is_a_temporary_folder(
    variables: dict[str, str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """As of a user that a container makes up: no variable and no entry of /etc/passwd names one."""
    for name in ("CUDA_WHEEL_CACHE_DIR", "XDG_CACHE_HOME", "HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("pwd.getpwuid", lambda number: {}[number])
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    assert cache.cache_folder() == f"{tmp_path}/cuda-wheel-{os.getuid()}"
    monkeypatch.setenv("HOME", "relative")
    assert variables.get("CUDA_WHEEL_CACHE_DIR") or cache.cache_folder() == f"{tmp_path}/cuda-wheel-{os.getuid()}"
    monkeypatch.setenv("HOME", "/home/me")
    assert cache.cache_folder().startswith("/home/me/.cache/")


def test_the_environment_can_move_the_cache_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_WHEEL_CACHE_DIR", "/elsewhere")
    assert cache.cache_folder() == "/elsewhere"
