"""The kernels of a module in an operator's Python function: names, template arguments, GPUs, and what is loaded when."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import cuda_wheel.torch
from cuda_wheel.builder.errors import ToolchainError
from cuda_wheel.runtime.errors import ArgumentError, NoImageError, UnknownKernelError
from cuda_wheel.torch import module_kernels as kernels_module
from tests.support.driver import Driver
from tests.torch.quiet_pytorch import MARKS, Tensor, torch
from tests.torch.stand_in_kernels import ADD, Loaded, Make, StandIn, add

pytestmark = MARKS


def search_kernels() -> list[StandIn]:
    def kernel(type_: str, dimensions: int) -> StandIn:
        def compute(points: Any, found: Any, n: int) -> None:
            found.fill_(dimensions)

        return StandIn(f"search<{type_}, {dimensions}>", f"const {type_}*, int*, int", compute)

    return [kernel(type_, dimensions) for type_ in ("float", "double") for dimensions in (2, 3)]


def test_a_function_chooses_its_kernel_by_type_and_size(name: str, module: Make) -> None:
    kernels = module(*search_kernels())

    @cuda_wheel.torch.operator(name)
    def search(points: Tensor) -> Tensor:
        n, dimensions = points.shape
        found = points.new_empty(n, dtype=torch.int32)
        kernels["search", points.dtype, dimensions].launch(n, 1, points, found, n)
        return found

    for dimensions in (2, 3, 2):
        for dtype in (torch.float32, torch.float64):
            assert search(torch.zeros(4, dimensions, dtype=dtype)).tolist() == [dimensions] * 4
    for _ in range(2):
        with pytest.raises((UnknownKernelError, KeyError)):
            search(torch.zeros(4, 5))
    torch.library.opcheck(search, (torch.zeros(4, 3),))
    compiled = torch.compile(search, fullgraph=True, backend="aot_eager", dynamic=True)
    assert compiled(torch.zeros(4, 2)).tolist() == [2] * 4
    assert compiled(torch.zeros(5, 3)).tolist() == [3] * 5
    with torch._subclasses.FakeTensorMode():
        with pytest.raises(UnknownKernelError, match=f"^{name}: .*search<float, 5>"):
            search(torch.empty(4, 5))
        with pytest.raises(UnknownKernelError, match=f"^{name}: .*search<__half, 2>"):
            search(torch.empty(4, 2, dtype=torch.float16))


def test_unknown_template_arguments_match_any(module: Make) -> None:
    kernels = module(StandIn("other<double, 2>", "const double*"), *search_kernels())
    size = torch.fx.experimental.symbolic_shapes.ShapeEnv().create_unbacked_symint()
    found = kernels.check_of(("search", torch.float64, size))
    assert found.info.name == "search<double, 2>"
    with pytest.raises(UnknownKernelError, match=r"demo.kernels has no kernel search<__half, any>"):
        kernels.check_of(("search", torch.float16, size))


def test_a_launch_compiles_nothing_where_that_is_forbidden(
    unpacked: Callable[[str], Path], use: Callable[..., Driver], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The module is loaded when a kernel is first launched."""
    monkeypatch.setenv("CUDA_WHEEL_JIT", "error")
    monkeypatch.syspath_prepend(unpacked("saxpy"))
    driver = use((11, 0))  # the wheel has PTX for it
    kernels = cuda_wheel.torch.kernels("saxpy_demo.kernels.saxpy")
    for _ in range(2):
        with pytest.raises(NoImageError, match=r'which CUDA_WHEEL_JIT=error forbids[\s\S]* can add "110-real"'):
            kernels["saxpy"].launch(1, 1, 1.0, None, None, 0)
    assert driver.loaded == []


def test_a_module_is_loaded_once_for_each_gpu(module: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    kernels = module(*search_kernels())
    for dimensions in (2, 3, 2):
        assert kernels["search", torch.float32, dimensions].kernel.name == f"search<float, {dimensions}>"
        assert kernels.globals["count"] == 7
    assert kernels.loaded == ["demo.kernels"]
    monkeypatch.setattr(Loaded, "is_loaded", False)  # unloaded: the next use loads it again
    assert kernels.globals["count"] == 7 and len(kernels.loaded) == 2
    assert kernels.variant(SIZE=2) is kernels.variant(SIZE=2) is not kernels


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (("k", torch.float16, 3, True), "k<__half, 3, true>"),
        (("k", "Sum<float>", -1), "k<Sum<float>, -1>"),
        (("k", ("Sum", torch.bfloat16, 2), torch.int64), "k<Sum<__nv_bfloat16, 2>, long>"),
        (("k",), "k"),
        ("k<float>", "k<float>"),
    ],
)
def test_names_of_instances(name: Any, text: str) -> None:
    assert kernels_module.instance_name(name) == text


@pytest.mark.parametrize("name", [3, (), (torch.float32, 3), ("k", 1.5), ("k", None)])
def test_what_names_no_instance(name: Any) -> None:
    with pytest.raises(ArgumentError, match=r"kernel is named by|is no template argument"):
        kernels_module.instance_name(name)


def test_each_gpu_has_its_own_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    current, loads = 0, []

    def load(module: str, device: int, **macros: Any) -> Loaded:
        loads.append((module, device, macros))
        return Loaded({"add": StandIn("add", ADD, add)})

    monkeypatch.setattr(kernels_module, "load", load)
    monkeypatch.setattr(kernels_module, "device_count", lambda: 2)
    monkeypatch.setattr(kernels_module, "current_device", lambda: current)
    monkeypatch.setattr(StandIn, "launch_here", None, raising=False)
    kernels = cuda_wheel.torch.kernels("demo.kernels", SIZE=4)
    assert not loads
    first = kernels["add"].kernel
    current = 1
    second = kernels["add"].kernel
    current = 0
    assert kernels["add"].kernel is first is not second
    assert loads == [("demo.kernels", 0, {"SIZE": 4}), ("demo.kernels", 1, {"SIZE": 4})]
    kernels.variant(SIZE=8)["add"]
    assert loads[2:] == [("demo.kernels", 0, {"SIZE": 8})]


def test_an_instance_that_is_compiled_when_it_is_launched_is_not_checked_before(module: Make) -> None:
    kernels = module(*search_kernels(), specialize="sources")
    size = torch.fx.experimental.symbolic_shapes.ShapeEnv().create_unbacked_symint()
    for name in (("search", torch.float32, 5), "search<float, 5>", ("search", torch.float16, size)):
        assert kernels.check_of(name) is None
    assert kernels.check_of(("search", torch.float32, 3)) is kernels.check_of("search<float, 3>") is not None


def test_with_a_source_tree_and_no_toolchain_the_error_says_why_one_is_needed(
    name: str, on_cpu: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*arguments: Any, **more: Any) -> None:
        raise ToolchainError("no NVRTC is installed")

    monkeypatch.setattr("cuda_wheel.operators.kernels.files_and_manifest", fail)
    kernels = cuda_wheel.torch.kernels("demo.kernels")

    @cuda_wheel.torch.operator(name)
    def operator(x: Tensor) -> Tensor:
        kernels["k"].launch(1, 1, x)
        return x + 1

    message = f"^{name}: demo.kernels lies in a source tree and has no images, so it must be compiled .*: no NVRTC is"
    with torch._subclasses.FakeTensorMode(), pytest.raises(ToolchainError, match=message):
        operator(torch.empty(3))
