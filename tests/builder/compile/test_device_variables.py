"""Images do not contain the variables of libraries that nothing uses; they contain those that a program may look up."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cuda_wheel.builder.compile import device_variables as declarations
from cuda_wheel.builder.compile import nvrtc_calls
from cuda_wheel.builder.compile.device_variables import may_declare_foreign_names
from cuda_wheel.builder.compile.job import compile_job
from cuda_wheel.builder.compile.nvrtc_request import nvrtc_request
from cuda_wheel.builder.errors import CompileError
from cuda_wheel.builder.images.variables import unqualified_name, without_unused
from cuda_wheel.builder.jobs import Compiled, Job, LinkInput, LinkJob
from cuda_wheel.builder.link import link_job
from cuda_wheel.builder.toolchain.nvrtc import cross_references
from cuda_wheel.builder.toolchain.toolchain import INCLUDE, Toolchain
from cuda_wheel.builder.workers.pool import Workers
from cuda_wheel.runtime.parts.compile_log import resources_of
from cuda_wheel.runtime.parts.cuda_libraries import link_code
from cuda_wheel.runtime.parts.formats.cubin import read_cubin
from cuda_wheel.runtime.parts.formats.ptx import kernels

PTX = """
.version 8.0
.target sm_80
.address_size 64
.global .align 4 .u32 own;
.global .align 1 .b8 _ZN4cuda3std6unusedE[1];
.global .align 4 .u32 _ZN4cuda3std4usedE = 3;
.global .align 8 .u64 _ZN4cuda3std5firstE[2] = {generic(_ZN4cuda3std6secondE), 0};
.global .align 8 .u64 _ZN4cuda3std6secondE[1] = {_ZN4cuda3std5thirdE};
.const .align 4 .u32 _ZN4cuda3std5thirdE = 1;
.global .align 4 .u32 _ZN4cuda3std8pointed_E;
.global .align 8 .u64 pointer = generic(_ZN4cuda3std8pointed_E);
.visible .entry k()
{
ld.global.u32 %r1, [_ZN4cuda3std4usedE];
ret;
}
"""


def test_unused_variables_are_removed_with_those_that_only_they_use() -> None:
    gone = {"_ZN4cuda3std6unusedE", "_ZN4cuda3std5firstE", "_ZN4cuda3std6secondE", "_ZN4cuda3std5thirdE"}
    expected = "".join(line for line in PTX.splitlines(keepends=True) if not any(symbol in line for symbol in gone))
    assert without_unused(PTX) == expected
    assert without_unused(expected) == expected


def test_unused_string_literals_are_removed() -> None:
    """NVRTC keeps those of constants of host code."""
    kept = ".global .align 8 .u64 text = generic($str);\n.global .align 1 .b8 $str[2] = {97};\n"
    unused = ".global .align 1 .b8 $str$1[2] = {98};\n"
    assert without_unused(PTX + kept + unused) == without_unused(PTX) + kept


def test_the_identifier_of_a_variable_is_found_in_its_name() -> None:
    names = {"v": "v", "ns::v": "v", "v<int>": "v", "ns::v<other::type<3>, x>": "v", "a<b::c>::d": "d"}
    assert {name: unqualified_name(name) for name in names} == names


LARGE = "#include <cuda/std/utility>\n"
OWN = """
__device__ int plain;
static __device__ int with_a_value[4] = {1, 2};
namespace { __device__ float hidden; }
namespace ns { __constant__ float coefficients[16]; }
__managed__ int shared_with_all[5];
template <class T> __device__ T of_type = 3;
__global__ void k(int* x) { *x = cuda::std::pair<int, int>(*x, 1).second; if (*x == 7) printf("%f", of_type<float>); }
__global__ void __launch_bounds__(96) other(float* x, int n) { x[n] = sqrtf(x[n]) / 3; }
"""


@pytest.mark.slow
@pytest.mark.parametrize("arch", ["80", "90a", "120"])
def test_the_machine_code_is_the_same_without_unused_variables(
    compiled, nvrtc_alone, nvdisasm, tmp_path: Path, arch: str
) -> None:
    options = ("--std=c++17", "--use_fast_math", "--maxrregcount=40")
    lean = compiled(LARGE + OWN, arch, options=options)
    full = nvrtc_alone(LARGE + OWN, arch, options=options)
    assert lean.kernels.keys() == {"_Z1kPi", "_Z5otherPfi"}
    constant = {"constant": read_cubin(lean.cubin).constant}
    assert lean.resources == {name: each | constant for name, each in resources_of(full["log"]).items()}
    assert lean.cubin is not None
    assert len(lean.cubin) < len(full["cubin"]) / 2
    assert instructions(nvdisasm, tmp_path, lean.cubin) == instructions(nvdisasm, tmp_path, full["cubin"])
    found = read_cubin(lean.cubin)
    assert found.variables.keys() | found.private >= {variable.symbol for variable in lean.variables}
    assert {variable.name for variable in lean.variables} >= {
        "plain", "with_a_value", "hidden", "ns::coefficients", "shared_with_all", "of_type<float>"
    }  # fmt: skip
    assert b"_ZN4cuda3std" not in (lean.ptx or b"")


def instructions(nvdisasm: Callable[[Path], str], folder: Path, cubin: bytes) -> list[str]:
    path = folder / "k.cubin"
    path.write_bytes(cubin)
    code = re.findall(r"^\s+/\*[0-9a-f]{4,}\*/\s+([^;]*?)\s*;", nvdisasm(path), re.MULTILINE)
    assert code
    # The addresses of all variables are in constant memory.
    return [re.sub(r"c\[0x4\]\[\w+\]|`\(.*?\)", "...", re.sub(r"\s+", " ", line)) for line in code]


def test_thousands_of_own_variables_are_kept(compiled) -> None:
    own = "".join(f"__device__ int variable_with_a_rather_long_name_{number};\n" for number in range(3000))
    result = compiled(LARGE + own + "__global__ void k() {}")
    assert result.cubin is not None and len(result.variables) == 3000
    assert len(read_cubin(result.cubin).private | read_cubin(result.cubin).variables.keys()) == 3000


def test_images_do_not_depend_on_the_folder(compiled, tmp_path: Path) -> None:
    for name in ("a", "much longer than the other"):
        (tmp_path / name / "own").mkdir(parents=True)
        (tmp_path / name / "own/large.h").write_text(LARGE)
    text = '#include "own/large.h"\n' + OWN
    one, other = (compiled(text, root=tmp_path / name) for name in ("a", "much longer than the other"))
    assert (one.cubin, one.ptx) == (other.cubin, other.ptx)


def test_the_tables_of_a_library_are_left_out_of_image_and_manifest_unless_they_are_used(
    compiled, tmp_path: Path, toolchain: Toolchain
) -> None:
    library = tmp_path / "library" / "lib"
    library.mkdir(parents=True)
    (library / "tables.h").write_text(
        "static __device__ unsigned lib_table[1 << 14] = {1};\n#define TABLE(name) __device__ int name##_table[3];\n"
    )
    text = "#include <lib/tables.h>\nTABLE(mine)\n__global__ void k() {}"
    folders = (str(INCLUDE), str(library.parent), *toolchain.include_dirs)
    result = compiled(text, include_dirs=folders)
    assert [variable.name for variable in result.variables] == ["mine_table"]
    assert result.cubin is not None and len(result.cubin) < 1 << 14
    used = compiled(text.replace("k() {}", "k(unsigned* x) { *x = lib_table[*x]; }"), include_dirs=folders)
    assert used.cubin is not None and len(used.cubin) > 1 << 16
    asked = compiled(text + "\n// The host sets lib_table.", include_dirs=folders)
    assert "lib_table" in {variable.name for variable in asked.variables}
    assert asked.cubin is not None and len(asked.cubin) > 1 << 16


FOREIGN = """
#define PLACE(name) __device__ int name##_place
#define OPEN(name) namespace name {
PLACE(in);
PLACE(my);
namespace nv { __device__ int mine; }
namespace cuda { __device__ int mine; namespace std { __constant__ float coefficients[4]; } }
namespace cub::mine { static __device__ int hidden; template <class T> __device__ T of_type = 3; }
OPEN(thrust) __managed__ int opened; }
namespace __detail { __device__ int reserved; }
namespace { __device__ int __anonymous; }
static __device__ int _ZTable;
__device__ int __nv_mine[3];
struct A { virtual __device__ int f() { return 1; } };
__global__ void k(int* x) {
    A* a = new A;
    *x = cuda::std::pair<int, int>(*x, a->f()).second + cub::mine::of_type<int>;
    if (*x == 7) *(A**)x = a;
}
"""
"""Variables that look like those of a library or of the compiler, all of them but one unused."""
NAMES = {
    "in_place", "my_place", "nv::mine", "cuda::mine", "cuda::std::coefficients", "cub::mine::hidden",
    "cub::mine::of_type<int>", "thrust::opened", "__detail::reserved", "__anonymous", "_ZTable", "__nv_mine",
}  # fmt: skip


def test_the_file_that_declares_a_variable_decides_whose_it_is(compiled) -> None:
    result = compiled(LARGE + FOREIGN)
    assert {variable.name for variable in result.variables} == NAMES
    found = read_cubin(result.cubin)
    for variable in result.variables:
        assert variable.symbol in found.variables.keys() | found.private, variable.name
        assert variable.symbol in (result.ptx or b"").decode(), variable.name
    assert b"_ZN4cuda3std3__4" not in (result.ptx or b"")


def test_the_projects_headers_declare_variables_too(compiled, tmp_path: Path) -> None:
    (tmp_path / "own").mkdir()
    (tmp_path / "own/foreign.h").write_text(LARGE + FOREIGN)
    result = compiled('#include "own/foreign.h"\n', root=tmp_path)
    assert {variable.name for variable in result.variables} == NAMES


TEMPLATES = """
#define CAT_(a, b) a##b
#define CAT(a, b) CAT_(a, b)
namespace cub { namespace mine {
template <class T> struct S { static constexpr int CAT(mem, ber)[2] = {1, 2}; };
template <class T> __device__ T CAT(vari, able) = T(1);
template <class T> __device__ T* function() { static __device__ T CAT(lo, cal); return &local; }
template <class T> __device__ auto closure() { return [](auto x) { static __device__ int CAT(in, ner); return &inner; }(T()); }
} }
using namespace cub::mine;
__global__ void k(int* x) { *x = S<int>::member[*x] + variable<int> + *function<int>() + *closure<int>(); }
"""


def test_templates_declare_variables_though_the_front_end_is_asked_without_their_instances(compiled) -> None:
    result = compiled(TEMPLATES)
    assert {variable.name.rpartition("::")[2] for variable in result.variables} == {
        "member",
        "variable<int>",
        "local",
        "inner",
    }


@pytest.mark.slow
@pytest.mark.parametrize("form", ["lto", "ptx"])
def test_a_linked_module_lists_the_variables_that_its_sources_declare(compiled, workers: Workers, form: str) -> None:
    part = compiled(LARGE + FOREIGN, form=form, options=("--std=c++17", "-rdc=true"))
    content = part.ltoir if form == "lto" else part.ptx
    kind = "ltoir" if form == "lto" else "ptx"
    inputs = (LinkInput("k.cu", kind, content or b"", part.declared),)
    linked = workers.submit(
        link_job, LinkJob("demo.m", "80", True, form == "lto", inputs, (), False, "auto", ())
    ).result()
    assert {variable.name for variable in linked.variables} == NAMES
    found = read_cubin(linked.cubin)
    assert found.variables.keys() | found.private >= {variable.symbol for variable in linked.variables}


@pytest.mark.slow
def test_mixed_sources_declare_variables_too(compiled) -> None:
    host = "#include <vector>\nint main() { std::vector<int> v; k<<<1, 1>>>(v.data()); }\n"
    text = LARGE + FOREIGN.replace("OPEN(thrust)", "namespace thrust {")  # the scanner expands no macros
    assert {variable.name for variable in compiled(text + host).variables} == NAMES


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("namespace nv { }", True),
        ("namespace mine::cub { }", True),
        ("inline namespace\n cuda\n{", True),
        ("namespace __detail {", True),
        ("#define OPEN(x) \\\n namespace x {", True),
        ("CUB_NAMESPACE_BEGIN", True),
        ("__device__ const unsigned int a, __b;", True),
        ("__constant__ float _ZTable[3] = {", True),
        ("#define M(x) __nv_##x", True),
        ("using namespace cuda; namespace cg = cooperative_groups;", False),
        ("namespace mine { __device__ __half x; }", False),
        ("namespace cudamine { namespace standard { } }", False),
        ("__device__ __forceinline__ int f(__nv_bfloat16 x) { }", False),
        ("#define M(x) x##_y", False),
        ("__global__ void __launch_bounds__(64) k() { __shared__ int s; __syncthreads(); }", False),
    ],
)
def test_the_front_end_is_asked_only_about_texts_that_may_declare_such_names(text: str, answer: bool) -> None:
    assert bool(may_declare_foreign_names([text.encode()])) is answer


@pytest.mark.parametrize(
    ("text", "names", "asked"),
    [
        ("namespace at { int own; }", {"at::own", "at::other", "c10::own"}, {"at::own"}),
        ("namespace mine { int own; }", {"at::own"}, set()),
        ("namespace at {\nclass own; struct B;\n} int x;", {"at::own"}, set()),
        ("namespace at { class A; int own; }", {"at::own"}, {"at::own"}),
        ("namespace at { class A; } namespace c10 { struct B {} own; }", {"c10::own"}, {"c10::own"}),
        ("#define OPEN(n) namespace n {\nOPEN(at) int own; }", {"at::own", "c10::other", "own"}, {"at::own"}),
        ("#define CAT(a, b) a##b\nnamespace at { int CAT(o, wn); }", {"at::own", "at::wno"}, {"at::own", "at::wno"}),
        ("#define CAT(a, b) a##b\nnamespace at { int CAT(o, w); int n; }", {"at::own"}, set()),
        ("__device__ int __own;", {"__own", "__unnamed_1"}, {"__own"}),
        ("int __own;", {"__own"}, set()),
    ],
)
def test_the_front_end_is_asked_only_about_names_that_the_texts_have(
    text: str, names: set[str], asked: set[str]
) -> None:
    assert may_declare_foreign_names([text.encode()], names) == asked


def test_the_front_end_is_not_asked_about_what_a_source_includes_of_pytorch(
    toolchain: Toolchain, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(declarations, "cross_references", lambda request: pytest.fail("the front end was asked"))
    text = """
        #include <torch/extension.h>
        namespace at { namespace native { void f(torch::Tensor x) { TORCH_CHECK(x.scalar_type() == at::kFloat); } } }
        __device__ int counter;
        __global__ void k(float* x) { *x += sizeof(c10::Half); }
        void run(torch::Tensor x) { k<<<1, 1>>>(x.data_ptr<float>()); }
    """
    folders = ("src", *toolchain.header_folders)
    job = Job(toolchain.libraries[0], ".", "src/k.cu", text.encode(), "80", True, False, ("--std=c++17",), folders, (),
              False, "auto")  # fmt: skip
    assert [variable.name for variable in compile_job(job).variables] == ["counter"]


def test_a_source_that_opens_a_librarys_namespace_is_compiled_once(
    toolchain: Toolchain, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = """
        #define NAME(a, b) a##b
        namespace cub { template <int N> __device__ int own = N; __device__ int NAME(na, med); }
        template <int N> __global__ void k(int* x) { *x = cub::own<N>; }
        void run(int* x) { k<3><<<1, 1>>>(x); k<4><<<1, 1>>>(x); }
    """
    folders = ("src", *toolchain.header_folders)
    job = Job(toolchain.libraries[0], ".", "src/k.cu", text.encode(), "80", True, False, ("--std=c++17",), folders, (),
              False, "auto")  # fmt: skip
    twice = declarations.cross_references(nvrtc_request(job))
    monkeypatch.setattr(declarations, "cross_references", lambda request: pytest.fail("the source is compiled twice"))
    names = {variable.name for variable in compile_job(job).variables}
    assert names == {"cub::own<3>", "cub::own<4>", "cub::named"}
    (mentions,) = declarations._last
    found = [set(declarations.declarations_in(each)) for each in (mentions._references, twice or b"")]
    assert {name for name, file in found[0] ^ found[1] if file.endswith(b"k.cu")} == set()


def test_the_front_end_is_asked_alone_after_a_long_compilation_for_another_target(
    toolchain: Toolchain, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = b"namespace cub { __constant__ int own; } __global__ void k(int* p) { *p = cub::own; }"
    job = Job(toolchain.libraries[0], ".", "src/long.cu", text, "80", True, False, ("--std=c++17",), ("src",), (),
              False, "auto")  # fmt: skip
    asked: list[str] = []

    def counted(request: Any) -> bytes | None:
        asked.append(request["options"][0])
        return cross_references(request)

    monkeypatch.setattr(declarations, "cross_references", counted)
    monkeypatch.setattr(nvrtc_calls, "_LONG", 0.0)
    variables = compile_job(job).variables
    assert asked == []
    assert compile_job(replace(job, arch="90")).variables == variables
    assert asked == ["--gpu-architecture=compute_90"]


@pytest.mark.slow
@pytest.mark.one_toolchain
def test_long_texts_are_searched_in_linear_time() -> None:
    started = time.perf_counter()
    for text in ("namespace a " * 100_000, "__device__ int a, " * 100_000, "#define x " * 100_000, "__a " * 300_000):
        assert not may_declare_foreign_names([text.encode()])
    assert time.perf_counter() - started < 20


def test_an_undefined_variable_is_the_sources_own_and_an_undefined_function_is_an_error(compiled) -> None:
    result = compiled(LARGE + "extern __device__ int v; __global__ void k(int* x) { *x = v; }")
    assert [variable.name for variable in result.variables] == ["v"]
    assert b"_ZN4cuda3std" not in (result.ptx or b"")
    with pytest.raises(CompileError, match="Unresolved extern function '_Z1fv'"):
        compiled(LARGE + "__device__ int f(); __global__ void k(int* x) { *x = f(); }")


def test_an_error_is_reported_once(compiled) -> None:
    with pytest.raises(CompileError) as caught:
        compiled(LARGE + "__global__ void k() { nonsense; }")
    assert str(caught.value).count("nonsense") == 2  # in the message and in the source line


# --- relocatable sources ------------------------------------------------------------------------------

ASKING = """
#ifdef __CUDACC_RDC__
__global__ void relocatable(int* x) { *x = 1; }
#else
__global__ void whole(int* x) { *x = 2; }
#endif
#ifdef __CUDA_DEVICE_RUNTIME_API_H__
__global__ void with_device_runtime(int* x) { *x = 3; }
#endif
"""
WHOLE, RELOCATABLE = {"_Z5wholePi"}, {"_Z11relocatablePi", "_Z19with_device_runtimePi"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("head", "changes", "found"),
    [
        ("", {}, WHOLE),
        (LARGE, {}, WHOLE),
        (LARGE + "#include <cooperative_groups.h>\n", {}, WHOLE),
        (LARGE, {"lineinfo": True}, WHOLE),
        (LARGE, {"cubin": False}, WHOLE),
        (LARGE, {"ptx": False}, WHOLE),
        (LARGE + "#include <vector>\nvoid host(std::vector<int>& x) { whole<<<1, 1>>>(x.data()); }\n", {}, WHOLE),
        (LARGE, {"options": ("--define-macro=__CUDACC_RDC__",)}, RELOCATABLE),
        ("", {"options": ("--define-macro=__CUDACC_RDC__",)}, RELOCATABLE),
        (LARGE, {"form": "ptx", "cubin": False}, RELOCATABLE),
        ("", {"form": "ptx", "cubin": False}, RELOCATABLE),
    ],
)
def test_a_source_is_relocatable_only_where_the_user_links_it(
    compiled, head: str, changes: dict[str, Any], found: set[str]
) -> None:
    text = head + ASKING if "host(" not in head else ASKING + head
    assert compiled(text, **changes).kernels.keys() == found


def test_ltoir_that_the_user_links_is_relocatable(compiled) -> None:
    result = compiled(LARGE + ASKING, form="lto", cubin=False, ptx=False)
    text, _ = link_code([("LTOIR", "k.cu", result.ltoir)], ["-arch=sm_80", "-lto", "-ptx"], ptx=True)
    assert kernels(text.rstrip(b"\0").decode()).keys() == RELOCATABLE


HOST = "#include <vector>\n#include <c10/macros/Macros.h>\nvoid host() { cudaDeviceSynchronize(); }\n"


@pytest.mark.one_toolchain
@pytest.mark.parametrize(
    ("declaration", "use"),
    [
        ("C10_DEVICE const int v = 3;", "v"),
        ("C10_DEVICE static const int v[2] = {3, 4};", "v[x[1]]"),
        ("OPTION constexpr float v[2] = {3, 4};", "v[x[1]]"),
        ("namespace ns { C10_DEVICE const int v = 3; }", "ns::v"),
        ("template <class T> OPTION const T v = 3;", "v<int>"),
        ("inline C10_DEVICE constexpr int v = 3;", "v"),
        ("CONSTANT const int v[2] = {3, 4};", "v[x[1]]"),
        ("MARK(device) const int v = 3;", "v"),
        ("__attribute__((device)) const int v = 3;", "v"),
        ("__attribute__((constant)) const int v[2] = {3, 4};", "v[x[1]]"),
        ("OPTION int v = 3;", "v"),
    ],
)
def test_a_constant_that_a_macro_marks_is_the_projects(
    declaration: str, use: str, compiled: Callable[..., Compiled]
) -> None:
    """A macro of a library or of an option, which no text of the project defines."""
    options = ("--std=c++17", "--define-macro=OPTION=__device__", "--define-macro=CONSTANT=__constant__")
    text = f"{HOST}#define MARK(x) __attribute__((x))\n{declaration}\n__global__ void k(int* x) {{ *x = {use}; }}\n"
    result = compiled(text, options=options)
    assert [re.sub("<.*", "", each.name) for each in result.variables] == [use.partition("[")[0].partition("<")[0]]


@pytest.mark.one_toolchain
@pytest.mark.parametrize(
    "declaration",
    [
        "const int v = 3;",
        "static constexpr float v = 3, w = 4;",
        "EMPTY const int v = 3;",
        "using T = int; const T v = 3;",
        "struct P { int a; }; const P v{3};",
        "constexpr std::size_t v = 3;",
    ],
)
def test_a_constant_of_host_code_is_in_no_manifest(declaration: str, compiled: Callable[..., Compiled]) -> None:
    options = ("--std=c++17", "--define-macro=EMPTY=")
    text = f"{HOST}{declaration}\n__global__ void k(int* x) {{ *x = 3; }}\n"
    assert not compiled(text, options=options).variables
