"""Linking on the user's machine: the strategy, the result, the errors.

NVRTC and nvJitLink are real; the driver and its linker are stand-ins.
"""

from __future__ import annotations

import hashlib
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import cuda_wheel as package
from cuda_wheel import DriverError, ImageError, JitOptions, LinkError, Piece
from cuda_wheel.builder.images.bundling import make_fatbin
from cuda_wheel.builder.manifest_writer.text import manifest_text
from cuda_wheel.builder.wheel.outputs import vendored_files
from cuda_wheel.runtime.jit import resources_of
from cuda_wheel.runtime.manifest import External, Image, KernelInfo, Manifest, Parameter, Target, dotted
from cuda_wheel.runtime.parts.cuda_libraries import nvjitlink_version
from cuda_wheel.runtime.parts.formats import ptx
from cuda_wheel.runtime.parts.formats.cubin import demangled, read_cubin
from cuda_wheel.runtime.parts.linking import link as link_module
from cuda_wheel.runtime.parts.linking import linkers as nvjitlink_linker
from cuda_wheel.runtime.parts.linking import prepared_link
from cuda_wheel.runtime.parts.linking.cuda_compiler import nvrtc_version
from cuda_wheel.runtime.parts.linking.inputs import piece_of
from cuda_wheel.runtime.parts.linking.link import distinct_names
from cuda_wheel.runtime.parts.linking.linkers import RefusedError
from cuda_wheel.runtime.parts.linking.strategy import LinkUnit, relocatable_group, strategies
from cuda_wheel.runtime.user_cache import Cache
from tests.support.driver import Driver, Result
from tests.support.linkable import APPLY, BOTH, FORMS, USER, compiled, fatbin, piece
from tests.support.processes import run

Use = Callable[..., Driver]

# --- pieces --------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["ptx", "ltoir", "cubin"])
def test_bytes_and_files_are_recognised_by_their_first_bytes(kind: str, tmp_path: Path) -> None:
    content = compiled(USER, kind, "90" if kind == "cubin" else "80")
    assert piece_of(content)[:2] == (kind, f"piece.{kind}")
    path = tmp_path / "unknown.suffix"
    path.write_bytes(content)
    assert piece_of(path)[:2] == (kind, "unknown.suffix")
    assert piece_of(str(path)).kind == kind


@pytest.mark.parametrize(
    ("value", "kind", "name"),
    [
        (USER, "cuda", "piece.cu"),
        (".version 8.0\n.target sm_80\n.address_size 64\n", "ptx", "piece.ptx"),
        (b"// a comment\n.version 8.0\n.target sm_80\n\0", "ptx", "piece.ptx"),
        (b"\x7fELF\2\1\1" + bytes(11) + b"\x3e\0" + bytes(44), "object", "piece.o"),
        (b"\x50\xed\x55\xba" + bytes(12), "fatbin", "piece.fatbin"),
        (b"!<arch>\nxxxx", "library", "piece.a"),
        (b"\x64\x86" + bytes(20), "object", "piece.o"),
        ("lib.kernels.apply", "module", "lib.kernels.apply"),
        ((USER, "float32"), "cuda", "piece.cu"),
        (Piece("cuda", "mine.cu", USER.encode()), "cuda", "mine.cu"),
        (SimpleNamespace(code=b"!<arch>\nxxxx", code_type="library", name="/somewhere/math"), "library", "math"),
    ],
)
def test_every_value_becomes_the_right_piece(value: Any, kind: str, name: str) -> None:
    assert piece_of(value)[:2] == (kind, name)


def test_the_output_of_numba_is_named_after_its_function() -> None:
    text = compiled('extern "C" __device__ float user_transform(float x) { return x; }', "ptx").decode()
    assert piece_of((text, None))[:2] == ("ptx", "user_transform.ptx")
    assert piece_of((compiled(USER, "ltoir"), None)).kind == "ltoir"


def test_a_path_of_cuda_cpp_knows_its_folder(tmp_path: Path) -> None:
    (tmp_path / "u.cu").write_text(USER)
    assert piece_of(str(tmp_path / "u.cu")) == Piece("cuda", "u.cu", USER.encode(), str(tmp_path))


def test_an_object_code_may_be_a_path(tmp_path: Path) -> None:
    (tmp_path / "u.ptx").write_bytes(compiled(USER, "ptx"))
    found = piece_of(SimpleNamespace(code=str(tmp_path / "u.ptx"), code_type="ptx", name=""))
    assert found[:2] == ("ptx", "u.ptx")


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("nowhere.cu", r"nowhere\.cu to link cannot be read in .*: No such file"),
        ("nowhere", "'nowhere' is not a program, a file with a known suffix"),
        ("", "an empty string"),
        (b"\0\0", "is empty"),
        (b"\1\2\xff\xfe", r"begins with b'\\x01\\x02\\xff\\xfe', which no kind does: a piece is"),
        (3, "cannot link int: a piece is"),
        ((1, 2, 3), "cannot link a tuple of 3: a piece is"),
        (Piece("cubin", "u.cubin", USER.encode()), r"u\.cubin to link should be a cubin, but is CUDA C\+\+"),
        (Piece("bubin", "u", b"x"), "of kind 'bubin'; the kinds of pieces are"),  # type: ignore[arg-type]
        (SimpleNamespace(code=b"x", code_type="nvvm", name=""), "an ObjectCode of type 'nvvm' cannot be linked"),
    ],
)
def test_a_value_that_cannot_be_a_piece_is_reported(value: Any, message: str) -> None:
    with pytest.raises(ImageError, match=message):
        piece_of(value)


def test_an_empty_file_is_reported(tmp_path: Path) -> None:
    (tmp_path / "u.ptx").touch()
    with pytest.raises(ImageError, match=r"u\.ptx to link is empty"):
        piece_of(tmp_path / "u.ptx")


@pytest.mark.parametrize(
    ("symbol", "name"),
    [
        ("_Z5scalef", "scale"),
        ("_ZN2ns5scaleEf", "ns::scale"),
        ("scale", "scale"),
        ("_Z2ttIfET_S0_", "_Z2ttIfET_S0_"),
        ("_ZN2ns2ttIfEET_S1_", "_ZN2ns2ttIfEET_S1_"),
    ],
)
def test_symbols_are_demangled(symbol: str, name: str) -> None:
    assert demangled(symbol) == name


# --- symbols --------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("base", ["cuda", "ptx"])
@pytest.mark.parametrize("lto", [True, False])
@pytest.mark.parametrize(
    ("other", "signatures"),
    [
        ("double user_transform(double x)", r"\(8\) -> \(8\) bytes, not \(4\) -> \(4\) bytes"),
        ("float user_transform(float x, int n)", r"\(4, 4\) -> \(4\) bytes, not \(4\) -> \(4\) bytes"),
        ("void user_transform(float x)", r"\(4\) -> \(\) bytes, not \(4\) -> \(4\) bytes"),
    ],
)
def test_a_call_of_an_extern_c_function_with_another_signature_is_refused(
    other: str, signatures: str, lto: bool, base: str
) -> None:
    body = "{ return; }" if other.startswith("void") else "{ return x; }"
    user = f'extern "C" __device__ {other} {body}'
    if base == "ptx" and lto:
        base = "cuda"
    with pytest.raises(
        LinkError,
        match=rf"user_transform has another signature in user\.cu than in lib.*, which calls it: {signatures}",
    ):
        package.link(
            [piece(APPLY, base, "lib"), Piece("cuda", "user.cu", user.encode())], arch="90", jit=JitOptions(lto=lto)
        )


MEMORY = """
__device__ int zeroed[100];
__global__ void shared(int* x)
{
    __shared__ int tile[1024];
    tile[threadIdx.x] = x[threadIdx.x] + zeroed[threadIdx.x];
    __syncthreads();
    x[threadIdx.x] = tile[1023 - threadIdx.x];
}
"""


@pytest.mark.parametrize("arch", ["75", "90", "100", "120"])
def test_sections_without_bytes_in_the_cubin_are_valid(arch: str) -> None:
    cubin = read_cubin(compiled(MEMORY, "cubin", arch))
    assert cubin.relocatable and cubin.variables == {"zeroed": ("global", 400)}
    assert [parameter.size for parameter in cubin.kernels["_Z6sharedPi"].parameters] == [8]
    linked = read_cubin(package.link([piece(MEMORY, "cubin", "memory")], arch="90").cubin)
    assert not linked.relocatable and linked.variables == cubin.variables


def test_ptx_and_cubin_have_the_same_symbols() -> None:
    text = ptx.symbols(compiled(BOTH, "ptx", "90").decode())
    cubin = read_cubin(compiled(BOTH, "cubin", "90"))
    assert text == cubin.symbols
    assert text.defined == {"counter", "table", "_Z6helperf", "_Z4workPf"}
    assert text.weak == {"_Z5twiceIfET_S0_"}
    assert text.undefined == {"user_transform", "vprintf"}
    assert cubin.kernels.keys() == {"_Z4workPf"}
    assert cubin.variables == ptx.variables(compiled(BOTH, "ptx").decode())
    assert cubin.variables == {"counter": ("global", 4), "table": ("constant", 16)}


@pytest.mark.parametrize("arch", ["75", "80", "90", "90a", "100", "120"])
def test_a_cubin_names_its_gpu(arch: str) -> None:
    assert read_cubin(compiled(USER, "cubin", arch)).arch == int(arch.rstrip("a"))


def test_declarations_may_span_lines_and_comments_do_not_count() -> None:
    text = """
    .version 8.0
    // .visible .func commented
    .extern .func
      (.param .b32 r) wanted
      (.param .b32 p);
    .extern .func never (.param .b32 p);
    .visible .func (.param .b32 r)
      made (.param .b32 p)
    { call (r), wanted, (p); }
    .visible .func declared (.param .b32 p);
    .visible .global .align 4 .b8 grid[2][3] = {1};
    .weak .const .align 8 .u64 limit = 5; .visible .global .align 16 .v4 .f32 vector;
    .visible .global .attribute(.managed) .align 4 .b8 shared_by_both[] = {1, 2, 3};
    .global .align 4 .u32 own; .extern .global .align 4 .u32 elsewhere;
    """
    assert ptx.symbols(text) == ({"made", "grid", "vector", "shared_by_both"}, {"limit"}, {"wanted"})
    assert ptx.variables(text) == {
        "grid": ("global", 6), "limit": ("constant", 8), "vector": ("global", 16), "shared_by_both": ("managed", 3),
    }  # fmt: skip
    assert ptx.extern_declarations(text) == {
        "wanted": ".func (.param .b32 r) wanted (.param .b32 p)",
        "never": ".func never (.param .b32 p)",
        "elsewhere": ".global .align 4 .u32 elsewhere",
    }


# --- strategies -------------------------------------------------------------------------------------

BASE = LinkUnit("lib.cu", {"ltoir": b"", "ptx": b""}, (12, 9), (12, 0))
LTOIR, PTX, CUBIN, CUDA = (LinkUnit(f"user{FORMS[kind]}", {kind: b""}) for kind in ("ltoir", "ptx", "cubin", "cuda"))
NVRTC = (12, 9)


@pytest.mark.parametrize(
    ("units", "nvjitlink", "driver", "options", "expected"),
    [
        ([BASE, LTOIR], (12, 9), (13, 0), {}, "lto nvjitlink LTO: every piece has LTO-IR"),
        ([BASE, CUDA], (12, 9), (12, 9), {}, "lto nvjitlink LTO: every piece has LTO-IR"),
        ([BASE, PTX], (12, 9), (13, 0), {}, "ptx nvjitlink PTX: user.ptx is PTX, not LTO-IR"),
        ([BASE, CUBIN], (12, 9), (13, 0), {}, "ptx nvjitlink PTX: user.cubin is machine code, not LTO-IR"),
        ([BASE, CUDA], (12, 8), (13, 0), {}, "ptx driver PTX by the driver's linker: user.cu is PTX of CUDA 12.9, and nvJitLink is 12.8"),
        ([BASE], (12, 8), (13, 0), {}, "ptx nvjitlink PTX: lib.cu is LTO-IR of CUDA 12.9, but nvJitLink 12.8 is older"),
        ([BASE], (13, 0), (13, 0), {}, "ptx nvjitlink PTX: lib.cu is LTO-IR of CUDA 12.9, but nvJitLink 13.0 has another major version"),
        ([BASE, PTX], None, (12, 9), {}, "ptx driver PTX by the driver's linker: nvJitLink is not installed (pip install nvidia-nvjitlink-cu12, or nvidia-nvjitlink for CUDA 13)"),
        ([BASE, PTX], (13, 0), (12, 9), {}, "ptx driver PTX by the driver's linker: the output of nvJitLink 13.0 needs a driver for CUDA 13.0, and this one is for 12.9"),
        ([BASE, CUDA], (12, 9), (13, 0), {"lto": False}, "ptx nvjitlink PTX: JitOptions(lto=False) asks for it"),
        ([BASE, CUDA], (12, 9), (13, 0), {"linker": "driver"}, "ptx driver PTX by the driver's linker: JitOptions asks for it"),
        ([LTOIR, CUBIN], (12, 9), (13, 0), {}, "lto nvjitlink LTO of the pieces that have LTO-IR; user.cubin is machine code, not LTO-IR"),
        ([BASE, CUBIN], (12, 9), (13, 0), {"lto": True}, "lto nvjitlink LTO of the pieces that have LTO-IR; user.cubin is machine code, not LTO-IR"),
        ([BASE, PTX], (12, 9), None, {}, "ptx nvjitlink PTX: user.ptx is PTX, not LTO-IR"),
    ],
)  # fmt: skip
def test_the_best_strategy_is_first_and_says_why(
    units: list[LinkUnit], nvjitlink: Any, driver: Any, options: dict[str, Any], expected: str
) -> None:
    assert " ".join(strategies(units, nvjitlink, NVRTC, driver, JitOptions(**options))[0][:3]) == expected


def packed(*options: str) -> LinkUnit:
    """Return a unit that is a fatbin, which nvFatbin has compressed."""
    return LinkUnit("user.fatbin", {"fatbin": fatbin(compiled(BOTH, "cubin", "90"), *options)})


@pytest.mark.parametrize("mode", ["size", "balance"])
def test_a_linker_before_12_4_never_gets_a_fatbin_in_zstd(mode: str) -> None:
    """nvJitLink 12.0 crashes of it, and 12.1 to 12.3 take the compressed bytes for PTX."""
    unit, text = packed(f"-compress-mode={mode}", "-compress-all"), "user.fatbin is a fatbin compressed with zstd"
    assert strategies([unit], (12, 4), NVRTC, (12, 4))[0].linker == "nvjitlink"
    driver = strategies([unit], (12, 3), NVRTC, (12, 4))[0]
    assert driver.linker == "driver"
    assert f"{text}, which linkers before CUDA 12.4 do not read, and nvJitLink is 12.3" in driver.why
    assert strategies([unit], (12, 4), NVRTC, (12, 3))[0].linker == "nvjitlink"
    with pytest.raises(LinkError, match=f"(?s){text}.*nvJitLink is 12.3.*{text}.*the driver is for CUDA 12.3"):
        strategies([unit], (12, 3), NVRTC, (12, 3))
    with pytest.raises(LinkError, match=f"{text}.*and nvJitLink is 12.3"):
        strategies([LTOIR, unit], (12, 3), (12, 3), (12, 3))


@pytest.mark.parametrize("options", [(), ("-compress-mode=speed", "-compress-all")])
def test_every_linker_reads_other_fatbins(options: tuple[str, ...]) -> None:
    assert strategies([packed(*options)], (12, 0), NVRTC, (12, 0))[0].linker == "nvjitlink"
    assert strategies([packed(*options)], None, NVRTC, (12, 0))[0].linker == "driver"


@pytest.mark.parametrize(
    ("units", "nvjitlink", "nvrtc", "driver", "options", "message"),
    [
        ([BASE, LTOIR], None, NVRTC, (13, 0), {}, r"no way to link lib.cu, user.ltoir here:\n  LTO: nvJitLink is not installed.*\n  PTX: user.ltoir is LTO-IR alone"),
        ([BASE, CUDA], (12, 9), None, (13, 0), {}, "user.cu is CUDA C.*NVRTC, which compiles it, is not installed here: pip install"),
        ([BASE, PTX], None, NVRTC, None, {}, "nvJitLink is not installed.*\n  PTX by the driver's linker: there is no driver"),
        ([BASE._replace(driver=(13, 0)), PTX], None, NVRTC, (12, 4), {}, "lib.cu is PTX of CUDA 13.0, and the driver is for CUDA 12.4"),
        ([PTX, CUBIN], (12, 9), NVRTC, (13, 0), {"lto": True}, r"LTO: user.ptx is PTX, not LTO-IR\n  PTX: JitOptions\(lto=True\) forbids it"),
        ([LTOIR], (12, 9), NVRTC, (13, 0), {"lto": False}, "forbids it\n  PTX: user.ltoir is LTO-IR alone"),
        ([LTOIR], (12, 9), NVRTC, (13, 0), {"linker": "driver"}, "the driver's linker, which JitOptions asks for, does not take LTO-IR"),
        ([BASE, PTX], None, NVRTC, (13, 0), {"linker": "nvjitlink"}, r"nvJitLink is not installed .*\n  JitOptions\(linker='nvjitlink'\) forbids"),
        ([BASE._replace(forms={"ltoir": b""}), CUBIN], (13, 0), NVRTC, (13, 0), {}, "LTO: lib.cu is LTO-IR of CUDA 12.9, but nvJitLink 13.0 has another major"),
    ],
)  # fmt: skip
def test_without_a_strategy_the_error_lists_all_reasons(
    units: list[LinkUnit], nvjitlink: Any, nvrtc: Any, driver: Any, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(LinkError, match=f"(?s){message}"):
        strategies(units, nvjitlink, nvrtc, driver, JitOptions(**options))


@pytest.mark.parametrize(
    ("nvjitlink", "capability", "known"),
    [
        ((12, 9), (5, 0), True), ((12, 0), (9, 0), True), ((12, 9), (12, 1), True), ((12, 8), (12, 1), False),
        ((12, 9), (10, 7), False), ((12, 9), (13, 0), False), ((13, 5), (13, 0), False), ((14, 0), (13, 0), True),
        ((13, 0), (7, 0), False), ((13, 0), (7, 5), True), ((13, 0), (10, 1), False), ((12, 9), (10, 1), True),
    ],
)  # fmt: skip
def test_the_driver_links_for_a_gpu_that_nvjitlink_does_not_know(nvjitlink: Any, capability: Any, known: bool) -> None:
    why = f"nvJitLink {dotted(nvjitlink)} does not know compute capability {dotted(capability)}"
    chosen = strategies([PTX], nvjitlink, NVRTC, (14, 0), capability=capability)[0]
    assert (chosen.linker, why in chosen.why) == (("nvjitlink", False) if known else ("driver", True))
    if not known:
        with pytest.raises(LinkError, match=re.escape(why)):
            strategies([LTOIR], nvjitlink, NVRTC, (14, 0), capability=capability)


def test_a_gpu_that_nvjitlink_does_not_know_is_an_error() -> None:
    package.link([APPLY, USER], arch="90")
    with pytest.raises(LinkError, match=r"does not know compute capability 99\.0"):
        package.link([APPLY, USER], arch="990")


@pytest.mark.parametrize("options", [JitOptions(lto=3), JitOptions(linker="ld")])  # type: ignore[arg-type]
def test_an_unknown_option_value_is_refused(options: JitOptions) -> None:
    with pytest.raises(ValueError, match="must be"):
        package.link([USER], arch="90", jit=options)


# --- linking without a GPU ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("base", "user", "mode"),
    [
        ("ltoir", "ltoir", "lto"),
        ("cuda", "cuda", "lto"),
        ("ltoir", "cuda", "lto"),
        ("ptx", "ptx", "ptx"),
        ("ptx", "cubin", "ptx"),
        ("cuda", "cubin", "ptx"),
        ("cubin", "cubin", "ptx"),
        ("ltoir", "cubin", "lto"),
        ("cubin", "ltoir", "lto"),
        ("ltoir", "ptx", "lto"),
    ],
)
def test_pieces_of_any_kind_link(base: str, user: str, mode: str) -> None:
    linked = package.link([piece(APPLY, base, "lib"), piece(USER, user, "user")], arch="90")
    cubin = read_cubin(linked.cubin)
    assert (cubin.arch, list(cubin.kernels), linked.mode) == (90, ["apply"], mode)
    assert not cubin.symbols.undefined and linked.pieces == (f"lib{FORMS[base]}", f"user{FORMS[user]}")
    assert linked.linker == f"nvJitLink {dotted(nvjitlink_version() or (0, 0))}"
    assert not linked.cached and linked.seconds > 0 and linked.linker_seconds is None
    assert ("Used" in linked.log) == (base != "cubin")


def test_lto_inlines_what_ptx_calls() -> None:
    pieces = [piece(APPLY, "cuda", "lib"), piece(USER, "cuda", "user")]
    lto, called = (package.link(pieces, arch="90", jit=JitOptions(lto=lto)) for lto in (True, False))
    registers = [resources_of(linked.log)["apply"]["registers"] for linked in (lto, called)]
    assert registers[0] < registers[1]
    alone = package.link([APPLY.replace("(float);", "(float x) { return 2 * x + 1; }")], arch="90")
    assert registers[0] == resources_of(alone.log)["apply"]["registers"]


def test_lto_returns_its_ptx_on_request() -> None:
    linked = package.link([APPLY, USER], arch="90", ptx=True)
    assert linked.ptx is not None and ".entry apply" in linked.ptx and "fma.rn.f32" in linked.ptx
    with pytest.raises(LinkError, match=r"only a link of LTO-IR alone can return PTX.*user\.ptx is PTX"):
        package.link([APPLY, piece(USER, "ptx", "user")], arch="90", ptx=True)


def test_ptx_for_one_gpu_alone_decides_the_target() -> None:
    user = piece(USER, "ptx", "user", "90a")
    assert str(package.link([APPLY, user], arch="90").target) == "sm_90a"
    with pytest.raises(LinkError, match=r"user\.ptx is for compute capability 9\.0 only"):
        package.link([APPLY, user], arch="100")


def test_a_second_link_comes_from_the_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    pieces = [APPLY, piece(USER, "ltoir", "user")]
    first = package.link(pieces, arch="90", ptx=True)
    monkeypatch.setattr(prepared_link, "link_by_nvjitlink", lambda *_: pytest.fail("linked again"))
    monkeypatch.setattr(prepared_link, "compile_cuda", lambda *_: pytest.fail("compiled again"))
    second = package.link(pieces, arch="90", ptx=True)
    assert second.cached and not first.cached
    assert first[:8] == second[:8]


@pytest.mark.parametrize(
    "change",
    [
        {"pieces": [APPLY, USER.replace("2 * x", "3 * x")]},
        {"arch": "80"},
        {"jit": JitOptions(max_registers=32)},
        {"jit": JitOptions(lineinfo=True)},
        {"jit": JitOptions(lto=False)},
        {"ptx": True},
    ],
)
def test_everything_that_decides_the_result_is_in_the_cache_key(change: dict[str, Any]) -> None:
    same = {"pieces": [APPLY, USER], "arch": "90", "jit": JitOptions()}
    package.link(**same)  # type: ignore[arg-type]
    assert not package.link(**same | change).cached


@pytest.mark.parametrize(("name", "user"), [("nvjitlink_build", "ltoir"), ("nvrtc_build", "cuda")])
def test_the_exact_build_of_the_compiler_is_in_the_cache_key(
    name: str, user: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two patches of one CUDA release compile differently. Of an unknown one nothing is kept."""
    pieces = [APPLY, USER if user == "cuda" else piece(USER, user, "user")]
    compiled_pieces: list[str] = []
    compile_now = prepared_link.compile_cuda

    def counted(text: bytes, *rest: Any) -> Any:
        compiled_pieces.append("")
        return compile_now(text, *rest)

    def is_reused() -> bool:
        compiled_pieces.clear()
        linked = package.link(pieces, arch="90")
        return not compiled_pieces if name == "nvrtc_build" else linked.cached

    monkeypatch.setattr(prepared_link, "compile_cuda", counted)
    assert [is_reused(), is_reused()] == [False, True]
    monkeypatch.setattr(prepared_link, name, lambda: "another patch")
    assert [is_reused(), is_reused()] == [False, True]
    monkeypatch.setattr(prepared_link, name, lambda: None)
    assert [is_reused(), is_reused()] == [False, False]


@pytest.mark.parametrize("clock", ["__TIME__", "__DATE__", "__TI\\\nME__", "CAT(__TI, ME__)", "CAT(__, CAT(TIME, __))"])
def test_a_piece_that_uses_the_clock_is_compiled_each_time(clock: str, monkeypatch: pytest.MonkeyPatch) -> None:
    paste = "#define CAT2(a, b) a##b\n#define CAT(a, b) CAT2(a, b)\n"
    user = paste + USER.replace("2 * x", f"{clock}[1] * x")
    package.link([APPLY, user], arch="90")
    monkeypatch.setattr(prepared_link, "compile_cuda", lambda *_: pytest.fail("compiled again"))
    with pytest.raises(pytest.fail.Exception, match="compiled again"):
        package.link([APPLY, user], arch="90")


def test_a_changed_header_is_compiled_again(tmp_path: Path) -> None:
    (tmp_path / "user.cu").write_text('#include "factor.h"\n' + USER.replace("2 *", "FACTOR *"))
    (tmp_path / "factor.h").write_text("#define FACTOR 2\n")
    first = package.link([APPLY, tmp_path / "user.cu"], arch="90")
    assert package.link([APPLY, tmp_path / "user.cu"], arch="90").cached
    (tmp_path / "factor.h").write_text("#define FACTOR 3\n")
    second = package.link([APPLY, tmp_path / "user.cu"], arch="90")
    assert not second.cached and second.cubin != first.cubin


def test_a_piece_includes_the_toolkits_headers() -> None:
    user = "#include <cuda_fp16.h>\n" + USER.replace("2 * x", "__half2float(__float2half(x))")
    assert package.link([APPLY, user], arch="90").mode == "lto"


def test_a_damaged_entry_is_linked_again() -> None:
    package.link([APPLY, piece(USER, "ltoir", "user")], arch="90")
    for _, _, path in Cache().entries():
        Path(path).write_bytes(Path(path).read_bytes()[:-9])
    with pytest.warns(RuntimeWarning, match="is damaged"):
        assert not package.link([APPLY, piece(USER, "ltoir", "user")], arch="90").cached
    for _, _, path in Cache().entries():
        Cache().put("".join(Path(path).parts[-2:]), b"[]")
    with pytest.warns(RuntimeWarning, match="was written by another program"):
        assert not package.link([APPLY, piece(USER, "ltoir", "user")], arch="90").cached


# --- errors ---------------------------------------------------------------------------------


def refused(*pieces: Any, arch: str = "90", **options: Any) -> str:
    """Link these pieces, and return the message of the LinkError; check that the cache has no linked code of it."""
    known = {path for _, _, path in Cache().entries()}
    with pytest.raises(LinkError) as caught:
        package.link(pieces, arch=arch, jit=JitOptions(**options))
    kept = [Path(path).read_bytes() for _, _, path in Cache().entries() if path not in known]
    assert not any(b"\x7fELF" in content for content in kept)
    return str(caught.value)


@pytest.mark.parametrize("lto", [True, False])
def test_an_undefined_function_is_reported_with_the_symbols_of_each_piece(lto: bool) -> None:
    message = refused(Piece("cuda", "lib.cu", APPLY.encode()), Piece("cuda", "u.cu", b"__device__ int other;"), lto=lto)
    assert message.startswith(
        "lib.cu needs user_transform, which no piece defines\n  lib.cu defines apply\n  u.cu defines other\n"
    )
    assert f"for sm_90, with{'' if lto else 'out'} LTO:" in message and "user_transform'" in message.splitlines()[-2]


@pytest.mark.parametrize("lto", [True, False])
def test_an_undefined_variable_is_an_error(lto: bool) -> None:
    text = 'extern __device__ int total; extern "C" __global__ void get(int* x) { *x = total; }'
    assert refused(Piece("cuda", "lib.cu", text.encode()), lto=lto).startswith(
        "lib.cu needs total, which no piece defines"
    )


@pytest.mark.parametrize("kind", ["ptx", "cuda"])
def test_a_missing_extern_c_is_reported(kind: str) -> None:
    user = piece(USER.replace('extern "C" ', ""), kind, "user")
    message = refused(piece(APPLY, "ptx", "lib"), user)
    assert (
        f'help: put extern "C" before user_transform in user{FORMS[kind]}: its symbol there is the C++ one, _Z14user_transformf'
        in message
    )
    message = refused(APPLY.replace('extern "C" __device__', "__device__"), USER)
    assert (
        'help: remove extern "C" from user_transform in piece-2.cu: the caller declares it as C++, _Z14user_transformf'
        in message
    )


def test_other_parameters_are_reported() -> None:
    plain = [text.replace('extern "C" __device__', "__device__") for text in (APPLY, USER)]
    message = refused(plain[0], plain[1].replace("(float x)", "(double x)"))
    assert (
        "help: user_transform in piece-2.cu has other parameters: _Z14user_transformd, not _Z14user_transformf"
        in message
    )


@pytest.mark.parametrize(
    "kinds",
    [("ptx", "ptx", "ptx"), ("ptx", "cubin", "cubin"), ("ptx", "ptx", "cubin"), ("ptx", "cuda", "cuda"), ("ltoir", "ltoir", "cuda"), ("cuda", "cuda", "cuda")],
)  # fmt: skip
def test_a_function_that_is_defined_twice_is_reported(kinds: tuple[str, ...]) -> None:
    base, first, second = kinds
    message = refused(piece(APPLY, base, "lib"), piece(USER, first, "one"), piece(USER, second, "two"))
    assert message.startswith("user_transform is defined twice: by ")
    assert "two" in message.splitlines()[0] or "ltoir" in kinds


def test_a_kernel_that_is_defined_twice_is_reported() -> None:
    message = refused(piece(APPLY, "ptx", "lib"), USER, piece(APPLY, "cubin", "user"))
    assert message.startswith("apply is defined twice: by lib.ptx and by user.cubin.")


def test_a_strong_definition_replaces_a_weak_one() -> None:
    text = compiled(USER.replace("2 * x", "5 * x"), "ptx").replace(b".visible .func", b".weak .func")
    pieces = [piece(APPLY, "ptx", "lib"), Piece("ptx", "default.ptx", text), piece(USER, "ptx", "user")]
    assert read_cubin(package.link(pieces, arch="90").cubin).kernels.keys() == {"apply"}


DOUBLE_LINKS = """
import sys
sys.path[:0] = [{root!r}]
from cuda_wheel import LinkError, Piece, link
pieces = [Piece(kind, kind + str(index), open(path, "rb").read()) for index, (kind, path) in enumerate({pieces!r})]
for _ in range(3):
    try:
        print(link(pieces, arch="90"))
    except LinkError as error:
        print(str(error).splitlines()[0])
"""


@pytest.mark.parametrize("kinds", [("ptx", "ptx", "ptx"), ("ptx", "cubin", "cubin"), ("ptx", "ptx", "fatbin")])
def test_a_duplicate_definition_never_crashes_the_process(kinds: tuple[str, ...], tmp_path: Path) -> None:
    paths = []
    for index, (text, kind) in enumerate(zip((APPLY, USER, USER), kinds, strict=True)):
        path = tmp_path / f"{index}.{kind}"
        path.write_bytes(fatbin(compiled(text, "cubin", "90")) if kind == "fatbin" else compiled(text, kind, "90"))
        paths.append((kind, str(path)))
    result = run(sys.executable, "-c", DOUBLE_LINKS.format(root=os.getcwd(), pieces=paths))
    assert result.returncode == 0, result.stdout
    assert [line[:31] for line in result.stdout.splitlines()] == ["user_transform is defined twice"] * 3


def test_a_fatbin_links_and_a_damaged_one_is_reported() -> None:
    whole = fatbin(compiled(USER, "cubin", "90"))
    assert read_cubin(package.link([piece(APPLY, "ptx", "lib"), whole], arch="90").cubin).kernels.keys() == {"apply"}
    for length in (4, 100, len(whole) - 100):
        assert (
            refused(piece(APPLY, "ptx", "lib"), whole[:length]) == "piece.fatbin is a damaged fatbin: it is cut short"
        )
    inside = bytearray(whole)
    inside[len(whole) // 2 :] = bytes(len(whole) - len(whole) // 2)
    assert "cannot link lib.ptx, piece.fatbin" in refused(piece(APPLY, "ptx", "lib"), bytes(inside))


def test_a_linker_that_crashes_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nvjitlink_linker, "_CHILD_PROGRAM", "import os; os.abort()")
    message = refused(piece(APPLY, "ptx", "lib"), fatbin(compiled(USER, "cubin", "90")))
    assert message.startswith("one of piece.fatbin is damaged, or defines what another piece defines\n")
    assert "nvJitLink crashed" in message


def test_a_fatbin_of_ltoir_is_linked_where_that_is_asked_for() -> None:
    made = make_fatbin([(("ltoir", "90", compiled(USER, "ltoir", "90")), "made")], ["-64"])
    pieces = piece(APPLY, "ltoir", "lib"), made
    assert package.link(pieces, arch="90").mode == "lto"
    message = refused(piece(APPLY, "ptx", "lib"), made)
    assert message.startswith("one of piece.fatbin holds LTO-IR: jit=JitOptions(lto=True) links it\n")
    assert package.link([piece(APPLY, "ptx", "lib"), made], arch="90", jit=JitOptions(lto=True)).mode == "lto"


def test_a_damaged_cubin_never_reaches_a_linker() -> None:
    cubin = piece(USER, "cubin", "user")
    message = refused(APPLY, cubin._replace(content=cubin.content[:-100]))
    assert message.startswith("user.cubin is a damaged cubin: it is cut short: its table of s")


def test_code_for_another_gpu_is_reported() -> None:
    assert refused(APPLY, piece(USER, "cubin", "user", "80")) == "user.cubin is machine code for 8.x, the GPU is 9.0"
    assert (
        refused(APPLY, piece(USER, "cubin", "user", "90"), arch="80")
        == "user.cubin is machine code for 9.x, the GPU is 8.0"
    )
    assert (
        refused(APPLY, piece(USER, "ptx", "user", "90"), arch="80") == "user.ptx needs compute capability 9.0 or later"
    )
    message = refused(APPLY, piece(USER, "ltoir", "user", "100"))
    assert "is for a newer GPU than sm_90: compile it for compute_90 or lower" in message


def test_garbage_is_reported() -> None:
    ltoir = piece(USER, "ltoir", "user")
    assert refused(APPLY, ltoir._replace(content=ltoir.content[:300])).startswith(
        "one of piece.cu, user.ltoir is damaged"
    )
    text = piece(USER, "ptx", "user").content.replace(b"fma.rn.f32", b"fma.xx.f32")
    assert "Unknown modifier '.xx'" in refused(APPLY, Piece("ptx", "user.ptx", text))


def test_a_newer_piece_is_reported_and_names_the_linker() -> None:
    text = ptx.VERSION.sub(".version 99.0", piece(USER, "ptx", "user").content.decode())
    message = refused(APPLY, Piece("ptx", "user.ptx", text.encode()))
    assert (
        "user.ptx comes from a newer CUDA release than nvJitLink" in message and "Unsupported .version 99.0" in message
    )


def test_what_does_not_compile_is_reported_with_file_and_line() -> None:
    message = refused(APPLY, Piece("cuda", "user.cu", b"\n__device__ int f() { return nothing; }\n"))
    assert message.startswith(
        'user.cu does not compile for compute_90:\nuser.cu:2: error: identifier "nothing" is undefined'
    )


def test_without_pieces_there_is_nothing_to_link() -> None:
    with pytest.raises(LinkError, match="nothing to link"):
        package.link([], arch="90")
    with pytest.raises(ValueError, match="arch must be"):
        package.link([USER], arch="ninety")


def test_without_nvjitlink_and_without_a_gpu_the_error_says_what_helps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(link_module, "nvjitlink_version", lambda: None)
    assert "nvJitLink is not installed (pip install" in refused(APPLY, USER)


def test_without_nvrtc_only_cuda_cpp_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    pieces = [piece(APPLY, "ltoir", "lib"), piece(USER, "ltoir", "user")]
    monkeypatch.setattr(link_module, "nvrtc_version", lambda: None)
    assert package.link(pieces, arch="90").mode == "lto"
    assert "pip install nvidia-cuda-nvrtc-cu12" in refused(pieces[0], USER)


def test_input_that_is_too_new_for_nvjitlink_is_linked_by_the_driver(monkeypatch: pytest.MonkeyPatch, use: Use) -> None:
    def outdated(*_: Any) -> None:
        raise RefusedError(
            "ERROR 4 in nvvmAddNVVMContainerToProgram, may need newer version of nvJitLink library", True
        )

    major, minor = nvrtc_version() or (0, 0)
    driver = use((9, 0), version=1000 * major + 10 * minor)
    driver.linker.result = compiled(APPLY, "cubin", "90")
    monkeypatch.setattr(prepared_link, "link_by_nvjitlink", outdated)
    linked = package.link([APPLY, USER])
    assert (linked.mode, linked.linker) == ("ptx", "the driver's")
    assert "refused it (ERROR 4 in nvvmAddNVVMContainerToProgram, may need newer" in linked.why


def test_pieces_of_one_name_are_numbered() -> None:
    names = ["piece-2.cu", "piece.cu", "piece.cu", "piece.cu", "plain", "plain"]
    made = distinct_names([LinkUnit(name, {"cuda": b""}) for name in names])
    assert [unit.name for unit in made] == ["piece-2.cu", "piece.cu", "piece-3.cu", "piece-4.cu", "plain", "plain-2"]


# --- an installed module, linked with its user's pieces ----------------------------------------------------------


@pytest.fixture
def wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Return a function that installs a module with relocatable images; `forms` has kind and architecture of each."""

    def make(
        name: str = "lib.kernels.apply", text: str = APPLY, forms: Any = (("ltoir", "80"), ("ptx", "80"))
    ) -> Manifest:
        package_, _, stem = name.rpartition(".")
        folder = tmp_path.joinpath("site", *package_.split("."))
        folder.mkdir(parents=True, exist_ok=True)
        images, content = [], b""
        for kind, arch in forms:
            code = compiled(text, kind, arch)
            target = Target.parse(("sm_" if kind == "cubin" else "compute_") + arch)
            version = (8, 0) if kind == "ptx" else None
            release = (12, 0) if kind == "ptx" else nvrtc_version()
            images.append(
                Image(
                    kind,
                    target,
                    version,
                    version,
                    release,
                    len(content),
                    len(code),
                    hashlib.sha256(code).hexdigest(),
                    {},
                    f"src/{stem}.cu",
                )
            )  # type: ignore[arg-type]
            content += code
        manifest = Manifest(
            name=name,
            fatbin=f"{stem}.fatbin",
            fatbin_size=len(content),
            fatbin_sha256=hashlib.sha256(content).hexdigest(),
            toolchain={"nvrtc": dotted(nvrtc_version() or (0, 0)) + ".1"},
            sources=(f"src/{stem}.cu",),
            options=(),
            images=tuple(images),
            kernels=tuple(
                KernelInfo(symbol, symbol, found)
                for symbol, found in ptx.kernels(compiled(text, "ptx").decode()).items()
            ),
            extern=(External("user_transform", "user_transform", "user_transform(float)"),)
            if "user_transform(float)" in text
            else (),
        )
        (folder / f"{stem}.fatbin").write_bytes(content)
        (folder / f"{stem}.fatbin.json").write_text(manifest_text(manifest))
        return manifest

    monkeypatch.syspath_prepend(tmp_path / "site")
    yield make
    for name in [name for name in sys.modules if name.partition(".")[0] == "lib"]:
        del sys.modules[name]


NAME = "lib.kernels.apply"


@pytest.mark.parametrize("stem", ["lib", "a", "o", "cu"])
def test_a_module_may_be_named_like_a_suffix(stem: str, wheel) -> None:
    wheel(f"lib.kernels.{stem}", USER)
    assert piece_of(f"lib.kernels.{stem}").kind == "module"
    with pytest.raises(ImageError, match=f"nowhere.{stem} to link cannot be read"):
        piece_of(f"nowhere.{stem}")


def test_a_module_is_linked_with_what_its_user_brings(wheel, use: Use) -> None:
    wheel()
    driver = use((9, 0))
    module = package.load(NAME, link=[USER])
    assert (module.how, str(module.image.target), module.link.mode) == ("link", "sm_90", "lto")
    assert module.link.pieces == (f"{NAME}:apply.cu", "piece.cu")
    assert driver.loaded == [module.link.cubin] and module["apply"].handle
    assert module.jit.registers["apply"] > 0 and module.jit.seconds == module.link.seconds
    assert package.load(NAME, link=[USER]) is module
    assert package.load(NAME, link=[USER.replace("2 *", "3 *")]) is not module
    assert package.load(NAME, link=[USER], jit=JitOptions(lto=False)).link.mode == "ptx"


def test_a_link_after_an_edit_has_the_types_of_the_edit(wheel, use: Use, tmp_path: Path) -> None:
    """The code of both is equal."""
    wheel()
    use((9, 0))
    before = package.load(NAME, link=[USER])
    (path,) = tmp_path.rglob("apply.fatbin.json")
    manifest = Manifest.from_json(path.read_bytes(), "x")
    (kernel,) = manifest.kernels
    first, *others = kernel.parameters
    edited = kernel._replace(parameters=(first._replace(cpp="unsigned int*"), *others))
    path.write_text(manifest_text(manifest._replace(kernels=(edited,))))
    after = package.load(NAME, link=[USER])
    assert after.link.cubin == before.link.cubin
    assert after["apply"].info.parameters[0].cpp == "unsigned int*" != before["apply"].info.parameters[0].cpp


def test_a_second_process_only_loads_the_cached_result(wheel, use: Use, monkeypatch: pytest.MonkeyPatch) -> None:
    wheel()
    use((9, 0))
    package.load(NAME, link=[USER])
    use((9, 0))  # a new driver: no module is loaded
    monkeypatch.setattr(prepared_link, "link_by_nvjitlink", lambda *_: pytest.fail("linked again"))
    monkeypatch.setattr(prepared_link, "compile_cuda", lambda *_: pytest.fail("compiled again"))
    module = package.load(NAME, link=[USER])
    assert module.link.cached and module.link.log and module.jit.registers


def test_the_relocatable_images_of_the_highest_suitable_target_are_linked(wheel) -> None:
    manifest = wheel(
        forms=[("ltoir", "75"), ("ptx", "75"), ("ltoir", "80"), ("ptx", "80"), ("ptx", "90"), ("ptx", "90a")]
    )
    for kind, capability, expected in [
        ("ltoir", (9, 0), "80"),
        ("ptx", (9, 0), "90a"),
        ("ptx", (8, 9), "80"),
        ("ltoir", (7, 5), "75"),
    ]:
        group = relocatable_group(manifest, kind, capability, None)
        assert [str(image.target) for image in group] == [f"compute_{expected}"]
    assert relocatable_group(manifest, "ptx", (7, 0), None) == ()


def test_a_modules_undefined_function_is_reported_with_its_declaration(wheel, use: Use) -> None:
    wheel()
    use((9, 0))
    for jit in (JitOptions(), JitOptions(lto=False)):
        with pytest.raises(LinkError) as caught:
            package.load(NAME, link=[USER.replace("user_", "my_")], jit=jit)
        assert str(caught.value).splitlines()[:3] == [
            f"{NAME}:apply.cu needs user_transform, which no piece defines; its declaration: user_transform(float)",
            f"  {NAME}:apply.cu defines apply",
            "  piece.cu defines my_transform",
        ]
    assert package.load(NAME, link=[USER]).link  # an error is not remembered


def test_a_kernel_of_the_module_may_not_be_defined_again(wheel, use: Use) -> None:
    wheel()
    use((9, 0))
    with pytest.raises(LinkError, match=f"apply is defined twice: by {NAME}:apply.cu and by user.ptx"):
        package.load(NAME, link=[piece(APPLY, "ptx", "user"), USER])


def test_another_packages_module_is_a_piece(wheel, use: Use) -> None:
    wheel()
    wheel("lib.more.user", USER + 'extern "C" __global__ void other(int* x) { *x = 1; }')
    use((9, 0))
    module = package.load(NAME, link=["lib.more.user"])
    assert module.link.mode == "lto" and set(module) == {"apply", "other"}


def test_kernels_and_variables_of_the_pieces_are_in_the_module(wheel, use: Use) -> None:
    wheel()
    driver = use((9, 0))
    driver.kernels = {"apply": [], "_Z5extraPii": [(0, 8), (8, 4)]}
    module = package.load(
        NAME, link=[USER + "__device__ int seen = 1; __global__ void extra(int* x, int n) { *x = n + seen; }"]
    )
    assert set(module) == {"apply", "extra"}
    assert module["extra"].info.parameters == (Parameter("b64", 0, 8), Parameter("b32", 8, 4))
    assert module.globals["seen"].size == 4


def test_a_module_without_relocatable_images_is_reported(wheel, use: Use, tmp_path: Path) -> None:
    manifest = wheel()
    ready = manifest._replace(
        images=tuple(image._replace(source=None) for image in manifest.images if image.kind == "ptx")
    )
    (tmp_path / "site/lib/kernels/apply.fatbin.json").write_text(manifest_text(ready))
    use((9, 0))
    with pytest.raises(LinkError, match=r"has no relocatable images.*its author can set `relocatable = true`"):
        package.load(NAME, link=[USER])


def test_a_gpu_without_a_suitable_relocatable_image_is_reported(wheel, use: Use) -> None:
    wheel()
    use((7, 5))
    with pytest.raises(LinkError, match=r"for compute_80 only, and none of these suits compute capability 7\.5"):
        package.load(NAME, link=[USER])


def test_pieces_must_be_a_list(wheel, use: Use) -> None:
    wheel()
    use((9, 0))
    with pytest.raises(ImageError, match=r"must be a list, not str"):
        package.load(NAME, link=USER)


# --- the driver's linker --------------------------------------------------------------------------------


@pytest.fixture
def no_nvjitlink(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(link_module, "nvjitlink_version", lambda: None)


def test_without_nvjitlink_the_driver_links(wheel, use: Use, no_nvjitlink: None) -> None:
    wheel()
    driver = use((9, 0))
    driver.linker.result = compiled(APPLY, "cubin", "90")
    driver.linker.errors = b"a warning"
    jit = JitOptions(verbose=False, max_registers=40, optimization_level=3, lineinfo=True)
    module = package.load(
        NAME, link=[piece(USER, "ptx", "user"), piece("__device__ int more;", "cubin", "more")], jit=jit
    )
    link = module.link
    assert (link.mode, link.linker, link.log, link.errors, link.linker_seconds) == (
        "ptx",
        "the driver's",
        "linked",
        "a warning",
        0.0125,
    )
    assert link.why.startswith("PTX by the driver's linker: nvJitLink is not installed")
    linker = driver.linker
    assert [(kind, name) for kind, name, _ in linker.inputs] == [
        (1, f"{NAME}:apply.cu".encode()),
        (1, b"user.ptx"),
        (0, b"more.cubin"),
    ]
    assert all(content.endswith(b"\0") and b".version" in content for kind, _, content in linker.inputs if kind == 1)
    assert linker.inputs[2][2].startswith(b"\x7fELF")
    figures = {option: linker.options[option] for option in (0, 4, 6, 7, 9, 12, 13)}
    assert figures == {0: 40, 4: 1 << 16, 6: 1 << 16, 7: 3, 9: 90, 12: 0, 13: 1}
    assert linker.contexts == [0] and linker.alive == 0
    assert driver.cuCtxGetDevice()[0] == Result.CUDA_ERROR_INVALID_CONTEXT  # the context is no longer current
    assert driver.loaded == [linker.result]


def test_the_drivers_result_is_cached_for_that_release_of_the_driver(
    wheel, use: Use, no_nvjitlink: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two releases of the driver for one CUDA version compile differently. Of an unknown one nothing is kept."""
    wheel()
    for version, build, cached in (
        (13000, "580.65.06", False), (13000, "580.65.06", True), (13000, "580.95.05", False),
        (12090, "580.95.05", False), (13000, None, False), (13000, None, False),
    ):  # fmt: skip
        monkeypatch.setattr(prepared_link, "driver_build", lambda build=build: build)
        driver = use((9, 0), version=version)
        driver.linker.result = compiled(APPLY, "cubin", "90")
        assert package.load(NAME, link=[piece(USER, "ptx", "user")]).link.cached is cached


def test_the_current_context_is_linked_in(wheel, use: Use, no_nvjitlink: None) -> None:
    wheel()
    driver = use((8, 0), (9, 0))
    driver.context.device = 1
    driver.linker.result = compiled(APPLY, "cubin", "90")
    package.load(NAME, link=[piece(USER, "ptx", "user")])
    driver.linker.result = compiled(APPLY, "cubin", "80")
    package.load(NAME, link=[piece(USER, "ptx", "user")], device=0)
    assert driver.linker.contexts == [1, 0]
    assert driver.context.device == 1


@pytest.mark.parametrize("function", ["cuLinkAddData", "cuLinkComplete"])
def test_an_error_of_the_drivers_linker_is_reported_with_its_log(
    function: str, wheel, use: Use, no_nvjitlink: None
) -> None:
    wheel()
    driver = use((9, 0))
    driver.linker.codes = {function: Result.CUDA_ERROR_UNSUPPORTED_PTX_VERSION}
    driver.linker.errors = b"ptxas fatal : Unsupported .version 99.0"
    with pytest.raises(LinkError) as caught:
        package.load(NAME, link=[piece(USER, "ptx", "user")])
    message = str(caught.value)
    assert "comes from a newer CUDA release than the driver's linker" in message
    assert "CUDA_ERROR_UNSUPPORTED_PTX_VERSION (222): because\nptxas fatal : Unsupported .version 99.0" in message
    assert driver.linker.alive == 0 and Cache().entries() == []


def test_a_driver_without_a_compiler_is_reported(wheel, use: Use, no_nvjitlink: None) -> None:
    wheel()
    use((9, 0)).linker.codes = {"cuLinkCreate": Result.CUDA_ERROR_JIT_COMPILER_NOT_FOUND}
    with pytest.raises(DriverError, match=r"starting the driver's linker.*JIT_COMPILER_NOT_FOUND"):
        package.load(NAME, link=[piece(USER, "ptx", "user")])


# --- code without a manifest ----------------------------------------------------------------------------


def test_loaded_ptx_has_the_parameter_types_of_its_text(use: Use, tmp_path: Path) -> None:
    driver = use((9, 0))
    text = compiled("__global__ void saxpy(float a, const float* x, int n) {}\n__constant__ int limit;", "ptx")
    (tmp_path / "saxpy.ptx").write_bytes(text)
    module = package.load_code(tmp_path / "saxpy.ptx")
    assert [parameter.type for parameter in module["saxpy"].info.parameters] == ["f32", "u64", "u32"]
    assert (module.name, module.how, str(module.image.target), list(module)) == (
        "saxpy.ptx",
        "jit",
        "compute_80",
        ["saxpy"],
    )
    assert driver.loaded[0].endswith(b"\0") and module.jit.seconds > 0 and module.globals["limit"].size == 4
    assert package.load_code(tmp_path / "saxpy.ptx") is module
    assert package.load_code(text.decode())["_Z5saxpyfPKfi"].handle
    assert (
        repr(module)
        == "<Module saxpy.ptx: 1 kernel, ptx compute_80 (PTX " + dotted(ptx.version(text.decode())) + "), jit>"
    )


def test_invalid_ptx_is_reported_with_the_compilers_log(use: Use) -> None:
    driver = use((9, 0), cuLibraryGetKernel=Result.CUDA_ERROR_INVALID_PTX)
    driver.words = b"ptxas application ptx input, line 9; error   : Unknown modifier '.xx'"
    with pytest.raises(DriverError, match=r"CUDA_ERROR_INVALID_PTX.*\n.*Unknown modifier"):
        package.load_code(compiled(APPLY.replace("user_transform(x[i])", "2 * x[i]"), "ptx"))


def test_loaded_machine_code_has_parameter_sizes(use: Use) -> None:
    use((9, 0), version=12000)
    module = package.load_code(package.link([APPLY, USER], arch="90").cubin)
    assert module["apply"].info.parameters == (Parameter("b64", 0, 8), Parameter("b32", 8, 4))
    assert module.how == "native" and module.jit is None


def test_a_loaded_fatbin_has_the_parameter_sizes_that_the_driver_reports(use: Use) -> None:
    driver = use((9, 0))
    driver.kernels = {"apply": [(0, 8), (8, 4)], "_ZN2ns4castEc4Pair": [(0, 1), (4, 12), (16, 2)]}
    module = package.load_code(fatbin(package.link([APPLY, USER], arch="90").cubin))
    assert module["apply"].info.parameters == (Parameter("b64", 0, 8), Parameter("b32", 8, 4))
    assert [parameter.type for parameter in module["ns::cast"].info.parameters] == ["b8", "b8", "b16"]
    assert module.how == "native" and module.jit is None


@pytest.mark.parametrize(
    ("code", "error", "message"),
    [
        (lambda: compiled(USER, "cubin", "80"), ImageError, r"piece\.cubin is machine code for 8\.x, the GPU is 9\.0"),
        (lambda: compiled(USER, "cubin", "90")[:-50], ImageError, r"piece\.cubin is a damaged cubin: it is cut short"),
        (lambda: compiled(USER, "ptx", "100"), ImageError, r"piece\.ptx needs compute capability 10\.0 or later"),
        (lambda: fatbin(compiled(USER, "cubin", "90"))[:-50], ImageError, r"piece\.fatbin is a damaged fatbin"),
        (lambda: compiled(USER, "ltoir"), ImageError, r"piece\.ltoir is LTO-IR, not a cubin, PTX or a fatbin: link"),
        (lambda: USER, ImageError, r"piece\.cu is CUDA C\+\+, not a cubin"),
        (lambda: "nowhere.ptx", ImageError, "cannot be read"),
    ],
)
def test_code_that_this_gpu_cannot_load_is_reported(
    code: Callable[[], Any], error: type[Exception], message: str, use: Use
) -> None:
    driver = use((9, 0))
    with pytest.raises(error, match=message):
        package.load_code(code())
    assert driver.loaded == []


def test_a_fatbin_needs_a_driver_that_lists_kernels(use: Use) -> None:
    use((9, 0), version=12030)
    with pytest.raises(
        DriverError, match=r"the driver is for CUDA 12\.3, and only drivers for 12\.4 or later list the kernels"
    ):
        package.load_code(fatbin(compiled(USER, "cubin", "90")))


# --- a copy in a wheel ----------------------------------------------------------------------------------


def test_a_vendored_copy_links_too(tmp_path: Path) -> None:
    folder = tmp_path / "demo" / "_cuda_wheel"
    folder.mkdir(parents=True)
    (tmp_path / "demo/__init__.py").touch()
    for name, content in vendored_files().items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(content)
    (tmp_path / "user.fatbin").write_bytes(fatbin(compiled(USER, "cubin", "90")))
    program = (
        "import sys; sys.modules['cuda_wheel'] = None\n"
        "from demo import _cuda_wheel\n"
        f"print(_cuda_wheel.link([{APPLY!r}, 'user.fatbin'], arch='90').why)\n"
        f"print(_cuda_wheel.link([{APPLY!r}, {USER!r}], arch='90').why)\n"
    )
    result = run(sys.executable, "-c", program, cwd=tmp_path, PYTHONPATH=str(tmp_path))
    assert result.stdout.splitlines() == [
        "PTX: user.fatbin is a fatbin, not LTO-IR",
        "LTO: every piece has LTO-IR",
    ]
