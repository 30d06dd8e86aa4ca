"""Threads load, bind and launch at the same time.

Each race is made certain where that is possible; the last tests let threads switch all the time. They also run with
free-threaded builds of Python, without the GIL.
"""

from __future__ import annotations

import struct
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import cuda_wheel
from cuda_wheel.runtime import files as files_module
from cuda_wheel.runtime.errors import ArgumentError, DriverError
from cuda_wheel.runtime.files import files_in
from cuda_wheel.runtime.generated import define
from cuda_wheel.runtime.launching import Launcher, launcher_of
from cuda_wheel.runtime.module import ByName, Registry, _Library
from cuda_wheel.runtime.parts import array_protocols
from cuda_wheel.runtime.streams import launch_stream
from tests.soak import amount
from tests.support.array_libraries import ADDRESS, OWN, Named, cupy_array, torch_tensor
from tests.support.driver import Driver, Result, handle_of
from tests.support.launches import saxpy, takes
from tests.support.loaded_modules import forget_loaded_modules
from tests.support.threads import in_threads

pytestmark = pytest.mark.one_toolchain

SAXPY = "saxpy_demo.kernels.saxpy"

X, Y = 0x1000, 0x2000

STRESS = amount(3, 300)
"""Number of rounds of the tests in which threads do everything at the same time."""


@pytest.fixture
def driver(use: Callable[..., Driver]) -> Driver:
    return use((9, 0))


@pytest.fixture
def switching() -> Iterator[None]:
    """Let threads switch after almost every instruction."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)


def test_a_function_is_the_one_of_its_source_though_another_thread_defines_its_name() -> None:
    namespace: dict[str, Any] = {}
    namespace["meanwhile"] = lambda: define("f", "def f(): return 'other'", namespace, "k")
    function = define("f", "def f(): return 'own'\nmeanwhile()", namespace, "k")
    assert function() == "own"
    assert function.__globals__ is namespace and callable(namespace["f"])  # other generated functions call it


def test_what_is_made_during_an_unload_sees_that_the_module_is_unloaded() -> None:
    library = _Library("demo.k", 5)
    seen: list[int] = []
    library.on_unload.append(lambda: seen.append(library.handle))
    assert library.close() == 5 and library.close() == 0
    assert set(seen) == {0}
    with pytest.raises(DriverError, match="was unloaded"):
        library.check_loaded()


def test_all_threads_launch_by_one_launcher(driver: Driver, switching: None) -> None:
    for _ in range(20):
        kernel, found = takes("int", "u32", 4), [None] * 8

        def find(number: int, kernel: Any = kernel, found: list[Any] = found) -> None:
            found[number] = launcher_of(kernel)

        in_threads(8, find)
        assert len({*map(id, found)}) == 1


def test_manifests_of_many_files_are_read_at_the_same_time(tmp_path: Path, switching: None, monkeypatch: Any) -> None:
    monkeypatch.setattr(files_module, "_kept", {})
    monkeypatch.setattr(files_module, "ManifestFile", lambda read, where, check: (where, check))
    names = [f"k{number}.fatbin.json" for number in range(60)]
    for name in names:
        (tmp_path / name).touch()

    def read(number: int) -> None:
        for name in names[number % 2 :: 2]:
            files = files_in("demo", [str(tmp_path)], name)
            assert files is not None and files.kept_file(name) == (str(tmp_path / name), True)

    for _ in range(10):
        in_threads(4, read)
        files_module._kept.clear()


def test_an_event_that_another_thread_took_is_replaced_by_a_new_one(
    driver: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Taken(list[Any]):
        def __bool__(self) -> bool:
            return True  # before the other thread took it

    array_protocols.device_with_context()
    context = array_protocols._recorded(0).context
    monkeypatch.setitem(array_protocols._free_events, context, Taken())
    assert array_protocols._recorded(0).context == context


def test_bound_functions_pass_their_own_arguments(driver: Driver, switching: None) -> None:
    """Kernels are bound at the same time with arguments of other kinds, for which other functions are generated."""
    makes = [int, cupy_array, torch_tensor, lambda address: None]
    for _ in range(10):
        kernel = saxpy()
        driver.launches.clear()

        def work(number: int, kernel: Any = kernel) -> None:
            x, y = makes[number % 4](X + 16 * number), makes[number // 2 % 4](Y + 16 * number)
            stream = number + 7 if number % 3 else None
            bound = kernel.bind(number + 1, 32, float(number), x, y, number, stream=stream)
            for _ in range(3):
                bound()
                bound(number + 0.5)

        in_threads(8, work)
        assert len(driver.launches) == 8 * 6
        for launch in driver.launches:
            a, x, y, n = struct.unpack("<f4xQQi", launch.arguments or b"")
            assert launch.grid == (n + 1, 1, 1) and a in (n, n + 0.5)
            assert x == (0 if n % 4 == 3 else X + 16 * n) and y == (0 if n // 2 % 4 == 3 else Y + 16 * n)
            assert n % 3 == 0 or launch.stream == n + 7


def test_a_kernel_is_launched_and_its_module_unloaded_at_the_same_time(driver: Driver, switching: None) -> None:
    for _ in range(10):
        kernel = takes("int", "u32", 4)

        def work(number: int, kernel: Any = kernel) -> None:
            if number == 0:
                kernel.module.unload()
                return
            with pytest.raises(DriverError, match="unloaded"):
                while True:
                    kernel.launch(1, 1, number)

        in_threads(4, work)


def test_a_name_has_one_object(switching: None) -> None:
    class Info:
        def __init__(self, name: str) -> None:
            self.name = self.symbol = name

    for _ in range(20):
        by_name = ByName(
            "demo.k", "kernel", [Info(f"k{number}") for number in range(20)], lambda info: object(), KeyError
        )
        found: list[list[object]] = [[] for _ in range(6)]
        in_threads(6, lambda number, found=found, by_name=by_name: found[number].extend(by_name.values()))  # type: ignore[misc]
        assert all(each == found[0] for each in found)


def test_a_module_is_loaded_once(switching: None) -> None:
    for _ in range(20):
        registry, loads = Registry(), list[int]()

        def load(loads: list[int] = loads) -> Any:
            loads.append(1)
            return object()

        found: list[Any] = [None] * 8

        def work(number: int, registry: Registry = registry, load: Any = load, found: list[Any] = found) -> None:
            found[number] = registry.once((number % 2,), load)

        in_threads(8, work)
        assert (
            len(loads) == 2
            and len({*map(id, found)}) == 2
            and len(registry._modules) == 2
            and not registry._being_loaded
        )


def test_a_block_of_launch_stream_is_for_its_thread(driver: Driver, switching: None) -> None:
    kernel = takes("int", "u32", 4)

    def work(number: int) -> None:
        for _ in range(20):
            with launch_stream(number + 100):
                kernel.launch(1, 1, number)

    in_threads(6, work)
    assert all(launch.stream == int.from_bytes(launch.arguments or b"", "little") + 100 for launch in driver.launches)


# --- all at the same time ----------------------------------------------------------------------------------------


class Stress:
    """What threads do with the wheel of saxpy: load, look up, bind and launch. Each launch says which thread made it."""

    MAKES = (int, cupy_array, torch_tensor, lambda address: None, lambda address: Named(OWN))

    def __init__(self, driver: Driver) -> None:
        self.driver = driver
        self.launches = 0
        self._counting = threading.Lock()

    def work(self, number: int) -> None:
        count = 0
        for turn in range(6):
            kernel = cuda_wheel.load(SAXPY)[("saxpy", " saxpy")[(number + turn) % 2]]
            x, y = (self._array(number, turn + place, base) for place, base in enumerate((X, Y)))
            size = number // 4 + 1  # so that threads share the memory of launches
            grid = [size] if turn % 3 == 2 else (size, 1, 1)
            more: dict[str, Any] = {"stream": number + 7} if turn % 2 else {}
            with launch_stream(number + 7):
                bound = kernel.bind(grid, 32 + turn, float(number), x, y, number, **more)
                for _ in range(3):
                    kernel.launch(grid, 32 + turn, number, x, y, number, check=turn != 4, **more)
                    bound()
                    bound(number + 0.5)
                kernel.launch(size, (8, 4), float(number), x, y, number, cluster=size)
            with pytest.raises(ArgumentError, match="argument 4"):
                kernel.launch(grid, 32, 1.0, x, y, "no number", **more)
            count += 10
        with self._counting:
            self.launches += count

    def _array(self, number: int, turn: int, base: int) -> Any:
        return self.MAKES[(number + turn) % len(self.MAKES)](base + 16 * number)

    def check(self) -> None:
        """Raise an assertion error if the driver got a launch that no thread made, or not all."""
        assert len(self.driver.launches) == self.launches
        for launch in self.driver.launches:
            a, x, y, n = struct.unpack("<f4xQQi", launch.arguments or b"")
            assert launch.grid == (n // 4 + 1, 1, 1) and a in (n, n + 0.5) and launch.stream == n + 7
            assert x in (0, ADDRESS, X + 16 * n) and y in (0, ADDRESS, Y + 16 * n)
            assert launch.attributes == ({"cluster": (n // 4 + 1, 1, 1)} if launch.block == (8, 4, 1) else {})


@pytest.fixture
def stress(site: Path, use: Callable[..., Driver], monkeypatch: pytest.MonkeyPatch) -> Stress:
    driver = use((9, 0))
    parameters = cuda_wheel.load(SAXPY)["saxpy"].parameters
    driver = use((9, 0))
    driver._answers["cuLibraryGetKernel"] = Result.CUDA_SUCCESS, handle_of(parameters)
    driver.meanwhile = lambda: time.sleep(0)  # lets other threads run
    monkeypatch.setattr(Launcher, "POOLS", 5)  # so that slots are dropped while others use them
    return Stress(driver)


def test_threads_load_look_up_bind_and_launch(stress: Stress, switching: None) -> None:
    for _ in range(STRESS):
        forget_loaded_modules()
        loaded = len(stress.driver.loaded)
        in_threads(10, stress.work)
        assert len(stress.driver.loaded) == loaded + 1
    stress.check()


def test_threads_unload_what_others_load_and_launch(stress: Stress, switching: None) -> None:
    driver = stress.driver

    def work(number: int) -> None:
        for turn in range(30):
            try:
                module = cuda_wheel.load(SAXPY)
                kernel = module["saxpy"]
                kernel.launch(1, 1, 1.0, X, Y, 1)
                kernel.bind(1, 1, 1.0, X, Y, 1)()
                if turn % 3 == number % 3:
                    module.unload()
            except DriverError as error:
                if "was unloaded: load it again" not in str(error):
                    raise

    for _ in range(STRESS):
        in_threads(8, work)
    assert len(driver.loaded) - len(driver.unloaded) in (0, 1)
    cuda_wheel.load(SAXPY).unload()
    assert len(driver.loaded) == len(driver.unloaded)
