"""A loaded module, with its kernels and variables by name. Each is loaded once, by whichever thread asks first."""

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from .driver import check_result, cuda_driver, is_forked
from .errors import DriverError, UnknownGlobalError, UnknownKernelError, has, need
from .manifest import GlobalInfo, Image, KernelInfo, MacroValue, Manifest, Parameter, unscoped, without_spaces
from .rules import How

__all__ = ["ByName", "Dim", "Kernel", "Module", "forget", "once"]

if TYPE_CHECKING:
    from typing import Generic, Protocol, SupportsFloat, SupportsIndex, TypeAlias

    from typing_extensions import TypeVarTuple, Unpack

    from .jit import Jit
    from .parts.launch_attributes import LaunchAttributes
    from .parts.linking.prepared_link import Linked
    from .parts.occupancy import Attributes, Occupancy
    from .parts.variables import Global

    Arguments = TypeVarTuple("Arguments", default=Unpack[tuple[Any, ...]])

    class _OnGpu(Protocol):
        @property
        def __cuda_array_interface__(self) -> Any: ...

    class _DLPack(Protocol):
        def __dlpack__(self, *args: Any, **kwargs: Any) -> Any: ...

    # The types of kernels' arguments, by the names that generated stubs use.
    Integer: TypeAlias = SupportsIndex
    Real: TypeAlias = SupportsFloat | SupportsIndex
    Pointer: TypeAlias = _OnGpu | _DLPack | SupportsIndex | None
    Struct: TypeAlias = Any
else:  # Python 3.10 lacks these; typing_extensions is not worth an import at run time
    Arguments, Unpack, Generic = "Arguments", {"Arguments": "Arguments"}, {"Arguments": object}

T = TypeVar("T")

Dim = int | tuple[int, ...]
"""Size of a grid, block or cluster: one to three numbers, x first."""


class _Generated:
    """Decorator of `Kernel.launch`, in whose place a kernel has the function that is generated for it."""

    def __init__(self, method: Any) -> None:
        self._method = method

    def __get__(self, kernel: Any, kind: type) -> Any:
        if kernel is None:
            return self._method
        from .launching import launcher_of  # ctypes and struct: only for programs that launch

        # An instance attribute comes before the class's: from now on, the kernel has the function itself.
        launch = kernel.__dict__["launch"] = launcher_of(kernel).launch
        return launch


_generated: Callable[[T], T] = _Generated  # type: ignore[assignment]


class Kernel(Generic[Unpack[Arguments]]):
    """A kernel of a loaded module.

    For type checkers, `Kernel` is generic in the types of the arguments: `Kernel[Array, float, int]`.
    """

    def __init__(self, module: "Module", info: KernelInfo, handle: int) -> None:
        self.module = module
        self.info = info
        self._handle = handle

    @property
    def handle(self) -> int:
        """Address of the CUkernel, for `cuda.core.Kernel.from_handle`, ctypes and the driver API; valid on every GPU.

        Raises DriverError after the module is unloaded.
        """
        self.module.check_loaded()
        return self._handle

    @property
    def name(self) -> str:
        """The kernel's C++ name, or the name expression that instantiated it."""
        return self.info.name

    @property
    def symbol(self) -> str:
        """The kernel's name in the image: the mangled name, unless the kernel is `extern "C"`."""
        return self.info.symbol

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The kernel's parameters: types, names, fields of structs, and NumPy dtypes."""
        return self.info.parameters

    @_generated
    def launch(
        self,
        grid: Dim,
        block: Dim,
        *args: "Unpack[Arguments]",
        stream: Any = None,
        shared_memory: int = 0,
        check: bool = True,
        **attributes: "Unpack[LaunchAttributes]",
    ) -> None:
        """Launch the kernel on `grid` blocks of `block` threads each; return without waiting for it.

        Numbers are converted to the width that the kernel declares. A pointer takes an array on the GPU (of CuPy or
        PyTorch, or with `__cuda_array_interface__` or DLPack), an address, or None. A struct takes a buffer of its
        size, such as bytes or a NumPy record, a vector also its numbers, a CUtensorMap the result of `tensor_map`.

        Without `stream`, the launch runs on the current stream of PyTorch or CuPy if an array is theirs, also while a
        graph is captured; else on the stream that an array names in its array interface; else on the default stream.
        It waits for other libraries' arrays that are still computed, and keeps them until it has ended. `stream` is an
        address, "default", or any object with `__cuda_stream__`; `launch_stream` chooses one for several launches.
        `shared_memory` is dynamic shared memory in bytes; above 48 KiB the kernel's limit is raised.

        `attributes` are those of `parts.launch_attributes.LaunchAttributes`: `cooperative`, `cluster` and others.

        The launch uses the current context. If this thread has none, the primary context of the arrays' GPU, or of the
        only GPU, becomes current.

        Raises ArgumentError, without a launch, if the number, type, range, element type or GPU of the arguments is
        wrong, if two libraries' current streams differ, or if this GPU or driver lacks an attribute; `check=False`
        omits checks that the conversion does not need. Raises DriverError if the driver refuses the launch.
        """

    def bind(
        self,
        grid: Dim,
        block: Dim,
        *args: "Unpack[Arguments]",
        stream: Any = None,
        shared_memory: int = 0,
        **attributes: "Unpack[LaunchAttributes]",
    ) -> Callable[..., None]:
        """Check a launch, and return a function that launches it, the fastest way; nothing is launched yet.

        The parameters are those of `launch`. The function takes the kernel's arguments; for those that a call leaves
        out at the end, it uses the ones given here, which it keeps alive and does not check again.

            step = kernel.bind(grid, block, x, y, n)
            step(y, x)

        Without `stream`, each call finds its stream by the rule of `launch`. Raises what `launch` raises.
        """
        need("bind")
        from .parts.bind import bind  # rare

        return bind(self, grid, block, args, stream, shared_memory, attributes)

    @property
    def attributes(self) -> "Attributes":
        """The kernel's attributes, from the driver, on the current context's GPU, else on GPU 0."""
        need("occupancy")
        from .parts.occupancy import attributes  # rare

        return attributes(self)

    def occupancy(self, block: Dim, shared_memory: int = 0) -> "Occupancy":
        """Return how many blocks of this size, with this dynamic shared memory (bytes), a multiprocessor holds at once.

        Source: CUDA Driver API, cuOccupancyMaxActiveBlocksPerMultiprocessor. Raises ArgumentError for a wrong block.
        """
        need("occupancy")
        from .parts.occupancy import occupancy  # rare

        return occupancy(self, block, shared_memory)

    def suggest_block(self, shared_memory: int = 0) -> int:
        """Return the threads per block that give the highest occupancy, with this dynamic shared memory per block.

        Source: CUDA Driver API, cuOccupancyMaxPotentialBlockSize.
        """
        need("occupancy")
        from .parts.occupancy import suggested_block  # rare

        return suggested_block(self, shared_memory)

    @property
    def cuda_core(self) -> Any:
        """The same kernel as a `cuda.core.Kernel`."""
        from cuda.core import Kernel as CoreKernel  # optional, and slow to import

        return CoreKernel.from_handle(self.handle)

    def __int__(self) -> int:
        return self.handle

    def __reduce__(self) -> NoReturn:
        raise TypeError("a kernel belongs to this process: pickle the module's name, and load it in the other process")

    def __repr__(self) -> str:
        return f"<Kernel {self.name!r} of {self.module.name}: ({self.info.parameter_list})>"


class ByName(Mapping[str, T]):
    """A module's kernels or variables, by C++ name in any spacing, with or without its scope, or by symbol.

    `make` makes each object on first use. `what` is "kernel" or "variable"; `missing` the error for an unknown name.
    """

    def __init__(
        self, module: str, what: str, infos: Sequence[Any], make: Callable[[Any], T], missing: type[Exception]
    ):
        self._module = module
        self._what = what
        self._infos = infos
        self._make = make
        self._missing = missing
        self._objects: dict[str, T] = {}
        self._index: tuple[dict[str, Any], dict[str, list[Any]]] | None = None

    def __getitem__(self, name: str) -> T:
        found = self._objects.get(name)
        if found is None or is_forked():
            info = self._find(name)
            if info.symbol not in self._objects or is_forked():
                self._objects.setdefault(info.symbol, self._make(info))
            found = self._objects[name] = self._objects[info.symbol]  # one object for all spellings of a name
        return found

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names; a name that several share is replaced by the symbol."""
        _, by_name = self._indexed()
        for info in self._infos:
            yield info.name if len(by_name[without_spaces(info.name)]) == 1 else info.symbol

    def __len__(self) -> int:
        return len(self._infos)

    def matches(self, name: object) -> list[Any]:
        """Return what has a name: several share it, or none has it."""
        if not isinstance(name, str):
            return []
        spelled = without_spaces(name)
        if self._index is None and hasattr(self._infos, "near"):  # a module with many kernels
            near = ByName("", "", self._infos.near(without_spaces(unscoped(name))), self._make, self._missing)
            if found := near._matches_as_spelled(name, spelled):
                return found
        found = self._matches_as_spelled(name, spelled)
        if not found and "<" in name and any("<" in info.name for info in self._infos):
            need("instance-names")
            from .parts.instance_names import matching  # rare

            found = matching(name, self._infos, unscoped)
        return found

    def _matches_as_spelled(self, name: str, spelled: str) -> list[Any]:
        by_symbol, by_name = self._indexed()
        found = [by_symbol[name]] if name in by_symbol else by_name.get(spelled, [])
        return found or [info for info in self._infos if without_spaces(unscoped(info.name)) == spelled]

    def _indexed(self) -> tuple[dict[str, Any], dict[str, list[Any]]]:
        if self._index is None:
            by_name: dict[str, list[Any]] = {}
            for info in self._infos:
                by_name.setdefault(without_spaces(info.name), []).append(info)
            self._index = {info.symbol: info for info in self._infos}, by_name
        return self._index

    def _find(self, name: str) -> Any:
        found = self.matches(name)
        if len(found) != 1:
            if not has("suggestions"):
                raise self._missing(f"{self._module} has {'several' if found else 'no'} {self._what} {name!r}")
            from .parts.suggestions import unknown_name  # only for an error

            raise self._missing(unknown_name(self._module, self._what, name, found, list(self)))
        return found[0]

    def __repr__(self) -> str:
        return f"<{len(self)} {self._what}s of {self._module}: {', '.join(self)}>"


class _Library:
    """The library that the driver loaded for a module: its handle, 0 after unloading."""

    def __init__(self, name: str, handle: int) -> None:
        self.handle = handle
        self.on_unload: list[Callable[[], object]] = []
        self._name = name
        self._lock = threading.Lock()

    def check_loaded(self) -> None:
        """Raise DriverError if the library was unloaded."""
        if not self.handle:
            raise DriverError(f"{self._name} was unloaded: load it again")

    def close(self) -> int:
        """Mark the library as unloaded; return its handle, or 0 if another thread or call has closed it."""
        with self._lock:
            handle, self.handle = self.handle, 0  # first: later callbacks see it
            for callback in self.on_unload:
                callback()
            return handle


class Module(Mapping[str, Kernel]):
    """A loaded module: a mapping from kernel names to kernels. `load` returns one.

    A name is the C++ name, with or without its scope, a name expression in any spacing, or the symbol; an unknown name
    raises UnknownKernelError. `image` is the chosen image, and `how` is "native", "jit" or "link"; `jit` and `link`
    describe the compilation and the link on this machine, None without one; `globals` maps names to variables.
    """

    def __init__(
        self,
        manifest: Manifest,
        image: Image,
        how: How,
        handle: int,
        jit: "Jit | None" = None,
        link: "Linked | None" = None,
    ) -> None:
        self.manifest = manifest
        self.image = image
        self.how = how
        self.jit = jit
        self.link = link
        name = manifest.full_name
        self._library = _Library(name, handle)
        self._by_name: ByName[Kernel] = ByName(name, "kernel", manifest.kernels, self._kernel, UnknownKernelError)
        self.globals: Mapping[str, Global] = ByName(
            name, "variable", manifest.globals, self._variable, UnknownGlobalError
        )

    specialize: "Callable[[Module, str, UnknownKernelError], Kernel] | None" = None
    """Function (module, name, error) -> kernel: compile the template instance `name`, which the module lacks, or raise
    `error`. None if the module may not do so."""

    __eq__ = object.__eq__  # by identity; a Mapping would compare contents
    __hash__ = object.__hash__

    def __reduce__(self) -> NoReturn:
        raise TypeError("a loaded module belongs to this process: pickle its name, and load it in the other process")

    @property
    def name(self) -> str:
        return self.manifest.name

    @property
    def variant(self) -> "dict[str, MacroValue]":
        """The macros of the variant that was loaded; empty for a module without variants."""
        return dict(self.manifest.variant)

    @property
    def handle(self) -> int:
        """The address of the CUlibrary; raises DriverError after the module is unloaded."""
        self.check_loaded()
        return self._library.handle

    @property
    def is_loaded(self) -> bool:
        """Whether the module was not unloaded."""
        return self._library.handle != 0

    def check_loaded(self) -> None:
        """Raise DriverError if the module was unloaded."""
        self._library.check_loaded()

    def on_unload(self, callback: Callable[[], object]) -> None:
        """Call `callback` when the module is unloaded, so that nothing uses its handles afterwards."""
        self._library.on_unload.append(callback)

    def unload(self) -> None:
        """Wait for the module's running kernels, and free its memory on every GPU.

        The module, its kernels and its variables become invalid in the whole process: their use raises DriverError, and
        addresses taken from them are dangling. `load` loads the module anew.
        """
        library = self._library  # loads a lazy module, so it must come before the registry's lock
        forget(lambda module: module._library is library)
        handle = library.close()
        if handle:
            check_result(cuda_driver().cuLibraryUnload(handle), f"unloading {self.name}")

    def __getitem__(self, name: str) -> Kernel:
        """Return the kernel with a C++ name, name expression or symbol.

        A template instance that the module lacks ("gemm<float, 64>") is compiled now if the module has
        `specialize = true` and a toolchain is installed; the kernel then belongs to another module.

        Raises UnknownKernelError if no kernel or several have the name, or if the image for this GPU lacks it;
        DriverError if the driver cannot compile the module.
        """
        try:
            return self._by_name[name]
        except UnknownKernelError as unknown:
            if self.specialize is None or "<" not in str(name) or self._by_name.matches(name):
                raise
            return self.specialize(self, name, unknown)

    def __contains__(self, name: object) -> bool:
        return name in self._by_name

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_name)

    def __len__(self) -> int:
        return len(self._by_name)

    @property
    def kernels(self) -> tuple[str, ...]:
        """The kernels' names; a name that several kernels share is replaced by the symbol."""
        return tuple(self._by_name)

    def _kernel(self, info: KernelInfo) -> Kernel:
        if info.absent and str(self.image.target) in info.absent:
            raise UnknownKernelError(
                f"{self.name} has no kernel {info.name!r} for this GPU: the image that was loaded for it, "
                f"{self.image}, was built without that kernel"
            )
        result = cuda_driver().cuLibraryGetKernel(self.handle, info.symbol.encode())
        if result[0]:
            check_result(result, f"loading {self!r}")
        return Kernel(self, info, int(result[1]))

    def _variable(self, info: GlobalInfo) -> "Global":
        need("variables")
        from .parts.variables import Global  # rare

        return Global(self, info)

    def __repr__(self) -> str:
        kernels = f"{len(self)} kernel{'' if len(self) == 1 else 's'}"
        return f"<Module {self.manifest.full_name}: {kernels}, {self.image}, {self.how}>"


# The SHA-256, because equal machine code may have other parameters.
Key = tuple[Any, ...]
"""Key of a loaded module: name, SHA-256 of the manifest, target of the image. For code compiled on this machine, also
the options and the GPU for which nvJitLink compiles."""


class Registry:
    """Loaded modules by key. Different modules load at the same time; threads that want the same one wait for it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._modules: dict[Key, Module] = {}
        self._being_loaded: dict[Key, threading.Lock] = {}

    def once(self, key: Key, load: Callable[[], Module]) -> Module:
        """Return the module under `key`; call `load` if there is none yet."""
        while True:
            with self._lock:
                module = self._modules.get(key)
                if module is not None:
                    return module
                key_lock = self._being_loaded.setdefault(key, threading.Lock())
            with key_lock:
                if self._being_loaded.get(key) is not key_lock:  # the thread that held it has finished: look again
                    continue
                try:
                    module = load()
                    with self._lock:
                        self._modules[key] = module
                    return module
                finally:
                    del self._being_loaded[key]

    def forget(self, is_unwanted: Callable[[Module], bool]) -> None:
        """Remove the modules for which `is_unwanted` is true; the next `load` loads them again."""
        with self._lock:
            self._modules = {key: module for key, module in self._modules.items() if not is_unwanted(module)}


_loaded = Registry()
once = _loaded.once
forget = _loaded.forget
