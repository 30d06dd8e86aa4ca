"""C++ autograd functions in translated host functions: the class in Python, and what calls it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from cuda_wheel.migrate.host_functions.autograd import attribute_name
from cuda_wheel.migrate.host_functions.extension import Extension, translate
from cuda_wheel.migrate.host_functions.nodes import SourceTree

HEADER = """
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>
namespace at {
struct Tensor { Tensor(); bool defined() const; };
struct AutoDispatchBelowADInplaceOrView { AutoDispatchBelowADInplaceOrView(); ~AutoDispatchBelowADInplaceOrView(); };
}
namespace c10 {
struct IValue {
  IValue(); IValue(const IValue &); IValue(long); IValue(double); IValue(const std::vector<long> &); IValue &operator=(IValue &&);
  long toInt() const; double toDouble() const; std::vector<long> toIntVector() const; bool isNone() const;
};
struct Map { IValue &operator[](std::string key); };

template <typename F> struct TypedOperatorHandle;
template <typename R, typename... A> struct TypedOperatorHandle<R(A...)> { R call(A... a) const; };
struct OperatorHandle { template <typename F> TypedOperatorHandle<F> typed() const; };
struct Dispatcher { static Dispatcher &singleton(); OperatorHandle findSchemaOrThrow(const char *, const char *); };
}
namespace torch { namespace autograd {
using variable_list = std::vector<at::Tensor>;
struct AutogradContext {
  c10::Map saved_data;
  void save_for_backward(variable_list); void mark_dirty(variable_list); void set_materialize_grads(bool);
  variable_list get_saved_variables() const; bool needs_input_grad(unsigned long) const;
};
template <typename T, typename... A> using forward_t = decltype(T::forward(nullptr, std::declval<A>()...));
template <typename T> struct Function {
  template <typename X = T, typename... A> static auto apply(A &&...args) -> forward_t<X, A...>;
};
} }
struct Library { template <typename F> void def(const char *, F *); template <typename F> void impl(const char *, F *); };
"""

CODE = """
#include "stubs.h"
using namespace torch::autograd;
using at::Tensor;
namespace ns {
struct F : Function<F> {
  static variable_list forward(AutogradContext *ctx, Tensor x, long n, const Tensor &w, std::optional<Tensor> b, double s) {
    ctx->saved_data["name"] = n;
    std::vector<long> sizes{n};
    ctx->saved_data["sizes"] = sizes;
    sizes.push_back(2);
    if (w.defined()) ctx->saved_data["a b"] = s;
    ctx->save_for_backward({x, w});
    ctx->mark_dirty({x});
    at::AutoDispatchBelowADInplaceOrView guard;
    return {x};
  }
  static variable_list backward(AutogradContext *ctx, variable_list grads) {
    auto saved = ctx->get_saved_variables();
    auto n = ctx->saved_data["name"].toInt();
    auto sizes = ctx->saved_data["sizes"].toIntVector();
    if (ctx->saved_data["a b"].isNone() || !ctx->needs_input_grad(1)) return {grads[0], Tensor(), {}, {}, {}};
    return {grads[0], Tensor(), saved[1], Tensor(), Tensor()};
  }
};
}
struct G : Function<G> {
  static Tensor forward(AutogradContext *ctx, std::optional<Tensor> x, Tensor y) { return y; }
  static variable_list backward(AutogradContext *ctx, variable_list grads) {
    variable_list found = ctx->get_saved_variables();
    found.push_back(grads[0]);
    ctx->needs_input_grad(1);
    return found;
  }
};
Tensor first(Tensor x, Tensor w, std::optional<Tensor> b) { return ns::F::apply(x, 2, w, b, 1.5)[0]; }
std::vector<Tensor> all(Tensor x, std::optional<Tensor> b) { return ns::F::apply(x, 2, Tensor(), b, 1); }
Tensor one(Tensor x) { return G::apply(x, x); }
Tensor without(Tensor x) { return G::forward(nullptr, x, x); }
Tensor redispatched(const Tensor &x) {
  static auto op = c10::Dispatcher::singleton().findSchemaOrThrow("demo::one", "").typed<Tensor(const Tensor &)>();
  return op.call(x);
}
void TORCH_LIBRARY_init_demo(Library &m) { m.def("first", &first); m.def("all", &all); m.def("without", &without); }
void TORCH_LIBRARY_IMPL_init_demo_Autocast_2(Library &m) { m.impl("one", &one); m.impl("redispatched", &redispatched); }
"""


@pytest.fixture(scope="module")
def module(read_source: Callable[[str, str, str], SourceTree]) -> str:
    """The Python module that CODE becomes."""
    tree = read_source("a.cu", CODE, HEADER)
    return translate(Extension("demo._C", [tree], {}, {"a.cu": CODE.splitlines()}), None).text


def test_forward_and_backward_are_methods_of_a_class(module: str) -> None:
    expected = '''
class F(torch.autograd.Function):
    """`ns::F` of the C++ code."""

    @staticmethod
    def forward(ctx, x: Tensor, n: int, w: Tensor, b: Tensor | None, s: float):
        ctx.name_ = n
        sizes = [n]
        ctx.sizes = list(sizes)
        sizes.append(2)
        if w is not None:
            ctx.a_b_ = s
        ctx.save_for_backward(x, w)
        ctx.mark_dirty(x)
        with torch._C._AutoDispatchBelowADInplaceOrView():
            return (x,)

    @staticmethod
    def backward(ctx, *grads: Tensor):
        saved = ctx.saved_tensors
        n = ctx.name_
        sizes = list(ctx.sizes)
        if getattr(ctx, 'a_b_', None) is None or not ctx.needs_input_grad[2]:
            return grads[0], None, None, None, None
        return grads[0], None, saved[1] if ctx.needs_input_grad[2] else None, None, None
'''
    assert expected in module


def test_vectors_are_tuples_in_python(module: str) -> None:
    # C++ counts the gradient of an optional tensor only where it is given.
    assert "return y\n" in module
    assert "found = list(ctx.saved_tensors)\n        found.append(grads[0])\n" in module
    assert "needs_input_grad behind an optional tensor" in module
    assert "return tuple(found)\n" in module


def test_calls(module: str) -> None:
    assert "return F.apply(x, 2, w, b, 1.5)[0]\n" in module
    assert "return list(F.apply(x, 2, None, b, 1))\n" in module
    assert "return G.apply(x, x)\n" in module
    assert "a call of G::forward without apply()" in module
    assert "return torch.ops.demo.one.default(x)\n" in module


def test_autocast_is_registered_by_the_name_that_python_knows(module: str) -> None:
    assert 'library.impl("one", one, "AutocastCUDA")' in module


@pytest.mark.parametrize(("key", "name"), [("n", "n"), ("name", "name_"), ("a b", "a_b_"), ("in", "in_"), ("_x", "x_")])
def test_names_that_ctx_cannot_have(key: str, name: str) -> None:
    assert attribute_name(key) == name
