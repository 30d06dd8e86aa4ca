"""Errors of the compiler as they are reported: headers that are missing or stand empty."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from cuda_wheel.builder.errors import CompileError
from cuda_wheel.builder.jobs import Compiled

KERNEL = "__global__ void k(int* x) { *x = 1; }\n"


USES = "#include <Eigen/Core>\n#include <cstdint>\n" + KERNEL


@pytest.mark.one_toolchain
def test_an_error_names_the_headers_that_are_empty(compiled: Callable[..., Compiled]) -> None:
    with pytest.raises(CompileError, match=r"a header that missing-headers makes empty: Eigen/Core\.$"):
        compiled(USES + "Eigen::Matrix matrix;\n", missing_headers=("Eigen/*",))
