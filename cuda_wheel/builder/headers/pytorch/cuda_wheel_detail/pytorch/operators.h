// The operators as functions in at:: and torch::.
#ifndef CUDA_WHEEL_PYTORCH_OPERATORS_H
#define CUDA_WHEEL_PYTORCH_OPERATORS_H

#include <cuda_wheel_detail/pytorch/tensor.h>

namespace at {

#define CUDA_WHEEL_PYTORCH_FUNCTION(name)                                 \
    Tensor name(const Tensor&, CUDA_WHEEL_PYTORCH_ARGUMENTS);             \
    Tensor& name##_out(const Tensor&, cuda_wheel_argument, CUDA_WHEEL_PYTORCH_ARGUMENTS);
#define CUDA_WHEEL_PYTORCH_FREE_FUNCTION(name)                            \
    Tensor name(cuda_wheel_argument, CUDA_WHEEL_PYTORCH_MANY_ARGUMENTS);       \
    Tensor& name##_out(const Tensor&, CUDA_WHEEL_PYTORCH_MANY_ARGUMENTS);
#define CUDA_WHEEL_PYTORCH_WIDE_FUNCTION(name)                                                      \
    Tensor name(const Tensor&, CUDA_WHEEL_PYTORCH_MANY_ARGUMENTS);         \
    Tensor& name##_out(const Tensor&, CUDA_WHEEL_PYTORCH_MANY_ARGUMENTS);
#define CUDA_WHEEL_PYTORCH_IN_PLACE_FUNCTION(name) Tensor& name(const Tensor&, CUDA_WHEEL_PYTORCH_ARGUMENTS);
#define CUDA_WHEEL_PYTORCH_OUT_FUNCTION(name) Tensor& name(const Tensor&, CUDA_WHEEL_PYTORCH_MANY_ARGUMENTS);
#define CUDA_WHEEL_PYTORCH_PAIR_FUNCTION(name) \
    std::tuple<Tensor, Tensor> name(const Tensor&, CUDA_WHEEL_PYTORCH_MANY_ARGUMENTS);
#define CUDA_WHEEL_PYTORCH_TRIPLE_FUNCTION(name) \
    std::tuple<Tensor, Tensor, Tensor> name(const Tensor&, CUDA_WHEEL_PYTORCH_MANY_ARGUMENTS);
#define CUDA_WHEEL_PYTORCH_VECTOR_FUNCTION(name) \
    std::vector<Tensor> name(cuda_wheel_argument, CUDA_WHEEL_PYTORCH_ARGUMENTS);
#define CUDA_WHEEL_PYTORCH_LIST_FUNCTION(name) \
    void name(cuda_wheel_argument, CUDA_WHEEL_PYTORCH_MANY_ARGUMENTS);
#define CUDA_WHEEL_PYTORCH_OUT_PAIR_FUNCTION(name) \
    std::tuple<Tensor&, Tensor&> name(const Tensor&, CUDA_WHEEL_PYTORCH_MANY_ARGUMENTS);

CUDA_WHEEL_PYTORCH_BOTH(CUDA_WHEEL_PYTORCH_FUNCTION)
CUDA_WHEEL_PYTORCH_BOTH_WIDE(CUDA_WHEEL_PYTORCH_WIDE_FUNCTION)
CUDA_WHEEL_PYTORCH_BOTH_FREE(CUDA_WHEEL_PYTORCH_FREE_FUNCTION)
CUDA_WHEEL_PYTORCH_FUNCTIONS(CUDA_WHEEL_PYTORCH_FUNCTION)
CUDA_WHEEL_PYTORCH_FUNCTIONS_FREE(CUDA_WHEEL_PYTORCH_FREE_FUNCTION)
CUDA_WHEEL_PYTORCH_FUNCTIONS_WIDE(CUDA_WHEEL_PYTORCH_WIDE_FUNCTION)
CUDA_WHEEL_PYTORCH_BOTH_IN_PLACE(CUDA_WHEEL_PYTORCH_IN_PLACE_FUNCTION)
CUDA_WHEEL_PYTORCH_FUNCTIONS_IN_PLACE(CUDA_WHEEL_PYTORCH_IN_PLACE_FUNCTION)
CUDA_WHEEL_PYTORCH_FUNCTIONS_OUT(CUDA_WHEEL_PYTORCH_OUT_FUNCTION)
CUDA_WHEEL_PYTORCH_BOTH_PAIRS(CUDA_WHEEL_PYTORCH_PAIR_FUNCTION)
CUDA_WHEEL_PYTORCH_FUNCTION_PAIRS(CUDA_WHEEL_PYTORCH_PAIR_FUNCTION)
CUDA_WHEEL_PYTORCH_FUNCTION_TRIPLES(CUDA_WHEEL_PYTORCH_TRIPLE_FUNCTION)
CUDA_WHEEL_PYTORCH_BOTH_VECTORS(CUDA_WHEEL_PYTORCH_VECTOR_FUNCTION)
CUDA_WHEEL_PYTORCH_FUNCTION_VECTORS(CUDA_WHEEL_PYTORCH_VECTOR_FUNCTION)
CUDA_WHEEL_PYTORCH_FUNCTION_LISTS(CUDA_WHEEL_PYTORCH_LIST_FUNCTION)
CUDA_WHEEL_PYTORCH_OUT_PAIRS(CUDA_WHEEL_PYTORCH_OUT_PAIR_FUNCTION)

#undef CUDA_WHEEL_PYTORCH_FUNCTION
#undef CUDA_WHEEL_PYTORCH_FREE_FUNCTION
#undef CUDA_WHEEL_PYTORCH_WIDE_FUNCTION
#undef CUDA_WHEEL_PYTORCH_IN_PLACE_FUNCTION
#undef CUDA_WHEEL_PYTORCH_OUT_FUNCTION
#undef CUDA_WHEEL_PYTORCH_PAIR_FUNCTION
#undef CUDA_WHEEL_PYTORCH_TRIPLE_FUNCTION
#undef CUDA_WHEEL_PYTORCH_VECTOR_FUNCTION
#undef CUDA_WHEEL_PYTORCH_LIST_FUNCTION
#undef CUDA_WHEEL_PYTORCH_OUT_PAIR_FUNCTION

#define CUDA_WHEEL_PYTORCH_EXTREMUM(name)                                                           \
    Tensor name(const Tensor&);                                                                     \
    Tensor name(const Tensor&, const Tensor&);                                                      \
    std::tuple<Tensor, Tensor> name(const Tensor&, int64_t dimension, bool keepdim = false);        \
    Tensor& name##_out(Tensor&, const Tensor&, const Tensor&);                                      \
    std::tuple<Tensor&, Tensor&> name##_out(Tensor&, Tensor&, const Tensor&, int64_t, bool = false);
CUDA_WHEEL_PYTORCH_EXTREMUM(max)
CUDA_WHEEL_PYTORCH_EXTREMUM(min)
CUDA_WHEEL_PYTORCH_EXTREMUM(median)
CUDA_WHEEL_PYTORCH_EXTREMUM(nanmedian)
#undef CUDA_WHEEL_PYTORCH_EXTREMUM

std::vector<Tensor> where(const Tensor& condition);
Tensor where(const Tensor& condition, cuda_wheel_argument self, cuda_wheel_argument other);
#define CUDA_WHEEL_PYTORCH_AT_LEAST(name)    \
    Tensor name(const Tensor&);              \
    std::vector<Tensor> name(TensorList);
CUDA_WHEEL_PYTORCH_AT_LEAST(atleast_1d)
CUDA_WHEEL_PYTORCH_AT_LEAST(atleast_2d)
CUDA_WHEEL_PYTORCH_AT_LEAST(atleast_3d)
#undef CUDA_WHEEL_PYTORCH_AT_LEAST

Tensor real(const Tensor&);
Tensor imag(const Tensor&);
Tensor conj(const Tensor&);
Tensor detach(const Tensor&);
Tensor& fill_(const Tensor&, cuda_wheel_argument);
Tensor& zero_(const Tensor&);
Tensor index(const Tensor&, const c10::List<std::optional<Tensor>>&);
Tensor& index_put_(const Tensor&, const c10::List<std::optional<Tensor>>&, const Tensor&, bool accumulate = false);
std::tuple<Tensor, Tensor, Tensor> svd(const Tensor&, bool some = true, bool compute_uv = true);
std::tuple<Tensor, Tensor, Tensor> convolution_backward(const Tensor&, const Tensor&, const Tensor&, CUDA_WHEEL_PYTORCH_MANY_ARGUMENTS);
std::tuple<Tensor, Tensor, Tensor, Tensor> embedding_bag(const Tensor&, const Tensor&, const Tensor&, CUDA_WHEEL_PYTORCH_MANY_ARGUMENTS);
std::tuple<Tensor, Tensor, Tensor, Tensor> linalg_lstsq(const Tensor&, const Tensor&, CUDA_WHEEL_PYTORCH_MANY_ARGUMENTS);
std::tuple<Tensor, Tensor, Tensor, Tensor> batch_norm_backward_reduce(const Tensor&, const Tensor&, CUDA_WHEEL_PYTORCH_MANY_ARGUMENTS);
std::vector<Tensor> gradient(const Tensor&, CUDA_WHEEL_PYTORCH_ARGUMENTS);
bool allclose(const Tensor&, const Tensor&, CUDA_WHEEL_PYTORCH_ARGUMENTS);
bool equal(const Tensor&, const Tensor&);
bool is_nonzero(const Tensor&);
bool is_same_size(const Tensor&, const Tensor&);
bool is_complex(const Tensor&);
bool is_floating_point(const Tensor&);
bool can_cast(c10::ScalarType, c10::ScalarType);
int64_t size(const Tensor&, int64_t);
int64_t stride(const Tensor&, int64_t);
int64_t numel(const Tensor&);
c10::DeviceIndex get_device(const Tensor&);
c10::ScalarType result_type(cuda_wheel_argument, cuda_wheel_argument);
c10::ScalarType promote_types(c10::ScalarType, c10::ScalarType);
namespace native {
using at::result_type;
const Tensor& fill_empty_deterministic_(const Tensor&);
}

Tensor tensor(cuda_wheel_argument values);
Tensor tensor(cuda_wheel_argument values, const c10::TensorOptions&);
Tensor from_blob(void* data, c10::IntArrayRef sizes, const c10::TensorOptions& = {}, std::optional<c10::Device> = std::nullopt);
Tensor from_blob(void* data, c10::IntArrayRef sizes, c10::IntArrayRef strides, const c10::TensorOptions& = {},
                 std::optional<c10::Device> = std::nullopt);
Tensor from_blob(void* data, c10::IntArrayRef sizes, const std::function<void(void*)>& deleter, const c10::TensorOptions& = {},
                 std::optional<c10::Device> = std::nullopt);
Tensor from_blob(void* data, c10::IntArrayRef sizes, c10::IntArrayRef strides, const std::function<void(void*)>& deleter,
                 const c10::TensorOptions& = {}, std::optional<c10::Device> = std::nullopt);

std::vector<Tensor> expand_outplace(TensorList);
std::tuple<c10::MaybeOwned<Tensor>, c10::MaybeOwned<Tensor>> expand_outplace(const Tensor&, const Tensor&);
std::vector<int64_t> infer_size(c10::IntArrayRef, c10::IntArrayRef);
void manual_seed(uint64_t);

} // namespace at

namespace torch {
namespace linalg {
using at::cuda_wheel_argument;
at::Tensor linalg_norm(const at::Tensor&, CUDA_WHEEL_PYTORCH_ARGUMENTS);
at::Tensor linalg_det(const at::Tensor&);
at::Tensor norm(const at::Tensor&, CUDA_WHEEL_PYTORCH_ARGUMENTS);
at::Tensor vector_norm(const at::Tensor&, CUDA_WHEEL_PYTORCH_ARGUMENTS);
at::Tensor matrix_norm(const at::Tensor&, CUDA_WHEEL_PYTORCH_ARGUMENTS);
at::Tensor inv(const at::Tensor&);
at::Tensor det(const at::Tensor&);
at::Tensor cholesky(const at::Tensor&);
at::Tensor pinv(const at::Tensor&, CUDA_WHEEL_PYTORCH_ARGUMENTS);
at::Tensor solve(const at::Tensor&, const at::Tensor&, bool left = true);
at::Tensor eigvalsh(const at::Tensor&, CUDA_WHEEL_PYTORCH_ARGUMENTS);
std::tuple<at::Tensor, at::Tensor> eigh(const at::Tensor&, CUDA_WHEEL_PYTORCH_ARGUMENTS);
std::tuple<at::Tensor, at::Tensor> qr(const at::Tensor&, CUDA_WHEEL_PYTORCH_ARGUMENTS);
std::tuple<at::Tensor, at::Tensor> eig(const at::Tensor&);
std::tuple<at::Tensor, at::Tensor> slogdet(const at::Tensor&);
std::tuple<at::Tensor, at::Tensor> lu_factor(const at::Tensor&, bool pivot = true);
std::tuple<at::Tensor, at::Tensor> solve_ex(const at::Tensor&, const at::Tensor&, bool left = true, bool check_errors = false);
std::tuple<at::Tensor, at::Tensor, at::Tensor> lu(const at::Tensor&, bool pivot = true);
std::tuple<at::Tensor, at::Tensor, at::Tensor> svd(const at::Tensor&, CUDA_WHEEL_PYTORCH_ARGUMENTS);
std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor> lstsq(const at::Tensor&, const at::Tensor&, CUDA_WHEEL_PYTORCH_ARGUMENTS);
at::Tensor svdvals(const at::Tensor&, CUDA_WHEEL_PYTORCH_ARGUMENTS);
at::Tensor eigvals(const at::Tensor&);
at::Tensor householder_product(const at::Tensor&, const at::Tensor&);
at::Tensor matrix_exp(const at::Tensor&);
at::Tensor matrix_power(const at::Tensor&, int64_t);
at::Tensor matrix_rank(const at::Tensor&, CUDA_WHEEL_PYTORCH_ARGUMENTS);
at::Tensor multi_dot(at::TensorList);
at::Tensor tensorinv(const at::Tensor&, int64_t = 2);
at::Tensor tensorsolve(const at::Tensor&, const at::Tensor&, CUDA_WHEEL_PYTORCH_ARGUMENTS);
} // namespace linalg
namespace special {
using at::cuda_wheel_argument;
#define CUDA_WHEEL_PYTORCH_SPECIAL(name) at::Tensor name(cuda_wheel_argument, CUDA_WHEEL_PYTORCH_ARGUMENTS);
CUDA_WHEEL_PYTORCH_SPECIAL(digamma) CUDA_WHEEL_PYTORCH_SPECIAL(entr) CUDA_WHEEL_PYTORCH_SPECIAL(erf)
CUDA_WHEEL_PYTORCH_SPECIAL(erfc) CUDA_WHEEL_PYTORCH_SPECIAL(erfcx) CUDA_WHEEL_PYTORCH_SPECIAL(erfinv)
CUDA_WHEEL_PYTORCH_SPECIAL(exp2) CUDA_WHEEL_PYTORCH_SPECIAL(expit) CUDA_WHEEL_PYTORCH_SPECIAL(expm1)
CUDA_WHEEL_PYTORCH_SPECIAL(gammaln) CUDA_WHEEL_PYTORCH_SPECIAL(i0) CUDA_WHEEL_PYTORCH_SPECIAL(i0e)
CUDA_WHEEL_PYTORCH_SPECIAL(i1) CUDA_WHEEL_PYTORCH_SPECIAL(i1e) CUDA_WHEEL_PYTORCH_SPECIAL(log1p)
CUDA_WHEEL_PYTORCH_SPECIAL(logit) CUDA_WHEEL_PYTORCH_SPECIAL(logsumexp) CUDA_WHEEL_PYTORCH_SPECIAL(multigammaln)
CUDA_WHEEL_PYTORCH_SPECIAL(ndtr) CUDA_WHEEL_PYTORCH_SPECIAL(ndtri) CUDA_WHEEL_PYTORCH_SPECIAL(polygamma)
CUDA_WHEEL_PYTORCH_SPECIAL(psi) CUDA_WHEEL_PYTORCH_SPECIAL(round) CUDA_WHEEL_PYTORCH_SPECIAL(sinc)
CUDA_WHEEL_PYTORCH_SPECIAL(softmax) CUDA_WHEEL_PYTORCH_SPECIAL(xlog1py) CUDA_WHEEL_PYTORCH_SPECIAL(xlogy)
CUDA_WHEEL_PYTORCH_SPECIAL(zeta)
#undef CUDA_WHEEL_PYTORCH_SPECIAL
} // namespace special
namespace fft {
using at::cuda_wheel_argument;
#define CUDA_WHEEL_PYTORCH_FFT(name) at::Tensor name(const at::Tensor&, CUDA_WHEEL_PYTORCH_ARGUMENTS);
CUDA_WHEEL_PYTORCH_FFT(fft) CUDA_WHEEL_PYTORCH_FFT(ifft) CUDA_WHEEL_PYTORCH_FFT(fft2) CUDA_WHEEL_PYTORCH_FFT(ifft2)
CUDA_WHEEL_PYTORCH_FFT(fftn) CUDA_WHEEL_PYTORCH_FFT(ifftn) CUDA_WHEEL_PYTORCH_FFT(rfft) CUDA_WHEEL_PYTORCH_FFT(irfft)
CUDA_WHEEL_PYTORCH_FFT(rfft2) CUDA_WHEEL_PYTORCH_FFT(irfft2) CUDA_WHEEL_PYTORCH_FFT(rfftn) CUDA_WHEEL_PYTORCH_FFT(irfftn)
CUDA_WHEEL_PYTORCH_FFT(fftshift) CUDA_WHEEL_PYTORCH_FFT(ifftshift)
#undef CUDA_WHEEL_PYTORCH_FFT
} // namespace fft
} // namespace torch

#endif
