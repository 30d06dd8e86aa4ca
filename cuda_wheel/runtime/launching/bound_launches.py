"""Generate the functions that `Kernel.bind` returns: a launch whose configuration and arguments were checked before."""

from collections.abc import Callable, Sequence
from typing import Any

from .current_streams import FindStream

__all__ = ["bound_function"]

_BOUND = """
def bound_maker(slots, new_slot, find, launch_any, {defaults}):
    def bound({parameters}):
        try:
            slot = slots.pop()
        except IndexError:
            slot = new_slot()
        buffer, stream_field, written, config, pointers, configuration = slot
        try:
            pack_into(buffer, 0{expressions})
            {set_stream}
        except Exception:
            slots.append(slot)
            return launch_any({names})
        code = launch_kernel(config, handle, pointers, None)
        if code:
            retry(code, config, pointers, configuration)
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
        names=", ".join(names),
    )
    makers = namespace.setdefault("bound_makers", {})
    if source not in makers:
        exec(source, namespace)
        makers[source] = namespace["bound_maker"]
    # A slot at once: the first call should take no longer than others.
    function: Callable[..., None] = makers[source]([new_slot()], new_slot, find, launch_any, *args)
    return function
