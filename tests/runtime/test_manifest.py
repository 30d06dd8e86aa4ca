"""The manifest: what is written is read, and what is not a manifest is refused in words."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cuda_wheel.builder.manifest_reader import manifest_of
from cuda_wheel.builder.manifest_writer.text import manifest_text
from cuda_wheel.runtime.errors import ImageError
from cuda_wheel.runtime.manifest import (
    FORMAT,
    External,
    GlobalInfo,
    Image,
    KernelInfo,
    Manifest,
    ManifestFile,
    Parameter,
    Target,
)
from tests.support.whole_manifests import MANIFEST, RELOCATABLE, STRUCTS, changed

pytestmark = pytest.mark.one_toolchain


@pytest.mark.parametrize("manifest", [MANIFEST, RELOCATABLE, STRUCTS])
def test_a_manifest_reads_back_as_it_was_written(manifest: Manifest) -> None:
    text = manifest_text(manifest)
    assert manifest_of(text, "x") == manifest
    assert manifest_of(text.encode(), "x") == manifest
    assert manifest_text(manifest_of(text, "x")) == text


def test_equal_manifests_give_equal_text() -> None:
    other = MANIFEST._replace(
        toolchain=dict(reversed(MANIFEST.toolchain.items())),
        images=tuple(image._replace(resources=dict(reversed(image.resources.items()))) for image in MANIFEST.images),
    )
    assert list(other.toolchain) != list(MANIFEST.toolchain)
    assert other == MANIFEST
    assert manifest_text(other) == manifest_text(MANIFEST)


def test_names_are_stored_as_they_are_read() -> None:
    assert '"größe<float>"' in manifest_text(MANIFEST._replace(name="größe<float>"))


def test_the_relocatable_images_are_those_of_a_source() -> None:
    loadable = MANIFEST.images[0]
    assert RELOCATABLE._replace(images=(loadable, *RELOCATABLE.images)).relocatable == RELOCATABLE.images


def test_images_are_named_by_kind_target_version_and_source() -> None:
    images = [*MANIFEST.images, *RELOCATABLE.images]
    assert list(map(str, images)) == [
        "cubin sm_90a",
        "ptx compute_80 (PTX 7.0)",
        "cubin sm_80 of a.cu",
        "ptx compute_100f (PTX 8.8) of a.cu",
        "ltoir compute_90a of b.cu",
    ]


def test_parameters_are_listed_by_the_best_known_type() -> None:
    parameters = (
        Parameter("u64", 0, 8, "const float*"),
        Parameter("f32", 8, 4),
        Parameter("b8", 12, 16),
        Parameter("b8", 28, 16, "Pair"),
    )
    assert KernelInfo("k", "k", parameters).parameter_list == "const float*, .f32, 16 bytes, Pair"


def test_the_compilers_release_is_that_of_nvrtc() -> None:
    assert MANIFEST._replace(toolchain={"nvrtc": "13.0.88", "nvjitlink": "13.1"}).cuda == (13, 0)


@pytest.mark.parametrize(
    "text",
    [
        changed("fatbin", "file", to="../../../dev/zero"),
        changed("fatbin", "file", to="/dev/zero"),
        changed("fatbin", "file", to=""),
        changed("fatbin", "file", to=7),
        changed("images", 0, "driver", to=None),
        changed("images", 1, "ptx_version", to=""),
        changed("kernels", 0, "name", to=7),
        changed("kernels", 0, "name", to="\x1b[31mred"),
        changed("kernels", 0, "symbol", to="k\0"),
        changed("kernels", 0, "parameters", 0, "cpp", to=None),
        changed("kernels", 0, "parameters", 0, "type", to=[]),
        changed("kernels", 0, "parameters", 1, "offset", to=7),
        changed("kernels", 0, "parameters", 1, "offset", to=1 << 40),
        changed("globals", 0, "name", to=None),
        changed("globals", 0, "symbol", to=[]),
    ],
)
def test_a_load_refuses_what_could_end_the_process_or_lead_out_of_the_package(text: str) -> None:
    """Without SHA-256s too."""
    file = ManifestFile(lambda offset, size: text.encode()[offset : offset + size], "k.fatbin.json", check=False)
    with pytest.raises(ImageError, match=r"^k\.fatbin\.json is not a cuda-wheel manifest: "):
        file.manifest(())


def test_a_load_reads_no_more_than_a_manifest_may_have(monkeypatch: pytest.MonkeyPatch) -> None:
    text = manifest_text(MANIFEST).encode()
    head = text.index(b', "kernels"')
    monkeypatch.setattr("cuda_wheel.runtime.manifest.LARGEST", head + 100)  # and the kernel has more bytes
    with pytest.raises(ImageError, match="bytes, more than the "):
        ManifestFile(lambda offset, size: text[offset : offset + size], "k.fatbin.json")


def test_a_long_reason_is_cut() -> None:
    with pytest.raises(ImageError) as caught:
        manifest_of(changed("fatbin", "sha256", to="x" * 1000), "k")
    assert str(caught.value) == "k is not a cuda-wheel manifest: ValueError: '" + "x" * 287 + "..."


# --- laws -----------------------------------------------------------------------------------------

texts = st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=9)
symbols = st.from_regex(r"[a-zA-Z_$%.][a-zA-Z0-9_$.]{0,9}", fullmatch=True)
sizes = st.integers(0, (1 << 48) - 1)
hashes = st.text("0123456789abcdef", min_size=64, max_size=64)
targets = st.builds(Target, st.integers(1, 9999), st.integers(0, 9), st.sampled_from(["", "a", "f"]), st.booleans())
versions = st.tuples(st.integers(0, 99999), st.integers(0, 99999))
variables = st.builds(GlobalInfo, texts, symbols, st.sampled_from(["global", "constant", "managed"]), sizes)
externs = st.builds(External, texts, symbols, texts)


@st.composite
def stored_images(draw: st.DrawFn) -> tuple[Image, ...]:
    images, end = [], 0
    for target in draw(st.lists(targets, max_size=4, unique=True)):
        kind = "cubin" if target.real else draw(st.sampled_from(["ptx", "ltoir"]))
        offset, size = end + draw(st.integers(0, 9)), draw(st.integers(1, 99))
        end = offset + size
        version, compiled = (draw(versions), draw(versions)) if kind == "ptx" else (None, None)
        resources = draw(st.dictionaries(texts, st.dictionaries(texts, sizes, max_size=2), max_size=2))
        source = draw(texts if kind == "ltoir" else st.none() | texts)
        driver = draw(versions)
        images.append(Image(kind, target, version, compiled, driver, offset, size, draw(hashes), resources, source))
    return tuple(images)


@st.composite
def stored_kernels(draw: st.DrawFn, images: tuple[Image, ...]) -> tuple[KernelInfo, ...]:
    kernels = []
    for symbol in draw(st.lists(symbols, max_size=3, unique=True)):
        parameters, end = [], 0
        for _ in range(draw(st.integers(0, 4))):
            offset, size = end + draw(st.integers(0, 9)), draw(st.integers(1, 999))
            end = offset + size
            parameters.append(Parameter(draw(texts), offset, size, draw(st.just("") | texts)))
        absent = tuple(str(image.target) for image in images if draw(st.booleans()))
        kernels.append(KernelInfo(draw(texts), symbol, tuple(parameters), absent))
    return tuple(kernels)


@st.composite
def manifests(draw: st.DrawFn) -> Manifest:
    images = draw(stored_images())
    return Manifest(
        name=draw(texts),
        fatbin=draw(symbols) + ".fatbin",
        fatbin_size=draw(st.integers(5000, (1 << 48) - 1)),
        fatbin_sha256=draw(hashes),
        toolchain=draw(st.dictionaries(texts, texts, max_size=2)) | {"nvrtc": "12.9.86"},
        sources=tuple(draw(st.lists(texts, max_size=3))),
        options=tuple(draw(st.lists(texts, max_size=3))),
        images=images,
        kernels=draw(stored_kernels(images)),
        globals=tuple(draw(st.lists(variables, max_size=3, unique_by=lambda variable: variable.symbol))),
        host_code=tuple(draw(st.lists(texts, max_size=3))),
        extern=tuple(draw(st.lists(externs, max_size=3))),
    )


@pytest.mark.slow
@given(manifests())
def test_every_manifest_reads_back_as_it_was_written(manifest: Manifest) -> None:
    text = manifest_text(manifest)
    assert manifest_of(text, "x") == manifest
    assert json.loads(text)["format"] == FORMAT


@pytest.mark.slow
@given(manifests(), st.data())
def test_a_manifest_with_a_changed_character_is_refused(manifest: Manifest, data: st.DataObject) -> None:
    text = manifest_text(manifest)
    place = data.draw(st.integers(0, len(text) - 1))
    damaged = text[:place] + data.draw(st.sampled_from('0x" ,{')) + text[place + 1 :]
    if damaged != text:
        with pytest.raises(ImageError):
            manifest_of(damaged, "x")
