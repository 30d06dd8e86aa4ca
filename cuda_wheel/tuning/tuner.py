"""Try the candidates of a tunable: compare their results, time those that are right, and choose one.

The results are kept, and restored before each launch that counts. The table of tuned choices has one line for each
choice, in an order that does not depend on the times.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from statistics import median
from typing import Any, Protocol

from cuda_wheel.runtime.arguments import is_on_gpu, type_name
from cuda_wheel.runtime.driver import (
    check_result,
    cuda_driver,
    current_device,
    device_and_driver,
    device_attribute,
)
from cuda_wheel.runtime.errors import ArgumentError, CudaWheelError, DriverError, describe_error
from cuda_wheel.runtime.manifest import Version
from cuda_wheel.runtime.parts.array_protocols import device_bytes
from cuda_wheel.runtime.parts.buffers import host_bytes
from cuda_wheel.runtime.parts.tuned_rows import FORMAT, Problem, Row, device_name, problem_text
from cuda_wheel.runtime.parts.tuned_tables import Choice
from cuda_wheel.tuning.tunable import Tunable

__all__ = ["GpuTimer", "Measured", "ResultArrays", "Timer", "Trial", "merged_rows", "table_text", "tune"]


class ResultArrays:
    """The arrays that a tuned function's launches write, on the GPU or in host memory."""

    def __init__(self, given: Any) -> None:
        """Take an array, or a tuple or list of arrays. Raises ArgumentError if there is none, or one is not contiguous
        or is read-only."""
        self._arrays = list(given) if isinstance(given, (tuple, list)) else [given]
        if not self._arrays:
            raise ArgumentError("there are no results to compare: return the launch function and the result arrays")
        for array in self._arrays:
            if not is_on_gpu(array) and host_bytes(array).readonly:
                raise ArgumentError(f"the {type_name(type(array))} with results is read-only")
        self.read()

    def read(self) -> list[bytes]:
        """Return the content of each array; all work of the GPU must be complete."""
        return [_read(array) for array in self._arrays]

    def write(self, contents: Sequence[bytes]) -> None:
        """Set the content of each array to the bytes in `contents`."""
        for array, content in zip(self._arrays, contents, strict=True):
            if is_on_gpu(array):
                address, size = device_bytes(array)
                if size:
                    check_result(cuda_driver().cuMemcpyHtoD(address, content, size), "restoring the results")
            else:
                host_bytes(array).cast("B")[:] = content

    def difference(self, reference: Sequence[bytes], found: Sequence[bytes], rtol: float, atol: float) -> str | None:
        """Return a message if `found` differs from `reference` by more than the tolerance, else None. Both have the
        bytes of each array."""
        for number, (array, wanted, content) in enumerate(zip(self._arrays, reference, found, strict=True)):
            what = "the result" if len(self._arrays) == 1 else f"result {number}"
            if wanted != content:
                text = _difference(_element_type(array), wanted, content, rtol, atol)
                if text is not None:
                    return f"{what} is wrong: {text}"
        return None


def _read(array: Any) -> bytes:
    if not is_on_gpu(array):
        return bytes(host_bytes(array))
    address, size = device_bytes(array)
    content = bytearray(size)
    if size:
        check_result(cuda_driver().cuMemcpyDtoH(content, address, size), "reading the results")
    return bytes(content)


def _element_type(array: Any) -> str:
    """Return an array's element type as NumPy spells it, such as "<f4"; or "bfloat16", which NumPy does not have."""
    if str(getattr(array, "dtype", "")) in ("torch.bfloat16", "bfloat16"):
        return "bfloat16"
    if is_on_gpu(array):
        return str(array.__cuda_array_interface__["typestr"])
    interface = getattr(array, "__array_interface__", None)
    return str(interface["typestr"] if interface else memoryview(array).format)


def _difference(dtype: str, wanted: bytes, content: bytes, rtol: float, atol: float) -> str | None:
    """Return a message if the bytes `content` of an array differ from `wanted` by more than the tolerance, else None.
    Message: "element 3 is 1.5, not 1.0; 1 of 8 differ".

    `dtype` is the element type, such as "<f4" or "bfloat16". If `rtol` and `atol` are both 0, all bits must be equal.
    """
    exact = not (rtol or atol)
    try:
        np: Any = import_module("numpy")  # no requirement of this package
    except ImportError:
        if exact:
            first = next(place for place, pair in enumerate(zip(wanted, content, strict=True)) if pair[0] != pair[1])
            return f"byte {first} is {content[first]}, not {wanted[first]}"
        raise CudaWheelError("rtol and atol need NumPy: pip install numpy") from None
    if dtype == "bfloat16":  # the upper half of a float32
        one, other = (np.frombuffer(each, np.uint16).astype(np.uint32) << 16 for each in (wanted, content))
        one, other = one.view(np.float32), other.view(np.float32)
    else:
        one, other = (np.frombuffer(each, np.dtype(dtype)) for each in (wanted, content))
    if exact:
        bits = [np.frombuffer(each, np.uint8).reshape(len(one), -1) for each in (wanted, content)]
        differs = (bits[0] != bits[1]).any(axis=1)
    elif one.dtype.kind not in "fciub":
        raise ArgumentError(f"results of type {dtype} can be compared bit by bit only: leave out rtol and atol")
    else:
        # In float64, whose arithmetic neither overflows nor rounds a difference of the smaller types away.
        wide, right = (each if each.dtype.kind == "c" else each.astype(np.float64) for each in (other, one))
        differs = ~np.isclose(wide, right, rtol=rtol, atol=atol, equal_nan=True)
    count = int(differs.sum())
    if not count:
        return None
    first = int(differs.argmax())
    return f"element {first} is {other[first]!s}, not {one[first]!s}; {count} of {len(one)} differ"


MINIMUM_FLUSH = 64 << 20
"""Minimum number of bytes that are written before each measurement to flush the caches."""


class GpuTimer:
    """Measures the time of work on the default stream of a GPU: that of the current context, else GPU 0.

    Before each measurement, the GPU overwrites more memory than its cache has. So the caches are cold, and the GPU is
    busy while the host enqueues the launch: the measured time is the GPU's, and not the host's.
    """

    def __init__(self) -> None:
        """Raises DriverError without a usable GPU."""
        driver = self._driver = cuda_driver()
        device = current_device()
        if device is None:
            device = 0
            context = check_result(driver.cuDevicePrimaryCtxRetain(0), "making a context on GPU 0")
            check_result(driver.cuCtxSetCurrent(context), "making the context of GPU 0 current")
        self.device = device
        self.gpu = device_name(device)
        self.capability: Version = device_and_driver(device)[0]
        self._start, self._end = (check_result(driver.cuEventCreate(0), "making an event") for _ in range(2))
        self._size = max(2 * device_attribute("L2_CACHE_SIZE", device), MINIMUM_FLUSH)
        self._memory = int(check_result(driver.cuMemAlloc(self._size), "allocating memory to write"))
        self._flush(1)
        self.finish()
        self._flush_seconds = min(self._events(lambda: self._flush(4)) for _ in range(5)) / 4

    def close(self) -> None:
        """Free the memory and the events."""
        self._driver.cuMemFree(self._memory)
        for event in (self._start, self._end):
            self._driver.cuEventDestroy(event)

    def finish(self) -> None:
        """Wait for all work of the GPU; raises DriverError if it failed."""
        check_result(self._driver.cuCtxSynchronize(), "waiting for the GPU")

    def is_usable(self) -> bool:
        """Return whether the GPU still runs work of this process, which it does not after an illegal memory access."""
        try:
            self.finish()
        except DriverError:
            return False
        return True

    def flushes(self, launch: Callable[[], object]) -> int:
        """Return how many flushes of the caches take the GPU longer than the host takes to enqueue `launch`, at most
        64. `launch` is called three times, which also warms it up."""
        host_seconds = []
        for _ in range(3):
            self.finish()
            began = time.perf_counter()
            launch()
            host_seconds.append(time.perf_counter() - began)
        self.finish()
        return min(64, 1 + math.ceil(2 * min(host_seconds) / self._flush_seconds))

    def seconds(self, launch: Callable[[], object], flushes: int) -> float:
        """Return the seconds that the GPU takes for the work that `launch` enqueues, after `flushes` flushes of the
        caches."""
        self.finish()
        self._flush(flushes)
        return self._events(launch)

    def _flush(self, count: int) -> None:
        """Overwrite, `count` times, a block of memory that is larger than the GPU's caches. Then the caches are
        cold."""
        for _ in range(count):
            check_result(self._driver.cuMemsetD8Async(self._memory, 0, self._size, 0), "writing memory")

    def _events(self, launch: Callable[[], object]) -> float:
        """Return the seconds between two events that the GPU records before and after the work that `launch`
        enqueues."""
        self._record(self._start)
        launch()
        self._record(self._end)
        check_result(self._driver.cuEventSynchronize(self._end), "waiting for the GPU")
        milliseconds = check_result(self._driver.cuEventElapsedTime(self._start, self._end), "reading the time")
        return float(milliseconds) / 1000

    def _record(self, event: Any) -> None:
        check_result(self._driver.cuEventRecord(event, 0), "recording an event")


TIE = 1.01
"""Candidates count as equally fast if their time is at most this factor times the fastest time. The first of them in
the user's list is chosen."""

SHORTEST_KERNEL = 0.5e-6
"""Minimum difference, in seconds, between the times of a candidate and of an empty call. A candidate below this limit
launched nothing on the default stream."""


class Timer(Protocol):
    """The interface of `GpuTimer`, which tests implement without a GPU."""

    gpu: str
    capability: Version
    device: int

    def finish(self) -> None: ...
    def is_usable(self) -> bool: ...
    def flushes(self, launch: Callable[[], object]) -> int: ...
    def seconds(self, launch: Callable[[], object], flushes: int) -> float: ...


@dataclass
class Trial:
    """The measurement of a candidate."""

    choice: Choice
    reason: str | None = None
    """Why the candidate is not timed: it failed, or its results differ from those of the first candidate. None if its
    results are right."""
    seconds: float = 0.0
    """Median time of a launch on the GPU, in seconds; 0 if the candidate is not timed."""


@dataclass(frozen=True)
class Measured:
    """The trials for one problem, in the order of the candidates."""

    problem: Problem
    trials: Sequence[Trial]
    best: Trial
    """The chosen trial: the first one, in the order of the candidates, that counts as fastest (see `TIE`)."""
    row: Row
    """Row for the table of tuned choices, with the choice and the time of the chosen trial."""


def tune(tunable: Tunable, timer: Timer) -> Iterator[Measured]:
    """Yield the measurement of each problem.

    Raises CudaWheelError if the first candidate, which is the reference, fails, leaves the result arrays unchanged or
    gives different results in two runs; if nothing can be measured; and if a candidate makes the GPU unusable.
    """
    for problem in tunable.problems:
        what = f"{tunable.name} for {problem_text(problem)}"
        launch, results = _set_up(tunable, problem, what)
        trials = [
            Trial(Choice(tunable.module, each.variant, each.kernel, each.parameters, problem, timer.gpu, timer.device))
            for each in tunable.candidates_for(problem)
        ]
        start = _check(tunable, what, launch, results, trials, timer)
        right = [trial for trial in trials if trial.reason is None]
        _time(tunable, what, launch, right, timer, partial(results.write, start))
        fastest = min(trial.seconds for trial in right)
        # The first one of these: noise in the times does not change the table.
        best = next(trial for trial in right if trial.seconds <= fastest * TIE)
        yield Measured(problem, trials, best, _row(tunable, problem, best, trials[0], timer))


def _set_up(tunable: Tunable, problem: Problem, what: str) -> tuple[Callable[[Choice], object], ResultArrays]:
    """Call the user's function for a problem; return its launch function and its result arrays. Raises CudaWheelError
    if the user's function does not return these two. `what` begins the error message: "scale for n=4096"."""
    returned = tunable(dict(problem))
    if not isinstance(returned, tuple) or len(returned) != 2 or not callable(returned[0]):
        raise CudaWheelError(
            f"{what}: the function must return a function that launches a candidate, and its result arrays; it "
            f"returned {returned!r:.200}"
        )
    return returned[0], ResultArrays(returned[1])


def _check(
    tunable: Tunable,
    what: str,
    launch: Callable[[Choice], object],
    results: ResultArrays,
    trials: Sequence[Trial],
    timer: Timer,
) -> list[bytes]:
    """Run each candidate. If it fails, or its results differ from those of the first candidate, set its `Trial.reason`.
    Return the content of the result arrays before the launches.

    Raise CudaWheelError if the first candidate fails, leaves the result arrays unchanged, or gives different results in
    two runs. Raise it also if the GPU becomes unusable. `what` begins the error message: "scale for n=4096".
    """
    timer.finish()
    start = results.read()

    def run(choice: Choice) -> list[bytes]:
        choice.kernel  # noqa: B018 - loads it, which may compile it
        results.write(start)
        timer.finish()
        launch(choice)
        timer.finish()
        return results.read()

    first, *others = trials
    label = first.choice.label
    try:
        reference, again = run(first.choice), run(first.choice)
    except Exception as error:
        raise CudaWheelError(
            f"{what}: the first candidate ({label}) is the reference, and it fails: {describe_error(error)}"
        ) from error
    if reference == start:
        raise CudaWheelError(
            f"{what}: the first candidate ({label}) leaves the result arrays as they were, so nothing can be "
            "compared. Return arrays that do not have the results yet."
        )
    difference = results.difference(reference, again, tunable.rtol, tunable.atol)
    if difference is not None:
        raise CudaWheelError(
            f"{what}: two runs of the first candidate ({label}) differ, so it is no reference. In the second, "
            f"{difference}. Set rtol or atol, if that is rounding."
        )
    for trial in others:
        try:
            found = run(trial.choice)
        except Exception as error:
            if not timer.is_usable():
                raise CudaWheelError(
                    f"{what}: the candidate {trial.choice.label} made the GPU unusable for this process, so nothing "
                    f"more can be measured: {describe_error(error)}. Mend it or leave it out."
                ) from error
            trial.reason = describe_error(error)
        else:
            trial.reason = results.difference(reference, found, tunable.rtol, tunable.atol)
    return start


def _time(
    tunable: Tunable,
    what: str,
    launch: Callable[[Choice], object],
    trials: Sequence[Trial],
    timer: Timer,
    restore: Callable[[], None],
) -> None:
    """Set `Trial.seconds` of each trial to the median of its times. Each round times every candidate once. `restore` is
    called before each launch that is timed.

    Raise CudaWheelError if a candidate launches nothing on the default stream. `what` begins the error message: "scale
    for n=4096".
    """
    calls: list[Any] = [lambda choice=trial.choice: launch(choice) for trial in trials]
    flushes = [timer.flushes(call) for call in calls]
    samples: list[list[float]] = [[] for _ in calls]
    for turn in range(tunable.rounds + 1):
        # Each round starts with the next candidate, so that a change of the GPU's clock affects all alike.
        for place in range(len(calls)):
            number = (place + turn) % len(calls)
            timer.finish()
            restore()
            taken = timer.seconds(calls[number], flushes[number])
            if turn:  # the first round warms up
                samples[number].append(taken)
    nothing = median(timer.seconds(lambda: None, 1) for _ in range(9))
    for trial, taken_times in zip(trials, samples, strict=True):
        trial.seconds = median(taken_times)
        # Even an empty kernel takes longer.
        if trial.seconds < nothing + SHORTEST_KERNEL:
            raise CudaWheelError(
                f"{what}: nothing can be measured. The default stream has no work from the candidate "
                f"{trial.choice.label}: it launches nothing, or on a stream that does not wait for the default stream."
            )


def _row(tunable: Tunable, problem: Problem, best: Trial, first: Trial, timer: Timer) -> Row:
    choice = best.choice
    times = (float(f"{trial.seconds * 1e6:.3g}") for trial in (best, first))  # more digits would change in every run
    what = (tunable.name, timer.gpu, timer.capability, problem)
    return Row(*what, choice.variant, choice.kernel_name, choice.parameters, *times)


def merged_rows(old: Iterable[Row], new: Iterable[Row]) -> list[Row]:
    """Return the new rows, and the old rows whose name and GPU no new row has, in the order of the file."""
    new = list(new)
    measured = {(row.name, row.gpu) for row in new}
    return sorted([*new, *(row for row in old if (row.name, row.gpu) not in measured)], key=_order)


def table_text(module: str, rows: Iterable[Row]) -> str:
    """Return the content of the file `.tuned.json` of a module."""
    lines = ",\n".join(json.dumps(row._asdict()) for row in sorted(rows, key=_order))
    head = f'"format": {FORMAT},\n"module": {json.dumps(module)},\n"choices": [\n'
    return f"{{\n{head}{lines}\n]\n}}\n"


def _order(row: Row) -> tuple[Any, ...]:
    """Return the sort key of a row: its name, then compute capability, then GPU, then the values of its problem."""
    return row.name, row.compute_capability, row.gpu, [(key, row.problem[key]) for key in sorted(row.problem)]
