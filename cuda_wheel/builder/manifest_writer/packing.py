"""The state of a module during a build, from compiled jobs to files.

It merges the results of jobs, checks them, bundles the images and writes the manifest. `joined` combines the variants
of a module into the files of the wheel.
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
    """The state of a module without variants, or of one variant, during a build: from its compiled jobs to its
    files."""

    plan: ModulePlan
    toolchain: Toolchain
    compress: str
    missing_jobs: int = 0
    """Number of the module's jobs that have no result yet."""
    link_seconds: float = 0.0
    """Expected total duration in seconds of the module's links that are not submitted yet; 0 once all are submitted, or
    if the module failed."""
    linked: dict[Link, Compiled] = field(default_factory=dict)
    """Link -> its result, for the links that are done. Empty again after `merge`, which merges the results."""
    is_ended: bool = False
    """Whether the results of the module's jobs and links are no longer needed, because they are merged or the module
    failed."""
    results: Mapping[str, Compiled] = field(default_factory=dict)
    """Architecture -> one result, merged from the results of all jobs and links for that architecture. It has no
    machine code, PTX or LTO-IR: these are in `images`."""
    images: Sequence[ImageContent] = ()
    """Images to bundle into a fatbin. Empty before `merge`, after `release`, and in a build that makes no fatbins."""
    warnings: Sequence[str] = ()
    """Warnings about the module, those of the compiler and those of cuda-wheel; empty until `examine` sets them."""
    kernels: tuple[KernelInfo, ...] = ()

    @property
    def name(self) -> str:
        """Name of the module and macros of the variant: "demo.update[MATH_TYPE=double]"."""
        return self.plan.module.full_name

    @property
    def bundle_request(self) -> BundleRequest:
        """Argument for `bundling.bundle`: the module's name, its images with their names, and the compression."""
        return self.name, tuple((each.content, each.source or self.name) for each in self.images), self.compress

    def merge(self, compiled: Mapping[Job, Compiled], with_images: bool) -> None:
        """Merge the results of the module's jobs, `compiled`, and of its links into one result for each architecture.

        The images to bundle are kept only if `with_images`.
        """
        results = merge_results(self.plan, compiled, self.linked)
        self.images = image_contents(self.plan, results, compiled) if with_images else ()
        self.results = {arch: replace(each, cubin=None, ptx=None, ltoir=None) for arch, each in results.items()}
        self.linked = {}

    def release(self) -> None:
        """Drop all results, images and kernels, when the module is built or has failed, to free their memory."""
        self.linked, self.results, self.images, self.kernels = {}, {}, (), ()

    def examine(self) -> None:
        """Set the module's warnings and kernels from the merged results.

        Raises CompileError if there are warnings and the setting `warnings-as-errors` is on, and the errors of
        `kernel_table`.
        """
        warnings = module_warnings(self.plan, self.results)
        refusal = warnings_as_errors(self.plan, warnings)
        if refusal is not None:
            raise CompileError(refusal)
        self.warnings = warnings
        self.kernels = kernel_table(self.plan, self.results)

    def with_fatbin(self, fatbin: Fatbin) -> BuiltModule:
        """Return the module's manifest and files, with `fatbin` as its fatbin; raises the errors of `built_module`."""
        return built_module(self.plan, self.results, self.images, fatbin, self.toolchain, self.kernels)


@phase("describing")
def pack_module(build: ModuleBuild) -> tuple[Sequence[str], BuiltModule | CompileError]:
    """Return a module's warnings, and its files or else its error; the module's results must be merged. Runs in workers
    only.

    Raises ConfigError as `examine` and `with_fatbin` do, and ToolchainError if nvFatbin fails.
    """
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
    """Return all warnings about a module, the compiler's and cuda-wheel's; `results` is architecture -> merged
    result."""
    real = {target.arch for target in module.targets if target.real}
    logs = {f"{'sm' if arch in real else 'compute'}_{arch}": result.log for arch, result in results.items()}
    return [
        *merge_by_target(logs),
        *absent_header_warnings(results),
        *left_out_warnings(results),
        *missing_kernel_warnings(module, results),
    ]


def warnings_as_errors(module: ModulePlan, warnings: Sequence[str]) -> str | None:
    """Return the error message for a module that has warnings and the setting `warnings-as-errors`; None if it lacks
    either."""
    if not module.module.settings.warnings_as_errors or not any(map(is_warning, warnings)):
        return None
    return "\n\n".join([f"{module.module.label} has warnings (warnings-as-errors):", *warnings])


def joined(built: Sequence[BuiltModule], carry: Callable[[tuple[str, ...]], bytes] | None = None) -> BuiltModule:
    """Return the files of a module for the wheel, from its variants in the order of the settings, or from a module
    without variants.

    The variants' fatbins follow each other in one file; `runtime.variants` describes how it is read. `carry` is a
    function of the paths of all headers that the compiler read; it returns the sources to put behind the fatbins. With
    None, the wheel has no sources.
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
