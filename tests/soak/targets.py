"""The fuzz targets: functions that take arbitrary bytes and raise an exception if the code under test has a bug.

`fuzz.py` calls them with inputs of a coverage-guided fuzzer, `test_fuzz.py` with inputs of hypothesis. They need no compiler
and no GPU.
"""

from __future__ import annotations

import atexit
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

from cuda_wheel.builder import errors
from cuda_wheel.builder import failures as link_errors
from cuda_wheel.builder.compile.precompiled_headers import preamble_prefixes
from cuda_wheel.builder.config import architectures, pyproject
from cuda_wheel.builder.cxx import kernel_scan, parameter_types
from cuda_wheel.builder.cxx import tokens as tokens_module
from cuda_wheel.builder.cxx.demangling import signature as signature_of
from cuda_wheel.builder.cxx.tokens import macro_of
from cuda_wheel.builder.images import lowering, ptx_requirements, ptx_text, variables
from cuda_wheel.builder.jobs import EMPTY
from cuda_wheel.builder.manifest_reader import manifest_of
from cuda_wheel.builder.manifest_writer.kernel_table import kernel_table
from cuda_wheel.builder.manifest_writer.manifest import extern_table
from cuda_wheel.builder.manifest_writer.missing_kernels import missing_kernel_warnings
from cuda_wheel.builder.manifest_writer.text import manifest_text
from cuda_wheel.builder.messages import diagnostics, hint_rules, hints, nvvm_log
from cuda_wheel.builder.releases import RELEASES
from cuda_wheel.builder.rewriting.blocks import SourceBlocks
from cuda_wheel.builder.rewriting.constants import project_code
from cuda_wheel.builder.rewriting.preprocessed import TranslationUnit
from cuda_wheel.builder.rewriting.project_texts import changed_files
from cuda_wheel.builder.sources import header_dependencies as include_graph
from cuda_wheel.builder.sources import include_directives as includes
from cuda_wheel.builder.sources import source_files as device_files
from cuda_wheel.builder.sources.modules import SourceModule
from cuda_wheel.builder.sources.source_files import Source
from cuda_wheel.runtime.errors import CudaWheelError, ImageError
from cuda_wheel.runtime.explanations import no_image_message
from cuda_wheel.runtime.manifest import PARAMETERS, ManifestFile, Parameter, Target, dotted, parse_version
from cuda_wheel.runtime.parts.attach import kernel_names
from cuda_wheel.runtime.parts.formats import cubin as cubins
from cuda_wheel.runtime.parts.formats import cubin as symbols
from cuda_wheel.runtime.parts.formats import elf, fatbin, ptx
from cuda_wheel.runtime.parts.linking import inputs
from cuda_wheel.runtime.parts.linking import linkers as nvjitlink_messages
from cuda_wheel.runtime.parts.tuned_rows import choose, parse_table
from cuda_wheel.runtime.parts.user_cache import parse_size
from cuda_wheel.runtime.rules import resolve, unsupported
from cuda_wheel.tuning.tuner import table_text
from tests.soak import seeds

__all__ = ["TARGETS", "FuzzTarget"]


class FuzzTarget(NamedTuple):
    """A function that raises an exception if the code under test handles the bytes wrongly, with valid inputs (`seeds`) and
    the words that such inputs contain."""

    check: Callable[[bytes], None]
    seeds: Sequence[bytes]
    words: Sequence[str]


TARGETS: dict[str, FuzzTarget] = {}


def _target(seeds: Iterable[str | bytes], words: str) -> Callable[[Callable[[bytes], None]], Callable[[bytes], None]]:
    def register(check: Callable[[bytes], None]) -> Callable[[bytes], None]:
        texts = [each.encode() if isinstance(each, str) else each for each in seeds]
        TARGETS[check.__name__] = FuzzTarget(check, texts, words.split())
        return check

    return register


def _tried(function: Callable[..., Any], *arguments: Any, raises: type[Exception]) -> Any:
    """Return a function's result; None if it raises an exception of the documented type."""
    try:
        return function(*arguments)
    except raises:
        return None


@cache
def _folder() -> Path:
    """Return a folder with two headers, in which a project's settings can be written."""
    folder = Path(tempfile.mkdtemp(prefix="cuda-wheel-fuzz-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    for name in ("a.h", "d/b.h"):
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("#define B <b.h>\n" if name == "d/b.h" else "")
    return folder


# --- manifests and versions ------------------------------------------------------------------------------

MACHINES = [
    ((7, 5), (12, 4), None),
    ((8, 7), (13, 0), (13, 5)),
    ((9, 0), (12, 0), (12, 9)),
    ((12, 1), (11, 8), (13, 5)),
    ((10, 3), (13, 5), None),
]
"""Compute capability, the driver's CUDA version, and nvJitLink's version."""


@_target(seeds.MANIFESTS, seeds.MANIFEST_WORDS)
def manifest(data: bytes) -> None:
    def names_in(data: bytes, where: str) -> list[str] | None:
        return kernel_names(ManifestFile(lambda offset, size: data[offset : offset + size], where, check=False))

    names = _tried(names_in, data, "k.json", raises=ImageError)
    found = _tried(manifest_of, data, "k.json", raises=ImageError)
    if found is None:
        return
    text = manifest_text(found)
    again = manifest_of(text, "k.json")
    assert again == found and manifest_text(again) == text
    assert names == [kernel.name for kernel in found.kernels]
    assert all(0 <= (image.offset or 0) <= found.fatbin_size - image.size for image in found.images if image.offset)
    for kernel in found.kernels:
        assert sum(parameter.size for parameter in kernel.parameters) <= PARAMETERS
    for capability, driver, nvjitlink in MACHINES:
        resolution = resolve(found, capability, driver, nvjitlink)
        listed = [rejection.image for rejection in resolution.rejected]
        if resolution.image is None:
            assert found.name in no_image_message(found, resolution, capability, driver)
        else:
            listed.append(resolution.image)
            assert unsupported(resolution.image.target, capability) is None and resolution.image.source is None
        assert sorted(map(id, listed)) == sorted(map(id, found.images))


@_target(seeds.TUNED_TABLES, seeds.TUNED_TABLE_WORDS)
def tuned_table(data: bytes) -> None:
    rows = _tried(parse_table, data, "demo.k", "k.tuned.json", raises=ImageError)
    if rows is None:
        return
    text = table_text("demo.k", rows)
    assert table_text("demo.k", parse_table(text.encode(), "demo.k", "k.tuned.json")) == text
    for row in rows:
        for capability, _, _ in MACHINES:
            assert choose(rows, "k.tuned.json", row.name, row.problem, "another", capability).name == row.name
        assert choose(rows, "k.tuned.json", row.name, row.problem, row.gpu, row.compute_capability) == row


@_target(["sm_90a", "compute_100f", "12.4", "13.0.88", "500MiB", "2 GiB", "0"], "sm_ compute_ a f . KiB MiB TiB B 0")
def words(data: bytes) -> None:
    text = data.decode(errors="replace")
    target = _tried(Target.parse, text, raises=ValueError)
    assert target is None or str(target) == text
    version = _tried(parse_version, text, raises=ValueError)
    assert version is None or parse_version(dotted(version)) == version
    size = _tried(parse_size, text, raises=ValueError)
    assert size is None or parse_size(f"{size}B") == size >= 0


SUPPORTED = {
    "12.9": [50, 52, 53, 60, 61, 62, 70, 72, 75, 80, 86, 87, 89, 90, 100, 101, 103, 120, 121],
    "13.5": [75, 80, 86, 87, 88, 89, 90, 100, 103, 107, 110, 120, 121],
}


@_target(
    ["default", "all-major", "all;native", "75;80-real", "8.0;9.0+PTX", "sm_86, compute_100f", "90a-real 120f-virtual"],
    "default all all-major native -real -virtual sm_ compute_ +PTX a f ; 75 80 86 90 90a 100f 10.0 12.0",
)
def architecture_list(data: bytes) -> None:
    entries = architectures.split(data.decode(errors="replace"))
    assert architectures.split(";".join(entries)) == entries
    for release, supported in SUPPORTED.items():
        arguments = (supported, lambda: [(9, 0)], "architectures", f"NVRTC {release}")
        targets = _tried(architectures.settle, entries, *arguments, raises=errors.ConfigError)
        if targets is None:
            continue
        assert len(set(targets)) == len(targets)
        assert [target.real for target in targets] == sorted((target.real for target in targets), reverse=True)
        assert {10 * target.major + target.minor for target in targets} <= set(supported)
        forms = [f"{target.arch}-{'real' if target.real else 'virtual'}" for target in targets]
        assert architectures.settle(forms, *arguments) == targets
        assert architectures.settle(list(map(str, targets)), *arguments) == targets


# --- sources ----------------------------------------------------------------------------------------


@_target(seeds.INCLUDES, seeds.INCLUDE_WORDS)
def include(data: bytes) -> None:
    found = list(includes.includes(data))
    plain = re.sub(rb"\\\r?\n", b"", data)
    lines = [each.line for each in found]
    assert lines == sorted(lines) and (not lines or 1 <= lines[0] <= lines[-1] <= data.count(b"\n") + 1)
    assert all(word in plain for each in found for word in re.findall(rb"\w+", os.fsencode(each.name or each.spelling)))
    if b"\0" in data:  # the file system rejects such a path
        return
    folder = _folder()
    reach = include_graph.reachable(folder, "k.cu", ["d"], data)
    beside = [folder, folder / "d"]
    assert all(os.path.isfile(header.path) for header in reach.headers)
    named = {
        os.path.normpath(path / each.name)
        for each in found
        if each.name is not None
        for path in (beside if each.quoted else beside[1:])
        if os.path.isfile(path / each.name)
    }
    reached = {header.path for header in reach.headers}
    assert named <= reached | {str(folder / "k.cu")}


@_target(seeds.SOURCES, seeds.SOURCE_WORDS)
def source(data: bytes) -> None:
    text = data.decode(errors="surrogateescape")
    tokens, directives = tokens_module.scan(data)
    at = 0
    for token in tokens:
        assert at <= token.start < token.end
        assert data[token.start : token.end] == token.text.encode(errors="surrogateescape")
        at = token.end
    at = 0
    for directive in directives:
        assert (
            at <= directive.start < directive.end and data[directive.start : directive.end].lstrip(b" \t")[:1] == b"#"
        )
        at = directive.end
    assert all(made.name in text for directive in directives if (made := macro_of(directive)))
    kernels = kernel_scan.kernels_in(text)
    lines = [kernel.line for kernel in kernels]
    assert lines == sorted(lines) and all(1 <= line <= data.count(b"\n") + 1 for line in lines)
    assert all(kernel.name in text for kernel in kernels)
    assert kernel_scan.kernel_macro_arguments(text) <= set(re.findall(r"\b[A-Za-z_]\w*\b", text))
    types = parameter_types.parameter_types(text)
    assert types.keys() <= {kernel.name for kernel in kernels}
    assert all(type_.isprintable() for kernel_types in types.values() for type_ in kernel_types)
    assert parameter_types.parameter_type([token.text for token in tokens][:60]).isprintable()
    begins = preamble_prefixes(data)
    assert [end for _, end in begins] == sorted({end for _, end in begins})
    for number, (_, end) in enumerate(begins[:3], 1):
        assert preamble_prefixes(data[:end]) == begins[:number]


@_target(seeds.SOURCES, seeds.SOURCE_WORDS)
def mixed_source(data: bytes) -> None:
    blocks = SourceBlocks(data)
    code = project_code([blocks])
    at = 0
    for definition in blocks.definitions:
        assert at <= definition.start < definition.end <= len(data)
        at = definition.end
        code.is_host(definition)
        list(code.launched_functions(definition.tokens))
    ends = [token.end for definition in blocks.definitions for token in definition.tokens]
    lines = [blocks.line(end) for end in ends]
    assert all(blocks.offset(line, None) <= len(data) for line in lines)
    edits = {"k.cu": [(each.start, each.end, b"") for each in blocks.definitions[::2]]}
    changed = changed_files({"k.cu": blocks}, "k.cu", edits, lambda name, quoted, includer: None)
    assert changed["k.cu"].count(b"\n") == data.count(b"\n")


@_target(seeds.PREPROCESSED, seeds.SOURCE_WORDS)
def preprocessed_text(data: bytes) -> None:
    unit = TranslationUnit(data)
    for name, place in unit.instantiating.items():
        assert name and place <= len(data)
    block = unit.body(0)
    if block is not None:
        unit.later_meaning(block)


# --- PTX --------------------------------------------------------------------------------------------


@_target(seeds.PTX, seeds.PTX_WORDS)
def ptx_reader(data: bytes) -> None:
    text = data.decode(errors="replace")
    _tried(ptx.version, text, raises=ValueError)
    arch = _tried(ptx.target, text, raises=ValueError)
    assert arch is None or Target.parse(f"compute_{arch}").arch == arch
    kernels = ptx.kernels(text)
    for symbol, parameters in kernels.items():
        end = 0
        assert symbol in text
        for each in parameters:
            assert each.offset >= end and each.size >= 0
            end = each.offset + each.size
    assert ptx_text.launch_bounds(text).keys() <= kernels.keys()
    found = ptx.symbols(text)
    assert not found.undefined & (found.defined | found.weak)
    assert all(symbol in text for group in found for symbol in group)
    assert all(symbol in text for symbol in ptx.prototypes(text))
    assert all(size >= 0 for _, size in ptx.variables(text).values())
    undefined = ptx_text.undefined(text)
    beside = ptx_text.stub_definitions(text, undefined.values())
    assert all(symbol in text and symbol in beside for symbol in undefined)
    ptx_text.compiler_release(text)


@_target(seeds.PTX, seeds.PTX_WORDS)
def ptx_writer(data: bytes) -> None:
    normal = ptx_text.normalise(data.decode(errors="replace"))
    assert ptx_text.normalise(normal) == normal
    less = variables.without_unused(normal)
    defined = re.findall(r"^\S.*?([\w$]+)\s*[\[=;]", normal, re.MULTILINE)
    if len(set(defined)) == len(defined):  # an assembler rejects duplicate definitions
        assert variables.without_unused(less) == less
    left = iter(normal)
    assert all(character in left for character in less)  # the remaining text is in the original order
    assert all(each.symbol in normal and each.size > 0 for each in variables.source_variables(normal))
    moved = ptx_text.relocate_files(normal, {"/a": "b/", "/a/c": "d"})
    assert moved.count("\n") == normal.count("\n")
    version = _tried(ptx.version, normal, raises=ValueError)
    if version is not None:
        _lowered(normal, version, RELEASES[len(data) % len(RELEASES)].ptx_isa)


_VERSION = re.compile(r"^\.version\s+([0-9]{1,4})\.([0-9]{1,4})\b", re.MULTILINE)


def _lowered(text: str, version: tuple[int, int], needed: tuple[int, int]) -> None:
    """Check the lowering of PTX that the assembler accepts from the PTX ISA version `needed` on."""

    def assemble(given: str, arch: str) -> bytes:
        if ptx.version(given) < min(needed, version):
            raise errors.CompileError(f"x requires PTX ISA .version {needed[0]}.{needed[1]} or later")
        return _VERSION.sub(".version", given, count=1).encode(errors="surrogatepass")

    lowered = lowering.lower(text, "auto", "80", "k.cu", assemble)
    words = ptx_requirements.requirement(text, "80")
    least = version if words.unknown else max(needed, words.version, (7, 0))  # sm_80 needs 7.0
    expected = min((each.ptx_isa for each in RELEASES if least <= each.ptx_isa < version), default=version)
    assert ptx.version(lowered) == expected
    assert assemble(lowered, "80") == assemble(text, "80")
    assert lowering.lower(text, "as-compiled", "80", "k.cu", assemble) == text
    assert lowering.lower(lowered, "auto", "80", "k.cu", assemble) == lowered


# --- names ------------------------------------------------------------------------------------------


@_target(seeds.SYMBOLS, seeds.SYMBOL_WORDS)
def symbol(data: bytes) -> None:
    text = data.decode(errors="replace")
    signature = signature_of(text)
    assert signature.name or not text
    assert signature.name != text or signature.parameters is None or not text.startswith("_Z")
    name = symbols.demangled(text)
    assert name or not text
    if re.fullmatch(r"_Z(?:1[a-z]|N1[a-z]1[a-z]E)v", text):
        assert name == signature.name != text
    if re.fullmatch(r"[\w$%]*", text) and "operator" not in signature.name:  # a PTX symbol without "->"
        assert variables.unqualified_name(signature.name) in signature.name
    variables.is_library_variable.__wrapped__(text)


@_target(seeds.TABLES, seeds.SOURCE_WORDS + seeds.PTX_WORDS)
def signatures(data: bytes) -> None:
    """The data consist of a source, a NUL, and PTX that declares the kernels."""
    content, _, code = data.partition(b"\0")
    text = ptx_text.normalise(code.decode(errors="replace"))
    settings = SimpleNamespace(
        optional_kernels=("k",), extern=("f",), instances=(), specialize=False, options=(), defines=()
    )
    module = SimpleNamespace(
        name="demo.k",
        label="k.cu",
        on_demand=False,
        settings=settings,
        sources=(Source("k.cu", "cuda", content),),
        defaults=(),
        paths=["k.cu"],
    )
    plan: Any = SimpleNamespace(
        module=module, all_targets=(Target.parse("sm_80"), Target.parse("sm_90")), options=("-DA=1",), relocatable=()
    )
    both = {arch: EMPTY.__class__(**{**vars(EMPTY), "kernels": ptx.kernels(text)}) for arch in ("80", "90")}
    kernels = _tried(kernel_table, plan, both, raises=CudaWheelError)
    for kernel in kernels or ():
        assert kernel.symbol in text and not kernel.absent
        assert [each[:3] for each in kernel.parameters] == [each[:3] for each in both["80"].kernels[kernel.symbol]]
    missing_kernel_warnings(plan, both)
    _tried(
        extern_table,
        plan,
        [(Target.parse("compute_80"), "k.cu", ("ptx", "80", text.encode()), "")],
        raises=CudaWheelError,
    )


# --- binaries ---------------------------------------------------------------------------------------


@_target(seeds.BINARIES, seeds.BINARY_WORDS)
def binary(data: bytes) -> None:
    cubin = _tried(cubins.read_cubin, data, raises=ValueError)
    sections = _tried(elf.section_names, data, raises=ValueError)
    checked = _tried(cubins.check_cubin, data, raises=ValueError)
    assert checked is None or checked == cubin
    if cubin is not None:
        assert sections and not cubin.symbols.undefined & (cubin.symbols.defined | cubin.symbols.weak)
        assert all(isinstance(each, Parameter) for entry in cubin.kernels.values() for each in entry.parameters)
    for kind in (*device_files.CHECKS, "nothing"):
        device_files.faulty(kind, data)
    assert not fatbin.whole_fatbin(data) or len(data) >= 16
    piece = _tried(inputs.link_input_of, data, raises=ImageError)
    assert piece is None or inputs.link_input_of(piece).kind == piece.kind


# --- settings, logs and records -----------------------------------------------------------------------


@_target(seeds.CONFIGS, seeds.CONFIG_WORDS)
def settings(data: bytes) -> None:
    root = _folder()
    (root / "pyproject.toml").write_bytes(data)
    found = _tried(pyproject.read_config, root, {}, raises=errors.ConfigError)
    if found is None:
        return
    assert 0 < found.timeout < 1e6 and found.memory_limit >= 1 << 30
    assert found.ptx_version in ("auto", "as-compiled") or dotted(parse_version(found.ptx_version)) == found.ptx_version
    for module in (found, *found.module):
        assert re.fullmatch(r"c\+\+[0-9][0-9]", module.std)
        arguments = ([75, 80, 90], lambda: [], module.architectures.where, "NVRTC")
        _tried(architectures.settle, module.architectures.entries, *arguments, raises=errors.ConfigError)
    project = pyproject.read_pyproject(root)
    assert pyproject.is_concerned(project) in (True, False)


@_target(seeds.LOGS, seeds.LOG_WORDS)
def log(data: bytes) -> None:
    text = data.decode(errors="replace")
    lines = ["int a = x;", "", "const\tint b;"]
    read = diagnostics.read_nvrtc_log(
        text, "k.cu", "/root", ["/cuda"], ["f<int>"], lambda file: lines if file == "k.cu" else None
    )
    for each in read.diagnostics:
        assert each.severity in ("error", "warning", "remark", "note")
        assert each.column is None or (each.line is not None and each.column >= 1)
    assert "\0" not in str(read)
    case = hint_rules.Case("__global__ void k() {}", "80", "c++17", ("include",), lambda name: [f"src/{name}"], 12)
    helps = hints.hints(read.diagnostics, case)
    assert len(helps) <= hints.MAX_HINTS and all(each.startswith("help: ") for each in helps)
    diagnostics.merge_by_target({"sm_80": str(read), "sm_90": ""})
    nvjitlink_messages.locate_errors(text, "k.ptx")
    request: Any = {"name": "k.ll", "text": b"define void @k() {\n  ret void\n}\n", "arch": "80", "options": []}
    for error in ("", "NVVM_ERROR_COMPILATION", "NVVM_ERROR_INVALID_OPTION"):
        answer: Any = {"log": text, "error": error}
        _tried(nvvm_log.read_nvvm_result, request, answer, raises=CudaWheelError)
    module: Any = SimpleNamespace(
        name="demo.k",
        label="k.cu",
        on_demand=False,
        sources=(Source("k.cu", "cuda", b"int f();"),),
        defaults=(),
        settings=SimpleNamespace(link="lto", extern=()),
        mentions=lambda name: SourceModule.mentions(module, name),
    )
    assert link_errors.link_failure(module, Target.parse("sm_80"), "12.9", Exception(text)).startswith(
        "k.cu does not link"
    )
