"""Compare a wheel of cuda-wheel with PyTorch's `BuildExtension`: 50 unedited files of PyTorch extensions, for six GPUs.

`python benchmarks/third_party/extension_wheel.py RESULT.json [--corpus FOLDER] [--limit SECONDS] [--only KEY ...]`

cuda-wheel builds one wheel by hatchling and its hook, with an empty cache. For PyTorch, `BuildExtension` writes its
Ninja file for each package, as `setup.py build_ext` does, and one Ninja runs all of them at once, on the same cores;
nothing is linked. It is stopped at the limit, which then stands for its time. `extension_files.txt` lists the files:
of those in the corpus that both compile and that need no settings, the 50 that nvcc compiles fastest, if it takes 3
seconds or more for one GPU. The script needs PyTorch for CUDA, Ninja, setuptools, hatchling, nvcc and the corpus, but
no GPU. cuda-wheel must be installed, for its hook. `report.py` formats RESULT.json.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from glob import glob
from importlib import util
from itertools import groupby
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[2]))  # run from a checkout

from _interleave import show
from _process import build_wheel
from _results import Goal, Report, Result, collect, machine, output_of, versions
from corpus import CORPUS, EXTENSION, Package, Source, packages, sources
from measure import settings_of

__all__ = ["make_project", "write_ninja_file"]

FILES = Path(__file__).with_name("extension_files.txt")

GPUS = ("8.0", "8.6", "8.9", "9.0", "10.0", "12.0")
"""Compute capabilities. Both sides compile machine code for them and no PTX."""

NINJA, OURS = "torch.utils.cpp_extension, with Ninja", "cuda-wheel"

SETUP = """
import json, os, sys
from pathlib import Path
from setuptools import Distribution
from torch.utils import cpp_extension

written = []

def keep(build_directory, verbose, error_prefix):
    found = Path(build_directory, "build.ninja")
    written.append(found.rename(found.with_name(f"{len(written)}.ninja")))

cpp_extension._run_ninja_build = keep

class WriteOnly(cpp_extension.BuildExtension):
    def build_extensions(self):
        self.compiler.link_shared_object = lambda *args, **options: None
        super().build_extensions()

asked = json.loads(sys.argv[1])
extensions = [
    cpp_extension.CUDAExtension(
        each["name"],
        each["sources"],
        include_dirs=each["include"],
        extra_compile_args={"cxx": [], "nvcc": each["options"]},
    )
    for each in asked["extensions"]
]
command = WriteOnly(Distribution({"ext_modules": extensions}))
command.build_temp, command.build_lib = asked["folder"], asked["folder"]
command.ensure_finalized()
command.run()
lines = "".join(f"subninja {path}\\n" for path in written)
Path(asked["folder"], "build.ninja").write_text(lines)
"""
"""Writes what `BuildExtension` runs: the Ninja file of each extension, and one that includes all of them."""

PYPROJECT = """\
[build-system]
requires = ["hatchling", "cuda-wheel[tools]"]
build-backend = "hatchling.build"

[project]
name = "extensions"
version = "1"

[tool.hatch.build.targets.wheel]
packages = ["extensions"]

[tool.hatch.build.targets.wheel.hooks.cuda]

[tool.cuda-wheel]
architectures = {architectures}
"""
MODULE = """
[[tool.cuda-wheel.module]]
name = "extensions.{name}"
sources = [{source}]
include-dirs = {include}
options = {options}
"""


def make_project(every: Sequence[Source], corpus: Path, folder: Path) -> Path:
    """Write a project with one module for each file, and return its folder; the repositories are copied into it."""
    text = PYPROJECT.format(architectures=json.dumps([f"{each.replace('.', '')}-real" for each in GPUS]))
    for number, source in enumerate(every):
        home = source.package.home(corpus)
        if not (folder / home.name).exists():
            shutil.copytree(home, folder / home.name, ignore_dangling_symlinks=True)
        settings = settings_of(source, home, settings=False)
        text += MODULE.format(
            name=f"m{number}",
            source=json.dumps(f"{home.name}/{source.path}"),
            include=json.dumps([f"{home.name}/{each}" for each in settings["include-dirs"]]),
            options=json.dumps(_options(source.package)),
        )
    (folder / "extensions").mkdir()
    (folder / "extensions" / "__init__.py").touch()
    (folder / "pyproject.toml").write_text(text)
    return folder


def write_ninja_file(every: Sequence[Source], corpus: Path, folder: Path) -> None:
    """Let PyTorch write the Ninja files of these files, one for each package, and one that includes all."""
    asked = [
        _extension(package, [source.path for source in group], corpus)
        for package, group in groupby(every, key=lambda source: source.package)
    ]
    environ = {"TORCH_CUDA_ARCH_LIST": ";".join(GPUS), "CUDA_HOME": str(_toolkit())}
    program = json.dumps({"folder": str(folder), "extensions": asked})
    subprocess.run([sys.executable, "-c", SETUP, program], env=os.environ | environ, check=True, stdout=subprocess.PIPE)


def _extension(package: Package, paths: Sequence[str], corpus: Path) -> dict[str, object]:
    home = package.home(corpus)
    return {
        "name": package.name.replace("-", "_"),
        "sources": [str(home / path) for path in paths],
        "include": [str(home / each) for each in package.include],
        "options": _options(package)[len(EXTENSION) :],
    }


def _options(package: Package) -> list[str]:
    """Return the options of a package's build, without the GPUs that it compiles for."""
    return [each for each in package.nvcc_options if not each.startswith(("-arch", "-gencode", "--threads"))]


def _toolkit() -> Path:
    nvcc = shutil.which("nvcc")
    if nvcc is None:
        raise FileNotFoundError("no nvcc on PATH")
    return Path(nvcc).resolve().parent.parent


def _ninja(folder: Path, limit: float | None) -> tuple[float, list[str]]:
    """Return the seconds of one Ninja that compiles everything, and notes about what it did not compile."""
    command = ["ninja", "-C", str(folder), f"-j{len(os.sched_getaffinity(0))}", "-k0"]
    environ = os.environ | _headers() | {"NINJA_STATUS": "[%f/%t] "}
    began = time.perf_counter()
    process = subprocess.Popen(
        command, env=environ, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    )
    timer = threading.Timer(limit or 1e6, lambda: os.killpg(process.pid, signal.SIGKILL))
    timer.start()
    output, _ = process.communicate()
    timer.cancel()
    seconds = time.perf_counter() - began
    failed = re.findall(r"^FAILED: .*?/([^/\s]+)\.o *$", output, re.MULTILINE)
    notes = [f"nvcc does not compile {name}.cu; cuda-wheel does." for name in failed]
    if failed:
        print(output[-20_000:], file=sys.stderr)
    if process.returncode < 0:
        done = re.findall(r"^\[(\d+/\d+)\]", output, re.MULTILINE)
        notes.append(f"Ninja was stopped after {limit:g} s, when it had compiled {(done or ['none'])[-1]} files.")
    print(f"{NINJA}: {seconds:.1f} s", *notes, sep="\n", flush=True)
    return seconds, notes


def _headers() -> dict[str, str]:
    """Return the variable by which nvcc finds the headers of CUDA's libraries that its toolkit lacks: those that were
    installed with PyTorch."""
    found = util.find_spec("nvidia")
    folders = [
        path for each in (found and found.submodule_search_locations) or () for path in glob(f"{each}/*/include")
    ]
    return {"CPATH": os.pathsep.join([*filter(None, [os.environ.get("CPATH")]), *folders])}


def _compare(every: Sequence[Source], corpus: Path, scratch: Path, limit: float | None) -> Result:
    theirs, project = scratch / "ninja", scratch / "project"
    theirs.mkdir(), project.mkdir()
    make_project(every, corpus, project)
    seconds = build_wheel(project, scratch / "dist").seconds
    print(f"{OURS}: {seconds:.1f} s", flush=True)
    write_ninja_file(every, corpus, theirs)
    for_ninja, notes = _ninja(theirs, limit)
    result = Result(
        "A wheel of files of PyTorch extensions",
        f"{len(every)} files of {len({each.package.name for each in every})} packages, unedited, for compute "
        f"capabilities {', '.join(GPUS)}. PyTorch's `BuildExtension` compiles them with their host code, and links "
        "nothing here; cuda-wheel builds the whole wheel, and leaves the host code out.",
        "s",
        {NINJA: [for_ninja], OURS: [seconds]},
        NINJA,
        1,
        [Goal(OURS, NINJA, 0.5)],
        notes=notes,
    )
    show(result)
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("result", type=Path)
    parser.add_argument("--corpus", type=Path, default=CORPUS)
    parser.add_argument("--limit", type=float, metavar="SECONDS", help="stop Ninja after this time")
    parser.add_argument("--only", nargs="+", default=[], metavar="KEY", help="files whose names contain one of these")
    options = parser.parse_args()
    corpus = options.corpus.resolve()
    listed = FILES.read_text().split()
    known = {source.key: source for source in sources(packages())}
    every = [known[key] for key in listed if not options.only or any(part in key for part in options.only)]

    def measure() -> list[Result]:
        with tempfile.TemporaryDirectory() as scratch:
            return [_compare(every, corpus, Path(scratch), options.limit)]

    release = output_of("nvcc", "--version").partition(", V")[2].split()[0]
    report = Report(
        "A wheel of PyTorch extensions",
        "benchmarks/third_party/extension_wheel.py",
        machine(),
        {"nvcc": release} | versions("cuda-wheel", "torch", "ninja", "hatchling", "nvidia-cuda-nvrtc"),
    )
    collect(report, {"extensions": measure}, [], options.result)


if __name__ == "__main__":
    main()
