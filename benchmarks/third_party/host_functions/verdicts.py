"""What `compare.py` found, as the page docs/translated.md: `python verdicts.py COMPARED.json [ENDS.json] PAGE.md`.

COMPARED.json is of a run with all extensions, also those that were kept apart. ENDS.json, from `ends.py`, is of the
extensions that were moved by commands alone: name -> {"by_hand": lines that were written by hand, "tests": outcomes}.
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[2]))

from _results import table
from ports.results import is_as_the_original, tests

__all__ = ["KINDS", "kind", "page", "reason", "worst"]

KINDS = (
    "same bits", "as two calls of the original", "both raise", "EMPTY LAUNCH", "DIFFERS", "FAILED", "NOT COMPARED",
)  # fmt: skip
"""Kinds of verdicts on a case."""

EQUAL, RAISES = "equal", "only raises"

RULE = """\
`cuda-wheel import` writes the Python of an extension's host functions. The population are extensions of PyTorch
packages, chosen by rule before anything was tried: `benchmarks/third_party/host_functions/packages.toml` has the rule,
the repositories and their commits. A quarter of them was kept apart: nothing was changed for them before they were
measured.

A function is a definition of the extension for Python (`m.def`, `TORCH_LIBRARY`). It is whole if nothing of it, and of
what it calls, is left to be written; otherwise what is not translated raises `NotImplementedError` with its file and
line. Functions for tensors in host memory only can stay C++, and are counted all the same.

`compare.py` builds the originals with nvcc and PyTorch's headers, and the translations, as they are, with cuda-wheel,
both from the unedited sources. Both get equal inputs: the usual ones, odd sizes, other element types, strides, no
elements, and arguments that the original refuses. A call has the same bits if all results and all arguments after it
have, with their shapes, strides and element types. Where threads add in any order, two calls of the original differ,
too. A function is wrong in silence if a call gives another result, or none of the original's exceptions.

A launch without blocks is an error in CUDA, and the translation leaves it out: where only the original raises for that,
the call is an `EMPTY LAUNCH`."""


def kind(verdict: str) -> str:
    """Return the kind of a verdict on a case."""
    if is_as_the_original(verdict):
        return "as two calls of the original"
    return verdict.partition(":")[0]


def worst(cases: Iterable[Mapping[str, str]]) -> dict[str, str]:
    """Return function -> what its cases say of it: "DIFFERS" if one does, else "FAILED" if one does, "equal" if one
    gives what the original gives, "only raises" if none of both gives anything, or "NOT COMPARED"."""
    found: dict[str, set[str]] = defaultdict(set)
    for case in cases:
        found[case["function"]].add(kind(case["verdict"]))
    return {function: _worst(kinds) for function, kinds in found.items()}


def _worst(kinds: set[str]) -> str:
    for each in ("DIFFERS", "FAILED"):
        if each in kinds:
            return each
    if kinds & {"same bits", "as two calls of the original"}:
        return EQUAL
    return RAISES if "both raise" in kinds else "NOT COMPARED"


def reason(text: str) -> str:
    """Return a reason in words that are equal for equal causes: without the names of the extension."""
    words = []
    for word in text.split():
        bare = word.strip(",.;:()'")
        is_own = not re.fullmatch(
            r"(std|at|torch|c10|cuda\w*)(::[\w:]+)?|[a-z-]+(\(\))?|[^\w\s]+|I|PyTorch|Python|TensorOptions\S*", bare
        )
        words.append(word.replace(bare, "…") if bare and is_own else word)
    return re.sub(r"…( …)+", "…", " ".join(words))


def page(compared: Mapping[str, Any], ends: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the page."""
    extensions = compared["extensions"]
    parts = ["# Host functions, translated", RULE, _summary(compared), _by_extension(extensions)]
    parts += ["## Calls with other results", _listed(extensions, "DIFFERS")]
    parts += ["## Calls that fail", _listed(extensions, "FAILED", only_whole=True)]
    parts += ["## What is not translated", _reasons(extensions)]
    if ends:
        rows = [["extension", "lines written by hand"]]
        rows += [[name, str(each["by_hand"])] for name, each in ends.items()]
        parts += ["## Whole extensions by commands", ABOUT_ENDS, table(rows)]
        parts += [tests({name: each["tests"] for name, each in ends.items()})]
    return "\n\n".join(parts) + "\n"


ABOUT_ENDS = """\
`git clone`, `cuda-wheel import setup.py --write`, `git rm setup.py` and `pip wheel .`, as `ends.py` prints them, then
the package's own test files, unedited, on the GPU. A script counts as one test."""


def _functions(extensions: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    return [function for each in extensions for function in each["translated"].get("functions", ())]


def _share(part: int, whole: int) -> str:
    return f"{part} of {whole} ({100 * part / whole:.0f} %)" if whole else "none"


def _summary(compared: Mapping[str, Any]) -> str:
    extensions, machine = compared["extensions"], compared["machine"]
    every = [*extensions.values()]
    kept = [each for each in every if each["apart"]]
    functions = _functions(every)
    lines = [
        f"- {len(every)} extensions define {len(functions)} functions; {len(kept)} of them, with "
        f"{len(_functions(kept))}, were kept apart.",
        f"- On {machine['gpu']}, PyTorch {machine['torch']}, Python {machine['python']}.",
    ]
    rows = [["", "all", "kept apart"]]
    for what, of in (("functions that are whole", _whole), ("launches that are translated", _launches)):
        rows.append([what, of(every), of(kept)])
    for what, wanted in (
        ("functions compared", (EQUAL, "DIFFERS")),
        ("of them equal", (EQUAL,)),
        ("wrong in silence", ("DIFFERS",)),
        ("fail loudly", ("FAILED",)),
        ("only raise, as the original", (RAISES,)),
        ("not compared", ("NOT COMPARED",)),
    ):
        rows.append([what, *(str(sum(_counts(each)[one] for one in wanted)) for each in (every, kept))])
    return "\n".join(lines) + "\n\n" + table(rows)


def _whole(extensions: Sequence[Mapping[str, Any]]) -> str:
    functions = _functions(extensions)
    return _share(sum(each["is_whole"] for each in functions), len(functions))


def _launches(extensions: Sequence[Mapping[str, Any]]) -> str:
    counted = [each["translated"] for each in extensions]
    return _share(*(sum(each.get(name, 0) for each in counted) for name in ("translated_launches", "launches")))


def _counts(extensions: Iterable[Mapping[str, Any]]) -> Counter[str]:
    """Return what the cases say of the functions -> number of functions. A function without cases is not compared."""
    counts: Counter[str] = Counter()
    for each in extensions:
        found = Counter(each.get("functions", {}).values())
        defined = len(each["translated"].get("functions", ()))
        counts += found + Counter({"NOT COMPARED": max(0, defined - found.total())})
    return counts


def _by_extension(extensions: Mapping[str, Mapping[str, Any]]) -> str:
    rows = [["extension", "functions", "whole", "launches", "translated", "calls", *KINDS]]
    for name, each in extensions.items():
        translated, functions = each["translated"], each["translated"].get("functions", ())
        numbers = len(functions), sum(function["is_whole"] for function in functions)
        numbers += translated.get("launches", 0), translated.get("translated_launches", 0), len(each.get("cases", ()))
        kinds = Counter(kind(case["verdict"]) for case in each.get("cases", ()))
        rows.append([f"{name}{' (apart)' * each['apart']}", *map(str, (*numbers, *(kinds[one] for one in KINDS)))])
    failed = [f"- {name}: {why}" for name, each in extensions.items() for why in _why_not(each)]
    return table(rows) + ("\n\n" + "\n".join(failed) if failed else "")


def _why_not(extension: Mapping[str, Any]) -> Iterator[str]:
    """Yield why an extension as a whole is not translated or not compared."""
    if "failed" in extension["translated"]:
        yield f"not translated: {extension['translated']['failed'].splitlines()[0]}"
    if "failed" in extension:
        yield f"not compared: {extension['failed'].splitlines()[0]}"


def _listed(extensions: Mapping[str, Mapping[str, Any]], wanted: str, only_whole: bool = False) -> str:
    """Return the cases of a kind as a list; `only_whole`: without functions that are known as unfinished."""
    lines = []
    for name, each in extensions.items():
        unfinished = {
            function["name"] for function in each["translated"].get("functions", ()) if not function["is_whole"]
        }
        for case in each.get("cases", ()):
            is_known = only_whole and case["function"].rpartition("::")[2] in unfinished
            if kind(case["verdict"]) == wanted and not is_known:
                what = f"{case['function']}{', ' * bool(case['what'])}{case['what']}"
                lines.append(f"- {name}: {what}: {' '.join(case['verdict'].split())}")
    if only_whole:
        return "\n".join(["Of functions that are whole:", "", *(lines or ["None."])])
    return "\n".join(lines) or "None."


def _reasons(extensions: Mapping[str, Mapping[str, Any]]) -> str:
    """Return a table of the reasons why functions are not whole, those of most functions first."""
    functions: dict[str, set[tuple[str, str]]] = defaultdict(set)
    places: dict[str, list[str]] = defaultdict(list)
    for name, each in extensions.items():
        for function in each["translated"].get("functions", ()):
            for failure in function["failures"]:
                text = reason(failure["reason"])
                functions[text].add((name, function["name"]))
                places[text].append(f"{name}: {failure['path']}:{failure['line']}")
    rows = [["reason", "functions", "places", "the first of them"]]
    for text in sorted(functions, key=lambda text: (-len(functions[text]), text)):
        found = [*dict.fromkeys(places[text])]
        rows.append([text.replace("|", "\\|"), str(len(functions[text])), str(len(found)), found[0]])
    return table(rows) if functions else "Nothing."


def main(arguments: Sequence[str]) -> None:
    *found, target = map(Path, arguments)
    compared, *ends = (json.loads(path.read_text(encoding="utf-8")) for path in found)
    target.write_text(page(compared, ends[0] if ends else {}), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
