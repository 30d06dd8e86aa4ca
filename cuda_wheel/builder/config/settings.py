"""`[tool.cuda-wheel]`: what may stand there, read once into a frozen `Config`."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from cuda_wheel.builder.config.architectures import split
from cuda_wheel.builder.config.parsers import (
    FLAG,
    TEXT,
    TEXTS,
    Architectures,
    Parse,
    Schema,
    T,
    architectures,
    choice,
    flag,
    macros,
    options,
    seconds,
    size,
    standard,
    text,
    texts,
    version,
)
from cuda_wheel.builder.errors import ConfigError

__all__ = [
    "TABLE",
    "Config",
    "ModuleConfig",
    "Settings",
]


if sys.version_info >= (3, 11):
    pass
else:
    pass


TABLE = "tool.cuda-wheel"


def _key(parse: Parse[T], default: T, doc: str, show: str, schema: Schema) -> T:
    """A dataclass field that is a key of the table: its parser, its default as value and as TOML, its description, and
    as much of what the parser accepts as JSON schema can say."""
    value: T = field(default=default, metadata={"parse": parse, "doc": doc, "default": show, "schema": schema})
    return value


@dataclass(frozen=True)
class Settings:
    """The keys that stand in `[tool.cuda-wheel]` for every module, or in a module's own table for that one."""

    architectures: Architectures = _key(
        architectures,
        Architectures(("all-major",), f"{TABLE}.architectures"),
        'What to compile for: "all-major", "all", "native", or a list in CMake\'s syntax.',
        '"all-major"',
        {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]},
    )
    include_dirs: tuple[str, ...] = _key(texts, (), "Folders for `#include`, relative to the project.", "[]", TEXTS)
    std: str = _key(
        standard, "c++17", "The C++ standard.", '"c++17"', {"type": "string", "pattern": r"^c\+\+[0-9]{2}$"}
    )
    defines: tuple[tuple[str, str], ...] = _key(
        macros,
        (),
        "Macros, as a table of names and values.",
        "{}",
        {
            "type": "object",
            "propertyNames": {"pattern": r"^[A-Za-z_][A-Za-z0-9_]*$"},
            "additionalProperties": {"type": ["string", "number", "boolean"]},
        },
    )
    options: tuple[str, ...] = _key(options, (), "Further options, passed to NVRTC as they are.", "[]", TEXTS)
    host_code: str = _key(
        choice("auto", "keep", "reject"),
        "auto",
        'Host code in a `.cu` file: "auto" takes it out where the file does not compile with it, "keep" does not, '
        '"reject" is an error.',
        '"auto"',
        {"enum": ["auto", "keep", "reject"]},
    )
    optional_kernels: tuple[str, ...] = _key(
        texts,
        (),
        "Kernels that some images may lack, as globs over C++ names or symbols; any other is an error.",
        "[]",
        TEXTS,
    )
    lineinfo: bool = _key(flag, False, "Whether images carry line numbers for profilers and debuggers.", "false", FLAG)
    warnings_as_errors: bool = _key(
        flag, False, "Whether a compiler warning about the project's own files is an error.", "false", FLAG
    )


@dataclass(frozen=True)
class ModuleConfig(Settings):
    """One `[[tool.cuda-wheel.module]]`: what one `.cu` file cannot say of itself."""

    name: str = _key(text, "", "The module's dotted name. Required.", "", TEXT)
    sources: tuple[str, ...] = _key(
        texts,
        (),
        "Its files, or globs: CUDA C++, NVVM IR (`.ll`, `.bc`), PTX, and whatever nvJitLink links. Without any, the "
        "`.cu` file of that name.",
        "[]",
        TEXTS,
    )
    instantiate: tuple[str, ...] = _key(
        texts,
        (),
        'C++ name expressions of the templates to compile, such as "gemm<float, 16>".',
        "[]",
        TEXTS,
    )
    link: str = _key(
        choice("none", "ptx", "lto"),
        "none",
        'How several sources become one module: "lto" optimises across them, "ptx" does not; "none" is for one.',
        '"none"',
        {"enum": ["none", "ptx", "lto"]},
    )
    extern: tuple[str, ...] = _key(
        texts,
        (),
        "C++ names or symbols of what its sources declare and whoever loads it defines, by `load(..., link=[...])`.",
        "[]",
        TEXTS,
    )
    extern_default: tuple[str, ...] = _key(
        texts, (), "Sources that define these for whoever loads the module without linking.", "[]", TEXTS
    )
    relocatable: bool = _key(
        flag, False, "Whether the module is carried in a form for linking as well, as `extern` implies.", "false", FLAG
    )


def _modules(value: Any, where: str) -> Any:
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise ConfigError(f"{where} must be an array of tables: write [[{where}]].")
    return tuple(value)


@dataclass(frozen=True)
class Config(Settings):
    """The whole of `[tool.cuda-wheel]`, checked. `from_table` makes it; every front end starts there."""

    sources: tuple[str, ...] = _key(
        texts,
        (),
        "Which `.cu` files to compile, as globs; without any, all in the wheel's packages.",
        "[]",
        TEXTS,
    )
    ptx_version: str = _key(
        version,
        "auto",
        'The PTX ISA version to ship: "auto" is the lowest that is proven equal, "as-compiled" the compiler\'s own.',
        '"auto"',
        {"type": "string", "pattern": r"^(auto|as-compiled|[0-9]{1,2}\.[0-9])$"},
    )
    compress: str = _key(
        choice("none", "size"),
        "none",
        '"size" makes the installed fatbin smaller, and the driver picks the image.',
        '"none"',
        {"enum": ["none", "size"]},
    )
    exclude_sources: bool = _key(flag, True, "Whether sources, and `.cuh` files, stay out of the wheel.", "true", FLAG)
    loader: str = _key(
        choice("dependency", "vendor"),
        "dependency",
        "Whether the wheel needs `cuda-wheel` to load its images, or has the loader itself, as `PACKAGE._cuda_wheel`.",
        '"dependency"',
        {"enum": ["dependency", "vendor"]},
    )
    sbom: bool = _key(
        flag, True, "Whether the wheel's metadata tell, in an SBOM, what its images were made of.", "true", FLAG
    )
    timeout: float = _key(
        seconds,
        600.0,
        "Seconds that one compile job may take.",
        "600",
        {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1_000_000},
    )
    memory_limit: int = _key(
        size,
        8 << 30,
        "Memory (address space) that one compile job may take; Windows has no limit.",
        '"8GiB"',
        {"type": "string", "pattern": r"^0*[1-9]\d*\s*(MiB|GiB|TiB)$"},
    )
    module: tuple[ModuleConfig, ...] = _key(
        _modules, (), "Modules of their own, one table each.", "[]", {"type": "array", "items": {"type": "object"}}
    )

    def for_module(self, name: str = "") -> ModuleConfig:
        """Return the settings of a module that has no table of its own."""
        shared = {item.name: getattr(self, item.name) for item in fields(Settings)}
        return ModuleConfig(**shared, name=name)

    @classmethod
    def from_table(cls, table: Mapping[str, Any], environ: Mapping[str, str] | None = None) -> Config:
        """Return the settings of a `[tool.cuda-wheel]` table; raises ConfigError naming the key that is wrong.

        CUDAARCHS in `environ`, CMake's variable, replaces every `architectures`.
        """
        if not isinstance(table, Mapping):
            raise ConfigError(f"{TABLE} must be a table: write [{TABLE}].")
        config = replace(cls(), **_parsed(cls, table, TABLE))
        modules = []
        for index, own in enumerate(config.module):
            where = f"{TABLE}.module[{index}]"
            module = replace(config.for_module(), **_parsed(ModuleConfig, own, where))  # type: ignore[arg-type]
            if not module.name:
                raise ConfigError(f'{where} has no name: give it its dotted name, such as "pkg.kernels.gemm".')
            modules.append(module)
        config = replace(config, module=tuple(modules))
        override = (environ or {}).get("CUDAARCHS", "").strip()
        return _with_architectures(config, override) if override else config


def _with_architectures(config: Config, override: str) -> Config:
    architectures = Architectures(tuple(split(override)), "the environment variable CUDAARCHS")
    modules = tuple(replace(module, architectures=architectures) for module in config.module)
    return replace(config, architectures=architectures, module=modules)


def _parsed(cls: type[Settings], table: Mapping[str, Any], where: str) -> dict[str, Any]:
    known = {item.name.replace("_", "-"): item for item in fields(cls)}
    modules = {item.name.replace("_", "-") for item in fields(ModuleConfig)}
    parsed = {}
    for key, value in table.items():
        if key not in known:
            near = difflib.get_close_matches(key, known, n=1)
            guess = f'did you mean "{near[0]}"?' if near else f"the known keys are {', '.join(sorted(known))}."
            guess = f"it is a key of modules: put it into a [[{TABLE}.module]]." if key in modules else guess
            raise ConfigError(f'{where} has no key "{key}": {guess}')
        try:
            parsed[known[key].name] = known[key].metadata["parse"](value, f"{where}.{key}")
        except ValueError as error:  # a number of more digits than Python writes
            raise ConfigError(f"{where}.{key}: {error}.") from None
    return parsed
