"""What is a struct or a vector, and the bytes that it becomes."""

from __future__ import annotations

import ctypes
import struct
from typing import Any

import numpy as np
import pytest

from cuda_wheel.runtime.parts.structs import StructConverter, _holds, _number_kind
from tests.support.array_libraries import fake
from tests.support.launches import array_interface, refused

pytestmark = pytest.mark.one_toolchain


def packed(cpp: str, size: int, value: Any) -> bytes:
    content: bytes = StructConverter(size, cpp).namespace("x")["convert_x"](value, [])
    return content


@pytest.mark.parametrize(
    ("code", "kind", "size"),
    [
        ("?", "?", 1), ("b", "i", 1), ("B", "u", 1), ("h", "i", 2), ("H", "u", 2), ("i", "i", 4), ("I", "u", 4),
        ("q", "i", 8), ("Q", "u", 8), ("l", "i", struct.calcsize("l")), ("L", "u", struct.calcsize("L")),
        ("e", "f", 2), ("f", "f", 4), ("d", "f", 8), ("g", "f", 1),
        ("c", "c", 1), ("s", "s", 1), ("x", "x", 1), ("X", "X", 1), ("O", "O", 1), ("Z", "Z", 1),
    ],
)  # fmt: skip
def test_the_kind_of_a_number_by_its_format(code: str, kind: str, size: int) -> None:
    assert _number_kind(code) == (kind, size)


@pytest.mark.parametrize(
    ("format", "element", "expected"),
    [
        ("T{f:x:f:y:}", "f", True),
        ("T{f:xI:f:y:}", "f", True),
        ("T{f:x:4xf:y:}", "f", True),
        ("fBcsx", "f", True),
        ("c", "f", True),
        ("4s", "f", True),
        ("B", "q", True),
        ("l", "iq"[struct.calcsize("l") == 8], True),
        ("T{I:x:I:y:}", "f", False),
        ("T{i:x:i:y:}", "I", False),
        ("T{I:x:I:y:}", "i", False),
        ("T{f:x:d:y:}", "f", False),
        ("T{f:x:Q:y:}", "f", False),
        ("e", "f", False),
        ("h", "i", False),
        ("?", "f", False),
        ("g", "d", False),
        ("X", "f", False),
    ],
)
def test_which_buffers_may_hold_the_elements_of_a_vector(format: str, element: str, expected: bool) -> None:
    assert _holds(format, element) is expected


class Index:
    """An integer that is no float."""

    def __index__(self) -> int:
        return 7


@pytest.mark.parametrize(
    ("cpp", "value", "expected"),
    [
        ("uint2", ((1 << 32) - 1, 0), b"\xff" * 4 + bytes(4)),
        ("int2", (-1, 0), b"\xff" * 4 + bytes(4)),
        ("int2", (Index(), np.int8(-2)), struct.pack("<2i", 7, -2)),
        ("ulonglong1", ((1 << 64) - 1,), b"\xff" * 8),
        ("ushort4", (65535, 0, 1, 2), struct.pack("<4H", 65535, 0, 1, 2)),
        ("ulong1", ((1 << 64) - 1,), b"\xff" * 8),
        ("ulong2", ((1 << 32) - 1, 1), b"\xff" * 4 + b"\1\0\0\0"),
    ],
)
def test_the_sign_of_a_vectors_elements(cpp: str, value: Any, expected: bytes) -> None:
    assert packed(cpp, 8, value) == expected


def test_the_largest_grid_is_a_dim3() -> None:
    assert packed("dim3", 12, ((1 << 32) - 1, 1, 2)) == struct.pack("<3I", (1 << 32) - 1, 1, 2)


@pytest.mark.parametrize(
    ("cpp", "size", "value", "message"),
    [
        ("uint2", 8, (-1, 0), r"(-1, 0) does not fit: "),
        ("dim3", 12, (-1, 0, 0), r"(-1, 0, 0) does not fit: "),
        ("int2", 8, (1 << 31, 0), r"(2147483648, 0) does not fit: "),
        ("int2", 8, (1, 2, 3), r"(1, 2, 3) does not fit: "),
    ],
)
def test_numbers_that_do_not_fit_a_vector(cpp: str, size: int, value: Any, message: str) -> None:
    assert refused(packed, cpp, size, value).startswith(message)


DATES = np.zeros(1, "M8[s]")  # 8 bytes that have no buffer


def released() -> memoryview:
    view = memoryview(bytes(8))
    view.release()
    return view


@pytest.mark.parametrize("cpp", ["float2", "Pair"])
@pytest.mark.parametrize(
    ("value", "pattern"),
    [
        (object(), r"takes a struct of 8 bytes, not object"),
        (fake("a.b", "Thing", getPtr=lambda self: 0)(), r"takes a struct of 8 bytes, not a\.Thing"),
        (fake("cuda.bindings.driver", "Thing")(), r"takes a struct of 8 bytes, not cuda\.Thing"),
        (None, r"takes a struct of 8 bytes, not NoneType"),
        (
            np.array([None]),
            r"takes a struct of 8 bytes, not numpy\.ndarray "
            r"\(the numpy\.ndarray holds Python objects, not their content\)",
        ),
        (
            DATES,
            r"takes a struct of 8 bytes, not numpy\.ndarray \(numpy\.ndarray is not a buffer in host memory \(.+\)\)",
        ),
        (
            released(),
            r"takes a struct of 8 bytes, not memoryview \(memoryview is not a buffer in host memory \(.+\)\)",
        ),
        (b"1234", r"takes a struct of 8 bytes, not 4 bytes"),
        (array_interface(), r"takes a struct of 8 bytes by value, not an array on the GPU"),
    ],
)
def test_what_is_no_struct(cpp: str, value: Any, pattern: str) -> None:
    with pytest.raises(TypeError, match=f"^{pattern}$"):
        packed(cpp, 8, value)


def test_the_bytes_of_a_number_are_no_struct() -> None:
    assert refused(packed, "Pair", 8, 2.5) == (
        "takes a struct of 8 bytes, not the number 2.5: if its bytes are meant, pass those, such as "
        "numpy.float32(1).tobytes()"
    )


def test_a_record_of_other_numbers_is_no_vector() -> None:
    record = np.array([(1, 2)], [("x", "i4"), ("y", "i4")])
    assert refused(packed, "float2", 8, record) == (
        f"takes elements of format f, not {memoryview(record).format}; see the module struct"
    )


def test_a_record_with_a_union_is_read() -> None:
    fields = {"names": ["tag", "i", "f"], "formats": ["u1", "i4", "f4"], "offsets": [0, 4, 4], "itemsize": 8}
    record = np.zeros((), fields)
    record["tag"], record["f"] = 7, 0.5
    with pytest.raises(ValueError, match="overlapping"):
        memoryview(record)
    for value in (record, record[()], record.reshape(1)):
        assert packed("Tagged", 8, value) == b"\x07\0\0\0" + struct.pack("<f", 0.5)
    assert refused(packed, "Tagged", 12, record) == "takes a struct of 12 bytes, not 8 bytes"
    assert "overlapping" in refused(packed, "Tagged", 8, record.astype(record.dtype.newbyteorder(">")))


def test_a_struct_of_cuda_bindings_is_read_at_its_address() -> None:
    memory = ctypes.create_string_buffer(b"0123456789abcdef", 16)
    tensor_map = fake("cuda.bindings.driver", "CUtensorMap", getPtr=lambda self: ctypes.addressof(memory))()
    for cpp in ("CUtensorMap_st", "double2"):
        assert packed(cpp, 16, tensor_map) == b"0123456789abcdef"
    assert packed("CUtensorMap_st", 12, tensor_map) == b"0123456789ab"
