"""Results are cached across builds, folders and environments, and never confused with each other."""

from __future__ import annotations

import re
import shutil
import subprocess
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from cuda_wheel.builder.cache import compile_cache
from cuda_wheel.builder.cache.compile_cache import CompileCache
from cuda_wheel.builder.jobs import EMPTY, Job, LinkInput, LinkJob
from cuda_wheel.builder.sources.header_search import searched_paths
from cuda_wheel.builder.toolchain.toolchain import Toolchain
from cuda_wheel.runtime.parts.user_cache import Cache
from tests.support.processes import build_wheel, run
from tests.support.projects import copy_fixture

pytestmark = pytest.mark.one_toolchain

Run = Callable[..., subprocess.CompletedProcess[str]]
SOURCE = '#include "one.h"\n#include <two.h>\nextern "C" __global__ void k(int* x) { *x = ONE + TWO; }\n'
FILES = {
    "demo/k.cu": SOURCE,
    "demo/l.cu": "__global__ void l(int* x) { *x = 1; }\n",
    "demo/one.h": "#define ONE 1\n",
    "include/two.h": "#define TWO 2\n",
}
TABLE = '[tool.cuda-wheel]\narchitectures = ["80", "90-real"]\ninclude-dirs = ["include"]\n'


@pytest.fixture
def project(make_project) -> Path:
    return make_project(TABLE, **FILES)


def built(cuda_wheel: Run, project: Path) -> tuple[int, dict[str, bytes]]:
    """Return how many jobs came from the cache, and the files that were built."""
    shutil.rmtree(project / "out", ignore_errors=True)
    result = cuda_wheel("build", project, "-o", project / "out")
    assert result.returncode == 0, result.stdout
    match = re.search(r"^cuda-wheel: \d+ jobs? in .* s: (\d+) from the cache", result.stdout, re.MULTILINE)
    files = {path.name: path.read_bytes() for path in (project / "out").rglob("*.fatbin*")}
    return int(match[1]) if match else 0, files


@pytest.mark.slow
def test_nothing_is_compiled_twice(project: Path, cuda_wheel: Run) -> None:
    before, first = built(cuda_wheel, project)
    again, second = built(cuda_wheel, project)
    assert (before, again) == (0, 4)
    assert second == first


@pytest.mark.slow
@pytest.mark.parametrize(
    ("file", "content", "reused"),
    [
        ("demo/one.h", "#define ONE 3\n", 2),  # l.cu does not include it
        ("include/two.h", "#define TWO 3\n", 2),
        ("demo/k.cu", SOURCE + "// edited\n", 2),
        ("demo/two.h", "#define TWO 4\n", 2),  # found before the other two.h
        ("include/three.h", "// nobody includes this\n", 4),
    ],
)
def test_an_edit_compiles_the_affected_jobs_again(
    file: str, content: str, reused: int, project: Path, cuda_wheel: Run
) -> None:
    built(cuda_wheel, project)
    (project / file).write_text(content)
    from_cache, outputs = built(cuda_wheel, project)
    assert from_cache == reused
    fresh = project.with_name("fresh")
    shutil.copytree(project, fresh)
    result = cuda_wheel("build", fresh, "-o", fresh / "out", CUDA_WHEEL_CACHE_DIR=str(fresh / "cache"))
    assert result.returncode == 0, result.stdout
    assert {path.name: path.read_bytes() for path in (fresh / "out").rglob("*.fatbin*")} == outputs


@pytest.mark.slow
@pytest.mark.parametrize(
    ("old", "new", "reused"),
    [
        ('"90-real"', '"90-real", "100-real"', 4),  # an additional target
        ('"90-real"', '"90"', 2),  # PTX too
        ("include-dirs", "defines = { X = 1 }\ninclude-dirs", 0),
        ("include-dirs", 'std = "c++20"\ninclude-dirs', 0),
        ("include-dirs", "lineinfo = true\ninclude-dirs", 0),
        ("include-dirs", 'ptx-version = "as-compiled"\ninclude-dirs', 0),
        ("include-dirs", 'compress = "size"\ninclude-dirs', 4),  # bundling follows
    ],
)
def test_a_setting_compiles_the_affected_jobs_again(
    old: str, new: str, reused: int, project: Path, cuda_wheel: Run
) -> None:
    built(cuda_wheel, project)
    pyproject = (project / "pyproject.toml").read_text()
    (project / "pyproject.toml").write_text(pyproject.replace(old, new))
    assert built(cuda_wheel, project)[0] == reused


@pytest.mark.slow
def test_changed_include_folders_compile_only_what_they_touch_again(project: Path, cuda_wheel: Run) -> None:
    for file, content in {"other/three.h": "", "shadowing/two.h": "#define TWO 5\n"}.items():
        (project / file).parent.mkdir()
        (project / file).write_text(content)
    text = (project / "pyproject.toml").read_text()
    _, first = built(cuda_wheel, project)
    for folders, reused in (('"other", "include"', 4), ('"shadowing", "include"', 2), ('"include", "shadowing"', 4)):
        (project / "pyproject.toml").write_text(text.replace('"include"', folders))
        from_cache, outputs = built(cuda_wheel, project)
        assert from_cache == reused, folders
        assert (outputs["k.fatbin"] == first["k.fatbin"]) == (reused == 4), folders
        assert built(cuda_wheel, project) == (4, outputs)
        result = cuda_wheel("build", project, "-o", project / "out", CUDA_WHEEL_CACHE_DIR=str(project / "empty"))
        assert result.returncode == 0 and ": 0 from" not in result.stdout
        assert {path.name: path.read_bytes() for path in (project / "out").rglob("*.fatbin*")} == outputs
        shutil.rmtree(project / "empty")


def test_a_moved_project_uses_the_same_entries(project: Path, cuda_wheel: Run) -> None:
    _, first = built(cuda_wheel, project)
    moved = project.rename(project.with_name("another folder"))
    reused, second = built(cuda_wheel, moved)
    assert (reused, second) == (4, first)


@pytest.mark.slow
def test_isolated_builds_share_results(
    tmp_path: Path, extra: str, find_links: dict[str, str], bare_python: Path
) -> None:
    """Each build environment has its toolchain, with headers, in a new folder."""
    project = copy_fixture("reduce_cub", tmp_path / "project", extra)
    build = (bare_python, "-m", "uv", "build", "--wheel", "-o", tmp_path / "dist", project)  # pip takes far longer
    # A copy has other times and other numbers than the file that it is of.
    outputs = [run(*build, UV_LINK_MODE=mode, **find_links).stdout for mode in ("hardlink", "copy")]
    assert "from the cache" not in outputs[0]
    assert re.search(r"cuda-wheel: 3 jobs in \d+\.\d s: 3 from the cache\n", outputs[1])


def test_a_result_that_differs_each_time_is_not_cached(make_project, cuda_wheel: Run) -> None:
    text = "__device__ const char* when() { return __TIME__; }\n__global__ void k(const char** x) { *x = when(); }\n"
    project = make_project(TABLE.replace('"include"', ""), **{"demo/k.cu": text})
    assert [built(cuda_wheel, project)[0] for _ in range(2)] == [0, 0]
    kept = [Path(path).read_bytes() for _, _, path in Cache().entries()]
    assert kept and not any(b"\x7fELF" in entry or b".visible .entry" in entry for entry in kept)


def test_warnings_are_repeated_for_cached_results(make_project, cuda_wheel: Run) -> None:
    project = make_project(
        TABLE.replace('"include"', ""), **{"demo/k.cu": "__global__ void k(int* x) { int unused; *x = 1; }\n"}
    )
    for _ in range(2):
        assert (
            '"unused" was declared but never referenced' in cuda_wheel("build", project, "-o", project / "out").stdout
        )


def test_a_damaged_entry_is_compiled_again(project: Path, cuda_wheel: Run) -> None:
    _, first = built(cuda_wheel, project)
    for _, _, path in Cache().entries():
        Path(path).write_bytes(Path(path).read_bytes()[:-1])
    reused, second = built(cuda_wheel, project)
    assert (reused, second) == (0, first)


def test_a_failed_build_caches_the_jobs_that_compiled(project: Path, cuda_wheel: Run, tmp_path: Path) -> None:
    (project / "demo/k.cu").write_text("wrong\n")
    assert cuda_wheel("build", project, "-o", tmp_path / "none").returncode == 1
    (project / "demo/k.cu").write_text(SOURCE)
    assert built(cuda_wheel, project)[0] == 2


@pytest.mark.slow
def test_two_builds_at_once_share_a_cache(tmp_path: Path, extra: str) -> None:
    from concurrent.futures import ThreadPoolExecutor

    projects = [copy_fixture("saxpy", tmp_path / name / "project", extra) for name in "abcd"]
    with ThreadPoolExecutor(4) as threads:
        results = list(threads.map(lambda project: build_wheel(project, project.parent / "dist"), projects))
    assert [result.returncode for result in results] == [0, 0, 0, 0]
    assert len({next((project.parent / "dist").glob("*.whl")).read_bytes() for project in projects}) == 1


# --- what a build reports -----------------------------------------------------------------------------


def test_a_failed_build_reports_its_jobs(make_project, cuda_wheel: Run, tmp_path: Path) -> None:
    files = {"demo/good.cu": FILES["demo/l.cu"], "demo/wrong.cu": "wrong\n"}
    project = make_project('[tool.cuda-wheel]\narchitectures = "80-real"\n', **files)
    for how in ("compiled", "from the cache"):
        result = cuda_wheel("build", project, "-o", tmp_path / "out", CUDA_WHEEL_JOBS="1")
        assert result.returncode == 1
        assert re.search(rf"^cuda-wheel: 2 jobs in \d+\.\d s: 1 {how}, 1 failed(;.*)?$", result.stdout, re.MULTILINE)


def test_a_link_depends_on_what_its_sources_declare(tmp_path: Path) -> None:
    """The same LTO-IR may come from a source that declares a variable, and from one whose library does."""
    toolchain = Toolchain("12.9.86", "12.9", "12.9", (80,), (), ())
    cache = CompileCache(Cache(tmp_path), toolchain)
    plain = LinkJob("demo.m", "80", True, True, (LinkInput("k.cu", "ltoir", b"x"),), (), False, "auto", ())
    other = replace(plain, inputs=(replace(plain.inputs[0], declared=("nv::mine",)),))
    cache.store_link(plain, EMPTY)
    assert cache.load_link(plain) == EMPTY
    assert cache.load_link(other) is None


def test_links_are_counted(make_project, cuda_wheel: Run) -> None:
    table = (
        '[tool.cuda-wheel]\narchitectures = "80-real"\n[[tool.cuda-wheel.module]]\nname = "demo.k"\n'
        'sources = ["demo/k.cu", "demo/l.cu"]\nlink = "lto"\n'
    )
    files = {
        "demo/k.cu": "__device__ int f();\n__global__ void k(int* x) { *x = f(); }\n",
        "demo/l.cu": "__device__ int f() { return 1; }\n",
    }
    project = make_project(table, **files)
    lines = [cuda_wheel("build", project, "-o", project / "out").stdout.splitlines()[-1] for _ in range(2)]
    counts = [line.partition(" s: ")[2].partition(";")[0] for line in lines]
    assert counts == ["2 compiled, 1 linked", "3 from the cache"]


def entries(folder: Path) -> set[Path]:
    """Return the files in a cache folder."""
    return {path for path in folder.rglob("*") if path.is_file()}


def test_the_next_build_reads_module_entries_only(
    make_project, cuda_wheel: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    folder = tmp_path / "cache"
    monkeypatch.setenv("CUDA_WHEEL_CACHE_DIR", str(folder))
    files = {**FILES, "demo/l.cu": "__global__ void l(int* x) { int unused; *x = 1; }\n"}
    project = make_project(TABLE, **files)
    _, first = built(cuda_wheel, project)
    whole = {path for path in entries(folder) if any(content in path.read_bytes() for content in first.values())}
    assert len(whole) == 4  # a manifest and a fatbin of each module
    jobs = [path for path in entries(folder) - whole if b"\x7fELF" in path.read_bytes()]
    assert len(jobs) == 4
    for path in jobs:
        path.unlink()
    # A trace needs each job, so that the build as a whole is not taken from the cache.
    result = cuda_wheel("build", project, "-o", project / "again", "--timings", tmp_path / "trace.json")
    assert re.search(r": 4 from the cache$", result.stdout, re.MULTILINE), result.stdout
    assert result.stdout.count('"unused" was declared but never referenced') == 1
    assert {path.name: path.read_bytes() for path in (project / "again").rglob("*.fatbin*")} == first


def test_a_setting_that_affects_no_job_rebuilds_the_module_from_cached_jobs(project: Path, cuda_wheel: Run) -> None:
    _, first = built(cuda_wheel, project)
    table = f'{TABLE}compress = "size"\n'
    (project / "pyproject.toml").write_text((project / "pyproject.toml").read_text().replace(TABLE, table))
    again, second = built(cuda_wheel, project)
    assert again == 4
    assert second["k.fatbin"] != first["k.fatbin"]
    assert built(cuda_wheel, project) == (4, second)


def test_a_damaged_module_entry_is_rebuilt_from_cached_jobs(
    project: Path, cuda_wheel: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    folder = tmp_path / "cache"
    monkeypatch.setenv("CUDA_WHEEL_CACHE_DIR", str(folder))
    _, first = built(cuda_wheel, project)
    for path in entries(folder):
        content = path.read_bytes()
        if any(each in content for each in first.values()):
            path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    assert built(cuda_wheel, project) == (4, first)


def test_a_job_with_fewer_include_folders_finds_nothing(tmp_path: Path, toolchain: Toolchain) -> None:
    folders = [tmp_path / name for name in ("one", "two")]
    for folder in folders:
        folder.mkdir()
    (folders[0] / "one.h").write_text("#define ONE 1\n")
    job = Job("nvrtc", str(tmp_path), "k.cu", b"", "80", True, False, (), tuple(map(str, folders)), (), False, "auto")
    compiled = replace(EMPTY, cubin=b"code", headers=(str(folders[0] / "one.h"),))
    time.sleep(0.01)  # a header that changes after the cache was opened prevents caching
    cache = CompileCache(Cache(), toolchain)
    assert cache.store_job(job, compiled)
    assert cache.load_job(job) == compiled
    for fewer in (folders[1:], folders[:1], []):
        assert cache.load_job(replace(job, include_dirs=tuple(map(str, fewer)))) is None


def test_a_job_whose_header_is_edited_after_its_entry_was_found_is_not_cached(
    tmp_path: Path, toolchain: Toolchain
) -> None:
    header = tmp_path / "one.h"
    header.write_text("#define ONE 1\n")
    job = Job("nvrtc", str(tmp_path), "k.cu", b"", "80", True, False, (), (), (), False, "auto")
    compiled = replace(EMPTY, cubin=b"code", headers=(str(header),))
    time.sleep(0.01)  # a header that changes after the cache was opened prevents caching
    assert CompileCache(Cache(), toolchain).store_job(job, compiled)
    cache = CompileCache(Cache(), toolchain)
    assert not cache.has_all([job])
    assert cache.find_job(job) is not None and cache.has_all([job])
    header.write_text("#define ONE 2\n")
    assert not cache.store_job(job, compiled)
    assert not cache.has_all([job])


def test_the_files_that_decide_are_determined_once_for_all_targets_that_read_the_same(
    tmp_path: Path, toolchain: Toolchain, monkeypatch: pytest.MonkeyPatch
) -> None:
    """But one that appears during the build, and would be found first, prevents caching."""
    first, second = (tmp_path / name for name in ("first", "second"))
    for folder in (first, second):
        folder.mkdir()
    for name in ("one.h", "two.h"):
        (second / name).write_text("#define ONE 1\n")
    asked: list[Job] = []

    def counted(job: Job, headers: tuple[str, ...]) -> list[str] | None:
        asked.append(job)
        return searched_paths(job, headers)

    monkeypatch.setattr(compile_cache, "searched_paths", counted)
    folders = (str(first), str(second))
    job = Job("nvrtc", str(tmp_path), "k.cu", b"", "80", True, False, (), folders, (), False, "auto")
    reads = {
        "80": (str(second / "one.h"),),
        "90": (str(second / "one.h"),),
        "100": (str(second / "one.h"), str(second / "two.h")),
    }
    time.sleep(0.01)  # a header that changes after the cache was opened prevents caching
    cache = CompileCache(Cache(str(tmp_path / "cache")), toolchain)
    for arch, headers in reads.items():
        assert cache.store_job(replace(job, arch=arch), replace(EMPTY, cubin=arch.encode(), headers=headers))
    assert len(asked) == 2
    again = CompileCache(Cache(str(tmp_path / "cache")), toolchain)
    (second / "two.h").write_text("#define TWO 2\n")
    found = {arch: again.load_job(replace(job, arch=arch)) for arch in reads}
    assert [each and each.cubin for each in found.values()] == [b"80", b"90", None]
    (first / "one.h").write_text("#define ONE 0\n")
    assert not cache.store_job(replace(job, arch="120"), replace(EMPTY, cubin=b"120", headers=reads["80"]))
