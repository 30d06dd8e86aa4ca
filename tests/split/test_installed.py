"""Bases and companions that pip installs, and what the loader takes from them; the driver is a stand-in."""

from __future__ import annotations

import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.split.conftest import Environment
from tests.support.processes import run, run_cuda_wheel
from tests.support.projects import BACKENDS

pytestmark = [pytest.mark.one_toolchain, pytest.mark.slow]

Parts = Callable[..., Path]


@pytest.mark.parametrize("backend", BACKENDS)
def test_an_extra_installs_the_machine_code_that_the_loader_takes(
    parts: Parts, environment: Environment, backend: str
) -> None:
    environment.pip("install", "-f", parts(backend), "demo[sm80]")
    listed = environment.pip("list")
    assert "demo-cuda-sm80" in listed and "sm86" not in listed
    environment.pip("check")
    for loader in ("demo._cuda_wheel", "cuda_wheel"):
        lines = environment.load(capability="8.6", loader=loader)
        assert [line.split()[:2] for line in lines] == [["sm_80", "native"]] * 2
    assert environment.load("demo.other", "8.0")[0].startswith("sm_80 native")
    environment.pip("install", "-f", parts(backend), "demo[all-gpus]")
    for capability, target in (("7.5", "sm_75"), ("8.6", "sm_86"), ("8.9", "sm_86"), ("9.0", "sm_90")):
        assert environment.load(capability=capability)[0].startswith(f"{target} native")


def test_the_base_alone_compiles_ptx_and_says_once_what_to_install(parts: Parts, environment: Environment) -> None:
    environment.install(parts(), "demo")
    *loads, warning = environment.load(capability="9.0")
    assert [line.split()[:2] for line in loads] == [["compute_80", "jit"]] * 2
    assert warning.startswith("warning program.py demo 1 has no machine code for this GPU (9.0)")
    assert 'demo-cuda-sm90 has it, pip install "demo[sm90]==1"' in warning
    # A GPU for which no companion was built, and a driver that reads no companion: nothing to say.
    assert [line.split()[0] for line in environment.load(capability="12.0")] == ["compute_80"] * 2
    assert [line.split()[0] for line in environment.load(capability="9.0", driver=11080)] == ["NoImageError"] * 2


def test_without_ptx_for_the_gpu_the_error_names_the_companion(parts: Parts, environment: Environment) -> None:
    environment.install(parts(), "demo")
    line = environment.load(capability="7.5")[0]
    assert line.startswith("NoImageError demo.fill has no image for a GPU of compute capability 7.5")
    assert line.endswith('Or install demo-cuda-sm75, which has machine code: pip install "demo[sm75]==1"')
    environment.install(parts(), "demo[sm75]")
    assert environment.load(capability="7.5")[0].startswith("sm_75 native")
    assert "Or install" not in environment.load(capability="7.0")[0]


def test_a_companion_of_another_version_is_refused(parts: Parts, environment: Environment) -> None:
    environment.pip("install", "-f", parts(), "demo[sm90]")
    output = environment.pip("install", "-U", "-f", parts(version="2"), "demo")
    assert "demo-cuda-sm90 1 requires demo==1, but you have demo 2 which is incompatible" in output
    line = environment.load()[0]
    assert line.startswith("ImageError ")
    assert "demo-cuda-sm90 1 does not belong to demo 2: both must have the same version." in line
    assert line.endswith('Run pip install "demo[sm90]==2", or pip uninstall demo-cuda-sm90.')
    assert environment.load(capability="12.0")[0].startswith("compute_80 jit")
    environment.pip("install", "-f", parts(version="2"), "demo[sm90]==2")
    assert environment.load()[0].startswith("sm_90 native")
    environment.pip("uninstall", "-y", "demo-cuda-sm90")
    assert environment.load()[0].startswith("compute_80 jit")


def test_pip_installs_no_base_and_companion_of_different_versions(parts: Parts, environment: Environment) -> None:
    both = [wheel for version in "12" for wheel in parts(version=version).glob("demo*.whl")]
    folder = environment.site / "links"
    folder.mkdir()
    for wheel in both:
        shutil.copy(wheel, folder)
    output = environment.pip("install", "-f", folder, "demo[sm90]", "demo-cuda-sm80")
    assert "demo-2" in output and "demo-cuda-sm90-2" in output and "demo-cuda-sm80-2" in output


def test_a_companion_of_another_build_is_refused(parts: Parts, environment: Environment, tmp_path: Path) -> None:
    """The same version, but other code: of the setuptools build, changed."""
    environment.install(parts(), "demo[sm90]")
    folder = environment.site / "demo_cuda_sm90"
    other = folder / "demo.other.fatbin.json"
    text = other.read_text()
    assert '"options":[' in text
    (folder / "demo.fill.fatbin.json").write_text(text)
    line = environment.load()[0]
    assert line.startswith("ImageError ")
    assert "demo-cuda-sm90 was changed, or is of another build than demo 1, although it has the same version" in line
    assert 'pip install --force-reinstall --no-deps "demo==1" "demo-cuda-sm90==1"' in line
    (folder / "demo.fill.fatbin.json").unlink()
    assert "demo_cuda_sm90 in" in (line := environment.load()[0]) and "lacks demo.fill.fatbin.json" in line


@pytest.mark.parametrize("file", ["demo.fill.fatbin", "demo.fill.fatbin.json"])
def test_a_tampered_companion_is_refused(parts: Parts, environment: Environment, file: str) -> None:
    environment.install(parts(), "demo[sm90]")
    path = environment.site / "demo_cuda_sm90" / file
    content = bytearray(path.read_bytes())
    place = len(content) - 200 if file.endswith(".fatbin") else content.index(b"sm_90")
    content[place] ^= 1
    path.write_bytes(bytes(content))
    line = environment.load()[0]
    assert line.startswith("ImageError ") and ("is damaged" in line or "was changed" in line)
    assert str(path.parent) in line


def test_base_and_companion_load_from_a_zip_archive(parts: Parts, environment: Environment) -> None:
    with zipfile.ZipFile(environment.site / "all.zip", "w") as archive:
        for name in ("demo-1", "demo_cuda_sm90-1"):
            with zipfile.ZipFile(parts() / f"{name}-py3-none-any.whl") as wheel:
                for file in wheel.namelist():
                    archive.writestr(file, wheel.read(file))
    (environment.site / "all.pth").write_text(str(environment.site / "all.zip") + "\n")
    assert environment.load(loader="cuda_wheel")[0].startswith("sm_90 native")
    assert environment.load(loader="cuda_wheel", capability="8.0")[0].startswith("compute_80 jit")


def test_commands_see_what_is_installed(parts: Parts, environment: Environment) -> None:
    environment.install(parts(), "demo[sm90]")
    program = "import sys; from cuda_wheel.cli.main import main; sys.exit(main())"

    def cuda_wheel(*arguments: str) -> str:
        from tests.support.projects import ROOT

        return run(environment.python, "-c", program, *arguments, PYTHONPATH=str(ROOT)).stdout

    at_9_0 = cuda_wheel("explain", "demo", "--device", "sm_90", "--driver", "13.0")
    assert "demo.fill, demo.other: cubin sm_90, native" in at_9_0 and "is missing" not in at_9_0
    at_8_6 = cuda_wheel("explain", "demo", "--device", "sm_86", "--driver", "13.0")
    assert "ptx compute_80 (PTX" in at_8_6 and 'demo-cuda-sm86 is missing: pip install "demo[sm86]==1"' in at_8_6
    listed = cuda_wheel("inspect", "demo")
    assert "demo.fill in demo-cuda-sm90 1" in listed and "sm_80: demo-cuda-sm80" in listed
    assert "demo.fill in demo-cuda-sm90 1: matches its manifest" in cuda_wheel("verify", "demo")
    assert run_cuda_wheel("explain", environment.site, "--device", "sm_90", "--driver", "13.0").returncode == 0
