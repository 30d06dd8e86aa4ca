"""Find cuTile (`cuda.tile`) in the environment of the build, and call its compiler. Runs in workers only.

cuTile compiles a Python function to Tile IR without a GPU and a driver, if the call names the target; tileiras makes
the machine code.
"""

from __future__ import annotations

import io
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib import metadata
from pathlib import Path
from typing import Any

from cuda_wheel.builder.errors import ToolchainError
from cuda_wheel.builder.toolchain.find import library_build
from cuda_wheel.builder.toolchain.toolchain import PythonCompiler, check_release
from cuda_wheel.runtime.manifest import Version, dotted

__all__ = ["FIRST_CUTILE", "find_cutile", "import_cutile", "tile_ir_of"]

FIRST_CUTILE: Version = (1, 7)
"""First release of cuTile that is known to be called as `tile_ir_of` does."""


def import_cutile() -> Any:
    """Import cuTile and return it. Raises ToolchainError if it is not installed, cannot be imported or is too old."""
    for name in [each for each in os.environ if each.startswith(("CUDA_TILE_", "EXPERIMENTAL_CUDA_TILE_"))]:
        del os.environ[name]  # some change what it generates
    try:
        import cuda.tile
        import cuda.tile.compilation
    except ModuleNotFoundError as error:
        if error.name not in ("cuda", "cuda.tile"):
            raise ToolchainError(f"cuTile cannot be imported: {error}") from error
        raise ToolchainError(
            "cuTile, which compiles the kernels of [[tool.cuda-wheel.tile]], is not installed in the environment of "
            'the build: add it to build-system.requires, with the release to build with, as in "cuda-tile==1.7.0".'
        ) from None
    except Exception as error:
        raise ToolchainError(f"cuTile cannot be imported: {type(error).__name__}: {error}") from error
    check_release("cuTile", _release(), FIRST_CUTILE)
    return cuda.tile


def _release() -> str:
    with suppress(metadata.PackageNotFoundError):
        return metadata.version("cuda-tile")
    return ""


def find_cutile() -> PythonCompiler:
    """Return the cuTile of this environment; raises ToolchainError."""
    cutile = import_cutile()
    # It is Python but for one library; a release of the index has one content.
    libraries = sorted(map(str, Path(cutile.__file__).parent.glob("_cext*")))
    return PythonCompiler(_release(), " ".join(map(library_build, libraries)), ("cuda-tile",))


def tile_ir_of(
    kernel: Any, constraints: Sequence[Any], symbol: str, hints: Mapping[str, Any], number: int, tileiras: Version
) -> bytes:
    """Return the Tile IR of a kernel for a compute capability (90 is 9.0), which this release of tileiras reads.

    `constraints` are those of the parameters, `hints` are options of the compiler. Raises what cuTile raises.
    """
    compilation = import_cutile().compilation  # again: the module of the kernel may have set variables
    convention = compilation.CallingConvention.cutile_python_v1()
    signature = compilation.KernelSignature(list(constraints), convention, symbol=symbol)
    kernel = kernel.replace_hints(**hints) if hints else kernel
    for minor in range(tileiras[1], 0, -1):
        output = io.BytesIO()
        version = f"{tileiras[0]}.{minor}"
        try:
            compilation.export_kernel(
                kernel,
                [signature],
                output,
                gpu_code=f"sm_{number}",
                output_format="tileir_bytecode",
                bytecode_version=version,
            )
        except ValueError as error:
            if "Unsupported bytecode version" in str(error):
                continue
            raise
        return output.getvalue()
    raise ToolchainError(f"cuTile {_release()} writes no Tile IR that tileiras {dotted(tileiras)} reads.")
