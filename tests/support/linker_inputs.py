"""Inputs of nvJitLink besides PTX and LTO-IR, made without nvcc: fatbins, and host objects and libraries with device
code.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import TYPE_CHECKING

from cuda_wheel.builder.images.bundling import bundle
from cuda_wheel.builder.images.ptx_text import normalise
from cuda_wheel.builder.toolchain.nvrtc import compile_text
from cuda_wheel.builder.toolchain.toolchain import Toolchain
from cuda_wheel.builder.workers.pool import Workers
from cuda_wheel.runtime.manifest import Kind

if TYPE_CHECKING:
    from cuda_wheel.builder.toolchain.nvrtc import NvrtcRequest


RELOCATABLE = "__nv_relfatbin"
"""The section of an object that holds what `nvcc -rdc=true` compiled."""


COMPLETE = ".nv_fatbin"
"""The section of an object that holds what nvcc compiled without -rdc=true, which nvJitLink ignores."""


def relocatable(workers: Workers, toolchain: Toolchain, text: str, kind: Kind, arch: str) -> bytes:
    """Return a CUDA C++ text compiled to relocatable device code."""
    options = [f"--gpu-architecture={'sm' if kind == 'cubin' else 'compute'}_{arch}", "--relocatable-device-code=true"]
    request: NvrtcRequest = {
        "library": toolchain.libraries[0],
        "folder": ".",
        "text": text.encode(),
        "name": "elsewhere.cu",
        "options": options + (["--dlink-time-opt"] if kind == "ltoir" else []),
        "expressions": [],
    }
    answer = workers.submit(compile_text, request).result()
    assert not answer["error"], answer["log"]
    return answer[kind].rstrip(b"\0") if kind == "ptx" else answer[kind]


def fatbin(workers: Workers, *images: tuple[Kind, str, bytes]) -> bytes:
    """Return a fatbin of images: kind, architecture and content of each."""
    # nvFatbin keeps normalised PTX byte for byte.
    normal = ((kind, arch, normalise(code.decode()).encode() if kind == "ptx" else code) for kind, arch, code in images)
    request = ("elsewhere", tuple((image, "elsewhere") for image in normal), "none")
    return workers.submit(bundle, request).result().content


def object_file(sections: Mapping[str, bytes]) -> bytes:
    """Return an object file for x86-64, a relocatable ELF file, with these sections.

    Source: System V ABI, "Object Files".
    """
    names, body, headers = b"\0", b"", [bytes(64)]
    for name, content in {**sections, ".shstrtab": b""}.items():
        start = len(names)
        names += name.encode() + b"\0"
        body += bytes(-len(body) % 16)
        last = name == ".shstrtab"
        content = names if last else content
        headers.append(
            struct.pack("<IIQQQQIIQQ", start, 3 if last else 1, 0, 0, 64 + len(body), len(content), 0, 0, 8, 0)
        )
        body += content
    body += bytes(-len(body) % 16)
    count = len(headers)
    head = b"\x7fELF\2\1\1" + bytes(9)
    head += struct.pack("<HHIQQQIHHHHHH", 1, 62, 1, 0, 0, 64 + len(body), 0, 64, 0, 0, 64, count, count - 1)
    return head + body + b"".join(headers)


def with_device_code(fatbin: bytes, section: str = RELOCATABLE) -> bytes:
    """Return an object file as nvcc writes it: a section with a fatbin, and one that describes it."""
    return object_file({section: fatbin, ".nvFatBinSegment": struct.pack("<IIQQ", 0x466243B1, 1, 0, 0)})


def archive(**members: bytes) -> bytes:
    """Return a static library of objects by name. Source: ar(5), System V's variant."""
    parts = [b"!<arch>\n"]
    for name, content in members.items():
        parts.append(f"{name + '.o/':<16}{0:<12}{0:<6}{0:<6}{'100644':<8}{len(content):<10}`\n".encode())
        parts.append(content + b"\n" * (len(content) % 2))
    return b"".join(parts)
