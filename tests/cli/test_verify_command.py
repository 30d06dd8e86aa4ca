"""`cuda-wheel verify`: what it compares of a wheel and of an installation, and the exit status."""

from __future__ import annotations

import json
import shutil
import subprocess
import zipfile
from base64 import urlsafe_b64encode
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import Any

import pytest

from cuda_wheel.cli.main import main
from tests.cli.shapes import SHAPES
from tests.support.manifests import rewritten
from tests.support.variants import ATTACHING

pytestmark = pytest.mark.one_toolchain

Command = Callable[..., subprocess.CompletedProcess[str]]


def test_verify_passes_what_was_built(fixture_wheel, unpacked, cuda_wheel: Command) -> None:
    for path in (fixture_wheel("stencil"), unpacked("stencil")):
        result = cuda_wheel("verify", path)
        assert result.returncode == 0
        assert result.stdout.startswith("stencil_demo.kernels.stencil: matches its manifest\n")


@pytest.mark.slow
def test_record_and_the_images_are_checked_apart(fixture_wheel, tmp_path: Path, cuda_wheel: Command) -> None:
    """The manifest and, in the second case, RECORD have the right hashes for a changed target."""
    with zipfile.ZipFile(fixture_wheel("stencil")) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    manifest = next(name for name in files if name.endswith(".fatbin.json"))
    record = next(name for name in files if name.endswith("/RECORD"))
    old = files[manifest]
    files[manifest] = rewritten(old.decode(), ("images", 0, "target"), "sm_86").encode()
    assert recorded(old) in files[record]
    whole = files | {record: files[record].replace(recorded(old), recorded(files[manifest]))}
    for number, (content, line) in enumerate(
        [
            (files, "RECORD: stencil_demo/kernels/stencil.fatbin.json differs from RECORD"),
            (whole, "RECORD: matches the files"),
        ]
    ):
        with zipfile.ZipFile(tmp_path / f"{number}.whl", "w") as archive:
            for name, text in content.items():
                archive.writestr(name, text)
        result = cuda_wheel("verify", tmp_path / f"{number}.whl")
        assert result.returncode == 1
        assert "stencil_demo.kernels.stencil: cubin sm_86 is for sm_80" in result.stdout
        assert line in result.stdout


def recorded(content: bytes) -> bytes:
    """Return the hash and size of a file as RECORD lists them."""
    return urlsafe_b64encode(sha256(content).digest()).rstrip(b"=") + b",%d" % len(content)


def test_verify_checks_installed_files_against_record(unpacked, cuda_wheel: Command) -> None:
    folder = unpacked("saxpy")
    path = folder / "saxpy_demo/kernels/saxpy.fatbin.json"
    path.write_text(rewritten(path.read_text(), ("options",), ["--other"]))
    for place in (folder, folder / "saxpy_demo", path.with_suffix("")):
        result = cuda_wheel("verify", place)
        assert (result.returncode, f"{path} differs from RECORD" in result.stdout) == (1, True)


@pytest.mark.slow
def test_a_damaged_wheel_is_an_error_without_a_traceback(fixture_wheel, cuda_wheel: Command, tmp_path: Path) -> None:
    content = fixture_wheel("saxpy").read_bytes()
    random = Random(0)
    for number in range(12):
        damaged = bytearray(content)
        for _ in range(1 + number):
            damaged[random.randrange(len(damaged))] ^= 1 << random.randrange(8)
        path = tmp_path / "damaged.whl"
        path.write_bytes(damaged[: random.randrange(len(damaged))] if number % 3 == 0 else damaged)
        result = cuda_wheel("verify", path)
        assert "Traceback" not in result.stdout
        assert result.returncode in (0, 1)  # the changed bit may be outside the module's files


@pytest.mark.slow
def test_a_rebuild_is_identical(shape: str, project: Path, wheel: Path, capfd: pytest.CaptureFixture[str]) -> None:
    command = ["verify", str(wheel), "--rebuild", str(project), "--no-build-isolation"]
    assert main(command) == 0, capfd.readouterr().out
    shown = capfd.readouterr().out
    assert all(f"{name}: the rebuild is identical" in shown for name in SHAPES[shape].modules)
    shutil.rmtree(project)


@pytest.mark.slow
@pytest.mark.parametrize("shape", ["several modules"])
def test_a_rebuild_with_another_file_names_it(
    shape: str, project: Path, wheel: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (project / "demo/__init__.py").write_text(ATTACHING + "# changed\n")
    assert main(["verify", str(wheel), "--rebuild", str(project), "--no-build-isolation", "--json"]) == 1
    rebuilt: dict[str, Any] = json.loads(capfd.readouterr().out)["rebuild"]
    assert rebuilt["others"] == ["demo/__init__.py"] and set(rebuilt["modules"]) == SHAPES[shape].modules


@pytest.mark.parametrize(
    "options",
    [
        ["--rebuild", "."],
        ["--allow", "x"],
        ["--no-build-isolation"],
        ["--offline"],
        ["--offline", "--publisher", "github:acme/saxpy"],
        ["--index", "https://example.com/simple"],
    ],
)
def test_an_option_without_what_it_needs_is_wrong_usage(
    options: list[str], tmp_path: Path, unpacked, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as exit:
        main(["verify", str(unpacked("saxpy")), *options])
    assert exit.value.code == 2
    assert f"{options[0]} needs " in capsys.readouterr().err


# --- who published it: tests/inspect/test_publisher.py has which attestations prove it ------------------------


def test_verify_says_who_published_a_wheel(
    fixture_wheel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("pypi_attestations")
    from tests.support.private_sigstore import COMMIT, PrivateSigstore

    sigstore = PrivateSigstore()
    for name, value in sigstore.trust(tmp_path / "home").items():
        monkeypatch.setenv(name, value)
    wheel = Path(shutil.copy(fixture_wheel("saxpy"), tmp_path))
    command = ["verify", str(wheel), "--offline", "--publisher"]
    assert main([*command, "github:acme/saxpy"]) == 1
    captured = capsys.readouterr()
    assert captured.out.splitlines()[-1] == (
        f"publisher: nothing proves that github:acme/saxpy published it: no {wheel.name}.publish.attestation lies beside "
        "the wheel, and --offline asks no index"
    )
    file = wheel.with_name(f"{wheel.name}.publish.attestation")
    file.write_text(json.dumps(sigstore.attest(wheel)))
    assert main([*command, "github:acme/saxpy"]) == 0
    captured = capsys.readouterr()
    assert captured.err == "" and captured.out.splitlines() == [
        "saxpy_demo.kernels.saxpy: matches its manifest",
        "RECORD: matches the files",
        "SBOM: matches the files",
        f"publisher: github:acme/saxpy/release.yml attests it (attestations/publish/v1) at refs/tags/v1.0 {COMMIT}",
    ]
    assert main([*command, "github:mallory/saxpy"]) == 1
    assert capsys.readouterr().out.splitlines()[-1] == (
        f"publisher: {file.name} does not prove github:mallory/saxpy: it is of github:acme/saxpy/release.yml, "
        "not of github:mallory/saxpy"
    )
    assert main([*command, "github:mallory/saxpy", "--json"]) == 1
    document: dict[str, Any] = json.loads(capsys.readouterr().out)["publisher"]
    assert (document["name"], document["proven"]) == ("github:mallory/saxpy", False)
    assert document["attestations"][0]["publisher"] == "github:acme/saxpy/release.yml"
    file.write_text("{}")
    assert main([*command, "github:acme/saxpy"]) == 1
    assert f"cuda-wheel: {file.name} has no attestation in the form of PEP 740" in capsys.readouterr().err


def test_a_publisher_in_another_form_is_wrong_usage(unpacked, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit:
        main(["verify", str(unpacked("saxpy")), "--publisher", "acme/saxpy"])
    assert exit.value.code == 2
    assert "expected github:OWNER/REPOSITORY or github:OWNER/REPOSITORY/WORKFLOW.yml" in capsys.readouterr().err
