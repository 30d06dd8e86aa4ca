"""Compile proposed modules for one target, and say which kernels they have, or what would help."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from cuda_wheel.adoption.module_tables import ProposedModule, missing_folders
from cuda_wheel.builder.cxx.kernel_scan import kernels_in
from cuda_wheel.builder.cxx.parameter_types import defined_macros
from cuda_wheel.builder.describe.advice import gaps
from cuda_wheel.builder.describe.missing_kernels import plain_name, suggested_instances
from cuda_wheel.builder.errors import CompileError, ConfigError
from cuda_wheel.builder.project import build_module
from cuda_wheel.builder.report.reporter import SilentReporter
from cuda_wheel.runtime.manifest import MANIFEST_SUFFIX, KernelInfo
from cuda_wheel.runtime.variants.index import all_manifests

__all__ = ["ModuleTrial", "try_module"]


@dataclass
class ModuleTrial:
    """What compiling a proposed module gave."""

    module: ProposedModule
    """With the instances of templates that nothing launches, if they compile."""
    kernels: tuple[KernelInfo, ...] = ()
    warnings: list[str] = field(default_factory=list)
    error: str = ""
    """Why it does not compile, and what would help; empty if it does."""
    is_host_code: bool = False
    """Whether the sources have no kernel, so that they need no module."""


class _CollectedWarnings(SilentReporter):
    def __init__(self) -> None:
        self.texts: list[str] = []

    def warning(self, text: str) -> None:
        self.texts.append(text)


def try_module(root: Path, module: ProposedModule, architecture: str) -> ModuleTrial:
    """Compile a module for one architecture, as a build would.

    If it does not compile, it is compiled again with the folders of the project that its includes seem to need; if
    nothing launches a kernel template, with an instance of it. Raises ToolchainError.
    """
    trial = _compiled(root, module, architecture)
    table = module.table
    known = table.get("include-dirs", [])
    if trial.error and not _lacks_instances(trial) and (found := missing_folders(root, table["sources"], known)):
        trial = _compiled(root, ProposedModule(table | {"include-dirs": [*known, *found]}, module.notes), architecture)
    if _lacks_instances(trial) and not any("__global__" in text for text in _texts(root, module)):
        return ModuleTrial(module, is_host_code=True)
    if "instantiate" in table or (trial.error and not _lacks_instances(trial)):
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
        return ModuleTrial(module, warnings=reporter.texts, error=str(error))
    text = next(content for path, content in files.items() if path.endswith(MANIFEST_SUFFIX))
    manifests = all_manifests(text, module.name)
    one_target = gaps(manifests)  # this is for one, so it says nothing of the wheel
    warnings = [each for each in reporter.texts if each != one_target]
    return ModuleTrial(module, tuple(kernel for manifest in manifests for kernel in manifest.kernels), warnings)


def _unlaunched(root: Path, module: ProposedModule, kernels: Sequence[KernelInfo]) -> list[str]:
    """Return an instance for each kernel template of the sources of which the compiled module has none."""
    compiled = {plain_name(kernel.symbol) for kernel in kernels}
    found: dict[str, None] = {}
    defined = defined_macros(module.table.get("options", ())) | set(module.table.get("defines", ()))
    for text in _texts(root, module):
        missing = {each.name for each in kernels_in(text) if each.template} - compiled
        for instance in suggested_instances(text, defined) if missing else ():
            if instance.partition("<")[0].rpartition("::")[2] in missing:
                found[instance] = None
    return list(found)
