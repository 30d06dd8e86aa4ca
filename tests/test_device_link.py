"""Modules of several sources: compiled each for itself, linked by nvJitLink, and read back by NVIDIA's own tools."""

from __future__ import annotations

import re
import struct
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from cuda_wheel.build.errors import ToolchainError
from cuda_wheel.build.nvvm import DATA_LAYOUT, TRIPLE
from cuda_wheel.build.toolchain import Toolchain, find_nvvm
from cuda_wheel.build.workers import Workers
from cuda_wheel.loader import Image, Manifest, dotted
from cuda_wheel.releases import RELEASES
from tests.conftest import run
from tests.linker_inputs import COMPLETE, archive, fatbin, object_file, relocatable, with_device_code

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
"""What an image holds in which PART is."""

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
    """What came of a build: its status and words, and the modules by name."""

    def __init__(self, result: subprocess.CompletedProcess[str], folder: Path) -> None:
        self.status, self.output, self.folder = result.returncode, result.stdout, folder
        self.modules: dict[str, Manifest] = {}
        self.fatbins: dict[str, bytes] = {}
        for path in sorted(folder.rglob("*.fatbin.json")):
            manifest = Manifest.from_json(path.read_bytes(), str(path))
            self.modules[manifest.name] = manifest
            self.fatbins[manifest.name] = path.with_suffix("").read_bytes()

    def images(self, name: str = "demo.m") -> dict[tuple[str, str, str], bytes]:
        """Return a module's images by source (empty for those that can be loaded), kind and target."""
        return {
            (image.source or "", image.kind, str(image.target)): cut(image, self.fatbins[name])
            for image in self.modules[name].images
        }


def cut(image: Image, fatbin: bytes) -> bytes:
    assert image.offset is not None
    return fatbin[image.offset : image.offset + image.size]


def table(name: str = "demo.m", **settings: object) -> str:
    """Return a module's table; what is no string is written as JSON, which TOML reads."""
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
    """Return a function that builds the project `demo` of module tables and files for one architecture, or several."""

    def build(*tables: str, files: Mapping[str, str | bytes], shared: str = "", architectures: str = "80-real") -> Built:
        head = f"[tool.cuda-wheel]\nsources = []\narchitectures = '{architectures}'\n{shared}\n"
        head = head.replace("sources = []\n", "")
        project = make_project(head + "\n".join(tables), **files)
        out = tmp_path / "out"
        return Built(cuda_wheel("build", project, "-o", out), out)

    return build


@pytest.fixture(scope="session")
def nvvm(workers: Workers, toolchain: Toolchain, extra: str) -> None:
    """Skip where there is no libNVVM."""
    try:
        workers.submit(find_nvvm, toolchain).result()
    except ToolchainError as error:
        assert extra != "cu12", "cuda-wheel[cu12] brings libNVVM"
        pytest.skip(str(error))


@pytest.fixture
def part(workers: Workers, toolchain: Toolchain) -> Callable[..., bytes]:
    """Return a function that gives PART, or another text, as a file of a certain ending for an architecture."""

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


# --- every kind of source -----------------------------------------------------------------------------

IN_BOTH = [
    "cubin", "ptx", "fatbin of cubin", "fatbin of ptx", "o of cubin", "o of ptx", "obj of cubin", "a of cubin",
    "a of ptx", "lib of cubin",
]  # fmt: skip
IN_LTO = ["ltoir", "fatbin of ltoir", "o of ltoir", "a of ltoir"]


@pytest.mark.parametrize(("link", "ending"), [*(("ptx", e) for e in IN_BOTH), *(("lto", e) for e in IN_BOTH + IN_LTO)])
def test_every_kind_that_nvjitlink_takes_is_linked(link: str, ending: str, build: Build, part, cuobjdump) -> None:
    name = "demo/part." + ending.partition(" ")[0]
    built = build(table(sources=["demo/k.cu", name], link=link), files={"demo/k.cu": MAIN, name: part(ending)})
    assert built.status == 0, built.output
    (manifest,) = built.modules.values()
    assert manifest.sources == ("demo/k.cu", name)
    assert [kernel.name for kernel in manifest.kernels] == ["k"]
    assert [(each.type, each.cpp) for each in manifest.kernels[0].parameters] == [("u64", "float*")]
    (content,) = built.images().values()
    assert TABLE in content
    assert "_Z1kPf" in cuobjdump("-elf", built.folder / "demo/m.fatbin")


@pytest.mark.parametrize("link", ["ptx", "lto"])
@pytest.mark.parametrize("ending", ["ll", "bc"])
def test_nvvm_ir_is_linked_with_libdevice(link: str, ending: str, build: Build, nvvm, cuobjdump) -> None:
    ir = PART_IR.encode() if ending == "ll" else (Path(__file__).parent / "nvvm/root.bc").read_bytes()
    main = MAIN if ending == "ll" else "__global__ void k(float* x) { *x = 1; }"
    built = build(
        table(sources=["demo/k.cu", f"demo/part.{ending}"], link=link),
        files={"demo/k.cu": main, f"demo/part.{ending}": ir},
        architectures="80",
    )
    assert built.status == 0, built.output
    images = built.images()
    assert set(images) == {("", "cubin", "sm_80"), ("", "ptx", "compute_80")}
    if ending == "ll":
        assert TABLE in images["", "cubin", "sm_80"]
        assert b"sqrt.rn" in images["", "ptx", "compute_80"]


@pytest.mark.parametrize("link", ["ptx", "lto"])
def test_kinds_may_be_mixed(link: str, build: Build, part, nvvm) -> None:
    """Five functions of as many kinds of file, called in a chain."""
    names = ["cubin", "ptx", "fatbin", "o", "a", *(["ltoir"] if link == "lto" else [])]
    calls = "".join(f'extern "C" __device__ float f{index}(float x);\n' for index in range(len(names)))
    main = calls + "__global__ void k(float* x) { *x = " + "".join(f"f{i}(" for i in range(len(names))) + "part(*x)"
    files: dict[str, str | bytes] = {
        "demo/k.cu": 'extern "C" __device__ float part(float x);\n' + main + ")" * len(names) + "; }",
        "demo/part.ll": PART_IR,
    }
    for index, ending in enumerate(names):
        text = f'__device__ unsigned t{index} = {0xABCDE000 + index}u;\nextern "C" __device__ float f{index}(float x) {{ return x + t{index}; }}'
        files[f"demo/part.{ending}"] = part(ending, text=text)
    built = build(table(sources=list(files), link=link), files=files)
    assert built.status == 0, built.output
    (content,) = built.images().values()
    assert TABLE in content
    for index in range(len(names)):
        assert struct.pack("<I", 0xABCDE000 + index) in content


@pytest.mark.parametrize("ending", ["ptx", "cubin", "fatbin of cubin", "o of cubin", "a of cubin", "ltoir"])
@pytest.mark.parametrize("link", ["ptx", "lto"])
def test_another_architecture_is_told(link: str, ending: str, build: Build, part) -> None:
    name = "demo/part." + ending.partition(" ")[0]
    built = build(table(sources=["demo/k.cu", name], link=link), files={"demo/k.cu": MAIN, name: part(ending, "90")})
    print(built.output)
    assert built.status == 1
    assert "Traceback" not in built.output
    assert name in built.output
    assert not built.folder.exists()


# --- what does not fit together -------------------------------------------------------------------------


@pytest.mark.parametrize("link", ["ptx", "lto"])
def test_what_nobody_defines_is_told_as_it_was_written_and_where(link: str, build: Build) -> None:
    main = (
        "namespace geo { struct Box { float w; }; __device__ float area(const Box& box, int* n); }\n"
        "extern __constant__ float scale;\n"
        "__global__ void k(float* x, int* n)\n{\n    *x = scale * geo::area(geo::Box{*x}, n);\n}\n"
    )
    built = build(
        table(sources=["demo/k.cu", "demo/other.cu"], link=link),
        table("demo.good", sources=["demo/good.cu"]),
        files={
            "demo/k.cu": main,
            "demo/other.cu": "__device__ float other(float x) { return x; }\n",
            "demo/good.cu": "__global__ void good() {}",
        },
        architectures="80;90",
    )
    print(built.output)
    assert built.status == 1
    assert "Traceback" not in built.output
    assert "demo.m (demo/k.cu, demo/other.cu) does not link for sm_80 with nvJitLink" in built.output
    assert "geo::area(const geo::Box&, int*)" in built.output
    assert "geo::area(const geo::Box&, int*), mentioned at demo/k.cu:1, demo/k.cu:5" in built.output
    assert "_ZN3geo" not in built.output
    assert built.output.count("does not link") == 1
    assert not built.folder.exists()


@pytest.mark.parametrize("link", ["ptx", "lto"])
@pytest.mark.parametrize("ending", ["cu", "ptx", "cubin", "o of cubin", "a of cubin", "ltoir"])
def test_what_is_defined_twice_is_told(link: str, ending: str, build: Build, part) -> None:
    text = "__device__ int part(float x, int n) { return x * n; }\n"
    name = "demo/b." + ending.partition(" ")[0]
    files: dict[str, str | bytes] = {
        "demo/a.cu": text + "__global__ void k(int* n) { *n = part(2, *n); }\n",
        name: text if ending == "cu" else part(ending, text=text),
    }
    built = build(table(sources=list(files), link=link), files=files, architectures="80-real;90-real" if ending == "cu" else "80-real")
    print(built.output)
    assert built.status == 1
    assert "Traceback" not in built.output
    assert not built.folder.exists()
