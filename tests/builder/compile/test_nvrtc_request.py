"""A job becomes one call of NVRTC, whose options and headers in memory say what nvcc's command line says."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cuda_wheel.builder.compile.nvrtc_request import in_memory, is_whole_program, nvrtc_generates_cubin, nvrtc_request
from cuda_wheel.builder.jobs import Job
from cuda_wheel.builder.rewriting.front_end import PREAMBLE_OPTION
from cuda_wheel.builder.rewriting.project_texts import operator_headers
from cuda_wheel.builder.toolchain.toolchain import Toolchain

pytestmark = pytest.mark.one_toolchain

DEVICE = b"__global__ void k() {}\n"
HOST = DEVICE + b"void f() { k<<<1, 1>>>(); }\n"


def job(**changes: Any) -> Job:
    """Return the job of a whole program with machine code and PTX."""
    whole = Job("/n", "/project", "demo/k.cu", DEVICE, "90a", True, True, ("-DA=1",), ("", "/cuda"), (), False, "auto")
    return replace(whole, **changes)


def macros_before(headers: dict[str, bytes]) -> list[str]:
    """Return the directives of the header that precedes the source, without those for GCC's macros."""
    (text,) = (content for name, content in headers.items() if name.endswith("command_line.h"))
    lines = text.decode().splitlines()
    return lines[lines.index("#undef __CUDA_ARCH_LIST__") + 1 :]


@pytest.mark.parametrize(
    ("changes", "is_whole", "by_nvrtc"),
    [
        ({}, True, False),
        ({"ptx": False}, True, False),
        ({"lineinfo": True}, True, False),
        ({"options": ("-G",)}, True, True),  # with debug information, the assembler keeps what nothing calls
        ({"options": ("--device-debug",)}, True, True),
        ({"options": ("-G",), "lineinfo": True}, False, False),
        ({"cubin": False}, False, False),
        ({"cubin": False, "options": ("-G",)}, False, False),
        ({"form": "ptx"}, False, False),
        ({"form": "lto", "options": ("-G",)}, False, False),
        ({"kind": "ptx"}, False, False),
        ({"kind": "nvvm"}, False, False),
    ],
)
def test_nvrtc_assembles_whole_programs_and_compiles_to_machine_code_only_for_a_debugger(
    changes: dict[str, Any], is_whole: bool, by_nvrtc: bool
) -> None:
    made = job(**changes)
    assert (is_whole_program(made), nvrtc_generates_cubin(made)) == (is_whole, by_nvrtc)
    if made.kind == "cuda":
        options = nvrtc_request(made)["options"]
        assert options[0] == f"--gpu-architecture={'sm' if by_nvrtc else 'compute'}_90a"
        assert ("--ptxas-options=-v" in options) == by_nvrtc


def test_the_call_has_the_jobs_source_options_and_folders_in_their_order() -> None:
    request = nvrtc_request(job(instantiate=("t<int>", "t<float>"), options=("-DA=1", "--fmad=false"), lineinfo=True))
    assert (request["library"], request["folder"], request["name"]) == ("/n", "/project", "demo/k.cu")
    assert (request["text"], request["expressions"]) == (DEVICE, ["t<int>", "t<float>"])
    given = [each for each in request["options"] if re.match(r"-DA|--fmad|--include-path|-lineinfo", each)]
    assert given == ["-DA=1", "--fmad=false", "--include-path=", "--include-path=/cuda", "-lineinfo"]


def test_no_option_depends_on_the_projects_folder() -> None:
    """The folder is where the call runs; symbols and images are the same in any."""
    assert not any("/project" in each for each in nvrtc_request(job())["options"])


@pytest.mark.parametrize(
    ("options", "undefined"),
    [
        (("-DA=1",), []),
        (("-UA",), ["A"]),
        (("-U", "A", "--undefine-macro=B"), ["A", "B"]),
        (("-UA", "-DA=1"), []),
        (("-DA=1", "-UA"), ["A"]),
    ],
)
def test_macros_are_undefined_after_nvrtcs_own_headers(options: Sequence[str], undefined: list[str]) -> None:
    request = nvrtc_request(job(options=tuple(options)))
    assert [line for line in macros_before(request["headers"]) if line.startswith("#undef")] == [
        f"#undef {name}" for name in undefined
    ]
    assert not any(re.match("-U|--undefine", option) for option in request["options"])


@pytest.mark.parametrize(("arch_list", "expected"), [("750,800", "750,800"), ("", "900")])
def test_the_source_sees_the_modules_architectures(arch_list: str, expected: str) -> None:
    headers = nvrtc_request(job(arch_list=arch_list))["headers"]
    assert macros_before(headers)[0] == f"#define __CUDA_ARCH_LIST__ {expected}"


@pytest.mark.parametrize(
    ("text", "host_code", "has_preamble"),
    [(DEVICE, "whole", False), (HOST, "whole", True), (HOST, "leave-out", True), (HOST, "reject", False)],
)
def test_only_a_source_with_host_code_gets_the_preamble(text: bytes, host_code: str, has_preamble: bool) -> None:
    request = nvrtc_request(job(text=text, host_code=host_code))
    assert (PREAMBLE_OPTION in request["options"]) == has_preamble
    assert (operator_headers().items() <= request["headers"].items()) == has_preamble


def test_headers_that_may_be_missing_are_empty() -> None:
    made = job(absent_headers=("Eigen/Core", "a.h"))
    assert {name: text for name, text in in_memory(made, {"b.h": b"1"}).items() if "command_line" not in name} == {
        "b.h": b"1",
        "Eigen/Core": b"",
        "a.h": b"",
    }


def test_without_relaxed_constexpr_neither_the_package_nor_the_project_asks_for_it() -> None:
    made = job(options=("-Xcudafe=--relaxed_constexpr", "-Xcudafe=--diag_suppress=1"))
    relaxed, strict = (nvrtc_request(made, permitted)["options"] for permitted in (True, False))
    assert sum("relaxed_constexpr" in option for option in relaxed) == 2
    at = relaxed.index("--relaxed_constexpr")
    expected = [*relaxed[: at - 1], *relaxed[at + 1 :]]
    expected.remove("-Xcudafe=--relaxed_constexpr")
    assert strict == expected


def test_cccl_unrolls_as_far_as_for_nvcc(toolchain: Toolchain) -> None:
    (header,) = (
        path
        for folder in toolchain.include_dirs
        if (path := Path(folder, "cuda/std/__type_traits/type_list.h")).is_file()
    )
    nvccs, _ = re.findall(r"define _CCCL_META_UNROLL_LIMIT (\d+)", header.read_text())
    assert f"--define-macro=_CCCL_META_UNROLL_LIMIT={nvccs}" in nvrtc_request(job())["options"]
    for own in (
        job(options=("-D_CCCL_META_UNROLL_LIMIT=3",)),
        job(text=b"#define _CCCL_META_UNROLL_LIMIT"),
    ):
        assert not any("=10" in option for option in nvrtc_request(own)["options"])
