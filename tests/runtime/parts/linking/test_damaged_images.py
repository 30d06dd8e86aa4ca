"""Damaged or malicious code raises an error of this package, in a time that grows linearly with its size."""

from __future__ import annotations

import struct
from collections.abc import Callable
from contextlib import suppress
from random import Random
from typing import Any

import pytest

from cuda_wheel import CudaWheelError, ImageError, LinkInput, link, load_code
from cuda_wheel.runtime.parts.formats import cubin as symbols
from cuda_wheel.runtime.parts.formats import ptx
from cuda_wheel.runtime.parts.formats.cubin import read_cubin
from cuda_wheel.runtime.parts.linking import inputs
from cuda_wheel.runtime.parts.linking.linkers import LinkerInput
from cuda_wheel.runtime.parts.linking.strategy import LinkUnit, check_prototypes, check_unit, symbols_of
from tests.support.driver import Driver

pytestmark = pytest.mark.one_toolchain

HEAD = "\n.version 7.0\n.target sm_80\n.address_size 64\n"
MANY = 1 << 19
"""A size in bytes at which quadratic time would be very long."""


@pytest.fixture(scope="module")
def cubin(workers, toolchain, tmp_path_factory) -> bytes:
    from cuda_wheel.builder.compile.job import compile_job
    from cuda_wheel.builder.jobs import Job
    from cuda_wheel.builder.toolchain.toolchain import INCLUDE

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
            check_unit(LinkUnit("k.cubin", {"cubin": content}), (8, 0))
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
            unit = LinkUnit("k.ptx", {"ptx": changed.encode()})
            check_unit(unit, (8, 0))
            symbols_of(unit, LinkerInput("ptx", "k.ptx", changed.encode()))
            check_prototypes({"k.ptx": changed, "text": text}, {})
        except CudaWheelError:
            pass
    assert 0 < read < 300


@pytest.mark.slow
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
def test_the_time_to_read_a_text_grows_linearly(text: str) -> None:
    whole = HEAD + text
    ptx.version(whole), ptx.target(whole), ptx.kernels(whole), ptx.symbols(whole), ptx.prototypes(whole)
    ptx.variables(whole), symbols.demangled(text), symbols.demangled("_ZN" + text.removeprefix("_Z"))
    assert inputs.link_input_of(whole).kind in ("ptx", "cuda")


def headers(cubin: bytes, count: int, section: tuple[int, ...], body: bytes) -> bytes:
    """Return an ELF file with this one's header, `body`, and `count` equal sections."""
    head = bytearray(cubin[:64]) + body
    struct.pack_into("<QQ", head, 32, 0, len(head))  # the offsets of the tables of segments and sections
    struct.pack_into("<HHHHH", head, 54, 56, 0, 64, count, 0)
    return bytes(head) + struct.pack("<IIQQQQIIQQ", *section) * count


@pytest.mark.parametrize(
    "section",
    [
        (0, 1, 0, 0, 64, MANY, 0, 0, 0, 0),  # the whole file, with a name as long
        (MANY - 10, 1, 0, 0, 64, MANY, 0, 0, 0, 0),
        (MANY - 10, 2, 0, 0, 64, MANY // 24 * 24, 0, 0, 0, 24),  # a table of symbols
        (0, 8, 0, 0, 64, MANY, 0, 0, 0, 0),
    ],
)
def test_overlapping_sections_are_rejected(section: tuple[int, ...], cubin: bytes) -> None:
    body = b".nv.info." + b"a" * (MANY - 19) + b".nv.info\0\0"
    with pytest.raises(ValueError, match=r"overlap|damaged"):
        read_cubin(headers(cubin, 60_000, section, body))


def test_damaged_code_raises_an_error_of_this_package(cubin: bytes, use: Callable[..., Driver]) -> None:
    use((8, 0))
    for value in (
        "a\0b.ptx", "a\ud800\n", b"\x7fELF", b"\x50\xed\x55\xba", b"!<arch>\n", b"BC\xc0\xde", cubin[:99],
        "\n.version 7.0\n.target sm_9\n", "\n.version 99999999999.0\n.target sm_80\n", "\n.version 7.0\n.target sm_99999\n",
    ):  # fmt: skip
        with pytest.raises(ImageError):
            load_code(value)
    with pytest.raises(ImageError):
        link([LinkInput("ptx", "k.ptx", b"\n.version 7.0\n.target sm_9\n")], arch="80")
