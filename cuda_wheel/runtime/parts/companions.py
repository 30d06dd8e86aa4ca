"""Find a module's machine code in companion packages: `split = "architecture"`.

The base wheel of such a project has no machine code. Its manifests say in "split" which companions have it, each for
one compute capability, and the SHA-256 of each companion's manifest. That manifest contains the companion's version and
the SHA-256 of all its images, so that code of another version or build is never loaded.
"""

import os
import warnings
from threading import Lock
from typing import Any, NamedTuple

from ..errors import ImageError, NoImageError, to_add
from ..files import ModuleFiles, files_in, package_folders
from ..manifest import MANIFEST_SUFFIX, Manifest, Target, Version, checked, dotted, parse_version, printable
from ..rules import Resolution, doubt, resolve, unsupported

__all__ = ["Companion", "Split", "best_of", "install_command", "read_split", "suitable", "wrong_companion"]


class Companion(NamedTuple):
    """A distribution with a module's machine code for one compute capability."""

    extra: str
    """The extra of the base that requires it: "sm90"."""
    distribution: str
    """Its name: "demo-cuda-sm90"."""
    package: str
    """The package that has its files: "demo_cuda_sm90"."""
    targets: tuple[Target, ...]
    """What its images are compiled for."""
    driver: Version
    """First CUDA release whose driver reads them."""
    sha256: str
    """SHA-256 of the module's manifest in it."""


class Split(NamedTuple):
    """The distribution that a manifest belongs to, and the companions that have machine code of the module."""

    distribution: str
    version: str
    base: str | None
    """For a manifest in a companion, the distribution that it completes; else None."""
    companions: tuple[Companion, ...]


def read_split(value: Any, where: str) -> Split | None:
    """Return what "split" in the manifest `where` says; None for a wheel that is not split. Raises ImageError."""
    return checked(where, lambda: None if value is None else _split(value))


def _split(value: Any) -> Split:
    companions = tuple(
        Companion(
            printable(each["extra"]),
            printable(each["distribution"]),
            printable(each["package"]),
            tuple(map(Target.parse, each["targets"])),
            parse_version(each["driver"]),
            printable(each["sha256"]),
        )
        for each in value["companions"]
    )
    for each in companions:
        if not each.package.isidentifier():  # it is imported
            raise ValueError(f"{each.package!r} is not the name of a package")
    base = value["base"]
    return Split(printable(value["distribution"]), printable(value["version"]), base and printable(base), companions)


def suitable(split: Split, capability: Version, driver: Version) -> list[tuple[Companion, bool]]:
    """Return the companions whose machine code a GPU and driver can use, best first, and whether that is certain."""
    found = []
    for companion in split.companions:
        ranks = [
            (doubt(target, capability) is None, target.capability, " fa".index(target.suffix or " "))
            for target in companion.targets
            if unsupported(target, capability) is None and driver >= companion.driver
        ]
        if ranks:
            found.append((max(ranks), companion))
    found.sort(key=lambda each: each[0], reverse=True)
    return [(companion, rank[0]) for rank, companion in found]


def install_command(split: Split, companion: Companion) -> str:
    """Return the command that installs a companion of the base that `split` describes; in a frozen application, what
    its developer can do."""
    return to_add(f"{companion.distribution} {split.version}", _pip_install(split, companion))


def _pip_install(split: Split, companion: Companion) -> str:
    return f'pip install "{split.distribution}[{companion.extra}]=={split.version}"'


def best_of(
    files: ModuleFiles, manifest: Manifest, resolution: Resolution, capability: Version, driver: Version
) -> tuple[ModuleFiles, Manifest, Resolution]:
    """Return the files, the manifest and the image to load: of an installed companion, else those of the base.

    `resolution` is that of the base. Warns, once in a process for each companion, if the base's PTX is compiled because
    the companion is not installed. Raises ImageError for a companion of another version or build, and NoImageError,
    with the companion that helps, if neither has an image.
    """
    split = read_split(files.split, files.where)
    assert split is not None
    missing = None
    for companion, is_certain in suitable(split, capability, driver):
        if not is_certain and resolution.image is not None:
            break  # PTX that is known to run is better, and so are all before
        found = _installed(split, companion, manifest)
        if found is None:
            missing = missing or companion
            continue
        own = found[1]
        chosen = resolve(own, capability, driver)
        if chosen.how == "native":
            return found[0], own._replace(specialize=manifest.specialize), chosen
    if resolution.image is None:
        from ..explanations import no_image_message  # only for an error

        message = no_image_message(manifest, resolution, capability, driver)
        if missing is not None:
            message += f"\nOr install {missing.distribution}, which has machine code: {install_command(split, missing)}"
        raise NoImageError(message)
    if missing is not None:
        _warn(split, missing, capability)
    return files, manifest, resolution


_warned = set[str]()
"""The companions of which a warning was given in this process."""


_warning = Lock()
"""Lock held while `_warned` is read and changed, so that threads that load at the same time warn once."""


def _warn(split: Split, missing: Companion, capability: Version) -> None:
    with _warning:
        if missing.distribution in _warned:
            return
        _warned.add(missing.distribution)
    warnings.warn(
        f"{split.distribution} {split.version} has no machine code for this GPU ({dotted(capability)}), and its PTX is "
        f"compiled now: {missing.distribution} has it, {install_command(split, missing)}",
        RuntimeWarning,
        stacklevel=6,  # the caller of `load`
    )


def _installed(split: Split, companion: Companion, manifest: Manifest) -> tuple[ModuleFiles, Manifest] | None:
    """Return the files and the manifest that a companion has of a module; None if it is not installed."""
    try:
        folders = package_folders(companion.package)
    except ImageError:
        return None
    file = manifest.name + MANIFEST_SUFFIX
    files = files_in(companion.package, folders, file)
    if files is None:
        if not any(os.path.isfile(os.path.join(folder, "__init__.py")) for folder in folders):
            return None  # a folder of that name, which Python takes for a namespace package
        raise ImageError(
            f"{companion.package} in {', '.join(folders)} lacks {file}: it is damaged, or of another version than "
            f"{split.distribution} {split.version}. {_what_helps(split, companion)}"
        )
    # The version comes first: another one may lack the variant.
    head = files.manifest_file(file, check=False)
    if head.digest != companion.sha256:
        raise ImageError(
            f"{files.where}: {wrong_companion(split, companion, read_split(head.head.get('split'), file))}"
        )
    return files, files.manifest_of_variant(file, dict(manifest.variant))


def wrong_companion(split: Split, companion: Companion, own: Split | None) -> str:
    """Return the message for a companion whose manifest, which says `own`, is not the one that the base names."""
    base = f"{split.distribution} {split.version}"
    if own is not None and own.version != split.version:
        return (
            f"{companion.distribution} {own.version} does not belong to {base}: both must have the same version. "
            f"{_what_helps(split, companion)}"
        )
    both = f'"{split.distribution}=={split.version}" "{companion.distribution}=={split.version}"'
    again = f"Install both again, from one place: pip install --force-reinstall --no-deps {both}"
    return (
        f"{companion.distribution} was changed, or is of another build than {base}, although it has the same version. "
        + to_add(f"the {companion.distribution} of that build", again)
    )


def _what_helps(split: Split, companion: Companion) -> str:
    advice = f"Run {_pip_install(split, companion)}, or pip uninstall {companion.distribution}"
    return f"{to_add(f'{companion.distribution} {split.version}', advice)}."
