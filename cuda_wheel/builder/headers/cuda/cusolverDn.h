// <cusolverDn.h>: cuSOLVER's functions for dense matrices. Host code alone can call them.
#ifndef CUSOLVERDN_H_
#define CUSOLVERDN_H_

#include <cuComplex.h>
#include <cublas_v2.h>
#include <cuda_runtime.h>
#include <cusolver_common.h>

typedef struct cusolverDnContext* cusolverDnHandle_t;
typedef struct cusolverDnIRSInfos* cusolverDnIRSInfos_t;
typedef struct cusolverDnIRSParams* cusolverDnIRSParams_t;
typedef void (*cusolverDnLoggerCallback_t)(int, const char*, const char*);
typedef struct cusolverDnParams* cusolverDnParams_t;
typedef struct gesvdjInfo* gesvdjInfo_t;
typedef struct syevjInfo* syevjInfo_t;

extern "C" {
cusolverStatus_t cusolverDnCCgels(cusolverDnHandle_t, cusolver_int_t, cusolver_int_t, cusolver_int_t, cuComplex*,
    cusolver_int_t, cuComplex*, cusolver_int_t, cuComplex*, cusolver_int_t, void*, size_t, cusolver_int_t*,
    cusolver_int_t*);
cusolverStatus_t cusolverDnCCgels_bufferSize(cusolverDnHandle_t, cusolver_int_t, cusolver_int_t, cusolver_int_t,
    cuComplex*, cusolver_int_t, cuComplex*, cusolver_int_t, cuComplex*, cusolver_int_t, void*, size_t*);
cusolverStatus_t cusolverDnCCgesv(cusolverDnHandle_t, cusolver_int_t, cusolver_int_t, cuComplex*, cusolver_int_t,
    cusolver_int_t*, cuComplex*, cusolver_int_t, cuComplex*, cusolver_int_t, void*, size_t, cusolver_int_t*,
    cusolver_int_t*);
cusolverStatus_t cusolverDnCCgesv_bufferSize(cusolverDnHandle_t, cusolver_int_t, cusolver_int_t, cuComplex*,
    cusolver_int_t, cusolver_int_t*, cuComplex*, cusolver_int_t, cuComplex*, cusolver_int_t, void*, size_t*);
cusolverStatus_t cusolverDnCEgels(cusolverDnHandle_t, cusolver_int_t, cusolver_int_t, cusolver_int_t, cuComplex*,
    cusolver_int_t, cuComplex*, cusolver_int_t, cuComplex*, cusolver_int_t, void*, size_t, cusolver_int_t*,
    cusolver_int_t*);
cusolverStatus_t cusolverDnCEgels_bufferSize(cusolverDnHandle_t, cusolver_int_t, cusolver_int_t, cusolver_int_t,
    cuComplex*, cusolver_int_t, cuComplex*, cusolver_int_t, cuComplex*, cusolver_int_t, void*, size_t*);
cusolverStatus_t cusolverDnCEgesv(cusolverDnHandle_t, cusolver_int_t, cusolver_int_t, cuComplex*, cusolver_int_t,
    cusolver_int_t*, cuComplex*, cusolver_int_t, cuComplex*, cusolver_int_t, void*, size_t, cusolver_int_t*,
    cusolver_int_t*);
cusolverStatus_t cusolverDnCEgesv_bufferSize(cusolverDnHandle_t, cusolver_int_t, cusolver_int_t, cuComplex*,
    cusolver_int_t, cusolver_int_t*, cuComplex*, cusolver_int_t, cuComplex*, cusolver_int_t, void*, size_t*);
cusolverStatus_t cusolverDnCKgels(cusolverDnHandle_t, cusolver_int_t, cusolver_int_t, cusolver_int_t, cuComplex*,
    cusolver_int_t, cuComplex*, cusolver_int_t, cuComplex*, cusolver_int_t, void*, size_t, cusolver_int_t*,
    cusolver_int_t*);
cusolverStatus_t cusolverDnCKgels_bufferSize(cusolverDnHandle_t, cusolver_int_t, cusolver_int_t, cusolver_int_t,
    cuComplex*, cusolver_int_t, cuComplex*, cusolver_int_t, cuComplex*, cusolver_int_t, void*, size_t*);
cusolverStatus_t cusolverDnCKgesv(cusolverDnHandle_t, cusolver_int_t, cusolver_int_t, cuComplex*, cusolver_int_t,
    cusolver_int_t*, cuComplex*, cusolver_int_t, cuComplex*, cusolver_int_t, void*, size_t, cusolver_int_t*,
    cusolver_int_t*);
cusolverStatus_t cusolverDnCKgesv_bufferSize(cusolverDnHandle_t, cusolver_int_t, cusolver_int_t, cuComplex*,
    cusolver_int_t, cusolver_int_t*, cuComplex*, cusolver_int_t, cuComplex*, cusolver_int_t, void*, size_t*);
cusolverStatus_t cusolverDnCYgels(cusolverDnHandle_t, cusolver_int_t, cusolver_int_t, cusolver_int_t, cuComplex*,
    cusolver_int_t, cuComplex*, cusolver_int_t, cuComplex*, cusolver_int_t, void*, size_t, cusolver_int_t*,
    cusolver_int_t*);
cusolverStatus_t cusolverDnCYgels_bufferSize(cusolverDnHandle_t, cusolver_int_t, cusolver_int_t, cusolver_int_t,
    cuComplex*, cusolver_int_t, cuComplex*, cusolver_int_t, cuComplex*, cusolver_int_t, void*, size_t*);
cusolverStatus_t cusolverDnCYgesv(cusolverDnHandle_t, cusolver_int_t, cusolver_int_t, cuComplex*, cusolver_int_t,
    cusolver_int_t*, cuComplex*, cusolver_int_t, cuComplex*, cusolver_int_t, void*, size_t, cusolver_int_t*,
    cusolver_int_t*);
cusolverStatus_t cusolverDnCYgesv_bufferSize(cusolverDnHandle_t, cusolver_int_t, cusolver_int_t, cuComplex*,
    cusolver_int_t, cusolver_int_t*, cuComplex*, cusolver_int_t, cuComplex*, cusolver_int_t, void*, size_t*);
cusolverStatus_t cusolverDnCgebrd(cusolverDnHandle_t, int, int, cuComplex*, int, float*, float*, cuComplex*,
    cuComplex*, cuComplex*, int, int*);
cusolverStatus_t cusolverDnCgebrd_bufferSize(cusolverDnHandle_t, int, int, int*);
cusolverStatus_t cusolverDnCgeqrf(cusolverDnHandle_t, int, int, cuComplex*, int, cuComplex*, cuComplex*, int, int*);
cusolverStatus_t cusolverDnCgeqrf_bufferSize(cusolverDnHandle_t, int, int, cuComplex*, int, int*);
cusolverStatus_t cusolverDnCgesvd(cusolverDnHandle_t, signed char, signed char, int, int, cuComplex*, int, float*,
    cuComplex*, int, cuComplex*, int, cuComplex*, int, float*, int*);
cusolverStatus_t cusolverDnCgesvd_bufferSize(cusolverDnHandle_t, int, int, int*);
cusolverStatus_t cusolverDnCgesvdaStridedBatched(cusolverDnHandle_t, cusolverEigMode_t, int, int, int,
    const cuComplex*, int, long long, float*, long long, cuComplex*, int, long long, cuComplex*, int, long long,
    cuComplex*, int, int*, double*, int);
cusolverStatus_t cusolverDnCgesvdaStridedBatched_bufferSize(cusolverDnHandle_t, cusolverEigMode_t, int, int, int,
    const cuComplex*, int, long long, const float*, long long, const cuComplex*, int, long long, const cuComplex*,
    int, long long, int*, int);
cusolverStatus_t cusolverDnCgesvdj(cusolverDnHandle_t, cusolverEigMode_t, int, int, int, cuComplex*, int, float*,
    cuComplex*, int, cuComplex*, int, cuComplex*, int, int*, gesvdjInfo_t);
cusolverStatus_t cusolverDnCgesvdjBatched(cusolverDnHandle_t, cusolverEigMode_t, int, int, cuComplex*, int, float*,
    cuComplex*, int, cuComplex*, int, cuComplex*, int, int*, gesvdjInfo_t, int);
cusolverStatus_t cusolverDnCgesvdjBatched_bufferSize(cusolverDnHandle_t, cusolverEigMode_t, int, int,
    const cuComplex*, int, const float*, const cuComplex*, int, const cuComplex*, int, int*, gesvdjInfo_t, int);
cusolverStatus_t cusolverDnCgesvdj_bufferSize(cusolverDnHandle_t, cusolverEigMode_t, int, int, int, const cuComplex*,
    int, const float*, const cuComplex*, int, const cuComplex*, int, int*, gesvdjInfo_t);
cusolverStatus_t cusolverDnCgetrf(cusolverDnHandle_t, int, int, cuComplex*, int, cuComplex*, int*, int*);
cusolverStatus_t cusolverDnCgetrf_bufferSize(cusolverDnHandle_t, int, int, cuComplex*, int, int*);
cusolverStatus_t cusolverDnCgetrs(cusolverDnHandle_t, cublasOperation_t, int, int, const cuComplex*, int, const int*,
    cuComplex*, int, int*);
cusolverStatus_t cusolverDnCheevd(cusolverDnHandle_t, cusolverEigMode_t, cublasFillMode_t, int, cuComplex*, int,
    float*, cuComplex*, int, int*);
cusolverStatus_t cusolverDnCheevd_bufferSize(cusolverDnHandle_t, cusolverEigMode_t, cublasFillMode_t, int,
    const cuComplex*, int, const float*, int*);
cusolverStatus_t cusolverDnCheevdx(cusolverDnHandle_t, cusolverEigMode_t, cusolverEigRange_t, cublasFillMode_t, int,
    cuComplex*, int, float, float, int, int, int*, float*, cuComplex*, int, int*);
cusolverStatus_t cusolverDnCheevdx_bufferSize(cusolverDnHandle_t, cusolverEigMode_t, cusolverEigRange_t,
    cublasFillMode_t, int, const cuComplex*, int, float, float, int, int, int*, const float*, int*);
cusolverStatus_t cusolverDnCheevj(cusolverDnHandle_t, cusolverEigMode_t, cublasFillMode_t, int, cuComplex*, int,
    float*, cuComplex*, int, int*, syevjInfo_t);
cusolverStatus_t cusolverDnCheevjBatched(cusolverDnHandle_t, cusolverEigMode_t, cublasFillMode_t, int, cuComplex*,
    int, float*, cuComplex*, int, int*, syevjInfo_t, int);
cusolverStatus_t cusolverDnCheevjBatched_bufferSize(cusolverDnHandle_t, cusolverEigMode_t, cublasFillMode_t, int,
    const cuComplex*, int, const float*, int*, syevjInfo_t, int);
cusolverStatus_t cusolverDnCheevj_bufferSize(cusolverDnHandle_t, cusolverEigMode_t, cublasFillMode_t, int,
    const cuComplex*, int, const float*, int*, syevjInfo_t);
cusolverStatus_t cusolverDnChegvd(cusolverDnHandle_t, cusolverEigType_t, cusolverEigMode_t, cublasFillMode_t, int,
    cuComplex*, int, cuComplex*, int, float*, cuComplex*, int, int*);
cusolverStatus_t cusolverDnChegvd_bufferSize(cusolverDnHandle_t, cusolverEigType_t, cusolverEigMode_t,
    cublasFillMode_t, int, const cuComplex*, int, const cuComplex*, int, const float*, int*);
cusolverStatus_t cusolverDnChegvdx(cusolverDnHandle_t, cusolverEigType_t, cusolverEigMode_t, cusolverEigRange_t,
    cublasFillMode_t, int, cuComplex*, int, cuComplex*, int, float, float, int, int, int*, float*, cuComplex*, int,
    int*);
cusolverStatus_t cusolverDnChegvdx_bufferSize(cusolverDnHandle_t, cusolverEigType_t, cusolverEigMode_t,
    cusolverEigRange_t, cublasFillMode_t, int, const cuComplex*, int, const cuComplex*, int, float, float, int, int,
    int*, const float*, int*);
cusolverStatus_t cusolverDnChegvj(cusolverDnHandle_t, cusolverEigType_t, cusolverEigMode_t, cublasFillMode_t, int,
    cuComplex*, int, cuComplex*, int, float*, cuComplex*, int, int*, syevjInfo_t);
cusolverStatus_t cusolverDnChegvj_bufferSize(cusolverDnHandle_t, cusolverEigType_t, cusolverEigMode_t,
    cublasFillMode_t, int, const cuComplex*, int, const cuComplex*, int, const float*, int*, syevjInfo_t);
cusolverStatus_t cusolverDnChetrd(cusolverDnHandle_t, cublasFillMode_t, int, cuComplex*, int, float*, float*,
    cuComplex*, cuComplex*, int, int*);
cusolverStatus_t cusolverDnChetrd_bufferSize(cusolverDnHandle_t, cublasFillMode_t, int, const cuComplex*, int,
    const float*, const float*, const cuComplex*, int*);
cusolverStatus_t cusolverDnClaswp(cusolverDnHandle_t, int, cuComplex*, int, int, int, const int*, int);
cusolverStatus_t cusolverDnClauum(cusolverDnHandle_t, cublasFillMode_t, int, cuComplex*, int, cuComplex*, int, int*);
cusolverStatus_t cusolverDnClauum_bufferSize(cusolverDnHandle_t, cublasFillMode_t, int, cuComplex*, int, int*);
cusolverStatus_t cusolverDnCpotrf(cusolverDnHandle_t, cublasFillMode_t, int, cuComplex*, int, cuComplex*, int, int*);
cusolverStatus_t cusolverDnCpotrfBatched(cusolverDnHandle_t, cublasFillMode_t, int, cuComplex**, int, int*, int);
cusolverStatus_t cusolverDnCpotrf_bufferSize(cusolverDnHandle_t, cublasFillMode_t, int, cuComplex*, int, int*);
cusolverStatus_t cusolverDnCpotri(cusolverDnHandle_t, cublasFillMode_t, int, cuComplex*, int, cuComplex*, int, int*);
cusolverStatus_t cusolverDnCpotri_bufferSize(cusolverDnHandle_t, cublasFillMode_t, int, cuComplex*, int, int*);
cusolverStatus_t cusolverDnCpotrs(cusolverDnHandle_t, cublasFillMode_t, int, int, const cuComplex*, int, cuComplex*,
    int, int*);
cusolverStatus_t cusolverDnCpotrsBatched(cusolverDnHandle_t, cublasFillMode_t, int, int, cuComplex**, int,
    cuComplex**, int, int*, int);
cusolverStatus_t cusolverDnCreate(cusolverDnHandle_t*);
cusolverStatus_t cusolverDnCreateGesvdjInfo(gesvdjInfo_t*);
cusolverStatus_t cusolverDnCreateParams(cusolverDnParams_t*);
cusolverStatus_t cusolverDnCreateSyevjInfo(syevjInfo_t*);
cusolverStatus_t cusolverDnCsytrf(cusolverDnHandle_t, cublasFillMode_t, int, cuComplex*, int, int*, cuComplex*, int,
    int*);
cusolverStatus_t cusolverDnCsytrf_bufferSize(cusolverDnHandle_t, int, cuComplex*, int, int*);
cusolverStatus_t cusolverDnCsytri(cusolverDnHandle_t, cublasFillMode_t, int, cuComplex*, int, const int*, cuComplex*,
    int, int*);
cusolverStatus_t cusolverDnCsytri_bufferSize(cusolverDnHandle_t, cublasFillMode_t, int, cuComplex*, int, const int*,
    int*);
cusolverStatus_t cusolverDnCungbr(cusolverDnHandle_t, cublasSideMode_t, int, int, int, cuComplex*, int,
    const cuComplex*, cuComplex*, int, int*);
cusolverStatus_t cusolverDnCungbr_bufferSize(cusolverDnHandle_t, cublasSideMode_t, int, int, int, const cuComplex*,
    int, const cuComplex*, int*);
cusolverStatus_t cusolverDnCungqr(cusolverDnHandle_t, int, int, int, cuComplex*, int, const cuComplex*, cuComplex*,
    int, int*);
cusolverStatus_t cusolverDnCungqr_bufferSize(cusolverDnHandle_t, int, int, int, const cuComplex*, int,
    const cuComplex*, int*);
cusolverStatus_t cusolverDnCungtr(cusolverDnHandle_t, cublasFillMode_t, int, cuComplex*, int, const cuComplex*,
    cuComplex*, int, int*);
cusolverStatus_t cusolverDnCungtr_bufferSize(cusolverDnHandle_t, cublasFillMode_t, int, const cuComplex*, int,
    const cuComplex*, int*);
cusolverStatus_t cusolverDnCunmqr(cusolverDnHandle_t, cublasSideMode_t, cublasOperation_t, int, int, int,
    const cuComplex*, int, const cuComplex*, cuComplex*, int, cuComplex*, int, int*);
cusolverStatus_t cusolverDnCunmqr_bufferSize(cusolverDnHandle_t, cublasSideMode_t, cublasOperation_t, int, int, int,
    const cuComplex*, int, const cuComplex*, const cuComplex*, int, int*);
cusolverStatus_t cusolverDnCunmtr(cusolverDnHandle_t, cublasSideMode_t, cublasFillMode_t, cublasOperation_t, int, int,
    cuComplex*, int, cuComplex*, cuComplex*, int, cuComplex*, int, int*);
cusolverStatus_t cusolverDnCunmtr_bufferSize(cusolverDnHandle_t, cublasSideMode_t, cublasFillMode_t,
    cublasOperation_t, int, int, const cuComplex*, int, const cuComplex*, const cuComplex*, int, int*);
cusolverStatus_t cusolverDnDBgels(cusolverDnHandle_t, cusolver_int_t, cusolver_int_t, cusolver_int_t, double*,
    cusolver_int_t, double*, cusolver_int_t, double*, cusolver_int_t, void*, size_t, cusolver_int_t*,
    cusolver_int_t*);
cusolverStatus_t cusolverDnDBgels_bufferSize(cusolverDnHandle_t, cusolver_int_t, cusolver_int_t, cusolver_int_t,
    double*, cusolver_int_t, double*, cusolver_int_t, double*, cusolver_int_t, void*, size_t*);
cusolverStatus_t cusolverDnDBgesv(cusolverDnHandle_t, cusolver_int_t, cusolver_int_t, double*, cusolver_int_t,
    cusolver_int_t*, double*, cusolver_int_t, double*, cusolver_int_t, void*, size_t, cusolver_int_t*,
    cusolver_int_t*);
cusolverStatus_t cusolverDnDBgesv_bufferSize(cusolverDnHandle_t, cusolver_int_t, cusolver_int_t, double*,
    cusolver_int_t, cusolver_int_t*, double*, cusolver_int_t, double*, cusolver_int_t, void*, size_t*);
cusolverStatus_t cusolverDnDDgels(cusolverDnHandle_t, cusolver_int_t, cusolver_int_t, cusolver_int_t, double*,
    cusolver_int_t, double*, cusolver_int_t, double*, cusolver_int_t, void*, size_t, cusolver_int_t*,
    cusolver_int_t*);
cusolverStatus_t cusolverDnDDgels_bufferSize(cusolverDnHandle_t, cusolver_int_t, cusolver_int_t, cusolver_int_t,
    double*, cusolver_int_t, double*, cusolver_int_t, double*, cusolver_int_t, void*, size_t*);
cusolverStatus_t cusolverDnDDgesv(cusolverDnHandle_t, cusolver_int_t, cusolver_int_t, double*, cusolver_int_t,
    cusolver_int_t*, double*, cusolver_int_t, double*, cusolver_int_t, void*, size_t, cusolver_int_t*,
    cusolver_int_t*);
cusolverStatus_t cusolverDnDDgesv_bufferSize(cusolverDnHandle_t, cusolver_int_t, cusolver_int_t, double*,
    cusolver_int_t, cusolver_int_t*, double*, cusolver_int_t, double*, cusolver_int_t, void*, size_t*);
cusolverStatus_t cusolverDnDHgels(cusolverDnHandle_t, cusolver_int_t, cusolver_int_t, cusolver_int_t, double*,
    cusolver_int_t, double*, cusolver_int_t, double*, cusolver_int_t, void*, size_t, cusolver_int_t*,
    cusolver_int_t*);
cusolverStatus_t cusolverDnDHgels_bufferSize(cusolverDnHandle_t, cusolver_int_t, cusolver_int_t, cusolver_int_t,
    double*, cusolver_int_t, double*, cusolver_int_t, double*, cusolver_int_t, void*, size_t*);
cusolverStatus_t cusolverDnDHgesv(cusolverDnHandle_t, cusolver_int_t, cusolver_int_t, double*, cusolver_int_t,
    cusolver_int_t*, double*, cusolver_int_t, double*, cusolver_int_t, void*, size_t, cusolver_int_t*,
    cusolver_int_t*);
cusolverStatus_t cusolverDnDHgesv_bufferSize(cusolverDnHandle_t, cusolver_int_t, cusolver_int_t, double*,
    cusolver_int_t, cusolver_int_t*, double*, cusolver_int_t, double*, cusolver_int_t, void*, size_t*);
cusolverStatus_t cusolverDnDSgels(cusolverDnHandle_t, cusolver_int_t, cusolver_int_t, cusolver_int_t, double*,
    cusolver_int_t, double*, cusolver_int_t, double*, cusolver_int_t, void*, size_t, cusolver_int_t*,
    cusolver_int_t*);
cusolverStatus_t cusolverDnDSgels_bufferSize(cusolverDnHandle_t, cusolver_int_t, cusolver_int_t, cusolver_int_t,
    double*, cusolver_int_t, double*, cusolver_int_t, double*, cusolver_int_t, void*, size_t*);
cusolverStatus_t cusolverDnDSgesv(cusolverDnHandle_t, cusolver_int_t, cusolver_int_t, double*, cusolver_int_t,
    cusolver_int_t*, double*, cusolver_int_t, double*, cusolver_int_t, void*, size_t, cusolver_int_t*,
    cusolver_int_t*);
cusolverStatus_t cusolverDnDSgesv_bufferSize(cusolverDnHandle_t, cusolver_int_t, cusolver_int_t, double*,
    cusolver_int_t, cusolver_int_t*, double*, cusolver_int_t, double*, cusolver_int_t, void*, size_t*);
cusolverStatus_t cusolverDnDXgels(cusolverDnHandle_t, cusolver_int_t, cusolver_int_t, cusolver_int_t, double*,
    cusolver_int_t, double*, cusolver_int_t, double*, cusolver_int_t, void*, size_t, cusolver_int_t*,
    cusolver_int_t*);
cusolverStatus_t cusolverDnDXgels_bufferSize(cusolverDnHandle_t, cusolver_int_t, cusolver_int_t, cusolver_int_t,
    double*, cusolver_int_t, double*, cusolver_int_t, double*, cusolver_int_t, void*, size_t*);
cusolverStatus_t cusolverDnDXgesv(cusolverDnHandle_t, cusolver_int_t, cusolver_int_t, double*, cusolver_int_t,
    cusolver_int_t*, double*, cusolver_int_t, double*, cusolver_int_t, void*, size_t, cusolver_int_t*,
    cusolver_int_t*);
cusolverStatus_t cusolverDnDXgesv_bufferSize(cusolverDnHandle_t, cusolver_int_t, cusolver_int_t, double*,
    cusolver_int_t, cusolver_int_t*, double*, cusolver_int_t, double*, cusolver_int_t, void*, size_t*);
cusolverStatus_t cusolverDnDestroy(cusolverDnHandle_t);
cusolverStatus_t cusolverDnDestroyGesvdjInfo(gesvdjInfo_t);
cusolverStatus_t cusolverDnDestroyParams(cusolverDnParams_t);
cusolverStatus_t cusolverDnDestroySyevjInfo(syevjInfo_t);
cusolverStatus_t cusolverDnDgebrd(cusolverDnHandle_t, int, int, double*, int, double*, double*, double*, double*,
    double*, int, int*);
cusolverStatus_t cusolverDnDgebrd_bufferSize(cusolverDnHandle_t, int, int, int*);
cusolverStatus_t cusolverDnDgeqrf(cusolverDnHandle_t, int, int, double*, int, double*, double*, int, int*);
cusolverStatus_t cusolverDnDgeqrf_bufferSize(cusolverDnHandle_t, int, int, double*, int, int*);
cusolverStatus_t cusolverDnDgesvd(cusolverDnHandle_t, signed char, signed char, int, int, double*, int, double*,
    double*, int, double*, int, double*, int, double*, int*);
cusolverStatus_t cusolverDnDgesvd_bufferSize(cusolverDnHandle_t, int, int, int*);
cusolverStatus_t cusolverDnDgesvdaStridedBatched(cusolverDnHandle_t, cusolverEigMode_t, int, int, int, const double*,
    int, long long, double*, long long, double*, int, long long, double*, int, long long, double*, int, int*, double*,
    int);
cusolverStatus_t cusolverDnDgesvdaStridedBatched_bufferSize(cusolverDnHandle_t, cusolverEigMode_t, int, int, int,
    const double*, int, long long, const double*, long long, const double*, int, long long, const double*, int, long
    long, int*, int);
cusolverStatus_t cusolverDnDgesvdj(cusolverDnHandle_t, cusolverEigMode_t, int, int, int, double*, int, double*,
    double*, int, double*, int, double*, int, int*, gesvdjInfo_t);
cusolverStatus_t cusolverDnDgesvdjBatched(cusolverDnHandle_t, cusolverEigMode_t, int, int, double*, int, double*,
    double*, int, double*, int, double*, int, int*, gesvdjInfo_t, int);
cusolverStatus_t cusolverDnDgesvdjBatched_bufferSize(cusolverDnHandle_t, cusolverEigMode_t, int, int, const double*,
    int, const double*, const double*, int, const double*, int, int*, gesvdjInfo_t, int);
cusolverStatus_t cusolverDnDgesvdj_bufferSize(cusolverDnHandle_t, cusolverEigMode_t, int, int, int, const double*,
    int, const double*, const double*, int, const double*, int, int*, gesvdjInfo_t);
cusolverStatus_t cusolverDnDgetrf(cusolverDnHandle_t, int, int, double*, int, double*, int*, int*);
cusolverStatus_t cusolverDnDgetrf_bufferSize(cusolverDnHandle_t, int, int, double*, int, int*);
cusolverStatus_t cusolverDnDgetrs(cusolverDnHandle_t, cublasOperation_t, int, int, const double*, int, const int*,
    double*, int, int*);
cusolverStatus_t cusolverDnDlaswp(cusolverDnHandle_t, int, double*, int, int, int, const int*, int);
cusolverStatus_t cusolverDnDlauum(cusolverDnHandle_t, cublasFillMode_t, int, double*, int, double*, int, int*);
cusolverStatus_t cusolverDnDlauum_bufferSize(cusolverDnHandle_t, cublasFillMode_t, int, double*, int, int*);
cusolverStatus_t cusolverDnDorgbr(cusolverDnHandle_t, cublasSideMode_t, int, int, int, double*, int, const double*,
    double*, int, int*);
cusolverStatus_t cusolverDnDorgbr_bufferSize(cusolverDnHandle_t, cublasSideMode_t, int, int, int, const double*, int,
    const double*, int*);
cusolverStatus_t cusolverDnDorgqr(cusolverDnHandle_t, int, int, int, double*, int, const double*, double*, int, int*);
cusolverStatus_t cusolverDnDorgqr_bufferSize(cusolverDnHandle_t, int, int, int, const double*, int, const double*,
    int*);
cusolverStatus_t cusolverDnDorgtr(cusolverDnHandle_t, cublasFillMode_t, int, double*, int, const double*, double*,
    int, int*);
cusolverStatus_t cusolverDnDorgtr_bufferSize(cusolverDnHandle_t, cublasFillMode_t, int, const double*, int,
    const double*, int*);
cusolverStatus_t cusolverDnDormqr(cusolverDnHandle_t, cublasSideMode_t, cublasOperation_t, int, int, int,
    const double*, int, const double*, double*, int, double*, int, int*);
cusolverStatus_t cusolverDnDormqr_bufferSize(cusolverDnHandle_t, cublasSideMode_t, cublasOperation_t, int, int, int,
    const double*, int, const double*, const double*, int, int*);
cusolverStatus_t cusolverDnDormtr(cusolverDnHandle_t, cublasSideMode_t, cublasFillMode_t, cublasOperation_t, int, int,
    double*, int, double*, double*, int, double*, int, int*);
cusolverStatus_t cusolverDnDormtr_bufferSize(cusolverDnHandle_t, cublasSideMode_t, cublasFillMode_t,
    cublasOperation_t, int, int, const double*, int, const double*, const double*, int, int*);
cusolverStatus_t cusolverDnDpotrf(cusolverDnHandle_t, cublasFillMode_t, int, double*, int, double*, int, int*);
cusolverStatus_t cusolverDnDpotrfBatched(cusolverDnHandle_t, cublasFillMode_t, int, double**, int, int*, int);
cusolverStatus_t cusolverDnDpotrf_bufferSize(cusolverDnHandle_t, cublasFillMode_t, int, double*, int, int*);
cusolverStatus_t cusolverDnDpotri(cusolverDnHandle_t, cublasFillMode_t, int, double*, int, double*, int, int*);
cusolverStatus_t cusolverDnDpotri_bufferSize(cusolverDnHandle_t, cublasFillMode_t, int, double*, int, int*);
cusolverStatus_t cusolverDnDpotrs(cusolverDnHandle_t, cublasFillMode_t, int, int, const double*, int, double*, int,
    int*);
cusolverStatus_t cusolverDnDpotrsBatched(cusolverDnHandle_t, cublasFillMode_t, int, int, double**, int, double**, int,
    int*, int);
cusolverStatus_t cusolverDnDsyevd(cusolverDnHandle_t, cusolverEigMode_t, cublasFillMode_t, int, double*, int, double*,
    double*, int, int*);
cusolverStatus_t cusolverDnDsyevd_bufferSize(cusolverDnHandle_t, cusolverEigMode_t, cublasFillMode_t, int,
    const double*, int, const double*, int*);
cusolverStatus_t cusolverDnDsyevdx(cusolverDnHandle_t, cusolverEigMode_t, cusolverEigRange_t, cublasFillMode_t, int,
    double*, int, double, double, int, int, int*, double*, double*, int, int*);
cusolverStatus_t cusolverDnDsyevdx_bufferSize(cusolverDnHandle_t, cusolverEigMode_t, cusolverEigRange_t,
    cublasFillMode_t, int, const double*, int, double, double, int, int, int*, const double*, int*);
cusolverStatus_t cusolverDnDsyevj(cusolverDnHandle_t, cusolverEigMode_t, cublasFillMode_t, int, double*, int, double*,
    double*, int, int*, syevjInfo_t);
cusolverStatus_t cusolverDnDsyevjBatched(cusolverDnHandle_t, cusolverEigMode_t, cublasFillMode_t, int, double*, int,
    double*, double*, int, int*, syevjInfo_t, int);
cusolverStatus_t cusolverDnDsyevjBatched_bufferSize(cusolverDnHandle_t, cusolverEigMode_t, cublasFillMode_t, int,
    const double*, int, const double*, int*, syevjInfo_t, int);
cusolverStatus_t cusolverDnDsyevj_bufferSize(cusolverDnHandle_t, cusolverEigMode_t, cublasFillMode_t, int,
    const double*, int, const double*, int*, syevjInfo_t);
cusolverStatus_t cusolverDnDsygvd(cusolverDnHandle_t, cusolverEigType_t, cusolverEigMode_t, cublasFillMode_t, int,
    double*, int, double*, int, double*, double*, int, int*);
cusolverStatus_t cusolverDnDsygvd_bufferSize(cusolverDnHandle_t, cusolverEigType_t, cusolverEigMode_t,
    cublasFillMode_t, int, const double*, int, const double*, int, const double*, int*);
cusolverStatus_t cusolverDnDsygvdx(cusolverDnHandle_t, cusolverEigType_t, cusolverEigMode_t, cusolverEigRange_t,
    cublasFillMode_t, int, double*, int, double*, int, double, double, int, int, int*, double*, double*, int, int*);
cusolverStatus_t cusolverDnDsygvdx_bufferSize(cusolverDnHandle_t, cusolverEigType_t, cusolverEigMode_t,
    cusolverEigRange_t, cublasFillMode_t, int, const double*, int, const double*, int, double, double, int, int, int*,
    const double*, int*);
cusolverStatus_t cusolverDnDsygvj(cusolverDnHandle_t, cusolverEigType_t, cusolverEigMode_t, cublasFillMode_t, int,
    double*, int, double*, int, double*, double*, int, int*, syevjInfo_t);
cusolverStatus_t cusolverDnDsygvj_bufferSize(cusolverDnHandle_t, cusolverEigType_t, cusolverEigMode_t,
    cublasFillMode_t, int, const double*, int, const double*, int, const double*, int*, syevjInfo_t);
cusolverStatus_t cusolverDnDsytrd(cusolverDnHandle_t, cublasFillMode_t, int, double*, int, double*, double*, double*,
    double*, int, int*);
cusolverStatus_t cusolverDnDsytrd_bufferSize(cusolverDnHandle_t, cublasFillMode_t, int, const double*, int,
    const double*, const double*, const double*, int*);
cusolverStatus_t cusolverDnDsytrf(cusolverDnHandle_t, cublasFillMode_t, int, double*, int, int*, double*, int, int*);
cusolverStatus_t cusolverDnDsytrf_bufferSize(cusolverDnHandle_t, int, double*, int, int*);
cusolverStatus_t cusolverDnDsytri(cusolverDnHandle_t, cublasFillMode_t, int, double*, int, const int*, double*, int,
    int*);
cusolverStatus_t cusolverDnDsytri_bufferSize(cusolverDnHandle_t, cublasFillMode_t, int, double*, int, const int*,
    int*);
cusolverStatus_t cusolverDnGeqrf(cusolverDnHandle_t, cusolverDnParams_t, int64_t, int64_t, cudaDataType, void*,
    int64_t, cudaDataType, void*, cudaDataType, void*, size_t, int*);
cusolverStatus_t cusolverDnGeqrf_bufferSize(cusolverDnHandle_t, cusolverDnParams_t, int64_t, int64_t, cudaDataType,
    const void*, int64_t, cudaDataType, const void*, cudaDataType, size_t*);
cusolverStatus_t cusolverDnGesvd(cusolverDnHandle_t, cusolverDnParams_t, signed char, signed char, int64_t, int64_t,
    cudaDataType, void*, int64_t, cudaDataType, void*, cudaDataType, void*, int64_t, cudaDataType, void*, int64_t,
    cudaDataType, void*, size_t, int*);
cusolverStatus_t cusolverDnGesvd_bufferSize(cusolverDnHandle_t, cusolverDnParams_t, signed char, signed char, int64_t,
    int64_t, cudaDataType, const void*, int64_t, cudaDataType, const void*, cudaDataType, const void*, int64_t,
    cudaDataType, const void*, int64_t, cudaDataType, size_t*);
cusolverStatus_t cusolverDnGetDeterministicMode(cusolverDnHandle_t, cusolverDeterministicMode_t*);
cusolverStatus_t cusolverDnGetMathMode(cusolverDnHandle_t, cusolverMathMode_t*);
cusolverStatus_t cusolverDnGetStream(cusolverDnHandle_t, cudaStream_t*);
cusolverStatus_t cusolverDnGetrf(cusolverDnHandle_t, cusolverDnParams_t, int64_t, int64_t, cudaDataType, void*,
    int64_t, int64_t*, cudaDataType, void*, size_t, int*);
cusolverStatus_t cusolverDnGetrf_bufferSize(cusolverDnHandle_t, cusolverDnParams_t, int64_t, int64_t, cudaDataType,
    const void*, int64_t, cudaDataType, size_t*);
cusolverStatus_t cusolverDnGetrs(cusolverDnHandle_t, cusolverDnParams_t, cublasOperation_t, int64_t, int64_t,
    cudaDataType, const void*, int64_t, const int64_t*, cudaDataType, void*, int64_t, int*);
cusolverStatus_t cusolverDnPotrf(cusolverDnHandle_t, cusolverDnParams_t, cublasFillMode_t, int64_t, cudaDataType,
    void*, int64_t, cudaDataType, void*, size_t, int*);
cusolverStatus_t cusolverDnPotrf_bufferSize(cusolverDnHandle_t, cusolverDnParams_t, cublasFillMode_t, int64_t,
    cudaDataType, const void*, int64_t, cudaDataType, size_t*);
cusolverStatus_t cusolverDnPotrs(cusolverDnHandle_t, cusolverDnParams_t, cublasFillMode_t, int64_t, int64_t,
    cudaDataType, const void*, int64_t, cudaDataType, void*, int64_t, int*);
cusolverStatus_t cusolverDnSBgels(cusolverDnHandle_t, cusolver_int_t, cusolver_int_t, cusolver_int_t, float*,
    cusolver_int_t, float*, cusolver_int_t, float*, cusolver_int_t, void*, size_t, cusolver_int_t*, cusolver_int_t*);
cusolverStatus_t cusolverDnSBgels_bufferSize(cusolverDnHandle_t, cusolver_int_t, cusolver_int_t, cusolver_int_t,
    float*, cusolver_int_t, float*, cusolver_int_t, float*, cusolver_int_t, void*, size_t*);
cusolverStatus_t cusolverDnSBgesv(cusolverDnHandle_t, cusolver_int_t, cusolver_int_t, float*, cusolver_int_t,
    cusolver_int_t*, float*, cusolver_int_t, float*, cusolver_int_t, void*, size_t, cusolver_int_t*, cusolver_int_t*);
cusolverStatus_t cusolverDnSBgesv_bufferSize(cusolverDnHandle_t, cusolver_int_t, cusolver_int_t, float*,
    cusolver_int_t, cusolver_int_t*, float*, cusolver_int_t, float*, cusolver_int_t, void*, size_t*);
cusolverStatus_t cusolverDnSHgels(cusolverDnHandle_t, cusolver_int_t, cusolver_int_t, cusolver_int_t, float*,
    cusolver_int_t, float*, cusolver_int_t, float*, cusolver_int_t, void*, size_t, cusolver_int_t*, cusolver_int_t*);
cusolverStatus_t cusolverDnSHgels_bufferSize(cusolverDnHandle_t, cusolver_int_t, cusolver_int_t, cusolver_int_t,
    float*, cusolver_int_t, float*, cusolver_int_t, float*, cusolver_int_t, void*, size_t*);
cusolverStatus_t cusolverDnSHgesv(cusolverDnHandle_t, cusolver_int_t, cusolver_int_t, float*, cusolver_int_t,
    cusolver_int_t*, float*, cusolver_int_t, float*, cusolver_int_t, void*, size_t, cusolver_int_t*, cusolver_int_t*);
cusolverStatus_t cusolverDnSHgesv_bufferSize(cusolverDnHandle_t, cusolver_int_t, cusolver_int_t, float*,
    cusolver_int_t, cusolver_int_t*, float*, cusolver_int_t, float*, cusolver_int_t, void*, size_t*);
cusolverStatus_t cusolverDnSSgels(cusolverDnHandle_t, cusolver_int_t, cusolver_int_t, cusolver_int_t, float*,
    cusolver_int_t, float*, cusolver_int_t, float*, cusolver_int_t, void*, size_t, cusolver_int_t*, cusolver_int_t*);
cusolverStatus_t cusolverDnSSgels_bufferSize(cusolverDnHandle_t, cusolver_int_t, cusolver_int_t, cusolver_int_t,
    float*, cusolver_int_t, float*, cusolver_int_t, float*, cusolver_int_t, void*, size_t*);
cusolverStatus_t cusolverDnSSgesv(cusolverDnHandle_t, cusolver_int_t, cusolver_int_t, float*, cusolver_int_t,
    cusolver_int_t*, float*, cusolver_int_t, float*, cusolver_int_t, void*, size_t, cusolver_int_t*, cusolver_int_t*);
cusolverStatus_t cusolverDnSSgesv_bufferSize(cusolverDnHandle_t, cusolver_int_t, cusolver_int_t, float*,
    cusolver_int_t, cusolver_int_t*, float*, cusolver_int_t, float*, cusolver_int_t, void*, size_t*);
cusolverStatus_t cusolverDnSXgels(cusolverDnHandle_t, cusolver_int_t, cusolver_int_t, cusolver_int_t, float*,
    cusolver_int_t, float*, cusolver_int_t, float*, cusolver_int_t, void*, size_t, cusolver_int_t*, cusolver_int_t*);
cusolverStatus_t cusolverDnSXgels_bufferSize(cusolverDnHandle_t, cusolver_int_t, cusolver_int_t, cusolver_int_t,
    float*, cusolver_int_t, float*, cusolver_int_t, float*, cusolver_int_t, void*, size_t*);
cusolverStatus_t cusolverDnSXgesv(cusolverDnHandle_t, cusolver_int_t, cusolver_int_t, float*, cusolver_int_t,
    cusolver_int_t*, float*, cusolver_int_t, float*, cusolver_int_t, void*, size_t, cusolver_int_t*, cusolver_int_t*);
cusolverStatus_t cusolverDnSXgesv_bufferSize(cusolverDnHandle_t, cusolver_int_t, cusolver_int_t, float*,
    cusolver_int_t, cusolver_int_t*, float*, cusolver_int_t, float*, cusolver_int_t, void*, size_t*);
cusolverStatus_t cusolverDnSetAdvOptions(cusolverDnParams_t, cusolverDnFunction_t, cusolverAlgMode_t);
cusolverStatus_t cusolverDnSetDeterministicMode(cusolverDnHandle_t, cusolverDeterministicMode_t);
cusolverStatus_t cusolverDnSetMathMode(cusolverDnHandle_t, cusolverMathMode_t);
cusolverStatus_t cusolverDnSetStream(cusolverDnHandle_t, cudaStream_t);
cusolverStatus_t cusolverDnSgebrd(cusolverDnHandle_t, int, int, float*, int, float*, float*, float*, float*, float*,
    int, int*);
cusolverStatus_t cusolverDnSgebrd_bufferSize(cusolverDnHandle_t, int, int, int*);
cusolverStatus_t cusolverDnSgeqrf(cusolverDnHandle_t, int, int, float*, int, float*, float*, int, int*);
cusolverStatus_t cusolverDnSgeqrf_bufferSize(cusolverDnHandle_t, int, int, float*, int, int*);
cusolverStatus_t cusolverDnSgesvd(cusolverDnHandle_t, signed char, signed char, int, int, float*, int, float*, float*,
    int, float*, int, float*, int, float*, int*);
cusolverStatus_t cusolverDnSgesvd_bufferSize(cusolverDnHandle_t, int, int, int*);
cusolverStatus_t cusolverDnSgesvdaStridedBatched(cusolverDnHandle_t, cusolverEigMode_t, int, int, int, const float*,
    int, long long, float*, long long, float*, int, long long, float*, int, long long, float*, int, int*, double*,
    int);
cusolverStatus_t cusolverDnSgesvdaStridedBatched_bufferSize(cusolverDnHandle_t, cusolverEigMode_t, int, int, int,
    const float*, int, long long, const float*, long long, const float*, int, long long, const float*, int, long long,
    int*, int);
cusolverStatus_t cusolverDnSgesvdj(cusolverDnHandle_t, cusolverEigMode_t, int, int, int, float*, int, float*, float*,
    int, float*, int, float*, int, int*, gesvdjInfo_t);
cusolverStatus_t cusolverDnSgesvdjBatched(cusolverDnHandle_t, cusolverEigMode_t, int, int, float*, int, float*,
    float*, int, float*, int, float*, int, int*, gesvdjInfo_t, int);
cusolverStatus_t cusolverDnSgesvdjBatched_bufferSize(cusolverDnHandle_t, cusolverEigMode_t, int, int, const float*,
    int, const float*, const float*, int, const float*, int, int*, gesvdjInfo_t, int);
cusolverStatus_t cusolverDnSgesvdj_bufferSize(cusolverDnHandle_t, cusolverEigMode_t, int, int, int, const float*, int,
    const float*, const float*, int, const float*, int, int*, gesvdjInfo_t);
cusolverStatus_t cusolverDnSgetrf(cusolverDnHandle_t, int, int, float*, int, float*, int*, int*);
cusolverStatus_t cusolverDnSgetrf_bufferSize(cusolverDnHandle_t, int, int, float*, int, int*);
cusolverStatus_t cusolverDnSgetrs(cusolverDnHandle_t, cublasOperation_t, int, int, const float*, int, const int*,
    float*, int, int*);
cusolverStatus_t cusolverDnSlaswp(cusolverDnHandle_t, int, float*, int, int, int, const int*, int);
cusolverStatus_t cusolverDnSlauum(cusolverDnHandle_t, cublasFillMode_t, int, float*, int, float*, int, int*);
cusolverStatus_t cusolverDnSlauum_bufferSize(cusolverDnHandle_t, cublasFillMode_t, int, float*, int, int*);
cusolverStatus_t cusolverDnSorgbr(cusolverDnHandle_t, cublasSideMode_t, int, int, int, float*, int, const float*,
    float*, int, int*);
cusolverStatus_t cusolverDnSorgbr_bufferSize(cusolverDnHandle_t, cublasSideMode_t, int, int, int, const float*, int,
    const float*, int*);
cusolverStatus_t cusolverDnSorgqr(cusolverDnHandle_t, int, int, int, float*, int, const float*, float*, int, int*);
cusolverStatus_t cusolverDnSorgqr_bufferSize(cusolverDnHandle_t, int, int, int, const float*, int, const float*,
    int*);
cusolverStatus_t cusolverDnSorgtr(cusolverDnHandle_t, cublasFillMode_t, int, float*, int, const float*, float*, int,
    int*);
cusolverStatus_t cusolverDnSorgtr_bufferSize(cusolverDnHandle_t, cublasFillMode_t, int, const float*, int,
    const float*, int*);
cusolverStatus_t cusolverDnSormqr(cusolverDnHandle_t, cublasSideMode_t, cublasOperation_t, int, int, int,
    const float*, int, const float*, float*, int, float*, int, int*);
cusolverStatus_t cusolverDnSormqr_bufferSize(cusolverDnHandle_t, cublasSideMode_t, cublasOperation_t, int, int, int,
    const float*, int, const float*, const float*, int, int*);
cusolverStatus_t cusolverDnSormtr(cusolverDnHandle_t, cublasSideMode_t, cublasFillMode_t, cublasOperation_t, int, int,
    float*, int, float*, float*, int, float*, int, int*);
cusolverStatus_t cusolverDnSormtr_bufferSize(cusolverDnHandle_t, cublasSideMode_t, cublasFillMode_t,
    cublasOperation_t, int, int, const float*, int, const float*, const float*, int, int*);
cusolverStatus_t cusolverDnSpotrf(cusolverDnHandle_t, cublasFillMode_t, int, float*, int, float*, int, int*);
cusolverStatus_t cusolverDnSpotrfBatched(cusolverDnHandle_t, cublasFillMode_t, int, float**, int, int*, int);
cusolverStatus_t cusolverDnSpotrf_bufferSize(cusolverDnHandle_t, cublasFillMode_t, int, float*, int, int*);
cusolverStatus_t cusolverDnSpotri(cusolverDnHandle_t, cublasFillMode_t, int, float*, int, float*, int, int*);
cusolverStatus_t cusolverDnSpotri_bufferSize(cusolverDnHandle_t, cublasFillMode_t, int, float*, int, int*);
cusolverStatus_t cusolverDnSpotrs(cusolverDnHandle_t, cublasFillMode_t, int, int, const float*, int, float*, int,
    int*);
cusolverStatus_t cusolverDnSpotrsBatched(cusolverDnHandle_t, cublasFillMode_t, int, int, float**, int, float**, int,
    int*, int);
cusolverStatus_t cusolverDnSsyevd(cusolverDnHandle_t, cusolverEigMode_t, cublasFillMode_t, int, float*, int, float*,
    float*, int, int*);
cusolverStatus_t cusolverDnSsyevd_bufferSize(cusolverDnHandle_t, cusolverEigMode_t, cublasFillMode_t, int,
    const float*, int, const float*, int*);
cusolverStatus_t cusolverDnSsyevdx(cusolverDnHandle_t, cusolverEigMode_t, cusolverEigRange_t, cublasFillMode_t, int,
    float*, int, float, float, int, int, int*, float*, float*, int, int*);
cusolverStatus_t cusolverDnSsyevdx_bufferSize(cusolverDnHandle_t, cusolverEigMode_t, cusolverEigRange_t,
    cublasFillMode_t, int, const float*, int, float, float, int, int, int*, const float*, int*);
cusolverStatus_t cusolverDnSsyevj(cusolverDnHandle_t, cusolverEigMode_t, cublasFillMode_t, int, float*, int, float*,
    float*, int, int*, syevjInfo_t);
cusolverStatus_t cusolverDnSsyevjBatched(cusolverDnHandle_t, cusolverEigMode_t, cublasFillMode_t, int, float*, int,
    float*, float*, int, int*, syevjInfo_t, int);
cusolverStatus_t cusolverDnSsyevjBatched_bufferSize(cusolverDnHandle_t, cusolverEigMode_t, cublasFillMode_t, int,
    const float*, int, const float*, int*, syevjInfo_t, int);
cusolverStatus_t cusolverDnSsyevj_bufferSize(cusolverDnHandle_t, cusolverEigMode_t, cublasFillMode_t, int,
    const float*, int, const float*, int*, syevjInfo_t);
cusolverStatus_t cusolverDnSsygvd(cusolverDnHandle_t, cusolverEigType_t, cusolverEigMode_t, cublasFillMode_t, int,
    float*, int, float*, int, float*, float*, int, int*);
cusolverStatus_t cusolverDnSsygvd_bufferSize(cusolverDnHandle_t, cusolverEigType_t, cusolverEigMode_t,
    cublasFillMode_t, int, const float*, int, const float*, int, const float*, int*);
cusolverStatus_t cusolverDnSsygvdx(cusolverDnHandle_t, cusolverEigType_t, cusolverEigMode_t, cusolverEigRange_t,
    cublasFillMode_t, int, float*, int, float*, int, float, float, int, int, int*, float*, float*, int, int*);
cusolverStatus_t cusolverDnSsygvdx_bufferSize(cusolverDnHandle_t, cusolverEigType_t, cusolverEigMode_t,
    cusolverEigRange_t, cublasFillMode_t, int, const float*, int, const float*, int, float, float, int, int, int*,
    const float*, int*);
cusolverStatus_t cusolverDnSsygvj(cusolverDnHandle_t, cusolverEigType_t, cusolverEigMode_t, cublasFillMode_t, int,
    float*, int, float*, int, float*, float*, int, int*, syevjInfo_t);
cusolverStatus_t cusolverDnSsygvj_bufferSize(cusolverDnHandle_t, cusolverEigType_t, cusolverEigMode_t,
    cublasFillMode_t, int, const float*, int, const float*, int, const float*, int*, syevjInfo_t);
cusolverStatus_t cusolverDnSsytrd(cusolverDnHandle_t, cublasFillMode_t, int, float*, int, float*, float*, float*,
    float*, int, int*);
cusolverStatus_t cusolverDnSsytrd_bufferSize(cusolverDnHandle_t, cublasFillMode_t, int, const float*, int,
    const float*, const float*, const float*, int*);
cusolverStatus_t cusolverDnSsytrf(cusolverDnHandle_t, cublasFillMode_t, int, float*, int, int*, float*, int, int*);
cusolverStatus_t cusolverDnSsytrf_bufferSize(cusolverDnHandle_t, int, float*, int, int*);
cusolverStatus_t cusolverDnSsytri(cusolverDnHandle_t, cublasFillMode_t, int, float*, int, const int*, float*, int,
    int*);
cusolverStatus_t cusolverDnSsytri_bufferSize(cusolverDnHandle_t, cublasFillMode_t, int, float*, int, const int*,
    int*);
cusolverStatus_t cusolverDnSyevd(cusolverDnHandle_t, cusolverDnParams_t, cusolverEigMode_t, cublasFillMode_t, int64_t,
    cudaDataType, void*, int64_t, cudaDataType, void*, cudaDataType, void*, size_t, int*);
cusolverStatus_t cusolverDnSyevd_bufferSize(cusolverDnHandle_t, cusolverDnParams_t, cusolverEigMode_t,
    cublasFillMode_t, int64_t, cudaDataType, const void*, int64_t, cudaDataType, const void*, cudaDataType, size_t*);
cusolverStatus_t cusolverDnSyevdx(cusolverDnHandle_t, cusolverDnParams_t, cusolverEigMode_t, cusolverEigRange_t,
    cublasFillMode_t, int64_t, cudaDataType, void*, int64_t, void*, void*, int64_t, int64_t, int64_t*, cudaDataType,
    void*, cudaDataType, void*, size_t, int*);
cusolverStatus_t cusolverDnSyevdx_bufferSize(cusolverDnHandle_t, cusolverDnParams_t, cusolverEigMode_t,
    cusolverEigRange_t, cublasFillMode_t, int64_t, cudaDataType, const void*, int64_t, void*, void*, int64_t, int64_t,
    int64_t*, cudaDataType, const void*, cudaDataType, size_t*);
cusolverStatus_t cusolverDnXgeev(cusolverDnHandle_t, cusolverDnParams_t, cusolverEigMode_t, cusolverEigMode_t,
    int64_t, cudaDataType, void*, int64_t, cudaDataType, void*, cudaDataType, void*, int64_t, cudaDataType, void*,
    int64_t, cudaDataType, void*, size_t, void*, size_t, int*);
cusolverStatus_t cusolverDnXgeev_bufferSize(cusolverDnHandle_t, cusolverDnParams_t, cusolverEigMode_t,
    cusolverEigMode_t, int64_t, cudaDataType, const void*, int64_t, cudaDataType, const void*, cudaDataType,
    const void*, int64_t, cudaDataType, const void*, int64_t, cudaDataType, size_t*, size_t*);
cusolverStatus_t cusolverDnXgeqrf(cusolverDnHandle_t, cusolverDnParams_t, int64_t, int64_t, cudaDataType, void*,
    int64_t, cudaDataType, void*, cudaDataType, void*, size_t, void*, size_t, int*);
cusolverStatus_t cusolverDnXgeqrf_bufferSize(cusolverDnHandle_t, cusolverDnParams_t, int64_t, int64_t, cudaDataType,
    const void*, int64_t, cudaDataType, const void*, cudaDataType, size_t*, size_t*);
cusolverStatus_t cusolverDnXgesvd(cusolverDnHandle_t, cusolverDnParams_t, signed char, signed char, int64_t, int64_t,
    cudaDataType, void*, int64_t, cudaDataType, void*, cudaDataType, void*, int64_t, cudaDataType, void*, int64_t,
    cudaDataType, void*, size_t, void*, size_t, int*);
cusolverStatus_t cusolverDnXgesvd_bufferSize(cusolverDnHandle_t, cusolverDnParams_t, signed char, signed char,
    int64_t, int64_t, cudaDataType, const void*, int64_t, cudaDataType, const void*, cudaDataType, const void*,
    int64_t, cudaDataType, const void*, int64_t, cudaDataType, size_t*, size_t*);
cusolverStatus_t cusolverDnXgesvdjGetResidual(cusolverDnHandle_t, gesvdjInfo_t, double*);
cusolverStatus_t cusolverDnXgesvdjGetSweeps(cusolverDnHandle_t, gesvdjInfo_t, int*);
cusolverStatus_t cusolverDnXgesvdjSetMaxSweeps(gesvdjInfo_t, int);
cusolverStatus_t cusolverDnXgesvdjSetSortEig(gesvdjInfo_t, int);
cusolverStatus_t cusolverDnXgesvdjSetTolerance(gesvdjInfo_t, double);
cusolverStatus_t cusolverDnXgesvdp(cusolverDnHandle_t, cusolverDnParams_t, cusolverEigMode_t, int, int64_t, int64_t,
    cudaDataType, void*, int64_t, cudaDataType, void*, cudaDataType, void*, int64_t, cudaDataType, void*, int64_t,
    cudaDataType, void*, size_t, void*, size_t, int*, double*);
cusolverStatus_t cusolverDnXgesvdp_bufferSize(cusolverDnHandle_t, cusolverDnParams_t, cusolverEigMode_t, int, int64_t,
    int64_t, cudaDataType, const void*, int64_t, cudaDataType, const void*, cudaDataType, const void*, int64_t,
    cudaDataType, const void*, int64_t, cudaDataType, size_t*, size_t*);
cusolverStatus_t cusolverDnXgesvdr(cusolverDnHandle_t, cusolverDnParams_t, signed char, signed char, int64_t, int64_t,
    int64_t, int64_t, int64_t, cudaDataType, void*, int64_t, cudaDataType, void*, cudaDataType, void*, int64_t,
    cudaDataType, void*, int64_t, cudaDataType, void*, size_t, void*, size_t, int*);
cusolverStatus_t cusolverDnXgesvdr_bufferSize(cusolverDnHandle_t, cusolverDnParams_t, signed char, signed char,
    int64_t, int64_t, int64_t, int64_t, int64_t, cudaDataType, const void*, int64_t, cudaDataType, const void*,
    cudaDataType, const void*, int64_t, cudaDataType, const void*, int64_t, cudaDataType, size_t*, size_t*);
cusolverStatus_t cusolverDnXgetrf(cusolverDnHandle_t, cusolverDnParams_t, int64_t, int64_t, cudaDataType, void*,
    int64_t, int64_t*, cudaDataType, void*, size_t, void*, size_t, int*);
cusolverStatus_t cusolverDnXgetrf_bufferSize(cusolverDnHandle_t, cusolverDnParams_t, int64_t, int64_t, cudaDataType,
    const void*, int64_t, cudaDataType, size_t*, size_t*);
cusolverStatus_t cusolverDnXgetrs(cusolverDnHandle_t, cusolverDnParams_t, cublasOperation_t, int64_t, int64_t,
    cudaDataType, const void*, int64_t, const int64_t*, cudaDataType, void*, int64_t, int*);
cusolverStatus_t cusolverDnXlarft(cusolverDnHandle_t, cusolverDnParams_t, cusolverDirectMode_t, cusolverStorevMode_t,
    int64_t, int64_t, cudaDataType, const void*, int64_t, cudaDataType, const void*, cudaDataType, void*, int64_t,
    cudaDataType, void*, size_t, void*, size_t);
cusolverStatus_t cusolverDnXlarft_bufferSize(cusolverDnHandle_t, cusolverDnParams_t, cusolverDirectMode_t,
    cusolverStorevMode_t, int64_t, int64_t, cudaDataType, const void*, int64_t, cudaDataType, const void*,
    cudaDataType, void*, int64_t, cudaDataType, size_t*, size_t*);
cusolverStatus_t cusolverDnXpotrf(cusolverDnHandle_t, cusolverDnParams_t, cublasFillMode_t, int64_t, cudaDataType,
    void*, int64_t, cudaDataType, void*, size_t, void*, size_t, int*);
cusolverStatus_t cusolverDnXpotrf_bufferSize(cusolverDnHandle_t, cusolverDnParams_t, cublasFillMode_t, int64_t,
    cudaDataType, const void*, int64_t, cudaDataType, size_t*, size_t*);
cusolverStatus_t cusolverDnXpotrs(cusolverDnHandle_t, cusolverDnParams_t, cublasFillMode_t, int64_t, int64_t,
    cudaDataType, const void*, int64_t, cudaDataType, void*, int64_t, int*);
cusolverStatus_t cusolverDnXsyevBatched(cusolverDnHandle_t, cusolverDnParams_t, cusolverEigMode_t, cublasFillMode_t,
    int64_t, cudaDataType, void*, int64_t, cudaDataType, void*, cudaDataType, void*, size_t, void*, size_t, int*,
    int64_t);
cusolverStatus_t cusolverDnXsyevBatched_bufferSize(cusolverDnHandle_t, cusolverDnParams_t, cusolverEigMode_t,
    cublasFillMode_t, int64_t, cudaDataType, const void*, int64_t, cudaDataType, const void*, cudaDataType, size_t*,
    size_t*, int64_t);
cusolverStatus_t cusolverDnXsyevd(cusolverDnHandle_t, cusolverDnParams_t, cusolverEigMode_t, cublasFillMode_t,
    int64_t, cudaDataType, void*, int64_t, cudaDataType, void*, cudaDataType, void*, size_t, void*, size_t, int*);
cusolverStatus_t cusolverDnXsyevd_bufferSize(cusolverDnHandle_t, cusolverDnParams_t, cusolverEigMode_t,
    cublasFillMode_t, int64_t, cudaDataType, const void*, int64_t, cudaDataType, const void*, cudaDataType, size_t*,
    size_t*);
cusolverStatus_t cusolverDnXsyevdx(cusolverDnHandle_t, cusolverDnParams_t, cusolverEigMode_t, cusolverEigRange_t,
    cublasFillMode_t, int64_t, cudaDataType, void*, int64_t, void*, void*, int64_t, int64_t, int64_t*, cudaDataType,
    void*, cudaDataType, void*, size_t, void*, size_t, int*);
cusolverStatus_t cusolverDnXsyevdx_bufferSize(cusolverDnHandle_t, cusolverDnParams_t, cusolverEigMode_t,
    cusolverEigRange_t, cublasFillMode_t, int64_t, cudaDataType, const void*, int64_t, void*, void*, int64_t, int64_t,
    int64_t*, cudaDataType, const void*, cudaDataType, size_t*, size_t*);
cusolverStatus_t cusolverDnXsyevjGetResidual(cusolverDnHandle_t, syevjInfo_t, double*);
cusolverStatus_t cusolverDnXsyevjGetSweeps(cusolverDnHandle_t, syevjInfo_t, int*);
cusolverStatus_t cusolverDnXsyevjSetMaxSweeps(syevjInfo_t, int);
cusolverStatus_t cusolverDnXsyevjSetSortEig(syevjInfo_t, int);
cusolverStatus_t cusolverDnXsyevjSetTolerance(syevjInfo_t, double);
cusolverStatus_t cusolverDnXsytrs(cusolverDnHandle_t, cublasFillMode_t, int64_t, int64_t, cudaDataType, const void*,
    int64_t, const int64_t*, cudaDataType, void*, int64_t, void*, size_t, void*, size_t, int*);
cusolverStatus_t cusolverDnXsytrs_bufferSize(cusolverDnHandle_t, cublasFillMode_t, int64_t, int64_t, cudaDataType,
    const void*, int64_t, const int64_t*, cudaDataType, void*, int64_t, size_t*, size_t*);
cusolverStatus_t cusolverDnXtrtri(cusolverDnHandle_t, cublasFillMode_t, cublasDiagType_t, int64_t, cudaDataType,
    void*, int64_t, void*, size_t, void*, size_t, int*);
cusolverStatus_t cusolverDnXtrtri_bufferSize(cusolverDnHandle_t, cublasFillMode_t, cublasDiagType_t, int64_t,
    cudaDataType, void*, int64_t, size_t*, size_t*);
cusolverStatus_t cusolverDnZCgels(cusolverDnHandle_t, cusolver_int_t, cusolver_int_t, cusolver_int_t,
    cuDoubleComplex*, cusolver_int_t, cuDoubleComplex*, cusolver_int_t, cuDoubleComplex*, cusolver_int_t, void*,
    size_t, cusolver_int_t*, cusolver_int_t*);
cusolverStatus_t cusolverDnZCgels_bufferSize(cusolverDnHandle_t, cusolver_int_t, cusolver_int_t, cusolver_int_t,
    cuDoubleComplex*, cusolver_int_t, cuDoubleComplex*, cusolver_int_t, cuDoubleComplex*, cusolver_int_t, void*,
    size_t*);
cusolverStatus_t cusolverDnZCgesv(cusolverDnHandle_t, cusolver_int_t, cusolver_int_t, cuDoubleComplex*,
    cusolver_int_t, cusolver_int_t*, cuDoubleComplex*, cusolver_int_t, cuDoubleComplex*, cusolver_int_t, void*,
    size_t, cusolver_int_t*, cusolver_int_t*);
cusolverStatus_t cusolverDnZCgesv_bufferSize(cusolverDnHandle_t, cusolver_int_t, cusolver_int_t, cuDoubleComplex*,
    cusolver_int_t, cusolver_int_t*, cuDoubleComplex*, cusolver_int_t, cuDoubleComplex*, cusolver_int_t, void*,
    size_t*);
cusolverStatus_t cusolverDnZEgels(cusolverDnHandle_t, cusolver_int_t, cusolver_int_t, cusolver_int_t,
    cuDoubleComplex*, cusolver_int_t, cuDoubleComplex*, cusolver_int_t, cuDoubleComplex*, cusolver_int_t, void*,
    size_t, cusolver_int_t*, cusolver_int_t*);
cusolverStatus_t cusolverDnZEgels_bufferSize(cusolverDnHandle_t, cusolver_int_t, cusolver_int_t, cusolver_int_t,
    cuDoubleComplex*, cusolver_int_t, cuDoubleComplex*, cusolver_int_t, cuDoubleComplex*, cusolver_int_t, void*,
    size_t*);
cusolverStatus_t cusolverDnZEgesv(cusolverDnHandle_t, cusolver_int_t, cusolver_int_t, cuDoubleComplex*,
    cusolver_int_t, cusolver_int_t*, cuDoubleComplex*, cusolver_int_t, cuDoubleComplex*, cusolver_int_t, void*,
    size_t, cusolver_int_t*, cusolver_int_t*);
cusolverStatus_t cusolverDnZEgesv_bufferSize(cusolverDnHandle_t, cusolver_int_t, cusolver_int_t, cuDoubleComplex*,
    cusolver_int_t, cusolver_int_t*, cuDoubleComplex*, cusolver_int_t, cuDoubleComplex*, cusolver_int_t, void*,
    size_t*);
cusolverStatus_t cusolverDnZKgels(cusolverDnHandle_t, cusolver_int_t, cusolver_int_t, cusolver_int_t,
    cuDoubleComplex*, cusolver_int_t, cuDoubleComplex*, cusolver_int_t, cuDoubleComplex*, cusolver_int_t, void*,
    size_t, cusolver_int_t*, cusolver_int_t*);
cusolverStatus_t cusolverDnZKgels_bufferSize(cusolverDnHandle_t, cusolver_int_t, cusolver_int_t, cusolver_int_t,
    cuDoubleComplex*, cusolver_int_t, cuDoubleComplex*, cusolver_int_t, cuDoubleComplex*, cusolver_int_t, void*,
    size_t*);
cusolverStatus_t cusolverDnZKgesv(cusolverDnHandle_t, cusolver_int_t, cusolver_int_t, cuDoubleComplex*,
    cusolver_int_t, cusolver_int_t*, cuDoubleComplex*, cusolver_int_t, cuDoubleComplex*, cusolver_int_t, void*,
    size_t, cusolver_int_t*, cusolver_int_t*);
cusolverStatus_t cusolverDnZKgesv_bufferSize(cusolverDnHandle_t, cusolver_int_t, cusolver_int_t, cuDoubleComplex*,
    cusolver_int_t, cusolver_int_t*, cuDoubleComplex*, cusolver_int_t, cuDoubleComplex*, cusolver_int_t, void*,
    size_t*);
cusolverStatus_t cusolverDnZYgels(cusolverDnHandle_t, cusolver_int_t, cusolver_int_t, cusolver_int_t,
    cuDoubleComplex*, cusolver_int_t, cuDoubleComplex*, cusolver_int_t, cuDoubleComplex*, cusolver_int_t, void*,
    size_t, cusolver_int_t*, cusolver_int_t*);
cusolverStatus_t cusolverDnZYgels_bufferSize(cusolverDnHandle_t, cusolver_int_t, cusolver_int_t, cusolver_int_t,
    cuDoubleComplex*, cusolver_int_t, cuDoubleComplex*, cusolver_int_t, cuDoubleComplex*, cusolver_int_t, void*,
    size_t*);
cusolverStatus_t cusolverDnZYgesv(cusolverDnHandle_t, cusolver_int_t, cusolver_int_t, cuDoubleComplex*,
    cusolver_int_t, cusolver_int_t*, cuDoubleComplex*, cusolver_int_t, cuDoubleComplex*, cusolver_int_t, void*,
    size_t, cusolver_int_t*, cusolver_int_t*);
cusolverStatus_t cusolverDnZYgesv_bufferSize(cusolverDnHandle_t, cusolver_int_t, cusolver_int_t, cuDoubleComplex*,
    cusolver_int_t, cusolver_int_t*, cuDoubleComplex*, cusolver_int_t, cuDoubleComplex*, cusolver_int_t, void*,
    size_t*);
cusolverStatus_t cusolverDnZZgels(cusolverDnHandle_t, cusolver_int_t, cusolver_int_t, cusolver_int_t,
    cuDoubleComplex*, cusolver_int_t, cuDoubleComplex*, cusolver_int_t, cuDoubleComplex*, cusolver_int_t, void*,
    size_t, cusolver_int_t*, cusolver_int_t*);
cusolverStatus_t cusolverDnZZgels_bufferSize(cusolverDnHandle_t, cusolver_int_t, cusolver_int_t, cusolver_int_t,
    cuDoubleComplex*, cusolver_int_t, cuDoubleComplex*, cusolver_int_t, cuDoubleComplex*, cusolver_int_t, void*,
    size_t*);
cusolverStatus_t cusolverDnZZgesv(cusolverDnHandle_t, cusolver_int_t, cusolver_int_t, cuDoubleComplex*,
    cusolver_int_t, cusolver_int_t*, cuDoubleComplex*, cusolver_int_t, cuDoubleComplex*, cusolver_int_t, void*,
    size_t, cusolver_int_t*, cusolver_int_t*);
cusolverStatus_t cusolverDnZZgesv_bufferSize(cusolverDnHandle_t, cusolver_int_t, cusolver_int_t, cuDoubleComplex*,
    cusolver_int_t, cusolver_int_t*, cuDoubleComplex*, cusolver_int_t, cuDoubleComplex*, cusolver_int_t, void*,
    size_t*);
cusolverStatus_t cusolverDnZgebrd(cusolverDnHandle_t, int, int, cuDoubleComplex*, int, double*, double*,
    cuDoubleComplex*, cuDoubleComplex*, cuDoubleComplex*, int, int*);
cusolverStatus_t cusolverDnZgebrd_bufferSize(cusolverDnHandle_t, int, int, int*);
cusolverStatus_t cusolverDnZgeqrf(cusolverDnHandle_t, int, int, cuDoubleComplex*, int, cuDoubleComplex*,
    cuDoubleComplex*, int, int*);
cusolverStatus_t cusolverDnZgeqrf_bufferSize(cusolverDnHandle_t, int, int, cuDoubleComplex*, int, int*);
cusolverStatus_t cusolverDnZgesvd(cusolverDnHandle_t, signed char, signed char, int, int, cuDoubleComplex*, int,
    double*, cuDoubleComplex*, int, cuDoubleComplex*, int, cuDoubleComplex*, int, double*, int*);
cusolverStatus_t cusolverDnZgesvd_bufferSize(cusolverDnHandle_t, int, int, int*);
cusolverStatus_t cusolverDnZgesvdaStridedBatched(cusolverDnHandle_t, cusolverEigMode_t, int, int, int,
    const cuDoubleComplex*, int, long long, double*, long long, cuDoubleComplex*, int, long long, cuDoubleComplex*,
    int, long long, cuDoubleComplex*, int, int*, double*, int);
cusolverStatus_t cusolverDnZgesvdaStridedBatched_bufferSize(cusolverDnHandle_t, cusolverEigMode_t, int, int, int,
    const cuDoubleComplex*, int, long long, const double*, long long, const cuDoubleComplex*, int, long long,
    const cuDoubleComplex*, int, long long, int*, int);
cusolverStatus_t cusolverDnZgesvdj(cusolverDnHandle_t, cusolverEigMode_t, int, int, int, cuDoubleComplex*, int,
    double*, cuDoubleComplex*, int, cuDoubleComplex*, int, cuDoubleComplex*, int, int*, gesvdjInfo_t);
cusolverStatus_t cusolverDnZgesvdjBatched(cusolverDnHandle_t, cusolverEigMode_t, int, int, cuDoubleComplex*, int,
    double*, cuDoubleComplex*, int, cuDoubleComplex*, int, cuDoubleComplex*, int, int*, gesvdjInfo_t, int);
cusolverStatus_t cusolverDnZgesvdjBatched_bufferSize(cusolverDnHandle_t, cusolverEigMode_t, int, int,
    const cuDoubleComplex*, int, const double*, const cuDoubleComplex*, int, const cuDoubleComplex*, int, int*,
    gesvdjInfo_t, int);
cusolverStatus_t cusolverDnZgesvdj_bufferSize(cusolverDnHandle_t, cusolverEigMode_t, int, int, int,
    const cuDoubleComplex*, int, const double*, const cuDoubleComplex*, int, const cuDoubleComplex*, int, int*,
    gesvdjInfo_t);
cusolverStatus_t cusolverDnZgetrf(cusolverDnHandle_t, int, int, cuDoubleComplex*, int, cuDoubleComplex*, int*, int*);
cusolverStatus_t cusolverDnZgetrf_bufferSize(cusolverDnHandle_t, int, int, cuDoubleComplex*, int, int*);
cusolverStatus_t cusolverDnZgetrs(cusolverDnHandle_t, cublasOperation_t, int, int, const cuDoubleComplex*, int,
    const int*, cuDoubleComplex*, int, int*);
cusolverStatus_t cusolverDnZheevd(cusolverDnHandle_t, cusolverEigMode_t, cublasFillMode_t, int, cuDoubleComplex*, int,
    double*, cuDoubleComplex*, int, int*);
cusolverStatus_t cusolverDnZheevd_bufferSize(cusolverDnHandle_t, cusolverEigMode_t, cublasFillMode_t, int,
    const cuDoubleComplex*, int, const double*, int*);
cusolverStatus_t cusolverDnZheevdx(cusolverDnHandle_t, cusolverEigMode_t, cusolverEigRange_t, cublasFillMode_t, int,
    cuDoubleComplex*, int, double, double, int, int, int*, double*, cuDoubleComplex*, int, int*);
cusolverStatus_t cusolverDnZheevdx_bufferSize(cusolverDnHandle_t, cusolverEigMode_t, cusolverEigRange_t,
    cublasFillMode_t, int, const cuDoubleComplex*, int, double, double, int, int, int*, const double*, int*);
cusolverStatus_t cusolverDnZheevj(cusolverDnHandle_t, cusolverEigMode_t, cublasFillMode_t, int, cuDoubleComplex*, int,
    double*, cuDoubleComplex*, int, int*, syevjInfo_t);
cusolverStatus_t cusolverDnZheevjBatched(cusolverDnHandle_t, cusolverEigMode_t, cublasFillMode_t, int,
    cuDoubleComplex*, int, double*, cuDoubleComplex*, int, int*, syevjInfo_t, int);
cusolverStatus_t cusolverDnZheevjBatched_bufferSize(cusolverDnHandle_t, cusolverEigMode_t, cublasFillMode_t, int,
    const cuDoubleComplex*, int, const double*, int*, syevjInfo_t, int);
cusolverStatus_t cusolverDnZheevj_bufferSize(cusolverDnHandle_t, cusolverEigMode_t, cublasFillMode_t, int,
    const cuDoubleComplex*, int, const double*, int*, syevjInfo_t);
cusolverStatus_t cusolverDnZhegvd(cusolverDnHandle_t, cusolverEigType_t, cusolverEigMode_t, cublasFillMode_t, int,
    cuDoubleComplex*, int, cuDoubleComplex*, int, double*, cuDoubleComplex*, int, int*);
cusolverStatus_t cusolverDnZhegvd_bufferSize(cusolverDnHandle_t, cusolverEigType_t, cusolverEigMode_t,
    cublasFillMode_t, int, const cuDoubleComplex*, int, const cuDoubleComplex*, int, const double*, int*);
cusolverStatus_t cusolverDnZhegvdx(cusolverDnHandle_t, cusolverEigType_t, cusolverEigMode_t, cusolverEigRange_t,
    cublasFillMode_t, int, cuDoubleComplex*, int, cuDoubleComplex*, int, double, double, int, int, int*, double*,
    cuDoubleComplex*, int, int*);
cusolverStatus_t cusolverDnZhegvdx_bufferSize(cusolverDnHandle_t, cusolverEigType_t, cusolverEigMode_t,
    cusolverEigRange_t, cublasFillMode_t, int, const cuDoubleComplex*, int, const cuDoubleComplex*, int, double,
    double, int, int, int*, const double*, int*);
cusolverStatus_t cusolverDnZhegvj(cusolverDnHandle_t, cusolverEigType_t, cusolverEigMode_t, cublasFillMode_t, int,
    cuDoubleComplex*, int, cuDoubleComplex*, int, double*, cuDoubleComplex*, int, int*, syevjInfo_t);
cusolverStatus_t cusolverDnZhegvj_bufferSize(cusolverDnHandle_t, cusolverEigType_t, cusolverEigMode_t,
    cublasFillMode_t, int, const cuDoubleComplex*, int, const cuDoubleComplex*, int, const double*, int*,
    syevjInfo_t);
cusolverStatus_t cusolverDnZhetrd(cusolverDnHandle_t, cublasFillMode_t, int, cuDoubleComplex*, int, double*, double*,
    cuDoubleComplex*, cuDoubleComplex*, int, int*);
cusolverStatus_t cusolverDnZhetrd_bufferSize(cusolverDnHandle_t, cublasFillMode_t, int, const cuDoubleComplex*, int,
    const double*, const double*, const cuDoubleComplex*, int*);
cusolverStatus_t cusolverDnZlaswp(cusolverDnHandle_t, int, cuDoubleComplex*, int, int, int, const int*, int);
cusolverStatus_t cusolverDnZlauum(cusolverDnHandle_t, cublasFillMode_t, int, cuDoubleComplex*, int, cuDoubleComplex*,
    int, int*);
cusolverStatus_t cusolverDnZlauum_bufferSize(cusolverDnHandle_t, cublasFillMode_t, int, cuDoubleComplex*, int, int*);
cusolverStatus_t cusolverDnZpotrf(cusolverDnHandle_t, cublasFillMode_t, int, cuDoubleComplex*, int, cuDoubleComplex*,
    int, int*);
cusolverStatus_t cusolverDnZpotrfBatched(cusolverDnHandle_t, cublasFillMode_t, int, cuDoubleComplex**, int, int*,
    int);
cusolverStatus_t cusolverDnZpotrf_bufferSize(cusolverDnHandle_t, cublasFillMode_t, int, cuDoubleComplex*, int, int*);
cusolverStatus_t cusolverDnZpotri(cusolverDnHandle_t, cublasFillMode_t, int, cuDoubleComplex*, int, cuDoubleComplex*,
    int, int*);
cusolverStatus_t cusolverDnZpotri_bufferSize(cusolverDnHandle_t, cublasFillMode_t, int, cuDoubleComplex*, int, int*);
cusolverStatus_t cusolverDnZpotrs(cusolverDnHandle_t, cublasFillMode_t, int, int, const cuDoubleComplex*, int,
    cuDoubleComplex*, int, int*);
cusolverStatus_t cusolverDnZpotrsBatched(cusolverDnHandle_t, cublasFillMode_t, int, int, cuDoubleComplex**, int,
    cuDoubleComplex**, int, int*, int);
cusolverStatus_t cusolverDnZsytrf(cusolverDnHandle_t, cublasFillMode_t, int, cuDoubleComplex*, int, int*,
    cuDoubleComplex*, int, int*);
cusolverStatus_t cusolverDnZsytrf_bufferSize(cusolverDnHandle_t, int, cuDoubleComplex*, int, int*);
cusolverStatus_t cusolverDnZsytri(cusolverDnHandle_t, cublasFillMode_t, int, cuDoubleComplex*, int, const int*,
    cuDoubleComplex*, int, int*);
cusolverStatus_t cusolverDnZsytri_bufferSize(cusolverDnHandle_t, cublasFillMode_t, int, cuDoubleComplex*, int,
    const int*, int*);
cusolverStatus_t cusolverDnZungbr(cusolverDnHandle_t, cublasSideMode_t, int, int, int, cuDoubleComplex*, int,
    const cuDoubleComplex*, cuDoubleComplex*, int, int*);
cusolverStatus_t cusolverDnZungbr_bufferSize(cusolverDnHandle_t, cublasSideMode_t, int, int, int,
    const cuDoubleComplex*, int, const cuDoubleComplex*, int*);
cusolverStatus_t cusolverDnZungqr(cusolverDnHandle_t, int, int, int, cuDoubleComplex*, int, const cuDoubleComplex*,
    cuDoubleComplex*, int, int*);
cusolverStatus_t cusolverDnZungqr_bufferSize(cusolverDnHandle_t, int, int, int, const cuDoubleComplex*, int,
    const cuDoubleComplex*, int*);
cusolverStatus_t cusolverDnZungtr(cusolverDnHandle_t, cublasFillMode_t, int, cuDoubleComplex*, int,
    const cuDoubleComplex*, cuDoubleComplex*, int, int*);
cusolverStatus_t cusolverDnZungtr_bufferSize(cusolverDnHandle_t, cublasFillMode_t, int, const cuDoubleComplex*, int,
    const cuDoubleComplex*, int*);
cusolverStatus_t cusolverDnZunmqr(cusolverDnHandle_t, cublasSideMode_t, cublasOperation_t, int, int, int,
    const cuDoubleComplex*, int, const cuDoubleComplex*, cuDoubleComplex*, int, cuDoubleComplex*, int, int*);
cusolverStatus_t cusolverDnZunmqr_bufferSize(cusolverDnHandle_t, cublasSideMode_t, cublasOperation_t, int, int, int,
    const cuDoubleComplex*, int, const cuDoubleComplex*, const cuDoubleComplex*, int, int*);
cusolverStatus_t cusolverDnZunmtr(cusolverDnHandle_t, cublasSideMode_t, cublasFillMode_t, cublasOperation_t, int, int,
    cuDoubleComplex*, int, cuDoubleComplex*, cuDoubleComplex*, int, cuDoubleComplex*, int, int*);
cusolverStatus_t cusolverDnZunmtr_bufferSize(cusolverDnHandle_t, cublasSideMode_t, cublasFillMode_t,
    cublasOperation_t, int, int, const cuDoubleComplex*, int, const cuDoubleComplex*, const cuDoubleComplex*, int,
    int*);
}

#endif
