"""`cuda-wheel inspect`: show the modules, images and kernels in a wheel or package."""

from __future__ import annotations

import argparse
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cuda_wheel.builder.manifest_writer.text import manifest_to_json, split_to_json
from cuda_wheel.builder.report.quantities import count_text, size_text
from cuda_wheel.cli.arguments import add_json_option, add_path_argument, print_json
from cuda_wheel.cli.tables import Column, Table, print_report, size_report
from cuda_wheel.inspect.modules import FoundModule, exported_lines, find_modules, symbol_lines, tuned_lines
from cuda_wheel.inspect.sizes import measure_module, sizes_to_json
from cuda_wheel.runtime.manifest import Image, Manifest, dotted, macro_text, python_language
from cuda_wheel.runtime.parts.companions import install_command
from cuda_wheel.runtime.parts.python_kernels.signatures import LANGUAGES

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    add_path_argument(parser)
    parser.add_argument(
        "--size", action="store_true", help="show the size of each image, and what dropping a target saves and costs"
    )
    add_json_option(parser)


def run(options: argparse.Namespace) -> int:
    """Show the modules, or their sizes."""
    modules = find_modules(*options.paths)
    if options.size:
        _show_sizes(modules, [Path(path) for path in options.paths], options.json)
    elif options.json:
        print_json({"modules": [_module_to_json(module) for module in modules]})
    else:
        for module in modules:
            print_report([_module_table(module)])
    return 0


_DETAILS = ("toolchain", "sources", "options", "images", "kernels", "globals", "host_code", "structs")
"""Keys of a manifest that `inspect --json` prints for each module or variant."""


def _module_to_json(module: FoundModule) -> dict[str, Any]:
    first = module.manifests[0]
    head: dict[str, Any] = {"name": module.name, "fatbin": module.fatbin}
    if module.split is not None:
        head["split"] = split_to_json(module.split)
    if not first.variant:
        return head | _details(first)
    variants = [
        {"variant": dict(each.variant), "fatbin_offset": each.fatbin_offset, "fatbin_size": each.fatbin_size}
        | _details(each)
        for each in module.manifests
    ]
    return head | {"variants": variants}


def _details(manifest: Manifest) -> dict[str, Any]:
    document = manifest_to_json(manifest)
    return {key: document[key] for key in _DETAILS}


def _module_table(module: FoundModule) -> Table:
    if module.manifests[0].variant:
        return _variants_table(module)
    (manifest,) = module.manifests
    fatbin = f"{manifest.fatbin}, {size_text(manifest.fatbin_size)}, {_compiler_text(manifest)}"
    columns = [
        Column("kind"),
        Column("target"),
        Column("PTX"),
        Column("driver"),
        Column("size", "right"),
        Column("registers", "right"),
        *([Column("to link")] if manifest.relocatable else []),
        *([Column("programs on")] if any(image.host for image in manifest.images) else []),
    ]
    return Table(
        module.label,
        columns,
        [_image_row(image, manifest)[: len(columns)] for image in manifest.images],
        "\n".join([*_notes(module), fatbin]),
    )


def _notes(module: FoundModule) -> list[str]:
    """Return the lines below the table of a module. Those of a module in a companion are below that of its base."""
    split = module.split
    notes = [*symbol_lines(module.manifests), *exported_lines(module), *tuned_lines(module)]
    if split is None:
        return notes
    companions = (
        f"machine code for {', '.join(map(str, each.targets))}: {each.distribution} ({install_command(split, each)})"
        for each in split.companions
    )
    return [*notes, *companions] if split.base is None else []


def _variants_table(module: FoundModule) -> Table:
    """Return a table with a row for each variant of a module: the values of the variant's macros, the names of its
    images, and the size of its fatbin."""
    macros = list(dict.fromkeys(name for manifest in module.manifests for name, _ in manifest.variant))
    language = python_language([manifest.variant for manifest in module.manifests])
    macros.sort(key=lambda name: name != language)  # the Python kernel first
    size = sum(manifest.fatbin_size for manifest in module.manifests)
    fatbin = f"{module.fatbin}, {size_text(size)}, {_compiler_text(module.manifests[0])}"
    notes = [*_notes(module), fatbin]
    columns = [*map(Column, macros), Column("images"), Column("size", "right")]
    rows = []
    for manifest in module.manifests:
        values = dict(manifest.variant)
        texts = [macro_text(values[name]) if name in values else "" for name in macros]
        images = ", ".join(dict.fromkeys(str(image._replace(host="")) for image in manifest.images))
        rows.append((*texts, images, size_text(manifest.fatbin_size)))
    title = f"{module.label} ({count_text(len(rows), 'variant')})"
    return Table(title, columns, rows, "\n".join(notes))


def _compiler_text(manifest: Manifest) -> str:
    """Return the compiler of a module, and its release: "NVRTC 12.9.86"."""
    releases = manifest.toolchain
    python = (f"{each.title} {releases[name]}" for name, each in LANGUAGES.items() if name in releases)
    return next(python, f"NVRTC {releases['nvrtc']}")


def _image_row(image: Image, manifest: Manifest) -> tuple[str, ...]:
    registers = (
        str(image.resources[kernel.symbol].get("registers", "?"))
        for kernel in manifest.kernels
        if image.target.real and kernel.symbol in image.resources
    )
    return (
        image.kind,
        str(image.target),
        _ptx_version(image),
        f"CUDA {dotted(image.driver)}",
        size_text(image.size),
        ", ".join(registers),
        image.source or image.host,
    )


def _ptx_version(image: Image) -> str:
    """Return the PTX ISA version of an image and, if it was lowered, the version that the compiler wrote: "7.8 (was
    8.8)". Return "" for an image that is not PTX."""
    if image.ptx_version is None:
        return ""
    compiled = image.ptx_version_compiled
    lowered = f" (was {dotted(compiled)})" if compiled and compiled != image.ptx_version else ""
    return dotted(image.ptx_version) + lowered


def _show_sizes(modules: Sequence[FoundModule], paths: Sequence[Path], as_json: bool) -> None:
    sizes = [measure_module(module) for module in modules]
    are_wheels = all(map(zipfile.is_zipfile, paths))
    wheel_size = sum(path.stat().st_size for path in paths) if are_wheels else None
    if as_json:
        print_json(sizes_to_json(sizes, wheel_size))
    else:
        print_report(size_report(sizes, wheel_size))
