"""Decide which files of the loader `loader = "vendor"` copies into a wheel: the core, and parts.

The core is what lies in the folder `runtime` itself. A part is the file or folder of its name in `runtime/parts`. It
comes if a module of the wheel needs it, a Python file of the wheel may use it, or `loader-parts` names it, with what it
imports from there. The part `array-protocols` comes unless the Python files show that it is not needed.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import cuda_wheel
from cuda_wheel.builder.jobs import BuiltModule
from cuda_wheel.runtime.arrays import argument_type, is_by_value, is_untyped, is_vector, pointee
from cuda_wheel.runtime.manifest import Manifest, ManifestFile, python_language
from cuda_wheel.runtime.parts.triton.signatures import read_type

__all__ = ["copied_files", "parts_for", "parts_named_in", "passes_other_arrays"]

RUNTIME = Path(cuda_wheel.__file__).parent / "runtime"


# The expressions look for names, not for calls, because code may use a function under another name. A part that is
# copied without need only makes the wheel larger.
USES = {
    "bind": r"\bbind\b",
    "compile-log": r"\.(spills|registers)\b",
    "launch-attributes": r"\b(cooperative|cluster\w*|programmatic|priority|memory_domain|completion_event)\b",
    "linking": r"\b(load_code|LinkInput|Linked)\b|\b_cuda_wheel(\.| import [^\n]*\b)link\b",
    "occupancy": r"\b([Oo]ccupancy|suggest_block|Attributes)\b|\.attributes\b",
    "tensor-maps": r"\b(tensor_map|TensorMap)\b",
    "tuned-tables": r"\btuned\b",
}
"""Name of a part (optional file) of the loader -> regular expression. If the expression matches the text of a Python
file, the file may use the part."""


_OTHER_ARRAYS = re.compile(
    r"\b(jax|numba|warp|cudf|cuml|cuvs|pylibraft|rmm|pycuda|tensorflow|paddle|mxnet|pyarrow|cunumeric|cupynumeric|legate|cvcuda)\b"
    r"|\b(vpi|holoscan)\b|\bnvidia\.dali\b|\bcuda\.core\b|\b(from|import) cuda\b|dlpack|cuda_array_interface"
)
"""A match is the name of a library whose arrays the loader can read only with its optional file `array-protocols`, or
the name of an array protocol: "jax", "from_dlpack", "__cuda_array_interface__"."""


def passes_other_arrays(files: Iterable[Path]) -> bool:
    """Return whether kernels may get arrays of libraries other than PyTorch and CuPy, by the Python files of a wheel.

    They do not if a file imports PyTorch or CuPy and none names another library. Files that import neither, or only
    where it is installed, take what their callers have.
    """
    texts = [path.read_text(encoding="utf-8", errors="replace") for path in files]
    return not any(map(_imports_core_library, texts)) or any(map(_OTHER_ARRAYS.search, texts))


def _imports_core_library(text: str) -> bool:
    """Return whether a Python file imports PyTorch or CuPy in any case: not only in `try` or under `if`. The loader's
    core reads the arrays of these two libraries."""
    try:
        waiting: list[ast.AST] = [ast.parse(text)]
    except (SyntaxError, ValueError):
        return False
    names: set[str] = set()
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Import):
            names.update(each.name.partition(".")[0] for each in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names.add((node.module or "").partition(".")[0])
        elif isinstance(node, ast.Module | ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            waiting += node.body
    return not names.isdisjoint({"torch", "cupy"})


def parts_named_in(files: Iterable[Path]) -> set[str]:
    """Return the names of the loader's parts that Python files may use, by their text."""
    texts = [path.read_text(encoding="utf-8", errors="replace") for path in files]
    return {part for part, use in USES.items() if any(re.search(use, text) for text in texts)}


def parts_for(module: BuiltModule) -> set[str]:
    """Return the names of the loader's parts that a load of the module needs, such as "linking"."""
    file = ManifestFile(lambda offset, size: module.text[offset : offset + size], module.name, check=False)
    are_many = any(len(record["kernels"]["blocks"]) > 1 for record in file.variants.values())
    needed = set().union(*map(_parts_of_variant, module.manifests))
    return needed | {"many-kernels"} if are_many else needed


def _parts_of_variant(manifest: Manifest) -> set[str]:
    """Return the names of the parts that the loader needs to load one variant, such as {"variants", "structs"}. A part
    is an optional file of a vendored loader. `manifest` is the variant's."""
    parameters = [each for kernel in manifest.kernels for each in kernel.parameters]
    names = [info.name for info in manifest.kernels] + [info.name for info in manifest.globals]
    language = python_language([manifest.variant])
    needed = {
        "variants": manifest.variant,
        **({language: True} if language else {}),
        "launch-attributes": any(
            not figures.keys().isdisjoint(("ctas", "cooperative", "programmatic"))
            for image in manifest.images
            for figures in image.resources.values()
        ),
        "variables": manifest.globals,
        "linking": manifest.relocatable,
        "instance-names": any("<" in name for name in names),
        "tile-hosts": any(image.host for image in manifest.images),
        "structs": any(argument_type(each) == "Struct" and not is_untyped(each) for each in parameters),
        "by-value": any(map(is_by_value, parameters)),
        "vector-pointers": any(is_by_value(each) or is_vector(pointee(each.cpp)[0]) for each in parameters),
        "untyped-parameters": any(map(is_untyped, parameters)),
        "trial": manifest.compression != "none" or not any(image.kind == "ptx" for image in manifest.images),
        "tensor-maps": any(each.cpp in ("CUtensorMap", "CUtensorMap_st") for each in parameters)
        or any((type_ := read_type(value)) is not None and type_.block for _, value in manifest.variant),
    }
    return {part for part, is_needed in needed.items() if is_needed}


def copied_files(parts: Iterable[str]) -> dict[str, bytes]:
    """Return path in the copy -> content, for a copy of the loader with these parts.

    The contents are those of the files in `runtime`; `__init__.py` also gets the version.
    """
    names = {path.name for path in RUNTIME.glob("*.py")}
    waiting = [path for part in parts for path in _files_of(part.replace("-", "_"))]
    while waiting:
        name = waiting.pop()
        if name not in names:
            names.add(name)
            waiting += _imported(name)
    files = {name: (RUNTIME / name).read_bytes() for name in sorted(names)}
    files["__init__.py"] += f'__version__ = "{cuda_wheel.__version__}"\n'.encode()
    files["__init__.py"] += f'VENDORED_FROM = "cuda-wheel {cuda_wheel.__version__}"\n'.encode()
    return files


def _files_of(part: str) -> list[str]:
    """Return the paths of the files of one part of the loader, with `parts/__init__.py`: "bind" ->
    ["parts/__init__.py", "parts/bind.py"].

    `part` is the name of a module or package in `runtime/parts`, with "_" for "-". The returned paths are relative to
    `runtime`.
    """
    folder = RUNTIME / "parts" / part
    found = sorted(folder.glob("*.py")) if folder.is_dir() else [folder.with_suffix(".py")]
    return ["parts/__init__.py", *(path.relative_to(RUNTIME).as_posix() for path in found)]


@cache
def _imported(name: str) -> list[str]:
    """Return the paths of the files in `runtime/parts` that the top-level statements of a file import.

    `name` is the path of the importing file. All paths are relative to `runtime`. After each path come the
    `__init__.py` files of the packages that contain the imported file.
    """
    path = RUNTIME / name
    found = []
    for node in ast.parse(path.read_bytes()).body:
        if isinstance(node, ast.ImportFrom) and node.level:
            folder = path.parents[node.level - 1]
            module = folder.joinpath(*(node.module or "").split("."))
            for candidate in (module, *(module / alias.name for alias in node.names)):
                file = candidate.with_suffix(".py")
                if file.is_file() and file.is_relative_to(RUNTIME / "parts"):
                    found += [file, *_packages(file)]
    return [each.relative_to(RUNTIME).as_posix() for each in found]


def _packages(file: Path) -> Iterator[Path]:
    """Yield the path of the `__init__.py` of each package in `runtime` that contains `file`."""
    for folder in file.parents:
        if folder == RUNTIME:
            return
        yield folder / "__init__.py"
