"""Run every call of the ports with shapes instead of data: `python benchmarks/third_party/ports/shapes.py FOLDER`.

It needs the wheels and the sources in FOLDER, and PyTorch, also without CUDA; no GPU. A size that only data can tell is
shown as None.
"""

from __future__ import annotations

import importlib
import sys
import traceback
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[3]))  # run from a checkout, without installing it

import cases
import torch
from corpus import packages
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.symbolic_shapes import ShapeEnv

__all__ = ["of_result"]

HERE = Path(__file__).parent


def of_result(function: Callable[..., Any], arguments: Sequence[Any]) -> list[tuple[tuple[int | None, ...], Any]]:
    """Return the shape and the element type of each tensor that a call returns, from its arguments' shapes."""
    mode = FakeTensorMode(shape_env=ShapeEnv(), allow_non_fake_inputs=True)
    # PyTorch without a GPU cannot index, or copy, a tensor that claims to be on one.
    device = "cuda" if torch.cuda.is_available() else "cpu"

    def faked(value: Any) -> Any:
        if isinstance(value, list | tuple):
            return type(value)([faked(each) for each in value])
        if isinstance(value, torch.Tensor):
            return torch.empty_strided(value.shape, value.stride(), dtype=value.dtype, device=device)
        return value

    def tensors(value: Any) -> list[torch.Tensor]:
        if isinstance(value, list | tuple):
            return [tensor for each in value for tensor in tensors(each)]
        return [value] if isinstance(value, torch.Tensor) else []

    with mode:
        result = tensors(function(*faked(arguments)))
    return [(tuple([size if type(size) is int else None for size in each.shape]), each.dtype) for each in result]


def main(folder: Path) -> None:
    cases.DEVICE = "cpu"
    original = type("Original", (), {"__getattr__": lambda self, name: None})()
    for wheel in (folder / "wheels").glob("ported_*.whl"):
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(folder / "site")
    sys.path.insert(0, str(folder / "site"))
    failures = 0
    for package in packages(HERE / "packages.toml"):
        port = importlib.import_module(package.name)
        for case in cases.cases(package.name, original, port, package.home(folder / "corpus")):
            if case.differentiates:
                continue
            try:
                print(
                    f"{package.name}: {case.name}:",
                    *(list(shape) for shape, _ in of_result(case.ours, case.arguments())),
                )
            except Exception:
                failures += 1
                print(f"{package.name}: {case.name}: FAILED\n{traceback.format_exc()}")
    print(f"{failures} failed")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
