"""Call frames that are laid out as XLA's, read at their addresses."""

from __future__ import annotations

import ctypes
import re
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cuda_wheel.jax import call_frames
from cuda_wheel.jax.call_frames import HandlerError, answered_metadata, api_at, frame_base, header_version, read_frame
from cuda_wheel.runtime.errors import ArgumentError
from tests.jax.frames import Xla, aligned

pytestmark = pytest.mark.one_toolchain


def test_the_version_in_a_header() -> None:
    assert header_version("#define XLA_FFI_API_MAJOR 0\n\n#define XLA_FFI_API_MINOR 12\n") == (0, 12)
    assert header_version("nothing") == (0, 0)
    assert header_version("#define XLA_FFI_API_MAJOR 1\n") == (0, 0)


def test_numbers_of_the_header_that_jax_has() -> None:
    jax = pytest.importorskip("jax", reason="JAX is not installed")
    text = (Path(jax.ffi.include_dir()) / "xla/ffi/api/c_api.h").read_text()
    names = {"bool": "PRED", "bfloat16": "BF16", "complex64": "C64", "complex128": "C128"}
    for dtype, number in call_frames.DATA_TYPES.items():
        name = names.get(dtype) or dtype.replace("uint", "U").replace("int", "S").replace("float", "F").replace("_", "")
        found = re.search(rf"XLA_FFI_DataType_{name.upper()} = (\d+)", text)
        assert found is not None and int(found[1]) == number, (dtype, name)
    for constant, name in (
        (call_frames.EXECUTE, "ExecutionStage_EXECUTE"),
        (call_frames.BUFFER, "ArgType_BUFFER"),
        (call_frames.BUFFER, "RetType_BUFFER"),
        (call_frames.STRING, "AttrType_STRING"),
        (call_frames.METADATA, "Extension_Metadata"),
    ):
        assert int(re.search(rf"XLA_FFI_{name}\s*=\s*(\d+)", text)[1]) == constant, name  # type: ignore[index]
    shift = re.search(r"HANDLER_TRAITS_COMMAND_BUFFER_COMPATIBLE\s*=\s*1u? << (\d+)", text)
    assert shift is not None and 1 << int(shift[1]) == call_frames.COMMAND_BUFFER_COMPATIBLE


def test_a_frame_has_arrays_of_any_rank_and_a_text() -> None:
    scalar, matrix, empty = aligned(dtype=np.int64), aligned(2, 3, dtype=np.float16), aligned(4, 0)
    xla = Xla(b"a\0b", [scalar, matrix], [empty])
    frame = read_frame(xla.address)
    assert frame.context == 77 and frame.attribute == b"a\0b"
    assert frame.argument_types == [(5, 0, b""), (10, 2, struct.pack("=2q", 2, 3))]
    assert frame.arguments == [scalar.ctypes.data, matrix.ctypes.data]
    assert frame.result_types == [(11, 2, struct.pack("=2q", 4, 0))] and frame.results == [empty.ctypes.data]
    none = read_frame(Xla(b"{}").address)
    assert (none.argument_types, none.arguments, none.result_types, none.results) == ([], [], [], [])


def test_a_longer_frame_of_a_later_version_is_read() -> None:
    xla = Xla(b"{}", [aligned(2)])
    for size in (xla.frame, xla.frame.args, xla.frame.rets, xla.frame.attrs, xla.buffers[0][0]):
        size.struct_size += 64
    assert len(read_frame(xla.address).arguments) == 1


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda xla: setattr(xla.frame, "struct_size", 160), "XLA's call frame has 160 bytes, and 168 were expected"),
        (lambda xla: setattr(xla.frame.args, "struct_size", 39), "XLA's list of arguments has 39 bytes, and 40 were"),
        (lambda xla: setattr(xla.frame.rets, "struct_size", 39), "XLA's list of arguments has 39 bytes, and 40 were"),
        (lambda xla: setattr(xla.frame.attrs, "struct_size", 47), "XLA's list of attributes has 47 bytes, and 48 were"),
        (lambda xla: setattr(xla.frame, "stage", 0), "XLA called the handler in stage 0, not to execute it"),
        (lambda xla: setattr(xla.frame.attrs, "count", 0), "XLA passed 0 attributes, not the text of a launch alone"),
        (lambda xla: ctypes.memmove(xla.frame.args.types, b"\2", 1), r"XLA passed arguments of kinds \[2\], of which"),
    ],
)  # fmt: skip
def test_a_frame_of_another_layout_is_refused(damage: Callable[[Xla], Any], message: str) -> None:
    xla = Xla(b"{}", [aligned(2)])
    damage(xla)
    with pytest.raises(ArgumentError, match=f"^{message}"):
        read_frame(xla.address)


def test_functions_of_xla_are_found_only_in_a_known_version() -> None:
    xla = Xla()
    assert frame_base(xla.address) == (0, ctypes.addressof(xla.api))
    xla.frame.struct_size = 16
    assert frame_base(xla.address) == (0, 0)
    assert api_at(0) is None
    assert api_at(ctypes.addressof(xla.api)) is not None
    xla.api.version.major = 1
    assert api_at(ctypes.addressof(xla.api)) is None
    xla.api.version.major, xla.api.struct_size = 0, 80
    assert api_at(ctypes.addressof(xla.api)) is None


def test_errors_and_streams_of_xla() -> None:
    xla = Xla()
    api = api_at(ctypes.addressof(xla.api))
    assert api is not None
    assert [api.error("no Ä", 3), api.error("first\0second \udcff", 13)] == [1, 2]
    assert xla.errors == [(3, "no Ä"), (13, "first second ?")]
    assert api.stream(77) == 0x5EA
    xla.stream = 0
    with pytest.raises(HandlerError) as raised:
        api.stream(77)
    assert raised.value.address == 0xBAD


def test_only_the_question_for_metadata_is_answered() -> None:
    xla = Xla()
    assert not answered_metadata(0, (0, 3))
    metadata = xla.add_metadata()
    extension, _ = frame_base(xla.address)
    assert answered_metadata(extension, (0, 12))
    assert (metadata.version.major, metadata.version.minor, metadata.traits) == (0, 12, 1)
    other = ctypes.c_uint64 * 3
    assert not answered_metadata(ctypes.addressof(other(24, 99, 0)), (0, 3))
    metadata = xla.add_metadata()
    metadata.struct_size = 35
    assert answered_metadata(frame_base(xla.address)[0], (0, 3))
    assert (metadata.version.major, metadata.traits) == (-1, 0), "a structure that is too small is not written to"
