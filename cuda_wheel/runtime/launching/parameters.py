"""Choose the converter for a kernel parameter by its C++ or PTX type."""

from ..manifest import Parameter
from .arguments import FLOATS, UNSIGNED, Argument, BFloat16, Bool, EitherInteger, Integer, Real, Struct, UnknownScalar
from .pointers import Pointer, Word

__all__ = [
    "argument_type",
    "argument_writer",
]


def argument_type(parameter: Parameter) -> str:
    """Return what a parameter takes, in the words of the stubs: "Pointer", "Integer", "Real", "bool" or "Struct"."""
    return argument_writer(parameter, True).hint


def argument_writer(parameter: Parameter, check: bool) -> Argument:
    """Return what writes the arguments for a parameter."""
    kind, size, cpp = parameter.type, parameter.size, parameter.cpp
    if cpp.endswith(("*", "&")):
        return Pointer(cpp, check)
    if cpp == "__half":
        return Real("e")
    if cpp == "__nv_bfloat16":
        return BFloat16()
    if kind == f"b{8 * size}" and size in (1, 2, 4) and not cpp:
        return UnknownScalar(size)
    if kind == "b8" or size not in UNSIGNED:
        return Struct(size, cpp)
    if kind in FLOATS:
        return Real(FLOATS[kind]) if check else Argument(FLOATS[kind])
    if size == 8 and not cpp:
        return Word(check, kind == "b64")
    if not check:
        return Argument(UNSIGNED[size])
    if cpp == "bool":
        return Bool()
    if cpp.startswith("unsigned "):
        return Integer(UNSIGNED[size])
    if cpp in ("signed char", "short", "int", "long", "long long"):
        return Integer(UNSIGNED[size].lower())
    return EitherInteger(size)
