// The whole of the toolkit's <cuda_runtime.h>, with its functions of the host. NVRTC has the types and the functions of
// the device built in and defines the guards of the headers that declare them, so that only the rest is read.
#ifndef CUDA_WHEEL_DETAIL_RUNTIME_API_H
#define CUDA_WHEEL_DETAIL_RUNTIME_API_H

#include <utility>  // <cuda_runtime.h> includes it, which is too late: without __CUDACC_RTC__

#undef __CUDA_RUNTIME_H__
#undef __CUDA_RUNTIME_API_H__
// The device's runtime API: only relocatable code can call it, and then NVRTC has it built in.
#ifndef __CUDA_DEVICE_RUNTIME_API_H__
#define __CUDA_DEVICE_RUNTIME_API_H__
#define CUDA_WHEEL_DETAIL_NO_DEVICE_RUNTIME_API
#endif
#undef __CUDACC_RTC__

#include <cuda_runtime.h>

#define __CUDACC_RTC__ 1
#ifdef CUDA_WHEEL_DETAIL_NO_DEVICE_RUNTIME_API
#undef __CUDA_DEVICE_RUNTIME_API_H__
#undef CUDA_WHEEL_DETAIL_NO_DEVICE_RUNTIME_API
#endif

#endif
