"""Refuse to compile or link code on this machine where the user or the program forbids it."""

from ..driver import device_and_driver
from ..errors import DriverError, ImageError, NoImageError
from ..jit import JitOptions, forbidden_by
from ..manifest import dotted

__all__ = ["check_permission"]


def check_permission(
    options: JitOptions | None, what: str, help: str, device: int | None = None, error: type[ImageError] = NoImageError
) -> None:
    """Raise `error` if CUDA_WHEEL_JIT=error or `options` forbid compiling and linking on this machine.

    `what` says what would be compiled: "a.cu must be compiled"; `help` what to do instead. The message names GPU number
    `device`, else the current one, and the driver. What a cache has counts as well: else the answer would depend on
    what ran before.
    """
    forbidden = forbidden_by(options)
    if forbidden is None:
        return
    try:
        capability, driver = device_and_driver(device)
        where = f"on this machine (compute capability {dotted(capability)}, driver for CUDA {dotted(driver)})"
    except DriverError:
        where = "on this machine (without a GPU)"
    raise error(f"{what} {where}, which {forbidden} forbids. {help}")
