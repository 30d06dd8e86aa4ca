"""Show what images cost, and what it would save and lose to leave a target out, on a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group
from rich.table import Table
from rich.text import Text

from cuda_wheel.builder.describe.coverage import Cell, describe
from cuda_wheel.builder.report.units import counted, size_text
from cuda_wheel.inspect.coverage import Loss
from cuda_wheel.inspect.sizes import Bytes, ModuleSize, TargetSize, targets_of, total

__all__ = [
    "terminal",
]


WAYS: dict[Cell, str] = {
    "native": "machine code",
    "jit": "PTX, compiled by the driver at first use",
    "link": "PTX, compiled by nvJitLink where that is installed",
    "none": "no image at all",
    "unknown": "",
}


def terminal(modules: Sequence[ModuleSize], archive: int | None) -> Group:
    """Return what rich prints: a table for each module, one of all targets, and what leaving each out would lose."""
    targets = targets_of(modules)
    fatbins, manifests = (
        total(module.fatbin for module in modules),
        total(module.manifest for module in modules),
    )
    lines = [
        f"{counted(len(modules), 'module')}: fatbins {_both(fatbins)}, manifests {_both(manifests)}"
        + ("" if archive is None else f"; the wheel has {size_text(archive)}"),
        "Installed is an image's range of its fatbin. In a wheel, the range is deflated by itself: what images have in "
        "common costs less. What a target less would save is the fatbins deflated with its images and without.",
    ]
    if any(target.unknown for target in targets):
        lines.append(
            'Of compressed fatbins (compress = "size") nobody can tell what an image takes: it counts as nothing here. '
            "Build without to see."
        )
    return Group(
        *map(_module_table, modules),
        _target_table(targets),
        *(Text(line) for target in targets for line in _losses(target, len(modules))),
        *map(Text, lines),
    )


def _both(size: Bytes) -> str:
    return f"{size_text(size.installed)} installed, {size_text(size.in_wheel)} in a wheel"


def _table(title: str, caption: str, texts: Sequence[str], numbers: Sequence[str]) -> Table:
    table = Table(title=Text(title), caption=Text(caption), title_justify="left", caption_justify="left")
    for heading in texts:
        table.add_column(heading)
    for heading in numbers:
        table.add_column(heading, justify="right")
    return table


def _module_table(module: ModuleSize) -> Table:
    manifest = module.found.manifest
    table = _table(
        manifest.name, f"{manifest.fatbin}: {_both(module.fatbin)}", ("image",), ("size", "installed", "in a wheel")
    )
    for image, size in module.images:
        known = ["unknown", "unknown"] if size is None else [size_text(size.installed), size_text(size.in_wheel)]
        table.add_row(Text(str(image)), size_text(image.size), *known)
    return table


def _target_table(targets: Sequence[TargetSize]) -> Table:
    numbers = ("images", "installed", "in a wheel", "without: saved", "saved in a wheel")
    table = _table("all modules, by target", "", ("target",), numbers)
    for target in targets:
        sizes = (*target.size, *target.saved)
        known = target.unknown < target.images
        table.add_row(
            str(target.target), str(target.images), *(size_text(each) if known else "unknown" for each in sizes)
        )
    return table


def _losses(target: TargetSize, modules: int) -> list[str]:
    """Return what it would lose to leave a target out, a line each."""
    lines = [
        f"without {target.target}{_where(loss, modules)}: {WAYS[loss.after]} in place of {WAYS[loss.before]} for "
        f"{describe(loss.keys)}"
        for loss in target.lost
    ]
    if target.later:
        lines.append(f"without {target.target}: no image at all for GPUs that are still to come")
    return lines or [f"without {target.target}: nothing is lost"]


def _where(loss: Loss, modules: int) -> str:
    if len(loss.names) == modules:
        return ""
    more = len(loss.names) - 1
    return f", {loss.names[0]}" + (f" and {more} more" if more else "")
