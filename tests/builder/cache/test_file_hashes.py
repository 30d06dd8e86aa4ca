"""Headers of packages are hashed without reading them, unless they may have changed since installation."""

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

from cuda_wheel.builder.cache.compile_cache import CompileCache
from cuda_wheel.builder.cache.file_hashes import FileHashes
from cuda_wheel.builder.compile.job import compile_job
from cuda_wheel.builder.jobs import Job
from cuda_wheel.builder.toolchain.records import Toolchain
from cuda_wheel.builder.workers.pool import Workers
from cuda_wheel.runtime.user_cache.cache import Cache

HEADER = "nvidia/cu99/include/deep/a.h"
CONTENT = b"#define A 1\n"
OTHER = b"#define A 2\n"


def digest(content: bytes) -> str:
    return sha256(content).hexdigest()


def install(site: Path, package: str, later: float = 5.0, **files: tuple[bytes, bytes]) -> None:
    """Install a package as pip does, with RECORD written last, `later` seconds after the files.

    `files` are (content according to RECORD, actual content) by path.
    """
    lines = []
    for path, (recorded, content) in files.items():
        (site / path).parent.mkdir(parents=True, exist_ok=True)
        (site / path).write_bytes(content)
        lines.append(
            f"{path},sha256={urlsafe_b64encode(sha256(recorded).digest()).decode().rstrip('=')},{len(recorded)}\n"
        )
    record = site / f"{package}.dist-info/RECORD"
    record.parent.mkdir()
    record.write_text("".join([*lines, f"{package}.dist-info/RECORD,,\n"]))
    written = max([(site / path).stat().st_ctime for path in files], default=time.time()) + later
    os.utime(record, (written, written))


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the only folder on `sys.path`, with one header whose hash in RECORD is wrong."""
    site = tmp_path / "site"
    monkeypatch.setattr(sys, "path", [str(site)])
    install(site, "nvidia_cuda_x-1.0", **{HEADER: (OTHER, CONTENT)})
    return site


def test_a_header_of_a_package_is_not_read(site: Path) -> None:
    assert FileHashes().of(str(site / HEADER)) == digest(OTHER)


def edited(header: Path) -> None:
    header.write_bytes(CONTENT)
    future = time.time() + 10
    os.utime(header, (future, future))


def replaced_by_an_old_file(header: Path) -> None:
    """`cp -p` and `tar -x` keep the old time of change."""
    install_time = (header.parents[4] / "nvidia_cuda_x-1.0.dist-info/RECORD").stat().st_ctime
    os.utime(header.parents[4] / "nvidia_cuda_x-1.0.dist-info/RECORD", (install_time, install_time))
    time.sleep(0.05)
    old = header.with_name("old")
    old.write_bytes(CONTENT)
    os.utime(old, (1e9, 1e9))
    old.replace(header)


def grown(header: Path) -> None:
    header.write_bytes(CONTENT + b"\n")


def changed_in_the_clock_tick_of_record(header: Path) -> None:
    record = header.parents[4] / "nvidia_cuda_x-1.0.dist-info/RECORD"
    os.utime(record, ns=(header.stat().st_ctime_ns,) * 2)


def listed_by_a_second_package(header: Path) -> None:
    install(header.parents[4], "nvidia_cuda_y-1.0", **{HEADER: (CONTENT, CONTENT)})


def without_record(header: Path) -> None:
    (header.parents[4] / "nvidia_cuda_x-1.0.dist-info/RECORD").unlink()


def in_no_cuda_package(header: Path) -> None:
    metadata = header.parents[4] / "nvidia_cuda_x-1.0.dist-info"
    metadata.rename(metadata.with_name("headers-1.0.dist-info"))


@pytest.mark.parametrize(
    "change",
    [
        edited,
        pytest.param(
            replaced_by_an_old_file,
            marks=pytest.mark.skipif(sys.platform == "win32", reason="Windows has no time of an inode's last change"),
        ),
        grown,
        changed_in_the_clock_tick_of_record,
        listed_by_a_second_package,
        without_record,
        in_no_cuda_package,
    ],
)
def test_a_header_that_may_have_changed_is_read(change: Callable[[Path], None], site: Path) -> None:
    header = site / HEADER
    change(header)
    assert FileHashes().of(str(header)) == digest(header.read_bytes())


def test_an_additional_hard_link_is_no_change(site: Path, tmp_path: Path) -> None:
    """uv hard-links one file into all environments: each new environment changes the inode's time."""
    changed_in_the_clock_tick_of_record(site / HEADER)
    time.sleep(0.05)
    os.utime(site / HEADER, (1e9, 1e9))
    os.link(site / HEADER, tmp_path / "in another environment")
    assert FileHashes().of(str(site / HEADER)) == digest(OTHER)


def test_a_missing_file_has_no_hash(site: Path) -> None:
    hashes = FileHashes()
    assert hashes.of(str(site / "nvidia/nowhere/a.h")) is None
    assert hashes.of(str(site / "nvidia/cu99/include/deep/b.h")) is None
    (site / HEADER).unlink()
    assert hashes.of(str(site / HEADER)) is None


def test_a_patched_toolkit_header_compiles_again(
    site: Path, tmp_path: Path, toolchain: Toolchain, workers: Workers
) -> None:
    """The patch keeps the size. Without it, and in another environment, the first result is found again."""
    install(site, "nvidia_cuda_z-1.0", **{"nvidia/z/include/a.h": (CONTENT, CONTENT)})
    text = b"#include <a.h>\n__global__ void k(int* x) { *x = A; }\n"
    job = Job(
        toolchain.libraries[0], str(tmp_path), "k.cu", text, "80", True, False, (),
        (".", str(site / "nvidia/z/include")), (), False, "auto",
    )  # fmt: skip
    header = site / "nvidia/z/include/a.h"
    cache = Cache(str(tmp_path / "cache"))
    first = workers.submit(compile_job, job).result()
    assert CompileCache(cache, toolchain).store_job(job, first)
    assert CompileCache(cache, toolchain).load_job(job) == first
    future = time.time() + 10
    header.write_bytes(OTHER)
    os.utime(header, (future, future))
    assert CompileCache(cache, toolchain).load_job(job) is None
    second = workers.submit(compile_job, job).result()
    assert second.cubin != first.cubin
    assert CompileCache(cache, toolchain).store_job(job, second)
    assert CompileCache(cache, toolchain).load_job(job) == second
    header.write_bytes(CONTENT)
    os.utime(header, (future, future))
    assert CompileCache(cache, toolchain).load_job(job) == first
    shutil.rmtree(site)
    install(site, "nvidia_cuda_z-1.0", **{"nvidia/z/include/a.h": (CONTENT, CONTENT)})
    assert CompileCache(cache, toolchain).load_job(job) == first
