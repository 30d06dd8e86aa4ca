"""Small valid inputs for each of `targets`, and the words that such inputs contain."""

from __future__ import annotations

import json
import struct

IMAGE = {
    **{"kind": "cubin", "target": "sm_80", "ptx_version": None, "ptx_version_compiled": None, "driver": "12.0"},
    **{"offset": 0, "size": 8, "sha256": "00", "resources": {"k": {"registers": 8}}, "source": None},
}
PTX_IMAGE = {**IMAGE, "kind": "ptx", "target": "compute_90a", "ptx_version": "8.0", "ptx_version_compiled": "9.0"}
LTO_IMAGE = {**IMAGE, "kind": "ltoir", "target": "compute_100f", "driver": "13.0", "offset": None, "source": "k.cu"}
KERNEL = {"name": "k", "symbol": "_Z1kv", "absent": ["sm_75"], "parameters": []}
MANIFEST = {
    **{"format": 1, "name": "demo.k", "fatbin": {"file": "k.fatbin", "size": 16, "sha256": "00"}},
    **{"toolchain": {"nvrtc": "13.0.88"}, "sources": ["k.cu"], "options": [], "host_code": [], "images": [IMAGE]},
    **{"kernels": [KERNEL], "globals": [], "extern": []},
}
MANIFESTS = [
    json.dumps(MANIFEST),
    json.dumps(
        {
            **MANIFEST,
            "images": [IMAGE, {**PTX_IMAGE, "offset": 8}, LTO_IMAGE],
            "kernels": [{**KERNEL, "parameters": [{"type": "u64", "offset": 0, "size": 8, "cpp": "float*"}]}],
            "globals": [{"name": "v", "symbol": "v", "space": "constant", "size": 4}],
            "extern": [{"name": "f", "symbol": "f", "declaration": "float f(float)"}],
        }
    ),
]
MANIFEST_WORDS = (
    '"format" "name" "fatbin" "file" "size" "sha256" "toolchain" "nvrtc" "sources" "options" "host_code" "images" '
    '"kernels" "globals" "extern" "kind" "target" "ptx_version" "ptx_version_compiled" "driver" "offset" "resources" '
    '"source" "symbol" "parameters" "absent" "type" "cpp" "space" "declaration" "cubin" "ptx" "ltoir" "sm_90a" null '
    "true -1 1e9 NaN Infinity 281474976710656 \\u0000 \\ud800 .. / {} [] {"
)

CHOICE = {
    **{"name": "k", "gpu": "NVIDIA H200", "compute_capability": [9, 0], "problem": {"n": 64, "dtype": "float"}},
    **{"variant": {"TILE": 8}, "kernel": "k<4>", "parameters": {"block": [16, 8], "split": None}},
    **{"microseconds": 2.5, "first_microseconds": 3},
}
TUNED_TABLES = [
    json.dumps({"format": 1, "module": "demo.k", "choices": choices})
    for choices in (
        [],
        [CHOICE],
        [CHOICE, {**CHOICE, "gpu": "other"}, {**CHOICE, "problem": {"n": 9, "dtype": "float"}}],
    )
]
TUNED_TABLE_WORDS = (
    '"format" "module" "choices" "demo.k" "name" "gpu" "compute_capability" "problem" "variant" "kernel" "parameters" '
    '"microseconds" "first_microseconds" "n" null true false 0 -1 1e999 NaN 9223372036854775808 "\\ud800" {} [] , : [ {'
)

INCLUDES = [
    '#include "a.h"\n#include <b.h>\n#include B\n',
    '#ifndef X\n#define X\n#if __has_include(<a.h>)\n#define A "a.h"\n#include A\n#endif\n#endif\n',
    "#define STR(x) #x\n#define CAT(a, b) a ## b\n#define Q(x) STR(x)\n#include Q(a.h)\n#include CAT(<b, .h>)\n",
    '/* #include "a.h" */ // x \\\n R"x(\n)x" \'\\\'\' "\\"" 1\'000 \\\n#  include_next <d/b.h>\n%: include "a.h"\n',
]
INCLUDE_WORDS = (
    '#include #include_next #define #if #ifdef #ifndef #elif #endif __has_include( %: "a.h" <b.h> /* */ // \\ R"x( )x" '
    "## # ( ) , A B F(x) F( ' \" u8R 1'0 __VA_ARGS__"
)

SOURCES = [
    "#include <cuda_fp16.h>\n// k\n__global__ void k(const float* __restrict__ x, int n, half h) { x[0] = 1; }\n",
    "template <typename T, int N = 2>\n__global__ void k(T* x) {}\n"
    "void run(float* x) { k<float, 4><<<1, 32>>>(x); }\nint main() { run(nullptr); return 0; }\n",
    "#define HD __host__ __device__\n#define MAKE(name, T) __global__ void name(T x) {}\nMAKE(f, int)\n"
    'namespace ns { struct S { HD int g() const { return 1; } }; }\nextern "C" __global__ void k(ns::S s) {}\n',
    "#if A\nconstexpr int n = 3;\n#else\nconst int n = 4;\n#endif\ntypedef unsigned int half;\n__device__ int v[n];\n"
    "__constant__ float c = 1.f;\ntemplate __global__ void k<int>(int*);\n",
]
PREPROCESSED = [
    *SOURCES,
    "struct I;\ntemplate <class T> struct is { static const int v = sizeof(T); };\ntemplate <class T> "
    "__attribute__((global)) void k(T* p) {}\nvoid f(int* p) { cuda_wheel_body_0_begin k<int><<<1, 1>>>(p); int n = "
    "is<I>::v; cuda_wheel_body_0_end }\nstruct I { int n; };\n",
]
SOURCE_WORDS = (
    "__global__ __device__ __host__ __constant__ __launch_bounds__( template <typename void int float half const struct "
    'using typedef namespace extern "C" operator #define #if #else #endif #include #pragma <<< >>> ( ) { } [ ] < > ; , '
    '= * & :: -> ## /* */ // \\ R"x( )x" " \' k<int><<<1,1>>>(); main() std:: F(x) F( ... __VA_ARGS__ '
)

PTX = [
    """\
// Cuda compilation tools, release 12.9, V12.9.86
.version 8.8
.target sm_90a
.address_size 64
.file 1 "/a/k.cu"
.extern .func (.param .b32 func_retval0) f
(
 .param .b32 f_param_0
);
.extern .shared .align 16 .b8 s[];
.visible .const .align 4 .b8 c[8] = {1, 2, 3, 4, 5, 6, 7, 8};
.visible .global .attribute(.managed) .align 4 .u32 m;
.global .align 1 .b8 _ZN4cuda3std1xE[2] = {1, 2};
.global .align 8 .u64 _ZN4cuda3std1yE = _ZN4cuda3std1xE;
.weak .func g()
{
 ret;
}
.visible .entry _Z1kPfi(
 .param .u64 .ptr .align 1 _Z1kPfi_param_0,
 .param .u32 _Z1kPfi_param_1,
 .param .align 4 .b8 _Z1kPfi_param_2[12]
)
.maxntid 128, 1, 1
.minnctapersm 2
{
 call.uni (r), f, (p); /* call */
 ret;
}
""",
    ".version 7.0\n.target sm_80\n.visible .entry k()\n{ ret; }\n",
]
PTX_WORDS = (
    ".version .target sm_80 .address_size .extern .visible .weak .common .func .entry .global .const .shared .param "
    ".align .b8 .u64 .f32 .ptr .v2 .b32 .pred .attribute( .managed .maxntid .minnctapersm .maxclusterrank .noreturn "
    '.file .alias [4] [] { } ( ) ; , = /* */ // " \\" _ZN4cuda1xE 0 99999999999 ret;'
)

SYMBOLS = [
    *("_Z1kv", "_ZN2ns4gemmIfLi16EEEvPKT_i", "_Z1kRA3_fPFviE", "_ZN12_GLOBAL__N_11vE", "_Z1kIJifEEvDpT_"),
    *("_Z1kIXadL_Z1fvEEEvv", "_ZZ1kvE1x_0", "_Z1kM1SFvvE", "_Z1kIN4cuda3std3__45tupleIJifEEEEvT_", "_Z1kUlvE_"),
    *("_Z1kILb1ELf3f800000EEvDTcl1gfp_EE", "_Z1kNSt3__16vectorIiEE", "_Z1kIXquT_Li1ELi2EEEvv", "_ZN1AIiE1BIfEC2Ev"),
]
SYMBOL_WORDS = (
    "_Z N E I J X L T_ T0_ S_ S0_ St Sa Ss 1a 2ab 10abcdefghij P R O K V F A3_ M Dp DT Dt Dv DF Do U Ul Ut cv li cl fp "
    "sr sZ sp qu dt pt ix tl il fl fr fL fR st pl mi on gs _ i f v d b l Lb1E Lin1E Lf3f800000E C1 D2 B5cxx11 .s"
)

TABLES = [
    'extern "C" __global__ void k(const float* x, int n) {}\0.visible .entry k(.param .u64 a, .param .u32 b) {}',
    'extern "C" __device__ float f(float x);\0.extern .func (.param .f32 r) f (.param .f32 x);\n.visible .func g() {}',
    "template <typename T> __global__ void k(T x) {}\0.visible .entry _Z1kIfEvT_(.param .f32 a) {}",
]


def _cubin() -> bytes:
    """Return a minimal cubin: a kernel, a variable, an undefined function, and the kernel's parameters."""
    texts = b"\0.text.k\0k\0.nv.info.k\0.nv.info\0.nv.global\0v\0f\0.symtab\0.strtab\0"
    name = texts.index
    symbols = b"".join(
        struct.pack("<IBBHQQ", name(text + b"\0"), info, other, section, 0, size)
        for text, info, other, section, size in [
            *((b"", 0, 0, 0, 0), (b"k", 0x12, 0x10, 1, 16), (b"v", 0x11, 0, 4, 4), (b"f", 0x12, 0, 0, 0)),
        ]
    )
    parameters = struct.pack("<BBHIHHI", 4, 0x17, 12, 0, 0, 0, 8 << 18)
    registers = struct.pack("<BBHII", 4, 0x2F, 8, 1, 24)
    parts = [
        *((b".text.k", 1, bytes(16), 0), (b".nv.info.k", 0x70000000, parameters, 0)),
        *((b".nv.info", 0x70000000, registers, 0), (b".nv.global", 8, b"", 0)),
        *((b".symtab", 2, symbols, 24), (b".strtab", 3, texts, 0)),
    ]
    content, headers = b"", [bytes(64)]
    for text, kind, data, entry in parts:
        size = 4 if kind == 8 else len(data)
        link = len(parts) if kind == 2 else 0
        place = (0, 0, 64 + len(content), size, link, 0, 1, entry)
        headers.append(struct.pack("<IIQQQQIIQQ", name(text + b"\0"), kind, *place))
        content += data
    ident = b"\x7fELF\x02\x01\x01\x33\x07".ljust(16, b"\0")
    at = 64 + len(content)
    count = len(headers)
    header = struct.pack("<16sHHIQQQIHHHHHH", ident, 1, 190, 1, 0, 0, at, 90, 64, 0, 0, 64, count, count - 1)
    return header + content + b"".join(headers)


CUBIN = _cubin()
BINARIES = [
    CUBIN,
    struct.pack("<IHHQ", 0xBA55ED50, 1, 16, 8) + bytes(8),
    b"!<arch>\n" + b"k.o/".ljust(48) + str(len(CUBIN)).encode().ljust(10) + b"`\n" + CUBIN,
    b"\xedCN\x7f" + bytes(8),
    PTX[1].encode(),
    b"__global__ void k() {}",
]
BINARY_WORDS = "!<arch>\n // /SYM64/ .nv.info .nv.global __nv_relfatbin .nv_fatbin -60 .version BC"

CONFIGS = [
    """\
[build-system]
requires = ["hatchling", "cuda-wheel[cu12]"]
[tool.cuda-wheel]
architectures = ["75", "80-real", "90a-real"]
sources = ["src/**/*.cu"]
std = "c++20"
defines = { BLOCK = 256, FAST = true, X = 1.5, S = "s" }
options = ["--use_fast_math"]
ptx-version = "8.0"
timeout = 60.5
memory-limit = "8GiB"
[[tool.cuda-wheel.module]]
name = "demo.k"
sources = ["k.cu"]
link = "lto"
instantiate = ["k<float>"]
""",
    '[tool.cuda-wheel]\narchitectures = "8.0;9.0+PTX"\nhost-code = "whole"\nlineinfo = true\n',
    "[tool.cuda_wheel]\n",
]
CONFIG_WORDS = (
    "[tool.cuda-wheel] [[tool.cuda-wheel.module]] [build-system] requires architectures include-dirs std defines options "
    "host-code optional-kernels lineinfo warnings-as-errors sources ptx-version compress exclude-sources loader timeout "
    'memory-limit module name instantiate link extern relocatable = " [ ] { } true nan inf 0x 1e999 "c++17" "8.0" "8GiB"'
)

LOGS = [
    'k.cu(1): error: identifier "x" is undefined\n  int a = x;\n          ^\n\n1 error detected in the compilation\n',
    'k.cu(3): warning #177-D: variable "b" was declared but never referenced\n  const\tint b;\n       \t    ^\n'
    "ptxas info    : 0 bytes gmem\nptxas /tmp/x.ptx, line 9; error   : Feature 'wgmma' requires .target sm_90a\n",
    "k.ll (2, 2): parse expected type\nerror: Undefined reference to '_Z1fv' in 'k.cu'\n",
    '__nv_name_map(1): error: name is bad. Input name expression was: "f<int>"\n../a/./b.h(2): note: here\n',
]
LOG_WORDS = (
    "error: warning: note: remark: #177-D catastrophic k.cu(1): k.ll (2, ptxas fatal info line ; ^ nvrtc __nv_name_map "
    '"x" is undefined cannot open source file "torch/a.h" requires .target sm_ \'wgmma\' uses too much shared data (0x '
    "../ ./ libnvvm : parse data layout ptr Unresolved extern function 'f' namespace \"std\" has no member C++20 :"
)
