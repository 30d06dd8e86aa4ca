"""The errors of several modules, put together."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from cuda_wheel.builder.failures import CommonErrors, Failure, merged
from tests.support.processes import run_cuda_wheel

pytestmark = pytest.mark.usefixtures("two_workers")

HEADER = "inc/h.cuh:3:1: error: expected a declaration\n  }\n  ^"
OWN = "demo/a.cu:1:1: error: nothing\n  x\n  ^"


def failure(text: str, name: str = "a", target: str = "sm_80") -> Failure:
    by = f"for {target} with NVRTC 1.2.3"
    return Failure(f"demo/{name}.cu does not compile {by}:", by, text)


@pytest.mark.one_toolchain
def test_the_errors_of_one_module_stand_below_its_heading() -> None:
    text = f"{OWN}\n\n{HEADER}\nhelp: do this\nhelp: do that"
    assert merged({"demo.a": failure(text)}) == [f"demo/a.cu does not compile for sm_80 with NVRTC 1.2.3:\n{text}"]


@pytest.mark.one_toolchain
def test_what_modules_share_is_printed_once() -> None:
    failures = {f"demo.{name}": failure(f"{HEADER}\nhelp: do this", name) for name in "edcba"}
    failures["demo.a"] = failure(f"{HEADER}\n\n{OWN}\nhelp: do this\nhelp: do that", target="sm_90")
    failures["demo.f"] = Failure("", "", "demo.f cannot be linked")
    by = "for sm_90 with NVRTC 1.2.3, for sm_80 with NVRTC 1.2.3"
    assert merged(failures) == [
        f"in 5 modules: demo.a, demo.b, demo.c, demo.d, ... (compiled {by}):\n{HEADER}\nhelp: do this",
        f"demo/a.cu does not compile for sm_90 with NVRTC 1.2.3:\n{OWN}\nhelp: do that",
        "demo.f cannot be linked",
    ]


@pytest.mark.one_toolchain
def test_a_build_ends_early_only_if_headers_fail_alike_and_nothing_compiles() -> None:
    errors = CommonErrors()
    for source in ("a.cu", "a.cu", "b.cu"):
        errors.job_failed(HEADER, source)
    assert not errors.reason_to_end(9)
    errors.job_failed(HEADER, "c.cu")
    assert not errors.reason_to_end(0)
    reason = "9 more modules were not compiled: 3 sources fail alike in a header, and none has compiled."
    assert errors.reason_to_end(9) == reason
    assert errors.reason_to_end(1).startswith("1 more module was not compiled")
    errors.job_compiled()
    assert not errors.reason_to_end(9)
    others = CommonErrors()
    for source in "abcd":
        others.job_failed(f"{source}: error: nothing", source)
        others.job_failed("h.cuh:1: warning: nothing", source)
    assert not others.reason_to_end(9)


@pytest.fixture
def failing(make_project: Callable[..., Path], tmp_path: Path) -> Callable[..., str]:
    """Return a function that builds a project and returns the output of the failure."""

    def build(table: str, **files: str) -> str:
        project = make_project(f'[tool.cuda-wheel]\narchitectures = ["80-real"]\n{table}', **files)
        result = run_cuda_wheel("build", project, "-o", tmp_path / "out", cwd=tmp_path)
        assert result.returncode == 1
        return str(result.stdout)

    return build


def test_an_error_in_a_header_of_all_modules_is_printed_once_and_ends_the_build(failing) -> None:
    files = {f"demo/k{number:02}.cu": f'#include "h.cuh"\n__global__ void k{number}() {{}}\n' for number in range(20)}
    files["demo/h.cuh"] = "__device__ int f() { return nothing; }\n"
    output = failing("", **files)
    assert output.count('demo/h.cuh:1:29: error: identifier "nothing" is undefined') == 1
    assert " modules: demo.k" in output
    assert " more modules were not compiled: " in output


def test_a_heading_names_the_module_and_its_macros_where_a_file_has_several(failing) -> None:
    tables = "".join(
        f'[[tool.cuda-wheel.module]]\nname = "demo.{name}"\nsources = ["demo/k.cu"]\ndefines = {{ {macros} }}\n'
        for name, macros in (("half", 'T = "missing"'), ("float", 'T = "float", BAD = ""'))
    )
    output = failing(tables, **{"demo/k.cu": "__global__ void k(T* x) { BAD; }\n#ifdef BAD\n#error wrong\n#endif\n"})
    assert "demo/k.cu (module demo.half, T=missing) does not compile for sm_80" in output
    assert "demo/k.cu (module demo.float, BAD, T=float) does not compile for sm_80" in output
