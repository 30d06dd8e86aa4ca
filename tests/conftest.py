"""Settings and fixtures for all tests; `tests/support` has the other shared fixtures."""

from __future__ import annotations

import gc
import os
import runpy
import shutil
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

from tests.soak import SOAK, amount

if TYPE_CHECKING:
    from tests.support.shared_folders import Share

# pytest rewrites the assertions of a plugin when it imports it, so each module must come before those that import it.
pytest_plugins = [
    f"tests.support.{name}"
    for name in (
        "processes",
        "projects",
        "manifest_schema",
        "shared_folders",
        "wheels",
        "toolchains",
        "torch_headers",
        "nvidia_tools",
        "arithmetic",
        "environments",
        "package_index",
        "loaded_modules",
        "stand_in_driver",
        "variants",
        "linked_projects",
    )
]

# A checkout need not be installed, and its tables may be newer than the installation. Workers of pytest-xdist start later.
if "PYTEST_XDIST_WORKER" not in os.environ:
    runpy.run_path(str(Path(__file__).parents[1] / "scripts/stand_in_headers.py"), run_name="__main__")

# The same examples in every run and no deadlines, so that the tests fail only because of a change, also on slow and shared
# machines. `nox -s soak` draws random examples.
settings.register_profile("tests", deadline=None, derandomize=not SOAK, max_examples=amount(100, 20_000))
settings.load_profile("tests")


def pytest_addoption(parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager) -> None:
    """Accept the settings of the time limits where pytest-timeout is missing or pytest is older, as on many GPU machines.

    There they have no effect, but --strict-config refuses settings that nothing declares.
    """
    if not pluginmanager.hasplugin("timeout"):
        for name in ("timeout", "timeout_method"):
            parser.addini(name, "a setting of pytest-timeout, which is not installed")
    if pytest.version_tuple < (9, 0):
        parser.addini("faulthandler_exit_on_timeout", "a setting of pytest 9")
    parser.addoption(
        "--cases",
        choices=("first", "second"),
        help="run this half of the cases of each parametrized test that runs with both toolchains",
    )


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None]:
    """Collect no garbage while thousands of tests are collected, and never look at them again: they live as long as the
    process, and each full collection, of which some tests ask for many, would visit all their objects."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


_NVIDIA_TOOLS = {"cuobjdump", "nvdisasm", "ptxas", "arithmetic", "cutlass"}
_LONGEST = (
    "tests/migrate/test_ci_files.py",
    "tests/soak/",
    "tests/project/test_time_limits.py",
    "tests/project/test_extras.py",
    "tests/front_ends/",
    "tests/builder/compile/test_generated_files.py",
    "tests/builder/compile/test_without_a_library.py",
    "tests/builder/headers/test_cupy.py",
    "tests/builder/headers/test_pytorch_layouts.py",
)


_ALL_CASES = ("one_toolchain", "every_toolchain")


def half_of_the_cases(items: Sequence[pytest.Item], half: str) -> list[pytest.Item]:
    """Return the items without the other half of the cases of each parametrized test. The halves are those of the
    Thue-Morse sequence, so that each value of each of several parameters is in both."""
    cases: dict[str, list[pytest.Item]] = {}
    for item in items:
        if hasattr(item, "callspec") and not any(map(item.get_closest_marker, _ALL_CASES)):
            cases.setdefault(item.nodeid.partition("[")[0], []).append(item)
    other = {
        item
        for of_test in cases.values()
        for number, item in enumerate(of_test)
        if len(of_test) > 1 and bin(number).count("1") % 2 == (half == "first")
    }
    return [item for item in items if item not in other]


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark tests that need NVIDIA's tools as slow: the quick tests do not download these. Thorough tests are slow too.
    Begin with the files that take longest, so that at the end of a parallel run no process waits for one of them."""
    if half := config.getoption("--cases"):
        kept = half_of_the_cases(items, half)
        config.hook.pytest_deselected(items=list(set(items).difference(kept)))
        items[:] = kept
    for item in items:
        if item.get_closest_marker("thorough") or not _NVIDIA_TOOLS.isdisjoint(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.slow)
    items.sort(key=lambda item: [not item.nodeid.startswith(each) for each in _LONGEST])


@pytest.fixture(autouse=True)
def one_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let each build run one job at a time, for pytest-xdist runs several tests. Tests that concern the order or the
    interruption of jobs use `two_workers`."""
    monkeypatch.setenv("CUDA_WHEEL_JOBS", "1")


@pytest.fixture
def two_workers(one_worker: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let each build run two jobs at a time."""
    monkeypatch.setenv("CUDA_WHEEL_JOBS", "2")


_COMPILE_ONCE = tuple(
    f"tests/{room}/"
    for room in (
        "builder/wheel",
        "cli",
        "front_ends",
        "inspect",
        "migrate",
        "mistakes",
        "numba",
        "operators",
        "project",
        "pyinstaller",
        "split",
        "tile",
        "triton",
        "tuning",
    )
)
"""The rooms that test what precedes or follows compilation."""


@pytest.fixture(autouse=True)
def compile_cache(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let each test compile everything itself; in rooms that do not test compilation, what no test of the run has
    compiled. Tests of these rooms that compare builds, or test whether or how something is compiled, use `own_cache`."""
    if request.node.nodeid.startswith(_COMPILE_ONCE):
        monkeypatch.setenv("CUDA_WHEEL_CACHE_DIR", request.getfixturevalue("kept_cache"))
    else:
        request.getfixturevalue("own_cache")


@pytest.fixture
def own_cache(
    known_toolchain: Path | None, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Give the test a compile cache without results. The cache has the toolchain; the rooms that test the search for it,
    or that count what is in a cache, replace `known_toolchain`."""
    folder = tmp_path_factory.mktemp("cache")
    if known_toolchain is not None:
        shutil.copytree(known_toolchain, folder, dirs_exist_ok=True)
    monkeypatch.setenv("CUDA_WHEEL_CACHE_DIR", str(folder))


@pytest.fixture(scope="session")
def kept_cache(share: Share, known_toolchain: Path | None) -> str:
    """The folder of a compile cache of the whole run, with the toolchain: equal jobs of several tests compile once."""

    def fill(folder: Path) -> None:
        if known_toolchain is not None:
            shutil.copytree(known_toolchain, folder, dirs_exist_ok=True)

    return str(share("kept-cache", fill))


@pytest.fixture(scope="session", autouse=True)
def no_cache_of_the_user(kept_cache: str) -> Iterator[None]:
    """Let fixtures for several tests, which are made before `compile_cache`, use the run's cache and not the user's, which
    has results of earlier runs."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CUDA_WHEEL_CACHE_DIR", kept_cache)
        yield


@pytest.fixture(autouse=True)
def same_folder() -> Iterator[None]:
    """Restore the current folder, which compiling in the process of the tests changes."""
    before = os.getcwd()
    yield
    os.chdir(before)


@pytest.fixture
def count(request: pytest.FixtureRequest) -> Callable[[str, int], None]:
    """Return a function that adds a number, such as of "kills", to a total in the summary at the end of the run."""
    return lambda what, number: request.node.user_properties.append((f"count of {what}", number))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    totals: Counter[str] = Counter()
    for report in terminalreporter.getreports("passed"):
        for name, number in report.user_properties:
            if name.startswith("count of "):
                totals[name] += number
    for name, number in sorted(totals.items()):
        terminalreporter.write_line(f"{name.removeprefix('count of ')}: {number:,}")
