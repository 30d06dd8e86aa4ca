"""Ask the driver for a kernel's attributes on one GPU, its blocks per multiprocessor, and the best block size."""

from typing import TYPE_CHECKING, NamedTuple

from ..arguments import dimensions, whole_number
from ..driver import check_result, cuda_driver, device_attribute, device_with_context, kernel_attribute
from ..launching import allow_block
from ..manifest import Version

if TYPE_CHECKING:
    from ..driver import HasHandle

__all__ = ["Attributes", "Occupancy", "attributes", "occupancy", "suggested_block"]


class Attributes(NamedTuple):
    """A kernel's attributes on one GPU: sizes in bytes, versions as (major, minor).

    Source: CUDA Driver API, CUfunction_attribute; its names, without CU_FUNC_ATTRIBUTE_, are in parentheses.
    """

    registers: int
    """Number of registers that each thread of the kernel uses. (NUM_REGS)"""
    shared: int
    """Static shared memory that each block of the kernel uses, in bytes. (SHARED_SIZE_BYTES)"""
    max_dynamic_shared: int
    """Maximum dynamic shared memory that a launch may request at present, in bytes per block.
    (MAX_DYNAMIC_SHARED_SIZE_BYTES)"""
    constant: int
    """Constant memory of the module's `__constant__` variables, in bytes. (CONST_SIZE_BYTES)"""
    local: int
    """Local memory that each thread of the kernel uses, in bytes. (LOCAL_SIZE_BYTES)"""
    max_threads: int
    """Maximum number of threads in a block of the kernel. (MAX_THREADS_PER_BLOCK)"""
    binary_version: Version
    """Compute capability of the kernel's machine code: (9, 0) for sm_90. (BINARY_VERSION)"""
    ptx_version: Version
    """Virtual architecture that the code was compiled from: (9, 0) for compute_90. (PTX_VERSION)"""


def attributes(kernel: "HasHandle") -> Attributes:
    """Return a kernel's attributes on the current context's GPU, else on GPU 0; raises DriverError."""
    return Attributes(
        registers=kernel_attribute("NUM_REGS", kernel),
        shared=kernel_attribute("SHARED_SIZE_BYTES", kernel),
        max_dynamic_shared=kernel_attribute("MAX_DYNAMIC_SHARED_SIZE_BYTES", kernel),
        constant=kernel_attribute("CONST_SIZE_BYTES", kernel),
        local=kernel_attribute("LOCAL_SIZE_BYTES", kernel),
        max_threads=kernel_attribute("MAX_THREADS_PER_BLOCK", kernel),
        binary_version=divmod(kernel_attribute("BINARY_VERSION", kernel), 10),
        ptx_version=divmod(kernel_attribute("PTX_VERSION", kernel), 10),
    )


class Occupancy(NamedTuple):
    """Number of blocks of a kernel that a multiprocessor runs at once, and the share (0 to 1) of its threads in use."""

    blocks: int
    share: float


def occupancy(kernel: "HasHandle", block: int | tuple[int, ...], shared_memory: int) -> Occupancy:
    """Return a kernel's occupancy on the current GPU; see `Kernel.occupancy`."""
    x, y, z = dimensions(block, "block")
    shared_memory = whole_number(shared_memory, "shared_memory", 0)
    device = device_with_context()
    allow_block(kernel, x * y * z, shared_memory)
    result = cuda_driver().cuOccupancyMaxActiveBlocksPerMultiprocessor(kernel.handle, x * y * z, shared_memory)
    blocks = check_result(result, f"getting the occupancy of {kernel.name}")
    threads = device_attribute("MAX_THREADS_PER_MULTIPROCESSOR", device)
    warps = -(-x * y * z // 32)
    return Occupancy(blocks, blocks * warps * 32 / threads)


def suggested_block(kernel: "HasHandle", shared_memory: int) -> int:
    """Return a kernel's best block size in threads on the current GPU; see `Kernel.suggest_block`."""
    shared_memory = whole_number(shared_memory, "shared_memory", 0)
    device_with_context()
    allow_block(kernel, 1, shared_memory)
    driver = cuda_driver()
    constant = driver.CUoccupancyB2DSize(0)
    result = driver.cuOccupancyMaxPotentialBlockSize(kernel.handle, constant, shared_memory, 0)
    check_result(result, f"getting a block size for {kernel.name}")
    return int(result[2])
