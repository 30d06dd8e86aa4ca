"""CUDA Tile kernels in `.cu` files: targets, manifests, caches and errors, with the real compilers."""

from __future__ import annotations

import re
import struct
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import cuda_wheel
from cuda_wheel.builder.manifest_reader import all_manifests
from cuda_wheel.builder.toolchain.tileiras import HOSTS
from cuda_wheel.runtime.manifest import Image, Manifest
from cuda_wheel.runtime.parts.formats.elf import read_elf
from cuda_wheel.runtime.parts.tile_hosts import this_host
from tests.support.demo_projects import failed
from tests.support.driver import Driver
from tests.support.processes import build_wheel, run_cuda_wheel
from tests.support.tile_project import HEAD, need_tileiras, write_tile_project
from tests.support.wheels import contents

pytestmark = [pytest.mark.slow, pytest.mark.every_toolchain]

Built = tuple[Path, Path, str]

KERNEL = "#include <cuda_tile.h>\n__tile_global__ void k(int* p) { cuda::tiles::store(p, cuda::tiles::load(p) + 1); }\n"


def read(folder: Path) -> Manifest:
    (manifest,) = all_manifests((folder / "demo/kernels.fatbin.json").read_bytes(), "the manifest")
    return manifest


def project_of(root: Path, text: str, settings: str = 'architectures = ["90"]\n', table: str = "") -> Path:
    need_tileiras()
    write_tile_project(root, settings, table)
    (root / "demo/kernels.cu").write_text(text)
    return root


def image_bytes(folder: Path, image: Image) -> bytes:
    assert image.offset is not None
    return (folder / "demo/kernels.fatbin").read_bytes()[image.offset : image.offset + image.size]


def test_each_gpu_and_host_has_an_image_and_there_is_no_ptx(tiles: Built) -> None:
    _, output, printed = tiles
    manifest = read(output)
    assert [(image.kind, str(image.target), image.host) for image in manifest.images] == [
        ("cubin", target, host) for target in ("sm_80", "sm_90a", "sm_120a") for host in HOSTS
    ]
    assert {image.driver for image in manifest.images} == {(13, 0)}
    assert manifest.options[:2] == ("--std=c++20", "--enable-tile")
    assert re.fullmatch(r"13\.\d+\.\d+", manifest.toolchain["tileiras"])
    assert f"cubin sm_80, cubin sm_90a, cubin sm_120a, each for {', '.join(HOSTS)}" in printed
    assert "no image for Ampere (8.6)" in printed and 'architectures: add "86-real", "89-real"' in printed


def test_the_kernels_have_their_names_and_types(tiles: Built) -> None:
    kernels = {kernel.name: kernel for kernel in read(tiles[1]).kernels}
    assert {name: kernel.parameter_list for name, kernel in kernels.items()} == {
        "add": "const float*, const float*, float*, int",
        "demo::scale<float>": "float*, float, long long",
        "demo::scale<int>": "int*, int, long long",
        "demo::product": "const __half*, const __half*, float*, int, int, int",
    }
    assert [(each.name, each.offset, each.size) for each in kernels["demo::product"].parameters] == [
        ("a", 0, 8), ("b", 8, 8), ("c", 16, 8), ("m", 24, 4), ("n", 28, 4), ("k", 32, 4),
    ]  # fmt: skip


def test_the_host_code_of_each_image_is_for_its_host(tiles: Built) -> None:
    """The driver runs it in the process that loads the image; host code of another machine would end that process."""
    _, output, _ = tiles
    images = read(output).images
    for image in images:
        elf = read_elf(image_bytes(output, image))
        (section,) = elf.named(".nv.host")
        (machine,) = struct.unpack_from("<H", elf.content, section.start + 18)
        assert machine == {"x86_64": 62, "aarch64": 183}[image.host.partition("-")[2]], image
    assert len({image.sha256 for image in images}) == len(images)


def test_no_path_of_this_machine_is_in_the_files(tiles: Built) -> None:
    project, output, _ = tiles
    for path in output.rglob("*.*"):
        assert str(project).encode() not in path.read_bytes()


def test_the_same_sources_give_the_same_bytes_in_another_folder(tiles: Built, tmp_path: Path) -> None:
    project, output, _ = tiles
    other = write_tile_project(tmp_path / "elsewhere", 'architectures = ["75", "80", "90", "120-real"]\n')
    assert (project / "demo/kernels.cu").read_bytes() == (other / "demo/kernels.cu").read_bytes()
    result = run_cuda_wheel("build", "-o", tmp_path / "output", other, CUDA_WHEEL_CACHE_DIR=str(tmp_path / "cache"))
    assert result.returncode == 0, result.stdout
    for name in ("kernels.fatbin", "kernels.fatbin.json"):
        assert (tmp_path / "output/demo" / name).read_bytes() == (output / "demo" / name).read_bytes()


def test_other_commands_know_the_images(tiles: Built) -> None:
    _, output, _ = tiles
    assert "demo.kernels: matches its manifest" in run_cuda_wheel("verify", output).stdout
    assert "programs on" in run_cuda_wheel("inspect", output).stdout
    coverage = " ".join(run_cuda_wheel("coverage", output).stdout.split())
    assert re.search(r"Ampere 8.6 RTX 3090, A10 (none )+Ampere", coverage)
    assert 'architectures: add "86-real"' in coverage and "CUDA Tile kernels have no PTX" in coverage
    assert "virtual" not in coverage and "cu12" not in coverage
    explained = " ".join(run_cuda_wheel("explain", output, "--device", "12.1", "--driver", "13.0").stdout.split())
    assert "is for compute capability 12.0 only" in explained


def test_the_default_covers_current_gpus(tmp_path: Path) -> None:
    root = project_of(tmp_path, KERNEL, "")
    result = run_cuda_wheel("build", "-o", tmp_path / "output", root)
    assert result.returncode == 0 and "no image" not in result.stdout, result.stdout
    targets = [str(image.target) for image in read(tmp_path / "output").images if image.host == HOSTS[0]]
    assert targets == ["sm_80", "sm_86", "sm_89", "sm_90a", "sm_100a", "sm_103a", "sm_120a", "sm_121a"]


def test_a_vendored_loader_has_what_the_images_need(tmp_path: Path) -> None:
    root = project_of(tmp_path, KERNEL, 'architectures = ["90-real"]\nloader = "vendor"\ncompress = "size"\n')
    built = build_wheel(root, tmp_path / "dist")
    assert built.returncode == 0, built.stdout
    (wheel,) = (tmp_path / "dist").glob("*.whl")
    files = contents(wheel)
    assert "demo/_cuda_wheel/parts/tile_hosts.py" in files
    # The driver would choose of a compressed fatbin, and not by the host.
    (manifest,) = all_manifests(files["demo/kernels.fatbin.json"], "the manifest")
    assert manifest.compression == "none" and all(image.offset is not None for image in manifest.images)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (KERNEL + "__global__ void other(int* p) { *p = 2; }\n", ["has CUDA Tile kernels (__tile_global__) and other", "other)", "a file"]),
        ("#include <cuda_tile.h>\n__global__ void other(int* p) { *p = 2; }\n", ["includes <cuda_tile.h>"]),
        ("#include <cuda_tile.h>\n", ["has no CUDA Tile kernel"]),
        ("#if 0\n__tile_global__ void k() {}\n#endif\n", ["has no CUDA Tile kernel", "#if whose condition is false"]),
        ("template <class T> __tile_global__ void k(T* p) {}\n", ["has no CUDA Tile kernel", "instantiate"]),
        ('#include "k.cuh"\n__global__ void other(int* p) { *p = 2; }\n', ["a header has CUDA Tile code", "include <cuda_tile.h>", "__CUDACC_TILE__"]),
        (KERNEL.replace("store(p,", "stroe(p,"), ["demo/kernels.cu:2:", "stroe", "tileiras"]),
    ],
)  # fmt: skip
def test_a_source_never_loses_its_kernels_in_silence(text: str, words: list[str], tmp_path: Path) -> None:
    root = project_of(tmp_path, text)
    (root / "demo/k.cuh").write_text("template <class T> __tile_global__ void k(T* p) {}\n")
    printed = failed(root)
    assert all(word in printed for word in words), printed


def test_host_code_beside_the_kernels_is_read_and_left_alone(tmp_path: Path) -> None:
    host = (
        "#include <vector>\n#include <cuda_runtime.h>\nint calls = 0;\nint helper(int n) { return n + 1; }\n"
        "void start(int* p) { std::vector<int> v; ++calls; auto grid = [=] { return helper(4); }; k<<<grid(), 1>>>(p); }\n"
    )
    root = project_of(tmp_path, KERNEL + host)
    result = run_cuda_wheel("build", "-o", tmp_path / "output", root)
    assert result.returncode == 0 and "left out" not in result.stdout, result.stdout
    assert [kernel.name for kernel in read(tmp_path / "output").kernels] == ["k"]


def test_a_comment_makes_no_tile_module(tmp_path: Path) -> None:
    root = project_of(
        tmp_path, "// not a __tile_global__, and no <cuda_tile.h>\n__global__ void k(int* p) { *p = 1; }\n"
    )
    result = run_cuda_wheel("build", "-o", tmp_path / "output", root)
    assert result.returncode == 0, result.stdout
    assert next(str(image) for image in read(tmp_path / "output").images) == "cubin sm_90"


@pytest.mark.parametrize(
    ("settings", "table", "words"),
    [
        ('architectures = ["75"]\n', "", ["no architecture for CUDA Tile kernels", "8.0 or later"]),
        ('architectures = ["90-virtual"]\n', "", ["no PTX"]),
        ('architectures = ["100f-real"]\n', "", ["no family targets"]),
        ('options = ["-G"]\n', "", ["the option -G"]),
        ("lineinfo = true\n", "", ["lineinfo = true", "absolute paths"]),
        ("", '[[tool.cuda-wheel.module]]\nname = "demo.kernels"\nlink = "lto"\n', ['link = "lto"']),
        ("", '[[tool.cuda-wheel.module]]\nname = "demo.kernels"\nrelocatable = true\n', ["relocatable"]),
        ("", '[[tool.cuda-wheel.module]]\nname = "demo.kernels"\ninstances = ["k"]\n', ["instances"]),
    ],
)
def test_settings_that_such_kernels_cannot_have(settings: str, table: str, words: list[str], tmp_path: Path) -> None:
    printed = failed(project_of(tmp_path, KERNEL, settings, table))
    assert "CUDA Tile kernels" in printed and all(word in printed for word in words), printed


def test_an_older_standard_is_named(tmp_path: Path) -> None:
    root = project_of(tmp_path, KERNEL)
    (root / "pyproject.toml").write_text(HEAD.replace("c++20", "c++17") + 'architectures = ["90"]\n')
    printed = failed(root)
    assert "C++20" in printed and 'std = "c++20"' in printed


@pytest.mark.usefixtures("own_cache")
def test_a_source_tree_is_compiled_for_the_gpu_when_it_is_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, use: Callable[..., Driver]
) -> None:
    root = project_of(tmp_path / "project", KERNEL, 'architectures = ["80"]\n')
    monkeypatch.setenv("CUDA_WHEEL_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.syspath_prepend(str(root))
    monkeypatch.delitem(sys.modules, "demo", raising=False)
    use((8, 9))
    module = cuda_wheel.load("demo.kernels")
    assert (str(module.image.target), module.image.host) == ("sm_89", this_host())
    assert list(module) == ["k"]
    monkeypatch.delitem(sys.modules, "demo", raising=False)


def test_a_wheel_without_ptx_is_not_divided(tmp_path: Path) -> None:
    """A base wheel has what every GPU runs, and such kernels have nothing of the kind."""
    project = project_of(tmp_path / "project", KERNEL)
    built = build_wheel(project, tmp_path / "dist")
    assert built.returncode == 0, built.stdout
    (wheel,) = (tmp_path / "dist").glob("*.whl")
    result = run_cuda_wheel("split", wheel, "-o", tmp_path / "split")
    assert result.returncode and "cannot be divided: no module has both machine code and PTX" in result.stdout


def test_variants_by_macros(tmp_path: Path) -> None:
    table = '[[tool.cuda-wheel.module]]\nname = "demo.kernels"\nvariants = { STEP = [1, 2] }\n'
    root = project_of(tmp_path, KERNEL.replace("+ 1", "+ STEP"), 'architectures = ["90"]\n', table)
    result = run_cuda_wheel("build", "-o", tmp_path / "output", root)
    assert result.returncode == 0, result.stdout
    manifests = all_manifests((tmp_path / "output/demo/kernels.fatbin.json").read_bytes(), "the manifest")
    assert [dict(each.variant) for each in manifests] == [{"STEP": 1}, {"STEP": 2}]
    assert manifests[0].images[0].sha256 != manifests[1].images[0].sha256
