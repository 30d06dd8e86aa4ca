"""Wheels as archives: what is read from them, and which are rejected before anything is unpacked."""

from __future__ import annotations

import hashlib
import re
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from cuda_wheel.inspect import archive
from cuda_wheel.inspect.archive import (
    file_digests,
    member_digest,
    metadata_file,
    open_wheel,
    read_member,
    wheel_members,
)
from cuda_wheel.runtime.errors import ImageError

pytestmark = pytest.mark.one_toolchain

FILES = {"demo/a.py": b"a = 1\n", "demo/b.fatbin": bytes(range(256)) * 20, "demo-1.dist-info/RECORD": b"all\n"}


@pytest.fixture
def wheel(tmp_path: Path) -> Path:
    return written(tmp_path / "demo.whl", *FILES.items())


def written(path: Path, *files: tuple[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files:
            archive.writestr(name, content)
    return path


def test_the_files_of_a_wheel_are_read_and_hashed(wheel: Path) -> None:
    with zipfile.ZipFile(wheel, "a") as more:
        more.mkdir("demo/empty")
    with open_wheel(wheel) as opened:
        members = {info.filename: info for info in wheel_members(wheel, opened)}
        assert list(members) == list(FILES)  # no directory
        assert read_member(opened, "demo/b.fatbin") == FILES["demo/b.fatbin"]
        assert read_member(opened, "demo/b.fatbin", 3) == b"\0\1\2"
        digest = member_digest(wheel, opened, members["demo/a.py"], "sha512")
        assert digest == hashlib.sha512(FILES["demo/a.py"]).digest()
    assert file_digests(wheel) == {name: hashlib.sha256(content).hexdigest() for name, content in FILES.items()}


def test_metadata_is_that_of_the_only_metadata_directory(wheel: Path) -> None:
    assert metadata_file(wheel, "RECORD") == b"all\n"
    assert metadata_file(wheel, "METADATA") is None
    assert metadata_file(wheel, "R.CORD") is None
    nested = written(wheel.with_name("nested.whl"), ("demo/x-1.dist-info/RECORD", b""), *FILES.items())
    assert metadata_file(nested, "RECORD") == b"all\n"
    second = written(wheel.with_name("two.whl"), ("x-1.dist-info/RECORD", b""), *FILES.items())
    with pytest.raises(ImageError, match=r"contains both x-1\.dist-info/RECORD and demo-1\.dist-info/RECORD"):
        metadata_file(second, "RECORD")


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("demo/a.py", "it contains 'demo/a.py' twice"),
        ("demo/A.PY", "it contains 'demo/a.py' twice"),
        ("../x", "'../x' would be unpacked outside the target directory"),
        ("demo/../../x", "'demo/../../x' would be unpacked outside"),
        ("demo\\..\\x", "would be unpacked outside"),
        ("/x", "'/x' would be unpacked outside"),
        ("\\x", "would be unpacked outside"),
        ("C:\\x", "'C:"),
    ],
)
def test_an_archive_that_would_do_harm_is_rejected(name: str, message: str, wheel: Path) -> None:
    with zipfile.ZipFile(wheel, "a") as more:
        more.writestr(name, b"")
    with pytest.raises(ImageError, match=f"is not a valid wheel: .*{re.escape(message)}"):
        open_wheel(wheel)


def test_names_with_dots_in_them_are_no_harm(wheel: Path) -> None:
    with zipfile.ZipFile(wheel, "a") as more:
        more.writestr("demo/..x..y", b"")
    open_wheel(wheel).close()


def test_a_size_is_too_large_only_above_both_limits(wheel: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The sizes are those that the archive claims: nothing is unpacked to find them."""
    total = sum(map(len, FILES.values()))
    monkeypatch.setattr(archive, "MAXIMUM_SIZE", total)
    monkeypatch.setattr(archive, "MAXIMUM_RATIO", 0)
    open_wheel(wheel).close()
    monkeypatch.setattr(archive, "MAXIMUM_SIZE", total - 1)
    with pytest.raises(ImageError, match=f"would unpack to {total} bytes, which is too much for a wheel of its size"):
        open_wheel(wheel)
    monkeypatch.setattr(archive, "MAXIMUM_RATIO", 100)
    open_wheel(wheel).close()


def encrypt(content: bytearray) -> None:
    for match in re.finditer(rb"PK\x01\x02", bytes(content)):
        content[match.start() + 8] |= 1


def damage(content: bytearray) -> None:
    content[content.index(b"demo/b.fatbin") + 30] ^= 0xFF


@pytest.mark.parametrize(("change", "message"), [(encrypt, "is encrypted"), (damage, "cannot be read as a wheel")])
def test_a_file_that_cannot_be_unpacked_is_an_error_of_the_wheel(
    change: Callable[[bytearray], None], message: str, wheel: Path
) -> None:
    content = bytearray(wheel.read_bytes())
    change(content)
    wheel.write_bytes(content)
    with open_wheel(wheel) as opened:
        for read in (
            lambda: read_member(opened, "demo/b.fatbin"),
            lambda: member_digest(wheel, opened, opened.getinfo("demo/b.fatbin"), "sha256"),
        ):
            with pytest.raises(ImageError, match=f"{re.escape(str(wheel))} cannot be read as a wheel: .*"):
                read()
    with pytest.raises(ImageError, match=message):
        file_digests(wheel)


@pytest.mark.parametrize("content", [b"", b"text", b"PK\5\6" + bytes(17)])
def test_what_is_no_archive_is_rejected(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "x.whl").write_bytes(content)
    with pytest.raises(ImageError, match="cannot be read as a wheel"):
        open_wheel(tmp_path / "x.whl")


def test_a_name_that_a_terminal_cannot_show_is_rejected(wheel: Path) -> None:
    with zipfile.ZipFile(wheel, "a") as more:
        more.writestr("demo/\x1b[2J.py", b"")
    with pytest.raises(ImageError, match=r"a file with the name 'demo/\\x1b\[2J\.py'"):
        file_digests(wheel)
