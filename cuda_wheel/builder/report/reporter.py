"""The interface through which a build reports its progress."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from cuda_wheel.builder.cache.whole_builds import Shown
    from cuda_wheel.builder.jobs import BuiltModule
    from cuda_wheel.builder.plan import Plan
    from cuda_wheel.builder.timing import Step

__all__ = ["Reporter", "SilentReporter"]


class Reporter(Protocol):
    """Receives the events of a build. Each front end provides one."""

    @property
    def can_repeat(self) -> bool:
        """Whether it needs nothing but `repeat` for a build that has the same result as an earlier one."""

    @property
    def shown(self) -> Shown | None:
        """What it has shown of the build; None if it shows nothing, and a later build could not repeat it."""

    def repeat(self, shown: Shown) -> None:
        """Show what an earlier build has shown, all of whose results are reused."""

    def build_started(self, plan: Plan) -> None: ...

    def step_finished(self, step: Step) -> None: ...

    def time_remaining(self, seconds: float) -> None:
        """Receive a new estimate of the time that the rest of the build takes."""

    def warning(self, text: str) -> None: ...

    def module_built(self, module: BuiltModule) -> None: ...


class SilentReporter:
    """A reporter that ignores all events. Errors are raised nevertheless."""

    can_repeat = True
    shown: Shown | None = None

    def repeat(self, shown: Shown) -> None: ...

    def build_started(self, plan: Plan) -> None: ...

    def step_finished(self, step: Step) -> None: ...

    def time_remaining(self, seconds: float) -> None: ...

    def warning(self, text: str) -> None: ...

    def module_built(self, module: BuiltModule) -> None: ...
