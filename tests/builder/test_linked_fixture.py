"""The fixture of linked sources and libraries of NVIDIA, compared with what NVIDIA's tools read."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cuda_wheel.builder.manifest_reader import manifest_of
from cuda_wheel.builder.toolchain.nvrtc import compile_text
from cuda_wheel.builder.toolchain.toolchain import Toolchain
from cuda_wheel.builder.workers.pool import Workers
from cuda_wheel.runtime.manifest import KernelInfo, Manifest
from cuda_wheel.runtime.parts.formats.cubin import read_cubin
from tests.support.linked_projects import (
    Build,
    cubins,
    table,
)
from tests.support.projects import FIXTURES
from tests.support.wheels import contents

# --- the fixture of linked sources ------------------------------------------------------------------------

WAYS = ["optimised", "separate", "whole"]


@pytest.fixture(scope="session")
def linked(fixture_wheel) -> dict[str, tuple[Manifest, bytes]]:
    """Return the manifests and fatbins of the fixture's modules, by the last part of their names."""
    files = contents(fixture_wheel("linked"))
    return {
        name: (
            manifest_of(files[f"linked_demo/kernels/{name}.fatbin.json"], name),
            files[f"linked_demo/kernels/{name}.fatbin"],
        )
        for name in WAYS
    }


def unnamed(manifest: Manifest) -> list[KernelInfo]:
    """Return a module's kernels without the names of their parameters."""
    return [
        kernel._replace(parameters=tuple(parameter._replace(name="") for parameter in kernel.parameters))
        for kernel in manifest.kernels
    ]


@pytest.mark.slow
def test_linked_sources_use_the_same_resources_as_one_source(linked) -> None:
    resources = {
        name: {str(image.target): image.resources for image in linked[name][0].images if image.kind == "cubin"}
        for name in WAYS
    }
    assert resources["optimised"] == resources["whole"]
    assert resources["whole"].keys() == {"sm_75", "sm_80", "sm_90", "sm_100", "sm_120"}
    # The whole module's one source includes the others, and the names of parameters are read from a module's sources only.
    assert unnamed(linked["separate"][0]) == unnamed(linked["whole"][0])
    assert linked["optimised"][0].globals == linked["separate"][0].globals == linked["whole"][0].globals


@pytest.mark.slow
def test_lto_inlines_calls_across_sources(linked, nvdisasm, tmp_path: Path) -> None:
    instructions: dict[str, dict[str, list[str]]] = {}
    for name in WAYS:
        for target, cubin in cubins(linked[name]).items():
            path = tmp_path / f"{name}-{target}.cubin"
            path.write_bytes(cubin)
            code = re.findall(r"^\s+/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\d+\s+)?([A-Z][\w.]+)", nvdisasm(path), re.MULTILINE)
            instructions.setdefault(target, {})[name] = code
    assert instructions
    for target, code in instructions.items():
        calls = {name: sum(each.startswith(("CALL", "JCAL")) for each in code[name]) for name in WAYS}
        assert calls["optimised"] == calls["whole"], target
        assert calls["separate"] > calls["whole"], target
        assert len(code["optimised"]) == len(code["whole"]), target


def test_initial_values_are_in_the_linked_image(linked, cuobjdump, tmp_path: Path) -> None:
    for name in WAYS:
        for cubin in cubins(linked[name]).values():
            path = tmp_path / "image.cubin"
            path.write_bytes(cubin)
            sections = re.split(r"^(?=\.(?:nv|section))", cuobjdump("-elf", path), flags=re.MULTILINE)
            constants = next(each for each in sections if re.match(r"\.nv\.constant3\n", each))
            assert sorted(re.findall(r"0x[0-9a-f]{8}", constants)) == ["0x3e000000", "0x3e800000", "0x3f000000"]
            variables = next(each for each in sections if re.match(r"\.nv\.global\.init\n", each))
            assert re.findall(r"0x[0-9a-f]{8}", variables) == ["0x000003e8", "0x00000000"]


@pytest.mark.slow
@pytest.mark.parametrize("release", ["12.2", "12.8"])
def test_linked_ptx_assembles_with_older_assemblers(
    release: str, linked, build: Build, ptxas, cuobjdump, tmp_path: Path
) -> None:
    names = ["force.cu", "nbody.cu", "nbody.cuh", "state.cu"]
    files = {f"demo/{name}": (FIXTURES / "linked/src/linked_demo/kernels" / name).read_text() for name in names}
    sources = [f"demo/{name}" for name in names if name.endswith(".cu")]
    built = build(
        table(sources=sources, link="lto"),
        table("demo.p", sources=sources, link="ptx"),
        files=files,
        architectures="80;90",
    )
    assert built.status == 0, built.output
    texts = {target: content for (_, kind, target), content in built.images().items() if kind == "ptx"}
    linked_ptx = {target: content for (_, kind, target), content in built.images("demo.p").items() if kind == "ptx"}
    assert linked_ptx.keys() == texts.keys() == {"compute_80", "compute_90"}
    for (_, kind, target), content in built.images("demo.p").items():
        assert kind == "cubin" or content == texts[target]  # PTX is always linked from LTO-IR
    for target, content in texts.items():
        path = tmp_path / "image.ptx"
        path.write_bytes(content)
        assert ptxas(release, path, target.removeprefix("compute_")) == ""
    versions = {str(image.target): image.ptx_version for image in built.modules["demo.m"].images if image.kind == "ptx"}
    assert versions == {"compute_80": (7, 0), "compute_90": (7, 8)}


# --- reading machine code -----------------------------------------------------------------------------------

KERNELS = """\
struct Odd { char c[3]; };
struct Big { double d[5]; };
struct Empty {};
__device__ __noinline__ float helper(float x) { float v[8]; for (int i = 0; i < 8; ++i) v[i] = x * i; return v[(int)x & 7]; }
__global__ void none() {}
extern "C" __global__ void mixed(char a, double b, short c, Odd d, float* e, Big f, bool g) { *e = helper(*e) + b + c; }
__global__ void __launch_bounds__(64) small(float* x, Empty e, int n) { x[threadIdx.x] = n; }
namespace { __global__ void hidden(int* x) { *x = 1; } }
"""


@pytest.mark.parametrize("arch", ["75", "80", "90a", "100", "120"])
def test_cubins_are_read_as_cuobjdump_reads_them(
    arch: str, workers: Workers, toolchain: Toolchain, cuobjdump, tmp_path: Path
) -> None:
    for text in (
        KERNELS,
        "#include <cuda_fp16.h>\n__global__ void h(__half2 a, const __grid_constant__ int b, __half* c) { *c = a.x; }",
    ):
        cubin = workers.submit(
            compile_text,
            {
                "library": toolchain.libraries[0],
                "folder": ".",
                "text": text.encode(),
                "name": "k.cu",
                "options": [f"-arch=sm_{arch}", *(f"-I{folder}" for folder in toolchain.include_dirs)],
                "expressions": [],
            },
        ).result()["cubin"]
        path = tmp_path / "k.cubin"
        path.write_bytes(cubin)
        usage = dict(re.findall(r"Function (\S+):\s+REG:(\d+)", cuobjdump("-res-usage", path)))
        listing = cuobjdump("-elf", path)
        found = read_cubin(cubin).kernels
        assert found
        assert {symbol: str(entry.registers) for symbol, entry in found.items()}.items() <= usage.items()
        kernels = set(re.findall(r"FUNC\s+\w+\s+\w+\s+ENTRY\s+\w+\s+(\S+)", listing))
        assert set(found) == kernels
        for symbol, entry in found.items():
            section = re.search(rf"^\.nv\.info\.{re.escape(symbol)}\n((?:\s.*\n)*)", listing, re.MULTILINE)
            listed = re.findall(
                r"Ordinal : 0x(\w+)\s+Offset  : 0x(\w+)\s+Size    : 0x(\w+)", section[1] if section else ""
            )
            expected = sorted((int(ordinal, 16), int(offset, 16), int(size, 16)) for ordinal, offset, size in listed)
            assert [(index, each.offset, each.size) for index, each in enumerate(entry.parameters)] == expected
            text_ = {
                symbol: tuple((each.offset, each.size) for each in its)
                for symbol, its in ptx_kernels(text, arch, workers, toolchain).items()
            }
            assert tuple((each.offset, each.size) for each in entry.parameters) == text_[symbol]


def ptx_kernels(text: str, arch: str, workers: Workers, toolchain: Toolchain):
    """Return the kernels and their parameters in the PTX of a source."""
    from cuda_wheel.runtime.parts.formats import ptx as ptx_module

    answer = workers.submit(
        compile_text,
        {
            "library": toolchain.libraries[0],
            "folder": ".",
            "text": text.encode(),
            "name": "k.cu",
            "options": [f"-arch=compute_{arch}", *(f"-I{folder}" for folder in toolchain.include_dirs)],
            "expressions": [],
        },
    ).result()
    return ptx_module.kernels(answer["ptx"].rstrip(b"\0").decode())
