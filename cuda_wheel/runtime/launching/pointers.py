"""Convert arrays on the GPU to pointer arguments: CuPy, PyTorch, cuda.core, the CUDA array interface, DLPack."""

import ctypes
import re
import struct
from collections.abc import Callable
from typing import Any

from .arguments import LONG_TYPE_NAMES, Converter
from .buffers import is_array, is_on_gpu, item_size, type_name
from .module_variables import Global

__all__ = ["PointerConverter", "RawWordConverter"]

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
    "__nv_bfloat16": {"bfloat16", "int16", "uint16"},  # NumPy and CuPy have no bfloat16
    "__nv_bfloat162": {"bfloat16", "int16", "uint16"},
    "__nv_fp8_e4m3": {"float8_e4m3fn", "int8", "uint8"},
    "__nv_fp8_e5m2": {"float8_e5m2", "int8", "uint8"},
}
"""The element types of arrays, as NumPy and PyTorch name them, that a pointer to a C++ type accepts.

A pointer to any other type accepts all arrays."""


def _dtypes(pointer: str) -> set[str] | None:
    """Return the element types that a pointer of this C++ type accepts; None for all."""
    unqualified = re.sub(r"\b(const|volatile)\b", "", pointer[:-1])
    element = " ".join(unqualified.replace("__restrict__", "").split())
    if element.endswith("*"):
        return {"uint64", "int64"}
    vector = re.fullmatch(r"([a-z]+)[1-4](_(16|32)a)?", element)
    if vector and vector[1] in ("float", "double"):
        return {*_DTYPES[vector[1]], "complex64" if vector[1] == "float" else "complex128"}
    if vector:
        return _DTYPES.get(LONG_TYPE_NAMES.get(vector[1], vector[1]))
    if scalar := re.search(r"\bcomplex<(float|double)>$", element):
        return {"complex64" if scalar[1] == "float" else "complex128"}
    return _DTYPES.get(element)


Reader = Callable[[Any, int | None], int]
"""Returns the address of an argument; takes the argument and the number of the GPU of the launch, None where there is
one GPU. Raises TypeError where the parameter does not accept the argument, or where that is on another GPU."""


class PointerConverter(dict[type, Reader], Converter):
    """Converts an array to its address.

    It is a mapping from the type of an argument to the reader for it, which is chosen when the type is first met.
    """

    stub_type = "Pointer"

    def __init__(self, cpp: str, check: bool) -> None:
        dict.__init__(self)
        Converter.__init__(self, "Q")
        self._check = check
        self._dtypes = _dtypes(cpp) if check else None
        self._namespaces: list[tuple[str, dict[str, Any]]] = []
        self._const = not check or "const" in cpp.replace("*", " ").split() or cpp == "void*"

    def expression(self, value: str, name: str) -> str:
        cupy = f"{value}.data.ptr if kind is cupy_{name} and {value}.dtype is dtype_{name}"
        torch = f"{value}.data_ptr() if kind is torch_{name} and {value}.dtype is dtype_{name} and {value}.is_cuda"
        known = f"{value} if (kind := type({value})) is int else {cupy} else {torch}"
        return f"{known} else read_{name}[kind]({value}, device)"

    def namespace(self, name: str) -> dict[str, Any]:
        return {f"read_{name}": self, f"cupy_{name}": None, f"torch_{name}": None, f"dtype_{name}": None}

    def update_in(self, namespace: dict[str, Any], name: str) -> None:
        """Keep the types in this namespace of a launch function up to date.

        The expression reads the arrays of CuPy and PyTorch, which are the most frequent, without a call, once a reader
        has accepted their element type.
        """
        self._namespaces.append((name, namespace))

    def _remember(self, library: str, array: Any, device: int | None) -> None:
        """Let the expression read arrays like this one. With several GPUs, the reader must check each array's."""
        for name, namespace in self._namespaces if device is None else ():
            namespace[f"dtype_{name}"], namespace[f"{library}_{name}"] = array.dtype, type(array)

    def __missing__(self, kind: type) -> Reader:
        reader = self._reader_for(kind)
        self[kind] = reader
        return reader

    def _reader_for(self, kind: type) -> Reader:
        if kind is type(None):
            return lambda value, device: 0
        names = {(base.__module__.partition(".")[0], base.__name__) for base in kind.__mro__}
        if ("cupy", "ndarray") in names:
            return self._cupy_reader()
        if ("torch", "Tensor") in names:
            return self._torch_reader()
        if ("cuda", "Buffer") in names:
            return self._read_cuda_core_buffer
        if issubclass(kind, Global):  # its array interface says bytes, whatever the type of the variable
            return lambda variable, device: int(variable.address)
        if hasattr(kind, "__cuda_array_interface__"):
            return self._read_array_interface
        if hasattr(kind, "__dlpack__"):
            return self._read_dlpack
        if hasattr(kind, "__index__") and not is_array(kind) and kind is not bool:
            return lambda value, device: int(value.__index__())
        if "cuda" in {module for module, _ in names} and hasattr(kind, "__int__"):  # CUdeviceptr
            return lambda value, device: int(value)
        return self._read_instance

    def _read_instance(self, value: Any, device: int | None) -> int:
        """Read a value that may have the array interface as an instance attribute, which its class does not show."""
        if not is_on_gpu(value):
            raise TypeError(f"takes an array on the GPU, an address or None, not {type_name(type(value))}")
        return self._read_array_interface(value, device)

    def _cupy_reader(self) -> Reader:
        # This reader and PyTorch's remember the last accepted element type, since reading its name is slow.
        accepted: Any = None

        def read(array: Any, device: int | None) -> int:
            nonlocal accepted
            dtype = array.dtype
            if dtype is not accepted:
                self._check_dtype(dtype.name)
                accepted = dtype
                self._remember("cupy", array, device)
            memory = array.data
            if device is not None and memory.device_id != device:
                self._refuse_device(memory.device_id, device)
            address: int = memory.ptr
            return address

        return read

    def _torch_reader(self) -> Reader:
        accepted: Any = None

        def read(tensor: Any, device: int | None) -> int:
            nonlocal accepted
            dtype = tensor.dtype
            if dtype is not accepted:
                self._check_dtype(str(dtype).removeprefix("torch."))
                if dtype.is_complex:  # the conjugate bit is the tensor's: check each one
                    if tensor.is_conj():
                        raise TypeError("is a lazily conjugated tensor: pass tensor.resolve_conj()")
                else:
                    accepted = dtype
                    self._remember("torch", tensor, device)
            if not tensor.is_cuda:
                if self._check and not tensor.is_pinned():
                    raise TypeError("is a tensor in host memory: .cuda() copies it")
            elif device is not None and tensor.get_device() != device:
                self._refuse_device(tensor.get_device(), device)
            address: int = tensor.data_ptr()
            return address

        return read

    def _read_cuda_core_buffer(self, buffer: Any, device: int | None) -> int:
        """Read a buffer, which has no element type; its DLPack interface would say int8."""
        if device is not None and not buffer.is_host_accessible and buffer.device_id != device:
            self._refuse_device(buffer.device_id, device)
        if not buffer.is_device_accessible:
            raise TypeError("is a buffer that the GPU cannot access")
        return int(buffer.handle)

    def _read_array_interface(self, array: Any, device: int | None) -> int:
        """Read an array by the CUDA array interface. Source: Numba, "CUDA Array Interface (Version 3)"."""
        interface = array.__cuda_array_interface__
        address, read_only = interface["data"]
        self._check_dtype(_dtype_name(interface["typestr"]))
        if read_only and not self._const:
            raise TypeError("is a read-only array, but the kernel may write to it")
        return int(address or 0)

    def _read_dlpack(self, array: Any, device: int | None) -> int:
        """Read an array by DLPack. Source: DLPack, "Python Specification" and "C API"."""
        kind, number = array.__dlpack_device__()
        if kind not in (2, 3, 13):  # CUDA, CUDA's pinned host memory, CUDA's managed memory
            raise TypeError("is an array in host memory: copy it to the GPU")
        if kind == 2 and device is not None and number != device:
            self._refuse_device(number, device)
        capsule = array.__dlpack__(stream=-1) if kind == 2 else array.__dlpack__()  # -1: no synchronisation
        # The function object in ctypes.pythonapi is shared, and other code may set its types: use a private one.
        prototype = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)
        get_pointer = prototype(("PyCapsule_GetPointer", ctypes.pythonapi))
        tensor = ctypes.string_at(get_pointer(capsule, b"dltensor"), 48)
        address, _, _, _, code, bits, _, _, _, offset = struct.unpack("<QiiiBBHQQQ", tensor)
        numbers = {0: "int", 1: "uint", 2: "float", 4: "bfloat", 5: "complex"}
        others = {6: "bool", 10: "float8_e4m3fn", 12: "float8_e5m2"}
        self._check_dtype(f"{numbers[code]}{bits}" if code in numbers else others.get(code, f"DLPack's type {code}"))
        return int(address + offset)

    def _check_dtype(self, dtype: str) -> None:
        """Raise TypeError where the parameter does not accept arrays of this element type."""
        if self._dtypes is not None and dtype not in self._dtypes:
            wanted = " or ".join(sorted(self._dtypes))
            raise TypeError(f"takes an array of {wanted}, not of {dtype}")

    def _refuse_device(self, device: int, launch_device: int) -> None:
        if self._check:
            raise TypeError(f"is an array on GPU {device}, but the launch is on GPU {launch_device}")


class RawWordConverter(PointerConverter):
    """Converts an argument of 8 bytes whose C++ type is unknown: an address, or a signed or unsigned integer.

    With `accept_floats`, as for a parameter of machine code, a float too.
    """

    def __init__(self, check: bool, accept_floats: bool) -> None:
        super().__init__("void*", check)
        self._accept_floats = accept_floats

    def _reader_for(self, kind: type) -> Reader:
        if self._accept_floats and issubclass(kind, float):  # NumPy's float64 is a subclass
            return _read_double
        if hasattr(kind, "__index__") and not is_array(kind):
            return _read_integer
        return super()._reader_for(kind)

    def expression(self, value: str, name: str) -> str:
        return f"read_{name}[type({value})]({value}, device)"


def _read_double(value: Any, device: int | None) -> int:
    return int.from_bytes(struct.pack("<d", value), "little")


def _read_integer(value: Any, device: int | None) -> int:
    number: int = value.__index__()
    if number < -1 << 63:
        raise OverflowError
    return number if number >= 0 else number + (1 << 64)


def _dtype_name(typestr: str) -> str:
    """Return NumPy's name of an array interface's type: "float32" for "<f4"."""
    kinds = {"f": "float", "i": "int", "u": "uint", "c": "complex", "V": "void", "M": "datetime", "m": "timedelta"}
    if typestr[1] == "b":
        return "bool"
    return f"{kinds.get(typestr[1], typestr[1])}{item_size(typestr) * 8}"
