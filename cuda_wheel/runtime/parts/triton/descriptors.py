"""Arguments of Triton kernels that are tensor descriptors: tiles of an array, which Hopper and later GPUs copy by TMA.

A kernel for compute capability 9.0 and later takes a tensor map, the shape and the strides; a kernel for earlier GPUs
takes the address, the shape, the strides and flags, and the shape and the strides again. Source: `make_launcher` and
`make_tensordesc_arg` in Triton's back end for NVIDIA GPUs.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ...arguments import is_of, value_text
from ...errors import ArgumentError, need
from .signatures import TYPES, Type

if TYPE_CHECKING:
    from ..tensor_maps import Layout

__all__ = ["Descriptors", "TensorDescriptor", "block_of", "is_descriptor"]

_KEPT = 256
"""Maximum number of tensor maps that a kernel keeps."""


class TensorDescriptor(NamedTuple):
    """A tensor descriptor as an argument of a Triton kernel: what Triton's own `TensorDescriptor` has, without Triton.

    `shape` and `strides` are in elements, `block_shape` is that of a tile. `padding` ("zero" or "nan") is what a kernel
    reads outside of the shape. With `round_f32_to_tf32`, it reads float32 as TF32, from Triton 3.7 on.
    """

    base: Any
    shape: Sequence[int]
    strides: Sequence[int]
    block_shape: Sequence[int]
    padding: str = "zero"
    round_f32_to_tf32: bool = False

    @classmethod
    def from_tensor(
        cls, tensor: Any, block_shape: Sequence[int], padding: str = "zero", round_f32_to_tf32: bool = False
    ) -> "TensorDescriptor":
        """Return the descriptor of a whole array on the GPU; raises ArgumentError for another value."""
        if is_of(type(tensor), "torch", "Tensor"):
            shape, strides = tensor.shape, tensor.stride()
        else:
            need("tensor-maps")
            from ..tensor_maps import layout_of  # as in `Descriptors`

            layout = layout_of(tensor)
            shape, strides = layout.shape, tuple(each // layout.element_size for each in layout.strides)
        return cls(tensor, shape, strides, block_shape, padding, round_f32_to_tf32)


def is_descriptor(value: Any) -> bool:
    """Return whether an argument is a tensor descriptor: this module's, or Triton's."""
    return hasattr(value, "block_shape") and hasattr(value, "base")


def block_of(value: Any) -> tuple[int, ...]:
    """Return the block shape of a descriptor; raises ArgumentError if it has no numbers."""
    try:
        return tuple(map(int, value.block_shape))
    except (TypeError, ValueError):
        raise ArgumentError(f"block_shape must have numbers, not {value_text(value.block_shape)}") from None


class Descriptors:
    """Converts the tensor descriptors of one loaded kernel to its parameters."""

    def __init__(
        self, types: Mapping[int, Type], names: Sequence[str], figures: Mapping[str, int], own: Sequence[str]
    ) -> None:
        """`types` has the types of those arguments that are descriptors, by the argument's number among those that the
        kernel takes, `names` all their names. `figures` are those of the image, `own` the names of the kernel's
        parameters."""
        need("tensor-maps")
        from .. import tensor_maps  # few kernels have descriptors

        self._tensor_maps = tensor_maps
        self._types = types
        self._names = names
        self._flags: dict[int, tuple[str, ...]] = {}
        self._swizzles: dict[int, int] = {}
        self._boxes: dict[int, tuple[int, ...]] = {}
        for number, (at, type_) in enumerate(types.items()):
            key = f"descriptor{number}"
            self._swizzles[at] = figures.get(f"{key}_swizzle", 0)
            box = self._boxes[at] = tuple(figures.get(f"{key}_box{axis}", 0) for axis in range(len(type_.block)))
            flags = (flag for flag in ("nan", "tf32") if f"{names[at]}_{flag}" in own)
            self._flags[at] = () if any(box) else tuple(flags)
        self._maps: dict[tuple[Any, ...], bytes] = {}

    @property
    def further(self) -> int:
        """How many parameters the descriptors are beyond one for each."""
        return sum(
            len(type_.block) * (2 if any(self._boxes[at]) else 4) + len(self._flags[at])
            for at, type_ in self._types.items()
        )

    def expanded(self, given: Sequence[Any]) -> list[Any]:
        """Return the values of the kernel's parameters for these arguments; raises ArgumentError."""
        values: list[Any] = []
        for at, value in enumerate(given):
            if at in self._types:
                values += self._values(at, value)
            else:
                values.append(value)
        return values

    def arrays(self, given: Sequence[Any]) -> list[Any]:
        """Return the arguments with the array of each descriptor in its place."""
        return [value.base if at in self._types else value for at, value in enumerate(given)]

    def _values(self, at: int, value: Any) -> list[Any]:
        """Return the values of the parameters for a descriptor, argument number `at`; raises ArgumentError."""
        type_, name = self._types[at], self._names[at]
        if not is_descriptor(value) or block_of(value) != type_.block:
            raise ArgumentError(
                f"{name} must be a tensor descriptor with the block shape {list(type_.block)}, not {value_text(value)}"
            )
        shape, strides = tuple(map(int, value.shape)), tuple(map(int, value.strides))
        if not len(shape) == len(strides) == len(type_.block) or strides[-1] != 1:
            raise ArgumentError(
                f"the descriptor {name} must have {len(type_.block)} sizes and strides, and 1 as the last stride, not "
                f"the shape {shape} and the strides {strides}"
            )
        nan, tf32 = _options(name, type_, value)
        layout, is_kept = self._layout(name, type_, value.base, shape, strides)
        box = self._boxes[at]
        if any(box):
            layout = layout._replace(dtype="tfloat32") if tf32 else layout
            return [self._tensor_map(value.base, layout, box, self._swizzles[at], nan, is_kept), *shape, *strides]
        self._tensor_maps.check_array(layout)
        given = {"nan": nan, "tf32": tf32}
        unknown = [flag for flag, is_set in given.items() if is_set and flag not in self._flags[at]]
        if unknown:
            raise ArgumentError(
                f"the descriptor {name} asks for {unknown[0]}, which the release of Triton that compiled the kernel "
                "does not have"
            )
        return [value.base, *shape, *strides, *(given[flag] for flag in self._flags[at]), *shape, *strides]

    def _tensor_map(
        self, array: Any, layout: "Layout", box: tuple[int, ...], swizzle: int, nan: bool, is_kept: bool
    ) -> bytes:
        """Return the tensor map; `is_kept` tells whether launches must keep the array."""
        key = (layout, box, swizzle, nan)
        found = None if is_kept else self._maps.get(key)
        if found is None:
            found = self._tensor_maps.encoded(array, layout, box, swizzle=swizzle, l2_promotion=128, nan_fill=nan)
            if not is_kept:
                if len(self._maps) >= _KEPT:
                    self._maps.clear()
                found = self._maps[key] = bytes(found)  # without the array
        return found

    def _layout(
        self, name: str, type_: Type, array: Any, shape: tuple[int, ...], strides: tuple[int, ...]
    ) -> "tuple[Layout, bool]":
        """Return the layout that a descriptor describes, and whether launches must keep its array. Waits until an array
        is computed, unless it is PyTorch's or CuPy's. Raises ArgumentError."""
        is_torch = is_of(type(array), "torch", "Tensor")
        if is_torch and not array.is_cuda:
            raise ArgumentError(f"the array of the descriptor {name} is in host memory: .cuda() copies it")
        if is_torch or is_of(type(array), "cupy", "ndarray"):
            dtype = str(array.dtype).rpartition(".")[2]
            address = array.data_ptr() if is_torch else array.data.ptr
            is_kept = False
        else:
            _, dtype, _, _ = found = self._tensor_maps.layout_of(array)
            address, is_kept = found.address, True
        wanted = TYPES[type_.element][1]
        if dtype not in (wanted, self._tensor_maps.known_type(wanted)):
            raise ArgumentError(f"the descriptor {name} must be of elements of type {wanted}, not {dtype}")
        layout = self._tensor_maps.Layout(address, self._tensor_maps.known_type(wanted), shape, strides)
        return layout._replace(strides=tuple(layout.element_size * each for each in strides)), is_kept


def _options(name: str, type_: Type, value: Any) -> tuple[bool, bool]:
    """Return whether a kernel reads NaN outside of a descriptor's shape, and float32 as TF32; raises ArgumentError."""
    padding, tf32 = getattr(value, "padding", "zero"), bool(getattr(value, "round_f32_to_tf32", False))
    if padding not in ("zero", "nan"):
        raise ArgumentError(f'the padding of the descriptor {name} must be "zero" or "nan", not {value_text(padding)}')
    if padding == "nan" and type_.element[0] in "iu":
        raise ArgumentError(f'the descriptor {name} has the padding "nan", which {type_.element} does not have')
    if tf32 and type_.element != "fp32":
        raise ArgumentError(f"the descriptor {name} has round_f32_to_tf32, which is for fp32, and not {type_.element}")
    return padding == "nan", tf32
