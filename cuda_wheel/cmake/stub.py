"""Write the stub of a package that attaches its kernels: `python -m cuda_wheel.cmake.stub ROOT BUILT INIT NAME...`.

ROOT is the project's folder, BUILT the one with what was compiled, where the stub goes too, INIT the package's
`__init__.py`, and NAMEs are the dotted names of its modules. There is none where the package does not attach or has its
own.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from cuda_wheel.builder.config.pyproject import read_config
from cuda_wheel.builder.wheel.outputs import Package, stub_file, write
from cuda_wheel.builder.wheel.stubs import attaches
from cuda_wheel.runtime.errors import CudaWheelError
from cuda_wheel.runtime.manifest import MANIFEST_SUFFIX, Manifest

__all__ = ["main"]


def main(root: Path, built: Path, init: Path, names: Sequence[str]) -> int:
    """Write the stub, and return the exit status."""
    try:
        source = init.read_text(encoding="utf-8", errors="replace")
        if init.with_suffix(".pyi").exists() or not attaches(source):
            (built / names[0].rpartition(".")[0].replace(".", "/") / "__init__.pyi").unlink(
                missing_ok=True
            )  # an old one
            return 0
        package = Package(source, tuple(sorted(os.listdir(init.parent))))
        paths = [built / (name.replace(".", "/") + MANIFEST_SUFFIX) for name in sorted(set(names))]
        manifests = [Manifest.from_json(path.read_bytes(), str(path)) for path in paths]
        write(dict([stub_file(read_config(root, os.environ), package, manifests)]), built)
    except (CudaWheelError, OSError) as error:
        print(f"cuda-wheel: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3]), sys.argv[4:]))
