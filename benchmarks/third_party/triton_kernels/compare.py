"""Compare what the build imports of a kernel with the whole module: `python compare.py FACTS FOLDER RESULT.json`.

FACTS is `needed`, in an environment without PyTorch, or `whole`, in one with PyTorch and what the packages import, and
the same release of Triton. Each writes the facts of each kernel: Triton's `cache_key`, a hash of the source of the
kernel and of all that it calls, and of the constants that these mention; the global variables that it uses, the
parameters, and the configurations of `triton.autotune`. `python compare.py equal NEEDED.json WHOLE.json` compares them.

Both have a GPU of compute capability 8.0 that Triton and PyTorch speak of; a machine for builds has none.
"""

from __future__ import annotations

import importlib
import json
import sys
from collections import Counter, defaultdict
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

from measure import Kernel, front_end, in_child, kernels, packages, sampled

from cuda_wheel.builder.compile.python_kernels import known_values
from cuda_wheel.builder.compile.python_modules import ProjectModules
from cuda_wheel.builder.toolchain.triton import import_triton

__all__ = ["compared", "facts"]

GPU: dict[str, Any] = {
    "current_device": 0,
    "device_count": 1,
    "get_device_capability": (8, 0),
    "get_device_name": "NVIDIA A100-SXM4-80GB",
    "get_device_properties": SimpleNamespace(
        name="NVIDIA A100-SXM4-80GB", major=8, minor=0, multi_processor_count=108, warp_size=32, total_memory=80 << 30
    ),
    "is_available": True,
}
"""Function of `torch.cuda` -> what it returns for the whole module; a machine for builds has no GPU."""

EXTENSIONS = ("flash_attn_2_cuda",)
"""Extension modules in C++ that packages import, and that no kernel uses."""

MOST = 40
"""Number of kernels of a package to compare; of more, every n-th."""


def facts(found: Any) -> dict[str, Any]:
    """Return what decides the code of a kernel, and what the manifest has of it."""
    configurations, heuristics = [], []
    while not hasattr(found, "params"):
        for each in getattr(found, "configs", ()):
            configurations.append([{k: repr(v) for k, v in each.kwargs.items()}, each.num_warps, each.num_stages])
        heuristics += sorted(getattr(found, "values", ()))
        found = found.fn
    key = found.cache_key
    return {
        "cache key": key,
        "constants and globals": sorted([name, repr(value[0])] for (name, _), value in found.used_global_vals.items()),
        "parameters": [[p.name, p.is_constexpr, p.annotation_type, repr(p.default)] for p in found.params],
        "configurations": configurations,
        "heuristics": heuristics,
    }


def needed(kernel: Kernel, root: Path) -> dict[str, Any]:
    front_end._set_driver(80)
    modules = ProjectModules(str(root), kernel.module, kernel.path, known_values(80))
    with modules.active():
        return facts(modules.attribute(kernel.module, kernel.name))


def whole(kernels: list[Kernel], root: Path) -> dict[str, Any]:
    import torch
    import triton
    from triton.backends.compiler import GPUTarget

    properties = {"multiprocessor_count": 108, "max_shared_mem": 166912, "warpSize": 32}
    driver = SimpleNamespace(
        get_current_target=lambda: GPUTarget("cuda", 80, 32),
        get_current_device=lambda: 0,
        utils=SimpleNamespace(get_device_properties=lambda _: properties),
    )
    triton.runtime.driver.set_active(driver)
    for name, value in GPU.items():
        setattr(torch.cuda, name, lambda *args, value=value: value)
    for name in EXTENSIONS:
        sys.modules[name] = ModuleType(name)
    sys.path.insert(0, str(root))
    module = importlib.import_module(kernels[0].module)
    return {each.name: facts(getattr(module, each.name)) for each in kernels}


def compared(first: dict[str, Any], second: dict[str, Any]) -> tuple[Counter[tuple[str, str]], list[str]]:
    """Return how many kernels there are by (package, "equal" or what else), and a line for each difference."""
    count: Counter[tuple[str, str]] = Counter()
    lines = []
    for key, one in first.items():
        package, other = key.split("|")[0], second.get(key, {"error": "missing"})
        if "error" in one or "error" in other:
            both = " and ".join(name for name, each in (("needed", one), ("whole", other)) if "error" in each)
            count[package, f"{both} failed"] += 1
            continue
        different = [name for name in one if one[name] != other[name]]
        count[package, "different" if different else "equal"] += 1
        lines += [f"{key}: {name}: {one[name]} and {other[name]}" for name in different]
    return count, lines


def main() -> None:
    what, *paths = sys.argv[1:]
    folder = Path(paths[0])
    if what == "equal":
        count, lines = compared(*(json.loads(Path(path).read_text(encoding="utf-8")) for path in paths))
        print(*lines, *(f"{package}: {what}: {number}" for (package, what), number in sorted(count.items())), sep="\n")
        return
    import_triton()
    if what == "whole":
        import torch  # noqa: F401  # once, before the processes of the modules
    result: dict[str, Any] = json.loads(Path(paths[1]).read_text()) if Path(paths[1]).exists() else {}
    for package in packages():
        if paths[2:] and package.name not in paths[2:]:
            continue
        root = (folder / package.folder).resolve()
        modules: dict[str, list[Kernel]] = defaultdict(list)
        for each in sampled(kernels(package, folder), MOST):
            modules[each.module].append(each)
        for listed in modules.values():
            if what == "whole":
                got = in_child(lambda: whole(listed, root), 120)  # noqa: B023
            else:
                got = {each.name: in_child(lambda: needed(each, root), 60) for each in listed}  # noqa: B023
            for each in listed:
                result[f"{package.name}|{each.path}|{each.name}"] = got.get(each.name, {"error": got.get("error")})
        print(
            package.name, sum("error" not in each for key, each in result.items() if key.startswith(f"{package.name}|"))
        )
        Path(paths[1]).write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
