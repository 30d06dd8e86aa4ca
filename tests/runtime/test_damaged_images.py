"""Code by strangers that is damaged, or made to do harm: an error of ours, in a time that grows with its size alone."""

from __future__ import annotations

import struct
from collections.abc import Callable
from contextlib import suppress
from random import Random
from typing import Any

import pytest

from cuda_wheel import CudaWheelError, ImageError, Piece, link, load_code
from cuda_wheel.runtime.formats import elf, ptx, symbols
from cuda_wheel.runtime.linking import inputs
from cuda_wheel.runtime.linking.checks import inspect, refuse_mismatches, symbols_of
from cuda_wheel.runtime.linking.linkers import Input
from cuda_wheel.runtime.linking.strategy import Unit
from tests.support.driver import Driver

HEAD = "\n.version 7.0\n.target sm_80\n.address_size 64\n"
MANY = 1 << 19
"""So many bytes that looking at each for each would take very long."""


@pytest.fixture(scope="module")
def cubin(workers, toolchain, tmp_path_factory) -> bytes:
    from cuda_wheel.builder.compile.job import compile_job
    from cuda_wheel.builder.jobs import Job
    from cuda_wheel.builder.toolchain.records import INCLUDE

    text = b"__constant__ int c[4]; __global__ void k(const float* x, int n) { if (n > c[0]) __trap(); }"
    folder = str(tmp_path_factory.mktemp("cubin"))
    job = Job(
        library=toolchain.libraries[0], root=folder, source="k.cu", text=text, arch="80", cubin=True, ptx=True,
        options=(), include_dirs=(str(INCLUDE),), instantiate=(), lineinfo=False, ptx_version="auto",
    )  # fmt: skip
    return workers.submit(compile_job, job).result().cubin


def tries(what: str, count: int) -> Any:
    return (Random(f"{what} {number}") for number in range(count))


def test_a_cubin_with_other_bytes_is_read_or_refused(cubin: bytes, use: Callable[..., Driver]) -> None:
    use((8, 0))
    read = 0
    for random in tries("cubin", 300):
        changed = bytearray(cubin)
        for _ in range(random.choice([1, 1, 4, 50])):
            place = random.randrange(len(changed) - 8)
            struct.pack_into("<Q", changed, place, random.choice([random.getrandbits(64), 0, 1, 1 << 63, 0xFFFF]))
        content = bytes(changed[: random.choice([len(changed), random.randrange(1, len(changed))])])
        try:
            module = load_code(content)
            [module[name] for name in module]
            read += 1
        except CudaWheelError:
            pass
        with suppress(CudaWheelError):
            inspect(Unit("k.cubin", {"cubin": content}), (8, 0))
    assert 0 < read < 300


def test_ptx_with_other_characters_is_read_or_refused(use: Callable[..., Driver]) -> None:
    use((8, 0))
    text = HEAD + (
        ".visible .const .align 4 .b8 c[16];\n.extern .func (.param .b32 r) user (.param .align 8 .b8 p[16]);\n"
        '.visible .entry k(.param .u64 .ptr .align 16 x, .param .f32 y)\n{\n// "a" /* b */\ncall (r), user, (p);\n}\n'
    )
    tokens = [
        "(",
        ")",
        "{",
        '"',
        "/*",
        "\\",
        "\n",
        "[",
        "9" * 5000,
        ".align 0",
        ".b1",
        ".entry",
        ".func",
        "_Z" + "9" * 5000,
        "\0",
        "é",
    ]
    read = 0
    for random in tries("ptx", 300):
        changed = text
        for _ in range(random.choice([1, 1, 3, 9])):
            start, end = sorted(random.randrange(len(changed)) for _ in range(2))
            end = min(end, start + random.choice([0, 1, 9]))
            changed = changed[:start] + random.choice([*tokens, "", changed[start:end] * 2]) + changed[end:]
        try:
            load_code(changed)
            read += 1
            unit = Unit("k.ptx", {"ptx": changed.encode()})
            inspect(unit, (8, 0))
            symbols_of(unit, Input("ptx", "k.ptx", changed.encode()))
            refuse_mismatches({"k.ptx": changed, "text": text}, {})
        except CudaWheelError:
            pass
    assert 0 < read < 300


@pytest.mark.parametrize("text", [
    "/*a" * (MANY // 3),
    '"\\' * (MANY // 2),
    '\\"' * (MANY // 2),
    ".entry " * (MANY // 7),
    ".entry a(" * (MANY // 9),
    ".entry a(" + "(b)" * (MANY // 3),
    ".visible .func (" * (MANY // 16),
    ".visible .func a(" + ".param .b8 x, " * (MANY // 14),
    ".visible .global .align 8 " + " " * MANY,
    "".join(f".extern .func f{number};\n" for number in range(MANY // 24)),
    ".visible .const .b8 x" + "[2]" * (MANY // 3),
    ".visible .global " + "9" * MANY + ")",
    ".visible .global " + "9 " * (MANY // 2) + ")",
    "." * MANY,
    " " * MANY,
    "_Z" + "1a" * (MANY // 2),
])  # fmt: skip
def test_a_long_text_is_read_as_soon_as_any(text: str) -> None:
    whole = HEAD + text
    ptx.version(whole), ptx.target(whole), ptx.kernels(whole), ptx.symbols(whole), ptx.prototypes(whole)
    ptx.variables(whole), symbols.demangled(text), symbols.demangled("_ZN" + text.removeprefix("_Z"))
    assert inputs.piece_of(whole).kind in ("ptx", "cuda")


def headers(cubin: bytes, count: int, section: tuple[int, ...], body: bytes) -> bytes:
    """Return an ELF file like this one, with `body` and so many equal sections."""
    head = bytearray(cubin[:64]) + body
    struct.pack_into("<QQ", head, 32, 0, len(head))  # where segments and sections are told of
    struct.pack_into("<HHHHH", head, 54, 56, 0, 64, count, 0)
    return bytes(head) + struct.pack("<IIQQQQIIQQ", *section) * count


@pytest.mark.parametrize(
    "section",
    [
        (0, 1, 0, 0, 64, MANY, 0, 0, 0, 0),  # all of the file, with a name as long
        (MANY - 10, 1, 0, 0, 64, MANY, 0, 0, 0, 0),
        (MANY - 10, 2, 0, 0, 64, MANY // 24 * 24, 0, 0, 0, 24),  # a table of symbols
        (0, 8, 0, 0, 64, MANY, 0, 0, 0, 0),
    ],
)
def test_sections_in_each_other_are_damage(section: tuple[int, ...], cubin: bytes) -> None:
    body = b".nv.info." + b"a" * (MANY - 19) + b".nv.info\0\0"
    with pytest.raises(ValueError, match=r"overlap|damaged"):
        elf.read_cubin(headers(cubin, 60_000, section, body))


def test_code_that_is_damaged_is_an_error_of_ours(cubin: bytes, use: Callable[..., Driver]) -> None:
    use((8, 0))
    for value in (
        "a\0b.ptx", "a\ud800\n", b"\x7fELF", b"\x50\xed\x55\xba", b"!<arch>\n", b"BC\xc0\xde", cubin[:99],
        "\n.version 7.0\n.target sm_9\n", "\n.version 99999999999.0\n.target sm_80\n", "\n.version 7.0\n.target sm_99999\n",
    ):  # fmt: skip
        with pytest.raises(ImageError):
            load_code(value)
    with pytest.raises(ImageError):
        link([Piece("ptx", "k.ptx", b"\n.version 7.0\n.target sm_9\n")], arch="80")
