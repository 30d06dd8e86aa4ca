"""The examples build; tests/gpu runs them."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from cuda_wheel.runtime.variants.index import all_manifests
from tests.support.processes import run
from tests.support.projects import ROOT


def test_the_example_of_variants_builds_each_of_them(tmp_path: Path, cuda_wheel) -> None:
    project = tmp_path / "project"
    shutil.copytree(ROOT / "examples/variants", project, ignore=shutil.ignore_patterns("__pycache__"))
    settings = project / "pyproject.toml"
    settings.write_text(settings.read_text().replace('.polynomial"\n', '.polynomial"\narchitectures = "80-real"\n'))
    result = cuda_wheel("build", project, "-o", tmp_path / "out")
    assert result.returncode == 0, result.stdout
    text = (tmp_path / "out/variants_demo/polynomial.fatbin.json").read_bytes()
    found = [tuple(dict(each.variant).values()) for each in all_manifests(text, "x")]
    program = "from variants_demo.__main__ import VARIANTS; print(VARIANTS)"
    pattern = "import sys; sys.modules['cuda.core'] = type(sys)('core')\nsys.modules['cuda.core'].Device = 0\n"
    pattern += "sys.modules['cuda.core'].LegacyPinnedMemoryResource = 0\n"
    shown = run(sys.executable, "-c", pattern + program, PYTHONPATH=str(project / "src"))
    assert shown.stdout.strip() == repr([(real, degree) for degree, real in found])
    sizes = {each.variant: each.kernels[0].parameters[3].size for each in all_manifests(text, "x")}
    assert sizes[("DEGREE", 3), ("REAL", "double")] == 32
