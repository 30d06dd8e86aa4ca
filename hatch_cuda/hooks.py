"""Register the build hook. hatchling imports this module in every environment with cuda-wheel, so it imports little."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hatchling.plugin import hookimpl

if TYPE_CHECKING:
    from hatch_cuda.build_hook import CudaBuildHook


@hookimpl
def hatch_register_build_hook() -> list[type[CudaBuildHook]]:
    from hatch_cuda.build_hook import CudaBuildHook, CudaWheelBuildHook

    return [CudaBuildHook, CudaWheelBuildHook]
