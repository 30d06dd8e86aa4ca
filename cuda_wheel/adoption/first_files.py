"""The files of a first kernel, of a whole first project, and the calls of CMake for modules."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["ATTACH", "KERNEL", "LISTS", "cmake_call", "first_pyproject", "package_init"]

KERNEL = """\
__global__ void saxpy(float a, const float* x, float* y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = a * x[i] + y[i];
}
"""

ATTACH = '''\
"""The kernels of this package's .cu files, as attributes. Each is loaded for the GPU in use when it is first used."""

import cuda_wheel

__getattr__, __dir__, __all__ = cuda_wheel.attach(__name__)
'''

LISTS = """\
cmake_minimum_required(VERSION 3.20)
project({name} LANGUAGES NONE)
find_package(CudaWheel REQUIRED)
"""


def package_init(kernels: str) -> str:
    """Return the `__init__.py` of a new package with the first kernel in its sub-package `kernels`, a dotted name."""
    parent, _, name = kernels.rpartition(".")
    return f'''\
from {parent} import {name}


def saxpy(a, x, y):
    """Add a * x to y: arrays of float32 on the GPU, of CuPy, PyTorch, Numba and others."""
    {name}.saxpy.launch(-(-len(x) // 256), 256, a, x, y, len(x))  # grid, block, and the kernel's own arguments
'''


def first_pyproject(name: str, requires: Sequence[str]) -> str:
    """Return the pyproject.toml of a new project that hatchling builds."""
    required = ", ".join(f'"{each}"' for each in requires)
    return f"""\
[build-system]
requires = [{required}]
build-backend = "hatchling.build"

[project]
name = "{name}"
version = "0.1.0"
requires-python = ">=3.10"
dependencies = ["cuda-wheel"]
"""


def cmake_call(module: Mapping[str, Any]) -> str:
    """Return the call of `cuda_wheel_add_module` for a table of `[[tool.cuda-wheel.module]]` that names its sources."""
    package, _, target = module["name"].rpartition(".")
    arguments = {"TARGET": [target], "SOURCES": module["sources"], "DESTINATION": [package.replace(".", "/")]}
    defines = [name if value is True else f"{name}={value}" for name, value in module.get("defines", {}).items()]
    arguments |= {"INCLUDE_DIRECTORIES": module.get("include-dirs", []), "DEFINES": defines}
    lists = {"SYSTEM_INCLUDE_DIRECTORIES": "system-include-dirs", "MISSING_HEADERS": "missing-headers"}
    arguments |= {name: module.get(key, []) for name, key in lists.items()}
    words = {"STD": "std", "LINK": "link", "HOST_CODE": "host-code"}
    arguments |= {name: [module[key]] for name, key in words.items() if key in module}
    # The call has no arguments for these keys; their options set them.
    keys = {"lineinfo": "-lineinfo", "warnings-as-errors": "-Werror=all-warnings"}
    flags = [option for key, option in keys.items() if module.get(key)]
    arguments |= {"OPTIONS": [*module.get("options", []), *flags], "INSTANTIATE": module.get("instantiate", [])}
    written = [" ".join([name, *map(_argument, values)]) for name, values in arguments.items() if values]
    line = f"cuda_wheel_add_module({' '.join(written)})\n"
    return line if len(line) <= 120 else "cuda_wheel_add_module(\n  " + "\n  ".join(written) + ")\n"


def _argument(value: str) -> str:
    """Return a value as an argument of CMake."""
    if re.fullmatch(r"[\w./+=:-]+", value):
        return value
    return '"' + re.sub(r'([\\"$;])', r"\\\1", value) + '"'
