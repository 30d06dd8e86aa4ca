"""An sdist contains everything in the project that a wheel is built from."""

from __future__ import annotations

import subprocess
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.processes import build_wheel, run
from tests.support.projects import pyproject_head

pytestmark = pytest.mark.one_toolchain

TABLE = '[tool.cuda-wheel]\narchitectures = "80-real"\ninclude-dirs = ["generated"]\n'
HEADS = {
    "setuptools": pyproject_head("setuptools") + '[tool.setuptools]\npackages = ["demo"]\n',
    "hatchling": pyproject_head("hatchling")
    + '[tool.hatch.build.targets.wheel]\npackages = ["demo"]\n[tool.hatch.build.hooks.cuda]\n',
}
BACK_ENDS = {"setuptools": "setuptools.build_meta", "hatchling": "hatchling.build"}
Make = Callable[..., Path]


@pytest.fixture(params=BACK_ENDS)
def backend(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def make(tmp_path: Path, backend: str) -> Make:
    """Return a function that creates a project with one kernel, whose source begins with `includes`."""

    def make(includes: str, **files: str) -> Path:
        root = tmp_path / "project"
        kernel = f'{includes}\nextern "C" __global__ void k(int* x) {{ *x = 1; }}\n'
        defaults = {
            "pyproject.toml": HEADS[backend] + TABLE,
            "demo/__init__.py": "",
            "demo/k.cu": kernel,
            "generated/g.h": "",
        }
        for name, text in (defaults | files).items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)
        return root

    return make


def sdist(project: Path, backend: str) -> subprocess.CompletedProcess[str]:
    program = f"from {BACK_ENDS[backend]} import build_sdist; build_sdist('dist')"
    return run(sys.executable, "-c", program, cwd=project)


def test_an_sdist_contains_every_header(make: Make, backend: str) -> None:
    project = make(
        '#include "detail/a.h"\n#include <g.h>\n#if 0\n#include "b.inl"\n#endif',
        **{"demo/detail/a.h": '#include "[c] #1.hpp"\n', "demo/detail/[c] #1.hpp": "", "demo/b.inl": "", "demo/unused.txt": ""},
        **{".gitignore": "generated\n*.hpp\n"},
    )  # fmt: skip
    result = sdist(project, backend)
    assert result.returncode == 0, result.stdout
    with tarfile.open(project / "dist/demo-1.tar.gz") as archive:
        names = archive.getnames()
    for name in ("demo/k.cu", "demo/detail/a.h", "demo/detail/[c] #1.hpp", "demo/b.inl", "generated/g.h"):
        assert names.count(f"demo-1/{name}") == 1


@pytest.mark.slow
def test_a_header_outside_the_project_is_an_error(make: Make, backend: str, tmp_path: Path) -> None:
    project = make('#include "../../common/far.h"', **{"../common/far.h": ""})
    for result in (sdist(project, backend), build_wheel(project, tmp_path / "dist")):
        assert result.returncode != 0
        assert "Traceback" not in result.stdout.partition("cuda-wheel: ")[2]
        assert f"includes {tmp_path}/common/far.h, which lies outside the project" in result.stdout
    assert not list(tmp_path.rglob("*.whl"))


@pytest.mark.slow
def test_a_header_for_host_code_may_be_outside_the_project(make: Make, backend: str, tmp_path: Path) -> None:
    project = make('#ifndef __CUDACC_RTC__\n#include "../../common/host.h"\n#endif', **{"../common/host.h": ""})
    result = sdist(project, backend)
    assert result.returncode == 0, result.stdout
    assert f"demo/k.cu:2 may include {tmp_path}/common/host.h, which lies outside the project" in result.stdout
    assert build_wheel(project, tmp_path / "dist").returncode == 0


@pytest.mark.slow
def test_a_toolkit_header_included_by_its_path_is_a_warning(make: Make, backend: str, tmp_path: Path) -> None:
    project = make(f'#include "{tmp_path}/cuda/include/cuda_fp16.h"')
    (tmp_path / "cuda/include").mkdir(parents=True)
    for name in ("cuda_fp16.h", "cuda_runtime_api.h"):
        (tmp_path / "cuda/include" / name).write_text("")
    result = sdist(project, backend)
    assert result.returncode == 0, result.stdout
    assert "a header of the CUDA toolkit, by its path on this machine. Include it by its name alone" in result.stdout
    assert build_wheel(project, tmp_path / "dist").returncode == 0
