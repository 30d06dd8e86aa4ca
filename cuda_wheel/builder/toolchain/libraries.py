"""Choose the compilers of a build: libraries of one major version of CUDA. Runs in worker processes only.

An environment with PyTorch has NVRTC and nvJitLink of CUDA 13 beside the toolchain of `cuda-wheel[cu12]`. So the
compilers are chosen together, and not one by one. Every worker makes the same choice.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import NamedTuple

from cuda_wheel.builder.errors import ToolchainError
from cuda_wheel.builder.toolchain.places import TOOLCHAIN_VARIABLE, header_folders, places, way_to
from cuda_wheel.builder.toolchain.records import HEADERS, LIBRARIES
from cuda_wheel.runtime.jit.cuda_libraries import packaged_libraries
from cuda_wheel.runtime.manifest import Version, dotted

__all__ = [
    "Compilers",
    "Library",
    "chosen_compilers",
    "find_library",
    "find_other_library",
    "install_hint",
    "installed",
]

_LABELS = {"nvrtc": "NVRTC", "nvJitLink": "nvJitLink", "nvfatbin": "nvFatbin"}


class Library(NamedTuple):
    """An installed library."""

    path: str
    """Absolute."""
    found_via: str
    """How it was found: "site-packages", "PYTHONPATH", "conda", "CUDA_PATH"."""


class Compilers(NamedTuple):
    """The installed compilers of one major version of CUDA."""

    major: int
    libraries: Mapping[str, Library]
    """By name; those of `LIBRARIES` that are installed."""

    @property
    def extra(self) -> str:
        return f"cu{self.major}"

    @property
    def missing(self) -> list[str]:
        """What a build needs and is not installed: libraries, then headers."""
        absent = [_LABELS[name] for name in LIBRARIES if name not in self.libraries]
        found = places(self.libraries["nvrtc"].path if "nvrtc" in self.libraries else "")
        for name, header in HEADERS.items():
            folders = [folder for place in found for folder in header_folders(place, name, self.major)]
            if not any(os.path.isfile(os.path.join(folder, header)) for folder in folders):
                absent.append(header)
        return absent

    @property
    def is_whole(self) -> bool:
        """Whether no library is missing. Headers may be in places that only cuda.pathfinder knows."""
        return all(name in self.libraries for name in LIBRARIES)

    def __str__(self) -> str:
        named = [f"{_LABELS[name]} ({self.libraries[name].path})" for name in LIBRARIES if name in self.libraries]
        return f"CUDA {self.major}: {', '.join(named)}"


def chosen_compilers() -> Compilers:
    """Return the compilers that builds in this environment use, all of them installed.

    Of several toolchains it is the one that `TOOLCHAIN_VARIABLE` names, else the only one that has everything a build
    needs, else the one in the first folder of `sys.path`. Raises ToolchainError if that does not decide.
    """
    wanted = os.environ.get(TOOLCHAIN_VARIABLE, "")
    if wanted and not re.fullmatch(r"cu\d+", wanted):
        raise ToolchainError(f'{TOOLCHAIN_VARIABLE} must be "cu12" or "cu13", not "{wanted}"')
    found = [each for each in installed() if wanted in ("", each.extra)]
    whole = [each for each in found if each.is_whole]
    if not whole:
        raise ToolchainError(_incomplete(found, wanted))
    if len(whole) > 1:
        whole = [each for each in whole if not each.missing] or whole
    folders = [_folder_number(each) for each in whole]
    first = [each for each, number in zip(whole, folders, strict=True) if number == min(folders)]
    if len(first) > 1:
        raise ToolchainError(
            f"this environment contains {len(first)} toolchains:{_lines(first)}\n"
            f"Set the environment variable {TOOLCHAIN_VARIABLE} to {' or '.join(each.extra for each in first)}."
        )
    return first[0]


def find_library(name: str) -> str | None:
    """Return the path of a library of the chosen compilers; None without them."""
    try:
        return chosen_compilers().libraries[name].path
    except ToolchainError:
        return None


def find_other_library(name: str, major: int) -> Library | None:
    """Return a library that not every build needs, such as "nvvm", for a major version of CUDA; None without one."""
    for each, folder, path in packaged_libraries(name):
        if each == major:
            return Library(path, way_to(folder))
    return _outside_of_packages(name)


@cache
def installed() -> tuple[Compilers, ...]:
    """Return all compilers of this environment, the newest first.

    Conda environments and toolkits are searched only if no folder of packages has a whole toolchain, which takes long.
    """
    found: dict[int, dict[str, Library]] = {}
    for name in LIBRARIES:
        for major, folder, path in packaged_libraries(name):
            found.setdefault(major, {}).setdefault(name, Library(path, way_to(folder)))
    wanted = os.environ.get(TOOLCHAIN_VARIABLE, "")
    compilers = _sorted(found)
    if not any(each.is_whole and not each.missing and wanted in ("", each.extra) for each in compilers):
        for name in LIBRARIES:
            library = _outside_of_packages(name)
            release = library and re.search(r"(?:\.so\.|64_|_)(\d\d)", os.path.basename(os.path.realpath(library.path)))
            if library and release:
                found.setdefault(int(release[1]), {}).setdefault(name, library)
        compilers = _sorted(found)
    return compilers


def _sorted(found: Mapping[int, Mapping[str, Library]]) -> tuple[Compilers, ...]:
    return tuple(Compilers(major, found[major]) for major in sorted(found, reverse=True))


def _outside_of_packages(name: str) -> Library | None:
    """Return the library that cuda.pathfinder finds; in a worker it does not search packages."""
    try:
        from cuda.pathfinder import load_nvidia_dynamic_lib  # inside: slow to import, and may be missing

        loaded = load_nvidia_dynamic_lib(name)
    except (ImportError, OSError, RuntimeError):
        return None
    return Library(str(loaded.abs_path), str(loaded.found_via))


def _folder_number(compilers: Compilers) -> int:
    """Return the number of the folder of packages with NVRTC, in the order of `sys.path`; a larger one for others."""
    folders = list(dict.fromkeys(folder for _, folder, _ in packaged_libraries("nvrtc")))
    path = compilers.libraries["nvrtc"].path
    return next((number for number, each in enumerate(folders) if path.startswith(each + os.sep)), len(folders))


def _incomplete(found: Sequence[Compilers], wanted: str) -> str:
    """Return the message for an environment without a whole toolchain; `found` are the parts that it has."""
    if not found:
        why = f" ({TOOLCHAIN_VARIABLE} is {wanted})" if wanted else ""
        return f"no CUDA toolchain is installed in this environment{why}. {install_hint(wanted)}"
    lines = "".join(f"\n  {each}; missing: {', '.join(each.missing)}" for each in found)
    return f"the CUDA toolchain in this environment is not complete:{lines}\n{install_hint(found[0].extra)}"


def _lines(compilers: Sequence[Compilers]) -> str:
    return "".join(f"\n  {each}" for each in compilers)


def install_hint(extra: str, release: Version | None = None) -> str:
    """Return what installs a toolchain, "" for any extra. `release` is of the NVRTC that stays as it is."""
    if not extra:
        return 'Run pip install "cuda-wheel[cu12]" (or [cu13]), or add that to build-system.requires.'
    named = f'"cuda-wheel[{extra}]"'
    if release is None or release[0] == 12:  # all packages that cu12 allows are of CUDA 12.9
        return f"Run pip install {named}, or add {named} to build-system.requires."
    return (
        f'Run pip install {named} "cuda-toolkit=={dotted(release)}.*", which installs every part of that release, or '
        "add both to build-system.requires."
    )
