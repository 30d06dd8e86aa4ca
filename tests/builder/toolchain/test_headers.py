"""The freestanding C and C++ headers, which NVRTC lacks: real uses of them compile without a warning."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cuda_wheel.builder.compile.job import compile_job
from cuda_wheel.builder.jobs import Form, Job
from cuda_wheel.builder.toolchain.toolchain import HOST_LIBRARIES, INCLUDE, STAND_INS, Toolchain
from cuda_wheel.builder.workers.pool import Workers

CASES = sorted((Path(__file__).parents[2] / "data" / "headers").glob("*.cu"))


def compiled(text: bytes, workers: Workers, toolchain: Toolchain, include_dirs: tuple[str, ...], std: str = "c++17"):
    job = Job(
        toolchain.libraries[0],
        ".",
        "k.cu",
        text,
        "80",
        True,
        True,
        (f"--std={std}",),
        include_dirs,
        (),
        False,
        "as-compiled",
    )
    return workers.submit(compile_job, job).result()


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.stem)
def test_a_realistic_file_compiles_without_warnings(case: Path, workers: Workers, toolchain: Toolchain) -> None:
    result = compiled(case.read_bytes(), workers, toolchain, toolchain.include_folders(()))
    assert result.cubin
    assert result.log == ""


@pytest.mark.parametrize("header", ["cstdint", "cmath", "cstdio", "cassert", "limits", "type_traits", "algorithm"])
def test_the_headers_also_compile_as_cpp20(header: str, workers: Workers, toolchain: Toolchain) -> None:
    text = f"#include <{header}>\n__global__ void k() {{}}\n".encode()
    assert compiled(text, workers, toolchain, toolchain.include_folders(()), "c++20").log == ""


@pytest.mark.parametrize("include", ["cub/block/block_reduce.cuh", "cuda_fp16.h", "cooperative_groups.h", "mma.h"])
def test_the_headers_do_not_change_a_file_that_includes_none_of_them(
    include: str, workers: Workers, toolchain: Toolchain
) -> None:
    text = f"#include <{include}>\n__global__ void k(float* x) {{ *x = 1; }}\n".encode()
    folders = (HOST_LIBRARIES, *toolchain.include_dirs)
    bare = compiled(text, workers, toolchain, folders)
    with_ours = compiled(text, workers, toolchain, (str(INCLUDE), *folders))
    assert (bare.cubin, bare.ptx) == (with_ours.cubin, with_ours.ptx)


def test_every_header_starts_with_a_comment() -> None:
    headers = [path for path in INCLUDE.rglob("*") if path.is_file()]
    assert headers
    for path in headers:
        assert path.read_text().startswith("//"), path


def test_no_header_defines_the_include_guard_of_another() -> None:
    guards: dict[str, Path] = {}
    defined: dict[str, set[Path]] = {}
    for path in (path for folder in (INCLUDE, *map(Path, STAND_INS)) for path in folder.rglob("*") if path.is_file()):
        text = path.read_text()
        for name in re.findall(r"^\s*#\s*(?:define|undef) (\w+)", text, re.MULTILINE):
            defined.setdefault(name, set()).add(path)
        guard = re.search(r"^#ifndef (\w+)\n#define \1$", text, re.MULTILINE)
        if guard:
            assert guards.setdefault(guard[1], path) == path
    assert len(guards) > 300
    assert {guard: defined[guard] for guard, path in guards.items() if defined[guard] != {path}} == {}


@pytest.mark.parametrize("form", ["whole", "lto"])
@pytest.mark.parametrize("host_code", ["", "int main() { return cudaDeviceSynchronize(); }\n"])
def test_programmatic_dependent_launch(form: Form, host_code: str, workers: Workers, toolchain: Toolchain) -> None:
    """NVRTC declares these functions in relocatable code only; nvcc in all."""
    body = "cudaTriggerProgrammaticLaunchCompletion(); cudaGridDependencySynchronize(); *x = 1;"
    text = f"#include <cuda_runtime.h>\n{host_code}__global__ void k(float* x) {{ {body} }}\n".encode()
    include_dirs = toolchain.include_folders(())
    job = Job(
        toolchain.libraries[0], ".", "k.cu", text, "90", form == "whole", True, ("--std=c++17",), include_dirs, (), False,
        "as-compiled", form=form,
    )  # fmt: skip
    result = workers.submit(compile_job, job).result()
    assert result.log == ""
    if form == "whole":
        instructions = re.findall(rb"griddepcontrol\.\w+", result.ptx)
        assert instructions == [b"griddepcontrol.launch_dependents", b"griddepcontrol.wait"]
