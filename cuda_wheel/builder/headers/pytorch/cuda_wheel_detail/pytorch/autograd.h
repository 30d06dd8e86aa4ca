// torch::autograd: Function<T>, whose apply() runs T::forward and T::backward so that template members are instantiated.
#ifndef CUDA_WHEEL_PYTORCH_AUTOGRAD_H
#define CUDA_WHEEL_PYTORCH_AUTOGRAD_H

#include <unordered_map>

#include <cuda_wheel_detail/pytorch/ivalue.h>
#include <cuda_wheel_detail/pytorch/operators.h>

namespace torch {
namespace autograd {

using Variable = at::Tensor;
using variable_list = std::vector<Variable>;
using tensor_list = std::vector<at::Tensor>;
using optional_variable_list = std::vector<std::optional<Variable>>;
using IndexRange = std::pair<size_t, size_t>;
using at::GradMode;

struct Node : std::enable_shared_from_this<Node> {
    virtual ~Node();
    virtual variable_list apply(variable_list&&) = 0;
    std::string name() const;

    CUDA_WHEEL_HOST_OBJECT;
};
using edge_list = std::vector<std::pair<std::shared_ptr<Node>, uint32_t>>;

class SavedVariable {
  public:
    SavedVariable();
    SavedVariable(const Variable&, bool is_output, bool is_inplace_on_view = false);
    Variable unpack(std::shared_ptr<Node> saved_for = nullptr) const;
    void reset_data();

    CUDA_WHEEL_HOST_OBJECT;
};

struct AutogradContext {
    AutogradContext();
    AutogradContext(const AutogradContext&) = delete;
    AutogradContext& operator=(const AutogradContext&) = delete;
    std::unordered_map<std::string, c10::IValue> saved_data;
    void save_for_backward(variable_list);
    void mark_dirty(const variable_list&);
    void mark_non_differentiable(const variable_list&);
    void set_materialize_grads(bool);
    variable_list get_saved_variables() const;
    bool needs_input_grad(size_t) const;
    bool needs_input_grad(std::initializer_list<IndexRange>) const;

    CUDA_WHEEL_HOST_OBJECT;
};

template <class T>
struct Function {
    template <class X = T, class... Args>
    static auto apply(Args&&... args) -> decltype(X::forward(nullptr, std::declval<Args>()...)) {
        AutogradContext* context = nullptr;
        X::backward(context, variable_list());
        return X::forward(context, static_cast<Args&&>(args)...);
    }
};

variable_list grad(const variable_list& outputs, const variable_list& inputs, const variable_list& grad_outputs = {},
                   std::optional<bool> retain_graph = std::nullopt, bool create_graph = false, bool allow_unused = false);
void backward(const variable_list& tensors, const variable_list& grad_tensors = {}, std::optional<bool> retain_graph = std::nullopt,
              bool create_graph = false, const variable_list& inputs = {});
void increment_version(const at::Tensor&);
void check_inplace(const at::Tensor&, bool requires_grad);
template <class... Args>
bool any_variable_requires_grad(const Args&...);
template <class... Args>
bool compute_requires_grad(const Args&...);
Variable make_variable(at::Tensor, bool requires_grad = false, bool allow_tensor_metadata_change = true);

} // namespace autograd

using autograd::Variable;
using c10::AutoGradMode;
using c10::InferenceMode;
using c10::NoGradGuard;
namespace autograd {
using c10::AutoGradMode;
}

} // namespace torch

namespace at {
struct AutoDispatchBelowADInplaceOrView {
    AutoDispatchBelowADInplaceOrView();
    ~AutoDispatchBelowADInplaceOrView();

    void* cuda_wheel_layout[2] = {};
};
struct AutoDispatchBelowAutograd {
    AutoDispatchBelowAutograd();
    ~AutoDispatchBelowAutograd();

    void* cuda_wheel_layout[2] = {};
};
struct AutoNonVariableTypeMode {
    AutoNonVariableTypeMode(bool enabled = true);
    ~AutoNonVariableTypeMode();

    void* cuda_wheel_layout[2] = {};
};
namespace autocast {
Tensor cached_cast(c10::ScalarType, const Tensor&, c10::DeviceType = c10::DeviceType::CUDA);
bool is_enabled();
} // namespace autocast
} // namespace at

#endif
