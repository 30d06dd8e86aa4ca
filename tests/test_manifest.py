"""The manifest: what is written is read, and what is not a manifest is refused in words."""

from __future__ import annotations

import json
from typing import Any

import pytest

from cuda_wheel.errors import ImageError
from cuda_wheel.manifest import FORMAT, GlobalInfo, Image, KernelInfo, Manifest, Parameter, Target

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
            ("sm_75",),
        ),
    ),
    globals=(GlobalInfo("ns::weights", "_ZN2ns7weightsE", "constant", 64),),
)


def test_a_manifest_reads_back_as_it_was_written() -> None:
    assert Manifest.from_json(MANIFEST.to_json(), "x") == MANIFEST


def test_a_compressed_image_has_no_place_of_its_own() -> None:
    document = json.loads(MANIFEST.to_json())
    document["images"][0]["offset"] = None
    assert Manifest.from_json(json.dumps(document), "x").images[0].offset is None


def test_a_newer_format_is_named_as_such() -> None:
    text = json.dumps({"format": FORMAT + 2})
    with pytest.raises(
        ImageError, match=rf"made by a newer cuda-wheel \(format {FORMAT + 2}\); this one reads up to {FORMAT}"
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
def test_what_is_no_manifest_is_refused_with_its_file_named(text: str) -> None:
    with pytest.raises(ImageError, match=r"^k\.fatbin\.json is not a cuda-wheel manifest: "):
        Manifest.from_json(text, "k.fatbin.json")


@pytest.mark.parametrize(
    "key", ["name", "fatbin", "toolchain", "sources", "options", "host_code", "images", "kernels", "globals"]
)
def test_every_part_is_needed(key: str) -> None:
    document = json.loads(MANIFEST.to_json())
    del document[key]
    with pytest.raises(ImageError, match=key):
        Manifest.from_json(json.dumps(document), "x")
