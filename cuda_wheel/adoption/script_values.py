"""Values in a Python file that is read and not run: what is not known, and what functions return on Linux with CUDA."""

from __future__ import annotations

import glob
import itertools
import operator
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

__all__ = ["COMPARISONS", "MACHINE", "UNKNOWN", "attempt", "call_function", "call_method", "known", "summed"]


class _Unknown:
    """A value that the text does not determine."""

    def __bool__(self) -> bool:
        return False

    def __repr__(self) -> str:
        return "UNKNOWN"


UNKNOWN = _Unknown()


def known(value: Any) -> list[Any]:
    """Return the items of a list that the text determines; none for what is no list."""
    return [each for each in value if each is not UNKNOWN] if isinstance(value, (list, tuple, set)) else []


MACHINE = {
    "os.name": "posix",
    "sys.platform": "linux",
    "os.sep": "/",
    "CUDA_HOME": "/usr/local/cuda",
    "ROCM_HOME": None,
    "torch.version.hip": None,
    "torch.version.cuda": "12.9",
    "torch.__version__": "2.11.0",
    "__name__": "__main__",
    "True": True,
}
"""What expressions are on Linux with CUDA."""

_ANSWERS: dict[str, Any] = {
    "torch.cuda.is_available": True,
    "is_available": True,
    "platform.system": "Linux",
    "os.getcwd": "",
    "torch.cuda.get_device_capability": (8, 0),
}
"""What calls return there."""


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
"""Operators, by the names of their syntax nodes."""

_MOST_ITEMS = 10_000
"""Items of a list; a list that is added to itself in a loop ends there."""


def call_function(function: str, arguments: Sequence[Any], keywords: Mapping[str, Any], folder: str) -> Any:
    """Return what a function of Python or PyTorch returns; UNKNOWN for all that are not known.

    Relative paths start in `folder`.
    """
    if function in _ANSWERS:
        return _ANSWERS[function]
    if function in ("os.getenv", "os.environ.get", "getenv"):
        return arguments[1] if len(arguments) > 1 else None
    if UNKNOWN in arguments:
        return UNKNOWN
    name = function.removeprefix("os.path.").removeprefix("osp.").removeprefix("path.")
    if name in ("abspath", "realpath"):
        return os.path.abspath(os.path.join(folder, arguments[0]))
    if name in ("join", "dirname", "basename", "normpath", "splitext"):
        return getattr(os.path, name)(*map(os.fspath, arguments))
    if name in ("exists", "isdir", "isfile"):
        return getattr(os.path, name)(os.path.join(folder, arguments[0]))
    if function in ("Path", "pathlib.Path"):
        return Path(*arguments)
    if function in ("glob.glob", "glob"):
        found = glob.glob(os.path.join(folder, arguments[0]), recursive=bool(keywords.get("recursive")))
        return sorted(found)
    if function in ("list", "sorted", "set", "tuple", "enumerate", "zip", "reversed", "range"):
        return list(_LISTS[function](*arguments))
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
"""Functions of Python that return a list, or what becomes one here."""


def summed(left: Any, right: Any) -> Any:
    """Return a sum. What is known of a list counts, also if the other part is not."""
    if isinstance(left, list) or isinstance(right, list):
        return [each for part in (left, right) if isinstance(part, (list, tuple)) for each in part][:_MOST_ITEMS]
    return UNKNOWN if UNKNOWN in (left, right) else attempt(lambda: left + right)


def attempt(function: Callable[[], Any]) -> Any:
    """Return what a function returns; UNKNOWN if the values do not fit it."""
    try:
        return function()
    except (TypeError, ValueError, KeyError, IndexError, AttributeError, OSError, OverflowError):
        return UNKNOWN


_METHODS = frozenset(
    {"split", "splitlines", "strip", "lstrip", "rstrip", "replace", "format", "join", "startswith", "endswith"}
    | {"lower", "upper", "get", "keys", "values", "items"}
)
"""Methods of strings and dictionaries that change nothing."""

_CHANGING = frozenset({"append", "extend", "insert", "update"})
"""Methods by which lists and dictionaries grow."""


def call_method(owner: Any, name: str, arguments: Sequence[Any], keywords: Mapping[str, Any]) -> Any:
    """Return the result of a method of a known value."""
    if isinstance(owner, Path):
        if name in ("resolve", "absolute", "expanduser"):
            return owner
        if name in ("glob", "rglob"):
            return attempt(lambda: sorted(getattr(owner, name)(*arguments)))
        known_names = ("exists", "is_dir", "is_file", "as_posix")
        return attempt(lambda: getattr(owner, name)()) if name in known_names else UNKNOWN
    if name in _CHANGING and isinstance(owner, (list, dict)) and len(owner) < _MOST_ITEMS:
        return attempt(lambda: getattr(owner, name)(*arguments, **keywords))
    if name == "copy" and isinstance(owner, (list, dict)):
        return owner.copy()
    if name not in _METHODS or UNKNOWN in arguments:
        return UNKNOWN
    result = attempt(lambda: getattr(owner, name)(*arguments))
    return list(result) if name in ("keys", "values", "items") and result is not UNKNOWN else result
