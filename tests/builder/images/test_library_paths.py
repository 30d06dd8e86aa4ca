"""No image contains the path of a library outside the project."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cuda_wheel.builder.errors import CompileError
from cuda_wheel.builder.images.library_paths import check_library_paths
from cuda_wheel.builder.jobs import EMPTY

pytestmark = pytest.mark.one_toolchain


def listed(text: bytes, separator: str = ", ") -> bytes:
    """Return a string as PTX has it: a list of numbers."""
    return b".global .align 1 .b8 $str[99] = {" + separator.join(map(str, text)).encode() + b"};\n"


@pytest.mark.parametrize(
    ("compiled", "header"),
    [
        (replace(EMPTY, ptx=listed(b"/opt/lib/a/b.h\0")), "a/b.h"),
        (replace(EMPTY, ptx=listed(b"in /opt/lib/a.h\0more", ",\n")), "a.h"),
        (replace(EMPTY, ptx=listed("/opt/lib/ü.h\0".encode())), "ü.h"),
        (replace(EMPTY, cubin=b"\x7fELF /opt/lib/a.h"), "a header in /opt/lib"),
        (replace(EMPTY, ltoir=b"/opt/lib/a.h"), "a header in /opt/lib"),
    ],
)
def test_a_path_below_the_folder_is_an_error_that_names_the_header(compiled, header: str) -> None:
    with pytest.raises(CompileError) as failure:
        check_library_paths("demo/k.cu", ["/usr/x", "/opt/lib"], compiled)
    assert str(failure.value).startswith(
        f"demo/k.cu: the image would contain the path of {header}, which __FILE__ gives"
    )


@pytest.mark.parametrize("end", [b"/a.h", b"\0"])
def test_a_path_in_line_information_is_an_error_that_says_so(end: bytes) -> None:
    compiled = replace(EMPTY, cubin=b"\x7fELF /opt/lib" + end)
    with pytest.raises(CompileError, match=r"^demo\.k: the line information .* paths in /opt/lib, .* lineinfo = false"):
        check_library_paths("demo.k", ["/opt/lib"], compiled, lineinfo=True)
    check_library_paths("demo.k", ["/opt/li", "/opt/lib/"[:-1] + "x"], compiled, lineinfo=True)


@pytest.mark.parametrize(
    "compiled",
    [
        EMPTY,
        replace(EMPTY, ptx=listed(b"/opt/library/a.h\0"), cubin=b"/opt/library/a.h"),  # another folder
        replace(EMPTY, ptx=b"// /opt/lib/a.h\n"),  # a comment, which no assembler keeps
    ],
)
def test_other_results_pass(compiled) -> None:
    check_library_paths("k.cu", ["/opt/lib"], compiled)
    check_library_paths("k.cu", [], replace(compiled, cubin=b"/opt/lib/a.h"))
