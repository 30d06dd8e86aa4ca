"""The toolchain's wheels for the platforms that the tests do not run on: they exist for every Python version and contain
the files that a build looks for, at the expected paths.

The full run resolves and downloads them and records the names of the relevant files in `tests/data/toolchain_files.txt`;
other runs check that record. The wheels for aarch64 are those for servers (sbsa), which CUDA 13 also uses for Jetson; they
can compile for every GPU.
"""

from __future__ import annotations

import platform
import re
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest

from cuda_wheel.builder.toolchain.find import libdevice_beside
from cuda_wheel.builder.toolchain.packages import SearchRoot, header_folders
from cuda_wheel.builder.toolchain.toolchain import HEADERS, LIBRARIES
from cuda_wheel.runtime.parts import cuda_libraries
from cuda_wheel.runtime.parts.cuda_libraries import packaged_libraries
from tests.soak import SOAK
from tests.support.processes import run
from tests.support.projects import ROOT

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

pytestmark = pytest.mark.one_toolchain

RECORD = ROOT / "tests" / "data" / "toolchain_files.txt"

SYSTEMS = {
    "aarch64": ["manylinux_2_28_aarch64", "manylinux_2_24_aarch64", "manylinux2014_aarch64"],
    "windows": ["win_amd64"],
}
"""The platform tags that pip accepts for each system."""

RESOLVED_FOR = ["aarch64-manylinux_2_28", "x86_64-manylinux_2_28", "x86_64-pc-windows-msvc"]
"""uv's names of the platforms."""

PYTHONS = ["3.10", "3.11", "3.12", "3.13", "3.14"]

MATTERS = re.compile(
    r".*\.dll|.*\.so(\.\d+)*|.*/libdevice\.10\.bc|.*\.(pyd|so)|.*/("
    + "|".join([*map(re.escape, HEADERS.values()), "cuda_runtime.h", "fatbinary_section.h"])
    + ")"
)
BINDINGS = re.compile(r"cuda/bindings/driver\.[^/]*\.(pyd|so)")

PREFIX = r"C:\Users\Administrator\AppData\Local\Temp\pip-build-env-abcdefgh\overlay\Lib\site-packages"
"""The folder in which an isolated build installs the toolchain on Windows."""

MAX_PATH = 260
"""The maximum length of a path on Windows, with the final NUL, unless the machine is configured for longer paths."""


class Wheel(NamedTuple):
    extra: str
    version: str
    """ "lowest" or "highest" of those that the extra allows."""
    system: str
    name: str
    """The distribution with its version: "nvidia-cuda-nvrtc==13.5.37"."""
    files: tuple[str, ...]
    """The names of the relevant files, and the longest name of all files."""


def requirements() -> dict[str, list[str]]:
    """Return each extra's requirements with those of every wheel, and the distribution of libNVVM in CUDA 13."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    always = [each for each in project["project"]["dependencies"] if each.startswith("cuda-")]
    extras = {extra: [*project["project"]["optional-dependencies"][extra], *always] for extra in ("cu12", "cu13")}
    extras["cu13"] += [each for each in project["dependency-groups"]["test-cu13"] if isinstance(each, str)]
    return extras


def resolved(requirements: list[str], version: str, platform: str, python: str, *options: str) -> list[str]:
    """Return the distributions that uv selects, such as "nvidia-cuda-nvrtc==13.5.37"."""
    command = ["pip", "compile", "-", "-q", "--no-header", "--no-annotate", "--only-binary", ":all:", *options]
    command += ["--resolution", version, "--python-platform", platform, "--python-version", python]
    result = run(
        "sh", "-c", 'printf "%s\\n" "$0" | "$@"', "\n".join(requirements), sys.executable, "-m", "uv", *command
    )
    assert result.returncode == 0, result.stdout
    return [line for line in result.stdout.splitlines() if "==" in line]


def download(folder: Path) -> Iterator[Wheel]:
    """Yield every wheel of both toolchains, for each system, in the lowest and the highest allowed version."""
    for extra, required in requirements().items():
        for version, resolution in (("lowest", "lowest-direct"), ("highest", "highest")):
            names = resolved(required, resolution, "aarch64-manylinux_2_28", "3.12")
            for name in (each for each in names if each.startswith(("nvidia-", "cuda-bindings"))):
                for system, platforms in SYSTEMS.items():
                    place = folder / f"{extra}-{version}-{system}-{name}"
                    command = ["pip", "download", "-q", "--no-deps", "--only-binary=:all:", "--python-version=3.12"]
                    command += [f"--platform={platform}" for platform in platforms]
                    result = run(sys.executable, "-m", *command, "-d", place, name)
                    assert result.returncode == 0, result.stdout
                    (path,) = place.iterdir()
                    with zipfile.ZipFile(path) as archive:
                        names = archive.namelist()
                    path.unlink()
                    matters = BINDINGS if name.startswith("cuda-bindings") else MATTERS
                    recorded = {each for each in names if matters.fullmatch(each)} | {
                        max(names, key=lambda it: (len(it), it))
                    }
                    yield Wheel(extra, version, system, name, tuple(sorted(recorded)))


def written(wheels: list[Wheel]) -> str:
    return "".join("\n\t".join([" ".join(wheel[:4]), *wheel.files]) + "\n" for wheel in wheels)


def read(text: str) -> list[Wheel]:
    blocks = [block.splitlines() for block in re.split(r"\n(?!\t)", text.strip())]
    return [Wheel(*head.split(), tuple(line.strip() for line in lines)) for head, *lines in blocks]  # type: ignore[call-arg]


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> list[Wheel]:
    if SOAK:
        RECORD.write_text(written(list(download(tmp_path_factory.mktemp("wheels")))))
    return read(RECORD.read_text())


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("version", ["lowest", "highest"])
@pytest.mark.parametrize("extra", ["cu12", "cu13"])
def test_wheels_contain_the_files_that_builds_look_for(
    extra: str,
    version: str,
    system: str,
    wheels: list[Wheel],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    count: Any,
) -> None:
    selected = [wheel for wheel in wheels if wheel[:3] == (extra, version, system)]
    files = {file for wheel in selected for file in wheel.files}
    assert len(selected) >= len(HEADERS) + len(LIBRARIES) + 1
    for file in files:
        path = tmp_path / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    platform_name = "win32" if system == "windows" else "linux"
    monkeypatch.setattr(cuda_libraries, "sys", SimpleNamespace(path=[str(tmp_path)], platform=platform_name))
    monkeypatch.setattr(platform, "machine", lambda: "AMD64" if system == "windows" else "aarch64")
    found = {name: list(packaged_libraries(name)) for name in (*LIBRARIES, "nvvm")}
    assert [len(each) for each in found.values()] == [1] * 4, found
    major = int(extra[2:])
    assert {each[0] for (each,) in found.values()} == {major}
    places = {name: Path(path) for name, ((_, _, path),) in found.items()}
    builtins = {path.parent for path in tmp_path.rglob("*nvrtc-builtins*")}
    assert builtins == {places["nvrtc"].parent}
    assert libdevice_beside(str(places["nvvm"])) is not None
    for name, header in HEADERS.items():
        folders = header_folders(SearchRoot(str(tmp_path), True, "site-packages"), name, major)
        assert any(Path(folder, header).is_file() for folder in folders), (name, folders)

    bindings = {file.rpartition("/")[2].partition(".")[0] for file in files if BINDINGS.fullmatch(file)}
    assert bindings == {"driver"}
    if system == "windows":
        longest = max(files, key=len)
        assert len(PREFIX) + 1 + len(longest) < MAX_PATH, longest
    count("wheels of other systems", len(selected))


@pytest.mark.skipif(not SOAK, reason="needs the package index; runs in `nox -s soak`")
@pytest.mark.parametrize("version", ["lowest-direct", "highest"])
@pytest.mark.parametrize("platform", RESOLVED_FOR)
@pytest.mark.parametrize("python", PYTHONS)
@pytest.mark.parametrize("extra", ["cu12", "cu13"])
def test_there_are_wheels_for_every_system_and_python(
    extra: str, python: str, platform: str, version: str, count: Any
) -> None:
    names = {name.partition("==")[0] for name in resolved(requirements()[extra], version, platform, python)}
    assert {"cuda-bindings", "cuda-pathfinder"} < names
    count("resolutions for a system and a Python", 1)
