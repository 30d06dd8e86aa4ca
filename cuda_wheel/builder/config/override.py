"""Apply CUDAARCHS, CMake's environment variable, to the architectures of a project and of its modules."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from cuda_wheel.builder.config.architectures import is_specific, split
from cuda_wheel.builder.config.parsers import Architectures

__all__ = ["VARIABLE", "override_module", "override_project"]

VARIABLE = "CUDAARCHS"

_WHERE = f"the environment variable {VARIABLE}"


def override_project(own: Architectures, value: str) -> Architectures:
    """Return the value of CUDAARCHS in place of a project's architectures."""
    entries = tuple(split(value))
    lost = [entry for entry in own.entries if is_specific(entry) and entry not in entries]
    note = _replaced(entries, own.entries, own.where) if entries != own.entries else ""
    if lost:
        note += (
            f"; this build is without {_listed(lost)}: write it into the architectures of a module's own table, which "
            "keep it in every build"
        )
    return Architectures(entries, _WHERE, note)


def override_module(own: Architectures, value: str) -> Architectures:
    """Return a module's own architectures with the value of CUDAARCHS in place of all but "a" and "f" targets.

    A list of "a" or "f" targets alone stays as it is: the module may compile for no other target.
    """
    entries = tuple(split(value))
    kept = tuple(filter(is_specific, own.entries))
    if kept == own.entries:
        note = f'{VARIABLE} does not replace {own.where} ({_listed(kept)}), which has only "a" and "f" targets'
        return replace(own, note=note)
    plain = [entry for entry in own.entries if not is_specific(entry)]
    note = _replaced(entries, plain, own.where)
    if kept:
        return Architectures(
            tuple(dict.fromkeys((*entries, *kept))), f"{_WHERE}, with {own.where}", f"{note} and keeps {_listed(kept)}"
        )
    return Architectures(entries, _WHERE, note if entries != own.entries else "")


def _replaced(entries: Iterable[str], plain: Iterable[str], where: str) -> str:
    return f"{VARIABLE} ({_listed(entries)}) replaces {_listed(plain)} in {where}"


def _listed(entries: Iterable[str]) -> str:
    return ";".join(entries)
