"""How manifests describe kernels that were compiled from Python functions, whatever their language.

Such a kernel is a variant of its module. A variant has what the kernel was compiled for: a value for each parameter,
and the compiler's options. Its key for the kernel is the name of the language (`python_language`), and the value is
the Python module and the function: {"triton": "demo.ops:add"}. The language's own part of the loader says what the
other values mean, such as `parts.triton.signatures`.

Of the Python function, the manifest has the parameters in order, each as (name, kind, default). The kinds:

- "argument": a launch passes it;
- "constant": a constant of the compilation; a launch passes the value, by which it chooses a variant;
- "tuned": a constant that the language's tuner chooses, so that a launch may leave it out;
- "computed": a constant that the language's own launch computes from the arguments.

The default is a value of a variant; None if there is no default.
"""

from collections.abc import Mapping
from typing import NamedTuple

from ...manifest import Variant, python_language

__all__ = ["KINDS", "LANGUAGES", "Language", "kernel_path", "module_and_function"]

KINDS = ("argument", "constant", "tuned", "computed")
"""Kinds of parameters of a Python function."""


class Language(NamedTuple):
    """A language of kernels in Python functions."""

    title: str
    """Name of the language in messages."""
    module: str
    """Name of the class of a loaded module, in `parts.LANGUAGE.kernels`."""


LANGUAGES: Mapping[str, Language] = {
    "triton": Language("Triton", "TritonModule"),
    "numba": Language("Numba", "NumbaModule"),
    "tile": Language("cuTile", "TileModule"),
}
"""Key of the kernel in a variant -> the language. `manifest.python_language` has the keys too, for loaders without
this part."""


def kernel_path(variant: Variant) -> str:
    """Return the module and the function of a Python kernel's variant: "demo.ops:add"."""
    return str(dict(variant)[python_language([variant])])


def module_and_function(kernel: str) -> tuple[str, str]:
    """Return the dotted name of the Python module, and the function's name: "demo.ops:add" -> ("demo.ops", "add")."""
    module, _, function = kernel.partition(":")
    return module, function
