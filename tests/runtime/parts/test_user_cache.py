"""The cache: its size limit, use by several processes, the second folder, and what a clear leaves."""

from __future__ import annotations

import json
import multiprocessing
import os
import random
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cuda_wheel.runtime.parts import user_cache
from cuda_wheel.runtime.parts.user_cache import Cache, parse_size
from tests.support.caches import cache, fill, key, path_of, second, there
from tests.support.projects import KERNEL

pytestmark = pytest.mark.one_toolchain

__all__ = ["cache", "second"]

Run = Callable[..., subprocess.CompletedProcess[str]]
TABLE = '[tool.cuda-wheel]\narchitectures = "80-real"\n'


def snapshot(folder: Path) -> dict[str, tuple[bytes, int]]:
    return {str(path): (path.read_bytes(), path.stat().st_mtime_ns) for path in folder.rglob("*") if path.is_file()}


# --- the size limit ---------------------------------------------------------------------------------


def test_the_least_recently_used_entry_is_removed_first(cache: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_WHEEL_CACHE_SIZE", "1KiB")
    fill(cache, 250, 250, 250)
    assert cache.get(key(0))  # used now
    cache.put(key(3), b"x" * 250)
    assert there(cache, 4) == [0, 2, 3]


def test_an_entry_larger_than_the_limit_removes_no_other(cache: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_WHEEL_CACHE_SIZE", "1KiB")
    fill(cache, 250)
    cache.put(key(1), b"x" * 1000)
    assert there(cache, 2) == [0]


def test_a_limit_of_zero_keeps_no_entries(cache: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(cache, 10)
    monkeypatch.setenv("CUDA_WHEEL_CACHE_SIZE", "0")
    Cache().put(key(1), b"")
    assert cache.entries() == []


@given(st.lists(st.integers(0, 300), max_size=8), st.integers(0, 2000))
def test_pruning_keeps_the_newest_that_fit(sizes: list[int], limit: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        cache = Cache(folder)
        fill(cache, *sizes)
        expected = list(range(len(sizes)))
        while sum(64 + sizes[number] for number in expected) > limit:
            del expected[0]
        gone = sizes[: len(sizes) - len(expected)]
        assert cache.prune(limit) == (len(gone), sum(64 + size for size in gone))
        assert there(cache, len(sizes)) == expected


@pytest.mark.parametrize(
    ("text", "size"),
    [("0", 0), ("7B", 7), ("1KiB", 1024), ("500MiB", 500 << 20), (" 2 GiB ", 2 << 30), ("1TiB", 1 << 40)],
)
def test_sizes_are_parsed(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "5", "-1MiB", "1.5GiB", "2GB", "GiB", "1e3B", "²B", "2 gib", "1 MiB more"])
def test_an_invalid_size_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match='is not an amount of memory such as "500MiB"'):
        parse_size(text)


def test_an_invalid_limit_ends_a_build(make_project, cuda_wheel: Run, tmp_path: Path) -> None:
    result = cuda_wheel("build", make_project(TABLE), "-o", tmp_path / "out", CUDA_WHEEL_CACHE_SIZE="much")
    assert result.returncode == 1
    assert "cuda-wheel: the environment variable CUDA_WHEEL_CACHE_SIZE: 'much' is not an amount of" in result.stdout


def test_an_invalid_limit_is_only_a_warning_during_a_load(cache: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_WHEEL_CACHE_SIZE", "much")
    with pytest.warns(RuntimeWarning, match=r"CUDA_WHEEL_CACHE_SIZE: 'much' is not .* The cache is limited to 2 GiB"):
        cache.put(key(0), b"x")
    cache.put(key(1), b"x")  # reported once
    assert cache.get(key(0)) == b"x"


# --- one folder, many processes ---------------------------------------------------------------------


def content_of(number: int) -> bytes:
    return random.Random(number).randbytes(50 + 40 * number)


def use(folder: str, seed: int) -> list[int]:
    """Put, get, prune and clear for a while. Return the entries whose content was not what had been put."""
    warnings.simplefilter("error")
    cache, rng, wrong = Cache(folder), random.Random(seed), []
    for _ in range(1500):
        number = rng.randrange(40)
        if rng.random() < 0.5:
            cache.put(key(number), content_of(number))
        elif cache.get(key(number)) not in (None, content_of(number)):
            wrong.append(number)
        if rng.random() < 0.1:
            cache.prune(rng.choice([0, 2000, 20_000]))
    return wrong


@pytest.mark.slow
def test_processes_that_put_and_prune_at_once_never_see_a_wrong_entry(cache: Cache) -> None:
    with multiprocessing.get_context("spawn").Pool(4) as pool:
        assert pool.starmap(use, [(cache.folder, seed) for seed in range(4)]) == [[], [], [], []]
    assert not list(Path(cache.folder).rglob("*.part"))
    cache.prune(2000)
    assert sum(size for _, size, _ in cache.entries()) <= 2000


def test_pruning_accepts_that_another_process_removed_an_entry(cache: Cache) -> None:
    fill(cache, 10, 10)
    entries = list(cache._files())
    path_of(cache, 0).unlink()
    with mock.patch.object(Cache, "_files", return_value=entries):
        assert cache.prune(0) == (2, 148)
    assert cache.entries() == []


def test_an_entry_that_cannot_be_marked_as_used_is_still_read(cache: Cache) -> None:
    fill(cache, 10)
    with mock.patch("os.utime", side_effect=PermissionError):
        assert cache.get(key(0)) == b"x" * 10


def test_old_temporary_files_of_killed_processes_are_removed(cache: Cache) -> None:
    fill(cache, 10)
    old, new = (path_of(cache, 0).with_name(f"{key(0)[2:]}.{pid}.1.part") for pid in (1, 2))
    for path in (old, new):
        path.write_bytes(b"half")
    os.utime(old, (time.time() - 7200,) * 2)
    assert len(cache.entries()) == 1
    cache.put(key(1), b"x")
    assert (old.exists(), new.exists()) == (True, True)  # a cache does not check the limit on every put
    Cache().put(key(1), b"x")
    assert (old.exists(), new.exists()) == (False, True)
    assert there(cache, 2) == [0, 1]


def test_the_cache_belongs_to_its_user(cache: Cache) -> None:
    fill(cache, 10)
    if sys.platform == "win32":
        return
    assert path_of(cache, 0).parent.stat().st_mode & 0o077 == 0
    with mock.patch("os.getuid", return_value=os.getuid() + 1):
        assert cache.get(key(0)) is None
        assert cache.prune(0) == (0, 0)
    assert cache.get(key(0)) == b"x" * 10


@pytest.mark.skipif(sys.platform == "win32", reason="files have other permissions there")
def test_no_other_user_can_read_the_cache_whatever_the_umask(cache: Cache, tmp_path: Path) -> None:
    named = Cache(str(tmp_path / "a" / "b"))
    before = os.umask(0)
    try:
        for each in (cache, named):
            fill(each, 10)
    finally:
        os.umask(before)
    for each in (cache, named):
        assert [path.stat().st_mode & 0o777 for path in (Path(each.folder), path_of(each, 0).parent)] == [0o700] * 2
        assert path_of(each, 0).stat().st_mode & 0o777 == 0o600


def test_an_entry_in_the_place_of_another_counts_as_absent(cache: Cache) -> None:
    """A user who can rename or link files in the folder cannot replace one result by another."""
    fill(cache, 10, 20)
    path_of(cache, 1).replace(path_of(cache, 0))
    with pytest.warns(RuntimeWarning, match="is damaged or was written by another program"):
        assert cache.get(key(0)) is None
    cache.put(key(0), b"again")
    assert cache.get(key(0)) == b"again"


@pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() != 0, reason="only root can make another user's files")
@pytest.mark.parametrize("folders_too", [False, True])
def test_entries_of_another_user_are_not_loaded(folders_too: bool, cache: Cache) -> None:
    """CUDA_WHEEL_CACHE_DIR may name a folder that every user can write to."""
    fill(cache, 10)
    path = path_of(cache, 0)
    os.chown(path, 12345, 12345)
    if folders_too:
        for folder in (path.parent, Path(cache.folder)):
            os.chown(folder, 12345, 12345)
            folder.chmod(0o777)
    assert cache.get(key(0)) is None
    assert cache.entries() == []
    cache.put(key(0), b"mine")
    assert cache.get(key(0)) == b"mine"
    assert path.stat().st_uid == 0


@pytest.mark.skipif(sys.platform == "win32", reason="links need a privilege there")
def test_links_and_pipes_of_another_user_are_neither_followed_nor_waited_for(
    cache: Cache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(cache, 10)
    mine = tmp_path / "mine"
    mine.write_text("thesis")
    monkeypatch.setattr(os, "urandom", bytes)  # as if the name could be guessed
    trap = path_of(cache, 0).with_name(f"{key(0)[2:]}.{bytes(8).hex()}.part")
    trap.symlink_to(mine)
    with pytest.warns(RuntimeWarning, match="cannot write to its cache"):
        cache.put(key(0), b"new")
    assert mine.read_text() == "thesis"
    path_of(cache, 0).unlink()
    os.mkfifo(path_of(cache, 0))
    with pytest.warns(RuntimeWarning, match="is damaged or was written by another program"):
        assert cache.get(key(0)) is None


# --- the second folder ------------------------------------------------------------------------------


def test_the_second_folder_is_read_and_never_written(second: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(second, 10, 20)
    before = snapshot(Path(second.folder))
    cache = Cache()
    cache.put(key(1), b"own")
    assert cache.get(key(0)) == b"x" * 10
    assert cache.get(key(1)) == b"own"
    assert list(cache.found(key(1), bytes)) == [b"own", b"x" * 20]
    assert cache.get(key(2)) is None
    cache.prune(0)
    assert cache.get(key(1)) == b"x" * 20
    assert snapshot(Path(second.folder)) == before
    assert cache.entries() == []
    monkeypatch.delenv("CUDA_WHEEL_CACHE_READONLY")
    assert Cache().get(key(0)) is None


def test_a_damaged_entry_of_the_second_folder_counts_as_absent(second: Cache) -> None:
    fill(second, 10)
    path_of(second, 0).write_bytes(path_of(second, 0).read_bytes()[:-1])
    with pytest.warns(RuntimeWarning, match="second is damaged"):
        assert Cache().get(key(0)) is None


def test_an_entry_under_another_key_counts_as_absent(cache: Cache) -> None:
    fill(cache, 10, 20)
    path_of(cache, 0).replace(path_of(cache, 1))
    with pytest.warns(RuntimeWarning, match="is damaged"):
        assert cache.get(key(1)) is None


def test_an_entry_that_its_reader_cannot_parse_counts_as_absent(second: Cache) -> None:
    cache = Cache()
    cache.put(key(0), b"{}")
    second.put(key(0), b'{"a": 1}')
    with pytest.warns(RuntimeWarning, match="was written by another program"):
        assert cache.read(key(0), lambda content: json.loads(content)["a"]) == 1


@pytest.mark.skipif(sys.platform == "win32", reason="files have owners of another kind there")
def test_an_entry_of_the_second_folder_can_belong_to_another_user(second: Cache) -> None:
    fill(second, 10)
    with mock.patch("os.getuid", return_value=os.getuid() + 1):
        assert Cache().get(key(0)) == b"x" * 10


@pytest.mark.slow
def test_a_missing_read_only_folder_is_reported_once(make_project, cuda_wheel: Run, tmp_path: Path) -> None:
    project = make_project(TABLE, **{"demo/k.cu": KERNEL, "demo/l.cu": KERNEL})
    warning = "RuntimeWarning: the read-only cache /no/where (CUDA_WHEEL_CACHE_READONLY) is not used: No such file or"
    warnings_shown = []
    for _ in range(2):
        result = cuda_wheel("build", project, "-o", tmp_path / "out", CUDA_WHEEL_CACHE_READONLY="/no/where")
        assert result.returncode == 0
        warnings_shown.append(result.stdout.count(warning))
    assert warnings_shown == [1, 0]  # the second build finds everything in its own cache


def build(cuda_wheel: Run, project: Path, folder: Path, **environ: str) -> tuple[str, bytes]:
    """Build a project. Return the summary of the jobs, such as "2 from the cache", and the fatbin."""
    output = project.with_name("out")
    result = cuda_wheel("build", project, "-o", output, CUDA_WHEEL_CACHE_DIR=str(folder), **environ)
    assert result.returncode == 0, result.stdout
    return result.stdout.rstrip().rpartition(" s: ")[2].partition(";")[0], next(output.rglob("*.fatbin")).read_bytes()


@pytest.mark.slow
def test_a_build_reads_from_the_second_folder_what_the_first_lacks(
    make_project, cuda_wheel: Run, tmp_path: Path
) -> None:
    shared, own = tmp_path / "shared", tmp_path / "own"
    source = '#include "a.h"\n__global__ void k(int* x) { *x = A; }\n'
    project = make_project(TABLE, **{"demo/k.cu": source, "demo/a.h": "#define A 1\n"})
    first = build(cuda_wheel, project, shared)
    assert first[0] == "1 compiled"
    assert build(cuda_wheel, project, own, CUDA_WHEEL_CACHE_READONLY=str(shared)) == ("1 from the cache", first[1])
    assert not own.exists()
    # Now the first folder has an entry for the job, but for other header files.
    (project / "demo/a.h").write_text('#include "b.h"\n')
    (project / "demo/b.h").write_text("#define A 2\n")
    assert build(cuda_wheel, project, own, CUDA_WHEEL_CACHE_READONLY=str(shared))[0] == "1 compiled"
    (project / "demo/a.h").write_text("#define A 1\n")
    assert build(cuda_wheel, project, own, CUDA_WHEEL_CACHE_READONLY=str(shared)) == ("1 from the cache", first[1])
    assert build(cuda_wheel, project, own)[0] == "1 compiled"


# --- clearing ------------------------------------------------------------------------------------


@pytest.mark.skipif(sys.platform == "win32", reason="links need a privilege there")
def test_clearing_removes_entries_only(cache: Cache, cuda_wheel: Run, tmp_path: Path) -> None:
    """CUDA_WHEEL_CACHE_DIR may name a folder that contains other files."""
    elsewhere = tmp_path / "elsewhere"
    name = "0" * 62
    strange = [
        elsewhere / name,
        *(Path(cache.folder, path) for path in ("thesis.tex", f"{name}ab", f"AB/{name}", f"abc/{name}", "ab/notes")),
        *(Path(cache.folder, "ab", path) for path in (f"{name}.txt", name[1:], f"{name}0", f"c{name[1:-1]}G")),
        Path(cache.folder, "ab", "c" * 62, "in a folder of such a name"),
        Path(cache.folder, "more", "ab", name),
    ]
    for path in strange:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("mine")
    Path(cache.folder, "cd").symlink_to(elsewhere)
    Path(cache.folder, "ab", "d" * 62).symlink_to(elsewhere / name)
    before = snapshot(tmp_path)
    fill(cache, 10, 20, 30)
    assert len(cache.entries()) == 3
    result = cuda_wheel("cache", "--clear")
    assert result.returncode == 0
    assert result.stdout.startswith("removed 3 entries, 252 B\n")
    assert snapshot(tmp_path) == before
    assert Path(cache.folder, "cd").is_symlink()
    assert Path(cache.folder, "ab", "d" * 62).is_symlink()


# --- the folder -------------------------------------------------------------------------------------


@pytest.mark.parametrize("platform", ["linux", "darwin", "win32"])
def test_the_cache_folder_follows_the_platform(platform: str, monkeypatch: pytest.MonkeyPatch) -> None:
    module = pytest.importorskip("platformdirs")
    monkeypatch.delenv("CUDA_WHEEL_CACHE_DIR", raising=False)
    monkeypatch.setenv("LOCALAPPDATA", "/somewhere/Local")
    kinds = {"linux": ("unix", "Unix"), "darwin": ("macos", "MacOS"), "win32": ("windows", "Windows")}
    submodule, name = kinds[platform]
    __import__(f"platformdirs.{submodule}")
    if platform == "win32":
        monkeypatch.setattr(sys.modules["platformdirs.windows"], "get_win_folder", lambda _: "/somewhere/Local")
    expected = getattr(getattr(module, submodule), name)("cuda-wheel", appauthor=False).user_cache_dir
    monkeypatch.setattr(sys, "platform", platform)
    assert user_cache.cache_folder().replace("\\", "/") == expected.replace("\\", "/")


@pytest.mark.skipif(sys.platform == "win32", reason="users of Windows have no numbers")
@pytest.mark.parametrize("variables", [{}, {"CUDA_WHEEL_CACHE_DIR": "~/.cache/x"}, {"XDG_CACHE_HOME": "~/.cache"}])
def test_without_a_home_directory_the_cache_is_a_temporary_folder(
    variables: dict[str, str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """As of a user that a container makes up: no variable and no entry of /etc/passwd names one."""
    for name in ("CUDA_WHEEL_CACHE_DIR", "XDG_CACHE_HOME", "HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("pwd.getpwuid", lambda number: {}[number])
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    assert user_cache.cache_folder() == f"{tmp_path}/cuda-wheel-{os.getuid()}"
    monkeypatch.setenv("HOME", "relative")
    assert variables.get("CUDA_WHEEL_CACHE_DIR") or user_cache.cache_folder() == f"{tmp_path}/cuda-wheel-{os.getuid()}"
    monkeypatch.setenv("HOME", "/home/me")
    assert user_cache.cache_folder().startswith("/home/me/.cache/")


def test_the_environment_can_move_the_cache_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_WHEEL_CACHE_DIR", "/elsewhere")
    assert user_cache.cache_folder() == "/elsewhere"
