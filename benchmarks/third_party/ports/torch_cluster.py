"""torch-cluster (rusty1s): the seven host functions of its seven CUDA files, with the package's signatures.

`graclus` reads a variable in device memory to know how often it launches, so that its shape has a function of its own.
"""

import time

import torch
from torch import Tensor

import cuda_wheel.torch
from cuda_wheel.torch import operator, read_size

fps_kernels = cuda_wheel.torch.kernels("ported_torch_cluster.fps_cuda")
graclus_kernels = cuda_wheel.torch.kernels("ported_torch_cluster.graclus_cuda")
grid_kernels = cuda_wheel.torch.kernels("ported_torch_cluster.grid_cuda")
knn_kernels = cuda_wheel.torch.kernels("ported_torch_cluster.knn_cuda")
nearest_kernels = cuda_wheel.torch.kernels("ported_torch_cluster.nearest_cuda")
radius_kernels = cuda_wheel.torch.kernels("ported_torch_cluster.radius_cuda")
walk_kernels = cuda_wheel.torch.kernels("ported_torch_cluster.rw_cuda")


def require(condition: bool, what: str = "Input mismatch") -> None:
    if not condition:  # torch._check takes a microsecond
        raise ValueError(what)


def rows(x: Tensor) -> Tensor:
    """Return x with all dimensions but the first as one."""
    return x if x.dim() == 2 else x.view(x.size(0), -1)


@operator("ported_torch_cluster::fps", random=True)
def fps(src: Tensor, ptr: Tensor, ratio: Tensor, random_start: bool) -> Tensor:
    require(ptr.dim() == 1)
    src = rows(src)
    batches = ptr.numel() - 1
    degree = (ptr[1:] - ptr[:-1]).to(ratio.dtype)
    ends = (degree * ratio).ceil().long().cumsum(0)
    out_ptr = torch.cat((ptr.new_zeros(1), ends))
    if random_start:
        start = (torch.rand(batches, dtype=src.dtype, device=src.device) * degree).long()
    else:
        start = ptr.new_zeros(batches)
    dist = src.new_full((src.size(0),), 5e4)
    out = out_ptr.new_empty(read_size(out_ptr[-1]))
    fps_kernels["fps_kernel", src.dtype].launch(batches, 256, src, ptr, out_ptr, start, dist, out, src.size(1))
    return out


def clusters(rowptr: Tensor, col: Tensor, weight: Tensor | None) -> Tensor:
    return rowptr.new_empty(rowptr.numel() - 1)


@operator("ported_torch_cluster::graclus", random=True, fake=clusters)
def graclus(rowptr: Tensor, col: Tensor, weight: Tensor | None = None) -> Tensor:
    require(rowptr.dim() == 1 and col.dim() == 1)
    if weight is not None:
        require(weight.dim() == 1 and weight.numel() == col.numel())
    nodes = rowptr.numel() - 1
    out, proposal = rowptr.new_full((nodes,), -1), rowptr.new_full((nodes,), -1)
    launch = -(-nodes // 1024), 1024
    done = torch.as_tensor(graclus_kernels.globals["done_d"], device=out.device)  # its byte, as a tensor
    if weight is None:
        propose, respond = graclus_kernels["propose_kernel"], graclus_kernels["respond_kernel"]
        graph = rowptr, col
    else:
        propose = graclus_kernels["weighted_propose_kernel", weight.dtype]
        respond = graclus_kernels["weighted_respond_kernel", weight.dtype]
        graph = rowptr, col, weight
    while True:
        graclus_kernels["init_done_kernel"].launch(1, 1)
        bernoulli = torch.full_like(out, 0.53406, dtype=torch.float).bernoulli()
        graclus_kernels["colorize_kernel"].launch(*launch, out, bernoulli, nodes)
        if done.item():
            return out
        propose.launch(*launch, out, proposal, *graph, nodes)
        respond.launch(*launch, out, proposal, *graph, nodes)


@operator("ported_torch_cluster::grid")
def grid(pos: Tensor, size: Tensor, start: Tensor | None = None, end: Tensor | None = None) -> Tensor:
    pos = rows(pos)
    points, dimensions = pos.shape
    require(size.numel() == dimensions)
    start = pos.min(0).values if start is None else start
    end = pos.max(0).values if end is None else end
    require(start.numel() == dimensions)
    out = pos.new_empty(points, dtype=torch.long)
    kernel = grid_kernels["grid_kernel", pos.dtype]
    kernel.launch(-(-points // 1024), 1024, pos, size, start, end, out, dimensions, points)
    return out


@operator("ported_torch_cluster::knn", non_contiguous="refuse")
def knn(
    x: Tensor, y: Tensor, ptr_x: Tensor | None, ptr_y: Tensor | None, k: int, cosine: bool, num_workers: int
) -> Tensor:
    require(k <= 100, "`k` needs to smaller than or equal to 100")
    ptr_x, ptr_y = pointers(x, y, ptr_x, ptr_y)
    n, m = x.size(0), y.size(0)
    row, col = ptr_y.new_empty(m * k), ptr_y.new_full((m * k,), -1)
    kernel = knn_kernels["knn_kernel", x.dtype]
    kernel.launch(-(-m // 256), 256, x, y, ptr_x, ptr_y, row, col, k, n, m, x.size(1), ptr_x.numel() - 1, cosine)
    return torch.stack((row, col))[:, col != -1]


@operator("ported_torch_cluster::nearest")
def nearest(x: Tensor, y: Tensor, ptr_x: Tensor, ptr_y: Tensor) -> Tensor:
    x, y = rows(x), rows(y)
    points, dimensions = x.shape
    out = ptr_x.new_empty(points)
    kernel = nearest_kernels["nearest_kernel", x.dtype]
    kernel.launch(points, 1024, x, y, ptr_x, ptr_y, out, ptr_x.numel() - 1, dimensions)
    return out


@operator("ported_torch_cluster::radius", non_contiguous="refuse")
def radius(
    x: Tensor,
    y: Tensor,
    ptr_x: Tensor | None,
    ptr_y: Tensor | None,
    r: float,
    max_num_neighbors: int,
    num_workers: int,
    ignore_same_index: bool,
) -> Tensor:
    ptr_x, ptr_y = pointers(x, y, ptr_x, ptr_y)
    n, m, most = x.size(0), y.size(0), max_num_neighbors
    row, col = ptr_y.new_full((m * most,), -1), ptr_y.new_full((m * most,), -1)
    sizes = n, m, x.size(1), ptr_x.numel() - 1, most
    kernel = radius_kernels["radius_kernel", x.dtype]
    kernel.launch(-(-m // 256), 256, x, y, ptr_x, ptr_y, row, col, r * r, *sizes, ignore_same_index)
    return torch.stack((row, col))[:, row != -1]


def pointers(x: Tensor, y: Tensor, ptr_x: Tensor | None, ptr_y: Tensor | None) -> tuple[Tensor, Tensor]:
    """Return where each example begins in x and y, and where the last one ends; without it, there is one example."""
    require(x.dim() == 2 and y.dim() == 2 and x.size(1) == y.size(1))
    if ptr_x is None:
        ptr_x = torch.arange(0, x.size(0) + 1, x.size(0), device=x.device)
    if ptr_y is None:
        ptr_y = torch.arange(0, y.size(0) + 1, y.size(0), device=y.device)
    require(ptr_x.dim() == 1 and ptr_y.dim() == 1 and ptr_x.numel() == ptr_y.numel())
    return ptr_x, ptr_y


@operator("ported_torch_cluster::random_walk", random=True, outputs="nodes, edges")
def random_walk(
    rowptr: Tensor, col: Tensor, start: Tensor, walk_length: int, p: float, q: float
) -> tuple[Tensor, Tensor]:
    require(rowptr.dim() == 1 and col.dim() == 1 and start.dim() == 1)
    count = start.size(0)
    nodes, edges = start.new_empty(walk_length + 1, count), start.new_empty(walk_length, count)
    blocks = -(-count // 1024)
    if p == 1 and q == 1:
        rand = torch.rand(count, walk_length, device=start.device, dtype=torch.float)
        walk_kernels["uniform_sampling_kernel"].launch(
            blocks, 1024, rowptr, col, start, rand, nodes, edges, walk_length, count
        )
    else:
        walk_kernels["rejection_sampling_kernel"].launch(
            blocks, 1024, int(time.time()), rowptr, col, start, nodes, edges, walk_length, count, p, q
        )
    return nodes.t().contiguous(), edges.t().contiguous()
