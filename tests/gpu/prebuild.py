"""Build the fixtures' wheels for a machine with a GPU that cannot build: `python tests/gpu/prebuild.py FOLDER`.

The script writes FOLDER/<set>/<fixture>/*.whl with the installed toolchain. The sets are <extra> (the fixtures unchanged),
<extra>-jit (only PTX fits current GPUs), <extra>-alone-jit (there is nothing but PTX, for compute_75) and
<extra>-as-compiled (only PTX, with the compiler's own PTX version). The set cu12 also has the examples of the gallery,
`torch_functions`, `triton` and the CUDA half of `cpu_and_gpu`. One of them needs CUTLASS: install nvidia-cutlass first,
or set PYTHONPATH to a folder with it. With numba-cuda, each set <extra> has the kernels of tests/gpu/test_numba.py. With
NVRTC 13.3 or later and tileiras, cu13 has `tile`, and with cuda-tile `cutile`, of tests/support/tile_project.py.
"""

from __future__ import annotations

import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from cuda_wheel.builder.errors import ToolchainError
from cuda_wheel.builder.toolchain.find import find_toolchain
from cuda_wheel.builder.toolchain.tileiras import find_tileiras
from cuda_wheel.runtime.manifest import parse_version
from tests.support.numba_project import write_numba_project
from tests.support.processes import pip_wheel
from tests.support.projects import FLOATING, GALLERY, GOOD, LINKED, ROOT, TORCH_OP, copy_fixture
from tests.support.tile_project import write_cutile_project, write_tile_project
from tests.support.toolchains import installed_extra

JIT = "120-real;80-virtual"

PTX_ALONE = "75-virtual"


def main(folder: Path) -> None:
    extra = installed_extra()
    assert extra is not None
    with tempfile.TemporaryDirectory() as scratch:
        for fixture in [*GOOD, *LINKED, FLOATING, TORCH_OP]:
            project = copy_fixture(fixture, Path(scratch, fixture), extra)
            build(project, folder / extra / fixture)
            build(project, folder / f"{extra}-jit" / fixture, CUDAARCHS=JIT)
            build(project, folder / f"{extra}-alone-jit" / fixture, CUDAARCHS=PTX_ALONE)
        project = copy_fixture("saxpy", Path(scratch, "as-compiled"), extra)
        with (project / "pyproject.toml").open("a") as stream:
            stream.write('\n[tool.cuda-wheel]\nptx-version = "as-compiled"\n')
        build(project, folder / f"{extra}-as-compiled" / "saxpy", CUDAARCHS=JIT)
        has_numba = find_spec("numba_cuda") is not None
        if has_numba:
            build(write_numba_project(Path(scratch, "numba")), folder / extra / "numba-cases")
    others = ("torch_functions", "cpu_and_gpu", "triton", *(["numba"] if has_numba else []))
    for example in (*GALLERY, *others) if extra == "cu12" else ():
        build(ROOT / "examples" / example, folder / extra / example)

    if extra == "cu13":
        try:
            toolchain = find_toolchain(None)
            find_tileiras(toolchain)
        except ToolchainError as error:
            print(f"no wheel with CUDA Tile kernels: {error}")
            return
        if parse_version(toolchain.nvrtc) >= (13, 3):
            with tempfile.TemporaryDirectory() as scratch:
                build(write_tile_project(Path(scratch, "tile")), folder / extra / "tile")
                if find_spec("cuda.tile") is not None:
                    build(write_cutile_project(Path(scratch, "cutile")), folder / extra / "cutile", CUDAARCHS="90-real")


def build(project: Path, output: Path, **environ: str) -> None:
    result = pip_wheel(project, output, **environ)
    if result.returncode:
        sys.exit(result.stdout)
    print(next(output.glob("*.whl")))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
