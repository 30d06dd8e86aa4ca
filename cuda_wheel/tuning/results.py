"""Save, restore and compare the arrays that hold the results of a tuned function."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from ..runtime.driver import check_result, cuda_driver
from ..runtime.errors import ArgumentError, CudaWheelError
from ..runtime.launching.buffers import device_bytes, host_bytes, is_on_gpu, type_name

__all__ = ["Results"]


class Results:
    """The arrays that a tuned function's launches write, on the GPU or in host memory."""

    def __init__(self, given: Any) -> None:
        """Raises ArgumentError for what is no contiguous array, or cannot be written."""
        self._arrays = list(given) if isinstance(given, (tuple, list)) else [given]
        if not self._arrays:
            raise ArgumentError("there are no results to compare: return the launch function and the result arrays")
        for array in self._arrays:
            if not is_on_gpu(array) and host_bytes(array).readonly:
                raise ArgumentError(f"the {type_name(type(array))} with results is read-only")
        self.read()

    def read(self) -> list[bytes]:
        """Return the content of each array; all work of the GPU must be complete."""
        return [_read(array) for array in self._arrays]

    def write(self, contents: Sequence[bytes]) -> None:
        """Set the content of each array."""
        for array, content in zip(self._arrays, contents, strict=True):
            if is_on_gpu(array):
                address, size = device_bytes(array)
                if size:
                    check_result(cuda_driver().cuMemcpyHtoD(address, content, size), "restoring the results")
            else:
                host_bytes(array).cast("B")[:] = content

    def difference(self, reference: Sequence[bytes], found: Sequence[bytes], rtol: float, atol: float) -> str | None:
        """Return how contents differ from those of the reference: None if they do not, by more than the tolerance."""
        for number, (array, wanted, content) in enumerate(zip(self._arrays, reference, found, strict=True)):
            what = "the result" if len(self._arrays) == 1 else f"result {number}"
            if wanted != content:
                text = _difference(_element_type(array), wanted, content, rtol, atol)
                if text is not None:
                    return f"{what} is wrong: {text}"
        return None


def _read(array: Any) -> bytes:
    if not is_on_gpu(array):
        return bytes(host_bytes(array))
    address, size = device_bytes(array)
    content = bytearray(size)
    if size:
        check_result(cuda_driver().cuMemcpyDtoH(content, address, size), "reading the results")
    return bytes(content)


def _element_type(array: Any) -> str:
    """Return the element type as NumPy spells it, or "bfloat16", which NumPy does not have."""
    if str(getattr(array, "dtype", "")) in ("torch.bfloat16", "bfloat16"):
        return "bfloat16"
    if is_on_gpu(array):
        return str(array.__cuda_array_interface__["typestr"])
    interface = getattr(array, "__array_interface__", None)
    return str(interface["typestr"] if interface else memoryview(array).format)


def _difference(dtype: str, wanted: bytes, content: bytes, rtol: float, atol: float) -> str | None:
    exact = not (rtol or atol)
    try:
        np: Any = import_module("numpy")  # no requirement of this package
    except ImportError:
        if exact:
            first = next(place for place, pair in enumerate(zip(wanted, content, strict=True)) if pair[0] != pair[1])
            return f"byte {first} is {content[first]}, not {wanted[first]}"
        raise CudaWheelError("rtol and atol need NumPy: pip install numpy") from None
    if dtype == "bfloat16":  # the upper half of a float32
        one, other = (np.frombuffer(each, np.uint16).astype(np.uint32) << 16 for each in (wanted, content))
        one, other = one.view(np.float32), other.view(np.float32)
    else:
        one, other = (np.frombuffer(each, np.dtype(dtype)) for each in (wanted, content))
    if exact:
        bits = [np.frombuffer(each, np.uint8).reshape(len(one), -1) for each in (wanted, content)]
        differs = (bits[0] != bits[1]).any(axis=1)
    elif one.dtype.kind not in "fciub":
        raise ArgumentError(f"results of type {dtype} can be compared bit by bit only: leave out rtol and atol")
    else:
        # In float64, whose arithmetic neither overflows nor rounds a difference of the smaller types away.
        wide, right = (each if each.dtype.kind == "c" else each.astype(np.float64) for each in (other, one))
        differs = ~np.isclose(wide, right, rtol=rtol, atol=atol, equal_nan=True)
    count = int(differs.sum())
    if not count:
        return None
    first = int(differs.argmax())
    return f"element {first} is {other[first]!s}, not {one[first]!s}; {count} of {len(one)} differ"
