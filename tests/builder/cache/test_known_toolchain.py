"""A toolchain is remembered across installation folders, and forgotten when it changes."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path

import pytest

from cuda_wheel.builder.cache import known_toolchain
from cuda_wheel.builder.cache.known_toolchain import recall_toolchain, remember_toolchain, toolchain_environment
from cuda_wheel.builder.toolchain.toolchain import Headers, Toolchain
from cuda_wheel.runtime.parts.cuda_libraries import build_id
from cuda_wheel.runtime.parts.user_cache import Cache


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


# --- the groups of headers -------------------------------------------------------------------------


@pytest.fixture
def toolkit(tmp_path: Path) -> Path:
    """Return the folder of headers of an installed toolkit, outside of packages."""
    folder = tmp_path / "opt/include"
    folder.mkdir(parents=True)
    (folder / "version.json").write_text("release 12.9")
    return folder


def with_headers(found: Toolchain, toolkit: Path) -> Toolchain:
    """Return the toolchain with one group of headers in a package, and one in the toolkit."""
    (folder,) = found.include_dirs
    version = Path(folder, "version")
    version.write_text("release 2.8")
    groups = (
        Headers("cccl", "2.8.2", folder, "sys.path", str(version)),
        Headers("cudart", "12.9", str(toolkit), "CUDA_HOME", str(toolkit / "version.json")),
    )
    return replace(found, headers=groups)


@pytest.mark.parametrize(("name", "way"), [("site-packages", "site-packages"), ("written", "PYTHONPATH")])
def test_headers_are_recalled_where_they_are_now(
    name: str, way: str, site: Path, cache: Cache, toolkit: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = with_headers(packages(site), toolkit)
    environment = toolchain_environment()
    remember_toolchain(cache, environment, found)
    assert recall_toolchain(cache, environment) == found
    elsewhere = site.with_name(name)
    site.rename(elsewhere)
    monkeypatch.setattr(sys, "path", [str(elsewhere)])
    monkeypatch.setenv("PYTHONPATH", str(site.with_name("written")))
    recalled = recall_toolchain(cache, environment)
    moved = str(elsewhere / "nvidia/cuda_runtime/include")
    assert recalled is not None and recalled.headers == (
        Headers("cccl", "2.8.2", moved, way, os.path.join(moved, "version")),
        found.headers[1],
    )


@pytest.mark.parametrize("group", [0, 1])
@pytest.mark.parametrize("change", [lambda path: path.write_text("a later release"), Path.unlink])
def test_headers_of_another_release_are_not_recalled(
    group: int, change: Callable[[Path], object], site: Path, cache: Cache, toolkit: Path
) -> None:
    found = with_headers(packages(site), toolkit)
    environment = toolchain_environment()
    remember_toolchain(cache, environment, found)
    change(Path(found.headers[group].source))
    assert recall_toolchain(cache, environment) is None


@pytest.mark.filterwarnings("ignore:an entry of the cache")
def test_a_record_that_lacks_a_group_of_headers_counts_as_absent(site: Path, cache: Cache, toolkit: Path) -> None:
    environment = toolchain_environment()
    remember_toolchain(cache, environment, with_headers(packages(site), toolkit))
    key = known_toolchain._key(environment)
    record = json.loads(cache.get(key) or b"")
    del record["rest"]["headers"][1]
    cache.put(key, json.dumps(record).encode())
    assert recall_toolchain(cache, environment) is None


def test_a_package_folder_that_is_gone_is_no_damage_of_the_cache(
    site: Path, cache: Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A warning would be an error here."""
    found = packages(site)
    monkeypatch.setattr(sys, "path", [str(site.with_name("first")), str(site)])
    site.with_name("first").joinpath("cuda").mkdir(parents=True)
    remember_toolchain(cache, "one environment", found)
    assert recall_toolchain(cache, "one environment") == found
    monkeypatch.setattr(sys, "path", [str(site)])
    assert recall_toolchain(cache, "one environment") is None
