"""Tables of modules from options of nvcc and includes, and what a proposed module compiles to."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cuda_wheel.migrate.import_sources import propose_import
from cuda_wheel.migrate.module_tables import (
    ProposedModule,
    library_folder,
    missing_folders,
    options_table,
    preprocessor_options,
    try_module,
)
from cuda_wheel.migrate.project_detection import (
    BUILD_EXTENSION,
)
from tests.migrate.test_init_project import head
from tests.support.projects import KERNEL, write_files

pytestmark = pytest.mark.one_toolchain


def test_files_compile_with_the_options_of_nvcc_and_are_one_module_if_linked(tmp_path: Path) -> None:
    files = {"demo/__init__.py": "", "demo/a.cu": KERNEL, "demo/b.cu": KERNEL}
    project = write_files(tmp_path, **{"pyproject.toml": head("hatchling"), **files})
    paths = [project / "demo/a.cu", project / "demo/b.cu"]
    apart = propose_import(project, paths, options=["-DRADIUS=2", "-O3"]).modules
    assert [each.table["sources"] for each in apart] == [["demo/a.cu"], ["demo/b.cu"]]
    assert all(each.table["defines"] == {"RADIUS": 2} for each in apart) and "-O3" in apart[0].notes[0]
    (linked,) = propose_import(project, paths, options=["-DRADIUS=2", "-rdc=true"]).modules
    assert linked.table["sources"] == ["demo/a.cu", "demo/b.cu"] and linked.table["link"] == "lto"
    assert linked.name == "demo.a" and linked.table["defines"] == {"RADIUS": 2}


def test_an_extension_whose_device_code_is_linked_is_one_module(tmp_path: Path) -> None:
    call = "CUDAExtension('x_demo._C', ['a.cu', 'b.cu', 'gone.cu'], {})\n"
    write_files(
        tmp_path, **{"x_demo/__init__.py": "", "a.cu": KERNEL, "b.cu": KERNEL, "pyproject.toml": head("hatchling")}
    )
    for option in ("dlink=True", "extra_compile_args={'nvcc': ['-rdc=true']}", "extra_compile_args={'nvcc': ['-dc']}"):
        (tmp_path / "setup.py").write_text(call.format(option))
        (module,) = propose_import(tmp_path, [tmp_path / "setup.py"]).modules
        assert (module.name, module.table["sources"], module.table["link"]) == ("x_demo.C", ["a.cu", "b.cu"], "lto")
        assert "gone.cu does not exist" in module.notes
    (tmp_path / "setup.py").write_text(call.format("extra_compile_args=['-rdc=false']"))
    assert [each.name for each in propose_import(tmp_path, [tmp_path / "setup.py"]).modules] == ["x_demo.a", "x_demo.b"]


def test_options_of_nvcc_become_keys_or_notes(tmp_path: Path) -> None:
    (tmp_path / "include").mkdir()
    options = [*BUILD_EXTENSION, "-U__CUDA_NO_HALF_OPERATORS__", "-DA=1", "-D", "B=x y", "-DA=2", "-O3", "-std=c++20"]
    options += [
        "-gencode",
        "arch=compute_80,code=sm_80",
        "-gencode",
        "--threads",
        "4",
        "-lineinfo",
        "-Iinclude",
        "-I/else",
    ]
    options += ["--maxrregcount=50", "-Xcompiler", "-rdynamic", "-Xptxas", "-v", "-DLAST"]
    table, notes = options_table(options, tmp_path)
    assert table.pop("defines") == {
        **dict.fromkeys([each[2:] for each in BUILD_EXTENSION[1:4]], True),
        **{"A": 2, "B": "x y", "LAST": True},
    }
    others = ["--expt-relaxed-constexpr", "--maxrregcount=50", "-U__CUDA_NO_HALF_OPERATORS__"]
    rest = {"options": others, "std": "c++20", "lineinfo": True}
    assert table == {"include-dirs": ["include"], **rest}
    assert len([note for note in notes if "gencode" in note]) == 1
    assert any("architectures" in note for note in notes) and any("/else" in note for note in notes)
    assert "std" not in options_table(["-std=c++14"], tmp_path)[0]
    linked, notes = options_table(["-rdc=true"], tmp_path)
    assert linked == {"link": "lto"} and "link" in notes[0]


@pytest.mark.parametrize(
    ("options", "table"),
    [
        (["-DA", "-UA"], {}),
        (["-UA", "-DA"], {"defines": {"A": True}}),
        (["-DA=0x10", "-DB=010", "-DC=-1", "-DD=7"], {"defines": {"A": "0x10", "B": "010", "C": "-1", "D": 7}}),
        (["--define-macro=A=1", "--include-path", "inside"], {"defines": {"A": 1}, "include-dirs": ["inside"]}),
        (["-Iinside", "-I", "inside", "-I./inside/"], {"include-dirs": ["inside"]}),
        (["--use_fast_math", "--use_fast_math"], {"options": ["--use_fast_math"]}),
        (["-U__CUDA_NO_HALF_OPERATORS__"], {"options": ["-U__CUDA_NO_HALF_OPERATORS__"]}),
        (["-UOWN"], {}),
        (
            ["-U__CUDA_NO_HALF_OPERATORS__", "-D__CUDA_NO_HALF_OPERATORS__=1"],
            {"defines": {"__CUDA_NO_HALF_OPERATORS__": 1}},
        ),
        (["-std=c++17"], {}),
        (["--device-c"], {"link": "lto"}),
        (["-rdc=false"], {}),
    ],
)
def test_the_last_option_for_a_macro_counts_and_folders_are_relative_to_the_project(
    options: list[str], table: dict[str, Any], tmp_path: Path
) -> None:
    (tmp_path / "inside").mkdir()
    assert options_table(options, tmp_path)[0] == table


def test_macros_and_folders_of_both_compilers_are_read_in_their_order() -> None:
    options = ["-O3", "-Wall", "-DA", "-D", "B=2", "-UC", "-I", "x", "-Xcompiler", "-DE=1", "-Iy", "--define-macro=F=1"]
    assert preprocessor_options(options) == (["-DA", "-DB=2", "-UC", "-DE=1", "-DF=1"], ["x", "y"])


def test_a_folder_outside_the_project_and_a_refused_option_are_notes(tmp_path: Path) -> None:
    table, notes = options_table(["-I..", "-Igone", "--pch", "-DA"], tmp_path)
    assert table == {"defines": {"A": True}}
    assert any("--pch" in note and "leave it out" in note for note in notes)
    for folder in ("..", "gone"):
        assert f"include folder {folder}: not a folder of the project" in notes


def test_folders_of_headers_are_found_if_one_file_matches(tmp_path: Path) -> None:
    text = '#include <math.h>\n#include "twice.h"\n#include "sub/once.h"\n' + KERNEL
    write_files(tmp_path, **{"csrc/fill.cu": text, "include/math.h": "", "x/twice.h": "", "y/twice.h": ""})
    write_files(tmp_path, **{"third_party/z/sub/once.h": '#include "once_more.h"', "once_more.h": ""})
    assert missing_folders(tmp_path, ["csrc/fill.cu"], []) == ["third_party/z", "."]
    assert missing_folders(tmp_path, ["csrc/fill.cu"], ["third_party/z", "."]) == []


def test_the_folder_of_a_library_is_below_a_variable_that_has_its_name_first(tmp_path: Path) -> None:
    core = "Eigen/Core"
    write_files(tmp_path, **{f"a/{core}": "", f"b/include/eigen3/{core}": "", f"project/own/{core}": ""})
    root, a, b = tmp_path / "project", str(tmp_path / "a"), str(tmp_path / "b")
    assert library_folder(root, core, {"A": a, "MY_EIGEN": b}) == "$MY_EIGEN/include/eigen3"
    assert library_folder(root, core, {"A": a, "B": b}) == "$A"
    assert library_folder(root, core, {"HOME": a, "RELATIVE": "a", "LIST": f"{a}:{b}"}) is None
    assert library_folder(tmp_path / "b/include/eigen3/project", core, {"X": b}) is None  # that would be the project


def test_a_trial_has_the_kernels_or_the_error_and_says_what_is_host_code(tmp_path: Path) -> None:
    unlaunched = "template <int N> __global__ void many(float* x) { *x = N; }\n"
    files = {
        "a.cu": KERNEL,
        "host.cu": "int twice(int x) { return 2 * x; }\n",
        "broken.cu": "__global__ void k(gone x) {}\n",
    }
    write_files(tmp_path, **files, **{"template.cu": unlaunched})

    def tried(name: str) -> Any:
        return try_module(tmp_path, ProposedModule({"name": f"demo.{name}", "sources": [f"{name}.cu"]}), "80")

    trial = tried("a")
    assert [kernel.name for kernel in trial.kernels] == ["fill"] and not trial.error and trial.warnings == []
    trial = tried("host")
    assert trial.is_host_code and not trial.error
    trial = tried("broken")
    assert 'identifier "gone" is undefined' in trial.error and not trial.is_host_code and not trial.kernels
    trial = tried("template")
    (instance,) = trial.module.table["instantiate"]
    assert instance.startswith("many<") and [kernel.name for kernel in trial.kernels] == [instance]
