"""Differences between systems that can be tested on one of them: Windows' separators, open files and pipes, and that few
modules use functions that only POSIX has."""

from __future__ import annotations

import json
import ntpath
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from cuda_wheel.builder.messages.diagnostics import read_nvrtc_log
from cuda_wheel.cmake.commands import escaped_path
from cuda_wheel.runtime.parts.user_cache import Cache
from tests.support.processes import run
from tests.support.projects import ROOT

pytestmark = pytest.mark.one_toolchain

CHECKS = {
    "cuda_wheel/builder/cache/files.py": {"sys.platform"},
    "cuda_wheel/builder/cache/process_lock.py": {"fcntl", "msvcrt", "sys.platform"},
    "cuda_wheel/builder/cache/whole_builds.py": {"sys.platform"},
    "cuda_wheel/builder/cluster/job_transfer.py": {"sys.platform"},
    "cuda_wheel/builder/compile/precompiled_headers.py": {"/proc/", "resource", "sys.platform"},
    "cuda_wheel/builder/toolchain/nvrtc.py": {"fork", "memfd_create", "sys.platform"},
    "cuda_wheel/builder/toolchain/process_group.py": {"sys.platform"},
    "cuda_wheel/builder/workers/pool.py": {"sched_getaffinity"},
    "cuda_wheel/builder/workers/worker.py": {"sys.platform"},
    "cuda_wheel/builder/workers/worker_process.py": {"/proc/", "killpg", "resource", "sys.platform"},
    "cuda_wheel/migrate/script_reader.py": {"os.name", "platform.system", "sys.platform"},
    "cuda_wheel/runtime/driver.py": {"register_at_fork"},
    "cuda_wheel/runtime/parts/cuda_libraries.py": {"sys.platform"},
    "cuda_wheel/runtime/parts/tile_hosts.py": {"platform.system"},
    "cuda_wheel/runtime/parts/user_cache.py": {"fcntl", "getuid", "sys.platform"},
    "cuda_wheel/torch/arithmetic.py": {"sys.platform"},
}
"""The modules that ask for the system, or use what some systems lack: CPU affinity, unnamed files, locks on files, memory limits, the C
library's allocator, the places of the driver and the cache, the cache's owner, copies of a process and hooks for them, groups of processes, code for the host in an image; what
a file's times tell, which build a library is, where its package has it, and how the C library is called; and on a cluster, whether machines are equal. What `script_reader` names are
the words of other programs, which it reads.
Review any other module before you add it to this table."""

ASKED = re.compile(
    r"sys\.platform|\bos\.name\b|platform\.system|\bfcntl\b|\bimport (resource)\b|\bmsvcrt\b|\bwinreg\b|/proc/(?=self/[cf])"
    r"|os\.(?:(sched_getaffinity|memfd_create|getuid|geteuid|register_at_fork|fork|killpg|setsid|sysconf|mkfifo|nice)\b)"
)


def test_few_modules_depend_on_the_system() -> None:
    found: dict[str, set[str]] = {}
    for package in ("cuda_wheel", "hatch_cuda", "setuptools_cuda"):
        for path in (ROOT / package).rglob("*.py"):
            asked = {match[1] or match[2] or match[0] for match in ASKED.finditer(path.read_text(encoding="utf-8"))}
            if asked:
                found[path.relative_to(ROOT).as_posix()] = asked
    assert found == CHECKS


def test_compiler_messages_with_windows_separators_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sep", ntpath.sep)
    log = (
        "C:\\work\\project\\demo\\sub/../k.cu(3): error: no\n"
        "C:\\toolkit\\include\\cuda/std/x.h(2): warning #1-D: old\n"
        "C:\\toolkit\\include/y.h(2): warning #1-D: old\n"
        "demo\\k.cu(4): warning #2-D: odd\n"
    )
    log_read = read_nvrtc_log(log, "demo/k.cu", "C:\\work\\project", ["C:\\toolkit\\include"])
    assert [(each.file, each.line, each.severity) for each in log_read.diagnostics] == [
        ("demo/k.cu", 3, "error"),
        ("demo/k.cu", 4, "warning"),
    ]


def test_a_make_rule_has_forward_slashes(monkeypatch: pytest.MonkeyPatch) -> None:
    assert escaped_path("/a b/c#d/$e/f\\g") == "/a\\ b/c\\#d/$$e/f\\g"
    monkeypatch.setattr(os, "sep", ntpath.sep)
    assert escaped_path("C:\\a b\\c#d\\$e") == "C:/a\\ b/c\\#d/$$e"


def test_a_cache_entry_that_another_process_reads_is_not_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Windows cannot replace an open file. (Warnings are errors in tests.)"""
    cache = Cache(str(tmp_path))
    key = Cache.key("one")
    cache.put(key, b"content")

    def replace(source: str, target: str) -> None:
        raise PermissionError(13, "Access is denied", target)

    monkeypatch.setattr(os, "replace", replace)
    cache.put(key, b"content")
    assert cache.get(key) == b"content"
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == [key[2:]]
    with pytest.warns(RuntimeWarning, match="cannot write to its cache .*Access is denied"):
        cache.put(Cache.key("two"), b"content")


def test_cmake_builds_names_that_the_encoding_of_a_pipe_lacks(
    make_project: Callable[..., Path], tmp_path: Path
) -> None:
    project = make_project(**{"demo/Käse.cu": '#warning "日本"\n__global__ void k() {}\n'})
    module = {"name": "demo.Käse", "sources": ["demo/Käse.cu"], "architectures": ["80-real"]}
    request = {
        "root": str(project),
        "file": str(project / "CMakeLists.txt"),
        "output": str(tmp_path / "out"),
        "depfile": str(tmp_path / "k.d"),
        "module": module,
    }
    (tmp_path / "k.json").write_text(json.dumps(request), encoding="utf-8")
    command = (sys.executable, "-m", "cuda_wheel.cmake", "build", tmp_path / "k.json")
    result = run(*command, PYTHONIOENCODING="ascii", PYTHONPATH=str(ROOT))
    assert (result.returncode, (tmp_path / "out/demo/Käse.fatbin").is_file()) == (0, True), result.stdout
