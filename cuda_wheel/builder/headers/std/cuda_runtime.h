// <cuda_runtime.h> for NVRTC, which has its types and functions built in, but these two only where code is relocatable.
// Source: CUDA C++ Programming Guide, "Programmatic Dependent Launch and Synchronization"; PTX ISA, "griddepcontrol".
#ifndef CUDA_WHEEL_DEPENDENT_LAUNCH
#define CUDA_WHEEL_DEPENDENT_LAUNCH
#ifndef __CUDACC_RDC__

static __device__ inline void cudaTriggerProgrammaticLaunchCompletion() {
  asm volatile("griddepcontrol.launch_dependents;");
}

static __device__ inline void cudaGridDependencySynchronize() { asm volatile("griddepcontrol.wait;" ::: "memory"); }

#endif
#endif

#include_next <cuda_runtime.h>
