"""A worker process is started so that it finds no driver and allocates fast; how it died is what the error says."""

from __future__ import annotations

import os
import pickle
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from cuda_wheel.builder.errors import CompileError
from cuda_wheel.builder.timing import TimedError, cause_of
from cuda_wheel.builder.workers.pool import Workers
from cuda_wheel.builder.workers.worker import Worker, WorkerDiedError, WorkerTimeoutError

pytestmark = pytest.mark.one_toolchain


@pytest.fixture
def worker() -> Iterator[Worker]:
    worker = Worker(None)
    yield worker
    worker.kill()
    worker.end()


def test_a_call_returns_or_raises_what_the_function_does(worker: Worker) -> None:
    assert worker.call(len, (1, 2), 60) == 2
    with pytest.raises(ZeroDivisionError):
        worker.call(eval, "1 / 0", 60)
    assert worker.answer(eval, "1 / 0", 60)[0] is False
    assert worker.answer(len, (), 60) == (True, 0, None)


def test_an_argument_that_cannot_be_sent_leaves_the_worker_as_it_is(worker: Worker) -> None:
    with pytest.raises((AttributeError, TypeError, pickle.PicklingError), match=r"pickle|local object"):
        worker.call(len, [lambda: None] * 100_000, 60)
    assert worker.call(len, (1, 2), 60) == 2


def test_only_a_call_that_asks_for_its_times_gets_them(worker: Worker) -> None:
    succeeded, value, times = worker.answer(len, (), 60, is_timed=True)
    assert (succeeded, value) == (True, 0)
    assert times is not None and 0 < times.began <= times.ended


def test_the_answers_to_prepared_calls_are_skipped(worker: Worker) -> None:
    for text in ("'first'", "1 / 0"):
        worker.prepare(eval, text)
    assert worker.call(eval, "'asked'", 60) == "asked"
    assert worker.call(eval, "'next'", 60) == "next"


SLEEPING_CHILD = """(
    __import__('os').setpgid(0, 0),
    (child := __import__('subprocess').Popen([__import__('sys').executable, '-c', 'import time; time.sleep(60)'])),
    open({file!r}, 'w').write(str(child.pid)),
    {wait},
)"""
"""What Triton does in a worker: it starts an assembler, which takes long."""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no groups of processes")
@pytest.mark.parametrize("end", ["timeout", "kill", "closed pipe"])
def test_a_worker_that_ends_takes_its_assembler_with_it(worker: Worker, tmp_path: Path, end: str) -> None:
    file = tmp_path / "child"
    program = SLEEPING_CHILD.format(file=str(file), wait="child.wait()" if end == "timeout" else "None")
    if end == "timeout":
        with pytest.raises(WorkerTimeoutError):
            worker.call(eval, program, 2)
    else:
        worker.call(exec, f"({program})", 60)
        worker.kill() if end == "kill" else worker.close_pipe()
        worker.end()
    deadline = time.monotonic() + 20
    while is_alive(int(file.read_text())):
        assert time.monotonic() < deadline, "the assembler still runs"
        time.sleep(0.05)


def is_alive(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(") ")[2][0] != "Z"
    except OSError:
        return False


def test_a_call_that_is_too_long_kills_the_worker_and_says_so(worker: Worker) -> None:
    worker.call(len, (), 60)
    before = time.monotonic()
    with pytest.raises(WorkerTimeoutError, match=r"stopped after 0\.2 s, .* \(key: timeout\)"):
        worker.call(time.sleep, 60, 0.2)
    assert time.monotonic() - before < 30


@pytest.mark.parametrize("is_timed", [False, True])
def test_the_error_of_a_worker_that_died_has_times_where_the_call_asks(worker: Worker, is_timed: bool) -> None:
    with pytest.raises(TimedError if is_timed else WorkerDiedError) as caught:
        worker.answer(_kill_oneself, None, 60, is_timed)
    assert "the compiler process died (killed by SIGKILL)" in str(caught.value)
    assert isinstance(cause_of(caught.value), WorkerDiedError)


def test_the_folder_of_a_worker_is_removed_with_it(worker: Worker) -> None:
    assert worker.folder is not None
    Path(worker.folder, "kept").write_text("by the worker")
    assert worker.call(os.getenv, "TMPDIR", 60) == worker.folder
    worker.end()
    assert not Path(worker.folder).exists()


def test_the_message_for_a_worker_that_the_system_killed_says_what_helps() -> None:
    with Workers(timeout=60, memory=None, count=1) as workers:
        with pytest.raises(
            CompileError, match=r"killed by SIGKILL\)\nhelp: the system kills processes when memory runs out"
        ):
            workers.submit(_kill_oneself, None).result()
        assert workers.submit(len, ()).result() == 0


def _kill_oneself(_: None) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_worker_has_ended_once_it_is_killed(worker: Worker) -> None:
    """A job that is stopped as it ends kills its worker: no other job may be sent to it."""
    assert not worker.has_ended
    worker.kill()
    assert worker.has_ended


@pytest.mark.slow
@pytest.mark.parametrize(
    "written", [b"garbage\n", b"\x80\x04N.", b"\x80\x04\x8e" + b"\xff" * 9, b"cnowhere\nnothing\n."]
)
def test_an_invalid_answer_is_an_error_and_the_next_call_gets_its_own_answer(written: bytes) -> None:
    with Workers(timeout=60, memory=None, count=1) as workers:
        with pytest.raises(CompileError, match=r"^the compiler process "):
            workers.submit(_write_among_the_answers, written).result()
        assert workers.submit(len, (1, 2)).result() == 2


def _write_among_the_answers(content: bytes) -> None:
    (stream,) = _pipes("w")
    os.write(stream, content)
    time.sleep(60)


def test_a_worker_that_closes_its_pipe_is_killed() -> None:
    with Workers(timeout=60, memory=None, count=1) as workers:
        with pytest.raises(CompileError, match="sent an unreadable answer; it may have overwritten its own memory"):
            workers.submit(_close_the_answers, None).result()
        assert workers.submit(len, (1, 2)).result() == 2


def _close_the_answers(_: None) -> None:
    for stream in _pipes("w"):
        os.close(stream)
    time.sleep(60)


def _pipes(mode: str) -> list[int]:
    """Return the descriptors of this process that are the write ends of pipes."""
    found = []
    for name in os.listdir("/proc/self/fd"):
        path = Path("/proc/self/fdinfo", name)
        is_pipe = os.path.exists(path) and os.readlink(f"/proc/self/fd/{name}").startswith("pipe:")
        if is_pipe and int(path.read_text().split()[3], 8) & os.O_WRONLY and int(name) > 2:
            found.append(int(name))
    return found


def test_the_message_has_the_output_of_the_call_that_died_only() -> None:
    with Workers(timeout=60, memory=None, count=1) as workers:
        workers.submit(os.system, "echo output of an earlier job >&2").result()
        with pytest.raises(CompileError, match=r"killed by SIGABRT\):\nits own output\nhelp: ") as caught:
            workers.submit(_abort_with_output, None).result()
    assert "earlier" not in str(caught.value)


def _abort_with_output(_: None) -> None:
    os.write(2, b"its own output\n")
    os.abort()


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


@pytest.mark.skipif(sys.platform != "linux", reason="asks glibc")
def test_workers_allocate_fast_and_keep_what_the_user_tuned(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GLIBC_TUNABLES", "glibc.malloc.tcache_count=9")
    with Workers(timeout=60, memory=None, count=1) as workers:
        tunables = workers.submit(os.getenv, "GLIBC_TUNABLES").result()
    assert tunables.startswith("glibc.malloc.tcache_count=65535:glibc.malloc.hugetlb=1:")
    assert tunables.endswith(":glibc.malloc.tcache_count=9")


def test_the_output_of_start_up_files_does_not_corrupt_the_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    noise = "import sys\nprint('hello')\nsys.stdout.write('no line')\nsys.stdout.flush()\n"
    (tmp_path / "sitecustomize.py").write_text(noise)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with Workers(timeout=60, memory=None, count=1) as workers:
        assert workers.submit(len, (1, 2)).result() == 2
