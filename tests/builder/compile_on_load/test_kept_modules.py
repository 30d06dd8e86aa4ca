"""A module that compiles when it is loaded is cached: it compiles again after a change, and otherwise never again."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cuda_wheel.builder.compile_on_load import kept_modules, local_gpu
from cuda_wheel.builder.compile_on_load.local_gpu import compile_for_gpu
from cuda_wheel.builder.errors import CompileError
from cuda_wheel.builder.toolchain.find import find_toolchain
from cuda_wheel.builder.toolchain.nvrtc import load
from cuda_wheel.builder.toolchain.toolchain import Toolchain
from cuda_wheel.builder.workers.worker import Worker
from cuda_wheel.runtime.parts.user_cache import Cache
from tests.support.editable import HATCHLING, SOURCE, TABLE, compiled, make_tree

pytestmark = pytest.mark.one_toolchain


def test_the_second_process_compiles_nothing(project: Path, no_compiler) -> None:
    first = compiled(project)
    no_compiler()
    assert compiled(project) == first


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("demo/kernels/k.cu", SOURCE + "// edited\n"),
        ("include/answer.h", "#define ANSWER 42\n"),
        ("pyproject.toml", HATCHLING.replace("PACKAGE", "demo") + TABLE + "defines = { MORE = 1 }\n"),
    ],
)
def test_an_edit_compiles_again(file: str, content: str, project: Path, no_compiler) -> None:
    compiled(project)
    (project / file).write_text(content)
    no_compiler()
    with pytest.raises(AssertionError, match="a compiler was started"):
        compiled(project)


def test_an_edit_changes_what_is_loaded(project: Path) -> None:
    _, before = compiled(project)
    (project / "include/answer.h").write_text("#define ANSWER 42\n")
    _, after = compiled(project)
    assert before != after
    (project / "include/answer.h").write_text("#define ANSWER 41\n")
    assert compiled(project)[1] == before


@pytest.mark.parametrize("change", [lambda header: header.write_text("#define ANSWER 42\n"), Path.unlink])
def test_a_result_is_not_cached_if_a_header_changes_during_compilation(
    change: Callable[[Path], object], project: Path, no_compiler, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise the result of the old header would be loaded for the new one."""

    def compile_and_edit(*arguments: Any) -> Any:
        result = compile_for_gpu(*arguments)
        change(project / "include/answer.h")
        return result

    monkeypatch.setattr(local_gpu, "compile_for_gpu", compile_and_edit)
    compiled(project)
    no_compiler()
    with pytest.raises(AssertionError, match="a compiler was started"):
        compiled(project)


@pytest.mark.parametrize("file", ["include/other.h", "demo/other.py", "README.md"])
def test_an_edit_elsewhere_compiles_nothing(file: str, project: Path, no_compiler) -> None:
    compiled(project)
    (project / file).write_text("// edited\n")
    no_compiler()
    compiled(project)


def test_each_gpu_gets_its_own_image(project: Path) -> None:
    assert [str(compiled(project, cc)[0].images[0].target) for cc in ((8, 0), (9, 0))] == ["sm_80", "sm_90"]


def test_a_compile_error_is_raised_and_not_cached(project: Path, cache: Cache) -> None:
    (project / "demo/kernels/k.cu").write_text("wrong\n")
    with pytest.raises(CompileError, match=r"demo/kernels/k\.cu:1:1: error"):
        compiled(project)
    assert len(cache.entries()) == 1  # the toolchain


def test_a_new_header_that_is_found_first_compiles_again(project: Path) -> None:
    _, before = compiled(project)
    (project / "demo/kernels/answer.h").write_text("#define ANSWER 43\n")
    assert compiled(project)[1] != before


@pytest.mark.parametrize(
    ("table", "text", "new"),
    [
        ('options = ["-Ifirst"]\n', "", "first/answer.h"),
        ("", "#define NAME <new.h>\n#if __has_include(NAME)\n#include NAME\n#endif\n", "include/new.h"),
        ("", "#define NAME <new.h>\n#define HAS(x) __has_include(x)\n#if HAS(NAME)\n#include NAME\n#endif\n",
         "include/new.h"),
    ],
)  # fmt: skip
def test_a_new_header_that_options_or_macros_lead_to_compiles_again(
    table: str, text: str, new: str, project: Path
) -> None:
    with (project / "pyproject.toml").open("a") as stream:
        stream.write(table)
    (project / "demo/kernels/k.cu").write_text(text + SOURCE)
    _, before = compiled(project)
    (project / new).parent.mkdir(exist_ok=True)
    (project / new).write_text("#define ANSWER 43\n" if "answer" in new else "__device__ int more = 1;\n")
    assert compiled(project)[1] != before


@pytest.mark.skipif(sys.platform == "win32", reason="Windows does not tell when an inode was changed")
def test_a_patched_file_of_the_toolchain_with_its_old_time_is_another_one(tmp_path: Path) -> None:
    header = tmp_path / "a.h"
    header.write_text("#define A 1\n")
    before, status = kept_modules._states([str(header)], (str(tmp_path / "project"),)), header.stat()
    time.sleep(0.02)
    header.write_text("#define A 2\n")
    os.utime(header, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert kept_modules._states([str(header)], (str(tmp_path / "project"),)) != before


def test_another_version_of_cuda_wheel_compiles_again(project: Path, no_compiler, monkeypatch) -> None:
    compiled(project)
    monkeypatch.setattr(kept_modules, "__version__", "0.0.0")
    no_compiler()
    with pytest.raises(AssertionError, match="a compiler was started"):
        compiled(project)


def test_an_undone_edit_finds_the_earlier_result(project: Path, no_compiler) -> None:
    before = compiled(project)
    (project / "demo/kernels/k.cu").write_text(SOURCE + "// edited\n")
    compiled(project)
    (project / "demo/kernels/k.cu").write_text(SOURCE)
    no_compiler()
    assert compiled(project) == before


def test_another_toolchain_compiles_again(project: Path, tmp_path: Path, monkeypatch, no_compiler) -> None:
    site = tmp_path / "site-packages"
    (site / "nvidia").mkdir(parents=True)
    monkeypatch.syspath_prepend(site)
    compiled(project)
    (site / "nvidia_nvjitlink-1.dist-info").mkdir()  # as the installation of a compiler does
    no_compiler()
    with pytest.raises(AssertionError, match="a compiler was started"):
        compiled(project)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:an entry of the cache")
def test_a_damaged_entry_counts_as_absent(project: Path, cache: Cache) -> None:
    first = compiled(project)
    entries = [Path(path) for _, _, path in cache.entries()]
    assert len(entries) == 3  # the toolchain, the list of files, the result
    for some in (entries, *([entry] for entry in entries)):
        for entry in some:
            entry.write_bytes(entry.read_bytes()[:-1])
        assert compiled(project) == first
        for entry in some:
            cache.put("".join(entry.parts[-2:]), b"null")
        assert compiled(project) == first


def test_a_cache_that_cannot_be_written_is_a_warning(project: Path, tmp_path: Path, monkeypatch) -> None:
    (tmp_path / "a file").write_text("")
    monkeypatch.setenv("CUDA_WHEEL_CACHE_DIR", str(tmp_path / "a file/cache"))
    with pytest.warns(RuntimeWarning, match="cannot write to its cache in .* Set CUDA_WHEEL_CACHE_DIR to another"):
        assert compiled(project)[0].kernels


def test_a_result_of_another_layout_compiles_again(project: Path, no_compiler, monkeypatch) -> None:
    compiled(project)
    monkeypatch.setattr(kept_modules, "FORMAT", "another")
    no_compiler()
    with pytest.raises(AssertionError, match="a compiler was started"):
        compiled(project)


def test_two_projects_of_one_name_have_results_of_their_own(project: Path, tmp_path: Path, no_compiler) -> None:
    """As two work trees of one repository have. Neither compiles again after the other."""
    other = make_tree(tmp_path / "other", HATCHLING + TABLE)
    (other / "include/answer.h").write_text("#define ANSWER 43\n")
    results = [compiled(project), compiled(other)]
    assert results[0] != results[1]
    no_compiler()
    assert [compiled(project), compiled(other)] == results


def test_another_setting_of_the_whole_project_compiles_again(project: Path, no_compiler) -> None:
    with (project / "pyproject.toml").open("a") as stream:
        stream.write('ptx-version = "auto"\n')
    compiled(project, (99, 0))
    text = (project / "pyproject.toml").read_text()
    (project / "pyproject.toml").write_text(text.replace('"auto"', '"as-compiled"'))
    no_compiler()
    with pytest.raises(AssertionError, match="a compiler was started"):
        compiled(project, (99, 0))


def test_a_result_is_not_cached_if_a_header_appears_that_would_be_found_first(
    project: Path, no_compiler, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise the record would say that the compiler had read it."""

    def compile_and_add(*arguments: Any) -> Any:
        result = compile_for_gpu(*arguments)
        (project / "demo/kernels/answer.h").write_text("#define ANSWER 43\n")
        return result

    monkeypatch.setattr(local_gpu, "compile_for_gpu", compile_and_add)
    compiled(project)
    no_compiler()
    with pytest.raises(AssertionError, match="a compiler was started"):
        compiled(project)


def test_a_file_of_the_project_is_known_by_its_content(tmp_path: Path) -> None:
    """A version control system that switches branches and back leaves new times."""
    header = tmp_path / "project/a.h"
    header.parent.mkdir()
    header.write_text("#define A 1\n")
    before = kept_modules._states([str(header)], (str(header.parent),))
    os.utime(header, ns=(1, 1))
    assert kept_modules._states([str(header)], (str(header.parent),)) == before
    header.write_text("#define A 2\n")
    os.utime(header, ns=(1, 1))
    assert kept_modules._states([str(header)], (str(header.parent),)) != before


def test_a_file_elsewhere_is_known_by_its_times(tmp_path: Path) -> None:
    """A compiler's library has 100 MB. A folder whose name begins with the project's is elsewhere too."""
    library = tmp_path / "project-libraries/libnvrtc.so"
    library.parent.mkdir()
    library.write_text("x")
    before = kept_modules._states([str(library)], (str(tmp_path / "project"),))
    os.utime(library, ns=(1, 1))
    assert kept_modules._states([str(library)], (str(tmp_path / "project"),)) != before


def test_a_further_hard_link_to_a_file_elsewhere_is_no_change(tmp_path: Path) -> None:
    """uv adds one for each environment, which changes the time of the inode."""
    header = tmp_path / "a.h"
    header.write_text("#define A 1\n")
    os.link(header, tmp_path / "first.h")
    before = kept_modules._states([str(header)], (str(tmp_path / "project"),))
    time.sleep(0.02)
    os.link(header, tmp_path / "second.h")
    assert kept_modules._states([str(header)], (str(tmp_path / "project"),)) == before


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """Return the list to which each real worker adds what it is asked for."""
    made: list[tuple[Any, ...]] = []

    class Recorded(Worker):
        def __init__(self, memory: int | None) -> None:
            made.append(("memory", memory))
            super().__init__(memory)

        def prepare(self, function: Any, argument: Any) -> None:
            made.append((function, argument))
            super().prepare(function, argument)

        def call(self, function: Any, argument: Any, timeout: float) -> Any:
            made.append((function, timeout))
            return super().call(function, argument, timeout)

    monkeypatch.setattr("cuda_wheel.builder.workers.worker.Worker", Recorded)
    return made


def test_the_limits_of_the_project_hold_for_its_worker(
    project: Path, cache: Cache, calls: list[tuple[Any, ...]]
) -> None:
    cache.prune(0)  # the worker searches for the toolchain
    with (project / "pyproject.toml").open("a") as stream:
        stream.write('timeout = 321\nmemory-limit = "7GiB"\n')
    compiled(project)
    assert calls[:2] == [("memory", 7 << 30), (find_toolchain, 321)]
    assert {timeout for _, timeout in calls[1:]} == {321}


def test_the_worker_loads_a_known_compiler_while_the_driver_starts(
    project: Path, cache: Cache, calls: list[tuple[Any, ...]], toolchain: Toolchain
) -> None:
    """It searches for the compiler only once."""
    cache.prune(0)
    compiled(project)
    assert find_toolchain in [function for function, _ in calls]
    calls.clear()
    compiled(project, (9, 0))
    assert calls[1] == (load, toolchain.libraries[0])
    assert find_toolchain not in [function for function, _ in calls]
