"""Read a wheel's SBOM and check the fatbins against it. Source: PEP 770."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cuda_wheel.builder.sources.layout import SBOM
from cuda_wheel.inspect.archive import metadata_file
from cuda_wheel.runtime.errors import ImageError

__all__ = ["WheelSbom", "read_sbom", "sbom_differences"]


@dataclass(frozen=True)
class WheelSbom:
    """The content of a wheel's SBOM."""

    fatbins: Mapping[str, str]
    """The SHA-256 of each fatbin, by its path in the wheel."""
    inputs: Mapping[str, Mapping[str, str]]
    """For each fatbin, what it was built from, by name: the versions of packages, and "sha256:..." of files."""
    packages: Mapping[str, str]
    """The versions of the Python packages among the inputs, by name."""


def read_sbom(path: Path) -> WheelSbom | None:
    """Return the content of a wheel's SBOM, or None if it has none.

    Raises ImageError if `path` is not a wheel, or the SBOM is not one that cuda-wheel wrote.
    """
    content = metadata_file(path, f"sboms/{SBOM}")
    if content is None:
        return None
    try:
        return _parse(json.loads(content))
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise ImageError(f"{path}: {SBOM} is not an SBOM of cuda-wheel: {type(error).__name__}: {error}") from error


def sbom_differences(sbom: WheelSbom, digests: Mapping[str, str]) -> list[str]:
    """Return which fatbins of a wheel differ from its SBOM, one line each.

    `digests` holds the SHA-256 of the wheel's files by their paths. A fatbin without a manifest is ignored.
    """
    fatbins = {name for name in digests if name.endswith(".fatbin") and f"{name}.json" in digests} | set(sbom.fatbins)
    return [f"{name} differs from the SBOM" for name in sorted(fatbins) if sbom.fatbins.get(name) != digests.get(name)]


def _parse(document: Any) -> WheelSbom:
    names, values, packages = {}, {}, {}
    for component in document["components"]:
        reference, name = _printable(component["bom-ref"]), _printable(component["name"])
        names[reference] = name
        if component["type"] == "file":
            (digest,) = component["hashes"]
            values[reference] = "sha256:" + _printable(digest["content"])
        else:
            values[reference] = _printable(component["version"])
        if "purl" in component:
            packages[name] = values[reference]
    dependencies = {_printable(entry["ref"]): entry["dependsOn"] for entry in document["dependencies"]}
    return WheelSbom(
        {names[reference]: values[reference].removeprefix("sha256:") for reference in dependencies},
        {
            names[reference]: {names[needed]: values[needed] for needed in references}
            for reference, references in dependencies.items()
        },
        packages,
    )


def _printable(value: object) -> str:
    # The value is printed to terminals.
    if not isinstance(value, str) or not value.isprintable():
        raise ValueError(f"{value!r} is not a printable string")
    return value
