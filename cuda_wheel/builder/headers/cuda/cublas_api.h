// <cublas_api.h>: cuBLAS's types and functions, without the variants for 64-bit dimensions. Host code alone can call them.
#ifndef CUBLAS_API_H_
#define CUBLAS_API_H_

#include <cuComplex.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime_api.h>
#include <driver_types.h>
#include <library_types.h>
#include <stdint.h>

#define CUBLAS_VER_MAJOR __CUDACC_VER_MAJOR__
#define CUBLAS_VER_MINOR __CUDACC_VER_MINOR__
#define CUBLAS_VER_PATCH 0
#define CUBLAS_VERSION (CUBLAS_VER_MAJOR * 10000 + CUBLAS_VER_MINOR * 100 + CUBLAS_VER_PATCH)
#define CUBLASAPI
#define CUBLASWINAPI

typedef cudaDataType cublasDataType_t;

typedef enum { CUBLAS_ATOMICS_NOT_ALLOWED, CUBLAS_ATOMICS_ALLOWED } cublasAtomicsMode_t;
typedef enum { CUBLAS_COMPUTE_16F = 64, CUBLAS_COMPUTE_16F_PEDANTIC, CUBLAS_COMPUTE_32F = 68,
  CUBLAS_COMPUTE_32F_PEDANTIC, CUBLAS_COMPUTE_32F_FAST_16F = 74, CUBLAS_COMPUTE_32F_FAST_16BF,
  CUBLAS_COMPUTE_32F_FAST_TF32 = 77, CUBLAS_COMPUTE_32F_EMULATED_16BFX9, CUBLAS_COMPUTE_64F = 70,
  CUBLAS_COMPUTE_64F_PEDANTIC, CUBLAS_COMPUTE_32I, CUBLAS_COMPUTE_32I_PEDANTIC,
  CUBLAS_COMPUTE_64F_EMULATED_FIXEDPOINT = 79 } cublasComputeType_t;
typedef enum { CUBLAS_DIAG_NON_UNIT, CUBLAS_DIAG_UNIT } cublasDiagType_t;
typedef enum { CUBLAS_EMULATION_STRATEGY_DEFAULT, CUBLAS_EMULATION_STRATEGY_PERFORMANT,
  CUBLAS_EMULATION_STRATEGY_EAGER } cublasEmulationStrategy_t;
typedef enum { CUBLAS_FILL_MODE_LOWER, CUBLAS_FILL_MODE_UPPER, CUBLAS_FILL_MODE_FULL } cublasFillMode_t;
typedef enum { CUBLAS_GEMM_DFALT = -1, CUBLAS_GEMM_ALGO0, CUBLAS_GEMM_ALGO1, CUBLAS_GEMM_ALGO2, CUBLAS_GEMM_ALGO3,
  CUBLAS_GEMM_ALGO4, CUBLAS_GEMM_ALGO5, CUBLAS_GEMM_ALGO6, CUBLAS_GEMM_ALGO7, CUBLAS_GEMM_ALGO8, CUBLAS_GEMM_ALGO9,
  CUBLAS_GEMM_ALGO10, CUBLAS_GEMM_ALGO11, CUBLAS_GEMM_ALGO12, CUBLAS_GEMM_ALGO13, CUBLAS_GEMM_ALGO14,
  CUBLAS_GEMM_ALGO15, CUBLAS_GEMM_ALGO16, CUBLAS_GEMM_ALGO17, CUBLAS_GEMM_ALGO18, CUBLAS_GEMM_ALGO19,
  CUBLAS_GEMM_ALGO20, CUBLAS_GEMM_ALGO21, CUBLAS_GEMM_ALGO22, CUBLAS_GEMM_ALGO23, CUBLAS_GEMM_DEFAULT_TENSOR_OP = 99,
  CUBLAS_GEMM_ALGO0_TENSOR_OP, CUBLAS_GEMM_ALGO1_TENSOR_OP, CUBLAS_GEMM_ALGO2_TENSOR_OP, CUBLAS_GEMM_ALGO3_TENSOR_OP,
  CUBLAS_GEMM_ALGO4_TENSOR_OP, CUBLAS_GEMM_ALGO5_TENSOR_OP, CUBLAS_GEMM_ALGO6_TENSOR_OP, CUBLAS_GEMM_ALGO7_TENSOR_OP,
  CUBLAS_GEMM_ALGO8_TENSOR_OP, CUBLAS_GEMM_ALGO9_TENSOR_OP, CUBLAS_GEMM_ALGO10_TENSOR_OP,
  CUBLAS_GEMM_ALGO11_TENSOR_OP, CUBLAS_GEMM_ALGO12_TENSOR_OP, CUBLAS_GEMM_ALGO13_TENSOR_OP,
  CUBLAS_GEMM_ALGO14_TENSOR_OP, CUBLAS_GEMM_ALGO15_TENSOR_OP, CUBLAS_GEMM_AUTOTUNE = 999,
  CUBLAS_GEMM_DEFAULT = CUBLAS_GEMM_DFALT, CUBLAS_GEMM_DFALT_TENSOR_OP = CUBLAS_GEMM_DEFAULT_TENSOR_OP
  } cublasGemmAlgo_t;
typedef enum { CUBLAS_DEFAULT_MATH, CUBLAS_TENSOR_OP_MATH, CUBLAS_PEDANTIC_MATH, CUBLAS_TF32_TENSOR_OP_MATH,
  CUBLAS_FP32_EMULATED_BF16X9_MATH, CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION = 16,
  CUBLAS_FP64_EMULATED_FIXEDPOINT_MATH = 8 } cublasMath_t;
typedef enum { CUBLAS_OP_N, CUBLAS_OP_T, CUBLAS_OP_C, CUBLAS_OP_CONJG, CUBLAS_OP_HERMITAN = CUBLAS_OP_C
  } cublasOperation_t;
typedef enum { CUBLAS_POINTER_MODE_HOST, CUBLAS_POINTER_MODE_DEVICE } cublasPointerMode_t;
typedef enum { CUBLAS_SIDE_LEFT, CUBLAS_SIDE_RIGHT } cublasSideMode_t;
typedef enum { CUBLAS_STATUS_SUCCESS, CUBLAS_STATUS_NOT_INITIALIZED, CUBLAS_STATUS_ALLOC_FAILED = 3,
  CUBLAS_STATUS_INVALID_VALUE = 7, CUBLAS_STATUS_ARCH_MISMATCH, CUBLAS_STATUS_MAPPING_ERROR = 11,
  CUBLAS_STATUS_EXECUTION_FAILED = 13, CUBLAS_STATUS_INTERNAL_ERROR, CUBLAS_STATUS_NOT_SUPPORTED,
  CUBLAS_STATUS_LICENSE_ERROR } cublasStatus_t;
typedef struct cublasContext* cublasHandle_t;
typedef void (*cublasLogCallback)(const char*);

extern "C" {
cublasStatus_t cublasCgemm3m(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int, int, const cuComplex*,
    const cuComplex*, int, const cuComplex*, int, const cuComplex*, cuComplex*, int);
cublasStatus_t cublasCgemm3mBatched(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int, int, const
    cuComplex*, const cuComplex* const*, int, const cuComplex* const*, int, const cuComplex*, cuComplex* const*, int,
    int);
cublasStatus_t cublasCgemm3mEx(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int, int, const cuComplex*,
    const void*, cudaDataType, int, const void*, cudaDataType, int, const cuComplex*, void*, cudaDataType, int);
cublasStatus_t cublasCgemm3mStridedBatched(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int, int, const
    cuComplex*, const cuComplex*, int, long long, const cuComplex*, int, long long, const cuComplex*, cuComplex*, int,
    long long, int);
cublasStatus_t cublasCgemmBatched(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int, int, const
    cuComplex*, const cuComplex* const*, int, const cuComplex* const*, int, const cuComplex*, cuComplex* const*, int,
    int);
cublasStatus_t cublasCgemmEx(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int, int, const cuComplex*,
    const void*, cudaDataType, int, const void*, cudaDataType, int, const cuComplex*, void*, cudaDataType, int);
cublasStatus_t cublasCgemmStridedBatched(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int, int, const
    cuComplex*, const cuComplex*, int, long long, const cuComplex*, int, long long, const cuComplex*, cuComplex*, int,
    long long, int);
cublasStatus_t cublasCgemm_v2(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int, int, const cuComplex*,
    const cuComplex*, int, const cuComplex*, int, const cuComplex*, cuComplex*, int);
cublasStatus_t cublasCreate_v2(cublasHandle_t*);
cublasStatus_t cublasDestroy_v2(cublasHandle_t);
cublasStatus_t cublasDgemmBatched(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int, int, const double*,
    const double* const*, int, const double* const*, int, const double*, double* const*, int, int);
cublasStatus_t cublasDgemmGroupedBatched(cublasHandle_t, const cublasOperation_t*, const cublasOperation_t*, const
    int*, const int*, const int*, const double*, const double* const*, const int*, const double* const*, const int*,
    const double*, double* const*, const int*, int, const int*);
cublasStatus_t cublasDgemmStridedBatched(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int, int, const
    double*, const double*, int, long long, const double*, int, long long, const double*, double*, int, long long,
    int);
cublasStatus_t cublasDgemm_v2(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int, int, const double*,
    const double*, int, const double*, int, const double*, double*, int);
cublasStatus_t cublasGemmBatchedEx(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int, int, const void*,
    const void* const*, cudaDataType, int, const void* const*, cudaDataType, int, const void*, void* const*,
    cudaDataType, int, int, cublasComputeType_t, cublasGemmAlgo_t);
cublasStatus_t cublasGemmEx(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int, int, const void*, const
    void*, cudaDataType, int, const void*, cudaDataType, int, const void*, void*, cudaDataType, int,
    cublasComputeType_t, cublasGemmAlgo_t);
cublasStatus_t cublasGemmGroupedBatchedEx(cublasHandle_t, const cublasOperation_t*, const cublasOperation_t*, const
    int*, const int*, const int*, const void*, const void* const*, cudaDataType_t, const int*, const void* const*,
    cudaDataType_t, const int*, const void*, void* const*, cudaDataType_t, const int*, int, const int*,
    cublasComputeType_t);
cublasStatus_t cublasGemmStridedBatchedEx(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int, int, const
    void*, const void*, cudaDataType, int, long long, const void*, cudaDataType, int, long long, const void*, void*,
    cudaDataType, int, long long, int, cublasComputeType_t, cublasGemmAlgo_t);
size_t cublasGetCudartVersion();
cublasStatus_t cublasGetLoggerCallback(cublasLogCallback*);
const char* cublasGetStatusName(cublasStatus_t);
const char* cublasGetStatusString(cublasStatus_t);
cublasStatus_t cublasSetLoggerCallback(cublasLogCallback);
cublasStatus_t cublasSgemmBatched(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int, int, const float*,
    const float* const*, int, const float* const*, int, const float*, float* const*, int, int);
cublasStatus_t cublasSgemmEx(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int, int, const float*, const
    void*, cudaDataType, int, const void*, cudaDataType, int, const float*, void*, cudaDataType, int);
cublasStatus_t cublasSgemmGroupedBatched(cublasHandle_t, const cublasOperation_t*, const cublasOperation_t*, const
    int*, const int*, const int*, const float*, const float* const*, const int*, const float* const*, const int*,
    const float*, float* const*, const int*, int, const int*);
cublasStatus_t cublasSgemmStridedBatched(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int, int, const
    float*, const float*, int, long long, const float*, int, long long, const float*, float*, int, long long, int);
cublasStatus_t cublasSgemm_v2(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int, int, const float*, const
    float*, int, const float*, int, const float*, float*, int);
void cublasXerbla(const char*, int);
cublasStatus_t cublasZgemm3m(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int, int, const
    cuDoubleComplex*, const cuDoubleComplex*, int, const cuDoubleComplex*, int, const cuDoubleComplex*,
    cuDoubleComplex*, int);
cublasStatus_t cublasZgemmBatched(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int, int, const
    cuDoubleComplex*, const cuDoubleComplex* const*, int, const cuDoubleComplex* const*, int, const cuDoubleComplex*,
    cuDoubleComplex* const*, int, int);
cublasStatus_t cublasZgemmStridedBatched(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int, int, const
    cuDoubleComplex*, const cuDoubleComplex*, int, long long, const cuDoubleComplex*, int, long long, const
    cuDoubleComplex*, cuDoubleComplex*, int, long long, int);
cublasStatus_t cublasZgemm_v2(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int, int, const
    cuDoubleComplex*, const cuDoubleComplex*, int, const cuDoubleComplex*, int, const cuDoubleComplex*,
    cuDoubleComplex*, int);
cublasStatus_t cublasHgemm(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int, int, const __half*, const
    __half*, int, const __half*, int, const __half*, __half*, int);
cublasStatus_t cublasHgemmBatched(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int, int, const __half*,
    const __half* const*, int, const __half* const*, int, const __half*, __half* const*, int, int);
cublasStatus_t cublasHgemmStridedBatched(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int, int, const
    __half*, const __half*, int, long long, const __half*, int, long long, const __half*, __half*, int, long long,
    int);
}
#include <cuda_wheel_detail/functions/cublas_api.h>

// As before CUDA 11, the type of the computation may be given as a data type.
cublasStatus_t cublasGemmBatchedEx(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int, int, const void*,
    const void* const*, cudaDataType, int, const void* const*, cudaDataType, int, const void*, void* const*,
    cudaDataType, int, int, cudaDataType, cublasGemmAlgo_t);
cublasStatus_t cublasGemmEx(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int, int, const void*,
    const void*, cudaDataType, int, const void*, cudaDataType, int, const void*, void*, cudaDataType, int,
    cudaDataType, cublasGemmAlgo_t);
cublasStatus_t cublasGemmStridedBatchedEx(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int, int,
    const void*, const void*, cudaDataType, int, long long, const void*, cudaDataType, int, long long, const void*,
    void*, cudaDataType, int, long long, int, cudaDataType, cublasGemmAlgo_t);
cublasStatus_t cublasMigrateComputeType(cublasHandle_t, cudaDataType_t, cublasComputeType_t*);

#endif
