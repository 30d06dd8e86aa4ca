#include <Python.h>

#include <ATen/ATen.h>
#include <torch/library.h>

at::Tensor scaled_add_cpu(const at::Tensor& x, const at::Tensor& y, double scale)
{
    TORCH_CHECK(x.sizes() == y.sizes(), "x and y must have the same shape");
    TORCH_CHECK(
        x.scalar_type() == y.scalar_type(), "x and y must have the same element type");
    auto a = x.contiguous(), b = y.contiguous();
    auto result = at::empty_like(a);
    AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "scaled_add", [&] {
        const scalar_t* p = a.const_data_ptr<scalar_t>();
        const scalar_t* q = b.const_data_ptr<scalar_t>();
        scalar_t* r = result.data_ptr<scalar_t>();
        for (int64_t i = 0; i < x.numel(); ++i)
            r[i] = p[i] + scalar_t(scale) * q[i];
    });
    return result;
}

TORCH_LIBRARY(demo, m)
{
    m.set_python_module("demo", "pip install demo");
    m.def("scaled_add(Tensor x, Tensor y, float scale=1.0) -> Tensor");
}

TORCH_LIBRARY_IMPL(demo, CPU, m)
{
    m.impl("scaled_add", &scaled_add_cpu);
}

// `import demo_cpu._C` loads the library, which registers the operator; the module
// itself is empty.
PyMODINIT_FUNC PyInit__C(void)
{
    static PyModuleDef module = {PyModuleDef_HEAD_INIT, "_C", nullptr, -1, nullptr};
    return PyModule_Create(&module);
}
