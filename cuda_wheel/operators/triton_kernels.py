"""The Triton kernel that serves an operator, and what was compiled of it for the arguments of a call.

A Triton kernel's parameters have names and kinds in its Python function, and its variants have their types. Which
variant a call launches depends on its element types, numbers and constants; see `runtime.parts.triton.signatures`.
"""

from collections.abc import Callable, Container, Iterable, Mapping
from typing import Any, NamedTuple

from cuda_wheel.operators.kernels import (
    DIGEST,
    Bound,
    KernelChoice,
    KernelIdentity,
    ParameterKind,
    array_types,
    bound,
    read_manifest,
)
from cuda_wheel.runtime.errors import ArgumentError, UnknownVariantError
from cuda_wheel.runtime.loading import load
from cuda_wheel.runtime.manifest import (
    KernelInfo,
    Manifest,
    Parameter,
    PythonParameter,
    same_macros,
)
from cuda_wheel.runtime.module import Kernel
from cuda_wheel.runtime.parts.triton.kernels import TritonKernel, TritonModule, constants_of
from cuda_wheel.runtime.parts.triton.signatures import TYPES, Type, read_type, value_of

__all__ = ["TritonInstances", "TritonLaunch"]


class TritonLaunch(NamedTuple):
    """What a call of an operator launches."""

    choice: KernelChoice
    names: tuple[str, ...]
    """Names of the arguments that the kernel takes, in order."""
    hidden: int
    """Number of pointers that follow them, which Triton adds."""
    constants: Mapping[str, Any]
    """Constants and options by name, for a grid that is a function."""
    scratch: int
    """Bytes of global memory that each block needs, of all images the most; 0 if none. The first hidden pointer is its
    address."""


class TritonInstances:
    """A Triton kernel as the kernel of an operator. It has the attributes of `KernelInstances` that declarations and
    programs use; for `chosen` and what follows, a choice is one of `launch_for`."""

    chooser: Bound | None = None
    count = 0
    accepted: tuple[tuple[Any, ...], ...] = ((),)

    def __init__(
        self, operator: str, kernel: Any, module: TritonModule, mentioned: Container[str], variant: Any
    ) -> None:
        """`mentioned` are the parameters for which the declaration has an output, a value or a default. `variant` are
        options of Triton by which variants are chosen, or a function that returns them. Raises ArgumentError, and
        UnknownKernelError for a name that the module does not have."""
        if not isinstance(kernel, str):
            raise ArgumentError(
                f"{operator}: kernel must be the name of a Triton kernel in {module.name}, not {kernel!r}"
            )
        self.operator = operator
        self._module = module.name
        self.path = kernel
        self.kernel: TritonKernel = module[kernel]
        self.name = self.kernel.name
        self.variant_chooser = bound(f"{operator}: variant", variant, None) if callable(variant) else None
        self._types = {name: self._types_of(name, default) for name, _, default in self.kernel.parameters}
        kept = [each for each in self.kernel.parameters if each[0] in mentioned or self._is_argument(each)]
        self.names = tuple(name for name, _, _ in kept)
        """Names of the parameters to which the operator passes something; the others are left out of launches."""
        self.parameters = tuple(Parameter("", 0, 0, self._text(name), name) for name in self.names)
        self.kinds = [self._kind(name) for name in self.names]
        self.defaults = {
            name: None if default == "None" else default
            for name, kind, default in kept
            if kind == "argument" and default is not None and name not in mentioned
        }
        """Defaults that the Python function has, of arguments for which the declaration has nothing."""
        is_given = variant is not None and self.variant_chooser is None
        self.options = self.checked_options(variant) if is_given else {}
        """Options of every launch, such as {"num_warps": 8}; none if `variant_chooser` returns them."""
        self._manifests: dict[KernelChoice, Manifest] = {}

    def _types_of(self, name: str, default: Any) -> tuple[Type, ...]:
        found = (read_type(each.get(name, default)) for each in self.kernel.variants)
        return tuple(dict.fromkeys(each for each in found if each is not None))

    def _is_argument(self, parameter: PythonParameter) -> bool:
        """Return whether the operator's caller passes a parameter for which the declaration has nothing. A constant
        with a default keeps it, and one that autotune chooses is left out."""
        name, kind, default = parameter
        if kind == "computed":
            raise ArgumentError(
                f"{self.operator}: {name} is computed by triton.heuristics, which only Triton's own launch does: "
                "compute it in values"
            )
        return kind == "argument" or (kind == "constant" and default is None)

    def _text(self, name: str) -> str:
        """Return what was compiled for a parameter, for messages: "*fp32 or *bf16"."""
        texts = [f"{each.pointer}{each.element}" for each in self._types[name]]
        texts = texts or [str(each[name]) for each in self.kernel.variants if name in each]
        return " or ".join(dict.fromkeys(texts)) or "a constant"

    def _kind(self, name: str) -> ParameterKind:
        types = self._types[name]
        if any(each.block for each in types):
            return "Other", False  # a tensor descriptor
        if types:
            pointers = {bool(each.pointer) for each in types}
            if pointers == {True}:
                return "Pointer", any(each.pointer == "*" for each in types)
            elements = {each.element for each in types}
            is_real = any(element.startswith(("fp", "bf")) for element in elements)
            kind = "bool" if elements <= {"i1", "u1"} else "Real" if is_real else "Integer"
            return "Other" if len(pointers) > 1 else kind, False
        given = {type(each[name]) for each in self.kernel.variants if name in each}
        kinds: dict[frozenset[type], str] = {
            frozenset({bool}): "bool",
            frozenset({int}): "Integer",
            frozenset({float}): "Real",
            frozenset({int, float}): "Real",
        }
        return kinds.get(frozenset(given), "Other"), False

    def checked_options(self, options: Any) -> Mapping[str, Any]:
        """Return options of a launch by name; raise ArgumentError for what is no mapping, and for the name of a
        parameter to which the operator passes something."""
        if not isinstance(options, Mapping):
            raise ArgumentError(f"{self.operator}: variant must be a mapping of options of Triton, not {options!r}")
        if both := sorted(options.keys() & {*self.names}):
            raise ArgumentError(
                f"{self.operator}: variant has {both[0]}, which the operator passes: leave it out there"
            )
        return options

    def array_types(self, place: int) -> set[str] | None:
        """Return NumPy's names of the element types of arrays that parameter number `place` takes, from 0."""
        return {TYPES[each.element][1] for each in self._types[self.names[place]] if each.pointer}

    def element_types(self, parameter: Parameter) -> set[str] | None:
        """Return NumPy's names of the element types of arrays that a parameter of a variant takes."""
        return array_types(parameter, None)

    def launch_for(
        self, values: Mapping[str, Any], options: Any, kind_of: Callable[[str, Any], str | None]
    ) -> TritonLaunch:
        """Return what a call launches that passes these values by name; see `TritonKernel.chosen`.

        `options` is what `variant_chooser` returned; None without one. Raises ArgumentError if nothing was compiled for
        the values.
        """
        options = self.options if self.variant_chooser is None else self.checked_options(options)
        given = {name: values[name] for name in self.names}
        try:
            compiled = self.kernel.chosen((), {**given, **options}, kind_of)
        except ArgumentError as error:
            raise ArgumentError(f"{self.operator}: {error}") from None
        choice = KernelChoice(macros=same_macros(compiled))
        info = self.chosen(choice)
        types = {name: read_type(compiled.get(name, default)) for name, _, default in self.kernel.parameters}
        described = [name for name, type_ in types.items() if type_ is not None and type_.block]
        if described:
            raise ArgumentError(
                f"{self.operator}: {described[0]} is a tensor descriptor, which only a launch from Python makes: JAX "
                "passes arrays and numbers"
            )
        names = tuple(name for name, type_ in types.items() if type_ is not None and type_.hint != "1")
        figures = [image.resources.get(info.symbol, {}) for image in self._manifest(choice).images]
        scratch = max((each.get("global_scratch", 0) * each.get("ctas", 1) for each in figures), default=0)
        defaults = {name: value_of(default) for name, _, default in self.kernel.parameters if default is not None}
        constants = defaults | constants_of(compiled)
        return TritonLaunch(choice, names, len(info.parameters) - len(names), constants, scratch)

    def _manifest(self, choice: KernelChoice) -> Manifest:
        if choice not in self._manifests:
            try:
                self._manifests[choice] = read_manifest(self._module, dict(choice.macros), f"{self.operator}: ")
            except UnknownVariantError as error:
                raise ArgumentError(f"{self.operator}: {error}") from None
        return self._manifests[choice]

    def chosen(self, choice: KernelChoice) -> KernelInfo:
        """Return the manifest entry of a variant's kernel. Raises ArgumentError if there is no such variant."""
        (info,) = self._manifest(choice).kernels
        return info

    def identity(self, choice: KernelChoice) -> KernelIdentity:
        """Return the identity of a variant's kernel across processes."""
        manifest, info = self._manifest(choice), self.chosen(choice)
        return KernelIdentity(manifest.full_name, info.symbol, manifest.fatbin_sha256[:DIGEST])

    def loaded_choice(self, choice: KernelChoice, device: int) -> Kernel:
        """Return a variant's kernel, for the GPU of this number; raises what `load` raises."""
        options: dict[str, Any] = dict(choice.macros)
        module = load(self._module, device=device, **options)
        (name,) = module
        return module[name]

    def loaded(self, device: int) -> TritonKernel:
        """Return the kernel for launches on the GPU of this number, which choose the variant."""
        if device < 0:
            raise ArgumentError(f"{self.operator}: the first tensor is in host memory, but others are on a GPU")
        module: Any = load(self._module, device=device)
        return module[self.path]  # type: ignore[no-any-return]

    def grid_names(self) -> Iterable[str]:
        """Names that a grid may use besides those of the operator: parameters that launches leave out, and options."""
        names = {name for name, _, _ in self.kernel.parameters}
        return names.union(*(constants_of(each) for each in self.kernel.variants))
