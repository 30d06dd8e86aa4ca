"""Generate functions that launch with arguments that were checked before.

`Kernel.bind` returns some, whose configuration was checked too. The others are for operators, and take addresses.
"""

from collections.abc import Callable, Sequence
from typing import Any

from .buffers import is_of
from .current_streams import FindStream

__all__ = ["address_function", "bound_function", "is_last"]

_BOUND = """
def bound_maker(slots, new_slot, find, launch_any, stream, {defaults}):
    def bound({parameters}):
        try:
            slot = slots.pop()
        except IndexError:
            slot = new_slot()
        buffer, stream_field, written, call, configuration, kept = slot
        try:
            {set_stream}
            pack_into(buffer, 0{expressions})
        except Exception:
            kept.clear()
            slots.append(slot)
            return launch_any({names})
        code = launch_kernel(*call) if loaded else 400
        if code:
            retry(code, call, configuration, ({names}))
        if kept:
            keep(kept, stream)
        slots.append(slot)
    return bound
"""
"""The source of a function that makes bound launches. Its steps are those of a launch function, see `launcher`, but the
slots are its own, with the stream filled in. Where an argument cannot be written, it is of another type than the one
that was bound, or wrong: an ordinary launch converts it, or says what is wrong."""

_ANY = """
def bound_maker(slots, new_slot, find, launch_any, stream, {defaults}):
    def bound({parameters}):
        launch_any({names})
    return bound
"""
"""The same for arguments that an ordinary launch has to convert, such as arrays that may still be computed."""


def bound_function(
    namespace: dict[str, Any],
    expressions: Sequence[str],
    args: Sequence[Any],
    new_slot: Callable[[], list[Any]],
    find: FindStream | None,
    launch_any: Callable[..., None],
    *,
    stream: int | None,
    device: str,
) -> Callable[..., None]:
    """Return a function that takes a kernel's arguments and launches it; `args` are those that a call leaves out.

    `namespace` has the names of the kernel's launch function, and keeps what is generated for equal expressions.
    `new_slot` returns a slot in which the stream is filled in: `stream`, or if that is None the default stream, which
    `launch_stream` and `find` may replace. `device` is the expression of the launch's GPU. The expression of an
    argument a0 may use what was bound: bound_a0, its type kind_a0, element type dtype_a0 and address address_a0.
    """
    names = [f"a{index}" for index in range(len(expressions))]
    found = f"find({device} or 0)" if find else "0"
    choose = f"stream = chosen if stream_blocks and (chosen := block_stream()) is not None else {found}"
    write = "if stream != written: stream_field[0] = slot[2] = stream"
    source = (_BOUND if all(expressions) else _ANY).format(
        defaults="".join(f"bound_{name}, kind_{name}, dtype_{name}, address_{name}, " for name in names),
        parameters="".join(f"{name}=bound_{name}, " for name in names) + "/" * bool(names),
        expressions="".join(f", {expression}" for expression in expressions),
        set_stream="pass" if stream is not None else f"{choose}\n            {write}",
        names="".join(f"{name}, " for name in names),
    )
    makers = namespace.setdefault("bound_makers", {})
    if source not in makers:
        exec(source, namespace)
        makers[source] = namespace["bound_maker"]
    bound = [known for value in args for known in (value, type(value), *_element_type_and_address(value))]
    # A slot at once: the first call should take no longer than others.
    function: Callable[..., None] = makers[source]([new_slot()], new_slot, find, launch_any, stream, *bound)
    return function


def _element_type_and_address(value: Any) -> tuple[Any, int | None]:
    """Return what a tensor or an array is compared with; None for what it has not."""
    is_tensor = is_of(type(value), "torch", "Tensor")
    return (
        getattr(value, "dtype", None) if is_tensor or is_of(type(value), "cupy", "ndarray") else None,
        value.data_ptr() if is_tensor else None,
    )


def is_last(name: str) -> str:
    """Return the condition that a size is the last launch's: the same object, or equal integers; 2.0 equals 2 too."""
    integers = f"(type({name}) is int or (type({name}) is tuple and type(sum({name})) is int))"
    return f"({name} is last_{name} or ({name} == last_{name} and {integers}))"


_BY_ADDRESS = """
def launch_addresses(grid, block, stream, {parameters}):
    global last
    try:
        last_grid, last_block, last_shared_memory, slots = last
        if not (
            {same_grid}
            and {same_block}
            and last_shared_memory == 0
        ):
            check_whole(grid, block)
            slots = pools[grid, block, 0]
            last = grid, block, 0, slots
        slot = slots.pop()
    except Exception:
        slots, slot = prepare(grid, block, 0, {{}})
    buffer, stream_field, written, call, configuration, kept = slot
    try:
        pack_into(buffer, 0{expressions})
        if stream != written:
            stream_field[0] = slot[2] = stream
    except Exception:
        kept.clear()
        slots.append(slot)
        return launch(grid, block, {parameters}stream=stream)
    code = launch_kernel(*call) if loaded else 400
    if code:
        retry(code, call, configuration, ({parameters}))
    if kept:
        keep(kept, stream)
    slots.append(slot)
"""
"""The source of a function whose arrays are addresses, and whose stream is one. It shares the slots of the launch
function, which converts what cannot be written, or says what is wrong with it."""


def address_function(namespace: dict[str, Any], expressions: Sequence[str]) -> Callable[..., None]:
    """Return a function of grid, block, the address of a stream, and a kernel's arguments, all arrays as addresses.

    `namespace` has the names of the kernel's launch function, which the expressions of the arguments may use.
    """
    parameters = "".join(f"a{index}, " for index in range(len(expressions)))
    source = _BY_ADDRESS.format(
        same_grid=is_last("grid"),
        same_block=is_last("block"),
        parameters=parameters,
        expressions="".join(f", {each}" for each in expressions),
    )
    exec(source, namespace)
    function: Callable[..., None] = namespace["launch_addresses"]
    return function
