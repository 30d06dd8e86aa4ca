"""The manifest: what is written is read, and what is not a manifest is refused in words."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cuda_wheel.builder.manifest_reader import manifest_of
from cuda_wheel.builder.manifest_writer.text import manifest_text, manifest_to_json
from cuda_wheel.runtime.errors import ImageError
from cuda_wheel.runtime.manifest import (
    FORMAT,
    LARGEST,
    PARAMETERS,
    External,
    GlobalInfo,
    Image,
    KernelInfo,
    Manifest,
    ManifestFile,
    Parameter,
    Target,
)
from cuda_wheel.runtime.parts.dtypes import Field, Struct
from tests.support.manifests import text_of

pytestmark = pytest.mark.one_toolchain

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

_INNER = Struct("ns::Inner", 8, (Field("x", "f4", 0, (2,)), Field("both", "u8", 0)))

_OUTER = Struct("Outer", 24, (Field("inner", "ns::Inner", 0, (2,), _INNER), Field("n", "i4", 16)))

_NAMESAKE = Struct("Outer", 16, (Field("flag", "?", 0), Field("inner", "ns::Inner", 8, (), _INNER)))

STRUCTS = MANIFEST._replace(
    kernels=(
        KernelInfo(
            "k", "k", (Parameter("b8", 0, 24, "Outer", "p", _OUTER), Parameter("b8", 24, 16, "Outer", "q", _NAMESAKE))
        ),
    ),
    images=tuple(image._replace(resources={}) for image in MANIFEST.images),
)

PACKED = MANIFEST._replace(images=tuple(image._replace(offset=None) for image in MANIFEST.images), compression="zstd")


RELOCATABLE = MANIFEST._replace(
    images=(
        Image("cubin", Target.parse("sm_80"), None, None, (12, 0), 0, 1, "a" * 64, {"k": {"max_threads": 96}}, "a.cu"),
        Image("ptx", Target.parse("compute_100f"), (8, 8), (9, 0), (12, 9), 1, 499, "b" * 64, {}, "a.cu"),
        Image("ltoir", Target.parse("compute_90a"), None, None, (12, 0), 500, 500, "c" * 64, {}, "b.cu"),
    ),
    kernels=(
        KernelInfo("k", "k$0", (Parameter("b8", 0, PARAMETERS - 1, "Pair"), Parameter("u8", PARAMETERS - 1, 1)), ()),
    ),
    globals=tuple(
        GlobalInfo(name, name, space, size)
        for name, space, size in [("a", "global", 0), ("b", "constant", 1), ("c", "managed", (1 << 48) - 1)]
    ),
    host_code=("a.cu:12-40: function main", "b.cu:3: <iostream>"),
    extern=(External("user::f(int)", "_ZN4user1fEi", "int user::f(int)"),),
)


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


def test_a_manifest_that_was_changed_is_damaged() -> None:
    text = manifest_text(MANIFEST)
    for changed in (text.replace('"compute_80"', '"compute_75"'), text.replace('"cuda_wheel": "0', '"cuda_wheel": "1')):
        assert changed != text
        with pytest.raises(ImageError, match=r"^k is damaged: its SHA-256 is not the one .* Reinstall the package"):
            manifest_of(changed, "k")
        assert manifest_of(changed, "k", check=False).name == MANIFEST.name
    with pytest.raises(ImageError, match=r"^k is damaged, or was changed after it was loaded: "):
        manifest_of(text.replace('"index":0', '"index":1'), "k")
    for changed in (text + " ", text[:-1], text.replace("\n", "\r\n"), text.replace("\n]}", ",\n[]\n]}")):
        with pytest.raises(ImageError):
            manifest_of(changed, "k")


def test_more_than_a_manifest_may_have_is_not_read() -> None:
    with pytest.raises(ImageError, match="it has 67108865 bytes, more than the 67108864 that a manifest may have"):
        manifest_of(b" " * (LARGEST + 1), "k")


def changed(*path: Any, to: Any) -> str:
    place = document = manifest_to_json(MANIFEST)
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = to
    return text_of(document)


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
            "ValueError: the image ('cubin', Target(major=9, minor=0, suffix='a', real=True), None) appears twice",
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


def test_a_long_reason_is_cut() -> None:
    with pytest.raises(ImageError) as caught:
        manifest_of(changed("fatbin", "sha256", to="x" * 1000), "k")
    assert str(caught.value) == "k is not a cuda-wheel manifest: ValueError: '" + "x" * 287 + "..."


def test_the_first_image_may_begin_with_the_fatbin() -> None:
    first, second = MANIFEST.images
    moved = MANIFEST._replace(images=(first._replace(offset=0, size=500), second))
    assert manifest_of(manifest_text(moved), "k") == moved


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
