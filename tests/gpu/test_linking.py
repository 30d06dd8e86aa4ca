"""Linking by the driver's linker and by nvJitLink on a real GPU, and loading code without a manifest, compared with NumPy.

The driver gets PTX of an old version, so that the tests do not depend on the toolchain's release.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cuda_wheel
from cuda_wheel import DriverError, ImageError, JitOptions, LinkError, LinkInput
from cuda_wheel.builder.images.bundling import make_fatbin
from cuda_wheel.runtime.driver import device_and_driver
from cuda_wheel.runtime.module import Module
from cuda_wheel.runtime.parts.cuda_libraries import library_path
from cuda_wheel.runtime.parts.linking.cuda_compiler import nvrtc_version
from tests.gpu.support import Memory
from tests.support.processes import run
from tests.support.toolchains import installed_extra

pytestmark = pytest.mark.usefixtures("context", "nothing_loaded")

HEAD = ".version 7.0\n.target sm_80\n.address_size 64\n"
APPLY = (
    HEAD
    + """
.extern .func (.param .b32 result) user_transform (.param .b32 x);
.visible .entry apply (.param .u64 x, .param .u32 n)
{
    .reg .pred %p<2>;
    .reg .b32 %r<6>;
    .reg .f32 %f<3>;
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [x];
    ld.param.u32 %r1, [n];
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %ntid.x;
    mov.u32 %r4, %tid.x;
    mad.lo.s32 %r5, %r2, %r3, %r4;
    setp.ge.s32 %p1, %r5, %r1;
    @%p1 bra done;
    cvta.to.global.u64 %rd1, %rd1;
    mul.wide.s32 %rd2, %r5, 4;
    add.s64 %rd3, %rd1, %rd2;
    ld.global.f32 %f1, [%rd3];
    {
        .param .b32 argument;
        st.param.f32 [argument], %f1;
        .param .b32 result;
        call.uni (result), user_transform, (argument);
        ld.param.f32 %f2, [result];
    }
    st.global.f32 [%rd3], %f2;
done:
    ret;
}
"""
)
USER = (
    HEAD
    + """
.visible .func (.param .b32 result) user_transform (.param .b32 x)
{
    .reg .f32 %f<4>;
    ld.param.f32 %f1, [x];
    mov.f32 %f2, 0f40000000;
    mov.f32 %f3, 0f3F800000;
    fma.rn.f32 %f1, %f1, %f2, %f3;
    st.param.f32 [result], %f1;
    ret;
}
"""
)
SHARED = (
    HEAD
    + """
.visible .const .align 4 .f32 factor = 0f40400000;
.visible .entry scale (.param .u64 x, .param .f32 more)
{
    .reg .b32 %r<4>;
    .reg .f32 %f<5>;
    .reg .b64 %rd<4>;
    .shared .align 4 .b8 tile[4096];
    ld.param.u64 %rd1, [x];
    ld.param.f32 %f4, [more];
    cvta.to.global.u64 %rd1, %rd1;
    mov.u32 %r1, %tid.x;
    mul.wide.s32 %rd2, %r1, 4;
    add.s64 %rd3, %rd1, %rd2;
    ld.global.f32 %f1, [%rd3];
    mov.u32 %r2, tile;
    shl.b32 %r3, %r1, 2;
    add.s32 %r2, %r2, %r3;
    st.shared.f32 [%r2], %f1;
    bar.sync 0;
    ld.shared.f32 %f2, [%r2];
    ld.const.f32 %f3, [factor];
    fma.rn.f32 %f2, %f2, %f3, %f4;
    st.global.f32 [%rd3], %f2;
    ret;
}
"""
)
CUDA_APPLY = """
extern "C" __device__ float user_transform(float);
extern "C" __global__ void apply(float* x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        x[i] = user_transform(x[i]);
}
"""
CUDA_USER = 'extern "C" __device__ float user_transform(float x) { return 2 * x + 1; }\n'
DRIVER = JitOptions(linker="driver")
NVJITLINK = JitOptions(linker="nvjitlink", lto=False)
SIZES = [1 << 16, 1 << 20]


def named(text: str, name: str) -> LinkInput:
    return LinkInput("ptx", name, text.encode())


def check(module: Module, n: int = SIZES[0]) -> None:
    """Check that `apply` with a `user_transform` of 2 x + 1 gives NumPy's result."""
    x = np.random.default_rng(0).random(n, np.float32)
    memory = Memory(x)
    module["apply"].launch(-(-n // 256), 256, memory, n)
    np.testing.assert_array_equal(memory.numpy(), np.float32(2) * x + np.float32(1))


# --- the driver's linker --------------------------------------------------------------------------------


@pytest.mark.parametrize("n", SIZES)
def test_the_drivers_linker_links_ptx_and_returns_its_log_and_time(n: int) -> None:
    linked = cuda_wheel.link([named(APPLY, "lib.ptx"), named(USER, "user.ptx")], jit=DRIVER)
    print(linked, linked.seconds, linked.linker_seconds, linked.log, linked.errors, sep="\n")
    assert (linked.mode, linked.linker, linked.cached) == ("ptx", "the driver's", False)
    assert linked.log and linked.linker_seconds and 0 < linked.linker_seconds <= linked.seconds * 1.1
    check(cuda_wheel.load_code(linked.cubin), n)
    assert cuda_wheel.link([named(APPLY, "lib.ptx"), named(USER, "user.ptx")], jit=DRIVER).cached


def test_the_drivers_linker_links_without_a_context_and_in_another_thread() -> None:
    program = f"""
import threading
import cuda_wheel
from cuda_wheel import JitOptions
def link(): print(cuda_wheel.link([{APPLY!r}, {USER!r}], jit=JitOptions(linker="driver", verbose=False)).linker)
link()
thread = threading.Thread(target=link); thread.start(); thread.join()
from cuda.bindings import driver
print(driver.cuCtxGetDevice()[0].name)
"""
    result = run(sys.executable, "-c", program)
    assert result.stdout.splitlines() == ["the driver's", "the driver's", "CUDA_ERROR_INVALID_CONTEXT"], result.stdout


def test_options_reach_the_drivers_linker() -> None:
    pieces = [named(SHARED, "shared.ptx")]
    kernels = [
        cuda_wheel.load_code(cuda_wheel.link(pieces, jit=jit).cubin)["scale"]
        for jit in (DRIVER, DRIVER._replace(optimization_level=0, lineinfo=True), DRIVER._replace(max_registers=16))
    ]
    print([kernel.attributes for kernel in kernels])
    assert kernels[2].attributes.registers <= 16
    assert not cuda_wheel.link(pieces, jit=DRIVER._replace(verbose=False)).cached


def test_the_driver_links_machine_code_with_ptx(nvrtc: None) -> None:
    core = pytest.importorskip("cuda.core")
    if (nvrtc_version() or (0, 0)) > device_and_driver()[1]:
        pytest.skip("NVRTC's machine code is newer than the driver's linker")
    major, minor = device_and_driver()[0]
    options = core.ProgramOptions(arch=f"sm_{major}{minor}", relocatable_device_code=True)
    user = core.Program(CUDA_USER, "c++", options).compile("cubin")
    linked = cuda_wheel.link([named(APPLY, "lib.ptx"), user], jit=DRIVER)
    print(linked, linked.log)
    check(cuda_wheel.load_code(linked.cubin))
    cubin = LinkInput("cubin", "user.cubin", user.code)
    with pytest.raises(LinkError, match=r"user_transform is defined twice: by user\.cubin and by user\.ptx"):
        cuda_wheel.link([named(APPLY, "lib.ptx"), cubin, named(USER, "user.ptx")], jit=DRIVER)


def test_undefined_symbols_are_an_error_with_the_drivers_log() -> None:
    with pytest.raises(LinkError) as caught:
        cuda_wheel.link([named(APPLY, "lib.ptx"), named(SHARED, "other.ptx")], jit=DRIVER)
    print(caught.value)
    assert str(caught.value).startswith(
        "lib.ptx needs user_transform, which no piece defines\n  lib.ptx defines apply\n  other.ptx defines factor, scale"
    )
    assert "Undefined reference to 'user_transform'" in str(caught.value)


def test_double_definitions_never_reach_the_driver() -> None:
    for _ in range(3):
        with pytest.raises(LinkError, match=r"user_transform is defined twice: by one\.ptx and by two\.ptx"):
            cuda_wheel.link([named(APPLY, "lib.ptx"), named(USER, "one.ptx"), named(USER, "two.ptx")], jit=DRIVER)
    with pytest.raises(LinkError, match="apply is defined twice"):
        cuda_wheel.link([named(APPLY, "lib.ptx"), named(USER, "one.ptx"), named(APPLY, "two.ptx")], jit=DRIVER)


def test_broken_and_newer_ptx_are_errors_with_the_drivers_log() -> None:
    with pytest.raises(LinkError) as caught:
        cuda_wheel.link([named(APPLY, "lib.ptx"), named(USER.replace("fma.rn", "fma.xx"), "user.ptx")], jit=DRIVER)
    print(caught.value)
    assert "giving user.ptx to the driver's linker" in str(caught.value) and "Unknown modifier '.xx'" in str(
        caught.value
    )
    with pytest.raises(LinkError) as caught:
        cuda_wheel.link([named(APPLY, "lib.ptx"), named(USER.replace("7.0", "99.0"), "user.ptx")], jit=DRIVER)
    print(caught.value)
    assert "comes from a newer CUDA release than the driver's linker" in str(caught.value)


CUT = """
import sys
import cuda_wheel
from cuda_wheel import JitOptions, LinkInput
cubin, ptx = (open(path, "rb").read() for path in sys.argv[1:])
for length in range(1, len(cubin), len(cubin) // 40):
    for act in (
        lambda: cuda_wheel.load_code(LinkInput("cubin", "cut.cubin", cubin[:length])),
        lambda: cuda_wheel.link([ptx, LinkInput("cubin", "cut.cubin", cubin[:length])], jit=JitOptions(linker="driver")),
    ):
        try:
            act()
        except cuda_wheel.ImageError as error:
            last = error
        else:
            print(length, "went through")
print(last)
"""


def test_a_truncated_cubin_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "whole.cubin").write_bytes(cuda_wheel.link([named(SHARED, "shared.ptx")], jit=DRIVER).cubin)
    (tmp_path / "lib.ptx").write_text(USER)
    result = run(sys.executable, "-c", CUT, tmp_path / "whole.cubin", tmp_path / "lib.ptx")
    print(result.stdout)
    assert result.returncode == 0 and len(result.stdout.splitlines()) == 1, result.stdout
    assert "damaged cubin: it is cut short" in result.stdout


# --- nvJitLink ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", SIZES)
def test_a_plug_in_gives_the_same_by_ptx_and_by_lto(n: int, nvrtc: None) -> None:
    pieces = [LinkInput("cuda", "lib.cu", CUDA_APPLY.encode()), LinkInput("cuda", "user.cu", CUDA_USER.encode())]
    linked = {lto: cuda_wheel.link(pieces, jit=JitOptions(lto=lto)) for lto in (True, False)}
    modules = {lto: cuda_wheel.load_code(each.cubin) for lto, each in linked.items()}
    for module in modules.values():
        check(module, n)
    registers = {lto: module["apply"].attributes.registers for lto, module in modules.items()}
    print(linked, registers)
    assert [each.mode for each in linked.values()] == ["lto", "ptx"]
    assert registers[True] < registers[False]


def test_nvjitlink_links_ptx_and_cubins_together(nvjitlink: None) -> None:
    linked = cuda_wheel.link([named(APPLY, "lib.ptx"), named(USER, "user.ptx")], jit=NVJITLINK)
    print(linked, linked.log)
    check(cuda_wheel.load_code(linked.cubin))


def test_nvjitlink_gives_the_ptx_too(nvrtc: None) -> None:
    linked = cuda_wheel.link([CUDA_APPLY, CUDA_USER], ptx=True)
    assert linked.ptx is not None and "fma.rn.f32" in linked.ptx and "call" not in linked.ptx
    check(cuda_wheel.load_code(linked.cubin))


SECOND = f"""
import sys, time
import cuda_wheel
started = time.perf_counter()
linked = cuda_wheel.link([{CUDA_APPLY!r}, {CUDA_USER!r}])
module = cuda_wheel.load_code(linked.cubin)
module["apply"]
print(linked.cached, f"{{time.perf_counter() - started:.4f}} s, of which {{linked.seconds:.4f}} s linking")
"""


def test_a_second_process_uses_the_cached_result(nvrtc: None) -> None:
    outputs = [run(sys.executable, "-c", SECOND).stdout for _ in range(2)]
    print(outputs)
    assert [output.split()[0] for output in outputs] == ["False", "True"]


# --- a wheel's module and the user's code ------------------------------------------------------------


@pytest.fixture(params=["here", "cu12", "cu13"])
def plugin(request: pytest.FixtureRequest, install: Callable[[Path], Path]) -> str:
    """Install fixtures/plugin, built here or prebuilt, and return "here" or the prebuilt set."""
    if request.param != "here":
        install(request.getfixturevalue("prebuilt")(request.param, "plugin"))
    elif installed_extra() is None:
        pytest.skip("no toolchain is installed here to build with")
    else:
        install(request.getfixturevalue("fixture_wheel")("plugin"))
    return str(request.param)


TRANSFORM = """
extern "C" __device__ float user_transform(float x, float parameter) { return x * x + parameter; }
"""


def apply(module: Module, n: int, parameter: float) -> tuple[Any, Any]:
    """Return the result of `apply` on random numbers, and the numbers."""
    x = np.random.default_rng(0).random(n, np.float32)
    source, target = Memory(x), Memory(np.zeros_like(x))
    module["apply"].launch(-(-n // 256), 256, source, target, parameter, n)
    return target.numpy(), x


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("jit", [JitOptions(), JitOptions(lto=False), DRIVER], ids=["best", "ptx", "driver"])
def test_a_wheels_module_is_linked_with_the_users_code(n: int, jit: JitOptions, plugin: str, nvrtc: None) -> None:
    if jit == DRIVER and (nvrtc_version() or (0, 0)) > device_and_driver()[1]:
        pytest.skip("NVRTC's PTX is newer than the driver")
    module = cuda_wheel.load("plugin_demo.kernels.apply", link=[TRANSFORM], jit=jit)
    print(module, module.link, module.link.log, module["apply"].attributes, sep="\n")
    result, x = apply(module, n, 3.25)
    np.testing.assert_allclose(result, x * x + np.float32(3.25), rtol=1e-6)
    if plugin == "here":  # LTO-IR of the installed release; the installed nvJitLink may not read that of other releases
        assert module.link.mode == ("lto" if jit == JitOptions() else "ptx")
    else:
        assert module.link.mode == "ptx" and (jit == DRIVER or "LTO-IR" in module.link.why or jit.lto is False)
    assert cuda_wheel.load("plugin_demo.kernels.apply", link=[TRANSFORM], jit=jit) is module


def test_lto_inlines_the_users_function(plugin: str, nvrtc: None) -> None:
    if plugin != "here":
        pytest.skip("LTO-IR of another release")
    modules = {
        lto: cuda_wheel.load("plugin_demo.kernels.apply", link=[TRANSFORM], jit=JitOptions(lto=lto))
        for lto in (True, False)
    }
    registers = {lto: module["apply"].attributes.registers for lto, module in modules.items()}
    print({lto: module.link for lto, module in modules.items()}, registers)
    assert registers[True] < registers[False]  # the calling convention of a real call needs more registers


def test_another_packages_module_is_linked_with_its_variables(plugin: str, nvjitlink: None) -> None:
    module = cuda_wheel.load("plugin_demo.kernels.apply", link=["plugin_demo.kernels.waves"])
    module.globals["amplitude"].write(np.float32(4))
    result, x = apply(module, SIZES[0], 3.25)
    y = x * np.float32(3.25)
    np.testing.assert_allclose(result, np.float32(4) * (y - np.floor(y)), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("jit", [JitOptions(), DRIVER], ids=["best", "driver"])
def test_a_module_without_external_functions_is_linked_alone(jit: JitOptions, plugin: str) -> None:
    module = cuda_wheel.load("plugin_demo.kernels.matmul", link=[], jit=jit)
    print(module.link, module.link.log, module.link.errors, module.link.linker_seconds, sep="\n")
    n = 256
    a, b = np.random.default_rng(0).random((2, n, n), np.float32)
    c = Memory(np.zeros((n, n), np.float32))
    module["matmul"].launch((n // 16, n // 16), (16, 16), c, Memory(a), Memory(b), n)
    np.testing.assert_allclose(c.numpy(), a @ b, rtol=1e-4)


def test_a_missing_function_is_an_error_and_nothing_is_cached(plugin: str, nvjitlink: None, tmp_path: Path) -> None:
    with pytest.raises(
        LinkError, match=r"needs user_transform, which no piece defines; its declaration: .*user_transform"
    ):
        cuda_wheel.load("plugin_demo.kernels.apply", link=[])
    assert not [path for path in (tmp_path / "cache").rglob("*") if path.is_file()]


def test_a_cuda_core_object_is_linked(nvrtc: None) -> None:
    core = pytest.importorskip("cuda.core")
    major, minor = device_and_driver()[0]
    for kind, lto in (("ltoir", True), ("cubin", False)):
        options = core.ProgramOptions(
            arch=f"sm_{major}{minor}", relocatable_device_code=True, link_time_optimization=lto, name="user"
        )
        made = core.Program(CUDA_USER, "c++", options).compile(kind)
        linked = cuda_wheel.link([CUDA_APPLY, made])
        print(linked)
        assert linked.mode == ("lto" if lto else "ptx")
        check(cuda_wheel.load_code(linked.cubin))


@pytest.mark.parametrize("output", ["ltoir", "ptx"])
def test_a_numba_function_is_linked(output: str, nvrtc: None) -> None:
    if not hasattr(np, "row_stack"):  # Numba 0.68 uses it, and NumPy 2.4 removed it
        np.row_stack = np.vstack  # type: ignore[attr-defined]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Numba warns that NumPy is too new
            from numba import cuda, float32
    except Exception as error:
        pytest.skip(f"Numba cannot be imported: {error!r}")

    def user_transform(x):  # type: ignore[no-untyped-def]
        return float32(2) * x + float32(1)

    capability = device_and_driver()[0]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made = cuda.compile(
                user_transform,
                float32(float32),
                device=True,
                cc=capability,
                abi="c",
                abi_info={"abi_name": "user_transform"},
                output=output,
            )
    except Exception as error:
        pytest.skip(f"Numba cannot compile to {output} here: {error!r}")
    linked = cuda_wheel.link([CUDA_APPLY, made])
    print(linked)
    assert linked.mode == ("lto" if output == "ltoir" else "ptx")
    check(cuda_wheel.load_code(linked.cubin))


# --- code without a manifest -------------------------------------------------------------------------


def check_scale(module: Module) -> None:
    x = np.random.default_rng(0).random(256, np.float32)
    memory = Memory(x)
    module["scale"].launch(1, 256, memory, 0.5)
    np.testing.assert_allclose(memory.numpy(), np.float32(3) * x + np.float32(0.5), rtol=1e-6)


@pytest.mark.parametrize("by", ["path", "text", "bytes"])
def test_ptx_is_loaded_by_path_and_from_memory(by: str, tmp_path: Path) -> None:
    path = tmp_path / "scale.ptx"
    path.write_text(SHARED)
    module = cuda_wheel.load_code({"path": path, "text": SHARED, "bytes": SHARED.encode() + b"\0"}[by])
    kernel = module["scale"]
    occupancy = kernel.occupancy(256)
    print(module, kernel.attributes, occupancy, module.jit.log, sep="\n")
    assert kernel.attributes.registers > 0 and kernel.attributes.shared >= 4096
    assert occupancy.blocks > 0 and 0 < occupancy.share <= 1
    check_scale(module)
    assert [parameter.type for parameter in kernel.info.parameters] == ["u64", "f32"]
    module.globals["factor"].write(np.float32(5))
    memory = Memory(np.ones(256, np.float32))
    kernel.launch(1, 256, memory, 0.0)
    np.testing.assert_array_equal(memory.numpy(), np.full(256, 5, np.float32))


@pytest.mark.parametrize("by", ["path", "bytes"])
def test_a_cubin_is_loaded_by_path_and_from_memory(by: str, tmp_path: Path) -> None:
    cubin = cuda_wheel.link([named(SHARED, "scale.ptx")], jit=DRIVER).cubin
    path = tmp_path / "scale.cubin"
    path.write_bytes(cubin)
    module = cuda_wheel.load_code(path if by == "path" else cubin)
    kernel = module["scale"]
    print(module, kernel.attributes, kernel.occupancy(256), kernel.info, sep="\n")
    assert [(each.offset, each.size) for each in kernel.info.parameters] == [(0, 8), (8, 4)]
    assert kernel.attributes.shared >= 4096 and module.how == "native" and module.jit is None
    check_scale(module)
    assert module.globals["factor"].read() == np.float32(3).tobytes()


@pytest.mark.parametrize("holds", ["cubin", "ptx"])
def test_a_fatbin_is_loaded(holds: str) -> None:
    if library_path("nvfatbin") is None:
        pytest.skip("nvFatbin is not installed")
    major, minor = device_and_driver()[0]
    if holds == "cubin":
        cubin = cuda_wheel.link([named(SHARED, "scale.ptx")], jit=DRIVER).cubin
        content = make_fatbin([(("cubin", f"{major}{minor}", cubin), "scale")], ["-64"])
    else:
        content = make_fatbin([(("ptx", "80", SHARED.encode()), "scale")], ["-64"])
    module = cuda_wheel.load_code(content)
    print(module, module["scale"].attributes, module.jit and module.jit.log)
    check_scale(module)


def test_broken_ptx_is_an_error_with_the_compilers_log() -> None:
    with pytest.raises(DriverError) as caught:
        cuda_wheel.load_code(SHARED.replace("fma.rn", "fma.xx"))
    print(caught.value)
    assert "CUDA_ERROR_INVALID_PTX" in str(caught.value) and "Unknown modifier '.xx'" in str(caught.value)
    check_scale(cuda_wheel.load_code(SHARED))


def test_code_for_another_gpu_is_an_error(nvjitlink: None) -> None:
    other = 12 if device_and_driver()[0][0] != 12 else 9
    cubin = cuda_wheel.link([named(SHARED, "scale.ptx")], arch=f"{other}0").cubin
    with pytest.raises(ImageError, match=rf"piece\.cubin is machine code for {other}\.x, the GPU is"):
        cuda_wheel.load_code(cubin)
    with pytest.raises(LinkError, match=rf"piece\.cubin is machine code for {other}\.x, the GPU is"):
        cuda_wheel.link([APPLY, USER, cubin])


def test_linking_in_a_forked_child_is_an_error() -> None:
    program = f"""
import os, warnings
warnings.simplefilter("ignore", DeprecationWarning)
import cuda_wheel
cuda_wheel.load_code({SHARED!r})
if os.fork() == 0:
    try:
        cuda_wheel.link([{APPLY!r}, {USER!r}])
    except cuda_wheel.DriverError as error:
        print(error, flush=True)
    os._exit(0)
os.wait()
"""
    result = run(sys.executable, "-c", program)
    assert "this process was forked from one that had initialised CUDA" in result.stdout, result.stdout
