"""Who published what is installed: the wheel of an index that it came from, and the files that differ from it."""

from __future__ import annotations

import json
import shutil
import sys
import zipfile
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from cuda_wheel.cli.main import main
from cuda_wheel.inspect import publisher as checks
from tests.support.package_index import FILE, INTEGRITY, SIMPLE, Answers
from tests.support.processes import run
from tests.support.shared_folders import Share

pytest.importorskip("pypi_attestations")
from tests.support.private_sigstore import PrivateSigstore

pytestmark = pytest.mark.one_toolchain

WHO = "github:acme/saxpy"
LIST, PLACE = "/simple/saxpy-demo/", "/provenance"


@pytest.fixture
def site(fixture_wheel: Callable[[str], Path], share: Share, tmp_path: Path) -> Path:
    """A folder in which pip has installed the wheel of the fixture `saxpy`."""

    def fill(folder: Path) -> None:
        options = ["--no-deps", "--no-index", "--quiet", "--target", folder]
        result = run(sys.executable, "-m", "pip", "install", *options, fixture_wheel("saxpy"))
        assert result.returncode == 0, result.stdout

    return Path(shutil.copytree(share("installed-saxpy", fill), tmp_path / "site"))


@pytest.fixture
def answers(
    fixture_wheel: Callable[[str], Path], index: tuple[str, Answers], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Answers:
    """The answers of an index that has the wheel, with an attestation of `WHO`."""
    sigstore, wheel = PrivateSigstore(), fixture_wheel("saxpy")
    for name, value in sigstore.trust(tmp_path / "home").items():
        monkeypatch.setenv(name, value)
    problem = checks._problem
    monkeypatch.setattr(checks, "_problem", lambda *arguments: problem(*arguments[:3], True))  # no network
    publisher = {"kind": "GitHub", "repository": "acme/saxpy", "workflow": "release.yml"}
    bundle = {"publisher": publisher, "attestations": [sigstore.attest(wheel)]}
    index[1][LIST] = SIMPLE, listed(file(wheel))
    index[1][PLACE] = INTEGRITY, json.dumps({"version": 1, "attestation_bundles": [bundle]})
    index[1]["/files/it.whl"] = FILE, wheel.read_bytes()
    return index[1]


def file(wheel: Path, name: str = "") -> dict[str, Any]:
    digest = sha256(wheel.read_bytes()).hexdigest()
    hashes = {"sha256": digest}
    return {"filename": name or wheel.name, "url": "/files/it.whl", "hashes": hashes, "provenance": PLACE}


def listed(*files: dict[str, Any]) -> str:
    return json.dumps({"meta": {"api-version": "1.3"}, "name": "saxpy-demo", "files": files})


@pytest.fixture
def verify(
    site: Path, answers: Answers, index: tuple[str, Answers], capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str]]:
    """Return a function that verifies what is installed, and returns the exit status and the output."""

    def call(*options: str) -> tuple[int, str]:
        capsys.readouterr()
        status = main(["verify", str(site), "--publisher", WHO, "--index", index[0], *options])
        return status, "".join(capsys.readouterr())

    return call


Verify = Callable[..., tuple[int, str]]


def test_installed_files_are_proven_by_the_wheel_of_the_index(verify: Verify, site: Path) -> None:
    status, shown = verify()
    assert status == 0, shown
    assert shown.splitlines()[-2].startswith("publisher: github:acme/saxpy/release.yml attests it")
    assert shown.splitlines()[-1] == "installed: the files are those of saxpy_demo-1.0-py3-none-any.whl"
    (site / "saxpy_demo/__pycache__").mkdir(exist_ok=True)
    (site / "saxpy_demo/__pycache__/x.pyc").touch()  # bytecode is not compared
    document = json.loads(verify("--json")[1])["publisher"]
    assert document["proven"] and document["differences"] == []
    assert document["wheel"] == "saxpy_demo-1.0-py3-none-any.whl"


def test_each_installed_file_that_differs_is_named(verify: Verify, site: Path) -> None:
    (site / "saxpy_demo/__init__.py").write_text("import os")
    (site / "saxpy_demo/kernels/extra.py").touch()
    (site / "saxpy_demo-1.0.dist-info/sboms/cuda-wheel.cdx.json").unlink()
    status, shown = verify()
    assert status == 1
    assert shown.splitlines()[-1].removeprefix("installed: ").split("; ") == [
        "saxpy_demo/__init__.py differs from the wheel",
        "saxpy_demo-1.0.dist-info/sboms/cuda-wheel.cdx.json cannot be read: No such file or directory",
        "saxpy_demo/kernels/extra.py is not in the wheel",
    ]
    assert json.loads(verify("--json")[1])["publisher"]["proven"]  # the wheel is


def test_an_index_that_has_no_attestation_proves_nothing(
    verify: Verify, answers: Answers, fixture_wheel: Callable[[str], Path]
) -> None:
    answers[LIST] = SIMPLE, listed(file(fixture_wheel("saxpy")) | {"provenance": None})
    status, shown = verify()
    assert status == 1 and f"nothing proves that {WHO} published it" in shown


@pytest.mark.parametrize(
    ("names", "count"),
    [
        ([], "no"),
        (
            ["saxpy_demo-2.0-py3-none-any.whl", "saxpy_demo-1.0.tar.gz", "saxpy_demo-1.0-cp312-cp312-win_amd64.whl"],
            "no",
        ),
        (["saxpy_demo-1.0-py3-none-any.whl", "saxpy_demo-1.0-1-py3-none-any.whl"], "2"),
    ],
)
def test_an_index_without_one_wheel_that_fits_is_an_error(
    names: list[str], count: str, verify: Verify, answers: Answers, fixture_wheel: Callable[[str], Path]
) -> None:
    answers[LIST] = SIMPLE, listed(*(file(fixture_wheel("saxpy"), name) for name in names))
    status, shown = verify()
    assert status == 1
    assert f"{LIST} has {count} wheels that fit the installed saxpy-demo 1.0 (py3-none-any); one is needed." in shown


def test_a_download_that_is_not_what_the_index_states_is_an_error(verify: Verify, answers: Answers) -> None:
    answers["/files/it.whl"] = FILE, b"another"
    status, shown = verify()
    assert status == 1 and "and the index states" in shown


def test_modules_that_no_installer_recorded_are_an_error(verify: Verify, site: Path) -> None:
    (site / "saxpy_demo-1.0.dist-info/RECORD").unlink()
    status, shown = verify()
    assert status == 1 and "needs a wheel or one installed package: no RECORD lists some modules." in shown


def test_modules_of_several_distributions_are_an_error(
    verify: Verify, site: Path, fixture_wheel: Callable[[str], Path]
) -> None:
    with zipfile.ZipFile(fixture_wheel("stencil")) as archive:
        archive.extractall(site)
    status, shown = verify()
    assert status == 1 and "one installed package: several distributions installed these." in shown
    (site / "saxpy_demo-1.0.dist-info/RECORD").unlink()
    assert "one installed package: no RECORD lists some modules." in verify()[1]


@pytest.mark.parametrize("name", ["METADATA", "WHEEL"])
def test_metadata_that_names_no_wheel_is_an_error(name: str, verify: Verify, site: Path) -> None:
    path = site / "saxpy_demo-1.0.dist-info" / name
    path.write_text("Metadata-Version: 2.4\n")
    assert f"{path.parent} does not say which wheel was installed." in verify()[1]
    path.unlink()
    assert f"{path.parent} does not say which wheel was installed." in verify()[1]
