"""`cuda-wheel import`: read CUDA sources, a setup.py or a program with kernels in strings, and propose modules."""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cuda_wheel.adoption.build_requirements import Imported
from cuda_wheel.adoption.extension_calls import BUILD_EXTENSION, Extension, extensions_in
from cuda_wheel.adoption.file_changes import read_text, relative_path
from cuda_wheel.adoption.kernel_texts import KernelText, changed_lines, texts_in
from cuda_wheel.adoption.module_tables import ProposedModule, extension_modules, options_table, source_modules
from cuda_wheel.adoption.seen_project import SeenProject, see_project
from cuda_wheel.adoption.start import TABLE_PATH, read_project
from cuda_wheel.adoption.trial_build import ModuleTrial, try_module
from cuda_wheel.builder.errors import ConfigError
from cuda_wheel.builder.scratch import scratch

__all__ = ["Import", "hoisted", "project_root", "read_import"]


@dataclass
class Import:
    """What files that other tools compile become."""

    project: SeenProject
    modules: list[ProposedModule] = field(default_factory=list)
    files: dict[str, str] = field(default_factory=dict)
    """New sources, by path relative to the project."""
    lines: list[str] = field(default_factory=list)
    """What changes in Python files, and what stays as it is; one line each."""
    extension_lines: set[tuple[Path, int]] = field(default_factory=set)
    """The Python files and lines of the extensions whose sources are modules now."""

    def imported(self, trials: Iterable[ModuleTrial]) -> Imported:
        """Return what a project with these modules needs for its builds."""
        trials = list(trials)
        return Imported(
            lines=frozenset(self.extension_lines),
            failed=sum(bool(trial.error) for trial in trials),
            architectures=tuple(dict.fromkeys(each for module in self.modules for each in module.architectures)),
            standards=tuple(dict.fromkeys(str(trial.module.table.get("std", "")) for trial in trials)),
            pytorch=tuple(trial.module.name for trial in trials if trial.includes_pytorch),
        )

    def try_modules(self, architecture: str) -> Iterable[ModuleTrial]:
        """Compile the modules one after the other, and yield what each gives. Raises ToolchainError."""
        root = self.project.root
        for module in self.modules:
            if self.files.keys().isdisjoint(module.table["sources"]):
                yield try_module(root, module, architecture)
                continue
            with scratch() as folder:  # nothing is written into the project yet
                for path in module.table["sources"]:
                    (folder / path).parent.mkdir(parents=True, exist_ok=True)
                    (folder / path).write_text(self.files[path], encoding="utf-8")
                for path in module.table.get("include-dirs", ()):
                    shutil.copytree(root / path, folder / path, dirs_exist_ok=True)
                yield try_module(folder, module, architecture)


def project_root(files: Sequence[Path]) -> Path:
    """Return the folder of the project that the files belong to: the nearest with a pyproject.toml or a setup.py."""
    first = Path(os.path.realpath(files[0]))  # of a link to itself too
    for folder in first.parents:
        if any((folder / name).is_file() for name in ("pyproject.toml", "setup.py")):
            return folder
    return first.parent


def read_import(root: Path, files: Sequence[Path], package: str = "", options: Sequence[str] = ()) -> Import:
    """Return what files become in the project in `root`. Nothing is compiled or written. Raises ConfigError.

    `options` are those that nvcc gets for the `.cu` files.
    """
    extensions: list[tuple[Path, Extension]] = []
    texts: list[tuple[Path, KernelText]] = []
    for path in files:
        if path.suffix == ".py":
            extensions += [(path, each) for each in extensions_in(path)]
            texts += [(path, each) for each in texts_in(path)]
            if not any(path == other for other, _ in (*extensions, *texts)):
                raise ConfigError(
                    f"{path} has neither a CUDAExtension with .cu files, nor a RawModule, RawKernel, SourceModule, "
                    "load or load_inline."
                )
        elif path.suffix != ".cu":
            raise ConfigError(f"{path} is neither a .cu file nor a Python file.")
    package = package or _extension_package(root, [extension for _, extension in extensions])
    done = Import(see_project(root, read_project(root)[0].content, package))
    sources = [_shown(path, root) for path in files if path.suffix == ".cu"]
    outside = [path for path in sources if path.startswith("../") or not (root / path).is_file()]
    if outside:
        raise ConfigError(f"{outside[0]} is no file of the project in {root}: copy it into the project first.")
    done.modules += source_modules(done.project, sources, options)
    for path, extension in extensions:
        modules = extension_modules(done.project, extension)
        done.modules += modules
        if not modules:
            done.lines.append(f"{_shown(path, root)}:{extension.line}: no source of {extension.name} exists")
        done.extension_lines.add((Path(os.path.realpath(path)), extension.line))
        done.lines.append(
            f"{_shown(path, root)}:{extension.line}: remove the extension {extension.name}, and build_ext from cmdclass"
        )
    _add_texts(done, texts)
    _name_apart(done.modules)
    return done


def _extension_package(root: Path, extensions: Iterable[Extension]) -> str:
    """Return the top package of the first extension whose name says one that exists."""
    tops = (each.name.partition(".")[0] for each in extensions if "." in each.name)
    return next((top for top in tops for parent in (".", "src") if (root / parent / top / "__init__.py").is_file()), "")


def _shown(path: Path, root: Path) -> str:
    return relative_path(os.path.realpath(path), root)


def _name_apart(modules: Iterable[ProposedModule]) -> None:
    """Give modules of the same name the names of their folders too."""
    taken: set[str] = set()
    for module in modules:
        package, _, stem = module.name.rpartition(".")
        for folder in reversed(module.table["sources"][0].split("/")[:-1]):
            if module.name not in taken:
                break
            stem = f"{folder}_{stem}"
            module.table["name"] = f"{package}.{stem}"
        taken.add(module.name)


# --- texts ------------------------------------------------------------------------------------------


def _add_texts(done: Import, texts: Sequence[tuple[Path, KernelText]]) -> None:
    """Add a file and a module for each text; equal ones become one module."""
    modules: dict[tuple[Any, ...], str] = {}
    calls: dict[Path, dict[ast.Call, str]] = {}
    for path, text in texts:
        where = f"{_shown(path, done.project.root)}:{text.call.node.lineno}"
        if text.text is None:
            done.lines.append(f"{where}: the text is composed at run time: cuda_wheel.compile(text) takes it as it is")
            continue
        key = (text.text, text.options)
        if key not in modules:
            modules[key] = _add_text(done, path, text)
        elif text.instantiate:
            table = next(each.table for each in done.modules if each.name == modules[key])
            table["instantiate"] = list(dict.fromkeys((*table.get("instantiate", ()), *text.instantiate)))
        calls.setdefault(path, {})[text.call.node] = modules[key]
    for path, named in calls.items():
        shown, content = _shown(path, done.project.root), path.read_bytes()
        if b"import cuda_wheel" not in content:
            done.lines.append(f"{shown}: add: import cuda_wheel")
        done.lines += [f"{shown}:{line}: {old}  ->  {new}" for line, old, new in changed_lines(path, named)]
        if re.search(rb"\b(In|Out|InOut|memcpy_htod|memcpy_dtoh)\(", content):  # PyCUDA's
            done.lines.append(
                f"{shown}: copy what In, Out, InOut and memcpy_htod copy with an array library, such as CuPy; a "
                "module's variable has write and read"
            )
        if not shown.startswith(f"{done.project.folder}/"):
            done.lines.append(f"{shown}: is not in {done.project.folder}, so that the wheel does not contain it")


def _add_text(done: Import, path: Path, text: KernelText) -> str:
    """Add the file and the module of a text, and return the module's name."""
    project = done.project
    beside = _shown(path.parent, project.root)
    folder = beside if f"{beside}/".startswith(f"{project.folder}/") else project.folder
    content = text.text or ""
    stem, count = text.name, 1
    while done.files.get(f"{folder}/{stem}.cu", read_text(project.root / folder / f"{stem}.cu")) not in (None, content):
        count += 1
        stem = f"{text.name}_{count}"
    options = (*BUILD_EXTENSION, *text.options) if text.call.function == "load_inline" else text.options
    table, notes = options_table(options, project.root)
    within = folder.removeprefix(project.folder).strip("/").replace("/", ".")
    name = ".".join(filter(None, (project.package, within, stem)))
    instances = {"instantiate": list(text.instantiate)} if text.instantiate else {}
    done.files[f"{folder}/{stem}.cu"] = content
    done.modules.append(ProposedModule({"name": name, "sources": [f"{folder}/{stem}.cu"], **table, **instances}, notes))
    return name


# --- the tables -------------------------------------------------------------------------------------

_OWN = frozenset({"name", "sources", "instantiate", "link"})
"""The keys that only modules have, or that are never those of all modules."""


def hoisted(
    project: SeenProject, content: Mapping[str, Any], modules: Sequence[Mapping[str, Any]]
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return the table of all modules, and those of each, which lack what all have in common.

    A table that the project has already stays as it is. With CMake, each call has everything.
    """
    if TABLE_PATH[-1] in content.get("tool", {}) or project.backend == "scikit_build_core.build":
        return {}, [dict(each) for each in modules]
    common: dict[str, Any] = {}
    if len(modules) > 1:
        first, *others = modules
        common = {
            key: value
            for key, value in first.items()
            if key not in _OWN and all(json.dumps(each.get(key)) == json.dumps(value) for each in others)
        }
    own = [{key: value for key, value in each.items() if key not in common} for each in modules]
    listed = {path for each in modules for path in each["sources"]}
    named = listed.intersection(project.inside)
    if named and not listed.issuperset(project.inside):  # the others in the package would be compiled too
        common = {"sources": sorted(named), **common}
    return common, own
