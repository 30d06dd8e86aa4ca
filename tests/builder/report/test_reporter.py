"""What people read of a build: its lines, its warnings, and a last line that adds up."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from cuda_wheel.builder.config.settings import Config
from cuda_wheel.builder.errors import ConfigError
from cuda_wheel.builder.jobs import BuiltModule
from cuda_wheel.builder.plan import Plan, make_plan
from cuda_wheel.builder.report import reporter as reporting
from cuda_wheel.builder.report.reporter import ProgressReporter, Reporter, SilentReporter
from cuda_wheel.builder.sources.layout import WheelFile
from cuda_wheel.builder.sources.modules import select, variants_of
from cuda_wheel.builder.timing import How, Span, Step, Times
from cuda_wheel.builder.toolchain.toolchain import Toolchain
from cuda_wheel.runtime.manifest import KernelInfo
from tests.support.manifests import image, manifest

pytestmark = pytest.mark.one_toolchain

VARIANTS = {"name": "demo.v", "variants": {"N": [1, 2]}}


@pytest.fixture(autouse=True)
def no_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CUDA_WHEEL_TIMINGS", raising=False)


@pytest.fixture
def plan(tmp_path: Path, toolchain: Toolchain) -> Callable[..., Plan]:
    """Return a function that plans modules with these names, for sm_80."""

    def plan(*names: str, modules: tuple[dict, ...] = ()) -> Plan:
        files = []
        for name in names:
            path = tmp_path / "demo" / f"{name}.cu"
            path.parent.mkdir(exist_ok=True)
            path.write_text("__global__ void k() {}\n")
            files.append(WheelFile(path, f"demo/{name}.cu"))
        config = Config.from_table({"architectures": ["80-real"], "module": list(modules)})
        found = [variant for module in select(config, tmp_path, files) for variant in variants_of(module)]
        return make_plan(config, found, tmp_path, toolchain, lambda: [])

    return plan


def built(name: str = "demo.k", kernels: int = 1, **changes: object) -> BuiltModule:
    made = manifest(image("sm_80"), image("compute_80"))
    infos = tuple(KernelInfo(f"k{number}", f"k{number}", ()) for number in range(kernels))
    return BuiltModule((made._replace(name=name, kernels=infos, fatbin_size=2048, **changes),), b"", b"", ())


def step(how: How, *phases: Span, start: Span | None = None) -> Step:
    return Step("demo.k", ("demo/k.cu",), "sm_80", how, Times("worker", 0.0, 10.0, phases, start))


class Recorded:
    """A reporter whose lines and warnings are recorded in the order in which they are printed."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.warnings: list[str] = []
        self.reporter = ProgressReporter(self.lines.append, self.warnings.append)


def test_both_reporters_have_all_of_the_interface() -> None:
    reporters: list[Reporter] = [SilentReporter(), Recorded().reporter]
    for name in vars(Reporter):
        assert name.startswith("_") or all(hasattr(each, name) for each in reporters), name
    assert reporters[0].shown is None and reporters[0].can_repeat


def test_the_first_line_counts_what_will_be_done(plan: Callable[..., Plan]) -> None:
    recorded = Recorded()
    with recorded.reporter as reporter:
        reporter.build_started(plan("a", "b", "v", modules=(VARIANTS,)))
    assert re.match(r"cuda-wheel: 3 modules, 4 compile jobs for 2 variants, NVRTC \d+\.\d+\.\d+$", recorded.lines[0])
    assert re.match(r"cuda-wheel: 4 jobs in \d+\.\d s: 4 not done$", recorded.lines[-1])
    assert recorded.warnings == []


def test_a_warning_is_printed_once_and_is_no_line() -> None:
    recorded = Recorded()
    with recorded.reporter as reporter:
        for text in ("k.cu:1: warning: a", "k.cu:2: warning: b", "k.cu:1: warning: a"):
            reporter.warning(text)
    assert recorded.warnings == ["k.cu:1: warning: a", "k.cu:2: warning: b"]
    assert recorded.lines == []


def test_the_last_line_adds_up_also_after_a_failure(plan: Callable[..., Plan]) -> None:
    recorded = Recorded()
    phases = (Span("compiling", 0.0, 3.0), Span("assembling", 3.0, 3.04), Span("lowering", 4.0, 9.0))
    with pytest.raises(ValueError, match="stop"), recorded.reporter as reporter:
        reporter.build_started(plan("a", "b", "c", "d", "e"))
        reporter.step_finished(step("compiled", *phases, start=Span("starting", 0.0, 0.5)))
        reporter.step_finished(step("from the cache"))
        reporter.step_finished(step("failed", *phases))  # its phases are of no use: all of its time is lost
        reporter.step_finished(step("bundled", Span("bundling", 0.0, 0.25)))
        raise ValueError("stop")
    assert re.sub(r"in \d+\.\d s", "in T s", recorded.lines[-1]) == (
        "cuda-wheel: 5 jobs in T s: 1 from the cache, 1 compiled, 1 failed, 2 not done; "
        "workers: 10.0 s failing, 5.0 s lowering, 3.0 s compiling, 0.5 s starting, 0.2 s bundling"
    )


def test_a_build_from_the_cache_says_nothing_of_workers(plan: Callable[..., Plan]) -> None:
    recorded = Recorded()
    with recorded.reporter as reporter:
        reporter.build_started(plan("a"))
        reporter.step_finished(step("from the cache", Span("caching", 0.0, 5.0)))
    assert re.search(r"1 job in \d+\.\d s: 1 from the cache$", recorded.lines[-1])


def test_a_module_is_described_in_a_line_with_details_below() -> None:
    recorded = Recorded()
    recorded.reporter.module_built(built(kernels=51, host_code=("k.cu:3: body of main", "k.cu:9: body of f")))
    assert recorded.lines == [
        "demo.k: 51 kernels, cubin sm_80, ptx compute_80 (PTX 8.0), 2.0 KiB",
        "  51 kernels: instances in the module's table keeps only some of them",
        "  left out: k.cu:3: body of main; k.cu:9: body of f",
    ]
    few = Recorded()
    few.reporter.module_built(built(kernels=50))
    assert few.lines == ["demo.k: 50 kernels, cubin sm_80, ptx compute_80 (PTX 8.0), 2.0 KiB"]


def test_images_for_linking_are_named_by_their_targets() -> None:
    recorded = Recorded()
    relocatable = tuple(image("compute_90")._replace(source=source) for source in ("a.cu", "b.cu"))
    recorded.reporter.module_built(built(images=(image("sm_80"), *relocatable)))
    assert recorded.lines == ["demo.k: 1 kernel, cubin sm_80, for linking compute_90, 2.0 KiB"]


def test_variants_are_described_together_when_all_are_built(plan: Callable[..., Plan]) -> None:
    recorded = Recorded()
    recorded.reporter.build_started(plan("v", modules=(VARIANTS,)))
    first = built("demo.v", variant=(("N", 1),), host_code=("k.cu:3: body of main",))
    second = built("demo.v", kernels=3, variant=(("N", 2),), host_code=("k.cu:3: body of main", "k.cu:5: body of f"))
    before = len(recorded.lines)
    recorded.reporter.module_built(first)
    assert len(recorded.lines) == before
    recorded.reporter.module_built(second)
    head, *_, last = recorded.lines[before:]
    assert head == "demo.v: 2 variants, 3 kernels, cubin sm_80, ptx compute_80 (PTX 8.0), 4.0 KiB"
    assert last == "  left out: k.cu:3: body of main; k.cu:5: body of f"


def test_what_was_shown_does_not_depend_on_the_order_of_modules_and_is_repeated(plan: Callable[..., Plan]) -> None:
    shown = []
    for order in (("a", "b"), ("b", "a")):
        reporter = Recorded().reporter
        reporter.build_started(plan("a", "b"))
        for name in order:
            reporter.module_built(built(f"demo.{name}", host_code=(f"{name}.cu:1: body of main",)))
        reporter.warning("a.cu:1: warning: w")
        shown.append(reporter.shown)
    assert shown[0] == shown[1] and shown[0].jobs == 2
    again = Recorded()
    with again.reporter as repeating:
        repeating.repeat(shown[0])
    assert again.warnings == ["a.cu:1: warning: w"]
    assert again.lines[:-1] == [text for is_warning, text in shown[0].lines if not is_warning]
    assert again.lines[-1].endswith(" s: 2 from the cache")
    assert again.reporter.shown == shown[0]


class Bar:
    """A bar that records the calls."""

    def __init__(self) -> None:
        self.calls: list[tuple[object, ...]] = []

    def __getattr__(self, name: str) -> Callable[..., None]:
        return lambda *arguments: self.calls.append((name, *arguments))


def test_lines_wait_until_the_bar_is_removed_and_keep_their_order(
    plan: Callable[..., Plan], monkeypatch: pytest.MonkeyPatch
) -> None:
    bar, printed = Bar(), list[str]()
    monkeypatch.setattr(reporting, "_make_bar", lambda: bar)
    with ProgressReporter(printed.append, printed.append) as reporter:
        reporter.build_started(plan("a"))
        reporter.warning("k.cu:1: warning: a")
        reporter.step_finished(step("compiled"))
        reporter.step_finished(step("bundled"))
        reporter.time_remaining(7.5)
        reporter.module_built(built())
        assert printed == []
    assert bar.calls == [
        *[("start",), ("set_total", 1)],
        *[("advance", 1, "demo.k sm_80"), ("advance", 0, "demo.k sm_80")],  # a bundle is no job
        *[("set_remaining", 7.5), ("stop",)],
    ]
    warning = printed.index("k.cu:1: warning: a")
    assert printed[0].startswith("cuda-wheel: 1 module") and printed[-1].startswith("cuda-wheel: 1 job in ")
    assert warning < next(number for number, line in enumerate(printed) if line.startswith("demo.k: "))


def test_there_is_no_bar_without_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr", None)  # as in a program without a console on Windows
    assert reporting._make_bar() is None


@pytest.mark.parametrize("way", ["argument", "variable"])
@pytest.mark.parametrize("place", ["file", "folder"])
def test_a_trace_is_written_and_such_a_build_is_not_repeated(
    way: str, place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path if place == "folder" else tmp_path / "trace.json"
    if way == "variable":
        monkeypatch.setenv("CUDA_WHEEL_TIMINGS", str(path))
    for _ in range(2):
        with ProgressReporter(print, print, path if way == "argument" else None) as reporter:
            assert not reporter.can_repeat
            reporter.step_finished(step("compiled"))
    written = list(tmp_path.iterdir())
    assert len(written) == (2 if place == "folder" else 1)
    for each in written:
        names = [event["name"] for event in json.loads(each.read_text(encoding="utf-8"))["traceEvents"]]
        assert "demo/k.cu sm_80" in names
    assert Recorded().reporter.can_repeat == (way == "argument")


def test_a_trace_that_cannot_be_written_is_an_error_before_the_build(tmp_path: Path) -> None:
    with (
        pytest.raises(ConfigError, match=r"cannot be written to .*--timings or CUDA_WHEEL_TIMINGS must name"),
        ProgressReporter(print, print, tmp_path / "no" / "trace.json"),
    ):
        pytest.fail("the build began")
