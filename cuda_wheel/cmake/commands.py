"""The steps of a build with CMake: compile a module, write a package's stub, write the project's SBOM.

Find the modules of a CMake project, which its calls of `cuda_wheel_add_module` record in files.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TextIO

from cuda_wheel.builder.config.pyproject import CMakeCall, read_config, read_pyproject
from cuda_wheel.builder.config.settings import Config
from cuda_wheel.builder.errors import ConfigError
from cuda_wheel.builder.full_build import build_module
from cuda_wheel.builder.manifest_reader import all_manifests
from cuda_wheel.builder.report.reporter import ProgressReporter
from cuda_wheel.builder.scratch import scratch
from cuda_wheel.builder.sources.layout import SBOM, Layout, WheelFile
from cuda_wheel.builder.wheel.outputs import (
    TYPED,
    Package,
    attachment_warnings,
    loader_files,
    needs_mark,
    stub_file,
    write,
)
from cuda_wheel.builder.wheel.sbom import merged
from cuda_wheel.builder.wheel.stubs import attaches
from cuda_wheel.builder.wheel.tuned_tables import tuned_file
from cuda_wheel.runtime.manifest import MANIFEST_SUFFIX

__all__ = ["build_module_files", "escaped_path", "wheel_layout", "write_sbom", "write_stub"]


def wheel_layout(root: Path) -> Layout:
    """Return the wheel's files and module tables of the scikit-build-core project in `root`. CMake configures the
    project in a temporary folder. Raises ConfigError."""
    settings = read_pyproject(root).get("tool", {}).get("scikit-build", {}).get("cmake", {})
    options = [*settings.get("args", [])]
    options += [f"-D{name}={_value(value)}" for name, value in settings.get("define", {}).items()]
    options += [f"-DCMAKE_MODULE_PATH={Path(__file__).parent.as_posix()}", f"-DPython_EXECUTABLE={sys.executable}"]
    ninja = _find("ninja")
    options += ["-G", "Ninja", f"-DCMAKE_MAKE_PROGRAM={ninja}"] if ninja else []
    cmake = _find("cmake")
    if cmake is None:
        raise ConfigError(
            "cmake is not installed, but it is needed to find what goes into the wheel: pip install cmake"
        )
    with scratch() as folder:
        command = [cmake, "-S", str(root / settings.get("source-dir", ".")), "-B", str(folder), *options]
        result = subprocess.run(command, text=True, errors="replace", capture_output=True, check=False)
        if result.returncode != 0:
            raise ConfigError(f"CMake cannot configure {root.name}:\n{result.stderr.strip()}")
        paths = folder.rglob("*.cuda-wheel.json")
        records = [json.loads(path.read_text(encoding="utf-8", errors="surrogateescape")) for path in paths]
    for record in records:
        with CMakeCall.of(record).named_in_errors():
            Config.from_table({"module": [record["module"]]})
    modules = [record["module"] for record in records]
    if not modules:
        raise ConfigError(f"{root.name} has no CUDA module: its CMakeLists.txt does not call cuda_wheel_add_module.")
    files = [WheelFile(root / module["sources"][0], module["name"].replace(".", "/") + ".cu") for module in modules]
    tables = [
        table for file, module in zip(files, modules, strict=True) for table in tuned_file(file.source, module["name"])
    ]
    return Layout([*files, *tables], modules)


def _value(value: object) -> str:
    return str(value).upper() if isinstance(value, bool) else str(value)


def _find(name: str) -> str | None:
    # This interpreter's scripts first: its environment may not be the active one.
    return shutil.which(name, path=sysconfig.get_path("scripts")) or shutil.which(name)


def build_module_files(settings: Path) -> None:
    """Compile a module and write its files and its depfile.

    `cuda_wheel_add_module` writes the settings as JSON: the project's folder ("root"), the CMake file with the call
    ("file"), where to write ("output", "depfile"), and the module as a table of `[[tool.cuda-wheel.module]]`
    ("module"). Raises CudaWheelError, whose message names arguments of the call.
    """
    request = json.loads(settings.read_text(encoding="utf-8", errors="surrogateescape"))
    output, depfile = Path(request["output"]), Path(request["depfile"])
    call = CMakeCall.of(request)

    def tell(text: str, file: TextIO | None = None) -> None:
        print(call.in_its_terms(text), file=file)

    with call.named_in_errors(), ProgressReporter(tell, lambda text: tell(text, sys.stderr)) as reporter:
        files, inputs = build_module(Path(request["root"]), request["module"], os.environ, reporter)
    # The depfile first: without it, a later build would not notice that the images are out of date.
    target = str(output / next(path for path in files if path.endswith(".fatbin")))
    write({depfile.name: os.fsencode(_make_rule(target, inputs))}, depfile.parent)
    write(files, output)


def _make_rule(target: str, inputs: Iterable[str]) -> str:
    """Return a rule for Make by which `target` depends on all `inputs`: "target: input1 input2", with each path on its
    own line."""
    return " \\\n  ".join([f"{escaped_path(target)}:", *map(escaped_path, inputs)]) + "\n"


def escaped_path(path: str) -> str:
    """Return a path as it is written in a rule of Make."""
    return path.replace(os.sep, "/").replace("$", "$$").replace("#", "\\#").replace(" ", "\\ ")


def write_stub(root: Path, built: Path, init: Path, modules: Sequence[str]) -> None:
    """Write the stub, `__init__.pyi`, of a package that attaches its kernels with `cuda_wheel.attach`, and the
    `py.typed` by which type checkers read it.

    `built` is the folder with the compiled modules, to which the stub is written; `init` is the package's
    `__init__.py`; `modules` are the dotted names of the package's modules. No stub is written if the package does not
    attach its kernels, or if its sources have a stub; no `py.typed` if the project has one. Raises CudaWheelError or
    OSError.
    """
    source = init.read_text(encoding="utf-8", errors="replace")
    own = init.with_suffix(".pyi")
    own_stub = own.read_text(encoding="utf-8", errors="replace") if own.exists() else None
    folder = built / modules[0].rpartition(".")[0].replace(".", "/")
    for earlier in ("__init__.pyi", TYPED):
        (folder / earlier).unlink(missing_ok=True)
    if not attaches(source):
        return
    config = read_config(root, os.environ)
    write(loader_files(config, modules, {"attach"}), built)
    packages = [init.parent, *init.parent.parents][: len(folder.relative_to(built).parts)]
    is_typed = any((each / TYPED).is_file() for each in packages)
    package = Package(source, tuple(sorted(os.listdir(init.parent))), own_stub, is_typed)
    paths = [built / (name.replace(".", "/") + MANIFEST_SUFFIX) for name in sorted(set(modules))]
    manifests = [all_manifests(path.read_bytes(), str(path)) for path in paths]
    for text in attachment_warnings(package, manifests):
        print(text, file=sys.stderr)
    if own_stub is None:
        write(dict([stub_file(config, package, manifests)]), built)
    if needs_mark(package):
        write({TYPED: b""}, folder)


def write_sbom(root: Path, parts: Path, folder: Path) -> None:
    """Write the SBOM of a project's modules to `folder`, unless the project's settings disable it.

    `parts` is a file that lists the path of each module's part of the SBOM, one on each line. A module that was not
    built has no part. Raises CudaWheelError or OSError.
    """
    config = read_config(root, os.environ) if (root / "pyproject.toml").is_file() else Config()
    if config.sbom:
        paths = map(Path, parts.read_text(encoding="utf-8", errors="surrogateescape").split("\n"))
        write({SBOM: merged([json.loads(path.read_bytes()) for path in paths if path.is_file()])}, folder)
