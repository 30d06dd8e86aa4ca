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
from cuda_wheel import VENDORED_PACKAGE
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
    "TYPED",
    "Package",
    "attaching_packages",
    "attachment_warnings",
    "carried_sources",
    "known_parts",
    "loader_files",
    "module_files",
    "module_parts",
    "move",
    "needs_mark",
    "output_paths",
    "stub_file",
    "stub_files",
    "unpack_sources",
    "write",
    "write_new",
]


TYPED = "py.typed"
"""Name of the empty file that tells type checkers to read the types of a package and of the packages in it. Source: PEP
561."""


@dataclass(frozen=True)
class Package:
    """A Python package whose kernels are its attributes, made by `attach` in its `__init__.py`."""

    source: str
    """Content of the package's `__init__.py`."""
    files: tuple[str, ...]
    """Names of all files and folders directly in the package."""
    stub: str | None = None
    """Content of the project's own `__init__.pyi`; None if there is none."""
    is_typed: bool = False
    """Whether the project has a `py.typed` in this package or in one that contains it."""


def output_paths(names: Iterable[str], packages: Mapping[str, Package] = {}) -> list[str]:
    """Return the paths in the wheel, with "/", of all files that a build writes for modules of these dotted names,
    except a vendored loader.

    `packages` maps the dotted names of packages that attach their kernels to these packages.
    """
    names = sorted(names)
    with_modules = {name: packages[name] for name in sorted({_package_of(name) for name in names} & packages.keys())}
    stubs = [_stub_path(name) for name, package in with_modules.items() if package.stub is None]
    marks = [_mark_path(name) for name, package in with_modules.items() if needs_mark(package)]
    return [path for name in names for path in _module_paths(name)] + stubs + marks


def module_files(module: BuiltModule) -> dict[str, bytes]:
    """Return path in the wheel -> content of a module's fatbin and manifest."""
    return dict(zip(_module_paths(module.name), (module.fatbin, module.text), strict=True))


def stub_files(
    config: Config, names: Iterable[str], packages: Mapping[str, Package], folder: Path, warn: Callable[[str], None]
) -> dict[str, bytes]:
    """Return path in the wheel -> content of a stub, for each package that attaches kernels and has no stub; and of the
    `py.typed` by which type checkers read it.

    `names` are the modules; their manifests are read below `folder`. `warn` is called for kernels that packages cannot
    attach, and for stubs from `cuda-wheel stubs` that are out of date.
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
        if needs_mark(package):
            written[_mark_path(name)] = b""
        if package.stub is None:
            written[stub_path] = content
        elif package.stub.startswith(MADE_BY) and package.stub.split() != content.decode().split():
            warn(
                f"warning: {stub_path} is out of date: run `cuda-wheel stubs`, or delete it and the wheel gets its own"
            )
    return written


def needs_mark(package: Package) -> bool:
    """Return whether a build adds a `py.typed` to a package: if its stub is cuda-wheel's, and the project has no
    `py.typed` for it.

    Without one, type checkers ignore the stub. For a stub of its own, the project decides whether they read it.
    """
    from cuda_wheel.builder.wheel.stubs import MADE_BY  # only for packages that attach kernels

    return not package.is_typed and (package.stub is None or package.stub.startswith(MADE_BY))


def attachment_warnings(package: Package, modules: Sequence[Sequence[Manifest]]) -> list[str]:
    """Return a warning for each kernel of a package's modules that the package cannot attach.

    `modules` has a sequence for each module: its manifest, or the manifests of its variants.
    """
    from cuda_wheel.runtime.parts.attach import not_attached  # only for packages that attach kernels

    kernels = {first.name: None if first.variant else [info.name for info in first.kernels] for first, *_ in modules}
    name = _package_of(modules[0][0].name)
    return [
        f"warning: {name} does not attach the kernel {kernel}: {reason}"
        for kernel, reason in sorted(not_attached(kernels, package.files).items())
    ]


def loader_files(config: Config, names: Iterable[str], parts: Iterable[str] = ()) -> dict[str, bytes]:
    """Return path in the wheel -> content of the loader's copies, for modules of these dotted names.

    `parts` are the parts of the loader that the modules need. The result is empty unless `loader = "vendor"`.
    """
    if config.loader != "vendor":
        return {}
    from cuda_wheel.builder.wheel.loader_copy import copied_files  # few wheels contain it

    # Stubs of packages that attach their kernels import the copy's types.
    copies = copied_files({*parts, *config.loader_parts}) | {TYPED: b""}
    packages = sorted({name.partition(".")[0] for name in names})
    return {f"{package}/{VENDORED_PACKAGE}/{name}": content for package in packages for name, content in copies.items()}


def known_parts(
    config: Config,
    names: Iterable[str],
    packages: Iterable[str],
    tables: Collection[str],
    files: Iterable[WheelFile] = (),
) -> set[str]:
    """Return the parts of a vendored loader that do not depend on the modules; empty unless `loader = "vendor"`.

    These are the parts for packages that attach kernels, for tables of tuned choices, for companions, and for what the
    Python files of the wheel use.
    """
    if config.loader != "vendor":
        return set()
    from cuda_wheel.builder.wheel.loader_copy import parts_named_in, passes_other_arrays  # as above

    python_files = [each.source for each in files if each.source.suffix == ".py" and each.source.is_file()]
    needed = {
        "array-protocols": passes_other_arrays(python_files),
        "companions": config.split != "none",
        "attach": not {_package_of(name) for name in names}.isdisjoint(packages),
        "tuned-tables": bool(tables),
    }
    return parts_named_in(python_files) | {part for part, is_needed in needed.items() if is_needed}


def module_parts(config: Config, module: BuiltModule) -> set[str]:
    """Return the parts of a vendored loader that a built module needs; empty unless `loader = "vendor"`."""
    if config.loader != "vendor":
        return set()
    from cuda_wheel.builder.wheel.loader_copy import parts_for  # as above

    return parts_for(module)


def stub_file(config: Config, package: Package, modules: Sequence[Sequence[Manifest]]) -> tuple[str, bytes]:
    """Return the path in the wheel and the content of the stub of a package that attaches the kernels of `modules`.

    `modules` has a sequence for each module: its manifest, or the manifests of its variants.
    """
    from cuda_wheel.builder.wheel.stubs import stub  # as above

    name = _package_of(modules[0][0].name)
    is_vendored = config.loader == "vendor"
    loader = f"{name.partition('.')[0]}.{VENDORED_PACKAGE}" if is_vendored else f"{cuda_wheel.__name__}.runtime"
    return _stub_path(name), stub(package.source, modules, package.files, f"{loader}.module").encode()


def attaching_packages(files: Iterable[WheelFile]) -> dict[str, Package]:
    """Return dotted name -> package, for each package among a wheel's files that attaches its kernels."""
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
            inside = (folder, *map(str, PurePosixPath(folder).parents))
            is_typed = any(TYPED in folders[each] for each in inside if each != ".")
            packages[folder.replace("/", ".")] = Package(source, tuple(sorted({*contents, *below})), text, is_typed)
    return packages


def _attaches(source: str) -> bool:
    from cuda_wheel.builder.wheel.stubs import attaches  # parses the source

    return attaches(source)


def _package_of(name: str) -> str:
    """Return the dotted name of the package that contains a module: "demo.kernels.saxpy" -> "demo.kernels"."""
    return name.rpartition(".")[0]


def _stub_path(package: str) -> str:
    """Return the path of a package's stub in the wheel: "demo.kernels" -> "demo/kernels/__init__.pyi"."""
    return package.replace(".", "/") + "/__init__.pyi"


def _mark_path(package: str) -> str:
    """Return the path of a package's `py.typed` in the wheel: "demo.kernels" -> "demo/kernels/py.typed"."""
    return package.replace(".", "/") + f"/{TYPED}"


def _module_paths(name: str) -> tuple[str, str]:
    """Return two paths in the wheel: of a module's fatbin, and of its manifest. "demo.scale" -> ("demo/scale.fatbin",
    "demo/scale.fatbin.json")."""
    stem = name.replace(".", "/")
    return stem + ".fatbin", stem + MANIFEST_SUFFIX


def write(files: Mapping[str, bytes], folder: Path) -> None:
    """Write files (path -> content) in `folder`, each completely or not at all.

    Raises ConfigError if one cannot be written.
    """
    for name, content in files.items():
        with _written_atomically(folder / name) as path:
            path.write_bytes(content)


def write_new(files: Mapping[str, bytes], folder: Path) -> None:
    """Write files (path -> content) in a folder that no other process uses. Raises ConfigError if one cannot be
    written."""
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

    `names` are paths in both folders. Incomplete files are in the folder `aside` if that is on the same file system,
    else beside the target. Use `aside` if every file in `folder` goes into a wheel: a process that is killed leaves its
    incomplete file behind.
    """
    for name in names:
        with _written_atomically(folder / name, aside) as path:
            shutil.move(source / name, path)


@contextmanager
def _written_atomically(path: Path, aside: Path | None = None) -> Iterator[Path]:
    """Yield the path of a temporary file, and rename this file to `path` when the `with` block has written it.

    If the block raises, the temporary file is removed. Raises ConfigError if the file cannot be written. `aside`:
    folder for the temporary file. The folder of `path` is used if `aside` is None or on another file system.
    """
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
"""Version of the format in which `carried_sources` writes a module's sources as JSON. `unpack_sources` rejects any
other version."""

_LEFT_OUT = ("variants", "specialize")
"""Attributes of ModuleConfig that `carried_sources` does not write, because compiling at load does not use them."""


def carried_sources(root: Path, module: SourceModule, headers: Iterable[str], toolchain: tuple[str, ...]) -> bytes:
    """Return the JSON text with a module's settings, its sources and the project's files that these may include.

    `headers` are the absolute paths of the headers that the compiler read, `toolchain` are the folders of the
    toolchain's headers, which are left out. The length is a multiple of 8 bytes.
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
    """Return a module's settings as a `[[tool.cuda-wheel.module]]` table: key of the setting, such as "include-dirs" ->
    value.

    A setting with its default value is omitted, except "architectures". The settings in `_LEFT_OUT` are always omitted.
    """
    default = ModuleConfig()
    values = {item.name: getattr(settings, item.name) for item in fields(settings) if item.name not in _LEFT_OUT}
    return {
        name.replace("_", "-"): _plain(name, value)
        for name, value in values.items()
        if value != getattr(default, name) and name != "architectures"
    } | {"architectures": list(settings.architectures.entries)}


def _plain(name: str, value: Any) -> Any:
    """Return the value of the setting `name` in a form that JSON can hold: the tuple of `defines` becomes a dictionary,
    every other tuple a list. Other values are unchanged."""
    if name == "defines":
        return dict(value)
    return list(value) if isinstance(value, tuple) else value


def unpack_sources(carried: bytes, folder: Path) -> Mapping[str, Any]:
    """Write the files of a text from `carried_sources` in a folder, and return its module table.

    Raises ConfigError if it is not such a text, or if a file's path leads out of the folder.
    """
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
