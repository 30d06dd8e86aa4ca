"""Modules with many kernels: what is asked for is read, what is read is checked, and every name finds its kernel."""

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
from cuda_wheel.runtime.manifest import USUAL_SIZE, Manifest
from cuda_wheel.runtime.module import Module
from cuda_wheel.runtime.parts.many_kernels import block_number
from tests.support.driver import Driver
from tests.support.manifests import CODE, KERNELS, many_kernels

pytestmark = pytest.mark.one_toolchain


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


def test_a_kernel_is_found_by_each_of_its_names_and_little_is_read(load: Any) -> None:
    manifest = many_kernels()
    text = manifest_text(manifest).encode()
    blocks = [0, *(size for size, _ in json.loads(text)["module"]["blocks"])]  # 0: read with the head
    for number, form in enumerate(
        2 * ("ns::gemm<float, {}>", "gemm<float,{}>", "gemm< float, {} >", "ns::gemm<float,{}>")
    ):
        module, memory = load(text)
        before, name = memory.bytes_read, form.format(number)
        assert before <= USUAL_SIZE and len(module) == KERNELS + 3
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
    manifest = many_kernels()
    module, _ = load(manifest_text(manifest).encode())
    assert tuple(module.manifest.kernels) == manifest.kernels
    assert module.manifest.kernels[1] == manifest.kernels[1] and module.manifest.kernels[-2:] == manifest.kernels[-2:]
    for found, image in zip(module.manifest.images, manifest.images, strict=True):
        assert found.resources == dict(image.resources) and len(found.resources) == len(image.resources)
    rest = module.manifest._replace(kernels=manifest.kernels, images=manifest.images)
    assert rest == manifest


@pytest.mark.parametrize("check", ["on", "off"])
def test_damage_is_found_where_it_is_read(check: str, load: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    text = manifest_text(many_kernels()).encode()
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
    text = manifest_text(many_kernels()).encode()
    place = len(text) * at // 1000
    damaged = text[:place] + bytes([text[place] ^ 1]) + text[place + 1 :]
    with pytest.raises(ImageError):
        manifest_of(damaged, "x")
    with pytest.raises(ImageError):
        module, _ = load(damaged)
        tuple(module.manifest.kernels)


def test_a_manifest_may_have_much_besides_its_kernels(load: Any) -> None:
    options = tuple(f"--define-macro=M{number}=1" for number in range(4000))
    manifest = many_kernels()._replace(options=options)
    text = manifest_text(manifest).encode()
    assert text.index(b"\n[") > USUAL_SIZE
    module, _ = load(text)
    assert module.manifest.options == options
    assert module["gemm<float, 7>"].info == manifest.kernels[7]


def test_a_cut_manifest_is_refused(load: Any) -> None:
    text = manifest_text(many_kernels()).encode()
    for end in (30, 200, len(text) // 2):
        with pytest.raises(ImageError):
            module, _ = load(text[:end])
            tuple(module.manifest.kernels)


def test_nothing_is_read_twice(load: Any) -> None:
    module, memory = load(manifest_text(many_kernels()).encode())
    kernels = module.manifest.kernels
    for read in (
        lambda: [kernels.near(f"gemm<float,{number}>") for number in range(KERNELS)],
        lambda: (tuple(kernels), [len(image.resources) for image in module.manifest.images]),
    ):
        before, first = memory.bytes_read, read()
        after = memory.bytes_read
        assert after > before
        assert read() == first and memory.bytes_read == after


@pytest.mark.parametrize(
    ("name", "numbers"), [("gemm<float,7>", (1, 6, 507)), ("plain", (0, 4, 30)), ("größe", (1, 3, 519))]
)
def test_the_block_of_a_name_never_changes(name: str, numbers: tuple[int, ...]) -> None:
    """Later versions read the wheels of earlier ones. The number is that of the SHA-256's first 48 bits."""
    assert tuple(block_number(name, blocks) for blocks in (2, 7, 1000)) == numbers
    assert block_number(name, 1) == 0
