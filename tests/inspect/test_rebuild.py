"""`cuda-wheel verify` of a whole wheel, and `--rebuild`: every change to a wheel is reported."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
import struct
import subprocess
import sys
import tarfile
import zipfile
from base64 import urlsafe_b64encode
from collections.abc import Callable, Mapping
from hashlib import sha256, sha512
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from cuda_wheel.builder.manifest_reader import manifest_of
from cuda_wheel.builder.manifest_writer.text import manifest_text
from cuda_wheel.cli.main import main
from cuda_wheel.inspect.archive import file_digests
from cuda_wheel.inspect.manifest_checks import manifest_differences
from cuda_wheel.inspect.modules import find_modules
from cuda_wheel.inspect.rebuild import (
    Comparison,
    compare_wheels,
    pinned_requirements,
    read_sbom,
    rebuild,
    sbom_differences,
)
from cuda_wheel.inspect.wheel_checks import record_differences
from cuda_wheel.runtime.errors import CudaWheelError, ImageError
from tests.support.manifests import plain, text_of
from tests.support.processes import build_wheel
from tests.support.projects import copy_fixture
from tests.support.wheels import contents

pytestmark = pytest.mark.one_toolchain

METADATA = "saxpy_demo-1.0.dist-info"
SBOM, RECORD = f"{METADATA}/sboms/cuda-wheel.cdx.json", f"{METADATA}/RECORD"
FATBIN, MANIFEST = "saxpy_demo/kernels/saxpy.fatbin", "saxpy_demo/kernels/saxpy.fatbin.json"
STUB = "saxpy_demo/kernels/__init__.pyi"
SOURCE = "src/saxpy_demo/kernels/saxpy.cu"
MODULE = "saxpy_demo.kernels.saxpy"

Change = Callable[[bytes], bytes]


def sources(folder: Path, extra: str) -> Path:
    """Return a copy of a fixture with few targets."""
    project = copy_fixture("saxpy", folder, extra)
    with (project / "pyproject.toml").open("a") as stream:
        stream.write('[tool.cuda-wheel]\narchitectures = "80"\n')
    return project


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory, extra: str) -> Path:
    folder = tmp_path_factory.mktemp("built")
    result = build_wheel(sources(folder / "project", extra), folder, CUDA_WHEEL_CACHE_DIR=str(folder / "cache"))
    assert result.returncode == 0, result.stdout
    return next(folder.glob("*.whl"))


@pytest.fixture
def altered(wheel: Path, tmp_path: Path) -> Callable[..., Path]:
    """Return a function that changes or removes files of the wheel, and corrects RECORD unless it is one of them."""

    def altered(changes: Mapping[str, Change | None]) -> Path:
        files = contents(wheel)
        for name, change in changes.items():
            old = files.pop(name, b"")
            files |= {name: change(old)} if change else {}
        if RECORD not in changes:
            files[RECORD] = record(files)
        path = tmp_path / "altered.whl"
        with zipfile.ZipFile(path, "w") as archive:
            for name, content in files.items():
                archive.writestr(name, content)
        return path

    return altered


def record(files: Mapping[str, bytes]) -> bytes:
    rows = io.StringIO()
    for name, content in files.items():
        digest = urlsafe_b64encode(sha256(content).digest()).decode().rstrip("=")
        csv.writer(rows).writerow([name, *(["", ""] if name == RECORD else [f"sha256={digest}", len(content)])])
    return rows.getvalue().encode()


def edited(edit: Callable[[Any], object]) -> Change:
    """Return a function that edits a JSON document; a manifest gets the right SHA-256."""

    def change(content: bytes) -> bytes:
        is_manifest = content.startswith(b'{"format": 4, ')
        document = plain(content) if is_manifest else json.loads(content)
        edit(document)
        if is_manifest:
            return manifest_text(manifest_of(text_of(document), "x")).encode()
        return json.dumps(document).encode()

    return change


# --- RECORD and SBOM ------------------------------------------------------------------------------


@pytest.mark.slow
def test_an_unchanged_wheel_passes(wheel: Path, cuda_wheel) -> None:
    result = cuda_wheel("verify", wheel)
    assert (result.returncode, result.stdout.splitlines()) == (
        0,
        [f"{MODULE}: matches its manifest", "RECORD: matches the files", "SBOM: matches the files"],
    )
    assert json.loads(cuda_wheel("verify", wheel, "--json").stdout) == {
        "modules": [{"name": MODULE, "differences": []}],
        "record": {"differences": []},
        "sbom": {"differences": []},
    }


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"saxpy_demo/__init__.py": lambda old: old + b"import evil\n"},
            "saxpy_demo/__init__.py differs from RECORD",
        ),
        ({"saxpy_demo/evil.py": lambda _: b""}, "saxpy_demo/evil.py is not in RECORD"),
        ({"saxpy_demo/__init__.py": None}, "RECORD lists saxpy_demo/__init__.py, which is not in the wheel"),
        ({RECORD: None}, "the wheel has no RECORD"),
        ({RECORD: lambda old: old + old}, f"RECORD lists {FATBIN} twice"),
        ({RECORD: lambda old: old.replace(b"sha256=", b"md5=")}, f"RECORD has no SHA-256 for {FATBIN}"),
        ({RECORD: lambda _: b"one,two\n"}, "RECORD is not a table of names, hashes and sizes: "),
        ({RECORD: lambda old: old + b"\x1b[2J,,\n"}, "RECORD is not a table of names, hashes and sizes: "),
        ({RECORD: lambda _: b"\xff"}, "RECORD is not a table of names, hashes and sizes: "),
    ],
)
def test_differences_from_record_are_reported(change, message: str, altered) -> None:
    unchanged = {RECORD: lambda old: old} if RECORD not in change else {}
    assert any(line.startswith(message) for line in record_differences(altered(unchanged | change)))


def test_record_may_have_longer_hashes(wheel: Path, altered) -> None:
    content = contents(wheel)[STUB]

    def longer(old: bytes, content: bytes = content) -> bytes:
        digest = urlsafe_b64encode(sha512(content).digest()).rstrip(b"=")
        rows = [row for row in old.splitlines(True) if not row.startswith(STUB.encode())]
        return b"".join(rows) + f"{STUB},sha512={digest.decode()},{len(content)}\n".encode()

    assert record_differences(altered({RECORD: longer})) == []
    assert record_differences(altered({RECORD: lambda old: longer(old, content + b" ")})) == [
        f"{STUB} differs from RECORD"
    ]


def test_a_duplicate_file_is_reported(wheel: Path, tmp_path: Path) -> None:
    twice = tmp_path / "twice.whl"
    twice.write_bytes(wheel.read_bytes())
    with zipfile.ZipFile(twice, "a") as archive, pytest.warns(UserWarning, match="Duplicate"):
        archive.writestr(FATBIN, b"another")
    with pytest.raises(ImageError, match=f"it contains '{FATBIN}' twice"):
        record_differences(twice)


def test_a_file_missing_from_the_central_directory_is_reported(wheel: Path, tmp_path: Path) -> None:
    last, more = tmp_path / "last.whl", tmp_path / "more.whl"
    shutil.copy(wheel, last)
    with zipfile.ZipFile(last, "a") as archive:
        archive.writestr("evil.py", b"")
        archive.filelist.pop()
    assert record_differences(last) == [f"37 bytes after {RECORD} belong to no file"]
    shutil.copy(last, more)
    with zipfile.ZipFile(more, "a") as archive:
        archive.writestr("listed.py", b"")
    assert record_differences(more) == [f"37 bytes after {RECORD} belong to no file", "listed.py is not in RECORD"]
    more.write_bytes(bytes(40) + last.read_bytes())
    assert record_differences(more)[0].startswith("the central directory does not end where")


def test_wrong_offsets_in_the_central_directory_are_reported(wheel: Path, tmp_path: Path) -> None:
    content = bytearray(wheel.read_bytes())
    entry = content.rindex(b"PK\x01\x02", 0, content.rindex(b"PK\x01\x02"))  # the last but one: the SBOM's entry
    (place,) = struct.unpack_from("<I", content, entry + 42)
    other = tmp_path / "other.whl"
    for there in (len(content), place - 9):
        struct.pack_into("<I", content, entry + 42, there)
        other.write_bytes(content)
        with pytest.raises(ImageError, match="cannot be read as a wheel"):
            record_differences(other)


def test_overlapping_files_are_reported(wheel: Path, tmp_path: Path) -> None:
    content = bytearray(wheel.read_bytes())
    entry = content.index(b"PK\x01\x02")  # the entry of a deflated file, whose data marks its own end
    (size,) = struct.unpack_from("<I", content, entry + 20)
    struct.pack_into("<I", content, entry + 20, size + 40)
    (other := tmp_path / "other.whl").write_bytes(content)
    try:
        message = "\n".join(record_differences(other))
    except ImageError as error:
        message = str(error)
    assert " overlaps " in message or "Overlapped entries" in message  # newer versions of zipfile check it themselves


def test_a_file_behind_a_deflate_stream_is_reported(wheel: Path, tmp_path: Path) -> None:
    """Installers that read an archive from its beginning unpack it; `zipfile` reads as many bytes as the sizes say."""
    files = contents(wheel)
    hidden = io.BytesIO()
    with zipfile.ZipFile(hidden, "w") as archive:
        archive.writestr("saxpy_demo/evil.py", b"import os\n")
    evil = hidden.getvalue()[: hidden.getvalue().index(b"PK\1\2")]
    with zipfile.ZipFile(tmp_path / "x.whl", "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    content = bytearray((tmp_path / "x.whl").read_bytes())
    with zipfile.ZipFile(tmp_path / "x.whl") as archive:
        last = archive.infolist()[-1]
        at = last.header_offset + 30 + len(last.filename) + last.compress_size
        entry, end = content.rindex(b"PK\1\2"), content.rindex(b"PK\5\6")
    for place, value in ((entry + 20, last.compress_size + len(evil)), (end + 16, archive.start_dir + len(evil))):
        struct.pack_into("<L", content, place, value)
    struct.pack_into("<L", content, last.header_offset + 18, last.compress_size + len(evil))
    (other := tmp_path / "hidden.whl").write_bytes(content[:at] + evil + content[at:])
    assert file_digests(other).keys() == files.keys()
    assert record_differences(other) == [
        f"{last.filename}: {len(evil)} bytes after its compressed data belong to no file"
    ]


def test_a_data_descriptor_is_part_of_its_file(wheel: Path, tmp_path: Path) -> None:
    streamed = tmp_path / "streamed.whl"
    with streamed.open("wb") as file:
        pipe: Any = SimpleNamespace(write=file.write, flush=file.flush)
        with zipfile.ZipFile(pipe, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in contents(wheel).items():
                archive.writestr(name, content)
    with zipfile.ZipFile(streamed) as archive:
        assert all(info.flag_bits & 8 for info in archive.infolist())
    assert record_differences(streamed) == []


def test_a_fatbin_that_differs_from_the_sbom_is_reported(altered, cuda_wheel) -> None:
    other = {"saxpy_demo/other.fatbin": lambda _: b"code", "saxpy_demo/other.fatbin.json": lambda _: b"{}"}
    path = altered({FATBIN: lambda old: old + b"\0", "saxpy_demo/no_module.fatbin": lambda _: b"code", **other})
    sbom = read_sbom(path)
    assert sbom is not None
    assert sbom_differences(sbom, file_digests(path)) == [
        f"{FATBIN} differs from the SBOM",
        "saxpy_demo/other.fatbin differs from the SBOM",
    ]
    result = cuda_wheel("verify", altered({FATBIN: lambda old: old + b"\0"}))
    assert result.returncode == 1
    assert f"SBOM: {FATBIN} differs from the SBOM" in result.stdout


@pytest.mark.parametrize(
    "text",
    [b"", b"{", b"[]", b"{}", b'{"components": [{}], "dependencies": []}', b"[" * 100_000, b"\xff", b"null",
     b'{"components": [{"bom-ref": "a", "name": "\\u001b[2J", "type": "file"}], "dependencies": []}',
     b'{"components": [], "dependencies": [{"ref": "a", "dependsOn": ["b"]}]}'],
)  # fmt: skip
def test_an_invalid_sbom_is_a_clean_error(text: bytes, altered, cuda_wheel) -> None:
    path = altered({SBOM: lambda _: text})
    with pytest.raises(ImageError, match=r"cuda-wheel\.cdx\.json is not an SBOM of cuda-wheel"):
        read_sbom(path)


def test_an_unprintable_name_is_rejected(altered) -> None:
    path = altered({"saxpy_demo/\x1b[2J.py": lambda _: b""})
    with pytest.raises(ImageError, match="contains a file with the name"):
        record_differences(path)


# --- comparing ------------------------------------------------------------------------------------


def test_a_wheel_equals_itself(wheel: Path) -> None:
    assert compare_wheels(wheel, wheel) == Comparison({MODULE: []}, [], [])


def test_a_forged_wheel_passes_alone_but_differs_from_its_rebuild(wheel: Path, altered) -> None:
    """The machine code is changed, and the manifest, the SBOM and RECORD have the right hashes for it."""
    manifest = plain(contents(wheel)[MANIFEST])
    image = manifest["images"][0]
    fatbin = bytearray(contents(wheel)[FATBIN])
    fatbin[image["offset"] + image["size"] - 1] ^= 1
    code = fatbin[image["offset"] : image["offset"] + image["size"]]

    def in_manifest(document: Any) -> None:
        document["images"][0]["sha256"] = sha256(code).hexdigest()
        document["fatbin"]["sha256"] = sha256(fatbin).hexdigest()

    def in_sbom(document: Any) -> None:
        (component,) = (each for each in document["components"] if each["bom-ref"] == f"wheel:{FATBIN}")
        component["hashes"][0]["content"] = sha256(fatbin).hexdigest()

    path = altered({FATBIN: lambda _: bytes(fatbin), MANIFEST: edited(in_manifest), SBOM: edited(in_sbom)})
    (module,) = find_modules(str(path))
    sbom = read_sbom(path)
    assert sbom is not None
    assert [*manifest_differences(module), *record_differences(path), *sbom_differences(sbom, file_digests(path))] == []
    compared = compare_wheels(path, wheel)
    assert compared.modules == {MODULE: [f"{image['kind']} {image['target']} differs"]}
    assert not compared.is_identical


def in_components(name: str, key: str, value: object) -> Change:
    def edit(document: Any) -> None:
        (component,) = (each for each in document["components"] if each["name"].removesuffix("-cu12") == name)
        component[key] = value

    return edited(edit)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        (
            {MANIFEST: edited(lambda document: document["toolchain"].update(nvrtc="12.0.1"))},
            r"nvrtc 12\.0\.1 in the wheel, [\d.]+ in the rebuild",
        ),
        (
            {SBOM: in_components("nvidia-nvjitlink", "version", "12.0.1")},
            r"nvidia-nvjitlink(-cu12)? 12\.0\.1 in the wheel, [\d.]+ in the rebuild",
        ),
        (
            {SBOM: in_components(SOURCE, "hashes", [{"alg": "SHA-256", "content": "0" * 64}])},
            f"{SOURCE} differs",
        ),
        (
            {SBOM: edited(lambda document: document["dependencies"][0]["dependsOn"].remove(f"source:{SOURCE}"))},
            f"{SOURCE} is only in the rebuild",
        ),
        (
            {MANIFEST: edited(lambda document: document["options"].append("--evil"))},
            r"options --std=c\+\+17 --evil in the wheel, --std=c\+\+17 in the rebuild",
        ),
        ({MANIFEST: edited(lambda document: document["images"].pop(0))}, r"cubin sm_\d+ is only in the rebuild"),
        (
            {MANIFEST: edited(lambda document: document["kernels"][0].update(name="other"))},
            "the manifest or the fatbin differs, but no image",
        ),
        ({FATBIN: lambda old: old + b"\0"}, "the manifest or the fatbin differs, but no image"),
    ],
)
def test_the_differences_of_a_module_are_named(changes, expected: str, wheel: Path, altered) -> None:
    compared = compare_wheels(altered(changes), wheel)
    (line,) = compared.modules[MODULE]
    assert re.fullmatch(expected, line)
    assert not compared.is_identical


@pytest.mark.parametrize(
    ("name", "change", "own"),
    [
        (STUB, lambda old: old + b"# evil\n", True),
        (STUB, None, True),
        (SBOM, None, True),
        (SBOM, lambda old: old + b"\n", True),
        ("saxpy_demo/other.fatbin", lambda _: b"code", True),
        ("saxpy_demo-1.0.data/purelib/saxpy_demo/kernels/saxpy.fatbin", lambda _: b"code", True),
        ("saxpy_demo/_cuda_wheel/loader.py", lambda _: b"import evil\n", True),
        ("saxpy_demo/__init__.py", lambda old: old + b"import evil\n", False),
        (f"{METADATA}/WHEEL", lambda old: old + b"X-Other: 1\n", False),
    ],
)
def test_other_files_count_if_cuda_wheel_writes_them(
    name: str, change: Change | None, own: bool, wheel: Path, altered
) -> None:
    compared = compare_wheels(altered({name: change}), wheel)
    names = [name.replace(METADATA, "dist-info")]
    assert compared == Comparison({MODULE: []}, names if own else [], [] if own else names)
    assert not compared.is_identical
    for patterns, allows in ((names, True), (("*",), True), (("evil", names[0][:-1]), False)):
        assert compared.allowing(patterns).is_identical is (allows and not own)


def test_a_file_that_only_the_wheel_has_fails_until_it_is_allowed(
    wheel: Path, altered, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = altered({"saxpy_demo/evil.py": lambda _: b"import os\n"})
    compared = compare_wheels(path, wheel)
    monkeypatch.setattr("cuda_wheel.cli.verify_command.rebuild", lambda *_: compared)
    command = ["verify", str(path), "--rebuild", "project"]
    assert main(command) == 1
    assert "saxpy_demo/evil.py: the rebuild differs\nnote: --allow PATTERN names" in capsys.readouterr().out
    assert main([*command, "--allow", "saxpy_demo/e*.py"]) == 0
    assert "note: files that may differ do: saxpy_demo/evil.py" in capsys.readouterr().out
    assert main([*command, "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["rebuild"]["others"] == ["saxpy_demo/evil.py"]
    with pytest.raises(SystemExit):
        main(["verify", str(path), "--allow", "*"])


def test_a_module_in_only_one_wheel_is_named(wheel: Path, altered) -> None:
    manifest = contents(wheel)[MANIFEST]
    path = altered({"saxpy_demo/kernels/more.fatbin.json": lambda _: manifest})
    assert compare_wheels(path, wheel).modules == {"saxpy_demo.kernels.more": ["is only in the wheel"], MODULE: []}
    assert compare_wheels(wheel, path).modules["saxpy_demo.kernels.more"] == ["is only in the rebuild"]


def test_a_rebuild_requires_only_what_the_wheel_records(wheel: Path, altered) -> None:
    wanted = pinned_requirements(wheel)
    names = [pin.partition("==")[0].removesuffix("-cu12") for pin in wanted]
    assert names == ["cuda-wheel", "hatchling", "nvidia-cuda-nvrtc", "nvidia-nvfatbin", "nvidia-nvjitlink"]
    assert all(version(pin.partition("==")[0]) == pin.partition("==")[2] for pin in wanted)
    strange = ["--index-url", "a\n-r b", "a @ https://c", ""]
    for key in ("name", "version"):
        for value in strange:
            path = altered({SBOM: in_components("nvidia-nvjitlink", key, value)})
            try:
                assert pinned_requirements(path) == [pin for pin in wanted if "nvjitlink" not in pin]
            except ImageError:
                assert "\n" in value
    setuptools = altered({f"{METADATA}/WHEEL": lambda _: b"Generator: setuptools (84.2.1)\n"})
    assert "setuptools==84.2.1" in pinned_requirements(setuptools)
    for generator, pin in {"uv 0.13.6": "uv-build==0.13.6", "flit 4.2.0": "flit-core==4.2.0"}.items():
        line = f"Generator: {generator}\n".encode()
        assert pin in pinned_requirements(altered({f"{METADATA}/WHEEL": lambda _, line=line: line}))


def test_a_wheel_without_an_sbom_records_its_compilers(wheel: Path, altered) -> None:
    nvrtc = plain(contents(wheel)[MANIFEST])["toolchain"]["nvrtc"]
    release = ".".join(nvrtc.split(".")[:2])
    suffix = "-cu12" if nvrtc.startswith("12.") else ""
    assert [pin for pin in pinned_requirements(altered({SBOM: None})) if "hatchling" not in pin] == [
        f"nvidia-cuda-nvrtc{suffix}=={nvrtc}",
        f"nvidia-nvfatbin{suffix}=={release}.*",
        f"nvidia-nvjitlink{suffix}=={release}.*",
    ]


# --- rebuilding -----------------------------------------------------------------------------------


def packed(project: Path, sdist: Path) -> Path:
    with tarfile.open(sdist, "w:gz") as archive:
        archive.add(project, "saxpy_demo-1.0")
    return sdist


@pytest.mark.slow
def test_another_machine_rebuilds_the_same_bytes(wheel: Path, extra: str, cuda_wheel, tmp_path: Path) -> None:
    """In another folder, from an sdist, with another cache, another number of workers and another date."""
    sdist = packed(sources(tmp_path / "elsewhere", extra), tmp_path / "saxpy_demo-1.0.tar.gz")
    before = wheel.read_bytes(), sdist.read_bytes()
    environ = {
        "CUDA_WHEEL_JOBS": "1",
        "CUDA_WHEEL_CACHE_DIR": str(tmp_path / "cache"),
        "SOURCE_DATE_EPOCH": "1000000000",
        "PIP_VERBOSE": "1",
    }
    result = cuda_wheel("verify", wheel, "--rebuild", sdist, "--no-build-isolation", **environ)
    assert result.returncode == 0, result.stdout
    assert f"{MODULE}: the rebuild is identical\n" in result.stdout
    assert "the rebuild differs" not in result.stdout
    assert ": 1 compiled" in result.stdout
    assert not (tmp_path / "cache").exists()
    assert before == (wheel.read_bytes(), sdist.read_bytes())


def test_uv_builds_if_pip_is_not_installed(
    monkeypatch: pytest.MonkeyPatch, wheel: Path, extra: str, tmp_path: Path
) -> None:
    monkeypatch.setattr("cuda_wheel.inspect.rebuild.PathFinder", SimpleNamespace(find_spec=lambda name: None))
    monkeypatch.setattr(shutil, "which", lambda name: name)
    called: list[list[str]] = []

    def run(command: list[str], **options: Any) -> subprocess.CompletedProcess[bytes]:
        called.append(command)
        assert Path(command[command.index("--build-constraints") + 1]).read_text().splitlines() == pinned_requirements(
            wheel
        )
        output = Path(command[command.index("-o") + 1])
        output.mkdir()
        shutil.copy(wheel, output)
        return subprocess.CompletedProcess(command, 0)

    monkeypatch.setattr(subprocess, "run", run)
    project = sources(tmp_path / "project", extra)
    assert rebuild(wheel, project).is_identical
    assert called[0][:3] == ["uv", "build", "--wheel"]
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(CudaWheelError, match="neither pip nor uv is installed"):
        rebuild(wheel, project)


@pytest.mark.slow
def test_a_changed_source_is_named_and_fails(wheel: Path, extra: str, tmp_path: Path) -> None:
    project = sources(tmp_path / "project", extra)
    source = project / SOURCE
    source.write_text(source.read_text().replace("a * x[i] + y[i]", "a * x[i] - y[i]"))
    for folder in ("build", "dist", ".venv"):  # results of earlier work are neither used nor changed
        (project / folder).mkdir()
        (project / folder / "file").write_text("left")
    command = [sys.executable, "-m", "cuda_wheel", "verify", wheel, "--rebuild", project, "--no-build-isolation"]
    result = subprocess.run([*map(str, command), "--json"], capture_output=True, text=True, check=False)
    assert result.returncode == 1
    found = json.loads(result.stdout)
    assert found["modules"] == [{"name": MODULE, "differences": []}]
    rebuilt = found["rebuild"]
    assert (rebuilt["identical"], rebuilt["files"], rebuilt["others"]) == (False, [], [])
    lines = rebuilt["modules"][MODULE]
    assert lines[0] == f"{SOURCE} differs"
    images = plain(contents(wheel)[MANIFEST])["images"]
    assert len(lines) == 1 + len(images) and all(line.endswith(" differs") for line in lines)


def test_a_failed_rebuild_is_a_clean_error(wheel: Path, extra: str, cuda_wheel, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "text.tar.gz").write_text("nothing")
    project = sources(tmp_path / "project", extra)
    with (project / "pyproject.toml").open("a") as stream:
        stream.write("no-such-key = 1\n")
    with tarfile.open(tmp_path / "climbing.tar.gz", "w:gz") as archive:
        archive.add(project, "../../climbed")
    with tarfile.open(tmp_path / "several.tar.gz", "w:gz") as archive:
        archive.add(project, "one")
        archive.add(project, "two")
    for name, message in {
        "empty": "has no pyproject.toml",
        "nowhere": "is neither a project's folder nor an sdist",
        "text.tar.gz": "is neither a project's folder nor an sdist",
        "climbing.tar.gz": "is neither a project's folder nor an sdist",
        "several.tar.gz": "is neither a project's folder nor an sdist",
    }.items():
        with pytest.raises(CudaWheelError, match=message):
            rebuild(wheel, tmp_path / name, isolated=False)
    result = cuda_wheel("verify", wheel, "--rebuild", project, "--no-build-isolation")
    assert result.returncode == 1
    assert 'has no key "no-such-key"' in result.stdout
    assert f"cuda-wheel: {project} does not build: " in result.stdout
    assert not list(tmp_path.rglob("climbed"))


def test_only_a_wheel_has_a_record_and_can_be_rebuilt(wheel: Path, cuda_wheel, tmp_path: Path) -> None:
    folder = tmp_path / "unpacked"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    for arguments, message in (
        ([folder, "--rebuild", tmp_path], "--rebuild needs a wheel"),
        ([wheel, "--no-build-isolation"], "--no-build-isolation needs --rebuild"),
    ):
        result = cuda_wheel("verify", *arguments)
        assert result.returncode == 2
        assert message in result.stdout
    result = cuda_wheel("verify", folder)
    assert (result.returncode, result.stdout) == (0, f"{MODULE}: matches its manifest\n")
