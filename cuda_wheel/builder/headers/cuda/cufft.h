// <cufft.h>: cuFFT's types and functions. Its complex numbers are float2 and double2; host code alone can call the rest.
#ifndef _CUFFT_H_
#define _CUFFT_H_

#include <cuComplex.h>
#include <driver_types.h>
#include <library_types.h>

#define CUFFTAPI
#define CUFFT_VER_MAJOR (__CUDACC_VER_MAJOR__ - 1)
#define CUFFT_VER_MINOR 4
#define CUFFT_VER_PATCH 0
#define CUFFT_VERSION (CUFFT_VER_MAJOR * 1000 + CUFFT_VER_MINOR * 100 + CUFFT_VER_PATCH)
#define MAX_CUFFT_ERROR 0x11
#define CUFFT_FORWARD -1
#define CUFFT_INVERSE 1

typedef enum cufftResult_t {
  CUFFT_SUCCESS, CUFFT_INVALID_PLAN, CUFFT_ALLOC_FAILED, CUFFT_INVALID_TYPE, CUFFT_INVALID_VALUE, CUFFT_INTERNAL_ERROR,
  CUFFT_EXEC_FAILED, CUFFT_SETUP_FAILED, CUFFT_INVALID_SIZE, CUFFT_UNALIGNED_DATA,
#if __CUDACC_VER_MAJOR__ < 13
  CUFFT_INCOMPLETE_PARAMETER_LIST, CUFFT_PARSE_ERROR = 12, CUFFT_LICENSE_ERROR = 15,
#endif
  CUFFT_INVALID_DEVICE = 11, CUFFT_NO_WORKSPACE = 13, CUFFT_NOT_IMPLEMENTED, CUFFT_NOT_SUPPORTED = 16
} cufftResult;
typedef enum cufftType_t {
  CUFFT_R2C = 0x2a, CUFFT_C2R = 0x2c, CUFFT_C2C = 0x29, CUFFT_D2Z = 0x6a, CUFFT_Z2D = 0x6c, CUFFT_Z2Z = 0x69
} cufftType;
typedef enum cufftCompatibility_t { CUFFT_COMPATIBILITY_FFTW_PADDING = 0x01 } cufftCompatibility;
typedef enum cufftProperty_t { NVFFT_PLAN_PROPERTY_INT64_PATIENT_JIT = 0x1, NVFFT_PLAN_PROPERTY_INT64_MAX_NUM_HOST_THREADS } cufftProperty;
#define CUFFT_COMPATIBILITY_DEFAULT CUFFT_COMPATIBILITY_FFTW_PADDING

typedef float cufftReal;
typedef double cufftDoubleReal;
typedef cuComplex cufftComplex;
typedef cuDoubleComplex cufftDoubleComplex;
typedef int cufftHandle;

extern "C" {
cufftResult cufftPlan1d(cufftHandle*, int nx, cufftType, int batch);
cufftResult cufftPlan2d(cufftHandle*, int nx, int ny, cufftType);
cufftResult cufftPlan3d(cufftHandle*, int nx, int ny, int nz, cufftType);
cufftResult cufftPlanMany(cufftHandle*, int rank, int* n, int* inembed, int istride, int idist, int* onembed, int ostride,
    int odist, cufftType, int batch);
cufftResult cufftMakePlan1d(cufftHandle, int nx, cufftType, int batch, size_t* workSize);
cufftResult cufftMakePlan2d(cufftHandle, int nx, int ny, cufftType, size_t* workSize);
cufftResult cufftMakePlan3d(cufftHandle, int nx, int ny, int nz, cufftType, size_t* workSize);
cufftResult cufftMakePlanMany(cufftHandle, int rank, int* n, int* inembed, int istride, int idist, int* onembed,
    int ostride, int odist, cufftType, int batch, size_t* workSize);
cufftResult cufftMakePlanMany64(cufftHandle, int rank, long long int* n, long long int* inembed, long long int istride,
    long long int idist, long long int* onembed, long long int ostride, long long int odist, cufftType,
    long long int batch, size_t* workSize);
cufftResult cufftGetSizeMany64(cufftHandle, int rank, long long int* n, long long int* inembed, long long int istride,
    long long int idist, long long int* onembed, long long int ostride, long long int odist, cufftType,
    long long int batch, size_t* workSize);
cufftResult cufftEstimate1d(int nx, cufftType, int batch, size_t* workSize);
cufftResult cufftEstimate2d(int nx, int ny, cufftType, size_t* workSize);
cufftResult cufftEstimate3d(int nx, int ny, int nz, cufftType, size_t* workSize);
cufftResult cufftEstimateMany(int rank, int* n, int* inembed, int istride, int idist, int* onembed, int ostride,
    int odist, cufftType, int batch, size_t* workSize);
cufftResult cufftCreate(cufftHandle*);
cufftResult cufftGetSize1d(cufftHandle, int nx, cufftType, int batch, size_t* workSize);
cufftResult cufftGetSize2d(cufftHandle, int nx, int ny, cufftType, size_t* workSize);
cufftResult cufftGetSize3d(cufftHandle, int nx, int ny, int nz, cufftType, size_t* workSize);
cufftResult cufftGetSizeMany(cufftHandle, int rank, int* n, int* inembed, int istride, int idist, int* onembed,
    int ostride, int odist, cufftType, int batch, size_t* workArea);
cufftResult cufftGetSize(cufftHandle, size_t* workSize);
cufftResult cufftSetWorkArea(cufftHandle, void* workArea);
cufftResult cufftSetAutoAllocation(cufftHandle, int autoAllocate);
cufftResult cufftExecC2C(cufftHandle, cufftComplex* idata, cufftComplex* odata, int direction);
cufftResult cufftExecR2C(cufftHandle, cufftReal* idata, cufftComplex* odata);
cufftResult cufftExecC2R(cufftHandle, cufftComplex* idata, cufftReal* odata);
cufftResult cufftExecZ2Z(cufftHandle, cufftDoubleComplex* idata, cufftDoubleComplex* odata, int direction);
cufftResult cufftExecD2Z(cufftHandle, cufftDoubleReal* idata, cufftDoubleComplex* odata);
cufftResult cufftExecZ2D(cufftHandle, cufftDoubleComplex* idata, cufftDoubleReal* odata);
cufftResult cufftSetStream(cufftHandle, cudaStream_t);
cufftResult cufftDestroy(cufftHandle);
cufftResult cufftGetVersion(int* version);
cufftResult cufftGetProperty(libraryPropertyType, int* value);
cufftResult cufftSetPlanPropertyInt64(cufftHandle, cufftProperty, const long long int inputValueInt);
cufftResult cufftGetPlanPropertyInt64(cufftHandle, cufftProperty, long long int* returnPtrValue);
cufftResult cufftResetPlanProperty(cufftHandle, cufftProperty);
}

#endif
