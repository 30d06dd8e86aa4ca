"""Compile PTX on the user's machine, with the driver or with nvJitLink.

The options that decide floating-point arithmetic: read them as NVRTC does, and pass them to the other compilers.

LTO-IR does not contain them, and PTX only in part: the assembler may contract a product and a sum without rounding
modifiers. So whoever compiles one of these further needs the options again.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import pairwise
from typing import Literal, NamedTuple, TypeVar

from .digest import sha256_of
from .driver import check_result, cuda_driver, load_library
from .errors import DriverError, ImageError
from .manifest import FORMAT, Image, Manifest, Version
from .module import Module
from .parts.cuda_libraries import link_code, log_text, nvjitlink_build
from .user_cache import Cache

__all__ = [
    "NO_CONTRACTION",
    "FloatingPoint",
    "Jit",
    "JitOptions",
    "code_and_log",
    "floating_point",
    "invalid_option",
    "load_compiled",
    "load_linked_ptx",
    "load_ptx",
    "nvjitlink_options",
    "resources_of",
    "values_of",
]


NO_CONTRACTION = "-Xptxas=--fmad=false"
"""nvJitLink's option that has its assembler contract nothing, as nvcc and NVRTC have theirs for --fmad=false.
nvJitLink's own `-fma=0` reaches the compiler of LTO-IR only, and leaves the products and sums of half precision, which
are inline PTX in NVIDIA's headers."""

_FAST_MATH = "--use_fast_math"

_FLAGS = {"--fmad": "fma", "--ftz": "ftz", "--prec-div": "prec_div", "--prec-sqrt": "prec_sqrt"}
"""NVRTC's options and the fields of `FloatingPoint`. Source: NVRTC, "Supported Compile Options"."""

_REGISTERS = "--maxrregcount"

_PTXAS = ("--ptxas-options", "-Xptxas")


class FloatingPoint(NamedTuple):
    """How code computes with floating-point numbers. The defaults are those of NVIDIA's compilers."""

    ftz: bool = False
    """Whether denormal numbers of single precision are zero. (--ftz)"""
    prec_div: bool = True
    """Whether divisions and reciprocals of single precision are rounded correctly. (--prec-div)"""
    prec_sqrt: bool = True
    """Whether square roots of single precision are rounded correctly. (--prec-sqrt)"""
    fma: bool = True
    """Whether the compiler may contract a product and a sum to one instruction, which rounds once. (--fmad)"""
    assembler_fma: bool = True
    """Whether the assembler may do so. (--fmad, unless options for ptxas say otherwise)"""
    fast_math: bool = False
    """Whether functions such as `sinf` are replaced by fast ones. The front end does that. (--use_fast_math)"""

    @property
    def of_link(self) -> "FloatingPoint":
        """What matters after the front end."""
        return self._replace(fast_math=False)

    def compiler_options(self) -> list[str]:
        """Return the options of libNVVM, and of nvJitLink for the compiler of LTO-IR, which take each option once."""
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
        """Return NVRTC's options. Those for the assembler are not among them: NVRTC has none for PTX or LTO-IR."""
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
    """Return what a compiler's options, spelled as for NVRTC, say of floating-point arithmetic.

    As with NVRTC and nvcc, the last of several equal options counts, and an option counts more than
    `--use_fast_math`, which implies several, wherever that is.
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


def invalid_option(options: Sequence[str]) -> str | None:
    """Return the first option that is not a floating-point option of NVRTC with a valid value; None without one."""
    for option in options:
        name, equals, value = option.partition("=")
        if not (value in ("true", "false") if _long(name) in _FLAGS else _long(name) == _FAST_MATH and not equals):
            return option
    return None


def values_of(options: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield the name and value of each option: the value follows "=", or is the next one, as in "-Xptxas", "-v".

    Of options that this package does not read, the next one counts as an option of its own.
    """
    rest = iter(options)
    for option in rest:
        name, equals, value = option.partition("=")
        takes_value = _long(name) in _FLAGS or name in _PTXAS or _long(name) == _REGISTERS
        yield name, value if equals or not takes_value else next(rest, "")


def _long(name: str) -> str:
    return name if name.startswith("--") or not name.startswith("-") else f"-{name}"


T = TypeVar("T")


class JitOptions(NamedTuple):
    """Options for compiling PTX and for linking on the user's machine, with the driver or with nvJitLink."""

    verbose: bool = True
    """Whether the log lists each kernel's resources. (CU_JIT_LOG_VERBOSE)"""
    optimization_level: int | None = None
    """0 to 4; None means the compiler's default, the highest. (CU_JIT_OPTIMIZATION_LEVEL)"""
    max_registers: int | None = None
    """The most registers that a thread may use; None means no limit. (CU_JIT_MAX_REGISTERS)"""
    lineinfo: bool = False
    """Whether the machine code has line numbers, if the PTX has them. (CU_JIT_GENERATE_LINE_INFO)"""
    lto: bool | None = None
    """For linking: True optimises all LTO-IR across pieces, False does not, None does if every piece has LTO-IR."""
    linker: Literal["nvjitlink", "driver"] | None = None
    """For linking: which linker to use; None means nvJitLink if it is installed and suits, else the driver's."""

    floating_point: tuple[str, ...] | None = None
    """The floating-point options of pieces and of PTX without a manifest, spelled as for NVRTC: --fmad=false,
    --ftz=true, --prec-div=false, --prec-sqrt=false, --use_fast_math. None means those of the module that a piece is
    linked with, else the compilers' defaults. They apply to CUDA C++ and LTO-IR. In PTX all is decided but whether the
    assembler may contract products and sums, and in machine code that too. A module keeps its own options."""

    def check(self) -> None:
        """Raise ValueError for an option that no compiler accepts."""
        if self.lto not in (None, False, True):
            raise ValueError(f"lto must be True, False or None, not {self.lto!r}")
        if self.linker not in (None, "nvjitlink", "driver"):
            raise ValueError(f"linker must be 'nvjitlink', 'driver' or None, not {self.linker!r}")
        if self.optimization_level not in (None, 0, 1, 2, 3, 4):
            raise ValueError(f"optimization_level must be 0 to 4, not {self.optimization_level!r}")
        if self.max_registers is not None and not 16 <= self.max_registers <= 255:
            raise ValueError(f"max_registers must be 16 to 255, not {self.max_registers!r}")
        if self.floating_point is not None:
            if not isinstance(self.floating_point, tuple):
                raise ValueError(f"floating_point must be a tuple of options, not {self.floating_point!r}")
            wrong = invalid_option(self.floating_point)
            if wrong is not None:
                raise ValueError(
                    f"floating_point: {wrong!r} is neither --use_fast_math nor one of --fmad, --ftz, --prec-div and "
                    "--prec-sqrt with =true or =false"
                )


class Jit:
    """How a module was compiled on this machine: the `options`, the wall time in `seconds`, and the compiler's `log`,
    which is empty if the result came from the driver's cache."""

    def __init__(self, options: JitOptions, seconds: float, log: str = "", buffers: tuple[bytearray, ...] = ()) -> None:
        self.options = options
        self.seconds = seconds
        self._log = log
        self._buffers = buffers
        """The driver's logs. It writes to them when it compiles, which is later for a library without kernels."""

    @property
    def log(self) -> str:
        return self._log or "\n".join(filter(None, map(log_text, self._buffers)))

    @property
    def _resources(self) -> dict[str, dict[str, int]]:
        return resources_of(self.log)

    @property
    def registers(self) -> dict[str, int]:
        """Registers per thread, by kernel symbol, as listed in the log; empty without `JitOptions.verbose`."""
        return {symbol: figures["registers"] for symbol, figures in self._resources.items()}

    @property
    def spills(self) -> dict[str, int]:
        """Bytes of spill stores and loads, by kernel symbol, as listed in the log."""
        return {
            symbol: figures.get("spill_stores", 0) + figures.get("spill_loads", 0)
            for symbol, figures in self._resources.items()
        }

    def __repr__(self) -> str:
        return f"<Jit: {self.seconds:.3f} s>"


def resources_of(log: str) -> dict[str, dict[str, int]]:
    """Return the resources that `ptxas -v` logs, by kernel symbol.

    These are registers per thread, and bytes of static shared memory, stack frame and spills.
    """
    import re  # only for logs

    resources: dict[str, dict[str, int]] = {}
    symbol, frame = "", {}
    for line in log.splitlines():
        if match := re.search(r"Function properties for (\S+)", line):
            symbol = match[1]
        elif match := re.search(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads", line):
            frame = dict(zip(("local", "spill_stores", "spill_loads"), map(int, match.groups()), strict=True))
        elif match := re.match(r"ptxas info\s*: Used (\d+) registers(.*)", line):
            shared = re.search(r"(\d+) bytes smem", match[2])
            resources[symbol] = {"registers": int(match[1]), "shared": int(shared[1]) if shared else 0, **frame}
    return resources


def load_ptx(manifest: Manifest, image: Image, code: bytes, options: JitOptions) -> Module:
    """Return the module that the driver compiles from PTX; raises DriverError with the compiler's log."""

    doing = f"compiling {manifest.full_name}, {image}"
    present = next((kernel.symbol for kernel in manifest.kernels if str(image.target) not in kernel.absent), None)
    handle, _, jit = load_compiled(code, doing, options, lambda handle: _compile_now(handle, present, doing))
    return Module(manifest, image, "jit", handle, jit)


def _compile_now(handle: int, kernel: str | None, doing: str) -> None:
    """Make the driver compile a library, which it does when it first looks up a kernel.

    `kernel` is the symbol of a kernel that the code has. Without one, the driver counts the kernels, if it is for CUDA
    12.4 or later; an older one compiles when a variable is first used.
    """
    driver = cuda_driver()
    if kernel is not None:
        check_result(driver.cuLibraryGetKernel(handle, kernel.encode()), doing)
    elif hasattr(driver, "cuLibraryGetKernelCount"):  # cuda.bindings of 12.3 and earlier lack it
        with suppress(RuntimeError):  # raised by cuda.bindings where the driver lacks the function
            check_result(driver.cuLibraryGetKernelCount(handle), doing)


def load_compiled(code: bytes, doing: str, options: JitOptions, inspect: Callable[[int], T]) -> tuple[int, T, Jit]:
    """Return the handle of a library that the driver compiles, the result of `inspect`, and how it was compiled.

    `inspect` gets the handle and must make the driver compile. Raises DriverError with the compiler's log.
    """
    # The driver writes its logs into these until the library is compiled.
    info, errors = bytearray(1 << 16), bytearray(1 << 16)
    chosen = {
        "INFO_LOG_BUFFER": info,
        "INFO_LOG_BUFFER_SIZE_BYTES": len(info),
        "ERROR_LOG_BUFFER": errors,
        "ERROR_LOG_BUFFER_SIZE_BYTES": len(errors),
        "LOG_VERBOSE": int(options.verbose),
        "GENERATE_LINE_INFO": int(options.lineinfo),
    }
    if options.optimization_level is not None:
        chosen["OPTIMIZATION_LEVEL"] = options.optimization_level
    if options.max_registers is not None:
        chosen["MAX_REGISTERS"] = options.max_registers
    started = time.perf_counter()
    try:
        handle = load_library(code, doing, chosen)
        try:
            inspected = inspect(handle)
        except DriverError:
            cuda_driver().cuLibraryUnload(handle)
            raise
    except DriverError as error:
        raise DriverError(f"{error}\n{log_text(errors)}".rstrip()) from None
    return handle, inspected, Jit(options, time.perf_counter() - started, buffers=(errors, info))


def load_linked_ptx(
    manifest: Manifest, image: Image, code: bytes, options: JitOptions, capability: Version, driver: Version
) -> Module:
    """Return the module that nvJitLink compiles from PTX that the driver cannot read; the result is cached."""
    arguments = nvjitlink_options(options)
    arch = f"{capability[0]}{capability[1]}{image.target.suffix}"
    cache, build = Cache(), nvjitlink_build()
    key = _cubin_key(code, arch, arguments, build, driver)
    started = time.perf_counter()
    result = None if build is None else cache.read(key, code_and_log)
    if result is None:
        try:
            result = link_code([("PTX", "module.ptx", code)], [f"-arch=sm_{arch}", *arguments])
        except ImageError as error:
            raise ImageError(f"nvJitLink cannot compile {manifest.full_name}, {image}: {error}") from error
        if build is not None:
            cache.put(key, result[1].encode() + b"\0" + result[0])
    cubin, log = result
    jit = Jit(options, time.perf_counter() - started, log)
    return Module(manifest, image, "link", load_library(cubin, f"loading {manifest.full_name}, {image}, compiled"), jit)


def _cubin_key(code: bytes, arch: str, arguments: Sequence[str], build: str | None, driver: Version) -> str:
    """Return the cache key of the cubin that nvJitLink compiles from PTX: all that decides it, and the driver.

    `build` identifies nvJitLink exactly.
    """
    return Cache.key("cubin", repr((FORMAT, build, driver)), sha256_of(code), arch, *arguments)


def code_and_log(entry: bytes) -> tuple[bytes, str]:
    """Return the code and the log in a cache entry of a linker's result; raises ValueError if there is no code."""
    log, _, code = entry.partition(b"\0")
    if not code:
        raise ValueError("the entry has no code")
    return code, log.decode()


def nvjitlink_options(options: JitOptions) -> list[str]:
    """Return the options as nvJitLink takes them."""
    arguments = ["-Xptxas=-v"] if options.verbose else []
    arguments += ["-lineinfo"] if options.lineinfo else []
    arguments += [] if options.optimization_level is None else [f"-O{min(options.optimization_level, 3)}"]
    return arguments + ([] if options.max_registers is None else [f"-maxrregcount={options.max_registers}"])
