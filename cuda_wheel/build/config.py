"""`[tool.cuda-wheel]`: what may stand there, read once into a frozen `Config`."""

from __future__ import annotations

import difflib
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, TypeVar

from cuda_wheel.build.architectures import HELP, split
from cuda_wheel.build.errors import ConfigError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = [
    "TABLE",
    "Architectures",
    "Config",
    "ModuleConfig",
    "Settings",
    "is_concerned",
    "read_config",
    "read_pyproject",
]

TABLE = "tool.cuda-wheel"
T = TypeVar("T")
Parse = Callable[[Any, str], T]
Schema = dict[str, Any]


# --- what a value may be: each takes a value and its dotted name, and returns it parsed -----------


def _text(value: Any, where: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ConfigError(f"{where} must be a text, not {value!r}.")
    if "\0" in value:
        raise ConfigError(f"{where} must not hold a NUL: {value!r}.")
    return value


def _flag(value: Any, where: str) -> bool:
    if not isinstance(value, bool):
        raise ConfigError(f"{where} must be true or false, not {value!r}.")
    return value


def _texts(value: Any, where: str) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise ConfigError(f"{where} must be a list of texts, not {value!r}.")
    return tuple(_text(item, f"{where}[{index}]") for index, item in enumerate(value))


def _choice(*choices: str) -> Parse[str]:
    def parse(value: Any, where: str) -> str:
        if value not in choices:
            raise ConfigError(f"{where} must be {_listed(choices)}, not {value!r}.")
        return str(value)

    return parse


def _listed(choices: tuple[str, ...]) -> str:
    quoted = [f'"{choice}"' for choice in choices]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} or {quoted[-1]}"


def _standard(value: Any, where: str) -> str:
    if not isinstance(value, str) or not re.fullmatch(r"c\+\+[0-9]{2}", value):
        raise ConfigError(f'{where} must be a C++ standard such as "c++17", not {value!r}.')
    return value


def _version(value: Any, where: str) -> str:
    if value not in ("auto", "as-compiled") and not (
        isinstance(value, str) and re.fullmatch(r"[0-9]{1,2}\.[0-9]", value)
    ):
        raise ConfigError(f'{where} must be "auto", "as-compiled" or a PTX ISA version such as "8.0", not {value!r}.')
    return str(value)


def _seconds(value: Any, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1e6:
        raise ConfigError(f"{where} must be a number of seconds above 0, not {value!r}.")
    return float(value)


def _bytes(value: Any, where: str) -> int:
    match = re.fullmatch(r"([0-9]{1,12})\s*(MiB|GiB|TiB)", value) if isinstance(value, str) else None
    if match is None:
        raise ConfigError(f'{where} must be an amount of memory such as "8GiB", not {value!r}.')
    amount = int(match[1]) << {"MiB": 20, "GiB": 30, "TiB": 40}[match[2]]
    if not 1 << 30 <= amount <= 1 << 60:
        raise ConfigError(f"{where} must be at least 1GiB, which the compiler itself needs, not {value!r}.")
    return amount


def _macros(value: Any, where: str) -> tuple[tuple[str, str], ...]:
    if not isinstance(value, dict):
        raise ConfigError(f"{where} must be a table of macros such as {{ BLOCK = 256 }}, not {value!r}.")
    for name, content in value.items():
        if not re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII):
            raise ConfigError(f"{where}: {name!r} is not a macro's name.")
        if not isinstance(content, str | int | float) or "\0" in str(content):
            raise ConfigError(f"{where}.{name} must be a text, a number, true or false, not {content!r}.")
    return tuple((name, str(int(c)) if isinstance(c, bool) else str(c)) for name, c in sorted(value.items()))


_WRITING = (
    "--pch",
    "-pch",
    "--create-pch",
    "-create-pch",
    "--time",
    "-time",
    "--fdevice-time-trace",
    "-fdevice-time-trace",
)
"""Options that make the compiler write files, which would land among the sources."""

_OWN_OPTIONS = {
    "architectures": ("-arch", "--gpu-architecture"),
    "std": ("-std", "--std"),
    "lineinfo": ("-lineinfo", "--generate-line-info"),
    "link": ("-rdc", "--relocatable-device-code", "-dc", "--device-c", "-dlto", "--dlink-time-opt"),
}


def _options(value: Any, where: str) -> tuple[str, ...]:
    options = _texts(value, where)
    for option in options:
        flag = option.partition("=")[0]
        if flag in _WRITING:
            raise ConfigError(f"{where}: {option!r} makes the compiler write a file into the project; leave it out.")
        for key, names in _OWN_OPTIONS.items():
            if flag in names:
                raise ConfigError(f"{where}: {option!r} is set by the key {key}; use that.")
    return options


@dataclass(frozen=True)
class Architectures:
    """The architectures as written, and where they were: a key of the table, or an environment variable."""

    entries: tuple[str, ...]
    where: str


def _architectures(value: Any, where: str) -> Architectures:
    if isinstance(value, str):
        return Architectures(tuple(split(value)), where)
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise ConfigError(f"{where} must be a text or a list of texts, not {value!r}. {HELP}")
    return Architectures(tuple(entry for item in value for entry in split(item)), where)


# --- the tables -----------------------------------------------------------------------------------


TEXT: Schema = {"type": "string", "pattern": r"\S"}
TEXTS: Schema = {"type": "array", "items": TEXT}
FLAG: Schema = {"type": "boolean"}


def _key(parse: Parse[T], default: T, doc: str, show: str, schema: Schema) -> T:
    """A dataclass field that is a key of the table: its parser, its default as value and as TOML, its description, and
    as much of what the parser accepts as JSON schema can say."""
    value: T = field(default=default, metadata={"parse": parse, "doc": doc, "default": show, "schema": schema})
    return value


@dataclass(frozen=True)
class Settings:
    """The keys that stand in `[tool.cuda-wheel]` for every module, or in a module's own table for that one."""

    architectures: Architectures = _key(
        _architectures,
        Architectures(("all-major",), f"{TABLE}.architectures"),
        'What to compile for: "all-major", "all", "native", or a list in CMake\'s syntax.',
        '"all-major"',
        {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]},
    )
    include_dirs: tuple[str, ...] = _key(_texts, (), "Folders for `#include`, relative to the project.", "[]", TEXTS)
    std: str = _key(
        _standard, "c++17", "The C++ standard.", '"c++17"', {"type": "string", "pattern": r"^c\+\+[0-9]{2}$"}
    )
    defines: tuple[tuple[str, str], ...] = _key(
        _macros,
        (),
        "Macros, as a table of names and values.",
        "{}",
        {
            "type": "object",
            "propertyNames": {"pattern": r"^[A-Za-z_][A-Za-z0-9_]*$"},
            "additionalProperties": {"type": ["string", "number", "boolean"]},
        },
    )
    options: tuple[str, ...] = _key(_options, (), "Further options, passed to NVRTC as they are.", "[]", TEXTS)
    host_code: str = _key(
        _choice("auto", "keep", "reject"),
        "auto",
        'Host code in a `.cu` file: "auto" takes it out where the file does not compile with it, "keep" does not, '
        '"reject" is an error.',
        '"auto"',
        {"enum": ["auto", "keep", "reject"]},
    )
    optional_kernels: tuple[str, ...] = _key(
        _texts,
        (),
        "Kernels that some images may lack, as globs over C++ names or symbols; any other is an error.",
        "[]",
        TEXTS,
    )
    lineinfo: bool = _key(_flag, False, "Whether images carry line numbers for profilers and debuggers.", "false", FLAG)
    warnings_as_errors: bool = _key(
        _flag, False, "Whether a compiler warning about the project's own files is an error.", "false", FLAG
    )


@dataclass(frozen=True)
class ModuleConfig(Settings):
    """One `[[tool.cuda-wheel.module]]`: what one `.cu` file cannot say of itself."""

    name: str = _key(_text, "", "The module's dotted name. Required.", "", TEXT)
    sources: tuple[str, ...] = _key(
        _texts,
        (),
        "Its files, or globs: CUDA C++, NVVM IR (`.ll`, `.bc`), PTX, and whatever nvJitLink links. Without any, the "
        "`.cu` file of that name.",
        "[]",
        TEXTS,
    )
    instantiate: tuple[str, ...] = _key(
        _texts,
        (),
        'C++ name expressions of the templates to compile, such as "gemm<float, 16>".',
        "[]",
        TEXTS,
    )
    link: str = _key(
        _choice("none", "ptx", "lto"),
        "none",
        'How several sources become one module: "lto" optimises across them, "ptx" does not; "none" is for one.',
        '"none"',
        {"enum": ["none", "ptx", "lto"]},
    )
    extern: tuple[str, ...] = _key(
        _texts,
        (),
        "C++ names or symbols of what its sources declare and whoever loads it defines, by `load(..., link=[...])`.",
        "[]",
        TEXTS,
    )
    extern_default: tuple[str, ...] = _key(
        _texts, (), "Sources that define these for whoever loads the module without linking.", "[]", TEXTS
    )
    relocatable: bool = _key(
        _flag, False, "Whether the module is carried in a form for linking as well, as `extern` implies.", "false", FLAG
    )


def _modules(value: Any, where: str) -> Any:
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise ConfigError(f"{where} must be an array of tables: write [[{where}]].")
    return tuple(value)


@dataclass(frozen=True)
class Config(Settings):
    """The whole of `[tool.cuda-wheel]`, checked. `from_table` makes it; every front end starts there."""

    sources: tuple[str, ...] = _key(
        _texts,
        (),
        "Which `.cu` files to compile, as globs; without any, all in the wheel's packages.",
        "[]",
        TEXTS,
    )
    ptx_version: str = _key(
        _version,
        "auto",
        'The PTX ISA version to ship: "auto" is the lowest that is proven equal, "as-compiled" the compiler\'s own.',
        '"auto"',
        {"type": "string", "pattern": r"^(auto|as-compiled|[0-9]{1,2}\.[0-9])$"},
    )
    compress: str = _key(
        _choice("none", "size"),
        "none",
        '"size" makes the installed fatbin smaller, and the driver picks the image.',
        '"none"',
        {"enum": ["none", "size"]},
    )
    exclude_sources: bool = _key(_flag, True, "Whether sources, and `.cuh` files, stay out of the wheel.", "true", FLAG)
    loader: str = _key(
        _choice("dependency", "vendor"),
        "dependency",
        "Whether the wheel needs `cuda-wheel` to load its images, or has the loader itself, as `PACKAGE._cuda_wheel`.",
        '"dependency"',
        {"enum": ["dependency", "vendor"]},
    )
    sbom: bool = _key(
        _flag, True, "Whether the wheel's metadata tell, in an SBOM, what its images were made of.", "true", FLAG
    )
    timeout: float = _key(
        _seconds,
        600.0,
        "Seconds that one compile job may take.",
        "600",
        {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1_000_000},
    )
    memory_limit: int = _key(
        _bytes,
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


def read_config(root: Path, environ: Mapping[str, str], modules: Sequence[Mapping[str, Any]] = ()) -> Config:
    """Return the settings of the project in the folder `root`, with `modules`, if any, for its module tables.

    Raises ConfigError.
    """
    project = read_pyproject(root)
    tools = project.get("tool", {})
    misspelt = [f"tool.{name}" for name in ("cuda_wheel", "cudawheel", "cuda") if name in tools]
    misspelt += [name for name in ("cuda-wheel", "cuda_wheel") if name in project]
    if misspelt and "cuda-wheel" not in tools:
        raise ConfigError(f"pyproject.toml has a table [{misspelt[0]}], which nobody reads: call it [{TABLE}].")
    table = tools.get("cuda-wheel", {})
    return Config.from_table(table | {"module": list(modules)} if modules else table, environ)


def is_concerned(project: Mapping[str, Any]) -> bool:
    """Return whether a pyproject.toml is of a project that is built with cuda-wheel."""
    requires = project.get("build-system", {}).get("requires", [])
    return "cuda-wheel" in project.get("tool", {}) or any(
        isinstance(item, str) and re.match(r"cuda[-_.]wheel\b", item, re.IGNORECASE) for item in requires
    )


def read_pyproject(root: Path) -> dict[str, Any]:
    """Return the project's pyproject.toml; raises ConfigError where there is none or it is not TOML."""
    path = root / "pyproject.toml"
    try:
        with path.open("rb") as stream:
            project = tomllib.load(stream)
    except FileNotFoundError:
        raise ConfigError(f"{root} is not a Python project: it has no pyproject.toml.") from None
    except (OSError, ValueError, RecursionError) as error:  # some of what is no TOML is more to Python than that
        raise ConfigError(f"{path} cannot be read: {error}") from error
    for name in ("build-system", "project", "tool"):
        if not isinstance(project.get(name, {}), dict):
            raise ConfigError(f"{path} cannot be read: {name} must be a table.")
    return project
