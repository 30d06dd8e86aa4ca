"""The interface through which a build reports its progress."""

from __future__ import annotations

from typing import Protocol

from cuda_wheel.builder.jobs import BuiltModule
from cuda_wheel.builder.plan import Plan
from cuda_wheel.builder.timing import Step

__all__ = ["Reporter", "SilentReporter"]


class Reporter(Protocol):
    """Receives the events of a build. Each front end provides one."""

    def build_started(self, plan: Plan) -> None: ...

    def step_finished(self, step: Step) -> None: ...

    def time_remaining(self, seconds: float) -> None:
        """Receive a new estimate of the time that the rest of the build takes."""

    def warning(self, text: str) -> None: ...

    def module_built(self, module: BuiltModule) -> None: ...


class SilentReporter:
    """A reporter that ignores all events. Errors are raised nevertheless."""

    def build_started(self, plan: Plan) -> None: ...

    def step_finished(self, step: Step) -> None: ...

    def time_remaining(self, seconds: float) -> None: ...

    def warning(self, text: str) -> None: ...

    def module_built(self, module: BuiltModule) -> None: ...
