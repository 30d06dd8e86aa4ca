"""See a base and its companions together: which belong to each other, and what a module has in all of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from cuda_wheel.builder.manifest_reader import digest_of
from cuda_wheel.inspect.modules import FoundModule
from cuda_wheel.runtime.errors import ImageError
from cuda_wheel.runtime.manifest import Manifest, Version
from cuda_wheel.runtime.parts.companions import install_command, suitable, wrong_companion

__all__ = ["companion_difference", "missing_companions", "united"]


def united(modules: Sequence[FoundModule]) -> list[Manifest]:
    """Return the manifests of modules, one for each variant, with the images of the companions among them.

    The images of a manifest then lie in several files. A companion without its base has manifests of its own. Raises
    ImageError for a companion that is not the one of its base.
    """
    manifests = []
    for module in modules:
        if _base_of(module, modules) is not None:
            continue
        parts = [each for each in modules if _base_of(each, modules) is module]
        wrong = next(filter(None, (companion_difference(each, modules) for each in parts)), None)
        if wrong is not None:
            raise ImageError(wrong)
        for manifest in module.manifests:
            own = [each for part in parts for each in part.manifests if each.variant == manifest.variant]
            images = tuple(image for each in own for image in each.images)
            manifests.append(manifest._replace(images=manifest.images + images))
    return manifests


def companion_difference(module: FoundModule, modules: Iterable[FoundModule]) -> str | None:
    """Return why a module in a companion does not belong to the base of the same distribution among `modules`; None if
    it does, if there is no such base, or if it is in no companion."""
    base = _base_of(module, modules)
    own = module.split
    if base is None or base.split is None or own is None:
        return None
    named = next((each for each in base.split.companions if each.distribution == own.distribution), None)
    if named is None:
        return f"{module.location} is in {own.distribution}, which {base.location} does not name as a companion"
    if named.sha256 == digest_of(module.text, module.location):
        return None
    return f"{module.location}: {wrong_companion(base.split, named, own)}"


def _base_of(module: FoundModule, modules: Iterable[FoundModule]) -> FoundModule | None:
    """Return the module in the base to which a module in a companion belongs; None without one."""
    own = module.split
    if own is None or own.base is None:
        return None
    return next(
        (
            each
            for each in modules
            if each.name == module.name and each.split is not None and each.split.distribution == own.base
        ),
        None,
    )


def missing_companions(modules: Sequence[FoundModule], capability: Version, driver: Version) -> dict[str, str]:
    """Return module -> a sentence about the companion that is best for a GPU and driver, and how to install it.

    Modules whose best companion, or another with machine code for the GPU, is among `modules` are not in the result.
    """
    found = {}
    for module in modules:
        split = module.split
        if split is None or split.base is not None:
            continue
        present = {each.split.distribution for each in modules if each.name == module.name and each.split is not None}
        certain = [companion for companion, is_certain in suitable(split, capability, driver) if is_certain]
        if certain and not any(each.distribution in present for each in certain):
            found[module.name] = f"{certain[0].distribution} is missing: {install_command(split, certain[0])}"
    return found
