"""A module's files against its manifest: damage, and images that the manifest does not describe."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cuda_wheel.inspect.manifest_checks import manifest_differences
from cuda_wheel.inspect.modules import FoundModule, find_modules
from tests.support.manifests import plain, rewritten

pytestmark = pytest.mark.one_toolchain


@pytest.fixture
def fatbin(unpacked: Callable[[str], Path]) -> Path:
    """The fatbin of an unpacked wheel, with images for sm_80, sm_90 and compute_90."""
    (fatbin,) = unpacked("stencil").rglob("*.fatbin")
    return fatbin


def found(fatbin: Path) -> FoundModule:
    (module,) = find_modules(str(fatbin) if fatbin.exists() else str(fatbin.parent))
    return module


def change(fatbin: Path, at: int) -> None:
    content = bytearray(fatbin.read_bytes())
    content[at] ^= 1
    fatbin.write_bytes(content)


def test_what_was_built_matches_its_manifest(fatbin: Path) -> None:
    assert manifest_differences(found(fatbin)) == []


@pytest.mark.parametrize(
    ("damage", "lines"),
    [
        (lambda fatbin, images: change(fatbin, images[0]["offset"] + 9), ["cubin sm_80 differs from the manifest"]),
        (
            lambda fatbin, images: change(fatbin, images[2]["offset"] + 9),
            ["ptx compute_90 (PTX 7.8) differs from the manifest"],
        ),
        (
            lambda fatbin, images: change(fatbin, 0),
            ["stencil.fatbin differs from the manifest between its images"],
        ),
    ],
)
def test_each_changed_part_is_one_line(damage: Callable[[Path, Any], None], lines: list[str], fatbin: Path) -> None:
    damage(fatbin, plain(Path(f"{fatbin}.json").read_text())["images"])
    assert manifest_differences(found(fatbin)) == lines


def test_a_size_that_differs_is_reported_once(fatbin: Path) -> None:
    size = len(fatbin.read_bytes())
    fatbin.write_bytes(fatbin.read_bytes() + b"x")
    assert manifest_differences(found(fatbin)) == [f"stencil.fatbin has {size + 1} bytes, not {size}"]
    change(fatbin, 0)  # of which the hash tells no more
    assert manifest_differences(found(fatbin)) == [f"stencil.fatbin has {size + 1} bytes, not {size}"]
    fatbin.write_bytes(fatbin.read_bytes()[:-2])
    assert manifest_differences(found(fatbin))[0] == f"stencil.fatbin has {size - 1} bytes, not {size}"


def test_a_fatbin_that_cannot_be_read_is_reported(fatbin: Path) -> None:
    fatbin.unlink()
    (line,) = manifest_differences(found(fatbin))
    assert line.startswith("stencil.fatbin cannot be read: ")


def test_the_manifest_of_another_module_is_reported(fatbin: Path) -> None:
    manifest = Path(f"{fatbin}.json").rename(fatbin.with_name("other.fatbin.json"))
    assert manifest_differences(found(manifest)) == [f"{manifest} is the manifest of another module"]


FORGERIES: list[tuple[tuple[str | int, ...], object, str]] = [
    (("images", 0, "target"), "sm_86", "cubin sm_86 is for sm_80"),
    (("images", 2, "ptx_version"), "8.0", "ptx compute_90 (PTX 8.0) is PTX 7.8"),
    (("images", 2, "target"), "compute_75", "ptx compute_75 (PTX 7.8) is for compute_90"),
    (("kernels", 0, "symbol"), "other", "cubin sm_80 has no kernel other"),
    (("kernels", 0, "parameters", -1, "size"), 2, "cubin sm_80 has other parameters for _Z"),
]


@pytest.mark.parametrize(("path", "value", "line"), FORGERIES)
def test_an_image_that_the_manifest_does_not_describe_is_reported_although_its_hash_is_right(
    path: tuple[str | int, ...], value: object, line: str, fatbin: Path
) -> None:
    manifest = Path(f"{fatbin}.json")
    manifest.write_text(rewritten(manifest.read_text(), path, value))
    assert any(each.startswith(line) for each in manifest_differences(found(fatbin)))


def test_a_higher_target_of_ptx_than_that_of_the_text_is_right(fatbin: Path) -> None:
    """PTX that a project brings may be for a lower target than its image."""
    manifest = Path(f"{fatbin}.json")
    manifest.write_text(rewritten(manifest.read_text(), ("images", 2, "target"), "compute_100"))
    assert manifest_differences(found(fatbin)) == []
