// <alloca.h> for host code: memory on the stack.
#ifndef CUDA_WHEEL_ALLOCA_H
#define CUDA_WHEEL_ALLOCA_H

#include <stddef.h>

extern "C" {
void* alloca(size_t);
}

#endif
