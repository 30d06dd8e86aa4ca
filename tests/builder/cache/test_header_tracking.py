"""A job compiles again if, and only if, a file changes that decides what it reads. This holds whether NVRTC lists the
headers that it read, rejects the option for that list, or ignores it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from cuda_wheel.builder.cache.compile_cache import CompileCache
from cuda_wheel.builder.compile.job import compile_job
from cuda_wheel.builder.jobs import Compiled, Job
from cuda_wheel.builder.project import build_module
from cuda_wheel.builder.report.reporter import SilentReporter
from cuda_wheel.builder.timing import Step
from cuda_wheel.builder.toolchain.records import Toolchain
from cuda_wheel.builder.workers import worker
from cuda_wheel.builder.workers.pool import Workers
from cuda_wheel.runtime.user_cache.cache import Cache
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
