// <error.h> for host code: messages of errors.
#ifndef CUDA_WHEEL_ERROR_H
#define CUDA_WHEEL_ERROR_H

extern "C" {
void error(int, int, const char*, ...);
}

#endif
