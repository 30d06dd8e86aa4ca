"""A module with variants becomes one manifest and one fatbin, with every variant in it, in the one schedule."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from cuda_wheel.builder.cache.compile_cache import job_key
from cuda_wheel.builder.manifest_reader import all_manifests
from cuda_wheel.builder.manifest_writer.coverage import cover
from cuda_wheel.builder.plan import make_plan
from cuda_wheel.builder.sources.modules import one_module, variants_of
from cuda_wheel.builder.toolchain.toolchain import Toolchain
from cuda_wheel.builder.workers.executor import shared_options
from cuda_wheel.inspect.modules import find_modules
from cuda_wheel.runtime.manifest import Manifest
from tests.support.processes import build_wheel, run_cuda_wheel
from tests.support.projects import BACKENDS, LISTS, SCIKIT_BUILD, pyproject_head
from tests.support.variants import SOURCE_OF_VARIANTS, VARIANTS_TABLE, write_variants
from tests.support.wheels import contents, images

MACROS = [
    {"MATH_TYPE": "float", "NUM_MODES": 2},
    {"MATH_TYPE": "float", "NUM_MODES": 4},
    {"MATH_TYPE": "double", "NUM_MODES": 4},
]


def read(folder: Path) -> tuple[tuple[Manifest, ...], bytes]:
    path = folder / "demo/update.fatbin.json"
    return all_manifests(path.read_bytes(), "x"), path.with_suffix("").read_bytes()


def test_all_variants_are_in_one_index_and_one_fatbin(variants_build: tuple[Path, str], cuobjdump) -> None:
    folder, output = variants_build
    manifests, fatbin = read(folder)
    assert [dict(each.variant) for each in manifests] == MACROS
    assert sorted(path.name for path in (folder / "demo").glob("*.fatbin*")) == [
        *("plain.fatbin", "plain.fatbin.json", "update.fatbin", "update.fatbin.json")
    ]
    end = 0
    for manifest in manifests:
        assert manifest.fatbin_offset == end
        end += manifest.fatbin_size
        assert {"--define-macro=NUM_MODES=4", "--define-macro=NUM_MODES=2"} & set(manifest.options)
        assert [kernel.name for kernel in manifest.kernels] == ["gemm<MATH_TYPE, NUM_MODES>", "update"]
    assert end == len(fatbin)
    symbols = [{kernel.symbol for kernel in manifest.kernels} for manifest in manifests]
    assert symbols[0] == {"_Z4gemmIfLi2EEvPT_", "update"} and symbols[2] == {"_Z4gemmIdLi4EEvPT_", "update"}
    sizes = [each.globals[0].size for each in manifests]
    assert sizes == [8, 16, 32]

    listed = cuobjdump("-elf", folder / "demo/update.fatbin")  # NVIDIA's tool reads all variants, and names them
    found = [line.partition("= ")[2] for line in listed.splitlines() if line.startswith("identifier")]
    names = [f"demo.update[MATH_TYPE={each['MATH_TYPE']}, NUM_MODES={each['NUM_MODES']}]" for each in MACROS]
    assert list(dict.fromkeys(found)) == names
    assert listed.count("Fatbin elf code") == 2 * len(MACROS)

    assert "2 modules, 8 compile jobs for 3 variants" in output
    assert output.count('variable "unused" was declared but never referenced') == 1
    assert "demo.update: 3 variants, 2 kernels, cubin sm_80, cubin sm_90, ptx compute_90" in output


@pytest.mark.one_toolchain
@pytest.mark.slow
def test_a_second_build_takes_everything_from_the_cache_and_gives_the_same_bytes(
    variants_project: Path, variants_build: tuple[Path, str], tmp_path: Path
) -> None:
    folder, _ = variants_build
    for cache, words in ((variants_project.with_name("cache"), "8 from the cache"), (tmp_path / "new", "8 compiled")):
        command = ["build", variants_project, "-o", tmp_path / cache.name]
        result = run_cuda_wheel(*command, CUDA_WHEEL_CACHE_DIR=str(cache))
        assert result.returncode == 0 and words in result.stdout, result.stdout
        assert result.stdout.count("never referenced") == 1  # the cache has the warnings too
        for name in ("update.fatbin", "update.fatbin.json"):
            assert (tmp_path / cache.name / "demo" / name).read_bytes() == (folder / "demo" / name).read_bytes()


@pytest.mark.one_toolchain
def test_only_the_variants_of_a_new_value_are_compiled_after_an_edit(
    variants_project: Path, variants_build: tuple[Path, str], tmp_path: Path
) -> None:
    """Each job is cached on its own, and the variants are the same in any number."""
    head = (variants_project / "pyproject.toml").read_text().removesuffix(VARIANTS_TABLE)
    table = VARIANTS_TABLE.replace("[2, 4]", "[2, 4, 8]").replace("exclude", "# exclude")
    project = write_variants(tmp_path / "project", head, table)
    cache = str(variants_project.with_name("cache"))
    result = run_cuda_wheel("build", project, "-o", tmp_path / "out", CUDA_WHEEL_CACHE_DIR=cache)
    assert "14 compile jobs for 6 variants" in result.stdout
    assert "8 from the cache, 6 compiled" in result.stdout
    before, after = (read(each)[0] for each in (variants_build[0], tmp_path / "out"))
    hashes = {each.variant: each.fatbin_sha256 for each in after}
    assert len(hashes) == 6 and [hashes[each.variant] for each in before] == [each.fatbin_sha256 for each in before]


@pytest.mark.one_toolchain
@pytest.mark.slow
@pytest.mark.parametrize("backend", [each for each in BACKENDS if each != "hatchling"])
def test_every_back_end_gives_the_same_variants(
    backend: str, variants_build: tuple[Path, str], tmp_path: Path, extra: str
) -> None:
    head = pyproject_head(backend, extra)
    head += '[tool.setuptools]\npackages = ["demo"]\n' if backend == "setuptools" else SCIKIT_BUILD
    project = write_variants(tmp_path / "project", head)
    calls = (
        f"cuda_wheel_add_module(TARGET {name} SOURCES demo/{name}.cu DESTINATION demo)\n"
        for name in ("update", "plain")
    )
    (project / "CMakeLists.txt").write_text(LISTS.format(call="".join(calls)))
    result = build_wheel(project, tmp_path / "dist")
    assert result.returncode == 0, result.stdout
    (wheel,) = (tmp_path / "dist").glob("*.whl")
    built = {path.relative_to(variants_build[0]).as_posix(): path for path in variants_build[0].rglob("demo/*.fatbin*")}
    assert images(wheel) == {name: path.read_bytes() for name, path in built.items()}
    stub = variants_build[0] / "demo/__init__.pyi"
    assert contents(wheel)["demo/__init__.pyi"] == stub.read_bytes()


def test_variants_share_workers_and_have_keys_of_their_own(tmp_path: Path, toolchain: Toolchain) -> None:
    """Macros change no state of the compiler; other options keep a worker of their own."""
    write_variants(tmp_path, "")
    table = {"name": "demo.plain", "sources": ["demo/plain.cu"], "variants": {"N": [1, 2]}}
    config, module = one_module(tmp_path, table, {})
    other = replace(
        module, name="demo.other", settings=replace(module.settings, options=("--fmad=false",), variants=())
    )
    variants = [*variants_of(module), *variants_of(other)]
    plan = make_plan(config, variants, tmp_path, toolchain, lambda: [])
    first, second, third = (shared_options(each.jobs[0].options, each.jobs[0].lineinfo) for each in plan.modules)
    assert first == second != third
    jobs = [job for each in plan.modules for job in each.jobs]
    assert len({job_key(job, toolchain) for job in jobs}) == len(jobs) == 6
    assert [each.module.full_name for each in plan.modules] == ["demo.plain[N=1]", "demo.plain[N=2]", "demo.other"]
    overriding = replace(module, settings=replace(module.settings, defines=(("N", "9"), ("M", "1"))))
    assert variants_of(overriding)[0].settings.defines == (("M", "1"), ("N", "1"))


@pytest.mark.one_toolchain
@pytest.mark.slow
def test_the_commands_list_and_check_every_variant(
    variants_project: Path, cuda_wheel: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    """The wheel as a whole: coverage, SBOM, verify and inspect."""
    cache = {"CUDA_WHEEL_CACHE_DIR": str(variants_project.with_name("cache"))}
    result = build_wheel(variants_project, tmp_path / "dist", **cache)
    assert result.returncode == 0, result.stdout
    (wheel,) = (tmp_path / "dist").glob("*.whl")
    shown = cuda_wheel("inspect", wheel, COLUMNS="200").stdout
    assert "demo.update (3 variants)" in shown
    rows = [line.replace("│", " ").split()[:2] for line in shown.splitlines() if "float " in line or "double " in line]
    assert rows[:3] == [[str(value) for value in each.values()] for each in MACROS]
    assert "gemm<MATH_TYPE, NUM_MODES>(float*) (in 2 of 3 variants)" in shown
    (entry,) = (
        each for each in json.loads(cuda_wheel("inspect", "--json", wheel).stdout)["modules"] if "variants" in each
    )
    assert [each["variant"] for each in entry["variants"]] == MACROS
    sizes = json.loads(cuda_wheel("inspect", "--size", "--json", wheel).stdout)
    assert {each["target"]: each["images"] for each in sizes["targets"]} == {"sm_80": 4, "sm_90": 4, "compute_90": 4}
    explained = cuda_wheel("explain", wheel, "--device", "sm_90", "--driver", "13.0").stdout
    assert explained.count("demo.update: cubin sm_90, native") == 1
    (coverage,) = cover(manifest for found in find_modules(str(wheel)) for manifest in found.manifests)
    assert coverage.names == ("demo.plain", "demo.update")
    for options in ([], ["--rebuild", variants_project, "--no-build-isolation"]):
        checked = cuda_wheel("verify", wheel, *options)
        assert checked.returncode == 0, checked.stdout
        assert "demo.update: matches its manifest" in checked.stdout and "SBOM: matches the files" in checked.stdout


@pytest.mark.one_toolchain
def test_damage_in_any_variant_is_found(variants_build: tuple[Path, str], cuda_wheel, tmp_path: Path) -> None:
    folder, _ = variants_build
    manifests, fatbin = read(folder)
    (tmp_path / "update.fatbin.json").write_bytes((folder / "demo/update.fatbin.json").read_bytes())
    for damaged, words in (
        (bytearray(fatbin), f"{manifests[1].full_name}: cubin sm_80 differs from the manifest"),
        (fatbin + b"more", f"has {len(fatbin) + 4} bytes, not {len(fatbin)}"),
    ):
        if isinstance(damaged, bytearray):
            damaged[manifests[1].fatbin_offset + manifests[1].images[0].offset] ^= 1
        (tmp_path / "update.fatbin").write_bytes(damaged)
        result = cuda_wheel("verify", tmp_path / "update.fatbin")
        assert result.returncode == 1 and words in result.stdout, result.stdout


@pytest.mark.one_toolchain
def test_an_error_names_the_variants_that_have_it(make_project, cuda_wheel, tmp_path: Path) -> None:
    files = {"demo/k.cu": '#if N > 2\n#error too many\n#endif\nextern "C" __global__ void k(int* x) { *x = N; }\n'}
    table = '[[tool.cuda-wheel.module]]\nname = "demo.k"\narchitectures = "80-real"\nvariants = { N = [1, 2, 3, 4] }'
    result = cuda_wheel("build", make_project(table, **files), "-o", tmp_path / "out")
    assert result.returncode == 1
    assert result.stdout.count("error: #error directive: too many") == 1
    assert "in 2 modules: demo.k[N=3], demo.k[N=4]" in result.stdout


def test_compressed_variants_are_compressed_each(make_project, cuda_wheel, tmp_path: Path) -> None:
    files = {"demo/update.cu": SOURCE_OF_VARIANTS.replace('#include "scale.h"', "#define SCALE 1")}
    table = VARIANTS_TABLE.replace('include-dirs = ["include"]', 'compress = "size"')
    result = cuda_wheel("build", make_project(table, **files), "-o", tmp_path / "out")
    assert result.returncode == 0, result.stdout
    manifests, fatbin = read(tmp_path / "out")
    for each in manifests:
        assert each.compression == "zstd" and fatbin[each.fatbin_offset :].startswith(b"\x50\xed\x55\xba")
    assert cuda_wheel("verify", tmp_path / "out").returncode == 0
