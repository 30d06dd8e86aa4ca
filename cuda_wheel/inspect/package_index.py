"""Ask a package index which files a project has, and download from it.

Source: "Simple repository API" of the PyPA specifications, in its JSON form (PEP 691), with PEP 740's key `provenance`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from urllib.parse import urljoin, urlsplit

from cuda_wheel.runtime.errors import CudaWheelError, ImageError

__all__ = ["INTEGRITY", "PYPI", "IndexFile", "download", "get", "listed_files", "project_url"]

PYPI = "https://pypi.org/simple/"
"""URL of the index that is asked by default."""

SIMPLE, INTEGRITY = "application/vnd.pypi.simple.v1+json", "application/vnd.pypi.integrity.v1+json"
"""Media types of an index's answers: SIMPLE is a list of files, INTEGRITY has the attestations of a file."""

MAXIMUM_ANSWER = 64 << 20
"""Maximum size of an index's answer, in bytes. The largest projects have lists of some 10 MB."""

MAXIMUM_FILE = 8 << 30
"""Maximum size of a file that is downloaded, in bytes."""


@dataclass(frozen=True)
class IndexFile:
    """A file of a project on an index."""

    name: str
    url: str
    sha256: str | None
    """In hexadecimal; None if the index states none."""
    provenance: str | None
    """URL of the file's attestations; None if the index has none."""


def project_url(project: str, index: str) -> str:
    """Return the URL of the list of a project's files on the index with the URL `index`."""
    return f"{index.rstrip('/')}/{re.sub(r'[-_.]+', '-', project).lower()}/"


def listed_files(url: str) -> list[IndexFile]:
    """Return the files in the list at a URL from `project_url`; raises CudaWheelError if there is no such list."""
    try:
        return [
            IndexFile(
                each["filename"],
                urljoin(url, each["url"]),
                each["hashes"].get("sha256"),
                urljoin(url, each["provenance"]) if each.get("provenance") is not None else None,
            )
            for each in json.loads(get(url, SIMPLE))["files"]
        ]
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise CudaWheelError(f"{url} does not list files as PEP 691 says: {type(error).__name__}: {error}.") from None


def get(url: str, media_type: str) -> bytes:
    """Return what a server answers to a GET request for a URL; raises CudaWheelError if it does not answer."""
    return b"".join(_blocks(url, media_type, MAXIMUM_ANSWER))


def download(file: IndexFile, folder: Path) -> Path:
    """Download a file of an index into a folder, and return its path there.

    Raises ImageError if its SHA-256 is not what the index states, and CudaWheelError if the server does not answer.
    """
    digest, path = sha256(), folder / Path(file.name).name
    with path.open("xb") as output:
        for block in _blocks(file.url, "*/*", MAXIMUM_FILE):
            digest.update(block)
            output.write(block)
    if digest.hexdigest() != file.sha256:
        raise ImageError(f"{file.url} has the SHA-256 {digest.hexdigest()}, and the index states {file.sha256}.")
    return path


def _blocks(url: str, media_type: str, maximum: int) -> Iterator[bytes]:
    import requests  # of the extra `verify`

    if urlsplit(url).scheme not in ("http", "https"):
        raise CudaWheelError(f"{url} is not a URL with https.")
    size = 0
    try:
        with requests.get(url, headers={"Accept": media_type}, timeout=30, stream=True) as answer:
            if answer.status_code == 404:
                raise CudaWheelError(f"{url} does not exist (404): the package index has no such project or file.")
            answer.raise_for_status()
            for block in answer.iter_content(1 << 20):
                size += len(block)
                if size > maximum:
                    raise CudaWheelError(f"{url} answers with more than {maximum} bytes.")
                yield block
    except requests.RequestException as error:
        raise CudaWheelError(f"{url} cannot be read: {error}.") from error
