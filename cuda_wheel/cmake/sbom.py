"""Write the SBOM of a project's modules: `python -m cuda_wheel.cmake.sbom ROOT PARTS FOLDER`.

ROOT is the project's folder, PARTS a file that lists the part of each module, and FOLDER where the SBOM goes. There is
none where the project's settings say so. Modules that were not built are in none.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from cuda_wheel.builder.config.pyproject import read_config
from cuda_wheel.builder.config.settings import Config
from cuda_wheel.builder.wheel.outputs import write
from cuda_wheel.builder.wheel.sbom import SBOM, merged
from cuda_wheel.runtime.errors import CudaWheelError

__all__ = ["main"]


def main(root: Path, parts: Path, folder: Path) -> int:
    """Write the SBOM, and return the exit status."""
    try:
        config = read_config(root, os.environ) if (root / "pyproject.toml").is_file() else Config()
        if config.sbom:
            paths = map(Path, parts.read_text(encoding="utf-8", errors="surrogateescape").split("\n"))
            write({SBOM: merged([json.loads(path.read_bytes()) for path in paths if path.is_file()])}, folder)
    except (CudaWheelError, OSError) as error:
        print(f"cuda-wheel: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3])))
