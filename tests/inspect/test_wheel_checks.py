"""Archives that show different files to different programs: headers that disagree, and room for hidden files."""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest

from cuda_wheel.inspect.wheel_checks import layout_differences

pytestmark = pytest.mark.one_toolchain

CONTENT = b"print('hello')\n" * 40


def deflated(content: bytes) -> bytes:
    stream = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    return stream.compress(content) + stream.flush()


class Entry(NamedTuple):
    """A file of an archive, with what its two headers say of it."""

    name: bytes = b"demo/a.py"
    data: bytes = deflated(CONTENT)
    method: int = 8
    flags: int = 0
    crc: int = zlib.crc32(CONTENT)
    size: int = len(CONTENT)
    local: dict[str, Any] = {}  # noqa: RUF012 - never changed
    """What the local header says instead."""
    extra: bytes = b""
    comment: bytes = b""
    after: bytes = b""
    """What follows the data."""

    def header(self) -> bytes:
        said = {"name": self.name, "method": self.method, "flags": self.flags, "crc": self.crc, "size": self.size}
        said |= {"compressed": len(self.data), "extra": b""} | self.local
        numbers = (20, said["flags"], said["method"], 0, 33, said["crc"], said["compressed"], said["size"])
        return struct.pack("<4s5H3L2H", b"PK\3\4", *numbers, len(said["name"]), len(said["extra"])) + (
            said["name"] + said["extra"]
        )

    def entry(self, offset: int) -> bytes:
        numbers = (20, 20, self.flags, self.method, 0, 33, self.crc, len(self.data), self.size)
        lengths = (len(self.name), len(self.extra), len(self.comment))
        fixed = struct.pack("<4s6H3L5H2L", b"PK\1\2", *numbers, *lengths, 0, 0, 0, offset)
        return fixed + self.name + self.extra + self.comment


def archive(*entries: Entry, before: bytes = b"", inside: bytes = b"", comment: bytes = b"", count: int = 0) -> bytes:
    """Return an archive; `inside` is in the central directory behind its entries, `count` is added to their number."""
    content, directory = before, b""
    for entry in entries:
        directory += entry.entry(len(content))
        content += entry.header() + entry.data + entry.after
    directory += inside
    number = len(entries) + count
    end = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, number, number, len(directory), len(content), len(comment))
    return content + directory + end + comment


GOOD = Entry()
STREAMED = {"crc": 0, "compressed": 0, "size": 0}
SIZES = struct.pack("<LLL", GOOD.crc, len(GOOD.data), GOOD.size)
STORED_SIZES = struct.pack("<LLL", GOOD.crc, GOOD.size, GOOD.size)
EVIL = Entry(b"demo/evil.py", deflated(b"evil"), crc=zlib.crc32(b"evil"), size=4)
HIDDEN = EVIL.header() + EVIL.data


def differences(content: bytes, tmp_path: Path) -> list[str]:
    (path := tmp_path / "x.whl").write_bytes(content)
    return layout_differences(path)


@pytest.mark.parametrize(
    "entries",
    [
        (),
        (GOOD, GOOD._replace(name=b"demo/b.py", data=CONTENT, method=0)),
        (Entry(b"demo/", b"", 0, 0, 0, 0), GOOD),
        (Entry(b"demo/", deflated(b""), 8, 0, 0, 0),),
        (GOOD._replace(flags=8, local=STREAMED, after=b"PK\7\x08" + SIZES), EVIL),
        (GOOD._replace(flags=8, local=STREAMED, after=SIZES),),
        (GOOD._replace(name="demo/é.py".encode(), flags=1 << 11),),
        (GOOD._replace(extra=b"UT\5\0" + bytes(5), local={"extra": b"UT\5\0" + bytes(5)}),),
    ],
)
def test_archives_that_all_programs_read_alike(entries: tuple[Entry, ...], tmp_path: Path) -> None:
    assert differences(archive(*entries), tmp_path) == []


@pytest.mark.parametrize("is_streamed", [False, True])
def test_sizes_of_zip64(is_streamed: bool, tmp_path: Path) -> None:
    file = io.BytesIO()
    target: Any = SimpleNamespace(write=file.write, flush=file.flush) if is_streamed else file
    with (
        zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as written,
        written.open("a.py", "w", force_zip64=True) as member,
    ):
        member.write(CONTENT)
    assert differences(file.getvalue(), tmp_path) == []


ZIP64 = struct.pack("<4sQ2H2L4Q", b"PK\6\6", 44, 45, 45, 0, 0, 1, 1, len(GOOD.entry(0)), len(GOOD.header() + GOOD.data))


@pytest.mark.parametrize("change", [0, 1])
def test_the_ends_of_zip64_agree(change: int, tmp_path: Path) -> None:
    content = archive(GOOD)
    end = len(content) - 22
    wide = ZIP64[:24] + struct.pack("<QQ", 1 + change, 1 + change) + ZIP64[40:]
    content = content[:end] + wide + struct.pack("<4sLQL", b"PK\6\7", 0, end, 1) + content[end:]
    assert differences(content, tmp_path) == (["the two ends of the central directory disagree"] if change else [])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (archive(GOOD._replace(data=GOOD.data + HIDDEN)), f"{len(HIDDEN)} bytes after its compressed data belong to"),
        (archive(GOOD._replace(after=HIDDEN), GOOD._replace(name=b"b")), "bytes after demo/a.py belong to no file"),
        (archive(GOOD, before=HIDDEN), "bytes after the start of the archive belong to no file"),
        (archive(GOOD, inside=EVIL.entry(0)), "has more in it than its entries"),
        (archive(GOOD, count=1), "has fewer entries than it says"),
        (archive(GOOD, comment=b"x" * 30), "no end of the central directory, without a comment"),
        (archive(GOOD) + b"x", "no end of the central directory, without a comment"),
        (b"MZ" + archive(GOOD), "does not end where its end record starts"),
        (archive(GOOD._replace(comment=b"x")), "has a comment or names another disk"),
        (archive(GOOD._replace(local={"name": b"demo/b.py"})), "its header and the central directory disagree"),
        (archive(GOOD._replace(local={"crc": 1})), "its header and the central directory disagree"),
        (archive(GOOD._replace(local={"size": 1})), "its header and the central directory disagree"),
        (archive(GOOD._replace(local={"compressed": 5})), "its header and the central directory disagree"),
        (archive(GOOD._replace(local={"flags": 1 << 11})), "its header and the central directory disagree"),
        (archive(GOOD._replace(local={"flags": 8}, after=SIZES)), "its header and the central directory disagree"),
        (archive(GOOD._replace(local={"method": 0})), "its header and the central directory disagree"),
        (archive(GOOD._replace(local={"extra": bytes(3)})), "the extra fields of its header have no end"),
        (archive(GOOD._replace(local={"extra": b"\1\0\x10\0" + bytes(16)})), "its header has two different sizes"),
        (archive(GOOD._replace(extra=b"\1\0\x08\0" + bytes(8))), "has two different sizes"),
        (archive(GOOD._replace(local={"extra": b"up\5\0" + bytes(5)})), "has an extra field 0x7075, which some"),
        (archive(GOOD._replace(flags=8, local=STREAMED, after=bytes(12))), "the sizes after its data are not those"),
        (
            archive(Entry(data=CONTENT, method=0, flags=8, local=STREAMED, after=STORED_SIZES)),
            "nothing says where its data",
        ),
        (archive(GOOD._replace(crc=1)), "its content differs from the size or the checksum"),
        (archive(GOOD._replace(size=GOOD.size + 1)), "its content differs from the size or the checksum"),
        (archive(GOOD._replace(size=9)), "it has more content than the central directory says"),
        (archive(GOOD._replace(data=GOOD.data[:-4])), "its compressed data does not end"),
        (archive(GOOD._replace(data=b"\7" + GOOD.data)), "its data is damaged"),
        (archive(GOOD._replace(method=12)), "compressed in a way that not every installer reads"),
        (archive(GOOD._replace(flags=1)), "it is encrypted"),
        (archive(GOOD._replace(name=b"demo/a.py\0x")), "unpack this name to different places"),
        (archive(GOOD._replace(name=b"demo\\a.py")), "unpack this name to different places"),
        (archive(GOOD._replace(name=b"demo/./a.py")), "unpack this name to different places"),
        (archive(GOOD._replace(name=b"demo//a.py")), "unpack this name to different places"),
        (archive(GOOD._replace(name=b"demo/\x82.py")), "is not marked as UTF-8"),
        (archive(GOOD._replace(name=b"demo/")), "it has the name of a directory and content"),
        (b"", "there is no end of the central directory"),
    ],
)
def test_archives_that_programs_read_differently(content: bytes, message: str, tmp_path: Path) -> None:
    lines = differences(content, tmp_path)
    assert any(message in line for line in lines), lines


def test_an_archive_that_is_cut_short_is_reported(tmp_path: Path) -> None:
    content = archive(GOOD, EVIL)
    for length in range(len(content)):
        assert differences(content[:length], tmp_path), length
