"""Read what a Python file passes to chosen functions, from its syntax tree: nothing of the file is executed.

Values that the text determines are computed: literals, variables, lists that grow, paths, the results of the file's own
functions. Values that depend on the machine are those of Linux with CUDA. All other values are UNKNOWN. In an exact
reading, values of the machine, and those of a branch that may not run, are UNKNOWN, too.
"""

from __future__ import annotations

import ast
import glob
import itertools
import operator
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from cuda_wheel.builder.errors import ConfigError
from cuda_wheel.migrate.read_files import OWN_PACKAGE, READS, OpenFile, file_function, file_method, lines_of

__all__ = [
    "COMPARISONS",
    "MACHINE",
    "UNKNOWN",
    "Reading",
    "ScriptCall",
    "attempt",
    "call_function",
    "call_method",
    "calls_and_readings",
    "calls_in",
    "is_large",
    "is_whole",
    "is_wide",
    "known",
    "parsed",
    "readable",
    "strings",
    "summed",
]


class _Unknown:
    """A value that cannot be found without running the file."""

    def __bool__(self) -> bool:
        return False

    def __repr__(self) -> str:
        return "UNKNOWN"


UNKNOWN = _Unknown()


def _iterated(value: Any) -> list[Any] | None:
    """Return the items of a list, tuple or set, or the keys of a dictionary; None for all else."""
    if not isinstance(value, (list, tuple, set, dict)):
        return None
    return [UNKNOWN if isinstance(each, _Unknown) else each for each in value]


def known(value: Any) -> list[Any]:
    """Return the items of a list, tuple or set, without those that are UNKNOWN. Return an empty list for all else."""
    return [each for each in value if each is not UNKNOWN] if isinstance(value, (list, tuple, set)) else []


def strings(value: Any) -> list[str]:
    """Return a string or a path as a list of one string; the strings and paths of a list as strings. Return an empty
    list for all else."""
    listed = [value] if isinstance(value, (str, os.PathLike)) else known(value)
    return [os.fspath(each) for each in listed if isinstance(each, (str, os.PathLike))]


MACHINE = {
    "os.name": "posix",
    "sys.platform": "linux",
    "os.sep": "/",
    "os.curdir": ".",
    "os.path.curdir": ".",
    "os.pardir": "..",
    "os.path.pardir": "..",
    "CUDA_HOME": "/usr/local/cuda",
    "ROCM_HOME": None,
    "torch.version.hip": None,
    "torch.version.cuda": "12.9",
    "torch.__version__": "2.11.0",
    "__name__": OWN_PACKAGE,
    "__package__": OWN_PACKAGE,
    "True": True,
}
"""Variable or attribute, as source text such as "sys.platform" -> its value on Linux with CUDA."""

_ANYWHERE = frozenset({"os.sep", "__name__", "__package__", "True"}) | {
    "os.curdir",
    "os.path.curdir",
    "os.pardir",
    "os.path.pardir",
}
"""Keys of MACHINE that an exact reading knows."""

_ANSWERS: dict[str, Any] = {
    "torch.cuda.is_available": True,
    "is_available": True,
    "platform.system": "Linux",
    "os.getcwd": "",
    "torch.cuda.get_device_capability": (8, 0),
}
"""Name of a function, such as "platform.system" -> its result on Linux with CUDA."""


COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "Eq": operator.eq,
    "NotEq": operator.ne,
    "Is": operator.is_,
    "IsNot": operator.is_not,
    "In": lambda left, right: left in right,
    "NotIn": lambda left, right: left not in right,
    "Lt": operator.lt,
    "LtE": operator.le,
    "Gt": operator.gt,
    "GtE": operator.ge,
}
"""Name of an operator in `ast`, such as "NotEq" -> function of the two operands."""

_MOST_ITEMS = 10_000  # bounds a loop that adds a list to itself
"""Limit for the paths that a glob pattern finds, and for the items in a sum of lists. The rest is dropped."""


def call_function(function: str, arguments: Sequence[Any], keywords: Mapping[str, Any], folder: str) -> Any:
    """Return the result of a function of Python or PyTorch, such as "os.path.join"; UNKNOWN for all other functions.

    Relative paths are relative to `folder`.
    """
    if function in _ANSWERS:
        return _ANSWERS[function]
    if function in ("os.getenv", "os.environ.get", "getenv"):
        return arguments[1] if len(arguments) > 1 else None
    if UNKNOWN in arguments:
        return UNKNOWN
    found = file_function(function, arguments, keywords, folder)
    if found is not None:
        return found
    name = function.removeprefix("os.path.").removeprefix("osp.").removeprefix("path.")
    if name in ("abspath", "realpath"):
        return os.path.abspath(os.path.join(folder, arguments[0]))
    if name in ("join", "dirname", "basename", "normpath", "splitext"):
        return getattr(os.path, name)(*map(os.fspath, arguments))
    if name == "split" and name != function:
        return os.path.split(os.fspath(arguments[0]))
    if name in ("exists", "isdir", "isfile"):
        return getattr(os.path, name)(os.path.join(folder, arguments[0]))
    if function in ("Path", "pathlib.Path"):
        return Path(*arguments)
    if function in ("glob.glob", "glob"):
        return _globbed(os.path.join(folder, arguments[0]), folder, bool(keywords.get("recursive")))
    if function in ("list", "sorted", "set", "tuple", "enumerate", "zip", "reversed", "range"):
        return list(_LISTS[function](*[_iterated(each) if isinstance(each, dict) else each for each in arguments]))
    if name == "product":
        return list(itertools.product(*arguments))
    plain: dict[str, Callable[..., Any]] = {"str": str, "int": int, "bool": bool, "len": len, "dict": dict}
    return plain[function](*arguments, **keywords) if function in plain else UNKNOWN


_LISTS: dict[str, Callable[..., Iterable[Any]]] = {
    "list": list,
    "sorted": sorted,
    "set": dict.fromkeys,
    "tuple": tuple,
    "enumerate": enumerate,
    "zip": zip,
    "reversed": reversed,
    "range": lambda *bounds: range(*bounds)[:1000],
}
"""Name of a built-in function, such as "sorted" -> function that takes the same arguments and returns the items of the
result. A set keeps the order of its items; a range is cut to 1000 items."""


def summed(left: Any, right: Any) -> Any:
    """Return `left + right`; UNKNOWN if it cannot be found. If one is a list, the sum has the items of those that are
    lists or tuples."""
    if isinstance(left, list) or isinstance(right, list):
        return [each for part in (left, right) if isinstance(part, (list, tuple)) for each in part][:_MOST_ITEMS]
    if UNKNOWN in (left, right) or is_large(left) or is_large(right):
        return UNKNOWN
    return attempt(lambda: left + right)


_MOST_CHARACTERS = 1 << 20  # bounds a loop that adds a string to itself
"""Maximum length of a string or tuple in a computation. With a longer one, the result is UNKNOWN."""


def is_large(value: Any) -> bool:
    """Return whether a string, tuple or number is larger than any that a build needs."""
    if isinstance(value, int):
        return value.bit_length() > 128
    return isinstance(value, (str, bytes, tuple)) and len(value) > _MOST_CHARACTERS


def is_wide(text: str) -> bool:
    """Return whether formatting with `text` may give a far longer string: a width has four digits or more, or is an
    argument, as in "%*d"."""
    return bool(re.search(r"\d{4}|%[^a-zA-Z%]*\*|\{[^{}]*\{", text))


def _globbed(pattern: str, folder: str, recursive: bool) -> Any:
    """Return the sorted paths of the files that match the absolute glob pattern `pattern`.

    `folder`: folder of the script. `recursive`: argument of `glob.glob`. If it is True, a pattern with "**" must start
    in the parent of `folder` or below; else return UNKNOWN.
    """
    root = os.path.dirname(folder)  # a script may be in a folder below the sources
    start = os.path.normpath(re.split(r"[*?\[]", pattern)[0] or folder)
    if "**" in pattern and recursive and not (start + os.sep).startswith(root.rstrip(os.sep) + os.sep):
        return UNKNOWN
    return sorted(itertools.islice(glob.iglob(pattern, recursive=recursive), _MOST_ITEMS))


def attempt(function: Callable[[], Any]) -> Any:
    """Return what a function returns; UNKNOWN if it raises an error, because the values do not fit it."""
    try:
        return function()
    except (TypeError, ValueError, KeyError, IndexError, AttributeError, OSError, OverflowError):
        return UNKNOWN


_METHODS = frozenset(
    {"split", "splitlines", "strip", "lstrip", "rstrip", "replace", "format", "join", "startswith", "endswith"}
    | {"lower", "upper", "get", "keys", "values", "items"}
)
"""Names of methods that `call_method` evaluates and that leave their string or dictionary unchanged."""

_CHANGING = frozenset({"append", "extend", "insert", "update"})
"""Names of methods that `call_method` evaluates and that add items to their list or dictionary."""


def call_method(owner: Any, name: str, arguments: Sequence[Any], keywords: Mapping[str, Any], folder: str) -> Any:
    """Return the result of a method of a known value; UNKNOWN if it cannot be found. Relative paths are relative to
    `folder`."""
    found = None if UNKNOWN in arguments else attempt(lambda: file_method(owner, name, arguments, folder))
    if found is not None:
        return found
    if isinstance(owner, Path):
        return _call_path_method(owner, name, arguments, folder)
    if name in _CHANGING and isinstance(owner, (list, dict)) and len(owner) < _MOST_ITEMS:
        return attempt(lambda: getattr(owner, name)(*arguments, **keywords))
    if name == "copy" and isinstance(owner, (list, dict)):
        return owner.copy()
    if name not in _METHODS or UNKNOWN in arguments:
        return UNKNOWN
    if isinstance(owner, str) and _may_be_large(owner, name, arguments):
        return UNKNOWN
    if isinstance(owner, dict) and name in ("keys", "items"):
        keys = _iterated(owner) or []
        return keys if name == "keys" else list(zip(keys, owner.values(), strict=True))
    result = attempt(lambda: getattr(owner, name)(*arguments))
    return list(result) if name == "values" and result is not UNKNOWN else result


def _call_path_method(owner: Path, name: str, arguments: Sequence[Any], folder: str) -> Any:
    """Return the result of the method `name` of the path `owner`; UNKNOWN if it cannot be computed.

    `folder`: the folder to which `owner` is relative, for methods that look for files, such as "glob".
    """
    if name in ("resolve", "absolute", "expanduser"):
        return owner
    if name in ("glob", "rglob"):
        below = "**" if name == "rglob" else ""
        found = attempt(lambda: _globbed(os.path.join(folder, owner, below, arguments[0]), folder, True))
        return UNKNOWN if found is UNKNOWN else [Path(each) for each in found]
    if name in ("exists", "is_dir", "is_file"):
        return attempt(lambda: getattr(Path(folder, owner), name)())
    return owner.as_posix() if name == "as_posix" else UNKNOWN


def _may_be_large(owner: str, name: str, arguments: Sequence[Any]) -> bool:
    """Return whether the result of the method `name` of the string `owner` could be too long to compute.

    True for "replace" and "join" if the result could exceed _MOST_CHARACTERS, and for "format" if a width or an
    argument is large. False otherwise.
    """
    if name == "format":
        return is_wide(owner) or any(map(is_large, arguments))
    if name == "replace":
        return len(owner) * sum(len(each) + 1 for each in arguments if isinstance(each, str)) > _MOST_CHARACTERS
    if name == "join":
        parts = [each for each in arguments if isinstance(each, (list, tuple, str))]
        sizes = [len(owner) + len(each) for part in parts for each in part if isinstance(each, str)]
        return sum(sizes) > _MOST_CHARACTERS
    return False


def is_whole(value: Any) -> bool:
    """Return whether nothing in a value is UNKNOWN."""
    if isinstance(value, dict):
        return all(not isinstance(key, _Unknown) and is_whole(each) for key, each in value.items())
    if isinstance(value, (list, tuple, set)):
        return all(map(is_whole, value))
    return not isinstance(value, _Unknown)


class ScriptCall(NamedTuple):
    """A call of one of the chosen functions."""

    function: str
    """Name of the called function, without its module: "CUDAExtension"."""
    arguments: tuple[Any, ...]
    keywords: Mapping[str, Any]
    node: ast.Call

    def argument(self, position: int | None, name: str) -> Any:
        """Return an argument by its 0-based position or name; None if it is missing. `position` is None for an argument
        that only a keyword gives."""
        if position is not None and position < len(self.arguments):
            return self.arguments[position]
        return self.keywords.get(name)


class Reading(NamedTuple):
    """An expression that reads a file of which the text is not known."""

    line: int
    """1-based line of the expression."""
    expression: str
    """Source text of the expression, such as "open(path)"."""


def calls_in(path: Path, functions: Iterable[str], is_exact: bool = False) -> list[ScriptCall]:
    """Return the calls of functions of these names in a Python file. Raises ConfigError if it cannot be read.

    `is_exact`: whether a value is UNKNOWN if it depends on the machine, or on a condition that is not known.
    """
    return calls_and_readings(path, functions, is_exact)[0]


def calls_and_readings(
    path: Path, functions: Iterable[str], is_exact: bool = False
) -> tuple[list[ScriptCall], list[Reading]]:
    """Return the calls of functions of these names in a Python file, and where it reads files that are not found.

    `is_exact` is that of `calls_in`. Raises ConfigError if the file cannot be read.
    """
    names = frozenset(functions)
    with readable(path):
        tree = parsed(path)
        # A call may stand where nothing leads on this machine: if BUILD_CUDA:, whose default is off.
        for every_branch in (False, True):
            reader = _ScriptReader(path, names, every_branch, is_exact)
            calls = reader.read(tree)
            if calls:
                break
        return calls, sorted(reader.readings)


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """Convert a RecursionError or MemoryError, raised while a file is read, to ConfigError."""
    try:
        yield
    except (RecursionError, MemoryError) as error:
        raise ConfigError(f"{path} cannot be read: its expressions are nested too deeply, or are too large.") from error


def parsed(path: Path) -> ast.Module:
    """Return the syntax tree of a Python file. Raises ConfigError if the file does not exist or is not valid Python."""
    if not path.is_file():
        raise ConfigError(f"{path} is no file.")
    try:
        tree = ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError) as error:
        raise ConfigError(f"{path} cannot be read: {error}") from error
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, int) and is_large(node.value):
            raise ConfigError(f"{path}:{node.lineno}: contains a number of {node.value.bit_length()} bits.")
    return tree


_MOST_STEPS = 200_000
"""Maximum number of statements and expressions that are evaluated in one reading of a file. Each round of a loop
counts."""


class _Return(Exception):
    """Raised by a return statement in a function of the file that is being evaluated."""

    def __init__(self, value: Any) -> None:
        self.value = value


class _ScriptReader:
    """Evaluates the statements of a Python file without running it, and collects the calls of chosen functions.

    The method `_NAME` evaluates the syntax node `NAME` of `ast`, in lower case: `_augassign` is for `ast.AugAssign`.
    """

    def __init__(self, path: Path, functions: frozenset[str], every_branch: bool, is_exact: bool = False) -> None:
        self._calls: list[ScriptCall] = []
        """Calls of the functions named in `functions`, in the order in which they are evaluated."""
        self.readings: set[Reading] = set()
        """Expressions that read files of which the text is not known."""
        self._functions = functions
        self._every_branch = every_branch
        self._is_exact = is_exact
        self._machine = {name: value for name, value in MACHINE.items() if name in _ANYWHERE or not is_exact}
        self._folder = str(path.parent)
        self._names: dict[str, Any] = {"__file__": os.path.abspath(path)}
        self._defined: dict[str, ast.FunctionDef | ast.AsyncFunctionDef] = {}
        self._called: set[str] = set()
        """Names of the file's own functions that were evaluated."""
        self._active: list[str] = []
        """Names of the file's own functions that are being evaluated, outermost first."""
        self._steps = 0
        """Number of statements and expressions that were evaluated."""

    def read(self, tree: ast.Module) -> list[ScriptCall]:
        """Return the calls in a whole file, in its order. Functions that the file itself does not call are evaluated
        too."""
        self._block(tree.body)
        uncalled = [
            node
            for node in ast.walk(tree)
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name not in self._called
        ]
        for node in uncalled:
            self._enter(node, {})
        return sorted(self._calls, key=lambda call: (call.node.lineno, call.node.col_offset))

    # --- statements -----------------------------------------------------------------------------------

    def _block(self, statements: Sequence[ast.stmt]) -> None:
        """Evaluate statements, each by the method that has the name of its syntax node: `_assign` for `ast.Assign`.

        `_compound` evaluates a statement without such a method. Nothing more is evaluated after _MOST_STEPS.
        """
        for statement in statements:
            self._steps += 1
            if self._steps > _MOST_STEPS:
                return
            getattr(self, f"_{type(statement).__name__.lower()}", self._compound)(statement)

    def _importfrom(self, node: ast.ImportFrom) -> None:
        for each in node.names:
            if each.asname and each.name in self._functions:
                self._names[each.asname] = each.name

    def _functiondef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        self._defined[node.name] = node

    _asyncfunctiondef = _functiondef

    def _return(self, node: ast.Return) -> None:
        value = None if node.value is None else self._value(node.value)
        if self._active:
            raise _Return(value)

    def _assign(self, node: ast.Assign) -> None:
        value = self._value(node.value)
        for target in node.targets:
            self._set_target(target, value)

    def _annassign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self._set_target(node.target, self._value(node.value))

    def _augassign(self, node: ast.AugAssign) -> None:
        left, right = self._value(node.target), self._value(node.value)
        self._set_target(node.target, UNKNOWN if self._is_exact and UNKNOWN in (left, right) else summed(left, right))

    def _expr(self, node: ast.Expr) -> None:
        self._value(node.value)

    def _for(self, node: ast.For) -> None:
        values = self._iterated_over(node.iter)
        for value in [UNKNOWN] if values is None else values:
            self._set_target(node.target, value)
            self._block(node.body)
        if values is None:
            self._forget(node.body)

    def _iterated_over(self, node: ast.expr) -> list[Any] | None:
        """Return what an expression gives when it is iterated over, such as the lines of an open file; None if that is
        not known."""
        value = self._value(node)
        return lines_of(value, self._folder) if isinstance(value, OpenFile) else _iterated(value)

    def _forget(self, statements: Sequence[ast.stmt]) -> None:
        """In an exact reading, make UNKNOWN what statements change that may not run, or run another number of times."""
        for node in (each for statement in statements for each in ast.walk(statement) if self._is_exact):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _CHANGING:
                self._set_target(node.func.value, UNKNOWN)
            elif isinstance(node, (ast.Name, ast.Attribute)) and isinstance(node.ctx, ast.Store):
                self._set_target(node, UNKNOWN)
            elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
                self._set_target(node.value, UNKNOWN)

    def _compound(self, node: ast.stmt) -> None:
        """Evaluate the blocks of a statement without a method of its own, such as `with`, `try`, `while` and `class`.

        The blocks of `except` are not evaluated.
        """
        for item in getattr(node, "items", ()):
            value = self._value(item.context_expr)
            if item.optional_vars is not None:
                self._set_target(item.optional_vars, value if isinstance(value, (OpenFile, Path)) else UNKNOWN)
        for name in ("body", "handlers", "orelse", "finalbody"):
            self._block([each for each in getattr(node, name, ()) if isinstance(each, ast.stmt)])
        if isinstance(node, ast.While):
            self._forget(node.body)

    def _if(self, node: ast.If) -> None:
        """Evaluate the branch that the test of an `if` selects. Evaluate both branches if the test is UNKNOWN, or if
        the reader was made with `every_branch`."""
        test = self._value(node.test)
        taken, other = (node.orelse, node.body) if not test and test is not UNKNOWN else (node.body, node.orelse)
        if test is not UNKNOWN and not self._every_branch:
            self._block(taken)
            return
        has_returned = False
        for block in (other, taken):  # the value that the second one gives to a name stays
            try:
                self._block(block)
            except _Return as returned:
                has_returned = True
                if returned.value is not UNKNOWN and block is taken and not self._is_exact:
                    raise
        if test is UNKNOWN:
            self._forget([*node.body, *node.orelse])
        if has_returned and self._is_exact:
            raise _Return(UNKNOWN)

    def _set_target(self, target: ast.expr, value: Any) -> None:
        """Assign `value` to `target`, the left side of an assignment: a name, a tuple of names ("a, b"), an attribute,
        or an item of a dictionary ("options['nvcc']")."""
        if isinstance(target, (ast.Tuple, ast.List)):
            values = list(value) if isinstance(value, (list, tuple)) else []
            values += [UNKNOWN] * (len(target.elts) - len(values))
            for each, part in zip(target.elts, values, strict=False):
                self._set_target(each, part)
        elif isinstance(target, ast.Subscript):
            owner, key = self._value(target.value), self._value(target.slice)
            if isinstance(owner, dict) and isinstance(key, str):
                owner[key] = value
        else:
            self._names[ast.unparse(target)] = value

    # --- expressions ----------------------------------------------------------------------------------

    def _value(self, node: ast.expr) -> Any:
        """Return the value of an expression; UNKNOWN if it cannot be found without running the file."""
        self._steps += 1
        if self._steps > _MOST_STEPS:
            return UNKNOWN
        method: Callable[[Any], Any] | None = getattr(self, f"_{type(node).__name__.lower()}", None)
        if method is not None:
            return method(node)
        for child in ast.iter_child_nodes(node):  # may contain calls
            if isinstance(child, ast.expr):
                self._value(child)
        return UNKNOWN

    def _constant(self, node: ast.Constant) -> Any:
        is_text = isinstance(node.value, str)
        return UNKNOWN if is_text and re.search("[\ud800-\udfff]", str(node.value)) else node.value  # no file has those

    def _name(self, node: ast.Name) -> Any:
        if node.id in self._functions:
            return node.id  # of a variable that stands for the function
        return self._names.get(node.id, self._machine.get(node.id, UNKNOWN))

    def _attribute(self, node: ast.Attribute) -> Any:
        text = ast.unparse(node)
        if text in self._names or text in self._machine:
            return self._names.get(text, self._machine.get(text))
        if node.attr in self._functions:
            return node.attr
        owner = self._value(node.value)
        if isinstance(owner, Path) and node.attr in ("parent", "parents", "name", "stem", "suffix"):
            return list(owner.parents) if node.attr == "parents" else getattr(owner, node.attr)
        return UNKNOWN

    def _items(self, nodes: Iterable[ast.expr]) -> Iterator[Any]:
        """Yield the value of each expression. A starred expression, such as `*names`, gives the value of each of its
        items."""
        for node in nodes:
            if isinstance(node, ast.Starred):
                value = self._value(node.value)
                yield from value if isinstance(value, (list, tuple, set)) else [UNKNOWN]
            else:
                yield self._value(node)

    def _list(self, node: ast.List | ast.Set) -> Any:
        return list(self._items(node.elts))

    _set = _list

    def _tuple(self, node: ast.Tuple) -> Any:
        return tuple(self._items(node.elts))

    def _dict(self, node: ast.Dict) -> Any:
        found: dict[Any, Any] = {}
        for key, each in zip(node.keys, node.values, strict=True):
            value = self._value(each)
            if key is None:
                found |= value if isinstance(value, dict) else {_Unknown(): UNKNOWN} if self._is_exact else {}
            else:
                name = self._value(key)
                with suppress(TypeError):  # a key with a list in it
                    # A value is known even if its key is not: {cupy.float32: "float"}.
                    found[_Unknown() if name is UNKNOWN else name] = value
        return found

    def _joinedstr(self, node: ast.JoinedStr) -> Any:
        parts = [self._value(each) for each in node.values]
        return UNKNOWN if UNKNOWN in parts or any(map(is_large, parts)) else "".join(parts)

    def _formattedvalue(self, node: ast.FormattedValue) -> Any:
        value = self._value(node.value)
        form = "" if node.format_spec is None else self._value(node.format_spec)
        if UNKNOWN in (value, form) or re.search(r"\d{4}", form):  # a string that is far too long
            return UNKNOWN
        convert: dict[str, Callable[[Any], str]] = {"r": repr, "s": str, "a": ascii}
        name = chr(max(node.conversion, 0))
        return attempt(lambda: format(convert[name](value) if name in convert else value, form))

    def _binop(self, node: ast.BinOp) -> Any:
        left, right = self._value(node.left), self._value(node.right)
        if isinstance(node.op, ast.Add):
            return UNKNOWN if self._is_exact and UNKNOWN in (left, right) else summed(left, right)
        if isinstance(node.op, ast.Div) and isinstance(left, Path) and isinstance(right, (str, Path)):
            # As a string: Python 3.12 and later join all parts of both paths anew, one after the other.
            return UNKNOWN if is_large(str(left)) else left / str(right)
        if isinstance(node.op, ast.Mod) and isinstance(left, str) and right is not UNKNOWN:
            return UNKNOWN if is_wide(left) else attempt(lambda: left % right)
        return UNKNOWN

    def _unaryop(self, node: ast.UnaryOp) -> Any:
        value = self._value(node.operand)
        if value is UNKNOWN:
            return UNKNOWN
        if isinstance(node.op, ast.Not):
            return not value
        return attempt(lambda: -value) if isinstance(node.op, ast.USub) else UNKNOWN

    def _boolop(self, node: ast.BoolOp) -> Any:
        is_or = isinstance(node.op, ast.Or)
        values = [self._value(each) for each in node.values]
        for value in values[:-1]:
            if value is not UNKNOWN and bool(value) == is_or:
                return value
        return UNKNOWN if UNKNOWN in values else values[-1]

    def _compare(self, node: ast.Compare) -> Any:
        left, right = self._value(node.left), self._value(node.comparators[0])
        if UNKNOWN in (left, right) or len(node.ops) > 1:
            return UNKNOWN
        return attempt(lambda: COMPARISONS[type(node.ops[0]).__name__](left, right))

    def _ifexp(self, node: ast.IfExp) -> Any:
        test, body, orelse = self._value(node.test), self._value(node.body), self._value(node.orelse)
        if test is UNKNOWN and self._is_exact:
            return UNKNOWN
        return body if test or test is UNKNOWN else orelse

    def _subscript(self, node: ast.Subscript) -> Any:
        owner, key = self._value(node.value), self._value(node.slice)
        return attempt(lambda: owner[key]) if owner is not UNKNOWN and key is not UNKNOWN else UNKNOWN

    def _slice(self, node: ast.Slice) -> Any:
        parts = [None if each is None else self._value(each) for each in (node.lower, node.upper, node.step)]
        return UNKNOWN if UNKNOWN in parts else slice(*parts)

    def _listcomp(self, node: ast.ListComp | ast.GeneratorExp | ast.SetComp) -> Any:
        found: list[Any] = []
        return found if self._comprehend(node.generators, node.elt, found) else UNKNOWN

    def _comprehend(self, generators: Sequence[ast.comprehension], element: ast.expr, found: list[Any]) -> bool:
        """Add the values of a comprehension to `found`; return False if what it iterates over is not known."""
        if not generators:
            found.append(self._value(element))
            return len(found) < _MOST_ITEMS
        generator, *others = generators
        values = self._iterated_over(generator.iter)
        if values is None:
            return False
        for value in values:
            self._steps += 1
            if self._steps > _MOST_STEPS:
                return False
            self._set_target(generator.target, value)
            tests = [self._value(test) for test in generator.ifs]
            if UNKNOWN in tests and self._is_exact:
                return False
            if all(test or test is UNKNOWN for test in tests) and not self._comprehend(others, element, found):
                return False
        return True

    _generatorexp = _setcomp = _listcomp

    # --- calls ----------------------------------------------------------------------------------------

    def _call(self, node: ast.Call) -> Any:
        function = ast.unparse(node.func)
        name = function.rpartition(".")[2]
        arguments = tuple(self._items(node.args))
        keywords: dict[str, Any] = {}
        for keyword in node.keywords:
            value = self._value(keyword.value)
            if keyword.arg:
                keywords[keyword.arg] = value
            elif isinstance(value, dict):
                keywords |= value
        if name in self._functions or self._alias(function) in self._functions:
            call = ScriptCall(name if name in self._functions else self._alias(function), arguments, keywords, node)
            if not any(each.node is node and str(each) == str(call) for each in self._calls):
                self._calls.append(call)
            return UNKNOWN
        if function in self._defined:
            return self._enter(self._defined[function], _bound(self._defined[function], arguments, keywords))
        owner = self._value(node.func.value) if isinstance(node.func, ast.Attribute) else UNKNOWN
        if owner is not UNKNOWN:
            result = call_method(owner, name, arguments, keywords, self._folder)
            if self._is_exact and name in _CHANGING and isinstance(owner, (list, dict)) and result is UNKNOWN:
                self._set_target(node.func.value, UNKNOWN)  # type: ignore[attr-defined]
        elif function in _ANSWERS and self._is_exact:
            result = UNKNOWN
        else:
            result = attempt(lambda: call_function(function, arguments, keywords, self._folder))
        if result is UNKNOWN and (name in READS or isinstance(owner, OpenFile)):
            self.readings.add(Reading(node.lineno, ast.unparse(node)))
        return result

    def _alias(self, function: str) -> str:
        """Return the value of the variable `function`: the name of a function; "" if it is not a string.

        After `extension = CUDAExtension`, `_alias("extension")` is "CUDAExtension".
        """
        value = self._names.get(function)
        return value if isinstance(value, str) else ""

    def _enter(self, node: ast.FunctionDef | ast.AsyncFunctionDef, arguments: dict[str, Any]) -> Any:
        """Evaluate one of the file's own functions, and return its result; UNKNOWN for a recursive or too deeply nested
        call.

        `arguments`: parameter -> value, without defaults.
        """
        self._called.add(node.name)
        if node.name in self._active or len(self._active) > 20:
            return UNKNOWN
        outer = self._names
        names = [each.arg for each in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
        own = dict.fromkeys(names, UNKNOWN) | _defaults(node, self._value) | arguments
        self._names = outer | own
        self._active.append(node.name)
        try:
            self._block(node.body)
        except _Return as returned:
            return returned.value
        finally:
            self._active.pop()
            self._names = outer
        return None


def _bound(
    node: ast.FunctionDef | ast.AsyncFunctionDef, arguments: Sequence[Any], keywords: Mapping[str, Any]
) -> dict[str, Any]:
    """Return parameter -> value for a call of the function `node`.

    `arguments`: values of the positional arguments. `keywords`: name of a keyword argument -> value.
    """
    names = [each.arg for each in (*node.args.posonlyargs, *node.args.args)]
    return dict(zip(names, arguments, strict=False)) | dict(keywords)


def _defaults(node: ast.FunctionDef | ast.AsyncFunctionDef, value: Callable[[ast.expr], Any]) -> dict[str, Any]:
    """Return parameter -> default, for each parameter of the function `node` that has a default.

    `value` is called with the default's expression, and returns its value.
    """
    names = [each.arg for each in (*node.args.posonlyargs, *node.args.args)]
    count = len(node.args.defaults)
    found = {name: value(each) for name, each in zip(names[len(names) - count :], node.args.defaults, strict=True)}
    for argument, each in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True):
        if each is not None:
            found[argument.arg] = value(each)
    return found
