"""The text of a manifest with many kernels: it is written in blocks, and read back as it was."""

from __future__ import annotations

import json

import pytest

from cuda_wheel.builder.manifest_reader import manifest_of
from cuda_wheel.builder.manifest_writer.text import manifest_text
from cuda_wheel.runtime.errors import ImageError
from cuda_wheel.runtime.manifest import KernelInfo
from tests.support.manifests import many_kernels

pytestmark = pytest.mark.one_toolchain


def test_many_kernels_are_written_in_blocks_and_read_back() -> None:
    manifest = many_kernels()
    text = manifest_text(manifest)
    document = json.loads(text)
    assert len(document["kernels"]) > 2
    images = document["module"]["images"]
    assert [image["resources"] for image in images] == [{}, {"other": {"x": 1}}]
    for given in (text, text.encode()):
        assert manifest_of(given, "x") == manifest
    assert manifest_text(manifest_of(text, "x")) == text


def test_few_kernels_are_one_block() -> None:
    few = many_kernels()._replace(kernels=many_kernels().kernels[:5])
    few = few._replace(images=tuple(image._replace(resources={}) for image in few.images))
    assert len(json.loads(manifest_text(few))["kernels"]) == 1


def test_a_symbol_that_is_another_kernels_name_is_in_the_same_block() -> None:
    odd = many_kernels(KernelInfo("strange", "sly", ()), KernelInfo("c::sly", "_ZN1c3slyEv", ()))
    assert len(json.loads(manifest_text(odd))["kernels"]) == 1
    assert len(json.loads(manifest_text(many_kernels(KernelInfo("strange", "sly", ()))))["kernels"]) > 2


def test_what_is_around_the_blocks_is_checked_too() -> None:
    text = manifest_text(many_kernels())
    digest = json.loads(text)["sha256"]
    for changed in (text.replace(', "kernels"', ',  "kernels"'), text.replace(digest, digest[::-1])):
        assert changed != text
        with pytest.raises(ImageError, match="SHA-256 is not the one"):
            manifest_of(changed, "x")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (b'"absent":["compute_90"]', b'"absent":["sm_70"]', "plain is absent from sm_70"),
        (b'"symbol":"plain"', b'"symbol":"a b"', "'a b' is not a symbol"),
    ],
)
def test_a_wrong_kernel_is_refused_even_unchecked(old: bytes, new: bytes, message: str) -> None:
    text = manifest_text(many_kernels()).encode()
    new = new.ljust(len(old))  # each block keeps its place
    with pytest.raises(ImageError, match=message):
        manifest_of(text.replace(old, new), "x", check=False)
