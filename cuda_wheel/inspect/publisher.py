"""Check who published a wheel, by its attestations: signed statements that name the SHA-256 of a file.

The cryptography is that of pypi-attestations and sigstore, which are imported when an attestation is checked. An
attestation counts if Sigstore's certificate authority gave its certificate to a run of the named repository's CI, its
signature is right and in Sigstore's public log, and it is about a file with this name and these bytes.

Sources: PEP 740 and "Index hosted attestations" of the PyPA specifications, for the files and what the index answers;
Fulcio's certificate specification, for what a certificate says.
"""

from __future__ import annotations

import importlib.util
import json
import logging
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cuda_wheel.inspect.package_index import INTEGRITY, PYPI, get, listed_files, project_url
from cuda_wheel.runtime.errors import CudaWheelError, ImageError

if TYPE_CHECKING:
    from pypi_attestations import Attestation, Distribution

__all__ = ["CheckedAttestation", "Publisher", "PublisherCheck", "check_publisher", "parse_publisher", "require_library"]

SUFFIXES = (".attestation", ".provenance")
"""Ends of the names of files beside a wheel: NAME.publish.attestation, as tools write it, has one attestation;
NAME.provenance has what an index answers, one or more."""

_ISSUERS = {"github": "https://token.actions.githubusercontent.com", "gitlab": "https://gitlab.com"}
_SITES = {"github": "https://github.com/", "gitlab": "https://gitlab.com/"}
_FORMS = {
    "github": re.compile(r"([\w.-]+/[\w.-]+)(?:/([\w.-]+\.ya?ml))?", re.ASCII),
    "gitlab": re.compile(r"([\w.-]+(?:/[\w.-]+)+)(?://([\w./-]+\.ya?ml))?", re.ASCII),
}
"""Host of a repository -> form of the name after "github:" or "gitlab:", with the groups repository and workflow."""
_WORKFLOW_PATHS = {"github": "/.github/workflows/", "gitlab": "//"}
"""Host -> what a certificate has between the URL of the repository and the name of the workflow."""

_ISSUER, _REPOSITORY, _COMMIT, _REF, _WORKFLOW = (f"1.3.6.1.4.1.57264.1.{number}" for number in (8, 12, 13, 14, 18))
"""Identifiers of claims in a certificate: who vouches for the identity, the repository's URL, its commit and its
branch or tag, and the URL of the workflow, as ...@REF."""


@dataclass(frozen=True)
class Publisher:
    """A repository whose CI publishes wheels."""

    host: str
    """"github" or "gitlab"."""
    repository: str
    """Such as "acme/saxpy"."""
    workflow: str = ""
    """File name of the workflow, such as "release.yml"; at GitLab, its path in the repository. "" for any workflow."""

    def __str__(self) -> str:
        """Return the text that `parse_publisher` reads."""
        between = "/" if self.host == "github" else "//"
        return f"{self.host}:{self.repository}" + (f"{between}{self.workflow}" if self.workflow else "")


def parse_publisher(text: str) -> Publisher:
    """Return the publisher that `text` names: "github:acme/saxpy", "github:acme/saxpy/release.yml",
    "gitlab:acme/tools/saxpy", "gitlab:acme/saxpy//.gitlab-ci.yml". Raises ValueError for another form."""
    host, _, name = text.partition(":")
    match = _FORMS[host].fullmatch(name) if host in _FORMS else None
    if match is None:
        raise ValueError(
            f"{text!r} names no publisher: expected github:OWNER/REPOSITORY or github:OWNER/REPOSITORY/WORKFLOW.yml, "
            "gitlab:GROUP/PROJECT or gitlab:GROUP/PROJECT//.gitlab-ci.yml"
        )
    return Publisher(host, match[1], match[2] or "")


@dataclass(frozen=True)
class CheckedAttestation:
    """An attestation that was found for a wheel, and whether it proves that the publisher made the wheel."""

    source: str
    """Name of the file beside the wheel, or URL, that has the attestation."""
    problem: str
    """Why it proves nothing; "" if it is valid, about this wheel, and of the publisher."""
    kind: str = ""
    """URL that says what the attestation states: "https://docs.pypi.org/attestations/publish/v1". "" if it cannot be
    read; this and what follows is only reliable without a `problem`."""
    publisher: str = ""
    """Who signed it, in the form of `parse_publisher` if that can express it."""
    ref: str = ""
    """Branch or tag of the repository at which its CI ran: "refs/tags/v1.0"."""
    commit: str = ""
    """Commit of the repository at which its CI ran."""


@dataclass(frozen=True)
class PublisherCheck:
    """Whether attestations prove that a publisher made a wheel."""

    wheel: str
    """File name of the wheel."""
    publisher: Publisher
    attestations: list[CheckedAttestation]
    """All that were found."""
    searched: str
    """Where they were looked for: a clause such as "none lies beside the wheel"."""

    @property
    def is_proven(self) -> bool:
        """True if at least one attestation is valid, about this wheel, and of the publisher. Others do not count:
        whoever can put a file beside the wheel could add a wrong one."""
        return any(not each.problem for each in self.attestations)


def check_publisher(wheel: Path, publisher: Publisher, index: str = PYPI, offline: bool = False) -> PublisherCheck:
    """Return which attestations of a wheel there are, and whether one proves that `publisher` made the wheel.

    Attestations beside the wheel are used if there are any, else those of the index with the URL `index`. If `offline`,
    no index is asked, and the keys of Sigstore are those that came with the package sigstore, or that it kept when it
    was last used with a network; else it refreshes them first.

    Raises CudaWheelError if pypi-attestations is not installed, `wheel` has not the name of a wheel or an sdist, an
    attestation that was found cannot be read, the index does not answer, or the keys cannot be refreshed.
    """
    require_library()
    from pypi_attestations import Distribution

    # Without a handler, Python prints sigstore's warning that `offline` refreshes no keys.
    logging.getLogger("sigstore").addHandler(logging.NullHandler())
    try:
        distribution = Distribution.from_file(wheel)
    except ValueError:
        raise CudaWheelError(
            f"{wheel.name} is not the name of a wheel, and attestations name files: give it the name that it was "
            "published with."
        ) from None
    sources = list(_files_beside(wheel))
    searched = f"no {wheel.name}.publish.attestation lies beside the wheel"
    if not sources and offline:
        searched += ", and --offline asks no index"
    elif not sources:
        found = _from_index(distribution, index)
        sources = [found] if found else []
        searched += f", and {_project_url(distribution, index)} has none for it"
    checked = [
        _checked(source, attestation, distribution, publisher, offline)
        for source, content in sources
        for attestation in _parsed(source, content)
    ]
    return PublisherCheck(wheel.name, publisher, checked, searched)


def require_library() -> None:
    """Raise CudaWheelError if the library that checks attestations is not installed."""
    if importlib.util.find_spec("pypi_attestations") is None:
        raise CudaWheelError("attestations are checked with pypi-attestations: pip install 'cuda-wheel[verify]'.")


# --- find attestations --------------------------------------------------------------------------------


def _files_beside(wheel: Path) -> Iterator[tuple[str, bytes]]:
    """Yield the name and the content of each file of attestations beside a wheel."""
    for path in sorted(wheel.absolute().parent.iterdir()):
        if path.name.startswith(f"{wheel.name}.") and path.name.endswith(SUFFIXES):
            yield path.name, path.read_bytes()


def _project_url(distribution: Distribution, index: str) -> str:
    return project_url(distribution.name.partition("-")[0], index)  # file names have no other "-" before the version


def _from_index(distribution: Distribution, index: str) -> tuple[str, bytes] | None:
    """Return the URL of a file's attestations on an index, and what the index answers there; None if it has none.

    Raises ImageError if the index has another file of that name, and CudaWheelError if it does not answer, has no such
    project or file, or does not answer as PEP 691 says.
    """
    url = _project_url(distribution, index)
    file = next((each for each in listed_files(url) if each.name == distribution.name), None)
    if file is None:
        raise CudaWheelError(f"{url} has no file {distribution.name}.")
    if file.sha256 != distribution.digest:
        raise ImageError(
            f"{distribution.name} is not the file of that name at {url}: its SHA-256 is {distribution.digest}, that of "
            f"the index's is {file.sha256}."
        )
    return None if file.provenance is None else (file.provenance, get(file.provenance, INTEGRITY))


def _parsed(source: str, content: bytes) -> list[Attestation]:
    """Return the attestations of a file, or of an index's answer, that is named `source`; raises CudaWheelError if
    there are none in it."""
    from pypi_attestations import Attestation, Provenance

    try:
        if "attestation_bundles" not in json.loads(content):
            return [Attestation.model_validate_json(content)]
        bundles = Provenance.model_validate_json(content).attestation_bundles
        return [attestation for bundle in bundles for attestation in bundle.attestations]
    except (ValueError, TypeError, RecursionError) as error:
        reason = str(error).splitlines()[0]
        raise CudaWheelError(f"{source} has no attestation in the form of PEP 740: {reason}.") from error


# --- check one ----------------------------------------------------------------------------------------


class _Anyone:
    """A policy of sigstore that accepts every identity."""

    def verify(self, certificate: Any) -> None:
        """Accept the certificate."""


def _policy(publisher: Publisher) -> Any:
    """Return what `Attestation.verify` takes as the identity that must have signed."""
    from pypi_attestations import GitHubPublisher, GitLabPublisher
    from sigstore.verify.policy import AllOf, OIDCIssuerV2, OIDCSourceRepositoryURI

    host, repository = publisher.host, publisher.repository
    if not publisher.workflow:
        return AllOf([OIDCIssuerV2(_ISSUERS[host]), OIDCSourceRepositoryURI(_SITES[host] + repository)])
    if host == "github":
        return GitHubPublisher(repository=repository, workflow=publisher.workflow)
    return GitLabPublisher(repository=repository, workflow_filepath=publisher.workflow)


def _checked(
    source: str, attestation: Attestation, distribution: Distribution, publisher: Publisher, offline: bool
) -> CheckedAttestation:
    """Check one attestation; `source` says where it was found. Raises CudaWheelError if Sigstore's keys cannot be
    refreshed."""
    problem = _problem(attestation, distribution, _policy(publisher), offline)
    try:
        statement, claims = attestation.statement, attestation.certificate_claims
        kind, (subject, *_) = str(statement["predicateType"]), statement["subject"]
        file, digest = subject["name"], subject["digest"]["sha256"]
    except Exception as error:  # of the parsers of certificates and JSON, for content that an attacker may choose
        return CheckedAttestation(source, problem or f"it cannot be read: {error}")
    signer = _identity(claims)
    # With a right signature, the only reason is who made it; the certificate's claims are then those of the signer.
    if problem and not _problem(attestation, distribution, _Anyone(), offline):
        problem = f"it is of {signer}, not of {publisher}"
    elif problem and (file, digest) != (distribution.name, distribution.digest):
        problem += f"; it is about {file} with the SHA-256 {digest}, and the wheel has {distribution.digest}"
    return CheckedAttestation(source, problem, kind, signer, claims.get(_REF, ""), claims.get(_COMMIT, ""))


def _problem(attestation: Attestation, distribution: Distribution, policy: Any, offline: bool) -> str:
    """Return why an attestation does not prove that an identity, which `policy` accepts, made a file; "" if it does.
    Raises CudaWheelError if Sigstore's keys cannot be refreshed."""
    from sigstore.errors import TUFError

    try:
        attestation.verify(policy, distribution, offline=offline)
    except (TUFError, OSError) as error:
        raise CudaWheelError(
            f"the keys of Sigstore cannot be refreshed ({error}); --offline uses those that are on this machine."
        ) from error
    except Exception as error:  # as in `_checked`
        return str(error).removeprefix("Verification failed: ") or type(error).__name__
    return ""


def _identity(claims: dict[str, str]) -> str:
    """Return who a certificate names, in the form of `parse_publisher` if that can express it."""
    issuer, workflow = claims.get(_ISSUER, ""), claims.get(_WORKFLOW, "")
    for host, known in _ISSUERS.items():
        if issuer == known:
            url = claims.get(_REPOSITORY, "")
            name = workflow.removeprefix(url + _WORKFLOW_PATHS[host]).partition("@")[0]
            return str(Publisher(host, url.removeprefix(_SITES[host]), name if name != workflow else ""))
    return f"an account at {issuer or 'an unnamed issuer'}"
