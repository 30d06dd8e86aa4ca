"""Convert arrays on the GPU to pointer arguments: CuPy, PyTorch, cuda.core, the CUDA array interface, DLPack."""

import ctypes
import re
import struct
from collections.abc import Callable
from typing import Any

from ..driver import cuda_driver
from ..memory.module_variables import Global
from .arguments import LONG_TYPE_NAMES, Converter, any_integer, integer_of_unknown_sign
from .buffers import (
    BIG_ENDIAN,
    is_array,
    is_of,
    is_on_gpu,
    item_size,
    plain_number,
    refuse_interface,
    refuse_lazy,
    type_name,
)
from .driver_functions import memory_attribute

__all__ = ["PointerConverter", "RawWordConverter", "element_types", "pointee"]

_DTYPES = {
    "bool": {"bool", "uint8"},
    "char": {"int8", "uint8"},
    "signed char": {"int8"},
    "unsigned char": {"uint8", "bool"},
    "short": {"int16"},
    "unsigned short": {"uint16"},
    "int": {"int32"},
    "unsigned int": {"uint32"},
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
    "__nv_fp8_e8m0": {"float8_e8m0fnu", "int8", "uint8"},
    "c10::Float8_e4m3fnuz": {"float8_e4m3fnuz", "int8", "uint8"},
    "c10::Float8_e5m2fnuz": {"float8_e5m2fnuz", "int8", "uint8"},
    "c10::complex<__half>": {"complex32"},
}
"""The element types of arrays, as NumPy and PyTorch name them, that a pointer to a C++ type accepts.

A pointer to any other type accepts all arrays."""

_LONG_DTYPES = {
    ("long", 4): {"int32"},
    ("long", 8): {"int64"},
    ("unsigned long", 4): {"uint32"},
    ("unsigned long", 8): {"uint64"},
}
"""The same for the types whose size in bytes depends on the machine that the code was built on."""

_CUDA_NAMES = {
    "c10::Half": "__half",
    "c10::BFloat16": "__nv_bfloat16",
    "c10::complex<c10::Half>": "c10::complex<__half>",
    "c10::Float8_e4m3fn": "__nv_fp8_e4m3",
    "c10::Float8_e5m2": "__nv_fp8_e5m2",
    "c10::Float8_e8m0fnu": "__nv_fp8_e8m0",
    "cutlass::half_t": "__half",
    "cutlass::bfloat16_t": "__nv_bfloat16",
}
"""CUDA's types with the same values as PyTorch's and CUTLASS's."""


def pointee(pointer: str) -> tuple[str, bool]:
    """Return the C++ type that a pointer or reference refers to, without qualifiers, and whether it is `const`."""
    outer = pointer[:-1]
    element = " ".join(re.sub(r"\b(const|volatile|__restrict__)\b", "", outer).split())
    while (shorter := re.sub(r"<[^<>]*>", "", outer)) != outer:  # the qualifiers of template arguments
        outer = shorter
    return element, "const" in outer.rpartition("*")[2].split()


def element_types(element: str, long_size: int | None) -> set[str] | None:
    """Return the element types that a pointer to this C++ type accepts: None for all, and none where the size of the
    type is not known."""
    if element.endswith("*"):
        return {"uint64", "int64"}
    element = _CUDA_NAMES.get(element.replace("at::", "c10::"), element)
    vector = re.fullmatch(r"([a-z]+)[1-4](_(16|32)a)?", element)
    if vector and vector[1] in ("float", "double"):
        return {*_DTYPES[vector[1]], "complex64" if vector[1] == "float" else "complex128"}
    if vector:
        element = LONG_TYPE_NAMES.get(vector[1], vector[1])
    if element in ("long", "unsigned long"):
        return _LONG_DTYPES.get((element, long_size or 0), set())
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

    def __init__(self, cpp: str, check: bool, long_size: int | None = None) -> None:
        dict.__init__(self)
        Converter.__init__(self, "Q")
        self._check = check
        element, self._const = pointee(cpp)
        self._dtypes = element_types(element, long_size) if check else None

    def expression(self, value: str, name: str) -> str:
        kind = f"kind_{value}"  # the type of the value, by which the launch function also finds the stream
        cupy = f"{value}.data.ptr if {kind} is cupy_{name} and {value}.dtype is dtype_{name}"
        # The negative bit is each tensor's. The address 0 is one of an empty tensor, or of one that has no memory.
        is_known = (
            f"{kind} is torch_{name} and {value}.dtype is dtype_{name} and {value}.is_cuda and not {value}.is_neg()"
        )
        read = f"read_{name}[{kind}]({value}, device)"
        torch = f"({value}.data_ptr() or {read}) if {is_known}"
        return f"{value} if {kind} is int else {cupy} else {torch} else {read}"

    def bound_expression(self, value: str, sample: Any, device: str) -> str:
        read = f"read_{value}[type({value})]({value}, {device})"
        if type(sample) is int:
            return f"{value} if type({value}) is int else {read}"
        if is_of(type(sample), "cupy", "ndarray"):
            return f"{value}.data.ptr"
        return f"{value}.data_ptr()" if is_of(type(sample), "torch", "Tensor") else read

    def namespace(self, name: str) -> dict[str, Any]:
        return {f"read_{name}": self, f"cupy_{name}": None, f"torch_{name}": None, f"dtype_{name}": None}

    def _remember(self, library: str, array: Any, device: int | None) -> None:
        """Let the expression read arrays like this one without a call: those of CuPy and PyTorch are the most frequent.

        With several GPUs, the reader must check each array's.
        """
        for name, namespace in self._namespaces if device is None else ():
            namespace[f"dtype_{name}"], namespace[f"{library}_{name}"] = array.dtype, type(array)

    def __missing__(self, kind: type) -> Reader:
        reader = self._reader_for(kind)
        self[kind] = reader
        return reader

    def _reader_for(self, kind: type) -> Reader:
        if kind is type(None):
            return lambda value, device: 0
        if is_of(kind, "cupy", "ndarray"):
            return self._cupy_reader()
        if is_of(kind, "torch", "Tensor"):
            return self._torch_reader()
        if is_of(kind, "cuda", "Buffer"):
            return self._read_cuda_core_buffer
        if issubclass(kind, Global):  # its array interface says bytes, whatever the type of the variable
            return lambda variable, device: int(variable.address)
        if hasattr(kind, "__cuda_array_interface__"):
            return self._read_array_interface
        if hasattr(kind, "__dlpack__"):
            return self._read_dlpack
        if hasattr(kind, "__index__") and not is_array(kind) and kind is not bool:
            return lambda value, device: int(value.__index__())
        libraries = {base.__module__.partition(".")[0] for base in kind.__mro__}
        if "cuda" in libraries and hasattr(kind, "__int__"):  # CUdeviceptr
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
                if self._check and not dtype.isnative:
                    raise TypeError(BIG_ENDIAN)
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
                name = str(dtype).removeprefix("torch.")
                self._check_dtype(name)
                if self._check and name.startswith(("qint", "quint")):
                    raise TypeError("is a quantized tensor: tensor.int_repr() has its integers")
                accepted = dtype
            refuse_lazy(tensor)
            if not tensor.is_cuda:
                self._check_host_tensor(tensor)
            elif device is not None and tensor.get_device() != device:
                self._refuse_device(tensor.get_device(), device)
            address: int = tensor.data_ptr()
            if not address and tensor.numel():
                raise TypeError("is a tensor without memory, such as PyTorch's fake tensors and zero tensors")
            if tensor.is_cuda and not dtype.is_complex and hasattr(tensor, "is_neg"):  # else check each one here
                self._remember("torch", tensor, device)
            return address

        return read

    def _check_host_tensor(self, tensor: Any) -> None:
        """Raise TypeError for a tensor that is not in the GPU's memory, unless the GPU can read it."""
        place = str(tensor.device)
        if self._check and not place.startswith("cpu"):
            raise TypeError(f"is a tensor on the device {place!r}, not on a GPU of CUDA")
        if self._check and not tensor.is_pinned():
            raise TypeError("is a tensor in host memory: .cuda() copies it")

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
        if self._check:
            refuse_interface(interface)
        self._check_dtype(_dtype_name(interface["typestr"]))
        self._check_access(read_only)
        if self._check and address and device is not None:
            found = _device_of(address)
            if found not in (None, device):
                self._refuse_device(found, device)
        return int(address or 0)

    def _read_dlpack(self, array: Any, device: int | None) -> int:
        """Read an array by DLPack. Source: DLPack, "Python Specification" and "C API"."""
        kind, number = array.__dlpack_device__()
        if kind not in (2, 3, 13):  # CUDA, CUDA's pinned host memory, CUDA's managed memory
            raise TypeError("is an array in host memory: copy it to the GPU")
        if kind == 2 and device is not None and number != device:
            self._refuse_device(number, device)
        options: dict[str, Any] = {"stream": -1} if kind == 2 else {}  # -1: no synchronisation
        try:
            capsule = array.__dlpack__(max_version=(1, 0), **options)
        except TypeError:  # a library from before DLPack 1.0
            capsule = array.__dlpack__(**options)
        name = _capsule_function("PyCapsule_GetName", ctypes.c_char_p)(capsule)
        pointer = _capsule_function("PyCapsule_GetPointer", ctypes.c_void_p, ctypes.c_char_p)(capsule, name)
        if name == b"dltensor_versioned":  # version, context, deleter and flags come before the DLTensor
            self._check_access(bool(ctypes.c_uint64.from_address(pointer + 24).value & 1))
            pointer += 32
        tensor = ctypes.string_at(pointer, 48)
        address, _, _, _, code, bits, _, _, _, offset = struct.unpack("<QiiiBBHQQQ", tensor)
        numbers = {0: "int", 1: "uint", 2: "float", 4: "bfloat", 5: "complex"}
        others = {6: "bool", 10: "float8_e4m3fn", 12: "float8_e5m2"}
        self._check_dtype(f"{numbers[code]}{bits}" if code in numbers else others.get(code, f"DLPack's type {code}"))
        return int(address + offset)

    def _check_dtype(self, dtype: str) -> None:
        """Raise TypeError where the parameter does not accept arrays of this element type."""
        if self._dtypes is not None and not self._dtypes:
            raise TypeError(
                "is an array, but how many bytes a long has in this code is not known: 4 if it was built on Windows, "
                "else 8. Pass the array's address"
            )
        if self._dtypes is not None and dtype not in self._dtypes:
            wanted = " or ".join(sorted(self._dtypes))
            raise TypeError(f"takes an array of {wanted}, not of {dtype}")

    def _check_access(self, read_only: bool) -> None:
        """Raise TypeError for a read-only array where the kernel may write."""
        if read_only and self._check and not self._const:
            raise TypeError("is a read-only array, but the kernel may write to it")

    def _refuse_device(self, device: int, launch_device: int) -> None:
        if self._check:
            raise TypeError(f"is an array on GPU {device}, but the launch is on GPU {launch_device}")


class RawWordConverter(PointerConverter):
    """Converts an argument of 8 bytes whose C++ type is unknown: an address, or an integer that is certain to have the
    same bytes with and without a sign.

    With `accept_floats`, as for a parameter of machine code, a float too, and any integer.
    """

    def __init__(self, check: bool, accept_floats: bool) -> None:
        super().__init__("void*", check)
        self._accept_floats = accept_floats

    def _reader_for(self, kind: type) -> Reader:
        if self._accept_floats and issubclass(kind, float):  # NumPy's float64 is a subclass
            return _read_double
        if hasattr(kind, "__index__") and not is_array(kind):
            return _read_any_integer if self._accept_floats or not self._check else _read_integer
        if is_of(kind, "numpy", "bool") or is_of(kind, "numpy", "bool_") or is_of(kind, "numpy", "ndarray"):
            return self._read_plain_number
        return super()._reader_for(kind)

    def expression(self, value: str, name: str) -> str:
        fits = f"kind_{value} is int and 0 <= {value} < {1 << 63}"
        return f"{value} if {fits} else read_{name}[kind_{value}]({value}, device)"

    def _read_plain_number(self, value: Any, device: int | None) -> int:
        number = plain_number(value)
        if number is value:  # an array with dimensions
            return self._read_instance(value, device)
        return self[type(number)](number, device)


def _capsule_function(name: str, result: Any, *further: Any) -> Any:
    """Return a function of Python's C API that takes a capsule."""
    # The function object in ctypes.pythonapi is shared, and other code may set its types: use a private one.
    return ctypes.PYFUNCTYPE(result, ctypes.py_object, *further)((name, ctypes.pythonapi))


def _read_double(value: Any, device: int | None) -> int:
    return int.from_bytes(struct.pack("<d", value), "little")


def _read_integer(value: Any, device: int | None) -> int:
    return integer_of_unknown_sign(value, 8)


def _read_any_integer(value: Any, device: int | None) -> int:
    return any_integer(value, 8)


def _device_of(address: int) -> int | None:
    """Return the number of the GPU whose memory an address is in; None for memory that every GPU can access, and for
    memory that the driver does not know."""
    is_host = memory_attribute("MEMORY_TYPE", address) == int(cuda_driver().CUmemorytype.CU_MEMORYTYPE_HOST)
    return None if is_host or memory_attribute("IS_MANAGED", address) else memory_attribute("DEVICE_ORDINAL", address)


def _dtype_name(typestr: str) -> str:
    """Return NumPy's name of an array interface's type: "float32" for "<f4"."""
    kinds = {"f": "float", "i": "int", "u": "uint", "c": "complex", "V": "void", "M": "datetime", "m": "timedelta"}
    if typestr[1] == "b":
        return "bool"
    return f"{kinds.get(typestr[1], typestr[1])}{item_size(typestr) * 8}"
