"""The sources of a module that a wheel carries, so that a machine with a toolchain can compile what was not foreseen.

They are one JSON object in a fatbin behind the others in the module's `.fatbin`: the module's table of settings, and
the text of each file by its path in the project.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import fields
from pathlib import Path, PurePosixPath
from typing import Any

from cuda_wheel.builder.config.settings import ModuleConfig
from cuda_wheel.builder.errors import ConfigError
from cuda_wheel.builder.sources.include_graph import reachable
from cuda_wheel.builder.sources.modules import SourceModule
from cuda_wheel.builder.sources.paths import below, is_inside

__all__ = ["carried_sources", "unpack_sources"]

FORMAT = 1

_LEFT_OUT = ("variants", "specialize")
"""Keys of the table that are for the build."""


def carried_sources(root: Path, module: SourceModule, headers: Iterable[str], toolchain: tuple[str, ...]) -> bytes:
    """Return the sources of a module and the project's files that they include or may include.

    `headers` are the absolute paths of those that the compiler read, `toolchain` are the folders of the toolchain's.
    """
    folders = tuple(folder + os.sep for folder in toolchain)
    scanned = (
        each.path for path in module.paths for each in reachable(root, path, module.settings.include_dirs).headers
    )
    own = {path for path in (*headers, *scanned) if not path.startswith(folders) and is_inside(path, root)}
    paths = {*module.paths, *(str(below(path, str(root))).replace("\\", "/") for path in own)}
    # Comments of headers may have any encoding: what is not UTF-8 comes back byte by byte.
    files = {path: (root / path).read_bytes().decode(errors="surrogateescape") for path in sorted(paths)}
    document = {"format": FORMAT, "module": _table(module.settings), "files": files}
    text = json.dumps(document, indent=1, sort_keys=True).encode() + b"\n"
    return text + b"\n" * (-len(text) % 8)  # as `fatbin_of_text` needs it


def _table(settings: ModuleConfig) -> dict[str, Any]:
    """Return settings as a `[[tool.cuda-wheel.module]]` table."""
    default = ModuleConfig()
    values = {item.name: getattr(settings, item.name) for item in fields(settings) if item.name not in _LEFT_OUT}
    return {
        name.replace("_", "-"): _plain(name, value)
        for name, value in values.items()
        if value != getattr(default, name) and name != "architectures"
    } | {"architectures": list(settings.architectures.entries)}


def _plain(name: str, value: Any) -> Any:
    if name == "defines":
        return dict(value)
    return list(value) if isinstance(value, tuple) else value


def unpack_sources(carried: bytes, folder: Path) -> Mapping[str, Any]:
    """Write the files below a folder and return the module's table; raises ConfigError for what is no such text."""
    try:
        document = json.loads(carried)
        if document["format"] != FORMAT:
            raise ValueError(f"its format is {document['format']!r}")
        table: dict[str, Any] = document["module"]
        for name, text in document["files"].items():
            path = PurePosixPath(name)
            if path.is_absolute() or ".." in path.parts or "\\" in name or ":" in name:
                raise ValueError(f"{name!r} is no path in a project")
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(text.encode(errors="surrogateescape"))
        for name in table.get("include-dirs", ()):
            if is_inside(str(folder / name), folder):
                (folder / name).mkdir(parents=True, exist_ok=True)
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise ConfigError(f"the sources that the module carries cannot be read: {error}.") from error
    return table
