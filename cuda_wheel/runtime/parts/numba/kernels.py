"""Numba kernels from a wheel: choose what was compiled for the types of a launch, and launch it without Numba.

A module has a variant for each kernel and each set of types that it was compiled for (see `signatures`). The first
launch with arguments of some types looks for the variant and loads it; later ones find it in a dictionary. A kernel
gets an array's size, shape and strides beside its address.
"""

import struct
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from math import prod
from typing import Any, NamedTuple

from ...arguments import exports, is_of, plain_number, value_text
from ...errors import ArgumentError, need
from ...generated import define
from ...launching import launcher_of
from ...manifest import PythonParameter
from ...module import Kernel, Module
from ..python_kernels.kernels import INTERFACE_TYPES, PythonKernel, nothing_fits
from ..python_kernels.modules import PythonModule
from .signatures import SCALARS, Type, read_type

__all__ = ["NumbaKernel", "NumbaModule"]


_ELEMENTS = {dtype: element for element, (_, dtype) in SCALARS.items()}
"""Name of an array's element type -> Numba's name: "bool" -> "boolean"."""

_INTERFACE_TYPES = {code: _ELEMENTS[name] for code, name in INTERFACE_TYPES.items()} | {
    "c8": "complex64",
    "c16": "complex128",
}
"""Type in `__cuda_array_interface__`, without the byte order -> Numba's name: "f4" -> "float32"."""

_LIMITS = {
    f"{kind}{bits}": (-(1 << bits - 1), (1 << bits - 1) - 1) if kind == "int" else (0, (1 << bits) - 1)
    for kind in ("int", "uint")
    for bits in (8, 16, 32, 64)
}
"""Integer type -> its smallest and its largest number."""

_Compiled = Mapping[str, Any]
"""What one kernel was compiled for: the values of a variant by parameter and option; see `signatures`."""


class _Array(NamedTuple):
    """What a launch has to know of an array."""

    element: str
    """Numba's name of the element type; the library's name if Numba has none."""
    size: int
    """Bytes of an element."""
    shape: tuple[int, ...]
    strides: tuple[int, ...] | None
    """Strides in bytes; None for C order."""

    @property
    def layouts(self) -> str:
        """Layouts that the array has: some of "C", "F" and "A"."""
        return _layouts(self.size, self.shape, self.strides)

    def words(self, array: Any) -> tuple[Any, ...]:
        """Return what a kernel gets for the array; see `signatures.ARRAY_WORDS`."""
        strides = self.strides
        if strides is None:
            strides = tuple(self.size * prod(self.shape[at + 1 :]) for at in range(len(self.shape)))
        return (None, None, prod(self.shape), self.size, array, *self.shape, *strides)


@lru_cache(4096)
def _layouts(size: int, shape: tuple[int, ...], strides: tuple[int, ...] | None) -> str:
    """Return the layouts of an array; see `_Array`."""
    # The stride of a dimension with one element counts nothing.
    lengths = [length for length in shape if length != 1]
    if 0 in lengths or (len(lengths) < 2 and strides is None):
        return "CFA"
    if strides is None:
        return "CA"
    given = [stride for stride, length in zip(strides, shape, strict=True) if length != 1]
    is_c = given == [size * prod(lengths[at + 1 :]) for at in range(len(lengths))]
    is_f = given == [size * prod(lengths[:at]) for at in range(len(lengths))]
    return f"{'C' if is_c else ''}{'F' if is_f else ''}A"


class _Prepared(NamedTuple):
    """How to launch with arguments of one kind."""

    kernel: Kernel
    launch: Callable[..., None]
    types: tuple[Type, ...]
    """Type of each argument."""


_MOST_KNOWN = 1000
"""Number of combinations of types, shapes and strides that the generated functions of a kernel know."""

_LAUNCH = """
def launch(grid, block, *args, stream=None, shared_memory=0):
    try:
        {names} = args
        prepared, {constants} = known[{key}]
    except Exception:
        return launch_any(grid, block, args, stream, shared_memory)
    prepared.launch(grid, block, {words}, stream=stream, shared_memory=shared_memory)
"""
"""Source of `NumbaKernel.launch`. For arguments that are not known, finding the key or what it stands for raises an
exception, which may be any."""

_BOUND = """
def bound(*args):
    if not args:
        return inner()
    try:
        {names} = args
        prepared, {constants} = known[{key}]
        if prepared is not own:
            raise KeyError
    except Exception:
        return bound_any(*args)
    inner({words})
"""
"""Source of the function that `NumbaKernel.bind` returns."""


class _Source:
    """The sources of the generated functions of a kernel.

    Of tensors with known types, shapes and strides, only the address is new: a launch writes constants around it. The
    key has what the choice of the variant, and the constants, depend on.
    """

    def __init__(self, are_arrays: Sequence[bool]) -> None:
        self._are_arrays = are_arrays
        names = [f"a{at}" for at in range(len(are_arrays))]
        parts = (
            f"{name}.dtype, {name}.shape, {name}.stride()" if is_array else f"type({name})"
            for name, is_array in zip(names, are_arrays, strict=True)
        )
        self._fields = {
            "names": ", ".join(names) + ",",
            "key": ", ".join(parts) + ",",
            "constants": ", ".join(f"c{at}" for at in range(len(names) + 1)),
            "words": ", ".join(f"*c{at}, {name}" for at, name in enumerate(names)) + f", *c{len(names)}",
        }

    @classmethod
    def of(cls, types: Sequence[Sequence[Type | None]]) -> "_Source | None":
        """Return the sources for the types of all variants; None if a value must be converted, or if the choice depends
        on more than types."""
        first = [type_ for type_ in types[0] if type_ is not None]
        for others in types:
            for type_, other in zip(first, others, strict=True):
                is_same = other is not None and (other.ndim is None) == (type_.ndim is None)
                if not is_same or (type_.ndim is None and other != type_):
                    return None
        if not first or any(type_.ndim is None and _is_converted(type_) for type_ in first):
            return None
        return cls([type_.ndim is not None for type_ in first])

    def launch(self) -> str:
        return _LAUNCH.format_map(self._fields)

    def bound(self) -> str:
        return _BOUND.format_map(self._fields)

    def key(self, args: Sequence[Any]) -> tuple[Any, ...]:
        """Return the key of arguments, as the sources find it. Raises an exception, which may be any, without one."""
        key: list[Any] = []
        for value, is_array in zip(args, self._are_arrays, strict=True):
            key += (value.dtype, value.shape, value.stride()) if is_array else (type(value),)
        return tuple(key)

    def constants(self, described: Sequence[tuple[Any, Any]]) -> list[tuple[Any, ...]]:
        """Return what a kernel gets before, between and after the values."""
        found: list[tuple[Any, ...]] = [()]
        for value, kind in described:
            if type(kind) is _Array:
                words = kind.words(value)
                found[-1] += words[:4]
                found.append(words[5:])
            else:
                found.append(())
        return found


def _is_converted(type_: Type) -> bool:
    """Return whether a kernel gets other values than a number of a type."""
    return type_.words > 1 or type_.element == "float16"


class NumbaKernel(PythonKernel):
    """A Numba kernel. `launch(grid, block, ...)` takes what Numba's own `kernel[grid, block]` is called with."""

    def __init__(
        self,
        module: str,
        path: str,
        parameters: Sequence[PythonParameter],
        variants: Sequence[_Compiled],
        load: Callable[[Mapping[str, Any]], Module],
    ) -> None:
        super().__init__(module, path, parameters, variants, load)
        self._types = tuple(tuple(read_type(each[name]) for name in self._names) for each in variants)
        """Types of the parameters of each variant."""
        self._prepared: dict[tuple[Any, ...], _Prepared] = {}
        self._known: dict[tuple[Any, ...], tuple[Any, ...]] = {}
        """Key of the generated functions -> (`_Prepared`, the constants before, between and after the values)."""
        self._source = _Source.of(self._types)
        if self._source is not None:
            namespace = {"known": self._known, "launch_any": self._launch}
            launch = define("launch", self._source.launch(), namespace, f"{module}, {self.name}")
            launch.__doc__ = type(self).launch.__doc__
            self.__dict__["launch"] = launch

    @property
    def signatures(self) -> tuple[str, ...]:
        """The types that the kernel was compiled for, as Numba writes them: "float32[::1], int64"."""
        return tuple(", ".join(map(str, each)) for each in self._types)

    def launch(self, grid: Any, block: Any, *args: Any, stream: Any = None, shared_memory: int = 0) -> None:
        """Launch the kernel as Numba does when `kernel[grid, block, stream, shared_memory]` is called with these
        arguments.

        `grid` and `block` have one to three numbers each; arrays, numbers, `stream` and `shared_memory` (bytes of
        dynamic shared memory) are as in `Kernel.launch`. Arrays are on the GPU. Of what was compiled, the closest to
        the arguments is launched: with the same types, else with types that hold the numbers, and for arrays that
        lie densely rather than with any strides. Parameters with a default may be left out at the end.

        Raises ArgumentError if nothing was compiled for these arguments; it lists what was. Raises what `load` and
        `Kernel.launch` raise.
        """
        self._launch(grid, block, args, stream, shared_memory)

    def _launch(self, grid: Any, block: Any, args: Sequence[Any], stream: Any, shared_memory: Any) -> None:
        """Launch, and let the generated functions launch with arguments of the same types, shapes and strides."""
        args = self._with_defaults(args)
        described = [self._described(value) for value in args]
        prepared = self._prepare(described)
        prepared.launch(grid, block, *_words(prepared.types, described), stream=stream, shared_memory=shared_memory)
        self._remember(args, described, prepared)

    def _remember(self, args: Sequence[Any], described: Sequence[tuple[Any, Any]], prepared: _Prepared) -> None:
        if self._source is None:
            return
        try:
            key = self._source.key(args)
        except Exception:  # arrays of other libraries than PyTorch
            return
        if len(self._known) >= _MOST_KNOWN:
            self._known.clear()
        self._known[key] = prepared, *self._source.constants(described)

    def __getitem__(self, configuration: Any) -> Callable[..., None]:
        """Return a function that launches with this grid, block, and if they are given, stream and bytes of dynamic
        shared memory, as `kernel[grid, block, stream, shared_memory]` does in Numba."""
        given = configuration if isinstance(configuration, tuple) else (configuration,)
        if not 2 <= len(given) <= 4:
            raise ArgumentError(
                f"{self.name}[...] takes grid, block, and optionally stream and shared memory, but got {len(given)} "
                "values"
            )
        options = dict(zip(("stream", "shared_memory"), given[2:], strict=False))

        def launch(*args: Any) -> None:
            self.launch(*given[:2], *args, **options)

        return launch

    def bind(
        self, grid: Any, block: Any, *args: Any, stream: Any = None, shared_memory: int = 0
    ) -> Callable[..., None]:
        """Check a launch, and return a function that launches it, the fastest way; nothing is launched yet.

        The parameters are those of `launch`. The function takes the kernel's arguments in their order; for those that a
        call leaves out at the end, it uses the ones given here. What was compiled for these arguments is launched for
        all calls; other types raise ArgumentError.

            step = kernel.bind(grid, block, x, y, n)
            step(y, x)
        """
        need("bind")
        values = self._with_defaults(args)
        described = [self._described(value) for value in values]
        prepared = self._prepare(described)
        words = _words(prepared.types, described)
        inner = prepared.kernel.bind(grid, block, *words, stream=stream, shared_memory=shared_memory)

        def bound(*others: Any) -> None:
            if len(others) > len(described):
                raise ArgumentError(f"{self.name} is bound with {len(described)} arguments, and got {len(others)}")
            found = [self._described(value) for value in others]
            for at, (type_, each) in enumerate(zip(prepared.types, found, strict=False)):
                if _fit(type_, each) is None:
                    raise ArgumentError(
                        f"{self.name} is bound to what was compiled for {type_} as argument {at + 1}, and "
                        f"{_type_text(each)} is another type: call launch"
                    )
            inner(*_words(prepared.types[: len(found)], found))
            if len(others) == len(described) and self._prepare(found) is prepared:
                self._remember(others, found, prepared)

        if self._source is None:
            return bound
        self._remember(values, described, prepared)
        namespace = {"known": self._known, "own": prepared, "inner": inner, "bound_any": bound}
        return define("bound", self._source.bound(), namespace, f"{self._module}, {self.name}")

    def check(self, args: Sequence[Any], named: Mapping[str, Any], is_unknown: Callable[[Any], bool]) -> None:
        """Raise ArgumentError if nothing was compiled for arguments of these types.

        It is for calls without data. The first of `args` is the block. An argument for which `is_unknown` is true may
        be any integer, and an array with such sizes may have any layout.
        """
        unknown = sorted({*named} - {"stream", "shared_memory"})
        if unknown:
            raise ArgumentError(f"{self.name} takes no argument {unknown[0]!r}")
        described: list[tuple[Any, Any]] = []
        for value in self._with_defaults(args[1:]):
            if is_unknown(value):
                described.append((value, "any integer"))
                continue
            sizes = [*getattr(value, "shape", ()), *(value.stride() if hasattr(value, "stride") else ())]
            if any(map(is_unknown, sizes)):
                element = str(value.dtype).rpartition(".")[2]
                described.append((value, _Array(_ELEMENTS.get(element, element), 0, (0,) * value.dim(), None)))
            else:
                described.append(self._described(value))
        self._chosen(described)

    # --- the arguments ------------------------------------------------------------------------------

    def _with_defaults(self, args: Sequence[Any]) -> Sequence[Any]:
        count = len(self.parameters)
        if len(args) == count:
            return args
        rest = [default for _, _, default in self.parameters[len(args) :]]
        if len(args) > count or None in rest:
            raise ArgumentError(
                f"{self.name} takes {count} argument{'' if count == 1 else 's'}, ({', '.join(self._names)}), but got "
                f"{len(args)}"
            )
        return [*args, *rest]

    def _described(self, value: Any) -> tuple[Any, Any]:
        """Return (value, what a launch has to know of it): an `_Array`, or for a number, its type as Numba names it.

        The number is Python's or NumPy's own. Raises ArgumentError for what no kernel takes.
        """
        kind = type(value)
        if kind is int:
            return value, "int64" if -(1 << 63) <= value < 1 << 63 else "uint64"
        read = _readers.get(kind)
        if read is not None:
            return value, read(value)
        if is_of(kind, "torch", "Tensor"):
            return value, _readers.setdefault(kind, _of_tensor)(value)
        if is_of(kind, "cupy", "ndarray"):
            return value, _readers.setdefault(kind, _of_cupy)(value)
        number = plain_number(value)
        kind = type(number)
        if kind in (bool, float, complex):
            return number, {bool: "boolean", float: "float64", complex: "complex128"}[kind]
        if is_of(kind, "numpy", "generic"):
            return number, _ELEMENTS.get(number.dtype.name, number.dtype.name)
        if hasattr(value, "__cuda_array_interface__"):
            return value, _of_interface(value)
        if exports(kind):
            return value, self._exported(value)
        if hasattr(kind, "__index__"):
            return self._described(int(number))
        raise ArgumentError(f"{self.name} takes arrays on the GPU and numbers, not {value_text(value)}")

    def _exported(self, array: Any) -> _Array:
        """Return what an array says by DLPack, which has no array interface: those of JAX with some element types."""
        need("array-protocols")
        from ...streams import NO_WAIT
        from ..array_protocols import export_for  # rare

        try:
            exported = export_for(array, NO_WAIT)
        except (TypeError, BufferError) as error:
            raise ArgumentError(f"{self.name}: {value_text(array)} {error}") from None
        size = exported.bits // 8
        strides = exported.strides and tuple(size * each for each in exported.strides)
        return _Array(_ELEMENTS.get(exported.dtype, exported.dtype), size, exported.shape, strides)

    # --- the choice ---------------------------------------------------------------------------------

    def _prepare(self, described: Sequence[tuple[Any, Any]]) -> _Prepared:
        """Return how to launch with these arguments; load the variant for them if no launch needed it before."""
        key = tuple(
            (each.element, len(each.shape), each.layouts) if type(each) is _Array else _number_key(value, each)
            for value, each in described
        )
        found = self._prepared.get(key)
        if found is None:
            at = self._chosen(described)
            module = self._load(self._variants[at])
            (name,) = module
            kernel = module[name]
            types: Any = self._types[at]
            found = self._prepared.setdefault(key, _Prepared(kernel, launcher_of(kernel).launch, types))
        return found

    def _chosen(self, described: Sequence[tuple[Any, Any]]) -> int:
        """Return the number of the variant that fits the arguments best; of several, the first. Raises ArgumentError if
        none fits."""
        best: tuple[int, int] | None = None
        for at, types in enumerate(self._types):
            points = [_fit(type_, each) for type_, each in zip(types, described, strict=True)]
            if None not in points:
                total = sum(each for each in points if each is not None)
                if best is None or total > best[0]:
                    best = total, at
        if best is None:
            raise ArgumentError(self._nothing_fits(described))
        return best[1]

    def _nothing_fits(self, described: Sequence[tuple[Any, Any]]) -> str:
        asked = ", ".join(f"{name}: {_type_text(each)}" for name, each in zip(self._names, described, strict=True))

        def distance(at: int) -> int:
            return sum(_distance(type_, each) for type_, each in zip(self._types[at], described, strict=True))

        compiled = [
            ", ".join(f"{name}: {type_}" for name, type_ in zip(self._names, self._types[at], strict=True))
            for at in sorted(range(len(self._types)), key=distance)
        ]
        return nothing_fits(f"{self._module}: {self.name}", "numba", f"({asked})", compiled)


class NumbaModule(PythonModule[NumbaKernel]):
    """A module with Numba kernels: a mapping from their names to kernels. `load` returns one.

    A name is that of the Python function, or "MODULE:FUNCTION" if several modules have one of that name. An unknown
    name raises UnknownKernelError.
    """

    _kernel_type = NumbaKernel


def _of_tensor(tensor: Any) -> _Array:
    element = _tensor_elements.get(tensor.dtype)
    if element is None:
        name = str(tensor.dtype).rpartition(".")[2]
        element = _tensor_elements[tensor.dtype] = _ELEMENTS.get(name, name)
    size = tensor.element_size()
    shape = tuple(tensor.shape)
    return _Array(element, size, shape, None if tensor.is_contiguous() else _bytes(tensor.stride(), size))


_tensor_elements: dict[Any, str] = {}
"""Element type of PyTorch -> Numba's name."""


def _bytes(strides: Sequence[int], size: int) -> tuple[int, ...]:
    return tuple(size * each for each in strides)


def _of_cupy(array: Any) -> _Array:
    return _array_of(array.dtype.str, array.shape, array.strides)


def _of_interface(array: Any) -> _Array:
    interface = array.__cuda_array_interface__
    strides = interface.get("strides")
    return _array_of(interface["typestr"], tuple(interface["shape"]), None if strides is None else tuple(strides))


def _array_of(typestr: str, shape: tuple[int, ...], strides: tuple[int, ...] | None) -> _Array:
    element = typestr if typestr[0] == ">" else _INTERFACE_TYPES.get(typestr[1:], typestr)
    return _Array(element, int(typestr[2:].partition("[")[0]), shape, strides)


_readers: dict[type, Callable[[Any], Any]] = {float: lambda value: "float64", bool: lambda value: "boolean"}
"""Type of an argument -> function that returns what a launch has to know of it."""


def _words(types: Sequence[Type], described: Sequence[tuple[Any, Any]]) -> list[Any]:
    """Return what a kernel gets for arguments of these types."""
    words: list[Any] = []
    for type_, (value, kind) in zip(types, described, strict=True):
        if type(kind) is _Array:
            words += kind.words(value)
        elif type_.element.startswith("complex"):
            words += (value.real, value.imag)
        else:
            words.append(_half(value) if type_.element == "float16" else value)
    return words


def _half(number: Any) -> int:
    """Return the bits of a number as float16, which kernels get as an integer. Raises ArgumentError."""
    try:
        (bits,) = struct.unpack("<H", struct.pack("<e", number))
    except (OverflowError, struct.error):
        raise ArgumentError(f"{value_text(number)} is out of the range of float16") from None
    return int(bits)


def _number_key(value: Any, kind: str) -> Any:
    """Return what the choice of a variant depends on: the type of a number, and of an integer, in which types it
    fits."""
    if kind in _LIMITS:
        return kind, *(low <= value <= high for low, high in _LIMITS.values())
    return kind


def _fit(type_: Type | None, described: tuple[Any, Any]) -> int | None:
    """Return how well an argument fits what was compiled for a type, the more the better; None if it does not fit."""
    value, kind = described
    assert type_ is not None
    if type(kind) is _Array:
        is_same = kind.element == type_.element and len(kind.shape) == type_.ndim
        if not is_same or (kind.size and type_.layout not in kind.layouts):
            return None
        return 2 if type_.layout == "A" else 3
    if type_.ndim is not None:
        return None
    wanted = type_.element
    if kind == wanted:
        return 3
    if kind == "any integer":
        return 1 if wanted in _LIMITS or wanted.startswith("float") else None
    if wanted in _LIMITS:
        if kind not in _LIMITS and kind != "boolean":
            return None
        low, high = _LIMITS[wanted]
        return 2 if low <= int(value) <= high else None
    if wanted.startswith("float"):
        return 1 if kind in _LIMITS or kind == "boolean" or kind.startswith("float") else None
    if wanted.startswith("complex"):
        return 1 if kind in _LIMITS or kind.startswith(("float", "complex")) else None
    return None


def _distance(type_: Type | None, described: tuple[Any, Any]) -> int:
    """Return how far an argument is from what was compiled for a type: 0 if it fits, 1 if only the layout does not."""
    kind = described[1]
    if _fit(type_, described) is not None:
        return 0
    assert type_ is not None
    is_near = type(kind) is _Array and (kind.element, len(kind.shape)) == type_[:2]
    return 1 if is_near else 2


def _type_text(described: tuple[Any, Any]) -> str:
    """Return the type of an argument as Numba writes it, for messages: "float32[:, ::1]", "int64"."""
    value, kind = described
    if type(kind) is _Array:
        return str(Type(kind.element, len(kind.shape), kind.layouts[0])) if kind.shape else f"{kind.element}[()]"
    return f"{kind} ({value_text(value)})" if kind in _LIMITS else str(kind)
