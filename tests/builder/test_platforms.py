"""What differs between systems, as far as it shows without them: Windows' separators, open files and pipes, and that no
part calls what only POSIX has."""

from __future__ import annotations

import json
import ntpath
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from cuda_wheel.builder.messages.diagnostics import read_log
from cuda_wheel.builder.toolchain.find import _is_packaged
from cuda_wheel.cmake.build_module import _escaped
from cuda_wheel.runtime.cache import Cache
from tests.support.processes import run
from tests.support.projects import ROOT

CHECKS = {
    "cuda_wheel/build/cores.py": {"sched_getaffinity"},
    "cuda_wheel/build/nvrtc.py": {"memfd_create"},
    "cuda_wheel/build/precompiled.py": {"resource", "/proc/", "sys.platform"},
    "cuda_wheel/build/portable.py": {"sys.platform"},
    "cuda_wheel/build/worker.py": {"sys.platform"},
    "cuda_wheel/build/worker_process.py": {"resource", "/proc/", "sys.platform"},
    "cuda_wheel/loader.py": {"sys.platform", "getuid", "register_at_fork"},
}
"""Where the code asks which system it is on, or uses what one of them lacks: the affinity of processes, files without a
name, limits on memory, the driver's place, the cache's place and owner, what a fork is told, and on a cluster, whether
machines are alike. Another place is for somebody to judge, and for this table."""

ASKED = re.compile(
    r"sys\.platform|\bos\.name\b|platform\.system|\bfcntl\b|\bimport (resource)\b|\bmsvcrt\b|\bwinreg\b|/proc/(?=self/[cf])"
    r"|os\.(?:(sched_getaffinity|memfd_create|getuid|geteuid|register_at_fork|fork|killpg|setsid|sysconf|mkfifo|nice)\b)"
)


def test_systems_differ_in_few_places() -> None:
    found: dict[str, set[str]] = {}
    for package in ("cuda_wheel", "hatch_cuda", "setuptools_cuda"):
        for path in (ROOT / package).rglob("*.py"):
            asked = {match[1] or match[2] or match[0] for match in ASKED.finditer(path.read_text(encoding="utf-8"))}
            if asked:
                found[path.relative_to(ROOT).as_posix()] = asked
    assert found == CHECKS


def test_messages_of_compilers_are_read_with_the_separators_of_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sep", ntpath.sep)
    log = (
        "C:\\work\\project\\demo\\sub/../k.cu(3): error: no\n"
        "C:\\toolkit\\include\\cuda/std/x.h(2): warning #1-D: old\n"
        "C:\\toolkit\\include/y.h(2): warning #1-D: old\n"
        "demo\\k.cu(4): warning #2-D: odd\n"
    )
    told = read_log(log, "demo/k.cu", "C:\\work\\project", ["C:\\toolkit\\include"])
    assert [(each.file, each.line, each.severity) for each in told.diagnostics] == [
        ("demo/k.cu", 3, "error"),
        ("demo/k.cu", 4, "warning"),
    ]


def test_a_rule_of_make_has_forward_slashes(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _escaped("/a b/c#d/$e/f\\g") == "/a\\ b/c\\#d/$$e/f\\g"
    monkeypatch.setattr(os, "sep", ntpath.sep)
    assert _escaped("C:\\a b\\c#d\\$e") == "C:/a\\ b/c\\#d/$$e"


@pytest.mark.parametrize(
    ("library", "packaged"),
    [
        ("C:\\venv\\Lib\\site-packages\\nvidia\\cu13\\bin\\x86_64\\nvrtc64_130_0.dll", True),
        ("/usr/lib/python3/dist-packages/nvidia/cu13/lib/libnvrtc.so.13", True),
        ("C:\\Program Files\\NVIDIA GPU Computing Toolkit\\CUDA\\v13.0\\bin\\nvrtc64_130_0.dll", False),
        ("/usr/local/cuda/lib64/libnvrtc.so.13", False),
    ],
)
def test_what_is_of_a_package_is_known_on_every_system(library: str, packaged: bool) -> None:
    assert _is_packaged(library) == packaged


def test_an_entry_that_another_process_reads_is_kept_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows does not replace a file that is open. (Warnings are errors here.)"""
    cache = Cache(str(tmp_path))
    key = Cache.key("one")
    cache.put(key, b"content")

    def replace(source: str, target: str) -> None:
        raise PermissionError(13, "Access is denied", target)

    monkeypatch.setattr(os, "replace", replace)
    cache.put(key, b"content")
    assert cache.get(key) == b"content"
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == [key[2:]]
    with pytest.warns(RuntimeWarning, match="cannot keep what it compiled .*Access is denied"):
        cache.put(Cache.key("two"), b"content")


def test_names_that_a_pipe_does_not_take_stop_no_build_with_cmake(
    make_project: Callable[..., Path], tmp_path: Path
) -> None:
    project = make_project(**{"demo/Käse.cu": '#warning "日本"\n__global__ void k() {}\n'})
    module = {"name": "demo.Käse", "sources": ["demo/Käse.cu"], "architectures": ["80-real"]}
    request = {
        "root": str(project),
        "output": str(tmp_path / "out"),
        "depfile": str(tmp_path / "k.d"),
        "module": module,
    }
    (tmp_path / "k.json").write_text(json.dumps(request), encoding="utf-8")
    command = (sys.executable, "-m", "cuda_wheel.cmake.build_module", tmp_path / "k.json")
    result = run(*command, PYTHONIOENCODING="ascii", PYTHONPATH=str(ROOT))
    assert (result.returncode, (tmp_path / "out/demo/Käse.fatbin").is_file()) == (0, True), result.stdout
