"""Lower the PTX ISA version that PTX declares to the lowest that is proven equal, so that older drivers read it.

NVRTC declares its own PTX ISA version in all its PTX, whether the code needs it or not. The assembler is the proof: it
enforces the version that each instruction and target needs, and both texts must assemble to the same bytes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from cuda_wheel.builder.errors import CompileError, ConfigError
from cuda_wheel.builder.images import ptx_text
from cuda_wheel.builder.releases import RELEASES
from cuda_wheel.runtime.formats import ptx
from cuda_wheel.runtime.manifest import Version, parse_version

__all__ = ["lower"]

Assemble = Callable[[str, str], bytes]
"""Returns the machine code of a PTX text for an architecture; raises CompileError with the assembler's log."""

_REQUIRED = re.compile(r"requires PTX ISA \.version (\d+)\.(\d+)")

FIRST_PTX_ISA: dict[str, Version] = {
    "70": (6, 0), "72": (6, 1), "75": (6, 3), "80": (7, 0), "86": (7, 1), "87": (7, 4), "89": (7, 8), "90": (7, 8),
    "90a": (8, 0), "100": (8, 6), "100a": (8, 6), "101": (8, 6), "101a": (8, 6), "120": (8, 7), "120a": (8, 7),
    "103": (8, 8), "103a": (8, 8), "121": (8, 8), "121a": (8, 8), "100f": (8, 8), "101f": (8, 8), "103f": (8, 8),
    "120f": (8, 8), "121f": (8, 8), "88": (9, 0), "110": (9, 0), "110a": (9, 0), "110f": (9, 0),
}  # fmt: skip
"""Where the search begins: the PTX ISA version that introduced each target. Source: PTX ISA, "Release Notes"."""

OLDEST: Version = (6, 3)
"""PTX of CUDA 10.0, the oldest release whose driver is worth reaching."""


def lower(text: str, wanted: str, arch: str, source: str, assemble: Assemble) -> str:
    """Return the PTX `text` for `arch` with the version that `wanted` ("auto", "as-compiled", "8.0") asks for.

    `source` is the file's name in messages. Raises ConfigError, with the assembler's log, where an explicit version
    cannot be proven equal.
    """
    compiled = ptx.version(text)
    if wanted == "as-compiled":
        return text
    reference = assemble(text, arch)
    if wanted != "auto":
        return _with_version(text, parse_version(wanted), reference, arch, source, assemble)
    floor = max(FIRST_PTX_ISA.get(arch, OLDEST), OLDEST)
    for candidate in _versions_below(compiled):
        if candidate < floor:
            continue
        lowered = ptx_text.set_version(text, candidate)
        try:
            if assemble(lowered, arch) == reference:
                return lowered
        except CompileError as error:
            # The assembler names the version that each refused instruction needs: continue with the highest.
            floor = max([floor, *((int(m[1]), int(m[2])) for m in _REQUIRED.finditer(str(error)))])
    return text


def _versions_below(version: Version) -> Iterator[Version]:
    return (each for each in sorted({release.ptx_isa for release in RELEASES}) if each < version)


def _with_version(text: str, version: Version, reference: bytes, arch: str, source: str, assemble: Assemble) -> str:
    rewritten = ptx_text.set_version(text, version)
    label = f"ptx-version {version[0]}.{version[1]} does not suit {source} for compute_{arch}"
    try:
        assembled = assemble(rewritten, arch)
    except CompileError as error:
        raise ConfigError(f'{label}; "auto" finds the lowest that does. The assembler says: {error}') from error
    if assembled != reference:
        raise ConfigError(f'{label}: it changes the machine code; "auto" finds the lowest that does not.')
    return rewritten
