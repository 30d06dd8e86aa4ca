"""CUDA Tile images: which programs and GPUs run them, and how their kernels are launched.

Such an image is a cubin of tileiras. It has machine code for one compute capability: from 9.0 on for an "a" target, and
before with a use of registers and shared memory that was chosen for that GPU. It also has host code, which the driver
runs in the process that loads it: for one operating system and processor, which nvcc names to tileiras in the same way.
With host code for another one, driver 580 ends the process (a segmentation fault, also for Windows on Linux).
"""

import platform

from ..errors import ArgumentError
from ..manifest import Image, Version, dotted

__all__ = ["check_block", "this_host", "why_not"]

_PROCESSORS = {"amd64": "x86_64", "arm64": "aarch64"}


def this_host() -> str:
    """Return the operating system and processor of this process, as `Image.host` has them: "linux-x86_64"."""
    processor = platform.machine().lower()
    return f"{platform.system().lower()}-{_PROCESSORS.get(processor, processor)}"


def why_not(image: Image, capability: Version) -> str | None:
    """Return why this process and a GPU of this compute capability cannot run a CUDA Tile image; None if they can."""
    if capability != image.target.capability:
        return f"is for compute capability {dotted(image.target.capability)} only"
    host = this_host()
    return None if image.host == host else f"has host code for {image.host}, and this program runs on {host}"


def check_block(kernel: str, block: tuple[int, int, int], shared_memory: int) -> None:
    """Raise ArgumentError for a launch that chooses the block or the shared memory of a CUDA Tile kernel.

    The driver launches such a kernel with a block of 1, and refuses most others; some it takes for the compiler's own.
    Source: CUDA Programming Guide, "CUDA Tile", and what driver 580 did.
    """
    if block != (1, 1, 1) or shared_memory:
        what = f"block {block}" if block != (1, 1, 1) else f"{shared_memory} bytes of shared memory"
        raise ArgumentError(
            f"{kernel} is a CUDA Tile kernel: the compiler chose its threads and its shared memory. Launch it with "
            f"block 1 and no shared memory, not with {what}; the grid is the number of tile blocks"
        )
