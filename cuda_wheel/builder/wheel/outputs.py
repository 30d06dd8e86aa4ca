"""The files that a build adds to a wheel: fatbins and manifests, stubs, and the loader where it is vendored."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import cuda_wheel
from cuda_wheel.builder.config.settings import Config
from cuda_wheel.builder.errors import ConfigError
from cuda_wheel.builder.jobs import BuiltModule
from cuda_wheel.builder.scratch import advice
from cuda_wheel.builder.sources.layout import WheelFile
from cuda_wheel.builder.wheel.stubs import attaches, stub
from cuda_wheel.runtime.manifest import MANIFEST_SUFFIX, Manifest

__all__ = [
    "VENDORED_FILES",
    "VENDORED_PACKAGE",
    "Package",
    "attaching_packages",
    "loader_files",
    "module_files",
    "move",
    "output_paths",
    "stub_file",
    "stub_files",
    "vendored_files",
    "write",
]


@dataclass(frozen=True)
class Package:
    """A package's `__init__.py`, and the names of the files and folders in it."""

    source: str
    files: tuple[str, ...]


VENDORED_PACKAGE = "_cuda_wheel"
"""The name of the loader's copy, in each top-level package that holds modules."""


_RUNTIME = Path(cuda_wheel.__file__).parent / "runtime"

VENDORED_FILES = tuple(sorted(path.relative_to(_RUNTIME).as_posix() for path in _RUNTIME.rglob("*.py")))
"""The files of `cuda_wheel.runtime`, which the copy consists of."""


def output_paths(config: Config, names: Iterable[str], packages: Mapping[str, Package] = {}) -> list[str]:
    """Return the paths in the wheel, with "/", of what modules of these dotted names come to.

    `packages` are those that attach their kernels, by dotted name.
    """
    names = sorted(names)
    stubs = [_stub_path(package) for package in packages if any(_package_of(name) == package for name in names)]
    copies = [f"{folder}/{file}" for folder in _vendored_folders(config, names) for file in VENDORED_FILES]
    return [path for name in names for path in _module_paths(name)] + stubs + copies


def module_files(module: BuiltModule) -> dict[str, bytes]:
    """Return the content of a module's own files by their paths."""
    return dict(zip(_module_paths(module.manifest.name), (module.fatbin, module.text), strict=True))


def stub_files(config: Config, names: Iterable[str], packages: Mapping[str, Package], folder: Path) -> dict[str, bytes]:
    """Return the content of the stubs by their paths; the modules' manifests are in `folder`."""
    attached: dict[str, list[Manifest]] = {}
    for name in names:
        if _package_of(name) in packages:
            path = folder / _module_paths(name)[1]
            attached.setdefault(_package_of(name), []).append(Manifest.from_json(path.read_bytes(), str(path)))
    return dict(stub_file(config, packages[package], manifests) for package, manifests in attached.items())


def loader_files(config: Config, names: Iterable[str]) -> dict[str, bytes]:
    """Return the content of the loader's copies by their paths."""
    folders = _vendored_folders(config, names)
    copies = vendored_files() if folders else {}
    return {f"{folder}/{name}": content for folder in folders for name, content in copies.items()}


def vendored_files() -> dict[str, bytes]:
    """Return the files of the loader's copy by name: the same bytes, and in `__init__.py` one line more, which says
    where they are from."""
    files = {name: (_RUNTIME / name).read_bytes() for name in VENDORED_FILES}
    files["__init__.py"] += f'__version__ = "{cuda_wheel.__version__}"\n'.encode()
    files["__init__.py"] += f'VENDORED_FROM = "cuda-wheel {cuda_wheel.__version__}"\n'.encode()
    return files


def stub_file(config: Config, package: Package, modules: Sequence[Manifest]) -> tuple[str, bytes]:
    """Return path and content of the stub of a package that attaches the kernels of its modules, at least one."""
    name = _package_of(modules[0].name)
    place = (
        f"{name.partition('.')[0]}.{VENDORED_PACKAGE}"
        if config.loader == "vendor"
        else f"{cuda_wheel.__name__}.runtime"
    )
    return _stub_path(name), stub(package.source, modules, package.files, f"{place}.module").encode()


def attaching_packages(files: Iterable[WheelFile]) -> dict[str, Package]:
    """Return, by dotted name, the packages among a wheel's files that attach their kernels and have no stub yet."""
    folders: dict[str, dict[str, Path]] = {}
    for file in files:
        folder, _, name = file.destination.rpartition("/")
        folders.setdefault(folder, {})[name] = file.source
        for parent in PurePosixPath(folder).parents:
            folders.setdefault(str(parent), {})
    packages = {}
    for folder, its in folders.items():
        if "__init__.py" not in its or "__init__.pyi" in its or not its["__init__.py"].is_file():
            continue  # setuptools lists that of a namespace package too, which has none
        source = its["__init__.py"].read_text(encoding="utf-8", errors="replace")
        if attaches(source):
            below = [other.removeprefix(f"{folder}/") for other in folders if other.startswith(f"{folder}/")]
            packages[folder.replace("/", ".")] = Package(source, tuple(sorted({*its, *below})))
    return packages


def _package_of(name: str) -> str:
    return name.rpartition(".")[0]


def _stub_path(package: str) -> str:
    return package.replace(".", "/") + "/__init__.pyi"


def _module_paths(name: str) -> tuple[str, str]:
    stem = name.replace(".", "/")
    return stem + ".fatbin", stem + MANIFEST_SUFFIX


def _vendored_folders(config: Config, names: Iterable[str]) -> list[str]:
    packages = sorted({name.partition(".")[0] for name in names}) if config.loader == "vendor" else []
    return [f"{package}/{VENDORED_PACKAGE}" for package in packages]


def write(files: Mapping[str, bytes], folder: Path) -> None:
    """Write files under `folder`; a file is there whole or not at all.

    Raises ConfigError where one cannot be written.
    """
    for name, content in files.items():
        with _whole(folder / name) as path:
            path.write_bytes(content)


def move(names: Iterable[str], source: Path, folder: Path, aside: Path | None = None) -> None:
    """Move files from under `source` to under `folder`, as `write` writes them.

    `aside` is for the files of which `folder` has none yet, where it is of the same file system: for a folder whose
    every file goes into a wheel. A process that is killed leaves one there.
    """
    for name in names:
        with _whole(folder / name, aside) as path:
            shutil.move(source / name, path)


@contextmanager
def _whole(path: Path, aside: Path | None = None) -> Iterator[Path]:
    """Have a file made under another name, beside its own or in the folder `aside`, and then moved to its own."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        near = path.parent
        if aside is not None and aside.stat().st_dev == near.stat().st_dev:
            near = aside
        temporary = near / f".{path.name}.{os.getpid()}"
        try:
            yield temporary
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        raise ConfigError(f"{path} cannot be written: {error.strerror or error}.{advice(path)}") from error
