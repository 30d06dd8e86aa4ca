"""With CUDA_WHEEL_JIT=error or JitOptions(allow=False), a load compiles nothing, and says what it would have compiled.

Links, `compile`, `specialize`, source trees and companions have tests of their own, in the files of these.
"""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import cuda_wheel as package
from cuda_wheel import JitOptions, NoImageError
from cuda_wheel.builder.wheel.loader_copy import copied_files
from cuda_wheel.builder.wheel.outputs import write
from cuda_wheel.runtime import loading
from tests.support.driver import Driver, Result
from tests.support.loaded_modules import forget_package

Use = Callable[..., Driver]

FORBIDDING: list[dict[str, Any]] = [{"variable": "error"}, {"jit": JitOptions(allow=False)}]


@pytest.fixture(params=FORBIDDING, ids=["CUDA_WHEEL_JIT=error", "JitOptions(allow=False)"])
def forbidden(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Forbid to compile in one of two ways, and return the arguments of `load` for it."""
    options = dict(request.param)
    if "variable" in options:
        monkeypatch.setenv("CUDA_WHEEL_JIT", options.pop("variable"))
    return options


def name_of(forbidden: dict[str, Any]) -> str:
    return "JitOptions(allow=False)" if forbidden else "CUDA_WHEEL_JIT=error"


def test_ptx_is_not_compiled_and_the_error_says_why_it_would_be(
    built: Callable[[str], None], use: Use, forbidden: dict[str, Any]
) -> None:
    built('architectures = ["120-real", "80-virtual"]')
    driver = use((8, 6))
    with pytest.raises(NoImageError) as caught:
        loading.load("demo.fill", **forbidden)
    lines = str(caught.value).splitlines()
    assert lines[0] == "demo.fill has no image for a GPU of compute capability 8.6 with a driver for CUDA 13.0."
    assert sorted(lines[1:3]) == [
        "  cubin sm_120: is machine code for 12.x, the GPU is 8.6",
        f"  ptx compute_80 (PTX 7.0): must be compiled, which {name_of(forbidden)} forbids",
    ]
    assert lines[3:] == ['The wheel\'s authors can add "86-real" to architectures.']
    assert driver.loaded == []


def test_machine_code_loads(built: Callable[[str], None], use: Use, forbidden: dict[str, Any]) -> None:
    built('architectures = ["80-real", "80-virtual"]')
    driver = use((8, 6))
    module = loading.load("demo.fill", **forbidden)
    assert (module.how, str(module.image.target), module.jit) == ("native", "sm_80", None)
    assert [code[:4] for code in driver.loaded] == [b"\x7fELF"]
    assert loading.load("demo.fill") is module


def test_what_this_process_has_compiled_already_does_not_count(
    built: Callable[[str], None], use: Use, forbidden: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else the answer would depend on what ran before. The module that was loaded stays."""
    built('architectures = ["120-real", "80-virtual"]')
    driver = use((8, 6))
    with monkeypatch.context() as patch:
        patch.delenv("CUDA_WHEEL_JIT", raising=False)
        module = loading.load("demo.fill")
    with pytest.raises(NoImageError, match="must be compiled"):
        loading.load("demo.fill", **forbidden)
    assert module["fill"].handle and len(driver.loaded) == 1


@pytest.mark.parametrize("value", [None, "", "on"])
def test_compiling_is_allowed_by_default(
    value: str | None, built: Callable[[str], None], use: Use, monkeypatch: pytest.MonkeyPatch
) -> None:
    if value is not None:
        monkeypatch.setenv("CUDA_WHEEL_JIT", value)
    built('architectures = ["120-real", "80-virtual"]')
    use((8, 6))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert loading.load("demo.fill").how == "jit"
    with pytest.raises(NoImageError, match=r"JitOptions\(allow=False\) forbids"):
        loading.load("demo.fill", jit=JitOptions(allow=False))


@pytest.mark.parametrize("value", ["off", "Error", "0", "1"])
def test_a_wrong_value_warns_and_forbids(
    value: str, built: Callable[[str], None], use: Use, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever sets the variable means to forbid something."""
    monkeypatch.setenv("CUDA_WHEEL_JIT", value)
    built('architectures = ["120-real", "80-virtual"]')
    driver = use((8, 6))
    warning = f'CUDA_WHEEL_JIT must be "on" or "error", not {value!r}; "error" is used'
    with pytest.warns(RuntimeWarning, match=warning), pytest.raises(NoImageError, match="CUDA_WHEEL_JIT=error forbids"):
        loading.load("demo.fill", jit=JitOptions(allow=True))
    assert driver.loaded == []


@pytest.mark.parametrize(
    ("architectures", "capability", "image"),
    [
        ('"80-real", "80-virtual"', (8, 0), "sm_80"),  # for this very GPU
        ('"80-real"', (8, 6), "sm_80"),  # there is no PTX
        ('"80-real", "90-virtual"', (8, 6), "sm_80"),  # nor any for this GPU
        ('"80-real", "80-virtual"', (8, 6), None),
        ('"80-real", "80-virtual"', (9, 0), None),
    ],
)
def test_a_driver_that_may_choose_ptx_of_a_compressed_fatbin_does_not_get_it(
    architectures: str,
    capability: tuple[int, int],
    image: str | None,
    built: Callable[[str], None],
    use: Use,
    forbidden: dict[str, Any],
) -> None:
    """Whether a driver takes machine code of another minor version first is not documented."""
    built(f'architectures = [{architectures}]\ncompress = "size"')
    driver = use(capability)
    if image is not None:
        assert str(loading.load("demo.fill", **forbidden).image.target) == image
        return
    with pytest.raises(NoImageError) as caught:
        loading.load("demo.fill", **forbidden)
    reasons = {line.split(": ")[1] for line in str(caught.value).splitlines() if name_of(forbidden) in line}
    reason = {"PTX may be compiled, which"} if capability == (8, 6) else set()
    assert {each.partition(f" {name_of(forbidden)}")[0] for each in reasons} == {"must be compiled, which", *reason}
    arch = "".join(map(str, capability))
    assert str(caught.value).endswith(f'authors can add "{arch}-real" to architectures.') and driver.loaded == []


def test_doubtful_machine_code_is_tried_in_place_of_ptx(
    built: Callable[[str], None], use: Use, forbidden: dict[str, Any]
) -> None:
    """A Jetson with another GPU's machine code: to find out whether it loads compiles nothing."""
    built('architectures = ["80-real", "80-virtual"]')
    driver = use((8, 7))
    module = loading.load("demo.fill", **forbidden)
    assert (module.how, str(module.image.target)) == ("native", "sm_80")
    driver = use((8, 7), cuLibraryLoadData=Result.CUDA_ERROR_NO_BINARY_FOR_GPU)
    with pytest.raises(NoImageError, match="must be compiled, which") as caught:
        loading.load("demo.fill", **forbidden)
    assert str(caught.value).endswith('\nThe wheel\'s authors can add "87-real" to architectures.')
    assert "the driver refused it" in str(caught.value) and [code[:4] for code in driver.loaded] == [b"\x7fELF"]


def test_a_vendored_loader_compiles_nothing_either(
    built: Callable[[str], None],
    use: Use,
    forbidden: dict[str, Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its core does so, without any part."""
    built('architectures = ["120-real", "80-virtual"]')
    driver = use((8, 6))
    write({f"bare/{name}": content for name, content in copied_files(()).items()}, tmp_path / "copy")
    monkeypatch.syspath_prepend(tmp_path / "copy")
    try:
        copy = importlib.import_module("bare")
        monkeypatch.setattr(importlib.import_module("bare.driver")._State, "bindings", driver)
        options = {"jit": copy.JitOptions(allow=False)} if forbidden else {}
        with pytest.raises(copy.NoImageError, match=r'must be compiled, which [\s\S]* can add "86-real" to'):
            copy.load("demo.fill", **options)
    finally:
        forget_package("bare")
    assert driver.loaded == []


def test_kernels_of_a_package_are_refused_where_they_are_used(
    built: Callable[[str], None], use: Use, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUDA_WHEEL_JIT", "error")
    built('architectures = ["120-real", "80-virtual"]')
    use((8, 6))
    forget_package("demo")
    importlib.import_module("demo")
    try:
        attribute, _, names = package.attach("demo")
        assert names == ["fill"]
        with pytest.raises(NoImageError, match="CUDA_WHEEL_JIT=error forbids"):
            attribute("fill").handle  # noqa: B018
    finally:
        forget_package("demo")


def test_a_build_may_compile(built: Callable[[str], None], use: Use, monkeypatch: pytest.MonkeyPatch) -> None:
    """The variable is about loads. The processes of the build have it here."""
    monkeypatch.setenv("CUDA_WHEEL_JIT", "error")
    built('architectures = ["86-real"]\ndefines = { NOT_CACHED = 7 }')
    use((8, 6))
    assert loading.load("demo.fill").how == "native"
