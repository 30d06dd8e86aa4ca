"""The examples build; tests/gpu runs them."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest

from cuda_wheel.builder.manifest_reader import all_manifests, manifest_of
from cuda_wheel.runtime.manifest import Manifest
from cuda_wheel.runtime.parts.cuda_libraries import link_code
from cuda_wheel.runtime.parts.tuned_rows import parse_table
from cuda_wheel.tuning.tuner import table_text
from tests.support.driver import Driver
from tests.support.processes import run
from tests.support.projects import GALLERY, ROOT


def build(example: str, folder: Path, cuda_wheel, architectures: str = "80-real") -> Path:
    """Copy an example, build its modules, and return the project's folder."""
    project = folder / "project"
    shutil.copytree(ROOT / "examples" / example, project, ignore=shutil.ignore_patterns("__pycache__"))
    result = cuda_wheel("build", project, "-o", folder / "out", CUDAARCHS=architectures)
    assert result.returncode == 0, result.stdout
    return project


@pytest.mark.slow
@pytest.mark.one_toolchain
def test_the_example_of_variants_builds_each_of_them(tmp_path: Path, cuda_wheel) -> None:
    project = build("variants", tmp_path, cuda_wheel)
    text = (tmp_path / "out/variants_demo/polynomial.fatbin.json").read_bytes()
    found = [tuple(dict(each.variant).values()) for each in all_manifests(text, "x")]
    program = "from variants_demo.__main__ import VARIANTS; print(VARIANTS)"
    pattern = "import sys; sys.modules['cuda.core'] = type(sys)('core')\nsys.modules['cuda.core'].Device = 0\n"
    pattern += "sys.modules['cuda.core'].LegacyPinnedMemoryResource = 0\n"
    shown = run(sys.executable, "-c", pattern + program, PYTHONPATH=str(project / "src"))
    assert shown.stdout.strip() == repr([(real, degree) for degree, real in found])
    sizes = {each.variant: each.kernels[0].parameters[3].size for each in all_manifests(text, "x")}
    assert sizes[("DEGREE", 3), ("REAL", "double")] == 32


@pytest.mark.slow
@pytest.mark.one_toolchain
def test_the_example_of_tuned_choices_builds_with_its_table(tmp_path: Path, cuda_wheel) -> None:
    project = build("tuned", tmp_path, cuda_wheel)
    name = "tuned_demo.kernels.row_sums"
    table = tmp_path / "out/tuned_demo/kernels/row_sums.tuned.json"
    rows = parse_table(table.read_bytes(), name, "x")
    assert table.read_text() == table_text(name, rows)
    # What is tuned is what the table has. CuPy, which the example needs, is not installed everywhere.
    pattern = "import sys; sys.modules['cupy'] = type(sys)('cupy')\n"
    program = "from tuned_demo.tuning import row_sums as t; print(t.module, t.name, list(t.problems))"
    shown = run(sys.executable, "-c", pattern + program, PYTHONPATH=str(project / "src"))
    problems = [row.problem for row in sorted(rows, key=lambda row: row.problem["columns"])]
    assert shown.stdout.strip() == f"{name} row_sums {problems}"


@pytest.mark.slow
def test_the_example_of_launches_builds_for_gpus_with_and_without_programmatic_launches(
    tmp_path: Path, cuda_wheel
) -> None:
    build("launches", tmp_path, cuda_wheel, "75-virtual;90-virtual")
    manifest = manifest_of((tmp_path / "out/heat_demo/heat.fatbin.json").read_bytes(), "x")
    fatbin = (tmp_path / "out/heat_demo/heat.fatbin").read_bytes()
    used = {
        str(image.target): fatbin[image.offset : image.offset + image.size].count(b"griddepcontrol")
        for image in manifest.images
        if image.offset is not None
    }
    assert used == {"compute_75": 0, "compute_90": 2}
    assert [each.name for each in manifest.kernels[0].parameters] == ["before", "after", "rate", "n"]


def test_the_example_of_streams_builds_and_launches_what_its_kernel_takes(tmp_path: Path, cuda_wheel) -> None:
    project = build("streams", tmp_path, cuda_wheel)
    manifest = manifest_of((tmp_path / "out/streams_demo/average.fatbin.json").read_bytes(), "x")
    assert [each.parameter_list for each in manifest.kernels] == ["float*, const float*, float, int"]
    program = (project / "src/streams_demo/__main__.py").read_text()
    assert re.findall(r"(\w+)\.update\.launch\(GRID, BLOCK, .*, RATE, N[,)]", program) == ["streams_demo"] * 5


def test_the_example_for_users_of_raw_module_compiles(
    use: Callable[..., Driver], monkeypatch: pytest.MonkeyPatch
) -> None:
    use((8, 6))
    monkeypatch.syspath_prepend(ROOT / "examples/from_raw_module")
    import blur  # type: ignore[import-not-found]

    assert list(blur.module.module) == ["blur<float>"]
    assert blur.module.get_function("blur<double>").kernel.info.parameter_list == "const double*, double*, int"


def test_the_example_of_a_jax_operator_builds_and_is_traced(tmp_path: Path, cuda_wheel) -> None:
    project = build("jax_operator", tmp_path, cuda_wheel)
    (manifest,) = all_manifests((tmp_path / "out/jax_operator_demo/rms_norm.fatbin.json").read_bytes(), "x")
    lists = {each.name: each.parameter_list for each in manifest.kernels}
    for element in ("float", "__half", "__nv_bfloat16"):
        types = f"const {element}*, const {element}*, {element}*, int, float"
        assert lists[f"rms_norm<{element}>"] == types
    pytest.importorskip("jax", reason="JAX is not installed")
    shutil.copytree(project / "src", tmp_path / "out", dirs_exist_ok=True)
    program = """
import jax, jax.numpy as jnp
from jax_operator_demo import rms_norm
x, weight = jnp.ones((4, 100), jnp.bfloat16), jnp.ones(100, jnp.bfloat16)
print(jax.eval_shape(jax.grad(lambda x: rms_norm(x, weight, 1e-3).sum().astype(float)), x))
"""
    result = run(sys.executable, "-c", program, PYTHONPATH=f"{tmp_path / 'out'}:{ROOT}", JAX_PLATFORMS="cpu")
    assert "ShapeDtypeStruct(shape=(4, 100), dtype=bfloat16" in result.stdout, result.stdout


def test_the_page_of_examples_lists_each_with_its_package() -> None:
    page = (ROOT / "docs" / "gallery.md").read_text()
    rows = dict(re.findall(r"^\| `(\w+)` \| \(?`(?:python )?(\w+)", page, re.M))
    examples = ROOT / "examples"
    assert rows.keys() == {each.name for each in examples.iterdir() if each.is_dir()}
    run = {each.relative_to(examples).parts[0]: each.parent.name for each in examples.rglob("__main__.py")}
    assert run.items() <= rows.items() and len(run) > 10


# --- the gallery ------------------------------------------------------------------------------------

PARAMETERS = {
    "image_filter": {"denoise": "const float*, float*, int, int, float"},
    "multi_gpu": {"julia": "int*, int, int, int, int, double, double, int"},
    "numba_plugin": {"shape": "float*, int"},
    "cutlass_gemm": {"dense_relu": "const __half*, const __half*, const float*, float*, int, int, int"},
    "cmake": {"react": "const float*, const float*, float*, float*, int"},
}
"""The kernels of each example of the gallery, and their parameters, with which its Python code launches them."""


def gallery_manifests(example: str, folder: Path, cuda_wheel, **environ: str) -> dict[str, Manifest]:
    """Build an example of the gallery for one GPU, and return its manifests by the names of modules."""
    environ = {"CUDAARCHS": "80-real", **environ}
    result = cuda_wheel("build", ROOT / "examples" / example, "-o", folder, **environ)
    assert result.returncode == 0, result.stdout
    manifests = [manifest_of(path.read_bytes(), "x") for path in folder.rglob("*.fatbin.json")]
    kernels = {kernel.name: kernel.parameter_list for each in manifests for kernel in each.kernels}
    assert kernels == PARAMETERS[example]
    return {each.name: each for each in manifests}


@pytest.mark.parametrize("example", ["image_filter", pytest.param("multi_gpu", marks=pytest.mark.slow)])
def test_the_examples_of_the_gallery_build(example: str, tmp_path: Path, cuda_wheel) -> None:
    assert len(gallery_manifests(example, tmp_path, cuda_wheel)) == 1


def test_the_example_of_cmake_builds_a_module_for_each_pattern(tmp_path: Path, cuda_wheel) -> None:
    names = {name.rpartition(".")[2] for name in gallery_manifests("cmake", tmp_path, cuda_wheel)}
    program = "import sys; sys.modules['cupy'] = sys\nfrom reaction_demo import PATTERNS; print(PATTERNS)"
    shown = run(sys.executable, "-c", program, PYTHONPATH=str(ROOT / "examples/cmake/src"))
    lists = (ROOT / "examples/cmake/CMakeLists.txt").read_text()
    rates = re.findall(r"^set\((\w+) FEED=([\d.]+)f KILL=([\d.]+)f\)", lists, re.MULTILINE)
    assert names == {name for name, *_ in rates}
    assert shown.stdout.strip() == repr({name: (float(feed), float(kill)) for name, feed, kill in rates})


@pytest.mark.one_toolchain  # CUTLASS 4.2 does not compile with CCCL 3.5
def test_the_example_of_cutlass_multiplies_on_tensor_cores(tmp_path: Path, cuda_wheel, cutlass: Path) -> None:
    environ = {"PYTHONPATH": str(cutlass), "CUDAARCHS": "80-virtual"}
    (manifest,) = gallery_manifests("cutlass_gemm", tmp_path, cuda_wheel, **environ).values()
    assert "shared_memory" in {each.name for each in manifest.globals}
    ptx = (tmp_path / "gemm_demo/gemm.fatbin").read_bytes()
    assert b"mma.sync.aligned.m16n8k16" in ptx and b"cp.async" in ptx


def test_the_example_for_numba_links_with_a_kernel_of_numbas(tmp_path: Path, cuda_wheel) -> None:
    """Without Numba: PTX as Numba makes it, and the file of the wheel, linked as Numba does."""
    modules = gallery_manifests("numba_plugin", tmp_path, cuda_wheel)
    assert [each.name for each in modules["terrain_demo.shape"].extern] == ["profile"]
    fatbin = (tmp_path / "terrain_demo/noise.fatbin").read_bytes()
    inputs = [("PTX", "caller", CALLER.encode()), ("FATBIN", "noise.fatbin", fatbin)]
    assert len(link_code(inputs, ["-arch=sm_80"])[0]) > 1000


CALLER = """\
.version 7.0
.target sm_80
.address_size 64
.extern .func (.param .b32 status) noise (.param .b64 result, .param .b32 x, .param .b32 y);
.visible .entry rise(.param .u64 heights)
{
    .reg .b64 %address;
    .reg .b32 %status;
    ld.param.u64 %address, [heights];
    {
        .param .b64 result; .param .b32 x; .param .b32 y; .param .b32 status;
        st.param.b64 [result], %address;
        st.param.b32 [x], 0f3F800000;
        st.param.b32 [y], 0f3F800000;
        call.uni (status), noise, (result, x, y);
        ld.param.b32 %status, [status];
    }
    ret;
}
"""
"""A kernel that calls `noise` with Numba's calling convention."""


def test_the_constants_of_kernels_are_those_of_the_python_code() -> None:
    def source(name: str) -> str:
        return (ROOT / "examples" / name).read_text()

    gemm = source("cutlass_gemm/src/gemm_demo/gemm.cu")
    tile, threads = re.findall(r"TILE, THREADS = (\d+), (\d+)", source("cutlass_gemm/src/gemm_demo/__init__.py"))[0]
    shapes = [tuple(map(int, each)) for each in re.findall(r"GemmShape<(\d+), (\d+), (\d+)>", gemm)]
    assert shapes[0][:2] == (int(tile), int(tile))
    assert int(threads) == 32 * (shapes[0][0] // shapes[1][0]) * (shapes[0][1] // shapes[1][1])
    radius = re.findall(r"RADIUS = (\d+);", source("image_filter/src/denoise_demo/denoise.cu"))[0]
    assert f"RADIUS = 0.2, 0.4, {radius}\n" in source("image_filter/src/denoise_demo/__main__.py")


def test_the_pictures_are_small_and_all_drawn_by_the_same_code() -> None:
    drawing = {path.read_text() for path in (ROOT / "examples").rglob("picture.py")}
    assert len(drawing) == 1
    pictures = list((ROOT / "docs/gallery").iterdir())
    assert {each.stem for each in pictures} == set(GALLERY.values()) - {"gemm_demo"}
    for picture in pictures:
        assert picture.stat().st_size < 60_000
        strokes = [each.get("d") for each in ElementTree.parse(picture).iter("{http://www.w3.org/2000/svg}path")]
        assert strokes and all(re.fullmatch(r"M[\d.]+ [\d.]+h\d+(?:m-?\d+ \d+h\d+)*", each or "") for each in strokes)
