"""The state of a module on its way through a build.

Merge its results, check them, bundle its images, and write its manifest; put the variants of a module together into the
module that goes into the wheel.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256

from cuda_wheel.builder.errors import CompileError
from cuda_wheel.builder.jobs import BuiltModule, BundleRequest, Compiled, Fatbin, ImageContent, Job
from cuda_wheel.builder.manifest_reader import all_manifests
from cuda_wheel.builder.manifest_writer.kernel_table import kernel_table
from cuda_wheel.builder.manifest_writer.manifest import built_module, image_contents, merge_results
from cuda_wheel.builder.manifest_writer.missing_kernels import (
    absent_header_warnings,
    left_out_warnings,
    missing_kernel_warnings,
)
from cuda_wheel.builder.manifest_writer.text import manifest_text
from cuda_wheel.builder.messages.diagnostics import is_warning, merge_by_target
from cuda_wheel.builder.plan import Link, ModulePlan
from cuda_wheel.builder.timing import phase
from cuda_wheel.builder.toolchain.toolchain import Toolchain
from cuda_wheel.runtime.manifest import Carried, KernelInfo, Manifest
from cuda_wheel.runtime.parts.formats.fatbin import fatbin_of_text

__all__ = ["ModuleBuild", "joined", "pack_module"]


@dataclass
class ModuleBuild:
    """A module, or one of its variants, on its way through a build, from its compiled jobs to its files."""

    plan: ModulePlan
    toolchain: Toolchain
    compress: str
    missing_jobs: int = 0
    """Number of its jobs that have no result yet."""
    link_seconds: float = 0.0
    """Expected duration of its links in seconds, until the links are submitted; then 0."""
    linked: dict[Link, Compiled] = field(default_factory=dict)
    """Link -> its result."""
    is_ended: bool = False
    """Whether it has failed or its jobs and links are merged, so that it needs no more of their results."""
    results: Mapping[str, Compiled] = field(default_factory=dict)
    """Architecture -> merged result without images."""
    images: Sequence[ImageContent] = ()
    """Images for the fatbin; empty once they are in it."""
    warnings: Sequence[str] = ()
    """Warnings of the compiler and of cuda-wheel."""
    kernels: tuple[KernelInfo, ...] = ()

    @property
    def name(self) -> str:
        """Name of the module, with that of its variant."""
        return self.plan.module.full_name

    @property
    def bundle_request(self) -> BundleRequest:
        """What `bundle` makes the fatbin of."""
        return self.name, tuple((content, source or self.name) for _, source, content in self.images), self.compress

    def merge(self, compiled: Mapping[Job, Compiled], with_images: bool) -> None:
        """Merge the results of the jobs, `compiled`, and of the links. Without images there will be no fatbin."""
        results = merge_results(self.plan, compiled, self.linked)
        self.images = image_contents(self.plan, results, compiled) if with_images else ()
        self.results = {arch: replace(each, cubin=None, ptx=None, ltoir=None) for arch, each in results.items()}
        self.linked = {}

    def release(self) -> None:
        """Drop everything that only the module's files need: it is built, or it failed."""
        self.linked, self.results, self.images, self.kernels = {}, {}, (), ()

    def examine(self) -> None:
        """Set the warnings and the kernels; raises CompileError for what is wrong, ConfigError as `kernel_table`."""
        warnings = module_warnings(self.plan, self.results)
        refusal = warnings_as_errors(self.plan, warnings)
        if refusal is not None:
            raise CompileError(refusal)
        self.warnings = warnings
        self.kernels = kernel_table(self.plan, self.results)

    def with_fatbin(self, fatbin: Fatbin) -> BuiltModule:
        """Return the module's files; raises as `built_module`."""
        return built_module(self.plan, self.results, self.images, fatbin, self.toolchain, self.kernels)


@phase("describing")
def pack_module(build: ModuleBuild) -> tuple[Sequence[str], BuiltModule | CompileError]:
    """Return a module's warnings, and its files or what is wrong with it. Runs in workers only."""
    from cuda_wheel.builder.images.bundling import bundle  # start-up time: the build's own process bundles nothing

    try:
        build.examine()
    except CompileError as error:
        return build.warnings, error
    fatbin = bundle(build.bundle_request)
    try:
        return build.warnings, build.with_fatbin(fatbin)
    except CompileError as error:
        return build.warnings, error


def module_warnings(module: ModulePlan, results: Mapping[str, Compiled]) -> list[str]:
    """Return the warnings about a module, the compiler's and cuda-wheel's, from its merged results by architecture."""
    real = {target.arch for target in module.targets if target.real}
    logs = {f"{'sm' if arch in real else 'compute'}_{arch}": result.log for arch, result in results.items()}
    return [
        *merge_by_target(logs),
        *absent_header_warnings(results),
        *left_out_warnings(results),
        *missing_kernel_warnings(module, results),
    ]


def warnings_as_errors(module: ModulePlan, warnings: Sequence[str]) -> str | None:
    """Return the error for a module that has warnings and sets `warnings-as-errors`; else None."""
    if not module.module.settings.warnings_as_errors or not any(map(is_warning, warnings)):
        return None
    return "\n\n".join([f"{module.module.label} has warnings (warnings-as-errors):", *warnings])


def joined(built: Sequence[BuiltModule], carry: Callable[[tuple[str, ...]], bytes] | None = None) -> BuiltModule:
    """Return a module as it goes into the wheel, from its variants in their order, or from itself alone.

    The variants' fatbins follow each other in one file; `runtime.variants` says how it is read. `carry` returns the
    sources to put behind them, given the headers that the compiler read; None for none.
    """
    if not built[0].manifest.variant and carry is None:
        (only,) = built
        return only
    manifests: list[Manifest] = []
    for each in built:
        end = manifests[-1].fatbin_offset + manifests[-1].fatbin_size if manifests else 0
        manifests.append(each.manifest._replace(fatbin_offset=end))
    lists = [each.headers for each in built]
    headers = tuple(sorted({path for paths in lists for path in paths or ()}))
    fatbin = b"".join(each.fatbin for each in built)
    if carry is not None:
        carried = carry(headers)
        fatbin += fatbin_of_text(carried)
        place = Carried(len(fatbin) - len(carried), len(carried), sha256(carried).hexdigest())
        manifests = [each._replace(specialize=place) for each in manifests]
    text = manifest_text(*manifests).encode()
    all_manifests(text, f"the manifest of {manifests[0].name}")
    return BuiltModule(tuple(manifests), text, fatbin, None if None in lists else headers)
