"""Which variant a launch chooses, and how the driver is asked to launch it. tests/gpu/test_triton.py has the results."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import cuda_wheel
from cuda_wheel import JitOptions
from cuda_wheel.runtime.errors import ArgumentError, NoImageError, UnknownKernelError, UnknownVariantError
from tests.support.driver import Driver
from tests.support.launches import array_interface

pytestmark = [pytest.mark.slow, pytest.mark.one_toolchain]


@pytest.fixture
def module(
    cases: tuple[Path, Path, str], monkeypatch: pytest.MonkeyPatch, use: Callable[..., Driver]
) -> Iterator[tuple[Any, Driver]]:
    _, output, _ = cases
    driver = use((9, 0))
    monkeypatch.syspath_prepend(str(output))
    monkeypatch.delitem(sys.modules, "demo", raising=False)
    yield cuda_wheel.load("demo.cases"), driver
    monkeypatch.delitem(sys.modules, "demo", raising=False)


def chosen(kernel: Any, *args: Any, **named: Any) -> dict[str, Any]:
    """Return the variant that a launch with these arguments would load."""
    values, options = kernel._values(args, named)
    kinds = [kernel._kind(value) if at in kernel._arguments else str_of(value) for at, value in enumerate(values)]
    return dict(kernel._fitting(kinds, values, options)[0])


def str_of(value: Any) -> str:
    from cuda_wheel.runtime.parts.triton.kernels import _constant_text

    return _constant_text(value)


def f32(address: int = 1024) -> Any:
    return array_interface(address)


def test_the_most_specialized_variant_that_fits_is_chosen(module: tuple[Any, Driver]) -> None:
    scale = module[0]["scale"]
    assert chosen(scale, f32(), f32(), 32, 0.5)["n"] == "i32:16"
    assert chosen(scale, f32(), f32(), 33, 0.5)["n"] == "i32"
    assert chosen(scale, f32(), f32(), 33, 0.5, BLOCK=1024)["BLOCK"] == 1024
    unaligned = chosen(scale, f32(1028), f32(), 32, 0.5)
    assert unaligned["x_ptr"] == "*fp32" and "BLOCK" not in unaligned
    wide = chosen(scale, f32(), f32(), 1 << 40, 3)
    assert (wide["n"], wide["factor"]) == ("i64", "i32")
    assert chosen(scale, f32(), f32(), 32, 3)["n"] == "i64"  # only this one takes an integer as factor
    with pytest.raises(ArgumentError, match="n=i64:16, factor=fp32"):
        chosen(scale, f32(), f32(), 1 << 40, 0.5)


def test_one_none_and_constants_choose(module: tuple[Any, Driver]) -> None:
    strided = module[0]["strided"]
    first = chosen(strided, f32(), f32(), None, 1, 10, NEGATE=True, BLOCK=128)
    assert (first["bias_ptr"], first["stride"], first["NEGATE"]) == ("None", "i32:1", True)
    second = chosen(strided, f32(), f32(), f32(), 2, 10, False, 128)
    assert (second["bias_ptr"], second["stride"], second["NEGATE"]) == ("*fp32:16", "i32", False)
    assert chosen(strided, f32(), f32(), None, 2, 10, NEGATE=1, BLOCK=128)["NEGATE"] is True
    for wrong in ({"BLOCK": 64, "NEGATE": True}, {"BLOCK": 128.0, "NEGATE": True}, {"BLOCK": "128", "NEGATE": True}):
        with pytest.raises(ArgumentError, match="strided was not compiled for"):
            chosen(strided, f32(), f32(), None, 1, 10, **wrong)


def test_types_of_triton_are_written_as_in_the_settings() -> None:
    import triton.language as tl

    names = ("int1", "int8", "int32", "uint64", "float16", "bfloat16", "float32", "float64", "float8e5", "float8e4nv")
    for name in names:
        assert str_of(getattr(tl, name)) == f"tl.{name}"


def test_a_kernel_whose_parameters_have_the_names_of_launchs_own_is_launched(use: Callable[..., Driver]) -> None:
    from cuda_wheel.runtime.parts.triton.kernels import TritonKernel

    launched = []

    class Recorded(TritonKernel):
        def _launch(self, *args: Any, **named: Any) -> None:
            launched.append(args)

    for name in ("grid", "more", "stream", "key", "fail", "defaults", "known", "run", "kind"):
        parameters = ((name, "argument", None), ("n", "argument", None))
        kernel = Recorded("demo.cases", "demo.cases:odd", parameters, [{name: "i32", "n": "i32"}], lambda macros: None)  # type: ignore[arg-type,return-value]
        kernel.launch(1, 2, 3)
        assert launched.pop()[:2] == (1, (2, 3)), name


def test_the_sign_of_a_constant_of_zero_counts(use: Callable[..., Driver]) -> None:
    from cuda_wheel.runtime.parts.triton.kernels import TritonKernel

    keys = []

    class Recorded(TritonKernel):
        def _launch(self, *args: Any, **named: Any) -> None:
            keys.append(args[-1])

    parameters = (("n", "argument", None), ("F", "constant", None))
    variants = [{"n": "i32", "F": 0.0}, {"n": "i32", "F": -0.0}]
    kernel = Recorded("demo.cases", "demo.cases:odd", parameters, variants, lambda macros: None)  # type: ignore[arg-type,return-value]
    for constant in (0.0, -0.0, 0.0, 0):
        kernel.launch(1, 2, constant)
    assert keys[0] == keys[2] and len({*keys}) == 3 and None not in keys


def test_what_triton_tunes_may_be_left_out_and_what_it_computes_may_not(module: tuple[Any, Driver]) -> None:
    copy = module[0]["tuned_copy"]
    assert [(each["BLOCK"], each["num_warps"]) for each in copy.variants] == [(64, 2), (64, 4), (256, 2), (256, 4)]
    assert chosen(copy, f32(), f32(), 10)["BLOCK"] == 64
    assert chosen(copy, f32(), f32(), 10, num_warps=4) == dict(copy.variants[1])
    assert chosen(copy, f32(), f32(), 10, BLOCK=256, num_warps=4) == dict(copy.variants[3])
    with pytest.raises(ArgumentError, match="num_warps=8"):
        chosen(copy, f32(), f32(), 10, num_warps=8)
    with pytest.raises(ArgumentError, match=r"got no value for 'EVEN', which triton\.heuristics computes"):
        chosen(module[0]["total"], f32(), f32(), 10, BLOCK=1024)


def test_the_driver_gets_the_kernels_configuration(module: tuple[Any, Driver]) -> None:
    kernels, driver = module
    kernels["tuned_copy"].launch(lambda meta: (meta["n"] // meta["BLOCK"],), f32(), f32(), 640)
    assert driver.launches[-1].grid == (10, 1, 1) and driver.launches[-1].block == (64, 1, 1)
    kernels["tuned_copy"][(3, 4)](f32(), f32(), n=640, BLOCK=256, num_warps=4)
    assert driver.launches[-1].grid == (3, 4, 1) and driver.launches[-1].block == (128, 1, 1)
    kernels["product"].launch(1, f32(), f32(), f32(), 64, "ieee", "tl.float32", stream=7)
    assert driver.launches[-1].shared_memory == 32768 and driver.launches[-1].stream == 7
    count = len(driver.launches)
    kernels["tuned_copy"].launch((0, 1), f32(), f32(), 640)
    kernels["tuned_copy"].launch(0, f32(), f32(), 640)
    assert len(driver.launches) == count


def test_equal_arguments_load_a_variant_once(module: tuple[Any, Driver]) -> None:
    kernels, _ = module
    scale = kernels["scale"]
    for _ in range(3):
        scale.launch(1, f32(), f32(), 32, 0.5)
        scale.launch(1, f32(), f32(), 48, 0.7, BLOCK=256)
    assert len(scale._prepared) == 1
    scale.launch(1, f32(), f32(), 33, 0.5)
    assert len(scale._prepared) == 2


def test_unknown_names_are_said(module: tuple[Any, Driver]) -> None:
    kernels, _ = module
    with pytest.raises(UnknownKernelError, match=r"demo\.cases has no kernel 'scales'; did you mean scale\?"):
        kernels["scales"]
    assert kernels["demo.cases:scale"] is kernels["scale"]
    with pytest.raises(UnknownVariantError, match=r"demo\.cases has no variant triton=demo\.cases:scale"):
        cuda_wheel.load("demo.cases", triton="demo.cases:scale")
    exact = dict(kernels["scale"].variants[0])
    assert list(cuda_wheel.load("demo.cases", **exact)) == ["scale"]
    with pytest.raises(ArgumentError, match="takes arrays on the GPU, numbers, tensor descriptors and None"):
        kernels["scale"].launch(1, f32(), [1.0], 32, 0.5)
    with pytest.raises(ArgumentError, match="an array of <c8 is of no type that Triton has"):
        kernels["scale"].launch(1, f32(), array_interface(8, "<c8"), 32, 0.5)


@pytest.mark.parametrize("by", ["CUDA_WHEEL_JIT=error", "JitOptions(allow=False)"])
def test_a_launch_compiles_nothing_where_that_is_forbidden(
    by: str, module: tuple[Any, Driver], use: Callable[..., Driver], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A variant is loaded when a launch needs it: as machine code for 9.0, and for other GPUs as PTX."""
    if by.startswith("CUDA"):
        monkeypatch.setenv("CUDA_WHEEL_JIT", "error")
    options = JitOptions(allow=by.startswith("CUDA"))
    driver = use((9, 0))
    driver.context.device = 0
    cuda_wheel.load("demo.cases", jit=options)["scale"].launch((1,), f32(), f32(), 32, 0.5)
    assert [code[:4] for code in driver.loaded] == [b"\x7fELF"] and len(driver.launches) == 1
    driver = use((8, 6))
    driver.context.device = 0
    kernel = cuda_wheel.load("demo.cases", jit=options)["scale"]
    with pytest.raises(NoImageError, match=rf"must be compiled, which {re.escape(by)} forbids"):
        kernel.launch((1,), f32(), f32(), 32, 0.5)
    assert driver.loaded == [] and driver.launches == []
