#ifdef CUDA_WHEEL_PYTORCH_OWN_VERSION
#include_next <torch/headeronly/version.h>
#else
#include <cuda_wheel_detail/pytorch/version.h>
#endif
