"""Type checkers know the arguments and results of JAX operators, as far as their declarations tell them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.type_checks import check_types

pytest.importorskip("jax", reason="JAX is not installed")
pytestmark = [pytest.mark.one_toolchain, pytest.mark.slow]

PROGRAM = """\
from collections.abc import Callable
from typing import Any, Protocol

import jax
import numpy as np
from jax import Array

from cuda_wheel.jax import operator

class Swish(Protocol):
    def __call__(self, x: Array, beta: float = 1.0) -> Array: ...

class Texts(Protocol):
    def __call__(self, x: Array, beta: str = "") -> Array: ...

anything: dict[str, Any] = {}
makes = operator("demo::m", kernel="k", arguments="x, y", outputs={"y": "x"}, grid=1, block=1)
more = operator("demo::m", grid=1, block=1, kernel="k", arguments="x, y", backward=makes, **anything)
named: Swish = operator("demo::n", kernel="k", arguments="x, y", outputs={"y": "x"}, grid=1, block=1)
two: Callable[[Array], tuple[Array, Array]] = operator(
    "demo::t", kernel="k", arguments="x, y, z", outputs={"y": "x", "z": "x"}, grid=1, block=1)

texts: Texts = operator("demo::n", kernel="k", arguments="x", outputs={"y": "x"}, grid=1, block=1)  # wrong
text: Callable[[Array], str] = operator("demo::n", kernel="k", arguments="x", grid=1, block=1)  # wrong
none: Callable[[Array], None] = operator("demo::n", kernel="k", arguments="x", grid=1, block=1)  # wrong
operator("demo::n", kernel="k", arguments="x", grid=1)  # wrong

def use(x: Array) -> tuple[Array, Array]:
    reveal_type(makes)  # DeclaredOperator[Results]
    reveal_type(makes.__name__)  # str
    reveal_type(makes(x, 1.0, True, np.ones(3), np.float32(1), n=2, weight=None).sum())  # Array
    reveal_type(more(x).sum())  # Array
    y, z = makes(x)
    reveal_type(z)  # Array
    whole: Array = makes(x)
    reveal_type(named(x, beta=2))  # Array
    reveal_type(two(x))  # tuple[Array, Array]
    jax.jit(makes)(x)
    makes("x")  # wrong
    makes(x, beta="1")  # wrong
    makes([x])  # wrong
    makes(x).summ()  # wrong
    number: str = makes(x)  # wrong
    named(x, gamma=2)  # wrong
    two(x, x)  # wrong
    return makes(x)
"""


def test_an_operator_has_the_types_that_its_declaration_tells(tmp_path: Path) -> None:
    check_types(tmp_path, PROGRAM)
