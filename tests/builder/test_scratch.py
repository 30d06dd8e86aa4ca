"""Temporary directories do not outlive a build: neither an error nor a signal leaves one behind."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from cuda_wheel.builder.errors import ConfigError
from cuda_wheel.builder.scratch import exit_on_signals, new_folder, scratch, temporary_folder_advice, unwritable

pytestmark = pytest.mark.one_toolchain

needs_signals = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signals")


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder for temporary files of a test."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def test_a_directory_is_removed_with_its_files_at_the_end_and_after_an_error(temporary: Path) -> None:
    with scratch() as folder:
        (folder / "below").mkdir()
        (folder / "below/file").touch()
        assert folder.parent == temporary and folder.name.startswith("cuda-wheel-")
    assert list(temporary.iterdir()) == []
    with pytest.raises(KeyError), scratch() as folder:
        (folder / "file").touch()
        raise KeyError
    assert list(temporary.iterdir()) == []


def test_a_directory_is_removed_even_if_a_signal_interrupts_its_removal(
    temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    remove, attempts = shutil.rmtree, []

    def interrupted_once(*arguments: Any, **options: Any) -> None:
        attempts.append(arguments)
        if len(attempts) == 1:
            raise KeyboardInterrupt
        remove(*arguments, **options)

    monkeypatch.setattr(shutil, "rmtree", interrupted_once)
    with pytest.raises(KeyboardInterrupt), scratch() as folder:
        (folder / "file").touch()
    assert list(temporary.iterdir()) == []


def test_a_directory_that_cannot_be_created_is_an_error_that_names_tmpdir(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", "/missing/folder")
    for make in (new_folder, lambda: scratch().__enter__()):
        with pytest.raises(ConfigError, match=r"^cannot create a temporary folder \(.*\)\. Set TMPDIR to a folder"):
            make()


def test_advice_about_tmpdir_is_for_temporary_directories_of_builds_only(temporary: Path) -> None:
    full = OSError(errno.ENOSPC, "No space left on device")
    with scratch() as folder:
        error = unwritable(folder / "x.fatbin", full)
    assert str(error) == (
        f"{folder / 'x.fatbin'} cannot be written: No space left on device. Set TMPDIR to use another folder for temporary "
        f"files than {temporary}."
    )
    assert str(unwritable(Path("out/x"), OSError("odd"))) == f"{Path('out/x')} cannot be written: odd."
    assert temporary_folder_advice(temporary / "other") == temporary_folder_advice(temporary.parent) == ""


# --- signals --------------------------------------------------------------------------------------

PROGRAM = """
import signal, sys, time
for name in ("SIGTERM", "SIGHUP"):
    signal.signal(getattr(signal, name), signal.SIG_DFL)  # a caller such as nohup may have set it to be ignored
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job ignores it
from cuda_wheel.builder.scratch import scratch
with scratch() as folder:
    (folder / "file").touch()
    try:
        print("ready", flush=True)
        for _ in range(600):  # a signal just before a sleep does not end it
            time.sleep(0.1)
    finally:
        print("cleaning", flush=True)
        time.sleep(float(sys.argv[1]))
"""


def started(temporary: Path, cleaning: float) -> subprocess.Popen[str]:
    """Start a process with a temporary directory, which takes some seconds to clean up."""
    environment = {**os.environ, "TMPDIR": str(temporary)}
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(cleaning)], stdout=subprocess.PIPE, env=environment, text=True
    )
    assert process.stdout is not None and process.stdout.readline() == "ready\n"
    assert len(list(temporary.iterdir())) == 1
    return process


@needs_signals
@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP", "SIGINT"])
def test_a_signal_removes_the_directory_and_ends_the_process(name: str, temporary: Path) -> None:
    number = getattr(signal, name)
    with started(temporary, 0) as process:
        process.send_signal(number)
        status = process.wait(60)
    assert status == (-number if name == "SIGINT" else 128 + number)
    assert list(temporary.iterdir()) == []


@needs_signals
def test_a_second_signal_ends_the_process_at_once(temporary: Path) -> None:
    with started(temporary, 60) as process:
        process.send_signal(signal.SIGTERM)
        assert process.stdout is not None and process.stdout.readline() == "cleaning\n"
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == -signal.SIGTERM


@needs_signals
def test_a_build_handles_signals_in_the_main_thread_only_and_keeps_the_handlers_of_others() -> None:
    def handlers() -> list[object]:
        with exit_on_signals():
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
