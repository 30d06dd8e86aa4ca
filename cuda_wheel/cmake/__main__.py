"""The steps that `CudaWheel.cmake` runs, as a command: `python -m cuda_wheel.cmake build|stub|sbom ...`."""

from __future__ import annotations

import argparse
import io
import sys
from collections.abc import Sequence
from pathlib import Path

from cuda_wheel.runtime.errors import CudaWheelError

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a step and return its exit status: 0 for success, 1 for failure."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a pipe on Windows cannot encode every name
    options = _parser().parse_args(arguments)
    try:
        from cuda_wheel.cmake import commands  # unless cuda-wheel-builder is of another version than cuda-wheel

        if options.step == "build":
            commands.build_module_files(options.settings)
        elif options.step == "stub":
            commands.write_stub(options.root, options.built, options.init, options.modules)
        else:
            commands.write_sbom(options.root, options.parts, options.folder)
    except (CudaWheelError, OSError) as error:
        print(f"cuda-wheel: {error}", file=sys.stderr)
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m cuda_wheel.cmake", description=__doc__)
    subparsers = parser.add_subparsers(dest="step", required=True)
    build = subparsers.add_parser("build", help="compile a module")
    build.add_argument("settings", type=Path, help="the file that cuda_wheel_add_module wrote")
    stub = subparsers.add_parser("stub", help="write the stub of a package that attaches its kernels")
    stub.add_argument("root", type=Path, help="the project's folder")
    stub.add_argument("built", type=Path, help="the folder with the compiled modules, to which the stub is written")
    stub.add_argument("init", type=Path, help="the package's __init__.py")
    stub.add_argument("modules", nargs="+", help="the dotted names of the package's modules")
    sbom = subparsers.add_parser("sbom", help="write the SBOM of the project's modules")
    sbom.add_argument("root", type=Path, help="the project's folder")
    sbom.add_argument(
        "parts", type=Path, help="a file that lists the paths of the modules' SBOM parts, one on each line"
    )
    sbom.add_argument("folder", type=Path, help="the folder to which the SBOM is written")
    return parser


if __name__ == "__main__":
    sys.exit(main())
