"""Sources that include PyTorch's headers get the macros of PyTorch's BuildExtension, unless the settings refuse them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cuda_wheel.builder.config.settings import Config
from cuda_wheel.builder.sources.modules import SourceModule, source_module
from cuda_wheel.builder.sources.pytorch_options import PYTORCH_MACROS, needs_pytorch
from cuda_wheel.builder.sources.source_files import Source
from tests.support.manifests import plain
from tests.support.processes import run_cuda_wheel
from tests.support.projects import write_files

BUILD_EXTENSION = {*PYTORCH_MACROS, "TORCH_API_INCLUDE_EXTENSION_H", "TORCH_EXTENSION_NAME"}
"""What PyTorch 2.14's BuildExtension defines for nvcc."""


def module_of(root: Path, **table: Any) -> SourceModule:
    settings = Config.from_table({"module": [{"name": "demo.kernels", "sources": ["k.cu"], **table}]}).module[0]
    return source_module(root, settings)


def defines(root: Path, **table: Any) -> dict[str, str]:
    return dict(module_of(root, **table).settings.defines)


@pytest.mark.parametrize(
    ("files", "is_pytorch"),
    [
        ({"k.cu": "#include <torch/extension.h>\n"}, True),
        ({"k.cu": "#include <vector>\n  #  include <ATen/cuda/CUDAContext.h>\n"}, True),
        ({"k.cu": '#include "c10/util/Half.h"\n'}, True),
        ({"k.cu": '#include "a.h"\n', "a.h": '#include "b/b.cuh"\n', "b/b.cuh": "#include <torch/all.h>\n"}, True),
        ({"k.cu": '#include "inside.h"\n', "include/inside.h": "#include <torch/types.h>\n"}, True),
        ({"k.cu": "#include <cuda_fp16.h>\n// #include <torch/extension.h>\n"}, False),
        ({"k.cu": '#include "torch.h"\n', "torch.h": "", "other.h": "#include <torch/extension.h>\n"}, False),
    ],
)
def test_sources_that_include_pytorch_get_its_macros(files: dict[str, str], is_pytorch: bool, tmp_path: Path) -> None:
    write_files(tmp_path, **{"include/x.h": "", **files})
    found = defines(tmp_path, **{"include-dirs": ["include"]})
    assert set(found) == (BUILD_EXTENSION if is_pytorch else set())
    if is_pytorch:
        assert found["TORCH_EXTENSION_NAME"] == "kernels"
        assert {found[name] for name in PYTORCH_MACROS} == {"1"}


def test_the_settings_refuse_them_all_or_one_by_one(tmp_path: Path) -> None:
    write_files(tmp_path, **{"k.cu": "#include <torch/extension.h>\n"})
    half = "__CUDA_NO_HALF_OPERATORS__"
    assert defines(tmp_path, **{"pytorch-options": False}) == {}
    assert half not in defines(tmp_path, options=[f"-U{half}"])
    assert half not in defines(tmp_path, options=[f"-D{half}=0"])
    assert half not in defines(tmp_path, options=["-Xcompiler", f"-U{half}"])
    assert defines(tmp_path, defines={half: 7})[half] == "7"
    assert defines(tmp_path, defines={"TORCH_EXTENSION_NAME": "other"})["TORCH_EXTENSION_NAME"] == "other"


def test_only_a_module_that_gets_some_of_them_is_said_to(tmp_path: Path) -> None:
    write_files(tmp_path, **{"k.cu": "#include <torch/extension.h>\n"})
    assert module_of(tmp_path, options=["-UTORCH_API_INCLUDE_EXTENSION_H"]).got_pytorch_macros
    assert not module_of(tmp_path, defines=dict.fromkeys(sorted(BUILD_EXTENSION, reverse=True), 1)).got_pytorch_macros
    write_files(tmp_path, **{"k.cu": "#include <vector>\n"})
    assert not module_of(tmp_path, defines={"TORCH_API_INCLUDE_EXTENSION_H": 1}).got_pytorch_macros


def test_a_build_says_so_in_a_line_and_records_them(make_project, tmp_path: Path) -> None:
    # The operator that k<true> needs is hidden by PyTorch's macros: k<false> with BuildExtension and nvcc 13.0.
    source = """\
#include <cuda_fp16.h>
#include <torch/extension.h>
template <class T, class = void> struct adds { static constexpr bool value = false; };
template <class T> struct adds<T, std::void_t<decltype(std::declval<T>() + std::declval<T>())>> { static constexpr bool value = true; };
template <bool b> __global__ void k() {}
void f() { k<adds<__half>::value><<<1, 1>>>(); }
"""
    settings = '[tool.cuda-wheel]\narchitectures = ["80-real"]\n'
    project = make_project(settings, **{"demo/k.cu": source})
    for line, kernel, is_said in (("", "k<false>", True), ("pytorch-options = false\n", "k<true>", False)):
        pyproject = project / "pyproject.toml"
        pyproject.write_text(pyproject.read_text() + line)
        output = tmp_path / f"out{is_said}"
        result = run_cuda_wheel("build", project, "-o", output, cwd=tmp_path)
        assert result.returncode == 0, result.stdout
        assert ("demo.k: PyTorch's headers are included" in result.stdout) == is_said
        manifest = plain((output / "demo/k.fatbin.json").read_bytes())
        assert kernel in json.dumps(manifest)
        assert ("__CUDA_NO_HALF_OPERATORS__=1" in json.dumps(manifest)) == is_said


@pytest.mark.parametrize(
    ("text", "is_needed"),
    [
        ("#include <torch/extension.h>\n#include <ATen/Operators.h>\n#include <ATen/ops/zeros.h>\n", False),
        ('#include "own.h"\n', True),
        ("#include <ATen/cuda/Atomic.cuh>\n", True),
        ("#include <torch/extension.h>\n__global__ void k(at::Float8_e5m2* x) {}\n", True),
        ("#include <ATen/CUDAGeneratorImpl.h>\n__global__ void k(at::PhiloxCudaState state) {}\n", True),
        ("__global__ void k() {}\n", False),
    ],
)
def test_a_source_needs_pytorch_only_for_what_has_no_stand_in(text: str, is_needed: bool, tmp_path: Path) -> None:
    write_files(tmp_path, **{"k.cu": text, "own.h": "#include <ATen/native/cuda/Loops.cuh>\n"})
    assert needs_pytorch(Source("k.cu", "cuda", text.encode()), tmp_path, ()) == is_needed
