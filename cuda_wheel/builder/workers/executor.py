"""The interface of what runs a build's jobs: worker processes, or a cluster."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

if TYPE_CHECKING:
    from cuda_wheel.builder.schedule.groups import Group

__all__ = [
    "Executor",
]


T = TypeVar("T")


class Executor(Protocol):
    """Who does calls, several at once: `Workers`, or a cluster."""

    @property
    def count(self) -> int:
        """How many calls are done at once."""

    def submit(
        self,
        function: Callable[[Any], T],
        argument: Any,
        flavour: tuple[str, ...] | None = None,
        seconds: float = 0.0,
        group: Group | None = None,
    ) -> Future[T]:
        """Return the future of `function(argument)`, as `Workers.submit` does; `seconds` is what it may take."""
