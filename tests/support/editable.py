"""A source tree with one module, and its editable installs in every mode of the back ends."""

from __future__ import annotations

import sys
import venv
from pathlib import Path

from cuda_wheel.builder.compile_on_load.requests import compile_on_load
from cuda_wheel.builder.manifest_reader import manifest_of
from cuda_wheel.runtime.manifest import Manifest
from tests.support.processes import run
from tests.support.projects import LISTS, pyproject_head

__all__ = [
    "HATCHLING",
    "MODES",
    "SOURCE",
    "TABLE",
    "compiled",
    "install_editable",
    "make_tree",
]


SOURCE = '#include "answer.h"\nextern "C" __global__ void k(int* x) { *x = ANSWER; }\n'


TABLE = '[tool.cuda-wheel]\narchitectures = "all-major"\ninclude-dirs = ["include"]\n'


HATCHLING = (
    pyproject_head("hatchling")
    + """\
[tool.hatch.build.targets.wheel.hooks.cuda]
[tool.hatch.build.targets.wheel]
packages = ["PACKAGE"]
"""
)


SETUPTOOLS = pyproject_head("setuptools")


SCIKIT_BUILD = pyproject_head("scikit-build-core") + "[tool.scikit-build]\nwheel.platlib = false\n"


MODES = {
    "hatchling": ("demo", HATCHLING, ""),
    "hatchling src": ("src/demo", HATCHLING, ""),
    "hatchling dev-mode-dirs": ("lib/demo", HATCHLING + '[tool.hatch.build]\ndev-mode-dirs = ["lib"]\n', ""),
    "hatchling dev-mode-exact": ("src/demo", HATCHLING + "[tool.hatch.build]\ndev-mode-exact = true\n", ""),
    "setuptools flat": ("demo", SETUPTOOLS + '[tool.setuptools]\npackages = ["demo", "demo.kernels"]\n', ""),
    "setuptools src": ("src/demo", SETUPTOOLS, ""),
    "setuptools strict": ("src/demo", SETUPTOOLS, "strict"),
    "setuptools compat": ("src/demo", SETUPTOOLS, "compat"),
}


CALL = "cuda_wheel_add_module(TARGET k SOURCES {}/kernels/k.cu DESTINATION demo/kernels INCLUDE_DIRECTORIES include DEFINES MORE=1)"


MODES |= {
    "scikit-build-core redirect": ("src/demo", SCIKIT_BUILD, ""),
    "scikit-build-core inplace": ("src/demo", SCIKIT_BUILD + 'editable.mode = "inplace"\n', ""),
}
"""For each mode: the package's folder, the beginning of pyproject.toml, and setuptools' `editable_mode`."""


def make_tree(root: Path, pyproject: str, package: str = "demo") -> Path:
    """Create a project whose module `demo.kernels.k` includes `include/answer.h`, and return `root`."""
    files = {
        "pyproject.toml": pyproject.replace("PACKAGE", package),
        f"{package}/__init__.py": "",
        f"{package}/kernels/__init__.py": "",
        f"{package}/kernels/k.cu": SOURCE,
        "include/answer.h": "#define ANSWER 41\n",
        "include/other.h": "// no file includes this\n",
    }
    for name, content in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(content)
    return root


def install_editable(mode: str, folder: Path) -> tuple[Path, Path]:
    """Create a project and install it with pip, in an editable mode, into a new environment that extends this one.

    Return the project's folder of kernels and the environment's interpreter. Both are created in `folder`.
    """
    package, pyproject, setting = MODES[mode]
    project = make_tree(folder / "project", pyproject + TABLE, package)
    if "scikit" in mode:
        (project / "CMakeLists.txt").write_text(LISTS.format(call=CALL.format(package)))
    python = environment_on_top(folder / "environment")
    options = ["--config-settings", f"editable_mode={setting}"] if setting else []
    result = run(
        *(python, "-m", "pip", "install", "--no-build-isolation", "--no-index", "--no-deps", *options, "-e", project)
    )
    assert result.returncode == 0, result.stdout
    return project / package / "kernels", python


def environment_on_top(folder: Path) -> Path:
    """Create an environment that can also import the packages of this one, and return its interpreter."""
    venv.create(folder, symlinks=sys.platform != "win32")
    python = folder / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    parents = [entry for entry in sys.path if entry.endswith(("site-packages", "dist-packages"))]
    (site,) = run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").stdout.splitlines()
    lines = [f"import site; site.addsitedir({entry!r})" for entry in parents]
    # Python reads these files in the order of their names, and those of editable installs need the parents.
    Path(site, "0_parents.pth").write_text("\n".join(lines) + "\n")
    return python


def compiled(
    project: Path, capability: tuple[int, int] | None = (8, 6), name: str = "demo.kernels.k"
) -> tuple[Manifest, bytes]:
    """Compile a module of a tree that `make_tree` wrote for a compute capability; return its manifest and fatbin."""
    found = compile_on_load(name, [str(project / "demo/kernels")], lambda: capability)
    assert found is not None
    manifest, fatbin = found
    return manifest_of(manifest, "x"), fatbin
