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

import pytest

from cuda_wheel.builder.cache import file_hashes
from cuda_wheel.builder.cache.compile_cache import CompileCache
from cuda_wheel.builder.cache.file_hashes import FileHashes
from cuda_wheel.builder.compile.job import compile_job
from cuda_wheel.builder.jobs import Job
from cuda_wheel.builder.toolchain.records import Toolchain
from cuda_wheel.builder.workers.pool import Workers
from cuda_wheel.runtime.user_cache.cache import Cache

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
    """Return the only folder on `sys.path`, with one package. Files settle at once, for tests do not wait."""
    site = tmp_path / "site"
    monkeypatch.setattr(sys, "path", [str(site)])
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
    monkeypatch.setattr(sys, "path", [str(copy)])
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
