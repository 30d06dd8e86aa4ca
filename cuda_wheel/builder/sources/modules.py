"""Decide which sources of a project become which modules."""

from __future__ import annotations

import os
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any, Literal

from cuda_wheel.builder.config.pyproject import read_pyproject
from cuda_wheel.builder.config.settings import TABLE, Config, ModuleConfig
from cuda_wheel.builder.errors import ConfigError
from cuda_wheel.builder.images.device_files import faulty
from cuda_wheel.builder.sources.layout import WheelFile

__all__ = [
    "COMPILED",
    "KINDS",
    "Source",
    "SourceKind",
    "SourceModule",
    "named_sources",
    "needs_nvvm",
    "one_module",
    "select",
    "source_module",
]


SourceKind = Literal["cuda", "nvvm", "ptx", "ltoir", "cubin", "fatbin", "object", "library"]
"""CUDA C++ and NVVM IR, which are compiled; PTX, which is so too where it need not be linked; and what nvJitLink takes
as it is. The words are nvJitLink's."""


KINDS: dict[str, SourceKind] = {
    ".cu": "cuda", ".ll": "nvvm", ".bc": "nvvm", ".ptx": "ptx", ".ltoir": "ltoir", ".cubin": "cubin",
    ".fatbin": "fatbin", ".o": "object", ".obj": "object", ".a": "library", ".lib": "library",
}  # fmt: skip


COMPILED = ("cuda", "nvvm")
"""The kinds that can become LTO-IR and relocatable PTX."""


TEXTS = (".cu", ".ll", ".ptx")


@dataclass(frozen=True)
class Source:
    """A file that a module is made of: its project-relative path with "/", its kind and its content."""

    path: str
    kind: SourceKind
    content: bytes

    @property
    def text(self) -> str:
        return self.content.decode(errors="surrogateescape")


@dataclass(frozen=True)
class SourceModule:
    """A module to build: its dotted name, its sources, those that define what it leaves to others, and its settings."""

    name: str
    sources: tuple[Source, ...]
    defaults: tuple[Source, ...]
    settings: ModuleConfig

    @property
    def paths(self) -> tuple[str, ...]:
        """The paths of all its sources."""
        return tuple(source.path for source in (*self.sources, *self.defaults))

    @property
    def label(self) -> str:
        """What messages call it: its source, or its name and its sources."""
        return self.paths[0] if len(self.paths) == 1 else f"{self.name} ({', '.join(self.paths)})"

    @property
    def relocatable(self) -> bool:
        """Whether it is carried in a form for linking."""
        return self.settings.relocatable or bool(self.settings.extern)

    @property
    def ready(self) -> bool:
        """Whether it is carried in a form that needs no linking."""
        return not self.settings.extern or bool(self.defaults)


def select(config: Config, root: Path, files: Iterable[WheelFile]) -> tuple[SourceModule, ...]:
    """Return the modules of the project in `root`, whose wheel has `files`, by name.

    Raises ConfigError where a source is missing, unreadable or outside the project, where a name is no module's or
    taken twice, and where there is nothing to compile.
    """
    files = list(files)
    named = {
        os.path.relpath(file.source, root).replace(os.sep, "/"): ".".join(
            PurePosixPath(file.destination).with_suffix("").parts
        )
        for file in files
        if file.source.suffix == ".cu"
    }
    settings: dict[str, ModuleConfig] = {}
    claimed: set[str] = set()
    for index, table in enumerate(config.module):
        where = f"{TABLE}.module[{index}]"
        if table.name in settings:
            raise ConfigError(f"{where}: a second module of the name {table.name}; every module needs its own.")
        settings[table.name] = _with_sources(table, where, root, named)
        claimed.update(settings[table.name].sources, settings[table.name].extern_default)

    for source in _selected(config, root, named, claimed):
        if source in claimed:
            continue
        name = named[source]
        if name in settings:
            other = settings[name].sources[0]
            raise ConfigError(f"{source} and {other} would both become the module {name}: rename one of them.")
        settings[name] = replace(config.for_module(name), sources=(source,))
    if not settings:
        raise ConfigError(
            "there is nothing to compile: no .cu file is in the packages that go into the wheel. Put them beside the "
            "Python modules; if they are there, see whether .gitignore or the back end leaves them out."
        )
    packages = {str(parent) for file in files for parent in PurePosixPath(file.destination).parents}
    for module in settings.values():
        _check_name(module.name, module.sources[0], packages)
    _check_case(settings, [file.destination for file in files])
    return tuple(_source_module(root, module) for _, module in sorted(settings.items()))


def one_module(root: Path, table: Mapping[str, Any], environ: Mapping[str, str]) -> tuple[Config, SourceModule]:
    """Return the settings and the module of one table that names its own sources, as CMake's function makes it.

    What it does not say, the table of that name and `[tool.cuda-wheel]` of the project in `root` do, if there are any.
    Raises ConfigError.
    """
    project = read_pyproject(root) if (root / "pyproject.toml").is_file() else {}
    shared = project.get("tool", {}).get("cuda-wheel", {})
    Config.from_table(shared)  # now the project's own words, where somebody can correct them
    own: Mapping[str, Any] = next((m for m in shared.get("module", ()) if m["name"] == table["name"]), {})
    config = Config.from_table({**shared, "module": [{**own, **table}]}, environ)
    return config, source_module(root, config.module[0])


def source_module(root: Path, settings: ModuleConfig) -> SourceModule:
    """Return the module that settings with a source describe; raises ConfigError."""
    settings = _with_sources(settings, f"the module {settings.name}", root, {})
    _check_name(settings.name, settings.sources[0], {"/".join(settings.name.split(".")[:-1])})
    return _source_module(root, settings)


def _source_module(root: Path, settings: ModuleConfig) -> SourceModule:
    _check_include_dirs(settings, root)
    sources, defaults = (
        tuple(Source(path, _kind(path, settings.name), _read_source(root, path)) for path in paths)
        for paths in (settings.sources, settings.extern_default)
    )
    for source in (*sources, *defaults):
        fault = None if source.kind in COMPILED else faulty(source.kind, source.content)
        if fault is not None:
            raise ConfigError(f"{source.path} {fault}.")
    _check_linking(sources, settings)
    return SourceModule(settings.name, sources, defaults, settings)


def _kind(path: str, module: str) -> SourceKind:
    kind = KINDS.get(PurePosixPath(path).suffix)
    if kind is None:
        raise ConfigError(f"{module} cannot be made of {path}: a source is called {', '.join(KINDS)}.")
    return kind


def _check_linking(sources: Sequence[Source], settings: ModuleConfig) -> None:
    """Raise ConfigError where the sources and the settings of a module do not go together."""
    name, link = settings.name, settings.link
    if settings.extern_default and not settings.extern:
        raise ConfigError(f"{name} has extern-default, and leaves nothing to others: name it in extern.")
    for source in sources:
        if source.kind not in COMPILED and (settings.extern or settings.relocatable):
            raise ConfigError(
                f"{name} cannot be carried for linking with {source.path} in it: LTO-IR and PTX are made of CUDA C++ "
                "and NVVM IR only."
            )
    if link != "none" or (settings.extern and not settings.extern_default):  # which whoever loads it links
        return
    if len(sources) > 1:
        raise ConfigError(
            f'{name} has {len(sources)} sources: say how to link them, link = "lto" (optimised as one) or link = "ptx".'
        )
    if settings.extern_default:
        raise ConfigError(f'{name} is linked with its extern-default: say how, link = "lto" or link = "ptx".')
    if sources[0].kind not in (*COMPILED, "ptx"):
        raise ConfigError(f'{name} is of {sources[0].path}, which is for a linker: say link = "ptx" or link = "lto".')


def named_sources(config: Config, root: Path) -> set[Path]:
    """Return the real paths of the files that module tables of the project in `root` name, there or not."""
    named = (path for module in config.module for path in (*module.sources, *module.extern_default))
    paths = (path for each in named for path in (root.glob(each) if _is_glob(each, root) else (root / each,)))
    return {Path(os.path.realpath(path)) for path in paths}


def needs_nvvm(modules: Iterable[SourceModule]) -> bool:
    """Return whether any of the modules has a source in NVVM IR."""
    return any(source.kind == "nvvm" for module in modules for source in (*module.sources, *module.defaults))


def _with_sources(table: ModuleConfig, where: str, root: Path, named: Mapping[str, str]) -> ModuleConfig:
    sources = _expanded(table.sources, f"{where}.sources", root)
    if not sources:
        sources = tuple(source for source, name in named.items() if name == table.name)
        if not sources:
            raise ConfigError(
                f"{where} names no sources, and the wheel's packages have no .cu file that is called {table.name}. "
                "Name its sources, or correct the name."
            )
    defaults = _expanded(table.extern_default, f"{where}.extern-default", root)
    for key, paths in (("sources", sources), ("extern-default", defaults)):
        for path in paths:
            if not (root / path).is_file():
                raise ConfigError(f"{where}.{key}: there is no file {path}.")
    twice = next((path for path, count in Counter((*sources, *defaults)).items() if count > 1), None)
    if twice is not None:
        raise ConfigError(f"{where} names {twice} twice: leave one out.")
    return replace(table, sources=sources, extern_default=defaults)


def _expanded(patterns: Iterable[str], where: str, root: Path) -> tuple[str, ...]:
    """Return the files that a module's table names, or means by globs: of each its matches in order."""
    paths: list[str] = []
    for pattern in patterns:
        plain = _inside(pattern, where, root)
        if _is_glob(plain, root):
            paths += [_inside(path, where, root) for path in _matches(pattern, where, root)]
        else:
            paths.append(plain)
    return tuple(paths)


def _is_glob(path: str, root: Path) -> bool:
    """Return whether a path means files, and is none itself."""
    return any(character in path for character in "*?[") and not (root / path).exists()


def _matches(pattern: str, where: str, root: Path) -> list[str]:
    """Return the project's files that a glob means, project-relative, in order; ConfigError where there is none."""
    try:
        # From Python 3.13 on, it is "*".
        if any("**" in part and part != "**" for part in PurePosixPath(pattern).parts):
            raise ValueError('"**" can only be an entire path component')
        matches = sorted(path.relative_to(root).as_posix() for path in root.glob(pattern) if path.is_file())
    except (ValueError, IndexError, NotImplementedError) as error:
        raise ConfigError(f"{where}: {pattern!r} is not a pattern of files such as 'src/**/*.cu': {error}.") from error
    if not matches:
        raise ConfigError(f"{where}: {pattern!r} matches no file in {root.name}.")
    return matches


def _selected(config: Config, root: Path, named: Mapping[str, str], claimed: AbstractSet[str]) -> list[str]:
    """Return the sources that need no table of their own, project-relative, in order."""
    if not config.sources:
        return sorted(named)
    key = f"{TABLE}.sources"
    selected = set()
    for pattern in config.sources:
        _inside(pattern, key, root)
        for source in _matches(pattern, key, root):
            _inside(source, key, root)
            if source not in named and source not in claimed:
                raise ConfigError(
                    f"{key}: {source} is in no package that goes into the wheel, so that it has no name to load it by. "
                    f"Give it one in a [[{TABLE}.module]] table."
                )
            selected.add(source)
    return sorted(selected)


def _inside(path: str, where: str, root: Path) -> str:
    """Return a project-relative path in its plainest form; ConfigError where it leads out of the project."""
    if _UNWRITABLE.search(path):
        raise ConfigError(f"{where}: {path!r} holds what no file's name should: rename it in letters and digits.")
    plain = PurePosixPath(path.replace("\\", "/"))
    if plain.is_absolute() or Path(path).is_absolute() or ".." in plain.parts or _leads_out(root / plain, root):
        raise ConfigError(
            f"{where}: {path} lies outside the project. Copy it into the project, so that its sdist has it too."
        )
    return str(plain)


_UNWRITABLE = re.compile("[\0-\x1f\x7f\ud800-\udfff]")
"""Control characters, and what stands for bytes that are no UTF-8."""


def _leads_out(path: Path, root: Path) -> bool:
    """Return whether a path, by whatever links, leads out of the project."""
    return not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(root))


_RESERVED = re.compile(r"con|prn|aux|nul|(?:com|lpt)[0-9]", re.IGNORECASE)
"""Source: Microsoft, "Naming Files, Paths, and Namespaces": as names of files with any ending, too."""


LONGEST = 230
"""Bytes of a module's last name: systems take 255, with ".fatbin.json" and what is added while that is written."""


def _check_name(name: str, source: str, packages: set[str]) -> None:
    parts = name.split(".")
    bad = [part for part in parts if not part.isidentifier()]
    if bad or len(parts) < 2:
        reason = f"{bad[0]!r} is not a Python name" if bad else "it lies in no package"
        raise ConfigError(
            f"{_shown(source)} would become the module {name!r}, which no import system can find: {reason}. "
            f"Rename the file, or give the module another name in a [[{TABLE}.module]] table."
        )
    if _RESERVED.fullmatch(parts[-1]) or len(parts[-1].encode()) > LONGEST:
        reason = "is too long for a file's name" if len(parts[-1].encode()) > LONGEST else "Windows keeps for itself"
        raise ConfigError(
            f"the module {name} would be a file of the name {parts[-1]}, which {reason}: wheels are for every system. "
            f"Rename {source}, or give the module another name in a [[{TABLE}.module]] table."
        )
    if "/".join(parts[:-1]) not in packages:
        raise ConfigError(
            f"the module {name} would lie in the package {'.'.join(parts[:-1])}, of which nothing goes into the wheel. "
            "Correct the name, or add the package to the wheel."
        )


def _shown(path: str) -> str:
    return repr(path) if _UNWRITABLE.search(path) else path


def _check_case(names: Iterable[str], files: Iterable[str]) -> None:
    """Raise ConfigError where what a module becomes differs from another's, or from a wheel's file, by case alone."""
    taken = {_folded(path): path for path in files}
    for name in sorted(names):
        path = name.replace(".", "/") + ".fatbin"
        other = taken.setdefault(_folded(path), path)
        if other != path:
            raise ConfigError(
                f"{path}, which the module {name} would become, and {other} are one file where case does not count, as "
                "on Windows and macOS: rename one of them."
            )


def _folded(path: str) -> str:
    return unicodedata.normalize("NFKC", path).casefold()


def _check_include_dirs(module: ModuleConfig, root: Path) -> None:
    for folder in module.include_dirs:
        where = f"{TABLE}.include-dirs"
        if not (root / _inside(folder, where, root)).is_dir():
            raise ConfigError(f"{where}: there is no folder {folder} in {root.name}.")


def _read_source(root: Path, source: str) -> bytes:
    """Return a source's bytes; of CUDA C++ without the byte-order mark that NVRTC refuses. Raises ConfigError where it
    cannot be read, lies outside the project, or should be text and is none."""
    if _leads_out(root / source, root):
        raise ConfigError(
            f"{source} is for the wheel, but lies outside the project ({os.path.realpath(root / source)}): copy it "
            f"into {root.name}, so that its sdist has it too."
        )
    if (root / source).exists() and not (root / source).is_file():
        raise ConfigError(f"{source} is no file that can be read: put the source itself there.")
    try:
        content = (root / source).read_bytes()
    except OSError as error:
        raise ConfigError(f"{source} cannot be read: {error.strerror or error}.") from error
    if not source.endswith(TEXTS):
        return content
    content = content.removeprefix(b"\xef\xbb\xbf")
    try:
        content.decode()
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise ConfigError(f"{source}:{line}: is not UTF-8: {error.reason}. Save the file as UTF-8.") from error
    content = content.removesuffix(b"\0") if source.endswith(".ptx") else content  # as compilers write it
    if b"\0" in content:
        line = content.count(b"\n", 0, content.index(b"\0")) + 1
        raise ConfigError(f"{source}:{line}: holds a NUL byte, where the compiler would stop reading. Remove it.")
    return content
