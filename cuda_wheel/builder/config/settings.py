"""The settings in `[tool.cuda-wheel]`: its keys with their defaults, read once into a frozen `Config`.

The same fields give the parser and the JSON schema for validate-pyproject. CUDAARCHS, CMake's environment variable,
overrides the architectures of a project and of its modules. `variants` in a module's table gives lists of values of
macros, and every combination is a variant unless `exclude` names it; or it gives each variant's macros in `rows`.
`[[tool.cuda-wheel.triton]]` names Triton kernels; see `config.python_kernels`.
"""

from __future__ import annotations

import itertools
import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar

from cuda_wheel.builder.config.architectures import DEFAULT, is_specific, split
from cuda_wheel.builder.config.compiler_options import macro_options, read_options
from cuda_wheel.builder.config.names import TABLE
from cuda_wheel.builder.config.numba import NUMBA_ARGUMENTS, REGISTERS, numba_variants
from cuda_wheel.builder.config.python_kernels import COUNTS, KERNEL_PATH, Rows
from cuda_wheel.builder.config.tile import TILE_ARGUMENTS, TILE_OPTIONS, tile_variants
from cuda_wheel.builder.config.triton import ARGUMENTS, OTHER_OPTIONS, triton_variants
from cuda_wheel.builder.config.values import (
    ARCHITECTURES,
    BACK_END,
    COMPILER_OPTIONS,
    FLAG,
    MACROS,
    NAME_EXPRESSIONS,
    PTX_VERSION,
    SECONDS,
    SIZE,
    STANDARD,
    STRING,
    STRINGS,
    TABLES,
    Architectures,
    Kind,
    T,
    check_macro_value,
    one_of,
    some_of,
)
from cuda_wheel.builder.errors import ConfigError
from cuda_wheel.runtime.errors import PARTS
from cuda_wheel.runtime.manifest import MacroValue, Variant, full_name, macro_text
from cuda_wheel.runtime.parts.python_kernels.signatures import module_and_function
from cuda_wheel.runtime.parts.variants import RESERVED

__all__ = [
    "MOST_VARIANTS",
    "PYTHON_TABLES",
    "VARIABLE",
    "VARIANTS",
    "Config",
    "ModuleConfig",
    "NumbaConfig",
    "PythonKernelConfig",
    "Settings",
    "TileConfig",
    "TritonConfig",
    "ignored_options",
    "override_module",
    "override_project",
    "table_schema",
]


VARIABLE = "CUDAARCHS"

_WHERE = f"the environment variable {VARIABLE}"


def override_project(own: Architectures, value: str) -> Architectures:
    """Return the architectures in `value`, the value of CUDAARCHS, which replace a project's `own` ones."""
    entries = tuple(split(value))
    lost = [entry for entry in own.entries if is_specific(entry) and entry not in entries]
    note = _replaced(entries, own.entries, own.where) if entries != own.entries else ""
    if lost:
        note += (
            f"; this build is without {_listed(lost)}: write it into the architectures of a module's own table, which "
            "keep it in every build"
        )
    return Architectures(entries, _WHERE, note)


def override_module(own: Architectures, value: str) -> Architectures:
    """Return a module's own architectures with those in `value`, the value of CUDAARCHS, in place of all but "a" and
    "f" targets.

    A list of "a" or "f" targets alone stays as it is: the module may compile for no other target.
    """
    entries = tuple(split(value))
    kept = tuple(filter(is_specific, own.entries))
    if kept == own.entries:
        note = f'{VARIABLE} does not replace {own.where} ({_listed(kept)}), which has only "a" and "f" targets'
        return replace(own, note=note)
    plain = [entry for entry in own.entries if not is_specific(entry)]
    note = _replaced(entries, plain, own.where)
    if kept:
        return Architectures(
            tuple(dict.fromkeys((*entries, *kept))), f"{_WHERE}, with {own.where}", f"{note} and keeps {_listed(kept)}"
        )
    return Architectures(entries, _WHERE, note if entries != own.entries else "")


_listed = ";".join
"""Function that joins architectures with semicolons, as CMake writes a list: ["80", "90a"] -> "80;90a"."""


def _replaced(entries: Iterable[str], plain: Iterable[str], where: str) -> str:
    return f"{VARIABLE} ({_listed(entries)}) replaces {_listed(plain)} in {where}"


MOST_VARIANTS = 10_000
"""Maximum number of variants of a module. Each variant needs its own compile jobs, at least one for each
architecture."""

_KEYS = ("exclude", "rows")
"""Keys of a module's table `variants` that are not names of macros. "exclude" lists combinations of values to leave
out; "rows" lists the variants one by one."""

_VALUE: dict[str, Any] = {"type": ["string", "number", "boolean"]}

_MACROS: dict[str, Any] = {
    "type": "object",
    "propertyNames": {"pattern": r"^[A-Za-z_][A-Za-z0-9_]*$"},
    "additionalProperties": _VALUE,
    "minProperties": 1,
}

_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {key: {"type": "array", "items": _MACROS, "minItems": 1} for key in _KEYS},
    "additionalProperties": {"type": "array", "items": _VALUE, "minItems": 1},
}


def _variants(value: Any, where: str) -> tuple[Variant, ...]:
    """Return the variants that `value`, the table `variants` of a module, describes, in the table's order.

    `where` names the table in error messages: "tool.cuda-wheel.module[0].variants". Raises ConfigError if the table is
    invalid.
    """
    if not isinstance(value, dict):
        raise ConfigError(f"{where} must be a table of macros and lists of their values, not {value!r}.")
    lists = {name: _values(name, found, where) for name, found in value.items() if name not in _KEYS}
    if lists and "rows" in value:
        raise ConfigError(f"{where} has rows and lists of values ({', '.join(lists)}): leave one of them out.")
    if "rows" in value:
        if "exclude" in value:
            raise ConfigError(f"{where}.exclude is for lists of values: leave it out, and the rows that it excludes.")
        variants = _tables(value["rows"], f"{where}.rows")
        if not variants:
            raise ConfigError(f"{where}.rows is empty: give it tables of macros such as {{ NUM_MODES = 4 }}.")
    else:
        if not lists:
            raise ConfigError(f'{where} is empty: give macros lists of values, such as NUM_MODES = [2, 4], or "rows".')
        count = math.prod(map(len, lists.values()))
        if count > MOST_VARIANTS:
            raise ConfigError(f"{where} means {count} variants; the most that a module may have are {MOST_VARIANTS}.")
        variants = [tuple(zip(lists, values, strict=True)) for values in itertools.product(*lists.values())]
        variants = _without(variants, _tables(value.get("exclude", []), f"{where}.exclude"), lists, where)
    return tuple(_sorted_and_unique(variants, where))


def _values(name: str, values: Any, where: str) -> list[MacroValue]:
    _check_name(name, where)
    if not isinstance(values, list) or not values:
        raise ConfigError(f"{where}.{name} must be a list of values such as [2, 4], not {values!r}.")
    for each in values:
        _check_value(each, f"{where}.{name}")
    twice = next((each for each in values if [*map(macro_text, values)].count(macro_text(each)) > 1), None)
    if twice is not None:
        raise ConfigError(f"{where}.{name} has the value {macro_text(twice)} twice: leave one out.")
    return list(values)


def _tables(value: Any, where: str) -> list[Variant]:
    """Return the (macro name, value) pairs of each table in a list: [{"NUM_MODES": 4}] -> [(("NUM_MODES", 4),)].

    Raises ConfigError if `value`, the list in TOML, is invalid. `where` names the list in error messages:
    "tool.cuda-wheel.module[0].variants.rows".
    """
    if not isinstance(value, list) or not all(isinstance(each, dict) and each for each in value):
        raise ConfigError(f"{where} must be a list of tables such as [{{ NUM_MODES = 4 }}], not {value!r}.")
    for name, each in (pair for table in value for pair in table.items()):
        _check_name(name, where)
        _check_value(each, f"{where}: {name}")
    return [tuple(table.items()) for table in value]


def _check_name(name: str, where: str) -> None:
    if not re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII):
        raise ConfigError(f"{where}: {name!r} is not a macro name: use letters, digits and underscores.")
    if name in RESERVED:
        raise ConfigError(f"{where}: no macro of a variant can be called {name!r}, which is a parameter of load.")


def _check_value(value: Any, where: str) -> None:
    is_number = isinstance(value, int) or (isinstance(value, float) and math.isfinite(value))
    if not is_number and not (isinstance(value, str) and value and value.isprintable()):
        raise ConfigError(f"{where} must be a printable string, a finite number, true or false, not {value!r}.")
    check_macro_value(str(value), where)


def _without(
    variants: Sequence[Variant], excluded: Sequence[Variant], lists: Mapping[str, object], where: str
) -> list[Variant]:
    """Return `variants` without the excluded ones, in the same order. An item of `excluded` excludes each variant that
    has all macros of the item with the same values.

    `lists`: its keys are the names of all macros. `where`: names the table `variants` in error messages. Raises
    ConfigError if an item has an unknown macro or excludes none of the variants left, or if no variant is left.
    """
    kept = list(variants)
    for macros in excluded:
        unknown = next((name for name, _ in macros if name not in lists), None)
        if unknown is not None:
            raise ConfigError(f"{where}.exclude names {unknown}, which has no list of values.")
        wanted = {(name, macro_text(value)) for name, value in macros}
        left = [each for each in kept if not wanted.issubset((name, macro_text(value)) for name, value in each)]
        if len(left) == len(kept):
            raise ConfigError(f"{where}.exclude: no variant is left with {full_name('', macros)[1:-1]}; leave it out.")
        kept = left
    if not kept:
        raise ConfigError(f"{where}.exclude excludes every variant.")
    return kept


def _sorted_and_unique(variants: Sequence[Variant], where: str) -> list[Variant]:
    if len(variants) > MOST_VARIANTS:
        raise ConfigError(f"{where} has {len(variants)} variants; the most that a module may have are {MOST_VARIANTS}.")
    found: dict[tuple[tuple[str, str], ...], Variant] = {}
    for variant in (tuple(sorted(each)) for each in variants):
        key = tuple((name, macro_text(value)) for name, value in variant)
        if key in found:
            raise ConfigError(f"{where} has the variant {full_name('', variant)[1:-1]} twice: leave one out.")
        found[key] = variant
    return list(found.values())


VARIANTS: Kind[tuple[Variant, ...]] = Kind(_variants, _SCHEMA)


def _key(kind: Kind[T], default: T, doc: str, shown: str | None = None) -> T:
    """Return a dataclass field for one key of `[tool.cuda-wheel]`. The field's metadata contain the arguments.

    `kind`: the key's parser and JSON schema. `doc`: the key's description. `shown`: the default as TOML text; None to
    make the text from `default`.
    """
    metadata = {
        "parse": kind.parse,
        "schema": kind.schema,
        "doc": doc,
        "default": json.dumps(default) if shown is None else shown,
    }
    value: T = field(default=default, metadata=metadata)
    return value


@dataclass(frozen=True)
class Settings:
    """Settings that `[tool.cuda-wheel]` sets for all modules, and a module's own table for that module."""

    architectures: Architectures = _key(
        ARCHITECTURES,
        Architectures((DEFAULT,), f"{TABLE}.architectures"),
        'What to compile for: "default", "all-major", "all", "native", or a list in CMake\'s syntax.',
        f'"{DEFAULT}"',
    )
    include_dirs: tuple[str, ...] = _key(STRINGS, (), "Folders for `#include`, relative to the project.")
    system_include_dirs: tuple[str, ...] = _key(
        STRINGS,
        (),
        "Folders of libraries outside the project, searched after `include-dirs`. `$NAME` and `${NAME}` stand for "
        "environment variables.",
    )
    missing_headers: tuple[str, ...] = _key(
        STRINGS,
        (),
        'Headers that may be missing, as globs over their names, such as "Eigen/*": each that is not found is empty, '
        "with a warning. Any other header that is not found is an error.",
    )
    std: str = _key(STANDARD, "c++17", "The C++ standard.")
    defines: tuple[tuple[str, str], ...] = _key(
        MACROS, (), "Macros, as a table of names and values. A module has those of the project too.", "{}"
    )
    options: tuple[str, ...] = _key(
        COMPILER_OPTIONS, (), "Further options of NVRTC; those of nvcc are translated, or ignored with a message."
    )
    host_code: str = _key(
        one_of("whole", "leave-out", "reject"),
        "whole",
        'Host code in a `.cu` file: "whole" compiles all of it; "leave-out" leaves out the bodies of host functions '
        "that do not compile, if nothing else depends on them, with a warning for each; "
        '"reject" makes host code an error.',
    )
    pytorch_options: bool = _key(
        FLAG,
        True,
        "Whether sources that include PyTorch's headers are compiled with the macros that PyTorch's `BuildExtension` "
        "defines; a macro in `defines` or `options` takes precedence.",
    )
    optional_kernels: tuple[str, ...] = _key(
        STRINGS,
        (),
        "Kernels that some images may lack, as globs over C++ names or symbols; any other is an error.",
    )
    lineinfo: bool = _key(FLAG, False, "Whether images carry line numbers for profilers and debuggers.")
    warnings_as_errors: bool = _key(
        FLAG, False, "Whether a compiler warning about the project's own files is an error."
    )


@dataclass(frozen=True)
class ModuleConfig(Settings):
    """One `[[tool.cuda-wheel.module]]`: the settings of one module."""

    name: str = _key(STRING, "", "The module's dotted name. Required.", "")
    sources: tuple[str, ...] = _key(
        STRINGS,
        (),
        "Its files, or globs: CUDA C++, NVVM IR (`.ll`, `.bc`), PTX, and all that nvJitLink links. The default is the "
        "`.cu` file of that name.",
    )
    instantiate: tuple[str, ...] = _key(
        NAME_EXPRESSIONS,
        (),
        'C++ name expressions of the templates to compile, such as "gemm<float, 16>".',
    )
    instances: tuple[str, ...] = _key(
        STRINGS,
        (),
        'Which template instances to keep of those that the sources launch, as globs such as "*<float*"; `!` excludes.',
    )
    link: str = _key(
        one_of("none", "ptx", "lto"),
        "none",
        'How several sources become one module: "lto" optimises across them, "ptx" does not; "none" is for one.',
    )
    extern: tuple[str, ...] = _key(
        STRINGS,
        (),
        "C++ names or symbols that its sources declare and the program supplies with `load(..., link=[...])`.",
    )
    extern_default: tuple[str, ...] = _key(
        STRINGS, (), "Sources that define these symbols for programs that load the module without `link`."
    )
    relocatable: bool = _key(
        FLAG, False, "Whether the wheel also contains the module in a form for linking; `extern` implies it."
    )
    variants: tuple[Variant, ...] = _key(
        VARIANTS,
        (),
        "Sets of macros, each of which the module is compiled with: lists of values (their product, less the "
        "combinations in `exclude`) or `rows`.",
        "{}",
    )
    specialize: bool = _key(
        FLAG,
        False,
        "Whether the wheel carries the sources, so that other values of the variants' macros, and other template "
        "instances, are compiled where a toolchain is installed.",
    )


OWN_ARCHITECTURES: Kind[Architectures | None] = Kind(ARCHITECTURES.parse, ARCHITECTURES.schema)


# The keys that every table of Python kernels has. Each table lists them among its own, in the order of the reference.


def _kernel_key() -> Any:
    return _key(KERNEL_PATH, "", 'The kernel, as "MODULE:FUNCTION": "demo.ops:add". Required.', "")


def _module_name_key() -> Any:
    return _key(
        STRING,
        "",
        "The dotted name to load it by; several tables may have one name. The default is the kernel's Python module.",
        "",
    )


def _own_architectures_key() -> Any:
    return _key(
        OWN_ARCHITECTURES, None, "What to compile this kernel for; the default is the project's `architectures`.", ""
    )


class PythonKernelConfig:
    """One table of kernels in a language of Python functions: a kernel, and what to compile it for."""

    language: ClassVar[str]
    """Key of the table in `[tool.cuda-wheel]`, and of the kernel in variants."""
    kernel: str
    name: str
    arguments: Rows
    architectures: Architectures | None

    @property
    def module(self) -> str:
        """Dotted name of the module that the kernel belongs to."""
        return self.name or module_and_function(self.kernel)[0]

    def check(self, own: Mapping[str, Any], where: str) -> None:
        """Raise ConfigError for keys of a table that exclude each other. `own` is the table in pyproject.toml."""

    def variants(self, where: str) -> list[Variant]:
        """Return the kernel's variants, in the order of its rows; raises ConfigError, which names the table `where`."""
        raise NotImplementedError


@dataclass(frozen=True)
class TritonConfig(PythonKernelConfig):
    """One `[[tool.cuda-wheel.triton]]`: a Triton kernel, and what to compile it for."""

    language = "triton"

    kernel: str = _kernel_key()
    name: str = _module_name_key()
    arguments: Rows = _key(
        ARGUMENTS,
        (),
        'A type ("*fp32:16", "i32", "fp32") or a constant for each parameter; a list means each of its values. Or a '
        "list of such tables. Required.",
        "",
    )
    num_warps: tuple[int, ...] = _key(COUNTS, (4,), "Warps of a block, or a list: each is compiled.", "4")
    num_stages: tuple[int, ...] = _key(COUNTS, (3,), "Stages of software pipelining, or a list.", "3")
    num_ctas: tuple[int, ...] = _key(COUNTS, (1,), "Blocks of a cluster, or a list.", "1")
    autotune: bool = _key(
        FLAG,
        False,
        "Compile what `@triton.autotune` in the source lists: constants, warps, stages and blocks of a cluster.",
        "false",
    )
    options: Variant = _key(
        OTHER_OPTIONS, (), "Further options of Triton's compiler, such as `{ maxnreg = 128 }`.", "{}"
    )
    architectures: Architectures | None = _own_architectures_key()

    def check(self, own: Mapping[str, Any], where: str) -> None:
        for key in ("num-warps", "num-stages", "num-ctas"):
            if self.autotune and key in own:
                raise ConfigError(
                    f"{where} has {key} and autotune = true, which takes it from the source: leave one out."
                )

    def variants(self, where: str) -> list[Variant]:
        counts = self.num_warps, self.num_stages, self.num_ctas
        return triton_variants(self.kernel, self.arguments, *counts, self.options, where, self.autotune)


OPTIONAL_FLAG: Kind[bool | None] = Kind(FLAG.parse, FLAG.schema)


@dataclass(frozen=True)
class NumbaConfig(PythonKernelConfig):
    """One `[[tool.cuda-wheel.numba]]`: a Numba kernel, and what to compile it for."""

    language = "numba"

    kernel: str = _kernel_key()
    name: str = _module_name_key()
    arguments: Rows = _key(
        NUMBA_ARGUMENTS,
        (),
        'Numba\'s type ("float32[::1]", "float32[:, :]", "int64") for each parameter; a list means each of its values. '
        "Or a list of such tables. Required.",
        "",
    )
    fastmath: bool | None = _key(
        OPTIONAL_FLAG, None, "Whether arithmetic may be inexact; the default is what the kernel's decorator says.", ""
    )
    opt: bool | None = _key(
        OPTIONAL_FLAG, None, "Whether to optimise; the default is what the kernel's decorator says.", ""
    )
    max_registers: int = _key(
        REGISTERS, 0, "Registers that a thread may have; the default is what the kernel's decorator says.", ""
    )
    architectures: Architectures | None = _own_architectures_key()

    def variants(self, where: str) -> list[Variant]:
        return numba_variants(self.kernel, self.arguments, self.fastmath, self.opt, self.max_registers, where)


@dataclass(frozen=True)
class TileConfig(PythonKernelConfig):
    """One `[[tool.cuda-wheel.tile]]`: a cuTile kernel, and what to compile it for."""

    language = "tile"

    kernel: str = _kernel_key()
    name: str = _module_name_key()
    arguments: Rows = _key(
        TILE_ARGUMENTS,
        (),
        'A type ("float32[2]:16", "int32") or a constant for each parameter; a list means each of its values. Or a '
        "list of such tables. Required.",
        "",
    )
    num_ctas: tuple[int, ...] = _key(
        COUNTS, (), "Blocks of a cluster, or a list: each is compiled. The default is the decorator's.", ""
    )
    occupancy: tuple[int, ...] = _key(
        COUNTS, (), "Blocks that are active on a multiprocessor, or a list. The default is the decorator's.", ""
    )
    options: Variant = _key(
        TILE_OPTIONS, (), "Further options of cuTile's compiler: `opt_level` and `num_worker_warps`.", "{}"
    )
    architectures: Architectures | None = _own_architectures_key()

    def variants(self, where: str) -> list[Variant]:
        return tile_variants(self.kernel, self.arguments, self.num_ctas, self.occupancy, self.options, where)


PYTHON_TABLES: dict[str, type[PythonKernelConfig]] = {
    each.language: each for each in (TritonConfig, NumbaConfig, TileConfig)
}
"""Language of kernels in Python, a key of `[tool.cuda-wheel]` -> its tables."""


@dataclass(frozen=True)
class Config(Settings):
    """All of `[tool.cuda-wheel]`, checked. Every front end creates it with `from_table`."""

    sources: tuple[str, ...] = _key(
        STRINGS,
        (),
        "Which `.cu` files to compile, as globs; without any, all in the wheel's packages. An "
        'entry such as "!src/pkg/detail/*.cu" takes files out again; the last that matches counts.',
    )
    ptx_version: str = _key(
        PTX_VERSION,
        "auto",
        'The PTX ISA version to ship: "auto" is the lowest that is proven equal, "as-compiled" the compiler\'s own.',
    )
    compress: str = _key(
        one_of("none", "speed", "balance", "size"),
        "none",
        'How to compress the installed fatbin: "speed" (LZ4), "balance" or "size" (zstd: drivers for CUDA 12.4 and '
        "later only). The driver then picks the image.",
    )
    exclude_sources: bool = _key(FLAG, True, "Whether sources, and `.cuh` files, stay out of the wheel.")
    loader: str = _key(
        one_of("dependency", "vendor"),
        "dependency",
        "Whether the wheel needs `cuda-wheel` to load its images, or has the loader itself, as `PACKAGE._cuda_wheel`.",
    )
    loader_parts: tuple[str, ...] = _key(
        some_of(*PARTS),
        (),
        'Parts of the loader that `loader = "vendor"` copies, beside those that the modules need: '
        + ", ".join(f"`{part}`" for part in PARTS)
        + ".",
    )
    split: str = _key(
        one_of("none", "architecture"),
        "none",
        'How `cuda-wheel split` divides the wheel: "architecture" makes a base wheel with PTX, and a companion wheel '
        "with the machine code for each compute capability. A plain build makes the whole wheel.",
    )
    backend: str = _key(
        BACK_END,
        "",
        'The build back end that `build-backend = "cuda_wheel.backend"` wraps, as `build-backend` would name it: '
        '"uv_build", "poetry.core.masonry.api" and so on. No other back end takes this key.',
        "",
    )
    backend_path: tuple[str, ...] = _key(
        STRINGS,
        (),
        "Folders of the project from which `backend` is imported, if it is part of the project.",
    )
    sbom: bool = _key(
        FLAG, True, "Whether the wheel's metadata contain an SBOM, which lists what the images were built from."
    )
    timeout: float = _key(
        SECONDS,
        600.0,
        "Seconds that one compile job may take.",
        "600",
    )
    memory_limit: int = _key(
        SIZE,
        8 << 30,
        "Memory (address space) that one compile job may take; Windows has no limit.",
        '"8GiB"',
    )
    module: tuple[ModuleConfig, ...] = _key(TABLES, (), "Modules with settings of their own, one table each.")
    triton: tuple[TritonConfig, ...] = _key(TABLES, (), "Triton kernels, one table each.")
    numba: tuple[NumbaConfig, ...] = _key(TABLES, (), "Numba kernels, one table each.")
    tile: tuple[TileConfig, ...] = _key(TABLES, (), "cuTile kernels, one table each.")

    @property
    def python_kernels(self) -> list[tuple[str, PythonKernelConfig]]:
        """All tables of kernels in Python, each after its place: "tool.cuda-wheel.triton[0]"."""
        return [
            (f"{TABLE}.{language}[{index}]", table)
            for language in PYTHON_TABLES
            for index, table in enumerate(getattr(self, language))
        ]

    def for_module(self, name: str = "") -> ModuleConfig:
        """Return the settings of a module that has no table of its own."""
        shared = {item.name: getattr(self, item.name) for item in fields(Settings)}
        return ModuleConfig(**shared, name=name)

    @classmethod
    def from_table(cls, table: Mapping[str, Any], environ: Mapping[str, str] | None = None) -> Config:
        """Return the settings of a `[tool.cuda-wheel]` table; raises ConfigError that names the invalid key.

        CUDAARCHS in `environ`, CMake's variable, replaces every `architectures`, except for "a" and "f" targets in a
        module's own table.
        """
        if not isinstance(table, Mapping):
            raise ConfigError(f"{TABLE} must be a table: write [{TABLE}].")
        config = replace(cls(), **_parsed(cls, table, TABLE))
        _check_macros(config.for_module(), table, TABLE)
        modules = []
        for index, own in enumerate(config.module):
            where = f"{TABLE}.module[{index}]"
            settings = _parsed(ModuleConfig, own, where)  # type: ignore[arg-type]
            if "defines" in settings:  # one macro of a module leaves the others as they are
                settings["defines"] = tuple(sorted((dict(config.defines) | dict(settings["defines"])).items()))
            module = replace(config.for_module(), **settings)
            if not module.name:
                raise ConfigError(f'{where} has no name: give it its dotted name, such as "pkg.kernels.gemm".')
            _check_macros(module, own, where)  # type: ignore[arg-type]
            modules.append(module)
        kernels: dict[str, Any] = {
            language: tuple(
                _python_kernel(kind, own, f"{TABLE}.{language}[{index}]")
                for index, own in enumerate(getattr(config, language))
            )
            for language, kind in PYTHON_TABLES.items()
        }
        if config.split != "none" and config.compress != "none":
            raise ConfigError(
                f'{TABLE}.compress = "{config.compress}" and {TABLE}.split = "{config.split}" exclude each other: '
                "images of a compressed fatbin cannot be told apart. Leave compress out: wheels are compressed."
            )
        config = replace(config, module=tuple(modules), **kernels)
        override = (environ or {}).get(VARIABLE, "").strip()
        return _with_override(config, override) if override else config


def _python_kernel(kind: type[PythonKernelConfig], own: Mapping[str, Any], where: str) -> PythonKernelConfig:
    """Return the settings of one table of kernels in Python, such as `[[tool.cuda-wheel.triton]]`. Raises
    ConfigError."""
    table = kind(**_parsed(kind, own, where))
    for key, value in (("kernel", table.kernel), ("arguments", table.arguments)):
        if not value:
            raise ConfigError(f'{where} has no {key}: it needs kernel = "MODULE:FUNCTION" and arguments.')
    table.check(own, where)
    return table


def _check_macros(module: ModuleConfig, own: Mapping[str, Any], where: str) -> None:
    """Raise ConfigError if a module's `options` set a macro of its `variants`, or change a macro of its `defines`.

    `own`: the module's table in pyproject.toml. `where`: name of this table in error messages,
    "tool.cuda-wheel.module[0]". For a key that `own` lacks, the error message names `[tool.cuda-wheel]` instead.
    """
    defines = dict(module.defines)
    in_variants = {name for variant in module.variants for name, _ in variant}
    for option in macro_options(read_options(module.options, f"{where}.options").arguments):
        place = f"{where if 'options' in own else TABLE}.options: {' '.join(option.arguments)!r}"
        if option.name in in_variants:
            raise ConfigError(f"{place} changes {option.name} of {where}.variants: leave one of them out.")
        if option.name in defines and option.value != defines[option.name]:
            key = f"{where if option.name in own.get('defines', ()) else TABLE}.defines"
            raise ConfigError(
                f"{place} changes {option.name} = {defines[option.name]} of {key}: leave one of them out."
            )


def _with_override(config: Config, value: str) -> Config:
    """Return `config` with the architectures of the project and of its modules overridden by `value`, the value of
    CUDAARCHS (CMake's environment variable for architectures)."""
    shared = config.architectures
    replaced = override_project(shared, value)
    owns = (module.architectures for module in config.module)
    overridden = (replaced if own == shared else override_module(own, value) for own in owns)
    modules = tuple(replace(each, architectures=own) for each, own in zip(config.module, overridden, strict=True))
    kernels: dict[str, Any] = {
        language: tuple(
            each if (own := each.architectures) is None else replace(each, architectures=override_module(own, value))
            for each in getattr(config, language)
        )
        for language in PYTHON_TABLES
    }
    return replace(config, architectures=replaced, module=modules, **kernels)


def _parsed(cls: type[Any], table: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Return field name -> parsed value of each key in `table`, a TOML table with the keys of `cls`. Fields that the
    key `options` sets are included: "-std=c++20" sets `std`.

    Raises ConfigError for an invalid table. `where` names the table in error messages: "tool.cuda-wheel.module[0]".
    """
    known = {item.name.replace("_", "-"): item for item in fields(cls)}
    parsed = {}
    for key, value in table.items():
        if key not in known:
            raise ConfigError(f'{where} has no key "{key}": {_suggestion(key, known)}')
        try:
            parsed[known[key].name] = known[key].metadata["parse"](value, f"{where}.{key}")
        except ValueError as error:  # an integer of more digits than Python converts to a string
            raise ConfigError(f"{where}.{key}: {error}.") from None
    return parsed | (_keys_in_options(parsed, where) if issubclass(cls, Settings) else {})


def _keys_in_options(parsed: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Return field name -> value of each field that the compiler options of a table set: "-std=c++20" sets `std`.

    `parsed`: field name -> value of each key in the table. `where`: name of the table in error messages,
    "tool.cuda-wheel.module[0]". Raises ConfigError if the options contradict another key of the table.
    """
    where_options, found = f"{where}.options", {}
    for key, value in read_options(parsed.get("options", ()), where_options).keys.items():
        name = key.replace("-", "_")
        if key == "architectures":
            value = Architectures(value, where_options)  # type: ignore[arg-type]
            is_same = set(value.entries) == set(getattr(parsed.get(name), "entries", value.entries))
        else:
            value = STANDARD.parse(value, where_options) if key == "std" else value
            is_same = parsed.get(name, value) == value
        if not is_same:
            raise ConfigError(f"{where_options} and {where}.{key} contradict each other: leave one of them out.")
        found[name] = value
    return found


def ignored_options(tables: Iterable[Settings]) -> list[str]:
    """Return a line for each reason why compiler options in some of the tables have no effect."""
    ignored: dict[str, dict[str, None]] = {}
    for table in tables:
        for reason, texts in read_options(table.options, TABLE).ignored.items():
            ignored[reason] = ignored.get(reason, {}) | dict.fromkeys(texts)
    return [f"{TABLE}.options: ignored {', '.join(texts)}: {reason}" for reason, texts in ignored.items()]


def _suggestion(key: str, known: Mapping[str, Any]) -> str:
    """Return the end of the error message for `key`, an unknown key of a table. The keys of `known` are the table's
    keys.

    For a key of a module's table, the end is `it is a key of modules: ...`. For any other key, it is `did you mean
    "std"?` with the most similar known key, or a list of the known keys.
    """
    if key in {item.name.replace("_", "-") for item in fields(ModuleConfig)}:
        return f"it is a key of modules: put it into a [[{TABLE}.module]]."
    from difflib import get_close_matches  # start-up time: 1 ms, only for an error

    near = get_close_matches(key, known, n=1)
    return f'did you mean "{near[0]}"?' if near else f"the known keys are {', '.join(sorted(known))}."


def table_schema(tool: str = "cuda-wheel") -> dict[str, Any]:
    """Return the schema of the table: the entry point of the group `validate_pyproject.tool_schema`."""
    schema = _object(Config)
    schema["properties"]["module"]["items"] = _object(ModuleConfig) | {"required": ["name"]}
    for language, kind in PYTHON_TABLES.items():
        schema["properties"][language]["items"] = _object(kind) | {"required": ["kernel", "arguments"]}
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "$id": "urn:cuda-wheel:pyproject-table",
        "title": f"[tool.{tool}]",
        **schema,
    }


def _object(cls: type[Any]) -> dict[str, Any]:
    properties = {
        item.name.replace("_", "-"): {"description": item.metadata["doc"], **item.metadata["schema"]}
        for item in fields(cls)
    }
    return {"type": "object", "properties": properties, "additionalProperties": False}
