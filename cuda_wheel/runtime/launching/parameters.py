"""Choose the converter for a kernel parameter by its C++ and PTX types."""

from ..manifest import Manifest, Parameter
from .arguments import (
    FLOAT_FORMATS,
    UNSIGNED_FORMATS,
    BFloat16Converter,
    BoolConverter,
    Converter,
    FloatConverter,
    IntegerConverter,
    RawScalarConverter,
    UnknownSignConverter,
)
from .pointers import PointerConverter, RawWordConverter
from .structs import StructConverter

__all__ = ["argument_type", "converter_for", "long_size"]

_FLOAT_SIZES = {"float": 4, "double": 8}

_INTEGER_SIZES = {"char": (1,), "signed char": (1,), "short": (2,), "int": (4,), "long": (4, 8), "long long": (8,)}
"""Sizes in bytes. A `long` has 4 bytes in code that was built on Windows, and 8 in other code."""


def argument_type(parameter: Parameter) -> str:
    """Return the type that stubs give a parameter: "Pointer", "Integer", "Real", "bool" or "Struct"."""
    return converter_for(parameter, True).stub_type


def long_size(manifest: Manifest) -> int | None:
    """Return the bytes of a `long` in a module's code; None if neither the build nor any kernel's parameter tells."""
    if manifest.long_size is not None:
        return manifest.long_size
    parameters = (parameter for kernel in manifest.kernels for parameter in kernel.parameters)
    return next((each.size for each in parameters if each.cpp in ("long", "unsigned long")), None)


def converter_for(parameter: Parameter, check: bool, long_size: int | None = None) -> Converter:
    """Return the converter of a parameter's arguments, with or without checks.

    `long_size` is the number of bytes of a `long` in the kernel's code, None if it is not known.
    """
    ptx_type, size, cpp = parameter.type, parameter.size, parameter.cpp
    if cpp.endswith(("*", "&")):
        return PointerConverter(cpp, check, long_size)
    if cpp == "__half":
        return FloatConverter("e")
    if cpp == "__nv_bfloat16":
        return BFloat16Converter()
    # Before the PTX type: with __grid_constant__, a number is an array of bytes in PTX.
    is_float = _FLOAT_SIZES.get(cpp) == size
    if is_float or size in _INTEGER_SIZES.get(cpp.removeprefix("unsigned "), ()) or (cpp, size) == ("bool", 1):
        return _number_converter(size, cpp, is_float, check)
    if ptx_type == f"b{8 * size}" and size in (1, 2, 4) and not cpp:
        return RawScalarConverter(size)
    if ptx_type == "b8" or size not in UNSIGNED_FORMATS:
        return StructConverter(size, cpp)
    if ptx_type in FLOAT_FORMATS:
        format = FLOAT_FORMATS[ptx_type]
        return FloatConverter(format) if check else Converter(format)
    if size == 8 and not cpp:
        return RawWordConverter(check, ptx_type == "b64")
    return UnknownSignConverter(size) if check else Converter(UNSIGNED_FORMATS[size])


def _number_converter(size: int, cpp: str, is_float: bool, check: bool) -> Converter:
    """Return the converter of a number by its size in bytes and its C++ type."""
    format = cpp[0] if is_float else UNSIGNED_FORMATS[size]  # "f" and "d"
    if not check:
        return Converter(format)
    if is_float:
        return FloatConverter(format)
    if cpp == "bool":
        return BoolConverter()
    if cpp == "char":  # its sign depends on the machine that the code was built on
        return UnknownSignConverter(size)
    return IntegerConverter(format if cpp.startswith("unsigned ") else format.lower())
