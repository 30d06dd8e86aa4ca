// <uchar.h> for host code: conversions of Unicode characters.
#ifndef CUDA_WHEEL_UCHAR_H
#define CUDA_WHEEL_UCHAR_H

#include <wchar.h>

extern "C" {
size_t mbrtoc16(char16_t*, const char*, size_t, mbstate_t*);
size_t c16rtomb(char*, char16_t, mbstate_t*);
size_t mbrtoc32(char32_t*, const char*, size_t, mbstate_t*);
size_t c32rtomb(char*, char32_t, mbstate_t*);
}

#endif
