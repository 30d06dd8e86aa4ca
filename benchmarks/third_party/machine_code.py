"""Compare the machine code of two compilers, kernel by kernel."""

from __future__ import annotations

import re
import subprocess
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from cuda_wheel.runtime.parts.formats.elf import read_elf

__all__ = ["SHARED_MEMORY_64_BIT", "Code", "Likeness", "encodings", "instructions", "likeness", "plain_name"]

Code = tuple[str, ...]
"""The instructions of a kernel, as text."""

Likeness = Literal["identical", "same_opcodes", "different"]
""" "identical": the same instructions and operands. "same_opcodes": the same number of each instruction, but other
registers or another order."""

_ADDRESS = re.compile(r"c\[0x4\]\[0x[0-9a-f]+\]")

SHARED_MEMORY_64_BIT = ("-Xcicc", "--sharedmem32=0")
"""The undocumented options with which nvcc addresses shared memory with 64 bits, as NVRTC does before 13.5."""


def encodings(cubin: bytes) -> dict[str, bytes]:
    """Return the encoded instructions of each function of a cubin.

    Equal encodings are equal instructions, which saves a call of cuobjdump.
    """
    prefix = ".text."
    return {
        plain_name(section.name.removeprefix(prefix)): cubin[section.start : section.end]
        for section in read_elf(cubin).sections
        if section.name.startswith(prefix)
    }


def instructions(path: Path, cuobjdump: str) -> dict[str, Code]:
    """Return the instructions of each function of a cubin or fatbin, without addresses and encodings.

    Constant bank 4 is the table of the addresses of variables. Where in it an address is depends on the variables that
    other kernels use, so that is left out too.
    """
    process = subprocess.run([cuobjdump, "-sass", str(path)], capture_output=True, text=True)
    if process.returncode:
        raise SystemExit(f"{cuobjdump} -sass {path}: {process.stderr.strip()}\n(it needs nvdisasm on PATH)")
    found: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in process.stdout.splitlines():
        if line.strip().startswith("Function : "):
            lines = found.setdefault(plain_name(line.split(" : ")[1].strip()), [])
        elif match := re.match(r"\s+/\*[0-9a-f]{4,}\*/\s+(.*?)\s*;", line):
            lines.append(_ADDRESS.sub("c[0x4][variable]", plain_name(match[1])))
    return {name: _without_padding(code) for name, code in found.items()}


def likeness(one: Code, other: Code) -> Likeness:
    """Return how equal two kernels are."""
    if one == other:
        return "identical"
    return "same_opcodes" if _opcodes(one) == _opcodes(other) else "different"


def plain_name(text: str) -> str:
    """Return text in which the names of anonymous namespaces and of static functions' files are equal in every
    compilation."""
    result = ""
    while match := re.search(r"(\d+)_(?:GLOBAL__N|INTERNAL)_", text):
        start, length = match.end(1), int(match[1])
        result += text[: match.start()] + "ANONYMOUS"
        text = text[start + length :]
    return result + text


def _without_padding(lines: Sequence[str]) -> Code:
    """Return instructions without the NOPs that fill the last block."""
    end = len(lines)
    while end and lines[end - 1].split()[0] in ("NOP", "BRA"):
        end -= 1
    return tuple(lines[:end])


def _opcodes(code: Code) -> Counter[str]:
    """Return how often each instruction occurs, without predicates and modifiers."""
    words = (re.sub(r"^@!?U?P\w+\s+", "", line).split(maxsplit=1)[0] for line in code)
    return Counter(word.split(".")[0] for word in words)
