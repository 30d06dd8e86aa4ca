"""Type checkers know the arguments and results of operators, as far as their declarations tell them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.type_checks import check_types

pytest.importorskip("torch")
pytestmark = [pytest.mark.one_toolchain, pytest.mark.slow]

FUNCTIONS = """\
from torch import Tensor
import cuda_wheel.torch

@cuda_wheel.torch.operator("demo::scaled", writes="y", random=True)
def scaled(x: Tensor, by: float, y: Tensor | None = None) -> Tensor:
    return x * by

def plain(x: Tensor) -> tuple[Tensor, Tensor]:
    return x, x

both = cuda_wheel.torch.operator("demo::both", plain)

def use(x: Tensor) -> None:
    reveal_type(scaled(x, 2))  # Tensor
    reveal_type(scaled(x, by=2.5, y=None))  # Tensor
    reveal_type(both(x)[1])  # Tensor
    scaled(x, "2")  # wrong
    scaled(x)  # wrong
    both(x, x)  # wrong
    scaled(x, 1.0, z=x)  # wrong

cuda_wheel.torch.operator("demo::d", kernel="k", module="m", arguments="x", grid=1)  # wrong
cuda_wheel.torch.operator("demo::d", writing="x")  # wrong
"""

DECLARED = """\
from collections.abc import Callable
from typing import Any, Protocol

import torch
from torch import Tensor
from torch._ops import OpOverload

from cuda_wheel.torch import operator

class Swish(Protocol):
    def __call__(self, x: Tensor, beta: float = 1.0) -> Tensor: ...

class Texts(Protocol):
    def __call__(self, x: Tensor, beta: str = "") -> Tensor: ...

anything: dict[str, Any] = {}
changes = operator("demo::c", kernel="k", module="m", arguments="x", grid=1, block=1)
makes = operator("demo::m", kernel="k", arguments="x, y", outputs={"y": "x"}, grid=1, block=1, backward=changes)
unknown = operator("demo::u", **anything)
named: Swish = operator("demo::n", kernel="k", arguments="x, y", outputs={"y": "x"}, grid=1, block=1)
two: Callable[[Tensor], tuple[Tensor, Tensor]] = operator(
    "demo::t", kernel="k", arguments="x, y, z", outputs={"y": "x", "z": "x"}, grid=1, block=1)
overload: OpOverload[[Tensor, float], Tensor] = operator(
    "demo::o", kernel="k", arguments="x, y", outputs={"y": "x"}, grid=1, block=1)

texts: Texts = operator("demo::n", kernel="k", arguments="x", outputs={"y": "x"}, grid=1, block=1)  # wrong
text: Callable[[Tensor], str] = operator("demo::n", kernel="k", arguments="x", outputs={}, grid=1, block=1)  # wrong
none: Callable[[Tensor], Tensor] = operator("demo::n", kernel="k", arguments="x", grid=1, block=1)  # wrong

def use(x: Tensor, size: torch.SymInt) -> tuple[Tensor, Tensor]:
    reveal_type(changes)  # DeclaredOperator[None]
    reveal_type(makes)  # DeclaredOperator[Results]
    kept: OpOverload[..., Any] = makes
    reveal_type(unknown)  # Any
    reveal_type(makes(x, 1.0, True, size, n=2, weight=None).sum())  # Tensor
    reveal_type(makes(x)[0])  # Tensor
    y, z = makes(x)
    reveal_type(z)  # Tensor
    whole: Tensor = makes(x)
    reveal_type(torch.relu(makes(x)) + 2 * makes(x))  # Tensor
    reveal_type(named(x, beta=2))  # Tensor
    reveal_type(two(x))  # tuple[Tensor, Tensor]
    reveal_type(overload(x, 1))  # Tensor
    makes("x")  # wrong
    makes(x, beta="1")  # wrong
    makes([x])  # wrong
    makes(x).summ()  # wrong
    makes(x).missing  # wrong
    number: str = makes(x)  # wrong
    changes(x).sum()  # wrong
    named(x, gamma=2)  # wrong
    two(x, x)  # wrong
    overload(x)  # wrong
    return makes(x)
"""


def test_an_operator_has_the_types_of_its_function(tmp_path: Path) -> None:
    check_types(tmp_path, FUNCTIONS)


def test_a_declared_operator_has_the_types_that_its_declaration_tells(tmp_path: Path) -> None:
    check_types(tmp_path, DECLARED)
