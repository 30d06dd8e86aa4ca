"""`cuda-wheel doctor`: show what this machine has: driver, GPUs, compilers, cache, packages."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

from cuda_wheel.cli.arguments import add_json_option, print_json, printable
from cuda_wheel.cli.cache_command import cache_lines
from cuda_wheel.inspect.doctor import examine_machine
from cuda_wheel.runtime.manifest import dotted

__all__ = ["add_arguments", "run"]


add_arguments = add_json_option  # the only argument


def run(options: argparse.Namespace) -> int:
    """Show the findings; the exit status is 0 even if something is missing."""
    findings = examine_machine()
    if options.json:
        print_json(findings)
        return 0
    print(f"Python     {findings['python']['version']} in {findings['python']['prefix']}")
    print(f"driver     {_driver_text(findings['driver'])}")
    for number, gpu in enumerate(findings["gpus"]):
        print(f"GPU {number}      {gpu['name']}, compute capability {dotted(gpu['compute_capability'])}")
    for line in _toolchain_lines(findings["toolchain"]):
        print(line)
    cache = findings["cache"]
    for number, line in enumerate([cache["error"]] if "error" in cache else cache_lines(cache)):
        print(f"{'' if number else 'cache':11}{line}")
    for module in findings["modules"]:
        print(printable(_module_line(module)))
    return 0


def _driver_text(driver: dict[str, Any]) -> str:
    if "error" in driver:
        return str(driver["error"])
    branch = f" (branch {driver['branch']})" if driver["branch"] else ""
    return f"for CUDA {dotted(driver['cuda'])}{branch}"


def _toolchain_lines(toolchain: dict[str, Any]) -> Iterator[str]:
    versions = ", ".join(
        f"{name} {toolchain[name]}" for name in ("nvrtc", "nvjitlink", "nvfatbin") if name in toolchain
    )
    error = toolchain.get("error", "").replace("\n", "\n           ")
    yield f"toolchain  {error or versions}"
    if toolchain.get("choice"):
        yield f"           {toolchain['choice']}"
    for part in toolchain["parts"]:
        release = f"{part['release']}, " if part["release"] else ""
        place = f"{part['path']} ({release}{part['found_via']})" if part["path"] else part["found_via"]
        yield f"           {part['name']}: {place}"


def _module_line(module: dict[str, Any]) -> str:
    loads = ", ".join(
        f"{load['gpu']}: {load['image']}, {load['how']}"
        + "".join(f", {load[key]}" for key in ("doubt", "missing") if load.get(key))
        for load in module["loads"]
    )
    name = f"{module.get('name', module['manifest'])} of {module['distribution']}"
    return f"module     {name}: {module.get('error') or loads or 'no GPU to load it'}"
