// <c10/macros/Export.h>: PyTorch moved what it declares to <torch/headeronly/macros/Export.h>.
#ifndef CUDA_WHEEL_PYTORCH_C10_MACROS_EXPORT_H
#define CUDA_WHEEL_PYTORCH_C10_MACROS_EXPORT_H

#include <torch/headeronly/macros/Export.h>

#endif
