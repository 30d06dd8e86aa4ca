"""Compile proposed modules for one target, and say which kernels they have, or what would help."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from cuda_wheel.adoption.module_tables import ProposedModule, Table, missing_folders
from cuda_wheel.builder.config.compiler_options import read_options
from cuda_wheel.builder.config.macro_options import defined_macros
from cuda_wheel.builder.cxx.kernel_scan import kernels_in
from cuda_wheel.builder.describe.advice import gaps
from cuda_wheel.builder.describe.missing_kernels import plain_name, suggested_instances
from cuda_wheel.builder.errors import CompileError, ConfigError
from cuda_wheel.builder.messages.hint_rules import header_pattern
from cuda_wheel.builder.project import build_module
from cuda_wheel.builder.report.reporter import SilentReporter
from cuda_wheel.builder.sources.missing_headers import MISSING_HEADER
from cuda_wheel.builder.sources.paths import is_installed_toolkit
from cuda_wheel.runtime.manifest import MANIFEST_SUFFIX, KernelInfo
from cuda_wheel.runtime.variants.index import all_manifests

__all__ = ["ModuleTrial", "library_folder", "try_module"]


@dataclass
class ModuleTrial:
    """What compiling a proposed module gave."""

    module: ProposedModule
    """With the instances of templates that nothing launches, if they compile."""
    kernels: tuple[KernelInfo, ...] = ()
    warnings: list[str] = field(default_factory=list)
    error: str = ""
    """Why it does not compile, and what would help; empty if it does."""
    unnamed_instances: tuple[str, ...] = ()
    """Those of the CompileError."""
    is_host_code: bool = False
    """Whether the sources have no kernel, so that they need no module."""
    includes_pytorch: bool = False
    """Whether it includes headers of the installed PyTorch."""


class _CollectedWarnings(SilentReporter):
    def __init__(self) -> None:
        self.texts: list[str] = []

    def warning(self, text: str) -> None:
        self.texts.append(text)


def try_module(root: Path, module: ProposedModule, architecture: str) -> ModuleTrial:
    """Compile a module for one architecture, as a build would.

    If it does not compile, settings are tried that may help; see `_next_table`. If nothing launches a kernel template,
    it is compiled with an instance of it. Raises ToolchainError.
    """
    trial = _with_settings(root, _compiled(root, module, architecture), architecture)
    if _lacks_instances(trial) and not any("__global__" in text for text in _texts(root, module)):
        return ModuleTrial(module, is_host_code=True)
    if "instantiate" in trial.module.table or (trial.error and not _lacks_instances(trial)):
        return trial
    instances = _unlaunched(root, module, trial.kernels)
    if not instances:
        return trial
    second = _compiled(
        root, ProposedModule(trial.module.table | {"instantiate": instances}, module.notes), architecture
    )
    if second.error and not trial.error:
        module.notes.append(
            f"nothing launches these templates, and no instance of them compiles: {', '.join(instances)}"
        )
        return trial
    return second


# --- settings that help -------------------------------------------------------------------------------

_ATTEMPTS = 30
"""The most compilations to find settings with which a module compiles."""


def _with_settings(root: Path, trial: ModuleTrial, architecture: str) -> ModuleTrial:
    """Return the trial of a module with the settings that it needs to compile.

    If none help, that with the include folders of the project alone, whose error is about the sources as they are.
    """
    last = trial
    for _ in range(_ATTEMPTS):
        table = last.error and not _lacks_instances(last) and _next_table(root, last)
        if not table:
            break
        last = _compiled(root, ProposedModule(table, trial.module.notes), architecture)
        if table.keys() - {"include-dirs"} == trial.module.table.keys() - {"include-dirs"}:
            trial = last
    return trial if last.error and not _lacks_instances(last) else last


def _next_table(root: Path, trial: ModuleTrial) -> Table | None:
    """Return a module's table with one more setting that may help against a trial's error; None without an idea.

    For a header that is not found: folders of the project that have it, the folder of a library outside, and as the
    last, `missing-headers`. For other errors: leave out what only host code needs, with the instances that it launches.
    """
    table = trial.module.table
    known = table.get("include-dirs", [])
    names = list(dict.fromkeys(MISSING_HEADER.findall(trial.error)))
    if names:
        if found := missing_folders(root, table["sources"], known):
            return {**table, "include-dirs": [*known, *found]}
        if folders := [folder for folder in map(partial(library_folder, root), names) if folder]:
            listed = table.get("system-include-dirs", [])
            new = [folder for folder in dict.fromkeys(folders) if folder not in listed]
            return {**table, "system-include-dirs": [*listed, *new]} if new else None
        if any(name.endswith(_DEVICE_CODE) for name in names):
            return None
        listed = table.get("missing-headers", [])
        new = [pattern for pattern in dict.fromkeys(map(header_pattern, names)) if pattern not in listed]
        return {**table, "missing-headers": [*listed, *new]} if new else None
    if "host-code" not in table:
        return {**table, "host-code": "leave-out"}
    given = table.get("instantiate", [])
    launched = [name for name in trial.unnamed_instances if name not in given]
    return {**table, "instantiate": [*given, *launched]} if launched else None


_DEVICE_CODE = (".cuh", ".cu", ".inl", ".inc")
"""How headers are called that probably have device code, and are never empty."""

_PLACES = ("include", "", "include/eigen3", "include/opencv4")
"""Where below a library's folder its headers are."""

_WELL_KNOWN = ("/usr/include/eigen3", "/usr/include/opencv4", "/usr/local/include")


def library_folder(root: Path, name: str, environ: Mapping[str, str] = os.environ) -> str | None:
    """Return the folder outside a project that has a header, as `system-include-dirs` names it: below the folder that
    an environment variable names, or a well-known one."""
    own = os.path.realpath(root)
    top = re.sub(r"[^a-z]", "", name.partition("/")[0].partition(".")[0].lower())
    # First the variable that has the library's name.
    for variable in sorted(environ, key=lambda each: (top not in each.lower(), each)):
        value = environ[variable]
        if variable in ("PWD", "OLDPWD", "HOME", "TMPDIR") or not os.path.isabs(value) or os.pathsep in value:
            continue
        for place in _PLACES:
            folder = os.path.normpath(os.path.join(value, place))
            inside = os.path.isfile(os.path.join(folder, name)) and not own.startswith(os.path.realpath(folder))
            if inside and not is_installed_toolkit(root, folder):
                return f"${variable}/{place}".rstrip("/")
    return next((folder for folder in _WELL_KNOWN if os.path.isfile(os.path.join(folder, name))), None)


def _texts(root: Path, module: ProposedModule) -> list[str]:
    paths = (root / path for path in module.table["sources"])
    return [path.read_text(encoding="utf-8", errors="surrogateescape") for path in paths]


def _lacks_instances(trial: ModuleTrial) -> bool:
    return "has no kernel" in trial.error


def _compiled(root: Path, module: ProposedModule, architecture: str) -> ModuleTrial:
    reporter = _CollectedWarnings()
    try:
        files, _ = build_module(root, {**module.table, "architectures": [architecture]}, {}, reporter)
    except (CompileError, ConfigError) as error:
        unnamed = error.unnamed_instances if isinstance(error, CompileError) else ()
        return ModuleTrial(module, warnings=reporter.texts, error=str(error), unnamed_instances=unnamed)
    text = next(content for path, content in files.items() if path.endswith(MANIFEST_SUFFIX))
    manifests = all_manifests(text, module.name)
    one_target = gaps(manifests)  # this is for one, so it says nothing of the wheel
    warnings = [each for each in reporter.texts if each != one_target]
    return ModuleTrial(
        module,
        tuple(kernel for manifest in manifests for kernel in manifest.kernels),
        warnings,
        includes_pytorch=any("pytorch" in manifest.toolchain for manifest in manifests),
    )


def _unlaunched(root: Path, module: ProposedModule, kernels: Sequence[KernelInfo]) -> list[str]:
    """Return an instance for each kernel template of the sources of which the compiled module has none."""
    compiled = {plain_name(kernel.symbol) for kernel in kernels}
    found: dict[str, None] = {}
    options = read_options(module.table.get("options", ()), "options").arguments
    defined = defined_macros(options) | set(module.table.get("defines", ()))
    for text in _texts(root, module):
        missing = {each.name for each in kernels_in(text) if each.template} - compiled
        for instance in suggested_instances(text, defined) if missing else ():
            if instance.partition("<")[0].rpartition("::")[2] in missing:
                found[instance] = None
    return list(found)
