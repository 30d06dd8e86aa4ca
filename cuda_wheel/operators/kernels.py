"""The kernels that serve an operator: one, one for each element type, or one that a function names by value.

Their signatures come from manifests, so that they need no GPU. Which kernel a call runs is a `KernelChoice`.
"""

import inspect
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from fnmatch import fnmatchcase
from operator import index
from typing import Any, NamedTuple

from cuda_wheel.runtime.arrays import argument_type, element_types, is_by_value, long_size, pointee
from cuda_wheel.runtime.errors import ArgumentError, CudaWheelError, UnknownKernelError, UnknownVariantError
from cuda_wheel.runtime.files import files_and_manifest
from cuda_wheel.runtime.loading import load
from cuda_wheel.runtime.manifest import (
    KernelInfo,
    Macros,
    Manifest,
    Parameter,
    full_name,
    python_language,
    same_macros,
    unscoped,
    without_spaces,
)
from cuda_wheel.runtime.module import ByName, Kernel, Module
from cuda_wheel.runtime.parts.python_kernels.modules import PythonModule

__all__ = [
    "ARRAYS",
    "Bound",
    "KernelChoice",
    "KernelIdentity",
    "KernelInstances",
    "ParameterKind",
    "accessor_of",
    "array_types",
    "bound",
    "pointer_of",
    "python_module",
    "read_manifest",
]

DIGEST = 32
"""Number of hexadecimal digits in `KernelIdentity.digest`."""

ParameterKind = tuple[str, bool]
"""Kind of a kernel's parameter: (type, True if the kernel may write to the array). The type is that of stubs (.pyi
files), such as "Pointer" or "Integer", or "Accessor" for a packed accessor or a `TensorInfo` of PyTorch."""


ARRAYS = ("Pointer", "Accessor")
"""Types of parameters that take an array: by its address ("Pointer"), or as a packed accessor or a `TensorInfo` of
PyTorch ("Accessor")."""


class Bound(NamedTuple):
    """A constant, or a function whose parameters are names of an operator's arguments."""

    value: Any
    """The constant itself, or the function that computes the value."""
    names: tuple[str, ...] | None
    """Names of the function's parameters; None for a constant."""


def bound(what: str, value: Any, known: Iterable[str] | None) -> Bound:
    """Return a function with the names of its parameters, which say what it takes, or any other value as a constant.

    `what` is the subject of messages. Raises ArgumentError for a parameter that is not in `known` (None: any name), and
    for one that is not passed by position, such as `*x`.
    """
    if not callable(value):
        return Bound(value, None)
    try:
        parameters = inspect.signature(value).parameters.values()
    except (TypeError, ValueError):
        raise ArgumentError(f"{what} is {value!r}, whose parameters Python does not know: pass a function") from None
    names = tuple(each.name for each in parameters)
    unknown = [name for name in names if known is not None and name not in known]
    if unknown:
        raise ArgumentError(
            f"{what} is a function of {', '.join(names)}: its parameters must be names among "
            f"{', '.join(sorted(known or ()))}"
        )
    for each in parameters:
        if each.kind not in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD):
            raise ArgumentError(f"{what} is a function of {each}: it is called with a value for each name, by position")
    return Bound(value, names)


class KernelIdentity(NamedTuple):
    """Identity of a kernel that is the same in all processes, by which exported programs find it."""

    module: str
    """Name of the module with the macros of its variant: "demo.update[NUM_MODES=4]"."""
    symbol: str
    """Mangled name of the kernel. If the kernel is compiled when it is loaded, the name that the operator gives, such
    as "scale<3>"."""
    digest: str
    """First digits of a SHA-256, usually that of the module's fatbin. It is that of the image if the loaded module was
    linked on this machine or is not from a wheel. It is that of the sources if loading a wheel's kernel compiles it."""


class KernelChoice(NamedTuple):
    """Which of an operator's kernels a call runs; made by `KernelInstances.choice`. Equal choices run the same
    kernel."""

    dtypes: tuple[Any, ...] = ()
    """Element types that choose the kernel: those of the operator's first input arrays. Empty if the kernel does not
    depend on element types."""
    name: str = ""
    """Name of the kernel, if a function of the operator chooses the kernel by its name; else ""."""
    macros: Macros = ()
    """(name, text) of each macro of the module's variant; empty if the operator names no variant."""


class _Found(NamedTuple):
    """What is known about a chosen kernel before it is loaded."""

    name: str
    """Name by which the kernel is looked up in its module."""
    info: KernelInfo | None
    """Entry of the kernel in the manifest; None if it is compiled when it is loaded."""
    identity: KernelIdentity
    kernel: Kernel | None
    """The loaded kernel that the declaration contains; None if the declaration or a function gives only the kernel's
    name."""


class KernelInstances:
    """The kernels of an operator, and the choice of the one that a call runs.

    `kernel` is a kernel or its name in `module`; a mapping from element types to such; or a function of the operator's
    inputs and values that returns the name of one of `kernels`. `kernels` is a list of names, patterns and kernels, or
    one pattern. `variant` are the macros of a variant of the module, or a function that returns them.

    An operator asks in each call, or once for each combination of element types, name and macros:

        choice = kernels.choice(dtypes, name, macros)   # what chooser and variant_chooser returned, if there are such
        info = kernels.chosen(choice)                   # to check the arrays' element types; it needs no GPU
        kernel = kernels.loaded_choice(choice, device)  # to launch

    `loaded(dtypes, device)` is enough if both choosers are None.
    """

    chooser: Bound | None
    """The operator's argument `kernel`, if it is a function that returns the name of the kernel to run; else None."""
    variant_chooser: Bound | None
    """The operator's argument `variant`, if it is a function that returns the macros of the module's variant; else
    None."""

    def __init__(
        self, operator: str, kernel: Any, module: str | None, kernels: Any = None, variant: Any = None
    ) -> None:
        """Raise ArgumentError for what is no kernel, or if the kernels' parameters differ in kind; ImageError if the
        module or one of the kernels is missing."""
        self._operator = operator
        self._module = module
        self.chooser = bound(f"{operator}: kernel", kernel, None) if callable(kernel) else None
        self.variant_chooser = bound(f"{operator}: variant", variant, None) if callable(variant) else None
        self._macros = () if variant is None or self.variant_chooser else self.checked_macros(variant)
        given = kernel if isinstance(kernel, Mapping) and not isinstance(kernel, Kernel) else {(): kernel}
        self._given = {key if isinstance(key, tuple) else (key,): value for key, value in given.items()}
        counts = {len(dtypes) for dtypes in self._given}
        if len(counts) != 1:
            raise ArgumentError(f"{operator}: kernel must map element types, or tuples of as many each, to kernels")
        self.count = counts.pop()
        """Number of arrays whose element types choose the kernel; 0 if there is only one kernel, or if a function
        chooses."""
        self._list = self._checked_list(kernels)
        self._check_given(variant)
        self._manifests: dict[Macros, Manifest | None] = {}
        self._choices: dict[KernelChoice, _Found] = {}
        self._base = None if module is None else self._base_manifest()
        """Result of `_base_manifest`: the manifest from which the parameters of the module's kernels are read. None if
        the operator names no module."""
        manifests = [each.module.manifest for each in (*self._given.values(), *self._list) if isinstance(each, Kernel)]
        manifests += [self._base] if self._base else []
        self.long_size = long_size(manifests[0])
        """Size of a `long` in the kernels' code, in bytes; None if it is not known."""
        self.infos = {} if self.chooser else {key: self._described(each) for key, each in self._given.items()}
        """Tuple of element types -> manifest entry of the kernel for these types. A single kernel has the key (). Empty
        if a function chooses the kernel."""
        self.described = self._listed(self._base, needs_all=True) if self.chooser else list(self.infos.values())
        """Manifest entries of all kernels that the declaration lists. A kernel that is given by name has its entry in
        `_base`."""
        first = self.described[0]
        self.kinds = [_kind(parameter) for parameter in first.parameters]
        """Kind of each parameter of a kernel, in order. All kernels have the same kinds."""
        self.parameters = first.parameters
        self.name = first.name
        self._parameter_list = first.parameter_list
        for info in self.described[1:]:
            self._check_kinds(info)

    @property
    def accepted(self) -> list[tuple[Any, ...]]:
        """The tuples of element types that have a kernel."""
        return list(self._given)

    def element_types(self, parameter: Parameter) -> set[str] | None:
        """Return NumPy's names of the element types of arrays that a parameter takes; None if it takes any array."""
        return array_types(parameter, self.long_size)

    def array_types(self, place: int) -> set[str] | None:
        """Return NumPy's names of the element types of arrays that parameter number `place`, from 0, takes in any of
        the kernels; None if it takes any array in one of them, none if the types are unknown in one."""
        found: set[str] = set()
        for types in (self.element_types(info.parameters[place]) for info in self.described):
            if not types:
                return types
            found |= types
        return found

    def choice(self, dtypes: tuple[Any, ...] = (), name: Any = "", macros: Any = None) -> KernelChoice:
        """Return which kernel runs for arrays of these element types.

        `name` is what the function `chooser` returned, `macros` what `variant_chooser` returned; leave out the result
        of a chooser that is None. Raises ArgumentError for a result that is no name, or no mapping of macros.
        """
        if self.chooser is not None and not (isinstance(name, str) and name):
            raise ArgumentError(f"{self._operator}: kernel must return the name of a kernel, not {name!r}")
        chosen = self._macros if self.variant_chooser is None else self.checked_macros(macros)
        return KernelChoice(dtypes, name, chosen)

    def chosen(self, choice: KernelChoice) -> KernelInfo | None:
        """Return the manifest entry of the chosen kernel; None if it is compiled when it is loaded.

        Only modules with `specialize = true` have kernels that are compiled then. Raises ArgumentError for a name that
        `kernels` does not list, for a variant that the module does not have, and for a kernel with parameters of other
        kinds.
        """
        return self._found(choice).info

    def identity(self, choice: KernelChoice) -> KernelIdentity:
        """Return the identity of the chosen kernel across processes; raise what `chosen` raises."""
        return self._found(choice).identity

    def loaded_choice(self, choice: KernelChoice, device: int) -> Kernel:
        """Return the chosen kernel, for the GPU of this number.

        Raises what `chosen` and `load` raise; ArgumentError if the kernel was compiled now and takes arguments of other
        kinds than those that `kernels` lists.
        """
        found = self._found(choice)
        if found.kernel is not None:
            return found.kernel
        assert self._module is not None, "the constructor checked it"
        if device < 0:
            raise ArgumentError(f"{self._operator}: the first tensor is in host memory, but others are on a GPU")
        kernel = load(self._module, device=device, **_keywords(choice.macros))[found.name]
        self._check_kinds(kernel.info)
        return kernel

    def loaded(self, dtypes: tuple[Any, ...], device: int) -> Kernel:
        """Return the kernel for arrays of these element types on the GPU of this number, if no function chooses."""
        return self.loaded_choice(self.choice(dtypes), device)

    # --- checks of the declaration ---------------------------------------------------------------------

    def _check_given(self, variant: Any) -> None:
        """Raise ArgumentError if the declaration's kernels, module and `variant` do not fit each other.

        A kernel must be a `Kernel` or a name. A name needs a module, and so does `variant`. A `Kernel` cannot be
        combined with `variant`.
        """
        operator, module = self._operator, self._module
        if module is not None and not isinstance(module, str):
            raise ArgumentError(f"{operator}: module must be the dotted name of a module, not {module!r}")
        if variant is not None and module is None:
            raise ArgumentError(f"{operator}: variant is one of a module: name it by module='...'")
        for kernel in self._list if self.chooser else self._given.values():
            if isinstance(kernel, str) and module is None:
                raise ArgumentError(
                    f"{operator}: {kernel!r} is the name of a kernel: name its module too, by module='...'"
                )
            if callable(kernel):
                raise ArgumentError(
                    f"{operator}: a function that names the kernel takes the place of the mapping: its parameters may "
                    "be arrays, whose dtype it knows"
                )
            if not isinstance(kernel, (str, Kernel)):
                raise ArgumentError(f"{operator}: kernel takes kernels of cuda-wheel, not {kernel!r}")
            if isinstance(kernel, Kernel) and variant is not None:
                raise ArgumentError(
                    f"{operator}: {kernel.name} is of a loaded module already, so that variant cannot choose it: pass "
                    "its name"
                )

    def _checked_list(self, kernels: Any) -> list[Any]:
        """Return the items of the argument `kernels`: names, patterns and kernels. Return [] if the argument `kernel`
        is not a function.

        For a function, `kernels` must list something; else it must be None. Raises ArgumentError otherwise.
        """
        operator = self._operator
        if self.chooser is None:
            if kernels is not None:
                raise ArgumentError(f"{operator}: kernels lists what a function may return, but kernel is no function")
            return []
        if kernels is None:
            raise ArgumentError(
                f"{operator}: kernel is a function: list the kernels that it may name, which have the parameters, by "
                "kernels=[...], or by a pattern such as kernels='knn<*>'"
            )
        is_list = isinstance(kernels, Iterable) and not isinstance(kernels, (str, bytes, Mapping, Kernel))
        found = list(kernels) if is_list else [kernels]
        if not found:
            raise ArgumentError(f"{operator}: kernels lists no kernel")
        return found

    def checked_macros(self, macros: Any) -> Macros:
        """Return a mapping of macros as sorted pairs (name, text): (("NUM_MODES", "4"),) for {"NUM_MODES": 4}.

        Raises ArgumentError for what is no mapping, and for a value that is neither a number nor a string.
        """
        if not isinstance(macros, Mapping):
            raise ArgumentError(f"{self._operator}: variant must be a mapping of macros, not {macros!r}")
        found = {}
        for name, value in macros.items():
            if not isinstance(value, (str, int, float)) and hasattr(value, "__index__"):
                value = index(value)  # an integer of NumPy
            if not isinstance(name, str) or not isinstance(value, (str, int, float)):
                raise ArgumentError(
                    f"{self._operator}: variant maps names of macros to numbers and strings, not {name!r} to {value!r}"
                )
            found[name] = value
        return same_macros(found)

    def _check_kinds(self, info: KernelInfo) -> None:
        """Raise ArgumentError if the parameters of a kernel differ in kind from those of the declaration's first
        kernel."""
        if [_kind(parameter) for parameter in info.parameters] != self.kinds:
            raise ArgumentError(
                f"{self._operator}: the kernels take different kinds of arguments: {self.name} takes "
                f"({self._parameter_list}), and {info.name} takes ({info.parameter_list})"
            )

    # --- manifests -------------------------------------------------------------------------------------

    def _read(self, macros: Macros) -> Manifest:
        """Return the manifest of the module's variant with these macros. In a source tree, compile the module to get
        the manifest.

        Raises what `read_manifest` raises.
        """
        assert self._module is not None
        return read_manifest(self._module, dict(macros), f"{self._operator}: ")

    def _base_manifest(self) -> Manifest:
        """Return the manifest from which the parameters of the module's kernels are read.

        This is the manifest of the declared variant. It is the manifest of the module's first variant if a function
        chooses the variant, or if the declared variant is compiled when it is loaded. Raises ArgumentError if a
        function chooses, but the module has no variants.
        """
        if self.variant_chooser is None:
            return self._manifest(self._macros) or self._any_variant()
        manifest = self._any_variant()
        if not manifest.variant:
            raise ArgumentError(f"{self._operator}: variant chooses one, but {self._module} has no variants")
        return manifest

    def _any_variant(self) -> Manifest:
        """Return the manifest of the module's first variant, or the only manifest if there are no variants."""
        try:
            return self._read(())
        except UnknownVariantError as error:
            if not error.variants:
                raise
            first: dict[str, Any] = dict(error.variants[0])
            return self._read(same_macros(first))

    def _manifest(self, macros: Macros) -> Manifest | None:
        """Return the manifest of the variant with these macros; None if the variant is compiled when it is loaded.

        Raises UnknownVariantError if the module neither has such a variant nor can be compiled with these macros.
        """
        if macros not in self._manifests:
            try:
                self._manifests[macros] = self._read(macros)
            except UnknownVariantError as error:
                names = [dict(each).keys() for each in error.variants]
                if dict(macros).keys() not in names or self._any_variant().specialize is None:
                    raise
                self._manifests[macros] = None
        return self._manifests[macros]

    # --- finding a kernel ------------------------------------------------------------------------------

    def _described(self, kernel: Any) -> KernelInfo:
        """Return the manifest entry of a kernel. `kernel` is a `Kernel`, or the name of a kernel in the module."""
        if isinstance(kernel, Kernel):
            return kernel.info
        assert self._base is not None, "the constructor checked it"
        return self._named(self._base.kernels)[kernel]

    def _named(self, infos: Sequence[KernelInfo]) -> ByName[KernelInfo]:
        return ByName(self._module or self._operator, "kernel", infos, lambda info: info, UnknownKernelError)

    def _listed(self, manifest: Manifest | None, needs_all: bool = False) -> list[KernelInfo]:
        """Return the manifest entries of the kernels in the argument `kernels`, in its order, each once.

        `manifest`: manifest of the variant; None if `kernels` has only `Kernel` objects. `needs_all`: if True,
        raise UnknownKernelError for a name without a kernel, and ArgumentError for a pattern without one; if False,
        skip both. Raises ArgumentError if a `Kernel` has the symbol of another listed kernel.
        """
        found: dict[str, KernelInfo] = {}
        for each in self._list:
            infos: Sequence[KernelInfo]
            if isinstance(each, Kernel):
                infos = [each.info]
            else:
                assert manifest is not None, "the constructor checked it"
                infos = self._matching(each, manifest)
            if not infos and needs_all and not set(each) & set("*?["):
                self._named(manifest.kernels)[each]  # type: ignore[union-attr]  # raises UnknownKernelError
            if not infos and needs_all:
                raise ArgumentError(f"{self._operator}: no kernel of {self._module} matches kernels={each!r}")
            for info in infos:
                other = found.setdefault(info.symbol, info)
                if other is not info and isinstance(each, Kernel):
                    raise ArgumentError(f"{self._operator}: two of kernels are {info.name}: give them other names")
        return list(found.values())

    def _matching(self, text: str, manifest: Manifest) -> Sequence[KernelInfo]:
        """Return the manifest entries of the kernels with the name `text`. If there are none, return those of the
        kernels whose names match the pattern `text`, such as "knn<*>". Spaces are ignored."""
        found = self._named(manifest.kernels).matches(text)
        if found or not set(text) & set("*?["):
            return found
        pattern = without_spaces(text)
        return [
            info
            for info in manifest.kernels
            if fnmatchcase(without_spaces(info.name), pattern) or fnmatchcase(info.short_name, pattern)
        ]

    def _found(self, choice: KernelChoice) -> _Found:
        if choice not in self._choices:
            found = self._find(choice)
            if found.info is not None:
                self._check_kinds(found.info)
            self._choices[choice] = found  # checked, because later calls and other threads use it
        return self._choices[choice]

    def _find(self, choice: KernelChoice) -> _Found:
        given = choice.name if self.chooser else self._given.get(choice.dtypes)
        if given is None:
            raise ArgumentError(f"{self._operator} has no kernel for {', '.join(map(str, choice.dtypes))}")
        if isinstance(given, Kernel):
            return _of_kernel(given)
        manifest = None
        if self._module is not None:
            try:
                manifest = self._manifest(choice.macros)
            except UnknownVariantError as error:
                raise ArgumentError(f"{self._operator}: {error}") from None
        if self.chooser is None:
            assert self._base is not None
            info = self._named((manifest or self._base).kernels)[given]
            return self._of_module(given, info, manifest, choice.macros)
        return self._find_listed(given, manifest, choice.macros)

    def _find_listed(self, name: str, manifest: Manifest | None, macros: Macros) -> _Found:
        """Return the kernel `name`, which a function chose: a listed kernel, or an instance of a listed template.

        `manifest`: manifest of the variant with `macros`; None if the variant is compiled when it is loaded, or if
        there is no module. Raises ArgumentError for any other name, and for a name that several listed kernels have.
        """
        listed = self._listed(manifest or self._base)
        infos = self._named(listed).matches(name)
        if len(infos) > 1:
            symbols = ", ".join(info.symbol for info in infos)
            raise ArgumentError(f"{self._operator}: several kernels are {name!r}: return a symbol instead: {symbols}")
        if infos:
            kernels = [each for each in self._list if isinstance(each, Kernel) and each.info is infos[0]]
            return _of_kernel(kernels[0]) if kernels else self._of_module(name, infos[0], manifest, macros)
        base = self._base
        templates = {info.short_name.partition("<")[0] for info in listed}
        is_template = "<" in name and without_spaces(unscoped(name)).partition("<")[0] in templates
        if base is not None and base.specialize is not None and is_template:
            own = self._named(manifest.kernels).matches(name) if manifest is not None else []
            return self._of_module(name, own[0] if len(own) == 1 else None, manifest, macros)
        raise ArgumentError(self._unlisted(name, manifest, listed, is_template))

    def _unlisted(self, name: str, manifest: Manifest | None, listed: Sequence[KernelInfo], is_template: bool) -> str:
        """Return the error message for a kernel `name` that a function chose and that `kernels` does not list.

        `manifest`: manifest of the chosen variant; None if the variant is compiled when it is loaded, or if there is no
        module. `listed`: manifest entries of the listed kernels. `is_template`: True if `name` is an instance of a
        listed template.
        """
        nearest = get_close_matches(name, [info.name for info in listed], n=3, cutoff=0)
        help = ""
        if manifest is not None and self._named(manifest.kernels).matches(name):
            help = f"; {self._module} has it: list it"
        elif is_template and self._base is not None:
            help = f"; {self._module} is not built with specialize = true, so it cannot be compiled when it is needed"
        return (
            f"{self._operator}: kernel returned {name!r}, which is not one of kernels; the nearest are "
            f"{', '.join(nearest)}{help}"
        )

    def _of_module(self, name: str, info: KernelInfo | None, manifest: Manifest | None, macros: Macros) -> _Found:
        """Return the name, manifest entry and identity of the module's kernel `name`.

        `manifest`: manifest of the variant with `macros`; None if the variant is compiled when it is loaded. `info`:
        the kernel's entry in `manifest`; None for a template instance that is compiled when it is loaded.
        """
        assert self._base is not None and self._module is not None
        if manifest is not None and info is not None:
            identity = KernelIdentity(manifest.full_name, info.symbol, manifest.fatbin_sha256[:DIGEST])
            return _Found(name, info, identity, None)
        carried = self._base.specialize
        # A source tree carries nothing: its sources change with what was compiled of them.
        digest = carried.sha256 if carried is not None and carried.size else self._base.fatbin_sha256
        identity = KernelIdentity(full_name(self._module, macros), name, digest[:DIGEST])
        return _Found(name, None, identity, None)


def read_manifest(module: str, macros: Mapping[str, Any], prefix: str = "") -> Manifest:
    """Return the manifest of a module's variant with these macros, from a wheel or compiled now.

    It may be for other GPUs than this machine's. Raises what `files_and_manifest` raises; the error for a source tree
    without a toolchain begins with `prefix`, and says why the module must be compiled.
    """
    try:
        return files_and_manifest(module, None, macros, needs_gpu=False)[1]
    except CudaWheelError as error:
        from cuda_wheel.runtime.parts.source_hook import source_hook  # only for an error

        hook = source_hook()
        if hook is None or not isinstance(error, hook.ToolchainError):
            raise
        raise type(error)(
            f"{prefix}{module} lies in a source tree and has no images, so it must be compiled to know the parameters "
            f"of its kernels: {error}"
        ) from error


def python_module(module: str) -> PythonModule[Any] | None:
    """Return a module with kernels in Python; None for any other, and for one whose manifest cannot be read."""
    try:
        read_manifest(module, {})
    except UnknownVariantError as unknown:
        if python_language(unknown.variants):  # type: ignore[arg-type]
            found: Any = load(module)
            return found  # type: ignore[no-any-return]
    except CudaWheelError:  # who needs the manifest meets it too, and says for what
        pass
    return None


def _keywords(macros: Macros) -> dict[str, Any]:
    """Return macros as keyword arguments of `load`: {"NUM_MODES": "4"} for (("NUM_MODES", "4"),)."""
    return dict(macros)


def _of_kernel(kernel: Kernel) -> _Found:
    owner, digest = kernel.module.manifest.full_name, _digest(kernel.module)
    return _Found(kernel.name, kernel.info, KernelIdentity(owner, kernel.symbol, digest[:DIGEST]), kernel)


def _digest(module: Module) -> str:
    """Return the SHA-256 of a loaded module's fatbin. If the module was linked on this machine or is not from a
    wheel, return the SHA-256 of its image."""
    is_of_wheel = module.link is None and module.manifest.fatbin_sha256
    return module.manifest.fatbin_sha256 if is_of_wheel else module.image.sha256


def _kind(parameter: Parameter) -> ParameterKind:
    """Return the kind of a kernel's parameter: its type, and whether the kernel may write to the array."""
    pointer = pointer_of(parameter)
    type_ = "Accessor" if accessor_of(parameter) else argument_type(parameter)
    return type_, type_ in ARRAYS and not (pointer and pointee(pointer)[1])


def accessor_of(parameter: Parameter) -> Any:
    """Return the element type and dimensions of a parameter that is a packed accessor or a `TensorInfo` of PyTorch;
    None for any other parameter. See `by_value.accessor_of`."""
    if not is_by_value(parameter):
        return None
    from cuda_wheel.runtime.parts import by_value  # few kernels have such parameters

    return by_value.accessor_of(parameter)


def array_types(parameter: Parameter, long_size: int | None) -> set[str] | None:
    """Return NumPy's names of the element types of arrays that a parameter takes; None if it takes any array.

    `long_size` is the size of a `long` in the kernels' code, in bytes; None if it is not known.
    """
    pointer = pointer_of(parameter)
    return element_types(pointee(pointer)[0], long_size) if pointer else None


def pointer_of(parameter: Parameter) -> str:
    """Return the C++ type of a pointer, or of the pointer inside an accessor; empty if the manifest has no C++ type."""
    accessor = accessor_of(parameter)
    return str(accessor.pointer) if accessor else parameter.cpp
