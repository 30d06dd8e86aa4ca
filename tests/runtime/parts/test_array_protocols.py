"""What a launch asks of arrays with DLPack or the CUDA array interface: stream, device, element types, read-only memory.

The libraries are stand-ins.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable
from typing import Any

import pytest

from cuda_wheel.runtime.arrays import PointerConverter
from cuda_wheel.runtime.errors import ArgumentError
from cuda_wheel.runtime.parts import array_protocols
from cuda_wheel.runtime.parts.array_protocols import _dtype_name, device_bytes
from tests.support.array_libraries import (
    OTHER,
    OWN,
    PYTORCH,
    Exported,
    Jax,
    Named,
    StandInPyTorch,
    torch_tensor,
)
from tests.support.driver import Driver
from tests.support.launches import (
    ByDLPack,
    array_interface,
    read,
    reads_and_writes,
    refused,
    sent,
    takes,
)

pytestmark = pytest.mark.one_toolchain


@pytest.mark.parametrize("kind", [Exported, Jax])
def test_the_launchs_stream_is_handed_over(hopper: Driver, pytorch: StandInPyTorch, kind: type[Exported]) -> None:
    pytorch.local.streams = {0: PYTORCH}
    kernel, array = reads_and_writes(), kind()
    bound = kernel.bind(1, 1, array, 8, stream=OTHER)
    array.asked.clear()
    array_stream: dict[int, Callable[[], None]] = {
        1: lambda: kernel.launch(1, 1, array, 8),
        OTHER: lambda: kernel.launch(1, 1, array, 8, stream=OTHER),
        PYTORCH: lambda: kernel.launch(1, 1, array, torch_tensor(8)),
        2: lambda: kernel.launch(1, 1, array, 8, stream=2, check=False),
    }
    for stream, launch in [*array_stream.items(), (OTHER, bound), (OTHER, lambda: bound(array))]:
        launch()
        assert array.asked.pop() == {"max_version": (1, 1), "copy": False, "stream": stream} and not array.asked
        assert hopper.launches[-1].stream == (stream if stream > 1 else 0)
    assert array.__dict__.get("waited", 0) == (1 if kind is Jax else 0)  # by `bind`, which hands over no stream


@pytest.mark.parametrize("accepted", [{"stream", "max_version"}, {"stream"}])
def test_a_library_with_fewer_arguments(hopper: Driver, accepted: set[str]) -> None:
    class Older(Exported):
        def __dlpack__(self, **options: Any) -> Any:
            if options.keys() - accepted:
                raise TypeError("an unexpected argument")
            return super().__dlpack__(**options)

    array = Older()
    takes("float*").launch(1, 1, array, stream=OTHER)
    assert array.asked[-1].keys() == accepted and array.asked[-1]["stream"] == OTHER


@pytest.mark.parametrize(
    ("form", "message"),
    [
        ({"flags": 2}, "is exported as a copy, not as the memory that it has"),
        ({"flags": 1}, "is a read-only array, but the kernel may write to it"),
        ({"version": 2}, r"is exported by DLPack 2\.0, which is not known here"),
        ({"lanes": 4}, "has vectors of 4 numbers as elements"),
        ({"address": 0}, "is an array without memory"),
        ({"address": 0, "versioned": False, "shape": ()}, "is an array without memory"),
        ({"place": 1}, "is an array in host memory: copy it to the GPU"),
        ({"code": 4, "bits": 16}, "takes an array of float32, not of bfloat16"),
        ({"code": 10, "bits": 8}, "takes an array of float32, not of float8_e4m3fn"),
        ({"code": 14, "bits": 8}, "takes an array of float32, not of float8_e8m0fnu"),
        ({"code": 10, "bits": 4}, "takes an array of float32, not of DLPack's type 10"),
    ],
)
def test_what_a_kernel_cannot_use_is_refused(hopper: Driver, form: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError, match=rf"k, argument 1 \(float\*\): {message}$"):
        takes("float*").launch(1, 1, Exported(**form))
    assert not hopper.launches and not array_protocols._kept


def test_an_empty_array_has_no_memory(hopper: Driver) -> None:
    takes("float*").launch(1, 1, Exported(address=0, shape=(3, 0)))
    assert hopper.launches[-1].arguments == bytes(8)


def test_an_array_that_dlpack_cannot_express_is_read_by_its_array_interface(hopper: Driver) -> None:
    class Records(Named):
        def __dlpack_device__(self) -> tuple[int, int]:
            return 2, 0

        def __dlpack__(self, **options: Any) -> Any:
            raise BufferError("no records")

    takes("Record*").launch(1, 1, Records(), stream=OTHER)
    assert hopper.joins[0] == (OTHER, OWN, 0)


def test_the_reason_why_an_array_cannot_be_exported_is_told(hopper: Driver) -> None:
    class Deleted(Jax):
        def __dlpack_device__(self) -> tuple[int, int]:
            raise RuntimeError("Array has been deleted with shape=float32[4].")

    with pytest.raises(ArgumentError, match=r"k, argument 1 \(float\*\): Array has been deleted"):
        takes("float*").launch(1, 1, Deleted())


def test_dlpack_has_an_offset_and_gets_the_default_stream(hopper: Driver) -> None:
    array = ByDLPack(0x1000, offset=0x20)
    assert sent(hopper, takes("float*"), array) == (0x1020).to_bytes(8, "little")
    assert array.streams == [1]


class AskedByDLPack:
    """An array that keeps the options with which its capsule is asked for."""

    def __init__(self, kind: int = 2, code: int = 2, bits: int = 32) -> None:
        self.kind, self.asked = kind, {}  # type: ignore[var-annotated]
        content = struct.pack("<QiiiBBHQQQ", 0x1000, kind, 0, 0, code, bits, 1, 0, 0, 0x20)
        self._memory = ctypes.create_string_buffer(content)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.kind, 0

    def __dlpack__(self, **options: Any) -> Any:
        self.asked = options
        new = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
        return new(("PyCapsule_New", ctypes.pythonapi))(ctypes.addressof(self._memory), b"dltensor", None)


@pytest.mark.parametrize(("kind", "has_stream"), [(2, True), (3, False), (13, True)])
def test_dlpack_is_asked_for_version_1_without_a_copy_on_the_launchs_stream(
    two: Driver, kind: int, has_stream: bool
) -> None:
    for stream, handed_over in ((0, 1), (1, 1), (2, 2), (0x70, 0x70), (-1, -1)):
        array = AskedByDLPack(kind)
        assert read(PointerConverter("float*", True), array, stream=stream) == 0x1020
        expected = {"stream": handed_over} if has_stream else {}
        assert array.asked == {"max_version": (1, 1), "copy": False, **expected}


@pytest.mark.parametrize(
    ("code", "bits", "cpp", "name"),
    [
        (0, 32, "int*", "int32"), (1, 16, "unsigned short*", "uint16"), (2, 64, "double*", "float64"),
        (4, 16, "__nv_bfloat16*", "bfloat16"), (5, 64, "float2*", "complex64"), (6, 8, "bool*", "bool"),
        (10, 8, "__nv_fp8_e4m3*", "float8_e4m3fn"), (12, 8, "__nv_fp8_e5m2*", "float8_e5m2"),
        (3, 64, "void*", "DLPack's type 3"),
    ],
)  # fmt: skip
def test_the_element_types_of_dlpack(code: int, bits: int, cpp: str, name: str) -> None:
    array = AskedByDLPack(code=code, bits=bits)
    assert read(PointerConverter(cpp, True), array) == 0x1020
    assert refused(read, PointerConverter("short*", True), array) == f"takes an array of int16, not of {name}"


@pytest.mark.parametrize(
    ("typestr", "name"),
    [
        ("<f4", "float32"), ("<f2", "float16"), ("<i8", "int64"), ("|i1", "int8"), ("<u2", "uint16"),
        ("<c8", "complex64"), ("<c16", "complex128"), ("|b1", "bool"), ("|V16", "void128"), ("|V1", "void8"),
        ("<M8[ns]", "datetime64"), ("<m8[s]", "timedelta64"), ("|S3", "S24"), ("<t4", "t32"),
    ],
)  # fmt: skip
def test_the_name_of_an_array_interfaces_type(typestr: str, name: str) -> None:
    assert _dtype_name(typestr) == name


def test_the_memory_of_an_array_on_the_gpu() -> None:
    assert device_bytes(array_interface(shape=(2, 3))) == (8, 24)
    assert device_bytes(array_interface(shape=(2, 3), strides=(12, 4))) == (8, 24)
    assert device_bytes(array_interface(shape=(0,), address=None)) == (0, 0)
    with pytest.raises(ArgumentError, match=r"^the numba\.DeviceArray is not contiguous$"):
        device_bytes(array_interface(shape=(2, 3), strides=(4, 8)))
    with pytest.raises(ValueError, match=r"shorter|longer"):
        device_bytes(array_interface(shape=(2, 3), strides=(4,)))
