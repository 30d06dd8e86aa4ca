"""Find damage in an image that would crash the process inside the driver, for programs that check no hashes."""

from ...manifest import Image
from .cubin import check_cubin
from .fatbin import whole_fatbin

__all__ = ["structural_damage"]


def structural_damage(image: Image, content: bytes) -> str | None:
    """Return what is wrong with a fatbin or cubin that the driver would read without checks; None if nothing is."""
    if image.offset is None:
        return None if whole_fatbin(content) else "it is cut short"
    if image.kind == "cubin":
        try:
            check_cubin(content)
        except ValueError as error:
            return f"in {image}, {error}"
    return None
