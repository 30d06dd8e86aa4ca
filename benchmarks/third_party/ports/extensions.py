"""Build the original of each ported package with nvcc and PyTorch's headers, as an extension module.

`python benchmarks/third_party/ports/extensions.py FOLDER NAME` builds the extension of one package below
FOLDER/extensions, from FOLDER/corpus. It needs PyTorch for CUDA, nvcc, Ninja and a host compiler.

The .cu files are unedited, host functions included. KNN_CUDA and the transducer joint have bindings of their own; the
others' bindings name every function of packages of which only a part is ported, so that these are written here, in the
package's way: pybind11, or torch::RegisterOperators where the package registers operators.
"""

from __future__ import annotations

import os
import shutil
import sys
from glob import glob
from importlib import util
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[2]))
sys.path.insert(0, str(Path(__file__).parents[3]))  # run from a checkout, without installing it

from corpus import Package, packages

__all__ = ["find_toolkit", "load", "toolkit"]

HERE = Path(__file__).parent

OWN_BINDINGS = {
    "knn_cuda": "knn_cuda/csrc/cuda/knn.cpp",
    "apex_transducer": "apex/contrib/csrc/transducer/transducer_joint.cpp",
}
MORE_OPTIONS = {"pytorch3d": ["-split-compile=0"]}
"""Hundreds of kernels in a file are optimised on all cores."""
BINDINGS = {
    "torch_cluster": """
#include <torch/script.h>
#include "cuda/fps_cuda.h"
#include "cuda/graclus_cuda.h"
#include "cuda/grid_cuda.h"
#include "cuda/knn_cuda.h"
#include "cuda/nearest_cuda.h"
#include "cuda/radius_cuda.h"
#include "cuda/rw_cuda.h"

using torch::Tensor;
using Maybe = std::optional<Tensor>;

static Tensor knn(Tensor x, Tensor y, Maybe ptr_x, Maybe ptr_y, int64_t k, bool cosine, int64_t)
{
    return knn_cuda(x, y, ptr_x, ptr_y, k, cosine);
}

static Tensor radius(Tensor x, Tensor y, Maybe ptr_x, Maybe ptr_y, double r, int64_t most, int64_t, bool ignore)
{
    return radius_cuda(x, y, ptr_x, ptr_y, r, most, ignore);
}

static auto registry = torch::RegisterOperators()
                           .op("torch_cluster::fps", &fps_cuda)
                           .op("torch_cluster::graclus", &graclus_cuda)
                           .op("torch_cluster::grid", &grid_cuda)
                           .op("torch_cluster::knn", &knn)
                           .op("torch_cluster::nearest", &nearest_cuda)
                           .op("torch_cluster::radius", &radius)
                           .op("torch_cluster::random_walk", &random_walk_cuda);
""",
    "pytorch3d": """
#include <torch/extension.h>

using at::Tensor;
using Pair = std::tuple<Tensor, Tensor>;

Pair KNearestNeighborIdxCuda(
    const Tensor&, const Tensor&, const Tensor&, const Tensor&, const int norm, const int K, int version);
Pair KNearestNeighborBackwardCuda(
    const Tensor&, const Tensor&, const Tensor&, const Tensor&, const Tensor&, int norm, const Tensor&);
std::tuple<Tensor, Tensor, Tensor> MarchingCubesCuda(const Tensor&, const float isolevel);
Pair BallQueryCuda(const Tensor&, const Tensor&, const Tensor&, const Tensor&, int K, float radius, bool skip);

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m)
{
    m.def("knn_points_idx", &KNearestNeighborIdxCuda);
    m.def("knn_points_backward", &KNearestNeighborBackwardCuda);
    m.def("marching_cubes", &MarchingCubesCuda);
    m.def("ball_query", &BallQueryCuda);
}
""",
    "apex_amp": """
#include <torch/extension.h>

using Lists = std::vector<std::vector<at::Tensor>>;

void multi_tensor_scale_cuda(int chunk_size, at::Tensor noop_flag, Lists tensor_lists, float scale);
std::tuple<at::Tensor, at::Tensor> multi_tensor_l2norm_cuda(
    int chunk_size, at::Tensor noop_flag, Lists tensor_lists, at::optional<bool> per_tensor);

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m)
{
    m.def("multi_tensor_scale", &multi_tensor_scale_cuda, py::call_guard<py::gil_scoped_release>());
    m.def("multi_tensor_l2norm", &multi_tensor_l2norm_cuda, py::call_guard<py::gil_scoped_release>());
}
""",
}


def load(package: Package, folder: Path) -> Any:
    """Return the extension module, or the namespace of its operators; the first call builds it."""
    find_toolkit()
    import torch
    from torch.utils import cpp_extension  # looks for the toolkit when it is imported

    build = folder / "extensions" / package.name
    build.mkdir(parents=True, exist_ok=True)
    home = package.home(folder / "corpus")
    if package.name in OWN_BINDINGS:
        binding = home / OWN_BINDINGS[package.name]
    else:
        binding = build / "binding.cpp"
        if not binding.exists():  # Ninja compiles what has a newer time
            binding.write_text(BINDINGS[package.name], encoding="utf-8")
    is_operators = package.name == "torch_cluster"
    module = cpp_extension.load(
        f"original_{package.name}",
        [str(binding), *(str(home / path) for path in package.files)],
        extra_include_paths=[str(home / include) for include in package.include],
        extra_cflags=["-O3", "-DNDEBUG"],
        extra_cuda_cflags=[*package.options, "-O3", "-DNDEBUG", *MORE_OPTIONS.get(package.name, ())],
        build_directory=str(build),
        is_python_module=not is_operators,
    )
    return torch.ops.torch_cluster if is_operators else module


def toolkit() -> Path:
    """Return the folder of a CUDA toolkit with headers; raises FileNotFoundError if there is none."""
    nvcc = shutil.which("nvcc")
    folders = [os.environ.get("CUDA_HOME"), nvcc and Path(nvcc).resolve().parents[1], *glob("/usr/local/cuda*")]
    homes = [Path(folder) for folder in folders if folder and Path(folder, "include", "cuda_runtime.h").exists()]
    if not homes:
        raise FileNotFoundError(f"no CUDA toolkit with headers in {', '.join(map(str, filter(None, folders)))}")
    return homes[0]


def find_toolkit() -> None:
    """Set the environment variables by which PyTorch finds the toolkit, and nvcc the headers of CUDA's libraries: those
    that were installed with PyTorch where the toolkit has none."""
    os.environ.setdefault("TORCH_CUDA_ARCH_LIST", "9.0")
    home = toolkit()
    os.environ["CUDA_HOME"] = str(home)
    if not all(Path(home, "include", header).exists() for header in ("cusparse.h", "curand.h", "cusolverDn.h")):
        found = util.find_spec("nvidia")
        more = [
            path for each in (found and found.submodule_search_locations) or () for path in glob(f"{each}/*/include")
        ]
        os.environ["CPATH"] = os.pathsep.join([*filter(None, [os.environ.get("CPATH")]), *more])


if __name__ == "__main__":
    (named,) = [package for package in packages(HERE / "packages.toml") if package.name == sys.argv[2]]
    load(named, Path(sys.argv[1]).resolve())
