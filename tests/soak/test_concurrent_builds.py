"""Builds of the same and of different projects share a cache, at once: each gives what it would alone."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

from cuda_wheel.runtime.cache import Cache
from tests.soak import SOAK, amount
from tests.soak.builds import Bed, content_of

ROUNDS = ["edited and pruned", "cold", "as before", "edited", "as before and pruned"]


def test_builds_at_once_give_what_each_would_alone(
    tmp_path: Path, make_bed: Callable[[Path], Bed], count: Callable[[str, int], None]
) -> None:
    rng = random.Random(None if SOAK else 8)
    beds = [make_bed(tmp_path / name) for name in "ab"]
    (beds[1].project("hatchling") / "demo/two.cu").write_text("__global__ void two(double* x) { *x = 2; }\n")
    kinds = [(bed, way) for bed in beds for way in ["cuda-wheel build", "hatchling"][: amount(1, 2)]]
    expected: dict[int, dict[str, bytes]] = {}
    for number in range(amount(1, 50)):
        what = ROUNDS[number % len(ROUNDS)]
        cache = Cache(str(tmp_path / (f"cache {number}" if what == "cold" else "cache")))
        if "edited" in what:
            for bed in beds:
                bed.edit(number)
            expected = {kind: bed.undisturbed(way) for kind, (bed, way) in enumerate(kinds)}
        builds = []
        for index in range(amount(4, 8)):
            bed, way = kinds[index % len(kinds)]
            output = tmp_path / f"out {number} {index}"
            # What some keep drives out what others do.
            size = rng.choice(["0", "10KiB", "30KiB", "2GiB"]) if "pruned" in what else "2GiB"
            limits = {"CUDA_WHEEL_CACHE_DIR": cache.folder, "CUDA_WHEEL_CACHE_SIZE": size}
            builds.append((index % len(kinds), output, bed.start(way, output, **limits)))
        for kind, output, process in builds:
            told, _ = process.communicate(timeout=600)
            assert process.returncode == 0, told.decode()
            assert b"Warning" not in told and b"Traceback" not in told, told.decode()
            assert content_of(output) == expected[kind]
        assert not list(Path(cache.folder).rglob("*.part"))
        for _, _, path in cache.entries():
            assert cache.get("".join(Path(path).parts[-2:])) is not None
        count(f"builds at once, {what}", len(builds))
