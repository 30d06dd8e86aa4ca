"""The `cuda-wheel` command, also as `python -m cuda_wheel`. Its commands are in the distribution cuda-wheel-builder."""

import os
import sys

__all__ = ["main"]


def main() -> int:
    """Run the command and return its exit status; 1 if the commands are not installed, or of another version."""
    from cuda_wheel import __version__
    from cuda_wheel.runtime.errors import CudaWheelError

    try:
        import cuda_wheel.builder  # noqa: F401 - checks that it is of this version
        from cuda_wheel.cli.main import main as run
    except ModuleNotFoundError as error:
        if not f"{error.name}.".startswith(("cuda_wheel.builder.", "cuda_wheel.cli.")):
            raise
        message = (
            f"the loader, cuda-wheel {__version__}, is installed in {sys.prefix} without its commands, which are in "
            'the distribution cuda-wheel-builder: pip install "cuda-wheel[tools]". Commands that compile need a '
            'toolchain: pip install "cuda-wheel[cu12]", or cu13'
        )
    except CudaWheelError as error:
        message = str(error)
    else:
        return run()
    print(f"cuda-wheel: {message}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    # Python puts the current folder first on the path. It is often a project's, whose files must not hide modules.
    if sys.path[:1] == [os.getcwd()]:
        del sys.path[0]
    sys.exit(main())
