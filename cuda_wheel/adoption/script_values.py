"""Values in a Python file that is read and not run: what is not known, and what functions return on Linux with CUDA."""

from __future__ import annotations

import glob
import itertools
import operator
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

__all__ = [
    "COMPARISONS",
    "MACHINE",
    "UNKNOWN",
    "attempt",
    "call_function",
    "call_method",
    "is_large",
    "is_wide",
    "known",
    "summed",
]


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
        return _globbed(os.path.join(folder, arguments[0]), folder, bool(keywords.get("recursive")))
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
    if UNKNOWN in (left, right) or is_large(left) or is_large(right):
        return UNKNOWN
    return attempt(lambda: left + right)


_MOST_CHARACTERS = 1 << 20
"""Of a string; one that is added to itself in a loop ends there."""


def is_large(value: Any) -> bool:
    """Return whether a string, tuple or number is larger than any that a build needs."""
    if isinstance(value, int):
        return value.bit_length() > 128
    return isinstance(value, (str, bytes, tuple)) and len(value) > _MOST_CHARACTERS


def is_wide(text: str) -> bool:
    """Return whether a format may give many more characters than it has: by widths, which arguments may have too."""
    return bool(re.search(r"\d{4}|%[^a-zA-Z%]*\*|\{[^{}]*\{", text))


def _globbed(pattern: str, folder: str, recursive: bool) -> Any:
    """Return the files of a pattern, sorted; UNKNOWN for a search of all folders that does not begin in the project."""
    root = os.path.dirname(folder)  # a script may be in a folder below the sources
    start = os.path.normpath(re.split(r"[*?\[]", pattern)[0] or folder)
    if "**" in pattern and recursive and not (start + os.sep).startswith(root.rstrip(os.sep) + os.sep):
        return UNKNOWN
    return sorted(itertools.islice(glob.iglob(pattern, recursive=recursive), _MOST_ITEMS))


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


def call_method(owner: Any, name: str, arguments: Sequence[Any], keywords: Mapping[str, Any], folder: str) -> Any:
    """Return the result of a method of a known value. Relative paths start in `folder`."""
    if isinstance(owner, Path):
        if name in ("resolve", "absolute", "expanduser"):
            return owner
        if name in ("glob", "rglob"):
            below = "**" if name == "rglob" else ""
            found = attempt(lambda: _globbed(os.path.join(folder, owner, below, arguments[0]), folder, True))
            return UNKNOWN if found is UNKNOWN else [Path(each) for each in found]
        known_names = ("exists", "is_dir", "is_file", "as_posix")
        return attempt(lambda: getattr(owner, name)()) if name in known_names else UNKNOWN
    if name in _CHANGING and isinstance(owner, (list, dict)) and len(owner) < _MOST_ITEMS:
        return attempt(lambda: getattr(owner, name)(*arguments, **keywords))
    if name == "copy" and isinstance(owner, (list, dict)):
        return owner.copy()
    if name not in _METHODS or UNKNOWN in arguments:
        return UNKNOWN
    if isinstance(owner, str) and _may_be_large(owner, name, arguments):
        return UNKNOWN
    result = attempt(lambda: getattr(owner, name)(*arguments))
    return list(result) if name in ("keys", "values", "items") and result is not UNKNOWN else result


def _may_be_large(owner: str, name: str, arguments: Sequence[Any]) -> bool:
    """Return whether a method of a string may return one that is larger than any that a build needs."""
    if name == "format":
        return is_wide(owner) or any(map(is_large, arguments))
    if name == "replace":
        return len(owner) * sum(len(each) + 1 for each in arguments if isinstance(each, str)) > _MOST_CHARACTERS
    if name == "join":
        parts = [each for each in arguments if isinstance(each, (list, tuple, str))]
        sizes = [len(owner) + len(each) for part in parts for each in part if isinstance(each, str)]
        return sum(sizes) > _MOST_CHARACTERS
    return False
