"""End builds by setuptools in an environment with the loader and without the build side, cuda-wheel-builder.

hatchling and CMake say by themselves that the hook or the module is missing; setuptools would build a wheel without
kernels. It imports this module in every environment with cuda-wheel: it imports little.
"""

import re
from importlib.util import find_spec

__all__ = ["finalize_distribution"]


def finalize_distribution(distribution: object) -> None:
    """Raise SystemExit for a project with a table `[tool.cuda-wheel]` if the build side is not installed."""
    try:
        with open("pyproject.toml", "rb") as file:
            content = file.read()
    except OSError:
        return
    has_table = re.search(rb"^\s*\[\[?\s*tool\s*\.\s*[\"']?cuda[-_]wheel\b", content, re.MULTILINE)
    if has_table and find_spec("cuda_wheel.builder") is None:
        raise SystemExit(
            "cuda-wheel: pyproject.toml has [tool.cuda-wheel], and the environment of the build has only the loader, "
            'which compiles nothing: write "cuda-wheel[cu12]", or cu13, in place of "cuda-wheel" into '
            "build-system.requires"
        )
