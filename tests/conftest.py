"""Fixtures that the tests share: the toolchain in use, projects, wheels of the fixtures, independent readers."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable

import pytest
from hypothesis import settings

from tests.soak import SOAK, amount

if sys.version_info >= (3, 11):
    pass
else:
    pass


# Each before those that import it: pytest rewrites the assertions of a plugin when it imports it.
pytest_plugins = [
    f"tests.support.{name}"
    for name in (
        "processes",
        "projects",
        "wheels",
        "toolchains",
        "nvidia_tools",
        "environments",
        "stand_in_driver",
    )
]

# Machines are shared and slow at times; the tests should fail for what changed, and not for the luck of a draw. Luck is
# for `nox -s soak`.
settings.register_profile("tests", deadline=None, derandomize=not SOAK, max_examples=amount(100, 20_000))


settings.load_profile("tests")


@pytest.fixture(autouse=True)
def cache_of_its_own(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep what a test compiles from the next one, which is to compile it itself."""
    monkeypatch.setenv("CUDA_WHEEL_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))


@pytest.fixture
def count(request: pytest.FixtureRequest) -> Callable[[str, int], None]:
    """Return a function that counts what a test did, such as "kills", for the summary at the end."""
    return lambda what, number: request.node.user_properties.append((f"count of {what}", number))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    counts: Counter[str] = Counter()
    for report in terminalreporter.getreports("passed"):
        for what, number in report.user_properties:
            if what.startswith("count of "):
                counts[what] += number
    for what, number in sorted(counts.items()):
        terminalreporter.write_line(f"{what.removeprefix('count of ')}: {number:,}")
