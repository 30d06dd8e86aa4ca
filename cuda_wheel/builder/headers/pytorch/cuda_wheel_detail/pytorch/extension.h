// What <torch/extension.h> declares: <torch/all.h>, and the Python side.
#ifndef CUDA_WHEEL_PYTORCH_EXTENSION_H
#define CUDA_WHEEL_PYTORCH_EXTENSION_H

#include <cuda_wheel_detail/pytorch/all.h>
#ifndef CUDA_WHEEL_WITHOUT_PYTHON
#include <cuda_wheel_detail/pytorch/pybind11.h>

namespace py = pybind11;

namespace torch {
namespace python {
template <class M, class... Extra>
pybind11::class_<M, std::shared_ptr<M>> bind_module(pybind11::module_, const char* name);
}
template <class F>
F wrap_pybind_function(F&&);
template <class F>
F wrap_pybind_function_no_gil(F&&);
} // namespace torch

// Tensors as Python objects.
struct THPVariable {
    PyObject_HEAD
};
extern PyObject* THPVariableClass;
bool THPVariable_Check(PyObject*);
PyObject* THPVariable_Wrap(const at::Tensor&);
const at::Tensor& THPVariable_Unpack(PyObject*);

#endif
#endif
