"""Find the CUDA texts that a Python file compiles at run time, and the lines that change with a module for each."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from cuda_wheel.adoption.script_reader import ScriptCall, calls_in, parsed, readable
from cuda_wheel.adoption.script_values import known
from cuda_wheel.builder.cxx.kernel_scan import kernels_in

__all__ = ["KernelText", "changed_lines", "texts_in"]

_TEXTS = {"RawModule": "code", "RawKernel": "code", "SourceModule": "source", "load_inline": "cuda_sources"}
"""The functions of CuPy, PyCUDA and PyTorch that compile a text, and the argument that has it."""


class KernelText(NamedTuple):
    """A text that a Python file compiles."""

    text: str | None
    """What a file of it has; None if it is composed at run time."""
    options: tuple[str, ...]
    instantiate: tuple[str, ...]
    name: str
    """Of a file and a module for it: that of its first kernel."""
    call: ScriptCall


def texts_in(path: Path) -> list[KernelText]:
    """Return the texts that a Python file compiles, in their order. Raises ConfigError."""
    return [_text(call, path) for call in calls_in(path, _TEXTS) if not call.keywords.get("path")]


_INLINE_HEADERS = "#include <torch/types.h>\n#include <cuda.h>\n#include <cuda_runtime.h>\n"
"""What load_inline writes before a text (torch.utils.cpp_extension)."""


def _text(call: ScriptCall, path: Path) -> KernelText:
    is_inline = call.function == "load_inline"
    value = call.argument(2 if is_inline else 0, _TEXTS[call.function])
    parts = [each for each in ([value] if isinstance(value, str) else known(value)) if isinstance(each, str)]
    headers = _INLINE_HEADERS if is_inline and not call.keywords.get("no_implicit_headers") else ""
    text = headers + "\n".join(parts).strip("\n") + "\n" if parts else None
    has_options = call.function in ("RawKernel", "SourceModule")
    given = call.argument(2 if has_options else 99, "options", "extra_cuda_cflags")
    options = [each for each in known(given) if isinstance(each, str)]
    for name in ("include_dirs", "extra_include_paths"):
        options += [f"-I{each}" for each in known(call.keywords.get(name)) if isinstance(each, str)]
    kernel = call.argument(1, "name") if call.function == "RawKernel" else None
    names = [each.name for each in kernels_in(text or "")]
    instances = [kernel] if isinstance(kernel, str) and "<" in kernel else known(call.keywords.get("name_expressions"))
    if not isinstance(kernel, str) or "<" in kernel:
        kernel = names[0] if names else path.stem
    return KernelText(text, tuple(options), tuple(map(str, instances)), kernel, call)


# --- the lines that change ----------------------------------------------------------------------------


def changed_lines(path: Path, modules: Mapping[ast.Call, str]) -> Iterator[tuple[int, str, str]]:
    """Yield what changes in a Python file whose texts become modules: the line, the expression, and the new one.

    `modules` are the names of the modules by the calls that compile the texts.
    """
    names = {(call.lineno, call.col_offset): name for call, name in modules.items()}
    reader = _ChangedLines(names)
    with readable(path):
        reader.visit(parsed(path))
    yield from sorted(reader.found)


class _ChangedLines(ast.NodeVisitor):
    """Follows modules and kernels through variables."""

    def __init__(self, names: Mapping[tuple[int, int], str]) -> None:
        self._names = names
        self._kinds: dict[str, str] = {}
        """Variables, and whether each is a "module" or a "kernel"."""
        self.found: list[tuple[int, str, str]] = []

    def visit_Assign(self, node: ast.Assign) -> None:
        self.generic_visit(node)
        kind = self._kind(node.value)
        if kind:
            self._kinds |= {ast.unparse(target): kind for target in node.targets}

    def visit_Call(self, node: ast.Call) -> None:
        self.generic_visit(node)
        name = self._names.get((node.lineno, node.col_offset))
        if name is not None and self._function(node) in _TEXTS:
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
        """Return whether an expression is a module or a kernel; None if it is neither."""
        if isinstance(node, ast.Call):
            function = self._function(node)
            if (node.lineno, node.col_offset) in self._names and function in _TEXTS:
                return "kernel" if function == "RawKernel" else "module"
            owner = node.func.value if isinstance(node.func, ast.Attribute) else None
            is_kernel = function == "get_function" and owner is not None and self._kind(owner) == "module"
            return "kernel" if is_kernel else None
        return self._kinds.get(ast.unparse(node)) if isinstance(node, (ast.Name, ast.Attribute)) else None


_KEYWORDS = {"shared_mem": "shared_memory", "shared": "shared_memory", "stream": "stream"}


def _launch(node: ast.Call) -> str:
    """Return a launch as one of cuda-wheel: CuPy's is kernel(grid, block, arguments), PyCUDA's has keywords."""
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
