"""Whole builds of two projects that are alike, one for each back end, which may be disturbed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from tests.soak import SOAK
from tests.support.projects import pyproject_head

__all__ = ["WAYS", "Bed", "content_of", "make_bed"]

MODULES = {
    "demo/one.cu": '#include "number.h"\nextern "C" __global__ void one(int* x) { *x = NUMBER; }\n',
    "demo/two.cu": '#include "number.h"\n__global__ void two(float* x) { *x = NUMBER * 2.0f; }\n',
    "demo/part.cu": '#include "number.h"\n__device__ int part() { return NUMBER; }\n',
    "demo/linked.cu": "__device__ int part();\n__global__ void linked(int* x) { *x = part(); }\n",
}
TABLE = """\
[tool.cuda-wheel]
architectures = "80"
[[tool.cuda-wheel.module]]
name = "demo.linked"
sources = ["demo/linked.cu", "demo/part.cu"]
link = "lto"
"""
BACK_END = "import sys; from {} import build_wheel; build_wheel(sys.argv[1])"
PIP = ["-m", "pip", "wheel", "-q", "--no-build-isolation", "--no-deps", "--no-index", ".", "-w"]
WAYS = {
    "cuda-wheel build": ("hatchling", 80, ["-m", "cuda_wheel", "build", ".", "-o"]),
    "hatchling": ("hatchling", 100, ["-c", BACK_END.format("hatchling.build")]),
    "setuptools": ("setuptools", 200, ["-c", BACK_END.format("setuptools.build_meta")]),
    **({"pip": ("hatchling", 100, PIP), "pip with setuptools": ("setuptools", 200, PIP)} if SOAK else {}),
}
"""Each with its back end, how many files it writes, renames or removes, more or less, and arguments of Python that build
the project in the current folder into the one that follows."""

KILLER = """\
import itertools, os, signal, sys

signal.signal(signal.SIGINT, signal.default_int_handler)  # a caller such as nohup may have had them ignored
signal.signal(signal.SIGTERM, signal.SIG_DFL)
CALLS = {"os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.link", "os.truncate"}
number = itertools.count(1)
at, whom, among = int(os.environ["KILL_AT"]), os.environ["KILL_WHOM"], os.environ["KILL_AMONG"]

def watch(event, args):
    if event in CALLS or (event == "open" and isinstance(args[2], int) and args[2] & (os.O_WRONLY | os.O_RDWR)):
        path = os.path.abspath(args[event == "os.rename"]) if isinstance(args[0], (str, os.PathLike)) else ""
        if event in ("os.remove", "os.rmdir") and args[1] not in (None, -1):  # as shutil.rmtree removes
            path = os.path.join(os.readlink(f"/proc/self/fd/{args[1]}"), args[0])
        if path.startswith(among) and next(number) == at:
            os.kill(0 if whom == "group" else os.getpid(), int(os.environ["KILL_HOW"]))

sys.addaudithook(watch)
"""
"""A `sitecustomize` that sends a signal to its process, or to the whole group, before it writes, renames or removes the
file of a number, of those whose paths begin with a text."""


class Bed(NamedTuple):
    """Where builds are killed: two projects that are alike, one for each back end, and what all builds share."""

    folder: Path
    environ: dict[str, str]

    def project(self, back_end: str) -> Path:
        return self.folder / back_end

    def edit(self, number: int) -> None:
        """Make everything another that is compiled."""
        for back_end in ("hatchling", "setuptools"):
            (self.project(back_end) / "demo/number.h").write_text(f"#define NUMBER {number}\n")

    def start(self, way: str, output: Path, **environ: str) -> subprocess.Popen[bytes]:
        back_end, _, arguments = WAYS[way]
        # setuptools refuses to go on where it was killed while it packed a wheel.
        for packed in self.project(back_end).glob("build/bdist.*"):
            shutil.rmtree(packed)
        return subprocess.Popen(
            [sys.executable, *arguments, str(output)],
            cwd=self.project(back_end),
            env=self.environ | environ,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )

    def build(self, way: str, output: Path, **environ: str) -> dict[str, bytes]:
        """Return what a build that nobody disturbs writes."""
        with self.start(way, output, **environ) as process:
            told, _ = process.communicate(timeout=600)
        assert process.returncode == 0, told.decode()
        assert b"Traceback" not in told, told.decode()
        assert b"Warning" not in told, told.decode()
        return content_of(output)

    def undisturbed(self, way: str) -> dict[str, bytes]:
        """Return what a build writes to which none that was disturbed left anything."""
        back_end, _, _ = WAYS[way]
        with tempfile.TemporaryDirectory(dir=self.folder) as folder:
            shutil.copytree(self.project(back_end), f"{folder}/{back_end}", ignore=shutil.ignore_patterns("build"))
            return Bed(Path(folder), self.environ).build(
                way, Path(folder, "out"), CUDA_WHEEL_CACHE_DIR=f"{self.folder}/undisturbed"
            )

    def left(self) -> list[int]:
        """Return the processes of builds that have not ended."""
        mark = f"TMPDIR={self.environ['TMPDIR']}".encode()
        found = []
        for path in Path("/proc").glob("[0-9]*/environ"):
            with suppress(OSError):
                if mark in path.read_bytes().split(b"\0"):
                    found.append(int(path.parent.name))
        return found

    def wait_for_all(self) -> None:
        """Wait until all processes of builds have ended by themselves."""
        deadline = time.monotonic() + 120
        while (left := self.left()) and time.monotonic() < deadline:
            time.sleep(0.02)
        assert not left, [Path(f"/proc/{pid}/cmdline").read_bytes() for pid in left]


def content_of(folder: Path) -> dict[str, bytes]:
    """Return the files of a folder, but for those that have no name of an output yet."""
    paths = (path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
    return {
        str(path): (folder / path).read_bytes()
        for path in paths
        if not str(path).startswith(".") and "/." not in str(path)
    }


def make_bed(folder: Path, extra: str) -> Bed:
    """Return the projects, made in `folder`, for the toolchain `extra`."""
    tails = {
        "hatchling": '[tool.hatch.build.targets.wheel]\npackages = ["demo"]\n[tool.hatch.build.targets.wheel.hooks.cuda]\n',
        "setuptools": '[tool.setuptools]\npackages = ["demo"]\n',
    }
    for back_end, tail in tails.items():
        (folder / back_end / "demo").mkdir(parents=True)
        (folder / back_end / "pyproject.toml").write_text(pyproject_head(back_end, extra) + tail + TABLE)
        for name, content in {**MODULES, "demo/__init__.py": ""}.items():
            (folder / back_end / name).write_text(content)
    (folder / "tmp").mkdir()
    (folder / "site").mkdir()
    (folder / "site/sitecustomize.py").write_text(KILLER)
    environ = os.environ | {
        "TMPDIR": str(folder / "tmp"),
        "CUDA_WHEEL_CACHE_DIR": str(folder / "cache"),
        "SOURCE_DATE_EPOCH": "1700000000",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONPATH": os.pathsep.join(filter(None, [str(folder / "site"), os.environ.get("PYTHONPATH")])),
        "KILL_AT": "0",
        "KILL_WHOM": "",
        "KILL_AMONG": "",
        "KILL_HOW": "9",
    }
    return Bed(folder, environ)
