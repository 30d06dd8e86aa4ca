"""Launches on a real GPU with every kind of argument and configuration, valid and invalid, compared with NumPy."""

from __future__ import annotations

import sys
import textwrap
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cuda_wheel
from cuda_wheel.runtime.driver import device_and_driver, device_count
from cuda_wheel.runtime.errors import ArgumentError, DriverError
from cuda_wheel.runtime.module import Module
from tests.gpu.support import Memory, compare_signatures
from tests.support.processes import run
from tests.support.toolchains import installed_extra

pytestmark = pytest.mark.usefixtures("context")

KERNELS = Path(__file__).parent / "kernels"
COPIED = {
    "float": "float32",
    "double": "float64",
    "int": "int32",
    "unsigned int": "uint32",
    "long long": "int64",
    "unsigned long long": "uint64",
    "short": "int16",
    "unsigned short": "uint16",
    "signed char": "int8",
    "unsigned char": "uint8",
    "bool": "bool",
    "__half": "float16",
    "float2": "complex64",
    "double2": "complex128",
}


def write_project(root: Path, name: str, sources: dict[str, str], table: str = "") -> None:
    """Write a project with one package in its root folder, for compilation on load."""
    package = root / name
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    for file, text in sources.items():
        (package / file).write_text(text)
    head = '[build-system]\nrequires = ["hatchling", "cuda-wheel[tools]"]\nbuild-backend = "hatchling.build"\n'
    project = f'[project]\nname = "{name}"\nversion = "1"\n[tool.cuda-wheel]\n'
    (root / "pyproject.toml").write_text(head + project + textwrap.dedent(table))


@pytest.fixture(scope="module")
def source_tree(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., None]]:
    """Return a function that makes a package of CUDA sources importable."""
    if installed_extra() is None:
        pytest.skip("no toolchain is installed here")
    patch = pytest.MonkeyPatch()

    def make(name: str, sources: dict[str, str], table: str = "") -> None:
        root = tmp_path_factory.mktemp(name)
        write_project(root, name, sources, table)
        patch.syspath_prepend(root)

    yield make
    patch.undo()


@pytest.fixture(scope="module")
def module(source_tree: Callable[..., None], tmp_path_factory: pytest.TempPathFactory) -> Module:
    patch = pytest.MonkeyPatch()
    patch.setenv("CUDA_WHEEL_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
    instantiate = ", ".join(f'"copy<{element}>"' for element in COPIED)
    table = f'[[tool.cuda-wheel.module]]\nname = "launches.arguments"\ninstantiate = [{instantiate}]\n'
    source_tree("launches", {"arguments.cu": (KERNELS / "arguments.cu").read_text()}, table)
    loaded = cuda_wheel.load("launches.arguments")
    patch.undo()
    return loaded


# --- valid launches ---------------------------------------------------------------------------------


def test_every_kind_of_number_arrives_as_declared(module: Module) -> None:
    out = Memory(np.zeros(15))
    large = (1 << 63, -(1 << 62))
    numbers = [-7, 200, -30000, 60000, -(1 << 31), (1 << 32) - 1, large[1], large[0], 1.5, 0.1, True, 65, 0.25, -2.5, 2]
    module["numbers"].launch(1, 1, out, *numbers)
    assert out.numpy().tolist() == [float(number) for number in numbers]


def test_numpys_numbers_arrive_too(module: Module) -> None:
    out = Memory(np.zeros(15))
    kinds = [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64, np.float32, np.float64]
    kinds += [np.bool_, np.int8, np.float16, np.float32, np.int32]
    numbers = [kind(index % 2) for index, kind in enumerate(kinds)]
    module["numbers"].launch(np.int64(1), np.int32(1), out, *numbers)
    assert out.numpy().tolist() == [index % 2 for index in range(15)]


def test_floats_are_rounded_to_the_declared_width(module: Module) -> None:
    out = Memory(np.zeros(15))
    module["numbers"].launch(1, 1, out, 0, 0, 0, 0, 0, 0, 0, 0, 0.1, 0.1, False, 0, 0.1, 1.01171875, 0)
    found = out.numpy()
    assert found[8] == np.float32(0.1) and found[9] == 0.1 and found[12] == np.float16(0.1)
    assert found[13] == 1.015625  # halfway between two numbers of 8 bits: the even one


@pytest.mark.parametrize(
    ("a", "b", "c", "e"), [(-1, 4294967295, -(1 << 63), -5), (2**31 - 1, 0, (1 << 62), 32767), (0, -1, 0, -32768)]
)
def test_arguments_without_known_types_have_the_declared_width(module: Module, a: int, b: int, c: int, e: int) -> None:
    out = Memory(np.zeros(5))
    b %= 1 << 32
    module["bare"].launch(1, 1, out, np.int32(a), np.uint32(b), np.int64(c), 2.5, np.int16(e))
    assert out.numpy().tolist() == [a, b, c, 2.5, e]
    module["bare"].launch(1, 1, out, a, b, c, 2.5, e, check=False)
    assert out.numpy().tolist() == [a, b, c, 2.5, e]


def test_structs_by_value(module: Module) -> None:
    pair = np.zeros((), [("first", "i4"), ("pad", "i4"), ("second", "f8")])
    pair["first"], pair["second"] = 7, 0.125
    four = np.array([1, -2, 3, -4], np.int32)
    expected = [7, 0.125, 1.5, 2.5, 1, -2, 3, -4, 0.5, -1.5, 3, 2, 255]
    kernel = module["structs"]
    for pair_value in (pair, pair[()], pair.tobytes(), bytearray(pair.tobytes()), memoryview(pair.tobytes())):
        for four_value in (four, (1, -2, 3, -4), four.tobytes()):
            out = Memory(np.zeros(13))
            kernel.launch(1, 1, out, 1, pair_value, (1.5, 2.5), four_value, 0.5 - 1.5j, (2, 2, 255))
            assert out.numpy().tolist() == expected


@pytest.mark.parametrize("element", COPIED)
def test_arrays_of_every_type(module: Module, element: str) -> None:
    dtype = np.dtype(COPIED[element])
    content = np.random.default_rng(0).integers(0, 2 if dtype.kind == "b" else 100, 1000).astype(dtype)
    source, target = Memory(content, read_only=True), Memory(np.zeros_like(content))
    module[f"copy<{element}>"].launch(4, 256, source, target, 1000)
    assert (target.numpy() == content).all()
    if COPIED[element] != "int64":
        with pytest.raises(ArgumentError, match=r"argument 1 \(const .*\*\): takes an array of .*, not of int64"):
            module[f"copy<{element}>"].launch(4, 256, Memory(np.zeros(1000, np.int64)), target, 1000)


def test_a_lazily_conjugated_tensor_is_rejected(module: Module) -> None:
    torch = pytest.importorskip("torch")
    source = torch.tensor([1 + 2j, 3 - 4j], dtype=torch.complex64, device="cuda")
    target = torch.zeros_like(source)
    kernel = module["copy<float2>"]
    for _ in range(2):
        kernel.launch(1, 2, source, target, 2)
        assert target.tolist() == [1 + 2j, 3 - 4j]
        with pytest.raises(ArgumentError, match=r"argument 1 .*: is a lazily conjugated tensor"):
            kernel.launch(1, 2, source.conj(), target, 2)
    kernel.launch(1, 2, source.conj().resolve_conj(), target, 2)
    assert target.tolist() == [1 - 2j, 3 + 4j]


def test_addresses_and_null(module: Module) -> None:
    out = Memory(np.zeros(1, np.int32))
    for pointer, null in ((None, 1), (0, 1), (out.address, 0), (np.uint64(out.address), 0), (out, 0)):
        module["is_null"].launch(1, 1, pointer, out)
        assert out.numpy().tolist() == [null]


@pytest.mark.parametrize(
    ("grid", "block"), [(5, 7), ((5,), (7,)), ((2, 3), (4, 5)), ((2, 3, 4), (5, 2, 3)), ([2, 1, 3], [4]), (1, 1024)]
)
def test_grids_and_blocks_of_every_shape(module: Module, grid: Any, block: Any) -> None:
    threads, blocks = int(np.prod(block)), int(np.prod(grid))
    out = Memory(np.full(blocks * threads, -1, np.int32))
    for _ in range(3):
        module["places"].launch(grid, block, out)
    places = np.arange(blocks)[:, None] * 1000 + np.arange(threads)
    assert (out.numpy().reshape(blocks, threads) == places).all()


@pytest.mark.parametrize("size", [1 << 10, 48 << 10, 200 << 10])
def test_shared_memory_up_to_the_gpus_limit(module: Module, size: int) -> None:
    numbers = np.arange(size // 4, dtype=np.float32)
    out = Memory(numbers)
    module["reverse"].launch(1, 256, out, len(numbers), shared_memory=size)
    assert (out.numpy() == numbers[::-1]).all()


def test_too_much_shared_memory_is_an_error(module: Module) -> None:
    with pytest.raises(ArgumentError, match=r"reverse: 10000000 bytes of shared memory are too much: this GPU has \d+"):
        module["reverse"].launch(1, 256, None, 0, shared_memory=10_000_000)


def test_a_cooperative_launch_waits_across_blocks(module: Module) -> None:
    blocks, rounds = 64, 4
    sums = Memory(np.zeros((rounds + 1) * blocks, np.int32))
    module["in_turn"].launch(blocks, 128, sums, rounds, cooperative=True)
    expected = np.zeros((rounds + 1, blocks), np.int32)
    for round_ in range(rounds):
        expected[round_ + 1] = expected[round_].sum() + 1
    assert (sums.numpy().reshape(rounds + 1, blocks) == expected).all()


def test_a_cooperative_launch_of_too_many_blocks_is_refused(module: Module) -> None:
    with pytest.raises(DriverError, match="launching in_turn: the driver returned CUDA_ERROR_COOPERATIVE_LAUNCH_TOO"):
        module["in_turn"].launch(1 << 20, 128, None, 0, cooperative=True)


@pytest.mark.parametrize(("cluster", "size"), [(1, 1), (4, 4), ((2, 1, 1), 2), (8, 8), (16, 16)])
def test_clusters(module: Module, cluster: Any, size: int) -> None:
    if device_and_driver()[0] < (9, 0):
        pytest.skip("this GPU has no clusters")
    out = Memory(np.zeros(32, np.int32))
    module["ranks"].launch(32, 32, out, cluster=cluster)
    assert out.numpy().tolist() == [100 * size + index % size for index in range(32)]


def test_streams_of_every_kind(module: Module) -> None:
    from cuda.bindings import driver

    _, stream = driver.cuStreamCreate(1)
    held = int(stream)

    class Protocol:
        def __cuda_stream__(self) -> tuple[int, int]:
            return 0, held

    for each in (None, 0, held, stream, Protocol()):
        out = Memory(np.zeros(4, np.int32))
        module["places"].launch(1, 4, out, stream=each)
        driver.cuStreamSynchronize(stream)
        assert out.numpy().tolist() == [0, 1, 2, 3]
    with pytest.raises(ArgumentError, match="stream must be an address"):
        module["places"].launch(1, 4, out, stream="current")
    driver.cuStreamDestroy(stream)


def test_variables_are_written_and_read_back(module: Module) -> None:
    assert set(module.globals) == {"coefficients", "counter", "level", "ns::weights"}
    coefficients = module.globals["coefficients"]
    assert coefficients.size == 16 and coefficients.info.space == "constant"
    assert np.frombuffer(coefficients.read(), np.float32).tolist() == [1, 2, 3, 4]
    module.globals["weights"].write(np.array([10, 20], np.float32))
    module.globals["level"].write(np.float64(0.25))
    new = np.array([2, 0, -1, 0.5], np.float32)
    coefficients.write(new)
    x = np.linspace(-2, 2, 100, dtype=np.float32)
    out = Memory(np.zeros_like(x))
    module["polynomial"].launch(1, 128, Memory(x), out, len(x))
    assert np.allclose(out.numpy(), 2 - x**2 + 0.5 * x**3 + 10.25, rtol=1e-6)
    coefficients.write(new[:1] + 1, offset=4)
    coefficients.write(Memory(new[:1] + 5), offset=12)
    into = np.zeros(4, np.float32)
    coefficients.read(into)
    assert into.tolist() == [2, 3, -1, 7]
    coefficients.write(np.array([1, 2, 3, 4], np.float32), stream=0)
    for bad in (lambda: coefficients.write(np.zeros(5, np.float32)), lambda: coefficients.read(np.zeros(2), offset=4)):
        with pytest.raises(ArgumentError, match=r"coefficients has 16 bytes"):
            bad()
    with pytest.raises(ArgumentError, match="not contiguous"):
        coefficients.write(np.zeros((2, 2), np.float32)[:, 0])
    with pytest.raises(cuda_wheel.UnknownGlobalError, match="no variable 'coeficients'; did you mean coefficients"):
        module.globals["coeficients"]


def test_a_kernel_without_parameters(module: Module) -> None:
    counter = module.globals["counter"]
    counter.write(np.int32(0))
    for _ in range(5):
        module["tick"].launch(2, 32)
    assert np.frombuffer(counter.read(), np.int32).tolist() == [5 * 64]
    with pytest.raises(ArgumentError, match=r"tick takes 0 arguments, \(\), but got 1"):
        module["tick"].launch(2, 32, 1)


def test_threads_launch_at_once(module: Module) -> None:
    counter = module.globals["counter"]
    counter.write(np.int32(0))
    kernel = module["copy<int>"]
    failures = []

    def work(number: int) -> None:
        from cuda.bindings import driver

        try:
            source, target = Memory(np.full(256, number, np.int32)), Memory(np.zeros(256, np.int32))
            for _ in range(200):
                kernel.launch(1, 256, source, target, 256)
                module["tick"].launch(1, 1)
            driver.cuCtxSynchronize()
            assert (target.numpy() == number).all()
        except BaseException as error:  # the test's own thread reports it
            failures.append(error)

    work(99)  # with the context that is current in this thread
    threads = [threading.Thread(target=lambda n=n: (_current(), work(n))) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert np.frombuffer(counter.read(), np.int32).tolist() == [9 * 200]


def _current() -> None:
    from cuda.bindings import driver

    driver.cuCtxSetCurrent(driver.cuDevicePrimaryCtxRetain(0)[1])


def test_a_thread_without_a_context_gets_the_primary_one(module: Module) -> None:
    if device_count() > 1:
        pytest.skip("needs exactly one GPU")
    out = Memory(np.zeros(4, np.int32))
    thread = threading.Thread(target=lambda: module["places"].launch(1, 4, out))
    thread.start()
    thread.join()
    assert out.numpy().tolist() == [0, 1, 2, 3]


# --- facts from the driver -------------------------------------------------------------------------


def test_signatures_match_the_driver(module: Module) -> None:
    compare_signatures(module)


def test_attributes_match_the_driver(module: Module) -> None:
    capability = device_and_driver()[0]
    narrow = module["narrow"].attributes
    assert narrow.max_threads == 64 and narrow.binary_version == capability
    manifest = module.image.resources[module["narrow"].symbol]
    assert manifest["registers"] == narrow.registers
    assert manifest["max_threads"] == 64
    assert manifest["constant"] == narrow.constant >= 16
    assert manifest["shared"] == narrow.shared and manifest["local"] == narrow.local


def test_occupancy_and_the_suggested_block_size(module: Module) -> None:
    kernel = module["places"]
    block = kernel.suggest_block()
    assert block % 32 == 0 and kernel.occupancy(block).share == 1.0
    assert kernel.occupancy((8, 4)).blocks >= kernel.occupancy(1024).blocks >= 1
    assert module["reverse"].occupancy(128, 200 << 10).blocks == 1
    assert module["narrow"].suggest_block() <= 64
    with pytest.raises(ArgumentError, match="a block of 65 threads is too large: 64 is the most"):
        module["narrow"].occupancy(65)


# --- invalid launches ---------------------------------------------------------------------------------

OUT = "out"
FINE = [OUT, -1, 1, 1, 1, 1, 1, 1, 1, 1.0, 1.0, True, 1, 1.0, 1.0, 1]
WRONG: list[tuple[int, Any, str]] = [
    (1, -129, r"\(signed char\): -129 is out of range"),
    (2, 256, r"\(unsigned char\): 256 is out of range"),
    (3, 40000, r"\(short\): 40000 is out of range"),
    (4, -1, r"\(unsigned short\): -1 is out of range"),
    (5, 1 << 31, r"\(int\): 2147483648 is out of range"),
    (5, 1.0, r"\(int\): takes an integer, not float"),
    (5, "1", r"\(int\): takes an integer, not str"),
    (5, None, r"\(int\): takes an integer, not NoneType"),
    (5, np.float32(1), r"\(int\): takes an integer, not numpy.float32"),
    (5, np.ones(1, np.int32), r"\(int\): takes an integer, not numpy.ndarray"),
    (6, 1 << 32, r"\(unsigned int\): 4294967296 is out of range"),
    (7, 1 << 63, r"\(long long\): 9223372036854775808 is out of range"),
    (8, -1, r"\(unsigned long long\): -1 is out of range"),
    (9, 1e39, r"\(float\): 1e\+39 is out of range"),
    (9, 1j, r"\(float\): takes a number, not complex"),
    (9, "1", r"\(float\): takes a number, not str"),
    (10, np.ones(1), r"\(double\): takes a number, not numpy.ndarray"),
    (11, 2, r"\(bool\): takes True or False, not 2"),
    (13, 1e6, r"\(__half\): 1000000.0 is out of range"),
    (14, 1e39, r"\(__nv_bfloat16\): 1e\+39 is out of range"),
    (0, 1.5, r"\(double\*\): takes an array on the GPU, an address or None, not float"),
    (0, "x", r"\(double\*\): takes an array on the GPU, an address or None, not str"),
    (0, b"12345678", r"\(double\*\): takes an array on the GPU, an address or None, not bytes"),
    (0, [1.0], r"\(double\*\): takes an array on the GPU, an address or None, not list"),
    (0, np.zeros(15), r"\(double\*\): is an array in host memory"),
    (0, -1, r"\(double\*\): -1 is out of range"),
]


@pytest.mark.parametrize(("place", "value", "message"), WRONG)
def test_a_wrong_argument_is_an_error_and_nothing_is_launched(
    module: Module, place: int, value: Any, message: str
) -> None:
    out = Memory(np.zeros(15))
    arguments = [out if argument is OUT else argument for argument in FINE]
    module["numbers"].launch(1, 1, *arguments)
    assert out.numpy().tolist() == [-1, *[1] * 14]
    untouched = Memory(np.zeros(15))
    arguments[0] = untouched
    arguments[place] = value
    with pytest.raises(ArgumentError, match=rf"^numbers, argument {place + 1} {message}"):
        module["numbers"].launch(1, 1, *arguments)
    assert not untouched.numpy().any()


@pytest.mark.parametrize("count", [0, 15, 17])
def test_a_wrong_number_of_arguments(module: Module, count: int) -> None:
    with pytest.raises(ArgumentError, match=rf"numbers takes 16 arguments, \(double\*, .*\), but got {count}"):
        module["numbers"].launch(1, 1, *[0] * count)


@pytest.mark.parametrize("value", [b"123", (1,), np.zeros(3), 5, None, "text"])
def test_a_wrong_struct(module: Module, value: Any) -> None:
    arguments = [None, 0, value, (1, 2), (1, 2, 3, 4), 1j, (1, 2, 3)]
    with pytest.raises(ArgumentError, match=r"^structs, argument 3 \(Pair\): takes a struct of 16 bytes"):
        module["structs"].launch(1, 1, *arguments)


def test_a_read_only_array_where_the_kernel_may_write(module: Module) -> None:
    with pytest.raises(ArgumentError, match=r"argument 2 \(int\*\): is a read-only array"):
        module["is_null"].launch(1, 1, None, Memory(np.zeros(1, np.int32), read_only=True))


@pytest.mark.parametrize(
    ("grid", "block", "more", "message"),
    [
        (0, 1, {}, "grid takes integers of 1 and more, not 0"),
        ((1, 2, 3, 4), 1, {}, "grid must be one to three numbers"),
        (1, 1.5, {}, "block takes integers, not 1.5"),
        (1, "32", {}, "block takes integers"),
        (1, 2048, {}, "a block of .* is too large"),
        (1, (1, 1, 65), {}, "a block of .* is too large"),
        (1, (32, 33), {}, "a block of 1056 threads is too large: 1024 is the most"),
        ((1, 65536), 1, {}, "a grid of .* is too large"),
        (1, 1, {"shared_memory": -1}, "shared_memory takes integers of 0 and more, not -1"),
        (5, 1, {"cluster": 2}, "is not a multiple of the cluster"),
        (5, 1, {"cluster": 0}, "cluster takes integers of 1 and more, not 0"),
    ],
)
def test_a_wrong_configuration(module: Module, grid: Any, block: Any, more: dict[str, Any], message: str) -> None:
    for _ in range(2):
        with pytest.raises(ArgumentError, match=message):
            module["places"].launch(grid, block, None, **more)


def test_without_checks_arguments_are_passed_unchanged(module: Module) -> None:
    out = Memory(np.zeros(15))
    module["numbers"].launch(1, 1, out, 127, 256, 0, -1, 1.9, -1, 0, 0, 1.0, 1, 1, 0, 1, 1, 0, check=False)
    found = out.numpy()
    assert found[:6].tolist() == [127, 0, 0, 65535, 1, 4294967295]
    doubles = Memory(np.arange(4.0))
    target = Memory(np.zeros(8, np.float32))
    module["copy<float>"].launch(1, 8, doubles, target, 8, check=False)
    assert (target.numpy().view(np.float64) == np.arange(4.0)).all()


def test_a_mistake_leaves_the_kernel_usable(module: Module) -> None:
    kernel = module["copy<int>"]
    source, target = Memory(np.arange(8, dtype=np.int32)), Memory(np.zeros(8, np.int32))
    for _ in range(100):
        with pytest.raises(ArgumentError):
            kernel.launch(1, 8, source, target, "8")
    kernel.launch(1, 8, source, target, 8)
    assert target.numpy().tolist() == list(range(8))


def test_an_earlier_fault_is_reported_at_the_next_launch(tmp_path: Path, module: Module) -> None:
    # In a subprocess, because such a fault makes the context permanently unusable.
    write_project(tmp_path / "project", "wild", {"wild.cu": "__global__ void wild(int* at) { *at = 1; }"})
    program = """
import cuda_wheel
from cuda.bindings import driver
kernel = cuda_wheel.load("wild.wild")["wild"]
driver.cuCtxSetCurrent(driver.cuDevicePrimaryCtxRetain(0)[1])
kernel.launch(1, 1, 8)
driver.cuCtxSynchronize()
try:
    kernel.launch(1, 1, 8)
except cuda_wheel.DriverError as error:
    print(error)
"""
    result = run(sys.executable, "-c", program, PYTHONPATH=_with(tmp_path / "project"))
    assert "launching wild: the driver returned CUDA_ERROR_ILLEGAL_ADDRESS" in result.stdout


def _with(folder: Path) -> str:
    import os

    return os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])


# --- size ------------------------------------------------------------------------------------------


def test_thousands_of_kernels_in_one_module(source_tree: Callable[..., None]) -> None:
    count = 4096
    text = "\n".join(f"__global__ void k{i}(int* out) {{ *out = {i * 7}; }}" for i in range(count))
    source_tree("many", {"many.cu": text})
    module = cuda_wheel.load("many.many")
    assert len(module) == count
    out = Memory(np.zeros(1, np.int32))
    for i in range(0, count, 97):
        module[f"k{i}"].launch(1, 1, out)
        assert out.numpy().tolist() == [i * 7]
