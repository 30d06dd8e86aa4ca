"""Generate the functions that `Kernel.bind` returns: a launch whose configuration and arguments were checked before."""

from collections.abc import Callable, Sequence
from typing import Any

from .current_streams import FindStream

__all__ = ["bound_function"]

_BOUND = """
def bound_maker(slots, new_slot, stream, find, launch_any, {defaults}):
    def bound({parameters}):
        try:
            slot = slots.pop()
        except IndexError:
            slot = new_slot()
        buffer, stream_field, config, extra, configuration = slot
        try:
            {device}
            pack_into(buffer, 0{expressions})
            {stream}
        except Exception:
            slots.append(slot)
            return launch_any({names})
        code = launch_kernel(config, handle, None, extra)
        if code:
            retry(code, config, extra, configuration)
        slots.append(slot)
    return bound
"""
"""The source of a function that makes bound launches. Its steps are those of a launch function, see `launcher`, but the
pool of slots and the way to the stream are known. Where an argument cannot be written, it is of another type than the
one that was bound, or wrong: an ordinary launch converts it, or says what is wrong."""


def bound_function(
    namespace: dict[str, Any],
    expressions: Sequence[str],
    args: Sequence[Any],
    slots: list[Any],
    new_slot: Callable[[], Any],
    stream: int | None,
    find: FindStream | None,
    launch_any: Callable[..., None],
    device: str,
) -> Callable[..., None]:
    """Return a function that takes a kernel's arguments and launches it; `args` are those that a call leaves out.

    `namespace` has the names of the kernel's launch function, and keeps what is generated for equal expressions.
    Without `stream`, `find` finds it. `device` is the expression of the launch's GPU.
    """
    names = [f"a{index}" for index in range(len(expressions))]
    if stream is not None:
        set_stream = "stream_field[0] = stream"
    else:
        found = f"find({device} or 0)" if find else "0"
        set_stream = f"chosen = block_stream(); stream_field[0] = {found} if chosen is None else chosen"
    source = _BOUND.format(
        defaults="".join(f"d{index}, " for index in range(len(names))),
        parameters="".join(f"{name}=d{index}, " for index, name in enumerate(names)) + "/" * bool(names),
        expressions="".join(f", {expression}" for expression in expressions),
        device=f"device = {device}" if any("device" in expression for expression in expressions) else "pass",
        stream=set_stream,
        names=", ".join(names),
    )
    makers = namespace.setdefault("bound_makers", {})
    if source not in makers:
        exec(source, namespace)
        makers[source] = namespace["bound_maker"]
    function: Callable[..., None] = makers[source](slots, new_slot, stream, find, launch_any, *args)
    return function
