"""What the entries of a fatbin say about its compression: fatbins of the installed nvFatbin, in each of its modes."""

from __future__ import annotations

import pytest

from cuda_wheel.runtime.parts.formats.fatbin import compression_of
from tests.support.linkable import BOTH, compiled, fatbin

ZSTD_FRAME = b"\x28\xb5\x2f\xfd"
"""The first bytes of a zstd frame. Source: RFC 8878, section 3.1.1."""


def made(*options: str) -> bytes:
    return fatbin(compiled(BOTH, "cubin", "90"), *options, ptx=compiled(BOTH, "ptx", "80").rstrip(b"\0"))


@pytest.mark.parametrize(
    ("options", "compression"),
    [
        (("-compress=false",), "none"),
        (("-compress-mode=none",), "none"),
        (("-compress-mode=speed",), "lz4"),  # of the PTX alone
        (("-compress-mode=speed", "-compress-all"), "lz4"),
        (("-compress-mode=balance",), "zstd"),
        (("-compress-mode=balance", "-compress-all"), "zstd"),
        (("-compress-mode=size",), "zstd"),
    ],
)
def test_the_compression_of_every_mode_is_found(options: tuple[str, ...], compression: str) -> None:
    content = made(*options)
    assert compression_of(content) == compression
    assert (ZSTD_FRAME in content) == (compression == "zstd")


def test_what_nvfatbin_does_by_default_depends_on_its_release(extra: str) -> None:
    assert compression_of(made("-compress-all")) == ("lz4" if extra == "cu12" else "zstd")


def test_one_entry_in_zstd_suffices_for_older_drivers_to_fail() -> None:
    plain, packed = made("-compress=false"), made("-compress-mode=size")
    size = len(plain) - 16 + len(packed) - 16
    assert compression_of(plain[:8] + size.to_bytes(8, "little") + plain[16:] + packed[16:]) == "zstd"


@pytest.mark.parametrize("options", [("-compress=false",), ("-compress-mode=speed", "-compress-all")])
def test_a_fatbin_of_another_form_is_refused(options: tuple[str, ...]) -> None:
    content = made(*options)
    with pytest.raises(ValueError, match="not a complete fatbin"):
        compression_of(content[:-1])
    with pytest.raises(ValueError, match="not a complete fatbin"):
        compression_of(b"\x7fELF" + content[4:])
    for place, value in ((20, 8), (24, 200), (16 + 16, 7 if options == ("-compress=false",) else 0)):
        changed = bytearray(content)  # the size of the first entry's header, of its content, and of what it unpacks
        changed[place : place + 4] = (value if place != 24 else len(content)).to_bytes(4, "little")
        with pytest.raises(ValueError, match="the entry at byte 16 has an unknown form"):
            compression_of(bytes(changed))
