"""Numba kernels in a build: manifests, PTX, caches and errors, with the real compiler."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from cuda_wheel.builder.manifest_reader import all_manifests
from cuda_wheel.runtime.manifest import Manifest
from cuda_wheel.runtime.parts.numba.signatures import KERNEL, read_type
from tests.support.demo_projects import built, failed
from tests.support.numba_project import HEAD, write_numba_project
from tests.support.processes import build_wheel, run, run_cuda_wheel
from tests.support.wheels import contents

pytestmark = [pytest.mark.slow, pytest.mark.one_toolchain]

numba_cuda = pytest.importorskip("numba_cuda", reason="numba-cuda is not installed")

Cases = tuple[Path, Path, str]

ONE = (
    HEAD
    + """
[tool.cuda-wheel]
architectures = ["90-real"]
[[tool.cuda-wheel.numba]]
"""
)

DOUBLE = 'kernel = "demo.ops:double"\narguments = { x = "float32[::1]" }\n'

TEXT = "from numba import cuda\n\n\n@cuda.jit\ndef double(x):\n    i = cuda.grid(1)\n    x[i] = 2 * x[i]\n"


def write(root: Path, text: str = TEXT, table: str = DOUBLE, **others: str) -> Path:
    """Write a project with demo/ops.py, other modules, and one table."""
    (root / "demo").mkdir(parents=True)
    (root / "pyproject.toml").write_text(ONE + table)
    (root / "demo/__init__.py").touch()
    for name, each in {"ops": text, **others}.items():
        (root / f"demo/{name}.py").write_text(each)
    return root


def read(folder: Path, module: str = "cases") -> tuple[Manifest, ...]:
    return all_manifests((folder / f"demo/{module}.fatbin.json").read_bytes(), "the manifest")


def ptx_of(output: Path, name: str, module: str = "cases") -> list[str]:
    """Return the PTX of each variant of a kernel."""
    content = (output / f"demo/{module}.fatbin").read_bytes()
    found = []
    for manifest in read(output, module):
        for image in manifest.images:
            if image.kind == "ptx" and manifest.kernels[0].name == name:
                start = manifest.fatbin_offset + (image.offset or 0)
                found.append(content[start : start + image.size].decode())
    return found


def test_each_variant_has_its_targets_and_what_a_launch_needs(cases: Cases) -> None:
    _, output, printed = cases
    manifests = read(output)
    assert len(manifests) == 16 and "demo.cases: 16 variants" in printed
    for manifest in manifests:
        assert [(each.kind, str(each.target)) for each in manifest.images] == [
            ("cubin", "sm_90"),
            ("ptx", "compute_75"),
        ]
        assert manifest.toolchain["numba"] == numba_cuda.__version__ and "nvvm" in manifest.toolchain
        assert manifest.sources == ("demo/cases.py",) and not manifest.options and not manifest.globals
        (kernel,) = manifest.kernels
        variant = dict(manifest.variant)
        assert kernel.symbol == kernel.name == str(variant[KERNEL]).partition(":")[2]
        types = [read_type(variant[name]) for name, _, _ in kernel.python]
        assert len(kernel.parameters) == sum(type_.words for type_ in types if type_ is not None)
        assert all(each.cpp for each in kernel.parameters), kernel.parameters
    by_kernel = {str(dict(each.variant)[KERNEL]).partition(":")[2]: each.kernels[0] for each in manifests}
    assert by_kernel["inverse"].python == (("x", "argument", None), ("n", "argument", 8))
    assert [(each.name, each.cpp, each.type) for each in by_kernel["histogram"].parameters][:7] == [
        ("counts_meminfo", "void*", "u64"), ("counts_parent", "void*", "u64"), ("counts_nitems", "long long", "u64"),
        ("counts_itemsize", "long long", "u64"), ("counts_data", "int*", "u64"), ("counts_shape_0", "long long", "u64"),
        ("counts_stride_0", "long long", "u64"),
    ]  # fmt: skip
    scalars = [(each.cpp, each.type) for each in by_kernel["all_scalars"].parameters][7:]
    assert scalars == [
        ("bool", "u8"), ("signed char", "u8"), ("short", "u16"), ("int", "u32"), ("long long", "u64"),
        ("unsigned char", "u8"), ("unsigned short", "u16"), ("unsigned int", "u32"), ("unsigned long long", "u64"),
        ("unsigned short", "u16"), ("float", "f32"), ("double", "f64"), ("float", "f32"), ("float", "f32"),
        ("double", "f64"), ("double", "f64"),
    ]  # fmt: skip


def test_the_ptx_is_portable_and_has_the_options_of_the_decorator_and_of_the_settings(cases: Cases) -> None:
    _, output, _ = cases
    for manifest in read(output):
        image = manifest.images[1]
        assert image.ptx_version is not None and image.ptx_version < (8, 0) and image.driver <= (12, 0)
    fast, exact = ptx_of(output, "inverse")
    assert "sqrt.approx.ftz.f32" in fast and ".maxnreg 32" in fast and ".minnctapersm 2" in fast
    assert "sqrt.rn.f64" in exact and ".maxnreg 64" in exact
    (reverse,) = ptx_of(output, "reverse_blocks")
    assert re.search(r"\.extern \.shared .*\[\]", reverse)
    for name in {manifest.kernels[0].name for manifest in read(output)}:
        for text in ptx_of(output, name):
            assert "NumbaEnv" not in text and not re.search(r"_Z\w*demo", text)
            assert re.search(rf"\.target sm_75$.*\.entry {name}\(", text, re.M | re.S)


def test_no_path_of_this_machine_is_in_the_files(cases: Cases) -> None:
    project, output, _ = cases
    for path in output.rglob("*.*"):
        content = path.read_bytes()
        for text in (str(project), str(Path(numba_cuda.__file__).parent), "/tmp/", "cases.py:"):
            assert text.encode() not in content, (path, text)


def test_the_same_sources_give_the_same_bytes_whatever_was_compiled_before(cases: Cases, tmp_path: Path) -> None:
    _, output, _ = cases
    root = write_numba_project(
        tmp_path / "other",
        kernels=HEAD + '[tool.cuda-wheel]\narchitectures = ["75-virtual", "90-real"]\n[[tool.cuda-wheel.numba]]\n'
        'kernel = "demo.cases:device_functions"\narguments = { out = "float32[::1]", x = "float32[::1]" }\n',
    )
    assert "1 compiled" in built(root, CUDA_WHEEL_CACHE_DIR=str(tmp_path / "cache")).replace("2 compiled", "1 compiled")
    (alone,) = read(root / "output")
    (among,) = (each for each in read(output) if each.kernels[0].name == "device_functions")
    assert [each.sha256 for each in alone.images] == [each.sha256 for each in among.images]


@pytest.mark.usefixtures("own_cache")
def test_a_change_of_an_imported_function_compiles_again(tmp_path: Path) -> None:
    text = TEXT.replace("2 * x[i]", "factor(x[i])").replace("cuda\n\n", "cuda\n\nfrom .parts import factor\n\n", 1)
    head = "from numba import cuda\n\n\n@cuda.jit(device=True)\n"
    root = write(tmp_path / "project", text, parts=f"{head}def factor(x):\n    return 2 * x\n")
    (root / "demo/__init__.py").write_text("raise RuntimeError('never imported')\n")
    assert "1 compiled" in built(root)
    first = (root / "output/demo/ops.fatbin").read_bytes()
    assert "1 from the cache" in built(root)
    (root / "demo/parts.py").write_text(f"{head}def factor(x):\n    return 3 * x\n")
    assert "1 compiled" in built(root)
    assert (root / "output/demo/ops.fatbin").read_bytes() != first


def test_the_wheel_has_the_sources_and_is_for_every_platform(cases: Cases, tmp_path: Path) -> None:
    project, output, _ = cases
    result = build_wheel(project, tmp_path)
    assert result.returncode == 0, result.stdout
    (wheel,) = tmp_path.glob("*.whl")
    files = contents(wheel)
    assert wheel.name == "demo-1-py3-none-any.whl" and "demo/cases.py" in files
    assert files["demo/cases.fatbin"] == (output / "demo/cases.fatbin").read_bytes()
    sbom = next(content for name, content in files.items() if name.endswith(".cdx.json")).decode()
    for package in (f"numba-cuda@{numba_cuda.__version__}", "numba@", "llvmlite@"):
        assert f"pkg:pypi/{package}" in sbom
    assert re.search(r"pkg:pypi/nvidia-(nvvm|cuda-nvcc-cu12)@|toolkit:nvvm@1", sbom)
    printed = run_cuda_wheel("inspect", wheel).stdout
    assert f"Numba {numba_cuda.__version__}" in printed and "16 variants" in printed
    for required, status in (
        ("sm_75..sm_121,!sm_87,driver>=13.0,jit", 0),
        ("sm_90,driver>=13.0,native", 0),
        ("sm_86,driver>=13.0,native", 1),  # only the PTX suits it
    ):
        assert run_cuda_wheel("coverage", wheel, "--require", required).returncode == status, required


def test_a_vendored_loader_has_what_the_kernels_need_and_no_triton(tmp_path: Path) -> None:
    root = write(tmp_path / "project")
    (root / "pyproject.toml").write_text(
        ONE.replace("[tool.cuda-wheel]\n", '[tool.cuda-wheel]\nloader = "vendor"\n') + DOUBLE
    )
    result = build_wheel(root, tmp_path / "wheels")
    assert result.returncode == 0, result.stdout
    (wheel,) = (tmp_path / "wheels").glob("*.whl")
    parts = {name.removeprefix("demo/_cuda_wheel/parts/") for name in contents(wheel) if "_cuda_wheel/parts" in name}
    assert {"numba/kernels.py", "python_kernels/modules.py", "variants.py"} <= parts
    assert not [part for part in parts if part.startswith(("triton", "variables", "linking", "untyped"))]


X = {"x": "float32[::1]"}

MISTAKES: dict[str, tuple[str, dict[str, str], str]] = {
    "superfluous": (TEXT, X | {"n": "int64"}, "demo.ops:double has no parameter n: it has x"),
    "lacking": (TEXT.replace("(x)", "(x, n)"), X, "a parameter n, for which [[tool.cuda-wheel.numba]] has no type"),
    "variadic": (TEXT.replace("(x)", "(*x)"), X, "double has the parameter *x, and a kernel has only plain ones"),
    "device": (TEXT.replace("jit\n", "jit(device=True)\n"), X, "double is a device function (device=True)"),
    "debug": (TEXT.replace("jit\n", "jit(debug=True, opt=False)\n"), X, "has the option debug, with which a kernel"),
    "link": (TEXT.replace("jit\n", 'jit(link=["a.cu"])\n'), X, "has the option link, and a build links no files"),
    "function": (TEXT.replace("@cuda.jit\n", ""), X, "double is not a Numba kernel, but <function double"),
    "name": (TEXT.replace("double", "triple"), X, "demo.ops:double[x=float32[::1]] defines no double"),
    "attribute": (TEXT.replace("2 * x[i]", "x[i].shape"), X,
                  "demo/ops.py:7: error: double does not compile: Unknown attribute 'shape' of type float32"),
    "list": (TEXT.replace("2 * x[i]", "[x]"), X, "double does not compile: No implementation of function"),
    "return": (TEXT.replace("    x[i] =", "    return"), X, "CUDA kernel must have void return type"),
    "grid": (TEXT.replace("x[i] =", "cuda.cg.this_grid().sync(); x[i] ="), X, "double synchronises the grid, and needs"),
    "absent call": ("import absent\n" + TEXT.replace("x[i] =", "absent.run(); x[i] ="), X, "the package absent is not"),
    "absent value": ("import absent\n" + TEXT.replace("2 *", "SIZE *") + "\nSIZE = 3 if absent.big else 4\n", X,
                     "depends on absent.big, and the package absent is not installed"),
    "GPU": (TEXT.replace("2 *", "SIZE *") + "\nSIZE = 3 if 'H100' in cuda.get_current_device().name else 4\n", X,
            "get_current_device().name, which asks the GPU, and a build has none"),
}  # fmt: skip
"""Name -> (demo/ops.py, arguments, what the build says)."""

COMPILE = """
import dataclasses, json, sys
from pathlib import Path
from cuda_wheel.builder.compile.numba_kernels import compile_numba
from cuda_wheel.builder.errors import CompileError
from cuda_wheel.builder.jobs import Job
from cuda_wheel.builder.toolchain.find import find_nvvm, find_toolchain
nvvm = find_nvvm(find_toolchain())
for folder in sys.argv[1:]:
    variant = json.loads(Path(folder, "variant.json").read_text())
    job = Job(
        library=nvvm.library, libdevice=nvvm.libdevice, root=folder, source="demo/ops.py", arch="90", cubin=True, ptx=True,
        text=Path(folder, "demo/ops.py").read_bytes(), options=("--numba",), include_dirs=(), instantiate=(),
        lineinfo=False, ptx_version="auto", kind="numba", variant=tuple(sorted(variant.items())), python_compiler="1",
    )
    try:
        print(json.dumps(compile_numba(job).ptx.decode()))
    except CompileError as error:
        print(json.dumps(str(error)))
"""


def test_mistakes_are_said(tmp_path: Path) -> None:
    folders = []
    for name, (text, arguments, _) in MISTAKES.items():
        folders.append(write(tmp_path / name.replace(" ", "_"), text))
        (folders[-1] / "variant.json").write_text(json.dumps({"numba": "demo.ops:double"} | arguments))
    result = run(sys.executable, "-c", COMPILE, *folders)
    assert result.returncode == 0, result.stdout
    printed = [json.loads(line) for line in result.stdout.splitlines()]
    for (name, (_, _, said)), text in zip(MISTAKES.items(), printed, strict=True):
        assert said in " ".join(text.split()), f"{name}: {text}"


def test_a_build_says_which_kernel_does_not_compile(tmp_path: Path) -> None:
    text, _, said = MISTAKES["attribute"]
    printed = failed(write(tmp_path / "project", text))
    assert f"demo/ops.py does not compile for sm_90 with Numba {numba_cuda.__version__}: {said}" in printed


def test_environment_variables_of_numba_change_nothing(tmp_path: Path) -> None:
    root = write(tmp_path / "project")
    built(root, CUDA_WHEEL_CACHE_DIR=str(tmp_path / "one"))
    first = (root / "output/demo/ops.fatbin").read_bytes()
    variables = {
        "NUMBA_OPT": "0",
        "NUMBA_ENABLE_CUDASIM": "1",
        "NUMBA_CUDA_DEBUGINFO": "1",
        "NUMBA_FORCE_CUDA_CC": "8,0",
    }
    assert "1 compiled" in built(root, CUDA_WHEEL_CACHE_DIR=str(tmp_path / "two"), **variables)
    assert (root / "output/demo/ops.fatbin").read_bytes() == first


@pytest.mark.usefixtures("own_cache")
def test_signatures_of_the_decorator_the_gpu_and_what_is_for_launches_are_no_obstacle(tmp_path: Path) -> None:
    text = (
        "from numba import cuda\n\n"
        "IS_NEW = cuda.get_current_device().compute_capability >= (8, 0)\n"
        "if cuda.is_available():\n"
        '    @cuda.jit(["void(float32[:])", "void(float64[:])"], cache=True, lineinfo=True, shared_memory_carveout=50)\n'
        "    def double(x):\n        x[cuda.grid(1)] *= 2 if IS_NEW else 3\n\n"
        "stream = cuda.stream()\nx = cuda.to_device([1.0])\ndouble[1, 1, stream](x)\n"
    )
    printed = built(write(tmp_path / "project", text))
    assert "1 compiled" in printed and "shared_memory_carveout is left out" in " ".join(printed.split())


def test_without_numba_the_message_says_what_to_require(tmp_path: Path) -> None:
    for imported, said in (("numba_cuda", "is not installed"), ("numba.cuda.compiler", "cannot be imported")):
        program = (
            "import sys, cuda_wheel.builder.toolchain.numba as n\n"
            f"import numba_cuda\nsys.modules[{imported!r}] = None\n"
            "try: n.find_numba()\n"
            "except Exception as error: print(type(error).__name__, error)"
        )
        result = run(sys.executable, "-c", program, cwd=tmp_path)
        assert "ToolchainError numba-cuda" in result.stdout and said in result.stdout, result.stdout


@pytest.mark.usefixtures("own_cache")
def test_a_source_tree_compiles_a_variant_when_it_is_needed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, use: Callable[..., object]
) -> None:
    import cuda_wheel

    root = write(tmp_path / "project")
    monkeypatch.setenv("CUDA_WHEEL_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.syspath_prepend(str(root))
    monkeypatch.delitem(sys.modules, "demo", raising=False)
    use((9, 0))
    module = cuda_wheel.load("demo.ops")
    assert list(module) == ["double"]
    assert [name for name, _, _ in module["double"].parameters] == ["x"]
    monkeypatch.delitem(sys.modules, "demo", raising=False)
