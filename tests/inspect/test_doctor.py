"""`cuda-wheel doctor`: the compilers, the cache and the packages of this machine."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.support.processes import run


def test_doctor_shows_what_is_installed(cuda_wheel, extra: str, tmp_path: Path) -> None:
    result = cuda_wheel("doctor", "--json", CUDA_WHEEL_CACHE_DIR=str(tmp_path), CUDA_VISIBLE_DEVICES="")
    assert result.returncode == 0, result.stdout
    found = json.loads(result.stdout)
    assert "driver is installed" in found["driver"]["error"]
    assert found["gpus"] == []
    assert found["toolchain"]["nvrtc"].startswith(extra.removeprefix("cu") + ".")
    parts = {part["name"]: part for part in found["toolchain"]["parts"]}
    optional = [parts.pop(name) for name in ("nvvm", "libdevice")]
    assert all(part["found_via"] == "site-packages" for part in parts.values())
    release = ".".join(found["toolchain"]["nvrtc"].split(".")[:2])
    assert [parts[name]["release"] for name in ("cuda_fp16.h", "crt/host_defines.h")] == [release, release]
    assert re.fullmatch(r"[23]\.\d+\.\d+", parts["cuda/std/version"]["release"])
    if extra == "cu12" or optional[0]["path"]:
        assert all(part["found_via"] == "site-packages" and Path(part["path"]).is_file() for part in optional)
    else:
        assert all(part["found_via"] == "not found; only NVVM IR needs it" for part in optional)
    assert found["cache"].items() >= {"folder": str(tmp_path), "set_by": "CUDA_WHEEL_CACHE_DIR", "entries": 0}.items()
    text = cuda_wheel("doctor", CUDA_VISIBLE_DEVICES="").stdout
    assert text.startswith("Python     3.")
    assert f"nvrtc {found['toolchain']['nvrtc']}" in text
    assert f"cuda_fp16.h: {parts['cuda_fp16.h']['path']} ({release}, site-packages)" in text


@pytest.mark.one_toolchain
def test_doctor_shows_what_is_missing(bare_python: Path, fixture_wheel, tmp_path: Path) -> None:
    assert run(bare_python, "-m", "pip", "install", "--no-deps", fixture_wheel("saxpy")).returncode == 0
    found = json.loads(run(bare_python, "-m", "cuda_wheel", "doctor", "--json", cwd=tmp_path).stdout)
    assert "no CUDA toolchain is installed" in found["toolchain"]["error"]
    assert {"name": "nvrtc", "path": None, "found_via": "not found", "release": None} in found["toolchain"]["parts"]
    (module,) = found["modules"]
    assert (module["distribution"], module["name"], module["loads"]) == ("saxpy-demo", "saxpy_demo.kernels.saxpy", [])
    assert run(bare_python, "-m", "pip", "uninstall", "-y", "saxpy-demo").returncode == 0
