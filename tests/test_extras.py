"""The extras `cu12` and `cu13` beside PyTorch: what a resolver chooses. `nox -s beside_torch` installs and builds."""

from __future__ import annotations

import re
import sys

import pytest

from tests.support.processes import run
from tests.support.projects import ROOT

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

pytestmark = [pytest.mark.one_toolchain, pytest.mark.slow]


def resolved(*requirements: str) -> dict[str, str]:
    """Return the versions that uv chooses for Linux, by name."""
    command = [sys.executable, "-m", "uv", "pip", "compile", "-", "-q", "--no-header", "--no-annotate"]
    command += ["--python-platform", "x86_64-manylinux_2_28", "--python-version", "3.12"]
    result = run("sh", "-c", 'printf "%s\\n" "$0" | "$@"', "\n".join(requirements), *command)
    assert result.returncode == 0, result.stdout
    return dict(line.split("==") for line in result.stdout.splitlines() if "==" in line)


@pytest.fixture(scope="module")
def torch_releases() -> list[tuple[str, str]]:
    """Return a requirement of each of PyTorch's three newest minor releases, and the release that it chooses alone."""
    found = []
    requirement = "torch"
    for _ in range(3):
        release = resolved(requirement)["torch"]
        found.append((requirement, release))
        requirement = "torch<" + ".".join(release.split(".")[:2])
    return found


PARTS = {
    "cu12": [f"nvidia-{name}-cu12" for name in ("cuda-nvrtc", "nvfatbin", "cuda-runtime", "cuda-cccl", "cuda-nvcc")],
    "cu13": [f"nvidia-{name}" for name in ("cuda-nvrtc", "nvfatbin", "cuda-runtime", "cuda-cccl", "cuda-crt")],
}
LINKERS = {"cu12": "nvidia-nvjitlink-cu12", "cu13": "nvidia-nvjitlink"}


@pytest.mark.parametrize("number", [0, 1, 2])
@pytest.mark.parametrize("extra", ["cu12", "cu13"])
def test_an_extra_beside_pytorch_is_of_one_release(
    extra: str, number: int, torch_releases: list[tuple[str, str]]
) -> None:
    """PyTorch stays the release that it is without the extra, and pins the parts of CUDA 13 to its own release."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    torch, release = torch_releases[number]
    versions = resolved(*project["dependencies"], *project["optional-dependencies"][extra], torch)
    assert versions["torch"] == release
    releases = {re.match(r"\d+\.\d+", versions[name])[0] for name in PARTS[extra]}  # type: ignore[index]
    # The package of CCCL may begin with the major version of CUDA, and that of CCCL follows.
    assert len({each for each in releases if each != "13.3"}) == 1, versions
    assert tuple(map(int, versions[LINKERS[extra]].split(".")[:2])) >= tuple(map(int, min(releases).split(".")))
