"""Compile proposed modules for one target, and say which kernels they have, or what would help."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cuda_wheel.adoption.module_tables import ProposedModule
from cuda_wheel.builder.cxx.kernel_scan import kernels_in
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


class _CollectedWarnings(SilentReporter):
    def __init__(self) -> None:
        self.texts: list[str] = []

    def warning(self, text: str) -> None:
        self.texts.append(text)


def try_module(root: Path, module: ProposedModule, architecture: str) -> ModuleTrial:
    """Compile a module for one architecture, as a build would, with the instances of its templates if none is launched.

    Raises ToolchainError.
    """
    trial = _compiled(root, module, module.table, architecture)
    instances = [] if "instantiate" in module.table else _unlaunched(root, module, trial.kernels)
    if not instances or (trial.error and "has no kernel" not in trial.error):
        return trial
    table = module.table | {"instantiate": instances}
    second = _compiled(root, ProposedModule(table, module.notes), table, architecture)
    if second.error and not trial.error:
        trial.module.notes.append(f"no instance was found for templates that nothing launches: {', '.join(instances)}")
        return trial
    return second


def _compiled(root: Path, module: ProposedModule, table: Mapping[str, Any], architecture: str) -> ModuleTrial:
    reporter = _CollectedWarnings()
    try:
        files, _ = build_module(root, {**table, "architectures": [architecture]}, {}, reporter)
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
    for path in module.table["sources"]:
        text = (root / path).read_text(encoding="utf-8", errors="surrogateescape")
        missing = {each.name for each in kernels_in(text) if each.template} - compiled
        for instance in suggested_instances(text) if missing else ():
            if instance.partition("<")[0].rpartition("::")[2] in missing:
                found[instance] = None
    return list(found)
