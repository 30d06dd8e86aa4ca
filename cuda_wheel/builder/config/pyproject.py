"""Read the settings in a project's pyproject.toml, and translate messages about settings into terms of a CMake call."""

from __future__ import annotations

import codecs
import re
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from cuda_wheel.builder.config.names import TABLE, WRAPPER
from cuda_wheel.builder.config.settings import Config
from cuda_wheel.builder.errors import CompileError, ConfigError

__all__ = ["FUNCTION", "CMakeCall", "is_concerned", "read_config", "read_pyproject"]


if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


def read_config(root: Path, environ: Mapping[str, str], modules: Sequence[Mapping[str, Any]] = ()) -> Config:
    """Return the settings of the project in the folder `root`. `modules`, if not empty, replace the `module` tables of
    its pyproject.toml; `environ` are environment variables, of which CUDAARCHS counts.

    Raises ConfigError.
    """
    project = read_pyproject(root)
    tools = project.get("tool", {})
    misspelt = [f"tool.{name}" for name in ("cuda_wheel", "cudawheel", "cuda") if name in tools]
    misspelt += [name for name in ("cuda-wheel", "cuda_wheel") if name in project]
    if misspelt and "cuda-wheel" not in tools:
        raise ConfigError(
            f"pyproject.toml has a table [{misspelt[0]}], which cuda-wheel does not read: rename it to [{TABLE}]."
        )
    table = tools.get("cuda-wheel", {})
    config = Config.from_table(table | {"module": list(modules)} if modules else table, environ)
    _check_back_end(config, project.get("build-system", {}).get("build-backend", "setuptools.build_meta"))
    return config


def _check_back_end(config: Config, used: object) -> None:
    """Raise ConfigError if `backend` of `[tool.cuda-wheel]` does not fit the back end that builds the project.

    `used`: the value of build-system.build-backend.
    """
    if used == WRAPPER and not config.backend:
        raise ConfigError(
            f'the build back end {WRAPPER} wraps another one: name it, such as backend = "uv_build", in [{TABLE}].'
        )
    if used != WRAPPER and config.backend:
        raise ConfigError(
            f'{TABLE}.backend = "{config.backend}" is for projects whose build-backend is "{WRAPPER}", and this one '
            f'has "{used}": remove the key, or set build-system.build-backend = "{WRAPPER}".'
        )
    if config.backend_path and not config.backend:
        raise ConfigError(f"{TABLE}.backend-path is for the back end that {TABLE}.backend names, and it names none.")


def is_concerned(project: Mapping[str, Any]) -> bool:
    """Return whether a pyproject.toml with this content belongs to a project that is built with cuda-wheel."""
    requires = project.get("build-system", {}).get("requires", [])
    return "cuda-wheel" in project.get("tool", {}) or any(
        isinstance(item, str) and re.match(r"cuda[-_.]wheel\b", item, re.IGNORECASE) for item in requires
    )


_MARKS = (codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def read_pyproject(root: Path) -> dict[str, Any]:
    """Return the content of the project's pyproject.toml; raises ConfigError if it is missing or not valid TOML."""
    path = root / "pyproject.toml"
    try:
        content = path.read_bytes()
        if content.startswith(_MARKS):
            raise ConfigError(
                f"{path} begins with a byte-order mark, which TOML does not allow, so no build tool reads the file: "
                'save it as UTF-8 without a mark (an editor may call this "UTF-8", and the other "UTF-8 with BOM").'
            )
        project = tomllib.loads(content.decode())
    except FileNotFoundError:
        raise ConfigError(f"{root} is not a Python project: it has no pyproject.toml.") from None
    except NotADirectoryError:
        raise ConfigError(f"{root} is a file: give the folder of the project, which has a pyproject.toml.") from None
    except (OSError, ValueError, RecursionError) as error:  # invalid TOML also raises the latter two
        raise ConfigError(f"{path} cannot be read: {error}") from error
    for name in ("build-system", "project", "tool"):
        if not isinstance(project.get(name, {}), dict):
            raise ConfigError(f"{path} cannot be read: {name} must be a table.")
    return project


FUNCTION = "cuda_wheel_add_module"

_KEYS = (
    *("sources", "architectures", "include-dirs", "defines", "options", "std", "instantiate", "instances", "link"),
    *("host-code", "extern", "extern-default", "relocatable", "system-include-dirs", "missing-headers"),
)
_ARGUMENTS = {key: key.upper().replace("-", "_").replace("_DIRS", "_DIRECTORIES") for key in _KEYS}
_PLACES = _ARGUMENTS | {"architectures": "ARCHITECTURES (or CMAKE_CUDA_ARCHITECTURES)"}
_KEY = "(" + "|".join(sorted(_KEYS, key=len, reverse=True)) + r")\b"

_DIAGNOSTIC = re.compile(r"  |.*: (?:error|warning): ")
"""Matches the beginning of a line of compiler output: the two spaces before a shown source line, or a diagnostic such
as "k.cu:1: error: "."""


class CMakeCall(NamedTuple):
    """A call of the CMake function `cuda_wheel_add_module`: the file that contains it, its target, and the settings
    keys that its arguments set."""

    file: str
    target: str
    keys: Collection[str]

    @classmethod
    def of(cls, request: Mapping[str, Any]) -> CMakeCall:
        """Return the call that CMake recorded as `request`, with the keys "root", "module" and perhaps "file"."""
        target = request["module"]["name"].rpartition(".")[2]
        root = Path(request["root"])
        file = Path(request.get("file", root / "CMakeLists.txt"))
        shown = file.relative_to(root) if file.is_relative_to(root) else file
        return cls(shown.as_posix(), target, request["module"].keys())

    def __str__(self) -> str:
        return f"{self.file}: {FUNCTION}(TARGET {self.target})"

    @contextmanager
    def named_in_errors(self) -> Iterator[None]:
        """Change the messages of ConfigErrors and CompileErrors in the `with` block to name the call and its
        arguments."""
        try:
            yield
        except ConfigError as error:
            text = self.in_its_terms(str(error))
            raise ConfigError(text if "tool.cuda-wheel" in text else f"{self}: {text}") from None
        except CompileError as error:
            raise CompileError(self.in_its_terms(str(error))) from None

    def in_its_terms(self, text: str) -> str:
        """Return a message with the call's arguments in place of keys of pyproject.toml. Lines of compiler output are
        not changed."""
        text = re.sub(r'\[\[tool\.cuda-wheel\.module\]\]\nname = "[^"]*"\n', "", text)
        return "\n".join(line if _DIAGNOSTIC.match(line) else self._line(line) for line in text.split("\n"))

    def _line(self, line: str) -> str:
        rules: tuple[tuple[str, Callable[[re.Match[str]], str]], ...] = (
            (rf"(?:tool\.cuda-wheel\.module\[\d+\]|the module [\w.]+)\.{_KEY}", lambda match: _PLACES[match[1]]),
            (rf"tool\.cuda-wheel\.{_KEY}", lambda match: _ARGUMENTS[match[1]] if match[1] in self.keys else match[0]),
            (r"\[\[tool\.cuda-wheel\.module\]\](?: table)?", lambda match: f"call of {FUNCTION}"),
            (rf'(?<![\w.-]){_KEY} ?= ?("[^"]*"|\[[^\]]*\]|true)', _assigned),
            (rf"(?<=\bthe key ){_KEY}", lambda match: _ARGUMENTS[match[1]]),
            (r"\bfrom std, defines or options\b", lambda match: "from STD, DEFINES or OPTIONS"),
            (
                r"(?<![\w.-])(system-include-dirs|include-dirs|missing-headers|extern-default|host-code|instantiate)\b",
                lambda match: _ARGUMENTS[match[1]],
            ),
        )
        for pattern, new in rules:
            line = re.sub(pattern, new, line)
        return line


def _assigned(match: re.Match[str]) -> str:
    """Return the argument of a CMake call for a setting in TOML: `DEFINES A=1 B` for `defines = ["A=1", "B"]`. Group 1
    of `match` is the key, and group 2 the value."""
    values = re.findall(r'"([^"]*)"', match[2])
    quoted = (f'"{value}"' if re.search(r"[\s;<>()]", value) else value for value in values)
    return " ".join([_ARGUMENTS[match[1]], *quoted])
