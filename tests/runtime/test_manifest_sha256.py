"""SHA-256 without OpenSSL, whose import takes longer than the rest of a load."""

from __future__ import annotations

import hashlib
import sys
from typing import Any

import pytest

from cuda_wheel.runtime import manifest as manifest_module

pytestmark = pytest.mark.one_toolchain

LARGE = 1 << 18


@pytest.mark.parametrize(
    ("size", "is_imported", "uses_own"),
    [
        (0, False, True),
        (LARGE - 1, False, True),
        (LARGE, False, False),  # OpenSSL is faster per byte
        (2 * LARGE, False, False),
        (0, True, False),  # another library has imported it
        (LARGE, True, False),
    ],
)
def test_openssl_is_used_for_large_content_or_where_it_is_imported(
    size: int, is_imported: bool, uses_own: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = bytes(size)
    expected = hashlib.sha256(content).hexdigest()
    hashed: list[bytes] = []

    def own(data: bytes) -> Any:
        hashed.append(data)
        return hashlib.sha256(data)

    monkeypatch.setattr(manifest_module, "_own_sha256", own)
    if not is_imported:
        monkeypatch.delitem(sys.modules, "hashlib")
    assert manifest_module.sha256_of(content) == expected
    assert hashed == ([content] if uses_own else [])


@pytest.mark.parametrize("size", [0, 1, 1000, 1 << 18, 1 << 20])
def test_pythons_own_sha256_equals_hashlibs(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    content = bytes(range(256)) * (size // 256) + b"x" * (size % 256)
    expected = hashlib.sha256(content).hexdigest()
    assert manifest_module.sha256_of(content) == expected
    monkeypatch.delitem(sys.modules, "hashlib")
    assert manifest_module.sha256_of(content) == expected
