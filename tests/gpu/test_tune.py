"""Tuning on a real GPU: times are the GPU's, wrong candidates are left out, and programs launch what was chosen."""

from __future__ import annotations

import importlib
import json
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cuda_wheel
from cuda_wheel.runtime.parts import tuned_tables as choices
from cuda_wheel.tuning.tuner import GpuTimer
from tests.gpu.support import Memory, value
from tests.support.loaded_modules import forget_package
from tests.support.processes import run
from tests.support.projects import ROOT, pyproject_head, write_files
from tests.support.toolchains import installed_extra

SOURCE = """\
// FACTOR 2 is right. A block has SIZE elements.
extern "C" __global__ void scale(const float* x, float* y, unsigned n, int microseconds)
{
    unsigned long long start, now;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(start));
    for (unsigned i = blockIdx.x * SIZE + threadIdx.x; i < min(n, (blockIdx.x + 1) * SIZE); i += blockDim.x)
        y[i] = x[i] * FACTOR;
    do
        asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
    while (now - start < microseconds * 1000ull);
}
extern "C" __global__ void crash(const float* x, float* y, unsigned n, int microseconds) { *(float*)8 = 1; }
"""

TABLE = """\
[tool.hatch.build.targets.wheel]
packages = ["demo"]
[tool.hatch.build.targets.wheel.hooks.cuda]
[[tool.cuda-wheel.module]]
name = "demo.scale"
variants = { FACTOR = [2, 3], SIZE = [256, 1024] }
"""

TUNING = """\
import numpy as np
from cuda_wheel.tuning import tunable
from tests.gpu.support import Memory

RIGHT, WRONG, LARGE = ({"FACTOR": factor, "SIZE": size} for factor, size in ((2, 256), (3, 256), (2, 1024)))

def launch(choice, x, y, n, stream=None):
    grid = -(-n // choice.variant["SIZE"]) - choice.parameters.get("missing", 0)
    choice.kernel.launch(grid, choice["block"], x, y, n, choice["wait"], stream=stream)

def candidate(variant, block, wait, kernel="scale", **more):
    return {"variant": variant, "kernel": kernel, "block": block, "wait": wait, **more}

def arrays(problem):
    n = problem["n"]
    return Memory(np.arange(n, dtype=np.float32)), Memory(np.zeros(n, np.float32)), n

@tunable(
    "demo.scale",
    problems=[{"n": 100_000}, {"n": 1000}],
    candidates=[
        candidate(RIGHT, 256, 100),
        candidate(WRONG, 256, 0),
        candidate(RIGHT, 4096, 0),
        candidate(LARGE, 256, 20),
        candidate(LARGE, 256, 0, missing=1),
        candidate(RIGHT, 128, 60),
        candidate({"FACTOR": 5, "SIZE": 256}, 128, 0),
    ],
)
def scale(problem):
    x, y, n = arrays(problem)
    return lambda choice: launch(choice, x, y, n), y

@tunable("demo.scale", problems=[{"n": 9}], candidates=[candidate(RIGHT, 32, 0), candidate(RIGHT, 32, 0, "crash")])
def crashing(problem):
    x, y, n = arrays(problem)
    return lambda choice: launch(choice, x, y, n), y

@tunable("demo.scale", problems=[{"n": 9}], candidates=[candidate(RIGHT, 32, 50)])
def elsewhere(problem):
    from cuda.bindings import driver
    stream = int(driver.cuStreamCreate(driver.CUstream_flags.CU_STREAM_NON_BLOCKING)[1])
    x, y, n = arrays(problem)
    return lambda choice: launch(choice, x, y, n, stream), y
"""


@pytest.fixture
def project(nvrtc: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, nothing_loaded: None) -> Iterator[Path]:
    """Put a source tree with kernels and what to tune on the path, for this process and its children."""
    extra = installed_extra()
    if extra is None:
        pytest.skip("no toolchain is installed")
    files = {"demo/__init__.py": "", "demo/scale.cu": SOURCE, "demo/tuning.py": TUNING}
    root = write_files(tmp_path / "project", **files, **{"pyproject.toml": pyproject_head("hatchling", extra) + TABLE})
    monkeypatch.syspath_prepend(str(root))
    monkeypatch.setenv("PYTHONPATH", f"{root}:{ROOT}")
    yield root
    forget_package("demo")
    choices.forget()


def test_the_measured_time_is_that_of_the_gpu(project: Path, context: None) -> None:
    timer = GpuTimer()
    kernel = cuda_wheel.load("demo.scale", FACTOR=2, SIZE=256)["scale"]
    x, y = Memory(np.zeros(9, np.float32)), Memory(np.zeros(9, np.float32))

    def median(microseconds: int, host: float) -> float:
        def launch() -> None:
            time.sleep(host)
            kernel.launch(1, 32, x, y, 9, microseconds)

        flushes = timer.flushes(launch)
        return 1e6 * sorted(timer.seconds(launch, flushes) for _ in range(15))[7]

    found = {(wait, host): median(wait, host) for wait in (0, 20, 200) for host in (0.0, 500e-6)}
    nothing = 1e6 * sorted(timer.seconds(lambda: None, 1) for _ in range(15))[7]
    print(f"\nmicroseconds by (wait of the kernel, seconds of the host): {found}; of nothing: {nothing:.2f}")
    for (wait, _), measured in found.items():
        assert wait - 2 <= measured < wait + 15
    assert nothing + 0.5 < found[0, 0.0]
    timer.close()


def test_wrong_candidates_are_left_out_and_the_program_launches_the_best(
    project: Path, cuda_wheel: Callable[..., Any], context: None
) -> None:
    from cuda.bindings import driver

    others = {"gpu": "NVIDIA Z", "compute_capability": [7, 5], "parameters": {"block": 32, "wait": 1}}
    result = cuda_wheel("tune", "demo.tuning:scale", COLUMNS="400")
    assert result.returncode == 0, result.stdout
    print(result.stdout)
    path = project / "demo/scale.tuned.json"
    document = json.loads(path.read_text())
    name = value(driver.cuDeviceGetName(256, 0)).split(b"\0")[0].decode()
    for row, n in zip(document["choices"], (1000, 100_000), strict=True):
        assert (row["gpu"], row["problem"]) == (name, {"n": n})
        assert row["variant"] == {"FACTOR": 2, "SIZE": 1024} and row["kernel"] == "scale"
        assert row["parameters"] == {"block": 256, "wait": 20}
        assert 18 <= row["microseconds"] < 40 and 98 <= row["first_microseconds"] < 130
    for text in (
        "left out: the result is wrong: element 1 is 3.0, not 2.0; 99999 of 100000 differ",
        "left out: the result is wrong: element 1 is 3.0, not 2.0; 999 of 1000 differ",
        "block=4096, wait=0",
        "left out: the result is wrong: element 99328 is 0.0, not 198656.0; 672 of 100000 differ",
        "left out: UnknownVariantError",
        "4 of 7 candidates left out",
    ):
        assert text in result.stdout, result.stdout
    document["choices"].append({**document["choices"][0], **others})
    path.write_text(json.dumps(document))
    again = cuda_wheel("tune", "demo.tuning:scale")
    assert "scale.tuned.json (2 measured, 1 kept)" in again.stdout
    kept = json.loads(path.read_text())["choices"]
    assert [row["gpu"] for row in kept] == sorted(["NVIDIA Z", name, name], key=lambda each: each == name)

    demo = importlib.import_module("demo.tuning")
    choice = choices.tuned("demo.scale", "scale", {"n": 5000})
    assert choice.problem == {"n": 1000} and choice.gpu == name
    x, y = Memory(np.arange(5000, dtype=np.float32)), Memory(np.zeros(5000, np.float32))
    demo.launch(choice, x, y, 5000)
    value(driver.cuCtxSynchronize())
    assert (y.numpy() == 2 * np.arange(5000)).all()


def test_what_cannot_be_measured_is_refused_with_words(project: Path, cuda_wheel: Callable[..., Any]) -> None:
    result = cuda_wheel("tune", "demo.tuning:crashing")
    assert result.returncode == 1 and "made the GPU unusable for this process" in result.stdout
    assert "crash, FACTOR=2, SIZE=256, block=32" in result.stdout and "CUDA_ERROR_ILLEGAL_ADDRESS" in result.stdout
    result = cuda_wheel("tune", "demo.tuning:elsewhere")
    assert result.returncode == 1 and "nothing can be measured" in result.stdout
    assert not (project / "demo/scale.tuned.json").exists()


def test_results_of_cupy_and_pytorch_are_compared(project: Path, context: None) -> None:
    from cuda_wheel.tuning.tuner import ResultArrays

    cupy, torch = pytest.importorskip("cupy"), pytest.importorskip("torch")
    for array in (cupy.arange(10.0), torch.arange(10.0).cuda(), torch.arange(10.0).cuda().bfloat16()):
        results = ResultArrays((array, np.zeros(3)))
        start = results.read()
        array[3] = 100
        array[4] += 0.001 * array[4]
        found = results.read()
        text = results.difference(start, found, 0.01, 0)
        assert text is not None and text.startswith("result 0 is wrong: element 3 is 100") and "1 of 10 differ" in text
        results.write(start)
        assert results.read() == start and float(array[3]) == 3


def test_the_example_is_tuned_and_runs(nvrtc: None, tmp_path: Path, cuda_wheel: Callable[..., Any]) -> None:
    pytest.importorskip("cupy")
    if not installed_extra():
        pytest.skip("no toolchain is installed")
    shutil.copytree(ROOT / "examples/tuned", tmp_path / "example")
    path = f"{tmp_path / 'example/src'}:{ROOT}"
    result = cuda_wheel("tune", "tuned_demo.tuning", PYTHONPATH=path, COLUMNS="200")
    assert result.returncode == 0 and "(3 measured" in result.stdout, result.stdout
    print(result.stdout)
    print((tmp_path / "example/src/tuned_demo/kernels/row_sums.tuned.json").read_text())
    result = run(sys.executable, "-m", "tuned_demo", PYTHONPATH=path)
    assert result.returncode == 0 and result.stdout.count("as tuned for") == 3, result.stdout
    print(result.stdout)
