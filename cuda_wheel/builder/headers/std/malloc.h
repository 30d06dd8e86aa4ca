// <malloc.h> for host code: memory.
#ifndef CUDA_WHEEL_MALLOC_H
#define CUDA_WHEEL_MALLOC_H

#include <stdlib.h>

extern "C" {
void* memalign(size_t, size_t);
int malloc_trim(size_t);
}

#endif
