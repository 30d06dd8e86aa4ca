// kernels: normalise; strips; whole_grid
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>

namespace cg = cooperative_groups;
using namespace cooperative_groups;

extern "C" __global__ void normalise(float* x, int n)
{
    cg::thread_block block = cg::this_thread_block();
    auto tile = cg::tiled_partition<32>(block);
    extern __shared__ float row[];
    cg::memcpy_async(block, row, x + blockIdx.x * n, sizeof(float) * n);
    cg::wait(block);
    float sum = 0;
    for (int i = tile.thread_rank(); i < n; i += tile.size())
        sum += row[i];
    sum = cg::reduce(tile, sum, cg::plus<float>());
    for (int i = block.thread_rank(); i < n; i += block.size())
        x[blockIdx.x * n + i] = row[i] / sum;
}

extern "C" __global__ void strips(int* x)
{
    auto quad = tiled_partition<4>(this_thread_block());
    x[threadIdx.x] = exclusive_scan(quad, x[threadIdx.x]) + inclusive_scan(quad, 1, cg::plus<int>());
    if (x[threadIdx.x] > 3) {
        coalesced_group active = coalesced_threads();
        if (active.thread_rank() == 0)
            atomicAdd(x, static_cast<int>(active.size()));
        x[threadIdx.x] += labeled_partition(active, x[threadIdx.x] & 1).size();
    }
}

extern "C" __global__ void whole_grid(int* x, int rounds)
{
    cg::grid_group grid = cg::this_grid();
    for (int i = 0; i < rounds; ++i) {
        if (grid.thread_rank() == 0)
            x[0] += i;
        grid.sync();
    }
}
