"""What a build says of the libraries that its modules use."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from cuda_wheel.builder.report.notes import library_notes
from cuda_wheel.builder.toolchain.headers import header_versions, is_spread_out, taken_files
from cuda_wheel.builder.toolchain.toolchain import STAND_INS, Headers, Toolchain

pytestmark = pytest.mark.one_toolchain


@pytest.fixture
def with_cutlass(toolchain: Toolchain) -> Toolchain:
    cutlass = Headers("cutlass", "4.7.1", "/packages/cutlass/include", "PYTHONPATH", "")
    dirs = (*toolchain.include_dirs, cutlass.folder)
    return replace(toolchain, headers=(*toolchain.headers, cutlass), include_dirs=dirs)


def test_a_build_names_those_that_a_module_uses(with_cutlass: Toolchain) -> None:
    used = header_versions(with_cutlass, ["/packages/cutlass/include/cute/tensor.hpp"])
    assert used == {"cutlass": "4.7.1"}
    assert header_versions(with_cutlass, None).keys() == {"cccl", "headers"}
    assert library_notes(with_cutlass, used, ()) == ["with CUTLASS 4.7.1 (/packages/cutlass/include)"]
    assert taken_files(with_cutlass)["CUTLASS 4.7.1"] == "/packages/cutlass/include (PYTHONPATH)"
    assert is_spread_out(with_cutlass)


def test_a_build_says_whose_kernels_are_not_in_the_image(with_cutlass: Toolchain) -> None:
    thrust, cub = (
        f"{STAND_INS[0]}/{name}"
        for name in ("thrust/detail/cuda_wheel/algorithms.h", "cub/device/cuda_wheel_launcher.h")
    )
    assert library_notes(with_cutlass, {}, None) == []
    (note,) = library_notes(with_cutlass, {}, [thrust, cub])
    assert note.startswith("not in the image: Thrust's and CUB's own kernels")
    assert Path(thrust).is_file() and Path(cub).is_file()
