"""Install and run every fixture's wheel on the GPU and compare with NumPy."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib.metadata import distributions
from pathlib import Path

import pytest

import cuda_wheel
from cuda_wheel import NoImageError
from cuda_wheel.builder.manifest_reader import manifest_of
from tests.gpu.conftest import prebuilt_sets
from tests.gpu.support import compare_signatures
from tests.support.processes import run
from tests.support.projects import FIXTURES, GOOD, LINKED
from tests.support.toolchains import installed_extra


def package_of(fixture: str) -> str:
    return next((FIXTURES / fixture / "src").iterdir()).name


def check(fixture: str) -> str:
    for library in ("numpy", "cuda.core"):
        pytest.importorskip(library)
    result = run(sys.executable, "-m", package_of(fixture))
    print(result.stdout, end="")
    assert result.returncode == 0, result.stdout
    return result.stdout


def skip_without_compiler(fixture: str) -> None:
    names = {distribution.metadata["Name"].lower() for distribution in distributions()}
    if fixture == "nvvm_ir" and not names & {"nvidia-nvvm", "nvidia-cuda-nvcc-cu12"}:
        pytest.skip("libNVVM is not installed here")


@pytest.mark.skipif(installed_extra() is None, reason="no toolchain is installed here to build with")
@pytest.mark.parametrize("fixture", GOOD + LINKED)
def test_a_wheel_built_here_agrees_with_numpy(
    fixture: str, fixture_wheel: Callable[[str], Path], install: Callable[[Path], Path]
) -> None:
    skip_without_compiler(fixture)
    install(fixture_wheel(fixture))
    check(fixture)


@pytest.mark.parametrize("fixture", GOOD + LINKED)
@pytest.mark.parametrize("name", [name for name in prebuilt_sets() if not name.endswith("-as-compiled")])
def test_a_wheel_built_elsewhere_agrees_with_numpy(
    fixture: str, name: str, prebuilt: Callable[[str, str], Path], install: Callable[[Path], Path]
) -> None:
    install(prebuilt(name, fixture))
    output = check(fixture)
    assert (", jit>" if name.endswith("-jit") else ", native>") in output


@pytest.mark.parametrize("fixture", GOOD + LINKED)
def test_signatures_match_the_driver(
    fixture: str,
    request: pytest.FixtureRequest,
    install: Callable[[Path], Path],
    nothing_loaded: None,
    context: None,
) -> None:
    sets = prebuilt_sets() or ["cu13"]
    if installed_extra() and not (fixture == "nvvm_ir" and prebuilt_sets()):
        skip_without_compiler(fixture)
        wheel = request.getfixturevalue("fixture_wheel")(fixture)
    else:
        wheel = request.getfixturevalue("prebuilt")(sets[0], fixture)
    site = install(wheel)
    for path in site.rglob("*.fatbin.json"):
        name = ".".join(path.relative_to(site).parts).removesuffix(".fatbin.json")
        if all(image.source for image in manifest_of(path.read_bytes(), name).images):
            with pytest.raises(NoImageError, match=r"load\(\.\.\., link=\[\.\.\.\]\)"):
                cuda_wheel.load(name)
        else:
            compare_signatures(cuda_wheel.load(name))
