"""Stand-ins for PyTorch and CuPy: their current streams, and arrays of classes that imitate those of libraries."""

from __future__ import annotations

import ctypes
import struct
import threading
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np

__all__ = [
    "ADDRESS",
    "OTHER",
    "OWN",
    "PYTORCH",
    "Exported",
    "Jax",
    "Named",
    "StandInCuPy",
    "StandInPyTorch",
    "cupy_array",
    "fake",
    "torch_tensor",
]

OWN, OTHER, PYTORCH = 0x100, 0x200, 0x1000


ADDRESS = 0x7F0000001000
"""Addresses: of three streams, and of the arrays' memory."""


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


class Exported:
    """An array that is exported by DLPack as `versioned` says, and notes how it was asked for."""

    def __init__(
        self, *, versioned: bool = True, flags: int = 0, version: int = 1, lanes: int = 1, **more: Any
    ) -> None:
        self._name = b"dltensor_versioned" if versioned else b"dltensor"
        self.asked: list[dict[str, Any]] = []
        shape = more.get("shape", (4,))
        self._shape = struct.pack(f"<{len(shape)}q", *shape)
        lengths = ctypes.cast(ctypes.c_char_p(self._shape), ctypes.c_void_p).value
        place, code, bits = more.get("place", 2), more.get("code", 2), more.get("bits", 32)
        content = struct.pack("<IIQQQ", version, 0, 0, 0, flags) if versioned else b""
        head = more.get("address", ADDRESS), place, 0, len(shape), code, bits, lanes
        content += struct.pack("<QiiiBBHQQQ", *head, lengths, 0, more.get("offset", 0))
        self._memory = ctypes.create_string_buffer(content)
        self._place = place

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._place, 0

    def __dlpack__(self, **options: Any) -> Any:
        self.asked.append(options)
        new = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
        return new(("PyCapsule_New", ctypes.pythonapi))(ctypes.addressof(self._memory), self._name, None)


class Jax(Exported):
    """An array of JAX's, which has an array interface without a stream beside DLPack."""

    waited = 0

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        raise AttributeError("not for all element types")

    def block_until_ready(self) -> None:
        self.waited += 1


class Named:
    """An array with an array interface that names a stream."""

    def __init__(self, stream: Any = OWN) -> None:
        self.stream = stream

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        data = (ADDRESS, False)
        return {"shape": (4,), "typestr": "<f4", "data": data, "version": 3, "stream": self.stream}
