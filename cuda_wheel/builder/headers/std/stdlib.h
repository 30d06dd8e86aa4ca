// <stdlib.h> for NVRTC: the functions of host code; NVRTC predeclares malloc, free, abs and similar functions.
#ifndef CUDA_WHEEL_STDLIB_H
#define CUDA_WHEEL_STDLIB_H

#define EXIT_SUCCESS 0
#define EXIT_FAILURE 1
#define RAND_MAX 2147483647
#define MB_CUR_MAX 6

typedef struct cuda_wheel_div { int quot, rem; } div_t;
typedef struct cuda_wheel_ldiv { long quot, rem; } ldiv_t;
typedef struct cuda_wheel_lldiv { long long quot, rem; } lldiv_t;
typedef struct __locale_struct* locale_t;

extern "C" {
void* calloc(size_t, size_t);
void* realloc(void*, size_t);
void* aligned_alloc(size_t, size_t);
int posix_memalign(void**, size_t, size_t);
[[noreturn]] void abort() noexcept;
[[noreturn]] void exit(int) noexcept;
[[noreturn]] void _Exit(int) noexcept;
[[noreturn]] void quick_exit(int) noexcept;
int atexit(void (*)());
char* getenv(const char*);
int setenv(const char*, const char*, int);
int unsetenv(const char*);
int putenv(char*);
int system(const char*);
char* realpath(const char*, char*);
int mkstemp(char*);
char* mkdtemp(char*);
double atof(const char*);
int atoi(const char*);
long atol(const char*);
long long atoll(const char*);
double strtod(const char*, char**);
float strtof(const char*, char**);
long double strtold(const char*, char**);
long strtol(const char*, char**, int);
long long strtoll(const char*, char**, int);
unsigned long strtoul(const char*, char**, int);
unsigned long long strtoull(const char*, char**, int);
double strtod_l(const char*, char**, locale_t);
float strtof_l(const char*, char**, locale_t);
long double strtold_l(const char*, char**, locale_t);
long strtol_l(const char*, char**, int, locale_t);
long long strtoll_l(const char*, char**, int, locale_t);
unsigned long strtoul_l(const char*, char**, int, locale_t);
unsigned long long strtoull_l(const char*, char**, int, locale_t);
int rand();
void srand(unsigned);
int rand_r(unsigned*);
long random();
void srandom(unsigned);
double drand48();
long lrand48();
void srand48(long);
void qsort(void*, size_t, size_t, int (*)(const void*, const void*));
void* bsearch(const void*, const void*, size_t, size_t, int (*)(const void*, const void*));
div_t div(int, int);
ldiv_t ldiv(long, long);
lldiv_t lldiv(long long, long long);
int mblen(const char*, size_t);
int mbtowc(wchar_t*, const char*, size_t);
size_t mbstowcs(wchar_t*, const char*, size_t);
size_t wcstombs(char*, const wchar_t*, size_t);
}

#endif
