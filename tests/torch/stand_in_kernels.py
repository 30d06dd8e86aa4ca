"""Kernels that compute in Python, for operators that run without a GPU."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, NamedTuple

from cuda_wheel.operators.declarations import has_blocks
from cuda_wheel.runtime.arguments import dimensions
from cuda_wheel.runtime.manifest import KernelInfo, Parameter
from cuda_wheel.runtime.module import Kernel
from tests.support.launches import module_of

__all__ = ["ADD", "SCALE", "STREAM", "Address", "Loaded", "Make", "StandIn", "add", "scale"]

Make = Callable[..., Any]
"""Type of the fixture `module`."""

STREAM = 0x57EA
"""PyTorch's current stream, in tests without a GPU."""

TYPES = {
    "float": ("f32", 4),
    "int": ("u32", 4),
    "long": ("u64", 8),
    "bool": ("u8", 1),
    "double": ("f64", 8),
    "c10::Half": ("b8", 2),
}


class Address(int):
    """The address of a tensor, which it leads to."""

    tensor: Any


class Launched(NamedTuple):
    grid: Any
    block: Any
    arguments: tuple[Any, ...]
    more: dict[str, Any]
    addresses: int
    """The number of tensors of which the kernel was given only the address."""


class StandIn(Kernel):
    """A kernel that computes in Python, and records its launches."""

    def __init__(self, name: str, types: str, compute: Callable[..., Any] = lambda *arguments: None) -> None:
        parameters: list[Parameter] = []
        offset = 0
        for cpp in filter(None, types.split(", ")):
            type_, size = ("u64", 8) if cpp.endswith("*") else TYPES.get(cpp, ("b8", 16 if "Accessor" in cpp else 12))
            offset = -(-offset // size) * size if cpp != "struct" else offset
            parameters.append(Parameter(type_, offset, size, "" if cpp == "?" else cpp))
            offset += size
        info = KernelInfo(name, f"_Z{name}", tuple(parameters))
        super().__init__(module_of(info), info, 1)
        self._compute = compute
        self.launched: list[Launched] = []
        by_address = lambda grid, block, stream, *args: self.launch(grid, block, *args, stream=stream)  # noqa: E731
        self.__dict__["_launcher"] = SimpleNamespace(launch_addresses=by_address, launch_here=self.launch_here)

    def launch_here(self, grid: Any, block: Any, *args: Any, **more: Any) -> None:
        if has_blocks(self.name, grid):
            self.launch(grid, block, *args, stream=STREAM, **more)

    def launch(self, grid: Any, block: Any, *args: Any, **more: Any) -> None:
        assert more.pop("stream") == STREAM
        dimensions(grid, "grid")
        addresses = sum(isinstance(each, Address) for each in args)
        args = tuple(each.tensor if isinstance(each, Address) else each for each in args)
        self.launched.append(Launched(grid, block, args, more, addresses))
        import torch

        with torch.no_grad():  # autograd does not see what a kernel does
            self._compute(*args)


class Loaded(dict[str, StandIn]):
    """A loaded module with stand-ins."""

    is_loaded = True
    globals = {"count": 7}  # noqa: RUF012


def add(x: Any, y: Any, out: Any, n: int) -> None:
    out.copy_(x + y)


def scale(x: Any, out: Any, factor: float, n: int) -> None:
    out.copy_(x * factor)


ADD = "const float*, const float*, float*, int"
"""Types of the parameters of `add`."""

SCALE = "const float*, float*, float, int"
"""Types of the parameters of `scale`."""
