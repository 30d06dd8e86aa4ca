"""Find the compiler of a language of kernels in Python. Runs in workers only, because it imports the compiler."""

from __future__ import annotations

from cuda_wheel.builder.toolchain.toolchain import PythonCompiler

__all__ = ["find_python_compiler"]


def _triton() -> PythonCompiler:
    from cuda_wheel.builder.toolchain.triton import find_triton

    return find_triton()


def _numba() -> PythonCompiler:
    from cuda_wheel.builder.toolchain.numba import find_numba

    return find_numba()


def _tile() -> PythonCompiler:
    from cuda_wheel.builder.toolchain.cutile import find_cutile

    return find_cutile()


_FINDERS = {"triton": _triton, "numba": _numba, "tile": _tile}
"""Language -> function that finds its compiler, which imports only this one's."""


def find_python_compiler(language: str) -> PythonCompiler:
    """Return the compiler of a language, such as "triton", in this environment; raises ToolchainError."""
    return _FINDERS[language]()
