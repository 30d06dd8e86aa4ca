"""With `specialize = true`, a variant or an instance that no wheel has is compiled from the sources in the wheel, once."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import cuda_wheel
from cuda_wheel.builder.compile_on_load import kept_modules
from cuda_wheel.builder.errors import CompileError, ConfigError, ToolchainError
from cuda_wheel.builder.manifest_reader import all_manifests
from cuda_wheel.builder.wheel.loader_copy import copied_files
from cuda_wheel.builder.wheel.outputs import write
from cuda_wheel.runtime.errors import PARTS, ImageError, UnknownKernelError, UnknownVariantError
from cuda_wheel.runtime.parts.formats.fatbin import fatbin_of_text, whole_fatbin
from tests.support.driver import Driver
from tests.support.loaded_modules import forget_package
from tests.support.processes import run, run_cuda_wheel
from tests.support.projects import pyproject_head, write_files

SOURCE = """\
#include "scale.h"
#if NUM_MODES > 4
#include "many.h"
#else
#define OFFSET 0
#endif
extern "C" __global__ void update(MATH_TYPE* x) { x[threadIdx.x] = x[threadIdx.x] * NUM_MODES * SCALE + OFFSET; }
template <typename T, int N> __global__ void gemm(T* x) { x[threadIdx.x] *= N * NUM_MODES; }
"""

TABLE = """\
[tool.hatch.build.targets.wheel]
packages = ["demo"]
[tool.hatch.build.targets.wheel.hooks.cuda]
[tool.cuda-wheel]
architectures = ["80-real"]
include-dirs = ["include"]
defines = { SCALE_OF_PROJECT = 3 }
[[tool.cuda-wheel.module]]
name = "demo.update"
instantiate = ["gemm<MATH_TYPE, 2>"]
specialize = true
variants = { MATH_TYPE = ["float"], NUM_MODES = [2, 4] }
[[tool.cuda-wheel.module]]
name = "demo.plain"
specialize = true
"""

FILES = {
    "demo/__init__.py": "",
    "demo/update.cu": SOURCE,
    "demo/plain.cu": "template <typename T> __global__ void one(T* x) { *x = 1; }\ntemplate __global__ void one<int>(int*);\n"
    "template <typename T> __global__ void two(T* x) { *x = 2; } // nobody misses it: it is compiled when it is asked for\n",
    "include/scale.h": "#define SCALE SCALE_OF_PROJECT // \N{MICRO SIGN}m\n",
    "include/many.h": "#define OFFSET 1\n",
    "include/unrelated.h": "// no file includes this\n",
}


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory, extra: str) -> Path:
    head = pyproject_head("hatchling", extra)
    return write_files(tmp_path_factory.mktemp("specialize") / "project", **FILES, **{"pyproject.toml": head + TABLE})


@pytest.fixture(scope="module")
def built(tree: Path) -> Path:
    result = run_cuda_wheel("build", tree, "-o", tree.with_name("out"))
    assert result.returncode == 0, result.stdout
    (tree.with_name("out") / "demo/__init__.py").touch()
    return tree.with_name("out")


def put_on_path(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(folder))
    forget_package("demo")


@pytest.fixture(params=["wheel", "source tree"])
def installed(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Put a copy of the built package, or of the source tree, on the path."""
    shutil.copytree(request.getfixturevalue("built" if request.param == "wheel" else "tree"), tmp_path / "site")
    put_on_path(tmp_path / "site", monkeypatch)
    return str(request.param)


@pytest.fixture
def site(built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(built, tmp_path / "site")
    put_on_path(tmp_path / "site", monkeypatch)
    return tmp_path / "site"


def test_the_sources_and_what_they_may_include_are_behind_the_fatbins(
    built: Path, cuda_wheel: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    manifests = all_manifests((built / "demo/update.fatbin.json").read_bytes(), "x")
    content = (built / "demo/update.fatbin").read_bytes()
    carried = manifests[0].specialize
    assert carried is not None and carried == manifests[1].specialize
    assert carried.offset + carried.size == len(content)
    end = manifests[1].fatbin_offset + manifests[1].fatbin_size
    assert content[end:] == fatbin_of_text(content[carried.offset :])
    assert whole_fatbin(content[end:])
    document = json.loads(content[carried.offset :])
    assert set(document["files"]) == {"demo/update.cu", "include/scale.h", "include/many.h"}
    assert document["files"]["demo/update.cu"] == SOURCE
    assert document["module"]["defines"] == {"SCALE_OF_PROJECT": "3"}
    assert cuda_wheel("verify", built).returncode == 0
    damaged = bytearray(content)
    damaged[-20] ^= 1
    write_files(tmp_path / "d", **{"update.fatbin.json": (built / "demo/update.fatbin.json").read_text()})
    for changed in (bytes(damaged), content + b"more", content[: -carried.size - 8] + content[-carried.size :]):
        (tmp_path / "d/update.fatbin").write_bytes(changed)
        result = cuda_wheel("verify", tmp_path / "d")
        assert result.returncode == 1 and "the sources behind the fatbin differ" in result.stdout


def test_cuobjdump_reads_a_fatbin_with_sources_behind_it(built: Path, cuobjdump) -> None:
    for name, count in (("update", 2), ("plain", 1)):
        path = built / f"demo/{name}.fatbin"
        assert cuobjdump("-lelf", path).count("sm_80") == count
        assert cuobjdump("-lptx", path).count(".ptx") == 0
        assert "identifier = sources" in cuobjdump("-elf", path)


def test_an_unforeseen_variant_is_compiled_once(
    installed: str, use: Callable[..., Driver], forbid_compilers: Callable[[], None]
) -> None:
    driver = use((8, 6))
    module = cuda_wheel.load("demo.update", MATH_TYPE="double", NUM_MODES=8)
    assert module.variant == {"MATH_TYPE": "double", "NUM_MODES": 8}
    assert str(module.image.target) == "sm_86" and len(driver.loaded) == 1
    assert module["gemm<MATH_TYPE, 2>"].symbol == "_Z4gemmIdLi2EEvPT_"
    forbid_compilers()
    assert cuda_wheel.load("demo.update", MATH_TYPE="double", NUM_MODES=8) is module
    use((8, 6))  # as another process: the result is in the user's cache
    assert cuda_wheel.load("demo.update", MATH_TYPE="double", NUM_MODES="8") is not module
    with pytest.raises(AssertionError, match="a compiler was started"):
        cuda_wheel.load("demo.update", MATH_TYPE="double", NUM_MODES=9)
    with pytest.raises(UnknownVariantError, match="MODES=8"):  # another name is a mistake
        cuda_wheel.load("demo.update", MATH_TYPE="double", MODES=8)
    with pytest.raises(UnknownVariantError, match="none is named"):
        cuda_wheel.load("demo.update")


def test_an_unforeseen_instance_is_compiled_once(
    installed: str, use: Callable[..., Driver], forbid_compilers: Callable[[], None]
) -> None:
    use((8, 6))
    module = cuda_wheel.load("demo.update", MATH_TYPE="float", NUM_MODES=4)
    assert "gemm<double, 64>" not in module  # asking compiles nothing
    kernel = module["gemm<double, 64>"]
    assert kernel.symbol == "_Z4gemmIdLi64EEvPT_" and kernel.module.variant == module.variant
    assert [each.cpp for each in kernel.info.parameters] == ["double*"]
    assert cuda_wheel.load("demo.plain")["one<float>"].symbol == "_Z3oneIfEvPT_"
    assert cuda_wheel.load("demo.plain")["two<float>"].symbol == "_Z3twoIfEvPT_"
    other = cuda_wheel.load("demo.update", MATH_TYPE="int", NUM_MODES=4)  # an instance of an unforeseen variant
    assert other["gemm<char, 3>"].symbol == "_Z4gemmIcLi3EEvPT_"
    with pytest.raises(CompileError, match="nothing"):
        module["nothing<3>"]
    forbid_compilers()
    assert module["gemm<double, 64>"] is kernel
    with pytest.raises(UnknownKernelError, match="has no kernel 'gem'; it has"):
        module["gem"]
    kernel.module.unload()
    again = module["gemm<double, 64>"]  # from the cache
    assert again is not kernel and again.module.is_loaded


@pytest.mark.parametrize("by", ["CUDA_WHEEL_JIT=error", "JitOptions(allow=False)"])
def test_nothing_is_compiled_where_that_is_forbidden(
    by: str,
    site: Path,
    use: Callable[..., Driver],
    forbid_compilers: Callable[[], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Neither a variant nor an instance, although an earlier process has compiled them into the user's cache."""
    use((8, 6))
    cuda_wheel.load("demo.update", MATH_TYPE="double", NUM_MODES=8)
    assert cuda_wheel.load("demo.update", MATH_TYPE="float", NUM_MODES=4)["gemm<double, 64>"].handle
    forbid_compilers()
    driver = use((8, 6))
    options = cuda_wheel.JitOptions(allow=by.startswith("CUDA"))
    if options.allow:
        monkeypatch.setenv("CUDA_WHEEL_JIT", "error")
    module = cuda_wheel.load("demo.update", jit=options, MATH_TYPE="float", NUM_MODES=4)
    assert module.how == "native" and len(driver.loaded) == 1
    with pytest.raises(UnknownVariantError) as variant:
        cuda_wheel.load("demo.update", jit=options, MATH_TYPE="double", NUM_MODES=8)
    with pytest.raises(UnknownKernelError) as instance:
        module["gemm<double, 64>"]
    assert str(instance.value) == (
        "demo.update[MATH_TYPE=float, NUM_MODES=4] has no kernel 'gemm<double, 64>'; it has gemm<MATH_TYPE, 2>, update\n"
        "Its module has specialize = true, but it must be compiled on this machine (compute capability 8.6, driver for "
        f"CUDA 13.0), which {by} forbids. The wheel's authors can add it to variants or instantiate of the module."
    )
    assert str(variant.value).startswith("demo.update has no variant") and f"which {by} forbids" in str(variant.value)
    assert len(driver.loaded) == 1
    # Of a module without `allow=False`, instances are not forbidden.
    again = cuda_wheel.load("demo.update", MATH_TYPE="float", NUM_MODES=4)
    monkeypatch.delenv("CUDA_WHEEL_JIT", raising=False)
    assert again["gemm<double, 64>"].handle


def test_names_and_values_that_include_files_reach_no_compiler(
    installed: str, use: Callable[..., Driver], forbid_compilers: Callable[[], None], tmp_path: Path
) -> None:
    (tmp_path / "secret").write_text("hunter2\n")
    use((8, 6))
    module = cuda_wheel.load("demo.update", MATH_TYPE="float", NUM_MODES=4)
    forbid_compilers()
    for name in (
        f'gemm<int, 3>\n#include "{tmp_path}/secret"',
        f'#include "{tmp_path}/secret" <',
        "gemm<int, 3>); int f(",
    ):
        with pytest.raises(ConfigError, match=r"^the name of an instance must be a C\+\+ name on one line"):
            module[name]
    with pytest.raises(ConfigError, match=r"^the macro MATH_TYPE must be one line of C\+\+, and 'int.n#include"):
        cuda_wheel.load("demo.update", MATH_TYPE=f'int\n#include "{tmp_path}/secret"\n', NUM_MODES=4)


def test_without_a_toolchain_the_error_names_what_there_is_and_the_extra(
    installed: str, use: Callable[..., Driver], monkeypatch: pytest.MonkeyPatch
) -> None:
    use((8, 6), version=13000)
    module = cuda_wheel.load("demo.update", MATH_TYPE="float", NUM_MODES=2)

    def compile(*arguments: object) -> None:
        raise ToolchainError("NVRTC was not found.")

    monkeypatch.setattr(kept_modules, "_compile", compile)
    with pytest.raises(UnknownKernelError) as missing:
        module["gemm<float, 3>"]
    assert "has no kernel 'gemm<float, 3>'; it has gemm<MATH_TYPE, 2>, update" in str(missing.value)
    assert 'pip install "cuda-wheel[cu13]". Now: NVRTC was not found.' in str(missing.value)
    if installed == "wheel":  # in a source tree, no variant can be loaded
        use((8, 6), version=12040)
        with pytest.raises(UnknownVariantError) as error:
            cuda_wheel.load("demo.update", MATH_TYPE="float", NUM_MODES=3)
        assert "MATH_TYPE=float, NUM_MODES=2\n" in str(error.value)
        assert 'pip install "cuda-wheel[cu12]". Now: NVRTC was not found.' in str(error.value)


def test_without_the_build_side_the_error_names_the_extra(
    installed: str, use: Callable[..., Driver], monkeypatch: pytest.MonkeyPatch
) -> None:
    if installed != "wheel":
        pytest.skip("tests/project/test_distributions.py loads a source tree without the build side")
    use((8, 6), version=13000)
    module = cuda_wheel.load("demo.update", MATH_TYPE="float", NUM_MODES=2)
    monkeypatch.setattr(cuda_wheel, "SOURCE_HOOK", "cuda_wheel.not_installed.compile_on_load")
    expected = 'It cannot be compiled here: cuda-wheel-builder, which compiles, is not installed. pip install "cuda-wheel[cu13]" brings it.'
    with pytest.raises(UnknownKernelError) as missing:
        module["gemm<float, 3>"]
    assert str(missing.value).endswith(expected) and "has no kernel 'gemm<float, 3>'" in str(missing.value)
    with pytest.raises(UnknownVariantError) as error:
        cuda_wheel.load("demo.update", MATH_TYPE="float", NUM_MODES=3)
    assert str(error.value).endswith(expected)


def test_damaged_sources_are_not_compiled(site: Path, use: Callable[..., Driver]) -> None:
    use((8, 6))
    path = site / "demo/update.fatbin"
    path.write_bytes(path.read_bytes().replace(b"threadIdx.x", b"threadIdx.y"))
    with pytest.raises(ImageError, match="its sources are not those of the manifest"):
        cuda_wheel.load("demo.update", MATH_TYPE="float", NUM_MODES=3)


def test_a_vendored_loader_compiles_nothing(site: Path, tmp_path: Path) -> None:
    write({f"_vendored/{name}": content for name, content in copied_files(PARTS).items()}, tmp_path)
    program = "import _vendored; _vendored.load('demo.update', MATH_TYPE='float', NUM_MODES=3)"
    result = run(sys.executable, "-c", program, PYTHONPATH=f"{tmp_path}", cwd=site)
    assert "MATH_TYPE=float, NUM_MODES=2" in result.stdout
    assert "UnknownVariantError" in result.stdout


def test_what_cannot_be_compiled_again_is_refused(make_project, cuda_wheel) -> None:
    files = {"demo/k.cu": 'extern "C" __device__ int f(); __global__ void k(int* x) { *x = f(); }'}
    table = '[[tool.cuda-wheel.module]]\nname = "demo.k"\nspecialize = true\nextern = ["f"]'
    result = cuda_wheel("build", make_project(table, **files), "--dry-run")
    assert result.returncode == 1 and "demo.k cannot have specialize" in result.stdout
