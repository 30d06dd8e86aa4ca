"""Host code is compiled by a list of strategies, within a budget of NVRTC calls."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from cuda_wheel.builder.compile import nvrtc_calls
from cuda_wheel.builder.compile.host_code import STRATEGIES
from cuda_wheel.builder.compile.job import compile_job
from cuda_wheel.builder.errors import CompileError
from cuda_wheel.builder.jobs import Compiled, Job
from cuda_wheel.builder.workers.pool import Workers

WRONG = "#include <cuda_runtime.h>\n__global__ void k(int* p) { *p = 1; }\nvoid f() { library::log(1); }\n"

RIGHT = WRONG.replace("library::log(1)", "int* p = nullptr; k<<<1, 1>>>(p)")


@pytest.mark.one_toolchain
def test_strategies_have_names_of_their_own() -> None:
    assert len({strategy.name for strategy in STRATEGIES}) == len(STRATEGIES)


def compiled_within(case: tuple[Job, int]) -> Compiled:
    """Compile a job with another budget; runs in a worker."""
    job, budget = case
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(nvrtc_calls, "BUDGET", budget)
        return compile_job(job)


def test_the_error_says_so_once_the_budget_is_spent(workers: Workers, job_of: Callable[..., Job]) -> None:
    with pytest.raises(CompileError) as failure:
        workers.submit(compiled_within, (job_of(WRONG), 2)).result()
    assert "library" in str(failure.value)
    assert "no further way to compile this source was tried after" in str(failure.value)
    with pytest.raises(CompileError) as failure:
        workers.submit(compile_job, job_of(WRONG)).result()
    assert "no further way" not in str(failure.value)


def test_a_source_that_compiles_needs_no_budget(workers: Workers, job_of: Callable[..., Job]) -> None:
    assert list(workers.submit(compiled_within, (job_of(RIGHT), 0)).result().kernels) == ["_Z1kPi"]
