"""Whatever another program makes of the cache's entries, a build gives what it would without, and says so once."""

from __future__ import annotations

import json
import pickle
import random
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from cuda_wheel.runtime.cache import Cache
from tests.soak import SOAK, amount
from tests.soak.builds import Bed, content_of

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


def test_no_build_takes_what_another_program_wrote(
    tmp_path: Path, make_bed: Callable[[Path], Bed], count: Callable[[str, int], None]
) -> None:
    rng = random.Random(None if SOAK else 8)
    bed = make_bed(tmp_path / "bed")
    cache = Cache(bed.environ["CUDA_WHEEL_CACHE_DIR"])
    bed.edit(1)
    expected = bed.build("cuda-wheel build", tmp_path / "out")
    changed = 0
    for number in range(amount(2, 100)):
        entries = {Path(path): Path(path).read_bytes() for _, _, path in cache.entries()}
        share = rng.choice([0.1, 0.3, 1]) if number else 1
        for path in entries:
            if rng.random() < share:
                changed += 1
                change(path, entries, rng)
        process = bed.start("cuda-wheel build", tmp_path / f"out {number}")
        told, _ = process.communicate(timeout=600)
        assert process.returncode == 0, told.decode()
        assert b"Traceback" not in told, told.decode()
        assert told.count(b" is damaged, or another program wrote it") <= 1, told.decode()
        assert content_of(tmp_path / f"out {number}") == expected
        assert bed.build("cuda-wheel build", tmp_path / "out") == expected  # it does not complain any more
    count("entries altered", changed)


def change(path: Path, entries: dict[Path, bytes], rng: random.Random) -> None:
    """Do something to an entry that no build does."""
    entry = entries[path]
    key = "".join(path.parts[-2:])
    match rng.randrange(6):
        case 0:
            path.write_bytes(entry[: rng.randrange(len(entry))])
        case 1:
            place = rng.randrange(len(entry))
            path.write_bytes(entry[:place] + bytes([entry[place] ^ 1 << rng.randrange(8)]) + entry[place + 1 :])
        case 2:
            path.write_bytes(rng.choice([*entries.values()]))
        case 3:
            path.unlink()
        case 4:
            Cache(str(path.parents[1])).put(key, rng.choice(NONSENSE))
        case 5:  # as another version would have kept it
            with suppress(ValueError, RecursionError):  # of what was made nonsense before
                head, line, body = entry[64:].partition(b"\n")
                Cache(str(path.parents[1])).put(key, json.dumps(altered(json.loads(head), rng)).encode() + line + body)


def altered(value: object, rng: random.Random) -> object:
    """Return a value of JSON that has another key, lacks one or one item, or is another."""
    if isinstance(value, dict) and value:
        name = rng.choice([*value])
        rest = {other: its for other, its in value.items() if other != name}
        return rng.choice([rest, rest | {"another": 1}])
    if isinstance(value, list) and value:
        return value[:-1] if rng.random() < 0.5 else [*value, None]
    return {"another": value}
