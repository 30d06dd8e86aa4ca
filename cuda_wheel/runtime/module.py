"""A loaded module: its kernels and variables."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, TypeVar

from .driver import check_result, cuda_driver, current_device, device_attribute, device_with_context, is_forked
from .errors import ArgumentError, DriverError, ImageError, UnknownGlobalError, UnknownKernelError
from .manifest import GlobalInfo, Image, KernelInfo, Manifest, Parameter, Version
from .registry import modules, modules_lock
from .rules import How

__all__ = [
    "Attributes",
    "Global",
    "Kernel",
    "Module",
    "Occupancy",
    "signature",
    "squeezed",
    "unscoped",
]


if TYPE_CHECKING:
    from typing import Generic, Protocol, SupportsFloat, SupportsIndex, TypeAlias

    from typing_extensions import TypeVarTuple, Unpack

    from .jit import Jit
    from .linking.link import Linked

    Arguments = TypeVarTuple("Arguments", default=Unpack[tuple[Any, ...]])

    class _OnGpu(Protocol):
        @property
        def __cuda_array_interface__(self) -> Any: ...

    class _DLPack(Protocol):
        def __dlpack__(self, *args: Any, **kwargs: Any) -> Any: ...

    # What a kernel's parameters take: the words of the stubs that a build writes.
    Integer: TypeAlias = SupportsIndex
    Real: TypeAlias = SupportsFloat | SupportsIndex
    Pointer: TypeAlias = _OnGpu | _DLPack | SupportsIndex | None
    Struct: TypeAlias = Any
else:  # Python 3.10 has none of these; for types alone they are not worth an import
    Arguments, Unpack, Generic = "Arguments", {"Arguments": "Arguments"}, {"Arguments": object}


T = TypeVar("T")


class Attributes(NamedTuple):
    """What the driver says of a kernel on one GPU: sizes in bytes, versions as (major, minor)."""

    registers: int
    """Of each thread. (CU_FUNC_ATTRIBUTE_NUM_REGS)"""
    shared: int
    """Shared memory of a block that the source declares with its size. (SHARED_SIZE_BYTES)"""
    max_dynamic_shared: int
    """The most that a launch may ask for beside that, as things are. (MAX_DYNAMIC_SHARED_SIZE_BYTES)"""
    constant: int
    """Constant memory that the module's variables take. (CONST_SIZE_BYTES)"""
    local: int
    """Local memory of each thread. (LOCAL_SIZE_BYTES)"""
    max_threads: int
    """The most threads that a block may have. (MAX_THREADS_PER_BLOCK)"""
    binary_version: Version
    """Compute capability that the machine code is for. (BINARY_VERSION)"""
    ptx_version: Version
    """Virtual architecture that it was compiled from. (PTX_VERSION)"""


class Occupancy(NamedTuple):
    """How full a kernel makes a multiprocessor: the blocks that it holds at once, and the share of its threads."""

    blocks: int
    share: float


Dim = int | tuple[int, ...]
"""The size of a grid, a block or a cluster: one to three numbers, x first."""


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
        """The address of the CUkernel, which `cuda.core.Kernel.from_handle`, ctypes and the driver API take.

        It is good on every device until the module is unloaded; raises DriverError after that.
        """
        self.module._library.check()
        return self._handle

    @property
    def name(self) -> str:
        """The kernel's C++ name, or the name expression that instantiated it."""
        return self.info.name

    @property
    def symbol(self) -> str:
        """The kernel's name in the image: the mangled one, unless it is `extern "C"`."""
        return self.info.symbol

    def launch(
        self,
        grid: Dim,
        block: Dim,
        *args: "Unpack[Arguments]",
        stream: Any = None,
        shared_memory: int = 0,
        cooperative: bool = False,
        cluster: Dim | None = None,
        check: bool = True,
    ) -> None:
        """Launch the kernel on `grid` blocks of `block` threads each; return without waiting for it.

        Arguments are converted to the width that the kernel declares. A pointer takes anything on the GPU that has
        `__cuda_array_interface__` or DLPack (CuPy, PyTorch, Numba, cuda.core), an address, or None. Of an array the
        kernel gets the address alone: strides and shape are for further arguments to tell, and whatever is still to
        happen to it on another stream is the caller's to wait for. A struct takes bytes, a NumPy record or anything
        else of its size, vector types also their numbers.

        `stream` is an address, or CuPy's, PyTorch's or any with `__cuda_stream__`; None is the default stream, and not
        what a library calls its current one. `shared_memory` is dynamic shared memory, in bytes; above 48 KiB the
        opt-in that the driver wants is made. `cluster` is in blocks.

        It runs in the current context. Where this thread has none, and there is one GPU, its primary one is made
        current, as the CUDA runtime does.

        Raises ArgumentError, before anything is launched, where number, kind, range, element type or device of the
        arguments do not fit; `check=False` leaves out what is not needed to write them. Raises DriverError where the
        driver refuses.
        """
        from .launching.launcher import Launcher

        # From the next time on, the attribute of that name comes before this method.
        launch = self.__dict__["launch"] = Launcher(self).function()
        launch(
            grid,
            block,
            *args,
            stream=stream,
            shared_memory=shared_memory,
            cooperative=cooperative,
            cluster=cluster,
            check=check,
        )

    @property
    def attributes(self) -> Attributes:
        """What the driver says of the kernel on the current context's GPU, else GPU 0."""

        def ask(name: str) -> int:
            return self._attribute(name)

        return Attributes(
            registers=ask("NUM_REGS"),
            shared=ask("SHARED_SIZE_BYTES"),
            max_dynamic_shared=ask("MAX_DYNAMIC_SHARED_SIZE_BYTES"),
            constant=ask("CONST_SIZE_BYTES"),
            local=ask("LOCAL_SIZE_BYTES"),
            max_threads=ask("MAX_THREADS_PER_BLOCK"),
            binary_version=divmod(ask("BINARY_VERSION"), 10),
            ptx_version=divmod(ask("PTX_VERSION"), 10),
        )

    def occupancy(self, block: Dim, shared_memory: int = 0) -> Occupancy:
        """Return how many blocks of that size and dynamic shared memory (bytes) a multiprocessor holds at once.

        Source: CUDA Driver API, cuOccupancyMaxActiveBlocksPerMultiprocessor. Raises ArgumentError for a block that
        cannot be launched.
        """
        from .launching.launcher import dimensions, whole_number

        x, y, z = dimensions(block, "block")
        shared_memory = whole_number(shared_memory, "shared_memory", 0)
        device = device_with_context()
        self._admit(x * y * z, shared_memory)
        driver = cuda_driver()
        result = driver.cuOccupancyMaxActiveBlocksPerMultiprocessor(self.handle, x * y * z, shared_memory)
        blocks = check_result(result, f"asking for the occupancy of {self.name}")
        threads = device_attribute("MAX_THREADS_PER_MULTIPROCESSOR", device)
        warps = -(-x * y * z // 32)
        return Occupancy(blocks, blocks * warps * 32 / threads)

    def suggest_block(self, shared_memory: int = 0) -> int:
        """Return the number of threads a block with which a GPU is fullest, given each block's dynamic shared memory.

        Source: CUDA Driver API, cuOccupancyMaxPotentialBlockSize.
        """
        from .launching.launcher import whole_number

        shared_memory = whole_number(shared_memory, "shared_memory", 0)
        device_with_context()
        self._admit(1, shared_memory)
        driver = cuda_driver()
        constant = driver.CUoccupancyB2DSize(0)
        result = driver.cuOccupancyMaxPotentialBlockSize(self.handle, constant, shared_memory, 0)
        check_result(result, f"asking for a block size of {self.name}")
        return int(result[2])

    @property
    def cuda_core(self) -> Any:
        """The same kernel as a `cuda.core.Kernel`."""
        from cuda.core import Kernel as CoreKernel

        return CoreKernel.from_handle(self.handle)

    def _attribute(self, name: str) -> int:
        driver = cuda_driver()
        which = getattr(driver.CUfunction_attribute, f"CU_FUNC_ATTRIBUTE_{name}")
        result = driver.cuKernelGetAttribute(which, self.handle, current_device() or 0)
        return int(check_result(result, f"asking for {name} of {self.name}"))

    def _set_attribute(self, name: str, value: int) -> None:
        driver = cuda_driver()
        which = getattr(driver.CUfunction_attribute, f"CU_FUNC_ATTRIBUTE_{name}")
        result = driver.cuKernelSetAttribute(which, value, self.handle, current_device() or 0)
        check_result(result, f"setting {name} of {self.name}")

    def _admit(self, threads: int, shared_memory: int) -> None:
        """Raise ArgumentError where no block can have so many threads and so much dynamic shared memory (bytes) on the
        current GPU; have the driver allow for much."""
        most = self._attribute("MAX_THREADS_PER_BLOCK")
        if threads > most:
            raise ArgumentError(
                f"{self.name}: a block of {threads} threads is too large: {most} is the most on this GPU, by its "
                "registers or __launch_bounds__"
            )
        if shared_memory <= 0:
            return
        static = self._attribute("SHARED_SIZE_BYTES")
        most = device_attribute("MAX_SHARED_MEMORY_PER_BLOCK_OPTIN", current_device() or 0) - static
        if shared_memory > most:
            raise ArgumentError(
                f"{self.name}: {shared_memory} bytes of shared memory are too much: this GPU has {most} for a block"
                + (f", beside the {static} that the kernel declares" if static else "")
            )
        # Source: CUDA C++ Programming Guide, "Shared Memory": above 48 KiB a kernel needs an explicit opt-in.
        if shared_memory > self._attribute("MAX_DYNAMIC_SHARED_SIZE_BYTES"):
            self._set_attribute("MAX_DYNAMIC_SHARED_SIZE_BYTES", most)

    def __int__(self) -> int:
        return self.handle

    def __reduce__(self) -> NoReturn:
        raise TypeError("a kernel is this process's own: pickle the module's name, and load it where it is needed")

    def __repr__(self) -> str:
        return f"<Kernel {self.name!r} of {self.module.name}: ({signature(self.info)})>"


def signature(info: KernelInfo) -> str:
    """Return a kernel's parameter list, as C++ has it: "const float*, int"."""
    return ", ".join(map(parameter_type, info.parameters))


def parameter_type(parameter: Parameter) -> str:
    """Return a parameter's type in words: in C++ where that is known, else PTX's."""
    struct = parameter.type == "b8" and not parameter.cpp
    return f"{parameter.size} bytes" if struct else parameter.cpp or f".{parameter.type}"


class Global:
    """A variable of a loaded module in the GPU's memory; each context has its own."""

    def __init__(self, module: "Module", info: GlobalInfo) -> None:
        self.module = module
        self.info = info

    @property
    def name(self) -> str:
        return self.info.name

    @property
    def size(self) -> int:
        """In bytes."""
        return self.info.size

    @property
    def address(self) -> int:
        """Where the variable is in the current context, for kernels and copies."""
        device_with_context()
        result = cuda_driver().cuLibraryGetGlobal(self.module.handle, self.info.symbol.encode())
        address = int(check_result(result, f"looking for {self.name} in {self.module!r}"))
        if result[2] < self.size and self.info.space != "managed":  # for those, no document says what it tells
            raise ImageError(
                f"the manifest of {self.module.name} is damaged: {self.name} has {result[2]} bytes, not {self.size}"
            )
        return address

    def write(self, data: Any, *, offset: int = 0, stream: Any = None) -> None:
        """Copy `data`, a NumPy array or any other contiguous buffer, or an array on the GPU, into the variable.

        `offset` is in bytes. Without a `stream`, the copy is done when this returns. Raises ArgumentError where it
        does not fit.
        """
        from .launching.buffers import device_bytes, host_bytes, is_on_gpu
        from .launching.launcher import stream_address

        address, driver = self.address, cuda_driver()
        source: Any
        if is_on_gpu(data):
            source, size = device_bytes(data)
            copy = driver.cuMemcpyDtoDAsync
        else:
            source = host_bytes(data)
            size = source.nbytes
            copy = driver.cuMemcpyHtoDAsync
        self._check_place(offset, size)
        # On the default stream or another, a copy may go on when the call returns.
        of = 0 if stream is None else stream_address(stream)
        check_result(copy(address + offset, source, size, of), f"writing {self.name}")
        if stream is None:
            check_result(driver.cuStreamSynchronize(0), f"writing {self.name}")

    def read(self, into: Any = None, *, offset: int = 0) -> bytes | None:
        """Copy the variable into the contiguous writable buffer `into`, such as a NumPy array, or return it as bytes.

        `offset` is in bytes. What was launched on streams of their own (cuStreamNonBlocking) is not waited for. Raises
        ArgumentError where there is not so much of it.
        """
        from .launching.buffers import host_bytes

        target = bytearray(max(self.size - offset, 0)) if into is None else into
        view = host_bytes(target)
        if view.readonly:
            raise ArgumentError(f"{self.name} cannot be read into a {type(into).__name__}: it is read-only")
        self._check_place(offset, view.nbytes)
        check_result(cuda_driver().cuMemcpyDtoH(view, self.address + offset, view.nbytes), f"reading {self.name}")
        return bytes(target) if into is None else None

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """The variable as an array of bytes, for CuPy, Numba and PyTorch."""
        return {"shape": (self.size,), "typestr": "|u1", "data": (self.address, False), "strides": None, "version": 3}

    def _check_place(self, offset: int, size: int) -> None:
        if offset < 0 or offset + size > self.size:
            at = f" from byte {offset} on" if offset else ""
            raise ArgumentError(f"{self.name} has {self.size} bytes: {size}{at} do not fit")

    def __repr__(self) -> str:
        return f"<Global {self.name!r} of {self.module.name}: {self.size} bytes, {self.info.space}>"


class _ByName(Mapping[str, T]):
    """What a module has of one kind, by C++ name in any spacing, with its scope or without, or by symbol; each is made
    when it is first asked for.

    `what` is the kind in words; `missing` the error for a name that there is not.
    """

    def __init__(
        self, module: str, what: str, infos: Sequence[Any], make: Callable[[Any], T], missing: type[Exception]
    ):
        self._module = module
        self._what = what
        self._infos = infos
        self._make = make
        self._missing = missing
        self._made: dict[str, T] = {}
        self._by_symbol = {info.symbol: info for info in infos}
        self._by_name: dict[str, list[Any]] = {}
        for info in infos:
            self._by_name.setdefault(squeezed(info.name), []).append(info)

    def __getitem__(self, name: str) -> T:
        made = self._made.get(name)
        if made is None or is_forked():
            info = self._find(name)
            if info.symbol not in self._made or is_forked():
                self._made.setdefault(info.symbol, self._make(info))
            made = self._made[name] = self._made[info.symbol]  # one thing, by whatever name
        return made

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names; the symbol stands for one that several share."""
        for info in self._infos:
            yield info.name if len(self._by_name[squeezed(info.name)]) == 1 else info.symbol

    def __len__(self) -> int:
        return len(self._infos)

    def _find(self, name: str) -> Any:
        if not isinstance(name, str):
            raise self._missing(f"{self._module} has its {self._what}s by name, and {name!r} is none")
        by_symbol = self._by_symbol.get(name)
        found = [by_symbol] if by_symbol else self._by_name.get(squeezed(name), [])
        found = found or [info for info in self._infos if squeezed(unscoped(info.name)) == squeezed(name)]
        if len(found) == 1:
            return found[0]
        if found:
            symbols = ", ".join(info.symbol for info in found)
            raise self._missing(f"{self._module} has several {self._what}s {name!r}; ask by symbol: {symbols}")
        import difflib

        near = difflib.get_close_matches(name, self, n=3) or list(self)[:8]
        guess = f"; did you mean {', '.join(near)}?" if near else ", and no other"
        raise self._missing(f"{self._module} has no {self._what} {name!r}{guess}")

    def __repr__(self) -> str:
        return f"<{len(self)} {self._what}s of {self._module}: {', '.join(self)}>"


class _Library:
    """What the driver loaded for a module: its address, 0 once it is unloaded."""

    def __init__(self, name: str, address: int) -> None:
        self.address = address
        self.launching: list[dict[str, Any]] = []
        """The namespaces of the functions that launch its kernels."""
        self._name = name

    def check(self) -> None:
        """Raise DriverError where it is unloaded."""
        if not self.address:
            raise DriverError(f"{self._name} was unloaded: load it again")

    def end(self) -> int:
        """Have nothing use it any more; return the address that it had."""
        for namespace in self.launching:
            namespace["handle"] = None  # the driver refuses that one, where the old one might end the process
        address, self.address = self.address, 0
        return address


class Module(Mapping[str, Kernel]):
    """A loaded module: a mapping from kernel names to kernels. `load` makes it.

    A name is the C++ name, with its scope or without, a name expression in any spacing, or the symbol; a wrong one is
    an UnknownKernelError.
    `image` and `how` say which image was chosen and how it got onto the GPU; `jit` what compiled it here, or None for
    machine code; `link` how it was linked here, or None; `globals` maps names to the module's variables.
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
        self._library = _Library(manifest.name, handle)
        self._by_name: _ByName[Kernel] = _ByName(
            manifest.name, "kernel", manifest.kernels, self._kernel, UnknownKernelError
        )
        self.globals: Mapping[str, Global] = _ByName(
            manifest.name, "variable", manifest.globals, lambda info: Global(self, info), UnknownGlobalError
        )

    __eq__ = object.__eq__  # a module is itself, and not what a mapping of the same content is
    __hash__ = object.__hash__

    def __reduce__(self) -> NoReturn:
        raise TypeError("a loaded module is this process's own: pickle its name, and load it where it is needed")

    @property
    def name(self) -> str:
        return self.manifest.name

    @property
    def handle(self) -> int:
        """The address of the CUlibrary, until the module is unloaded; raises DriverError after that."""
        self._library.check()
        return self._library.address

    def unload(self) -> None:
        """Have the driver give back what the module takes on every GPU; wait for its kernels that still run.

        It is for programs that make modules without end: others keep theirs. For all who loaded it, kernels and
        variables end with it, and any use of them is a DriverError; addresses of them that others were given are good
        for nothing. `load` loads it anew. A module that was unloaded stays so.
        """
        library = self._library  # of a module that was never used, this loads it, under the same lock
        with modules_lock:
            for key in [key for key, module in modules.items() if module._library is library]:
                del modules[key]
            address = library.end()
        if address:
            check_result(cuda_driver().cuLibraryUnload(address), f"unloading {self.name}")

    def __getitem__(self, name: str) -> Kernel:
        """Return the kernel of a C++ name, name expression or symbol.

        Raises UnknownKernelError where there is none, the name is ambiguous, or the image for this GPU lacks it;
        DriverError where the driver cannot compile the module.
        """
        return self._by_name[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_name)

    def __len__(self) -> int:
        return len(self._by_name)

    @property
    def kernels(self) -> tuple[str, ...]:
        """The kernels' names; the symbol stands for a name that several kernels share."""
        return tuple(self._by_name)

    def _kernel(self, info: KernelInfo) -> Kernel:
        if str(self.image.target) in info.absent:
            raise UnknownKernelError(
                f"{self.name} has no kernel {info.name!r} for this GPU: {self.image}, which suits it, is one of the "
                "images without that kernel"
            )
        result = cuda_driver().cuLibraryGetKernel(self.handle, info.symbol.encode())
        return Kernel(self, info, int(check_result(result, f"loading {self!r}")))

    def __repr__(self) -> str:
        kernels = f"{len(self)} kernel{'' if len(self) == 1 else 's'}"
        return f"<Module {self.name}: {kernels}, {self.image}, {self.how}>"


def unscoped(name: str) -> str:
    """Return the last part of a qualified name: "scale" of "ns::scale", "gemm<a::T>" of "ns::gemm<a::T>"."""
    plain, bracket, arguments = name.partition("<")
    return plain.rpartition("::")[2] + bracket + arguments


def squeezed(name: str) -> str:
    """Return a name without white space: "gemm<float,16>" and "gemm<float, 16>" are one."""
    return "".join(name.split())
