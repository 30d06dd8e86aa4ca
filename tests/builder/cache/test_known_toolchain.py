"""A toolchain is remembered across installation folders, and forgotten when it changes."""

from __future__ import annotations

import os
import shutil
import sys
from dataclasses import fields
from pathlib import Path

import pytest

from cuda_wheel.builder.cache import known_toolchain
from cuda_wheel.builder.cache.known_toolchain import recall_toolchain, remember_toolchain, toolchain_environment
from cuda_wheel.builder.toolchain.records import Toolchain
from cuda_wheel.runtime.jit.library_builds import build_id
from cuda_wheel.runtime.user_cache.cache import Cache


def packages(root: Path, release: str = "12.9.86") -> Toolchain:
    """Create a folder of packages with a toolchain, and return the toolchain."""
    library = root / "nvidia/cuda_nvrtc/lib/libnvrtc.so.12"
    headers = root / "nvidia/cuda_runtime/include"
    for folder in (library.parent, headers, root / f"nvidia_cuda_nvrtc_cu12-{release}.dist-info", root / "cuda"):
        folder.mkdir(parents=True)
    library.write_text(release)
    return Toolchain(release, "12.9", "12.9", (75, 80), (str(headers),), (str(library),) * 3, builds=(release,) * 3)


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the only folder on `sys.path`."""
    folder = tmp_path / "site"
    monkeypatch.setattr(sys, "path", [str(folder)])
    return folder


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(str(tmp_path / "cache"))


def test_a_toolchain_is_recalled_in_another_folder(site: Path, cache: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    found = packages(site)
    environment = toolchain_environment()
    assert recall_toolchain(cache, environment) is None
    remember_toolchain(cache, environment, found)
    assert recall_toolchain(cache, environment) == found
    elsewhere = site.with_name("elsewhere")
    shutil.copytree(site, elsewhere)
    monkeypatch.setattr(sys, "path", ["/nowhere", str(elsewhere)])
    assert toolchain_environment() == environment
    recalled = recall_toolchain(cache, environment)
    assert recalled is not None and recalled.libraries[0].startswith(str(elsewhere))
    assert recalled.builds == ("12.9.86",) * 3
    assert Path(recalled.include_dirs[0]).is_dir() and recalled.supported == (75, 80)


def test_other_packages_are_another_environment(site: Path, cache: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    found = packages(site)
    remember_toolchain(cache, toolchain_environment(), found)
    (site / "nvidia_nvjitlink_cu12-12.9.86.dist-info").mkdir()
    assert recall_toolchain(cache, toolchain_environment()) is None
    (site / "nvidia_nvjitlink_cu12-12.9.86.dist-info").rmdir()
    assert recall_toolchain(cache, toolchain_environment()) is not None
    monkeypatch.setenv("CUDA_HOME", "/opt/cuda")
    assert recall_toolchain(cache, toolchain_environment()) is None


@pytest.mark.parametrize("change", ["library", "size", "headers"])
def test_a_changed_or_removed_toolchain_is_not_recalled(change: str, site: Path, cache: Cache) -> None:
    found = packages(site)
    environment = toolchain_environment()
    remember_toolchain(cache, environment, found)
    library = Path(found.libraries[0])
    if change == "library":
        library.unlink()
    elif change == "size":
        library.write_text("a longer text")
    else:
        Path(found.include_dirs[0]).rmdir()
    assert recall_toolchain(cache, environment) is None


def test_another_build_of_a_packaged_library_is_another_toolchain(
    site: Path, cache: Cache, toolchain: Toolchain
) -> None:
    """Both have one size, and the package's version does not tell them apart."""
    found = packages(site)
    library = Path(found.libraries[0])
    library.write_bytes(Path(toolchain.libraries[2]).read_bytes())
    environment = toolchain_environment()
    remember_toolchain(cache, environment, found)
    assert recall_toolchain(cache, environment) == found
    with library.open("rb") as file:
        mark = bytes.fromhex(build_id(file) or "")
    library.write_bytes(library.read_bytes().replace(mark, bytes(reversed(mark))))
    assert recall_toolchain(cache, environment) is None


def test_a_library_outside_of_packages_is_identified_by_its_time(site: Path, cache: Cache, tmp_path: Path) -> None:
    packages(site)
    system = tmp_path / "opt/libnvrtc.so"
    system.parent.mkdir()
    system.write_text("x")
    found = Toolchain("13.0.88", "13.0", "13.0", (75,), (str(system.parent),), (str(system),) * 3)
    environment = toolchain_environment()
    remember_toolchain(cache, environment, found)
    assert recall_toolchain(cache, environment) == found
    system.touch()
    assert recall_toolchain(cache, environment) is None


def test_packages_without_a_compiler_are_no_part_of_the_environment(site: Path) -> None:
    packages(site)
    environment = toolchain_environment()
    (site / "numpy-2.4.0.dist-info").mkdir()
    (site / "numpy").mkdir()
    assert toolchain_environment() == environment


@pytest.mark.parametrize("name", ["CUDA_HOME", "CUDA_PATH", "CONDA_PREFIX", "LD_LIBRARY_PATH"])
def test_each_variable_that_names_a_place_is_part_of_the_environment(
    name: str, site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packages(site)
    monkeypatch.delenv(name, raising=False)
    environment = toolchain_environment()
    monkeypatch.setenv(name, "/opt/cuda")
    assert toolchain_environment() != environment


def test_an_entry_of_another_layout_or_record_is_not_read(
    site: Path, cache: Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = packages(site)
    environment = toolchain_environment()
    remember_toolchain(cache, environment, found)
    with monkeypatch.context() as patch:
        patch.setattr(known_toolchain, "FORMAT", "another")
        assert recall_toolchain(cache, environment) is None
    with monkeypatch.context() as patch:
        patch.setattr(known_toolchain, "fields", lambda record: fields(record)[1:])
        assert recall_toolchain(cache, environment) is None
    assert recall_toolchain(cache, environment) == found


def test_a_library_in_a_package_is_not_identified_by_its_time(site: Path, cache: Cache) -> None:
    """An isolated build installs it anew each time."""
    found = packages(site)
    environment = toolchain_environment()
    remember_toolchain(cache, environment, found)
    os.utime(found.libraries[0], ns=(1, 1))
    assert recall_toolchain(cache, environment) == found
