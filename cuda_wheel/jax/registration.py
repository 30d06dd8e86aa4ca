"""Register the handlers with JAX, once in a process; keep the operators that programs may name."""

import atexit
import ctypes
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from typing import Any, NoReturn

from ..declarations.kernel_instances import KernelInstances
from ..runtime.errors import ArgumentError
from .call_frames import Api, CallFrame, header_version
from .ffi_handler import close, handler
from .launch_text import Launch, unique_name
from .program_launches import GpuLaunches, ProgramLaunches

__all__ = ["TARGET", "imported_jax", "launches", "register"]

TARGET = "cuda_wheel_launch"
"""The name of the handlers in programs."""

_operators: dict[str, KernelInstances] = {}
_lock = threading.Lock()
launches = ProgramLaunches(_operators)


def imported_jax() -> Any:
    """Return JAX; raise ImportError where it is not installed, or has no `jax.ffi`."""
    try:
        import jax  # optional
    except ImportError as error:
        raise ImportError(f"cuda_wheel.jax makes operators of JAX, which cannot be imported ({error})") from error
    try:
        import jax.ffi
    except ImportError:
        raise ImportError(
            f"cuda_wheel.jax needs JAX 0.5.0 or later, not {jax.__version__}: it has no jax.ffi"
        ) from None
    return jax


def register(jax: Any, name: str, kernels: KernelInstances) -> str:
    """Let programs run an operator; return its name in programs, which no other operator of the process has.

    A name that is used again gets a number, so that programs that were compiled before run what they were compiled for.
    """
    with _lock:
        if not _operators:
            _register_handlers(jax)
        unique = unique_name(name, _operators)
        _operators[unique] = kernels
    return unique


def _register_handlers(jax: Any) -> None:
    version = header_version((Path(jax.ffi.include_dir()) / "xla/ffi/api/c_api.h").read_text())
    if not (0, 1) <= version < (1, 0):
        raise ImportError(
            f"cuda_wheel.jax knows version 0 of XLA's FFI, and JAX {jax.__version__} has {version[0]}.{version[1]}: it "
            "was tested with JAX 0.5.0 to 0.12.0"
        )
    for platform in PLATFORMS:
        pointer = ctypes.cast(handler(partial(_run, platform), version), ctypes.c_void_p)
        jax.ffi.register_ffi_target(TARGET, jax.ffi.pycapsule(pointer), platform=platform, api_version=1)
    # JAX's own functions for exit were registered before, so run later.
    atexit.register(_finish, jax)


def _run(platform: str, api: Api, frame: CallFrame) -> None:
    PLATFORMS[platform](api, frame)


def _run_on_gpu(api: Api, frame: CallFrame) -> None:
    _gpu_launches().run(api, frame)


@cache
def _gpu_launches() -> GpuLaunches:
    return GpuLaunches(launches)


def _refuse_cpu(api: Api, frame: CallFrame) -> NoReturn:
    operator = Launch.read(frame.attribute).operator
    raise ArgumentError(f"{operator} takes arrays on a GPU of CUDA, but this program runs on the CPU")


PLATFORMS: dict[str, Callable[[Api, CallFrame], None]] = {"CUDA": _run_on_gpu, "cpu": _refuse_cpu}
"""What runs a program's launches, by JAX's names of platforms. Tests let host memory take the place of a GPU's."""


def _finish(jax: Any) -> None:
    """Wait for the programs that run, and let handlers launch nothing from now on.

    A thread that calls a handler after the interpreter has ended would end the process with an error. Each GPU runs
    programs in the order of their calls, so one more program tells when those before it have run.
    """
    try:
        for device in jax.local_devices(backend="cuda") if launches.are_used else ():
            with suppress(Exception):  # the programs' own errors, which have been reported
                jax.jit(lambda x: x + 1)(jax.device_put(0, device)).block_until_ready()
    except RuntimeError:  # JAX has no such GPUs any more
        pass
    finally:
        close()
