"""What can be linked: the pieces that values become, and the symbols that they share."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import cuda_wheel as package
from cuda_wheel import ImageError, JitOptions, LinkError, LinkInput
from cuda_wheel.runtime.parts.linking.inputs import link_input_of
from tests.support.linkable import APPLY, USER, compiled, piece

# --- pieces --------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["ptx", "ltoir", "cubin"])
def test_bytes_and_files_are_recognised_by_their_first_bytes(kind: str, tmp_path: Path) -> None:
    content = compiled(USER, kind, "90" if kind == "cubin" else "80")
    assert link_input_of(content)[:2] == (kind, f"piece.{kind}")
    path = tmp_path / "unknown.suffix"
    path.write_bytes(content)
    assert link_input_of(path)[:2] == (kind, "unknown.suffix")
    assert link_input_of(str(path)).kind == kind


@pytest.mark.parametrize(
    ("value", "kind", "name"),
    [
        (USER, "cuda", "piece.cu"),
        (".version 8.0\n.target sm_80\n.address_size 64\n", "ptx", "piece.ptx"),
        (b"// a comment\n.version 8.0\n.target sm_80\n\0", "ptx", "piece.ptx"),
        (b"\x7fELF\2\1\1" + bytes(11) + b"\x3e\0" + bytes(44), "object", "piece.o"),
        (b"\x50\xed\x55\xba" + bytes(12), "fatbin", "piece.fatbin"),
        (b"!<arch>\nxxxx", "library", "piece.a"),
        (b"\x64\x86" + bytes(20), "object", "piece.o"),
        ("lib.kernels.apply", "module", "lib.kernels.apply"),
        ((USER, "float32"), "cuda", "piece.cu"),
        (LinkInput("cuda", "mine.cu", USER.encode()), "cuda", "mine.cu"),
        (SimpleNamespace(code=b"!<arch>\nxxxx", code_type="library", name="/somewhere/math"), "library", "math"),
    ],
)
def test_every_value_becomes_the_right_piece(value: Any, kind: str, name: str) -> None:
    assert link_input_of(value)[:2] == (kind, name)


def test_the_output_of_numba_is_named_after_its_function() -> None:
    text = compiled('extern "C" __device__ float user_transform(float x) { return x; }', "ptx").decode()
    assert link_input_of((text, None))[:2] == ("ptx", "user_transform.ptx")
    assert link_input_of((compiled(USER, "ltoir"), None)).kind == "ltoir"


def test_a_path_of_cuda_cpp_knows_its_folder(tmp_path: Path) -> None:
    (tmp_path / "u.cu").write_text(USER)
    assert link_input_of(str(tmp_path / "u.cu")) == LinkInput("cuda", "u.cu", USER.encode(), str(tmp_path))


def test_an_object_code_may_be_a_path(tmp_path: Path) -> None:
    (tmp_path / "u.ptx").write_bytes(compiled(USER, "ptx"))
    found = link_input_of(SimpleNamespace(code=str(tmp_path / "u.ptx"), code_type="ptx", name=""))
    assert found[:2] == ("ptx", "u.ptx")


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("nowhere.cu", r"nowhere\.cu to link cannot be read in .*: No such file"),
        ("nowhere", "'nowhere' is not a program, a file with a known suffix"),
        ("", "an empty string"),
        (b"\0\0", "is empty"),
        (b"\1\2\xff\xfe", r"begins with b'\\x01\\x02\\xff\\xfe', which no kind does: a piece is"),
        (3, "cannot link int: a piece is"),
        ((1, 2, 3), "cannot link a tuple of 3: a piece is"),
        (LinkInput("cubin", "u.cubin", USER.encode()), r"u\.cubin to link should be a cubin, but is CUDA C\+\+"),
        (LinkInput("bubin", "u", b"x"), "of kind 'bubin'; the kinds of pieces are"),  # type: ignore[arg-type]
        (SimpleNamespace(code=b"x", code_type="nvvm", name=""), "an ObjectCode of type 'nvvm' cannot be linked"),
    ],
)
def test_a_value_that_cannot_be_a_piece_is_reported(value: Any, message: str) -> None:
    with pytest.raises(ImageError, match=message):
        link_input_of(value)


def test_an_empty_file_is_reported(tmp_path: Path) -> None:
    (tmp_path / "u.ptx").touch()
    with pytest.raises(ImageError, match=r"u\.ptx to link is empty"):
        link_input_of(tmp_path / "u.ptx")


# --- symbols --------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("base", ["cuda", "ptx"])
@pytest.mark.parametrize("lto", [True, False])
@pytest.mark.parametrize(
    ("other", "signatures"),
    [
        ("double user_transform(double x)", r"\(8\) -> \(8\) bytes, not \(4\) -> \(4\) bytes"),
        ("float user_transform(float x, int n)", r"\(4, 4\) -> \(4\) bytes, not \(4\) -> \(4\) bytes"),
        ("void user_transform(float x)", r"\(4\) -> \(\) bytes, not \(4\) -> \(4\) bytes"),
    ],
)
def test_a_call_of_an_extern_c_function_with_another_signature_is_refused(
    other: str, signatures: str, lto: bool, base: str
) -> None:
    body = "{ return; }" if other.startswith("void") else "{ return x; }"
    user = f'extern "C" __device__ {other} {body}'
    if base == "ptx" and lto:
        base = "cuda"
    with pytest.raises(
        LinkError,
        match=rf"user_transform has another signature in user\.cu than in lib.*, which calls it: {signatures}",
    ):
        package.link(
            [piece(APPLY, base, "lib"), LinkInput("cuda", "user.cu", user.encode())], arch="90", jit=JitOptions(lto=lto)
        )
