"""`cuda-wheel import`: the tables that it proposes compile, and what it writes builds."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from cuda_wheel.builder.config.settings import Config
from cuda_wheel.builder.errors import ConfigError
from cuda_wheel.migrate.import_sources import ImportProposal, propose_import, shared_settings
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
    assert "no image for" not in result.stdout
    table = tomllib.loads((project / "pyproject.toml").read_text())["tool"]["cuda-wheel"]
    expected = {"name": f"{package}.{stem}", "sources": [f"{package}/{stem}.cu"]}
    if page == "from-rawmodule":
        expected |= {"options": ["--use_fast_math", CUPYS[1]], "instantiate": ["shift<double, 2>"]}
        assert 'cupy.RawModule(...)  ->  cuda_wheel.cupy.RawModule("scale_demo.scale")\n' in result.stdout
        assert "launch" not in result.stdout and "get_function" not in result.stdout
        assert "array library" not in result.stdout and "does not contain it" not in result.stdout
    else:
        assert 'cuda_wheel.load("smooth_demo.smooth")' in result.stdout
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


CUPYS = ["--ftz=true", "--device-as-default-execution-space"]
"""Options that CuPy adds to each compilation."""


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
    table = {"name": names[0], "sources": ["src/demo/sub/fill.cu"], "defines": {"N": 4}, "options": CUPYS}
    assert first.table == table
    assert any("/nowhere" in note for note in first.notes)
    text = "\n".join(found.lines)
    assert text.count("""cupy.RawKernel(...)  ->  cuda_wheel.cupy.RawKernel("demo.sub.fill", 'fill')""") == 2
    assert """cupy.RawModule(...)  ->  cuda_wheel.cupy.RawModule("demo.sub.fill_2")""" in text
    assert ".py:17: the text is composed at run time: cuda_wheel.cupy.RawModule takes it as it is" in text
    assert text.count("add: import cuda_wheel") == 1 and "launch" not in text and "get_function" not in text


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
    macros = ({"A": 1, "B": True, "C": 2, "E": 5}, {"A": 1, "B": 1, "C": 2, "E": 5}, {"C": 2, "A": 1})
    tables = [{"name": f"demo.{each}", "sources": [f"csrc/{each}.cu"]} for each in "xyz"]
    written, left = shared_settings(
        project, {}, [each | {"defines": own} for each, own in zip(tables, macros, strict=True)]
    )
    assert written == {"defines": {"A": 1, "C": 2}}  # in TOML, true and 1 are two values
    assert [each.get("defines") for each in left] == [{"B": True, "E": 5}, {"B": 1, "E": 5}, None]
    _, left = shared_settings(project, {}, [tables[0], tables[1] | {"defines": {"A": 1}}])
    assert [each.get("defines") for each in left] == [None, {"A": 1}]
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


FILES = {
    "pyproject.toml": head("hatchling"),
    "demo/__init__.py": "",
    "demo/kernels/fill.cu": KERNEL,
    "csrc/shift.cu": KERNEL.replace("fill", "shift"),
    "demo/set.cuh": KERNEL.replace("fill", "set"),
}


def imported(tmp_path: Path, program: str, **files: str) -> ImportProposal:
    root = write_files(tmp_path / "project", **FILES | files, **{"demo/ops.py": program})
    return propose_import(root, [root / "demo/ops.py"])


def test_files_that_a_program_reads_are_sources_where_they_are(tmp_path: Path) -> None:
    found = imported(
        tmp_path,
        """import cupy, importlib.resources
from pathlib import Path
from pycuda.compiler import SourceModule
from torch.utils.cpp_extension import load_inline
with open(Path(__file__).parent / "kernels/fill.cu") as f:
    code = f.read()
fill = cupy.RawKernel(code, "fill", options=("-DN=4",))
again = cupy.RawModule(code=importlib.resources.read_text("demo.kernels", "fill.cu"), options=("-DN=4",))
shift = SourceModule(open("csrc/shift.cu").read()).get_function("shift")
shift(x, block=(1, 1, 1))
other = cupy.RawModule(code=(Path(__file__).parent / "set.cuh").read_text(), backend="nvcc", enable_cooperative_groups=True)
more = cupy.RawModule(code="#define N 4\\n" + code)
tensors = load_inline("tensors", "", cuda_sources=[code], no_implicit_headers=True)
""",
    )
    tables = {module.name: module.table for module in found.modules}
    assert [(name, table["sources"], table.get("options")) for name, table in tables.items()] == [
        ("demo.kernels.fill", ["demo/kernels/fill.cu"], CUPYS),
        ("demo.shift", ["csrc/shift.cu"], None),
        ("demo.set", ["demo/set.cu"], CUPYS[:1]),
        ("demo.fill", ["demo/fill.cu"], CUPYS),
        ("demo.kernels.kernels_fill", ["demo/kernels/fill.cu"], tables["demo.kernels.kernels_fill"]["options"]),
    ]
    assert tables["demo.kernels.fill"]["defines"] == {"N": 4}
    assert found.files == {"demo/set.cu": FILES["demo/set.cuh"], "demo/fill.cu": "#define N 4\n" + KERNEL}
    assert found.lines == [
        "demo/ops.py:7: demo/kernels/fill.cu is compiled into the wheel: what reads it here is not needed any more",
        "demo/ops.py:8: demo/kernels/fill.cu is compiled into the wheel: what reads it here is not needed any more",
        "demo/ops.py:9: csrc/shift.cu is compiled into the wheel: what reads it here is not needed any more",
        "demo/ops.py:11: demo/set.cuh becomes demo/set.cu, which is compiled into the wheel: remove demo/set.cuh and "
        "what reads it here",
        "demo/ops.py:13: demo/kernels/fill.cu is compiled into the wheel: what reads it here is not needed any more",
        "demo/ops.py: add: import cuda_wheel",
        "demo/ops.py:7: cupy.RawKernel(...)  ->  cuda_wheel.cupy.RawKernel(\"demo.kernels.fill\", 'fill')",
        'demo/ops.py:8: cupy.RawModule(...)  ->  cuda_wheel.cupy.RawModule("demo.kernels.fill")',
        'demo/ops.py:9: SourceModule(...)  ->  cuda_wheel.load("demo.shift")',
        "demo/ops.py:9: SourceModule(open('csrc/shift.cu').read()).get_function('shift')  ->  module['shift']",
        "demo/ops.py:10: shift(x, block=(1, 1, 1))  ->  shift.launch(1, (1, 1, 1), x)",
        'demo/ops.py:11: cupy.RawModule(...)  ->  cuda_wheel.cupy.RawModule("demo.set", enable_cooperative_groups=True)',
        'demo/ops.py:12: cupy.RawModule(...)  ->  cuda_wheel.cupy.RawModule("demo.fill")',
        'demo/ops.py:13: load_inline(...)  ->  cuda_wheel.load("demo.kernels.kernels_fill")',
    ]


def test_a_file_that_is_compiled_with_other_lines_before_it_becomes_another(tmp_path: Path) -> None:
    program = """CODE = open("kernels/fill.cu").read()
a = load_inline("a", "", cuda_sources=[CODE])
b = cupy.RawModule(code=CODE, translate_cucomplex=True)
"""
    found = imported(tmp_path, program)
    sources = ["demo/kernels/fill_2.cu", "demo/kernels/fill_3.cu"]
    assert [module.table["sources"] for module in found.modules] == [[each] for each in sources]
    assert (
        found.files[sources[0]] == "#include <torch/types.h>\n#include <cuda.h>\n#include <cuda_runtime.h>\n" + KERNEL
    )
    assert found.files[sources[1]].endswith("#include <cupy/math_constants.h>\n" + KERNEL)


def test_files_that_are_not_found_are_told(tmp_path: Path) -> None:
    (tmp_path / "outside.cu").write_text(KERNEL)
    program = f"""import cupy, sys
one = cupy.RawKernel(open(sys.argv[1]).read(), "fill")
two = cupy.RawModule(code=open("nowhere.cu").read())
three = cupy.RawModule(code=open({str(tmp_path / "outside.cu")!r}).read())
four = SourceModule(str(who_knows()))
"""
    found = imported(tmp_path, program)
    assert not found.modules and not found.files
    reason = "was not read: the text of the program does not tell the file, or there is none of that path"
    assert found.lines == [
        "demo/ops.py:2: the text is composed at run time: cuda_wheel.cupy.RawKernel takes it as it is",
        "demo/ops.py:3: the text is composed at run time: cuda_wheel.cupy.RawModule takes it as it is",
        f"demo/ops.py:4: reads {tmp_path / 'outside.cu'}, which is no file of the project: copy it into the project",
        "demo/ops.py:5: the text is composed at run time: cuda_wheel.compile takes it as it is",
        f"demo/ops.py:2: open(sys.argv[1]) {reason}",
        f"demo/ops.py:3: open('nowhere.cu').read() {reason}",
    ]


NAMES = [
    ("['k<float>', 'k<double>']", ["k<float>", "k<double>"]),
    ("('k<float>',)", ["k<float>"]),
    ("names", ["k<float>", "k<double>"]),
    ("[f'k<{t}>' for t in types]", ["k<float>", "k<double>"]),
    ("[f'k<{t}, {n}>' for t in types for n in (1, 2)]", ["k<float, 1>", "k<float, 2>", "k<double, 1>", "k<double, 2>"]),
    ("['k<%s>' % t for t in by_dtype.values()]", ["k<float>", "k<double>"]),
    ("tuple('k<{}>'.format(t) for t in types)", ["k<float>", "k<double>"]),
    ("names + ['plain']", ["k<float>", "k<double>", "plain"]),
    ("None", []),
]


@pytest.mark.parametrize(("written", "expected"), NAMES)
def test_name_expressions_are_instances(written: str, expected: list[str], tmp_path: Path) -> None:
    program = f"""import cupy
types = ["float", "double"]
by_dtype = {{cupy.float32: "float", cupy.float64: "double"}}
names = []
for t in types:
    names.append("k<" + t + ">")
module = cupy.RawModule(code='''{KERNEL}''', name_expressions={written})
"""
    found = imported(tmp_path, program)
    assert found.modules[0].table.get("instantiate", []) == expected
    assert not any("name_expressions" in line for line in found.lines)


@pytest.mark.parametrize("written", ["['k<float>', who_knows()]", "who_knows()", "[f'k<{t}>' for t in who_knows()]"])
def test_name_expressions_that_are_not_known_are_told(written: str, tmp_path: Path) -> None:
    found = imported(tmp_path, f"module = RawModule(code='''{KERNEL}''', name_expressions={written})\n")
    assert "demo/ops.py:1: not all name_expressions are known: add the others to instantiate" in found.lines[0]
    assert found.modules[0].table.get("instantiate", ["k<float>"]) == ["k<float>"]


def test_an_instance_of_a_raw_kernel_and_translated_complex_numbers_are_kept(tmp_path: Path) -> None:
    text = "#include <cuComplex.h>\n" + KERNEL
    found = imported(
        tmp_path,
        f"k = RawKernel(name='fill<3>', code='''{text}''', translate_cucomplex=True, options=('--use_fast_math',))\n",
    )
    (module,) = found.modules
    assert module.table["instantiate"] == ["fill<3>"] and module.table["options"] == ["--use_fast_math", CUPYS[1]]
    assert found.files["demo/fill.cu"].splitlines()[4] == "#include <cupy/cuComplex_bridge.h>"
    assert found.lines[-1].endswith("RawKernel(...)  ->  cuda_wheel.cupy.RawKernel(\"demo.fill\", 'fill<3>')")


def test_names_in_lines_are_those_of_the_tables(tmp_path: Path) -> None:
    program = f"A = '''{KERNEL}'''\na = RawKernel(A, 'fill')\nb = RawKernel(A, 'fill', ('-DN=5',))\n"
    found = imported(tmp_path, program)
    names = [module.name for module in found.modules]
    assert names == ["demo.fill", "demo.demo_fill"]
    assert [line.rpartition("RawKernel(")[2] for line in found.lines[1:]] == [f"\"{name}\", 'fill')" for name in names]


def test_the_wrong_folder_names_the_scripts_that_there_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    setup = 'CUDAExtension("demo._C", ["k.cu"])\n'
    root = write_files(tmp_path, **{"binding/setup.py": setup, "binding/k.cu": KERNEL, "other/demo/__init__.py": ""})
    monkeypatch.chdir(root)
    with pytest.raises(ConfigError, match=r"setup\.py does not exist\. There is binding/setup\.py\."):
        propose_import(root, [Path("setup.py")])
    with pytest.raises(ConfigError, match=r"neither a \.cu file nor a Python file\. There is binding/setup\.py\."):
        propose_import(root, [Path("binding")])
    with pytest.raises(ConfigError, match=r"setup\.py is no file of the project in .*other: import it there"):
        propose_import(root / "other", [Path("binding/setup.py")])
