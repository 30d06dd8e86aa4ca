"""The hooks of PyInstaller: what it must add to an application that loads kernels.

PyInstaller finds the hooks in this folder by the entry point `hook-dirs` of cuda-wheel, in the group `pyinstaller40`.
It runs `hook-NAME.py` if the application imports NAME. Importing this package imports nothing of PyInstaller.
"""

import os

__all__ = ["hook_folders"]


def hook_folders() -> list[str]:
    """Return the folders with the hooks."""
    return [os.path.dirname(__file__)]
