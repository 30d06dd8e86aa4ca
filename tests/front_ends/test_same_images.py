"""The three back ends, run by common front ends: the same kernels and settings give the same images."""

from __future__ import annotations

import functools
import sys
import tarfile
from collections.abc import Callable
from itertools import product
from pathlib import Path

import pytest

from tests.support.processes import build_wheel, run
from tests.support.projects import BACKENDS, LISTS, SCIKIT_BUILD, copy_fixture, pyproject_head, write_files
from tests.support.wheels import contents, images

FRONT_ENDS = {  # the command, and its options for isolated and other builds; the last two build the wheel from an sdist
    "pip": (["pip", "wheel", "--no-deps", "-w", "dist", "."], [], ["--no-build-isolation"]),
    "build": (["build"], ["--installer=uv"], ["--no-isolation"]),  # pip would take several times longer
    "uv": (["uv", "build"], [], ["--no-build-isolation", "--python", sys.executable]),
}
ISOLATED = {True: "isolated", False: "not isolated"}
CASES = [
    *product(["stencil"], BACKENDS, FRONT_ENDS, [False]),
    # An isolated build installs what the back end requires, whatever the front end: each of both once.
    *(("stencil", backend, front_end, True) for backend, front_end in zip(BACKENDS, FRONT_ENDS, strict=True)),
    *product(["matmul_templates", "linked", "plugin"], ["setuptools", "scikit-build-core"], ["none"], [False]),
]


@pytest.fixture(scope="module")
def build(
    tmp_path_factory: pytest.TempPathFactory, extra: str, find_links: dict[str, str], bare_python: Path, kept_cache: str
) -> Callable[[str, str, str, bool], Path]:
    """Return a function that builds a fixture with a front end, once, and returns the output folder.

    Isolated builds start from an environment without a compiler: they must not find one outside their own environment.
    A build uses another's results where its jobs are the same, for equal jobs give equal images. If a front end or a
    back end changes a job, that is compiled.
    """

    @functools.cache
    def build(fixture: str, backend: str, front_end: str, isolated: bool) -> Path:
        project = copy_fixture(fixture, tmp_path_factory.mktemp(front_end) / "a project", extra, backend)
        environ = {"CUDA_WHEEL_CACHE_DIR": kept_cache}
        if front_end == "none":
            result = build_wheel(project, project / "dist", CUDAARCHS="80-real;90-virtual", **environ)
        else:
            command, alone, beside_others = FRONT_ENDS[front_end]
            python, options = (bare_python, alone) if isolated else (sys.executable, beside_others)
            result = run(python, "-m", *command, *options, cwd=project, **find_links, **environ)
        assert result.returncode == 0, result.stdout
        return project / "dist"

    return build


@pytest.mark.slow
@pytest.mark.one_toolchain  # what front ends give to back ends, and these to the compilers, depends on no compiler
@pytest.mark.parametrize(
    ("fixture", "backend", "front_end", "isolated"),
    [pytest.param(*case, id="-".join([*case[:3], ISOLATED[case[3]]])) for case in CASES],
)
def test_every_front_end_gives_the_same_images(
    fixture: str, backend: str, front_end: str, isolated: bool, build, fixture_wheel
) -> None:
    (wheel,) = build(fixture, backend, front_end, isolated).glob("*.whl")
    if front_end == "none":  # for fewer architectures
        (expected,) = build(fixture, "hatchling", front_end, isolated).glob("*.whl")
    else:
        expected = fixture_wheel(fixture)
    assert images(expected)
    assert images(wheel) == images(expected)
    assert wheel.name.endswith("-py3-none-any.whl")
    assert not [name for name in contents(wheel) if name.endswith((".cu", ".cuh"))]
    (sbom,) = (name for name in contents(wheel) if name.endswith(".dist-info/sboms/cuda-wheel.cdx.json"))
    assert contents(wheel)[sbom] == contents(expected)[sbom]
    if backend == "hatchling":
        assert wheel.read_bytes() == expected.read_bytes()


@pytest.mark.slow
@pytest.mark.one_toolchain
@pytest.mark.parametrize("front_end", ["build", "uv"])
@pytest.mark.parametrize("backend", BACKENDS)
def test_the_sdist_contains_the_sources_and_the_headers(backend: str, front_end: str, build) -> None:
    (sdist,) = build("stencil", backend, front_end, False).glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = archive.getnames()
    assert names.count("stencil_demo-1.0/src/stencil_demo/kernels/stencil.cu") == 1
    assert names.count("stencil_demo-1.0/include/radius.h") == 1
    assert not [name for name in names if ".fatbin" in name]


OUTSIDE = """\
#include <Eigen/Core>
#include <tiles/tile.h>
__global__ void k(int* x) { *x = TILE; }
"""


@pytest.mark.slow
@pytest.mark.one_toolchain
def test_headers_outside_the_project_and_missing_ones_are_the_same_with_each_back_end(tmp_path: Path) -> None:
    library = write_files(tmp_path / "library", **{"include/tiles/tile.h": "#define TILE 3\n"})
    table = '[tool.cuda-wheel]\narchitectures = "80"\nsystem-include-dirs = ["$TILES/include"]\nmissing-headers = ["Eigen/*"]\n'
    wheels = []
    for backend in BACKENDS:
        files = {"demo/__init__.py": "", "demo/k.cu": OUTSIDE, "pyproject.toml": pyproject_head(backend)}
        files["pyproject.toml"] += {
            "hatchling": "[tool.hatch.build.targets.wheel.hooks.cuda]\n",
            "setuptools": '[tool.setuptools]\npackages = ["demo"]\n',
            "scikit-build-core": SCIKIT_BUILD,
        }[backend] + table
        files["CMakeLists.txt"] = LISTS.format(
            call="cuda_wheel_add_module(TARGET k SOURCES demo/k.cu DESTINATION demo)"
        )
        project = write_files(tmp_path / backend, **files)
        environ = {"CUDA_WHEEL_CACHE_DIR": str(tmp_path / "cache" / backend), "TILES": str(library)}
        result = build_wheel(project, project / "dist", **environ)
        assert result.returncode == 0, result.stdout
        (wheel,) = (project / "dist").glob("*.whl")
        wheels.append({name: content for name, content in contents(wheel).items() if name.startswith("demo/k.")})
    assert len(wheels[0]) == 2 and wheels[0] == wheels[1] == wheels[2]
    assert b"missing header Eigen/Core" in wheels[0]["demo/k.fatbin.json"]
