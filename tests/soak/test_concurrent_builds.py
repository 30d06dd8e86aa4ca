"""Concurrent builds of the same and of different projects share a cache; each gives the same files as if it ran alone."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from cuda_wheel.runtime.parts.user_cache import Cache
from tests.soak import SLOW, SOAK, amount
from tests.soak.builds import ProjectPair, content_of, is_intact

pytestmark = [pytest.mark.one_toolchain, pytest.mark.timeout(SLOW)]

ROUNDS = ["edited and pruned", "cold", "unchanged", "edited", "unchanged and pruned"]


@pytest.mark.thorough
def test_concurrent_builds_give_the_same_files_as_single_builds(
    tmp_path: Path, make_projects: Callable[[Path], ProjectPair], count: Callable[[str, int], None]
) -> None:
    rng = random.Random(None if SOAK else 8)
    pairs = [make_projects(tmp_path / name) for name in "ab"]
    (pairs[1].project("hatchling") / "demo/two.cu").write_text("__global__ void two(double* x) { *x = 2; }\n")
    kinds = [(pair, command) for pair in pairs for command in ["cuda-wheel build", "hatchling"][: amount(1, 2)]]
    expected: dict[int, dict[str, bytes]] = {}
    for number in range(amount(1, 50)):
        round_ = ROUNDS[number % len(ROUNDS)]
        cache = Cache(str(tmp_path / (f"cache {number}" if round_ == "cold" else "cache")))
        if "edited" in round_:
            for pair in pairs:
                pair.edit(number)
            expected = {kind: pair.clean_build(command) for kind, (pair, command) in enumerate(kinds)}
        builds = []
        for index in range(amount(4, 8)):
            pair, command = kinds[index % len(kinds)]
            output = tmp_path / f"out {number} {index}"
            # A small size makes a build remove entries that another build uses.
            size = rng.choice(["0", "10KiB", "30KiB", "2GiB"]) if "pruned" in round_ else "2GiB"
            limits = {"CUDA_WHEEL_CACHE_DIR": cache.folder, "CUDA_WHEEL_CACHE_SIZE": size}
            builds.append((index % len(kinds), output, pair.start(command, output, **limits)))
        for kind, output, process in builds:
            log, _ = process.communicate(timeout=600)
            assert process.returncode == 0, log.decode()
            assert b"Warning" not in log and b"Traceback" not in log, log.decode()
            assert content_of(output) == expected[kind]
        assert not list(Path(cache.folder).rglob("*.part"))
        for _, _, path in cache.entries():
            assert is_intact(cache, path)
        count(f"concurrent builds, {round_}", len(builds))
