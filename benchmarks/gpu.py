"""Run every benchmark that needs a GPU. The machine with the GPU need not be able to build. On a machine with a
toolchain,

    python benchmarks/gpu.py build FOLDER

builds the wheels. Copy FOLDER and this source tree to the machine with the GPU, set `PYTHONPATH` to the tree's root,
and run

    python benchmarks/gpu.py measure FOLDER --output FILE.json

It needs cuda-bindings. Libraries to compare with that are not installed are omitted. `report.py` formats FILE.json.
"""

from __future__ import annotations

import argparse
import importlib
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from _kernels import FIXTURES
from _process import build_wheel
from _results import Report, Result, collect, machine, versions

COMPRESSED = {"matmul": "matmul_demo.kernels.matmul", "reduce": "reduce_demo.kernels.reduce"}
"""Modules whose loading is measured with both compression settings, by the names of their wheels."""
WHEELS = {
    "saxpy": ("saxpy", "none"),
    "plugin": ("plugin", "none"),
    "matmul": ("matmul_templates", "none"),
    "matmul-size": ("matmul_templates", "size"),
    "matmul-jit": ("matmul_templates", "none"),
    "reduce": ("reduce_cub", "none"),
    "reduce-size": ("reduce_cub", "size"),
    "torch-op": ("torch_op", "none"),
    "torch-functions": ("../examples/torch_functions", "none"),
    "triton": ("../examples/triton", "none"),
    "numba": ("../examples/numba", "none"),
}
"""The fixture, or another folder beside the fixtures, and the compression of each wheel."""
JIT = "120-real;80-virtual"
"""Targets of which only the PTX fits current GPUs."""
PEERS = (
    "cuda-bindings",
    "cuda-core",
    "cupy",
    "cupy-cuda12x",
    "cupy-cuda13x",
    "torch",
    "apache-tvm-ffi",
    "pybind11",
    "triton",
    "numba-cuda",
    "jax",
    "numpy",
)


def build(folder: Path) -> None:
    """Build each wheel into a sub-folder of `folder` with its name, with the installed toolchain."""
    with tempfile.TemporaryDirectory() as scratch:
        for name, (fixture, compress) in WHEELS.items():
            project, output = Path(scratch, name), folder.resolve() / name
            shutil.copytree(FIXTURES / fixture, project)
            if compress != "none":
                _set_compress(project / "pyproject.toml", compress)
            shutil.rmtree(output, ignore_errors=True)
            build_wheel(project, output, **({"CUDAARCHS": JIT} if name.endswith("-jit") else {}))
            print(next(output.glob("*.whl")))


def _set_compress(pyproject: Path, compress: str) -> None:
    text, table = pyproject.read_text(), "[tool.cuda-wheel]\n"
    if table not in text:
        text += f"\n{table}"
    pyproject.write_text(text.replace(table, f'{table}compress = "{compress}"\n'))


def measure(folder: Path, output: Path, rounds: int | None, only: Sequence[str]) -> None:
    """Measure every section, or those in `only`, and write `output` after each."""
    wheels = {name: next((folder / name).glob("*.whl")) for name in WHEELS}

    def section(module: str, function: str, *arguments: object) -> Callable[[], Iterable[Result]]:
        # Import at the call: if a library is missing, the other sections still run.
        return lambda: getattr(importlib.import_module(module), function)(*arguments, rounds)

    saxpy = wheels["saxpy"]
    sections = {
        "start": section("startup", "measure", saxpy),
        "edit": section("edit_run", "measure", saxpy),
        "run-time": section("run_time", "measure", saxpy),
        "loading": section("loading", "measure", wheels["matmul"], wheels["matmul-jit"]),
        **{
            f"compressed-{name}": section("loading", "measure_compressed", module, wheels[name], wheels[f"{name}-size"])
            for name, module in COMPRESSED.items()
        },
        "linking": section("linking", "measure", wheels["plugin"]),
        "linked-kernel": section("linking", "measure_kernel", wheels["plugin"]),
        "launch-cupy": section("launch", "measure", saxpy, "CuPy's arrays and Python's numbers"),
        "launch-pytorch": section("launch", "measure", saxpy, "PyTorch's tensors and Python's numbers"),
        "launch-addresses": section("launch", "measure", saxpy, "addresses and NumPy's numbers"),
        "launch-stream": section("launch", "measure_stream", saxpy),
        "launch-lines": section("launch_lines", "measure", saxpy),
        "arguments": section("arguments", "measure"),
        "throughput": section("throughput", "measure", saxpy),
        "torch-operators": section("torch_operators", "measure", wheels["torch-op"]),
        "torch-functions": section("torch_functions", "measure", wheels["torch-functions"]),
        "triton": section("triton_launch", "measure", wheels["triton"]),
        "numba": section("numba_launch", "measure", wheels["numba"]),
        "jax": section("jax_operators", "measure", saxpy),
        "load-inline": section("edit_run", "measure_load_inline", saxpy),
        "cores": section("cores", "measure"),
        "dask": section("cores", "measure_dask"),
    }
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # as in an installation; the first round writes the bytecode
    collect(_report(), sections, only, output)


def _report() -> Report:
    import cuda_wheel

    own = {"cuda-wheel": cuda_wheel.__version__}
    try:
        gpu, libraries = _gpu()
    except Exception as error:
        gpu, libraries = {"GPU": f"unavailable: {error}"}, {}
    return Report(
        "Benchmarks with a GPU",
        "benchmarks/gpu.py",
        machine() | gpu,
        own | versions(*PEERS) | libraries,
    )


def _gpu() -> tuple[dict[str, str], dict[str, str]]:
    """Return facts about the GPU and its driver, and about libraries that are not distributions."""
    from cuda.bindings import driver, nvrtc

    (error,) = driver.cuInit(0)
    if error:
        raise RuntimeError(str(error))
    name = driver.cuDeviceGetName(256, driver.cuDeviceGet(0)[1])[1].decode().strip("\0 ")
    number = driver.cuDriverGetVersion()[1]
    release = Path("/proc/driver/nvidia/version")
    found = re.search(r"\d+\.\d+(\.\d+)+", release.read_text()) if release.exists() else None
    text = f"{found[0] if found else ''} (CUDA {number // 1000}.{number % 1000 // 10})".strip()
    _, major, minor = nvrtc.nvrtcVersion()
    return {"GPU": name, "driver": text}, {"NVRTC": f"{major}.{minor}"}


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Run every benchmark that needs a GPU.")
    commands = parser.add_subparsers(dest="command", required=True)
    wheels = commands.add_parser("build", help="build the wheels to measure")
    measuring = commands.add_parser("measure", help="run the benchmarks")
    for each in (wheels, measuring):
        each.add_argument("folder", type=Path, help="the folder of the wheels")
    measuring.add_argument("--rounds", type=int, help="rounds of each comparison (default: set by each benchmark)")
    measuring.add_argument("--output", type=Path, required=True, help="the JSON file to write")
    measuring.add_argument(
        "--only", nargs="+", default=[], metavar="SECTION", help="the sections to run (default: all)"
    )
    options = parser.parse_args(argv)
    if options.command == "build":
        build(options.folder)
    else:
        measure(options.folder, options.output, options.rounds, options.only)


if __name__ == "__main__":
    main()
