"""Triton kernels from a wheel: choose what was compiled for the arguments of a launch, and launch it without Triton.

A module has a variant for each kernel and each set of types, constants and options that it was compiled for (see
`signatures`). The first launch with arguments of some kind looks for the variant and loads it; later ones with equal
types, hints and constants find it in a dictionary.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from math import prod
from typing import Any, NamedTuple

from ...arguments import is_of, plain_number, value_text
from ...driver import check_result, cuda_driver, current_device, device_attribute
from ...errors import ArgumentError, ImageError, need
from ...generated import define
from ...launching import launcher_of
from ...manifest import PythonParameter, macro_text
from ...module import Kernel, Module
from ...streams import block_stream, stream_address
from ..python_kernels.kernels import INTERFACE_TYPES, MISSING, PythonKernel, blocks_of, nothing_fits
from ..python_kernels.modules import PythonModule
from .descriptors import Descriptors, block_of, is_descriptor
from .signatures import KERNEL, OPTIONS, TYPES, Type, constant_text, read_type, value_of
from .tuned import TunedChoices, agrees, has_table

__all__ = ["TritonKernel", "TritonModule", "constants_of", "figures_of"]


_ELEMENTS = {name: element for element, (_, name) in TYPES.items() if element != "u1"}
"""Name of an array's element type -> Triton's name: "float32" -> "fp32"."""

_ANY = ":?"
"""In the place of a hint: the address or number may be any. Alone: the constant may be any."""

_MOST_KEYS = 4096
"""Maximum number of keys of one generated `launch`. Values of arguments are in keys only if a table chooses by them."""

_ALWAYS_THERE = 48 << 10
"""Bytes of shared memory that a block can have on every GPU. Source: CUDA C++ Programming Guide, "Shared Memory"."""

_I32, _I64, _U64 = 1 << 31, 1 << 63, 1 << 64


_Compiled = Mapping[str, Any]
"""What one kernel was compiled for: the values of a variant by parameter and option; see `signatures`."""


class _Prepared(NamedTuple):
    """How to launch with arguments of one kind."""

    kernel: Kernel
    launch: Callable[..., None]
    places: tuple[int, ...]
    """Numbers of the arguments that the kernel takes."""
    types: tuple[Type, ...]
    """Type of each of them."""
    hidden: tuple[None, ...]
    """Arguments for the parameters that Triton adds."""
    threads: int
    blocks: int
    """Blocks of a cluster, by which the grid grows."""
    options: Mapping[str, Any]
    """Shared memory and attributes of the launch, for `Kernel.launch`."""
    scratch: int
    """Bytes of global memory that each block needs."""
    constants: Mapping[str, Any]
    """Constants and options by name, for a grid that is a function."""
    descriptors: Descriptors | None
    """Conversion of the arguments that are tensor descriptors; None if none is."""


class TritonKernel(PythonKernel):
    """A Triton kernel. `launch(grid, ...)` takes what Triton's own `kernel[grid]` is called with."""

    module: "TritonModule"
    """The module that the kernel is of."""

    def __init__(
        self,
        module: str,
        path: str,
        parameters: Sequence[PythonParameter],
        variants: Sequence[_Compiled],
        load: Callable[[Mapping[str, Any]], Module],
        tuned: TunedChoices | None = None,
    ) -> None:
        super().__init__(module, path, parameters, variants, load)
        self._tuned = tuned
        self._options = {name for each in variants for name in each} - {KERNEL, *(name for name, _, _ in parameters)}
        """Names of the options that variants were compiled with."""
        self._arguments = frozenset(at for at, (_, kind, _) in enumerate(parameters) if kind == "argument")
        self._prepared: dict[tuple[Any, ...], _Prepared] = {}
        self._elements: dict[Any, str] = {}
        """Element type of an array, as its library has it -> Triton's name."""
        self._known: dict[tuple[Any, ...], tuple[Callable[..., None], Mapping[str, Any]]] = {}
        """Key of the generated `launch` -> (function that launches, `_Prepared.constants`)."""
        self._runs: dict[int, Callable[..., None]] = {}
        """`id` of what `_prepared` has -> function that launches."""
        source = _launch_source(self.parameters, variants, tuned.keys if tuned else frozenset())
        if source is not None:
            defaults = [
                MISSING if default is None or kind in ("tuned", "computed") else value_of(default)
                for _, kind, default in self.parameters
            ]
            namespace = {"defaults": defaults, "known": self._known, "launch_any": self._launch}
            self.__dict__["launch"] = define("launch", source, namespace, f"{module}, {self.name}")
            self.__dict__["launch"].__doc__ = type(self).launch.__doc__

    def launch(self, grid: Any, *args: Any, stream: Any = None, **named: Any) -> None:
        """Launch the kernel as Triton does when `kernel[grid]` is called with these arguments.

        `grid` has one to three numbers of blocks, or is a function of all arguments, constants and options by name that
        returns them; a grid with a 0 launches nothing. Arrays, numbers and `stream` are as in `Kernel.launch`. Options
        (`num_warps`, `num_stages`, `num_ctas`) choose among what was compiled. Of what a launch leaves open, the table
        of `cuda-wheel tune` chooses if the package has one, else the settings' first that fits is launched. What was
        compiled for arguments that are divisible by 16, or equal to 1, is preferred where they are.

        Raises ArgumentError if nothing was compiled for these arguments; it lists what was. Raises what `load` and
        `Kernel.launch` raise.
        """
        self._launch(grid, args, named, stream)

    def _launch(
        self,
        grid: Any,
        args: Sequence[Any],
        named: Mapping[str, Any],
        stream: Any,
        key: tuple[Any, ...] | None = None,
    ) -> None:
        """Launch with the arguments of `launch`, some of which may be `MISSING`.

        `key` is that of the generated function, which later finds under it how to launch; None if it has none for these
        arguments.
        """
        values, options = self._values(args, named)
        prepared = self._prepare(values, options)
        blocks = self._grid(grid, values, prepared)
        if 0 in blocks:
            return
        given = [values[at] for at in prepared.places]
        if prepared.scratch or prepared.descriptors:
            self._launch_otherwise(blocks, prepared, given, stream)
            return
        prepared.launch(blocks, prepared.threads, *given, *prepared.hidden, stream=stream, **prepared.options)
        if key is not None and prepared.blocks == 1:
            run = self._runs.get(id(prepared))
            if run is None:
                run = self._runs[id(prepared)] = _quick_launch(prepared, len(values))
            if len(self._known) >= _MOST_KEYS:
                self._known.clear()
            self._known[key] = run, prepared.constants

    def _launch_otherwise(
        self, blocks: tuple[int, ...], prepared: _Prepared, given: Sequence[Any], stream: Any
    ) -> None:
        """Launch with tensor descriptors, or with scratch memory, which is allocated and freed on the launch's
        stream."""
        arrays = given
        if prepared.descriptors is not None:
            given = prepared.descriptors.expanded(given)
            arrays = prepared.descriptors.arrays(arrays)
        chosen = _stream_of(prepared.kernel, arrays, stream)
        if not prepared.scratch:
            prepared.launch(blocks, prepared.threads, *given, *prepared.hidden, stream=chosen, **prepared.options)
            return
        driver = cuda_driver()
        size = prepared.scratch * prod(blocks)
        result = driver.cuMemAllocAsync(size, chosen)
        address = int(check_result(result, f"allocating {size} bytes of scratch memory"))
        try:
            prepared.launch(
                blocks, prepared.threads, *given, address, *prepared.hidden[1:], stream=chosen, **prepared.options
            )
        finally:
            check_result(driver.cuMemFreeAsync(address, chosen), "freeing scratch memory")

    def bind(self, grid: Any, *args: Any, stream: Any = None, **named: Any) -> Callable[..., None]:
        """Check a launch, and return a function that launches it, the fastest way; nothing is launched yet.

        The parameters are those of `launch`. The function takes the arguments that are not constants, in their order;
        for those that a call leaves out at the end, it uses the ones given here. What was compiled for these arguments
        is launched for all calls: an array at an address, or a number, that it was not compiled for raises
        ArgumentError.

            step = kernel.bind(grid, x, y, out, n, BLOCK=1024)
            step(y, x)
        """
        need("bind")
        values, options = self._values(args, named)
        prepared = self._prepare(values, options)
        blocks = self._grid(grid, values, prepared)
        given = [values[at] for at in prepared.places]
        if 0 in blocks:
            return lambda *others: None
        if prepared.scratch or prepared.descriptors:

            def inner(*others: Any) -> None:
                self._launch_otherwise(blocks, prepared, [*others, *given[len(others) :]], stream)

        else:
            inner = prepared.kernel.bind(
                blocks, prepared.threads, *given, *prepared.hidden, stream=stream, **prepared.options
            )
        hinted = [
            (at, value, bool(type_.pointer))
            for at, (value, type_) in enumerate(zip(given, prepared.types, strict=True))
            if type_.hint
        ]
        count = len(given)

        def bound(*others: Any) -> None:
            for at, value, is_pointer in hinted:
                if at < len(others):
                    value = others[at]
                if (_address(value) if is_pointer else value) & 15:
                    raise ArgumentError(
                        f"{self.name} is bound to what was compiled for a multiple of 16 as argument {at + 1}, and "
                        f"{value_text(value)} is {'at no such address' if is_pointer else 'none'}: bind it with this "
                        "argument, or call launch"
                    )
            if len(others) > count:
                raise ArgumentError(f"{self.name} is bound with {count} arguments, and got {len(others)}")
            inner(*others)

        return bound

    # --- the arguments ------------------------------------------------------------------------------

    def _values(self, args: Sequence[Any], named: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        """Return the value of each parameter, and the options; raises ArgumentError."""
        values, options = self._given(
            args, named, lambda name: name in OPTIONS or any(name in each for each in self._variants)
        )
        if any(value is MISSING for value in values):
            for at, (name, kind, default) in enumerate(self.parameters):
                if values[at] is not MISSING or kind == "tuned":
                    continue
                if kind == "computed" or default is None:
                    computed = ", which triton.heuristics computes in Triton's own launch: pass its value"
                    raise ArgumentError(
                        f"{self.name} got no value for {name!r}{computed if kind == 'computed' else ''}"
                    )
                values[at] = value_of(default)
        return values, options

    def _kind_at(self, at: int, value: Any) -> str:
        """Return the value of parameter number `at` as a variant would have it; raises ArgumentError."""
        return self._kind(value) if at in self._arguments else _constant_text(value)

    def _kind(self, value: Any) -> str:
        """Return a value as Triton would specialize for it: "*fp32:16", "i32", "i32:1", "fp32" or "None".

        Raises ArgumentError for what no Triton kernel takes.
        """
        kind = type(value)
        if kind is not int:
            if kind is float:
                return "fp32"
            if value is None:
                return "None"
            if is_descriptor(value):
                return f"tensordesc<{self.element(value.base)}[{', '.join(map(str, block_of(value)))}]>"
            if hasattr(value, "dtype") and getattr(value, "shape", None) != ():
                return self._kind_of_array(value)
            if hasattr(value, "data_ptr") or hasattr(value, "__cuda_array_interface__"):
                return self._kind_of_array(value)
            value = plain_number(value)
            kind = type(value)
        if kind is bool:
            return "i1"
        if hasattr(kind, "__index__"):
            number = int(value)
            hint = ":1" if number == 1 else "" if number % 16 else ":16"
            if -_I32 <= number < _I32:
                return f"i32{hint}"
            if -_I64 <= number < _U64:
                return f"{'i64' if number < _I64 else 'u64'}{hint}"
        if hasattr(kind, "__float__"):
            return "fp32"
        raise ArgumentError(
            f"{self.name} takes arrays on the GPU, numbers, tensor descriptors and None, not {value_text(value)}"
        )

    def _kind_of_array(self, array: Any) -> str:
        element = self.element(array)
        return f"*{element}:16" if _address(array) % 16 == 0 else f"*{element}"

    def element(self, array: Any) -> str:
        """Return Triton's name of an array's element type; raises ArgumentError for a type that Triton lacks."""
        element = self._elements.get(array.dtype) if hasattr(array, "dtype") else None
        if element is None:
            if hasattr(array, "dtype"):
                name = str(array.dtype).rpartition(".")[2]  # "torch.float32", "float32"
            else:  # "<f4"
                name = str(array.__cuda_array_interface__["typestr"])
                name = INTERFACE_TYPES.get(name[1:], name)
            element = _ELEMENTS.get(name)
            if element is None:
                raise ArgumentError(
                    f"{self.name}: an array of {name or 'an unknown element type'} is of no type that Triton has: "
                    f"{', '.join(_ELEMENTS)}"
                )
            if hasattr(array, "dtype"):
                self._elements[array.dtype] = element
        return element

    def _grid(self, grid: Any, values: Sequence[Any], prepared: _Prepared) -> tuple[int, ...]:
        """Return the numbers of blocks; raises ArgumentError."""
        if callable(grid):
            grid = grid({**dict(zip(self._names, values, strict=True)), **prepared.constants})
        blocks = blocks_of(self.name, grid)
        return (blocks[0] * prepared.blocks, *blocks[1:])

    def check(self, args: Sequence[Any], named: Mapping[str, Any], is_unknown: Callable[[Any], bool]) -> None:
        """Raise ArgumentError if nothing was compiled for arguments of these types and for these constants.

        It is for calls without data: arrays may lie at any address, and an argument for which `is_unknown` is true may
        be any integer of 32 bits.
        """

        def kind(name: str, value: Any) -> str | None:
            if is_unknown(value):
                return f"i32{_ANY}" if self._names[name] in self._arguments else _ANY
            return f"*{self.element(value)}{_ANY}" if hasattr(value, "data_ptr") else None

        self.chosen(args, named, kind)

    def chosen(
        self, args: Sequence[Any], named: Mapping[str, Any], kind_of: Callable[[str, Any], str | None]
    ) -> _Compiled:
        """Return the variant that a launch with these arguments takes; raises ArgumentError if none fits.

        `kind_of` returns the kind of a parameter's value, such as "*fp32:16" for an array at an address that is
        divisible by 16; None for a value that is treated as in a launch.
        """
        values, options = self._values(args, named)
        kinds = [
            kind_of(name, value) or self._kind_at(at, value)
            for (name, at), value in zip(self._names.items(), values, strict=True)
        ]
        return self._fitting(kinds, values, options)[0]

    # --- the choice ---------------------------------------------------------------------------------

    def _prepare(self, values: Sequence[Any], options: Mapping[str, Any]) -> _Prepared:
        """Return how to launch with these arguments; load the variant for them if no launch needed it before."""
        kinds = [self._kind_at(at, value) for at, value in enumerate(values)]
        tuned = self._tuned.choice(values, kinds) if self._tuned and self._leaves_open(values, options) else ()
        key = (*kinds, *options.items(), tuned) if options or tuned else tuple(kinds)
        try:
            return self._prepared[key]
        except KeyError:
            pass
        fitting = self._fitting(kinds, values, options, dict(tuned))
        found = prepared = self._loaded(fitting[0])
        # As Triton's autotuner, leave out what needs more shared memory than the GPU has.
        while not _has_memory(found) and len(fitting) > 1:
            del fitting[0]
            found = self._loaded(fitting[0])
        return self._prepared.setdefault(key, found if _has_memory(found) else prepared)

    def _leaves_open(self, values: Sequence[Any], options: Mapping[str, Any]) -> bool:
        """Return whether a launch leaves out constants or options, so that several variants may fit."""
        return any(value is MISSING for value in values) or not self._options <= options.keys()

    def _fitting(
        self,
        kinds: Sequence[str],
        values: Sequence[Any],
        options: Mapping[str, Any],
        tuned: Mapping[str, Any] = {},
    ) -> list[_Compiled]:
        """Return the variants that fit arguments of these kinds, the best first: those with the constants and options
        `tuned`, then those that were compiled with the most hints, in the order of the settings. Raises ArgumentError
        if none fits."""
        ranks = []
        for number, each in enumerate(self._variants):
            points = self._points(each, kinds, values, options)
            if points is not None:
                ranks.append((not agrees(each, tuned), -points, number))
        if not ranks:
            raise ArgumentError(self._nothing_fits(kinds, options))
        return [self._variants[number] for _, _, number in sorted(ranks)]

    def _points(
        self, compiled: _Compiled, kinds: Sequence[str], values: Sequence[Any], options: Mapping[str, Any]
    ) -> int | None:
        """Return how well a variant fits, by the hints that it was compiled with; None if it does not fit."""
        total = 0
        for (name, _, default), kind, value in zip(self.parameters, kinds, values, strict=True):
            built = compiled.get(name, default)
            if read_type(built) is not None:
                points = _fit(str(built), kind)
            else:  # a constant that the launch leaves out may have any value that was compiled
                points = 1 if value is MISSING or kind in (_ANY, macro_text(built)) else None
            if points is None:
                return None
            total += points
        return total if agrees(compiled, options) else None

    def _nothing_fits(self, kinds: Sequence[str], options: Mapping[str, Any]) -> str:
        pairs = [*zip(self._names, kinds, strict=True), *options.items()]
        asked = ", ".join(f"{name}={value}" for name, value in pairs)

        def differing(compiled: _Compiled) -> int:
            return sum(str(compiled.get(name)) != str(value) for name, value in pairs)

        compiled = [
            ", ".join(f"{name}={each[name]}" for name in (*self._names, *OPTIONS) if name in each)
            for each in sorted(self._variants, key=differing)
        ]
        return nothing_fits(f"{self._module}: {self.name}", "triton", asked, compiled)

    def _loaded(self, compiled: _Compiled) -> _Prepared:
        """Load a variant, and prepare its launches."""
        module = self._load(compiled)
        (name,) = module
        kernel = module[name]
        threads, blocks, options, scratch = figures_of(kernel)
        types = {
            at: type_
            for at, (name, _, default) in enumerate(self.parameters)
            if (type_ := read_type(compiled.get(name, default))) is not None and type_.hint != "1"
        }
        names = [self.parameters[at][0] for at in types]
        blocked = {place: type_ for place, type_ in enumerate(types.values()) if type_.block}
        own = [each.name for each in kernel.info.parameters]
        descriptors = None
        if blocked:
            descriptors = Descriptors(blocked, names, module.image.resources[kernel.info.symbol], own)
        return _Prepared(
            kernel=kernel,
            launch=launcher_of(kernel).launch,
            places=tuple(types),
            types=tuple(types.values()),
            hidden=(None,) * (len(own) - len(types) - (descriptors.further if descriptors else 0)),
            threads=threads,
            blocks=blocks,
            options=options,
            scratch=scratch,
            constants=constants_of(compiled),
            descriptors=descriptors,
        )

    def __getitem__(self, grid: Any) -> Callable[..., None]:
        """Return a function that launches with this grid, as `kernel[grid]` does in Triton."""

        def launch(*args: Any, **named: Any) -> None:
            self.launch(grid, *args, **named)

        return launch


class TritonModule(PythonModule[TritonKernel]):
    """A module with Triton kernels: a mapping from their names to kernels. `load` returns one.

    A name is that of the Python function, or "MODULE:FUNCTION" if several modules have one of that name. An unknown
    name raises UnknownKernelError.
    """

    _kernel_type = TritonKernel

    def _new_kernel(
        self,
        path: str,
        parameters: Sequence[PythonParameter],
        variants: Sequence[Mapping[str, Any]],
        load: Callable[[Mapping[str, Any]], Module],
        device: int | None,
    ) -> TritonKernel:
        tuned = self._tuned_choices(path, parameters, variants, device) if has_table(self.name) else None
        kernel = TritonKernel(self.name, path, parameters, variants, load, tuned)
        kernel.module = self
        return kernel

    def _tuned_choices(
        self, path: str, parameters: Sequence[PythonParameter], variants: Sequence[_Compiled], device: int | None
    ) -> TunedChoices | None:
        """Return what the module's table has for the launches of a kernel; None if it has nothing. Raises ImageError
        for a table that is not valid."""
        need("tuned-tables")
        from ..tuned_rows import table_of  # few modules have a table

        rows, where = table_of(self.name)
        short = path.rpartition(":")[2]
        names = (path, short) if len(self._by_name[short]) == 1 else (path,)
        own = [row for row in rows if row.name in names]
        return TunedChoices(own, where, parameters, variants, device) if own else None


_LAUNCH = """
def launch(grid, {parameters}, *more, stream=None, **options):
    key = run = None
    if not options and not more:
        try:
            key = ({key})
            run, constants = known[key]
        except Exception:
            pass
    if run is not None:
        blocks = grid({{{values}, **constants}}) if callable(grid) else grid
        kind = type(blocks)
        if (kind is tuple and 0 not in blocks) or (kind is int and blocks):
            return run(blocks, stream, {names})
        grid = blocks
    launch_any(grid, [{names}, *more], options, stream, key)
"""
"""Source of `TritonKernel.launch`. The key has what the choice of the variant depends on; for arguments of unusual
types it raises an exception, which may be any. `run` launches the variant that was chosen for the key before."""

_OWN_NAMES = {
    "grid", "more", "stream", "options", "key", "run", "known", "defaults", "launch_any", "blocks", "kind", "constants",
    "fail",
}  # fmt: skip


def _launch_source(
    parameters: Sequence[PythonParameter], variants: Sequence[Mapping[str, Any]], tuned: Collection[str]
) -> str | None:
    """Return the source of a kernel's `launch`; None for a kernel whose parameters have names that it needs, and for
    one with tensor descriptors.

    `tuned` are the parameters by whose values the table of tuned choices chooses.
    """
    names = [name for name, _, _ in parameters]
    if not names or not _OWN_NAMES.isdisjoint(names):
        return None
    keys = []
    for name, kind, default in parameters:
        types = [read_type(each.get(name, default)) for each in variants]
        if any(type_ is not None and type_.block for type_ in types):
            return None
        if kind != "argument":
            has_floats = any(isinstance(each.get(name, default), float) for each in variants)
            constant = f"{name}.hex() if type({name}) is float else {name}"  # 0.0 == -0.0
            keys.append(f"type({name}), {constant if has_floats else name}")
        elif None in types:
            keys.append(f"{name} is None or fail()")
        elif all(type_ is not None and type_.pointer for type_ in types):
            keys.append(f"{name}.dtype, {name}.data_ptr() & 15 == 0")
        else:
            is_small = f"type({name}) is int and -0x80000000 <= {name} < 0x80000000"
            if name in tuned:
                keys.append(f"(type({name}), {name}) if {is_small} or type({name}) is float else fail()")
            else:
                other = f"type({name}) is float or fail()"
                keys.append(f"({name} & 15 == 0, {name} == 1) if {is_small} else {other}")
    return _LAUNCH.format(
        parameters=", ".join(f"{name}=defaults[{at}]" for at, name in enumerate(names)),
        key=", ".join(keys) + ",",
        names=", ".join(names),
        values=", ".join(f"{name!r}: {name}" for name in names),
    )


def _has_memory(prepared: _Prepared) -> bool:
    """Return whether the current GPU has the shared memory that a block needs."""
    size: int = prepared.options.get("shared_memory", 0)
    return size <= _ALWAYS_THERE or size <= device_attribute("MAX_SHARED_MEMORY_PER_BLOCK_OPTIN", current_device() or 0)


def _quick_launch(prepared: _Prepared, count: int) -> Callable[..., None]:
    """Return a function of the grid, the stream and a value for each of `count` parameters, which launches."""
    names = [f"a{at}" for at in range(count)]
    given = "".join(f"a{at}, " for at in prepared.places)
    source = (
        f"def run(grid, stream, {', '.join(names)}):\n"
        f"    launch(grid, {prepared.threads}, {given}{'None, ' * len(prepared.hidden)}stream=stream, **options)"
    )
    namespace = {"launch": prepared.launch, "options": prepared.options}
    return define(
        "run", source if prepared.options else source.replace(", **options", ""), namespace, prepared.kernel.name
    )


class Figures(NamedTuple):
    """What every launch of a compiled kernel needs besides its grid and arguments."""

    threads: int
    blocks: int
    """Blocks of a cluster, by which the grid grows."""
    options: Mapping[str, Any]
    """Shared memory and attributes of the launch, for `Kernel.launch`."""
    scratch: int
    """Bytes of global memory that each block needs."""


def figures_of(kernel: Kernel) -> Figures:
    """Return the figures of a loaded kernel. Raises ImageError for a manifest without them."""
    module = kernel.module
    figures = module.image.resources.get(kernel.info.symbol, {})
    if "threads" not in figures:
        raise ImageError(f"the manifest of {module.manifest.full_name} is damaged: it has no threads")
    blocks = figures.get("ctas", 1)
    options: dict[str, Any] = {"shared_memory": figures["dynamic_shared"]} if "dynamic_shared" in figures else {}
    options |= {name: True for name in ("cooperative", "programmatic") if name in figures}
    options |= {"cluster": blocks} if blocks > 1 else {}
    return Figures(figures["threads"], blocks, options, figures.get("global_scratch", 0))


def constants_of(compiled: Mapping[str, Any]) -> dict[str, Any]:
    """Return the constants and options of a variant by name."""
    return {name: value_of(value) for name, value in compiled.items() if name != KERNEL and read_type(value) is None}


def _fit(built: str, kind: str) -> int | None:
    """Return how well an argument of the kind `kind` fits what was compiled for the type `built`: 0 and more, the more
    hints the better; None if it does not fit. ("i32", "i32:16") -> 1, ("i32:16", "i32:16") -> 3."""
    want, given = read_type(built), read_type(kind.removesuffix(_ANY))
    if want is None or given is None or bool(want.pointer) != bool(given.pointer):
        return None
    if want.block or given.block:
        return 1 if want == given else None
    if want.hint not in ("", given.hint) and not kind.endswith(_ANY):
        return None
    points = 2 if want.hint else 0
    if want.element == given.element:
        return points + 1
    if want.pointer or given.pointer:
        return None
    # What does not fit into 32 bits needs a wider integer. Of others, the launch checks whether the type holds them.
    wider = {"i32": ("i", "u"), "i64": ("i64", "u64"), "u64": ("u64",)}.get(given.element, ())
    if want.element.startswith(wider) and want.element != "i1":
        return points
    return points if (given.element, want.element) == ("fp32", "fp64") else None


def _constant_text(value: Any) -> str:
    """Return a constant as the text that a variant's value has; see `constant_text`."""
    return "left out" if value is MISSING else constant_text(value)


def _address(array: Any) -> int:
    """Return the address of an array; 1, which is divisible by nothing, if it is not known."""
    if hasattr(array, "data_ptr"):
        return int(array.data_ptr())
    if is_of(type(array), "cupy", "ndarray"):
        return int(array.data.ptr)
    try:
        return int(array.__cuda_array_interface__["data"][0])
    except Exception:  # JAX's arrays of bfloat16, and arrays that only DLPack exports
        return 1


def _stream_of(kernel: Kernel, given: Sequence[Any], stream: Any) -> int:
    """Return the address of the stream on which `Kernel.launch` launches with these arguments."""
    if stream is None:
        stream = block_stream()
    if stream is not None:
        return stream_address(stream)
    arrays = tuple(value for value in given if type(value) not in (int, float, bool))
    return launcher_of(kernel).find_stream(arrays, current_device() or 0)
