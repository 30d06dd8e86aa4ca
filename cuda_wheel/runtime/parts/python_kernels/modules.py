"""Modules with kernels that were compiled from Python functions: what those of all languages have in common."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Generic, NoReturn, TypeVar

from ...errors import UnknownKernelError, has
from ...files import files_and_manifest
from ...manifest import PythonParameter, Variant
from ...module import Module
from .signatures import LANGUAGES, kernel_path

__all__ = ["PythonModule", "load_kernels"]

K = TypeVar("K")


def load_kernels(
    language: str, name: str, variants: Sequence[Variant], load: Callable[..., Module], device: int | None, jit: Any
) -> "PythonModule[Any]":
    """Return the module `name`, whose variants are kernels in a language. The language's part of the loader is there.

    `load` returns a loaded module for its files, its manifest, `device` and `jit`.
    """

    def load_variant(macros: Mapping[str, Any]) -> Module:
        return load(*files_and_manifest(name, device, macros, jit=jit), device, jit)

    kernels = __import__(f"{__package__.rpartition('.')[0]}.{language}.kernels", fromlist=("*",))
    found: PythonModule[Any] = getattr(kernels, LANGUAGES[language].module)(name, variants, device, load_variant)
    return found


class PythonModule(Mapping[str, K], Generic[K]):
    """A module with kernels in one language: a mapping from their names to kernels.

    A name is that of the Python function, or "MODULE:FUNCTION" if several modules have one of that name. An unknown
    name raises UnknownKernelError.
    """

    _kernel_type: Callable[..., Any]
    """Class of the kernels."""

    def __init__(
        self,
        name: str,
        variants: Sequence[Variant],
        device: int | None,
        load: Callable[[Mapping[str, Any]], Module],
    ) -> None:
        """`load` loads the variant with these macros."""
        self.name = name
        self._by_path: dict[str, K] = {}
        compiled: dict[str, list[Mapping[str, Any]]] = {}
        for variant in variants:
            compiled.setdefault(kernel_path(variant), []).append(dict(variant))
        self._by_name: dict[str, list[str]] = {}
        for path in compiled:
            self._by_name.setdefault(path.rpartition(":")[2], []).append(path)
        for path, of_kernel in compiled.items():
            _, manifest = files_and_manifest(name, device, of_kernel[0], needs_gpu=False)
            (info,) = manifest.kernels
            self._by_path[path] = self._new_kernel(path, info.python, of_kernel, load, device)

    def _new_kernel(
        self,
        path: str,
        parameters: Sequence[PythonParameter],
        variants: Sequence[Mapping[str, Any]],
        load: Callable[[Mapping[str, Any]], Module],
        device: int | None,
    ) -> K:
        """Return a kernel of the module, with what was compiled of it. `load` loads a variant, for GPU `device`."""
        kernel: K = self._kernel_type(self.name, path, parameters, variants, load)
        return kernel

    __eq__ = object.__eq__  # by identity; a Mapping would compare contents
    __hash__ = object.__hash__

    def __reduce__(self) -> NoReturn:
        raise TypeError("a loaded module belongs to this process: pickle its name, and load it in the other process")

    def __getitem__(self, name: str) -> K:
        paths = [name] if name in self._by_path else self._by_name.get(name, [])
        if len(paths) == 1:
            return self._by_path[paths[0]]
        if paths:
            raise UnknownKernelError(f"{self.name} has several kernels {name!r}: {', '.join(paths)}")
        if not has("suggestions"):
            raise UnknownKernelError(f"{self.name} has no kernel {name!r}")
        from ..suggestions import unknown_name  # only for an error

        raise UnknownKernelError(unknown_name(self.name, "kernel", name, [], list(self)))

    def __iter__(self) -> Iterator[str]:
        for name, paths in self._by_name.items():
            yield from [name] if len(paths) == 1 else paths

    def __len__(self) -> int:
        return len(self._by_path)

    @property
    def kernels(self) -> tuple[str, ...]:
        """The kernels' names."""
        return tuple(self)

    is_loaded = True
    """Each kernel's variants are loaded when a launch needs them."""

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}: {', '.join(self)}>"
