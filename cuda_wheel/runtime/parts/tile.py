"""CUDA Tile images: which programs and GPUs run them.

Such an image is a cubin of tileiras. It has machine code for one compute capability: from 9.0 on for an "a" target, and
before with a use of registers and shared memory that was chosen for that GPU. It also has host code, which the driver
runs in the process that loads it: for one operating system and processor, which nvcc names to tileiras in the same way.
"""

import platform

from ..manifest import Image, Version, dotted

__all__ = ["this_host", "why_not"]

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
