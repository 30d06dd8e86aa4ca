"""`cuda-wheel import`: the tables that it proposes compile, and what it writes builds."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from cuda_wheel.builder.config.settings import Config
from cuda_wheel.builder.errors import ConfigError
from cuda_wheel.migrate.import_sources import propose_import, shared_settings
from tests.migrate.test_init_project import check_wheel, head
from tests.project.pages import blocks
from tests.support.projects import BACKENDS, KERNEL, ROOT, write_files

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

pytestmark = pytest.mark.one_toolchain

Command = Callable[..., subprocess.CompletedProcess[str]]

SETUP = """\
from setuptools import setup
from torch.utils.cpp_extension import BuildExtension, CUDAExtension

setup(
    name="leaky-demo",
    version="1",
    packages=["leaky_demo"],
    ext_modules=[
        CUDAExtension(
            "leaky_demo._C",
            ["csrc/bind.cpp", "csrc/leaky.cu", "csrc/scale.cu", "csrc/broken.cu"],
            extra_compile_args={"cxx": ["-O3"], "nvcc": ["-O3", "--use_fast_math", "-gencode", "arch=compute_70,code=sm_70"]},
        )
    ],
    cmdclass={"build_ext": BuildExtension},
)
"""

LEAKY = """\
#include <torch/extension.h>
#include "shared/factor.h"

template <typename T> __global__ void leaky(const T* x, T* y, int64_t n)
{
    int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = x[i] > T(0) ? x[i] : T(float(x[i]) * FACTOR);
}

torch::Tensor forward(torch::Tensor x)
{
    auto y = torch::empty_like(x);
    AT_DISPATCH_FLOATING_TYPES_AND_HALF(x.scalar_type(), "leaky", [&] {
        leaky<scalar_t><<<(x.numel() + 255) / 256, 256>>>(x.data_ptr<scalar_t>(), y.data_ptr<scalar_t>(), x.numel());
    });
    return y;
}
"""

SCALE = "template <typename T, int N> __global__ void scale(T* x) { x[threadIdx.x] *= N; }\n"


def extension_project(folder: Path, backend: str = "setuptools") -> Path:
    files = {
        "setup.py": SETUP,
        "csrc/leaky.cu": LEAKY,
        "csrc/scale.cu": SCALE,
        "include/shared/factor.h": "#define FACTOR 0.01f\n",
    }
    files |= {"csrc/broken.cu": "__global__ void broken(undeclared x) { }\n", "leaky_demo/__init__.py": ""}
    return write_files(folder, **{"pyproject.toml": head(backend, "leaky-demo"), **files})


@pytest.mark.slow
def test_an_extension_becomes_tables_of_the_modules_that_compile(tmp_path: Path, cuda_wheel: Command) -> None:
    project = extension_project(tmp_path / "project")
    before = sorted(project.rglob("*"))
    result = cuda_wheel("import", project / "setup.py")
    assert result.returncode == 1, result.stdout
    assert sorted(project.rglob("*")) == before
    shown = result.stdout
    for element in ("float", "double", "c10::Half"):
        assert f"leaky<{element}>(const {element}*, {element}*, " in shown
    assert "scale<float, 16>(float*)" in shown
    assert 'identifier "undeclared" is undefined' in shown and "2 of 3 modules compile" in shown
    assert "architectures: by default a wheel is for every GPU" in shown and "no image for" not in shown
    assert "setup.py:9: remove the extension leaky_demo._C, and build_ext" in shown
    written = shown[shown.index("[[tool.cuda-wheel.module]]") : shown.index("\n\nto do by hand:")]
    leaky, scale = tomllib.loads(written)["tool"]["cuda-wheel"]["module"]
    assert leaky == {
        "name": "leaky_demo.leaky",
        "sources": ["csrc/leaky.cu"],
        "options": ["--use_fast_math"],  # what BuildExtension adds is the default of a source with PyTorch's headers
        "include-dirs": ["include"],
    }
    defines = scale.pop("defines")
    assert defines["__CUDA_NO_HALF_OPERATORS__"] is True and defines["TORCH_EXTENSION_NAME"] == "_C"
    assert scale == {
        "name": "leaky_demo.scale",
        "sources": ["csrc/scale.cu"],
        "options": ["--expt-relaxed-constexpr", "--use_fast_math"],
        "instantiate": ["scale<float, 16>"],
    }


@pytest.mark.slow
@pytest.mark.parametrize("backend", BACKENDS)
def test_what_is_written_builds_with_each_back_end(backend: str, tmp_path: Path, cuda_wheel: Command) -> None:
    project = extension_project(tmp_path / "project", backend)
    shown = cuda_wheel("import", project / "setup.py").stdout
    written = cuda_wheel("import", project / "setup.py", "--write").stdout
    assert "2 of 3 modules compile" in written
    if backend == "scikit-build-core":
        calls = (project / "CMakeLists.txt").read_text().partition("REQUIRED)\n")[2]
        assert "INCLUDE_DIRECTORIES include" in calls and calls in shown
    else:
        proposed = shown[shown.index("[[tool.cuda-wheel.module]]") : shown.index("\n\nto do by hand:")]
        assert proposed in (project / "pyproject.toml").read_text() and "extended pyproject.toml" in written
    again = cuda_wheel("import", project / "setup.py", "--write").stdout
    assert "extended" not in again and "wrote" not in again and "kept" in again
    (project / "setup.py").unlink()  # its CUDAExtension needs PyTorch
    if backend == "setuptools":
        with (project / "pyproject.toml").open("a") as stream:
            stream.write('\n[tool.setuptools]\npackages = ["leaky_demo"]\n')
    check_wheel(project, tmp_path / "dist", "leaky_demo.leaky", "leaky_demo.scale")


@pytest.mark.slow
@pytest.mark.parametrize("page", ["from-rawmodule", "from-pycuda"])
def test_the_programs_of_the_how_to_pages_become_their_projects(page: str, tmp_path: Path, cuda_wheel: Command) -> None:
    found = blocks(ROOT / f"docs/how-to/{page}.md")
    program = next(each.text for each in found if each.language == "python")
    package, stem = ("scale_demo", "scale") if page == "from-rawmodule" else ("smooth_demo", "smooth")
    files = {"pyproject.toml": head("hatchling", package), f"{package}/__init__.py": "", f"{package}/ops.py": program}
    project = write_files(tmp_path / "project", **files)
    result = cuda_wheel("import", project / package / "ops.py", "--write")
    assert result.returncode == 0, result.stdout
    assert f'cuda_wheel.load("{package}.{stem}")' in result.stdout and "no image for" not in result.stdout
    table = tomllib.loads((project / "pyproject.toml").read_text())["tool"]["cuda-wheel"]
    expected = {"name": f"{package}.{stem}", "sources": [f"{package}/{stem}.cu"]}
    if page == "from-rawmodule":
        expected |= {"options": ["--use_fast_math"], "instantiate": ["shift<double, 2>"]}
        assert "scale.launch((-(-x.size // 256),), (256,), x, y, cupy.float32(factor)" in result.stdout
        assert "array library" not in result.stdout and "does not contain it" not in result.stdout
    else:
        assert "mod.globals['weights']" in result.stdout and "with an array library" in result.stdout
        assert "smooth.launch((4, 1), (256, 1, 1), drv.In(x), drv.InOut(y)" in result.stdout
    assert table == {"module": [expected]}
    text = (project / expected["sources"][0]).read_text()
    assert text in {f"{each.strip(chr(10))}\n" for each in program.split('"""')}
    result = cuda_wheel("import", project / package / "ops.py", "--write")
    assert (
        "wrote" not in result.stdout
        and "extended" not in result.stdout
        and (project / expected["sources"][0]).read_text() == text
    )


def test_texts_become_files_named_apart_and_one_for_equal_ones(tmp_path: Path) -> None:
    other = KERNEL.replace("= 1", "= 2")
    program = f"""
import cupy
A = '''{KERNEL}'''
one = cupy.RawKernel(A, "fill", options=("-DN=4", "--std=c++14", "-I/nowhere"))
two = cupy.RawKernel(A, "fill", ("-DN=4", "--std=c++14", "-I/nowhere"))
three = cupy.RawModule(code='''{other}''').get_function("fill")
four = cupy.RawModule(code=A % N)
class Users:
    def run(self, x):
        self.kernel = cupy.RawKernel(A.replace('1', '3'), 'fill')
        self.kernel((1,), (2,), x, shared_mem=3)
        two((1,), (2,))
"""
    write_files(
        tmp_path, **{"src/demo/__init__.py": "", "src/demo/sub/ops.py": program, "pyproject.toml": head("hatchling")}
    )
    found = propose_import(tmp_path, [tmp_path / "src/demo/sub/ops.py"])
    names = ["demo.sub.fill", "demo.sub.fill_2", "demo.sub.fill_3"]
    assert [module.name for module in found.modules] == names
    assert found.files["src/demo/sub/fill_2.cu"] == other and "= 3" in found.files["src/demo/sub/fill_3.cu"]
    first = found.modules[0]
    assert first.table == {"name": names[0], "sources": ["src/demo/sub/fill.cu"], "defines": {"N": 4}}
    assert any("/nowhere" in note for note in first.notes)
    text = "\n".join(found.lines)
    assert text.count("""cuda_wheel.load("demo.sub.fill")['fill']""") == 2
    assert "composed at run time" in text and text.count("add: import cuda_wheel") == 1
    assert "self.kernel.launch((1,), (2,), *x, shared_memory=3)" in text and "two.launch((1,), (2,))" in text


@pytest.mark.slow
def test_a_source_alone_compiles_for_the_named_target_with_what_it_includes(
    tmp_path: Path, cuda_wheel: Command
) -> None:
    project = extension_project(tmp_path / "project")
    result = cuda_wheel("import", project / "csrc/leaky.cu", "--architecture", "90a")
    assert result.returncode == 0, result.stdout
    assert 'include-dirs = ["include"]' in result.stdout and "macros of PyTorch's BuildExtension" in result.stdout


INLINE = f"""
from torch.utils.cpp_extension import load_inline

extension = load_inline(
    name="leaky",
    cpp_sources="torch::Tensor forward(torch::Tensor x);",
    cuda_sources='''{LEAKY.partition("h>")[2]}''',
    functions=["forward"],
    extra_cuda_cflags=["--use_fast_math"],
    extra_include_paths=["include"],
)
"""


@pytest.mark.slow
def test_a_text_of_load_inline_compiles_with_the_headers_that_pytorch_adds(tmp_path: Path, cuda_wheel: Command) -> None:
    project = extension_project(tmp_path / "project")
    (project / "leaky_demo/ops.py").write_text(INLINE)
    result = cuda_wheel("import", project / "leaky_demo/ops.py", "--write")
    assert result.returncode == 0, result.stdout
    assert "leaky<c10::Half>(" in result.stdout
    assert (project / "leaky_demo/leaky.cu").read_text().startswith("#include <torch/types.h>\n")
    (table,) = tomllib.loads((project / "pyproject.toml").read_text())["tool"]["cuda-wheel"]["module"]
    assert table["include-dirs"] == ["include"] and table["defines"]["__CUDA_NO_HALF_OPERATORS__"] is True
    assert table["options"] == ["--expt-relaxed-constexpr", "--use_fast_math"]


def test_files_of_other_kinds_and_of_other_projects_are_refused(tmp_path: Path) -> None:
    project = extension_project(tmp_path / "project")
    for name, message in (("setup.cfg", "neither a .cu file"), ("leaky_demo/__init__.py", "neither a CUDAExtension")):
        (project / name).touch()
        with pytest.raises(ConfigError, match=message):
            propose_import(project, [project / name])
    with pytest.raises(ConfigError, match="no file of the project"):
        propose_import(project, [ROOT / "fixtures/saxpy/src/saxpy_demo/kernels/saxpy.cu"])


def test_what_all_modules_have_is_in_the_table_of_all(tmp_path: Path) -> None:
    write_files(tmp_path, **{"pyproject.toml": head("hatchling"), "demo/__init__.py": "", "demo/a.cu": KERNEL})
    project = propose_import(tmp_path, [tmp_path / "demo/a.cu"]).project
    modules = [{"name": f"demo.{n}", "sources": [f"demo/{n}.cu"], "std": "c++20", "options": [n]} for n in "ab"]
    shared, own = shared_settings(project, {}, modules)
    assert shared == {"std": "c++20"} and [sorted(each) for each in own] == [["name", "options", "sources"]] * 2
    Config.from_table({**shared, "module": own})
    assert shared_settings(project, {"tool": {"cuda-wheel": {}}}, modules) == ({}, modules)
    write_files(tmp_path, **{"demo/other.cu": KERNEL})  # which does not compile, or is of another build
    project = propose_import(tmp_path, [tmp_path / "demo/a.cu"]).project
    assert shared_settings(project, {}, modules[:1]) == ({"sources": ["demo/a.cu"]}, modules[:1])


WITH_EIGEN = """\
#include <Eigen/Core>
template <typename T> __global__ void scale(T* x, T a) { x[threadIdx.x] *= a; }
__global__ void plain(float* x) { *x = 1; }
void norm(float* y) { Eigen::VectorXf x; scale<float><<<1, 32>>>(y, x.norm()); }
void launch(double* x) { scale<<<1, 32>>>(x, 2.0); }
"""


def test_what_a_file_needs_of_the_settings_is_proposed_if_it_then_compiles(tmp_path: Path, cuda_wheel: Command) -> None:
    files = {"pyproject.toml": head("hatchling"), "demo/__init__.py": "", "demo/a.cu": WITH_EIGEN}
    project = write_files(tmp_path / "project", **files)
    result = cuda_wheel("import", project / "demo/a.cu", "--write")
    assert result.returncode == 0, result.stdout
    assert "demo/a.cu:1: warning: Eigen/Core is not found, and empty" in result.stdout
    table = tomllib.loads((project / "pyproject.toml").read_text())["tool"]["cuda-wheel"]
    (module,) = table["module"]
    assert module["missing-headers"] == ["Eigen/*"] and module["host-code"] == "leave-out"
    assert "scale<float>" in " ".join(module["instantiate"])
    built = cuda_wheel("build", project, "-o", tmp_path / "out", CUDAARCHS="80-real")
    assert built.returncode == 0 and "3 kernels" in built.stdout, built.stdout


def test_the_folder_of_an_installed_library_is_proposed_before_a_missing_header(
    tmp_path: Path, cuda_wheel: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    eigen = "namespace Eigen { struct VectorXf { float norm() const; }; }\n"
    write_files(tmp_path, **{"eigen/include/eigen3/Eigen/Core": eigen, "cuda/include/cuda_runtime_api.h": ""})
    write_files(tmp_path, **{"cuda/include/Eigen/Core": eigen})
    monkeypatch.setenv("A_TOOLKIT", str(tmp_path / "cuda"))
    monkeypatch.setenv("EIGEN_ROOT", str(tmp_path / "eigen"))
    files = {"pyproject.toml": head("hatchling"), "demo/__init__.py": "", "demo/a.cu": WITH_EIGEN}
    result = cuda_wheel("import", write_files(tmp_path / "project", **files) / "demo/a.cu")
    assert result.returncode == 0, result.stdout
    assert 'system-include-dirs = ["$EIGEN_ROOT/include/eigen3"]' in result.stdout
    assert "missing-headers" not in result.stdout and "host-code" not in result.stdout


def test_no_settings_are_proposed_with_which_a_file_does_not_compile(tmp_path: Path, cuda_wheel: Command) -> None:
    text = "#include <Eigen/Core>\n__global__ void k(Eigen::Vector3f x) { }\n"
    files = {
        "pyproject.toml": head("hatchling"),
        "demo/__init__.py": "",
        "demo/a.cu": text,
        "demo/b.cu": "#include <c.cuh>\n",
    }
    project = write_files(tmp_path, **files)
    result = cuda_wheel("import", project / "demo/a.cu", project / "demo/b.cu")
    assert result.returncode == 1 and "0 of 2 modules compile" in result.stdout
    assert 'demo/a.cu:1:22: error: cannot open source file "Eigen/Core"' in result.stdout
    assert "leave-out" not in result.stdout
