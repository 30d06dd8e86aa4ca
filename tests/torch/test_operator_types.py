"""Type checkers know the arguments and results of operators that are Python functions."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.support.processes import run
from tests.support.projects import ROOT

pytest.importorskip("torch")
pytestmark = [pytest.mark.one_toolchain, pytest.mark.slow]

USER = """\
from torch import Tensor
import cuda_wheel.torch

@cuda_wheel.torch.operator("demo::scaled", writes="y", random=True)
def scaled(x: Tensor, by: float, y: Tensor | None = None) -> Tensor:
    return x * by

def plain(x: Tensor) -> tuple[Tensor, Tensor]:
    return x, x

both = cuda_wheel.torch.operator("demo::both", plain)
declared = cuda_wheel.torch.operator("demo::d", kernel="k", module="m", arguments="x", grid=1, block=1)

def use(x: Tensor) -> None:
    reveal_type(scaled(x, 2))
    reveal_type(scaled(x, by=2.5, y=None))
    reveal_type(both(x)[1])
    declared(x, 1, any_name=2)
    scaled(x, "2")
    scaled(x)
    both(x, x)
    scaled(x, 1.0, z=x)

cuda_wheel.torch.operator("demo::d", kernel="k", module="m", arguments="x", grid=1)
cuda_wheel.torch.operator("demo::d", writing="x")
"""


def test_an_operator_has_the_types_of_its_function(tmp_path: Path) -> None:
    (tmp_path / "user.py").write_text(USER)
    options = ("--strict", "--no-error-summary", "--hide-error-context", "--cache-dir", tmp_path / "cache")
    result = run(sys.executable, "-m", "mypy", *options, "user.py", cwd=tmp_path, MYPYPATH=str(ROOT))
    lines = [line for line in result.stdout.splitlines() if line.startswith("user.py")]
    revealed = [line.split("Revealed type is ")[1].strip('"') for line in lines if "Revealed" in line]
    assert [text.rpartition(".")[2] for text in revealed] == ["Tensor"] * 3, result.stdout
    wrong = sorted({int(line.split(":")[1]) for line in lines if "error:" in line})
    first = USER.splitlines().index('    scaled(x, "2")') + 1
    assert wrong == [*range(first, first + 4), first + 5, first + 6], result.stdout
