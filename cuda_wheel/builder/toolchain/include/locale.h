// <locale.h> for host code: locales.
#ifndef CUDA_WHEEL_LOCALE_H
#define CUDA_WHEEL_LOCALE_H

extern "C" char* setlocale(int, const char*);

#define LC_CTYPE 0
#define LC_NUMERIC 1
#define LC_ALL 6

#endif
