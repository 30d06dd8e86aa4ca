"""The scanner of includes: what it finds in a text, and against what the compiler really reads."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cuda_wheel.build.execute import Silent
from cuda_wheel.build.includes import includes, is_toolkits, reachable
from cuda_wheel.build.project import build_module
from tests.conftest import FIXTURES, GOOD


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('#include "a.h"', [("a.h", True, 1, False)]),
        ("\n  #  include\t<a/b.h> // why", [("a/b.h", False, 2, False)]),
        ("/* x */ #include <a//b.h>", [("a//b.h", False, 1, False)]),
        ('#include "a//b.h"', [("a//b.h", True, 1, False)]),
        ('#include /* x */ "a.h"', [("a.h", True, 1, False)]),
        ('%:include "a.h"', [("a.h", True, 1, False)]),
        ('#include_next "a.h"', [("a.h", True, 1, False)]),
        ('#include \\\n  "a.h"\n#include "b.h"', [("a.h", True, 1, False), ("b.h", True, 3, False)]),
        ("#include NAME(x)", [(None, False, 1, False)]),
        ('// #include "a.h"\n/* \n#include "b.h"\n*/', []),
        ('auto text = "\\\n#include <a.h>";', []),
        ('auto text = R"x(\n#include "a.h"\n)" )x";\n#include "b.h"', [("b.h", True, 4, False)]),
        ("int x = 1'000; char c = '\"'; // it's\n#include <a.h>", [("a.h", False, 2, False)]),
        ("auto c = \"/*\"; auto d = '\\'';\n#include <a.h>", [("a.h", False, 2, False)]),
        ('#ifdef X\n#include "a.h"\n#endif\n#include "b.h"', [("a.h", True, 2, True), ("b.h", True, 4, False)]),
        ('#ifndef A_H\n#define A_H\n#include "b.h"\n#endif', [("b.h", True, 3, False)]),
        ('#ifndef A_H\n#define OTHER\n#include "b.h"\n#endif', [("b.h", True, 3, True)]),
        ('#pragma once\r\n#include "a.h"\r\n', [("a.h", True, 2, False)]),
        ("", []),
    ],
)
def test_a_text_has_these_includes(text: str, expected: list) -> None:
    assert [tuple(include) for include in includes(text.encode())] == expected


@given(st.text(alphabet="#include<>\"'/*\\\n (R)x0", max_size=60), st.text(alphabet="abc/.", min_size=1, max_size=8))
def test_an_include_on_a_line_of_its_own_is_found_after_any_whole_line(before: str, name: str) -> None:
    """Where no comment, raw string or continued line is open."""
    before = before.replace("/*", "").replace("\\", "").replace("R", "")
    found = list(includes(f'{before}\n#include "{name}"\n'.encode()))
    assert name in [include.name for include in found]


def make(root: Path, **files: str) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def test_headers_are_found_through_headers_and_folders(tmp_path: Path) -> None:
    root = make(
        tmp_path / "project",
        **{
            "src/k.cu": '#include "a.h"\n#include <b.h>\n#include <cuda_fp16.h>\n#if X\n#include "../../out/o.h"\n#endif\n',
            "src/a.h": '#include "deep/c.h"\n#include "a.h"\n',
            "src/deep/c.h": '// c\n#include "d.h"\n#if Y\n#include MACRO\n#endif\n',
            "src/deep/d.h": "",
            "src/deep/e.inl": "",
            "include/b.h": "",
            "include/unused.h": "",
            "../out/o.h": "",
        },
    )
    found = {os.path.relpath(header.path, root): header for header in reachable(root, "src/k.cu", ["include"])}
    assert sorted(found) == ["../out/o.h", "include/b.h", "src/a.h", "src/deep/c.h", "src/deep/d.h", "src/deep/e.inl"]
    assert found["../out/o.h"].conditional and not found["src/deep/d.h"].conditional
    assert found["src/deep/d.h"].asked == "src/deep/c.h:2"


def test_what_is_asked_for_in_two_ways_is_needed_if_either_needs_it(tmp_path: Path) -> None:
    text = '#ifdef X\n#include "a.h"\n#endif\n#include "a.h"\n'
    make(tmp_path, **{"k.cu": text, "a.h": '#include "b.h"\n', "b.h": ""})
    assert [header.conditional for header in reachable(tmp_path, "k.cu", [])] == [False, False]


@pytest.mark.parametrize("fixture", GOOD)
def test_no_header_of_a_fixture_that_the_compiler_reads_is_missed(fixture: str, extra: str) -> None:
    root = FIXTURES / fixture
    (source,) = (path.relative_to(root).as_posix() for path in root.rglob("*.cu"))
    folders = [path.name for path in (root / "include",) if path.is_dir()]
    package, stem = Path(source).parts[1], Path(source).stem
    table = {"name": f"{package}.kernels.{stem}", "sources": [source], "architectures": ["80-real"]}
    if fixture == "matmul_templates":
        table["instantiate"] = ["matmul<float, 16>"]
    _, read = build_module(root, table | {"include-dirs": folders}, {}, Silent())
    own = {path for path in read if Path(path).is_relative_to(root)}
    assert own - {str(root / source)} == {header.path for header in reachable(root, source, folders)}


def test_a_toolkits_header_is_known_by_its_folder(tmp_path: Path) -> None:
    make(tmp_path, **{"toolkit/cuda_runtime_api.h": "", "toolkit/crt/x.h": "", "mine/x.h": ""})
    assert is_toolkits(str(tmp_path / "toolkit/crt/x.h"))
    assert not is_toolkits(str(tmp_path / "mine/x.h"))
