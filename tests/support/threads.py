"""Run work in threads that begin together."""

from __future__ import annotations

import threading
from collections.abc import Callable

__all__ = ["in_threads"]


def in_threads(count: int, work: Callable[[int], object]) -> None:
    """Call `work` with 0 to `count` - 1 in threads that begin together; raise the first error of a thread."""
    barrier, errors = threading.Barrier(count), list[BaseException]()

    def run(number: int) -> None:
        barrier.wait()
        try:
            work(number)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
