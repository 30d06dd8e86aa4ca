"""`cuda-wheel import`: read CUDA sources, a setup.py or a program with kernels in strings, and propose modules.

In a program, find the CUDA C++ that it compiles at run time, in its strings and in the project's files that it reads,
and the lines to change when it becomes modules.
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
from cuda_wheel.cupy.raw_modules import with_bridge, with_options
from cuda_wheel.migrate.host_modules import HostModule, host_modules
from cuda_wheel.migrate.init_project import TABLE_PATH, read_project
from cuda_wheel.migrate.module_tables import (
    ModuleTrial,
    ProposedModule,
    extension_modules,
    options_table,
    source_module,
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
from cuda_wheel.migrate.read_files import FileText
from cuda_wheel.migrate.script_reader import (
    UNKNOWN,
    Reading,
    ScriptCall,
    calls_and_readings,
    calls_in,
    known,
    parsed,
    readable,
    strings,
)

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

_CUPY = ("RawModule", "RawKernel")
"""Functions of CuPy. `cuda_wheel.cupy` has those that take their place."""


class KernelText(NamedTuple):
    """CUDA C++ that a Python file compiles."""

    text: str | None
    """CUDA C++ as the content of a source file; None if it is not known before the program runs."""
    options: tuple[str, ...]
    """Options of the compiler, including include folders (`-I`)."""
    instantiate: tuple[str, ...]
    """C++ name expressions of the template instances to compile, such as "scale<float>"."""
    name: str
    """Name for the module, and for its source file without ".cu". It is the name in a RawKernel call, if the name is
    known and has no template arguments; else the first kernel's name in `text`. If `text` has no kernel, it is the
    Python file's name without ".py". For the text of a file, it is that file's name without the suffix."""
    call: ScriptCall
    file: str
    """Absolute path of the file that the program reads the text from; "" for a text in the program."""
    is_whole_file: bool
    """Whether `text` is what `file` has, so that the file can be a module's source."""
    has_all_instances: bool
    """Whether all of CuPy's name_expressions are known."""


def texts_in(path: Path) -> tuple[list[KernelText], list[Reading]]:
    """Return the CUDA C++ that a Python file compiles, in its order, and where the Python file reads others that are
    not found. Raises ConfigError if it cannot be read."""
    calls, readings = calls_and_readings(Path(os.path.abspath(path)), _TEXT_FUNCTIONS)
    return [_kernel_text(call, path) for call in calls if not call.keywords.get("path")], readings


_INLINE_HEADERS = "#include <torch/types.h>\n#include <cuda.h>\n#include <cuda_runtime.h>\n"
"""Text that PyTorch's `load_inline` puts in front of the CUDA C++ that its caller passes. Source:
torch.utils.cpp_extension."""


def _kernel_text(call: ScriptCall, path: Path) -> KernelText:
    """Return the CUDA C++ that a call in the Python file `path` compiles, with its options and name."""
    parts = strings(call.argument(*_TEXT_FUNCTIONS[call.function].text))
    text = "\n".join(parts).strip("\n") + "\n" if parts else None
    file = parts[0].path if len(parts) == 1 and isinstance(parts[0], FileText) else ""
    before = text
    if text is not None and call.function == "load_inline" and not call.keywords.get("no_implicit_headers"):
        text = _INLINE_HEADERS + text
    if text is not None and call.keywords.get("translate_cucomplex"):
        text = with_bridge(text)
    instances, kernel = _instances(call)
    if file:
        kernel = Path(file).stem
    elif kernel is None:
        kernel = next((each.name for each in kernels_in(text or "")), path.stem)
    has_all = instances is not UNKNOWN and UNKNOWN not in (instances or ())
    named = tuple(map(str, known(instances)))
    return KernelText(text, _options(call), named, kernel, call, file, text == before, has_all)


def _options(call: ScriptCall) -> tuple[str, ...]:
    """Return the options with which a call's CUDA C++ is compiled, those included that CuPy adds to each
    compilation."""
    options = strings(known(call.argument(*_TEXT_FUNCTIONS[call.function].options)))
    for name in ("include_dirs", "extra_include_paths"):
        options += [f"-I{each}" for each in strings(known(call.keywords.get(name)))]
    if call.function in _CUPY:
        return with_options(options, call.argument(3 if call.function == "RawKernel" else None, "backend") or "nvrtc")
    return tuple(options)


def _instances(call: ScriptCall) -> tuple[Any, str | None]:
    """Return the name expressions that a call instantiates, as far as they are known, and the name of the call's own
    kernel, None if it has none or that is an instance."""
    kernel = call.argument(1, "name") if call.function == "RawKernel" else None
    if not isinstance(kernel, str):
        return call.keywords.get("name_expressions"), None
    return ([kernel], None) if "<" in kernel else ((), kernel)


# --- the lines that change ----------------------------------------------------------------------------


def changed_lines(path: Path, modules: Sequence[tuple[ScriptCall, str]]) -> Iterator[tuple[int, str, str]]:
    """Yield the edits to a Python file whose CUDA C++ becomes modules: 1-based line, old expression, new expression.

    `modules` are the calls that compile it, each with the dotted name of the module.
    """
    names = {_place(call.node): (call.function, name) for call, name in modules}
    reader = _ChangedLines(names)
    with readable(path):
        reader.visit(parsed(path))
    yield from sorted(reader.found)


_Place = tuple[int, int, int | None, int | None]


def _place(node: ast.Call) -> _Place:
    """Return where a call starts and ends. Another one may start there: `RawModule(...).get_function("k")`."""
    return node.lineno, node.col_offset, node.end_lineno, node.end_col_offset


class _ChangedLines(ast.NodeVisitor):
    """Collects the edits to a Python file, and follows modules and kernels through variables to find them."""

    def __init__(self, names: Mapping[_Place, tuple[str, str]]) -> None:
        self._names = names
        """Place of a call that compiles CUDA C++ -> (function of `_TEXT_FUNCTIONS`, dotted name of the module)."""
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
        function, name = self._compiles(node)
        if function in _CUPY:
            self._add(node, f"{ast.unparse(node.func)}(...)", _in_place_of_cupys(node, function, name))
        elif function:
            self._add(node, f"{ast.unparse(node.func)}(...)", f'cuda_wheel.load("{name}")')
        elif isinstance(node.func, ast.Attribute) and self._kind(node.func.value) == "module" and node.args:
            form = {"get_function": "{}[{}]", "get_global": "{}.globals[{}]"}.get(node.func.attr)
            if form:
                owner, key = ast.unparse(node.func.value), ast.unparse(node.args[0])
                is_long = isinstance(node.func.value, ast.Call) or len(owner) > 60
                self._add(node, ast.unparse(node), form.format("module" if is_long else owner, key))
        elif self._kind(node.func) == "kernel" and (node.args or node.keywords):
            self._add(node, ast.unparse(node), _launch(node))

    def _add(self, node: ast.Call, old: str, new: str) -> None:
        self.found.append((node.lineno, old, new))

    def _compiles(self, node: ast.Call) -> tuple[str, str]:
        """Return (function of `_TEXT_FUNCTIONS`, name of the module) for a call that compiles CUDA C++; else ("",
        "")."""
        return self._names.get(_place(node), ("", ""))

    def _kind(self, node: ast.expr) -> str | None:
        """Return "module" or "kernel" if the value of an expression is a module of cuda-wheel's or its kernel, whose
        uses change; None for any other value, and for those that have the interface of CuPy's."""
        if isinstance(node, ast.Call):
            function, _ = self._compiles(node)
            if function:
                return None if function in _CUPY else "module"
            owner = node.func if isinstance(node.func, ast.Attribute) else None
            is_kernel = owner and owner.attr == "get_function" and self._kind(owner.value) == "module"
            return "kernel" if is_kernel else None
        return self._kinds.get(ast.unparse(node)) if isinstance(node, (ast.Name, ast.Attribute)) else None


def _in_place_of_cupys(node: ast.Call, function: str, module: str) -> str:
    """Return the expression that takes the place of a call of CuPy's RawModule or RawKernel, whose uses stay."""
    keywords = {each.arg: ast.unparse(each.value) for each in node.keywords if each.arg}
    written = [f'"{module}"']
    if function == "RawKernel":
        written += [ast.unparse(node.args[1])] if len(node.args) > 1 else [keywords.get("name", "...")]
    if "enable_cooperative_groups" in keywords:
        written.append(f"enable_cooperative_groups={keywords['enable_cooperative_groups']}")
    return f"cuda_wheel.cupy.{function}({', '.join(written)})"


_KEYWORDS = {"shared": "shared_memory", "stream": "stream"}


def _launch(node: ast.Call) -> str:
    """Return the expression that launches a kernel with cuda-wheel: `k.launch(grid, block, x, n)`.

    `node` launches the kernel with PyCUDA: `k(x, n, grid=..., block=...)`.
    """
    keywords = {each.arg: ast.unparse(each.value) for each in node.keywords if each.arg}
    written = [keywords.get("grid", "1"), keywords.get("block", "..."), *map(ast.unparse, node.args)]
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

    @property
    def removals(self) -> list[str]:
        """Messages, one line each: extensions to remove by hand from the Python files that declare them."""
        found: list[str] = []
        for script, extension, _ in self.extensions:
            if extension.is_loaded:  # `host_modules` says what takes the place of the call
                continue
            line = f"{_shown(script, self.project.root)}:{extension.line}: remove the extension {extension.name}"
            stays = self._staying(script)
            found.append(
                f"{line}; build_ext stays in cmdclass, for {stays}" if stays else f"{line}, and build_ext from cmdclass"
            )
        return found

    def _staying(self, script: Path) -> str:
        """Return where a setup.py declares an extension that stays and that BuildExtension of its cmdclass builds, such
        as "CppExtension in line 7"; "" if there is none."""
        removed = {extension.line for path, extension, _ in self.extensions if path == script}
        calls = calls_in(script, ("CppExtension", "CUDAExtension", "SyclExtension"))
        staying = (call for call in calls if call.node.lineno not in removed)
        return next((f"{call.function} in line {call.node.lineno}" for call in staying), "")

    def unreplaced(self, hosts: Iterable[HostModule]) -> list[Extension]:
        """Return the extensions whose host functions are not translated.

        `hosts`: the results of the translation, as far as it got.
        """
        done = {id(host.extension) for host in hosts if host.functions is not None}
        return [each for _, each, _ in self.extensions if id(each) not in done]

    def imported(self, trials: Iterable[ModuleTrial], hosts: Sequence[HostModule] = ()) -> ImportedBuild:
        """Return the facts that decide what builds of the project with these modules require.

        `hosts`: the results of the translation of host functions.
        """
        trials = list(trials)
        return ImportedBuild(
            lines=frozenset((Path(os.path.realpath(path)), each.line) for path, each, _ in self.extensions),
            failed=sum(bool(trial.error) for trial in trials),
            architectures=tuple(dict.fromkeys(each for module in self.modules for each in module.architectures)),
            standards=tuple(dict.fromkeys(str(trial.module.table.get("std", "")) for trial in trials)),
            pytorch=tuple(trial.module.name for trial in trials if trial.needs_pytorch),
            cupy=tuple(trial.module.name for trial in trials if trial.includes_cupy),
            is_replaced=bool(self.extensions) and not self.unreplaced(hosts),
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
    extensions, texts, readings = _read_python_files(files)
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
    for path, _ in extensions:
        if _shown(path, root).startswith("../"):
            raise ConfigError(f"{path} is no file of the project in {root}: import it there, without --project.")
    if outside:
        raise ConfigError(f"{outside[0]} is no file of the project in {root}: copy it into the project first.")
    done.modules += source_modules(done.project, sources, options)
    for path, extension in extensions:
        modules = extension_modules(done.project, extension)
        done.modules += modules
        if not modules:
            looked = ", ".join(relative_path(each, root) for each in extension.sources)
            done.lines.append(
                f"{_shown(path, root)}:{extension.line}: no source of {extension.name} exists: looked for {looked}"
            )
        done.extensions.append((path, extension, modules))
    calls = _add_texts(done, texts, readings)
    _name_apart(done.modules)
    _add_edits(done, calls)
    return done


def _read_python_files(
    files: Sequence[Path],
) -> tuple[list[tuple[Path, Extension]], list[tuple[Path, KernelText]], dict[Path, list[Reading]]]:
    """Return three collections: (Python file, extension in the file), (Python file, CUDA C++ that it compiles), and
    Python file -> where it reads files that are not found.

    `files`: Python files, and `.cu` files, which are skipped. Raise ConfigError for any other file, and for a Python
    file that has neither an extension nor CUDA C++.
    """
    extensions: list[tuple[Path, Extension]] = []
    texts: list[tuple[Path, KernelText]] = []
    readings: dict[Path, list[Reading]] = {}
    for path in files:
        if path.suffix == ".py" and not os.path.lexists(path):
            raise ConfigError(f"{os.path.abspath(path)} does not exist.{_scripts_below(path.parent)}")
        if path.suffix == ".py":
            own_extensions, (own_texts, readings[path]) = extensions_in(path), texts_in(path)
            if not own_extensions and not own_texts:
                raise ConfigError(
                    f"{path} has neither a CUDAExtension with .cu files, nor a RawModule, RawKernel, SourceModule, "
                    "load or load_inline."
                )
            extensions += [(path, each) for each in own_extensions]
            texts += [(path, each) for each in own_texts]
        elif path.suffix != ".cu":
            raise ConfigError(f"{path} is neither a .cu file nor a Python file.{_scripts_below(path)}")
    return extensions, texts, readings


def _scripts_below(folder: Path) -> str:
    """Return the sentence of a message that names the first setup.py files in a folder and in those directly in it; ""
    if there are none."""
    found = [path for pattern in ("setup.py", "*/setup.py") for path in sorted(folder.glob(pattern))]
    return f" There is {', '.join(map(str, found[:5]))}." if found else ""


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


_Calls = dict[Path, list[tuple[ScriptCall, ProposedModule]]]
"""Python file -> its calls that compile CUDA C++, each with the module that takes its place."""


def _add_texts(
    done: ImportProposal, texts: Sequence[tuple[Path, KernelText]], readings: Mapping[Path, Sequence[Reading]]
) -> _Calls:
    """Add to `done` a module for each piece of CUDA C++, with a source file for those that have none, and messages.

    `texts`: pairs (Python file, CUDA C++ that it compiles). Equal pieces with equal options become one module. One that
    is not known before the program runs only gets a message. Return the calls whose CUDA C++ became modules.
    """
    root = done.project.root
    modules: dict[tuple[Any, ...], ProposedModule] = {}
    calls: _Calls = {}
    for path, text in texts:
        where = f"{_shown(path, root)}:{text.call.node.lineno}"
        if text.text is None:
            by_hand = f"cuda_wheel.cupy.{text.call.function}" if text.call.function in _CUPY else "cuda_wheel.compile"
            done.lines.append(f"{where}: the text is composed at run time: {by_hand} takes it as it is")
            continue
        if text.file and _shown(Path(text.file), root).startswith("../"):
            done.lines.append(f"{where}: reads {text.file}, which is no file of the project: copy it into the project")
            continue
        key = (text.text, text.options)
        if key not in modules:
            modules[key] = _add_text(done, path, text)
        elif text.instantiate:
            table = modules[key].table
            table["instantiate"] = list(dict.fromkeys((*table.get("instantiate", ()), *text.instantiate)))
        if not text.has_all_instances:
            done.lines.append(f"{where}: not all name_expressions are known: add the others to instantiate")
        if text.file:
            done.lines.append(_about_file(text, where, root, modules[key]))
        calls.setdefault(path, []).append((text.call, modules[key]))
    for path in dict.fromkeys(path for path, text in texts if text.text is None):
        shown = _shown(path, root)
        reason = "the text of the program does not tell the file, or there is none of that path"
        done.lines += [f"{shown}:{each.line}: {each.expression} was not read: {reason}" for each in readings[path]]
    return calls


def _about_file(text: KernelText, where: str, root: Path, module: ProposedModule) -> str:
    """Return the message about a file that a program reads its CUDA C++ from."""
    file, source = _shown(Path(text.file), root), module.table["sources"][0]
    if file == source:
        return f"{where}: {file} is compiled into the wheel: what reads it here is not needed any more"
    return f"{where}: {file} becomes {source}, which is compiled into the wheel: remove {file} and what reads it here"


def _add_edits(done: ImportProposal, calls: _Calls) -> None:
    """Add messages to `done` about the lines of the Python files to edit."""
    for path, compiled in calls.items():
        shown, content = _shown(path, done.project.root), path.read_bytes()
        if b"import cuda_wheel" not in content:
            done.lines.append(f"{shown}: add: import cuda_wheel")
        named = [(call, module.name) for call, module in compiled]
        done.lines += [f"{shown}:{line}: {old}  ->  {new}" for line, old, new in changed_lines(path, named)]
        if re.search(rb"\b(In|Out|InOut|memcpy_htod|memcpy_dtoh)\(", content):  # PyCUDA's
            done.lines.append(
                f"{shown}: copy what In, Out, InOut and memcpy_htod copy with an array library, such as CuPy; a "
                "module's variable has write and read"
            )
        if not shown.startswith(f"{done.project.folder}/"):
            done.lines.append(f"{shown}: is not in {done.project.folder}, so that the wheel does not contain it")


def _add_text(done: ImportProposal, path: Path, text: KernelText) -> ProposedModule:
    """Add to `done` the module for one piece of CUDA C++, and its source file if it has none. Return the module.

    `path`: the Python file that compiles it.
    """
    project = done.project
    options = (*BUILD_EXTENSION, *text.options) if text.call.function == "load_inline" else text.options
    table, notes = options_table(options, project.root)
    if text.is_whole_file and text.file.endswith(".cu"):
        module = source_module(project, _shown(Path(text.file), project.root), table, project.package)
        module.notes += notes
    else:
        source, name = _new_source(done, path, text)
        module = ProposedModule({"name": name, "sources": [source], **table}, notes)
    if text.instantiate:
        module.table["instantiate"] = list(text.instantiate)
    done.modules.append(module)
    return module


def _new_source(done: ImportProposal, path: Path, text: KernelText) -> tuple[str, str]:
    """Add to `done` a source file with CUDA C++ that the Python file `path` compiles. Return its path and the dotted
    name of a module for it."""
    project = done.project
    beside = _shown((Path(text.file) if text.file else path).parent, project.root)
    folder = beside if f"{beside}/".startswith(f"{project.folder}/") else project.folder
    content = text.text or ""
    stem, count = text.name, 1
    while done.files.get(f"{folder}/{stem}.cu", read_text(project.root / folder / f"{stem}.cu")) not in (None, content):
        count += 1
        stem = f"{text.name}_{count}"
    source = f"{folder}/{stem}.cu"
    done.files[source] = content
    within = folder.removeprefix(project.folder).strip("/").replace("/", ".")
    return source, ".".join(filter(None, (project.package, within, stem)))


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
    if len(modules) > 1 and (macros := _common_macros(own)):
        common["defines"] = macros
        own = [_without_macros(each, macros) for each in own]
    listed = {path for each in modules for path in each["sources"]}
    named = listed.intersection(project.inside)
    if named and not listed.issuperset(project.inside):  # the others in the package would be compiled too
        common = {"sources": sorted(named), **common}
    return common, own


def _common_macros(modules: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the macros that all modules define alike; none if a module defines no macro."""
    first, *others = [each.get("defines", {}) for each in modules]
    return {
        name: value
        for name, value in first.items()
        if all(name in each and json.dumps(each[name]) == json.dumps(value) for each in others)
    }


def _without_macros(module: Mapping[str, Any], macros: Mapping[str, Any]) -> dict[str, Any]:
    left = {name: value for name, value in module["defines"].items() if name not in macros}
    return {key: left if key == "defines" else value for key, value in module.items() if key != "defines" or left}


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
