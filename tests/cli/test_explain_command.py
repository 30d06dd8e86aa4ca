"""`cuda-wheel explain`: which image is chosen, why the others are not, and the exit status."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from cuda_wheel.cli.main import main
from tests.support.projects import KERNEL

pytestmark = pytest.mark.one_toolchain

Command = Callable[..., subprocess.CompletedProcess[str]]


@pytest.mark.parametrize(
    ("device", "driver", "said"),
    [
        ("RTX 4090", "12.2", "'RTX 4090' is not a GPU such as sm_86 or 8.6 (RTX 4090 is sm_89)"),
        ("a100", "12.2", "(A100 is sm_80)"),
        ("89", "12.2", "(89 is sm_89)"),
        ("GTX 480", "12.2", "is not a GPU such as sm_86 or 8.6\n"),
        ("sm_89", "535", "'535' is a driver's own version: give the CUDA version that it supports (drivers from 535"),
        ("sm_89", "R581.42", "(drivers from 580 on are for CUDA 13.0)"),
    ],
)
def test_names_of_gpus_and_versions_of_drivers_are_told_in_cudas(
    device: str, driver: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["explain", "demo.whl", "--device", device, "--driver", driver])
    assert stopped.value.code == 2
    assert said in " ".join(capsys.readouterr().err.split(" ")).replace("\n ", " ")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("device", "driver", "how", "target"),
    [
        ("sm_80", "13.0", "native", "sm_80"),
        ("8.6", "13.0", "native", "sm_80"),
        ("sm_90", "13.0", "native", "sm_90"),
        ("sm_100", "13.0", "jit", "compute_80"),
        ("sm_70", "13.0", None, None),
        ("sm_100", "10.2", None, None),
    ],
)
def test_explain_names_the_image_and_the_reasons(
    fixture_wheel, cuda_wheel: Command, device: str, driver: str, how: str | None, target: str | None
) -> None:
    wheel = fixture_wheel("reduce_cub")
    result = cuda_wheel("explain", wheel, "--device", device, "--driver", driver, "--json")
    (module,) = json.loads(result.stdout)["modules"]
    assert result.returncode == (1 if how is None else 0)
    assert module["name"] == "reduce_demo.kernels.reduce"
    assert module["how"] == how
    assert (module["image"] and module["image"]["target"]) == target
    assert len(module["rejected"]) == (4 if how is None else 3)
    assert all(item["reason"] and item["image"]["sha256"] for item in module["rejected"])
    plain = cuda_wheel("explain", wheel, "--device", device, "--driver", driver)
    assert plain.returncode == result.returncode
    assert (f"{target}" if how else "no image fits") in plain.stdout


@pytest.mark.slow
def test_explain_uses_nvjitlink_if_it_is_given(fixture_wheel, cuda_wheel: Command) -> None:
    arguments = ("explain", fixture_wheel("reduce_cub"), "--device", "sm_100", "--driver", "10.2", "--json")
    assert json.loads(cuda_wheel(*arguments).stdout)["modules"][0]["image"] is None
    result = cuda_wheel(*arguments, "--nvjitlink", "10.2")
    assert json.loads(result.stdout)["modules"][0]["how"] is None  # nvJitLink 10.2 reads only PTX up to 6.5
    result = cuda_wheel("explain", *arguments[1:3], "sm_100", "--driver", "12.0", "--nvjitlink", "12.9")
    assert "jit" in result.stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    ("device", "driver", "status", "text"),
    [
        ("8.7", "13.0", 1, "cubin sm_80, native, not known to run: it is machine code for 8.0, the GPU is 8.7"),
        ("8.9", "13.0", 0, "cubin sm_80, native\n"),
        ("12.0", "12.6", 1, "the driver does not support this GPU: drivers for CUDA 12.8 and later do\n"),
        ("7.0", "13.1", 1, "the driver does not support this GPU: drivers for CUDA 9.0 to 13.0 do\n"),
        ("8.8", "13.0", 0, "cubin sm_80, native\n"),  # a GPU that is not in the table
    ],
)
def test_explain_never_promises_what_is_not_known(
    device: str, driver: str, status: int, text: str, make_project, cuda_wheel: Command, tmp_path: Path
) -> None:
    project = make_project('[tool.cuda-wheel]\narchitectures = ["75-real", "80-real", "120"]')
    assert cuda_wheel("build", project, "-o", tmp_path / "out").returncode == 0
    arguments = ("explain", tmp_path / "out", "--device", device, "--driver", driver)
    result, in_json = cuda_wheel(*arguments), cuda_wheel(*arguments, "--json")
    assert (result.returncode, in_json.returncode) == (status, status)
    assert text in result.stdout
    document = json.loads(in_json.stdout)
    (module,) = document["modules"]
    assert (document["unsupported"] is not None) == ("does not support" in text)
    assert (module["doubt"] is not None) == ("not known" in text)


def test_explain_says_once_what_several_modules_and_images_have_in_common(
    make_project, cuda_wheel: Command, tmp_path: Path
) -> None:
    table = '[tool.cuda-wheel]\narchitectures = ["75-real", "80-real", "90", "100-real"]\n'
    table += '[[tool.cuda-wheel.module]]\nname = "demo.other"\narchitectures = ["80-real"]\n'
    project = make_project(table, **{f"demo/{name}.cu": KERNEL for name in ("one", "other", "two")})
    assert cuda_wheel("build", project, "-o", tmp_path / "out").returncode == 0
    result = cuda_wheel("explain", tmp_path / "out", "--device", "sm_75", "--driver", "12.2")
    assert result.stdout.splitlines()[1:] == [
        "demo.one, demo.two: cubin sm_75, native",
        "  not cubin sm_80, sm_90, sm_100: are machine code for 8.x, 9.x, 10.x, the GPU is 7.5",
        "  not ptx compute_90 (PTX 7.8): needs compute capability 9.0 or later",
        "demo.other: no image fits",
        "  not cubin sm_80: is machine code for 8.x, the GPU is 7.5",
    ]


@pytest.mark.slow
def test_explain_knows_the_compression(make_project, cuda_wheel: Command, tmp_path: Path) -> None:
    for compress, status in (("size", 1), ("speed", 0)):
        project = make_project(f'[tool.cuda-wheel]\ncompress = "{compress}"\narchitectures = ["80-real", "75-virtual"]')
        assert cuda_wheel("build", project, "-o", tmp_path / compress).returncode == 0
        result = cuda_wheel("explain", tmp_path / compress, "--device", "8.6", "--driver", "12.2")
        assert result.returncode == (status or "not known" in result.stdout)
        assert (
            "the fatbin is compressed with zstd; drivers before CUDA 12.4 do not read it" in result.stdout
        ) == status
        assert (
            "no image fits"
            not in cuda_wheel("explain", tmp_path / compress, "--device", "8.6", "--driver", "12.4").stdout
        )


def test_explain_without_a_gpu_says_so(fixture_wheel, cuda_wheel: Command) -> None:
    result = cuda_wheel("explain", fixture_wheel("saxpy"), CUDA_VISIBLE_DEVICES="")
    assert result.returncode == 1
    assert result.stdout.startswith("cuda-wheel: ")
    assert "driver is installed" in result.stdout


@pytest.mark.slow
def test_a_module_to_be_linked_is_marked(fixture_wheel, cuda_wheel: Command) -> None:
    explained = cuda_wheel("explain", fixture_wheel("plugin"), "--device", "sm_90", "--driver", "13.0")
    assert explained.returncode == 0
    assert (
        "plugin_demo.kernels.waves: ptx compute_90 (PTX 7.8), jit, to be linked: load(..., link=[...])"
        in explained.stdout
    )


@pytest.mark.parametrize("shape", ["variants"], indirect=True)
def test_variants_with_the_same_answer_are_named_once(wheel: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", str(wheel), "--device", "sm_80", "--driver", "12.6"]) == 0
    assert capsys.readouterr().out.splitlines()[1] == "demo.update: cubin sm_80, native"
