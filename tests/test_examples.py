"""The examples build; tests/gpu runs them."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from cuda_wheel.runtime.choosing.tuning_table import parse_table
from cuda_wheel.runtime.manifest import Manifest
from cuda_wheel.runtime.variants.index import all_manifests
from cuda_wheel.tuning.table_file import table_text
from tests.support.driver import Driver
from tests.support.processes import run
from tests.support.projects import ROOT


def build(example: str, folder: Path, cuda_wheel, architectures: str = "80-real") -> Path:
    """Copy an example, build its modules, and return the project's folder."""
    project = folder / "project"
    shutil.copytree(ROOT / "examples" / example, project, ignore=shutil.ignore_patterns("__pycache__"))
    result = cuda_wheel("build", project, "-o", folder / "out", CUDAARCHS=architectures)
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


def test_the_example_of_tuned_choices_builds_with_its_table(tmp_path: Path, cuda_wheel) -> None:
    project = build("tuned", tmp_path, cuda_wheel)
    name = "tuned_demo.kernels.row_sums"
    table = tmp_path / "out/tuned_demo/kernels/row_sums.tuned.json"
    rows = parse_table(table.read_bytes(), name, "x")
    assert table.read_text() == table_text(name, rows)
    # What is tuned is what the table has. CuPy, which the example needs, is not installed everywhere.
    pattern = "import sys; sys.modules['cupy'] = type(sys)('cupy')\n"
    program = "from tuned_demo.tuning import row_sums as t; print(t.module, t.name, list(t.problems))"
    shown = run(sys.executable, "-c", pattern + program, PYTHONPATH=str(project / "src"))
    problems = [row.problem for row in sorted(rows, key=lambda row: row.problem["columns"])]
    assert shown.stdout.strip() == f"{name} row_sums {problems}"


def test_the_example_of_launches_builds_for_gpus_with_and_without_programmatic_launches(
    tmp_path: Path, cuda_wheel
) -> None:
    build("launches", tmp_path, cuda_wheel, "75-virtual;90-virtual")
    manifest = Manifest.from_json((tmp_path / "out/heat_demo/heat.fatbin.json").read_bytes(), "x")
    fatbin = (tmp_path / "out/heat_demo/heat.fatbin").read_bytes()
    used = {
        str(image.target): fatbin[image.offset : image.offset + image.size].count(b"griddepcontrol")
        for image in manifest.images
        if image.offset is not None
    }
    assert used == {"compute_75": 0, "compute_90": 2}
    assert [each.name for each in manifest.kernels[0].parameters] == ["before", "after", "rate", "n"]


def test_the_example_of_streams_builds_and_launches_what_its_kernel_takes(tmp_path: Path, cuda_wheel) -> None:
    project = build("streams", tmp_path, cuda_wheel)
    manifest = Manifest.from_json((tmp_path / "out/streams_demo/average.fatbin.json").read_bytes(), "x")
    assert [each.parameter_list for each in manifest.kernels] == ["float*, const float*, float, int"]
    program = (project / "src/streams_demo/__main__.py").read_text()
    assert re.findall(r"(\w+)\.update\.launch\(GRID, BLOCK, .*, RATE, N[,)]", program) == ["streams_demo"] * 5


def test_the_example_for_users_of_raw_module_compiles(
    use: Callable[..., Driver], monkeypatch: pytest.MonkeyPatch
) -> None:
    use((8, 6))
    monkeypatch.syspath_prepend(ROOT / "examples/from_raw_module")
    import blur  # type: ignore[import-not-found]

    module = blur.compiled()
    assert list(module) == ["blur<float>"]
    assert module["blur<double>"].info.parameter_list == "const double*, double*, int"


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
