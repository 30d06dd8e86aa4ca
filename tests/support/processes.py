"""Run commands in subprocesses."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import threading
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from functools import partial
from pathlib import Path
from unittest.mock import patch

import pytest

from cuda_wheel.cli.main import main

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


def run(*command: object, cwd: Path | None = None, **environ: str) -> subprocess.CompletedProcess[str]:
    """Run a command and return its exit status and its combined output. A failed command raises no exception.

    If the test is interrupted, by its time limit or by the user, the command ends with all processes that it started.
    """
    arguments = [str(part) for part in command]
    with subprocess.Popen(
        arguments,
        cwd=cwd,
        env=os.environ | environ,
        text=True,
        errors="backslashreplace",  # some folder names are not valid text
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    ) as process:
        try:
            output, _ = process.communicate(timeout=600)
        except BaseException:
            if sys.platform == "win32":
                process.kill()
            else:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
            raise
    return subprocess.CompletedProcess(arguments, process.returncode, output)


def alive(pid: int) -> bool:
    """Return whether a process runs; one that ended and was not waited for does not count. Linux only."""
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2]
    except OSError:
        return False


def pip_wheel(project: Path, output: Path, *options: str, **environ: str) -> subprocess.CompletedProcess[str]:
    """Build a project's wheel with pip, without build isolation unless `options` are given."""
    options = options or ("--no-build-isolation",)
    return run(
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "-v",
        "--no-deps",
        "--no-index",
        "-w",
        output,
        *options,
        project,
        **environ,
    )


def build_wheel(project: Path, output: Path, **environ: str) -> subprocess.CompletedProcess[str]:
    """Build a project's wheel by a call of its back end, as pip does in the end; with pip it takes twice as long.

    `tests/front_ends/test_same_images.py` compares the wheels of pip with those of this function.
    """
    output.mkdir(parents=True, exist_ok=True)
    back_end = tomllib.loads((project / "pyproject.toml").read_text(encoding="utf-8"))["build-system"]["build-backend"]
    program = f"import sys, {back_end} as back_end; back_end.build_wheel(sys.argv[1])"
    return run(sys.executable, "-c", program, output, cwd=project, **environ)


_ALONE = {"doctor", "explain", "tune", "cmake-dir"}
"""Commands that ask the driver, or that only print what a process finds."""


def run_cuda_wheel(*arguments: object, cwd: Path | None = None, **environ: str) -> subprocess.CompletedProcess[str]:
    """Run the `cuda-wheel` command in this process, which saves the start of an interpreter and the imports, or in a new
    process if it asks the driver or if the environment variables are not cuda-wheel's own.

    Return its exit status and its combined output, also that of the processes that it starts.
    """
    words = [str(argument) for argument in arguments]
    own = all(name.startswith(("CUDA_WHEEL_", "CUDAARCHS")) for name in environ)
    if not own or not words or words[0] in _ALONE or threading.current_thread() is not threading.main_thread():
        return run(sys.executable, "-m", "cuda_wheel", *words, cwd=cwd, **environ)
    with tempfile.TemporaryFile() as file:
        before = os.getcwd()
        os.chdir(cwd or before)
        try:
            with (
                _writing_to(file.fileno()),
                patch.dict(os.environ, environ),
                patch.object(tempfile, "tempdir", None),  # as TMPDIR is now
                warnings.catch_warnings(),
            ):
                warnings.simplefilter("default")
                warnings.showwarning = _print_warning  # as in a process of its own; pytest has replaced it
                status = _status(words)
        finally:
            os.chdir(before)
        file.seek(0)
        output = file.read().decode("utf-8", "backslashreplace")
    return subprocess.CompletedProcess(words, status, output)


def _print_warning(message: Warning | str, category: type[Warning], filename: str, lineno: int, *_: object) -> None:
    sys.stderr.write(warnings.formatwarning(message, category, filename, lineno))


def _status(words: list[str]) -> int:
    """Return the exit status of the command, as of a process that it ends."""
    try:
        return main(words)
    except SystemExit as exit:
        return exit.code if isinstance(exit.code, int) else int(exit.code is not None)
    except Exception:
        traceback.print_exc()
        return 1


@contextmanager
def _writing_to(descriptor: int) -> Iterator[None]:
    """Let standard output and error of this process, and of those that it starts, be a file."""
    kept = [os.dup(number) for number in (1, 2)]
    try:
        for number in (1, 2):
            os.dup2(descriptor, number)
        with (
            open(descriptor, "w", encoding="utf-8", errors="backslashreplace", buffering=1, closefd=False) as stream,
            redirect_stdout(stream),
            redirect_stderr(stream),
        ):
            yield
    finally:
        for number, old in zip((1, 2), kept, strict=True):
            os.dup2(old, number)
            os.close(old)


@pytest.fixture
def cuda_wheel(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Return a function that runs the `cuda-wheel` command in a neutral folder; see `run_cuda_wheel`."""
    return partial(run_cuda_wheel, cwd=tmp_path)
