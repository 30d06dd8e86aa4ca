"""Temporary directories that are removed when a build ends, also if a signal ends it."""

from __future__ import annotations

import os
import shutil
import signal
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from cuda_wheel.builder.errors import ConfigError

__all__ = ["exit_on_signals", "new_folder", "scratch", "temporary_folder_advice", "unwritable"]

_PREFIX = "cuda-wheel-"


def new_folder() -> TemporaryDirectory[str]:
    """Create and return a temporary directory. Its `cleanup` removes it; without that call, it is removed when
    the process ends.

    Raises ConfigError if it cannot be created.
    """
    try:
        return TemporaryDirectory(prefix=_PREFIX, ignore_cleanup_errors=True)
    except OSError as error:
        raise ConfigError(
            f"cannot create a temporary folder ({error.strerror or error}). Set TMPDIR to a folder that is writable."
        ) from None


@contextmanager
def scratch() -> Iterator[Path]:
    """Yield a temporary directory; it is removed unless the process is killed.

    Raises ConfigError if it cannot be created.
    """
    with exit_on_signals():
        folder = new_folder()
        try:
            yield Path(folder.name)
        finally:
            try:
                folder.cleanup()
            except BaseException:  # a signal arrived during the removal
                shutil.rmtree(folder.name, ignore_errors=True)
                raise


@contextmanager
def exit_on_signals() -> Iterator[None]:
    """Turn SIGTERM and SIGHUP into SystemExit, so that cleanup code runs.

    Signals that already have a handler keep it. Outside the main thread, where Python cannot set handlers, do nothing.
    """
    if threading.current_thread() is not threading.main_thread():  # Python sets signal handlers in it only
        yield
        return
    numbers = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    unhandled = [number for number in numbers if signal.getsignal(number) is signal.SIG_DFL]
    for number in unhandled:
        signal.signal(number, _exit)
    try:
        yield
    finally:
        for number in unhandled:
            signal.signal(number, signal.SIG_DFL)


def _exit(number: int, _: object) -> None:
    signal.signal(number, signal.SIG_DFL)  # a second signal ends the process at once
    sys.exit(128 + number)


def unwritable(path: Path, error: OSError) -> ConfigError:
    """Return the ConfigError for a file whose writing raised `error`."""
    return ConfigError(f"{path} cannot be written: {error.strerror or error}.{temporary_folder_advice(path)}")


def temporary_folder_advice(path: str | os.PathLike[str]) -> str:
    """Return the advice to set TMPDIR if `path`, which cannot be written, is in a directory that `new_folder` created.

    Return "" for any other path. The advice begins with a space.
    """
    folder = tempfile.gettempdir()
    if not os.fspath(path).startswith(os.path.join(folder, _PREFIX)):
        return ""
    return f" Set TMPDIR to use another folder for temporary files than {folder}."
