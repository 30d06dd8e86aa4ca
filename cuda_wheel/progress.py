"""Tell a person how a build goes: a progress bar on a terminal, a line per module elsewhere."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from cuda_wheel.build.describe import BuiltModule
from cuda_wheel.build.plan import Plan

if TYPE_CHECKING:  # `cuda-wheel inspect` wants `size_text` alone
    from cuda_wheel.build.execute import How

__all__ = ["ProgressReporter", "size_text"]


class ProgressReporter:
    """A build's `Reporter`, and a context manager. Lines go to `say`, warnings to `warn`, the bar to standard error.

    While there is a bar, lines wait for its end. The last line says how long it all took, and how much of it came from
    the cache, also of a build that failed.
    """

    def __init__(self, say: Callable[[str], None], warn: Callable[[str], None]) -> None:
        self._outlets = {"say": say, "warn": warn}
        self._waiting: list[tuple[str, str]] = []
        self._warned: set[str] = set()
        self._jobs = 0
        self._done: Counter[How] = Counter()
        console = Console(stderr=True)
        self._bar: Progress | None = None
        if console.is_terminal:
            self._bar = Progress(
                TextColumn("{task.description}"),
                BarColumn(),
                MofNCompleteColumn(),
                TimeElapsedColumn(),
                console=console,
                transient=True,
                redirect_stdout=False,
                redirect_stderr=False,
            )
            self._task = self._bar.add_task("compiling", total=None)

    def __enter__(self) -> ProgressReporter:
        self._began = time.monotonic()
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

    def _summary(self, seconds: float) -> str:
        """Return what became of the jobs, links included, in all the seconds that the build took."""
        ways: tuple[How, ...] = ("from the cache", "compiled", "linked")
        counts = [f"{self._done[how]} {how}" for how in ways if self._done[how]]
        left = self._jobs - self._done.total()
        counts += [f"{left} not done"] if left else []
        return f"{_counted(self._jobs, 'job')} in {seconds:.1f} s: {', '.join(counts)}"

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
        counts = f"{_counted(len(plan.modules), 'module')}, {_counted(jobs, 'compile job')}"
        counts += f", {_counted(links, 'link')}" if links else ""
        self._tell("say", f"cuda-wheel: {counts}, {plan.toolchain.name}")

    def done(self, module: str, arch: str, how: How) -> None:
        self._done[how] += 1
        if self._bar:
            self._bar.update(self._task, advance=1, description=f"{module} {arch}")

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
            f"{module.manifest.name}: {_counted(len(module.manifest.kernels), 'kernel')}, {', '.join(images)}, "
            f"{size_text(len(module.fatbin))}",
        )
        if module.manifest.host_code:
            self._tell("say", f"  left out, as host code: {'; '.join(module.manifest.host_code)}")


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def size_text(count: int) -> str:
    """Return a number of bytes as people read it."""
    if count < 1024:
        return f"{count} B"
    unit, shift = next((unit, shift) for unit, shift in (("GiB", 30), ("MiB", 20), ("KiB", 10)) if count >> shift)
    return f"{count / (1 << shift):.1f} {unit}"
