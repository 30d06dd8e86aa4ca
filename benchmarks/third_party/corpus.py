"""The list of third-party sources: `packages.toml` names repositories, commits, files and options of their builds."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import tomllib

__all__ = ["CORPUS", "Need", "Package", "Source", "packages", "sources"]

HERE = Path(__file__).parent
CORPUS = HERE / ".corpus"

EXTENSION = (
    "-D__CUDA_NO_HALF_OPERATORS__",
    "-D__CUDA_NO_HALF_CONVERSIONS__",
    "-D__CUDA_NO_BFLOAT16_CONVERSIONS__",
    "-D__CUDA_NO_HALF2_OPERATORS__",
    "--expt-relaxed-constexpr",
)
"""What PyTorch's `BuildExtension` passes to nvcc before a package's own options (torch.utils.cpp_extension,
COMMON_NVCC_FLAGS)."""


@dataclass(frozen=True)
class Need:
    """Another repository, whose headers a package expects as a submodule."""

    repository: str
    commit: str
    at: str
    """The folder of the package's repository that holds it."""
    folders: tuple[str, ...] = ("include",)


@dataclass(frozen=True)
class Package:
    """One extension module of one package, and those of its files that belong to the corpus."""

    name: str
    repository: str
    commit: str
    kind: str
    """"torch": built by PyTorch's `BuildExtension`; "cupy": by nvcc alone, and loaded with CuPy; "plain": a program."""
    folders: tuple[str, ...]
    """What to fetch of the repository."""
    files: tuple[str, ...]
    cpp: tuple[str, ...] = ()
    """The other sources of the extension module, C++: its bindings and functions for the CPU."""
    include: tuple[str, ...] = ()
    """Include folders that the package's build passes, relative to the repository."""
    options: tuple[str, ...] = ()
    """Options for nvcc that the package's build passes, as they are there."""
    cxx_options: tuple[str, ...] = ()
    """Options for the C++ compiler that the package's build passes, as they are there."""
    needs: tuple[Need, ...] = ()
    apart: bool = False
    """Whether it was kept apart: nothing was changed for it before it was measured."""
    settings: dict[str, dict[str, Any]] = field(default_factory=dict)
    """For a file: settings of `[tool.cuda-wheel]` that it needs beyond these, at most five."""

    def home(self, corpus: Path) -> Path:
        """Return the folder of the package's repository in a fetched corpus."""
        return corpus / self.repository.replace("/", "+")

    @property
    def nvcc_options(self) -> tuple[str, ...]:
        """Return all options of the package's build, in the order that nvcc receives them."""
        # PyTorch's headers since 2.1 and the toolkit's Thrust and CUB since 13 need C++17; builds of today set it.
        own = tuple(re.sub(r"std=c\+\+(11|14)$", "std=c++17", option) for option in self.options)
        standard = () if any("std=" in option for option in own) else ("-std=c++17",)
        if self.kind != "torch":
            return (*own, *standard)
        names = (f"-DTORCH_EXTENSION_NAME={self.name.replace('-', '_')}", "-DTORCH_API_INCLUDE_EXTENSION_H")
        return (*EXTENSION, *own, *names, *standard)


@dataclass(frozen=True)
class Source:
    """One file of the corpus."""

    package: Package
    path: str

    @property
    def key(self) -> str:
        return f"{self.package.repository}/{self.path}"


def packages(path: Path = HERE / "packages.toml") -> list[Package]:
    """Return the packages of a list."""
    with path.open("rb") as file:
        tables = tomllib.load(file)["package"]
    return [_package(table) for table in tables]


def sources(listed: list[Package]) -> list[Source]:
    """Return the files of the packages, in the order of the list."""
    return [Source(package, path) for package in listed for path in package.files]


def _package(table: dict[str, Any]) -> Package:
    needs = tuple(Need(**_tuples(need)) for need in table.pop("needs", ()))
    return Package(needs=needs, **_tuples(table))


def _tuples(table: dict[str, Any]) -> dict[str, Any]:
    return {key: tuple(value) if isinstance(value, list) else value for key, value in table.items()}
