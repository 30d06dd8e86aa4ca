// <error.h> for host code: messages of programs, as the GNU library has them.
#ifndef CUDA_WHEEL_ERROR_H
#define CUDA_WHEEL_ERROR_H

extern "C" {
void error(int, int, const char*, ...);
void error_at_line(int, int, const char*, unsigned int, const char*, ...);
}

#endif
