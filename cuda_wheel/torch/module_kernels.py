"""The kernels of a module, as the Python function of an operator launches them."""

from collections.abc import Mapping
from functools import cached_property, partial
from typing import Any

from cuda_wheel.operators.declarations import has_blocks
from cuda_wheel.operators.kernels import read_manifest
from cuda_wheel.runtime.arrays import long_size
from cuda_wheel.runtime.driver import current_device, device_count
from cuda_wheel.runtime.errors import ArgumentError, CudaWheelError, UnknownKernelError, UnknownVariantError
from cuda_wheel.runtime.loading import load
from cuda_wheel.runtime.manifest import KernelInfo, Manifest, python_language
from cuda_wheel.runtime.module import ByName, Kernel, Module
from cuda_wheel.runtime.parts.bind import launch_on_streams_of
from cuda_wheel.runtime.parts.instance_names import canonical
from cuda_wheel.runtime.parts.python_kernels.modules import PythonModule
from cuda_wheel.runtime.streams import CurrentStreams
from cuda_wheel.torch.launch_checks import Call, KernelCheck, checks_running, current_call, is_symbol

__all__ = ["KernelLaunch", "ModuleKernels", "instance_name", "kernels"]


def kernels(module: str, **variant: Any) -> "ModuleKernels":
    """Return the kernels of a module, for functions that launch them on PyTorch's current stream.

    Nothing is read or loaded until a kernel is asked for. `variant` are the macros of a variant, as for
    `cuda_wheel.load`.

        knn = cuda_wheel.torch.kernels("demo.kernels.knn")
        knn["search<float, 3>"].launch(grid, block, points, found, n)
        knn["search", points.dtype, dimensions].launch(grid, block, points, found, n)
    """
    return ModuleKernels(module, variant)


class ModuleKernels:
    """The kernels of a module by name, or by name and template arguments.

    A template argument is an element type of PyTorch, a whole number, True, False, a string of C++, or a tuple of
    another template's name and arguments, such as ("Sum", torch.float16). When an operator is called with fake tensors,
    as while PyTorch compiles, launches only check their arguments. A template argument may then be an unknown size.
    """

    def __init__(self, module: str, variant: Mapping[str, Any]) -> None:
        self.module = module
        """Dotted name of the module that has the kernels, such as "demo.kernels.knn"."""
        self._macros = dict(variant)
        self._variants: dict[tuple[Any, ...], ModuleKernels] = {}
        self._launches: dict[int, dict[Any, KernelLaunch]] = {}
        self._of_only_gpu: dict[Any, KernelLaunch] | None = None
        """Name of a kernel -> the kernel, loaded for GPU 0 (`_launches[0]`). None unless it is known that this machine
        has only one GPU."""
        self._modules: dict[int, Module] = {}
        """Index of a GPU -> the module, loaded for that GPU."""
        self._checks: dict[str, KernelCheck] = {}
        self._found: Manifest | None = None

    def variant(self, **macros: Any) -> "ModuleKernels":
        """Return the kernels of the module's variant with these macros."""
        key = tuple(sorted(macros.items()))
        if key not in self._variants:
            self._variants[key] = ModuleKernels(self.module, macros)
        return self._variants[key]

    def __getitem__(self, name: Any) -> "KernelLaunch | CheckedLaunch | CheckedPythonLaunch":
        """Return a kernel by its C++ name, or by its name and template arguments.

        Raises UnknownKernelError if the module has no kernel of this name and cannot compile one, ArgumentError for a
        key that is no name, and what `load` raises.
        """
        if not checks_running and self._of_only_gpu is not None:
            try:  # takes less time than suppress
                return self._of_only_gpu[name]
            except (KeyError, TypeError):
                pass
        call = current_call()
        if call is None:
            return self.launch_of(name)
        return CheckedLaunch(self, name, call) if self._python is None else CheckedPythonLaunch(self, name, call)

    def launch_of(self, name: Any) -> "KernelLaunch":
        """Return the kernel of this name, loaded for the current GPU."""
        loaded = self._of_only_gpu
        if loaded is None:
            loaded = self._of_current_gpu()
        try:
            return loaded[name]
        except (KeyError, TypeError):
            return self._load(loaded, name)

    def _of_current_gpu(self) -> "dict[Any, KernelLaunch]":
        device = current_device() or 0
        loaded = self._launches.setdefault(device, {})
        if device_count() == 1:
            self._of_only_gpu = loaded
        return loaded

    def _load(self, loaded: "dict[Any, KernelLaunch]", name: Any) -> "KernelLaunch":
        kernel: Any = self._on_current_gpu()[instance_name(name)]
        launch: Any = KernelLaunch(kernel) if isinstance(kernel, Kernel) else kernel
        loaded[name] = launch
        return launch  # type: ignore[no-any-return]

    @cached_property
    def _python(self) -> "PythonModule[Any] | None":
        """The module if it has kernels in Python; None if it has others, or if its manifest cannot be read."""
        try:
            self._found = read_manifest(self.module, self._macros)
        except UnknownVariantError as unknown:
            if not self._macros and python_language(unknown.variants):  # type: ignore[arg-type]
                module: Any = load(self.module)
                return module  # type: ignore[no-any-return]
        except CudaWheelError:  # `check_of` meets it too, and says which operator is concerned
            pass
        return None

    def python_kernel(self, name: str) -> Any:
        """Return a kernel in Python, to check its launches."""
        assert self._python is not None
        return self._python[name]

    @property
    def globals(self) -> Mapping[str, Any]:
        """The module's `__device__` and `__constant__` variables by name, loaded for the current GPU; see
        `Module.globals`."""
        return self._on_current_gpu().globals

    def _on_current_gpu(self) -> Module:
        """Return the module, loaded for the current GPU. The first call for a GPU loads it."""
        device = current_device() or 0
        module = self._modules.get(device)
        if module is None or not module.is_loaded:
            module = self._modules[device] = load(self.module, device=device, **self._macros)
        return module

    @property
    def _manifest(self) -> Manifest:
        if self._found is None:
            self._found = read_manifest(self.module, self._macros)
        return self._found

    def check_of(self, name: Any) -> KernelCheck | None:
        """Return the check of a kernel's launches, from the manifest; None for an instance that is compiled when it is
        launched.

        If PyTorch does not know some of the template arguments while it compiles, it is the check of the first instance
        that has the other ones. Raises UnknownKernelError if the module has no such kernel.
        """
        is_known = not isinstance(name, tuple) or not any(map(is_symbol, name))
        text = instance_name(name) if is_known else repr(name)
        if text not in self._checks:
            info = self._info(text) if is_known else self._like(name)
            if info is None:
                return None
            self._checks[text] = KernelCheck(info, long_size(self._manifest))
        return self._checks[text]

    def _info(self, name: str) -> KernelInfo | None:
        named = ByName(self.module, "kernel", self._manifest.kernels, lambda info: info, UnknownKernelError)
        try:
            found: KernelInfo = named[name]
        except UnknownKernelError:
            if self._manifest.specialize is None:
                raise
            return None
        return found

    def _like(self, name: tuple[Any, ...]) -> KernelInfo | None:
        """Return the manifest entry of the first instance of a template. `name` has the template's name and then its
        first template arguments.

        An argument that PyTorch does not know while it compiles matches any. Types of the same layout, such as `__half`
        and `c10::Half`, count as equal. If no instance matches: return None if the module can compile one, else raise
        UnknownKernelError.
        """
        from cuda_wheel.runtime.parts.by_value import template_of  # only for sizes that are not known

        wanted = [None if is_symbol(each) else canonical(_argument(each), same_layout=True) for each in name[1:]]
        template = canonical(name[0], same_layout=True)
        for info in self._manifest.kernels:
            found, given = template_of(canonical(info.name, same_layout=True))
            pairs = zip(wanted, given, strict=False)
            fits = len(given) >= len(wanted) and all(each in (None, other) for each, other in pairs)
            if fits and (found == template or found.endswith(f"::{template}")):
                return info
        if self._manifest.specialize is not None:
            return None
        shown = ", ".join("any" if each is None else each for each in wanted)
        raise UnknownKernelError(f"{self.module} has no kernel {name[0]}<{shown}>")


class KernelLaunch:
    """A kernel that is loaded for a GPU, and launched on PyTorch's current stream there."""

    __slots__ = ("kernel", "launch")

    def __init__(self, kernel: Kernel) -> None:
        import torch

        self.kernel = kernel
        """The loaded kernel, for its attributes and handle."""
        current_stream = CurrentStreams()[(torch.Tensor,)]
        assert current_stream is not None, "PyTorch has current streams"
        self.launch = launch_on_streams_of(kernel, current_stream, partial(has_blocks, kernel.name))
        """Function that launches the kernel: `launch(grid, block, *arguments, **settings)`. The settings are those of
        `Kernel.launch`, such as `shared_memory`, but not the stream. With a 0 in the grid, nothing is launched, and
        the arguments are checked."""


class CheckedLaunch:
    """A kernel that the Python function of an operator launches while the operator's call is checked: each launch is
    checked first."""

    def __init__(self, owner: ModuleKernels, name: Any, call: Call) -> None:
        self._owner = owner
        self._name = name
        self._call = call
        try:
            self._check = owner.check_of(name)
        except CudaWheelError as error:
            if isinstance(error, ArgumentError):
                raise
            raise type(error)(f"{call.operator}: {error}") from None

    @property
    def kernel(self) -> Kernel:
        """The loaded kernel."""
        return self._owner.launch_of(self._name).kernel

    def launch(self, grid: Any, block: Any, *args: Any, **settings: Any) -> None:
        has_work = self._check is None or self._call.check_launch(self._check, grid, block, args)
        if self._call.launches and has_work:
            self._owner.launch_of(self._name).launch(grid, block, *args, **settings)


class CheckedPythonLaunch:
    """A kernel in Python that the Python function of an operator launches while the operator's call is checked."""

    def __init__(self, owner: ModuleKernels, name: str, call: Call) -> None:
        self._owner = owner
        self._name = name
        self._call = call

    def launch(self, grid: Any, *args: Any, **named: Any) -> None:
        """Check a launch, and launch unless the call is with fake tensors."""
        call, kernel = self._call, self._owner.python_kernel(self._name)
        try:
            kernel.check(args, named, is_symbol)
        except ArgumentError as error:
            raise ArgumentError(f"{call.operator}: {error}") from None
        for value in (*args, *named.values()):
            if hasattr(value, "untyped_storage"):
                call.check_device(value, kernel.name)
                call.check_written(value, f"{kernel.name} may write to an argument")
        if call.launches:
            launch: Any = self._owner.launch_of(self._name)
            launch.launch(grid, *args, **named)


_CPP_TYPES = {
    "float16": "__half", "bfloat16": "__nv_bfloat16", "float32": "float", "float64": "double", "bool": "bool",
    "uint8": "unsigned char", "int8": "signed char", "int16": "short", "uint16": "unsigned short", "int32": "int",
    "uint32": "unsigned int", "int64": "long", "uint64": "unsigned long", "complex32": "c10::complex<__half>",
    "complex64": "c10::complex<float>", "complex128": "c10::complex<double>", "float8_e4m3fn": "__nv_fp8_e4m3",
    "float8_e5m2": "__nv_fp8_e5m2", "float8_e8m0fnu": "__nv_fp8_e8m0", "float8_e4m3fnuz": "c10::Float8_e4m3fnuz",
    "float8_e5m2fnuz": "c10::Float8_e5m2fnuz",
}  # fmt: skip
"""Element type of PyTorch -> C++ type, for names of kernels: "float16" -> "__half". A kernel is also found if its name
has another type of the same layout, such as c10::Half."""


def instance_name(name: Any) -> str:
    """Return the C++ name of an instance: "search<float, 3>" for ("search", torch.float32, 3).

    Raises ArgumentError for what is no template argument.
    """
    if isinstance(name, str):
        return name
    if not isinstance(name, tuple) or not name or not isinstance(name[0], str):
        raise ArgumentError(f"a kernel is named by a string, or by a string and template arguments, not by {name!r}")
    return f"{name[0]}<{', '.join(map(_argument, name[1:]))}>" if len(name) > 1 else name[0]


def _argument(value: Any) -> str:
    """Return a template argument in C++: torch.float32 -> "float", True -> "true", 3 -> "3", ("Sum", torch.float16) ->
    "Sum<__half>". A string is C++ already.

    Raise ArgumentError for a value that cannot be a template argument.
    """
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return instance_name(value)
    if isinstance(value, str):
        return value
    found = _CPP_TYPES.get(str(value).removeprefix("torch."))
    if found is not None:
        return found
    if hasattr(value, "__index__"):
        return str(value.__index__())
    raise ArgumentError(f"{value!r} is no template argument: those are element types, whole numbers, True, False, C++")
