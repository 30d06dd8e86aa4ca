"""For applications that use the loader: its parts, the driver's bindings, and the modules of the application."""

from typing import Any

from PyInstaller.utils.hooks import collect_submodules

from cuda_wheel.pyinstaller.additions import FRAMEWORKS, add_bindings, add_modules

hiddenimports = collect_submodules("cuda_wheel.runtime")

# The loader takes arrays and records of these if the application has them, and works without. A frozen application
# compiles nothing.
excludedimports = ["numpy", "cuda.core", "cuda_wheel.builder"]


def hook(hook_api: Any) -> None:
    add_bindings(hook_api)
    add_modules(hook_api)
    for framework, package in FRAMEWORKS.items():
        if type(hook_api.module_graph.find_node(framework, create_nspkg=False)).__name__ == "Package":
            hook_api.add_imports(*collect_submodules(package), *collect_submodules("cuda_wheel.operators"))
