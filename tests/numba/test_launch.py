"""Which variant a launch chooses, and what the driver gets for its arguments, without Numba and a GPU.
tests/gpu/test_numba.py has the results."""

from __future__ import annotations

import struct
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cuda_wheel
from cuda_wheel.builder.compile.numba_kernels import _declared
from cuda_wheel.runtime.errors import ArgumentError, UnknownKernelError
from cuda_wheel.runtime.manifest import KernelInfo, Parameter
from cuda_wheel.runtime.module import Kernel
from cuda_wheel.runtime.parts.numba.kernels import NumbaKernel
from cuda_wheel.runtime.parts.numba.signatures import read_type
from tests.support.array_libraries import StandInPyTorch, torch_tensor
from tests.support.driver import Driver, handle_of
from tests.support.launches import array_interface, module_of

SIZES = {"long long": ("u64", 8), "float": ("f32", 4), "double": ("f64", 8), "bool": ("u8", 1), "int": ("u32", 4)} | {
    "signed char": ("u8", 1), "unsigned char": ("u8", 1), "short": ("u16", 2), "unsigned short": ("u16", 2),
    "unsigned int": ("u32", 4), "unsigned long long": ("u64", 8),
}  # fmt: skip


def loaded(macros: Mapping[str, Any]) -> Any:
    """Return a module with the variant's kernel, whose arguments the stand-in for the driver reads."""
    parameters, at = [], 0
    for name, text in macros.items():
        if name == "numba":
            continue
        type_ = read_type(text)
        assert type_ is not None
        for each in _declared(name, type_):
            kind, size = SIZES.get(each.type, ("u64", 8))
            at = -(-at // size) * size
            parameters.append(Parameter(kind, at, size, each.type, each.name))
            at += size
    info = KernelInfo("k", "k", tuple(parameters), (), ())
    kernel = Kernel(module_of(info), info, handle_of(tuple(parameters)))
    return {"k": kernel}


def kernel(*rows: dict[str, str], defaults: Mapping[str, Any] = {}) -> NumbaKernel:
    parameters = [(name, "argument", defaults.get(name)) for name in rows[0]]
    return NumbaKernel("demo.ops", "demo.ops:k", parameters, [{"numba": "demo.ops:k", **row} for row in rows], loaded)


def array(shape: tuple[int, ...], typestr: str = "<f4", strides: tuple[int, ...] | None = None, at: int = 4096) -> Any:
    return array_interface(at, typestr, shape=shape, strides=strides)


def sent(driver: Driver, format: str) -> tuple[Any, ...]:
    content = driver.launches[-1].arguments
    assert content is not None
    return struct.unpack_from(format, content)


@pytest.fixture
def driver(use: Callable[..., Driver]) -> Driver:
    return use((9, 0))


def test_an_array_is_its_size_its_address_its_shape_and_its_strides(driver: Driver) -> None:
    saxpy = kernel({"x": "float32[::1]", "m": "float64[:, :]", "n": "int32"})
    saxpy.launch(3, (32, 2), array((7,)), array((5, 3), "<f8", (48, 8), at=8192), 9, stream=5, shared_memory=128)
    launch = driver.launches[-1]
    assert (launch.grid, launch.block, launch.stream, launch.shared_memory) == ((3, 1, 1), (32, 2, 1), 5, 128)
    assert sent(driver, "<7q9qi") == (0, 0, 7, 4, 4096, 7, 4, 0, 0, 15, 8, 8192, 5, 3, 48, 8, 9)
    saxpy[4, 64](array((7,)), array((5, 3), "<f8"), 9)
    assert driver.launches[-1].grid == (4, 1, 1) and sent(driver, "<16q")[12:] == (5, 3, 24, 8)
    saxpy[4, 64, 6, 256](array((7,)), array((5, 3), "<f8"), 9)
    assert (driver.launches[-1].stream, driver.launches[-1].shared_memory) == (6, 256)


def test_numbers_are_converted_to_the_types(driver: Driver) -> None:
    numbers = kernel({"h": "float16", "b": "boolean", "c": "complex64", "d": "complex128", "s": "int8", "u": "uint64"})
    numbers.launch(1, 1, 1.5, True, 1 + 2j, 3, -5, (1 << 64) - 1)
    assert sent(driver, "<e?xffxxxxddbxxxxxxxQ") == (1.5, True, 1.0, 2.0, 3.0, 0.0, -5, (1 << 64) - 1)
    with pytest.raises(ArgumentError, match=r"1000000000\.0 is out of the range of float16"):
        numbers.launch(1, 1, 1e9, True, 0, 0, 0, 0)
    with pytest.raises(ArgumentError, match="was not compiled for"):
        numbers.launch(1, 1, 1.5, True, 0, 0, 128, 0)
    numbers.launch(1, 1, np.float16(0.1), np.True_, np.complex64(2j), np.complex128(4j), np.int8(3), np.uint64(4))
    assert sent(driver, "<e?xffxxxxddbxxxxxxxQ") == (float(np.float16(0.1)), True, 0.0, 2.0, 0.0, 4.0, 3, 4)


LAYOUTS = {"C": "float32[:, ::1]", "F": "float32[::1, :]", "A": "float32[:, :]"}


@pytest.mark.parametrize(
    ("shape", "strides", "fits"),
    [
        ((4, 3), None, "CA"), ((4, 3), (12, 4), "CA"), ((4, 3), (4, 16), "FA"), ((4, 3), (16, 4), "A"),
        ((4, 1), (4, 99), "CFA"), ((1, 3), (99, 4), "CFA"), ((1, 1), (1, 1), "CFA"), ((0, 3), (5, 7), "CFA"),
        ((4, 1), None, "CFA"), ((4, 3), (-12, 4), "A"), ((4, 3), (0, 4), "A"), ((4, 1), (8, 4), "A"),
    ],
)  # fmt: skip
def test_an_array_fits_the_layouts_that_it_has(
    driver: Driver, shape: tuple[int, int], strides: tuple[int, int] | None, fits: str
) -> None:
    for layout, type_ in LAYOUTS.items():
        only = kernel({"x": type_})
        if layout in fits:
            only.launch(1, 1, array(shape, strides=strides))
        else:
            with pytest.raises(ArgumentError, match="k was not compiled for"):
                only.launch(1, 1, array(shape, strides=strides))
    every = kernel(*({"x": LAYOUTS[layout]} for layout in "AFC"))
    chosen = every._chosen([every._described(array(shape, strides=strides))])
    assert ("A", "F", "C")[chosen] == ("F" if "F" in fits else "C" if "C" in fits else "A")  # of C and F, the first


def test_numbers_choose_the_closest_type(driver: Driver) -> None:
    def chosen(value: Any, *types: str) -> str:
        numbers = kernel(*({"n": each} for each in types))
        return types[numbers._chosen([numbers._described(value)])]

    assert chosen(3, "int32", "int64", "float64") == "int64"
    assert chosen(3, "int32", "float64") == "int32"
    assert chosen(1 << 40, "int32", "float64") == "float64"
    assert chosen(1 << 63, "int64", "uint64") == "uint64"
    assert chosen(-1, "uint64", "int8") == "int8"
    assert chosen(0.5, "float32", "float64") == "float64"
    assert chosen(np.float32(0.5), "float64", "float32") == "float32"
    assert chosen(np.int32(5), "int64", "int32") == "int32"
    assert chosen(True, "int64", "boolean") == "boolean"
    assert chosen(True, "float32") == "float32"
    assert chosen(2, "complex64") == "complex64"
    for value, type_ in ((0.5, "int64"), (1j, "float64"), (3, "boolean"), (300, "uint8"), (3, "int64[:]")):
        with pytest.raises(ArgumentError, match="was not compiled for"):
            chosen(value, type_)


def test_the_same_types_prepare_once_and_the_size_of_an_integer_counts(driver: Driver) -> None:
    numbers = kernel({"x": "float32[:]", "n": "int32"}, {"x": "float32[:]", "n": "int64"})
    for n in (5, 6, 7):
        numbers.launch(1, 1, array((n,)), np.int32(n))
    assert len(numbers._prepared) == 1
    numbers.launch(1, 1, array((3,)), np.int64(1 << 40))
    assert len(numbers._prepared) == 2 and sent(driver, "<8q")[7] == 1 << 40


def test_what_was_not_compiled_is_said_with_what_was(driver: Driver) -> None:
    saxpy = kernel({"x": "float32[::1]", "n": "int64"}, {"x": "float64[:, ::1]", "n": "int64"})
    assert saxpy.signatures == ("float32[::1], int64", "float64[:, ::1], int64")
    with pytest.raises(ArgumentError) as caught:
        saxpy.launch(1, 1, array((4, 3), "<f8", (4, 99)), 7)
    said = str(caught.value)
    assert "demo.ops: k was not compiled for (x: float64[:, :], n: int64 (7))." in said
    assert said.index("float64[:, ::1]") < said.index("float32[::1]") and "[[tool.cuda-wheel.numba]]" in said
    with pytest.raises(ArgumentError, match=r"k takes 2 arguments, \(x, n\), but got 1"):
        saxpy.launch(1, 1, array((4,)))
    with pytest.raises(ArgumentError, match="k takes arrays on the GPU and numbers, not 'text'"):
        saxpy.launch(1, 1, "text", 3)
    with pytest.raises(ArgumentError, match="host memory"):
        saxpy.launch(1, 1, np.zeros(4, np.float32), 3)
    with pytest.raises(ArgumentError, match=r"k\[\.\.\.\] takes grid, block, and optionally stream"):
        saxpy[4]
    with pytest.raises(ArgumentError, match="was not compiled for"):
        saxpy.launch(1, 1, array((4,), ">f4"), 3)
    assert not driver.launches


def test_parameters_with_defaults_may_be_left_out(driver: Driver) -> None:
    inverse = kernel({"x": "float32[::1]", "n": "int64"}, defaults={"n": 8})
    inverse.launch(1, 1, array((4,)))
    assert sent(driver, "<8q")[7] == 8


def test_a_bound_launch_takes_other_arrays_of_the_same_types(driver: Driver) -> None:
    scale = kernel({"x": "float32[:]", "c": "complex64", "h": "float16", "n": "int32"})
    bound = scale.bind(3, 64, array((4,)), 2j, 0.5, 9, stream=8)
    assert not driver.launches
    form = "<7qffexxi"
    bound()
    assert sent(driver, form) == (0, 0, 4, 4, 4096, 4, 4, 0.0, 2.0, 0.5, 9) and driver.launches[-1].stream == 8
    bound(array((6,), strides=(8,), at=64))
    assert sent(driver, form) == (0, 0, 6, 4, 64, 6, 8, 0.0, 2.0, 0.5, 9)
    bound(array((2,)), 1.5, 1, 7)
    assert sent(driver, form) == (0, 0, 2, 4, 4096, 2, 4, 1.5, 0.0, 1.0, 7)
    bound()
    assert sent(driver, form) == (0, 0, 4, 4, 4096, 4, 4, 0.0, 2.0, 0.5, 9)
    with pytest.raises(ArgumentError, match=r"bound to what was compiled for float32\[:\] as argument 1"):
        bound(array((4,), "<f8"))
    with pytest.raises(ArgumentError, match="bound with 4 arguments, and got 5"):
        bound(array((4,)), 1, 1, 1, 1)


def test_tensors_that_differ_only_in_their_memory_are_described_once(driver: Driver) -> None:
    torch = pytest.importorskip("torch")
    matrix = torch.zeros(4, 6)
    scale = kernel({"x": "float32[:, :]"}, {"x": "float32[:, ::1]"})
    for tensor, layouts in ((matrix, "CA"), (matrix.t(), "FA"), (matrix[:, ::2], "A"), (matrix[:1], "CFA")):
        _, found = scale._described(tensor)
        assert found.layouts == layouts and found.element == "float32"
        words = found.words(tensor)
        assert words[2:4] == (tensor.numel(), 4) and words[4] is tensor
        assert words[5:] == (*tensor.shape, *(4 * each for each in tensor.stride()))
    assert scale._described(torch.zeros(3, dtype=torch.bool))[1].element == "boolean"
    scale.check([64, matrix], {}, lambda value: False)
    with pytest.raises(ArgumentError, match=r"bfloat16\[:, ::1\]"):
        scale.check([64, matrix.bfloat16()], {}, lambda value: False)
    with pytest.raises(ArgumentError, match="takes no argument 'blocks'"):
        scale.check([64, matrix], {"blocks": 3}, lambda value: False)


def tensor(shape: tuple[int, ...], strides: tuple[int, ...], at: int, dtype: Any) -> Any:
    """Return a tensor of PyTorch as a launch sees it; `strides` are in elements."""
    made = torch_tensor(at)
    made.dtype, made.shape, made.stride, made.element_size = dtype, shape, lambda: strides, lambda: 4
    made.is_contiguous = lambda: strides == tuple(np.cumprod((1, *shape[:0:-1]))[::-1])
    return made


def test_tensors_of_known_shapes_are_launched_by_a_generated_function(
    driver: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "torch", StandInPyTorch())
    dtype = torch_tensor(0).dtype
    dense, sparse = tensor((3, 2), (2, 1), 64, dtype), tensor((3, 2), (4, 1), 128, dtype)
    scale = kernel(
        {"n": "int32", "x": "float32[:, ::1]", "f": "float32"}, {"n": "int32", "x": "float32[:, :]", "f": "float32"}
    )
    described: list[Any] = []
    own = NumbaKernel._described
    monkeypatch.setattr(NumbaKernel, "_described", lambda self, value: described.append(value) or own(self, value))
    form = "<i4x9qf"
    for n, x, strides in ((5, dense, (8, 4)), (6, sparse, (16, 4)), (7, dense, (8, 4)), (8, sparse, (16, 4))):
        scale.launch(1, 1, n, x, 0.5, stream=7)
        assert sent(driver, form) == (n, 0, 0, 6, 4, x.data_ptr(), 3, 2, *strides, 0.5)
    assert len(described) == 6 and len(scale._prepared) == 2
    scale[2, 3, 4, 5](9, tensor((3, 2), (2, 1), 256, dtype), 1.5)
    launch = driver.launches[-1]
    assert (launch.grid[0], launch.block[0], launch.stream, launch.shared_memory) == (2, 3, 4, 5)
    assert sent(driver, form) == (9, 0, 0, 6, 4, 256, 3, 2, 8, 4, 1.5) and len(described) == 6
    bound = scale.bind(1, 1, 5, sparse, 0.5, stream=7)
    described.clear()
    bound(6, tensor((3, 2), (4, 1), 512, dtype), 2.5)
    assert sent(driver, form) == (6, 0, 0, 6, 4, 512, 3, 2, 16, 4, 2.5)
    bound()
    assert sent(driver, form) == (5, 0, 0, 6, 4, 128, 3, 2, 16, 4, 0.5) and not described
    bound(6, dense)  # what is bound takes any strides
    assert sent(driver, form) == (6, 0, 0, 6, 4, 64, 3, 2, 8, 4, 0.5) and described
    with pytest.raises(ArgumentError, match="was not compiled for"):
        scale.launch(1, 1, 0.5, dense, 0.5)
    with pytest.raises(ArgumentError, match="takes 3 arguments"):
        scale.launch(1, 1, 5, dense)
    narrow = kernel({"x": "float32[:, :]", "n": "int8"}, {"x": "float32[:, :]", "n": "int32"})
    for n in (5, 300):  # of one type, but the second fits only the second variant
        narrow.launch(1, 1, dense, n, stream=7)
    assert sent(driver, "<9qi")[9] == 300
    monkeypatch.setattr("cuda_wheel.runtime.parts.numba.kernels._MOST_KNOWN", 2)
    scale.launch(1, 1, 5, tensor((4, 2), (2, 1), 64, dtype), 0.5, stream=7)
    assert len(scale._known) == 1


@pytest.mark.slow
@pytest.mark.one_toolchain
def test_a_wheels_kernels_are_found_and_loaded(
    cases: tuple[Path, Path, str], monkeypatch: pytest.MonkeyPatch, use: Callable[..., Driver]
) -> None:
    _, output, _ = cases
    driver = use((9, 0))
    monkeypatch.syspath_prepend(str(output))
    monkeypatch.delitem(sys.modules, "demo", raising=False)
    module: Any = cuda_wheel.load("demo.cases")
    assert isinstance(module, cuda_wheel.NumbaModule) and "saxpy" in module.kernels
    saxpy = module["saxpy"]
    assert (
        saxpy is module["demo.cases:saxpy"] and repr(saxpy) == "<NumbaKernel 'saxpy' of demo.cases: (out, x, y, a, n)>"
    )
    one = array((64,))
    saxpy[2, 32](one, one, one, 0.5, 64)
    assert [code[:4] for code in driver.loaded] == [b"\x7fELF"] and driver.asked[-1] == b"saxpy"
    saxpy[2, 32](one, array((64,), strides=(8,)), one, 0.5, 64)
    assert len(driver.loaded) == 2 and len(driver.launches) == 2
    with pytest.raises(UnknownKernelError, match=r"demo\.cases has no kernel 'saxpi'; did you mean saxpy\?"):
        module["saxpi"]
    monkeypatch.delitem(sys.modules, "demo", raising=False)
