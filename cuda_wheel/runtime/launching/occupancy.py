"""Ask the driver how many blocks of a kernel a multiprocessor holds, and which block size fills it best."""

from typing import TYPE_CHECKING, NamedTuple

from ..driver import check_result, cuda_driver, device_attribute, device_with_context
from .configurations import dimensions, whole_number
from .function_attributes import allow_block

if TYPE_CHECKING:  # module.py imports this file when it is first used
    from ..module import Dim, Kernel

__all__ = ["Occupancy", "occupancy", "suggested_block"]


class Occupancy(NamedTuple):
    """How many blocks of a kernel a multiprocessor holds at once, and which share of its threads they take."""

    blocks: int
    share: float


def occupancy(kernel: "Kernel", block: "Dim", shared_memory: int) -> Occupancy:
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


def suggested_block(kernel: "Kernel", shared_memory: int) -> int:
    """Return a kernel's best block size in threads on the current GPU; see `Kernel.suggest_block`."""
    shared_memory = whole_number(shared_memory, "shared_memory", 0)
    device_with_context()
    allow_block(kernel, 1, shared_memory)
    driver = cuda_driver()
    constant = driver.CUoccupancyB2DSize(0)
    result = driver.cuOccupancyMaxPotentialBlockSize(kernel.handle, constant, shared_memory, 0)
    check_result(result, f"getting a block size for {kernel.name}")
    return int(result[2])
