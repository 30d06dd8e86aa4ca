"""Call the CUDA driver through `cuda.bindings`."""

import os
from collections.abc import Mapping
from typing import Any

from .errors import DriverError
from .manifest import Version

__all__ = [
    "device_and_driver",
    "device_count",
    "device_name",
]


def load_library(code: bytes, doing: str, options: Mapping[str, Any] = {}) -> int:
    """Return the handle of a loaded library; `options` are those of CUjit_option, without their prefix."""
    driver = cuda_driver()
    keys = [getattr(driver.CUjit_option, f"CU_JIT_{option}") for option in options]
    result = driver.cuLibraryLoadData(code, keys, list(options.values()), len(keys), [], [], 0)
    return int(check_result(result, doing))


def device_and_driver(device: int | None = None) -> tuple[Version, Version]:
    """Return the compute capability of a GPU and the CUDA version of the driver, both (major, minor).

    The GPU is number `device`, else the current context's, else number 0. Raises DriverError.
    """
    driver = cuda_driver()
    if device is not None:
        handle = check_result(driver.cuDeviceGet(device), f"asking for device {device}")
    else:
        current = driver.cuCtxGetDevice()
        without_context = int(current[0]) == int(driver.CUresult.CUDA_ERROR_INVALID_CONTEXT)
        handle = check_result(driver.cuDeviceGet(0) if without_context else current, "asking for the device")
    attribute = driver.CUdevice_attribute
    major, minor = (
        check_result(driver.cuDeviceGetAttribute(which, handle), "asking for the compute capability")
        for which in (
            attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,
            attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR,
        )
    )
    version = check_result(driver.cuDriverGetVersion(), "asking for the driver's version")
    return (major, minor), (version // 1000, version % 1000 // 10)


def device_name(device: int) -> str:
    """Return the name of GPU number `device`; raises DriverError."""
    driver = cuda_driver()
    handle = check_result(driver.cuDeviceGet(device), f"asking for device {device}")
    name: bytes = check_result(driver.cuDeviceGetName(256, handle), "asking for the device's name")
    return name.split(b"\0")[0].decode(errors="replace")


def device_count() -> int:
    """Return how many GPUs the driver sees, at least one; raises DriverError."""
    return int(check_result(cuda_driver().cuDeviceGetCount(), "counting the devices"))


def current_device() -> int | None:
    """Return the number of the current context's GPU; None without a context."""
    driver = cuda_driver()
    result = driver.cuCtxGetDevice()
    if int(result[0]) == int(driver.CUresult.CUDA_ERROR_INVALID_CONTEXT):
        return None
    return int(check_result(result, "asking for the device"))


def device_with_context() -> int:
    """Return the number of the current context's GPU. Where this thread has no context, and there is one GPU, its
    primary one becomes current."""
    device = current_device()
    if device is not None:
        return device
    if device_count() > 1:
        raise DriverError(
            "no CUDA context is current in this thread, and there are several GPUs: choose one, by cupy.cuda.Device(n)"
            ".use(), torch.cuda.set_device(n) or cuda.core.Device(n).set_current()"
        )
    driver = cuda_driver()
    context = check_result(driver.cuDevicePrimaryCtxRetain(0), "making a context on GPU 0")
    check_result(driver.cuCtxSetCurrent(context), "making the context of GPU 0 current")
    return 0


def device_attribute(name: str, device: int) -> int:
    """Return the CU_DEVICE_ATTRIBUTE_`name` of GPU number `device`; raises DriverError."""
    driver = cuda_driver()
    which = getattr(driver.CUdevice_attribute, f"CU_DEVICE_ATTRIBUTE_{name}")
    return int(check_result(driver.cuDeviceGetAttribute(which, device), f"asking for {name}"))


_bindings: Any = None


_forked = False
"""Whether this process was forked from one that had initialised CUDA here."""


FORKED = (
    "this process was forked from one that had initialised CUDA, which does not work in both: start processes by "
    "'spawn' or 'forkserver' (multiprocessing.set_start_method), or load modules in the child alone"
)


def is_forked() -> bool:
    """Return whether this process was forked from one that had initialised CUDA here."""
    return _forked


def _note_fork() -> None:
    global _forked
    _forked = _forked or _bindings is not None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_note_fork)


def cuda_driver() -> Any:
    """Return `cuda.bindings.driver`, initialised."""
    global _bindings
    if _forked:
        raise DriverError(FORKED)
    if _bindings is None:
        try:
            from cuda.bindings import driver
        except ImportError as error:
            raise DriverError(
                f"cuda-bindings is not installed or broken ({error}): pip install cuda-bindings"
            ) from error
        try:
            result = driver.cuInit(0)
        except RuntimeError:  # cuda.bindings found no driver library, and says so at length
            raise DriverError("no NVIDIA driver is installed here (libcuda was not found)") from None
        if int(result[0]) == int(driver.CUresult.CUDA_ERROR_NOT_INITIALIZED):
            raise DriverError(FORKED)
        if int(result[0]) == int(driver.CUresult.CUDA_ERROR_NO_DEVICE):
            visible = os.environ.get("CUDA_VISIBLE_DEVICES")
            hidden = "" if visible is None else f" (CUDA_VISIBLE_DEVICES is {visible!r})"
            raise DriverError(f"the NVIDIA driver is installed, but sees no GPU{hidden}")
        check_result(result, "initialising the driver", driver)
        _bindings = driver
    return _bindings


def check_result(result: tuple[Any, ...], doing: str, driver: Any = None) -> Any:
    """Return the value of a driver call's result; raise DriverError where it failed."""
    if int(result[0]) == 0:
        return result[1] if len(result) > 1 else None
    driver = driver or _bindings
    text = driver.cuGetErrorString(result[0])[1]
    explanation = text.decode() if isinstance(text, bytes) else "no explanation"
    message = f"{doing}: the driver answered {result[0].name} ({int(result[0])}): {explanation}"
    raise DriverError(message + (LOST if int(result[0]) in _LOSING else ""))


_LOSING = frozenset({700, 702, 710, 714, 715, 716, 717, 718, 719, 721})
"""Errors of kernels that run, from CUDA_ERROR_ILLEGAL_ADDRESS on. Source: CUDA Driver API, CUresult: such a one "leaves
the process in an inconsistent state and any further CUDA work will return the same error"."""


LOST = (
    ". A kernel that was launched earlier failed so, of whatever library; since then the driver answers so to all that "
    "needs the GPU, and the process has to be started again. compute-sanitizer tells which kernel it was"
)
