"""Load machine code, PTX or a fatbin that no wheel describes: the driver, or the text, tells of its kernels."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from . import digest as digest_module
from . import driver as driver_module
from . import jit as jit_module
from . import registry
from .driver import check_result, cuda_driver, device_and_driver, device_with_context
from .errors import DriverError, ImageError
from .formats import elf, ptx
from .formats.fatbin import whole_fatbin
from .formats.symbols import demangled
from .jit import JitOptions
from .linking.inputs import NAMES, Piece, piece_of
from .manifest import GlobalInfo, Image, KernelInfo, Manifest, Parameter, Space, Target, Version, dotted
from .module import Module
from .rules import How, unsupported

__all__ = [
    "kernels_of_library",
    "load_code",
]


ENUMERATES = (12, 4)
"""The first CUDA release whose driver tells of a library's kernels and their parameters. Source: CUDA Driver API,
cuLibraryEnumerateKernels and cuKernelGetParamInfo, in the release notes of 12.4."""


def load_code(
    code: Any,
    *,
    device: int | None = None,
    jit: JitOptions = JitOptions(),  # noqa: B008 - immutable
) -> Module:
    """Return the module of a cubin, PTX or a fatbin: bytes, PTX text, or the path of a file.

    The GPU is number `device`, else the current context's, else number 0. A kernel goes by its C++ name, as far as that
    can be read from its symbol, or by the symbol. Of PTX the parameters' types are known; of machine code their sizes
    alone, so that a parameter takes any number of that size. PTX is compiled by the driver: `Module.jit` tells of it.

    Of a fatbin it is the driver that tells: one for CUDA 12.4 or later, in the current context, else in GPU 0's own,
    which becomes current.

    Raises ImageError for what is none of these, is damaged, or for another GPU; DriverError where the driver is too old
    for that, or cannot compile the PTX: its message holds the compiler's log.
    """
    jit.check()
    piece = piece_of(code)
    if piece.kind not in ("cubin", "ptx", "fatbin"):
        what = NAMES[piece.kind]
        raise ImageError(f"{piece.name} is {what}, and no cubin, PTX or fatbin: link([...]) makes machine code of it")
    capability, driver = device_and_driver(device)
    digest = digest_module.sha256_of(piece.content)
    if piece.kind == "ptx":
        return registry.once(("code", piece.name, digest, jit), lambda: _of_ptx(piece, digest, capability, driver, jit))
    if piece.kind == "cubin":
        return registry.once(("code", piece.name, digest), lambda: _of_cubin(piece, digest, capability, driver))
    if driver < ENUMERATES:
        raise DriverError(
            f"the driver is for CUDA {dotted(driver)}, and only one for {dotted(ENUMERATES)} or later tells which "
            "kernels a fatbin has: update it, or load PTX or a cubin"
        )
    return registry.once(("code", piece.name, digest, jit), lambda: _of_fatbin(piece, digest, capability, driver, jit))


def _of_ptx(piece: Piece, digest: str, capability: Version, driver: Version, jit: JitOptions) -> Module:
    text = ptx.plain(piece.content.decode(errors="replace"))
    try:
        version, target = ptx.version(text), Target.parse(f"compute_{ptx.target(text)}")
    except ValueError as error:
        raise ImageError(f"{piece.name} is broken: {error}") from None
    reason = unsupported(target, capability)
    if reason:
        raise ImageError(f"{piece.name} {reason}")
    kernels = [KernelInfo(demangled(symbol), symbol, parameters) for symbol, parameters in ptx.kernels(text).items()]
    image = _image(piece, digest, target, driver, version)
    manifest = _manifest(piece, kernels, ptx.variables(text))
    return jit_module.load_ptx(manifest, image, piece.content + b"\0", jit)


def _of_cubin(piece: Piece, digest: str, capability: Version, driver: Version) -> Module:
    try:
        cubin = elf.check_cubin(piece.content)
    except ValueError as error:
        raise ImageError(f"{piece.name} is a damaged cubin: {error}") from None
    target = Target(*divmod(cubin.arch, 10), "", True)
    reason = unsupported(target, capability)
    if reason:
        raise ImageError(f"{piece.name} {reason}")
    handle = driver_module.load_library(piece.content, f"loading {piece.name}")
    kernels = [KernelInfo(demangled(symbol), symbol, entry.parameters) for symbol, entry in cubin.kernels.items()]
    manifest = _manifest(piece, kernels, cubin.variables)
    return Module(manifest, _image(piece, digest, target, driver, None), "native", handle)


def _of_fatbin(piece: Piece, digest: str, capability: Version, driver: Version, jit: JitOptions) -> Module:
    """Return the module of a fatbin, in which the driver chooses: machine code, or PTX that it compiles."""
    if not whole_fatbin(piece.content):
        raise ImageError(f"{piece.name} is a damaged fatbin: it is cut short")
    handle, kernels, compiled = jit_module.load_compiled(
        piece.content, f"loading {piece.name}", jit, kernels_of_library
    )
    how: How = "jit" if compiled.log else "native"
    image = _image(piece, digest, Target(*capability, "", how == "native"), driver, None)
    return Module(_manifest(piece, kernels, {}), image, how, handle, compiled if how == "jit" else None)


def kernels_of_library(handle: int) -> list[KernelInfo]:
    """Return the kernels of a loaded library, as far as the driver knows them; of their parameters it knows place and
    size. Raises DriverError."""
    driver = cuda_driver()
    device_with_context()  # without one, the driver tells nothing of parameters
    try:
        count = check_result(driver.cuLibraryGetKernelCount(handle), "counting kernels")
        kernels = check_result(driver.cuLibraryEnumerateKernels(count, handle), "listing kernels") if count else []
        found = []
        for kernel in kernels:
            name: bytes = check_result(driver.cuKernelGetName(kernel), "asking for a kernel's name")
            symbol = name.decode(errors="replace")
            found.append(KernelInfo(demangled(symbol), symbol, tuple(_parameters(kernel))))
    except RuntimeError as error:  # cuda.bindings does not find the function in the driver
        raise DriverError(f"the driver does not tell which kernels a library has: {error}") from error
    return found


def _parameters(kernel: Any) -> Iterator[Parameter]:
    driver = cuda_driver()
    index = 0
    while True:
        result = driver.cuKernelGetParamInfo(kernel, index)
        if int(result[0]) == int(driver.CUresult.CUDA_ERROR_INVALID_VALUE):  # there are no more
            return
        check_result(result, "asking for a kernel's parameters")
        _, offset, size = result
        # "b8" is a struct; of one byte it is a number as well.
        yield Parameter(f"b{8 * size}" if size in (2, 4, 8) else "b8", offset, size)
        index += 1


def _image(piece: Piece, digest: str, target: Target, driver: Version, version: Version | None) -> Image:
    kind: Literal["cubin", "ptx"] = "cubin" if target.real else "ptx"
    return Image(kind, target, version, version, driver, None, len(piece.content), digest, {})


def _manifest(piece: Piece, kernels: Sequence[KernelInfo], variables: Mapping[str, tuple[Space, int]]) -> Manifest:
    """Return the manifest that a wheel might have had, as far as it can be known."""
    infos = (GlobalInfo(demangled(symbol), symbol, space, size) for symbol, (space, size) in variables.items())
    return Manifest(
        name=piece.name,
        fatbin=piece.name,
        fatbin_size=len(piece.content),
        fatbin_sha256="",
        toolchain={},
        sources=(piece.name,),
        options=(),
        images=(),
        kernels=tuple(kernels),
        globals=tuple(infos),
    )
