"""Add the operators of a release of PyTorch to the list of names that the stand-in headers declare.

Run it for each release: `python scripts/pytorch_operators.py native_functions.yaml 2.14`. A wheel of PyTorch has that
file in torchgen/packaged/ATen/native. Names that the list already has stay where they are, also if the release lacks
them: a build may use an older PyTorch. Not added are names with a leading underscore, copies of views, functions of one
back end, and what other stand-in headers declare themselves. Needs PyYAML.
"""

from __future__ import annotations

import re
import sys
import textwrap
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

FOLDER = Path(__file__).parents[1] / "cuda_wheel/builder/headers/pytorch/cuda_wheel_detail/pytorch"
HEADER = FOLDER / "operator_names.h"

MANY = 7
"""Number of arguments from which an operator needs the declaration with 14 parameters."""

NOT_ADDED = re.compile(r"_|cudnn_|fbgemm_|miopen_|mkldnn_|mps_|quantized_|sym_|.*_copy(?:_|$)|.*_for_mps")

_LIST = re.compile(r"^#define CUDA_WHEEL_PYTORCH_(\w+)\(X\) \\\n((?:    .*\n)+)", re.MULTILINE)
_OF_PAIRS = re.compile(r"\(Tensor(?: \w+)?, Tensor(?: \w+)?\)")
_OF_TRIPLES = re.compile(r"\(Tensor(?: \w+)?, Tensor(?: \w+)?, Tensor(?: \w+)?\)")


class Overload(NamedTuple):
    """One overload of a PyTorch operator."""

    arguments: tuple[str, ...]
    """Type and name of each argument: "Tensor self"."""
    result: str
    """Type of the result, without alias annotations: "Tensor", "(Tensor values, Tensor indices)", "Tensor[]"."""
    variants: str
    """How it is called: "function", "method" or "function, method"."""


def main() -> None:
    """Add the names of the operators in the file and write the header."""
    import yaml  # inside: an optional requirement

    path, release = sys.argv[1:]
    found = operators(yaml.safe_load(Path(path).read_text(encoding="utf-8")))
    text = HEADER.read_text(encoding="utf-8")
    listed = {match[1]: re.findall(r"X\((\w+)\)", match[2]) for match in _LIST.finditer(text)}
    for name, names in added_names(found, listed, _declared_elsewhere()).items():
        listed[name] += names
        print(name, *names)
    text = _LIST.sub(lambda match: f"#define CUDA_WHEEL_PYTORCH_{match[1]}(X) \\\n{as_lines(listed[match[1]])}", text)
    HEADER.write_text(re.sub(r"\(PyTorch [\d.]+\)", f"(PyTorch {release})", text, count=1), encoding="utf-8")


def operators(entries: Iterable[Mapping[str, Any]]) -> dict[str, list[Overload]]:
    """Return name -> overloads of each operator, without overloads that write to arguments named `out`."""
    found: dict[str, list[Overload]] = defaultdict(list)
    for entry in entries:
        schema = re.fullmatch(r"(\w+)(?:\.(\w+))?\((.*)\) -> (.*)", entry["func"])
        assert schema is not None, entry["func"]
        name, overload, arguments, result = schema.groups()
        if not (overload or "").endswith("out"):
            plain = re.sub(r"(Tensor)\(\w+( -> \*)?!?\)", r"\1", result)
            words = re.split(r", (?![^\[]*\])", arguments)
            given = tuple(each for each in words if each not in ("", "*"))
            found[name].append(Overload(given, plain, entry.get("variants", "function")))
    return found


def added_names(
    found: Mapping[str, list[Overload]], listed: Mapping[str, list[str]], elsewhere: Iterable[str]
) -> dict[str, list[str]]:
    """Return list -> names of operators to add to it.

    `listed` is list -> names that it has already; `elsewhere` are the names that other headers declare.
    """
    known = {*elsewhere, *(name.removesuffix("_out") for names in listed.values() for name in names)}
    added: dict[str, list[str]] = defaultdict(list)
    for name, overloads in found.items():
        kind = None if name in known or NOT_ADDED.match(name) else kind_of(name, overloads)
        if kind is not None:
            added[kind].append(name)
    return added


def kind_of(name: str, overloads: list[Overload]) -> str | None:
    """Return the list for an operator, such as "BOTH_PAIRS", by how it is called and what it returns; None if no list
    fits."""
    results = {each.result for each in overloads}
    variants = " ".join(each.variants for each in overloads)
    called = "FUNCTIONS"
    if "method" in variants:
        called = "BOTH" if "function" in variants else "METHODS"
    if results == {"Tensor"}:
        return called + _tensor_suffix(name, called, overloads)
    if called == "METHODS":
        return None
    if results == {"Tensor[]"}:
        return "BOTH_VECTORS" if called == "BOTH" else "FUNCTION_VECTORS"
    if all(map(_OF_PAIRS.fullmatch, results)):
        return "BOTH_PAIRS" if called == "BOTH" else "FUNCTION_PAIRS"
    return "FUNCTION_TRIPLES" if called == "FUNCTIONS" and all(map(_OF_TRIPLES.fullmatch, results)) else None


def _tensor_suffix(name: str, called: str, overloads: list[Overload]) -> str:
    """Return the suffix of the list's name, such as "_IN_PLACE", for an operator that returns one tensor. `called` is
    the start of that name."""
    if name.endswith("_"):
        return "_IN_PLACE"
    if called == "METHODS":
        return ""
    if any(not (each.arguments and each.arguments[0].startswith("Tensor ")) for each in overloads):
        return "_FREE"
    return "_WIDE" if max(len(each.arguments) for each in overloads) >= MANY else ""


def _declared_elsewhere() -> set[str]:
    """Return every name before a parenthesis in the other stand-in headers of PyTorch."""
    texts = (path.read_text(encoding="utf-8") for path in FOLDER.glob("*.h") if path != HEADER)
    return {name for text in texts for name in re.findall(r"\b(\w+)\(", text)}


def as_lines(names: Iterable[str]) -> str:
    """Return the lines of a list's macro with `X(name)` for each name, sorted; names for symbolic sizes (`_symint`)
    come first."""
    ordered = sorted(names, key=lambda name: (not name.endswith("_symint"), name))
    words = " ".join(f"X({name})" for name in ordered)
    lines = textwrap.wrap(words, 114, break_long_words=False, break_on_hyphens=False)
    return "".join(f"    {line} \\\n" for line in lines[:-1]) + f"    {lines[-1]}\n"


if __name__ == "__main__":
    main()
