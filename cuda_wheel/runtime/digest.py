"""Compute SHA-256 without importing OpenSSL if Python has its own implementation."""

import sys
from typing import Any

__all__ = ["sha256_of"]

try:  # with this module: a process that loads kernels later then does not wait for it
    _own: Any = __import__("_sha2" if sys.version_info >= (3, 12) else "_sha256").sha256
except ImportError:  # this Python was built without it
    _own = None


def sha256_of(content: bytes) -> str:
    """Return the hexadecimal SHA-256 of `content`."""
    # OpenSSL is faster per byte, but its import takes longer than the rest of a load, unless it is imported already.
    if len(content) < 1 << 18 and _own is not None and "hashlib" not in sys.modules:
        return str(_own(content).hexdigest())
    from hashlib import sha256

    return sha256(content).hexdigest()
