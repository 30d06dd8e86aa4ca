"""Find Triton in the environment of the build, and call its compiler. Runs in workers only.

Triton compiles without a GPU, a driver and PyTorch, if the call names the target. Environment variables that change
what it generates are removed, so that the same inputs give the same images.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from cuda_wheel.builder.errors import ToolchainError
from cuda_wheel.builder.scratch import new_folder
from cuda_wheel.builder.toolchain.find import library_build
from cuda_wheel.builder.toolchain.process_group import lead_group
from cuda_wheel.builder.toolchain.toolchain import PythonCompiler, check_release
from cuda_wheel.runtime.manifest import Version

__all__ = ["FIRST_RELEASE", "CompiledKernel", "compile_kernel", "find_triton", "import_triton"]

FIRST_RELEASE: Version = (3, 4)
"""First release of Triton whose compiler is called as `compile_kernel` does."""

_KEPT = re.compile(r"TRITON_(?:HOME|LIBCUDA_PATH)")
"""Matches environment variables of Triton that do not change what it generates."""

_FURTHER = (
    "DISABLE_LLVM_OPT",
    "DISABLE_PTXAS_OPT",
    "LLVM_EXTRACT_DI_LOCAL_VARIABLES",
    "MLIR_ENABLE_DUMP",
    "PTXAS_OPTIONS",
)
"""Environment variables without the prefix "TRITON_" that change what Triton generates or prints."""


def import_triton() -> Any:
    """Import Triton and return it. Raises ToolchainError if it is not installed, cannot be imported or is too old."""
    for name in [each for each in os.environ if each.startswith("TRITON_") or each in _FURTHER]:
        if not _KEPT.fullmatch(name):
            del os.environ[name]
    lead_group()  # Triton starts assemblers
    # Line information contains absolute paths.
    os.environ |= {"TRITON_ALWAYS_COMPILE": "1", "TRITON_DISABLE_LINE_INFO": "1"}
    os.environ["TRITON_DEFAULT_FP_FUSION"] = "1"  # the default, of which Triton 3.9 warns
    try:
        import triton
        import triton.compiler
    except ModuleNotFoundError as error:
        if error.name != "triton":
            raise ToolchainError(f"Triton cannot be imported: {error}") from error
        raise ToolchainError(
            "Triton, which compiles the kernels of [[tool.cuda-wheel.triton]], is not installed in the environment of "
            'the build: add it to build-system.requires, with the release to build with, as in "triton==3.6.0".'
        ) from None
    except Exception as error:
        raise ToolchainError(f"Triton cannot be imported: {type(error).__name__}: {error}") from error
    check_release("Triton", str(getattr(triton, "__version__", "")), FIRST_RELEASE)
    return triton


def find_triton() -> PythonCompiler:
    """Return the Triton of this environment; raises ToolchainError."""
    triton = import_triton()
    library = triton._C.libtriton.__file__
    assemblers = sorted(Path(triton.__file__).parent.glob("backends/nvidia/bin/ptxas*"))
    build = " ".join(map(library_build, [library, *map(str, assemblers)]))
    return PythonCompiler(triton.__version__, build, ("triton",))


class CompiledKernel(NamedTuple):
    """What Triton's compiler returns for one kernel."""

    ptx: str
    cubin: bytes
    figures: Mapping[str, Any]
    """Triton's metadata: name of the kernel, number of warps, bytes of shared memory and so on."""
    assembler: Version
    """CUDA release of the ptxas that made the cubin."""


def compile_kernel(
    function: Any,
    signature: Mapping[str, str],
    constants: Mapping[int, Any],
    attributes: Mapping[tuple[int], Any],
    capability: int,
    options: Mapping[str, Any],
) -> CompiledKernel:
    """Compile a kernel for one compute capability, a number such as 90.

    `function` is the `JITFunction`; `signature` has the type of each parameter, "constexpr" for those in `constants`,
    by their number; `attributes` has Triton's attributes by number. Raises what Triton raises.
    """
    triton = import_triton()  # again: the module of the kernel may have set Triton's variables
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    source = ASTSource(function, dict(signature), {(at,): value for at, value in constants.items()}, dict(attributes))
    with new_folder() as folder, _printed(Path(folder, "printed")):
        os.environ["TRITON_CACHE_DIR"] = str(folder)
        try:
            compiled = triton.compile(source, target=GPUTarget("cuda", capability, 32), options=dict(options))
        finally:
            del os.environ["TRITON_CACHE_DIR"]
        code, text = compiled.asm["cubin"], compiled.asm["ptx"]
    return CompiledKernel(text, code, compiled.metadata._asdict(), _assembler_release(capability))


@contextmanager
def _printed(file: Path) -> Iterator[None]:
    """Inside the `with` block, write standard error to `file`; an exception gets its text as a note.

    MLIR, which Triton is built on, prints there why it cannot compile a kernel.
    """
    with file.open("w+b") as stream:
        own = os.dup(2)
        os.dup2(stream.fileno(), 2)
        try:
            yield
        except Exception as error:
            stream.seek(0)
            lines = stream.read().decode(errors="backslashreplace").splitlines()
            errors = [line for line in lines if "error:" in line] or lines[:8]
            error.__notes__ = [*getattr(error, "__notes__", ()), *errors[:8]]  # `add_note` is of Python 3.11
            raise
        finally:
            os.dup2(own, 2)
            os.close(own)


_releases: dict[str, Version] = {}
"""Path of a ptxas -> its release."""


def _assembler_release(capability: int) -> Version:
    """Return the CUDA release of the ptxas that Triton calls for a compute capability."""
    from triton.backends.nvidia import compiler

    takes_capability = compiler.get_ptxas.__code__.co_argcount > 0
    path = (compiler.get_ptxas(capability) if takes_capability else compiler.get_ptxas()).path
    if path not in _releases:
        text = subprocess.run([path, "--version"], capture_output=True, text=True, check=True).stdout
        match = re.search(r"release (\d+)\.(\d+)", text)
        if match is None:
            raise ToolchainError(f"{path} does not say of which release it is: {text!r}")
        _releases[path] = int(match[1]), int(match[2])
    return _releases[path]
