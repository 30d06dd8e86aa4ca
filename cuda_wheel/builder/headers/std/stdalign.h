// <stdalign.h> for host code: nothing in C++, where alignas and alignof are keywords.
#ifndef CUDA_WHEEL_STDALIGN_H
#define CUDA_WHEEL_STDALIGN_H

#define __alignas_is_defined 1
#define __alignof_is_defined 1

#endif
