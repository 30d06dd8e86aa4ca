"""The texts of a project are the source and what it may include, as far as that is known."""

from __future__ import annotations

from pathlib import Path

from cuda_wheel.builder.rewriting.project_texts import project_texts
from cuda_wheel.builder.toolchain.toolchain import INCLUDE, STAND_INS


def test_the_texts_of_a_project_are_those_that_it_may_include(tmp_path: Path) -> None:
    def texts(source: str, *folders: str) -> list[bytes] | None:
        return project_texts(source.encode(), "src/k.cu", str(tmp_path), (*folders, str(INCLUDE), *STAND_INS))

    for name, text in {"src/a.h": '#include "b.h"', "src/b.h": "b1", "inc/b.h": "b2", "inc/c.h": "c"}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    assert texts("") == [b""]
    assert sorted(texts('#include "a.h"\n#include <vector>', "inc") or ()) == sorted(
        [b'#include "a.h"\n#include <vector>', b'#include "b.h"', b"b1", b"b2"]
    )
    assert texts("# include <c.h> // c", str(tmp_path / "inc")) == [b"# include <c.h> // c", b"c"]
    assert texts("#include HEADER") is None
    assert texts("x" * (1 << 20) + "y") is None
