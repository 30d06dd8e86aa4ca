// <memory.h> for host code: the same as <string.h>.
#ifndef CUDA_WHEEL_MEMORY_H
#define CUDA_WHEEL_MEMORY_H

#include <string.h>

#endif
