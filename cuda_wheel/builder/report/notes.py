"""Lines that a build prints about its architectures, libraries and include folders."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import PurePath

from cuda_wheel.builder.config.architectures import named_targets
from cuda_wheel.builder.config.names import TABLE
from cuda_wheel.builder.config.values import Architectures
from cuda_wheel.builder.plan import ModulePlan, Plan
from cuda_wheel.builder.toolchain.headers import is_spread_out, other_libraries, taken_files
from cuda_wheel.builder.toolchain.toolchain import STAND_INS, Toolchain

__all__ = ["library_notes", "plan_notes", "unneeded_folders"]

OLDEST = 75
"""Oldest architecture (75 is sm_75) that NVRTC 12.9 does not call deprecated. NVRTC 13 cannot compile for older
architectures."""


def plan_notes(plan: Plan) -> list[str]:
    """Return the lines to print about a plan before the build; [] if nothing is unusual.

    The notes are: lists of architectures that CUDAARCHS changes; which of several toolchains is used, and why; modules
    whose images are all PTX; named targets that the compiler calls deprecated; and a toolchain that is spread over
    several places.
    """
    lists = dict.fromkeys(module.module.settings.architectures for module in plan.modules)
    return [
        *filter(None, dict.fromkeys(each.note for each in lists)),
        *([f"of several toolchains, {plan.toolchain.choice}"] if plan.toolchain.choice else []),
        *_ptx_alone_note(plan.modules),
        *_deprecation_note(plan.toolchain.name, lists),
        *_spread_note(plan.toolchain),
    ]


def _ptx_alone_note(modules: Sequence[ModulePlan]) -> Iterator[str]:
    """Yield one note about all modules whose loadable images are PTX only; nothing if there is no such module."""
    alone = [each for each in modules if each.targets and not any(target.real for target in each.targets)]
    names = list(dict.fromkeys(each.module.name for each in alone))
    if names:
        more = f" and {len(names) - 1} more" if len(names) > 1 else ""
        yield f"{names[0]}{more}: PTX alone, so the first load on each machine compiles it (later loads use a cache)"


def _deprecation_note(compiler: str, lists: Iterable[Architectures]) -> Iterator[str]:
    """Yield one note about the deprecated targets that settings name one by one, such as "70-real".

    `compiler`: name of the compiler in the note.
    `lists`: values of the setting `architectures`. Words in them such as "all" do not count.

    Nothing is yielded if no deprecated target is named.
    """
    named = {target for each in lists for target in named_targets(each.entries, each.where)}
    old = sorted({f"sm_{target.arch}" for target in named if 10 * target.major + target.minor < OLDEST})
    if old:
        yield f"{compiler} calls {', '.join(old)} deprecated; NVRTC 13 cannot compile for GPUs before {OLDEST / 10}"


def _spread_note(toolchain: Toolchain) -> Iterator[str]:
    """Yield one note with the path of each part of the toolchain, if its parts are in several folders; else nothing."""
    if is_spread_out(toolchain):
        listed = "".join(f"\n  {name}: {path}" for name, path in taken_files(toolchain).items())
        yield f"the toolchain is in several places:{listed}"


_LAUNCHERS = {
    str(PurePath(STAND_INS[0], "thrust", "detail", "cuda_wheel", "algorithms.h")): "Thrust's",
    str(PurePath(STAND_INS[0], "cub", "device", "cuda_wheel_launcher.h")): "CUB's",
}
"""Absolute path of a stand-in header -> its library in the genitive ("Thrust's"). Functions in these headers launch
kernels of the library, and such kernels are not in a module's image."""

_NAMES = tuple(os.path.basename(path) for path in _LAUNCHERS)


def library_notes(toolchain: Toolchain, versions: dict[str, str], headers: Sequence[str] | None) -> list[str]:
    """Return the lines to print below a module: the libraries that it uses, and which kernels of libraries are not in
    its image.

    `versions` are the manifest's name -> version; `headers` are the absolute paths of all files that the module
    includes, None if they are not known.
    """
    used = other_libraries(toolchain, versions)
    lines = [f"with {', '.join(used)}"] if used else []
    named = (path for path in headers or () if path.endswith(_NAMES))  # few are, and a PurePath takes long
    included = {str(PurePath(path)) for path in named}
    owners = [name for path, name in _LAUNCHERS.items() if path in included]
    if owners:
        lines.append(
            f"not in the image: {' and '.join(owners)} own kernels, which their functions for host code launch"
        )
    return lines


def unneeded_folders(toolchain: Toolchain, folders: Iterable[str]) -> list[str]:
    """Return a line for each of the `folders` in `include-dirs` that belongs to a CUDA toolkit, on which headers are
    used instead."""
    used = next((each for each in toolchain.headers if each.name == "cudart"), None)
    place = f" from {used.folder}" if used else ""
    return [
        f"{TABLE}.include-dirs: {folder} is a folder of a CUDA toolkit. It is not needed, and not used: the headers of "
        f"CUDA are those of {toolchain.name}{place}. Leave it out."
        for folder in folders
    ]
