"""Read buffers in host memory, for copies and for structs."""

import re
from typing import Any

from ..arguments import BIG_ENDIAN, is_of, type_name
from ..errors import ArgumentError

__all__ = ["host_bytes"]


def host_bytes(data: Any) -> memoryview:
    """Return a view of a contiguous buffer in host memory; raise ArgumentError for anything else."""
    try:
        view = memoryview(data)
    except (TypeError, ValueError, BufferError) as error:
        raise ArgumentError(f"{type_name(type(data))} is not a buffer in host memory ({error})") from None
    if view.format == "O":
        raise ArgumentError(f"the {type_name(type(data))} holds Python objects, not their content")
    if is_of(type(data), "numpy", "MaskedArray"):
        raise ArgumentError("the numpy.MaskedArray may have masked elements: pass its filled() or its data")
    if re.search("[>!]", re.sub(":[^:]*:", "", view.format)):  # without the names of a record's fields
        raise ArgumentError(f"the {type_name(type(data))} {BIG_ENDIAN}")
    if not view.c_contiguous:
        raise ArgumentError(
            f"the {type_name(type(data))} is not contiguous: numpy.ascontiguousarray makes a contiguous copy"
        )
    return view
