"""Which waiting job a worker does next."""

from __future__ import annotations

import heapq
import math
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cuda_wheel.builder.workers.executor import KEEP_GROUP_SECONDS, REPLACE_WORKER_SECONDS, Queue

pytestmark = pytest.mark.one_toolchain


Jobs = list[tuple[float, tuple[str, ...] | None]]


SECONDS = st.floats(0.01, 100)


OPTIONS = st.sampled_from([("a",), ("b",), ("c",), None])


@given(st.lists(st.tuples(SECONDS, OPTIONS), min_size=1, max_size=40))
def test_a_worker_takes_the_longest_job_unless_it_would_be_replaced_to_save_little_time(jobs: Jobs) -> None:
    queue: Queue[tuple[float, tuple[str, ...] | None]] = Queue()
    for each in jobs:
        queue.put(each, *each)
    seconds, _ = queue.take(("a",))
    suiting = max((length for length, needed in jobs if needed in (("a",), None)), default=-math.inf)
    others = max((length for length, needed in jobs if needed not in (("a",), None)), default=-math.inf)
    assert seconds == (suiting if suiting >= others - REPLACE_WORKER_SECONDS else others)
    assert len(queue) == len(jobs) - 1


def test_jobs_of_equal_length_keep_their_order() -> None:
    queue: Queue[int] = Queue()
    for number in range(9):
        queue.put(number, 1.0, [("a",), None, ("b",)][number % 3])
    assert [queue.take(None) for _ in range(9)] == list(range(9))
    with pytest.raises(IndexError, match="the queue is empty"):
        queue.take(None)


@given(
    st.lists(st.tuples(SECONDS, OPTIONS, st.sampled_from([None, "g", "h"])), min_size=1, max_size=40),
    st.sampled_from([None, "g", "h"]),
    st.integers(0, 3),
)
def test_a_worker_keeps_its_group_unless_another_job_is_much_longer(
    jobs: list[tuple[float, tuple[str, ...] | None, str | None]], own: str | None, others: int
) -> None:
    queue: Queue[int] = Queue()
    for number, each in enumerate(jobs):
        queue.put(number, *each)
    seconds, _, group = jobs[queue.take(("a",), own, {"h": others})]
    longest = max(each for each, _, _ in jobs)
    assert seconds >= longest - 2 * KEEP_GROUP_SECONDS - REPLACE_WORKER_SECONDS
    of_own_group = [length for length, *key in jobs if own is not None and key == [("a",), own]]
    if of_own_group and max(of_own_group) >= longest:
        assert group == own
    rest = [queue.take(None) for _ in range(len(jobs) - 1)]
    assert len({*rest}) == len(jobs) - 1 and not queue


@pytest.mark.parametrize(
    ("sizes", "cores", "begun"),
    [([10, 10, 10], 1, 3), ([10, 10, 10], 2, 4), ([10, 10, 10], 3, 3), ([20, 15], 2, 3), ([12], 4, 4), ([5] * 6, 2, 6)],
)
def test_few_workers_begin_each_group(sizes: list[int], cores: int, begun: int) -> None:
    """Each of them precompiles the headers."""
    queue: Queue[str] = Queue()
    for turn in range(max(sizes)):
        for number, size in enumerate(sizes):
            if turn < size:
                queue.put(str(number), 0.2, ("a",), str(number))
    free = [(0.0, number) for number in range(cores)]
    doing: dict[int, str] = {}
    pairs = set()
    while queue:
        at, worker = heapq.heappop(free)
        others = Counter(group for other, group in doing.items() if other != worker)
        doing[worker] = queue.take(("a",), doing.get(worker), others)
        new = (worker, doing[worker]) not in pairs
        pairs.add((worker, doing[worker]))
        heapq.heappush(free, (at + (1.5 if new else 0.2), worker))
    assert len(pairs) == begun


def test_one_long_job_of_another_group_does_not_wait_for_all_short_ones() -> None:
    queue: Queue[str] = Queue()
    for number in range(9):
        queue.put(f"short {number}", 0.2, ("a",), "g")
    queue.put("long", 30.0, ("a",), "h")
    assert queue.take(("a",), "g") == "long"
    assert queue.take(("a",), "g") == "short 0"
