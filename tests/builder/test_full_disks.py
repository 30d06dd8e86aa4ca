"""With a full or read-only disk, a build continues if possible, and otherwise fails with a clear message."""

from __future__ import annotations

import errno
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from unittest import mock

import pytest

from cuda_wheel.builder.jobs import EMPTY
from cuda_wheel.builder.plan_state import JobResults
from cuda_wheel.cli.main import main
from cuda_wheel.runtime.parts.user_cache import Cache
from tests.support.processes import run
from tests.support.projects import KERNEL

pytestmark = pytest.mark.one_toolchain

Run = Callable[..., subprocess.CompletedProcess[str]]
TABLE = '[tool.cuda-wheel]\narchitectures = "80"\n'
KEY = Cache.key("an entry")


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """Yield the folder of a file system of 100 KiB."""
    if sys.platform != "linux" or os.getuid() != 0:
        pytest.skip("only root may mount a file system")
    folder = tmp_path / "disk"
    folder.mkdir()
    if run("mount", "-t", "tmpfs", "-o", "size=100k", "tmpfs", folder).returncode != 0:
        pytest.skip("this machine does not allow mounts, not even by root")
    yield folder
    run("umount", "--lazy", folder)


def fill(disk: Path, left: int) -> Path:
    """Fill a disk except for `left` bytes; return the file that fills it."""
    path = disk / "large"
    path.write_bytes(bytes(shutil.disk_usage(disk).free - left))
    return path


def outputs(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


# --- the cache --------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_build_continues_if_the_cache_cannot_be_written(
    disk: Path, make_project, cuda_wheel: Run, tmp_path: Path
) -> None:
    project = make_project(TABLE)

    def build(folder: Path = disk / "cache") -> tuple[dict[str, bytes], list[str], bool]:
        """Return the files, the warnings about the disk, and whether anything was compiled."""
        result = cuda_wheel("build", project, "-o", tmp_path / "out", CUDA_WHEEL_CACHE_DIR=str(folder))
        assert result.returncode == 0, result.stdout
        warnings = re.findall(r"RuntimeWarning: cuda-wheel cannot write to its cache in \S+ \((.*?)\)", result.stdout)
        assert result.stdout.count("Warning") == len(warnings), result.stdout
        return outputs(tmp_path / "out"), warnings, "compiled" in result.stdout

    expected, _, _ = build(tmp_path / "cache")
    filler = fill(disk, 8192)
    assert build() == (expected, ["No space left on device"], True)
    cache = Cache(str(disk / "cache"))
    assert all(cache.get("".join(Path(path).parts[-2:])) is not None for _, _, path in cache.entries())
    assert not list(disk.rglob("*.part"))
    filler.unlink()
    assert build() == (expected, [], True)
    assert run("mount", "-o", "remount,ro", disk).returncode == 0
    assert build() == (expected, [], False)
    (project / "demo/fill.cu").write_text(KERNEL + "// edited\n")
    assert build()[1:] == (["Read-only file system"], True)


def test_a_build_continues_if_the_cache_folder_cannot_be_created(make_project, cuda_wheel: Run, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    cache = str(tmp_path / "file/cache")
    result = cuda_wheel("build", make_project(TABLE), "-o", tmp_path / "out", CUDA_WHEEL_CACHE_DIR=cache)
    assert result.returncode == 0
    assert result.stdout.count("cannot write to its cache in") == 1
    assert outputs(tmp_path / "out").keys() == {"fill.fatbin", "fill.fatbin.json"}


def test_an_entry_that_cannot_be_renamed_is_a_warning_and_leaves_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some file systems do not replace an existing file by a rename."""
    cache = Cache(str(tmp_path))
    monkeypatch.setattr("os.replace", mock.Mock(side_effect=FileExistsError(errno.EEXIST, "taken")))
    with pytest.warns(RuntimeWarning, match="cannot write to its cache"):
        cache.put(KEY, b"x")
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


LIMITED = ["bash", "-c", 'ulimit -f 1 && exec "$0" "$@"', sys.executable]
"""Python limited to files of 1 KiB, as on a disk that is nearly full."""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no ulimit")
def test_an_incomplete_entry_is_removed(tmp_path: Path) -> None:
    program = "import sys; from cuda_wheel.runtime.parts.user_cache import Cache; Cache(sys.argv[1]).put(sys.argv[2], bytes(4000))"
    result = run(*LIMITED, "-c", program, tmp_path, KEY)
    assert (result.returncode, result.stdout.count("(File too large)")) == (0, 1)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


# --- temporary files and outputs --------------------------------------------------------------------


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no ulimit")
def test_a_build_without_space_for_temporary_files_fails_with_advice(make_project, tmp_path: Path) -> None:
    (tmp_path / "tmp").mkdir()
    result = run(
        *LIMITED, "-m", "cuda_wheel", "build", make_project(TABLE), "-o", tmp_path / "out", TMPDIR=str(tmp_path / "tmp")
    )
    assert result.returncode == 1
    assert re.search(
        rf"^cuda-wheel: {tmp_path}/tmp/cuda-wheel-\w+/demo/fill.fatbin cannot be written: File too large. Set TMPDIR to "
        rf"use another folder for temporary files than {tmp_path}/tmp.$",
        result.stdout,
        re.MULTILINE,
    ), result.stdout
    assert "Traceback" not in result.stdout
    assert outputs(tmp_path / "out") == outputs(tmp_path / "tmp") == {}


def test_a_full_disk_for_the_outputs_is_an_error(disk: Path, make_project, cuda_wheel: Run) -> None:
    fill(disk, 2048)
    result = cuda_wheel("build", make_project(TABLE), "-o", disk / "out")
    assert result.returncode == 1
    assert re.search(
        rf"^cuda-wheel: {disk}/out/demo/fill.fatbin\S* cannot be written: No space left on device.$",
        result.stdout,
        re.MULTILINE,
    ), result.stdout
    assert not [path for path in (disk / "out").rglob("*") if path.is_file()]


def test_a_build_without_a_temporary_folder_fails_with_advice(
    make_project, tmp_path: Path, monkeypatch, capsys
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "none"))
    assert main(["build", str(make_project(TABLE)), "-o", str(tmp_path / "out")]) == 1
    expected = "cuda-wheel: cannot create a temporary folder (No such file or directory). Set TMPDIR to a folder that is writable.\n"
    assert capsys.readouterr().err == expected


def test_results_stay_in_memory_if_no_file_can_be_written(monkeypatch: pytest.MonkeyPatch) -> None:
    with JobResults(limit=0) as held, mock.patch.object(Path, "open", side_effect=OSError(errno.ENOSPC, "full")):
        held.put("job", EMPTY)  # type: ignore[arg-type]
        assert held["job"] is EMPTY  # type: ignore[index]
        held.drop("job")  # type: ignore[arg-type]
        assert len(held) == 0
