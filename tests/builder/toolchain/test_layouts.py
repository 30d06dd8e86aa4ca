"""Compilers and headers in different folders: what belongs to one release is taken, anything else is refused by name."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cuda_wheel.builder.toolchain.toolchain import Toolchain
from tests.support import layouts
from tests.support.layouts import HEADERS, LIBRARIES, environment, replace_in, toolchain_distributions
from tests.support.manifests import plain
from tests.support.processes import run

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="builds Linux's layouts from Linux's files")

SOURCE = """\
#include <cuda_fp16.h>
#include <mma.h>
#include <cub/block/block_reduce.cuh>
__global__ void k(__half* x, float* y)
{
    using Reduce = cub::BlockReduce<float, 128>;
    __shared__ typename Reduce::TempStorage storage;
    nvcuda::wmma::fragment<nvcuda::wmma::accumulator, 16, 16, 16, float> sum;
    nvcuda::wmma::fill_fragment(sum, __half2float(x[threadIdx.x]));
    y[threadIdx.x] = Reduce(storage).Sum(sum.x[0]);
}
"""

UNSET = dict.fromkeys(("PYTHONPATH", "CUDA_HOME", "CUDA_PATH", "CONDA_PREFIX", "LD_LIBRARY_PATH"), "")


@pytest.fixture(scope="module")
def compilers_only(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the interpreter of an environment with the compilers' packages, without those of the headers."""
    return environment(tmp_path_factory.mktemp("compilers"), toolchain_distributions(LIBRARIES))


@pytest.fixture(scope="module")
def bindings_only(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the interpreter of an environment with cuda-bindings, without compilers and headers."""
    return environment(tmp_path_factory.mktemp("bindings"))


@pytest.fixture
def parts(tmp_path: Path) -> Callable[..., dict[str, Any]]:
    """Return a function that returns what `cuda-wheel doctor` finds, the parts of the toolchain by name."""

    def examine(python: Path, **environ: object) -> dict[str, Any]:
        variables = UNSET | {name: str(value) for name, value in environ.items()}
        result = run(python, "-m", "cuda_wheel", "doctor", "--json", cwd=tmp_path, **variables)
        assert result.returncode == 0, result.stdout
        found = json.loads(result.stdout[result.stdout.index("{") :])["toolchain"]
        return found | {"parts": {part["name"]: part for part in found["parts"]}}

    return examine


@pytest.fixture
def build(
    make_project: Callable[..., Path], tmp_path: Path
) -> Callable[..., tuple[str, dict[str, Any], dict[str, Any]]]:
    """Return a function that builds a project with an interpreter and returns the output, the manifest and the trace."""

    def build(python: Path, **environ: object) -> tuple[str, dict[str, Any], dict[str, Any]]:
        project = make_project('[tool.cuda-wheel]\narchitectures = ["80-real"]', **{"demo/k.cu": SOURCE})
        output, trace = tmp_path / "out", tmp_path / "trace.json"
        variables = UNSET | {name: str(value) for name, value in environ.items()}
        command = ("-m", "cuda_wheel", "build", project, "-o", output, "--timings", trace)
        result = run(python, *command, cwd=tmp_path, **variables)
        assert result.returncode == 0, result.stdout
        (manifest,) = output.rglob("*.fatbin.json")
        return result.stdout, plain(manifest.read_text()), json.loads(trace.read_text())["otherData"]

    return build


def release_of(toolchain: Toolchain) -> str:
    return ".".join(toolchain.nvrtc.split(".")[:2])


def header_versions(toolchain: Toolchain) -> dict[str, str]:
    """Return what a manifest says of the headers that SOURCE includes."""
    versions = {each.name: each.release for each in toolchain.headers}
    return {"cccl": versions["cccl"], "headers": versions["cudart"]}


# --- what belongs together is taken -------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.one_toolchain
def test_a_toolchain_in_one_folder_is_told_in_the_trace_and_the_manifest(
    toolchain: Toolchain, tmp_path: Path, build
) -> None:
    output, manifest, trace = build(environment(tmp_path / "venv", toolchain_distributions()))
    assert "several places" not in output
    assert manifest["toolchain"].items() >= header_versions(toolchain).items()
    assert str(tmp_path) not in json.dumps(manifest)
    assert trace.keys() >= {f"nvrtc {toolchain.nvrtc}", f"CCCL {header_versions(toolchain)['cccl']}"}
    assert all(path.startswith(str(tmp_path / "venv")) for path in trace.values())


@pytest.mark.slow
def test_headers_that_pip_installed_in_a_target_folder_are_taken_by_pythonpath(
    compilers_only: Path, toolchain: Toolchain, tmp_path: Path, build, parts
) -> None:
    target = tmp_path / "target"
    packages = toolchain_distributions(("cuda_runtime", "cuda_cccl"))
    named = [f"{each.metadata['Name']}=={each.version}" for each in packages]
    result = run(sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", target, *named)
    assert result.returncode == 0, result.stdout
    layouts.install(target, toolchain_distributions(("cuda_crt", "cuda_nvcc")))
    found = parts(compilers_only, PYTHONPATH=target)["parts"]
    assert {found[name]["found_via"] for name in ("cuda/std/version", "cuda_fp16.h", "crt/host_defines.h")} == {
        "PYTHONPATH"
    }
    assert found["nvrtc"]["found_via"] == "site-packages"
    output, manifest, _ = build(compilers_only, PYTHONPATH=target)
    assert "cuda-wheel: the toolchain is in several places:" in output
    assert re.search(rf"headers of CUDA {release_of(toolchain)}: {re.escape(str(target))}/\S+ \(PYTHONPATH\)", output)
    assert manifest["toolchain"].items() >= header_versions(toolchain).items()
    assert str(tmp_path) not in json.dumps(manifest)


@pytest.mark.slow
def test_a_whole_toolchain_is_taken_from_pythonpath(
    bindings_only: Path, toolchain: Toolchain, tmp_path: Path, build
) -> None:
    target = layouts.install(tmp_path / "target", toolchain_distributions())
    output, manifest, trace = build(bindings_only, PYTHONPATH=target)
    assert "several places" not in output
    assert manifest["toolchain"]["nvrtc"] == toolchain.nvrtc
    assert all(path.startswith(str(target)) for path in trace.values())


@pytest.mark.slow
@pytest.mark.parametrize("above", [(), LIBRARIES, HEADERS])
def test_a_virtual_environment_over_one_that_has_the_toolchain(
    above: tuple[str, ...], toolchain: Toolchain, tmp_path: Path, parts
) -> None:
    """The environment itself has nothing, the compilers or the headers; the one below has the rest."""
    upper = toolchain_distributions(above) if above else []
    base = layouts.base_python(tmp_path / "base", [each for each in toolchain_distributions() if each not in upper])
    python = layouts.over(base, tmp_path / "venv", upper)
    found = parts(python)
    assert "error" not in found
    in_venv = {name for name, part in found["parts"].items() if str(part["path"]).startswith(str(tmp_path / "venv"))}
    compilers, headers = {"nvrtc", "nvJitLink", "nvfatbin"}, {"cuda/std/version", "cuda_fp16.h", "crt/host_defines.h"}
    expected = {(): set(), LIBRARIES: compilers, HEADERS: headers}[above]
    assert in_venv & (compilers | headers) == expected


@pytest.mark.parametrize("other", ["nvidia/cu13/lib/libnvrtc.so.13", "nvidia/cuda_nvrtc/lib/libnvrtc.so.12"])
def test_libraries_of_another_major_version_in_the_environment_below_do_not_matter(
    other: str, toolchain: Toolchain, tmp_path: Path, parts
) -> None:
    base = layouts.base_python(tmp_path / "base")
    (foreign,) = (tmp_path / "base/lib").glob("python*/site-packages")
    (foreign / other).parent.mkdir(parents=True)
    (foreign / other).write_bytes(b"of another major version")
    if ("cu13" in other) == toolchain.nvrtc.startswith("13."):
        pytest.skip("that is this toolchain's own layout")
    found = parts(layouts.over(base, tmp_path / "venv", toolchain_distributions()))
    assert found.get("nvrtc") == toolchain.nvrtc, found


@pytest.mark.slow
@pytest.mark.parametrize("variable", ["CUDA_HOME", "CUDA_PATH"])
def test_headers_of_a_toolkit_are_taken(
    variable: str, compilers_only: Path, toolchain: Toolchain, tmp_path: Path, build, parts
) -> None:
    root = layouts.toolkit(tmp_path / "cuda", toolchain, with_libraries=False)
    found = parts(compilers_only, **{variable: root})["parts"]
    assert [found[name]["found_via"] for name in ("cuda/std/version", "cuda_fp16.h", "crt/host_defines.h")] == [
        variable
    ] * 3
    output, manifest, _ = build(compilers_only, **{variable: root})
    assert f"({variable})" in output
    assert manifest["toolchain"].items() >= header_versions(toolchain).items()


@pytest.mark.slow
def test_a_whole_toolkit_is_taken(bindings_only: Path, toolchain: Toolchain, tmp_path: Path, build) -> None:
    root = layouts.toolkit(tmp_path / "cuda", toolchain)
    _, manifest, trace = build(bindings_only, CUDA_HOME=root, LD_LIBRARY_PATH=root / "lib64")
    assert manifest["toolchain"]["nvrtc"] == toolchain.nvrtc
    assert all(path.startswith(str(root)) for path in trace.values())


def test_a_whole_toolkit_is_taken_without_the_loaders_path(
    bindings_only: Path, toolchain: Toolchain, tmp_path: Path, parts
) -> None:
    root = layouts.toolkit(tmp_path / "cuda", toolchain)
    found = parts(bindings_only, CUDA_HOME=root)
    assert found.get("nvrtc") == toolchain.nvrtc, found
    assert found["parts"]["nvrtc"]["path"].startswith(str(root))


def test_the_headers_beside_nvrtc_come_before_those_of_packages_of_another_release(
    toolchain: Toolchain, tmp_path: Path, parts
) -> None:
    root = layouts.toolkit(tmp_path / "cuda", toolchain)
    python = environment(tmp_path / "venv", toolchain_distributions(("cuda_runtime",)))
    of_another_release(layouts.site_packages(tmp_path / "venv"), toolchain)
    found = parts(python, LD_LIBRARY_PATH=root / "lib64")
    assert "error" not in found
    assert found["parts"]["cuda_fp16.h"]["path"].startswith(str(root))


def test_a_conda_environment_is_taken(bindings_only: Path, toolchain: Toolchain, tmp_path: Path, build) -> None:
    prefix = layouts.conda(tmp_path / "conda", toolchain)
    _, manifest, trace = build(bindings_only, CONDA_PREFIX=prefix)
    assert manifest["toolchain"]["nvrtc"] == toolchain.nvrtc
    assert all(path.startswith(str(prefix)) for path in trace.values())


def test_a_conda_environment_with_headers_for_two_processors(
    compilers_only: Path, toolchain: Toolchain, tmp_path: Path, parts
) -> None:
    """Conda installs the other one for cross-compilation."""
    prefix = layouts.conda(tmp_path / "conda", toolchain, with_libraries=False)
    (prefix / "targets/sbsa-linux/include").mkdir(parents=True)
    found = parts(compilers_only, CONDA_PREFIX=prefix)
    assert "error" not in found
    assert found["parts"]["cuda_fp16.h"]["path"] == str(prefix / "targets/x86_64-linux/include")


# --- anything else is refused -------------------------------------------------------------------------


def of_another_release(root: Path, toolchain: Toolchain, macros: tuple[str, ...] = ("CUDA_VERSION", "CUDART_VERSION")):
    """Change the version macros of CUDA's headers below a folder to those of another minor release."""
    major, minor = map(int, release_of(toolchain).split("."))
    files = {"CUDA_VERSION": "cuda.h", "CUDART_VERSION": "cuda_runtime_api.h"}
    for macro in macros:
        (path,) = {each.resolve() for each in root.rglob(files[macro])}
        (line,) = re.findall(rf"#define {macro} +{major * 1000 + minor * 10}\b", path.read_text())
        replace_in(path, line, f"#define {macro} {major * 1000 + (minor - 1) * 10}")
    return f"{major}.{minor - 1}"


def test_headers_of_another_release_are_refused_with_files_and_versions(
    compilers_only: Path, toolchain: Toolchain, tmp_path: Path, parts
) -> None:
    root = layouts.toolkit(tmp_path / "cuda", toolchain, with_libraries=False)
    other = of_another_release(root, toolchain)
    found = parts(compilers_only, CUDA_HOME=root)
    nvrtc, include = found["parts"]["nvrtc"]["path"], root / "include"
    assert f"NVRTC {release_of(toolchain)} ({nvrtc}) needs " in found["error"]
    assert f"cuda_fp16.h is of CUDA {other}, says {include}/cuda_runtime_api.h" in found["error"]
    assert "cuda-wheel[cu" in found["error"]
    assert "not of NVRTC's release" in found["parts"]["cuda_fp16.h"]["found_via"]


def test_macros_that_contradict_each_other_name_no_release(
    compilers_only: Path, toolchain: Toolchain, tmp_path: Path, parts
) -> None:
    root = layouts.toolkit(tmp_path / "cuda", toolchain, with_libraries=False)
    of_another_release(root, toolchain, ("CUDA_VERSION",))
    assert "cuda_fp16.h is of unknown release" in parts(compilers_only, CUDA_HOME=root)["error"]


def test_headers_without_a_version_are_refused(
    compilers_only: Path, toolchain: Toolchain, tmp_path: Path, parts
) -> None:
    root = layouts.toolkit(tmp_path / "cuda", toolchain, with_libraries=False)
    (root / "include/cuda.h").unlink()
    (root / "include/cuda_runtime_api.h").unlink()
    assert "cuda_fp16.h is of unknown release" in parts(compilers_only, CUDA_HOME=root)["error"]


def test_a_cccl_older_than_the_toolkit_is_refused(
    compilers_only: Path, toolchain: Toolchain, tmp_path: Path, parts
) -> None:
    root = layouts.toolkit(tmp_path / "cuda", toolchain, with_libraries=False)
    (version,) = {path.resolve() for path in root.rglob("cuda/std/__cccl/version.h")}
    (number,) = re.findall(r"#define CCCL_VERSION (\d+)", version.read_text())
    replace_in(version, f"#define CCCL_VERSION {number}", "#define CCCL_VERSION 2003001")
    error = parts(compilers_only, CUDA_HOME=root)["error"]
    needed = "2.8" if toolchain.nvrtc.startswith("12.9") else f"3.{toolchain.nvrtc.split('.')[1]}"
    assert f"needs cuda/std/version of CCCL {needed} or newer" in error
    assert re.search(r"cuda/std/version is of CCCL 2\.3\.1, says \S+/__cccl/version\.h", error)


@pytest.mark.parametrize("kind", ["conda", "toolkit", "package"])
def test_the_compilers_own_headers_of_another_release_are_refused(
    kind: str, compilers_only: Path, toolchain: Toolchain, tmp_path: Path, parts
) -> None:
    """They have no version macro: what installed them says their release."""
    if kind == "package":
        packages = toolchain_distributions(("cuda_runtime", "cuda_cccl", "cuda_crt", "cuda_nvcc"))
        target = layouts.install(tmp_path / "target", packages)
        (named,) = [*target.glob("nvidia_cuda_crt-*"), *target.glob("nvidia_cuda_nvcc_cu12-*")]
        source = named.rename(named.with_name(re.sub(r"-[\d.]+\.dist", "-11.8.89.dist", named.name))) / "RECORD"
        variables = {"PYTHONPATH": target}
    elif kind == "conda":
        prefix = layouts.conda(tmp_path / "conda", toolchain, with_libraries=False)
        (named,) = (prefix / "conda-meta").iterdir()
        source = named.rename(named.with_name("cuda-crt-dev_linux-64-11.8.89-ha770c72_2.json"))
        variables = {"CONDA_PREFIX": prefix}
    else:
        root = layouts.toolkit(tmp_path / "cuda", toolchain, with_libraries=False)
        source = root / "version.json"
        source.write_text(json.dumps({"cuda": {"version": "11.8"}, "cuda_nvcc": {"name": "n", "version": "11.8.89"}}))
        variables = {"CUDA_PATH": root}
    assert f"crt/host_defines.h is of CUDA 11.8, says {source}" in parts(compilers_only, **variables)["error"]


def test_of_is_spread_out_the_first_that_fits_is_taken(
    compilers_only: Path, toolchain: Toolchain, tmp_path: Path, parts
) -> None:
    wrong = layouts.conda(tmp_path / "conda", toolchain, with_libraries=False)
    of_another_release(wrong, toolchain)
    right = layouts.toolkit(tmp_path / "cuda", toolchain, with_libraries=False)
    found = parts(compilers_only, CONDA_PREFIX=wrong, CUDA_HOME=right)
    assert "error" not in found
    assert found["parts"]["cuda_fp16.h"]["path"].startswith(str(right))


# --- the remembered toolchain -------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.one_toolchain
def test_headers_that_change_in_place_are_noticed(
    compilers_only: Path, toolchain: Toolchain, tmp_path: Path, build
) -> None:
    root = layouts.toolkit(tmp_path / "cuda", toolchain, with_libraries=False)
    build(compilers_only, CUDA_HOME=root)
    of_another_release(root, toolchain)
    with pytest.raises(AssertionError, match=r"says .*cuda_runtime_api\.h"):
        build(compilers_only, CUDA_HOME=root)


# --- packages that only some projects need ------------------------------------------------------------


def curand(folder: Path, name: str, below: str) -> Path:
    """Install a package of cuRAND with one header, which stands for the real one's."""
    header = f"{below}/curand_kernel.h"
    (folder / below).mkdir(parents=True, exist_ok=True)
    (folder / header).write_text("// cuRAND\n")
    (folder / f"{name}-10.3.10.19.dist-info").mkdir()
    (folder / f"{name}-10.3.10.19.dist-info/RECORD").write_text(f"{header},,\n")
    return folder


def test_curands_headers_are_found_if_they_are_installed(
    compilers_only: Path, toolchain: Toolchain, tmp_path: Path
) -> None:
    major = toolchain.nvrtc.partition(".")[0]
    name, below = {
        "12": ("nvidia_curand_cu12", "nvidia/curand/include"),
        "13": ("nvidia_curand", "nvidia/cu13/include"),
    }[major]
    target = layouts.install(tmp_path / "target", toolchain_distributions(HEADERS))
    script = (
        "from cuda_wheel.builder.toolchain.find import find_toolchain; from cuda_wheel.builder.workers.pool import *\n"
    )
    script += "with Workers(60, None, 1) as w: print(*w.submit(find_toolchain, None).result().headers, sep='\\n')"
    for present in (False, True):
        result = run(compilers_only, "-c", script, **UNSET | {"PYTHONPATH": str(target)})
        assert ("name='curand'" in result.stdout) == present, result.stdout
        assert "name='crt'" in result.stdout, result.stdout
        if not present:
            curand(target, name, below)
    assert f"release='{major}', folder='{target}/{below}'" in result.stdout


def test_curands_headers_for_another_major_version_are_left_out(
    compilers_only: Path, toolchain: Toolchain, tmp_path: Path
) -> None:
    target = layouts.install(tmp_path / "target", toolchain_distributions(HEADERS))
    curand(target, "nvidia_curand_cu11", "nvidia/curand/include")
    script = (
        "from cuda_wheel.builder.toolchain.find import find_toolchain; from cuda_wheel.builder.workers.pool import *\n"
    )
    script += "with Workers(60, None, 1) as w: print(*w.submit(find_toolchain, None).result().headers, sep='\\n')"
    result = run(compilers_only, "-c", script, **UNSET | {"PYTHONPATH": str(target)})
    assert "name='crt'" in result.stdout and "name='curand'" not in result.stdout
