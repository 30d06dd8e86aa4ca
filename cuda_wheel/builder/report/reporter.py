"""Report the progress of a build: the interface `Reporter`, and the reporter for people.

People see a progress bar on a terminal, and lines of text elsewhere.

A build in which nothing has changed imports this module too; imports that only other builds need are inside functions.
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
"""Largest number of kernels in a module without a hint. For more kernels, a build suggests the module's setting
`instances`, which keeps only the chosen ones."""

MINIMUM_SHOWN = 0.05
"""Total duration of a phase, in seconds, below which the last line of a build does not list the phase."""


class Reporter(Protocol):
    """Receives the events of a build. Each front end passes one to the build."""

    @property
    def can_repeat(self) -> bool:
        """Whether calling `repeat` alone is enough when all results of an earlier build are reused: no event is to be
        recorded."""

    @property
    def shown(self) -> Shown | None:
        """The lines shown so far, to be passed to `repeat` in a later build; None if nothing was shown."""

    def repeat(self, shown: Shown) -> None:
        """Show the lines of an earlier build, when all of its results are reused."""

    def build_started(self, plan: Plan) -> None: ...

    def step_finished(self, step: Step) -> None: ...

    def time_remaining(self, seconds: float) -> None:
        """Receive a new estimate of the time remaining in seconds."""

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
    """The reporter for people, a context manager for one build.

    It passes lines to `info` and warnings to `warn`. If standard error is a terminal and rich is installed, it also
    shows a progress bar there, and prints the lines only when the bar is removed.

    The last line has the total duration, how many jobs came from the cache, and how long the workers took for each
    phase. It is printed even if the build fails.

    `timings` is the path of a Chrome trace to write, by default the value of CUDA_WHEEL_TIMINGS: a file, or a folder
    that gets one file for each build. Entering the context raises ConfigError if it cannot be written.

    `steps` prints a line for each finished step too; `bar=False` shows no progress bar.
    """

    def __init__(
        self,
        info: Callable[[str], None],
        warn: Callable[[str], None],
        timings: Path | None = None,
        steps: bool = False,
        *,
        bar: bool = True,
    ) -> None:
        self._prints_steps = steps
        from_environment = os.environ.get("CUDA_WHEEL_TIMINGS")
        self._timings = timings or (Path(from_environment) if from_environment else None)
        self._steps: list[Step] = []
        """Finished steps, for the trace. If no trace is written, the list stays empty: a large build has many steps."""
        self._phase_seconds: dict[str, float] = {}
        """Phase -> total time in seconds that all workers together spent in this phase."""
        self._info, self._warn = info, warn
        self._held_back: list[tuple[Callable[[str], None], str]] = []
        self._lines: list[tuple[bool, str]] = []
        self._warnings: set[str] = set()
        self._jobs = 0
        self._plan: Plan | None = None
        self._variants: dict[str, list[BuiltModule]] = {}
        """Module name -> the variants of that module that are built so far, without the contents of their files."""
        self._planned: Counter[str] = Counter()
        """Module name -> number of the module's variants in the plan; 1 for a module without variants."""
        self._finished: Counter[How] = Counter()
        self._bar = _make_bar() if bar else None

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
        """Create the file of the trace at `_timings`, the path given by the user. Do nothing if `_timings` is None.

        If `_timings` is a folder, set `_timings` to the path of a new file in the folder. Raises ConfigError if the
        file cannot be written.
        """
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
        """Return the last line of a build: "3 jobs in 2.5 s: 2 compiled, 1 failed; workers: 2.1 s compiling".

        `seconds` is the duration of the build. The counts are of jobs and links: from the cache, compiled, linked,
        failed, not done. Counts of 0 are left out.
        """
        results: tuple[How, ...] = ("from the cache", "compiled", "linked", "failed")
        counts = [f"{self._finished[how]} {how}" for how in results if self._finished[how]]
        not_done = max(self._jobs - sum(self._finished[how] for how in results), 0)  # a failed bundle is not a job
        counts += [f"{not_done} not done"] if not_done else []
        return f"{count_text(self._jobs, 'job')} in {seconds:.1f} s: {', '.join(counts)}{self._workers_summary()}"

    def _workers_summary(self) -> str:
        """Return "; workers: 2.1 s compiling, 0.4 s assembling", with the longest phase first. Return "" if no phase
        took at least MINIMUM_SHOWN seconds, or if the workers did nothing."""
        if not self._finished["compiled"] + self._finished["linked"] + self._finished["failed"]:
            return ""
        longest_first = sorted(self._phase_seconds.items(), key=lambda item: -item[1])
        phases = [f"{seconds:.1f} s {name}" for name, seconds in longest_first if seconds >= MINIMUM_SHOWN]
        return f"; workers: {', '.join(phases)}" if phases else ""

    @property
    def can_repeat(self) -> bool:
        """Whether neither a trace nor the steps are written."""
        return self._timings is None and not self._prints_steps

    @property
    def shown(self) -> Shown:
        """The lines printed so far, and the number of jobs. Lines about modules are sorted, because the order in which
        they are built varies."""
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
        """Print the lines of an earlier build, and count all of its jobs as from the cache."""
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
        """Print the numbers of modules, jobs and links, and the notes about the plan."""
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
        """Count a step and the duration of its phases, and advance the bar."""
        if self._timings:
            self._steps.append(step)
        times = step.times
        phases = (Span("failing", times.began, times.ended),) if step.how == "failed" else times.phases
        for span in (*phases, *([times.start] if times.start else [])):
            self._phase_seconds[span.name] = self._phase_seconds.get(span.name, 0.0) + span.ended - span.began
        self._finished[step.how] += 1
        if self._prints_steps:
            what = f"{', '.join(step.sources)} for {step.target}" if step.target else step.module
            self._print(self._info, f"  {what}: {step.how}, {times.ended - times.began:.2f} s")
        if self._bar:
            self._bar.advance(0 if step.how == "bundled" else 1, f"{step.module} {step.target or step.how}")

    def time_remaining(self, seconds: float) -> None:
        """Show a new estimate of the time remaining, in seconds, in the bar."""
        if self._bar:
            self._bar.set_remaining(seconds)

    def warning(self, text: str) -> None:
        """Print a warning unless it was printed before: a source that is compiled for several targets gives it for
        each."""
        if text not in self._warnings:
            self._warnings.add(text)
            self._print(self._warn, text)

    def module_built(self, module: BuiltModule) -> None:
        """Print a module's kernels, images and size, and what was left out of it; for a module with variants once, when
        all are built."""
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
        hosts = list(dict.fromkeys(image.host for image in manifest.images if image.host))
        loadable = (image._replace(host="") for image in manifest.images if image.source is None)
        images = list(dict.fromkeys(map(str, loadable))) + ([f"each for {', '.join(hosts)}"] if hosts else [])
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
