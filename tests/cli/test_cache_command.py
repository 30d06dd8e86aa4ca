"""`cuda-wheel cache`: what it shows and removes; `tests/runtime/parts/test_user_cache.py` has the cache itself."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from unittest import mock

import pytest

from cuda_wheel.cli.main import main
from cuda_wheel.runtime.parts.user_cache import Cache
from tests.support.caches import cache, fill, second, there

pytestmark = pytest.mark.one_toolchain

__all__ = ["cache", "second"]

Run = Callable[..., subprocess.CompletedProcess[str]]


def test_the_command_shows_both_folders(cache: Cache, second: Cache, cuda_wheel: Run) -> None:
    fill(cache, 100, 200)
    fill(second, 300)
    found = json.loads(cuda_wheel("cache", "--json", CUDA_WHEEL_CACHE_SIZE="3MiB").stdout)
    assert found == {
        "folder": cache.folder,
        "set_by": "CUDA_WHEEL_CACHE_DIR",
        "limit": 3 << 20,
        "entries": 2,
        "bytes": 428,
        "oldest_use": "1970-01-01T00:00:00+00:00",
        "newest_use": "1970-01-01T00:00:01+00:00",
        "read_only": {
            "folder": second.folder,
            "entries": 1,
            "bytes": 364,
            "oldest_use": "1970-01-01T00:00:00+00:00",
            "newest_use": "1970-01-01T00:00:00+00:00",
        },
    }
    assert cuda_wheel("cache", TZ="UTC").stdout.splitlines() == [
        f"{cache.folder}: 2 entries, 428 B, used 1970-01-01 00:00; at most 2.0 GiB; chosen by CUDA_WHEEL_CACHE_DIR",
        f"{second.folder}: 1 entry, 364 B, used 1970-01-01 00:00; read only, chosen by CUDA_WHEEL_CACHE_READONLY",
    ]


def test_the_command_shows_missing_folders(cuda_wheel: Run, tmp_path: Path) -> None:
    folders = {"CUDA_WHEEL_CACHE_DIR": str(tmp_path / "a"), "CUDA_WHEEL_CACHE_READONLY": str(tmp_path / "b")}
    assert cuda_wheel("cache", **folders).stdout.splitlines() == [
        f"{tmp_path / 'a'}: 0 entries, 0 B; at most 2.0 GiB; chosen by CUDA_WHEEL_CACHE_DIR",
        f"{tmp_path / 'b'}: No such file or directory; read only, chosen by CUDA_WHEEL_CACHE_READONLY",
    ]
    found = json.loads(cuda_wheel("cache", "--clear", "--json", **folders).stdout)
    assert (found["oldest_use"], found["removed"]) == (None, {"entries": 0, "bytes": 0})
    assert not (tmp_path / "a").exists()


def test_the_command_prunes(cache: Cache, second: Cache, cuda_wheel: Run) -> None:
    fill(cache, 1000, 2000, 3000)
    fill(second, 3000)
    result = cuda_wheel("cache", "--prune", "4KiB")
    assert result.returncode == 0
    assert result.stdout.startswith("removed 2 entries, 3.1 KiB\n")
    assert there(cache, 3) == [2]
    assert cuda_wheel("cache", "--prune", "4").returncode == 2
    assert cuda_wheel("cache", "--prune", "4KiB", "--clear").returncode == 2
    assert len(second.entries()) == 1


def test_a_file_that_cannot_be_removed_is_reported(cache: Cache, monkeypatch: pytest.MonkeyPatch, capsys) -> None:

    fill(cache, 10)
    with mock.patch("os.unlink", side_effect=PermissionError):
        assert main(["cache", "--clear"]) == 1
    output = capsys.readouterr()
    assert output.out.startswith("removed 0 entries, 0 B\n")
    assert f"{cache.folder} still holds more than 0 B" in output.err


def test_an_invalid_limit_is_an_error_and_nothing_is_removed(cache: Cache, cuda_wheel: Run) -> None:
    message = "the environment variable CUDA_WHEEL_CACHE_SIZE: 'much' is not an amount of memory"
    fill(cache, 10)
    for options in ((), ("--clear",)):
        result = cuda_wheel("cache", *options, CUDA_WHEEL_CACHE_SIZE="much")
        assert (result.returncode, result.stdout.partition(" such")[0]) == (1, f"cuda-wheel: {message}")
    assert there(cache, 1) == [0]
    assert message in cuda_wheel("doctor", CUDA_WHEEL_CACHE_SIZE="much").stdout
