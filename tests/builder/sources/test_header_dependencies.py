"""The headers that a source may include are found without a compiler; the compiler is the judge."""

from __future__ import annotations

import os
import random
import re
from pathlib import Path

import pytest

from cuda_wheel.builder.full_build import build_module
from cuda_wheel.builder.report.reporter import SilentReporter
from cuda_wheel.builder.sources.header_dependencies import is_toolkit_header, reachable
from cuda_wheel.builder.toolchain.toolchain import INCLUDE, Toolchain
from cuda_wheel.builder.workers.pool import Workers
from tests.support.opened_files import opened
from tests.support.projects import FIXTURES, GOOD, write_files


def test_headers_are_found_through_headers_and_folders(tmp_path: Path) -> None:
    root = write_files(
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
    found = {os.path.relpath(header.path, root): header for header in reachable(root, "src/k.cu", ["include"]).headers}
    assert sorted(found) == ["../out/o.h", "include/b.h", "src/a.h", "src/deep/c.h", "src/deep/d.h", "src/deep/e.inl"]
    assert found["../out/o.h"].conditional and not found["src/deep/d.h"].conditional
    assert found["src/deep/d.h"].included_at == "src/deep/c.h:2"


def test_a_header_is_unconditional_if_one_of_its_includes_is(tmp_path: Path) -> None:
    text = '#ifdef X\n#include "a.h"\n#endif\n#include "a.h"\n'
    write_files(tmp_path, **{"k.cu": text, "a.h": '#include "b.h"\n', "b.h": ""})
    assert [header.conditional for header in reachable(tmp_path, "k.cu", []).headers] == [False, False]


@pytest.mark.slow
@pytest.mark.parametrize("fixture", GOOD)
def test_no_header_of_a_fixture_that_the_compiler_reads_is_missed(fixture: str, extra: str) -> None:
    root = FIXTURES / fixture
    (source,) = (path.relative_to(root).as_posix() for path in root.rglob("*.cu"))
    folders = [path.name for path in (root / "include",) if path.is_dir()]
    package, stem = Path(source).parts[1], Path(source).stem
    table = {"name": f"{package}.kernels.{stem}", "sources": [source], "architectures": ["80-real"]}
    if fixture == "matmul_templates":
        table["instantiate"] = ["matmul<float, 16>"]
    _, read = build_module(root, table | {"include-dirs": folders}, {}, SilentReporter())
    own = {path for path in read if Path(path).is_relative_to(root)}
    assert own - {str(root / source)} == {header.path for header in reachable(root, source, folders).headers}


HEADERS = ("a.h", "b.h")


COUNT = 150


PIECES = [
    '#include "a.h"', "#include <b.h>", "#include A", "#include S(b.h)", "# include C(b,.h)", "#define A <a.h>", '#define A "b.h"',
    "#define S(x) #x", "#define C(x, y) <x##y>", "#if 0", "#endif", "#if 1", "#if __has_include(<a.h>)", "/*", "*/", "//", '"', "'", "\\",
    "\\ ", 'R"(', ')"', "\n", "\n", "\n", " ", "1'000", "x", "%:include <a.h>", "\f", "/", "*", "it's", "<", "#",
]  # fmt: skip


@pytest.mark.slow
def test_no_include_that_the_compiler_follows_is_missed(toolchain: Toolchain, workers: Workers, tmp_path: Path) -> None:
    """In random texts of pieces that are hard to tell apart. An uncertain result counts as correct."""
    write_files(tmp_path, **dict.fromkeys(HEADERS, ""))
    chance = random.Random(1)
    texts = ["".join(chance.choices(PIECES, k=chance.randrange(3, 16))) + "\n" for _ in range(COUNT)]
    truth = workers.submit(
        opened, (toolchain.libraries[0], str(tmp_path), [text.encode() for text in texts], (".",))
    ).result()
    assert sum(map(bool, truth)) > COUNT // 10
    for text, files in zip(texts, truth, strict=True):
        reach = reachable(tmp_path, "k.cu", ["."], text.encode())
        assert not reach.certain or files <= {header.path for header in reach.headers}, text


SAMPLE = {"cuda/std/*": 8, "cub/block/*.cuh": 4, "cub/warp/*.cuh": 4, "*.h": 9, "thrust/*.h": 20}


def public_headers(toolchain: Toolchain, pattern: str) -> list[str]:
    """Return the names of the headers that people include."""
    paths = ((path, Path(folder)) for folder in toolchain.include_dirs for path in sorted(Path(folder).glob(pattern)))
    names = [path.relative_to(folder).as_posix() for path, folder in paths if path.is_file()]
    return [name for name in dict.fromkeys(names) if not re.search(r"(^|/)(detail|system|cccl|__\w+)/|/__", name)]


def missed(text: bytes, files: set[str], folders: tuple[str, ...], root: Path) -> tuple[set[str], int]:
    """Return the files that the scanner does not find, and how many it does; see that it is sure of them."""
    reach = reachable(root, "k.cu", folders, text)
    assert reach.certain
    return files - {header.path for header in reach.headers}, len(reach.headers)


@pytest.mark.slow
def test_no_header_of_the_toolkit_is_missed(toolchain: Toolchain, workers: Workers, tmp_path: Path) -> None:
    """In one compilation of a sample; with CUDA_WHEEL_TEST_EVERY_HEADER, each public header alone, in some minutes."""
    folders = (str(INCLUDE), *toolchain.include_dirs)
    if "CUDA_WHEEL_TEST_EVERY_HEADER" in os.environ:
        tops = ("cub", "thrust", "cuda", "nv", "cooperative_groups")
        names = [
            name
            for pattern in ("*.h*", *(f"{top}/**/*" for top in tops))
            for name in public_headers(toolchain, pattern)
        ]
        texts = [f"#include <{name}>\n".encode() for name in dict.fromkeys(names)]
    else:
        names = [name for pattern, every in SAMPLE.items() for name in public_headers(toolchain, pattern)[::every]]
        texts = ["".join(f"#include <{name}>\n" for name in names).encode()]
    calls = [(toolchain.libraries[0], str(tmp_path), [text], folders) for text in texts]
    futures = [workers.submit(opened, call) for call in calls]
    read = found = 0
    for text, future in zip(texts, futures, strict=True):
        (files,) = future.result()
        lacking, count = missed(text, files, folders, tmp_path)
        assert not lacking, text.decode()
        read, found = read + len(files), found + count
    assert read > 500
    print(f"{len(names)} headers in {len(texts)} compilations: {read} files opened, {found} found, {found / read:.2f}")


def test_a_toolkits_header_is_known_by_its_folder(tmp_path: Path) -> None:
    write_files(tmp_path, **{"toolkit/cuda_runtime_api.h": "", "toolkit/crt/x.h": "", "mine/x.h": ""})
    assert is_toolkit_header(str(tmp_path / "toolkit/crt/x.h"))
    assert not is_toolkit_header(str(tmp_path / "mine/x.h"))
