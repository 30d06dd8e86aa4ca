"""Device code to link, compiled to every kind."""

from __future__ import annotations

import os

from cuda_wheel import JitOptions, LinkInput
from cuda_wheel.builder.images.bundling import make_fatbin
from cuda_wheel.builder.jobs import Content
from cuda_wheel.builder.toolchain import nvrtc
from cuda_wheel.runtime.manifest import Target
from cuda_wheel.runtime.parts.cuda_libraries import library_path
from cuda_wheel.runtime.parts.linking.cuda_compiler import compile_cuda

__all__ = [
    "APPLY",
    "BOTH",
    "FORMS",
    "USER",
    "compiled",
    "fatbin",
    "piece",
]


APPLY = """
extern "C" __device__ float user_transform(float);
extern "C" __global__ void apply(float* x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        x[i] = user_transform(x[i]);
}
"""


USER = 'extern "C" __device__ float user_transform(float x) { return 2 * x + 1; }\n'


BOTH = """
extern "C" __device__ float user_transform(float);
__device__ int counter = 3;
__constant__ float table[4];
__device__ __noinline__ float helper(float x) { return user_transform(x) + counter + table[1]; }
template <class T> __device__ __noinline__ T twice(T x) { return x + x; }
static __device__ __noinline__ float own(float x) { return x * counter; }
__global__ void work(float* x)
{
    extern __shared__ float scratch[];
    scratch[0] = own(twice(helper(x[0])));
    __syncthreads();
    x[0] = scratch[0];
    printf("%f", x[0]);
}
"""


def compiled(text: str, kind: str, arch: str = "80", name: str = "made.cu") -> bytes:
    """Return CUDA C++ compiled to relocatable PTX or LTO-IR for compute_<arch>, or to a cubin for sm_<arch>."""
    if kind != "cubin":
        return compile_cuda(text.encode(), name, None, Target.parse(f"compute_{arch}"), kind == "ltoir", JitOptions())[
            0
        ]
    return by_nvrtc(text, [f"-arch=sm_{arch}", "-rdc=true"], name)["cubin"]


def by_nvrtc(text: str, options: list[str], name: str = "made.cu") -> nvrtc.NvrtcResult:
    """Return what the installed NVRTC makes of CUDA C++."""
    library = library_path("nvrtc")
    assert library is not None
    folder = os.getcwd()
    result = nvrtc.compile_text(
        {
            "library": library,
            "folder": folder,
            "text": text.encode(),
            "name": name,
            "options": options,
            "expressions": [],
        }
    )
    assert not result["error"], result["log"]
    return result


FORMS = {"cuda": ".cu", "ptx": ".ptx", "ltoir": ".ltoir", "cubin": ".cubin"}


def piece(text: str, kind: str, name: str, arch: str = "") -> LinkInput:
    """Return CUDA C++ compiled to a piece of one kind, named with its suffix; for sm_90 if it is a cubin, else for 80."""
    content = text.encode() if kind == "cuda" else compiled(text, kind, arch or ("90" if kind == "cubin" else "80"))
    return LinkInput(kind, name + FORMS[kind], content)  # type: ignore[arg-type]


def fatbin(cubin: bytes, *options: str, ptx: bytes = b"") -> bytes:
    """Return a fatbin of a cubin for sm_90, and of PTX for compute_80 if there is any; without options, uncompressed."""
    images: list[tuple[Content, str]] = [(("cubin", "90", cubin), "made")]
    images += [(("ptx", "80", ptx), "made")] if ptx else []
    return make_fatbin(images, ("-64", *(options or ("-compress=false",))))
