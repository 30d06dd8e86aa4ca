"""Write a wheel's SBOM (CycloneDX): the files and packages that its images were built from.

Sources: PEP 770, for the path in the wheel; CycloneDX 1.7, JSON reference. The optional serial number and timestamp are
left out: the same inputs give the same bytes.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from hashlib import sha256
from importlib import metadata
from pathlib import Path
from typing import Any

import cuda_wheel
from cuda_wheel.builder.config.settings import Config
from cuda_wheel.builder.jobs import BuiltModule
from cuda_wheel.builder.sources.paths import below
from cuda_wheel.builder.toolchain.packages import cuda_folders, is_cuda_package
from cuda_wheel.builder.toolchain.toolchain import (
    HEADER_GROUPS,
    INCLUDE,
    LIBRARIES,
    STAND_INS,
    Nvvm,
    PythonCompiler,
    Tileiras,
    Toolchain,
)

__all__ = ["Document", "Materials", "merged", "sbom_path"]

Document = dict[str, Any]
"""JSON object of CycloneDX. It is either a whole SBOM, or the part of an SBOM for one module (with the keys
"components" and "dependencies"), or one component (a package or a file)."""


def sbom_path(name: str) -> str:
    """Return the path of the file with a module's part of the SBOM, beside its fatbin. Only builds by CMake, where each
    module is built on its own, write it."""
    return name.replace(".", "/") + ".cdx.json"


class Materials:
    """Finds the files of a project and the packages of this environment that modules are built from."""

    def __init__(
        self,
        root: Path,
        config: Config,
        toolchain: Toolchain,
        nvvm: Nvvm | None,
        python_compilers: Mapping[str, PythonCompiler] | None = None,
        tileiras: Tileiras | None = None,
    ) -> None:
        self._root = root
        self._is_vendored = config.loader == "vendor"
        self._toolchain = toolchain
        self._include_dirs = toolchain.header_folders
        self._folders = cuda_folders()
        self._owners = cache(_owners)
        # Modules share most of their components.
        self._package = cache(_package)
        self._own = cache(self._own_file)
        self._header = cache(self._header_component)
        versions = (toolchain.nvrtc, toolchain.nvjitlink, toolchain.nvfatbin)
        self._tools = [self._cuda_wheel(), *map(self._compiler, LIBRARIES, versions, toolchain.libraries)]
        self._others = {"nvvm": [self._compiler("nvvm", nvvm.release, nvvm.library)]} if nvvm else {}
        if tileiras is not None:
            self._others["tileiras"] = [self._compiler("tileiras", tileiras.release, tileiras.program)]
        """Compilers that only some modules need, by their names in manifests."""
        for language, compiler in (python_compilers or {}).items():
            self._others[language] = [self._installed(name) for name in compiler.packages]

    def of(self, module: BuiltModule, headers: Iterable[str], system_dirs: Sequence[str] = ()) -> Document:
        """Return a module's part of the SBOM: its components, and which of them its fatbin depends on.

        `headers` are the absolute paths of all files that the module's sources include, `system_dirs` the absolute
        folders of libraries outside the project, from `system-include-dirs`.
        """
        manifest = module.manifests[0]  # all variants have the same compilers
        sources = dict.fromkeys(path for each in module.manifests for path in each.sources)
        parts = [
            *self._tools,
            *(part for name in self._others.keys() & manifest.toolchain for part in self._others[name]),
        ]
        parts += [self._own(path) for path in sources]
        parts += [self._header(os.path.normpath(path), system_dirs) for path in headers]
        folder = manifest.name.rpartition(".")[0].replace(".", "/")
        fatbin = _file("wheel", f"{folder}/{manifest.fatbin}", sha256(module.fatbin).hexdigest())
        references = sorted({part["bom-ref"] for part in parts})
        return {
            "components": _united([*parts, fatbin]),
            "dependencies": [{"ref": fatbin["bom-ref"], "dependsOn": references}],
        }

    def installed_headers(self) -> list[str]:
        """Return the absolute path of one header from each of the toolchain's packages that have headers."""
        headers = [group.header for group in HEADER_GROUPS.values()]
        paths = (os.path.join(folder, header) for folder in self._toolchain.include_dirs for header in headers)
        return list(filter(os.path.isfile, paths))

    def _cuda_wheel(self, used_in: bool = False) -> Document:
        """Return cuda-wheel as a component of the SBOM. The component has the scope "excluded" (a build tool) if the
        wheel contains no code of cuda-wheel.

        Such code is a vendored loader, or a header that is compiled into a module. `used_in`: whether there is such a
        header.
        """
        scope = {} if used_in or self._is_vendored else {"scope": "excluded"}
        return _component("cuda-wheel", cuda_wheel.__version__, [{"expression": "Apache-2.0"}]) | scope

    def _compiler(self, name: str, version: str, library: str) -> Document:
        """Return a compiler as a component with the scope "excluded" (a build tool). The component is the package that
        contains the file `library`. If no package contains `library`, the component has this `name` and `version`."""
        package = self._package_of(library)
        if package is None:  # part of a CUDA toolkit installation
            package = {"type": "library", "bom-ref": f"toolkit:{name}@{version}", "name": name, "version": version}
        return package | {"scope": "excluded"}

    def _installed(self, distribution: str) -> Document:
        """Return an installed distribution that compiles as a component, with the scope "excluded" (a build tool)."""
        package = {"type": "library", "bom-ref": f"toolkit:{distribution}", "name": distribution}
        with suppress(metadata.PackageNotFoundError):  # built from source, and not installed
            package = self._package(None, distribution)
        return package | {"scope": "excluded"}

    def _own_file(self, path: str) -> Document:
        """Return a file of the project as a component. `path` is relative to the project's folder, with "/"."""
        return _file("source", path, sha256((self._root / path).read_bytes()).hexdigest())

    def _header_component(self, path: str, system_dirs: Sequence[str]) -> Document:
        """Return the component for the header with the absolute path `path`: the package that contains the header, or
        the header itself if no package contains it. `system_dirs` are the absolute folders from
        `system-include-dirs`."""
        folders = (*self._include_dirs, *system_dirs)
        folder = next((folder for folder in folders if path.startswith(folder + os.sep)), None)
        if folder in (str(INCLUDE), *STAND_INS):
            return self._cuda_wheel(used_in=True)
        own = below(path, str(self._root)) if folder is None else None
        if own is not None:
            return self._own(own.replace(os.sep, "/"))
        # A toolkit header that a source includes by its absolute path gets that path as its name.
        name = path if folder is None else path[len(folder) + 1 :].replace(os.sep, "/")
        origin = "system" if folder in system_dirs else "toolkit"
        return self._package_of(path) or _file(origin, name, sha256(Path(path).read_bytes()).hexdigest())

    def _package_of(self, path: str) -> Document | None:
        """Return the component for the CUDA package that contains the file with the absolute path `path`; None if the
        file is in no CUDA package."""
        for folder in self._folders:
            if path.startswith(folder + os.sep):
                name = self._owners(folder).get(path[len(folder) + 1 :].replace(os.sep, "/"))
                return None if name is None else self._package(folder, name)
        return None


def merged(documents: Sequence[Document]) -> bytes:
    """Return the SBOM of a wheel as JSON text, from its modules' parts."""
    dependencies = [dependency for document in documents for dependency in document["dependencies"]]
    document = {
        "$schema": "http://cyclonedx.org/schema/bom-1.7.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.7",
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
    """Return the components without duplicates, sorted by "bom-ref" (identifier of a component).

    Of components with the same identifier, one is kept, preferably without the scope "excluded" (a build tool).
    """
    united: dict[str, Document] = {}
    for component in components:
        if "scope" not in component or component["bom-ref"] not in united:
            united[component["bom-ref"]] = component
    return [component for _, component in sorted(united.items())]


def _owners(folder: str) -> dict[str, str]:
    """Return path of a file -> name of the metadata folder (*.dist-info) of its package, for all CUDA packages in a
    folder.

    `folder` is a folder of `sys.path`, such as site-packages. The paths of files are relative to it.
    """
    owners: dict[str, str] = {}
    for name in sorted(filter(is_cuda_package, os.listdir(folder))):
        try:
            record = Path(folder, name, "RECORD").read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue
        owners |= dict.fromkeys((line.partition(",")[0] for line in record.splitlines()), name)
    return owners


def _package(folder: str | None, name: str) -> Document:
    """Return an installed package as a component.

    `folder`: folder of the package, or None.
    `name`: name of the package's metadata folder (*.dist-info) in `folder`. If `folder` is None, name of a
    distribution, such as "cuda-wheel".
    """
    installed = metadata.distribution(name) if folder is None else metadata.PathDistribution(Path(folder, name))
    about = installed.metadata
    name = about["Name"].lower().replace("_", "-")
    licences: list[Document] = []
    if "License-Expression" in about:
        licences = [{"expression": about["License-Expression"]}]
    else:
        lines = filter(None, map(str.strip, str(about.json.get("license") or "").splitlines()))
        licences = [{"license": {"name": line}} for line in [*lines][:1] if line != "UNKNOWN"]
    return _component(name, about["Version"], licences)


def _component(name: str, version: str, licences: Sequence[Document]) -> Document:
    purl = f"pkg:pypi/{name}@{version}"
    component = {"type": "library", "bom-ref": purl, "name": name, "version": version}
    return component | ({"licenses": licences} if licences else {}) | {"purl": purl}


def _file(origin: str, path: str, digest: str) -> Document:
    """Return a file as a component. `digest` is its SHA-256 in hexadecimal. `origin` says where the file belongs:
    "source" (the project), "wheel", "toolkit" (CUDA) or "system" (another library outside the project)."""
    hashes = [{"alg": "SHA-256", "content": digest}]
    return {"type": "file", "bom-ref": f"{origin}:{path}", "name": path, "hashes": hashes}
