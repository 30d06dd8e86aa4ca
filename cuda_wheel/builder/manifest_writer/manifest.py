"""Merge the results of a module's jobs and links, and make its manifest.

The undefined symbols of a relocatable module are compared with its setting `extern`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import TypeVar

from cuda_wheel.builder.cxx.demangling import signature
from cuda_wheel.builder.cxx.parameter_types import LONG_SIZE
from cuda_wheel.builder.errors import CompileError, ConfigError
from cuda_wheel.builder.images import ptx_text
from cuda_wheel.builder.jobs import EMPTY, BuiltModule, Compiled, Fatbin, ImageContent, Job
from cuda_wheel.builder.manifest_reader import all_manifests
from cuda_wheel.builder.manifest_writer.kernel_table import variable_table
from cuda_wheel.builder.manifest_writer.missing_kernels import absent_headers, left_out_code
from cuda_wheel.builder.manifest_writer.text import manifest_text
from cuda_wheel.builder.plan import Link, ModulePlan, cuda_sources
from cuda_wheel.builder.releases import first_reading
from cuda_wheel.builder.toolchain.headers import header_versions
from cuda_wheel.builder.toolchain.toolchain import Toolchain
from cuda_wheel.runtime.manifest import (
    Carried,
    External,
    Image,
    KernelInfo,
    Kind,
    Manifest,
    Target,
    Version,
    dotted,
    parse_version,
)
from cuda_wheel.runtime.parts.formats import ptx
from cuda_wheel.runtime.parts.formats.ptx import symbols
from cuda_wheel.runtime.rules import ZSTD_DRIVER

__all__ = ["all_headers", "built_module", "extern_table", "image_contents", "merge_results"]


def extern_table(module: ModulePlan, contents: Sequence[ImageContent]) -> tuple[External, ...]:
    """Return the symbols that a module's relocatable PTX uses and none of its sources defines, sorted by symbol.

    Raises CompileError if the setting `extern` lacks one of them, and ConfigError if it names any other symbol.
    """
    texts = [(source, content.decode()) for _, source, (kind, _, content), _ in contents if source and kind == "ptx"]
    definers = _definers(texts)
    undefined = {
        symbol: declaration
        for _, text in texts
        for symbol, declaration in ptx_text.undefined(text).items()
        if symbol not in definers
    }
    externals = tuple(_external(symbol, declaration, module) for symbol, declaration in sorted(undefined.items()))
    _check_all_named(externals, module)
    for name in module.module.settings.extern:
        if not any(name in (external.name, external.symbol) for external in externals):
            raise ConfigError(_superfluous(name, externals, definers, module))
    return externals


def _definers(texts: Sequence[tuple[str, str]]) -> dict[str, str]:
    """Return symbol -> path of the source that defines it; `texts` are (path of a source, its PTX)."""
    definers = {}
    for source, text in texts:
        known = symbols(text)
        definers.update(dict.fromkeys(sorted(known.defined | known.weak), source))
    return definers


def _external(symbol: str, ptx_declaration: str, module: ModulePlan) -> External:
    """Return the manifest's record of an undefined symbol, with its declaration.

    The declaration is in C++ if it is known from the mangled symbol, or from an `extern "C"` function in a source.
    Otherwise it is `ptx_declaration`.
    """
    demangled = signature(symbol)
    declaration = ptx_declaration
    if demangled.parameters is not None:
        declaration = f"{demangled.name}({', '.join(demangled.parameters)})"
    elif demangled.name == symbol:
        declaration = _c_declaration(symbol, module) or declaration
    return External(demangled.name, symbol, declaration)


_STATEMENT = re.compile(r"([^;{}]*)([;{}]|\Z)")
"""Matches text up to the next ";", "{" or "}", or up to the end of the file. Group 1 is the text. Group 2 is the
character that ends it, or "" at the end of the file.

The first match in "int a; f() {" has the groups ("int a", ";"), the second (" f() ", "{").
"""


def _c_declaration(name: str, module: ModulePlan) -> str | None:
    """Return the declaration of an `extern "C"` function as it stands in the module's sources, without `extern` and
    CUDA's attributes; None if no source declares the function."""
    call = re.compile(rf"(?<![\w$]){re.escape(name)}\s*\([^()]*\)\s*$")
    statements = (match for source in cuda_sources(module.module) for match in _STATEMENT.finditer(source.text))
    for statement in statements:
        match = call.search(statement[1]) if statement[2] == ";" else None
        if match is not None:
            result_type = re.split(r"[^\w:<>,\s*&]", statement[1][: match.start()])[-1]
            declaration = " ".join(f"{result_type}{match[0]}".split())
            if result_type.strip():
                attributes = r"\b(?:extern|__device__|__noinline__|__forceinline__)\s+"
                return 'extern "C" ' + re.sub(attributes, "", declaration)
    return None


def _check_all_named(externals: Sequence[External], module: ModulePlan) -> None:
    """Raise CompileError if the setting `extern` does not name each of `externals`, the module's undefined symbols."""
    allowed = set(module.module.settings.extern)
    unnamed = [external for external in externals if not {external.name, external.symbol} & allowed]
    if not unnamed:
        return
    names = ", ".join(f'"{external.name}"' for external in unnamed)
    uses = "".join(f"\n  {external.declaration}{module.module.mentions(external.name)}" for external in unnamed)
    raise CompileError(
        f"{module.module.label} uses symbols that none of its sources defines:{uses}\nAdd the source that defines "
        f"them, or leave them to the program that loads the module: extern = [{names}]."
    )


def _superfluous(name: str, externals: Sequence[External], definers: Mapping[str, str], module: ModulePlan) -> str:
    """Return the error message for a name in the setting `extern` that is not an undefined symbol of the module.

    `externals`: undefined symbols of the module.
    `definers`: symbol -> path of the source that defines it.

    The message names the source that defines `name`. If no source does, the message lists the undefined symbols.
    """
    text = f'{module.module.name} has extern = ["{name}"], but does not leave that symbol undefined: '
    definer = next((source for symbol, source in definers.items() if name in (symbol, signature(symbol).name)), None)
    if definer is not None:
        return (
            f"{text}{definer} defines it. Remove it from extern; or move its definition into a file of its own and "
            "name that in extern-default, not in sources."
        )
    names = ", ".join(external.name for external in externals)
    undefined = f"the undefined symbols are {names}" if names else "the module has no undefined symbols"
    return f"{text}{undefined}. Declare and use it, and define it nowhere."


V = TypeVar("V")


def merge_results(
    module: ModulePlan, compiled: Mapping[Job, Compiled], linked: Mapping[Link, Compiled]
) -> dict[str, Compiled]:
    """Return architecture -> one result, merged from the module's jobs and links for that architecture."""
    results = {}
    for arch in dict.fromkeys(target.arch for target in module.all_targets):
        units = {job: compiled[job] for job in module.jobs if job.arch == arch}
        links = [linked[link] for link in module.links if link.target.arch == arch]
        results[arch] = _merge(list(units.values()), links or _unlinked(units))
    return results


def _unlinked(units: Mapping[Job, Compiled]) -> list[Compiled]:
    """Return the results that contain the kernels, for one architecture of a module that this build does not link.

    `units`: job -> result, for all jobs of the architecture. The results of jobs for loadable images are returned. If
    there are none, those of jobs for PTX are returned.
    """
    whole = [unit for job, unit in units.items() if job.form == "whole"]
    return whole or [unit for job, unit in units.items() if job.form == "ptx"]


def _merge(units: list[Compiled], images: list[Compiled]) -> Compiled:
    """Merge the results for one architecture of a module into one result.

    `units`: results of all jobs for the architecture. They give what describes the sources, such as headers.
    `images`: results of the links or, if nothing is linked, of the jobs that contain kernels. They give code, kernels
    and variables.

    The warnings of both are kept.
    """
    with_ptx = next((image for image in images if image.ptx), EMPTY)
    with_version = next((each for each in (with_ptx, *units) if each.ptx), EMPTY)
    return Compiled(  # complexity: a comprehension for each field, each of its own
        cubin=next(filter(None, (image.cubin for image in images)), None),
        ptx=with_ptx.ptx,
        ptx_version_compiled=with_version.ptx_version_compiled,
        kernels=_union(image.kernels for image in images),
        bounds=_union(image.bounds for image in images),
        resources=_union(image.resources for image in images),
        variables=_unique(image.variables for image in images),
        names=_union(unit.names for unit in units),
        parameters=_union(unit.parameters for unit in units),
        headers=all_headers(units),
        log="\n\n".join(dict.fromkeys(filter(None, (each.log for each in (*units, *images))))),
        left_out=_unique(unit.left_out for unit in units),
        absent_headers=_unique(unit.absent_headers for unit in units),
        uses_build_time=any(unit.uses_build_time for unit in units),
        python=next((unit.python for unit in units if unit.python), ()),
        assembler=next((unit.assembler for unit in units if unit.assembler), None),
        hosts=next((unit.hosts for unit in units if unit.hosts), ()),
    )


def _union(tables: Iterable[Mapping[str, V]]) -> dict[str, V]:
    return {name: value for table in tables for name, value in table.items()}


def _unique(lists: Iterable[Iterable[V]]) -> tuple[V, ...]:
    return tuple(dict.fromkeys(each for values in lists for each in values))


def all_headers(results: Iterable[Compiled]) -> tuple[str, ...] | None:
    """Return the sorted absolute paths of the headers in all results; None if the headers of any result are unknown."""
    paths: set[str] = set()
    for result in results:
        if result.headers is None:
            return None
        paths.update(result.headers)
    return tuple(sorted(paths))


def image_contents(
    module: ModulePlan, results: Mapping[str, Compiled], compiled: Mapping[Job, Compiled]
) -> list[ImageContent]:
    """Return the images of a module: the loadable ones, then the relocatable ones.

    `results` is architecture -> merged result. A relocatable module without kernels has no loadable image.
    """
    images: list[ImageContent] = []
    if not module.relocatable or any(result.kernels for result in results.values()):
        images += [image for target in module.targets for image in _loadable(target, results[target.arch])]
    return images + [_relocatable(job, compiled[job]) for job in module.relocatable]


def _loadable(target: Target, result: Compiled) -> Iterator[ImageContent]:
    kind: Kind = "cubin" if target.real else "ptx"
    content = (result.cubin if target.real else result.ptx) or b""
    at = 0
    for host, size in result.hosts or (("", len(content)),):
        yield ImageContent(target, None, (kind, target.arch, content[at : at + size]), host)
        at += size


def _relocatable(job: Job, result: Compiled) -> ImageContent:
    kind: Kind = "ltoir" if job.form == "lto" else "ptx"
    content = result.ltoir if job.form == "lto" else result.ptx
    return ImageContent(Target.parse(f"compute_{job.arch}"), job.source, (kind, job.arch, content or b""))


def built_module(
    module: ModulePlan,
    results: Mapping[str, Compiled],
    contents: Sequence[ImageContent],
    bundled: Fatbin,
    toolchain: Toolchain,
    kernels: tuple[KernelInfo, ...],
) -> BuiltModule:
    """Return a built module with its manifest and files; `results` is architecture -> merged result, without images.

    `contents` are the images, `bundled` is the fatbin that contains them, and `kernels` is the return value of
    `kernel_table`. Raises CompileError or ConfigError as `extern_table` does.
    """
    cuda = parse_version(toolchain.nvrtc)
    images = [
        _image(content, offset, results[content[0].arch], cuda)
        for content, offset in zip(contents, bundled.offsets, strict=True)
    ]
    if bundled.compression == "zstd":
        images = [image._replace(driver=max(image.driver, ZSTD_DRIVER)) for image in images]
    name, headers = module.module.name, all_headers(results.values())
    manifest = Manifest(
        name=name,
        fatbin=name.rpartition(".")[2] + ".fatbin",
        fatbin_size=len(bundled.content),
        fatbin_sha256=sha256(bundled.content).hexdigest(),
        toolchain=_compilers(module, toolchain, results.values())
        | header_versions(toolchain, headers)
        | _system_headers(module, headers or ()),
        sources=module.module.paths,
        options=module.options,
        images=tuple(images),
        kernels=kernels,
        globals=variable_table(results),
        extern=extern_table(module, contents),
        long_size=_long_size(module),
        compression=bundled.compression,
        variant=module.module.variant,
        # Whoever loads it from a source tree has the sources; `packing.joined` puts them into a wheel.
        specialize=Carried(0, 0, sha256().hexdigest()) if module.module.settings.specialize else None,
        host_code=tuple(dict.fromkeys(map(str, (*absent_headers(results), *left_out_code(results))))),
    )
    text = manifest_text(manifest).encode()
    all_manifests(text, f"the manifest of {name}")  # a wheel must not contain a manifest that no loader reads
    merged = results.values()
    uses_build_time = any(result.uses_build_time for result in merged)
    return BuiltModule((manifest,), text, bundled.content, headers, uses_build_time)


def _image(image: ImageContent, offset: int | None, result: Compiled, cuda: Version) -> Image:
    target, source, (kind, _, content), host = image
    version = ptx.version(content.decode()) if kind == "ptx" else None
    return Image(
        kind=kind,
        target=target,
        ptx_version=version,
        ptx_version_compiled=version and (result.ptx_version_compiled or version),
        # Machine code from any release of a CUDA major version runs on any driver of that major version or a later
        # one. Source: CUDA Compatibility, "Minor Version Compatibility".
        driver=((result.assembler or cuda)[0], 0) if version is None else first_reading(version, cuda),
        offset=offset,
        size=len(content),
        sha256=sha256(content).hexdigest(),
        resources=_resources(result, target),
        source=source,
        host=host,
    )


def _system_headers(module: ModulePlan, headers: Iterable[str]) -> dict[str, str]:
    """Return {"system-headers": "sha256:..."}, a hash of the headers in the folders of the setting
    `system-include-dirs`.

    `headers` are absolute paths. Headers in other folders are ignored. Return {} if no header is left.
    """
    # The hash covers paths relative to these folders, because absolute paths differ between machines.
    inside = {
        f"{path[len(folder) + 1 :].replace(os.sep, '/')} {sha256(Path(path).read_bytes()).hexdigest()}"
        for folder in module.system_dirs
        for path in headers
        if path.startswith(folder + os.sep)
    }
    return {"system-headers": f"sha256:{sha256(repr(sorted(inside)).encode()).hexdigest()}"} if inside else {}


def _long_size(module: ModulePlan) -> int | None:
    """Return the size in bytes of the C++ type `long` in the module's images. It equals the size on this machine. None
    if a source is not CUDA C++."""
    return LONG_SIZE if all(source.kind == "cuda" for source in module.module.sources) else None


def _compilers(module: ModulePlan, toolchain: Toolchain, results: Iterable[Compiled]) -> dict[str, str]:
    """Return name -> release, for each compiler and linker that built a module, such as {"nvrtc": "12.9.86",
    "nvjitlink": "12.9"}."""
    nvvm = next((job.nvvm for job in module.jobs if job.nvvm), None)
    tileiras = next((job.tileiras.partition(" ")[0] for job in module.jobs if job.tileiras), None)
    python = {job.kind: job.python_compiler.partition(" ")[0] for job in module.jobs if job.python_compiler}
    assemblers = sorted({result.assembler for result in results if result.assembler})
    return {
        "nvrtc": toolchain.nvrtc,
        "nvjitlink": toolchain.nvjitlink,
        "nvfatbin": toolchain.nvfatbin,
        **({"nvvm": nvvm} if nvvm else {}),
        **({"tileiras": tileiras} if tileiras else {}),
        **python,
        **({"ptxas": ", ".join(map(dotted, assemblers))} if assemblers else {}),
    }


def _resources(result: Compiled, target: Target) -> dict[str, dict[str, int]]:
    """Return kernel symbol -> name of a launch bound or resource -> number: {"k": {"max_threads": 256, "registers":
    32}}.

    Resources, such as "registers", come from the assembler: they are left out if the image for `target` is not machine
    code.
    """
    reported = result.resources if target.real else {}
    return {
        symbol: {**result.bounds.get(symbol, {}), **reported.get(symbol, {})}
        for symbol in sorted({*result.bounds, *reported})
    }
