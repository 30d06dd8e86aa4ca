"""A reporter that records what a build reports."""

from __future__ import annotations

from cuda_wheel.builder.report.reporter import SilentReporter
from cuda_wheel.builder.timing import Step

__all__ = ["Listener"]


class Listener(SilentReporter):
    """Records how jobs were done, and the warnings."""

    def __init__(self) -> None:
        self.hows: list[str] = []
        self.warnings: list[str] = []

    def step_finished(self, step: Step) -> None:
        self.hows.append(step.how)

    def warning(self, text: str) -> None:
        self.warnings.append(text)
