"""Write the files by which clangd, and so an editor, reads a project's CUDA sources as the build does.

clangd reads a source as device code of one architecture, in which host code is checked too. It has CUDA support of its
own, which takes its headers from a CUDA toolkit; here, they come from the toolchain's packages. What clang's headers
need beside these is in the folder `CLANGD`.
"""

from __future__ import annotations

import json
import re
import sysconfig
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from cuda_wheel.builder.config.compiler_options import macro_options
from cuda_wheel.builder.config.settings import Config
from cuda_wheel.builder.errors import ConfigError
from cuda_wheel.builder.jobs import Job
from cuda_wheel.builder.plan import Plan, make_plan
from cuda_wheel.builder.sources.header_dependencies import option_folders, pre_includes, reachable
from cuda_wheel.builder.sources.modules import SourceModule, variants_of
from cuda_wheel.builder.sources.paths import is_inside
from cuda_wheel.builder.toolchain.toolchain import INCLUDE, STAND_INS, Toolchain
from cuda_wheel.migrate.pyproject_edit import FileChange, read_text, relative_path

__all__ = [
    "DATABASE",
    "FIRST_CLANGD",
    "SETTINGS",
    "EditorCommand",
    "database_change",
    "editor_commands",
    "settings_change",
]


CLANGD = INCLUDE.parent / "clangd"
"""Folder of the headers that only clangd reads."""

PRELUDE = CLANGD / "cuda_wheel_clangd.h"
"""Header that is included before each source."""

SETTINGS = ".clangd"
"""Name of clangd's file of settings, in the project's folder."""

DATABASE = "compile_commands.json"
"""Name of clangd's compilation database, in the project's folder."""

FIRST_CLANGD = 22
"""Major version of the first clangd that reads the headers of CUDA 12.9 and CUDA 13 without errors."""

MADE_BY = "# Made by `cuda-wheel ide`, which replaces it. The paths are those of this machine."
"""First line of each `.clangd` that cuda-wheel writes."""

_NEWEST = 90
"""Newest architecture, as a number, that is chosen where the project compiles for older ones too: clangd may not know
each architecture that the toolchain knows."""

_COMPILER = "clang++"


class EditorCommand(NamedTuple):
    """How clangd reads one file."""

    path: str
    """Path of the file relative to the project."""
    arguments: tuple[str, ...]
    """Arguments of clang, without the compiler and the file."""


def editor_commands(
    root: Path, config: Config, modules: Sequence[SourceModule], toolchain: Toolchain, architecture: str | None = None
) -> list[EditorCommand]:
    """Return how clangd reads each CUDA C++ source of these modules, and each header of the project that they may
    include, sorted by path.

    A file that several modules or variants contain is read as in the first. A header is read as the first source that
    may include it. `architecture` is one such as "90a"; None chooses one of each module's. Raises ConfigError.
    """
    first = [variants_of(module)[0] for module in modules]
    plan = make_plan(config, first, root, toolchain, lambda: [(_NEWEST // 10, _NEWEST % 10)])
    sources: dict[str, EditorCommand] = {}
    headers: dict[str, EditorCommand] = {}
    for job in _jobs(plan):
        if job.source in sources:
            continue
        arguments = _arguments(root, job, architecture or job.arch, toolchain)
        sources[job.source] = EditorCommand(job.source, arguments)
        for path in _headers(root, job, _folders(root, job, toolchain)[0]):
            headers.setdefault(path, EditorCommand(path, arguments))
    return sorted({**headers, **sources}.values())


def _jobs(plan: Plan) -> Iterator[Job]:
    """Yield one job for each CUDA C++ source of each module: that of the newest architecture up to `_NEWEST`; of the
    oldest one if all are newer."""
    for module in plan.modules:
        by_source: dict[str, list[Job]] = {}
        for job in module.jobs:
            if job.kind == "cuda":
                by_source.setdefault(job.source, []).append(job)
        for jobs in by_source.values():
            jobs.sort(key=lambda job: (int(job.arch.rstrip("af")), job.arch))
            known = [job for job in jobs if int(job.arch.rstrip("af")) <= _NEWEST]
            yield known[-1] if known else jobs[0]


def _headers(root: Path, job: Job, folders: Sequence[str]) -> Iterator[str]:
    """Yield the path, relative to the project, of each of the project's headers that a job's source may include.

    `folders`: the project's include folders of the source.
    """
    for header in reachable(root, job.source, folders).headers:
        if is_inside(header.path, root):
            yield relative_path(header.path, root)


def _arguments(root: Path, job: Job, architecture: str, toolchain: Toolchain) -> tuple[str, ...]:
    """Return clang's arguments for a job's source.

    `-nocudainc` and `--cuda-path` keep clang from the headers of a CUDA toolkit that may be installed: they may be of
    another release.
    """
    standard = next(option for option in job.options if option.startswith("--std="))
    macros = [f"{'-D' if option.is_definition else '-U'}{option.text}" for option in macro_options(job.options)]
    own, installed = _folders(root, job, toolchain)
    return (
        "-xcuda",
        "--cuda-device-only",
        f"--cuda-gpu-arch=sm_{architecture}",
        f"--cuda-path={CLANGD}",
        "-nocudainc",
        "-nocudalib",
        standard[1:],
        *macros,
        *_with("-include", [str(PRELUDE), *pre_includes(job.options)]),
        *(f"-I{folder}" for folder in own),
        *_with("-isystem", installed),
        *_with("-idirafter", [*_stand_ins(toolchain), str(CLANGD)]),
    )


def _with(option: str, values: Iterable[str]) -> list[str]:
    return [part for value in values for part in (option, value)]


def _folders(root: Path, job: Job, toolchain: Toolchain) -> tuple[list[str], list[str]]:
    """Return the absolute include folders of a job's source: the project's, and those of libraries, in search order.

    cuda-wheel's own C and C++ standard headers are for NVRTC alone: clang reads those of the host's compiler.
    """
    ours = {str(INCLUDE), *STAND_INS}
    libraries = {*toolchain.include_dirs, *job.system_dirs}
    folders = dict.fromkeys(folder for folder in job.include_dirs if folder not in ours)
    own = [str(root / each) for each in (*folders, *option_folders(job.options)) if each not in libraries]
    installed = [each for each in folders if each in libraries]
    torch = _torch(toolchain)
    if torch is not None:
        installed += [str(Path(torch, "torch/csrc/api/include")), *_python_headers()]
    return own, installed


def _torch(toolchain: Toolchain) -> str | None:
    """Return the include folder of the installed PyTorch if clang can read its headers, else None.

    They include Python.h, which not every Python has. Without both, clang reads the stand-ins for PyTorch's headers.
    """
    torch = next((group.folder for group in toolchain.headers if group.name == "pytorch"), None)
    return torch if _python_headers() else None


def _python_headers() -> list[str]:
    folder = sysconfig.get_paths()["include"]
    return [folder] if Path(folder, "Python.h").is_file() else []


def _stand_ins(toolchain: Toolchain) -> list[str]:
    """Return the folders of stand-in headers, which are searched last: what is installed comes first."""
    pytorch = INCLUDE.parent / "pytorch"
    return [each for each in STAND_INS if each != str(pytorch) or _torch(toolchain) is None]


# --- the files ------------------------------------------------------------------------------------------


def settings_change(root: Path, commands: Sequence[EditorCommand]) -> FileChange:
    """Return the change that writes these commands as the project's `.clangd`.

    Raises ConfigError if there is one that cuda-wheel did not write.
    """
    path = root / SETTINGS
    before = read_text(path)
    if before is not None and not before.startswith(MADE_BY):
        raise ConfigError(
            f"{path} is not a file of cuda-wheel's: move its settings to clangd's settings of the user, and remove it; "
            f"or write {DATABASE} in its place, with --compile-commands."
        )
    by_arguments: dict[tuple[str, ...], list[str]] = {}
    for command in commands:
        by_arguments.setdefault(command.arguments, []).append(command.path)
    fragments = [_fragment(paths, arguments) for arguments, paths in by_arguments.items()]
    return FileChange(path, before, f"{MADE_BY}\n" + "---\n".join(fragments))


def _fragment(paths: Sequence[str], arguments: Sequence[str]) -> str:
    """Return a fragment of a `.clangd` file, which says how clangd reads these files. A JSON string is one of YAML.

    A command of a compilation database would be for another compiler, such as nvcc: clangd shall not read it.
    """
    lines = ["If:", "  PathMatch:", *(f"    - {json.dumps(re.escape(path))}" for path in paths)]
    lines += ["CompileFlags:", "  CompilationDatabase: None", f"  Compiler: {_COMPILER}", "  Add:"]
    lines += [f"    - {json.dumps(argument)}" for argument in arguments]
    return "".join(f"{line}\n" for line in lines)


def database_change(root: Path, commands: Sequence[EditorCommand]) -> FileChange:
    """Return the change that writes these commands to the project's `compile_commands.json`.

    Raises ConfigError if there is one with commands that cuda-wheel did not write, such as CMake's.
    """
    path = root / DATABASE
    before = read_text(path)
    if before is not None and not _is_ours(before):
        raise ConfigError(
            f"{path} has commands that are not cuda-wheel's: remove it, or write {SETTINGS} in its place, without "
            "--compile-commands."
        )
    entries = [
        {"directory": str(root), "file": path, "arguments": [_COMPILER, *arguments, path]}
        for path, arguments in commands
    ]
    return FileChange(path, before, json.dumps(entries, indent=1) + "\n")


def _is_ours(text: str) -> bool:
    try:
        entries = json.loads(text)
    except ValueError:
        return False
    return isinstance(entries, list) and all(
        isinstance(entry, Mapping)
        and any(Path(str(each)).name == PRELUDE.name for each in entry.get("arguments") or ())
        for entry in entries
    )
