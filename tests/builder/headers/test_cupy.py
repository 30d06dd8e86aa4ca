"""CuPy's own device headers compile among the stand-ins, to the code that CuPy's NVRTC makes of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from cuda_wheel.builder.jobs import Compiled
from cuda_wheel.builder.toolchain.nvrtc import compile_text
from cuda_wheel.builder.toolchain.toolchain import Toolchain
from cuda_wheel.builder.workers.pool import Workers
from cuda_wheel.cupy.raw_modules import with_options
from tests.support.nvidia_tools import nvidia_tool
from tests.support.projects import ROOT

if TYPE_CHECKING:
    from cuda_wheel.builder.toolchain.nvrtc import NvrtcResult

pytestmark = [pytest.mark.thorough, pytest.mark.one_toolchain]

KERNEL = 'extern "C" __global__ void k'
ONE = ("exp", "log", "log10", "sin", "cos", "tan", "sinh", "cosh", "tanh", "asin", "acos", "atan", "asinh", "acosh")
ONE += ("atanh", "sqrt", "conj", "proj", "log1p", "log2", "expm1", "-", "1 / ")
SOURCES = {
    "complex": "#include <cupy/complex.cuh>\n"
    + "".join(
        f"{KERNEL}_{part}(complex<{part}>* z, const {part}* x) {{ int i = 0; {body} }}\n"
        for part in ("float", "double")
        for body in [
            "".join(f"z[i] = {name}(z[i]); i++;" for name in ONE).replace("1 / ", f"{part}(1) / ")
            + "".join(f"z[i] = z[i] {op} z[i + 1]; z[i] {op}= x[i]; z[i] = x[i] {op} z[i + 1]; i++;" for op in "+-*/")
            + "z[i] = pow(z[i], z[i + 1]); z[i + 2] = pow(z[i + 3], x[i]); z[i + 4] = abs(z[5]) + arg(z[6]) + norm(z[7]);"
            + "z[i] = thrust::polar(x[i], x[i + 1]); if (isnan(z[8]) || isinf(z[9]) || z[2] == z[3]) z[10] = 0;"
        ]
    ),
    "carray": "#include <cupy/carray.cuh>\n#include <cupy/math_constants.h>\n#include <cupy/hip_workaround.cuh>\n"
    f"{KERNEL}(CArray<float, 2, true, true> x, CArray<double, 3, false, false> y, CIndexer<2, true> n) {{"
    " CUPY_FOR(i, n.size()) { n.set(i); y[i] = x[n.get()] + CUDART_INF + y.shape()[1] * M_PI; } }\n",
    "atomics": "#include <cupy/atomics.cuh>\n#include <cupy/float16.cuh>\n"
    f"{KERNEL}(float* f, double* d, long long* l, float16* h) {{ atomicMax(f, 2.0f); atomicMin(d, *f);"
    " atomicAdd(l, 3ll); h[0] = h[1] * h[2] + float16(*f); h[3] = nextafter(h[4], h[5]); d[2] = h[6] < h[7]; }\n",
    "bfloat16": "#include <cupy/bfloat16.cuh>\n"
    f"{KERNEL}(bfloat16* x, float* f) {{ x[0] = bfloat16(float(x[1]) * *f); f[1] = isnan(x[2]); }}\n",
    "structs": "#include <cupy/structview.cuh>\n#include <cupy/unstructured_void.cuh>\n"
    "using Pair = cupy::StructView<cupy::raw_structview_storage<16, 8>, cupy::Field<int, 0>, cupy::Field<double, 8>>;\n"
    f"{KERNEL}(Pair* p, cupy::UnstructuredVoid<5>* v) {{ p[0] = p[1]; v[0] = v[1]; }}\n",
    "jitify": "#include <cupy/cuda_workaround.h>\n"
    f"{KERNEL}(float* x) {{ std::pair<float, int> p = std::make_pair(x[0], 3); auto t = std::make_tuple(x[1], 2);"
    " static_assert(std::is_same<std::conditional<true, float, int>::type, float>::value, \"\");"
    " x[2] = p.first * std::get<0>(t) + std::numeric_limits<float>::max(); }\n",
    "cuComplex": "#include <cupy/complex.cuh>\n#include <cupy/cuComplex_bridge.h>\n"
    f"{KERNEL}(cuComplex* z) {{ z[0] = cuCdivf(cuCmulf(z[1], z[2]), make_cuComplex(1, cuCabsf(z[3]))); }}\n",
    "raw modules": (ROOT / "tests/gpu/kernels/raw_module.cu").read_text(),
}  # fmt: skip


@pytest.fixture(scope="session")
def cupy_headers() -> Path:
    """Return the folder of CuPy's headers."""
    return nvidia_tool("cupy") / "cupy/_core/include"


@pytest.fixture
def as_cupy(workers: Workers, toolchain: Toolchain, cupy_headers: Path, tmp_path: Path) -> Callable[[str], NvrtcResult]:
    """Return a function that compiles as CuPy's RawModule does. Source: CuPy, assemble_cupy_compiler_options and
    cupy.cuda.compiler."""
    bundled = [str(cupy_headers / "cupy/_cccl" / name) for name in ("cub", "thrust", "libcudacxx")]
    folders = [*bundled, str(cupy_headers), *toolchain.header_folders]
    options = ["--std=c++17", *(f"-I{each}" for each in folders), "-ftz=true", "--device-as-default-execution-space"]

    def compile(text: str) -> NvrtcResult:
        request: dict[str, Any] = {"library": toolchain.libraries[0], "folder": str(tmp_path)}
        request |= {"text": text.encode(), "name": "k.cu", "expressions": []}
        request |= {"options": [*options, "--gpu-architecture=compute_80"]}
        result: NvrtcResult = workers.submit(compile_text, request).result()
        assert not result["error"], result["log"]
        return result

    return compile


def code(ptx: bytes) -> list[str]:
    """Return the instructions of the kernels and functions in PTX, with the constants that they read."""
    lines = (" ".join(line.partition("//")[0].split()) for line in ptx.decode().rstrip("\0").splitlines())
    unused = (".version", ".global .align")  # variables of headers, which no kernel names
    return [line for line in lines if line and not line.startswith(unused)]


@pytest.mark.parametrize("name", SOURCES)
def test_the_code_is_that_of_cupy(
    name: str,
    compiled: Callable[..., Compiled],
    toolchain: Toolchain,
    cupy_headers: Path,
    as_cupy: Callable[[str], NvrtcResult],
) -> None:
    folders = ("", *toolchain.header_folders, str(cupy_headers))
    options = with_options(("--std=c++17",), "nvrtc")
    ours = compiled(SOURCES[name], options=options, include_dirs=folders, cubin=False)
    assert (ours.log, ours.left_out, ours.absent_headers) == ("", (), ())
    assert any(path.startswith(str(cupy_headers)) for path in ours.headers or ()) == (name != "jitify")
    assert code(ours.ptx or b"") == code(as_cupy(SOURCES[name])["ptx"])


def test_host_code_of_the_type_dispatcher_compiles(
    compiled: Callable[..., Compiled], toolchain: Toolchain, cupy_headers: Path
) -> None:
    text = "#include <cupy/type_dispatcher.cuh>\n" + KERNEL + "(complex<double>* x) { *x = 1; }\n"
    text += "struct F { template <class T> void operator()(int) {} };\nvoid f(int n) { dtype_dispatcher(n, F(), 1); }\n"
    assert compiled(text, include_dirs=("", *toolchain.header_folders, str(cupy_headers))).kernels.keys() == {"k"}
