"""Read and set what the driver knows about a kernel on one GPU, and check a block's size against it."""

from typing import TYPE_CHECKING, NamedTuple

from ..driver import check_result, cuda_driver, current_device, device_attribute
from ..errors import ArgumentError
from ..manifest import Version

if TYPE_CHECKING:  # module.py imports this file when it is first used
    from ..module import Kernel

__all__ = ["Attributes", "allow_block", "attributes", "set_function_attribute"]


class Attributes(NamedTuple):
    """A kernel's attributes on one GPU: sizes in bytes, versions as (major, minor).

    Source: CUDA Driver API, CUfunction_attribute; each field names its own without CU_FUNC_ATTRIBUTE_.
    """

    registers: int
    """Registers per thread. (NUM_REGS)"""
    shared: int
    """Static shared memory per block. (SHARED_SIZE_BYTES)"""
    max_dynamic_shared: int
    """The largest dynamic shared memory that a launch may request at present. (MAX_DYNAMIC_SHARED_SIZE_BYTES)"""
    constant: int
    """Constant memory of the module's variables. (CONST_SIZE_BYTES)"""
    local: int
    """Local memory per thread. (LOCAL_SIZE_BYTES)"""
    max_threads: int
    """The most threads that a block may have. (MAX_THREADS_PER_BLOCK)"""
    binary_version: Version
    """The compute capability of the machine code. (BINARY_VERSION)"""
    ptx_version: Version
    """The virtual architecture that it was compiled from. (PTX_VERSION)"""


def attributes(kernel: "Kernel") -> Attributes:
    """Return a kernel's attributes on the current context's GPU, else on GPU 0; raises DriverError."""
    return Attributes(
        registers=_function_attribute(kernel, "NUM_REGS"),
        shared=_function_attribute(kernel, "SHARED_SIZE_BYTES"),
        max_dynamic_shared=_function_attribute(kernel, "MAX_DYNAMIC_SHARED_SIZE_BYTES"),
        constant=_function_attribute(kernel, "CONST_SIZE_BYTES"),
        local=_function_attribute(kernel, "LOCAL_SIZE_BYTES"),
        max_threads=_function_attribute(kernel, "MAX_THREADS_PER_BLOCK"),
        binary_version=divmod(_function_attribute(kernel, "BINARY_VERSION"), 10),
        ptx_version=divmod(_function_attribute(kernel, "PTX_VERSION"), 10),
    )


def _function_attribute(kernel: "Kernel", name: str) -> int:
    driver = cuda_driver()
    which = getattr(driver.CUfunction_attribute, f"CU_FUNC_ATTRIBUTE_{name}")
    result = driver.cuKernelGetAttribute(which, kernel.handle, current_device() or 0)
    return int(check_result(result, f"getting {name} of {kernel.name}"))


def set_function_attribute(kernel: "Kernel", name: str, value: int) -> None:
    """Set the CU_FUNC_ATTRIBUTE_`name` of a kernel on the current context's GPU, else on GPU 0; raises DriverError."""
    driver = cuda_driver()
    which = getattr(driver.CUfunction_attribute, f"CU_FUNC_ATTRIBUTE_{name}")
    result = driver.cuKernelSetAttribute(which, value, kernel.handle, current_device() or 0)
    check_result(result, f"setting {name} of {kernel.name}")


def allow_block(kernel: "Kernel", threads: int, shared_memory: int) -> None:
    """Check that the current GPU can run a block of so many threads and bytes of dynamic shared memory.

    Above the driver's default limit, opt in to the largest shared memory that the GPU has. Raises ArgumentError if the
    block is too large.
    """
    max_threads = _function_attribute(kernel, "MAX_THREADS_PER_BLOCK")
    if threads > max_threads:
        raise ArgumentError(
            f"{kernel.name}: a block of {threads} threads is too large: {max_threads} is the most on this GPU, because "
            "of the kernel's registers or __launch_bounds__"
        )
    if shared_memory <= 0:
        return
    static = _function_attribute(kernel, "SHARED_SIZE_BYTES")
    available = device_attribute("MAX_SHARED_MEMORY_PER_BLOCK_OPTIN", current_device() or 0) - static
    if shared_memory > available:
        raise ArgumentError(
            f"{kernel.name}: {shared_memory} bytes of shared memory are too much: this GPU has {available} per "
            "block" + (f" beside the kernel's own {static} bytes" if static else "")
        )
    # Source: CUDA C++ Programming Guide, "Shared Memory": above 48 KiB a kernel needs an explicit opt-in.
    if shared_memory > _function_attribute(kernel, "MAX_DYNAMIC_SHARED_SIZE_BYTES"):
        set_function_attribute(kernel, "MAX_DYNAMIC_SHARED_SIZE_BYTES", available)
