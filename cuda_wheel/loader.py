"""Find, choose and load the CUDA kernels of a wheel.

This file stands alone with those beside it that it imports by relative names: `manifest`, which describes modules and
has the rules; and, each when it is first needed, `launching`, `linking` and `code_loading`. All import the standard
library and, once a driver is really needed, `cuda.bindings`; a project that wants no runtime dependency can ship a copy
of them. Reading order: loading and what it gives, kernels as attributes of their package, compiling PTX, a module's
files, the driver.
"""

import importlib
import io
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, NoReturn, TypeVar

from .errors import (
    ArgumentError,
    CudaWheelError,
    DriverError,
    ImageError,
    NoImageError,
    UnknownGlobalError,
    UnknownKernelError,
)
from .manifest import (
    FORMAT,
    LARGEST,
    MANIFEST_SUFFIX,
    GlobalInfo,
    How,
    Image,
    KernelInfo,
    Manifest,
    Parameter,
    Version,
    kernel_names,
    no_image_message,
    resolve,
    sha256_of,
)

if TYPE_CHECKING:
    from typing import Generic, Protocol, SupportsFloat, SupportsIndex, TypeAlias

    from typing_extensions import TypeVarTuple, Unpack

    from .linking import Linked

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

__all__ = [
    "Attributes",
    "Cache",
    "Global",
    "Jit",
    "JitOptions",
    "Kernel",
    "Module",
    "Occupancy",
    "attach",
    "attached",
    "cache_folder",
    "cache_limit",
    "code_and_log",
    "device_and_driver",
    "device_count",
    "device_name",
    "link_code",
    "link_code_with_logs",
    "load",
    "nvjitlink_options",
    "nvjitlink_version",
    "parse_size",
    "resources_of",
    "sha256_of",
    "signature",
]


# --- loading --------------------------------------------------------------------------------------


class JitOptions(NamedTuple):
    """How to compile PTX, and link, on the user's machine, by the driver or nvJitLink."""

    verbose: bool = True
    """Whether the log tells of each kernel's resources. (CU_JIT_LOG_VERBOSE)"""
    optimization_level: int | None = None
    """0 to 4; None is the compiler's own choice, the highest. (CU_JIT_OPTIMIZATION_LEVEL)"""
    max_registers: int | None = None
    """The most registers that a thread may use; None for no limit. (CU_JIT_MAX_REGISTERS)"""
    lineinfo: bool = False
    """Whether the code carries line numbers, where the PTX does. (CU_JIT_GENERATE_LINE_INFO)"""
    lto: bool | None = None
    """Of linking: True optimises what has LTO-IR across pieces, False does not; None does where every piece has it."""
    linker: Literal["nvjitlink", "driver"] | None = None
    """Of linking: by which linker; None takes nvJitLink where it is installed and fits, else the driver's."""

    def check(self) -> None:
        """Raise ValueError where an option has a value that no compiler takes."""
        if self.lto not in (None, False, True):
            raise ValueError(f"lto must be True, False or None, not {self.lto!r}")
        if self.linker not in (None, "nvjitlink", "driver"):
            raise ValueError(f"linker must be 'nvjitlink', 'driver' or None, not {self.linker!r}")
        if self.optimization_level not in (None, 0, 1, 2, 3, 4):
            raise ValueError(f"optimization_level must be 0 to 4, not {self.optimization_level!r}")
        if self.max_registers is not None and not 16 <= self.max_registers <= 255:
            raise ValueError(f"max_registers must be 16 to 255, not {self.max_registers!r}")


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
        from .launching import Launcher

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
        from .launching import dimensions, whole_number

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
        from .launching import whole_number

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
        from .launching import device_bytes, host_bytes, is_on_gpu, stream_address

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
        from .launching import host_bytes

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
            self._by_name.setdefault(_squeezed(info.name), []).append(info)

    def __getitem__(self, name: str) -> T:
        made = self._made.get(name)
        if made is None or _forked:
            info = self._find(name)
            if info.symbol not in self._made or _forked:
                self._made.setdefault(info.symbol, self._make(info))
            made = self._made[name] = self._made[info.symbol]  # one thing, by whatever name
        return made

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names; the symbol stands for one that several share."""
        for info in self._infos:
            yield info.name if len(self._by_name[_squeezed(info.name)]) == 1 else info.symbol

    def __len__(self) -> int:
        return len(self._infos)

    def _find(self, name: str) -> Any:
        if not isinstance(name, str):
            raise self._missing(f"{self._module} has its {self._what}s by name, and {name!r} is none")
        by_symbol = self._by_symbol.get(name)
        found = [by_symbol] if by_symbol else self._by_name.get(_squeezed(name), [])
        found = found or [info for info in self._infos if _squeezed(_unscoped(info.name)) == _squeezed(name)]
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
        with _lock:
            for key in [key for key, module in _modules.items() if module._library is library]:
                del _modules[key]
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


def _unscoped(name: str) -> str:
    """Return the last part of a qualified name: "scale" of "ns::scale", "gemm<a::T>" of "ns::gemm<a::T>"."""
    plain, bracket, arguments = name.partition("<")
    return plain.rpartition("::")[2] + bracket + arguments


def _squeezed(name: str) -> str:
    """Return a name without white space: "gemm<float,16>" and "gemm<float, 16>" are one."""
    return "".join(name.split())


_modules: dict[tuple[Any, ...], Module] = {}
"""What is loaded, by all that decides it: name, SHA-256 of the image and, where it was compiled here, the options and
what GPU nvJitLink made it for."""

_lock = threading.Lock()
_locks: dict[tuple[Any, ...], threading.Lock] = {}
"""One for each entry that is being made, so that compiling one module keeps nobody from another."""


def load(
    name: str,
    *,
    link: Sequence[Any] | None = None,
    device: int | None = None,
    jit: JitOptions = JitOptions(),  # noqa: B008 - immutable
) -> Module:
    """Return the module of the dotted name `name`, loaded for a GPU of this machine.

    The GPU is number `device`, else the current context's, else number 0. A module loads once per process and
    image, however often this is called; no context is made, entered or left. `jit` matters where no machine code
    suits the GPU, so that PTX is compiled here.

    `link` are the pieces that the module's relocatable images are linked with: CUDA C++ or PTX text; PTX, LTO-IR, a
    cubin, a fatbin, an object or an archive as bytes; the path of any of these; the dotted name of another package's
    module; a `cuda.core.ObjectCode`; what `numba.cuda.compile` returns; or a `Piece`. `Module.link` says how it went.

    Raises ImageError where the module is not installed or damaged, NoImageError where no image suits the GPU
    and driver, LinkError where the pieces do not link, DriverError where there is no usable driver or it cannot compile
    the PTX; its message holds the compiler's log.
    """
    if link is not None:
        from .linking import load_linked

        return load_linked(name, link, device, jit)
    files, manifest = files_and_manifest(name, device)
    capability, driver_version = device_and_driver(device)
    resolution = resolve(manifest, capability, driver_version)
    if resolution.image is None:
        # Only now look for nvJitLink: nearly nobody needs it, and finding it is not free.
        resolution = resolve(manifest, capability, driver_version, nvjitlink_version())
    image, how = resolution.image, resolution.how
    if image is None or how is None:
        raise NoImageError(no_image_message(manifest, resolution, capability, driver_version))
    if how != "native":
        jit.check()
    key = name, image.sha256, None if how == "native" else jit, capability if how == "link" else None

    def make() -> Module:
        code = read_image(files, manifest, image)
        if how == "native":
            return Module(manifest, image, how, load_library(code, f"loading {name}, {image}"))
        if how == "jit":
            return load_ptx(manifest, image, code, jit)
        return _link(manifest, image, code, jit, capability, driver_version)

    return once(key, make)


def once(key: tuple[Any, ...], make: Callable[[], Module]) -> Module:
    """Return the module that is loaded under a key, of those that other threads ask for too; make it where there is
    none."""
    while True:
        with _lock:
            module = _modules.get(key)
            if module is not None:
                return module
            lock = _locks.setdefault(key, threading.Lock())
        with lock:
            with _lock:
                if _locks.get(key) is not lock:  # who had it is done: look again
                    continue
            try:
                module = make()
                with _lock:
                    _modules[key] = module
                return module
            finally:
                with _lock:
                    del _locks[key]


def files_and_manifest(name: str, device: int | None) -> "tuple[_Files, Manifest]":
    files = _find(name, device)
    text = files.manifest(name.rpartition(".")[2] + MANIFEST_SUFFIX)
    manifest = Manifest.from_json(text, files.where, _hashes_count())
    if manifest.name != name:
        raise ImageError(f"{files.where} is the manifest of {manifest.name!r}, not of {name!r}")
    return files, manifest


def load_library(code: bytes, doing: str, options: Mapping[str, Any] = {}) -> int:
    """Return the handle of a loaded library; `options` are those of CUjit_option, without their prefix."""
    driver = cuda_driver()
    keys = [getattr(driver.CUjit_option, f"CU_JIT_{option}") for option in options]
    result = driver.cuLibraryLoadData(code, keys, list(options.values()), len(keys), [], [], 0)
    return int(check_result(result, doing))


# --- kernels as attributes of their package -------------------------------------------------------


def attach(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return `__getattr__`, `__dir__` and `__all__` for a package, by which its modules' kernels are its attributes.

    In the package's `__init__.py`: `__getattr__, __dir__, __all__ = cuda_wheel.attach(__name__)`. Then
    `from saxpy_demo.kernels import saxpy` is the kernel of that name in any of the package's modules, or else the
    module of that name. Neither needs a GPU until it is used: only then is the module loaded, for the GPU at hand, and
    may what `load` raises be raised. `attached` has the rule. In a source tree the kernels' names are those that the
    sources show without a compiler; one that a macro makes is found too, but not in `__all__`.

    Raises ImageError where the package has no modules.
    """
    folders = _package_folders(package)
    with _asking(package):
        names = _names_in(package, folders)
    modules: dict[str, Sequence[str]] = {}
    for file in names:
        if file.endswith(MANIFEST_SUFFIX):
            name = f"{package}.{file.removesuffix(MANIFEST_SUFFIX)}"
            files = _find(name, None)
            modules[name] = kernel_names(files.manifest(file), files.where)
    source_tree: Any = None
    if not modules:
        with suppress(ImportError):  # a copy of this file in a wheel, without the build side
            from cuda_wheel.build import source_tree

            modules |= source_tree.kernels_beside(package, folders)
    if not names:
        raise ImageError(
            f"{package} cannot attach its kernels: its importer lists no files in it. Of a frozen application, "
            "collect the package's data, too; otherwise, load its modules by name."
        )
    if not modules:
        raise ImageError(f"{package} holds no modules: looked in {', '.join(folders) or 'what its importer lists'}")
    attributes = attached(modules, names)

    def __getattr__(name: str) -> Any:
        module, kernel = attributes.get(name, (None, name))
        if module is None and source_tree is not None and name not in _submodules(names):
            module = source_tree.module_that_may_make(name, package, folders)
        if module is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = _LazyModule(module) if kernel is None else _LazyKernel(module, kernel)
        return sys.modules[package].__dict__.setdefault(name, value)

    def __dir__() -> list[str]:
        return sorted({*sys.modules[package].__dict__, *attributes})

    return __getattr__, __dir__, sorted(attributes)


def attached(modules: Mapping[str, Sequence[str]], files: Sequence[str]) -> dict[str, tuple[str, str | None]]:
    """Return the attributes of a package with these modules' kernels and these files: module and kernel by name.

    A kernel's name without its scope, if that is a Python name and nothing else in the package has it; the last part of
    a module's name, where no kernel has that, then without a kernel. Python's own submodules keep their names.
    """
    taken = _submodules(files)
    owners: dict[str, list[tuple[str, str]]] = {}
    for module, kernels in modules.items():
        for kernel in kernels:
            owners.setdefault(_unscoped(kernel), []).append((module, kernel))
    attributes: dict[str, tuple[str, str | None]] = {
        name: its[0] for name, its in owners.items() if len(its) == 1 and name.isidentifier()
    }
    for module in modules:
        attributes.setdefault(module.rpartition(".")[2], (module, None))
    return {name: value for name, value in attributes.items() if name not in taken and not name.startswith("__")}


def _submodules(files: Sequence[str]) -> set[str]:
    """Return the names of a package's Python submodules, of the names of the files and folders in it."""
    return {file.partition(".")[0] for file in files if file.endswith((".py", ".so", ".pyd")) or "." not in file}


class _LazyKernel(Kernel):
    """A kernel whose module is loaded when it is first used."""

    def __init__(self, module: str, name: str) -> None:
        self._where = module, name

    def __getattr__(self, attribute: str) -> Any:  # for what is not there yet
        if attribute not in ("module", "info", "_handle"):
            raise AttributeError(f"'Kernel' object has no attribute {attribute!r}")
        kernel = load(self._where[0])[self._where[1]]
        self.__dict__.update(module=kernel.module, info=kernel.info, _handle=kernel._handle)
        return self.__dict__[attribute]

    def __repr__(self) -> str:
        if "module" in self.__dict__:
            return super().__repr__()
        return f"<Kernel {self._where[1]!r} of {self._where[0]}: not loaded yet>"


class _LazyModule(Module):
    """A module that is loaded when it is first used."""

    def __init__(self, name: str) -> None:
        self._where = name

    def __getattr__(self, attribute: str) -> Any:
        if attribute not in ("manifest", "image", "how", "jit", "link", "globals", "_by_name", "_library"):
            raise AttributeError(f"'Module' object has no attribute {attribute!r}")
        self.__dict__.update(load(self._where).__dict__)
        return self.__dict__[attribute]

    def __repr__(self) -> str:
        return super().__repr__() if "manifest" in self.__dict__ else f"<Module {self._where}: not loaded yet>"


# --- compiling PTX --------------------------------------------------------------------------------


class Jit:
    """How a module was compiled on this machine: with which `options`, in how many `seconds` (wall time), and what the
    compiler said (`log`; empty where its result came out of the driver's cache)."""

    def __init__(self, options: JitOptions, seconds: float, log: str) -> None:
        self.options = options
        self.seconds = seconds
        self.log = log
        self.buffers: tuple[bytearray, ...] = ()
        """What the driver may still write to."""
        self._resources = resources_of(log)

    @property
    def registers(self) -> dict[str, int]:
        """Registers per thread, by kernel symbol: of the kernels that the log tells of, and so of none unless it is
        verbose."""
        return {symbol: figures["registers"] for symbol, figures in self._resources.items()}

    @property
    def spills(self) -> dict[str, int]:
        """Bytes of spill stores and loads, likewise."""
        return {
            symbol: figures.get("spill_stores", 0) + figures.get("spill_loads", 0)
            for symbol, figures in self._resources.items()
        }

    def __repr__(self) -> str:
        return f"<Jit: {self.seconds:.3f} s>"


def resources_of(log: str) -> dict[str, dict[str, int]]:
    """Return what `ptxas -v` says of each kernel: registers, and bytes of static shared memory, stack and spills."""
    import re

    resources: dict[str, dict[str, int]] = {}
    symbol, frame = "", {}
    for line in log.splitlines():
        if match := re.search(r"Function properties for (\S+)", line):
            symbol = match[1]
        elif match := re.search(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads", line):
            frame = dict(zip(("local", "spill_stores", "spill_loads"), map(int, match.groups()), strict=True))
        elif match := re.match(r"ptxas info\s*: Used (\d+) registers(.*)", line):
            shared = re.search(r"(\d+) bytes smem", match[2])
            resources[symbol] = {"registers": int(match[1]), "shared": int(shared[1]) if shared else 0, **frame}
    return resources


def load_ptx(manifest: Manifest, image: Image, code: bytes, options: JitOptions) -> Module:
    """Return the module of PTX that the driver compiles."""

    def find_one(handle: int) -> None:  # a failure shows here, and not while the library is loaded
        for kernel in manifest.kernels[:1]:
            check_result(cuda_driver().cuLibraryGetKernel(handle, kernel.symbol.encode()), doing)

    doing = f"compiling {manifest.name}, {image}"
    handle, _, jit = load_compiled(code, doing, options, find_one)
    return Module(manifest, image, "jit", handle, jit)


def load_compiled(code: bytes, doing: str, options: JitOptions, then: Callable[[int], T]) -> "tuple[int, T, Jit]":
    """Return the handle of a library that the driver compiles, what `then` makes of it, which is to have the driver
    compile it now, and how it was compiled. Raises DriverError with the compiler's log."""
    # The driver writes its words into these as long as the library is being loaded.
    info, errors = bytearray(1 << 16), bytearray(1 << 16)
    chosen = {
        "INFO_LOG_BUFFER": info,
        "INFO_LOG_BUFFER_SIZE_BYTES": len(info),
        "ERROR_LOG_BUFFER": errors,
        "ERROR_LOG_BUFFER_SIZE_BYTES": len(errors),
        "LOG_VERBOSE": int(options.verbose),
        "GENERATE_LINE_INFO": int(options.lineinfo),
    }
    if options.optimization_level is not None:
        chosen["OPTIMIZATION_LEVEL"] = options.optimization_level
    if options.max_registers is not None:
        chosen["MAX_REGISTERS"] = options.max_registers
    started = time.perf_counter()
    try:
        handle = load_library(code, doing, chosen)
        try:
            made = then(handle)
        except DriverError:
            cuda_driver().cuLibraryUnload(handle)
            raise
    except DriverError as error:
        raise DriverError(f"{error}\n{_text(errors)}".rstrip()) from None
    jit = Jit(options, time.perf_counter() - started, "\n".join(filter(None, (_text(errors), _text(info)))))
    jit.buffers = info, errors  # of a library without kernels nothing is compiled yet
    return handle, made, jit


def _link(
    manifest: Manifest, image: Image, code: bytes, options: JitOptions, capability: Version, driver: Version
) -> Module:
    """Return the module of PTX that the driver cannot read: nvJitLink compiles it, and the result is kept."""
    arguments = nvjitlink_options(options)
    arch = f"{capability[0]}{capability[1]}{image.target.suffix}"
    cache = Cache()
    key = cache.key("cubin", sha256_of(code), arch, *arguments, repr((nvjitlink_version(), driver, FORMAT)))
    started = time.perf_counter()
    kept = cache.read(key, code_and_log)
    if kept is None:
        try:
            kept = link_code([("PTX", "module.ptx", code)], [f"-arch=sm_{arch}", *arguments])
        except ImageError as error:
            raise ImageError(f"nvJitLink cannot compile {manifest.name}, {image}: {error}") from error
        cache.put(key, kept[1].encode() + b"\0" + kept[0])
    cubin, log = kept
    jit = Jit(options, time.perf_counter() - started, log)
    return Module(manifest, image, "link", load_library(cubin, f"loading {manifest.name}, {image}, compiled"), jit)


def code_and_log(kept: bytes) -> tuple[bytes, str]:
    """Return the two that an entry of a linker's result holds; ValueError where it holds none."""
    log, _, code = kept.partition(b"\0")
    if not code:
        raise ValueError("there is no code")
    return code, log.decode()


def nvjitlink_options(options: JitOptions) -> list[str]:
    """Return the options in nvJitLink's words."""
    arguments = ["-Xptxas=-v"] if options.verbose else []
    arguments += ["-lineinfo"] if options.lineinfo else []
    arguments += [] if options.optimization_level is None else [f"-O{min(options.optimization_level, 3)}"]
    return arguments + ([] if options.max_registers is None else [f"-maxrregcount={options.max_registers}"])


def cache_folder() -> str:
    """Return where results are kept: CUDA_WHEEL_CACHE_DIR, else the user's folder for caches, by the platform's
    convention."""
    named = os.environ.get("CUDA_WHEEL_CACHE_DIR")
    if named:
        return named
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or os.path.expanduser("~\\AppData\\Local")
        return os.path.join(base, "cuda-wheel", "Cache")
    if sys.platform == "darwin":
        return os.path.expanduser("~/Library/Caches/cuda-wheel")
    return os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "cuda-wheel")


def parse_size(text: str) -> int:
    """Return the bytes of an amount such as "500MiB", "2 GiB" or "0"; ValueError for another form."""
    number = text.strip()
    if number == "0":
        return 0
    for power, unit in enumerate(("B", "KiB", "MiB", "GiB", "TiB")):
        digits = number.removesuffix(unit).rstrip()
        if number.endswith(unit) and digits.isascii() and digits.isdigit():
            return int(digits) << 10 * power
    raise ValueError(f'{text!r} is not an amount of bytes such as "500MiB" or "2GiB"')


def cache_limit() -> int:
    """Return how many bytes the cache may take: CUDA_WHEEL_CACHE_SIZE, else 2 GiB.

    Raises CudaWheelError where that variable is no amount.
    """
    named = os.environ.get("CUDA_WHEEL_CACHE_SIZE")
    try:
        return parse_size(named) if named else Cache.LIMIT
    except ValueError as error:
        raise CudaWheelError(f"the environment variable CUDA_WHEEL_CACHE_SIZE: {error}.") from None


class Cache:
    """What was compiled, kept for this user: entries in one folder, by key.

    Safe under concurrent use and kills, without locks: each entry is written under another name, then renamed. Each
    carries the SHA-256 of its key and content. One that is damaged, or that its reader does not understand, is told of
    once and counts as absent, as another user's does. (That is no protection from programs of the same user, who may as
    well change what is installed.) Folders and entries are for this user alone, whatever the umask. A folder that
    cannot be written to makes every `put` a warning: what was compiled is there all the same.

    `second` is the cache in the folder that CUDA_WHEEL_CACHE_READONLY names, or None. It is looked into for what the
    first does not have, and never written to. Its entries may be another user's: who names it trusts it. They are not
    copied, so that nothing of it is used any more when it is not named any more.
    """

    LIMIT = 2 << 30
    """Bytes that all entries may take where CUDA_WHEEL_CACHE_SIZE says nothing. Those used longest ago go first."""

    LEFT = 3600
    """Seconds after which what a process was writing, and did not rename, is taken for what a killed one left."""

    def __init__(self, folder: str | None = None, read_only: bool = False) -> None:
        """Without `folder`, those that the environment names; with `read_only`, other users' entries count too."""
        self.folder = folder or cache_folder()
        second = None if folder else os.environ.get("CUDA_WHEEL_CACHE_READONLY")
        self.second = Cache(second, read_only=True) if second else None
        self._read_only = read_only
        self._limit: int | None = None  # not before something is put: loading what is there needs none
        self._room = 0  # bytes that may be put before the bound is seen to again

    @staticmethod
    def key(*parts: str) -> str:
        """Return the key (hexadecimal) of what these parts decide."""
        return sha256_of("\0".join(parts).encode(errors="surrogateescape"))

    def get(self, key: str) -> bytes | None:
        """Return the content of the entry `key` (hexadecimal); None where there is none that is whole."""
        return self.read(key, bytes)

    def read(self, key: str, understand: Callable[[bytes], T]) -> T | None:
        """Return what `understand` makes of the content of the entry `key`; None where there is none that is whole, and
        that it makes something of."""
        return next(self.found(key, understand), None)

    def has(self, key: str) -> bool:
        """Return whether there is an entry `key`. That it is whole is for `get` to see."""
        return os.path.exists(self._path(key)) or (self.second is not None and self.second.has(key))

    def found(self, key: str, understand: Callable[[bytes], T]) -> Iterator[T]:
        """Yield what `read` returns, of this folder and then of the second one."""
        content = self._read(key)
        if content is not None:
            try:
                understood = understand(content)
            except Exception:  # another program, or another version of this one, may have written anything
                self._warn_of_damage()
            else:
                yield understood
        if self.second is not None:
            yield from self.second.found(key, understand)

    def put(self, key: str, content: bytes) -> None:
        """Keep `content` as the entry `key`."""
        path = self._path(key)
        temporary = f"{path}.{os.urandom(8).hex()}.part"
        limit = self._bound()
        try:
            if 64 + len(content) <= limit:
                for folder in (self.folder, os.path.dirname(path)):  # makedirs gives the mode to the last one alone
                    os.makedirs(folder, mode=0o700, exist_ok=True)
                try:
                    # "x": whoever else may write to the folder has no link there that leads elsewhere.
                    with open(temporary, "xb", opener=_private) as file:
                        file.write(self._digest(key, content) + content)
                    os.replace(temporary, path)
                finally:
                    if os.path.exists(temporary):
                        os.unlink(temporary)
        except OSError as error:
            if isinstance(error, PermissionError) and self._read(key) is not None:
                return  # Windows replaces no file that another process is reading
            _warn(
                f"cuda-wheel cannot keep what it compiled in {self.folder} ({error.strerror or error}), and will "
                "compile it again next time. CUDA_WHEEL_CACHE_DIR names another folder."
            )
            return
        self._room -= len(content)
        if self._room <= 0:  # not each time: it looks at every entry
            self.prune(limit)
            self._room = limit // 16

    def entries(self) -> list[tuple[float, int, str]]:
        """Return every entry's time of last use (seconds since the epoch), size in bytes, and path; oldest first."""
        return sorted(file for file in self._files() if not file[2].endswith(".part"))

    def prune(self, limit: int) -> tuple[int, int]:
        """Remove what was used longest ago, until the entries take `limit` bytes at most, and what killed processes
        left; return how many entries were removed, and their bytes.

        What is not an entry by its place, name and owner is left alone, as is what cannot be removed. The folders stay:
        another process may be about to write into one.
        """
        files = sorted(self._files())
        for used, _, path in files:
            if path.endswith(".part") and used < time.time() - self.LEFT:
                _removed(path)
        entries = [(size, path) for _, size, path in files if not path.endswith(".part")]
        total = sum(size for size, _ in entries)
        sizes = []
        for size, path in entries:
            if total <= limit:
                break
            if _removed(path):
                total -= size
                sizes.append(size)
        return len(sizes), sum(sizes)

    def _path(self, key: str) -> str:
        return os.path.join(self.folder, key[:2], key[2:])

    def _read(self, key: str) -> bytes | None:
        path = self._path(key)
        try:
            with open(path, "rb", opener=_at_once) as file:
                if not self._counts(os.fstat(file.fileno())):
                    return None
                digest, content = file.read(64), file.read()
        except OSError as error:
            if self._read_only and not (isinstance(error, FileNotFoundError) and os.path.isdir(self.folder)):
                _warn(
                    f"nothing is taken from {self.folder}, which CUDA_WHEEL_CACHE_READONLY names: "
                    f"{error.strerror or error}."
                )
            return None
        if self._digest(key, content) != digest:
            self._warn_of_damage()
            return None
        if not self._read_only:
            with suppress(OSError):  # another process removed it, or nobody may write here
                os.utime(path)  # it was used now
        return content

    def _digest(self, key: str, content: bytes) -> bytes:
        return sha256_of(key.encode() + content).encode()

    def _warn_of_damage(self) -> None:
        _warn(
            f"something that cuda-wheel kept in {self.folder} is damaged, or another program wrote it; it is not used, "
            "and made again."
        )

    def _counts(self, status: os.stat_result) -> bool:
        return self._read_only or not hasattr(os, "getuid") or status.st_uid == os.getuid()

    def _files(self) -> Iterator[tuple[float, int, str]]:
        """Yield time, size and path, as `entries` does, of what has an entry's place, name and owner, or is being
        written as one (".part").

        The user may have named a folder with other things in it. No link is followed.
        """
        for folder in _listed(self.folder):
            if len(folder.name) == 2 and _is_hexadecimal(folder.name) and folder.is_dir(follow_symlinks=False):
                for file in _listed(folder.path):
                    name, dot, rest = file.name.partition(".")
                    if len(name) == 62 and _is_hexadecimal(name) and (not dot or rest.endswith(".part")):
                        try:
                            status = file.stat(follow_symlinks=False)
                        except OSError:  # another process removed it
                            continue
                        if file.is_file(follow_symlinks=False) and self._counts(status):
                            yield status.st_mtime, status.st_size, file.path

    def _bound(self) -> int:
        if self._limit is None:
            try:
                self._limit = cache_limit()
            except CudaWheelError as error:  # builds and the command refuse it; nothing that loads fails for it
                self._limit = self.LIMIT
                _warn(f"{error} The cache is bounded to 2 GiB.")
        return self._limit


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _at_once(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))  # another user's pipe would be waited for


def _listed(folder: str) -> "list[os.DirEntry[str]]":
    try:
        with os.scandir(folder) as found:
            return list(found)
    except OSError:  # it is not there, or another user's
        return []


def _is_hexadecimal(text: str) -> bool:
    return not text.strip("0123456789abcdef")


def _removed(path: str) -> bool:
    """Remove a file; return whether it is gone, be it by another process."""
    try:
        os.unlink(path)
    except FileNotFoundError:
        pass
    except OSError:
        return False
    return True


def _warn(text: str) -> None:
    import warnings

    warnings.warn(text, RuntimeWarning, stacklevel=2)  # each text once: Python counts by this place


# --- a module's files -----------------------------------------------------------------------------


_USUAL = 1 << 16
"""Bytes that most manifests do not have."""


class _Files:
    """A module's files: in a folder, in a package that its importer keeps elsewhere, or in memory."""

    def __init__(self, where: str, folder: str | None, package: str = "", contents: Mapping[str, bytes] | None = None):
        self.where = where
        self.folder = folder
        self.package = package
        self.contents = contents

    def read(self, file: str, offset: int = 0, size: int | None = None) -> bytes:
        """Return so many bytes of a file from `offset` on, or all of them. No more is held in memory, or read but from
        an archive, which has to be unpacked up to there. Raises ImageError."""
        try:
            with self._open(file) as opened:
                stream = opened if opened.seekable() else io.BytesIO(opened.read())
                stream.seek(offset)
                content: bytes = stream.read(-1 if size is None else size)
                return content
        except Exception as error:  # as in `_asking`
            raise ImageError(f"{file} beside {self.where} cannot be read: {_words(error)}") from error

    def manifest(self, file: str) -> bytes:
        """Return the text of a manifest, and no more of one that is too large than shows that. Raises ImageError."""
        text = self.read(file, 0, _USUAL)  # to ask for much would have it reserved
        return text if len(text) < _USUAL else self.read(file, 0, LARGEST + 1)

    def _open(self, file: str) -> Any:
        if self.folder is not None:
            return open(os.path.join(self.folder, file), "rb")
        if self.contents is not None:
            return io.BytesIO(self.contents[file])
        return _open_in(self.package, file)


def _find(name: str, device: int | None) -> _Files:
    """Return the files of the module `name`: where its package is, else compiled from the source tree that it is in."""
    package, _, stem = name.rpartition(".")
    if not package or not all(part.isidentifier() for part in name.split(".")):
        raise ImageError(f"{name!r} is not a module's dotted name, such as 'saxpy_demo.kernels.saxpy'")
    manifest = stem + MANIFEST_SUFFIX
    folders = _package_folders(package)
    for folder in folders:
        path = os.path.join(folder, manifest)
        if os.path.isfile(path):
            return _Files(path, folder)
    if not _in_folders(folders):
        where = f"{manifest} in {package}, by its importer" if not folders else os.path.join(folders[0], manifest)
        try:
            _open_in(package, manifest).close()
            return _Files(where, None, package)
        except FileNotFoundError:
            pass
        except Exception as error:  # as in `_asking`
            raise ImageError(f"{where} cannot be read: {_words(error)}") from error
    compiled = _compile_on_load(name, folders, device)
    if compiled is None:
        raise _not_found(name, stem, folders)
    return _Files(
        f"{name}, compiled on load", None, contents=dict(zip((manifest, stem + ".fatbin"), compiled, strict=True))
    )


def _in_folders(folders: list[str]) -> bool:
    """Return whether a package of this path is in folders alone, and in no zip, nor with an importer without files."""
    return bool(folders) and all(map(os.path.isdir, folders))


def _open_in(package: str, file: str) -> Any:
    """Return a stream of a file that a package's importer keeps elsewhere than in a folder.

    Asks it for its reader (importlib.resources), and what has none for the bytes of a path (`get_data` of PEP 302).
    Raises FileNotFoundError where there is none, and what importers raise.
    """
    module = importlib.import_module(package)
    reader = _reader(module)
    if hasattr(reader, "files"):
        resource = reader.files().joinpath(file)
        if resource.is_file():
            return resource.open("rb")
    elif reader is not None:
        return reader.open_resource(file)
    from pkgutil import get_importer

    beside = os.path.dirname(getattr(module, "__file__", None) or "")
    # A package in several places has several.
    importers = [(getattr(module.__spec__, "loader", None), beside)]
    importers += [(get_importer(folder), folder) for folder in module.__path__]
    for importer, folder in importers:
        get_data = getattr(importer, "get_data", None)
        if get_data is not None:
            with suppress(OSError):
                return io.BytesIO(get_data(os.path.join(folder, file)))
    raise FileNotFoundError(f"{package} has no file {file}")


def _names_in(package: str, folders: list[str]) -> list[str]:
    """Return the names of the files and folders in a package, as far as its importer lists them."""
    if _in_folders(folders):
        return [name for folder in folders for name in os.listdir(folder)]
    reader = _reader(importlib.import_module(package))
    with suppress(OSError):  # of a frozen application's package, whose folder was left out
        if hasattr(reader, "files"):
            return [entry.name for entry in reader.files().iterdir()]
        if reader is not None:
            return list(reader.contents())
    return []


def _reader(module: Any) -> Any:
    """Return what its importer reads a package's files by; None where it does not tell."""
    get_reader = getattr(getattr(module.__spec__, "loader", None), "get_resource_reader", None)
    if get_reader is not None:
        with suppress(OSError):  # until Python 3.13, that of a namespace package knows folders alone
            return get_reader(module.__name__)
    return None


@contextmanager
def _asking(package: str) -> Iterator[None]:
    """Raise ImageError where a package's importer fails: of a damaged archive it raises whatever it likes."""
    try:
        yield
    except Exception as error:
        raise ImageError(f"package {package!r} cannot be read: {_words(error)}") from error


def _words(error: Exception) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


def _compile_on_load(name: str, folders: list[str], device: int | None) -> tuple[bytes, bytes] | None:
    """Return manifest and fatbin, compiled for the GPU at hand, where the package lies in a source tree; else None."""
    try:
        from cuda_wheel.build.on_load import compile_on_load
    except ImportError:  # a copy of this file in a wheel, without the build side
        return None
    compiled: tuple[bytes, bytes] | None = compile_on_load(name, folders, lambda: device_and_driver(device)[0])
    return compiled


def _package_folders(package: str) -> list[str]:
    module = sys.modules.get(package)  # its __init__ may be running, so that find_spec would refuse
    if module is None:
        from importlib.util import find_spec  # most packages that ask for their modules are imported

        try:
            spec = find_spec(package)
        except ModuleNotFoundError as error:
            raise ImageError(f"package {package!r} is not installed: {error}") from error
        except Exception as error:  # whatever the package that it is in raises, or whoever imports that
            raise ImageError(f"package {package!r} cannot be imported: {_words(error)}") from error
        locations = None if spec is None else spec.submodule_search_locations
    else:
        locations = getattr(module, "__path__", None)
    if locations is None:
        raise ImageError(f"{package!r} is not an installed package, so that it can hold no images")
    return list(locations)


def _not_found(name: str, stem: str, folders: list[str]) -> ImageError:
    import difflib

    looked = ", ".join(os.path.join(folder, stem + MANIFEST_SUFFIX) for folder in folders) or "it by the importer"
    message = f"{name} has no images here: looked for {looked}."
    files = [file for folder in folders if os.path.isdir(folder) for file in os.listdir(folder)]
    there = {file.removesuffix(end) for file in files for end in (MANIFEST_SUFFIX, ".cu") if file.endswith(end)}
    near = difflib.get_close_matches(stem, there - {stem}, n=3)
    if near:
        message += f" Did you mean {', '.join(near)}?"
    if any(os.path.isfile(os.path.join(folder, stem + ".cu")) for folder in folders):
        message += (
            f" {stem}.cu is there, but was not compiled: install the project's wheel, and check that its build runs "
            "cuda-wheel (a hook of hatchling, the table [tool.cuda-wheel] for setuptools)."
        )
    return ImageError(message)


def _hashes_count() -> bool:
    """Return whether manifests and images have to have their SHA-256: CUDA_WHEEL_VERIFY is "on", unless it is "off"."""
    wanted = os.environ.get("CUDA_WHEEL_VERIFY") or "on"
    if wanted not in ("on", "off"):
        _warn(f'the environment variable CUDA_WHEEL_VERIFY must be "on" or "off", not {wanted!r}; it counts as "on".')
    return wanted != "off"


def read_image(files: _Files, manifest: Manifest, image: Image) -> bytes:
    """Return the bytes for the driver: the image's own, or the whole fatbin where it is compressed.

    Raises ImageError where they are not all there, or not what the manifest says. With CUDA_WHEEL_VERIFY off they may
    be anything but machine code that would end the process in the driver.
    """
    if image.offset is None:
        start, size, expected = 0, manifest.fatbin_size, manifest.fatbin_sha256
    else:
        start, size, expected = image.offset, image.size, image.sha256
    content = files.read(manifest.fatbin, start, size)
    wrong = ""
    if len(content) < size:  # the driver is not told of a size, and would read on
        wrong = f"it ends before {image} does"
    elif _hashes_count():
        if sha256_of(content) != expected:
            wrong = f"{image} does not have the SHA-256 that the manifest names"
    elif image.offset is None:
        from .pieces import whole_fatbin

        if not whole_fatbin(content):
            wrong = "it is cut short"
    elif image.kind == "cubin":
        from .elf import check_cubin

        try:
            check_cubin(content)
        except ValueError as error:
            wrong = f"of {image}, {error}"
    if wrong:
        raise ImageError(
            f"{manifest.fatbin} beside {files.where} is damaged: {wrong}. Reinstall the package that holds "
            f"{manifest.name}."
        )
    # The driver reads PTX up to a NUL, which the image itself does not carry.
    return content + b"\0" if image.kind == "ptx" and image.offset is not None else content


# --- the driver -----------------------------------------------------------------------------------


def device_and_driver(device: int | None = None) -> tuple[Version, Version]:
    """Return the compute capability of a GPU and the CUDA version of the driver, both (major, minor).

    The GPU is number `device`, else the current context's, else number 0. Raises DriverError.
    """
    driver = cuda_driver()
    if device is not None:
        handle = check_result(driver.cuDeviceGet(device), f"asking for device {device}")
    else:
        current = driver.cuCtxGetDevice()
        without_context = int(current[0]) == int(driver.CUresult.CUDA_ERROR_INVALID_CONTEXT)
        handle = check_result(driver.cuDeviceGet(0) if without_context else current, "asking for the device")
    attribute = driver.CUdevice_attribute
    major, minor = (
        check_result(driver.cuDeviceGetAttribute(which, handle), "asking for the compute capability")
        for which in (
            attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,
            attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR,
        )
    )
    version = check_result(driver.cuDriverGetVersion(), "asking for the driver's version")
    return (major, minor), (version // 1000, version % 1000 // 10)


def device_name(device: int) -> str:
    """Return the name of GPU number `device`; raises DriverError."""
    driver = cuda_driver()
    handle = check_result(driver.cuDeviceGet(device), f"asking for device {device}")
    name: bytes = check_result(driver.cuDeviceGetName(256, handle), "asking for the device's name")
    return name.split(b"\0")[0].decode(errors="replace")


def device_count() -> int:
    """Return how many GPUs the driver sees, at least one; raises DriverError."""
    return int(check_result(cuda_driver().cuDeviceGetCount(), "counting the devices"))


def current_device() -> int | None:
    """Return the number of the current context's GPU; None without a context."""
    driver = cuda_driver()
    result = driver.cuCtxGetDevice()
    if int(result[0]) == int(driver.CUresult.CUDA_ERROR_INVALID_CONTEXT):
        return None
    return int(check_result(result, "asking for the device"))


def device_with_context() -> int:
    """Return the number of the current context's GPU. Where this thread has no context, and there is one GPU, its
    primary one becomes current."""
    device = current_device()
    if device is not None:
        return device
    if device_count() > 1:
        raise DriverError(
            "no CUDA context is current in this thread, and there are several GPUs: choose one, by cupy.cuda.Device(n)"
            ".use(), torch.cuda.set_device(n) or cuda.core.Device(n).set_current()"
        )
    driver = cuda_driver()
    context = check_result(driver.cuDevicePrimaryCtxRetain(0), "making a context on GPU 0")
    check_result(driver.cuCtxSetCurrent(context), "making the context of GPU 0 current")
    return 0


def device_attribute(name: str, device: int) -> int:
    """Return the CU_DEVICE_ATTRIBUTE_`name` of GPU number `device`; raises DriverError."""
    driver = cuda_driver()
    which = getattr(driver.CUdevice_attribute, f"CU_DEVICE_ATTRIBUTE_{name}")
    return int(check_result(driver.cuDeviceGetAttribute(which, device), f"asking for {name}"))


_bindings: Any = None
_forked = False
"""Whether this process was forked from one that had initialised CUDA here."""

FORKED = (
    "this process was forked from one that had initialised CUDA, which does not work in both: start processes by "
    "'spawn' or 'forkserver' (multiprocessing.set_start_method), or load modules in the child alone"
)


def _note_fork() -> None:
    global _forked
    _forked = _forked or _bindings is not None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_note_fork)


def cuda_driver() -> Any:
    """Return `cuda.bindings.driver`, initialised."""
    global _bindings
    if _forked:
        raise DriverError(FORKED)
    if _bindings is None:
        try:
            from cuda.bindings import driver
        except ImportError as error:
            raise DriverError(
                f"cuda-bindings is not installed or broken ({error}): pip install cuda-bindings"
            ) from error
        try:
            result = driver.cuInit(0)
        except RuntimeError:  # cuda.bindings found no driver library, and says so at length
            raise DriverError("no NVIDIA driver is installed here (libcuda was not found)") from None
        if int(result[0]) == int(driver.CUresult.CUDA_ERROR_NOT_INITIALIZED):
            raise DriverError(FORKED)
        if int(result[0]) == int(driver.CUresult.CUDA_ERROR_NO_DEVICE):
            visible = os.environ.get("CUDA_VISIBLE_DEVICES")
            hidden = "" if visible is None else f" (CUDA_VISIBLE_DEVICES is {visible!r})"
            raise DriverError(f"the NVIDIA driver is installed, but sees no GPU{hidden}")
        check_result(result, "initialising the driver", driver)
        _bindings = driver
    return _bindings


def check_result(result: tuple[Any, ...], doing: str, driver: Any = None) -> Any:
    """Return the value of a driver call's result; raise DriverError where it failed."""
    if int(result[0]) == 0:
        return result[1] if len(result) > 1 else None
    driver = driver or _bindings
    text = driver.cuGetErrorString(result[0])[1]
    explanation = text.decode() if isinstance(text, bytes) else "no explanation"
    message = f"{doing}: the driver answered {result[0].name} ({int(result[0])}): {explanation}"
    raise DriverError(message + (LOST if int(result[0]) in _LOSING else ""))


_LOSING = frozenset({700, 702, 710, 714, 715, 716, 717, 718, 719, 721})
"""Errors of kernels that run, from CUDA_ERROR_ILLEGAL_ADDRESS on. Source: CUDA Driver API, CUresult: such a one "leaves
the process in an inconsistent state and any further CUDA work will return the same error"."""

LOST = (
    ". A kernel that was launched earlier failed so, of whatever library; since then the driver answers so to all that "
    "needs the GPU, and the process has to be started again. compute-sanitizer tells which kernel it was"
)


def nvjitlink_version() -> Version | None:
    """Return the version of the nvJitLink that is installed here, or None."""
    try:
        from cuda.bindings import nvjitlink

        version: tuple[int, int] = nvjitlink.version()
    except (ImportError, RuntimeError):  # no binding, or no library behind it
        return None
    return version


def link_code(inputs: Sequence[tuple[str, str, bytes]], options: Sequence[str], ptx: bool = False) -> tuple[bytes, str]:
    """Return the cubin, or PTX, that nvJitLink makes of these inputs, and its log.

    An input is its kind, as nvJitLink's `InputType` has it, its name in messages, and its content. Raises ImageError
    with nvJitLink's own words.
    """
    code, log, _ = link_code_with_logs(inputs, options, ptx)
    return code, log


def link_code_with_logs(
    inputs: Sequence[tuple[str, str, bytes]], options: Sequence[str], ptx: bool = False
) -> tuple[bytes, str, str]:
    """Do as `link_code` does, and return what its error log holds of a success too."""
    from cuda.bindings import nvjitlink

    try:
        handle = nvjitlink.create(len(options), list(options))
    except nvjitlink.nvJitLinkError as error:
        raise ImageError(f"nvJitLink refuses an option of {' '.join(options)}: {error}") from error
    try:
        add_data, names = _add_data(nvjitlink), [name.encode() for _, name, _ in inputs]
        for (kind, _, content), name in zip(inputs, names, strict=True):
            add_data(handle, getattr(nvjitlink.InputType, kind), content, name)
        nvjitlink.complete(handle)
        what = "ptx" if ptx else "cubin"
        code = bytearray(getattr(nvjitlink, f"get_linked_{what}_size")(handle))
        getattr(nvjitlink, f"get_linked_{what}")(handle, code)
        return bytes(code), _log_of(nvjitlink, "info", handle), _log_of(nvjitlink, "error", handle)
    except nvjitlink.nvJitLinkError as error:
        raise ImageError(_log_of(nvjitlink, "error", handle) or str(error)) from error
    finally:
        nvjitlink.destroy(handle)


def _log_of(nvjitlink: Any, which: str, handle: int) -> str:
    log = bytearray(getattr(nvjitlink, f"get_{which}_log_size")(handle))
    if log:
        getattr(nvjitlink, f"get_{which}_log")(handle, log)
    return _text(log)


def _add_data(nvjitlink: Any) -> Callable[[int, int, bytes, bytes], None]:
    """Return a function that gives nvJitLink an input: handle, kind, content and name.

    nvJitLink keeps a pointer to the name, which must not go away before the link is done; the function of
    `cuda.bindings` frees its copy at once, so that messages name another input, if not worse.
    """
    import ctypes

    try:
        from cuda.bindings._internal import nvjitlink as internal

        address = internal._inspect_function_pointer("__nvJitLinkAddData")
    except (ImportError, AttributeError):  # another release's binding: no more than messages suffer
        return lambda handle, kind, content, name: nvjitlink.add_data(
            handle, kind, content, len(content), name.decode()
        )
    types = (ctypes.c_int, ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p)
    function = ctypes.CFUNCTYPE(*types)(address)

    def add_data(handle: int, kind: int, content: bytes, name: bytes) -> None:
        status = function(handle, int(kind), content, len(content), name)
        if status != 0:
            raise nvjitlink.nvJitLinkError(status)

    return add_data


def _text(log: bytearray) -> str:
    return log.rstrip(b"\0\n ").decode(errors="replace")
