"""Who published a wheel: attestations that prove it, and those that do not.

A Sigstore of the tests' own signs them, so that each part of an attestation can be wrong by itself; the last test has real ones.
"""

from __future__ import annotations

import base64
import json
import subprocess
import sys
import tarfile
from collections.abc import Callable
from functools import partial, reduce
from hashlib import sha256
from operator import getitem
from pathlib import Path
from typing import Any

import pytest

from cuda_wheel.inspect import package_index
from cuda_wheel.inspect import publisher as checks
from cuda_wheel.inspect.publisher import CheckedAttestation, PublisherCheck, check_publisher, parse_publisher
from cuda_wheel.runtime.errors import CudaWheelError, ImageError
from tests.support.package_index import INTEGRITY, SIMPLE, Answers

pytest.importorskip("pypi_attestations")
from tests.support.private_sigstore import COMMIT, PUBLISH, PrivateSigstore

pytestmark = pytest.mark.one_toolchain

WHO = "github:acme/saxpy/release.yml"
SLSA = "https://slsa.dev/provenance/v1"

Check = Callable[..., PublisherCheck]


@pytest.fixture(scope="module")
def sigstore() -> PrivateSigstore:
    return PrivateSigstore()


@pytest.fixture
def wheel(tmp_path: Path, sigstore: PrivateSigstore, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file with the name of a wheel; what is checked offline trusts the Sigstore of the tests."""
    for name, value in sigstore.trust(tmp_path / "home").items():
        monkeypatch.setenv(name, value)
    path = tmp_path / "dist/saxpy_demo-1.0-py3-none-any.whl"
    path.parent.mkdir()
    path.write_bytes(b"the bytes that were published")
    return path


@pytest.fixture
def check(wheel: Path) -> Check:
    """Return a function that writes these attestations beside the wheel, and checks it offline."""

    def write_and_check(*attestations: dict[str, Any], who: str = WHO) -> PublisherCheck:
        for number, attestation in enumerate(attestations):
            wheel.with_name(f"{wheel.name}.{number}.attestation").write_text(json.dumps(attestation))
        return check_publisher(wheel, parse_publisher(who), offline=True)

    return write_and_check


# --- names of publishers ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("github:acme/saxpy", ("github", "acme/saxpy", "")),
        ("github:acme/saxpy.py/release.yaml", ("github", "acme/saxpy.py", "release.yaml")),
        ("gitlab:acme/saxpy", ("gitlab", "acme/saxpy", "")),
        ("gitlab:acme/tools/gpu/saxpy", ("gitlab", "acme/tools/gpu/saxpy", "")),
        ("gitlab:acme/tools/saxpy//.gitlab-ci.yml", ("gitlab", "acme/tools/saxpy", ".gitlab-ci.yml")),
        ("gitlab:acme/saxpy//ci/publish.yml", ("gitlab", "acme/saxpy", "ci/publish.yml")),
    ],
)
def test_a_publisher_is_read_and_written_in_one_form(text: str, parts: tuple[str, str, str]) -> None:
    publisher = parse_publisher(text)
    assert (publisher.host, publisher.repository, publisher.workflow) == parts and str(publisher) == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "acme/saxpy",
        "github:acme",
        "github:acme/saxpy/",
        "github:acme/saxpy/release.txt",
        "github:acme/saxpy/.github/workflows/release.yml",
        "github:acme/saxpy@v1",
        "gitlab:acme",
        "gitlab:acme/saxpy/.gitlab-ci.yml//",
        "https://github.com/acme/saxpy",
        "bitbucket:acme/saxpy",
    ],
)
def test_another_form_is_an_error_that_shows_the_forms(text: str) -> None:
    with pytest.raises(ValueError, match="names no publisher: expected github:OWNER/REPOSITORY or "):
        parse_publisher(text)


# --- attestations that prove it ------------------------------------------------------------------------


@pytest.mark.parametrize("who", [WHO, "github:acme/saxpy"])
@pytest.mark.parametrize("kind", [PUBLISH, SLSA])
def test_an_attestation_of_the_publisher_proves_it(
    who: str, kind: str, wheel: Path, check: Check, sigstore: PrivateSigstore
) -> None:
    found = check(sigstore.attest(wheel, kind=kind), who=who)
    assert found.is_proven
    assert found.attestations == [
        CheckedAttestation(f"{wheel.name}.0.attestation", "", kind, WHO, "refs/tags/v1.0", COMMIT)
    ]


def test_a_pipeline_of_gitlab_proves_it(wheel: Path, check: Check, sigstore: PrivateSigstore) -> None:
    attestation = sigstore.attest(
        wheel, "https://gitlab.com/acme/tools/saxpy", "//.gitlab-ci.yml", issuer="https://gitlab.com"
    )
    for who in ("gitlab:acme/tools/saxpy", "gitlab:acme/tools/saxpy//.gitlab-ci.yml"):
        assert check(attestation, who=who).is_proven
    for who in ("gitlab:acme/tools/saxpy//other.yml", "gitlab:acme/tools", "github:tools/saxpy"):
        (found,) = check(attestation, who=who).attestations
        assert found.problem == f"it is of gitlab:acme/tools/saxpy//.gitlab-ci.yml, not of {who}"


def test_one_right_attestation_is_enough(wheel: Path, check: Check, sigstore: PrivateSigstore) -> None:
    found = check(sigstore.attest(wheel, "https://github.com/mallory/saxpy"), sigstore.attest(wheel))
    assert found.is_proven and [not each.problem for each in found.attestations] == [False, True]


def test_what_an_index_answers_may_lie_beside_the_wheel(wheel: Path, check: Check, sigstore: PrivateSigstore) -> None:
    wheel.with_name(f"{wheel.name}.provenance").write_text(json.dumps(provenance(sigstore.attest(wheel))))
    assert check().is_proven and not check(who="github:mallory/saxpy").is_proven


def provenance(*attestations: dict[str, Any]) -> dict[str, Any]:
    """Return what an index answers for a file with these attestations."""
    publisher = {"kind": "GitHub", "repository": "acme/saxpy", "workflow": "release.yml"}
    return {"version": 1, "attestation_bundles": [{"publisher": publisher, "attestations": [*attestations]}]}


# --- those that do not ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("signer", "identity"),
    [
        ({"repository": "https://github.com/mallory/saxpy"}, "github:mallory/saxpy/release.yml"),
        ({"repository": "https://github.com/acme/saxpy-fork"}, "github:acme/saxpy-fork/release.yml"),
        ({"workflow": "/.github/workflows/tests.yml"}, "github:acme/saxpy/tests.yml"),
        ({"issuer": "https://accounts.example.com"}, "an account at https://accounts.example.com"),
    ],
)
def test_another_publisher_is_named(
    signer: dict[str, str], identity: str, wheel: Path, check: Check, sigstore: PrivateSigstore
) -> None:
    attestation = sigstore.attest(wheel, **signer)
    for who in [WHO] if "workflow" in signer else [WHO, "github:acme/saxpy"]:
        found = check(attestation, who=who)
        assert not found.is_proven and found.attestations[0].problem == f"it is of {identity}, not of {who}"


def test_a_changed_wheel_is_not_what_was_attested(wheel: Path, check: Check, sigstore: PrivateSigstore) -> None:
    attestation, old = sigstore.attest(wheel), sha256(wheel.read_bytes()).hexdigest()
    wheel.write_bytes(wheel.read_bytes() + b"!")
    found = check(attestation)
    assert not found.is_proven
    new = sha256(wheel.read_bytes()).hexdigest()
    assert f"it is about {wheel.name} with the SHA-256 {old}, and the wheel has {new}" in found.attestations[0].problem


def test_the_attestation_of_another_file_proves_nothing(wheel: Path, check: Check, sigstore: PrivateSigstore) -> None:
    other = wheel.with_name("saxpy_demo-0.9-py3-none-any.whl")
    other.write_bytes(wheel.read_bytes())
    found = check(sigstore.attest(other))
    assert not found.is_proven and f"it is about {other.name} with" in found.attestations[0].problem


def test_another_sigstore_is_not_trusted(wheel: Path, check: Check) -> None:
    found = check(PrivateSigstore().attest(wheel))
    assert not found.is_proven and found.attestations[0].problem
    assert "it is of" not in found.attestations[0].problem  # what its certificate claims is not a fact


def test_a_claim_of_another_kind_proves_nothing(wheel: Path, check: Check, sigstore: PrivateSigstore) -> None:
    found = check(sigstore.attest(wheel, kind="https://example.com/reviewed/v1"))
    assert not found.is_proven and "https://example.com/reviewed/v1" in found.attestations[0].problem


MATERIAL: list[Any] = ["verification_material"]
ENTRY = [*MATERIAL, "transparency_entries", 0]


@pytest.mark.parametrize("place", ["certificate", "statement", "signature", "body", "promise", "checkpoint", "root"])
def test_a_changed_part_of_an_attestation_proves_nothing(
    place: str, wheel: Path, check: Check, sigstore: PrivateSigstore
) -> None:
    """Each part is replaced by that of another attestation, of the same file and signer."""
    attestation, other = sigstore.attest(wheel), sigstore.attest(wheel, kind=SLSA)
    assert check(attestation).is_proven
    parent, key = {
        "certificate": (MATERIAL, "certificate"),
        "statement": (["envelope"], "statement"),
        "signature": (["envelope"], "signature"),
        "body": (ENTRY, "canonicalizedBody"),
        "promise": (ENTRY, "inclusionPromise"),
        "checkpoint": ([*ENTRY, "inclusionProof"], "checkpoint"),
        "root": ([*ENTRY, "inclusionProof"], "rootHash"),
    }[place]
    mine, theirs = (reduce(getitem, parent, each) for each in (attestation, other))
    mine[key] = theirs[key]
    found = check(attestation)
    assert not found.is_proven and found.attestations[0].problem
    assert "it is of" not in found.attestations[0].problem


def test_without_an_attestation_the_answer_says_where_it_was_looked_for(wheel: Path, check: Check) -> None:
    found = check()
    assert not found.is_proven and found.attestations == []
    assert found.searched == (f"no {wheel.name}.publish.attestation lies beside the wheel, and --offline asks no index")


@pytest.mark.parametrize("text", ["", "[]", "{}", "not JSON", '{"attestation_bundles": 1}', "[" * 100_000])
def test_a_file_that_is_no_attestation_is_an_error(text: str, wheel: Path) -> None:
    wheel.with_name(f"{wheel.name}.publish.attestation").write_text(text)
    with pytest.raises(CudaWheelError, match=r"publish\.attestation has no attestation in the form of PEP 740"):
        check_publisher(wheel, parse_publisher(WHO), offline=True)


def test_a_certificate_that_cannot_be_read_proves_nothing(wheel: Path, check: Check, sigstore: PrivateSigstore) -> None:
    attestation = sigstore.attest(wheel)
    attestation["verification_material"]["certificate"] = base64.b64encode(b"no certificate").decode()
    found = check(attestation)
    assert not found.is_proven and found.attestations[0].problem


def test_a_statement_that_is_not_json_proves_nothing(wheel: Path, check: Check, sigstore: PrivateSigstore) -> None:
    attestation = sigstore.attest(wheel)
    attestation["envelope"]["statement"] = base64.b64encode(b"{").decode()
    found = check(attestation)
    assert not found.is_proven and found.attestations[0].problem


def test_a_renamed_wheel_is_an_error_that_says_so(wheel: Path) -> None:
    renamed = wheel.rename(wheel.with_name("saxpy.whl"))
    with pytest.raises(CudaWheelError, match=r"saxpy\.whl is not the name of a wheel"):
        check_publisher(renamed, parse_publisher(WHO), offline=True)


def test_without_the_library_the_error_says_what_to_install(wheel: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(CudaWheelError, match=r"pip install 'cuda-wheel\[verify\]'"):
        check_publisher(wheel, parse_publisher(WHO))


def test_keys_that_cannot_be_refreshed_are_an_error_that_names_offline(
    wheel: Path, sigstore: PrivateSigstore, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTPS_PROXY", "https_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")  # where nothing answers
    wheel.with_name(f"{wheel.name}.publish.attestation").write_text(json.dumps(sigstore.attest(wheel)))
    with pytest.raises(CudaWheelError, match=r"keys of Sigstore cannot be refreshed .* --offline uses those that are"):
        check_publisher(wheel, parse_publisher(WHO))


# --- an index -----------------------------------------------------------------------------------------------


@pytest.fixture
def from_index(wheel: Path, index: tuple[str, Answers], monkeypatch: pytest.MonkeyPatch) -> Check:
    """Return a function that checks the wheel with the index, and with keys that need no refreshing."""
    problem = checks._problem
    monkeypatch.setattr(checks, "_problem", lambda *arguments: problem(*arguments[:3], True))
    return partial(check_publisher, wheel, parse_publisher(WHO), index[0])


def listed(wheel: Path, **more: Any) -> str:
    """Return the list of an index's files, with the wheel."""
    digest = sha256(wheel.read_bytes()).hexdigest()
    file = {"filename": wheel.name, "url": "somewhere", "hashes": {"sha256": digest}} | more
    other = {"filename": "saxpy_demo-0.9-py3-none-any.whl", "url": "else", "hashes": {}, "provenance": "wrong"}
    return json.dumps({"meta": {"api-version": "1.3"}, "name": "saxpy-demo", "files": [other, file]})


def test_the_attestations_of_the_index_are_checked(
    wheel: Path, index: tuple[str, Answers], from_index: Check, sigstore: PrivateSigstore
) -> None:
    url, answers = index
    place = f"/integrity/saxpy-demo/1.0/{wheel.name}/provenance"
    answers["/simple/saxpy-demo/"] = SIMPLE, listed(wheel, provenance=place)
    answers[place] = INTEGRITY, json.dumps(provenance(sigstore.attest(wheel)))
    found = from_index()
    assert found.is_proven and found.attestations[0].source == url.removesuffix("/simple") + place
    # What the index says of the publisher counts for nothing.
    answers[place] = INTEGRITY, json.dumps(provenance(sigstore.attest(wheel, "https://github.com/mallory/saxpy")))
    assert not from_index().is_proven
    # Attestations beside the wheel come first, and then no index is asked.
    wheel.with_name(f"{wheel.name}.publish.attestation").write_text(json.dumps(sigstore.attest(wheel)))
    answers.clear()
    assert from_index().is_proven


@pytest.mark.parametrize("more", [{}, {"provenance": None}])
def test_an_index_without_attestations_proves_nothing(
    more: dict[str, Any], wheel: Path, index: tuple[str, Answers], from_index: Check
) -> None:
    url, answers = index
    answers["/simple/saxpy-demo/"] = SIMPLE, listed(wheel, **more)
    found = from_index()
    assert not found.is_proven and found.attestations == []
    assert found.searched.endswith(f", and {url}/saxpy-demo/ has none for it")


def test_another_file_of_that_name_on_the_index_is_an_error(
    wheel: Path, index: tuple[str, Answers], from_index: Check
) -> None:
    index[1]["/simple/saxpy-demo/"] = SIMPLE, listed(wheel, provenance="/integrity")
    wheel.write_bytes(b"changed")
    with pytest.raises(ImageError, match=r"is not the file of that name at http.*: its SHA-256 is "):
        from_index()


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (None, r"does not exist \(404\): the package index has no such project or file."),
        (("text/html", "<html>"), "cannot be read: 406"),
        ((SIMPLE, "<html>"), "does not list files as PEP 691 says: JSONDecodeError"),
        ((SIMPLE, '{"files": [{}]}'), "does not list files as PEP 691 says: KeyError"),
        ((SIMPLE, '{"files": []}'), r"has no file saxpy_demo-1\.0-py3-none-any\.whl"),
    ],
)
def test_an_index_that_does_not_answer_as_it_should_is_an_error(
    answer: tuple[str, str] | None, message: str, index: tuple[str, Answers], from_index: Check
) -> None:
    if answer:
        index[1]["/simple/saxpy-demo/"] = answer
    with pytest.raises(CudaWheelError, match=rf"/simple/saxpy-demo/ {message}"):
        from_index()


def test_an_index_cannot_name_a_file_of_this_machine(
    wheel: Path, index: tuple[str, Answers], from_index: Check
) -> None:
    index[1]["/simple/saxpy-demo/"] = SIMPLE, listed(wheel, provenance="file:///etc/passwd")
    with pytest.raises(CudaWheelError, match=r"file:///etc/passwd is not a URL with https"):
        from_index()


def test_an_answer_without_an_end_is_an_error(
    wheel: Path, index: tuple[str, Answers], from_index: Check, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(package_index, "MAXIMUM_ANSWER", 100)
    index[1]["/simple/saxpy-demo/"] = SIMPLE, listed(wheel)
    with pytest.raises(CudaWheelError, match="answers with more than 100 bytes"):
        from_index()


# --- real attestations ---------------------------------------------------------------------------------------


@pytest.mark.slow
def test_real_attestations_prove_who_published_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The sdist of pypi-attestations has files that were published at PyPI, and their attestations. They are checked with
    the keys of the public Sigstore that the package sigstore brings."""
    for name in ("XDG_CACHE_HOME", "XDG_DATA_HOME"):
        monkeypatch.setenv(name, str(tmp_path / "home"))
    options = ["--no-deps", "--no-binary=:all:", "--no-build-isolation", "-d", str(tmp_path)]
    pip = [sys.executable, "-m", "pip", "download", "-q", *options, "pypi-attestations==0.0.29"]
    subprocess.run(pip, check=False)  # it may fail after the download, for want of the back end
    with tarfile.open(tmp_path / "pypi_attestations-0.0.29.tar.gz") as archive:
        for member in archive.getmembers():
            if "/test/assets/" in member.name and (file := archive.extractfile(member)):
                (tmp_path / Path(member.name).name).write_bytes(file.read())
    for name, who, other in (
        (
            "pypi_attestations-0.0.19.tar.gz",
            "github:trailofbits/pypi-attestations/release.yml",
            "github:pypi/pypi-attestations",
        ),
        (
            "gitlab_oidc_project-0.0.3.tar.gz",
            "gitlab:facutuesca/gitlab-oidc-project//.gitlab-ci.yml",
            "gitlab:facutuesca/other",
        ),
    ):
        found = check_publisher(tmp_path / name, parse_publisher(who), offline=True)
        assert found.is_proven and {each.publisher for each in found.attestations} == {who}
        assert {each.problem for each in found.attestations} == {""}
        found = check_publisher(tmp_path / name, parse_publisher(other), offline=True)
        assert {each.problem for each in found.attestations} == {f"it is of {who}, not of {other}"}
        (tmp_path / name).write_bytes((tmp_path / name).read_bytes() + b"\0")
        assert not check_publisher(tmp_path / name, parse_publisher(who), offline=True).is_proven
