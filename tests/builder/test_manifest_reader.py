"""A whole manifest is read with every value checked; anything else is refused with the file and the reason."""

from __future__ import annotations

import re
from typing import Any

import pytest

from cuda_wheel.builder.manifest_reader import all_manifests, manifest_of
from cuda_wheel.builder.manifest_writer.text import manifest_text, manifest_to_json
from cuda_wheel.runtime.errors import ImageError, UnknownVariantError
from cuda_wheel.runtime.manifest import LARGEST, PARAMETERS, Manifest, Target
from tests.support.manifests import text_of
from tests.support.whole_manifests import MANIFEST, PACKED, RELOCATABLE, STRUCTS, changed

pytestmark = pytest.mark.one_toolchain


def test_a_manifest_may_not_say_the_size_of_a_long() -> None:
    assert manifest_of(manifest_text(MANIFEST._replace(long_size=None)), "x").long_size is None


def test_a_compressed_image_has_no_place_of_its_own() -> None:
    for compression in ("lz4", "zstd"):
        packed = PACKED._replace(compression=compression)
        assert manifest_of(manifest_text(packed), "x") == packed


@pytest.mark.parametrize(
    ("manifest", "compression"), [(MANIFEST, "lz4"), (PACKED, "none"), (PACKED, "gzip"), (PACKED, []), (PACKED, None)]
)
def test_a_compression_that_the_images_do_not_have_is_refused(manifest: Manifest, compression: Any) -> None:
    document = manifest_to_json(manifest)
    document["fatbin"]["compression"] = compression
    with pytest.raises(ImageError, match=r"x is not a cuda-wheel manifest: \w+Error: "):
        manifest_of(text_of(document), "x", check=False)


def test_images_of_the_same_bytes_have_the_same_place() -> None:
    first, second = MANIFEST.images
    third = first._replace(target=Target.parse("sm_90"))
    shared = MANIFEST._replace(images=(first, second, third))
    assert manifest_of(manifest_text(shared), "x") == shared


def test_the_first_image_may_begin_with_the_fatbin() -> None:
    first, second = MANIFEST.images
    moved = MANIFEST._replace(images=(first._replace(offset=0, size=500), second))
    assert manifest_of(manifest_text(moved), "k") == moved


def test_a_manifest_that_was_changed_is_damaged() -> None:
    text = manifest_text(MANIFEST)
    for damaged in (text.replace('"compute_80"', '"compute_75"'), text.replace('"cuda_wheel": "0', '"cuda_wheel": "1')):
        assert damaged != text
        with pytest.raises(ImageError, match=r"^k is damaged: its SHA-256 is not the one .* Reinstall the package"):
            manifest_of(damaged, "k")
        assert manifest_of(damaged, "k", check=False).name == MANIFEST.name
    with pytest.raises(ImageError, match=r"^k is damaged, or was changed after it was loaded: "):
        manifest_of(text.replace('"index":0', '"index":1'), "k")
    for damaged in (text + " ", text[:-1], text.replace("\n", "\r\n"), text.replace("\n]}", ",\n[]\n]}")):
        with pytest.raises(ImageError):
            manifest_of(damaged, "k")


def test_the_sha256_of_each_part_is_one_even_if_none_is_compared() -> None:
    text = manifest_text(MANIFEST)
    (digest,) = re.findall(r'"blocks": *\[\[\d+, *"(\w+)"\]\]', text)
    with pytest.raises(ImageError, match=f"'{'x' * 64}' is not a SHA-256"):
        manifest_of(text.replace(digest, "x" * 64), "k", check=False)


def test_more_than_a_manifest_may_have_is_not_read() -> None:
    with pytest.raises(ImageError, match="it has 67108865 bytes, more than the 67108864 that a manifest may have"):
        manifest_of(b" " * (LARGEST + 1), "k")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "null",
        "{",
        '{"format": 4',
        '{"format": 4, ',
        '{"format": "4", ',
        '{"format": 0, ',
        '{"format": 4, "cuda_wheel": "1", "size": 0, "sha256": "", "module":\n',
        "\0",
        "[" * 100_000,
        '{"a":' * 100_000,
        manifest_text(MANIFEST).encode("utf-16"),
        b"\xef\xbb\xbf" + manifest_text(MANIFEST).encode(),
        changed("name", to=""),
        changed("name", to=7),
        changed("fatbin", "file", to="../../../etc/passwd"),
        changed("fatbin", "file", to="/etc/passwd"),
        changed("fatbin", "file", to="..\\x.fatbin"),
        changed("fatbin", "file", to="."),
        changed("fatbin", "file", to=".."),
        changed("sources", to="k.cu"),
        changed("kernels", 0, "name", to="\x1b[31mred"),
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
        changed("images", to=2 * manifest_to_json(MANIFEST)["images"]),
        changed("images", to=""),
        changed("kernels", to={}),
        changed("kernels", to=2 * manifest_to_json(MANIFEST)["kernels"]),
        changed("kernels", 0, "symbol", to="k\u00e9"),
        changed("kernels", 0, "symbol", to="a b"),
        changed("kernels", 0, "symbol", to="0k"),
        changed("kernels", 0, "absent", to=["sm_75"]),  # for which there is no image
        changed("kernels", 0, "parameters", to=""),
        changed("kernels", 0, "parameters", 0, "size", to=0),
        changed("globals", 0, "symbol", to="[bold]"),
        changed("globals", to=2 * manifest_to_json(MANIFEST)["globals"]),
        changed("host_code", to=["\x1b[31m"]),
        changed("extern", to=[{"name": "f", "symbol": "f()", "declaration": "void f()"}]),
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
        manifest_of(text, "k.fatbin.json")


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
        "structs",
        "macros",
        "long_size",
        "specialize",
    ],
)
def test_every_part_is_needed(key: str) -> None:
    document = manifest_to_json(MANIFEST)
    del document[key]
    with pytest.raises(ImageError, match=key):
        manifest_of(text_of(document), "x")


SHORT_OF_ONE = "is not a size in bytes, or not of at least 1"
SHORT_OF_ZERO = "is not a size in bytes, or not of at least 0"


@pytest.mark.parametrize(
    ("path", "value", "reason"),
    [
        (["name"], "", "ValueError: '' is not a printable string"),
        (["name"], "a\nb", r"ValueError: 'a\nb' is not a printable string"),
        (["sources"], "k.cu", "ValueError: 'k.cu' is not a list"),
        (["fatbin", "file"], "a/b", "ValueError: fatbin file 'a/b' is not a file name without a folder"),
        (["fatbin", "size"], 0, f"ValueError: 0 {SHORT_OF_ONE}"),
        (["fatbin", "size"], 1 << 48, f"ValueError: {1 << 48} {SHORT_OF_ONE}"),
        (["fatbin", "sha256"], "X" * 64, f"ValueError: {'X' * 64!r} is not a SHA-256"),
        (["toolchain"], {}, "KeyError: 'nvrtc'"),
        (["toolchain", "nvrtc"], "12", "ValueError: version '12' does not have the form MAJOR.MINOR"),
        (["images", 0, "kind"], "ptx", "ValueError: a 'ptx' image cannot have the target sm_90a"),
        (["images", 1, "kind"], "cubin", "ValueError: a 'cubin' image cannot have the target compute_80"),
        (["images", 1, "kind"], "elf", "ValueError: a 'elf' image cannot have the target compute_80"),
        (["images", 0, "target"], "sm_9", "ValueError: 'sm_9' is not a target such as sm_90 or compute_90"),
        (["images", 0, "ptx_version"], "8.0", "ValueError: cubin sm_90a (PTX 8.0) has the PTX version (8, 0)"),
        (["images", 1, "ptx_version"], None, "ValueError: ptx compute_80 has the PTX version None"),
        (["images", 0, "size"], 0, f"ValueError: 0 {SHORT_OF_ONE}"),
        (["images", 0, "offset"], -1, f"ValueError: -1 {SHORT_OF_ZERO}"),
        (
            ["images", 0, "resources", "k", "\0"],
            1,
            r"ValueError: {'\x00': 1, 'registers': 32} has names that are not printable",
        ),
        (["images", 0, "resources", "k", "registers"], "a", f"ValueError: 'a' {SHORT_OF_ZERO}"),
        (["images", 0, "offset"], None, "ValueError: some images have an offset in the fatbin, others have none"),
        (
            ["images", 0, "size"],
            401,
            "ValueError: an image of 500 bytes starts at 500, where the one before ends at 501 and the fatbin at 1000",
        ),
        (
            ["images", 1, "size"],
            501,
            "ValueError: an image of 501 bytes starts at 500, where the one before ends at 500 and the fatbin at 1000",
        ),
        (["kernels", 0, "symbol"], "a b", "ValueError: 'a b' is not a symbol"),
        (
            ["kernels", 0, "parameters", 1, "offset"],
            7,
            "ValueError: a parameter of 4 bytes starts at 7, the one before ends at 8",
        ),
        (
            ["kernels", 0, "parameters", 1, "offset"],
            PARAMETERS - 3,
            f"ValueError: a parameter of 4 bytes starts at {PARAMETERS - 3}, the one before ends at 8",
        ),
        (["kernels", 0, "parameters", 1, "size"], 0, f"ValueError: 0 {SHORT_OF_ONE}"),
        (
            ["kernels", 0, "absent"],
            ["sm_90a", "sm_75"],
            "ValueError: gemm<float, 16> is absent from sm_90a, sm_75, but not all are images here",
        ),
        (["globals", 0, "space"], "shared", "ValueError: a variable has the memory space 'shared'"),
        (["globals", 0, "size"], "64", f"ValueError: '64' {SHORT_OF_ZERO}"),
    ],
)
def test_the_error_says_what_is_wrong(path: list[Any], value: Any, reason: str) -> None:
    with pytest.raises(ImageError) as caught:
        manifest_of(changed(*path, to=value), "k")
    assert str(caught.value) == f"k is not a cuda-wheel manifest: {reason}"


@pytest.mark.parametrize(
    ("path", "value", "reason"),
    [
        (
            ["structs", "ns::Inner", "fields", 0],
            {"name": "x", "offset": 0, "struct": "Outer #2"},
            "KeyError: 'ns::Inner'",
        ),
        (
            ["structs", "Outer #2", "fields", 0, "offset"],
            9,
            "ValueError: the field inner ends at 25 in a struct of 24 bytes",
        ),
        (
            ["structs", "Outer #2", "fields", 0, "shape"],
            [4],
            "ValueError: the field inner ends at 32 in a struct of 24 bytes",
        ),
        (["structs", "Outer #2", "fields", 0, "shape"], [0], f"ValueError: 0 {SHORT_OF_ONE}"),
        (["structs", "Outer #2", "fields", 0, "shape"], [1] * 33, "ValueError: a field has 33 dimensions"),
        (
            ["structs", "Outer #2", "fields"],
            [{"name": f"x{number}", "offset": 0, "type": "i4"} for number in range(PARAMETERS + 1)],
            f"ValueError: the struct Outer has {PARAMETERS + 1} fields with those of its structs",
        ),
        (["structs", "Outer #2", "fields", 1, "type"], "O8", "ValueError: 'O8' is not the type of a field"),
        (["structs", "Outer #2", "size"], 25, "ValueError: a parameter of 24 bytes is a struct of 25"),
        (["kernels", 0, "parameters", 0, "struct"], "Other", "KeyError: 'Other'"),
    ],
)
def test_structs_that_cannot_be_are_refused(path: list[Any], value: Any, reason: str) -> None:
    part = document = manifest_to_json(STRUCTS)
    for key in path[:-1]:
        part = part[key]
    part[path[-1]] = value
    with pytest.raises(ImageError) as caught:
        manifest_of(text_of(document), "k", check=False)
    assert str(caught.value) == f"k is not a cuda-wheel manifest: {reason}"


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        (
            ["images"],
            "ValueError: the image ('cubin', Target(major=9, minor=0, suffix='a', real=True), None, '') appears twice",
        ),
        (["kernels"], "ValueError: the symbol '_Z4gemmIfLi16EEvPT_' appears twice"),
        (["globals"], "ValueError: the symbol '_ZN2ns7weightsE' appears twice"),
    ],
)
def test_the_error_says_what_appears_twice(path: list[Any], reason: str) -> None:
    items = manifest_to_json(MANIFEST)[path[0]]
    with pytest.raises(ImageError) as caught:
        manifest_of(changed(*path, to=[*items, items[0]]), "k")
    assert str(caught.value) == f"k is not a cuda-wheel manifest: {reason}"


def test_what_appears_once_is_not_named() -> None:
    first, second = MANIFEST.images
    text = manifest_text(MANIFEST._replace(images=(first, second, second)))
    with pytest.raises(ImageError, match=r"the image \('ptx', .*\) appears twice$"):
        manifest_of(text, "k")


def test_lto_ir_belongs_to_a_source() -> None:
    (*_, ltoir) = RELOCATABLE.images
    text = manifest_text(RELOCATABLE._replace(images=(ltoir._replace(source=None),)))
    with pytest.raises(ImageError, match="ltoir compute_90a has no source, but LTO-IR must be linked"):
        manifest_of(text, "k")


# --- variants -------------------------------------------------------------------------------------

ONE, TWO = (
    MANIFEST._replace(name="pkg.kernels.gemm", variant=(("N", number),), fatbin_offset=1000 * (number - 1))
    for number in (1, 2)
)


def test_all_variants_are_read_in_their_order() -> None:
    assert all_manifests(manifest_text(ONE, TWO), "x") == (ONE, TWO)
    assert all_manifests(manifest_text(TWO._replace(fatbin_offset=0)).encode(), "x") == (TWO._replace(fatbin_offset=0),)
    assert all_manifests(manifest_text(MANIFEST), "x") == (MANIFEST,)


def test_one_manifest_is_not_read_from_a_module_with_variants() -> None:
    with pytest.raises(UnknownVariantError, match="x has variants: name the macros of one"):
        manifest_of(manifest_text(ONE, TWO), "x")


@pytest.mark.parametrize(
    ("manifests", "words"),
    [
        ([ONE, TWO._replace(variant=ONE.variant)], "appears twice"),
        ([TWO, ONE], "does not follow the one before it"),
        ([ONE, TWO._replace(fatbin_offset=999)], "does not follow the one before it"),
        ([ONE, TWO._replace(fatbin="other.fatbin")], "does not follow the one before it"),
        ([MANIFEST, TWO], "one of several variants has no macros"),
        ([ONE._replace(fatbin_offset=-1)], "-1 is not a size in bytes"),
        ([ONE._replace(variant=(("A B", 1),))], "is not a macro"),
    ],
)
def test_variants_that_contradict_each_other_are_refused(manifests: list[Manifest], words: str) -> None:
    with pytest.raises(ImageError, match=words):
        all_manifests(manifest_text(*manifests), "x")


def test_a_changed_macro_is_damage() -> None:
    text = manifest_text(ONE, TWO)
    with pytest.raises(ImageError, match=r"x is damaged: its SHA-256 is not the one"):
        all_manifests(text.replace('"N"', '"M"'), "x")
