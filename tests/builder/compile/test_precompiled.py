"""Headers that many sources begin with are compiled once by each worker, and nothing but time tells."""

from __future__ import annotations

import importlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from cuda_wheel.builder.compile import precompiled
from cuda_wheel.builder.compile.precompiled import Wish, is_worth, weight
from cuda_wheel.builder.compile.request import nvrtc_request
from cuda_wheel.builder.errors import CompileError
from cuda_wheel.builder.jobs import Job
from cuda_wheel.builder.schedule.groups import Group
from cuda_wheel.builder.schedule.preamble import beginnings, groups
from cuda_wheel.builder.toolchain import nvrtc
from cuda_wheel.builder.toolchain.records import INCLUDE, Toolchain
from cuda_wheel.builder.workers.pool import Workers
from tests.builder.workers.test_pool import alive

Run = Callable[..., subprocess.CompletedProcess[str]]

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="headers are precompiled on Linux alone")


# --- what sources have in common ----------------------------------------------------------------------


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
    found = [text[:end] for _, end in beginnings(text.encode())]
    assert len(found) == len(ends) and all(map(str.endswith, found, ends))


def test_comments_and_white_space_make_no_other_preamble() -> None:
    def key(text: str) -> str:
        ((key, _),) = beginnings(text.encode())
        return key

    one = key('#define URL "http://a"\n#include <a>\nint x;')
    assert one == key('// kernel two\n#define   URL \\\n "http://a" /* here */\n\n# include <a> // b\nfloat y;')
    assert one != key('#define URL "http://b"\n#include <a>\n')
    assert one != key('#include <a>\n#define URL "http://a"\n')


def job(source: str, text: str, arch: str = "80", **others: Any) -> Job:
    settings: dict[str, Any] = {"options": (), "include_dirs": (".",), "instantiate": (), "lineinfo": False} | others
    return Job("nvrtc", "/", source, text.encode(), arch, True, False, ptx_version="auto", **settings)


def test_a_group_shares_as_many_includes_as_it_can() -> None:
    texts = {"a": "#include <x>\n#include <y>\n#include <a>", "b": "#include <x>\n#include <y>\n#include <b>"}
    texts |= {"c": "// c\n#include <x>\n#include <y>\n", "d": "#include <x>\n#include <d>\n", "e": "#include <e>\n"}
    jobs = [job(name, text, arch) for name, text in texts.items() for arch in ("80", "90")]
    found = groups(jobs)
    assert {(its.source, its.arch): (group.text, group.jobs) for its, group in found.items()} == {
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
def test_jobs_that_differ_in_more_than_their_source_are_no_group(other: dict[str, Any]) -> None:
    same = [job(name, "#include <x>\n") for name in "ab"]
    assert groups([*same, job("c", "#include <x>\n", **other)]) == {}
    assert len(groups([*same, job("c", "#include <x>\n")])) == 3


def test_what_asks_for_precompiled_headers_or_launches_kernels_is_in_no_group() -> None:
    assert groups([job(name, "#include <x>\n", options=("--pch",)) for name in "abc"]) == {}
    assert groups([job(name, "#include <x>\nvoid f() { k<<<1, 1>>>(); }") for name in "abc"]) == {}


def test_the_heavier_the_headers_the_fewer_jobs_they_take() -> None:
    assert [is_worth(jobs, precompiled.MOST) for jobs in (2, 3)] == [False, True]
    assert [is_worth(jobs, 200_000) for jobs in (6, 12)] == [False, True]
    assert not is_worth(100, 1000)
    assert not is_worth(10**9, 0)


def test_headers_are_weighed_with_what_they_include(tmp_path: Path) -> None:
    (tmp_path / "include").mkdir()
    (tmp_path / "a.h").write_text('#include "b.h"\n#include <missing>\n#include "a.h"\n')
    (tmp_path / "include/b.h").write_text("/" * 1000)
    size = (tmp_path / "a.h").stat().st_size
    assert weight(b'#include "a.h"\n', str(tmp_path), ("include",)) == size + 1000
    (tmp_path / "include/b.h").write_text("/" * 10 * precompiled.MOST)
    assert weight(b'\n#include "a.h"\n', str(tmp_path), ("include",)) == precompiled.MOST


# --- what becomes of one text -------------------------------------------------------------------------

KERNEL = "__global__ void k(int* x) { *x = own(1); }\n"
OWN = "#pragma once\nstatic __device__ int own(int x) { return x + 1; }\n"
NAMELESS = """
namespace { __device__ int v = 3; template <class T> __global__ void t(T* x) { *x = v; } }
static __device__ int s = 4;
__constant__ int c[4];
template <class F> __device__ __noinline__ int apply(F f, int x) { return f(x); }
static __device__ __noinline__ int own(int) { return apply([](int a) { return a * 2; }, s); }
"""


def _compiled(calls: list[tuple[Wish, nvrtc.Request, str | None]]) -> list[tuple[nvrtc.Answer, nvrtc.Answer, bool]]:
    """Return, for each call, what a text became with the wish and without, and whether it had precompiled headers. Where
    there is an edit, own.h gets that content before."""
    importlib.reload(precompiled)  # this process may have precompiled something, or have given that up
    results = []
    for wish, request, edit in calls:
        if edit is not None:
            Path(request["folder"], "own.h").write_text(edit)
        plain = nvrtc.compile_text(request)
        answer = precompiled.with_headers((wish, precompiled.compile_text, request))
        for each in (plain, answer):
            each["log"] = re.sub(r"Compile time = .*", "", each["log"])
        results.append((answer, plain, precompiled._headers is not None))
    return results


def _limited(calls: list[tuple[Wish, nvrtc.Request, str | None]]) -> list[tuple[nvrtc.Answer, nvrtc.Answer, bool]]:
    """Do so in a process whose limit nobody can raise."""
    import resource

    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * resource.getpagesize() + 6 * precompiled.HEAP
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    return _compiled(calls)


class Lab:
    """A folder of headers, and a worker that compiles texts which include them."""

    def __init__(self, folder: Path, toolchain: Toolchain, workers: Workers) -> None:
        self.folder = folder
        self.scratch = folder / "scratch"
        self.scratch.mkdir()
        self._toolchain = toolchain
        self._workers = workers

    def call(
        self, preamble: str, body: str, *options: str, name: str = "demo/k.cu", edit: str | None = None, **others: Any
    ) -> tuple[Wish, nvrtc.Request, str | None]:
        wish = Wish(Group(preamble, preamble.encode(), 10**9), 10**9, str(self.scratch))
        its = Job(
            self._toolchain.libraries[0],
            str(self.folder),
            name,
            f"{preamble}\n{body}".encode(),
            "80",
            True,
            False,
            options,
            (".", str(INCLUDE), *self._toolchain.include_dirs),
            others.pop("instantiate", ()),
            False,
            "auto",
            **others,
        )
        return wish, nvrtc_request(its), edit

    def compiled(self, *calls: tuple[Wish, nvrtc.Request, str | None]) -> list[tuple[nvrtc.Answer, nvrtc.Answer, bool]]:
        return self._workers.submit(_compiled, list(calls)).result()


@pytest.fixture(scope="module")
def worker():
    with Workers(timeout=60, memory=8 << 30, count=1) as workers:
        yield workers


@pytest.fixture
def lab(tmp_path: Path, toolchain: Toolchain, worker: Workers) -> Lab:
    return Lab(tmp_path, toolchain, worker)


def written(lab: Lab, text: str) -> None:
    path = lab.folder / "own.h"
    path.write_text(text)
    os.utime(path, (1e9, 1e9))  # not while the headers are read


@pytest.mark.parametrize(
    ("header", "body", "others"),
    [
        (OWN, KERNEL, {}),
        (OWN, '#include "own.h"\n#include <cuda_fp16.h>\n' + KERNEL, {}),  # one more, and in the text
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
def test_with_precompiled_headers_all_is_as_without(header: str, body: str, others: dict[str, Any], lab: Lab) -> None:
    """The same code, symbols, warnings and list of headers, for one text after the other."""
    written(lab, header)
    calls = [lab.call('#include "own.h"', body, name=name, **others) for name in ("demo/a.cu", "demo/sub/b.cu")]
    for answer, plain, used in lab.compiled(*calls):
        assert used
        assert answer == plain
        assert plain["error"] == ""
    assert list(lab.scratch.iterdir()) == []


@pytest.mark.parametrize("option", ["-lineinfo", "-G"])
def test_so_it_is_with_what_debuggers_read(option: str, lab: Lab) -> None:
    written(lab, NAMELESS)
    for answer, plain, used in lab.compiled(lab.call('#include "own.h"', KERNEL, option)):
        assert used and answer == plain


@pytest.mark.parametrize(
    ("header", "body"),
    [
        (OWN + "inline __device__ int f() { int unused; return 1; }\n", KERNEL),  # is told of each source
        (OWN + "inline __device__ const char* f() { return __BASE_FILE__; }\n", KERNEL),
        (OWN + '#define BASE "__BASE_FILE__"\n', KERNEL),
        (OWN + "inline __device__ const char* f() { return __TIME__; }\n", KERNEL),
        ("namespace n {\n" + OWN, "}\nusing n::own;\n" + KERNEL),
        ("#error no\n", KERNEL),
        ("wrong\n", KERNEL),
    ],
)
def test_what_cannot_be_precompiled_is_compiled_plainly(header: str, body: str, lab: Lab) -> None:
    written(lab, header)
    calls = [lab.call('#include "own.h"', body, name=name) for name in ("demo/a.cu", "demo/b.cu")]
    calls.append(lab.call("#include <cuda_fp16.h>", "__global__ void k() {}"))  # nothing more is tried
    for answer, plain, used in lab.compiled(*calls):
        assert not used
        assert answer["error"] == plain["error"]
        assert "__TIME__" in header or answer == plain
    assert list(lab.scratch.iterdir()) == []


def test_errors_are_told_as_without_and_precompiled_headers_last(lab: Lab) -> None:
    written(lab, OWN)
    bodies = [KERNEL, KERNEL.replace("own(1)", "owm(1)"), KERNEL]
    results = lab.compiled(*(lab.call('#include "own.h"', body) for body in bodies))
    assert [bool(answer["error"]) for answer, _, _ in results] == [False, True, False]
    assert all(used and answer == plain for answer, plain, used in results)


def test_an_edited_header_is_read_again(lab: Lab) -> None:
    written(lab, OWN)
    edit = OWN.replace("1", "7")
    first, second = lab.compiled(lab.call('#include "own.h"', KERNEL), lab.call('#include "own.h"', KERNEL, edit=edit))
    assert first[0] == first[1] and first[2]
    assert second[0] == second[1] and not second[2]
    assert second[0]["ptx"] != first[0]["ptx"]


def test_other_options_do_not_get_the_same_headers(lab: Lab) -> None:
    written(lab, "__device__ int own(int x) { return x + X; }\n")
    calls = [lab.call('#include "own.h"', KERNEL, f"-DX={number}") for number in (1, 2, 1)]
    assert all(used and answer == plain for answer, plain, used in lab.compiled(*calls))


def test_a_header_that_changes_while_it_is_read_is_not_precompiled(lab: Lab) -> None:
    written(lab, OWN)
    os.utime(lab.folder / "own.h", (4e9, 4e9))
    ((answer, plain, used),) = lab.compiled(lab.call('#include "own.h"', KERNEL))
    assert not used and answer == plain


def test_another_text_than_was_expected_is_compiled_plainly(lab: Lab) -> None:
    """Its group says it begins as another one does, and NVRTC finds that it does not."""
    written(lab, OWN)
    right = lab.call('#include "own.h"', KERNEL)
    wish, request, _ = lab.call('#define own mine\n#include "own.h"\n#undef own', KERNEL.replace("own", "mine"))
    wrong = wish._replace(group=wish.group._replace(key=right[0].group.key)), request, None
    first, second = lab.compiled(right, wrong)
    assert first[2] and not second[2]
    assert second[0] == second[1]


def test_where_there_is_no_room_all_is_compiled_plainly(lab: Lab) -> None:
    written(lab, OWN)
    wish, request, _ = lab.call('#include "own.h"', KERNEL)
    nowhere = wish._replace(folder=str(lab.folder / "missing"))
    for answer, plain, used in lab.compiled((nowhere, request, None), (wish, request, None)):
        assert not used and answer == plain


def test_a_limit_of_the_system_on_memory_is_kept(lab: Lab) -> None:
    written(lab, OWN)
    with Workers(timeout=60, memory=None, count=1) as workers:
        ((answer, plain, used),) = workers.submit(_limited, [lab.call('#include "own.h"', KERNEL)]).result()
    assert not used and answer == plain


class Compiler:
    """One that stands for NVRTC, and fails as it is told to when it writes precompiled headers, or reads them."""

    def __init__(self, failure: str) -> None:
        self.failure = failure
        self.created = 0

    def __call__(self, request: nvrtc.Request) -> nvrtc.Answer:
        answer: nvrtc.Answer = {
            "error": "",
            "log": "",
            "headers": [],
            "ptx": request["text"],
            "cubin": b"",
            "ltoir": b"",
            "symbols": [],
        }
        option = request["options"][-1]
        if option.startswith("--create-pch="):
            self.created += 1
            if self.failure == "cannot write":
                raise OSError(28, "No space left on device")
            if self.failure != "writes nothing":
                Path(option.partition("=")[2]).touch()
            name = "" if self.failure == "does not say so" else option.partition("=")[2]
            return {**answer, "log": f'"k.cu": creating precompiled header file "{name}"\n'}
        if option.startswith("--use-pch="):
            if self.failure == "has no memory":
                raise MemoryError
            name = "" if self.failure == "refuses" else option.partition("=")[2]
            error = "NVRTC_ERROR_COMPILATION" if self.failure == "fails" else ""
            return {**answer, "error": error, "log": f'"k.cu": using precompiled header file "{name}"\n'}
        return answer


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., bytes]]:
    """Yield a function that compiles with a stand-in for NVRTC and gives the PTX."""
    monkeypatch.setattr(precompiled, "_prepared", lambda library: True)
    monkeypatch.setattr(precompiled, "_given_up", False)
    monkeypatch.setattr(precompiled, "_headers", None)
    monkeypatch.setattr(nvrtc, "set_precompiled_heap", lambda library, size: True)
    (tmp_path / "own.h").write_text(OWN)

    def compile(compiler: Compiler, *options: str) -> bytes:
        monkeypatch.setattr(nvrtc, "compile_text", compiler)
        wish = Wish(Group("k", b'#include "own.h"', 10**9), 10**9, str(tmp_path))
        request: nvrtc.Request = {
            "library": "nvrtc",
            "folder": str(tmp_path),
            "text": b'#include "own.h"\nk',
            "name": "k.cu",
            "options": [f"--include-path={tmp_path}", *options],
            "expressions": [],
        }
        answer = precompiled.with_headers((wish, precompiled.compile_text, request))
        assert (answer["error"], answer["log"]) == ("", "")
        return answer["ptx"]

    yield compile
    if precompiled._headers is not None:
        precompiled._headers.file.close()


@pytest.mark.parametrize(
    "failure", ["cannot write", "writes nothing", "does not say so", "has no memory", "refuses", "fails"]
)
def test_whatever_fails_it_is_tried_once(failure: str, fake: Callable[..., bytes], tmp_path: Path) -> None:
    compiler = Compiler(failure)
    assert [fake(compiler), fake(compiler)] == [b'#include "own.h"\nk'] * 2
    assert compiler.created == 1 and precompiled._headers is None
    assert [path.name for path in tmp_path.iterdir()] == ["own.h"]


def test_what_is_compiled_in_two_ways_is_precompiled_for_one(fake: Callable[..., bytes]) -> None:
    compiler = Compiler("")
    for option in ("-dlto", "-DX", "-dlto", "-DX"):
        fake(compiler, option)
    assert compiler.created == 1 and precompiled._headers is not None


# --- what becomes of a build --------------------------------------------------------------------------

SMALL_TYPES = "#include <cuda_fp16.h>\n#include <cuda_bf16.h>\n#include <cuda_fp8.h>\n"


def test_a_build_gives_the_same_with_precompiled_headers_as_without(
    make_project, cuda_wheel: Run, tmp_path: Path
) -> None:
    files = {f"demo/k{number}.cu": source(number) for number in range(6)} | {"demo/own.h": OWN, "demo/two.h": ""}
    project = make_project('[tool.cuda-wheel]\narchitectures = ["80-real", "90"]\n', **files)

    def built(setting: str, jobs: int, cache: str) -> tuple[dict[str, bytes], int, str]:
        """Return what a build makes, how often headers were precompiled, and what it says at its end."""
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
    assert none == 0 and 1 <= twice <= 2  # one for each target, if enough jobs wait for it when the first is done
    assert each >= 2
    (project / "demo/own.h").write_text(OWN.replace("1", "2"))
    assert "6 from the cache, 6 compiled" in built("auto", 1, "one")[2]  # half of them include it
    (project / "demo/two.h").write_text("// edited\n")
    assert "12 from the cache" in built("auto", 1, "one")[2]


def source(number: int) -> str:
    own = '#include "own.h"\n' if number % 2 else "static __device__ int own(int x) { return x; }\n"
    return f"// Kernel {number}.\n{SMALL_TYPES}{own}__global__ void k{number}(int* x) {{ *x = own({number}); }}\n"


def test_the_environment_says_auto_or_off(make_project, cuda_wheel: Run, tmp_path: Path) -> None:
    result = cuda_wheel("build", make_project(), "-o", tmp_path / "out", CUDA_WHEEL_PRECOMPILED_HEADERS="on")
    assert result.returncode == 1
    assert 'CUDA_WHEEL_PRECOMPILED_HEADERS must be "auto" or "off", not \'on\'' in result.stdout


# --- what is left in the end --------------------------------------------------------------------------

GROUP = Group("k", b"", 100)


def _die_writing(_: None) -> None:
    """End as a worker that is killed while it writes what it precompiles; without a wish, as another one."""
    if precompiled._wish is None:
        os.abort()
    assert precompiled._wish.folder is not None
    Path(precompiled._wish.folder, "headers.pch").write_bytes(bytes(1000))
    os.kill(os.getpid(), signal.SIGKILL)


def _die_once(_: None) -> str:
    if precompiled._wish is not None:
        os.kill(os.getpid(), signal.SIGKILL)
    return "done"


def test_a_worker_that_is_killed_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with Workers(timeout=60, memory=None, count=1) as workers:
        with pytest.raises(CompileError, match="SIGABRT"):
            workers.submit(_die_writing, None, group=GROUP).result()
        assert list(tmp_path.iterdir()) == []
        workers.submit(len, (), group=GROUP).result()
        assert [path.stat().st_mode & 0o777 for path in tmp_path.iterdir()] == [0o700]
    assert list(tmp_path.iterdir()) == []


def test_a_job_whose_worker_died_is_done_again_without() -> None:
    with Workers(timeout=60, memory=None, count=1) as workers:
        assert workers.submit(_die_once, None, group=GROUP).result() == "done"


ORPHAN = """
import time
from cuda_wheel.builder.schedule.preamble import Group
from cuda_wheel.builder.workers.pool import Workers
WRITE = "[open(__import__('cuda_wheel.builder.compile.precompiled').build.precompiled._wish.folder + '/headers.pch', 'w').close()]"
with Workers(timeout=600, memory=None, count=1) as workers:
    print(workers.submit(eval, WRITE + "and __import__('os').getpid()", group=Group("k", b"", 100)).result(), flush=True)
    workers.submit(time.sleep, 600, group=Group("k", b"", 100)).result()
"""


def test_no_file_outlives_a_build_that_is_killed(tmp_path: Path) -> None:
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
