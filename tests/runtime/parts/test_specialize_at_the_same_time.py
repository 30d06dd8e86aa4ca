"""An unforeseen variant that several processes or threads need at the same time is compiled by one of them, with NVRTC."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import cuda_wheel
from cuda_wheel.builder.compile_on_load import kept_modules
from tests.support.driver import Driver
from tests.support.processes import run_cuda_wheel
from tests.support.projects import ROOT, pyproject_head, write_files
from tests.support.variants import VARIANTS_TABLE, write_variants

PROGRAM = """\
import os, sys, time, cuda.bindings
from tests.support.driver import Driver
sys.modules["cuda.bindings.driver"] = cuda.bindings.driver = Driver((8, 6))
from cuda_wheel.builder.compile_on_load import kept_modules
compile_now = kept_modules._compile

def compile(*arguments):
    with open("compiled", "a") as file:
        file.write(f"{os.getpid()} ")
    time.sleep(0.3)
    return compile_now(*arguments)

kept_modules._compile = compile
import cuda_wheel
open(f"ready-{os.getpid()}", "x").close()
while not os.path.exists("go"):
    time.sleep(0.001)
module = cuda_wheel.load("demo.update", MATH_TYPE="int", NUM_MODES=7)
print(module.image.target, module["gemm<MATH_TYPE, NUM_MODES>"].symbol)
"""


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.one_toolchain
def test_processes_compile_a_variant_once(tmp_path: Path, extra: str) -> None:
    head = pyproject_head("hatchling", extra)
    head += '[tool.hatch.build.targets.wheel]\npackages = ["demo"]\n[tool.hatch.build.targets.wheel.hooks.cuda]\n'
    table = VARIANTS_TABLE.replace('name = "demo.update"\n', 'name = "demo.update"\nspecialize = true\n')
    project = write_variants(tmp_path / "project", head, table)
    built = run_cuda_wheel("build", project, "-o", tmp_path / "site")
    assert built.returncode == 0, built.stdout
    write_files(tmp_path / "site", **{"demo/__init__.py": ""})
    environ = os.environ | {"PYTHONPATH": os.pathsep.join([str(tmp_path / "site"), str(ROOT)])}
    command = [sys.executable, "-W", "ignore", "-c", PROGRAM]
    started = [
        subprocess.Popen(
            command, cwd=tmp_path, env=environ, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        for _ in range(4)
    ]
    try:
        while len(list(tmp_path.glob("ready-*"))) < 4:
            assert all(process.poll() is None for process in started), [process.communicate() for process in started]
            time.sleep(0.01)
        (tmp_path / "go").touch()
        outputs = [process.communicate(timeout=120)[0] for process in started]
    finally:
        for process in started:
            process.kill()
            process.communicate()
    assert outputs == ["sm_86 _Z4gemmIiLi7EEvPT_\n"] * 4
    assert len((tmp_path / "compiled").read_text().split()) == 1


def test_threads_compile_a_text_once(use: Callable[..., Driver], monkeypatch: pytest.MonkeyPatch) -> None:
    use((8, 6))
    compiled: list[int] = []
    compile_now, ready = kept_modules._compile, threading.Barrier(6)

    def compile(*arguments: Any) -> Any:
        compiled.append(1)
        return compile_now(*arguments)

    monkeypatch.setattr(kept_modules, "_compile", compile)

    def ask() -> cuda_wheel.Module:
        ready.wait(60)
        return cuda_wheel.compile("__global__ void k(int* x) { *x = 1; }")

    with ThreadPoolExecutor(6) as pool:
        modules = [future.result() for future in [pool.submit(ask) for _ in range(6)]]
    assert len(compiled) == 1 and len(set(modules)) == 1
