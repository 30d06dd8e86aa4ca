"""Assemble PTX with nvJitLink, and read what it reports of each kernel."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from cuda_wheel.builder.errors import CompileError
from cuda_wheel.builder.images import ptx_text
from cuda_wheel.builder.images.variables import variables
from cuda_wheel.builder.jobs import EMPTY, Compiled
from cuda_wheel.builder.scratch import new_folder
from cuda_wheel.runtime import nvjitlink
from cuda_wheel.runtime.errors import ImageError
from cuda_wheel.runtime.formats import ptx as ptx_module
from cuda_wheel.runtime.formats.elf import read_cubin
from cuda_wheel.runtime.jit import resources_of

__all__ = [
    "assemble",
    "described",
    "kernel_resources",
    "machine_code",
    "nowhere",
]


def described(text: bytes) -> Compiled:
    """Return what PTX says of itself; ValueError where it declares no version."""
    normal = ptx_text.normalise(text.decode())
    return replace(
        EMPTY,
        ptx=text,
        ptx_version_compiled=ptx_module.version(normal),
        kernels=ptx_module.kernels(normal),
        bounds=ptx_text.bounds(normal),
        variables=variables(normal),
    )


@contextmanager
def nowhere() -> Iterator[None]:
    """Work in an empty folder: the assembler looks for the files of line numbers and notes when they were changed."""
    before = os.getcwd()
    with new_folder() as folder:
        os.chdir(folder)
        try:
            yield
        finally:
            os.chdir(before)


def kernel_resources(log: str, cubin: bytes | None) -> dict[str, dict[str, int]]:
    """Return what each kernel needs; constant memory, which ptxas does not tell for every target, is the module's."""
    constant = {"constant": read_cubin(cubin).constant} if cubin else {}
    return {symbol: figures | constant for symbol, figures in resources_of(log).items()}


def machine_code(text: str, arch: str) -> bytes:
    """Return machine code for comparison. What relocatable PTX leaves to others is defined beside it, to no purpose."""
    missing = ptx_text.undefined(text)
    beside = [ptx_text.definitions(text, missing.values())] if missing else []
    # Debug information would hold a copy of the text, its version included.
    return assemble([text, *beside], arch, ("-Xptxas=--suppress-debug-info",))[0]


def assemble(texts: Sequence[str], arch: str, options: Sequence[str] = ()) -> tuple[bytes, str]:
    """Return the cubin that nvJitLink makes of PTX, and its log; raises CompileError with the assembler's words."""
    inputs = [("PTX", f"module{number}.ptx", text.encode()) for number, text in enumerate(texts)]
    try:
        return nvjitlink.link_code(inputs, [f"-arch=sm_{arch}", *options])
    except ImageError as error:
        raise CompileError(str(error)) from error
