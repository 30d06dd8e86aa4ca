"""Decide what the builds of a project require after `cuda-wheel import`: the extra that fits, and nothing for C++."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from cuda_wheel.adoption.file_changes import read_text
from cuda_wheel.adoption.script_reader import calls_in
from cuda_wheel.adoption.seen_project import SeenProject, toolchain_extra

__all__ = ["Extra", "Imported", "chosen_extra", "needless", "requirement_name"]


@dataclass(frozen=True)
class Imported:
    """What of a project was imported."""

    lines: frozenset[tuple[Path, int]] = frozenset()
    """The Python files and lines of the extensions whose sources were imported."""
    failed: int = 0
    """How many of the modules do not compile."""
    architectures: tuple[str, ...] = ()
    """Those that nvcc's options name, as entries of `architectures`."""
    standards: tuple[str, ...] = ()
    """The C++ standards of the modules."""
    pytorch: tuple[str, ...] = ()
    """The modules that include headers of the installed PyTorch."""


# --- the extra ----------------------------------------------------------------------------------------


class Extra(NamedTuple):
    """An extra of cuda-wheel, and why it is chosen."""

    name: str
    reason: str


_FIRST_OF_CUDA_13 = 75
"""The first architecture that CUDA 13 compiles for. Source: CUDA 13.0, release notes, "Deprecated Architectures"."""

_ONLY_CUDA_13 = (88, 107, 110)
"""Architectures that NVRTC 12.9 does not compile for."""

_CUDA_13_STANDARDS = ("c++23", "c++26")
"""C++ standards that NVRTC 12.9 does not compile."""

_CLASSIFIER = re.compile(r"Environment :: GPU :: NVIDIA CUDA :: (\d+)")


def chosen_extra(content: Mapping[str, Any], imported: Imported) -> Extra:
    """Return the extra that fits a project, whose pyproject.toml has `content`."""
    reasons = {"cu12": list(_reasons_for_12(content, imported)), "cu13": list(_reasons_for_13(content, imported))}
    installed = toolchain_extra()
    for name, other in (("cu12", "cu13"), ("cu13", "cu12")):
        if reasons[name] and not reasons[other]:
            return Extra(name, "; ".join(reasons[name]))
    if reasons["cu12"]:  # and the other
        return Extra(installed, f"no extra fits all: {'; '.join((*reasons['cu12'], *reasons['cu13']))}")
    return Extra(installed, "it compiled these modules here")


def _reasons_for_12(content: Mapping[str, Any], imported: Imported) -> Iterator[str]:
    oldest = min(_numbers(content, imported), default=_FIRST_OF_CUDA_13)
    if oldest < _FIRST_OF_CUDA_13:
        yield f"sm_{oldest} is asked for, and CUDA 13 compiles for sm_{_FIRST_OF_CUDA_13} and later"
    named = [int(match[1]) for match in map(_CLASSIFIER.match, _classifiers(content)) if match]
    if named and min(named) < 13:
        yield f"its classifiers name CUDA {min(named)}, whose drivers read no machine code of CUDA 13"


def _reasons_for_13(content: Mapping[str, Any], imported: Imported) -> Iterator[str]:
    for number in sorted({*_numbers(content, imported)} & {*_ONLY_CUDA_13}):
        yield f"sm_{number} is asked for, and CUDA 12 does not compile for it"
    table = content.get("tool", {}).get("cuda-wheel", {})
    for standard in dict.fromkeys([*imported.standards, str(table.get("std", ""))]):
        if standard in _CUDA_13_STANDARDS:
            yield f'std = "{standard}", which CUDA 12 does not compile'


def _classifiers(content: Mapping[str, Any]) -> list[str]:
    listed = content.get("project", {}).get("classifiers", [])
    return [each for each in listed if isinstance(each, str)]


def _numbers(content: Mapping[str, Any], imported: Imported) -> list[int]:
    """Return the architectures that a project names: 80 for "sm_80", "8.0+PTX" and "80-real"."""
    table = content.get("tool", {}).get("cuda-wheel", {})
    tables = [table, *(each for each in table.get("module", ()) if isinstance(each, Mapping))]
    named = [each for own in tables for each in _texts(own.get("architectures"))]
    matches = (re.match(r"(?:sm_|compute_)?(\d{1,2})\.?(\d)(?!\d)", text) for text in (*named, *imported.architectures))
    return [int(match[1] + match[2]) for match in matches if match]


def _texts(value: Any) -> list[str]:
    if isinstance(value, str):
        return re.split(r"[;,\s]+", value)
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []


# --- what only C++ needs ------------------------------------------------------------------------------

_FOR_CPP = ("torch", "ninja", "pybind11", "nanobind")
"""Requirements of builds that compile C++ extensions."""

_EXTENSIONS = (
    *("CppExtension", "CUDAExtension", "SyclExtension", "Extension", "Pybind11Extension", "CMakeExtension"),
    *("cythonize", "CFFI", "intree_extensions"),
)
"""Functions of a setup.py that make extensions."""

_CMAKE = re.compile(
    r"^\s*(pybind11_add_module|nanobind_add_module|add_library|add_executable|\w*python\w*_add_library|"
    r"enable_language|find_package\s*\(\s*(?:Torch|pybind11|nanobind))\b",
    re.MULTILINE | re.IGNORECASE,
)
"""Commands of CMake by which a project compiles C++."""


def requirement_name(requirement: str) -> str:
    """Return the normalised name of the distribution that a requirement names."""
    match = re.match(r"\s*([A-Za-z0-9](?:[\w.-]*[A-Za-z0-9])?)", requirement)
    return re.sub(r"[-_.]+", "-", match[1]).lower() if match else ""


def needless(
    project: SeenProject, content: Mapping[str, Any], imported: Imported
) -> tuple[list[str], list[str], list[str]]:
    """Return which of `build-system.requires` no build needs any more, why the others for C++ stay, and what to remove
    by hand."""
    listed = [each for each in content.get("build-system", {}).get("requires", ()) if isinstance(each, str)]
    own = [each for each in listed if requirement_name(each) in _FOR_CPP]
    if project.backend == "scikit_build_core.build":
        own = [each for each in own if requirement_name(each) != "ninja"]  # CMake may use it
    if not own:
        return [], [], []
    reason = _still_compiles(project, content, imported)
    if reason:
        return [], [f"build-system.requires: {', '.join(own)}: {reason}"], []
    removed = [each for each in own if not (requirement_name(each) == "torch" and imported.pytorch)]
    kept = [f"build-system.requires: {each}: {_reads(imported.pytorch)}" for each in own if each not in removed]
    return removed, kept, list(_imports(project.root, {requirement_name(each) for each in removed}))


def _reads(modules: Sequence[str]) -> str:
    return f"{', '.join(modules)} include headers with device code of PyTorch, which are those of the build's PyTorch"


def _still_compiles(project: SeenProject, content: Mapping[str, Any], imported: Imported) -> str:
    """Return why a build may still compile C++; empty if it does not."""
    if imported.failed:
        return f"{imported.failed} of the modules do not compile, so that their extension stays"
    script = project.root / "setup.py"
    for call in calls_in(script, _EXTENSIONS) if script.is_file() else ():
        if (script, call.node.lineno) not in imported.lines:
            return f"setup.py:{call.node.lineno} still compiles an extension ({call.function})"
    lists = read_text(project.root / "CMakeLists.txt") or ""
    if project.backend == "scikit_build_core.build" and (found := _CMAKE.search(lists)):
        return f"CMakeLists.txt still compiles C++ ({found[1]})"
    hatch = content.get("tool", {}).get("hatch", {}).get("build", {})
    if any("custom" in place.get("hooks", {}) for place in (hatch, hatch.get("targets", {}).get("wheel", {}))):
        return "the project's own build hook may need it"
    return ""


def _imports(root: Path, names: Iterable[str]) -> Iterator[str]:
    """Yield the lines of setup.py that import packages of these names."""
    pattern = re.compile(rf"\s*(?:import|from)\s+(?:{'|'.join(sorted(names))})\b.*")
    for number, line in enumerate((read_text(root / "setup.py") or "").splitlines(), 1):
        if pattern.fullmatch(line):
            yield f"setup.py:{number}: remove: {line.strip()}"
