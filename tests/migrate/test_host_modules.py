"""`cuda-wheel import` of an extension: the Python module that replaces it, where it is written, and what is said of it.

The tests that translate need libclang, g++ and PyTorch's headers. The others have a stand-in for the translation.
"""

from __future__ import annotations

import os
import py_compile
import re
import sys
from collections.abc import Callable
from dataclasses import replace
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from cuda_wheel.builder.errors import ToolchainError
from cuda_wheel.cli.main import main
from cuda_wheel.migrate import host_modules
from cuda_wheel.migrate.host_functions.aten import AtenTable
from cuda_wheel.migrate.host_functions.clang import Reader
from cuda_wheel.migrate.host_functions.extension import Extension, PythonModule, TranslatedFunction, translate
from cuda_wheel.migrate.host_functions.functions import Failure
from cuda_wheel.migrate.host_modules import (
    ExtensionSources,
    HostFunctions,
    SourceFile,
    extension_sources,
    host_place,
    translate_extension,
)
from cuda_wheel.migrate.import_sources import propose_import
from cuda_wheel.migrate.project_detection import DetectedProject
from tests.support.projects import KERNEL, write_files

pytestmark = pytest.mark.one_toolchain

SETUP = """\
from setuptools import setup
from torch.utils.cpp_extension import BuildExtension, CUDAExtension

setup(
    name="demo",
    version="1",
    packages=["demo"],
    ext_modules=[
        CUDAExtension(
            "demo._C",
            ["csrc/binding.cpp", "csrc/scale.cu", "csrc/shift.cu", "csrc/shift_cpu.cpp"],
            include_dirs=["include"],
            define_macros=[("WITH_SCALE", None)],
            extra_compile_args={"cxx": ["-O3", "-fopenmp", "-DFILES=1"], "nvcc": ["-O3", "-DBLOCK=128"]},
        )
    ],
    cmdclass={"build_ext": BuildExtension},
)
"""

HEADER = """\
#pragma once
#include <torch/extension.h>

#define CHECK_INPUT(x) TORCH_CHECK(x.is_cuda(), #x " must be on a GPU")

at::Tensor scale(const at::Tensor& x, double factor);

inline int blocks(int64_t n)
{
    TORCH_INTERNAL_ASSERT(n > 0);
    return (n + 255) / 256;
}
"""

BINDING = """\
#include <demo/ops.h>
#include <cstdio>

int64_t file_size(const std::string& name)
{
    FILE* file = std::fopen(name.c_str(), "r");
    return std::ftell(file);
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m)
{
#ifdef WITH_SCALE
    m.def("scale", &scale, "Return x times a factor.", py::arg("x"), py::arg("factor") = 2.0);
#endif
#if FILES
    m.def("file_size", &file_size);
#endif
}
"""

SCALE = """\
#include <demo/ops.h>

template <typename T>
__global__ void scale_kernel(const T* x, T* y, int64_t n, double factor)
{
    int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = x[i] * T(factor);
}

at::Tensor scale(const at::Tensor& x, double factor)
{
    CHECK_INPUT(x);
    auto y = at::empty_like(x);
    int64_t n = x.numel();
    // One thread for each number.
    AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "scale", [&] {
        scale_kernel<scalar_t><<<(n + BLOCK - 1) / BLOCK, BLOCK>>>(
            x.data_ptr<scalar_t>(), y.data_ptr<scalar_t>(), n, factor);
    });
    return y;
}
"""

SHIFT = """\
#include <ATen/ATen.h>
#include <ATen/cuda/detail/IndexUtils.cuh>
#include <demo/ops.h>
#include <torch/library.h>

using Info = at::cuda::detail::TensorInfo<const int, int>;

__global__ void shift_kernel(Info x, int* y, int n, int by)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = x.data[at::cuda::detail::IndexToOffset<const int, int, -1>::get(i, x)] + by;
}

at::Tensor shift(const at::Tensor& x, int64_t by)
{
    auto y = at::empty_like(x);
    auto info = at::cuda::detail::getTensorInfo<const int, int>(x);
    shift_kernel << <blocks(x.numel()), 256 >> > (info, y.data_ptr<int>(), x.numel(), by);
    return y;
}

TORCH_LIBRARY(demo, m) { m.def("shift(Tensor x, int by) -> Tensor"); }
TORCH_LIBRARY_IMPL(demo, CUDA, m) { m.impl("shift", &shift); }
"""

SHIFT_CPU = """\
#include <ATen/ATen.h>
#include <torch/library.h>

at::Tensor shift_cpu(const at::Tensor& x, int64_t by) { return x + by; }

TORCH_LIBRARY_IMPL(demo, CPU, m) { m.impl("shift", &shift_cpu); }
"""

FILES = {
    "setup.py": SETUP,
    "demo/__init__.py": "import torch\n\nfrom demo import _C\n",
    "include/demo/ops.h": HEADER,
    "csrc/binding.cpp": BINDING,
    "csrc/scale.cu": SCALE,
    "csrc/shift.cu": SHIFT,
    "csrc/shift_cpu.cpp": SHIFT_CPU,
}

SMALL_SETUP = """\
from setuptools import setup
from torch.utils.cpp_extension import CUDAExtension

setup(name="demo", ext_modules=[CUDAExtension({name!r}, ["bind.cpp", "scale.cu"])])
"""


def small_project(folder: Path, name: str, **files: str) -> Path:
    """A project with an extension of this name, whose package is "demo" unless `files` has no `demo/__init__.py`."""
    sources = {"scale.cu": KERNEL, "bind.cpp": "// no function\n"}
    return write_files(folder, **{"setup.py": SMALL_SETUP.format(name=name), **sources, **files})


def project_of_two(folder: Path) -> Path:
    """A project with the extensions "demo._C" and "demo._D"."""
    project = small_project(folder, "demo._C", **{"demo/__init__.py": ""})
    two = SMALL_SETUP.replace("])])", ']), CUDAExtension("demo._D", ["scale.cu"])])').format(name="demo._C")
    (project / "setup.py").write_text(two)
    return project


# --- the translation itself ---------------------------------------------------------------------------


@pytest.mark.thorough
def test_an_extension_is_translated_by_the_command(
    torch_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(host_modules, "_torch_folder", lambda: torch_folder)
    project = write_files(tmp_path, **FILES)
    assert main(["import", str(project / "setup.py"), "--write"]) == 0
    shown = capsys.readouterr().out
    assert re.search(r"demo\._C  ->  demo/_C\.py: 2 of 3 functions whole, (\d) of \1 launches translated\n", shown)
    table = shown.partition("demo._C  ->")[2].partition("wrote ")[0].splitlines()[1:]
    assert [" ".join(line.split()) for line in table[:2]] == ["scale whole", "file_size unfinished:"]
    assert table[2].startswith("    csrc/binding.cpp:6: ") and "fopen" in table[2]
    rest = "\n".join(table[3:])
    assert "shift (csrc/shift.cu)       whole" in rest
    assert "shift (csrc/shift_cpu.cpp)  is for the CPU, and can stay C++: docs/how-to/cpu-and-gpu.md" in rest
    written = (project / "demo/_C.py").read_text()
    py_compile.compile(str(project / "demo/_C.py"), cfile=str(tmp_path / "compiled"), doraise=True)
    for part in (
        'scale_kernels = cuda_wheel.torch.kernels("demo.scale")\n',
        'shift_kernels = cuda_wheel.torch.kernels("demo.shift")\n',
        'def scale(x: Tensor, factor: float = 2.0) -> Tensor:\n    """Return x times a factor."""\n    if not x.is_cuda:\n',
        "    # One thread for each number.\n",
        ".launch((n + 128 - 1) // 128, 128, x, y, n, factor)\n    return y\n",
        "    shift_kernels['shift_kernel'].launch(blocks(x.numel()), 256, x, y, x.numel(), by)\n",
        'n > 0 INTERNAL ASSERT FAILED at "include/demo/ops.h":10, ',
        "raise NotImplementedError('csrc/binding.cpp:6: ",
        'library = torch.library.Library("demo", "FRAGMENT")\n',
    ):
        assert part in written


ON_THE_HOST = """\
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAException.h>
#include <sstream>
#include <torch/extension.h>

// The boxes that suppress no other one, as in the usual kernels: bits of 64 columns in each word.
at::Tensor kept(at::Tensor mask, int64_t n)
{
    const int columns = (n + 63) / 64;
    at::Tensor on_host = mask.to(at::kCPU);
    unsigned long long* words = (unsigned long long*)on_host.data_ptr<int64_t>();
    std::vector<unsigned long long> removed(columns);
    memset(&removed[0], 0, sizeof(unsigned long long) * columns);
    at::Tensor keep = at::empty({n}, mask.options().dtype(at::kLong).device(at::kCPU));
    int64_t* out = keep.data_ptr<int64_t>();
    int count = 0;
    for (int i = 0; i < n; i++)
        if (!(removed[i / 64] & (1ULL << i % 64))) {
            out[count++] = i;
            unsigned long long* row = words + i * columns;
            for (int j = i / 64; j < columns; j++)
                removed[j] |= row[j];
        }
    return keep.narrow(0, 0, count);
}

float corners(at::Tensor x, at::Tensor* more)
{
    auto a = x.accessor<float, 2>();
    a[0][1] = a[1][0];
    a[0][1] *= 0.1f;
    float sum = a[0][1] + x.data_ptr<float>()[3];
    if (more != nullptr)
        sum += more->size(0) + *more->data_ptr<float>();
    return sum;
}

float both(at::Tensor x, at::Tensor y) { return corners(x, &y) + corners(y, NULL); }

__device__ int counts[4];

// What cudaMemcpy copies between tensors, numbers and lists of the host.
std::vector<int> copied(at::Tensor x, int64_t n)
{
    int first = 0, list[2] = {0, 0};
    std::vector<int> all(n);
    cudaMemcpy(&first, x.data_ptr<int>() + 1, sizeof(int), cudaMemcpyDeviceToHost);
    cudaMemcpyAsync(list, x.data_ptr<int>(), sizeof(list), cudaMemcpyDeviceToHost, at::cuda::getCurrentCUDAStream());
    memcpy(all.data(), x.data_ptr<int>() + 2, n * sizeof(int));
    first += 100;
    cudaMemcpy(x.data_ptr<int>(), &first, 4, cudaMemcpyHostToDevice);
    cudaMemcpy((void*)(x.data_ptr<int>() + 1), &all[0], sizeof(int) * n, cudaMemcpyHostToDevice);
    all.push_back(first);
    all.push_back(list[1]);
    return all;
}

static cudaStream_t stream() { return at::cuda::getCurrentCUDAStream(); }

__global__ void fill(int* x) { x[threadIdx.x] = threadIdx.x; }

int allocated(int n)
{
    if (n < 0)
        exit(3);
    int* memory = NULL;
    C10_CUDA_CHECK(cudaMalloc((void**)&memory, n * sizeof(int)));
    fill<<<1, n, 0, stream()>>>(memory);
    int* host = new int[n];
    cudaMemcpy(&host[0], memory, n * sizeof(int), cudaMemcpyDeviceToHost);
    cudaFree(memory);
    int last = host[n - 1];
    delete[] host;
    return last;
}

void launched(const float* x, const float* weight, int n)
{
    if (n)
        fill<<<1, n>>>((int*)x);
}

void checked(at::Tensor x, std::optional<at::Tensor> weight)
{
    launched(x.data_ptr<float>(), weight.has_value() ? weight.value().data_ptr<float>() : nullptr, 0);
}

void checked_by_another(at::Tensor x, std::optional<at::Tensor> weight, bool there)
{
    launched(x.data_ptr<float>(), there ? (float*)weight.value().data_ptr() : nullptr, 0);
    launched(x.data_ptr<float>(), there ? (float*)x.contiguous().data_ptr() : nullptr, 0);
    launched(x.data_ptr<float>(), there ? x.contiguous().data_ptr<float>() : nullptr, 0);
}

__global__ void add(at::PackedTensorAccessor32<float, 1> x, at::PackedTensorAccessor32<float, 1> y)
{
    if (y.size(0))
        x[threadIdx.x] += y[threadIdx.x];
}

static at::PackedTensorAccessor32<float, 1> or_none(const std::optional<at::Tensor>& x)
{
    if (!x.has_value()) {
        const std::vector<int> zeros(1);
        return at::PackedTensorAccessor32<float, 1>(nullptr, zeros.data(), zeros.data());
    }
    return x.value().packed_accessor32<float, 1>();
}

void added(at::Tensor x, std::optional<at::Tensor> y)
{
    auto accessor = or_none(y);
    [&] {
        switch (x.scalar_type()) {
        case at::ScalarType::Float: {
            if (x.dim() == 1)
                return add<<<1, x.size(0)>>>(x.packed_accessor32<float, 1>(), accessor);
            else
                AT_ERROR("dimensions");
        }
        default:
            AT_ERROR("another type");
        }
    }();
}

at::Tensor as_other(at::Tensor x, at::Tensor y) { return x.to(y.dtype()); }

int counted(int k)
{
    int found, most = k;
    C10_CUDA_CHECK(cudaMemcpyFromSymbol(&found, counts, sizeof(int), k * sizeof(int)));
    cudaMemcpyToSymbol(counts, &most, sizeof(int));
    return found;
}

std::string compiler()
{
    std::ostringstream text;
    text << "GCC " << __GNUC__;
    return text.str();
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m)
{
    m.def("kept", &kept);
    m.def("both", &both);
    m.def("copied", &copied);
    m.def("allocated", &allocated);
    m.def("added", &added);
    m.def("as_other", &as_other);
    m.def("checked", &checked);
    m.def("checked_by_another", &checked_by_another);
    m.def("counted", &counted);
    m.def("compiler", &compiler);
}
"""


@pytest.mark.thorough
def test_memory_of_the_host_is_read_and_written(translator: tuple[Reader, AtenTable], tmp_path: Path) -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    (tmp_path / "a.cu").write_text(ON_THE_HOST)
    tree = translator[0].read(tmp_path, "a.cu", (), ["-DTORCH_EXTENSION_NAME=_C"])
    texts = {"a.cu": ON_THE_HOST.splitlines()}
    module = translate(Extension("demo._C", [tree], {"a.cu": "demo.a"}, texts), translator[1])
    assert {each.name: [one.reason for one in each.failures] for each in module.functions} == {
        "kept": [],
        "both": [],
        "copied": [],
        "allocated": [],
        "added": [],
        "as_other": [],
        "checked": [],
        "checked_by_another": [],
        "counted": [],
        "compiler": ["__GNUC__ tells about the compiler of the C++"],
    }
    names: dict[str, Any] = {}
    exec(module.text, names)
    mask = torch.zeros(130, 3, dtype=torch.int64)
    mask[0, 0], mask[3, 2], mask[5, 1] = 2 + 16, 2, -(2**63)
    removed = {1, 4, 127, 129}
    assert names["kept"](mask, 130).tolist() == [each for each in range(130) if each not in removed]
    with pytest.raises(RuntimeError, match="expected scalar type Long but found Int"):
        names["kept"](mask.int(), 130)
    x, y = torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.tensor([[0.5, 0.25], [7.0, 8.0]])
    expected = [torch.tensor(3.0) * 0.1 + 4 + 2.5, torch.tensor(7.0) * 0.1 + 8]
    assert names["both"](x, y) == (expected[0] + expected[1]).item()
    with pytest.raises(RuntimeError, match="expected 2 dims but tensor has 1"):
        names["both"](x[0], y)
    numbers = torch.arange(5, 11, dtype=torch.int32)
    assert names["copied"](numbers, 3) == [7, 8, 9, 106, 6]
    assert numbers.tolist() == [106, 7, 8, 9, 9, 10]
    assert names["as_other"](x, numbers).dtype == torch.int32
    names["checked"](x, None)
    names["checked_by_another"](x, None, False)
    names["checked_by_another"](x, x, True)
    for given in ((x.double(), None), (x, numbers)):
        with pytest.raises(RuntimeError, match="expected scalar type Float but found "):
            names["checked"](*given)
    with pytest.raises(SystemExit) as ended:
        names["allocated"](-1)
    assert ended.value.code == 3
    address = "kernels.globals['counts'].address"
    for line in (
        "    memory = torch.empty([uint64(uint64(n) * 4)], dtype=torch.uint8, device='cuda')\n"
        "    kernels['fill'].launch(1, n, memory.data_ptr())\n"
        "    host = [0] * n\n"
        "    host[:n] = read_numbers(memory, 0, torch.int32, n)\n",
        f"found = read_numbers({address}, uint64(uint64(k) * 4), torch.int32, 1)[0]",
        f"write_numbers({address}, 0, torch.int32, [most])",
        "address((kept := (x.contiguous() if there else None)))",  # its memory stays until the call ends
        "if (kept_2 := (x.contiguous() if there else None)) is not None else None",
        "        return null_accessor(torch.float32, zeros[:1], zeros[:1])\n    return x\n",
        "        if x.dim() == 1:\n"
        "            kernels['add'].launch(1, x.size(0), x, accessor_)\n"
        "        else:\n"
        "            raise RuntimeError('dimensions')\n"
        "    else:\n"
        "        raise RuntimeError('another type')\n",
    ):
        assert line in module.text, module.text
    assert (x[0, 1], y[0, 1]) == (torch.tensor(3.0) * 0.1, torch.tensor(7.0) * 0.1)


INSTANCES = """\
#include <torch/extension.h>

enum class Mode { sum, mean = 5 };

template <typename T, int N> struct Traits {
    static constexpr int bytes = N * sizeof(T);
};

template <typename T> __global__ void fill(T* x) { x[threadIdx.x] = threadIdx.x; }

template <typename T, int N> struct Filled {
    static int run(at::Tensor x)
    {
        fill<T><<<1, N>>>(x.data_ptr<T>());
        return Traits<T, N>::bytes;
    }
};

int filled(at::Tensor x, Mode mode)
{
    if (mode == Mode::mean)
        return Filled<float, 4>::run(x);
    return Filled<double, 32>::run(x);
}

void added(const float* x, const float* y, int n)
{
    if (n)
        fill<<<1, n>>>((float*)x);
}

void both(at::Tensor x, at::Tensor y)
{
    added(x.contiguous().data_ptr<float>(), y[0].to(at::kFloat).data_ptr<float>(), x.view({-1}).size(0));
    added(x.view({-1}).data_ptr<float>(), (y.defined() ? y : y.clone()).data_ptr<float>() + 1, 0);
}

struct Held {
    int x;
};

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m)
{
    py::enum_<Mode>(m, "Mode").value("sum", Mode::sum).value("mean", Mode::mean).export_values();
    py::class_<Held>(m, "Held").def_readonly("x", &Held::x);
    m.def("filled", &filled);
    m.def("both", &both, "Call it.");
    m.attr("version") = "1.0";
}
"""


@pytest.mark.slow
def test_instances_of_a_class_template_and_temporary_tensors_stay_apart(
    translator: tuple[Reader, AtenTable], tmp_path: Path
) -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    (tmp_path / "a.cu").write_text(INSTANCES)
    tree = translator[0].read(tmp_path, "a.cu", (), ["-DTORCH_EXTENSION_NAME=_C"])
    module = translate(
        Extension("demo._C", [tree], {"a.cu": "demo.a"}, {"a.cu": INSTANCES.splitlines()}), translator[1]
    )
    assert [(each.name, each.failures) for each in module.functions] == [("filled", ()), ("both", ())]
    assert [(each.line, each.reason) for each in module.others] == [
        (45, "the class Held is not written"),
        (48, "the attribute version is not written"),
        (44, "the name sum beside Mode.sum is not written: it is taken"),
    ]
    names: dict[str, Any] = {}
    exec(module.text, names)
    launches: list[Any] = []

    class Kernels(dict[Any, Any]):
        def __missing__(self, key: Any) -> Any:
            return SimpleNamespace(launch=lambda *given: launches.append((key, *given)))

    names["kernels"] = Kernels()
    x = torch.zeros(2, 3)
    assert names["filled"](x, names["Mode"].mean) == 16 and names["mean"] == 5
    assert launches == [(("fill", torch.float32), 1, 4, x)]
    assert names["filled"](x.double(), names["Mode"].sum) == 256 and "sum" not in names
    with pytest.raises(TypeError, match=re.escape("mode is no Mode: 5")):
        names["filled"](x, 5)
    assert (
        "    added(\n"
        "        data_ptr((kept := x.contiguous()), torch.float32),\n"
        "        data_ptr((kept_2 := y[0].to(torch.float32)), torch.float32),\n"
        "        int32(x.view([-1]).size(0)),\n"
        "    )\n"
        "    added(\n"
        "        data_ptr(x.view([-1]), torch.float32),\n"
        "        data_ptr((kept_3 := (y if y is not None else y.clone())), torch.float32) + 4 * 1,\n"
        "        0,\n"
        "    )\n"
    ) in module.text, module.text
    names["both"](x, torch.ones(2, 3))


@pytest.mark.slow
def test_a_cpp_file_gets_the_macros_of_the_host_compiler(translator: tuple[Reader, AtenTable], tmp_path: Path) -> None:
    setup = SETUP.replace(', "csrc/shift.cu", "csrc/shift_cpu.cpp"', "")
    project = write_files(tmp_path, **{**FILES, "setup.py": setup})
    ((_, extension, modules),) = propose_import(project, [project / "setup.py"]).extensions
    sources = extension_sources(project, extension, modules)
    assert [file.path for file in sources.files] == ["csrc/binding.cpp", "csrc/scale.cu"]
    found = translate_extension(*translator, sources)
    assert [each.name for each in found.module.functions] == ["scale", "file_size"] and found.errors == ()
    bare = sources.files[0]._replace(macros=("-DTORCH_EXTENSION_NAME=_C",))
    assert translate_extension(*translator, replace(sources, files=(bare,))).module.functions == ()


@pytest.mark.slow
def test_what_libclang_cannot_read_is_told_and_the_rest_is_translated(
    translator: tuple[Reader, AtenTable], tmp_path: Path
) -> None:
    project = write_files(tmp_path, **FILES, **{"a.cpp": "undeclared x;\n"})
    files = (SourceFile("a.cpp", (), ()), SourceFile("csrc/scale.cu", ("include",), ("-DBLOCK=128",)))
    binding = SourceFile("csrc/binding.cpp", ("include",), ("-DTORCH_EXTENSION_NAME=_C", "-DWITH_SCALE"))
    sources = ExtensionSources("demo._C", project, (*files, binding), {"csrc/scale.cu": "demo.scale"})
    found = translate_extension(*translator, sources)
    assert [(each.name, each.failures) for each in found.module.functions] == [("scale", ())]
    assert len(found.errors) == 1 and found.errors[0].startswith("a.cpp:1: ") and "undeclared" in found.errors[0]


@pytest.mark.slow
def test_a_file_for_older_releases_of_pytorch_is_translated_whole(
    translator: tuple[Reader, AtenTable], tmp_path: Path
) -> None:
    text = """\
#include <THC/THC.h>
#include <torch/extension.h>
#ifndef __CUDACC_EXTENDED_LAMBDA__
#error "please compile with --expt-extended-lambda"
#endif
template <typename T> __global__ void scale(T* x, int n) {}
int64_t rows(at::Tensor x)
{
    AT_DISPATCH_FLOATING_TYPES(x.type(), "rows", [&] { scale<scalar_t><<<1, 32>>>(x.data<scalar_t>(), x.numel()); });
    THCudaCheck(cudaGetLastError());
    return x.size(/*dim=*/0);  // the first
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("rows", &rows); }
"""
    (tmp_path / "a.cu").write_text(text)
    tree = translator[0].read(tmp_path, "a.cu", (), ["-DTORCH_EXTENSION_NAME=_C"])
    module = translate(Extension("demo._C", [tree], {"a.cu": "demo.a"}, {"a.cu": text.splitlines()}), translator[1])
    assert tree.errors == [] and [each.failures for each in module.functions] == [()]
    assert "dispatch('rows', x.dtype, torch.float64, torch.float32)" in module.text
    assert "# the first" in module.text and "dim" not in module.text  # the name of a parameter is no comment


@pytest.mark.slow
def test_no_code_is_chosen_by_the_version_of_a_library_that_is_not_installed(
    translator: tuple[Reader, AtenTable], tmp_path: Path
) -> None:
    text = """\
#include <ATen/cuda/CUDAContext.h>
#include <torch/extension.h>
int64_t chosen(int64_t n)
{
#if defined(CUBLAS_VERSION) && CUBLAS_VERSION >= 11600
    n *= 2;
#endif
    return n;
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("chosen", &chosen); }
"""
    (tmp_path / "a.cpp").write_text(text)
    tree = translator[0].read(tmp_path, "a.cpp", (), ["-DTORCH_EXTENSION_NAME=_C"])
    module = translate(Extension("demo._C", [tree], {}, {"a.cpp": text.splitlines()}), translator[1])
    reasons = [each.reason for each in module.functions[0].failures]
    is_installed = "n *= 2" in module.text
    assert reasons == ([] if is_installed else ["the header <cublas.h> is not installed"])


@pytest.mark.slow
def test_a_function_names_what_it_calls_for_tensors_on_the_cpu(
    translator: tuple[Reader, AtenTable], tmp_path: Path
) -> None:
    text = """\
#include <torch/extension.h>
#include <cstdio>
static at::Tensor on_cpu(at::Tensor x) { std::fopen("x", "r"); return x; }
static at::Tensor twice(at::Tensor x) { if (x.is_cuda()) return x + x; return on_cpu(x); }
static at::Tensor once(at::Tensor x) { return x; }
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("twice", &twice); m.def("once", &once); }
"""
    project = write_files(tmp_path, **{"a.cpp": text})
    file = SourceFile("a.cpp", (), ("-DTORCH_EXTENSION_NAME=_C",))
    found = translate_extension(*translator, ExtensionSources("demo._C", project, (file,), {})).module.functions
    assert [(each.name, each.failures, each.cpu_functions) for each in found] == [
        ("twice", (), ("on_cpu (a.cpp:3)",)),
        ("once", (), ()),
    ]


# --- a stand-in for the translation ---------------------------------------------------------------------

TEXT = '"""The functions of an extension."""\n'
WHOLE = TranslatedFunction("scale", "bind.cpp", 3, (), 1, 1)


class StandInWorker:
    """Gives every extension the same functions, in this process."""

    functions: tuple[TranslatedFunction, ...] = (WHOLE,)
    text = TEXT
    errors: tuple[str, ...] = ()

    def __init__(self, memory: int | None) -> None:
        self.has_ended = False

    def call(self, function: Callable[[Any], Any], argument: Any, timeout: float) -> Any:
        if function.__name__ == "_prepare":
            return None
        return HostFunctions(
            PythonModule(self.text, self.functions, frozenset({("scale.cu", 1)}), frozenset()), self.errors
        )

    def kill(self) -> None:
        self.has_ended = True

    def end(self) -> None:
        pass


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """All that the translation needs seems to be installed."""
    monkeypatch.setattr(host_modules, "_missing_packages", list)
    monkeypatch.setattr(host_modules, "_torch_folder", lambda: tmp_path)


@pytest.fixture
def translated(installed: None, monkeypatch: pytest.MonkeyPatch) -> type[StandInWorker]:
    """The translation of every extension, which tests may change."""
    made = type("Changed", (StandInWorker,), {})
    monkeypatch.setattr(host_modules, "Worker", made)
    return made


def imported(project: Path, *options: str) -> int:
    return main(["import", str(project / "setup.py"), *options])


def test_functions_are_listed_whole_unfinished_and_for_the_cpu(
    translated: type[StandInWorker], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    failures = tuple(Failure("scale.cu", line, reason) for line, reason in ((3, "no"), (5, "not that"), (7, "no")))
    unfinished = TranslatedFunction("backward", "bind.cpp", 4, failures, 1, 0)
    translated.functions = (WHOLE, unfinished, TranslatedFunction("scale_cpu", "cpu.cpp", 5, failures, 0, 0, True))
    translated.errors = tuple(f"bind.cpp:{line}: unknown" for line in range(7))
    assert imported(small_project(tmp_path, "demo._C", **{"demo/__init__.py": ""})) == 0
    shown = capsys.readouterr().out
    assert shown.count("note: demo._C: libclang: bind.cpp:") == 5 and "demo._C: libclang: 2 more errors" in shown
    assert (
        "demo._C  ->  demo/_C.py: 1 of 2 functions whole, 0 of 1 launches translated\n"
        "  scale      whole\n"
        "  backward   unfinished:\n"
        "    scale.cu:3 (1 more): no\n"
        "    scale.cu:5: not that\n"
        "  scale_cpu  is for the CPU, and can stay C++: docs/how-to/cpu-and-gpu.md\n\n"
    ) in shown
    assert not (tmp_path / "demo/_C.py").exists(), "it was written without --write"


def test_the_module_is_written_with_all_else_and_another_file_of_its_name_stays(
    translated: type[StandInWorker], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    project = small_project(tmp_path, "demo._C", **{"demo/__init__.py": ""})
    assert imported(project, "--write") == 0
    assert "wrote demo/_C.py\n" in capsys.readouterr().out
    assert (project / "demo/_C.py").read_text() == TEXT
    assert imported(project, "--write") == 0
    assert "kept demo/_C.py: exists\n" in capsys.readouterr().out
    (project / "demo/_C.py").write_text("edited = True\n")
    assert imported(project, "--write") == 0
    assert "kept demo/_C.py: exists, and is not what would be written" in capsys.readouterr().out
    assert (project / "demo/_C.py").read_text() == "edited = True\n"


@pytest.mark.skipif(sys.platform != "linux", reason="a folder that cannot be made is in /proc")
def test_nothing_is_written_if_the_module_cannot_be(
    translated: type[StandInWorker], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    project = small_project(tmp_path, "demo.sub._C", **{"demo/__init__.py": ""})
    (project / "demo/sub").symlink_to("/proc/nowhere")
    assert imported(project, "--write") == 1
    assert "cannot be written" in capsys.readouterr().err
    assert not (project / "pyproject.toml").exists()


def test_an_extension_in_place_of_a_package_becomes_this_package(
    translated: type[StandInWorker], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    project = small_project(tmp_path, "knn_cuda", **{"use.py": "import knn_cuda\n"})
    assert imported(project, "--write") == 0
    shown = capsys.readouterr().out
    assert "wrote src/knn_cuda/__init__.py\n" in shown and "use.py" not in shown
    assert (project / "src/knn_cuda/__init__.py").read_text() == TEXT
    assert 'name = "knn_cuda.scale"' in (project / "pyproject.toml").read_text()
    assert imported(project, "--write") == 0
    assert "kept src/knn_cuda/__init__.py: exists\n" in capsys.readouterr().out


def test_an_extension_outside_the_package_moves_into_it_and_imports_are_listed(
    translated: type[StandInWorker], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    use = "import knn_cuda\nimport knn_cuda as knn\nfrom knn_cuda import f as g, h\nimport knn_cuda_2\nfrom . import knn_cuda\n"
    files = {
        "demo/__init__.py": use,
        "tests/test_it.py": "def test():\n    import os, knn_cuda\n",
        "two.py": "print 1\n",
    }
    project = small_project(tmp_path, "knn_cuda", **files, **{"demo/knn_cuda.cpython-311.so": "built\n"})
    assert imported(project) == 0
    shown = capsys.readouterr().out
    assert "knn_cuda  ->  demo/knn_cuda.py: " in shown
    for line in (
        "demo/__init__.py:1: import knn_cuda  ->  from demo import knn_cuda",
        "demo/__init__.py:2: import knn_cuda as knn  ->  from demo import knn_cuda as knn",
        "demo/__init__.py:3: from knn_cuda import f as g, h  ->  from demo.knn_cuda import f as g, h",
        "tests/test_it.py:2: import os, knn_cuda  ->  from demo import knn_cuda",
        "demo/knn_cuda.cpython-311.so: remove it: Python imports it in place of demo/knn_cuda.py",
    ):
        assert f"  {line}\n" in shown
    assert "knn_cuda_2" not in shown and "demo/__init__.py:5" not in shown


def test_statements_that_import_the_extension_are_changed_with_all_else(
    translated: type[StandInWorker], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    use = (
        "import knn_cuda  # theirs\r\nü = 1; import knn_cuda as knn; import knn_cuda as k\r\nfrom knn_cuda import f\r\n"
    )
    by_hand = "import os, knn_cuda\nfrom knn_cuda import (\n    f,\n)\n"
    latin = "# coding: latin-1\nimport knn_cuda  # \xfc\n"
    project = small_project(tmp_path, "knn_cuda", **{"demo/__init__.py": "", "tests/by_hand.py": by_hand})
    (project / "demo/use.py").write_bytes(use.encode())
    (project / "demo/latin.py").write_bytes(latin.encode("latin-1"))
    assert imported(project, "--write") == 0
    shown = capsys.readouterr().out
    assert (project / "demo/use.py").read_bytes().decode() == (
        "from demo import knn_cuda  # theirs\r\nü = 1; from demo import knn_cuda as knn; "
        "from demo import knn_cuda as k\r\nfrom demo.knn_cuda import f\r\n"
    )
    assert "extended demo/use.py\n" in shown
    assert "changed demo/use.py:1: import knn_cuda  ->  from demo import knn_cuda\n" in shown
    assert (project / "tests/by_hand.py").read_text() == by_hand
    assert (project / "demo/latin.py").read_bytes() == latin.encode("latin-1")
    for place in ("tests/by_hand.py:1", "tests/by_hand.py:2", "demo/latin.py:2"):
        assert f"  {place}: " in shown.partition("to do by hand:")[2]


def test_a_dotted_import_of_an_extension_in_no_package_is_changed_by_hand(
    translated: type[StandInWorker], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    use = "import other._C\nother._C.f()\n"  # the second line would fail
    project = small_project(tmp_path, "other._C", **{"demo/__init__.py": use})
    assert imported(project, "--write") == 0
    assert (project / "demo/__init__.py").read_text() == use
    assert "demo/__init__.py:1: import other._C  ->  from demo import _C" in capsys.readouterr().out


def test_an_extension_that_nothing_replaces_is_told_at_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(host_modules, "_missing_packages", lambda: ["torch"])
    project = small_project(tmp_path, "demo._C", **{"demo/__init__.py": ""})
    assert imported(project, "--write") == 0
    shown = capsys.readouterr().out
    assert "demo._C: nothing takes its place yet: run this again" in shown.partition("to do by hand:")[2]
    assert "then build it" not in shown and "remove setup.py" not in shown
    found = propose_import(project, [project / "setup.py"])
    ((_, extension, _),) = found.extensions
    assert found.unreplaced([host_modules.HostModule(extension, None, "given up")]) == [extension]
    whole = HostFunctions(PythonModule(TEXT, (), frozenset(), frozenset()), ())
    assert found.unreplaced([host_modules.HostModule(extension, whole)]) == []


def test_functions_for_the_cpu_that_a_whole_one_calls_are_told(
    translated: type[StandInWorker], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    translated.functions = (replace(WHOLE, cpu_functions=("scale_cpu (cpu.cpp:5)",)),)
    assert imported(small_project(tmp_path, "demo._C", **{"demo/__init__.py": ""}), "--write") == 0
    shown = capsys.readouterr().out
    assert "  scale  whole\n    scale_cpu (cpu.cpp:5) is for tensors on the CPU, and can stay C++: docs/" in shown
    assert shown.endswith("then build it: pip wheel --no-deps -w dist .\n")


def test_a_setup_that_pyproject_replaces_is_the_only_thing_to_remove(
    translated: type[StandInWorker], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    setup = SETUP.replace(', "csrc/shift.cu", "csrc/shift_cpu.cpp"', "")
    assert imported(write_files(tmp_path, **{**FILES, "setup.py": setup}), "--write") == 0
    shown = capsys.readouterr().out
    assert "to do: remove setup.py: " in shown and "by hand" not in shown
    assert 'name = "demo"\nversion = "1"\n' in (tmp_path / "pyproject.toml").read_text()


def test_load_library_becomes_an_import(
    translated: type[StandInWorker], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    use = "import torch\ntorch.ops.load_library('demo/_C.so')\n"
    project = small_project(tmp_path, "demo._C", **{"demo/__init__.py": use})
    imported(project)
    assert "load_library" not in capsys.readouterr().out, "it registers no operator"
    translated.text = TEXT + 'library = torch.library.Library("demo", "FRAGMENT")\n'
    imported(project)
    assert "demo/__init__.py:2: torch.ops.load_library(...)  ->  import demo._C\n" in capsys.readouterr().out


def test_a_program_that_builds_an_extension_imports_the_module(
    translated: type[StandInWorker], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program = (
        'from torch.utils.cpp_extension import load\n\nknn = load(name="knn", sources=["bind.cpp", "../scale.cu"])\n'
    )
    files = {"pyproject.toml": '[project]\nname = "demo"\n', "demo/__init__.py": "", "demo/ops.py": program}
    project = write_files(tmp_path, **files, **{"scale.cu": KERNEL, "demo/bind.cpp": "// no function\n"})
    assert main(["import", str(project / "demo/ops.py")]) == 0
    shown = capsys.readouterr().out
    assert "knn  ->  demo/knn.py: " in shown and "demo/ops.py:3: load(...)  ->  from demo import knn\n" in shown


def test_sources_beside_a_program_are_found_from_another_folder(
    translated: type[StandInWorker], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    program = (
        "from pathlib import Path\nfrom torch.utils.cpp_extension import load\n\n"
        'load("knn", [str(Path(__file__).parent / "scale.cu")])\nload("away", ["away.cu"])\n'
    )
    files = {"pyproject.toml": '[project]\nname = "demo"\n', "demo/__init__.py": "", "demo/ops.py": program}
    monkeypatch.chdir(write_files(tmp_path, **files, **{"demo/scale.cu": KERNEL}))
    assert main(["import", "demo/ops.py"]) == 0
    shown = capsys.readouterr().out
    assert "demo.scale: demo/scale.cu\n" in shown and "1 of 1 modules compile" in shown
    assert "demo/ops.py:5: no source of away exists: looked for demo/away.cu\n" in shown
    assert "cmdclass" not in shown  # which a program does not have


def test_a_program_that_builds_an_extension_gives_no_package_its_name(
    translated: type[StandInWorker], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {
        "pyproject.toml": '[project]\nname = "demo"\n',
        "ops.py": 'load("knn", ["scale.cu"])\n',
        "scale.cu": KERNEL,
    }
    assert main(["import", str(write_files(tmp_path, **files) / "ops.py")]) == 0
    assert "knn  ->  src/demo/knn.py: " in capsys.readouterr().out


@pytest.mark.parametrize(
    ("folder", "extension", "place"),
    [
        ("demo", "demo._C", ("demo._C", "demo/_C.py")),
        ("src/demo", "demo.ops._C", ("demo.ops._C", "src/demo/ops/_C.py")),
        (".", "demo._C", ("demo._C", "_C.py")),
        ("src/demo", "other._C", ("other._C", "src/other/_C.py")),
        ("src/demo", "missing._C", ("demo._C", "src/demo/_C.py")),
        ("src/demo", "demo-cuda", ("demo.demo_cuda", "src/demo/demo_cuda.py")),
        ("src/demo", "demo", ("demo.demo", "src/demo/demo.py")),
        ("src/new", "new", ("new", "src/new/__init__.py")),
    ],
)
def test_the_place_of_the_module(folder: str, extension: str, place: tuple[str, str], tmp_path: Path) -> None:
    write_files(tmp_path, **{"src/other/__init__.py": "", "src/demo/__init__.py": ""})
    package = "new" if folder == "src/new" else "demo"
    assert host_place(DetectedProject(tmp_path, "setuptools.build_meta", package, folder, ()), extension, TEXT) == place


# --- what goes wrong ----------------------------------------------------------------------------------


def test_what_is_not_installed_is_told_in_one_line_and_all_else_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def missing(name: str) -> str:
        raise PackageNotFoundError(name)

    project = small_project(tmp_path, "demo._C", **{"demo/__init__.py": ""})
    monkeypatch.setattr(host_modules, "_torch_folder", lambda: None)
    monkeypatch.setattr(host_modules, "find_spec", lambda name: object())
    for version in (missing, lambda name: "17.0.6", lambda name: "19.1.0"):
        monkeypatch.setattr(host_modules, "version", version)
        assert imported(project) == 0
        shown = capsys.readouterr().out
        note = "note: host functions are not translated: this needs what is not installed: pip install "
        note += '"cuda-wheel[import]" torch\n'
        assert shown.count("note: host") == 1 and note in shown
        assert 'name = "demo.scale"' in shown and "1 of 1 modules compile" in shown
    monkeypatch.setattr(host_modules, "version", lambda name: "18.1.1")
    imported(project)
    assert "pip install torch\n" in capsys.readouterr().out


def end_process(argument: Any) -> None:
    os.abort()


def fail(argument: Any) -> HostFunctions:
    with host_modules._internal_errors():
        raise KeyError("x")


def refuse(argument: Any) -> HostFunctions:
    with host_modules._internal_errors():
        raise ToolchainError("no g++")


def succeed(argument: Any) -> None:
    return None


@pytest.mark.parametrize(
    ("function", "shown"),
    [
        (
            end_process,
            "internal error in libclang or cuda-wheel: the compiler process died (killed by SIGABRT); please report it",
        ),
        (fail, "internal error in cuda-wheel: KeyError: 'x' (test_host_modules.py:"),
        (refuse, "no g++\n"),
    ],
)
def test_a_translation_that_fails_does_not_end_the_command(
    function: Callable[[Any], Any],
    shown: str,
    installed: None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(host_modules, "_prepare", succeed)
    monkeypatch.setattr(host_modules, "_translate", function)
    project = project_of_two(tmp_path)
    assert imported(project, "--write") == 0
    out = capsys.readouterr().out
    assert f"demo._C: its host functions are not translated: {shown}" in out
    assert f"demo._D: its host functions are not translated: {shown}" in out
    assert (project / "pyproject.toml").exists() and not (project / "demo/_C.py").exists()


def end_process_for_one(request: tuple[Path, ExtensionSources]) -> HostFunctions:
    if request[1].name == "demo._C":
        os.abort()
    return HostFunctions(PythonModule(TEXT, (WHOLE,), frozenset(), frozenset()), ())


def test_after_a_crash_the_next_extension_is_translated(
    installed: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(host_modules, "_prepare", succeed)
    monkeypatch.setattr(host_modules, "_translate", end_process_for_one)
    project = project_of_two(tmp_path)
    assert imported(project, "--write") == 0
    out = capsys.readouterr().out
    assert "demo._C: its host functions are not translated" in out and "demo._D  ->  demo/_D.py: 1 of 1" in out
    assert (project / "demo/_D.py").read_text() == TEXT and not (project / "demo/_C.py").exists()


def test_headers_that_cannot_be_read_are_told_once(
    installed: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(host_modules, "_prepare", refuse)
    assert imported(small_project(tmp_path, "demo._C", **{"demo/__init__.py": ""})) == 0
    assert capsys.readouterr().out.count("note: host functions are not translated: no g++\n") == 1


def test_a_translation_that_takes_too_long_is_given_up(
    installed: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(host_modules, "_prepare", succeed)
    monkeypatch.setattr(host_modules, "_translate", wait)
    # 2 s for the two files, but as long as ever for the start of the process, which a busy machine may need.
    monkeypatch.setattr(host_modules, "_SECONDS_OF_FILE", (2 - host_modules._SECONDS) / 2)
    assert imported(small_project(tmp_path, "demo._C", **{"demo/__init__.py": ""})) == 0
    assert "demo._C: its host functions are not translated: given up after 2 s\n" in capsys.readouterr().out


def wait(argument: Any) -> None:
    import time

    time.sleep(100)


def test_an_extension_without_definitions_needs_no_module(
    translated: type[StandInWorker], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    translated.functions = ()
    project = small_project(tmp_path, "demo._C", **{"demo/__init__.py": ""})
    assert imported(project, "--write") == 0
    assert "demo._C: its sources define no function for Python, so that it needs no module" in capsys.readouterr().out
    assert not (project / "demo/_C.py").exists()
    translated.errors = ("csrc/scale.cu:1: 'THC/THCGeneral.hpp' file not found",)
    assert imported(project) == 0
    assert "libclang found no function for Python in what it could read" in capsys.readouterr().out
