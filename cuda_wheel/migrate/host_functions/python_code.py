"""The Python code of a translated function: expressions, comments, and names that several instances may share."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any

__all__ = [
    "Choice",
    "CommentLine",
    "attribute",
    "call",
    "choices",
    "constant",
    "device_of",
    "is_constant",
    "is_flag",
    "known_of",
    "leaves",
    "lines",
    "merged",
    "name",
    "negative",
    "not_implemented",
    "parse",
    "plain_tree",
    "stored",
    "text",
    "unknown_names",
    "with_globals",
]


class Choice(ast.Name):
    """A name that can be written in several ways in the instance of a template that is translated.

    Within `launch<float>`, `float` may be the template's parameter or always float: what other instances say decides.
    """

    _fields = ("id", "ctx")

    def __init__(self, options: Sequence[str]) -> None:
        super().__init__(options[0], ast.Load())
        self.options = tuple(options)
        """Expressions of Python with the same value in this instance, the preferred one first."""


class CommentLine(ast.stmt):
    """A comment of the source."""

    _fields = ("comment",)

    def __init__(self, comment: str) -> None:
        super().__init__()
        self.comment = comment


def name(identifier: str) -> ast.Name:
    return ast.Name(identifier, ast.Load())


def constant(value: Any) -> ast.expr:
    """Return the expression of a number, a string, a bool or None."""
    if isinstance(value, (int, float)) and not isinstance(value, bool) and value < 0:
        return ast.UnaryOp(ast.USub(), ast.Constant(-value))
    return ast.Constant(value)


def attribute(owner: ast.expr, *names: str) -> ast.expr:
    for each in names:
        owner = ast.Attribute(owner, each, ast.Load())
    return owner


def call(function: ast.expr | str, *arguments: ast.expr, **keywords: ast.expr) -> ast.Call:
    callee = parse(function) if isinstance(function, str) else function
    return ast.Call(callee, list(arguments), [ast.keyword(key, value) for key, value in keywords.items()])


def not_implemented(message: str) -> ast.Raise:
    """Return the statement that raises NotImplementedError."""
    return ast.Raise(call(name("NotImplementedError"), constant(message)))


def parse(expression: str) -> ast.expr:
    """Return the tree of a Python expression."""
    return ast.parse(expression, mode="eval").body


def text(tree: ast.AST) -> str:
    """Return an expression as Python writes it."""
    return ast.unparse(_chosen(tree))


def _chosen(tree: Any) -> Any:
    """Return code with the preferred one of what can be written in several ways."""
    if isinstance(tree, Choice):
        return parse(tree.options[0])
    if isinstance(tree, list):
        return [_chosen(each) for each in tree]
    if isinstance(tree, ast.AST):
        made = type(tree).__new__(type(tree))
        made.__dict__.update(tree.__dict__)
        for each in tree._fields:
            setattr(made, each, _chosen(getattr(tree, each, None)))
        return made
    return tree


# --- instances ----------------------------------------------------------------------------------------


def merged(one: Any, other: Any) -> Any:
    """Return the code that stands for two instances of the same source; raises ValueError if they differ.

    What both can write in the same way is written so.
    """
    if isinstance(one, Choice) or isinstance(other, Choice):
        shared = [each for each in choices(one) if each in choices(other)]
        if not shared:
            raise ValueError("differ")
        return Choice(shared)
    if type(one) is not type(other):
        raise ValueError("differ")
    if isinstance(one, list):
        if len(one) != len(other):
            raise ValueError("differ")
        return [merged(left, right) for left, right in zip(one, other, strict=True)]
    if isinstance(one, ast.AST):
        made = type(one).__new__(type(one))
        made.__dict__.update(one.__dict__)
        for each in one._fields:
            setattr(made, each, merged(getattr(one, each, None), getattr(other, each, None)))
        return made
    if one != other or type(one) is not type(other):
        raise ValueError("differ")
    return one


def choices(tree: Any) -> tuple[str, ...]:
    """Return the ways in which an expression can be written; () for code that is no expression."""
    if isinstance(tree, Choice):
        return tree.options
    return (text(tree),) if isinstance(tree, ast.expr) else ()


# --- text ---------------------------------------------------------------------------------------------

WIDTH = 120


def lines(body: Sequence[ast.stmt], indent: int = 0) -> Iterator[str]:
    """Yield the source lines of statements."""
    pad = " " * indent
    if all(isinstance(each, CommentLine) for each in body):
        body = [*body, ast.Pass()]
    for each in body:
        if isinstance(each, CommentLine):
            yield from (f"{pad}# {line}".rstrip() for line in each.comment.splitlines())
        elif isinstance(each, ast.If):
            yield from _if(each, indent, "if")
        elif isinstance(each, ast.For):
            yield from _wrapped(f"for {text(each.target)} in ", each.iter, ":", indent)
            yield from lines(each.body, indent + 4)
        elif isinstance(each, ast.While):
            yield from _wrapped("while ", each.test, ":", indent)
            yield from lines(each.body, indent + 4)
        elif isinstance(each, ast.With):
            yield from _wrapped("with ", each.items[0].context_expr, ":", indent)
            yield from lines(each.body, indent + 4)
        elif isinstance(each, ast.FunctionDef):
            yield f"{pad}def {each.name}({text(each.args)}):"
            nonlocal_ = getattr(each, "nonlocals", ())
            if nonlocal_:
                yield f"{pad}    nonlocal {', '.join(nonlocal_)}"
            yield from lines(each.body, indent + 4)
        elif isinstance(each, ast.Assign):
            targets = "".join(f"{_target(target)} = " for target in each.targets)
            yield from _wrapped(targets, each.value, "", indent)
        elif isinstance(each, ast.AugAssign):
            operator = text(ast.BinOp(ast.Name("a", ast.Load()), each.op, ast.Name("b", ast.Load())))[2:-2]
            yield from _wrapped(f"{text(each.target)} {operator}= ", each.value, "", indent)
        elif isinstance(each, ast.Return):
            yield from [f"{pad}return"] if each.value is None else _wrapped("return ", each.value, "", indent)
        elif isinstance(each, ast.Raise) and each.exc is not None:
            yield from _wrapped("raise ", each.exc, "", indent)
        elif isinstance(each, ast.Expr):
            yield from _wrapped("", each.value, "", indent)
        else:
            yield from (pad + line for line in text(each).splitlines())


def _target(tree: ast.expr) -> str:
    return ", ".join(map(text, tree.elts)) if isinstance(tree, ast.Tuple) else text(tree)


def _if(tree: ast.If, indent: int, word: str) -> Iterator[str]:
    yield from _wrapped(f"{word} ", tree.test, ":", indent)
    yield from lines(tree.body, indent + 4)
    if len(tree.orelse) == 1 and isinstance(tree.orelse[0], ast.If):
        yield from _if(tree.orelse[0], indent, "elif")
    elif tree.orelse:
        yield " " * indent + "else:"
        yield from lines(tree.orelse, indent + 4)


def _wrapped(before: str, tree: ast.expr, after: str, indent: int) -> Iterator[str]:
    """Yield the lines of an expression between `before` and `after`, broken at its parts where it is too long."""
    pad = " " * indent
    if isinstance(tree, ast.Tuple) and before == "return " and len(tree.elts) > 1:
        whole = ", ".join(map(text, tree.elts))
    else:
        whole = text(tree)
    if indent + len(before) + len(whole) + len(after) <= WIDTH:
        yield f"{pad}{before}{whole}{after}"
    elif isinstance(tree, ast.Call):
        parts: list[ast.expr | ast.keyword] = [*tree.args, *tree.keywords]
        joined = ", ".join(map(text, parts))
        yield f"{pad}{before}{text(tree.func)}("
        if indent + 4 + len(joined) <= WIDTH:
            yield f"{pad}    {joined}"
        else:
            for part in parts:
                value = part.value if isinstance(part, ast.keyword) else part
                shown = f"{part.arg}=" if isinstance(part, ast.keyword) and part.arg else ""
                yield from _wrapped(shown, value, ",", indent + 4)
        yield f"{pad}){after}"
    elif isinstance(tree, (ast.Tuple, ast.List)):
        opening, closing = "()" if isinstance(tree, ast.Tuple) else "[]"
        yield f"{pad}{before}{opening}"
        for element in tree.elts:
            yield from _wrapped("", element, ",", indent + 4)
        yield f"{pad}{closing}{after}"
    elif isinstance(tree, ast.BoolOp):
        word = "and" if isinstance(tree.op, ast.And) else "or"
        yield f"{pad}{before}("
        for number, element in enumerate(tree.values):
            shown = text(element)
            is_weaker = isinstance(element, (ast.IfExp, ast.Lambda, ast.BoolOp))
            yield f"{pad}    {f'{word} ' if number else ''}{f'({shown})' if is_weaker else shown}"
        yield f"{pad}){after}"
    else:
        yield f"{pad}{before}{whole}{after}"


def unknown_names(body: Sequence[ast.stmt], parameters: Iterable[str], known: Collection[str]) -> list[str]:
    """Return the names that a function reads and nothing defines, sorted.

    `known` are the names outside of the function. A variable that is first assigned from itself is unknown as well:
    Python takes it for the function's own.
    """
    tree = ast.parse("\n".join(lines(body, 0)))
    bound = set(parameters)
    found = []
    for each in ast.walk(tree):
        if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store):
            bound.add(each.id)
        elif isinstance(each, ast.FunctionDef):
            bound |= {each.name, *(one.arg for one in each.args.args)}
    for each in ast.walk(tree):
        if isinstance(each, ast.Name) and each.id not in bound and each.id not in known:
            found.append(each.id)
    assigned = {*parameters, *(one for each in ast.walk(tree) if isinstance(each, ast.Global) for one in each.names)}
    for statement in _in_order(tree.body):
        if isinstance(statement, ast.Assign):
            targets = {each.id for one in statement.targets for each in ast.walk(one) if isinstance(each, ast.Name)}
            read = {each.id for each in ast.walk(statement.value) if isinstance(each, ast.Name)}
            found += sorted((targets & read) - assigned)
            assigned |= targets
        elif isinstance(statement, ast.For):
            assigned |= {each.id for each in ast.walk(statement.target) if isinstance(each, ast.Name)}
        elif isinstance(statement, ast.FunctionDef):
            assigned |= {each.arg for each in statement.args.args}
            assigned |= {one for each in ast.walk(statement) if isinstance(each, ast.Nonlocal) for one in each.names}
    return sorted({*found})


def _in_order(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield statements and those inside them, as they stand in the text."""
    for each in body:
        yield each
        for part in ("body", "orelse"):
            yield from _in_order(getattr(each, part, ()))


def is_constant(tree: ast.expr) -> bool:
    """Return whether an expression consists of literals only."""
    return all(
        isinstance(each, (ast.Constant, ast.List, ast.Tuple, ast.UnaryOp, ast.unaryop, ast.expr_context))
        for each in ast.walk(tree)
    )


def with_globals(statements: list[ast.stmt], states: set[str]) -> list[ast.stmt]:
    """Return a function's statements behind `global` for the module's variables that they assign."""
    found = set()
    for each in (node for statement in statements for node in ast.walk(statement)):
        targets = each.targets if isinstance(each, ast.Assign) else [getattr(each, "target", None)]
        names = [node.id for target in targets if target for node in ast.walk(target) if isinstance(node, ast.Name)]
        subscripts = [
            node for target in targets if target for node in ast.walk(target) if isinstance(node, ast.Subscript)
        ]
        found |= {given for given in names if given in states and not subscripts}
        if isinstance(each, ast.FunctionDef):
            each.body = with_globals(each.body, states)
    return [ast.Global(sorted(found)), *statements] if found else statements


def negative(tree: ast.expr) -> ast.expr:
    """Return a number with the other sign."""
    return (
        constant(-tree.value)
        if isinstance(tree, ast.Constant) and isinstance(tree.value, int)
        else ast.UnaryOp(ast.USub(), tree)
    )


def repeated(item: ast.expr, count: ast.expr) -> ast.expr:
    """Return a list that has `item` `count` times."""
    return ast.BinOp(ast.List([item], ast.Load()), ast.Mult(), count)


def leaves(body: Sequence[ast.stmt]) -> bool:
    """Return whether code ends in return or raise."""
    if not body:
        return False
    last = body[-1]
    if isinstance(last, ast.If):
        return leaves(last.body) and leaves(last.orelse)
    return isinstance(last, (ast.Return, ast.Raise)) or (isinstance(last, ast.With) and leaves(last.body))


def known_of(test: ast.expr, outcome: bool) -> tuple[str, bool] | None:
    """Return what a condition says of a variable in its branch."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not) and isinstance(test.operand, ast.Name):
        return test.operand.id, not outcome
    return (test.id, outcome) if isinstance(test, ast.Name) else None


def device_of(test: ast.expr) -> str | None:
    """Return "cuda" or "cpu" if a condition says where a tensor is; None for another condition."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return {"cuda": "cpu", "cpu": "cuda"}.get(device_of(test.operand) or "")
    if isinstance(test, ast.BoolOp):
        found = {device_of(each) for each in test.values}
        return found.pop() if len(found) == 1 else None
    if isinstance(test, ast.Attribute) and test.attr in ("is_cuda", "is_cpu"):
        return test.attr.removeprefix("is_")
    if isinstance(test, ast.Compare) and len(test.ops) == 1 and text(test.left).endswith("device.type"):
        device = text(test.comparators[0]).strip("'\"")
        if isinstance(test.ops[0], (ast.Eq, ast.NotEq)) and device in ("cuda", "cpu"):
            return device if isinstance(test.ops[0], ast.Eq) else {"cuda": "cpu", "cpu": "cuda"}[device]
    return None


def is_flag(statement: ast.stmt, value: bool) -> bool:
    """Return whether a statement gives a variable this value, in one of the instances."""
    return (
        isinstance(statement, ast.Assign)
        and isinstance(statement.value, (ast.Constant, Choice))
        and (
            text(statement.value) == str(value)
            or (isinstance(statement.value, Choice) and str(value) in statement.value.options)
        )
        and isinstance(statement.targets[0], ast.Name)
    )


def plain_tree(tree: ast.expr) -> ast.expr:
    """Return an expression as it is written whatever the instance."""
    return parse(choices(tree)[-1]) if isinstance(tree, Choice) else tree


def stored(tree: ast.expr) -> Any:
    """Return the place of a value that is read: `x[0, 1]` for `x[0, 1].item()`, an element of an accessor."""
    if isinstance(tree, ast.Call) and isinstance(tree.func, ast.Attribute) and tree.func.attr == "item":
        return tree.func.value
    return tree
