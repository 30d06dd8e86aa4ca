"""Add the compiled modules to a wheel, and the files that builds read to an sdist, that the wrapped back end built."""

from __future__ import annotations

import atexit
import os
import sys
from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path
from zipfile import ZipFile

from cuda_wheel.backend.archives import WheelContents, read_contents, sdist_paths, write_sdist, write_wheel
from cuda_wheel.backend.source_places import PACKED, find_places, project_tree
from cuda_wheel.backend.wrapped import WrappedBackEnd
from cuda_wheel.builder.config.names import TABLE
from cuda_wheel.builder.config.pyproject import read_config
from cuda_wheel.builder.config.settings import Config
from cuda_wheel.builder.errors import ConfigError
from cuda_wheel.builder.project import build_files
from cuda_wheel.builder.report.reporter import ProgressReporter
from cuda_wheel.builder.scratch import new_folder, scratch
from cuda_wheel.builder.sources.layout import DEVICE_SOURCES, SBOM, Layout, WheelFile
from cuda_wheel.builder.sources.modules import excluded_files, named_sources
from cuda_wheel.builder.wheel.sdist import files_of_sources
from cuda_wheel.inspect.archive import open_wheel
from cuda_wheel.runtime.manifest import TABLE_SUFFIX

__all__ = ["complete_sdist", "complete_wheel", "wheel_layout"]


def _tell(text: str) -> None:
    print(text, file=sys.stderr)


def complete_wheel(back_end: WrappedBackEnd, wheel: Path, folder: Path) -> None:
    """Write a wheel to `folder`: `wheel`, which the wrapped back end built, with the project's compiled modules.

    The sources are left out unless `exclude-sources` is false. Raises ConfigError, ToolchainError or CompileError.
    """
    root, config = back_end.root, back_end.config
    with (
        scratch() as temporary,
        ExitStack() as in_use,
        ProgressReporter(_tell, _tell) as reporter,
        open_wheel(wheel) as archive,
    ):
        contents = read_contents(archive, back_end.config.backend)
        files = _files(root, config, archive, contents, temporary / "generated")
        built = build_files(root, config, files, reporter, temporary / "built", in_use)
        twice = sorted(path for path in built if path in contents.files and not path.endswith(TABLE_SUFFIX))
        if twice:
            raise ConfigError(
                f"the build back end {config.backend} puts {', '.join(twice)} into the wheel, and so would this build: "
                "remove them from the source tree; or, if something else compiles the kernels, build without "
                "cuda_wheel.backend."
            )
        added = {path: file for path, file in built.items() if path not in contents.files}
        sbom = temporary / "built" / SBOM if config.sbom else None
        removed = _removed(root, config, contents, files) if config.exclude_sources else frozenset()
        write_wheel(archive, contents, added, sbom, removed, folder / wheel.name)


def _listed_files(root: Path, config: Config) -> tuple[set[Path], set[Path]]:
    """Return the files that module tables name, with links resolved, and those that `sources` excludes. Raises
    ConfigError for an invalid pattern."""
    try:
        return named_sources(config, root), excluded_files(config, root)
    except (ValueError, IndexError, NotImplementedError) as error:
        raise ConfigError(f"{TABLE}: the sources have a pattern that is not valid: {error}.") from error


def _removed(root: Path, config: Config, contents: WheelContents, files: list[WheelFile]) -> frozenset[str]:
    """Return the names in the archive of the sources and headers that the wheel must not have: those with the suffixes
    of CUDA C++, and what module tables name."""
    named = named_sources(config, root)
    sources = {file.destination for file in files if Path(os.path.realpath(file.source)) in named}
    paths = {name: path for path, name in contents.files.items()}
    return frozenset(name for name in contents.names if name.endswith(DEVICE_SOURCES) or paths.get(name, "") in sources)


def _files(root: Path, config: Config, archive: ZipFile, contents: WheelContents, generated: Path) -> list[WheelFile]:
    """Return the files of a wheel: those that the wrapped back end packed, and the sources that it left out.

    Files that are not in the source tree and that a build reads are unpacked to `generated`. Raises ConfigError.
    """
    wheel = {path: _content(archive, name) for path, name in contents.files.items()}
    named, excluded = _listed_files(root, config)

    def needs_no_place(path: str) -> bool:
        return root / path in excluded or Path(os.path.realpath(root / path)) in named

    places = find_places(root, wheel, project_tree(root), needs_no_place)
    for folder in places.left_out:
        _tell(
            f"cuda-wheel: the wheel has no Python file of {folder}, so the CUDA sources there are left out too. If "
            f"they belong to the wheel, let {config.backend} pack the folder's Python files."
        )
    files = {path: WheelFile(root / source, path) for path, source in places.sources.items()}
    for path in places.generated:
        # Others only show which folders the wheel has.
        source = _unpacked(archive, contents.files[path], generated / path) if _is_read(path, config) else root / path
        files[path] = WheelFile(source, path)
    return [file for _, file in sorted(files.items())]


def _content(archive: ZipFile, name: str) -> tuple[int, int]:
    info = archive.getinfo(name)
    return info.file_size, info.CRC


def _is_read(path: str, config: Config) -> bool:
    """Return whether a build reads a Python file of the wheel, or a table, at this path in the wheel."""
    name = path.rpartition("/")[2]
    return name.startswith("__init__.py") or name.endswith(
        (TABLE_SUFFIX, ".py") if config.loader == "vendor" else TABLE_SUFFIX
    )


def _unpacked(archive: ZipFile, name: str, path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(archive.read(name))
    return path


def wheel_layout(root: Path) -> Layout:
    """Return the files of the wheel of the project in `root`. The wrapped back end builds that wheel. Raises
    ConfigError."""
    back_end = WrappedBackEnd(root, read_config(root, os.environ))
    with scratch() as folder, open_wheel(back_end.run_alone("build_wheel", folder)) as archive:
        contents = read_contents(archive, back_end.config.backend)
        generated = new_folder()
        atexit.register(generated.cleanup)  # the caller reads the files
        return Layout(_files(root, back_end.config, archive, contents, Path(generated.name)))


# --- sdist ------------------------------------------------------------------------------------------


_SHOWN = 10
"""Largest number of files that a message lists."""


def complete_sdist(back_end: WrappedBackEnd, sdist: Path, folder: Path) -> None:
    """Write an sdist to `folder`: `sdist`, which the wrapped back end built, with all files that a build reads.

    Raises ConfigError.
    """
    root, config = back_end.root, back_end.config
    present = sdist_paths(sdist, config.backend)
    needed = files_of_sources(config, root, _packaged(root, config, present))
    missing = [path for path in needed if path not in present]
    if missing:
        more = f" and {len(missing) - _SHOWN} more" if len(missing) > _SHOWN else ""
        _tell(
            f"cuda-wheel: added to the sdist, because {config.backend} left them out and builds read them: "
            f"{', '.join(missing[:_SHOWN])}{more}"
        )
    write_sdist(sdist, {path: root / path for path in missing}, folder / sdist.name)


def _packaged(root: Path, config: Config, present: Iterable[str]) -> list[str]:
    """Return the project's `.cu` files and tuned tables in folders with Python files of the sdist, and below them.

    `present`: the files of the sdist. Which of those folders are packages of the wheel would take a build of the wheel
    to know, and one file too many does no harm.
    """
    folders = {path.rpartition("/")[0] for path in present if path.endswith(".py")} - {""}
    _, excluded = _listed_files(root, config)
    return [
        path
        for path in project_tree(root)
        if path.endswith(PACKED)
        and any(path.startswith(f"{folder}/") for folder in folders)
        and root / path not in excluded
    ]
