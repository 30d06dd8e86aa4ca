"""Compile a module when it is loaded from a source tree.

The loader imports this package by name, as `cuda_wheel.SOURCE_HOOK`, and calls the functions below. Each one is
imported on first use.
"""

from typing import Any

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cuda_wheel.builder.compile_on_load.requests import compile_on_load, compile_text, specialize
    from cuda_wheel.builder.errors import ToolchainError
    from cuda_wheel.builder.sources.source_tree import find_source, kernels_beside, module_that_may_make
__all__ = [
    "ToolchainError",
    "compile_on_load",
    "compile_text",
    "find_source",
    "kernels_beside",
    "module_that_may_make",
    "specialize",
]


def __getattr__(name: str) -> Any:
    if name == "compile_on_load":
        from cuda_wheel.builder.compile_on_load.requests import compile_on_load

        return compile_on_load
    if name == "compile_text":
        from cuda_wheel.builder.compile_on_load.requests import compile_text

        return compile_text
    if name == "specialize":
        from cuda_wheel.builder.compile_on_load.requests import specialize

        return specialize
    if name == "ToolchainError":
        from cuda_wheel.builder.errors import ToolchainError

        return ToolchainError
    if name in ("find_source", "kernels_beside", "module_that_may_make"):
        from cuda_wheel.builder.sources import source_tree

        return getattr(source_tree, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
