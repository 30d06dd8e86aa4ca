"""Generate the function that launches a kernel, and compile all source that is generated at run time.

A loop over the parameters at each call would take as long as the rest of a launch; benchmarks/launch.py measures that.
With CUDA_WHEEL_PRINT_GENERATED=1, the source of every generated function is printed to standard error.
"""

import operator
import os
import struct
import sys
from collections.abc import Callable, Sequence
from textwrap import indent
from typing import Any

from .arguments import Converter, Kept
from .arrays import PointerConverter, device_of_first
from .driver import current_device
from .streams import NO_WAIT, block_stream, stream_address, stream_blocks

__all__ = ["LaunchFunctions", "Missing", "converted", "define", "is_last"]


def define(name: str, source: str, namespace: dict[str, Any], origin: str) -> Callable[..., Any]:
    """Return the function `name` that a source defines in a namespace, whose names it uses.

    `origin` says in tracebacks and in the printed source what the function is for: "saxpy", "demo::swish".
    """
    if os.environ.get("CUDA_WHEEL_PRINT_GENERATED", "0") not in ("", "0"):
        print(f"# cuda-wheel generated {name} for {origin}:\n{source.strip()}\n", file=sys.stderr)
    made: dict[str, Callable[..., Any]] = {}  # threads may define one name
    exec(compile(source, f"<{origin}>", "exec"), namespace, made)
    namespace |= made
    return made[name]


class Missing:
    """Default of an argument that is left out; no converter accepts it."""


_FINISH = """
code = launch_kernel(*slot.call) if loaded else 400
if code:
    retry(code, slot, ({names}))
if kept:
    keep(kept, stream)
slots.append(slot)
"""
"""Last lines of every launch function: launch, and return the slot (memory of a launch) to its pool. `retry` handles
the driver's error `code`; 400 means that the module was unloaded. `keep` keeps arrays alive until the launch has
ended."""

# `prepare` also gets lists, which cannot be keys, and floats, which equal integers as keys: check_integers finds them.
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
"""Source of `Kernel.launch`.

1. Take a free slot (memory of a launch) from the pool of this configuration. `prepare` makes what is missing.
2. Choose the stream: `stream`, else that of the `launch_stream` block, else the current one of the arrays' library.
3. Write all arguments into the slot by one call of pack_into. If it raises, `argument_error` finds the wrong argument.
4. Launch: `_FINISH`.
"""


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
        """`checked` and `unchecked` are the converters for `check=True` and `check=False`; `steps` are functions of the
        kernel's `Launcher`, by their names in the sources."""
        self.kernel = kernel
        self.checked = checked
        self._unchecked = unchecked
        self._several_gpus = several_gpus
        self.pointers = [index for index, each in enumerate(checked) if isinstance(each, PointerConverter)]
        """Positions, from 0, of the kernel's arguments that may be arrays."""
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
            "keep": self._keep,
            "current_device": current_device,
            "device_of_first": device_of_first,
        }
        """Global name in the generated functions -> value. `stream_rule`: type of each array of the last launch, then
        the function that finds the stream for these types."""
        self.names = [f"a{index}" for index in range(len(checked))]
        self.tuple = "".join(f"{name}, " for name in self.names)
        only_addresses = " is ".join([*(f"type_a{index}" for index in self.pointers), "int"])
        self._only_addresses = only_addresses if self.pointers else "True"
        arrays = "".join(f"a{index}, " for index in self.pointers)
        found = f"(number if (number := current_device()) is not None else device_of_first(({arrays})))"
        self.device = found if several_gpus else "None"
        """Expression for the GPU number, which makes a context current if none is; "None" if there is one GPU."""

    def launch(self) -> Callable[..., None]:
        """Return the function that takes what `Kernel.launch` takes."""
        # Asking for the current device takes time, and addresses are not compared with it.
        device = f"None if {self._only_addresses} else {self.device}" if self._several_gpus else "None"
        source = _LAUNCH.format(
            same_grid=is_last("grid"),
            same_block=is_last("block"),
            parameters="".join(f"{name}=missing, " for name in self.names),
            names=self.tuple,
            types="; ".join(f"type_a{index} = type(a{index})" for index in self.pointers) or "pass",
            device=device,
            current_stream=indent(self._current_stream(), 12 * " "),
            checked=self._expressions("", self.checked),
            unchecked=self._expressions("_as_is", self._unchecked),
            finish=self.finish(4),
        )
        return define("launch", source, self.namespace, self.kernel)

    def _keep(self, arrays: Kept, stream: int) -> None:
        """Keep `arrays` alive until the work on `stream` has ended, and empty the list. The first call replaces this
        method by `array_protocols.keep`."""
        from .parts.array_protocols import keep  # the part that put them into the list

        self.namespace["keep"] = keep
        keep(arrays, stream)

    def finish(self, spaces: int) -> str:
        return indent(_FINISH.format(names=self.tuple).strip(), spaces * " ")

    def _expressions(self, suffix: str, converters: Sequence[Converter]) -> str:
        """Return source that converts all arguments: ", int(a0), int(a1)". Add the objects that this source uses to
        `self.namespace`, under names that end with `suffix`."""
        expressions = ""
        for name, converter in zip(self.names, converters, strict=True):
            expressions += f", {converter.expression(name, name + suffix)}"
            self.namespace |= converter.namespace(name + suffix)
            converter.update_in(self.namespace, name + suffix)
        return expressions

    def _current_stream(self) -> str:
        """Return source that sets `stream` to the current one of the arrays' library, or to 0 without arrays."""
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
    names |= {"stream": NO_WAIT, "kept": []}
    number = eval(converter.expression("a", ""), names)
    if converter.format in ("e", "f", "d"):
        number = float(number)  # says why it is not a float; struct does not
    return struct.pack(f"<{converter.format}", number)


def _check_integers(*sizes: Any) -> None:
    """Raise TypeError if a number in a launch configuration is not an integer."""
    for size in sizes:
        if type(size) is tuple:
            range(*size)  # takes one to three integers, and is the fastest to say so
        elif type(size) not in (int, bool, str, type(None)):
            operator.index(size)


def is_last(name: str) -> str:
    """Return the condition that a size is the last launch's: the same object, or equal integers; 2.0 equals 2 too."""
    integers = f"(type({name}) is int or (type({name}) is tuple and type(sum({name})) is int))"
    return f"({name} is last_{name} or ({name} == last_{name} and {integers}))"
