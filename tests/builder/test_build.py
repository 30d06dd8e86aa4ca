"""Builds from `.cu` to fatbin and manifest, of every fixture, checked with NVIDIA's own tools."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from cuda_wheel.builder.errors import CompileError
from cuda_wheel.builder.manifest_reader import manifest_of
from cuda_wheel.builder.releases import RELEASES
from cuda_wheel.runtime.manifest import Image, Manifest, dotted
from tests.support.nvidia_tools import listed_cubins
from tests.support.processes import run
from tests.support.projects import GOOD, KERNEL, LINKED, copy_fixture, write_files
from tests.support.wheels import images as images_of

Command = Callable[..., subprocess.CompletedProcess[str]]


def modules(folder: Path) -> list[tuple[Manifest, bytes]]:
    """Return the manifest and the fatbin of each module in a folder, which has at least one."""
    paths = sorted(folder.rglob("*.fatbin.json"))
    assert paths
    return [(manifest_of(path.read_bytes(), str(path)), path.with_suffix("").read_bytes()) for path in paths]


def images(manifest: Manifest, fatbin: bytes, kind: str) -> list[tuple[Image, bytes]]:
    """Return the images of a kind, of which there is at least one, with their bytes."""
    found = [
        (image, fatbin[image.offset : image.offset + image.size]) for image in manifest.images if image.kind == kind
    ]
    assert found
    return found


@pytest.mark.slow
@pytest.mark.parametrize("fixture", GOOD + LINKED)
def test_cuobjdump_lists_the_cubins_of_the_manifest(fixture: str, unpacked, cuobjdump) -> None:
    folder = unpacked(fixture)
    for manifest, _ in modules(folder):
        (fatbin,) = folder.rglob(manifest.fatbin)
        cubins = [str(image.target) for image in manifest.images if image.kind == "cubin"]
        assert sorted(listed_cubins(cuobjdump("-lelf", fatbin))) == sorted(cubins)
        assert cuobjdump("-lptx", fatbin).count(".ptx") == [image.kind for image in manifest.images].count("ptx")


@pytest.mark.parametrize("fixture", GOOD + LINKED)
def test_every_image_contains_the_kernels_of_the_manifest(fixture: str, unpacked, cuobjdump, tmp_path: Path) -> None:
    for manifest, fatbin in modules(unpacked(fixture)):
        assert manifest.kernels or manifest.name == "plugin_demo.kernels.waves"
        for image in manifest.images:
            content = fatbin[image.offset : image.offset + image.size]
            if image.kind == "cubin":
                path = tmp_path / "image.cubin"
                path.write_bytes(content)
                symbols = cuobjdump("-elf", path)
                for kernel in manifest.kernels:
                    assert f".text.{kernel.symbol}" in symbols
                    assert image.resources[kernel.symbol]["registers"] > 0
            elif image.kind == "ptx":
                for kernel in manifest.kernels:
                    assert f".entry {kernel.symbol}(".encode() in content


@pytest.mark.slow
@pytest.mark.parametrize("fixture", GOOD + LINKED)
@pytest.mark.parametrize("release", ["12.2", "12.8"])
def test_an_older_assembler_accepts_ptx_of_its_version(
    fixture: str, release: str, unpacked, ptxas, tmp_path: Path
) -> None:
    reads = next(known.ptx_isa for known in RELEASES if dotted(known.cuda) == release)
    for manifest, fatbin in modules(unpacked(fixture)):
        for image in manifest.images:
            if image.kind == "ptx":
                path = tmp_path / "image.ptx"
                path.write_bytes(fatbin[image.offset : image.offset + image.size])
                complaints = ptxas(release, path, image.target.arch, *(["-c"] if image.source else []))
                assert (complaints == "") == (image.ptx_version <= reads), complaints


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fixture", "kernels"),
    [
        ("saxpy", {"saxpy": [("f32", 0, 4), ("u64", 8, 8), ("u64", 16, 8), ("u32", 24, 4)]}),
        ("matmul_templates", {"matmul<float, 16>": None, "matmul<double, 8>": None}),
        ("reduce_cub", {"sum": [("u64", 0, 8), ("u64", 8, 8), ("u64", 16, 8)]}),
        ("half_precision", {"scaled_relu": [("b8", 0, 2), ("u64", 8, 8), ("u64", 16, 8), ("u32", 24, 4)]}),
        ("stencil", {"stencil::apply": None}),
        ("cooperative", {"normalise": None}),
    ],
)
def test_the_manifest_names_kernels_as_in_the_source(fixture: str, kernels, unpacked) -> None:
    ((manifest, _),) = modules(unpacked(fixture))
    assert {kernel.name for kernel in manifest.kernels} == set(kernels)
    for kernel in manifest.kernels:
        if kernels[kernel.name] is not None:
            assert [(p.type, p.offset, p.size) for p in kernel.parameters] == kernels[kernel.name]


@pytest.mark.slow
@pytest.mark.parametrize("fixture", GOOD + LINKED)
def test_no_path_of_this_machine_is_in_an_image_or_manifest(fixture: str, fixture_wheel) -> None:
    wheel = fixture_wheel(fixture)
    folder = next(each for each in wheel.parent.parent.iterdir() if (each / "pyproject.toml").exists())
    files = images_of(wheel)
    assert {name.rpartition(".")[2] for name in files} == {"fatbin", "json"}
    for name, content in files.items():
        for forbidden in (str(folder.parent), folder.name, "site-packages", str(Path.home())):
            assert forbidden.encode() not in content, (name, forbidden)


def test_line_information_names_the_sources_within_the_project(unpacked) -> None:
    ((manifest, fatbin),) = modules(unpacked("stencil"))
    assert b'"src/stencil_demo/kernels/stencil.cu"' in fatbin  # in the PTX
    for _, content in images(manifest, fatbin, "cubin"):
        assert b"stencil.cu\0" in content


def test_line_information_does_not_depend_on_when_a_file_was_changed(
    tmp_path: Path, extra: str, cuda_wheel: Command
) -> None:
    project = copy_fixture("stencil", tmp_path / "project", extra)
    fatbins = set()
    for time in (1_000_000_000, 1_700_000_000):
        for path in project.rglob("*.*"):
            os.utime(path, (time, time))
        assert cuda_wheel("build", project, "-o", tmp_path / "out").returncode == 0
        fatbins.add((tmp_path / "out/stencil_demo/kernels/stencil.fatbin").read_bytes())
    assert len(fatbins) == 1


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no name for the folder that a process is in")
@pytest.mark.parametrize("folder", ["plain", "ünï ¢ode", 'with "quotes" and \\', "link"])
def test_debug_information_does_not_depend_on_the_folder(
    folder: str, make_project, cuda_wheel: Command, tmp_path: Path
) -> None:
    project = make_project('[tool.cuda-wheel]\narchitectures = "80"\nlineinfo = true')
    place = tmp_path / folder
    if folder == "link":
        place.symlink_to(project)
    else:
        project.rename(place)
    result = cuda_wheel("build", place, "-o", tmp_path / "out")
    assert result.returncode == 0, result.stdout
    ((_, fatbin),) = modules(tmp_path / "out")
    assert b'.file 1 "demo/fill.cu"' in fatbin
    assert str(tmp_path).encode() not in fatbin


def test_a_path_of_this_machine_in_an_image_is_reported(make_project, cuda_wheel: Command, tmp_path: Path) -> None:
    source = "__device__ const char root[] = ROOT; __global__ void k(char* x) { *x = root[*x]; }"
    project = make_project(**{"demo/k.cu": source})
    with (project / "pyproject.toml").open("a") as stream:
        stream.write(f"[tool.cuda-wheel]\narchitectures = '80-real'\ndefines = {{ ROOT = '\"{project}\"' }}\n")
    result = cuda_wheel("build", project, "-o", tmp_path / "out")
    assert result.returncode == 0, result.stdout
    assert f"the image contains this folder's path ({project})" in result.stdout


def test_a_source_that_contains_the_time_of_the_build_is_reported(
    make_project, cuda_wheel: Command, tmp_path: Path
) -> None:
    project = make_project(
        '[tool.cuda-wheel]\narchitectures = "80"', **{"demo/k.cu": KERNEL + "static_assert(sizeof(__TIME__) == 9);\n"}
    )
    assert "demo/k.cu uses the time of the build" in cuda_wheel("build", project, "-o", tmp_path / "out").stdout


def test_kernels_without_linkage_have_one_symbol_in_all_images_and_builds(
    make_project, cuda_wheel: Command, tmp_path: Path
) -> None:
    source = "namespace { __global__ void scale(float* x) { *x = 1; } }\nstatic __global__ void shift(float* x) { *x = 2; }\n"
    project = make_project('[tool.cuda-wheel]\narchitectures = ["80", "90-real"]', **{"demo/k.cu": source})
    fatbins = set()
    for jobs in ("1", "2"):
        result = cuda_wheel("build", project, "-o", tmp_path / jobs, CUDA_WHEEL_JOBS=jobs)
        assert result.returncode == 0, result.stdout
        ((manifest, fatbin),) = modules(tmp_path / jobs)
        assert len(manifest.kernels) == 2
        assert "scale" in [kernel.name for kernel in manifest.kernels]
        fatbins.add(fatbin)
    assert len(fatbins) == 1


def test_one_instantiation_under_two_names_is_an_error(make_project, cuda_wheel: Command, tmp_path: Path) -> None:
    project = make_project(
        '[tool.cuda-wheel]\narchitectures = "80"\n[[tool.cuda-wheel.module]]\nname = "demo.k"\n'
        'instantiate = ["k<int>", "k<signed>"]',
        **{"demo/k.cu": "template <typename T> __global__ void k(T* x) { *x = 1; }"},
    )
    result = cuda_wheel("build", project, "-o", tmp_path / "out")
    assert result.returncode == 1
    assert "instantiate names one kernel twice, as 'k<int>' and as 'k<signed>': remove one." in result.stdout


@pytest.mark.one_toolchain
def test_python_files_in_the_project_are_never_run(make_project, tmp_path: Path) -> None:
    project = make_project(
        '[tool.cuda-wheel]\narchitectures = "80"',
        **{
            "demo/fill.cu": KERNEL,
            **dict.fromkeys(("json.py", "resource.py", "cuda/__init__.py"), "raise SystemExit('ran')\n"),
        },
    )
    program = "import sys; sys.path.insert(0, ''); from cuda_wheel.cli.main import main; import os; os.chdir(sys.argv[1]); sys.exit(main(['build', '.', '-o', sys.argv[2]]))"
    (tmp_path / "elsewhere").mkdir()
    result = run(sys.executable, "-c", program, project, tmp_path / "out", cwd=tmp_path / "elsewhere")
    assert result.returncode == 0, result.stdout


def test_the_settings_reach_the_compiler(make_project, cuda_wheel: Command, tmp_path: Path) -> None:
    source = """
        #include "value.h"
        #include <beside.h>
        static_assert(VALUE == 7 && BESIDE == 8 && BLOCK == 256 && FLAG == 1 && __cplusplus >= 202002L);
        extern "C" __global__ void k(float* x) { *x = __fdividef(1.0f, *x) / x[1]; }
        """
    project = make_project(
        """
        [tool.cuda-wheel]
        architectures = "80"
        include-dirs = ["include"]
        std = "c++20"
        defines = { BLOCK = 256, FLAG = true }
        options = ["--use_fast_math"]
        """,
        **{"demo/k.cu": source, "include/beside.h": "#define BESIDE 8\n", "demo/value.h": "#define VALUE 7\n"},
    )
    result = cuda_wheel("build", project, "-o", tmp_path / "out")
    assert result.returncode == 0, result.stdout
    ((manifest, fatbin),) = modules(tmp_path / "out")
    assert b"div.approx.ftz.f32" in fatbin
    assert manifest.options == (
        "--std=c++20",
        "--define-macro=BLOCK=256",
        "--define-macro=FLAG=1",
        "--use_fast_math",
        "--include-path=include",
    )


@pytest.mark.slow
@pytest.mark.parametrize("lineinfo", ["false", "true"])
def test_options_of_the_assembler_reach_it_with_and_without_line_information(
    lineinfo: str, make_project, cuda_wheel: Command, tmp_path: Path
) -> None:
    source = """
        __global__ void k(float* x) {
            float sums[32] = {};
            for (int i = 0; i < 1000; ++i)
                #pragma unroll
                for (int j = 0; j < 32; ++j) sums[j] += x[i * 32 + j] * sums[(j + 1) % 32];
            #pragma unroll
            for (int j = 0; j < 32; ++j) x[j] = sums[j];
        }
        """
    options = {
        "demo.none": "[]",
        "demo.two_dashes": '["--maxrregcount=32"]',
        "demo.two_words": '["-maxrregcount", "32"]',
        "demo.assembler": '["--ptxas-options=-maxrregcount=32"]',
    }
    table = f'[tool.cuda-wheel]\narchitectures = "80-real"\nlineinfo = {lineinfo}\n'
    for name, given in options.items():
        table += f'[[tool.cuda-wheel.module]]\nname = "{name}"\nsources = ["demo/k.cu"]\noptions = {given}\n'
    project = make_project(table, **{"demo/k.cu": source})
    result = cuda_wheel("build", project, "-o", tmp_path / "out")
    assert result.returncode == 0, result.stdout
    registers = {
        manifest.name: next(iter(manifest.images[0].resources.values()))["registers"]
        for manifest, _ in modules(tmp_path / "out")
    }
    assert {name: figure <= 32 for name, figure in registers.items()} == {name: name != "demo.none" for name in options}


def test_the_settings_of_a_module_override_those_of_the_project(
    make_project, cuda_wheel: Command, tmp_path: Path
) -> None:
    project = make_project(
        """
        [tool.cuda-wheel]
        architectures = "80-real"
        [[tool.cuda-wheel.module]]
        name = "demo.hopper"
        architectures = "90a-real"
        """,
        **{
            "demo/fill.cu": KERNEL,
            "demo/hopper.cu": '__global__ void k() { asm volatile("setmaxnreg.inc.sync.aligned.u32 240;"); }',
        },
    )
    result = cuda_wheel("build", project, "-o", tmp_path / "out")
    assert result.returncode == 0, result.stdout
    targets = {
        manifest.name: [str(image.target) for image in manifest.images] for manifest, _ in modules(tmp_path / "out")
    }
    assert targets == {"demo.fill": ["sm_80"], "demo.hopper": ["sm_90a"]}


def test_code_that_depends_on_its_target_is_compiled_for_each(
    make_project, cuda_wheel: Command, tmp_path: Path
) -> None:
    source = (
        'extern "C" __global__ void k(int* x) { *x = __CUDA_ARCH__ == 800 ? 8001 : __CUDA_ARCH__ == 900 ? 9001 : 1; }'
    )
    project = make_project('[tool.cuda-wheel]\narchitectures = ["80", "90"]', **{"demo/k.cu": source})
    cuda_wheel("build", project, "-o", tmp_path / "out")
    ((manifest, fatbin),) = modules(tmp_path / "out")
    for image, content in images(manifest, fatbin, "ptx"):
        assert str(image.target.major * 1000 + 1).encode() in content
    # The number is a literal in the machine code: an immediate operand of 32 bits.
    for image, content in images(manifest, fatbin, "cubin"):
        assert (image.target.major * 1000 + 1).to_bytes(4, "little") in content


def test_a_warning_is_shown_once_and_does_not_fail_the_build(make_project, cuda_wheel: Command, tmp_path: Path) -> None:
    source = "__global__ void k(int* x) { int unused = 1; *x = 2; }"
    project = make_project('[tool.cuda-wheel]\narchitectures = ["80", "90"]', **{"demo/k.cu": source})
    result = cuda_wheel("build", project, "-o", tmp_path / "out")
    assert result.returncode == 0
    warning = 'demo/k.cu:1:33: warning: variable "unused" was declared but never referenced [#177-D]'
    assert result.stdout.count(warning) == 1


def test_a_warning_of_only_some_targets_names_them(make_project, cuda_wheel: Command, tmp_path: Path) -> None:
    source = """__global__ void k(int* x) {
        int unused = 1;
        #if __CUDA_ARCH__ == 900
        int other = 1;
        #endif
        *x = 2;
    }"""
    project = make_project('[tool.cuda-wheel]\narchitectures = ["80-real", "90"]', **{"demo/k.cu": source})
    result = cuda_wheel("build", project, "-o", tmp_path / "out")
    assert result.stdout.count("warning: ") == 2
    assert result.stdout.count("only for") == 1
    assert result.stdout.index('"unused"') < result.stdout.index('"other"') < result.stdout.index("  only for sm_90")


@pytest.mark.slow
def test_warnings_can_be_errors_also_from_the_cache(make_project, cuda_wheel: Command, tmp_path: Path) -> None:
    header = "#include <cuda/std/limits>\ninline __device__ int level() { int unused = 1; return 2; }\n"
    source = '#include "level.h"\n__global__ void k(int* x) { *x = level(); }'
    files = {"demo/k.cu": source, "demo/level.h": header, "demo/good.cu": KERNEL}
    project = make_project('[tool.cuda-wheel]\narchitectures = "80"\nwarnings-as-errors = false', **files)
    assert cuda_wheel("build", project, "-o", tmp_path / "warned").returncode == 0
    path = project / "pyproject.toml"
    path.write_text(path.read_text().replace("errors = false", "errors = true"))
    for _ in range(2):
        result = cuda_wheel("build", project, "-o", tmp_path / "out")
        assert result.returncode == 1
        assert "demo/k.cu has warnings (warnings-as-errors):" in result.stdout
        assert 'demo/level.h:2:37: warning: variable "unused" was declared but never referenced' in result.stdout
        assert "good.cu" not in result.stdout
    assert "s: 2 from the cache\n" in result.stdout
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("", "demo/k.cu has no kernel: it compiles to an empty image."),
        (
            "template <typename T> __global__ void k(T* x) {}",
            "It has templates: k (line 1). Nothing launches them",
        ),
        ("__global__ void k() { undeclared(); }", 'demo/k.cu:1:23: error: identifier "undeclared" is undefined'),
        ('__global__ void k() { asm("no.such.instruction;"); }', "demo/k.cu does not compile for sm_80"),
    ],
)
def test_a_failed_build_gives_the_reason_and_writes_nothing(
    source: str, message: str, make_project, cuda_wheel: Command, tmp_path: Path
) -> None:
    project = make_project('[tool.cuda-wheel]\narchitectures = ["80"]', **{"demo/k.cu": source, "demo/good.cu": KERNEL})
    result = cuda_wheel("build", project, "-o", tmp_path / "out")
    assert result.returncode == 1
    assert message in result.stdout
    assert "Traceback" not in result.stdout
    assert not (tmp_path / "out").exists()


@pytest.mark.one_toolchain
def test_every_failed_module_is_reported(make_project, cuda_wheel: Command, tmp_path: Path) -> None:
    project = make_project("", **{"demo/a.cu": "wrong", "demo/b.cu": "wrong", "demo/c.cu": KERNEL})
    result = cuda_wheel("build", project, "-o", tmp_path / "out")
    assert [f"demo/{name}.cu does not compile" in result.stdout for name in "abc"] == [True, True, False]
    assert result.stdout.count("a.cu does not compile") == 1  # for one target


def test_the_compiler_rejects_a_wrong_name_expression(make_project, cuda_wheel: Command, tmp_path: Path) -> None:
    project = make_project(
        '[tool.cuda-wheel]\narchitectures = "80"\n[[tool.cuda-wheel.module]]\nname = "demo.fill"\ninstantiate = ["fil<3>"]'
    )
    result = cuda_wheel("build", project, "-o", tmp_path / "out")
    assert result.returncode == 1
    message = 'demo/fill.cu: error: fil<3> (instantiate) is not a kernel of this file: identifier "fil" is undefined'
    assert message in result.stdout


def test_an_option_that_nvrtc_rejects_is_an_error(make_project, cuda_wheel: Command, tmp_path: Path) -> None:
    project = make_project('[tool.cuda-wheel]\noptions = ["--no-such-option"]')
    result = cuda_wheel("build", project, "-o", tmp_path / "out")
    assert result.returncode == 1
    assert "NVRTC rejects an option" in result.stdout
    assert "--no-such-option" in result.stdout
    assert "\0" not in result.stdout


@pytest.mark.one_toolchain
@pytest.mark.parametrize("table", ["[tool.cuda_wheel]", "[cuda-wheel]", "[tool.cuda]"])
def test_a_misspelt_table_is_an_error(table: str, make_project, cuda_wheel: Command, tmp_path: Path) -> None:
    result = cuda_wheel("build", make_project(f'{table}\narchitectures = "80"'), "-o", tmp_path / "out")
    assert result.returncode == 1
    assert (
        f"pyproject.toml has a table {table}, which cuda-wheel does not read: rename it to [tool.cuda-wheel]."
        in result.stdout
    )


def test_a_toolkit_in_include_dirs_is_not_needed_and_not_used(
    make_project, cuda_wheel: Command, tmp_path: Path
) -> None:
    toolkit = tmp_path / "toolkit" / "include"
    write_files(toolkit, **{"cuda_runtime_api.h": "", "cuda_fp16.h": "#error of another release\n"})
    folders = [str(toolkit), "../toolkit/include", "/usr/local/cuda-12.4/targets/x86_64-linux/include", "own"]
    table = f'[tool.cuda-wheel]\narchitectures = "80-real"\ninclude-dirs = {json.dumps(folders)}\n'
    source = '#include <cuda_fp16.h>\n#include "cuda_runtime_api.h"\n' + KERNEL
    project = make_project(table, **{"demo/k.cu": source, "own/cuda_runtime_api.h": ""})
    result = cuda_wheel("build", project, "-o", tmp_path / "out")
    assert result.returncode == 0, result.stdout
    for folder in folders[:3]:
        assert f"include-dirs: {folder} is a folder of a CUDA toolkit. It is not needed, and not used" in result.stdout
    assert "include-dirs: own" not in result.stdout
    ((manifest, _),) = modules(tmp_path / "out")
    assert [option for option in manifest.options if "include" in option] == ["--include-path=own"]
    (project / "pyproject.toml").write_text((project / "pyproject.toml").read_text().replace('"own"', '"../toolkit"'))
    result = cuda_wheel("build", project, "-o", tmp_path / "out")
    assert "include-dirs: ../toolkit lies outside the project" in result.stdout


@pytest.mark.one_toolchain
def test_a_missing_header_is_told_before_anything_compiles(make_project, cuda_wheel: Command, tmp_path: Path) -> None:
    sources = {"demo/a.cu": '#include <cub/cub.cuh>\n#include "gone.h"\n' + KERNEL, "demo/b.cu": KERNEL}
    result = cuda_wheel("build", make_project("[tool.cuda-wheel]\n", **sources), "-o", tmp_path / "out")
    assert result.returncode == 1
    assert 'demo/a.cu:2:18: error: cannot open source file "gone.h"' in result.stdout
    assert "1 more module was not compiled: a header is missing." in result.stdout
    assert "compiled," not in result.stdout and "failed" not in result.stdout


@pytest.mark.slow
@pytest.mark.one_toolchain
def test_a_missing_toolchain_is_an_error_that_names_the_extra_to_install(
    make_project, bare_python: Path, tmp_path: Path
) -> None:
    result = run(bare_python, "-m", "cuda_wheel", "build", make_project(), "-o", tmp_path / "out", cwd=tmp_path)
    assert result.returncode == 1
    assert "Traceback" not in result.stdout
    assert 'Run pip install "cuda-wheel[cu12]" (or [cu13]), or add that to build-system.requires.' in result.stdout


def test_a_compile_error_keeps_the_source_line_and_caret(make_project, workers, toolchain) -> None:
    from cuda_wheel.builder.compile.job import compile_job
    from cuda_wheel.builder.jobs import Job

    job = Job(
        toolchain.libraries[0],
        ".",
        "pkg/k.cu",
        b"__global__ void k()\n{\n    int x = y;\n}\n",
        "80",
        True,
        True,
        (),
        toolchain.include_folders(()),
        (),
        False,
        "auto",
    )
    with pytest.raises(CompileError) as caught:
        workers.submit(compile_job, job).result()
    lines = str(caught.value).splitlines()
    assert lines[0] == 'pkg/k.cu:3:13: error: identifier "y" is undefined'
    assert lines[1].strip() == "int x = y;"
    assert lines[2].strip() == "^"


@pytest.mark.one_toolchain
def test_the_manifest_is_plain_json(unpacked) -> None:
    (path,) = unpacked("saxpy").rglob("*.fatbin.json")
    document = json.loads(path.read_text())
    assert document["format"] == 4
    assert document["module"]["sources"] == ["src/saxpy_demo/kernels/saxpy.cu"]
