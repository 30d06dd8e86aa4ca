// <stddef.h> for NVRTC: NVRTC predeclares size_t, ptrdiff_t and NULL; this adds the rest.
#ifndef CUDA_WHEEL_STDDEF_H
#define CUDA_WHEEL_STDDEF_H

typedef decltype(nullptr) nullptr_t;
typedef struct {
  alignas(16) long long integer;
  alignas(16) double real;
} max_align_t;

#ifndef offsetof
#define offsetof(type, member) ((size_t)__INTADDR__(&((type*)0)->member))  // the spelling in every release of NVRTC's front end
#endif

#endif
