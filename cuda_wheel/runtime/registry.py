"""Keep the modules that this process has loaded: each is loaded once, however many threads ask for it."""

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .module import Module

__all__ = ["forget", "forget_all", "once"]

Key = tuple[Any, ...]
"""All that decides what is loaded: name, SHA-256 of the manifest, target of the image and, for code compiled on this
machine, the options and the GPU that nvJitLink compiled it for. The SHA-256 of an image is not enough: after an edit,
equal machine code may take parameters of other types."""


class Registry:
    """Loaded modules by key. Different modules load at the same time; threads that want the same one wait for it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._modules: dict[Key, Module] = {}
        self._being_loaded: dict[Key, threading.Lock] = {}

    def once(self, key: Key, load: "Callable[[], Module]") -> "Module":
        """Return the module under `key`; call `load` if there is none yet."""
        while True:
            with self._lock:
                module = self._modules.get(key)
                if module is not None:
                    return module
                key_lock = self._being_loaded.setdefault(key, threading.Lock())
            with key_lock:
                with self._lock:
                    if self._being_loaded.get(key) is not key_lock:  # the thread that held it has finished: look again
                        continue
                try:
                    module = load()
                    with self._lock:
                        self._modules[key] = module
                    return module
                finally:
                    with self._lock:
                        del self._being_loaded[key]

    def forget(self, is_unwanted: "Callable[[Module], bool]") -> None:
        """Remove the modules for which `is_unwanted` is true; the next `load` loads them again."""
        with self._lock:
            self._modules = {key: module for key, module in self._modules.items() if not is_unwanted(module)}

    def __len__(self) -> int:
        """Return how many modules are loaded or being loaded."""
        return len(self._modules) + len(self._being_loaded)


_loaded = Registry()
once = _loaded.once
forget = _loaded.forget


def forget_all() -> None:
    """Start with an empty registry. Modules stay loaded for those who hold them. For tests."""
    forget(lambda module: True)
