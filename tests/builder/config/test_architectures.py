"""The spellings of `architectures`, and the targets that they resolve to for each toolchain."""

from __future__ import annotations

import pytest

from cuda_wheel.builder.config.architectures import settle, split
from cuda_wheel.builder.errors import ConfigError

CUDA_12 = (50, 52, 53, 60, 61, 62, 70, 72, 75, 80, 86, 87, 89, 90, 100, 101, 103, 120, 121)
CUDA_13 = (75, 80, 86, 87, 88, 89, 90, 100, 103, 107, 110, 120, 121)


def targets(text: str, supported: tuple[int, ...] = CUDA_13, gpus: tuple[tuple[int, int], ...] = ()) -> str:
    found = settle(split(text), supported, lambda: gpus, "tool.cuda-wheel.architectures", "NVRTC 13.5.37")
    return " ".join(map(str, found))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("75", "sm_75 compute_75"),  # CMake: real and virtual
        ("80-real", "sm_80"),
        ("80-real;120-virtual", "sm_80 compute_120"),
        ("90a-real 100f-real", "sm_90a sm_100f"),
        ("90a", "sm_90a compute_90a"),
        ("8.0;9.0+PTX", "sm_80 sm_90 compute_90"),  # PyTorch's
        ("8.0, 8.6+ptx", "sm_80 sm_86 compute_86"),
        ("9.0a", "sm_90a"),
        ("sm_80,compute_75", "sm_80 compute_75"),  # nvcc's
        ("120;80;80-real;75", "sm_75 sm_80 sm_120 compute_75 compute_80 compute_120"),  # each once, in order
        ("default", "sm_75 sm_80 sm_90 sm_100 sm_120 compute_75 compute_100"),
        ("default;90a-real", "sm_75 sm_80 sm_90 sm_90a sm_100 sm_120 compute_75 compute_100"),
        ("75-virtual;80-virtual", "compute_75 compute_80"),
        ("all-major", "sm_75 sm_80 sm_90 sm_100 sm_110 sm_120 compute_120"),
        ("all-major;90a-real", "sm_75 sm_80 sm_90 sm_90a sm_100 sm_110 sm_120 compute_120"),
    ],
)
def test_a_spelling_and_its_targets(text: str, expected: str) -> None:
    assert targets(text) == expected


def test_all_is_every_supported_one_and_ptx_of_the_latest_major() -> None:
    assert targets("all") == " ".join(f"sm_{number}" for number in CUDA_13) + " compute_120"
    assert targets("all-major", CUDA_12) == "sm_50 sm_60 sm_70 sm_80 sm_90 sm_100 sm_120 compute_120"


def test_the_default_is_the_same_for_both_toolchains() -> None:
    assert targets("default", CUDA_12) == targets("default", CUDA_13)


def test_the_default_leaves_out_what_an_older_compiler_lacks() -> None:
    assert targets("default", (50, 60, 70, 75, 80, 86, 87, 89, 90)) == "sm_75 sm_80 sm_90 compute_75"


def test_native_is_each_kind_of_gpu_in_the_machine() -> None:
    assert targets("native", gpus=((8, 6), (9, 0), (8, 6))) == "sm_86 sm_90"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "tool.cuda-wheel.architectures is empty"),
        ("ampere", "'ampere' is not an architecture"),
        ("8", "'8' is not an architecture"),
        ("80-fast", "'80-fast' is not an architecture"),
        ("sm_80-real", "'sm_80-real' is not an architecture"),
        ("80+PTX", "'80+PTX' is not an architecture"),
        ("70", "NVRTC 13.5.37 cannot compile for compute_70; it can for 75, 80,"),
        ("50-real", "cuda-wheel[cu12] reaches back to sm_50"),
        ("130", "a newer toolchain may have it"),
        ("80a", 'compute_80a does not exist: "a" targets begin with sm_90a'),
        ("90f-real", 'sm_90f does not exist: "f" targets begin with sm_100f'),
    ],
)
def test_an_invalid_architecture_is_an_error_that_says_what_helps(text: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        targets(text)
    assert message in str(caught.value)


def test_the_installed_compiler_compiles_for_all_that_it_names(workers, toolchain) -> None:
    from cuda_wheel.builder.compile.job import compile_job
    from cuda_wheel.builder.jobs import Job

    for target in settle(["all"], toolchain.supported, lambda: (), "here", toolchain.name):
        job = Job(
            toolchain.libraries[0],
            ".",
            "k.cu",
            b"__global__ void k() {}",
            target.arch,
            target.real,
            not target.real,
            (),
            (),
            (),
            False,
            "auto",
        )
        compiled = workers.submit(compile_job, job).result()
        assert compiled.cubin if target.real else compiled.ptx, target
