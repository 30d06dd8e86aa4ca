"""The manifest: what is written is read, and what is not a manifest is refused in words."""

from __future__ import annotations

import json
from typing import Any

import pytest

from cuda_wheel.runtime.errors import ImageError
from cuda_wheel.runtime.manifest import FORMAT, LARGEST, GlobalInfo, Image, KernelInfo, Manifest, Parameter, Target

MANIFEST = Manifest(
    name="pkg.kernels.gemm",
    fatbin="gemm.fatbin",
    fatbin_size=1000,
    fatbin_sha256="f" * 64,
    toolchain={"nvrtc": "12.9.86", "nvjitlink": "12.9", "nvfatbin": "12.9"},
    sources=("src/pkg/kernels/gemm.cu",),
    options=("--std=c++17",),
    images=(
        Image("cubin", Target.parse("sm_90a"), None, None, (12, 0), 100, 400, "a" * 64, {"k": {"registers": 32}}),
        Image("ptx", Target.parse("compute_80"), (7, 0), (8, 8), (11, 0), 500, 500, "b" * 64, {}),
    ),
    kernels=(
        KernelInfo(
            "gemm<float, 16>",
            "_Z4gemmIfLi16EEvPT_",
            (Parameter("u64", 0, 8, "float*"), Parameter("f32", 8, 4)),
            ("sm_90a",),
        ),
    ),
    globals=(GlobalInfo("ns::weights", "_ZN2ns7weightsE", "constant", 64),),
    long_size=4,
)


def test_a_manifest_reads_back_as_it_was_written() -> None:
    assert Manifest.from_json(MANIFEST.to_json(), "x") == MANIFEST


def test_a_manifest_may_not_say_the_size_of_a_long() -> None:
    text = MANIFEST.to_json()
    without = text.replace(' "long_size": 4,\n', "")
    assert without != text
    assert Manifest.from_json(without, "x", check=False) == MANIFEST._replace(long_size=None)
    assert Manifest.from_json(MANIFEST._replace(long_size=None).to_json(), "x").long_size is None


def test_a_compressed_image_has_no_place_of_its_own() -> None:
    packed = MANIFEST._replace(images=tuple(image._replace(offset=None) for image in MANIFEST.images))
    assert Manifest.from_json(packed.to_json(), "x") == packed


def test_images_of_the_same_bytes_have_the_same_place() -> None:
    first, second = MANIFEST.images
    third = first._replace(target=Target.parse("sm_90"))
    shared = MANIFEST._replace(images=(first, second, third))
    assert Manifest.from_json(shared.to_json(), "x") == shared


def test_a_manifest_that_was_changed_is_damaged() -> None:
    text = MANIFEST.to_json()
    for changed in (text.replace('"registers": 32', '"registers": 33'), text + " ", text.replace("\n", "\r\n")):
        with pytest.raises(ImageError, match=r"^k is damaged: its SHA-256 is not the one .* Reinstall .*pkg\.kernels"):
            Manifest.from_json(changed, "k")
        assert Manifest.from_json(changed, "k", check=False).name == MANIFEST.name


def test_of_a_name_that_stands_twice_the_last_counts_as_in_json() -> None:
    text = MANIFEST.to_json().replace(' "name": "pkg', ' "name": "other",\n "name": "pkg')
    with pytest.raises(ImageError, match="is damaged"):
        Manifest.from_json(text, "k")
    assert Manifest.from_json(text, "k", check=False) == MANIFEST


def test_more_than_a_manifest_may_have_is_not_read() -> None:
    with pytest.raises(ImageError, match="it has 67108865 bytes, more than the 67108864 that a manifest may have"):
        Manifest.from_json(b" " * (LARGEST + 1), "k")


def test_a_newer_format_is_named_as_such() -> None:
    text = json.dumps({"format": FORMAT + 2})
    with pytest.raises(
        ImageError,
        match=rf"made by a newer cuda-wheel \(manifest format {FORMAT + 2}\); this one reads formats up to {FORMAT}",
    ):
        Manifest.from_json(text, "k.fatbin.json")


def changed(*path: Any, to: Any) -> str:
    document = json.loads(MANIFEST.to_json())
    place = document
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = to
    return json.dumps(document)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "null",
        "{",
        "\0",
        "[" * 100_000,
        '{"a":' * 100_000,
        MANIFEST.to_json().encode("utf-16"),
        b"\xef\xbb\xbf" + MANIFEST.to_json().encode(),
        MANIFEST.to_json().encode()[:-9] + b"\xff\xff" + MANIFEST.to_json().encode()[-9:],
        changed("format", to="1"),
        changed("format", to=0),
        changed("name", to=""),
        changed("name", to=7),
        changed("fatbin", "file", to="../../../etc/passwd"),
        changed("fatbin", "file", to="/etc/passwd"),
        changed("fatbin", "file", to="..\\x.fatbin"),
        changed("fatbin", "file", to="."),
        changed("fatbin", "file", to=".."),
        changed("format", to=True),
        changed("sources", to="k.cu"),
        changed("kernels", 0, "name", to="\x1b[31mred"),
        changed("kernels", 0, "name", to="\ud800"),
        changed("kernels", 0, "symbol", to="a\nb"),
        changed("fatbin", "size", to=999),  # the PTX would reach beyond it
        changed("fatbin", to=[]),
        changed("toolchain", to={}),
        changed("toolchain", "nvrtc", to="twelve"),
        changed("images", to={"a": 1}),
        changed("images", 0, "kind", to="ptx"),
        changed("images", 0, "kind", to="elf"),
        changed("images", 0, "target", to="sm_90x"),
        changed("images", 0, "offset", to=-1),
        changed("images", 0, "offset", to=1e3),
        changed("images", 0, "offset", to=True),
        changed("images", 0, "size", to=10**30),
        changed("images", 0, "size", to=0),
        changed("images", 0, "size", to=401),  # into the PTX
        changed("images", 0, "size", to=float("nan")),
        changed("images", 0, "offset", to=None),  # and the PTX has a place
        changed("images", 0, "sha256", to="A" * 64),
        changed("images", 0, "sha256", to="a" * 63),
        changed("images", 0, "target", to="sm_" + "9" * 4000),
        changed("images", 0, "driver", to="9" * 4000 + ".0"),
        changed("images", 0, "resources", "k", "\0", to=1),
        changed("images", to=2 * json.loads(MANIFEST.to_json())["images"]),
        changed("images", to=""),
        changed("kernels", to={}),
        changed("kernels", to=2 * json.loads(MANIFEST.to_json())["kernels"]),
        changed("kernels", 0, "symbol", to="k\u00e9"),
        changed("kernels", 0, "symbol", to="a b"),
        changed("kernels", 0, "symbol", to="0k"),
        changed("kernels", 0, "absent", to=["sm_75"]),  # for which there is no image
        changed("kernels", 0, "parameters", to=""),
        changed("kernels", 0, "parameters", 0, "size", to=0),
        changed("globals", 0, "symbol", to="[bold]"),
        changed("globals", to=2 * json.loads(MANIFEST.to_json())["globals"]),
        changed("host_code", to=["\x1b[31m"]),
        changed("extern", to=[{"name": "f", "symbol": "f()", "declaration": "void f()"}]),
        changed("sha256", to=""),
        changed("sha256", to=None),
        changed("images", 0, "resources", to=[]),
        changed("images", 1, "ptx_version", to=None),
        changed("images", 1, "ptx_version", to="8"),
        changed("kernels", 0, "parameters", to=None),
        changed("kernels", 0, "symbol", to=None),
        changed("options", to=[1]),
        changed("kernels", 0, "parameters", 0, "cpp", to=None),
        changed("kernels", 0, "parameters", 1, "offset", to=7),  # within the one before
        changed("kernels", 0, "parameters", 1, "size", to=40_000),
        changed("kernels", 0, "absent", to="sm_75"),
        changed("globals", to=None),
        changed("globals", 0, "space", to="shared"),
        changed("globals", 0, "size", to="64"),
    ],
)
def test_what_is_no_manifest_is_refused_with_its_file_named(text: str | bytes) -> None:
    with pytest.raises(ImageError, match=r"^k\.fatbin\.json is not a cuda-wheel manifest: "):
        Manifest.from_json(text, "k.fatbin.json")


@pytest.mark.parametrize(
    "key",
    [
        "name",
        "fatbin",
        "toolchain",
        "sources",
        "options",
        "host_code",
        "images",
        "kernels",
        "globals",
        "extern",
        "sha256",
    ],
)
def test_every_part_is_needed(key: str) -> None:
    document = json.loads(MANIFEST.to_json())
    del document[key]
    with pytest.raises(ImageError, match=key):
        Manifest.from_json(json.dumps(document), "x")
