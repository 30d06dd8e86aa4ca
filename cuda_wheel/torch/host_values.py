"""What the Python function of an operator computes besides launches: sizes read back, random states, packed structs."""

import ctypes
from typing import Any

from cuda_wheel.runtime.errors import ArgumentError
from cuda_wheel.torch.launch_checks import checks_running, current_call, is_symbol

__all__ = ["PhiloxState", "packed", "philox", "read_size"]


def read_size(tensor: Any, most: int | None = None) -> int:
    """Return the integer in a tensor of one element, which a kernel computed and which is at least 0: a size of an
    output.

    The host waits for the GPU. With fake tensors, the result is a size that PyTorch does not know, at most `most`.
    Raises ArgumentError for a number below 0 or above `most`, and for a tensor that is not one integer.
    """
    call = current_call() if checks_running else None
    if call is not None and (tensor.numel() != 1 or tensor.is_floating_point() or tensor.is_complex()):
        raise ArgumentError(_no_size(tensor))
    if call is not None and not call.launches:
        import torch

        size: int = torch.library.get_ctx().new_dynamic_size(min=0, max=most if type(most) is int else None)
        return size
    try:
        number = tensor.item()
    except RuntimeError as error:
        raise ArgumentError(_no_size(tensor)) from error
    if type(number) is not int:
        raise ArgumentError(_no_size(tensor))
    if number < 0 or (most is not None and number > most):
        limit = "at least 0" if most is None else f"0 to {most}"
        raise ArgumentError(f"read_size: the tensor holds {number}, but a size is {limit}")
    return number


def _no_size(tensor: Any) -> str:
    """Return the error message of `read_size` for a tensor that does not have exactly one element, or whose element is
    not an integer."""
    return f"read_size takes a tensor with one whole number, not one of {tuple(tensor.shape)} of {tensor.dtype}"


class PhiloxState(ctypes.Structure):
    """The state of a counter-based random generator, which a kernel takes by value as `at::PhiloxCudaState`.

    Its fields `seed` and `offset` are for kernels that take the two numbers instead. Source: PyTorch,
    ATen/cuda/PhiloxCudaState.h. PyTorch 2.10 made `offset_intragraph` 64 bits wide, so that a kernel takes 24 or 32
    bytes by the headers that it was compiled with.
    """

    _fields_ = [
        ("seed", ctypes.c_uint64),
        ("offset", ctypes.c_uint64),
        ("offset_intragraph", ctypes.c_uint64),
        ("captured", ctypes.c_bool),
    ]

    def struct_of_size(self, size: int) -> "ctypes.Structure | bytes":
        """Return the state for a kernel that takes a struct of `size` bytes.

        24 bytes are the first ones of the 32: outside graphs, all bytes after `offset` are zeros in both layouts.
        """
        is_earlier = size == 24 and not self.captured and not self.offset_intragraph
        return bytes(self)[:size] if is_earlier else self


def philox(increment: int, generator: Any = None) -> PhiloxState:
    """Return seed and offset of PyTorch's generator on the current GPU, and advance the generator's offset.

    `increment` is how many random numbers each thread draws at most; the offset grows by the next multiple of 4, as in
    `CUDAGeneratorImpl::philox_cuda_state`. `generator` is another generator of that GPU. In an operator it needs
    `random=True`. Raises ArgumentError while a CUDA graph is captured, whose replays would repeat the numbers.
    """
    call = current_call() if checks_running else None
    if call is not None:
        if not call.is_random:
            raise ArgumentError(f"{call.operator} draws random numbers: declare it with random=True")
        if not call.launches:
            return PhiloxState()
    import torch

    if torch._C._cuda_isCurrentStreamCapturing():
        raise ArgumentError(
            "philox: a CUDA graph would repeat the same numbers in each replay: let the kernel read seed and offset "
            "from a tensor that torch.randint fills"
        )
    if generator is None:
        generator = torch.cuda.default_generators[torch._C._cuda_getDevice()]
    offset = generator.get_offset()
    generator.set_offset(offset + (int(increment) + 3) // 4 * 4)
    return PhiloxState(generator.initial_seed() & (1 << 64) - 1, offset)


def packed(structure: type[ctypes.Structure] | ctypes.Structure, **fields: Any) -> Any:
    """Return a ctypes structure, filled from these values, as the argument of a kernel that takes the struct by value.

    A field of type `c_void_p` takes a tensor, None or an address; an array takes a sequence of at most as many values,
    also nested. Other fields are zero. If `structure` is a structure with values and not a type, they are as in there,
    which saves the time to fill in what all launches have in common. Raises ArgumentError for a field that the
    structure does not have, and for a value that does not fit.

        class Lists(ctypes.Structure):
            _fields_ = [("addresses", ctypes.c_void_p * 110 * 2), ("sizes", ctypes.c_int64 * 110)]

        common = packed(Lists, sizes=[each.numel() for each in inputs])
        packed(common, addresses=[inputs, outputs])
    """
    call = current_call() if checks_running else None
    are_fake = call is not None and not call.launches
    if isinstance(structure, ctypes.Structure):
        made: Any = _holding(type(structure)).from_buffer_copy(structure)
        tensors = [*getattr(structure, "tensors", ())]
    else:
        made, tensors = _holding(structure)(), []
    for name, value in fields.items():
        try:
            _fill(made, name, made.types[name], value, are_fake, tensors)
        except KeyError:
            raise ArgumentError(f"{type(made).__name__} has no field {name}: it has {', '.join(made.types)}") from None
        except (TypeError, ValueError, OverflowError, IndexError) as error:
            raise ArgumentError(f"{type(made).__name__}.{name}: {error}") from None
    made.tensors = tensors
    return made


_holders: dict[type[ctypes.Structure], Any] = {}


def _holding(structure: type[ctypes.Structure]) -> Any:
    """Return a subclass of a ctypes structure, of the same layout, with two more attributes.

    `types`: name of a field -> its ctypes type.
    `tensors`: the tensors whose addresses are in the fields of an instance; () in the class.
    """
    if structure not in _holders:
        types = {each[0]: each[1] for base in reversed(structure.__mro__) for each in vars(base).get("_fields_", ())}
        made = type(structure.__name__, (structure,), {"tensors": (), "types": types})
        _holders[structure] = _holders[made] = made
    return _holders[structure]


def _fill(owner: Any, key: Any, kind: Any, value: Any, are_fake: bool, tensors: list[Any]) -> None:
    """Write `value` into the field or element `key` of the ctypes structure or array `owner`. `kind` is the ctypes type
    of the field or element.

    For a tensor, write its address, and add the tensor to `tensors`. If `are_fake` (tensors without data), write null
    in place of addresses.
    """
    if isinstance(kind, type) and issubclass(kind, ctypes.Array):
        target = owner[key] if isinstance(key, int) else getattr(owner, key)
        length, element = len(target), kind._type_
        if not isinstance(value, (list, tuple)):
            raise TypeError(f"takes a list of at most {length} values, not {value!r}")
        if len(value) > length:
            raise ValueError(f"takes at most {length} values, not {len(value)}")
        if not _fill_at_once(target, element, value, are_fake, tensors):
            for index, each in enumerate(value):
                _fill(target, index, element, each, are_fake, tensors)
        return
    if hasattr(value, "data_ptr"):
        if kind is not ctypes.c_void_p:
            raise TypeError("takes a number, not a tensor: declare the field as c_void_p for its address")
        if not are_fake and not value.is_cuda:
            raise TypeError(f"takes tensors on a GPU, not on {value.device}")
        tensors.append(value)
        value = None if are_fake else value.data_ptr()
    elif is_symbol(value):
        value = 0
    elif kind in _LIMITS and isinstance(value, int) and kind(value).value != value:
        raise OverflowError(f"{value} does not fit into {kind.__name__}")
    if isinstance(key, int):
        owner[key] = value
    else:
        setattr(owner, key, value)


def _fill_at_once(target: Any, kind: Any, values: Any, are_fake: bool, tensors: list[Any]) -> bool:
    """Write the list `values` into the first elements of the ctypes array `target`, in one step. Return False, and
    write nothing, if this is not possible.

    It is possible for integers that fit into `kind`, the ctypes type of the elements. For a pointer type, it is
    possible for tensors on GPUs: write their addresses, and add them to `tensors`. It is not possible for fake tensors
    (`are_fake`).
    """
    if kind in _LIMITS:
        least, most = _LIMITS[kind]
        if not values or {*map(type, values)} != {int} or min(values) < least or max(values) > most:
            return False
        target[: len(values)] = values
        return True
    if kind is not ctypes.c_void_p or are_fake:
        return False
    try:
        if False in [each.is_cuda for each in values]:
            return False
        target[: len(values)] = [each.data_ptr() for each in values]
    except AttributeError:  # None or an address
        return False
    tensors += values
    return True


_SIZES = (8, 16, 32, 64)
_LIMITS: dict[Any, tuple[int, int]] = {
    **{getattr(ctypes, f"c_int{bits}"): (-(1 << bits - 1), (1 << bits - 1) - 1) for bits in _SIZES},
    **{getattr(ctypes, f"c_uint{bits}"): (0, (1 << bits) - 1) for bits in _SIZES},
}
"""ctypes type of an integer -> (least value, greatest value). ctypes itself truncates larger numbers without an
error."""
