"""Assemble PTX with nvJitLink; read what PTX and the assembler's log say about kernels."""

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
    """Return a `Compiled` record of a PTX text: the text, its PTX ISA version, its kernels, launch bounds and
    variables.

    Variables whose names look like those of a library or of the compiler are left out, unless `declared` contains the
    name in the form that `variables.identity` returns. Raises ValueError if the text has no `.version` directive.
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
    """Make an empty temporary folder the working directory inside the `with` block.

    With line information, the assembler stores modification times of source files that it finds by relative path. In an
    empty folder it finds none, so the output does not depend on them.
    """
    before = os.getcwd()
    with new_folder() as folder:
        os.chdir(folder)
        try:
            yield
        finally:
            os.chdir(before)


def kernel_resources(log: str, cubin: Cubin | None) -> dict[str, dict[str, int]]:
    """Return kernel symbol -> resource -> amount, from the assembler's log.

    "constant" is the size in bytes of the whole module's constant memory, read from the cubin because ptxas does not
    report it for every target; without a cubin, it is absent.
    """
    constant = {"constant": cubin.constant} if cubin else {}
    return {symbol: figures | constant for symbol, figures in resources_of(log).items()}


def machine_code(text: str, arch: str) -> bytes:
    """Return the cubin of a PTX text, assembled without optimisation, to compare it with that of another text.

    Stubs define the functions and variables that the text declares and other modules define. The text is assembled with
    optimisation only if it does not assemble without, because its register limits are too low.
    """
    missing = ptx_text.undefined(text)
    texts = [text, *([ptx_text.stub_definitions(text, missing.values())] if missing else [])]
    # Debug information would contain a copy of the text, with its version.
    options = ["-Xptxas=--suppress-debug-info"]
    with suppress(CompileError):
        return assemble(texts, arch, [*options, "-Xptxas=-O0"])[0]
    return assemble(texts, arch, options)[0]


def assemble(texts: Sequence[str], arch: str, options: Sequence[str] = ()) -> tuple[bytes, str]:
    """Return the cubin that nvJitLink makes of PTX texts for `arch` ("90a"), and nvJitLink's log.

    Raises CompileError with that log if it fails.
    """
    inputs = [("PTX", f"module{number}.ptx", text.encode()) for number, text in enumerate(texts)]
    try:
        return nvjitlink.link_code(inputs, [f"-arch=sm_{arch}", *options])
    except ImageError as error:
        raise CompileError(str(error)) from error
