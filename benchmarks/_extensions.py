"""C++ that launches the same kernels: a PyTorch extension, one with PyTorch's stable ABI, tvm-ffi and pybind11.

Each is built once in a process, and needs nvcc and a host compiler, all but pybind11 also Ninja.
"""

from __future__ import annotations

import subprocess
import sysconfig
import tempfile
from collections.abc import Callable, Sequence
from functools import cache
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any, NamedTuple

from _kernels import FIXTURES

__all__ = ["Operators", "pybind11_module", "pytorch_extension", "stable_extension", "tvm_ffi_module"]

OPTIMISED = ["-O3", "-DNDEBUG"]
"""What setuptools' builds of extensions pass, and load_inline does not."""
PYTORCH = """
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

static void check(const at::Tensor& tensor, const at::Tensor& first)
{
    TORCH_CHECK(tensor.scalar_type() == at::kFloat, "takes float32, not ", tensor.scalar_type());
    TORCH_CHECK(tensor.device() == first.device(), "is on another device: ", tensor.device());
}

static at::Tensor forward(const at::Tensor& any_x, const at::Tensor& any_bias)
{
    check(any_x, any_x);
    check(any_bias, any_x);
    const c10::cuda::CUDAGuard guard(any_x.device());
    at::Tensor x = any_x.contiguous(), bias = any_bias.contiguous(), y = at::empty_like(x);
    int64_t n = x.numel();
    if (n) {
        gate<float><<<(n + 255) / 256, 256, 0, at::cuda::getCurrentCUDAStream()>>>(
            x.const_data_ptr<float>(), bias.const_data_ptr<float>(), y.mutable_data_ptr<float>(), n, bias.numel());
        C10_CUDA_KERNEL_LAUNCH_CHECK();
    }
    return y;
}

static at::Tensor gradient(const at::Tensor& any_grad, const at::Tensor& any_x, const at::Tensor& any_bias)
{
    check(any_grad, any_x);
    check(any_x, any_x);
    check(any_bias, any_x);
    const c10::cuda::CUDAGuard guard(any_x.device());
    at::Tensor grad_y = any_grad.contiguous(), x = any_x.contiguous(), bias = any_bias.contiguous();
    at::Tensor grad_x = at::empty_like(x);
    int64_t n = x.numel();
    if (n) {
        gate_gradient<float><<<(n + 255) / 256, 256, 0, at::cuda::getCurrentCUDAStream()>>>(
            grad_y.const_data_ptr<float>(), x.const_data_ptr<float>(), bias.const_data_ptr<float>(),
            grad_x.mutable_data_ptr<float>(), n, bias.numel());
        C10_CUDA_KERNEL_LAUNCH_CHECK();
    }
    return grad_x;
}

struct Gated : torch::autograd::Function<Gated> {
    static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& x, const at::Tensor& bias)
    {
        static auto gated = c10::Dispatcher::singleton()
                                .findSchemaOrThrow("cuda_wheel_benchmark::gated", "")
                                .typed<at::Tensor(const at::Tensor&, const at::Tensor&)>();
        at::AutoDispatchBelowADInplaceOrView guard;
        context->save_for_backward({x, bias});
        return gated.call(x, bias);
    }

    static torch::autograd::tensor_list backward(
        torch::autograd::AutogradContext* context, const torch::autograd::tensor_list& gradients)
    {
        static auto gradient = c10::Dispatcher::singleton()
                                   .findSchemaOrThrow("cuda_wheel_benchmark::gated_gradient", "")
                                   .typed<at::Tensor(const at::Tensor&, const at::Tensor&, const at::Tensor&)>();
        auto saved = context->get_saved_variables();
        at::Tensor grad_x = gradient.call(gradients[0], saved[0], saved[1]);
        return {grad_x, grad_x.reshape({-1, saved[1].numel()}).sum(0)};
    }
};

static at::Tensor differentiable(const at::Tensor& x, const at::Tensor& bias)
{
    return Gated::apply(x, bias);
}

static void saxpy_tensors(double a, const at::Tensor& x, at::Tensor& y)
{
    check(x, x);
    check(y, x);
    const c10::cuda::CUDAGuard guard(x.device());
    int n = x.numel();
    if (n) {
        saxpy<<<(n + 255) / 256, 256, 0, at::cuda::getCurrentCUDAStream()>>>(
            a, x.const_data_ptr<float>(), y.mutable_data_ptr<float>(), n);
        C10_CUDA_KERNEL_LAUNCH_CHECK();
    }
}

TORCH_LIBRARY(cuda_wheel_benchmark, m)
{
    m.def("saxpy(float a, Tensor x, Tensor(a!) y) -> ()");
    m.def("plain(Tensor x, Tensor bias) -> Tensor");
    m.def("gated(Tensor x, Tensor bias) -> Tensor");
    m.def("gated_gradient(Tensor grad_y, Tensor x, Tensor bias) -> Tensor");
}

TORCH_LIBRARY_IMPL(cuda_wheel_benchmark, CUDA, m)
{
    m.impl("saxpy", saxpy_tensors);
    m.impl("plain", forward);
    m.impl("gated", forward);
    m.impl("gated_gradient", gradient);
}

TORCH_LIBRARY_IMPL(cuda_wheel_benchmark, Autograd, m)
{
    m.impl("gated", differentiable);
}
"""
"""The kernels' sources come before it."""

STABLE = """
#include <torch/csrc/inductor/aoti_torch/c/shim.h>
#include <torch/csrc/stable/accelerator.h>
#include <torch/csrc/stable/library.h>
#include <torch/csrc/stable/ops.h>
#include <torch/csrc/stable/tensor.h>

using torch::stable::Tensor;

static void check(const Tensor& tensor, const Tensor& first)
{
    STD_TORCH_CHECK(tensor.scalar_type() == torch::headeronly::ScalarType::Float, "takes float32");
    STD_TORCH_CHECK(tensor.get_device_index() == first.get_device_index(), "is on another device");
}

static Tensor forward(const Tensor& any_x, const Tensor& any_bias)
{
    check(any_x, any_x);
    check(any_bias, any_x);
    torch::stable::accelerator::DeviceGuard guard(any_x.get_device_index());
    Tensor x = any_x.is_contiguous() ? any_x : torch::stable::contiguous(any_x);
    Tensor bias = any_bias.is_contiguous() ? any_bias : torch::stable::contiguous(any_bias);
    Tensor y = torch::stable::empty_like(x);
    int64_t n = x.numel();
    if (n) {
        void* stream = nullptr;
        TORCH_ERROR_CODE_CHECK(aoti_torch_get_current_cuda_stream(x.get_device_index(), &stream));
        gate<float><<<(n + 255) / 256, 256, 0, static_cast<cudaStream_t>(stream)>>>(
            static_cast<const float*>(x.const_data_ptr()), static_cast<const float*>(bias.const_data_ptr()),
            static_cast<float*>(y.mutable_data_ptr()), n, bias.numel());
        STD_TORCH_CHECK(cudaGetLastError() == cudaSuccess, "the launch failed");
    }
    return y;
}

STABLE_TORCH_LIBRARY(cuda_wheel_benchmark_stable, m)
{
    m.def("plain(Tensor x, Tensor bias) -> Tensor");
}

STABLE_TORCH_LIBRARY_IMPL(cuda_wheel_benchmark_stable, CUDA, m)
{
    m.impl("plain", TORCH_BOX(&forward));
}
"""
"""The kernel's source comes before it."""

TVM_FFI = """
void gate_tensors(tvm::ffi::TensorView x, tvm::ffi::TensorView bias, tvm::ffi::TensorView y)
{
    for (auto& each : {x, bias, y}) {
        TVM_FFI_ICHECK(each.dtype() == (DLDataType{kDLFloat, 32, 1})) << "takes float32";
        TVM_FFI_ICHECK(each.device().device_id == x.device().device_id) << "is on another device";
        TVM_FFI_ICHECK(each.IsContiguous()) << "is not contiguous";
    }
    int64_t n = x.numel();
    if (n) {
        auto stream = TVMFFIEnvGetStream(x.device().device_type, x.device().device_id);
        gate<float><<<(n + 255) / 256, 256, 0, static_cast<cudaStream_t>(stream)>>>(
            static_cast<const float*>(x.data_ptr()), static_cast<const float*>(bias.data_ptr()),
            static_cast<float*>(y.data_ptr()), n, bias.numel());
        TVM_FFI_ICHECK(cudaGetLastError() == cudaSuccess) << "the launch failed";
    }
}

void saxpy_tensors(double a, tvm::ffi::TensorView x, tvm::ffi::TensorView y)
{
    for (auto& each : {x, y}) {
        TVM_FFI_ICHECK(each.dtype() == (DLDataType{kDLFloat, 32, 1})) << "takes float32";
        TVM_FFI_ICHECK(each.device().device_id == x.device().device_id) << "is on another device";
        TVM_FFI_ICHECK(each.IsContiguous()) << "is not contiguous";
    }
    int n = x.numel();
    if (n) {
        auto stream = TVMFFIEnvGetStream(x.device().device_type, x.device().device_id);
        saxpy<<<(n + 255) / 256, 256, 0, static_cast<cudaStream_t>(stream)>>>(
            a, static_cast<const float*>(x.data_ptr()), static_cast<float*>(y.data_ptr()), n);
        TVM_FFI_ICHECK(cudaGetLastError() == cudaSuccess) << "the launch failed";
    }
}
"""
"""The kernels' sources come before it."""

Operator = Callable[[Any, Any], Any]


class Operators(NamedTuple):
    """The same operator twice: without and with a gradient."""

    plain: Operator
    differentiable: Operator


def _fixture(name: str, source: str) -> str:
    (file,) = (FIXTURES / name).rglob(source)
    return file.read_text()


def _load_inline(name: str, source: str, *flags: str) -> None:
    from torch.utils.cpp_extension import load_inline

    with tempfile.TemporaryDirectory() as folder:
        load_inline(
            name,
            "",
            cuda_sources=source,
            extra_cflags=[*OPTIMISED, *flags],
            extra_cuda_cflags=[*OPTIMISED, *flags],
            is_python_module=False,
            build_directory=folder,
            no_implicit_headers=True,
        )


@cache
def pytorch_extension() -> Any:
    """Return the operators `plain`, `gated` and `saxpy` of a C++ extension."""
    import torch

    kernels = _fixture("torch_op", "gated.cu") + _fixture("saxpy", "saxpy.cu")
    _load_inline("cuda_wheel_benchmark", kernels + PYTORCH)
    return torch.ops.cuda_wheel_benchmark


@cache
def stable_extension() -> Operator:
    """Return the operator without a gradient, in C++ with PyTorch's stable ABI of release 2.10."""
    import torch

    flags = "-DUSE_CUDA", "-DTORCH_TARGET_VERSION=0x020a000000000000"
    _load_inline("cuda_wheel_benchmark_stable", _fixture("torch_op", "gated.cu") + STABLE, *flags)
    operator: Operator = torch.ops.cuda_wheel_benchmark_stable.plain.default
    return operator


@cache
def tvm_ffi_module() -> Any:
    """Return the functions `gate_tensors(x, bias, y)` and `saxpy_tensors(a, x, y)` of tvm-ffi, which launch kernels."""
    import tvm_ffi.cpp

    with tempfile.TemporaryDirectory() as folder:
        return tvm_ffi.cpp.load_inline(
            "cuda_wheel_benchmark_tvm_ffi",
            cuda_sources=_fixture("torch_op", "gated.cu") + _fixture("saxpy", "saxpy.cu") + TVM_FFI,
            functions=["gate_tensors", "saxpy_tensors"],
            extra_cflags=OPTIMISED,
            extra_cuda_cflags=OPTIMISED,
            build_directory=folder,
        )


def pybind11_module(name: str, source: str) -> Any:
    """Return the module that a CUDA source defines with PYBIND11_MODULE. Its kernels are for the installed GPU."""
    import pybind11

    includes = [f"-I{each}" for each in (pybind11.get_include(), sysconfig.get_paths()["include"])]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, f"{name}.cu")
        library = file.with_suffix(sysconfig.get_config_var("EXT_SUFFIX"))
        file.write_text(source)
        options = ["-arch=native", "-std=c++17", "-shared", "-Xcompiler", "-fPIC", *OPTIMISED, *includes]
        command: Sequence[str] = ["nvcc", *options, "-o", str(library), str(file)]
        subprocess.run(command, check=True, capture_output=True)
        spec = spec_from_file_location(name, library)
        assert spec is not None and spec.loader is not None
        module = module_from_spec(spec)
        spec.loader.exec_module(module)
        return module
