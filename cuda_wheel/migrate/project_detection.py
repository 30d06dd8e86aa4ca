"""Find a project's build back end, its package, its CUDA sources and its C++ extensions.

The extensions are those that a setup.py builds with PyTorch's `CUDAExtension`, with the flags of their CUDA sources.
"""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple

from cuda_wheel.builder.config.names import HOOKED, WRAPPED, WRAPPER
from cuda_wheel.builder.errors import ConfigError
from cuda_wheel.builder.sources.header_dependencies import sources_included_by_others
from cuda_wheel.migrate.script_reader import UNKNOWN, ScriptCall, calls_in, known, strings

__all__ = [
    "BUILD_EXTENSION",
    "DetectedProject",
    "Extension",
    "detect_project",
    "extensions_in",
    "normalized",
    "project_files",
    "toolchain_extra",
]


BUILD_EXTENSION = (
    "-D__CUDA_NO_HALF_OPERATORS__",
    "-D__CUDA_NO_HALF_CONVERSIONS__",
    "-D__CUDA_NO_BFLOAT16_CONVERSIONS__",
    "-D__CUDA_NO_HALF2_OPERATORS__",
    "--expt-relaxed-constexpr",
)
"""Options that PyTorch passes to nvcc before the options of the extension itself. Source: torch.utils.cpp_extension,
COMMON_NVCC_FLAGS."""

_FUNCTIONS = ("CUDAExtension", "load")
"""PyTorch's functions that compile CUDA sources: `CUDAExtension` in a setup.py, and `load` at run time."""


_CXX = (".cpp", ".cc", ".cxx")
"""Suffixes of C++ files."""


class Extension(NamedTuple):
    """An extension with CUDA sources, as a Python file declares it."""

    name: str
    sources: tuple[str, ...]
    """Absolute paths of the `.cu` files."""
    folders: tuple[str, ...]
    """Absolute paths of the include folders."""
    options: tuple[str, ...]
    """Options for nvcc, including macros and the options that PyTorch adds."""
    is_linked: bool
    """True if device code is linked across sources (`dlink=True`)."""
    line: int
    """1-based line of the call in the Python file."""
    unread: tuple[str, ...]
    """Settings of the call whose values are known only when the file runs. Each is "sources", "include_dirs",
    "define_macros" or "nvcc's options"."""
    cxx_sources: tuple[str, ...] = ()
    """Absolute paths of the C++ files."""
    cxx_options: tuple[str, ...] = ()
    """Options for the host compiler, including macros."""
    is_loaded: bool = False
    """True if the program itself builds and loads the extension, by `load`, where it calls that."""


def extensions_in(path: Path) -> list[Extension]:
    """Return the extensions that a Python file declares and that have CUDA sources. Raises ConfigError."""
    found = (_extension(call, path.parent) for call in calls_in(path, _FUNCTIONS))
    return [extension for extension in found if extension is not None]


def _extension(call: ScriptCall, folder: Path) -> Extension | None:
    """Return the extension that a call of CUDAExtension or load declares; None if it has no CUDA sources.

    `folder`: the folder to which paths in the call are relative.
    """
    listed = call.argument(1, "sources")
    paths = [path for each in strings(listed) for path in _paths(each, folder)]
    sources = [path for path in paths if path.endswith(".cu")]
    if not sources:
        return None
    name = call.argument(0, "name")
    options, cxx_options = call.keywords.get("extra_cuda_cflags"), call.keywords.get("extra_cflags")
    folders = call.keywords.get("extra_include_paths")
    macros: Any = None
    if call.function == "CUDAExtension":
        given, folders = call.keywords.get("extra_compile_args"), call.keywords.get("include_dirs")
        options, cxx_options = (given.get("nvcc"), given.get("cxx")) if isinstance(given, dict) else (given, given)
        macros = call.keywords.get("define_macros")
    defines = [f"-D{each[0]}" + (f"={each[1]}" if each[1] is not None else "") for each in _pairs(macros)]
    own = [*defines, *strings(options)]
    arguments = {"sources": listed, "include_dirs": folders, "define_macros": macros, "nvcc's options": options}
    name = name if isinstance(name, str) else _stem(sources[0])
    named = (f"-DTORCH_EXTENSION_NAME={name.rpartition('.')[2]}", "-DTORCH_API_INCLUDE_EXTENSION_H")
    return Extension(
        name,
        tuple(dict.fromkeys(sources)),
        tuple(os.path.abspath(os.path.join(folder, each)) for each in strings(folders)),
        (*BUILD_EXTENSION, *own, *named),
        call.keywords.get("dlink") is True,
        call.node.lineno,
        tuple(what for what, value in arguments.items() if not _is_determined(value)),
        tuple(dict.fromkeys(path for path in paths if path.endswith(_CXX))),
        (*defines, *strings(cxx_options), *named),
        call.function == "load",
    )


def _stem(path: str) -> str:
    """Return the name of a file without folders and suffixes: "scale" for "csrc/scale.cu"."""
    return os.path.basename(path).partition(".")[0]


def _pairs(value: Any) -> list[tuple[str, Any]]:
    """Return (name, value) of each macro in the argument `define_macros`. The value is None for a macro without a
    value."""
    return [(each[0], each[1]) for each in known(value) if isinstance(each, (tuple, list)) and len(each) == 2]


def _paths(path: str, folder: Path) -> list[str]:
    """Return the absolute paths of the files that `path` names. `path` is relative to `folder`, and may be a glob
    pattern such as "csrc/*.cu"."""
    whole = os.path.abspath(os.path.join(folder, path))
    return sorted(glob.glob(whole)) if "*" in path else [whole]


def _is_determined(value: Any) -> bool:
    """Return whether the value of an argument was found without running the file.

    False for UNKNOWN, and for a list or tuple with an item that is UNKNOWN.
    """
    return value is not UNKNOWN and not (isinstance(value, (list, tuple)) and UNKNOWN in value)


_GENERATED = frozenset({"build", "dist", "env", "node_modules", "site", "venv"})
"""Names of folders with files that a tool generated or installed."""

_NOT_OWN = _GENERATED | {"doc", "docs", "external", "test", "tests", "third_party", "thirdparty"}
"""Names of folders whose CUDA sources are not the project's own kernels."""

_NO_PACKAGES = _NOT_OWN | {
    "benchmark",
    "benchmarks",
    "cmake",
    "csrc",
    "example",
    "examples",
    "include",
    "scripts",
    "src",
}
"""Names of folders beside pyproject.toml that are not import packages."""


@dataclass(frozen=True)
class DetectedProject:
    """A project as its files describe it."""

    root: Path
    backend: str
    """Build back end: a key of HOOKED or WRAPPED, or WRAPPER."""
    package: str
    """Dotted name of the import package to which the compiled modules are added."""
    folder: str
    """Path of the package's folder relative to `root`, with "/" between folders; "." if `root` is the package. The
    folder may not exist yet."""
    sources: tuple[str, ...]
    """Paths relative to `root` of the CUDA sources that have kernels and that no other source includes, sorted."""

    @property
    def inside(self) -> tuple[str, ...]:
        """Paths of `sources` in the package."""
        return tuple(path for path in self.sources if path.startswith(f"{self.folder}/"))

    @property
    def unnamed(self) -> tuple[str, ...]:
        """Paths of `sources` whose module needs a name: outside the package, or with a path that Python cannot
        import."""
        return tuple(path for path in self.sources if path not in self.inside or not _is_importable(self._below(path)))

    def module_name(self, path: str) -> str:
        """Return the dotted name of a source's module: "demo.nn.scale" for "demo/nn/scale.cu", and "demo.scale" for a
        source that is outside the package or in folders that Python cannot import."""
        stem = re.sub(r"\W", "_", path.rpartition("/")[2].removesuffix(".cu"))
        folders = self._below(path).split("/")[:-1] if path.startswith(f"{self.folder}/") else []
        return ".".join([self.package, *(folders if _is_importable("/".join(folders)) else []), stem])

    def _below(self, path: str) -> str:
        """Return the path of a source relative to the package's folder, without ".cu": "nn/scale". The path of a source
        outside the package stays relative to `root`."""
        return path.removeprefix(f"{self.folder}/").removesuffix(".cu")


def _is_importable(path: str) -> bool:
    """Return whether every part of a path is a Python identifier, so that dots can join the parts: True for "nn/scale"
    and for "", False for "my-kernels/scale"."""
    return all(map(str.isidentifier, path.split("/"))) if path else True


def detect_project(root: Path, content: Mapping[str, Any], package: str = "") -> DetectedProject:
    """Return the back end, package and sources of the project in `root`; `content` is that of its pyproject.toml.

    `package` names one of several packages; "" finds it. Raises ConfigError.
    """
    backend = _backend(root, content)
    builder = _table(content, "tool", "cuda-wheel").get("backend", "") if backend == WRAPPER else backend
    package, folder = _package(root, content, builder, package)
    return DetectedProject(root, backend, package, folder, _sources(root))


def toolchain_extra() -> str:
    """Return the extra of the toolchain that is installed; "cu12", which reaches more machines, if none is."""
    return "cu13" if _is_installed("nvidia-cuda-nvrtc") and not _is_installed("nvidia-cuda-nvrtc-cu12") else "cu12"


def _is_installed(distribution: str) -> bool:
    try:
        version(distribution)
    except PackageNotFoundError:
        return False
    return True


def _backend(root: Path, content: Mapping[str, Any]) -> str:
    """Return the project's build back end: a key of HOOKED or WRAPPED, or WRAPPER. `content` is the parsed
    pyproject.toml.

    Raises ConfigError for any other back end, and for a project of hatchling with a hatch.toml.
    """
    default = "setuptools.build_meta"  # PEP 517's, for a project that names none
    backend = str(_table(content, "build-system").get("build-backend", default)).partition(":")[0]
    if backend not in (*HOOKED, *WRAPPED, WRAPPER):
        raise ConfigError(
            f"{root / 'pyproject.toml'} names the build back end {backend!r}; init works with "
            f"{', '.join(sorted((*HOOKED, *WRAPPED)))}. Nothing was written. To try another back end, set "
            f'build-backend = "{WRAPPER}", and backend = "{backend}" in [tool.cuda-wheel].'
        )
    if backend == "hatchling.build" and (root / "hatch.toml").is_file():
        raise ConfigError(
            "hatchling reads the settings of this project's build from hatch.toml. Add the table "
            "[build.targets.wheel.hooks.cuda] there, and cuda-wheel[cu12] to build-system.requires. Nothing was "
            "written."
        )
    return backend


# --- the package ------------------------------------------------------------------------------------


def normalized(name: str) -> str:
    """Return the name of a distribution as the name of a package; raises ConfigError if it cannot be one."""
    package = re.sub(r"\W+", "_", name.replace("-", "_")).strip("_").lower()
    if not package.isidentifier():
        raise ConfigError(f"{name!r} gives no name of a Python package. Name the project in pyproject.toml.")
    return package


def _package(root: Path, content: Mapping[str, Any], backend: str, named: str) -> tuple[str, str]:
    """Return two items: the dotted name of the package to which the compiled modules are added, and its folder relative
    to `root`.

    `named`: name of this package, if the user gave it; else "". `content`: the parsed pyproject.toml. Raises
    ConfigError if the project has packages, but it is not clear which is meant. Also raises ConfigError for a project
    of a single file.
    """
    listed = [each for each in _listed_packages(root, content, backend) if named in ("", each[0])]
    if listed:
        return listed[0]
    name = named or normalized(content.get("project", {}).get("name") or _scripted_name(root) or root.name)
    for folder in (f"src/{name}", name, f"python/{name}"):
        if (root / folder / "__init__.py").is_file():
            return name, folder
    found = list(_found_packages(root))
    if len(found) == 1 and not named:
        return found[0]
    if found:
        folders = f"package{'s' if len(found) > 1 else ''} {', '.join(folder for _, folder in found)}"
        raise ConfigError(
            f"{root} has the {folders}, and none is named {name}: say with --package which is to have the kernels. "
            "Nothing was written."
        )
    if backend == "setuptools.build_meta" and (root / "__init__.py").is_file():
        return name, "."  # the package's own folder has the setup.py
    _check_single_file(root, name)
    return name, f"src/{name}"


def _check_single_file(root: Path, name: str) -> None:
    """Raise ConfigError if the project is a Python module in a single file, which cannot contain kernels."""
    for module in (f"{name}.py", f"src/{name}.py"):
        if (root / module).is_file():
            raise ConfigError(
                f"{root / module} is a module in a single file, and kernels lie in a package: move it to "
                f"{module.removesuffix('.py')}/__init__.py. Nothing was written."
            )


def _scripted_name(root: Path) -> str:
    """Return the name of the project that setup.py passes to setup(); "" if there is no setup.py or no such name."""
    script = root / "setup.py"
    names = (call.keywords.get("name") for call in (calls_in(script, ["setup"]) if script.is_file() else ()))
    return next((name for name in names if isinstance(name, str)), "")


def _listed_packages(root: Path, content: Mapping[str, Any], backend: str) -> Iterator[tuple[str, str]]:
    """Yield the packages that the settings of the back end list: dotted name, and folder relative to `root`."""
    if backend == "setuptools.build_meta":
        packages = _table(content, "tool", "setuptools").get("packages")
        folders = _table(content, "tool", "setuptools", "package-dir")
        for name in _strings(packages, "tool.setuptools.packages"):
            _strings([*folders.values()], "tool.setuptools.package-dir")
            parent = folders.get("", ".")
            folder = folders.get(name, f"{parent}/{name.replace('.', '/')}")
            yield name, os.path.normpath(folder).replace(os.sep, "/")
        return
    if backend not in _PACKAGE_LISTS:
        yield from _packages_of_wrapped(root, content, backend)
        return
    keys = _PACKAGE_LISTS[backend]
    for folder in _strings(_table(content, *keys).get("packages"), ".".join((*keys, "packages"))):
        if (root / folder / "__init__.py").is_file():
            yield folder.rstrip("/").rpartition("/")[2], folder.strip("/")


_PACKAGE_LISTS = {
    "hatchling.build": ("tool", "hatch", "build", "targets", "wheel"),
    "scikit_build_core.build": ("tool", "scikit-build", "wheel"),
}
"""Back end -> table in pyproject.toml whose key "packages" lists folders."""

_PACKAGE_PARENTS = {
    "uv_build": ("tool", "uv", "build-backend", "module-root"),
    "maturin": ("tool", "maturin", "python-source"),
    "pdm.backend": ("tool", "pdm", "build", "package-dir"),
}
"""Back end -> key in pyproject.toml with the folder that contains the packages. Sources: the settings' documentation of
uv, maturin and PDM."""


def _packages_of_wrapped(root: Path, content: Mapping[str, Any], backend: str) -> Iterator[tuple[str, str]]:
    """Yield the packages that the settings of a back end without a hook name: dotted name, and folder relative to
    `root`. If they only name a folder with packages, the package with the project's name is the first."""
    if backend in _PACKAGE_PARENTS:
        *keys, last = _PACKAGE_PARENTS[backend]
        parent = _table(content, *keys).get(last)
        if isinstance(parent, str):
            names = [path.parent.name for path in sorted((root / parent).glob("*/__init__.py"))]
            own = str(content.get("project", {}).get("name")).replace("-", "_").lower()
            for name in sorted(names, key=lambda each: each != own):
                yield name, os.path.normpath(f"{parent}/{name}").replace(os.sep, "/")
    elif backend == "poetry.core.masonry.api":
        packages = _table(content, "tool", "poetry").get("packages")
        for each in packages if isinstance(packages, list) else ():
            name, parent = (
                (str(each.get(key, "")) for key in ("include", "from")) if isinstance(each, dict) else ("", "")
            )
            if name.isidentifier() and (root / parent / name / "__init__.py").is_file():
                yield name, os.path.normpath(f"{parent or '.'}/{name}").replace(os.sep, "/")


def _table(content: Mapping[str, Any], *keys: str) -> Mapping[str, Any]:
    """Return the table of pyproject.toml at these keys: `_table(content, "tool", "setuptools")` for [tool.setuptools].

    The table is empty if there is none. Raises ConfigError if the value is not a table.
    """
    for number, key in enumerate(keys, 1):
        content = content.get(key, {})
        if not isinstance(content, Mapping):
            raise ConfigError(f"{'.'.join(keys[:number])} in pyproject.toml must be a table, not {content!r}.")
    return content


def _strings(value: Any, where: str) -> list[str]:
    """Return `value`, a list of strings in pyproject.toml; [] if it is not a list, as in `packages = {find = {}}`.

    Raises ConfigError for an item that is not a string or has NUL. `where`: the list's key for the message, such as
    "tool.setuptools.packages".
    """
    items = value if isinstance(value, list) else []
    wrong = next((each for each in items if not isinstance(each, str) or "\0" in each), None)
    if wrong is not None:
        raise ConfigError(f"{where} in pyproject.toml must have paths, not {wrong!r}.")
    return items


def _found_packages(root: Path) -> Iterator[tuple[str, str]]:
    """Yield each package in one folder: the first of "src", "python" and the folder of pyproject.toml that has
    packages. Each item is (name, folder relative to `root`)."""
    for parent in ("src/", "python/", ""):
        found = sorted((root / parent).glob("*/__init__.py"))
        names = [path.parent.name for path in found if parent or path.parent.name not in _NO_PACKAGES]
        if names:
            yield from ((name, parent + name) for name in names if name.isidentifier())
            return


# --- the sources ------------------------------------------------------------------------------------


def _sources(root: Path) -> tuple[str, ...]:
    """Return the CUDA sources of the project that have kernels and that no other source includes, relative to `root`,
    sorted."""
    listed = [path for path in project_files(root, (".cu",), _NOT_OWN) if (root / path).is_file()]
    found = [path for path in listed if b"__global__" in (root / path).read_bytes()]
    included = sources_included_by_others(root, dict.fromkeys(found, ()), lambda path: None)
    return tuple(path for path in found if path not in included)


def project_files(root: Path, suffixes: tuple[str, ...], without: AbstractSet[str] = _GENERATED) -> list[str]:
    """Return the files of a project with these suffixes, relative to `root`, sorted.

    Files in hidden folders, in virtual environments and in folders whose name is in `without` are left out.
    """
    found: list[str] = []
    for parent, folders, names in os.walk(root):
        folders[:] = [
            each
            for each in folders
            if not each.startswith(".")
            and each not in without
            and not os.path.exists(os.path.join(parent, each, "pyvenv.cfg"))
        ]
        here = os.path.relpath(parent, root).replace(os.sep, "/")
        found += [name if here == "." else f"{here}/{name}" for name in names if name.endswith(suffixes)]
    return sorted(found)
