"""A build may be killed at any moment: what it leaves is never used, and the next build gives what it would have."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

import cuda_wheel
from cuda_wheel.runtime.cache import Cache
from tests.soak import SOAK, amount
from tests.soak.builds import WAYS, Bed, content_of
from tests.support.processes import run
from tests.support.projects import LISTS

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="what processes are left is read from /proc")


@pytest.fixture
def bed(make_bed: Callable[[Path], Bed], tmp_path: Path) -> Bed:
    return make_bed(tmp_path)


def test_no_build_that_is_killed_is_seen_afterwards(bed: Bed, count: Callable[[str, int], None]) -> None:
    rng = random.Random(None if SOAK else 8)
    killed = Counter[str]()
    builds = 0
    while killed.total() < amount(3, 200):
        builds += 1
        bed.edit(builds)
        way = list(WAYS)[builds % len(WAYS)]
        output = bed.folder / "out" / way
        before = content_of(output)
        began = time.monotonic()
        expected = bed.undisturbed(way)
        seconds = time.monotonic() - began
        for _ in range(rng.randint(1, 4)):  # some go on with what one left that was killed itself
            whom = rng.choice(["group", "process"])
            at_a_write = rng.random() < 0.5
            at = rng.randint(1, WAYS[way][1]) if at_a_write else 0
            with bed.start(way, output, KILL_AT=str(at), KILL_WHOM=whom) as process:
                if not at_a_write:
                    with suppress(subprocess.TimeoutExpired):
                        process.wait(rng.uniform(0, seconds))
                    if process.poll() is None:
                        os.killpg(process.pid, signal.SIGKILL) if whom == "group" else process.kill()
                process.communicate(timeout=600)
            bed.wait_for_all()
            if process.returncode == 0:  # it was done before
                break
            killed[f"{whom} of {way} at a {'write' if at_a_write else 'moment'}"] += 1
            for name, content in content_of(output).items():
                assert content in (before.get(name), expected[name]), name
        assert bed.build(way, output) == expected
    cache = Cache(bed.environ["CUDA_WHEEL_CACHE_DIR"])
    for _, _, path in cache.entries():
        assert cache.get("".join(Path(path).parts[-2:])) is not None
    count("builds after kills", builds)
    for what, number in killed.items():
        count(f"kills, {what}", number)


@pytest.mark.parametrize("how", ["SIGINT", "SIGTERM"])
def test_a_build_that_is_asked_to_end_leaves_no_folder(bed: Bed, how: str, count: Callable[[str, int], None]) -> None:
    rng = random.Random(None if SOAK else 8)
    folders = Path(bed.environ["TMPDIR"], "cuda-wheel-")
    asked = 0
    for number in range(amount(20, 500)):  # some builds do not as much as to be asked
        if asked == amount(2, 50):
            break
        bed.edit(number)
        way = list(WAYS)[number % len(WAYS)]
        settings = {
            "KILL_HOW": str(signal.Signals[how].value),
            "KILL_WHOM": rng.choice(["group", "process"]),
            "KILL_AMONG": str(folders),
            "KILL_AT": str(rng.randint(2, 40)),  # the first one makes a folder
        }
        with bed.start(way, bed.folder / "out" / way, **settings) as process:
            told, _ = process.communicate(timeout=600)
        bed.wait_for_all()
        assert not list(folders.parent.glob("cuda-wheel-*")), told.decode()
        asked += process.returncode != 0
    assert asked
    count(f"{how}s", asked)


def test_no_file_that_a_killed_build_was_writing_gets_into_a_wheel(bed: Bed, count: Callable[[str, int], None]) -> None:
    bed.edit(1)
    output = bed.folder / "out"
    expected = bed.undisturbed("setuptools")
    lib = str(bed.project("setuptools") / "build/lib")
    killed = 0
    among, at = (lib, range(1, 100)) if SOAK else (f"{lib}/demo/linked.fatbin", [1])
    for number in at:
        with bed.start("setuptools", output, KILL_AT=str(number), KILL_WHOM="group", KILL_AMONG=among) as process:
            process.communicate(timeout=600)
        if process.returncode == 0:  # it does no more than that
            break
        killed += 1
        assert bed.build("setuptools", output) == expected
    assert killed
    count("kills, of setuptools at each write to build/lib", killed)


@pytest.mark.skipif(not SOAK, reason="the full run alone has the time")
@pytest.mark.parametrize("generator", ["Unix Makefiles", "Ninja"])
def test_cmake_makes_again_what_a_killed_build_left_in_part(
    generator: str, bed: Bed, count: Callable[[str, int], None]
) -> None:
    project = bed.project("hatchling")
    call = "cuda_wheel_add_module(TARGET one SOURCES demo/one.cu DESTINATION demo)"
    (project / "CMakeLists.txt").write_text(LISTS.format(call=call))

    def build(folder: str, **environ: str) -> tuple[int, dict[str, bytes]]:
        if not (project / folder / "CMakeCache.txt").exists():
            assert run("cmake", "-G", generator, f"-DPython_EXECUTABLE={sys.executable}", f"-DCMAKE_MODULE_PATH={cmake}",
                       "-S", project, "-B", project / folder, **bed.environ).returncode == 0  # fmt: skip
        status = run("cmake", "--build", project / folder, **bed.environ | environ).returncode
        return status, {path.name: path.read_bytes() for path in (project / folder).rglob("one.fatbin*")}

    cmake = Path(cuda_wheel.__file__).parent / "cmake"
    bed.edit(0)
    assert build("build")[0] == 0
    killed = 0
    for number in range(1, 100):
        bed.edit(number)
        expected = build("fresh")
        among = str(project / "build")
        status, _ = build("build", KILL_AT=str(number), KILL_WHOM="process", KILL_AMONG=among)
        if status == 0:
            break
        killed += 1
        assert build("build") == expected
    assert killed
    count(f"kills, of {generator} at each write", killed)
