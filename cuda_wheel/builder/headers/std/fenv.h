// <fenv.h> for NVRTC: the floating-point environment of host code on x86-64.
#ifndef CUDA_WHEEL_FENV_H
#define CUDA_WHEEL_FENV_H

#define FE_INVALID 1
#define FE_DIVBYZERO 4
#define FE_OVERFLOW 8
#define FE_UNDERFLOW 16
#define FE_INEXACT 32
#define FE_ALL_EXCEPT 61
#define FE_TONEAREST 0
#define FE_DOWNWARD 0x400
#define FE_UPWARD 0x800
#define FE_TOWARDZERO 0xc00
#define FE_DFL_ENV (static_cast<const fenv_t*>(nullptr))

typedef unsigned short fexcept_t;
typedef struct cuda_wheel_fenv { unsigned content[8]; } fenv_t;

extern "C" {
int feclearexcept(int);
int fegetexceptflag(fexcept_t*, int);
int feraiseexcept(int);
int fesetexceptflag(const fexcept_t*, int);
int fetestexcept(int);
int fegetround();
int fesetround(int);
int fegetenv(fenv_t*);
int feholdexcept(fenv_t*);
int fesetenv(const fenv_t*);
int feupdateenv(const fenv_t*);
int feenableexcept(int);
int fedisableexcept(int);
}

#endif
