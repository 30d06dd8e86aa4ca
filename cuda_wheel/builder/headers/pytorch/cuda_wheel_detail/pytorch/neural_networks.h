// The parts of torch::nn that bindings of kernels use: modules to derive from, and functions of tensors.
#ifndef CUDA_WHEEL_PYTORCH_NEURAL_NETWORKS_H
#define CUDA_WHEEL_PYTORCH_NEURAL_NETWORKS_H

#include <cuda_wheel_detail/pytorch/operators.h>

namespace torch {
// The values of options: types of their own in enumtype, and one constant of each.
#define CUDA_WHEEL_PYTORCH_OPTION_VALUES(X)                                                                            \
    X(Linear) X(Conv1D) X(Conv2D) X(Conv3D) X(ConvTranspose1D) X(ConvTranspose2D) X(ConvTranspose3D) X(Sigmoid) X(Tanh) \
    X(ReLU) X(GELU) X(SiLU) X(Mish) X(LeakyReLU) X(FanIn) X(FanOut) X(Constant) X(Reflect) X(Replicate) X(Circular)     \
    X(Nearest) X(Bilinear) X(Bicubic) X(Trilinear) X(Area) X(NearestExact) X(Sum) X(Mean) X(Max) X(None) X(BatchMean)   \
    X(Zeros) X(Border) X(Reflection) X(RNN_TANH) X(RNN_RELU) X(LSTM) X(GRU) X(Valid) X(Same)
#define CUDA_WHEEL_PYTORCH_OPTION_VALUE(name) \
    namespace enumtype {                      \
    struct k##name {};                        \
    }                                         \
    constexpr enumtype::k##name k##name{};
CUDA_WHEEL_PYTORCH_OPTION_VALUES(CUDA_WHEEL_PYTORCH_OPTION_VALUE)
#undef CUDA_WHEEL_PYTORCH_OPTION_VALUE

namespace nn {
class Module {
  public:
    explicit Module(std::string name);
    Module();
    virtual ~Module();
    at::Tensor& register_parameter(std::string name, at::Tensor, bool requires_grad = true);
    at::Tensor& register_buffer(std::string name, at::Tensor);
    template <class M>
    std::shared_ptr<M> register_module(std::string name, std::shared_ptr<M>);
    std::vector<at::Tensor> parameters(bool recurse = true) const;
    virtual void train(bool on = true);
    void eval();
    bool is_training() const noexcept;
    virtual void to(c10::Device, bool non_blocking = false);
    virtual void zero_grad(bool set_to_none = true);

    CUDA_WHEEL_HOST_OBJECT;
};
namespace functional {
using at::cuda_wheel_argument;
#define CUDA_WHEEL_PYTORCH_FUNCTION(name) at::Tensor name(const at::Tensor&, CUDA_WHEEL_PYTORCH_ARGUMENTS);
CUDA_WHEEL_PYTORCH_FUNCTION(pad) CUDA_WHEEL_PYTORCH_FUNCTION(softmax) CUDA_WHEEL_PYTORCH_FUNCTION(log_softmax)
CUDA_WHEEL_PYTORCH_FUNCTION(relu) CUDA_WHEEL_PYTORCH_FUNCTION(gelu) CUDA_WHEEL_PYTORCH_FUNCTION(silu)
CUDA_WHEEL_PYTORCH_FUNCTION(softplus) CUDA_WHEEL_PYTORCH_FUNCTION(interpolate) CUDA_WHEEL_PYTORCH_FUNCTION(conv1d)
CUDA_WHEEL_PYTORCH_FUNCTION(conv2d) CUDA_WHEEL_PYTORCH_FUNCTION(conv3d) CUDA_WHEEL_PYTORCH_FUNCTION(linear)
CUDA_WHEEL_PYTORCH_FUNCTION(normalize) CUDA_WHEEL_PYTORCH_FUNCTION(layer_norm) CUDA_WHEEL_PYTORCH_FUNCTION(dropout)
CUDA_WHEEL_PYTORCH_FUNCTION(embedding) CUDA_WHEEL_PYTORCH_FUNCTION(grid_sample) CUDA_WHEEL_PYTORCH_FUNCTION(unfold)
CUDA_WHEEL_PYTORCH_FUNCTION(fold) CUDA_WHEEL_PYTORCH_FUNCTION(one_hot) CUDA_WHEEL_PYTORCH_FUNCTION(max_pool2d)
CUDA_WHEEL_PYTORCH_FUNCTION(avg_pool2d) CUDA_WHEEL_PYTORCH_FUNCTION(mse_loss) CUDA_WHEEL_PYTORCH_FUNCTION(cosine_similarity)
#undef CUDA_WHEEL_PYTORCH_FUNCTION
// Every option returns the options, so that calls chain.
struct cuda_wheel_options {
    template <class... Args>
    cuda_wheel_options(Args&&...);
#define CUDA_WHEEL_PYTORCH_OPTION(name) template <class T> cuda_wheel_options& name(const T&); \
    cuda_wheel_options& name(std::initializer_list<int64_t>);
    CUDA_WHEEL_PYTORCH_OPTION(mode) CUDA_WHEEL_PYTORCH_OPTION(value) CUDA_WHEEL_PYTORCH_OPTION(size)
    CUDA_WHEEL_PYTORCH_OPTION(scale_factor) CUDA_WHEEL_PYTORCH_OPTION(align_corners) CUDA_WHEEL_PYTORCH_OPTION(stride)
    CUDA_WHEEL_PYTORCH_OPTION(padding) CUDA_WHEEL_PYTORCH_OPTION(dilation) CUDA_WHEEL_PYTORCH_OPTION(groups)
    CUDA_WHEEL_PYTORCH_OPTION(dim) CUDA_WHEEL_PYTORCH_OPTION(p) CUDA_WHEEL_PYTORCH_OPTION(eps) CUDA_WHEEL_PYTORCH_OPTION(bias)
    CUDA_WHEEL_PYTORCH_OPTION(padding_mode) CUDA_WHEEL_PYTORCH_OPTION(weight) CUDA_WHEEL_PYTORCH_OPTION(beta)
    CUDA_WHEEL_PYTORCH_OPTION(threshold) CUDA_WHEEL_PYTORCH_OPTION(training)
#undef CUDA_WHEEL_PYTORCH_OPTION
};
using PadFuncOptions = cuda_wheel_options;
using InterpolateFuncOptions = cuda_wheel_options;
using SoftmaxFuncOptions = cuda_wheel_options;
using Conv1dFuncOptions = cuda_wheel_options;
using Conv2dFuncOptions = cuda_wheel_options;
using GridSampleFuncOptions = cuda_wheel_options;
using NormalizeFuncOptions = cuda_wheel_options;
using UnfoldFuncOptions = cuda_wheel_options;
using SoftplusFuncOptions = cuda_wheel_options;
} // namespace functional
} // namespace nn
} // namespace torch

#endif
