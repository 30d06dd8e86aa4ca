"""Check what launches are given, without a GPU: with fake tensors, and in the first call with tensors of some types.

A launch checks its arguments itself. What it cannot know is which inputs an operator says that it writes; and with fake
tensors there is no launch.
"""

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from cuda_wheel.operators.declarations import has_blocks
from cuda_wheel.operators.kernels import accessor_of, pointer_of
from cuda_wheel.runtime.arguments import dimensions
from cuda_wheel.runtime.arrays import PointerConverter, argument_type, pointee
from cuda_wheel.runtime.errors import ArgumentError
from cuda_wheel.runtime.generated import converted
from cuda_wheel.runtime.launching import converter_for, wrong_argument_text, wrong_count_text
from cuda_wheel.runtime.manifest import KernelInfo

__all__ = ["Call", "KernelCheck", "checking", "checks_running", "current_call", "is_symbol"]


class KernelCheck:
    """Checks the arguments of a kernel's launches by its entry in the manifest.

    `long_size` is the number of bytes of a `long` in the kernel's code, None if it is not known.
    """

    def __init__(self, info: KernelInfo, long_size: int | None) -> None:
        self.info = info
        self._converters = [converter_for(parameter, True, long_size) for parameter in info.parameters]

    def writes(self, place: int) -> bool:
        """Return whether the kernel may write to the array that is its argument number `place`, counted from 0."""
        pointer = pointer_of(self.info.parameters[place])
        return not (pointer.endswith("*") and pointee(pointer)[1])

    def array(self, operator: str, place: int, array: Any, device: Any) -> None:
        """Raise ArgumentError if the kernel does not take this tensor as argument number `place`, counted from 0, or if
        the tensor is not on this device."""
        converter = self._converters[place]
        try:
            if array.device != device:
                raise TypeError(f"is a tensor on {array.device}, but the operator's first one is on {device}")
            if isinstance(converter, PointerConverter):
                converter.check_dtype(str(array.dtype).removeprefix("torch."))
                if accessor_of(self.info.parameters[place]):
                    accessor: Any = converter
                    accessor.check_dimensions(array.dim())
            elif argument_type(self.info.parameters[place]) != "Struct":
                raise TypeError("takes a number, not a tensor: tensor.item() is one")
        except TypeError as error:
            raise ArgumentError(f"{operator}: {wrong_argument_text(self.info, place, array, error)}") from None

    def value(self, operator: str, place: int, value: Any) -> None:
        """Raise ArgumentError if the kernel does not take this number, struct or address as argument number `place`,
        from 0.

        Of a number that PyTorch does not know while it compiles, only the type is checked.
        """
        if is_symbol(value):
            value = _SYMBOLS[type(value).__name__]
        try:
            converted(self._converters[place], value, None)
        except Exception as error:
            raise ArgumentError(f"{operator}: {wrong_argument_text(self.info, place, value, error)}") from None


class Call:
    """One call of an operator that is a Python function, while its launches are checked."""

    def __init__(
        self,
        operator: str,
        inputs: Mapping[str, Any],
        written: frozenset[str],
        read_only: frozenset[str],
        is_random: bool,
        launches: bool,
    ) -> None:
        self.operator = operator
        self.arrays = [
            (name, array)
            for name, value in inputs.items()
            for array in (value if isinstance(value, (list, tuple)) else [value])
            if hasattr(array, "untyped_storage")
        ]
        """(name of the input, tensor) for each input tensor. Each tensor of a list has the name of the list."""
        self.written = written
        """Names of the inputs that the operator writes, from its setting `writes`."""
        self.read_only = read_only
        """Names of the inputs that kernels only read, though their pointers are not `const`."""
        self.is_random = is_random
        """Whether the operator draws random numbers. (setting `random`)"""
        self.launches = launches
        """Whether kernels run after the check. False for a call with fake tensors (without data), where none is
        launched."""

    @property
    def device(self) -> Any:
        """Device of the first input tensor that is not on the CPU; the CPU if all are there."""
        devices = [array.device for _, array in self.arrays]
        return next((each for each in devices if each.type != "cpu"), devices[0])

    def check_launch(self, kernel: KernelCheck, grid: Any, block: Any, args: Sequence[Any]) -> bool:
        """Raise ArgumentError for a launch with wrong arguments, block or grid; return whether there is anything to
        launch."""
        info = kernel.info
        if len(args) != len(info.parameters):
            raise ArgumentError(f"{self.operator}: {wrong_count_text(info, len(args))}")
        for place, value in enumerate(args):
            if hasattr(value, "untyped_storage"):
                kernel.array(self.operator, place, value, self.device)
                if kernel.writes(place):
                    self.check_written(value, f"{info.name} may write to its argument {place + 1}")
            elif tensors := getattr(value, "tensors", None):  # a struct with the addresses of tensors
                for tensor in tensors:
                    self.check_written(tensor, f"{info.name} may write to tensors of its argument {place + 1}")
            else:
                kernel.value(self.operator, place, value)
        what = f"{self.operator}: {info.name}: "
        if _is_known(block):
            dimensions(block, f"{what}block")
        return has_blocks(f"{self.operator}: {info.name}", grid) if _is_known(grid) else True

    def check_device(self, value: Any, kernel: str) -> None:
        """Raise ArgumentError if a tensor that a kernel gets is not on the device of the operator's first tensor."""
        if value.device != self.device:
            raise ArgumentError(
                f"{self.operator}: {kernel} gets a tensor on {value.device}, but the operator's first one is on "
                f"{self.device}"
            )

    def check_results(self, results: Sequence[Any]) -> None:
        """Raise ArgumentError for an output that shares the memory of an input or of another output."""
        import torch

        before = list(self.arrays)
        for number, result in enumerate(results):
            for array in result if isinstance(result, (list, tuple)) else [result]:
                if not isinstance(array, torch.Tensor):
                    continue
                for name, other in before:
                    if torch._C._is_alias_of(array, other):
                        raise ArgumentError(
                            f"{self.operator}: output {number + 1} shares the memory of {name}, but PyTorch's "
                            "operators return new tensors: return a copy, or name the input in writes"
                        )
                before.append((f"output {number + 1}", array))

    def check_written(self, value: Any, what: str) -> None:
        """Raise ArgumentError if the tensor `value` shares memory with an input that is in neither `writes` nor
        `read_only`.

        `value`: a tensor that a kernel may write.
        `what`: how the kernel uses it. The error message has this after the operator's name: "add may write to its
        argument 3".
        """
        import torch

        for name, array in self.arrays:
            known = name in self.written or name in self.read_only
            if not known and torch._C._is_alias_of(value, array):
                raise ArgumentError(
                    f"{self.operator}: {what}, which has the memory of the input {name}: name {name} in writes, or in "
                    "read_only if the kernel only reads it"
                )


def is_symbol(value: Any) -> bool:
    """Return whether a value is a number that PyTorch does not know while it compiles, such as a SymInt."""
    return type(value).__name__ in _SYMBOLS


_SYMBOLS = {"SymInt": 0, "SymFloat": 0.0, "SymBool": False}
"""Name of a class of PyTorch -> a number. An instance of the class, such as a SymInt, is a value that PyTorch does not
know while it compiles. In place of the value, checks use the number: 0 for a SymInt."""


def _is_known(size: Any) -> bool:
    """Return whether all numbers in `size`, a grid or block, are known. True for (8, 1); False for (n, 1) if PyTorch,
    while it compiles, does not know n."""
    return not any(map(is_symbol, size if isinstance(size, (tuple, list)) else [size]))


_thread = threading.local()

checks_running: list[bool] = []
"""Has one element for each call that any thread is checking now. Testing whether this list is empty takes less time
than reading the thread's own state."""


def current_call() -> Call | None:
    """Return the innermost call that this thread is checking; None if it checks none."""
    calls: list[Call] = getattr(_thread, "calls", None) or []
    return calls[-1] if calls else None


@contextmanager
def checking(call: Call) -> Iterator[None]:
    """Within a `with` block, check this thread's launches as those of `call`."""
    if not hasattr(_thread, "calls"):
        _thread.calls = []
    _thread.calls.append(call)
    checks_running.append(True)
    try:
        yield
    finally:
        checks_running.pop()
        _thread.calls.pop()
