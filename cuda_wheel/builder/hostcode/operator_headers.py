"""PyTorch's header for each operator, `<ATen/ops/zeros.h>`: a line that includes the stand-in for all operators.

PyTorch has over a thousand such files. Here they are text in memory, which NVRTC finds before it searches for files.
"""

from __future__ import annotations

import re
from functools import cache

from cuda_wheel.builder.toolchain.records import INCLUDE

__all__ = ["operator_headers"]

_NAMES = INCLUDE.parent.parent / "hostcode/include/pytorch/cuda_wheel_detail/pytorch/operator_names.h"
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


@cache
def operator_headers() -> dict[str, bytes]:
    """Return the text of each operator's header, by the name that `#include` names."""
    names = {match.removesuffix("_") for match in re.findall(r"\bX\((\w+)\)", _NAMES.read_text())}
    return {f"ATen/ops/{name}.h": b"#include <ATen/Functions.h>\n" for name in names.union(_NAMED_ELSEWHERE)}
