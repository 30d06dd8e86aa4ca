"""Run the packages' own tests on a GPU, with the ports in place of their extension modules.

`python benchmarks/third_party/ports/own_tests.py FOLDER [--json FILE] [--only NAME ...]`

FOLDER has the sources and the wheels (see `build.py`). The packages' Python files and tests are unedited: they import
a module, or call an operator, of the name that their C++ has, and get the port. It needs PyTorch for CUDA, NumPy and
pytest. What tests use beyond that has a stand-in here if it is not installed: k-d trees of scikit-learn and SciPy
(distances to all points, by PyTorch), pytest-benchmark's fixture (one call).

Tests of C++ for the CPU, which has no port, are deselected:

- torch_cluster: by the parameter `device`. `test_sampler.py` is left out, which has no other tests.
- pytorch3d: by the name, `*_cpu`. Of `test_marching_cubes.py`, only one test has a call for the GPU; its call for the
  CPU gets the package's own function in Python.

apex_transducer's tests with dropout are marked as expected failures, because their reference cannot be differentiated:
they count as such whatever the port does.

Each package runs in a process of its own, all at the same time.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from importlib import util
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[2]))
sys.path.insert(0, str(Path(__file__).parents[3]))  # run from a checkout, without installing it

from compare import extract
from corpus import Package, packages
from results import OUTCOMES
from results import tests as outcomes

__all__ = ["TESTS"]

HERE = Path(__file__).parent

LIMIT = 400
"""In seconds, for the tests of one package."""


class Tests(NamedTuple):
    """The tests of a package, and what they need."""

    paths: tuple[str, ...]
    """Relative to the repository."""
    replace: Callable[[ModuleType, Path, Path], Any]
    """Puts the port in place of the extension, given the port, the sources, and the folder of the Python files. Returns
    what must not be freed."""
    is_left_out: Callable[[Any], bool] = lambda item: False
    """Whether a test, an item of pytest, needs the package's C++ for the CPU."""


def module(name: str, **members: Any) -> ModuleType:
    """Make a module that can be imported."""
    made = sys.modules[name] = ModuleType(name)
    vars(made).update(members)
    return made


def call(function: Callable[..., Any], *arguments: Any) -> Any:
    return function(*arguments)


class KDTree:
    """The k-d tree of scikit-learn and SciPy, as the tests use it."""

    def __init__(self, points: Any, leaf_size: int = 0) -> None:
        self.points = points

    def distances(self, points: Any) -> Any:
        import torch

        pair = [torch.as_tensor(each, dtype=torch.double, device="cuda") for each in (points, self.points)]
        return torch.cdist(*pair, compute_mode="donot_use_mm_for_euclid_dist")

    def query(self, points: Any, k: int) -> tuple[Any, Any]:
        near = self.distances(points).topk(k, largest=False)
        return near.values.cpu().numpy(), near.indices.cpu().numpy()

    def query_ball_point(self, points: Any, r: float) -> list[list[int]]:
        return [row.nonzero().flatten().tolist() for row in (self.distances(points) <= r).cpu()]


def knn_cuda(port: ModuleType, home: Path, work: Path) -> None:
    from torch.utils import cpp_extension

    cpp_extension.load = lambda name, **options: SimpleNamespace(knn=port.knn)
    if not util.find_spec("sklearn"):
        module("sklearn", neighbors=module("sklearn.neighbors", KDTree=KDTree))


def torch_cluster(port: ModuleType, home: Path, work: Path) -> Any:
    import torch

    library = torch.library.Library("torch_cluster", "DEF")
    for name in ("fps", "graclus", "grid", "knn", "nearest", "radius", "random_walk"):
        schema = getattr(torch.ops.ported_torch_cluster, name).default._schema
        library.define(str(schema).partition("::")[2])
        library.impl(name, getattr(port, name), "CompositeImplicitAutograd")
    library.define("cuda_version() -> int")
    library.impl("cuda_version", lambda: -1, "CompositeImplicitAutograd")  # which the package does not check
    # The package loads a library for each operator: one that PyTorch has loaded already.
    loaded = Path(torch.__file__).parent / "lib" / "libc10.so"
    for name in ("version", "grid", "graclus", "fps", "rw", "sampler", "nearest", "knn", "radius"):
        (work / "torch_cluster" / f"_{name}_cuda.so").symlink_to(loaded)
    if not util.find_spec("scipy"):
        module("scipy", cluster=module("scipy.cluster"), spatial=module("scipy.spatial", cKDTree=KDTree))
    return library


def pytorch3d(port: ModuleType, home: Path, work: Path) -> None:
    from cases import face_table

    def marching_cubes(vol: Any, isolevel: float) -> Any:
        if vol.is_cuda:
            return port.marching_cubes(vol, isolevel)
        from pytorch3d.ops.marching_cubes import marching_cubes_naive

        (verts,), (faces,) = marching_cubes_naive(vol[None], isolevel, return_local_coords=False)
        return verts, faces, None

    port.face_table = face_table(home / "pytorch3d/csrc/marching_cubes/tables.h")
    ported = ("knn_points_idx", "knn_points_backward", "knn_check_version", "ball_query")
    made = module("pytorch3d._C", marching_cubes=marching_cubes, **{name: getattr(port, name) for name in ported})
    # Other modules of the package read constants when they are imported.
    made.MAX_UINT = made.EPS = None
    if not util.find_spec("PIL"):
        module("PIL", Image=module("PIL.Image"))


def apex_amp(port: ModuleType, home: Path, work: Path) -> None:
    module("amp_C", multi_tensor_scale=port.multi_tensor_scale, multi_tensor_l2norm=port.multi_tensor_l2norm)


def apex_transducer(port: ModuleType, home: Path, work: Path) -> None:
    module("transducer_joint_cuda", forward=port.forward, backward=port.backward)
    module("transducer_loss_cuda")  # imported beside it


def is_parametrized_for_cpu(item: Any) -> bool:
    return str(item.callspec.params["device"]) == "cpu"


def is_of_other_functions(item: Any) -> bool:
    """Return whether a test of PyTorch3D is for the CPU, or of functions that were not ported: those of meshes."""
    is_of_cubes = "marching_cubes" in item.path.name and item.name != "test_ball_example"
    return item.name.endswith("_cpu") or is_of_cubes or item.name == "test_ball_query_output_simple"


TESTS = {
    "knn_cuda": Tests(("tests/test_knn_cuda.py",), knn_cuda),
    "torch_cluster": Tests(
        tuple(f"test/test_{name}.py" for name in ("fps", "graclus", "grid", "knn", "nearest", "radius", "rw")),
        torch_cluster,
        is_parametrized_for_cpu,
    ),
    "pytorch3d": Tests(
        ("tests/test_knn.py", "tests/test_ball_query.py", "tests/test_marching_cubes.py"),
        pytorch3d,
        is_of_other_functions,
    ),
    "apex_amp": Tests(("apex/contrib/test/clip_grad",), apex_amp),
    "apex_transducer": Tests(("apex/contrib/test/transducer/test_transducer_joint.py",), apex_transducer),
}


class Plugin:
    """Deselects tests of what was not ported, and counts outcomes."""

    def __init__(self, is_left_out: Callable[[Any], bool]) -> None:
        self.is_left_out = is_left_out
        self.counts: dict[str, int] = {}

    def pytest_collection_modifyitems(self, config: Any, items: list[Any]) -> None:
        left_out = [item for item in items if self.is_left_out(item)]
        items[:] = [item for item in items if item not in left_out]
        config.hook.pytest_deselected(items=left_out)

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        self.counts = {outcome: len(terminalreporter.stats.get(outcome, ())) for outcome in OUTCOMES}


def run_package(package: Package, folder: Path) -> dict[str, int]:
    """Run the tests of a package in this process; return how many had which outcome."""
    import pytest

    sys.path.insert(0, str(folder / "site"))
    tests, home = TESTS[package.name], package.home(folder / "corpus")
    spec = util.spec_from_file_location(f"port_of_{package.name}", HERE / f"{package.name}.py")
    assert spec is not None and spec.loader is not None
    port = sys.modules[spec.name] = util.module_from_spec(spec)
    spec.loader.exec_module(port)
    with tempfile.TemporaryDirectory() as scratch:
        work = Path(scratch).resolve()
        shutil.copytree(home, work, ignore=shutil.ignore_patterns("csrc"), dirs_exist_ok=True)
        kept = tests.replace(port, home, work)
        sys.path[:] = [str(work), *(each for each in sys.path if each != str(HERE))]  # ports have the packages' names
        plugins: list[Any] = [Plugin(tests.is_left_out)]
        if not util.find_spec("pytest_benchmark"):
            plugins.append(module("one_call", benchmark=pytest.fixture(lambda: call, name="benchmark")))
        paths = [str(work / path) for path in tests.paths]
        options = [
            "-q",
            "-rfEsxX",
            "--tb=short",
            "--disable-warnings",
            f"--rootdir={work}",
            f"--confcutdir={work}",
            "-c",
            os.devnull,
        ]
        pytest.main([*options, "-p", "no:cacheprovider", *paths], plugins=plugins)
        del kept
    return plugins[0].counts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--only", nargs="+", metavar="NAME")
    parser.add_argument("--here", action="store_true", help="run one package in this process")
    options = parser.parse_args()
    folder = options.folder.resolve()
    listed = [each for each in packages(HERE / "packages.toml") if not options.only or each.name in options.only]
    if options.here:
        (package,) = listed
        options.json.write_text(json.dumps(run_package(package, folder)), encoding="utf-8")
        return
    extract(folder / "wheels", folder / "site")
    started = {}
    for package in listed:
        found, log = folder / f"{package.name}.tests.json", (folder / f"{package.name}.tests.txt").open("w+")
        found.unlink(missing_ok=True)
        command = [sys.executable, __file__, str(folder), "--here", "--only", package.name, "--json", str(found)]
        started[package.name] = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT), log, found
    results: dict[str, dict[str, Any]] = {}
    for name, (process, log, found) in started.items():
        try:
            code = f"exit code {process.wait(LIMIT)}"
        except subprocess.TimeoutExpired:
            process.kill()
            code = f"stopped after {LIMIT} s"
        log.seek(0)
        print(f"{name}: {code}\n{log.read()[-6000:]}", flush=True)
        results[name] = json.loads(found.read_text()) if found.exists() else {"stopped": code}
    print(f"\n{outcomes(results)}", flush=True)
    if options.json:
        options.json.write_text(json.dumps(results, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
