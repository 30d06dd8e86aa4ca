"""What a module's code needs is defined in it, also where no assembler checks that."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from cuda_wheel.builder.errors import CompileError
from cuda_wheel.builder.jobs import Compiled

Compile = Callable[..., Compiled]


@pytest.mark.parametrize("is_machine_code", [True, False])
def test_device_code_that_calls_a_host_function_is_an_error(compiled: Compile, is_machine_code: bool) -> None:
    source = "int host_sum(int x) { return x + 1; }\n__global__ void k(int* p) { *p = host_sum(*p); }\n"
    with pytest.raises(
        CompileError, match=r'"host_sum" is undefined in device code|Unresolved extern function'
    ) as error:
        compiled(source, cubin=is_machine_code)
    assert "mark it with __device__" in str(error.value) or "k.cu:2" in str(error.value)


def test_functions_of_the_driver_need_no_definition(compiled: Compile) -> None:
    source = '__global__ void k(int* p) { printf("%d", *p); assert(*p); free(malloc(4)); }\n'
    assert compiled("#include <assert.h>\n" + source, cubin=False).kernels.keys() == {"_Z1kPi"}
