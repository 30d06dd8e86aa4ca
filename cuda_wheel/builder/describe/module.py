"""Describe a module that was built: in a manifest, from what its jobs and links gave."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import sha256

from cuda_wheel.builder.describe.kernels import external_table, kernel_table, variable_table
from cuda_wheel.builder.jobs import EMPTY, BuiltModule, Bundled, Compiled, ImageContent, Job
from cuda_wheel.builder.plan import Link, ModulePlan
from cuda_wheel.builder.releases import first_reading
from cuda_wheel.builder.toolchain.records import Toolchain
from cuda_wheel.runtime.formats import ptx
from cuda_wheel.runtime.manifest import Image, Kind, Manifest, Target, parse_version

__all__ = [
    "contents_of",
    "describe",
    "parts_of",
]


def parts_of(
    module: ModulePlan, compiled: Mapping[Job, Compiled], linked: Mapping[Link, Compiled]
) -> dict[str, Compiled]:
    """Return what a module came to, by architecture: of its only source, of what was linked, or, where only a user can
    link it, of all its sources together."""
    parts = {}
    for arch in dict.fromkeys(target.arch for target in module.all_targets):
        units = {job: compiled[job] for job in module.jobs if job.arch == arch}
        images = [linked[link] for link in module.links if link.target.arch == arch]
        images = images or [unit for job, unit in units.items() if job.form == "whole"]
        images = images or [unit for job, unit in units.items() if job.form == "ptx"]
        with_ptx = next((image for image in images if image.ptx), EMPTY)
        headers = [unit.headers for unit in units.values()]
        parts[arch] = Compiled(
            cubin=next((image.cubin for image in images if image.cubin), None),
            ptx=with_ptx.ptx,
            ptx_version_compiled=next(
                (each.ptx_version_compiled for each in (with_ptx, *units.values()) if each.ptx), None
            ),
            kernels={symbol: its for image in images for symbol, its in image.kernels.items()},
            bounds={symbol: its for image in images for symbol, its in image.bounds.items()},
            resources={symbol: its for image in images for symbol, its in image.resources.items()},
            variables=tuple(dict.fromkeys(variable for image in images for variable in image.variables)),
            names={name: symbol for unit in units.values() for name, symbol in unit.names.items()},
            headers=None if None in headers else tuple(sorted({path for its in headers for path in its or ()})),
            log="\n".join(dict.fromkeys(unit.log for unit in units.values() if unit.log)),
            absent=tuple(sorted({path for unit in units.values() for path in unit.absent})),
            blanked=tuple(dict.fromkeys(text for unit in units.values() for text in unit.blanked)),
        )
    return parts


def contents_of(
    module: ModulePlan, parts: Mapping[str, Compiled], compiled: Mapping[Job, Compiled]
) -> list[ImageContent]:
    """Return the images of a module, of its parts.

    A module without kernels has none that can be loaded: it is for others to link.
    """
    kinds: dict[bool, Kind] = {True: "cubin", False: "ptx"}
    images: list[ImageContent] = []
    if not module.relocatable or any(part.kernels for part in parts.values()):
        for target in module.targets:
            content = parts[target.arch].cubin if target.real else parts[target.arch].ptx
            images.append((target, None, (kinds[target.real], target.arch, content or b"")))
    for job in module.relocatable:
        kind: Kind = "ltoir" if job.form == "lto" else "ptx"
        content = compiled[job].ltoir if job.form == "lto" else compiled[job].ptx
        images.append((Target.parse(f"compute_{job.arch}"), job.source, (kind, job.arch, content or b"")))
    return images


def describe(
    module: ModulePlan,
    parts: Mapping[str, Compiled],
    contents: Sequence[ImageContent],
    bundled: Bundled,
    toolchain: Toolchain,
) -> BuiltModule:
    """Return a module of its parts by architecture, its images and the fatbin that holds them.

    Raises CompileError where there is no kernel in it, or a kernel is missing in some images or not the same in all;
    ConfigError where a kernel has two names.
    """
    kernels = kernel_table(module, parts)
    cuda = parse_version(toolchain.nvrtc)
    images = []
    for (target, source, (kind, _, content)), offset in zip(contents, bundled.offsets, strict=True):
        version = ptx.version(content.decode()) if kind == "ptx" else None
        images.append(
            Image(
                kind=kind,
                target=target,
                ptx_version=version,
                ptx_version_compiled=version and (parts[target.arch].ptx_version_compiled or version),
                # Source for machine code: CUDA Compatibility, "Minor Version Compatibility": that of any release of a
                # major version runs on any driver of that major version or a later one.
                driver=(cuda[0], 0) if version is None else first_reading(version, cuda),
                offset=offset,
                size=len(content),
                sha256=sha256(content).hexdigest(),
                resources=_resources(parts[target.arch], target),
                source=source,
            )
        )
    built = module.module
    compilers = {"nvrtc": toolchain.nvrtc, "nvjitlink": toolchain.nvjitlink, "nvfatbin": toolchain.nvfatbin}
    nvvm = next((job.nvvm for job in module.jobs if job.nvvm), None)
    compilers |= {"nvvm": nvvm} if nvvm else {}
    manifest = Manifest(
        name=built.name,
        fatbin=built.name.rpartition(".")[2] + ".fatbin",
        fatbin_size=len(bundled.fatbin),
        fatbin_sha256=sha256(bundled.fatbin).hexdigest(),
        toolchain=compilers,
        sources=built.paths,
        options=module.options,
        images=tuple(images),
        kernels=kernels,
        globals=variable_table(parts),
        extern=external_table(module, contents),
        host_code=tuple(sorted({text for part in parts.values() for text in part.blanked}, key=_place)),
    )
    headers = [part.headers for part in parts.values()]
    text = manifest.to_json().encode()
    Manifest.from_json(text, f"the manifest of {built.name}")  # what is shipped must be readable
    known = None if None in headers else tuple(sorted({path for paths in headers for path in paths or ()}))
    absent = tuple(sorted({path for part in parts.values() for path in part.absent}))
    return BuiltModule(manifest, text, bundled.fatbin, known, absent)


def _place(text: str) -> tuple[str, int, str]:
    """Return what to sort "k.cu:12-40: function main" by."""
    file, lines, _ = text.split(":", 2)
    return file, int(lines.partition("-")[0]), text


def _resources(part: Compiled, target: Target) -> dict[str, dict[str, int]]:
    reported = part.resources if target.real else {}
    return {
        symbol: {**part.bounds.get(symbol, {}), **reported.get(symbol, {})}
        for symbol in sorted({*part.bounds, *reported})
    }
