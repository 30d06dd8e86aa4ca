// <curand.h>: cuRAND's functions for the host, and its types. Device code includes <curand_kernel.h>, the library's own.
#ifndef CUDA_WHEEL_CURAND_H
#define CUDA_WHEEL_CURAND_H

#include <cuda_runtime.h>

// <curand_kernel.h> includes the library's own <curand.h>, which with NVRTC has these types and no functions.
#ifndef CURAND_H_
#define CURAND_H_

#define CURANDAPI
#define CURAND_VER_MAJOR 10
#define CURAND_VER_MINOR (__CUDACC_VER_MAJOR__ < 13 ? 3 : 4)
#define CURAND_VER_PATCH 0
#define CURAND_VERSION (CURAND_VER_MAJOR * 1000 + CURAND_VER_MINOR * 100 + CURAND_VER_PATCH)

typedef enum curandDirectionVectorSet { CURAND_DIRECTION_VECTORS_32_JOEKUO6 = 101, CURAND_SCRAMBLED_DIRECTION_VECTORS_32_JOEKUO6,
  CURAND_DIRECTION_VECTORS_64_JOEKUO6, CURAND_SCRAMBLED_DIRECTION_VECTORS_64_JOEKUO6 } curandDirectionVectorSet_t;
typedef enum curandMethod { CURAND_CHOOSE_BEST, CURAND_ITR, CURAND_KNUTH, CURAND_HITR, CURAND_M1, CURAND_M2, CURAND_BINARY_SEARCH,
  CURAND_DISCRETE_GAUSS, CURAND_REJECTION, CURAND_DEVICE_API, CURAND_FAST_REJECTION, CURAND_3RD, CURAND_DEFINITION,
  CURAND_POISSON } curandMethod_t;
typedef enum curandOrdering { CURAND_ORDERING_PSEUDO_BEST = 100, CURAND_ORDERING_PSEUDO_DEFAULT, CURAND_ORDERING_PSEUDO_SEEDED,
  CURAND_ORDERING_PSEUDO_LEGACY, CURAND_ORDERING_PSEUDO_DYNAMIC, CURAND_ORDERING_QUASI_DEFAULT = 201 } curandOrdering_t;
typedef enum curandRngType { CURAND_RNG_TEST, CURAND_RNG_PSEUDO_DEFAULT = 100, CURAND_RNG_PSEUDO_XORWOW,
  CURAND_RNG_PSEUDO_MRG32K3A = 121, CURAND_RNG_PSEUDO_MTGP32 = 141, CURAND_RNG_PSEUDO_MT19937,
  CURAND_RNG_PSEUDO_PHILOX4_32_10 = 161, CURAND_RNG_QUASI_DEFAULT = 200, CURAND_RNG_QUASI_SOBOL32,
  CURAND_RNG_QUASI_SCRAMBLED_SOBOL32, CURAND_RNG_QUASI_SOBOL64, CURAND_RNG_QUASI_SCRAMBLED_SOBOL64 } curandRngType_t;
typedef enum curandStatus { CURAND_STATUS_SUCCESS, CURAND_STATUS_VERSION_MISMATCH = 100, CURAND_STATUS_NOT_INITIALIZED,
  CURAND_STATUS_ALLOCATION_FAILED, CURAND_STATUS_TYPE_ERROR, CURAND_STATUS_OUT_OF_RANGE,
  CURAND_STATUS_LENGTH_NOT_MULTIPLE, CURAND_STATUS_DOUBLE_PRECISION_REQUIRED, CURAND_STATUS_LAUNCH_FAILURE = 201,
  CURAND_STATUS_PREEXISTING_FAILURE, CURAND_STATUS_INITIALIZATION_FAILED, CURAND_STATUS_ARCH_MISMATCH,
  CURAND_STATUS_INTERNAL_ERROR = 999 } curandStatus_t;
typedef unsigned curandDirectionVectors32_t[32];
typedef unsigned long long curandDirectionVectors64_t[64];
typedef struct curandDiscreteDistribution_st* curandDiscreteDistribution_t;
typedef struct curandDistributionM2Shift_st* curandDistributionM2Shift_t;
typedef struct curandDistributionShift_st* curandDistributionShift_t;
typedef double curandDistribution_st;
typedef curandDistribution_st* curandDistribution_t;
typedef struct curandGenerator_st* curandGenerator_t;
typedef unsigned curandHistogramM2K_st;
typedef curandHistogramM2K_st* curandHistogramM2K_t;
typedef curandDistribution_st curandHistogramM2V_st;
typedef curandHistogramM2V_st* curandHistogramM2V_t;
typedef struct curandHistogramM2_st* curandHistogramM2_t;
#endif

extern "C" {
curandStatus_t curandCreateGenerator(curandGenerator_t*, curandRngType_t);
curandStatus_t curandCreateGeneratorHost(curandGenerator_t*, curandRngType_t);
curandStatus_t curandCreatePoissonDistribution(double, curandDiscreteDistribution_t*);
curandStatus_t curandDestroyDistribution(curandDiscreteDistribution_t);
curandStatus_t curandDestroyGenerator(curandGenerator_t);
curandStatus_t curandGenerate(curandGenerator_t, unsigned*, size_t);
curandStatus_t curandGenerateLogNormal(curandGenerator_t, float*, size_t, float, float);
curandStatus_t curandGenerateLogNormalDouble(curandGenerator_t, double*, size_t, double, double);
curandStatus_t curandGenerateLongLong(curandGenerator_t, unsigned long long*, size_t);
curandStatus_t curandGenerateNormal(curandGenerator_t, float*, size_t, float, float);
curandStatus_t curandGenerateNormalDouble(curandGenerator_t, double*, size_t, double, double);
curandStatus_t curandGeneratePoisson(curandGenerator_t, unsigned*, size_t, double);
curandStatus_t curandGeneratePoissonMethod(curandGenerator_t, unsigned*, size_t, double, curandMethod_t);
curandStatus_t curandGenerateSeeds(curandGenerator_t);
curandStatus_t curandGenerateUniform(curandGenerator_t, float*, size_t);
curandStatus_t curandGenerateUniformDouble(curandGenerator_t, double*, size_t);
curandStatus_t curandGetDirectionVectors32(curandDirectionVectors32_t**, curandDirectionVectorSet_t);
curandStatus_t curandGetDirectionVectors64(curandDirectionVectors64_t**, curandDirectionVectorSet_t);
curandStatus_t curandGetProperty(libraryPropertyType, int*);
curandStatus_t curandGetScrambleConstants32(unsigned**);
curandStatus_t curandGetScrambleConstants64(unsigned long long**);
curandStatus_t curandGetVersion(int*);
curandStatus_t curandSetGeneratorOffset(curandGenerator_t, unsigned long long);
curandStatus_t curandSetGeneratorOrdering(curandGenerator_t, curandOrdering_t);
curandStatus_t curandSetPseudoRandomGeneratorSeed(curandGenerator_t, unsigned long long);
curandStatus_t curandSetQuasiRandomGeneratorDimensions(curandGenerator_t, unsigned);
curandStatus_t curandSetStream(curandGenerator_t, cudaStream_t);
}

#endif
