// <cusolverSp.h>: cuSOLVER's functions for sparse matrices. Host code alone can call them.
#ifndef CUSOLVERSP_H_
#define CUSOLVERSP_H_

#include <cublas_v2.h>
#include <cuda_runtime.h>
#include <cusolver_common.h>
#include <cusparse.h>

typedef struct csrqrInfo* csrqrInfo_t;
typedef struct cusolverSpContext* cusolverSpHandle_t;

extern "C" {
cusolverStatus_t cusolverSpCcsreigsHost(cusolverSpHandle_t, int, int, cusparseMatDescr_t, const cuComplex*,
    const int*, const int*, cuComplex, cuComplex, int*);
cusolverStatus_t cusolverSpCcsreigvsi(cusolverSpHandle_t, int, int, cusparseMatDescr_t, const cuComplex*, const int*,
    const int*, cuComplex, const cuComplex*, int, float, cuComplex*, cuComplex*);
cusolverStatus_t cusolverSpCcsreigvsiHost(cusolverSpHandle_t, int, int, cusparseMatDescr_t, const cuComplex*,
    const int*, const int*, cuComplex, const cuComplex*, int, float, cuComplex*, cuComplex*);
cusolverStatus_t cusolverSpCcsrlsqvqrHost(cusolverSpHandle_t, int, int, int, cusparseMatDescr_t, const cuComplex*,
    const int*, const int*, const cuComplex*, float, int*, cuComplex*, int*, float*);
cusolverStatus_t cusolverSpCcsrlsvchol(cusolverSpHandle_t, int, int, cusparseMatDescr_t, const cuComplex*, const int*,
    const int*, const cuComplex*, float, int, cuComplex*, int*);
cusolverStatus_t cusolverSpCcsrlsvcholHost(cusolverSpHandle_t, int, int, cusparseMatDescr_t, const cuComplex*,
    const int*, const int*, const cuComplex*, float, int, cuComplex*, int*);
cusolverStatus_t cusolverSpCcsrlsvluHost(cusolverSpHandle_t, int, int, cusparseMatDescr_t, const cuComplex*,
    const int*, const int*, const cuComplex*, float, int, cuComplex*, int*);
cusolverStatus_t cusolverSpCcsrlsvqr(cusolverSpHandle_t, int, int, cusparseMatDescr_t, const cuComplex*, const int*,
    const int*, const cuComplex*, float, int, cuComplex*, int*);
cusolverStatus_t cusolverSpCcsrlsvqrHost(cusolverSpHandle_t, int, int, cusparseMatDescr_t, const cuComplex*,
    const int*, const int*, const cuComplex*, float, int, cuComplex*, int*);
cusolverStatus_t cusolverSpCcsrqrBufferInfoBatched(cusolverSpHandle_t, int, int, int, cusparseMatDescr_t,
    const cuComplex*, const int*, const int*, int, csrqrInfo_t, size_t*, size_t*);
cusolverStatus_t cusolverSpCcsrqrsvBatched(cusolverSpHandle_t, int, int, int, cusparseMatDescr_t, const cuComplex*,
    const int*, const int*, const cuComplex*, cuComplex*, int, csrqrInfo_t, void*);
cusolverStatus_t cusolverSpCcsrzfdHost(cusolverSpHandle_t, int, int, cusparseMatDescr_t, const cuComplex*, const int*,
    const int*, int*, int*);
cusolverStatus_t cusolverSpCreate(cusolverSpHandle_t*);
cusolverStatus_t cusolverSpCreateCsrqrInfo(csrqrInfo_t*);
cusolverStatus_t cusolverSpDcsreigsHost(cusolverSpHandle_t, int, int, cusparseMatDescr_t, const double*, const int*,
    const int*, cuDoubleComplex, cuDoubleComplex, int*);
cusolverStatus_t cusolverSpDcsreigvsi(cusolverSpHandle_t, int, int, cusparseMatDescr_t, const double*, const int*,
    const int*, double, const double*, int, double, double*, double*);
cusolverStatus_t cusolverSpDcsreigvsiHost(cusolverSpHandle_t, int, int, cusparseMatDescr_t, const double*, const int*,
    const int*, double, const double*, int, double, double*, double*);
cusolverStatus_t cusolverSpDcsrlsqvqrHost(cusolverSpHandle_t, int, int, int, cusparseMatDescr_t, const double*,
    const int*, const int*, const double*, double, int*, double*, int*, double*);
cusolverStatus_t cusolverSpDcsrlsvchol(cusolverSpHandle_t, int, int, cusparseMatDescr_t, const double*, const int*,
    const int*, const double*, double, int, double*, int*);
cusolverStatus_t cusolverSpDcsrlsvcholHost(cusolverSpHandle_t, int, int, cusparseMatDescr_t, const double*,
    const int*, const int*, const double*, double, int, double*, int*);
cusolverStatus_t cusolverSpDcsrlsvluHost(cusolverSpHandle_t, int, int, cusparseMatDescr_t, const double*, const int*,
    const int*, const double*, double, int, double*, int*);
cusolverStatus_t cusolverSpDcsrlsvqr(cusolverSpHandle_t, int, int, cusparseMatDescr_t, const double*, const int*,
    const int*, const double*, double, int, double*, int*);
cusolverStatus_t cusolverSpDcsrlsvqrHost(cusolverSpHandle_t, int, int, cusparseMatDescr_t, const double*, const int*,
    const int*, const double*, double, int, double*, int*);
cusolverStatus_t cusolverSpDcsrqrBufferInfoBatched(cusolverSpHandle_t, int, int, int, cusparseMatDescr_t,
    const double*, const int*, const int*, int, csrqrInfo_t, size_t*, size_t*);
cusolverStatus_t cusolverSpDcsrqrsvBatched(cusolverSpHandle_t, int, int, int, cusparseMatDescr_t, const double*,
    const int*, const int*, const double*, double*, int, csrqrInfo_t, void*);
cusolverStatus_t cusolverSpDcsrzfdHost(cusolverSpHandle_t, int, int, cusparseMatDescr_t, const double*, const int*,
    const int*, int*, int*);
cusolverStatus_t cusolverSpDestroy(cusolverSpHandle_t);
cusolverStatus_t cusolverSpDestroyCsrqrInfo(csrqrInfo_t);
cusolverStatus_t cusolverSpGetStream(cusolverSpHandle_t, cudaStream_t*);
cusolverStatus_t cusolverSpScsreigsHost(cusolverSpHandle_t, int, int, cusparseMatDescr_t, const float*, const int*,
    const int*, cuComplex, cuComplex, int*);
cusolverStatus_t cusolverSpScsreigvsi(cusolverSpHandle_t, int, int, cusparseMatDescr_t, const float*, const int*,
    const int*, float, const float*, int, float, float*, float*);
cusolverStatus_t cusolverSpScsreigvsiHost(cusolverSpHandle_t, int, int, cusparseMatDescr_t, const float*, const int*,
    const int*, float, const float*, int, float, float*, float*);
cusolverStatus_t cusolverSpScsrlsqvqrHost(cusolverSpHandle_t, int, int, int, cusparseMatDescr_t, const float*,
    const int*, const int*, const float*, float, int*, float*, int*, float*);
cusolverStatus_t cusolverSpScsrlsvchol(cusolverSpHandle_t, int, int, cusparseMatDescr_t, const float*, const int*,
    const int*, const float*, float, int, float*, int*);
cusolverStatus_t cusolverSpScsrlsvcholHost(cusolverSpHandle_t, int, int, cusparseMatDescr_t, const float*, const int*,
    const int*, const float*, float, int, float*, int*);
cusolverStatus_t cusolverSpScsrlsvluHost(cusolverSpHandle_t, int, int, cusparseMatDescr_t, const float*, const int*,
    const int*, const float*, float, int, float*, int*);
cusolverStatus_t cusolverSpScsrlsvqr(cusolverSpHandle_t, int, int, cusparseMatDescr_t, const float*, const int*,
    const int*, const float*, float, int, float*, int*);
cusolverStatus_t cusolverSpScsrlsvqrHost(cusolverSpHandle_t, int, int, cusparseMatDescr_t, const float*, const int*,
    const int*, const float*, float, int, float*, int*);
cusolverStatus_t cusolverSpScsrqrBufferInfoBatched(cusolverSpHandle_t, int, int, int, cusparseMatDescr_t,
    const float*, const int*, const int*, int, csrqrInfo_t, size_t*, size_t*);
cusolverStatus_t cusolverSpScsrqrsvBatched(cusolverSpHandle_t, int, int, int, cusparseMatDescr_t, const float*,
    const int*, const int*, const float*, float*, int, csrqrInfo_t, void*);
cusolverStatus_t cusolverSpScsrzfdHost(cusolverSpHandle_t, int, int, cusparseMatDescr_t, const float*, const int*,
    const int*, int*, int*);
cusolverStatus_t cusolverSpSetStream(cusolverSpHandle_t, cudaStream_t);
cusolverStatus_t cusolverSpXcsrissymHost(cusolverSpHandle_t, int, int, cusparseMatDescr_t, const int*, const int*,
    const int*, int*);
cusolverStatus_t cusolverSpXcsrmetisndHost(cusolverSpHandle_t, int, int, cusparseMatDescr_t, const int*, const int*,
    const int64_t*, int*);
cusolverStatus_t cusolverSpXcsrpermHost(cusolverSpHandle_t, int, int, int, cusparseMatDescr_t, int*, int*, const int*,
    const int*, int*, void*);
cusolverStatus_t cusolverSpXcsrperm_bufferSizeHost(cusolverSpHandle_t, int, int, int, cusparseMatDescr_t, const int*,
    const int*, const int*, const int*, size_t*);
cusolverStatus_t cusolverSpXcsrqrAnalysisBatched(cusolverSpHandle_t, int, int, int, cusparseMatDescr_t, const int*,
    const int*, csrqrInfo_t);
cusolverStatus_t cusolverSpXcsrsymamdHost(cusolverSpHandle_t, int, int, cusparseMatDescr_t, const int*, const int*,
    int*);
cusolverStatus_t cusolverSpXcsrsymmdqHost(cusolverSpHandle_t, int, int, cusparseMatDescr_t, const int*, const int*,
    int*);
cusolverStatus_t cusolverSpXcsrsymrcmHost(cusolverSpHandle_t, int, int, cusparseMatDescr_t, const int*, const int*,
    int*);
cusolverStatus_t cusolverSpZcsreigsHost(cusolverSpHandle_t, int, int, cusparseMatDescr_t, const cuDoubleComplex*,
    const int*, const int*, cuDoubleComplex, cuDoubleComplex, int*);
cusolverStatus_t cusolverSpZcsreigvsi(cusolverSpHandle_t, int, int, cusparseMatDescr_t, const cuDoubleComplex*,
    const int*, const int*, cuDoubleComplex, const cuDoubleComplex*, int, double, cuDoubleComplex*, cuDoubleComplex*);
cusolverStatus_t cusolverSpZcsreigvsiHost(cusolverSpHandle_t, int, int, cusparseMatDescr_t, const cuDoubleComplex*,
    const int*, const int*, cuDoubleComplex, const cuDoubleComplex*, int, double, cuDoubleComplex*, cuDoubleComplex*);
cusolverStatus_t cusolverSpZcsrlsqvqrHost(cusolverSpHandle_t, int, int, int, cusparseMatDescr_t,
    const cuDoubleComplex*, const int*, const int*, const cuDoubleComplex*, double, int*, cuDoubleComplex*, int*,
    double*);
cusolverStatus_t cusolverSpZcsrlsvchol(cusolverSpHandle_t, int, int, cusparseMatDescr_t, const cuDoubleComplex*,
    const int*, const int*, const cuDoubleComplex*, double, int, cuDoubleComplex*, int*);
cusolverStatus_t cusolverSpZcsrlsvcholHost(cusolverSpHandle_t, int, int, cusparseMatDescr_t, const cuDoubleComplex*,
    const int*, const int*, const cuDoubleComplex*, double, int, cuDoubleComplex*, int*);
cusolverStatus_t cusolverSpZcsrlsvluHost(cusolverSpHandle_t, int, int, cusparseMatDescr_t, const cuDoubleComplex*,
    const int*, const int*, const cuDoubleComplex*, double, int, cuDoubleComplex*, int*);
cusolverStatus_t cusolverSpZcsrlsvqr(cusolverSpHandle_t, int, int, cusparseMatDescr_t, const cuDoubleComplex*,
    const int*, const int*, const cuDoubleComplex*, double, int, cuDoubleComplex*, int*);
cusolverStatus_t cusolverSpZcsrlsvqrHost(cusolverSpHandle_t, int, int, cusparseMatDescr_t, const cuDoubleComplex*,
    const int*, const int*, const cuDoubleComplex*, double, int, cuDoubleComplex*, int*);
cusolverStatus_t cusolverSpZcsrqrBufferInfoBatched(cusolverSpHandle_t, int, int, int, cusparseMatDescr_t,
    const cuDoubleComplex*, const int*, const int*, int, csrqrInfo_t, size_t*, size_t*);
cusolverStatus_t cusolverSpZcsrqrsvBatched(cusolverSpHandle_t, int, int, int, cusparseMatDescr_t,
    const cuDoubleComplex*, const int*, const int*, const cuDoubleComplex*, cuDoubleComplex*, int, csrqrInfo_t,
    void*);
cusolverStatus_t cusolverSpZcsrzfdHost(cusolverSpHandle_t, int, int, cusparseMatDescr_t, const cuDoubleComplex*,
    const int*, const int*, int*, int*);
}

#endif
