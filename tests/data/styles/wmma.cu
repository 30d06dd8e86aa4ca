// kernels: product; product_tf32
#include <cuda_fp16.h>
#include <mma.h>

using namespace nvcuda;

extern "C" __global__ void product(const half* a, const half* b, float* c, int k)
{
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> left;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> right;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
    wmma::fill_fragment(sum, 0.0f);
    for (int i = 0; i < k; i += 16) {
        wmma::load_matrix_sync(left, a + i, k);
        wmma::load_matrix_sync(right, b + i, k);
        wmma::mma_sync(sum, left, right, sum);
    }
#pragma unroll
    for (int i = 0; i < sum.num_elements; ++i)
        sum.x[i] = fmaxf(sum.x[i], 0.0f);
    wmma::store_matrix_sync(c, sum, 16, wmma::mem_row_major);
}

extern "C" __global__ void product_tf32(const float* a, const float* b, float* c)
{
    wmma::fragment<wmma::matrix_a, 16, 16, 8, wmma::precision::tf32, wmma::row_major> left;
    wmma::fragment<wmma::matrix_b, 16, 16, 8, wmma::precision::tf32, wmma::row_major> right;
    wmma::fragment<wmma::accumulator, 16, 16, 8, float> sum;
    wmma::fill_fragment(sum, 1.0f);
    wmma::load_matrix_sync(left, a, 8);
    wmma::load_matrix_sync(right, b, 16);
    for (int i = 0; i < left.num_elements; ++i)
        left.x[i] = wmma::__float_to_tf32(left.x[i]);
    wmma::mma_sync(sum, left, right, sum);
    wmma::store_matrix_sync(c, sum, 16, wmma::mem_col_major);
}
