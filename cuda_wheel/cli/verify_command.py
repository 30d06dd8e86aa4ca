"""`cuda-wheel verify`: check every image against its manifest, and a wheel as a whole."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from cuda_wheel.builder.scratch import scratch
from cuda_wheel.builder.wheel.outputs import write
from cuda_wheel.cli.arguments import add_json_option, add_path_argument, argument_type, print_json, printable
from cuda_wheel.inspect.archive import file_digests
from cuda_wheel.inspect.companions import companion_differences
from cuda_wheel.inspect.installed_wheel import differences_from_wheel, find_installation, find_wheel
from cuda_wheel.inspect.manifest_checks import manifest_differences
from cuda_wheel.inspect.modules import FoundModule, find_modules, tuned_differences
from cuda_wheel.inspect.package_index import PYPI, download
from cuda_wheel.inspect.publisher import PublisherCheck, check_publisher, parse_publisher, require_library
from cuda_wheel.inspect.rebuild import Comparison, read_sbom, rebuild, sbom_differences
from cuda_wheel.inspect.wheel_checks import installed_differences, record_differences
from cuda_wheel.runtime.errors import ImageError

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    add_path_argument(parser)
    parser.add_argument(
        "--rebuild",
        type=Path,
        metavar="PROJECT",
        help="rebuild the wheel from a folder or an sdist, and compare: this runs the project's build back end",
    )
    parser.add_argument(
        "--no-build-isolation",
        action="store_true",
        help="with --rebuild: use the packages installed here instead of the versions that the wheel records",
    )
    parser.add_argument(
        "--allow",
        action="append",
        default=[],
        metavar="PATTERN",
        help="with --rebuild: files that the build back end writes and that may differ, such as demo/_version.py or "
        "dist-info/WHEEL; may be repeated",
    )
    parser.add_argument(
        "--publisher",
        type=argument_type(parse_publisher),
        metavar="WHO",
        help="check by attestations that the CI of this repository published the wheel, or the one that was installed: "
        "github:OWNER/REPOSITORY, github:OWNER/REPOSITORY/WORKFLOW.yml, gitlab:GROUP/PROJECT or "
        "gitlab:GROUP/PROJECT//.gitlab-ci.yml",
    )
    parser.add_argument(
        "--index",
        metavar="URL",
        help=f"with --publisher: the index that has the attestations, if none lie beside the wheel; default: {PYPI}",
    )
    parser.add_argument(
        "--offline",
        action="store_true",
        help="with --publisher: use no network; the attestation must lie beside the wheel",
    )
    add_json_option(parser)


def run(options: argparse.Namespace) -> int:
    """Show the differences. Return 1 if there are any, else 0."""
    modules = find_modules(*options.paths)
    wheels = _wheel_paths(options)
    wrong = companion_differences(modules)
    by_module = [(module.label, _module_differences(module, wrong.get(module.location))) for module in modules]
    by_list = _list_differences(modules, wheels)
    if not options.json:
        _print_differences(by_module, by_list, options.quiet)
    document: dict[str, Any] = {
        "modules": [{"name": name, "differences": lines} for name, lines in by_module],
        **{
            name.replace("RECORD", "record").replace("SBOM", "sbom"): {"differences": lines}
            for name, lines in by_list.items()
        },
    }
    passed = not any(lines for _, lines in (*by_module, *by_list.items()))
    if options.publisher:
        wheel = wheels[0] if wheels else None
        check, installed = _check_publisher(options, wheel, modules)
        document["publisher"] = {
            "name": str(check.publisher),
            "proven": check.is_proven,
            "attestations": [vars(each) for each in check.attestations],
            **({} if wheel else {"wheel": check.wheel, "differences": installed}),
        }
        passed = passed and check.is_proven and not installed
        if not options.json:
            _print_publisher(check, None if wheel else installed)
    if options.rebuild:
        (wheel,) = wheels
        finish = partial(_same_part, modules[0], wheel.name)
        comparison = rebuild(wheel, options.rebuild, not options.no_build_isolation, finish).allowing(options.allow)
        document["rebuild"] = {"identical": comparison.is_identical, **vars(comparison)}
        passed = passed and comparison.is_identical
        if not options.json:
            _print_comparison(comparison)
    if options.json:
        print_json(document)
    return int(not passed)


def _module_differences(module: FoundModule, wrong: str | None) -> list[str]:
    """Return where a module differs from its manifest and its table; `wrong`, if it is not None, says why it is in the
    wrong companion."""
    return [*manifest_differences(module), *tuned_differences(module), *([wrong] if wrong else [])]


def _same_part(module: FoundModule, file: str, whole: Path) -> Path:
    """Return the path of the wheel to compare with the wheel `file`, which has `module`: the rebuilt wheel `whole`, or
    the base or companion of the same name that is made of it. Raises ImageError if there is none."""
    if module.split is None:
        return whole
    from cuda_wheel.split.wheels import split_wheel  # start-up time of other verifications

    parts = split_wheel(whole)
    part = next((each for each in parts if each.file == file), None)
    if part is None:
        raise ImageError(f"the rebuild makes no wheel {file}, but {', '.join(each.file for each in parts)}.")
    write({file: part.content}, whole.parent / "split")
    return whole.parent / "split" / file


def _wheel_paths(options: argparse.Namespace) -> list[Path]:
    """Return the paths of the wheels among `options.paths`.

    Exit with a usage error if an option lacks what it needs: `--rebuild` and `--offline` need one wheel; `--publisher`
    needs one path; `--allow` and `--no-build-isolation` need `--rebuild`; `--index` and `--offline` need `--publisher`.
    """
    wheels = [Path(path) for path in options.paths if path.lower().endswith(".whl") and os.path.isfile(path)]
    if options.rebuild and (len(wheels) != 1 or len(options.paths) != 1):
        options.refuse("--rebuild needs a wheel, and one only")
    if options.publisher and len(options.paths) != 1:
        options.refuse("--publisher needs one wheel or one package")
    if options.publisher and options.offline and not wheels:
        options.refuse("--offline needs a wheel, which has its attestation beside it")
    for name in ("index", "offline"):
        if getattr(options, name) and not options.publisher:
            options.refuse(f"--{name} needs --publisher")
    if options.allow and not options.rebuild:
        options.refuse("--allow needs --rebuild")
    if options.no_build_isolation and not options.rebuild:
        options.refuse("--no-build-isolation needs --rebuild")
    return wheels


def _list_differences(modules: Sequence[FoundModule], wheels: Sequence[Path]) -> dict[str, list[str]]:
    """Compare files with their hashes in the lists "RECORD" and "SBOM". Return name of a list -> differences, one line
    each.

    For a wheel, a list without differences has an empty value. "SBOM" is missing if the wheel has no SBOM. With several
    wheels, the names are "RECORD of" and "SBOM of" a wheel. For installed modules (no wheels), only RECORD is compared,
    and the result is empty if nothing differs.
    """
    if not wheels:
        lines = installed_differences(modules)
        return {"RECORD": lines} if lines else {}
    differences = {}
    for wheel in wheels:
        of = f" of {wheel.name}" if len(wheels) > 1 else ""
        differences[f"RECORD{of}"] = record_differences(wheel)
        sbom = read_sbom(wheel)
        if sbom is not None:
            differences[f"SBOM{of}"] = sbom_differences(sbom, file_digests(wheel))
    return differences


def _print_differences(
    by_module: Sequence[tuple[str, list[str]]], by_list: Mapping[str, list[str]], quiet: bool
) -> None:
    """Print the differences and, unless `quiet`, what has none."""
    alike = ((by_module, "matches its manifest"), (by_list.items(), "matches the files"))
    for name, lines, good in ((name, lines, good) for each, good in alike for name, lines in each):
        if lines or not quiet:
            print(printable(f"{name}: {'; '.join(lines) or good}"))
    sys.stdout.flush()  # a rebuild may take minutes


def _check_publisher(
    options: argparse.Namespace, wheel: Path | None, modules: Sequence[FoundModule]
) -> tuple[PublisherCheck, list[str]]:
    """Return who published `wheel`. If it is None, return who published the wheel that installed `modules`, and where
    installed files differ from it, one line each."""
    index = options.index or PYPI
    if wheel is not None:
        return check_publisher(wheel, options.publisher, index, options.offline), []
    require_library()
    installation = find_installation(modules)
    with scratch() as folder:
        file = download(find_wheel(installation, index), folder)
        return check_publisher(file, options.publisher, index), differences_from_wheel(installation, file)


def _print_publisher(check: PublisherCheck, installed: Sequence[str] | None) -> None:
    """Print a line for each attestation that was found, or that there is none.

    `installed`: where installed files differ from their wheel; None if a wheel was checked.
    """
    if not check.attestations:
        print(printable(f"publisher: nothing proves that {check.publisher} published it: {check.searched}"))
    for each in check.attestations:
        if each.problem:
            print(printable(f"publisher: {each.source} does not prove {check.publisher}: {each.problem}"))
        else:
            kind = each.kind.removeprefix("https://").partition("/")[2] or each.kind
            place = " ".join(filter(None, (each.ref, each.commit)))
            print(printable(f"publisher: {each.publisher} attests it ({kind}) at {place}"))
    if installed is not None:
        print(printable(f"installed: {'; '.join(installed) or f'the files are those of {check.wheel}'}"))
    sys.stdout.flush()


def _print_comparison(comparison: Comparison) -> None:
    for name, lines in comparison.modules.items():
        print(f"{name}: " + ("the rebuild differs" if lines else "the rebuild is identical"))
        print("".join(f"  {line}\n" for line in lines), end="")
    for name in (*comparison.files, *comparison.others):
        print(printable(f"{name}: the rebuild differs"))
    if comparison.others:
        print("note: --allow PATTERN names files of the build back end that may differ")
    if comparison.allowed:
        print(printable(f"note: files that may differ do: {', '.join(comparison.allowed)}"))
