// <iconv.h> for host code: conversions between encodings.
#ifndef CUDA_WHEEL_ICONV_H
#define CUDA_WHEEL_ICONV_H

#include <stddef.h>

typedef void* iconv_t;

extern "C" {
iconv_t iconv_open(const char*, const char*);
size_t iconv(iconv_t, char**, size_t*, char**, size_t*);
int iconv_close(iconv_t);
}

#endif
