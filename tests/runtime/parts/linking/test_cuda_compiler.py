"""NVRTC on the user's machine: which texts may use the clock, and which headers are found."""

from __future__ import annotations

from pathlib import Path

import pytest

import cuda_wheel as package
from cuda_wheel.runtime.parts.linking import prepared_link
from cuda_wheel.runtime.parts.linking.cuda_compiler import may_use_build_time
from tests.support.linkable import APPLY, USER

PASTE = "#define CAT2(a, b) a##b\n#define CAT(a, b) CAT2(a, b)\n"


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("__TIME__", True),
        ("__TI??/\nME__", True),
        ("_CCCL_CHECK_BUILTIN(TIME__)", True),
        ("__location__(DATE)", True),
        (PASTE + "CAT(__TI, ME__)", True),
        (PASTE + "#define HALF ME__\n#define WHOLE CAT(__TI, HALF)", True),
        (PASTE + "#define ALIAS CAT\nALIAS(_, CAT(CAT(_, T), CAT(CAT(I, M), E)) ## __)", True),
        (PASTE + "#define APPLY(f, a, b) f(a, b)\nAPPLY(CAT, __TI, ME__)", True),
        ("#define A(x) __TI %:%: x\nA(ME__)", True),
        ("#define A(x) __ ## x ## __\nA((b, TIME))", True),
        ("#define A __DA ## TE__\nA", True),
        (PASTE + "__TI ME__ CAT(x, y)", False),
        (PASTE + "template <class T> struct _ { T D, A, I, M, E; }; int CAT(a, b)(T I);", False),
        ("#define CAT(a, b) a b\nCAT(__TI, ME__)", False),
        ("TIME x__TIME_ __TIMES_", False),
    ],
)
def test_texts_that_may_use_the_clock(text: str, answer: bool) -> None:
    assert may_use_build_time([text.encode()]) is answer
    assert may_use_build_time(text.encode().splitlines(keepends=True)) is (answer and "??/" not in text)


def test_an_option_may_have_a_part_of_a_macros_name() -> None:
    assert may_use_build_time([f"{PASTE}CAT(PART, ME__)".encode(), b"--std=c++17 -D PART=__TI"])
    assert may_use_build_time([f"{PASTE}CAT(PART, ME__)".encode(), b"--define-macro=PART=__TI"])
    assert not may_use_build_time([f"{PASTE}CAT(PART, ME__)".encode(), b"--define-macro=OTHER=__TI"])


@pytest.mark.parametrize("clock", ["__TIME__", "__DATE__", "__TI\\\nME__", "CAT(__TI, ME__)", "CAT(__, CAT(TIME, __))"])
def test_a_piece_that_uses_the_clock_is_compiled_each_time(clock: str, monkeypatch: pytest.MonkeyPatch) -> None:
    paste = "#define CAT2(a, b) a##b\n#define CAT(a, b) CAT2(a, b)\n"
    user = paste + USER.replace("2 * x", f"{clock}[1] * x")
    package.link([APPLY, user], arch="90")
    monkeypatch.setattr(prepared_link, "compile_cuda", lambda *_: pytest.fail("compiled again"))
    with pytest.raises(pytest.fail.Exception, match="compiled again"):
        package.link([APPLY, user], arch="90")


def test_a_changed_header_is_compiled_again(tmp_path: Path) -> None:
    (tmp_path / "user.cu").write_text('#include "factor.h"\n' + USER.replace("2 *", "FACTOR *"))
    (tmp_path / "factor.h").write_text("#define FACTOR 2\n")
    first = package.link([APPLY, tmp_path / "user.cu"], arch="90")
    assert package.link([APPLY, tmp_path / "user.cu"], arch="90").cached
    (tmp_path / "factor.h").write_text("#define FACTOR 3\n")
    second = package.link([APPLY, tmp_path / "user.cu"], arch="90")
    assert not second.cached and second.cubin != first.cubin


def test_a_piece_includes_the_toolkits_headers() -> None:
    user = "#include <cuda_fp16.h>\n" + USER.replace("2 * x", "__half2float(__float2half(x))")
    assert package.link([APPLY, user], arch="90").mode == "lto"
