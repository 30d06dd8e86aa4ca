"""Libraries that compile are identified by their exact build, wherever they are installed."""

from __future__ import annotations

import os
import re
import shutil
import sys
from pathlib import Path

import pytest

from cuda_wheel.builder.toolchain.find import library_build
from cuda_wheel.builder.toolchain.toolchain import Toolchain
from cuda_wheel.runtime.parts import cuda_libraries as library_builds
from cuda_wheel.runtime.parts.cuda_libraries import build_id, build_of, driver_build, nvjitlink_build
from cuda_wheel.runtime.parts.linking.cuda_compiler import nvrtc_build

linux = pytest.mark.skipif(sys.platform == "win32", reason="libraries of Windows have no build ID")


@linux
def test_each_library_of_the_toolchain_has_its_own_build_id(toolchain: Toolchain) -> None:
    found = []
    for path in toolchain.libraries:
        with open(path, "rb") as file:
            found.append(build_id(file))
    assert len(set(found)) == 3
    assert all(re.fullmatch("[0-9a-f]{40}", each or "") for each in found)
    assert [each in build for each, build in zip(found, toolchain.builds, strict=True)] == [True] * 3


@linux
def test_a_copied_library_is_the_same_build_and_an_altered_one_is_not(toolchain: Toolchain, tmp_path: Path) -> None:
    library = toolchain.libraries[2]  # nvFatbin is small
    shutil.copy(library, tmp_path / "copy.so")
    assert build_of(str(tmp_path / "copy.so")) == build_of(library)
    assert library_build(str(tmp_path / "copy.so")) == library_build(library)
    with open(library, "rb") as file:
        mark = bytes.fromhex(build_id(file) or "")
    content = Path(library).read_bytes()
    (tmp_path / "other.so").write_bytes(content.replace(mark, bytes(reversed(mark))))
    (tmp_path / "longer.so").write_bytes(content + b"\0")
    assert len({build_of(path) for path in (library, *map(str, tmp_path.glob("*.so")))}) == 3


def test_a_library_without_a_build_id_is_known_by_its_content_or_its_time(tmp_path: Path) -> None:
    first, second = tmp_path / "one.dll", tmp_path / "two.dll"
    for path in (first, second):
        path.write_bytes(b"MZ a library")
        os.utime(path, (1e9, 1e9))
    assert library_build(str(first)) == library_build(str(second))
    before = build_of(str(first))
    assert before != build_of(str(second))
    os.utime(first, (2e9, 2e9))
    assert build_of(str(first)) != before
    second.write_bytes(b"MZ a libraRy")
    assert library_build(str(first)) != library_build(str(second))


@pytest.mark.parametrize("size", [0, 5, 63, 64, 100, 2000])
def test_a_damaged_library_has_no_build_id(size: int, toolchain: Toolchain, tmp_path: Path) -> None:
    with open(toolchain.libraries[2], "rb") as file:
        (tmp_path / "cut.so").write_bytes(file.read(size)[: min(size, 300)])
    with open(tmp_path / "cut.so", "rb") as file:
        assert build_id(file) is None


def test_nvrtcs_builtins_belong_to_it(toolchain: Toolchain, tmp_path: Path) -> None:
    shutil.copy(toolchain.libraries[2], tmp_path / "libnvrtc.so")
    before = library_build(str(tmp_path / "libnvrtc.so"))
    (tmp_path / "libnvrtc-builtins.so").write_bytes(b"1")
    assert library_build(str(tmp_path / "libnvrtc.so")) != before


@linux
def test_the_loaded_compilers_are_those_of_the_toolchain(toolchain: Toolchain) -> None:
    assert nvjitlink_build() == build_of(toolchain.libraries[1])
    assert (nvrtc_build() or "").startswith(build_of(toolchain.libraries[0]))


def test_the_driver_is_known_by_the_release_in_its_librarys_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(library_builds, "_driver_libraries", list)
    assert driver_build() is None
    builds = []
    for release in ("580.65.06", "580.95.05"):
        (tmp_path / f"libcuda.so.{release}").write_bytes(b"MZ")
        (tmp_path / "libcuda.so.1").unlink(missing_ok=True)
        (tmp_path / "libcuda.so.1").symlink_to(f"libcuda.so.{release}")
        monkeypatch.setattr(library_builds, "_driver_libraries", lambda: [str(tmp_path / "libcuda.so.1")])
        builds.append(driver_build() or "")
    assert builds[0] != builds[1] and builds[0].startswith("libcuda.so.580.65.06 ")
