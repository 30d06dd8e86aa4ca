"""Structs by their NumPy dtypes, and kernels that launch kernels, on the GPU."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import cuda_wheel
from tests.gpu.support import Memory
from tests.gpu.test_launch import write_project
from tests.support.toolchains import installed_extra

STRUCTS = """
struct Base { char tag; };
template <class T> struct Params : Base { T a[3]; double d; union { int i; float f; }; struct { short s[2]; } inner; const float* p; };
template <class T> __global__ void read(Params<T> params, double* out) {
    out[0] = params.tag; out[1] = params.a[2]; out[2] = params.d; out[3] = params.i; out[4] = params.inner.s[1];
    out[5] = params.p[1]; out[6] = sizeof(params);
}
template __global__ void read<float>(Params<float>, double*);
"""

CHILD = """
__global__ void child(float* x, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) x[i] *= 2; }
extern "C" __global__ void parent(float* x, int n) { if (threadIdx.x == 0) child<<<(n + 127) / 128, 128>>>(x, n); }
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, nothing_loaded: None) -> Iterator[Path]:
    """Return the folder of an importable source tree with the package `structs`."""
    if installed_extra() is None:
        pytest.skip("no toolchain is installed here")
    write_project(tmp_path / "project", "structs", {"read.cu": STRUCTS, "launch.cu": CHILD})
    monkeypatch.syspath_prepend(tmp_path / "project")
    yield tmp_path / "project"
    sys.modules.pop("structs", None)


def test_the_kernel_reads_the_fields_of_a_record_of_its_dtype(project: Path, context: None) -> None:
    kernel = cuda_wheel.load("structs.read")["read<float>"]
    (params, out) = kernel.parameters
    assert (params.name, out.name) == ("params", "out")
    x, result = Memory(np.array([5, 6], np.float32)), Memory(np.zeros(7))
    record = np.zeros((), params.dtype)
    for name, value in {"tag": 7, "a": [1, 2, 3], "d": 0.5, "i": -9, "p": x.address}.items():
        record[name] = value
    record["inner"]["s"] = [10, 11]
    kernel.launch(1, 1, record, result)
    assert result.numpy().tolist() == [7, 3, 0.5, -9, 11, 6, params.dtype.itemsize]


@pytest.mark.parametrize("link", ["ptx", "lto"])
def test_a_kernel_launches_a_kernel(project: Path, context: None, link: str) -> None:
    settings = project / "pyproject.toml"
    settings.write_text(
        settings.read_text()
        + f'\n[[tool.cuda-wheel.module]]\nname = "structs.launch"\nsources = ["structs/launch.cu"]\n'
        f'link = "{link}"\n'
    )
    module = cuda_wheel.load("structs.launch")
    assert sorted(module) == ["child", "parent"]
    x = Memory(np.arange(1000, dtype=np.float32))
    module["parent"].launch(1, 32, x, 1000)
    assert (x.numpy() == 2 * np.arange(1000)).all()
