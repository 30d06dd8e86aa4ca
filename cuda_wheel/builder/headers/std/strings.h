// <strings.h> for host code: comparisons without regard to case.
#ifndef CUDA_WHEEL_STRINGS_H
#define CUDA_WHEEL_STRINGS_H

#include <stddef.h>

extern "C" {
int strcasecmp(const char*, const char*);
int strncasecmp(const char*, const char*, size_t);
int ffs(int);
}

#endif
