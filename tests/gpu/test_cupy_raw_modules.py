"""`cuda_wheel.cupy.RawModule` gives what CuPy's own RawModule gives, bit by bit, with the same source and arguments."""

from __future__ import annotations

import gc
import pickle
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cuda_wheel
from cuda_wheel.cupy import RawKernel, RawModule
from cuda_wheel.runtime.driver import device_count
from cuda_wheel.runtime.errors import ArgumentError
from cuda_wheel.runtime.parts.linking.cuda_compiler import nvrtc_version
from tests.gpu.test_launch import source_tree  # noqa: F401 - a fixture
from tests.support.linkable import by_nvrtc

cupy = pytest.importorskip("cupy")

CODE = (Path(__file__).parent / "kernels/raw_module.cu").read_text()
NAMES = ["parts::shift<float, 2>", "parts::shift<complex<float>, 3>", "parts::shift<double, -1>"]
N = 1000


@pytest.fixture(scope="module")
def original() -> Any:
    return cupy.RawModule(code=CODE, name_expressions=NAMES)


@pytest.fixture(scope="module")
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    patch = pytest.MonkeyPatch()
    patch.setenv("CUDA_WHEEL_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
    yield
    patch.undo()


@pytest.fixture(scope="module")
def of_a_wheel(source_tree: Callable[..., None], own_cache: None) -> RawModule:  # noqa: F811
    """Return the module of a source tree, compiled as a build compiles it."""
    instantiate = ", ".join(f'"{name}"' for name in NAMES)
    table = '[[tool.cuda-wheel.module]]\nname = "raw.kernels"\noptions = ["--ftz=true", "-default-device"]\n'
    table += f"instantiate = [{instantiate}]\n"
    source_tree("raw", {"kernels.cu": CODE}, table)
    return RawModule("raw.kernels")


@pytest.fixture(scope="module")
def of_a_text(own_cache: None) -> RawModule:
    return RawModule(code=CODE, name_expressions=NAMES)


@pytest.fixture(scope="module", params=["of_a_wheel", "of_a_text"])
def module(request: pytest.FixtureRequest) -> RawModule:
    return request.getfixturevalue(request.param)  # type: ignore[no-any-return]


def same(original: Any, module: RawModule, name: str, make: Callable[[], tuple[Any, ...]], **launch: Any) -> list[Any]:
    """Run a kernel of both modules with equal arguments; check that all arrays have the same bytes, and return ours."""
    grid, block = launch.pop("grid", (4,)), launch.pop("block", (256,))
    results = []
    for each in (original, module):
        args = make()
        each.get_function(name)(grid, block, args, **launch)
        cupy.cuda.Device().synchronize()
        results.append([array.get() for array in args if isinstance(array, cupy.ndarray)])
    for expected, found in zip(*results, strict=True):
        assert expected.tobytes() == found.tobytes(), (name, expected, found)
    return results[1]


def filled(module: Any) -> Any:
    """Write the module's constant memory by the pointer that get_global returns."""
    table = cupy.ndarray((4,), cupy.float32, module.get_global("table"))
    table[...] = cupy.array([1, 2, 3, 1e-40], cupy.float32)
    return module


def test_numbers_below_the_normal_ones_are_flushed_as_by_cupy(original: Any, module: RawModule) -> None:
    values = np.concatenate([np.linspace(-3, 3, N - 3), [1e-39, -1e-40, 3e-38]]).astype(np.float32)

    def make() -> tuple[Any, ...]:
        return cupy.array(values), cupy.zeros(N, np.float32), cupy.float32(0.3), cupy.int32(N)

    _, y = same(filled(original), filled(module), "scale", make)
    assert y[N - 3] in (1, 2, 3, 0) and y[0] != 0


@pytest.mark.parametrize(
    "numbers",
    [
        (1.1, np.float32(2.2), True, np.int8(-3), np.int16(-4), np.uint16(5), np.int32(-6), np.uint32(7), -8, 9, 10),
        (
            *(np.float64(-0.0), np.float32("inf"), np.bool_(False), np.int8(127), np.int16(1), np.uint16(65535)),
            *(np.uint32(0xFFFFFFFF), np.int32(-1), np.uint64(1 << 63), -1, np.int64(-2)),
        ),
        (
            *(np.array(1.5), np.array([2.5], np.float32), np.array([[True]]), np.array(1, np.int8)),
            *(np.array([2], np.int16), np.uint16(0), np.array([3], np.int32), np.array(4, np.uint32)),
            *(1 << 62, (1 << 64) - 1, 0),
        ),
    ],
)
def test_numbers_of_each_type(numbers: tuple[Any, ...], original: Any, module: RawModule) -> None:
    same(original, module, "numbers", lambda: (cupy.zeros(11), *numbers), grid=(1,), block=(1,))


def test_complex_numbers(original: Any, module: RawModule) -> None:
    if tuple(cupy.cuda.nvrtc.getVersion()) != nvrtc_version():
        pytest.skip("CuPy's NVRTC is of another release, whose mathematical functions may differ")

    def make() -> tuple[Any, ...]:
        single, double = np.array([1 + 2j, -3 + 0.5j, 0.1j], np.complex64), np.array([0.3 - 1j, 2j, 0.7 + 0.1j])
        return cupy.array(single), cupy.array(double), np.complex64(1.5 - 0.5j), 2.5 + 1j

    x, _ = same(original, module, "complexes", make, grid=(1,), block=(1,))
    assert np.isfinite(x).all()


def test_structs_and_half_precision(original: Any, module: RawModule) -> None:
    record = np.zeros(1, np.dtype([("n", "i4"), ("x", "f4"), ("d", "f8")]))
    record[0] = (3, 2.5, -1e300)
    for given in (record, record[0]):
        numbers = given, np.float32(7.5), np.float16(0.1), np.float16(-2)
        (found,) = same(
            original, module, "structs", lambda given=numbers: (cupy.zeros(6), *given), grid=(1,), block=(1,)
        )
        assert list(found) == [3, 2.5, -1e300, 7.5, float(np.float16(0.1)), -2]


def test_pointers_and_none(original: Any, module: RawModule) -> None:
    values = cupy.arange(4, dtype=cupy.float32)
    for pointer in (values, values[2:], values.data + 4, None):
        same(
            original,
            module,
            "places",
            lambda pointer=pointer: (cupy.zeros(3, np.int32), pointer, None),
            grid=(1,),
            block=(1,),
        )


def test_textures(original: Any, module: RawModule) -> None:
    description = cupy.cuda.texture.ChannelFormatDescriptor(32, 0, 0, 0, cupy.cuda.runtime.cudaChannelFormatKindFloat)
    values = cupy.arange(8, dtype=cupy.float32)
    linear = cupy.cuda.texture.ResourceDescriptor(
        cupy.cuda.runtime.cudaResourceTypeLinear, arr=values, chDesc=description, sizeInBytes=values.nbytes
    )
    texture = cupy.cuda.texture.TextureObject(linear, cupy.cuda.texture.TextureDescriptor())
    (found,) = same(original, module, "texel", lambda: (cupy.zeros(8, np.float32), texture), grid=(1,), block=(8,))
    assert list(found) == list(range(8))


def test_arrays_by_value(original: Any, module: RawModule) -> None:
    whole = cupy.arange(60, dtype=cupy.float32).reshape(6, 10)
    for view in (whole, whole.T, whole[::2, 1:9:3]):
        same(original, module, "strided", lambda view=view: (view, cupy.zeros(view.size, np.float32)))
    with pytest.raises(ArgumentError, match="C order"):
        module.get_function("strided")((1,), (1,), (whole, cupy.zeros((8,), np.float32)[::2]))


@pytest.mark.parametrize("name", NAMES)
def test_instances_of_templates(name: str, original: Any, module: RawModule) -> None:
    dtype = np.complex64 if "complex" in name else np.float64 if "double" in name else np.float32
    same(original, module, name, lambda: (cupy.arange(N, dtype=dtype), np.int32(N)))


@pytest.mark.parametrize(
    ("grid", "block"),
    [((2,), (3,)), ((2, 3), (4, 5)), ((2, 3, 4), (5, 6, 7)), ((0, 2), (0,)), ([1, 1], (1,))],
)
def test_sizes(grid: Any, block: Any, original: Any, module: RawModule) -> None:
    if isinstance(grid, list):  # CuPy takes tuples only
        grid = tuple(grid)
    same(original, module, "size", lambda: (cupy.zeros(7, np.int32),), grid=grid, block=block)


def test_shared_memory_above_the_default_limit(original: Any, module: RawModule) -> None:
    count = 60 << 8
    for each in (original, module):
        kernel = each.get_function("shared")
        kernel.max_dynamic_shared_size_bytes = 4 * count
        assert kernel.max_dynamic_shared_size_bytes == kernel.attributes["max_dynamic_shared_size_bytes"] == 4 * count
        found = cupy.zeros(1, np.int32)
        kernel((1,), (64,), (found, np.int32(count)), shared_mem=4 * count)
        assert int(found[0]) == count - 1


@pytest.mark.parametrize("name", ["scale", "complexes", "shared", "together"])
def test_attributes(name: str, original: Any, module: RawModule) -> None:
    expected, found = (each.get_function(name).attributes for each in (original, module))
    assert expected.keys() == found.keys()
    assert found["num_regs"] > 0 and found["max_threads_per_block"] == expected["max_threads_per_block"]
    assert all(found[key] == expected[key] for key in ("shared_size_bytes", "const_size_bytes", "cache_mode_ca"))


def test_current_and_given_streams(original: Any, module: RawModule) -> None:
    wait = cupy.RawKernel(
        """extern "C" __global__ void wait(float* x)
        { long long start = clock64(); while (clock64() - start < 200000000) {} x[0] = 5; }""",
        "wait",
    )
    filled(module)
    scale = module.get_function("scale")
    stream = cupy.cuda.Stream(non_blocking=True)
    for given in (False, True):
        x, y = cupy.zeros(4, np.float32), cupy.zeros(4, np.float32)
        cupy.cuda.Device().synchronize()
        with stream:
            wait((1,), (1,), (x,))
            if not given:
                scale((1,), (4,), (x, y, cupy.float32(2), 4))
                scale((1,), (4,), (x.data, y.data, cupy.float32(2), 4))  # no array names a library
        if given:
            scale((1,), (4,), (x, y, cupy.float32(2), 4), stream=stream)
        stream.synchronize()
        assert float(y[0]) == 11


def test_a_graph_of_cupy(original: Any, module: RawModule) -> None:
    filled(module)
    scale = module.get_function("scale")
    x, y = cupy.ones(4, np.float32), cupy.zeros(4, np.float32)
    scale((1,), (4,), (x, y, cupy.float32(2), 4))
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        stream.begin_capture()
        scale((1,), (4,), (x, y, cupy.float32(3), 4))
        graph = stream.end_capture()
        assert float(y[0]) == 3
        graph.launch()
    stream.synchronize()
    assert float(y[0]) == 4


def test_cooperative_launches(module: RawModule, own_cache: None) -> None:
    ours = (
        RawModule("raw.kernels", enable_cooperative_groups=True)
        if module.code is None
        else RawModule(code=CODE, name_expressions=NAMES, enable_cooperative_groups=True)
    )
    original = cupy.RawModule(code=CODE, name_expressions=NAMES, enable_cooperative_groups=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        same(original, ours, "together", lambda: (cupy.zeros(9, np.int32),), grid=(8,), block=(32,))
    with pytest.warns(UserWarning, match="reduced"):
        same(original, ours, "together", lambda: (cupy.zeros(1 << 20, np.int32),), grid=((1 << 20) - 1,), block=(1024,))


def test_variables(original: Any, module: RawModule) -> None:
    pointer = module.get_global("counters")
    assert isinstance(pointer, cupy.cuda.MemoryPointer)
    counters = cupy.ndarray((2,), cupy.int32, pointer)
    counters[...] = cupy.array([4, 5], cupy.int32)
    del pointer
    gc.collect()
    assert list(map(int, cupy.ndarray((2,), cupy.int32, module.get_global("counters")))) == [4, 5]


def test_a_raw_kernel_of_a_text(own_cache: None) -> None:
    text = 'extern "C" __global__ void add(float* x, float a) { x[threadIdx.x] += a * FACTOR; }'
    results = []
    for kind in (cupy.RawKernel, RawKernel):
        kernel = kind(text, "add", ("-DFACTOR=3",), enable_cooperative_groups=False)
        x = cupy.arange(4, dtype=np.float32)
        kernel((1,), (4,), (x, np.float32(0.1)))
        pickle.loads(pickle.dumps(kernel))((1,), (4,), (x, np.float32(0.1)))
        results.append(x.get().tobytes())
    assert results[0] == results[1]


def test_cucomplex_is_translated(own_cache: None) -> None:
    text = """
    #include <cuComplex.h>
    extern "C" __global__ void k(cuComplex* x) { x[0] = cuCdivf(cuCmulf(x[1], x[2]), make_cuComplex(3, cuCabsf(x[1]))); }
    """
    results = []
    for kind in (cupy.RawModule, RawModule):
        x = cupy.array([0, 1 + 2j, 3 - 1j], np.complex64)
        kind(code=text, translate_cucomplex=True).get_function("k")((1,), (1,), (x,))
        results.append(x.get().tobytes())
    assert results[0] == results[1]


@pytest.mark.parametrize("kind", ["ptx", "cubin"])
def test_files_of_machine_code(kind: str, tmp_path: Path) -> None:
    text = 'extern "C" __global__ void add(float* x, float a, int n, double d) { x[0] += a * n + d; }'
    capability = cupy.cuda.Device().compute_capability
    path = tmp_path / f"add.{kind}"
    code = by_nvrtc(text, [f"-arch={'sm' if kind == 'cubin' else 'compute'}_{capability}"])[kind]  # type: ignore[literal-required]
    path.write_bytes(code.rstrip(b"\0") if kind == "ptx" else code)
    results = []
    for maker in (cupy.RawModule, RawModule):
        x = cupy.ones(1, np.float32)
        maker(path=str(path)).get_function("add")((1,), (1,), (x, np.float32(1.5), np.int32(3), 0.25))
        results.append(float(x[0]))
    assert results[0] == results[1] == 5.75


def test_what_cupy_passes_wrongly_in_silence_is_an_error(module: RawModule) -> None:
    scale = module.get_function("scale")
    x, y = cupy.zeros(4, np.float32), cupy.zeros(4, np.float32)
    for args, message in (
        ((x.astype(np.float64), y, 1.0, 4), "takes an array of float32, not of float64"),
        ((x, y, 1, 4), "takes a floating-point number, not the integer 1"),
        ((x, y, 1.0, 4.0), "takes an integer"),
        ((x, y, 1.0, 1 << 40), "is out of range"),
        ((x, y, 1.0), "takes 4 arguments"),
    ):
        with pytest.raises(ArgumentError, match=message):
            scale((1,), (4,), args)


def test_each_gpu_has_its_own(module: RawModule) -> None:
    if device_count() < 2:
        pytest.skip("there is one GPU")
    for device in (1, 0, 1):
        with cupy.cuda.Device(device):
            filled(module)
            x, y = cupy.ones(4, np.float32), cupy.zeros(4, np.float32)
            module.get_function("scale")((1,), (4,), (x, y, cupy.float32(2), 4))
            assert list(map(float, y)) == [3, 4, 5, 2]
            assert module.get_global("counters").device_id == device
    assert isinstance(module.module, cuda_wheel.Module)
