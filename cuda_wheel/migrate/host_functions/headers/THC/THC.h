// THC, which PyTorch 1.11 removed. Most files that include it use the check of errors only.
#pragma once
#include <ATen/ATen.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAException.h>
struct THCState;
#define THCudaCheck(EXPR) C10_CUDA_CHECK(EXPR)
#define THArgCheck(COND, ...) TORCH_CHECK(COND)
#define THAssert(COND) TORCH_CHECK(COND)
