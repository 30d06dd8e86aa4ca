"""`cuda-wheel import`: propose module tables for sources of other builds and kernels in strings, and compile them.

Propose the Python modules that replace C++ extensions, too.
"""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path

from cuda_wheel.builder.config.names import TABLE
from cuda_wheel.builder.errors import ToolchainError
from cuda_wheel.cli.arguments import printable
from cuda_wheel.cli.init_command import report_changes
from cuda_wheel.migrate.host_functions.functions import Failure
from cuda_wheel.migrate.host_modules import HostModule, with_imports
from cuda_wheel.migrate.import_sources import ImportProposal, project_root, propose_import, shared_settings
from cuda_wheel.migrate.init_project import ProjectChanges, cmake_call, init_project, read_project, unlisted_package
from cuda_wheel.migrate.module_tables import ModuleTrial
from cuda_wheel.migrate.pyproject_edit import FileChange, read_text, table_lines

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument(
        "files",
        type=Path,
        nargs="+",
        metavar="FILE",
        help="a .cu file, or a Python file: a setup.py with CUDAExtension, or a program with RawModule, RawKernel, "
        "SourceModule, load or load_inline. Python files are read, and not run",
    )
    parser.add_argument(
        "--project", type=Path, metavar="FOLDER", help="the project; default: the nearest pyproject.toml or setup.py"
    )
    parser.add_argument("--package", default="", help="which of several packages is to have the modules")
    parser.add_argument(
        "--architecture", default="80", help="what to compile for, to try the proposal: 80 (the default), 90a"
    )
    parser.add_argument(
        "--nvcc",
        default="",
        metavar="OPTIONS",
        help="the options that nvcc gets for the .cu files, in one string: --nvcc='-DRADIUS=2 --use_fast_math'; with "
        "-rdc=true, the files become one module",
    )
    parser.add_argument(
        "--write",
        action="store_true",
        help="write the tables of the modules that compile, the sources of strings, the Python modules in place of C++ "
        "extensions, the statements that import them, and what setup.py says of the project",
    )


def run(options: argparse.Namespace) -> int:
    """Compile the proposed modules, and print or write their tables. Return 1 if a module does not compile, else 0."""
    root = options.project.resolve() if options.project else project_root(options.files)
    found = propose_import(root, options.files, options.package, shlex.split(options.nvcc))
    trials = []
    for trial in found.try_modules(options.architecture):
        _print_trial(trial)
        trials.append(trial)
    trials = [trial for trial in trials if not trial.is_host_code]
    good = [trial for trial in trials if not trial.error]
    hosts = list(_translated(found)) if found.extensions else []
    written = None
    if good and options.write:
        written = _write(found, trials, hosts, options.package, options.quiet)
    elif good:
        _print_proposal(found, good)
        for line in unlisted_package(found.project, read_project(root)[0].content):
            print(printable(f"to do: {line}"))
    missing = [each.name for each in found.unreplaced(hosts)]
    by_hand = [*found.lines, *(() if written and written.has_moved_setup else found.removals)]
    by_hand += [f"{name}: nothing takes its place yet: {_NOT_TRANSLATED}" for name in missing]
    by_hand += [line for host in hosts for line in host.lines]
    by_hand += [str(each) for host in hosts if not written for each in host.imports]
    if by_hand:
        print("to do by hand:")
    for line in by_hand:
        print(printable(f"  {line}"))
    print(f"cuda-wheel: {len(good)} of {len(trials)} modules compile")
    if written and len(good) == len(trials) and not missing:
        print("then build it: pip wheel --no-deps -w dist .")
    return int(len(good) < len(trials))


_NOT_TRANSLATED = (
    "run this again once its host functions can be translated, or write them: docs/how-to/torch-functions.md"
)


def _print_trial(trial: ModuleTrial) -> None:
    module = trial.module
    print(printable(f"{module.name}: {', '.join(module.table['sources'])}"))
    for line in _kernel_lines(trial):
        print(printable(f"  {line}"))
    if trial.is_host_code:
        print("  has no kernel, and launches none: it needs no module")
    for line in (*module.notes, *(text for warning in trial.warnings for text in warning.splitlines())):
        print(printable(f"  note: {line}"))
    for line in trial.error.splitlines():
        print(printable(f"  {line}"))
    sys.stdout.flush()  # the next one may take a minute


_SHOWN = 3
"""Number of instances to list of one kernel template, if the template has many (more than `_SHOWN` + 1). All instances
of any other template are listed."""


def _kernel_lines(trial: ModuleTrial) -> Iterator[str]:
    """Yield a line for each kernel: "scale(float*, int)". A template with more than `_SHOWN` + 1 instances gives lines
    for its first `_SHOWN` instances, and a line with the number of the others: "scale<...>: 97 more instances"."""
    for template, instances in groupby(trial.kernels, lambda kernel: kernel.name.partition("<")[0]):
        kernels = list(instances)
        shown = kernels if len(kernels) <= _SHOWN + 1 else kernels[:_SHOWN]
        yield from (f"{kernel.name}({kernel.parameter_list})" for kernel in shown)
        if len(shown) < len(kernels):
            yield f"{template}<...>: {len(kernels) - len(shown)} more instances"


def _translated(found: ImportProposal) -> Iterator[HostModule]:
    """Translate the host functions of the extensions. Print each result, and yield it."""
    try:
        for host in found.translated():
            _print_host(host)
            yield host
    except ToolchainError as error:
        print(printable(f"note: host functions are not translated: {error}"))


_CPU_GUIDE = "docs/how-to/cpu-and-gpu.md"

_SHOWN_ERRORS = 5
"""Number of errors of libclang to show for one extension."""


def _print_host(host: HostModule) -> None:
    name = host.extension.name
    if host.functions is None:
        print(printable(f"{name}: its host functions are not translated: {host.error}"))
        return
    module, errors = host.functions.module, host.functions.errors
    for line in errors[:_SHOWN_ERRORS]:
        print(printable(f"note: {name}: libclang: {line}"))
    if len(errors) > _SHOWN_ERRORS:
        print(printable(f"note: {name}: libclang: {len(errors) - _SHOWN_ERRORS} more errors"))
    if not host.text:
        none = "libclang found no function for Python in what it could read of its sources"
        print(
            printable(
                f"{name}: {none if errors else 'its sources define no function for Python, so that it needs no module'}"
            )
        )
        return
    for_gpu = [each for each in module.functions if not each.is_for_cpu]
    whole = sum(not each.failures for each in for_gpu)
    launches = f"{len(module.translated_launches)} of {len(module.launches)} launches translated"
    print(printable(f"{name}  ->  {host.path}: {whole} of {len(for_gpu)} functions whole, {launches}"))
    names = [each.name for each in module.functions]
    labels = [each.name if names.count(each.name) == 1 else f"{each.name} ({each.path})" for each in module.functions]
    width = max(map(len, labels))
    for each, label in zip(module.functions, labels, strict=True):
        if each.is_for_cpu:
            state = f"is for the CPU, and can stay C++: {_CPU_GUIDE}"
        else:
            state = "unfinished:" if each.failures else "whole"
        print(printable(f"  {label:{width}}  {state}"))
        for line in () if each.is_for_cpu else _failure_lines(each.failures):
            print(printable(f"    {line}"))
        for line in each.cpu_functions:
            print(printable(f"    {line} is for tensors on the CPU, and can stay C++: {_CPU_GUIDE}"))
    for line in _failure_lines(module.others):
        print(printable(f"  {line}"))
    sys.stdout.flush()  # the next one may take a minute


def _failure_lines(failures: Sequence[Failure]) -> Iterator[str]:
    """Yield "path:line: reason" for the first place of each reason, with the number of its other places."""
    for reason in dict.fromkeys(each.reason for each in failures):
        first, *others = [each for each in failures if each.reason == reason]
        more = f" ({len(others)} more)" if others else ""
        yield f"{first.path}:{first.line}{more}: {reason}"


def _print_proposal(found: ImportProposal, good: Sequence[ModuleTrial]) -> None:
    tables = [trial.module.table for trial in good]
    print()
    if found.project.backend == "scikit_build_core.build":
        print(printable("".join(map(cmake_call, tables))))
        return
    shared, own = shared_settings(found.project, read_project(found.project.root)[0].content, tables)
    blocks = [[f"[{TABLE}]", *table_lines(shared)]] if shared else []
    blocks += [[f"[[{TABLE}.module]]", *table_lines(table)] for table in own]
    print(printable("\n\n".join("\n".join(block) for block in blocks)), end="\n\n")


def _write(
    found: ImportProposal, trials: Sequence[ModuleTrial], hosts: Sequence[HostModule], package: str, quiet: bool
) -> ProjectChanges:
    """Write what is proposed, and print it; if `quiet`, only what is left to do. Return what changed in the project's
    settings."""
    root = found.project.root
    tables = [trial.module.table for trial in trials if not trial.error]
    shared, own = shared_settings(found.project, read_project(root)[0].content, tables)
    done = init_project(root, package or found.project.package, own, shared, found.imported(trials, hosts))
    wanted = {path for table in tables for path in table["sources"]} & found.files.keys()
    texts = {path: found.files[path] for path in sorted(wanted) if not (root / path).exists()}
    for host in filter(lambda host: host.text, hosts):
        before = read_text(root / host.path)
        if before is None:
            texts[host.path] = host.text
        elif before == host.text:
            done.kept.append(f"{host.path}: exists")
        else:
            done.kept.append(f"{host.path}: exists, and is not what would be written; without it, it is written again")
    files = [FileChange(root / path, None, text) for path, text in texts.items()]
    others = [each for each in done.changes if each.path not in {file.path for file in files}]  # an empty __init__.py
    imports = [each for host in hosts for each in host.imports]
    done.reasons += [f"changed {each}" for each in imports]
    report_changes(done, [*others, *files, *with_imports(root, imports)], False, quiet)
    return done
