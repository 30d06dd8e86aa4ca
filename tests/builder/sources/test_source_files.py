"""Source files are read, or refused with what is wrong."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from cuda_wheel.builder.config.settings import Config
from cuda_wheel.builder.errors import ConfigError
from cuda_wheel.builder.sources.layout import WheelFile
from cuda_wheel.builder.sources.modules import select
from tests.support.package_sources import PACKAGE, names

pytestmark = pytest.mark.one_toolchain


def test_a_byte_order_mark_is_dropped(root: Path) -> None:
    (root / PACKAGE[2]).write_bytes("\ufeff// ä\n".encode())
    files = [WheelFile(root / name, name.removeprefix("src/")) for name in PACKAGE]
    assert select(Config(), root, files)[0].sources[0].content == "// ä\n".encode()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_is_not_a_source(root: Path) -> None:
    (root / PACKAGE[2]).unlink()
    os.mkfifo(root / PACKAGE[2])
    with pytest.raises(ConfigError, match=r"a\.cu is not a regular file"):
        names(root)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"// fine\n// \xff\n", r"src/pkg/kernels/a\.cu:2: is not UTF-8"),
        (b"// fine\n\n\0", r"src/pkg/kernels/a\.cu:3: contains a NUL byte"),
    ],
)
def test_a_source_that_is_not_text_is_refused_with_its_line(root: Path, content: bytes, message: str) -> None:
    (root / PACKAGE[2]).write_bytes(content)
    with pytest.raises(ConfigError, match=message):
        names(root)


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() == 0, reason="needs a user whom permissions bind")
def test_an_unreadable_source_is_an_error(root: Path) -> None:
    (root / PACKAGE[2]).chmod(0)
    with pytest.raises(ConfigError, match=r"a\.cu cannot be read: Permission denied"):
        names(root)


def test_a_source_that_vanished_is_an_error(root: Path) -> None:
    (root / PACKAGE[2]).unlink()
    with pytest.raises(ConfigError, match=r"a\.cu cannot be read: No such file"):
        names(root)
