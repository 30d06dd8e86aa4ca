"""The files that a build adds to a wheel: each module's fatbin and manifest, and the loader where it is vendored."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from cuda_wheel import __version__, loader
from cuda_wheel.build.config import Config
from cuda_wheel.build.errors import ConfigError
from cuda_wheel.build.execute import BuiltModule
from cuda_wheel.loader import MANIFEST_SUFFIX

__all__ = ["VENDORED_LOADER", "output_files", "output_paths", "write"]

VENDORED_LOADER = "_cuda_wheel.py"
"""The name of the loader's copy, in each top-level package that holds modules."""


def output_paths(config: Config, names: Iterable[str]) -> list[str]:
    """Return the paths in the wheel, with "/", of what modules of these dotted names come to."""
    names = sorted(names)
    return [path for name in names for path in _module_paths(name)] + _loader_paths(config, names)


def output_files(config: Config, modules: Sequence[BuiltModule]) -> dict[str, bytes]:
    """Return the content of every such file by its path."""
    files: dict[str, bytes] = {}
    for module in modules:
        manifest = module.manifest
        files |= zip(_module_paths(manifest.name), (module.fatbin, manifest.to_json().encode()), strict=True)
    copy = Path(loader.__file__).read_bytes() + f'VENDORED_FROM = "cuda-wheel {__version__}"\n'.encode()
    return files | dict.fromkeys(_loader_paths(config, [module.manifest.name for module in modules]), copy)


def _module_paths(name: str) -> tuple[str, str]:
    stem = name.replace(".", "/")
    return stem + ".fatbin", stem + MANIFEST_SUFFIX


def _loader_paths(config: Config, names: Iterable[str]) -> list[str]:
    packages = sorted({name.partition(".")[0] for name in names}) if config.loader == "vendor" else []
    return [f"{package}/{VENDORED_LOADER}" for package in packages]


def write(files: Mapping[str, bytes], folder: Path) -> list[Path]:
    """Write files under `folder` and return their paths; a file is there whole or not at all.

    Raises ConfigError where one cannot be written.
    """
    written = []
    for name, content in files.items():
        path = folder / name
        temporary = path.with_name(f".{path.name}.{os.getpid()}")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            try:
                temporary.write_bytes(content)
                temporary.replace(path)
            finally:
                temporary.unlink(missing_ok=True)
        except OSError as error:
            raise ConfigError(f"{path} cannot be written: {error.strerror or error}.") from error
        written.append(path)
    return written
