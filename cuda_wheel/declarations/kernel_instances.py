"""The kernels that serve an operator, by the element types of its arrays; their signatures need no GPU."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from ..runtime.errors import ArgumentError, CudaWheelError, UnknownKernelError
from ..runtime.files import files_and_manifest
from ..runtime.launching.parameters import argument_type, long_size
from ..runtime.launching.pointers import element_types, pointee
from ..runtime.loading import load
from ..runtime.manifest import KernelInfo, Manifest, Parameter
from ..runtime.module import ByName, Kernel, Module
from ..runtime.source_hook import source_hook

__all__ = ["KernelIdentity", "KernelInstances", "ParameterKind"]

DIGEST = 32
"""The number of hexadecimal digits of a digest."""

ParameterKind = tuple[str, bool]
"""What an operator needs to know of a kernel's parameter: the type that stubs give it, such as "Pointer" or "Integer";
and whether the kernel may write through it."""


class KernelIdentity(NamedTuple):
    """What tells a kernel from all others, also in another process."""

    module: str
    symbol: str
    digest: str
    """Of the images for all targets; of the loaded one for a module that was linked here, or is of no wheel."""


class KernelInstances:
    """The kernels of an operator. `kernel` is what `operator` takes: one, or a mapping from element types."""

    def __init__(self, operator: str, kernel: Any, module: str | None) -> None:
        """Raises ArgumentError for what is no kernel, or if the kernels' parameters differ in kind; ImageError if the
        module or a kernel of it is missing."""
        self._operator = operator
        self._module = module
        given = kernel if isinstance(kernel, Mapping) and not isinstance(kernel, Kernel) else {(): kernel}
        self._given = {key if isinstance(key, tuple) else (key,): value for key, value in given.items()}
        counts = {len(dtypes) for dtypes in self._given}
        if len(counts) != 1:
            raise ArgumentError(f"{operator}: kernel must map element types, or tuples of as many each, to kernels")
        self.count = counts.pop()
        """The number of arrays whose element types decide which kernel runs; 0 for one kernel."""
        described = self._described()
        infos = [info for info, _ in described]
        self.infos = dict(zip(self._given, infos, strict=True))
        """What the manifest says of each kernel, by the element types."""
        self.identities = {key: identity for key, (_, identity) in zip(self._given, described, strict=True)}
        self.kinds = [_kind(parameter) for parameter in infos[0].parameters]
        """The parameters that all kernels have."""
        self.parameters = infos[0].parameters
        self.name = infos[0].name
        for info in infos[1:]:
            if [_kind(parameter) for parameter in info.parameters] != self.kinds:
                raise ArgumentError(
                    f"{operator}: the kernels take different kinds of arguments: {infos[0].name} takes "
                    f"({infos[0].parameter_list}), and {info.name} takes ({info.parameter_list})"
                )

    @property
    def accepted(self) -> list[tuple[Any, ...]]:
        """The element types that have a kernel."""
        return list(self._given)

    def element_types(self, parameter: Parameter) -> set[str] | None:
        """Return the element types, by NumPy's names, of the arrays that a pointer may point to; None for all."""
        return element_types(pointee(parameter.cpp)[0], self.long_size) if parameter.cpp else None

    def loaded(self, dtypes: tuple[Any, ...], device: int) -> Kernel:
        """Return the kernel for arrays of these element types on the GPU of this number."""
        found = self._given[dtypes]
        if isinstance(found, Kernel):
            return found
        assert self._module is not None, "the constructor checked it"
        if device < 0:
            raise ArgumentError(f"{self._operator}: the first tensor is in host memory, but others are on a GPU")
        return load(self._module, device=device)[found]

    def _manifest(self, module: str) -> Manifest:
        """Return a module's manifest, from a wheel or compiled now. It may be for other GPUs than this machine's."""
        try:
            return files_and_manifest(module, None, needs_gpu=False)[1]
        except CudaWheelError as error:
            hook = source_hook()
            if hook is None or not isinstance(error, hook.ToolchainError):
                raise
            raise type(error)(
                f"{self._operator}: {module} lies in a source tree and has no images, so it must be compiled to know "
                f"the parameters of its kernels: {error}"
            ) from error

    def _described(self) -> list[tuple[KernelInfo, KernelIdentity]]:
        """Return what the manifest says of each kernel, and its identity."""
        named: Mapping[str, KernelInfo] = {}
        manifests = [each.module.manifest for each in self._given.values() if isinstance(each, Kernel)]
        if self._module is not None:
            manifest = self._manifest(self._module)
            named = ByName(self._module, "kernel", manifest.kernels, lambda info: info, UnknownKernelError)
            manifests.append(manifest)
        self.long_size = long_size(manifests[0]) if manifests else None
        """The bytes of a `long` in the kernels' code; None if it is not known."""
        found = []
        for kernel in self._given.values():
            if isinstance(kernel, str) and self._module is None:
                raise ArgumentError(
                    f"{self._operator}: {kernel!r} is the name of a kernel: name its module too, by module='...'"
                )
            if not isinstance(kernel, (str, Kernel)):
                raise ArgumentError(f"{self._operator}: kernel takes kernels of cuda-wheel, not {kernel!r}")
            if isinstance(kernel, str):
                info, owner, digest = named[kernel], manifest.full_name, manifest.fatbin_sha256
            else:
                info, owner, digest = kernel.info, kernel.module.manifest.full_name, _digest(kernel.module)
            found.append((info, KernelIdentity(owner, info.symbol, digest[:DIGEST])))
        return found


def _digest(module: Module) -> str:
    is_of_wheel = module.link is None and module.manifest.fatbin_sha256
    return module.manifest.fatbin_sha256 if is_of_wheel else module.image.sha256


def _kind(parameter: Parameter) -> ParameterKind:
    type_ = argument_type(parameter)
    return type_, type_ == "Pointer" and not (parameter.cpp and pointee(parameter.cpp)[1])
