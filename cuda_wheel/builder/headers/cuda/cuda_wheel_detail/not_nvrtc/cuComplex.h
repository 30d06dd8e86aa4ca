// <cuComplex.h> where files with host code do not see NVRTC's macro: the header asks for it, and is read with it.
#ifdef __CUDACC_RTC__
#include_next <cuComplex.h>
#else
#define __CUDACC_RTC__ 1
#include_next <cuComplex.h>
#undef __CUDACC_RTC__
#endif
