"""Say which architectures a build compiles for, where that is not what the project's table says or implies."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from cuda_wheel.builder.config.architectures import named_targets
from cuda_wheel.builder.config.parsers import Architectures
from cuda_wheel.builder.plan import ModulePlan, Plan

__all__ = ["architecture_notes"]

OLDEST = 75
"""The first architecture that NVRTC 12.9 does not call deprecated, and the first that NVRTC 13 compiles for."""


def architecture_notes(plan: Plan) -> list[str]:
    """Return a line for each list of architectures that CUDAARCHS changes, one for modules that are PTX alone, and one
    for targets that the project names and the compiler calls deprecated."""
    lists = dict.fromkeys(module.module.settings.architectures for module in plan.modules)
    return [
        *filter(None, dict.fromkeys(each.note for each in lists)),
        *_ptx_alone_note(plan.modules),
        *_deprecation_note(plan.toolchain.name, lists),
    ]


def _ptx_alone_note(modules: Sequence[ModulePlan]) -> Iterator[str]:
    """Yield what it means that modules have loadable images, and none of them is machine code."""
    alone = [each for each in modules if each.targets and not any(target.real for target in each.targets)]
    names = list(dict.fromkeys(each.module.name for each in alone))
    if names:
        more = f" and {len(names) - 1} more" if len(names) > 1 else ""
        yield f"{names[0]}{more}: PTX alone, so the first load on each machine compiles it (later loads use a cache)"


def _deprecation_note(compiler: str, lists: Iterable[Architectures]) -> Iterator[str]:
    """Yield which targets that are named one by one the compiler calls deprecated."""
    named = {target for each in lists for target in named_targets(each.entries, each.where)}
    old = sorted({f"sm_{target.arch}" for target in named if 10 * target.major + target.minor < OLDEST})
    if old:
        yield f"{compiler} calls {', '.join(old)} deprecated; NVRTC 13 cannot compile for GPUs before {OLDEST / 10}"
