"""Projects whose modules have several sources, and what their builds give."""

from __future__ import annotations

import re
import struct
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from cuda_wheel.builder.errors import ToolchainError
from cuda_wheel.builder.manifest_reader import manifest_of
from cuda_wheel.builder.toolchain.find import find_nvvm
from cuda_wheel.builder.toolchain.nvvm import DATA_LAYOUT, TRIPLE
from cuda_wheel.builder.toolchain.toolchain import Toolchain
from cuda_wheel.builder.workers.pool import Workers
from cuda_wheel.runtime.manifest import Image, Manifest
from tests.support.linker_inputs import archive, fatbin, object_file, relocatable, with_device_code

__all__ = [
    "LINKED",
    "MAIN",
    "PART",
    "PART_IR",
    "TABLE",
    "Build",
    "Built",
    "Command",
    "build",
    "cubins",
    "cut",
    "nvvm",
    "part",
    "table",
]

Command = Callable[..., subprocess.CompletedProcess[str]]
Build = Callable[..., "Built"]

MAIN = """\
extern "C" __device__ float part(float x);
__global__ void k(float* x) { *x = part(*x); }
"""
PART = """\
__device__ unsigned table[2] = {0xc0ffee00u, 0xdecafbadu};
extern "C" __device__ float part(float x) { return x * 3 + (float)table[threadIdx.x & 1]; }
"""
TABLE = struct.pack("<II", 0xC0FFEE00, 0xDECAFBAD)
"""Bytes that an image contains if PART is linked into it."""

PART_IR = f"""\
target datalayout = "{DATA_LAYOUT}"
target triple = "{TRIPLE}"
@table = addrspace(1) global [2 x i32] [i32 3237998080, i32 3737844653], align 4
define float @part(float %x) {{
  %at = getelementptr inbounds [2 x i32], [2 x i32] addrspace(1)* @table, i64 0, i64 1
  %word = load i32, i32 addrspace(1)* %at, align 4
  %number = uitofp i32 %word to float
  %root = call float @__nv_sqrtf(float %x)
  %sum = fadd float %root, %number
  ret float %sum
}}
declare float @__nv_sqrtf(float)
!nvvmir.version = !{{!0}}
!0 = !{{i32 2, i32 0}}
"""


class Built:
    """The result of a build: its exit status, its output, and the modules by name."""

    def __init__(self, result: subprocess.CompletedProcess[str], folder: Path) -> None:
        self.status, self.output, self.folder = result.returncode, result.stdout, folder
        self.modules: dict[str, Manifest] = {}
        self.fatbins: dict[str, bytes] = {}
        for path in sorted(folder.rglob("*.fatbin.json")):
            manifest = manifest_of(path.read_bytes(), str(path))
            self.modules[manifest.name] = manifest
            self.fatbins[manifest.name] = path.with_suffix("").read_bytes()

    def images(self, name: str = "demo.m") -> dict[tuple[str, str, str], bytes]:
        """Return a module's images by source ("" for loadable images), kind and target."""
        return {
            (image.source or "", image.kind, str(image.target)): cut(image, self.fatbins[name])
            for image in self.modules[name].images
        }

    def messages(self) -> dict[str, str]:
        """Return the error message of each module that did not link, by the module's name."""
        blocks = self.output.replace("\ncuda-wheel: demo.", "\n\ndemo.").split("\n\n")
        return {block.partition(" (")[0]: block for block in blocks if re.match(r"demo\.\w+ \(", block)}


def cut(image: Image, fatbin: bytes) -> bytes:
    assert image.offset is not None
    return fatbin[image.offset : image.offset + image.size]


def table(name: str = "demo.m", **settings: object) -> str:
    """Return a module's table in TOML."""
    lines = [f"{key.replace('_', '-')} = {_value(value)}" for key, value in {"name": name, **settings}.items()]
    return "\n".join(["[[tool.cuda-wheel.module]]", *lines, ""])


def _value(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key} = {_value(its)}" for key, its in value.items()) + "}"
    return f"[{', '.join(map(_value, value))}]" if isinstance(value, (list, tuple)) else f"'{value}'"


@pytest.fixture
def build(make_project, cuda_wheel: Command, tmp_path: Path) -> Build:
    """Return a function that builds the project `demo`, which has these module tables and files."""

    def build(
        *tables: str, files: Mapping[str, str | bytes], shared: str = "", architectures: str = "80-real"
    ) -> Built:
        head = f"[tool.cuda-wheel]\nsources = []\narchitectures = '{architectures}'\n{shared}\n"
        head = head.replace("sources = []\n", "")
        project = make_project(head + "\n".join(tables), **files)
        out = tmp_path / "out"
        return Built(cuda_wheel("build", project, "-o", out), out)

    return build


@pytest.fixture(scope="session")
def nvvm(workers: Workers, toolchain: Toolchain, extra: str) -> None:
    """Skip the test if libNVVM is not installed."""
    try:
        workers.submit(find_nvvm, toolchain).result()
    except ToolchainError as error:
        assert extra != "cu12", "cuda-wheel[cu12] brings libNVVM"
        pytest.skip(str(error))


@pytest.fixture
def part(workers: Workers, toolchain: Toolchain) -> Callable[..., bytes]:
    """Return a function that compiles PART or another source to a file, such as "ptx" or "fatbin of cubin"."""

    def make(ending: str, arch: str = "80", text: str = PART) -> bytes:
        name, _, within = ending.partition(" of ")
        inner = within or {"ptx": "ptx", "ltoir": "ltoir"}.get(name, "cubin")
        code = relocatable(workers, toolchain, text, inner, arch)  # type: ignore[arg-type]
        if name in ("ptx", "ltoir", "cubin"):
            return code
        packed = fatbin(workers, (inner, arch, code))  # type: ignore[arg-type]
        if name == "fatbin":
            return packed
        packed = with_device_code(packed)
        return archive(other=object_file({".text": b"\xc3"}), part=packed) if name in ("a", "lib") else packed

    return make


def cubins(module: tuple[Manifest, bytes]) -> dict[str, bytes]:
    manifest, fatbin = module
    found = {str(image.target): cut(image, fatbin) for image in manifest.images if image.kind == "cubin"}
    assert found
    return found


LINKED = {"demo/k.cu": MAIN, "demo/part.cu": PART}
