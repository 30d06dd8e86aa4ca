"""The files that a build plans are the ones that it writes, and an unchanged build is used where it is."""

from __future__ import annotations

import os
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from cuda_wheel.builder.config.settings import Config
from cuda_wheel.builder.errors import CompileError
from cuda_wheel.builder.project import build_files, planned_files
from cuda_wheel.builder.report.reporter import ProgressReporter, SilentReporter
from cuda_wheel.builder.sources.layout import SBOM, WheelFile
from cuda_wheel.runtime.parts.user_cache import Cache
from tests.support.projects import write_files

pytestmark = pytest.mark.one_toolchain

FILES = {
    "demo/__init__.py": "import cuda_wheel\n__getattr__, __dir__, __all__ = cuda_wheel.attach(__name__)\n",
    "demo/k.cu": "__global__ void k(int* x) { *x = 1; }\n",
    "demo/inner/__init__.py": "",
    "demo/inner/l.cu": "struct Pair { int a, b; };\n__global__ void l(Pair p, int* x) { *x = p.a; }\n",
}


def project(root: Path, **table: Any) -> tuple[Path, Config, list[WheelFile]]:
    """Write a project with two modules, and return what `build_files` takes."""
    write_files(root, **FILES)
    return (
        root,
        Config.from_table({"architectures": ["80-real"], **table}),
        [WheelFile(root / name, name) for name in FILES],
    )


def contents(paths: dict[str, Path]) -> dict[str, bytes]:
    return {name: path.read_bytes() for name, path in paths.items()}


@pytest.mark.parametrize("sbom", [True, False])
def test_a_build_writes_the_planned_files_below_its_folder_and_the_sbom_apart(sbom: bool, tmp_path: Path) -> None:
    arguments, out = project(tmp_path / "project", sbom=sbom), tmp_path / "out"
    built = build_files(*arguments, SilentReporter(), out)
    assert sorted(built) == sorted(planned_files(*arguments))
    assert {"demo/k.fatbin", "demo/k.fatbin.json", "demo/inner/l.fatbin", "demo/__init__.pyi"} <= set(built)
    assert built == {name: out / name for name in built}
    written = {path.relative_to(out).as_posix() for path in out.rglob("*") if path.is_file()}
    assert written == {*built, SBOM} if sbom else set(built)
    assert {path.relative_to(arguments[0]).as_posix() for path in arguments[0].rglob("*.*")} == set(FILES)


def test_a_plan_of_a_vendored_loader_lacks_only_the_parts_that_manifests_ask_for(tmp_path: Path) -> None:
    arguments = project(tmp_path / "project", loader="vendor")
    planned, built = planned_files(*arguments), build_files(*arguments, SilentReporter(), tmp_path / "out")
    more = set(built) - set(planned)
    assert set(planned) < set(built) and "demo/_cuda_wheel/loading.py" in planned
    assert {os.path.dirname(path) for path in more} == {"demo/_cuda_wheel/parts"}
    assert "demo/_cuda_wheel/parts/structs.py" in more


def test_planning_compiles_nothing(tmp_path: Path) -> None:
    arguments = project(tmp_path / "project")
    planned = planned_files(*arguments)
    (tmp_path / "project/demo/k.cu").write_text("__global__ void k() { wrong; }\n")
    assert planned_files(*arguments) == planned
    with pytest.raises(CompileError, match=r"^demo/k\.cu does not compile"):
        build_files(*arguments, SilentReporter(), tmp_path / "out")


def test_an_unchanged_build_is_copied_or_used_in_the_cache(tmp_path: Path) -> None:
    arguments = project(tmp_path / "project")
    lines: list[str] = []

    def build(folder: str, in_use: ExitStack | None = None) -> dict[str, Path]:
        with ProgressReporter(lines.append, lines.append) as reporter:
            return build_files(*arguments, reporter, tmp_path / folder, in_use)

    first = build("first")
    copied = build("copied")
    assert copied == {name: tmp_path / "copied" / name for name in first}
    assert contents(copied) == contents(first)
    with ExitStack() as in_use:
        used = build("used", in_use)
        assert contents(used) == contents(first)
        in_cache = [path for path in used.values() if path.is_relative_to(Cache().folder)]
        assert in_cache and len(set(in_cache)) == len(in_cache)
    for folder in ("copied", "used"):
        assert (tmp_path / folder / SBOM).read_bytes() == (tmp_path / "first" / SBOM).read_bytes()
