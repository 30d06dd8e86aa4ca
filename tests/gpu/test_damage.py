"""Damaged images before a real driver, with the check of their hashes turned off, and damaged wheels with it on.

Each is loaded in a process that may end or hang, and is then told by its number.
"""

from __future__ import annotations

import os
import random
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import cuda_wheel
from cuda_wheel.runtime.driver import device_and_driver
from cuda_wheel.runtime.manifest import Manifest
from cuda_wheel.runtime.rules import resolve
from tests.gpu.conftest import carried_sets
from tests.soak import amount
from tests.support.toolchains import installed_extra

FIXTURE_OF = {"saxpy": "saxpy", "stencil": "stencil", "reduce": "reduce_cub", "separate": "linked"}
"""Modules that are damaged."""
SAXPY = "saxpy_demo.kernels.saxpy"
PROGRAM = """
import signal, sys
from cuda.bindings import driver
from tests.gpu.test_damage import outcomes
from tests.gpu.test_hard_use import check
import cuda_wheel
driver.cuInit(0)
driver.cuCtxSetCurrent(driver.cuDevicePrimaryCtxRetain(0)[1])
good = cuda_wheel.load(sys.argv[1])
check(good)
for number, outcome in outcomes(sys.argv[2], range(*map(int, sys.argv[3:]))):
    print(number, outcome, flush=True)
    signal.alarm(20)  # of one that hangs, the number is the last
    if number % 16 == 0:
        check(good)
check(good)
print("usable", flush=True)
"""


def damaged(content: bytes, draw: random.Random) -> bytes:
    """Return what is left of an image: cut short, or with bits flipped."""
    if draw.random() < 0.2:
        return content[: draw.randrange(len(content))]
    changed = bytearray(content)
    for _ in range(draw.choice([1, 1, 2, 8, 64])):
        changed[draw.randrange(len(changed))] ^= 1 << draw.randrange(8)
    return bytes(changed)


def outcomes(fatbin: str, numbers: range):
    """Yield number and outcome of loading a module of which the image that suits here was damaged."""
    good = Path(fatbin).read_bytes()
    manifest = Manifest.from_json(Path(f"{fatbin}.json").read_bytes(), "x")
    image = resolve(manifest, *device_and_driver()).image
    start, end = image.offset, image.offset + image.size
    with tempfile.TemporaryDirectory() as root:
        sys.path.insert(0, root)
        package = Path(root, "damaged")  # of its own: others run beside this one
        package.mkdir()
        (package / "__init__.py").touch()
        for number in numbers:
            name = f"damaged.n{number}"
            content = good[:start] + damaged(good[start:end], random.Random(number))
            if len(content) == end:  # else the file ends there
                content += good[end:]
            path = package / f"n{number}.fatbin"
            path.write_bytes(content)
            text = manifest._replace(name=name, fatbin=path.name).to_json()
            (package / f"n{number}.fatbin.json").write_text(text)
            try:
                module = cuda_wheel.load(name)
                module[next(iter(module.kernels))].attributes  # noqa: B018 - has the driver load it into the context
                module.unload()
                yield number, "loaded"
            except cuda_wheel.CudaWheelError as error:
                answer = re.search(r"CUDA_ERROR_\w+", str(error))
                yield number, f"{type(error).__name__} {answer[0] if answer else ''}".rstrip()


@pytest.mark.parametrize(
    ("name", "module"),
    [*((name, module) for name in ("cu12", "cu13") for module in FIXTURE_OF), ("cu12-jit", "saxpy")],
)
def test_what_is_damaged_is_an_error_and_the_context_stays_usable(
    name: str, module: str, request: pytest.FixtureRequest, install: Callable[[Path], Path], count
) -> None:
    def wheel(fixture: str) -> Path:
        if not carried_sets() and name == installed_extra():
            return request.getfixturevalue("fixture_wheel")(fixture)
        return request.getfixturevalue("carried")(name, fixture)

    site, other = install(wheel("saxpy")), install(wheel(FIXTURE_OF[module]))
    kind = "PTX" if name.endswith("-jit") else f"cubins of {name}"
    root = Path(__file__).parents[2]
    (fatbin,) = other.rglob(f"{module}.fatbin")
    total = amount(200, 2000) if kind == "PTX" else amount(3000, 100_000)
    found: dict[int, str] = {}

    def work(numbers: range) -> None:
        at = numbers.start
        while at < numbers.stop:
            environ = os.environ | {"CUDA_WHEEL_VERIFY": "off", "CUDA_CACHE_DISABLE": "1"}
            environ["PYTHONPATH"] = os.pathsep.join([str(site), str(root), os.environ.get("PYTHONPATH", "")])
            result = subprocess.run(
                [sys.executable, "-c", PROGRAM, SAXPY, fatbin, str(at), str(numbers.stop)],
                env=environ,
                text=True,
                capture_output=True,
                check=False,
            )
            for number, outcome in re.findall(r"^(\d+) (.+)$", result.stdout, re.MULTILINE):
                found[int(number)] = outcome
                at = int(number) + 1
            if not result.stdout.endswith("usable\n"):
                assert result.returncode < 0, result.stderr  # no error but ours, and the context was usable
                found[at] = f"signal {-result.returncode}"
                at += 1

    lanes = min(os.cpu_count() or 1, 16)
    with ThreadPoolExecutor(lanes) as executor:
        list(executor.map(work, [range(total * lane // lanes, total * (lane + 1) // lanes) for lane in range(lanes)]))
    ended = sorted(number for number, outcome in found.items() if outcome.startswith("signal"))
    print(kind, module, sorted(Counter(found.values()).items()), ended[:20])
    assert len(found) == total
    count(f"damaged {kind} before the driver", total)
    assert not ended
