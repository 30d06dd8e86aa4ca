"""cuTile kernels from a wheel: choose what was compiled for the arguments of a launch, and launch it without cuTile.

A module has a variant for each kernel and each set of types, constants and options that it was compiled for (see
`signatures`). The first launch with arguments of some kind looks for the variant and loads it; later ones with equal
types, hints and constants find it in a dictionary.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from ...arguments import is_of, plain_number, value_text
from ...errors import ArgumentError, need
from ...launching import launcher_of
from ...manifest import PythonParameter, macro_text
from ...module import Kernel, Module
from ..python_kernels.kernels import INTERFACE_TYPES, MISSING, PythonKernel, blocks_of, nothing_fits
from ..python_kernels.modules import PythonModule
from .signatures import HINTS, OPTIONS, TYPES, Type, level_of, read_type

__all__ = ["TileKernel", "TileModule"]


class _Array(NamedTuple):
    """What a launch needs to know of an array."""

    element: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    """In elements."""
    level: int
    """Index of the last of HINTS that is true of it."""

    def __str__(self) -> str:
        hint = HINTS[self.level]
        return f"{self.element}[{len(self.shape)}]{f':{hint}' if hint else ''}"


class _Prepared(NamedTuple):
    """How to launch with arguments of one kind."""

    kernel: Kernel
    launch: Callable[..., None]
    types: tuple[Type | None, ...]
    """Type of each parameter that the launch passes on; None for a constant."""


class TileKernel(PythonKernel):
    """A cuTile kernel. `launch(grid, ...)` takes the grid and the arguments of cuTile's own `ct.launch`."""

    def __init__(
        self,
        module: str,
        path: str,
        parameters: Sequence[PythonParameter],
        variants: Sequence[Mapping[str, Any]],
        load: Callable[[Mapping[str, Any]], Module],
    ) -> None:
        super().__init__(module, path, parameters, variants, load)
        self._decides = tuple(
            any(read_type(each.get(name, default)) is None for each in variants) for name, _, default in parameters
        )
        """Whether the value of each parameter, and not only its type, decides which variant is launched."""
        self._prepared: dict[tuple[Any, ...], _Prepared] = {}

    def launch(self, grid: Any, *args: Any, stream: Any = None, **named: Any) -> None:
        """Launch the kernel as cuTile's `ct.launch(stream, grid, kernel, args)` does.

        `grid` has one to three numbers of tile blocks; a grid with a 0 launches nothing. Arguments may be given by
        name. Arrays, numbers and `stream` are as in `Kernel.launch`. Options (`num_ctas`, `occupancy`) choose among
        what was compiled; without them, the first of the settings that fits is launched. What was compiled for arrays
        with more hints is preferred where they are true.

        Raises ArgumentError if nothing was compiled for these arguments; it lists what was. Raises what `load` and
        `Kernel.launch` raise.
        """
        values, options = self._values(args, named)
        seen = [self._seen(value) for value in values]
        prepared = self._prepare(seen, options)
        blocks = blocks_of(self.name, grid)
        if 0 not in blocks:
            prepared.launch(blocks, 1, *_flat(values, seen, prepared.types), stream=stream)

    def bind(self, grid: Any, *args: Any, stream: Any = None, **named: Any) -> Callable[..., None]:
        """Check a launch, and return a function that launches it, the fastest way; nothing is launched yet.

        The parameters are those of `launch`. The function takes the arguments that are not constants, in their order;
        for those that a call leaves out at the end, it uses the ones given here. What was compiled for these arguments
        is launched for all calls: an array that it was not compiled for raises ArgumentError.
        """
        need("bind")
        values, options = self._values(args, named)
        seen = [self._seen(value) for value in values]
        prepared = self._prepare(seen, options)
        blocks = blocks_of(self.name, grid)
        if 0 in blocks:
            return lambda *others: None
        inner = prepared.kernel.bind(blocks, 1, *_flat(values, seen, prepared.types), stream=stream)
        places = [at for at, type_ in enumerate(prepared.types) if type_ is not None]

        def bound(*others: Any) -> None:
            if len(others) > len(places):
                raise ArgumentError(f"{self.name} is bound with {len(places)} arguments, and got {len(others)}")
            if not others:
                inner()
                return
            given, facts = [*values], [*seen]
            for at, value in zip(places, others, strict=False):
                given[at], facts[at] = value, self._seen(value)
                type_ = prepared.types[at]
                if type_ is not None and _fit(type_, facts[at]) is None:
                    name = self.parameters[at][0]
                    raise ArgumentError(
                        f"{self.name}: {name} is {_text(facts[at])}, and what was bound was compiled for "
                        f"{_type_text(type_)}: bind with such an argument, or call launch"
                    )
            inner(*_flat(given, facts, prepared.types))

        return bound

    def __getitem__(self, grid: Any) -> Callable[..., None]:
        """Return a function that launches with this grid."""

        def launch(*args: Any, **named: Any) -> None:
            self.launch(grid, *args, **named)

        return launch

    def check(self, args: Sequence[Any], named: Mapping[str, Any], is_unknown: Callable[[Any], bool]) -> None:
        """Raise ArgumentError if nothing was compiled for arguments of these types and for these constants.

        It is for calls without data: arrays may be as any hint says, and an argument for which `is_unknown` is true may
        be any number.
        """
        values, options = self._values(args, named)
        seen: list[Any] = []
        for value in values:
            if is_unknown(value):
                seen.append(is_unknown)
            elif hasattr(value, "dtype") and hasattr(value, "shape"):
                seen.append(_Array(self._element(value), (0,) * len(value.shape), (0,) * len(value.shape), 3))
            else:
                seen.append(self._seen(value))
        self._chosen(seen, options, is_unknown)

    # --- the arguments ------------------------------------------------------------------------------

    def _values(self, args: Sequence[Any], named: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        """Return the value of each parameter, and the options; raises ArgumentError."""
        values, options = self._given(args, named, OPTIONS.__contains__)
        for at, (name, _, default) in enumerate(self.parameters):
            if values[at] is MISSING:
                if default is None:
                    raise ArgumentError(f"{self.name} got no value for {name!r}")
                values[at] = default
        return values, options

    def _seen(self, value: Any) -> Any:
        """Return what the choice of a variant needs to know of an argument: an `_Array`, or a number of Python.

        Raises ArgumentError for what no cuTile kernel takes.
        """
        if type(value) in (int, float, bool):
            return value
        is_array = hasattr(value, "data_ptr") or hasattr(value, "__cuda_array_interface__")
        if is_array and (getattr(value, "shape", None) != () or hasattr(value, "data_ptr")):
            return self._array(value)
        number = plain_number(value)
        if hasattr(type(number), "__index__"):
            return bool(number) if type(number) is bool else int(number)
        if hasattr(type(number), "__float__") and not hasattr(value, "__dlpack__"):
            return float(number)
        raise ArgumentError(
            f"{self.name} takes arrays on the GPU that tell their strides (PyTorch's, CuPy's and those with "
            f"__cuda_array_interface__), and numbers, not {value_text(value)}"
        )

    def _array(self, array: Any) -> _Array:
        element = self._element(array)
        size = TYPES[element][1]
        shape = tuple(map(int, array.shape)) if hasattr(array, "shape") else None
        if hasattr(array, "data_ptr"):
            address, strides = int(array.data_ptr()), tuple(map(int, array.stride()))
        elif is_of(type(array), "cupy", "ndarray"):
            address, strides = int(array.data.ptr), tuple(stride // size for stride in array.strides)
        else:
            interface = array.__cuda_array_interface__
            address, shape = int(interface["data"][0]), tuple(map(int, interface["shape"]))
            bytes_ = interface.get("strides")
            if bytes_ is not None and any(stride % size for stride in bytes_):
                raise ArgumentError(f"{self.name}: an array's strides {tuple(bytes_)} are not whole elements")
            strides = _row_major(shape) if bytes_ is None else tuple(stride // size for stride in bytes_)
        assert shape is not None
        level = level_of(address, shape, strides, size)
        if level is None:
            raise ArgumentError(f"{self.name}: an array has negative strides, {strides}, which cuTile does not take")
        return _Array(element, shape, strides, level)

    def _element(self, array: Any) -> str:
        """Return the name of an array's element type; raises ArgumentError for a type that cuTile lacks."""
        if hasattr(array, "dtype"):
            name = str(array.dtype).rpartition(".")[2]  # "torch.float32", "float32"
        else:  # "<f4"
            name = str(array.__cuda_array_interface__["typestr"])
            name = INTERFACE_TYPES.get(name[1:], name)
        if name not in TYPES:
            raise ArgumentError(
                f"{self.name}: an array of {name or 'an unknown element type'} is of no type that cuTile kernels "
                f"take: {', '.join(TYPES)}"
            )
        return name

    # --- the choice ---------------------------------------------------------------------------------

    def _prepare(self, seen: Sequence[Any], options: Mapping[str, Any]) -> _Prepared:
        """Return how to launch with these arguments; load the variant for them if no launch needed it before."""
        key = tuple(
            (each.element, len(each.shape), each.level)
            if type(each) is _Array
            else (type(each), each if decides else None)
            for each, decides in zip(seen, self._decides, strict=True)
        ) + tuple(options.items())
        found = self._prepared.get(key)
        if found is None:
            chosen = self._chosen(seen, options)
            module = self._load(chosen)
            (name,) = module
            kernel = module[name]
            types = tuple(read_type(chosen.get(name, default)) for name, _, default in self.parameters)
            found = self._prepared.setdefault(key, _Prepared(kernel, launcher_of(kernel).launch, types))
        return found

    def _chosen(self, seen: Sequence[Any], options: Mapping[str, Any], any_: Any = None) -> Mapping[str, Any]:
        """Return the variant for these arguments: of those that fit, the one that was compiled with the most hints; of
        several, the first. An argument that is `any_` may have any value. Raises ArgumentError if none fits."""
        best: tuple[int, Mapping[str, Any]] | None = None
        for each in self._variants:
            points = self._points(each, seen, options, any_)
            if points is not None and (best is None or points > best[0]):
                best = points, each
        if best is None:
            raise ArgumentError(self._nothing_fits(seen, options))
        return best[1]

    def _points(
        self, compiled: Mapping[str, Any], seen: Sequence[Any], options: Mapping[str, Any], any_: Any
    ) -> int | None:
        """Return how well a variant fits, by the hints that it was compiled with; None if it does not fit."""
        if any(macro_text(compiled.get(name, "")) != macro_text(value) for name, value in options.items()):
            return None
        total = 0
        for value, (name, _, default) in zip(seen, self.parameters, strict=True):
            built = compiled.get(name, default)
            type_ = read_type(built)
            if any_ is not None and value is any_:
                points = 0 if type_ is None or type_.ndim is None else None
            elif type_ is None:
                same = type(value) is not _Array and type(value) is type(built) and value == built
                points = 0 if same else None
            else:
                points = _fit(type_, value)
            if points is None:
                return None
            total += points
        return total

    def _nothing_fits(self, seen: Sequence[Any], options: Mapping[str, Any]) -> str:
        pairs = [*zip(self._names, map(_text, seen), strict=True), *options.items()]
        asked = ", ".join(f"{name}={value}" for name, value in pairs)

        def differing(compiled: Mapping[str, Any]) -> int:
            return sum(str(compiled.get(name)) != str(value) for name, value in pairs)

        compiled = [
            ", ".join(f"{name}={each[name]}" for name in (*self._names, *OPTIONS) if name in each)
            for each in sorted(self._variants, key=differing)
        ]
        return nothing_fits(f"{self._module}: {self.name}", "tile", asked, compiled)


class TileModule(PythonModule[TileKernel]):
    """A module with cuTile kernels: a mapping from their names to kernels. `load` returns one.

    A name is that of the Python function, or "MODULE:FUNCTION" if several modules have one of that name. An unknown
    name raises UnknownKernelError.
    """

    _kernel_type = TileKernel


def _fit(type_: Type, value: Any) -> int | None:
    """Return how well an argument fits what was compiled for a type, the more hints the better; None if it does not."""
    if type_.ndim is not None:
        is_fit = type(value) is _Array and (value.element, len(value.shape)) == (type_.element, type_.ndim)
        return type_.level if is_fit and type_.level <= value.level else None
    if type(value) is bool:
        return 0 if type_.element == "bool" else None
    if type(value) is int:  # the launch checks whether the type holds it
        return 1 if type_.element == "int32" else 0 if type_.element.startswith(("int", "uint")) else None
    if type(value) is float:
        return 1 if type_.element == "float32" else 0 if type_.element == "float64" else None
    return None


def _flat(values: Sequence[Any], seen: Sequence[Any], types: Sequence[Type | None]) -> list[Any]:
    """Return the arguments of the compiled kernel: of an array the array itself, its lengths and its strides."""
    flat: list[Any] = []
    for value, facts, type_ in zip(values, seen, types, strict=True):
        if type_ is not None:
            flat.append(value)
            if type_.ndim is not None:
                flat += [*facts.shape, *facts.strides]
    return flat


def _row_major(shape: Sequence[int]) -> tuple[int, ...]:
    strides, stride = [], 1
    for length in reversed(shape):
        strides.append(stride)
        stride *= length
    return tuple(reversed(strides))


def _text(seen: Any) -> str:
    """Return an argument as a variant has it: "float32[2]:16", "int", "1024"."""
    return str(seen) if type(seen) in (_Array, int, float, bool) else "a number"


def _type_text(type_: Type) -> str:
    return (
        str(_Array(type_.element, (0,) * (type_.ndim or 0), (), type_.level))
        if type_.ndim is not None
        else type_.element
    )
