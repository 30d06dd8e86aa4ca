"""Write the reference of Python functions and classes as Markdown, from their source text.

What is read is the source and not the objects: attributes have docstrings there, and defaults and types their names.
Docstrings are Markdown, with indented examples.
"""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Iterator
from typing import Any, TypeGuard

__all__ = ["described", "with_fences"]

_WIDTH = 88
"""Width of a signature in characters; a longer one has a line for each parameter."""

_Function = ast.FunctionDef | ast.AsyncFunctionDef


def described(value: Any, level: int, constructor: bool = False) -> str:
    """Return the Markdown section of a function or class: its signature, its docstring, and a class's members.

    `level` is that of its heading. With `constructor`, a class is shown with its `__init__`. A class has the members
    that it inherits from classes of cuda-wheel that are not public. Raises ValueError if it has no docstring.
    """
    node = _tree(value)
    parts = [f"{'#' * level} {node.name}"]
    if isinstance(node, ast.ClassDef):
        own = {each.name for each in node.body if isinstance(each, _Function)}
        inherited = (each for base in value.__mro__[1:] if _is_internal(base) for each in _tree(base).body)
        node.body += [each for each in inherited if not (isinstance(each, _Function) and each.name in own)]
        parts += [_python(_class_lines(node, constructor)), _docstring(node, node.name), *_members(node, level)]
    else:
        parts += [_python(_signature(node)), _docstring(node, node.name)]
    return "\n\n".join(parts)


def _tree(value: Any) -> Any:
    """Return the syntax tree of a function or class."""
    source = textwrap.dedent(inspect.getsource(inspect.unwrap(value)))
    return _Unquoted().visit(ast.parse(source)).body[0]


def _is_internal(kind: type) -> bool:
    """Return whether a class is cuda-wheel's, and not public."""
    import cuda_wheel

    return kind.__module__.partition(".")[0] == "cuda_wheel" and kind.__name__ not in cuda_wheel.__all__


class _Unquoted(ast.NodeTransformer):
    """Take the quotes off annotations that are strings."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        node.returns = _unquoted(node.returns)
        return self.generic_visit(node)  # type: ignore[return-value]

    def visit_arg(self, node: ast.arg) -> ast.arg:
        node.annotation = _unquoted(node.annotation)
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AnnAssign:
        node.annotation = _unquoted(node.annotation) or node.annotation
        return node


def _unquoted(annotation: ast.expr | None) -> ast.expr | None:
    quoted = isinstance(annotation, ast.Constant) and isinstance(annotation.value, str)
    return ast.parse(annotation.value, mode="eval").body if quoted else annotation  # type: ignore[union-attr]


def _class_lines(node: ast.ClassDef, constructor: bool) -> str:
    """Return the first line of a class, and with `constructor` the signature of its `__init__`."""
    bases = ", ".join(_source(base) for base in node.bases)
    line = f"class {node.name}({bases}):" if bases else f"class {node.name}:"
    for method in node.body:
        if constructor and isinstance(method, _Function) and method.name == "__init__":
            return line + "\n" + textwrap.indent(_signature(method), "    ")
    return f"{line} ..."


def _members(node: ast.ClassDef, level: int) -> Iterator[str]:
    """Yield the Markdown of a class's public members: a list of its attributes, and a section for each method that has
    a docstring."""
    attributes = "\n".join(_attributes(node))
    if attributes:
        yield attributes
    for method in node.body:
        if _is_described(method) and not _is_property(method):
            name = f"{node.name}.{method.name}"
            yield f"{'#' * (level + 1)} {name}\n\n{_python(_signature(method))}\n\n{_docstring(method, name)}"


def _attributes(node: ast.ClassDef) -> Iterator[str]:
    """Yield a line of a list for each attribute and property."""
    for item, after in zip(node.body, [*node.body[1:], None], strict=True):
        if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name) and _is_public(item.target.id):
            default = f" = {_source(item.value)}" if _is_literal(item.value) else ""
            yield _item(f"{item.target.id}: {_source(item.annotation)}{default}", _text_of(after))
        elif _is_described(item) and _is_property(item):
            returns = f": {_source(item.returns)}" if item.returns else ""
            yield _item(f"{item.name}{returns}", _docstring(item, f"{node.name}.{item.name}"))


def _item(code: str, text: str) -> str:
    """Return an item of a list: the code, and the text of a docstring behind it."""
    return textwrap.indent(f"`{code}`" + (f": {text}" if text else ""), "  ").replace("  ", "- ", 1)


def _source(node: ast.AST) -> str:
    """Return the source of a syntax tree, with the quotes of this code base."""
    text = ast.unparse(node)
    return text if '"' in text else text.replace("'", '"')


def _is_public(name: str) -> bool:
    return not name.startswith("_")


def _is_described(node: ast.stmt) -> TypeGuard[_Function]:
    return isinstance(node, _Function) and _is_public(node.name) and ast.get_docstring(node) is not None


def _is_property(node: _Function) -> bool:
    return any(_source(each).rpartition(".")[2] in ("property", "cached_property") for each in node.decorator_list)


def _is_literal(node: ast.expr | None) -> bool:
    empty = node is not None and _source(node) in ("()", "[]", "{}")
    return isinstance(node, ast.Constant) or empty


def _text_of(node: ast.stmt | None) -> str:
    """Return the docstring that a statement is, "" if it is none."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
        return with_fences(inspect.cleandoc(node.value.value))
    return ""


def _docstring(node: Any, name: str) -> str:
    text = ast.get_docstring(node)
    if not text:
        raise ValueError(f"{name} has no docstring")
    return with_fences(text)


def _signature(node: _Function) -> str:
    """Return the definition of a function without its body, as in a stub, on one line or one line a parameter."""
    parameters = [*_parameters(node.args)]
    if parameters and parameters[0] in ("self", "cls"):
        parameters = parameters[1:]
    returns = f" -> {_source(node.returns)}" if node.returns else ""
    line = f"def {node.name}({', '.join(parameters)}){returns}: ..."
    if len(line) <= _WIDTH:
        return line
    return f"def {node.name}(\n" + "".join(f"    {each},\n" for each in parameters) + f"){returns}: ..."


def _parameters(arguments: ast.arguments) -> Iterator[str]:
    """Yield the parameters of a function as they are written, with `/` and `*` between them."""
    positional = [*arguments.posonlyargs, *arguments.args]
    defaults = [None] * (len(positional) - len(arguments.defaults)) + arguments.defaults
    for number, (argument, default) in enumerate(zip(positional, defaults, strict=True), start=1):
        yield _parameter(argument, default)
        if number == len(arguments.posonlyargs):
            yield "/"
    if arguments.vararg:
        yield "*" + _source(arguments.vararg)
    elif arguments.kwonlyargs:
        yield "*"
    for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        yield _parameter(argument, default)
    if arguments.kwarg:
        yield "**" + _source(arguments.kwarg)


def _parameter(argument: ast.arg, default: ast.expr | None) -> str:
    between = " = " if argument.annotation else "="
    return _source(argument) + (between + _source(default) if default else "")


def with_fences(docstring: str) -> str:
    """Return a docstring with a fenced block for each indented example, in the language that it looks like."""
    written: list[str] = []
    example: list[str] = []
    for line in [*docstring.split("\n"), "end"]:
        depth = _depth(next((each for each in reversed(written) if each), ""))
        text = line.lstrip()
        indent = len(line) - len(text)
        inside = bool(example) and (not text or indent >= len(example[0]) - len(example[0].lstrip()))
        if inside or (text and written[-1:] == [""] and indent >= depth + 4):
            example.append(line)
            continue
        if example:
            written += _fenced(example, depth)
            example = []
        written.append(line)
    return "\n".join(written[:-1])


def _fenced(example: list[str], depth: int) -> list[str]:
    """Return the lines of an example as a fenced block, indented as far as the text around it."""
    text = textwrap.dedent("\n".join(example)).rstrip("\n")
    after = [""] * (len(example) - len("\n".join(example).rstrip("\n").split("\n")))
    return [*textwrap.indent(_python(text, _language(text)), " " * depth).split("\n"), *after]


def _language(text: str) -> str:
    """Return "python" for a text that parses as such, else "text"."""
    try:
        ast.parse(text)
    except SyntaxError:
        return "text"
    return "python"


def _python(text: str, language: str = "python") -> str:
    return f"```{language}\n{text}\n```"


def _depth(line: str) -> int:
    """Return the column at which the text of a line begins; in a list, after the mark of the item."""
    return len(line) - len(re.sub(r"^ *(?:- )?", "", line))
