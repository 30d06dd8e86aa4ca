"""A stand-in for `cuda.bindings.driver`, which injects faults. That images really load is shown in `tests/gpu`."""

from __future__ import annotations

import enum
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

__all__ = ["Driver", "Result"]


class Result(enum.IntEnum):
    CUDA_SUCCESS = 0
    CUDA_ERROR_NOT_INITIALIZED = 3
    CUDA_ERROR_NO_DEVICE = 100
    CUDA_ERROR_INVALID_DEVICE = 101
    CUDA_ERROR_INVALID_CONTEXT = 201
    CUDA_ERROR_UNSUPPORTED_PTX_VERSION = 222
    CUDA_ERROR_OUT_OF_MEMORY = 2


class Driver:
    """Answers like `cuda.bindings.driver` on a machine with GPUs of these compute capabilities; `faults` maps a call's name to what it answers."""

    CUresult = Result
    CUdevice_attribute = SimpleNamespace(
        CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR=0, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR=1
    )

    CUjit_option = SimpleNamespace(
        **{
            f"CU_JIT_{name}": name
            for name in (
                "INFO_LOG_BUFFER",
                "INFO_LOG_BUFFER_SIZE_BYTES",
                "ERROR_LOG_BUFFER",
                "ERROR_LOG_BUFFER_SIZE_BYTES",
                "LOG_VERBOSE",
                "GENERATE_LINE_INFO",
                "OPTIMIZATION_LEVEL",
                "MAX_REGISTERS",
            )
        }
    )

    def __init__(self, *capabilities: tuple[int, int], version: int = 13000, **faults: Result) -> None:
        capabilities = capabilities or ((8, 6),)
        answers = {
            "cuInit": (),
            "cuDeviceGetCount": (len(capabilities),),
            "cuDriverGetVersion": (version,),
            "cuLibraryGetKernel": (0xBEEF,),
            "cuLibraryUnload": (),
            "cuGetErrorString": (b"because",),
        }
        self._answers = {name: (Result.CUDA_SUCCESS, *values) for name, values in answers.items()}
        self._answers |= {"cuCtxGetDevice": (Result.CUDA_ERROR_INVALID_CONTEXT, None)}
        self._answers |= {name: (result, None) for name, result in faults.items()}
        self.cuDeviceGetAttribute = lambda which, device: (Result.CUDA_SUCCESS, capabilities[device][which])
        self.loaded: list[bytes] = []
        self.options: dict[str, Any] = {}
        self.words = b""

    def cuLibraryLoadData(self, code: bytes, options: list[str], values: list[Any], *_: Any) -> tuple[Any, ...]:
        self.loaded.append(code)
        self.options = dict(zip(options, values, strict=True))
        for buffer in ("INFO_LOG_BUFFER", "ERROR_LOG_BUFFER"):
            if buffer in self.options:
                self.options[buffer][: len(self.words)] = self.words
        return self._answers.get("cuLibraryLoadData", (Result.CUDA_SUCCESS, 0xF00D))

    def cuDeviceGet(self, device: int) -> tuple[Any, ...]:
        return self._answers.get("cuDeviceGet", (Result.CUDA_SUCCESS, device))

    def __getattr__(self, name: str) -> Callable[..., tuple[Any, ...]]:
        return lambda *_: self._answers[name]
