// <cublas_v2.h>: cuBLAS with a handle. Its names are macros for the names of the library's second version.
#ifndef CUBLAS_V2_H_
#define CUBLAS_V2_H_

#include <cublas_api.h>
#include <cuda_wheel_detail/functions/cublas_v2.h>

#define cublasCgemm cublasCgemm_v2
#define cublasCreate cublasCreate_v2
#define cublasDestroy cublasDestroy_v2
#define cublasDgemm cublasDgemm_v2
#define cublasSgemm cublasSgemm_v2
#define cublasZgemm cublasZgemm_v2

#endif
