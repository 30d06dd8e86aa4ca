"""The build side: from settings to a plan, compiler calls, fatbins and manifests. `project` builds a whole project.

Of cuda-wheel, this file imports nothing: a worker process, or a load from a source tree, needs few of the modules.
"""

import os

import cuda_wheel


def _check_version(site: str) -> None:
    """Raise CudaWheelError if the distribution of this package, installed in the folder `site`, is of another version
    than the loader, as after an upgrade of one with --no-deps. Raise ImportError if there is no loader.

    A checkout has no metadata, and nothing is checked.
    """
    if not hasattr(cuda_wheel, "__version__"):
        raise ImportError(
            f"cuda-wheel-builder in {site} needs cuda-wheel, which is not installed: pip install cuda-wheel"
        )
    prefix, suffix = "cuda_wheel_builder-", ".dist-info"
    if os.path.isdir(os.path.join(site, f"{prefix}{cuda_wheel.__version__}{suffix}")) or not os.path.isdir(site):
        return
    for name in os.listdir(site):
        if name.startswith(prefix) and name.endswith(suffix):
            from cuda_wheel.runtime.errors import CudaWheelError

            raise CudaWheelError(
                f"two versions are mixed: cuda-wheel-builder {name[len(prefix) : -len(suffix)]} in {site}, and "
                f"cuda-wheel {cuda_wheel.__version__} in {os.path.dirname(os.path.dirname(cuda_wheel.__file__))}. "
                'Install the same version of both: pip install --upgrade "cuda-wheel[tools]".'
            )


_check_version(os.path.dirname(os.path.dirname(os.path.dirname(__file__))))
