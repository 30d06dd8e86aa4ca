"""Triton kernels in a build: targets, manifests, caches and errors, with the real compiler."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from cuda_wheel.builder.manifest_reader import all_manifests
from cuda_wheel.runtime.manifest import Manifest
from cuda_wheel.runtime.parts.triton.signatures import KERNEL
from tests.support.demo_projects import built, failed
from tests.support.processes import build_wheel, run, run_cuda_wheel
from tests.support.triton_project import HEAD, write_triton_project
from tests.support.wheels import contents

pytestmark = [pytest.mark.slow, pytest.mark.one_toolchain]

triton = pytest.importorskip("triton", reason="Triton is not installed")

Cases = tuple[Path, Path, str]

ONE = (
    HEAD
    + """
[tool.cuda-wheel]
architectures = ["90-real"]
[[tool.cuda-wheel.triton]]
kernel = "demo.cases:scale"
"""
)

ARGUMENTS = 'arguments = { out_ptr = "*fp32:16", x_ptr = "*fp32:16", n = "i32", factor = "fp32" }\n'


def read(folder: Path, module: str = "cases") -> tuple[Manifest, ...]:
    return all_manifests((folder / f"demo/{module}.fatbin.json").read_bytes(), "the manifest")


def test_each_variant_has_its_targets_and_what_a_launch_needs(cases: Cases) -> None:
    _, output, printed = cases
    manifests = read(output)
    assert len(manifests) == 24 and "demo.cases: 24 variants" in printed
    for manifest in manifests:
        assert [(each.kind, str(each.target)) for each in manifest.images] == [
            ("cubin", "sm_90a"),
            ("ptx", "compute_80"),
        ]
        assert manifest.toolchain["triton"] == triton.__version__
        # From Triton 3.5 on, another assembler, which may be of a later release, makes the code of newer GPUs.
        releases = [int(each.partition(".")[0]) for each in manifest.toolchain["ptxas"].split(", ")]
        assert manifest.images[0].driver == (max(releases), 0) and 12 <= min(releases) <= max(releases) <= 13
        assert manifest.sources == ("demo/cases.py",) and not manifest.options
        (kernel,) = manifest.kernels
        assert kernel.symbol == kernel.name == str(dict(manifest.variant)[KERNEL]).partition(":")[2]
        for image in manifest.images:
            assert image.resources[kernel.symbol]["threads"] == 32 * dict(manifest.variant)["num_warps"]
        hidden = [each.name for each in kernel.parameters if each.name.endswith("_scratch")]
        assert hidden in (["global_scratch"], ["global_scratch", "profile_scratch"])
    by_kernel = {str(dict(each.variant)[KERNEL]).partition(":")[2]: each for each in manifests}
    assert by_kernel["scale"].kernels[0].python == (
        ("out_ptr", "argument", None), ("x_ptr", "argument", None), ("n", "argument", None), ("factor", "argument", None),
        ("BLOCK", "constant", 256),
    )  # fmt: skip
    kinds = {name: kind for each in by_kernel.values() for name, kind, _ in each.kernels[0].python}
    assert kinds["EVEN"] == "computed" and "tuned" in {kind for _, kind, _ in by_kernel["tuned_copy"].kernels[0].python}
    assert [each.cpp for each in by_kernel["scale"].kernels[0].parameters][:4] == [
        "float*",
        "float*",
        "long long",
        "int",
    ]
    # An argument that is 1, and one that is None, are no parameters of the kernel.
    strided = [each for each in manifests if dict(each.variant)[KERNEL] == "demo.cases:strided"]
    for each in strided:
        names = [parameter.name for parameter in each.kernels[0].parameters]
        assert ("stride" in names) == (dict(each.variant)["stride"] == "i32")
        assert ("bias_ptr" in names) == (dict(each.variant)["bias_ptr"] != "None")
    assert "global_scratch" in by_kernel["transposed"].images[0].resources["transposed"]


def test_the_ptx_of_an_early_target_is_lowered_and_portable(cases: Cases) -> None:
    _, output, _ = cases
    content = (output / "demo/cases.fatbin").read_bytes()
    for manifest in read(output):
        image = manifest.images[1]
        start = manifest.fatbin_offset + (image.offset or 0)
        text = content[start : start + image.size].decode()
        assert re.search(r"^\.target sm_80$", text, re.M) and image.ptx_version is not None
        assert image.ptx_version <= (image.ptx_version_compiled or (0, 0)) and image.driver <= (12, 4)


def test_no_path_of_this_machine_is_in_the_files(cases: Cases) -> None:
    project, output, _ = cases
    for path in output.rglob("*.*"):
        content = path.read_bytes()
        for text in (str(project), str(Path(triton.__file__).parent), "/tmp/", "cases.py:"):
            assert text.encode() not in content, (path, text)


def test_the_same_sources_give_the_same_bytes_in_another_folder(tmp_path: Path) -> None:
    folders = []
    for name in ("one", "other/folder"):
        root = write_triton_project(
            tmp_path / name, kernels=(ONE + ARGUMENTS).replace('["90-real"]', '["80", "90-real"]')
        )
        assert "2 compiled" in built(root, CUDA_WHEEL_CACHE_DIR=str(tmp_path / "cache" / name))
        folders.append(root / "output/demo")
    for name in ("cases.fatbin", "cases.fatbin.json"):
        assert (folders[0] / name).read_bytes() == (folders[1] / name).read_bytes()


@pytest.mark.usefixtures("own_cache")
def test_a_change_of_an_imported_function_compiles_again(tmp_path: Path) -> None:
    root = tmp_path / "project"
    (root / "demo").mkdir(parents=True)
    (root / "demo/__init__.py").write_text("raise RuntimeError('never imported')\n")
    head = "import triton\nimport triton.language as tl\n"
    (root / "demo/parts.py").write_text(
        f"import os\n{head}\nTWO = tl.constexpr(int(os.environ.get('DEMO_TWO', '2')))\n\n"
        "@triton.jit\ndef twice(x):\n    return 2 * x * TWO\n"
    )
    (root / "demo/cases.py").write_text(
        f"import torch\n{head}from .parts import twice\n\nassert torch.cuda.is_available()\n\n"
        "@triton.jit\ndef scale(out_ptr, x_ptr):\n    tl.store(out_ptr, twice(tl.load(x_ptr)))\n"
    )
    (root / "pyproject.toml").write_text(ONE + 'arguments = { out_ptr = "*fp32:16", x_ptr = "*fp32:16" }\n')
    said = "demo/parts.py:5: warning: the module asks for DEMO_TWO: it gets none"
    first_build = built(root)
    assert "1 compiled" in first_build and said in first_build
    first = (root / "output/demo/cases.fatbin").read_bytes()
    second_build = built(root)
    assert "1 from the cache" in second_build and said in second_build
    parts = root / "demo/parts.py"
    parts.write_text(parts.read_text().replace("2 * x", "3 * x"))
    assert "1 compiled" in built(root)
    assert (root / "output/demo/cases.fatbin").read_bytes() != first


def test_the_wheel_has_the_sources_and_is_for_every_platform(cases: Cases, tmp_path: Path) -> None:
    project, output, _ = cases
    result = build_wheel(project, tmp_path)
    assert result.returncode == 0, result.stdout
    (wheel,) = tmp_path.glob("*.whl")
    files = contents(wheel)
    assert wheel.name == "demo-1-py3-none-any.whl" and "demo/cases.py" in files
    assert files["demo/cases.fatbin"] == (output / "demo/cases.fatbin").read_bytes()
    sbom = next(content for name, content in files.items() if name.endswith(".cdx.json"))
    assert f"pkg:pypi/triton@{triton.__version__}".encode() in sbom
    printed = run_cuda_wheel("inspect", wheel).stdout
    assert f"Triton {triton.__version__}" in printed and "24 variants" in printed
    for required, status in (
        ("sm_80..sm_121,!sm_87,driver>=13.0,jit", 0),
        ("sm_90,driver>=13.0,native", 0),
        ("sm_86,driver>=13.0,native", 1),  # only the PTX suits it
        ("sm_75,driver>=13.0,jit", 1),
    ):
        assert run_cuda_wheel("coverage", wheel, "--require", required).returncode == status, required


@pytest.mark.parametrize(
    ("table", "said"),
    [
        (ARGUMENTS.replace('n = "i32", ', ""), "demo.cases:scale has a parameter n, for which [[tool.cuda-wheel.triton]] has no type"),
        (ARGUMENTS.replace(" }", ", m = 3 }"), "demo.cases:scale has no parameter m, nor has Triton's compiler an option"),
        (ARGUMENTS + "options = { warps = 3 }\n", "demo.cases:scale has no parameter warps"),
        (ARGUMENTS.replace(" }", ', BLOCK = "i32" }'), "BLOCK is a constant (tl.constexpr), and 'i32' is a type"),
        (ARGUMENTS.replace('"fp32"', '"big"'), 'factor = \'big\' is not a type of Triton, such as "*fp32:16"'),
        (ARGUMENTS.replace(" }", ", BLOCK = 3 }"), "arange's range must be a power of 2"),
    ],
    ids=["lacking", "superfluous", "option", "type", "no type", "Triton's error"],
)  # fmt: skip
def test_what_does_not_fit_the_kernel_is_said(tmp_path: Path, table: str, said: str) -> None:
    root = write_triton_project(tmp_path / "project", kernels=ONE + table)
    text = failed(root)
    assert said in text and "demo/cases.py" in text, text


def test_a_kernel_that_is_missing_or_no_kernel_is_said(tmp_path: Path) -> None:
    root = write_triton_project(tmp_path / "project", kernels=(ONE + ARGUMENTS).replace("cases:scale", "cases:scales"))
    assert "demo/cases.py: error: demo.cases:scales" in failed(root)
    (root / "pyproject.toml").write_text((ONE + ARGUMENTS).replace("cases:scale", "other:scale"))
    assert "tool.cuda-wheel.triton[0].kernel: the wheel has no demo/other.py" in failed(root)
    (root / "pyproject.toml").write_text((ONE + ARGUMENTS).replace("cases:scale", "cases:tl"))
    assert "tl is not a Triton kernel" in failed(root)


def test_the_value_of_a_package_that_is_not_installed_cannot_decide(tmp_path: Path) -> None:
    root = write_triton_project(tmp_path / "project", kernels=ONE + ARGUMENTS)
    source = root / "demo/cases.py"
    source.write_text(
        "import absent_package\nWIDE = absent_package.version > 3\n"
        + source.read_text().replace("* factor", "* (factor if WIDE else 1)")
    )
    text = failed(root)
    assert "demo/cases.py:2: error: " in text
    assert "depends on absent_package.version, and the package absent_package is not installed" in text


def test_without_triton_the_message_says_what_to_require(tmp_path: Path) -> None:
    root = write_triton_project(tmp_path / "project", kernels=ONE + ARGUMENTS)
    program = (
        "import sys, cuda_wheel.builder.toolchain.triton as t\n"
        "sys.modules['triton'] = None\n"
        "try: t.find_triton()\n"
        "except Exception as error: print(type(error).__name__, error)"
    )
    result = run(sys.executable, "-c", program, cwd=root)
    assert "ToolchainError Triton, which compiles the kernels of [[tool.cuda-wheel.triton]], is not" in result.stdout
    assert "triton==" in result.stdout


@pytest.mark.usefixtures("own_cache")
def test_a_source_tree_compiles_a_variant_when_it_is_needed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, use: Callable[..., object]
) -> None:
    import cuda_wheel

    root = write_triton_project(tmp_path / "project", kernels=ONE + ARGUMENTS)
    monkeypatch.setenv("CUDA_WHEEL_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.syspath_prepend(str(root))
    monkeypatch.delitem(sys.modules, "demo", raising=False)
    use((9, 0))
    module = cuda_wheel.load("demo.cases")
    assert list(module) == ["scale"]
    assert [name for name, _, _ in module["scale"].parameters] == ["out_ptr", "x_ptr", "n", "factor", "BLOCK"]
    monkeypatch.delitem(sys.modules, "demo", raising=False)
