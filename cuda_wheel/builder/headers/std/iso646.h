// <iso646.h> for host code: empty in C++, where `and`, `or` and the others are keywords.
#ifndef CUDA_WHEEL_ISO646_H
#define CUDA_WHEEL_ISO646_H

#endif
