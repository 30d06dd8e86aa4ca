"""Write messages about unknown names, modules that are not found, and manifests of another format.

It imports only `errors` of this package, because `manifest` imports it.
"""

import os
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from re import MULTILINE, search
from typing import Any

from ..errors import is_frozen, to_add

__all__ = ["module_not_found", "not_compiled", "other_format", "unknown_name", "with_damage"]


def unknown_name(module: str, what: str, name: object, found: Sequence[Any], names: Sequence[str]) -> str:
    """Return the message for a name that is not the name of exactly one of a module's kernels or variables (`what`).

    `found` are those with the name, `names` are the names of all.
    """
    if not isinstance(name, str):
        return f"{module}: the name of a {what} must be a string, not {name!r}"
    if found:
        symbols = ", ".join(info.symbol for info in found)
        return f"{module} has several {what}s {name!r}; use the symbol instead: {symbols}"
    if not names:
        return f"{module} has no {what} {name!r}; it has no {what}s"
    similar = get_close_matches(name, names, n=3)
    if similar:
        return f"{module} has no {what} {name!r}; did you mean {', '.join(similar)}?"
    return f"{module} has no {what} {name!r}; it has {', '.join(names[:8])}{', ...' if len(names) > 8 else ''}"


def module_not_found(name: str, folders: Sequence[str], suffix: str) -> str:
    """Return the message for a module without a manifest, STEM + `suffix`, in its package's folders."""
    package, _, stem = name.rpartition(".")
    places = ", ".join(os.path.join(folder, stem + suffix) for folder in folders)
    places = places or f"{stem}{suffix} through the importer of {package}"
    message = f"{name} has no images: looked for {places}."
    inside = _modules_in([os.path.join(folder, stem) for folder in folders], suffix)
    if inside:
        listed = ", ".join(f"{name}.{each}" for each in inside[:8])
        return f"{name} is a package, not a module: its modules are {listed}{', ...' if len(inside) > 8 else ''}."
    if is_frozen():
        return f"{message[:-1]}, but {to_add(f'{stem}{suffix} and {stem}.fatbin of {package}', '')}."
    similar = get_close_matches(stem, set(_modules_in(folders, suffix)) - {stem}, n=3)
    if similar:
        message += f" Did you mean {', '.join(similar)}?"
    if any(os.path.isfile(os.path.join(folder, stem + ".cu")) for folder in folders):
        message += not_compiled(f"{stem}.cu")
    return message


def _modules_in(folders: Sequence[str], suffix: str) -> list[str]:
    """Return the names, without the package's, of the modules whose manifests or sources lie in folders, sorted."""
    files = [file for folder in folders if os.path.isdir(folder) for file in os.listdir(folder)]
    return sorted({file.removesuffix(end) for file in files for end in (suffix, ".cu") if file.endswith(end)})


def not_compiled(source: str) -> str:
    """Return advice for a source that is installed without the module that should have been compiled from it."""
    return (
        f" {source} is there, but was not compiled: the build of the wheel did not run cuda-wheel. Enable it in "
        "pyproject.toml, and build and install the wheel again: for hatchling, add the table "
        "[tool.hatch.build.targets.wheel.hooks.cuda]; for setuptools, add the table [tool.cuda-wheel]; for both, add "
        "cuda-wheel[cu12] or [cu13] to build-system.requires. With CMake, call cuda_wheel_add_module. With "
        'build-backend = "cuda_wheel.backend", build with pip, build or uv: flit build and maturin build do not ask it.'
    )


def with_damage(error: Any, images: Sequence[Any], read: Callable[[Any], object]) -> Any:
    """Return the DriverError `error`, with what is damaged of the module that it prevented from loading, if anything.

    A machine without a driver, such as one that checks a wheel, then says both. `read` raises for a damaged image.
    """
    for image in images:
        try:
            if image.source is None:
                read(image)
        except Exception as damage:
            return type(error)(f"{error}\nThe module would not load with a driver either: {damage}")
    return error


def other_format(start: bytes, where: str, own: int) -> str:
    """Return the message for a file, with these first bytes, that is not a manifest of format `own`."""
    text = start.decode(errors="replace")
    # Formats 1 and 2 had one key a line; all others have the number first.
    number = search(r'(?:\A\{|^ )"format": (\d{1,9}),', text, MULTILINE)
    if number is None or int(number[1]) in (0, own):
        return f"{where} is not a cuda-wheel manifest: it starts with {start[:40]!r}"
    writer = search(r'\A[^\n]*"cuda_wheel": "([\w.+!-]{1,64})"', text)
    version = f"cuda-wheel {writer[1]}" if writer else "a version of cuda-wheel before its first release"
    if int(number[1]) < own:
        help = "Build the package again with the installed version of cuda-wheel."
    elif writer:
        help = f"Install {version} or later to load it."
    else:
        version, help = "a later version of cuda-wheel", "Upgrade cuda-wheel to load it."
    if is_frozen():
        help = "Freeze the application again, with versions of cuda-wheel and of the package that fit."
    return (
        f"{where} was written by {version}, in manifest format {number[1]}; this version reads format {own} only. "
        f"{help}"
    )
