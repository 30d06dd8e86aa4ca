"""What several processes and threads need at the same time is made by one of them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from cuda_wheel.builder.cache import process_lock as one_process
from cuda_wheel.builder.cache.process_lock import found_or_made
from cuda_wheel.runtime.parts.user_cache import Cache
from tests.support.projects import ROOT

pytestmark = pytest.mark.one_toolchain

KEY = Cache.key("what")

HOLDER = """\
import sys, time
from cuda_wheel.builder.cache.process_lock import found_or_made
from cuda_wheel.runtime.parts.user_cache import Cache

cache, key = Cache(), Cache.key("what")

def make():
    print("making", flush=True)
    sys.stdin.readline()
    cache.put(key, b"made")

found_or_made(cache, key, lambda: cache.get(key), make)
"""


@contextmanager
def holder() -> Iterator[subprocess.Popen[str]]:
    """Start a process that makes the result, until it is written to."""
    command = [sys.executable, "-c", HOLDER]
    environ = os.environ | {"PYTHONPATH": str(ROOT)}
    pipes: Any = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, env=environ, **pipes) as process:
        assert process.stdout is not None and process.stdout.readline() == "making\n"
        yield process
        if process.poll() is None:
            process.communicate("\n")


def make_at_once(makes: int, make: Callable[[], bytes | None], find: Callable[[], bytes | None]) -> list[Any]:
    """Ask for the result in several threads; return the results, or the exceptions."""
    ready = threading.Barrier(makes)

    def ask() -> Any:
        ready.wait(60)
        try:
            return found_or_made(Cache(), KEY, find, make)
        except ValueError as error:
            return error

    with ThreadPoolExecutor(makes) as pool:
        return [future.result() for future in [pool.submit(ask) for _ in range(makes)]]


def test_threads_make_it_once() -> None:
    cache, made = Cache(), []

    def make() -> bytes:
        made.append(1)
        time.sleep(0.1)
        cache.put(KEY, b"made")
        return b"made"

    assert make_at_once(8, make, lambda: cache.get(KEY)) == [b"made"] * 8 and len(made) == 1


def test_a_process_waits_for_another_one_and_takes_its_result() -> None:
    with holder() as process, ThreadPoolExecutor(1) as pool:
        never: Callable[[], bytes] = lambda: pytest.fail("it was made twice")  # noqa: E731
        waiting = pool.submit(found_or_made, Cache(), KEY, lambda: Cache().get(KEY), never)
        time.sleep(0.3)
        assert not waiting.done()
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
        assert waiting.result(60) == b"made"


@pytest.mark.skipif(sys.platform == "win32", reason="ends a process by a signal")
def test_a_process_that_died_holds_up_nobody() -> None:
    with holder() as process, ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(found_or_made, Cache(), KEY, lambda: Cache().get(KEY), lambda: b"own")
        time.sleep(0.1)
        assert not waiting.done()
        began = time.monotonic()
        process.send_signal(signal.SIGKILL)
        assert waiting.result(60) == b"own" and time.monotonic() - began < 5
        process.wait()


def test_after_the_longest_wait_a_process_works_for_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(one_process, "LONGEST_WAIT", 0.2)
    with holder():
        began = time.monotonic()
        assert found_or_made(Cache(), KEY, lambda: Cache().get(KEY), lambda: b"own") == b"own"
        assert 0.2 <= time.monotonic() - began < 5
    assert Cache().get(KEY) == b"made"


@pytest.mark.parametrize("fails", [False, True])
def test_those_that_waited_for_nothing_do_not_wait_for_each_other(fails: bool) -> None:
    makes, together = [], threading.Barrier(3)

    def make() -> bytes:
        makes.append(1)
        if len(makes) > 1:
            together.wait(30)  # fails unless all three are here at the same time
        time.sleep(0.1)
        if fails:
            raise ValueError("it does not compile")
        return b"it cannot be kept"

    found = make_at_once(4, make, lambda: None)
    assert [str(each) for each in found] == ["it does not compile" if fails else "b'it cannot be kept'"] * 4
    second: list[int] = []
    kept: list[bytes] = []

    def make_it_well() -> bytes:  # what an earlier failure has left does not matter
        second.append(1)
        time.sleep(0.1)
        kept.append(b"made")
        return b"made"

    assert make_at_once(4, make_it_well, lambda: kept[0] if kept else None) == [b"made"] * 4 and second == [1]


def test_without_a_lock_everybody_works(monkeypatch: pytest.MonkeyPatch) -> None:
    folder = Path(Cache().folder)
    (folder / "locks").mkdir(parents=True)
    make: Callable[[], bytes] = lambda: b"own"  # noqa: E731
    (folder / "locks" / KEY[:3]).mkdir()  # no file can be there
    assert found_or_made(Cache(), KEY, lambda: None, make) == b"own"
    (folder / "locks" / KEY[:3]).rmdir()
    if sys.platform != "win32":
        target = folder / "target"
        target.write_text("content")
        (folder / "locks" / KEY[:3]).symlink_to(target)  # of another user
        assert found_or_made(Cache(), KEY, lambda: None, make) == b"own" and target.read_text() == "content"
        (folder / "locks" / KEY[:3]).unlink()
        os.mkfifo(folder / "locks" / KEY[:3])
        assert found_or_made(Cache(), KEY, lambda: None, make) == b"own"
        (folder / "locks" / KEY[:3]).unlink()
    monkeypatch.setattr(one_process, "_try_to_lock", lambda file: None)  # as on some network file systems
    assert found_or_made(Cache(), KEY, lambda: None, make) == b"own"
    monkeypatch.setenv("CUDA_WHEEL_CACHE_DIR", str(folder / "locks" / KEY[:3]))  # a file, not a folder
    assert found_or_made(Cache(), KEY, lambda: None, make) == b"own"


@pytest.mark.skipif(sys.platform == "win32", reason="imitates Windows")
def test_the_lock_of_windows_is_on_the_first_byte(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import importlib.util

    calls: list[tuple[int, int, int]] = []
    results: list[OSError] = []

    def locking(file: int, mode: int, count: int) -> None:
        calls.append((os.lseek(file, 0, os.SEEK_CUR), mode, count))
        if results:
            raise results.pop()

    monkeypatch.setitem(sys.modules, "msvcrt", SimpleNamespace(locking=locking, LK_NBLCK=2, LK_UNLCK=0))  # type: ignore[arg-type]
    monkeypatch.setattr(sys, "platform", "win32")
    spec = importlib.util.spec_from_file_location("one_process_of_windows", one_process.__file__)
    assert spec is not None and spec.loader is not None
    windows = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(windows)
    monkeypatch.undo()
    results.append(PermissionError())  # another process has the lock
    assert windows.found_or_made(Cache(str(tmp_path)), KEY, lambda: None, lambda: b"own") == b"own"
    assert calls == [(0, 2, 1), (0, 2, 1), (0, 0, 1)]
    results.append(OSError())  # the file system has no locks
    assert windows.found_or_made(Cache(str(tmp_path)), KEY, lambda: None, lambda: b"own") == b"own"
