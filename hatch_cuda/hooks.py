"""What hatchling imports in every environment that holds cuda-wheel: kept to the registration."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hatchling.plugin import hookimpl

if TYPE_CHECKING:
    from hatch_cuda.build_hook import CudaBuildHook


@hookimpl
def hatch_register_build_hook() -> type[CudaBuildHook]:
    from hatch_cuda.build_hook import CudaBuildHook

    return CudaBuildHook
