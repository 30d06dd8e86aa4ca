"""Translate NVRTC's options to those of nvJitLink and libNVVM."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence

from cuda_wheel.builder.jobs import Form

__all__ = ["FORM_OPTIONS", "floating_point_options", "line_info_folders", "ptxas_options"]

FORM_OPTIONS: dict[Form, list[str]] = {
    "whole": [],
    "ptx": ["--relocatable-device-code=true"],
    "lto": ["--relocatable-device-code=true", "--dlink-time-opt"],
}
"""NVRTC's options for each form of result."""

_PTXAS = {"--maxrregcount": "-maxrregcount", "--ptxas-options": "-Xptxas"}
"""nvJitLink's names of the options that NVRTC passes to ptxas."""

_FLOATING_POINT = {"--ftz": "-ftz", "--prec-div": "-prec-div", "--prec-sqrt": "-prec-sqrt", "--fmad": "-fma"}
"""The names that nvJitLink and libNVVM share. Source: nvJitLink, "Linker Options"; libNVVM, nvvmCompileProgram."""

_FAST_MATH = ("-ftz=1", "-prec-div=0", "-prec-sqrt=0", "-fma=1")
"""What `--use_fast_math` implies. Source: NVRTC, "Supported Compile Options"."""


def line_info_folders(include_dirs: Sequence[str]) -> dict[str, str]:
    """Return the replacements for absolute folders in the paths of line information: the toolchain's and the
    project's."""
    folders = {folder: "cuda/" for folder in include_dirs if os.path.isabs(folder)}
    return folders | {os.environ.get("PWD", os.getcwd()): ""}


def ptxas_options(options: Sequence[str]) -> list[str]:
    """Return, as nvJitLink's options, those of NVRTC's options that NVRTC passes to ptxas."""
    names = {**_PTXAS, **{name: name for name in _PTXAS.values()}}
    return [f"{names[name]}={value}" for name, value in _with_values(options) if name in names]


def floating_point_options(options: Sequence[str]) -> list[str]:
    """Return, as options of both nvJitLink and libNVVM, those of NVRTC's options that control floating-point
    arithmetic."""
    chosen: list[str] = []
    for name, value in _with_values(options):
        name = re.sub(r"^-(?!-)", "--", name)
        if name == "--use_fast_math":
            chosen += _FAST_MATH
        elif name in _FLOATING_POINT:
            chosen.append(f"{_FLOATING_POINT[name]}={int(value.lower() in ('true', '1'))}")
    return chosen


def _with_values(options: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield the name and value of each option: the value follows "=", or is the next option."""
    for option, following in zip(options, [*options[1:], ""], strict=False):  # no options: one more
        name, equals, value = option.partition("=")
        yield name, value if equals else following
