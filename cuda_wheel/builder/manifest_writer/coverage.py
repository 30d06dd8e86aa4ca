"""Compute on which GPUs and drivers a module can be loaded, and what to change to cover more. Pure functions.

A change is advised only if it covers more cells when it is applied to the manifest.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any, Literal, NamedTuple

from cuda_wheel.builder.config.architectures import first_capability
from cuda_wheel.builder.releases import GPUS, RELEASES, Gpu, first_reading
from cuda_wheel.runtime.manifest import Image, Manifest, Target, Version, dotted
from cuda_wheel.runtime.parts.nvjitlink_rules import first_release, knows
from cuda_wheel.runtime.parts.tile_hosts import this_host
from cuda_wheel.runtime.rules import OLDEST_DRIVER, How, Resolution, doubt, resolve

__all__ = [
    "DRIVERS",
    "GPU_OF",
    "KEYS",
    "LEVELS",
    "AbsentKernels",
    "Cell",
    "Cells",
    "Compiled",
    "Compiler",
    "Coverage",
    "Key",
    "KnownCells",
    "Requirement",
    "absent_kernels",
    "advice",
    "cells_text",
    "compiled",
    "cover",
    "deciding",
    "distinct",
    "gaps",
    "missing",
    "module_cells",
    "not_required",
    "once_linked",
    "required_keys",
    "uncovered",
]


Cell = Literal["native", "jit", "link", "unproven", "none", "unknown"]
"""How a module loads on a GPU with a driver.

"native": as machine code.
"jit": as PTX that the driver compiles.
"link": as PTX that only nvJitLink compiles, if it is installed.
"unproven": it is not known whether the module loads (see `Resolution.doubt`).
"none": not at all.
"unknown": the driver does not support the GPU.
"""

DRIVERS: tuple[Version, ...] = tuple(release.cuda for release in RELEASES if release.cuda >= OLDEST_DRIVER)
"""CUDA releases of all drivers that cuda-wheel's loader supports, in ascending order: ((12, 0), (12, 1), ...)."""

GPU_OF: dict[Version, Gpu] = {gpu.capability: gpu for gpu in GPUS}

Key = tuple[Version, Version]
"""(compute capability of a GPU, CUDA release of a driver), such as ((8, 9), (12, 4))."""

KEYS: tuple[Key, ...] = tuple((gpu.capability, driver) for gpu in GPUS for driver in DRIVERS)


class Coverage(NamedTuple):
    """How modules load on each GPU with each driver; all modules in `names` load alike."""

    names: tuple[str, ...]
    manifest: Manifest
    """Manifest of the first module in `names`. For a module that can only be linked, the manifest lists the PTX as
    loadable images, as if it were linked already (see `once_linked`)."""
    cells: Mapping[Key, Cell]


def cover(manifests: Iterable[Manifest]) -> list[Coverage]:
    """Return the coverage of modules, one record for all modules that load alike on every GPU with every driver."""
    known: KnownCells = {}
    compiling: dict[tuple[Any, ...], tuple[Key, ...]] = {}
    found: dict[tuple[Any, ...], list[Manifest]] = {}
    for manifest in map(once_linked, manifests):
        images, loads = _deciding_images(manifest), module_cells(manifest, known)
        if manifest.compression != "none" and images not in compiling:
            supported = (key for key in KEYS if GPU_OF[key[0]].is_supported_by(key[1]))
            compiling[images] = tuple(uncovered(manifest, supported, "native"))
        # From compressed fatbins, the driver may compile one module where another has machine code for the GPU itself.
        found.setdefault((loads, compiling.get(images)), []).append(manifest)
    # A module is named once, unless its variants have different cells.
    groups = Counter(name for alike in found.values() for name in {manifest.name for manifest in alike})
    return [
        Coverage(
            tuple(dict.fromkeys(each.name if groups[each.name] == 1 else each.full_name for each in alike)),
            alike[0],
            dict(zip(KEYS, module_cells(alike[0], known), strict=True)),
        )
        for alike in found.values()
    ]


Cells = tuple[Cell, ...]
"""How a module loads on each (GPU, driver) pair in KEYS: one `Cell` for each pair, in the order of KEYS."""

KnownCells = dict[tuple[Any, ...], Cells]
"""Cache: properties of a module's images -> how the module loads. Modules with equal properties share one item: there
may be thousands of modules with the same targets."""


def distinct(manifests: Iterable[Manifest]) -> Iterable[Manifest]:
    """Return one manifest of each group of modules whose images have the same targets, versions and compression.

    Modules of such a group have the same coverage. The manifests are as `once_linked` returns them.
    """
    return {_deciding_images(manifest): manifest for manifest in map(once_linked, manifests)}.values()


def _deciding_images(manifest: Manifest) -> tuple[Any, ...]:
    images = ((image.target, image.ptx_version, image.driver, image.source, image.host) for image in manifest.images)
    return manifest.compression, *images


def module_cells(manifest: Manifest, known: KnownCells) -> Cells:
    key = _deciding_images(manifest)
    if key not in known:
        known[key] = tuple(_cell(manifest, gpu, driver) for gpu in GPUS for driver in DRIVERS)
    return known[key]


def deciding(manifest: Manifest) -> Manifest:
    """Return a manifest reduced to what decides its coverage: without kernels, of which there may be thousands, and
    variables."""
    images = tuple(image._replace(resources={}) for image in manifest.images)
    return manifest._replace(kernels=(), globals=(), host_code=(), images=images)


def once_linked(manifest: Manifest) -> Manifest:
    """Return a manifest with its PTX as loadable images, if all images of the module are for linking; else the manifest
    unchanged.

    So the coverage of a module that can only be linked is that of the linked module.
    """
    if len(manifest.relocatable) < len(manifest.images):
        return manifest
    return manifest._replace(images=tuple(i._replace(source=None) for i in manifest.images if i.kind == "ptx"))


def _cell(manifest: Manifest, gpu: Gpu, driver: Version, forbidden: str | None = None) -> Cell:
    if not gpu.is_supported_by(driver):
        return "unknown"
    resolution = _resolution(manifest, gpu, driver, forbidden)
    return "unproven" if resolution.doubt else resolution.how or "none"


def _resolution(manifest: Manifest, gpu: Gpu, driver: Version, forbidden: str | None = None) -> Resolution:
    newest = max((release for release in DRIVERS if release[0] == driver[0]), default=None)
    host = next((image.host for image in manifest.images if image.host), None)
    if host:  # all hosts have the same targets; which machine asks is no matter
        own = (image._replace(host=this_host()) for image in manifest.images if image.host == host)
        manifest = manifest._replace(images=tuple(own))
    return resolve(manifest, gpu.capability, driver, newest, forbidden)


FORBIDDEN = "CUDA_WHEEL_JIT=error"
"""What forbids compiling where machine code is required."""

Compiler = Literal["driver", "driver, perhaps", "nvjitlink", "linker"]
"""What compiles on the user's machine. "driver, perhaps": from a compressed fatbin, the driver may take PTX in place of
machine code (see `rules.resolve`). "linker": the pieces of a module that can only be linked, see `load(link=...)`."""


_COMPILERS: dict[How, Compiler] = {"native": "driver, perhaps", "jit": "driver", "link": "nvjitlink"}


class Compiled(NamedTuple):
    """What is compiled, or may be, where modules are loaded: an image, or the sources of a module that is linked."""

    modules: tuple[str, ...]
    what: str
    by: Compiler
    keys: tuple[Key, ...]


def compiled(manifests: Iterable[Manifest], keys: Iterable[Key]) -> list[Compiled]:
    """Return what is compiled on the user's machine for (GPU, driver) pairs: what CUDA_WHEEL_JIT=error refuses there.

    Modules of which the same is compiled in the same places are one item.
    """
    keys = [key for key in keys if GPU_OF[key[0]].is_supported_by(key[1])]
    known: dict[tuple[Any, ...], dict[tuple[str, Compiler], list[Key]]] = {}
    found: dict[tuple[str, Compiler, tuple[Key, ...]], list[str]] = {}
    for manifest in manifests:
        images = _deciding_images(manifest)
        if images not in known:
            known[images] = _compiled_images(manifest, keys)
        for (what, by), places in known[images].items():
            found.setdefault((what, by, tuple(places)), []).append(manifest.full_name)
    return [Compiled(tuple(modules), *item) for item, modules in found.items()]


def _compiled_images(manifest: Manifest, keys: Iterable[Key]) -> dict[tuple[str, Compiler], list[Key]]:
    """Return (what is compiled, by what) -> where, for one module."""
    linked = once_linked(manifest)
    found: dict[tuple[str, Compiler], list[Key]] = {}
    for key in keys:
        gpu, driver = GPU_OF[key[0]], key[1]
        image, how, *_ = _resolution(linked, gpu, driver)
        if image is None or how is None or image is _resolution(linked, gpu, driver, FORBIDDEN).image:
            continue
        item: tuple[str, Compiler]
        if linked is manifest:
            item = str(image), _COMPILERS[how]
        else:
            item = ", ".join(dict.fromkeys(str(each.source) for each in manifest.images)), "linker"
        found.setdefault(item, []).append(key)
    return found


class AbsentKernels(NamedTuple):
    """Kernels of a module that are not in each of its images, and where the module loads without them."""

    module: str
    kernels: tuple[str, ...]
    keys: tuple[Key, ...]


def absent_kernels(manifests: Iterable[Manifest]) -> list[AbsentKernels]:
    """Return the kernels that modules lack on some GPUs and drivers, with which they load. Source: `KernelInfo.absent`.

    Kernels of one module that are in the same images are one item.
    """
    found = []
    for manifest in map(once_linked, manifests):
        alike: dict[tuple[str, ...], list[str]] = {}
        for kernel in manifest.kernels:
            if kernel.absent:
                alike.setdefault(kernel.absent, []).append(kernel.name)
        if not alike:
            continue
        supported = [(gpu, driver) for gpu in GPUS for driver in DRIVERS if gpu.is_supported_by(driver)]
        images = {(gpu.capability, driver): _resolution(manifest, gpu, driver).image for gpu, driver in supported}
        for targets, kernels in alike.items():
            keys = tuple(key for key, image in images.items() if image is not None and str(image.target) in targets)
            found += [AbsentKernels(manifest.full_name, tuple(kernels), keys)] if keys else []
    return found


class Requirement(NamedTuple):
    """The GPUs and drivers that a module must load on, and the worst way of loading that is accepted."""

    gpus: tuple[Version, ...]
    drivers: tuple[Version, ...]
    least: Cell


LEVELS: tuple[Cell, ...] = ("none", "unproven", "link", "jit", "native")
"""Ways in which a module loads, from worst to best: each `Cell` except "unknown"."""


def missing(coverage: Coverage, requirement: Requirement) -> list[Key]:
    """Return the (GPU, driver) pairs of a requirement on which the modules load worse than required.

    A pair whose driver does not support the GPU is not required.
    """
    return uncovered(coverage.manifest, required_keys(requirement), requirement.least)


def not_required(requirement: Requirement) -> list[Key]:
    """Return the (GPU, driver) pairs that a requirement names though the driver does not support the GPU."""
    required = set(required_keys(requirement))
    return [key for key in _named_keys(requirement) if key not in required]


def required_keys(requirement: Requirement) -> list[Key]:
    """Return the (GPU, driver) pairs that a requirement names, without those whose driver does not support the GPU."""
    return [(gpu, driver) for gpu, driver in _named_keys(requirement) if GPU_OF[gpu].is_supported_by(driver)]


def _named_keys(requirement: Requirement) -> list[Key]:
    return [(gpu, driver) for gpu in requirement.gpus for driver in requirement.drivers]


def uncovered(manifest: Manifest, keys: Iterable[Key], least: Cell) -> list[Key]:
    """Return those of the (GPU, driver) pairs `keys` on which a module loads worse than `least`.

    "native" means that nothing is compiled for certain, not even PTX of a compressed fatbin.
    """
    forbidden = FORBIDDEN if least == "native" else None
    cells = ((key, _cell(manifest, GPU_OF[key[0]], key[1], forbidden)) for key in keys)
    return [key for key, cell in cells if LEVELS.index(cell) < LEVELS.index(least)]


def cells_text(keys: Sequence[Key]) -> str:
    """Return (GPU, driver) pairs in words: "Turing (7.5), Ada (8.9) with drivers for CUDA 12.2 to 12.8"."""
    by_drivers: dict[tuple[Version, ...], list[Version]] = {}
    for gpu, group in groupby(sorted(keys), key=lambda key: key[0]):
        by_drivers.setdefault(tuple(driver for _, driver in group), []).append(gpu)
    parts = []
    for drivers, gpus in by_drivers.items():
        listed = ", ".join(f"{GPU_OF[gpu].name} ({dotted(gpu)})" for gpu in gpus)
        span = dotted(drivers[0]) if len(drivers) == 1 else f"{dotted(drivers[0])} to {dotted(drivers[-1])}"
        parts.append(f"{listed} with drivers for CUDA {span}")
    return "; ".join(parts)


COMMON: tuple[Version, ...] = ((12, 2), (12, 8), (13, 0))
"""CUDA releases of the most common drivers: branches 535, 570 and 580, which NVIDIA supports longest. Source: NVIDIA
Data Center Drivers, "Supported Drivers and CUDA Toolkit Versions"."""

TOOLCHAINS: dict[int, Version] = {12: (12, 9), 13: (13, 0)}
"""CUDA's major version -> CUDA release of the oldest compiler that "cuda-wheel[cu12]" or "cuda-wheel[cu13]"
installs."""


class _Plan(NamedTuple):
    """Advised changes to a project: `lines` describes them, `manifest` is the module's with all changes made, and
    `left` are the (GPU, driver) pairs that are still uncovered."""

    lines: tuple[str, ...]
    manifest: Manifest
    left: Sequence[Key]


def advice(coverage: Coverage, requirement: Requirement) -> list[str]:
    """Return the changes to a project that cover what it lacks of a requirement, one line each; [] if it lacks nothing.

    All changes are needed, except that a line that begins with "or" replaces the lines before it. The last lines name
    the (GPU, driver) pairs that no change covers.
    """
    least = requirement.least
    before = _Plan((), coverage.manifest, missing(coverage, requirement))
    if not before.left:
        return []
    if _is_tile(coverage.manifest):
        return list(_tile_advice(coverage.manifest, before.left))
    plan = _improve(before, least)
    other = _with_toolchain(before, requirement)
    if other is not None and set(other.left) < set(plan.left):
        plan = other
    elif other is not None and not other.left and len(other.lines) == 1:
        plan = plan._replace(lines=(*plan.lines, f"or {other.lines[0]}"))
    return [*plan.lines, *_hopeless(coverage.manifest, plan.left)]


def _is_tile(manifest: Manifest) -> bool:
    return any(image.host for image in manifest.images)


def _tile_advice(manifest: Manifest, left: Sequence[Key]) -> Iterable[str]:
    """Yield lines of advice for a module with CUDA Tile kernels, which have machine code and no PTX."""
    driver = min(image.driver for image in manifest.images)
    first = first_capability("tile")
    known = [gpu for gpu in _compilable(manifest) if gpu >= first]
    added = sorted({gpu for gpu, version in left if gpu in known and version >= driver})
    if added:
        names = ", ".join(f'"{Target(*gpu, "", True).arch}-real"' for gpu in added)
        yield f"architectures: add {names}, if tileiras has them"
    rest = [key for key in left if key[0] not in added or key[1] < driver]
    if rest:
        yield (
            f"CUDA Tile kernels have no PTX; their machine code needs compute capability {dotted(first)} and a driver "
            f"for CUDA {dotted(driver)}, or later: do not require {cells_text(rest)}"
        )


def _improve(plan: _Plan, least: Cell) -> _Plan:
    """Return `plan` with changes to the settings `compress`, `ptx-version` and `architectures` added.

    Of all combinations of changes, the best is taken: the one with the fewest (GPU, driver) pairs on which the module
    loads worse than `least`. Among equals, it has the fewest lines of advice.
    """
    plans = [_architecture_plan(variant, least) for variant in _variants(plan, least)]
    return min(plans, key=lambda each: (len(each.left), len(each.lines)))


def _variants(plan: _Plan, least: Cell) -> Iterable[_Plan]:
    """Yield `plan` itself and variants of it: with a change to the setting `compress`, to `ptx-version`, or to both.

    If two changes to `compress` are possible, plans with either are yielded. In each yielded plan, `left` are the (GPU,
    driver) pairs on which the module still loads worse than `least`.
    """
    for stored in (plan, *(_changed(plan, *change, least) for change in _compression_changes(plan.manifest))):
        yield from (_changed(stored, *change, least) for change in _lowering_changes(stored.manifest))
        yield stored


def _changed(plan: _Plan, line: str, manifest: Manifest, least: Cell) -> _Plan:
    return _Plan((*plan.lines, line), manifest, uncovered(manifest, plan.left, least))


def _if_better(plan: _Plan, line: str, manifest: Manifest, least: Cell) -> _Plan:
    changed = _changed(plan, line, manifest, least)
    return changed if len(changed.left) < len(plan.left) else plan


def _compression_changes(manifest: Manifest) -> Iterable[tuple[str, Manifest]]:
    images = [image._replace(driver=_first_driver(image, manifest.cuda)) for image in manifest.images]
    if manifest.compression == "zstd":
        yield (
            'compress: "speed" or "none", because drivers before CUDA 12.4 do not read zstd',
            manifest._replace(images=tuple(images), compression="lz4"),
        )
    if manifest.compression != "none":
        yield (
            'compress: "none", so that the loader chooses the image and not the driver',
            manifest._replace(images=tuple(image._replace(offset=0) for image in images), compression="none"),
        )


def _first_driver(image: Image, cuda: Version) -> Version:
    """Return the CUDA release of the first driver that can load an image; the compression of the fatbin is ignored.
    `cuda` is the release of the compiler that made the image."""
    return (cuda[0], 0) if image.ptx_version is None else first_reading(image.ptx_version, cuda)


def _lowering_changes(manifest: Manifest) -> Iterable[tuple[str, Manifest]]:
    """Yield one item, (line of advice to lower PTX, manifest with lowered PTX), or nothing if no PTX can be lowered.

    To lower PTX is to give it an older PTX ISA version: here the oldest that its target and OLDEST_DRIVER allow.
    """
    lowered = [_lowered(image) for image in manifest.images]
    if lowered != list(manifest.images):
        yield (
            'ptx-version: "auto" lowers PTX to a version that more drivers accept, if it is proven equivalent',
            manifest._replace(images=tuple(lowered)),
        )


def _lowered(image: Image) -> Image:
    if image.ptx_version is None or image.ptx_version != image.ptx_version_compiled:
        return image
    driver = min(image.driver, max(first_release(image.target.capability), OLDEST_DRIVER))
    return image if driver == image.driver else image._replace(ptx_version=_ptx_isa(driver), driver=driver)


def _ptx_isa(release: Version) -> Version:
    return next(each.ptx_isa for each in RELEASES if each.cuda >= release)


def _architecture_plan(plan: _Plan, least: Cell) -> _Plan:
    """Return `plan` with advice for the setting `architectures`: to add machine code, PTX, or both.

    `least` is the worst way of loading that is accepted. Return `plan` unchanged if neither addition brings a (GPU,
    driver) pair in `plan.left` to this level. If both do so for the same pairs, the advice is machine code "or" PTX.
    """
    real = plan
    names: list[str] = []
    for gpu in sorted({gpu for gpu, _ in plan.left}):
        target = _best_real(gpu, plan.manifest)
        better = target and _if_better(real, "", _with_target(real.manifest, target), least)
        if target and better and better is not real:
            real, names = better, [*names, f'"{target.arch}-real"']
    real = real._replace(lines=(*plan.lines, f"architectures: add {', '.join(names)}")) if names else plan
    # PTX alone is advised if it covers all pairs that machine code covers, and more. If both cover the same pairs,
    # either is advised. In all other cases machine code is advised, and PTX in addition if it covers further pairs.
    virtual, name = _best_virtual(plan, least)
    if name is None or (names and set(real.left) < set(virtual.left)):
        return real if name is None else _both(real, least)
    ptx = f"{name} (PTX, which the driver compiles at first use)"
    if names and set(real.left) == set(virtual.left):
        return real._replace(lines=(*plan.lines, f"architectures: add {', '.join(names)}, or {ptx}"))
    virtual = virtual._replace(lines=(*plan.lines, f"architectures: add {ptx}"))
    return virtual if set(virtual.left) < set(real.left) else _both(real, least)


def _both(real: _Plan, least: Cell) -> _Plan:
    """Return `real`, a plan that adds machine code, with PTX for the best target added too.

    `least` is the worst way of loading that is accepted. Return `real` unchanged if PTX does not bring any (GPU,
    driver) pair in `real.left` to this level, whatever its target.
    """
    virtual, name = _best_virtual(real, least)
    if name is None:
        return real
    line = f"architectures: add {name} (PTX, which the driver compiles at first use)"
    return virtual._replace(lines=(*real.lines, line))


def _best_real(gpu: Version, manifest: Manifest) -> Target | None:
    """Return the highest target for machine code that the manifest's compiler supports and that is known to run on a
    GPU of compute capability `gpu`. None if there is no such target."""
    targets = [Target(*capability, "", True) for capability in _compilable(manifest)]
    suitable = [each for each in targets if each.major == gpu[0] and each.capability <= gpu and not doubt(each, gpu)]
    return max(suitable, default=None)


def _best_virtual(plan: _Plan, least: Cell) -> tuple[_Plan, str | None]:
    """Return (`plan` with PTX for one target added, name of this target in quotes: '"80-virtual"').

    The target is the one that leaves the fewest (GPU, driver) pairs on which the module loads worse than `least`. Among
    equals, it is the highest target. Return (`plan`, None) if every target leaves all pairs in `plan.left`.
    """
    best, name = plan, None
    for capability in _compilable(plan.manifest):
        target = Target(*capability, "", False)
        changed = _with_target(plan.manifest, target)
        left = uncovered(changed, plan.left, least)
        # Among equals, the highest target gives the best code.
        if len(left) < len(plan.left) and len(left) <= len(best.left):
            best, name = _Plan(plan.lines, changed, left), f'"{target.arch}-virtual"'
    return best, name


def _compilable(manifest: Manifest) -> list[Version]:
    """Return the compute capabilities of the GPUs that the manifest's compiler supports, in ascending order."""
    return [gpu.capability for gpu in GPUS if knows(manifest.cuda, gpu.capability)]


def _with_target(manifest: Manifest, target: Target) -> Manifest:
    """Return `manifest` with an image for `target` added, in place of any image for the same target.

    A PTX image gets the oldest PTX ISA version that its target and OLDEST_DRIVER allow. But if PTX in the manifest
    could be lowered (given an older version), the image gets the compiler's version.
    """
    driver, version = (manifest.cuda[0], 0), None
    if not target.real:
        as_compiled = any(_lowered(image) != image for image in manifest.images)
        driver = max(manifest.cuda if as_compiled else first_release(target.capability), OLDEST_DRIVER)
        version = _ptx_isa(driver)
    offset = None if manifest.compression != "none" else 0
    image = Image("cubin" if target.real else "ptx", target, version, version, driver, offset, 1, "", {})
    kept = tuple(each for each in manifest.images if each.target != target)
    return manifest._replace(images=(*kept, image))


def _with_toolchain(plan: _Plan, requirement: Requirement) -> _Plan | None:
    """Return a new plan: to build with the other toolchain, cu13 in place of cu12 or the reverse.

    The plan also contains further changes if they help to meet `requirement`. The lines of advice in `plan` are not
    copied. None if the manifest's compiler belongs to neither toolchain.
    """
    manifest = plan.manifest
    other = next((major for major in TOOLCHAINS if major != manifest.cuda[0]), None)
    if manifest.cuda[0] not in TOOLCHAINS or other is None:
        return None
    cuda = TOOLCHAINS[other]
    images = tuple(_compiled_by(image, cuda) for image in manifest.images if knows(cuda, image.target.capability))
    changed = manifest._replace(images=images, toolchain={**manifest.toolchain, "nvrtc": f"{dotted(cuda)}.0"})
    line = (
        f'toolchain: build with "cuda-wheel[cu{other}]", whose machine code needs drivers for CUDA {other}.0 or later'
    )
    left = uncovered(changed, required_keys(requirement), requirement.least)
    return _improve(_Plan((line,), changed, left), requirement.least)


def _compiled_by(image: Image, cuda: Version) -> Image:
    """Return an image with the PTX ISA version and the oldest driver that it would have if the compiler of CUDA release
    `cuda` made it."""
    if image.ptx_version is None:
        return image._replace(driver=(cuda[0], 0))
    version = min(image.ptx_version, _ptx_isa(cuda))
    return image._replace(ptx_version=version, ptx_version_compiled=_ptx_isa(cuda), driver=first_reading(version, cuda))


def _hopeless(manifest: Manifest, left: Sequence[Key]) -> Iterable[str]:
    """Yield lines of advice about `left`, the (GPU, driver) pairs that no change covers.

    There are at most two lines: one about the pairs whose driver is too old for any module, and one about all others.
    """
    too_old = [key for key in left if key[1] < OLDEST_DRIVER]
    if too_old:
        first = dotted(OLDEST_DRIVER)
        yield f"drivers before CUDA {first} load no module at all: require driver>={first}"
    others = [key for key in left if key[1] >= OLDEST_DRIVER]
    if others:
        yield f"no setting covers {cells_text(others)}, with NVRTC {dotted(manifest.cuda)}: do not require this"


def gaps(manifests: Iterable[Manifest], first: Version = (0, 0)) -> str | None:
    """Return a line on current GPUs on which a module has no loadable image with a common driver, and on what helps;
    None if there are none. GPUs of a compute capability before `first` are ignored.

    Of several modules, it is about the one with the most such pairs of GPU and driver. Tegra GPUs are ignored: projects
    for them name them. PTX that only nvJitLink accepts does not count: few users have nvJitLink.
    """
    current = tuple(gpu.capability for gpu in GPUS if gpu.last is None and not gpu.is_tegra and gpu.capability >= first)
    manifests = list(manifests)
    # No setting makes an older driver load CUDA Tile kernels.
    oldest = max((image.driver for each in manifests if _is_tile(each) for image in each.images), default=OLDEST_DRIVER)
    requirement = Requirement(current, tuple(driver for driver in COMMON if driver >= oldest), "jit")
    required = required_keys(requirement)
    # One manifest of each set of images, and no other cells than the required ones: most builds lack none.
    if not any(uncovered(each, required, requirement.least) for each in distinct(manifests)):
        return None
    short = [(coverage, keys) for coverage in cover(manifests) if (keys := missing(coverage, requirement))]
    coverage, keys = max(short, key=lambda pair: len(pair[1]))
    what = coverage.names[0] if len(coverage.names) == 1 else f"{coverage.names[0]} and {len(coverage.names) - 1} more"
    helps = "; ".join(advice(coverage, requirement))
    return f"{what}: no image for {cells_text(keys)}. {helps}. (cuda-wheel coverage shows all.)"
