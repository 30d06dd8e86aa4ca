"""Make tensor maps, by which the tensor memory accelerator (TMA) of Hopper and later GPUs copies tiles of an array."""

import ctypes
from collections.abc import Sequence
from typing import Any, NamedTuple

from ..arguments import exports, is_of, refuse_lazy, type_name, value_text, whole_number
from ..driver import check_result, cuda_driver, device_and_driver
from ..errors import ArgumentError
from ..manifest import dotted
from ..streams import LEGACY
from .array_protocols import export, producer_stream, refuse_interface

__all__ = ["Layout", "TensorMap", "check_array", "encoded", "known_type", "layout_of", "tensor_map"]


_SIZES = {
    "uint8": 1,
    "uint16": 2,
    "uint32": 4,
    "int32": 4,
    "uint64": 8,
    "int64": 8,
    "float16": 2,
    "float32": 4,
    "float64": 8,
    "bfloat16": 2,
    "float32_ftz": 4,
    "tfloat32": 4,
    "tfloat32_ftz": 4,
}
"""Element type -> size in bytes. The names are those of CU_TENSOR_MAP_DATA_TYPE_*, which follow NumPy's."""

_SAME_BITS = {"bool": "uint8", "int8": "uint8", "int16": "uint16", "float8_e4m3fn": "uint8", "float8_e5m2": "uint8"}
"""Element type that the tensor memory accelerator (TMA) lacks -> type of the same size. TMA copies the elements as that
type."""

_SWIZZLES = {0: "NONE", 32: "32B", 64: "64B", 128: "128B"}
_PROMOTIONS = {0: "NONE", 64: "L2_64B", 128: "L2_128B", 256: "L2_256B"}
_INTERLEAVES = {0: "NONE", 16: "16B", 32: "32B"}


class TensorMap(bytes):
    """A tensor map, an argument for kernels: the 128 bytes that the driver encoded. It keeps its array alive."""

    array: Any
    text: str
    kept_by_launches: bool
    """Whether a launch must keep the array alive until the kernel has ended. False for arrays of PyTorch and CuPy,
    which do that themselves."""

    def __repr__(self) -> str:
        return f"<TensorMap of {self.text}>"


class Layout(NamedTuple):
    """An array's address, the name of its element type, its shape, and its strides in bytes."""

    address: int
    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]

    @property
    def element_size(self) -> int:
        """Bytes of an element."""
        return _SIZES[self.dtype]


def tensor_map(
    array: Any,
    box: Sequence[int],
    *,
    element_strides: Sequence[int] | None = None,
    swizzle: int = 0,
    l2_promotion: int = 0,
    interleave: int = 0,
    nan_fill: bool = False,
    dtype: str | None = None,
) -> TensorMap:
    """Return the tensor map of an array on the GPU, for a parameter `const __grid_constant__ CUtensorMap`.

    `box` is the shape of the tile that one instruction copies, in elements and in the order of the array's dimensions,
    whose last one must be contiguous; the kernel's coordinates have the reverse order, and the first of them must be a
    multiple of 16 bytes (an H200 ends the kernel with an illegal instruction if it is not). `element_strides` are the
    steps in each dimension. `swizzle` (32, 64 or 128), `l2_promotion` (64, 128 or 256) and `interleave` (16 or 32) are
    in bytes, 0 for none. Elements outside of the array are read as 0, with `nan_fill` as NaN. `dtype` replaces the
    array's element type: "tfloat32", "tfloat32_ftz" or "float32_ftz" for float32.

    Waits until an array of another library than PyTorch and CuPy is computed: a launch cannot wait for a map's array.

    Raises ArgumentError if the array, the box or this GPU is not suitable, and DriverError if the driver refuses.
    Source: CUDA Driver API, cuTensorMapEncodeTiled.
    """
    layout = layout_of(array)
    if dtype is not None:
        layout = layout._replace(dtype=_other_type(layout.dtype, dtype))
    rank = len(layout.shape)
    return encoded(
        array,
        layout,
        _sizes(box, "box", rank, 256),
        element_strides=_sizes(element_strides or (1,) * rank, "element_strides", rank, 8),
        swizzle=swizzle,
        l2_promotion=l2_promotion,
        interleave=interleave,
        nan_fill=nan_fill,
    )


_ONE_DIMENSION = (16,)
"""Strides in place of none: for an empty list, cuda.bindings passes a null pointer, which the driver refuses."""


def encoded(
    array: Any,
    layout: Layout,
    box: tuple[int, ...],
    *,
    element_strides: tuple[int, ...] = (),
    swizzle: int = 0,
    l2_promotion: int = 0,
    interleave: int = 0,
    nan_fill: bool = False,
) -> TensorMap:
    """Return the tensor map of an array with this layout; for the other parameters and the errors see `tensor_map`."""
    rank = len(layout.shape)
    _check(layout, box, swizzle, l2_promotion, interleave)
    driver = cuda_driver()
    result = driver.cuTensorMapEncodeTiled(
        getattr(driver.CUtensorMapDataType, f"CU_TENSOR_MAP_DATA_TYPE_{layout.dtype.upper()}"),
        rank,
        layout.address,
        *(
            [kind(number) for number in reversed(numbers)]
            for kind, numbers in (
                (driver.cuuint64_t, layout.shape),
                (driver.cuuint64_t, layout.strides[:-1] or _ONE_DIMENSION),
                (driver.cuuint32_t, box),
                (driver.cuuint32_t, element_strides or (1,) * rank),
            )
        ),
        getattr(driver.CUtensorMapInterleave, f"CU_TENSOR_MAP_INTERLEAVE_{_INTERLEAVES[interleave]}"),
        getattr(driver.CUtensorMapSwizzle, f"CU_TENSOR_MAP_SWIZZLE_{_SWIZZLES[swizzle]}"),
        getattr(driver.CUtensorMapL2promotion, f"CU_TENSOR_MAP_L2_PROMOTION_{_PROMOTIONS[l2_promotion]}"),
        getattr(
            driver.CUtensorMapFloatOOBfill,
            f"CU_TENSOR_MAP_FLOAT_OOB_FILL_{'NAN_REQUEST_ZERO_FMA' if nan_fill else 'NONE'}",
        ),
    )
    bits = check_result(result, "encoding a tensor map")
    made = TensorMap(ctypes.string_at(bits.getPtr(), 128))
    made.array, made.text = array, f"{layout.dtype}{list(layout.shape)}, box {list(box)}"
    made.kept_by_launches = not (is_of(type(array), "torch", "Tensor") or is_of(type(array), "cupy", "ndarray"))
    return made


def _check(layout: Layout, box: Sequence[int], swizzle: int, l2_promotion: int, interleave: int) -> None:
    """Raise ArgumentError for parameters of `tensor_map` that the driver would refuse. Unlike the driver's error, this
    error gives the reason. `swizzle`, `l2_promotion` and `interleave` are in bytes, 0 for none."""
    for what, value, choices in (
        ("swizzle", swizzle, _SWIZZLES),
        ("l2_promotion", l2_promotion, _PROMOTIONS),
        ("interleave", interleave, _INTERLEAVES),
    ):
        if value not in choices:
            raise ArgumentError(f"{what} must be one of {', '.join(map(str, choices))} bytes, not {value_text(value)}")
    check_array(layout, interleave)
    _check_row(box[-1] * _SIZES[layout.dtype], swizzle, interleave)
    capability, _ = device_and_driver()
    if capability < (9, 0):
        raise ArgumentError(
            f"tensor maps need a GPU of compute capability 9.0 or higher; this one has {dotted(capability)}"
        )


def check_array(layout: Layout, interleave: int = 0) -> None:
    """Raise ArgumentError for an array that a tensor map cannot describe. `interleave` is in bytes, 0 for none."""
    address, dtype, shape, strides = layout
    unit = 32 if interleave == 32 else 16
    if not 1 <= len(shape) <= 5 or (interleave and len(shape) < 3):
        least = "3, because of interleave," if interleave else "1"
        raise ArgumentError(f"a tensor map has {least} to 5 dimensions, not {len(shape)}")
    if 0 in shape or max(shape) > 1 << 32:
        raise ArgumentError(f"a tensor map has 1 to 2^32 elements in each dimension; the array's shape is {shape}")
    if strides[-1] != _SIZES[dtype] and shape[-1] > 1:
        raise ArgumentError(f"the array's last dimension must be contiguous; its strides are {strides} bytes")
    if address % unit:
        raise ArgumentError(f"the array's address must be a multiple of {unit} bytes, not {address:#x}")
    wrong = [stride for stride in strides[:-1] if stride % unit or not 0 <= stride < 1 << 40]
    if wrong:
        raise ArgumentError(
            f"the array's strides must be multiples of {unit} bytes, not {wrong[0]}: pad the rows of the array"
        )


def _check_row(size: int, swizzle: int, interleave: int) -> None:
    """Raise ArgumentError if a row of the box has a wrong size, or if `interleave` does not allow `swizzle`.

    `size`: bytes of the box in its last dimension. Without interleave, it must be a multiple of 16 and must not exceed
    the swizzle, if there is one.
    `swizzle`, `interleave`: in bytes, 0 for none. An interleave of 32 needs a swizzle of 32.
    """
    if not interleave and size % 16:
        raise ArgumentError(f"a row of the box must be a multiple of 16 bytes, not {size}")
    if swizzle and not interleave and size > swizzle:
        raise ArgumentError(f"a row of the box may have at most the {swizzle} bytes of swizzle, not {size}")
    if interleave == 32 and swizzle != 32:
        raise ArgumentError("an interleave of 32 bytes needs a swizzle of 32 bytes")


def _sizes(values: Sequence[int], what: str, rank: int, largest: int) -> tuple[int, ...]:
    """Return `values` as a tuple. Raise ArgumentError unless it has `rank` integers from 1 to `largest`, both included.

    `what` is the name of the parameter in the error message: "box takes numbers up to 256, not 512".
    """
    if not hasattr(values, "__iter__"):
        raise ArgumentError(f"{what} must be a sequence of numbers, not {value_text(values)}")
    numbers = tuple(whole_number(value, what, 1) for value in values)
    if len(numbers) != rank:
        raise ArgumentError(f"{what} must have a number for each of the array's {rank} dimensions, not {len(numbers)}")
    if numbers and max(numbers) > largest:
        raise ArgumentError(f"{what} takes numbers up to {largest}, not {max(numbers)}")
    return numbers


def _other_type(found: str, wanted: str) -> str:
    """Return `wanted`, the element type that the caller asks for. Raise ArgumentError if a tensor map has no such type,
    or if its size is not that of `found`, the array's own element type."""
    if wanted not in _SIZES:
        raise ArgumentError(f"dtype must be one of {', '.join(_SIZES)}, not {value_text(wanted)}")
    if _SIZES[wanted] != _SIZES[found]:
        raise ArgumentError(f"dtype {wanted} has {_SIZES[wanted]} bytes, the array's {found} has {_SIZES[found]}")
    return wanted


def layout_of(array: Any) -> Layout:
    """Return the layout of an array on the GPU; raise ArgumentError for any other value.

    Waits until the GPU has computed the array, unless it is an array of PyTorch or CuPy.
    """
    try:
        refuse_lazy(array)
        if is_of(type(array), "torch", "Tensor"):
            return _tensor_layout(array)  # its array interface lacks bfloat16, and makes a copy of nothing
        if exports(type(array)) and not is_of(type(array), "cupy", "ndarray"):
            return _exported_layout(array)
        interface = array.__cuda_array_interface__
        refuse_interface(interface)
        if not is_of(type(array), "cupy", "ndarray") and (producer := producer_stream(array, interface)) is not None:
            check_result(cuda_driver().cuStreamSynchronize(producer), "waiting for the stream of an array")
    except AttributeError:
        raise ArgumentError(
            f"a tensor map takes a PyTorch tensor on the GPU, or an array with __cuda_array_interface__, not "
            f"{type_name(type(array))}: cupy.from_dlpack makes one without a copy"
        ) from None
    except ArgumentError:
        raise
    except TypeError as error:
        raise ArgumentError(f"the {type_name(type(array))} {error}") from None
    kind, size = interface["typestr"][1], int(interface["typestr"][2:])
    names = {"f": f"float{8 * size}", "i": f"int{8 * size}", "u": f"uint{8 * size}", "b": "bool"}
    shape, strides = tuple(interface["shape"]), interface.get("strides")
    if strides is None:
        strides = _contiguous(shape, size)
    return Layout(int(interface["data"][0] or 0), known_type(names.get(kind, kind)), shape, tuple(strides))


def _exported_layout(array: Any) -> Layout:
    exported = export(array, LEGACY)
    check_result(cuda_driver().cuStreamSynchronize(LEGACY), "waiting for an array")
    size = exported.bits // 8
    strides = exported.strides and tuple(size * stride for stride in exported.strides)
    shape = exported.shape
    return Layout(exported.address, known_type(exported.dtype), shape, strides or _contiguous(shape, size))


def _tensor_layout(tensor: Any) -> Layout:
    if not tensor.is_cuda:
        raise TypeError("is in host memory: .cuda() copies it")
    size = tensor.element_size()
    strides = tuple(size * stride for stride in tensor.stride())
    name = str(tensor.dtype).removeprefix("torch.")
    return Layout(tensor.data_ptr(), known_type(name), tuple(tensor.shape), strides)


def _contiguous(shape: Sequence[int], size: int) -> tuple[int, ...]:
    strides: list[int] = []
    for length in reversed(shape):
        strides.insert(0, size)
        size *= length
    return tuple(strides)


def known_type(name: str) -> str:
    name = _SAME_BITS.get(name, name)
    if name not in _SIZES:
        raise ArgumentError(f"a tensor map has no elements of type {name}; it has {', '.join(_SIZES)}")
    return name
