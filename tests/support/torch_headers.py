"""PyTorch's own headers, for tests that read or compile them: of the PyTorch of this environment, or a named folder."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import pytest

from cuda_wheel.builder.jobs import Compiled
from cuda_wheel.builder.toolchain.toolchain import Toolchain

VARIABLE = "CUDA_WHEEL_TEST_TORCH_HEADERS"
"""The variable that names the folder `include` of a wheel of PyTorch; `nox -s slow` downloads one."""


def torch_include() -> Path | None:
    """Return the folder of PyTorch's headers; None if there is none."""
    named = os.environ.get(VARIABLE)
    spec = None if named else find_spec("torch")
    root = Path(named) if named else Path(str(spec and spec.origin)).parent / "include"
    return root if (root / "ATen").is_dir() else None


_TYPES = (
    *("ATen/AccumulateType.h", "ATen/OpMathType.h", "ATen/NumericUtils.h", "ATen/ceil_div.h", "ATen/core/Array.h"),
    *("ATen/core/TensorAccessor.h", "torch/headeronly/core/TensorAccessor.h", "torch/headeronly/util/*.h"),
    *(f"c10/util/{name}*.h" for name in ("Half", "BFloat16", "Float4_", "Float8_", "complex", "bits", "q")),
)
_OF_HOST = {"Exception.h", "HeaderOnlyArrayRef.h", "shim_utils.h"}


@pytest.fixture
def torch_types(torch_headers: Path, tmp_path: Path) -> Path:
    """Return a folder with PyTorch's own headers of types that have a stand-in: first among a job's folders, they are
    read in place of the stand-ins, and include those of host code."""
    folder = tmp_path / "types"
    for path in (path for pattern in _TYPES for path in torch_headers.glob(pattern) if path.name not in _OF_HOST):
        target = folder / path.relative_to(torch_headers)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, target)
    return folder


@pytest.fixture(scope="session")
def torch_headers() -> Path:
    """Return the folder of PyTorch's headers; skip the test if there is none."""
    root = torch_include()
    if root is None:
        pytest.skip(f"PyTorch is not installed, and {VARIABLE} names no folder of its headers")
    return root


@pytest.fixture
def torch_compiled(
    compiled: Callable[..., Compiled], toolchain: Toolchain, torch_headers: Path
) -> Callable[..., Compiled]:
    """Return `compiled` with PyTorch's headers after the stand-ins, as where PyTorch is installed."""
    return partial(compiled, include_dirs=("", *toolchain.header_folders, str(torch_headers)))
