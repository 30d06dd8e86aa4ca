// relu(a * b + bias) of half-precision matrices by rows, on tensor cores: CUTLASS's kernel, and its arguments made on the GPU.
#include <cuda_fp16.h>
#include <cutlass/epilogue/thread/linear_combination_relu.h>
#include <cutlass/gemm/kernel/default_gemm.h>

using Half = cutlass::half_t;
using Rows = cutlass::layout::RowMajor;

constexpr int ALIGNMENT = 8;  // halves in 16 bytes: the widest load, so rows of a and b begin at multiples of 16 bytes

using Gemm = cutlass::gemm::kernel::DefaultGemm<
    Half, Rows, ALIGNMENT,
    Half, Rows, ALIGNMENT,
    float, Rows,
    float,  // the accumulator's type
    cutlass::arch::OpClassTensorOp,
    cutlass::arch::Sm80,
    cutlass::gemm::GemmShape<128, 128, 32>,  // of a block
    cutlass::gemm::GemmShape<64, 64, 32>,  // of a warp: four warps
    cutlass::gemm::GemmShape<16, 8, 16>,  // of an instruction
    cutlass::epilogue::thread::LinearCombinationRelu<float, 4, float, float>,
    cutlass::gemm::threadblock::GemmIdentityThreadblockSwizzle<>,
    3,  // stages of the pipeline from global to shared memory
    false,
    cutlass::arch::OpMultiplyAdd>::GemmKernel;

__global__ __launch_bounds__(Gemm::kThreadCount) void dense_relu(
    const __half* a, const __half* b, const float* bias, float* c, int m, int n, int k)
{
    extern __shared__ char storage[];
    auto halves = [](const __half* matrix) {
        return reinterpret_cast<Half*>(const_cast<__half*>(matrix));
    };
    Gemm::Params params(
        {m, n, k},
        {static_cast<int>(gridDim.x), static_cast<int>(gridDim.y), 1},
        {halves(a), k},
        {halves(b), n},
        {const_cast<float*>(bias), 0},  // each row of the added matrix is the bias
        {c, n},
        {1.0f, 1.0f});
    Gemm()(params, *reinterpret_cast<Gemm::SharedStorage*>(storage));
}

__device__ int shared_memory = sizeof(Gemm::SharedStorage);  // bytes, which the launch must know
