"""Each worker compiles the headers that many sources begin with once, and only the time differs."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from cuda_wheel.builder.compile import precompiled_headers as precompiled
from cuda_wheel.builder.compile.nvrtc_request import nvrtc_request
from cuda_wheel.builder.compile.precompiled_headers import (
    HEAP_BYTES,
    HEAVY_BYTES,
    HeaderGroup,
    Precompilation,
    PrecompiledHeaders,
    call_with_precompilation,
    current_precompilation,
    find_header_groups,
    header_bytes,
    is_worthwhile,
    preamble_prefixes,
    precompiles,
)
from cuda_wheel.builder.errors import CompileError
from cuda_wheel.builder.jobs import Job
from cuda_wheel.builder.rewriting.front_end import USED_PARTS_OPTION
from cuda_wheel.builder.toolchain import nvrtc
from cuda_wheel.builder.toolchain.toolchain import Toolchain
from cuda_wheel.builder.workers.executor import Call
from cuda_wheel.builder.workers.pool import Workers
from tests.support.processes import alive

Run = Callable[..., subprocess.CompletedProcess[str]]

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="headers are precompiled on Linux only")


# --- header groups --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "ends"),
    [
        ("", []),
        ("int x;\n#include <a>\n", []),
        ("#include <a>\n#include <b>\n#define C\nint x;\n#include <d>\n", ["<a>", "<b>"]),
        (
            "// one\n/* two\n#include <no> */ #include <a> // three \\\n#include <no>\nint x;",
            ["// three \\\n#include <no>"],
        ),
        ("#if 1\n#include <a>\n#endif\n#include <b>", ["#endif", "<b>"]),
        ("#include <a>\n#if 1\n#include <b>\nint x;\n#endif\n", ["<a>"]),
        ('#define X "/*" \\\n  1\n#include <a>\n', ["<a>"]),
        ("#pragma once\n\r\n  #  include <a>\r\nint x;", ["<a>\r"]),
        ("__global__ void k() {}\n", []),
    ],
)
def test_a_preamble_ends_with_the_first_token_of_code(text: str, ends: Sequence[str]) -> None:
    found = [text[:end] for _, end in preamble_prefixes(text.encode())]
    assert len(found) == len(ends) and all(map(str.endswith, found, ends))


def test_comments_and_white_space_do_not_change_a_preamble() -> None:
    def key(text: str) -> str:
        ((key, _),) = preamble_prefixes(text.encode())
        return key

    one = key('#define URL "http://a"\n#include <a>\nint x;')
    assert one == key('// kernel two\n#define   URL \\\n "http://a" /* here */\n\n# include <a> // b\nfloat y;')
    assert one != key('#define URL "http://b"\n#include <a>\n')
    assert one != key('#include <a>\n#define URL "http://a"\n')


def job(source: str, text: str, arch: str = "80", **others: Any) -> Job:
    settings: dict[str, Any] = {"options": (), "include_dirs": (".",), "instantiate": (), "lineinfo": False} | others
    return Job("nvrtc", "/", source, text.encode(), arch, True, False, ptx_version="auto", **settings)


def test_a_group_shares_as_many_includes_as_possible() -> None:
    texts = {"a": "#include <x>\n#include <y>\n#include <a>", "b": "#include <x>\n#include <y>\n#include <b>"}
    texts |= {"c": "// c\n#include <x>\n#include <y>\n", "d": "#include <x>\n#include <d>\n", "e": "#include <e>\n"}
    jobs = [job(name, text, arch) for name, text in texts.items() for arch in ("80", "90")]
    found = find_header_groups(jobs)
    assert {(each.source, each.arch): (group.text, group.jobs) for each, group in found.items()} == {
        (name, arch): (text[: text.index("<y>") + 3].encode(), 3)
        for name, text in texts.items()
        for arch in ("80", "90")
        if "<y>" in text
    } | {("d", arch): (b"#include <x>", 4) for arch in ("80", "90")}
    assert len({group.key for group in found.values()}) == 4


@pytest.mark.parametrize(
    "other",
    [
        {"arch": "90"},
        {"options": ("-DX=1",)},
        {"include_dirs": ("include",)},
        {"lineinfo": True},
        {"form": "lto"},
        {"kind": "nvvm"},
    ],
)
def test_jobs_that_differ_in_more_than_their_source_form_no_group(other: dict[str, Any]) -> None:
    same = [job(name, "#include <x>\n") for name in "ab"]
    assert find_header_groups([*same, job("c", "#include <x>\n", **other)]) == {}
    assert len(find_header_groups([*same, job("c", "#include <x>\n")])) == 3


def test_jobs_with_options_for_precompiled_headers_are_in_no_group_and_those_with_host_code_in_their_own() -> None:
    assert find_header_groups([job(name, "#include <x>\n", options=("--pch",)) for name in "abc"]) == {}
    hosts = [job(name, "#include <x>\nvoid f() { k<<<1, 1>>>(); }") for name in "abc"]
    assert len(find_header_groups(hosts)) == 3
    assert find_header_groups([*hosts[:2], job("c", "#include <x>\n")]) == {}  # which is compiled without a preamble


def test_heavier_headers_are_worthwhile_for_fewer_jobs() -> None:
    assert [is_worthwhile(jobs, HEAVY_BYTES) for jobs in (2, 3)] == [False, True]
    assert [is_worthwhile(jobs, 200_000) for jobs in (6, 12)] == [False, True]
    assert not is_worthwhile(100, 1000)
    assert not is_worthwhile(10**9, 0)


def test_the_size_of_headers_includes_what_they_include(tmp_path: Path) -> None:
    (tmp_path / "include").mkdir()
    (tmp_path / "a.h").write_text('#include "b.h"\n#include <missing>\n#include "a.h"\n')
    (tmp_path / "include/b.h").write_text("/" * 1000)
    size = (tmp_path / "a.h").stat().st_size
    assert header_bytes(b'#include "a.h"\n', str(tmp_path), ("include",)) == size + 1000
    (tmp_path / "include/b.h").write_text("/" * 10 * HEAVY_BYTES)
    assert header_bytes(b'\n#include "a.h"\n', str(tmp_path), ("include",)) == HEAVY_BYTES


# --- compiling one source -------------------------------------------------------------------------------

KERNEL = "__global__ void k(int* x) { *x = own(1); }\n"
OWN = "#pragma once\nstatic __device__ int own(int x) { return x + 1; }\n"
NAMELESS = """
namespace { __device__ int v = 3; template <class T> __global__ void t(T* x) { *x = v; } }
static __device__ int s = 4;
__constant__ int c[4];
template <class F> __device__ __noinline__ int apply(F f, int x) { return f(x); }
static __device__ __noinline__ int own(int) { return apply([](int a) { return a * 2; }, s); }
"""


if TYPE_CHECKING:
    Step = tuple[Precompilation, nvrtc.NvrtcRequest, str | None]
    """What to compile, and the content that own.h gets before, if any."""

    Outcome = tuple[nvrtc.NvrtcResult, nvrtc.NvrtcResult, bool]
    """The answers with and without precompiled headers, and whether there were precompiled headers."""


def _compiled(steps: list[Step]) -> list[Outcome]:
    """Compile each step, with one set of precompiled headers."""
    precompiled._reserve_memory.cache_clear()  # an earlier test of this process may have disabled precompiled headers
    headers = PrecompiledHeaders()
    outcomes = []
    for precompilation, request, edit in steps:
        if edit is not None:
            Path(request["folder"], "own.h").write_text(edit)
        plain = nvrtc.compile_text(request)
        answer = headers.compile(request, precompilation)
        for each in (plain, answer):
            each["log"] = re.sub(r"Compile time = .*", "", each["log"])
        outcomes.append((answer, plain, not headers.is_empty))
    headers.close()
    return outcomes


def _compiled_with_hard_limit(steps: list[Step]) -> list[Outcome]:
    """Compile each step in a process whose memory limit cannot be raised."""
    import resource

    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * resource.getpagesize() + 6 * HEAP_BYTES
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    return _compiled(steps)


class Lab:
    """A folder of headers, and a worker that compiles sources which include them."""

    def __init__(self, folder: Path, toolchain: Toolchain, workers: Workers) -> None:
        self.folder = folder
        self.scratch = folder / "scratch"
        self.scratch.mkdir()
        self._toolchain = toolchain
        self._workers = workers

    def step(
        self, preamble: str, body: str, *options: str, name: str = "demo/k.cu", edit: str | None = None, **others: Any
    ) -> Step:
        precompilation = Precompilation(HeaderGroup(preamble, preamble.encode(), 10**9), 10**9, str(self.scratch))
        job = Job(
            self._toolchain.libraries[0],
            str(self.folder),
            name,
            f"{preamble}\n{body}".encode(),
            "80",
            True,
            False,
            options,
            (".", *self._toolchain.header_folders),
            others.pop("instantiate", ()),
            False,
            "auto",
            **others,
        )
        return precompilation, nvrtc_request(job), edit

    def compiled(self, *steps: Step) -> list[Outcome]:
        return self._workers.submit(_compiled, list(steps)).result()


@pytest.fixture(scope="module")
def worker():
    with Workers(timeout=60, memory=8 << 30, count=1) as workers:
        yield workers


@pytest.fixture
def lab(tmp_path: Path, toolchain: Toolchain, worker: Workers) -> Lab:
    return Lab(tmp_path, toolchain, worker)


def write_own(lab: Lab, text: str) -> None:
    """Write own.h, with a modification time before the compilation."""
    path = lab.folder / "own.h"
    path.write_text(text)
    os.utime(path, (1e9, 1e9))


@pytest.mark.parametrize(
    ("header", "body", "others"),
    [
        (OWN, KERNEL, {}),
        (OWN, '#include "own.h"\n#include <cuda_fp16.h>\n' + KERNEL, {}),  # one more, and in the body
        (
            NAMELESS,
            KERNEL
            + "__global__ void m(int* x) { *x = v + c[1]; } namespace { template __global__ void t<int>(int*); }",
            {},
        ),
        (NAMELESS, KERNEL + "namespace { template __global__ void t<int>(int*); }", {"form": "ptx"}),
        (NAMELESS, KERNEL, {"form": "lto"}),
        (OWN + "template <class T> __global__ void t(T*) {}\n", KERNEL, {"instantiate": ("t<int>", "t<float>")}),
        (OWN, KERNEL.replace("own(1)", "own(1); int unused"), {}),
        (OWN + "static __device__ int unused() { return 1; }\n", KERNEL, {}),
    ],
)
def test_results_are_equal_with_and_without_precompiled_headers(
    header: str, body: str, others: dict[str, Any], lab: Lab
) -> None:
    """The code, symbols, warnings and list of headers, for one source after the other."""
    write_own(lab, header)
    steps = [lab.step('#include "own.h"', body, name=name, **others) for name in ("demo/a.cu", "demo/sub/b.cu")]
    for answer, plain, used in lab.compiled(*steps):
        assert used
        assert answer == plain
        assert plain["error"] == ""
    assert list(lab.scratch.iterdir()) == []


PYTORCH = "#include <torch/extension.h>\n#include <ATen/ops/zeros.h>"
LAUNCHER = """
template <class T> __global__ void scale(T* x) { *x = *x * T(2); }
torch::Tensor scaled(torch::Tensor x)
{
    AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "scaled", [&] { scale<scalar_t><<<1, 1>>>(x.data_ptr<scalar_t>()); });
    return at::zeros({1}, x.options());
}
"""


def test_sources_with_host_code_share_precompiled_headers(lab: Lab) -> None:
    """Also the preamble, and the headers that are given in memory: ATen/ops/zeros.h is not a file."""
    steps = [lab.step(PYTORCH, LAUNCHER.replace("scale", name), name=f"demo/{name}.cu") for name in ("one", "two")]
    for answer, plain, used in lab.compiled(*steps):
        assert used and answer == plain and plain["error"] == ""
        assert plain["ptx"].count(b".entry") == 2


def test_only_headers_of_libraries_are_precompiled_for_sources_that_name_their_parts(lab: Lab) -> None:
    """PyTorch's stand-ins and the runtime API take less time if each source reads the parts that it names."""

    def is_precompiled(preamble: str, jobs: int) -> bool:
        precompilation, request, _ = lab.step(preamble, "")
        group = precompilation.group._replace(text=preamble.encode())
        return call_with_precompilation((Precompilation(group, jobs, None), precompiles, request))

    assert is_precompiled("#include <cub/cub.cuh>\n#include <torch/extension.h>", 4)
    assert not is_precompiled("#include <cub/cub.cuh>", 2)
    assert not is_precompiled("#include <torch/extension.h>\n#include <cuda_runtime.h>\n#include <vector>", 1000)
    assert not precompiles(lab.step("#include <cub/cub.cuh>", "")[1])
    step = lab.step(PYTORCH, LAUNCHER)
    step[1]["options"].append(USED_PARTS_OPTION)
    ((_, _, used),) = lab.compiled(step)
    assert not used


def test_different_headers_in_memory_do_not_share_precompiled_headers(lab: Lab) -> None:
    precompilation, request, _ = lab.step("#include <cuda_fp16.h>\n#include <own.h>", KERNEL)
    steps: list[Step] = [
        (precompilation, {**request, "headers": {**request["headers"], "own.h": OWN.replace("1", each).encode()}}, None)
        for each in "121"
    ]
    first, second, third = lab.compiled(*steps)
    assert all(used and answer == plain for answer, plain, used in (first, second, third))
    assert first[0]["ptx"] == third[0]["ptx"] != second[0]["ptx"]


@pytest.mark.parametrize("option", ["-lineinfo", "-G"])
def test_debug_information_is_equal_with_and_without_precompiled_headers(option: str, lab: Lab) -> None:
    write_own(lab, NAMELESS)
    for answer, plain, used in lab.compiled(lab.step('#include "own.h"', KERNEL, option)):
        assert used and answer == plain


@pytest.mark.parametrize(
    ("header", "body"),
    [
        (OWN + "inline __device__ int f() { int unused; return 1; }\n", KERNEL),  # a warning for each source
        (OWN + "inline __device__ const char* f() { return __BASE_FILE__; }\n", KERNEL),
        (OWN + '#define BASE "__BASE_FILE__"\n', KERNEL),
        (OWN + "inline __device__ const char* f() { return __TIME__; }\n", KERNEL),
        ("namespace n {\n" + OWN, "}\nusing n::own;\n" + KERNEL),
        ("#error no\n", KERNEL),
        ("wrong\n", KERNEL),
    ],
)
def test_headers_that_cannot_be_precompiled_are_compiled_normally(header: str, body: str, lab: Lab) -> None:
    write_own(lab, header)
    steps = [lab.step('#include "own.h"', body, name=name) for name in ("demo/a.cu", "demo/b.cu")]
    steps.append(lab.step("#include <cuda_fp16.h>", "__global__ void k() {}"))  # nothing more is precompiled
    for answer, plain, used in lab.compiled(*steps):
        assert not used
        assert answer["error"] == plain["error"]
        assert "__TIME__" in header or answer == plain
    assert list(lab.scratch.iterdir()) == []


def test_errors_are_reported_as_without_precompiled_headers_which_stay(lab: Lab) -> None:
    write_own(lab, OWN)
    bodies = [KERNEL, KERNEL.replace("own(1)", "owm(1)"), KERNEL]
    results = lab.compiled(*(lab.step('#include "own.h"', body) for body in bodies))
    assert [bool(answer["error"]) for answer, _, _ in results] == [False, True, False]
    assert all(used and answer == plain for answer, plain, used in results)


def test_an_edited_header_is_read_again(lab: Lab) -> None:
    write_own(lab, OWN)
    edit = OWN.replace("1", "7")
    first, second = lab.compiled(lab.step('#include "own.h"', KERNEL), lab.step('#include "own.h"', KERNEL, edit=edit))
    assert first[0] == first[1] and first[2]
    assert second[0] == second[1] and not second[2]
    assert second[0]["ptx"] != first[0]["ptx"]


def test_different_options_do_not_share_precompiled_headers(lab: Lab) -> None:
    write_own(lab, "__device__ int own(int x) { return x + X; }\n")
    steps = [lab.step('#include "own.h"', KERNEL, f"-DX={number}") for number in (1, 2, 1)]
    assert all(used and answer == plain for answer, plain, used in lab.compiled(*steps))


def test_a_header_that_changes_while_it_is_read_is_not_precompiled(lab: Lab) -> None:
    write_own(lab, OWN)
    os.utime(lab.folder / "own.h", (4e9, 4e9))
    ((answer, plain, used),) = lab.compiled(lab.step('#include "own.h"', KERNEL))
    assert not used and answer == plain


def test_a_source_with_another_preamble_is_compiled_normally(lab: Lab) -> None:
    """Its group says that it begins like another source, and NVRTC detects that it does not."""
    write_own(lab, OWN)
    right = lab.step('#include "own.h"', KERNEL)
    precompilation, request, _ = lab.step(
        '#define own mine\n#include "own.h"\n#undef own', KERNEL.replace("own", "mine")
    )
    group = precompilation.group._replace(key=right[0].group.key)
    wrong = precompilation._replace(group=group), request, None
    first, second = lab.compiled(right, wrong)
    assert first[2] and not second[2]
    assert second[0] == second[1]


def test_without_a_folder_to_write_to_sources_are_compiled_normally(lab: Lab) -> None:
    write_own(lab, OWN)
    precompilation, request, _ = lab.step('#include "own.h"', KERNEL)
    nowhere = precompilation._replace(folder=str(lab.folder / "missing"))
    for answer, plain, used in lab.compiled((nowhere, request, None), (precompilation, request, None)):
        assert not used and answer == plain


def test_a_memory_limit_of_the_system_is_respected(lab: Lab) -> None:
    write_own(lab, OWN)
    with Workers(timeout=60, memory=None, count=1) as workers:
        ((answer, plain, used),) = workers.submit(
            _compiled_with_hard_limit, [lab.step('#include "own.h"', KERNEL)]
        ).result()
    assert not used and answer == plain


class Compiler:
    """A stand-in for NVRTC that fails in a given way when it writes or reads precompiled headers."""

    def __init__(self, failure: str) -> None:
        self.failure = failure
        self.created = 0

    def __call__(self, request: nvrtc.NvrtcRequest) -> nvrtc.NvrtcResult:
        answer: nvrtc.NvrtcResult = {
            "error": "",
            "log": "",
            "headers": [],
            "absent": [],
            "ptx": request["text"],
            "cubin": b"",
            "ltoir": b"",
            "symbols": [],
            "uses_build_time": False,
        }
        option = request["options"][-1]
        if option.startswith("--create-pch="):
            self.created += 1
            if self.failure == "cannot write":
                raise OSError(28, "No space left on device")
            if self.failure != "writes nothing":
                Path(option.partition("=")[2]).touch()
            name = "" if self.failure == "does not report it" else option.partition("=")[2]
            return {**answer, "log": f'"k.cu": creating precompiled header file "{name}"\n'}
        if option.startswith("--use-pch="):
            if self.failure == "has no memory":
                raise MemoryError
            name = "" if self.failure == "refuses" else option.partition("=")[2]
            error = "NVRTC_ERROR_COMPILATION" if self.failure == "fails" else ""
            return {**answer, "error": error, "log": f'"k.cu": using precompiled header file "{name}"\n'}
        return answer


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[PrecompiledHeaders, Callable[..., bytes]]]:
    """Yield the headers of a process, with a function that compiles by a stand-in for NVRTC and returns the PTX."""
    headers = PrecompiledHeaders()
    monkeypatch.setattr(precompiled, "_reserve_memory", lambda library: True)
    monkeypatch.setattr(nvrtc, "set_precompiled_heap", lambda library, size: True)
    (tmp_path / "own.h").write_text(OWN)

    def compile(compiler: Compiler, *options: str) -> bytes:
        monkeypatch.setattr(nvrtc, "compile_text", compiler)
        group = HeaderGroup("k", b'#include "own.h"', 10**9)
        request: nvrtc.NvrtcRequest = {
            "library": "nvrtc",
            "folder": str(tmp_path),
            "text": b'#include "own.h"\nk',
            "name": "k.cu",
            "options": [f"--include-path={tmp_path}", *options],
            "expressions": [],
        }
        answer = headers.compile(request, Precompilation(group, 10**9, str(tmp_path)))
        assert (answer["error"], answer["log"]) == ("", "")
        return answer["ptx"]

    yield headers, compile
    headers.close()


@pytest.mark.parametrize(
    "failure", ["cannot write", "writes nothing", "does not report it", "has no memory", "refuses", "fails"]
)
def test_after_any_failure_nothing_more_is_precompiled(
    failure: str, fake: tuple[PrecompiledHeaders, Callable[..., bytes]], tmp_path: Path
) -> None:
    headers, compile = fake
    compiler = Compiler(failure)
    assert [compile(compiler), compile(compiler)] == [b'#include "own.h"\nk'] * 2
    assert compiler.created == 1 and headers.is_empty
    assert [path.name for path in tmp_path.iterdir()] == ["own.h"]


def test_headers_that_are_compiled_with_two_sets_of_options_are_precompiled_for_the_first(
    fake: tuple[PrecompiledHeaders, Callable[..., bytes]],
) -> None:
    headers, compile = fake
    compiler = Compiler("")
    for option in ("-dlto", "-DX", "-dlto", "-DX"):
        compile(compiler, option)
    assert compiler.created == 1 and not headers.is_empty


# --- whole builds ---------------------------------------------------------------------------------------

SMALL_TYPES = "#include <cuda_fp16.h>\n#include <cuda_bf16.h>\n#include <cuda_fp8.h>\n"


@pytest.mark.slow
def test_a_build_has_the_same_outputs_with_and_without_precompiled_headers(
    make_project, cuda_wheel: Run, tmp_path: Path
) -> None:
    files = {f"demo/k{number}.cu": source(number) for number in range(6)} | {"demo/own.h": OWN, "demo/two.h": ""}
    project = make_project('[tool.cuda-wheel]\narchitectures = ["80-real", "90"]\n', **files)

    def built(setting: str, jobs: int, cache: str) -> tuple[dict[str, bytes], int, str]:
        """Return the outputs of a build, how often it precompiled headers, and its last line."""
        scratch, trace, out = tmp_path / "scratch", tmp_path / "trace.json", tmp_path / "out"
        scratch.mkdir(exist_ok=True)
        environ = {"CUDA_WHEEL_PRECOMPILED_HEADERS": setting, "CUDA_WHEEL_JOBS": str(jobs), "TMPDIR": str(scratch)}
        environ |= {"CUDA_WHEEL_TIMINGS": str(trace), "CUDA_WHEEL_CACHE_DIR": str(tmp_path / cache)}
        result = cuda_wheel("build", project, "-o", out, **environ)
        assert result.returncode == 0, result.stdout
        assert "precompiled header file" not in result.stdout
        assert list(scratch.iterdir()) == []
        events = [event["name"] for event in json.loads(trace.read_text())["traceEvents"]]
        outputs = {path.name: path.read_bytes() for path in out.rglob("*.fatbin*")}
        return outputs, events.count("precompiling"), result.stdout.splitlines()[-1]

    plain, none, _ = built("off", 1, "plain")
    one, twice, _ = built("auto", 1, "one")
    two, each, _ = built("auto", 2, "two")
    assert plain == one == two
    assert none == 0 and 1 <= twice <= 2  # once for each target for which enough jobs wait when the first is done
    assert each >= 2
    (project / "demo/own.h").write_text(OWN.replace("1", "2"))
    assert "6 from the cache, 6 compiled" in built("auto", 1, "one")[2]  # half of them include it
    (project / "demo/two.h").write_text("// edited\n")
    assert "12 from the cache" in built("auto", 1, "one")[2]


def source(number: int) -> str:
    own = '#include "own.h"\n' if number % 2 else "static __device__ int own(int x) { return x; }\n"
    return f"// Kernel {number}.\n{SMALL_TYPES}{own}__global__ void k{number}(int* x) {{ *x = own({number}); }}\n"


def test_the_environment_variable_must_be_auto_or_off(make_project, cuda_wheel: Run, tmp_path: Path) -> None:
    result = cuda_wheel("build", make_project(), "-o", tmp_path / "out", CUDA_WHEEL_PRECOMPILED_HEADERS="on")
    assert result.returncode == 1
    assert 'CUDA_WHEEL_PRECOMPILED_HEADERS must be "auto" or "off", not \'on\'' in result.stdout


# --- temporary files ------------------------------------------------------------------------------------

GROUP = HeaderGroup("k", b"", 100)


def _die_writing(_: None) -> None:
    """Die while precompiling headers; in a call without precompiled headers, die in another way."""
    precompilation = current_precompilation()
    if precompilation is None:
        os.abort()
    assert precompilation.folder is not None
    Path(precompilation.folder, "headers.pch").write_bytes(bytes(1000))
    os.kill(os.getpid(), signal.SIGKILL)


def _die_once(_: None) -> str:
    if current_precompilation() is not None:
        os.kill(os.getpid(), signal.SIGKILL)
    return "done"


def test_a_worker_that_is_killed_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with Workers(timeout=60, memory=None, count=1) as workers:
        with pytest.raises(CompileError, match="SIGABRT"):
            workers.enqueue(Call(_die_writing, None, headers=GROUP)).result()
        assert list(tmp_path.iterdir()) == []
        workers.enqueue(Call(len, (), headers=GROUP)).result()
        assert [path.stat().st_mode & 0o777 for path in tmp_path.iterdir()] == [0o700]
    assert list(tmp_path.iterdir()) == []


def test_a_job_whose_worker_died_runs_again_without_precompiled_headers() -> None:
    with Workers(timeout=60, memory=None, count=1) as workers:
        assert workers.enqueue(Call(_die_once, None, headers=GROUP)).result() == "done"


ORPHAN = """
import time
from cuda_wheel.builder.compile.precompiled_headers import HeaderGroup
from cuda_wheel.builder.workers.executor import Call
from cuda_wheel.builder.workers.pool import Workers
GROUP = HeaderGroup("k", b"", 100)
FOLDER = "__import__('importlib').import_module('cuda_wheel.builder.compile.precompiled_headers').current_precompilation().folder"
WRITE = f"[open({FOLDER} + '/headers.pch', 'w').close()] and __import__('os').getpid()"
with Workers(timeout=600, memory=None, count=1) as workers:
    print(workers.enqueue(Call(eval, WRITE, headers=GROUP)).result(), flush=True)
    workers.enqueue(Call(time.sleep, 600, headers=GROUP)).result()
"""


def test_a_killed_build_leaves_no_file(tmp_path: Path) -> None:
    environ = os.environ | {"TMPDIR": str(tmp_path)}
    with subprocess.Popen([sys.executable, "-c", ORPHAN], stdout=subprocess.PIPE, text=True, env=environ) as build:
        assert build.stdout is not None
        worker = int(build.stdout.readline())
        assert len(list(tmp_path.glob("*/headers.pch"))) == 1
        build.kill()
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline and alive(worker):
            time.sleep(0.05)
    assert not alive(worker)
    assert list(tmp_path.iterdir()) == []
