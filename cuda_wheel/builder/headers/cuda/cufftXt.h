// <cufftXt.h>: cuFFT's functions for several GPUs, further types of data and callbacks. The callbacks are device functions.
#ifndef _CUFFTXT_H_
#define _CUFFTXT_H_

#include <cufft.h>

#define MAX_CUDA_DESCRIPTOR_GPUS 64

typedef struct cudaXtDesc_t {
  int version, nGPUs;
  int GPUs[MAX_CUDA_DESCRIPTOR_GPUS];
  void* data[MAX_CUDA_DESCRIPTOR_GPUS];
  size_t size[MAX_CUDA_DESCRIPTOR_GPUS];
  void* cudaXtState;
} cudaXtDesc;
typedef enum cudaLibXtType { LIB_FORMAT_CUFFT, LIB_FORMAT_UNDEFINED } cudaLibXtFormat;
typedef struct cudaLibXtDesc_t {
  int version;
  cudaXtDesc* descriptor;
  cudaLibXtFormat library;
  int subFormat;
  void* libDescriptor;
} cudaLibXtDesc;
typedef enum cufftXtSubFormat_t {
  CUFFT_XT_FORMAT_INPUT, CUFFT_XT_FORMAT_OUTPUT, CUFFT_XT_FORMAT_INPLACE, CUFFT_XT_FORMAT_INPLACE_SHUFFLED,
  CUFFT_XT_FORMAT_1D_INPUT_SHUFFLED, CUFFT_XT_FORMAT_DISTRIBUTED_INPUT, CUFFT_XT_FORMAT_DISTRIBUTED_OUTPUT,
  CUFFT_FORMAT_UNDEFINED
} cufftXtSubFormat;
typedef enum cufftXtCopyType_t {
  CUFFT_COPY_HOST_TO_DEVICE, CUFFT_COPY_DEVICE_TO_HOST, CUFFT_COPY_DEVICE_TO_DEVICE, CUFFT_COPY_UNDEFINED
} cufftXtCopyType;
typedef enum cufftXtQueryType_t { CUFFT_QUERY_1D_FACTORS, CUFFT_QUERY_UNDEFINED } cufftXtQueryType;
typedef struct cufftXt1dFactors_t {
  long long int size, stringCount, stringLength, substringLength, factor1, factor2, stringMask, substringMask,
      factor1Mask, factor2Mask;
  int stringShift, substringShift, factor1Shift, factor2Shift;
} cufftXt1dFactors;
typedef enum cufftXtWorkAreaPolicy_t { CUFFT_WORKAREA_MINIMAL, CUFFT_WORKAREA_USER, CUFFT_WORKAREA_PERFORMANCE } cufftXtWorkAreaPolicy;

typedef enum cufftXtCallbackType_t {
  CUFFT_CB_LD_COMPLEX, CUFFT_CB_LD_COMPLEX_DOUBLE, CUFFT_CB_LD_REAL, CUFFT_CB_LD_REAL_DOUBLE, CUFFT_CB_ST_COMPLEX,
  CUFFT_CB_ST_COMPLEX_DOUBLE, CUFFT_CB_ST_REAL, CUFFT_CB_ST_REAL_DOUBLE, CUFFT_CB_UNDEFINED
} cufftXtCallbackType;
typedef cufftComplex (*cufftCallbackLoadC)(void* dataIn, size_t offset, void* callerInfo, void* sharedPointer);
typedef cufftDoubleComplex (*cufftCallbackLoadZ)(void* dataIn, size_t offset, void* callerInfo, void* sharedPointer);
typedef cufftReal (*cufftCallbackLoadR)(void* dataIn, size_t offset, void* callerInfo, void* sharedPointer);
typedef cufftDoubleReal (*cufftCallbackLoadD)(void* dataIn, size_t offset, void* callerInfo, void* sharedPointer);
typedef void (*cufftCallbackStoreC)(void* dataOut, size_t offset, cufftComplex element, void* callerInfo, void* sharedPointer);
typedef void (*cufftCallbackStoreZ)(void* dataOut, size_t offset, cufftDoubleComplex element, void* callerInfo, void* sharedPointer);
typedef void (*cufftCallbackStoreR)(void* dataOut, size_t offset, cufftReal element, void* callerInfo, void* sharedPointer);
typedef void (*cufftCallbackStoreD)(void* dataOut, size_t offset, cufftDoubleReal element, void* callerInfo, void* sharedPointer);

extern "C" {
cufftResult cufftXtSetGPUs(cufftHandle, int nGPUs, int* whichGPUs);
cufftResult cufftXtMalloc(cufftHandle, cudaLibXtDesc** descriptor, cufftXtSubFormat);
cufftResult cufftXtMemcpy(cufftHandle, void* dstPointer, void* srcPointer, cufftXtCopyType);
cufftResult cufftXtFree(cudaLibXtDesc*);
cufftResult cufftXtSetWorkArea(cufftHandle, void** workArea);
cufftResult cufftXtExecDescriptorC2C(cufftHandle, cudaLibXtDesc* input, cudaLibXtDesc* output, int direction);
cufftResult cufftXtExecDescriptorR2C(cufftHandle, cudaLibXtDesc* input, cudaLibXtDesc* output);
cufftResult cufftXtExecDescriptorC2R(cufftHandle, cudaLibXtDesc* input, cudaLibXtDesc* output);
cufftResult cufftXtExecDescriptorZ2Z(cufftHandle, cudaLibXtDesc* input, cudaLibXtDesc* output, int direction);
cufftResult cufftXtExecDescriptorD2Z(cufftHandle, cudaLibXtDesc* input, cudaLibXtDesc* output);
cufftResult cufftXtExecDescriptorZ2D(cufftHandle, cudaLibXtDesc* input, cudaLibXtDesc* output);
cufftResult cufftXtQueryPlan(cufftHandle, void* queryStruct, cufftXtQueryType);
cufftResult cufftXtSetCallback(cufftHandle, void** callback_routine, cufftXtCallbackType, void** caller_info);
cufftResult cufftXtClearCallback(cufftHandle, cufftXtCallbackType);
cufftResult cufftXtSetCallbackSharedSize(cufftHandle, cufftXtCallbackType, size_t sharedSize);
cufftResult cufftXtSetJITCallback(cufftHandle, const char* lto_callback_symbol_name, const void* lto_callback_fatbin,
    size_t lto_callback_fatbin_size, cufftXtCallbackType, void** caller_info);
cufftResult cufftXtMakePlanMany(cufftHandle, int rank, long long int* n, long long int* inembed, long long int istride,
    long long int idist, cudaDataType inputtype, long long int* onembed, long long int ostride, long long int odist,
    cudaDataType outputtype, long long int batch, size_t* workSize, cudaDataType executiontype);
cufftResult cufftXtGetSizeMany(cufftHandle, int rank, long long int* n, long long int* inembed, long long int istride,
    long long int idist, cudaDataType inputtype, long long int* onembed, long long int ostride, long long int odist,
    cudaDataType outputtype, long long int batch, size_t* workSize, cudaDataType executiontype);
cufftResult cufftXtExec(cufftHandle, void* input, void* output, int direction);
cufftResult cufftXtExecDescriptor(cufftHandle, cudaLibXtDesc* input, cudaLibXtDesc* output, int direction);
cufftResult cufftXtSetWorkAreaPolicy(cufftHandle, cufftXtWorkAreaPolicy, size_t* workSize);
cufftResult cufftXtSetDistribution(cufftHandle, int rank, const long long int* input_lower,
    const long long int* input_upper, const long long int* output_lower, const long long int* output_upper,
    const long long int* strides_input, const long long int* strides_output);
cufftResult cufftXtSetSubformatDefault(cufftHandle, cufftXtSubFormat subformat_forward, cufftXtSubFormat subformat_inverse);
}

#endif
