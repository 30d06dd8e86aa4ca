"""Odd modules of several sources: many sources, names that collide, single files, and static kernels."""

from __future__ import annotations

import os
import signal
import struct
from pathlib import Path

import pytest

from cuda_wheel.builder.errors import CompileError
from cuda_wheel.builder.jobs import LinkInput, LinkJob
from cuda_wheel.builder.link import link_job
from cuda_wheel.builder.workers.pool import Workers
from tests.support.linked_projects import (
    LINKED,
    MAIN,
    Build,
    table,
)
from tests.support.projects import FIXTURES


@pytest.mark.slow
@pytest.mark.parametrize("link", ["ptx", "lto"])
def test_a_hundred_sources_with_the_same_file_name_link(link: str, build: Build) -> None:
    count = 100
    files = {
        f"demo/ünï {number}/part.cu": f"static __device__ float own(float x) {{ return x + {number}; }}\n"
        f"__device__ float part{number}(float x) {{ return own(x) * {number}; }}\n"
        for number in range(count)
    }
    declared = "\n".join(f"__device__ float part{number}(float x);" for number in range(count))
    total = " + ".join(f"part{number}(*x)" for number in range(count))
    files["demo/k.cu"] = f"{declared}\n__global__ void k(float* x) {{ *x = {total}; }}\n"
    built = build(table(sources=list(files), link=link), files=files)
    assert built.status == 0, built.output
    assert len(built.modules["demo.m"].sources) == count + 1
    assert [kernel.name for kernel in built.modules["demo.m"].kernels] == ["k"]


@pytest.mark.slow
@pytest.mark.parametrize("link", ["ptx", "lto"])
def test_private_names_of_several_sources_do_not_collide(link: str, build: Build) -> None:
    text = """
    namespace {{ __device__ int state = {0}; __global__ void hidden(int* x) {{ *x = state; }} }}
    """
    files = {f"demo/{name}/k.cu": text.format(number) for name, number in (("a", 0xABCD01), ("b", 0xABCD02))}
    built = build(table(sources=list(files), link=link), files=files)
    assert built.status == 0, built.output
    kernels = built.modules["demo.m"].kernels
    assert len({kernel.symbol for kernel in kernels}) == len(kernels) == 2
    (content,) = built.images().values()
    assert struct.pack("<I", 0xABCD01) in content and struct.pack("<I", 0xABCD02) in content


def test_static_kernels_whose_symbols_collide_are_refused(build: Build) -> None:
    files = {f"demo/{name}.cu": f"static __global__ void k(int* x) {{ *x = {ord(name)}; }}\n" for name in "ab"}
    built = build(table(sources=list(files), link="ptx"), files=files)
    assert built.status == 1
    assert "error   : Multiple definition of 'k(int*)' in 'demo/b.cu', first defined in 'demo/a.cu'" in built.output
    assert "mentioned at demo/a.cu:1, demo/b.cu:1" in built.output


@pytest.mark.slow
@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"sources": ["demo/k.cu", "demo/k.cu"], "link": "ptx"}, "names demo/k.cu twice: leave one out."),
        ({"sources": ["demo/k.cu", "./demo/k.cu"], "link": "ptx"}, "names demo/k.cu twice: leave one out."),
        ({"sources": ["demo/k.cu", "demo/part.cu"]}, 'demo.m has 2 sources: set how to link them, link = "lto"'),
        ({"sources": ["demo/k.cu", "demo/none.cubin"], "link": "ptx"}, "there is no file demo/none.cubin"),
        ({"sources": ["demo/k.cu", "demo/k.txt"], "link": "ptx"}, "demo.m: demo/k.txt is not a source file"),
        ({"sources": ["demo/k.cu", "demo/K.CUBIN"], "link": "ptx"}, "demo.m: demo/K.CUBIN is not a source file"),
        ({"sources": ["demo/k.cu", "demo/sub"], "link": "ptx"}, "there is no file demo/sub"),
        ({"sources": ["demo/k.cu", "demo/part.cu"], "link": "LTO"}, "LTO"),
        (
            {"sources": ["demo/k.cu"], "extern-default": ["demo/part.cu"], "link": "ptx"},
            "demo.m has extern-default but no extern",
        ),
        (
            {"sources": ["demo/k.cu"], "extern": ["part"], "extern-default": ["demo/part.cu"]},
            "is linked with its extern",
        ),
        ({"sources": ["demo/p.ptx"], "relocatable": True}, "only CUDA C++ and NVVM IR can be compiled to LTO-IR"),
    ],
)
def test_an_invalid_table_is_reported(settings: dict, message: str, build: Build) -> None:
    files = {
        **LINKED,
        "demo/k.txt": "",
        "demo/K.CUBIN": "",
        "demo/sub/x": "",
        "demo/p.ptx": ".version 7.0\n.target sm_80\n",
    }
    built = build(table(**settings), files=files)
    assert built.status == 1
    assert message in built.output
    assert "Traceback" not in built.output


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["ptx", "cubin", "ltoir", "o of cubin"])
def test_a_single_file_can_be_a_module(ending: str, build: Build, part) -> None:
    name = "demo/part." + ending.partition(" ")[0]
    content = part(ending, text="__global__ void k(float* x, char c) { *x = c; }")
    bare = build(table(sources=[name]), files={name: content})
    if ending == "ptx":
        assert bare.status == 0, bare.output
        assert [kernel.name for kernel in bare.modules["demo.m"].kernels] == ["k"]
    else:
        assert bare.status == 1
        assert f"demo.m consists of {name}, which has to be linked: set link =" in bare.output
    built = build(table(sources=[name], link="ptx"), files={name: content})
    assert built.status == 0, built.output
    (kernel,) = built.modules["demo.m"].kernels
    assert [(each.offset, each.size) for each in kernel.parameters] == [(0, 8), (8, 1)]
    assert [each.cpp for each in kernel.parameters] == ["float*", "char"]


@pytest.mark.slow
def test_a_single_ptx_file_has_its_version_lowered_and_its_target_checked(
    build: Build, part, ptxas, tmp_path: Path
) -> None:
    content = part("ptx", "75", text="__global__ void k(float* x) { *x = 1; }")
    built = build(table(sources=["demo/k.ptx"]), files={"demo/k.ptx": content}, architectures="80")
    assert built.status == 0, built.output
    image = next(image for image in built.modules["demo.m"].images if image.kind == "ptx")
    assert (image.ptx_version, image.ptx_version_compiled > image.ptx_version) == ((7, 0), True)
    path = tmp_path / "k.ptx"
    path.write_bytes(built.images()["", "ptx", "compute_80"])
    assert ptxas("12.0", path, "80") == ""
    newer = build(table(sources=["demo/k.ptx"]), files={"demo/k.ptx": part("ptx", "90", "__global__ void k() {}")})
    assert newer.status == 1
    assert "demo/k.ptx: error: this PTX is for sm_90 and cannot become an image for 80" in newer.output


@pytest.mark.slow
@pytest.mark.parametrize(
    ("ending", "architectures", "help"),
    [
        *(
            (ending, "80;90-real", '["80-real", "90-real"]')
            for ending in ("ptx", "cubin", "fatbin of cubin", "o of cubin")
        ),
        ("ptx", "80-virtual;90-virtual", '["80-real", "90-real"]'),
    ],
)
def test_a_ptx_image_from_inputs_that_cannot_become_lto_ir_is_refused(
    ending: str, architectures: str, help: str, build: Build, part
) -> None:
    name = "demo/part." + ending.partition(" ")[0]
    built = build(
        table(sources=["demo/k.cu", name], link="lto"),
        files={"demo/k.cu": MAIN, name: part(ending)},
        architectures=architectures,
    )
    assert built.status == 1
    assert "demo.m cannot have PTX for compute_80" in built.output
    assert f"architectures = {help}" in built.output


@pytest.mark.slow
def test_a_ptx_image_with_an_extern_default_that_cannot_become_lto_ir_is_refused(build: Build, part) -> None:
    default = {"extern": ["transform"], "extern-default": ["demo/user.ptx"], "link": "ptx"}
    text = 'extern "C" __device__ float transform(float x)'
    files = {
        "demo/k.cu": f"{text};\n__global__ void k(float* x) {{ *x = transform(*x); }}",
        "demo/user.ptx": part("ptx", text=f"{text} {{ return x; }}"),
    }
    built = build(table(sources=["demo/k.cu"], **default), files=files, architectures="80")
    assert built.status == 1
    assert "demo.m cannot have PTX for compute_80" in built.output
    assert "demo/user.ptx cannot become LTO-IR" in built.output
    assert build(table(sources=["demo/k.cu"], **default), files=files, architectures="80-real").status == 0


def test_ir_without_a_kernel_is_reported_with_a_hint(build: Build) -> None:
    text = (FIXTURES / "nvvm_ir/src/nvvm_demo/kernels/multiply.ll").read_text().replace("!nvvm.annotations", "; ")
    built = build(table(sources=["demo/k.ll"]), files={"demo/k.ll": text})
    assert built.status == 1
    assert "has no kernel: it compiles to an empty image. In NVVM IR, !nvvm.annotations says which" in built.output
    assert "template" not in built.output


def test_a_worker_that_dies_is_reported_and_replaced(workers: Workers) -> None:
    text = b".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry k() { ret; }\n"
    job = LinkJob(
        module="demo.m",
        arch="80",
        real=True,
        lto=False,
        inputs=(LinkInput("demo/k.ptx", "ptx", text),),
        options=("--std=c++17",),
        lineinfo=False,
        ptx_version="auto",
        include_dirs=(),
    )
    with pytest.raises(CompileError, match=r"the compiler process died \(killed by SIGKILL\)"):
        workers.submit(kill, None).result()
    assert set(workers.submit(link_job, job).result().kernels) == {"k"}


def kill(_: None) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


STATIC = """\
static __device__ int counter = {n};
static __constant__ int limits[2] = {{{n}, 2}};
__device__ int shared_{n} = {n};
__global__ void use_{n}(int* x) {{ *x = counter++ + limits[*x] + shared_{n}; }}
"""


@pytest.mark.parametrize("link", ["ptx", "lto"])
def test_static_variables_of_one_name_are_not_in_the_manifest(build: Build, link: str) -> None:
    """A name would mean the first one only."""
    files = {f"demo/{n}.cu": STATIC.format(n=n) for n in (1, 2)}
    built = build(table(sources=list(files), link=link), files=files)
    assert built.status == 0, built.output
    manifest = built.modules["demo.m"]
    assert [each.name for each in manifest.globals] == ["shared_1", "shared_2"]
    assert [each.name for each in manifest.kernels] == ["use_1", "use_2"]
    assert "programs cannot use counter, limits by name" in built.output


@pytest.mark.parametrize("link", ["ptx", "lto"])
def test_static_kernels_of_one_name_are_an_error(build: Build, link: str) -> None:
    kernel = "static __global__ void st(int* x) { *x = 1; }\nvoid f() { st<<<1, 1>>>(nullptr); }\n"
    files = {"demo/a.cu": kernel, "demo/b.cu": kernel.replace("1;", "2;")}
    built = build(table(sources=list(files), link=link), files=files)
    assert built.status != 0
    assert "Multiple definition of 'st(int*)' in 'demo/b.cu', first defined in 'demo/a.cu'" in built.output


def test_a_static_variable_that_one_source_has_is_in_the_manifest(build: Build) -> None:
    files = {"demo/1.cu": STATIC.format(n=1), "demo/2.cu": "__global__ void other() {}\n"}
    built = build(table(sources=list(files), link="lto"), files=files)
    assert built.status == 0, built.output
    assert [each.name for each in built.modules["demo.m"].globals] == ["counter", "limits", "shared_1"]
