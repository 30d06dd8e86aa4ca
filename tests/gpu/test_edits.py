"""An edit between two loads of one process: the second load follows it, also where the machine code is the same."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import cuda_wheel
from tests.gpu.support import Memory
from tests.gpu.test_launch import write_project
from tests.support.toolchains import installed_extra

SOURCE = 'extern "C" __global__ void is_given(const {}* x, int* y) {{ *y = {} + (x != nullptr); }}\n'


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, nothing_loaded: None) -> Iterator[Path]:
    """Return the path of the source of the module `edits.k`, in an importable source tree."""
    if installed_extra() is None:
        pytest.skip("no toolchain is installed here")
    write_project(tmp_path / "project", "edits", {"k.cu": SOURCE.format("float", 0)})
    monkeypatch.syspath_prepend(tmp_path / "project")
    yield tmp_path / "project/edits/k.cu"
    sys.modules.pop("edits", None)


def result_of(module: cuda_wheel.Module, dtype: type) -> int:
    y = Memory(np.full(1, -1, np.int32))
    module["is_given"].launch(1, 1, Memory(np.ones(1, dtype)), y)
    return int(y.numpy()[0])


def test_the_second_load_has_the_parameter_types_of_the_edit(source: Path, context: None) -> None:
    before = cuda_wheel.load("edits.k")
    assert result_of(before, np.float32) == 1
    source.write_text(SOURCE.format("int", 0))
    after = cuda_wheel.load("edits.k")
    assert after is not before and after.image.sha256 == before.image.sha256  # the machine code is the same
    assert result_of(after, np.int32) == 1
    with pytest.raises(TypeError, match="takes an array of int32, not of float32"):
        result_of(after, np.float32)
    assert result_of(before, np.float32) == 1  # whoever holds the first module keeps it as it was
    assert cuda_wheel.load("edits.k") is after
    source.write_text(SOURCE.format("float", 10))
    assert result_of(cuda_wheel.load("edits.k"), np.float32) == 11


@pytest.mark.filterwarnings("ignore:.* uses the time of the build:RuntimeWarning")
def test_a_source_with_the_clock_compiles_at_each_load(source: Path, context: None) -> None:
    source.write_text(SOURCE.format("float", "sizeof(__TIME__)"))
    assert [result_of(cuda_wheel.load("edits.k"), np.float32) for _ in range(2)] == [10, 10]
