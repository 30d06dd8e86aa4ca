"""Decide which sources of a project become which modules.

Paths and globs of `[tool.cuda-wheel]` are resolved to files of the project. Modules and the files that they become must
have names which Python and every file system accept.
"""

from __future__ import annotations

import os
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import Any

from cuda_wheel.builder.config.names import TABLE
from cuda_wheel.builder.config.pyproject import read_pyproject
from cuda_wheel.builder.config.settings import Config, ModuleConfig, PythonKernelConfig
from cuda_wheel.builder.config.values import Architectures, check_expression, check_macro_value
from cuda_wheel.builder.errors import ConfigError
from cuda_wheel.builder.sources.header_dependencies import option_folders, sources_included_by_others
from cuda_wheel.builder.sources.layout import WheelFile
from cuda_wheel.builder.sources.paths import UNPRINTABLE, is_installed_toolkit, leads_out, shown
from cuda_wheel.builder.sources.pytorch_options import with_pytorch_options
from cuda_wheel.builder.sources.source_files import COMPILED, NVVM_KINDS, Source, read_python_source, read_source_file
from cuda_wheel.runtime.manifest import MacroValue, Variant, full_name, macro_text, same_macros
from cuda_wheel.runtime.parts.python_kernels.signatures import LANGUAGES, kernel_path, module_and_function

__all__ = [
    "EXCLUDED",
    "SourceModule",
    "check_case",
    "check_name",
    "excluded_files",
    "expanded",
    "is_excluded",
    "is_glob",
    "literal_paths",
    "matching_files",
    "named_sources",
    "needs_nvvm",
    "one_module",
    "project_path",
    "python_modules",
    "select",
    "source_module",
    "specialized",
    "variants_of",
]


EXCLUDED = "!"
"""First character of an exclusion in a list of file patterns. "!a*.cu" removes the files that match "a*.cu" and that
earlier patterns select."""


def expanded(patterns: Iterable[str], where: str, root: Path, start: Iterable[str] = ()) -> tuple[str, ...]:
    """Return the files of `start` and those that a list of paths and globs names, project-relative and in order; the
    files of one glob are sorted.

    A pattern that begins with "!" takes its files out again; of several patterns that match a file, the last counts.
    `where` is the setting that contains the list, for errors.
    """
    paths = list(start)
    for pattern in patterns:
        positive = pattern.removeprefix(EXCLUDED)
        plain = project_path(positive, where, root)
        found = [plain]
        if is_glob(plain, root):
            found = [project_path(path, where, root) for path in matching_files(positive, where, root)]
        if pattern == positive:
            paths += found
        else:
            _check_excluded(found, pattern, where, root)
            paths = [path for path in paths if path not in found]
    return tuple(paths)


def literal_paths(patterns: Iterable[str], root: Path) -> set[str]:
    """Return the project-relative paths in a list of patterns that name one file each: no globs, and none with "!"."""
    plain = (str(PurePosixPath(pattern.replace("\\", "/"))) for pattern in patterns if not pattern.startswith(EXCLUDED))
    return {path for path in plain if not is_glob(path, root)}


def _check_excluded(found: Iterable[str], pattern: str, where: str, root: Path) -> None:
    """Raise ConfigError if a file that is to be excluded does not exist.

    `found`: project-relative paths that `pattern` stands for, such as ["a.cu"].
    `pattern`: the exclusion as written in the settings, such as "!a.cu".
    `where`: name of the setting. It begins the error message: "tool.cuda-wheel.sources: '!a.cu' excludes no file: ...".
    """
    # The name may be misspelt, or the file was renamed.
    missing = next((path for path in found if not (root / path).is_file()), None)
    if missing is not None:
        raise ConfigError(f"{where}: {pattern!r} excludes no file: there is no file {missing}.")


def is_glob(path: str, root: Path) -> bool:
    """Return whether a path contains `*`, `?` or `[`, and is not the path of an existing file."""
    return any(character in path for character in "*?[") and not (root / path).exists()


def _glob(pattern: str, root: Path) -> Iterator[Path]:
    """Return what matches a glob; raises ValueError, IndexError or NotImplementedError for an invalid one."""
    if any("**" in part and part != "**" for part in PurePosixPath(pattern).parts):
        raise ValueError('"**" can only be an entire path component')  # from Python 3.13 on, it would be "*"
    return root.glob(pattern)


def matching_files(pattern: str, where: str, root: Path) -> list[str]:
    """Return the project's files that match a glob, project-relative and sorted; ConfigError if there are none."""
    try:
        matches = sorted(path.relative_to(root).as_posix() for path in _glob(pattern, root) if path.is_file())
    except (ValueError, IndexError, NotImplementedError) as error:
        raise ConfigError(f"{where}: {pattern!r} is not a pattern of files such as 'src/**/*.cu': {error}.") from error
    if not matches:
        raise ConfigError(f"{where}: {pattern!r} matches no file in {root.name}.")
    return matches


def project_path(path: str, where: str, root: Path) -> str:
    """Return a project-relative path in its shortest form; ConfigError if it leads out of the project."""
    if UNPRINTABLE.search(path):
        raise ConfigError(f"{where}: {path!r} contains characters that a file name must not have: rename the file.")
    plain = PurePosixPath(path.replace("\\", "/"))
    is_outside = plain.is_absolute() or Path(path).is_absolute() or ".." in plain.parts
    if not is_outside and leads_out(root / plain, root):
        raise ConfigError(
            f"{where}: {path} lies outside the project: a link leads to {os.path.realpath(root / plain)}. Put a copy "
            "in place of the link, so that its sdist has it too."
        )
    if is_outside:
        raise ConfigError(
            f"{where}: {path} lies outside the project. Copy it into the project, so that its sdist has it too."
        )
    return str(plain)


_RESERVED = re.compile(r"con|prn|aux|nul|(?:com|lpt)[0-9]", re.IGNORECASE)
"""Matches a file name that Windows reserves, such as "con". The name is also reserved with any suffix: "con.cu".
Source: Microsoft, "Naming Files, Paths, and Namespaces"."""

_MAX_BYTES = 230
"""Maximum length, in bytes, of the last part of a module's dotted name. Names of the module's files begin with that
part. File systems allow 255 bytes. The rest is for suffixes such as ".fatbin.json"."""


def check_name(name: str, source: str, packages: AbstractSet[str]) -> None:
    """Raise ConfigError if a module's dotted name is not importable, is not a file name on all systems, or is in no
    package of the wheel.

    `packages` are the packages' paths with "/", such as "demo/kernels"; `source` is the source to name in the error.
    """
    parts = name.split(".")
    invalid = [part for part in parts if not part.isidentifier()]
    if invalid or len(parts) < 2:
        reason = f"{invalid[0]!r} is not a Python name" if invalid else "it lies in no package"
        raise ConfigError(
            f"{shown(source)} would become the module {name!r}, which Python cannot import: {reason}. "
            f"Rename the file, or give the module another name in a [[{TABLE}.module]] table."
        )
    is_long = len(parts[-1].encode()) > _MAX_BYTES
    if _RESERVED.fullmatch(parts[-1]) or is_long:
        reason = "which is too long for a file name" if is_long else "which Windows reserves"
        raise ConfigError(
            f"the module {name} would be a file of the name {parts[-1]}, {reason}: wheels are for every system. "
            f"Rename {source}, or give the module another name in a [[{TABLE}.module]] table."
        )
    if "/".join(parts[:-1]) not in packages:
        raise ConfigError(
            f"the module {name} would lie in the package {'.'.join(parts[:-1])}, which has no file in the wheel. "
            "Correct the name, or add the package to the wheel."
        )


def check_case(names: Iterable[str], files: Iterable[str]) -> None:
    """Raise ConfigError if the path of a module's fatbin differs from that of another module, or from one of `files`
    in the wheel, only by case or by Unicode normalisation."""
    taken = {_folded(path): path for path in files}
    for name in sorted(names):
        path = name.replace(".", "/") + ".fatbin"
        other = taken.setdefault(_folded(path), path)
        if other != path:
            raise ConfigError(
                f"{path}, which the module {name} would become, and {other} are the same file on systems that ignore "
                "case, such as Windows and macOS: rename one of them."
            )


def _folded(path: str) -> str:
    """Return a path in lower case and normalised Unicode. Two paths that a file system may take for the same file, such
    as "A.cu" and "a.cu", have equal results."""
    return unicodedata.normalize("NFKC", path).casefold()


@dataclass(frozen=True)
class SourceModule:
    """A module to build."""

    name: str
    """Dotted name of the module, such as "demo.kernels.saxpy"."""
    sources: tuple[Source, ...]
    """Sources that are compiled or linked into the module."""
    defaults: tuple[Source, ...]
    """Sources of the setting `extern-default`. They define the symbols in the setting `extern`, for programs that load
    the module without linking anything to it."""
    settings: ModuleConfig
    """Settings of the module, from its table and from `[tool.cuda-wheel]`."""
    variant: Variant = ()
    """Names and values of the macros that distinguish this variant of the module from its other variants.
    `settings.defines` has the macros too. Empty if this is no variant."""
    on_demand: bool = False
    """Whether the module is compiled on the user's machine because a program asks for it. The program can ask for
    further template instances too, so there is no warning about a template without instances."""
    unneeded: tuple[str, ...] = field(default=(), compare=False, repr=False)
    """Folders of CUDA toolkits in the project's setting `include-dirs`. They are left out of `settings.include_dirs`;
    the toolchain's own headers are used instead."""
    got_pytorch_macros: bool = field(default=False, compare=False, repr=False)
    """Whether PyTorch's build macros were added to `settings.defines`."""

    @property
    def full_name(self) -> str:
        """Dotted name with the macros of the variant, if this is one: "demo.update[MATH_TYPE=double, NUM_MODES=4]"."""
        return full_name(self.name, self.variant)

    @property
    def paths(self) -> tuple[str, ...]:
        """Project-relative paths of all sources, those in `defaults` included."""
        return tuple(source.path for source in (*self.sources, *self.defaults))

    @property
    def label(self) -> str:
        """Name of the module in messages: the path of its source, or "NAME (SOURCE, ...)" if there are several sources
        or this is a variant."""
        if self.variant:
            return f"{self.full_name} ({', '.join(self.paths)})"
        return self.paths[0] if len(self.paths) == 1 else f"{self.name} ({', '.join(self.paths)})"

    @property
    def relocatable(self) -> bool:
        """Whether the wheel contains the module in a form that can be linked at load: LTO-IR or relocatable PTX."""
        return self.settings.relocatable or bool(self.settings.extern)

    @property
    def ready(self) -> bool:
        """Whether the wheel contains the module in a form that can be loaded without linking."""
        return not self.settings.extern or bool(self.defaults)

    @property
    def language(self) -> str:
        """Language of the module's kernels in Python, such as "triton"; "" for a module of other sources."""
        return self.sources[0].kind if self.sources[0].kind in LANGUAGES else ""

    @property
    def is_tile(self) -> bool:
        """Whether the module has CUDA Tile kernels."""
        return self.language == "tile" or any(source.is_tile for source in (*self.sources, *self.defaults))

    def kernel_source(self, variant: Variant) -> Source:
        """Return the source of the kernel in Python that a variant of this module compiles."""
        module = module_and_function(kernel_path(variant))[0]
        return next(source for source in self.sources if source.module == module)

    def mentions(self, name: str) -> str:
        """Return where the sources contain the last part of a C++ name, to follow a message: ", mentioned at a.cu:3,
        b.cu:7"; "" if no source does."""
        last = name.partition("(")[0].partition("<")[0].rpartition("::")[2]
        word = re.compile(rf"\b{re.escape(last)}\b")
        places = []
        for source in (*self.sources, *self.defaults):
            if source.kind in ("cuda", "nvvm", "ptx", *LANGUAGES):
                lines = (number for number, line in enumerate(source.text.split("\n"), 1) if word.search(line))
                places += [f"{source.path}:{number}" for number in lines][:3]
            elif last.encode() in source.content:
                places.append(source.path)
        return f", mentioned at {', '.join(places)}" if places else ""


def variants_of(module: SourceModule) -> tuple[SourceModule, ...]:
    """Return each variant of a module as a module of its own; a module without variants is the only element.

    The macros of a variant take precedence over `defines`. A variant of kernels in Python has its kernel's source only.
    """
    if module.language:
        settings = replace(module.settings, variants=())
        return tuple(
            replace(module, variant=variant, settings=settings, sources=(module.kernel_source(variant),))
            for variant in module.settings.variants
        )
    return tuple(
        replace(module, variant=variant, settings=_with_macros(module.settings, variant))
        for variant in module.settings.variants
    ) or (module,)


def specialized(module: SourceModule, macros: Mapping[str, MacroValue], instance: str | None) -> SourceModule:
    """Return a module as a variant with these macros; with an instance, this is the only template instance to compile.

    `macros` are name -> value, `instance` is a name expression such as "scale<float>" or None. Equal macros make equal
    modules: the values 4 and "4" are the same. Raises ConfigError for a value or an instance that could insert other
    code into the source, because both may come from a program's input.
    """
    for name, value in macros.items():
        check_macro_value(macro_text(value), f"the macro {name}")
    if instance is not None:
        check_expression(instance, "the name of an instance")
    variant: Variant = tuple((name, _number_or_text(text)) for name, text in same_macros(macros))
    settings = _with_macros(module.settings, variant)
    if instance is not None:
        settings = replace(settings, instantiate=(instance,), instances=(), specialize=False)
    return replace(module, variant=variant, settings=settings, on_demand=True)


def _number_or_text(text: str) -> MacroValue:
    """Return the text of a macro's value as an int if it is a decimal number without leading zeros; else return the
    text itself."""
    is_number = text.isascii() and text.isdecimal() and str(int(text)) == text  # 010 is octal in C++
    return int(text) if is_number else text


def _with_macros(settings: ModuleConfig, variant: Variant) -> ModuleConfig:
    """Return a module's settings for one variant: the variant's macros are added to `defines`, and `variants` is
    empty."""
    defines = dict(settings.defines) | {name: macro_text(value) for name, value in variant}
    return replace(settings, defines=tuple(sorted(defines.items())), variants=())


def _nothing(text: str) -> None:
    """Do nothing. This is the default for parameters that get messages or paths, such as those of `select`."""


def select(
    config: Config,
    root: Path,
    files: Iterable[WheelFile],
    tell: Callable[[str], None] = _nothing,
    note: Callable[[str], object] = _nothing,
) -> tuple[SourceModule, ...]:
    """Return the modules of the project in `root`, sorted by name; `files` are those of its wheel.

    A `.cu` file that another source includes is a header, unless the settings name it without a wildcard; `tell` gets
    a message about each. `note` gets each project-relative path at which a header was looked for to find this out.

    Raises ConfigError if a source is missing, unreadable or outside the project, if a name is invalid or used twice,
    and if there is nothing to compile.
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
            raise ConfigError(f"{where}: a second module named {table.name}; names must be unique.")
        settings[table.name] = _with_sources(table, where, root, named, tell, note)
        claimed.update(settings[table.name].sources, settings[table.name].extern_default)

    for source in _own_modules(config, root, named, settings.values(), tell, note):
        name = named[source]
        if name in settings:
            other = settings[name].sources[0]
            raise ConfigError(f"{source} and {other} would both become the module {name}: rename one of them.")
        settings[name] = replace(config.for_module(name), sources=(source,))
    python = {
        module.name: module for module in python_modules(config.python_kernels, config.architectures, root, files)
    }
    both = sorted(settings.keys() & python.keys())
    if both:
        raise ConfigError(
            f"{settings[both[0]].sources[0]} and [[{TABLE}.{python[both[0]].language}]] would both become the module "
            f"{both[0]}: give the {LANGUAGES[python[both[0]].language].title} kernels another name."
        )
    if not settings and not python:
        raise ConfigError(
            "there is nothing to compile: no .cu file is in the packages that go into the wheel. Put them beside the "
            "Python modules; if they are there, check whether .gitignore or the back end excludes them."
        )
    packages = {str(parent) for file in files for parent in PurePosixPath(file.destination).parents}
    for name, source in {each.name: each.sources[0] for each in settings.values()}.items():
        check_name(name, source, packages)
    for name, module in python.items():
        check_name(name, module.paths[0], packages)
    check_case([*settings, *python], [file.destination for file in files])
    modules = {name: _source_module(root, module, note) for name, module in settings.items()} | python
    return tuple(module for _, module in sorted(modules.items()))


def python_modules(
    tables: Iterable[tuple[str, PythonKernelConfig]], shared: Architectures, root: Path, files: Iterable[WheelFile]
) -> list[SourceModule]:
    """Return the modules of kernels in Python, such as those of `[[tool.cuda-wheel.triton]]`. Raises ConfigError.

    `tables`: see `Config.python_kernels`. `shared` are the project's architectures. `files` are the files of its wheel,
    with the Python modules of the kernels.
    """
    sources = {file.destination: os.path.relpath(file.source, root).replace(os.sep, "/") for file in files}
    found: dict[str, SourceModule] = {}
    for where, table in tables:
        python = module_and_function(table.kernel)[0]
        stem = python.replace(".", "/")
        path = next((sources[each] for each in (f"{stem}.py", f"{stem}/__init__.py") if each in sources), None)
        if path is None:
            raise ConfigError(f"{where}.kernel: the wheel has no {stem}.py, the module of the kernel {table.kernel}.")
        source = read_python_source(root, path, python, table.language)
        architectures = table.architectures or shared
        before = found.get(table.module)
        if before is None:
            settings = replace(ModuleConfig(name=table.module), architectures=architectures)
            before = SourceModule(table.module, (source,), (), settings)
        if before.language != table.language:
            raise ConfigError(
                f"{where}: the module {table.module} has kernels of {LANGUAGES[before.language].title} already: give "
                "these another name."
            )
        if before.settings.architectures.entries != architectures.entries:
            raise ConfigError(
                f"{where} has other architectures than an earlier table for {table.module}: a module has one list."
            )
        variants = (*before.settings.variants, *table.variants(where))
        twice = next((each for at, each in enumerate(variants) if each in variants[:at]), None)
        if twice is not None:
            raise ConfigError(f"{where} has {full_name(table.module, twice)}, as an earlier table: leave one out.")
        found[table.module] = replace(
            before,
            sources=tuple(dict.fromkeys((*before.sources, source))),
            settings=replace(before.settings, variants=variants),
        )
    return list(found.values())


def one_module(root: Path, table: Mapping[str, Any], environ: Mapping[str, str]) -> tuple[Config, SourceModule]:
    """Return the settings and the module of one module table that names its sources, such as the CMake function's.

    Keys that the table lacks are taken from the module table of that name in pyproject.toml, then from
    `[tool.cuda-wheel]`. Raises ConfigError.
    """
    project = read_pyproject(root) if (root / "pyproject.toml").is_file() else {}
    shared = project.get("tool", {}).get("cuda-wheel", {})
    Config.from_table(shared)  # first the project's own table, so that an error names it
    own: Mapping[str, Any] = next((m for m in shared.get("module", ()) if m["name"] == table["name"]), {})
    config = Config.from_table({**shared, "module": [{**own, **table}]}, environ)
    return config, source_module(root, config.module[0])


def source_module(root: Path, settings: ModuleConfig) -> SourceModule:
    """Read the sources that a module's settings name, and return the module; raises ConfigError."""
    settings = _with_sources(settings, f"the module {settings.name}", root, {}, _nothing, _nothing)
    check_name(settings.name, settings.sources[0], {"/".join(settings.name.split(".")[:-1])})
    return _source_module(root, settings, _nothing)


def _source_module(root: Path, settings: ModuleConfig, note: Callable[[str], object]) -> SourceModule:
    """Read the sources of a module, check its settings, and return the module. Raises ConfigError.

    `settings`: its sources must be paths of existing files, not patterns.
    `note`: gets each project-relative path at which a header was looked for.
    """
    where = f"{TABLE}.include-dirs"
    unneeded = tuple(folder for folder in settings.include_dirs if is_installed_toolkit(root, folder))
    settings = replace(settings, include_dirs=tuple(each for each in settings.include_dirs if each not in unneeded))
    for folder in settings.include_dirs:
        if leads_out(root / folder, root):
            raise ConfigError(
                f"{where}: {folder} lies outside the project. Copy it into the project, so that its sdist has it too; "
                "or, if it is a library's folder, name it in system-include-dirs."
            )
        if not (root / project_path(folder, where, root)).is_dir():
            raise ConfigError(f"{where}: there is no folder {folder} in {root.name}.")
    sources, defaults = (
        tuple(read_source_file(root, path, settings.name) for path in paths)
        for paths in (settings.sources, settings.extern_default)
    )
    _check_linking(sources, settings)
    with_macros = with_pytorch_options(settings, (*sources, *defaults), root, note)
    got_macros = len(with_macros.defines) > len(settings.defines)
    return SourceModule(settings.name, sources, defaults, with_macros, unneeded=unneeded, got_pytorch_macros=got_macros)


def _check_linking(sources: Sequence[Source], settings: ModuleConfig) -> None:
    """Raise ConfigError if a module cannot be linked as its settings say.

    Contradictory settings: `extern-default` without `extern`; `instances` with `link = "lto"`.
    Settings that do not fit the sources: `relocatable` with an object file; several sources with `link = "none"`.
    """
    name, link = settings.name, settings.link
    if settings.instances and (link == "lto" or settings.relocatable or settings.extern):
        raise ConfigError(
            f"{name}: instances removes kernels from PTX, and LTO-IR keeps them: leave out instances, or link, "
            "relocatable and extern."
        )
    if settings.specialize:
        _check_specialize(sources, settings)
    if settings.extern_default and not settings.extern:
        raise ConfigError(f"{name} has extern-default but no extern: name in extern what it defines.")
    for source in sources:
        if source.kind not in COMPILED and (settings.extern or settings.relocatable):
            raise ConfigError(
                f"{name} cannot be linked at load with {source.path} in it: only CUDA C++ and NVVM IR can be compiled "
                "to LTO-IR and relocatable PTX."
            )
    is_linked_at_load = bool(settings.extern) and not settings.extern_default
    if link == "none" and not is_linked_at_load:
        _check_unlinked(sources, settings)


def _check_specialize(sources: Sequence[Source], settings: ModuleConfig) -> None:
    """Raise ConfigError if a module with the setting `specialize` cannot be compiled again on the user's machine.
    Reasons: a source that is not CUDA C++, the setting `extern`, or `system-include-dirs`."""
    if settings.extern or any(source.kind != "cuda" for source in sources):
        raise ConfigError(
            f"{settings.name} cannot have specialize: only a module of CUDA C++ sources without extern can be compiled "
            "again on the user's machine."
        )
    if settings.system_include_dirs:
        raise ConfigError(
            f"{settings.name} cannot have specialize with system-include-dirs: the user's machine may not have their "
            "headers. Copy the headers into the project, so that the wheel carries them."
        )


def _check_unlinked(sources: Sequence[Source], settings: ModuleConfig) -> None:
    """Raise ConfigError if a module needs linking: it has several sources, has `extern-default`, or has a source that
    must be linked, such as an object file. Call this for a module that is linked neither by the build (`link = "none"`)
    nor at load."""
    name = settings.name
    if len(sources) > 1:
        raise ConfigError(
            f'{name} has {len(sources)} sources: set how to link them, link = "lto" (optimised as one) or link = "ptx".'
        )
    if settings.extern_default:
        raise ConfigError(f'{name} is linked with its extern-default: set link = "lto" or link = "ptx".')
    if sources[0].kind not in (*COMPILED, "ptx"):
        raise ConfigError(
            f'{name} consists of {sources[0].path}, which has to be linked: set link = "ptx" or link = "lto".'
        )


def named_sources(config: Config, root: Path) -> set[Path]:
    """Return the paths, with links resolved, of the files that the module tables of the project in `root` name. Files
    that do not exist are among them."""
    named = (path for module in config.module for path in (*module.sources, *module.extern_default))
    named = (path for path in named if not path.startswith(EXCLUDED))
    paths = (path for each in named for path in (_glob(each, root) if is_glob(each, root) else (root / each,)))
    return {Path(os.path.realpath(path)) for path in paths}


def is_excluded(config: Config, root: Path, source: str) -> bool:
    """Return whether the project's `sources` exclude a file: the last entry that matches the file begins with "!"."""
    path = Path(root, source)
    for pattern in reversed(config.sources):
        positive = pattern.removeprefix(EXCLUDED)
        if positive == source or (is_glob(positive, root) and path in _glob(positive, root)):
            return pattern != positive
    return False


def excluded_files(config: Config, root: Path) -> set[Path]:
    """Return the paths of all files that the project's `sources` exclude; see `is_excluded`."""
    excluded: set[Path] = set()
    for pattern in config.sources:
        positive = pattern.removeprefix(EXCLUDED)
        found = {*_glob(positive, root)} if is_glob(positive, root) else {root / positive}
        excluded = excluded - found if pattern == positive else excluded | found
    return excluded


def needs_nvvm(modules: Iterable[SourceModule]) -> bool:
    """Return whether any of the modules has a source that is compiled by libNVVM."""
    return any(source.kind in NVVM_KINDS for module in modules for source in (*module.sources, *module.defaults))


def _with_sources(
    table: ModuleConfig,
    where: str,
    root: Path,
    named: Mapping[str, str],
    tell: Callable[[str], None],
    note: Callable[[str], object],
) -> ModuleConfig:
    """Return the settings of a module table, with file paths in place of the patterns in `sources` and
    `extern-default`. Sources that are headers are removed (see `_without_included`). Raises ConfigError.

    `where`: name of the table in error messages, such as "tool.cuda-wheel.module[0]".
    `named`: project-relative path -> module name, for each `.cu` file of the wheel. A table without `sources` gets the
    file with its module name.
    `tell`: gets a message about each removed header.
    `note`: gets each path at which a header was looked for.
    """
    sources = expanded(table.sources, f"{where}.sources", root)
    literal, whole = literal_paths(table.sources, root), replace(table, sources=sources)
    sources = tuple(_without_included(sources, literal, [whole], root, tell, note))
    if table.sources and not sources:
        raise ConfigError(f"{where}.sources excludes every file that it names.")
    if not sources:
        sources = tuple(source for source, name in named.items() if name == table.name)
        if not sources:
            raise ConfigError(
                f"{where} names no sources, and the wheel's packages have no .cu file named {table.name}. "
                "Name its sources, or correct the name."
            )
    defaults = expanded(table.extern_default, f"{where}.extern-default", root)
    for key, paths in (("sources", sources), ("extern-default", defaults)):
        for path in paths:
            if not (root / path).is_file():
                raise ConfigError(f"{where}.{key}: there is no file {path}.")
    twice = next((path for path, count in Counter((*sources, *defaults)).items() if count > 1), None)
    if twice is not None:
        raise ConfigError(f"{where} names {twice} twice: leave one out.")
    return replace(table, sources=sources, extern_default=defaults)


def _own_modules(
    config: Config,
    root: Path,
    named: Mapping[str, str],
    tables: Iterable[ModuleConfig],
    tell: Callable[[str], None],
    note: Callable[[str], object],
) -> list[str]:
    """Return the project-relative paths, sorted, of the sources that become modules although no module table names
    them. Sources that are headers are left out (see `_without_included`).

    `named`: project-relative path -> module name, for each `.cu` file of the wheel.
    `tables`: settings of the modules that have a table.
    `tell`: gets a message about each header that is left out.
    `note`: gets each path at which a header was looked for.
    """
    tables = list(tables)
    claimed = {path for table in tables for path in (*table.sources, *table.extern_default)}
    chosen = [source for source in _selected(config, root, named, claimed) if source not in claimed]
    whole = replace(config.for_module(), sources=tuple(chosen))
    return _without_included(chosen, literal_paths(config.sources, root), [whole, *tables], root, tell, note)


def _selected(config: Config, root: Path, named: Mapping[str, str], claimed: AbstractSet[str]) -> list[str]:
    """Return the project-relative paths, sorted, of the files that the setting `sources` of `[tool.cuda-wheel]`
    selects. Raises ConfigError for a selected file that is neither in `named` nor in `claimed`.

    `named`: project-relative path -> module name, for each `.cu` file of the wheel.
    `claimed`: project-relative paths of the sources in module tables.
    """
    key = f"{TABLE}.sources"
    excludes_only = all(pattern.startswith(EXCLUDED) for pattern in config.sources)
    selected = expanded(config.sources, key, root, sorted(named) if excludes_only else ())
    for source in selected:
        if not excludes_only and not (root / source).is_file():
            matching_files(source, key, root)  # raises the error for a name without a file
        if source not in named and source not in claimed:
            raise ConfigError(
                f"{key}: {source} is in no package that goes into the wheel, so it has no name to load it by. "
                f"Give it one in a [[{TABLE}.module]] table. If the package goes into the wheel, the settings of the "
                "build back end or .gitignore exclude the file: remove that, since cuda-wheel itself leaves sources "
                "out of the wheel."
            )
    return sorted(set(selected))


def _without_included(
    sources: Sequence[str],
    explicit: AbstractSet[str],
    compiled: Iterable[ModuleConfig],
    root: Path,
    tell: Callable[[str], None],
    note: Callable[[str], object],
) -> list[str]:
    """Return `sources` without headers. A header is a source that another source includes and that is not in
    `explicit`.

    `explicit`: project-relative paths that the settings name without a wildcard.
    `compiled`: settings of modules whose sources may include the headers. The modules' include folders are searched.
    `tell`: gets a message about each header.
    `note`: gets each path at which a header was looked for.
    """
    folders = {
        path: (*module.include_dirs, *option_folders(module.options))
        for module in compiled
        for path in (*module.sources, *module.extern_default)
        if path.endswith(".cu")
    }
    folders |= {path: () for path in sources if path not in folders and path.endswith(".cu")}
    included = sources_included_by_others(root, folders, note)
    headers = [source for source in sources if source in included and source not in explicit]
    for header in headers:
        tell(
            f"{header} is included by {included[header]}, and is no module of its own. To compile it alone too, name "
            f"it in sources of [{TABLE}] or of a module, without a wildcard."
        )
    return [source for source in sources if source not in headers]
