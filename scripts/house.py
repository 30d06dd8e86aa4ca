"""Measure how far a reader has to walk through the code: print a table of modules, frames, cycles, headers and sizes.

    python scripts/house.py [CHECKOUT ...] [--details ROW]

Each CHECKOUT is a folder with the sources of cuda-wheel, by default the one that this script is in; the table has one
column for each. `--details ROW` prints what a row counts, one thing a line; `all` prints that of every row.

Run it with a Python that has a toolchain, hatchling and cuda-bindings. Without radon, the row of complexity says so;
without PyTorch, that of its operators. Modules and calls are observed, and none is named here: hatchling builds the
fixtures' wheels through the hook that the checkout's `pyproject.toml` registers, and a `sitecustomize` of this script
makes the processes report. Loading and launching use the stand-in for the driver in the checkout's `tests`: no GPU.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

__all__ = [
    "Checkout",
    "circles",
    "imports_of",
    "main",
    "nesting",
    "only_forwards",
    "only_passes_on",
]

PACKAGES = ("cuda_wheel", "hatch_cuda", "setuptools_cuda")
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
BLOCKS = (ast.If, ast.For, ast.AsyncFor, ast.While, ast.With, ast.AsyncWith, ast.Try, ast.Match)
SMALL_MODULE = 40
"""A module with fewer lines is small."""
MOST_COMPLEX, DEEPEST = 15, 6
"""Largest cyclomatic complexity, and deepest nesting, of a function that the rows do not count."""

PROBE = '''
import atexit, ctypes, json, os, subprocess, sys, threading, time
from concurrent.futures import Future

FOLDER, PACKAGES = os.environ["HOUSE_REPORTS"], {packages!r}


def report(**event):
    with open(os.path.join(FOLDER, f"{{os.getpid()}}.jsonl"), "a") as file:
        file.write(json.dumps(dict(event, process=os.getpid(), time=time.monotonic_ns())) + "\\n")


def call_stack():
    """Return the frames of cuda-wheel, outermost first, those of the thread that asked for this work included."""
    frame, frames, above = sys._getframe(2), [], None
    while frame is not None:
        name = frame.f_globals.get("__name__", "")
        code = frame.f_code
        if name.partition(".")[0] in PACKAGES and code.co_name not in ("<listcomp>", "<dictcomp>", "<setcomp>"):
            frames.append(f"{{name}}:{{getattr(code, 'co_qualname', code.co_name)}}")
            if above is None:  # the future of the call that this thread runs says who asked for it
                held = list(frame.f_locals.values())
                held += [part for each in held if isinstance(each, tuple) for part in each]
                found = [each for each in held if isinstance(each, Future)]
                above = next((each.house_stack for each in found if hasattr(each, "house_stack")), None)
        frame = frame.f_back
    if above is None:
        above = getattr(threading.current_thread(), "house_stack", [])
    return above + frames[::-1]


class Stream:
    """The standard input of a worker, which reports each writing."""

    def __init__(self, stream, worker):
        self._stream, self._worker = stream, worker

    def write(self, data):
        report(kind="sent", worker=self._worker, stack=call_stack())
        return self._stream.write(data)

    def __getattr__(self, name):
        return getattr(self._stream, name)


def start_process(self, args, *rest, _start=subprocess.Popen.__init__, **more):
    if isinstance(args, (list, tuple)) and args and args[0] == sys.executable:
        args = list(args)
        while len(args) > 1 and args[1] in ("-S", "-I", "-E"):  # they would keep the child from reading this file
            del args[1]
    _start(self, args, *rest, **more)
    if self.stdin is not None:
        self.stdin = Stream(self.stdin, self.pid)


def start_thread(self, _start=threading.Thread.start):
    self.house_stack = call_stack()
    _start(self)


def make_future(self, _make=Future.__init__):
    _make(self)
    self.house_stack = call_stack()


def load_library(self, *args, _load=ctypes.CDLL.__init__, **more):
    _load(self, *args, **more)
    if "nvrtc" not in str(self._name):
        return

    sources = []

    class Function(self._FuncPtr):
        _flags_, _restype_ = self._FuncPtr._flags_, self._FuncPtr._restype_

        def __call__(self, *args):
            if self.__name__ == "nvrtcCreateProgram":
                sources.append(b"__global__" in getattr(args[1], "value", args[1]))
            if self.__name__ == "nvrtcCompileProgram":
                report(kind="compiled", stack=call_stack(), has_kernel=sources[-1:] == [True])
            return super().__call__(*args)

    self._FuncPtr = Function


@atexit.register
def report_modules():
    own = {{name: getattr(module, "__file__", None) for name, module in list(sys.modules.items())}}
    report(kind="ended", modules={{name: path for name, path in own.items() if name.partition(".")[0] in PACKAGES}})


subprocess.Popen.__init__, threading.Thread.start = start_process, start_thread
Future.__init__, ctypes.CDLL.__init__ = make_future, load_library
'''
"""Text of the file `sitecustomize.py` that each observed process runs at its start. The process writes to the folder
`HOUSE_REPORTS`: its modules at its end, the stack of each message that it sends to a worker, and the stack of each call
of NVRTC."""

STAND_IN = """
import importlib.util, sys, types
import cuda.bindings
spec = importlib.util.spec_from_file_location("stand_in_driver", {driver!r})
sys.modules["stand_in_driver"] = stand_in = importlib.util.module_from_spec(spec)
spec.loader.exec_module(stand_in)
driver = cuda.bindings.driver = sys.modules["cuda.bindings.driver"] = stand_in.Driver((9, 0))
driver.context.device = 0
"""

LAUNCH = """
class Array:
    def __init__(self, address):
        data = (address, False)
        self.__cuda_array_interface__ = dict(shape=(1000,), typestr="<f4", data=data, strides=None, version=3)
import cuda_wheel
module = cuda_wheel.load("saxpy_demo.kernels.saxpy")
module["saxpy"].launch(4, 256, 2.5, Array(4096), Array(8192), 1000)
print(len(driver.launches))
"""

FIRST_TORCH = "import torch  # which itself imports cuda.bindings\n"

OPERATOR = """
impl = torch.library.Library.impl
def on_cpu(self, name, function, key="", **more):
    return impl(self, name, function, {"CUDA": "CPU", "AutogradCUDA": "AutogradCPU"}.get(key, key), **more)
torch.library.Library.impl = on_cpu
torch._C._cuda_getCurrentRawStream = lambda device: 0
torch.Tensor.is_cuda = property(lambda self: True)
torch.Tensor.get_device = lambda self: 0
import torch_op_demo
x, bias = torch.ones(4, 8), torch.ones(8)
torch_op_demo.gated(x, bias)
print(len(driver.launches))
"""


class Row(NamedTuple):
    """A row of the table: its name for `--details`, what it counts, the number or numbers, and what was counted."""

    name: str
    title: str
    value: str
    details: list[str]


class Import(NamedTuple):
    """A name that an import statement imports."""

    line: int
    """1-based line of the statement."""
    name: str
    """Absolute dotted name: a module, or a module and one of its names."""
    in_function: bool
    for_types: bool
    """True if the statement is below `if TYPE_CHECKING`."""


class Checkout:
    """The sources of cuda-wheel in a folder."""

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()
        self.paths = {
            ".".join(path.relative_to(self.root).with_suffix("").parts).removesuffix(".__init__"): path
            for package in PACKAGES
            for path in sorted((self.root / package).rglob("*.py"))
        }
        """Path of each module, by dotted name."""

    @cached_property
    def trees(self) -> dict[str, ast.Module]:
        """Syntax tree of each module, by dotted name."""
        return {name: ast.parse(path.read_text(encoding="utf-8")) for name, path in self.paths.items()}

    @cached_property
    def lines(self) -> dict[str, int]:
        """Number of lines of each module, by dotted name."""
        return {name: len(path.read_text(encoding="utf-8").splitlines()) for name, path in self.paths.items()}

    @cached_property
    def imports(self) -> dict[str, list[Import]]:
        """Imports of each module, by its dotted name."""
        return {
            name: list(imports_of(tree, name, self.paths[name].name == "__init__.py"))
            for name, tree in self.trees.items()
        }

    @cached_property
    def graph(self) -> dict[str, set[str]]:
        """Dotted name of each module of cuda-wheel -> those that it imports, also inside functions and for types
        only."""
        graph: dict[str, set[str]] = {}
        for name, imports in self.imports.items():
            graph[name] = {found for each in imports if (found := self.module_of(each.name))} - {name}
        return graph

    def module_of(self, name: str) -> str | None:
        """Return the module of cuda-wheel that a dotted name is, or that contains it; None for modules of others."""
        return next((each for each in (name, name.rpartition(".")[0]) if each in self.paths), None)

    def functions(self) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
        """Yield each function, also functions inside functions, with the dotted name of its module."""
        for name, tree in self.trees.items():
            for node in ast.walk(tree):
                if isinstance(node, FUNCTIONS):
                    yield name, node

    def tracked_files(self) -> list[Path]:
        """Return the files of the package `cuda_wheel` that git tracks; without git, all but bytecode."""
        command = ["git", "-C", str(self.root), "ls-files", "-z", "--", "cuda_wheel"]
        try:
            listed = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split("\0")
        except (OSError, subprocess.CalledProcessError):
            return [path for path in (self.root / "cuda_wheel").rglob("*") if path.is_file() and path.suffix != ".pyc"]
        return [path for each in listed if each and (path := self.root / each).is_file()]


# --- what the text of the modules tells -----------------------------------------------------------------------


def imports_of(tree: ast.Module, module: str, is_package: bool) -> Iterator[Import]:
    """Yield the imports in a module, whose dotted name is `module`. `is_package` says that it is an `__init__.py`."""

    def walk(node: ast.AST, in_function: bool, for_types: bool) -> Iterator[Import]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.Import):
                for alias in child.names:
                    yield Import(child.lineno, alias.name, in_function, for_types)
            elif isinstance(child, ast.ImportFrom):
                base = child.module or ""
                if child.level:
                    package = module.split(".") if is_package else module.split(".")[:-1]
                    base = ".".join([*package[: len(package) - child.level + 1], *filter(None, [child.module])])
                for alias in child.names:
                    yield Import(child.lineno, f"{base}.{alias.name}", in_function, for_types)
            elif isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
                for statement in child.body:
                    yield from walk(ast.Module([statement], []), in_function, True)
                for statement in child.orelse:
                    yield from walk(ast.Module([statement], []), in_function, for_types)
            else:
                yield from walk(child, in_function or isinstance(child, (*FUNCTIONS, ast.Lambda)), for_types)

    return walk(tree, False, False)


def circles(graph: Mapping[str, set[str]]) -> list[list[str]]:
    """Return the import cycles: strongly connected components with more than one module, the largest first (Tarjan
    1972)."""
    order: dict[str, int] = {}
    lowest: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(name: str) -> None:
        order[name] = lowest[name] = len(order)
        stack.append(name)
        for other in sorted(graph[name]):
            if other not in order:
                visit(other)
                lowest[name] = min(lowest[name], lowest[other])
            elif other in stack:
                lowest[name] = min(lowest[name], order[other])
        if lowest[name] == order[name]:
            start = stack.index(name)
            found.append(sorted(stack[start:]))
            del stack[start:]

    for name in sorted(graph):
        if name not in order:
            visit(name)
    return sorted((each for each in found if len(each) > 1), key=lambda each: (-len(each), each))


def only_passes_on(node: ast.FunctionDef | ast.AsyncFunctionDef, attributes: bool = False) -> bool:
    """Return whether the body of a function is one call whose arguments are all parameters of the function.

    With `attributes`, attributes of parameters, such as `self.path`, may be arguments too.
    """
    body = node.body[1:] if ast.get_docstring(node, clean=False) is not None else node.body
    if len(body) != 1 or not isinstance(body[0], (ast.Return, ast.Expr)):
        return False
    call = body[0].value
    if not isinstance(call, ast.Call):
        return False
    parameters = {each.arg for each in ast.walk(node.args) if isinstance(each, ast.arg)}
    passed = [each.value if isinstance(each, ast.Starred) else each for each in call.args]
    passed += [each.value for each in call.keywords]

    def is_own(value: ast.expr) -> bool:
        while attributes and isinstance(value, ast.Attribute):
            value = value.value
        return isinstance(value, ast.Name) and value.id in parameters

    return bool(passed) and all(map(is_own, passed))


def nesting(node: ast.AST, elif_nests: bool = False) -> int:
    """Return how deep the blocks of a function are nested, without those of inner functions.

    `elif_nests` counts each `elif` as an `if` inside the `else` of the one before, as Python's syntax tree has it.
    """
    deepest = 0
    for field, value in ast.iter_fields(node):
        for child in value if isinstance(value, list) else [value]:
            if not isinstance(child, ast.AST) or isinstance(child, FUNCTIONS):
                continue
            is_elif = isinstance(node, ast.If) and field == "orelse" and isinstance(child, ast.If) and len(value) == 1
            own = isinstance(child, BLOCKS) and (elif_nests or not is_elif)
            deepest = max(deepest, own + nesting(child, elif_nests))
    return deepest


def only_forwards(text: str) -> bool:
    """Return whether a header has only comments, `#pragma once` and at least one `#include`."""
    text = re.sub(r"/\*.*?\*/|//[^\n]*", "", text, flags=re.DOTALL)
    lines = [each.strip() for each in text.splitlines() if each.strip()]
    return any(re.match(r"#\s*include\b", each) for each in lines) and all(
        re.match(r"#\s*(include\b|pragma\s+once\b)", each) for each in lines
    )


def module_rows(checkout: Checkout) -> Iterator[Row]:
    """Yield the rows about modules, functions and imports."""
    importers: dict[str, set[str]] = defaultdict(set)
    for name, others in checkout.graph.items():
        for other in others:
            importers[other].add(name)
    lines = checkout.lines
    single = {name: next(iter(each)) for name, each in sorted(importers.items()) if len(each) == 1}
    listed = {name: f"{lines[name]:5} {name} <- {importer}" for name, importer in single.items()}
    small = [text for name, text in listed.items() if lines[name] < SMALL_MODULE]
    yield Row("small", f"modules under {SMALL_MODULE} lines with one importer", str(len(small)), small)
    yield Row("single", "modules with one importer", str(len(single)), sorted(listed.values(), reverse=True))
    yield _passing_row(checkout)
    yield _imports_row(checkout)
    found = circles(checkout.graph)
    value = ", ".join(str(len(each)) for each in found) or "none"
    yield Row("circles", "modules in import circles, types counted", value, [" ".join(each) for each in found])
    yield _complexity_row(checkout)
    yield _nesting_row(checkout, "nesting", "deepest nesting of blocks", elif_nests=False)
    yield _nesting_row(checkout, "nesting-elif", "the same, each `elif` a level", elif_nests=True)


def _passing_row(checkout: Checkout) -> Row:
    functions = list(checkout.functions())
    passing = [_place(checkout, *each) for each in functions if only_passes_on(each[1])]
    loosely = [_place(checkout, *each) for each in functions if only_passes_on(each[1], attributes=True)]
    value = f"{len(passing)} ({len(loosely)} with attributes of parameters)"
    details = [*passing, *(f"{each} (attributes)" for each in loosely if each not in passing)]
    return Row("passing", "functions that only pass their arguments on", value, details)


def _imports_row(checkout: Checkout) -> Row:
    inside = {
        (name, each.line): bool(checkout.module_of(each.name))
        for name, imports in checkout.imports.items()
        for each in imports
        if each.in_function and not each.for_types
    }
    details = [f"{_file(checkout, name)}:{line}{' (own)' * own}" for (name, line), own in sorted(inside.items())]
    value = f"{len(inside)} ({sum(inside.values())} of own modules)"
    return Row("imports", "import statements inside functions", value, details)


def _nesting_row(checkout: Checkout, name: str, title: str, elif_nests: bool) -> Row:
    functions = checkout.functions()
    depths = [(nesting(node, elif_nests), _place(checkout, module, node)) for module, node in functions]
    deep = sorted((each for each in depths if each[0] > DEEPEST), reverse=True)
    value = f"{max(depths)[0]} ({len(deep)} functions above {DEEPEST})"
    return Row(name, title, value, [f"{depth:3} {place}" for depth, place in deep])


def _complexity_row(checkout: Checkout) -> Row:
    title = f"functions with complexity above {MOST_COMPLEX} (radon)"
    try:
        blocks = importlib.import_module("radon.complexity").cc_visit
    except ImportError:
        return Row("complexity", title, "radon is not installed", [])
    found = [
        (block.complexity, f"{_file(checkout, name)}:{block.lineno} {block.fullname}")
        for name, path in checkout.paths.items()
        for block in blocks(path.read_text(encoding="utf-8"))
        if block.letter in ("F", "M") and block.complexity > MOST_COMPLEX
    ]
    return Row("complexity", title, str(len(found)), [f"{many:3} {place}" for many, place in sorted(found)[::-1]])


def size_rows(checkout: Checkout) -> Iterator[Row]:
    """Yield the rows about stand-in headers and about sizes."""
    yield _headers_row(checkout)
    own = {name: count for name, count in checkout.lines.items() if name.partition(".")[0] == "cuda_wheel"}
    details = [f"{count:6,} {name}" for name, count in sorted(own.items(), key=lambda each: (-each[1], each[0]))]
    value = f"{sum(own.values()):,} lines, {len(own)} modules"
    yield Row("python", "Python in `cuda_wheel`", value, details)
    sizes = [(node.end_lineno or node.lineno) - node.lineno + 1 for _, node in checkout.functions()]
    counts = Counter(min(size // 10 * 10, 100) for size in sizes)
    details = [f"{lowest:4} lines and more: {counts[lowest]}" for lowest in sorted(counts)]
    value = f"{sum(sizes) / len(sizes):.1f} ({len(sizes):,} functions)"
    yield Row("functions", "mean lines of a function, docstring included", value, details)


def _headers_row(checkout: Checkout) -> Row:
    headers: list[tuple[str, int, bool]] = []
    for path in checkout.tracked_files():
        if path.suffix in (".h", ".hpp", ".hh", ".cuh", ".inl", ".inc") or not path.suffix:
            text = path.read_bytes().decode("utf-8", errors="replace")
            if "\0" not in text and re.search(r"^\s*#\s*(include|pragma|define|if|ifndef|ifdef)\b", text, re.MULTILINE):
                headers.append((path.relative_to(checkout.root).as_posix(), _count(text), only_forwards(text)))
    details = [f"{lines:5} {path}{' (forwards)' * forwards}" for path, lines, forwards in headers]
    value = f"{len(headers):,} files, {sum(each[1] for each in headers):,} lines, "
    return Row("headers", "stand-in headers", value + f"{sum(each[2] for each in headers):,} only forward", details)


def record_row(checkout: Checkout) -> Row:
    """Return the row that counts the definitions of records on the build side."""
    records = []
    for name, tree in checkout.trees.items():
        if name.startswith("cuda_wheel.builder"):
            for node in ast.walk(tree):
                if isinstance(node, ast.ClassDef):
                    made = [ast.unparse(each) for each in (*node.decorator_list, *node.bases)]
                    if any(re.match(r"(\w+\.)?(dataclass|NamedTuple|TypedDict)\b", each) for each in made):
                        records.append(f"{_file(checkout, name)}:{node.lineno} {node.name}")
    title = "records defined on the build side (dataclasses, named tuples, typed dictionaries)"
    return Row("records", title, str(len(records)), records)


def _file(checkout: Checkout, module: str) -> str:
    return checkout.paths[module].relative_to(checkout.root).as_posix()


def _place(checkout: Checkout, module: str, node: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    return f"{_file(checkout, module)}:{node.lineno} {node.name}"


def _count(text: str) -> int:
    return len(text.splitlines())


# --- what processes report ------------------------------------------------------------------------------------


class Sandbox:
    """A temporary folder in which wheels are built and loaded with the modules of a checkout."""

    def __init__(self, checkout: Checkout, folder: Path) -> None:
        self.checkout = checkout
        self.folder = folder
        self._runs = 0
        probe = folder / "probe"
        probe.mkdir()
        (probe / "sitecustomize.py").write_text(PROBE.format(packages=PACKAGES), encoding="utf-8")
        self._write_metadata(probe)
        environ = {name: each for name, each in os.environ.items() if not name.startswith(("CUDA_WHEEL_", "CUDAARCHS"))}
        environ["CUDA_WHEEL_CACHE_DIR"] = str(folder / "cache")
        path = [str(probe), str(self.checkout.root), os.environ.get("PYTHONPATH", "")]
        environ["PYTHONPATH"] = os.pathsep.join(filter(None, path))
        environ["PYTHONDONTWRITEBYTECODE"] = "1"  # the checkout stays as it is
        self._environ = environ

    def _write_metadata(self, folder: Path) -> None:
        """Write metadata of an installed cuda-wheel to `folder`, so that hatchling finds the checkout's own hook."""
        files = (self.checkout.root / "pyproject.toml", self.checkout.root / "distributions/builder/pyproject.toml")
        projects = [_toml(file)["project"] for file in files if file.is_file()]  # older checkouts have one distribution
        init = (self.checkout.root / "cuda_wheel" / "__init__.py").read_text(encoding="utf-8")
        version = re.search(r"^__version__ = [\"'](.+)[\"']", init, re.MULTILINE)
        number = version[1] if version else "0"
        metadata = folder / f"cuda_wheel-{number}.dist-info"
        metadata.mkdir()
        text = f"Metadata-Version: 2.1\nName: cuda-wheel\nVersion: {number}\n"
        (metadata / "METADATA").write_text(text, encoding="utf-8")
        groups = {name: each for project in projects for name, each in project.get("entry-points", {}).items()}
        groups["console_scripts"] = projects[0].get("scripts", {})
        lines = [f"[{group}]\n" + "".join(f"{k} = {v}\n" for k, v in each.items()) for group, each in groups.items()]
        (metadata / "entry_points.txt").write_text("\n".join(lines), encoding="utf-8")

    def run(self, *arguments: str, path: Path | None = None, cwd: Path | None = None) -> tuple[str, list[Any], int]:
        """Run Python; return its output, the events that it and its child processes report, and its process identifier.

        `path` is searched first for modules. Raises RuntimeError if the process fails.
        """
        self._runs += 1
        reports = self.folder / f"reports{self._runs}"
        reports.mkdir()
        environ = {**self._environ, "HOUSE_REPORTS": str(reports)}
        if path is not None:
            environ["PYTHONPATH"] = os.pathsep.join([str(path), environ["PYTHONPATH"]])
        command = [sys.executable, *arguments]
        process = subprocess.Popen(
            command, env=environ, cwd=cwd or self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        output, errors = process.communicate(timeout=900)
        if process.returncode:
            raise RuntimeError((errors.strip() or output.strip() or f"exit status {process.returncode}")[-2000:])
        lines = [line for file in reports.glob("*.jsonl") for line in file.read_text(encoding="utf-8").splitlines()]
        return output, sorted(map(json.loads, lines), key=lambda each: int(each["time"])), process.pid

    def wheel(self, fixture: str, settings: str = "", name: str = "") -> tuple[Path, list[Any], int]:
        """Build a fixture's wheel; return the folder with its files, the reported events and the builder's process
        identifier.

        `settings` are lines for `[tool.cuda-wheel]`; `name` is that of the project's folder, by default the fixture's.
        """
        project = self.folder / (name or fixture)
        shutil.copytree(self.checkout.root / "fixtures" / fixture, project)
        if settings:
            with open(project / "pyproject.toml", "a", encoding="utf-8") as file:
                file.write(f"\n[tool.cuda-wheel]\n{settings}\n")
        _, events, process = self.run(
            "-m", "hatchling", "build", "-t", "wheel", "-d", str(project / "out"), cwd=project
        )
        (built,) = (project / "out").glob("*.whl")
        unpacked = project / "unpacked"
        with zipfile.ZipFile(built) as archive:
            archive.extractall(unpacked)
        return unpacked, events, process

    def modules(self, events: Iterable[Any], process: int) -> dict[str, int]:
        """Return module -> number of lines, for the checkout's modules that a process had imported at its end."""
        (ended,) = (each for each in events if each["kind"] == "ended" and each["process"] == process)
        root = str(self.checkout.root) + os.sep
        strange = [path for path in ended["modules"].values() if path and not path.startswith(root)]
        if strange:
            raise RuntimeError(f"modules of another cuda-wheel were imported: {', '.join(strange[:3])}")
        return {name: _count(Path(path).read_text(encoding="utf-8")) for name, path in ended["modules"].items() if path}


def build_rows(sandbox: Sandbox) -> Iterator[Row]:
    """Yield the rows about a build of `fixtures/saxpy` with an empty cache."""
    _, events, process = sandbox.wheel("saxpy")
    title, modules = "own modules that a wheel build imports", sandbox.modules(events, process)
    yield _modules_row("build", title, sandbox.checkout, modules)
    title = "frames from the hook to NVRTC"
    compiled = [each for each in events if each["kind"] == "compiled"]
    first = next((each for each in compiled if each["has_kernel"]), None)
    if first is None:
        yield Row("frames", title, "no call of nvrtcCompileProgram by ctypes was seen", [])
        return
    sent = [
        each
        for each in events
        if each["kind"] == "sent" and each["worker"] == first["process"] and each["time"] < first["time"]
    ]
    above = sent[-1]["stack"] if sent else []
    value = f"{len(above) + len(first['stack'])} ({len(above)} in the parent, {len(first['stack'])} in the worker)"
    details = [*above, "-- worker --", *first["stack"]]
    others = Counter(" > ".join(each["stack"]) for each in compiled)
    details += [f"-- {len(compiled)} calls, by frames in the process of the call --"]
    details += [f"{times} times, {stack.count(' > ') + 1} frames: {stack}" for stack, times in others.items()]
    yield Row("frames", title, value, details)


def load_rows(sandbox: Sandbox) -> Iterator[Row]:
    """Yield the rows about loading, launching and operators, with a stand-in for the driver."""
    title, found = "own modules for `load` and a launch", _stand_in(sandbox.checkout)
    if found is None:
        yield Row("load", title, "the tests have no stand-in for the driver", [])
        return
    stand_in = STAND_IN.format(driver=str(found))
    yield _observed_row("load", title, sandbox, sandbox.folder / "saxpy" / "unpacked", stand_in + LAUNCH)
    title = "own modules for a PyTorch operator"
    if importlib.util.find_spec("torch") is None:
        yield Row("operator", title, "torch is not installed", [])
        return
    yield _observed_row("operator", title, sandbox, sandbox.wheel("torch_op")[0], FIRST_TORCH + stand_in + OPERATOR)


def _observed_row(name: str, title: str, sandbox: Sandbox, path: Path, program: str) -> Row:
    """Return the row with the modules that a program imports. The program must print 1, the number of its launches."""
    try:
        output, events, process = sandbox.run("-c", program, path=path)
    except RuntimeError as error:
        return Row(name, title, "failed", str(error).splitlines())
    if output.split()[-1:] != ["1"]:
        return Row(name, title, "nothing was launched", output.splitlines())
    return _modules_row(name, title, sandbox.checkout, sandbox.modules(events, process))


def _modules_row(name: str, title: str, checkout: Checkout, modules: Mapping[str, int]) -> Row:
    """Return a row with the number of modules and, counted separately, of packages' `__init__.py`. `modules` is name ->
    lines."""
    paths = checkout.paths
    packages = [module for module in modules if paths[module].name == "__init__.py"]
    details = [f"{lines:5} {module}{' (package)' * (module in packages)}" for module, lines in sorted(modules.items())]
    value = f"{len(modules) - len(packages)} and {len(packages)} packages ({sum(modules.values()):,} lines)"
    return Row(name, title, value, details)


def _stand_in(checkout: Checkout) -> Path | None:
    """Return the path of the file in the checkout's tests that defines a stand-in for the driver; None if there is
    none."""
    for path in sorted((checkout.root / "tests").rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if "\nclass Driver:" in text and "def cuLibraryLoadData" in text:
            return path
    return None


def vendor_rows(sandbox: Sandbox) -> Iterator[Row]:
    """Yield the row about the loader that `loader = "vendor"` copies into the wheel of `fixtures/saxpy`."""
    plain = sandbox.folder / "saxpy" / "unpacked"
    vendored, _, _ = sandbox.wheel("saxpy", 'loader = "vendor"', "vendored")
    added = sorted(
        path
        for path in vendored.rglob("*")
        if path.is_file() and ".dist-info" not in path.as_posix() and not (plain / path.relative_to(vendored)).exists()
    )
    sizes = {path.relative_to(vendored).as_posix(): (_count(path.read_text("utf-8")), path) for path in added}
    core = {name: size for name, size in sizes.items() if "/_cuda_wheel/" in name and "/parts/" not in name}
    details = [f"{count:5} lines {path.stat().st_size:7} bytes {name}" for name, (count, path) in sizes.items()]
    texts = [
        f"{len(each)} files, {sum(count for count, _ in each.values()):,} lines, "
        f"{sum(path.stat().st_size for _, path in each.values()):,} bytes"
        for each in (core, sizes)
    ]
    yield Row(
        "vendor", '`loader = "vendor"` adds', f"{texts[0]}; with the parts that this wheel needs {texts[1]}", details
    )


def _toml(path: Path) -> dict[str, Any]:
    reader = importlib.import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
    parsed: dict[str, Any] = reader.loads(path.read_text(encoding="utf-8"))
    return parsed


# --- the table ------------------------------------------------------------------------------------------------


def rows_of(root: Path, text_only: bool = False) -> list[Row]:
    """Return the rows for the checkout in `root`; with `text_only`, only the rows for which no wheel is built."""
    checkout = Checkout(root)
    if not checkout.paths:
        raise SystemExit(f"{root} has no sources of cuda-wheel")
    rows: list[Row] = []
    if not text_only:
        with tempfile.TemporaryDirectory(prefix="house-") as folder:
            sandbox = Sandbox(checkout, Path(folder).resolve())
            try:
                for part in build_rows, load_rows, vendor_rows:
                    rows += part(sandbox)
            except RuntimeError as error:  # the rows that need no build are still worth having
                rows.append(Row("failure", "a build failed", "see the details", str(error).splitlines()))
    return [*rows, record_row(checkout), *module_rows(checkout), *size_rows(checkout)]


def table(columns: Mapping[str, list[Row]]) -> str:
    """Return a Markdown table with a column for each checkout; `columns` is label -> rows."""
    titles: dict[str, str] = {}
    values: dict[tuple[str, str], str] = {}
    for label, rows in columns.items():
        for row in rows:
            titles.setdefault(row.name, row.title)
            values[row.name, label] = row.value
    lines = [f"| name | | {' | '.join(columns)} |", f"| --- | --- |{' --- |' * len(columns)}"]
    for name, title in titles.items():
        lines.append(f"| {name} | {title} | {' | '.join(values.get((name, label), '') for label in columns)} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("checkout", nargs="*", type=Path, default=[Path(__file__).parents[1]])
    parser.add_argument("--details", metavar="ROW", action="append", default=[], help="the name of a row, or all")
    parser.add_argument("--text-only", action="store_true", help="omit the rows for which wheels are built")
    arguments = parser.parse_args()
    labels = [path.resolve().name for path in arguments.checkout]
    if len(set(labels)) < len(labels):
        labels = [str(path) for path in arguments.checkout]
    columns = {
        label: rows_of(path, arguments.text_only) for label, path in zip(labels, arguments.checkout, strict=True)
    }
    print(table(columns))
    for label, rows in columns.items():
        for row in rows:
            if row.name in arguments.details or "all" in arguments.details:
                print(f"\n## {label}: {row.title}: {row.value}\n")
                print("\n".join(row.details))


if __name__ == "__main__":
    main()
