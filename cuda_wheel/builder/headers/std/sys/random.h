// <sys/random.h> for host code: random bytes.
#ifndef CUDA_WHEEL_SYS_RANDOM_H
#define CUDA_WHEEL_SYS_RANDOM_H

#include <sys/types.h>

extern "C" {
ssize_t getrandom(void*, size_t, unsigned int);
}

#endif
