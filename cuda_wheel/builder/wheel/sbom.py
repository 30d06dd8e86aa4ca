"""Say what a wheel's images were made of: an SBOM (CycloneDX) for the wheel's metadata.

Sources: PEP 770, for the place in the wheel; CycloneDX 1.6, JSON reference. It has neither a serial number nor a time,
which that leaves open: the same inputs give the same bytes.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from functools import cache
from hashlib import sha256
from importlib import metadata
from pathlib import Path
from typing import Any

import cuda_wheel
from cuda_wheel.builder.config.settings import Config
from cuda_wheel.builder.sources.paths import below
from cuda_wheel.builder.toolchain.packages import cuda_folders, is_cuda_package
from cuda_wheel.builder.toolchain.records import FURTHER_HEADERS, HEADERS, INCLUDE, LIBRARIES, Nvvm, Toolchain
from cuda_wheel.runtime.manifest import Manifest

__all__ = [
    "SBOM",
    "Document",
    "Materials",
    "merged",
    "sbom_path",
]


SBOM = "cuda-wheel.cdx.json"
"""The name of the file, in the folder `sboms` of the wheel's metadata."""


Document = dict[str, Any]
"""What was used, of CycloneDX's objects: "components", and in "dependencies" which of them a fatbin was made of."""


PARSERS = ("tree-sitter", "tree-sitter-cuda")
"""The packages that take device code out of mixed files."""


def sbom_path(name: str) -> str:
    """Return the path of a module's part of the SBOM, beside its fatbin, where each module is built on its own."""
    return name.replace(".", "/") + ".cdx.json"


class Materials:
    """Tells what the modules of a project were made of: its own files, and packages of this environment."""

    def __init__(self, root: Path, config: Config, toolchain: Toolchain, nvvm: Nvvm | None) -> None:
        self._root = root
        self._is_vendored = config.loader == "vendor"
        self._toolchain = toolchain
        self._include_dirs = (str(INCLUDE), *toolchain.include_dirs)
        self._folders = cuda_folders()
        self._owners = cache(_owners)
        # Modules share most of what they are made of.
        self._described = cache(_described)
        self._own = cache(self._own_file)
        self._header = cache(self._header_file)
        versions = (toolchain.nvrtc, toolchain.nvjitlink, toolchain.nvfatbin)
        self._tools = [self._cuda_wheel(), *map(self._compiler, LIBRARIES, versions, toolchain.libraries)]
        self._nvvm = None if nvvm is None else self._compiler("nvvm", nvvm.release, nvvm.library)

    def of(self, manifest: Manifest, headers: Iterable[str]) -> Document:
        """Return what a module was made of. `headers` are the absolute paths of all that its sources include."""
        parts = list(self._tools)
        if "nvvm" in manifest.toolchain and self._nvvm is not None:
            parts.append(self._nvvm)
        if manifest.host_code:
            parts += [self._described(None, name) | {"scope": "excluded"} for name in PARSERS]
        parts += [self._own(path) for path in manifest.sources]
        parts += [self._header(os.path.normpath(path)) for path in headers]
        folder = manifest.name.rpartition(".")[0].replace(".", "/")
        fatbin = _file("wheel", f"{folder}/{manifest.fatbin}", manifest.fatbin_sha256)
        made_of = sorted({part["bom-ref"] for part in parts})
        return {
            "components": _united([*parts, fatbin]),
            "dependencies": [{"ref": fatbin["bom-ref"], "dependsOn": made_of}],
        }

    def installed_headers(self) -> list[str]:
        """Return the absolute path of one header of each of the toolchain's packages that have any."""
        known = {**HEADERS, **FURTHER_HEADERS}.values()
        paths = (os.path.join(folder, header) for folder in self._toolchain.include_dirs for header in known)
        return list(filter(os.path.isfile, paths))

    def _cuda_wheel(self, used_in: bool = False) -> Document:
        scope = {} if used_in or self._is_vendored else {"scope": "excluded"}
        return _component("cuda-wheel", cuda_wheel.__version__, [{"expression": "Apache-2.0"}]) | scope

    def _compiler(self, name: str, version: str, library: str) -> Document:
        package = self._package_of(library)
        if package is None:  # of a toolkit that is installed as a whole
            package = {"type": "library", "bom-ref": f"toolkit:{name}@{version}", "name": name, "version": version}
        return package | {"scope": "excluded"}

    def _own_file(self, path: str) -> Document:
        """Return a file of the project, by its path there with "/"."""
        return _file("source", path, sha256((self._root / path).read_bytes()).hexdigest())

    def _header_file(self, path: str) -> Document:
        folder = next((folder for folder in self._include_dirs if path.startswith(folder + os.sep)), None)
        if folder == str(INCLUDE):
            return self._cuda_wheel(used_in=True)
        own = below(path, str(self._root)) if folder is None else None
        if own is not None:
            return self._own(own.replace(os.sep, "/"))
        # A toolkit's that a source includes by its place on this machine is called by that.
        name = path if folder is None else path[len(folder) + 1 :].replace(os.sep, "/")
        return self._package_of(path) or _file("toolkit", name, sha256(Path(path).read_bytes()).hexdigest())

    def _package_of(self, path: str) -> Document | None:
        """Return the CUDA package that a file is of; None for a file of none."""
        for folder in self._folders:
            if path.startswith(folder + os.sep):
                name = self._owners(folder).get(path[len(folder) + 1 :].replace(os.sep, "/"))
                return None if name is None else self._described(folder, name)
        return None


def merged(documents: Sequence[Document]) -> bytes:
    """Return the SBOM of the modules that were made of these."""
    dependencies = [dependency for document in documents for dependency in document["dependencies"]]
    document = {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "lifecycles": [{"phase": "build"}],
            "tools": {"components": [{"type": "application", "name": "cuda-wheel", "version": cuda_wheel.__version__}]},
        },
        "components": _united([part for document in documents for part in document["components"]]),
        "dependencies": sorted(dependencies, key=lambda dependency: str(dependency["ref"])),
    }
    return (json.dumps(document, indent=1) + "\n").encode()


def _united(components: Iterable[Document]) -> list[Document]:
    """Return each component once, in order: as a part of the images, where any module has it so ("excluded" is what
    only helped to make them)."""
    found: dict[str, Document] = {}
    for component in components:
        if "scope" not in component or component["bom-ref"] not in found:
            found[component["bom-ref"]] = component
    return [component for _, component in sorted(found.items())]


def _owners(folder: str) -> dict[str, str]:
    """Return, by path in a folder of packages, the name of the folder that describes the CUDA package of a file."""
    owners: dict[str, str] = {}
    for name in sorted(filter(is_cuda_package, os.listdir(folder))):
        try:
            record = Path(folder, name, "RECORD").read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue
        owners |= dict.fromkeys((line.partition(",")[0] for line in record.splitlines()), name)
    return owners


def _described(folder: str | None, name: str) -> Document:
    """Return an installed package: that which a file `name` in a folder of packages describes, or the one of that
    name."""
    known = metadata.distribution(name) if folder is None else metadata.PathDistribution(Path(folder, name))
    about = known.metadata
    name = about["Name"].lower().replace("_", "-")
    licences: list[Document] = []
    if "License-Expression" in about:
        licences = [{"expression": about["License-Expression"]}]
    else:
        lines = filter(None, map(str.strip, str(about["License"] or "").splitlines()))
        licences = [{"license": {"name": line}} for line in [*lines][:1] if line != "UNKNOWN"]
    return _component(name, about["Version"], licences)


def _component(name: str, version: str, licences: Sequence[Document]) -> Document:
    purl = f"pkg:pypi/{name}@{version}"
    component = {"type": "library", "bom-ref": purl, "name": name, "version": version}
    return component | ({"licenses": licences} if licences else {}) | {"purl": purl}


def _file(where: str, path: str, digest: str) -> Document:
    """Return a file as a component: of the project ("source"), of the wheel, or of a toolkit."""
    hashes = [{"alg": "SHA-256", "content": digest}]
    return {"type": "file", "bom-ref": f"{where}:{path}", "name": path, "hashes": hashes}
