"""Tensor descriptors as arguments of Triton kernels: settings, what a build records, and what a launch passes.

tests/gpu/test_triton_descriptors.py has the results.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import cuda_wheel
from cuda_wheel.builder.config.settings import Config
from cuda_wheel.builder.errors import ConfigError
from cuda_wheel.builder.manifest_reader import all_manifests
from cuda_wheel.runtime.errors import ArgumentError
from tests.runtime.conftest import pytorch
from tests.runtime.parts.test_tensor_maps import CONTENT, array, driver
from tests.support.array_libraries import torch_tensor
from tests.support.driver import Driver
from tests.support.loaded_modules import forget_package
from tests.support.processes import build_wheel, run, run_cuda_wheel
from tests.support.triton_project import HEAD, write_triton_project

pytestmark = [pytest.mark.slow, pytest.mark.one_toolchain]

pytest.importorskip("triton", reason="Triton is not installed")

__all__ = ["driver", "pytorch"]

TABLES = """
[[tool.cuda-wheel.triton]]
name = "demo.NAME"
kernel = "demo.cases:copied_tiles"
architectures = ["ARCH-real"]
arguments = { out = "tensordesc<fp16[ROWS, 64]>", x = "tensordesc<fp16[16,64]>", rows = "i32", ROWS = 16, COLUMNS = 64 }
[[tool.cuda-wheel.triton]]
name = "demo.NAME"
kernel = "demo.cases:copied_line"
architectures = ["ARCH-real"]
arguments = { out_ptr = "*fp32:16", x = "tensordesc<fp32[SIZE]>", SIZE = 128 }
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the modules demo.maps for 9.0 and demo.pointers for 8.0; return the project's folder."""
    root = tmp_path_factory.mktemp("descriptors") / "project"
    tables = (TABLES.replace("NAME", name).replace("ARCH", arch) for name, arch in (("maps", "90"), ("pointers", "80")))
    write_triton_project(root, kernels=HEAD + '[tool.cuda-wheel]\nloader = "vendor"\n' + "".join(tables))
    result = run_cuda_wheel("build", "-o", root.parent / "output", root)
    assert result.returncode == 0, result.stdout
    return root


@pytest.fixture
def site(project: Path, pytorch: object, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.syspath_prepend(str(project.parent / "output"))
    forget_package("demo")
    yield
    forget_package("demo")


def tensor(dtype: str, shape: tuple[int, ...], strides: tuple[int, ...], address: int = 0x1000) -> Any:
    made = torch_tensor(address, dtype)
    made.shape, made.stride, made.element_size = shape, lambda: strides, lambda: 2 if dtype.endswith("16") else 4
    return made


def described(value: Any, block: list[int], **more: Any) -> Any:
    return cuda_wheel.TensorDescriptor.from_tensor(value, block, **more)


# --- the settings -------------------------------------------------------------------------------------


def variants(**arguments: Any) -> list[dict[str, Any]]:
    table = {"kernel": "demo.ops:f", "arguments": arguments}
    (settings,) = Config.from_table({"triton": [table]}).triton
    return [dict(each) for each in settings.variants("tool.cuda-wheel.triton[0]")]


def test_sizes_may_be_names_of_constants() -> None:
    found = variants(x="tensordesc< fp16 [M,64] >", y="tensordesc<i8[32]>", M=[16, 32])
    assert [(each["x"], each["y"]) for each in found] == [
        ("tensordesc<fp16[16, 64]>", "tensordesc<i8[32]>"),
        ("tensordesc<fp16[32, 64]>", "tensordesc<i8[32]>"),
    ]


@pytest.mark.parametrize(
    ("type_", "said"),
    [
        ("tensordesc<fp16>", "'tensordesc<fp16>' is not a type of Triton: a tensor descriptor is"),
        ("tensordesc<half[16, 64]>", "is not a type of Triton"),
        ("tensordesc<fp16[1, 2, 3, 4, 5, 6]>", "is not a type of Triton"),
        ("tensordesc<fp16[16, K]>", "has a tensor descriptor with the size K, which is not a whole number"),
        ("tensordesc<fp16[M, 16]>", "the size M, which is not a whole number"),
    ],
)
def test_wrong_descriptors_are_said(type_: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said.replace("[", r"\[")):
        variants(x=type_, M="relu")


# --- a build ------------------------------------------------------------------------------------------


def test_the_manifest_has_the_parameters_and_each_tensor_map(project: Path) -> None:
    def read(name: str) -> Any:
        text = (project.parent / f"output/demo/{name}.fatbin.json").read_bytes()
        return {each.kernels[0].name: each for each in all_manifests(text, name)}

    for name, first in (("maps", "CUtensorMap"), ("pointers", "__half*")):
        manifest = read(name)["copied_tiles"]
        (kernel,) = manifest.kernels
        types = [each.cpp for each in kernel.parameters if not each.name.endswith("_scratch")]
        flags = types[5:].index("int") if name == "pointers" else 0
        shape = ["int", "int", "long long", "long long"]
        between = ["long long"] * 4 + ["bool"] * flags if name == "pointers" else []
        assert types == [first, *between, *shape] * 2 + ["int"]
    figures = read("maps")["copied_tiles"].images[0].resources["copied_tiles"]
    expected = {
        f"descriptor{at}_{what}": figure
        for at in (0, 1)
        for what, figure in (("box0", 16), ("box1", 64), ("swizzle", 128))
    }
    assert expected.items() <= figures.items()
    assert [each.name for each in read("maps")["copied_line"].kernels[0].parameters][:4] == [
        "out_ptr",
        "x",
        "x_shape0",
        "x_stride0",
    ]
    assert not [
        each for each in read("pointers")["copied_tiles"].images[0].resources["copied_tiles"] if "descriptor" in each
    ]


def test_targets_before_and_after_9_0_are_refused(tmp_path: Path) -> None:
    tables = TABLES.replace("NAME", "maps").replace('"ARCH-real"', '"80", "90"')
    root = write_triton_project(tmp_path / "project", kernels=HEAD + tables)
    result = run_cuda_wheel("build", "-o", root / "output", root)
    text = " ".join(result.stdout.split())
    assert result.returncode == 1 and "architectures has sm_80, compute_80 and sm_90a, and demo.cases:copied_" in text
    assert 'such as ["90-real", "100-real"]' in text


def test_a_vendored_loader_has_what_descriptors_need(project: Path, tmp_path: Path) -> None:
    result = build_wheel(project, tmp_path)
    assert result.returncode == 0, result.stdout
    (wheel,) = tmp_path.glob("*.whl")
    shutil.unpack_archive(wheel, tmp_path / "installed", "zip")
    program = "import demo._cuda_wheel as c; c.TensorDescriptor; c.tensor_map; print(*c.load('demo.maps'))"
    result = run(sys.executable, "-c", program, cwd=tmp_path / "installed")
    assert result.stdout.split() == ["copied_tiles", "copied_line"], result.stdout


# --- a launch -----------------------------------------------------------------------------------------


def expanded(kernel: Any, *args: Any) -> list[Any]:
    """Return the values of the compiled kernel's parameters for a launch."""
    values, options = kernel._values(args, {})
    prepared = kernel._prepare(values, options)
    return prepared.descriptors.expanded([values[at] for at in prepared.places])  # type: ignore[no-any-return]


def module_parameters(kernel: Any) -> Any:
    """Return the parameters of the compiled kernel of the only variant."""
    (variant,) = kernel.variants
    (found,) = cuda_wheel.load("demo.pointers", **variant).values()
    return found.info.parameters


def test_a_launch_passes_a_tensor_map_and_the_shape_and_strides(site: None, driver: Driver) -> None:
    driver.context.device = 0
    kernel = cuda_wheel.load("demo.maps")["copied_tiles"]
    x, out = tensor("float16", (100, 72), (80, 1)), tensor("float16", (100, 72), (72, 1), 0x2000)
    arguments = described(out, [16, 64]), described(x, [16, 64], padding="nan"), 100, 16, 64
    assert expanded(kernel, *arguments) == [CONTENT, 100, 72, 72, 1, CONTENT, 100, 72, 80, 1, 100]
    assert driver.asked == [
        "CU_TENSOR_MAP_DATA_TYPE_FLOAT16", 2, 0x1000, [72, 100], [160], [64, 16], [1, 1],
        "CU_TENSOR_MAP_INTERLEAVE_NONE", "CU_TENSOR_MAP_SWIZZLE_128B", "CU_TENSOR_MAP_L2_PROMOTION_L2_128B",
        "CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA",
    ]  # fmt: skip
    kernel.launch((7, 2), *arguments)
    kernel.launch(lambda meta: (meta["ROWS"], meta["COLUMNS"]), *arguments, stream=7)
    assert [each.grid for each in driver.launches] == [(7, 2, 1), (16, 64, 1)] and driver.launches[1].stream == 7
    driver.asked.clear()
    kernel.bind((1,), *arguments)()
    assert driver.asked == []  # the tensor maps are kept
    line = cuda_wheel.load("demo.maps")["copied_line"]
    values = expanded(line, tensor("float32", (512,), (1,)), described(tensor("float32", (500,), (1,)), [128]), 128)
    assert values[1:] == [CONTENT, 500, 1] and driver.asked[1:6] == [1, 0x1000, [500], [16], [128]]


def test_before_9_0_a_launch_passes_the_address(site: None, driver: Driver, use: Callable[..., Driver]) -> None:
    use((8, 0)).context.device = 0
    kernel = cuda_wheel.load("demo.pointers")["copied_tiles"]
    x, out = tensor("float16", (100, 72), (80, 1)), tensor("float16", (100, 72), (72, 1), 0x2000)
    flags = sum(each.cpp == "bool" for each in module_parameters(kernel)) // 2
    if flags:
        padded = described(x, [16, 64], padding="nan")
        assert expanded(kernel, described(out, [16, 64]), padded, 100, 16, 64) == [
            out, 100, 72, 72, 1, *[False] * flags, 100, 72, 72, 1,
            x, 100, 72, 80, 1, *([True, False][:flags]), 100, 72, 80, 1, 100,
        ]  # fmt: skip
    else:  # Triton before 3.5
        with pytest.raises(ArgumentError, match="x asks for nan, which the release of Triton that compiled the kernel"):
            expanded(kernel, described(out, [16, 64]), described(x, [16, 64], padding="nan"), 100, 16, 64)
    kernel.launch(1, described(out, [16, 64]), described(x, [16, 64]), 100, 16, 64)


def test_what_does_not_fit_is_said(site: None, driver: Driver) -> None:
    driver.context.device = 0
    kernel = cuda_wheel.load("demo.maps")["copied_tiles"]
    x = tensor("float16", (100, 72), (80, 1))
    good = described(x, [16, 64])
    for wrong, said in (
        (described(x, [32, 64]), r"was not compiled for out=tensordesc<fp16\[32, 64\]>"),
        (described(tensor("float32", (100, 72), (80, 1)), [16, 64]), r"out=tensordesc<fp32\[16, 64\]>"),
        (x, r"out=\*fp16:16"),
        (described(x, [16, "y"]), "block_shape must have numbers"),
        (good._replace(strides=(80, 2)), "the descriptor out must have 2 sizes and strides, and 1 as the last stride"),
        (good._replace(shape=(100,)), "the descriptor out must have 2 sizes and strides"),
        (good._replace(padding="one"), 'the padding of the descriptor out must be "zero" or "nan", not \'one\''),
        (good._replace(round_f32_to_tf32=True), "out has round_f32_to_tf32, which is for fp32, and not fp16"),
        (good._replace(strides=(81, 1)), "strides must be multiples of 16 bytes, not 162"),
        (good._replace(shape=(0, 72)), "1 to 2\\^32 elements in each dimension"),
        (good._replace(base=tensor("float16", (1, 1), (1, 1), 0x1008)), "address must be a multiple of 16 bytes"),
    ):
        with pytest.raises(ArgumentError, match=said):
            kernel.launch(1, wrong, good, 100, 16, 64)
    bound = kernel.bind(1, good, good, 100, 16, 64)
    with pytest.raises(ArgumentError, match=r"out must be a tensor descriptor with the block shape \[16, 64\]"):
        bound(described(x, [32, 64]))
    with pytest.raises(ArgumentError, match="out must be of elements of type float16, not float32"):
        bound(described(tensor("float32", (100, 72), (80, 1)), [16, 64]))
    with pytest.raises(ArgumentError, match="out must be a tensor descriptor"):
        bound(x)


def test_other_libraries_arrays_are_kept_until_the_kernel_has_run(site: None, driver: Driver) -> None:
    driver.context.device = 0
    kernel = cuda_wheel.load("demo.maps")["copied_line"]
    x = array((512,))
    value = described(x, [128])
    assert (value.shape, value.strides) == ((512,), (1,))
    for _ in range(2):
        made = expanded(kernel, tensor("float32", (512,), (1,)), value, 128)[1]
        assert made == CONTENT and made.array is x and made.kept_by_launches


@pytest.mark.usefixtures("own_cache")
def test_a_source_tree_compiles_them_for_the_gpu(
    tmp_path: Path, pytorch: object, driver: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver.context.device = 0
    tables = TABLES.replace("NAME", "maps").replace("ARCH-real", "native")
    monkeypatch.setenv("CUDA_WHEEL_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.syspath_prepend(str(write_triton_project(tmp_path / "project", kernels=HEAD + tables)))
    forget_package("demo")
    kernel = cuda_wheel.load("demo.maps")["copied_tiles"]
    x = tensor("float16", (100, 72), (80, 1))
    kernel.launch((7, 2), described(x, [16, 64]), described(x, [16, 64]), 100, 16, 64)
    assert driver.asked[4] == [160] and driver.loaded[-1][:4] == b"\x7fELF"
    forget_package("demo")
