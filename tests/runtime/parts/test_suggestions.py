"""Messages about names that a module, a package or this version does not know."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from cuda_wheel.builder.manifest_reader import manifest_of
from cuda_wheel.runtime.errors import ImageError
from cuda_wheel.runtime.parts.suggestions import module_not_found, other_format, unknown_name
from tests.support.projects import write_files

pytestmark = pytest.mark.one_toolchain

LETTERS = list("abcdefghij")
TWO = [SimpleNamespace(symbol="_Z1fi"), SimpleNamespace(symbol="_Z1ff")]


@pytest.mark.parametrize(
    ("name", "found", "names", "message"),
    [
        ("scal", [], ["scale", "blur"], "no variable 'scal'; did you mean scale?"),
        (
            "scale2",
            [],
            ["scale1", "scale3", "scale4", "scale5"],
            "no variable 'scale2'; did you mean scale5, scale4, scale3?",
        ),
        ("zoom", [], ["scale", "blur"], "no variable 'zoom'; it has scale, blur"),
        ("zoom", [], LETTERS[:8], "no variable 'zoom'; it has a, b, c, d, e, f, g, h"),
        ("zoom", [], LETTERS[:9], "no variable 'zoom'; it has a, b, c, d, e, f, g, h, ..."),
        ("zoom", [], [], "no variable 'zoom'; it has no variables"),
        ("f", TWO, ["f", "f"], "several variables 'f'; use the symbol instead: _Z1fi, _Z1ff"),
    ],
)
def test_a_name_that_a_module_lacks_is_answered_with_those_that_it_has(
    name: str, found: list[SimpleNamespace], names: list[str], message: str
) -> None:
    assert unknown_name("a.b", "variable", name, found, names) == f"a.b has {message}"


def test_a_module_that_is_not_found_is_answered_with_similar_ones_and_what_was_not_compiled(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    for folder, files in ((one, ["scale.fatbin.json", "scale.fatbin", "scales.py"]), (two, ["scala.cu", "scalp.cu"])):
        folder.mkdir()
        for file in files:
            (folder / file).touch()
    folders = [str(one), str(two), str(tmp_path / "away")]
    places = ", ".join(str(Path(folder, "scalp.fatbin.json")) for folder in folders)
    text = module_not_found("pkg.scalp", folders, ".fatbin.json")
    assert text.startswith(
        f"pkg.scalp has no images: looked for {places}. Did you mean scale, scala? scalp.cu is there, "
    )
    assert "but was not compiled" in text and "flit build and maturin build do not ask it" in text
    text = module_not_found("pkg.other", [str(one)], ".fatbin.json")
    assert text == f"pkg.other has no images: looked for {one / 'other.fatbin.json'}."
    for file in ("b.fatbin.json", "a.cu", "a.fatbin.json", "c.py"):
        write_files(one, **{f"kernels/{file}": ""})
    text = module_not_found("pkg.kernels", [str(one), str(two)], ".fatbin.json")
    assert text == "pkg.kernels is a package, not a module: its modules are pkg.kernels.a, pkg.kernels.b."
    text = module_not_found("pkg.sub.other", [], ".fatbin.json")
    assert text == "pkg.sub.other has no images: looked for other.fatbin.json through the importer of pkg.sub."


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            '{\n "extern": [],\n "format": 1,\n "globals": []\n}\n',
            "k was written by a version of cuda-wheel before its first release, in manifest format 1; this version reads "
            "format 4 only. Build the package again with the installed version of cuda-wheel.",
        ),
        (
            '{"format": 3, "sha256": "00", "manifest":\n{}\n}',
            "k was written by a version of cuda-wheel before its first release, in manifest format 3; this version reads "
            "format 4 only. Build the package again with the installed version of cuda-wheel.",
        ),
        (
            '{"format": 5, "cuda_wheel": "2.0.1", "more": 1}',
            "k was written by cuda-wheel 2.0.1, in manifest format 5; this version reads format 4 only. Install "
            "cuda-wheel 2.0.1 or later to load it.",
        ),
        (
            '{"format": 17, "other": 1}',
            "k was written by a later version of cuda-wheel, in manifest format 17; this version reads format 4 only. "
            "Upgrade cuda-wheel to load it.",
        ),
    ],
)
def test_another_format_is_named_with_its_writer_and_what_to_do(text: str, message: str) -> None:
    with pytest.raises(ImageError) as caught:
        manifest_of(text, "k")
    assert str(caught.value) == message


@pytest.mark.parametrize("start", [b"", b"\x7fELF\x02", b"{}", b'{"format": 4, "other": 1}', b'{"format": 0, "x": 1}'])
def test_what_is_no_manifest_of_any_version_is_quoted(start: bytes) -> None:
    assert other_format(start, "k", 4) == f"k is not a cuda-wheel manifest: it starts with {start!r}"
    assert other_format(start + b"x" * 99, "k", 4).endswith(f"{(start + b'x' * 99)[:40]!r}")
