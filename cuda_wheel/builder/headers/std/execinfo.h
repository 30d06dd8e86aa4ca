// <execinfo.h> for host code: the calls that led here.
#ifndef CUDA_WHEEL_EXECINFO_H
#define CUDA_WHEEL_EXECINFO_H

extern "C" {
int backtrace(void**, int);
char** backtrace_symbols(void* const*, int);
void backtrace_symbols_fd(void* const*, int, int);
}

#endif
