"""Demangling the symbols of kernels and variables, compared with c++filt if it is installed."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cuda_wheel.builder.cxx.demangling import Signature, signature
from cuda_wheel.builder.images import ptx_text
from cuda_wheel.builder.toolchain.nvrtc import compile_text
from cuda_wheel.builder.toolchain.toolchain import Toolchain
from cuda_wheel.builder.workers.pool import Workers
from cuda_wheel.runtime.parts.formats import ptx

ANONYMOUS = "34_GLOBAL__N__00000000_4_k_cu__Z2fnf"  # as NVRTC 12.9 and 13.5 write it
PRIVATE = "32_INTERNAL_00000000_4_k_cu__Z2fnf"

KERNELS = {
    "saxpy": ("saxpy", None),
    "": ("", None),
    "_Z5saxpyfPKfPfi": ("saxpy", "float, const float*, float*, int"),
    "_Z4nonev": ("none", ""),
    "_ZN7stencil5applyEPKfPfi": ("stencil::apply", "const float*, float*, int"),
    "_ZN1a1b1cEv": ("a::b::c", ""),
    "_ZN12_GLOBAL__N_14kernEv": ("kern", ""),
    f"_ZN{ANONYMOUS}4anonENS_6HiddenE": ("anon", "Hidden"),
    f"_ZN{ANONYMOUS}5anontINS_6HiddenEEEvPT_": ("anont<Hidden>", "Hidden*"),
    "_Z4gemmIfLi16EEvPT_": ("gemm<float, 16>", "float*"),
    "_ZN2ns4gemmIfLi16EEEvPKT_i": ("ns::gemm<float, 16>", "const float*, int"),
    "_ZN2ns2v12inINS_4deep1QEEEvT_PS4_S3_PS3_": (
        "ns::v1::in<ns::deep::Q>",
        "ns::deep::Q, ns::deep::Q*, ns::deep::Q, ns::deep::Q*",
    ),
    "_Z1kPKfPfi6__half6Params6float4bcS3_": (
        "k",
        "const float*, float*, int, __half, Params, float4, bool, char, Params",
    ),
    "_Z4manyahstjlmxydwDsDinDn": (
        "many",
        "signed char, unsigned char, short, unsigned short, unsigned int, long, unsigned long, long long, "
        "unsigned long long, double, wchar_t, char16_t, char32_t, __int128, std::nullptr_t",
    ),
    "_Z4ptrsPFffEM1PiMS1_FviEPA4_iPVPKPKiPFPFicEiEPVi": (
        "ptrs",
        "float (*)(float), int P::*, void (P::*)(int), int (*)[4], const int* const* volatile*, "
        "int (*(*)(int))(char), volatile int*",
    ),
    "_Z1rRrKPfOi": ("r", "float* const __restrict__&, int&&"),
    "_Z2t1IN2ns4deep3BoxIPKiEELi4EEvPT_RAT0__S6_PKS6_": (
        "t1<ns::deep::Box<const int*>, 4>",
        "ns::deep::Box<const int*>*, ns::deep::Box<const int*> (&)[4], const ns::deep::Box<const int*>*",
    ),
    "_Z2pkIJEEvDpPT_": ("pk<>", ""),
    "_Z2pkIJfiKcEEvDpPT_": ("pk<float, int, const char>", "float*, int*, const char*"),
    "_Z3pk2IJf1PEEvDpN2ns4deep3BoxIT_EEDpRKS4_": (
        "pk2<float, P>",
        "ns::deep::Box<float>, ns::deep::Box<P>, const float&, const P&",
    ),
    "_Z3pk3IJf1PEEvN4cuda3std3__45tupleIJDpT_EEE": ("pk3<float, P>", "cuda::std::tuple<float, P>"),
    "_Z2ipIJLi1ELi2ELi3EEEvDpPAT__i": ("ip<1, 2, 3>", "int (*)[1], int (*)[2], int (*)[3]"),
    "_Z3twoIiJfcEEv4ListIJDpT0_EET_S0_IJDpS0_IJS1_S4_EEEE": (
        "two<int, float, char>",
        "List<float, char>, int, List<List<float, int>, List<char, int>>",
    ),
    "_Z3litILb1ELc97EL4Moden3EL3Old1ELj7ELln9ELy18446744073709551615ELsn3ELan1EEvi": (
        "lit<true, (char)97, (Mode)-3, (Old)1, 7u, -9l, 18446744073709551615ull, (short)-3, (signed char)-1>",
        "int",
    ),
    "_Z1kILf3fc00000ELDn0EEvv": ("k<(float)1.5, nullptr>", ""),
    "_Z3tttIN2ns4deep3BoxEfEvT_IT0_EPS3_IiE": (
        "ttt<ns::deep::Box, float>",
        "ns::deep::Box<float>, ns::deep::Box<int>*",
    ),
    "_Z2fpIXadL_Z2fnfEEEvPf": ("fp<&fn>", "float*"),
    "_Z3colIRiEvOT_RKS1_": ("col<int&>", "int&, int&"),
    "_Z2clI3ClsEvNT_4typeEPS1_": ("cl<Cls>", "Cls::type, Cls*"),
    "_Z3funIN2ns4deep3BoxIA3_A4_KiEEEvT_PS7_": (
        "fun<ns::deep::Box<const int[3][4]>>",
        "ns::deep::Box<const int[3][4]>, ns::deep::Box<const int[3][4]>*",
    ),
    "_Z3funIPFvifEEvT_PS2_": ("fun<void (*)(int, float)>", "void (*)(int, float), void (**)(int, float)"),
    "_Z3decIfEvT_PDTplcvS0__ELi1EE": ("dec<float>", "float, decltype((float() + 1))*"),
    "_Z3sfiIfEvPN4cuda3std3__49enable_ifIXgtstT_Li2EES4_E4typeE": (
        "sfi<float>",
        "cuda::std::enable_if<(sizeof(float) > 2), float>::type*",
    ),
    "_Z4sfi2IfEvPN4cuda3std3__49enable_ifIXsr4cuda3std3__47is_sameIT_fEE5valueES4_E4typeE": (
        "sfi2<float>",
        "cuda::std::enable_if<cuda::std::is_same<float, float>::value, float>::type*",
    ),
    "_Z3szoIJifEEvRAsZT__i": ("szo<int, float>", "int (&)[2]"),
    "_Z1kB6taggedi.constprop.0": ("k", "int"),
    "_Z3useZ4mainE5Local": ("use", "main::Local"),
    "_Z3runIZ4testPiEUliE_EvT_": ("run<test(int*)::{lambda(int)#1}>", "test(int*)::{lambda(int)#1}"),
}
VARIABLES = {
    "_Z4tvarIfE": "tvar<float>",
    "_ZN2ns5coeffE": "ns::coeff",
    f"_ZN{PRIVATE}{ANONYMOUS}4anonE": "anon",
    "_ZZ4usevPfE5calls": "usev(float*)::calls",
    "_ZN4cuda3std3__417integral_constantIbLb1EE5valueE": "cuda::std::integral_constant<bool, true>::value",
}
NOT_UNDERSTOOD = [
    "_Z", "_Z99x", "_ZN", "_ZN2nsE1", "_Z1kT_", "_Z1kS_", "_Z1kS9_", "_Z1kIfEvT9_", "_Z1k?", "_Z1kPK", "_Z0", "_ZTV1A",
    "_Z1kILi", "_Z1kIXE", "_Z1kA_", "_Z1kU", "_Z1kDq", "_Z1kM1P", "_Z1kILf3fE", "_Z1kZ", "_Z1k" + "P" * 100_000 + "i",
    "_Z1k" + "F" * 5_000, "_Z1k" + "N" * 5_000, "_Z1kI" + "X" * 5_000,
    # every type is a pair of the previous type: 2 ** 60 words in all
    "_Z1k1tIiiE" + "".join(f"S_IS{index}_S{index}_E" for index in [*range(10), *"ABCDEFGHIJKLMNOPQRSTUVWXYZ"]),
]  # fmt: skip


@pytest.mark.parametrize("symbol", KERNELS)
def test_a_kernels_symbol_gives_its_name_and_parameters(symbol: str) -> None:
    name, parameters = KERNELS[symbol]
    found = signature(symbol)
    assert found.name == name
    assert (None if found.parameters is None else ", ".join(found.parameters)) == parameters


@pytest.mark.parametrize("symbol", VARIABLES)
def test_a_variables_symbol_gives_its_name(symbol: str) -> None:
    assert signature(symbol) == Signature(VARIABLES[symbol], None)


@pytest.mark.parametrize("symbol", NOT_UNDERSTOOD, ids=lambda symbol: symbol[:20])
def test_an_unknown_symbol_is_its_own_name(symbol: str) -> None:
    assert signature(symbol) == Signature(symbol, None)


PIECES = st.sampled_from(
    [*"PKVRONIESTJLXAFMZDU_0123456789ifvjk", "S_", "S0_", "St", "T_", "Dp", "DT", "1a", "Li3E", "pl"]
)


@given(st.lists(PIECES, max_size=40).map(lambda pieces: "_Z1k" + "".join(pieces)))
def test_no_symbol_raises(symbol: str) -> None:
    assert signature(symbol).name


@given(st.sampled_from([*KERNELS, *VARIABLES]), st.data())
def test_no_damaged_symbol_raises(symbol: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(symbol)))
    end = data.draw(st.integers(start, len(symbol)))
    signature(symbol[:start] + data.draw(PIECES) * data.draw(st.integers(0, 3)) + symbol[end:])


# --- c++filt --------------------------------------------------------------------------------------

SOURCE = """
struct P { int a; }; enum class Mode { a, b, c = -3 };
template <class... A> struct List {};
namespace ns { template <class T> struct Box { T t; struct In { int z; }; }; struct Q { float f; }; }
namespace { struct Hidden { int h; }; }
template <class T, int N> __global__ void t1(T* x, T (&r)[N], const T* __restrict__ y) {}
template __global__ void t1<float, 3>(float*, float (&)[3], const float* __restrict__);
template __global__ void t1<ns::Box<const int*>, 4>(ns::Box<const int*>*, ns::Box<const int*> (&)[4],
                                                    const ns::Box<const int*>* __restrict__);
template <class... T> __global__ void pack(ns::Box<T>... x, const T&... y, List<T, int>*... z) {}
template __global__ void pack<float, P>(ns::Box<float>, ns::Box<P>, const float&, const P&, List<float, int>*,
                                        List<P, int>*);
template <bool B, char C, Mode M, unsigned U, long L, unsigned long long Y, short S> __global__ void literals(int x) {}
template __global__ void literals<true, 'a', Mode::c, 7u, -9, 18446744073709551615ull, -3>(int);
template <template <class> class TT, class T> __global__ void of_templates(TT<T> a, TT<int>* b) {}
template __global__ void of_templates<ns::Box, float>(ns::Box<float>, ns::Box<int>*);
__global__ void pointers(float (*f)(float), int P::*m, void (P::*mf)(int), int (*arr)[4], const int* const* volatile* p,
                         int (*(*g)(int))(char), const volatile int* v) {}
template <class T> __global__ void nested(typename ns::Box<T>::In a, T, const ns::Box<const T* const>* const* b) {}
template __global__ void nested<const int>(ns::Box<const int>::In, const int, const ns::Box<const int* const>* const*);
template <class F> __global__ void wrapped(F f, F* g) {}
template __global__ void wrapped<void (*)(int, float)>(void (*)(int, float), void (**)(int, float));
template __global__ void wrapped<int P::*>(int P::*, int P::**);
template __global__ void wrapped<ns::Box<const int[3][4]>>(ns::Box<const int[3][4]>, ns::Box<const int[3][4]>*);
namespace { __global__ void anonymous(Hidden h, ns::Q* q) {} }
"""


@pytest.fixture(scope="module")
def symbols(toolchain: Toolchain, workers: Workers, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Return the symbols that NVRTC gives the kernels of SOURCE."""
    request = {
        "library": toolchain.libraries[0],
        "folder": str(tmp_path_factory.mktemp("symbols")),
        "text": SOURCE.encode(),
        "name": "k.cu",
        "options": ["--gpu-architecture=compute_80", "--std=c++17"],
        "expressions": [],
    }
    answer = workers.submit(compile_text, request).result()
    assert not answer["error"], answer["log"]
    return list(ptx.kernels(ptx_text.normalise(answer["ptx"].decode())))


def test_the_compilers_symbols_are_understood(symbols: list[str]) -> None:
    assert len(symbols) == 11
    for symbol in symbols:
        found = signature(symbol)
        assert found.parameters, symbol
        assert found.name != symbol


def filtered(symbols: list[str]) -> list[str]:
    if shutil.which("c++filt") is None:
        pytest.skip("c++filt, of the GNU binutils, is not installed")
    run = subprocess.run(["c++filt"], input="\n".join(symbols), capture_output=True, text=True, check=True)
    return run.stdout.splitlines()


def east(text: str) -> str:
    """Return a declaration with each const and volatile after the type that it qualifies, as c++filt writes it."""
    while match := re.search(r"(?<![\w*&>)\]] )(?<!\w)((?:const |volatile )+)(?=[\w:])", text):
        depth, end = 0, match.end()
        while end < len(text) and (depth or text[end].isalnum() or text[end] in "_:<" or text[end : end + 1] == " "):
            if not depth and text[end] == " " and not text[end + 1 : end + 2].isalpha():
                break
            depth += (text[end] == "<") - (text[end] == ">")
            end += 1
        text = f"{text[: match.start()]}{text[match.end() : end]} {match[1].strip()}{text[end:]}"
    return text


def bare(text: str) -> str:
    for noise in (r"\(anonymous namespace\)::", r"(?<=::)__\d+::", r" "):
        text = re.sub(noise, "", text)
    return text.replace("decltype(nullptr)", "std::nullptr_t")


def judged(symbols: list[str]) -> None:
    for symbol, expected in zip(symbols, filtered(symbols), strict=True):
        found = signature(symbol)
        ours = found.name if found.parameters is None else f"{found.name}({', '.join(found.parameters)})"
        assert bare(expected).removeprefix("void") == bare(east(ours)), symbol


def test_cxxfilt_agrees_on_the_compilers_symbols(symbols: list[str]) -> None:
    judged(symbols)


def test_cxxfilt_agrees_on_the_symbols_of_the_tables() -> None:
    # c++filt writes expressions, floating-point literals, function arguments and references to references differently.
    peculiar = re.compile(r"DT|X|Lf|Dn|_ZN\d+_|colI|RrKP|B6|Z4main|szo")
    judged([symbol for symbol in [*KERNELS, *VARIABLES] if symbol and not peculiar.search(symbol)])


def test_nearly_all_symbols_of_the_standard_library_are_understood() -> None:
    """The library has thousands of templates. Without it, the test is skipped."""
    library = next((path for path in Path("/usr/lib").glob("*/libstdc++.so.6")), None)
    if library is None or shutil.which("nm") is None:
        pytest.skip("there is no libstdc++ here")
    listed = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True).stdout
    symbols = sorted({name for name in re.findall(r"\b_Z[A-Z]?\w+", listed) if not name.startswith(("_ZT", "_ZG"))})
    understood = [symbol for symbol in symbols if signature(symbol).name != symbol]
    assert len(understood) > 0.99 * len(symbols)
