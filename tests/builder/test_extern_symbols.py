"""Functions and variables that the user of a module defines: relocatable images, and their errors."""

from __future__ import annotations

import struct
from hashlib import sha256
from pathlib import Path

import pytest

from cuda_wheel.builder.workers.pool import Workers
from cuda_wheel.runtime.parts.formats.cubin import read_cubin
from tests.support.linked_projects import (
    MAIN,
    PART,
    Build,
    cut,
    table,
)

DEFINED = ("own", "k")
"""The symbols that PLUGIN defines."""
PLUGIN = """\
struct Pair { float a, b; };
namespace user { __device__ float combine(const Pair& pair, int n); }
extern "C" __device__ float transform(float x);
extern __device__ float gain;
extern __constant__ int limits[];
__device__ float own(float x) { return x + 1; }
__global__ void k(float* x, int n)
{
    extern __shared__ float scratch[];
    if (n < 0) {
        printf("%d\\n", n);
        float* more = (float*)malloc(16);
        *more = 1;
        free(more);
    }
    assert(n != 7);
    scratch[threadIdx.x] = own(*x);
    *x = user::combine(Pair{*x, gain}, limits[n]) + transform(scratch[n]);
}
"""
USER = """\
struct Pair { float a, b; };
namespace user { __device__ float combine(const Pair& pair, int n) { return pair.a * n + pair.b; } }
extern "C" __device__ float transform(float x) { return x * 3; }
__device__ float gain = 0.5f;
__constant__ int limits[4] = {1, 2, 3, 4};
"""
EXTERN = ["user::combine", "transform", "gain", "limits"]


def relocatable_link(job: tuple[list[tuple[str, str, bytes]], str, list[str]]) -> bytes:
    """Return the cubin that nvJitLink links from these inputs."""
    from cuda_wheel.runtime.parts.cuda_libraries import link_code

    inputs, arch, options = job
    return link_code(inputs, [f"-arch=sm_{arch}", *options])[0]


@pytest.mark.slow
@pytest.mark.parametrize("compress", ["none", "size"])
@pytest.mark.parametrize("default", [False, True])
def test_a_module_with_extern_symbols_has_relocatable_images(
    default: bool, compress: str, build: Build, workers: Workers, part, ptxas, tmp_path: Path
) -> None:
    settings = {"sources": ["demo/k.cu", "demo/more.cu"], "extern": EXTERN}
    settings |= {"extern-default": ["demo/user.cu"], "link": "lto"} if default else {}
    built = build(
        table(**settings),
        files={
            "demo/k.cu": PLUGIN,
            **({"demo/user.cu": USER} if default else {}),
            "demo/more.cu": 'extern "C" __device__ float transform(float);\n__global__ void twice(float* x) { *x = transform(transform(*x)); }',
        },
        shared=f"compress = '{compress}'",
        architectures="80;90-real",
    )
    assert built.status == 0, built.output
    manifest = built.modules["demo.m"]
    images = built.images()
    expected = {
        (source, kind, f"compute_{arch}")
        for source in ("demo/k.cu", "demo/more.cu")
        for kind in ("ltoir", "ptx")
        for arch in ("80", "90")
    }
    expected |= {("", "cubin", "sm_80"), ("", "ptx", "compute_80"), ("", "cubin", "sm_90")} if default else set()
    assert set(images) == expected
    assert manifest.sources == ("demo/k.cu", "demo/more.cu", *(("demo/user.cu",) if default else ()))
    for image in manifest.images:
        assert sha256(cut(image, built.fatbins["demo.m"])).hexdigest() == image.sha256
        if image.kind == "ptx":
            assert image.ptx_version_compiled >= (8, 8) > image.ptx_version
    assert sorted(kernel.name for kernel in manifest.kernels) == ["k", "twice"]
    assert {external.name: external.symbol for external in manifest.extern} == {
        "gain": "gain", "limits": "limits", "transform": "transform", "user::combine": "_ZN4user7combineERK4Pairi",
    }  # fmt: skip
    declarations = {external.name: external.declaration for external in manifest.extern}
    assert declarations["user::combine"] == "user::combine(const Pair&, int)"
    assert ".global" in declarations["gain"] and ".const" in declarations["limits"]

    for kind, options in (("ltoir", ["-lto"]), ("ptx", [])):
        inputs = [
            (kind.upper(), source, images[source, kind, "compute_80"]) for source in ("demo/k.cu", "demo/more.cu")
        ]
        for piece in (kind, "ptx", "cubin"):
            code = (piece.upper(), "user", part(piece, text=USER))
            cubin = workers.submit(relocatable_link, ([*inputs, code], "80", options)).result()
            assert set(read_cubin(cubin).kernels) == {kernel.symbol for kernel in manifest.kernels}
            assert struct.pack("<4i", 1, 2, 3, 4) in cubin
    path = tmp_path / "image.ptx"
    path.write_bytes(images["demo/k.cu", "ptx", "compute_80"])
    assert ptxas("12.2", path, "80", "-c") == ""


def test_an_undefined_symbol_that_extern_does_not_name_is_refused(build: Build) -> None:
    built = build(table(sources=["demo/k.cu"], extern=["transform"]), files={"demo/k.cu": PLUGIN})
    assert built.status == 1
    assert "demo/k.cu uses symbols that none of its sources defines:" in built.output
    assert "  user::combine(const Pair&, int), mentioned at demo/k.cu:2, demo/k.cu:18" in built.output
    assert 'extern = ["user::combine", "gain", "limits"]' in built.output
    assert "vprintf" not in built.output and "scratch" not in built.output


def test_an_undefined_symbol_of_a_relocatable_module_is_reported_with_a_hint(build: Build) -> None:
    built = build(table(sources=["demo/k.cu"], relocatable=True), files={"demo/k.cu": PLUGIN})
    assert built.status == 1
    assert "or list it in extern, if the program that loads the module defines it" in built.output


@pytest.mark.slow
@pytest.mark.parametrize("name", ["transfrom", "own", "k", "printf", "scratch", "combine"])
def test_an_extern_that_no_source_declares_is_refused(name: str, build: Build) -> None:
    built = build(table(sources=["demo/k.cu"], extern=[*EXTERN, name]), files={"demo/k.cu": PLUGIN})
    assert built.status == 1
    assert (
        f'demo.m has extern = ["{name}"], but does not leave that symbol undefined: '
        + ("demo/k.cu defines it." if name in DEFINED else "the undefined symbols are user::combine, gain,")
    ) in built.output


def test_an_extern_that_a_source_defines_is_refused(build: Build) -> None:
    built = build(
        table(sources=["demo/k.cu", "demo/user.cu"], extern=["transform"]),
        files={"demo/k.cu": PLUGIN, "demo/user.cu": USER},
    )
    assert built.status == 1
    assert 'extern = ["transform"], but does not leave that symbol undefined: demo/user.cu defines it.' in built.output
    assert "name that in extern-default, not in sources" in built.output


def test_an_extern_default_that_lacks_a_symbol_is_reported(build: Build) -> None:
    built = build(
        table(sources=["demo/k.cu"], extern=EXTERN, **{"extern-default": ["demo/user.cu"], "link": "ptx"}),
        files={
            "demo/k.cu": PLUGIN,
            "demo/user.cu": USER.replace("combine", "combined"),
        },
    )
    assert built.status == 1
    assert "demo.m (demo/k.cu, demo/user.cu) does not link for sm_80" in built.output
    assert "user::combine(const Pair&, int)" in built.output


def test_a_module_without_kernels_can_be_linked_by_others(build: Build) -> None:
    built = build(table(sources=["demo/user.cu"], relocatable=True), files={"demo/user.cu": USER}, architectures="80")
    assert built.status == 0, built.output
    manifest = built.modules["demo.m"]
    assert manifest.kernels == () and manifest.extern == ()
    assert set(built.images()) == {("demo/user.cu", kind, "compute_80") for kind in ("ltoir", "ptx")}
    assert {each.name for each in manifest.globals} == {"gain", "limits"}


def test_a_relocatable_module_can_also_be_loaded(build: Build, workers: Workers) -> None:
    main = MAIN.replace('extern "C" __device__ float part(float x);', PART)
    built = build(
        table(sources=["demo/k.cu"], relocatable=True),
        table("demo.plain", sources=["demo/k.cu"]),
        files={"demo/k.cu": main},
        architectures="80",
    )
    assert built.status == 0, built.output
    loadable = {key: content for key, content in built.images().items() if not key[0]}
    assert loadable == built.images("demo.plain")
    assert "2 modules, 3 compile jobs" in built.output
