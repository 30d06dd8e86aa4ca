#include <cuda_wheel_detail/pytorch/all.h>
#ifdef TORCH_API_INCLUDE_EXTENSION_H // BuildExtension defines it
#include <cuda_wheel_detail/pytorch/extension.h>
#endif
