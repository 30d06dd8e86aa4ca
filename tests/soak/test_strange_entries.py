"""If another program changes entries of the cache, builds still give the same files, and report it once."""

from __future__ import annotations

import json
import pickle
import random
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from cuda_wheel.runtime.parts.user_cache import Cache
from tests.soak import SOAK, amount
from tests.soak.builds import ProjectPair, content_of

pytestmark = pytest.mark.one_toolchain

NONSENSE = [
    b"",
    b"null",
    b"1e999",
    b"{}",
    b"[]",
    b"[[1]]",
    b'[["0", 0]]',
    b'{"a": null}',
    b"[" * 100_000,
    b"\xff\n" * 10,
    json.dumps({"manifest": 10**9, "warnings": [], "headers": [], "absent": []}).encode() + b"\n",
    pickle.dumps({"a": 1}),
]


@pytest.mark.thorough
def test_builds_do_not_use_entries_that_another_program_wrote(
    tmp_path: Path, make_projects: Callable[[Path], ProjectPair], count: Callable[[str, int], None]
) -> None:
    rng = random.Random(None if SOAK else 8)
    projects = make_projects(tmp_path / "projects")
    cache = Cache(projects.environ["CUDA_WHEEL_CACHE_DIR"])
    projects.edit(1)
    expected = projects.build("cuda-wheel build", tmp_path / "out")
    changed = 0
    for number in range(amount(2, 100)):
        entries = {Path(path): Path(path).read_bytes() for _, _, path in cache.entries()}
        share = rng.choice([0.1, 0.3, 1]) if number else 1
        for path in entries:
            if rng.random() < share:
                changed += 1
                change(path, entries, rng)
        process = projects.start("cuda-wheel build", tmp_path / f"out {number}")
        log, _ = process.communicate(timeout=600)
        assert process.returncode == 0, log.decode()
        assert b"Traceback" not in log, log.decode()
        assert log.count(b" is damaged or was written by another program") <= 1, log.decode()
        assert content_of(tmp_path / f"out {number}") == expected
        assert projects.build("cuda-wheel build", tmp_path / "out") == expected  # the message is not repeated
    count("entries altered", changed)


def change(path: Path, entries: dict[Path, bytes], rng: random.Random) -> None:
    """Change an entry in a way that no build does."""
    entry = entries[path]
    key = "".join(path.parts[-2:])
    match rng.randrange(6):
        case 0:
            path.write_bytes(entry[: rng.randrange(len(entry))])
        case 1:
            position = rng.randrange(len(entry))
            path.write_bytes(
                entry[:position] + bytes([entry[position] ^ 1 << rng.randrange(8)]) + entry[position + 1 :]
            )
        case 2:
            path.write_bytes(rng.choice([*entries.values()]))
        case 3:
            path.unlink()
        case 4:
            Cache(str(path.parents[1])).put(key, rng.choice(NONSENSE))
        case 5:  # as another version might have stored it
            with suppress(ValueError, RecursionError):  # the entry was replaced by nonsense before
                head, line, body = entry[64:].partition(b"\n")
                Cache(str(path.parents[1])).put(key, json.dumps(altered(json.loads(head), rng)).encode() + line + body)


def altered(value: object, rng: random.Random) -> object:
    """Return a JSON value with a key or item added, removed or replaced."""
    if isinstance(value, dict) and value:
        name = rng.choice([*value])
        rest = {key: item for key, item in value.items() if key != name}
        return rng.choice([rest, rest | {"another": 1}])
    if isinstance(value, list) and value:
        return value[:-1] if rng.random() < 0.5 else [*value, None]
    return {"another": value}
