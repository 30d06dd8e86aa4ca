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
cusolverStatus_t cusolverDnCreate(cusolverDnHandle_t*);
cusolverStatus_t cusolverDnCreateGesvdjInfo(gesvdjInfo_t*);
cusolverStatus_t cusolverDnCreateParams(cusolverDnParams_t*);
cusolverStatus_t cusolverDnCreateSyevjInfo(syevjInfo_t*);
cusolverStatus_t cusolverDnDestroy(cusolverDnHandle_t);
cusolverStatus_t cusolverDnDestroyGesvdjInfo(gesvdjInfo_t);
cusolverStatus_t cusolverDnDestroyParams(cusolverDnParams_t);
cusolverStatus_t cusolverDnDestroySyevjInfo(syevjInfo_t);
}
#include <cuda_wheel_detail/functions/cusolverDn.h>

#endif
