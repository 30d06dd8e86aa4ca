"""The `cuda-wheel` command: shows what the other layers know, and decides nothing."""

from __future__ import annotations

import argparse
import io
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from cuda_wheel import __version__
from cuda_wheel.inspection import Found, differences, find_modules
from cuda_wheel.loader import (
    CudaWheelError,
    DriverError,
    Image,
    Resolution,
    Target,
    Version,
    device_and_driver,
    dotted,
    image_to_json,
    nvjitlink_version,
    parse_version,
    resolve,
)

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status: 0 where all is well, 1 where something is not, 2 for wrong usage."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # names may hold what the terminal cannot show
    options = _parser().parse_args(arguments)
    try:
        status: int = options.run(options)
        sys.stdout.flush()
    except CudaWheelError as error:
        print(f"cuda-wheel: {error}", file=sys.stderr)
        return 1
    except BrokenPipeError:  # the reader, such as `head`, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:
        print(f"cuda-wheel: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return status


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="cuda-wheel", description="CUDA kernels in ordinary Python wheels.")
    parser.add_argument("--version", action="version", version=f"cuda-wheel {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    what = "a wheel, a folder, a .fatbin or an installed package"

    inspect = commands.add_parser("inspect", help="show the modules, images and kernels that something holds")
    inspect.add_argument("path", help=what)
    inspect.add_argument("--json", action="store_true", help="print JSON")
    inspect.set_defaults(run=_inspect)

    explain = commands.add_parser("explain", help="show the image that a GPU and driver get, and why")
    explain.add_argument("path", help=what)
    explain.add_argument("--device", type=_capability, help="the GPU: sm_86 or 8.6; by default the one in this machine")
    explain.add_argument(
        "--driver", type=_version, help="the CUDA version of the driver: 12.2; by default this machine's"
    )
    explain.add_argument(
        "--nvjitlink", type=_version, help="the version of an installed nvJitLink, which compiles PTX for older drivers"
    )
    explain.add_argument("--json", action="store_true", help="print JSON")
    explain.set_defaults(run=_explain)

    verify = commands.add_parser("verify", help="check every image against its manifest")
    verify.add_argument("path", help=what)
    verify.set_defaults(run=_verify)

    build = commands.add_parser("build", help="compile a project's images, without a wheel")
    build.add_argument("project", type=Path, help="the folder of pyproject.toml")
    build.add_argument("-o", "--output", type=Path, required=True, metavar="FOLDER", help="where the images go")
    build.set_defaults(run=_build)

    cmake = commands.add_parser("cmake-dir", help="print the folder of CMake's module CudaWheel")
    cmake.set_defaults(run=_cmake_dir)
    return parser


def _capability(text: str) -> Version:
    try:
        return parse_version(text) if "." in text else Target.parse(text).capability
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a GPU such as sm_86 or 8.6") from None


def _version(text: str) -> Version:
    try:
        return parse_version(text if "." in text else f"{text}.0")
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a version such as 12.2") from None


def _print_json(document: Any) -> None:
    print(json.dumps(document, indent=2))


# --- inspect --------------------------------------------------------------------------------------


def _inspect(options: argparse.Namespace) -> int:
    found = find_modules(options.path)
    if options.json:
        _print_json({"modules": [_module_json(module) for module in found]})
        return 0
    console = Console()
    for module in found:
        console.print(_module_table(module))
    return 0


def _module_json(found: Found) -> dict[str, Any]:
    manifest = found.manifest
    document = json.loads(manifest.to_json())
    return {
        "name": manifest.name,
        "fatbin": manifest.fatbin,
        **{key: document[key] for key in ("toolchain", "sources", "options", "images", "kernels")},
    }


def _module_table(found: Found) -> Table:
    from cuda_wheel.progress import size_text

    manifest = found.manifest
    kernels = ", ".join(kernel.name for kernel in manifest.kernels)
    table = Table(
        title=Text(manifest.name),
        caption=Text(
            f"kernels: {kernels}\n"
            f"{manifest.fatbin}, {size_text(manifest.fatbin_size)}, NVRTC {manifest.toolchain['nvrtc']}"
        ),
        title_justify="left",
        caption_justify="left",
    )
    for heading in ("kind", "target", "PTX", "size", "registers"):
        table.add_column(heading, justify="right" if heading in ("size", "registers") else "left")
    for image in manifest.images:
        table.add_row(
            image.kind,
            str(image.target),
            "" if image.ptx_version is None else dotted(image.ptx_version) + _origin(image),
            size_text(image.size),
            ", ".join(
                str(image.resources[kernel.symbol].get("registers", "?"))
                for kernel in manifest.kernels
                if kernel.symbol in image.resources
            ),
        )
    return table


def _origin(image: Image) -> str:
    compiled = image.ptx_version_compiled
    return f" (was {dotted(compiled)})" if compiled and compiled != image.ptx_version else ""


# --- explain --------------------------------------------------------------------------------------


def _explain(options: argparse.Namespace) -> int:
    found = find_modules(options.path)
    capability, driver, linker = options.device, options.driver, options.nvjitlink
    if capability is None or driver is None:
        # Another machine's nvJitLink is nobody's guess; this machine's can be asked.
        try:
            here = device_and_driver()
        except DriverError as error:
            raise DriverError(f"{error}: give --device and --driver, such as --device sm_86 --driver 12.2") from error
        capability, driver = capability or here[0], driver or here[1]
        linker = linker or nvjitlink_version()
    resolutions = [(module, resolve(module.manifest, capability, driver, linker)) for module in found]
    if options.json:
        _print_json({"modules": [_resolution_json(module, resolution) for module, resolution in resolutions]})
    else:
        print(f"GPU of compute capability {dotted(capability)}, driver for CUDA {dotted(driver)}")
        for module, resolution in resolutions:
            _print_resolution(module, resolution)
    return int(any(resolution.image is None for _, resolution in resolutions))


def _resolution_json(found: Found, resolution: Resolution) -> dict[str, Any]:
    return {
        "name": found.manifest.name,
        "how": resolution.how,
        "image": resolution.image and image_to_json(resolution.image),
        "rejected": [
            {"image": image_to_json(rejection.image), "reason": rejection.reason} for rejection in resolution.rejected
        ],
    }


def _print_resolution(found: Found, resolution: Resolution) -> None:
    chosen = f"{resolution.image}, {resolution.how}" if resolution.image else "no image fits"
    print(f"{found.manifest.name}: {chosen}")
    for rejection in resolution.rejected:
        print(f"  not {rejection.image}: {rejection.reason}")


# --- verify, build, cmake-dir --------------------------------------------------------------------------------


def _verify(options: argparse.Namespace) -> int:
    status = 0
    for module in find_modules(options.path):
        wrong = differences(module)
        print(f"{module.manifest.name}: {'; '.join(wrong) or 'as the manifest says'}")
        status |= bool(wrong)
    return status


def _cmake_dir(_: argparse.Namespace) -> int:
    print(Path(__file__).with_name("cmake").as_posix())
    return 0


def _build(options: argparse.Namespace) -> int:
    from cuda_wheel.build.config import read_config
    from cuda_wheel.build.layout import wheel_layout
    from cuda_wheel.build.outputs import write
    from cuda_wheel.build.project import build_files
    from cuda_wheel.progress import ProgressReporter

    root = options.project.resolve()
    layout = wheel_layout(root)
    config = read_config(root, os.environ, layout.modules)
    with ProgressReporter(print, lambda text: print(text, file=sys.stderr)) as reporter:
        outputs = build_files(root, config, layout.files, reporter)
    write(outputs, options.output)
    return 0
