"""Convert kernel arguments by the C++ and PTX types of their parameters; arrays on the GPU become pointers.

Arrays of CuPy and PyTorch are read here, those of other libraries by `parts.array_protocols`.
"""

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Literal

from .arguments import (
    BIG_ENDIAN,
    FLOAT_FORMATS,
    ON_GPU,
    ON_HOST,
    UNSIGNED_FORMATS,
    Converter,
    Kept,
    exports,
    is_array,
    is_of,
    is_on_gpu,
    refuse_lazy,
    type_name,
)
from .driver import device_with_context
from .errors import has, need
from .manifest import Manifest, Parameter

__all__ = [
    "PointerConverter",
    "Reader",
    "argument_type",
    "device_of_first",
    "element_types",
    "flattened",
    "is_by_value",
    "is_machine_word",
    "is_untyped",
    "is_vector",
    "long_size",
    "number_type",
    "pointee",
]


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
    "__nv_bfloat16": {"bfloat16", "int16", "uint16"},  # NumPy and CuPy have no bfloat16
    "__nv_fp8_e4m3": {"float8_e4m3fn", "int8", "uint8"},
    "__nv_fp8_e5m2": {"float8_e5m2", "int8", "uint8"},
    "__nv_fp8_e8m0": {"float8_e8m0fnu", "int8", "uint8"},
    "c10::Float8_e4m3fnuz": {"float8_e4m3fnuz", "int8", "uint8"},
    "c10::Float8_e5m2fnuz": {"float8_e5m2fnuz", "int8", "uint8"},
}
"""C++ type T -> element types of arrays for a parameter `T*`, named as in NumPy and PyTorch. If T is unknown, the
parameter accepts all arrays."""

_LONG_DTYPES = {
    ("long", 4): {"int32"},
    ("long", 8): {"int64"},
    ("unsigned long", 4): {"uint32"},
    ("unsigned long", 8): {"uint64"},
}
"""(C++ type T, bytes of T in the module's code) -> element types of the arrays that a parameter `T*` accepts."""

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
"""Type of PyTorch or CUTLASS -> CUDA type with the same values."""


def number_type(cpp: str) -> str:
    """Return CUDA's type of the numbers that a type of PyTorch or CUTLASS has; any other type unchanged."""
    return _CUDA_NAMES.get(cpp.replace("at::", "c10::"), cpp)


def pointee(pointer: str) -> tuple[str, bool]:
    """Return the C++ type that a pointer or reference refers to, without qualifiers, and whether it is `const`."""
    outer = pointer[:-1]
    element = " ".join(re.sub(r"\b(const|volatile|__restrict__)\b", "", outer).split())
    while (shorter := re.sub(r"<[^<>]*>", "", outer)) != outer:  # the qualifiers of template arguments
        outer = shorter
    return element, "const" in outer.rpartition("*")[2].split()


def is_vector(element: str) -> bool:
    """Return whether a C++ type is a vector of CUDA's (float4, __half2) or a complex number."""
    return bool(
        re.fullmatch(r"[a-z]+[1-4](_(16|32)a)?|__half2|__nv_bfloat162|(.*\W)?complex<[^<>]*>", number_type(element))
    )


def element_types(element: str, long_size: int | None) -> set[str] | None:
    """Return the element types that a pointer to a C++ type accepts: None for all, none if its size is unknown."""
    if element.endswith("*"):
        return {"uint64", "int64"}
    element = number_type(element)
    if is_vector(element):
        need("vector-pointers")
        from .parts.vector_pointers import numbers_of  # rare

        number, others = numbers_of(element)
        types = element_types(number, long_size) if number else others or None
        return types and types | others
    if element in ("long", "unsigned long"):
        return _LONG_DTYPES.get((element, long_size or 0), set())
    return _DTYPES.get(element)


Reader = Callable[[Any, int | None, int, Kept], int]
"""Function (argument, GPU number, stream, kept) that returns an argument's address for a launch.

The stream waits for the work that computes the argument. What must live until the launch has ended is added to `kept`.
The GPU number is None if there is one GPU; the stream is `NO_WAIT` without a launch. Raises TypeError for an argument
that the parameter does not accept, and for an array on another GPU.
"""


class PointerConverter(dict[type, Reader], Converter):
    """Converts an array to its address; a mapping from the type of an argument to its reader, chosen at first use."""

    def __init__(self, cpp: str, check: bool, long_size: int | None = None) -> None:
        dict.__init__(self)
        Converter.__init__(self, "Q")
        self.is_checked = check
        element, self.is_const = pointee(cpp)
        self._dtypes = element_types(element, long_size) if check else None
        self.alignment = 1
        """Number of bytes of which an argument's address must be a multiple."""
        if check and is_vector(element):
            from .parts.vector_pointers import alignment  # `element_types` has asked for the part

            self.alignment = alignment(number_type(element), long_size)

    def expression(self, value: str, name: str) -> str:
        address = self._address(value, name)
        return address if self.alignment == 1 else self.aligned(address, value, name)

    def aligned(self, address: str, value: str, name: str) -> str:
        """Return the expression of an address, with a check of its alignment."""
        at = f"at_{value}"
        return f"({at} if not ({at} := {address}) & {self.alignment - 1} else misaligned_{name}({at}))"

    def _address(self, value: str, name: str) -> str:
        """Return Python source for the address of the argument `value`, whose alignment is not checked. `name` is part
        of the source's global names: read_a0 for "a0"."""
        kind = f"type_{value}"  # the type of the value, by which the launch function also finds the stream
        here = "(device is None or {} == device)"  # None where there is one GPU
        known = f"{value}.dtype is dtype_{name} and {here}"
        cupy = f"{value}.data.ptr if {kind} is cupy_{name} and {known.format(f'{value}.data.device_id')}"
        # The negative bit is each tensor's. The address 0 is one of an empty tensor, or of one that has no memory.
        is_known = f"{kind} is torch_{name} and {known.format(f'{value}.get_device()')} and {value}.is_cuda"
        is_known += f" and not {value}.is_neg()"
        read = f"read_{name}[{kind}]({value}, device, stream, kept)"
        torch = f"({value}.data_ptr() or {read}) if {is_known}"
        return f"{value} if {kind} is int else {cupy} else {torch} else {read}"

    def namespace(self, name: str) -> dict[str, Any]:
        names = {f"read_{name}": self, f"cupy_{name}": None, f"torch_{name}": None, f"dtype_{name}": None}
        return names if self.alignment == 1 else {**names, f"misaligned_{name}": self.refuse_address}

    def refuse_address(self, address: int) -> None:
        """Raise TypeError: an address is not a multiple of the alignment."""
        raise TypeError(
            f"is at {address:#x}, which is not a multiple of the {self.alignment} bytes that its type needs"
        )

    def _remember(self, library: str, array: Any) -> None:
        """Let the generated source read arrays of the class and element type of `array` without a call of a reader.
        `library` is "cupy" or "torch"."""
        for name, namespace in self._namespaces:
            namespace[f"dtype_{name}"], namespace[f"{library}_{name}"] = array.dtype, type(array)

    def __missing__(self, kind: type) -> Reader:
        reader = self._reader_for(kind)
        self[kind] = reader
        return reader

    def _reader_for(self, kind: type) -> Reader:
        if kind is type(None):
            return lambda value, device, stream, kept: 0
        if is_of(kind, "cupy", "ndarray"):
            return self._cupy_reader()
        if is_of(kind, "torch", "Tensor"):
            return self._torch_reader()
        if getattr(kind, "is_module_variable", False):  # its array interface says bytes, whatever its type
            return lambda variable, device, stream, kept: int(variable.address)
        if exports(kind) or hasattr(kind, "__cuda_array_interface__") or is_of(kind, "cuda", "Buffer"):
            return self.reader_by_protocol(kind)
        if hasattr(kind, "__index__") and not is_array(kind) and kind is not bool:
            return lambda value, device, stream, kept: int(value.__index__())
        libraries = {base.__module__.partition(".")[0] for base in kind.__mro__}
        if "cuda" in libraries and hasattr(kind, "__int__"):  # CUdeviceptr
            return lambda value, device, stream, kept: int(value)
        return self._read_instance

    def _read_instance(self, value: Any, device: int | None, stream: int, kept: Kept) -> int:
        """Return the address of an array that has an array interface though its class has none; raise TypeError for
        other objects."""
        if not is_on_gpu(value):
            raise TypeError(f"takes an array on the GPU, an address or None, not {type_name(type(value))}")
        return self.reader_by_protocol(type(value))(value, device, stream, kept)

    def reader_by_protocol(self, kind: type) -> Reader:
        """Return the reader of arrays that have DLPack or the CUDA array interface."""
        if not has("array-protocols"):
            return _refuse
        from .parts.array_protocols import reader_for  # rare

        return reader_for(self, kind)

    def _cupy_reader(self) -> Reader:
        # This reader and PyTorch's remember the last accepted element type, since reading its name is slow.
        accepted: Any = None

        def read(array: Any, device: int | None, stream: int, kept: Kept) -> int:
            nonlocal accepted
            dtype = array.dtype
            if dtype is not accepted:
                self.check_dtype(dtype.name)
                if self.is_checked and not dtype.isnative:
                    raise TypeError(BIG_ENDIAN)
                accepted = dtype
                self._remember("cupy", array)
            memory = array.data
            if device is not None and memory.device_id != device:
                self.refuse_device(memory.device_id, device)
            address: int = memory.ptr
            return address

        return read

    def _torch_reader(self) -> Reader:
        accepted: Any = None

        def read(tensor: Any, device: int | None, stream: int, kept: Kept) -> int:
            nonlocal accepted
            dtype = tensor.dtype
            if dtype is not accepted:
                name = str(dtype).removeprefix("torch.")
                self.check_dtype(name)
                if self.is_checked and name.startswith(("qint", "quint")):
                    raise TypeError("is a quantized tensor: tensor.int_repr() has its integers")
                accepted = dtype
            refuse_lazy(tensor)
            if not tensor.is_cuda:
                self._check_host_tensor(tensor)
            elif device is not None and tensor.get_device() != device:
                self.refuse_device(tensor.get_device(), device)
            address: int = tensor.data_ptr()
            if not address and tensor.numel():
                raise TypeError("is a tensor without memory, such as PyTorch's fake tensors and zero tensors")
            if tensor.is_cuda and not dtype.is_complex and hasattr(tensor, "is_neg"):  # else check each one here
                self._remember("torch", tensor)
            return address

        return read

    def _check_host_tensor(self, tensor: Any) -> None:
        """If arguments are checked, raise TypeError for a tensor neither on a CUDA GPU nor in pinned host memory."""
        place = str(tensor.device)
        if self.is_checked and not place.startswith("cpu"):
            raise TypeError(f"is a tensor on the device {place!r}, not on a GPU of CUDA")
        if self.is_checked and not tensor.is_pinned():
            raise TypeError("is a tensor in host memory: .cuda() copies it")

    def argument(self, address: int, shape: Sequence[int], strides: Sequence[int] | None, unit: int = 1) -> Any:
        """Return what a launch writes for an array: its address. (`parts.by_value` writes the rest too.)

        `strides` are in elements, or in bytes if `unit` is the bytes of an element; None means C order.
        """
        return address

    def check_dtype(self, dtype: str) -> None:
        """Raise TypeError if the parameter does not accept arrays of this element type."""
        if self._dtypes is not None and not self._dtypes:
            raise TypeError(
                "is an array, but how many bytes a long has in this code is not known: 4 if it was built on Windows, "
                "else 8. Pass the array's address"
            )
        if self._dtypes is not None and dtype not in self._dtypes:
            wanted = " or ".join(sorted(self._dtypes))
            raise TypeError(f"takes an array of {wanted}, not of {dtype}")

    def refuse_device(self, device: int, launch_device: int) -> None:
        """Raise TypeError: an array is on another GPU than the launch."""
        if self.is_checked:
            raise TypeError(f"is an array on GPU {device}, but the launch is on GPU {launch_device}")


def _refuse(array: Any, device: int | None, stream: int, kept: Kept) -> int:
    """Raise TypeError for an array in host memory. For others, raise CudaWheelError: the part `array-protocols` is
    missing."""
    if exports(type(array)) and array.__dlpack_device__()[0] == ON_HOST and not is_on_gpu(array):
        raise TypeError("is an array in host memory: copy it to the GPU")
    need("array-protocols")
    return 0  # not reached


def device_of_first(values: tuple[Any, ...]) -> int | None:
    """Make the primary context of the first array's GPU current and return its number; None without an array.

    This is for threads without a context, such as PyTorch's for autograd.
    """
    for value in flattened(values):
        with suppress(Exception):  # what is wrong with an argument is reported later
            kind, number = value.__dlpack_device__()
            if kind == ON_GPU:
                return device_with_context(number)
    return None


def flattened(values: tuple[Any, ...]) -> list[Any]:
    """Return arguments, with the elements of a tuple or list in its place."""
    return [each for value in values for each in (value if type(value) in (tuple, list) else (value,))]


_FLOAT_SIZES = {"float": 4, "double": 8}

_INTEGER_SIZES = {"char": (1,), "signed char": (1,), "short": (2,), "int": (4,), "long": (4, 8), "long long": (8,)}
"""Integer type -> its possible sizes in bytes. `long` has 4 bytes in code that was built on Windows, and 8 in other
code."""


def argument_type(parameter: Parameter) -> Literal["Pointer", "Integer", "Real", "bool", "Struct"]:
    """Return the type that stubs give a parameter."""
    ptx_type, size, cpp = parameter.type, parameter.size, parameter.cpp
    if cpp.endswith(("*", "&")):
        return "Pointer"
    # Before the PTX type: with __grid_constant__, a number is an array of bytes in PTX.
    if number_type(cpp) in ("__half", "__nv_bfloat16") or _FLOAT_SIZES.get(cpp) == size:
        return "Real"
    if (cpp, size) == ("bool", 1):
        return "bool"
    if _is_integer(parameter):
        return "Integer"
    if ptx_type == "b8" or size not in UNSIGNED_FORMATS or is_machine_word(parameter):
        return "Struct"
    if ptx_type in FLOAT_FORMATS:
        return "Real"
    return "Pointer" if size == 8 and not cpp else "Integer"


def is_untyped(parameter: Parameter) -> bool:
    """Return whether the C++ type of a number or address, or a number's sign, is not known."""
    kind, cpp = argument_type(parameter), parameter.cpp
    if kind == "Integer":  # the sign of a char depends on the machine that the code was built on
        return cpp == "char" or not _is_integer(parameter)
    return (kind == "Pointer" and not cpp) or (kind == "Struct" and is_machine_word(parameter))


def is_by_value(parameter: Parameter) -> bool:
    """Return whether the part `by-value` converts a parameter's arguments."""
    is_array = (
        re.search(r"Accessor(32|64)?<|TensorInfo<|[aA]rray<", parameter.cpp) and argument_type(parameter) == "Struct"
    )
    return bool(is_array) or number_type(parameter.cpp) == "__nv_bfloat16"


def is_machine_word(parameter: Parameter) -> bool:
    """Return whether only the size of a parameter is known, as in machine code: 1, 2 or 4 bytes."""
    return parameter.type == f"b{8 * parameter.size}" and parameter.size in (1, 2, 4) and not parameter.cpp


def _is_integer(parameter: Parameter) -> bool:
    return parameter.size in _INTEGER_SIZES.get(parameter.cpp.removeprefix("unsigned "), ())


def long_size(manifest: Manifest) -> int | None:
    """Return the bytes of a `long` in a module's code; None if unknown."""
    if manifest.long_size is not None:
        return manifest.long_size
    parameters = (parameter for kernel in manifest.kernels for parameter in kernel.parameters)
    return next((each.size for each in parameters if each.cpp in ("long", "unsigned long")), None)
