"""Compile one module as CMake asks: `python -m cuda_wheel.cmake.build_module SETTINGS.json`.

The file, which `cuda_wheel_add_module` writes, holds the project's folder ("root"), where to write ("output",
"depfile"), and the module as a table of `[[tool.cuda-wheel.module]]` ("module").
"""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Iterable
from pathlib import Path

from cuda_wheel.builder.project import build_module
from cuda_wheel.builder.report.progress import ProgressReporter
from cuda_wheel.builder.wheel.outputs import write
from cuda_wheel.runtime.errors import CudaWheelError

__all__ = ["main"]


def main(settings: Path) -> int:
    """Write the module's files and depfile, and return the exit status."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a pipe of Windows does not take every name
    request = json.loads(settings.read_text(encoding="utf-8", errors="surrogateescape"))
    output, depfile = Path(request["output"]), Path(request["depfile"])
    try:
        with ProgressReporter(print, lambda text: print(text, file=sys.stderr)) as reporter:
            files, inputs = build_module(Path(request["root"]), request["module"], os.environ, reporter)
        # First what it depends on: images without that would never be made again.
        target = str(output / next(path for path in files if path.endswith(".fatbin")))
        write({depfile.name: os.fsencode(_rule(target, inputs))}, depfile.parent)
        write(files, output)
    except CudaWheelError as error:
        print(f"cuda-wheel: {error}", file=sys.stderr)
        return 1
    return 0


def _rule(target: str, inputs: Iterable[str]) -> str:
    """Return a rule of Make: the target needs all inputs."""
    return " \\\n  ".join([f"{_escaped(target)}:", *map(_escaped, inputs)]) + "\n"


def _escaped(path: str) -> str:
    return path.replace(os.sep, "/").replace("$", "$$").replace("#", "\\#").replace(" ", "\\ ")


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
