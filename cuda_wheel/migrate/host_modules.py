"""Propose the Python modules that replace C++ extensions: the host functions of each, translated to Python.

libclang reads the sources in a worker process, which it may end without harm to the command.
"""

from __future__ import annotations

import ast
import os
import re
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from cuda_wheel.builder.errors import ConfigError, ToolchainError
from cuda_wheel.builder.toolchain.find import find_toolchain
from cuda_wheel.builder.toolchain.packages import cuda_folders
from cuda_wheel.builder.toolchain.toolchain import Toolchain
from cuda_wheel.builder.workers.worker import Worker, WorkerDiedError, WorkerTimeoutError
from cuda_wheel.migrate.host_functions import extension as translation
from cuda_wheel.migrate.host_functions.aten import AtenTable
from cuda_wheel.migrate.host_functions.clang import Headers, Reader, reader
from cuda_wheel.migrate.module_tables import ProposedModule, preprocessor_options
from cuda_wheel.migrate.project_detection import DetectedProject, Extension, project_files
from cuda_wheel.migrate.pyproject_edit import FileChange, read_text, relative_path
from cuda_wheel.migrate.script_reader import parsed, readable
from cuda_wheel.runtime.errors import CudaWheelError

__all__ = [
    "ChangedImport",
    "ExtensionSources",
    "HostFunctions",
    "HostModule",
    "SourceFile",
    "extension_sources",
    "host_modules",
    "host_place",
    "library_headers",
    "operator_table",
    "translate_extension",
    "with_imports",
]


T = TypeVar("T")


class SourceFile(NamedTuple):
    """A source file of an extension, and what its compiler gets."""

    path: str
    """Path relative to the project."""
    folders: tuple[str, ...]
    """Include folders, absolute or relative to the project."""
    macros: tuple[str, ...]
    """Options that define and undefine macros: "-DN=4", "-UN"."""


@dataclass(frozen=True)
class ExtensionSources:
    """What the translation of an extension reads."""

    name: str
    """Dotted name of the extension."""
    root: Path
    """Folder of the project."""
    files: tuple[SourceFile, ...]
    modules: Mapping[str, str]
    """Path of a `.cu` file relative to the project -> dotted name of the module with its kernels."""


@dataclass(frozen=True)
class HostFunctions:
    """The host functions of an extension, translated."""

    module: translation.PythonModule
    errors: tuple[str, ...]
    """What libclang could not read, one line each, such as "csrc/a.cu:12: unknown type name 'x'"."""


class ChangedImport(NamedTuple):
    """A statement of the project's Python that imports an extension, and what imports the new module."""

    path: str
    """Path relative to the project."""
    line: int
    """1-based line."""
    columns: tuple[int, int] | None
    """0-based offsets in the line, in bytes, of the statement's start and end; None if it must be changed by hand,
    because it has several lines, imports something else, too, or is no statement."""
    old: str
    new: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.old}  ->  {self.new}"


@dataclass(frozen=True)
class HostModule:
    """A proposed Python module in place of a C++ extension."""

    extension: Extension
    functions: HostFunctions | None
    """None if there is no translation."""
    error: str = ""
    """Why there is no translation; "" if there is one."""
    name: str = ""
    """Dotted name of the module; "" if the extension defines no function for Python, or there is no translation."""
    path: str = ""
    """Path of the module's file relative to the project; "" without a module."""
    text: str = ""
    """Content of the module's file; "" without a module."""
    lines: tuple[str, ...] = ()
    """Edits to make by hand, one line each."""
    imports: tuple[ChangedImport, ...] = ()
    """Edits that `import --write` makes."""


# --- the sources ------------------------------------------------------------------------------------


def extension_sources(root: Path, extension: Extension, modules: Iterable[ProposedModule]) -> ExtensionSources:
    """Return what the translation of an extension reads. `modules` are those proposed for its `.cu` files."""
    files: list[SourceFile] = []
    for paths, options in (
        (extension.cxx_sources, extension.cxx_options),
        (extension.sources, extension.options),
    ):
        macros, folders = preprocessor_options(options)
        whole = tuple(dict.fromkeys((*extension.folders, *folders)))
        files += [SourceFile(relative_path(each, root), whole, tuple(macros)) for each in paths if os.path.isfile(each)]
    named = {path: module.name for module in modules for path in module.table["sources"]}
    return ExtensionSources(extension.name, root, tuple(files), named)


def translate_extension(source_reader: Reader, operators: AtenTable, sources: ExtensionSources) -> HostFunctions:
    """Return the host functions of an extension, translated to Python. A file that libclang cannot read is left out,
    with a line in `HostFunctions.errors`."""
    trees, errors = [], []
    for file in sources.files:
        try:
            tree = source_reader.read(sources.root, file.path, file.folders, file.macros)
        except ToolchainError as error:
            errors.append(str(error))
        else:
            trees.append(tree)
            errors += tree.errors
    paths = {path for tree in trees for path in (tree.path, *tree.comments)}
    texts = {path: (sources.root / path).read_text("utf-8", "replace").splitlines() for path in sorted(paths)}
    whole = translation.Extension(sources.name, trees, sources.modules, texts)
    return HostFunctions(translation.translate(whole, operators), tuple(dict.fromkeys(errors)))


# --- what the translation needs ---------------------------------------------------------------------


def _missing_packages() -> list[str]:
    """Return what pip must install before extensions can be translated, as arguments of `pip install`."""
    missing = []
    try:
        is_right = version("libclang").startswith("18.1.") and find_spec("clang") is not None
    except PackageNotFoundError:
        is_right = False
    if not is_right:
        missing.append('"cuda-wheel[import]"')
    if not _torch_folder():
        missing.append("torch")
    return missing


def _torch_folder() -> Path | None:
    """Return the folder of the installed PyTorch, which is not imported; None without its headers."""
    spec = find_spec("torch")
    folder = Path(spec.origin).parent if spec and spec.origin else None
    return folder if folder and (folder / "include/ATen/ATen.h").is_file() else None


_OPERATORS = "torchgen/packaged/ATen/native/native_functions.yaml"
"""Path of the file with the schemas of PyTorch's operators, relative to the folder that has PyTorch."""


def operator_table(torch: Path) -> AtenTable:
    """Return the operators of the PyTorch in the folder `torch`. Raises ToolchainError."""
    path = torch.parent / _OPERATORS
    try:
        return AtenTable.read(path)
    except OSError as error:
        raise ToolchainError(f"the schemas of PyTorch's operators cannot be read: {path}: {error.strerror}") from error


def library_headers(torch: Path, toolchain: Toolchain) -> Headers:
    """Return the include folders of the PyTorch in the folder `torch`, and those of CUDA: the toolchain's, and those of
    CUDA's other packages, such as cuBLAS."""
    own = [Path(each.folder) for each in toolchain.headers if each.name != "pytorch"]
    release = f"cu{toolchain.nvrtc.partition('.')[0]}"
    found = (path for folder in cuda_folders() for path in sorted(Path(folder).glob("nvidia/*/include")))
    others = [path for path in found if path.parent.name == release or not re.fullmatch(r"cu\d+", path.parent.name)]
    return Headers(torch / "include", tuple(dict.fromkeys([*own, *others])))


# --- in the worker ----------------------------------------------------------------------------------

_OPEN = ExitStack()
"""Has the reader of source files open until the worker ends."""


@cache
def _prepared(torch: Path) -> tuple[Reader, AtenTable]:
    """Return what reads source files, and the operators of the PyTorch in the folder `torch`."""
    return _OPEN.enter_context(reader(library_headers(torch, find_toolchain()))), operator_table(torch)


def _prepare(torch: Path) -> None:
    """Read the headers of the PyTorch in the folder `torch`, which takes some 20 s. Raises ToolchainError."""
    with _internal_errors():
        _prepared(torch)


def _translate(request: tuple[Path, ExtensionSources]) -> HostFunctions:
    """Return the host functions of an extension. `request`: the folder of PyTorch, and what to translate."""
    torch, sources = request
    with _internal_errors():
        return translate_extension(*_prepared(torch), sources)


class InternalError(CudaWheelError):
    """An error of cuda-wheel's own."""


@contextmanager
def _internal_errors() -> Iterator[None]:
    """Convert all errors that are not written for users to InternalError, with the line of code that raised them."""
    try:
        yield
    except CudaWheelError:
        raise
    except Exception as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        text = " ".join(f"{type(error).__name__}: {error}".split())
        raise InternalError(f"{text[:200]} ({os.path.basename(place.filename)}:{place.lineno})") from error


# --- the proposals ----------------------------------------------------------------------------------

_SECONDS, _SECONDS_OF_FILE = 600.0, 120.0
"""Seconds after which a translation is given up: to read PyTorch's headers, and for each source file."""


def host_modules(
    project: DetectedProject, extensions: Sequence[tuple[Path, Extension, Sequence[ProposedModule]]]
) -> Iterator[HostModule]:
    """Translate extensions one after the other, and yield the Python module that replaces each.

    `extensions`: Python file that declares an extension, the extension, and the modules proposed for its `.cu` files.
    Raises ToolchainError, before the first, if what the translation needs is not installed or does not work.
    """
    if missing := _missing_packages():
        raise ToolchainError(f"this needs what is not installed: pip install {' '.join(missing)}")
    torch = _torch_folder()
    assert torch is not None
    worker: Worker | None = None
    try:
        for script, extension, modules in extensions:
            sources = extension_sources(project.root, extension, modules)
            if worker is None:
                worker = Worker(None)
                _call(worker, _prepare, torch, _SECONDS)
            seconds = _SECONDS + _SECONDS_OF_FILE * len(sources.files)
            try:
                functions = _call(worker, _translate, (torch, sources), seconds)
            except ToolchainError as error:
                yield HostModule(extension, None, str(error))
                if worker.has_ended:
                    worker.end()
                    worker = None
            else:
                yield _placed(project, script, HostModule(extension, functions))
    finally:
        if worker is not None:
            worker.kill()
            worker.end()


def _call(worker: Worker, function: Callable[[Any], T], argument: Any, seconds: float) -> T:
    """Return what `function(argument)` returns in the worker. Raises ToolchainError, also for a fault of
    cuda-wheel's."""
    try:
        return worker.call(function, argument, seconds)
    except WorkerTimeoutError:
        worker.kill()
        raise ToolchainError(f"given up after {seconds:.0f} s") from None
    except WorkerDiedError as error:
        worker.kill()
        first = str(error).partition("\n")[0].rstrip(":")
        raise ToolchainError(f"internal error in libclang or cuda-wheel: {first}; please report it") from None
    except InternalError as error:
        raise ToolchainError(f"internal error in cuda-wheel: {error}; please report it") from None


# --- the place of the module --------------------------------------------------------------------------


def _placed(project: DetectedProject, script: Path, module: HostModule) -> HostModule:
    """Return the module of a translated extension with its place in the project, and with the edits that this needs.

    `script`: the Python file that declares the extension.
    """
    translated = module.functions.module if module.functions else None
    if translated is None or not translated.functions:
        return module
    name, path = host_place(project, module.extension.name, translated.text)
    placed = replace(module, name=name, path=path, text=translated.text)
    found = list(_changed_imports(project, placed))
    lines = (*_lines_by_hand(project, script, placed), *(str(each) for each in found if each.columns is None))
    return replace(placed, lines=lines, imports=tuple(each for each in found if each.columns is not None))


def host_place(project: DetectedProject, extension: str, text: str) -> tuple[str, str]:
    """Return the dotted name of the module that replaces an extension, and the path of its file relative to the
    project.

    An extension in a package of the project keeps its name. So does "knn_cuda" where the project's package has this
    name and is new; the module is the package itself. Any other extension becomes a module of the project's package,
    because the wheel contains no other. `text`: content of the module's file.
    """
    package, _, name = extension.rpartition(".")
    if extension == project.package:
        path = f"{project.folder}/__init__.py"
        before = read_text(project.root / path)
        if before is None or before.partition("\n")[0] == text.partition("\n")[0]:  # an earlier run wrote it
            return extension, path
    name = re.sub(r"\W", "_", name)
    folder = _package_folder(project, package) if package else None
    if folder is None:
        package, folder = project.package, project.folder
    return f"{package}.{name}", os.path.normpath(f"{folder}/{name}.py").replace(os.sep, "/")


def _package_folder(project: DetectedProject, package: str) -> str | None:
    """Return the folder, relative to the project, of the package with this dotted name; None if it has none."""
    if package == project.package:
        return project.folder
    if package.startswith(f"{project.package}."):
        below = package.removeprefix(f"{project.package}.").replace(".", "/")
        return f"{project.folder}/{below}"
    parent = project.folder.removesuffix(project.package.replace(".", "/")).rstrip("/") or "."
    folder = f"{parent}/{package.replace('.', '/')}"
    return folder if (project.root / folder).is_dir() else None


def _lines_by_hand(project: DetectedProject, script: Path, module: HostModule) -> Iterator[str]:
    """Yield a line for each edit, to make by hand, that lets the new module take the place of what was built before.

    `script`: the Python file that declares the extension.
    """
    root, new = project.root, module.name
    package, _, name = new.rpartition(".")
    if module.extension.is_loaded:
        where = relative_path(os.path.realpath(script), root)
        statement = f"from {package} import {name}" if package else f"import {name}"
        yield f"{where}:{module.extension.line}: load(...)  ->  {statement}"
    stem = root / module.path.removesuffix("/__init__.py").removesuffix(".py")
    for built in sorted((*stem.parent.glob(f"{stem.name}.*.so"), *stem.parent.glob(f"{stem.name}.*pyd"))):
        yield f"{relative_path(built, root)}: remove it: Python imports it in place of {module.path}"


def _changed_imports(project: DetectedProject, module: HostModule) -> Iterator[ChangedImport]:
    """Yield the edits that let the project's Python import the new module in place of the extension."""
    root = project.root
    is_library = "torch.library.Library(" in module.text
    for path in project_files(root, (".py",)):
        try:
            with readable(root / path):
                tree = parsed(root / path)
        except ConfigError:  # such as Python 2
            continue
        is_utf8 = _is_utf8(root / path)
        for node in ast.walk(tree):
            changed = _changed_statement(node, module.extension.name, module.name, is_library)
            if changed:
                columns = _columns(node) if is_utf8 else None
                yield ChangedImport(path, node.lineno, columns, *changed)  # type: ignore[attr-defined]


def _is_utf8(path: Path) -> bool:
    try:
        return not (read_text(path) or "").startswith("\ufeff")  # with this mark, columns are others
    except ConfigError:
        return False


def _columns(node: ast.AST) -> tuple[int, int] | None:
    """Return `ChangedImport.columns` of a statement or call."""
    is_simple = isinstance(node, ast.ImportFrom)
    if isinstance(node, ast.Import) and len(node.names) == 1:
        is_simple = "." not in node.names[0].name or bool(node.names[0].asname)  # else uses have the old name
    if not is_simple or node.lineno != node.end_lineno:  # type: ignore[attr-defined]
        return None
    return node.col_offset, node.end_col_offset  # type: ignore[attr-defined]


def with_imports(root: Path, imports: Iterable[ChangedImport]) -> list[FileChange]:
    """Return the changes of the project's files that these edits make. Raises ConfigError."""
    changes = []
    for path, edits in groupby(sorted(imports), lambda each: each.path):
        before = read_text(root / path)
        lines = (before or "").encode().splitlines(keepends=True)
        for each in sorted(edits, key=lambda each: (each.line, each.columns), reverse=True):
            start, end = each.columns or (0, 0)
            line = lines[each.line - 1]
            lines[each.line - 1] = line[:start] + each.new.encode() + line[end:]
        changes.append(FileChange(root / path, before, b"".join(lines).decode()))
    return changes


def _changed_statement(node: ast.AST, old: str, new: str, is_library: bool) -> tuple[str, str] | None:
    """Return a statement or call that imports the extension `old`, and what imports the module `new`; None for all
    else.

    `is_library`: whether the extension registers operators, so that `torch.ops.load_library` loads it.
    """
    package, _, name = new.rpartition(".")
    if isinstance(node, (ast.Import, ast.ImportFrom)) and old != new:
        own = node.module if isinstance(node, ast.ImportFrom) and not node.level else ""
        for alias in node.names:
            if own == old:
                return ast.unparse(node), ast.unparse(ast.ImportFrom(new, node.names, 0))
            if (f"{own}.{alias.name}" if own else alias.name) == old and not getattr(node, "level", 0):
                return ast.unparse(node), ast.unparse(ast.ImportFrom(package, [ast.alias(name, alias.asname)], 0))
    if is_library and isinstance(node, ast.Call) and ast.unparse(node.func).endswith("ops.load_library"):
        return f"{ast.unparse(node.func)}(...)", f"import {new}"
    return None
