"""`cuda-wheel import`: read CUDA sources, a setup.py or a program with kernels in strings, and propose modules.

In a program, find the strings of CUDA C++ that it compiles at run time, and the lines to change when they become
modules.
"""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from cuda_wheel.builder.cxx.kernel_scan import kernels_in
from cuda_wheel.builder.errors import ConfigError
from cuda_wheel.builder.scratch import scratch
from cuda_wheel.migrate.host_modules import HostModule, host_modules
from cuda_wheel.migrate.init_project import TABLE_PATH, read_project
from cuda_wheel.migrate.module_tables import (
    ModuleTrial,
    ProposedModule,
    extension_modules,
    options_table,
    source_modules,
    try_module,
)
from cuda_wheel.migrate.project_detection import (
    BUILD_EXTENSION,
    DetectedProject,
    Extension,
    detect_project,
    extensions_in,
)
from cuda_wheel.migrate.pyproject_edit import ImportedBuild, read_text, relative_path
from cuda_wheel.migrate.script_reader import ScriptCall, calls_in, known, parsed, readable, strings

__all__ = [
    "ImportProposal",
    "KernelText",
    "changed_lines",
    "project_root",
    "propose_import",
    "shared_settings",
    "texts_in",
]


class _TextFunction(NamedTuple):
    """The arguments with the CUDA C++ and the compiler's options, of a function that compiles a string at run time.

    Each is a 0-based position and a name. The position is None for an argument that only a keyword gives.
    """

    text: tuple[int, str]
    options: tuple[int | None, str]


_TEXT_FUNCTIONS = {
    "RawModule": _TextFunction((0, "code"), (None, "options")),
    "RawKernel": _TextFunction((0, "code"), (2, "options")),
    "SourceModule": _TextFunction((0, "source"), (2, "options")),
    "load_inline": _TextFunction((2, "cuda_sources"), (None, "extra_cuda_cflags")),
}
"""Function of CuPy, PyCUDA or PyTorch that compiles a string of CUDA C++ -> (0-based position, name) of two arguments:
the string, and the compiler's options."""


class KernelText(NamedTuple):
    """CUDA C++ in a string that a Python file compiles."""

    text: str | None
    """CUDA C++ as the content of a source file; None if the string is composed at run time."""
    options: tuple[str, ...]
    """Options of the compiler, including include folders (`-I`)."""
    instantiate: tuple[str, ...]
    """C++ name expressions of the template instances to compile, such as "scale<float>"."""
    name: str
    """Name for the module, and for its source file without ".cu". It is the name in a RawKernel call, if the name is
    known and has no template arguments; else the first kernel's name in `text`. If `text` has no kernel, it is the
    Python file's name without ".py"."""
    call: ScriptCall


def texts_in(path: Path) -> list[KernelText]:
    """Return the strings of CUDA C++ that a Python file compiles, in their order. Raises ConfigError if it cannot be
    read."""
    return [_kernel_text(call, path) for call in calls_in(path, _TEXT_FUNCTIONS) if not call.keywords.get("path")]


_INLINE_HEADERS = "#include <torch/types.h>\n#include <cuda.h>\n#include <cuda_runtime.h>\n"
"""Text that PyTorch's `load_inline` puts in front of the CUDA C++ that its caller passes. Source:
torch.utils.cpp_extension."""


def _kernel_text(call: ScriptCall, path: Path) -> KernelText:
    """Return the CUDA C++ that a call in the Python file `path` compiles, with its options and name."""
    text = _source_text(call)
    options = strings(known(call.argument(*_TEXT_FUNCTIONS[call.function].options)))
    for name in ("include_dirs", "extra_include_paths"):
        options += [f"-I{each}" for each in strings(known(call.keywords.get(name)))]
    kernel = call.argument(1, "name") if call.function == "RawKernel" else None
    is_instance = isinstance(kernel, str) and "<" in kernel
    instances = [kernel] if is_instance else known(call.keywords.get("name_expressions"))
    if is_instance or not isinstance(kernel, str):
        kernel = next((each.name for each in kernels_in(text or "")), path.stem)
    return KernelText(text, tuple(options), tuple(map(str, instances)), kernel, call)


def _source_text(call: ScriptCall) -> str | None:
    """Return the CUDA C++ that a call compiles, as the content of a source file; None if it is composed at run time."""
    parts = strings(call.argument(*_TEXT_FUNCTIONS[call.function].text))
    if not parts:
        return None
    has_headers = call.function == "load_inline" and not call.keywords.get("no_implicit_headers")
    return (_INLINE_HEADERS if has_headers else "") + "\n".join(parts).strip("\n") + "\n"


# --- the lines that change ----------------------------------------------------------------------------


def changed_lines(path: Path, modules: Mapping[ast.Call, str]) -> Iterator[tuple[int, str, str]]:
    """Yield the edits to a Python file whose strings become modules: 1-based line, old expression, new expression.

    `modules` is call that compiles a string -> dotted name of the module.
    """
    names = {(call.lineno, call.col_offset): name for call, name in modules.items()}
    reader = _ChangedLines(names)
    with readable(path):
        reader.visit(parsed(path))
    yield from sorted(reader.found)


class _ChangedLines(ast.NodeVisitor):
    """Collects the edits to a Python file, and follows modules and kernels through variables to find them."""

    def __init__(self, names: Mapping[tuple[int, int], str]) -> None:
        self._names = names
        self._kinds: dict[str, str] = {}
        """Source text of a variable or attribute, such as "self.kernel" -> what its value is: "module" or "kernel"."""
        self.found: list[tuple[int, str, str]] = []
        """Edits to the Python file: 1-based line, old expression, new expression."""

    def visit_Assign(self, node: ast.Assign) -> None:
        self.generic_visit(node)
        kind = self._kind(node.value)
        if kind:
            self._kinds |= {ast.unparse(target): kind for target in node.targets}

    def visit_Call(self, node: ast.Call) -> None:
        self.generic_visit(node)
        name = self._names.get((node.lineno, node.col_offset))
        if name is not None and self._function(node) in _TEXT_FUNCTIONS:
            arguments = [ast.unparse(each) for each in node.args[1:2]]
            load = f'cuda_wheel.load("{name}")'
            is_kernel = self._function(node) == "RawKernel"
            new = f"{load}[{arguments[0]}]" if is_kernel and arguments else load
            self._add(node, f"{ast.unparse(node.func)}(...)", new)
        elif isinstance(node.func, ast.Attribute) and self._kind(node.func.value) == "module" and node.args:
            form = {"get_function": "{}[{}]", "get_global": "{}.globals[{}]"}.get(node.func.attr)
            if form:
                owner, key = ast.unparse(node.func.value), ast.unparse(node.args[0])
                self._add(node, ast.unparse(node), form.format(owner if len(owner) < 60 else "module", key))
        elif self._kind(node.func) == "kernel" and (node.args or node.keywords):
            self._add(node, ast.unparse(node), _launch(node))

    def _add(self, node: ast.Call, old: str, new: str) -> None:
        self.found.append((node.lineno, old, new))

    @staticmethod
    def _function(node: ast.Call) -> str:
        return ast.unparse(node.func).rpartition(".")[2]

    def _kind(self, node: ast.expr) -> str | None:
        """Return "module" or "kernel" if the value of an expression is a module or a kernel; None for any other
        value."""
        if isinstance(node, ast.Call):
            function = self._function(node)
            if (node.lineno, node.col_offset) in self._names and function in _TEXT_FUNCTIONS:
                return "kernel" if function == "RawKernel" else "module"
            owner = node.func.value if isinstance(node.func, ast.Attribute) else None
            is_kernel = function == "get_function" and owner is not None and self._kind(owner) == "module"
            return "kernel" if is_kernel else None
        return self._kinds.get(ast.unparse(node)) if isinstance(node, (ast.Name, ast.Attribute)) else None


_KEYWORDS = {"shared_mem": "shared_memory", "shared": "shared_memory", "stream": "stream"}


def _launch(node: ast.Call) -> str:
    """Return the expression that launches a kernel with cuda-wheel: `k.launch(grid, block, x, n)`.

    `node` launches the kernel with CuPy, `k(grid, block, (x, n))`, or with PyCUDA, `k(x, n, grid=..., block=...)`.
    """
    keywords = {each.arg: ast.unparse(each.value) for each in node.keywords if each.arg}
    arguments: Sequence[ast.expr] = node.args
    if "block" in keywords:
        grid, block = keywords.get("grid", "1"), keywords["block"]
    else:
        grid, block = (ast.unparse(each) for each in (*node.args[:2], *[ast.Constant(1)] * (2 - len(node.args[:2]))))
        packed = node.args[2] if len(node.args) > 2 else ast.Tuple([], ast.Load())
        arguments = packed.elts if isinstance(packed, ast.Tuple) else [ast.Starred(packed, ast.Load())]
    written = [grid, block, *map(ast.unparse, arguments)]
    written += [f"{_KEYWORDS[name]}={value}" for name, value in keywords.items() if name in _KEYWORDS]
    return f"{ast.unparse(node.func)}.launch({', '.join(written)})"


@dataclass
class ImportProposal:
    """Modules, files and edits that replace what other tools compile."""

    project: DetectedProject
    modules: list[ProposedModule] = field(default_factory=list)
    files: dict[str, str] = field(default_factory=dict)
    """Path of a new source file relative to the project -> content of the file."""
    lines: list[str] = field(default_factory=list)
    """Messages, one line each: edits to make by hand, and what was not imported."""
    extensions: list[tuple[Path, Extension, list[ProposedModule]]] = field(default_factory=list)
    """Python file, C++ extension to remove from it, and the modules for the `.cu` files of the extension."""

    def imported(self, trials: Iterable[ModuleTrial]) -> ImportedBuild:
        """Return the facts that decide what builds of the project with these modules require."""
        trials = list(trials)
        return ImportedBuild(
            lines=frozenset((Path(os.path.realpath(path)), each.line) for path, each, _ in self.extensions),
            failed=sum(bool(trial.error) for trial in trials),
            architectures=tuple(dict.fromkeys(each for module in self.modules for each in module.architectures)),
            standards=tuple(dict.fromkeys(str(trial.module.table.get("std", "")) for trial in trials)),
            pytorch=tuple(trial.module.name for trial in trials if trial.includes_pytorch),
        )

    def try_modules(self, architecture: str) -> Iterable[ModuleTrial]:
        """Compile the modules one after the other, and yield each result. Raises ToolchainError."""
        root = self.project.root
        for module in self.modules:
            if self.files.keys().isdisjoint(module.table["sources"]):
                yield try_module(root, module, architecture)
                continue
            with scratch() as folder:  # nothing is written into the project yet
                for path in module.table["sources"]:
                    (folder / path).parent.mkdir(parents=True, exist_ok=True)
                    (folder / path).write_text(self.files[path], encoding="utf-8")
                for path in module.table.get("include-dirs", ()):
                    shutil.copytree(root / path, folder / path, dirs_exist_ok=True)
                yield try_module(folder, module, architecture)

    def translated(self) -> Iterator[HostModule]:
        """Translate the host functions of the extensions, one after the other, and yield each result.

        Raises ToolchainError, before the first, if what this needs is not installed or does not work.
        """
        return host_modules(self.project, self.extensions)


def project_root(files: Sequence[Path]) -> Path:
    """Return the folder of the project that the files belong to: the nearest with a pyproject.toml or a setup.py."""
    first = Path(os.path.realpath(files[0]))  # of a link to itself too
    for folder in first.parents:
        if any((folder / name).is_file() for name in ("pyproject.toml", "setup.py")):
            return folder
    return first.parent


def propose_import(root: Path, files: Sequence[Path], package: str = "", options: Sequence[str] = ()) -> ImportProposal:
    """Return the modules and edits that replace other builds of files in the project in `root`.

    `package` is the dotted name of the package to add modules to; "" finds it. `options` are nvcc's for the `.cu`
    files. Nothing is compiled or written. Raises ConfigError.
    """
    extensions, texts = _read_python_files(files)
    package = package or _extension_package(root, [extension for _, extension in extensions])
    content = read_project(root)[0].content
    project = detect_project(root, content, package)
    names = {extension.name for _, extension in extensions if not extension.is_loaded}
    if not package and len(names) == 1 and not (root / project.folder / "__init__.py").exists():
        (name,) = names  # a package of this name takes the place of an extension outside packages
        project = detect_project(root, content, name) if name.isidentifier() else project
    done = ImportProposal(project)
    sources = [_shown(path, root) for path in files if path.suffix == ".cu"]
    outside = [path for path in sources if path.startswith("../") or not (root / path).is_file()]
    if outside:
        raise ConfigError(f"{outside[0]} is no file of the project in {root}: copy it into the project first.")
    done.modules += source_modules(done.project, sources, options)
    for path, extension in extensions:
        modules = extension_modules(done.project, extension)
        done.modules += modules
        if not modules:
            done.lines.append(f"{_shown(path, root)}:{extension.line}: no source of {extension.name} exists")
        done.extensions.append((path, extension, modules))
        done.lines.append(
            f"{_shown(path, root)}:{extension.line}: remove the extension {extension.name}, and build_ext from cmdclass"
        )
    _add_texts(done, texts)
    _name_apart(done.modules)
    return done


def _read_python_files(files: Sequence[Path]) -> tuple[list[tuple[Path, Extension]], list[tuple[Path, KernelText]]]:
    """Return two lists: (Python file, extension in the file), and (Python file, string of CUDA C++ in the file).

    `files`: Python files, and `.cu` files, which are skipped. Raise ConfigError for any other file, and for a Python
    file that has neither an extension nor CUDA C++.
    """
    extensions: list[tuple[Path, Extension]] = []
    texts: list[tuple[Path, KernelText]] = []
    for path in files:
        if path.suffix == ".py":
            own_extensions, own_texts = extensions_in(path), texts_in(path)
            if not own_extensions and not own_texts:
                raise ConfigError(
                    f"{path} has neither a CUDAExtension with .cu files, nor a RawModule, RawKernel, SourceModule, "
                    "load or load_inline."
                )
            extensions += [(path, each) for each in own_extensions]
            texts += [(path, each) for each in own_texts]
        elif path.suffix != ".cu":
            raise ConfigError(f"{path} is neither a .cu file nor a Python file.")
    return extensions, texts


def _extension_package(root: Path, extensions: Iterable[Extension]) -> str:
    """Return the first top-level package of the extensions that exists in the project: "demo" for "demo._C"; "" if none
    exists.

    A package exists if its folder has an `__init__.py`. The folder is looked for in `root` and in the folder "src" of
    `root`.
    """
    tops = (each.name.partition(".")[0] for each in extensions if "." in each.name)
    return next((top for top in tops for parent in (".", "src") if (root / parent / top / "__init__.py").is_file()), "")


def _shown(path: Path, root: Path) -> str:
    """Return a path as messages show it: relative to `root`, with links resolved."""
    return relative_path(os.path.realpath(path), root)


def _name_apart(modules: Iterable[ProposedModule]) -> None:
    """Rename each module whose name an earlier module has: "demo.scale" of "csrc/nn/scale.cu" becomes "demo.nn_scale".

    Folders of the module's first source are put before the name, the innermost first. Names stay equal if there are not
    enough folders. The new name is written into the `table` of the module.
    """
    taken: set[str] = set()
    for module in modules:
        package, _, stem = module.name.rpartition(".")
        for folder in reversed(module.table["sources"][0].split("/")[:-1]):
            if module.name not in taken:
                break
            stem = f"{folder}_{stem}"
            module.table["name"] = f"{package}.{stem}"
        taken.add(module.name)


# --- texts ------------------------------------------------------------------------------------------


def _add_texts(done: ImportProposal, texts: Sequence[tuple[Path, KernelText]]) -> None:
    """Add to `done` a source file and a module for each string of CUDA C++, and messages about the lines to edit.

    `texts`: pairs (Python file, string in this file). Equal strings with equal options become one module. A string that
    is composed at run time only gets a message.
    """
    modules: dict[tuple[Any, ...], str] = {}
    calls: dict[Path, dict[ast.Call, str]] = {}
    for path, text in texts:
        where = f"{_shown(path, done.project.root)}:{text.call.node.lineno}"
        if text.text is None:
            done.lines.append(f"{where}: the text is composed at run time: cuda_wheel.compile(text) takes it as it is")
            continue
        key = (text.text, text.options)
        if key not in modules:
            modules[key] = _add_text(done, path, text)
        elif text.instantiate:
            table = next(each.table for each in done.modules if each.name == modules[key])
            table["instantiate"] = list(dict.fromkeys((*table.get("instantiate", ()), *text.instantiate)))
        calls.setdefault(path, {})[text.call.node] = modules[key]
    for path, named in calls.items():
        shown, content = _shown(path, done.project.root), path.read_bytes()
        if b"import cuda_wheel" not in content:
            done.lines.append(f"{shown}: add: import cuda_wheel")
        done.lines += [f"{shown}:{line}: {old}  ->  {new}" for line, old, new in changed_lines(path, named)]
        if re.search(rb"\b(In|Out|InOut|memcpy_htod|memcpy_dtoh)\(", content):  # PyCUDA's
            done.lines.append(
                f"{shown}: copy what In, Out, InOut and memcpy_htod copy with an array library, such as CuPy; a "
                "module's variable has write and read"
            )
        if not shown.startswith(f"{done.project.folder}/"):
            done.lines.append(f"{shown}: is not in {done.project.folder}, so that the wheel does not contain it")


def _add_text(done: ImportProposal, path: Path, text: KernelText) -> str:
    """Add to `done` the source file and the module for one string of CUDA C++. Return the module's dotted name.

    `path`: the Python file that compiles the string `text`.
    """
    project = done.project
    beside = _shown(path.parent, project.root)
    folder = beside if f"{beside}/".startswith(f"{project.folder}/") else project.folder
    content = text.text or ""
    stem, count = text.name, 1
    while done.files.get(f"{folder}/{stem}.cu", read_text(project.root / folder / f"{stem}.cu")) not in (None, content):
        count += 1
        stem = f"{text.name}_{count}"
    options = (*BUILD_EXTENSION, *text.options) if text.call.function == "load_inline" else text.options
    table, notes = options_table(options, project.root)
    within = folder.removeprefix(project.folder).strip("/").replace("/", ".")
    name = ".".join(filter(None, (project.package, within, stem)))
    instances = {"instantiate": list(text.instantiate)} if text.instantiate else {}
    done.files[f"{folder}/{stem}.cu"] = content
    done.modules.append(ProposedModule({"name": name, "sources": [f"{folder}/{stem}.cu"], **table, **instances}, notes))
    return name


# --- the tables -------------------------------------------------------------------------------------

_OWN = frozenset({"name", "sources", "instantiate", "link"})
"""Keys of a `[[tool.cuda-wheel.module]]` that are never moved to `[tool.cuda-wheel]`. Every other key moves if all
modules have it with the same value."""


def shared_settings(
    project: DetectedProject, content: Mapping[str, Any], modules: Sequence[Mapping[str, Any]]
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return the settings for `[tool.cuda-wheel]`, and the table of each module without these settings.

    The first is empty if pyproject.toml has `[tool.cuda-wheel]` already, or with CMake, whose calls name every setting.
    """
    if TABLE_PATH[-1] in content.get("tool", {}) or project.backend == "scikit_build_core.build":
        return {}, [dict(each) for each in modules]
    common = _common_settings(modules) if len(modules) > 1 else {}
    own = [{key: value for key, value in each.items() if key not in common} for each in modules]
    listed = {path for each in modules for path in each["sources"]}
    named = listed.intersection(project.inside)
    if named and not listed.issuperset(project.inside):  # the others in the package would be compiled too
        common = {"sources": sorted(named), **common}
    return common, own


def _common_settings(modules: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return key -> value of each setting that all modules have with the same value, without the keys in _OWN.

    `modules`: tables of the modules, at least one.
    """
    first, *others = modules
    return {
        key: value
        for key, value in first.items()
        if key not in _OWN and all(json.dumps(each.get(key)) == json.dumps(value) for each in others)
    }
