"""Compilers may crash, hang or use up memory on unusual input; a job still ends with an image or a clear error."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest

from cuda_wheel.builder.compile.job import compile_job
from cuda_wheel.builder.errors import CompileError, ConfigError, ToolchainError
from cuda_wheel.builder.images.bundling import bundle
from cuda_wheel.builder.jobs import Job, LinkInput, LinkJob
from cuda_wheel.builder.link import link_job
from cuda_wheel.builder.sources.source_files import faulty
from cuda_wheel.builder.toolchain.find import find_nvvm
from cuda_wheel.builder.toolchain.toolchain import INCLUDE, Toolchain
from cuda_wheel.builder.workers.pool import Workers
from cuda_wheel.builder.workers.worker import WorkerDiedError, WorkerTimeoutError
from tests.soak import SLOW, SOAK, amount
from tests.support.linker_inputs import archive, fatbin, object_file, relocatable, with_device_code

pytestmark = pytest.mark.timeout(SLOW)

LIMITS = {"timeout": 20 if SOAK else 60, "memory": 2 << 30}
"""For one job. Only the full run has jobs that hang, because each takes the whole time limit."""

# --- sources that overload compilers ---------------------------------------------------------------------------

KERNEL = "__global__ void k(int* x) {{ *x = {}; }}\n"


def _kernel(expression: str) -> str:
    return KERNEL.format(expression)


def _many(text: str, count: int, between: str = "") -> str:
    return between.join(text.replace("#", str(number)) for number in range(count))


SOURCES: dict[str, Callable[[int], str]] = {
    "parentheses": lambda n: _kernel("(" * n + "1" + ")" * n),
    "braces": lambda n: f"__global__ void k(int* x) {{ {'{' * n} *x = 1; {'}' * n} }}",
    "a long sum": lambda n: _kernel("+".join(["x[1]"] * n)),
    "else if": lambda n: f"__global__ void k(int* x) {{ {_many('if (*x == #) *x = 1; ', n, 'else ')} }}",
    "lambdas": lambda n: _kernel("[] { return " * (n // 10) + "1" + "; }()" * (n // 10)),
    "pointers": lambda n: f"__global__ void k(int {'*' * n} x) {{ }}",
    "a template's name": lambda n: (
        "template <typename T> struct V {}; template <typename T> __global__ void k(T x) {}\n"
        f"template __global__ void k({'V<' * (n // 10)}int{'>' * (n // 10)});"
    ),
    "inheritance": lambda n: (
        "struct S0 { int v; };\n"
        + "".join(f"struct S{i + 1} : S{i} {{}};\n" for i in range(n))
        + f"__global__ void k(S{n}* x) {{ x->v = 1; }}"
    ),
    "kernels": lambda n: _many("__global__ void k#(int* x) { *x = #; }\n", n // 10),
    "variables": lambda n: _many("__device__ int v#[3];\n", n) + _kernel("1"),
    "parameters": lambda n: f"__global__ void k({_many('int a#', n, ', ')}) {{}}",
    "cases": lambda n: f"__global__ void k(int* x) {{ switch (*x) {{ {_many('case #: *x += x[#]; ', n)} }} }}",
    "jumps": lambda n: f"__global__ void k(int* x) {{ {_many('L#: if (x[#]) goto L0;', n // 10)} }}",
    "a long name": lambda n: f"__global__ void {'a' * (100 * n)}(int* x) {{ *x = 1; }}",
    "a long number": lambda n: _kernel("1" * (100 * n) + ".0e999999999"),
    "a long text": lambda n: f'__device__ const char t[] = "{"x" * (1000 * n)}"; {_kernel("t[*x]")}',
    "a long line": lambda n: f'#line 7 "{"x" * (10 * n)}"\n{_kernel("y")}',
    "lines made one": lambda n: "\\\n" * (100 * n) + _kernel("1"),
    "errors": lambda n: _many("wrong# wrong;\n", n),
    "warnings": lambda n: f"__global__ void k(int* x) {{ {_many('int u# = 1; ', n)} *x = 1; }}",
    "a large array": lambda n: f"__device__ int a[{n}ull << 20] = {{1}}; {_kernel('a[*x]')}",
    "a large alignment": lambda n: "struct alignas(1 << 28) S { char c; }; __global__ void k(S* s) { S t; s[1] = t; }",
    "shared memory": lambda n: "__global__ void k(int* x) { __shared__ int a[1ull << 40]; a[*x] = 1; *x = a[0]; }",
    "a large parameter": lambda n: f"struct S {{ char c[{n} << 10]; }}; __global__ void k(S s) {{}}",
    "launches": lambda n: "__global__ void k(int* x) { *x = 1; }\nint main() {" + "k<<<1, 1>>>(0);" * n + "}",
    "signs of launches": lambda n: "<<<" * n,
    "no end of a comment": lambda n: "__global__ void k() { /*" + "* " * n,
    "no end of a text": lambda n: 'const char* c = R"abc(' + "x" * n,
    "no end of a template": lambda n: (
        "template <int N> struct T { static constexpr int v = T<N + 1>::v; };\n" + _kernel("T<0>::v")
    ),
    "itself": lambda n: '#include "k.cu"\n' * 2 + _kernel("1"),
    "a device": lambda n: '#include "/dev/zero"\n' + _kernel("1"),
    "assembler: braces": lambda n: f'__global__ void k() {{ asm volatile("{"{" * n}"); }}',
    "assembler: another kernel": lambda n: '__global__ void k() { asm volatile("} .visible .entry e() { ret; "); }',
    "assembler: an operand": lambda n: '__global__ void k() { asm volatile("mov.u32 %99999, 1;"); }',
    "assembler: no text": lambda n: '__global__ void k() { asm volatile("\\0\\x01\\xff"); }',
    "assembler: a version": lambda n: '__global__ void k() { asm volatile(".version 99.9"); }',
    "assembler: a variable": lambda n: 'asm(".global .u32 z[4000000000];"); __global__ void k() {}',
}
"""Sources that may crash a compiler or use up its memory, each as a function of its size."""

ENDLESS: dict[str, Callable[[int], str]] = {
    "macros": lambda n: (
        "#define A0 x x x x x x x x\n"
        + "".join(f"#define A{i + 1} {' '.join([f'A{i}'] * 8)}\n" for i in range(n))
        + f"A{n}\n"
    ),
    "templates": lambda n: (
        "template <int N, int M> struct T { static constexpr int v = T<N - 1, M>::v + T<N - 1, M + (1 << (N % 24))>::v; };\n"
        "template <int M> struct T<0, M> { static constexpr int v = M; };\n" + _kernel(f"T<{n + 12}, 0>::v")
    ),
    "constants": lambda n: (
        f"__device__ constexpr int f(int n) {{ return n < 2 ? 1 : f(n - 1) + f(n - 2); }}\n"
        f"template <int N> struct T {{ static constexpr int v = N; }};\n{_kernel(f'T<f({4 * n})>::v')}"
    ),
    "unrolled loops": lambda n: (
        "__global__ void k(float* x) {\n"
        + "".join(f"#pragma unroll\nfor (int i{d} = 0; i{d} < {4 * n}; ++i{d})\n" for d in range(5))
        + "x[i0 + 32 * i1 + i2 + i3 * i4] = sinf(x[i0 * i1 + i4]) + i2 * i3; }"
    ),
    "many values": lambda n: f"__device__ int s[] = {{ {'1, ' * (250_000 * n)} }}; {_kernel('s[*x]')}",
}


@pytest.mark.thorough
def test_sources_that_overload_compilers_end_with_an_image_or_a_clear_error(
    toolchain: Toolchain, tmp_path: Path, count: Callable[[str, int], None], request: pytest.FixtureRequest
) -> None:
    """In the bounded run, two toolchains share the sources."""
    rng = random.Random(8)
    names = [*SOURCES, *(ENDLESS if SOAK else ())]
    first, step = {"first": (0, 2), "second": (1, 2)}.get(request.config.getoption("--cases"), (0, 1))

    def job(text: str) -> Job:
        options, folders = ("--std=c++17",), (".", str(INCLUDE), *toolchain.include_dirs)
        arch = rng.choice(["80", "90a"])
        return Job(
            toolchain.libraries[0], str(tmp_path), "k.cu", text.encode(), arch, True, True, options, folders, (), False, "auto"
        )  # fmt: skip

    jobs = []
    for number in range(first, amount(len(SOURCES), 250), step):
        name = names[number % len(names)]
        size = rng.choice([50, 200]) if name in SOURCES else rng.choice([4, 8])
        size *= rng.choice([1, 5, 25]) if SOAK else 1
        parts = [(SOURCES | ENDLESS)[name](size)]
        if SOAK and rng.random() < 0.2:  # two of these sources in one file
            parts.append(SOURCES[rng.choice(list(SOURCES))](200))
        jobs.append((compile_job, job("\n".join(parts))))
    _check_ends(jobs, count, "overloading sources")


# --- damaged files ---------------------------------------------------------------------------

PART = """\
__device__ unsigned table[2] = {1, 2};
extern "C" __device__ float part(float x) { return x * 3 + (float)table[threadIdx.x & 1]; }
"""
MAIN = 'extern "C" __device__ float part(float x);\n__global__ void k(float* x) { *x = part(*x); }\n'


def damaged(content: bytes, rng: random.Random) -> bytes:
    """Return content with some bytes changed, removed or inserted, or truncated."""
    changed = bytearray(content)
    for _ in range(rng.choice([1, 1, 2, 5, 30])):
        at, size = rng.randrange(len(changed) + 1), rng.choice([1, 4, 8, 64])
        way = rng.randrange(5)
        if way == 0:
            del changed[at : at + size]
        elif way == 1:
            changed[at:at] = rng.randbytes(size)
        elif way == 2 and rng.random() < 0.3:
            del changed[at:]
        else:
            changed[at : at + size] = rng.choice([b"\0", b"\xff", rng.randbytes(1)]) * len(changed[at : at + size])
    return bytes(changed)


@pytest.mark.thorough
def test_linking_damaged_files_ends_with_an_image_or_a_clear_error(
    workers: Workers, toolchain: Toolchain, count: Callable[[str, int], None]
) -> None:
    rng = random.Random(8)
    inputs: list[tuple[str, bytes, bool]] = []
    mains = {}
    for kind in ("ptx", "ltoir", "cubin"):
        lto = kind == "ltoir"
        code = relocatable(workers, toolchain, PART, kind, "80")
        mains[lto] = relocatable(workers, toolchain, MAIN, "ltoir" if lto else "ptx", "80")
        packed = fatbin(workers, (kind, "80", code))
        file = with_device_code(packed)
        library = archive(other=object_file({".text": b"\xc3"}), part=file)
        inputs += [(kind, code, lto), ("fatbin", packed, lto), ("object", file, lto), ("library", library, lto)]
    calls: list[tuple[Callable[[Any], Any], Any]] = []
    refused = 0
    while len(calls) < amount(50, 3000):
        kind, content, lto = rng.choice(inputs)
        content = damaged(content, rng)
        if faulty(kind, content):
            refused += 1
            continue
        main = LinkInput("demo/k.cu", "ltoir" if lto else "ptx", mains[lto])
        calls.append(
            (
                link_job,
                LinkJob("demo.m", "80", True, lto, (main, LinkInput("part", kind, content)), (), False, "auto", ()),
            )
        )
        if rng.random() < 0.2:
            image = (rng.choice(["cubin", "ptx", "ltoir"]), rng.choice(["80", "90a", "no"]), content)
            calls.append((bundle, ("demo.m", ((image, "k.cu"),), rng.choice(["none", "size"]))))
    _check_ends(calls, count, "damaged files")
    count("damaged files that were rejected before linking", refused)


IR = """\
target datalayout = "e-p:64:64:64-i1:8:8-i8:8:8-i16:16:16-i32:32:32-i64:64:64-i128:128:128-f32:32:32-f64:64:64-v16:16:16-v32:32:32-v64:64:64-v128:128:128-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
define void @k(i32* %x) {
  %value = load i32, i32* %x, align 4
  %sum = add i32 %value, 3
  store i32 %sum, i32* %x, align 4
  ret void
}
!nvvm.annotations = !{!0}
!0 = !{void (i32*)* @k, !"kernel", i32 1}
!nvvmir.version = !{!1}
!1 = !{i32 2, i32 0}
"""


def test_compiling_damaged_ir_ends_with_an_image_or_a_clear_error(
    workers: Workers, toolchain: Toolchain, count: Callable[[str, int], None], tmp_path: Path
) -> None:
    try:
        nvvm = workers.submit(find_nvvm, toolchain).result()
    except ToolchainError as error:
        pytest.skip(str(error))
    rng = random.Random(8)
    jobs = []
    for _ in range(amount(10, 1000)):
        job = Job(
            nvvm.library, str(tmp_path), "k.ll", damaged(IR.encode(), rng), "80", True, True, (), (), (), False, "auto",
            "keep", "nvvm", rng.choice(["whole", "lto"]), nvvm.libdevice, nvvm.release,
        )  # fmt: skip
        jobs.append((compile_job, job))
    _check_ends(jobs, count, "damaged files of NVVM IR")


def _check_ends(calls: list[tuple[Callable[[Any], Any], Any]], count: Callable[[str, int], None], what: str) -> None:
    """Run calls in workers; check that each ends with a result or a documented error, and that workers still run."""
    with Workers(LIMITS["timeout"], LIMITS["memory"], count=2) as workers:
        futures: list[Future[Any]] = [workers.submit(function, argument) for function, argument in calls]
        ends = Counter(_end(future) for future in futures)
        assert workers.submit(len, (1, 2)).result() == 2
    for end, number in ends.items():
        count(f"{what}: {end}", number)


def _end(future: Future[Any]) -> str:
    error = future.exception()
    if error is None:
        return "images"
    assert isinstance(error, CompileError | ConfigError | ToolchainError), repr(error)
    assert str(error).strip()
    assert "Traceback" not in str(error)
    assert "help: " in str(error) or not isinstance(error, WorkerDiedError)
    return {WorkerDiedError: "crashes", WorkerTimeoutError: "time-outs"}.get(type(error), "errors")
