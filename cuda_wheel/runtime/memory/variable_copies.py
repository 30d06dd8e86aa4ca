"""Copy data to and from a module's variables in the GPU's memory."""

from typing import TYPE_CHECKING, Any

from ..driver import check_result, cuda_driver
from ..errors import ArgumentError
from ..launching.buffers import device_bytes, host_bytes, is_of, is_on_gpu, type_name
from ..launching.current_streams import array_stream, producer_stream
from ..launching.streams import block_stream, stream_address
from . import dlpack
from .arrays_in_use import Kept, export_for, is_capturing, keep, wait_for

if TYPE_CHECKING:  # variables.py imports this file when it is first used
    from .module_variables import Global

__all__ = ["read_variable", "write_variable"]


def write_variable(variable: "Global", data: Any, offset: int, stream: Any) -> None:
    """Copy a buffer or an array on the GPU into a variable; see `Global.write`."""
    address, driver = variable.address, cuda_driver()
    on_gpu = is_on_gpu(data) or (dlpack.exports(type(data)) and data.__dlpack_device__()[0] in dlpack.PLACES)
    if stream is not None:
        on_stream = stream_address(stream)
    elif (chosen := block_stream()) is not None:
        on_stream = chosen
    else:
        on_stream = array_stream(data) if on_gpu else 0
    kept: Kept = []
    source: Any
    if on_gpu:
        source, size = _awaited_bytes(data, on_stream, kept)
        copy = driver.cuMemcpyDtoDAsync
    else:
        source = host_bytes(data)
        size = source.nbytes
        copy = driver.cuMemcpyHtoDAsync
    _check_range(variable, offset, size)
    # On any stream, the default one included, the copy may still run when the call returns.
    check_result(copy(address + offset, source, size, on_stream), f"writing {variable.name}")
    if stream is None and not is_capturing(on_stream):
        check_result(driver.cuStreamSynchronize(on_stream), f"writing {variable.name}")
    elif kept:
        keep(kept, on_stream)


def _awaited_bytes(array: Any, stream: int, kept: Kept) -> tuple[int, int]:
    """Return the address and the size in bytes of an array on the GPU, after letting a stream wait for it.

    What has to be kept during the copy is added to `kept`.
    """
    kind = type(array)
    if is_of(kind, "torch", "Tensor") or is_of(kind, "cupy", "ndarray"):
        return device_bytes(array)
    if dlpack.exports(kind):
        try:
            exported = export_for(array, stream)
            size = exported.contiguous_size
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


def read_variable(variable: "Global", into: Any, offset: int, stream: Any) -> bytes | None:
    """Copy a variable into a buffer, or return it as bytes; see `Global.read`."""
    target = bytearray(max(variable.size - offset, 0)) if into is None else into
    view = host_bytes(target)
    if view.readonly:
        raise ArgumentError(f"{variable.name} cannot be read into a {type(into).__name__}: it is read-only")
    _check_range(variable, offset, view.nbytes)
    on_stream = (block_stream() or 0) if stream is None else stream_address(stream)
    address, driver, doing = variable.address + offset, cuda_driver(), f"reading {variable.name}"
    check_result(driver.cuMemcpyDtoHAsync(view, address, view.nbytes, on_stream), doing)
    check_result(driver.cuStreamSynchronize(on_stream), doing)
    return bytes(target) if into is None else None


def _check_range(variable: "Global", offset: int, size: int) -> None:
    if offset < 0 or offset + size > variable.size:
        at = f" from byte {offset} on" if offset else ""
        raise ArgumentError(f"{variable.name} has {variable.size} bytes: {size}{at} do not fit")
