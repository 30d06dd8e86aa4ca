"""`cuda-wheel explain`: show which image a GPU and driver get, and why."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator, Sequence
from typing import Any

from cuda_wheel.builder.manifest_writer.coverage import GPU_OF, once_linked
from cuda_wheel.builder.manifest_writer.text import image_to_json
from cuda_wheel.builder.releases import driver_hint, gpu_hint
from cuda_wheel.cli.arguments import add_json_option, add_path_argument, argument_type, print_json
from cuda_wheel.inspect.companions import missing_companions, united
from cuda_wheel.inspect.modules import find_modules
from cuda_wheel.runtime.driver import device_and_driver
from cuda_wheel.runtime.errors import DriverError
from cuda_wheel.runtime.manifest import Image, Manifest, Target, Version, dotted, parse_version
from cuda_wheel.runtime.parts.cuda_libraries import nvjitlink_version
from cuda_wheel.runtime.rules import Rejection, Resolution, resolve

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    add_path_argument(parser)
    parser.add_argument(
        "--device", type=argument_type(_capability), help="the GPU: sm_86 or 8.6; by default this machine's"
    )
    parser.add_argument(
        "--driver",
        type=argument_type(_driver),
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
        raise ValueError(f"{text!r} is not a GPU such as sm_86 or 8.6{gpu_hint(text)}") from None


def _driver(text: str) -> Version:
    hint = driver_hint(text)
    if hint:  # else it would be a CUDA version that is newer than all
        raise ValueError(f"{text!r} is a driver's own version: give the CUDA version that it supports{hint}")
    return _version(text)


def _version(text: str) -> Version:
    try:
        return parse_version(text if "." in text else f"{text}.0")
    except ValueError:
        raise ValueError(f"{text!r} is not a version such as 12.2") from None


def run(options: argparse.Namespace) -> int:
    """Show which image of each module is loaded.

    Return 1 if a module has no image that loads, if it is not known whether its image loads, or if the driver does not
    support the GPU; else 0.
    """
    modules = find_modules(*options.paths)
    capability, driver, nvjitlink = _machine(options)
    resolutions = [(each, resolve(once_linked(each), capability, driver, nvjitlink)) for each in united(modules)]
    missing = missing_companions(modules, capability, driver)
    unknown = _why_unknown(capability, driver)
    if options.json:
        print_json(
            {
                "unsupported": unknown,
                "modules": [
                    _resolution_to_json(manifest, resolution, missing.get(manifest.name))
                    for manifest, resolution in resolutions
                ],
            }
        )
    else:
        print(f"GPU of compute capability {dotted(capability)}, driver for CUDA {dotted(driver)}")
        if unknown is not None:
            print(unknown)
        texts = [
            (each, _resolution_lines(each, resolution, missing.get(each.name))) for each, resolution in resolutions
        ]
        for names, lines in _alike(texts).items():
            print(f"{', '.join(names)}: {lines}")
    return int(
        any(resolution.image is None or resolution.doubt for _, resolution in resolutions) or unknown is not None
    )


def _why_unknown(capability: Version, driver: Version) -> str | None:
    """Return a message if the driver does not support the GPU, else None. Return None also for a GPU that is not in the
    table of GPUs. `capability`: compute capability of the GPU. `driver`: CUDA version of the driver."""
    gpu = GPU_OF.get(capability)
    if gpu is None or gpu.is_supported_by(driver):
        return None
    return f"the driver does not support this GPU: drivers for {gpu.drivers} do"


def _machine(options: argparse.Namespace) -> tuple[Version, Version, Version | None]:
    """Return the GPU's compute capability, the driver's CUDA version, and nvJitLink's version (None without nvJitLink).

    A version that the command line does not give is that of this machine. There is one exception: with both `--device`
    and `--driver`, nvJitLink's version is None unless `--nvjitlink` gives it.
    """
    if options.device is not None and options.driver is not None:
        return options.device, options.driver, options.nvjitlink  # this machine's nvJitLink is not the other machine's
    try:
        capability, driver = device_and_driver()
    except DriverError as error:
        raise DriverError(f"{error}: give --device and --driver, such as --device sm_86 --driver 12.2") from error
    return options.device or capability, options.driver or driver, options.nvjitlink or nvjitlink_version()


def _resolution_to_json(manifest: Manifest, resolution: Resolution, missing: str | None) -> dict[str, Any]:
    return {
        "name": manifest.name,
        **({"variant": dict(manifest.variant)} if manifest.variant else {}),
        "how": resolution.how,
        "doubt": resolution.doubt,
        **({"missing": missing} if missing else {}),
        "image": resolution.image and image_to_json(resolution.image),
        "rejected": [
            {"image": image_to_json(rejection.image), "reason": rejection.reason} for rejection in resolution.rejected
        ],
    }


def _alike(texts: Sequence[tuple[Manifest, str]]) -> dict[tuple[str, ...], str]:
    """Return each text once: names of all modules or variants with this text -> the text.

    `texts`: (manifest, text on its module or variant). If all variants of a module have the same text, the module is
    named: "demo.scale". Otherwise each variant is named: "demo.scale[N=2]".
    """
    by_name: dict[str, set[str]] = {}
    by_text: dict[str, list[Manifest]] = {}
    for manifest, text in texts:
        by_name.setdefault(manifest.name, set()).add(text)
        by_text.setdefault(text, []).append(manifest)
    return {
        tuple(dict.fromkeys(each.name if len(by_name[each.name]) == 1 else each.full_name for each in alike)): text
        for text, alike in by_text.items()
    }


def _resolution_lines(manifest: Manifest, resolution: Resolution, missing: str | None) -> str:
    """Return the lines on one module or variant: first the chosen image, or "no image fits"; then `missing`, about a
    companion, if there is one; then a line for each reason for which other images were rejected."""
    chosen = f"{resolution.image}, {resolution.how}" if resolution.image else "no image fits"
    if len(manifest.relocatable) == len(manifest.images):
        chosen += ", to be linked: load(..., link=[...])"
    lines = [chosen + (f", {resolution.doubt}" if resolution.doubt else "")]
    lines += [f"  {missing}"] if missing else []
    lines += [f"  not {line}" for line in _rejections(resolution.rejected)]
    return "\n".join(lines)


_FOREIGN = re.compile(r"is machine code for (.*), the GPU is (.*)")


def _rejections(rejected: Sequence[Rejection]) -> Iterator[str]:
    """Yield a line for each reason for rejection, with all images that were rejected for this reason: "cubin sm_75,
    sm_90: are machine code for 7.x, 9.x, the GPU is 8.6"."""
    images: dict[str, list[Image]] = {}
    made_for: dict[str, list[str]] = {}
    for image, reason in rejected:
        if match := _FOREIGN.fullmatch(reason):  # differs in what it is made for
            made_for.setdefault(reason := match[2], []).append(match[1])
        images.setdefault(reason, []).append(image)
    for reason, alike in images.items():
        kind = f"{alike[0].kind} "
        is_same = all(str(image).startswith(kind) for image in alike)
        names = ", ".join(
            str(image).removeprefix(kind if is_same and index else "") for index, image in enumerate(alike)
        )
        if reason in made_for:
            verb = "is" if len(alike) == 1 else "are"
            reason = f"{verb} machine code for {', '.join(dict.fromkeys(made_for[reason]))}, the GPU is {reason}"
        yield f"{names}: {reason}"
