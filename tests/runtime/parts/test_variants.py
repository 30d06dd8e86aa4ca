"""`load` picks a variant by its macros, reads the index once, and names what there is where it has no such variant."""

from __future__ import annotations

import importlib
import json
import os
import shutil
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import cuda_wheel
from cuda_wheel.builder.manifest_reader import all_manifests
from cuda_wheel.builder.wheel.loader_copy import copied_files
from cuda_wheel.builder.wheel.outputs import write
from cuda_wheel.runtime import files as files_module
from cuda_wheel.runtime.errors import PARTS, ImageError, UnknownVariantError
from cuda_wheel.runtime.manifest import Manifest, full_name, same_macros
from cuda_wheel.runtime.parts.variants import read_macros, unknown_variant
from tests.support.driver import Driver
from tests.support.loaded_modules import forget_package
from tests.support.manifests import assembled
from tests.support.processes import run

pytestmark = pytest.mark.one_toolchain


def put_on_path(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(folder))
    forget_package("demo")


@pytest.fixture
def site(variants_build: tuple[Path, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put a copy of the built project on the path and return its folder."""
    folder = tmp_path / "site"
    shutil.copytree(variants_build[0], folder)
    put_on_path(folder, monkeypatch)
    return folder


def image_of(folder: Path, target: str, **macros: Any) -> bytes:
    """Return the image for a target of the variant with these macros."""
    path = folder / "demo/update.fatbin.json"
    (manifest,) = (each for each in all_manifests(path.read_bytes(), "x") if dict(each.variant) == macros)
    (image,) = (each for each in manifest.images if str(each.target) == target)
    start = manifest.fatbin_offset + image.offset
    return path.with_suffix("").read_bytes()[start : start + image.size]


def test_macros_pick_a_variant_and_its_image(site: Path, use: Callable[..., Driver]) -> None:
    driver = use((8, 6))
    module = cuda_wheel.load("demo.update", MATH_TYPE="double", NUM_MODES=4)
    other = cuda_wheel.load("demo.update", NUM_MODES="2", MATH_TYPE="float")  # the text of a value counts
    assert driver.loaded == [
        image_of(site, "sm_80", MATH_TYPE="double", NUM_MODES=4),
        image_of(site, "sm_80", MATH_TYPE="float", NUM_MODES=2),
    ]
    assert module.name == other.name == "demo.update"
    assert module.variant == {"MATH_TYPE": "double", "NUM_MODES": 4}
    assert repr(other).startswith("<Module demo.update[MATH_TYPE=float, NUM_MODES=2]: 2 kernels, cubin sm_80")
    assert module["gemm<MATH_TYPE, NUM_MODES>"].symbol == "_Z4gemmIdLi4EEvPT_"
    assert other["gemm<MATH_TYPE,NUM_MODES>"].symbol == "_Z4gemmIfLi2EEvPT_"
    assert cuda_wheel.load("demo.update", MATH_TYPE="double", NUM_MODES=4) is module
    assert cuda_wheel.load("demo.update", MATH_TYPE="float", NUM_MODES=2) is other
    assert len(driver.loaded) == 2
    assert cuda_wheel.load("demo.plain").variant == {}


def test_ptx_of_a_variant_is_read_from_its_own_fatbin(site: Path, use: Callable[..., Driver]) -> None:
    driver = use((12, 0))
    assert cuda_wheel.load("demo.update", MATH_TYPE="float", NUM_MODES=4).how == "jit"
    assert driver.loaded == [image_of(site, "compute_90", MATH_TYPE="float", NUM_MODES=4) + b"\0"]


def test_many_variants_take_one_read_of_the_index(
    site: Path, use: Callable[..., Driver], monkeypatch: pytest.MonkeyPatch
) -> None:
    use((8, 0))
    reads: list[str] = []
    made = files_module.ManifestFile
    monkeypatch.setattr(files_module, "ManifestFile", lambda *args: reads.append(args[1]) or made(*args))
    for macros in ({"MATH_TYPE": "float", "NUM_MODES": 2}, {"MATH_TYPE": "float", "NUM_MODES": 4}) * 3:
        cuda_wheel.load("demo.update", **macros)
    (path,) = reads
    assert path.startswith(str(site))
    Path(path).write_bytes(Path(path).read_bytes().replace(b'"format": 4', b'"format": 9'))
    with pytest.raises(ImageError, match="manifest format 9"):  # a changed file is read again
        cuda_wheel.load("demo.update", MATH_TYPE="float", NUM_MODES=2)


def test_an_unknown_variant_is_an_error_that_names_the_nearest_ones(site: Path, use: Callable[..., Driver]) -> None:
    use((8, 0))
    with pytest.raises(UnknownVariantError) as error:
        cuda_wheel.load("demo.update", MATH_TYPE="double", NUM_MODES=2)
    assert str(error.value).splitlines() == [
        "demo.update has no variant MATH_TYPE=double, NUM_MODES=2. Its variants, the nearest first:",
        "  MATH_TYPE=double, NUM_MODES=4",
        "  MATH_TYPE=float, NUM_MODES=2",
        "  MATH_TYPE=float, NUM_MODES=4",
        "Their macros: MATH_TYPE of float, double; NUM_MODES of 2, 4",
    ]
    with pytest.raises(UnknownVariantError, match=r"demo\.update has variants, and none is named"):
        cuda_wheel.load("demo.update")
    with pytest.raises(
        UnknownVariantError, match=r"demo\.plain has no variants, but devcie=0 asks for one; did you mean device"
    ):
        cuda_wheel.load("demo.plain", devcie=0)
    with pytest.raises(UnknownVariantError, match=r"demo\.update has no variant MATH_TYPE=float"):
        cuda_wheel.load("demo.update", MATH_TYPE="float")
    with pytest.raises(UnknownVariantError):
        cuda_wheel.load("demo.update", MATH_TYPE="float", NUM_MODES=2, MORE=1)


def test_the_message_about_an_unknown_variant_is_short() -> None:
    variants = [(("A", "x" * 1000), ("N", number)) for number in range(400)]
    text = str(unknown_variant("demo.k", {"A": "y" * 1000, "N": 250.1}, variants))
    assert len(text) < 1000
    assert "and 395 more" in text and "N of 0, 1, 2, 3, 4, ... (400 values)" in text
    assert text.splitlines()[1].endswith("N=250")  # of all, this one has the nearest number
    assert "'\\n'" in str(unknown_variant("demo.k", {"A": "\n"}, variants))


def test_equal_macros_are_equal_in_every_spelling() -> None:
    assert same_macros({"B": True, "A": 4}) == same_macros({"A": "4", "B": 1}) == (("A", "4"), ("B", "1"))
    assert full_name("demo.k", (("A", 4), ("B", True))) == "demo.k[A=4, B=1]"
    assert full_name("demo.k", ()) == "demo.k"
    assert read_macros({"B": 2.5, "A": "x"}) == (("A", "x"), ("B", 2.5))
    for macros in ({"A": None}, {"A": ""}, {"A": "\n"}, {"A B": 1}, {"\N{GREEK SMALL LETTER ALPHA}": 1}):
        with pytest.raises(ValueError, match="is not a macro"):
            read_macros(macros)


def test_a_package_that_attaches_has_a_function_for_a_module_with_variants(
    site: Path, use: Callable[..., Driver]
) -> None:
    driver = use((8, 0))
    demo = importlib.import_module("demo")
    assert demo.__all__ == ["plain", "update"]
    assert not driver.loaded
    module = demo.update(MATH_TYPE="float", NUM_MODES=4, device=0)
    assert module is cuda_wheel.load("demo.update", MATH_TYPE="float", NUM_MODES=4)
    assert demo.update.__name__ == "update" and "demo.update" in demo.update.__doc__
    with pytest.raises(UnknownVariantError):
        demo.update(MATH_TYPE="float", NUM_MODES=5)


def test_variants_are_loaded_from_a_zip_and_by_a_vendored_loader(
    site: Path, use: Callable[..., Driver], tmp_path: Path
) -> None:
    with zipfile.ZipFile(tmp_path / "demo.zip", "w") as archive:
        for path in site.rglob("demo/*"):
            archive.write(path, path.relative_to(site).as_posix())
    write({f"_vendored/{name}": content for name, content in copied_files(PARTS).items()}, tmp_path / "loader")
    program = """
import sys
from types import SimpleNamespace
import _vendored
from _vendored.files import find_files
files = find_files("demo.update", None)
manifest = files.manifest_of_variant("update.fatbin.json", {"MATH_TYPE": "double", "NUM_MODES": 4})
print(manifest.full_name, files.read(manifest.fatbin, manifest.fatbin_offset, 4).hex())
try:
    _vendored.load("demo.update", MATH_TYPE="double")
except _vendored.UnknownVariantError:
    print("unknown")
"""
    path = os.pathsep.join([str(tmp_path / "loader"), str(tmp_path / "demo.zip")])
    result = run(sys.executable, "-c", program, PYTHONPATH=path)
    assert result.stdout.splitlines() == ["demo.update[MATH_TYPE=double, NUM_MODES=4] 50ed55ba", "unknown"]


def test_a_plain_load_does_not_read_more_for_variants(site: Path, use: Callable[..., Driver]) -> None:
    """The code for variants is not even imported."""
    program = """
import sys
import cuda_wheel.runtime.files as files
_, manifest = files.files_and_manifest("demo.plain", None)
print(manifest.full_name, [name for name in sys.modules if "variants" in name])
"""
    result = run(sys.executable, "-c", program, PYTHONPATH=str(site))
    assert result.stdout.splitlines() == ["demo.plain []"], result.stdout


def test_a_damaged_index_is_refused(site: Path, use: Callable[..., Driver], monkeypatch: pytest.MonkeyPatch) -> None:
    use((8, 0))
    path = site / "demo/update.fatbin.json"
    text = path.read_text()
    for damaged, words in (
        (text.replace("nvrtc", "nvrtd"), "SHA-256"),
        (text.replace('"MATH_TYPE":"double"', '"MATH_TYPE":[     ]'), "SHA-256"),
        (text[:900], "is not a cuda-wheel manifest"),
        (text.replace('"name":"demo.update"', '"name":5            '), "SHA-256"),
    ):
        path.write_text(damaged)
        with pytest.raises(ImageError, match=words):
            cuda_wheel.load("demo.update", MATH_TYPE="float", NUM_MODES=2)
    monkeypatch.setenv("CUDA_WHEEL_VERIFY", "off")
    document = json.loads(text)
    records = document["module"]["variants"]
    for damaged in (
        text.replace('"kind":"cubin"', '"kind":"cubit"'),
        text.replace('"name":"demo.update"', '"name":5            '),
        *(
            assembled(document["module"] | {"variants": variants}, document["kernels"])
            for variants in (5, [], [5], [{}], [{"macros": 5}], [records[0] | {"fatbin": {}}], [{"macros": {"N": 1}}])
        ),
    ):
        path.write_text(damaged)
        for macros in ({"MATH_TYPE": "float", "NUM_MODES": 2}, {"N": 1}):
            with pytest.raises(ImageError):
                cuda_wheel.load("demo.update", **macros)
        with pytest.raises(ImageError):
            all_manifests(damaged, "x")
    path.write_text(text)
    path.with_suffix("").write_bytes(path.with_suffix("").read_bytes()[:100])
    monkeypatch.delenv("CUDA_WHEEL_VERIFY")
    with pytest.raises(ImageError, match="it ends before the end of cubin sm_80"):
        cuda_wheel.load("demo.update", MATH_TYPE="double", NUM_MODES=4)


def test_a_variant_is_linked_by_its_macros(
    make_project: Callable[..., Path], cuda_wheel: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, use: Any
) -> None:
    """The pieces are those of the variant, and a manifest of the linked module says which it is."""
    from cuda_wheel.runtime.parts.linking.inputs import LinkInput
    from cuda_wheel.runtime.parts.linking.link import read_pieces

    source = 'extern "C" __device__ float f(float);\nextern "C" __global__ void k(float* x) { *x = f(N); }\n'
    table = '[[tool.cuda-wheel.module]]\nname = "demo.k"\narchitectures = "80-real"\nextern = ["f"]\nvariants = { N = [1, 2] }'
    result = cuda_wheel("build", make_project(table, **{"demo/k.cu": source}), "-o", tmp_path / "out")
    assert result.returncode == 0, result.stdout
    (tmp_path / "out/demo/__init__.py").touch()
    put_on_path(tmp_path / "out", monkeypatch)
    parts = [
        read_pieces([LinkInput("module", "demo.k", b"", variant=(("N", n),))], (8, 0), (12, 0), None) for n in (1, 2)
    ]
    manifests: list[Manifest] = [part.modules[0][0] for part in parts]
    assert [manifest.variant for manifest in manifests] == [(("N", 1),), (("N", 2),)]
    assert parts[0].units[0].forms["ptx"] != parts[1].units[0].forms["ptx"]
    assert parts[0].digests != parts[1].digests
    with pytest.raises(UnknownVariantError):
        read_pieces([LinkInput("module", "demo.k", b"")], (8, 0), (12, 0), None)


def test_an_editable_install_compiles_the_variant_alone(
    variants_project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, use: Callable[..., Driver]
) -> None:
    shutil.copytree(variants_project, tmp_path / "tree")
    put_on_path(tmp_path / "tree", monkeypatch)
    driver = use((8, 6))
    with pytest.warns(RuntimeWarning, match="never referenced"):
        module = cuda_wheel.load("demo.update", MATH_TYPE="double", NUM_MODES=4)
    assert module.variant == {"MATH_TYPE": "double", "NUM_MODES": 4}
    assert module["gemm<MATH_TYPE, NUM_MODES>"].symbol == "_Z4gemmIdLi4EEvPT_"
    assert cuda_wheel.load("demo.update", MATH_TYPE="double", NUM_MODES="4") is module
    assert len(driver.loaded) == 1
    demo = importlib.import_module("demo")
    assert sorted(demo.__all__) == ["plain", "update"]
    assert demo.update(MATH_TYPE="double", NUM_MODES=4) is module
    with pytest.raises(UnknownVariantError, match="MATH_TYPE=double, NUM_MODES=4"):
        demo.update(MATH_TYPE="double", NUM_MODES=2)
    with pytest.raises(UnknownVariantError, match="none is named"):
        cuda_wheel.load("demo.update")
    with pytest.raises(UnknownVariantError, match=r"demo\.plain has no variants"):
        cuda_wheel.load("demo.plain", N=1)
