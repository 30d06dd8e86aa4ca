"""`architectures = "default"`: its reach, with both toolchains, and what compiles for it."""

from __future__ import annotations

from pathlib import Path

import pytest

from cuda_wheel.builder.config.architectures import settle
from cuda_wheel.builder.manifest_reader import manifest_of
from cuda_wheel.builder.manifest_writer.coverage import DRIVERS, cover
from cuda_wheel.builder.releases import GPUS
from cuda_wheel.runtime.manifest import Manifest
from cuda_wheel.runtime.rules import resolve
from tests.builder.config.test_architectures import CUDA_12, CUDA_13
from tests.support.manifests import image, manifest, plain

REACHED = [gpu.capability for gpu in GPUS if gpu.capability >= (7, 5)]

TOOLCHAINS = [("12.9.86", CUDA_12), ("13.5.37", CUDA_13)]

LOWERED = {"compute_75": "6.3", "compute_100": "8.6"}
"""The PTX ISA versions to which PTX of simple kernels is lowered: those that introduced the targets."""


def default_manifest(nvrtc: str, supported: tuple[int, ...]) -> Manifest:
    """Return the manifest of a simple kernel that is compiled for the default architectures."""
    targets = settle(["default"], supported, lambda: (), "architectures", f"NVRTC {nvrtc}")
    images = (image(str(target), LOWERED.get(str(target)), nvrtc) for target in targets)
    return manifest(*images)._replace(toolchain={"nvrtc": nvrtc})


@pytest.mark.parametrize(("nvrtc", "supported"), TOOLCHAINS)
def test_every_gpu_from_75_on_has_an_image_with_every_driver(nvrtc: str, supported: tuple[int, ...]) -> None:
    (coverage,) = cover([default_manifest(nvrtc, supported)])
    cells = {(gpu, driver): coverage.cells[gpu, driver] for gpu in REACHED for driver in DRIVERS}
    assert {cell for cell in cells.values() if cell not in ("native", "jit", "unknown")} == set()
    assert all(any(cells[gpu, driver] != "unknown" for driver in DRIVERS) for gpu in REACHED)


def test_both_toolchains_reach_the_same_gpus_and_drivers() -> None:
    reached = []
    for nvrtc, supported in TOOLCHAINS:
        (coverage,) = cover([default_manifest(nvrtc, supported)])
        reached.append({key for key, cell in coverage.cells.items() if cell in ("native", "jit")})
    assert reached[0] == reached[1]


@pytest.mark.parametrize(("nvrtc", "supported"), TOOLCHAINS)
@pytest.mark.parametrize("capability", [(8, 7), (8, 8), (10, 1), (11, 0), (11, 5), (13, 0), (20, 3)])
def test_gpus_that_no_cubin_fits_or_that_do_not_exist_yet_run_ptx(
    capability: tuple[int, int], nvrtc: str, supported: tuple[int, ...]
) -> None:
    resolution = resolve(default_manifest(nvrtc, supported), capability, (13, 5))
    assert resolution.image is not None and resolution.how in ("jit", "native")
    if capability >= (11, 0):
        assert str(resolution.image.target) == "compute_100"


def test_a_build_without_settings_reaches_every_gpu_and_prints_no_notice(
    make_project, cuda_wheel, tmp_path: Path
) -> None:
    result = cuda_wheel("build", make_project(), "-o", tmp_path / "out")
    assert result.returncode == 0, result.stdout
    assert "deprecated" not in result.stdout and "no image" not in result.stdout
    text = (tmp_path / "out/demo/fill.fatbin.json").read_text()
    targets = [image["target"] for image in plain(text)["images"]]
    assert targets == ["sm_75", "sm_80", "sm_90", "sm_100", "sm_120", "compute_75", "compute_100"]
    (coverage,) = cover([manifest_of(text, "demo.fill")])
    assert {coverage.cells[gpu, driver] for gpu in REACHED for driver in DRIVERS} <= {"native", "jit", "unknown"}


ATOMICS = """
#include <cuda_fp16.h>
__global__ void add(double* sum, __half* halves) { atomicAdd(sum, 1.0); atomicAdd(halves, __float2half(1)); }
"""


def test_atomic_additions_of_double_and_half_compile_by_default(make_project, cuda_wheel, tmp_path: Path) -> None:
    result = cuda_wheel("build", make_project(**{"demo/add.cu": ATOMICS}), "-o", tmp_path / "out")
    assert result.returncode == 0, result.stdout
    assert "cubin sm_75" in result.stdout and "deprecated" not in result.stdout


CUB = "#include <cub/block/block_reduce.cuh>\n__global__ void k(int* x) { *x = cub::BlockReduce<int, 32>().Sum(*x); }\n"


@pytest.mark.slow
@pytest.mark.one_toolchain  # which alone has such targets
@pytest.mark.parametrize(
    ("architectures", "notice"),
    [
        ("default", ""),
        ("all-major", ""),
        ("60-real;80-real;70", "calls sm_60, sm_70 deprecated; NVRTC 13 cannot compile for GPUs before 7.5"),
    ],
)  # fmt: skip
def test_only_targets_that_the_project_names_are_called_deprecated(
    architectures: str, notice: str, make_project, cuda_wheel, toolchain, tmp_path: Path, extra: str, kept_cache: str
) -> None:
    if extra != "cu12":
        pytest.skip("the other toolchain has no such targets")
    project = make_project(
        f'[tool.cuda-wheel]\narchitectures = "{architectures}"\n'
        '[[tool.cuda-wheel.module]]\nname = "demo.linked"\nsources = ["demo/fill.cu"]\nlink = "lto"\n'
        '[[tool.cuda-wheel.module]]\nname = "demo.cub"\n',
        # Large libraries are compiled by another way, on which nvJitLink prints the notice.
        **{"demo/fill.cu": "__global__ void k() {}", "demo/cub.cu": CUB},
    )
    # The cases have targets in common; the results have the notices, also those of the cache.
    result = cuda_wheel("build", project, "-o", tmp_path / "out", CUDA_WHEEL_CACHE_DIR=kept_cache)
    assert result.returncode == 0, result.stdout
    assert "Architectures prior" not in result.stdout
    expected = [f"cuda-wheel: {toolchain.name} {notice}"] if notice else []
    assert [line for line in result.stdout.splitlines() if "deprecated" in line] == expected
