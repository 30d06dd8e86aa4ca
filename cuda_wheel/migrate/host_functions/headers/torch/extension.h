/* PyTorch's headers for extensions, without those of its neural networks, optimizers and data sets: libclang ends in them. */
#pragma once
#include <ATen/ATen.h>
#include <ATen/core/op_registration/op_registration.h>
#include <torch/types.h> // older releases need it before the others
#include <torch/autograd.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/csrc/utils/pybind.h>
#include <torch/cuda.h>
#include <torch/custom_class.h>
#include <torch/enum.h>
#include <torch/fft.h>
#include <torch/library.h>
#include <torch/special.h>
#include <torch/utils.h>
#include <torch/version.h>
#if __has_include(<torch/print.h>)
#include <torch/print.h> // not in older releases of PyTorch
#endif

namespace torch {
namespace python {}
namespace nn {
namespace functional {
struct PadFuncOptions {
    PadFuncOptions(std::vector<int64_t> pad);
};
at::Tensor pad(const at::Tensor& input, const PadFuncOptions& options);
}
}
}
