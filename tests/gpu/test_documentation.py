"""The projects in the documentation compute what their pages say, loaded from their source trees on this GPU."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.project.pages import projects
from tests.support.projects import ROOT, write_files

N = 10_001


@pytest.fixture
def project_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, nvrtc: None) -> Iterator[Callable[[str, str], Any]]:
    """Return a function that writes the first project of a page and imports its package from the source tree."""
    names = []

    def load(page: str, package: str) -> Any:
        project = write_files(tmp_path, **projects(ROOT / "docs" / page)[0])
        folder = project / "src" if (project / "src").is_dir() else project
        monkeypatch.syspath_prepend(folder)
        names.append(package)
        return importlib.import_module(package)

    yield load
    for name in [each for each in sys.modules if each.partition(".")[0] in names]:
        del sys.modules[name]


@pytest.fixture
def x() -> Any:
    return np.random.default_rng(0).random(N, np.float32) - np.float32(0.5)


def test_the_first_wheel(project_of, x) -> None:
    cupy = pytest.importorskip("cupy")
    on_gpu, y = cupy.asarray(x), cupy.ones(N, cupy.float32)
    project_of("tutorials/first-wheel.md", "saxpy_demo").saxpy(2.0, on_gpu, y)
    assert np.allclose(cupy.asnumpy(y), 2 * x + 1)


def test_from_rawmodule(project_of, x) -> None:
    cupy = pytest.importorskip("cupy")
    scaled = project_of("how-to/from-rawmodule.md", "scale_demo").scaled
    assert np.allclose(cupy.asnumpy(scaled(cupy.asarray(x), 2.5)), 2.5 * x)


def test_from_pycuda(project_of, x) -> None:
    pytest.importorskip("cupy")
    found = project_of("how-to/from-pycuda.md", "smooth_demo").smoothed(x)
    assert np.allclose(found[1:-1], x[:-2] / 4 + x[1:-1] / 2 + x[2:] / 4, atol=1e-6)


def test_functions_of_the_user(project_of, x) -> None:
    cupy = pytest.importorskip("cupy")
    kernel = project_of("how-to/linking.md", "linked_demo").squares()
    y = cupy.zeros(N, cupy.float32)
    kernel.launch(-(-N // 256), 256, cupy.asarray(x), y, 0.5, N)
    assert np.allclose(cupy.asnumpy(y), x * x + np.float32(0.5))


def test_variants(project_of, x) -> None:
    cupy = pytest.importorskip("cupy")
    kernel = project_of("how-to/variants.md", "demo").update("double", 4)
    y = cupy.zeros(N, cupy.float64)
    kernel.launch(-(-N // 256), 256, cupy.asarray(x, cupy.float64), y, N)
    assert np.allclose(cupy.asnumpy(y), 4 * x.astype(np.float64))


def test_from_a_cuda_extension(project_of, x) -> None:
    torch = pytest.importorskip("torch")
    leaky_relu = project_of("how-to/from-cuda-extension.md", "leaky_demo").leaky_relu
    for dtype in (torch.float32, torch.float64, torch.float16):
        on_gpu = torch.from_numpy(x).to("cuda", dtype)
        expected = torch.nn.functional.leaky_relu(on_gpu, 0.1)
        assert torch.allclose(leaky_relu(on_gpu, 0.1), expected, rtol=2e-3, atol=1e-4)


def test_the_pytorch_operator(project_of) -> None:
    torch = pytest.importorskip("torch")
    normalise = project_of("tutorials/pytorch-operator.md", "norm_demo").normalise
    rows = torch.randn(100, 300, device="cuda", requires_grad=True)
    y, _ = normalise(rows)
    expected = torch.nn.functional.rms_norm(rows, (300,), eps=1e-6)
    assert torch.allclose(y, expected, atol=1e-5)
    weights = torch.randn_like(y)
    (found,) = torch.autograd.grad((y * weights).sum(), rows)
    (wanted,) = torch.autograd.grad((expected * weights).sum(), rows)
    assert torch.allclose(found, wanted, atol=1e-4)
