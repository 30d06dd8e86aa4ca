"""The toolchain that is remembered: the same one, wherever it is installed, and none that has changed."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from cuda_wheel.builder.cache import known_toolchain
from cuda_wheel.builder.toolchain.records import Toolchain
from cuda_wheel.runtime.cache import Cache


def packages(root: Path, release: str = "12.9.86") -> Toolchain:
    """Make a folder of packages that hold a toolchain, and return that."""
    library = root / "nvidia/cuda_nvrtc/lib/libnvrtc.so.12"
    headers = root / "nvidia/cuda_runtime/include"
    for folder in (library.parent, headers, root / f"nvidia_cuda_nvrtc_cu12-{release}.dist-info", root / "cuda"):
        folder.mkdir(parents=True)
    library.write_text(release)
    return Toolchain(release, "12.9", "12.9", (75, 80), (str(headers),), (str(library),) * 3)


@pytest.fixture
def there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder of `sys.path`, which has no other."""
    folder = tmp_path / "there"
    monkeypatch.setattr(sys, "path", [str(folder)])
    return folder


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(str(tmp_path / "cache"))


def test_a_toolchain_is_known_in_another_place(there: Path, cache: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    found = packages(there)
    environment = known_toolchain.environment()
    assert known_toolchain.recall(cache, environment) is None
    known_toolchain.keep(cache, environment, found)
    assert known_toolchain.recall(cache, environment) == found
    elsewhere = there.with_name("elsewhere")
    shutil.copytree(there, elsewhere)
    monkeypatch.setattr(sys, "path", ["/nowhere", str(elsewhere)])
    assert known_toolchain.environment() == environment
    recalled = known_toolchain.recall(cache, environment)
    assert recalled is not None and recalled.libraries[0].startswith(str(elsewhere))
    assert Path(recalled.include_dirs[0]).is_dir() and recalled.supported == (75, 80)


def test_other_packages_are_another_environment(there: Path, cache: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    found = packages(there)
    known_toolchain.keep(cache, known_toolchain.environment(), found)
    (there / "nvidia_nvjitlink_cu12-12.9.86.dist-info").mkdir()
    assert known_toolchain.recall(cache, known_toolchain.environment()) is None
    (there / "nvidia_nvjitlink_cu12-12.9.86.dist-info").rmdir()
    assert known_toolchain.recall(cache, known_toolchain.environment()) is not None
    monkeypatch.setenv("CUDA_HOME", "/opt/cuda")
    assert known_toolchain.recall(cache, known_toolchain.environment()) is None


@pytest.mark.parametrize("change", ["library", "size", "headers"])
def test_what_is_not_there_any_more_is_not_recalled(change: str, there: Path, cache: Cache) -> None:
    found = packages(there)
    environment = known_toolchain.environment()
    known_toolchain.keep(cache, environment, found)
    library = Path(found.libraries[0])
    if change == "library":
        library.unlink()
    elif change == "size":
        library.write_text("another one")
    else:
        Path(found.include_dirs[0]).rmdir()
    assert known_toolchain.recall(cache, environment) is None


def test_a_library_that_is_no_packages_is_known_by_its_time(there: Path, cache: Cache, tmp_path: Path) -> None:
    packages(there)
    system = tmp_path / "opt/libnvrtc.so"
    system.parent.mkdir()
    system.write_text("x")
    found = Toolchain("13.0.88", "13.0", "13.0", (75,), (str(system.parent),), (str(system),) * 3)
    environment = known_toolchain.environment()
    known_toolchain.keep(cache, environment, found)
    assert known_toolchain.recall(cache, environment) == found
    system.touch()
    assert known_toolchain.recall(cache, environment) is None
