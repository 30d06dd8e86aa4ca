"""Folders for what a build makes on its way. They go when it ends, also when it is asked to by a signal."""

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

__all__ = [
    "advice",
    "ending_in_order",
    "new_folder",
    "scratch",
]


_PREFIX = "cuda-wheel-"


def new_folder() -> TemporaryDirectory[str]:
    """Return a new folder, which goes at the end of the process at the latest.

    Raises ConfigError where there can be none.
    """
    try:
        return TemporaryDirectory(prefix=_PREFIX, ignore_cleanup_errors=True)
    except OSError as error:
        raise ConfigError(
            f"there is no folder for temporary files ({error.strerror or error}). TMPDIR names one that can be "
            "written to."
        ) from None


@contextmanager
def scratch() -> Iterator[Path]:
    """Have a new folder, which no end of this process leaves but a sudden one. Raises ConfigError where there can be
    none."""
    with ending_in_order():
        folder = new_folder()
        try:
            yield Path(folder.name)
        finally:
            try:
                folder.cleanup()
            except BaseException:  # asked to end in the midst of that
                shutil.rmtree(folder.name, ignore_errors=True)
                raise


@contextmanager
def ending_in_order() -> Iterator[None]:
    """Have what asks this process to end do so as an exception would, so that all is left in order."""
    if threading.current_thread() is not threading.main_thread():  # it alone may say what a signal does
        yield
        return
    numbers = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    ours = [number for number in numbers if signal.getsignal(number) is signal.SIG_DFL]
    for number in ours:
        signal.signal(number, _end)
    try:
        yield
    finally:
        for number in ours:
            signal.signal(number, signal.SIG_DFL)


def _end(number: int, _: object) -> None:
    signal.signal(number, signal.SIG_DFL)  # whoever asks again means at once
    sys.exit(128 + number)


def advice(path: str | os.PathLike[str]) -> str:
    """Return what helps where a path cannot be written: nothing, but for one in a folder of this module."""
    folder = tempfile.gettempdir()
    if not os.fspath(path).startswith(os.path.join(folder, _PREFIX)):
        return ""
    return f" TMPDIR names another folder for temporary files than {folder}."
