"""Workers may crash, hang or eat memory; the build says so and goes on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from cuda_wheel.builder.compile.job import compile_job
from cuda_wheel.builder.errors import CompileError
from cuda_wheel.builder.jobs import Job, LinkJob
from cuda_wheel.builder.link.device_link import link_job
from cuda_wheel.builder.scratch import ending_in_order
from cuda_wheel.builder.toolchain.records import Toolchain
from cuda_wheel.builder.workers.pool import Workers
from tests.support.processes import run
from tests.support.projects import KERNEL


def test_a_crash_ends_the_call_and_not_the_pool() -> None:
    with Workers(timeout=60, memory=None, count=1) as workers:
        with pytest.raises(CompileError, match=r"the compiler process died \(killed by SIGABRT\)"):
            workers.submit(_abort, None).result()
        assert workers.submit(len, (1, 2, 3)).result() == 3


def _abort(_: None) -> None:
    os.abort()


def test_a_worker_that_the_system_ends_is_told_with_what_helps() -> None:
    with Workers(timeout=60, memory=None, count=1) as workers:
        with pytest.raises(CompileError, match=r"killed by SIGKILL\)\nhelp: the system does so where memory runs out"):
            workers.submit(_kill_oneself, None).result()
        assert workers.submit(len, ()).result() == 0


def _kill_oneself(_: None) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_worker_that_ends_while_idle_is_nobodys_failure() -> None:
    with Workers(timeout=60, memory=None, count=1) as workers:
        pid = workers.submit(_pid, None).result()
        os.kill(pid, signal.SIGKILL)
        (worker,) = workers._all
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline and not worker.has_ended:
            time.sleep(0.01)
        assert workers.submit(len, (1,)).result() == 1


@pytest.mark.parametrize(
    "written", [b"garbage\n", b"\x80\x04N.", b"\x80\x04\x8e" + b"\xff" * 9, b"cnowhere\nnothing\n."]
)
def test_what_is_no_answer_is_told_and_the_next_call_has_its_own(written: bytes) -> None:
    with Workers(timeout=60, memory=None, count=1) as workers:
        with pytest.raises(CompileError, match=r"^the compiler process "):
            workers.submit(_write_among_the_answers, written).result()
        assert workers.submit(len, (1, 2)).result() == 2


def _write_among_the_answers(content: bytes) -> None:
    (stream,) = _pipes("w")
    os.write(stream, content)
    time.sleep(60)


def test_a_worker_that_closes_its_pipe_is_ended() -> None:
    with Workers(timeout=60, memory=None, count=1) as workers:
        with pytest.raises(CompileError, match="gave no answer that can be read"):
            workers.submit(_close_the_answers, None).result()
        assert workers.submit(len, (1, 2)).result() == 2


def _close_the_answers(_: None) -> None:
    for stream in _pipes("w"):
        os.close(stream)
    time.sleep(60)


def _pipes(mode: str) -> list[int]:
    """Return the descriptors of this process that are ends of pipes to write to."""
    found = []
    for name in os.listdir("/proc/self/fd"):
        path = Path("/proc/self/fdinfo", name)
        is_pipe = os.path.exists(path) and os.readlink(f"/proc/self/fd/{name}").startswith("pipe:")
        if is_pipe and int(path.read_text().split()[3], 8) & os.O_WRONLY and int(name) > 2:
            found.append(int(name))
    return found


def test_the_last_words_are_those_of_the_call_that_died() -> None:
    with Workers(timeout=60, memory=None, count=1) as workers:
        workers.submit(os.system, "echo words of an earlier job >&2").result()
        with pytest.raises(CompileError, match=r"killed by SIGABRT\):\nits own words\nhelp: ") as caught:
            workers.submit(_abort_with_words, None).result()
    assert "earlier" not in str(caught.value)


def _abort_with_words(_: None) -> None:
    os.write(2, b"its own words\n")
    os.abort()


def test_a_call_that_takes_too_long_is_ended() -> None:
    with Workers(timeout=5, memory=None, count=1) as workers:
        with pytest.raises(CompileError, match=r"stopped after 5 s, the timeout of one compile job"):
            workers.submit(time.sleep, 60).result()
        assert workers.submit(len, ()).result() == 0


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no limit on a process's address space")
def test_a_call_that_wants_too_much_memory_is_ended() -> None:
    with Workers(timeout=60, memory=1 << 30, count=1) as workers:
        with pytest.raises(CompileError, match="needed more than memory-limit"):
            workers.submit(bytearray, 4 << 30).result()
        assert workers.submit(len, ()).result() == 0


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no limit on a process's address space")
def test_an_answer_that_is_too_large_to_send_is_told_so() -> None:
    with Workers(timeout=60, memory=1 << 30, count=1) as workers:
        with pytest.raises(CompileError, match=r"needed more than memory-limit \(1GiB\)\nhelp: "):
            workers.submit(bytes, 600 << 20).result()
        assert workers.submit(len, ()).result() == 0


@pytest.mark.skipif(sys.platform != "linux", reason="Linux has a score of what to end first")
def test_where_memory_runs_out_the_system_ends_workers_first() -> None:
    with Workers(timeout=60, memory=None, count=1) as workers:
        assert workers.submit(_score, None).result() == "1000"


def _score(_: None) -> str:
    return Path("/proc/self/oom_score_adj").read_text().strip()


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no limit on a process's address space")
def test_a_template_that_explodes_ends_in_words(toolchain: Toolchain) -> None:
    bomb = b"""
        template <int N, int M> struct T { static constexpr int v = T<N - 1, M>::v + T<N - 1, M + (1 << (N % 24))>::v; };
        template <int M> struct T<0, M> { static constexpr int v = M; };
        __global__ void k(int* x) { *x = T<24, 0>::v; }
        """
    job = Job(toolchain.libraries[0], ".", "bomb.cu", bomb, "80", True, False, (), (), (), False, "auto")
    with Workers(timeout=20, memory=2 << 30, count=1) as workers:
        with pytest.raises(CompileError):
            workers.submit(compile_job, job).result()
        good = Job(
            toolchain.libraries[0],
            ".",
            "good.cu",
            b"__global__ void k() {}",
            "80",
            True,
            False,
            (),
            (),
            (),
            False,
            "auto",
        )
        assert workers.submit(compile_job, good).result().cubin


def test_no_worker_serves_two_sets_of_options() -> None:
    with Workers(timeout=60, memory=None, count=1) as workers:
        one, same, other = (workers.submit(_pid, None, flavour).result() for flavour in [("a",), ("a",), ("b",)])
    assert one == same != other


def test_links_of_modules_with_other_options_get_other_workers(
    make_project, toolchain: Toolchain, monkeypatch: pytest.MonkeyPatch
) -> None:
    from cuda_wheel.builder.config.settings import Config
    from cuda_wheel.builder.execute import execute
    from cuda_wheel.builder.plan import make_plan
    from cuda_wheel.builder.report.reporter import Silent
    from cuda_wheel.builder.sources.layout import WheelFile
    from cuda_wheel.builder.sources.modules import select

    root = make_project(**{"demo/a.cu": KERNEL, "demo/b.cu": KERNEL})
    common = {"architectures": "80-real", "link": "lto"}
    tables = [{"name": "demo.a", **common, "options": ["--ptxas-options=-O0"]}, {"name": "demo.b", **common}]
    config = Config.from_table({"module": tables})
    files = [WheelFile(root / name, name) for name in ("demo/__init__.py", "demo/a.cu", "demo/b.cu")]
    plan = make_plan(config, select(config, root, files), root, toolchain, lambda: [])
    flavours = {}
    with Workers(timeout=60, memory=None, count=1) as workers:
        submit = workers.submit

        def noted(function, argument, flavour=None, *rest):
            if isinstance(argument[1], Job | LinkJob):
                flavours.setdefault(argument[0], set()).add(flavour)
            return submit(function, argument, flavour, *rest)

        monkeypatch.setattr(workers, "submit", noted)
        execute(plan, workers, Silent(), None, lambda module: None)
    assert (
        flavours[link_job] == flavours[compile_job] and len(flavours[link_job]) == 2 and None not in flavours[link_job]
    )


def test_no_worker_finds_the_driver() -> None:
    with Workers(timeout=60, memory=None, count=1) as workers:
        found = workers.submit(_driver_error, None).result()
    assert "no_driver/libcuda.so.1" in found or sys.platform != "linux"


def _driver_error(_: None) -> str:
    import ctypes

    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError as error:
        return str(error)
    return "loaded"


def _pid(_: None) -> int:
    return os.getpid()


def test_images_do_not_depend_on_the_company_they_are_compiled_in(toolchain: Toolchain) -> None:
    """One module's options made a later one of the same process wrong in some NVRTC releases."""
    text = b"__global__ void k(float* x, int n) { for (int i = 0; i < n; ++i) x[i] = x[i] * 2 + 1; }"
    plain = Job(toolchain.libraries[0], ".", "k.cu", text, "120", True, True, (), (), (), False, "auto")
    debug = Job(toolchain.libraries[0], ".", "k.cu", text, "120", True, False, ("-G",), (), (), False, "auto")
    with Workers(timeout=60, memory=None, count=1) as workers:
        alone = workers.submit(compile_job, plain, plain.options).result()
    with Workers(timeout=60, memory=None, count=1) as workers:
        workers.submit(compile_job, debug, debug.options).result()
        in_company = workers.submit(compile_job, plain, plain.options).result()
    assert (alone.cubin, alone.ptx) == (in_company.cubin, in_company.ptx)


def test_leaving_with_an_error_ends_the_workers_at_once() -> None:
    before = time.monotonic()
    with pytest.raises(KeyboardInterrupt), Workers(timeout=600, memory=None, count=2) as workers:
        pid = workers.submit(_pid, None).result()
        workers.submit(time.sleep, 600)
        workers.submit(time.sleep, 600)
        time.sleep(0.2)
        raise KeyboardInterrupt
    assert time.monotonic() - before < 30
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_what_a_call_prints_does_not_get_among_the_answers() -> None:
    with Workers(timeout=60, memory=None, count=1) as workers:
        workers.submit(os.system, "echo printed by a compiler").result()
        assert workers.submit(len, (1,)).result() == 1


def test_an_interrupt_is_the_parents_to_answer() -> None:
    with Workers(timeout=60, memory=None, count=1) as workers:
        pid = workers.submit(_pid, None).result()
        os.kill(pid, signal.SIGINT)
        assert workers.submit(_pid, None).result() == pid


def test_what_ends_a_build_in_order_is_for_the_main_thread_and_leaves_others_handlers() -> None:
    def handlers() -> list[object]:
        with ending_in_order():
            return [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)]

    before = signal.signal(signal.SIGTERM, signal.SIG_DFL)
    try:
        interrupted = signal.getsignal(signal.SIGINT)
        with ThreadPoolExecutor(1) as thread:
            assert thread.submit(handlers).result() == [signal.SIG_DFL, interrupted]
        ours, also = handlers()
        assert callable(ours) and also == interrupted
        assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        assert handlers() == [signal.SIG_IGN, interrupted]
    finally:
        signal.signal(signal.SIGTERM, before)


ORPHAN = """
import signal, time
for name in ("SIGTERM", "SIGHUP"):
    signal.signal(getattr(signal, name), signal.SIG_DFL)  # a caller such as nohup may have had it ignored
from cuda_wheel.builder.workers.pool import Workers
with Workers(timeout=600, memory=None, count=1) as workers:
    print(workers.submit(eval, "__import__('os').getpid()").result(), flush=True)
    workers.submit(time.sleep, 600).result()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
@pytest.mark.parametrize("how", ["SIGTERM", "SIGKILL", "SIGHUP"])
def test_no_worker_outlives_its_build(how: str) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", ORPHAN], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as build:
        worker = int(build.stdout.readline())
        time.sleep(0.2)
        build.send_signal(signal.Signals[how])
        try:
            build.wait(timeout=30)
        finally:
            build.kill()
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline and alive(worker):
            time.sleep(0.05)
    assert not alive(worker)


def alive(pid: int) -> bool:
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2]
    except OSError:
        return False


def test_what_start_up_files_print_does_not_get_among_the_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    noise = "import sys\nprint('hello')\nsys.stdout.write('no line')\nsys.stdout.flush()\n"
    (tmp_path / "sitecustomize.py").write_text(noise)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with Workers(timeout=60, memory=None, count=1) as workers:
        assert workers.submit(len, (1, 2)).result() == 2


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no limit on a process's address space")
def test_a_limit_of_the_system_goes_before_ours() -> None:
    program = "from cuda_wheel.builder.workers.pool import Workers\nwith Workers(60, 8 << 30, 1) as w: print(w.submit(len, (1,)).result())"
    result = run("bash", "-c", f'ulimit -v 6000000; exec "{sys.executable}" -c "$0"', program)
    assert result.stdout == "1\n"


CRASH = "struct alignas(1 << 28) S { char c; }; __global__ void k(S* s) { S t; s[1] = t; }"
"""What takes NVRTC more than a gibibyte, of which it aborts."""


@pytest.mark.skipif(sys.platform != "linux", reason="processes are told by their environment")
def test_a_compiler_that_crashes_ends_the_build_in_words_and_leaves_nothing(
    make_project, cuda_wheel, tmp_path: Path
) -> None:
    table = '[tool.cuda-wheel]\narchitectures = ["80-real"]\nmemory-limit = "1GiB"'
    project = make_project(table, **{"demo/crash.cu": CRASH, "demo/wrong.cu": "wrong", "demo/good.cu": KERNEL})
    result = cuda_wheel("build", project, "-o", tmp_path / "out", CUDA_WHEEL_TEST_MARK=str(tmp_path))
    assert result.returncode == 1
    assert "Traceback" not in result.stdout
    assert "demo/crash.cu does not compile for sm_80 with NVRTC" in result.stdout
    assert "memory-limit" in result.stdout and "help: " in result.stdout
    assert "demo/wrong.cu does not compile for sm_80" in result.stdout
    assert not (tmp_path / "out").exists()
    mark = f"CUDA_WHEEL_TEST_MARK={tmp_path}".encode()
    assert not [path for path in Path("/proc").glob("[0-9]*/environ") if mark in _read(path)]


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


@pytest.mark.skipif(sys.platform == "win32", reason="needs a POSIX shell")
def test_a_build_needs_no_standard_streams(make_project, tmp_path: Path) -> None:
    project = make_project('[tool.cuda-wheel]\narchitectures = "80-real"')
    out = tmp_path / "out"
    command = f'exec "{sys.executable}" -m cuda_wheel build "{project}" -o "{out}" <&- >&- 2>&-'
    assert run("sh", "-c", command, cwd=tmp_path).returncode == 0
    assert (out / "demo/fill.fatbin").stat().st_size > 0


def test_a_bundle_that_fails_names_its_module(
    make_project, toolchain: Toolchain, monkeypatch: pytest.MonkeyPatch
) -> None:
    from cuda_wheel.builder import execute as execute_module
    from cuda_wheel.builder.config.settings import Config
    from cuda_wheel.builder.plan import make_plan
    from cuda_wheel.builder.report import reporter
    from cuda_wheel.builder.sources.layout import WheelFile
    from cuda_wheel.builder.sources.modules import select

    monkeypatch.setattr(execute_module, "bundle", _abort)
    root = make_project()
    config = Config.from_table({"architectures": "80-real"})
    files = [WheelFile(root / name, name) for name in ("demo/__init__.py", "demo/fill.cu")]
    plan = make_plan(config, select(config, root, files), root, toolchain, lambda: [])
    words = r"^demo/fill\.cu cannot be bundled with nvFatbin [\d.]+:\nthe compiler process died"
    with Workers(timeout=60, memory=None, count=1) as workers, pytest.raises(CompileError, match=words):
        execute_module.execute(plan, workers, reporter.Silent(), None, lambda module: None)
