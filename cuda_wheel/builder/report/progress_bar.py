"""The progress bar of a build on a terminal, with the estimated time remaining. Needs rich."""

from __future__ import annotations

import math
import os
import time
from datetime import timedelta

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, Task, TextColumn, TimeElapsedColumn
from rich.text import Text

__all__ = ["ProgressBar"]


NARROW = 60
"""Width of a terminal in characters; in narrower ones, the bar is numbers alone."""


class ProgressBar:
    """A progress bar on standard error; `stop` removes it."""

    def __init__(self) -> None:
        console = Console(stderr=True, color_system=None if os.environ.get("NO_COLOR") else "auto")
        columns: list[ProgressColumn] = [MofNCompleteColumn(), TimeElapsedColumn(), _TimeRemaining()]
        if console.width >= NARROW:
            columns[:0] = [TextColumn("{task.description}"), BarColumn()]
        self._progress = Progress(
            *columns,
            console=console,
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
        """Count finished steps, and show the description of the last one."""
        self._progress.update(self._task, advance=steps, description=description)

    def set_remaining(self, seconds: float) -> None:
        """Set the estimated time remaining in seconds."""
        self._progress.update(self._task, end=time.monotonic() + seconds)


class _TimeRemaining(ProgressColumn):
    """The column "about 0:00:12 left". The task's field "end" is the estimated end in seconds of `time.monotonic`; None
    without an estimate.

    The column is empty without an estimate, and if the build takes longer than estimated.
    """

    def render(self, task: Task) -> Text:
        end = task.fields["end"]
        seconds = 0 if end is None else math.ceil(end - time.monotonic())
        return Text(f"about {timedelta(seconds=seconds)} left" if seconds > 0 else "")
