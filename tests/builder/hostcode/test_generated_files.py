"""Generated files with host and device code have the kernels that nvcc gives them, or are errors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cuda_wheel.builder.compile.job import compile_job
from cuda_wheel.builder.errors import CudaWheelError
from cuda_wheel.builder.jobs import Job
from tests.builder.hostcode.generated.answers import answers

Kernels = Mapping[str, list[str]]

NVCC_REFUSES = {
    "misuses/host_const_int_by_reference": "the value is in the code, as if it were passed by value",
    "misuses/host_virtual": "the front end of NVRTC does not check virtual calls",
}
"""Files that nvcc refuses and NVRTC compiles as they are, and why that is no other kernel."""

OTHER_KERNELS = {
    "predefined/__GNUC__": "NVRTC has no GNU mode",
    "predefined/__CUDACC_RTC__": "NVRTC is the compiler",
}
"""Files whose kernels differ, since a macro says which compiler it is."""

REFUSED = {
    "host/gnu_assembly": "identifier",
    "host/gnu_case_range": "expected a",
    "host/gnu_designated": "expected an expression",
}
"""Files that nvcc compiles and NVRTC refuses, and a word of the message."""


def compiled(job: Job) -> tuple[Kernels | None, str]:
    """Return the kernels of a job's PTX and what was left out, or None and the error."""
    try:
        result = compile_job(job)
    except CudaWheelError as error:
        return None, str(error)
    return answers((result.ptx or b"").decode()), " ".join(result.blanked)


def difference(fact: dict[str, Any], kernels: Kernels | None) -> str:
    """Return how the kernels of a file differ from those that nvcc gives it; empty if they do not.

    `kernels` are None for an error: that never differs. See `difference_of_acceptance`.
    """
    if kernels is None:
        return ""
    if "kernels" not in fact:
        return f"nvcc refuses it ({fact['error']})"
    expected = fact["kernels"]
    if set(kernels) != set(expected):
        lost, new = sorted(set(expected) - set(kernels)), sorted(set(kernels) - set(expected))
        return f"lost kernels: {', '.join(lost) or 'none'}; new kernels: {', '.join(new) or 'none'}"
    other = [name for name in expected if kernels[name] != expected[name]]
    return f"other definitions are used in {', '.join(other)}" if other else ""
