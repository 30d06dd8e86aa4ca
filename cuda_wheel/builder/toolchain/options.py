"""Translate NVRTC's options to those of nvJitLink and libNVVM."""

from __future__ import annotations

import os
from collections.abc import Sequence

from cuda_wheel.builder.jobs import Form
from cuda_wheel.runtime.jit.floating_point import NO_CONTRACTION, floating_point, values_of

__all__ = ["FORM_OPTIONS", "floating_point_options", "line_info_folders", "ptxas_options"]

FORM_OPTIONS: dict[Form, list[str]] = {
    "whole": [],
    "ptx": ["--relocatable-device-code=true"],
    "lto": ["--relocatable-device-code=true", "--dlink-time-opt"],
}
"""NVRTC's options for each form of result."""

_PTXAS = {"--maxrregcount": "-maxrregcount", "--ptxas-options": "-Xptxas"}
"""nvJitLink's names of the options that NVRTC passes to ptxas."""


def line_info_folders(include_dirs: Sequence[str], system_dirs: Sequence[str]) -> dict[str, str]:
    """Return the replacements for absolute folders in the paths of line information: the toolchain's, those of other
    libraries, and the project's."""
    folders = {folder: "cuda/" for folder in include_dirs if os.path.isabs(folder)}
    folders |= dict.fromkeys(system_dirs, "system/")
    return folders | {os.environ.get("PWD", os.getcwd()): ""}


def ptxas_options(options: Sequence[str]) -> list[str]:
    """Return, as nvJitLink's options, those of NVRTC's options that NVRTC passes to ptxas.

    As NVRTC does, this passes --fmad=false to ptxas too, unless the options for ptxas say otherwise.
    """
    names = {**_PTXAS, **{name: name for name in _PTXAS.values()}}
    own = [f"{names[name]}={value}" for name, value in values_of(options) if name in names]
    chosen = floating_point(options)
    return own if chosen.assembler_fma or chosen.fma else [NO_CONTRACTION, *own]


def floating_point_options(options: Sequence[str]) -> list[str]:
    """Return, as options of both nvJitLink and libNVVM, those of NVRTC's options that control floating-point
    arithmetic."""
    return floating_point(options).compiler_options()
