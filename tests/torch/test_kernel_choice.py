"""Declared operators whose kernel or module's variant a function chooses by value."""

from __future__ import annotations

from typing import Any

import pytest

import cuda_wheel.torch
from cuda_wheel.operators import kernels as kernels_module
from cuda_wheel.runtime.errors import ArgumentError
from tests.torch.quiet_pytorch import MARKS, torch
from tests.torch.stand_in_kernels import StandIn

pytestmark = MARKS


def kernel(type_: str, dimensions: int, k: int) -> StandIn:
    def compute(points: Any, found: Any, n: int) -> None:
        found.fill_(100 * dimensions + k)

    return StandIn(f"knn<{type_}, {dimensions}, {k}>", f"const {type_}*, int*, int", compute)


KNN: dict[str, Any] = {
    "arguments": "points, found, n",
    "outputs": {"found": lambda points, k: points.new_empty(points.shape[0], k, dtype=torch.int32)},
    "values": {"n": lambda points: points.shape[0]},
    "more_arguments": {"k": int, "sort": bool},
    "defaults": {"sort": True},
    "grid": lambda n: n,
    "block": 1,
}


@pytest.fixture
def knn(name: str, on_cpu: None) -> Any:
    kernels = [kernel(type_, d, k) for type_ in ("float", "double") for d in (2, 3) for k in (1, 4)]
    choose = lambda points, k: ("knn", points.dtype, points.shape[1], k)  # noqa: E731
    return cuda_wheel.torch.operator(name, kernel=choose, kernels=kernels, **KNN)


def test_a_function_chooses_the_kernel(knn: Any, name: str) -> None:
    assert str(knn._schema).endswith("(Tensor points, SymInt k, bool sort=True) -> Tensor")
    for _ in range(2):
        for dimensions in (2, 3):
            for k in (1, 4):
                for dtype in (torch.float32, torch.float64):
                    points = torch.zeros(5, dimensions, dtype=dtype)
                    assert knn(points, k, sort=False).tolist() == [[100 * dimensions + k] * k] * 5
    with pytest.raises(
        ArgumentError, match=rf"^{name}: kernel returned 'knn<float, 2, 3>', which is not one of kernels"
    ):
        knn(torch.zeros(5, 2), 3)
    torch.library.opcheck(knn, (torch.zeros(5, 2), 4))


def test_with_fake_tensors_the_choice_is_checked_if_it_is_known(knn: Any, name: str) -> None:
    with torch._subclasses.FakeTensorMode():
        assert knn(torch.empty(5, 3), 4).shape == (5, 4)
        with pytest.raises(ArgumentError, match=rf"^{name}: kernel returned 'knn<float, 3, 2>', which is not one of"):
            knn(torch.empty(5, 3), 2)
        with pytest.raises(ArgumentError, match=r"kernel returned 'knn<__half, 3, 1>'"):
            knn(torch.empty(5, 3, dtype=torch.float16), 1)
    graphs = []

    def backend(module: Any, inputs: Any) -> Any:
        graphs.append(module)
        return module.forward

    compiled = torch.compile(lambda points: knn(points, 4) + 1, fullgraph=True, backend=backend, dynamic=True)
    for count, dimensions in ((4, 2), (6, 3), (9, 2)):
        assert compiled(torch.zeros(count, dimensions)).tolist() == [[100 * dimensions + 5] * 4] * count
    assert len(graphs) == 1  # the kernel is chosen when it runs


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"kernels": None}, "kernel is a function: list the kernels that it may name"),
        ({"kernel": lambda missing: "knn"}, "kernel is a function of missing: its parameters must be names among"),
        ({"more_arguments": {"k": str}}, "more_arguments maps names to int, float or bool, not 'k' to <class 'str'>"),
        ({"more_arguments": {"points": int}}, "'points' in (more_)?arguments is no name of its own"),
        ({"kernels": []}, "kernels lists no kernel"),
    ],
)
def test_declarations_that_do_not_fit(name: str, on_cpu: None, more: dict[str, Any], message: str) -> None:
    declaration = {**KNN, "kernel": lambda k: f"knn<float, 2, {k}>", "kernels": [kernel("float", 2, 1)], "defaults": {}}
    with pytest.raises(ArgumentError, match=f"^{name}: {message}"):
        cuda_wheel.torch.operator(name, **(declaration | more))


def test_a_choice_that_is_no_name(name: str, on_cpu: None) -> None:
    operator = cuda_wheel.torch.operator(name, kernel=lambda k: k, kernels=[kernel("float", 2, 1)], **KNN)
    with pytest.raises(ArgumentError, match=f"^{name}: kernel must return the name of a kernel, not 3"):
        operator(torch.zeros(5, 2), 3)


def test_a_function_chooses_the_variant(name: str, on_cpu: None, monkeypatch: pytest.MonkeyPatch) -> None:
    kernels = {size: StandIn("scale", "const float*, float*", lambda x, y, n=size: y.fill_(n)) for size in (1, 2)}
    manifest = kernels[1].module.manifest

    def files_and_manifest(module: str, device: Any, macros: Any, needs_gpu: bool) -> Any:
        variant = tuple(sorted(macros.items())) or (("SIZE", "1"),)
        return None, manifest._replace(kernels=(kernels[1].info,), variant=variant)

    monkeypatch.setattr(kernels_module, "files_and_manifest", files_and_manifest)
    monkeypatch.setattr(kernels_module, "load", lambda module, device, SIZE: {"scale": kernels[int(SIZE)]})
    monkeypatch.setattr(torch.Tensor, "get_device", lambda tensor: 0)
    operator = cuda_wheel.torch.operator(
        name,
        module="a.b",
        kernel="scale",
        variant=lambda x: {"SIZE": x.shape[0]},
        arguments="x, y",
        outputs={"y": "x"},
        grid=1,
        block=1,
    )
    for size in (1, 2, 1):
        assert operator(torch.zeros(size)).tolist() == [size] * size
