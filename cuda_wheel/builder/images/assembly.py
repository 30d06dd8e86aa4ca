"""Assemble PTX with nvJitLink, and read what PTX and the assembler's log say of each kernel."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace

from cuda_wheel.builder.errors import CompileError
from cuda_wheel.builder.images import ptx_text
from cuda_wheel.builder.images.variables import source_variables
from cuda_wheel.builder.jobs import EMPTY, Compiled
from cuda_wheel.builder.scratch import new_folder
from cuda_wheel.runtime.errors import ImageError
from cuda_wheel.runtime.parts import cuda_libraries as nvjitlink
from cuda_wheel.runtime.parts.compile_log import resources_of
from cuda_wheel.runtime.parts.formats import ptx as ptx_format
from cuda_wheel.runtime.parts.formats.cubin import Cubin

__all__ = ["assemble", "described", "kernel_resources", "machine_code", "nowhere"]


def described(text: bytes, declared: Collection[str] = ()) -> Compiled:
    """Return what a PTX text says of its kernels and variables; raise ValueError where it declares no version.

    `declared` has the names that the project declares though they look foreign, by `identity`.
    """
    normal = ptx_text.normalise(text.decode())
    return replace(
        EMPTY,
        ptx=text,
        ptx_version_compiled=ptx_format.version(normal),
        kernels=ptx_format.kernels(normal),
        bounds=ptx_text.launch_bounds(normal),
        variables=source_variables(normal, declared),
    )


@contextmanager
def nowhere() -> Iterator[None]:
    """Make an empty folder the current one: the assembler records when the files of line numbers were changed."""
    before = os.getcwd()
    with new_folder() as folder:
        os.chdir(folder)
        try:
            yield
        finally:
            os.chdir(before)


def kernel_resources(log: str, cubin: Cubin | None) -> dict[str, dict[str, int]]:
    """Return the resources of each kernel by symbol, from the assembler's log.

    Constant memory, which ptxas does not report for every target, is the whole module's, from the cubin.
    """
    constant = {"constant": cubin.constant} if cubin else {}
    return {symbol: figures | constant for symbol, figures in resources_of(log).items()}


def machine_code(text: str, arch: str) -> bytes:
    """Return a PTX text's machine code without optimisation, to compare it with another's.

    Stubs define what the text leaves to other modules. A text that cannot be assembled so, because its limits of
    registers are too low for that, is optimised.
    """
    missing = ptx_text.undefined(text)
    texts = [text, *([ptx_text.stub_definitions(text, missing.values())] if missing else [])]
    # Debug information would contain a copy of the text, with its version.
    options = ["-Xptxas=--suppress-debug-info"]
    with suppress(CompileError):
        return assemble(texts, arch, [*options, "-Xptxas=-O0"])[0]
    return assemble(texts, arch, options)[0]


def assemble(texts: Sequence[str], arch: str, options: Sequence[str] = ()) -> tuple[bytes, str]:
    """Return the cubin that nvJitLink assembles from PTX, and its log; raise CompileError with that log."""
    inputs = [("PTX", f"module{number}.ptx", text.encode()) for number, text in enumerate(texts)]
    try:
        return nvjitlink.link_code(inputs, [f"-arch=sm_{arch}", *options])
    except ImageError as error:
        raise CompileError(str(error)) from error
