"""The progress bar of a build on a terminal, with the estimated time remaining. Needs rich."""

from __future__ import annotations

import math
import time
from datetime import timedelta

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, Task, TextColumn, TimeElapsedColumn
from rich.text import Text

__all__ = ["ProgressBar"]


class ProgressBar:
    """A bar on standard error, which disappears when it is stopped."""

    def __init__(self) -> None:
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            _TimeRemaining(),
            console=Console(stderr=True),
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self._task = self._progress.add_task("compiling", total=None, end=None)

    def start(self) -> None:
        """Show the bar."""
        self._progress.start()

    def stop(self) -> None:
        """Remove the bar."""
        self._progress.stop()

    def set_total(self, steps: int) -> None:
        """Set the number of steps of the whole build."""
        self._progress.update(self._task, total=steps)

    def advance(self, steps: int, description: str) -> None:
        """Add finished steps, and show a description of the last one."""
        self._progress.update(self._task, advance=steps, description=description)

    def set_remaining(self, seconds: float) -> None:
        """Set the estimated time remaining."""
        self._progress.update(self._task, end=time.monotonic() + seconds)


class _TimeRemaining(ProgressColumn):
    """The time until the estimated end, which the task's field "end" holds; None if there is no estimate.

    Nothing is shown when that time is over and the build is not.
    """

    def render(self, task: Task) -> Text:
        end = task.fields["end"]
        seconds = 0 if end is None else math.ceil(end - time.monotonic())
        return Text(f"about {timedelta(seconds=seconds)} left" if seconds > 0 else "")
