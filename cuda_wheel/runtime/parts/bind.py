"""Make launch functions that check less: bound launches, and those of operators, which pass arrays as addresses."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from textwrap import indent
from typing import TYPE_CHECKING, Any

from ..arguments import Converter, NumberConverter, is_of
from ..arrays import PointerConverter
from ..generated import LaunchFunctions, Missing, define, is_last
from ..launching import Slot, launcher_of
from ..streams import FindStream, by_arrays, stream_address

if TYPE_CHECKING:
    from ..launching import LoadedKernel

__all__ = ["bind", "launch_by_address", "launch_on_streams_of"]


def bind(
    kernel: "LoadedKernel",
    grid: Any,
    block: Any,
    args: Sequence[Any],
    stream: Any,
    shared_memory: Any,
    attributes: Mapping[str, Any],
) -> Callable[..., None]:
    """Return a function that launches a kernel with this configuration and these arguments; see `Kernel.bind`."""
    launcher = launcher_of(kernel)
    address = None if stream is None else stream_address(stream)
    _check_arguments(launcher, args)
    slots, slot = launcher.prepare(grid, block, shared_memory, attributes)
    slots.append(slot)
    configuration = slot.configuration

    def new_slot() -> Slot:
        slot = launcher.new_slot(configuration)
        slot.stream_field[0] = slot.stream = address or 0
        return slot

    def launch_any(*args: Any) -> None:
        try:
            # The stream as it was given, which this function so keeps alive.
            launcher.launch(grid, block, *args, stream=stream, shared_memory=shared_memory, **attributes)
        except Exception as error:
            raise error from None  # without the error of the bound function

    find = launcher.current_streams[tuple(type(args[index]) for index in launcher.functions.pointers)]
    return _bound(launcher.functions, args, new_slot, None if find is by_arrays else find, launch_any, address)


def launch_by_address(kernel: "LoadedKernel") -> Callable[..., None]:
    """Return a function of grid, block, a stream's address and the kernel's arguments, in which arrays are addresses.

    It is for operators, which check arrays and the types of numbers themselves. For a parameter that is an accessor by
    value, the tensor itself is passed.
    """
    launcher = launcher_of(kernel)
    if "launch_addresses" not in launcher.__dict__:
        launcher.__dict__["launch_addresses"] = _by_address(launcher.functions)
    function: Callable[..., None] = launcher.__dict__["launch_addresses"]
    return function


def launch_on_streams_of(
    kernel: "LoadedKernel", current_stream: FindStream, has_blocks: Callable[[Any], bool]
) -> Callable[..., None]:
    """Return a function of grid, block, and the kernel's arguments, which launches on the stream that `current_stream`
    returns for the current GPU.

    It also takes `shared_memory` and the launch attributes of `Kernel.launch`. If `has_blocks(grid)` is False, it only
    checks the arguments. It is made once for each kernel, so that all calls must pass the same functions.
    """
    launcher = launcher_of(kernel)
    if "launch_here" not in launcher.__dict__:
        functions = launcher.functions
        functions.namespace |= {"current_stream_here": current_stream, "has_blocks": has_blocks}
        functions.namespace["check_arguments"] = partial(_check_arguments, launcher)
        launcher.__dict__["launch_here"] = _here(functions)
    function: Callable[..., None] = launcher.__dict__["launch_here"]
    return function


def _check_arguments(launcher: Any, args: Sequence[Any]) -> None:
    """Raise ArgumentError if a launch would refuse these arguments."""
    wrong = launcher.wrong_argument([value for value in args if not isinstance(value, Missing)], launcher.checked)
    if wrong is not None:
        raise wrong


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
"""Source of `bound_maker`, which returns a bound function. A bound function launches with a fixed configuration, and
has a default for every argument.

If an argument cannot be packed, `launch_any` makes an ordinary launch, which converts the argument or raises the error.
"""

_BOUND_ANY = """
def bound_maker(slots, new_slot, find, launch_any, stream, {bound}):
    def bound({parameters}):
        launch_any({names})
    return bound
"""
"""Source of `bound_maker` for arguments that only an ordinary launch can convert, such as arrays that are still being
computed. `bound_maker` returns a bound function, which makes an ordinary launch, by `launch_any`."""

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
"""Source of `launch_addresses`, which launches a kernel. The stream and the arrays are given as addresses. If an
argument cannot be packed, `Kernel.launch` launches instead."""


_HERE = """
def launch_here(grid, block, {parameters}*rest, shared_memory=0, **attributes):
    global last
    stream = current_stream_here({number})
    try:
        last_grid, last_block, last_shared_memory, slots = last
        if attributes or not (
            {same_grid}
            and {same_block}
            and {same_shared_memory}
        ):
            check_integers(grid, block, shared_memory, *attributes.values())
            slots = pools[(grid, block, shared_memory, *attributes, *attributes.values())]
            if not attributes:
                last = grid, block, shared_memory, slots
        slot = slots.pop()
    except Exception:
        if not has_blocks(grid):
            check_arguments(({names}*rest,))
            return
        slots, slot = prepare(grid, block, shared_memory, attributes)
    kept = slot.kept
    {types}
    device = {device}
    try:
        if stream != slot.stream:
            slot.stream_field[0] = slot.stream = stream
        if rest:
            raise TypeError
        pack_into(slot.buffer, 0{expressions})
    except Exception:
        kept.clear()
        slots.append(slot)
        return launch(grid, block, {names}*rest, stream=stream, shared_memory=shared_memory, **attributes)
{finish}
"""
"""Template of the source of `launch_here`; `_here` fills in the names in braces. `launch_here(grid, block, ...)`
launches a kernel on the current stream of one library, such as PyTorch.

If an argument cannot be packed into the launch's memory, `Kernel.launch` launches on that stream instead.
"""


def _here(functions: LaunchFunctions) -> Callable[..., None]:
    """Generate `launch_here` from the source `_HERE`: a function that launches a kernel on the current stream of one
    library."""
    source = _HERE.format(
        parameters="".join(f"{name}=missing, " for name in functions.names),
        number="0" if functions.device == "None" else "current_device() or 0",
        same_grid=is_last("grid"),
        same_block=is_last("block"),
        same_shared_memory=is_last("shared_memory"),
        types="; ".join(f"type_a{index} = type(a{index})" for index in functions.pointers) or "pass",
        device=functions.device,
        names=functions.tuple,
        expressions="".join(
            f", {each.expression(name, name)}" for name, each in zip(functions.names, functions.checked, strict=True)
        ),
        finish=functions.finish(4),
    )
    return define("launch_here", source, functions.namespace, functions.kernel)


def _bound(
    functions: LaunchFunctions,
    args: Sequence[Any],
    new_slot: Callable[[], Slot],
    find: FindStream | None,
    launch_any: Callable[..., None],
    stream: int | None,
) -> Callable[..., None]:
    """Return a function that launches a kernel with a fixed configuration.

    `args`: default of each argument. `new_slot` returns the memory of one launch. `find`: GPU number -> current stream
    of the arrays' library; None for the default stream. `launch_any` takes the arguments and makes an ordinary launch.
    `stream`: address of the stream; None to choose a stream at each launch.
    """
    names = functions.names
    expressions = [
        _expression(each, name, value, functions.device)
        for name, each, value in zip(names, functions.checked, args, strict=True)
    ]
    # With a given `stream`, new slots have it already.
    found = f"find({functions.device} or 0)" if find else "0"
    set_stream = (
        f"stream = chosen if stream_blocks and (chosen := block_stream()) is not None else {found}\n"
        "if stream != slot.stream: slot.stream_field[0] = slot.stream = stream"
    )
    source = (_BOUND if all(expressions) else _BOUND_ANY).format(
        bound="".join(f"bound_{name}, type_{name}, dtype_{name}, address_{name}, " for name in names),
        parameters="".join(f"{name}=bound_{name}, " for name in names) + "/" * bool(names),
        expressions="".join(f", {expression}" for expression in expressions),
        set_stream=indent("pass" if stream is not None else set_stream, 12 * " "),
        names=functions.tuple,
        finish=functions.finish(8),
    )
    namespace = functions.namespace
    namespace["refuse"] = _refuse
    makers = namespace.setdefault("bound_makers", {})
    if source not in makers:
        makers[source] = define("bound_maker", source, namespace, functions.kernel)
    values = [known for value in args for known in (value, type(value), *_element_type_and_address(value))]
    # A slot at once: the first call should take no longer than others.
    function: Callable[..., None] = makers[source]([new_slot()], new_slot, find, launch_any, stream, *values)
    return function


def _by_address(functions: LaunchFunctions) -> Callable[..., None]:
    """Generate `launch_addresses` from the source `_BY_ADDRESS`: a function that launches a kernel, and takes arrays
    and the stream as addresses."""
    expressions = []
    for name, each in zip(functions.names, functions.checked, strict=True):
        by_value = getattr(each, "by_address_expression", None)
        if by_value is not None:  # a part, which few kernels need
            expressions.append(by_value(name))
        elif type(each) is not PointerConverter:
            expressions.append(_expression(each, name, 0, "None"))
        else:  # any exception is right for what is no address
            expressions.append(name if each.alignment == 1 else each.aligned(name, name, name))
    source = _BY_ADDRESS.format(
        same_grid=is_last("grid"),
        same_block=is_last("block"),
        names=functions.tuple,
        expressions="".join(f", {each}" for each in expressions),
        finish=functions.finish(4),
    )
    functions.namespace["refuse"] = _refuse
    return define("launch_addresses", source, functions.namespace, functions.kernel)


def _expression(converter: Converter, value: str, sample: Any, device: str) -> str:
    """Return Python source that converts the argument in the variable `value`; "" if only an ordinary launch can
    convert it.

    `sample`: the argument's default. The source converts values of the same type, and may raise any exception for
    others. `device`: source of the launch's GPU number. The source may use the names that `converter.expression` uses.
    For the argument a0, it may also use bound_a0, type_a0, dtype_a0 and address_a0.
    """
    by_value: Callable[..., str] | None = getattr(converter, "bound_expression", None)
    if by_value is not None:
        return by_value(value, sample, device)
    if isinstance(converter, PointerConverter):
        address = _address(value, sample, device)
        return converter.aligned(address, value, value) if address and converter.alignment > 1 else address
    kind, checked = type(sample), converter.expression(value, value)
    # struct alone would take an array of one element, the real part of a complex number, and all for true or false.
    is_quick = kind is bool or (kind in (int, float) and converter.format != "?")
    if is_quick and isinstance(converter, NumberConverter) and converter.struct_converts:
        return f"{value} if type({value}) is {kind.__name__} else {checked}"
    return checked


def _address(value: str, sample: Any, device: str) -> str:
    """Return Python source for the address of the argument in the variable `value`; "" if only an ordinary launch can
    find the address. `sample`: the argument's default. `device`: source of the launch's GPU number."""
    kind = type(sample)
    if kind is int:
        return f"{value} if type({value}) is int else refuse()"
    if kind is type(None):
        return f"0 if {value} is None else refuse()"
    like = f"type({value}) is type_{value} and {value}.dtype is dtype_{value}"
    here = "" if device == "None" else f" and {device} == {{}}"
    if is_of(kind, "cupy", "ndarray"):
        like += here.format(f"{value}.data.device_id")
        return f"{value}.data.ptr if {value} is bound_{value} or {like} else refuse()"
    # The conjugate bit and the negative bit are each tensor's; the conjugate bit only complex ones have.
    if not is_of(kind, "torch", "Tensor") or not sample.is_cuda or sample.dtype.is_complex:
        return ""
    # Most calls pass `sample` itself. Its address is compared nevertheless: PyTorch may move a tensor in place
    # (`module.cpu()`, `module.half()`).
    at = f"at_{value}"
    same = f"{value} is bound_{value} and ({at} := {value}.data_ptr()) == address_{value}"
    like += f" and {value}.is_cuda and not {value}.is_neg()" + here.format(f"{value}.get_device()")
    return f"{at} if {same} else ({value}.data_ptr() or refuse()) if {like} else refuse()"


def _refuse() -> None:
    """Raise TypeError. Generated source calls this for an argument that only an ordinary launch may convert."""
    raise TypeError


def _element_type_and_address(value: Any) -> tuple[Any, int | None]:
    """Return (element type, address of the first element) of `value`, the default of one parameter of a bound function.
    A call compares its argument with both.

    PyTorch tensor: (element type, address). CuPy array: (element type, None). Any other value: (None, None).
    """
    is_tensor = is_of(type(value), "torch", "Tensor")
    return (
        getattr(value, "dtype", None) if is_tensor or is_of(type(value), "cupy", "ndarray") else None,
        value.data_ptr() if is_tensor else None,
    )
