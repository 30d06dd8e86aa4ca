"""`RawModule` and `RawKernel`: modules of a wheel, or compiled here, with the interface of CuPy's classes."""

import re
import sys
import warnings
from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

from cuda_wheel.cupy.arguments import Convert, converter_of
from cuda_wheel.runtime.arguments import is_on_gpu, type_name
from cuda_wheel.runtime.arrays import flattened, long_size
from cuda_wheel.runtime.driver import (
    current_device,
    device_attribute,
    device_count,
    device_with_context,
    kernel_attribute,
    set_kernel_attribute,
)
from cuda_wheel.runtime.errors import ArgumentError
from cuda_wheel.runtime.launching import wrong_argument_text
from cuda_wheel.runtime.loading import load
from cuda_wheel.runtime.manifest import MacroValue
from cuda_wheel.runtime.module import Kernel, Module
from cuda_wheel.runtime.streams import CurrentStreams, block_stream, by_arrays

__all__ = ["RawKernel", "RawModule", "with_bridge", "with_options"]

_CUPY_HEADERS = ("complex.cuh", "carray.cuh", "atomics.cuh", "math_constants.h")
"""Headers that CuPy includes before a source with `translate_cucomplex`. Source: CuPy, cupy/_core/core.pyx."""


def with_bridge(code: str) -> str:
    """Return CUDA C++ as CuPy compiles it with `translate_cucomplex=True`: CuPy's header in place of cuComplex.h, which
    makes its functions those of `complex<T>`."""
    bridge = re.sub(r"^\s*#\s*include\s*<\s*cuComplex\.h\s*>", "#include <cupy/cuComplex_bridge.h>", code, flags=re.M)
    return "".join(f"#include <cupy/{name}>\n" for name in _CUPY_HEADERS) + bridge


def with_options(options: Sequence[str], backend: str) -> tuple[str, ...]:
    """Return the options that CuPy compiles with, which affect the code, where these are given to RawModule.

    Source: CuPy, cupy/cuda/compiler.py.
    """
    added = [("--ftz=true", "ftz|use_fast_math")]
    if backend == "nvrtc":
        added.append(("--device-as-default-execution-space", "device-as-default-execution-space|default-device"))
    missing = [option for option, names in added if not any(re.match(rf"--?({names})\b", each) for each in options)]
    return (*options, *missing)


class _Source:
    """Where the kernels of a `RawModule` or `RawKernel` come from, and the modules that were loaded from there."""

    def __init__(self, source: str | None, code: str | None, path: str | None, **given: Any) -> None:
        if source is not None and code is None and not _is_name(source):
            source, code = None, source
        if sum(each is not None for each in (source, code, path)) != 1:
            raise ArgumentError(
                'pass one of: the name of a module in a wheel, such as "demo.kernels.scale"; code=, CUDA C++ to '
                "compile on this machine; path=, a cubin, PTX or a fatbin"
            )
        self.name, self.code, self.path = source, code, path
        self.options: tuple[str, ...] = tuple(given["options"])
        self._backend: str = given["backend"]
        self.instances: tuple[str, ...] = tuple(given["name_expressions"] or ())
        self.translate_cucomplex: bool = bool(given["translate_cucomplex"])
        self.variant: dict[str, Any] = dict(given["variant"] or {})
        if code is None and (self.options or self.translate_cucomplex):
            what = "options" if self.options else "translate_cucomplex"
            raise ArgumentError(
                f"{what} is for code that is compiled now, and {source or path} is compiled already: leave it out, and "
                "see that [[tool.cuda-wheel.module]] has it (cuda-wheel import moves it there)"
            )
        if source is None and self.variant:
            raise ArgumentError("variant is for a module of a wheel")
        self._modules: dict[int, Module] = {}
        self._has_several_gpus: bool | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_modules": {}, "_has_several_gpus": None}  # these belong to a process

    def device(self) -> int:
        """Return the number of the current GPU."""
        if self._has_several_gpus is None:
            self._has_several_gpus = device_count() > 1
        return current_device() or 0 if self._has_several_gpus else 0

    def module(self) -> Module:
        """Return the module, loaded for the current GPU."""
        device = self.device()
        found = self._modules.get(device)
        if found is None:
            found = self._modules[device] = self._loaded()
        return found

    def _loaded(self) -> Module:
        if self.name is not None:
            return load(self.name, **self.variant)
        if self.path is not None:
            from cuda_wheel.runtime.parts.linking.load_code import load_code  # only for files

            return load_code(self.path)
        from cuda_wheel.runtime.parts.compile_text import compile as compile_text  # only for texts

        options = with_options(self.options, self._backend)
        code = with_bridge(str(self.code)) if self.translate_cucomplex else str(self.code)
        return compile_text(code, options=options, instantiate=self.instances)


def _is_name(text: str) -> bool:
    """Return whether a string is the dotted name of a module; no CUDA C++ with a kernel is one."""
    return all(map(str.isidentifier, text.split(".")))


class RawModule:
    """A module of kernels, used as a `cupy.RawModule`.

    `module` is the dotted name of a module in a wheel, as for `cuda_wheel.load`; `variant` has the macros of one of its
    variants. In its place, `code` is CUDA C++ that `cuda_wheel.compile` compiles on this machine, with CuPy's `options`
    and `name_expressions`, and `path` a cubin, PTX or a fatbin. The module is loaded when something of it is first
    asked for, for each GPU on its own.

    `code` is compiled as CuPy compiles it: with -ftz=true and, unless `backend` is "nvcc", with the GPU as the default
    execution space. `jitify` has no effect. `options` and `translate_cucomplex` raise ArgumentError for a module that
    is compiled already. With `check=False`, arrays of any element type are accepted, as by CuPy.
    """

    def __init__(
        self,
        module: str | None = None,
        *,
        code: str | None = None,
        path: str | None = None,
        options: Sequence[str] = (),
        backend: str = "nvrtc",
        translate_cucomplex: bool = False,
        enable_cooperative_groups: bool = False,
        name_expressions: Sequence[str] | None = None,
        jitify: bool | None = None,
        variant: Mapping[str, MacroValue] | None = None,
        check: bool = True,
    ) -> None:
        self._source = _Source(
            module,
            code,
            path,
            options=options,
            backend=backend,
            name_expressions=name_expressions,
            translate_cucomplex=translate_cucomplex,
            variant=variant,
        )
        self.backend = backend
        self.enable_cooperative_groups = enable_cooperative_groups
        self._check = check

    @property
    def module(self) -> Module:
        """The module of cuda-wheel, loaded for the current GPU."""
        return self._source.module()

    @property
    def code(self) -> str | None:
        """The argument `code`; None for a module of a wheel, which has no sources."""
        return self._source.code

    @property
    def file_path(self) -> str | None:
        return self._source.path

    @property
    def options(self) -> tuple[str, ...]:
        return self._source.options

    @property
    def name_expressions(self) -> tuple[str, ...] | None:
        return self._source.instances or None

    def compile(self, log_stream: Any = None) -> None:
        """Load the module for the current GPU. A log of the driver's compiler is written to `log_stream`."""
        _write_log(self.module, log_stream)

    def get_function(self, name: str) -> "RawKernel":
        """Return a kernel by its C++ name, name expression or symbol.

        Raises UnknownKernelError, and what `cuda_wheel.load` raises.
        """
        kernel = RawKernel._of(self, name)
        kernel.kernel  # noqa: B018 - an unknown name is an error here, as with CuPy
        return kernel

    def get_global(self, name: str) -> Any:
        """Return a `cupy.cuda.MemoryPointer` to a variable on the current GPU. Raises UnknownGlobalError."""
        import cupy  # nothing else here needs it

        variable = self.module.globals[name]
        memory = cupy.cuda.UnownedMemory(variable.address, variable.size, variable, device_with_context())
        return cupy.cuda.MemoryPointer(memory, 0)

    def __repr__(self) -> str:
        return f"<cuda_wheel.cupy.RawModule {self._source.name or self._source.path or 'of a text'}>"


class _Attribute:
    """A kernel's attribute on the current GPU, by CuPy's name. Source: CUDA Driver API, CUfunction_attribute."""

    def __init__(self, description: str) -> None:
        self.__doc__ = description

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name.upper()

    def __get__(self, kernel: "RawKernel | None", owner: type) -> Any:
        return self if kernel is None else kernel_attribute(self._name, kernel.kernel)

    def __set__(self, kernel: "RawKernel", value: int) -> None:
        if self._name not in ("MAX_DYNAMIC_SHARED_SIZE_BYTES", "PREFERRED_SHARED_MEMORY_CARVEOUT"):
            raise AttributeError(f"{self._name.lower()} of {kernel.name} cannot be set")
        set_kernel_attribute(self._name, kernel.kernel, value)


_streams = CurrentStreams()


class RawKernel:
    """A kernel, used as a `cupy.RawKernel`: `kernel(grid, block, args, shared_mem=0, stream=None)`.

    `module` and `name` are a module in a wheel and the name of its kernel; in place of the module's name, CUDA C++ is
    compiled on this machine. The other arguments are those of `RawModule`.
    """

    def __init__(
        self,
        module: str | None = None,
        name: str = "",
        options: Sequence[str] = (),
        backend: str = "nvrtc",
        *,
        code: str | None = None,
        translate_cucomplex: bool = False,
        enable_cooperative_groups: bool = False,
        jitify: bool | None = None,
        variant: Mapping[str, MacroValue] | None = None,
        check: bool = True,
    ) -> None:
        if not name:
            raise ArgumentError("RawKernel needs the name of a kernel")
        source = _Source(
            module,
            code,
            None,
            options=options,
            backend=backend,
            name_expressions=(name,) if "<" in name else (),
            translate_cucomplex=translate_cucomplex,
            variant=variant,
        )
        self._set(source, name, backend, enable_cooperative_groups, check)

    @classmethod
    def _of(cls, module: RawModule, name: str) -> "RawKernel":
        """Return a kernel of a module."""
        kernel = cls.__new__(cls)
        kernel._set(module._source, name, module.backend, module.enable_cooperative_groups, module._check)
        return kernel

    def _set(self, source: _Source, name: str, backend: str, is_cooperative: bool, check: bool) -> None:
        self._source = source
        self.name = self.__name__ = name
        self.backend = backend
        self.enable_cooperative_groups = is_cooperative
        self._check = check
        self._kernels: dict[int, Kernel] = {}
        self._converters: tuple[Convert, ...] = ()

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_kernels": {}, "_converters": ()}

    def __call__(self, grid: Any, block: Any, args: Sequence[Any], *, shared_mem: int = 0, stream: Any = None) -> None:
        """Launch the kernel on `grid` blocks of `block` threads each, and return without waiting for it.

        `grid` and `block` are tuples of one to three numbers; a missing number or a 0 counts as 1, as with CuPy.
        `args` are the kernel's arguments: arrays, pointers, numbers, NumPy scalars and records. `shared_mem` is dynamic
        shared memory in bytes. Without `stream`, the launch runs on CuPy's current stream.

        A value is converted to the type that the kernel declares. One that CuPy would pass as another number, and an
        array of another element type, raise ArgumentError; see `Kernel.launch`.
        """
        kernel = self.kernel
        if not isinstance(args, (tuple, list)):
            given = type_name(type(args))
            raise ArgumentError(f"{self.name}: the third argument is the tuple of the kernel's arguments, not {given}")
        converted = self._converted(kernel, args)
        if stream is None:
            stream = _current_stream(converted)
        blocks, threads = _size(grid), _size(block)
        if not self.enable_cooperative_groups:
            kernel.launch(blocks, threads, *converted, stream=stream, shared_memory=shared_mem, check=self._check)
            return
        blocks = _reduced(kernel, blocks, threads, shared_mem)
        kernel.launch(
            blocks, threads, *converted, stream=stream, shared_memory=shared_mem, check=self._check, cooperative=True
        )

    def _converted(self, kernel: Kernel, args: Sequence[Any]) -> Sequence[Any]:
        """Return the arguments as `Kernel.launch` takes them; raise ArgumentError for one that CuPy passes with another
        meaning."""
        if not self._converters:
            size = long_size(kernel.module.manifest)
            self._converters = tuple(converter_of(each, size, self._check) for each in kernel.parameters)
        if len(args) != len(self._converters):
            return args  # the launch says so
        try:
            return [convert(value) for convert, value in zip(self._converters, args, strict=True)]
        except (TypeError, ValueError) as error:
            raise self._refusal(kernel, args, error) from None

    def _refusal(self, kernel: Kernel, args: Sequence[Any], error: Exception) -> ArgumentError:
        """Return the error that says which argument a converter refuses."""
        for index, (convert, value) in enumerate(zip(self._converters, args, strict=True)):
            try:
                convert(value)
            except (TypeError, ValueError) as reason:
                return ArgumentError(wrong_argument_text(kernel.info, index, value, reason))
        return ArgumentError(f"{self.name}: {error}")

    @property
    def kernel(self) -> Kernel:
        """The kernel of cuda-wheel, loaded for the current GPU."""
        device = self._source.device()
        found = self._kernels.get(device)
        if found is None:
            found = self._kernels[device] = self._source.module()[self.name]
        return found

    @property
    def code(self) -> str | None:
        """The argument `code`; None for a kernel of a wheel, which has no sources."""
        return self._source.code

    @property
    def file_path(self) -> str | None:
        return self._source.path

    @property
    def options(self) -> tuple[str, ...]:
        return self._source.options

    def compile(self, log_stream: Any = None) -> None:
        """Load the kernel for the current GPU. A log of the driver's compiler is written to `log_stream`."""
        _write_log(self.kernel.module, log_stream)

    max_threads_per_block = _Attribute("The largest number of threads in a block.")
    shared_size_bytes = _Attribute("Static shared memory of a block, in bytes.")
    const_size_bytes = _Attribute("Constant memory of the module's variables, in bytes.")
    local_size_bytes = _Attribute("Local memory of a thread, in bytes.")
    num_regs = _Attribute("Registers of a thread.")
    ptx_version = _Attribute("Virtual architecture, 10 * major + minor.")
    binary_version = _Attribute("Compute capability of the machine code, 10 * major + minor.")
    cache_mode_ca = _Attribute("Whether the code was compiled with -Xptxas --dlcm=ca.")
    max_dynamic_shared_size_bytes = _Attribute(
        "Dynamic shared memory that a launch may ask for, in bytes. Can be set; a launch raises it where it must."
    )
    preferred_shared_memory_carveout = _Attribute("Share of the L1 cache as shared memory, in percent. Can be set.")

    @property
    def attributes(self) -> dict[str, int]:
        """All attributes on the current GPU, by name."""
        names = [name for name, value in vars(RawKernel).items() if isinstance(value, _Attribute)]
        return {name: getattr(self, name) for name in names}

    def __repr__(self) -> str:
        return f"<cuda_wheel.cupy.RawKernel {self.name}>"


def _write_log(module: Module, log_stream: Any) -> None:
    if log_stream is not None and module.jit is not None:
        log_stream.write(module.jit.log)


def _size(given: Any) -> Any:
    """Return the size of a grid or block for a launch. Source: CuPy, cupy/cuda/function.pyx: a size below 1 is 1."""
    if isinstance(given, (tuple, list)):
        return tuple([each if each > 0 else 1 for each in given]) or (1,)
    return given


def _current_stream(args: Sequence[Any]) -> Any:
    """Return CuPy's current stream for a launch that would find none by its arguments; None for all others.

    A launch finds the stream of a `cuda_wheel.launch_stream` block, and that of arrays.
    """
    cupy = sys.modules.get("cupy")
    find = _streams[tuple(map(type, args))] if cupy is not None else by_arrays
    if cupy is None or block_stream() is not None or (find is not None and find is not by_arrays):
        return None
    if find is by_arrays and any(map(is_on_gpu, flattened(tuple(args)))):
        return None
    return cupy.cuda.get_current_stream().ptr


def _reduced(kernel: Kernel, grid: Any, block: Any, shared_memory: int) -> Any:
    """Return a grid of which all blocks run at the same time: `grid`, or fewer blocks in x, with CuPy's warning.

    A grid of several dimensions is not changed; the driver refuses it.
    """
    blocks, *others = grid if isinstance(grid, tuple) else (grid,)
    most = kernel.occupancy(block, shared_memory).blocks * device_attribute(
        "MULTIPROCESSOR_COUNT", device_with_context()
    )
    if blocks <= most or prod(others) > 1:
        return grid
    warnings.warn(
        f"{kernel.name}: the grid is reduced from {blocks} to {most} blocks, because a cooperative launch can have no "
        "more on this GPU",
        stacklevel=3,
    )
    return (most,)
