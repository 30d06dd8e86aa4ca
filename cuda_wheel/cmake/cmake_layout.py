"""Find the modules of a CMake project: those that its calls of `cuda_wheel_add_module` record."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

from cuda_wheel.builder.config.cmake_call import CMakeCall
from cuda_wheel.builder.config.pyproject import read_pyproject
from cuda_wheel.builder.config.settings import Config
from cuda_wheel.builder.errors import ConfigError
from cuda_wheel.builder.scratch import scratch
from cuda_wheel.builder.sources.layout import Layout, WheelFile
from cuda_wheel.builder.wheel.tuned_tables import tuned_file

__all__ = ["wheel_layout"]


def wheel_layout(root: Path) -> Layout:
    """Return the layout of the scikit-build-core project in `root`, after CMake configures it in a temporary folder."""
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
