"""A launch as text: the attribute by which a compiled JAX program tells the handler what to launch.

JAX knows shapes and numbers while it traces, so that the text has all but the addresses of the arrays. It is JSON: it
may be kept in an exported program and read by another process.
"""

import json
from collections.abc import Container, Sequence
from itertools import count
from typing import Any, NamedTuple

from ..declarations.kernel_instances import KernelIdentity
from ..runtime.errors import ArgumentError
from ..runtime.launching.buffers import host_bytes

__all__ = ["ArrayType", "Launch", "base_name", "plain", "unique_name"]


class ArrayType(NamedTuple):
    """The element type and the shape of an array."""

    dtype: str
    """Its name in NumPy: "float32"."""
    shape: tuple[int, ...]

    def __str__(self) -> str:
        return f"{self.dtype}[{','.join(map(str, self.shape))}]"


class Launch(NamedTuple):
    """What one call of an operator launches."""

    operator: str
    dtypes: tuple[str, ...]
    """The element types by which the kernel is chosen; empty if there is one kernel."""
    kernel: KernelIdentity
    """The kernel that the program was made for, which an exported program must find where it runs."""
    parameters: str
    """The kernel's parameters, which must not have changed when an exported program runs."""
    inputs: Sequence[ArrayType]
    outputs: Sequence[ArrayType]
    aliases: Sequence[tuple[int, int]]
    """The numbers of an input and an output that share memory."""
    arguments: Sequence[tuple[str, Any]]
    """Each of the kernel's arguments: ("input", its number), ("output", its number), or ("value", what it is) and
    ("bytes", hexadecimal digits)."""
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    settings: dict[str, Any]
    """The other arguments of `Kernel.launch`, by name."""

    def text(self) -> str:
        """Return the launch as text, in ASCII."""
        return json.dumps(self._asdict())

    @classmethod
    def read(cls, text: bytes) -> "Launch":
        """Return the launch that a text describes; raise ArgumentError for any other text."""
        try:
            fields = json.loads(text)
            launch = cls(**{name: _frozen(value) for name, value in fields.items() if name != "settings"},
                         settings={name: _frozen(value) for name, value in fields["settings"].items()})  # fmt: skip
            return launch._replace(
                inputs=[ArrayType(*each) for each in launch.inputs],
                outputs=[ArrayType(*each) for each in launch.outputs],
                kernel=KernelIdentity(*launch.kernel),
            )
        except (ValueError, TypeError, KeyError) as error:
            raise ArgumentError(f"the program's text of a launch is not cuda-wheel's: {error!r}") from None


def unique_name(name: str, taken: Container[str]) -> str:
    """Return an operator's name in programs: its own, or with a number where that is taken."""
    names = (name if number == 1 else f"{name}#{number}" for number in count(1))
    return next(each for each in names if each not in taken)


def base_name(unique: str) -> str:
    """Return an operator's name without the number that makes it unique in a process."""
    return unique.partition("#")[0]


def plain(value: Any) -> tuple[str, Any]:
    """Return a number, a vector's numbers or a struct as `Launch.arguments` has it; raise ArgumentError for others."""
    if hasattr(value, "dtype") and getattr(value, "shape", None) == () and value.dtype.kind in "biufc":
        value = value.item()
    if isinstance(value, complex):
        value = (value.real, value.imag)
    if value is None or isinstance(value, (bool, int, float)):
        return "value", value
    if isinstance(value, (tuple, list)):
        return "value", [plain(each)[1] for each in value]
    if hasattr(value, "__index__") and not hasattr(value, "dtype"):
        return "value", int(value.__index__())
    return "bytes", host_bytes(value).tobytes().hex()


def _frozen(value: Any) -> Any:
    """Return a value of JSON with tuples for lists."""
    return tuple(map(_frozen, value)) if isinstance(value, list) else value
