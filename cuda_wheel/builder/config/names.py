"""Names in pyproject.toml: the project's table, and build back ends with a hook or tried with `cuda_wheel.backend`.

Workers import this module and not the settings, which take a tenth of their start-up time.
"""

from __future__ import annotations

__all__ = ["HOOKED", "OWN_COMMANDS", "TABLE", "WRAPPED", "WRAPPER"]

TABLE = "tool.cuda-wheel"
"""The project's table of settings."""

WRAPPER = "cuda_wheel.backend"
"""The build back end of cuda-wheel, which wraps another one: the one that the setting `backend` names."""

HOOKED = {
    "hatchling.build": "hatchling",
    "setuptools.build_meta": "setuptools",
    "scikit_build_core.build": "scikit-build-core",
}
"""Build back end that cuda-wheel has a hook for, as `build-backend` names it -> distribution that contains it, for
`build-system.requires`."""

WRAPPED = {
    "uv_build": "uv_build",
    "poetry.core.masonry.api": "poetry-core",
    "mesonpy": "meson-python",
    "flit_core.buildapi": "flit_core",
    "pdm.backend": "pdm-backend",
    "maturin": "maturin",
}
"""Build back end that WRAPPER is tested with -> distribution that contains it. It wraps others too."""

OWN_COMMANDS = {"flit_core.buildapi": "flit build", "maturin": "maturin build"}
"""Build back end -> the command of its own that makes a wheel whatever `build-backend` names, hence without kernels."""
