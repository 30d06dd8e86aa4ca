"""Kernels in unedited files of PyTorch extensions compute what PyTorch computes.

CUDA_WHEEL_THIRD_PARTY names the folder into which `python -m benchmarks.third_party.fetch` has put the files. Each file
is compiled when it is loaded, for this machine's GPU, with the stand-in headers and not with PyTorch's own.
"""

from __future__ import annotations

import itertools
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import cuda_wheel

torch = pytest.importorskip("torch")

_numbers = itertools.count()

Load = Callable[..., cuda_wheel.Module]

TABLE = """
[project]
name = "ported"
version = "1"
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"
[tool.cuda-wheel]
defines = {{ __CUDA_NO_HALF_OPERATORS__ = "", __CUDA_NO_HALF_CONVERSIONS__ = "", __CUDA_NO_HALF2_OPERATORS__ = "" }}
include-dirs = {include}
[[tool.cuda-wheel.module]]
name = "{name}"
sources = ["{source}"]
{settings}
"""


@pytest.fixture
def load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Load:
    """Return a function that loads a file of a repository, "owner/name" and the path, from a project of its own."""
    corpus = os.environ.get("CUDA_WHEEL_THIRD_PARTY")
    if not corpus:
        pytest.skip("CUDA_WHEEL_THIRD_PARTY must name the folder of the fetched third-party files")

    def load(repository: str, file: str, include: tuple[str, ...] = (), settings: str = "") -> cuda_wheel.Module:
        package = f"ported_{next(_numbers)}"  # each test has its own, as a package is imported once
        own = shutil.ignore_patterns("pyproject.toml")  # else the repository is a project of its own
        shutil.copytree(Path(corpus) / repository.replace("/", "+"), tmp_path / package, ignore=own)
        (tmp_path / package / "__init__.py").touch()
        name = f"{package}.{Path(file).stem}"
        folders = [f"{package}/{folder}" for folder in include]
        text = TABLE.format(include=folders, name=name, source=f"{package}/{file}", settings=settings)
        (tmp_path / "pyproject.toml").write_text(text)
        monkeypatch.syspath_prepend(str(tmp_path))
        return cuda_wheel.load(name)

    return load


def run(kernel: cuda_wheel.Kernel, grid: Any, block: Any, *arguments: Any) -> None:
    """Launch a kernel after what PyTorch has queued, and wait."""
    torch.cuda.synchronize()
    kernel.launch(grid, block, *arguments)
    torch.cuda.synchronize()


def random(*shape: int, dtype: Any = None) -> Any:
    generator = torch.Generator("cuda").manual_seed(7)
    return torch.randn(*shape, device="cuda", dtype=dtype or torch.float32, generator=generator)


def accessor(tensor: Any) -> bytes:
    """Return the bytes of a PackedTensorAccessor32."""
    import numpy as np

    words = np.array([*tensor.shape, *tensor.stride()], np.int32)
    return np.uint64(tensor.data_ptr()).tobytes() + words.tobytes()


def tensor_info(tensor: Any) -> bytes:
    """Return the bytes of an at::cuda::detail::TensorInfo<T, int>, which has room for 25 dimensions."""
    import numpy as np

    record = np.zeros((), np.dtype([("data", "u8"), ("sizes", "i4", 25), ("strides", "i4", 25), ("dims", "i4")], True))
    record["data"], record["dims"] = tensor.data_ptr(), tensor.dim()
    record["sizes"][: tensor.dim()], record["strides"][: tensor.dim()] = tensor.shape, tensor.stride()
    return record.tobytes()


POINTS = "erikwijmans/Pointnet2_PyTorch"
POINTS_SOURCES = "pointnet2_ops_lib/pointnet2_ops/_ext-src"


def test_gather_points(load: Load) -> None:
    module = load(POINTS, f"{POINTS_SOURCES}/src/sampling_gpu.cu", (f"{POINTS_SOURCES}/include",))
    points = random(2, 3, 50)
    index = torch.randint(50, (2, 20), device="cuda", dtype=torch.int32)
    out = torch.empty(2, 3, 20, device="cuda")
    run(module["gather_points_kernel"], (2, 3), 64, 2, 3, 50, 20, points, index, out)
    assert torch.equal(out, points.gather(2, index.long()[:, None].expand(2, 3, 20)))


def test_group_points(load: Load) -> None:
    module = load(POINTS, f"{POINTS_SOURCES}/src/group_points_gpu.cu", (f"{POINTS_SOURCES}/include",))
    points = random(2, 3, 50)
    index = torch.randint(50, (2, 8, 4), device="cuda", dtype=torch.int32)
    out = torch.empty(2, 3, 8, 4, device="cuda")
    run(module["group_points_kernel"], 2, (8, 3), 2, 3, 50, 8, 4, points, index, out)
    assert torch.equal(out.flatten(2), points.gather(2, index.long().flatten(1)[:, None].expand(2, 3, 32)))


def test_three_nearest_points(load: Load) -> None:
    module = load(POINTS, f"{POINTS_SOURCES}/src/interpolate_gpu.cu", (f"{POINTS_SOURCES}/include",))
    unknown, known = random(2, 30, 3), random(2, 40, 3).flip(1).contiguous()
    distance = torch.empty(2, 30, 3, device="cuda")
    index = torch.empty(2, 30, 3, device="cuda", dtype=torch.int32)
    run(module["three_nn_kernel"], 2, 64, 2, 30, 40, unknown, known, distance, index)
    expected = ((unknown[:, :, None] - known[:, None]) ** 2).sum(-1).topk(3, largest=False)
    torch.testing.assert_close(distance, expected.values)
    assert torch.equal(index.long(), expected.indices)


def test_frequency_encoding(load: Load) -> None:
    module = load("ashawkey/torch-ngp", "freqencoder/src/freqencoder.cu", ("freqencoder/src",))
    inputs = torch.rand(100, 3, device="cuda")
    out = torch.empty(100, 3 + 3 * 4 * 2, device="cuda")
    run(module["kernel_freq"], 30, 128, inputs, 100, 3, 4, out.shape[1], out)
    parts = [inputs]
    for power in range(4):
        parts += [torch.sin(inputs * 2**power), torch.cos(inputs * 2**power)]
    torch.testing.assert_close(out, torch.cat(parts, 1), atol=1e-5, rtol=1e-5)


def test_nearest_neighbour(load: Load) -> None:
    module = load("rusty1s/pytorch_cluster", "csrc/cuda/nearest_cuda.cu", ("csrc",))
    x, y = random(60, 5), random(80, 5).flip(0).contiguous()
    first = torch.tensor([0, 20, 60], device="cuda")
    second = torch.tensor([0, 50, 80], device="cuda")
    out = torch.empty(60, dtype=torch.int64, device="cuda")
    run(module["nearest_kernel<float>"], 60, 1024, x, y, first, second, out, 2, 5)
    expected = torch.cat([torch.cdist(x[:20], y[:50]).argmin(1), torch.cdist(x[20:], y[50:]).argmin(1) + 50])
    assert torch.equal(out, expected)


@pytest.mark.parametrize(("scalar", "dtype"), [("float", torch.float32), ("double", torch.float64)])
def test_segment_sums(load: Load, scalar: str, dtype: Any) -> None:
    module = load("rusty1s/pytorch_scatter", "csrc/cuda/segment_csr_cuda.cu", ("csrc",))
    source = random(100, dtype=dtype)
    pointers = torch.tensor([0, 3, 3, 50, 100], device="cuda")
    out = torch.empty(4, device="cuda", dtype=dtype)
    name = f"segment_csr_kernel<{scalar}, (ReductionType)0, 1>"
    run(module[name], 1, 256, source, tensor_info(pointers), out, 0, 4, 100)
    torch.testing.assert_close(out, torch.segment_reduce(source, "sum", offsets=pointers, initial=0))


def test_isotonic_regression(load: Load) -> None:
    module = load("teddykoker/torchsort", "torchsort/isotonic_cuda.cu")
    y = random(4, 12)
    solution, sums, target, counts = (torch.zeros_like(y) for _ in range(4))
    arguments = [accessor(each) for each in (y, solution, sums, target, counts)]
    run(module["isotonic_l2_kernel<float>"], 1, 32, *arguments, 12, 4)
    # The pool-adjacent-violators solution, by its min-max formula.
    means = [[[row[j : k + 1].mean() for k in range(12)] for j in range(12)] for row in y.cpu()]
    expected = [[min(max(m[j][k] for k in range(i, 12)) for j in range(i + 1)) for i in range(12)] for m in means]
    torch.testing.assert_close(solution.cpu(), torch.tensor(expected))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16])
def test_bias_and_activation(load: Load, dtype: Any) -> None:
    import numpy as np

    module = load("NVlabs/stylegan3", "torch_utils/ops/bias_act.cu")
    x, bias, out = random(6, 8, dtype=dtype), random(8, dtype=dtype), torch.empty(6, 8, dtype=dtype, device="cuda")
    pointers = np.array([x.data_ptr(), bias.data_ptr(), 0, 0, 0, out.data_ptr()], np.uint64)
    integers, floats = np.array([0, 3], np.int32), np.array([0.2, 2.0, -1.0], np.float32)
    sizes = np.array([48, 8, 1, 4, 0], np.int32)  # with the padding at the end of the struct
    parameters = b"".join(part.tobytes() for part in (pointers, integers, floats, sizes))
    scalar = {torch.float32: "float", torch.float64: "double", torch.float16: "c10::Half"}[dtype]
    run(module[f"bias_act_kernel<{scalar}, 3>"], 1, 32, parameters)
    expected = torch.nn.functional.leaky_relu((x + bias).float() if dtype == torch.float16 else x + bias, 0.2) * 2
    torch.testing.assert_close(out, expected.to(dtype), atol=2e-3 if dtype == torch.float16 else 1e-6, rtol=2e-3)


def test_column_order(load: Load) -> None:
    module = load("turboderp/exllama", "exllama_ext/cuda_func/column_remap.cu", ("exllama_ext",))
    x, order = random(20, 300, dtype=torch.float16), torch.randperm(300, device="cuda")
    out = torch.empty_like(x)
    run(module["column_remap_kernel"], (2, 2), 256, x, out, 300, 20, order.to(torch.uint32))
    assert torch.equal(out, x[:, order])


@pytest.mark.parametrize(("name", "dtype", "each"), [("", torch.float32, 1), ("h_", torch.float16, 2)])
def test_soft_limit(load: Load, name: str, dtype: Any, each: int) -> None:
    module = load("turboderp/exllamav2", "exllamav2/exllamav2_ext/cuda/softcap.cu", ("exllamav2/exllamav2_ext",))
    x = random(1000, dtype=dtype)
    expected = (torch.tanh(x.float() / 0.5) * 0.5).to(dtype)
    run(module[f"{name}cuda_softcap_kernel"], 4 // each, 256, x, 1000, 0.5)
    torch.testing.assert_close(x, expected)


def test_structural_similarity(load: Load) -> None:
    module = load("rahul-goel/fused-ssim", "ssim.cu")
    first, second = torch.rand(2, 3, 40, 50, device="cuda"), torch.rand(2, 3, 40, 50, device="cuda")
    outputs = [torch.zeros_like(first) for _ in range(4)]
    bounds = (0.01**2, 0.03**2)
    run(module["fusedssimCUDA"], (4, 3, 2), (16, 16), 40, 50, 3, *bounds, first, second, *outputs)
    line = torch.exp(-((torch.arange(11, device="cuda") - 5.0) ** 2) / (2 * 1.5**2))
    window = (line[:, None] * line[None] / line.sum() ** 2).expand(3, 1, 11, 11)

    def blurred(image: Any) -> Any:
        return torch.nn.functional.conv2d(image.double(), window.double(), padding=5, groups=3)

    a, b = blurred(first), blurred(second)
    variances = blurred(first**2) - a**2 + blurred(second**2) - b**2
    covariance = blurred(first * second) - a * b
    expected = (2 * a * b + bounds[0]) * (2 * covariance + bounds[1])
    expected /= (a**2 + b**2 + bounds[0]) * (variances + bounds[1])
    torch.testing.assert_close(outputs[0].double(), expected, atol=1e-4, rtol=1e-3)


@pytest.mark.filterwarnings("ignore:.*no image has the kernel template")
def test_maxout(load: Load) -> None:
    settings = 'instantiate = ["maxout<float>", "maxout<double>"]'
    module = load("explosion/thinc", "thinc/backends/_custom_kernels.cu", (), settings)
    candidates = random(20, 6, 3)
    best, which = torch.empty(20, 6, device="cuda"), torch.empty(20, 6, device="cuda", dtype=torch.int32)
    run(module["maxout<float>"], 2, 64, best, which, candidates, 20, 6, 3)
    expected = candidates.max(2)
    assert torch.equal(best, expected.values)
    assert torch.equal(which.long(), expected.indices)
