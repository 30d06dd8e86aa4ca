"""Lower the PTX ISA version that PTX declares to the lowest that older drivers surely read.

NVRTC declares its own PTX ISA version in all its PTX, whether the code needs it or not. Three things decide how low a
text may go: the version that introduced its target; the version of every instruction, modifier, directive and special
register in it, by the table of `ptx_forms`; and a proof by the assembler, that each form in the text gives the same
machine code with both versions (see `proof_text`). The assembler alone is no proof, because some releases accept new
instructions under old versions. A text with a word that the table does not know keeps its version. The proof is made
without optimisation, which takes half the time and leaves no form out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from functools import cache

from cuda_wheel.builder.errors import CompileError, ConfigError
from cuda_wheel.builder.images import ptx_text
from cuda_wheel.builder.images.proof_text import in_short, proof_text
from cuda_wheel.builder.images.ptx_requirements import OLDEST, PtxNeeds, requirement
from cuda_wheel.builder.releases import RELEASES
from cuda_wheel.runtime.formats import ptx
from cuda_wheel.runtime.manifest import Version, parse_version

__all__ = ["FIRST_PTX_ISA", "lower"]

Assemble = Callable[[str, str], bytes]
"""Returns the machine code of a PTX text for an architecture; raises CompileError with the assembler's log."""

_REQUIRED = re.compile(r"requires PTX ISA \.version (\d+)\.(\d+)")

FIRST_PTX_ISA: dict[str, Version] = {
    "50": OLDEST, "52": OLDEST, "53": OLDEST, "60": OLDEST, "61": OLDEST, "62": OLDEST, "70": OLDEST, "72": OLDEST,
    "75": (6, 3), "80": (7, 0), "86": (7, 1), "87": (7, 4), "89": (7, 8), "90": (7, 8),
    "90a": (8, 0), "100": (8, 6), "100a": (8, 6), "101": (8, 6), "101a": (8, 6), "120": (8, 7), "120a": (8, 7),
    "103": (8, 8), "103a": (8, 8), "121": (8, 8), "121a": (8, 8), "100f": (8, 8), "101f": (8, 8), "103f": (8, 8),
    "120f": (8, 8), "121f": (8, 8), "88": (9, 0), "110": (9, 0), "110a": (9, 0), "110f": (9, 0),
    "107": (9, 4), "107a": (9, 4), "107f": (9, 4),
}  # fmt: skip
"""The PTX ISA version that introduced each target, or OLDEST. Source: PTX ISA, "Release Notes"."""


_PROVEN: dict[tuple[Assemble, str, Version, Version], set[str]] = {}
"""The forms of lines that this process has proven, by assembler, architecture and both versions: files of one project
have most of theirs in common."""


class _Proof:
    """Whether the assembler gives the same machine code for a text with another version."""

    def __init__(self, text: str, arch: str, assemble: Assemble) -> None:
        self._text, self._arch, self._assemble = text, arch, assemble
        self._reference = cache(lambda text: assemble(text, arch))

    def holds(self, version: Version) -> bool:
        """Return whether it does; raises CompileError where the assembler refuses a version."""
        key = (self._assemble, self._arch, ptx.version(self._text), version)
        proven = _PROVEN.setdefault(key, set())
        text, forms = proof_text(self._text, proven)
        if text:
            short = self._in_short(text, proven)
            if not self._is_equal(short, version) and (short == text or not self._is_equal(text, version)):
                return False
            proven |= forms
        return True

    def _in_short(self, text: str, proven: Collection[str]) -> str:
        """Return the text in short, or as it is where the assembler refuses that."""
        short = in_short(text, proven)
        try:
            self._reference(short)
        except CompileError:
            return text
        return short

    def _is_equal(self, text: str, version: Version) -> bool:
        reference = self._reference(text)
        return self._assemble(ptx_text.set_version(text, version), self._arch) == reference


def lower(text: str, wanted: str, arch: str, source: str, assemble: Assemble) -> str:
    """Return the PTX `text` for `arch` with the version that `wanted` ("auto", "as-compiled", "8.0") asks for.

    `source` is the file's name in messages. Raises ConfigError where an explicit version is too low for a word of the
    text or for the target, where the table lacks a word, or where the assembler does not prove it.
    """
    if wanted == "as-compiled":
        return text
    proof = _Proof(text, arch, assemble)
    if wanted != "auto":
        return _with_version(text, parse_version(wanted), proof, arch, source)
    needed = requirement(text, arch)
    if needed.unknown or arch not in FIRST_PTX_ISA:
        return text
    floor = max(FIRST_PTX_ISA[arch], needed.version)
    for candidate in _versions_below(ptx.version(text)):
        if candidate < floor:
            continue
        try:
            if proof.holds(candidate):
                return ptx_text.set_version(text, candidate)
        except CompileError as error:
            # The assembler names the version that each refused instruction needs: continue with the highest.
            floor = max([floor, *((int(m[1]), int(m[2])) for m in _REQUIRED.finditer(str(error)))])
    return text


def _versions_below(version: Version) -> Iterator[Version]:
    return (each for each in sorted({release.ptx_isa for release in RELEASES}) if each < version)


def _with_version(text: str, version: Version, proof: _Proof, arch: str, source: str) -> str:
    label = f"ptx-version {version[0]}.{version[1]} does not suit {source} for compute_{arch}"
    if version < ptx.version(text) and (reason := _too_low(version, arch, requirement(text, arch))):
        raise ConfigError(f"{label}: {reason}")
    try:
        is_equal = proof.holds(version)
    except CompileError as error:
        raise ConfigError(f'{label}; "auto" finds the lowest that does. The assembler says: {error}') from error
    if not is_equal:
        raise ConfigError(f'{label}: it changes the machine code; "auto" finds the lowest that does not.')
    return ptx_text.set_version(text, version)


def _too_low(version: Version, arch: str, needed: PtxNeeds) -> str:
    """Return why a version that is lower than the compiler's is not taken, or ""."""
    first = FIRST_PTX_ISA.get(arch)
    if first is None:
        return f'cuda-wheel does not know which version compute_{arch} needs; "as-compiled" keeps the compiler\'s.'
    if version < max(first, OLDEST):
        return f'the lowest for this target is {first[0]}.{first[1]}; "auto" finds the lowest that suits.'
    if needed.unknown:
        return (
            f"cuda-wheel does not know which version `{needed.unknown}` needs, and assemblers of some releases accept "
            'more than their version allows; "as-compiled" keeps the compiler\'s.'
        )
    if version < needed.version:
        return (
            f"`{needed.word}` needs {needed.version[0]}.{needed.version[1]}; "
            f'"auto" finds the lowest version that suits.'
        )
    return ""
