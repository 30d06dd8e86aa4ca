"""Translate host functions of listed extensions: `python translate.py FOLDER [--only NAME ...] [--apart] [--second]`.

FOLDER/corpus has the sources of `packages.toml` or `apart.toml`, from `../fetch.py`. For each extension,
FOLDER/ported/NAME/project becomes a hatchling project: the unedited sources with the headers that they include, a
module for each `.cu` file that has kernels, and the translation as the Python package `ported_NAME`.
FOLDER/ported/NAME/translated.json says which functions are whole, what is not translated of the others, and how many
launches are. No file is built or run.

It needs libclang, the headers of PyTorch (installed; without CUDA will do) and of the CUDA Toolkit, and a C++ compiler.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import sys
import time
import traceback
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from importlib import util
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[2]))
sys.path.insert(0, str(Path(__file__).parents[3]))  # run from a checkout, without installing it

from population import Package, chosen, cxx_options, project_of, python_name, record_of, with_choice
from ports.build import MODULE, PROJECT
from ports.extensions import toolkit

from cuda_wheel.builder.sources.include_directives import includes
from cuda_wheel.migrate.host_functions import extension as extensions
from cuda_wheel.migrate.host_functions.aten import AtenTable
from cuda_wheel.migrate.host_functions.clang import Headers, Reader, reader
from cuda_wheel.migrate.host_functions.nodes import SourceTree

__all__ = ["defines", "modules_of", "needed", "write_project"]


def needed(home: Path, sources: Iterable[str], include: Sequence[str]) -> set[str]:
    """Return the sources of a repository and the files of it that they include, directly or not, in any `#if`."""
    root = Path(os.path.realpath(home))
    found, waiting = set(), [root / path for path in sources]
    while waiting:
        path = waiting.pop()
        if (name := path.relative_to(root).as_posix()) in found:
            continue
        found.add(name)
        for each in includes(path.read_bytes()):
            folders = [path.parent] if each.quoted else []
            for folder in (*folders, *(root / each for each in include)):
                candidate = Path(os.path.normpath(folder / each.name)) if each.name else folder
                if candidate.is_file() and candidate.is_relative_to(root):
                    waiting.append(candidate)
                    break
    return found


def defines(package: Package, path: str) -> list[str]:
    """Return the options that define and undefine macros for a source of an extension."""
    named = f"-DTORCH_EXTENSION_NAME={python_name(package)}"
    options = package.nvcc_options if path.endswith(".cu") else (*cxx_options(package), named)
    return [option for option in options if option.startswith(("-D", "-U"))]


def modules_of(trees: Iterable[SourceTree], name: str) -> dict[str, str]:
    """Return the path of each `.cu` file that has kernels or uses those of its headers -> the name of its module."""
    found: dict[str, str] = {}
    for tree in trees:
        is_kernel = any(each.is_kernel and each.is_own for each in tree.declarations.values())
        if tree.path.endswith(".cu") and is_kernel:
            module = f"{name}.{re.sub(r'[^A-Za-z0-9_]', '_', Path(tree.path).stem)}"
            found[tree.path] = module if module not in found.values() else f"{module}_{len(found)}"
    return found


def write_project(project: Path, package: Package, modules: Mapping[str, str], module: str) -> None:
    """Write what makes a project of the sources in it; `module` is the text of the translation."""
    name = f"ported_{python_name(package)}"
    text = PROJECT.format(
        name=name,
        architectures=json.dumps(["90-real"]),
        include=json.dumps(package.include),
        options=json.dumps(package.nvcc_options),
        headers="[]",
    )
    # PyTorch's headers are those of the machine that builds.
    text = text.replace('[tools]"]', '[tools]", "torch"]').replace("system-include-dirs = []\n", "")
    for path, dotted in modules.items():
        text += MODULE.format(name=name, module=dotted.removeprefix(f"{name}."), source=path)
    (project / name).mkdir()
    (project / name / "__init__.py").write_text(module, encoding="utf-8")
    (project / "pyproject.toml").write_text(text, encoding="utf-8")


def translate(package: Package, folder: Path, source_reader: Reader, aten: AtenTable) -> dict[str, Any]:
    """Write an extension's project; return what its record says."""
    home, project = package.home(folder / "corpus"), project_of(package, folder)
    name = f"ported_{python_name(package)}"
    shutil.rmtree(project.parent, ignore_errors=True)
    for wheel in (folder / "wheels").glob(f"{name}-*.whl"):
        wheel.unlink()
    sources = (*package.cpp, *package.files)
    for path in needed(home, sources, package.include):
        (project / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(home / path, project / path)
    trees = [source_reader.read(project, path, package.include, defines(package, path)) for path in sources]
    texts = {
        path: (project / path).read_text(encoding="utf-8", errors="replace").splitlines()
        for tree in trees
        for path in (tree.path, *tree.comments)
    }
    modules = modules_of(trees, name)
    found = extensions.translate(extensions.Extension(name, trees, modules, texts), aten)
    write_project(project, package, modules, found.text)
    functions = [asdict(each) | {"is_whole": not each.failures} for each in found.functions]
    return {
        "functions": functions,
        "launches": len(found.launches),
        "translated_launches": len(found.translated_launches),
        "errors": [error for tree in trees for error in tree.errors],
    }


def headers() -> tuple[Headers, Path]:
    """Return where the headers are, and the path of PyTorch's `native_functions.yaml`; raises FileNotFoundError."""
    cuda = toolkit() / "include"
    torch, torchgen = (util.find_spec(name) for name in ("torch", "torchgen"))
    if torch is None or torch.origin is None or torchgen is None or torchgen.origin is None:
        raise FileNotFoundError("PyTorch is not installed: its headers are read")
    folders = tuple(each for each in (cuda, cuda / "cccl") if each.exists())
    yaml = Path(torchgen.origin).parent / "packaged/ATen/native/native_functions.yaml"
    return Headers(Path(torch.origin).parent / "include", folders), yaml


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    options = with_choice(parser).parse_args()
    folder = options.folder.resolve()
    found, yaml = headers()
    aten = AtenTable.read(yaml)
    whole = functions = 0
    with reader(found) as source_reader:
        for package in chosen(options):
            began = time.monotonic()
            try:
                record = translate(package, folder, source_reader, aten)
            except Exception as error:  # one extension must not lose those after it
                traceback.print_exc()
                record = {"failed": f"{type(error).__name__}: {error}"}
            path = record_of(package, folder)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(record, indent=1), encoding="utf-8")
            counts = [each["is_whole"] for each in record.get("functions", ())]
            whole, functions = whole + sum(counts), functions + len(counts)
            about = f"{sum(counts)} of {len(counts)} functions, "
            about += f"{record.get('translated_launches')} of {record.get('launches')} launches"
            took = f"{time.monotonic() - began:.0f} s"
            print(f"{package.name}: {record.get('failed', about)} ({took})", flush=True)
    print(f"{whole} of {functions} functions are whole")


if __name__ == "__main__":
    main()
