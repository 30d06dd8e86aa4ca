"""Choose the converter for a kernel parameter by its C++ and PTX types."""

from ..manifest import Parameter
from .arguments import (
    FLOAT_FORMATS,
    UNSIGNED_FORMATS,
    BFloat16Converter,
    BoolConverter,
    Converter,
    FloatConverter,
    IntegerConverter,
    RawScalarConverter,
    StructConverter,
    UnknownSignConverter,
)
from .pointers import PointerConverter, RawWordConverter

__all__ = ["argument_type", "converter_for"]


def argument_type(parameter: Parameter) -> str:
    """Return the type that stubs give a parameter: "Pointer", "Integer", "Real", "bool" or "Struct"."""
    return converter_for(parameter, True).stub_type


def converter_for(parameter: Parameter, check: bool) -> Converter:
    """Return the converter of a parameter's arguments, with or without checks."""
    ptx_type, size, cpp = parameter.type, parameter.size, parameter.cpp
    if cpp.endswith(("*", "&")):
        return PointerConverter(cpp, check)
    if cpp == "__half":
        return FloatConverter("e")
    if cpp == "__nv_bfloat16":
        return BFloat16Converter()
    if ptx_type == f"b{8 * size}" and size in (1, 2, 4) and not cpp:
        return RawScalarConverter(size)
    if ptx_type == "b8" or size not in UNSIGNED_FORMATS:
        return StructConverter(size, cpp)
    if ptx_type in FLOAT_FORMATS:
        format = FLOAT_FORMATS[ptx_type]
        return FloatConverter(format) if check else Converter(format)
    if size == 8 and not cpp:
        return RawWordConverter(check, ptx_type == "b64")
    return _checked_integer(size, cpp) if check else Converter(UNSIGNED_FORMATS[size])


def _checked_integer(size: int, cpp: str) -> Converter:
    """Return the converter of an integer by its size in bytes and its C++ type, "" where that is unknown."""
    if cpp == "bool":
        return BoolConverter()
    if cpp.startswith("unsigned "):
        return IntegerConverter(UNSIGNED_FORMATS[size])
    if cpp in ("signed char", "short", "int", "long", "long long"):
        return IntegerConverter(UNSIGNED_FORMATS[size].lower())
    return UnknownSignConverter(size)
