"""The names, types and struct fields of parameters in the manifest: right, or absent.

The offsets here were compared with nvcc 13.0.88's `offsetof` and `sizeof`.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy
import pytest

from cuda_wheel.builder.cache.compile_cache import pack, unpack
from cuda_wheel.builder.compile.job import compile_job
from cuda_wheel.builder.compile.nvrtc_request import nvrtc_request
from cuda_wheel.builder.compile.struct_layouts import debug_entries, declared_parameters
from cuda_wheel.builder.config.settings import Config
from cuda_wheel.builder.cxx.parameter_types import parameter_names
from cuda_wheel.builder.execute import PlanRunner
from cuda_wheel.builder.jobs import EMPTY, Declared, Job
from cuda_wheel.builder.manifest_reader import manifest_of
from cuda_wheel.builder.plan import make_plan
from cuda_wheel.builder.report.reporter import SilentReporter
from cuda_wheel.builder.sources.layout import WheelFile
from cuda_wheel.builder.sources.modules import select
from cuda_wheel.builder.toolchain.nvrtc import compile_text
from cuda_wheel.builder.toolchain.toolchain import Toolchain
from cuda_wheel.builder.workers.pool import Workers
from cuda_wheel.runtime.manifest import Manifest, Parameter
from cuda_wheel.runtime.parts.dtypes import Field, Struct

SOURCE = """
#include <cuda_fp16.h>
namespace ns { enum class Mode : short { A, B }; struct Base { int tag; };
template <class T, int N> struct Params : Base {
    T a[N]; float4 v; __half h; const float* __restrict__ p; Mode m; bool flag;
    union { int i; float f; }; struct { double q[2][3]; } inner; static int counter; int& r; char c; size_t n;
}; }
struct Tail { double d; char c; }; struct Tail2 : Tail { char c2; };
enum Neg { M = -1, N = 2 }; enum class U8 : unsigned char { A = 200 }; enum Big { BB = 0xFFFFFFFF };
struct E { Neg n; U8 u; Big b; };
#pragma pack(push, 1)
struct Packed { char a; double b; int c; };
#pragma pack(pop)
struct alignas(32) Al { int a; };
class Priv { int x; public: int y; protected: float z; static const int q = 3; };
struct A1 { struct { int a; union { int b; float c; }; }; int d; };
typedef struct { float x, y; } Anon;
template <class T> __global__ void k(ns::Params<T, 3> params, Tail2 tail, E e, Packed packed, Al al, int n) {}
template __global__ void k<float>(ns::Params<float, 3>, Tail2, E, Packed, Al, int);
__global__ void more(Priv priv, A1 a1, const Anon anon, const __grid_constant__ Tail tail, float3 known, Tail (&r)[2]) {}
struct V { virtual __device__ void f() {} int a; }; struct Bits { int a : 3; int b : 5; };
struct OneBit { int a : 3; }; struct LastBit { int a; unsigned b : 31; };
struct Dup1 { int a; }; struct Dup2 : Dup1 { int a; }; struct Empty {}; struct W { __int128 i; };
struct NU { [[no_unique_address]] Empty e; int a; };
__global__ void absent(V v, Bits bits, Dup2 dup, Empty, W wide, NU nu, OneBit one, LastBit last) {}
template <class F> __global__ void lam(F f) { f(1); }
void host() { float* p = 0; Tail t = {}; lam<<<1, 1>>>([=] __device__ (int i) { p[i] = t.c; }); }
typedef float real;
#define STRUCT E
extern "C" __global__ void c(REAL x, const real* __restrict__ y, STRUCT e, int3 q, REAL *const * pp, Tail* t, Neg neg) {}
#if __CUDA_ARCH__ >= 900
struct Arch { int a; float b; };
#else
struct Arch { float b; int a; };
#endif
__global__ void by_arch(Arch arch) {}
"""


@pytest.fixture(scope="module")
def manifest(tmp_path_factory: pytest.TempPathFactory, workers: Workers, toolchain: Toolchain) -> Manifest:
    folder = tmp_path_factory.mktemp("structs")
    source = folder / "demo" / "k.cu"
    source.parent.mkdir()
    source.write_text(SOURCE)
    module = {"name": "demo.k", "defines": {"REAL": "float"}}
    config = Config.from_table({"architectures": ["80-real", "90-virtual"], "std": "c++20", "module": [module]})
    modules = select(config, folder, [WheelFile(source, "demo/k.cu")])
    plan = make_plan(config, modules, folder, toolchain, lambda: [])
    (built,) = PlanRunner(plan, workers, SilentReporter(), None).run()
    read: Manifest = manifest_of(built.text, "test")
    assert read == built.manifest
    return read


def parameters_of(manifest: Manifest, kernel: str) -> dict[str, Parameter]:
    (info,) = [info for info in manifest.kernels if info.name.partition("<")[0] == kernel]
    return {parameter.name: parameter for parameter in info.parameters}


def offsets(parameter: Parameter) -> dict[str, tuple[str, int]]:
    dtype = parameter.dtype
    assert dtype.itemsize == parameter.size
    return {name: (str(field[0]), field[1]) for name, field in dtype.fields.items()}


def test_a_struct_of_a_template_has_the_fields_of_bases_unions_and_nested_structs(manifest: Manifest) -> None:
    found = parameters_of(manifest, "k")
    assert list(found) == ["params", "tail", "e", "packed", "al", "n"]
    params = found["params"]
    assert params.struct is not None
    assert params.struct.name == params.cpp == "ns::Params<float, 3>"
    fields = {
        name: (kind[0].base.str if kind[0].names is None else "struct", kind[0].shape, kind[1])
        for name, kind in params.dtype.fields.items()
    }
    assert fields == {
        "tag": ("<i4", (), 0),
        "a": ("<f4", (3,), 4),
        "v": ("struct", (), 16),
        "h": ("<f2", (), 32),
        "p": ("<u8", (), 40),
        "m": ("<i2", (), 48),
        "flag": ("|b1", (), 50),
        "i": ("<i4", (), 52),
        "f": ("<f4", (), 52),
        "inner": ("struct", (), 56),
        "r": ("<u8", (), 104),
        "c": ("|i1", (), 112),
        "n": ("<u8", (), 120),
    }
    assert params.dtype["v"] == numpy.dtype([("x", "f4"), ("y", "f4"), ("z", "f4"), ("w", "f4")])
    assert params.dtype["inner"] == numpy.dtype([("q", "f8", (2, 3))])
    assert params.dtype.itemsize == params.size == 128


def test_layouts_that_alignment_packing_and_enumerations_change(manifest: Manifest) -> None:
    found = parameters_of(manifest, "k")
    assert offsets(found["tail"]) == {"d": ("float64", 0), "c": ("int8", 8), "c2": ("int8", 16)}
    assert offsets(found["e"]) == {"n": ("int32", 0), "u": ("uint8", 4), "b": ("uint32", 8)}
    assert offsets(found["packed"]) == {"a": ("int8", 0), "b": ("float64", 1), "c": ("int32", 9)}
    assert offsets(found["al"]) == {"a": ("int32", 0)}
    assert found["n"].dtype == numpy.int32
    more = parameters_of(manifest, "more")
    assert list(more) == ["priv", "a1", "anon", "tail", "known", "r"]
    assert offsets(more["priv"]) == {"x": ("int32", 0), "y": ("int32", 4), "z": ("float32", 8)}
    assert offsets(more["a1"]) == {"a": ("int32", 0), "b": ("int32", 4), "c": ("float32", 4), "d": ("int32", 8)}
    assert offsets(more["anon"]) == {"x": ("float32", 0), "y": ("float32", 4)}
    assert offsets(more["tail"]) == {"d": ("float64", 0), "c": ("int8", 8)}
    assert offsets(more["known"]) == {"x": ("float32", 0), "y": ("float32", 4), "z": ("float32", 8)}
    assert (more["r"].dtype, more["r"].struct) == (None, None)
    (closure,) = parameters_of(manifest, "lam").values()
    assert closure.dtype.fields["t"][0] == more["tail"].dtype


def test_what_fields_cannot_describe_has_none(manifest: Manifest) -> None:
    (info,) = [info for info in manifest.kernels if info.name == "absent"]
    assert [(each.name, each.struct, each.dtype) for each in info.parameters] == [
        (name, None, None) for name in ("v", "bits", "dup", "", "wide", "nu", "one", "last")
    ]


def test_a_struct_that_differs_between_architectures_has_no_fields(manifest: Manifest) -> None:
    (arch,) = parameters_of(manifest, "by_arch").values()
    assert (arch.cpp, arch.struct) == ("Arch", None)


def test_an_extern_c_kernel_has_the_types_that_macros_spell(manifest: Manifest) -> None:
    found = parameters_of(manifest, "c")
    assert {name: each.cpp for name, each in found.items()} == {
        "x": "float",
        "y": "const float*",
        "e": "E",
        "q": "int3",
        "pp": "float* const*",
        "t": "Tail*",
        "neg": "",
    }
    assert found["e"].dtype == parameters_of(manifest, "k")["e"].dtype


def test_namespaces_are_known_in_a_kernel_that_instantiate_names_and_in_an_extern_c_one(
    tmp_path: Path, workers: Workers, toolchain: Toolchain
) -> None:
    source = tmp_path / "demo" / "k.cu"
    source.parent.mkdir()
    source.write_text(
        "namespace a { namespace b { template <class T> struct P { T x; }; } using F = b::P<float>; }\n"
        "template <class T> __global__ void k(a::b::P<T> p) {}\n"
        'extern "C" __global__ void c(const a::F p, a::F* q, const a::b::P<a::F>* const* r) {}\n'
    )
    table = {"name": "demo.k", "instantiate": ["k<float>"]}
    config = Config.from_table({"architectures": ["80-virtual"], "module": [table]})
    modules = select(config, tmp_path, [WheelFile(source, "demo/k.cu")])
    plan = make_plan(config, modules, tmp_path, toolchain, lambda: [])
    (built,) = PlanRunner(plan, workers, SilentReporter(), None).run()
    found = {info.name: info.parameters for info in manifest_of(built.text, "test").kernels}
    assert [each.cpp for each in found["c"]] == [
        "a::b::P<float>",
        "a::F*",  # as the text spells it
        "const a::b::P<a::b::P<float>>* const*",
    ]
    assert found["k<float>"][0].cpp == "a::b::P<float>"
    assert all(offsets(found[name][0]) == {"x": ("float32", 0)} for name in found)


def test_a_build_without_structs_compiles_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, workers: Workers, toolchain: Toolchain
) -> None:
    """Debugging information costs time, so that only kernels that need it pay: here none does, and all have names."""
    source = tmp_path / "k.cu"
    source.write_text(
        'extern "C" __global__ void f(const float* x, int n, float2, uint3 z) {}\n__global__ void g(int) {}'
    )
    config = Config.from_table({"architectures": ["80-real"], "module": [{"name": "demo.k", "sources": ["k.cu"]}]})
    modules = select(config, tmp_path, [WheelFile(source, "demo/k.cu")])
    plan = make_plan(config, modules, tmp_path, toolchain, lambda: [])
    (job,) = plan.modules[0].jobs
    assert workers.submit(compile_job, job).result().parameters == {}
    (built,) = PlanRunner(plan, workers, SilentReporter(), None).run()
    names = {info.name: [each.name for each in info.parameters] for info in built.manifest.kernels}
    assert names == {"f": ["x", "n", "", "z"], "g": [""]}


def test_only_the_first_target_is_asked_if_no_text_names_the_architecture(
    tmp_path: Path, workers: Workers, toolchain: Toolchain
) -> None:
    """Headers and options count as the source does. A kernel of one target alone has its fields."""
    struct = "struct P { int n; float x; };\n__global__ void k(P p) {}\n"
    (tmp_path / "p.h").write_text(struct + "#if __CUDA_ARCH__ >= 900\n__global__ void late(P p) {}\n#endif\n")
    for name, text in {"plain": struct, "header": '#include "p.h"\n', "option": struct}.items():
        (tmp_path / f"{name}.cu").write_text(text)
    defines = {"option": {"NEW": "(__CUDA_ARCH__ >= 900)"}}
    table = {
        "architectures": ["80-real", "90-real"],
        "optional-kernels": ["late"],
        "module": [
            {"name": f"demo.{name}", "sources": [f"{name}.cu"], "defines": defines.get(name, {})}
            for name in ("plain", "header", "option")
        ],
    }
    config = Config.from_table(table)
    modules = select(config, tmp_path, [WheelFile(tmp_path / "plain.cu", "demo/plain.cu")])
    plan = make_plan(config, modules, tmp_path, toolchain, lambda: [])
    asked = {
        (module.module.name, job.arch): bool(workers.submit(compile_job, job).result().parameters)
        for module in plan.modules
        for job in module.jobs
    }
    assert [key for key, is_asked in asked.items() if not is_asked] == [("demo.plain", "90")]
    for module in PlanRunner(plan, workers, SilentReporter(), None).run():
        assert {info.parameters[0].dtype.names for info in module.manifest.kernels} == {("n", "x")}


# --- without a compiler ---------------------------------------------------------------------------


@pytest.mark.one_toolchain
def test_names_that_the_tokens_of_a_text_tell() -> None:
    text = """
    __global__ void a(const float *__restrict__ x, unsigned int n, const P p, P, const P, unsigned, struct P, ns::P,
                      float y[4], int = 3, int z = 4, [[maybe_unused]] T t, const T* __restrict__, V<int> v) {}
    __global__ void macro(TYPE x) {}
    __global__ void two(int x) {}
    __global__ void two(float y) {}
    __global__ void none(void) {}
    """
    # "const P" alone may be the type P, or a macro and a parameter P: P is taken for a name only beside a type.
    assert parameter_names(text, {"TYPE"}) == {
        "a": ("x", "n", "p", "", "", "", "", "", "y", "", "z", "t", "", "v"),
        "none": (),
    }


@pytest.mark.one_toolchain
def test_declared_parameters_survive_the_cache() -> None:
    inner = Struct("Inner", 8, (Field("x", "f4", 0, (2,)),))
    outer = Struct("Outer", 24, (Field("inner", "Inner", 0, (2,), inner), Field("n", "i4", 16)))
    compiled = EMPTY.__class__(
        None, None, None, {}, {}, {}, (), {}, (), "", parameters={"k": (Declared("p", "Outer", outer),)}
    )
    assert unpack(pack(compiled, None), None) == compiled


@pytest.mark.one_toolchain
@pytest.mark.parametrize(
    "text",
    [
        "",
        ".section .debug_info\n{\n.b8 1\n}",
        ".section .debug_info\n{\n.b32 99\n.b8 2\n.b8 0\n.b32 .debug_abbrev\n.b8 8\n.b8 7\n.b8 8\n}",
    ],
)
def test_text_that_is_no_debugging_information_has_no_entries(text: str) -> None:
    assert debug_entries(text) is None


def test_the_manifest_has_what_the_debugging_information_says(
    manifest: Manifest, job_of: Callable[..., Job], workers: Workers
) -> None:
    """Read in this process, so that `nox -s mutants` sees which code reads it."""
    request = nvrtc_request(job_of(SOURCE, options=("--std=c++20", "--define-macro=REAL=float")))
    options = [*request["options"], "--device-debug"]
    result = workers.submit(compile_text, {**request, "options": options}).result()
    found = declared_parameters(result["ptx"].decode())
    for info in manifest.kernels:
        declared = found[info.symbol]
        assert [each.name for each in declared] == [each.name for each in info.parameters]
        if info.name != "by_arch":  # its struct differs between the targets of the manifest
            for own, each in zip(declared, info.parameters, strict=True):
                name = (
                    each.struct.name if each.struct else ""
                )  # in CUDA 13, the debugging information has no namespaces
                assert own.struct == each.struct or name.endswith(f"::{own.struct.name}")
                assert (own.struct and own.struct._replace(name=name)) == each.struct
