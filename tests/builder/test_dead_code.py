"""Code that nvJitLink removes as unused: if a kernel or variable of the module is among it, the whole code is kept."""

from __future__ import annotations

from collections.abc import Collection
from unittest import mock

from cuda_wheel.builder.jobs import Compiled, LinkInput, LinkJob
from cuda_wheel.builder.link import is_whole, link_job
from cuda_wheel.builder.workers.pool import Workers
from cuda_wheel.runtime.parts.formats.cubin import read_cubin

SOURCE = """
__device__ int seen;
static __constant__ int hidden[4] = {1, 2, 3, 4};
__global__ void k(int* x) { *x = hidden[*x]; }
__global__ void other(int* x) { *x = 1; }
"""


def test_code_is_whole_if_it_has_every_kernel_and_variable(compiled) -> None:
    result = compiled(SOURCE)
    kernels, variables = list(result.kernels), [variable.symbol for variable in result.variables]
    assert (kernels, sorted(variables)) == (["_Z1kPi", "_Z5otherPi"], ["hidden", "seen"])
    cubin = read_cubin(result.cubin)._replace(variables={"seen": ("global", 4)}, private=frozenset({"hidden"}))
    assert is_whole(cubin, kernels, variables)
    assert is_whole(cubin, kernels[:1], [])
    for kernel in kernels:
        without = {name: entry for name, entry in cubin.kernels.items() if name != kernel}
        assert not is_whole(cubin._replace(kernels=without), kernels, variables)
    assert not is_whole(cubin._replace(private=frozenset()), kernels, variables)
    assert not is_whole(cubin._replace(variables={}), kernels, variables)


def naming_no_variable(symbols: Collection[str]) -> list[str]:
    """Return the options with which nvJitLink removes also the variables of `symbols`, as if it ignored their names."""
    return ["-optimize-unused-variables"]


def variables(result: Compiled) -> Collection[str]:
    cubin = read_cubin(result.cubin)
    return cubin.variables.keys() | cubin.private


def link_naming_no_variable(job: LinkJob) -> Compiled:
    with mock.patch("cuda_wheel.builder.link.keeping", naming_no_variable):
        return link_job(job)


def test_a_variable_that_nvjitlink_removes_from_a_link_is_in_the_image(compiled, workers: Workers) -> None:
    piece = compiled(SOURCE, form="lto")
    inputs = (LinkInput("k.cu", "ltoir", piece.ltoir),)
    link = LinkJob("demo.m", "80", True, True, inputs, ("--std=c++17",), False, "auto", ())
    for run in (link_job, link_naming_no_variable):
        result = workers.submit(run, link).result()
        assert variables(result) == {"seen", "hidden"}
        assert result.kernels.keys() == {"_Z1kPi", "_Z5otherPi"}
