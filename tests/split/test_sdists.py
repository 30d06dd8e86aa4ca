"""`cuda-wheel split --sdist`: real sdists, real installers, and the metadata that they take from an sdist."""

from __future__ import annotations

import gzip
import io
import re
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from cuda_wheel.inspect.archive import metadata_file
from tests.split.conftest import Environment, write_project
from tests.support.editable import environment_on_top
from tests.support.processes import build_wheel, run
from tests.support.projects import BACKENDS, ROOT
from tests.support.wheels import contents

pytestmark = pytest.mark.one_toolchain

Parts = Callable[..., Path]
Command = Callable[..., subprocess.CompletedProcess[str]]

DYNAMIC = ["Dynamic: Provides-Extra", "Dynamic: Requires-Dist"]
PKG_INFO = "Metadata-Version: 2.4\nName: Demo\nVersion: 1\nRequires-Dist: numpy; extra == 'a'\n\nDynamic: not a field\n"
PKG_INFO += "x" * (510 - len(PKG_INFO)) + "\n"  # with more fields, it takes another block of the archive
EMPTY = {"demo-1/pyproject.toml": "", "demo-1/demo.egg-info/PKG-INFO": PKG_INFO}


def write_sdist(path: Path, text: str = PKG_INFO, **others: str) -> Path:
    """Write an sdist with this PKG-INFO and other files."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with gzip.GzipFile(path, "wb", mtime=1234) as stream, tarfile.open(fileobj=stream, mode="w") as archive:
        for name, content in ({**EMPTY, "demo-1/PKG-INFO": text} | others).items():
            info = tarfile.TarInfo(name)
            info.size, info.mtime, info.mode = len(content), 5678, 0o755
            info.pax_headers = {"size": str(len(content))}  # as uv_build does
            archive.addfile(info, io.BytesIO(content.encode()))
    return path


def members(sdist: Path) -> dict[str, tuple[object, ...]]:
    with tarfile.open(sdist, "r:gz") as archive:
        return {
            each.name: (
                each.type,
                each.mode,
                each.mtime,
                stream.read() if (stream := archive.extractfile(each)) else b"",
            )
            for each in archive
        }


def pkg_info(sdist: Path) -> str:
    return next(entry[-1] for name, entry in members(sdist).items() if re.fullmatch("[^/]+/PKG-INFO", name)).decode()  # type: ignore[attr-defined]


def split(cuda_wheel: Command, whole: Path, output: Path, *options: object) -> str:
    result = cuda_wheel("split", whole, "-o", output, *options)
    assert result.returncode == 0, result.stdout
    return result.stdout


def test_both_fields_become_dynamic_and_nothing_else_changes(
    whole_wheel: Parts, tmp_path: Path, cuda_wheel: Command
) -> None:
    sdist, output = write_sdist(tmp_path / "demo-1.tar.gz"), tmp_path / "output"
    assert "demo-1.tar.gz: " in split(cuda_wheel, whole_wheel(), output, "--sdist", sdist)
    head, _, body = PKG_INFO.partition("\n\n")
    before, after = members(sdist), members(output / sdist.name)
    assert pkg_info(output / sdist.name) == "\n".join([head, *DYNAMIC, "", body])
    assert list(after) == list(before)
    assert {name for name in before if before[name] != after[name]} == {"demo-1/PKG-INFO"}
    assert before["demo-1/PKG-INFO"][:-1] == after["demo-1/PKG-INFO"][:-1]
    with gzip.open(output / sdist.name) as stream:
        assert stream.read(1) and stream.mtime == 1234  # type: ignore[attr-defined]
    # The same sdist gives the same bytes; one that needs nothing more is as it was.
    copied = tmp_path / "elsewhere" / sdist.name
    copied.parent.mkdir()
    shutil.copy(sdist, copied)
    split(cuda_wheel, whole_wheel(), tmp_path / "second", "--sdist", copied)
    split(cuda_wheel, whole_wheel(), tmp_path / "third", "--sdist", output / sdist.name)
    assert len({(tmp_path / folder / sdist.name).read_bytes() for folder in ("output", "second", "third")}) == 1


@pytest.mark.parametrize(
    ("text", "added"),
    [
        ("Metadata-Version: 2.1\nName: demo\nVersion: 1\n", []),  # promises nothing
        ("Metadata-Version: 2.10\nName: demo\nVersion: 1\n", DYNAMIC),
        ("Metadata-Version: 2.2\nName: demo\nVersion: 1\nDynamic: requires-dist\n", DYNAMIC[:1]),
        ("Metadata-Version: 2.2\nName: demo\nVersion: 1\nDynamic: version\n", DYNAMIC),
    ],
)
def test_only_missing_fields_are_added(
    whole_wheel: Parts, tmp_path: Path, cuda_wheel: Command, text: str, added: list[str]
) -> None:
    sdist = write_sdist(tmp_path / "demo-1.tar.gz", text)
    split(cuda_wheel, whole_wheel(), tmp_path / "output", "--sdist", sdist)
    assert pkg_info(tmp_path / "output" / sdist.name).splitlines() == [*text.splitlines(), *added]


def test_a_static_sdist_beside_the_base_gives_a_note(whole_wheel: Parts, tmp_path: Path, cuda_wheel: Command) -> None:
    sdist = write_sdist(tmp_path / "dist" / "demo-1.tar.gz")
    output = split(cuda_wheel, whole_wheel(), sdist.parent)
    assert f"note: the metadata of {sdist} say that no wheel has the base's extras." in output
    assert f"--sdist {sdist}" in output
    assert "note: the metadata" not in split(cuda_wheel, whole_wheel(), sdist.parent, "--sdist", sdist)
    assert DYNAMIC[0] in pkg_info(sdist)
    assert "note: the metadata" not in split(cuda_wheel, whole_wheel(), sdist.parent)


def test_what_is_not_the_sdist_of_the_wheel_is_refused(whole_wheel: Parts, tmp_path: Path, cuda_wheel: Command) -> None:
    good = write_sdist(tmp_path / "good.tar.gz").read_bytes()
    named = {
        "other": (
            PKG_INFO.replace("Demo", "other"),
            {},
            "is the sdist of other 1, and demo-1-py3-none-any.whl is of demo 1",
        ),
        "later": (PKG_INFO.replace("Version: 1", "Version: 2"), {}, "is the sdist of demo 2"),
        "fields": (PKG_INFO.replace("2.4", "new"), {}, "lacks Metadata-Version, Name or Version"),
        "two": (PKG_INFO, {"demo-2/PKG-INFO": PKG_INFO}, "it contains 2 files PKG-INFO in its top folder"),
    }
    cases = {write_sdist(tmp_path / f"{name}.tar.gz", text, **more): said for name, (text, more, said) in named.items()}
    for name, content in {"text": b"text", "cut": good[: len(good) // 2], "empty": b""}.items():
        (tmp_path / f"{name}.tar.gz").write_bytes(content)
        cases[tmp_path / f"{name}.tar.gz"] = "is not a valid sdist, which is a .tar.gz file"
    cases[tmp_path / "absent.tar.gz"] = "No such file"
    cases[tmp_path] = "is not a valid sdist"
    for path, said in cases.items():
        result = cuda_wheel("split", whole_wheel(), "-o", tmp_path / "output", "--sdist", path)
        assert result.returncode == 1 and "Traceback" not in result.stdout, result.stdout
        assert said in result.stdout and str(path) in result.stdout
        assert not (tmp_path / "output").exists()
    result = cuda_wheel("split", whole_wheel(), "-o", tmp_path / "output", "--sdist", path, "--draft-variants")
    assert result.returncode == 2 and "--sdist is not needed with --draft-variants" in result.stdout


def build_sdist(project: Path) -> Path:
    """Build a project's sdist by a call of its back end."""
    (back_end,) = re.findall(r'build-backend = "(.+)"', (project / "pyproject.toml").read_text())
    result = run(sys.executable, "-c", f"import {back_end} as back_end; back_end.build_sdist('dist')", cwd=project)
    assert result.returncode == 0, result.stdout
    (sdist,) = (project / "dist").glob("*.tar.gz")
    return sdist


@pytest.mark.slow
@pytest.mark.parametrize("backend", BACKENDS)
def test_a_real_sdist_builds_the_same_wheel_as_before(
    whole_wheel: Parts, tmp_path: Path, cuda_wheel: Command, extra: str, backend: str
) -> None:
    """Its PKG-INFO was static, and had no extras, as the whole wheel has none."""
    sdist = build_sdist(write_project(tmp_path / "project", extra, backend))
    assert "Dynamic" not in pkg_info(sdist) and "Provides-Extra" not in pkg_info(sdist)
    assert not re.search(r"^Metadata-Version: 2\.[01]$", pkg_info(sdist), re.MULTILINE)
    split(cuda_wheel, whole_wheel(backend), tmp_path / "output", "--sdist", sdist)
    wheels = []
    for number, each in enumerate((sdist, tmp_path / "output" / sdist.name)):
        with tarfile.open(each) as archive:
            archive.extractall(tmp_path / str(number), filter="data")
        result = build_wheel(tmp_path / str(number) / "demo-1", tmp_path / f"wheel {number}")
        assert result.returncode == 0, result.stdout
        wheels += (tmp_path / f"wheel {number}").glob("*.whl")
    assert all(b"Provides-Extra" not in (metadata_file(wheel, "METADATA") or b"") for wheel in wheels)
    assert contents(wheels[0]) == contents(wheels[1])  # some back ends write the time into the archive


@pytest.mark.slow
@pytest.mark.parametrize("installer", ["uv", "pip"])
def test_an_extra_never_leaves_an_install_from_the_sdist_without_machine_code(
    whole_wheel: Parts, tmp_path: Path, cuda_wheel: Command, extra: str, installer: str
) -> None:
    """uv takes the base's metadata although it builds the sdist, and installs a companion that the whole wheel ignores;
    pip takes those of the wheel that it builds, and warns."""
    sdist = build_sdist(write_project(tmp_path / "project", extra))
    index = tmp_path / "index"
    split(cuda_wheel, whole_wheel(), index, "--sdist", sdist)
    environment = Environment.__new__(Environment)
    environment.python = environment_on_top(tmp_path / "environment")
    environment.site = next((tmp_path / "environment").rglob("site-packages"))
    options = ("--no-index", "-f", index, "--no-build-isolation", "--no-binary", "demo", "demo[sm90]")
    if installer == "uv":
        command = (sys.executable, "-m", "uv", "pip", "install", "--no-cache", "-p", environment.python, *options)
    else:
        command = (sys.executable, "-m", "pip", "--python", environment.python, "install", *options)
    result = run(*command, PYTHONPATH=str(ROOT))
    assert result.returncode == 0, result.stdout
    installed = {path.name.partition("-")[0] for path in environment.site.glob("*.dist-info")}
    assert "demo" in installed
    assert ("demo_cuda_sm90" in installed) != ("does not provide the extra 'sm90'" in result.stdout)
    for capability, target in (("9.0", "sm_90"), ("8.6", "sm_86")):
        lines = environment.load(capability=capability)
        assert [line.split()[:2] for line in lines] == [[target, "native"]] * 2  # and no warning
