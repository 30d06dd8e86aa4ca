"""`RawModule` and `RawKernel` have the interface of CuPy's classes."""

from __future__ import annotations

import ctypes
import io
import pickle
import subprocess
import sys
import warnings
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

import cuda_wheel
from cuda_wheel.cupy import RawKernel, RawModule, raw_modules
from cuda_wheel.runtime.errors import ArgumentError, UnknownKernelError
from cuda_wheel.runtime.manifest import GlobalInfo, KernelInfo, Parameter
from tests.cupy.conftest import Wheel
from tests.support.array_libraries import ADDRESS, OTHER, OWN, Named, StandInCuPy, cupy_array, fake
from tests.support.driver import FUNCTION_ATTRIBUTES, Driver
from tests.support.launches import module_of

pytestmark = pytest.mark.one_toolchain

SCALE = KernelInfo("scale", "scale", (Parameter("u64", 0, 8, "float*"),))
PLAIN = KernelInfo("plain", "plain", ())
NUMBER = KernelInfo("number", "number", (Parameter("f32", 0, 4, "float"),))
SHIFT = KernelInfo("shift<double, 2>", "_Z5shiftIdLi2EEvPT_i", ())


def test_call_sites_stay(wheel: Wheel, driver: Driver) -> None:
    module = wheel(SCALE, SHIFT, name_expressions=["shift<double, 2>"], backend="nvcc", jitify=False)
    scale = module.get_function("scale")
    assert (scale.name, scale.__name__, scale.backend, scale.code, scale.options) == (
        "scale",
        "scale",
        "nvcc",
        None,
        (),
    )
    scale((4, 2), (32,), (cupy_array(ADDRESS),), shared_mem=1024)
    launch = driver.launches[-1]
    assert (launch.grid, launch.block, launch.shared_memory, launch.attributes) == ((4, 2, 1), (32, 1, 1), 1024, {})
    module.get_function("shift<double,2>")((), (0,), [])
    assert (driver.launches[-1].grid, driver.launches[-1].block) == ((1, 1, 1), (1, 1, 1))


@pytest.mark.parametrize(
    ("given", "size"), [((), (1, 1, 1)), ((0, 3), (1, 3, 1)), ((-1, 2, 3), (1, 2, 3)), (5, (5, 1, 1)), ([6], (6, 1, 1))]
)
def test_sizes_are_those_of_cupy(given: Any, size: tuple[int, ...], wheel: Wheel, driver: Driver) -> None:
    wheel(PLAIN).get_function("plain")(given, given, ())
    assert (driver.launches[-1].grid, driver.launches[-1].block) == (size, size)


def test_a_wrong_size_is_refused(wheel: Wheel) -> None:
    with pytest.raises(ArgumentError, match="grid must be one to three numbers"):
        wheel(PLAIN).get_function("plain")((1, 2, 3, 4), (1,), ())


def test_a_launch_runs_on_cupys_current_stream(wheel: Wheel, driver: Driver, cupy: StandInCuPy) -> None:
    cupy.local.stream = OWN
    plain, scale, number = map(wheel(PLAIN, SCALE, NUMBER).get_function, ("plain", "scale", "number"))
    memory = fake("cupy", "MemoryPointer")()
    memory.ptr = ADDRESS
    plain((1,), (1,), ())
    for value in (cupy_array(ADDRESS), memory, ADDRESS, None):
        scale((1,), (1,), (value,))
    number((1,), (1,), (2.5,))
    assert [launch.stream for launch in driver.launches] == [OWN] * 6
    plain((1,), (1,), (), stream=SimpleNamespace(ptr=OTHER))
    with cuda_wheel.launch_stream(OTHER):
        plain((1,), (1,), ())
    scale((1,), (1,), (Named(OTHER),))  # another library's array, on its own stream
    assert [launch.stream for launch in driver.launches[6:]] == [OTHER] * 3


def test_it_works_without_cupy(wheel: Wheel, driver: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "cupy")
    wheel(SCALE).get_function("scale")((1,), (1,), (ADDRESS,))
    assert driver.launches[-1].stream == 0


def test_importing_it_imports_no_framework_and_no_driver() -> None:
    code = "import cuda_wheel, sys; cuda_wheel.cupy.RawModule('demo.k').get_function\n"
    code += "assert sys.modules.keys().isdisjoint({'cupy', 'numpy', 'cuda.bindings.driver'}), sys.modules.keys()"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_nothing_is_loaded_before_it_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(raw_modules, "device_count", lambda: pytest.fail("the driver was asked"))
    module = RawModule("demo.k", name_expressions=("a<int>",), variant={"N": 4})
    assert (module.code, module.file_path, module.name_expressions) == (None, None, ("a<int>",))
    kernel = RawKernel("demo.k", "scale")
    assert kernel.name == "scale"


def test_an_unknown_name_is_an_error_of_get_function(wheel: Wheel) -> None:
    with pytest.raises(UnknownKernelError, match="scales"):
        wheel(SCALE).get_function("scales")


def test_each_gpu_has_its_module(wheel: Wheel, use: Callable[..., Driver], cupy: StandInCuPy) -> None:
    driver = use((8, 6), (9, 0))
    module = wheel(PLAIN, variant={"N": 4})
    found = {}
    for device in (0, 1, 0):
        driver.context.device = device
        found.setdefault(device, module.module)
        assert module.module is found[device]
        assert module.module.variant_asked == {"N": 4}  # type: ignore[attr-defined]
    assert found[0] is not found[1]
    kernel = module.get_function("plain")
    assert kernel.kernel.module is found[0]
    driver.context.device = 1
    assert kernel.kernel.module is found[1]


def test_attributes_have_cupys_names(wheel: Wheel, driver: Driver) -> None:
    kernel = wheel(PLAIN).get_function("plain")
    expected = {name.lower(): value for name, value in FUNCTION_ATTRIBUTES.items() if "CLUSTER" not in name}
    assert kernel.attributes == expected and kernel.num_regs == 16
    kernel.max_dynamic_shared_size_bytes = 64 << 10
    kernel.preferred_shared_memory_carveout = 50
    assert driver.attributes[0]["MAX_DYNAMIC_SHARED_SIZE_BYTES"] == kernel.max_dynamic_shared_size_bytes == 64 << 10
    assert kernel.attributes["preferred_shared_memory_carveout"] == 50
    with pytest.raises(AttributeError, match="num_regs of plain cannot be set"):
        kernel.num_regs = 5


def test_a_variable_is_a_pointer_of_cupy(wheel: Wheel, driver: Driver, cupy: StandInCuPy) -> None:
    driver.memory[b"table"] = (ctypes.c_uint8 * 16)()
    cupy.cuda.UnownedMemory = lambda *given: given
    cupy.cuda.MemoryPointer = lambda memory, offset: (memory, offset)
    module = wheel(variables=(GlobalInfo("table", "table", "global", 16),))
    (address, size, owner, device), offset = module.get_global("table")
    assert (address, size, device, offset) == (ctypes.addressof(driver.memory[b"table"]), 16, 0, 0)
    assert owner.module is module.module  # which stays loaded
    with pytest.raises(cuda_wheel.UnknownGlobalError):
        module.get_global("tables")


def test_a_cooperative_grid_is_reduced_with_a_warning(wheel: Wheel, driver: Driver) -> None:
    kernel = wheel(PLAIN, enable_cooperative_groups=True).get_function("plain")
    assert kernel.enable_cooperative_groups
    with pytest.warns(UserWarning, match="plain: the grid is reduced from 100 to 12 blocks") as caught:
        kernel((100,), (32,), ())
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kernel((12,), (32,), ())
        kernel((60, 4), (32,), ())  # which the driver refuses
    assert [launch.grid for launch in driver.launches] == [(12, 1, 1), (12, 1, 1), (60, 4, 1)]
    assert all(launch.attributes == {"cooperative": 1} for launch in driver.launches)


@pytest.mark.parametrize("kind", [RawModule, RawKernel])
def test_settings_of_a_build_are_refused_for_a_module_of_a_wheel(kind: Any) -> None:
    name = ("k",) if kind is RawKernel else ()
    for options in ({"options": ("-DN=4",)}, {"translate_cucomplex": True}):
        with pytest.raises(ArgumentError, match=rf"{next(iter(options))} is for code .* demo\.k is compiled already"):
            kind("demo.k", *name, **options)


def test_what_is_no_source_is_refused() -> None:
    for arguments in ({}, {"module": "demo.k", "code": "x"}, {"code": "x", "path": "x.ptx"}):
        with pytest.raises(ArgumentError, match="pass one of: the name of a module in a wheel"):
            RawModule(**arguments)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="variant is for a module of a wheel"):
        RawModule(code="x", variant={"N": 4})
    with pytest.raises(ArgumentError, match="needs the name of a kernel"):
        RawKernel("demo.k")


CODE = 'extern "C" __global__ void plain() {}\n'


@pytest.fixture
def compiled(driver: Driver, monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """Return the list of texts that are compiled: code, options, name expressions."""
    calls: list[tuple[Any, ...]] = []

    def compile_text(code: str, *, options: Any, instantiate: Any) -> Any:
        calls.append((code, options, instantiate))
        return module_of(PLAIN, SHIFT)

    monkeypatch.setattr("cuda_wheel.runtime.parts.compile_text.compile", compile_text)
    return calls


def test_code_is_compiled_with_the_options_of_cupy(compiled: list[tuple[Any, ...]], driver: Driver) -> None:
    module = RawModule(code=CODE, options=("-DN=4",), name_expressions=["shift<double, 2>"])
    module.get_function("plain")((1,), (1,), ())
    module.get_function("shift<double, 2>")((1,), (1,), ())
    RawKernel(CODE, "plain", ("--ftz=false", "-default-device"))((1,), (1,), ())
    RawKernel(code=CODE, name="shift<double, 2>", options=("--use_fast_math",), backend="nvcc")((1,), (1,), ())
    space = "--device-as-default-execution-space"
    assert compiled == [
        (CODE, ("-DN=4", "--ftz=true", space), ("shift<double, 2>",)),
        (CODE, ("--ftz=false", "-default-device"), ()),
        (CODE, ("--use_fast_math",), ("shift<double, 2>",)),
    ]
    assert len(driver.launches) == 4 and module.code == CODE and module.options == ("-DN=4",)


def test_cucomplex_is_translated_as_by_cupy(compiled: list[tuple[Any, ...]]) -> None:
    RawModule(code="# include <cuComplex.h>\n" + CODE, translate_cucomplex=True).compile()
    headers = "".join(f"#include <cupy/{name}>\n" for name in ("complex.cuh", "carray.cuh", "atomics.cuh"))
    headers += "#include <cupy/math_constants.h>\n#include <cupy/cuComplex_bridge.h>\n"
    assert compiled[0][0] == headers + CODE


def test_a_file_is_loaded(driver: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    module = module_of(PLAIN)
    module.jit = SimpleNamespace(log="42 registers")  # type: ignore[assignment]
    paths: list[str] = []
    loads = "cuda_wheel.runtime.parts.linking.load_code.load_code"
    monkeypatch.setattr(loads, lambda path: (paths.append(path), module)[1])
    raw, log = RawModule(path="k.ptx"), io.StringIO()
    raw.compile(log_stream=log)
    kernel = raw.get_function("plain")
    kernel.compile(log)
    assert (paths, log.getvalue(), raw.file_path, kernel.file_path) == (["k.ptx"], "42 registers" * 2, "k.ptx", "k.ptx")


def test_they_can_be_pickled(wheel: Wheel, driver: Driver) -> None:
    module = wheel(PLAIN, enable_cooperative_groups=False)
    kernel = module.get_function("plain")
    for each in (pickle.loads(pickle.dumps(kernel)), pickle.loads(pickle.dumps(module)).get_function("plain")):
        each((1,), (1,), ())
    assert len(driver.launches) == 2
    assert repr(module) == "<cuda_wheel.cupy.RawModule demo.k>" and repr(kernel) == "<cuda_wheel.cupy.RawKernel plain>"
