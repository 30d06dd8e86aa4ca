"""`cuda-wheel inspect`: its table, its JSON, and what it takes as a path."""

from __future__ import annotations

import json
import subprocess
import zipfile
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import pytest

from cuda_wheel.cli.main import main
from tests.cli.shapes import SHAPES
from tests.support.manifests import rewritten

pytestmark = pytest.mark.one_toolchain

Command = Callable[..., subprocess.CompletedProcess[str]]


def test_inspect_prints_the_documented_json(fixture_wheel, cuda_wheel: Command, extra: str) -> None:
    wheel = fixture_wheel("saxpy")
    (module,) = json.loads(cuda_wheel("inspect", wheel, "--json").stdout)["modules"]
    assert module["name"] == "saxpy_demo.kernels.saxpy"
    assert module["fatbin"] == "saxpy.fatbin"
    assert module["toolchain"]["nvrtc"].startswith("12.9." if extra == "cu12" else "13.")
    assert [kernel["name"] for kernel in module["kernels"]] == ["saxpy"]
    assert module["kernels"][0]["symbol"] == "_Z5saxpyfPKfPfi"
    with zipfile.ZipFile(wheel) as archive:
        fatbin = archive.read("saxpy_demo/kernels/saxpy.fatbin")
    for image in module["images"]:
        content = fatbin[image["offset"] : image["offset"] + image["size"]]
        assert sha256(content).hexdigest() == image["sha256"]
        assert content.startswith(
            b"\x7fELF" if image["kind"] == "cubin" else b"\n.version " + image["ptx_version"].encode()
        )


def test_inspect_takes_a_wheel_a_folder_a_fatbin_a_manifest_and_a_package(
    fixture_wheel, unpacked, cuda_wheel: Command
) -> None:
    folder = unpacked("saxpy")
    (fatbin,) = folder.rglob("*.fatbin")
    answers = {
        cuda_wheel("inspect", path, "--json", PYTHONPATH=str(folder)).stdout
        for path in (fixture_wheel("saxpy"), folder, fatbin, f"{fatbin}.json", "saxpy_demo", "saxpy_demo.kernels")
    }
    assert len(answers) == 1


def test_inspect_draws_a_table(fixture_wheel, cuda_wheel: Command) -> None:
    text = cuda_wheel("inspect", fixture_wheel("matmul_templates"), COLUMNS="100").stdout
    assert "matmul_demo.kernels.matmul" in text
    assert "matmul<float, 16>(const float*, const float*, float*, int)" in text
    assert "sm_90" in text
    assert "6.3 (was " in text and "8.6 (was " in text  # PTX for compute_75 and for compute_100


def test_names_are_not_markup(unpacked, capsys: pytest.CaptureFixture[str]) -> None:
    from cuda_wheel.cli.main import main

    folder = unpacked("saxpy")
    path = folder / "saxpy_demo/kernels/saxpy.fatbin.json"
    path.write_text(rewritten(path.read_text(), ("images", -1, "source"), "[/b].cu"))
    assert main(["inspect", str(folder)]) == 0
    assert "[/b].cu" in capsys.readouterr().out
    assert main(["inspect", "--size", str(folder)]) == 0
    assert "[/b].cu" in capsys.readouterr().out


def test_inspect_shows_kernels_options_and_the_toolchain_of_every_module(
    shape: str, wheel: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["inspect", str(wheel), "--json"]) == 0
    modules = {each["name"]: each for each in json.loads(capsys.readouterr().out)["modules"]}
    for name, _, kernel in (each.partition(":") for each in SHAPES[shape].kernels):
        for each in modules[name].get("variants", [modules[name]]):
            assert each["toolchain"]["nvrtc"] and each["images"] and each["sources"]
            assert [kernel] == [found["name"] for found in each["kernels"] if found["name"] == kernel] or not kernel
    assert len(modules["demo.many"]["kernels"]) == 120 if "demo.many" in modules else True


@pytest.mark.slow
def test_what_is_for_linking_is_shown(fixture_wheel, cuda_wheel: Command) -> None:
    shown = cuda_wheel("inspect", fixture_wheel("plugin"), COLUMNS="200").stdout
    assert "user_transform: for linking with other modules" in shown
    assert 'to be defined by the linking code, extern "C" float user_transform(float x, float parameter)' in shown
