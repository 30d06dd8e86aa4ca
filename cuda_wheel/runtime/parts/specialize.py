"""Compile a variant or a template instance that a wheel does not contain, if the module has `specialize = true`.

The wheel has the sources of such a module, in the fatbin's file after the fatbins. The build side compiles them for the
GPU in use, into the user's cache, as it does on load from a source tree.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from ..driver import device_and_driver, is_forked
from ..errors import CudaWheelError, ImageError, UnknownKernelError, UnknownVariantError
from ..files import ModuleFiles, find_files, must_verify, package_folders
from ..jit import JitOptions
from ..manifest import MANIFEST_SUFFIX, Carried, Manifest, sha256_of
from ..module import Module
from .permission import check_permission
from .source_hook import no_compiler, source_hook, toolchain_to_install

if TYPE_CHECKING:
    from ..module import Kernel
__all__ = ["Specializer", "instances_of_wheel", "specialized_variant"]


def specialized_variant(
    name: str, macros: Mapping[str, Any], device: int | None, unknown: UnknownVariantError, jit: JitOptions | None
) -> tuple[ModuleFiles, Manifest]:
    """Return the files and the manifest of a variant that an installed module lacks, compiled now.

    Raises `unknown`, the error that the module has no such variant, if it cannot be compiled: the module or `jit` does
    not allow it, or the module has no variant with macros of these names, or there is no toolchain.
    """
    files = find_files(name, device, macros, jit=jit)
    found = files.manifest_file(name.rpartition(".")[2] + MANIFEST_SUFFIX, must_verify())
    carried = found.head["specialize"] and Carried(**found.head["specialize"])
    # The names of the macros must be those of a variant: another name is a mistake.
    if carried is None or not any(dict(each).keys() == macros.keys() for each in found.variants if each):
        raise unknown
    made, manifest = _compiled(name, files, carried, macros, None, device, unknown, jit)
    return made, manifest._replace(specialize=carried)  # instances of it may be compiled too


class Specializer:
    """Compiles template instances that a module lacks, each once.

    `compiled(module, name, unknown)` returns the loaded module of the instance `name`; `unknown` is the error that
    `module` has no such kernel.
    """

    def __init__(self, compiled: "Callable[[Module, str, UnknownKernelError], Module]") -> None:
        self._compiled = compiled
        self._kernels: dict[str, Kernel] = {}

    def __call__(self, module: "Module", name: str, unknown: UnknownKernelError) -> "Kernel":
        """Return the kernel of an instance. It belongs to a module of its own, with its own variables.

        Raises `unknown`, the error that `module` has no such kernel, if there is no toolchain.
        """
        found = self._kernels.get(name)
        if found is not None and found.module.is_loaded and not is_forked():
            return found
        found = self._kernels[name] = self._compiled(module, name, unknown)[name]
        return found


def instances_of_wheel(load_found: "Callable[..., Module]", device: int | None, jit: JitOptions | None) -> Specializer:
    """Return the `Specializer` of a module with `specialize = true`.

    `load_found` loads a module with its files and manifest; `device` is the number of the GPU, and `jit` the options,
    as for `load`.
    """

    def compiled(module: "Module", name: str, unknown: UnknownKernelError) -> "Module":
        carried = module.manifest.specialize
        assert carried is not None
        files, manifest = _compiled(module.name, None, carried, module.variant, name, device, unknown, jit)
        return load_found(files, manifest, device, jit)

    return Specializer(compiled)


def _compiled(
    name: str,
    files: ModuleFiles | None,
    carried: Carried,
    macros: Mapping[str, Any],
    instance: str | None,
    device: int | None,
    unknown: ImageError,
    jit: JitOptions | None,
) -> tuple[ModuleFiles, Manifest]:
    what = f"{unknown}\nIts module has specialize = true, but it must be compiled"
    help = "The wheel's authors can add it to variants or instantiate of the module."
    check_permission(jit, what, help, device, type(unknown))
    hook = source_hook()
    package, _, stem = name.rpartition(".")
    if hook is None:  # a vendored loader lacks this part
        raise type(unknown)(f"{unknown}\nIt cannot be compiled here: {no_compiler(device)}.")

    def ask() -> Any:
        return device_and_driver(device)[0]

    try:
        if carried.size:
            sources = _read(files or find_files(name, device, macros), stem + ".fatbin", carried)
            text, fatbin = hook.specialize(sources, macros, instance, ask)
        else:  # a source tree
            text, fatbin = hook.compile_on_load(name, package_folders(package), ask, macros, instance)
    except CudaWheelError as error:
        if not isinstance(error, hook.ToolchainError):
            raise
        raise type(unknown)(
            f"{unknown}\nIt can be compiled on this machine, with a toolchain: {toolchain_to_install(device)}. "
            f"Now: {error}"
        ) from error
    contents = {stem + MANIFEST_SUFFIX: text, stem + ".fatbin": fatbin}
    made = ModuleFiles(f"{name}, compiled on load", None, contents=contents)
    return made, made.manifest_of_variant(stem + MANIFEST_SUFFIX, macros)


def _read(files: ModuleFiles, file: str, carried: Carried) -> bytes:
    """Return the CUDA sources that a module's fatbin file carries after its fatbins.

    `file`: name of the fatbin file. `carried`: offset, size and SHA-256 of the sources. Raise ImageError if the sources
    have another SHA-256.
    """
    sources = files.read(file, carried.offset, carried.size)
    if sha256_of(sources) != carried.sha256:
        raise ImageError(
            f"{file} beside {files.where} is damaged: its sources are not those of the manifest. Reinstall it."
        )
    return sources
