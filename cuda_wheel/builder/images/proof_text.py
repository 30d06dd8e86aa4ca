"""Shorten a PTX text to some of its kernels, which contain every form of line that the whole text contains.

A PTX ISA version changes how the assembler reads a form, not one line among many of the same form. So a proof that two
versions give the same machine code needs each form once. Sources with many instances of a template repeat themselves:
the shorter text takes a tenth of the time to assemble.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from cuda_wheel.builder.images.ptx_items import Item, items

__all__ = ["proof_text"]

_VALUE = re.compile(
    r"%(?:r|rd|rs|rq|f|fd|h|hh|b)\d+|(?<![\w$%.])-?(?:0[fFdDxX][0-9a-fA-F]+U?|\d+)(?![\w.])"
    r"|\$L__\w+|(?<=%p)\d+|(?<=__local_depot)\d+|(?<=_param_)\d+|(?<=__unnamed_)\d+|(?<=(?<![\w$])_Z)(?!_param_)[\w$]+|\$str(?:\$\d+)?"
)
"""A register of the compiler's that is no predicate, a number, a label or string literal of the compiler's, or the
number of a predicate, of local memory, of a parameter or of a variable without a name."""

_TOKEN = re.compile(r"-?[\w$%.]+|[^\w$%.-]+|-")
"""A word with its sign, or what stands between words."""

_PARAMETER = re.compile(r"^\.param [^\n]*", re.MULTILINE)
"""A line that declares a parameter: the size of all together may need a version."""


def proof_text(ptx: str, proven: Collection[str] = ()) -> tuple[str, frozenset[str]]:
    """Return a normalised PTX text without kernels that a proof does not need, and the forms that it proves.

    The forms of the lines in both texts, and the `proven` ones, are the same: their words and punctuation, with any
    register, number or label as an operand and with any kernel's name. Functions, variables and other directives are
    all kept, and so is a text with debug information, which contains the addresses of its kernels. The text is empty if
    all its forms are proven.
    """
    if ".debug_info" in ptx:
        return ptx, frozenset()
    known = frozenset(proven)
    kernels = [item for item in items(ptx) if item.is_kernel]
    missing = {item: _forms(ptx, item) - known for item in kernels}
    chosen = _cover(missing)
    kept, between, at = [], [], 0
    for item in kernels:
        between.append(ptx[at : item.start])
        kept.append(ptx[at : item.end if item in chosen else item.start])
        at = item.end
    rest = _forms_of("".join([*between, ptx[at:]])) - known
    if not chosen and not rest:
        return "", frozenset()
    return "".join([*kept, ptx[at:]]), rest.union(*missing.values())


def _forms_of(text: str) -> frozenset[str]:
    form = "".join(map(_GENERAL.__getitem__, _TOKEN.findall(text)))
    return frozenset([*_PARAMETER.findall(text), *form.split("\n")]) - {""}


class _GeneralTokens(dict[str, str]):
    """For each token, the token with "0" for a register, number, label or name, as in a form.

    A text repeats few tokens so often that looking each up is three times as fast as searching the whole text.
    """

    def __missing__(self, token: str) -> str:
        general = _VALUE.sub("0", token)
        if len(self) < 1 << 18:
            self[token] = general
        return general


_GENERAL = _GeneralTokens()


def _forms(ptx: str, kernel: Item) -> frozenset[str]:
    # Names of what a kernel contains have its own name in them, without the first two letters if that is mangled.
    text = ptx[kernel.start : kernel.end].replace(kernel.name.removeprefix("_Z"), "")
    return _forms_of(text)


def _cover(forms: Mapping[Item, Collection[str]]) -> set[Item]:
    """Return kernels that together have all forms: each time the one that adds most for its length."""
    chosen: set[Item] = set()
    missing = {item: set(each) for item, each in forms.items() if each}
    while missing:
        best = max(missing, key=lambda item: (len(missing[item]) / (item.end - item.start), -item.start))
        chosen.add(best)
        added = missing.pop(best)
        missing = {item: rest for item, each in missing.items() if (rest := each - added)}
    return chosen
