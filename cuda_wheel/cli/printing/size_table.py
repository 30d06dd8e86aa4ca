"""Tables of the sizes of images, and of what dropping a target saves and costs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from cuda_wheel.builder.describe.coverage import Cell, cells_text
from cuda_wheel.builder.report.quantities import count_text, size_text
from cuda_wheel.cli.printing.tables import Column, Line, Table
from cuda_wheel.inspect.sizes import ImageSize, Loss, ModuleSize, Size, TargetSize, sizes_by_target, total_size

__all__ = ["size_report"]

CELL_TEXTS: dict[Cell, str] = {
    "native": "machine code",
    "jit": "PTX, compiled by the driver at first use",
    "link": "PTX, compiled by nvJitLink if it is installed",
    "unproven": "an image that is not known to load",
    "none": "no image",
    "unknown": "",
}


def size_report(modules: Sequence[ModuleSize], wheel_size: int | None) -> list[Table | Line]:
    """Return a table for each module, one for all targets, and what dropping each target costs."""
    targets = sizes_by_target(modules)
    fatbins, manifests = (
        total_size(module.fatbin for module in modules),
        total_size(module.manifest for module in modules),
    )
    notes = [
        f"{count_text(len(modules), 'module')}: fatbins {_both(fatbins)}, manifests {_both(manifests)}"
        + ("" if wheel_size is None else f"; the wheel has {size_text(wheel_size)}"),
        '"installed" is the size of an image in its fatbin, "in a wheel" its size when deflated separately. In the '
        "wheel, images that have content in common take less. The saved sizes compare the fatbins with and without the "
        "target's images.",
    ]
    if any(target.unknown for target in targets):
        notes.append(
            "The size of an image in a compressed fatbin is unknown and counts as zero. To measure "
            "it, build without compression."
        )
    return [
        *map(_module_table, modules),
        _target_table(targets),
        *(line for target in targets for line in _loss_lines(target, len(modules))),
        *notes,
    ]


def _both(size: Size) -> str:
    return f"{size_text(size.installed)} installed, {size_text(size.in_wheel)} in a wheel"


def _module_table(module: ModuleSize) -> Table:
    found = module.found
    alike: dict[str, list[ImageSize]] = {}
    for each in module.images:
        alike.setdefault(str(each.image), []).append(each)
    rows = [(name, *_sizes_text(images)) for name, images in alike.items()]
    columns = [Column("image"), *(Column(heading, "right") for heading in ("size", "installed", "in a wheel"))]
    of_variants = f" ({len(found.manifests)} variants)" if found.manifests[0].variant else ""
    return Table(found.name + of_variants, columns, rows, f"{found.fatbin}: {_both(module.fatbin)}")


def _sizes_text(images: Sequence[ImageSize]) -> tuple[str, str, str]:
    """Return the sizes of images together: those of one kind and target in all variants."""
    known = [size for _, size in images if size is not None]
    size = size_text(sum(each.image.size for each in images))
    if len(known) < len(images):
        return size, "unknown", "unknown"
    total = total_size(known)
    return size, size_text(total.installed), size_text(total.in_wheel)


def _target_table(targets: Sequence[TargetSize]) -> Table:
    headings = ("images", "installed", "in a wheel", "without: saved", "saved in a wheel")
    rows = []
    for target in targets:
        known = target.unknown < target.images
        sizes = (size_text(size) if known else "unknown" for size in (*target.size, *target.saved))
        rows.append((str(target.target), str(target.images), *sizes))
    columns = [Column("target"), *(Column(heading, "right") for heading in headings)]
    return Table("all modules, by target", columns, rows, "")


def _loss_lines(target: TargetSize, modules: int) -> Iterator[str]:
    """Yield what dropping a target costs, one line each."""
    for loss in target.lost:
        yield (
            f"without {target.target}{_modules_text(loss, modules)}: {CELL_TEXTS[loss.after]} instead of "
            f"{CELL_TEXTS[loss.before]} for {cells_text(loss.keys)}"
        )
    if target.loses_future_gpus:
        yield f"without {target.target}: no image for future GPUs"
    if not target.lost and not target.loses_future_gpus:
        yield f"without {target.target}: nothing is lost"


def _modules_text(loss: Loss, modules: int) -> str:
    """Return which modules a loss affects; an empty string if it affects all of them."""
    if len(loss.names) == modules:
        return ""
    more = len(loss.names) - 1
    return f", {loss.names[0]}" + (f" and {more} more" if more else "")
