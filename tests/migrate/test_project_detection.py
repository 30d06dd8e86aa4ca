"""What a project is, from its files: back end, package, sources and extensions."""

from __future__ import annotations

from pathlib import Path

import pytest

from cuda_wheel.builder.errors import ConfigError
from cuda_wheel.migrate import project_detection
from cuda_wheel.migrate.init_project import read_project
from cuda_wheel.migrate.project_detection import (
    BUILD_EXTENSION,
    DetectedProject,
    detect_project,
    extensions_in,
    normalized,
    project_files,
    toolchain_extra,
)
from tests.migrate.test_init_project import head
from tests.support.projects import KERNEL, write_files

pytestmark = pytest.mark.one_toolchain


def detected(root: Path, package: str = "") -> DetectedProject:
    return detect_project(root, read_project(root)[0].content, package)


def test_the_package_is_the_one_that_is_named_or_the_only_one(tmp_path: Path) -> None:
    several = {"pyproject.toml": head("hatchling"), "a/__init__.py": "", "b/__init__.py": ""}
    project = write_files(tmp_path / "several", **several)
    with pytest.raises(ConfigError, match="--package"):
        detected(project)
    assert detected(project, "b").folder == "b"
    project = write_files(tmp_path / "only", **{"pyproject.toml": head("hatchling"), "src/other/__init__.py": ""})
    assert detected(project).package == "other"
    listed = head("hatchling") + '[tool.hatch.build.targets.wheel]\npackages = ["lib/core", "lib/more"]\n'
    files = {"pyproject.toml": listed, "lib/core/__init__.py": "", "lib/more/__init__.py": ""}
    project = write_files(tmp_path / "listed", **files)
    assert (detected(project).package, detected(project).folder) == ("core", "lib/core")
    assert detected(project, "more").folder == "lib/more"
    where = head("setuptools") + '[tool.setuptools]\npackages = ["core"]\npackage-dir = { "" = "lib" }\n'
    project = write_files(tmp_path / "where", **{"pyproject.toml": where, "lib/core/__init__.py": ""})
    assert detected(project).folder == "lib/core"
    project = write_files(tmp_path / "file", **{"pyproject.toml": head("hatchling"), "demo.py": ""})
    with pytest.raises(ConfigError, match=r"demo/__init__\.py"):
        detected(project)


@pytest.mark.parametrize(("packages", "said"), [(["lib"], "the package lib"), (["a", "b"], "the packages a, b")])
def test_packages_of_other_names_are_listed(packages: list[str], said: str, tmp_path: Path) -> None:
    write_files(tmp_path, **{f"{each}/__init__.py": "" for each in packages})
    with pytest.raises(ConfigError, match=f" has {said}, and none is named ssn: say with --package"):
        detect_project(tmp_path, {}, "ssn")


SETUP = """\
import glob
import os
from setuptools import setup
from torch.utils.cpp_extension import BuildExtension, CUDAExtension, CppExtension, include_paths

here = os.path.dirname(os.path.abspath(__file__))
flags = {"cxx": ["-O3"], "nvcc": ["-O3", "-Xcompiler", "-fPIC"] + compute_flags()}

def extensions():
    sources = glob.glob(os.path.join(here, "csrc", "*.cpp"))
    macros = []
    extension = CppExtension
    if torch.cuda.is_available() and CUDA_HOME is not None:
        extension = CUDAExtension
        sources += sorted(glob.glob(os.path.join(here, "csrc", "*.cu")))
        macros += [("WITH_CUDA", None), ("ITEMS", "4")]
    return [extension("demo._C", sources, include_dirs=[here + "/csrc", *include_paths()], define_macros=macros,
                      extra_compile_args=flags)]

setup(name="demo", ext_modules=extensions(), cmdclass={"build_ext": BuildExtension})
"""


def test_the_extension_of_a_setup_script_is_read(tmp_path: Path) -> None:
    (tmp_path / "csrc").mkdir()
    for name in ("a.cpp", "b.cu", "c.cu"):
        (tmp_path / "csrc" / name).touch()
    (tmp_path / "setup.py").write_text(SETUP)
    (found,) = extensions_in(tmp_path / "setup.py")
    assert found.name == "demo._C" and found.line == 17 and not found.is_linked
    assert found.sources == (f"{tmp_path}/csrc/b.cu", f"{tmp_path}/csrc/c.cu")
    assert found.folders == (f"{tmp_path}/csrc",)
    own = ("-DWITH_CUDA", "-DITEMS=4", "-O3", "-Xcompiler", "-fPIC")
    assert found.options[: len(BUILD_EXTENSION) + 5] == (*BUILD_EXTENSION, *own)
    assert found.unread == ("include_dirs",)
    (tmp_path / "load.py").write_text(
        "m = load(name='x', sources=['csrc/b.cu'], extra_cuda_cflags=['-g'])\nload('plain.npy')\n"
    )
    (found,) = extensions_in(tmp_path / "load.py")
    assert found.name == "x" and found.options[5] == "-g"


def test_the_cpp_files_of_an_extension_have_the_options_of_the_host_compiler(tmp_path: Path) -> None:
    named = ("-DTORCH_EXTENSION_NAME=_C", "-DTORCH_API_INCLUDE_EXTENSION_H")
    sources = '["a.cpp", "b.cu", "c.cc", "d.cxx", "e.h", "a.cpp"]'
    for arguments, options in (
        ('define_macros=[("N", 2)], extra_compile_args={"cxx": ["-DX"], "nvcc": ["-DY"]}', ("-DN=2", "-DX", *named)),
        ('define_macros=[("N", None)], extra_compile_args=["-DX"]', ("-DN", "-DX", *named)),
        ("", named),
    ):
        script = (
            write_files(tmp_path, **{"setup.py": f'CUDAExtension("demo._C", {sources}, {arguments})\n'}) / "setup.py"
        )
        (found,) = extensions_in(script)
        assert [Path(path).name for path in found.cxx_sources] == ["a.cpp", "c.cc", "d.cxx"]
        assert [Path(path).name for path in found.sources] == ["b.cu"]
        assert found.cxx_options == options and not found.is_loaded
    program = 'knn = load("_C", ["a.cpp", "b.cu"], extra_cflags=["-DX"], extra_cuda_cflags=["-DY"])\n'
    (found,) = extensions_in(write_files(tmp_path, **{"ops.py": program}) / "ops.py")
    assert found.cxx_options == ("-DX", *named) and found.is_loaded


def test_each_source_has_a_module_of_its_place_or_of_the_package(tmp_path: Path) -> None:
    files = {"src/demo/__init__.py": "", "src/demo/nn/scale.cu": KERNEL, "src/demo/_x-y/deep.cu": KERNEL}
    files |= {"csrc/fill-in.cu": KERNEL, "csrc/parts.cu": KERNEL, "csrc/all.cu": '#include "parts.cu"\n' + KERNEL}
    project = detected(write_files(tmp_path, **{"pyproject.toml": head("hatchling"), **files}))
    assert (project.backend, project.package, project.folder) == ("hatchling.build", "demo", "src/demo")
    names = {
        "csrc/all.cu": "demo.all",
        "csrc/fill-in.cu": "demo.fill_in",
        "src/demo/_x-y/deep.cu": "demo.deep",
        "src/demo/nn/scale.cu": "demo.nn.scale",
    }
    assert {path: project.module_name(path) for path in project.sources} == names  # parts.cu is included
    assert project.inside == ("src/demo/_x-y/deep.cu", "src/demo/nn/scale.cu")
    assert project.unnamed == ("csrc/all.cu", "csrc/fill-in.cu", "src/demo/_x-y/deep.cu")


@pytest.mark.parametrize(
    ("name", "package"), [("my-demo", "my_demo"), ("My.Demo", "my_demo"), ("a--b", "a__b"), ("_x_", "x")]
)
def test_a_distribution_gives_the_name_of_a_package(name: str, package: str) -> None:
    assert normalized(name) == package


@pytest.mark.parametrize("name", ["3d", "---", ""])
def test_a_distribution_whose_name_no_package_can_have_is_an_error(name: str) -> None:
    with pytest.raises(ConfigError, match="gives no name of a Python package"):
        normalized(name)


def test_files_in_hidden_and_generated_folders_and_environments_are_left_out(tmp_path: Path) -> None:
    own = ["a.cu", "lib/b.cuh", "tests/c.cu"]
    others = [".hidden/x.cu", "build/x.cu", "lib/node_modules/x.cu", "anything/x.cu", "lib/x.cpp"]
    write_files(tmp_path, **dict.fromkeys([*own, *others, "anything/pyvenv.cfg"], ""))
    assert project_files(tmp_path, (".cu", ".cuh")) == own
    assert project_files(tmp_path, (".cu",), {"tests"}) == ["a.cu", "build/x.cu", "lib/node_modules/x.cu"]


@pytest.mark.parametrize(
    ("installed", "extra"),
    [
        (set(), "cu12"),
        ({"nvidia-cuda-nvrtc"}, "cu13"),
        ({"nvidia-cuda-nvrtc-cu12"}, "cu12"),
        ({"nvidia-cuda-nvrtc", "nvidia-cuda-nvrtc-cu12"}, "cu12"),
    ],
)
def test_the_extra_is_that_of_the_installed_toolchain(
    installed: set[str], extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(project_detection, "_is_installed", installed.__contains__)
    assert toolchain_extra() == extra
