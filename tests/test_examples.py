"""The examples build; tests/gpu runs them."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from cuda_wheel.runtime.variants.index import all_manifests
from tests.support.processes import run
from tests.support.projects import ROOT


def build(example: str, folder: Path, cuda_wheel) -> Path:
    """Copy an example, build its module for one architecture, and return the project's folder."""
    project = folder / "project"
    shutil.copytree(ROOT / "examples" / example, project, ignore=shutil.ignore_patterns("__pycache__"))
    result = cuda_wheel("build", project, "-o", folder / "out", CUDAARCHS="80-real")
    assert result.returncode == 0, result.stdout
    return project


def test_the_example_of_variants_builds_each_of_them(tmp_path: Path, cuda_wheel) -> None:
    project = build("variants", tmp_path, cuda_wheel)
    text = (tmp_path / "out/variants_demo/polynomial.fatbin.json").read_bytes()
    found = [tuple(dict(each.variant).values()) for each in all_manifests(text, "x")]
    program = "from variants_demo.__main__ import VARIANTS; print(VARIANTS)"
    pattern = "import sys; sys.modules['cuda.core'] = type(sys)('core')\nsys.modules['cuda.core'].Device = 0\n"
    pattern += "sys.modules['cuda.core'].LegacyPinnedMemoryResource = 0\n"
    shown = run(sys.executable, "-c", pattern + program, PYTHONPATH=str(project / "src"))
    assert shown.stdout.strip() == repr([(real, degree) for degree, real in found])
    sizes = {each.variant: each.kernels[0].parameters[3].size for each in all_manifests(text, "x")}
    assert sizes[("DEGREE", 3), ("REAL", "double")] == 32


def test_the_example_of_a_jax_operator_builds_and_is_traced(tmp_path: Path, cuda_wheel) -> None:
    project = build("jax_operator", tmp_path, cuda_wheel)
    (manifest,) = all_manifests((tmp_path / "out/jax_operator_demo/rms_norm.fatbin.json").read_bytes(), "x")
    lists = {each.name: each.parameter_list for each in manifest.kernels}
    for element in ("float", "__half", "__nv_bfloat16"):
        types = f"const {element}*, const {element}*, {element}*, int, float"
        assert lists[f"rms_norm<{element}>"] == types
    pytest.importorskip("jax", reason="JAX is not installed")
    shutil.copytree(project / "src", tmp_path / "out", dirs_exist_ok=True)
    program = """
import jax, jax.numpy as jnp
from jax_operator_demo import rms_norm
x, weight = jnp.ones((4, 100), jnp.bfloat16), jnp.ones(100, jnp.bfloat16)
print(jax.eval_shape(jax.grad(lambda x: rms_norm(x, weight, 1e-3).sum().astype(float)), x))
"""
    result = run(sys.executable, "-c", program, PYTHONPATH=f"{tmp_path / 'out'}:{ROOT}", JAX_PLATFORMS="cpu")
    assert "ShapeDtypeStruct(shape=(4, 100), dtype=bfloat16" in result.stdout, result.stdout
