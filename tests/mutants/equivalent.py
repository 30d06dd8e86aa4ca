"""The mutants that no test can kill, because the changed code does the same, each with the reason.

They are named by the line that changes, since mutmut's numbers change with the code around it.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["EQUIVALENT", "Equivalent"]


class Equivalent(NamedTuple):
    """A line of a file, what a mutant makes of it, and why that does not matter."""

    file: str
    line: str
    mutant: str
    reason: str


EQUIVALENT = (
    Equivalent(
        "runtime/rules.py",
        '" fa".index(image.target.suffix or " "),',
        '" fa".rindex(image.target.suffix or " "),',
        "no character is there twice",
    ),
    Equivalent(
        "runtime/rules.py",
        '" fa".index(image.target.suffix or " "),',
        '"XX faXX".index(image.target.suffix or " "),',
        "the order is the same",
    ),
    *(
        Equivalent(
            "runtime/rules.py",
            "_, best, how, reason = max(candidates, key=lambda candidate: candidate[0])",
            mutant,
            "no two candidates have the same rank, as a manifest has each target once",
        )
        for mutant in ("_, best, how, reason = max(candidates, key=None)", "_, best, how, reason = max(candidates, )")
    ),
    Equivalent(
        "runtime/manifest.py",
        'prefix, _, number = text.partition("_")',
        'prefix, _, number = text.rpartition("_")',
        "neither finds a known prefix and a number in a text with two underscores, or none",
    ),
    Equivalent(
        "runtime/manifest.py",
        'if not "".join(figures).isprintable():',
        'if not "XXXX".join(figures).isprintable():',
        "X is printable",
    ),
    Equivalent(
        "runtime/manifest.py",
        "if not end <= each.offset <= each.offset + each.size <= PARAMETERS:",
        "if not end <= each.offset < each.offset + each.size <= PARAMETERS:",
        "the size is at least 1",
    ),
    *(
        Equivalent(
            "builder/images/ptx_text.py",
            "for old in sorted(roots, key=len, reverse=True):",
            mutant,
            "of two folders of one path, one begins with the other, so that the longer one sorts last either way",
        )
        for mutant in ("for old in sorted(roots, key=None, reverse=True):", "for old in sorted(roots, reverse=True):")
    ),
    *(
        Equivalent(
            "builder/images/ptx_requirements.py",
            f'if "{sign}" in (match["section"] or ""):',
            f'if "{sign}" in (match["section"] or "XXXX"):',
            "X is no such sign",
        )
        for sign in ":-"
    ),
)
