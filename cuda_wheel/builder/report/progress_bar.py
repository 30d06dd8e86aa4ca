"""The progress bar of a build, on a terminal: with the time that is left."""

from __future__ import annotations

import time
from datetime import timedelta

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, Task, TextColumn, TimeElapsedColumn
from rich.text import Text

__all__ = [
    "progress_bar",
]


class _TimeLeft(ProgressColumn):
    """The seconds until the moment that a task's field "until" names, which is None while nobody knows."""

    def render(self, task: Task) -> Text:
        until = task.fields["until"]
        return Text("" if until is None else f"{timedelta(seconds=round(max(until - time.monotonic(), 0)))} left")


def progress_bar() -> Progress:
    """Return a bar on standard error, which goes when it is done."""
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        _TimeLeft(),
        console=Console(stderr=True),
        transient=True,
        redirect_stdout=False,
        redirect_stderr=False,
    )
