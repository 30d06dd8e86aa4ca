"""Memory on the GPU, and checks of loaded kernels, for the tests that need a GPU."""

from __future__ import annotations

import random
import re
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

import cuda_wheel
from cuda_wheel.builder.manifest_reader import manifest_of
from cuda_wheel.builder.manifest_writer.text import manifest_text
from cuda_wheel.runtime.driver import device_and_driver
from cuda_wheel.runtime.rules import resolve

SAXPY = "saxpy_demo.kernels.saxpy"
SAXPY_SIZE = 1024
"""The number of elements that `check_saxpy` computes."""


class Memory:
    """An array on the GPU that exposes its address by `__cuda_array_interface__`, without any array library."""

    address = 0

    def __init__(self, content: Any, *, read_only: bool = False) -> None:
        from cuda.bindings import driver

        self._driver = driver
        self._array = np.ascontiguousarray(content)
        self._read_only = read_only
        error, address = driver.cuMemAlloc(max(self._array.nbytes, 1))
        assert int(error) == 0, error
        self.address = int(address)
        assert int(driver.cuMemcpyHtoD(self.address, self._array, self._array.nbytes)[0]) == 0

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        array = self._array
        data = (self.address, self._read_only)
        return {"shape": array.shape, "typestr": array.dtype.str, "data": data, "version": 3}

    def numpy(self) -> Any:
        """Return the content after all launches."""
        content = np.empty_like(self._array)
        result = self._driver.cuMemcpyDtoH(content, self.address, content.nbytes)
        assert int(result[0]) == 0, result
        return content

    def __del__(self) -> None:
        if self.address:  # the constructor may have failed
            self._driver.cuMemFree(self.address)


def value(result: tuple[Any, ...]) -> Any:
    """Return the value of a call of the driver, which must have succeeded."""
    assert int(result[0]) == 0, result[0].name
    return result[1] if len(result) > 1 else None


def in_threads(work: Callable[[int], None], count: int = 6) -> None:
    """Call a function in `count` threads at once, with the number of the thread from 0; raise the first error."""
    start = threading.Barrier(count)

    def one(number: int) -> None:
        start.wait(60)
        work(number)

    with ThreadPoolExecutor(count) as pool:
        list(pool.map(one, range(count)))


def check_saxpy(module: cuda_wheel.Module, stream: int = 0) -> None:
    """Run saxpy and compare its result with NumPy's."""
    from cuda.bindings import driver

    n = SAXPY_SIZE
    x, y = Memory(np.arange(n, dtype=np.float32)), Memory(np.ones(n, np.float32))
    module["saxpy"].launch(n // 256, 256, 3.0, x, y, n, stream=stream)
    value(driver.cuStreamSynchronize(stream))
    assert (y.numpy() == 3 * np.arange(n) + 1).all()


def compare_signatures(module: cuda_wheel.Module) -> None:
    """Check that the driver reports the same offset and size for every parameter of every kernel."""
    from cuda.bindings import driver

    assert len(module)
    for kernel in module.values():
        found = []
        while True:
            error, offset, size = driver.cuKernelGetParamInfo(kernel.handle, len(found))
            if int(error) != 0:
                break
            found.append((offset, size))
        assert [(each.offset, each.size) for each in kernel.info.parameters] == found, kernel
        assert all(each.cpp or kernel.symbol == kernel.name for each in kernel.info.parameters), kernel


def damaged(content: bytes, draw: random.Random) -> bytes:
    """Return an image truncated or with flipped bits."""
    if draw.random() < 0.2:
        return content[: draw.randrange(len(content))]
    changed = bytearray(content)
    for _ in range(draw.choice([1, 1, 2, 8, 64])):
        changed[draw.randrange(len(changed))] ^= 1 << draw.randrange(8)
    return bytes(changed)


def load_damaged(fatbin: str, numbers: range) -> Iterator[tuple[int, str]]:
    """Damage the image that fits this GPU and load it, once for each number, which seeds the damage.

    Yield the number and the outcome.
    """
    good = Path(fatbin).read_bytes()
    manifest = manifest_of(Path(f"{fatbin}.json").read_bytes(), "x")
    image = resolve(manifest, *device_and_driver()).image
    assert image is not None and image.offset is not None
    start, end = image.offset, image.offset + image.size
    with tempfile.TemporaryDirectory() as root:
        sys.path.insert(0, root)
        package = Path(root, "damaged")  # not in the installed package: other processes use that at the same time
        package.mkdir()
        (package / "__init__.py").touch()
        for number in numbers:
            name = f"damaged.n{number}"
            content = good[:start] + damaged(good[start:end], random.Random(number))
            if len(content) == end:  # a truncated image is the end of the file
                content += good[end:]
            path = package / f"n{number}.fatbin"
            path.write_bytes(content)
            text = manifest_text(manifest._replace(name=name, fatbin=path.name))
            (package / f"n{number}.fatbin.json").write_text(text)
            try:
                module = cuda_wheel.load(name)
                module[next(iter(module.kernels))].attributes  # noqa: B018 - makes the driver load it into the context
                module.unload()
                yield number, "loaded"
            except cuda_wheel.CudaWheelError as error:
                answer = re.search(r"CUDA_ERROR_\w+", str(error))
                yield number, f"{type(error).__name__} {answer[0] if answer else ''}".rstrip()
