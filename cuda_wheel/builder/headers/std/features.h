// <features.h> for host code: macros of the C library.
#ifndef CUDA_WHEEL_FEATURES_H
#define CUDA_WHEEL_FEATURES_H

#include <sys/cdefs.h>

#endif
