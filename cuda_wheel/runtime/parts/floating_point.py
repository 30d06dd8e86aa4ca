"""Read the options that decide floating-point arithmetic as NVRTC does, and pass them to the other compilers.

LTO-IR does not contain them, and PTX only in part: the assembler may contract a product and a sum without rounding
modifiers. So a compiler of LTO-IR or PTX needs the options again.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

__all__ = ["NO_CONTRACTION", "FloatingPoint", "check_link_options", "floating_point", "values_of"]


# nvJitLink's own option `-fma=0` only concerns the compiler of LTO-IR. It leaves to the assembler the half-precision
# products and sums that NVIDIA's headers contain as inline PTX.
NO_CONTRACTION = "-Xptxas=--fmad=false"
"""nvJitLink option that forbids the assembler to contract a product and a sum into one instruction. The option
--fmad=false of nvcc and NVRTC does the same."""

_FAST_MATH = "--use_fast_math"

_FLAGS = {"--fmad": "fma", "--ftz": "ftz", "--prec-div": "prec_div", "--prec-sqrt": "prec_sqrt"}
"""NVRTC option -> field of `FloatingPoint`. Source: NVRTC, "Supported Compile Options"."""

_REGISTERS = "--maxrregcount"

_PTXAS = ("--ptxas-options", "-Xptxas")


class FloatingPoint(NamedTuple):
    """Floating-point options of a compiler. The defaults are those of NVIDIA's compilers."""

    ftz: bool = False
    """Whether denormal single-precision numbers are flushed to zero. (--ftz)"""
    prec_div: bool = True
    """Whether single-precision divisions and reciprocals are correctly rounded. (--prec-div)"""
    prec_sqrt: bool = True
    """Whether single-precision square roots are correctly rounded. (--prec-sqrt)"""
    fma: bool = True
    """Whether the compiler may contract a product and a sum into one instruction, which rounds once. (--fmad)"""
    assembler_fma: bool = True
    """Whether the assembler may contract a product and a sum into one instruction. (--fmad, unless options for ptxas
    say otherwise)"""
    fast_math: bool = False
    """Whether the compiler's front end (C++ parser) replaces functions such as `sinf` by fast ones.
    (--use_fast_math)"""

    @property
    def of_link(self) -> "FloatingPoint":
        """A copy without `fast_math`, which matters only to the front end."""
        return self._replace(fast_math=False)

    def compiler_options(self) -> list[str]:
        """Return the options for libNVVM, and for nvJitLink's compiler of LTO-IR, that are not defaults: ["-ftz=1"]."""
        names = {"-ftz": self.ftz, "-prec-div": self.prec_div, "-prec-sqrt": self.prec_sqrt, "-fma": self.fma}
        default = FloatingPoint()
        return [
            f"{name}={int(value)}"
            for (name, value), usual in zip(names.items(), default, strict=False)
            if value != usual
        ]

    def lto_options(self) -> list[str]:
        """Return nvJitLink's options for a link of LTO-IR to machine code."""
        return [*self.compiler_options(), *([] if self.assembler_fma else [NO_CONTRACTION])]

    def nvrtc_options(self) -> list[str]:
        """Return NVRTC's options; [] for the defaults. NVRTC has none for the assembler if it makes PTX or LTO-IR."""
        if self == FloatingPoint():
            return []
        flags = (f"{option}={str(getattr(self, field)).lower()}" for option, field in _FLAGS.items())
        return [*([_FAST_MATH] if self.fast_math else []), *flags]

    def __str__(self) -> str:
        usual = FloatingPoint()
        words = [_FAST_MATH] if self.fast_math else []
        for option, field in _FLAGS.items():
            if getattr(self, field) != getattr(usual, field):
                words.append(f"{option}={str(getattr(self, field)).lower()}")
        if self.assembler_fma != self.fma:
            words.append(f"--ptxas-options=--fmad={str(self.assembler_fma).lower()}")
        return " ".join(words) or "the defaults"


def floating_point(options: Sequence[str]) -> FloatingPoint:
    """Return the floating-point options among a compiler's options, which are spelled as for NVRTC.

    As with NVRTC and nvcc, the last of several equal options counts, and any of them overrides what `--use_fast_math`
    implies, before or after it.
    """
    given: dict[str, bool] = {}
    for_assembler: list[str] = []
    fast_math = False
    for option, value in values_of(options):
        name = _long(option)
        fast_math = fast_math or name == _FAST_MATH
        if name in _FLAGS:
            given[_FLAGS[name]] = value.strip().lower() in ("true", "1")
        elif option in _PTXAS:
            for_assembler += value.replace(",", " ").replace("=", " ").split()
    implied = FloatingPoint(ftz=True, prec_div=False, prec_sqrt=False, fast_math=True) if fast_math else FloatingPoint()
    chosen = implied._replace(**given)
    assembler_fma = chosen.fma
    for word, following in pairwise(for_assembler):
        if _long(word) == "--fmad":
            assembler_fma = following == "true"
    return chosen._replace(assembler_fma=assembler_fma)


def check_link_options(lto: object, linker: object, options: object) -> None:
    """Raise ValueError unless these are `lto`, `linker` and `floating_point` of a `JitOptions` that links accept."""
    if lto not in (None, False, True):
        raise ValueError(f"lto must be True, False or None, not {lto!r}")
    if linker not in (None, "nvjitlink", "driver"):
        raise ValueError(f"linker must be 'nvjitlink', 'driver' or None, not {linker!r}")
    if not isinstance(options, tuple | None):
        raise ValueError(f"floating_point must be a tuple of options, not {options!r}")
    for option in options or ():
        name, equals, value = option.partition("=")
        if not (value in ("true", "false") if _long(name) in _FLAGS else _long(name) == _FAST_MATH and not equals):
            raise ValueError(
                f"floating_point: {option!r} is neither --use_fast_math nor one of --fmad, --ftz, --prec-div and "
                "--prec-sqrt with =true or =false"
            )


def values_of(options: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield the name and value of each option: the value follows "=", or is the next string, as in "-Xptxas", "-v".

    An option that this package does not read has the value "", and the next string counts as another option.
    """
    rest = iter(options)
    for option in rest:
        name, equals, value = option.partition("=")
        takes_value = _long(name) in _FLAGS or name in _PTXAS or _long(name) == _REGISTERS
        yield name, value if equals or not takes_value else next(rest, "")


def _long(name: str) -> str:
    return name if name.startswith("--") or not name.startswith("-") else f"-{name}"
