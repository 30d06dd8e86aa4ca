"""A cached result is found if its files have the state that they had when it was stored."""

from __future__ import annotations

from pathlib import Path

import pytest

from cuda_wheel.builder.cache.files import DependencyCache, Recorded
from cuda_wheel.runtime.parts.user_cache import Cache

REQUEST = Cache.key("a request")


@pytest.fixture
def results(tmp_path: Path) -> DependencyCache[list[str]]:
    return DependencyCache(Cache(str(tmp_path)), list)


def find(results: DependencyCache[list[str]], state: dict[str, str], *facts: str) -> bytes | None:
    """Return the result for a state of the files."""
    found = results.recorded(REQUEST, lambda files: [state.get(file) for file in files])
    return next((results.read(recorded, bytes, *facts) for recorded in found), None)


def store(results: DependencyCache[list[str]], state: dict[str, str], entry: bytes, *facts: str) -> None:
    results.put(Recorded(REQUEST, list(state), list(state.values())), entry, *facts)


def test_an_edit_hides_a_result_until_it_is_undone(results: DependencyCache[list[str]]) -> None:
    assert find(results, {"a.h": "1"}) is None
    store(results, {"a.h": "1"}, b"first")
    assert find(results, {"a.h": "1", "unrelated.h": "1"}) == b"first"
    assert find(results, {"a.h": "2"}) is None
    assert find(results, {}) is None
    store(results, {"a.h": "2"}, b"second")
    assert find(results, {"a.h": "1"}) == b"first"
    assert find(results, {"a.h": "2"}) == b"second"


def test_further_facts_distinguish_results(results: DependencyCache[list[str]]) -> None:
    store(results, {"a.h": "1"}, b"for sm_80", "80")
    store(results, {"a.h": "1"}, b"for sm_90", "90")
    assert [find(results, {"a.h": "1"}, arch) for arch in ("80", "90", "100")] == [b"for sm_80", b"for sm_90", None]


def test_only_the_files_of_the_latest_run_are_known(results: DependencyCache[list[str]]) -> None:
    store(results, {"a.h": "1"}, b"first")
    store(results, {"b.h": "1"}, b"second")
    assert find(results, {"a.h": "1"}) is None
    assert find(results, {"b.h": "1"}) == b"second"


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_damaged_list_of_files_counts_as_absent(results: DependencyCache[list[str]], tmp_path: Path) -> None:
    store(results, {"a.h": "1"}, b"first")
    Cache(str(tmp_path)).put(REQUEST, b"null")
    assert find(results, {"a.h": "1"}) is None
