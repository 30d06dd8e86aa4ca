"""PTX that the driver cannot read is compiled by nvJitLink, once. nvJitLink is the real one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import cuda_wheel as package
from cuda_wheel import ImageError, JitOptions
from cuda_wheel.runtime import loading
from cuda_wheel.runtime.manifest import parse_version
from cuda_wheel.runtime.parts import nvjitlink
from cuda_wheel.runtime.parts.formats.cubin import read_cubin
from cuda_wheel.runtime.parts.user_cache import Cache
from tests.support.driver import Driver

Use = Callable[..., Driver]


JIT = 'architectures = ["120-real", "80-virtual"]'


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


@pytest.mark.parametrize("is_kept", [False, True])
def test_where_compiling_is_forbidden_nvjitlink_is_not_called_and_the_cache_does_not_count(
    is_kept: bool, built, use: Use, old: int, monkeypatch
) -> None:
    built(NEWEST)
    use((8, 6), version=old)
    if is_kept:
        assert loading.load("demo.fill").how == "link"
    driver = use((8, 6), version=old)  # as in another process

    def forbid(*_: object) -> None:
        raise AssertionError("compiled")

    monkeypatch.setattr(nvjitlink, "link_code", forbid)
    monkeypatch.setattr(Cache, "read", forbid)
    with pytest.raises(package.NoImageError, match=r"must be compiled, which JitOptions\(allow=False\) forbids"):
        loading.load("demo.fill", jit=JitOptions(allow=False))
    monkeypatch.setenv("CUDA_WHEEL_JIT", "error")
    with pytest.raises(package.NoImageError, match="must be compiled, which CUDA_WHEEL_JIT=error forbids"):
        loading.load("demo.fill")
    assert driver.loaded == []


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
