// <cuda_fp16.h> is the toolkit's, for NVRTC: files with host code do not see its macro; see <cuda_wheel_detail/host_code.h>.
#ifdef __CUDACC_RTC__
#include_next <cuda_fp16.h>
#else
#define __CUDACC_RTC__ 1
#include_next <cuda_fp16.h>
#undef __CUDACC_RTC__
#endif
