"""Measure the time to check an image's SHA-256 before loading: `python benchmarks/checking.py [ROUNDS]`."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import partial

from _interleave import compare
from _results import Goal, Result

__all__ = ["measure"]

PROGRAM = """
import sys, time
from cuda_wheel.runtime.manifest import sha256_of
from cuda_wheel.runtime.files import ModuleFiles, read_image
from cuda_wheel.runtime.manifest import Image, Manifest, Target
folder, size = sys.argv[1], int(sys.argv[2])
content = bytes(size)
with open(folder + "/k.fatbin", "wb") as file:
    file.write(content)
digest = sha256_of(content)
image = Image("ptx", Target.parse("compute_80"), (8, 0), (8, 0), (12, 0), 0, size, digest, {})
manifest = Manifest("demo.k", "k.fatbin", size, digest, {"nvrtc": "13.0.0"}, (), (), (image,), ())
files = ModuleFiles(folder + "/k.fatbin.json", folder)
read_image(files, manifest, image)
before = time.process_time()
for _ in range(10):
    read_image(files, manifest, image)
print((time.process_time() - before) * 100 / (size / 1e6))
"""


def measure(rounds: int | None = None) -> list[Result]:
    def milliseconds(size: int, verify: str) -> float:
        with tempfile.TemporaryDirectory() as folder:
            command = [sys.executable, "-c", PROGRAM, folder, str(size)]
            environ = os.environ | {"CUDA_WHEEL_VERIFY": verify}
            return float(subprocess.run(command, env=environ, stdout=subprocess.PIPE, check=True).stdout)

    contenders: dict[str, Callable[[], float]] = {
        f"{name}, {verify}": partial(milliseconds, size, verify)
        for name, size in {"16 MB": 16_000_000, "1 MB": 1_000_000, "100 KB": 100_000}.items()
        for verify in ("off", "on")
    }
    goals = [Goal(f"{name}, on", f"{name}, off", more=1, limit="the speed of SHA-256.") for name in ("16 MB", "1 MB")]
    about = (
        "CPU time for each MB to read an image with CUDA_WHEEL_VERIFY off and on. Images smaller than 256 KiB use "
        "Python's own SHA-256, unless OpenSSL's faster one is already imported."
    )
    return [compare("Checking an image", about, contenders, rounds or 10, digits=2, goals=goals)]


if __name__ == "__main__":
    measure(int(sys.argv[1]) if len(sys.argv) > 1 else None)
