"""One job runs at once for each core that the CPU affinity and the container's limit allow."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from cuda_wheel.builder.errors import ConfigError
from cuda_wheel.builder.workers.pool import available_cores, container_limit

pytestmark = pytest.mark.one_toolchain


def groups(folder: Path, memberships: str, mounts: dict[str, tuple[str, str, str]], **files: str) -> Path:
    """Return a folder like /proc/self, with these control groups; `mounts` is root, kind and options by mount point."""
    process = folder / "proc"
    process.mkdir()
    (process / "cgroup").write_text(memberships)
    lines = [
        f"31 23 0:28 {root} {folder / point} rw,nosuid - {kind} cgroup {options}\n"
        for point, (root, kind, options) in mounts.items()
    ]
    (process / "mountinfo").write_text(f"1 0 8:1 / / rw shared:1 - ext4 /dev/sda1 rw\n{''.join(lines)}")
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return process


V1 = {"cpu": ("/", "cgroup", "rw,cpu,cpuacct"), "memory": ("/", "cgroup", "rw,memory")}
V2 = {"unified": ("/", "cgroup2", "rw")}


@pytest.mark.parametrize(
    ("memberships", "mounts", "files", "limit"),
    [
        ("0::/\n", V2, {"unified/cpu.max": "150000 100000\n"}, 1.5),
        ("0::/\n", V2, {"unified/cpu.max": "max 100000\n"}, None),
        ("0::/\n", V2, {}, None),
        ("0::/a/b\n", V2, {"unified/a/b/cpu.max": "max 100000\n", "unified/a/cpu.max": "200000 100000\n"}, 2),
        ("0::/a/b\n", V2, {"unified/a/b/cpu.max": "50000 100000\n", "unified/a/cpu.max": "200000 100000\n"}, 0.5),
        ("0::/a/b\n", V2, {"unified/c/cpu.max": "50000 100000\n"}, None),
        (
            "4:cpu,cpuacct:/a\n3:memory:/b\n0::/\n",
            V1,
            {"cpu/a/cpu.cfs_quota_us": "300000\n", "cpu/a/cpu.cfs_period_us": "100000\n"},
            3,
        ),
        (
            "4:cpu,cpuacct:/a\n",
            V1,
            {"cpu/a/cpu.cfs_quota_us": "-1\n", "cpu/a/cpu.cfs_period_us": "100000\n"},
            None,
        ),
        # A container without its own name space for groups: /proc has the host's name, and the container's is mounted.
        (
            "4:cpu:/docker/1f\n",
            {"cpu": ("/docker/1f", "cgroup", "rw,cpu")},
            {"cpu/cpu.cfs_quota_us": "250000\n", "cpu/cpu.cfs_period_us": "100000\n"},
            2.5,
        ),
        ("0::/../other\n", {"unified": ("/mine", "cgroup2", "rw")}, {"unified/cpu.max": "100000 100000\n"}, 1),
        ("0::/\n", V2, {"unified/cpu.max": "0 100000\n"}, None),
        ("0::/\n", V2, {"unified/cpu.max": "what?"}, None),
    ],
)
def test_the_limit_of_a_container_is_found(
    memberships: str,
    mounts: dict[str, tuple[str, str, str]],
    files: dict[str, str],
    limit: float | None,
    tmp_path: Path,
) -> None:
    assert container_limit(groups(tmp_path, memberships, mounts, **files)) == limit


def test_without_control_groups_there_is_no_limit(tmp_path: Path) -> None:
    assert container_limit(tmp_path) is None


@pytest.mark.parametrize(("limit", "cores"), [(None, 4), (9.0, 4), (4.0, 4), (1.5, 2), (0.2, 1)])
def test_at_most_as_many_jobs_run_as_cores_are_allowed(
    limit: float | None, cores: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CUDA_WHEEL_JOBS", raising=False)
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0, 2, 4, 6}, raising=False)
    monkeypatch.setattr("cuda_wheel.builder.workers.pool.container_limit", lambda: limit)
    assert available_cores() == cores


def test_the_number_of_jobs_can_be_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_WHEEL_JOBS", "7")
    assert available_cores() == 7
    monkeypatch.delenv("CUDA_WHEEL_JOBS")
    assert 1 <= available_cores() <= (os.cpu_count() or 1)


@pytest.mark.parametrize("jobs", ["many", "0", "-1", "1.5"])
def test_an_invalid_number_of_jobs_is_an_error(jobs: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_WHEEL_JOBS", jobs)
    with pytest.raises(ConfigError, match=f"CUDA_WHEEL_JOBS must be a number above 0, not '{jobs}'"):
        available_cores()
