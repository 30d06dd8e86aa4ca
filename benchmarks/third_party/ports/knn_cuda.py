"""KNN_CUDA (unlimblue): one host function, which launches three kernels of one file.

The package's `knn(ref, query, k)` returns the distances of the k nearest of `ref` (dim, references) to each of `query`
(dim, queries), and their numbers from 1, both (k, queries).
"""

import torch
from torch import Tensor

import cuda_wheel.torch

kernels = cuda_wheel.torch.kernels("ported_knn_cuda.knn")


@cuda_wheel.torch.operator(
    "ported_knn_cuda::knn", read_only=("ref", "query"), outputs="dist, ind", non_contiguous="refuse"
)
def knn(ref: Tensor, query: Tensor, k: int) -> tuple[Tensor, Tensor]:
    dim, references = ref.shape
    queries = query.shape[1]
    dist = query.new_empty(references, queries)
    ind = query.new_empty(k, queries, dtype=torch.long)
    columns = -(-queries // 16)
    kernels["cuComputeDistanceGlobal"].launch(
        (columns, -(-references // 16)), (16, 16), ref, references, query, queries, dim, dist
    )
    kernels["cuInsertionSort"].launch(-(-queries // 256), 256, dist, ind, queries, references, k)
    kernels["cuParallelSqrt"].launch((columns, -(-k // 16)), (16, 16), dist, queries, k)
    return dist[:k], ind
