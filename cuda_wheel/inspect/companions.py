"""See a base and its companions together: which belong to each other, and what a module has in all of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from cuda_wheel.builder.manifest_reader import digest_of
from cuda_wheel.inspect.modules import FoundModule
from cuda_wheel.runtime.errors import ImageError
from cuda_wheel.runtime.manifest import Manifest, Version
from cuda_wheel.runtime.parts.companions import install_command, suitable, wrong_companion

__all__ = ["companion_differences", "missing_companions", "united"]


def united(modules: Sequence[FoundModule]) -> list[Manifest]:
    """Return the manifests of modules, one for each variant, with the images of the companions among them.

    The images of a manifest then lie in several files. A companion without its base has manifests of its own. Raises
    ImageError for a companion that is not the one of its base.
    """
    bases = _bases(modules)
    parts: dict[int, list[FoundModule]] = {}
    for module in modules:
        base = _base_of(module, bases)
        if base is not None:
            _check_companion(module, base)
            parts.setdefault(id(base), []).append(module)
    manifests = []
    for module in modules:
        if _base_of(module, bases) is None:
            moved = [manifest for part in parts.get(id(module), ()) for manifest in part.manifests]
            for manifest in module.manifests:
                images = tuple(image for each in moved if each.variant == manifest.variant for image in each.images)
                manifests.append(manifest._replace(images=manifest.images + images))
    return manifests


def companion_differences(modules: Sequence[FoundModule]) -> dict[str, str]:
    """Return location of a module's manifest -> why it does not belong to the base of its distribution among `modules`.

    Modules in no companion, those without their base, and those that belong to it are not in the result.
    """
    bases, found = _bases(modules), {}
    for module in modules:
        base = _base_of(module, bases)
        try:
            if base is not None:
                _check_companion(module, base)
        except ImageError as error:
            found[module.location] = str(error)
    return found


def _check_companion(module: FoundModule, base: FoundModule) -> None:
    """Raise ImageError if a module in a companion is not the one that its base names."""
    split, own = base.split, module.split
    assert split is not None and own is not None
    named = next((each for each in split.companions if each.distribution == own.distribution), None)
    if named is None:
        raise ImageError(f"{module.location} is in {own.distribution}, which {base.location} does not name")
    if named.sha256 != digest_of(module.text, module.location):
        raise ImageError(f"{module.location}: {wrong_companion(split, named, own)}")


def _bases(modules: Iterable[FoundModule]) -> dict[tuple[str, str], FoundModule]:
    """Return (name of a module, distribution of the base) -> the module in the base."""
    return {
        (module.name, module.split.distribution): module
        for module in modules
        if module.split is not None and module.split.base is None
    }


def _base_of(module: FoundModule, bases: Mapping[tuple[str, str], FoundModule]) -> FoundModule | None:
    """Return the module in the base to which a module in a companion belongs; None without one."""
    own = module.split
    return None if own is None or own.base is None else bases.get((module.name, own.base))


def missing_companions(modules: Sequence[FoundModule], capability: Version, driver: Version) -> dict[str, str]:
    """Return module -> a sentence about the companion that is best for a GPU and driver, and how to install it.

    Modules of which a companion with machine code for the GPU is among `modules` are not in the result.
    """
    present = {(module.name, module.split.distribution) for module in modules if module.split is not None}
    found = {}
    for module in _bases(modules).values():
        split = module.split
        assert split is not None
        certain = [companion for companion, is_certain in suitable(split, capability, driver) if is_certain]
        if certain and not any((module.name, each.distribution) in present for each in certain):
            found[module.name] = f"{certain[0].distribution} is missing: {install_command(split, certain[0])}"
    return found
