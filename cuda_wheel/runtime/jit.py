"""Compile PTX on this machine with the driver, which keeps the result in its own cache."""

import time
from collections.abc import Callable
from contextlib import suppress
from typing import Literal, NamedTuple, TypeVar

from .driver import check_result, cuda_driver, load_library
from .errors import DriverError, has, need, switch

__all__ = ["Jit", "JitOptions", "compile_now", "forbidden_by", "load_compiled", "log_text"]


T = TypeVar("T")


class JitOptions(NamedTuple):
    """Options for compiling PTX and linking on the user's machine."""

    verbose: bool = True
    """Whether the log lists each kernel's resource use. (CU_JIT_LOG_VERBOSE)"""
    optimization_level: int | None = None
    """Optimisation level 0 to 4; None means the compiler's default, the highest. (CU_JIT_OPTIMIZATION_LEVEL)"""
    max_registers: int | None = None
    """Maximum number of registers per thread; None means no limit. (CU_JIT_MAX_REGISTERS)"""
    lineinfo: bool = False
    """Whether the machine code contains line numbers, if the PTX does. (CU_JIT_GENERATE_LINE_INFO)"""
    lto: bool | None = None
    """For links: whether to optimise LTO-IR across pieces (inputs). None: yes if all pieces have LTO-IR, or if a piece
    has only LTO-IR."""
    linker: Literal["nvjitlink", "driver"] | None = None
    """For links: the linker. None: nvJitLink if it is installed and suitable, else the driver's linker."""

    floating_point: tuple[str, ...] | None = None
    """Floating-point options of code without a manifest: PTX to load, and linked pieces (inputs) that are not modules.
    Spelled as for NVRTC: --fmad=false, --ftz=true, --prec-div=false, --prec-sqrt=false, --use_fast_math. PTX obeys
    only --fmad; machine code obeys none. Default: those of the first linked module, else the compilers'."""
    allow: bool = True
    """Whether code may be compiled and linked on this machine; see also CUDA_WHEEL_JIT."""

    def check(self) -> None:
        """Raise ValueError for an option that no compiler accepts."""
        if self.optimization_level not in (None, 0, 1, 2, 3, 4):
            raise ValueError(f"optimization_level must be 0 to 4, not {self.optimization_level!r}")
        if self.max_registers is not None and not 16 <= self.max_registers <= 255:
            raise ValueError(f"max_registers must be 16 to 255, not {self.max_registers!r}")
        if (self.lto, self.linker, self.floating_point) != (None, None, None):
            if self.floating_point is not None:
                need("linking")
            if has("linking"):
                from .parts.floating_point import check_link_options  # for links, load_code

                check_link_options(self.lto, self.linker, self.floating_point)


def forbidden_by(options: JitOptions | None) -> str | None:
    """Return the name of what forbids compiling on this machine; None if nothing does."""
    if options is not None and not options.allow:
        return "JitOptions(allow=False)"
    return "CUDA_WHEEL_JIT=error" if switch("CUDA_WHEEL_JIT", "error", "error") else None


class Jit:
    """How a module was compiled on this machine: the `options`, the wall time in `seconds`, and the compiler's `log`
    (empty if the result came from the driver's cache)."""

    def __init__(self, options: JitOptions, seconds: float, log: str = "", buffers: tuple[bytearray, ...] = ()) -> None:
        self.options = options
        self.seconds = seconds
        self._log = log
        self._buffers = buffers
        """Buffers for the driver's logs. Code without kernels is compiled when it is first used; the driver writes
        then."""

    @property
    def log(self) -> str:
        return self._log or "\n".join(filter(None, map(log_text, self._buffers)))

    @property
    def _resources(self) -> dict[str, dict[str, int]]:
        need("compile-log")
        from .parts.compile_log import resources_of  # rare

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


def compile_now(handle: int, kernel: str | None, doing: str) -> None:
    """Make the driver compile a library, which it does when it first looks up a kernel.

    `kernel` is the symbol of one; without it, drivers for CUDA 12.4 and later count the kernels, and older ones compile
    when a variable is first used.
    """
    driver = cuda_driver()
    if kernel is not None:
        check_result(driver.cuLibraryGetKernel(handle, kernel.encode()), doing)
    elif hasattr(driver, "cuLibraryGetKernelCount"):  # cuda.bindings of 12.3 and earlier lack it
        with suppress(RuntimeError):  # raised by cuda.bindings where the driver lacks the function
            check_result(driver.cuLibraryGetKernelCount(handle), doing)


def load_compiled(code: bytes, doing: str, options: JitOptions, inspect: Callable[[int], T]) -> tuple[int, T, Jit]:
    """Return the handle of a library that the driver compiles, the result of `inspect`, and how it was compiled.

    `inspect(handle)` must make the driver compile. Raises DriverError with the compiler's log.
    """
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
        handle = load_library(code, lambda: doing, chosen)
        try:
            inspected = inspect(handle)
        except DriverError:
            cuda_driver().cuLibraryUnload(handle)
            raise
    except DriverError as error:
        raise DriverError(f"{error}\n{log_text(errors)}".rstrip()) from None
    return handle, inspected, Jit(options, time.perf_counter() - started, buffers=(errors, info))


def log_text(log: bytes | bytearray) -> str:
    """Return the text in a log buffer."""
    return log.rstrip(b"\0\n ").decode(errors="replace")
