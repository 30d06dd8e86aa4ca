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
cusolverStatus_t cusolverSpCreate(cusolverSpHandle_t*);
cusolverStatus_t cusolverSpCreateCsrqrInfo(csrqrInfo_t*);
cusolverStatus_t cusolverSpDestroy(cusolverSpHandle_t);
cusolverStatus_t cusolverSpDestroyCsrqrInfo(csrqrInfo_t);
}
#include <cuda_wheel_detail/functions/cusolverSp.h>

#endif
