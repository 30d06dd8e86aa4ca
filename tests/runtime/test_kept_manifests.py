"""A manifest in a folder is read once: by `attach`, which a package calls when it is imported, or by the first `load`.

It is read again if the file changes, and what is kept is as checked as what `load` reads itself.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

import cuda_wheel
from cuda_wheel.builder.manifest_reader import manifest_of
from cuda_wheel.builder.manifest_writer.text import manifest_text
from cuda_wheel.runtime import files as files_module
from cuda_wheel.runtime.errors import ImageError
from cuda_wheel.runtime.files import ModuleFiles, files_in
from cuda_wheel.runtime.manifest import structs_of
from cuda_wheel.runtime.parts import attach as attach_module
from tests.support.driver import Driver
from tests.support.whole_manifests import STRUCTS

pytestmark = pytest.mark.one_toolchain

PACKAGE = "saxpy_demo.kernels"
SAXPY = f"{PACKAGE}.saxpy"


@pytest.fixture
def manifest(site: Path, use: Callable[..., Driver], monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the path of saxpy's manifest, which nothing has read yet."""
    use((8, 0))
    monkeypatch.setattr(files_module, "_kept", {})
    (path,) = site.rglob("saxpy.fatbin.json")
    return path


@pytest.fixture
def reads(manifest: Path, monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Return a list that gets, for each read of a manifest, whether the read compares the SHA-256."""
    found: list[bool] = []
    made = files_module.ManifestFile
    monkeypatch.setattr(files_module, "ManifestFile", lambda *args: found.append(args[2]) or made(*args))
    return found


def changed(path: Path, old: bytes, new: bytes) -> None:
    """Replace part of a file, which then has another time."""
    before, content = path.stat(), path.read_bytes()
    assert content.count(old) >= 1 and len(old) == len(new)
    path.write_bytes(content.replace(old, new))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns + 1))


def test_load_takes_what_attach_has_read(reads: list[bool]) -> None:
    assert cuda_wheel.attach(PACKAGE)[2] == ["saxpy"]
    module = cuda_wheel.load(SAXPY)
    assert cuda_wheel.load(SAXPY) is module and cuda_wheel.attach(PACKAGE)[2] == ["saxpy"]
    assert reads == [True]


def test_a_changed_manifest_is_read_again(manifest: Path, reads: list[bool]) -> None:
    module = cuda_wheel.load(SAXPY)
    text = manifest.read_text(encoding="utf-8")
    other = manifest_of(text, "x")._replace(options=("--std=c++14",))
    manifest.write_text(manifest_text(other), encoding="utf-8")
    again = cuda_wheel.load(SAXPY)
    assert (module.manifest.options, again.manifest.options) == (("--std=c++17",), ("--std=c++14",))
    changed(manifest, b"c++14", b"c++20")
    with pytest.raises(ImageError, match="is damaged: its SHA-256"):
        cuda_wheel.load(SAXPY)
    assert reads == [True] * 3


def test_another_file_of_the_same_time_and_size_is_read(manifest: Path, reads: list[bool]) -> None:
    cuda_wheel.load(SAXPY)
    status, content = manifest.stat(), manifest.read_bytes()
    other = manifest.with_name("other")
    other.write_bytes(content.replace(b"c++17", b"c++20"))
    os.utime(other, ns=(status.st_atime_ns, status.st_mtime_ns))
    other.replace(manifest)
    with pytest.raises(ImageError, match="is damaged"):
        cuda_wheel.load(SAXPY)


def test_what_was_read_without_a_check_is_checked_by_the_next_load(
    manifest: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    changed(manifest, b"c++17", b"c++20")
    monkeypatch.setenv("CUDA_WHEEL_VERIFY", "off")
    assert cuda_wheel.attach(PACKAGE)[2] == ["saxpy"]
    assert cuda_wheel.load(SAXPY).manifest.options == ("--std=c++20",)
    monkeypatch.delenv("CUDA_WHEEL_VERIFY")
    with pytest.raises(ImageError, match="is damaged"):
        cuda_wheel.load(SAXPY)


@pytest.mark.parametrize("old", [b"c++17", b'"cpp":"float"'])
def test_a_package_with_a_damaged_manifest_can_be_imported(old: bytes, manifest: Path) -> None:
    """The damage is in the head, or in a kernel."""
    changed(manifest, old, old.swapcase())
    assert cuda_wheel.attach(PACKAGE)[2] == ["saxpy"]
    with pytest.raises(ImageError, match="is damaged"):
        cuda_wheel.load(SAXPY)


@pytest.mark.parametrize("modules", [attach_module.KEPT, attach_module.KEPT + 1])
def test_attach_keeps_no_manifests_of_a_package_with_many_modules(modules: int, manifest: Path) -> None:
    text = manifest.read_text(encoding="utf-8")
    for number in range(modules - 1):
        other = manifest_of(text, "x")._replace(name=f"{PACKAGE}.m{number}")
        manifest.with_name(f"m{number}.fatbin.json").write_text(manifest_text(other), encoding="utf-8")
    assert "m0" in cuda_wheel.attach(PACKAGE)[2]
    assert len(files_module._kept) == (modules if modules <= attach_module.KEPT else 0)
    assert len(cuda_wheel.load(SAXPY)) == 1


def test_attach_does_not_read_structs(manifest: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What reads them is imported when the module is loaded."""
    other = manifest_of(manifest.read_text(encoding="utf-8"), "x")._replace(kernels=STRUCTS.kernels)
    manifest.write_text(manifest_text(other), encoding="utf-8")
    read: list[object] = []
    monkeypatch.setattr(
        "cuda_wheel.runtime.manifest.structs_of", lambda record: read.append(record) or structs_of(record)
    )
    assert cuda_wheel.attach(PACKAGE)[2] and not read
    assert cuda_wheel.load(SAXPY).manifest.kernels == STRUCTS.kernels and read


def test_manifests_in_memory_are_not_kept(manifest: Path) -> None:
    """Two modules that are compiled from text have the same place in messages."""
    text = manifest.read_text(encoding="utf-8")
    for options in (("--std=c++17",), ("--std=c++20",)):
        content = manifest_text(manifest_of(text, "x")._replace(options=options)).encode()
        files = ModuleFiles("k, compiled from a text", None, contents={"k.fatbin.json": content})
        assert files.manifest_of_variant("k.fatbin.json", {}).options == options
    assert files_module._kept == {}


def test_a_folder_is_no_manifest(tmp_path: Path) -> None:
    (tmp_path / "k.fatbin.json").mkdir()
    assert files_in("demo", [str(tmp_path)], "k.fatbin.json") is None
    (tmp_path / "other.fatbin.json").touch()
    folders = [f"{tmp_path}\0", str(tmp_path / "none"), str(tmp_path)]
    found = files_in("demo", folders, "other.fatbin.json")
    assert found is not None and found.folder == str(tmp_path)
