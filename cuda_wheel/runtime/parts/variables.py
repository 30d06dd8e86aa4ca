"""Copy data to and from a module's variables in the GPU's memory."""

from math import prod
from typing import TYPE_CHECKING, Any, Protocol

from ..arguments import Kept, exports, is_of, is_on_gpu, type_name
from ..driver import check_result, cuda_driver, current_device, device_count, device_with_context
from ..errors import ArgumentError, DriverError, ImageError
from ..manifest import GlobalInfo
from ..streams import CurrentStreams, block_stream, by_arrays, stream_address
from .array_protocols import (
    PLACES,
    Exported,
    device_bytes,
    export_for,
    is_capturing,
    keep,
    named_stream,
    producer_stream,
    wait_for,
)
from .buffers import host_bytes

if TYPE_CHECKING:
    from ..jit import Jit

__all__ = ["Global"]


class LoadedModule(Protocol):
    """The attributes of a `Module` that a variable needs."""

    @property
    def name(self) -> str: ...
    @property
    def handle(self) -> int: ...
    @property
    def jit(self) -> "Jit | None": ...


class Global:
    """A variable of a loaded module in the GPU's memory; each context has its own copy."""

    is_module_variable = True
    """Marks this class for the launch of a kernel: an argument whose type has this attribute is passed as the address
    of the variable."""

    def __init__(self, module: "LoadedModule", info: GlobalInfo) -> None:
        self.module = module
        self.info = info

    @property
    def name(self) -> str:
        return self.info.name

    @property
    def size(self) -> int:
        """Size in bytes."""
        return self.info.size

    @property
    def address(self) -> int:
        """The variable's address in the current context, for kernels and copies."""
        device_with_context()
        result = cuda_driver().cuLibraryGetGlobal(self.module.handle, self.info.symbol.encode())
        try:
            address = int(check_result(result, f"looking for {self.name} in {self.module!r}"))
        except DriverError as error:  # a driver before CUDA 12.4 compiles PTX without kernels now
            raise DriverError(f"{error}\n{self.module.jit.log if self.module.jit else ''}".rstrip()) from None
        if result[2] < self.size and self.info.space != "managed":  # the size of a managed variable is undocumented
            raise ImageError(
                f"the manifest of {self.module.name} is damaged: it gives {self.name} {self.size} bytes, but the "
                f"variable has {result[2]}"
            )
        return address

    def write(self, data: Any, *, offset: int = 0, stream: Any = None) -> None:
        """Copy `data`, a NumPy array or other contiguous buffer or an array on the GPU, into the variable.

        `offset` is in bytes. Without a `stream`, the copy runs on the stream on which a launch with `data` would run,
        and is complete when this returns; if a graph is captured on that stream, the copy becomes a part of the graph.
        Raises ArgumentError if `data` does not fit.
        """
        address, driver = self.address, cuda_driver()
        on_gpu = is_on_gpu(data) or (exports(type(data)) and data.__dlpack_device__()[0] in PLACES)
        if stream is not None:
            on_stream = stream_address(stream)
        elif (chosen := block_stream()) is not None:
            on_stream = chosen
        else:
            on_stream = _array_stream(data) if on_gpu else 0
        kept: Kept = []
        source: Any
        if on_gpu:
            source, size = _awaited_bytes(data, on_stream, kept)
            copy = driver.cuMemcpyDtoDAsync
        else:
            source = host_bytes(data)
            size = source.nbytes
            copy = driver.cuMemcpyHtoDAsync
        _check_range(self, offset, size)
        # On any stream, the default one included, the copy may still run when the call returns.
        check_result(copy(address + offset, source, size, on_stream), f"writing {self.name}")
        if stream is None and not is_capturing(on_stream):
            check_result(driver.cuStreamSynchronize(on_stream), f"writing {self.name}")
        elif kept:
            keep(kept, on_stream)

    def read(self, into: Any = None, *, offset: int = 0, stream: Any = None) -> bytes | None:
        """Copy the variable into the contiguous writable buffer `into`, such as a NumPy array, or return it as bytes.

        `offset` is in bytes. Waits for the work on `stream`, else on the stream of the `launch_stream` block, else on
        the default stream. It does not wait for other non-blocking streams, such as PyTorch's (cuStreamNonBlocking).
        Raises ArgumentError if the variable is smaller than `into`.
        """
        target = bytearray(max(self.size - offset, 0)) if into is None else into
        view = memoryview(target) if into is None else host_bytes(target)
        if view.readonly:
            raise ArgumentError(f"{self.name} cannot be read into a {type(into).__name__}: it is read-only")
        _check_range(self, offset, view.nbytes)
        on_stream = (block_stream() or 0) if stream is None else stream_address(stream)
        address, driver, doing = self.address + offset, cuda_driver(), f"reading {self.name}"
        check_result(driver.cuMemcpyDtoHAsync(view, address, view.nbytes, on_stream), doing)
        check_result(driver.cuStreamSynchronize(on_stream), doing)
        return bytes(target) if into is None else None

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """The variable as an array of bytes, for CuPy, Numba and PyTorch."""
        return {"shape": (self.size,), "typestr": "|u1", "data": (self.address, False), "strides": None, "version": 3}

    def __repr__(self) -> str:
        return f"<Global {self.name!r} of {self.module.name}: {self.size} bytes, {self.info.space}>"


def _awaited_bytes(array: Any, stream: int, kept: Kept) -> tuple[int, int]:
    """Return (address, size in bytes) of an array on the GPU, which is to be copied on `stream`.

    If the array says that another stream computes it, make `stream` wait for that stream. Add to `kept` what must stay
    alive during the copy.
    """
    kind = type(array)
    if is_of(kind, "torch", "Tensor") or is_of(kind, "cupy", "ndarray"):
        return device_bytes(array)
    if exports(kind):
        try:
            exported = export_for(array, stream)
            size = _contiguous_size(exported)
        except TypeError as error:
            raise ArgumentError(f"the {type_name(kind)} {error}") from None
        kept.append((exported.capsule, None))
        return exported.address, size
    found = device_bytes(array)
    producer = producer_stream(array, array.__cuda_array_interface__)
    if producer is not None:
        wait_for(stream, producer)
    kept.append((array, None))
    return found


def _contiguous_size(array: Exported) -> int:
    """Return the size of an array in bytes. Raises TypeError if the array is not contiguous."""
    count = 1
    for length, stride in zip(reversed(array.shape), reversed(array.strides or ()), strict=bool(array.strides)):
        if stride != count and length > 1 and 0 not in array.shape:
            raise TypeError("is not contiguous")
        count *= length
    return prod(array.shape) * array.bits // 8


def _array_stream(array: Any) -> int:
    """Return the address of the stream on which a launch with an array would run; 0 for the default stream."""
    device = current_device() if device_count() > 1 else None
    find = CurrentStreams()[(type(array),)]
    if find is by_arrays:
        return named_stream([array])
    return find(device or 0) if find else 0


def _check_range(variable: "Global", offset: int, size: int) -> None:
    if offset < 0 or offset + size > variable.size:
        at = f" from byte {offset} on" if offset else ""
        raise ArgumentError(f"{variable.name} has {variable.size} bytes: {size}{at} do not fit")
