"""The hash of a header is remembered, and never used after the header may have changed."""

from __future__ import annotations

import os
import shutil
import sys
import time
from base64 import urlsafe_b64encode
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from types import SimpleNamespace

import pytest

from cuda_wheel.builder.cache import files as file_hashes
from cuda_wheel.builder.cache.compile_cache import CompileCache
from cuda_wheel.builder.cache.files import FileHashes, unchanged_since
from cuda_wheel.builder.compile.job import compile_job
from cuda_wheel.builder.jobs import Job
from cuda_wheel.builder.toolchain import packages
from cuda_wheel.builder.toolchain.toolchain import Toolchain
from cuda_wheel.builder.workers.pool import Workers
from cuda_wheel.runtime.parts.user_cache import Cache

pytestmark = pytest.mark.one_toolchain

HEADER = "nvidia/cu99/include/deep/a.h"
CONTENT = b"#define A 1\n"
OTHER = b"#define A 2\n"
keeps_inode_times = pytest.mark.skipif(sys.platform == "win32", reason="Windows does not tell when an inode changed")


def digest(content: bytes) -> str:
    return sha256(content).hexdigest()


def install(site: Path, package: str, **files: bytes) -> None:
    """Install a package as pip does, with RECORD written last."""
    lines = []
    for path, content in files.items():
        (site / path).parent.mkdir(parents=True, exist_ok=True)
        (site / path).write_bytes(content)
        encoded = urlsafe_b64encode(sha256(content).digest()).decode().rstrip("=")
        lines.append(f"{path},sha256={encoded},{len(content)}\n")
    (site / f"{package}.dist-info").mkdir()
    (site / f"{package}.dist-info/RECORD").write_text("".join(lines))


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the only folder that is searched for packages, with one. Files settle at once, for tests do not wait.

    `sys.path` itself stays, for a worker may start meanwhile.
    """
    site = tmp_path / "site"
    monkeypatch.setattr(packages, "sys", SimpleNamespace(path=[str(site)]))
    monkeypatch.setattr(file_hashes, "_SETTLED_AFTER", 0)
    install(site, "nvidia_cuda_x-1.0", **{HEADER: CONTENT})
    time.sleep(0.02)
    return site


@pytest.fixture
def memory(tmp_path: Path) -> Cache:
    return Cache(str(tmp_path / "cache"))


def remembered(site: Path, memory: Cache) -> str | None:
    """Return the header's hash as a build computes it, and remember it."""
    hashes = FileHashes(memory)
    found: str | None = hashes.of(str(site / HEADER))
    hashes.save()
    return found


@keeps_inode_times
def test_a_header_of_a_package_is_read_once(site: Path, memory: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    assert remembered(site, memory) == digest(CONTENT)
    monkeypatch.setattr(file_hashes, "_read", lambda path: pytest.fail(f"{path} is read again"))
    assert remembered(site, memory) == digest(CONTENT)


def edited(header: Path) -> None:
    header.write_bytes(OTHER)


def edited_with_its_old_time(header: Path) -> None:
    status = header.stat()
    header.write_bytes(OTHER)
    os.utime(header, ns=(status.st_atime_ns, status.st_mtime_ns))


def replaced_by_a_file_of_the_same_time(header: Path) -> None:
    """`cp -p` and `tar -x` keep the time of change."""
    status = header.stat()
    other = header.with_name("other")
    other.write_bytes(OTHER)
    os.utime(other, ns=(status.st_atime_ns, status.st_mtime_ns))
    other.replace(header)


def grown(header: Path) -> None:
    header.write_bytes(CONTENT + b"\n")


@pytest.mark.parametrize("change", [edited, edited_with_its_old_time, replaced_by_a_file_of_the_same_time, grown])
def test_a_header_that_changed_is_read(change: Callable[[Path], None], site: Path, memory: Cache) -> None:
    remembered(site, memory)
    change(site / HEADER)
    assert remembered(site, memory) == digest((site / HEADER).read_bytes()) != digest(CONTENT)


def test_a_header_that_changed_just_now_is_not_remembered(
    site: Path, memory: Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Within one tick of the file system's clock, a second change would leave the time as it is."""
    monkeypatch.setattr(file_hashes, "_SETTLED_AFTER", 3 * 10**9)
    remembered(site, memory)
    assert memory.entries() == []


def test_a_header_that_was_patched_before_its_environment_was_copied_is_read(
    site: Path, tmp_path: Path, memory: Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    """RECORD has the hash of the original, and in the copy it is newer than the header."""
    (site / HEADER).write_bytes(OTHER)
    copy = tmp_path / "copy"
    shutil.copytree(site / "nvidia", copy / "nvidia", copy_function=shutil.copy)
    time.sleep(0.02)
    shutil.copytree(site / "nvidia_cuda_x-1.0.dist-info", copy / "nvidia_cuda_x-1.0.dist-info")
    monkeypatch.setattr(packages, "sys", SimpleNamespace(path=[str(copy)]))
    for _ in range(2):
        assert remembered(copy, memory) == digest(OTHER)


def test_a_damaged_memory_counts_as_absent(site: Path, memory: Cache) -> None:
    remembered(site, memory)
    for _, _, path in memory.entries():
        memory.put("".join(Path(path).parts[-2:]), b'[["nvidia/cu99/include/deep/a.h", 1]]')
    assert remembered(site, memory) == digest(CONTENT)


def test_a_missing_file_has_no_hash(site: Path, memory: Cache) -> None:
    hashes = FileHashes(memory)
    assert hashes.of(str(site / "nvidia/nowhere/a.h")) is None
    assert hashes.of(str(site / "nvidia/cu99/include/deep/b.h")) is None
    remembered(site, memory)
    (site / HEADER).unlink()
    assert remembered(site, memory) is None


def test_a_patched_toolkit_header_compiles_again(
    site: Path, tmp_path: Path, toolchain: Toolchain, workers: Workers
) -> None:
    """The patch keeps the size. Without it, and in another environment, the first result is found again."""
    install(site, "nvidia_cuda_z-1.0", **{"nvidia/z/include/a.h": CONTENT})
    text = b"#include <a.h>\n__global__ void k(int* x) { *x = A; }\n"
    job = Job(
        toolchain.libraries[0], str(tmp_path), "k.cu", text, "80", True, False, (),
        (".", str(site / "nvidia/z/include")), (), False, "auto",
    )  # fmt: skip
    header = site / "nvidia/z/include/a.h"
    cache = Cache(str(tmp_path / "cache"))
    time.sleep(0.02)  # a header that changes after the cache was opened prevents caching

    def is_stored(result: object) -> bool:
        opened = CompileCache(cache, toolchain)
        stored = opened.store_job(job, result)  # type: ignore[arg-type]
        opened.save()
        return stored and CompileCache(cache, toolchain).load_job(job) == result

    first = workers.submit(compile_job, job).result()
    assert is_stored(first)
    past = time.time() - 1000
    header.write_bytes(OTHER)
    os.utime(header, (past, past))
    time.sleep(0.02)
    assert CompileCache(cache, toolchain).load_job(job) is None
    second = workers.submit(compile_job, job).result()
    assert second.cubin != first.cubin
    assert is_stored(second)
    header.write_bytes(CONTENT)
    os.utime(header, (past, past))
    assert CompileCache(cache, toolchain).load_job(job) == first
    shutil.rmtree(site)
    install(site, "nvidia_cuda_z-1.0", **{"nvidia/z/include/a.h": CONTENT})
    assert CompileCache(cache, toolchain).load_job(job) == first


# --- what is remembered, and where -----------------------------------------------------------------


@keeps_inode_times
def test_hashes_are_remembered_in_the_given_cache(site: Path, memory: Cache) -> None:
    remembered(site, memory)
    assert len(memory.entries()) == 1


def test_without_a_memory_the_packages_are_not_searched(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_hashes, "cuda_folders", lambda: pytest.fail("searched"))
    hashes = FileHashes()
    assert hashes.of(str(site / HEADER)) == digest(CONTENT)
    hashes.save()


def test_nothing_is_remembered_where_an_edit_may_leave_every_time_as_it_was(
    site: Path, memory: Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    assert remembered(site, memory) == digest(CONTENT)
    assert memory.entries() == []


def test_a_file_outside_of_packages_is_read_and_not_remembered(site: Path, tmp_path: Path, memory: Cache) -> None:
    source = tmp_path / "a.cuh"
    source.write_bytes(OTHER)
    time.sleep(0.02)
    hashes = FileHashes(memory)
    assert hashes.of(str(source)) == digest(OTHER)
    hashes.save()
    assert memory.entries() == []


@keeps_inode_times
def test_each_folder_of_packages_has_a_memory_of_its_own(
    site: Path, tmp_path: Path, memory: Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "other"
    install(other, "nvidia_cuda_x-1.0", **{HEADER: OTHER})
    monkeypatch.setattr(packages, "sys", SimpleNamespace(path=[str(site), str(other)]))
    time.sleep(0.02)
    hashes = FileHashes(memory)
    assert [hashes.of(str(folder / HEADER)) for folder in (site, other)] == [digest(CONTENT), digest(OTHER)]
    hashes.save()
    monkeypatch.setattr(file_hashes, "_read", lambda path: pytest.fail(f"{path} is read again"))
    again = FileHashes(memory)
    assert [again.of(str(folder / HEADER)) for folder in (site, other)] == [digest(CONTENT), digest(OTHER)]


@keeps_inode_times
def test_a_memory_of_another_layout_is_not_read(site: Path, memory: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    remembered(site, memory)
    monkeypatch.setattr(file_hashes, "FORMAT", "another")
    remembered(site, memory)
    assert len(memory.entries()) == 2


# --- times -----------------------------------------------------------------------------------------


def set_clock(monkeypatch: pytest.MonkeyPatch, now: int) -> None:
    """Set the time that the module reads; the file system keeps its own."""
    monkeypatch.setattr(file_hashes, "time", SimpleNamespace(time_ns=lambda: now))


@keeps_inode_times
@pytest.mark.parametrize(("later", "count"), [(-1, 0), (0, 0), (1, 1)])
def test_a_header_is_remembered_once_its_time_is_well_past(
    later: int, count: int, site: Path, memory: Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The time of the content may be later than that of the inode: an archive has it, or a clock was wrong."""
    header = site / HEADER
    future = header.stat().st_ctime_ns + 10**12
    os.utime(header, ns=(future, future))
    monkeypatch.setattr(file_hashes, "_SETTLED_AFTER", 1000)
    set_clock(monkeypatch, header.stat().st_mtime_ns + 1000 + later)
    assert remembered(site, memory) == digest(CONTENT)
    assert len(memory.entries()) == count


@keeps_inode_times
def test_the_number_of_an_inode_is_no_time(site: Path, memory: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    """Network file systems have numbers of 64 bits."""
    state = file_hashes.state_of
    monkeypatch.setattr(file_hashes, "state_of", lambda status: (*state(status)[:3], 2**63))
    remembered(site, memory)
    assert len(memory.entries()) == 1


@pytest.mark.parametrize("field", ["st_size", "st_mtime_ns", "st_ctime_ns", "st_ino"])
def test_each_fact_of_the_inode_tells_two_files_apart(field: str) -> None:
    facts = dict.fromkeys(("st_size", "st_mtime_ns", "st_ctime_ns", "st_ino"), 1)
    one, other = (file_hashes.state_of(SimpleNamespace(**each)) for each in (facts, facts | {field: 2}))  # type: ignore[arg-type]
    assert one != other


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "a.h"
    path.write_bytes(CONTENT)
    return path


@keeps_inode_times
def test_a_change_that_restores_the_old_time_is_noticed(source: Path) -> None:
    time.sleep(0.02)
    began = time.time_ns()
    time.sleep(0.02)
    source.write_bytes(OTHER)
    os.utime(source, ns=(1, 1))
    time.sleep(0.02)
    assert not unchanged_since(began, [str(source)])
    assert unchanged_since(time.time_ns(), [str(source)])


def test_a_new_hard_link_is_no_change(source: Path) -> None:
    os.utime(source, ns=(1, 1))
    time.sleep(0.02)
    began = time.time_ns()
    time.sleep(0.02)
    os.link(source, source.with_name("link.h"))
    time.sleep(0.02)
    assert unchanged_since(began, [str(source)])


@pytest.mark.parametrize("links", [1, 2])
@pytest.mark.parametrize(("began", "now", "unchanged"), [(1, 2, True), (0, 0, False), (-1, 0, False), (-2, -1, True)])
def test_the_time_of_the_content_counts_from_begin_to_now(
    links: int, began: int, now: int, unchanged: bool, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A time in the future was there before: a file that changes now gets the present one."""
    if links == 2:
        os.link(source, source.with_name("link.h"))
    future = source.stat().st_ctime_ns + 10**12
    os.utime(source, ns=(future, future))
    written = source.stat().st_mtime_ns
    set_clock(monkeypatch, written + now)
    assert unchanged_since(written + began, [str(source)]) is unchanged


def test_a_missing_file_counts_as_changed(source: Path) -> None:
    began = time.time_ns() + 10**12
    assert unchanged_since(began, [str(source)])
    assert not unchanged_since(began, [str(source), str(source.with_name("missing.h"))])
