"""Compute SHA-256 without importing OpenSSL where Python has its own implementation."""

import importlib
import sys
from typing import Any

__all__ = [
    "sha256_of",
]


def sha256_of(content: bytes) -> str:
    """Return the hexadecimal SHA-256 of `content`."""
    global _own_sha256
    if len(content) < 1 << 18 and "hashlib" not in sys.modules:
        # hashlib brings in OpenSSL, which takes longer than all else that loading does; if nobody else has brought it,
        # it pays for large images only.
        if _own_sha256 is None:
            try:
                own = importlib.import_module("_sha2" if sys.version_info >= (3, 12) else "_sha256")
            except ImportError:  # a Python that was built without
                own = importlib.import_module("hashlib")
            _own_sha256 = own.sha256
        return str(_own_sha256(content).hexdigest())
    from hashlib import sha256

    return sha256(content).hexdigest()


_own_sha256: Any = None
"""Python's own SHA-256, once it was needed."""
