"""Show which options of one NVRTC program change later programs of the same process.

    python scripts/option_leaks.py [NVRTC_LIBRARY ...]

Each argument is the path of a `libnvrtc.so`, with the headers of its release in `../include` where they differ from the
installed ones; without an argument, the installed toolchain's is tried. A worker process of a build serves jobs whose
options are equal, but the calls of a job differ in the options of `DIFFERENCES`: attempts with other declarations,
requests for names, targets and forms. For each difference, a new process compiles programs with it and then those of
`PROBES` without it; their PTX and machine code must equal those of a process that compiled nothing before. `CONTROLS`
are options that do leak: one of them must be found, which proves that the method finds leaks. Exit status 1 if a
difference leaks, 2 if no control does.
"""

from __future__ import annotations

import json
import sys
import tempfile
from hashlib import sha256
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from cuda_wheel.builder.rewriting.front_end import (
    FIRST_ERROR,
    HOST_CODE_OPTIONS,
    NOT_NVRTC_OPTIONS,
    PREAMBLE_OPTION,
    REPORTING_OPTIONS,
)
from cuda_wheel.builder.toolchain.find import find_toolchain
from cuda_wheel.builder.toolchain.nvrtc import FORM_OPTIONS, LIST_HEADERS, compile_text, version
from cuda_wheel.builder.workers.worker import Worker

__all__ = ["CONTROLS", "DIFFERENCES", "leaks"]

PROBES = {
    "pointers": """
__global__ void sum(const float* x, const int* index, float* y, int n) {
    float total = 0;
    for (int i = threadIdx.x; i < n; i += blockDim.x) { total += x[index[i]]; y[i] = total; }
}""",
    "arithmetic": """
__global__ void math(float* x, double* y, int n) {
    for (int i = 0; i < 40; i++) x[i] = sinf(x[i]) * x[i + 1] + x[i + 2] / x[i + 3] + sqrtf(x[i + 4]) + 1e-40f;
    for (int i = 0; i < n; i++) y[i] = y[i] * y[i + 1] + y[i + 2] / 3.0;
}""",
    "calls": """
static __device__ int table[64];
template <class T> __device__ __noinline__ T twice(T x) { return x + x; }
struct Large { long long values[40]; };
extern "C" __global__ void __launch_bounds__(128, 2) calls(Large large, long long* x, unsigned long long n) {
    __shared__ long long shared[128];
    long long own[32];
    for (int i = 0; i < 32; i++) own[i] = large.values[i] * x[i] % n;
    shared[threadIdx.x] = twice(own[n % 32]) + table[n % 64];
    __syncthreads();
    x[threadIdx.x] = shared[127 - threadIdx.x];
}""",
    "launches": """
template <class T, int N> __global__ void fill(T* x) { for (int i = 0; i < N; i++) x[i] = x[i] * T(i); }
void launch(float* x, double* y) { fill<float, 8><<<1, 1>>>(x); fill<double, 3><<<1, 1>>>(y); }""",
}
"""Programs whose code shows the state of the front end, of the optimiser and of the assembler."""

BASE = ("--std=c++17", *HOST_CODE_OPTIONS, PREAMBLE_OPTION)

DIFFERENCES: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "only the first error": ((*FIRST_ERROR,), ()),
    "all errors": (("-Xcudafe", "--error_limit=100000", "--diag-suppress=177", "--diag-suppress=940"), ()),
    "cross-references": (("-Xcudafe", "--xref=names"), ()),
    "cross-references alone": (
        ("-Xcudafe", "--xref=names", "-Xcudafe", "--instantiate=none", "--fdevice-syntax-only"),
        (),
    ),
    "without relaxed constexpr": ((), ("-Xcudafe", "--relaxed_constexpr")),
    "host code refused": ((*REPORTING_OPTIONS,), (*HOST_CODE_OPTIONS, PREAMBLE_OPTION)),
    "no preamble": ((), (PREAMBLE_OPTION,)),
    "macros": (("--define-macro=CUDA_WHEEL_USED_PARTS", "--define-macro=N=3", "--undefine-macro=M"), ()),
    "without NVRTC's macro": (NOT_NVRTC_OPTIONS, ()),
    "the list of headers": ((*LIST_HEADERS,), ()),
    "relocatable": ((*FORM_OPTIONS["ptx"],), ()),
    "LTO-IR": ((*FORM_OPTIONS["lto"],), ()),
    "a seed": (("--frandom-seed=other.cu",), ()),
    "another architecture": (("--gpu-architecture=compute_90",), ("--gpu-architecture=sm_80",)),
    "PTX alone": (("--gpu-architecture=compute_80",), ("--gpu-architecture=sm_80",)),
    "resources": (("--ptxas-options=-v",), ()),
    "an unknown option": (("--no-such-option",), ()),
}
"""Name -> options that some calls of a worker have in addition to the others, and options that they lack."""

CONTROLS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "--device-debug": (("--device-debug",), ()),
    "--restrict": (("--restrict",), ()),
    "--Ofast-compile=mid": (("--Ofast-compile=mid",), ()),
}
"""Name -> added and missing options, as in DIFFERENCES, that leak in some releases. Builds never mix them in one
worker: jobs that differ in them have different workers, and the fields of structs, which need --device-debug, are read
in a copy of the process."""

_BROKEN = "\n__global__ void broken() { undeclared(); }\n"


Programs = tuple[str, tuple[str, ...], tuple[str, ...], tuple[str, ...], str]
"""Path of NVRTC; include folders; options added to, and options removed from, the programs that are compiled before the
probes; text appended to those programs."""


def leaks(library: str, folders: tuple[str, ...], names: list[str] | None = None) -> dict[str, list[str]]:
    """Return name -> changed probes, for each difference or control that leaks.

    `folders` are the toolchain's include folders. `names` are those of the differences and controls to try; None for
    all.
    """
    expected = _in_new_process((library, folders, (), (), ""))
    found = {}
    for name, (more, fewer) in {**DIFFERENCES, **CONTROLS}.items():
        if names is not None and name not in names:
            continue
        for ending in ("", _BROKEN):
            answers = _in_new_process((library, folders, more, fewer, ending))
            changed = [probe for probe, digest in expected.items() if answers[probe] != digest]
            if changed:
                found[name] = changed
    return found


def _in_new_process(argument: Programs) -> dict[str, str]:
    worker = Worker(None)
    try:
        return worker.call(_digests, argument, 300)
    finally:
        worker.close_pipe()
        worker.end()


def _digests(argument: Programs) -> dict[str, str]:
    """Return probe -> digest of its compiled code. All probes are compiled with the changed options before."""
    library, folders, more, fewer, ending = argument
    base = [*BASE, *(f"--include-path={path}" for path in folders)]
    with tempfile.TemporaryDirectory() as folder:
        if (more, fewer) != ((), ()):
            options = ["--gpu-architecture=sm_80", *base]
            for option in fewer:
                options.remove(option)
            for text in PROBES.values():
                compile_text(_request(library, folder, text + ending, [*options, *more]))
        digests = {}
        for name, text in PROBES.items():
            result = compile_text(_request(library, folder, text, ["--gpu-architecture=sm_80", *base]))
            assert not result["error"], result["log"]
            digests[name] = sha256(result["ptx"] + b"\0" + result["cubin"]).hexdigest()
        return digests


def _request(library: str, folder: str, text: str, options: list[str]) -> Any:
    return {
        "library": library,
        "folder": folder,
        "text": text.encode(),
        "name": "k.cu",
        "options": options,
        "expressions": [],
        "headers": {},
    }


def main(libraries: list[str]) -> int:
    status = 0
    toolchain = find_toolchain(None)
    for library in libraries or [toolchain.libraries[0]]:
        own = Path(library).parents[1] / "include"  # of the same release, if its headers are installed beside it
        folders = [folder for folder in toolchain.header_folders if folder not in toolchain.include_dirs]
        found = leaks(library, (*folders, str(own), *toolchain.include_dirs))
        print(library, ".".join(map(str, version(library))), json.dumps(found, indent=2), flush=True)
        if set(found) - set(CONTROLS):
            status = 1
        elif not found and status == 0:
            status = 2
    return status


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent))
    import option_leaks  # workers import functions by the name of their module

    sys.exit(option_leaks.main(sys.argv[1:]))
