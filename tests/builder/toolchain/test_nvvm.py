"""libNVVM compiles NVVM IR to PTX and LTO-IR; an error names the place in the source."""

from __future__ import annotations

import os
import random
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from cuda_wheel.builder.cache.compile_cache import CompileCache
from cuda_wheel.builder.config.settings import Config, ModuleConfig
from cuda_wheel.builder.config.values import Architectures
from cuda_wheel.builder.errors import CompileError, ConfigError, ToolchainError
from cuda_wheel.builder.execute import PlanRunner
from cuda_wheel.builder.images import ptx_text
from cuda_wheel.builder.images.assembly import assemble
from cuda_wheel.builder.messages.nvvm_log import read_nvvm_result
from cuda_wheel.builder.plan import Plan, make_plan
from cuda_wheel.builder.report.reporter import SilentReporter
from cuda_wheel.builder.sources.modules import SourceModule
from cuda_wheel.builder.sources.source_files import Source
from cuda_wheel.builder.toolchain import find
from cuda_wheel.builder.toolchain.find import Library, find_nvvm, toolchain_parts
from cuda_wheel.builder.toolchain.nvvm import DATA_LAYOUT, TRIPLE, compile_ir
from cuda_wheel.builder.toolchain.toolchain import Nvvm, Toolchain
from cuda_wheel.builder.workers.pool import Workers
from cuda_wheel.runtime.parts.cuda_libraries import link_code
from cuda_wheel.runtime.parts.formats import ptx
from cuda_wheel.runtime.parts.user_cache import Cache
from tests.support.projects import FIXTURES

if TYPE_CHECKING:
    from cuda_wheel.builder.toolchain.nvvm import NvvmRequest, NvvmResult

KERNELS = FIXTURES / "nvvm_ir/src/nvvm_demo/kernels"
MULTIPLY = (KERNELS / "multiply.ll").read_bytes()
RSQRT_SCALE = (KERNELS / "rsqrt_scale.ll").read_bytes()
OPAQUE = MULTIPLY.replace(b"void (float*, float*, float*, i32)*", b"ptr").replace(b"float*", b"ptr")
BITCODE = Path(__file__).parents[2] / "data" / "nvvm/root.bc"
HEAD = f'target datalayout = "{DATA_LAYOUT}"\ntarget triple = "{TRIPLE}"\n'.encode()
VERSION = b"!nvvmir.version = !{!1}\n!1 = !{i32 2, i32 0}\n"
TARGETS = ["75", "80", "90a", "100", "100f", "120a"]


@pytest.fixture(scope="module")
def nvvm(workers: Workers, toolchain: Toolchain, extra: str) -> Nvvm:
    try:
        return workers.submit(find_nvvm, toolchain).result()
    except ToolchainError as error:
        assert extra != "cu12", "cuda-wheel[cu12] brings libNVVM"
        pytest.skip(str(error))


@pytest.fixture
def request_of(nvvm: Nvvm) -> Callable[..., NvvmRequest]:
    """Return a function that returns the request to compile a text."""

    def make(text: bytes, arch: str = "80", *options: str, name: str = "src/k.ll", lto: bool = False) -> NvvmRequest:
        return {
            "library": nvvm.library,
            "libdevice": nvvm.libdevice,
            "text": text,
            "name": name,
            "arch": arch,
            "lto": lto,
            "options": list(options),
        }

    return make


@pytest.fixture
def compiled(workers: Workers, request_of: Callable[..., NvvmRequest]) -> Callable[..., NvvmResult]:
    """Return a function that compiles a text in a worker process; it raises the errors that users see."""

    def compile(*arguments, **more) -> NvvmResult:
        request = request_of(*arguments, **more)
        result = workers.submit(compile_ir, request).result()
        assert read_nvvm_result(request, result) == ""
        return result

    return compile


def link(job: tuple[list[bytes], str, bool]) -> bytes:
    """Return the cubin that nvJitLink links from PTX or LTO-IR for an architecture. Runs in worker processes."""
    inputs, arch, lto = job
    given = [("LTOIR" if lto else "PTX", f"input{number}", content) for number, content in enumerate(inputs)]
    return link_code(given, [f"-arch=sm_{arch}", *(["-lto"] if lto else [])])[0]


# --- compiling ----------------------------------------------------------------------------------------


def test_libnvvm_belongs_to_the_toolchain(nvvm: Nvvm, toolchain: Toolchain) -> None:
    assert nvvm.release.split(".")[0] == toolchain.nvrtc.split(".")[0]
    assert nvvm.ir == (2, 0)
    assert Path(nvvm.library).is_file() and Path(nvvm.libdevice).name == "libdevice.10.bc"


@pytest.mark.parametrize("arch", TARGETS)
@pytest.mark.parametrize(("text", "kernel"), [(MULTIPLY, "multiply"), (RSQRT_SCALE, "rsqrt_scale")])
def test_one_text_compiles_for_every_target(text: bytes, kernel: str, arch: str, compiled) -> None:
    written = compiled(text, arch)["ptx"].decode()
    assert re.search(rf"^\.target sm_{arch}$", written, re.MULTILINE)
    kernels = ptx.kernels(ptx_text.normalise(written))
    assert list(kernels) == [kernel]
    assert [parameter.size for parameter in kernels[kernel]] == {"multiply": [8, 8, 8, 4], "rsqrt_scale": [4, 8, 8, 4]}[
        kernel
    ]


@pytest.mark.slow
@pytest.mark.parametrize("arch", TARGETS)
@pytest.mark.parametrize(("text", "kernel"), [(MULTIPLY, "multiply"), (RSQRT_SCALE, "rsqrt_scale")])
def test_ptx_and_ltoir_link_to_cubins_with_the_kernel(
    text: bytes, kernel: str, arch: str, compiled, workers: Workers, cuobjdump, tmp_path: Path
) -> None:
    result = compiled(text, arch, lto=True)
    assert result["ptx"] == compiled(text, arch)["ptx"]
    for lto, code in ((False, result["ptx"]), (True, result["ltoir"])):
        cubin = tmp_path / "k.cubin"
        cubin.write_bytes(workers.submit(link, ([code], arch, lto)).result())
        assert f".text.{kernel}" in cuobjdump("-elf", cubin)


def test_opaque_pointers_compile_to_the_same_code_for_newer_targets(compiled) -> None:
    assert compiled(OPAQUE, "100") == compiled(MULTIPLY, "100")


@pytest.mark.parametrize("arch", ["80", "100"])
def test_bitcode_compiles_to_the_same_code_as_its_text(arch: str, compiled) -> None:
    result = compiled(BITCODE.read_bytes(), arch, name="root.bc")
    assert result == compiled(BITCODE.with_suffix(".ll").read_bytes(), arch)
    assert b".entry root" in result["ptx"] and b"rsqrt.approx" in result["ptx"]


def test_libdevice_is_linked_only_if_it_is_called(compiled, request_of, workers: Workers) -> None:
    written = compiled(RSQRT_SCALE)["ptx"]
    assert b"rsqrt.approx.f32" in written
    assert b"__nv_" not in written and b".func" not in written
    nowhere = {**request_of(MULTIPLY), "libdevice": "/nowhere/libdevice.10.bc"}
    assert workers.submit(compile_ir, nowhere).result() == compiled(MULTIPLY)


@pytest.mark.parametrize(
    ("option", "instruction"), [("-ftz=1", b"rsqrt.approx.ftz.f32"), ("-opt=0", b"rsqrt.approx.f32")]
)
def test_options_reach_libdevice(option: str, instruction: bytes, compiled) -> None:
    assert instruction in compiled(RSQRT_SCALE, "80", option)["ptx"]


def test_a_definition_in_the_source_takes_precedence_over_libdevice(compiled) -> None:
    own = b"define float @__nv_rsqrtf(float %x) {\n  %r = fadd float %x, 1.0\n  ret float %r\n}\n"
    written = compiled(RSQRT_SCALE.replace(b"declare float @__nv_rsqrtf(float)\n", own))["ptx"]
    assert b"rsqrt.approx" not in written and b"add" in written


@pytest.mark.parametrize("arch", ["80", "100"])
@pytest.mark.parametrize("lto", [False, True])
def test_modules_link_into_one_image(lto: bool, arch: str, compiled, workers: Workers) -> None:
    caller = MULTIPLY.replace(b"fmul float %left, %right", b"call float @combined(float %left, float %right)")
    caller += b"declare float @combined(float, float)\n"
    callee = b"define float @combined(float %a, float %b) {\n  %r = fmul float %a, %b\n  ret float %r\n}\n"
    results = [compiled(caller, arch, lto=lto), compiled(HEAD + callee + VERSION, arch, lto=lto)]
    codes = [result["ltoir" if lto else "ptx"] for result in results]
    assert b"multiply" in workers.submit(link, (codes, arch, lto)).result()
    with pytest.raises(Exception, match=r"ERROR|Undefined reference"):
        workers.submit(link, (codes[:1], arch, lto)).result()


VARIABLES = {
    "i1": "true", "i8": "7", "i16": "7", "i32": "7", "i64": "7", "i128": "7", "float": "1.0", "double": "1.0",
    "<3 x float>": "zeroinitializer", "[5 x i16]": "zeroinitializer", "{ i8, i32, [3 x i8] }": "zeroinitializer",
    "i8*": "null", "{ i8*, i32 }": "zeroinitializer", "i8 addrspace(1)*": "@other",
}  # fmt: skip
"""Values by type."""


@pytest.mark.parametrize("arch", ["80", "100"])
@pytest.mark.parametrize("space", ["addrspace(1)", "addrspace(4)", ""])
def test_linking_ltoir_keeps_the_variables(
    space: str, arch: str, compiled, workers: Workers, cuobjdump, tmp_path: Path
) -> None:
    lines = ["@other = addrspace(1) global i8 0"]
    lines += [f"@v{n} = {space} global {type} {value}" for n, (type, value) in enumerate(VARIABLES.items())]
    text = MULTIPLY.replace(b"define void", "\n".join([*lines, "define void"]).encode(), 1)
    result = compiled(text, arch, lto=True)
    symbols = []
    for lto in (False, True):
        cubin = tmp_path / "k.cubin"
        cubin.write_bytes(workers.submit(link, ([result["ltoir" if lto else "ptx"]], arch, lto)).result())
        found = re.findall(r"(0x\w+)\s+OBJECT\s+GLOBAL\s.*\s(\w+)$", cuobjdump("-elf", cubin), re.MULTILINE)
        symbols.append({name: int(size, 16) for size, name in found})
    assert symbols[0] == symbols[1]
    assert len(symbols[0]) == len(lines)


def compile_elsewhere(job: tuple[NvvmRequest, str]) -> NvvmResult:
    os.chdir(job[1])
    return compile_ir(job[0])


@pytest.mark.slow
@pytest.mark.parametrize("arch", ["80", "100"])
def test_code_does_not_depend_on_folders_and_ptx_not_on_the_name(
    arch: str, compiled, request_of, nvvm: Nvvm, tmp_path: Path
) -> None:
    here = compiled(RSQRT_SCALE, arch, lto=True)
    moved = tmp_path / "libdevice.10.bc"
    moved.write_bytes(Path(nvvm.libdevice).read_bytes())
    request = {**request_of(RSQRT_SCALE, arch, lto=True), "libdevice": str(moved)}
    with Workers(timeout=60, memory=None, count=1) as others:
        assert others.submit(compile_elsewhere, (request, str(tmp_path))).result() == here
    static = MULTIPLY.replace(b"define void", b"@count = internal addrspace(1) global i32 0\n\ndefine void")
    static = static.replace(b"  ret void", b"  %c = atomicrmw add i32 addrspace(1)* @count, i32 1 seq_cst\n  ret void")
    assert compiled(static, arch)["ptx"] == compiled(static, arch, name="other/name.ll")["ptx"]


def test_the_assembler_reports_no_spills(compiled) -> None:
    cubin, log = assemble([compiled(MULTIPLY)["ptx"].decode()], "80", ("-Xptxas=-v",))
    assert b"multiply" in cubin and "0 bytes spill stores" in log


# --- errors -------------------------------------------------------------------------------------------

MISTAKES = {
    "undefined value": (b"fmul float %left", b"fmul float %gone", "src/k.ll:24:25: error: use of undefined value '%gone'\n"),
    "type": (b"fmul float %left", b"fmul float %index", "src/k.ll:24:25: error: '%index' defined with type 'i32'"),
    "characters": (
        b"%product = fmul float %left",
        '%"é" = fmul float %gone'.encode(),
        "src/k.ll:24:21: error: use of undefined value '%gone'\n"
        '    %"é" = fmul float %gone, %right\n'
        "                      ^",
    ),
    "no terminator": (b"  ret void\n", b"", "src/k.ll:29:1: error: expected instruction opcode\n  }\n  ^"),
    "dominance": (
        b"entry:\n",
        b"entry:\n  %early = add i32 %thread, 1\n",
        "src/k.ll:12: error: Instruction does not dominate all uses!\n  %thread = call i32",
    ),
    "no layout": (b"target datalayout", b"; target", f'target datalayout = "{DATA_LAYOUT}"'),
    "layout": (b"e-p:64:64:64-i1:8:8", b"e-p:64:64:64-i1:16:16", f'help: this data layout works for every target: target datalayout = "{DATA_LAYOUT}"'),
    "no triple": (b"target triple", b"; target", f'help: this triple works for every target: target triple = "{TRIPLE}"'),
    "triple": (
        b"nvptx64-nvidia-cuda",
        b"x86_64-unknown-linux-gnu",
        "src/k.ll: error: Invalid target triple (x86_64-unknown-linux-gnu)\nhelp: this triple works for every target: target",
    ),
    "no version": (b"!nvvmir.version", b"; ", "src/k.ll: error: IR version 1.0 incompatible with current version 2.0\nhelp: the metadata must"),
    "version": (b"!{i32 2, i32 0}", b"!{i32 9, i32 0}", "src/k.ll: error: IR version 9.0 incompatible with current version 2.0\nhelp: the"),
    "result": (b"define void @multiply", b"define i32 @multiply", "help: a kernel must return void"),
}  # fmt: skip


@pytest.mark.parametrize("arch", ["80", "100"])
@pytest.mark.parametrize("mistake", MISTAKES)
def test_an_error_names_its_place(mistake: str, arch: str, compiled) -> None:
    old, new, expected = MISTAKES[mistake]
    assert old in MULTIPLY
    text = MULTIPLY.replace(old, new)
    if mistake == "result":
        text = text.replace(b"ret void", b"ret i32 0").replace(b"!{void (", b"!{i32 (")
    with pytest.raises(CompileError) as caught:
        compiled(text, arch)
    assert expected in str(caught.value)


NEWER = {
    "ptr": (OPAQUE, "which has no `ptr`: use typed pointers such as `float*`, which work for every target"),
    "fneg": (MULTIPLY.replace(b"fmul float %left, %right", b"fneg float %left"), "which has no `fneg`; for compute_100"),
    "freeze": (MULTIPLY.replace(b"add i32 %first, %thread", b"freeze i32 %thread"), "which has no `freeze`;"),
}  # fmt: skip


@pytest.mark.parametrize("word", NEWER)
def test_a_word_that_only_newer_targets_support_has_a_hint_for_older_ones(word: str, compiled) -> None:
    text, expected = NEWER[word]
    assert b".entry multiply" in compiled(text, "100")["ptx"]
    with pytest.raises(CompileError, match=re.escape(expected)):
        compiled(text, "90a")


GARBAGE = {
    "nothing": b"",
    "blanks": b" \n",
    "a zero": b"\0",
    "words": b"hello target datalayout",
    "bitcode's magic": b"BC\xc0\xde",
    "a cut": BITCODE.read_bytes()[:1000],
    "bitcode after its magic": b"BC\xc0\xde" + random.Random(1).randbytes(2000),
    "bytes": random.Random(2).randbytes(2000),
}


@pytest.mark.parametrize("arch", ["80", "100"])
@pytest.mark.parametrize("kind", GARBAGE)
def test_garbage_is_a_compile_error(kind: str, arch: str, compiled) -> None:
    with pytest.raises(CompileError, match=r"^src/k\.ll(:\d+:\d+)?: error: |the compiler process died"):
        compiled(GARBAGE[kind], arch)


def test_a_crash_does_not_affect_later_compilations(compiled, request_of) -> None:
    deep = HEAD + b"@x = global " + b"{" * 200_000
    with Workers(timeout=60, memory=None, count=1) as workers:
        with pytest.raises(CompileError, match="the compiler process died"):
            workers.submit(compile_ir, request_of(deep)).result()
        assert workers.submit(compile_ir, request_of(MULTIPLY)).result() == compiled(MULTIPLY)


@pytest.mark.parametrize("arch", ["80", "100"])
def test_a_mutation_compiles_or_is_a_compile_error(arch: str, compiled) -> None:
    draw = random.Random(arch)
    for _ in range(40):
        text = bytearray(draw.choice([MULTIPLY, RSQRT_SCALE, BITCODE.read_bytes()]))
        for _ in range(draw.randint(1, 4)):
            text[draw.randrange(len(text))] = draw.randrange(256)
        try:
            written = compiled(bytes(text), arch)["ptx"]
        except CompileError as error:
            written = str(error).encode()
        assert written.startswith((b"//", b"src/k.ll", b"the compiler process died"))


@pytest.mark.parametrize(
    ("arch", "option", "reason"), [("80", "-nonsense", "-nonsense"), ("999", "-opt=3", "-arch=compute_999")]
)
def test_a_rejected_option_is_a_config_error(arch: str, option: str, reason: str, compiled) -> None:
    with pytest.raises(
        ConfigError, match=rf"^src/k\.ll: libNVVM rejects an option \(.*\): {reason} is an unsupported option\.$"
    ):
        compiled(MULTIPLY, arch, option)


def test_another_release_of_libnvvm_does_not_use_the_cache(
    toolchain: Toolchain, nvvm: Nvvm, tmp_path: Path, workers: Workers
) -> None:
    source = Source("demo/k.ll", "nvvm", MULTIPLY)
    settings = ModuleConfig(name="demo.k", sources=("demo/k.ll",), architectures=Architectures(("80-real",), "a test"))
    module = SourceModule("demo.k", (source,), (), settings)

    def plan(release: str) -> Plan:
        return make_plan(Config(), [module], tmp_path, toolchain, list, nvvm._replace(release=release))

    cache = CompileCache(Cache(str(tmp_path / "cache")), toolchain)
    (built,) = PlanRunner(plan(nvvm.release), workers, SilentReporter(), cache).run()
    assert built.manifest.toolchain["nvvm"] == nvvm.release
    ((job,), (other,)) = (plan(release).modules[0].jobs for release in (nvvm.release, "12.0.1"))
    assert cache.load_job(job) is not None
    assert cache.load_job(other) is None


# --- installation -------------------------------------------------------------------------------------


def test_a_missing_libnvvm_is_an_error_with_its_package(toolchain: Toolchain, extra: str, monkeypatch) -> None:
    monkeypatch.setattr(find, "find_other_library", lambda name, major: None)
    package = {"cu12": "nvidia-cuda-nvcc-cu12>=12.9,<13", "cu13": r"cuda-toolkit\[nvvm\]>=13"}[extra]
    with pytest.raises(ToolchainError, match=f'not installed. Add "{package}"'):
        find_nvvm(toolchain)
    assert [(part.name, part.path) for part in toolchain_parts()[-2:]] == [("nvvm", None), ("libdevice", None)]


def test_a_libnvvm_without_its_libdevice_is_rejected(toolchain: Toolchain, monkeypatch) -> None:
    found = Library("/opt/cuda/nvvm/lib64/libnvvm.so", "CUDA_HOME")
    monkeypatch.setattr(find, "find_other_library", lambda name, major: found)
    with pytest.raises(ToolchainError, match=r"installed \(/opt/cuda/nvvm/lib64/libnvvm\.so\), but its libdevice"):
        find_nvvm(toolchain)


@pytest.mark.parametrize("nvjitlink", ["11.8", "14.0"])
def test_a_libnvvm_that_does_not_work_with_the_linker_is_an_error(
    nvjitlink: str, toolchain: Toolchain, nvvm: Nvvm, workers: Workers
) -> None:
    with pytest.raises(
        ToolchainError, match=rf"libNVVM {nvvm.release} \(/.*\) and nvJitLink {nvjitlink} \(/.*\) do not work together"
    ):
        workers.submit(find_nvvm, replace(toolchain, nvjitlink=nvjitlink)).result()


@pytest.mark.parametrize(
    ("library", "libdevice"),
    [
        ("nvidia/cuda_nvcc/nvvm/lib64/libnvvm.so", "nvidia/cuda_nvcc/nvvm/libdevice"),
        ("nvidia/cuda_nvcc/nvvm/bin/nvvm64_40_0.dll", "nvidia/cuda_nvcc/nvvm/libdevice"),
        ("nvidia/cu13/lib/libnvvm.so.4", "nvidia/cu13/nvvm/libdevice"),
        ("nvidia/cu13/bin/x86_64/nvvm70.dll", "nvidia/cu13/nvvm/libdevice"),
        ("cuda/nvvm/lib64/libnvvm.so.4", "cuda/nvvm/libdevice"),
        ("cuda/nvvm/bin/x64/nvvm70.dll", "cuda/nvvm/libdevice"),
    ],
)
def test_libdevice_is_found_beside_its_libnvvm(library: str, libdevice: str, tmp_path: Path) -> None:
    from cuda_wheel.builder.toolchain.find import libdevice_beside

    assert libdevice_beside(str(tmp_path / library)) is None
    (tmp_path / libdevice).mkdir(parents=True)
    (tmp_path / libdevice / "libdevice.10.bc").touch()
    assert libdevice_beside(str(tmp_path / library)) == str(tmp_path / libdevice / "libdevice.10.bc")
