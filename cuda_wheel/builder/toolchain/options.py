"""Translate NVRTC's options to nvJitLink's and libNVVM's."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence

from cuda_wheel.builder.jobs import Form

__all__ = [
    "FORM_OPTIONS",
    "floating_point",
    "for_assembler",
    "line_roots",
]


def line_roots(include_dirs: Sequence[str]) -> dict[str, str]:
    """Return what stands in line information for the folders that its paths begin with: the toolchain's and the
    project's."""
    roots = {folder: "cuda/" for folder in include_dirs if os.path.isabs(folder)}
    return roots | {os.environ.get("PWD", os.getcwd()): ""}


FORM_OPTIONS: dict[Form, list[str]] = {
    "whole": [],
    "ptx": ["--relocatable-device-code=true"],
    "lto": ["--relocatable-device-code=true", "--dlink-time-opt"],
}


def for_assembler(options: Sequence[str]) -> list[str]:
    """Return, in nvJitLink's words, those of NVRTC's options that it would hand to the assembler."""
    names = {"--maxrregcount": "-maxrregcount", "--ptxas-options": "-Xptxas"}
    words = {**names, **{word: word for word in names.values()}}
    return [f"{words[name]}={value}" for name, value in _valued(options) if name in words]


def _valued(options: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield name and value of each option: "--name=value", or the value as the next option."""
    for option, following in zip(options, [*options[1:], ""], strict=False):  # one more than there are
        name, equals, value = option.partition("=")
        yield name, value if equals else following


_FLOATING_POINT = {"--ftz": "-ftz", "--prec-div": "-prec-div", "--prec-sqrt": "-prec-sqrt", "--fmad": "-fma"}


_FAST_MATH = ("-ftz=1", "-prec-div=0", "-prec-sqrt=0", "-fma=1")
"""What `--use_fast_math` stands for. Source: NVRTC, "Supported Compile Options"."""


def floating_point(options: Sequence[str]) -> list[str]:
    """Return, in the words that nvJitLink and libNVVM have in common, those of NVRTC's options that say how to compute.

    Source: nvJitLink, "Linker Options"; libNVVM, nvvmCompileProgram.
    """
    chosen: list[str] = []
    for name, value in _valued(options):
        name = re.sub(r"^-(?!-)", "--", name)
        if name == "--use_fast_math":
            chosen += _FAST_MATH
        elif name in _FLOATING_POINT:
            chosen.append(f"{_FLOATING_POINT[name]}={int(value.lower() in ('true', '1'))}")
    return chosen
