"""`cuda-wheel split`: make a base wheel with PTX, and a companion wheel for each compute capability."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from pathlib import Path

from cuda_wheel.builder.config.pyproject import read_config
from cuda_wheel.builder.errors import ConfigError
from cuda_wheel.builder.report.quantities import size_text
from cuda_wheel.builder.scratch import scratch
from cuda_wheel.builder.wheel.outputs import write
from cuda_wheel.cli.arguments import add_json_option, print_json
from cuda_wheel.inspect.rebuild import build_project
from cuda_wheel.runtime.manifest import dotted
from cuda_wheel.split.sdists import dynamic_sdist, static_sdist
from cuda_wheel.split.wheels import SplitWheel, split_wheel, variant_wheels

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("path", type=Path, help="the folder of pyproject.toml, or a whole wheel that is built already")
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="FOLDER", help="the folder for the wheels")
    parser.add_argument(
        "--no-build-isolation",
        action="store_true",
        help="for a project: build with the packages installed here",
    )
    parser.add_argument(
        "--draft-variants",
        action="store_true",
        help="write variant wheels by the draft of PEP 825 instead, which uv reads with a preview feature",
    )
    parser.add_argument(
        "--sdist",
        type=Path,
        metavar="FILE",
        help="write this sdist too, with metadata that allow the base's extras: for publishing it beside the base",
    )
    add_json_option(parser)


def run(options: argparse.Namespace) -> int:
    """Write the wheels."""
    path: Path = options.path
    divide = variant_wheels if options.draft_variants else split_wheel
    sdist: dict[str, bytes] = {}
    if options.draft_variants and options.sdist:
        options.refuse("--sdist is not needed with --draft-variants: the metadata of variant wheels are the sdist's")
    if path.is_dir():
        if read_config(path, os.environ).split == "none":
            raise ConfigError(
                f'{path / "pyproject.toml"} does not say how to divide the wheel: add split = "architecture" to '
                "[tool.cuda-wheel]."
            )
        with scratch() as folder:
            whole = build_project(path.resolve(), folder, folder / "wheel", not options.no_build_isolation)
            size, wheels = whole.stat().st_size, divide(whole)
            if options.sdist:
                sdist[options.sdist.name] = dynamic_sdist(options.sdist, whole)
    elif options.no_build_isolation:
        options.refuse("--no-build-isolation needs a project's folder")
    else:
        if (options.output / path.name).resolve() == path.resolve():
            options.refuse(f"{options.output} has the whole wheel itself, which the base would replace: name another")
        wheels = divide(path)
        size = path.stat().st_size
        if options.sdist:
            sdist[options.sdist.name] = dynamic_sdist(options.sdist, path)
    write({wheel.file: wheel.content for wheel in wheels} | sdist, options.output)
    if options.json:
        written = [{"file": file, "size": len(content)} for file, content in sdist.items()]
        print_json({"whole": size, "wheels": [_wheel_to_json(wheel) for wheel in wheels], "sdists": written})
    elif options.draft_variants:
        for wheel in wheels:
            print(f"{wheel.file}: {size_text(len(wheel.content))}")
    else:
        _print(wheels, size)
        for file, content in sdist.items():
            print(f"{file}: {size_text(len(content))}, the sdist, whose metadata allow the base's extras")
        static = static_sdist(options.output, wheels[0].file)
        if static is not None:
            print(
                f"note: the metadata of {static} say that no wheel has the base's extras. Before you publish it beside "
                f"the base, run the command again with --sdist {static}."
            )
    return 0


def _wheel_to_json(wheel: SplitWheel) -> dict[str, object]:
    needed = {"needed": wheel.is_needed} if wheel.capability else {}
    return {"file": wheel.file, "size": len(wheel.content), "compute_capability": wheel.capability, **needed}


def _print(wheels: Sequence[SplitWheel], whole: int) -> None:
    base, *companions = wheels
    print(f"{base.file}: {size_text(len(base.content))}, the base with PTX; the whole wheel: {size_text(whole)}")
    needed = []
    for wheel in companions:
        assert wheel.capability is not None
        both = size_text(len(base.content) + len(wheel.content))
        print(f"{wheel.file}: {size_text(len(wheel.content))}, for {dotted(wheel.capability)}; with the base {both}")
        needed += [wheel.capability] if wheel.is_needed else []
    if needed:
        print(
            f"note: on GPUs of compute capability {', '.join(map(dotted, needed))}, the base runs only with its "
            f'companion, as it has no PTX for them. "{needed[0][0]}{needed[0][1]}-virtual" in architectures adds it.'
        )
