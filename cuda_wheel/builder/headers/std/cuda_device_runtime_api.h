// <cuda_device_runtime_api.h> for NVRTC: only relocatable code can call the device's runtime API, and then NVRTC has it
// built in. <cuda_runtime.h> has the functions that need no runtime.
#include <cuda_runtime.h>
