"""PTX text is read, rewritten and lowered to an older version, which the assembler proves equal."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cuda_wheel.builder.compile.job import compile_job
from cuda_wheel.builder.errors import CompileError, ConfigError
from cuda_wheel.builder.images import ptx_text
from cuda_wheel.builder.images.lowering import lower
from cuda_wheel.builder.jobs import Compiled, Job
from cuda_wheel.builder.releases import RELEASES
from cuda_wheel.builder.toolchain.toolchain import Toolchain
from cuda_wheel.builder.workers.pool import Workers
from cuda_wheel.runtime.manifest import dotted
from cuda_wheel.runtime.parts.formats import ptx
from tests.support.ptx_texts import TEXT


def test_the_compilers_release_is_read() -> None:
    assert ptx_text.compiler_release(TEXT) == "12.9.86"
    assert ptx_text.compiler_release(".version 8.8\n") is None


def test_launch_bounds_are_read() -> None:
    text = TEXT + (
        ".visible .entry c()\n.reqntid 16, 8\n.minnctapersm 2\n.explicitcluster\n.reqnctapercluster 2, 1, 1\n{ ret; }\n"
        ".visible .entry r()\n.maxclusterrank 4\n.maxnreg 32\n{ .maxntid 7 }\n"
    )
    assert ptx_text.launch_bounds(ptx_text.normalise(text)) == {
        "k": {"max_threads": 256},
        "c": {"max_threads": 128, "min_blocks": 2, "cluster_blocks": 2},
        "r": {"cluster_blocks": 4},
    }


def test_normal_text_has_no_comments_and_single_spaces() -> None:
    lines = ptx_text.normalise(TEXT).split("\n")
    assert lines[:4] == ["", ".version 8.8", ".target sm_80", ".address_size 64"]
    assert ".reg .b32 %r<3>;" in lines
    assert ptx_text.normalise('.file 1 "a  //b/*c*/"\n') == '\n.file 1 "a  //b/*c*/"\n'


@given(st.text(alphabet=' \t\n/*"\\abc.;', max_size=60))
def test_normalising_is_idempotent(text: str) -> None:
    once = ptx_text.normalise(text)
    assert ptx_text.normalise(once) == once


PIECES = ('"', "/", "//", "/*", "*/", "\\", "\t", " ", "  ", "\n", "\r", "\f", "\0", "a", ";", "%r1", '"x"', "é")


@given(st.lists(st.sampled_from(PIECES), max_size=20).map("".join))
def test_normalising_a_plain_text_quickly_changes_nothing(text: str) -> None:
    plain = ptx_text._is_plain
    try:
        ptx_text._is_plain = lambda text: False
        slowly = ptx_text.normalise(text)
    finally:
        ptx_text._is_plain = plain
    assert ptx_text.normalise(text) == slowly


def test_file_paths_move_under_their_roots() -> None:
    text = '.file 1 "/home/me/project/src/k.cu"\n.file 2 "/cuda/include/cuda_fp16.hpp"\n.file 3 "/other/x.h"\n'
    moved = ptx_text.relocate_files(text, {"/home/me/project": "", "/cuda/include": "cuda/", "/home": "wrong/"})
    assert moved == '.file 1 "src/k.cu"\n.file 2 "cuda/cuda_fp16.hpp"\n.file 3 "/other/x.h"\n'


# --- lowering, with the real assemblers ------------------------------------------------------------

PLAIN = "__global__ void k(float* x) { x[threadIdx.x] *= 2; }"
# Inline PTX that needs a version of its own, above the target's. Source: PTX ISA, each instruction's "PTX ISA Notes".
NEEDS = {
    "redux": ("80", '__global__ void k(int* x) { asm("redux.sync.add.s32 %0, %0, -1;" : "+r"(*x)); }', (7, 0)),
    "createpolicy": (
        "80",
        '__global__ void k(unsigned long long* x) { asm("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(*x)); }',
        (7, 4),
    ),
    "griddepcontrol": ("90", '__global__ void k() { asm volatile("griddepcontrol.wait;"); }', (7, 8)),
    "barrier.cluster": (
        "90",
        '__global__ void k() { asm volatile("barrier.cluster.arrive; barrier.cluster.wait;"); }',
        (7, 8),
    ),
    "elect": (
        "90",
        '__global__ void k(int* x) { asm volatile("{.reg .pred p; elect.sync %0|p, -1;}" : "=r"(*x)); }',
        (8, 0),
    ),
    "add.bf16": ("90", '__global__ void k(unsigned short* x) { asm("add.bf16 %0, %0, %0;" : "+h"(*x)); }', (7, 8)),
    "cp.async.bulk": (
        "90",
        '__global__ void k(float* x) { asm volatile("cp.async.bulk.prefetch.L2.global [%0], 256;" :: "l"(x)); }',
        (8, 0),
    ),
    "cp.async.bulk.shared::cta": (
        "90",
        '__global__ void k(float* x) { __shared__ alignas(16) float s[64]; __shared__ unsigned long long b; asm volatile("cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%0], [%1], 256, [%2];" :: "r"((unsigned)__cvta_generic_to_shared(s)), "l"(x), "r"((unsigned)__cvta_generic_to_shared(&b))); }',
        (8, 6),
    ),
    # The assemblers of CUDA 12.8 to 13.0 accept it under lower versions, all others refuse it.
    "fence.acquire": (
        "90",
        '__global__ void k() { asm volatile("fence.acquire.sync_restrict::shared::cluster.cluster;" ::: "memory"); }',
        (8, 6),
    ),
    "fence.release": ("90", '__global__ void k() { asm volatile("fence.release.gpu;" ::: "memory"); }', (8, 6)),
    "cuda::ptx::fence": (
        "90",
        "#include <cuda/ptx>\n__global__ void k() { cuda::ptx::fence(cuda::ptx::sem_acquire, cuda::ptx::scope_gpu); }",
        (8, 6),
    ),
    "mbarrier.try_wait": (
        "90",
        '__global__ void k() { __shared__ unsigned long long b; asm volatile("{.reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%0], 0;}" :: "r"((unsigned)__cvta_generic_to_shared(&b))); }',
        (7, 8),
    ),
    # The compiler writes the rounding last; the document writes it before the types.
    "wmma.mma.f64": (
        "80",
        "#include <mma.h>\nusing namespace nvcuda::wmma;\n__global__ void k(double* x) { fragment<accumulator, 8, 8, 4, double> c; fragment<matrix_a, 8, 8, 4, double, row_major> a; fragment<matrix_b, 8, 8, 4, double, col_major> b; fill_fragment(c, 0.0); load_matrix_sync(a, x, 4); load_matrix_sync(b, x, 4); mma_sync(c, a, b, c); store_matrix_sync(x, c, 8, mem_row_major); }",
        (7, 0),
    ),
}


def compiled(
    workers: Workers, toolchain: Toolchain, text: str, arch: str, ptx_version: str = "auto", lineinfo: bool = False
) -> Compiled:
    job = Job(
        toolchain.libraries[0],
        ".",
        "k.cu",
        text.encode(),
        arch,
        False,
        True,
        ("--std=c++17",),
        toolchain.include_folders(()),
        (),
        lineinfo,
        ptx_version,
    )
    return workers.submit(compile_job, job).result()


@pytest.mark.parametrize(
    ("arch", "expected"), [("75", (6, 3)), ("80", (7, 0)), ("90", (7, 8)), ("90a", (8, 0)), ("120", (8, 7))]
)
def test_plain_code_is_lowered_to_what_its_target_needs(
    workers: Workers, arch: str, expected: tuple[int, int], toolchain: Toolchain
) -> None:
    result = compiled(workers, toolchain, PLAIN, arch)
    assert ptx.version(result.ptx.decode()) == expected
    assert result.ptx_version_compiled > expected


@pytest.mark.parametrize("instruction", NEEDS)
def test_an_instruction_keeps_the_version_that_it_needs(
    workers: Workers, instruction: str, toolchain: Toolchain
) -> None:
    arch, text, needed = NEEDS[instruction]
    assert ptx.version(compiled(workers, toolchain, text, arch).ptx.decode()) == needed


@pytest.mark.parametrize(
    ("arch", "needs", "versions"),
    [
        ("80", (7, 0), [(9, 5), (7, 0)]),  # the usual case: as compiled, and lowered
        ("80", (7, 4), [(9, 5), (7, 0), (7, 4)]),  # the assembler's error names the version that is needed
        ("120", (8, 7), [(9, 5), (8, 7)]),
    ],
)
def test_the_usual_case_costs_two_assemblies(arch: str, needs: tuple[int, int], versions: list) -> None:
    asked = []

    def assemble(text: str, _: str) -> bytes:
        asked.append(ptx.version(text))
        if asked[-1] < needs:
            raise CompileError(f"Feature 'x' requires PTX ISA .version {needs[0]}.{needs[1]} or later")
        return b"machine code"

    lowered = lower(".version 9.5\n.target sm_80\n", "auto", arch, "k.cu", assemble)
    assert ptx.version(lowered) == needs
    assert asked == versions


def test_a_version_that_gives_other_machine_code_is_not_taken() -> None:
    text = ".version 9.5\n.target sm_80\n"
    assert lower(text, "auto", "80", "k.cu", lambda text, _: str(ptx.version(text)).encode()) == text


def test_as_compiled_keeps_the_compilers_version(workers: Workers, toolchain: Toolchain) -> None:
    result = compiled(workers, toolchain, PLAIN, "80", "as-compiled")
    assert ptx.version(result.ptx.decode()) == result.ptx_version_compiled


def test_an_explicit_version_is_taken_where_it_is_proven(workers: Workers, toolchain: Toolchain) -> None:
    assert ptx.version(compiled(workers, toolchain, PLAIN, "80", "8.0").ptx.decode()) == (8, 0)


def test_an_explicit_version_that_is_too_low_is_refused_and_the_instruction_named(
    workers: Workers, toolchain: Toolchain
) -> None:
    arch, text, _ = NEEDS["elect"]
    with pytest.raises(
        ConfigError,
        match=r"ptx-version 7\.8 does not suit k\.cu for compute_90: `elect\.sync` needs 8\.0; \"auto\" finds",
    ):
        compiled(workers, toolchain, text, arch, "7.8")


def test_an_explicit_version_that_the_assembler_refuses_is_reported_with_its_log() -> None:
    def assemble(text: str, _: str) -> bytes:
        if ptx.version(text) < (7, 5):
            raise CompileError("Feature 'x' requires PTX ISA .version 7.5 or later")
        return b"machine code"

    text = ".version 9.5\n.target sm_80\n"
    with pytest.raises(ConfigError, match=r"ptx-version 7\.4 does not suit .*The assembler says: Feature 'x' requires"):
        lower(text, "7.4", "80", "k.cu", assemble)
    with pytest.raises(ConfigError, match=r"ptx-version 7\.5 does not suit .*it changes the machine code"):
        lower(text, "7.5", "80", "k.cu", lambda text, _: str(ptx.version(text)).encode())


def test_line_information_does_not_keep_ptx_from_being_lowered(workers: Workers, toolchain: Toolchain) -> None:
    # The assembler copies the text, with its version, into the debug information of what has any.
    result = compiled(workers, toolchain, PLAIN, "80", lineinfo=True)
    assert b".loc" in result.ptx
    assert ptx.version(result.ptx.decode()) == (7, 0)


def test_an_instruction_that_the_table_lacks_keeps_the_compilers_version(
    workers: Workers, toolchain: Toolchain
) -> None:
    # Every assembler accepts this order of the modifiers under every version, but the table does not list it.
    text = '__global__ void k(int* x) { asm volatile("{.reg .b32 r; atom.global.sys.acquire.add.u32 r, [%0], 1;}" :: "l"(x)); }'
    result = compiled(workers, toolchain, text, "80")
    assert ptx.version(result.ptx.decode()) == result.ptx_version_compiled


@pytest.mark.slow
@pytest.mark.parametrize("release", ["12.0", "12.2", "12.4", "12.6", "12.8", "13.1"])
def test_older_assemblers_accept_the_lowered_ptx_when_its_version_says_so(
    workers: Workers, ptxas: Callable[[str, Path, str], str], tmp_path: Path, release: str, toolchain: Toolchain
) -> None:
    reads = next(known.ptx_isa for known in RELEASES if dotted(known.cuda) == release)
    cases = {name: (arch, text) for name, (arch, text, _) in NEEDS.items()} | {
        "plain 75": ("75", PLAIN),
        "plain 120": ("120", PLAIN),
    }
    for name, (arch, text) in cases.items():
        content = compiled(workers, toolchain, text, arch).ptx
        path = tmp_path / "k.ptx"
        path.write_bytes(content)
        complaints = ptxas(release, path, arch)
        assert (complaints == "") == (ptx.version(content.decode()) <= reads), f"{name}: {complaints}"


# --- bundling -------------------------------------------------------------------------------------


def test_what_one_text_has_proven_is_not_proven_again_for_another() -> None:
    asked: list[str] = []

    def assemble(text: str, arch: str) -> bytes:
        asked.append(arch)
        return b"other" if "ex2.approx" in text and ptx.version(text) < (9, 5) else b"machine code"

    def text(*lines: str) -> str:
        return "\n".join([".version 9.5", ".target sm_80", ".visible .entry k()", "{", *lines, "ret;", "}", ""])

    first = text(".reg .f32 %f<9>;", "add.f32 %f1, %f2, %f3;")
    assert ptx.version(lower(first, "auto", "80", "k.cu", assemble)) == (7, 0)
    assert len(asked) == 2
    assert ptx.version(lower(text(".reg .f32 %f<9>;", "add.f32 %f7, %f2, %f3;"), "auto", "80", "k.cu", assemble)) == (
        7,
        0,
    )
    assert len(asked) == 2
    new = text(".reg .f32 %f<9>;", "ex2.approx.f32 %f1, %f2;")
    assert ptx.version(lower(new, "auto", "80", "k.cu", assemble)) == (9, 5)  # another form, which differs
    count = len(asked)
    assert count > 3
    assert ptx.version(lower(new, "auto", "80", "k.cu", assemble)) == (9, 5)  # and stays unproven
    assert len(asked) == 2 * count - 2
    lower(first, "auto", "90", "k.cu", assemble)
    assert asked[-1] == "90"
