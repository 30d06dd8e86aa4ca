"""Values on a real GPU: arrays whose memory says something else, numbers of every declaration, and code without kernels."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest

import cuda_wheel
from cuda_wheel.runtime.driver import device_count
from cuda_wheel.runtime.errors import ArgumentError, DriverError
from cuda_wheel.runtime.jit import JitOptions
from cuda_wheel.runtime.loading import load_ptx
from cuda_wheel.runtime.manifest import GlobalInfo, Image, KernelInfo, Manifest, Parameter, Target
from cuda_wheel.runtime.module import Kernel, Module
from tests.gpu.support import Memory, value
from tests.gpu.test_launch import source_tree  # noqa: F401 - a fixture

pytestmark = pytest.mark.usefixtures("context", "nothing_loaded")

HEAD = ".version 7.0\n.target sm_75\n.address_size 64\n"
TABLE = ".visible .const .align 4 .b8 table[16] = {1, 0, 0, 0, 2, 0, 0, 0};\n"
COPY = """
.visible .entry copy(.param .u64 target, .param .u64 source)
{
    .reg .b64 %rd<5>;
    .reg .b32 %r<2>;
    ld.param.u64 %rd1, [target];
    ld.param.u64 %rd2, [source];
    cvta.to.global.u64 %rd3, %rd1;
    cvta.to.global.u64 %rd4, %rd2;
    ld.global.u32 %r1, [%rd4];
    st.global.u32 [%rd3], %r1;
    ret;
}
"""
FLOATS = (Parameter("u64", 0, 8, "float*"), Parameter("u64", 8, 8, "const float*"))


UNKNOWN = """
.visible .entry unknown(.param .u64 out, .param .u64 a, .param .u16 b)
{
    .reg .b64 %rd<4>;
    .reg .b16 %rs<2>;
    .reg .f64 %f<3>;
    ld.param.u64 %rd1, [out];
    cvta.to.global.u64 %rd2, %rd1;
    ld.param.u64 %rd3, [a];
    cvt.rn.f64.u64 %f1, %rd3;
    st.global.f64 [%rd2], %f1;
    ld.param.u16 %rs1, [b];
    cvt.rn.f64.s16 %f2, %rs1;
    st.global.f64 [%rd2+8], %f2;
    ret;
}
"""


def loaded(text: str, *kernels: KernelInfo, variables: tuple[GlobalInfo, ...] = ()) -> Module:
    """Return the module of a PTX text as the loader makes it from a wheel."""
    target = Target.parse("compute_75")
    image = Image("ptx", target, (7, 0), (7, 0), (11, 0), 0, len(text), "0" * 64, {})
    manifest = Manifest(
        "values.ptx", "ptx.fatbin", 1, "0" * 64, {"nvrtc": "12.9.86"}, (), (), (image,), kernels, variables
    )
    return load_ptx(manifest, image, text.encode() + b"\0", JitOptions())


# --- PTX that lacks kernels -------------------------------------------------------------------------


def test_ptx_without_the_manifests_first_kernel_loads_and_runs() -> None:
    absent = KernelInfo("absent", "absent", (), ("compute_75",))
    module = loaded(HEAD + COPY, absent, KernelInfo("copy", "copy", FLOATS))
    source, target = Memory(np.array([1.5], np.float32)), Memory(np.zeros(1, np.float32))
    module["copy"].launch(1, 1, target, source)
    assert target.numpy().tolist() == [1.5]
    with pytest.raises(cuda_wheel.UnknownKernelError, match="was built without that kernel"):
        module["absent"]
    module.unload()


def test_ptx_with_variables_only_loads_and_its_variables_are_read() -> None:
    absent = KernelInfo("absent", "absent", (), ("compute_75",))
    module = loaded(HEAD + TABLE, absent, variables=(GlobalInfo("table", "table", "constant", 16),))
    content = module.globals["table"].read()
    assert content is not None
    assert np.frombuffer(content, np.int32).tolist() == [1, 2, 0, 0]
    module.unload()


@pytest.mark.parametrize("kernels", [(), (KernelInfo("copy", "copy", FLOATS),)], ids=["variables only", "a kernel"])
def test_an_error_of_the_drivers_compiler_has_its_log(kernels: tuple[KernelInfo, ...]) -> None:
    """With a kernel, or with a driver that counts kernels, at the load; else at the first use of a variable."""
    text = HEAD + TABLE + COPY.replace("ld.global.u32", "ld.global.xx.u32")
    with pytest.raises(DriverError) as caught:
        module = loaded(text, *kernels, variables=(GlobalInfo("table", "table", "constant", 16),))
        assert not kernels
        print("compiled at the first use of a variable")
        module.globals["table"].address  # noqa: B018
    print(caught.value)
    assert "CUDA_ERROR_INVALID_PTX" in str(caught.value) and ".xx" in str(caught.value)


# --- tensors of PyTorch -------------------------------------------------------------------------------


@pytest.fixture
def copy() -> Iterator[Kernel]:
    module = loaded(HEAD + COPY, KernelInfo("copy", "copy", FLOATS))
    yield module["copy"]
    module.unload()


def test_a_lazily_negated_tensor_is_refused_each_time(copy: Kernel) -> None:
    torch = pytest.importorskip("torch")
    z = torch.tensor([1 + 2j], dtype=torch.complex64, device="cuda")
    lazy = z.conj().imag
    assert lazy.is_neg() and lazy.dtype is torch.float32 and lazy.tolist() == [-2]
    target = torch.zeros(1, device="cuda")
    for _ in range(3):
        copy.launch(1, 1, target, z.imag)
        torch.cuda.synchronize()
        assert target.tolist() == [2]
        for bad in ((target, lazy), (lazy, target)):
            with pytest.raises(ArgumentError, match=r"is a lazily negated tensor: pass tensor\.resolve_neg\(\)$"):
                copy.launch(1, 1, *bad)
    copy.launch(1, 1, target, lazy.resolve_neg())
    torch.cuda.synchronize()
    assert target.tolist() == [-2]


def test_tensors_that_hold_their_numbers_are_accepted(copy: Kernel) -> None:
    torch = pytest.importorskip("torch")
    target = torch.zeros(1, device="cuda")
    sources = [
        torch.full((1,), 3.0, device="cuda", requires_grad=True),
        torch.nn.Parameter(torch.full((1,), 3.0, device="cuda")),
        torch.full((2, 2), 3.0, device="cuda").t(),
        torch.full((1,), 3.0).pin_memory(),
    ]
    for source in sources * 2:
        target.zero_()
        copy.launch(1, 1, target, source)
        torch.cuda.synchronize()
        assert target.tolist() == [3]


def test_tensors_without_memory_are_refused(copy: Kernel) -> None:
    torch = pytest.importorskip("torch")
    fake = pytest.importorskip("torch._subclasses.fake_tensor")
    good = torch.zeros(1, device="cuda")
    with fake.FakeTensorMode():
        imitation = torch.zeros(1, device="cuda")
    bad = [
        imitation,
        torch.zeros(1, device="meta"),
        torch.ones(1, device="cuda").to_sparse(),
        torch.zeros(1),
        torch._efficientzerotensor((1,), device="cuda"),
    ]
    for tensor in bad:
        for _ in range(2):
            copy.launch(1, 1, good, good)
            with pytest.raises(ArgumentError) as caught:
                copy.launch(1, 1, good, tensor)
            print(caught.value)


def test_a_variable_refuses_lazy_tensors() -> None:
    torch = pytest.importorskip("torch")
    module = loaded(HEAD + TABLE, variables=(GlobalInfo("table", "table", "constant", 16),))
    table = module.globals["table"]
    z = torch.tensor([1 + 2j, 3 + 4j], dtype=torch.complex64, device="cuda")
    table.write(z)
    content = table.read()
    for bad, help in ((z.conj(), "resolve_conj"), (z.conj().imag, "resolve_neg")):
        with pytest.raises(ArgumentError, match=help):
            table.write(bad)
    assert table.read() == content == np.array([1 + 2j, 3 + 4j], np.complex64).tobytes()
    module.unload()


# --- arrays on another GPU ----------------------------------------------------------------------------


def test_an_array_interface_on_another_gpu_is_refused(copy: Kernel) -> None:
    if device_count() < 2:
        pytest.skip("needs two GPUs")
    from cuda.bindings import driver

    here = Memory(np.array([1.5], np.float32))
    value(driver.cuCtxPushCurrent(value(driver.cuDevicePrimaryCtxRetain(1))))
    there = Memory(np.array([2.5], np.float32))
    value(driver.cuCtxPopCurrent())
    for _ in range(2):
        copy.launch(1, 1, here, here)
        with pytest.raises(ArgumentError, match="is an array on GPU 1, but the launch is on GPU 0"):
            copy.launch(1, 1, here, there)
    _, managed = driver.cuMemAllocManaged(4, 1)
    copy.launch(1, 1, here, Interface(int(managed)))


class Interface:
    def __init__(self, address: int) -> None:
        self.__cuda_array_interface__ = {"shape": (1,), "typestr": "<f4", "data": (address, False), "version": 3}


@pytest.mark.parametrize("library", ["cupy", "torch", "numba"])
def test_arrays_of_every_library(copy: Kernel, library: str) -> None:
    if library == "cupy":
        cupy = pytest.importorskip("cupy")
        source, empty = cupy.full(1, 2.5, cupy.float32), cupy.zeros(0, cupy.float32)
    elif library == "torch":
        torch = pytest.importorskip("torch")
        source, empty = torch.full((1,), 2.5, device="cuda"), torch.zeros(0, device="cuda")
    else:
        cuda = pytest.importorskip("numba.cuda")
        source, empty = cuda.to_device(np.full(1, 2.5, np.float32)), cuda.device_array(0, np.float32)
    target = Memory(np.zeros(1, np.float32))
    for _ in range(2):
        copy.launch(1, 1, target, source)
        assert target.numpy().tolist() == [2.5]
    null = loaded(
        HEAD + COPY.replace("ld.global.u32 %r1, [%rd4];", "cvt.u32.u64 %r1, %rd2;"), KernelInfo("copy", "copy", FLOATS)
    )
    null["copy"].launch(1, 1, target, empty)
    if library != "numba":  # which allocates memory for an empty array
        assert target.numpy().view(np.uint32).tolist() == [0]
    null.unload()


# --- numbers -------------------------------------------------------------------------------------------

SOURCE = """
__global__ void constants(double* out, const __grid_constant__ int a, const __grid_constant__ float b,
                          const __grid_constant__ bool c, const __grid_constant__ double d, const __grid_constant__ long e)
{
    out[0] = a; out[1] = b; out[2] = c; out[3] = d; out[4] = double(e);
}
extern "C" __global__ void plain(double* out, const __grid_constant__ int a, const __grid_constant__ float b)
{
    out[0] = a; out[1] = b;
}
__global__ void longs(double* out, const long* a, const unsigned long* b)
{
    out[0] = double(a[1]); out[1] = double(b[1]);
}
namespace nv { __device__ int mine = 5; }
namespace cuda { __constant__ float mine[2] = {1, 2}; }
__device__ int __nv_mine = 7, _ZTable = 9;
__global__ void variables(double* out)
{
    out[0] = nv::mine; out[1] = cuda::mine[1]; out[2] = __nv_mine; out[3] = _ZTable;
}
"""


@pytest.fixture(scope="module")
def module(source_tree: Callable[..., None], tmp_path_factory: pytest.TempPathFactory) -> Module:  # noqa: F811
    patch = pytest.MonkeyPatch()
    patch.setenv("CUDA_WHEEL_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
    source_tree("values_demo", {"values.cu": SOURCE})
    loaded = cuda_wheel.load("values_demo.values")
    patch.undo()
    return loaded


def test_values_reach_the_kernel_as_they_are(module: Module) -> None:
    out = Memory(np.zeros(5))
    for arguments in (
        (-7, 0.5, True, 0.1, -(1 << 40)),
        (np.int8(-7), np.float64(0.5), np.True_, np.float64(0.1), np.int64(-(1 << 40))),
        (np.array(-7), np.array(0.5), np.array(True), np.array(0.1), np.array(-(1 << 40), ">i8")),
    ):
        module["constants"].launch(1, 1, out, *arguments)
        assert out.numpy().tolist() == [-7, 0.5, 1, 0.1, -(1 << 40)]
    module["plain"].launch(1, 1, out, 3, 2)
    assert out.numpy()[:2].tolist() == [3, 2]
    for bad in ((np.float32(1), 1.0), (1.0, 1.0), (1, "1")):
        with pytest.raises(ArgumentError):
            module["plain"].launch(1, 1, out, *bad)


def test_a_negative_number_for_an_unknown_type_must_say_its_type() -> None:
    module = cuda_wheel.load_code((HEAD + UNKNOWN).encode())
    out = Memory(np.zeros(2))
    module["unknown"].launch(1, 1, out, np.uint64(1 << 63), np.int16(-3))
    assert out.numpy().tolist() == [float(1 << 63), -3]
    with pytest.raises(ArgumentError, match=r"-1 fits a signed parameter only.*numpy\.int64\(-1\)$"):
        module["unknown"].launch(1, 1, out, -1, 0)
    with pytest.raises(ArgumentError, match=r"-3 fits a signed parameter only.*numpy\.int16\(-3\)$"):
        module["unknown"].launch(1, 1, out, 1, -3)


def test_pointers_to_long_take_arrays_of_8_bytes(module: Module) -> None:
    assert module.manifest.long_size == np.dtype("long").itemsize
    out = Memory(np.zeros(2))
    signed, unsigned = Memory(np.array([1, -(1 << 40)], "long")), Memory(np.array([1, 1 << 40], "ulong"))
    module["longs"].launch(1, 1, out, signed, unsigned)
    assert out.numpy().tolist() == [-float(1 << 40), float(1 << 40)]
    with pytest.raises(ArgumentError, match="takes an array of int64, not of int32"):
        module["longs"].launch(1, 1, out, Memory(np.zeros(2, np.int32)), unsigned)


def test_variables_in_any_namespace_are_listed_and_written(module: Module) -> None:
    out = Memory(np.zeros(4))
    module["variables"].launch(1, 1, out)
    assert out.numpy().tolist() == [5, 2, 7, 9]
    assert set(module.globals) == {"nv::mine", "cuda::mine", "__nv_mine", "_ZTable"}
    for number, name in enumerate(("nv::mine", "__nv_mine", "_ZTable")):
        module.globals[name].write(np.int32(number + 20))
    module.globals["cuda::mine"].write(np.array([0, 30], np.float32))
    module["variables"].launch(1, 1, out)
    assert out.numpy().tolist() == [20, 30, 21, 22]
