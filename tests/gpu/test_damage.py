"""Loading damaged images with a real driver, with the check of hashes turned off.

Each image is loaded in a subprocess, which may crash or hang; the test then reports the image's number.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.gpu.conftest import prebuilt_sets
from tests.gpu.support import SAXPY
from tests.soak import amount
from tests.support.toolchains import installed_extra

FIXTURE_OF = {"saxpy": "saxpy", "stencil": "stencil", "reduce": "reduce_cub", "separate": "linked"}
"""The modules to damage, and their fixtures."""
PROGRAM = """
import signal, sys
from cuda.bindings import driver
from tests.gpu.support import check_saxpy, load_damaged
import cuda_wheel
driver.cuInit(0)
driver.cuCtxSetCurrent(driver.cuDevicePrimaryCtxRetain(0)[1])
good = cuda_wheel.load(sys.argv[1])
check_saxpy(good)
for number, outcome in load_damaged(sys.argv[2], range(*map(int, sys.argv[3:]))):
    print(number, outcome, flush=True)
    signal.alarm(20)  # if a load hangs, its number is the last one printed
    if number % 16 == 0:
        check_saxpy(good)
check_saxpy(good)
print("usable", flush=True)
"""


@pytest.mark.parametrize(
    ("name", "module"),
    [*((name, module) for name in ("cu12", "cu13") for module in FIXTURE_OF), ("cu12-jit", "saxpy")],
)
def test_a_damaged_image_gives_an_error_and_the_context_stays_usable(
    name: str, module: str, request: pytest.FixtureRequest, install: Callable[[Path], Path], count
) -> None:
    def wheel(fixture: str) -> Path:
        if not prebuilt_sets() and name == installed_extra():
            return request.getfixturevalue("fixture_wheel")(fixture)
        return request.getfixturevalue("prebuilt")(name, fixture)

    site, other = install(wheel("saxpy")), install(wheel(FIXTURE_OF[module]))
    kind = "PTX" if name.endswith("-jit") else f"cubins of {name}"
    root = Path(__file__).parents[2]
    (fatbin,) = other.rglob(f"{module}.fatbin")
    total = amount(200, 2000) if kind == "PTX" else amount(3000, 100_000)
    outcomes: dict[int, str] = {}

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
                outcomes[int(number)] = outcome
                at = int(number) + 1
            if not result.stdout.endswith("usable\n"):
                assert result.returncode < 0, result.stderr  # only our errors were raised, and the context was usable
                outcomes[at] = f"signal {-result.returncode}"
                at += 1

    lanes = min(os.cpu_count() or 1, 16)
    with ThreadPoolExecutor(lanes) as executor:
        list(executor.map(work, [range(total * lane // lanes, total * (lane + 1) // lanes) for lane in range(lanes)]))
    crashed = sorted(number for number, outcome in outcomes.items() if outcome.startswith("signal"))
    print(kind, module, sorted(Counter(outcomes.values()).items()), crashed[:20])
    assert len(outcomes) == total
    count(f"damaged {kind} before the driver", total)
    assert not crashed
