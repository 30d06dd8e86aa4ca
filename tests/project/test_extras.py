"""The extras `cu12` and `cu13` beside PyTorch: what a resolver chooses. `nox -s beside_torch` installs and builds."""

from __future__ import annotations

import re
import sys
import zipfile
from collections.abc import Iterator

import pytest

import cuda_wheel
from tests.support.environments import DISTRIBUTIONS
from tests.support.processes import run

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

pytestmark = [pytest.mark.one_toolchain, pytest.mark.slow]


def resolved_by_uv(*requirements: str, platform: str = "x86_64-manylinux_2_28") -> dict[str, str]:
    """Return the versions that uv chooses for a platform, of what has a wheel for it, by name."""
    command = [sys.executable, "-m", "uv", "pip", "compile", "-", "-q", "--no-header", "--no-annotate"]
    command += ["--python-platform", platform, "--python-version", "3.12", "--only-binary", ":all:"]
    result = run("sh", "-c", 'printf "%s\\n" "$0" | "$@"', "\n".join(requirements), *command)
    assert result.returncode == 0, result.stdout
    return dict(line.split("==") for line in result.stdout.splitlines() if "==" in line)


@pytest.fixture(scope="module")
def extras(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Let resolvers find cuda-wheel and cuda-wheel-builder 99, wheels without files that require what the files
    pyproject.toml declare."""
    folder = tmp_path_factory.mktemp("wheels")
    for name, place in DISTRIBUTIONS.items():
        project = tomllib.loads((place / "pyproject.toml").read_text())["project"]
        lines = ["Metadata-Version: 2.1", f"Name: {project['name']}", "Version: 99"]
        lines += [f"Requires-Dist: {each}" for each in project["dependencies"]]
        for extra, required in project.get("optional-dependencies", {}).items():
            lines += [f"Provides-Extra: {extra}", *(f"Requires-Dist: {each}; extra == '{extra}'" for each in required)]
        with zipfile.ZipFile(folder / f"{name}-99-py3-none-any.whl", "w") as archive:
            metadata = "\n".join(lines).replace(f"=={cuda_wheel.__version__}", "==99")
            archive.writestr(f"{name}-99.dist-info/METADATA", f"{metadata}\n")
            archive.writestr(f"{name}-99.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
            archive.writestr(f"{name}-99.dist-info/RECORD", "")
    with pytest.MonkeyPatch.context() as patch:
        for name in ("PIP_FIND_LINKS", "UV_FIND_LINKS"):
            patch.setenv(name, str(folder))
        yield


@pytest.fixture(scope="module")
def torch_releases() -> list[tuple[str, str]]:
    """Return a requirement of each of PyTorch's three newest minor releases, and the release that it chooses alone."""
    found = []
    requirement = "torch"
    for _ in range(3):
        release = resolved_by_uv(requirement)["torch"]
        found.append((requirement, release))
        requirement = "torch<" + ".".join(release.split(".")[:2])
    return found


PARTS = {
    "cu12": [f"nvidia-{name}-cu12" for name in ("cuda-nvrtc", "nvfatbin", "cuda-runtime", "cuda-cccl", "cuda-nvcc")],
    "cu13": [f"nvidia-{name}" for name in ("cuda-nvrtc", "nvfatbin", "cuda-runtime", "cuda-cccl", "cuda-crt")],
}
LINKERS = {"cu12": "nvidia-nvjitlink-cu12", "cu13": "nvidia-nvjitlink"}


@pytest.mark.thorough
@pytest.mark.parametrize("extra", ["cu12", "cu13"])
@pytest.mark.parametrize("number", range(3))
def test_an_extra_beside_pytorch_is_of_one_release(
    extra: str, number: int, torch_releases: list[tuple[str, str]], extras: None
) -> None:
    """PyTorch stays the release that it is without the extra, and pins the parts of CUDA 13 to its own release. pip takes
    minutes; `nox -s beside_torch`, which CI runs too, installs each with pip and with uv."""
    torch, release = torch_releases[number]
    versions = resolved_by_uv("hatchling", f"cuda-wheel[{extra}]==99", torch)
    assert versions["torch"] == release
    parts = {name: re.match(r"\d+\.\d+", versions[name])[0] for name in PARTS[extra]}  # type: ignore[index]
    assert len(set(parts.values())) == 1, parts
    linker = tuple(map(int, versions[LINKERS[extra]].split(".")[:2]))
    assert linker >= tuple(map(int, parts[PARTS[extra][0]].split(".")))


@pytest.mark.parametrize("extra", ["cu12", "cu13"])
def test_an_extra_alone_is_of_its_major_version(extra: str, extras: None) -> None:
    versions = resolved_by_uv(f"cuda-wheel[{extra}]==99")
    assert versions[PARTS[extra][0]].startswith(extra[2:] + ".")
    assert {name for name in versions if name.startswith("nvidia-")} == {*PARTS[extra], LINKERS[extra]}
    assert versions["cuda-wheel-builder"] == "99"


def test_the_tools_are_the_build_side_alone(extras: None) -> None:
    loader = resolved_by_uv("cuda-wheel==99").keys()
    assert "cuda-bindings" in loader and "cuda-wheel-builder" not in loader
    assert resolved_by_uv("cuda-wheel[tools]==99").keys() == {*loader, "cuda-wheel-builder"}


@pytest.mark.parametrize("extra", ["cu12", "cu13"])
@pytest.mark.parametrize("platform", ["x86_64-pc-windows-msvc", "aarch64-manylinux_2_28"])
def test_an_extra_has_wheels_for_other_platforms(platform: str, extra: str, extras: None) -> None:
    versions = resolved_by_uv(f"cuda-wheel[{extra}]==99", platform=platform)
    assert {*PARTS[extra], LINKERS[extra], "cuda-bindings"} <= versions.keys()
