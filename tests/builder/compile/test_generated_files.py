"""Generated files with host and device code have the kernels that nvcc gives them, or are errors."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from cuda_wheel.builder.compile.job import compile_job
from cuda_wheel.builder.errors import CompileError
from cuda_wheel.builder.jobs import Job
from cuda_wheel.builder.toolchain.toolchain import INCLUDE, STAND_INS, Toolchain
from cuda_wheel.builder.workers.pool import Workers
from tests.builder.compile.generated import Case, cases, facts
from tests.builder.compile.generated.answers import answers

Kernels = Mapping[str, list[str]]

MACROS_OF_COMPILERS = {
    "predefined/__CUDACC_RTC__": "NVRTC is the compiler",
    "predefined/__COUNTER__": "NVRTC does not have it",
    "predefined/__has_attribute": "NVRTC 13.5 does not have it",
}
"""Files with one kernel or another, by a macro that not every compiler defines."""

NVCC_ONLY_REFUSES = {
    "misuses/host_const_int_by_reference": "the constant's value is in the code, as it would be without the reference",
    "misuses/host_constexpr_array": "the constant's value is in the code",
    "misuses/host_constexpr_array_at_run_time": "the constants are in the image",
    "misuses/host_virtual": "NVRTC does not check virtual calls",
    "misuses/function_launched": "NVRTC does not check what is launched; the file has no kernel",
    "misuses/rtti_in_device": "NVRTC 13.5 does not check dynamic_cast",
}
"""Files that nvcc refuses and NVRTC compiles, and what comes out."""

NVRTC_REFUSES = {
    "host/gnu_assembly": "GNU mode",
    "host/gnu_builtins": "GNU mode",
    "host/gnu_case_range": "GNU mode",
    "host/gnu_conditional": "GNU mode",
    "host/gnu_designated": "GNU mode",
    "host/gnu_flexible_array": "GNU mode",
    "host/gnu_statement_expression": "GNU mode",
    "host/gnu_typeof": "GNU mode",
    "host/gnu_variable_length_array": "GNU mode",
    "host/gnu_zero_array": "GNU mode",
    "lexing/counter": "__COUNTER__",
    "lexing/unicode": "GNU mode",
    "misuses/host_function_of_host_device": "nvcc only warns, and the kernel stops there",
    "misuses/host_function_of_host_device_template": "nvcc only warns, and the kernel stops there",
    "misuses/host_lambda": "its operator() is constexpr, its variable is the host's",
    "standards/auto_parameters/c++14": "GNU mode",
    "standards/auto_parameters/c++17": "GNU mode",
    "standards/branch_at_compile_time/c++14": "GNU mode",
    "standards/designated/c++14": "GNU mode",
    "standards/designated/c++17": "GNU mode",
    "standards/fold/c++14": "GNU mode",
    "standards/init_statement/c++14": "GNU mode",
    "standards/inline_variable/c++14": "GNU mode",
    "standards/structured_bindings/c++14": "GNU mode",
    "standards/template_lambda/c++14": "GNU mode",
    "standards/template_lambda/c++17": "GNU mode",
    "standards/three_way/c++20": "needs <compare>",
    "specialisations/of_libraries/std_common_type": "std's is cuda::std's",
    "specialisations/of_libraries/std_numeric_limits": "std's is cuda::std's",
    "specialisations/of_libraries/std_numeric_limits_by_macro": "std's is cuda::std's",
    "specialisations/of_libraries/std_numeric_limits_scoped": "std's is cuda::std's",
    "specialisations/of_libraries/std_tuple_size": "std's is cuda::std's",
}
"""Files that nvcc compiles and NVRTC refuses with an error, and why."""


class Outcome(NamedTuple):
    """What cuda-wheel makes of a case: its kernels, or None and the error."""

    kernels: Kernels | None
    error: str


def difference(fact: Mapping[str, Any], kernels: Kernels) -> str:
    """Return how the kernels of a file differ from those that nvcc gives it; empty if they do not."""
    if "kernels" not in fact:
        return f"nvcc refuses it: {fact['error']}"
    expected = fact["kernels"]
    lost, new = sorted(set(expected) - set(kernels)), sorted(set(kernels) - set(expected))
    if lost or new:
        return f"lost kernels: {', '.join(lost) or 'none'}; new kernels: {', '.join(new) or 'none'}"
    other = [f"{name} has {kernels[name]} for {expected[name]}" for name in expected if kernels[name] != expected[name]]
    return f"other definitions are used: {'; '.join(other)}" if other else ""


def job_of(case: Case, folder: Path, toolchain: Toolchain) -> Job:
    """Return the job that compiles a case, after writing its headers to a folder."""
    for name, text in case.headers.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="")
    return Job(
        library=toolchain.libraries[0],
        root=str(folder),
        source="k.cu",
        text=case.text.encode(),
        arch="80",
        cubin=False,
        ptx=True,
        options=(f"--std={case.standard}",),
        include_dirs=("", str(INCLUDE), *STAND_INS, *toolchain.include_dirs),
        instantiate=(),
        lineinfo=False,
        ptx_version="as-compiled",
    )


@pytest.fixture(scope="module")
def outcomes(
    workers: Workers, toolchain: Toolchain, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> dict[str, Outcome]:
    """Compile all files, or, where two toolchains share the cases, two thirds and one third; one worker compiles many."""
    root = tmp_path_factory.mktemp("generated")
    jobs = {}
    numbers = {"first": (0, 1), "second": (2,)}.get(request.config.getoption("--cases"), (0, 1, 2))
    for number, case in enumerate(cases()):
        if number % 3 not in numbers:
            continue
        (folder := root / str(number)).mkdir()
        jobs[case.name] = workers.submit(compile_job, job_of(case, folder, toolchain))
    found = {}
    for name, job in jobs.items():
        try:
            found[name] = Outcome(answers((job.result().ptx or b"").decode()), "")
        except CompileError as error:
            found[name] = Outcome(None, str(error))
    return found


@pytest.mark.one_toolchain
def test_every_file_has_nvcc_s_answer_and_no_answer_is_of_another_text() -> None:
    known = {name: fact["text"] for name, fact in facts().items()}
    assert known == {case.name: case.digest for case in cases()}, "run scripts/host_code_facts.py"


@pytest.mark.thorough
@pytest.mark.timeout(600)
def test_no_file_has_other_kernels_than_with_nvcc(outcomes: dict[str, Outcome]) -> None:
    known = facts()
    different = {
        name: text
        for name, outcome in outcomes.items()
        if outcome.kernels is not None and (text := difference(known[name], outcome.kernels))
    }
    unexplained = {
        name: text for name, text in different.items() if name not in MACROS_OF_COMPILERS | NVCC_ONLY_REFUSES
    }
    assert unexplained == {}


@pytest.mark.thorough
@pytest.mark.timeout(600)
def test_files_that_nvcc_compiles_compile(outcomes: dict[str, Outcome]) -> None:
    known = facts()
    refused = {
        name: each.error for name, each in outcomes.items() if each.kernels is None and "error" not in known[name]
    }
    assert {name: text for name, text in refused.items() if name not in NVRTC_REFUSES} == {}
    assert sum(each.kernels is not None for each in outcomes.values()) > len(outcomes) * 0.6


@pytest.mark.thorough
@pytest.mark.timeout(600)
def test_an_error_has_a_place_or_says_what_is_wrong(outcomes: dict[str, Outcome]) -> None:
    errors = {name: each.error for name, each in outcomes.items() if each.kernels is None}
    assert len(errors) > len(outcomes) * 0.1
    assert {name: text for name, text in errors.items() if "error: " not in text or "internal error" in text} == {}


@pytest.mark.one_toolchain
def test_the_comparison_notices_each_kind_of_other_answer() -> None:
    fact = facts()["specialisations/scoped/file"]
    kernels = dict(fact["kernels"])
    name = next(each for each in kernels if "reduceIf" in each)
    primary = [answer for answer in kernels[name] if answer not in ("2002", "f64")] + ["2001"]
    assert difference(fact, kernels) == ""
    assert difference(fact, {each: kernels[each] for each in kernels if each != name}).startswith(
        "lost kernels: _Z6reduceIf"
    )
    assert "new kernels: _Z6reduceIdE" in difference(fact, {**kernels, "_Z6reduceIdEvPKT_PS0_": []})
    assert "other definitions are used" in difference(fact, {**kernels, name: sorted(primary)})
    assert "nvcc refuses it" in difference({"error": "identifier"}, kernels)
