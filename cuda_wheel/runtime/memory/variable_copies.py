"""Copy data to and from a module's variables in the GPU's memory."""

from typing import TYPE_CHECKING, Any

from ..driver import check_result, cuda_driver
from ..errors import ArgumentError
from ..launching.buffers import device_bytes, host_bytes, is_on_gpu
from ..launching.current_streams import array_stream
from ..launching.streams import block_stream, stream_address

if TYPE_CHECKING:  # variables.py imports this file when it is first used
    from .module_variables import Global

__all__ = ["read_variable", "write_variable"]


def write_variable(variable: "Global", data: Any, offset: int, stream: Any) -> None:
    """Copy a buffer or an array on the GPU into a variable; see `Global.write`."""
    address, driver = variable.address, cuda_driver()
    source: Any
    if is_on_gpu(data):
        source, size = device_bytes(data)
        copy = driver.cuMemcpyDtoDAsync
    else:
        source = host_bytes(data)
        size = source.nbytes
        copy = driver.cuMemcpyHtoDAsync
    _check_range(variable, offset, size)
    if stream is not None:
        on_stream = stream_address(stream)
    elif (chosen := block_stream()) is not None:
        on_stream = chosen
    else:
        on_stream = array_stream(data) if is_on_gpu(data) else 0
    # On any stream, the default one included, the copy may still run when the call returns.
    check_result(copy(address + offset, source, size, on_stream), f"writing {variable.name}")
    if stream is None and not _is_capturing(on_stream):
        check_result(driver.cuStreamSynchronize(on_stream), f"writing {variable.name}")


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


def _is_capturing(stream: int) -> bool:
    """Return whether a graph is captured on a stream, which then cannot be waited for."""
    # The driver refuses to tell of the default stream while any other stream captures.
    return stream > 2 and int(check_result(cuda_driver().cuStreamIsCapturing(stream), "looking at a stream")) != 0


def _check_range(variable: "Global", offset: int, size: int) -> None:
    if offset < 0 or offset + size > variable.size:
        at = f" from byte {offset} on" if offset else ""
        raise ArgumentError(f"{variable.name} has {variable.size} bytes: {size}{at} do not fit")
