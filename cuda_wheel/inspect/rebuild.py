"""Rebuild a wheel from its project, and compare the two wheels.

Read a wheel's SBOM and check the fatbins against it. Source: PEP 770.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any

from cuda_wheel import VENDORED_PACKAGE
from cuda_wheel.builder.scratch import scratch
from cuda_wheel.builder.sources.layout import SBOM
from cuda_wheel.inspect.archive import file_digests, metadata_file
from cuda_wheel.inspect.modules import find_modules
from cuda_wheel.runtime.errors import CudaWheelError, ImageError
from cuda_wheel.runtime.manifest import MANIFEST_SUFFIX, Manifest, parse_version

__all__ = [
    "Comparison",
    "WheelSbom",
    "build_project",
    "compare_wheels",
    "pinned_requirements",
    "read_sbom",
    "rebuild",
    "sbom_differences",
]


@dataclass(frozen=True)
class WheelSbom:
    """The content of a wheel's SBOM."""

    fatbins: Mapping[str, str]
    """Path of a fatbin in the wheel -> its SHA-256 in hexadecimal."""
    inputs: Mapping[str, Mapping[str, str]]
    """Path of a fatbin in the wheel -> the packages and files that it was built from, as name -> version. The version
    of a file is "sha256:..." with its SHA-256 in hexadecimal."""
    packages: Mapping[str, str]
    """Name of a Python package that was an input of a fatbin -> version of the package."""


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

    `digests` is path in the wheel -> SHA-256 in hexadecimal, for all files. A fatbin without a manifest is ignored.
    """
    fatbins = {name for name in digests if name.endswith(".fatbin") and f"{name}.json" in digests} | set(sbom.fatbins)
    return [f"{name} differs from the SBOM" for name in sorted(fatbins) if sbom.fatbins.get(name) != digests.get(name)]


def _parse(document: Any) -> WheelSbom:
    """Return the content of an SBOM. `document` is the parsed JSON of an SBOM in the form (CycloneDX) that cuda-wheel
    writes. Raises ValueError, LookupError, TypeError or AttributeError if `document` does not have this form."""
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


@dataclass(frozen=True)
class Comparison:
    """The differences between two builds of a wheel."""

    modules: Mapping[str, Sequence[str]]
    """Dotted name of each module that one or both wheels have -> differences between the two builds, one line each. The
    list is empty if the module is the same in both."""
    files: Sequence[str]
    """Paths in the wheel of files that cuda-wheel wrote and that differ: stubs, the vendored loader, the SBOM. The
    fatbins and manifests of `modules` are not listed here."""
    others: Sequence[str]
    """Paths in the wheel of files that the build back end wrote and that differ. A file differs also if only one of the
    wheels has it."""
    allowed: Sequence[str] = ()
    """Paths in the wheel of files that differ and are allowed to differ: these paths match a pattern that was passed to
    `allowing`."""

    @property
    def is_identical(self) -> bool:
        """True if all files but RECORD and those in `allowed` are the same, byte for byte."""
        return not self.files and not self.others and not any(self.modules.values())

    def allowing(self, patterns: Iterable[str]) -> Comparison:
        """Return the comparison with the files that match a pattern moved from `others` to `allowed`.

        A pattern is one of `fnmatch`, and matches the whole path in the wheel, as `others` has it.
        """
        allowed = [name for name in self.others if any(fnmatchcase(name, pattern) for pattern in patterns)]
        return replace(self, others=[name for name in self.others if name not in allowed], allowed=allowed)


def rebuild(
    wheel: Path, project: Path, isolated: bool = True, finish: Callable[[Path], Path] = lambda built: built
) -> Comparison:
    """Build the project, which is a folder or an sdist, and compare the result with `wheel`.

    `finish` takes the path of the wheel that the build back end made, and returns that of the wheel to compare.

    pip builds it, or uv if pip is not installed: if `isolated`, in a new environment with the package versions that the
    wheel records, else in this environment. The cache is not used, and the project's folder is not written to. No code
    of the wheel is run; the project's build back end is run, as in any build.

    Raises ImageError if `wheel` was not built with cuda-wheel, and CudaWheelError if the project does not build.
    """
    requirements = pinned_requirements(wheel)
    with scratch() as folder:
        root = _copy_project(project, folder)
        constraints, output = folder / "constraints.txt", folder / "wheel"
        constraints.write_text("".join(f"{pin}\n" for pin in requirements), encoding="utf-8")
        environ = os.environ | {"CUDA_WHEEL_CACHE_DIR": str(folder / "cache")}
        environ.pop("CUDA_WHEEL_CACHE_READONLY", None)
        command, variables = _build_command(root, output, constraints, isolated)
        return compare_wheels(wheel, finish(_run_build(command, project, folder, output, environ | variables)))


def build_project(project: Path, folder: Path, output: Path, isolated: bool) -> Path:
    """Build the project in a folder with its build back end, and return the path of the wheel, in the folder `output`.

    pip builds it, or uv if pip is not installed: if `isolated`, in a new environment, else in this one. `folder` is a
    temporary folder. Raises CudaWheelError if the project does not build.
    """
    command, variables = _build_command(project, output, None, isolated)
    return _run_build(command, project, folder, output, os.environ | variables)


def _run_build(command: Sequence[str], project: Path, folder: Path, output: Path, environ: Mapping[str, str]) -> Path:
    """Run the command that builds the wheel of `project` into the folder `output`, and return the path of the wheel.
    `folder` is the working directory."""
    # The output goes to standard error: people see it, and it does not mix with the report on standard output. Python
    # imports modules from its working directory, which must not be the folder of an untrusted wheel.
    result = subprocess.run(command, cwd=folder, env=environ, stdout=sys.stderr, check=False)
    wheels = sorted(output.glob("*.whl"))
    if result.returncode != 0 or len(wheels) != 1:
        raise CudaWheelError(
            f"{project} does not build: {' '.join(command[:4])} exited with status {result.returncode}."
        )
    return wheels[0]


_DISTRIBUTIONS = {"uv": "uv-build", "flit": "flit-core"}
"""Name of a build back end in the file WHEEL -> its distribution, if that has another name."""


def pinned_requirements(wheel: Path) -> list[str]:
    """Return requirements for the packages that a wheel was built with: "nvidia-cuda-nvrtc-cu12==12.9.86".

    They come from its SBOM or, if it has none, from its manifests. Raises ImageError if cuda-wheel did not build it.
    """
    modules, sbom = find_modules(str(wheel)), read_sbom(wheel)
    versions = _toolchain_packages(modules[0].manifests[0]) if sbom is None else dict(sbom.packages)
    generator = re.search(rb"^Generator: *([\w.-]+) +\(?([\w.+!-]+)\)?\s*$", metadata_file(wheel, "WHEEL") or b"", re.M)
    if generator:  # "hatchling 1.33.0", "setuptools (84.2.1)"
        name = generator[1].decode()
        versions[_DISTRIBUTIONS.get(name, name)] = generator[2].decode()
    # These strings of an untrusted wheel become lines of pip's constraints file, where they could be options.
    return [
        f"{name}=={version}"
        for name, version in sorted(versions.items())
        if re.fullmatch(r"[A-Za-z0-9][\w.-]*", name, re.ASCII) and re.fullmatch(r"\d[\w.+!*]*", version, re.ASCII)
    ]


def _toolchain_packages(manifest: Manifest) -> dict[str, str]:
    """Return the distributions of the manifest's toolchain (the compilers) as name -> version:
    {"nvidia-cuda-nvrtc-cu12": "12.9.86", "nvidia-nvjitlink-cu12": "12.9.*"}. NVRTC's version is exact; the other
    versions are patterns."""
    versions = manifest.toolchain
    suffix = "-cu12" if parse_version(versions["nvrtc"])[0] == 12 else ""
    return {f"nvidia-cuda-nvrtc{suffix}": versions["nvrtc"]} | {
        f"nvidia-{name}{suffix}": f"{versions[name]}.*" for name in ("nvjitlink", "nvfatbin") if name in versions
    }


NOT_SOURCES = shutil.ignore_patterns("build", "dist", ".venv", "venv", ".nox", ".tox", "*.egg-info", "__pycache__")
"""Function for the parameter `ignore` of `shutil.copytree`. It leaves out the results of earlier builds, and virtual
environments."""


def _not_copied(directory: str, names: list[str], top: str, folder: Path) -> set[str]:
    """Return the names in the folder `directory` that `shutil.copytree` must not copy.

    `names`: all names in `directory`. `top`: the project's folder. Names that NOT_SOURCES matches are left out only
    directly in `top`. `folder`: destination of the copy, which is left out everywhere.
    """
    target = {folder.name} & {*names} if os.path.samefile(directory, folder.parent) else set()
    return target | (NOT_SOURCES(top, names) if directory == top else set())


def _copy_project(project: Path, folder: Path) -> Path:
    """Copy a project's folder into `folder`, or unpack an sdist there. Return the root folder of the copied project.
    Raises CudaWheelError if `project` is neither, cannot be unpacked, or has no pyproject.toml."""
    root = folder / "project"
    try:
        if project.is_dir():
            top = str(project)
            shutil.copytree(
                top, root, symlinks=True, ignore=lambda directory, names: _not_copied(directory, names, top, folder)
            )
        elif hasattr(tarfile, "data_filter"):
            with tarfile.open(project) as archive:
                archive.extractall(folder / "sdist", filter="data")
            (root,) = (folder / "sdist").iterdir()
        else:
            raise CudaWheelError(
                f"this version of Python cannot unpack {project} safely: unpack it and pass its folder."
            )
    except (OSError, tarfile.TarError, EOFError, zlib.error, ValueError) as error:
        raise CudaWheelError(f"{project} is neither a project's folder nor an sdist: {error}.") from error
    if not (root / "pyproject.toml").is_file():
        raise CudaWheelError(f"{project} is not a Python project: it has no pyproject.toml.")
    return root


def _build_command(
    root: Path, output: Path, constraints: Path | None, isolated: bool
) -> tuple[list[str], dict[str, str]]:
    """Return a command line that builds the wheel of a project, and the environment variables to set for this command.

    `root`: the project's folder. `output`: folder for the wheel. `constraints`: file with the versions of build
    requirements, or None. `isolated`: True to install these requirements in a new environment, False to use the
    packages of this environment. Raises CudaWheelError if neither pip nor uv is installed.
    """
    isolation = [] if isolated else ["--no-build-isolation"]
    # Asked through `importlib.util`, setuptools' finder would let Python's own distutils stand from here on.
    if PathFinder.find_spec("pip"):
        pip = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--disable-pip-version-check", *isolation]
        # pip splits the variable's value at spaces, which a path may contain and a URI does not. For builds, pip 25.3
        # and later read PIP_BUILD_CONSTRAINT.
        uri = constraints.as_uri() if isolated and constraints else None
        variables = {"PIP_CONSTRAINT": uri, "PIP_BUILD_CONSTRAINT": uri} if uri else {}
        return [*pip, "-w", str(output), str(root)], variables
    uv = shutil.which("uv")
    if uv is None:
        raise CudaWheelError("neither pip nor uv is installed, and one of them is needed to build the wheel.")
    constrained = ["--build-constraints", str(constraints)] if constraints else []
    options = ["--python", sys.executable, *constrained, *isolation]
    return [uv, "build", "--wheel", *options, "-o", str(output), str(root)], {}


def compare_wheels(wheel: Path, rebuilt: Path) -> Comparison:
    """Return the differences between a wheel and its rebuild; raises ImageError if cuda-wheel did not build one."""
    first, second = _contents(wheel), _contents(rebuilt)
    differing = {
        name
        for name in first.digests.keys() | second.digests.keys()
        if first.digests.get(name) != second.digests.get(name)
    }
    modules: dict[str, Sequence[str]] = {}
    reported = set()
    for path in sorted(first.manifests.keys() | second.manifests.keys()):
        files = {path, *first.fatbin_of(path), *second.fatbin_of(path)}
        # The inputs can be compared only if both wheels have an SBOM.
        inputs = (first.inputs_of(path), second.inputs_of(path)) if first.sbom and second.sbom else ({}, {})
        same = differing.isdisjoint(files) and inputs[0] == inputs[1]
        manifests = first.manifests.get(path), second.manifests.get(path)
        modules[path.removesuffix(MANIFEST_SUFFIX).replace("/", ".")] = [] if same else _module_lines(manifests, inputs)
        reported |= files
    sbom = f"dist-info/sboms/{SBOM}"
    if any(modules.values()):  # then the SBOM differs for the same reason
        reported.add(sbom)
    rest = sorted(differing - reported - {"dist-info/RECORD"})
    own = [name for name in rest if name == sbom or _is_written_by_cuda_wheel(name)]
    return Comparison(modules, own, [name for name in rest if name not in own])


@dataclass(frozen=True)
class _WheelContents:
    """The content of one of the compared wheels."""

    digests: Mapping[str, str]
    """Path of a file in the wheel -> its SHA-256 in hexadecimal. In the paths, "dist-info/" stands for the metadata
    folder, whose own name has the project's version."""
    manifests: Mapping[str, tuple[Manifest, ...]]
    """Path of a manifest's file in the wheel -> the manifests of its variants."""
    sbom: WheelSbom | None
    """Content of the wheel's SBOM; None if the wheel has no SBOM."""

    def fatbin_of(self, path: str) -> list[str]:
        """Return the path of the fatbin that the manifest at `path` describes, in a list that is empty if the wheel has
        no such manifest."""
        return [f"{path.rpartition('/')[0]}/{self.manifests[path][0].fatbin}"] if path in self.manifests else []

    def inputs_of(self, path: str) -> Mapping[str, str]:
        """Return input -> version or "sha256:...", as the SBOM has them for the fatbin of the manifest at `path`; empty
        if it has none."""
        return {} if self.sbom is None else self.sbom.inputs.get(next(iter(self.fatbin_of(path)), ""), {})


def _contents(path: Path) -> _WheelContents:
    modules = find_modules(str(path))
    return _WheelContents(
        # The project's name and version may differ between the wheels.
        {re.sub(r"^[^/]+\.dist-info/", "dist-info/", name): digest for name, digest in file_digests(path).items()},
        {module.location.removeprefix(f"{path}: "): module.manifests for module in modules},
        read_sbom(path),
    )


def _is_written_by_cuda_wheel(name: str) -> bool:
    name = name.lower()  # on a case-insensitive file system it is the same file
    return name.endswith((".fatbin", MANIFEST_SUFFIX, "/__init__.pyi", "/py.typed")) or f"/{VENDORED_PACKAGE}/" in name


def _module_lines(
    manifests: tuple[tuple[Manifest, ...] | None, tuple[Manifest, ...] | None],
    inputs: tuple[Mapping[str, str], Mapping[str, str]],
) -> list[str]:
    """Return the differences between a module in the wheel and in the rebuild, one line each. The result is never
    empty.

    Each argument is a pair: (of the wheel, of the rebuild). `manifests`: manifests of the module's variants, or None if
    the module is missing there. `inputs`: name of an input -> version or "sha256:...".
    """
    first, second = manifests
    if first is None or second is None:
        return ["is only in the wheel"] if second is None else ["is only in the rebuild"]
    lines = _table_lines(first[0].toolchain, second[0].toolchain) + _table_lines(*inputs)
    options = [{each.full_name: " ".join(each.options) for each in manifests} for manifests in (first, second)]
    for name in options[0].keys() & options[1].keys():
        if options[0][name] != options[1][name]:
            lines.append(f"options {options[0][name]} in the wheel, {options[1][name]} in the rebuild")
    lines += _table_lines(_image_hashes(first), _image_hashes(second))
    return lines or ["the manifest or the fatbin differs, but no image"]  # the caller knows that the module differs


def _image_hashes(manifests: Iterable[Manifest]) -> dict[str, str]:
    """Return description of an image -> its hash: "cubin sm_80 of demo.scale[N=2]" -> "sha256:..."."""
    return {
        str(image)
        + (f" of {image.source}" if image.source else "")
        + (f" of {manifest.full_name}" if manifest.variant else ""): f"sha256:{image.sha256}"
        for manifest in manifests
        for image in manifest.images
    }


def _table_lines(first: Mapping[str, str], second: Mapping[str, str]) -> list[str]:
    """Return the differences between two mappings from a name to a version or to "sha256:...", one line each. `first`
    is of the wheel, `second` of the rebuild."""
    lines = []
    for name in sorted(first.keys() | second.keys()):
        old, new = first.get(name), second.get(name)
        if old is None or new is None:
            lines.append(f"{name} is only in the {'wheel' if new is None else 'rebuild'}")
        elif old != new:
            lines.append(f"{name} differs" if "sha256:" in old else f"{name} {old} in the wheel, {new} in the rebuild")
    return lines
