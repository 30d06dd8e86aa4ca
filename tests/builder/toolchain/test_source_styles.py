"""Kernels in many styles compile unchanged: none of these files was written for NVRTC."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cuda_wheel.builder.manifest_reader import manifest_of
from cuda_wheel.runtime.manifest import Manifest
from tests.support.processes import run_cuda_wheel
from tests.support.projects import pyproject_head

STYLES = sorted((Path(__file__).parents[2] / "data" / "styles").glob("*.cu"))


def _listed(path: Path, key: str) -> list[str]:
    """Return the values of a key in a file's comments: `// kernels: one; two`."""
    match = re.search(rf"^// {key}: (.*)$", path.read_text(), re.MULTILINE)
    return match[1].split("; ") if match else []


def _settings(path: Path) -> str:
    """Return the configuration table of a module, from the comments in its file."""
    lines = [f'[[tool.cuda-wheel.module]]\nname = "demo.{path.stem}"\nsources = ["demo/{path.name}"]']
    lines += [f"{key} = {_listed(path, key)}" for key in ("architectures", "instantiate") if _listed(path, key)]
    lines += [f'std = "{std}"' for std in _listed(path, "std")]
    return "\n".join(lines)


@pytest.fixture(scope="module")
def manifests(
    tmp_path_factory: pytest.TempPathFactory, extra: str, request: pytest.FixtureRequest
) -> dict[str, Manifest]:
    """Build all files that this run tests as one project; return their manifests by the files' stems."""
    root = tmp_path_factory.mktemp("styles")
    items = (item for item in request.session.items if item.path == request.path)
    paths = [item.callspec.params["path"] for item in items if isinstance(item, pytest.Function)]
    (root / "demo").mkdir()
    (root / "demo/__init__.py").touch()
    for path in paths:
        (root / "demo" / path.name).write_bytes(path.read_bytes())
    hook = "[tool.hatch.build.targets.wheel.hooks.cuda]"
    table = f'[tool.hatch.build.targets.wheel]\npackages = ["demo"]\n{hook}\n[tool.cuda-wheel]\narchitectures = ["80"]'
    text = "\n".join([pyproject_head("hatchling", extra), table, *map(_settings, paths)])
    (root / "pyproject.toml").write_text(text)
    cache = str(tmp_path_factory.mktemp("cache"))
    result = run_cuda_wheel("build", root, "-o", root / "out", CUDA_WHEEL_CACHE_DIR=cache)
    assert result.returncode == 0, result.stdout
    warnings = [line for line in result.stdout.splitlines() if ": warning: " in line]
    # The assembler of CUDA 13.5 warns that it cannot compute the stack size for recursion and virtual functions.
    assert not [line for line in warnings if "ptxas: Stack size for entry function" not in line], result.stdout
    return {
        path.stem: manifest_of((root / f"out/demo/{path.stem}.fatbin.json").read_bytes(), path.stem) for path in paths
    }


@pytest.mark.slow
@pytest.mark.parametrize("path", STYLES, ids=lambda path: path.stem)
def test_it_compiles_unchanged(path: Path, manifests: dict[str, Manifest]) -> None:
    manifest = manifests[path.stem]
    assert sorted(kernel.name for kernel in manifest.kernels) == sorted(_listed(path, "kernels"))
    assert manifest.host_code == ()
