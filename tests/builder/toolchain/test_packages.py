"""The headers of CUTLASS, MathDx, NVSHMEM, PyTorch and CuPy: found where their packages are installed, and named in what is built."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from cuda_wheel.builder.toolchain.headers import header_versions, release_of
from cuda_wheel.builder.toolchain.packages import SearchRoot, header_folders, is_cuda_package, search_roots
from cuda_wheel.builder.toolchain.toolchain import Headers, Toolchain

pytestmark = pytest.mark.one_toolchain

VERSION = "#define CUTLASS_MAJOR 4\n#define CUTLASS_MINOR 7\n#define CUTLASS_PATCH 1\n"
TORCH = "".join(f"#define TORCH_VERSION_{part} {n}\n" for part, n in (("MAJOR", 2), ("MINOR", 15), ("PATCH", 3)))
CUDNN = "".join(f"#define CUDNN_{part} {n}\n" for part, n in (("MAJOR", 8), ("MINOR", 9), ("PATCHLEVEL", 7)))
MATHDX = "nvidia/mathdx/include/commondx/commondx_version.hpp"
PACKAGES: Mapping[str, Mapping[str, str]] = {
    "cutlass": {"cutlass_library/source/include/cutlass/version.h": VERSION},
    "bundled": {"nvidia/mathdx/external/cutlass/include/cutlass/version.h": VERSION},
    "torch": {"torch/include/torch/headeronly/version.h": TORCH, "torch/include/ATen/core/TensorBase.h": ""},
    "older torch": {"torch/include/torch/csrc/api/include/torch/version.h": TORCH},
    "cupy": {"cupy/_core/include/cupy/complex.cuh": "", "cupy/_version.py": "__version__ = '14.3.1rc2'\n"},
    "cudnn": {"nvidia/cudnn/include/cudnn_version.h": CUDNN},
    "mathdx": {MATHDX: "", "nvidia_mathdx-25.6.0.dist-info/RECORD": f"{MATHDX},sha256=x,1\n"},
}


def installed(folder: Path, *names: str) -> SearchRoot:
    for path, text in [item for name in names for item in PACKAGES[name].items()]:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    return SearchRoot(str(folder), True, "site-packages")


@pytest.mark.parametrize("major", [12, 13])
def test_they_are_found_in_their_packages_for_every_release_of_cuda(major: int, tmp_path: Path) -> None:
    place = installed(tmp_path, "cutlass", "bundled", "mathdx")
    own, bundled = header_folders(place, "cutlass", major)
    assert own == str(tmp_path / "cutlass_library/source/include")
    assert bundled == str(tmp_path / "nvidia/mathdx/external/cutlass/include")
    (mathdx,) = header_folders(place, "mathdx", major)
    assert str(release_of("mathdx", mathdx, place)) == "25.6.0"
    assert str(release_of("cutlass", own, place)) == "4.7.1"
    assert header_folders(place, "nvshmem", major) == []


def test_the_release_of_cudnn_is_that_of_its_package(tmp_path: Path) -> None:
    place = installed(tmp_path, "cudnn")
    (folder,) = header_folders(place, "cudnn", 13)
    assert str(release_of("cudnn", folder, place)) == "8.9.7"


def test_cutlass_is_found_in_a_folder_of_packages_that_has_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed(tmp_path, "cutlass")
    monkeypatch.syspath_prepend(tmp_path)
    assert SearchRoot(str(tmp_path), True, "sys.path") in search_roots("")


@pytest.mark.parametrize(
    ("package", "group", "release"),
    [("torch", "pytorch", "2.15.3"), ("older torch", "pytorch", "2.15.3"), ("cupy", "cupy", "14.3.1")],
)
def test_a_frameworks_headers_are_found_without_importing_it(
    package: str, group: str, release: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = installed(tmp_path, package)
    monkeypatch.syspath_prepend(tmp_path)
    assert SearchRoot(str(tmp_path), True, "sys.path") in search_roots("")
    (folder,) = header_folders(place, group, 13)
    assert str(release_of(group, folder, place)) == release


@pytest.mark.parametrize(
    ("group", "folder", "header"),
    [("pytorch", "torch/include", "ATen/cuda/Atomic.cuh"), ("cupy", "cupy/_core/include", "cupy/carray.cuh")],
)
def test_a_manifest_names_the_release_of_a_framework(
    group: str, folder: str, header: str, toolchain: Toolchain
) -> None:
    headers = Headers(group, "2.15.3", f"/packages/{folder}", "PYTHONPATH", "")
    with_headers = replace(
        toolchain,
        headers=(*(each for each in toolchain.headers if each.name != group), headers),
        include_dirs=(*toolchain.include_dirs, headers.folder),
    )
    assert header_versions(with_headers, [f"/packages/{folder}/{header}"]) == {group: "2.15.3"}


@pytest.mark.parametrize(
    "name", ["cupy_cuda13x-14.2.0.dist-info", "cupy-14.2.0.dist-info", "torch-2.13.0.dist-info", "nvidia_x.dist-info"]
)
def test_a_change_of_a_package_with_headers_is_noticed(name: str) -> None:
    assert is_cuda_package(name) and not is_cuda_package(f"x_{name}") and not is_cuda_package(name[:-5])
