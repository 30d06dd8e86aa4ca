// <stdnoreturn.h> for host code: empty in C++, where the attribute has its own spelling.
#ifndef CUDA_WHEEL_STDNORETURN_H
#define CUDA_WHEEL_STDNORETURN_H

#endif
