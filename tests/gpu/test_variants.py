"""Variants on a real GPU: each is loaded from the same fatbin and computes with its own macros."""

from __future__ import annotations

import importlib
import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import cuda_wheel
from tests.gpu.support import Memory, value
from tests.support.processes import pip_wheel, run
from tests.support.projects import ROOT, pyproject_head
from tests.support.toolchains import installed_extra
from tests.support.variants import VARIANTS_TABLE, write_variants

EXAMPLE = ROOT / "examples/variants"
EXPECTED = {("float", 2): 6, ("float", 4): 12, ("double", 4): 12}
"""What `update` multiplies by in each variant of tests/support/variants.py."""


@pytest.fixture
def built(
    request: pytest.FixtureRequest, install: Callable[[Path], Path], nothing_loaded: None, tmp_path: Path
) -> Path:
    """Install the wheel of the project with variants."""
    if not installed_extra():
        pytest.skip("no toolchain is installed")
    project = request.getfixturevalue("variants_project")
    result = pip_wheel(project, tmp_path / "dist", CUDAARCHS="80-real;75-virtual;90-real")
    assert result.returncode == 0, result.stdout
    (wheel,) = (tmp_path / "dist").glob("*.whl")
    return install(wheel)


def test_every_variant_computes_with_its_own_macros(built: Path, context: None) -> None:
    from cuda.bindings import driver

    demo = importlib.import_module("demo")
    for (real, modes), factor in EXPECTED.items():
        dtype = {"float": np.float32, "double": np.float64}[real]
        module = cuda_wheel.load("demo.update", MATH_TYPE=real, NUM_MODES=modes)
        assert module is demo.update(MATH_TYPE=real, NUM_MODES=modes)
        module.globals["coefficients"].write(np.full(modes, 0.5, dtype))
        x = Memory(np.arange(32, dtype=dtype))
        module["update"].launch(1, 32, x, 32)
        module["gemm<MATH_TYPE, NUM_MODES>"].launch(1, 32, x)
        value(driver.cuCtxSynchronize())
        assert (x.numpy() == (np.arange(32) * factor + 0.5) * modes).all()
    with pytest.raises(cuda_wheel.UnknownVariantError):
        cuda_wheel.load("demo.update", MATH_TYPE="double", NUM_MODES=2)


def test_other_loaders_read_the_variant_that_they_are_given(built: Path, context: None) -> None:
    """The whole file is the first variant for the driver; the bytes of another one are that one."""
    fatbin = (built / "demo/update.fatbin").read_bytes()
    manifest = cuda_wheel.load("demo.update", MATH_TYPE="double", NUM_MODES=4).manifest
    own = fatbin[manifest.fatbin_offset : manifest.fatbin_offset + manifest.fatbin_size]
    for content, kernel in ((fatbin, "_Z4gemmIfLi2EEvPT_"), (own, "_Z4gemmIdLi4EEvPT_")):
        path = built / "copy.fatbin"
        path.write_bytes(content)
        assert kernel in {each.symbol for each in cuda_wheel.load_code(path).values()}


def test_the_example_runs(tmp_path: Path) -> None:
    if not installed_extra():
        pytest.skip("no toolchain is installed")
    pytest.importorskip("cuda.core")
    shutil.copytree(EXAMPLE, tmp_path / "example")
    result = run(sys.executable, "-m", "variants_demo", PYTHONPATH=str(tmp_path / "example/src"))
    assert result.returncode == 0, result.stdout
    assert result.stdout.count("<Module variants_demo.polynomial[DEGREE=") == 5


def test_a_text_is_compiled_and_launched(nvrtc: None, context: None, nothing_loaded: None) -> None:
    from cuda.bindings import driver

    source = "template <typename T, int N> __global__ void gemm(T* x) { x[threadIdx.x] *= N * SCALE; }"
    module = cuda_wheel.compile(source, instantiate=["gemm<double, 64>"], defines={"SCALE": 2})
    x = Memory(np.arange(32, dtype=np.float64))
    module["gemm<double, 64>"].launch(1, 32, x)
    value(driver.cuCtxSynchronize())
    assert (x.numpy() == np.arange(32) * 128).all()
    with pytest.raises(cuda_wheel.ArgumentError, match="takes an array of float64"):
        module["gemm<double, 64>"].launch(1, 32, Memory(np.zeros(32, np.float32)))


def test_the_example_for_users_of_raw_module_runs(nvrtc: None) -> None:
    pytest.importorskip("cupy")
    result = run(sys.executable, ROOT / "examples/from_raw_module/blur.py")
    assert result.returncode == 0, result.stdout
    assert re.findall(r"^(blur<\w+>): largest error", result.stdout, re.MULTILINE) == ["blur<float>", "blur<double>"]
    assert "takes an array of float32, not of float64" in result.stdout


def test_what_nobody_foresaw_is_compiled_and_launched(
    nvrtc: None, context: None, nothing_loaded: None, tmp_path: Path, install: Callable[[Path], Path]
) -> None:
    from cuda.bindings import driver

    extra = installed_extra()
    if extra is None:
        pytest.skip("no toolchain is installed")
    head = pyproject_head("hatchling", extra)
    head += '[tool.hatch.build.targets.wheel]\npackages = ["demo"]\n[tool.hatch.build.targets.wheel.hooks.cuda]\n'
    table = VARIANTS_TABLE.replace('name = "demo.update"\n', 'name = "demo.update"\nspecialize = true\n')
    result = pip_wheel(write_variants(tmp_path / "project", head, table), tmp_path / "dist")
    assert result.returncode == 0, result.stdout
    install(next((tmp_path / "dist").glob("*.whl")))
    with pytest.warns(RuntimeWarning, match="never referenced"):
        module = cuda_wheel.load("demo.update", MATH_TYPE="int", NUM_MODES=7)
    module.globals["coefficients"].write(np.full(7, 1, np.int32))
    x = Memory(np.arange(32, dtype=np.int32))
    module["update"].launch(1, 32, x, 32)
    value(driver.cuCtxSynchronize())
    assert (x.numpy() == np.arange(32) * 21 + 1).all()
    with pytest.warns(RuntimeWarning, match="never referenced"):
        kernel = cuda_wheel.load("demo.update", MATH_TYPE="float", NUM_MODES=2)["gemm<double, 64>"]
    y = Memory(np.arange(32, dtype=np.float64))
    kernel.launch(1, 32, y)
    value(driver.cuCtxSynchronize())
    assert (y.numpy() == np.arange(32) * 64).all()
