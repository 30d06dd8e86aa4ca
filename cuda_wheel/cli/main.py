"""The `cuda-wheel` command: shows what the other layers know, and decides nothing."""

from __future__ import annotations

import argparse
import io
import json
import os
import sys
import zipfile
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from cuda_wheel import __version__
from cuda_wheel.builder.describe.coverage import Requirement, advice, cover, describe, missing, once_linked
from cuda_wheel.inspect.coverage import parse_requirement, to_json
from cuda_wheel.inspect.differences import differences
from cuda_wheel.inspect.listing import described, offered
from cuda_wheel.inspect.modules import Found, find_modules
from cuda_wheel.runtime.cache import Cache, cache_limit, parse_size
from cuda_wheel.runtime.driver import device_and_driver
from cuda_wheel.runtime.errors import CudaWheelError, DriverError
from cuda_wheel.runtime.manifest import Image, Target, Version, dotted, image_to_json, parse_version
from cuda_wheel.runtime.nvjitlink import nvjitlink_version
from cuda_wheel.runtime.rules import Resolution, resolve

if TYPE_CHECKING:
    from cuda_wheel.builder.preview import Preview
    from cuda_wheel.inspect.rebuild import Comparison

__all__ = [
    "main",
]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status: 0 where all is well, 1 where something is not, 2 for wrong usage."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # names may hold what the terminal cannot show
    options = _parser().parse_args(arguments)
    try:
        status: int = options.run(options)
        if sys.stdout is not None:  # there may be no standard streams
            sys.stdout.flush()
    except CudaWheelError as error:
        print(f"cuda-wheel: {_shown(str(error))}", file=sys.stderr)
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


def _shown(text: str) -> str:
    """Return a text that does to a terminal nothing but to be shown: files may have any names."""
    return "".join(sign if sign.isprintable() or sign in "\n\t" else ascii(sign)[1:-1] for sign in text)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="cuda-wheel", description="CUDA kernels in ordinary Python wheels.")
    parser.add_argument("--version", action="version", version=f"cuda-wheel {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    what = "a wheel, a folder, a .fatbin or an installed package"

    inspect = commands.add_parser("inspect", help="show the modules, images and kernels that something holds")
    inspect.add_argument("path", help=what)
    inspect.add_argument(
        "--size", action="store_true", help="show what each image costs, and what a target less would save and lose"
    )
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

    cover = commands.add_parser("coverage", help="show which GPUs and drivers get an image, and which do not")
    cover.add_argument("path", help=what)
    cover.add_argument("--svg", type=Path, metavar="FILE", help="draw it as an SVG picture")
    cover.add_argument("--html", type=Path, metavar="FILE", help="draw it as an HTML page")
    cover.add_argument("--json", action="store_true", help="print JSON")
    cover.add_argument(
        "--require",
        type=_requirement,
        metavar="WHAT",
        help='fail where something is missing: "sm_75..sm_121,!sm_87,driver>=12.2"; with "native", JIT does not count',
    )
    cover.set_defaults(run=_coverage)

    doctor = commands.add_parser("doctor", help="show what this machine has: driver, GPUs, compilers, cache, packages")
    doctor.add_argument("--json", action="store_true", help="print JSON")
    doctor.set_defaults(run=_doctor)

    cache = commands.add_parser("cache", help="show what is kept of earlier builds; bound it, or clear it")
    smaller = cache.add_mutually_exclusive_group()
    smaller.add_argument(
        "--prune", type=_size, metavar="SIZE", help="remove what was used longest ago, until SIZE is left: 500MiB"
    )
    smaller.add_argument("--clear", action="store_const", const=0, dest="prune", help="remove every entry")
    cache.add_argument("--json", action="store_true", help="print JSON")
    cache.set_defaults(run=_cache)

    verify = commands.add_parser("verify", help="check every image against its manifest, and a wheel as a whole")
    verify.add_argument("path", help=what)
    verify.add_argument(
        "--rebuild",
        type=Path,
        metavar="PROJECT",
        help="build the wheel again, from a folder or an sdist, and compare: this runs the project's build back end",
    )
    verify.add_argument(
        "--no-build-isolation",
        action="store_true",
        help="with --rebuild: use what is installed here, in place of the versions that the wheel tells of",
    )
    verify.add_argument("--json", action="store_true", help="print JSON")
    verify.set_defaults(run=_verify, refuse=verify.error)

    build = commands.add_parser("build", help="compile a project's images, without a wheel")
    build.add_argument("project", type=Path, help="the folder of pyproject.toml")
    to_do = build.add_mutually_exclusive_group(required=True)
    to_do.add_argument("-o", "--output", type=Path, metavar="FOLDER", help="where the images go")
    to_do.add_argument("--dry-run", action="store_true", help="compile nothing; show what would be done, and how long")
    build.add_argument("--json", action="store_true", help="with --dry-run: print JSON")
    build.add_argument("--timings", type=Path, metavar="FILE", help="write where the time went, as a Chrome trace")
    build.set_defaults(run=_build, refuse=build.error)

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


def _requirement(text: str) -> Requirement:
    try:
        return parse_requirement(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _size(text: str) -> int:
    try:
        return parse_size(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _print_json(document: Any) -> None:
    print(json.dumps(document, indent=2))


def _inspect(options: argparse.Namespace) -> int:
    found = find_modules(options.path)
    if options.size:
        return _sizes(found, Path(options.path), options.json)
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
        **{key: document[key] for key in ("toolchain", "sources", "options", "images", "kernels", "globals")},
    }


def _module_table(found: Found) -> Table:
    from cuda_wheel.builder.report.units import size_text

    manifest = found.manifest
    lines = "\n".join([*described(manifest), *offered(found)])
    table = Table(
        title=Text(manifest.name),
        caption=Text(
            f"{lines}\n{manifest.fatbin}, {size_text(manifest.fatbin_size)}, NVRTC {manifest.toolchain['nvrtc']}"
        ),
        title_justify="left",
        caption_justify="left",
    )
    to_link = ("to link",) if manifest.relocatable else ()
    for heading in ("kind", "target", "PTX", "driver", "size", "registers", *to_link):
        table.add_column(heading, justify="right" if heading in ("size", "registers") else "left")
    for image in manifest.images:
        table.add_row(
            image.kind,
            str(image.target),
            "" if image.ptx_version is None else dotted(image.ptx_version) + _origin(image),
            f"CUDA {dotted(image.driver)}",
            size_text(image.size),
            ", ".join(
                str(image.resources[kernel.symbol].get("registers", "?"))
                for kernel in manifest.kernels
                if image.target.real and kernel.symbol in image.resources
            ),
            *([Text(image.source or "")] if to_link else []),
        )
    return table


def _origin(image: Image) -> str:
    compiled = image.ptx_version_compiled
    return f" (was {dotted(compiled)})" if compiled and compiled != image.ptx_version else ""


def _sizes(found: Sequence[Found], path: Path, as_json: bool) -> int:
    from cuda_wheel.inspect.sizes import measure, to_json

    modules = [measure(module) for module in found]
    archive = path.stat().st_size if zipfile.is_zipfile(path) else None
    if as_json:
        _print_json(to_json(modules, archive))
    else:
        from cuda_wheel.cli.size_table import terminal

        Console().print(terminal(modules, archive))
    return 0


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
    resolutions = [(module, resolve(once_linked(module.manifest), capability, driver, linker)) for module in found]
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
    if len(found.manifest.relocatable) == len(found.manifest.images):
        chosen += ", to be linked: load(..., link=[...])"
    print(f"{found.manifest.name}: {chosen}")
    for rejection in resolution.rejected:
        print(f"  not {rejection.image}: {rejection.reason}")


def _coverage(options: argparse.Namespace) -> int:
    from cuda_wheel.cli.coverage_table import terminal, to_html, to_svg

    coverages = cover(found.manifest for found in find_modules(options.path))
    requirement = options.require or parse_requirement("")
    short = [(coverage, missing(coverage, requirement)) for coverage in coverages]
    for path, picture in ((options.svg, to_svg), (options.html, to_html)):
        if path is not None:
            path.write_text(picture(coverages), encoding="utf-8")
    if options.json:
        _print_json([to_json(coverage) | {"missing": _cells_json(keys)} for coverage, keys in short])
    else:
        Console().print(terminal(coverages))
        for coverage, keys in short:
            if keys:
                print(f"{', '.join(coverage.names)}: no image for {describe(keys)}")
                print("".join(f"  {line}\n" for line in advice(coverage, keys)), end="")
    return int(options.require is not None and any(keys for _, keys in short))


def _cells_json(keys: Sequence[tuple[Version, Version]]) -> list[dict[str, str]]:
    return [{"gpu": f"sm_{gpu[0]}{gpu[1]}", "driver": dotted(driver)} for gpu, driver in keys]


def _doctor(options: argparse.Namespace) -> int:
    from cuda_wheel.inspect.doctor import examine

    found = examine()
    if options.json:
        _print_json(found)
        return 0
    driver, toolchain, cache = found["driver"], found["toolchain"], found["cache"]
    print(f"Python     {found['python']['version']} in {found['python']['prefix']}")
    print(f"driver     {driver.get('error') or _driver_text(driver)}")
    for number, gpu in enumerate(found["gpus"]):
        print(f"GPU {number}      {gpu['name']}, compute capability {dotted(gpu['compute_capability'])}")
    versions = ", ".join(
        f"{name} {toolchain[name]}" for name in ("nvrtc", "nvjitlink", "nvfatbin") if name in toolchain
    )
    print(f"toolchain  {toolchain.get('error') or versions}")
    for part in toolchain["parts"]:
        print(f"           {part['name']}: {part['path'] or ''} ({part['found_via']})")
    for number, line in enumerate([cache["error"]] if "error" in cache else _cache_lines(cache)):
        print(f"{'' if number else 'cache':11}{line}")
    for module in found["modules"]:
        loads = ", ".join(f"{load['gpu']}: {load['image']}, {load['how']}" for load in module["loads"])
        name = f"{module.get('name', module['manifest'])} of {module['distribution']}"
        print(_shown(f"module     {name}: {module.get('error') or loads}"))
    return 0


def _driver_text(driver: dict[str, Any]) -> str:
    branch = f" (branch {driver['branch']})" if driver["branch"] else ""
    return f"for CUDA {dotted(driver['cuda'])}{branch}"


def _cache(options: argparse.Namespace) -> int:
    from cuda_wheel.builder.report.units import size_text
    from cuda_wheel.inspect.cache import examine

    cache = Cache()
    cache_limit()  # refuses what is no amount, before anything is removed
    removed = None if options.prune is None else cache.prune(options.prune)
    found = examine(cache)
    if removed is not None:
        found["removed"] = {"entries": removed[0], "bytes": removed[1]}
    if options.json:
        _print_json(found)
    else:
        if removed is not None:
            print(f"removed {_entries(found['removed'])}")
        print("\n".join(_cache_lines(found)))
    if removed is not None and found["bytes"] > options.prune:
        print(
            f"cuda-wheel: {found['folder']} still holds more than {size_text(options.prune)}: something in it cannot "
            "be removed, or another process puts more into it",
            file=sys.stderr,
        )
        return 1
    return 0


def _cache_lines(found: dict[str, Any]) -> list[str]:
    from cuda_wheel.builder.report.units import size_text

    lines = [f"{_holding(found)}; at most {size_text(found['limit'])}; chosen by {found['set_by']}"]
    second = found["read_only"]
    if second:
        told = f"{second['folder']}: {second['error']}" if "error" in second else _holding(second)
        lines.append(f"{told}; read only, chosen by CUDA_WHEEL_CACHE_READONLY")
    return lines


def _holding(found: dict[str, Any]) -> str:
    used = [f"{datetime.fromisoformat(found[key]).astimezone():%Y-%m-%d %H:%M}" for key in _USES if found[key]]
    return f"{found['folder']}: {_entries(found)}" + (f", used {' to '.join(dict.fromkeys(used))}" if used else "")


_USES = ("oldest_use", "newest_use")


def _entries(found: dict[str, Any]) -> str:
    from cuda_wheel.builder.report.units import size_text

    return f"{found['entries']} {'entry' if found['entries'] == 1 else 'entries'}, {size_text(found['bytes'])}"


def _verify(options: argparse.Namespace) -> int:
    from cuda_wheel.inspect.wheel import digests, installed_differences, read_sbom, record_differences, sbom_differences

    found = find_modules(options.path)
    wheel = Path(options.path) if options.path.lower().endswith(".whl") and os.path.isfile(options.path) else None
    if options.rebuild and wheel is None:
        options.refuse("--rebuild compares a wheel")
    if options.no_build_isolation and not options.rebuild:
        options.refuse("--no-build-isolation goes with --rebuild")
    modules = [(module.manifest.name, differences(module)) for module in found]
    parts = {}
    if wheel is not None:
        parts["RECORD"] = record_differences(wheel)
        sbom = read_sbom(wheel)
        parts |= {} if sbom is None else {"SBOM": sbom_differences(sbom, digests(wheel))}
    elif wrong := installed_differences(found):
        parts["RECORD"] = wrong
    if not options.json:
        for name, wrong in modules:
            print(_shown(f"{name}: {'; '.join(wrong) or 'as the manifest says'}"))
        for name, wrong in parts.items():
            print(_shown(f"{name}: {'; '.join(wrong) or 'the files are as it says'}"))
        sys.stdout.flush()  # a rebuild takes its time
    status = int(any(wrong for _, wrong in (*modules, *parts.items())))
    document: dict[str, Any] = {
        "modules": [{"name": name, "differences": wrong} for name, wrong in modules],
        **{name.lower(): {"differences": wrong} for name, wrong in parts.items()},
    }
    if wheel is not None and options.rebuild:
        from cuda_wheel.inspect.rebuild import rebuild

        compared = rebuild(wheel, options.rebuild, not options.no_build_isolation)
        document["rebuild"] = {"identical": compared.is_identical, **vars(compared)}
        status |= not compared.is_identical
        if not options.json:
            _print_rebuilt(compared)
    if options.json:
        _print_json(document)
    return status


def _print_rebuilt(compared: Comparison) -> None:
    for name, lines in compared.modules.items():
        print(f"{name}: " + ("rebuilt otherwise" if lines else "rebuilt to the same bytes"))
        print("".join(f"  {line}\n" for line in lines), end="")
    for name in compared.files:
        print(f"{name}: rebuilt otherwise")
    if compared.others:
        print(f"note: other files, which the build back end makes or copies, differ: {', '.join(compared.others)}")


def _cmake_dir(_: argparse.Namespace) -> int:
    print((Path(__file__).parents[1] / "cmake").as_posix())
    return 0


def _build(options: argparse.Namespace) -> int:
    from cuda_wheel.builder.config.pyproject import read_config
    from cuda_wheel.builder.project import build_files, preview_files
    from cuda_wheel.builder.report.progress import ProgressReporter
    from cuda_wheel.builder.scratch import scratch
    from cuda_wheel.builder.sources.layout import wheel_layout
    from cuda_wheel.builder.wheel.outputs import move

    if options.json and not options.dry_run:
        options.refuse("--json goes with --dry-run")
    if options.timings and options.dry_run:
        options.refuse("--timings goes with --output: a dry run takes no time to speak of")
    root = options.project.resolve()
    layout = wheel_layout(root)
    config = read_config(root, os.environ, layout.modules)
    if options.dry_run:
        _show(preview_files(root, config, layout.files), options.json)
        return 0
    with scratch() as folder:
        with ProgressReporter(print, lambda text: print(text, file=sys.stderr), options.timings) as reporter:
            outputs = build_files(root, config, layout.files, reporter, folder)
        move(outputs, folder, options.output)
    return 0


def _show(found: Preview, as_json: bool) -> None:
    from cuda_wheel.builder.report.units import counted, seconds_text

    if as_json:
        modules = [{"name": module.name, "tasks": [vars(task) for task in module.tasks]} for module in found.modules]
        _print_json({"toolchain": found.toolchain, "cores": found.cores, "seconds": found.seconds, "modules": modules})
        return
    for module in found.modules:
        print(module.name)
        for task in module.tasks:
            what = f"{'link' if task.what == 'link' else ', '.join(task.sources)} for {task.target}"
            what += "" if task.form == "whole" else f" ({task.form})"
            about = f"{'' if task.known else 'perhaps '}{seconds_text(task.seconds)}"
            # Whether a link is in the cache shows when all that it links is compiled.
            ways = {True: "from the cache", False: about, None: f"{about}, or from the cache"}
            print(f"  {what}: {ways[task.cached]}")
    cached = sum(task.cached is True for task in found.tasks)
    counts = f"{counted(len(found.tasks), 'job')}: {cached} from the cache, {len(found.tasks) - cached} to do"
    guessed = any(not (task.cached or task.known) for task in found.tasks)
    print(
        f"cuda-wheel: {counts}, about {seconds_text(found.seconds)} on {counted(found.cores, 'core')}"
        f"{', as far as one can guess' if guessed else ''}, {found.toolchain}"
    )
