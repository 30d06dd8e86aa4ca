"""Run commands in subprocesses."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

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


@pytest.fixture
def cuda_wheel(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Return a function that runs the `cuda-wheel` command in a neutral folder."""
    return lambda *arguments, **environ: run(sys.executable, "-m", "cuda_wheel", *arguments, cwd=tmp_path, **environ)
