"""`cuda-wheel init`: what a project lacks to build its kernels with cuda-wheel, and a first kernel if it has none.

The first kernel, a whole first project and the calls of CMake for modules are texts of this module.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cuda_wheel.builder.config.names import HOOKED, OWN_COMMANDS, TABLE, WRAPPED, WRAPPER
from cuda_wheel.builder.config.pyproject import read_pyproject
from cuda_wheel.builder.cxx.kernel_scan import kernels_in
from cuda_wheel.builder.errors import ConfigError
from cuda_wheel.migrate.project_detection import (
    DetectedProject,
    detect_project,
    extensions_in,
    normalized,
    toolchain_extra,
)
from cuda_wheel.migrate.pyproject_edit import (
    FileChange,
    ImportedBuild,
    PyprojectEdit,
    chosen_extra,
    for_cpp,
    read_text,
    relative_path,
    requirement_name,
    still_compiles,
    table_lines,
    unneeded_requirements,
)
from cuda_wheel.migrate.script_reader import calls_in
from cuda_wheel.migrate.setup_metadata import NotMovedError, moved_setup

__all__ = [
    "CMAKE_LISTS",
    "FIRST_KERNEL",
    "KERNELS_INIT",
    "ProjectChanges",
    "cmake_call",
    "init_project",
    "load_line",
    "new_pyproject",
    "package_init",
    "read_project",
    "unlisted_package",
]


FIRST_KERNEL = """\
__global__ void saxpy(float a, const float* x, float* y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = a * x[i] + y[i];
}
"""

KERNELS_INIT = '''\
"""The kernels of this package's .cu files, as attributes.

Each is loaded for the GPU in use when it is first used.
"""

import cuda_wheel

__getattr__, __dir__, __all__ = cuda_wheel.attach(__name__)
'''

CMAKE_LISTS = """\
cmake_minimum_required(VERSION 3.20)
project({name} LANGUAGES NONE)
find_package(CudaWheel REQUIRED)
"""


def package_init(kernels: str) -> str:
    """Return the `__init__.py` of a new package with the first kernel in its sub-package `kernels`, a dotted name."""
    parent, _, name = kernels.rpartition(".")
    return f'''\
from {parent} import {name}


def saxpy(a, x, y):
    """Add a * x to y: arrays of float32 on the GPU, of CuPy, PyTorch and others."""
    # grid, block, and the kernel's own arguments
    {name}.saxpy.launch(-(-len(x) // 256), 256, a, x, y, len(x))
'''


def new_pyproject(name: str, requires: Sequence[str]) -> str:
    """Return the pyproject.toml of a new project that hatchling builds."""
    required = ", ".join(f'"{each}"' for each in requires)
    return f"""\
[build-system]
requires = [{required}]
build-backend = "hatchling.build"

[project]
name = "{name}"
version = "0.1.0"
requires-python = ">=3.10"
dependencies = ["cuda-wheel"]
"""


def cmake_call(module: Mapping[str, Any]) -> str:
    """Return the call of `cuda_wheel_add_module` for a table of `[[tool.cuda-wheel.module]]` that names its sources."""
    package, _, target = module["name"].rpartition(".")
    arguments = {"TARGET": [target], "SOURCES": module["sources"], "DESTINATION": [package.replace(".", "/")]}
    defines = [name if value is True else f"{name}={value}" for name, value in module.get("defines", {}).items()]
    arguments |= {"INCLUDE_DIRECTORIES": module.get("include-dirs", []), "DEFINES": defines}
    lists = {"SYSTEM_INCLUDE_DIRECTORIES": "system-include-dirs", "MISSING_HEADERS": "missing-headers"}
    arguments |= {name: module.get(key, []) for name, key in lists.items()}
    words = {"STD": "std", "LINK": "link", "HOST_CODE": "host-code"}
    arguments |= {name: [module[key]] for name, key in words.items() if key in module}
    # The call has no arguments for these keys; their options set them.
    keys = {"lineinfo": "-lineinfo", "warnings-as-errors": "-Werror=all-warnings"}
    flags = [option for key, option in keys.items() if module.get(key)]
    arguments |= {"OPTIONS": [*module.get("options", []), *flags], "INSTANTIATE": module.get("instantiate", [])}
    written = [" ".join([name, *map(_argument, values)]) for name, values in arguments.items() if values]
    line = f"cuda_wheel_add_module({' '.join(written)})\n"
    return line if len(line) <= 120 else "cuda_wheel_add_module(\n  " + "\n  ".join(written) + ")\n"


def _argument(value: str) -> str:
    """Return `value` as an argument of a command in CMakeLists.txt, in quotes if CMake needs them: `my dir` -> `"my
    dir"`."""
    if re.fullmatch(r"[\w./+=:-]+", value):
        return value
    return '"' + re.sub(r'([\\"$;])', r"\\\1", value) + '"'


TABLE_PATH = tuple(TABLE.split("."))


def load_line(done: ProjectChanges) -> str:
    """Return the Python code that loads the first kernel of a project; "" if the project has none that a name says."""
    project, root = done.project, done.project.root
    written = {relative_path(change.path, root): change.after for change in done.changes}
    written = {path: text for path, text in written.items() if path.endswith(".cu")}
    for path in (*project.inside, *project.sources, *written):
        kernels = kernels_in(written.get(path) or read_text(root / path) or "")
        if kernels:
            chosen = next((each.name for each in kernels if not each.template), "")
            kernel = f'["{chosen}"]' if chosen else ""
            return f'import cuda_wheel; cuda_wheel.load("{project.module_name(path)}"){kernel}'
    return ""


@dataclass
class ProjectChanges:
    """Changes to a project's files, and messages about them."""

    project: DetectedProject
    changes: list[FileChange] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    """Messages, one line each: settings and files that the project has already."""
    reasons: list[str] = field(default_factory=list)
    """Messages, one line each: what was chosen or removed, and why."""
    advice: list[str] = field(default_factory=list)
    """Messages, one line each: what is left to do by hand."""
    has_moved_setup: bool = False
    """Whether pyproject.toml gets all that setup.py says of the project, so that setup.py can go."""


def read_project(root: Path) -> tuple[PyprojectEdit, str | None]:
    """Return the project's pyproject.toml for editing, and its text.

    Without a pyproject.toml, the text is None and the file to edit is new: empty for a project with a setup.py or a
    setup.cfg, else one for hatchling. Raises ConfigError if the file is not valid.
    """
    path = root / "pyproject.toml"
    text = read_text(path)
    if text is not None:
        read_pyproject(root)  # raises for what is not valid
        return PyprojectEdit(text), text
    if (root / "setup.py").is_file() or (root / "setup.cfg").is_file():
        return PyprojectEdit(""), None
    name = normalized(root.name).replace("_", "-")
    return PyprojectEdit(new_pyproject(name, ["hatchling", f"cuda-wheel[{toolchain_extra()}]"])), None


def init_project(
    root: Path,
    package: str = "",
    modules: Sequence[Mapping[str, Any]] | None = None,
    shared: Mapping[str, Any] | None = None,
    imported: ImportedBuild | None = None,
) -> ProjectChanges:
    """Return the changes that let the project in `root` build its kernels. Nothing is written.

    `package` is the dotted name of the package with the kernels; "" finds it. `modules` are the tables of modules to
    add; None looks for the project's sources, and adds a first kernel if there are none. `shared` has the settings for
    `[tool.cuda-wheel]`, which only count with `modules`. `imported` is None unless sources of another build were
    imported. Raises ConfigError.
    """
    edit, before = read_project(root)
    done = ProjectChanges(detect_project(root, edit.content, package))
    project = done.project
    if imported:
        _move_setup(edit, done, imported)
    _require_toolchain(edit, done, imported)
    _require_loader(edit, done)
    if project.backend == "hatchling.build":
        _enable_hook(edit, done)
    if not done.has_moved_setup:
        done.advice += unlisted_package(project, edit.content)
    files: dict[str, str] = {}
    if modules is None and not project.sources:
        files = _first_kernel(edit, done)
    elif not (root / project.folder / "__init__.py").exists():
        files = {f"{project.folder}/__init__.py": KERNELS_INIT}
    if modules is None:
        modules = [] if edit.get(TABLE_PATH) else _unnamed_modules(done)
        shared = {"sources": [f"{project.folder}/**/*.cu"]} if project.inside or not project.sources else {}
    if project.backend in WRAPPED:
        shared = {**_wrap(edit, done, files), **(shared or {})}
    if project.backend == "scikit_build_core.build":
        _extend_cmake_lists(edit, done, [*_modules_in_package(project, files, modules), *modules])
    else:
        _add_tables(edit, done, shared or {}, modules)
    after = edit.text()
    if after != before:
        done.changes.insert(0, FileChange(root / "pyproject.toml", before, after))
        done.kept *= before is not None
    for path, text in files.items():
        if (root / path).exists():
            done.kept.append(f"{path}: exists")
        else:
            done.changes.append(FileChange(root / path, None, text))
    return done


# --- pyproject.toml ---------------------------------------------------------------------------------


def _move_setup(edit: PyprojectEdit, done: ProjectChanges, imported: ImportedBuild) -> None:
    """Add what setup.py says of the project, as [project] and [tool.setuptools], if builds need setup.py for nothing
    else. Otherwise, if only something in setup.py prevents that, add the reason to `done`."""
    project, tables = done.project, (("project",), ("tool", "setuptools"))
    if not imported.is_replaced or project.backend != "setuptools.build_meta" or any(map(edit.get, tables)):
        return
    if still_compiles(project, edit.content, imported):
        return
    try:
        moved = moved_setup(project, for_cpp(imported))
    except NotMovedError as error:
        done.reasons.append(f"setup.py stays, and its metadata with it: {error}")
        return
    requires = ("build-system", "requires")
    if edit.get(requires) is None:
        backend = HOOKED[project.backend]
        edit.add_table(requires[:1], {"requires": [backend], "build-backend": project.backend})
    for requirement in moved.build_requires:
        if requirement_name(requirement) not in map(requirement_name, edit.get(requires)):
            edit.add_item(requires, requirement)
    for path, values in zip(tables, (moved.project, moved.setuptools), strict=True):
        edit.add_table(path, values)
    if moved.found_packages:
        edit.add_table((*tables[1], "packages", "find"), moved.found_packages)
    done.has_moved_setup = True
    done.reasons += [f"not in pyproject.toml: {line}" for line in moved.left_out]
    done.advice.append(
        "remove setup.py: pyproject.toml has what it passes to setup(), and nothing of what else it does"
    )


def unlisted_package(project: DetectedProject, content: Mapping[str, Any]) -> list[str]:
    """Return the advice to list the package in setup(), if its folder is the project's and setuptools does not find it;
    else an empty list."""
    if project.folder != "." or "setuptools" in content.get("tool", {}):
        return []
    script = project.root / "setup.py"
    named = any("packages" in call.keywords for call in (calls_in(script, ["setup"]) if script.is_file() else ()))
    if named or re.search(r"^packages\s*=", read_text(project.root / "setup.cfg") or "", re.MULTILINE):
        return []
    package = project.package  # not into [tool.setuptools]: setuptools reads it only beside a [project]
    return [
        f'give setup() packages=["{package}"], package_dir={{"{package}": "."}}: the package is the project\'s folder'
    ]


def _require_toolchain(edit: PyprojectEdit, done: ProjectChanges, imported: ImportedBuild | None) -> None:
    """Add the toolchain, such as "cuda-wheel[cu12]", to `build-system.requires`, and messages to `done`.

    `imported`: facts about the imported build; None if nothing was imported. After an import, the requirements that
    only C++ extensions need are removed.
    """
    extra = chosen_extra(edit.content, imported or ImportedBuild())
    toolchain = f"cuda-wheel[{extra.name}]"
    requires = ("build-system", "requires")
    if imported and not _requirement(edit.get(requires)):
        done.reasons.append(f"{toolchain}: {extra.reason}")
    if edit.get(requires[:1]) is None:
        backend = done.project.backend
        edit.add_table(requires[:1], {"requires": [HOOKED[backend], toolchain], "build-backend": backend})
    elif found := _requirement(edit.get(requires)):
        done.kept.append(f"build-system.requires: {found}")
        if "[" not in found.partition("@")[0]:
            done.advice.append(
                f'name an extra in build-system.requires, such as "{toolchain}": "{found}" brings the loader only. '
                '"cuda-wheel[tools]" brings what builds with the compilers of this machine'
            )
    else:
        edit.add_item(requires, toolchain)
    if imported:
        _require_no_cpp(edit, done, imported)


def _require_loader(edit: PyprojectEdit, done: ProjectChanges) -> None:
    """Add cuda-wheel to `project.dependencies`, unless the wheel has a copy of the loader.

    Add advice to `done` instead if the dependencies are not in pyproject.toml.
    """
    dependencies = ("project", "dependencies")
    if edit.get((*TABLE_PATH, "loader")) == "vendor":
        done.kept.append('loader = "vendor": the wheel has the loader, and needs no dependency')
    elif found := _requirement(edit.get(dependencies)):
        done.kept.append(f"project.dependencies: {found}")
    elif edit.get(dependencies[:1]) is None or "dependencies" in (edit.get(("project", "dynamic")) or ()):
        poetry = edit.get(("tool", "poetry", "dependencies"))
        if poetry is not None and "dependencies" not in (edit.get(("project", "dynamic")) or ()):
            if "cuda-wheel" not in poetry:
                done.advice.append("add cuda-wheel to [tool.poetry.dependencies]: poetry add cuda-wheel")
            return
        texts = {name: read_text(done.project.root / name) or "" for name in ("setup.cfg", "setup.py")}
        if not any(re.search(r"cuda[-_.]wheel\b(?!\[)", text) for text in texts.values()):
            listed = (f"in {name}" for name, text in texts.items() if "install_requires" in text)
            place = next(listed, "where they are made")
            done.advice.append(f"add cuda-wheel to the requirements of the project (install_requires), {place}")
    else:
        edit.add_item(dependencies, "cuda-wheel")
    requires = str(edit.get(("project", "requires-python")))
    lowest = [int(number) for number in re.findall(r"(?:>=?|~=|==)\s*3\.(\d+)", requires)]
    if lowest and max(lowest) < _OLDEST_PYTHON:
        done.advice.append(
            f'write requires-python = ">=3.{_OLDEST_PYTHON}" in place of "{requires}": cuda-wheel needs Python '
            f"3.{_OLDEST_PYTHON}, and uv, Poetry and PDM want dependencies that fit every Python of the project"
        )


_OLDEST_PYTHON = 10
"""Minor version of the oldest Python 3 that cuda-wheel supports."""


def _require_no_cpp(edit: PyprojectEdit, done: ProjectChanges, imported: ImportedBuild) -> None:
    """Remove the build requirements that only C++ extensions need. Add PyTorch or CuPy to the requirements if imported
    modules include its headers."""
    requires = ("build-system", "requires")
    removed, kept, by_hand = unneeded_requirements(done.project, edit.content, imported)
    for requirement in removed:
        edit.remove_item(requires, requirement)
        done.reasons.append(f"without {requirement} in build-system.requires: nothing compiles C++ any more")
    done.kept += kept
    done.advice += () if done.has_moved_setup else by_hand
    if imported.pytorch and "torch" not in map(requirement_name, edit.get(requires)):
        edit.add_item(requires, "torch")
        done.reasons.append(f"torch in build-system.requires, for its device headers: {', '.join(imported.pytorch)}")
    if imported.cupy and not any(requirement_name(each).startswith("cupy") for each in edit.get(requires)):
        extra = re.search(r"\bcu\d+\b", _requirement(edit.get(requires)) or "")
        package = f"cupy-{(extra[0] if extra else toolchain_extra()).replace('cu', 'cuda')}x"
        edit.add_item(requires, package)
        done.reasons.append(f"{package} in build-system.requires, for its device headers: {', '.join(imported.cupy)}")


def _requirement(requirements: Any) -> str | None:
    """Return the first requirement for cuda-wheel, such as "cuda-wheel[cu12]>=1"; None if `requirements` has none."""
    texts = (each for each in requirements or () if isinstance(each, str))
    return next((each for each in texts if re.match(r"cuda[-_.]wheel\b(?![-_.])", each, re.IGNORECASE)), None)


def _enable_hook(edit: PyprojectEdit, done: ProjectChanges) -> None:
    """Add the table that enables cuda-wheel's build hook in hatchling. If pyproject.toml has such a table, only add a
    message to `done`."""
    build = ("tool", "hatch", "build")
    wheel = (*build, "targets", "wheel")
    names = ("cuda", "cuda-wheel")  # of the same hook
    for path in ((*place, "hooks", name) for place in (build, wheel) for name in names):
        if edit.get(path) is not None:
            done.kept.append(f"[{'.'.join(path)}]")
            return
    edit.add_table((*wheel, "hooks", "cuda"), {})


def _wrap(edit: PyprojectEdit, done: ProjectChanges, files: Iterable[str]) -> dict[str, str]:
    """Let cuda-wheel's back end wrap the one that the project has, and say why.

    `files`: paths of new files. Return the setting for `[tool.cuda-wheel]`; empty if the table exists, and is changed
    here.
    """
    build_backend = ("build-system", "build-backend")
    backend = edit.get(build_backend)
    edit.set(build_backend, WRAPPER)
    done.reasons.append(
        f'build-backend = "{WRAPPER}": cuda-wheel has no hook for {backend}. {WRAPPER} builds the wheel by it, as '
        "before, and adds the compiled modules."
    )
    if backend in OWN_COMMANDS:
        done.advice.append(
            f"build wheels with pip, build or uv: `{OWN_COMMANDS[backend]}` does not ask {WRAPPER}, and its wheels "
            "have no kernels"
        )
    if not done.project.sources:
        done.reasons.append(
            "A new project needs no wrapper with a back end that cuda-wheel has a hook for, such as hatchling: "
            "uv init --package --build-backend hatch"
        )
    python = [path for path in files if path.endswith(".py")]
    if backend == "mesonpy" and python:
        done.advice.append(
            f"install {', '.join(python)} by py.install_sources in meson.build: the wheel has no other Python files"
        )
    if edit.get(TABLE_PATH) is None:
        return {"backend": backend}
    edit.set((*TABLE_PATH, "backend"), backend)
    return {}


def _add_tables(
    edit: PyprojectEdit, done: ProjectChanges, shared: Mapping[str, Any], modules: Sequence[Mapping[str, Any]]
) -> None:
    """Add `[tool.cuda-wheel]` with the settings `shared`, and a `[[tool.cuda-wheel.module]]` for each table in
    `modules`.

    A table that pyproject.toml has already stays as it is; a message about it is added to `done`.
    """
    table = edit.get(TABLE_PATH)
    if table is not None:
        done.kept.append(f"[{TABLE}]")
    elif shared or not modules:
        edit.add_table(TABLE_PATH, shared)
    named = {each.get("name") for each in (table or {}).get("module", ())}
    for module in modules:
        if module["name"] in named:
            done.kept.append(f"[[{TABLE}.module]] {module['name']}")
        else:
            edit.add_entry((*TABLE_PATH, "module"), module)


def _unnamed_modules(done: ProjectChanges) -> list[dict[str, Any]]:
    """Return a module's table, with the keys `name` and `sources`, for each source in `DetectedProject.unnamed`.

    Sources of C++ extensions in setup.py are left out. If setup.py has such extensions, add to `done` the advice to use
    `cuda-wheel import`.
    """
    script = done.project.root / "setup.py"
    extensions = extensions_in(script) if script.is_file() else []
    if extensions:
        done.advice.append(
            "setup.py builds extensions: cuda-wheel import setup.py proposes the tables for their sources"
        )
    theirs = {Path(os.path.realpath(path)) for extension in extensions for path in extension.sources}
    project = done.project
    unnamed = [path for path in project.unnamed if Path(os.path.realpath(project.root / path)) not in theirs]
    return [{"name": project.module_name(path), "sources": [path]} for path in unnamed]


# --- files ------------------------------------------------------------------------------------------


def _first_kernel(edit: PyprojectEdit, done: ProjectChanges) -> dict[str, str]:
    """Return the new files for a first kernel, named saxpy: path relative to the project -> content of the file.

    The kernel's package is added to the list of packages for setuptools, if `edit` has this list. Advice on how to call
    the kernel is added to `done`, if the project's package has an `__init__.py`.
    """
    project, root = done.project, done.project.root
    # A package that has a module or another package of that name keeps it.
    taken = (root / project.folder / "kernels.py").exists() or (root / project.folder / "kernels").exists()
    name = "cuda_kernels" if taken else "kernels"
    folder, kernels = f"{project.folder}/{name}", f"{project.package}.{name}"
    listed = ("tool", "setuptools", "packages")
    if isinstance(edit.get(listed), list) and kernels not in edit.get(listed):
        edit.add_item(listed, kernels)
    init = f"{project.folder}/__init__.py"
    if (root / init).exists():
        done.advice.append(f"call the kernel: from {kernels} import saxpy; saxpy.launch(grid, block, a, x, y, n)")
        return {f"{folder}/saxpy.cu": FIRST_KERNEL, f"{folder}/__init__.py": KERNELS_INIT}
    return {f"{folder}/saxpy.cu": FIRST_KERNEL, f"{folder}/__init__.py": KERNELS_INIT, init: package_init(kernels)}


def _modules_in_package(
    project: DetectedProject, files: Iterable[str], modules: Iterable[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """Return a module's table for each `.cu` file without a table. The package and `files` are searched.

    `files`: paths of new files. `modules`: tables of modules; the files in their `sources` are left out.
    """
    # CMake compiles only sources that CMakeLists.txt names; the other back ends find the sources in the package.
    listed = {path for module in modules for path in module["sources"]}
    paths = (path for path in (*project.inside, *files) if path.endswith(".cu") and path not in listed)
    return [{"name": project.module_name(path), "sources": [path]} for path in paths]


def _set_wheel_contents(edit: PyprojectEdit, done: ProjectChanges, lists: str | None) -> None:
    """Let scikit-build-core leave the `.cu` files out of the wheel, and make one wheel for all platforms.

    `lists`: content of CMakeLists.txt; None if the project has none. If the project compiles in another language, or
    says itself what its wheel is, the platform stays. Where the settings are written in a form that cannot be extended,
    advice is added to `done`.
    """
    wheel = ("tool", "scikit-build", "wheel")
    excluded = edit.get((*wheel, "exclude")) or []
    missing: dict[str, Any] = {}
    if not any("*.cu" in each.replace("**", "*") for each in excluded):
        missing["exclude"] = ["**.cu", "**.cuh"]
    has_no_language = lists is None or re.search(r"LANGUAGES\s+NONE", lists)
    if has_no_language and edit.get((*wheel, "platlib")) is None and edit.get((*wheel, "py-api")) is None:
        missing["platlib"] = False
    try:
        if missing and edit.get(wheel) is None:
            edit.add_table(wheel, dict(sorted(missing.items(), reverse=True)))
            return
        for pattern in missing.get("exclude", ()):
            edit.add_item((*wheel, "exclude"), pattern)
        if "platlib" in missing:
            edit.set((*wheel, "platlib"), False)
    except ConfigError:
        lines = ", ".join(f"wheel.{line}" for line in table_lines(missing))
        done.advice.append(f"for one wheel for all without the sources, set {lines} in [tool.scikit-build]")


def _extend_cmake_lists(edit: PyprojectEdit, done: ProjectChanges, modules: Sequence[Mapping[str, Any]]) -> None:
    """Add to `done` a change of CMakeLists.txt: a call of `cuda_wheel_add_module` for each module that has none.

    The file is new if the project has no CMakeLists.txt. Also change `edit` so that scikit-build-core leaves the
    sources out of the wheel; see `_set_wheel_contents`.
    """
    path = done.project.root / "CMakeLists.txt"
    before = read_text(path)
    _set_wheel_contents(edit, done, before)
    calls = re.findall(r"cuda_wheel_add_module\(\s*TARGET\s+([\w-]+)", before or "")
    if calls:
        done.kept.append(f"CMakeLists.txt: cuda_wheel_add_module for {', '.join(calls)}")
        modules = [each for each in modules if each["name"].rpartition(".")[2] not in calls]
    if not modules:
        return
    if before is None:
        after = CMAKE_LISTS.format(name=edit.get(("project", "name")) or done.project.package)
    else:
        after = before.replace("\r\n", "\n").rstrip("\n") + "\n"
        after += "" if "CudaWheel" in before else "\nfind_package(CudaWheel REQUIRED)\n"
    after += "".join(map(cmake_call, modules))
    done.changes.append(FileChange(path, before, after.replace("\n", "\r\n") if "\r\n" in (before or "") else after))
