"""The resources of kernels in the log of ptxas; tests/gpu/test_jit.py reads the driver's own logs."""

from __future__ import annotations

import pytest

from cuda_wheel.runtime.parts.compile_log import resources_of

pytestmark = pytest.mark.one_toolchain

LOG = """\
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function '_Z1kPf' for 'sm_90'
ptxas info    : Function properties for _Z1kPf
    8 bytes stack frame, 4 bytes spill stores, 12 bytes spill loads
ptxas info    : Used 24 registers, used 1 barriers, 2048 bytes smem, 380 bytes cmem[0]
ptxas info    : Compiling entry function 'plain' for 'sm_90'
ptxas info    : Function properties for plain
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 8 registers
"""


def test_each_kernel_has_its_own_registers_and_bytes() -> None:
    assert resources_of(LOG) == {
        "_Z1kPf": {"registers": 24, "shared": 2048, "local": 8, "spill_stores": 4, "spill_loads": 12},
        "plain": {"registers": 8, "shared": 0, "local": 0, "spill_stores": 0, "spill_loads": 0},
    }


@pytest.mark.parametrize("log", ["", "ptxas info    : 0 bytes gmem\n", "error   : something else\n"])
def test_a_log_without_kernels_has_no_resources(log: str) -> None:
    assert resources_of(log) == {}
