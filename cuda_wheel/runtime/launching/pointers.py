"""Convert arrays of CuPy, PyTorch, Numba, cuda.core and DLPack to pointer arguments."""

import ctypes
import re
import struct
from collections.abc import Callable
from typing import Any

from ..module import Global
from .arguments import VECTORS, Argument
from .buffers import is_array, is_on_gpu, item_size, type_name

__all__ = [
    "Pointer",
    "Word",
]


_DTYPES = {
    "bool": {"bool", "uint8"},
    "char": {"int8", "uint8"},
    "signed char": {"int8", "uint8"},
    "unsigned char": {"int8", "uint8", "bool"},
    "short": {"int16"},
    "unsigned short": {"uint16"},
    "int": {"int32"},
    "unsigned int": {"uint32"},
    "long": {"int32", "int64"},  # 4 bytes on Windows
    "unsigned long": {"uint32", "uint64"},
    "long long": {"int64"},
    "unsigned long long": {"uint64"},
    "float": {"float32"},
    "double": {"float64"},
    "__half": {"float16"},
    "__half2": {"float16"},
    "__nv_bfloat16": {"bfloat16", "int16", "uint16"},  # NumPy and CuPy have no such type of their own
    "__nv_bfloat162": {"bfloat16", "int16", "uint16"},
    "__nv_fp8_e4m3": {"float8_e4m3fn", "int8", "uint8"},
    "__nv_fp8_e5m2": {"float8_e5m2", "int8", "uint8"},
}
"""Element types that a pointer to a C++ type may be given, as NumPy and PyTorch call them; anything for other types."""


def _dtypes(pointer: str) -> set[str] | None:
    """Return the element types that suit a pointer's C++ type; None for any."""
    words = re.sub(r"\b(const|volatile)\b", "", pointer[:-1])
    element = " ".join(words.replace("__restrict__", "").split())
    if element.endswith("*"):
        return {"uint64", "int64"}
    vector = re.fullmatch(r"([a-z]+)[1-4](_(16|32)a)?", element)
    if vector and vector[1] in ("float", "double"):
        return {*_DTYPES[vector[1]], "complex64" if vector[1] == "float" else "complex128"}
    if vector:
        return _DTYPES.get(VECTORS.get(vector[1], vector[1]))
    if scalar := re.search(r"\bcomplex<(float|double)>$", element):
        return {"complex64" if scalar[1] == "float" else "complex128"}
    return _DTYPES.get(element)


Reader = Callable[[Any, int | None], int]
"""What gives the address of an argument, and raises TypeError where it does not suit the parameter or the GPU."""


class Pointer(dict[type, Reader], Argument):
    """An address: from each type of argument what reads it, found when that type is first met."""

    hint = "Pointer"

    def __init__(self, cpp: str, check: bool) -> None:
        dict.__init__(self)
        Argument.__init__(self, "Q")
        self._check = check
        self._dtypes = _dtypes(cpp) if check else None
        self._watched: list[tuple[str, dict[str, Any]]] = []
        self._const = not check or "const" in cpp.replace("*", " ").split() or cpp == "void*"

    def expression(self, value: str, name: str) -> str:
        cupy = f"{value}.data.ptr if kind is cupy_{name} and {value}.dtype is dtype_{name}"
        torch = f"{value}.data_ptr() if kind is torch_{name} and {value}.dtype is dtype_{name} and {value}.is_cuda"
        known = f"{value} if (kind := type({value})) is int else {cupy} else {torch}"
        return f"{known} else read_{name}[kind]({value}, device)"

    def names(self, name: str) -> dict[str, Any]:
        return {f"read_{name}": self, f"cupy_{name}": None, f"torch_{name}": None, f"dtype_{name}": None}

    def watch(self, name: str, names: dict[str, Any]) -> None:
        """Keep up these names of the launching function: the most frequent arrays, CuPy's and PyTorch's, it reads by
        itself once their element type is known to suit."""
        self._watched.append((name, names))

    def _note(self, library: str, array: Any, device: int | None) -> None:
        for name, names in self._watched if device is None else ():
            names[f"dtype_{name}"], names[f"{library}_{name}"] = array.dtype, type(array)

    def __missing__(self, kind: type) -> Reader:
        reader = self._reader(kind)
        self[kind] = reader
        return reader

    def _reader(self, kind: type) -> Reader:
        if kind is type(None):
            return lambda value, device: 0
        names = {(base.__module__.partition(".")[0], base.__name__) for base in kind.__mro__}
        if ("cupy", "ndarray") in names:
            return self._cupy()
        if ("torch", "Tensor") in names:
            return self._torch()
        if ("cuda", "Buffer") in names:
            return self._cuda_core
        if issubclass(kind, Global):  # which shows itself as bytes, whatever it is made of
            return lambda variable, device: int(variable.address)
        if hasattr(kind, "__cuda_array_interface__"):
            return self._array_interface
        if hasattr(kind, "__dlpack__"):
            return self._dlpack
        if hasattr(kind, "__index__") and not is_array(kind) and kind is not bool:
            return lambda value, device: int(value.__index__())
        if "cuda" in {module for module, _ in names} and hasattr(kind, "__int__"):  # CUdeviceptr
            return lambda value, device: int(value)
        return self._of_its_own

    def _of_its_own(self, value: Any, device: int | None) -> int:
        """Read what may have the interface as an attribute of its own, which its class does not know of."""
        if not is_on_gpu(value):
            raise TypeError(f"takes an array on the GPU, an address or None, not {type_name(type(value))}")
        return self._array_interface(value, device)

    def _cupy(self) -> Reader:
        # This reader and PyTorch's keep the last element type that suited: looking at its name takes long.
        suited: Any = None

        def read(array: Any, device: int | None) -> int:
            nonlocal suited
            dtype = array.dtype
            if dtype is not suited:
                self._suit(dtype.name)
                suited = dtype
                self._note("cupy", array, device)
            memory = array.data
            if device is not None and memory.device_id != device:
                self._elsewhere(memory.device_id, device)
            address: int = memory.ptr
            return address

        return read

    def _torch(self) -> Reader:
        suited: Any = None

        def read(tensor: Any, device: int | None) -> int:
            nonlocal suited
            dtype = tensor.dtype
            if dtype is not suited:
                self._suit(str(dtype).removeprefix("torch."))
                if dtype.is_complex:  # looked at each time
                    if tensor.is_conj():
                        raise TypeError("is a tensor whose conjugation is still to be done: .resolve_conj() does it")
                else:
                    suited = dtype
                    self._note("torch", tensor, device)
            if not tensor.is_cuda:
                if self._check and not tensor.is_pinned():
                    raise TypeError("is a tensor in the memory of the host: .cuda() copies it")
            elif device is not None and tensor.get_device() != device:
                self._elsewhere(tensor.get_device(), device)
            address: int = tensor.data_ptr()
            return address

        return read

    def _cuda_core(self, buffer: Any, device: int | None) -> int:
        """Read memory without element type, which DLPack would call int8."""
        if device is not None and not buffer.is_host_accessible and buffer.device_id != device:
            self._elsewhere(buffer.device_id, device)
        if not buffer.is_device_accessible:
            raise TypeError("is a buffer that the GPU cannot reach")
        return int(buffer.handle)

    def _array_interface(self, array: Any, device: int | None) -> int:
        """Source: Numba, "CUDA Array Interface (Version 3)"."""
        interface = array.__cuda_array_interface__
        address, read_only = interface["data"]
        self._suit(_dtype_name(interface["typestr"]))
        if read_only and not self._const:
            raise TypeError("is a read-only array, and the kernel may write to it")
        return int(address or 0)

    def _dlpack(self, array: Any, device: int | None) -> int:
        """Source: DLPack, "Python Specification" and "C API"."""
        kind, number = array.__dlpack_device__()
        if kind not in (2, 3, 13):  # CUDA, CUDA's pinned host memory, CUDA's managed memory
            raise TypeError("is an array in the memory of the host: copy it to the GPU")
        if kind == 2 and device is not None and number != device:
            self._elsewhere(number, device)
        capsule = array.__dlpack__(stream=-1) if kind == 2 else array.__dlpack__()  # without waiting for anything
        # A function object of our own: the one in ctypes.pythonapi is everybody's, with whatever types they set.
        prototype = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)
        get_pointer = prototype(("PyCapsule_GetPointer", ctypes.pythonapi))
        tensor = ctypes.string_at(get_pointer(capsule, b"dltensor"), 48)
        address, _, _, _, code, bits, _, _, _, offset = struct.unpack("<QiiiBBHQQQ", tensor)
        numbers = {0: "int", 1: "uint", 2: "float", 4: "bfloat", 5: "complex"}
        others = {6: "bool", 10: "float8_e4m3fn", 12: "float8_e5m2"}
        self._suit(f"{numbers[code]}{bits}" if code in numbers else others.get(code, f"DLPack's type {code}"))
        return int(address + offset)

    def _suit(self, dtype: str) -> None:
        """Raise TypeError where arrays of the element type `dtype` do not suit."""
        if self._dtypes is not None and dtype not in self._dtypes:
            wanted = " or ".join(sorted(self._dtypes))
            raise TypeError(f"takes an array of {wanted}, not of {dtype}")

    def _elsewhere(self, there: int, here: int) -> None:
        if self._check:
            raise TypeError(f"is an array on GPU {there}, and the launch is on GPU {here}")


class Word(Pointer):
    """8 bytes of which nothing more is known: an address, or an integer of either sign; where they are `bare`, as those
    of machine code, a float too."""

    def __init__(self, check: bool, bare: bool) -> None:
        super().__init__("void*", check)
        self._bare = bare

    def _reader(self, kind: type) -> Reader:
        if self._bare and issubclass(kind, float):  # NumPy's is one
            return _bits_of_double
        if hasattr(kind, "__index__") and not is_array(kind):
            return _of_either_sign
        return super()._reader(kind)

    def expression(self, value: str, name: str) -> str:
        return f"read_{name}[type({value})]({value}, device)"


def _bits_of_double(value: Any, device: int | None) -> int:
    return int.from_bytes(struct.pack("<d", value), "little")


def _of_either_sign(value: Any, device: int | None) -> int:
    number: int = value.__index__()
    if number < -1 << 63:
        raise OverflowError
    return number if number >= 0 else number + (1 << 64)


def _dtype_name(typestr: str) -> str:
    """Return what NumPy calls the type of an array interface's "<f4"."""
    kinds = {"f": "float", "i": "int", "u": "uint", "c": "complex", "V": "void", "M": "datetime", "m": "timedelta"}
    if typestr[1] == "b":
        return "bool"
    return f"{kinds.get(typestr[1], typestr[1])}{item_size(typestr) * 8}"
