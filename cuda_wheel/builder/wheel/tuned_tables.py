"""Put the tables of tuned choices into the wheel, and check that the built modules have what they name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from cuda_wheel.builder.errors import ConfigError
from cuda_wheel.builder.jobs import BuiltModule
from cuda_wheel.builder.sources.layout import WheelFile
from cuda_wheel.runtime.errors import ImageError, UnknownKernelError
from cuda_wheel.runtime.manifest import TABLE_SUFFIX, Manifest, python_language, same_macros
from cuda_wheel.runtime.parts.triton.signatures import KERNEL

if TYPE_CHECKING:
    from pathlib import Path

    from cuda_wheel.runtime.parts.tuned_rows import Row

__all__ = ["TunedTables", "check_rows", "tuned_file", "tuned_paths"]


def tuned_file(source: Path, module: str) -> list[WheelFile]:
    """Return the tuned table beside the source of a module, as a file of the wheel; an empty list if there is none.

    This is for projects whose back end does not list the wheel's files.
    """
    path = source.with_name(module.rpartition(".")[2] + TABLE_SUFFIX)
    return [WheelFile(path, module.replace(".", "/") + TABLE_SUFFIX)] if path.is_file() else []


def tuned_paths(names: Iterable[str], files: Iterable[WheelFile]) -> list[str]:
    """Return the paths in the wheel, with "/", of the tuned tables of modules of these dotted names."""
    names = set(names)
    return sorted(file.destination for file in files if _module_of(file.destination) in names)


class TunedTables:
    """The tables of tuned choices among a wheel's files."""

    def __init__(self, names: Iterable[str], files: Iterable[WheelFile], warn: Callable[[str], None]) -> None:
        """Read the tables of modules of these dotted names; call `warn` for tables of other modules.

        Raises ConfigError for a table that is not valid.
        """
        names = set(names)
        self._rows: dict[str, tuple[Row, ...]] = {}
        """Dotted module name -> rows of the module's tuned table; a row is the choice for one GPU and one problem."""
        self.files: dict[str, bytes] = {}
        """Path of a tuned table in the wheel -> content of the table."""
        for file in files:
            module = _module_of(file.destination)
            if module is None:
                continue
            if module not in names:
                warn(f"warning: {file.destination} belongs to no module: there is no module {module}")
                continue
            from cuda_wheel.runtime.parts.tuned_rows import parse_table  # few projects have tables

            content = self.files[file.destination] = file.source.read_bytes()
            try:
                self._rows[module] = parse_table(content, module, str(file.source))
            except ImageError as error:
                raise ConfigError(str(error)) from None

    def check(self, module: BuiltModule) -> None:
        """Raise ConfigError if the table of a built module names a variant or kernel that it lacks."""
        check_rows(module.name, self._rows.get(module.name, ()), module.manifests)


def check_rows(module: str, rows: Iterable[Row], manifests: Sequence[Manifest]) -> None:
    """Raise ConfigError if a row of a module's tuned table names a variant or a kernel that is in no manifest."""
    variants = {same_macros(manifest.variant): manifest for manifest in manifests}
    have_triton_kernels = python_language([manifest.variant for manifest in manifests]) == KERNEL
    for row in rows:
        manifest = variants.get(same_macros(row.variant))
        try:
            if have_triton_kernels and not row.variant:
                _check_triton_kernel(module, row, manifests)
            elif manifest is not None:
                _check_kernel(manifest, row.kernel)
            elif not _may_specialize(manifests, row):
                from cuda_wheel.runtime.parts.variants import unknown_variant  # only for an error

                raise unknown_variant(module, row.variant, [each.variant for each in manifests])
        except ImageError as error:
            from cuda_wheel.runtime.parts.tuned_rows import problem_text  # only for an error

            raise ConfigError(
                f"{module.rpartition('.')[2]}{TABLE_SUFFIX}, choice {row.name!r} for {row.gpu} and "
                f"{problem_text(row.problem)}: {error}\nTune it again with cuda-wheel tune, or remove the choice."
            ) from None


def _check_triton_kernel(module: str, row: Row, manifests: Sequence[Manifest]) -> None:
    """Raise UnknownKernelError if the module has no Triton kernel of the name in `row`, or several; ImageError if the
    row is for the kernel's launches, and it does not fit the kernel."""
    from cuda_wheel.runtime.parts.triton.tuned import check_row  # only for tables

    by_path: dict[str, list[Manifest]] = {}
    for manifest in manifests:
        by_path.setdefault(str(dict(manifest.variant)[KERNEL]), []).append(manifest)
    found = [path for path in by_path if row.kernel in (path, path.rpartition(":")[2])]
    if len(found) != 1:
        what = f"several kernels {row.kernel!r}: {', '.join(found)}" if found else f"no kernel {row.kernel!r}"
        raise UnknownKernelError(f"{module} has {what}")
    if row.name in (found[0], found[0].rpartition(":")[2]):
        of_kernel = by_path[found[0]]
        check_row(row, of_kernel[0].kernels[0].python, [dict(each.variant) for each in of_kernel])


def _module_of(path: str) -> str | None:
    """Return the dotted name of the module whose tuned table is at `path` in the wheel: "demo/scale.tuned.json" ->
    "demo.scale". Return None if `path` is not that of a tuned table."""
    return path.removesuffix(TABLE_SUFFIX).replace("/", ".") if path.endswith(TABLE_SUFFIX) else None


def _check_kernel(manifest: Manifest, name: str) -> None:
    """Raise UnknownKernelError if `name` fits no kernel of the module, or several. A missing instance of a template is
    accepted if the module can compile the instance at load (`specialize`)."""
    from cuda_wheel.runtime.module import ByName  # only for tables

    kernels = ByName(manifest.full_name, "kernel", manifest.kernels, lambda info: info, UnknownKernelError)
    if manifest.specialize is None or "<" not in name or len(kernels.matches(name)) > 1:
        kernels[name]


def _may_specialize(manifests: Iterable[Manifest], row: Row) -> bool:
    """Return whether the variant that `row` names can be compiled at load. True if one of `manifests` has `specialize`
    and the same macro names as `row`. The macro values may differ: N=3 in `row`, and N=2 in the manifest."""
    return any(each.specialize is not None and dict(each.variant).keys() == row.variant.keys() for each in manifests)
