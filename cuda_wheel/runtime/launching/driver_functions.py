"""Functions of the driver that are called through ctypes, because cuda.bindings is slower, lacks them or is wrong."""

import ctypes
from functools import cache
from typing import Any

from ..driver import check_result, cuda_driver

__all__ = ["driver_function", "memory_attribute"]


def driver_function(name: str, *argument_types: Any) -> Any:
    """Return a function of the driver for ctypes. Without `argument_types`, ctypes converts nothing, which is fastest:
    each argument must be a ctypes value."""
    address = check_result(cuda_driver().cuGetProcAddress(name.encode(), 12000, 0)[:2], f"looking for {name}")
    return ctypes.CFUNCTYPE(ctypes.c_int, *argument_types)(int(address))


def memory_attribute(which: str, address: int) -> int | None:
    """Return an attribute of the memory at an address, such as "DEVICE_ORDINAL"; None if the driver does not know the
    memory.

    Source: CUDA Driver API, cuPointerGetAttribute. Its binding in cuda.bindings 13.3 returns 0 as the number of every
    GPU.
    """
    number = int(getattr(cuda_driver().CUpointer_attribute, f"CU_POINTER_ATTRIBUTE_{which}"))
    value = ctypes.c_uint64()  # the attributes have 1 to 8 bytes
    if _pointer_attribute(cuda_driver())(ctypes.addressof(value), number, address):
        return None
    return ctypes.c_int32(value.value).value


@cache
def _pointer_attribute(driver: Any) -> Any:
    """Return cuPointerGetAttribute of this driver."""
    return driver_function("cuPointerGetAttribute", ctypes.c_void_p, ctypes.c_int, ctypes.c_uint64)
