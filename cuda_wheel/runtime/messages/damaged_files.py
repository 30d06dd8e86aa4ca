"""Say what is wrong with a module's files."""

from typing import TYPE_CHECKING

from ..errors import ImageError
from ..versions import FORMAT

if TYPE_CHECKING:
    from ..manifest import Manifest

__all__ = ["damaged_image", "damaged_manifest", "newer_format"]


def newer_format(where: str, number: int) -> ImageError:
    """Return the error for a manifest whose format only a newer version reads."""
    return ImageError(
        f"{where} was made by a newer cuda-wheel (manifest format {number}); this one reads formats up to {FORMAT}. "
        "Upgrade cuda-wheel to load it."
    )


def damaged_manifest(where: str, name: str) -> ImageError:
    """Return the error for the manifest of the module `name` whose SHA-256 is not the one that it contains."""
    return ImageError(
        f"{where} is damaged: its SHA-256 is not the one that it contains. Reinstall the package that holds {name}."
    )


def damaged_image(manifest: "Manifest", where: str, damage: str) -> ImageError:
    """Return the error for an image of a module, whose manifest is `where`."""
    text = f"{manifest.fatbin} beside {where} is damaged: {damage}."
    return ImageError(f"{text} Reinstall the package that holds {manifest.name}.")
