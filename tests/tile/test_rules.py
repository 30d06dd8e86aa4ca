"""CUDA Tile images and their compilers, without any: who runs an image, and what to install."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from cuda_wheel.builder.config.architectures import settle, tile_targets
from cuda_wheel.builder.config.settings import Config, ModuleConfig
from cuda_wheel.builder.config.values import Architectures
from cuda_wheel.builder.errors import ConfigError, ToolchainError
from cuda_wheel.builder.manifest_writer.coverage import gaps
from cuda_wheel.builder.plan import make_plan
from cuda_wheel.builder.sources.modules import SourceModule
from cuda_wheel.builder.sources.source_files import Source
from cuda_wheel.builder.toolchain import tileiras
from cuda_wheel.builder.toolchain.toolchain import PythonCompiler, Tileiras, Toolchain
from cuda_wheel.runtime.errors import ArgumentError
from cuda_wheel.runtime.manifest import Image, KernelInfo, Manifest, Target
from cuda_wheel.runtime.module import Kernel, Module
from cuda_wheel.runtime.parts import tile_hosts
from cuda_wheel.runtime.rules import resolve
from tests.support.driver import Driver, handle_of

SUPPORTED = (80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121)


def manifest_of(*targets: str, hosts: tuple[str, ...] = tileiras.HOSTS) -> Manifest:
    images = tuple(
        Image("cubin", Target.parse(target), None, None, (13, 0), number, 1, "0" * 64, {}, None, host)
        for number, (target, host) in enumerate((target, host) for target in targets for host in hosts)
    )
    return Manifest("demo.k", "k.fatbin", 9, "", {"nvrtc": "13.5.37"}, ("k.cu",), (), images, ())


@pytest.mark.parametrize("host", tileiras.HOSTS)
@pytest.mark.parametrize(
    ("capability", "target"),
    [
        ((8, 0), "sm_80"), ((8, 6), None), ((8, 7), None), ((8, 9), None), ((9, 0), "sm_90a"), ((9, 1), None),
        ((10, 0), None), ((12, 0), "sm_120a"), ((12, 1), None), ((7, 5), None),
    ],
)  # fmt: skip
def test_an_image_is_for_one_compute_capability_and_one_host(
    capability: tuple[int, int], target: str | None, host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tile_hosts, "this_host", lambda: host)
    image = resolve(manifest_of("sm_80", "sm_90a", "sm_120a"), capability, (13, 0)).image
    assert (image and (str(image.target), image.host)) == (target and (target, host))
    assert resolve(manifest_of("sm_80", "sm_90a", "sm_120a"), capability, (12, 9)).image is None


@pytest.mark.parametrize(
    ("system", "machine", "host"),
    [
        ("Linux", "x86_64", "linux-x86_64"), ("Windows", "AMD64", "windows-x86_64"),
        ("Linux", "aarch64", "linux-aarch64"), ("Windows", "ARM64", "windows-aarch64"),
    ],
)  # fmt: skip
def test_the_host_is_named_as_tileiras_does(
    system: str, machine: str, host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tile_hosts.platform, "system", lambda: system)
    monkeypatch.setattr(tile_hosts.platform, "machine", lambda: machine)
    assert tile_hosts.this_host() == host


def test_another_host_is_told_which_host_the_image_is_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tile_hosts, "this_host", lambda: "windows-aarch64")
    rejected = resolve(manifest_of("sm_90a"), (9, 0), (13, 0)).rejected
    reasons = [f"has host code for {host}, and this program runs on windows-aarch64" for host in tileiras.HOSTS]
    assert [each.reason for each in rejected] == reasons


def test_only_grids_are_chosen_for_a_launch(use: Callable[..., Driver]) -> None:
    driver = use()
    manifest = manifest_of("sm_90a")
    info = KernelInfo("k", "k", ())
    kernel = Kernel(Module(manifest, manifest.images[0], "native", 0xF00D), info, handle_of(()))
    kernel.launch((4, 2), 1)
    assert driver.launches[-1].grid == (4, 2, 1) and driver.launches[-1].block == (1, 1, 1)
    for block, shared in ((128, 0), ((1, 2), 0), (1, 16)):
        with pytest.raises(ArgumentError, match=r"k is a CUDA Tile kernel: .* Launch it with block 1 and no shared"):
            kernel.launch(4, block, shared_memory=shared)


def targets(entries: list[str], supported: tuple[int, ...] = SUPPORTED) -> list[str]:
    known = (75, *SUPPORTED)
    settled = settle(entries, known, lambda: [(8, 9)], "architectures", "NVRTC 13.5")
    return [str(each) for each in tile_targets(entries, settled, "architectures", supported, "tileiras 13.5")]


@pytest.mark.parametrize(
    ("entries", "expected"),
    [
        (["default"], "sm_80 sm_86 sm_89 sm_90a sm_100a sm_103a sm_120a sm_121a"),
        (["default", "87-real"], "sm_80 sm_86 sm_87 sm_89 sm_90a sm_100a sm_103a sm_120a sm_121a"),
        (["native"], "sm_89"),
        (["all-major"], "sm_80 sm_90a sm_100a sm_110a sm_120a"),
        (["75", "80", "90"], "sm_80 sm_90a"),
        (["90a-real", "90"], "sm_90a"),
    ],
)
def test_targets(entries: list[str], expected: str) -> None:
    assert targets(entries) == expected.split()


def test_targets_that_tileiras_lacks() -> None:
    assert targets(["default"], (80, 90)) == ["sm_80", "sm_90a"]
    assert targets(["all"], (80, 90)) == ["sm_80", "sm_90a"]
    with pytest.raises(ConfigError, match=r"tileiras 13\.5 cannot compile CUDA Tile kernels for 86; it can for 80, 90"):
        targets(["80", "86"], (80, 90))


def test_a_build_does_not_warn_of_drivers_that_no_setting_reaches(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = manifest_of("sm_80", "sm_86", "sm_89", "sm_90a", "sm_100a", "sm_103a", "sm_120a", "sm_121a")
    assert gaps([whole], (8, 0)) is None
    monkeypatch.setattr(tile_hosts.platform, "system", lambda: "Darwin")  # such a machine loads nothing
    assert gaps([whole], (8, 0)) is None
    warning = gaps([manifest_of("sm_80", "sm_90a")], (8, 0))
    assert warning is not None and '"86-real"' in warning and "CUDA 12" not in warning


@pytest.mark.parametrize(
    ("text", "is_tile"),
    [
        ("__tile_global__ void k() {}", True),
        ("#include <cuda_tile.h>", True),
        ("#define KERNEL __tile_global__ void", True),
        ("// __tile_global__", False),
        ("/* #include <cuda_tile.h> */", False),
        ('const char* s = "__tile_global__";', False),
        ("__global__ void k() {} // on_tile_global__x", False),
    ],
)
def test_which_source_has_such_kernels(text: str, is_tile: bool) -> None:
    assert Source("k.cu", "cuda", text.encode()).is_tile == is_tile
    assert not Source("k.ptx", "ptx", text.encode()).is_tile


def toolchain_of(release: str, folder: Path) -> Toolchain:
    return Toolchain(release, "13.5", "13.5", (75, *SUPPORTED), (), (str(folder / "lib/libnvrtc.so"),) * 3)


def test_a_missing_tileiras_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tileiras, "_programs", lambda library: [])
    with pytest.raises(ToolchainError) as caught:
        tileiras.find_tileiras(toolchain_of("12.9.86", tmp_path))
    for words in ("tileiras", '"nvidia-cuda-tileiras>=13.3"', "build-system.requires", "NVRTC 12.9.86 is installed"):
        assert words in str(caught.value)


@pytest.mark.parametrize(
    ("nvrtc", "release", "is_good"),
    [
        ("12.9.86", "13.5.37", False), ("13.2.10", "13.5.37", False), ("13.5.37", "13.4.92", False),
        ("13.3.10", "13.5.37", True), ("13.5.37", "13.5.37", True),
    ],
)  # fmt: skip
def test_compilers_that_do_not_work_together_are_refused(
    nvrtc: str, release: str, is_good: bool, tmp_path: Path
) -> None:
    settings = ModuleConfig(name="demo.k", architectures=Architectures(("90-real",), "architectures"))
    module = SourceModule("demo.k", (Source("demo/k.cu", "cuda", b"__tile_global__ void k() {}"),), (), settings)
    found = Tileiras(release, "/x/tileiras", "build", SUPPORTED)
    toolchain = toolchain_of(nvrtc, tmp_path)
    if is_good:
        plan = make_plan(Config(), [module], tmp_path, toolchain, list, tileiras=found)
        assert [str(target) for target in plan.modules[0].targets] == ["sm_90a"]
        assert plan.modules[0].jobs[0].tileiras == f"{release} build"
        return
    with pytest.raises(
        ConfigError, match=r"demo/k\.cu has CUDA Tile kernels .* need NVRTC 13\.3 or later, and a tileiras"
    ):
        make_plan(Config(), [module], tmp_path, toolchain, list, tileiras=found)


def test_kernels_in_python_do_not_need_a_new_nvrtc(tmp_path: Path) -> None:
    settings = ModuleConfig(name="demo.k", architectures=Architectures(("90-real",), "architectures"))
    module = SourceModule("demo.k", (Source("demo/k.py", "tile", b"", "demo.k"),), (), settings)
    compilers = {"tile": PythonCompiler("1.7.0", "build", ("cuda-tile",))}
    found = Tileiras("13.5.37", "/x/tileiras", "build", SUPPORTED)
    plan = make_plan(Config(), [module], tmp_path, toolchain_of("12.9.86", tmp_path), list, None, compilers, found)
    assert plan.modules[0].jobs[0].python_compiler == "1.7.0 build" and plan.modules[0].jobs[0].tileiras


def test_a_program_that_is_no_tileiras_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "bin/tileiras"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\necho nothing\n")
    program.chmod(0o755)
    monkeypatch.setattr(tileiras, "_programs", lambda library: [str(program)])
    with pytest.raises(ToolchainError, match="does not say of which release it is"):
        tileiras.find_tileiras(toolchain_of("13.5.37", tmp_path))
