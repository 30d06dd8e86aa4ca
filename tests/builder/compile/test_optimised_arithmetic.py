"""Floating-point options hold for code without unused variables, and for NVVM IR: in PTX and in machine code."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from cuda_wheel.builder.errors import ToolchainError
from cuda_wheel.builder.jobs import Compiled
from cuda_wheel.builder.toolchain.find import find_nvvm
from cuda_wheel.builder.toolchain.toolchain import Nvvm, Toolchain
from cuda_wheel.builder.workers.pool import Workers
from tests.support.projects import FIXTURES

LARGE = "#include <cuda/std/utility>\n"
"""Includes a large library, whose unused variables are removed before the PTX is assembled."""

PRODUCT, QUOTIENT, ROOT = "x[0] * x[1] + x[2]", "x[0] / x[1]", "sqrtf(x[0])"

OPTIONS = [
    # The expression, the option, and for PTX and machine code: what is there with the option, and what without it.
    (PRODUCT, "--fmad=false", (r"mul\.(rn\.)?f32", r"fma\.rn\.f32"), (r"FMUL|FADD", r"FFMA")),
    (PRODUCT, "--ftz=true", (r"fma\.rn\.ftz\.f32", r"fma\.rn\.f32"), (r"FFMA\.FTZ", r"FFMA\s")),
    (QUOTIENT, "--prec-div=false", (r"div\.full\.f32", r"div\.rn\.f32"), (r"", r"CALL")),
    (ROOT, "--prec-sqrt=false", (r"sqrt\.approx\.f32", r"sqrt\.rn\.f32"), (r"", r"CALL")),
    (QUOTIENT, "--use_fast_math", (r"div\.approx\.ftz\.f32", r"div\.rn\.f32"), (r"", r"CALL")),
]


@pytest.mark.parametrize(("expression", "option", "ptx", "machine_code"), OPTIONS, ids=[each[1] for each in OPTIONS])
def test_options_hold_for_sources_that_include_large_libraries(
    expression: str,
    option: str,
    ptx: tuple[str, str],
    machine_code: tuple[str, str],
    compiled: Callable[..., Compiled],
    nvdisasm: Callable[[Path], str],
    tmp_path: Path,
) -> None:
    text = f"{LARGE}__global__ void k(float* x) {{ x[3] = {expression}; }}"
    for options, (there, gone) in ((("--std=c++17", option), (0, 1)), (("--std=c++17",), (1, 0))):
        result = compiled(text, options=options)
        assert result.ptx is not None and result.cubin is not None
        path = tmp_path / "k.cubin"
        path.write_bytes(result.cubin)
        for words, code in ((ptx, result.ptx.decode()), (machine_code, nvdisasm(path))):
            assert re.search(words[there], code), options
            assert not words[gone] or not re.search(words[gone], code), options


@pytest.fixture
def nvvm(workers: Workers, toolchain: Toolchain, extra: str) -> Nvvm:
    try:
        return workers.submit(find_nvvm, toolchain).result()
    except ToolchainError as error:
        assert extra != "cu12", "cuda-wheel[cu12] brings libNVVM"
        pytest.skip(str(error))


def test_options_hold_for_nvvm_ir(compiled: Callable[..., Compiled], nvvm: Nvvm) -> None:
    source = (FIXTURES / "nvvm_ir/src/nvvm_demo/kernels/rsqrt_scale.ll").read_text()
    changes = {"library": nvvm.library, "libdevice": nvvm.libdevice, "nvvm": nvvm.release, "kind": "nvvm"}
    for options, flushes in ((("--std=c++17",), False), (("--std=c++17", "--ftz=true"), True)):
        result = compiled(source, source="k.ll", host_code="whole", options=options, **changes)
        assert result.ptx is not None
        assert (b"mul.ftz.f32" in result.ptx) == flushes
        assert (b"rsqrt.approx.ftz.f32" in result.ptx) == flushes
