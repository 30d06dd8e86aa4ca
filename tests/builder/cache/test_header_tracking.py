"""A job compiles again if, and only if, a file changes that decides what it reads. This holds whether NVRTC lists the
headers that it read, rejects the option for that list, or ignores it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from cuda_wheel.builder.cache.compile_cache import CompileCache
from cuda_wheel.builder.compile.job import compile_job
from cuda_wheel.builder.full_build import build_module
from cuda_wheel.builder.jobs import EMPTY, Compiled, Job
from cuda_wheel.builder.report.reporter import SilentReporter
from cuda_wheel.builder.timing import Step
from cuda_wheel.builder.toolchain.toolchain import Toolchain
from cuda_wheel.builder.workers import worker
from cuda_wheel.builder.workers.pool import Workers
from cuda_wheel.runtime.parts.user_cache import Cache
from tests.support.opened_files import with_an_option_that_does_nothing, with_an_unknown_option
from tests.support.projects import write_files

FILES = {
    "src/k.cu": """\
#include "deep/one.h"
#include <two.h>
#define FOLDER deep
#define PLACE(name) <FOLDER/name>
#include PLACE(three.h)
#if __has_include("maybe.h")
#include "maybe.h"
#else
#define MAYBE 0
#endif
__global__ void k(int* x) { *x = ONE + TWO + THREE + MAYBE; }
""",
    "src/deep/one.h": '#include "shared.h"\n#define ONE SHARED\n',
    "include/shared.h": "#define SHARED 1\n",
    "include/two.h": "#define TWO 2\n",
    "include/deep/three.h": "#define THREE 3\n",
    "src/unrelated.h": "",
}
WAYS = [compile_job, with_an_unknown_option, with_an_option_that_does_nothing]


@pytest.fixture
def job(tmp_path: Path, toolchain: Toolchain) -> Job:
    root = write_files(tmp_path / "project", **FILES)
    return Job(
        toolchain.libraries[0], str(root), "src/k.cu", FILES["src/k.cu"].encode(), "80", True, False, ("--std=c++17",),
        ("src", "include"), (), False, "auto",
    )  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
def test_a_result_is_found_until_a_deciding_file_changes(
    way: Callable[[Job], Compiled], job: Job, tmp_path: Path, toolchain: Toolchain, workers: Workers
) -> None:
    cache = Cache(str(tmp_path / "cache"))

    def is_cached() -> bool:
        return CompileCache(cache, toolchain).load_job(job) is not None

    assert not is_cached()
    assert CompileCache(cache, toolchain).store_job(job, workers.submit(way, job).result())
    for file, content in {
        **{file: FILES[file] + "// edited\n" for file in FILES if file.endswith(".h") and file != "src/unrelated.h"},
        "src/maybe.h": "#define MAYBE 1\n",  # tested by __has_include
        "src/deep/shared.h": "#define SHARED 2\n",  # beside the including header, so found first
        "src/two.h": "#define TWO 4\n",  # in a folder that is searched earlier
        "include/maybe.h": "#define MAYBE 3\n",
        "src/deep/three.h": "#define THREE 4\n",
    }.items():
        path = Path(job.root, file)
        path.write_text(content)
        assert not is_cached(), file
        path.write_text(FILES[file]) if file in FILES else path.unlink()
        assert is_cached(), file
    Path(job.root, "src/unrelated.h").write_text("// edited")
    Path(job.root, "include/other.h").write_text("// new")
    assert is_cached()
    for other in (
        replace(job, options=("--std=c++20",)),
        replace(job, arch="90"),
        replace(job, include_dirs=("src",)),
        replace(job, text=job.text + b"\n"),
    ):
        assert CompileCache(cache, toolchain).load_job(other) is None


@pytest.mark.parametrize("way", WAYS)
def test_other_include_folders_compile_again_only_if_another_file_is_found(
    way: Callable[[Job], Compiled], job: Job, tmp_path: Path, toolchain: Toolchain, workers: Workers
) -> None:
    root, cache = Path(job.root), Cache(str(tmp_path / "cache"))
    for file, content in {
        "unrelated/other.h": "#define TWO 5\n",
        "shadowing/two.h": FILES["include/two.h"],
        "tested/maybe.h": "#define MAYBE 6\n",
        "nested/deep/one.h": "#define ONE 7\n",  # not found: src/deep/one.h is beside the source
        "shared/shared.h": "#define SHARED 8\n",
        "macro/deep/three.h": "#define THREE 9\n",
    }.items():
        write_files(root, **{file: content})

    def is_cached(*folders: str) -> bool:
        other = replace(job, include_dirs=("src", *folders))
        opened = CompileCache(cache, toolchain)
        found = opened.load_job(other)
        assert opened.has_all([other]) == (found is not None)
        return found is not None

    assert CompileCache(cache, toolchain).store_job(job, workers.submit(way, job).result())
    for folders in (
        ("unrelated", "include"),
        ("include", "shadowing"),
        ("unrelated", "missing", "include", "unrelated/more"),
        ("nested", "include"),
        ("include", "include/deep"),
    ):
        assert is_cached(*folders), folders
    for folders in (
        ("shadowing", "include"),
        ("tested", "include"),
        ("include", "tested"),
        ("shared", "include"),
        ("macro", "include"),
        ("include/deep", "shadowing", "include"),
        (),
    ):
        assert not is_cached(*folders), folders
    write_files(root, **{"unrelated/two.h": "#define TWO 10\n"})
    assert not is_cached("unrelated", "include")
    ordered = replace(job, include_dirs=("src", "include", "unrelated"))
    assert is_cached(*ordered.include_dirs[1:])
    (root / "unrelated/two.h").unlink()
    write_files(root, **{"include/two.h": "#define TWO 11\n"})
    assert not is_cached("unrelated", "include")


@pytest.mark.parametrize(
    ("first", "options"),
    [
        ("#include NAME\n", ("--define-macro=NAME=<two.h>", "-I", "include")),
        ("#include PLACE(two)\n", ("-D", "PLACE(x)=<x.h>")),
        ("#define PLACE(x, ...) <x.h>\n#include PLACE(two, 1, 2)\n", ()),
        ("", ("--pre-include=include/two.h",)),
    ],
)
def test_a_result_with_unknown_headers_is_not_cached(
    first: str, options: tuple[str, ...], job: Job, tmp_path: Path, toolchain: Toolchain, workers: Workers
) -> None:
    """A macro with any number of parameters, or an option that reads a file, hides headers; other macros do not."""
    text = f"{first}__global__ void k(int* x) {{ *x = TWO; }}\n".encode()
    job = replace(job, text=text, options=options)
    result = workers.submit(with_an_unknown_option, job).result()
    known = first.startswith("#include")
    assert (result.headers is not None) == known
    assert CompileCache(Cache(str(tmp_path / "cache")), toolchain).store_job(job, result) == known
    assert workers.submit(compile_job, job).result().headers == (str(Path(job.root, "include/two.h")),)


class Steps(SilentReporter):
    """A reporter that records how each step was done."""

    def __init__(self) -> None:
        self.how: list[str] = []

    def step_finished(self, step: Step) -> None:
        self.how.append(step.how)


def test_a_build_uses_the_cache_if_nvrtc_lists_no_headers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    refusing = "from cuda_wheel.builder.toolchain import nvrtc; nvrtc.LIST_HEADERS = ['--list-headers-please']; from "
    monkeypatch.setattr(worker, "_CHILD", worker._CHILD.replace("from ", refusing, 1))
    root = write_files(tmp_path, **FILES)
    table = {"name": "src.k", "sources": ["src/k.cu"], "architectures": ["80-real"], "include-dirs": ["include"]}

    def built() -> tuple[list[str], list[str]]:
        steps = Steps()
        _, read = build_module(root, table, {}, steps)
        return steps.how, sorted(Path(path).relative_to(root).as_posix() for path in read)

    own = ["include/deep/three.h", "include/shared.h", "include/two.h", "src/deep/one.h", "src/k.cu"]
    assert built() == (["compiled", "bundled"], own)
    assert built() == (["from the cache"], own)
    (root / "include/shared.h").write_text("#define SHARED 5\n")
    assert built() == (["compiled", "bundled"], own)


def _edited(header: Path) -> None:
    header.write_text("#define TWO 4\n")


def _preceded(header: Path) -> None:
    (header.parents[1] / "src/two.h").write_text("#define TWO 4\n")


@pytest.mark.parametrize("change", [_edited, _preceded, Path.unlink])
def test_a_result_is_not_cached_if_a_header_changes_during_compilation(
    change: Callable[[Path], None], job: Job, tmp_path: Path, toolchain: Toolchain, workers: Workers
) -> None:
    """Otherwise the next build would use the result of the old header for the new one."""
    cache = CompileCache(Cache(str(tmp_path / "cache")), toolchain)
    result = workers.submit(compile_job, job).result()
    change(Path(job.root, "include/two.h"))
    assert not cache.store_job(job, result)
    assert cache.load_job(job) is None


KERNEL = "__global__ void k(int* x) { *x = N; }\n"
TESTED = "#define N 1\n#else\n#define N 0\n#endif\n"
APPEARS = {
    "a test for a macro": (f'#define NAME "new.h"\n#if __has_include(NAME)\n{TESTED}', (), {}, "src/new.h"),
    "a test for an option": (f"#if __has_include(NAME)\n{TESTED}", ("-DNAME=<new.h>",), {}, "include/new.h"),
    "a macro that tests": (
        f"#define HAS(x) __has_include(x)\n#define NAME <new.h>\n#if HAS(NAME)\n{TESTED}", (), {}, "include/new.h"
    ),
    "a macro that builds a name": (
        f"#define HAS(x) __has_include(<x.h>)\n#if HAS(new)\n{TESTED}", (), {}, "include/new.h"
    ),
    "a macro for a test": (
        f'#define HAS(x) __has_include(x)\n#define HAVE HAS("new.h")\n#if HAVE\n{TESTED}', (), {}, "src/new.h"
    ),
    "beside a header that includes by a macro": (
        '#include "far/a.h"\n', (),
        {"include/far/a.h": '#define NAME "b.h"\n#include NAME\n', "include/b.h": "#define N 0\n"}, "include/far/b.h",
    ),
    "in a folder of an option": (
        "#include <b.h>\n", ("-Ifirst", "--include-path", "second"), {"second/b.h": "#define N 0\n"}, "first/b.h"
    ),
    "in a folder of an option, before an include folder": (
        "#include <b.h>\n", ("--include-path=first",), {"include/b.h": "#define N 0\n"}, "first/b.h"
    ),
    "in a folder of an option, outside the project": (
        "#include <b.h>\n", ("-I../outside",), {"include/b.h": "#define N 0\n"}, "../outside/b.h"
    ),
    "before a header that an option includes": (
        "", ("--pre-include=b.h", "-Ifirst"), {"include/b.h": "#define N 0\n"}, "first/b.h"
    ),
    "above the including folder": (
        '#include "../b.h"\n', (), {"include/b.h": "#define N 0\n", "include/x/a": ""}, "b.h"
    ),
    "a library tests for it": ("#include <library.h>\n", (), {}, "include/optional.h"),
    "before a library's header": ("#include <library.h>\n#undef N\n#define N M\n", (), {}, "include/deep/m.h"),
}  # fmt: skip
"""The beginning of a source, the options, further files, and the file that appears and defines N or M as 7."""
LIBRARY = {
    "library.h": f"#include <deep/m.h>\n#if __has_include(<optional.h>)\n{TESTED}",
    "deep/m.h": "#define M 0\n",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", APPEARS)
def test_a_file_that_appears_where_the_compiler_looked_compiles_again(
    name: str, tmp_path: Path, toolchain: Toolchain, workers: Workers
) -> None:
    first, options, files, new = APPEARS[name]
    text = first + KERNEL
    root = write_files(tmp_path / "project", **files, **{"src/k.cu": text})
    library = write_files(tmp_path / "library/include", **LIBRARY)
    (root / "include").mkdir(exist_ok=True)
    job = Job(
        toolchain.libraries[0], str(root), "src/k.cu", text.encode(), "80", True, False, ("--std=c++17", *options),
        ("src", "include", "include/x", str(library)), (), False, "auto",
    )  # fmt: skip
    cache = Cache(str(tmp_path / "cache"))
    before = workers.submit(compile_job, job).result()
    assert CompileCache(cache, toolchain).store_job(job, before)
    assert CompileCache(cache, toolchain).load_job(job) == before
    (root / new).parent.mkdir(parents=True, exist_ok=True)
    (root / new).write_text("#define M 7\n" if new.endswith("m.h") else "#define N 7\n")
    assert workers.submit(compile_job, job).result().cubin != before.cubin  # so the file does decide the result
    assert CompileCache(cache, toolchain).load_job(job) is None


@pytest.mark.parametrize(
    ("first", "options"),
    [
        ("#define N 1\n", ("-Xcudafe", "--preinclude=src/a.h")),
        ("#define N 1\n", ("-Xcudafe=-Iinclude",)),
        ("#define HAS(x, y) __has_include(x y)\n#if HAS(<a.h>, 1, 2)\n#endif\n#define N 1\n", ()),
        ("// what??/\n#define N 1\n#define N 1\n", ()),
    ],
)
def test_a_result_is_not_cached_if_nobody_knows_where_the_compiler_looked(
    first: str, options: tuple[str, ...], job: Job, tmp_path: Path, toolchain: Toolchain
) -> None:
    write_files(Path(job.root), **{"src/a.h": ""})
    job = replace(job, text=(first + KERNEL).encode(), options=options)
    result = replace(EMPTY, cubin=b"code", headers=())
    cache = Cache(str(tmp_path / "cache"))
    assert not CompileCache(cache, toolchain).store_job(job, result)
    harmless = replace(job, text=KERNEL.encode(), options=("-Xcudafe", "--diag_suppress=177"))
    assert CompileCache(cache, toolchain).store_job(harmless, result)


@pytest.mark.parametrize("test", ['__has_include("there.h")', "__has_include(THERE)", "HAS(THERE)"])
def test_a_file_that_is_only_tested_for_compiles_again_once_it_is_removed(
    test: str, job: Job, tmp_path: Path, toolchain: Toolchain, workers: Workers
) -> None:
    text = f'#define THERE "there.h"\n#define HAS(x) __has_include(x)\n#if {test}\n{TESTED}{KERNEL}'
    there = Path(job.root, "src/there.h")
    there.write_text("")
    job = replace(job, text=text.encode())
    cache = Cache(str(tmp_path / "cache"))
    before = workers.submit(compile_job, job).result()
    assert before.headers == ()
    assert CompileCache(cache, toolchain).store_job(job, before)
    assert CompileCache(cache, toolchain).load_job(job) == before
    there.unlink()
    assert workers.submit(compile_job, job).result().cubin != before.cubin
    assert CompileCache(cache, toolchain).load_job(job) is None
