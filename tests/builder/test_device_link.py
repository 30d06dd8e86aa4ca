"""Modules with several sources: compiled separately and linked by nvJitLink, their settings and errors."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from cuda_wheel.builder.errors import CompileError
from cuda_wheel.builder.jobs import LinkInput, LinkJob
from cuda_wheel.builder.link import link_job
from cuda_wheel.builder.toolchain.toolchain import Toolchain
from cuda_wheel.builder.workers.pool import Workers
from cuda_wheel.runtime.parts.formats.cubin import read_cubin
from tests.support.linked_projects import (
    LINKED,
    MAIN,
    PART,
    Build,
    Built,
    Command,
    table,
)
from tests.support.projects import write_files

PARENT = """
__global__ void child(float* x, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) x[i] *= 2; }
extern "C" __global__ void parent(float* x, int n) { if (threadIdx.x == 0) child<<<(n + 127) / 128, 128>>>(x, n); }
"""


@pytest.mark.parametrize("link", ["ptx", "lto"])
def test_a_kernel_that_launches_a_kernel_is_linked_with_the_device_runtime(build: Build, link: str) -> None:
    built = build(table(sources=["demo/p.cu"], link=link), files={"demo/p.cu": PARENT}, architectures="80-real")
    assert built.status == 0, built.output
    manifest = built.modules["demo.m"]
    assert [(info.name, [each.cpp for each in info.parameters]) for info in manifest.kernels] == [
        ("child", ["float*", "int"]),
        ("parent", ["float*", "int"]),
    ]
    (image,) = built.images().values()
    cubin = read_cubin(image)
    assert "__cudaCDP2LaunchDeviceV2" in cubin.symbols.defined
    # Nothing is left to whoever loads the image but what the driver and the assembler define.
    assert not {name for name in cubin.symbols.undefined if "CDP" in name}
    assert set(manifest.images[0].resources) == {"_Z5childPfi", "parent"}


def test_ptx_cannot_launch_kernels_and_says_so(build: Build) -> None:
    built = build(table(sources=["demo/p.cu"], link="lto"), files={"demo/p.cu": PARENT}, architectures="80")
    assert built.status == 1
    assert "with which PTX for compute_80 cannot be linked: name real targets only" in built.output


def test_without_the_device_runtime_the_error_names_the_package(
    workers: Workers, toolchain: Toolchain, part: Callable[..., bytes]
) -> None:
    job = LinkJob(
        "demo.m", "80", True, False, (LinkInput("p.cu", "ptx", part("ptx", text=PARENT)),), (), False, "auto", ()
    )
    with pytest.raises(CompileError, match=r"libcudadevrt\.a, which is not installed: install nvidia-cuda-runtime "):
        workers.submit(link_job, job).result()


def test_code_without_launches_gets_no_device_runtime(
    workers: Workers, toolchain: Toolchain, part: Callable[..., bytes]
) -> None:
    inputs = (LinkInput("p.cu", "ptx", part("ptx")), LinkInput("m.cu", "ptx", part("ptx", text=MAIN)))
    job = LinkJob("demo.m", "80", True, False, inputs, (), False, "auto", toolchain.header_folders)
    linked = workers.submit(link_job, job).result()
    assert linked == workers.submit(link_job, replace(job, include_dirs=())).result()


PUT = (
    "extern __device__ int nvshmemi_device_state_d;\n__device__ int nvshmemi_transfer_put(int value);\n"
    "__global__ void put(int* x) { *x = nvshmemi_transfer_put(nvshmemi_device_state_d); }\n"
)
NVSHMEM = "__device__ int nvshmemi_device_state_d = 4;\n__device__ int nvshmemi_transfer_put(int value) { return value + 1; }\n"


@pytest.mark.parametrize("kind", ["ptx", "ltoir"])
def test_code_that_needs_nvshmem_is_linked_with_its_device_library(
    kind: str, workers: Workers, toolchain: Toolchain, part: Callable[..., bytes], tmp_path: Path
) -> None:
    package = write_files(tmp_path, **{"include/nvshmem.h": "", "lib/libnvshmem_device.a": ""})
    job = LinkJob(
        "demo.m", "80", True, kind == "ltoir", (LinkInput("p.cu", kind, part(kind, text=PUT)),), (), False, "auto", ()
    )
    with pytest.raises(
        CompileError, match=r"^nvshmemi_\w+ is in NVSHMEM's .*not installed: add nvidia-nvshmem-cu12 or"
    ):
        workers.submit(link_job, job).result()
    (package / "lib/libnvshmem_device.a").write_bytes(part("a", text=NVSHMEM))
    installed = replace(job, include_dirs=(str(package / "include"),))
    cubin = read_cubin(workers.submit(link_job, installed).result().cubin)
    assert list(cubin.kernels) == ["_Z3putPi"]
    assert not cubin.symbols.undefined
    assert "nvshmemi_device_state_d" in cubin.variables  # the host's library looks it up by name
    with pytest.raises(CompileError, match=r'cannot be linked: name real targets only, such as .* = \["80-real"\]'):
        workers.submit(link_job, replace(installed, real=False)).result()


@pytest.mark.slow
@pytest.mark.parametrize("link", ["ptx", "lto"])
def test_an_undefined_symbol_is_reported_by_its_cpp_name_and_places(link: str, build: Build) -> None:
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
    assert built.status == 1
    assert "Traceback" not in built.output
    assert re.search(r"demo\.m \(demo/k\.cu, demo/other\.cu\) does not link for \w+ with nvJitLink", built.output)
    assert "geo::area(const geo::Box&, int*)" in built.output
    assert "geo::area(const geo::Box&, int*), mentioned at demo/k.cu:1, demo/k.cu:5" in built.output
    assert "_ZN3geo" not in built.output
    assert built.output.count("does not link") == 1
    assert not built.folder.exists()


@pytest.mark.slow
def test_an_undefined_variable_is_reported(build: Build, part) -> None:
    declarations = {
        "__device__ float scale": "scale",
        "__constant__ float scale[]": "scale[*x > 1]",
        "__device__ int2 scale[4]": "scale[*x > 1].x",
    }
    kinds = ["cu", "ptx", "cubin", "fatbin of cubin", "o of cubin"]
    others = {f"demo/other{kind[0]}.{kind.partition(' ')[0]}": PART if kind == "cu" else part(kind) for kind in kinds}
    sources = {
        f"demo/k{number}.cu": f"extern {declared};\n__global__ void k(float* x) {{ *x = {use}; }}\n"
        for number, (declared, use) in enumerate(declarations.items())
    }
    ways = [(link, source, other) for link in ("ptx", "lto") for source in sources for other in others]
    cases = {f"demo.m{number}": way for number, way in enumerate(ways)}
    tables = (table(name, sources=[source, other], link=link) for name, (link, source, other) in cases.items())
    built = build(*tables, files=others | sources)
    assert built.status == 1
    messages = built.messages()
    assert messages.keys() == cases.keys()
    for name, (_, source, other) in cases.items():
        assert f"{name} ({source}, {other}) does not link for" in messages[name]
        assert f"  scale, mentioned at {source}:1, {source}:2" in messages[name]


@pytest.mark.slow
def test_a_duplicate_definition_is_reported(build: Build, part) -> None:
    text = "__device__ int part(float x, int n) { return x * n; }\n"
    kinds = ("cu", "ptx", "cubin", "o of cubin", "a of cubin")
    cases = [*(("ptx", kind) for kind in kinds), ("lto", "cu"), ("lto", "ltoir")]
    files: dict[str, str | bytes] = {
        "demo/a.cu": text + "__global__ void k(int* n) { *n = part(2, *n); }\n",
        "demo/good.cu": "__global__ void good(int* n) { *n = 1; }",
        "demo/nothing.cu": "",
    }
    tables, expected = [], {}
    for number, (link, kind) in enumerate(cases):
        name = f"demo/b{number}.{kind.partition(' ')[0]}"
        files[name] = text if kind == "cu" else part(kind, text=text)
        several = {"architectures": "80-real;90-real"} if kind == "cu" else {}
        for module, sources in ((f"demo.m{number}", ["demo/a.cu", name]), (f"demo.n{number}", [name, "demo/a.cu"])):
            tables.append(table(module, sources=sources, link=link, **several))
            expected[module] = ", ".join(sources)
    linked = (table(f"demo.{link}", sources=["demo/good.cu", "demo/nothing.cu"], link=link) for link in ("ptx", "lto"))
    built = build(*tables, *linked, files=files)
    assert built.status == 1
    messages = built.messages()
    assert messages.keys() == expected.keys()
    for module, sources in expected.items():
        assert f"{module} ({sources}) does not link for sm_" in messages[module]
        assert "part(float, int)" in messages[module]
        assert "mentioned at demo/a.cu:1, demo/a.cu:2" in messages[module] or not sources.startswith("demo/a.cu")
        assert "help: define it in one source" in messages[module]
    assert "Traceback" not in built.output
    assert not built.folder.exists()


def test_extern_c_functions_with_different_parameters_are_reported(build: Build) -> None:
    files = {
        "demo/a.cu": 'extern "C" __device__ float part(float x);\n__global__ void k(float* x) { *x = part(*x); }\n',
        "demo/b.cu": 'extern "C" __device__ double part(double x) { return x; }\n',
    }
    built = build(table(sources=list(files), link="ptx"), files=files, architectures="80-real")
    assert built.status == 1
    assert "part has another signature in demo/b.cu than in demo/a.cu, which calls it: (8) -> (8) bytes" in built.output


@pytest.mark.slow
@pytest.mark.parametrize("link", ["ptx", "lto"])
def test_templates_are_instantiated_in_the_source_that_defines_them(link: str, build: Build) -> None:
    files = {
        "demo/scale.cuh": "#pragma once\n__device__ float part(float x);\n"
        "template <typename T> __global__ void in_header(T* x) { *x = part(*x); }\n",
        "demo/a.cu": '#include "scale.cuh"\nnamespace n { template <typename T, int N> __global__ void in_a(T* x) { *x = part(*x) * N; } }\n'
        "__global__ void __launch_bounds__(128) plain(float* x) { *x = part(*x); }\n",
        "demo/b.cu": '#include "scale.cuh"\n__device__ float part(float x) { return x + 1; }\n'
        "template <typename T> __global__ void in_b(T* x) { *x = part(*x); }\n",
    }
    names = ["n::in_a<float, 4>", "in_b<double>", "in_header<int>"]
    built = build(
        table(sources=["demo/a.cu", "demo/b.cu"], link=link, instantiate=names), files=files, architectures="80"
    )
    assert built.status == 0, built.output
    manifest = built.modules["demo.m"]
    assert {kernel.name for kernel in manifest.kernels} == {*names, "plain"}
    assert [image.resources["_Z5plainPf"]["max_threads"] for image in manifest.images] == [128, 128]
    wrong = build(table(sources=["demo/a.cu", "demo/b.cu"], link=link, instantiate=["in_c<int>"]), files=files)
    assert wrong.status == 1
    assert "in_c<int> (instantiate) is not a kernel of this file" in wrong.output


def test_a_source_of_two_modules_is_compiled_once(build: Build) -> None:
    built = build(
        table(sources=["demo/k.cu", "demo/part.cu"], link="ptx"),
        table("demo.other", sources=["demo/k.cu", "demo/more.cu"], link="ptx"),
        files={**LINKED, "demo/more.cu": PART.replace("x * 3", "x * 5")},
    )
    assert built.status == 0, built.output
    assert "2 modules, 3 compile jobs, 2 links" in built.output
    (first,), (second,) = built.images().values(), built.images("demo.other").values()
    assert first != second


@pytest.mark.slow
@pytest.mark.parametrize("form", ["ptx", "lto", "relocatable"])
def test_host_code_is_not_in_a_link_and_functions_that_only_other_sources_call_are(
    form: str, build: Build, part
) -> None:
    helper = """\
#include <vector>
#include <cstdio>
static __device__ float secret(float x) { return x - 1; }
namespace { __device__ float hidden(float x) { return secret(x) * 2; } }
__device__ float shared_value = 4;
__device__ float part(float x) { return hidden(x) + shared_value; }
__global__ void own(float* x) { *x = part(*x); }
int main() { own<<<1, 1>>>(nullptr); std::vector<int> v(3); std::printf("%d", v[0]); return 0; }
"""
    # Other definitions with the same private names, which must not collide.
    main = """\
static __device__ float secret(float x) { return x + 77; }
namespace { __device__ float hidden(float x) { return secret(x) * 3; } }
extern __device__ float shared_value;
__device__ float part(float x);
__global__ void k(float* x) { *x = part(hidden(*x)) + shared_value; }
void host(float* x) { k<<<1, 1>>>(x); }
"""
    settings = {"relocatable": True, "link": "lto"} if form == "relocatable" else {"link": form}
    built = build(
        table(sources=["demo/k.cu", "demo/part.cu"], **settings),
        files={"demo/k.cu": main, "demo/part.cu": helper},
        architectures="80",  # PTX too
    )
    assert built.status == 0, built.output
    manifest = built.modules["demo.m"]
    assert [kernel.name for kernel in manifest.kernels] == ["k", "own"]
    assert manifest.host_code == ()
    assert "ptx" in {kind for _, kind, _ in built.images()}
    for (source, kind, _), content in built.images().items():
        if kind == "ptx":
            visible = re.findall(rb"\.visible \.func [^_]*(_Z\w+)", content.replace(b"func_retval", b""))
            assert visible == ([b"_Z4partf"] if source == "demo/part.cu" else [])


@pytest.mark.slow
@pytest.mark.parametrize("lineinfo", [False, True])
def test_builds_in_different_folders_give_the_same_bytes(
    lineinfo: bool, build: Build, cuda_wheel: Command, tmp_path: Path
) -> None:
    files = {
        "demo/k.cu": '#include "part.cuh"\n#include <cuda_fp16.h>\nstatic __device__ int hidden(int x) { return x; }\n'
        "__global__ void k(float* x, __half h) { *x = part(*x) + hidden(2) + float(h); }\n",
        "demo/part.cu": '#include "part.cuh"\nnamespace { __device__ int twice(int x) { return 2 * x; } }\n'
        "__device__ float part(float x) { return x * twice(3); }\n__device__ const char* file = __FILE__;\n",
        "demo/part.cuh": "#pragma once\n__device__ float part(float x);\ninline __device__ float more(float x) { return x; }\n",
    }
    linked = {
        f"demo.{link}": table(f"demo.{link}", sources=["demo/k.cu", "demo/part.cu"], link=link)
        for link in ("ptx", "lto")
    }
    tables = [*linked.values(), table("demo.r", sources=["demo/k.cu"], extern=["part"])]
    shared = f"lineinfo = {str(lineinfo).lower()}"
    first = build(*tables, files=files, shared=shared, architectures="80;90")
    assert first.status == 0, first.output
    elsewhere = tmp_path / "another ünï folder"
    shutil.copytree(tmp_path / "project", elsewhere)
    result = cuda_wheel(
        "build", elsewhere, "-o", tmp_path / "out2", CUDA_WHEEL_CACHE_DIR=str(tmp_path / "fresh"), CUDA_WHEEL_JOBS="1"
    )
    second = Built(result, tmp_path / "out2")
    assert second.status == 0, second.output
    for path in sorted(first.folder.rglob("*.fatbin*")):
        content = path.read_bytes()
        for forbidden in (str(tmp_path), "site-packages", "another", "/proc/self"):
            assert forbidden.encode() not in content, (path, forbidden)
    for name in (*linked, "demo.r"):
        assert first.modules[name] == second.modules[name]
        same = {key: content == second.images(name)[key] for key, content in first.images(name).items()}
        assert all(same.values()), same
    for name in linked if lineinfo else ():
        for key, content in first.images(name).items():
            assert b"demo/k.cu" in content or b"k.cu\0" in content, key


@pytest.mark.slow
@pytest.mark.one_toolchain
def test_a_project_in_another_folder_uses_the_same_cache_entries(
    build: Build, cuda_wheel: Command, tmp_path: Path
) -> None:
    tables = (
        table(sources=["demo/k.cu", "demo/part.cu"], link="lto", relocatable=True),
        table("demo.p", sources=["demo/k.cu", "demo/part.cu"], link="ptx"),
    )
    cache = {"CUDA_WHEEL_CACHE_DIR": str(tmp_path / "cache")}
    build(*tables, files=LINKED, architectures="80")
    project = tmp_path / "project"
    first = Built(cuda_wheel("build", project, "-o", tmp_path / "out1", **cache), tmp_path / "out1")
    assert first.status == 0, first.output
    elsewhere = tmp_path / "elsewhere"
    shutil.copytree(project, elsewhere)
    second = Built(cuda_wheel("build", elsewhere, "-o", tmp_path / "out2", **cache), tmp_path / "out2")
    assert re.search(r"10 jobs in [\d.]+ s: 10 from the cache$", second.output, re.MULTILINE), second.output
    assert second.fatbins == first.fatbins and second.modules == first.modules
    path = elsewhere / "demo/part.cu"
    path.write_text(path.read_text().replace("x * 3", "x * 4"))
    third = Built(cuda_wheel("build", elsewhere, "-o", tmp_path / "out3", **cache), tmp_path / "out3")
    summary = r"10 jobs in [\d.]+ s: 3 from the cache, 3 compiled, 4 linked(;.*)?$"
    assert re.search(summary, third.output, re.MULTILINE), third.output
    for (source, kind, target), content in third.images().items():
        assert (content == first.images()[source, kind, target]) == (source == "demo/k.cu")


HUNGRY = """\
__device__ float part(float x);
__global__ void k(float* x)
{
    float v[48];
    for (int i = 0; i < 48; ++i)
        v[i] = part(x[i * 32]);
    __syncthreads();
    for (int i = 0; i < 48; ++i)
        x[i] = v[i] * v[47 - i] / x[i + 1];
}
"""


@pytest.mark.slow
def test_the_register_limit_reaches_the_linker(build: Build) -> None:
    options = ([], ["--maxrregcount=32"], ["-maxrregcount=32"], ["--maxrregcount", "32"])
    ways = {f"demo.{link}{number}": (link, given) for link in ("ptx", "lto") for number, given in enumerate(options)}
    sources = ["demo/k.cu", "demo/part.cu"]
    built = build(
        *(table(name, sources=sources, link=link, options=given) for name, (link, given) in ways.items()),
        files={"demo/k.cu": HUNGRY, "demo/part.cu": "__device__ float part(float x) { return x * x; }"},
    )
    assert built.status == 0, built.output
    for name, (_, given) in ways.items():
        assert (built.modules[name].images[0].resources["_Z1kPf"]["registers"] <= 32) == bool(given), name


@pytest.mark.slow
@pytest.mark.one_toolchain
def test_floating_point_options_reach_the_linker(build: Build) -> None:
    expected = {
        ("--use_fast_math",): b"div.approx.ftz.f32",
        ("-use_fast_math",): b"div.approx.ftz.f32",
        ("--prec-div=false",): b"div.full.f32",
        ("--prec-div", "false"): b"div.full.f32",
        ("--ftz=true",): b"div.rn.ftz.f32",
        (): b"div.rn.f32",
    }
    sources = ["demo/k.cu", "demo/part.cu"]
    built = build(
        *(
            table(f"demo.m{number}", sources=sources, link="lto", options=options)
            for number, options in enumerate(expected)
        ),
        files={
            "demo/k.cu": "__device__ float part(float x, float y); __global__ void k(float* x) { *x = part(*x, x[1]); }",
            "demo/part.cu": "__device__ float part(float x, float y) { return x / y; }",
        },
        architectures="80",
    )
    assert built.status == 0, built.output
    for number, instruction in enumerate(expected.values()):
        assert instruction in built.images(f"demo.m{number}")["", "ptx", "compute_80"]


def test_settings_of_one_source_work_for_several(build: Build) -> None:
    """Warnings, __DATE__, optional kernels, launch bounds, variables, defines, and templates without instances."""
    files = {
        "demo/k.cu": '#include "part.h"\n__constant__ float table[SIZE] = {1, 2};\n'
        "__global__ void __launch_bounds__(96, 2) k(float* x) { int unused = 1; *x = part(*x) + table[1]; }\n"
        "#if __CUDA_ARCH__ >= 900\n__global__ void newer(float* x) { *x = part(*x); }\n#endif\n"
        "template <typename T> __global__ void forgotten(T* x) {}\n",
        "demo/part.cu": '#include "part.h"\n__device__ int counter = 7;\nstatic_assert(sizeof(__DATE__) == 12);\n'
        "__device__ float part(float x) { int other = 2; return x + counter; }\n",
        "demo/part.h": "extern __device__ int counter;\n__device__ float part(float x);\n",
    }
    built = build(
        table(
            sources=["demo/k.cu", "demo/part.cu"],
            link="lto",
            defines={"SIZE": "2"},
            **{"optional-kernels": ["newer"]},
        ),
        files=files,
        architectures="80-real;90",
    )
    assert built.status == 0, built.output
    assert built.output.count('variable "unused" was declared but never referenced') == 1
    assert built.output.count('variable "other" was declared but never referenced') == 1
    assert "demo/part.cu uses the time of the build" in built.output
    assert "demo/k.cu:7: warning: no image has the kernel template forgotten" in built.output
    manifest = built.modules["demo.m"]
    absent = {kernel.name: kernel.absent for kernel in manifest.kernels}
    assert absent == {"k": (), "newer": ("sm_80",)}
    assert {(each.name, each.space, each.size) for each in manifest.globals} == {
        ("counter", "global", 4), ("table", "constant", 8),
    }  # fmt: skip
    assert manifest.images
    for image in manifest.images:
        bounds = image.resources["_Z1kPf"]
        assert (bounds["max_threads"], bounds["min_blocks"]) == (96, 2)


@pytest.mark.slow
def test_line_information_with_prebuilt_inputs(build: Build, part, cuda_wheel: Command, tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "demo/k.cu": '#include <cuda_fp16.h>\n#include "k.cuh"\n' + MAIN,
        "demo/k.cuh": "",
        "demo/part.cubin": part("cubin"),
        "demo/part.ptx": part("ptx"),
        "demo/part.o": part("o of cubin"),
    }
    ways = [(link, ending) for link in ("ptx", "lto") for ending in ("cubin", "ptx", "o")]
    tables = (table(f"demo.{link}_{end}", sources=["demo/k.cu", f"demo/part.{end}"], link=link) for link, end in ways)
    first = build(*tables, files=files, shared="lineinfo = true")
    assert first.status == 0, first.output
    elsewhere = tmp_path / "another ünï folder"
    shutil.copytree(tmp_path / "project", elsewhere)
    fresh = {"CUDA_WHEEL_CACHE_DIR": str(tmp_path / "fresh")}
    second = Built(cuda_wheel("build", elsewhere, "-o", tmp_path / "out2", **fresh), tmp_path / "out2")
    assert second.status == 0, second.output
    assert len(first.modules) == len(ways)
    for name in first.modules:
        (content,) = first.images(name).values()
        assert b"k.cu\0" in content, name
        for forbidden in (str(tmp_path), "site-packages", "/proc/self"):
            assert forbidden.encode() not in content, name
        assert first.images(name) == second.images(name)


@pytest.mark.slow
def test_a_prebuilt_input_can_call_functions_of_the_sources(build: Build, part) -> None:
    """With line information, the link goes by way of PTX, which lacks functions that only the prebuilt input calls."""
    other = "__device__ float helper(float x); __device__ float part(float x) { return helper(x) * 3; }"
    main = "__device__ __noinline__ float helper(float x) { return x * 17; }\n__device__ float part(float x);\n"
    for lineinfo in ("false", "true"):
        built = build(
            table(sources=["demo/k.cu", "demo/part.cubin"], link="lto"),
            files={
                "demo/k.cu": main + "__global__ void k(float* x) { *x = part(*x); }",
                "demo/part.cubin": part("cubin", text=other),
            },
            shared=f"lineinfo = {lineinfo}",
        )
        assert built.status == 0, built.output


@pytest.mark.slow
@pytest.mark.one_toolchain
def test_ltoir_in_a_fatbin_needs_lto(build: Build, part) -> None:
    files = {"demo/k.cu": MAIN, "demo/part.fatbin": part("fatbin of ltoir"), "demo/part.o": part("o of ltoir")}
    for name in ("demo/part.fatbin", "demo/part.o"):
        built = build(table(sources=["demo/k.cu", name], link="ptx"), files=files)
        assert built.status == 1
        assert "does not link for sm_80" in built.output
        assert 'help: LTO-IR, also in a fatbin, object or library, needs link = "lto"' in built.output


def test_kernels_of_a_library_are_in_the_module(build: Build, part) -> None:
    text = "__global__ void other(int* x, short y) { *x = y; }"
    built = build(
        table(sources=["demo/k.cu", "demo/part.a"], link="ptx"),
        files={"demo/k.cu": "__global__ void k(int* x) { *x = 1; }", "demo/part.a": part("a of cubin", text=text)},
    )
    assert built.status == 0, built.output
    assert [kernel.name for kernel in built.modules["demo.m"].kernels] == ["k", "other"]
