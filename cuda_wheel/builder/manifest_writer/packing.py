"""Put the variants of a module together into the module that goes into the wheel.

Check a module whose images are complete, bundle the images, and write its manifest.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import NamedTuple

from cuda_wheel.builder.errors import CompileError
from cuda_wheel.builder.images.bundling import bundle
from cuda_wheel.builder.jobs import BuiltModule, Bundle, Bundled, Compiled, FinishedModule, ImageContent
from cuda_wheel.builder.manifest_writer.kernel_table import kernel_table
from cuda_wheel.builder.manifest_writer.manifest import built_module
from cuda_wheel.builder.manifest_writer.missing_kernels import (
    absent_header_warnings,
    left_out_warnings,
    missing_kernel_warnings,
)
from cuda_wheel.builder.manifest_writer.text import manifest_text
from cuda_wheel.builder.messages.diagnostics import is_warning, merge_by_target
from cuda_wheel.builder.plan import ModulePlan
from cuda_wheel.builder.timing import phase
from cuda_wheel.builder.toolchain.toolchain import Toolchain
from cuda_wheel.runtime.manifest import Carried, KernelInfo, Manifest, all_manifests
from cuda_wheel.runtime.parts.formats.fatbin import fatbin_of_text

__all__ = ["CompleteModule", "Examined", "PackedModule", "examine", "finished_module", "pack_module"]


@dataclass(frozen=True)
class CompleteModule:
    """A module that is compiled and linked."""

    module: ModulePlan
    results: Mapping[str, Compiled]
    """The merged results by architecture, which need no images."""
    contents: Sequence[ImageContent]
    """The images."""
    compress: str
    toolchain: Toolchain

    def without_images_twice(self) -> CompleteModule:
        """Return the same with each image in `contents` only, to send it to a worker."""
        results = {arch: replace(each, cubin=None, ptx=None, ltoir=None) for arch, each in self.results.items()}
        return replace(self, results=results)

    @property
    def bundle(self) -> Bundle:
        """What to bundle."""
        name = self.module.module.full_name
        return Bundle(name, tuple((content, source or name) for _, source, content in self.contents), self.compress)

    def built(self, bundled: Bundled, kernels: tuple[KernelInfo, ...]) -> BuiltModule:
        """Return the built module; raises as `built_module`."""
        return built_module(self.module, self.results, self.contents, bundled, self.toolchain, kernels)


class Examined(NamedTuple):
    """What is wrong with a module, if anything, and its kernels."""

    warnings: Sequence[str]
    kernels: tuple[KernelInfo, ...]
    error: CompileError | None


class PackedModule(NamedTuple):
    """What `pack_module` returns; no built module if `examined` has an error."""

    examined: Examined
    built: BuiltModule | None


def examine(module: ModulePlan, results: Mapping[str, Compiled]) -> Examined:
    """Return the warnings, the kernels and the error of a module, from its merged results by architecture.

    Raises ConfigError as `kernel_table`.
    """
    warnings = module_warnings(module, results)
    refusal = warnings_as_errors(module, warnings)
    if refusal is not None:
        return Examined((), (), CompileError(refusal))
    try:
        return Examined(warnings, kernel_table(module, results), None)
    except CompileError as error:
        return Examined(warnings, (), error)


@phase("describing")
def pack_module(complete: CompleteModule) -> PackedModule:
    """Return a module's manifest and fatbin, or what is wrong with it. Runs in workers only."""
    examined = examine(complete.module, complete.results)
    if examined.error is not None:
        return PackedModule(examined, None)
    bundled = bundle(complete.bundle)
    try:
        built = complete.built(bundled, examined.kernels)
    except CompileError as error:
        return PackedModule(examined._replace(error=error), None)
    return PackedModule(examined, built)


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


def finished_module(
    built: Sequence[BuiltModule], carry: Callable[[tuple[str, ...]], bytes] | None = None
) -> FinishedModule:
    """Return a module as it goes into the wheel, from its variants in their order, or from itself alone.

    The variants' fatbins follow each other in one file; `runtime.variants` says how it is read. `carry` returns the
    sources to put behind them, given the headers that the compiler read; None for none.
    """
    if not built[0].manifest.variant and carry is None:
        (only,) = built
        return FinishedModule((only.manifest,), only.text, only.fatbin, only.headers)
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
    return FinishedModule(tuple(manifests), text, fatbin, None if None in lists else headers)
