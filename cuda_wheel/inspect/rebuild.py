"""Build a wheel again from its project, and tell what comes out otherwise."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from cuda_wheel.builder.scratch import scratch
from cuda_wheel.builder.wheel.outputs import VENDORED_PACKAGE
from cuda_wheel.builder.wheel.sbom import SBOM
from cuda_wheel.inspect.modules import find_modules
from cuda_wheel.inspect.wheel import digests, metadata_file, read_sbom
from cuda_wheel.runtime.errors import CudaWheelError
from cuda_wheel.runtime.manifest import MANIFEST_SUFFIX, Manifest, parse_version

__all__ = [
    "Comparison",
    "compare",
    "pins",
    "rebuild",
]


@dataclass(frozen=True)
class Comparison:
    """What two builds of a wheel differ in. Nothing where they are the same."""

    modules: Mapping[str, Sequence[str]]
    """Of each module of either, by name: what differs, one line each."""
    files: Sequence[str]
    """Other files that cuda-wheel makes: stubs, the loader's copy, the SBOM. Paths in the wheel."""
    others: Sequence[str]
    """Files that the build back end makes, or copies."""

    @property
    def is_identical(self) -> bool:
        """Whether all that cuda-wheel makes is the same, byte for byte."""
        return not self.files and not any(self.modules.values())


def rebuild(wheel: Path, project: Path, isolated: bool = True) -> Comparison:
    """Build the project in a folder, or in an sdist, and compare the result with `wheel`.

    It is built by pip, or else uv: in an environment of its own, with the versions of packages that the wheel tells of,
    or in this one where it is not to be `isolated`. Nothing is taken from the cache, and nothing written to the
    project. No code of the wheel is run; the project's build back end is, as in any build.

    Raises ImageError for what is no wheel of cuda-wheel's, and CudaWheelError where the project does not build.
    """
    wanted = pins(wheel)
    with scratch() as folder:
        root = _copied(project, folder)
        constraints, output = folder / "constraints.txt", folder / "wheel"
        constraints.write_text("".join(f"{pin}\n" for pin in wanted), encoding="utf-8")
        environ = os.environ | {"CUDA_WHEEL_CACHE_DIR": str(folder / "cache")}
        environ.pop("CUDA_WHEEL_CACHE_READONLY", None)
        command, extra = _front_end(root, output, constraints, isolated)
        # What it says, which may take long, goes where it is seen and in nobody's way. Python imports from where it is
        # started: not from the folder of a stranger's wheel.
        result = subprocess.run(command, cwd=folder, env=environ | extra, stdout=sys.stderr, check=False)
        made = sorted(output.glob("*.whl"))
        if result.returncode != 0 or len(made) != 1:
            raise CudaWheelError(f"{project} does not build: {' '.join(command[:4])} ended with {result.returncode}.")
        return compare(wheel, made[0])


def pins(wheel: Path) -> list[str]:
    """Return the requirements that ask for what a wheel was built with: "nvidia-cuda-nvrtc-cu12==12.9.86".

    They are by its SBOM; without one, by its manifests. Raises ImageError for what is no wheel of cuda-wheel's.
    """
    modules, sbom = find_modules(str(wheel)), read_sbom(wheel)
    found = _toolchain(modules[0].manifest) if sbom is None else dict(sbom.packages)
    generator = re.search(rb"^Generator: *([\w.-]+) +\(?([\w.+!-]+)\)?\s*$", metadata_file(wheel, "WHEEL") or b"", re.M)
    if generator:  # "hatchling 1.33.0", "setuptools (84.2.1)"
        found[generator[1].decode()] = generator[2].decode()
    # A stranger's words become the lines of a file of pip's, whose options they could be.
    return [
        f"{name}=={version}"
        for name, version in sorted(found.items())
        if re.fullmatch(r"[A-Za-z0-9][\w.-]*", name, re.ASCII) and re.fullmatch(r"\d[\w.+!*]*", version, re.ASCII)
    ]


def _toolchain(manifest: Manifest) -> dict[str, str]:
    """Return the versions of the compilers' packages that a manifest tells of: NVRTC's alone is exact."""
    versions = manifest.toolchain
    suffix = "-cu12" if parse_version(versions["nvrtc"])[0] == 12 else ""
    found = {f"nvidia-cuda-nvrtc{suffix}": versions["nvrtc"]}
    return found | {
        f"nvidia-{name}{suffix}": f"{versions[name]}.*" for name in ("nvjitlink", "nvfatbin") if name in versions
    }


NOT_SOURCES = shutil.ignore_patterns("build", "dist", ".venv", "venv", ".nox", ".tox", "*.egg-info", "__pycache__")
"""What lies in projects' folders and is left of earlier builds, or no part of them."""


def _left_out(place: str, names: list[str], top: str, folder: Path) -> set[str]:
    """Return what of a folder is not copied: no source, or the folder that it is copied to."""
    own = {folder.name} & {*names} if os.path.samefile(place, folder.parent) else set()
    return own | (NOT_SOURCES(top, names) if place == top else set())


def _copied(project: Path, folder: Path) -> Path:
    """Return a folder in `folder` with what a project's folder holds, or an sdist."""
    root = folder / "project"
    try:
        if project.is_dir():
            top = str(project)
            shutil.copytree(top, root, symlinks=True, ignore=lambda place, names: _left_out(place, names, top, folder))
        elif hasattr(tarfile, "data_filter"):
            with tarfile.open(project) as archive:
                archive.extractall(folder / "sdist", filter="data")
            (root,) = (folder / "sdist").iterdir()
        else:
            raise CudaWheelError(f"this Python cannot unpack {project} safely: unpack it, and name its folder.")
    except (OSError, tarfile.TarError, EOFError, zlib.error, ValueError) as error:
        raise CudaWheelError(f"{project} is neither a project's folder nor an sdist: {error}.") from error
    if not (root / "pyproject.toml").is_file():
        raise CudaWheelError(f"{project} is not a Python project: it has no pyproject.toml.")
    return root


def _front_end(root: Path, output: Path, constraints: Path, isolated: bool) -> tuple[list[str], dict[str, str]]:
    """Return the command that builds a project's wheel, and its environment variables."""
    own = [] if isolated else ["--no-build-isolation"]
    if importlib.util.find_spec("pip"):
        pip = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--disable-pip-version-check", *own]
        # pip 25.3 and later read the second for builds.
        place = constraints.as_uri()  # of a path, pip would take what stands between spaces for several
        variables = {"PIP_CONSTRAINT": place, "PIP_BUILD_CONSTRAINT": place} if isolated else {}
        return [*pip, "-w", str(output), str(root)], variables
    uv = shutil.which("uv")
    if uv is None:
        raise CudaWheelError("neither pip nor uv is here to build with: install one of them.")
    options = ["--python", sys.executable, "--build-constraints", str(constraints), *own]
    return [uv, "build", "--wheel", *options, "-o", str(output), str(root)], {}


def compare(wheel: Path, made: Path) -> Comparison:
    """Return what a wheel and its rebuild differ in; raises ImageError where one is no wheel of cuda-wheel's."""
    files = [{_by_any_name(name): digest for name, digest in digests(path).items()} for path in (wheel, made)]
    differing = {name for name in files[0].keys() | files[1].keys() if files[0].get(name) != files[1].get(name)}
    manifests, sboms = [_manifests(path) for path in (wheel, made)], [read_sbom(path) for path in (wheel, made)]
    modules: dict[str, Sequence[str]] = {}
    told = set()
    for place in sorted(manifests[0].keys() | manifests[1].keys()):
        pair = [its.get(place) for its in manifests]
        fatbins = [f"{place.rpartition('/')[0]}/{its.fatbin}" for its in pair if its is not None]
        told |= {place, *fatbins}
        made_of = [sbom.made_of.get(fatbins[0], {}) if sbom and all(sboms) else {} for sbom in sboms]
        name = place.removesuffix(MANIFEST_SUFFIX).replace("/", ".")
        same = differing.isdisjoint({place, *fatbins}) and made_of[0] == made_of[1]
        modules[name] = [] if same else _explained(pair[0], pair[1], made_of[0], made_of[1])
    sbom = f"dist-info/sboms/{SBOM}"
    if any(modules.values()):  # it says so too
        told.add(sbom)
    rest = sorted(differing - told - {"dist-info/RECORD"})
    ours = [name for name in rest if name == sbom or _is_ours(name)]
    return Comparison(modules, ours, [name for name in rest if name not in ours])


def _by_any_name(name: str) -> str:
    """Return a path in a wheel without the project's name and version, which may be another's."""
    return re.sub(r"^[^/]+\.dist-info/", "dist-info/", name)


def _is_ours(name: str) -> bool:
    name = name.lower()  # to some systems it is the same file
    return name.endswith((".fatbin", MANIFEST_SUFFIX, "/__init__.pyi")) or f"/{VENDORED_PACKAGE}/" in name


def _manifests(path: Path) -> dict[str, Manifest]:
    return {module.where.removeprefix(f"{path}: "): module.manifest for module in find_modules(str(path))}


def _explained(
    first: Manifest | None, second: Manifest | None, made_of: Mapping[str, str], made_of_now: Mapping[str, str]
) -> list[str]:
    """Return what two modules of one name, which are not the same, differ in: one line each."""
    if first is None or second is None:
        return ["is in the wheel alone"] if second is None else ["is in the rebuild alone"]
    lines = _told(first.toolchain, second.toolchain) + _told(made_of, made_of_now)
    if first.options != second.options:
        lines.append(f"options {' '.join(first.options)} in the wheel, {' '.join(second.options)} in the rebuild")
    images = [
        {str(each) + (f" of {each.source}" if each.source else ""): f"sha256:{each.sha256}" for each in its.images}
        for its in (first, second)
    ]
    lines += _told(*images)
    return lines or ["the manifest or the fatbin differs, but no image"]


def _told(first: Mapping[str, str], second: Mapping[str, str]) -> list[str]:
    """Return in words what two tables, of versions and "sha256:...", differ in."""
    lines = []
    for name in sorted(first.keys() | second.keys()):
        was, now = first.get(name), second.get(name)
        if was is None or now is None:
            lines.append(f"{name} is in the {'wheel' if now is None else 'rebuild'} alone")
        elif was != now:
            lines.append(
                f"{name} is another" if "sha256:" in was else f"{name} {was} in the wheel, {now} in the rebuild"
            )
    return lines
