"""PyTorch's header for each operator, `<ATen/ops/zeros.h>`: a line that includes the stand-in for all operators.

PyTorch has over a thousand such files. Here they are text in memory, which NVRTC finds before it searches for files.
So is the list of the operators that a source names: declaring all of them takes longer than compiling a small kernel.
"""

from __future__ import annotations

import re
from collections.abc import Set
from functools import cache

from cuda_wheel.builder.toolchain.records import INCLUDE

__all__ = ["operator_headers", "operator_names_header"]

_HEADER = "cuda_wheel_detail/pytorch/operator_names.h"
_NAMES = INCLUDE.parent.parent / "hostcode/include/pytorch" / _HEADER
_NAMED_ELSEWHERE = (
    "from_blob",
    "index",
    "index_put",
    "max",
    "median",
    "min",
    "nanmedian",
    "svd",
    "tensor",
    "to",
    "where",
)
"""Operators that have declarations of their own, and so are not in the lists of names."""


_LISTED = re.compile(rb"\bX\((\w+)\)")


@cache
def _lists() -> bytes:
    return _NAMES.read_bytes()


@cache
def operator_headers() -> dict[str, bytes]:
    """Return the text of each operator's header, by the name that `#include` names."""
    names = {match.decode().removesuffix("_") for match in _LISTED.findall(_lists())}
    return {f"ATen/ops/{name}.h": b"#include <ATen/Functions.h>\n" for name in names.union(_NAMED_ELSEWHERE)}


def operator_names_header(names: Set[bytes]) -> dict[str, bytes]:
    """Return the header that lists PyTorch's operators, with only those that have one of these names."""
    return {_HEADER: _LISTED.sub(lambda each: each[0] if names & {each[1], each[1] + b"_out"} else b"", _lists())}
