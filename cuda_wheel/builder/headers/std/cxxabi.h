// <cxxabi.h> for host code: names of types as C++ spells them.
#ifndef CUDA_WHEEL_CXXABI_H
#define CUDA_WHEEL_CXXABI_H

#include <stddef.h>

namespace __cxxabiv1 {
extern "C" char* __cxa_demangle(const char*, char*, size_t*, int*);
}
namespace abi = __cxxabiv1;

#endif
