"""Put the variants of a module together into the module that goes into the wheel."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from hashlib import sha256

from cuda_wheel.builder.jobs import BuiltModule, FinishedModule
from cuda_wheel.runtime.formats.fatbin import fatbin_of_text
from cuda_wheel.runtime.manifest import Carried, Manifest
from cuda_wheel.runtime.manifest_text import manifests_to_json
from cuda_wheel.runtime.variants.index import all_manifests

__all__ = ["finished_module"]


def finished_module(
    built: Sequence[BuiltModule], carry: Callable[[tuple[str, ...]], bytes] | None = None
) -> FinishedModule:
    """Return a module as it goes into the wheel, from its variants in their order, or from itself alone.

    The variants' fatbins follow each other in one file; `runtime.variants` says how it is read. `carry` returns the
    sources to put behind them, given the headers that the compiler read; None for none.
    """
    if not built[0].manifest.variant and carry is None:
        (only,) = built
        return FinishedModule((only.manifest,), only.text, only.fatbin, only.headers)
    manifests: list[Manifest] = []
    for each in built:
        end = manifests[-1].fatbin_offset + manifests[-1].fatbin_size if manifests else 0
        manifests.append(each.manifest._replace(fatbin_offset=end))
    lists = [each.headers for each in built]
    headers = tuple(sorted({path for paths in lists for path in paths or ()}))
    fatbin = b"".join(each.fatbin for each in built)
    if carry is not None:
        carried = carry(headers)
        fatbin += fatbin_of_text(carried)
        place = Carried(len(fatbin) - len(carried), len(carried), sha256(carried).hexdigest())
        manifests = [each._replace(specialize=place) for each in manifests]
    text = manifests_to_json(manifests).encode()
    all_manifests(text, f"the manifest of {manifests[0].name}")
    return FinishedModule(tuple(manifests), text, fatbin, None if None in lists else headers)
