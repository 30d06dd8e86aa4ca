"""Variables of a loaded module in the GPU's memory."""

from typing import TYPE_CHECKING, Any

from ..driver import check_result, cuda_driver, device_with_context
from ..errors import DriverError, ImageError
from ..manifest import GlobalInfo

if TYPE_CHECKING:
    from ..module import Module

__all__ = ["Global"]


class Global:
    """A variable of a loaded module in the GPU's memory; each context has its own copy."""

    def __init__(self, module: "Module", info: GlobalInfo) -> None:
        self.module = module
        self.info = info

    @property
    def name(self) -> str:
        return self.info.name

    @property
    def size(self) -> int:
        """In bytes."""
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
        from .variable_copies import write_variable  # only for programs that copy

        write_variable(self, data, offset, stream)

    def read(self, into: Any = None, *, offset: int = 0, stream: Any = None) -> bytes | None:
        """Copy the variable into the contiguous writable buffer `into`, such as a NumPy array, or return it as bytes.

        `offset` is in bytes. Waits for the work on `stream`, else on the stream of the `launch_stream` block, else on
        the default stream, and not for work on other non-blocking streams, such as PyTorch's (cuStreamNonBlocking).
        Raises ArgumentError if the variable is smaller than `into`.
        """
        from .variable_copies import read_variable  # only for programs that copy

        return read_variable(self, into, offset, stream)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """The variable as an array of bytes, for CuPy, Numba and PyTorch."""
        return {"shape": (self.size,), "typestr": "|u1", "data": (self.address, False), "strides": None, "version": 3}

    def __repr__(self) -> str:
        return f"<Global {self.name!r} of {self.module.name}: {self.size} bytes, {self.info.space}>"
