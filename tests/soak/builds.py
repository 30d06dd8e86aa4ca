"""Complete builds of two equal projects, one for hatchling and one for setuptools, which tests interrupt."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from cuda_wheel.runtime.parts.user_cache import Cache
from tests.soak import SOAK
from tests.support.projects import pyproject_head

__all__ = ["BUILDS", "ProjectPair", "content_of", "is_intact", "make_projects"]

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


def is_intact(cache: Cache, path: str) -> bool:
    """Return whether an entry is what was written: a file under the SHA-256 of its content, or one that has its own."""
    key = "".join(Path(path).parts[-2:])
    return sha256(Path(path).read_bytes()).hexdigest() == key or cache.get(key) is not None


class BuildCommand(NamedTuple):
    """A way to build the project in the current folder."""

    back_end: str
    writes: int
    """Roughly how many times it writes, renames or removes a file."""
    arguments: list[str]
    """For Python; the output folder follows them."""


BUILDS = {
    "cuda-wheel build": BuildCommand("hatchling", 80, ["-m", "cuda_wheel", "build", ".", "-o"]),
    "hatchling": BuildCommand("hatchling", 100, ["-c", BACK_END.format("hatchling.build")]),
    "setuptools": BuildCommand("setuptools", 200, ["-c", BACK_END.format("setuptools.build_meta")]),
}
if SOAK:
    BUILDS["pip"] = BuildCommand("hatchling", 100, PIP)
    BUILDS["pip with setuptools"] = BuildCommand("setuptools", 200, PIP)

KILLER = """\
import itertools, os, signal, sys

signal.signal(signal.SIGINT, signal.default_int_handler)  # a caller such as nohup may have set it to be ignored
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
"""A `sitecustomize` that sends a signal to its process, or to the process group, just before write number KILL_AT. A write
is a write, rename or removal of a file whose path begins with KILL_AMONG."""


class ProjectPair(NamedTuple):
    """Two equal projects, one for each back end, and the environment variables that all their builds share."""

    folder: Path
    environ: dict[str, str]

    def project(self, back_end: str) -> Path:
        return self.folder / back_end

    def edit(self, number: int) -> None:
        """Change every compiled source."""
        for back_end in ("hatchling", "setuptools"):
            (self.project(back_end) / "demo/number.h").write_text(f"#define NUMBER {number}\n")

    def start(self, build: str, output: Path, **environ: str) -> subprocess.Popen[bytes]:
        back_end, _, arguments = BUILDS[build]
        # setuptools fails if an earlier run was killed while it packed a wheel.
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

    def build(self, build: str, output: Path, **environ: str) -> dict[str, bytes]:
        """Run a build without interrupting it and return the files that it wrote."""
        with self.start(build, output, **environ) as process:
            log, _ = process.communicate(timeout=600)
        assert process.returncode == 0, log.decode()
        assert b"Traceback" not in log, log.decode()
        assert b"Warning" not in log, log.decode()
        return content_of(output)

    def clean_build(self, build: str) -> dict[str, bytes]:
        """Return the files that a build writes if no interrupted build left files in the project or the cache."""
        back_end = BUILDS[build].back_end
        with tempfile.TemporaryDirectory(dir=self.folder) as folder:
            shutil.copytree(self.project(back_end), f"{folder}/{back_end}", ignore=shutil.ignore_patterns("build"))
            return ProjectPair(Path(folder), self.environ).build(
                build, Path(folder, "out"), CUDA_WHEEL_CACHE_DIR=f"{self.folder}/clean-cache"
            )

    def running_processes(self) -> list[int]:
        """Return the ids of the processes of builds that are still running."""
        mark = f"TMPDIR={self.environ['TMPDIR']}".encode()
        found = []
        for path in Path("/proc").glob("[0-9]*/environ"):
            with suppress(OSError):
                if mark in path.read_bytes().split(b"\0"):
                    found.append(int(path.parent.name))
        return found

    def wait_for_all(self) -> None:
        """Wait until all processes of builds have exited; fail after two minutes."""
        deadline = time.monotonic() + 120
        while (running := self.running_processes()) and time.monotonic() < deadline:
            time.sleep(0.02)
        assert not running, [Path(f"/proc/{pid}/cmdline").read_bytes() for pid in running]


def content_of(folder: Path) -> dict[str, bytes]:
    """Return the files of a folder, except temporary files, whose paths contain a part that begins with a dot."""
    paths = (path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
    return {
        str(path): (folder / path).read_bytes()
        for path in paths
        if not str(path).startswith(".") and "/." not in str(path)
    }


def make_projects(folder: Path, extra: str) -> ProjectPair:
    """Create the projects in `folder` for the toolchain `extra`."""
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
    return ProjectPair(folder, environ)
