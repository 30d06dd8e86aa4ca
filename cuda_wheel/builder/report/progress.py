"""Tell a person how a build goes: a progress bar on a terminal, a line per module elsewhere."""

from __future__ import annotations

import json
import os
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from cuda_wheel.builder.errors import ConfigError
from cuda_wheel.builder.jobs import BuiltModule
from cuda_wheel.builder.plan import Plan
from cuda_wheel.builder.report.units import counted, size_text
from cuda_wheel.builder.timing import Span

if TYPE_CHECKING:
    from rich.progress import Progress

    from cuda_wheel.builder.timing import How, Step

__all__ = [
    "ProgressReporter",
]


WORTH_TELLING = 0.05
"""Seconds from which on the summary names a phase."""


class ProgressReporter:
    """A build's `Reporter`, and a context manager. Lines go to `say`, warnings to `warn`, the bar to standard error.

    While there is a bar, lines wait for its end. The last line says how long it all took, how much of it came from the
    cache and what the workers did, also of a build that failed.

    `timings` is where a Chrome trace of it goes, or CUDA_WHEEL_TIMINGS names it: a file, or a folder for one of each
    build. Entering raises ConfigError where it cannot be written.
    """

    def __init__(self, say: Callable[[str], None], warn: Callable[[str], None], timings: Path | None = None) -> None:
        named = os.environ.get("CUDA_WHEEL_TIMINGS")
        self._timings = timings or (Path(named) if named else None)
        self._steps: list[Step] = []
        """For the timings alone: a large build has many."""
        self._spent: dict[str, float] = {}
        """The workers' seconds, by what they went into."""
        self._outlets = {"say": say, "warn": warn}
        self._waiting: list[tuple[str, str]] = []
        self._warned: set[str] = set()
        self._jobs = 0
        self._done: Counter[How] = Counter()
        self._bar: Progress | None = None
        if sys.stderr is not None and sys.stderr.isatty():
            from cuda_wheel.builder.report.progress_bar import (
                progress_bar,  # which takes longer than a build of what is kept
            )

            self._bar = progress_bar()
            self._task = self._bar.add_task("compiling", total=None, until=None)

    def __enter__(self) -> ProgressReporter:
        self._began = time.monotonic()
        self._open_timings()
        if self._bar:
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar:
            self._bar.stop()
            self._bar = None
        for outlet, text in self._waiting:
            self._tell(outlet, text)
        if self._jobs:
            self._tell("say", f"cuda-wheel: {self._summary(time.monotonic() - self._began)}")
        if self._timings:
            from cuda_wheel.builder.report.trace import chrome_trace

            self._timings.write_text(json.dumps(chrome_trace(self._steps)), encoding="utf-8")

    def _open_timings(self) -> None:
        """See that the timings can be written: before the build, which would be for nothing."""
        if self._timings is None:
            return
        if self._timings.is_dir():
            self._timings /= f"cuda-wheel-{time.time_ns()}-{os.getpid()}.json"
        try:
            self._timings.touch()
        except OSError as error:
            raise ConfigError(
                f"the timings cannot be written to {self._timings} ({error.strerror}): --timings or "
                "CUDA_WHEEL_TIMINGS has to name a file that can be, or a folder."
            ) from None

    def _summary(self, seconds: float) -> str:
        """Return what became of the jobs, links included, in all the seconds that the build took."""
        ways: tuple[How, ...] = ("from the cache", "compiled", "linked", "failed")
        counts = [f"{self._done[how]} {how}" for how in ways if self._done[how]]
        left = max(self._jobs - sum(self._done[how] for how in ways), 0)  # of what failed, some are bundles
        counts += [f"{left} not done"] if left else []
        return f"{counted(self._jobs, 'job')} in {seconds:.1f} s: {', '.join(counts)}{self._spending()}"

    def _spending(self) -> str:
        """Return what the workers' time went into; nothing where all comes from the cache, or took no time."""
        if not self._done["compiled"] + self._done["linked"] + self._done["failed"]:
            return ""
        most = sorted(self._spent.items(), key=lambda each: -each[1])
        told = [f"{seconds:.1f} s {name}" for name, seconds in most if seconds >= WORTH_TELLING]
        return f"; workers: {', '.join(told)}" if told else ""

    def _tell(self, outlet: str, text: str) -> None:
        if self._bar:
            self._waiting.append((outlet, text))
        else:
            self._outlets[outlet](text)

    def begin(self, plan: Plan) -> None:
        jobs = len({job for module in plan.modules for job in module.jobs})
        links = sum(len(module.links) for module in plan.modules)
        if self._bar:
            self._bar.update(self._task, total=jobs + links)
        self._jobs = jobs + links
        counts = f"{counted(len(plan.modules), 'module')}, {counted(jobs, 'compile job')}"
        counts += f", {counted(links, 'link')}" if links else ""
        self._tell("say", f"cuda-wheel: {counts}, {plan.toolchain.name}")

    def done(self, step: Step) -> None:
        if self._timings:
            self._steps.append(step)
        phases = (Span("failing", step.began, step.ended),) if step.how == "failed" else step.phases
        for span in (*phases, *([step.start] if step.start else [])):
            self._spent[span.name] = self._spent.get(span.name, 0.0) + span.ended - span.began
        self._done[step.how] += 1
        if self._bar:
            described = f"{step.module} {step.target or step.how}"
            self._bar.update(self._task, advance=0 if step.how == "bundled" else 1, description=described)

    def left(self, seconds: float) -> None:
        if self._bar:
            self._bar.update(self._task, until=time.monotonic() + seconds)

    def warning(self, text: str) -> None:
        if text not in self._warned:  # one source compiles for many targets
            self._warned.add(text)
            self._tell("warn", text)

    def built(self, module: BuiltModule) -> None:
        images = [str(image) for image in module.manifest.images if image.source is None]
        targets = dict.fromkeys(str(image.target) for image in module.manifest.relocatable)
        images += [f"for linking {', '.join(targets)}"] if targets else []
        self._tell(
            "say",
            f"{module.manifest.name}: {counted(len(module.manifest.kernels), 'kernel')}, {', '.join(images)}, "
            f"{size_text(module.manifest.fatbin_size)}",
        )
        if module.manifest.host_code:
            self._tell("say", f"  left out, as host code: {'; '.join(module.manifest.host_code)}")
