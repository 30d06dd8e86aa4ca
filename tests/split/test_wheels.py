"""`cuda-wheel split`: what the base and the companions contain, what is refused, and what other commands say of them."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from email.parser import HeaderParser
from pathlib import Path

import pytest

from cuda_wheel.builder.manifest_reader import all_manifests, split_of
from cuda_wheel.runtime.parts.companions import suitable
from cuda_wheel.split.wheels import split_wheel
from tests.split.conftest import TABLE, Environment, write_project
from tests.support.processes import build_wheel, run
from tests.support.variants import SOURCE_OF_VARIANTS, VARIANTS_TABLE
from tests.support.wheels import contents

pytestmark = pytest.mark.one_toolchain

Parts = Callable[..., Path]
Command = Callable[..., subprocess.CompletedProcess[str]]
EXTRAS = ["sm75", "sm80", "sm86", "sm90"]


def metadata(wheel: Path):
    (name,) = (name for name in contents(wheel) if name.endswith("dist-info/METADATA"))
    return HeaderParser().parsestr(contents(wheel)[name].decode())


def base_of(folder: Path) -> Path:
    (base,) = folder.glob("demo-*.whl")
    return base


def test_the_images_are_those_of_the_whole_wheel_each_in_one_place(whole_wheel: Parts, parts: Parts) -> None:
    def images(wheel: Path) -> list[tuple[str, str, str]]:
        manifests = {name: text for name, text in contents(wheel).items() if name.endswith(".fatbin.json")}
        found = []
        for name, text in manifests.items():
            (manifest,) = all_manifests(text, name)
            found += [(manifest.name, str(image.target), image.sha256) for image in manifest.images]
        return found

    wheels = sorted(parts().glob("*.whl"))
    assert sorted(each for wheel in wheels for each in images(wheel)) == sorted(images(whole_wheel()))
    assert {target for _, target, _ in images(base_of(parts()))} == {"compute_80"}
    for extra in EXTRAS:
        assert {target for _, target, _ in images(parts() / f"demo_cuda_{extra}-1-py3-none-any.whl")} == {
            f"sm_{extra[2:]}"
        }


def test_the_metadata_tie_base_and_companions_of_one_version(parts: Parts) -> None:
    base = metadata(base_of(parts()))
    assert base.get_all("Provides-Extra") == [*EXTRAS, "all-gpus"]
    assert base.get_all("Requires-Dist") == [
        *(f"demo-cuda-{extra}==1; extra == '{extra}'" for extra in EXTRAS),
        *(f"demo-cuda-{extra}==1; extra == 'all-gpus'" for extra in EXTRAS),
    ]
    companion = metadata(parts() / "demo_cuda_sm90-1-py3-none-any.whl")
    assert companion["Name"] == "demo-cuda-sm90" and companion["Version"] == "1"
    assert companion.get_all("Requires-Dist") == ["demo==1"]
    assert companion["Requires-Python"] == ">=3.10"
    assert companion["Metadata-Version"] == base["Metadata-Version"]


def test_the_same_wheel_gives_the_same_bytes(whole_wheel: Parts, parts: Parts, tmp_path: Path) -> None:
    copied = tmp_path / "elsewhere" / whole_wheel().name
    copied.parent.mkdir()
    shutil.copy(whole_wheel(), copied)
    wheels = split_wheel(copied)
    assert {each.file: each.content for each in wheels} == {path.name: path.read_bytes() for path in parts().iterdir()}
    assert [each.capability for each in wheels] == [None, (7, 5), (8, 0), (8, 6), (9, 0)]
    assert [each.is_needed for each in wheels] == [False, True, False, False, False]  # PTX is for 8.0 and later


def test_a_base_names_the_best_companion_for_each_gpu(parts: Parts) -> None:
    split = split_of(contents(base_of(parts()))["demo/fill.fatbin.json"], "demo.fill")
    assert split is not None and split.base is None

    def extras(*capability: int, driver: tuple[int, int] = (13, 0)) -> list[tuple[str, bool]]:
        return [(each.extra, is_certain) for each, is_certain in suitable(split, capability, driver)]  # type: ignore[arg-type]

    assert extras(9, 0) == [("sm90", True)]
    assert extras(8, 9) == [("sm86", True), ("sm80", True)]
    assert extras(8, 0) == [("sm80", True)]
    assert extras(8, 7) == [("sm86", False), ("sm80", False)]  # a Jetson
    assert extras(12, 0) == extras(7, 0) == []
    assert extras(9, 0, driver=(11, 8)) == []


def test_commands_take_base_and_companions_together(parts: Parts, cuda_wheel: Command) -> None:
    base, all_wheels = base_of(parts()), sorted(parts().glob("*.whl"))
    verified = cuda_wheel("verify", *all_wheels)
    assert verified.returncode == 0 and "demo.fill in demo-cuda-sm90 1: matches its manifest" in verified.stdout
    assert "RECORD of demo_cuda_sm75-1-py3-none-any.whl: matches the files" in verified.stdout
    assert "SBOM of demo_cuda_sm75-1-py3-none-any.whl: matches the files" in verified.stdout
    required = ("--require", "sm_90,driver>=13.0,native")
    assert cuda_wheel("coverage", *all_wheels, *required).returncode == 0
    assert cuda_wheel("coverage", base, *required).returncode == 1
    sizes = json.loads(cuda_wheel("inspect", "--size", "--json", *all_wheels).stdout)
    assert sizes["total"]["wheel"] == sum(path.stat().st_size for path in all_wheels)
    (compute,) = (each for each in sizes["targets"] if each["target"] == "sm_90")
    assert compute["loses"] and all(loss["to"] == "jit" for loss in compute["loses"])
    inspected = json.loads(cuda_wheel("inspect", "--json", *all_wheels).stdout)["modules"]
    fill = [each for each in inspected if each["name"] == "demo.fill"]
    assert [each["split"]["distribution"] for each in fill] == ["demo", *(f"demo-cuda-{extra}" for extra in EXTRAS)]


def test_companions_of_another_version_do_not_pass(parts: Parts, cuda_wheel: Command) -> None:
    wheels = base_of(parts(version="2")), parts() / "demo_cuda_sm90-1-py3-none-any.whl"
    for command in ("verify", "coverage"):
        result = cuda_wheel(command, *wheels)
        assert result.returncode == 1
        assert "demo-cuda-sm90 1 does not belong to demo 2: both must have the same version." in result.stdout


def test_a_changed_companion_does_not_pass(parts: Parts, tmp_path: Path, cuda_wheel: Command) -> None:
    """The companion is consistent in itself: it is that of another module."""
    changed = tmp_path / "demo_cuda_sm90-1-py3-none-any.whl"
    with zipfile.ZipFile(parts() / changed.name) as archive, zipfile.ZipFile(changed, "w") as written:
        for name in archive.namelist():
            content = archive.read(name)
            if name.endswith("fill.fatbin.json"):
                content = content.replace(b'"cuda_wheel": "0', b'"cuda_wheel": "1')
            written.writestr(name, content)
    result = cuda_wheel("verify", base_of(parts()), changed)
    assert result.returncode == 1 and "damaged" in result.stdout


@pytest.mark.slow
def test_the_rebuild_of_a_part_is_that_part(parts: Parts, whole_wheel: Parts, cuda_wheel: Command) -> None:
    project = whole_wheel().parents[1] / "project"
    for name in ("demo-1", "demo_cuda_sm90-1"):
        wheel = parts() / f"{name}-py3-none-any.whl"
        result = cuda_wheel("verify", wheel, "--rebuild", project, "--no-build-isolation")
        assert result.returncode == 0, result.stdout
        assert "the rebuild is identical" in result.stdout


def built(project: Path) -> Path:
    result = build_wheel(project, project / "dist")
    assert result.returncode == 0, result.stdout
    (wheel,) = (project / "dist").glob("*.whl")
    return wheel


@pytest.mark.slow
def test_variants_and_carried_sources_are_divided_too(extra: str, tmp_path: Path, cuda_wheel: Command) -> None:
    table = VARIANTS_TABLE.replace("[tool.cuda-wheel]", '[tool.cuda-wheel]\nsplit = "architecture"').replace(
        'name = "demo.update"', 'name = "demo.update"\nspecialize = true'
    )
    files = {"demo/update.cu": SOURCE_OF_VARIANTS, "include/scale.h": "#define SCALE 3\n"}
    wheel = built(write_project(tmp_path / "project", extra, table=table, **files))
    result = cuda_wheel("split", wheel, "-o", tmp_path / "parts")
    assert result.returncode == 0, result.stdout
    wheels = sorted((tmp_path / "parts").glob("*.whl"))
    assert [each.name for each in wheels] == [
        f"{each}-1-py3-none-any.whl" for each in ("demo", "demo_cuda_sm80", "demo_cuda_sm90")
    ]
    verified = cuda_wheel("verify", *wheels)
    assert verified.returncode == 0, verified.stdout
    manifests = all_manifests(contents(base_of(tmp_path / "parts"))["demo/update.fatbin.json"], "base")
    assert len(manifests) == 3 and all(each.specialize and each.specialize.size for each in manifests)
    part = contents(tmp_path / "parts" / "demo_cuda_sm80-1-py3-none-any.whl")
    manifests = all_manifests(part["demo_cuda_sm80/demo.update.fatbin.json"], "companion")
    assert len(manifests) == 3 and all(str(each.images[0].target) == "sm_80" for each in manifests)


def changed_wheel(wheel: Path, folder: Path, changes: dict[str, tuple[bytes, bytes]]) -> Path:
    """Return a copy of a wheel in which files that end in a name have another content, with the right RECORD."""
    from cuda_wheel.split.wheels import _archive

    files = contents(wheel)
    for name, content in files.items():
        for suffix, (old, new) in changes.items():
            if name.endswith(suffix):
                assert old in content
                files[name] = content.replace(old, new)
    with zipfile.ZipFile(wheel) as archive:
        infos = {info.filename: info for info in archive.infolist()}
    (record,) = (name for name in files if name.endswith("dist-info/RECORD"))
    folder.mkdir()
    path = folder / wheel.name
    path.write_bytes(_archive(files, record, infos, infos[record]))
    return path


def refusal(cuda_wheel: Command, path: Path, output: Path) -> str:
    result = cuda_wheel("split", path, "-o", output)
    assert result.returncode == 1 and "Traceback" not in result.stdout, result.stdout
    assert not output.exists()
    return result.stdout


@pytest.mark.slow
def test_what_cannot_be_divided_is_refused(
    whole_wheel: Parts, parts: Parts, extra: str, tmp_path: Path, cuda_wheel: Command
) -> None:
    output = tmp_path / "output"
    assert "demo/fill.fatbin.json is divided already" in refusal(cuda_wheel, base_of(parts()), output)
    damaged = tmp_path / whole_wheel().name
    content = bytearray(whole_wheel().read_bytes())
    content[len(content) // 2] ^= 1
    damaged.write_bytes(bytes(content))
    refusal(cuda_wheel, damaged, output)
    taken = {"METADATA": (b"Requires-Python", b"Provides-Extra: SM90\nRequires-Python")}
    wheel = changed_wheel(whole_wheel(), tmp_path / "taken", taken)
    assert "demo has an extra sm90 of its own" in refusal(cuda_wheel, wheel, output)
    project = write_project(tmp_path / "project", extra, table=TABLE.replace('split = "architecture"', ""))
    assert 'add split = "architecture" to [tool.cuda-wheel]' in refusal(cuda_wheel, project, output)
    assert "the loader in demo/_cuda_wheel cannot find companions" in refusal(cuda_wheel, built(project), output)


@pytest.mark.slow
def test_base_and_one_companion_are_smaller_than_the_whole_wheel(fixture_wheel: Callable[[str], Path]) -> None:
    whole = fixture_wheel("matmul_templates")
    base, *companions = (len(each.content) for each in split_wheel(whole))
    assert base <= 0.55 * whole.stat().st_size
    assert base + max(companions) <= 0.85 * whole.stat().st_size


@pytest.mark.slow
def test_a_module_without_ptx_stays_whole(extra: str, tmp_path: Path, cuda_wheel: Command) -> None:
    table = '[tool.cuda-wheel]\narchitectures = ["80-real", "90-real"]\nsplit = "architecture"\n'
    project = write_project(tmp_path / "project", extra, table=table)
    wheel = built(project)
    assert "no module has both machine code and PTX" in refusal(cuda_wheel, wheel, tmp_path / "output")
    table = TABLE + '[[tool.cuda-wheel.module]]\nname = "demo.other"\narchitectures = ["90a-real"]\n'
    base, *companions = split_wheel(built(write_project(tmp_path / "mixed", extra, table=table)))
    output = tmp_path / "parts"
    output.mkdir()
    for each in (base, *companions):
        (output / each.file).write_bytes(each.content)
    (manifest,) = all_manifests(contents(output / base.file)["demo/other.fatbin.json"], "other")
    assert [str(image.target) for image in manifest.images] == ["sm_90a"]
    assert all(not name.endswith("demo.other.fatbin") for each in companions for name in contents(output / each.file))
    assert cuda_wheel("verify", *output.iterdir()).returncode == 0


def test_compression_and_a_split_exclude_each_other(extra: str, tmp_path: Path, cuda_wheel: Command) -> None:
    project = write_project(tmp_path / "project", extra, table=TABLE + 'compress = "size"\n')
    message = refusal(cuda_wheel, project, tmp_path / "output")
    assert 'tool.cuda-wheel.compress = "size" and tool.cuda-wheel.split = "architecture" exclude each other' in message


@pytest.mark.slow
def test_a_project_is_built_and_divided_by_one_command(extra: str, tmp_path: Path, cuda_wheel: Command) -> None:
    project = write_project(tmp_path / "project", extra)
    result = cuda_wheel("split", project, "-o", tmp_path / "dist", "--no-build-isolation")
    assert result.returncode == 0, result.stdout
    assert "demo_cuda_sm90-1-py3-none-any.whl: " in result.stdout
    assert "note: on GPUs of compute capability 7.5, the base runs only with its companion" in result.stdout
    assert '"75-virtual" in architectures adds it' in result.stdout
    assert sorted(path.name for path in (tmp_path / "dist").iterdir()) == sorted(
        f"{name}-1-py3-none-any.whl" for name in ("demo", *(f"demo_cuda_{extra}" for extra in EXTRAS))
    )


def test_the_whole_wheel_is_not_overwritten(whole_wheel: Parts, cuda_wheel: Command) -> None:
    before = whole_wheel().read_bytes()
    result = cuda_wheel("split", whole_wheel(), "-o", whole_wheel().parent)
    assert result.returncode == 2 and "has the whole wheel itself" in result.stdout
    assert whole_wheel().read_bytes() == before


@pytest.mark.slow
def test_uv_installs_the_variant_for_the_gpu(whole_wheel: Parts, tmp_path: Path, cuda_wheel: Command) -> None:
    """uv is told which GPU the machine has, by the variables of its provider. Others get the whole wheel, as pip does."""
    folder = tmp_path / "variants"
    result = cuda_wheel("split", whole_wheel(), "-o", folder, "--draft-variants")
    assert result.returncode == 0, result.stdout
    assert "demo-1-py3-none-any-sm90.whl: " in result.stdout
    assert cuda_wheel("verify", *folder.glob("*.whl")).returncode == 0
    python = Environment(tmp_path / "environment").python

    def targets(*command: object, **environ: str) -> set[str]:
        result = run(*command, **environ)
        assert result.returncode == 0, result.stdout
        site = next((tmp_path / "environment").rglob("site-packages"))
        (manifest,) = all_manifests((site / "demo" / "fill.fatbin.json").read_bytes(), "installed")
        return {str(image.target) for image in manifest.images}

    uv = (
        sys.executable,
        "-m",
        "uv",
        "pip",
        "install",
        "--no-cache",
        "--reinstall",
        "--no-index",
        "-p",
        python,
        "-f",
        folder,
    )
    for gpu, expected in (("9.0", "sm_90"), ("8.9", "sm_86"), ("8.0", "sm_80")):
        environ = {"NV_VARIANT_PROVIDER_FORCE_SM_ARCH": gpu, "NV_VARIANT_PROVIDER_FORCE_CUDA_DRIVER_VERSION": "13.0"}
        found = targets(*uv, "--preview-features", "wheel-variants", "demo", **environ)
        if found == {"compute_80", "sm_75", "sm_80", "sm_86", "sm_90"}:
            pytest.skip("this release of uv reads no variants, or another draft")
        assert found == {"compute_80", expected}
    whole = {"compute_80", "sm_75", "sm_80", "sm_86", "sm_90"}
    assert targets(*uv, "--preview-features", "wheel-variants", "demo", CUDA_VISIBLE_DEVICES="") == whole
    pip = (sys.executable, "-m", "pip", "--python", python, "install", "--force-reinstall", "--no-index", "-f", folder)
    assert targets(*pip, "demo") == whole
