"""Very large modules build like others, in a time that is proportional to their size."""

from __future__ import annotations

import subprocess
from collections.abc import Callable

import pytest

from cuda_wheel.builder.manifest_reader import manifest_of
from cuda_wheel.runtime.manifest import Manifest

pytestmark = pytest.mark.one_toolchain

Run = Callable[..., subprocess.CompletedProcess[str]]
TABLE = '[tool.cuda-wheel]\narchitectures = ["80"]\n'
MACROS = """\
#define EIGHT(DO, i) DO(i) DO(i + 1) DO(i + 2) DO(i + 3) DO(i + 4) DO(i + 5) DO(i + 6) DO(i + 7)
#define ENTRY(i) 1000003u * (i), 2000029u * (i) + 5,
#define STEP(i) x[(i) * n] = y[i] * table[i];
#define KERNEL(number) \\
    extern "C" __global__ void k##number(float* x, const float* y, int n)
"""


def _built(cuda_wheel: Run, project, name: str) -> tuple[Manifest, bytes]:
    result = cuda_wheel("build", project, "-o", project / "out")
    assert result.returncode == 0, result.stdout
    manifest = manifest_of((project / f"out/demo/{name}.fatbin.json").read_bytes(), name)
    return manifest, (project / f"out/demo/{name}.fatbin").read_bytes()


@pytest.mark.slow
def test_a_thousand_kernels_in_one_module(make_project, cuda_wheel: Run) -> None:
    text = "".join(
        f'extern "C" __global__ void k{number}(float* x, int n) {{ x[threadIdx.x] += n + {number}; }}\n'
        f"void launch{number}(float* x) {{ k{number}<<<1, 32>>>(x, {number}); }}\n"
        for number in range(1024)
    )
    manifest, _ = _built(cuda_wheel, make_project(TABLE, **{"demo/many.cu": text}), "many")
    assert {kernel.name for kernel in manifest.kernels} == {f"k{number}" for number in range(1024)}
    assert {len(image.resources) for image in manifest.images if image.kind == "cubin"} == {1024}
    assert manifest.host_code == ()


@pytest.mark.slow
def test_thousands_of_lines_and_megabytes_of_ptx(make_project, cuda_wheel: Run) -> None:
    rows = "".join(f"    EIGHT(ENTRY, {8 * row})\n" for row in range(4000))
    kernels = (f"KERNEL({number})\n{{\n    EIGHT(STEP, {number})\n}}\n" for number in range(256))
    text = f"{MACROS}__device__ unsigned table[] = {{\n{rows}}};\n" + "".join(kernels)
    assert text.count("\n") > 5000
    manifest, fatbin = _built(cuda_wheel, make_project(TABLE, **{"demo/long.cu": text}), "long")
    (image,) = (image for image in manifest.images if image.kind == "ptx")
    assert len(manifest.kernels) == 256
    assert image.size > 1_000_000
    assert image.ptx_version < image.ptx_version_compiled
    assert fatbin[image.offset :][: image.size].count(b".entry") == 256
