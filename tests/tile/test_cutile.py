"""cuTile kernels in a build, and how a launch chooses among what was compiled and asks the driver to launch it.
tests/gpu/test_tile.py has the results."""

from __future__ import annotations

import struct
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import cuda_wheel
from cuda_wheel.builder.manifest_reader import all_manifests
from cuda_wheel.builder.toolchain.tileiras import HOSTS
from cuda_wheel.runtime.errors import ArgumentError, NoImageError, UnknownKernelError
from cuda_wheel.runtime.manifest import Manifest
from tests.support import driver as driver_module
from tests.support.driver import Driver
from tests.support.launches import array_interface
from tests.support.processes import build_wheel, run_cuda_wheel
from tests.support.tile_project import need_tileiras, write_cutile_project
from tests.support.wheels import contents

pytestmark = [pytest.mark.slow, pytest.mark.every_toolchain]

pytest.importorskip("cuda.tile", reason="cuTile is not installed")

Built = tuple[Path, Path, str]


def read(folder: Path) -> tuple[Manifest, ...]:
    return all_manifests((folder / "demo/cases.fatbin.json").read_bytes(), "the manifest")


def test_each_variant_has_an_image_for_each_host(cutile: Built) -> None:
    _, output, printed = cutile
    manifests = read(output)
    assert len(manifests) == 13 and f"cubin sm_90a, each for {', '.join(HOSTS)}" in printed
    for manifest in manifests:
        assert [(str(image.target), image.host) for image in manifest.images] == [("sm_90a", host) for host in HOSTS]
        assert manifest.toolchain.keys() >= {"tile", "tileiras"} and manifest.images[0].driver == (13, 0)
        assert manifest.sources == ("demo/cases.py",) and not manifest.options
    kernels = {str(dict(each.variant)["tile"]).partition(":")[2]: each.kernels[0] for each in manifests}
    assert kernels["scale"].symbol == kernels["scale"].name == "scale"
    assert kernels["scale"].python == (
        ("x", "argument", None), ("factor", "argument", None), ("out", "argument", None), ("HALVE", "constant", False),
    )  # fmt: skip
    assert [(each.name, each.cpp) for each in kernels["wide"].parameters] == [
        ("x", "float*"), ("x_shape_0", "long long"), ("x_stride_0", "long long"),
        ("out", "float*"), ("out_shape_0", "int"), ("out_stride_0", "int"),
    ]  # fmt: skip
    assert len(kernels["product"].parameters) == 15


def test_options_and_assumptions_change_the_code(cutile: Built) -> None:
    """A variant with another option, or another hint, is another image."""
    digests: dict[str, set[str]] = {}
    for manifest in read(cutile[1]):
        kernel = str(dict(manifest.variant)["tile"])
        digests.setdefault(kernel, set()).add(manifest.images[0].sha256)
    assert len(digests["demo.cases:product"]) == 3 and len(digests["demo.cases:add"]) == 6


def test_no_path_of_this_machine_is_in_the_files(cutile: Built) -> None:
    project, output, _ = cutile
    for path in output.rglob("*.*"):
        assert str(project).encode() not in path.read_bytes()


@pytest.mark.parametrize(
    ("tables", "words"),
    [
        ('kernel = "demo.cases:add"\narguments = { x = "float32[1]" }', ["add", "parameter y", "has no type"]),
        ('kernel = "demo.cases:halved"\narguments = { x = 1 }', ["halved is not a cuTile kernel"]),
        ('kernel = "demo.cases:absent"\narguments = { x = 1 }', ["defines no absent"]),
        ('kernel = "demo.cases:pairs"\narguments = { xs = 1, out = "float32[1]" }', ["xs is a tuple or a list"]),
        ('kernel = "demo.cases:wide"\narguments = { x = "float32[1]", out = "float32[1]", z = 1 }', ["has no parameter z"]),
        (
            'kernel = "demo.cases:scale"\narguments = { x = "float32[1]", factor = "float32", out = "float32[1]", HALVE = "bool" }',
            ["HALVE is a constant (ct.Constant)"],
        ),
        (
            'kernel = "demo.cases:scale"\narguments = { x = "float32[2]", factor = "float32", out = "float32[1]" }',
            ["cases.py:", "does not compile"],
        ),
    ],
)  # fmt: skip
def test_what_does_not_compile_is_named(tables: str, words: list[str], tmp_path: Path) -> None:
    need_tileiras()
    root = write_cutile_project(tmp_path, 'architectures = ["90-real"]\n', f"[[tool.cuda-wheel.tile]]\n{tables}\n")
    (root / "demo/cases.py").write_text(
        (root / "demo/cases.py").read_text().replace("xs: tuple", "xs: tuple[int, int]")
    )
    result = run_cuda_wheel("build", "-o", tmp_path / "output", root)
    assert result.returncode == 1 and "Traceback" not in result.stdout, result.stdout
    assert all(word in " ".join(result.stdout.split()) for word in words), result.stdout


def test_a_vendored_loader_has_the_parts_and_loads_without_cutile(tmp_path: Path) -> None:
    need_tileiras()
    table = (
        '[[tool.cuda-wheel.tile]]\nkernel = "demo.cases:wide"\narguments = { x = "float32[1]", out = "float32[1]" }\n'
    )
    root = write_cutile_project(tmp_path / "p", 'architectures = ["90-real"]\nloader = "vendor"\n', table)
    built = build_wheel(root, tmp_path / "dist")
    assert built.returncode == 0, built.stdout
    files = contents(next((tmp_path / "dist").glob("*.whl")))
    parts = ("tile/kernels.py", "tile/signatures.py", "tile_hosts.py", "python_kernels/modules.py")
    assert {f"demo/_cuda_wheel/parts/{each}" for each in parts} <= files.keys()


# --- launches ----------------------------------------------------------------------------------------


@pytest.fixture
def module(cutile: Built, monkeypatch: pytest.MonkeyPatch, use: Callable[..., Driver]) -> Iterator[tuple[Any, Driver]]:
    driver = use((9, 0))
    monkeypatch.setattr("cuda_wheel.runtime.parts.tile_hosts.this_host", lambda: HOSTS[0])
    monkeypatch.syspath_prepend(str(cutile[1]))
    monkeypatch.delitem(sys.modules, "demo", raising=False)
    yield cuda_wheel.load("demo.cases"), driver
    monkeypatch.delitem(sys.modules, "demo", raising=False)


def array(shape: tuple[int, ...], address: int = 1024, typestr: str = "<f4", strides: Any = None) -> Any:
    return array_interface(address, shape=shape, typestr=typestr, strides=strides)


def chosen(kernel: Any, *args: Any, **named: Any) -> dict[str, Any]:
    """Return the variant that a launch with these arguments would load."""
    values, options = kernel._values(args, named)
    return dict(kernel._chosen([kernel._seen(value) for value in values], options))


def test_the_most_specialized_variant_that_fits_is_chosen(module: tuple[Any, Driver]) -> None:
    add, x, odd = module[0]["add"], array((100,)), array((100,), 1028)
    assert (chosen(add, x, x, x, 1024)["x"], chosen(add, x, odd, x, 1024)["y"]) == ("float32[1]:16", "float32[1]")
    strided = array((50,), strides=(8,))
    assert chosen(add, strided, x, x, 1024)["x"] == "float32[1]"
    whole = array((32,), typestr="<i4")
    assert chosen(add, whole, whole, whole, BLOCK=256)["BLOCK"] == 256
    product = module[0]["product"]
    a, c = array((64, 32), typestr="<f2"), array((64, 32))
    assert chosen(product, a, a, c, 64, 64, 32)["occupancy"] == 1
    assert chosen(product, a, a, c, 64, 64, 32, occupancy=2)["occupancy"] == 2
    assert "occupancy" not in chosen(product, a, a, array((64, 33)), 64, 64, 32)


@pytest.mark.parametrize(
    ("name", "args", "said"),
    [
        ("add", (array((100,)), array((100,)), array((100,)), 512), r"add was not compiled for x=float32\[1\]:16, .*BLOCK=512"),
        ("add", (array((100,)), array((100,)), array((50,), strides=(8,)), 1024), r"out=float32\[1\], BLOCK=1024\. It was compiled for"),
        ("add", (array((4, 4)), array((4,)), array((4,)), 1024), r"x=float32\[2\]:16"),
        ("add", (array((4,), typestr="<f8"), array((4,)), array((4,)), 1024), r"x=float64\[1\]:16"),
        ("add", (array((4,)), array((4,)), array((4,)), 1024.0), r"BLOCK=1024\.0"),
        ("scale", (array((4,)), True, array((4,))), "factor=True"),
        ("scale", (array((4,), strides=(-4,)), 1.0, array((4,))), r"negative strides, \(-1,\)"),
        ("scale", (array((4,)), "x", array((4,))), "takes arrays on the GPU that tell their strides"),
        ("scale", (array((4,)), 1.0), "got no value for 'out'"),
        ("scale", (array((4,)), 1.0, array((4,)), True, 5), "takes 4 arguments"),
    ],
)  # fmt: skip
def test_arguments_that_nothing_was_compiled_for(
    module: tuple[Any, Driver], name: str, args: tuple[Any, ...], said: str
) -> None:
    with pytest.raises(ArgumentError, match=said):
        module[0][name].launch(1, *args)
    assert not module[1].launches


@pytest.fixture
def reads(cutile: Built, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Return a function that lets the driver read the arguments of a kernel."""

    def read_arguments_of(name: str) -> None:
        kernel = next(each.kernels[0] for each in read(cutile[1]) if each.kernels[0].name == name)
        monkeypatch.setitem(driver_module._SIGNATURES, 0xBEEF, kernel.parameters)

    return read_arguments_of


def test_an_array_becomes_its_address_lengths_and_strides(
    module: tuple[Any, Driver], reads: Callable[[str], None]
) -> None:
    kernels, driver = module
    reads("scale")
    kernels["scale"].launch((5, 1), array((100,), 4096, strides=(12,)), 1.5, array((100,), 8192))
    launch = driver.launches[-1]
    assert (launch.grid, launch.block) == ((5, 1, 1), (1, 1, 1))
    assert launch.arguments == struct.pack("<Qii f 4x Qii", 4096, 100, 3, 1.5, 8192, 100, 1)
    reads("product")
    a, c = array((3, 5), 4096, "<f2", (32, 2)), array((3, 3), 8192)
    kernels["product"][(1, 2)](a, array((5, 3), 4112, "<f2"), c=c, M=64, N=64, K=32)
    assert driver.launches[-1].arguments == struct.pack(
        "<Q4iQ4iQ4i", 4096, 3, 5, 16, 1, 4112, 5, 3, 3, 1, 8192, 3, 3, 3, 1
    )
    reads("wide")
    kernels["wide"].launch(1, array((1 << 33,), 4096), array((1,), 8192))
    assert driver.launches[-1].arguments == struct.pack("<QqqQii", 4096, 1 << 33, 1, 8192, 1, 1)
    count = len(driver.launches)
    kernels["scale"].launch(0, array((4,)), 1.0, array((4,)))
    assert len(driver.launches) == count


def test_lengths_of_more_than_32_bits_are_refused(module: tuple[Any, Driver]) -> None:
    with pytest.raises((ArgumentError, OverflowError), match=r"x_shape_0|int"):
        module[0]["scale"].launch(1, array((1 << 33,), 4096), 1.0, array((4,), 8192))


def test_a_bound_launch_takes_other_arrays_of_the_same_kind(
    module: tuple[Any, Driver], reads: Callable[[str], None]
) -> None:
    kernels, driver = module
    reads("add")
    step = kernels["add"].bind(1, array((64,), 1024), array((64,), 2048), array((64,), 4096), 1024)
    assert not driver.launches
    step()
    assert driver.launches[-1].arguments == struct.pack("<QiiQiiQii", 1024, 64, 1, 2048, 64, 1, 4096, 64, 1)
    step(array((32,), 8192))
    assert driver.launches[-1].arguments == struct.pack("<QiiQiiQii", 8192, 32, 1, 2048, 64, 1, 4096, 64, 1)
    with pytest.raises(
        ArgumentError, match=r"x is float32\[1\]:1, and what was bound was compiled for float32\[1\]:16"
    ):
        step(array((64,), 1028))
    with pytest.raises(ArgumentError, match="bound with 3 arguments, and got 4"):
        step(1, 2, 3, 4)


def test_kernels_are_found_by_name_and_need_the_gpu_that_they_are_for(
    module: tuple[Any, Driver], use: Callable[..., Driver]
) -> None:
    kernels, _ = module
    assert set(kernels) == {"add", "scale", "product", "wide"}
    with pytest.raises(UnknownKernelError):
        kernels["halved"]
    use((10, 0))
    with pytest.raises(NoImageError, match=r"is for compute capability 9\.0 only"):
        kernels["wide"].launch(1, array((4,)), array((4,)))
