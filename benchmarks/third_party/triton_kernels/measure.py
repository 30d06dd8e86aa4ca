"""Import and compile the Triton kernels in Python packages: `python measure.py FOLDER RESULT.json [PACKAGE ...]`.

FOLDER has a folder for each package of `packages.toml`; see there. A kernel is a function with `triton.jit` at module
level that its package launches, or that returns nothing and that no other such function mentions. Each kernel is
imported unedited by the importer of the build, in a process of its own, in an environment without the packages that the
module imports. Some of those that can be imported are compiled for sm_80 and sm_90a, for the arguments of `guesses.py`.
Of a package with more kernels than `--imported` and `--compiled` say, every n-th is taken.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import re
import select
import signal
import sys
import time
import traceback
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tomllib

sys.path.insert(0, str(Path(__file__).parents[3]))  # run from a checkout, without installing it

from guesses import Function, Guess, guess, last_name

from cuda_wheel.builder.compile import python_kernels
from cuda_wheel.builder.compile import triton_kernels as front_end
from cuda_wheel.builder.compile.python_kernels import known_values
from cuda_wheel.builder.compile.python_modules import ProjectModules
from cuda_wheel.builder.errors import CompileError
from cuda_wheel.builder.jobs import Job
from cuda_wheel.builder.toolchain.triton import import_triton

__all__ = ["Kernel", "Package", "job_of", "kernels", "packages", "sampled"]

HERE = Path(__file__).parent
ARCHITECTURES = ("80", "90a")
FLOATS = ("fp16", "fp32", "bf16")
"""Types of what pointers point to, in the order in which they are tried."""


@dataclass(frozen=True)
class Package:
    """A package of the list."""

    name: str
    source: str
    """The distribution and its version, or the repository and its commit."""
    folder: str
    """The folder below FOLDER, which has the package as the distribution or the repository ships it."""
    inside: tuple[str, ...]
    """Folders below it that are searched."""
    leave_out: str = r"(?!)"
    """Matches paths that are left out: kernels for other makers' processors, tests and benchmarks."""


@dataclass(frozen=True)
class Kernel:
    """A kernel of a package."""

    package: str
    path: str
    """Path of the module in the package's folder."""
    module: str
    name: str
    function: Function
    others: dict[str, Function]
    """All functions with `triton.jit` of the package, those of this module before others of the same name."""


def packages() -> list[Package]:
    with (HERE / "packages.toml").open("rb") as file:
        tables = tomllib.load(file)["package"]
    return [Package(**{**table, "inside": tuple(table["inside"])}) for table in tables]


def _is_jit(decorator: ast.AST, from_triton: set[str]) -> bool:
    while isinstance(decorator, ast.Call):
        decorator = decorator.func
    if isinstance(decorator, ast.Attribute):
        return decorator.attr == "jit" and isinstance(decorator.value, ast.Name) and decorator.value.id == "triton"
    return isinstance(decorator, ast.Name) and decorator.id in from_triton


def _at_module_level(statements: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements of a module, also those inside `if` and `try`."""
    for each in statements:
        yield each
        if isinstance(each, ast.If | ast.Try | ast.With):
            for name in ("body", "orelse", "finalbody"):
                yield from _at_module_level(getattr(each, name, []))
            for handler in getattr(each, "handlers", []):
                yield from _at_module_level(handler.body)


def _final_name(statements: list[ast.stmt], function: ast.FunctionDef) -> str:
    """Return the name under which a module has a function in the end: `k` after `k = f`, if another `f` follows."""
    if function not in statements:
        return function.name
    after = statements[statements.index(function) + 1 :]
    if any(isinstance(each, ast.FunctionDef) and each.name == function.name for each in after):
        for each in after:
            if isinstance(each, ast.Assign) and isinstance(each.value, ast.Name) and each.value.id == function.name:
                return last_name(each.targets[0])
    return function.name


def kernels(package: Package, folder: Path) -> list[Kernel]:
    """Return the kernels of a package, by the rule."""
    root = folder / package.folder
    functions: list[tuple[str, Function]] = []
    launched: set[str] = set()
    for inside in package.inside:
        for path in sorted((root / inside).rglob("*.py")):
            relative = path.relative_to(root).as_posix()
            text = path.read_text(encoding="utf-8", errors="replace")
            if "](" not in text and "jit" not in text:
                continue
            try:
                tree = ast.parse(text)
            except SyntaxError:
                continue
            for node in ast.walk(tree):
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Subscript):
                    launched.add(last_name(node.func.value))
            if re.search(package.leave_out, relative):
                continue
            from_triton = {
                alias.asname or alias.name
                for node in ast.walk(tree)
                if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("triton")
                for alias in node.names
                if alias.name == "jit"
            }
            for node in _at_module_level(tree.body):
                if isinstance(node, ast.FunctionDef) and any(_is_jit(d, from_triton) for d in node.decorator_list):
                    functions.append((relative, Function(node, _final_name(tree.body, node))))
                elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):  # k = triton.jit(k)
                    inner = {last_name(each) for each in ast.walk(node.value)}
                    defined = [each for each in tree.body if isinstance(each, ast.FunctionDef) and each.name in inner]
                    if defined and any(_is_jit(each, from_triton) for each in ast.walk(node.value)):
                        functions.append((relative, Function(defined[0], node.targets[0].id)))
    mentioned = {
        last_name(each)
        for _, function in functions
        for each in ast.walk(function.node)
        if isinstance(each, ast.Name | ast.Attribute) and last_name(each) not in (function.name, function.node.name)
    }
    found: dict[tuple[str, str], Kernel] = {}
    every = {function.name: function for _, function in functions}
    for path, function in functions:
        name = function.name
        returns = any(isinstance(each, ast.Return) and each.value is not None for each in ast.walk(function.node))
        if _is_generator_input(function.node) or not (name in launched or (name not in mentioned and not returns)):
            continue
        parts = path.removesuffix(".py").removesuffix("/__init__").split("/")
        others = every | {each.name: each for other, each in functions if other == path}
        found[path, name] = Kernel(package.name, path, ".".join(parts), name, function, others)
    return list(found.values())


def _is_generator_input(node: ast.FunctionDef) -> bool:
    """Return whether a function is what `pointwise_dynamic` of FlagGems writes kernels from, and no kernel itself."""
    return any("pointwise_dynamic" in ast.unparse(each) for each in node.decorator_list)


def job_of(kernel: Kernel, root: Path, variant: dict[str, Any], architecture: str) -> Job:
    variant = {"triton": f"{kernel.module}:{kernel.name}", **variant}
    return Job(
        library="", root=str(root), source=kernel.path, text=(root / kernel.path).read_bytes(), arch=architecture,
        cubin=True, ptx=True, options=("--triton",), include_dirs=(), instantiate=(), lineinfo=False,
        ptx_version="auto", kind="triton", variant=tuple(sorted(variant.items())), python_compiler="3.6.0",
    )  # fmt: skip


def in_child(work: Any, seconds: int) -> dict[str, Any]:
    """Return what a function returns, called in a copy of this process; {"error": ...} if it takes too long or dies."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.close(reading)
        os.setpgid(0, 0)
        devnull = os.open(os.devnull, os.O_WRONLY)
        os.dup2(devnull, 1)
        os.dup2(devnull, 2)
        try:
            result = work()
        except BaseException as error:  # the traceback is the result
            result = {"error": f"TRACEBACK {type(error).__name__}: {error}", "traceback": traceback.format_exc()}
        with os.fdopen(writing, "w") as stream:
            json.dump(result, stream)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as stream:
        in_time, *_ = select.select([stream], [], [], seconds)
        text = stream.read() if in_time else ""
    with suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)  # also an assembler that it started
    _, status = os.waitpid(child, 0)
    if not in_time:
        return {"error": f"takes more than {seconds} s"}
    return json.loads(text) if text else {"error": f"ended with status {status}"}


def imported(kernel: Kernel, root: Path) -> dict[str, Any]:
    job = job_of(kernel, root, {}, "80")
    front_end._set_driver(80)
    modules = ProjectModules(job.root, kernel.module, job.source, known_values(80))
    began = time.perf_counter()
    with modules.active():
        try:
            value = python_kernels._imported(job, modules, kernel.module, kernel.name)
            found = front_end._Kernel.of(job, value, kernel.name)
        except CompileError as error:
            return {"error": str(error)}
        seconds = time.perf_counter() - began
        chosen: dict[str, Any] = {}
        while value is not found.function:
            if getattr(value, "configs", None):
                config = value.configs[0]
                chosen = {**config.kwargs, "num_warps": config.num_warps, "num_stages": config.num_stages} | chosen
            value = value.fn
    return {"seconds": seconds, "parameters": found.parameters, "chosen": _plain(chosen), "read": len(modules.read)}


def _plain(values: dict[str, Any]) -> dict[str, Any]:
    return {
        name: repr(value) if isinstance(value, str) else "None" if value is None else value
        for name, value in values.items()
        if isinstance(value, int | float | str | None)
    }


def sampled(kernels: list[Kernel], most: int) -> list[Kernel]:
    """Return every n-th kernel, so that there are no more than `most`."""
    return kernels[:: -(-len(kernels) // most)] if most else []


def variants_of(guessed: Guess, chosen: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the arguments to try, one after the other."""
    options = {"num_warps": chosen.get("num_warps", 4), "num_stages": chosen.get("num_stages", 2)}
    for element in FLOATS if "*" in guessed.values.values() else FLOATS[:1]:
        yield {**options, **{k: f"*{element}" if v == "*" else v for k, v in guessed.values.items()}}


def compiled(kernel: Kernel, root: Path, variant: dict[str, Any], architecture: str) -> dict[str, Any]:
    began = time.perf_counter()
    try:
        result = front_end.compile_triton(job_of(kernel, root, variant, architecture))
    except CompileError as error:
        return {"error": str(error)}
    return {"seconds": time.perf_counter() - began, "bytes": len(result.cubin or b"")}


def measured(kernel: Kernel, root: Path, compiles: bool) -> dict[str, Any]:
    record: dict[str, Any] = {"package": kernel.package, "path": kernel.path, "name": kernel.name}
    record["import"] = found = in_child(lambda: imported(kernel, root), 60)
    if "error" in found or not compiles:
        return record
    guessed = guess(kernel.function, kernel.others, [tuple(p) for p in found["parameters"]], found["chosen"])
    if guessed.unknown:
        record["compile"] = {"unknown": guessed.unknown}
        return record
    record["compile"] = results = {}
    for variant in variants_of(guessed, found["chosen"]):
        results["variant"], results["tried"] = variant, results.get("tried", 0) + 1
        for architecture in ARCHITECTURES:
            results[architecture] = in_child(lambda: compiled(kernel, root, variant, architecture), 60)  # noqa: B023
            if "error" in results[architecture]:
                results.setdefault("errors", []).append(results[architecture]["error"])
                break
        else:
            break
        if "takes more" in results["errors"][-1]:
            break
    return record


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("result", type=Path)
    parser.add_argument("packages", nargs="*")
    parser.add_argument("--imported", type=int, default=40, help="kernels of a package to import, at most")
    parser.add_argument("--compiled", type=int, default=6, help="kernels of a package to compile, at most")
    arguments = parser.parse_args()
    import_triton()  # once, before the processes of the kernels
    records = json.loads(arguments.result.read_text()) if arguments.result.exists() else []
    for package in packages():
        if arguments.packages and package.name not in arguments.packages:
            continue
        root = (arguments.folder / package.folder).resolve()
        every = kernels(package, arguments.folder)
        found = sampled(every, arguments.imported)
        compiles = sampled(found, arguments.compiled)
        records = [each for each in records if each["package"] != package.name]
        new = [{**measured(each, root, each in compiles), "of": len(every)} for each in found]
        records += new
        good = sum("error" not in each["import"] for each in new)
        tried = [each["compile"] for each in new if "compile" in each]
        both = sum(all("seconds" in each.get(a, {}) for a in ARCHITECTURES) for each in tried)
        print(f"{package.name}: {good} of {len(new)} imported; {both} of {len(tried)} compiled", flush=True)
        arguments.result.write_text(json.dumps(records, indent=1) + "\n")


if __name__ == "__main__":
    main()
