"""The kernels in a manifest, and the errors and warnings about kernels."""

from __future__ import annotations

import ctypes
import subprocess
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from cuda_wheel.builder.config.settings import Config
from cuda_wheel.builder.errors import CompileError
from cuda_wheel.builder.execute import PlanRunner
from cuda_wheel.builder.manifest_reader import manifest_of
from cuda_wheel.builder.manifest_writer import manifest as module_manifest
from cuda_wheel.builder.manifest_writer.text import manifest_text
from cuda_wheel.builder.plan import make_plan
from cuda_wheel.builder.sources.layout import WheelFile
from cuda_wheel.builder.sources.modules import select
from cuda_wheel.builder.toolchain.toolchain import Toolchain
from cuda_wheel.builder.workers.pool import Workers
from cuda_wheel.inspect.modules import symbol_lines
from cuda_wheel.runtime.manifest import Manifest, Parameter
from tests.support.listener import Listener

Build = Callable[..., tuple[Manifest, list[str]]]


@pytest.fixture
def build(tmp_path: Path, workers: Workers, toolchain: Toolchain) -> Build:
    """Return a function that builds a module from one text, and returns its manifest and the warnings."""

    def build(text: str, *architectures: str, **settings: object) -> tuple[Manifest, list[str]]:
        source = tmp_path / "demo" / "k.cu"
        source.parent.mkdir(exist_ok=True)
        source.write_text(text)
        table = {"architectures": list(architectures or ("80-real",))}
        if "instantiate" in settings:
            table["module"] = [{"name": "demo.k", "instantiate": settings.pop("instantiate")}]  # type: ignore[list-item]
        config = Config.from_table(table | settings)
        modules = select(config, tmp_path, [WheelFile(source, "demo/k.cu")])
        listener = Listener()
        (built,) = PlanRunner(
            make_plan(config, modules, tmp_path, toolchain, lambda: []), workers, listener, None
        ).run()
        return built.manifest, listener.warnings

    return build


def test_parameters_have_their_cpp_types(build: Build) -> None:
    manifest, warnings = build(
        """
        struct P { float* x; int n; };
        __global__ void plain(const float* __restrict__ x, unsigned n, P p) {}
        extern "C" __global__ void c(const float* __restrict__ x, unsigned n, P p, P* q) {}
        #define REAL float
        extern "C" __global__ void doubtful(REAL* x, int n) {}
        template <class T, int N> __global__ void t(T (&x)[N]) {}
        template __global__ void t<float, 3>(float (&)[3]);
        template <class T> __global__ void named(T* x) {}
        """,
        "80-real",
        "100-virtual",
        instantiate=["named< int >"],
    )
    found = {kernel.name: [parameter.cpp for parameter in kernel.parameters] for kernel in manifest.kernels}
    assert found == {
        "plain": ["const float*", "unsigned int", "P"],
        "c": ["const float*", "unsigned int", "P", "P*"],  # the symbol has no types, but the source does
        "doubtful": ["float*", "int"],  # the tokens do not tell, but the compiler does
        "t<float, 3>": ["float (&)[3]"],
        "named< int >": ["int*"],
    }
    assert warnings == []


def test_the_compiler_decides_where_macros_of_headers_change_the_types(build: Build, tmp_path: Path) -> None:
    (tmp_path / "demo").mkdir()
    (tmp_path / "demo" / "macros.h").write_text(
        "#define real float y, int\n#define short int\n#define REAL const float\n"
    )
    manifest, _ = build(
        """
        #include "macros.h"
        extern "C" __global__ void more(float* x, real n) {}
        extern "C" __global__ void wider(float* x, short n) {}
        extern "C" __global__ void same(float* x, REAL n) {}
        """
    )
    assert {kernel.name: [parameter.cpp for parameter in kernel.parameters] for kernel in manifest.kernels} == {
        "more": ["float*", "float", "int"],
        "wider": ["float*", "int"],
        "same": ["float*", "float"],
    }


def test_the_compiler_decides_where_macros_of_the_settings_change_the_types(build: Build) -> None:
    text = 'extern "C" __global__ void k(float* x, REAL* y) {}  extern "C" __global__ void l(float* x) {}'
    manifest, _ = build(text, defines={"REAL": "int"})
    found = [[parameter.cpp for parameter in kernel.parameters] for kernel in manifest.kernels]
    assert found == [["float*", "int*"], ["float*"]]
    manifest, _ = build(text, options=["-DREAL=float"])
    found = [[parameter.cpp for parameter in kernel.parameters] for kernel in manifest.kernels]
    assert found == [["float*", "float*"], ["float*"]]


def test_launch_bounds_are_in_every_image(build: Build) -> None:
    manifest, _ = build(
        """
        extern "C" __global__ void __launch_bounds__(256, 2) b(float* x) { *x = 1; }
        extern "C" __global__ void u(float* x, long n, float4 v) { *x = 1; }
        __device__ int v[3];
        """,
        "80",
    )
    cubin, text = (image.resources for image in manifest.images)
    assert cubin["b"].items() >= {"max_threads": 256, "min_blocks": 2}.items()
    assert cubin["b"]["registers"] > 0
    assert "max_threads" not in cubin["u"]
    assert text == {"b": {"max_threads": 256, "min_blocks": 2}}
    assert symbol_lines([manifest]) == [
        "b(float*): at most 256 threads in a block, at least 2 blocks on a multiprocessor",
        "u(float*, long, float4)",
        "v: global variable, 12 bytes",
    ]


PARTLY = """
__global__ void everywhere(int* x) {}
#if __CUDA_ARCH__ >= 900
template <class T> __global__ void later(T* x) {}
template __global__ void later<float>(float*);
#endif
"""


def test_a_kernel_that_an_image_lacks_is_an_error(build: Build) -> None:
    with pytest.raises(CompileError) as caught:
        build(PARTLY, "80", "90-real")
    message = str(caught.value)
    assert "later<float> is in the image of sm_90, and not of sm_80, compute_80\n" in message
    assert "An #if with __CUDA_ARCH__ around a kernel causes this." in message
    assert 'optional-kernels = ["later<float>"]' in message
    assert "everywhere is" not in message


@pytest.mark.slow
def test_globs_for_optional_kernels_are_proposed_once_for_the_project(
    make_project: Callable[..., Path], cuda_wheel, tmp_path: Path
) -> None:
    """Of two modules, each with kernels that an image lacks, and of a third without any."""
    guarded = "#if __CUDA_ARCH__ >= 900\n{}\n#endif\n__global__ void {}(int* x) {{}}\n"
    kernels = [f'extern "C" __global__ void copy_{number}_f8_e4m3(int* x) {{}}' for number in range(20)]
    project = make_project(
        '[tool.cuda-wheel]\narchitectures = ["80-real", "90-real"]',
        **{
            "demo/a.cu": guarded.format("\n".join(kernels[:10]), "copy_f8_e5m2"),
            "demo/b.cu": guarded.format("\n".join(kernels[10:]), "copy_bf16"),
            "demo/c.cu": "__global__ void scale_e4m3(int* x) {}",
        },
    )
    for _ in range(2):  # the second time with a cache
        output = cuda_wheel("build", project, "-o", tmp_path / "out").stdout
        assert "some images of demo/a.cu lack kernels" in output and "some images of demo/b.cu lack kernels" in output
        assert output.count("optional-kernels = [") == 1
        assert 'optional-kernels = ["*_f8_e4m3"].' in output
    with (project / "pyproject.toml").open("a") as file:
        file.write('\noptional-kernels = ["*_f8_e4m3"]\n')
    result = cuda_wheel("build", project, "-o", tmp_path / "out")
    assert result.returncode == 0, result.stdout


def test_an_error_names_kernels_inside_a_false_condition(build: Build) -> None:
    with pytest.raises(CompileError, match=r"It seems to define never \(line 2\): is that inside an #if"):
        build("#ifdef NEVER\n__global__ void never() {}\n#endif")


@pytest.mark.parametrize("pattern", ["later<float>", "later*", "_Z5laterI*", "later< float >"])
def test_an_optional_kernel_lists_the_images_that_lack_it(build: Build, pattern: str) -> None:
    manifest, warnings = build(PARTLY, "80", "90-real", **{"optional-kernels": [pattern, "nothing"]})
    assert {kernel.name: kernel.absent for kernel in manifest.kernels} == {
        "everywhere": (),
        "later<float>": ("sm_80", "compute_80"),
    }
    assert "later<float>(float*): not in sm_80, compute_80" in symbol_lines([manifest])
    assert warnings == []


def test_the_manifest_says_the_size_of_a_long_where_nvrtc_compiled_everything(build: Build) -> None:
    manifest, _ = build("__global__ void k(long* x, long n) { *x = n; }")
    assert manifest.long_size == manifest.kernels[0].parameters[1].size == ctypes.sizeof(ctypes.c_long)
    for kinds, expected in ((["cuda", "cuda"], ctypes.sizeof(ctypes.c_long)), (["cuda", "ptx"], None)):
        module = SimpleNamespace(module=SimpleNamespace(sources=[SimpleNamespace(kind=kind) for kind in kinds]))
        assert module_manifest._long_size(module) == expected  # type: ignore[arg-type]


def test_a_grid_constant_number_has_its_type_also_without_mangling(build: Build) -> None:
    text = """
    extern "C" __global__ void k(const __grid_constant__ int n, const __grid_constant__ float x, float* const __grid_constant__ y)
    { *y = n + x; }"""
    manifest, _ = build(text)
    assert [(each.cpp, each.type, each.size) for each in manifest.kernels[0].parameters] == [
        ("int", "b8", 4),
        ("float", "b8", 4),
        ("float*", "b8", 8),
    ]


def test_a_kernel_whose_parameters_differ_is_an_error(build: Build) -> None:
    text = """
    struct P {
    #if __CUDA_ARCH__ >= 900
        int more[4];
    #endif
        int n;
    };
    __global__ void k(P p) {}
    """
    with pytest.raises(CompileError) as caught:
        build(text, "80-real", "90-real", **{"optional-kernels": ["*"]})
    message = str(caught.value)
    assert "the kernel k of demo/k.cu has other parameters in some images than in others" in message
    assert "\n  sm_80: .b8 of 4 bytes at 0\n  sm_90: .b8 of 20 bytes at 0\n" in message


def test_variables_that_differ_between_images_are_left_out(build: Build) -> None:
    manifest, _ = build(
        "__device__ int same; __device__ char other[__CUDA_ARCH__]; __global__ void k() { same = other[0]; }",
        "80-real",
        "90-real",
    )
    assert [variable.name for variable in manifest.globals] == ["same"]


def test_a_kernel_that_no_image_has_is_a_warning(build: Build) -> None:
    manifest, warnings = build(
        """
        namespace ns { __global__ void k() {} }
        template <class T> __global__ void t(T* x) {}
        #ifdef NEVER
        __global__ void never() {}
        #endif
        """
    )
    assert [kernel.name for kernel in manifest.kernels] == ["ns::k"]
    assert warnings == [
        "demo/k.cu:3: warning: no image has the kernel template t: name its instantiations in the module's instantiate.",
        "demo/k.cu:5: warning: no image has the kernel never: is it inside an #if whose condition is false?",
    ]


def test_an_error_names_the_templates_of_a_file_without_kernels(build: Build) -> None:
    with pytest.raises(CompileError, match=r"It has templates: a \(line 1\), b \(line 2\)\. Nothing launches them"):
        build("template <class T> __global__ void a(T* x) {}\ntemplate <int N> __global__ void b() {}")


def test_a_build_prints_the_warnings(
    make_project, cuda_wheel: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    text = "__global__ void k() {}\ntemplate <class T> __global__ void t(T* x) {}\n"
    project = make_project('[tool.cuda-wheel]\narchitectures = ["80-real"]', **{"demo/k.cu": text})
    result = cuda_wheel("build", project, "-o", tmp_path / "out")
    assert result.returncode == 0
    assert "demo/k.cu:2: warning: no image has the kernel template t" in result.stdout


def test_parameters_survive_the_json_of_the_manifest(build: Build) -> None:
    manifest, _ = build("__global__ void k(char c, double d, float3 v) {}")
    assert manifest.kernels[0].parameters == (
        Parameter("u8", 0, 1, "char", "c"),
        Parameter("f64", 8, 8, "double", "d"),
        Parameter("b8", 16, 12, "float3", "v"),
    )
    assert manifest_of(manifest_text(manifest), "it") == manifest
