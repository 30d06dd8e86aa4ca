"""What a linker takes and returns."""

from typing import NamedTuple

from ..errors import CudaWheelError

__all__ = ["LinkerInput", "LinkerOutput", "RefusedError"]


class LinkerInput(NamedTuple):
    """One input of a linker."""

    kind: str
    name: str
    """The name that the linker's messages use."""
    content: bytes


class LinkerOutput(NamedTuple):
    """The result of a link."""

    code: bytes
    log: str
    errors: str
    """The error log of a link that succeeded."""
    seconds: float | None
    """The time that the linker says it took; None where it does not say."""


class RefusedError(CudaWheelError):
    """A linker failed; the message is its log.

    `outdated`: an input is too new for it, so that another linker, or another form of that input, may work. `crashed`:
    its process ended or timed out.
    """

    def __init__(self, log: str, outdated: bool = False, crashed: bool = False) -> None:
        super().__init__(log)
        self.outdated = outdated
        self.crashed = crashed
