"""`cuda-wheel doctor`: how findings are shown; `tests/inspect/test_doctor.py` has the findings."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cuda_wheel.cli.main import main
from tests.cli.shapes import SHAPES
from tests.support.driver import Driver

pytestmark = pytest.mark.one_toolchain

Command = Callable[..., subprocess.CompletedProcess[str]]


@pytest.mark.parametrize("options", [[], ["--json"]], ids=["text", "json"])
def test_doctor_says_what_this_machine_loads_of_each_installed_module(
    options: list[str], shape: str, installed: Path, use: Callable[..., Driver], capsys: pytest.CaptureFixture[str]
) -> None:
    use((8, 6))
    assert main(["doctor", *options]) == 0
    shown = capsys.readouterr().out
    if options:
        found = {each["name"]: each for each in json.loads(shown)["modules"] if each["distribution"] == "demo"}
        assert found.keys() == SHAPES[shape].modules
        assert all(each["loads"][0]["gpu"] == "8.6" for each in found.values())
    else:
        assert all(f"module     {name} of demo: 8.6: " in shown for name in SHAPES[shape].modules)


FINDINGS: dict[str, Any] = {
    "python": {"version": "3.11.2", "prefix": "/env"},
    "driver": {"cuda": [12, 4], "branch": 550},
    "gpus": [
        {"name": "First", "compute_capability": [8, 6]},
        {"name": "Second", "compute_capability": [9, 0]},
    ],
    "toolchain": {
        "nvrtc": "12.9.86",
        "nvjitlink": "12.9.41",
        "choice": "CUDA 12 and not CUDA 13: it comes first",
        "parts": [
            {"name": "nvrtc", "path": "/nvrtc.so", "release": None, "found_via": "site-packages"},
            {"name": "cuda_fp16.h", "path": "/cuda_fp16.h", "release": "12.9", "found_via": "CUDA_HOME"},
            {"name": "nvvm", "path": None, "release": None, "found_via": "not found"},
        ],
    },
    "cache": {"error": "the cache is unusable"},
    "modules": [
        {
            "distribution": "demo",
            "manifest": "demo/a.fatbin.json",
            "name": "demo.a",
            "loads": [
                {"gpu": "8.6", "image": "cubin sm_80", "how": "native", "doubt": None},
                {"gpu": "9.0", "image": "cubin sm_87", "how": "native", "doubt": "not known to run"},
            ],
        },
        {"distribution": "demo", "manifest": "demo/\x1bb.fatbin.json", "loads": [], "error": "it is damaged"},
        {"distribution": "demo", "manifest": "demo/c.fatbin.json", "name": "demo.c", "loads": []},
    ],
}


def test_every_finding_is_a_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("cuda_wheel.cli.doctor_command.examine_machine", lambda: FINDINGS)
    assert main(["doctor"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "Python     3.11.2 in /env",
        "driver     for CUDA 12.4 (branch 550)",
        "GPU 0      First, compute capability 8.6",
        "GPU 1      Second, compute capability 9.0",
        "toolchain  nvrtc 12.9.86, nvjitlink 12.9.41",
        "           CUDA 12 and not CUDA 13: it comes first",
        "           nvrtc: /nvrtc.so (site-packages)",
        "           cuda_fp16.h: /cuda_fp16.h (12.9, CUDA_HOME)",
        "           nvvm: not found",
        "cache      the cache is unusable",
        "module     demo.a of demo: 8.6: cubin sm_80, native, 9.0: cubin sm_87, native, not known to run",
        "module     demo/\\x1bb.fatbin.json of demo: it is damaged",
        "module     demo.c of demo: no GPU to load it",
    ]


def test_what_is_missing_has_its_reason_and_is_no_failure(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    missing = {"driver": {"error": "no driver"}, "gpus": [], "modules": []}
    missing["toolchain"] = {"error": "no toolchain:\nnone", "parts": FINDINGS["toolchain"]["parts"][2:]}
    monkeypatch.setattr("cuda_wheel.cli.doctor_command.examine_machine", lambda: FINDINGS | missing)
    assert main(["doctor"]) == 0
    assert capsys.readouterr().out.splitlines()[1:] == [
        "driver     no driver",
        "toolchain  no toolchain:",
        "           none",
        "           nvvm: not found",
        "cache      the cache is unusable",
    ]
