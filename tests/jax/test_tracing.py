"""What is decided while JAX traces: the kernel, the values of its parameters, and the text of the launch."""

from __future__ import annotations

import ctypes
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import cuda_wheel
from cuda_wheel.jax import handler as registration
from cuda_wheel.jax.tracing import Launch, base_name, json_argument, unique_name
from cuda_wheel.operators import kernels as kernels_module
from cuda_wheel.runtime.errors import ArgumentError
from cuda_wheel.runtime.manifest import KernelInfo, Parameter
from tests.jax.frames import LAUNCH
from tests.jax.host_kernels import ONE, HostKernel, memory
from tests.jax.jax_on_cpu import MARKS, assert_close, jax, jnp
from tests.operators.test_kernels import Installed

pytestmark = MARKS

X = jnp.arange(1.0, 7.0)


def times(factor: int, element: str = "float") -> HostKernel:
    def compute(x: int, y: int, n: int) -> None:
        memory(y, n)[:] = factor * memory(x, n)

    return HostKernel(f"times<{factor}>", f"const {element}*, {element}*, int", compute)


def test_a_function_chooses_the_kernel_while_jax_traces() -> None:
    kernels = [times(2), times(3)]
    operator = cuda_wheel.jax.operator(
        "demo::times", kernel=lambda x, factor: f"times< {factor + x.ndim} >", kernels=kernels,
        more_arguments={"factor": int}, **ONE,
    )  # fmt: skip
    assert_close(operator(X, 1), 2 * X)
    assert_close(jax.jit(lambda x: operator(operator(x, 2), 1))(X), 6 * X)
    assert_close(jax.jit(operator, static_argnums=1)(X.reshape(2, 3), 1), 3 * X.reshape(2, 3))
    assert [len(each.launched) for each in kernels] == [2, 2]
    with pytest.raises(ArgumentError, match=r"^demo::times: kernel returned 'times< 8 >', which is not one of kernels"):
        operator(X, 7)
    traced = cuda_wheel.jax.operator("demo::times", kernel=lambda x: f"times<{x.sum()}>", kernels=kernels, **ONE)
    with pytest.raises(ArgumentError, match=r"^demo::times: times<.*> depends on the content of an array"):
        traced(X)


def test_a_variant_is_chosen_and_instances_are_compiled_when_they_are_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    module = Installed({(("N", "1"),): [times(2)], (("N", "2"),): [times(2, "int")]}, is_open=True)
    module.compiled = times(9)
    monkeypatch.setattr(kernels_module, "files_and_manifest", module.files_and_manifest)
    monkeypatch.setattr(kernels_module, "load", module.load)
    operator = cuda_wheel.jax.operator(
        "demo::chosen", kernel=lambda k: f"times<{k}>", kernels=["times<2>"], module="demo.k",
        variant=lambda N: {"N": N}, more_arguments={"k": int, "N": int}, defaults={"N": 1}, **ONE,
    )  # fmt: skip
    assert_close(operator(X, 2), 2 * X)
    assert module.loaded == [("demo.k", 0, {"N": "1"})]
    with pytest.raises(ArgumentError, match=r"x is const int\* in times<2>, which takes an array of int32"):
        operator(X, 2, 2)
    assert_close(operator(X, 9), 9 * X)
    assert len(module.compiled.launched) == 1
    module.compiled = times(9, "int")  # the element types are checked when it is loaded
    registration.launches._ready.clear()
    with pytest.raises(Exception, match=r"demo::chosen: the program passes float32\[6\] for const int\*"):
        jax.block_until_ready(operator(X, 9))


def test_an_exported_program_names_its_choice(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("flatbuffers", reason="JAX needs flatbuffers to serialise programs")
    from jax import export

    def make(*kernels: HostKernel) -> Callable[..., Any]:
        return cuda_wheel.jax.operator(
            "demo::exported", kernel=lambda k: f"times<{k}>", kernels=kernels, more_arguments={"k": int}, **ONE
        )

    operators: dict[str, Any] = registration._operators
    monkeypatch.setattr(registration.launches, "_operators", operators)
    before = dict(operators)
    checks = [export.DisabledSafetyCheck.custom_call("cuda_wheel_launch")]
    operator = make(times(2), times(3))
    program = export.export(jax.jit(lambda x: operator(x, 3)), disabled_checks=checks, platforms=["cpu"])(X).serialize()
    for kernels, works in (((times(3), times(4)), True), ((times(2),), False)):
        operators.clear()
        operators.update(before)
        make(*kernels)
        registration.launches._ready.clear()
        if works:
            assert_close(export.deserialize(bytearray(program)).call(X), 3 * X)
            continue
        with pytest.raises(Exception, match=r"was made for another version of demo::exported.*here it is none"):
            jax.block_until_ready(export.deserialize(bytearray(program)).call(X))


def test_arguments_that_the_kernel_does_not_see() -> None:
    seen: list[Any] = []
    kernel = HostKernel("k", "const float*, float*, int, float")
    operator = cuda_wheel.jax.operator(
        "demo::more", kernel=kernel, arguments="x, y, n, beta",
        outputs={"y": lambda x, rows: jax.ShapeDtypeStruct((rows, x.size), x.dtype)},
        values={"n": lambda K, train: seen.append((K, train)) or (K if train else -K)},  # type: ignore[func-returns-value]
        more_arguments={"K": int, "rows": int, "rate": float, "train": bool}, defaults={"beta": 1.0, "train": True},
        grid=lambda rate: int(rate), block=1,
    )  # fmt: skip
    assert [*inspect.signature(operator).parameters] == ["x", "K", "rows", "rate", "beta", "train"]
    assert operator(X, 5, 2, 3.0).shape == (2, 6)
    assert operator(X, rows=3, K=np.int64(5), rate=4, train=np.False_).shape == (3, 6)
    assert seen == [(5, True), (5, False)]
    assert [(each.grid[0], each.arguments[2]) for each in kernel.launched] == [(3, 5), (4, -5)]
    for wrong in ({"K": 2.5}, {"rate": "a"}, {"train": 5.5}):
        with pytest.raises(ArgumentError, match=f"^demo::more: {next(iter(wrong))}: "):
            operator(X, **{"K": 5, "rows": 2, "rate": 3.0, **wrong})


def test_null_pointers() -> None:
    kernel = HostKernel("k", "const float*, const float*, float*, float*")
    given = {"kernel": kernel, "arguments": "x, mask, y, saved", "outputs": {"y": "x"}, "grid": 1, "block": 1}
    more: dict[str, Any] = {"more_arguments": {"train": bool}, "defaults": {"train": False}}
    operator = cuda_wheel.jax.operator(
        "demo::null", **given, values={"mask": None, "saved": lambda train: 4096 if train else None}, **more
    )
    operator(X), operator(X, True)
    assert [each.arguments[1::2] for each in kernel.launched] == [(0, 0), (0, 4096)]
    for wrong in (lambda train: np.zeros(3), lambda train: 2.5, lambda train: jnp.int32(5)):
        operator = cuda_wheel.jax.operator("demo::null", **given, values={"mask": wrong, "saved": 0}, **more)
        with pytest.raises(ArgumentError, match=r"^demo::null: the value mask (is for a pointer|depends on)"):
            operator(X)
    operator = cuda_wheel.jax.operator("demo::null", **given, read_only=["saved"])
    with pytest.raises(ArgumentError, match=r"^demo::null: mask is None, but this array has no default"):
        operator(X, None, X)


class Pair(ctypes.Structure):
    _fields_ = (("a", ctypes.c_int32), ("b", ctypes.c_float))


PARAMETERS = [("b8", 8, "Pair"), ("b8", 16, "float4"), ("u16", 2, "__half"), ("u16", 2, "__nv_bfloat16")]


def test_values_of_all_kinds() -> None:
    parameters = [Parameter("u64", 0, 8, "const float*"), Parameter("u64", 8, 8, "float*")]
    parameters += [Parameter(type_, 16 * place + 16, size, cpp) for place, (type_, size, cpp) in enumerate(PARAMETERS)]
    kernel = HostKernel("k", "")
    kernel.info = KernelInfo("k", "_Zk", tuple(parameters))

    def constant(value: Any) -> Callable[[], Any]:
        return lambda: value

    def launched(**values: Any) -> tuple[Any, ...]:
        given = {"pair": b"12345678", "four": (0, 0, 0, 0), "half": 1, "bf": 1, **values}
        operator = cuda_wheel.jax.operator(
            "demo::all", kernel=kernel, arguments="x, y, pair, four, half, bf", outputs={"y": "x"},
            values={name: constant(value) for name, value in given.items()},
            grid=1, block=1,
        )  # fmt: skip
        operator(X)
        return tuple(kernel.launched[-1].arguments[2:])

    record = np.array((1, 2.5), [("a", "i4"), ("b", "f4")])
    pair = np.int32(1).tobytes() + np.float32(2.5).tobytes()
    for value in (Pair(1, 2.5), record, record[()], pair, bytearray(pair)):
        assert launched(pair=value)[0] == pair
    four = np.array([1, 2, 3, 4], np.float32).tobytes()
    for value in ([1, 2, 3, 4.0], (1.0, 2, 3, np.float16(4)), np.arange(1, 5), np.arange(1, 5, dtype=np.int32), four):
        assert launched(four=value)[1] == four, value
    for number in (0.5, np.float16(0.5), np.float64(0.5), jnp.bfloat16.dtype.type(0.5)):
        assert launched(half=number, bf=number)[2:] == (0.5, 0.5)
    for name, value in (("pair", b"123"), ("pair", 5), ("four", [1, 2]), ("four", np.zeros(3)), ("four", "text")):
        with pytest.raises(ArgumentError, match=f"^demo::all: the value {name}: "):
            launched(**{name: value})


def test_numbers_vectors_and_structs_as_text() -> None:
    for value, expected in (
        (None, ("value", None)),
        (True, ("value", True)),
        (np.float32(0.1), ("value", float(np.float32(0.1)))),
        (np.int64(-(2**63)), ("value", -(2**63))),
        (np.array(7), ("value", 7)),
        (2**64 - 1, ("value", 2**64 - 1)),
        ((1, np.float32(2)), ("value", [1, 2.0])),
        (1 + 2j, ("value", [1.0, 2.0])),
        (b"\x01\xff", ("bytes", "01ff")),
        (np.array([1, 2], np.int16), ("bytes", "01000200")),
    ):
        assert json_argument(value) == expected
        launch = LAUNCH._replace(arguments=[json_argument(value)])
        read = Launch.read(launch.text().encode())
        found = read.arguments[0][1]
        assert found == (tuple(expected[1]) if isinstance(expected[1], list) else expected[1])
        assert read._replace(arguments=()) == launch._replace(arguments=(), inputs=[*launch.inputs], aliases=((1, 0),))
    with pytest.raises(ArgumentError, match="object is not a buffer in host memory"):
        json_argument(object())


def test_a_launch_is_read_from_its_text() -> None:
    launch = LAUNCH._replace(
        dtypes=("float32", "int8"),
        arguments=[("bytes", "0a"), ("value", [1, 2.5]), ("value", None), ("output", 0)],
        settings={"cluster": (2, 1, 1), "cooperative": True},
        name="axpy<3>",
        macros=(("N", "4"),),
    )
    text = launch.text()
    assert text.isascii()
    read = Launch.read(text.encode())
    assert read.settings == launch.settings and read.choice == launch.choice and hash(read.choice)
    assert read.arguments == (("bytes", "0a"), ("value", (1, 2.5)), ("value", None), ("output", 0))
    assert (read.inputs, read.outputs, read.kernel) == (launch.inputs, launch.outputs, launch.kernel)
    assert str(read.inputs[0]) == "float32[2,3]"
    assert read.text() == text, "an exported program that is exported again is the same"


@pytest.mark.parametrize("text", [b"", b"[]", b"{}", b"\xff", b"5", LAUNCH.text().replace("grid", "grids").encode()])
def test_any_other_text_is_refused(text: bytes) -> None:
    with pytest.raises(ArgumentError, match=r"^the program's text of a launch is not cuda-wheel's: "):
        Launch.read(text)


def test_names_in_programs_are_unique() -> None:
    taken: list[str] = []
    for _ in range(3):
        taken.append(unique_name("demo::f", taken))
    assert taken == ["demo::f", "demo::f#2", "demo::f#3"]
    assert {base_name(each) for each in taken} == {"demo::f"}
    assert unique_name("demo::g", taken) == "demo::g"
