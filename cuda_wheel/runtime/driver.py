"""Call the CUDA driver through `cuda.bindings`, or through ctypes where that is slower, wrong or lacks a function."""

import ctypes
import os
from collections.abc import Callable, Mapping
from typing import Any

from .errors import DriverError, to_add
from .manifest import Version

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    class HasHandle(Protocol):
        """What the driver needs of a `Kernel`."""

        @property
        def name(self) -> str: ...
        @property
        def handle(self) -> int: ...


__all__ = [
    "check_result",
    "cuda_driver",
    "current_device",
    "device_and_driver",
    "device_attribute",
    "device_count",
    "device_with_context",
    "driver_function",
    "is_forked",
    "kernel_attribute",
    "load_library",
    "set_kernel_attribute",
]


class _State:
    """What is known of the driver in this process."""

    bindings: Any = None
    """Module `cuda.bindings.driver` after cuInit; None before."""
    forked = False
    """Whether this process was forked from one in which this module had initialised CUDA. CUDA fails in such a fork."""


def is_forked() -> bool:
    """Return whether this process was forked from one that had initialised CUDA here."""
    return _State.forked


def note_fork() -> None:
    """Record that this process is a fork; no CUDA handle is valid in it if its parent had initialised CUDA."""
    _State.forked = _State.forked or _State.bindings is not None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=note_fork)


def cuda_driver() -> Any:
    """Return `cuda.bindings.driver`, initialised; raises DriverError."""
    if _State.forked:
        from .explanations import FORKED  # only for an error

        raise DriverError(FORKED)
    if _State.bindings is None:
        _State.bindings = _initialised_bindings()
    return _State.bindings


def _initialised_bindings() -> Any:
    try:
        from cuda.bindings import driver  # not needed, and perhaps not installed, before something is loaded
    except ImportError as error:
        help = to_add("cuda-bindings", "install it with pip install cuda-bindings")
        raise DriverError(f"cuda-bindings cannot be imported ({error}): {help}") from error
    try:
        result = driver.cuInit(0)
    except RuntimeError:  # raised by cuda.bindings, with a long message, when it finds no driver library
        raise DriverError("no NVIDIA driver is installed on this machine (libcuda was not found)") from None
    if result[0]:
        from .explanations import not_initialised  # only for an error

        raise DriverError(not_initialised(driver, result[0]))
    return driver


def check_result(result: tuple[Any, ...], doing: str) -> Any:
    """Return the value in a driver call's result; raise DriverError if the call failed. `doing` starts its message."""
    if not result[0]:
        return result[1] if len(result) > 1 else None
    from .explanations import driver_failure  # only for an error

    raise DriverError(driver_failure(doing, result[0], _State.bindings))


def load_library(code: bytes, doing: Callable[[], str], options: Mapping[str, Any] = {}) -> int:
    """Return the handle of a loaded library; raises DriverError, whose message starts with `doing()`.

    `options`: names of CUjit_option without CU_JIT_ -> values.
    """
    driver = cuda_driver()
    keys = [getattr(driver.CUjit_option, f"CU_JIT_{option}") for option in options]
    result = driver.cuLibraryLoadData(code, keys, list(options.values()), len(keys), [], [], 0)
    return int(check_result(result, doing()) if result[0] else result[1])


def device_and_driver(device: int | None = None) -> tuple[Version, Version]:
    """Return the compute capability of a GPU and the CUDA version of the driver, both (major, minor).

    The GPU is number `device`, else the current context's, else number 0. Raises DriverError.
    """
    driver = cuda_driver()
    device = (current_device() or 0) if device is None else device
    check_result(driver.cuDeviceGet(device), f"getting GPU {device}")
    major = device_attribute("COMPUTE_CAPABILITY_MAJOR", device)
    minor = device_attribute("COMPUTE_CAPABILITY_MINOR", device)
    version = check_result(driver.cuDriverGetVersion(), "getting the driver's version")
    return (major, minor), (version // 1000, version % 1000 // 10)


def device_count() -> int:
    """Return the number of GPUs that the driver finds, at least one; raises DriverError."""
    return int(check_result(cuda_driver().cuDeviceGetCount(), "counting the GPUs"))


def current_device() -> int | None:
    """Return the number of the current context's GPU; None without a context."""
    driver = cuda_driver()
    result = driver.cuCtxGetDevice()
    if not result[0]:  # first, because each launch comes here where there are several GPUs
        return int(result[1])
    if int(result[0]) != int(driver.CUresult.CUDA_ERROR_INVALID_CONTEXT):
        check_result(result, "getting the current GPU")
    return None


def device_with_context(device: int | None = None) -> int:
    """Return the number of the current context's GPU.

    If this thread has no context, make the primary context of `device`, or of the only GPU, current. Raises DriverError
    if there are several GPUs and `device` is None.
    """
    current = current_device()
    if current is not None:
        return current
    if device is None and device_count() > 1:
        raise DriverError(
            "no CUDA context is current in this thread, and there are several GPUs: choose one with "
            "cupy.cuda.Device(n).use(), torch.cuda.set_device(n) or cuda.core.Device(n).set_current()"
        )
    driver, device = cuda_driver(), device or 0
    context = check_result(driver.cuDevicePrimaryCtxRetain(device), f"making a context on GPU {device}")
    check_result(driver.cuCtxSetCurrent(context), f"making the context of GPU {device} current")
    return device


def device_attribute(name: str, device: int) -> int:
    """Return the CU_DEVICE_ATTRIBUTE_`name` of GPU number `device`; raises DriverError."""
    driver = cuda_driver()
    which = getattr(driver.CUdevice_attribute, f"CU_DEVICE_ATTRIBUTE_{name}")
    return int(check_result(driver.cuDeviceGetAttribute(which, device), f"getting {name}"))


def kernel_attribute(name: str, kernel: "HasHandle") -> int:
    """Return a kernel's CU_FUNC_ATTRIBUTE_`name` on the current context's GPU, else on GPU 0; raises DriverError."""
    driver = cuda_driver()
    which = getattr(driver.CUfunction_attribute, f"CU_FUNC_ATTRIBUTE_{name}")
    result = driver.cuKernelGetAttribute(which, kernel.handle, current_device() or 0)
    return int(check_result(result, f"getting {name} of {kernel.name}"))


def set_kernel_attribute(name: str, kernel: "HasHandle", value: int) -> None:
    """Set the CU_FUNC_ATTRIBUTE_`name` of a kernel on the current context's GPU, else on GPU 0; raises DriverError."""
    driver = cuda_driver()
    which = getattr(driver.CUfunction_attribute, f"CU_FUNC_ATTRIBUTE_{name}")
    result = driver.cuKernelSetAttribute(which, value, kernel.handle, current_device() or 0)
    check_result(result, f"setting {name} of {kernel.name}")


def driver_function(name: str, *argument_types: Any) -> Any:
    """Return a function of the driver for ctypes. Without `argument_types`, the fastest way, it takes ctypes values."""
    address = check_result(cuda_driver().cuGetProcAddress(name.encode(), 12000, 0)[:2], f"looking for {name}")
    return ctypes.CFUNCTYPE(ctypes.c_int, *argument_types)(int(address))
