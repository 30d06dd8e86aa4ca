"""Parameters of which machine code or PTX tells no C++ type."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest

from cuda_wheel.runtime.arguments import (
    plain_number,
)
from cuda_wheel.runtime.generated import converted
from cuda_wheel.runtime.parts.untyped_parameters import (
    RawScalarConverter,
    RawWordConverter,
    UnknownSignConverter,
)
from tests.support.array_libraries import fake
from tests.support.driver import Driver
from tests.support.launches import MEMORY_OF_GPU_1, ON_GPU_1, array_interface, read, refused

pytestmark = pytest.mark.one_toolchain


def test_a_scalar_of_machine_code_takes_bytes() -> None:
    for content in (b"abcd", bytearray(b"abcd"), np.frombuffer(b"abcd", "<u4")[0], ctypes.c_uint32(0x64636261)):
        assert RawScalarConverter(4).convert(content) == 0x64636261
    assert refused(RawScalarConverter(4).convert, bytearray(3)) == "takes 4 bytes, not the 3 of bytearray"


@pytest.mark.parametrize("make", [RawScalarConverter, UnknownSignConverter])
@pytest.mark.parametrize("size", [1, 2, 4])
def test_a_launch_writes_what_the_checks_allow(make: Any, size: int) -> None:
    """A launch converts numbers of usual types without the checks of `convert`."""
    numbers: list[Any] = [0, 1, 127, -1, 1 << 31, True, 1.5, -0.0, float("inf"), 1e300, "1", None]
    numbers += [
        kind(number) for kind in (np.int8, np.int16, np.int32, np.int64, np.float32, np.float64) for number in (-3, 5)
    ]
    numbers += [kind(200) for kind in (np.uint8, np.uint16, np.uint32, np.uint64)] + [np.True_, np.array(7, "i4")]
    for number in numbers:
        converter = make(size)
        try:
            expected: Any = converter.convert(number)
        except (TypeError, OverflowError) as error:
            expected = str(error)
        for _ in range(2):
            try:
                found: Any = int.from_bytes(converted(converter, number, None), "little")
            except (TypeError, OverflowError) as error:
                found = str(error)
            assert found == expected, (number, type(number))


@pytest.mark.parametrize("name", ["bool", "bool_"])
def test_a_bool_of_numpy_is_a_number_in_each_version(name: str) -> None:
    """Its class is `bool_` before NumPy 2, and `bool` since."""
    for answer in (False, True):
        value = fake("numpy", name, __bool__=lambda self, answer=answer: answer)()
        assert plain_number(value) is answer
        assert read(RawWordConverter(True, False), value) == answer
        other = fake("other", name, __bool__=lambda self: True)()
        assert plain_number(other) is other
        message = f"takes an array on the GPU, an address or None, not other.{name}"
        assert refused(read, RawWordConverter(True, False), other) == message


def test_an_array_of_numpy_is_no_word() -> None:
    for array in (np.zeros(1), np.zeros((2, 2), "i8")):
        message = "takes an array on the GPU, an address or None, not numpy.ndarray"
        assert refused(read, RawWordConverter(True, False), array) == message
    assert read(RawWordConverter(True, False), np.array(5)) == 5


def test_an_array_of_numpy_may_stand_for_one_on_the_gpu(two: Driver) -> None:
    two.pointers[0x5000] = MEMORY_OF_GPU_1
    """A subclass has the array interface, or an array without dimensions holds the object that has it."""
    on_gpu = array_interface(address=0x5000)
    managed: Any = np.zeros(1, "f4").view(
        fake("library", "Managed", np.ndarray, __cuda_array_interface__=on_gpu.__cuda_array_interface__)
    )
    holder = np.empty((), object)
    holder[()] = on_gpu
    for value in (managed, holder):
        assert read(RawWordConverter(True, False), value, 1) == 0x5000
        assert refused(read, RawWordConverter(True, False), value, 0) == ON_GPU_1
