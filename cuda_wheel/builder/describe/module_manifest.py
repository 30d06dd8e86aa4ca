"""Write the manifest of a built module."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from pathlib import Path

from cuda_wheel.builder.cxx.known_types import LONG_SIZE
from cuda_wheel.builder.describe.extern_table import extern_table
from cuda_wheel.builder.describe.kernel_table import variable_table
from cuda_wheel.builder.describe.merge import all_headers
from cuda_wheel.builder.describe.missing_kernels import absent_headers, left_out_code
from cuda_wheel.builder.jobs import BuiltModule, Bundled, Compiled, ImageContent
from cuda_wheel.builder.plan import ModulePlan
from cuda_wheel.builder.releases import first_reading
from cuda_wheel.builder.toolchain.records import Toolchain
from cuda_wheel.builder.toolchain.taken_files import header_versions
from cuda_wheel.runtime.formats import ptx
from cuda_wheel.runtime.manifest import Carried, Image, KernelInfo, Manifest, Target, Version, parse_version
from cuda_wheel.runtime.rules import ZSTD_DRIVER
from cuda_wheel.runtime.variants.index import all_manifests

__all__ = ["built_module"]


def built_module(
    module: ModulePlan,
    results: Mapping[str, Compiled],
    contents: Sequence[ImageContent],
    bundled: Bundled,
    toolchain: Toolchain,
    kernels: tuple[KernelInfo, ...],
) -> BuiltModule:
    """Return a built module with its manifest, from its merged results by architecture, its images and its fatbin.

    `kernels` are those of `kernel_table`. Raises CompileError if the externs of two images differ.
    """
    cuda = parse_version(toolchain.nvrtc)
    images = [
        _image(content, offset, results[content[0].arch], cuda)
        for content, offset in zip(contents, bundled.offsets, strict=True)
    ]
    if bundled.compression == "zstd":
        images = [image._replace(driver=max(image.driver, ZSTD_DRIVER)) for image in images]
    name, headers = module.module.name, all_headers(results.values())
    manifest = Manifest(
        name=name,
        fatbin=name.rpartition(".")[2] + ".fatbin",
        fatbin_size=len(bundled.fatbin),
        fatbin_sha256=sha256(bundled.fatbin).hexdigest(),
        toolchain=_compilers(module, toolchain)
        | header_versions(toolchain, headers)
        | _system_headers(module, headers or ()),
        sources=module.module.paths,
        options=module.options,
        images=tuple(images),
        kernels=kernels,
        globals=variable_table(results),
        extern=extern_table(module, contents),
        long_size=_long_size(module),
        compression=bundled.compression,
        variant=module.module.variant,
        # Whoever loads it from a source tree has the sources; `finished_module` puts them into a wheel.
        specialize=Carried(0, 0, sha256().hexdigest()) if module.module.settings.specialize else None,
        host_code=tuple(dict.fromkeys(map(str, (*absent_headers(results), *left_out_code(results))))),
    )
    text = manifest.to_json().encode()
    all_manifests(text, f"the manifest of {name}")  # a wheel must not contain a manifest that no loader reads
    merged = results.values()
    uses_build_time = any(result.uses_build_time for result in merged)
    return BuiltModule(manifest, text, bundled.fatbin, headers, uses_build_time)


def _image(image: ImageContent, offset: int | None, result: Compiled, cuda: Version) -> Image:
    target, source, (kind, _, content) = image
    version = ptx.version(content.decode()) if kind == "ptx" else None
    return Image(
        kind=kind,
        target=target,
        ptx_version=version,
        ptx_version_compiled=version and (result.ptx_version_compiled or version),
        # Machine code from any release of a CUDA major version runs on any driver of that major version or a later
        # one. Source: CUDA Compatibility, "Minor Version Compatibility".
        driver=(cuda[0], 0) if version is None else first_reading(version, cuda),
        offset=offset,
        size=len(content),
        sha256=sha256(content).hexdigest(),
        resources=_resources(result, target),
        source=source,
    )


def _system_headers(module: ModulePlan, headers: Iterable[str]) -> dict[str, str]:
    """Return what identifies the headers of libraries outside the project, by their content and names: "sha256:...".

    Where they are is not recorded, which differs from machine to machine.
    """
    inside = {
        f"{path[len(folder) + 1 :].replace(os.sep, '/')} {sha256(Path(path).read_bytes()).hexdigest()}"
        for folder in module.system_dirs
        for path in headers
        if path.startswith(folder + os.sep)
    }
    return {"system-headers": f"sha256:{sha256(repr(sorted(inside)).encode()).hexdigest()}"} if inside else {}


def _long_size(module: ModulePlan) -> int | None:
    """Return the bytes of a `long`: NVRTC takes them from this machine. Unknown where a source comes compiled."""
    return LONG_SIZE if all(source.kind == "cuda" for source in module.module.sources) else None


def _compilers(module: ModulePlan, toolchain: Toolchain) -> dict[str, str]:
    """Return the versions of the compilers and linkers that a module was built with."""
    nvvm = next((job.nvvm for job in module.jobs if job.nvvm), None)
    return {
        "nvrtc": toolchain.nvrtc,
        "nvjitlink": toolchain.nvjitlink,
        "nvfatbin": toolchain.nvfatbin,
        **({"nvvm": nvvm} if nvvm else {}),
    }


def _resources(result: Compiled, target: Target) -> dict[str, dict[str, int]]:
    """Return launch bounds and, for machine code, resource use, by kernel symbol."""
    reported = result.resources if target.real else {}
    return {
        symbol: {**result.bounds.get(symbol, {}), **reported.get(symbol, {})}
        for symbol in sorted({*result.bounds, *reported})
    }
