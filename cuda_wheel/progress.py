"""Tell a person how a build goes: a progress bar on a terminal, a line per module elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from cuda_wheel.build.execute import BuiltModule
from cuda_wheel.build.plan import Plan

__all__ = ["ProgressReporter", "size_text"]


class ProgressReporter:
    """A build's `Reporter`, and a context manager. Lines go to `say`; the bar goes to standard error."""

    def __init__(self, say: Callable[[str], None], warn: Callable[[str], None]) -> None:
        self._say = say
        self._warn = warn
        self._warned: set[str] = set()
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
            )
            self._task = self._bar.add_task("compiling", total=None)

    def __enter__(self) -> ProgressReporter:
        if self._bar:
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar:
            self._bar.stop()

    def begin(self, plan: Plan) -> None:
        jobs = sum(len(module.jobs) for module in plan.modules)
        if self._bar:
            self._bar.update(self._task, total=jobs)
        self._say(f"cuda-wheel: {len(plan.modules)} modules, {jobs} compile jobs, {plan.toolchain.name}")

    def compiled(self, module: str, arch: str) -> None:
        if self._bar:
            self._bar.update(self._task, advance=1, description=f"{module} {arch}")

    def warning(self, text: str) -> None:
        if text not in self._warned:  # one source compiles for many targets
            self._warned.add(text)
            self._warn(text)

    def built(self, module: BuiltModule) -> None:
        images = ", ".join(map(str, module.manifest.images))
        kernels = len(module.manifest.kernels)
        self._say(
            f"{module.manifest.name}: {kernels} kernel{'s' * (kernels != 1)}, {images}, {size_text(len(module.fatbin))}"
        )


def size_text(count: int) -> str:
    """Return a number of bytes as people read it."""
    if count < 1024:
        return f"{count} B"
    return f"{count / 1024:.1f} KiB" if count < 1 << 20 else f"{count / (1 << 20):.1f} MiB"
