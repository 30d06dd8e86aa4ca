"""List and write the files that a build adds to a wheel: fatbins, manifests, stubs, and a vendored loader.

With `specialize = true`, a fatbin behind the others in the module's `.fatbin` holds the module's sources, so that a
machine with a toolchain can compile what the wheel lacks: a JSON object with the module's table of settings, and the
text of each file by its path in the project.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path, PurePosixPath
from typing import Any

import cuda_wheel
from cuda_wheel.builder.config.settings import Config, ModuleConfig
from cuda_wheel.builder.errors import ConfigError
from cuda_wheel.builder.jobs import BuiltModule
from cuda_wheel.builder.manifest_reader import all_manifests
from cuda_wheel.builder.scratch import unwritable
from cuda_wheel.builder.sources.header_dependencies import reachable
from cuda_wheel.builder.sources.layout import WheelFile
from cuda_wheel.builder.sources.modules import SourceModule
from cuda_wheel.builder.sources.paths import below, is_inside
from cuda_wheel.runtime.manifest import MANIFEST_SUFFIX, Manifest

__all__ = [
    "VENDORED_PACKAGE",
    "Package",
    "attaching_packages",
    "attachment_warnings",
    "carried_sources",
    "known_parts",
    "loader_files",
    "module_files",
    "module_parts",
    "move",
    "output_paths",
    "stub_file",
    "stub_files",
    "unpack_sources",
    "write",
    "write_new",
]


VENDORED_PACKAGE = "_cuda_wheel"
"""Name of the loader's copy in each top-level package that has modules."""


@dataclass(frozen=True)
class Package:
    """A package that attaches its kernels."""

    source: str
    """Content of the package's `__init__.py`."""
    files: tuple[str, ...]
    """Names of files and folders in the package."""
    stub: str | None = None
    """Content of an existing `__init__.pyi`; None if there is none."""


def output_paths(names: Iterable[str], packages: Mapping[str, Package] = {}) -> list[str]:
    """Return the paths in the wheel, with "/", of all files for modules of these dotted names but a vendored loader's.

    `packages` are those that attach their kernels, by dotted name.
    """
    names = sorted(names)
    packages = {name: package for name, package in packages.items() if package.stub is None}
    stubs = [_stub_path(package) for package in packages if any(_package_of(name) == package for name in names)]
    return [path for name in names for path in _module_paths(name)] + stubs


def module_files(module: BuiltModule) -> dict[str, bytes]:
    """Return the content of a module's own files, by path."""
    return dict(zip(_module_paths(module.name), (module.fatbin, module.text), strict=True))


def stub_files(
    config: Config, names: Iterable[str], packages: Mapping[str, Package], folder: Path, warn: Callable[[str], None]
) -> dict[str, bytes]:
    """Return the content of the stubs that packages lack, by path. Reads the modules' manifests below `folder`.

    Call `warn` for kernels that packages cannot attach, and for stubs of `cuda-wheel stubs` that are out of date.
    """
    attached: dict[str, list[tuple[Manifest, ...]]] = {}
    for name in names:
        if _package_of(name) in packages:
            path = folder / _module_paths(name)[1]
            attached.setdefault(_package_of(name), []).append(all_manifests(path.read_bytes(), str(path)))
    written = {}
    for name, modules in attached.items():
        from cuda_wheel.builder.wheel.stubs import MADE_BY  # only for packages that attach kernels

        package = packages[name]
        for text in attachment_warnings(package, modules):
            warn(text)
        stub_path, content = stub_file(config, package, modules)
        if package.stub is None:
            written[stub_path] = content
        elif package.stub.startswith(MADE_BY) and package.stub.split() != content.decode().split():
            warn(
                f"warning: {stub_path} is out of date: run `cuda-wheel stubs`, or delete it and the wheel gets its own"
            )
    return written


def attachment_warnings(package: Package, modules: Sequence[Sequence[Manifest]]) -> list[str]:
    """Return a warning for each kernel of a package's modules that the package cannot attach.

    `modules` has the manifests of each module: several if it has variants.
    """
    from cuda_wheel.runtime.parts.attach import not_attached  # only for packages that attach kernels

    kernels = {first.name: None if first.variant else [info.name for info in first.kernels] for first, *_ in modules}
    name = _package_of(modules[0][0].name)
    return [
        f"warning: {name} does not attach the kernel {kernel}: {reason}"
        for kernel, reason in sorted(not_attached(kernels, package.files).items())
    ]


def loader_files(config: Config, names: Iterable[str], parts: Iterable[str] = ()) -> dict[str, bytes]:
    """Return the content of the loader's copies, by path, for modules of these dotted names.

    `parts` are those that the modules need. There is nothing to return unless the loader is vendored.
    """
    if config.loader != "vendor":
        return {}
    from cuda_wheel.builder.wheel.loader_copy import copied_files  # few wheels contain it

    copies = copied_files({*parts, *config.loader_parts})
    packages = sorted({name.partition(".")[0] for name in names})
    return {f"{package}/{VENDORED_PACKAGE}/{name}": content for package in packages for name, content in copies.items()}


def known_parts(
    config: Config,
    names: Iterable[str],
    packages: Iterable[str],
    tables: Collection[str],
    files: Iterable[WheelFile] = (),
) -> set[str]:
    """Return the parts of a vendored loader that are needed whatever the modules are: for packages that attach kernels,
    for tables of tuned choices, and for what the Python files of the wheel use."""
    if config.loader != "vendor":
        return set()
    from cuda_wheel.builder.wheel.loader_copy import parts_named_in, passes_other_arrays  # as above

    python_files = [each.source for each in files if each.source.suffix == ".py" and each.source.is_file()]
    needed = {
        "array-protocols": passes_other_arrays(python_files),
        "attach": not {_package_of(name) for name in names}.isdisjoint(packages),
        "tuned-tables": bool(tables),
    }
    return parts_named_in(python_files) | {part for part, is_needed in needed.items() if is_needed}


def module_parts(config: Config, module: BuiltModule) -> set[str]:
    """Return the parts of a vendored loader that a built module needs."""
    if config.loader != "vendor":
        return set()
    from cuda_wheel.builder.wheel.loader_copy import parts_for  # as above

    return parts_for(module)


def stub_file(config: Config, package: Package, modules: Sequence[Sequence[Manifest]]) -> tuple[str, bytes]:
    """Return the path and content of the stub of a package that attaches the kernels of one or more modules.

    A module is given by the manifests of its variants, or by its one manifest.
    """
    from cuda_wheel.builder.wheel.stubs import stub  # as above

    name = _package_of(modules[0][0].name)
    is_vendored = config.loader == "vendor"
    loader = f"{name.partition('.')[0]}.{VENDORED_PACKAGE}" if is_vendored else f"{cuda_wheel.__name__}.runtime"
    return _stub_path(name), stub(package.source, modules, package.files, f"{loader}.module").encode()


def attaching_packages(files: Iterable[WheelFile]) -> dict[str, Package]:
    """Return the packages among a wheel's files that attach their kernels, by dotted name."""
    folders: dict[str, dict[str, Path]] = {}
    for file in files:
        folder, _, name = file.destination.rpartition("/")
        folders.setdefault(folder, {})[name] = file.source
        for parent in PurePosixPath(folder).parents:
            folders.setdefault(str(parent), {})
    packages = {}
    for folder, contents in folders.items():
        init = contents.get("__init__.py")
        if init is None or not init.is_file():
            continue  # setuptools also lists the `__init__.py` of a namespace package, which does not exist
        source = init.read_text(encoding="utf-8", errors="replace")
        if "attach" in source and _attaches(source):
            below = [other.removeprefix(f"{folder}/") for other in folders if other.startswith(f"{folder}/")]
            own_stub = contents.get("__init__.pyi")
            text = None if own_stub is None else own_stub.read_text(encoding="utf-8", errors="replace")
            packages[folder.replace("/", ".")] = Package(source, tuple(sorted({*contents, *below})), text)
    return packages


def _attaches(source: str) -> bool:
    from cuda_wheel.builder.wheel.stubs import attaches  # parses the source

    return attaches(source)


def _package_of(name: str) -> str:
    return name.rpartition(".")[0]


def _stub_path(package: str) -> str:
    return package.replace(".", "/") + "/__init__.pyi"


def _module_paths(name: str) -> tuple[str, str]:
    stem = name.replace(".", "/")
    return stem + ".fatbin", stem + MANIFEST_SUFFIX


def write(files: Mapping[str, bytes], folder: Path) -> None:
    """Write files under `folder`, each completely or not at all. Raises ConfigError if one cannot be written."""
    for name, content in files.items():
        with _written_atomically(folder / name) as path:
            path.write_bytes(content)


def write_new(files: Mapping[str, bytes], folder: Path) -> None:
    """Write files under a folder that nobody else uses. Raises ConfigError if one cannot be written."""
    for name, content in files.items():
        path = folder / name
        try:
            if not path.parent.is_dir():
                path.parent.mkdir(parents=True)
            path.write_bytes(content)
        except OSError as error:
            raise unwritable(path, error) from error


def move(names: Iterable[str], source: Path, folder: Path, aside: Path | None = None) -> None:
    """Move files from `source` to `folder`, each completely or not at all. Raises ConfigError if one cannot be written.

    Incomplete files are in the folder `aside` if that is on the same file system, else beside the target. Use it if
    every file in `folder` goes into a wheel: a process that is killed leaves its incomplete file behind.
    """
    for name in names:
        with _written_atomically(folder / name, aside) as path:
            shutil.move(source / name, path)


@contextmanager
def _written_atomically(path: Path, aside: Path | None = None) -> Iterator[Path]:
    """Yield a temporary path beside `path`, or in the folder `aside`; at the end, rename the file to `path`."""
    try:
        near = path.parent
        if not near.is_dir():
            near.mkdir(parents=True, exist_ok=True)
        if aside is not None and aside.stat().st_dev == near.stat().st_dev:
            near = aside
        temporary = near / f".{path.name}.{os.getpid()}"
        try:
            yield temporary
            temporary.replace(path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise unwritable(path, error) from error


FORMAT = 1

_LEFT_OUT = ("variants", "specialize")
"""Keys of a module table that only a build uses."""


def carried_sources(root: Path, module: SourceModule, headers: Iterable[str], toolchain: tuple[str, ...]) -> bytes:
    """Return the sources of a module and the project's files that they include or may include.

    `headers` are the absolute paths of those that the compiler read, `toolchain` are the folders of the toolchain's.
    """
    folders = tuple(folder + os.sep for folder in toolchain)
    scanned = (
        each.path for path in module.paths for each in reachable(root, path, module.settings.include_dirs).headers
    )
    own = {path for path in (*headers, *scanned) if not path.startswith(folders) and is_inside(path, root)}
    paths = {*module.paths, *(str(below(path, str(root))).replace("\\", "/") for path in own)}
    # Comments of headers may have any encoding: what is not UTF-8 comes back byte by byte.
    files = {path: (root / path).read_bytes().decode(errors="surrogateescape") for path in sorted(paths)}
    document = {"format": FORMAT, "module": _table(module.settings), "files": files}
    text = json.dumps(document, indent=1, sort_keys=True).encode() + b"\n"
    return text + b"\n" * (-len(text) % 8)  # as `fatbin_of_text` needs it


def _table(settings: ModuleConfig) -> dict[str, Any]:
    """Return settings as a `[[tool.cuda-wheel.module]]` table."""
    default = ModuleConfig()
    values = {item.name: getattr(settings, item.name) for item in fields(settings) if item.name not in _LEFT_OUT}
    return {
        name.replace("_", "-"): _plain(name, value)
        for name, value in values.items()
        if value != getattr(default, name) and name != "architectures"
    } | {"architectures": list(settings.architectures.entries)}


def _plain(name: str, value: Any) -> Any:
    if name == "defines":
        return dict(value)
    return list(value) if isinstance(value, tuple) else value


def unpack_sources(carried: bytes, folder: Path) -> Mapping[str, Any]:
    """Write the files below a folder and return the module's table; raises ConfigError for what is no such text."""
    try:
        document = json.loads(carried)
        if document["format"] != FORMAT:
            raise ValueError(f"its format is {document['format']!r}")
        table: dict[str, Any] = document["module"]
        for name, text in document["files"].items():
            path = PurePosixPath(name)
            if path.is_absolute() or ".." in path.parts or "\\" in name or ":" in name:
                raise ValueError(f"{name!r} is no path in a project")
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(text.encode(errors="surrogateescape"))
        for name in table.get("include-dirs", ()):
            if is_inside(str(folder / name), folder):
                (folder / name).mkdir(parents=True, exist_ok=True)
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise ConfigError(f"the sources that the module carries cannot be read: {error}.") from error
    return table
