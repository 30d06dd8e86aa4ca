// What the stand-ins for CUB's device-wide algorithms have in common.
#ifndef CUDA_WHEEL_CUB_LAUNCHER_H
#define CUDA_WHEEL_CUB_LAUNCHER_H

#include <cub/thread/thread_operators.cuh>
#include <cub/util_debug.cuh>
#include <cub/util_type.cuh>
#include <driver_types.h>

// A host function that takes any arguments. Template arguments that a call names go into the first pack, so that the
// types of its arguments are always deduced.
#define CUDA_WHEEL_LAUNCHER(name) \
  template <class... Named, class... Arguments> static cudaError_t name(Arguments&&... arguments);

#endif
