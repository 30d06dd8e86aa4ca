"""Of the errors of a source that does not compile, those are reported that the user has to mend."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from cuda_wheel.builder.compile import edited_source
from cuda_wheel.builder.compile.edited_source import read_project
from cuda_wheel.builder.compile.job import compile_job
from cuda_wheel.builder.errors import CompileError
from cuda_wheel.builder.jobs import Compiled, Job
from cuda_wheel.builder.rewriting.blocks import SourceBlocks
from cuda_wheel.builder.rewriting.project_texts import project_files
from cuda_wheel.builder.workers.pool import Workers
from tests.support.projects import write_files

Compile = Callable[..., Compiled]

KERNEL = "__global__ void k(int* x) { *x = 1; }\n"


# --- errors -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        # Each of these is a mistake of its own.
        ("int a = x;\nint b = y;\n", [1, 2]),
        # A declaration that failed: what uses its name is a consequence.
        ("Unknown a;\nint b = a;\nint c = y;\n", [1, 3]),
        ("int a[-1]; int b = y;\n", [1, 1]),  # in the same line, the name may be of another declaration
        ("int a[-1];\nint b = a[0] + y;\n", [1, 2]),
        # After a syntax error, the compiler goes on anywhere.
        ("int a = x;\nint f() { return 1 +; }\nint b = y;\n", [1, 2]),
        # Before a syntax error, errors in the same definition may be of a wrong reading.
        ("int f() {\n int a = x;\n return 1 +;\n}\n", [3]),
        ("int g() { return x; }\nint f() {\n int a = x;\n return 1 +;\n}\n", [1, 4]),
    ],
)
def test_errors_that_follow_from_others_are_not_reported(text: str, lines: list[int], compiled: Compile) -> None:
    with pytest.raises(CompileError) as failure:
        compiled(text + KERNEL)
    found = [line.split(":") for line in str(failure.value).split("\n") if line.startswith("k.cu:")]
    assert [int(place[1]) for place in found if place[3] == " error"] == lines


def test_an_error_that_rewriting_removes_is_not_reported(compiled: Compile) -> None:
    """nvcc compiles such a macro."""
    macro = (
        "#define UNROLL #pragma unroll\n__device__ void f(int* x) {\nUNROLL\nfor (int i = 0; i < 9; i++) x[i] = i; }\n"
    )
    assert compiled(macro + KERNEL).kernels.keys() == {"_Z1kPi"}
    with pytest.raises(CompileError) as failure:
        compiled(macro + "__device__ int a = x;\n" + KERNEL)
    assert '"x" is undefined' in str(failure.value)
    assert "not expected here" not in str(failure.value)


def test_an_error_behind_nvrtcs_macro_is_the_users_only_if_it_is_there_without_the_macro_too(
    compiled: Compile, tmp_path: Path
) -> None:
    """A header may leave out for NVRTC what host code needs; nvcc reads it."""
    write_files(tmp_path, **{"a.h": "#ifndef __CUDACC_RTC__\nstruct Hidden { int a; };\n#endif\n"})
    text = '#include "a.h"\nint f() { Hidden a; return a.a; }\n' + KERNEL
    assert compiled(text).kernels.keys() == {"_Z1kPi"}
    with pytest.raises(CompileError) as failure:
        compiled(text + "int b = x;\n")
    assert '"x" is undefined' in str(failure.value)
    assert '"Hidden" is undefined' not in str(failure.value)


def reads(job: Job) -> tuple[str, list[bytes]]:
    """Compile a job that fails. Return its error, and the texts whose tokens were found. Runs in a worker."""
    texts = []

    def blocks(content: bytes) -> SourceBlocks:
        texts.append(content)
        return SourceBlocks(content)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(edited_source, "SourceBlocks", blocks)
        with pytest.raises(CompileError) as failure:
            compile_job(job)
    return str(failure.value), texts


def test_a_file_is_read_once_for_all_attempts_and_for_the_message(
    workers: Workers, job_of: Callable[..., Job], tmp_path: Path
) -> None:
    """The headers of some projects have millions of tokens."""
    write_files(tmp_path, **{"a.h": "struct A { int a; };\n"})
    text = '#include "a.h"\n' + KERNEL + "void f() { library::log(1); }\nvoid g() { other::log(1); }\n"
    message, texts = workers.submit(reads, job_of(text, root=tmp_path)).result()
    assert 'host-code = "leave-out" for this module' in message  # the trial reads the files too
    assert sorted(texts) == sorted([text.encode(), b"struct A { int a; };\n"])


# --- files --------------------------------------------------------------------------------------------


@pytest.fixture
def job(job_of: Callable[..., Job], tmp_path: Path) -> Job:
    """A job whose source includes headers of the project, of a library in its folder and of one elsewhere."""
    files = {
        "project/src/own.h": "int own;\n",
        "project/include/far.h": '#include "near.h"\n',
        "project/include/near.h": "int near;\n",
        "project/third_party/lib.h": '#include "detail.h"\n',
        "project/third_party/detail.h": "int detail;\n",
        "elsewhere/other.h": "int other;\n",
    }
    write_files(tmp_path, **files)
    folders = ("include", str(tmp_path / "project/third_party"), str(tmp_path / "elsewhere"))
    includes = '#include "own.h"\n#include <far.h>\n#include <lib.h>\n#include <other.h>\n#include <missing.h>\n'
    return job_of(includes, root=tmp_path / "project", source="src/k.cu", include_dirs=folders)


@pytest.mark.one_toolchain
def test_the_files_of_a_project_are_its_source_and_the_headers_in_its_own_folders(job: Job) -> None:
    project = read_project(job)
    assert project_files(project).keys() == {"src/k.cu", "src/own.h", "include/far.h", "include/near.h"}
    assert project.blocks("src/k.cu").content == job.text
    assert project.blocks("include/near.h").content == b"int near;\n"


@pytest.mark.one_toolchain
def test_a_quoted_header_is_first_looked_for_beside_its_includer(job: Job, tmp_path: Path) -> None:
    write_files(tmp_path / "project", **{"src/near.h": "", "include/own.h": ""})
    find = read_project(job).find
    assert find("near.h", True, "src/k.cu") == "src/near.h"
    assert find("near.h", False, "src/k.cu") == "include/near.h"
    assert find("near.h", True, "include/far.h") == "include/near.h"
    assert find("../include/near.h", True, "src/k.cu") == "include/near.h"
    assert find("missing.h", True, "src/k.cu") is None
    assert find("lib.h", False, "src/k.cu") is None


@pytest.mark.one_toolchain
def test_a_file_is_the_projects_own_if_it_exists_in_its_folder_and_in_no_librarys(job: Job, tmp_path: Path) -> None:
    is_own = read_project(job).is_own
    assert is_own("src/own.h") and is_own("src/../include/far.h")
    assert not is_own("third_party/lib.h")
    assert not is_own(str(tmp_path / "elsewhere/other.h"))
    assert not is_own("named/by/line.h")


@pytest.mark.one_toolchain
def test_a_library_is_read_when_one_of_its_files_is_concerned(job: Job, tmp_path: Path) -> None:
    project = read_project(job)
    other = project.with_library(str(tmp_path / "elsewhere/other.h"))
    assert other is not None
    assert project_files(other).keys() - project_files(project).keys() == {str(tmp_path / "elsewhere/other.h")}
    both = other.with_library("third_party/lib.h")
    assert both is not None
    assert {"third_party/lib.h", "third_party/detail.h"} < project_files(both).keys()
    assert not both.is_own("third_party/lib.h")
    assert both.with_library("third_party/lib.h") is None  # it is read already
    assert project.with_library("include/far.h") is None
