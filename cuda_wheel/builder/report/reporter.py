"""Report the progress of a build: the interface, and the reporter for people.

People see a progress bar on a terminal, and lines of text elsewhere.

A build of which nothing has changed imports this module too, so what only others need is imported inside functions.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from itertools import chain
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Protocol

from cuda_wheel.builder.cache.whole_builds import Shown
from cuda_wheel.builder.errors import ConfigError
from cuda_wheel.builder.report.quantities import count_text, size_text
from cuda_wheel.builder.timing import Span

if TYPE_CHECKING:
    from cuda_wheel.builder.jobs import BuiltModule
    from cuda_wheel.builder.plan import Plan
    from cuda_wheel.builder.report.progress_bar import ProgressBar
    from cuda_wheel.builder.timing import How, Step

__all__ = ["ProgressReporter", "Reporter", "SilentReporter"]

_MANY = 50
"""Number of kernels above which the build says how to keep fewer."""

MINIMUM_SHOWN = 0.05
"""Minimum time in seconds of a phase that the summary lists."""


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


class ProgressReporter:
    """A build's `Reporter`, and a context manager.

    It passes lines to `info` and warnings to `warn`. If standard error is a terminal and rich is installed, it shows a
    progress bar there.

    While the bar is shown, lines are held back until it ends. The last line, which is printed even if the build fails,
    reports the total time, how many jobs came from the cache, and what the workers spent their time on.

    `timings` is the path of a Chrome trace to write, and defaults to CUDA_WHEEL_TIMINGS: a file, or a folder that gets
    one file for each build. Entering raises ConfigError if it cannot be written.
    """

    def __init__(self, info: Callable[[str], None], warn: Callable[[str], None], timings: Path | None = None) -> None:
        from_environment = os.environ.get("CUDA_WHEEL_TIMINGS")
        self._timings = timings or (Path(from_environment) if from_environment else None)
        self._steps: list[Step] = []
        """Finished steps, for the trace; empty without a trace, because a large build has many."""
        self._phase_seconds: dict[str, float] = {}
        """Phase -> total time of the workers, in seconds."""
        self._info, self._warn = info, warn
        self._held_back: list[tuple[Callable[[str], None], str]] = []
        self._lines: list[tuple[bool, str]] = []
        self._warnings: set[str] = set()
        self._jobs = 0
        self._plan: Plan | None = None
        self._variants: dict[str, list[BuiltModule]] = {}
        """Module name -> its built variants."""
        self._planned: Counter[str] = Counter()
        """Module name -> number of its variants in the plan."""
        self._finished: Counter[How] = Counter()
        self._bar = _make_bar()

    def __enter__(self) -> ProgressReporter:
        self._began = time.monotonic()
        self._open_timings()
        if self._bar:
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._bar:
            self._bar.stop()
            self._bar = None
        for output, text in self._held_back:
            output(text)
        if self._jobs:
            self._info(f"cuda-wheel: {self._summary(time.monotonic() - self._began)}")
        if self._timings:
            from cuda_wheel.builder.report.trace import chrome_trace  # few builds write a trace

            trace = chrome_trace(self._steps, self._plan.toolchain if self._plan else None)
            self._timings.write_text(json.dumps(trace), encoding="utf-8")

    def _open_timings(self) -> None:
        """Check that the trace can be written, before the build does its work."""
        if self._timings is None:
            return
        if self._timings.is_dir():
            self._timings /= f"cuda-wheel-{time.time_ns()}-{os.getpid()}.json"
        try:
            self._timings.touch()
        except OSError as error:
            raise ConfigError(
                f"the timings cannot be written to {self._timings} ({error.strerror}): --timings or "
                "CUDA_WHEEL_TIMINGS must name a writable file or folder."
            ) from None

    def _summary(self, seconds: float) -> str:
        """Return the summary of jobs and links, and of the time that workers spent on each phase."""
        results: tuple[How, ...] = ("from the cache", "compiled", "linked", "failed")
        counts = [f"{self._finished[how]} {how}" for how in results if self._finished[how]]
        not_done = max(self._jobs - sum(self._finished[how] for how in results), 0)  # a failed bundle is not a job
        counts += [f"{not_done} not done"] if not_done else []
        return f"{count_text(self._jobs, 'job')} in {seconds:.1f} s: {', '.join(counts)}{self._workers_summary()}"

    def _workers_summary(self) -> str:
        """Return the workers' time by phase; "" if everything came from the cache, or took no time."""
        if not self._finished["compiled"] + self._finished["linked"] + self._finished["failed"]:
            return ""
        longest_first = sorted(self._phase_seconds.items(), key=lambda item: -item[1])
        phases = [f"{seconds:.1f} s {name}" for name, seconds in longest_first if seconds >= MINIMUM_SHOWN]
        return f"; workers: {', '.join(phases)}" if phases else ""

    @property
    def can_repeat(self) -> bool:
        """Whether no trace is to be written."""
        return self._timings is None

    @property
    def shown(self) -> Shown:
        """The lines and the number of jobs so far. Those of modules are sorted: which is built first is by chance."""
        blocks: list[list[tuple[bool, str]]] = []
        for line in self._lines:
            if blocks and line[1].startswith("  "):  # it belongs to the line before
                blocks[-1].append(line)
            else:
                blocks.append([line])
        places = [index for index, block in enumerate(blocks) if block[0][1].partition(":")[0] in self._planned]
        for index, block in zip(places, sorted(blocks[index] for index in places), strict=True):
            blocks[index] = block
        return Shown(list(chain.from_iterable(blocks)), self._jobs)

    def repeat(self, shown: Shown) -> None:
        """Print the lines of an earlier build, all of whose jobs are now from the cache."""
        for is_warning, text in shown.lines:
            self._print(self._warn if is_warning else self._info, text)
        self._jobs = self._finished["from the cache"] = shown.jobs

    def _print(self, output: Callable[[str], None], text: str) -> None:
        self._lines.append((output == self._warn, text))
        if self._bar:
            self._held_back.append((output, text))
        else:
            output(text)

    def build_started(self, plan: Plan) -> None:
        """Print the numbers of modules and jobs, notes about the architectures, and the toolchain's paths if they are
        in several places."""
        from cuda_wheel.builder.report.notes import plan_notes  # start-up time

        jobs = len({job for module in plan.modules for job in module.jobs})
        links = sum(len(module.links) for module in plan.modules)
        if self._bar:
            self._bar.set_total(jobs + links)
        self._jobs = jobs + links
        self._planned = names = Counter(module.module.name for module in plan.modules)
        variants = sum(bool(module.module.variant) for module in plan.modules)
        counts = f"{count_text(len(names), 'module')}, {count_text(jobs, 'compile job')}"
        counts += f" for {count_text(variants, 'variant')}" if variants else ""
        counts += f", {count_text(links, 'link')}" if links else ""
        self._print(self._info, f"cuda-wheel: {counts}, {plan.toolchain.name}")
        for note in plan_notes(plan):
            self._print(self._info, f"cuda-wheel: {note}")
        self._plan = plan

    def step_finished(self, step: Step) -> None:
        """Count the step and its times, and advance the bar."""
        if self._timings:
            self._steps.append(step)
        times = step.times
        phases = (Span("failing", times.began, times.ended),) if step.how == "failed" else times.phases
        for span in (*phases, *([times.start] if times.start else [])):
            self._phase_seconds[span.name] = self._phase_seconds.get(span.name, 0.0) + span.ended - span.began
        self._finished[step.how] += 1
        if self._bar:
            self._bar.advance(0 if step.how == "bundled" else 1, f"{step.module} {step.target or step.how}")

    def time_remaining(self, seconds: float) -> None:
        """Update the bar's estimate."""
        if self._bar:
            self._bar.set_remaining(seconds)

    def warning(self, text: str) -> None:
        """Print a warning, once: a source is compiled for several targets."""
        if text not in self._warnings:
            self._warnings.add(text)
            self._print(self._warn, text)

    def module_built(self, module: BuiltModule) -> None:
        """Print the module's kernels, images and size, and the host code that was left out; of a module with variants,
        when all are built."""
        if module.manifest.variant:
            self._variant_built(module)
        else:
            self._module_built(module)

    def _variant_built(self, module: BuiltModule) -> None:
        name = module.manifest.name
        built = self._variants.setdefault(name, [])
        built.append(replace(module, text=b"", fatbin=b""))  # all images together may be larger than memory
        if len(built) == self._planned[name]:
            manifests = [each.manifest for each in built]
            largest = max(built, key=lambda each: len(each.manifest.kernels))
            size = sum(manifest.fatbin_size for manifest in manifests)
            host_code = tuple(dict.fromkeys(text for manifest in manifests for text in manifest.host_code))
            manifest = largest.manifest._replace(fatbin_size=size, host_code=host_code)
            self._module_built(replace(largest, manifests=(manifest,)), f"{count_text(len(built), 'variant')}, ")

    def _module_built(self, module: BuiltModule, variants: str = "") -> None:
        manifest = module.manifest
        images = [str(image) for image in manifest.images if image.source is None]
        targets = dict.fromkeys(str(image.target) for image in manifest.relocatable)
        images += [f"for linking {', '.join(targets)}"] if targets else []
        kernels = count_text(len(manifest.kernels), "kernel")
        self._print(
            self._info, f"{manifest.name}: {variants}{kernels}, {', '.join(images)}, {size_text(manifest.fatbin_size)}"
        )
        if len(manifest.kernels) > _MANY:
            self._print(self._info, f"  {kernels}: instances in the module's table keeps only some of them")
        if self._plan is not None:
            from cuda_wheel.builder.report.notes import library_notes  # start-up time

            for line in library_notes(self._plan.toolchain, dict(manifest.toolchain), module.headers):
                self._print(self._info, f"  {line}")
        if manifest.host_code:
            self._print(self._info, f"  left out: {'; '.join(manifest.host_code)}")


def _make_bar() -> ProgressBar | None:
    """Return a progress bar; None if standard error is not a terminal, or if rich is not installed."""
    if sys.stderr is None or not sys.stderr.isatty():
        return None
    try:
        from cuda_wheel.builder.report.progress_bar import ProgressBar
    except ImportError:
        return None
    return ProgressBar()
