"""Manifests of many kernels: what is asked for is read, what is read is checked, and every name finds its kernel."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from cuda_wheel.builder.manifest_reader import manifest_of
from cuda_wheel.builder.manifest_writer.text import manifest_text
from cuda_wheel.runtime import files, loading
from cuda_wheel.runtime.errors import ImageError, UnknownKernelError
from cuda_wheel.runtime.files import ModuleFiles
from cuda_wheel.runtime.manifest import USUAL_SIZE, Image, KernelInfo, Manifest, Parameter, Target
from cuda_wheel.runtime.module import Module
from cuda_wheel.runtime.parts.dtypes import Field, Struct
from tests.support.driver import Driver

pytestmark = pytest.mark.one_toolchain

COUNT = 300
PAIR = Struct("ns::Pair", 8, (Field("x", "f4", 0), Field("y", "f4", 4)))
CODE = b"\x7fELF" + bytes(60)


def many(*more: KernelInfo) -> Manifest:
    """Return a manifest of instances of a template, of a plain kernel, and of two kernels that share a name."""
    parameters = (Parameter("u64", 0, 8, "const float*", "größe"), Parameter("b8", 8, 8, "ns::Pair", "p", PAIR))
    kernels = (
        *(KernelInfo(f"ns::gemm<float, {n}>", f"_ZN2ns4gemmIfLi{n}EEv", parameters) for n in range(COUNT)),
        KernelInfo("plain", "plain", (), ("compute_90",)),
        KernelInfo("a::twice", "_ZN1a5twiceEv", ()),
        KernelInfo("b::twice", "_ZN1b5twiceEv", ()),
        *more,
    )
    resources = {kernel.symbol: {"registers": n} for n, kernel in enumerate(kernels) if n % 3}
    images = (
        Image("cubin", Target.parse("sm_80"), None, None, (12, 0), 0, len(CODE), files.sha256_of(CODE), resources),
        Image("ptx", Target.parse("compute_90"), (7, 8), (8, 8), (11, 8), 100, 9, "b" * 64, {"other": {"x": 1}}),
    )
    toolchain = {"nvrtc": "12.9.86"}
    return Manifest("demo.many", "many.fatbin", 200, "f" * 64, toolchain, ("many.cu",), (), images, kernels)


class Memory(ModuleFiles):
    """A module's files in memory, which count what is read of the manifest."""

    def __init__(self, text: bytes) -> None:
        super().__init__("many.fatbin.json", None, contents={"many.fatbin.json": text, "many.fatbin": CODE.ljust(200)})
        self.bytes_read = 0

    def read(self, file: str, offset: int = 0, size: int | None = None) -> bytes:
        content = super().read(file, offset, size)
        self.bytes_read += len(content) if file.endswith(".json") else 0
        return content


@pytest.fixture
def load(use: Callable[..., Driver], monkeypatch: pytest.MonkeyPatch) -> Callable[[bytes], tuple[Module, Memory]]:
    """Return a function that loads the module whose manifest has a text, and returns its files too."""

    def load(text: bytes) -> tuple[Module, Memory]:
        use((8, 0))
        memory = Memory(text)
        monkeypatch.setattr(files, "find_files", lambda *_: memory)
        return loading.load("demo.many"), memory

    return load


def found(text: bytes, monkeypatch: pytest.MonkeyPatch) -> Manifest:
    """Return the manifest of the module whose manifest has a text."""
    monkeypatch.setattr(files, "find_files", lambda *_: Memory(text))
    return files.files_and_manifest("demo.many", None)[1]


def test_many_kernels_are_written_in_blocks_and_read_back() -> None:
    manifest = many()
    text = manifest_text(manifest)
    document = json.loads(text)
    assert len(document["kernels"]) > 2
    images = document["module"]["images"]
    assert [image["resources"] for image in images] == [{}, {"other": {"x": 1}}]
    for given in (text, text.encode()):
        assert manifest_of(given, "x") == manifest
    assert manifest_text(manifest_of(text, "x")) == text


def test_few_kernels_are_one_block() -> None:
    few = many()._replace(kernels=many().kernels[:5])
    few = few._replace(images=tuple(image._replace(resources={}) for image in few.images))
    assert len(json.loads(manifest_text(few))["kernels"]) == 1


def test_a_symbol_that_is_another_kernels_name_is_in_the_same_block() -> None:
    odd = many(KernelInfo("strange", "sly", ()), KernelInfo("c::sly", "_ZN1c3slyEv", ()))
    assert len(json.loads(manifest_text(odd))["kernels"]) == 1
    assert len(json.loads(manifest_text(many(KernelInfo("strange", "sly", ()))))["kernels"]) > 2


def test_a_kernel_is_found_by_each_of_its_names_and_little_is_read(load: Any) -> None:
    manifest = many()
    text = manifest_text(manifest).encode()
    blocks = [0, *(size for size, _ in json.loads(text)["module"]["blocks"])]  # 0: read with the head
    for number, form in enumerate(
        2 * ("ns::gemm<float, {}>", "gemm<float,{}>", "gemm< float, {} >", "ns::gemm<float,{}>")
    ):
        module, memory = load(text)
        before, name = memory.bytes_read, form.format(number)
        assert before <= USUAL_SIZE and len(module) == COUNT + 3
        assert module[name].info == manifest.kernels[number]
        assert memory.bytes_read - before in blocks
        assert module[f" {name}"] is module[name]
        assert memory.bytes_read - before in blocks  # and no block twice
        assert module[name] is module[f"_ZN2ns4gemmIfLi{number}EEv"]  # which reads the others
        assert module.manifest.kernels[number] is module[name].info
        assert [info.name for info in module.manifest.kernels] == [info.name for info in manifest.kernels]
    module, _ = load(text)
    assert module["gemm<float, (int)7>"].info == manifest.kernels[7]
    assert module["plain"].symbol == "plain"
    assert list(module) == [info.name for info in manifest.kernels]
    assert "gemm<float, 300>" not in module
    for name, message in (("twice", "several kernels 'twice'"), ("gem", "no kernel 'gem'")):
        with pytest.raises(UnknownKernelError, match=message):
            module[name]


def test_what_is_read_later_equals_what_is_read_at_once(load: Any) -> None:
    manifest = many()
    module, _ = load(manifest_text(manifest).encode())
    assert tuple(module.manifest.kernels) == manifest.kernels
    assert module.manifest.kernels[1] == manifest.kernels[1] and module.manifest.kernels[-2:] == manifest.kernels[-2:]
    for found, image in zip(module.manifest.images, manifest.images, strict=True):
        assert found.resources == dict(image.resources) and len(found.resources) == len(image.resources)
    rest = module.manifest._replace(kernels=manifest.kernels, images=manifest.images)
    assert rest == manifest


@pytest.mark.parametrize("check", ["on", "off"])
def test_damage_is_found_where_it_is_read(check: str, load: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    text = manifest_text(many()).encode()
    monkeypatch.setenv("CUDA_WHEEL_VERIFY", check)
    block = text.index(b"\n[") + 1
    damaged = text[:block] + text[block:].replace(b"gemm", b"germ")
    if check == "off":
        assert found(damaged, monkeypatch).kernels[7].name == "ns::germ<float, 7>"
        return
    module, _ = load(damaged)
    with pytest.raises(ImageError, match="is damaged, or was changed after it was loaded"):
        module["gemm<float, 7>"]
    with pytest.raises(ImageError, match="is damaged, or was changed after it was loaded"):
        manifest_of(damaged, "x")
    with pytest.raises(ImageError, match="is damaged: its SHA-256"):
        load(text.replace(b'"fatbin":{', b'"fatbin": {'))


@pytest.mark.parametrize("at", range(0, 1000, 37))
def test_no_changed_byte_passes_for_the_manifest(at: int, load: Any) -> None:
    text = manifest_text(many()).encode()
    place = len(text) * at // 1000
    damaged = text[:place] + bytes([text[place] ^ 1]) + text[place + 1 :]
    with pytest.raises(ImageError):
        manifest_of(damaged, "x")
    with pytest.raises(ImageError):
        module, _ = load(damaged)
        tuple(module.manifest.kernels)


def test_what_is_around_the_blocks_is_checked_too() -> None:
    text = manifest_text(many())
    digest = json.loads(text)["sha256"]
    for changed in (text.replace(', "kernels"', ',  "kernels"'), text.replace(digest, digest[::-1])):
        assert changed != text
        with pytest.raises(ImageError, match="SHA-256 is not the one"):
            manifest_of(changed, "x")


def test_a_manifest_may_have_much_besides_its_kernels(load: Any) -> None:
    options = tuple(f"--define-macro=M{number}=1" for number in range(4000))
    manifest = many()._replace(options=options)
    text = manifest_text(manifest).encode()
    assert text.index(b"\n[") > USUAL_SIZE
    module, _ = load(text)
    assert module.manifest.options == options
    assert module["gemm<float, 7>"].info == manifest.kernels[7]


def test_a_cut_manifest_is_refused(load: Any) -> None:
    text = manifest_text(many()).encode()
    for end in (30, 200, len(text) // 2):
        with pytest.raises(ImageError):
            module, _ = load(text[:end])
            tuple(module.manifest.kernels)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (b'"absent":["compute_90"]', b'"absent":["sm_70"]', "plain is absent from sm_70"),
        (b'"symbol":"plain"', b'"symbol":"a b"', "'a b' is not a symbol"),
    ],
)
def test_a_wrong_kernel_is_refused_even_unchecked(old: bytes, new: bytes, message: str) -> None:
    text = manifest_text(many()).encode()
    new = new.ljust(len(old))  # each block keeps its place
    with pytest.raises(ImageError, match=message):
        manifest_of(text.replace(old, new), "x", check=False)
