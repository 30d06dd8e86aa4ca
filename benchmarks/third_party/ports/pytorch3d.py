"""PyTorch3D (facebookresearch): three host functions, with the package's signatures, and a gradient.

- `knn_points_idx` chooses among 642 instances of four kernels by the element type and the values of D and K.
- `marching_cubes` launches three kernels on accessors passed by value; the first two count what the third writes.
- `ball_query` launches one kernel on accessors passed by value, so that tensors need not be contiguous.
"""

import ctypes
import warnings
from functools import cache

import torch
from torch import Tensor

import cuda_wheel.torch
from cuda_wheel.torch import operator, read_size

knn_kernels = cuda_wheel.torch.kernels("ported_pytorch3d.knn")
cubes_kernels = cuda_wheel.torch.kernels("ported_pytorch3d.marching_cubes")
ball_kernels = cuda_wheel.torch.kernels("ported_pytorch3d.ball_query")


def require(condition: bool, what: str = "Input mismatch") -> None:
    if not condition:  # torch._check takes a microsecond
        raise ValueError(what)


def knn_check_version(version: int, D: int, K: int) -> bool:
    """Return whether the package has a kernel of this version for D and K."""
    return (
        version == 0
        or (version == 1 and 1 <= D <= 32)
        or (version == 2 and 1 <= D <= 8 and 1 <= K <= 32)
        or (version == 3 and 1 <= D <= 8 and 1 <= K <= 4)
    )


@cache
def best_version(D: int, K: int) -> int:
    return next(version for version in (3, 2, 1, 0) if knn_check_version(version, D, K))


def knn_gradient(grad_dists, p1, p2, lengths1, lengths2, norm, idxs):
    return *knn_points_backward(p1, p2, lengths1, lengths2, idxs, norm, grad_dists), None, None


@operator("ported_pytorch3d::knn_points_idx", outputs="idxs, dists", backward=knn_gradient)
def knn_points_idx(
    p1: Tensor, p2: Tensor, lengths1: Tensor, lengths2: Tensor, norm: int, K: int, version: int = -1
) -> tuple[Tensor, Tensor]:
    require(norm in (1, 2), "Norm must be 1 or 2.")
    (N, P1, D), (_, P2, D2) = p1.shape, p2.shape
    require(D == D2, "Point sets must have the same last dimension")
    require(p1.dtype == p2.dtype)
    idxs = lengths1.new_zeros((N, P1, K), dtype=torch.long)
    dists = p1.new_zeros((N, P1, K))
    if idxs.numel() == 0:
        return idxs, dists
    if version < 0:
        version = best_version(int(D), int(K))
    elif not knn_check_version(version, D, K):
        chosen = best_version(int(D), int(K))
        warnings.warn(f"KNN version {version} does not suit {D=}, {K=}: using {chosen}", stacklevel=2)
        version = chosen
    instance = ((), (D,), (D, K), (D, K))[version]
    rest = ((D, K, norm), (K, norm), (norm,), (norm,))[version]
    kernel = knn_kernels[(f"KNearestNeighborKernelV{version}", p1.dtype, *instance)]
    kernel.launch(256, 256, p1, p2, lengths1, lengths2, dists, idxs, N, P1, P2, *rest)
    return idxs, dists


@operator("ported_pytorch3d::knn_points_backward", outputs="grad_p1, grad_p2")
def knn_points_backward(
    p1: Tensor, p2: Tensor, lengths1: Tensor, lengths2: Tensor, idxs: Tensor, norm: int, grad_dists: Tensor
) -> tuple[Tensor, Tensor]:
    (N, P1, D), P2, K = p1.shape, p2.size(1), idxs.size(2)
    require(p2.size(2) == D, "Point sets must have the same last dimension")
    require(idxs.shape == (N, P1, K) and grad_dists.shape == (N, P1, K))
    grad_p1, grad_p2 = torch.zeros_like(p1), torch.zeros_like(p2)
    if grad_p1.numel() and grad_p2.numel():
        knn_kernels["KNearestNeighborBackwardKernel"].launch(
            64, 512, p1, p2, lengths1, lengths2, idxs, grad_dists, grad_p1, grad_p2, N, P1, P2, K, D, norm
        )
    return grad_p1, grad_p2


face_table = torch.zeros(256, 16, dtype=torch.int32)
"""The edges of each cube's triangles. The package has them in a header; the benchmark reads them from there."""


def marching_cubes(vol: Tensor, isolevel: float) -> tuple[Tensor, Tensor, Tensor]:
    return cubes(vol, face_table.to(vol.device), isolevel)


@operator(
    "ported_pytorch3d::marching_cubes",
    read_only=("vol", "faces_of_cubes"),
    non_contiguous="pass",
    outputs="verts, faces, ids",
)
def cubes(vol: Tensor, faces_of_cubes: Tensor, isolevel: float) -> tuple[Tensor, Tensor, Tensor]:
    depth, height, width = vol.shape
    voxels = (depth - 1) * (height - 1) * (width - 1)
    grid = blocks(voxels)
    vertices = vol.new_zeros(voxels, dtype=torch.int32)
    occupied = vol.new_zeros(voxels, dtype=torch.int32)
    cubes_kernels["ClassifyVoxelKernel"].launch(grid, 128, vertices, occupied, vol, isolevel)
    occupied_scan = exclusive_scan(occupied)
    active = read_size(occupied_scan[-1])
    compacted = vol.new_zeros(active, dtype=torch.int32)
    cubes_kernels["CompactVoxelsKernel"].launch(grid, 128, compacted, occupied, occupied_scan, voxels)
    vertices_scan = exclusive_scan(vertices)
    total = read_size(vertices_scan[-1])
    verts = vol.new_zeros(total, 3)
    faces = vol.new_zeros(total // 3, 3, dtype=torch.long)
    ids = vol.new_zeros(total, dtype=torch.long)
    cubes_kernels["GenerateFacesKernel"].launch(
        blocks(active), 128, verts, faces, ids, compacted, vertices_scan, active, vol, faces_of_cubes, isolevel
    )
    return verts, faces, ids


def blocks(items: int) -> int:
    blocks = -(-items // 128)
    # torch.sym_min, which takes sizes that are not known too, takes two microseconds.
    return min(blocks, 65535) if type(blocks) is int else torch.sym_min(blocks, 65535)


def exclusive_scan(values: Tensor) -> Tensor:
    """Return the sums of the values before each value, and of all."""
    return torch.cat((values.new_zeros(1, dtype=torch.long), values.cumsum(0)))


@operator(
    "ported_pytorch3d::ball_query",
    read_only=("p1", "p2", "lengths1", "lengths2"),
    non_contiguous="pass",
    outputs="idxs, dists",
)
def ball_query(
    p1: Tensor,
    p2: Tensor,
    lengths1: Tensor,
    lengths2: Tensor,
    K: int,
    radius: float,
    skip_points_outside_cube: bool = False,
) -> tuple[Tensor, Tensor]:
    N, P1, D = p1.shape
    require(p2.shape[2] == D, "Point sets must have the same last dimension")
    radius = ctypes.c_float(radius).value  # the host function squares a float
    idxs = lengths1.new_full((N, P1, K), -1)
    dists = p1.new_zeros(N, P1, K)
    if idxs.numel():
        ball_kernels["BallQueryKernel<float>"].launch(
            256, 256, p1, p2, lengths1, lengths2, idxs, dists, K, radius, radius * radius, skip_points_outside_cube
        )
    return idxs, dists
