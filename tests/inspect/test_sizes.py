"""`cuda-wheel inspect --size`: the sizes of images, and what dropping a target saves and costs."""

from __future__ import annotations

import json
import subprocess
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from cuda_wheel.builder.manifest_writer.coverage import cover
from cuda_wheel.inspect.modules import find_modules
from cuda_wheel.inspect.sizes import Size, losses_without, measure_module, sizes_by_target
from cuda_wheel.runtime.manifest import Image, Manifest, Target
from tests.support.projects import KERNEL

Command = Callable[..., subprocess.CompletedProcess[str]]


def deflated(content: bytes) -> int:
    return len(zlib.compress(content)) - 6  # without the header and checksum of zlib


def test_the_sizes_of_images_are_measured(fixture_wheel, cuda_wheel: Command) -> None:
    wheel = fixture_wheel("stencil")
    sizes = json.loads(cuda_wheel("inspect", "--size", "--json", wheel).stdout)
    (module,) = sizes["modules"]
    ((manifest,),) = (found.manifests for found in find_modules(str(wheel)))
    with zipfile.ZipFile(wheel) as archive:
        fatbin = archive.read("stencil_demo/kernels/stencil.fatbin")
        for key, name in (("fatbin", "stencil.fatbin"), ("manifest", "stencil.fatbin.json")):
            info = archive.getinfo(f"stencil_demo/kernels/{name}")
            assert module[key] == {"installed": info.file_size, "in_wheel": info.compress_size}
    for image, size in zip(manifest.images, module["images"], strict=True):
        content = fatbin[image.offset : image.offset + image.size]
        described = {"kind": image.kind, "target": str(image.target), "source": None, "size": image.size}
        assert size == described | {"installed": image.size, "in_wheel": deflated(content)}
    for target in sizes["targets"]:
        (image,) = (image for image in manifest.images if str(image.target) == target["target"])
        rest = fatbin[: image.offset] + fatbin[image.offset + image.size :]
        assert target["saves"] == {"installed": image.size, "in_wheel": deflated(fatbin) - deflated(rest)}
        assert (target["images"], target["unknown"], target["installed"]) == (1, 0, image.size)
    assert sizes["total"] == {
        "fatbins": module["fatbin"],
        "manifests": module["manifest"],
        "wheel": wheel.stat().st_size,
    }


@pytest.mark.one_toolchain
@pytest.mark.slow
def test_a_folder_is_measured_as_its_wheel_would_be(fixture_wheel, unpacked, cuda_wheel: Command) -> None:
    inside, outside = (
        json.loads(cuda_wheel("inspect", "--size", "--json", path).stdout)
        for path in (fixture_wheel("linked"), unpacked("linked"))
    )
    assert outside["total"].pop("wheel") is None
    assert inside["total"].pop("wheel") > 0
    assert inside == outside
    assert len(inside["modules"]) > 1
    for target in inside["targets"]:
        images = [image for module in inside["modules"] for image in module["images"]]
        images = [image for image in images if image["target"] == target["target"]]
        assert target["images"] == len(images)
        assert target["in_wheel"] == sum(image["in_wheel"] for image in images)


@pytest.mark.one_toolchain
def test_a_missing_fatbin_is_named(unpacked, cuda_wheel: Command) -> None:
    folder = unpacked("stencil")
    (folder / "stencil_demo/kernels/stencil.fatbin").unlink()
    result = cuda_wheel("inspect", "--size", folder)
    assert result.returncode == 1
    assert "stencil_demo.kernels.stencil: stencil.fatbin cannot be read: No such file" in result.stdout


@pytest.mark.one_toolchain
def test_the_text_shows_what_is_saved_and_lost(fixture_wheel, cuda_wheel: Command) -> None:
    text = cuda_wheel("inspect", "--size", fixture_wheel("stencil"), COLUMNS="300").stdout
    assert "cubin sm_80" in text
    assert "without sm_80: " in text
    assert "instead of machine code for Ampere (8.0), Ampere (8.6), Ada (8.9) with drivers for CUDA 1" in text
    assert "without compute_90: no image for future GPUs" in text
    assert "the wheel has " in text


def test_a_compressed_fatbin_has_a_total_size_and_losses(make_project, cuda_wheel: Command, tmp_path: Path) -> None:
    project = make_project('[tool.cuda-wheel]\ncompress = "size"\narchitectures = "80"', **{"demo/packed.cu": KERNEL})
    assert cuda_wheel("build", project, "-o", tmp_path / "out").returncode == 0
    sizes = json.loads(cuda_wheel("inspect", "--size", "--json", tmp_path / "out").stdout)
    (module,) = sizes["modules"]
    content = (tmp_path / "out/demo/packed.fatbin").read_bytes()
    assert module["fatbin"] == {"installed": len(content), "in_wheel": deflated(content)}
    assert [(image["installed"], image["in_wheel"]) for image in module["images"]] == [(None, None)] * 2
    assert all(image["size"] for image in module["images"])
    real = next(target for target in sizes["targets"] if target["target"] == "sm_80")
    assert (real["images"], real["unknown"], real["installed"]) == (1, 1, 0)
    assert real["loses"]
    assert {(loss["from"], loss["to"]) for loss in real["loses"]} <= {("native", "jit"), ("native", "link")}
    text = cuda_wheel("inspect", "--size", tmp_path / "out", COLUMNS="300").stdout
    assert "in a compressed fatbin" in text
    assert "unknown" in text


def manifest(name: str, *targets: str) -> Manifest:
    images = tuple(
        Image("cubin", target, None, None, (12, 0), 0, 1, "", {})
        if target.real
        else Image("ptx", target, (7, 0), (8, 7), (12, 0), 0, 1, "", {})
        for target in map(Target.parse, targets)
    )
    return Manifest(name, "k.fatbin", 1, "", {"nvrtc": "12.9.86"}, ("k.cu",), (), images, ())


@pytest.mark.one_toolchain
@pytest.mark.parametrize("target", ["sm_80", "sm_90", "compute_75", "sm_86"])
def test_the_losses_match_the_coverage(target: str) -> None:
    """The losses are the same as if the modules had been built without the target."""
    modules = {"a": ("sm_80", "sm_90", "compute_75"), "b": ("sm_80", "sm_90"), "c": ("sm_80", "sm_86", "sm_90")}
    before, after = (
        {
            coverage.names[0]: coverage.cells
            for name, targets in modules.items()
            for coverage in cover([manifest(name, *(each for each in targets if each != left_out))])
        }
        for left_out in (None, target)
    )
    expected = {
        (name, key, before[name][key], after[name][key])
        for name in modules
        for key in before[name]
        if before[name][key] != after[name][key]
    }
    losses = losses_without(Target.parse(target), [manifest(name, *targets) for name, targets in modules.items()])
    found = [(name, key, loss.before, loss.after) for loss in losses for name in loss.names for key in loss.keys]
    assert set(found) == expected
    assert len(found) == len(expected)
    assert expected or target == "compute_75" or target == "sm_86"


@pytest.mark.one_toolchain
def test_targets_are_summed_over_modules(unpacked) -> None:
    modules = [measure_module(found) for found in find_modules(str(unpacked("linked")))]
    for target in sizes_by_target(modules):
        saved = [module.saved[target.target] for module in modules if target.target in module.saved]
        assert target.saved == Size(sum(each.installed for each in saved), sum(each.in_wheel for each in saved))
        assert target.size.installed == target.saved.installed
