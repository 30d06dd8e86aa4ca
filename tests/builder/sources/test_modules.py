"""The selection of modules: which sources become which modules, and the errors."""

from __future__ import annotations

from pathlib import Path

import pytest

from cuda_wheel.builder.config.settings import Config
from cuda_wheel.builder.errors import ConfigError
from cuda_wheel.builder.sources.layout import WheelFile
from cuda_wheel.builder.sources.modules import is_excluded, named_sources, select
from tests.support.package_sources import PACKAGE, names

pytestmark = pytest.mark.one_toolchain


def test_every_cu_in_the_packages_is_a_module_by_default(root: Path) -> None:
    assert names(root) == {"pkg.kernels.a": "src/pkg/kernels/a.cu", "pkg.kernels.b": "src/pkg/kernels/b.cu"}


def test_sources_choose_among_them(root: Path) -> None:
    assert list(names(root, {"sources": ["src/**/b.cu"]})) == ["pkg.kernels.b"]


@pytest.mark.parametrize(
    ("sources", "expected", "excluded"),
    [
        (["!src/pkg/kernels/a.cu"], "b c", "a"),
        (["!src/**/[ab].cu"], "c", "a b"),
        (["src/**/*.cu", "!src/**/detail/*.cu"], "a b", ""),
        (["!src/**/*.cu", "src/**/b.cu"], "b", "a"),
        (["src/**/*.cu", "!src/**/*.cu", "src/**/c.cu"], "c", "a b"),
        (["src/**/a.cu", "!src/**/b.cu"], "a", "b"),
    ],
)
def test_an_entry_with_an_exclamation_mark_takes_files_out(
    root: Path, sources: list[str], expected: str, excluded: str
) -> None:
    for name in ("__init__.py", "c.cu"):
        (root / "src/pkg/kernels/detail").mkdir(exist_ok=True)
        (root / "src/pkg/kernels/detail" / name).write_text("")
    files = [WheelFile(path, path.relative_to(root / "src").as_posix()) for path in sorted(root.glob("src/**/*.*"))]
    config = Config.from_table({"sources": sources})
    assert " ".join(module.name[-1] for module in select(config, root, files)) == expected
    named = {each: is_excluded(config, root, f"src/pkg/kernels/{each}.cu") for each in "ab"}
    assert " ".join(each for each in named if named[each]) == excluded


def test_a_table_takes_exclusions(root: Path) -> None:
    table = {"module": [{"name": "pkg.kernels.c", "sources": ["src/**/[ab].cu", "!src/**/b.cu"]}]}
    assert names(root, table)["pkg.kernels.c"] == "src/pkg/kernels/a.cu"
    assert named_sources(Config.from_table(table), root) >= {root / PACKAGE[2]}


def test_a_source_that_another_includes_is_no_module(root: Path) -> None:
    kernels = root / "src/pkg/kernels"
    (kernels / "b.inl.cu").write_text("__global__ void inner() {}\n")
    (root / "include/middle.cuh").write_text('#include "deep.cu"\n')
    (kernels / "deep.cu").write_text("")
    (kernels / "a.cu").write_text('#include "b.inl.cu"\n#include <middle.cuh>\n// #include "b.cu"\n')
    (kernels / "one.cu").write_text('#include "two.cu"\n')
    (kernels / "two.cu").write_text('#include "one.cu"\n')
    files = [WheelFile(path, path.relative_to(root / "src").as_posix()) for path in sorted(root.glob("src/**/*.*"))]

    def selected(**table: object) -> tuple[str, list[str]]:
        told: list[str] = []
        folders = {"include-dirs": ["include", "src/pkg/kernels"]}
        modules = select(Config.from_table(folders | table), root, files, told.append)
        return " ".join(module.name.removeprefix("pkg.kernels.") for module in modules), told

    chosen, told = selected()
    assert chosen == "a b one"
    assert [line.partition(",")[0] for line in told] == [
        "src/pkg/kernels/b.inl.cu is included by src/pkg/kernels/a.cu",
        "src/pkg/kernels/deep.cu is included by src/pkg/kernels/a.cu",
        "src/pkg/kernels/two.cu is included by src/pkg/kernels/one.cu",
    ]
    assert selected(sources=["src/pkg/kernels/deep.cu", "src/**/[ab].cu"]) == ("a b deep", [])
    assert selected(sources=["src/pkg/kernels/deep.cu"]) == ("deep", [])
    module = {"name": "pkg.kernels.d", "sources": ["src/**/deep.cu"]}
    assert selected(module=[module], sources=["src/**/[ab].cu"]) == ("a b d", [])
    module = {"name": "pkg.kernels.d", "sources": ["src/**/a.cu", "src/**/deep.cu"]}
    chosen, told = selected(module=[module], sources=["src/**/b.cu"])
    assert chosen == "b d"
    assert "deep.cu is included by src/pkg/kernels/a.cu" in told[0]


def test_a_table_gives_a_source_from_elsewhere_its_name(root: Path) -> None:
    table = {"module": [{"name": "pkg.kernels.c", "sources": ["csrc/c.cu"]}]}
    assert names(root, table)["pkg.kernels.c"] == "csrc/c.cu"
    assert len(names(root, table)) == 3
    assert list(names(root, table | {"sources": ["csrc/*.cu"]})) == ["pkg.kernels.c"]


def test_a_table_may_rename_a_source_of_the_package(root: Path) -> None:
    table = {"module": [{"name": "pkg.kernels.other", "sources": ["src/pkg/kernels/a.cu"]}]}
    assert names(root, table) == {"pkg.kernels.other": "src/pkg/kernels/a.cu", "pkg.kernels.b": "src/pkg/kernels/b.cu"}


def test_a_table_takes_globs(root: Path) -> None:
    (root / "csrc/a[1].cu").write_text("// nothing\n")
    table = {
        "module": [{"name": "pkg.kernels.c", "sources": ["csrc/c.cu", "src/**/[ab].cu", "csrc/a[1].cu"], "link": "lto"}]
    }
    config = Config.from_table(table)
    files = [WheelFile(root / name, name.removeprefix("src/")) for name in PACKAGE]
    (module,) = select(config, root, files)
    assert module.paths == ("csrc/c.cu", "src/pkg/kernels/a.cu", "src/pkg/kernels/b.cu", "csrc/a[1].cu")
    assert named_sources(config, root) == {root / path for path in module.paths}


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"sources": ["../**/*.cu"]}, "../**/*.cu lies outside the project"),
        ({"sources": ["/etc/*.cu"]}, "/etc/*.cu lies outside the project"),
        ({"sources": ["src/*.cu"]}, "tool.cuda-wheel.sources: 'src/*.cu' matches no file in project."),
        ({"sources": ["**.cu"]}, "'**.cu' is not a pattern of files"),
        ({"sources": ["."]}, "'.' is not a pattern of files"),
        ({"sources": ["!src/*.cu"]}, "tool.cuda-wheel.sources: 'src/*.cu' matches no file in project."),
        ({"sources": ["!src/z.cu"]}, "'!src/z.cu' excludes no file: there is no file src/z.cu."),
        ({"sources": ["!../z.cu"]}, "../z.cu lies outside the project"),
        ({"sources": ["!src/**/*.cu"]}, "there is nothing to compile"),
        (
            {"module": [{"name": "pkg.kernels.z", "sources": ["csrc/c.cu", "!csrc/c.cu"]}]},
            "module[0].sources excludes every file that it names.",
        ),
        ({"sources": ["csrc/*.cu"]}, "csrc/c.cu is in no package that goes into the wheel"),
        ({"include-dirs": ["includes"]}, "tool.cuda-wheel.include-dirs: there is no folder includes in project."),
        ({"include-dirs": ["../include"]}, "../include lies outside the project"),
        (
            {"module": [{"name": "pkg.kernels.z"}]},
            "module[0] names no sources, and the wheel's packages have no .cu file named pkg.kernels.z",
        ),
        ({"module": [{"name": "pkg.kernels.z", "sources": ["z.cu"]}]}, "module[0].sources: there is no file z.cu."),
        (
            {"module": [{"name": "pkg.kernels.z", "sources": ["z/*.cu"]}]},
            "module[0].sources: 'z/*.cu' matches no file in project.",
        ),
        ({"module": [{"name": "pkg.kernels.z", "sources": ["../*.cu"]}]}, "../*.cu lies outside the project"),
        ({"module": [{"name": "pkg.kernels.a"}] * 2}, "a second module named pkg.kernels.a"),
        (
            {"module": [{"name": "pkg.kernels.b", "sources": ["src/pkg/kernels/a.cu"]}]},
            "src/pkg/kernels/b.cu and src/pkg/kernels/a.cu would both become the module pkg.kernels.b",
        ),
        (
            {"module": [{"name": "c", "sources": ["csrc/c.cu"]}]},
            "'c', which Python cannot import: it lies in no package",
        ),
        ({"module": [{"name": "pkg.my-c", "sources": ["csrc/c.cu"]}]}, "'my-c' is not a Python name"),
        ({"module": [{"name": "pkg.../c", "sources": ["csrc/c.cu"]}]}, "is not a Python name"),
        (
            {"module": [{"name": "other.c", "sources": ["csrc/c.cu"]}]},
            "the package other, which has no file in the wheel",
        ),
        (
            {"module": [{"name": "pkg.c", "sources": ["csrc/c.cu", PACKAGE[2]]}]},
            "pkg.c has 2 sources: set how to link them",
        ),
    ],
)
def test_an_invalid_choice_is_an_error_that_says_what_helps(root: Path, table: dict, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        names(root, table)
    assert message in str(caught.value)


BAD_NAMES = [
    *(
        "..",
        "../x",
        "/x",
        "pkg/x",
        "pkg\\x",
        "C:x",
        "x y",
        "x.",
        "x ",
        "my-x",
        "1x",
        "x\n",
        "x\r",
        "x\x7f",
        "x\u202e",
        "",
    ),
    *("x\udcff", "con", "NUL", "Aux", "com1", "LPT9", "x" * 240, "é" * 120),
]


@pytest.mark.parametrize("name", BAD_NAMES)
def test_no_module_has_a_name_that_some_system_takes_for_another_place(root: Path, name: str) -> None:
    with pytest.raises(ConfigError) as caught:
        names(root, {"module": [{"name": f"pkg.kernels.{name}", "sources": ["csrc/c.cu"]}]})
    text = str(caught.value)
    assert "another name" in text or "Correct the name" in text
    assert text.encode().decode().replace(" ", "").isprintable() or name == "x\u202e"


def test_a_file_is_refused_like_a_tables_name(root: Path) -> None:
    (root / "src/pkg/kernels/aux.cu").write_text("// nothing\n")
    files = [WheelFile(root / name, name.removeprefix("src/")) for name in [*PACKAGE, "src/pkg/kernels/aux.cu"]]
    with pytest.raises(ConfigError, match=r"would be a file of the name aux, which Windows reserves"):
        select(Config(), root, files)


@pytest.mark.parametrize("other", ["A", "\uff41"])
def test_two_modules_that_differ_by_case_alone_are_refused(root: Path, other: str) -> None:
    table = {"module": [{"name": f"pkg.kernels.{other}", "sources": ["csrc/c.cu"]}]}
    with pytest.raises(ConfigError, match=r"are the same file on systems that ignore case.*rename one of them"):
        names(root, table)


def test_a_module_and_another_file_that_differ_by_case_alone_are_refused(root: Path) -> None:
    files = [WheelFile(root / name, name.removeprefix("src/")) for name in PACKAGE]
    files.append(WheelFile(root / "include/x.h", "pkg/kernels/B.FatBin"))
    with pytest.raises(
        ConfigError, match=r"pkg/kernels/b\.fatbin, which the module pkg\.kernels\.b would become, and pkg/"
    ):
        select(Config(), root, files)


def test_no_source_at_all_is_an_error(root: Path) -> None:
    with pytest.raises(ConfigError, match="there is nothing to compile"):
        select(Config(), root, [WheelFile(root / PACKAGE[0], "pkg/__init__.py")])
