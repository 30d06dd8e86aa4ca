"""The interface through which a build reports its progress."""

from __future__ import annotations

from typing import Protocol

from cuda_wheel.builder.jobs import BuiltModule
from cuda_wheel.builder.plan import Plan
from cuda_wheel.builder.timing import Step

__all__ = [
    "Reporter",
    "Silent",
]


class Reporter(Protocol):
    """Who is told how a build goes: the front end."""

    def begin(self, plan: Plan) -> None: ...

    def done(self, step: Step) -> None: ...

    def left(self, seconds: float) -> None:
        """Take note that the build is expected to take so many more seconds."""

    def warning(self, text: str) -> None: ...

    def built(self, module: BuiltModule) -> None: ...


class Silent:
    """The reporter that tells nobody; errors are raised all the same."""

    def begin(self, plan: Plan) -> None: ...

    def done(self, step: Step) -> None: ...

    def left(self, seconds: float) -> None: ...

    def warning(self, text: str) -> None: ...

    def built(self, module: BuiltModule) -> None: ...
