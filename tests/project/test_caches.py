"""The compile caches of tests: none has results of earlier runs."""

from __future__ import annotations

import os

import pytest

pytestmark = pytest.mark.one_toolchain


@pytest.fixture(scope="module")
def cache_of_a_fixture() -> str | None:
    return os.environ.get("CUDA_WHEEL_CACHE_DIR")


def test_fixtures_for_several_tests_do_not_use_the_users_cache(cache_of_a_fixture: str | None, kept_cache: str) -> None:
    assert cache_of_a_fixture == kept_cache


def test_this_room_shares_a_cache(kept_cache: str) -> None:
    assert os.environ["CUDA_WHEEL_CACHE_DIR"] == kept_cache


@pytest.mark.usefixtures("own_cache")
def test_a_test_may_have_its_own(kept_cache: str) -> None:
    assert os.environ["CUDA_WHEEL_CACHE_DIR"] != kept_cache
