"""A job's result has the images that the job asks for, whatever the kind of its source."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cuda_wheel.builder.compile.job import compile_job, read_ptx_source
from cuda_wheel.builder.errors import CompileError, ConfigError
from cuda_wheel.builder.jobs import AbsentHeader, Compiled, Job
from cuda_wheel.builder.workers.pool import Workers
from cuda_wheel.runtime.parts.formats.cubin import read_cubin
from tests.support.projects import write_files
from tests.support.ptx_texts import TEXT

Compile = Callable[..., Compiled]

KERNEL = "__global__ void k(int* x) { *x = 1; }\n"

TEMPLATES = """\
template <class T> __global__ void __launch_bounds__(64) t(T* x) { *x = 1; }
void run(int* i, float* f, double* d) { t<<<1, 1>>>(i); t<<<1, 1>>>(f); t<<<1, 1>>>(d); }
"""


@pytest.fixture
def ptx_job(job_of: Callable[..., Job]) -> Callable[..., Job]:
    """Return a function that returns the job of a PTX source for an architecture."""

    def make(target: str, arch: str, text: str = TEXT, **changes: Any) -> Job:
        return job_of(text.replace("sm_80", f"sm_{target}"), arch, source="k.ptx", kind="ptx", **changes)

    return make


# --- images -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("source", ["cuda", "ptx"])
@pytest.mark.parametrize(("cubin", "ptx"), [(True, True), (True, False), (False, True)])
def test_a_result_has_the_images_that_its_job_asks_for(
    source: str, cubin: bool, ptx: bool, compiled: Compile, ptx_job: Callable[..., Job], workers: Workers
) -> None:
    if source == "cuda":
        result = compiled(KERNEL, cubin=cubin, ptx=ptx)
    else:
        result = workers.submit(compile_job, ptx_job("80", "86", cubin=cubin, ptx=ptx)).result()
    assert (result.cubin is not None, result.ptx is not None) == (cubin, ptx)
    assert (result.resources.keys() == result.kernels.keys()) == cubin
    if result.cubin:
        assert read_cubin(result.cubin).kernels.keys() == result.kernels.keys()


@pytest.mark.parametrize(("lineinfo", "name"), [(False, ""), (True, "k.cu")])
def test_ptx_has_line_numbers_only_if_the_job_asks_for_them(lineinfo: bool, name: str, compiled: Compile) -> None:
    ptx = (compiled(KERNEL, lineinfo=lineinfo).ptx or b"").decode()
    assert (".loc" in ptx) == lineinfo
    assert (f'"{name}"' in ptx) == lineinfo


def test_a_part_of_a_program_is_lto_ir_alone(compiled: Compile) -> None:
    result = compiled(KERNEL, form="lto")
    assert result.ltoir and (result.cubin, result.ptx) == (None, None)


@pytest.mark.parametrize("changes", [{}, {"cubin": False}])
def test_the_version_of_the_ptx_is_lowered_and_the_compilers_is_kept(
    changes: dict[str, Any], compiled: Compile
) -> None:
    asked = compiled(KERNEL, ptx_version="as-compiled", **changes)
    lowered = compiled(KERNEL, **changes)
    own = "{}.{}".format(*asked.ptx_version_compiled or ())
    assert f".version {own}\n".encode() in (asked.ptx or b"")
    assert lowered.ptx_version_compiled == asked.ptx_version_compiled
    assert f".version {own}\n".encode() not in (lowered.ptx or b"")


def test_ptx_that_the_assembler_refuses_is_an_error_though_no_cubin_is_wanted(
    workers: Workers, ptx_job: Callable[..., Job]
) -> None:
    """Each user's driver would refuse it."""
    wrong = ptx_job("80", "80", TEXT.replace("{ ret; }", "{ nonsense; }"), cubin=False)
    with pytest.raises(CompileError, match="nonsense"):
        workers.submit(compile_job, wrong).result()


# --- PTX as a source ----------------------------------------------------------------------------------


@pytest.mark.one_toolchain
@pytest.mark.parametrize(
    ("target", "arch", "suits"),
    [
        ("80", "80", True),
        ("80", "86", True),
        ("80", "90a", True),
        ("80", "100f", True),
        ("86", "80", False),
        ("90a", "90a", True),
        ("90a", "90", False),
        ("90a", "100a", False),
        ("100f", "100f", True),
        ("100f", "103f", False),
    ],
)
def test_ptx_becomes_an_image_for_its_target_and_later_ones(
    target: str, arch: str, suits: bool, ptx_job: Callable[..., Job]
) -> None:
    job = ptx_job(target, arch)
    if suits:
        assert read_ptx_source(job).kernels.keys() == {"k", "empty", "bare"}
    else:
        with pytest.raises(CompileError, match=rf"^k\.ptx: error: this PTX is for sm_{target} .* image for {arch}: "):
            read_ptx_source(job)


@pytest.mark.one_toolchain
@pytest.mark.parametrize("text", ["", "int main() {}", ".version 8.8\n"])
def test_a_text_that_is_no_ptx_is_an_error_that_names_the_source(text: str, ptx_job: Callable[..., Job]) -> None:
    with pytest.raises(CompileError, match=r"^k\.ptx: error: "):
        read_ptx_source(replace(ptx_job("80", "80"), text=text.encode()))


# --- instances ----------------------------------------------------------------------------------------


def test_only_the_named_instances_are_in_the_images(compiled: Compile) -> None:
    result = compiled(TEMPLATES + KERNEL, instances=("t<float*", "t<int>"), instantiate=("t<long>",))
    kept = {"_Z1tIfEvPT_", "_Z1tIiEvPT_", "_Z1tIlEvPT_", "_Z1kPi"}  # what is named explicitly, and no template, stays
    assert result.kernels.keys() == kept
    assert result.bounds.keys() == result.kernels.keys() - {"_Z1kPi"}
    assert b"_Z1tIdEvPT_" not in (result.ptx or b"")
    assert read_cubin(result.cubin or b"").kernels.keys() == kept


def test_instances_that_keep_nothing_are_an_error_that_lists_what_there_is(compiled: Compile) -> None:
    with pytest.raises(CompileError, match=r"^instances keeps none of the 3 kernels of k\.cu: t<.*>, t<.*>, t<.*>$"):
        compiled(TEMPLATES, instances=("u",))


def test_code_for_a_debugger_keeps_all_instances(compiled: Compile) -> None:
    with pytest.raises(ConfigError, match="leave out -G"):
        compiled(TEMPLATES, instances=("t<int>",), options=("--std=c++17", "-G"))


# --- files outside the project ------------------------------------------------------------------------


def test_a_header_that_is_missing_is_recorded_with_its_first_include(compiled: Compile, tmp_path: Path) -> None:
    write_files(tmp_path, **{"a.h": "\n\n#include <Eigen/Core>\n"})
    text = '#include "a.h"\n#if 0\n#include <Eigen/Dense>\n#endif\n' + KERNEL
    result = compiled(text, missing_headers=("Other/*", "Eigen/*"))
    assert result.absent_headers == (AbsentHeader("a.h", 3, "Eigen/Core", "Eigen/*"),)
    with pytest.raises(CompileError, match='cannot open source file "Eigen/Core"'):
        compiled(text, missing_headers=("Other/*",))


@pytest.mark.parametrize("changes", [{"ptx": False}, {"cubin": False}, {"form": "ptx"}])
def test_an_image_with_the_path_of_a_library_is_an_error(
    changes: dict[str, Any], job_of: Callable[..., Job], workers: Workers, tmp_path: Path
) -> None:
    """Builds on other machines would differ. Paths of the project are relative, so they are no matter."""
    write_files(tmp_path, **{"library/tile.h": "__device__ const char* place() { return __FILE__; }\n"})
    library = str(tmp_path / "library")
    text = "#include <tile.h>\n__global__ void k(const char** x) { *x = place(); }\n"
    project = write_files(tmp_path / "project", **{"own.h": (tmp_path / "library/tile.h").read_text()})
    job = job_of(text, root=project, **changes)
    outside = replace(job, include_dirs=(*job.include_dirs, library), system_dirs=(library,))
    with pytest.raises(CompileError, match=r"^k\.cu: the image would contain the path of (tile\.h|a header in )"):
        workers.submit(compile_job, outside).result()
    own = replace(job, text=text.replace("tile.h", "own.h").encode())
    assert workers.submit(compile_job, own).result().log == ""
