"""Workers may crash, hang or eat memory; the build says so and goes on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cuda_wheel.build.compiler import Job, compile_job
from cuda_wheel.build.errors import CompileError
from cuda_wheel.build.toolchain import Toolchain
from cuda_wheel.build.workers import Workers
from tests.conftest import run


def test_a_crash_ends_the_call_and_not_the_pool() -> None:
    with Workers(timeout=60, memory=None, count=1) as workers:
        with pytest.raises(CompileError, match=r"the compiler process died \(killed by SIGABRT\)"):
            workers.submit(_abort, None).result()
        assert workers.submit(len, (1, 2, 3)).result() == 3


def _abort(_: None) -> None:
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


ORPHAN = """
import signal, time
for name in ("SIGTERM", "SIGHUP"):
    signal.signal(getattr(signal, name), signal.SIG_DFL)  # a caller such as nohup may have had it ignored
from cuda_wheel.build.workers import Workers
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
    program = "from cuda_wheel.build.workers import Workers\nwith Workers(60, 8 << 30, 1) as w: print(w.submit(len, (1,)).result())"
    result = run("bash", "-c", f'ulimit -v 6000000; exec "{sys.executable}" -c "$0"', program)
    assert result.stdout == "1\n"
