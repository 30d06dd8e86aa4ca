"""Generate functions that launch with arguments that were checked before.

`Kernel.bind` returns some, whose configuration was checked too. The others are for operators, and take addresses.

Launch a kernel with the driver's `cuLaunchKernelEx`.

A launch function is generated for each kernel at its first launch. It converts the arguments, writes them into memory
that was prepared for the launch's configuration (grid, block and so on), and calls the driver through ctypes. A
loop over the parameters would take as long as all the rest; benchmarks/launch.py measures that.
"""

import ctypes
import operator
import struct
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, Any

from . import streams as dlpack
from .arguments import Converter, is_of, value_text
from .arrays import PointerConverter, converter_for, device_of, long_size
from .configurations import Configuration, admit_cluster, allow_block, check_configuration, is_sequence
from .driver import check_result, cuda_driver, current_device, device_count, device_with_context, driver_function
from .errors import ArgumentError, DriverError, ImageError
from .manifest import Parameter
from .streams import (
    CurrentStreams,
    FindStream,
    block_stream,
    by_arrays,
    is_address,
    keep,
    named_stream,
    stream_address,
    stream_blocks,
    wrong_address,
)

if TYPE_CHECKING:
    from .module import Kernel
__all__ = ["Launcher", "address_function", "bound_function", "is_last", "launcher_of"]


_LAUNCH = """
def launch(grid, block, {parameters}*rest, stream=None, shared_memory=0, check=True, **attributes):
    global last
    if stream is not None and type(stream) is not int:
        stream = stream_address(stream)
    try:
        last_grid, last_block, last_shared_memory, slots = last
        if attributes:
            check_whole(grid, block, shared_memory, *attributes.values())
            slots = pools[(grid, block, shared_memory, *attributes, *attributes.values())]
        elif not (
            {same_grid}
            and {same_block}
            and (
                shared_memory is last_shared_memory
                or (type(shared_memory) is int and shared_memory == last_shared_memory)
            )
        ):
            check_whole(grid, block, shared_memory)
            slots = pools[grid, block, shared_memory]
            last = grid, block, shared_memory, slots
        slot = slots.pop()
    except Exception:
        slots, slot = prepare(grid, block, shared_memory, attributes)
    buffer, stream_field, written, call, configuration, kept = slot
    {kinds}
    device = {device}
    try:
        if stream is None and (not stream_blocks or (stream := block_stream()) is None):
            {current_stream}
        if stream != written:
            stream_field[0] = slot[2] = stream
        if rest:
            raise TypeError
        if check:
            pack_into(buffer, 0{checked})
        else:
            pack_into_as_is(buffer, 0{unchecked})
    except Exception as error:
        raise argument_error(({names}*rest,), error, check, stream) from None
    code = launch_kernel(*call) if loaded else 400
    if code:
        retry(code, call, configuration, ({names}))
    if kept:
        keep(kept, stream)
    slots.append(slot)
"""
"""The source of a launch function. An argument that is left out is `missing`, which no converter accepts.

1. Take a free slot of the configuration from its pool: the last launch's, which needs no dictionary, or that of these
   arguments. `prepare` makes the pool or the slot where there is none; a list is no dictionary key, and reaches
   `prepare` each time. So do floats, which `check_whole` finds: as a key, 2.0 is 2.
2. Without a stream, use that of the `launch_stream` block, else the current one of the library of the arrays. Write it
   where the slot has another, which takes longer than to compare.
3. Write all arguments into the slot with one call of pack_into, whose values are the converters' expressions. Those of
   arrays that may still be computed let the stream wait, and put what has to be kept into `kept`. Where an expression
   raises, `argument_error` finds out which argument is wrong.
4. Launch, with a tuple of arguments that is ready. Where the driver refuses (400: the module was unloaded), `retry`
   repairs what it can and launches again.
5. Keep what has to be kept until the launch has ended.
6. Return the slot to the pool. One launch at a time uses a slot; concurrent launches use several.
"""

_Slot = list[Any]
"""The memory of one launch: the buffer that the arguments are written to, the stream in it as an array of one number,
the stream that was last written there, the arguments of cuLaunchKernelEx, of which `config` and `kernelParams` are in
the same buffer; the Configuration that all this is made for; and the list of what the launch has to keep, which is
empty between launches."""


def launcher_of(kernel: "Kernel") -> "Launcher":
    """Return the launcher of a kernel, which is made when it is first asked for."""
    launcher: Launcher | None = kernel.__dict__.get("_launcher")
    if launcher is None:
        launcher = kernel.__dict__["_launcher"] = Launcher(kernel)
    return launcher


class Launcher:
    """Generates the functions that launch a kernel, and has the steps that few launches need."""

    POOLS = 1000
    """The number of configurations to keep slots for."""

    def __init__(self, kernel: "Kernel") -> None:
        parameters = kernel.info.parameters
        self._kernel = kernel
        size = long_size(kernel.module.manifest)
        self._checked = [converter_for(parameter, True, size) for parameter in parameters]
        self._unchecked = [converter_for(parameter, False, size) for parameter in parameters]
        self._struct = struct.Struct(_layout(parameters, self._checked))
        self._struct_as_is = struct.Struct(_layout(parameters, self._unchecked))
        self._pools: dict[tuple[Any, ...], list[_Slot]] = {}
        self._launch_kernel = driver_function("cuLaunchKernelEx")
        self._current_streams = CurrentStreams()
        self._several = device_count() > 1
        self._namespace = self._names()
        self.launch: Callable[..., None] = self._launch_function()
        """Takes what `Kernel.launch` takes."""

    def _names(self) -> dict[str, Any]:
        """Return the global names of the generated functions."""
        namespace: dict[str, Any] = {
            "missing": _Missing(),
            "stream_address": stream_address,
            "block_stream": block_stream,
            "stream_blocks": stream_blocks,
            "pools": self._pools,
            "last": (None, None, None, None),
            "loaded": True,
            "prepare": self._prepare,
            "check_whole": _check_whole,
            "keep": keep,
            "refuse": _refuse,
            "current_device": current_device,
            "device_of": device_of,
            "pack_into": self._struct.pack_into,
            "pack_into_as_is": self._struct_as_is.pack_into,
            "argument_error": self._argument_error,
            "launch_kernel": self._launch_kernel,
            "retry": self._retry,
            "stream_rule": (None,) * (len(self._pointers) + 1),
            "find_stream": self._find_stream,
        }
        self._kernel.module.on_unload(lambda: namespace.update(loaded=False))
        self._handle = _ctypes_pointer(self._kernel.handle)  # after the line above: raises if the module is unloaded
        return namespace

    @property
    def _pointers(self) -> list[int]:
        """The positions of the arguments that may be arrays."""
        return [index for index, each in enumerate(self._checked) if isinstance(each, PointerConverter)]

    def _launch_function(self) -> Callable[..., None]:
        names = [f"a{index}" for index in range(len(self._checked))]
        source = _LAUNCH.format(
            same_grid=is_last("grid"),
            same_block=is_last("block"),
            parameters="".join(f"{name}=missing, " for name in names),
            names="".join(f"{name}, " for name in names),
            kinds="; ".join(f"kind_a{index} = type(a{index})" for index in self._pointers) or "pass",
            # Asking for the current device takes time, and addresses are not compared with it.
            device=f"None if {_only_addresses(self._pointers)} else {self._device}" if self._several else "None",
            current_stream=_current_stream(self._pointers, "device or 0" if self._several else "0"),
            checked=_expressions(names, "", self._checked, self._namespace),
            unchecked=_expressions(names, "_as_is", self._unchecked, self._namespace),
        )
        exec(source, self._namespace)
        function: Callable[..., None] = self._namespace["launch"]
        function.__doc__ = type(self._kernel).launch.__doc__
        return function

    def bind(
        self, grid: Any, block: Any, args: Sequence[Any], stream: Any, shared_memory: Any, attributes: Mapping[str, Any]
    ) -> Callable[..., None]:
        """Return a function that launches with this configuration; see `Kernel.bind`."""
        address = None if stream is None else stream_address(stream)
        wrong = self._wrong_argument(args, self._checked)
        if wrong is not None:
            raise wrong
        slots, slot = self._prepare(grid, block, shared_memory, attributes)
        slots.append(slot)
        configuration, device = slot[4], self._device

        def new_slot() -> _Slot:
            slot = self._new_slot(configuration)
            slot[1][0] = slot[2] = address or 0
            return slot

        def launch_any(*args: Any) -> None:
            try:
                # The stream as it was given, which this function so keeps alive.
                self.launch(grid, block, *args, stream=stream, shared_memory=shared_memory, **attributes)
            except Exception as error:
                raise error from None  # without the error of the bound function

        find = self._current_streams[tuple(type(args[index]) for index in self._pointers)]
        return bound_function(
            self._namespace,
            [each.bound_expression(f"a{index}", args[index], device) for index, each in enumerate(self._checked)],
            args,
            new_slot,
            None if find is by_arrays else find,
            launch_any,
            stream=address,
            device=device,
        )

    @cached_property
    def launch_addresses(self) -> Callable[..., None]:
        """Takes grid, block, the address of a stream, and the kernel's arguments, all arrays as addresses.

        It is for operators, which check their arrays themselves, and whose numbers were of right types before.
        """
        expressions = [
            each.address_expression(f"a{index}")
            if type(each) is PointerConverter
            else each.bound_expression(f"a{index}", 0, "None")
            for index, each in enumerate(self._checked)
        ]
        return address_function(self._namespace, expressions)

    def _find_stream(self, arrays: tuple[Any, ...], device: int) -> int:
        """Return the stream of a launch with these arguments, and keep the rule of their types for the next launch."""
        kinds = tuple(map(type, arrays))
        find = self._current_streams[kinds]
        if find is by_arrays:
            return named_stream(arrays)
        self._namespace["stream_rule"] = (*kinds, find)
        return find(device) if find else 0

    @property
    def _device(self) -> str:
        """The expression of the launch's GPU, whose context it makes current if none is; None if there is one GPU."""
        arrays = "".join(f"a{index}, " for index in self._pointers)
        found = f"(number if (number := current_device()) is not None else device_of(({arrays})))"
        return found if self._several else "None"

    def _prepare(
        self, grid: Any, block: Any, shared_memory: Any, attributes: Mapping[str, Any]
    ) -> tuple[list[_Slot], _Slot]:
        """Return the pool of a configuration, and a slot that is not in it."""
        try:
            configuration = Configuration.of(grid, block, shared_memory, attributes)
            slots = self._pools.get(configuration)
            if slots is None:
                check_configuration(self._kernel, configuration)
        except Exception as error:
            raise error from None  # without the KeyError of the launch function
        if slots is None:
            if len(self._pools) >= self.POOLS:
                self._pools.clear()
            slots = self._pools[configuration] = []
        # The key that the next launch will look up. A list cannot be a key; a tensor's or an event's key would be its
        # identity, while its content may change. These come here each time.
        if all(type(value) in (bool, int, str, tuple, type(None)) for value in attributes.values()):
            values = [
                _lookup_form(value, configuration.cluster) if name == "cluster" else value
                for name, value in attributes.items()
            ]
            grid, block = _lookup_form(grid, configuration.grid), _lookup_form(block, configuration.block)
            self._pools[(grid, block, configuration.shared_memory, *attributes, *values)] = slots
        with suppress(IndexError):
            return slots, slots.pop()
        return slots, self._new_slot(configuration)

    def _new_slot(self, configuration: Configuration) -> _Slot:
        """Return a slot in which all but the arguments and the stream is filled in.

        The driver gets a pointer to each argument and not their buffer as a whole (`extra`): machine code may have
        other offsets than the source. The parameters of sm_90 start at address 0x210 and those of sm_80 at 0x160, so
        that all of them move if one is aligned to more, such as a CUtensorMap. Source: CUDA Driver API, CUlaunchConfig.
        """
        attributes, offsets = configuration.attributes, [each.offset for each in self._kernel.info.parameters]
        config_at = -(-self._struct.size // 16) * 16
        attributes_at = config_at + 56
        pointers_at = attributes_at + len(attributes)
        buffer = ctypes.create_string_buffer(pointers_at + len(offsets) * 8)
        start = ctypes.addressof(buffer)
        count = len(attributes) // 72
        config = (
            *configuration.grid,
            *configuration.block,
            configuration.shared_memory,
            0,
            start + attributes_at if count else 0,
            count,
        )
        struct.pack_into("<7I4xQQI4x", buffer, config_at, *config)
        struct.pack_into(f"{len(attributes)}s", buffer, attributes_at, attributes)
        struct.pack_into(f"<{len(offsets)}Q", buffer, pointers_at, *(start + offset for offset in offsets))
        stream_field = memoryview(buffer).cast("B")[config_at + 32 : config_at + 40].cast("Q")
        pointers = _ctypes_pointer(start + pointers_at) if offsets else None
        call = _ctypes_pointer(start + config_at), self._handle, pointers, None
        return [buffer, stream_field, 0, call, configuration, []]

    def _retry(self, code: int, call: tuple[Any, ...], configuration: Configuration, args: tuple[Any, ...]) -> None:
        """Repair the cause of the driver's error `code` if possible and launch again; raise DriverError if it fails."""
        driver = cuda_driver()
        self._kernel.module.check_loaded()
        if code == int(driver.CUresult.CUDA_ERROR_INVALID_CONTEXT):
            if device_of(args) is None:
                device_with_context()
            code = self._launch_kernel(*call)
        # Another GPU may be current than in _prepare.
        if code == int(driver.CUresult.CUDA_ERROR_INVALID_VALUE) and configuration.shared_memory:
            allow_block(self._kernel, 1, configuration.shared_memory)
            code = self._launch_kernel(*call)
        if code == int(driver.CUresult.CUDA_ERROR_INVALID_CLUSTER_SIZE) and configuration.cluster is not None:
            admit_cluster(self._kernel, configuration.cluster)
            code = self._launch_kernel(*call)
        try:
            result = driver.CUresult(code)
        except ValueError:  # a driver newer than cuda-bindings
            raise DriverError(f"launching {self._kernel.name}: the driver returned error {code}") from None
        check_result((result,), f"launching {self._kernel.name}")

    def _argument_error(self, args: Sequence[Any], error: Exception, check: bool, stream: int | None) -> Exception:
        """Return the error that says which argument is wrong, and why."""
        if stream is not None and not is_address(stream):
            return wrong_address(stream)
        given = [value for value in args if not isinstance(value, _Missing)]
        wrong = self._wrong_argument(given, self._checked if check else self._unchecked)
        if wrong is not None:
            return wrong
        return ArgumentError(f"{self._kernel.info.name}: {error}") if isinstance(error, ArgumentError) else error

    def _wrong_argument(self, args: Sequence[Any], converters: Sequence[Converter]) -> Exception | None:
        """Return the error that says which argument is wrong, and why; None if these converters accept all."""
        info = self._kernel.info
        if len(args) != len(info.parameters):
            takes = f"{len(info.parameters)} argument{'' if len(info.parameters) == 1 else 's'}"
            return ArgumentError(f"{info.name} takes {takes}, ({info.parameter_list}), but got {len(args)}")
        device = current_device() if self._several else None
        for index, (parameter, converter, value) in enumerate(zip(info.parameters, converters, args, strict=True)):
            try:
                names = {**converter.namespace(""), "a": value, "kind_a": type(value), "device": device}
                names |= {"stream": dlpack.NO_WAIT, "kept": []}
                converted = eval(converter.expression("a", ""), names)
                if converter.format in ("e", "f", "d"):
                    converted = float(converted)  # says why it is not a float; struct does not
                struct.pack(f"<{converter.format}", converted)
            except DriverError as reason:
                return reason
            except Exception as reason:
                out_of_range = isinstance(reason, (struct.error, OverflowError))
                text = f"{value_text(value)} is out of range" if out_of_range else str(reason) or repr(reason)
                return ArgumentError(f"{info.name}, argument {index + 1} ({parameter.cpp_or_ptx_type}): {text}")
        return None


class _Missing:
    """The default of an argument that is left out."""


def _layout(parameters: Sequence[Parameter], converters: Sequence[Converter]) -> str:
    """Return the format with which `struct` writes all arguments of a kernel."""
    layout = "<"
    end = 0
    for parameter, converter in zip(parameters, converters, strict=True):
        if struct.calcsize(f"<{converter.format}") != parameter.size:
            kind = parameter.cpp or f".{parameter.type}"
            raise ImageError(f"the manifest is damaged: it has a parameter of type {kind} with {parameter.size} bytes")
        layout += f"{parameter.offset - end}x{converter.format}"
        end = parameter.offset + parameter.size
    return layout


def _current_stream(pointers: Sequence[int], device: str) -> str:
    """Return the statements that find the stream of a launch by the types of the arguments that may be arrays.

    `device` is the expression of the launch's GPU.
    """
    if not pointers:
        return "stream = 0"
    arrays = "".join(f"a{index}, " for index in pointers)
    lines = (
        f"if {_only_addresses(pointers)}:",
        "    stream = 0",
        "else:",
        "    " + "".join(f"type_{index}, " for index in pointers) + "find = stream_rule",
        f"    if {' and '.join(f'kind_a{index} is type_{index}' for index in pointers)}:",
        f"        stream = find({device}) if find else 0",
        "    else:",
        f"        stream = find_stream(({arrays}), {device})",
    )
    return f"\n{12 * ' '}".join(lines)


def _check_whole(*sizes: Any) -> None:
    """Raise TypeError if a number among the values of a configuration is no integer."""
    for size in sizes:
        if type(size) is tuple:
            range(*size)  # takes one to three integers, and is the fastest to say so
        elif type(size) not in (int, bool, str, type(None)):
            operator.index(size)


def _refuse() -> None:
    """Stand for the value of an argument that a bound launch does not convert itself."""
    raise TypeError


def _only_addresses(pointers: Sequence[int]) -> str:
    """Return the condition that all arguments that may be arrays are addresses."""
    return " is ".join([*(f"kind_a{index}" for index in pointers), "int"]) if pointers else "True"


def _expressions(names: Sequence[str], suffix: str, converters: Sequence[Converter], namespace: dict[str, Any]) -> str:
    """Return the expressions that convert the arguments in the variables `names`, each after a comma.

    What the expressions use is added to the namespace, under names with the suffix.
    """
    expressions = ""
    for name, converter in zip(names, converters, strict=True):
        expressions += f", {converter.expression(name, name + suffix)}"
        namespace |= converter.namespace(name + suffix)
        converter.update_in(namespace, name + suffix)
    return expressions


def _lookup_form(given: Any, size: tuple[int, int, int] | None) -> Any:
    """Return `size` in the form of the value that `dimensions` converted to it: an integer, or a tuple of that length.

    As a key, it equals a given integer or tuple of integers, NumPy's included.
    """
    if type(given) is int or (type(given) is tuple and all(type(number) is int for number in given)):
        return given  # the next launch often passes the same object, which compares faster
    if size is None or isinstance(given, tuple):
        return size and size[: len(given)]
    return size if is_sequence(given) else size[0]


def _ctypes_pointer(address: int) -> Any:
    return ctypes.c_void_p.from_param(address)


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
