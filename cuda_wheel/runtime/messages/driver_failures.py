"""Say what a failure of the driver means."""

import os
from typing import Any

__all__ = ["FORKED", "driver_failure", "not_initialised"]

FORKED = (
    "this process was forked from one that had initialised CUDA. CUDA works in one of the two only: start processes by "
    "'spawn' or 'forkserver' (multiprocessing.set_start_method), or load modules in the child only"
)

STICKY_ERRORS = frozenset({700, 702, 710, 714, 715, 716, 717, 718, 719, 721})
"""Errors of a running kernel, from CUDA_ERROR_ILLEGAL_ADDRESS on. Source: CUDA Driver API, CUresult: such an error
"leaves the process in an inconsistent state and any further CUDA work will return the same error"."""

STICKY_ERROR_HELP = (
    ". A kernel that was launched earlier, by any library, failed with this error. Every later call that needs the GPU "
    "returns the same error: restart the process. compute-sanitizer finds the kernel"
)


def driver_failure(doing: str, result: Any, driver: Any) -> str:
    """Return the message for an error of the driver. `doing` starts it."""
    text = driver.cuGetErrorString(result)[1]
    explanation = text.decode() if isinstance(text, bytes) else "no explanation"
    message = f"{doing}: the driver returned {result.name} ({int(result)}): {explanation}"
    return message + (STICKY_ERROR_HELP if int(result) in STICKY_ERRORS else "")


def not_initialised(driver: Any, result: Any) -> str:
    """Return the message for a driver whose cuInit has returned `result`."""
    if int(result) == int(driver.CUresult.CUDA_ERROR_NOT_INITIALIZED):
        return FORKED
    if int(result) != int(driver.CUresult.CUDA_ERROR_NO_DEVICE):
        return driver_failure("initialising the driver", result, driver)
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    hidden = "" if visible is None else f" (CUDA_VISIBLE_DEVICES is {visible!r})"
    return f"the NVIDIA driver is installed, but sees no GPU{hidden}"
