"""The JSON schema of manifests, and the check of every manifest that tests build."""

from __future__ import annotations

import json
import os
import sys
import zipfile
import zlib
from collections.abc import Iterator
from functools import cache
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from cuda_wheel.builder.manifest_reader import all_manifests
from cuda_wheel.builder.manifest_writer.text import manifest_text
from cuda_wheel.runtime.errors import ImageError
from tests.support.projects import ROOT

__all__ = ["check_built_manifests", "check_schema"]

SCHEMA = json.loads((ROOT / "docs/reference/manifest.schema.json").read_text(encoding="utf-8"))
_checked: set[str] = set()
"""SHA-256s of the texts that this process has checked."""


@cache
def _validator_class() -> Any:
    """Import jsonschema without its grammar of URIs, which takes each process seconds to compile: SCHEMA has no URIs."""
    grammar = "rfc3987_syntax"
    is_hidden = sys.modules.setdefault(grammar, None) is None  # type: ignore[arg-type]
    from jsonschema import Draft202012Validator  # inside: see check_built_manifests

    if is_hidden:
        del sys.modules[grammar]
    return Draft202012Validator


def check_schema(text: str) -> None:
    """Raise ValidationError if the text of a manifest is not as the schema says."""
    document = json.loads(text)
    _validator_class()(SCHEMA).validate(document)
    module = document["module"]
    for variant in module["variants"]:
        whole = {key: value for key, value in (module | variant).items() if key not in ("variants", "blocks")}
        assert set(SCHEMA["$defs"]["complete"]["required"]) == set(whole)


def check_built_manifests(folder: Path) -> int:
    """Check each manifest below a folder, also in wheels, and return how many there were.

    Not checked are those that a test has damaged: which the writer would not write for what the reader reads. Without
    the package jsonschema, which many GPU machines lack, none is.
    """
    count = 0
    if find_spec("jsonschema") is None:
        return count
    for content in _manifests(folder):
        digest = sha256(content).hexdigest()
        if digest not in _checked:
            _checked.add(digest)
            try:
                is_built = manifest_text(*all_manifests(content, "a manifest")).encode() == content
            except (ImageError, ValueError):
                is_built = False
            if is_built:
                check_schema(content.decode())
                count += 1
    return count


def _manifests(folder: Path) -> Iterator[bytes]:
    """Yield the files with the suffix of manifests, also those in wheels."""
    for parent, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if name != "site-packages"]  # what wheels installed
        for name in files:
            path = Path(parent, name)
            if name.endswith(".fatbin.json") and path.is_file():
                yield path.read_bytes()
            elif name.endswith(".whl"):
                try:
                    with zipfile.ZipFile(path) as wheel:
                        yield from (wheel.read(each) for each in wheel.namelist() if each.endswith(".fatbin.json"))
                except (OSError, zipfile.BadZipFile, RuntimeError, EOFError, zlib.error):
                    continue  # a test has damaged it


@pytest.fixture(scope="module", autouse=True)
def manifests_as_documented(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Check each manifest that the tests of a file have built against the JSON schema of the reference."""
    base = tmp_path_factory.getbasetemp()
    before = set(os.listdir(base))
    yield
    for name in sorted(set(os.listdir(base)) - before):
        check_built_manifests(base / name)
