"""Turn the log of a job's compiler into the text of an error or warning, with hints."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence

from cuda_wheel.builder.jobs import Job
from cuda_wheel.builder.messages.diagnostics import Diagnostic, Log, OriginalLines, no_original_lines, read_nvrtc_log
from cuda_wheel.builder.sources.header_search import missing_headers

__all__ = ["error_text", "lines_of", "missing_headers_error", "read_job_log"]

_NOT_SEARCHED = ("build", "dist", "node_modules", "site-packages", "__pycache__")
"""Names of folders that are not searched for the project's headers, because they contain only generated files and other
packages."""


def read_job_log(job: Job, log: str, original_lines: OriginalLines = no_original_lines) -> Log:
    """Return the diagnostics in the log of NVRTC, ptxas or nvJitLink for a job."""
    system_folders = [folder for folder in job.include_dirs if os.path.isabs(folder)]
    return read_nvrtc_log(log, job.source, job.root, system_folders, job.instantiate, original_lines)


def error_text(
    job: Job,
    log: str,
    is_reported: Callable[[Diagnostic], bool] = lambda diagnostic: True,
    notes: Sequence[str] = (),
) -> str:
    """Return the text of an error: the log's diagnostics for which `is_reported` is true, then `notes`, then hints."""
    # Start-up time: 9 ms, and most jobs have no errors.
    from cuda_wheel.builder.messages.hint_rules import Case
    from cuda_wheel.builder.messages.hints import hints

    read = read_job_log(job, log)
    read = read._replace(diagnostics=tuple(filter(is_reported, read.diagnostics)))
    standard = next((option[6:] for option in job.options if option.startswith("--std=")), "c++17")
    release = re.search(r"\.so\.(\d+)|nvrtc64_(\d\d)", job.library)
    case = Case(
        text=job.text.decode(errors="replace"),
        arch=job.arch,
        std=standard,
        searched=tuple(folder for folder in job.include_dirs if not os.path.isabs(folder)),
        find=lambda name: _files_named(name, job.root),
        cuda=int(release[1] or release[2]) if release else 12,
        macros=lambda name: _passed_macros(name, job.root),
        missing_headers=job.missing_headers,
    )
    return "\n".join(filter(None, [str(read), *notes, *hints(read.diagnostics, case)]))


def missing_headers_error(job: Job) -> str:
    """Return the compiler's error text for headers that a job's files include and that do not exist; "" if there are
    none.

    They are found without the compiler, which would read all headers before the missing one first.
    """
    found = missing_headers(job)
    if not found:
        return ""
    from cuda_wheel.builder.rewriting.project_texts import operator_headers  # start-up time: 9 ms; most lack none

    log = []
    for header in found:
        if header.name not in operator_headers():
            shown = (lines_of(header.file, job) or [""] * header.line)[header.line - 1].rstrip("\r")
            reason = f'catastrophic error: cannot open source file "{header.name}"'
            log.append(f"{header.file}({header.line}): {reason}\n  {shown}\n  {' ' * len(shown)}^\n")
    return error_text(job, "\n".join(log)) if log else ""


def lines_of(file: str, job: Job) -> list[str] | None:
    """Return the lines of the job's source or of another file of the project; None if it cannot be read."""
    if file == job.source:
        return job.text.decode(errors="replace").split("\n")
    return lines_of_file(os.path.join(job.root, file))


def lines_of_file(path: str) -> list[str] | None:
    """Return the lines of a file; None if it cannot be read."""
    try:
        with open(path, encoding="utf-8", errors="replace", newline="\n") as stream:
            return stream.read().split("\n")
    except OSError:
        return None


_BUILD_FILES = ("setup.py", "CMakeLists.txt", "pyproject.toml", "meson.build", "Makefile")


def _passed_macros(name: str, root: str) -> list[tuple[str, str]]:
    """Return (build script, value) for each compiler option in the project's build scripts that defines the macro
    `name`. For `-DNAME=1` in setup.py, this is ("setup.py", "1"). The value is "" if the option has none. `root` is the
    project's folder."""
    option = re.compile(rf"""-D\s*{name}(?:=\\?["']?([\w.+-]*))?(?![\w])|["']{name}["']\s*,\s*["']?([\w.+-]*)""")
    found = []
    for file in _BUILD_FILES:
        text = "\n".join(lines_of_file(os.path.join(root, file)) or ())
        found += [(file, match[1] or match[2] or "") for match in option.finditer(text)]
    return found


def _files_named(name: str, root: str) -> list[str]:
    """Return the project-relative paths of all files in the folder `root` whose file name is `name`. Hidden folders and
    `_NOT_SEARCHED` are skipped."""
    found = []
    for folder, subfolders, files in os.walk(root):
        subfolders[:] = sorted(each for each in subfolders if not each.startswith(".") and each not in _NOT_SEARCHED)
        if name in files:
            found.append(os.path.relpath(os.path.join(folder, name), root).replace(os.sep, "/"))
    return found
