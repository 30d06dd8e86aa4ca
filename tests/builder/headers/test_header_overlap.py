"""The headers of this package repeat no text of other projects."""

from __future__ import annotations

from pathlib import Path

import pytest

from cuda_wheel.builder.toolchain.toolchain import Toolchain
from scripts.header_overlap import EXCEPTIONS, LIMIT, OURS, RUN, above, name_of, shares, tokens


def test_a_share_is_that_of_the_runs_of_tokens_that_occur_elsewhere(tmp_path: Path) -> None:
    words = [f"word_{number}" for number in range(2 * RUN)]
    for name, text in {
        "ours/all.h": " ".join(words),
        "ours/half.h": " ".join(words[:RUN]) + " x " + " ".join(words[:RUN]),
        "ours/none.h": " ".join(reversed(words)),
        "ours/short.h": "int x;",
        "theirs/a.h": "// a comment\n" + " /* another */\n".join(words[: RUN + 3]),
        "theirs/b.h": "y " + "\n".join(words[9:]),
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    found = {path.name: share for path, share in shares([tmp_path / "ours"], [tmp_path / "theirs"]).items()}
    assert found == {"all.h": (4 + RUN + 1 - 9) / (RUN + 1), "half.h": 2 / (RUN + 2), "none.h": 0}


def test_tokens_are_those_of_cxx() -> None:
    assert tokens('a->b<<=1.5e+3; R"(x // y)" /* z */ #define f(x) x##1 \\\n  // c\n') == [
        *("a", "->", "b", "<<=", "1.5e+3", ";", 'R"(x // y)"', "#", "define", "f", "(", "x", ")", "x", "##", "1")
    ]


def test_exceptions_exist() -> None:
    names = {name_of(path) for folder in OURS for path in folder.rglob("*") if path.is_file()}
    assert EXCEPTIONS.keys() <= names
    assert all(reason.endswith(".") for reason in EXCEPTIONS.values())


def test_no_header_repeats_those_of_cuda_and_cccl(toolchain: Toolchain) -> None:
    assert above(LIMIT, shares(OURS, map(Path, toolchain.include_dirs)), EXCEPTIONS) == {}


@pytest.mark.one_toolchain
def test_no_header_repeats_those_of_libstdcxx() -> None:
    folders = sorted(Path("/usr/include/c++").glob("[0-9]*"))
    if not folders:
        pytest.skip("libstdc++ is not installed")
    assert above(LIMIT, shares(OURS, folders), EXCEPTIONS) == {}


@pytest.mark.slow
@pytest.mark.one_toolchain
def test_no_header_repeats_those_of_pytorch(torch_headers: Path) -> None:
    folders = [torch_headers / name for name in ("ATen", "c10", "torch", "THC", "pybind11")]
    assert above(LIMIT, shares(OURS, filter(Path.is_dir, folders)), EXCEPTIONS) == {}
