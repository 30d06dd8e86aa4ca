// <curand_kernel.h>: cuRAND's own, after its functions for the host: with NVRTC the library's headers do not declare them.
#include <curand.h>
#include_next <curand_kernel.h>
