"""Load machine code, PTX or a fatbin without a manifest; its kernels come from the driver or from the code itself."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from ...driver import check_result, cuda_driver, device_and_driver, device_with_context, load_library
from ...errors import DriverError, ImageError
from ...jit import JitOptions, load_compiled
from ...loading import load_ptx
from ...manifest import GlobalInfo, Image, KernelInfo, Manifest, Parameter, Space, Target, Version, dotted, sha256_of
from ...module import Module, once
from ...rules import How, doubt, unsupported
from ..floating_point import floating_point
from ..formats import ptx
from ..formats.cubin import check_cubin, demangled
from ..formats.fatbin import only_machine_code, whole_fatbin
from ..permission import check_permission
from ..trial import try_to_load
from .inputs import KIND_LABELS, LinkInput, link_input_of

__all__ = ["kernels_of_library", "load_code"]


ENUMERATES = (12, 4)
"""First CUDA release whose driver lists a library's kernels and their parameters. Source: CUDA Driver API,
cuLibraryEnumerateKernels and cuKernelGetParamInfo, in the release notes of 12.4."""


def load_code(
    code: Any,
    *,
    device: int | None = None,
    jit: JitOptions = JitOptions(),  # noqa: B008 - immutable
) -> Module:
    """Return the module of a cubin, PTX or a fatbin: bytes, PTX text, or the path of a file.

    The GPU is number `device`, else the current context's, else number 0. A kernel's name is its C++ name, if that can
    be read from its symbol, or the symbol. PTX has the types of the parameters; machine code has only their sizes, so a
    parameter takes any number of that size. The driver compiles PTX; `Module.jit` describes the compilation.
    `JitOptions.floating_point` decides whether it may contract products and sums; machine code and fatbins take no such
    option.

    The driver lists the kernels of a fatbin; it must be for CUDA 12.4 or later, and needs a context. If none is
    current, GPU 0's primary context becomes current.

    Raises ImageError for another kind of code, and for code that is damaged or for another GPU; NoImageError for PTX,
    and for a fatbin that contains any, if `jit` or CUDA_WHEEL_JIT=error forbids to compile; DriverError if the driver
    is too old for the fatbin or cannot compile the PTX: the message then has the compiler's log.
    """
    jit.check()
    piece = link_input_of(code)
    if piece.kind not in ("cubin", "ptx", "fatbin"):
        what = KIND_LABELS[piece.kind]
        raise ImageError(
            f"{piece.name} is {what}, not a cubin, PTX or a fatbin: link([...]) turns it into machine code"
        )
    if jit.floating_point is not None and piece.kind != "ptx":
        raise ImageError(
            f"{piece.name} is {KIND_LABELS[piece.kind]}, which keeps the floating-point options that it was compiled "
            "with: leave JitOptions.floating_point out"
        )
    capability, driver = device_and_driver(device)
    if piece.kind == "ptx" or (piece.kind == "fatbin" and not only_machine_code(piece.content)):
        may = "must" if piece.kind == "ptx" else "contains more than machine code, which may"
        help = f"Load machine code for sm_{capability[0]}{capability[1]}: a cubin, or a fatbin of cubins alone."
        check_permission(jit, f"{piece.name} {may} be compiled", help, device)
    digest = sha256_of(piece.content)
    if piece.kind == "ptx":
        return once(("code", piece.name, digest, jit), lambda: _of_ptx(piece, digest, capability, driver, jit))
    if piece.kind == "cubin":
        # One GPU may refuse what another accepts.
        key = ("code", piece.name, digest, capability)
        return once(key, lambda: _of_cubin(piece, digest, capability, driver, device))
    if driver < ENUMERATES:
        raise DriverError(
            f"the driver is for CUDA {dotted(driver)}, and only drivers for {dotted(ENUMERATES)} or later list the "
            "kernels of a fatbin: update it, or load PTX or a cubin"
        )
    return once(("code", piece.name, digest, jit), lambda: _of_fatbin(piece, digest, capability, driver, jit))


def _of_ptx(piece: LinkInput, digest: str, capability: Version, driver: Version, jit: JitOptions) -> Module:
    text = ptx.plain(piece.content.decode(errors="replace"))
    try:
        version, target = ptx.version(text), Target.parse(f"compute_{ptx.target(text)}")
    except ValueError as error:
        raise ImageError(f"{piece.name} is damaged PTX: {error}") from None
    reason = unsupported(target, capability)
    if reason:
        raise ImageError(f"{piece.name} {reason}")
    kernels = [KernelInfo(demangled(symbol), symbol, parameters) for symbol, parameters in ptx.kernels(text).items()]
    image = _image(piece, digest, target, driver, version)
    manifest = _manifest(piece, kernels, ptx.variables(text))
    if not floating_point(jit.floating_point or ()).assembler_fma:
        text = ptx.without_contraction(piece.content.decode(errors="surrogateescape"))
        piece = piece._replace(content=text.encode(errors="surrogateescape"))
    return load_ptx(manifest, image, piece.content + b"\0", jit)


def _of_cubin(piece: LinkInput, digest: str, capability: Version, driver: Version, device: int | None) -> Module:
    try:
        cubin = check_cubin(piece.content)
    except ValueError as error:
        raise ImageError(f"{piece.name} is a damaged cubin: {error}") from None
    target = Target(*divmod(cubin.arch, 10), "", True)
    reason = unsupported(target, capability)
    if reason:
        raise ImageError(f"{piece.name} {reason}")
    kernels = [KernelInfo(demangled(symbol), symbol, entry.parameters) for symbol, entry in cubin.kernels.items()]
    manifest = _manifest(piece, kernels, cubin.variables)
    image = _image(piece, digest, target, driver, None)

    def load_cubin() -> Module:
        return Module(manifest, image, "native", load_library(piece.content, lambda: f"loading {piece.name}"))

    unsure = doubt(target, capability)
    return try_to_load(load_cubin, f"{piece.name} is {unsure}", device) if unsure else load_cubin()


def _of_fatbin(piece: LinkInput, digest: str, capability: Version, driver: Version, jit: JitOptions) -> Module:
    """Load the fatbin `piece` and return its module. The driver chooses machine code in the fatbin, or compiles its
    PTX.

    `digest`: SHA-256 of the fatbin. `capability`: the GPU's compute capability. `driver`: the driver's CUDA version.
    """
    if not whole_fatbin(piece.content):
        raise ImageError(f"{piece.name} is a damaged fatbin: it is cut short")
    handle, kernels, compiled = load_compiled(piece.content, f"loading {piece.name}", jit, kernels_of_library)
    how: How = "jit" if compiled.log else "native"
    image = _image(piece, digest, Target(*capability, "", how == "native"), driver, None)
    return Module(_manifest(piece, kernels, {}), image, how, handle, compiled if how == "jit" else None)


def kernels_of_library(handle: int) -> list[KernelInfo]:
    """Return the kernels of a loaded library as the driver lists them, with offset and size of their parameters.

    Raises DriverError.
    """
    driver = cuda_driver()
    device_with_context()  # without a context, the driver lists no parameters
    try:
        count = check_result(driver.cuLibraryGetKernelCount(handle), "counting kernels")
        kernels = check_result(driver.cuLibraryEnumerateKernels(count, handle), "listing kernels") if count else []
        found = []
        for kernel in kernels:
            name: bytes = check_result(driver.cuKernelGetName(kernel), "getting a kernel's name")
            symbol = name.decode(errors="replace")
            found.append(KernelInfo(demangled(symbol), symbol, tuple(_parameters(kernel))))
    except RuntimeError as error:  # cuda.bindings does not find the function in the driver
        raise DriverError(f"the driver cannot list the kernels of a library: {error}") from error
    return found


def _parameters(kernel: Any) -> Iterator[Parameter]:
    driver = cuda_driver()
    index = 0
    while True:
        result = driver.cuKernelGetParamInfo(kernel, index)
        if int(result[0]) == int(driver.CUresult.CUDA_ERROR_INVALID_VALUE):  # after the last parameter
            return
        check_result(result, "getting a kernel's parameters")
        _, offset, size = result
        # "b8" with more than one byte is a struct; with one byte it is a number.
        yield Parameter(f"b{8 * size}" if size in (2, 4, 8) else "b8", offset, size)
        index += 1


def _image(piece: LinkInput, digest: str, target: Target, driver: Version, version: Version | None) -> Image:
    kind: Literal["cubin", "ptx"] = "cubin" if target.real else "ptx"
    return Image(kind, target, version, version, driver, None, len(piece.content), digest, {})


def _manifest(piece: LinkInput, kernels: Sequence[KernelInfo], variables: Mapping[str, tuple[Space, int]]) -> Manifest:
    """Return a manifest for `piece`, which has none. It describes the kernels and variables. `variables`: symbol ->
    (memory space, size in bytes)."""
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
