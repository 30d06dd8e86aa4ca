"""A build may be killed at any time: later builds never use its partial output and give the same files as a clean build."""

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
from cuda_wheel.runtime.parts.user_cache import Cache
from tests.soak import SLOW, SOAK, amount
from tests.soak.builds import BUILDS, ProjectPair, content_of, is_intact
from tests.support.processes import run
from tests.support.projects import LISTS

pytestmark = [
    pytest.mark.one_toolchain,
    pytest.mark.timeout(SLOW),
    pytest.mark.skipif(sys.platform != "linux", reason="the test reads /proc to find processes that are left"),
]


@pytest.fixture
def projects(make_projects: Callable[[Path], ProjectPair], tmp_path: Path) -> ProjectPair:
    return make_projects(tmp_path)


@pytest.mark.thorough
def test_a_killed_build_does_not_affect_later_builds(projects: ProjectPair, count: Callable[[str, int], None]) -> None:
    rng = random.Random(None if SOAK else 8)
    killed = Counter[str]()
    builds = 0
    while killed.total() < amount(3, 200):
        builds += 1
        projects.edit(builds)
        command = list(BUILDS)[builds % len(BUILDS)]
        output = projects.folder / "out" / command
        before = content_of(output)
        began = time.monotonic()
        expected = projects.clean_build(command)
        duration = time.monotonic() - began
        for _ in range(rng.randint(1, 4)):  # some of these builds find the files of a killed build
            whom = rng.choice(["group", "process"])
            at_a_write = rng.random() < 0.5
            at = rng.randint(1, BUILDS[command].writes) if at_a_write else 0
            with projects.start(command, output, KILL_AT=str(at), KILL_WHOM=whom) as process:
                if not at_a_write:
                    with suppress(subprocess.TimeoutExpired):
                        process.wait(rng.uniform(0, duration))
                    if process.poll() is None:
                        os.killpg(process.pid, signal.SIGKILL) if whom == "group" else process.kill()
                process.communicate(timeout=600)
            projects.wait_for_all()
            if process.returncode == 0:  # the build ended before the signal
                break
            killed[f"{whom} of {command} at a {'write' if at_a_write else 'moment'}"] += 1
            for name, content in content_of(output).items():
                assert content in (before.get(name), expected[name]), name
        assert projects.build(command, output) == expected
    cache = Cache(projects.environ["CUDA_WHEEL_CACHE_DIR"])
    entries = cache.entries()
    assert entries
    for _, _, path in entries:
        assert is_intact(cache, path)
    count("builds after kills", builds)
    for description, number in killed.items():
        count(f"kills, {description}", number)


@pytest.mark.thorough
@pytest.mark.parametrize("how", ["SIGINT", "SIGTERM"])
def test_a_build_that_is_interrupted_removes_its_temporary_folders(
    projects: ProjectPair, how: str, count: Callable[[str, int], None]
) -> None:
    rng = random.Random(None if SOAK else 8)
    folders = Path(projects.environ["TMPDIR"], "cuda-wheel-")
    interrupted = 0
    for number in range(amount(20, 500)):  # some builds end before the write at which they would be interrupted
        if interrupted == amount(2, 50):
            break
        projects.edit(number)
        command = list(BUILDS)[number % len(BUILDS)]
        settings = {
            "KILL_HOW": str(signal.Signals[how].value),
            "KILL_WHOM": rng.choice(["group", "process"]),
            "KILL_AMONG": str(folders),
            "KILL_AT": str(rng.randint(2, 40)),  # write 1 creates a folder
        }
        with projects.start(command, projects.folder / "out" / command, **settings) as process:
            log, _ = process.communicate(timeout=600)
        projects.wait_for_all()
        assert not list(folders.parent.glob("cuda-wheel-*")), log.decode()
        interrupted += process.returncode != 0
    assert interrupted
    count(f"{how}s", interrupted)


@pytest.mark.thorough
def test_no_wheel_contains_a_partly_written_file_of_a_killed_build(
    projects: ProjectPair, count: Callable[[str, int], None]
) -> None:
    projects.edit(1)
    output = projects.folder / "out"
    expected = projects.clean_build("setuptools")
    lib = str(projects.project("setuptools") / "build/lib")
    killed = 0
    among, at = (lib, range(1, 100)) if SOAK else (f"{lib}/demo/linked.fatbin", [1])
    for number in at:
        with projects.start("setuptools", output, KILL_AT=str(number), KILL_WHOM="group", KILL_AMONG=among) as process:
            process.communicate(timeout=600)
        if process.returncode == 0:  # the build made fewer writes
            break
        killed += 1
        assert projects.build("setuptools", output) == expected
    assert killed
    count("kills, of setuptools at each write to build/lib", killed)


@pytest.mark.skipif(not SOAK, reason="too slow except for the full run")
@pytest.mark.parametrize("generator", ["Unix Makefiles", "Ninja"])
def test_cmake_rebuilds_the_partial_output_of_a_killed_build(
    generator: str, projects: ProjectPair, count: Callable[[str, int], None]
) -> None:
    project = projects.project("hatchling")
    call = "cuda_wheel_add_module(TARGET one SOURCES demo/one.cu DESTINATION demo)"
    (project / "CMakeLists.txt").write_text(LISTS.format(call=call))

    def build(folder: str, **environ: str) -> tuple[int, dict[str, bytes]]:
        if not (project / folder / "CMakeCache.txt").exists():
            assert run("cmake", "-G", generator, f"-DPython_EXECUTABLE={sys.executable}", f"-DCMAKE_MODULE_PATH={cmake}",
                       "-S", project, "-B", project / folder, **projects.environ).returncode == 0  # fmt: skip
        status = run("cmake", "--build", project / folder, **projects.environ | environ).returncode
        return status, {path.name: path.read_bytes() for path in (project / folder).rglob("one.fatbin*")}

    cmake = Path(cuda_wheel.__file__).parent / "cmake"
    projects.edit(0)
    assert build("build")[0] == 0
    killed = 0
    for number in range(1, 100):
        projects.edit(number)
        expected = build("fresh")
        among = str(project / "build")
        status, _ = build("build", KILL_AT=str(number), KILL_WHOM="process", KILL_AMONG=among)
        if status == 0:
            break
        killed += 1
        assert build("build") == expected
    assert killed
    count(f"kills, of {generator} at each write", killed)
