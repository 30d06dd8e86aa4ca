"""`cuda-wheel explain`: show which image a GPU and driver get, and why."""

from __future__ import annotations

import argparse
from typing import Any

from cuda_wheel.builder.describe.coverage import GPU_OF, once_linked
from cuda_wheel.cli.command_arguments import add_json_option, add_path_argument, argument_type
from cuda_wheel.cli.output import print_json
from cuda_wheel.inspect.found_modules import FoundModule, find_modules
from cuda_wheel.runtime.driver import device_and_driver
from cuda_wheel.runtime.errors import DriverError
from cuda_wheel.runtime.jit.nvjitlink import nvjitlink_version
from cuda_wheel.runtime.manifest import Target, Version, dotted, parse_version
from cuda_wheel.runtime.manifest_text import image_to_json
from cuda_wheel.runtime.rules import Resolution, resolve

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    add_path_argument(parser)
    parser.add_argument(
        "--device", type=argument_type(_capability), help="the GPU: sm_86 or 8.6; by default this machine's"
    )
    parser.add_argument(
        "--driver",
        type=argument_type(_version),
        help="the CUDA version that the driver supports: 12.2; by default this machine's",
    )
    parser.add_argument(
        "--nvjitlink",
        type=argument_type(_version),
        help="the version of an installed nvJitLink, which compiles PTX for older drivers",
    )
    add_json_option(parser)


def _capability(text: str) -> Version:
    try:
        return parse_version(text) if "." in text else Target.parse(text).capability
    except ValueError:
        raise ValueError(f"{text!r} is not a GPU such as sm_86 or 8.6") from None


def _version(text: str) -> Version:
    try:
        return parse_version(text if "." in text else f"{text}.0")
    except ValueError:
        raise ValueError(f"{text!r} is not a version such as 12.2") from None


def run(options: argparse.Namespace) -> int:
    """Show the chosen image of each module.

    The exit status is 1 if a module has none or it is not known whether it loads, or if the driver does not support the
    GPU.
    """
    modules = find_modules(options.path)
    capability, driver, nvjitlink = _machine(options)
    resolutions = [(module, resolve(once_linked(module.manifest), capability, driver, nvjitlink)) for module in modules]
    unknown = _why_unknown(capability, driver)
    if options.json:
        print_json(
            {
                "unsupported": unknown,
                "modules": [_resolution_to_json(module, resolution) for module, resolution in resolutions],
            }
        )
    else:
        print(f"GPU of compute capability {dotted(capability)}, driver for CUDA {dotted(driver)}")
        if unknown is not None:
            print(unknown)
        for module, resolution in resolutions:
            _print_resolution(module, resolution)
    return int(
        any(resolution.image is None or resolution.doubt for _, resolution in resolutions) or unknown is not None
    )


def _why_unknown(capability: Version, driver: Version) -> str | None:
    """Return why the driver loads nothing for a GPU; None if it supports it, or if the table does not have the GPU."""
    gpu = GPU_OF.get(capability)
    if gpu is None or gpu.is_supported_by(driver):
        return None
    return f"the driver does not support this GPU: drivers for {gpu.drivers} do"


def _machine(options: argparse.Namespace) -> tuple[Version, Version, Version | None]:
    """Return the GPU, the driver and nvJitLink: those of the options, else this machine's."""
    if options.device is not None and options.driver is not None:
        return options.device, options.driver, options.nvjitlink  # this machine's nvJitLink is not the other machine's
    try:
        capability, driver = device_and_driver()
    except DriverError as error:
        raise DriverError(f"{error}: give --device and --driver, such as --device sm_86 --driver 12.2") from error
    return options.device or capability, options.driver or driver, options.nvjitlink or nvjitlink_version()


def _resolution_to_json(module: FoundModule, resolution: Resolution) -> dict[str, Any]:
    return {
        "name": module.manifest.name,
        "how": resolution.how,
        "doubt": resolution.doubt,
        "image": resolution.image and image_to_json(resolution.image),
        "rejected": [
            {"image": image_to_json(rejection.image), "reason": rejection.reason} for rejection in resolution.rejected
        ],
    }


def _print_resolution(module: FoundModule, resolution: Resolution) -> None:
    chosen = f"{resolution.image}, {resolution.how}" if resolution.image else "no image fits"
    if len(module.manifest.relocatable) == len(module.manifest.images):
        chosen += ", to be linked: load(..., link=[...])"
    print(f"{module.manifest.name}: {chosen}" + (f", {resolution.doubt}" if resolution.doubt else ""))
    for rejection in resolution.rejected:
        print(f"  not {rejection.image}: {rejection.reason}")
