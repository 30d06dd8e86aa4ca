"""Generate functions that launch with arguments that were checked before.

`Kernel.bind` returns some, whose configuration was checked too. The others are for operators, and take addresses.
"""

from collections.abc import Callable, Sequence
from typing import Any

from .current_streams import FindStream

__all__ = ["address_function", "bound_function"]

_BOUND = """
def bound_maker(slots, new_slot, find, launch_any, {defaults}):
    def bound({parameters}):
        try:
            slot = slots.pop()
        except IndexError:
            slot = new_slot()
        buffer, stream_field, written, call, configuration = slot
        try:
            pack_into(buffer, 0{expressions})
            {set_stream}
        except Exception:
            slots.append(slot)
            return launch_any({names})
        code = launch_kernel(*call) if loaded else 400
        if code:
            retry(code, call, configuration, ({names}))
        slots.append(slot)
    return bound
"""
"""The source of a function that makes bound launches. Its steps are those of a launch function, see `launcher`, but the
slots are its own, with the stream filled in. Where an argument cannot be written, it is of another type than the one
that was bound, or wrong: an ordinary launch converts it, or says what is wrong."""


def bound_function(
    namespace: dict[str, Any],
    expressions: Sequence[str],
    args: Sequence[Any],
    new_slot: Callable[[], list[Any]],
    find: FindStream | None,
    launch_any: Callable[..., None],
    *,
    has_stream: bool,
    device: str,
) -> Callable[..., None]:
    """Return a function that takes a kernel's arguments and launches it; `args` are those that a call leaves out.

    `namespace` has the names of the kernel's launch function, and keeps what is generated for equal expressions.
    `new_slot` returns a slot in which the stream is filled in: the one to use if `has_stream`, else the default stream,
    which `launch_stream` and `find` may replace. `device` is the expression of the launch's GPU.
    """
    names = [f"a{index}" for index in range(len(expressions))]
    found = f"find({device} or 0)" if find else "0"
    choose = f"stream = chosen if stream_blocks and (chosen := block_stream()) is not None else {found}"
    write = "if stream != written: stream_field[0] = slot[2] = stream"
    source = _BOUND.format(
        defaults="".join(f"d{index}, " for index in range(len(names))),
        parameters="".join(f"{name}=d{index}, " for index, name in enumerate(names)) + "/" * bool(names),
        expressions="".join(f", {expression}" for expression in expressions),
        set_stream="pass" if has_stream else f"{choose}\n            {write}",
        names="".join(f"{name}, " for name in names),
    )
    makers = namespace.setdefault("bound_makers", {})
    if source not in makers:
        exec(source, namespace)
        makers[source] = namespace["bound_maker"]
    # A slot at once: the first call should take no longer than others.
    function: Callable[..., None] = makers[source]([new_slot()], new_slot, find, launch_any, *args)
    return function


_BY_ADDRESS = """
def launch_addresses(grid, block, stream, {parameters}):
    global last
    try:
        last_grid, last_block, last_shared_memory, slots = last
        if not (grid == last_grid and block == last_block and last_shared_memory == 0):
            slots = pools[grid, block, 0]
            last = grid, block, 0, slots
        slot = slots.pop()
    except Exception:
        slots, slot = prepare(grid, block, 0, {{}})
    buffer, stream_field, written, call, configuration = slot
    try:
        pack_into(buffer, 0{expressions})
        if stream != written:
            stream_field[0] = slot[2] = stream
    except Exception:
        slots.append(slot)
        return launch(grid, block, {parameters}stream=stream)
    code = launch_kernel(*call) if loaded else 400
    if code:
        retry(code, call, configuration, ({parameters}))
    slots.append(slot)
"""
"""The source of a function whose arrays are addresses, and whose stream is one. It shares the slots of the launch
function, which converts what cannot be written, or says what is wrong with it."""


def address_function(namespace: dict[str, Any], expressions: Sequence[str]) -> Callable[..., None]:
    """Return a function of grid, block, the address of a stream, and a kernel's arguments, all arrays as addresses.

    `namespace` has the names of the kernel's launch function, which the expressions of the arguments may use.
    """
    parameters = "".join(f"a{index}, " for index in range(len(expressions)))
    exec(_BY_ADDRESS.format(parameters=parameters, expressions="".join(f", {each}" for each in expressions)), namespace)
    function: Callable[..., None] = namespace["launch_addresses"]
    return function
