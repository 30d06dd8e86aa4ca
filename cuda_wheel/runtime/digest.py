"""Compute SHA-256 without importing OpenSSL if Python has its own implementation."""

import importlib
import sys
from functools import cache
from typing import Any

__all__ = ["sha256_of"]


def sha256_of(content: bytes) -> str:
    """Return the hexadecimal SHA-256 of `content`."""
    # hashlib imports OpenSSL, which takes longer than the rest of a load. OpenSSL is faster per byte, so it is worth
    # the import for large images, or if another library has imported it.
    if len(content) < 1 << 18 and "hashlib" not in sys.modules:
        return str(_own_sha256()(content).hexdigest())
    from hashlib import sha256

    return sha256(content).hexdigest()


@cache
def _own_sha256() -> Any:
    """Return Python's own SHA-256."""
    try:
        module = importlib.import_module("_sha2" if sys.version_info >= (3, 12) else "_sha256")
    except ImportError:  # this Python was built without it
        module = importlib.import_module("hashlib")
    return module.sha256
