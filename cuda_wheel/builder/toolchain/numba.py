"""Find Numba and numba-cuda in the environment of the build, and call their compiler. Runs in workers only.

numba-cuda compiles without a GPU and a driver, if it is told the compute capability. It asks the GPU for device
functions, and for kernels whose decorator has a signature; here it gets the target of the build instead. Environment
variables that change what it generates are removed, so that the same inputs give the same images.
"""

from __future__ import annotations

import ctypes
import os
import re
import warnings
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from cuda_wheel.builder.errors import ToolchainError
from cuda_wheel.builder.toolchain.toolchain import PythonCompiler, check_release
from cuda_wheel.runtime.manifest import Version

__all__ = ["FIRST_RELEASE", "compile_kernel", "find_numba", "import_numba", "numba_type", "set_target", "set_toolchain"]

FIRST_RELEASE: Version = (0, 22)
"""First release of numba-cuda whose compiler is called as here."""


def import_numba() -> Any:
    """Import numba-cuda and return the module `numba.cuda`. Raises ToolchainError if it is not installed, cannot be
    imported or is too old."""
    for name in [each for each in os.environ if each.startswith("NUMBA_")]:
        del os.environ[name]
    try:
        import numba_cuda
    except ModuleNotFoundError as error:
        if error.name != "numba_cuda":
            raise ToolchainError(f"numba-cuda cannot be imported: {error}") from error
        raise ToolchainError(
            "numba-cuda, which compiles the kernels of [[tool.cuda-wheel.numba]], is not installed in the environment "
            "of the build: add it to build-system.requires, with the release to build with, as in "
            '"numba-cuda==0.30.4".'
        ) from None
    release = str(numba_cuda.__version__)
    check_release("numba-cuda", release, FIRST_RELEASE)
    # A worker reads no .pth files; that of numba-cuda imports this module, which puts its numba.cuda in Numba's place.
    with suppress(ModuleNotFoundError):
        import _numba_cuda_redirector  # noqa: F401
    try:
        from numba import cuda
        from numba.cuda import compiler, dispatcher  # noqa: F401 (what the functions below use)
        from numba.cuda.descriptor import cuda_target

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            cuda_target.typing_context.refresh()  # imports what needs other packages, such as NumPy
            cuda_target.target_context.refresh()
    except Exception as error:
        raise ToolchainError(
            f"numba-cuda {release} cannot be imported: {type(error).__name__}: {error}. If a package is too new for "
            'it, add an older one to build-system.requires, such as "numpy<2.5".'
        ) from error
    if "numba_cuda" not in str(cuda.__file__):
        raise ToolchainError(
            f"numba.cuda is {Path(cuda.__file__).parent}, not the one of numba-cuda {release}: "
            "install numba-cuda beside Numba."
        )
    return cuda


def find_numba() -> PythonCompiler:
    """Return the numba-cuda of this environment; raises ToolchainError."""
    import_numba()
    import llvmlite
    import numba
    import numba_cuda
    import numpy

    versions = [f"{each.__name__} {each.__version__}" for each in (numba, llvmlite, numpy)]
    return PythonCompiler(numba_cuda.__version__, ", ".join(versions), ("numba-cuda", "numba", "llvmlite"))


def set_toolchain(library: str, libdevice: str) -> None:
    """Let numba-cuda call the libNVVM at this path, with this libdevice; it would look for one of its own."""
    from numba.cuda.cudadrv import nvvm

    if library not in _loaded:
        # cuda.pathfinder, by which cuda.bindings finds libraries, takes one that is loaded already.
        _loaded[library] = ctypes.CDLL(library)
    if libdevice not in _loaded:
        _loaded[libdevice] = Path(libdevice).read_bytes()
    nvvm.LibDevice._cache_ = _loaded[libdevice]


_loaded: dict[str, Any] = {}
"""Path -> library, or content of libdevice."""


def set_target(device: Any) -> None:
    """Let numba-cuda compile for `device.compute_capability` where it would ask the GPU, and compile nothing when a
    decorator with signatures runs. `device` takes the place of the current GPU."""
    from numba import cuda
    from numba.cuda import codegen, dispatcher
    from numba.cuda.cudadrv import nvrtc

    capability = device.compute_capability

    def compile_device(self: Any, args: Any, return_type: Any = None) -> Any:
        # Functions of installed packages stay from job to job, with what they were compiled to for another target.
        if self.__dict__.get("compute capability") != capability:
            self.overloads.clear()
            self.__dict__["compute capability"] = capability
        return _compile_device(self, args, return_type)

    kind: Any = dispatcher.CUDADispatcher
    _compile_device = kind.__dict__.get("compile_device of numba-cuda") or kind.compile_device
    setattr(kind, "compile_device of numba-cuda", _compile_device)
    kind.compile_device = compile_device
    kind.compile = lambda self, signature: None
    kind.disable_compile = lambda self, value=True: None
    kind.enable_caching = lambda self: None
    dispatcher.get_current_device = lambda: device
    nvrtc.get_arch_option = lambda major, minor, suffix="": f"compute_{major}{minor}{suffix}"  # would ask NVRTC
    cuda.get_current_device = lambda: device
    cuda.is_available = lambda: True
    library: Any = codegen.CUDACodeLibrary
    if not hasattr(library, "init of numba-cuda"):
        setattr(library, "init of numba-cuda", library.__init__)
        library.__init__ = _with_order


def _with_order(self: Any, *args: Any, **named: Any) -> None:
    """Take the place of `CUDACodeLibrary.__init__`: the functions that a kernel calls are compiled in the order in
    which it mentions them, not in that of a set."""
    getattr(type(self), "init of numba-cuda")(self, *args, **named)
    if isinstance(self.__dict__.get("_linking_libraries"), set):
        self._linking_libraries = _Ordered()


class _Ordered(dict[Any, None]):
    """A set with the order in which its elements were added, as far as numba-cuda uses one."""

    def add(self, each: Any) -> None:
        self[each] = None

    def update(self, others: Any) -> None:  # type: ignore[override]
        super().update(dict.fromkeys(others))


def numba_type(name: str, ndim: int | None, layout: str) -> Any:
    """Return Numba's type of an argument; see `runtime.parts.numba.signatures.Type`."""
    from numba.cuda import types

    scalar = getattr(types, name)
    return scalar if ndim is None else types.Array(scalar, ndim, layout)


def compile_kernel(
    function: Any, types: Sequence[Any], capability: Version, options: Mapping[str, Any]
) -> tuple[str, list[str]]:
    """Compile a Python function as a kernel; return its PTX, and warnings.

    `types` are Numba's; `options` are of `numba.cuda.compile`: "fastmath", "opt", "launch_bounds". Raises what
    numba-cuda raises.
    """
    from numba import cuda

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        text, _ = cuda.compile(
            function,
            tuple(types),
            debug=False,
            lineinfo=False,
            device=False,
            cc=capability,
            abi="numba",
            output="ptx",
            **options,
        )
    return plain_text(text), [str(each.message).splitlines()[0] for each in caught]


_IDENTITY = re.compile(r"B(\d+)v(\d+)(?=B)")
_SHARED = re.compile(r"_cudapy_([a-z]mem)(_\d+)?\b")
_ENVIRONMENT = re.compile(r"^\.common \.global \.align 8 \.u64 (_ZN08NumbaEnv\w+);\n", re.M)


def plain_text(text: str) -> str:
    """Return PTX of numba-cuda without what depends on the functions that a process compiled before.

    Names contain numbers that the process counts, for functions ("B2v1B" contains "v1") and for arrays in shared, local
    and constant memory. They are numbered here, in the order of the text. Variables for Numba's environments, which no
    kernel uses, are removed.
    """
    for match in [*_ENVIRONMENT.finditer(text)]:
        if text.count(match[1]) == 1:
            text = text.replace(match[0], "")
    numbers: dict[str, int] = {}

    def identity(match: re.Match[str]) -> str:
        own = f"v{numbers.setdefault(match[2], len(numbers) + 1)}"
        return f"B{len(own)}{own}"

    text = _IDENTITY.sub(identity, text)
    names: dict[str, str] = {}
    return _SHARED.sub(lambda match: names.setdefault(match[0], f"_cudapy_{match[1]}_{len(names) + 1}"), text)
