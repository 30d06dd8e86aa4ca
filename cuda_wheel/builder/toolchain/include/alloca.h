// <alloca.h> for host code: memory of a function's frame. NVRTC has it for no device code.
#ifndef CUDA_WHEEL_ALLOCA_H
#define CUDA_WHEEL_ALLOCA_H

#include <stddef.h>

extern "C" void* alloca(size_t);

#endif
