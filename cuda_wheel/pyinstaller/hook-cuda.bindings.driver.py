# $PyInstaller-Hook-Priority: -3000
# Below all others: PyInstaller runs one hook for a module, and another project's for this one may know it better.
"""For applications that use a vendored loader, which imports nothing of cuda-wheel's."""

from typing import Any

from cuda_wheel.pyinstaller.additions import add_bindings, add_modules


def hook(hook_api: Any) -> None:
    add_bindings(hook_api)
    add_modules(hook_api)
