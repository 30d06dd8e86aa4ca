"""Check that modules and the files that they become have names which Python and every file system accept."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from collections.abc import Set as AbstractSet

from cuda_wheel.builder.config.settings import TABLE
from cuda_wheel.builder.errors import ConfigError
from cuda_wheel.builder.sources.paths import shown

__all__ = ["check_case", "check_name"]

_RESERVED = re.compile(r"con|prn|aux|nul|(?:com|lpt)[0-9]", re.IGNORECASE)
"""Names that Windows reserves, with any suffix. Source: Microsoft, "Naming Files, Paths, and Namespaces"."""

_MAX_BYTES = 230
"""Maximum length of a module's last name in bytes. File systems allow 255, with ".fatbin.json" and what is added while
the file is written."""


def check_name(name: str, source: str, packages: AbstractSet[str]) -> None:
    """Raise ConfigError if a module's dotted name cannot be imported, or lies in none of the packages (with "/")."""
    parts = name.split(".")
    invalid = [part for part in parts if not part.isidentifier()]
    if invalid or len(parts) < 2:
        reason = f"{invalid[0]!r} is not a Python name" if invalid else "it lies in no package"
        raise ConfigError(
            f"{shown(source)} would become the module {name!r}, which Python cannot import: {reason}. "
            f"Rename the file, or give the module another name in a [[{TABLE}.module]] table."
        )
    is_long = len(parts[-1].encode()) > _MAX_BYTES
    if _RESERVED.fullmatch(parts[-1]) or is_long:
        reason = "which is too long for a file name" if is_long else "which Windows reserves"
        raise ConfigError(
            f"the module {name} would be a file of the name {parts[-1]}, {reason}: wheels are for every system. "
            f"Rename {source}, or give the module another name in a [[{TABLE}.module]] table."
        )
    if "/".join(parts[:-1]) not in packages:
        raise ConfigError(
            f"the module {name} would lie in the package {'.'.join(parts[:-1])}, which has no file in the wheel. "
            "Correct the name, or add the package to the wheel."
        )


def check_case(names: Iterable[str], files: Iterable[str]) -> None:
    """Raise ConfigError if the file of a module differs from another one, or from a wheel's file, by case alone."""
    taken = {_folded(path): path for path in files}
    for name in sorted(names):
        path = name.replace(".", "/") + ".fatbin"
        other = taken.setdefault(_folded(path), path)
        if other != path:
            raise ConfigError(
                f"{path}, which the module {name} would become, and {other} are the same file on systems that ignore "
                "case, such as Windows and macOS: rename one of them."
            )


def _folded(path: str) -> str:
    return unicodedata.normalize("NFKC", path).casefold()
