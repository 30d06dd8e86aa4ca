"""Generate the functions that launch a kernel, and compile all source that is generated at run time.

Straight-line source is faster than a loop over a kernel's parameters at each call, which would take as long as all the
rest of a launch; benchmarks/launch.py measures that. With CUDA_WHEEL_PRINT_GENERATED=1, the source of each generated
function is printed to standard error, those of operators and gradients included.
"""

import operator
import os
import struct
import sys
from collections.abc import Callable, Sequence
from textwrap import indent
from typing import TYPE_CHECKING, Any

from . import dlpack
from .arguments import Converter, Kept, is_of
from .arrays import PointerConverter, device_of
from .arrays_in_use import keep
from .driver import current_device
from .streams import FindStream, block_stream, stream_address, stream_blocks

if TYPE_CHECKING:
    from .configurations import Configuration

__all__ = ["LaunchFunctions", "Missing", "Slot", "converted", "define"]


def define(name: str, source: str, namespace: dict[str, Any], origin: str) -> Callable[..., Any]:
    """Return the function `name` that a source defines in a namespace, whose names it uses.

    `origin` says in tracebacks and in the printed source what the function is for: "saxpy", "demo::swish".
    """
    if os.environ.get("CUDA_WHEEL_PRINT_GENERATED", "0") not in ("", "0"):
        print(f"# cuda-wheel generated {name} for {origin}:\n{source.strip()}\n", file=sys.stderr)
    exec(compile(source, f"<{origin}>", "exec"), namespace)
    function: Callable[..., Any] = namespace[name]
    return function


class Slot:
    """The memory of one launch with one configuration. One launch at a time uses it; concurrent ones use several."""

    __slots__ = ("buffer", "call", "configuration", "kept", "stream", "stream_field")

    def __init__(
        self, buffer: Any, stream_field: memoryview, call: tuple[Any, ...], configuration: "Configuration"
    ) -> None:
        self.buffer = buffer
        """A ctypes buffer: the arguments, the CUlaunchConfig, its attributes, and the pointers to the arguments."""
        self.stream_field = stream_field
        """The stream in the CUlaunchConfig, as an array of one number."""
        self.stream = 0
        """The address of the stream that was last written to `stream_field`."""
        self.call = call
        """The arguments of cuLaunchKernelEx, ready for ctypes."""
        self.configuration = configuration
        """What `buffer` was filled for."""
        self.kept: Kept = []
        """What the launch has to keep until it has ended; empty between launches."""


class Missing:
    """The default of an argument that is left out, which no converter accepts."""


_FINISH = """
code = launch_kernel(*slot.call) if loaded else 400
if code:
    retry(code, slot, ({names}))
if kept:
    keep(kept, stream)
slots.append(slot)
"""
"""The end of every launch. Where the driver refuses (400: the module was unloaded), `retry` repairs what it can and
launches again. What has to be kept until the launch has ended is handed to `keep`, and the slot returns to its pool."""

_LAUNCH = """
def launch(grid, block, {parameters}*rest, stream=None, shared_memory=0, check=True, **attributes):
    global last
    if stream is not None and type(stream) is not int:
        stream = stream_address(stream)
    try:
        last_grid, last_block, last_shared_memory, slots = last
        if attributes:
            check_integers(grid, block, shared_memory, *attributes.values())
            slots = pools[(grid, block, shared_memory, *attributes, *attributes.values())]
        elif not (
            {same_grid}
            and {same_block}
            and (
                shared_memory is last_shared_memory
                or (type(shared_memory) is int and shared_memory == last_shared_memory)
            )
        ):
            check_integers(grid, block, shared_memory)
            slots = pools[grid, block, shared_memory]
            last = grid, block, shared_memory, slots
        slot = slots.pop()
    except Exception:
        slots, slot = prepare(grid, block, shared_memory, attributes)
    kept = slot.kept
    {types}
    device = {device}
    try:
        if stream is None and (not stream_blocks or (stream := block_stream()) is None):
{current_stream}
        if stream != slot.stream:
            slot.stream_field[0] = slot.stream = stream
        if rest:
            raise TypeError
        if check:
            pack_into(slot.buffer, 0{checked})
        else:
            pack_into_as_is(slot.buffer, 0{unchecked})
    except Exception as error:
        raise argument_error(({names}*rest,), error, check, stream) from None
{finish}
"""
"""The source of `Kernel.launch`.

1. Take a free slot of the configuration from its pool: the last launch's, which needs no dictionary, or that of these
   arguments. `prepare` makes the pool or the slot where there is none; a list is no dictionary key, and reaches
   `prepare` each time. So do floats, which `check_integers` finds: as a key, 2.0 is 2.
2. Without a stream, use that of the `launch_stream` block, else the current one of the library of the arrays. Write it
   where the slot has another, which takes longer than to compare.
3. Write all arguments into the slot with one call of pack_into, whose values are the converters' expressions. Those of
   arrays that may still be computed let the stream wait, and put what has to be kept into `kept`. Where an expression
   raises, `argument_error` finds out which argument is wrong.
4. Launch, with a tuple of arguments that is ready: `_FINISH`.
"""

_BOUND = """
def bound_maker(slots, new_slot, find, launch_any, stream, {bound}):
    def bound({parameters}):
        try:
            slot = slots.pop()
        except IndexError:
            slot = new_slot()
        kept = slot.kept
        try:
{set_stream}
            pack_into(slot.buffer, 0{expressions})
        except Exception:
            kept.clear()
            slots.append(slot)
            return launch_any({names})
{finish}
    return bound
"""
"""The source of a function that makes bound launches. The slots are its own, with the stream filled in. Where an
argument cannot be written, it is of another type than the one that was bound, or wrong: an ordinary launch converts it,
or says what is wrong."""

_BOUND_ANY = """
def bound_maker(slots, new_slot, find, launch_any, stream, {bound}):
    def bound({parameters}):
        launch_any({names})
    return bound
"""
"""The same for arguments that an ordinary launch has to convert, such as arrays that may still be computed."""

_BY_ADDRESS = """
def launch_addresses(grid, block, stream, {names}):
    global last
    try:
        last_grid, last_block, last_shared_memory, slots = last
        if not (
            {same_grid}
            and {same_block}
            and last_shared_memory == 0
        ):
            check_integers(grid, block)
            slots = pools[grid, block, 0]
            last = grid, block, 0, slots
        slot = slots.pop()
    except Exception:
        slots, slot = prepare(grid, block, 0, {{}})
    kept = slot.kept
    try:
        pack_into(slot.buffer, 0{expressions})
        if stream != slot.stream:
            slot.stream_field[0] = slot.stream = stream
    except Exception:
        kept.clear()
        slots.append(slot)
        return launch(grid, block, {names}stream=stream)
{finish}
"""
"""The source of a function whose arrays are addresses, and whose stream is one. It shares the slots of the launch
function, which converts what cannot be written, or says what is wrong with it."""


class LaunchFunctions:
    """The generated functions that launch one kernel."""

    def __init__(
        self,
        kernel: str,
        checked: Sequence[Converter],
        unchecked: Sequence[Converter],
        several_gpus: bool,
        steps: dict[str, Any],
    ) -> None:
        """`checked` and `unchecked` are the converters of the arguments, for `check=True` and `check=False`.

        `steps` has what the functions call of the kernel's `Launcher`, by the names in the sources.
        """
        self._kernel = kernel
        self._checked = checked
        self._unchecked = unchecked
        self._several_gpus = several_gpus
        self.pointers = [index for index, each in enumerate(checked) if isinstance(each, PointerConverter)]
        """The positions of the arguments that may be arrays."""
        self.namespace: dict[str, Any] = {
            **steps,
            "missing": Missing(),
            "last": (None, None, None, None),
            "loaded": True,
            "stream_rule": (None,) * (len(self.pointers) + 1),
            "stream_address": stream_address,
            "block_stream": block_stream,
            "stream_blocks": stream_blocks,
            "check_integers": _check_integers,
            "keep": keep,
            "refuse": _refuse,
            "current_device": current_device,
            "device_of": device_of,
        }
        """The global names of the functions. `stream_rule` has the types of the arrays of the last launch, and the
        function that found its stream."""
        self._bound_makers: dict[str, Callable[..., Any]] = {}
        self._names = [f"a{index}" for index in range(len(checked))]
        self._tuple = "".join(f"{name}, " for name in self._names)
        only_addresses = " is ".join([*(f"type_a{index}" for index in self.pointers), "int"])
        self._only_addresses = only_addresses if self.pointers else "True"
        arrays = "".join(f"a{index}, " for index in self.pointers)
        found = f"(number if (number := current_device()) is not None else device_of(({arrays})))"
        self._device = found if several_gpus else "None"
        """The expression of the launch's GPU, whose context it makes current if none is; None if there is one GPU."""

    def launch(self) -> Callable[..., None]:
        """Return the function that takes what `Kernel.launch` takes."""
        # Asking for the current device takes time, and addresses are not compared with it.
        device = f"None if {self._only_addresses} else {self._device}" if self._several_gpus else "None"
        source = _LAUNCH.format(
            same_grid=_is_last("grid"),
            same_block=_is_last("block"),
            parameters="".join(f"{name}=missing, " for name in self._names),
            names=self._tuple,
            types="; ".join(f"type_a{index} = type(a{index})" for index in self.pointers) or "pass",
            device=device,
            current_stream=indent(self._current_stream(), 12 * " "),
            checked=self._expressions("", self._checked),
            unchecked=self._expressions("_as_is", self._unchecked),
            finish=self._finish(4),
        )
        return define("launch", source, self.namespace, self._kernel)

    def bound(
        self,
        args: Sequence[Any],
        new_slot: Callable[[], Slot],
        find: FindStream | None,
        launch_any: Callable[..., None],
        stream: int | None,
    ) -> Callable[..., None]:
        """Return a function that takes a kernel's arguments and launches it; `args` are those that a call leaves out.

        `new_slot` returns a slot in which the stream is filled in: `stream`, or if that is None the default stream,
        which `launch_stream` and `find` may replace. The expression of an argument a0 may use what was bound: bound_a0,
        its type type_a0, element type dtype_a0 and address address_a0.
        """
        names = self._names
        expressions = [
            each.bound_expression(name, value, self._device)
            for name, each, value in zip(names, self._checked, args, strict=True)
        ]
        found = f"find({self._device} or 0)" if find else "0"
        set_stream = (
            f"stream = chosen if stream_blocks and (chosen := block_stream()) is not None else {found}\n"
            "if stream != slot.stream: slot.stream_field[0] = slot.stream = stream"
        )
        source = (_BOUND if all(expressions) else _BOUND_ANY).format(
            bound="".join(f"bound_{name}, type_{name}, dtype_{name}, address_{name}, " for name in names),
            parameters="".join(f"{name}=bound_{name}, " for name in names) + "/" * bool(names),
            expressions="".join(f", {expression}" for expression in expressions),
            set_stream=indent("pass" if stream is not None else set_stream, 12 * " "),
            names=self._tuple,
            finish=self._finish(8),
        )
        maker = self._bound_makers.get(source)
        if maker is None:
            maker = self._bound_makers[source] = define("bound_maker", source, self.namespace, self._kernel)
        values = [known for value in args for known in (value, type(value), *_element_type_and_address(value))]
        # A slot at once: the first call should take no longer than others.
        function: Callable[..., None] = maker([new_slot()], new_slot, find, launch_any, stream, *values)
        return function

    def by_address(self) -> Callable[..., None]:
        """Return a function of grid, block, the address of a stream, and the arguments, all arrays as addresses."""
        expressions = [
            each.address_expression(name) if type(each) is PointerConverter else each.bound_expression(name, 0, "None")
            for name, each in zip(self._names, self._checked, strict=True)
        ]
        source = _BY_ADDRESS.format(
            same_grid=_is_last("grid"),
            same_block=_is_last("block"),
            names=self._tuple,
            expressions="".join(f", {each}" for each in expressions),
            finish=self._finish(4),
        )
        return define("launch_addresses", source, self.namespace, self._kernel)

    def _finish(self, spaces: int) -> str:
        return indent(_FINISH.format(names=self._tuple).strip(), spaces * " ")

    def _expressions(self, suffix: str, converters: Sequence[Converter]) -> str:
        """Return the expressions that convert the arguments, each after a comma.

        What the expressions use is added to the namespace, under names with the suffix.
        """
        expressions = ""
        for name, converter in zip(self._names, converters, strict=True):
            expressions += f", {converter.expression(name, name + suffix)}"
            self.namespace |= converter.namespace(name + suffix)
            converter.update_in(self.namespace, name + suffix)
        return expressions

    def _current_stream(self) -> str:
        """Return the statements that find the stream of a launch by the types of the arguments that may be arrays."""
        if not self.pointers:
            return "stream = 0"
        device = "device or 0" if self._several_gpus else "0"
        known_types = "".join(f"known_{index}, " for index in self.pointers)
        same_types = " and ".join(f"type_a{index} is known_{index}" for index in self.pointers)
        arrays = "".join(f"a{index}, " for index in self.pointers)
        return (
            f"if {self._only_addresses}:\n"
            "    stream = 0\n"
            "else:\n"
            f"    {known_types}find = stream_rule\n"
            f"    if {same_types}:\n"
            f"        stream = find({device}) if find else 0\n"
            "    else:\n"
            f"        stream = find_stream(({arrays}), {device})"
        )


def converted(converter: Converter, value: Any, device: int | None) -> bytes:
    """Return the bytes of one argument for a launch on GPU number `device`; raise what its expression raises."""
    names = {**converter.namespace(""), "a": value, "type_a": type(value), "device": device}
    names |= {"stream": dlpack.NO_WAIT, "kept": []}
    number = eval(converter.expression("a", ""), names)
    if converter.format in ("e", "f", "d"):
        number = float(number)  # says why it is not a float; struct does not
    return struct.pack(f"<{converter.format}", number)


def _check_integers(*sizes: Any) -> None:
    """Raise TypeError if a number among the values of a configuration is no integer."""
    for size in sizes:
        if type(size) is tuple:
            range(*size)  # takes one to three integers, and is the fastest to say so
        elif type(size) not in (int, bool, str, type(None)):
            operator.index(size)


def _refuse() -> None:
    """Stand for the value of an argument that a bound launch does not convert itself."""
    raise TypeError


def _is_last(name: str) -> str:
    """Return the condition that a size is the last launch's: the same object, or equal integers; 2.0 equals 2 too."""
    integers = f"(type({name}) is int or (type({name}) is tuple and type(sum({name})) is int))"
    return f"({name} is last_{name} or ({name} == last_{name} and {integers}))"


def _element_type_and_address(value: Any) -> tuple[Any, int | None]:
    """Return what a tensor or an array is compared with; None for what it has not."""
    is_tensor = is_of(type(value), "torch", "Tensor")
    return (
        getattr(value, "dtype", None) if is_tensor or is_of(type(value), "cupy", "ndarray") else None,
        value.data_ptr() if is_tensor else None,
    )
