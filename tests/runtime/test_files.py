"""Packages outside ordinary folders: in zips, with their own importers, split, read-only, in folders with odd names.

The driver is a stand-in; the bytes that it receives show whether the loader found the right image.
"""

from __future__ import annotations

import importlib
import os
import shutil
import sys
import zipapp
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

import cuda_wheel
from cuda_wheel.builder.manifest_reader import manifest_of
from cuda_wheel.builder.manifest_writer.text import manifest_text
from cuda_wheel.cli.main import main
from cuda_wheel.runtime.errors import ImageError
from tests.support.driver import Driver
from tests.support.package_files import (
    FATBIN,
    LOAD,
    LOADED,
    ODD_NAMES,
    SAXPY,
    STAND_IN,
    make_folder,
    unpack,
)
from tests.support.processes import run
from tests.support.projects import ROOT

pytestmark = pytest.mark.one_toolchain


def pack(files: Mapping[str, bytes], path: Path, prefix: str = "") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(prefix + name, content)
    return path


@pytest.mark.slow
@pytest.mark.parametrize("name", ODD_NAMES, ids=lambda name: ascii(name)[:40])
def test_a_package_in_a_folder_with_an_odd_name(
    name: str, files: dict[str, bytes], check: Callable[..., None], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = make_folder(tmp_path / "odd" / name)
    archive = pack(files, folder / "saxpy.whl")
    unpack(files, folder)
    for place in (folder, archive):
        check(place, files)
        # The archive is not verified: its RECORD does not list the copy of the loader.
        verify = [["verify"]] if place is folder else []
        for command in (["inspect"], *verify, ["explain", "--device", "sm_86", "--driver", "13.9"]):
            assert main([command[0], str(place), *command[1:]]) == 0
            out, err = capsys.readouterr()
            assert ("saxpy" in out, err) == (True, "")
    damaged = bytearray(files[FATBIN])
    damaged[len(damaged) // 2] ^= 1
    (folder / FATBIN).write_bytes(damaged)
    assert main(["verify", str(folder)]) == 1
    assert "saxpy" in capsys.readouterr().out


def test_a_package_in_a_folder_of_a_zip(files: dict[str, bytes], check: Callable[..., None], tmp_path: Path) -> None:
    place = f"{pack(files, tmp_path / 'app.zip', 'lib/site/')}{os.sep}lib{os.sep}site"
    check(place, files)
    for package in ("saxpy_demo", "saxpy_demo.kernels"):
        result = run(sys.executable, "-m", "cuda_wheel", "verify", package, PYTHONPATH=f"{ROOT}{os.pathsep}{place}")
        assert (result.returncode, SAXPY in result.stdout) == (0, True), result.stdout
    other = run(sys.executable, "-m", "cuda_wheel", "verify", "saxpy_demo._cuda_wheel", PYTHONPATH=place)
    assert (other.returncode, "contains no module" in other.stdout) == (1, True), other.stdout


def test_a_package_in_a_zip_that_lists_its_folders(
    files: dict[str, bytes], check: Callable[..., None], tmp_path: Path
) -> None:
    folders = {f"{parent.as_posix()}/" for name in files for parent in Path(name).parents if parent.parts}
    check(pack(dict.fromkeys(sorted(folders), b"") | files, tmp_path / "app.zip"), files)


def test_damage_in_a_zip_is_an_image_error(
    files: dict[str, bytes], use: Callable[..., Driver], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver = use()
    archive = pack(files, tmp_path / "app.zip")
    content = bytearray(archive.read_bytes())
    with zipfile.ZipFile(archive) as opened:
        start = opened.getinfo(FATBIN).header_offset + 30 + len(FATBIN)
    content[start : start + 64] = b"\xff" * 64
    archive.write_bytes(content)
    monkeypatch.syspath_prepend(archive)
    with pytest.raises(ImageError, match=r"^saxpy\.fatbin beside .*app\.zip.* cannot be read: "):
        cuda_wheel.load(SAXPY)
    assert driver.loaded == []
    for name in [name for name in sys.modules if name.startswith("saxpy_demo")]:
        del sys.modules[name]


def test_a_package_in_a_zip_application(files: dict[str, bytes], tmp_path: Path) -> None:
    program = STAND_IN + "import cuda_wheel; from saxpy_demo import kernels, _cuda_wheel\n" + LOAD
    unpack({**files, "__main__.py": program.encode()}, tmp_path / "app")
    zipapp.create_archive(tmp_path / "app", tmp_path / "app.pyz", compressed=True)
    result = run(sys.executable, tmp_path / "app.pyz", PYTHONPATH=str(ROOT))
    assert result.stdout == LOADED


def test_a_package_in_several_folders_and_a_zip(
    files: dict[str, bytes], use: Callable[..., Driver], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each place of a namespace package (PEP 420) contains a module of its own."""
    driver = use((8, 6))

    def module(name: str) -> dict[str, bytes]:
        manifest = manifest_of(files[FATBIN + ".json"], "x")
        own = manifest_text(manifest._replace(name=f"space.inner.{name}", fatbin=f"{name}.fatbin")).encode()
        return {f"space/inner/{name}.fatbin": files[FATBIN], f"space/inner/{name}.fatbin.json": own}

    places = [unpack(module(name), tmp_path / name) for name in ("one", "two")]
    # Python finds a namespace package in a zip only if the zip lists its folders.
    places += [pack({"space/": b"", "space/inner/": b"", **module("three")}, tmp_path / "three.zip")]
    for order in (places, places[::-1], places[1:], places[2:]):
        monkeypatch.setattr(sys, "path", [*map(str, order), *sys.path])
        importlib.invalidate_caches()
        for place in order:
            assert len(cuda_wheel.load(f"space.inner.{place.stem}")) == 1
        with pytest.raises(ImageError, match=r"^space\.inner\.four has no images"):
            cuda_wheel.load("space.inner.four")
        monkeypatch.undo()
        for name in ("space", "space.inner"):
            sys.modules.pop(name, None)
        driver = use((8, 6))
    assert driver.loaded == []


# --- how Python is started -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "flags",
    [["-O"], ["-OO", "-B"], ["-S"], ["-I", "-X", "utf8=0"], ["-S", "-I", "-OO", "-bb", "-W", "error", "-X", "dev"]],
    ids=" ".join,
)
def test_a_package_with_other_options_of_python(flags: list[str], files: dict[str, bytes], tmp_path: Path) -> None:
    site = unpack(files, tmp_path / "Käse")
    program = f"import os, sys; sys.path[:0] = map(os.fsdecode, {[os.fsencode(ROOT), os.fsencode(site)]})\n{STAND_IN}"
    program += "import cuda_wheel; from saxpy_demo import kernels, _cuda_wheel\n" + LOAD
    result = run(sys.executable, *flags, "-c", program, LC_ALL="C", PYTHONCOERCECLOCALE="0", PYTHONDONTWRITEBYTECODE="")
    assert result.stdout == LOADED
    if "-S" not in flags:  # the command needs site-packages
        command = ["-m", "cuda_wheel", "inspect" if "-I" in flags else "verify", site]
        result = run(sys.executable, *flags, *command, LC_ALL="C", PYTHONCOERCECLOCALE="0")
        assert (result.returncode, "saxpy" in result.stdout) == (0, True), result.stdout


@pytest.mark.parametrize("packed", [False, True])
def test_a_relative_path_stays_valid_when_the_working_directory_changes(
    packed: bool, files: dict[str, bytes], tmp_path: Path
) -> None:
    """As far as Python itself finds the package again: it opens a zip by the path under which it found the zip."""
    pack(files, tmp_path / "site") if packed else unpack(files, tmp_path / "site")
    program = f"""
import os, sys
sys.path[:0] = ["site", {str(ROOT)!r}]
{STAND_IN}
import cuda_wheel
from saxpy_demo import kernels, _cuda_wheel
os.mkdir("elsewhere")
os.chdir("elsewhere")
try:
{LOAD.replace(chr(10), chr(10) + "    ")}
except cuda_wheel.ImageError as error:
    print(error)
os.chdir("..")
{LOAD}
"""
    result = run(sys.executable, "-c", program, cwd=tmp_path)
    away = result.stdout.removesuffix(LOADED)
    assert result.stdout.endswith(LOADED)
    if packed:
        assert away.startswith(f"{SAXPY} has no images: looked for {Path('site', FATBIN)}.json.")
    else:
        assert away == LOADED


def test_a_package_behind_symbolic_links(files: dict[str, bytes], check: Callable[..., None], tmp_path: Path) -> None:
    """Links to site-packages, to a package, and to single files, as some installers and package stores create them."""
    try:
        (tmp_path / "whole").symlink_to(unpack(files, tmp_path / "store"), target_is_directory=True)
    except OSError as error:
        pytest.skip(f"no links here: {error}")
    check(tmp_path / "whole", files)
    (tmp_path / "site").mkdir()
    (tmp_path / "site/saxpy_demo").symlink_to(tmp_path / "store/saxpy_demo", target_is_directory=True)
    check(tmp_path / "site", files)
    for name in files:
        path = tmp_path / "each" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.symlink_to(tmp_path / "store" / name)
    check(tmp_path / "each", files)


def test_a_name_in_another_case_is_not_a_module_on_any_system(
    files: dict[str, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A case-insensitive file system finds the file, but its manifest has the name of another module."""
    site = unpack(files, tmp_path / "site")
    folder = site / "saxpy_demo/kernels"
    for end in ("fatbin", "fatbin.json"):  # imitates a case-insensitive file system
        shutil.copy(folder / f"saxpy.{end}", folder / f"Saxpy.{end}")
    monkeypatch.syspath_prepend(site)
    with pytest.raises(ImageError, match=r"is the manifest of 'saxpy_demo\.kernels\.saxpy', not of '.*Saxpy'"):
        cuda_wheel.load("saxpy_demo.kernels.Saxpy")


READ_ONLY = ["unshare", "--mount", "sh", "-c", 'mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && exec "$@"']


def test_a_package_in_a_read_only_site_packages(files: dict[str, bytes], tmp_path: Path) -> None:
    site = unpack(files, tmp_path / "site")
    start: list[object] = []
    if hasattr(os, "geteuid") and os.geteuid() == 0:  # permissions do not stop root
        start = [*READ_ONLY, site]
        if shutil.which("unshare") is None or run(*start, "true").returncode != 0:
            pytest.skip("no file system can be made read-only here")
    for path in (site, *site.rglob("*")):
        path.chmod(0o555 if path.is_dir() else 0o444)
    program = f"""
import sys
sys.path[:0] = {[str(ROOT), str(site)]!r}
try:
    open({str(site / "new")!r}, "w")
except OSError:
    print("read-only")
{STAND_IN}
import cuda_wheel
from saxpy_demo import kernels, _cuda_wheel
{LOAD}
"""
    environ = {"PYTHONDONTWRITEBYTECODE": "", "CUDA_WHEEL_CACHE_DIR": str(tmp_path / "cache")}
    try:
        result = run(*start, sys.executable, "-W", "error", "-c", program, **environ)
        checked = run(*start, sys.executable, "-m", "cuda_wheel", "verify", site)
    finally:
        for path in (site, *site.rglob("*")):
            path.chmod(0o755 if path.is_dir() else 0o644)
    assert result.stdout == "read-only\n" + LOADED
    assert checked.returncode == 0, checked.stdout
    assert sorted(path.relative_to(site).as_posix() for path in site.rglob("*") if path.is_file()) == sorted(files)
