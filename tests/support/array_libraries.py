"""Stand-ins for PyTorch and CuPy: their current streams, and arrays of classes that imitate those of libraries."""

from __future__ import annotations

import threading
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np

__all__ = ["StandInCuPy", "StandInPyTorch", "cupy_array", "fake", "torch_tensor"]


class StandInPyTorch(ModuleType):
    """The functions of PyTorch that tell the current stream, which each thread has for each GPU."""

    def __init__(self) -> None:
        super().__init__("torch")
        self.local = threading.local()
        """The attribute `streams` maps the numbers of GPUs to addresses."""
        self._C = SimpleNamespace(_cuda_getCurrentRawStream=self._current)
        self.cuda = SimpleNamespace(current_stream=self._current_stream)

    def _current(self, device: int) -> int:
        assert type(device) is int, "PyTorch's function takes no other number"
        return int(getattr(self.local, "streams", {}).get(device, 0))

    def _current_stream(self, device: int) -> SimpleNamespace:
        assert not vars(self._C), "the private function is faster"
        return SimpleNamespace(cuda_stream=self._current(device))


class StandInCuPy(ModuleType):
    """The function of CuPy that tells the current stream of this thread."""

    def __init__(self) -> None:
        super().__init__("cupy")
        self.local = threading.local()
        """The attribute `stream` is an address."""
        self.cuda = SimpleNamespace(
            get_current_stream=lambda: SimpleNamespace(ptr=getattr(self.local, "stream", 0)),
        )


def fake(library: str, name: str, *bases: type, **members: Any) -> Any:
    """Return a class that says it is of a library."""
    return type(name, bases, {"__module__": library, **members})


def cupy_array(address: int, dtype: str = "f4", device: int = 0) -> Any:
    array = fake("cupy", "ndarray", __cuda_array_interface__=None)()
    array.dtype = np.dtype(dtype)
    array.data = SimpleNamespace(ptr=address, device_id=device)
    return array


def torch_tensor(address: int, dtype: str = "float32", device: int | None = 0, *, pinned: bool = False) -> Any:
    tensor = fake("torch", "Tensor", __dlpack__=None)()
    tensor.dtype = fake("torch", "dtype", __str__=lambda self: f"torch.{dtype}", is_complex=dtype.startswith("c"))()
    tensor.is_cuda = device is not None
    tensor.is_pinned = lambda: pinned
    tensor.device = "cpu" if device is None else f"cuda:{device}"
    tensor.is_conj = tensor.is_neg = lambda: False
    tensor.numel = lambda: 1 if address else 0
    tensor.get_device = lambda: -1 if device is None else device
    tensor.data_ptr = lambda: address
    return tensor
