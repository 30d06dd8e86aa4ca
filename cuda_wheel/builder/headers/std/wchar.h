// <wchar.h> for host code: wide characters.
#ifndef CUDA_WHEEL_WCHAR_H
#define CUDA_WHEEL_WCHAR_H

#include <stddef.h>

typedef unsigned int wint_t;
struct mbstate_t {
  int count;
  unsigned int value;
};

extern "C" {
size_t wcslen(const wchar_t*);
int wcscmp(const wchar_t*, const wchar_t*);
int wcsncmp(const wchar_t*, const wchar_t*, size_t);
wchar_t* wcscpy(wchar_t*, const wchar_t*);
wchar_t* wmemcpy(wchar_t*, const wchar_t*, size_t);
size_t mbstowcs(wchar_t*, const char*, size_t);
size_t wcstombs(char*, const wchar_t*, size_t);
}

#endif
