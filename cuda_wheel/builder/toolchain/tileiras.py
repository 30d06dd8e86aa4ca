"""Find and call tileiras, the assembler of Tile IR. Runs in worker processes only.

tileiras runs libNVVM and ptxas of its own release. Its machine code is for one compute capability: from 9.0 on it calls
ptxas for an "a" target, and it chooses the use of shared memory and registers for the GPU that it is told. The cubin
also contains a section of host code, which the driver runs when it loads the cubin and when arguments change: so a
cubin is for one operating system and processor, too (`HOSTS`). nvcc names both, in the same way.
"""

from __future__ import annotations

import os
import re
import subprocess
from glob import glob
from pathlib import Path

from cuda_wheel.builder.errors import CompileError, ToolchainError
from cuda_wheel.builder.scratch import new_folder
from cuda_wheel.builder.toolchain.find import library_build
from cuda_wheel.builder.toolchain.packages import search_roots
from cuda_wheel.builder.toolchain.process_group import lead_group
from cuda_wheel.builder.toolchain.toolchain import Tileiras, Toolchain

__all__ = ["HOSTS", "assemble_tile_ir", "find_tileiras"]

HOSTS = ("linux-x86_64", "linux-aarch64", "windows-x86_64")
"""Operating systems and processors of programs that load a wheel's modules, as `Image.host` has them: those for which
CUDA 13 has NVRTC and a driver."""

_NAMES = ("tileiras", "tileiras.exe")


def find_tileiras(toolchain: Toolchain) -> Tileiras:
    """Return the tileiras of this environment, if there are several NVRTC's. Raises ToolchainError if there is none."""
    program = next(iter(_programs(toolchain.libraries[0])), None)
    if program is None:
        raise ToolchainError(
            "tileiras, which makes the machine code of CUDA Tile kernels, is not installed in the environment of the "
            'build: add "nvidia-cuda-tileiras>=13.3" to build-system.requires. For kernels in C++ (__tile_global__), '
            f"NVRTC must be of 13.3 or later too, and not later than tileiras; {toolchain.name} is installed."
        )
    release = _release(program)
    above = Path(program).parents[1]
    beside = (*glob(f"{above}/bin/ptxas*"), *glob(f"{above}/lib*/libnvvm.so*"), *glob(f"{above}/nvvm/lib*/libnvvm.so*"))
    build = " ".join(map(library_build, [program, *sorted(beside)]))
    return Tileiras(release, program, build, _supported(program))


def _programs(nvrtc: str) -> list[str]:
    """Return the absolute paths of the installed tileiras; `nvrtc` is NVRTC's path, whose tileiras comes first."""
    found = []
    for root in search_roots(nvrtc):
        folders = glob(os.path.join(root.folder, "nvidia", "cu*", "bin")) if root.has_packages else [root.folder]
        for folder in folders:
            places = (folder, os.path.join(folder, "x86_64")) if root.has_packages else (os.path.join(folder, "bin"),)
            found += [path for place in places for name in _NAMES if os.path.isfile(path := os.path.join(place, name))]
    return found


def _run(program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run([program, *arguments], capture_output=True, text=True, errors="replace", check=False)
    except OSError as error:
        raise ToolchainError(f"{program} cannot be started: {error.strerror or error}") from error


def _release(program: str) -> str:
    text = _run(program, "--version").stdout
    match = re.search(r"\bV(\d+\.\d+\.\d+)", text)
    if match is None:
        raise ToolchainError(f"{program} does not say of which release it is: {text!r}")
    return match[1]


def _supported(program: str) -> tuple[int, ...]:
    return tuple(sorted({int(number) for number in re.findall(r"=sm_(\d+)\b", _run(program, "--help").stdout)}))


def assemble_tile_ir(program: str, tile_ir: bytes, number: int, host: str, opt_level: int = 3) -> bytes:
    """Return the cubin of Tile IR for a compute capability (90 is 9.0) and one of HOSTS. Raises CompileError with
    what tileiras prints."""
    lead_group()
    system, processor = host.split("-")
    with new_folder() as folder:
        source, cubin = Path(folder, "module.tileir"), Path(folder, "module.cubin")
        source.write_bytes(tile_ir)
        options = (
            f"--gpu-name=sm_{number}",
            f"--host-os={system}",
            f"--host-arch={processor}",
            f"--opt-level={opt_level}",
        )
        done = _run(program, *options, str(source), f"--output-file={cubin}")
        if done.returncode or not cubin.is_file():
            reason = (done.stderr or done.stdout).strip() or f"it ended with {done.returncode}"
            raise CompileError(reason.replace(str(folder) + os.sep, ""))
        return cubin.read_bytes()
