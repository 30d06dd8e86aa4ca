"""Edit a project's files, above all pyproject.toml, and keep their form: comments, order, quotes and line ends.

Items are added to existing arrays with tomlkit. New tables go to the end, as text. An edited text must parse to the
expected content before anything is written, because TOML has spellings of a table that cannot be extended. Changes are
shown as a diff, or written, all of them or none.

Choose the extra of cuda-wheel that builds require, and find the requirements that only C++ extensions needed.
"""

from __future__ import annotations

import copy
import difflib
import os
import re
import shutil
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from cuda_wheel.builder.errors import ConfigError
from cuda_wheel.migrate.project_detection import DetectedProject, toolchain_extra
from cuda_wheel.migrate.script_reader import calls_in

__all__ = [
    "Extra",
    "FileChange",
    "ImportedBuild",
    "PyprojectEdit",
    "chosen_extra",
    "diff",
    "for_cpp",
    "read_text",
    "relative_path",
    "requirement_name",
    "still_compiles",
    "table_lines",
    "unneeded_requirements",
    "write_changes",
]


class FileChange(NamedTuple):
    """The text of a file before and after a change, with its line ends."""

    path: Path
    before: str | None
    """Content of the file before the change; None for a new file."""
    after: str


def read_text(path: Path) -> str | None:
    """Return the text of a file, with its line ends; None if there is no file. Raises ConfigError."""
    try:
        return path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} cannot be read: {error}") from error


def relative_path(path: str | Path, root: Path) -> str:
    """Return a path relative to `root`, with "/"."""
    return os.path.relpath(path, root).replace(os.sep, "/")


def diff(changes: Sequence[FileChange], root: Path) -> str:
    """Return the changes as a unified diff, with paths relative to `root`."""
    lines: list[str] = []
    for change in changes:
        name = relative_path(change.path, root)
        before, after = ((text or "").splitlines(keepends=True) for text in (change.before, change.after))
        old = "/dev/null" if change.before is None else f"a/{name}"
        lines += difflib.unified_diff(before, after, old, f"b/{name}")
        if change.before is None and not after:
            lines += ["--- /dev/null\n", f"+++ b/{name}\n"]  # an empty file, which has no lines to show
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


def write_changes(changes: Sequence[FileChange]) -> None:
    """Write all changes, or none: on an error, every file and folder is as before. Raises ConfigError."""
    with ExitStack() as undo:
        for change in changes:
            try:
                _write(change, undo)
            except OSError as error:
                raise ConfigError(f"{change.path} cannot be written: {error.strerror or error}.") from error
        undo.pop_all()


def _write(change: FileChange, undo: ExitStack) -> None:
    """Write one changed file, and create missing folders.

    Push on `undo` the calls that restore the file and remove these folders.
    """
    path = Path(os.path.realpath(change.path))  # a link stays a link
    for folder in reversed([each for each in path.parents if not each.exists()]):
        folder.mkdir()
        undo.callback(folder.rmdir)
    if change.before is None:
        with path.open("xb") as stream:  # fails if another process made the file meanwhile
            undo.callback(path.unlink)
            stream.write(change.after.encode("utf-8"))
        return
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    with ExitStack() as incomplete:
        incomplete.callback(temporary.unlink, missing_ok=True)
        temporary.write_bytes(change.after.encode("utf-8"))
        shutil.copymode(path, temporary)
        temporary.replace(path)
        undo.callback(path.write_bytes, change.before.encode("utf-8"))


if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


Keys = tuple[str, ...]
"""Keys from the top of the document to a table or value: ("build-system", "requires")."""


class PyprojectEdit:
    """A pyproject.toml that is being edited. The text must be valid TOML."""

    def __init__(self, text: str) -> None:
        self._newline = "\r\n" if "\r\n" in text else "\n"
        self._text = text.replace("\r\n", "\n")
        self.content: dict[str, Any] = tomllib.loads(self._text)

    def get(self, path: Keys) -> Any:
        """Return the value at a path; None if there is none."""
        value: Any = self.content
        for key in path:
            value = value.get(key) if isinstance(value, dict) else None
        return value

    def text(self) -> str:
        """Return the text as edited, with its own line ends."""
        return self._text.replace("\n", self._newline)

    def add_item(self, path: Keys, item: str) -> None:
        """Add a string to the array at a path; a missing array is created in its table. Raises ConfigError."""
        tomlkit = _tomlkit()
        document = tomlkit.parse(self._text)
        table: Any = document
        for key in path[:-1]:
            table = table[key]
        if path[-1] in table:
            array = table[path[-1]]
            literal = "'" in array.as_string() and '"' not in array.as_string()
            array.append(tomlkit.string(item, literal=literal))
        else:
            table[path[-1]] = [item]
        expected = copy.deepcopy(self.content)
        owner = _table_at(expected, path[:-1])
        owner[path[-1]] = [*owner.get(path[-1], []), item]
        self._accept(tomlkit.dumps(document), expected, path, f'"{item}"')

    def remove_item(self, path: Keys, item: str) -> None:
        """Remove a string from the array at a path. Raises ConfigError."""
        tomlkit = _tomlkit()
        document = tomlkit.parse(self._text)
        table: Any = document
        for key in path[:-1]:
            table = table[key]
        table[path[-1]].remove(item)
        expected = copy.deepcopy(self.content)
        _table_at(expected, path[:-1])[path[-1]].remove(item)
        self._accept(tomlkit.dumps(document), expected, path, f'without "{item}"')

    def set(self, path: Keys, value: str | bool) -> None:
        """Set a key of an existing table. Raises ConfigError."""
        tomlkit = _tomlkit()
        document = tomlkit.parse(self._text)
        table: Any = document
        for key in path[:-1]:
            table = table[key]
        table[path[-1]] = value
        expected = copy.deepcopy(self.content)
        _table_at(expected, path[:-1])[path[-1]] = value
        self._accept(tomlkit.dumps(document), expected, path, _assignment(path[-1], value))

    def add_table(self, path: Keys, values: Mapping[str, Any]) -> None:
        """Add a table at the end. Raises ConfigError."""
        self._add(path, f"[{_dotted(path)}]", values, lambda owner: owner.setdefault(path[-1], {}).update(values))

    def add_entry(self, path: Keys, values: Mapping[str, Any]) -> None:
        """Add an entry to an array of tables, at the end. Raises ConfigError."""
        self._add(
            path, f"[[{_dotted(path)}]]", values, lambda owner: owner.setdefault(path[-1], []).append(dict(values))
        )

    def _add(self, path: Keys, heading: str, values: Mapping[str, Any], change: Any) -> None:
        lines = "\n".join([heading, *table_lines(values)]) + "\n"
        expected = copy.deepcopy(self.content)
        change(_table_at(expected, path[:-1]))
        body = self._text.rstrip("\n")
        self._accept(f"{body}\n\n{lines}" if body else lines, expected, path, lines)

    def _accept(self, text: str, expected: Mapping[str, Any], path: Keys, added: str) -> None:
        """Replace the text of the document by `text`, and the parsed content by `expected`.

        Raises ConfigError if parsing `text` does not give `expected`. The error message asks the user to add `added`, a
        piece of TOML, at the keys `path` by hand.
        """
        try:
            found = tomllib.loads(text)
        except ValueError:
            found = {}
        if found != expected:
            raise ConfigError(
                f"pyproject.toml writes {_dotted(path[:-1])} in a form that cannot be extended. Nothing was written. "
                f"Add this to {_dotted(path)} yourself:\n{added}"
            )
        self._text, self.content = text, found


def _table_at(content: dict[str, Any], path: Keys) -> dict[str, Any]:
    """Return the table at `path` in `content`. Missing tables are added to `content`."""
    for key in path:
        content = content.setdefault(key, {})
    return content


def _tomlkit() -> Any:
    try:
        import tomlkit  # part of a toolchain's extra; users of a wheel do not have it
    except ImportError:
        raise ConfigError(
            'editing pyproject.toml needs tomlkit, which the extras install: pip install "cuda-wheel[cu12]", or '
            "pip install tomlkit."
        ) from None
    return tomlkit


# --- writing TOML -------------------------------------------------------------------------------------


def table_lines(values: Mapping[str, Any]) -> list[str]:
    """Return each key and value as TOML, in one item of the list; the item has several lines if the value is a long
    list."""
    return [_assignment(key, value) for key, value in values.items()]


def _assignment(key: str, value: Any) -> str:
    line = f"{_key(key)} = {_value(value)}"
    if isinstance(value, Sequence) and not isinstance(value, str) and len(line) > 100:
        return "\n".join([f"{_key(key)} = [", *(f"    {_value(each)}," for each in value), "]"])
    return line


def _dotted(path: Keys) -> str:
    return ".".join(map(_key, path))


def _key(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else _value(key)


def _value(value: Any) -> str:
    """Return a value as TOML text: "true" for True, "[1, 2]" for [1, 2]."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return '"' + re.sub(r'[\\"\x00-\x1f\x7f]', _escaped, value) + '"'
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_key(key)} = {_value(each)}" for key, each in value.items()) + " }"
    if isinstance(value, Sequence):
        return f"[{', '.join(map(_value, value))}]"
    return str(value)


def _escaped(match: re.Match[str]) -> str:
    return f"\\{match[0]}" if match[0] in '\\"' else f"\\u{ord(match[0]):04x}"


@dataclass(frozen=True)
class ImportedBuild:
    """Facts about an imported project that decide what its builds require."""

    lines: frozenset[tuple[Path, int]] = frozenset()
    """(Python file, 1-based line of the call that declares the extension) of each extension whose sources were
    imported."""
    failed: int = 0
    """Number of modules that do not compile."""
    architectures: tuple[str, ...] = ()
    """Architectures in nvcc's options of the imported build, such as "80-real"."""
    standards: tuple[str, ...] = ()
    """C++ standards of the modules, such as "c++20"; "" for the default."""
    pytorch: tuple[str, ...] = ()
    """Names of the modules that include headers of the installed PyTorch."""
    cupy: tuple[str, ...] = ()
    """Names of the modules that include headers of the installed CuPy."""
    is_replaced: bool = False
    """Whether there are extensions, and a Python module takes the place of each that defines functions for Python."""


# --- the extra ----------------------------------------------------------------------------------------


class Extra(NamedTuple):
    """The extra of cuda-wheel to require, "cu12" or "cu13", and the reason."""

    name: str
    reason: str


_FIRST_OF_CUDA_13 = 75
"""The lowest architecture that CUDA 13 compiles for. Source: CUDA 13.0, release notes, "Deprecated Architectures"."""

_ONLY_CUDA_13 = (88, 107, 110)
"""Architectures that NVRTC 12.9 does not compile for."""

_CUDA_13_STANDARDS = ("c++23", "c++26")
"""C++ standards that NVRTC 12.9 does not compile."""

_CLASSIFIER = re.compile(r"Environment :: GPU :: NVIDIA CUDA :: (\d+)")


def chosen_extra(content: Mapping[str, Any], imported: ImportedBuild) -> Extra:
    """Return the extra, "cu12" or "cu13", with which a project can be built; `content` is its pyproject.toml."""
    reasons = {"cu12": list(_reasons_for_12(content, imported)), "cu13": list(_reasons_for_13(content, imported))}
    installed = toolchain_extra()
    for name, other in (("cu12", "cu13"), ("cu13", "cu12")):
        if reasons[name] and not reasons[other]:
            return Extra(name, "; ".join(reasons[name]))
    if reasons["cu12"]:  # and the other
        return Extra(installed, f"no extra fits all: {'; '.join((*reasons['cu12'], *reasons['cu13']))}")
    return Extra(installed, "it compiled these modules here")


def _reasons_for_12(content: Mapping[str, Any], imported: ImportedBuild) -> Iterator[str]:
    oldest = min(_numbers(content, imported), default=_FIRST_OF_CUDA_13)
    if oldest < _FIRST_OF_CUDA_13:
        yield f"sm_{oldest} is asked for, and CUDA 13 compiles for sm_{_FIRST_OF_CUDA_13} and later"
    named = [int(match[1]) for match in map(_CLASSIFIER.match, _classifiers(content)) if match]
    if named and min(named) < 13:
        yield f"its classifiers name CUDA {min(named)}, whose drivers read no machine code of CUDA 13"


def _reasons_for_13(content: Mapping[str, Any], imported: ImportedBuild) -> Iterator[str]:
    for number in sorted({*_numbers(content, imported)} & {*_ONLY_CUDA_13}):
        yield f"sm_{number} is asked for, and CUDA 12 does not compile for it"
    table = content.get("tool", {}).get("cuda-wheel", {})
    for standard in dict.fromkeys([*imported.standards, str(table.get("std", ""))]):
        if standard in _CUDA_13_STANDARDS:
            yield f'std = "{standard}", which CUDA 12 does not compile'


def _classifiers(content: Mapping[str, Any]) -> list[str]:
    listed = content.get("project", {}).get("classifiers", [])
    return [each for each in listed if isinstance(each, str)]


def _numbers(content: Mapping[str, Any], imported: ImportedBuild) -> list[int]:
    """Return the architectures in a project's settings and in nvcc's options of its imported build, as numbers.

    `content`: the parsed pyproject.toml. Each of "sm_80", "8.0+PTX" and "80-real" gives 80.
    """
    table = content.get("tool", {}).get("cuda-wheel", {})
    tables = [table, *(each for each in table.get("module", ()) if isinstance(each, Mapping))]
    named = [each for own in tables for each in _texts(own.get("architectures"))]
    matches = (re.match(r"(?:sm_|compute_)?(\d{1,2})\.?(\d)(?!\d)", text) for text in (*named, *imported.architectures))
    return [int(match[1] + match[2]) for match in matches if match]


def _texts(value: Any) -> list[str]:
    """Return the architectures in `value`, the value of the key `architectures`: a list, or one string such as "80;90".
    Return an empty list for any other value."""
    if isinstance(value, str):
        return re.split(r"[;,\s]+", value)
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []


# --- what only C++ needs ------------------------------------------------------------------------------

_FOR_CPP = ("torch", "ninja", "pybind11", "nanobind")
"""Normalised names of distributions that only builds of C++ extensions require."""

_EXTENSIONS = (
    *("CppExtension", "CUDAExtension", "SyclExtension", "Extension", "Pybind11Extension", "CMakeExtension"),
    *("cythonize", "CFFI", "intree_extensions"),
)
"""Functions of a setup.py that declare C++ extensions."""

_CMAKE = re.compile(
    r"^\s*(pybind11_add_module|nanobind_add_module|add_library|add_executable|\w*python\w*_add_library|"
    r"enable_language|find_package\s*\(\s*(?:Torch|pybind11|nanobind))\b",
    re.MULTILINE | re.IGNORECASE,
)
"""Matches a command in a CMakeLists.txt by which a project compiles C++. Group 1 is the command, such as
"pybind11_add_module" or "find_package(Torch"."""


def requirement_name(requirement: str) -> str:
    """Return the normalised name of the distribution that a requirement names: "torch" for "Torch>=2"; "" if it names
    none."""
    match = re.match(r"\s*([A-Za-z0-9](?:[\w.-]*[A-Za-z0-9])?)", requirement)
    return re.sub(r"[-_.]+", "-", match[1]).lower() if match else ""


def unneeded_requirements(
    project: DetectedProject, content: Mapping[str, Any], imported: ImportedBuild
) -> tuple[list[str], list[str], list[str]]:
    """Return three lists: entries of `build-system.requires` that no build needs any more, messages about why others
    for C++ stay, and messages about lines of setup.py to remove by hand."""
    own = _cpp_requirements(project, content)
    if not own and not imported.lines:
        return [], [], []
    reason = still_compiles(project, content, imported)
    if reason:
        return [], [f"build-system.requires: {', '.join(own)}: {reason}"] if own else [], []
    removed = [each for each in own if requirement_name(each) in for_cpp(imported)]
    kept = [f"build-system.requires: {each}: {_reads(imported.pytorch)}" for each in own if each not in removed]
    # A setup.py that names no requirement imports what is installed, which an isolated build does not see.
    names = map(requirement_name, removed) if own else for_cpp(imported)
    return removed, kept, list(_imports(project.root, {*names}))


def for_cpp(imported: ImportedBuild) -> list[str]:
    """Return the normalised names of the distributions that no build requires once nothing compiles C++."""
    return [each for each in _FOR_CPP if each != "torch" or not imported.pytorch]


def _cpp_requirements(project: DetectedProject, content: Mapping[str, Any]) -> list[str]:
    """Return the entries of `build-system.requires` that only builds of C++ extensions need, such as "pybind11>=2".

    `content`: the parsed pyproject.toml.
    """
    listed = [each for each in content.get("build-system", {}).get("requires", ()) if isinstance(each, str)]
    # CMake may use ninja.
    others = {"ninja"} if project.backend == "scikit_build_core.build" else set()
    return [each for each in listed if requirement_name(each) in {*_FOR_CPP} - others]


def _reads(modules: Sequence[str]) -> str:
    """Return the reason why builds still require PyTorch: "headers with device code ...: demo.a,
    demo.b".

    `modules`: names of the modules that include these headers.
    """
    return f"headers with device code of PyTorch are those of the build's PyTorch: {', '.join(modules)}"


def still_compiles(project: DetectedProject, content: Mapping[str, Any], imported: ImportedBuild) -> str:
    """Return the first reason found why builds may still compile C++ after the import; "" if there is none.

    An example is "CMakeLists.txt still compiles C++ (add_library)". `content`: the parsed pyproject.toml.
    """
    if imported.failed:
        return f"{imported.failed} of the modules do not compile, so that their extension stays"
    script = project.root / "setup.py"
    for call in calls_in(script, _EXTENSIONS) if script.is_file() else ():
        if (script, call.node.lineno) not in imported.lines:
            return f"setup.py:{call.node.lineno} still compiles an extension ({call.function})"
    lists = read_text(project.root / "CMakeLists.txt") or ""
    if project.backend == "scikit_build_core.build" and (found := _CMAKE.search(lists)):
        return f"CMakeLists.txt still compiles C++ ({found[1]})"
    hatch = content.get("tool", {}).get("hatch", {}).get("build", {})
    if any("custom" in place.get("hooks", {}) for place in (hatch, hatch.get("targets", {}).get("wheel", {}))):
        return "the project's own build hook may need it"
    return ""


def _imports(root: Path, names: Collection[str]) -> Iterator[str]:
    """Yield a message for each line of setup.py that imports one of the packages `names`. The message asks the user to
    remove the line."""
    pattern = re.compile(rf"\s*(?:import|from)\s+(?:{'|'.join(sorted(names))})\b.*")
    for number, line in enumerate((read_text(root / "setup.py") or "").splitlines(), 1):
        if names and pattern.fullmatch(line):
            yield f"setup.py:{number}: remove: {line.strip()}"
