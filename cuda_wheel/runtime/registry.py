"""The modules that this process has loaded. Each loads once, however many threads ask for it."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .module import Module
import threading

__all__ = [
    "key_locks",
    "modules",
    "modules_lock",
]


modules: "dict[tuple[Any, ...], Module]" = {}
"""What is loaded, by all that decides it: name, SHA-256 of the image and, where it was compiled here, the options and
what GPU nvJitLink made it for."""


modules_lock = threading.Lock()


key_locks: dict[tuple[Any, ...], threading.Lock] = {}
"""One for each entry that is being made, so that compiling one module keeps nobody from another."""


def once(key: tuple[Any, ...], make: "Callable[[], Module]") -> "Module":
    """Return the module that is loaded under a key, of those that other threads ask for too; make it where there is
    none."""
    while True:
        with modules_lock:
            module = modules.get(key)
            if module is not None:
                return module
            lock = key_locks.setdefault(key, threading.Lock())
        with lock:
            with modules_lock:
                if key_locks.get(key) is not lock:  # who had it is done: look again
                    continue
            try:
                module = make()
                with modules_lock:
                    modules[key] = module
                return module
            finally:
                with modules_lock:
                    del key_locks[key]
