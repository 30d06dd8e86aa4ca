"""Propose the tables of modules for CUDA sources, from their includes and from the options that nvcc gets.

Compile proposed modules for one target, to show which kernels they have, or which settings would help.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from cuda_wheel.builder.config.compiler_options import defined_macros, read_options, takes_value
from cuda_wheel.builder.cxx.kernel_scan import kernels_in
from cuda_wheel.builder.errors import CompileError, ConfigError
from cuda_wheel.builder.full_build import build_module
from cuda_wheel.builder.manifest_reader import all_manifests
from cuda_wheel.builder.manifest_writer.coverage import gaps
from cuda_wheel.builder.manifest_writer.missing_kernels import plain_name, suggested_instances
from cuda_wheel.builder.messages.hint_rules import header_pattern
from cuda_wheel.builder.report.reporter import SilentReporter
from cuda_wheel.builder.sources.header_dependencies import option_folders
from cuda_wheel.builder.sources.header_search import MISSING_HEADER
from cuda_wheel.builder.sources.include_directives import includes
from cuda_wheel.builder.sources.paths import below, is_installed_toolkit
from cuda_wheel.builder.sources.pytorch_options import BUILD_MACROS, PYTORCH_MACROS, includes_pytorch, needs_pytorch
from cuda_wheel.builder.sources.source_files import Source
from cuda_wheel.builder.toolchain.toolchain import INCLUDE
from cuda_wheel.migrate.project_detection import DetectedProject, Extension, project_files
from cuda_wheel.migrate.pyproject_edit import relative_path
from cuda_wheel.runtime.manifest import MANIFEST_SUFFIX, KernelInfo

__all__ = [
    "ModuleTrial",
    "ProposedModule",
    "Table",
    "extension_modules",
    "library_folder",
    "missing_folders",
    "options_table",
    "preprocessor_options",
    "source_module",
    "source_modules",
    "try_module",
]


Table = dict[str, Any]
"""A table of `[[tool.cuda-wheel.module]]`: key -> value."""


@dataclass
class ProposedModule:
    """A module to add to a project, as a table of `[[tool.cuda-wheel.module]]`."""

    table: Table
    notes: list[str] = field(default_factory=list)
    """Messages, one line each: an option or a file of the replaced build that the module leaves out, and why."""
    architectures: tuple[str, ...] = ()
    """Architectures, such as "80-real", in nvcc's options of the replaced build. If several modules replace one
    extension or one list of sources, only the first has them."""

    @property
    def name(self) -> str:
        return str(self.table["name"])


def extension_modules(project: DetectedProject, extension: Extension) -> list[ProposedModule]:
    """Return a module for each CUDA source of an extension, or one for all if its device code is linked."""
    root = project.root
    settings, notes = options_table(extension.options, root, extension.folders)
    notes += [f"{what}: what depends on the machine was not read" for what in extension.unread]
    paths = [relative_path(path, root) for path in extension.sources]
    lost = [path for path in paths if not (root / path).is_file()]
    notes += [f"{path} does not exist" for path in lost]
    paths = [path for path in paths if path not in lost]
    if not paths:
        return []
    package = extension.name.rpartition(".")[0] or project.package
    if extension.is_linked or "link" in settings:
        name = f"{package}.{extension.name.rpartition('.')[2].lstrip('_') or 'kernels'}"
        table = {"name": name, "sources": paths, **_without_pytorch_options(project, paths, settings), "link": "lto"}
        return [ProposedModule(table, notes, _architectures(extension.options))]
    modules = [source_module(project, path, settings, package) for path in paths]
    if modules:
        modules[0].notes += notes
        modules[0].architectures = _architectures(extension.options)
    return modules


def source_modules(project: DetectedProject, paths: Sequence[str], options: Sequence[str] = ()) -> list[ProposedModule]:
    """Return a module for each CUDA source, given by its path relative to the project.

    `options` are nvcc's for the sources. If they ask for device code to be linked, all sources become one module.
    """
    given, notes = options_table(options, project.root)
    if "link" in given and paths:
        module = source_module(project, paths[0], given, project.package)
        return [ProposedModule(module.table | {"sources": list(paths)}, notes, _architectures(options))]
    modules: list[ProposedModule] = []
    for path in paths:
        settings, _ = options_table(options, project.root)
        modules.append(source_module(project, path, settings, project.package))
    if modules:
        modules[0].notes += notes
        modules[0].architectures = _architectures(options)
    return modules


def source_module(project: DetectedProject, path: str, settings: Table, package: str) -> ProposedModule:
    """Return the module for the source `path`. If the source lies outside the project's package, the module's name is
    in `package`: "PACKAGE.scale" for "csrc/scale.cu"."""
    name = project.module_name(path)
    if not path.startswith(f"{project.folder}/"):
        name = f"{package}.{name.rpartition('.')[2]}"
    return ProposedModule({"name": name, "sources": [path], **_without_pytorch_options(project, [path], settings)})


def _without_pytorch_options(project: DetectedProject, paths: Sequence[str], settings: Table) -> Table:
    """Return a module's settings without the macros and options that cuda-wheel adds by itself for PyTorch.

    `settings`: all settings of the module. They are returned unchanged if no source includes PyTorch's headers.
    `paths`: the module's sources.
    """
    folders = settings.get("include-dirs", ())
    sources = (Source(path, "cuda", (project.root / path).read_bytes()) for path in paths if path.endswith(".cu"))
    if not any(includes_pytorch(each, project.root, folders) for each in sources):
        return settings
    defines = {name: value for name, value in settings.get("defines", {}).items() if name not in BUILD_MACROS}
    options = [option for option in settings.get("options", ()) if option != "--expt-relaxed-constexpr"]
    kept = {**settings, "defines": defines, "options": options}
    return {key: value for key, value in kept.items() if value not in ([], {})}


# --- options ----------------------------------------------------------------------------------------


def options_table(options: Sequence[str], root: Path, folders: Sequence[str] = ()) -> tuple[Table, list[str]]:
    """Return the keys of a module's table for options of nvcc and include folders, and notes about what is left out.

    Targets are left out: a wheel is for every GPU.
    """
    notes: list[str] = []
    keys: Table = {}
    arguments: list[str] = []
    for option in _separate(options, notes):
        read = read_options(option, "nvcc's options")
        keys |= read.keys
        notes += [f"{', '.join(texts)}: {reason}" for reason, texts in read.ignored.items()]
        is_macro = any(re.match(r"-[DUI]", each) for each in read.arguments)
        # An option that only has another name with NVRTC stays as it is: the key takes nvcc's.
        arguments += read.arguments if is_macro or read.ignored or not read.arguments else option
    if keys.pop("architectures", None):
        notes.append("the options that name architectures: by default a wheel is for every GPU (key architectures)")
    defines, others, named = _macros(arguments)
    include_dirs = _project_folders(root, (*folders, *named), notes)
    if keys.get("std") in ("c++11", "c++14", "c++17"):  # PyTorch's headers, Thrust and CUB of today need the default
        del keys["std"]
    others = list(dict.fromkeys(others))
    table = {"include-dirs": include_dirs, "defines": defines, "options": others, **keys}
    if any(re.fullmatch(r"-(dc|rdc=true)|--(device-c|relocatable-device-code=true)", option) for option in options):
        table["link"] = "lto"
    return {key: value for key, value in table.items() if value not in ([], {})}, list(dict.fromkeys(notes))


def _project_folders(root: Path, folders: Iterable[str], notes: list[str]) -> list[str]:
    """Return the include folders that are in the project, relative to `root`. Add a message to `notes` for each folder
    that is not in the project."""
    inside: dict[str, None] = {}
    for folder in folders:
        place = below(os.path.abspath(os.path.join(root, folder)), str(root))
        if place is None or not (root / place).is_dir():
            notes.append(f"include folder {folder}: not a folder of the project")
        else:
            inside[place.replace(os.sep, "/")] = None
    return list(inside)


def _architectures(options: Sequence[str]) -> tuple[str, ...]:
    """Return the architectures that options of nvcc name, in the form of the key `architectures`: "80-real"."""
    found = (read_options(option, "nvcc's options").keys.get("architectures", ()) for option in _separate(options, []))
    return tuple(dict.fromkeys(str(each) for entries in found for each in entries))  # type: ignore[attr-defined]


def _separate(options: Sequence[str], notes: list[str]) -> Iterator[list[str]]:
    """Yield each valid option of nvcc as a list of one or two arguments: ["-O3"], ["-I", "include"]. Add an error
    message to `notes` for each invalid option."""
    waiting = list(options)
    while waiting:
        count = 2 if takes_value(waiting[0]) and len(waiting) > 1 else 1
        option, following = waiting[:count], waiting[count:]
        try:
            read_options(option, "nvcc's options")
        except ConfigError as error:
            notes.append(str(error))
            if count == 2 and option[1].startswith("-"):  # its value was not read
                following.insert(0, option[1])
        else:
            yield option
        waiting = following


def _macros(arguments: Sequence[str]) -> tuple[dict[str, Any], list[str], list[str]]:
    """Split arguments of a compiler into (macros, other options, include folders). Macros are name -> value, True for a
    macro without a value.

    ["-DN=4", "-lineinfo", "-I", "csrc"] -> ({"N": 4}, ["-lineinfo"], ["csrc"]).
    """
    defines: dict[str, Any] = {}
    undefined: dict[str, None] = {}
    others: list[str] = []
    folders: list[str] = []
    for kind, text in _preprocessor_arguments(arguments):
        name, equals, value = text.partition("=")
        if not kind:
            others.append(text)
        elif kind == "D":
            defines[name] = _number(value) if equals else True
            undefined.pop(name, None)
        elif kind == "U":
            if defines.pop(name, None) is None or name in PYTORCH_MACROS:
                undefined[name] = None
        else:
            folders.append(text)
    # Only what is defined without the project's options: by PyTorch's build or by the compiler.
    others += [f"-U{name}" for name in undefined if name in PYTORCH_MACROS or name.startswith("__")]
    return defines, others, folders


def _preprocessor_arguments(arguments: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield (kind, text) for each argument of a compiler: ("D", "N=4") and ("U", "N") for macros, ("I", "csrc") for an
    include folder, ("", argument) for any other argument."""
    entries = iter(arguments)
    for entry in entries:
        match = re.match(r"(-[DUI]|--(?:define-macro|undefine-macro|include-path)=?)(.*)", entry, re.DOTALL)
        if match is None:
            yield "", entry
        else:
            yield match[1].lstrip("-")[0].upper(), match[2].strip() or next(entries, "")


def preprocessor_options(options: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return two lists: the options of nvcc or of a host compiler that define and undefine macros, as "-DN=4" and
    "-UN", and the include folders that the options name."""
    arguments = (each for option in _separate(options, []) for each in read_options(option, "options").arguments)
    found = list(_preprocessor_arguments(arguments))
    return [f"-{kind}{text}" for kind, text in found if kind in ("D", "U")], [
        text for kind, text in found if kind == "I"
    ]


def _number(value: str) -> str | int:
    """Return a macro's value as an integer if it is a decimal number, else unchanged."""
    return int(value) if re.fullmatch(r"0|[1-9][0-9]{0,17}", value) else value


# --- include folders --------------------------------------------------------------------------------


_MOST_INCLUDED = 2000
"""The search for include folders stops when it has found this many files: sources, and files that they include."""


def missing_folders(root: Path, sources: Sequence[str], known: Sequence[str]) -> list[str]:
    """Return include folders in the project with which more headers are found than with `known`.

    A folder is added for an include only if exactly one file of the project matches its name. The include may mean a
    header of the toolkit that has the same name.
    """
    headers: list[str] | None = None
    found: list[str] = []
    reached, waiting = set(sources), list(sources)
    while waiting and len(reached) < _MOST_INCLUDED:
        path = waiting.pop()
        for name in _included_names(root / path):
            place = _included_file(root, name, (os.path.dirname(path), *known, *found))
            if place is None:
                headers = project_files(root, (".h", ".cuh", ".hpp", ".cu", ".inl")) if headers is None else headers
                matches = [header for header in headers if f"/{header}".endswith(f"/{name}")]
                if len(matches) != 1:
                    continue
                place = matches[0]
                found.append(place.removesuffix(name).rstrip("/") or ".")
            if place not in reached:
                reached.add(place)
                waiting.append(place)
    return found


def _included_names(path: Path) -> list[str]:
    """Return the names that a file includes, such as "nn/scale.h" for `#include "nn/scale.h"`.

    A name in `<...>` is left out if cuda-wheel ships a header of this name, such as `<math.h>`. The list is empty if
    the file cannot be read.
    """
    try:
        named = list(includes(path.read_bytes()))
    except OSError:  # the compile reports it
        return []
    # <math.h> is the system's, also where the project has a file of that name.
    return [
        each.name
        for each in named
        if each.name and not each.is_test and (each.quoted or not (INCLUDE / each.name).exists())
    ]


def _included_file(root: Path, name: str, folders: Iterable[str]) -> str | None:
    """Return the path of the file `name` in the first of the `folders` that has it; None if no folder has it.

    `folders` and the result are relative to `root`.
    """
    paths = (os.path.normpath(os.path.join(folder, name)) for folder in folders)
    return next((path for path in paths if not path.startswith("..") and (root / path).is_file()), None)


@dataclass
class ModuleTrial:
    """Result of compiling a proposed module."""

    module: ProposedModule
    """The module that was compiled, with its proposed settings and with settings that were added to make it compile."""
    kernels: tuple[KernelInfo, ...] = ()
    warnings: list[str] = field(default_factory=list)
    error: str = ""
    """Error message of the compilation; "" if the module compiles."""
    unnamed_instances: tuple[str, ...] = ()
    """Template instances, such as "scale<float>", that host code launches and the error message asks for. The host code
    can be left out (removed) once the key `instantiate` lists them."""
    is_host_code: bool = False
    """True if the sources have no kernel, only host code. No module is needed then."""
    needs_pytorch: bool = False
    """True if the module includes headers of the installed PyTorch, and does not compile without it."""
    includes_cupy: bool = False
    """True if the module includes headers of the installed CuPy."""


class _CollectedWarnings(SilentReporter):
    """A reporter that collects a build's warnings and prints nothing."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def warning(self, text: str) -> None:
        self.texts.append(text)


def try_module(root: Path, module: ProposedModule, architecture: str) -> ModuleTrial:
    """Compile a module for one architecture, as a build would.

    If it does not compile, settings that may help are tried; see `_next_table`. For kernel templates that no code
    launches, suggested instances are added if they compile. Raises ToolchainError.
    """
    trial = _with_settings(root, _compiled(root, module, architecture), architecture)
    if _lacks_instances(trial) and not any("__global__" in text for text in _texts(root, module)):
        return ModuleTrial(module, is_host_code=True)
    if "instantiate" in trial.module.table or (trial.error and not _lacks_instances(trial)):
        return trial
    instances = _unlaunched(root, module, trial.kernels)
    if not instances:
        return trial
    second = _compiled(
        root, ProposedModule(trial.module.table | {"instantiate": instances}, module.notes), architecture
    )
    if second.error and not trial.error:
        module.notes.append(
            f"nothing launches these templates, and no instance of them compiles: {', '.join(instances)}"
        )
        return trial
    return second


# --- settings that help -------------------------------------------------------------------------------

_ATTEMPTS = 30
"""Maximum number of compilations to find settings with which a module compiles."""


def _with_settings(root: Path, trial: ModuleTrial, architecture: str) -> ModuleTrial:
    """Compile a module with more and more settings, until it compiles or lacks only instances of its kernel templates.
    Return the last trial (compilation).

    `trial`: the module's first compilation. If no setting helps, return the last trial whose only added settings are
    include folders.
    """
    last = trial
    for _ in range(_ATTEMPTS):
        table = last.error and not _lacks_instances(last) and _next_table(root, last)
        if not table:
            break
        last = _compiled(root, ProposedModule(table, trial.module.notes), architecture)
        if table.keys() - {"include-dirs"} == trial.module.table.keys() - {"include-dirs"}:
            trial = last
    # The error message of `trial` is about the module's sources, not about settings that were tried.
    return trial if last.error and not _lacks_instances(last) else last


def _next_table(root: Path, trial: ModuleTrial) -> Table | None:
    """Return the table of a trial's module with one more setting; None if no setting is left to try.

    Settings for a missing header, in order: include folders of the project, the folder of a library, `missing-headers`.
    Settings for any other error, in order: `host-code = "leave-out"`, `instantiate` with the instances that host code
    launches.
    """
    table = trial.module.table
    if names := list(dict.fromkeys(MISSING_HEADER.findall(trial.error))):
        return _table_with_headers(root, table, names)
    if "host-code" not in table:
        return {**table, "host-code": "leave-out"}
    return _extended(table, "instantiate", trial.unnamed_instances)


def _table_with_headers(root: Path, table: Table, names: Sequence[str]) -> Table | None:
    """Return a module's table with one more setting for headers that the compiler did not find; None if no setting is
    left to try.

    `names`: the missing headers, as the sources include them.
    """
    if found := missing_folders(root, table["sources"], table.get("include-dirs", [])):
        return {**table, "include-dirs": [*table.get("include-dirs", []), *found]}
    if folders := list(filter(None, map(partial(library_folder, root), names))):
        return _extended(table, "system-include-dirs", folders)
    if any(name.endswith(_DEVICE_CODE) for name in names):
        return None
    return _extended(table, "missing-headers", map(header_pattern, names))


def _extended(table: Table, key: str, items: Iterable[str]) -> Table | None:
    """Return a module's table with `items` added to the list at `key`; None if the list has all of them already."""
    listed = table.get(key, [])
    new = [each for each in dict.fromkeys(items) if each not in listed]
    return {**table, key: [*listed, *new]} if new else None


_DEVICE_CODE = (".cuh", ".cu", ".inl", ".inc")
"""Suffixes of headers that probably have device code. A missing header of this kind is never replaced by an empty
file."""

_PLACES = ("include", "", "include/eigen3", "include/opencv4")
"""Folders where a library may have its headers, relative to the library's folder."""

_WELL_KNOWN = ("/usr/include/eigen3", "/usr/include/opencv4", "/usr/local/include")
"""Folders of libraries' headers that are searched although no environment variable names them."""


def library_folder(root: Path, name: str, environ: Mapping[str, str] = os.environ) -> str | None:
    """Return the folder outside a project that has a header, for `system-include-dirs`: "$EIGEN_DIR/include" for a
    folder below the value of an environment variable, or a well-known folder. Return None if there is none."""
    own = os.path.realpath(root)
    top = re.sub(r"[^a-z]", "", name.partition("/")[0].partition(".")[0].lower())
    # First the variable that has the library's name.
    for variable in sorted(environ, key=lambda each: (top not in each.lower(), each)):
        value = environ[variable]
        if variable in ("PWD", "OLDPWD", "HOME", "TMPDIR") or not os.path.isabs(value) or os.pathsep in value:
            continue
        for place in _PLACES:
            folder = os.path.normpath(os.path.join(value, place))
            inside = os.path.isfile(os.path.join(folder, name)) and not own.startswith(os.path.realpath(folder))
            if inside and not is_installed_toolkit(root, folder):
                return f"${variable}/{place}".rstrip("/")
    return next((folder for folder in _WELL_KNOWN if os.path.isfile(os.path.join(folder, name))), None)


def _texts(root: Path, module: ProposedModule) -> list[str]:
    """Return the text of each source of a module."""
    paths = (root / path for path in module.table["sources"])
    return [path.read_text(encoding="utf-8", errors="surrogateescape") for path in paths]


def _lacks_instances(trial: ModuleTrial) -> bool:
    """Return whether the compilation failed because the module has no kernel.

    This is also so if the sources have kernel templates without instances.
    """
    return "has no kernel" in trial.error


def _compiled(root: Path, module: ProposedModule, architecture: str) -> ModuleTrial:
    """Compile a module once for one architecture, with its settings as they are, and return the result."""
    reporter = _CollectedWarnings()
    try:
        files, _ = build_module(root, {**module.table, "architectures": [architecture]}, {}, reporter)
    except (CompileError, ConfigError) as error:
        unnamed = error.unnamed_instances if isinstance(error, CompileError) else ()
        return ModuleTrial(module, warnings=reporter.texts, error=str(error), unnamed_instances=unnamed)
    text = next(content for path, content in files.items() if path.endswith(MANIFEST_SUFFIX))
    manifests = all_manifests(text, module.name)
    one_target = gaps(manifests)  # this is for one, so it says nothing of the wheel
    warnings = [each for each in reporter.texts if each != one_target]
    return ModuleTrial(
        module,
        tuple(kernel for manifest in manifests for kernel in manifest.kernels),
        warnings,
        # The stand-ins read some headers of PyTorch where it is installed, whether the module needs them or not.
        needs_pytorch=any("pytorch" in manifest.toolchain for manifest in manifests) and _needs_pytorch(root, module),
        includes_cupy=any("cupy" in manifest.toolchain for manifest in manifests),
    )


def _needs_pytorch(root: Path, module: ProposedModule) -> bool:
    """Return whether one of the sources of a module compiles only where PyTorch is installed."""
    options = read_options(module.table.get("options", ()), "options").arguments
    folders = (*module.table.get("include-dirs", ()), *option_folders(options))
    sources = (Source(path, "cuda", (root / path).read_bytes()) for path in module.table["sources"])
    return any(needs_pytorch(each, root, folders) for each in sources)


def _unlaunched(root: Path, module: ProposedModule, kernels: Sequence[KernelInfo]) -> list[str]:
    """Return suggested instances, such as "scale<float>", of kernel templates without an instance in the compiled
    module.

    `module`: the module with the templates. `kernels`: kernels of the compiled module.
    """
    compiled = {plain_name(kernel.symbol) for kernel in kernels}
    found: dict[str, None] = {}
    options = read_options(module.table.get("options", ()), "options").arguments
    defined = defined_macros(options) | set(module.table.get("defines", ()))
    for text in _texts(root, module):
        missing = {each.name for each in kernels_in(text) if each.template} - compiled
        for instance in suggested_instances(text, defined) if missing else ():
            if instance.partition("<")[0].rpartition("::")[2] in missing:
                found[instance] = None
    return list(found)
