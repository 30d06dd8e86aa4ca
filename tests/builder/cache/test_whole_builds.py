"""A build with nothing to do takes all outputs of an earlier one, and never when anything that decides it has changed."""

from __future__ import annotations

import os
import re
import shutil
import sys
import zipfile
from collections.abc import Callable
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from cuda_wheel.builder.cache import files as file_hashes
from cuda_wheel.builder.cache import files as kept_files
from cuda_wheel.builder.cache import whole_builds
from cuda_wheel.builder.cache.files import KeptFiles
from cuda_wheel.builder.cache.known_toolchain import recall_toolchain, remember_toolchain
from cuda_wheel.builder.cache.whole_builds import WholeBuild, WholeBuilds
from cuda_wheel.builder.config.pyproject import read_config
from cuda_wheel.builder.project import build_files
from cuda_wheel.builder.report.reporter import ProgressReporter
from cuda_wheel.builder.sources.layout import SBOM, WheelFile
from cuda_wheel.runtime.parts.user_cache import Cache
from tests.support.processes import run

pytestmark = [pytest.mark.one_toolchain, pytest.mark.filterwarnings("ignore:an entry of the cache")]

KERNEL = 'extern "C" __global__ void {}(int* x) {{ *x = {}; }}\n'
TABLE = """\
[tool.cuda-wheel]
architectures = ["80-real"]
include-dirs = ["first", "include"]
[[tool.cuda-wheel.module]]
name = "demo.linked"
sources = ["csrc/*.cu", "!csrc/left_out.cu"]
link = "ptx"
"""
FILES = {
    "demo/__init__.py": "import cuda_wheel\n__getattr__, __dir__, __all__ = cuda_wheel.attach(__name__)\n",
    "demo/k.cu": '#include "one.h"\n#include <two.h>\n#if __has_include("three.h")\n#define TWO 3\n#endif\n'
    + KERNEL.format("k", "ONE + TWO"),
    "demo/one.h": "#define ONE 1\n",
    "demo/same/a.cu": KERNEL.format("a", 1),
    "demo/same/__init__.py": "",
    "first/zero.h": "",
    "include/two.h": "#define TWO 2\n#if 0\n#include <skipped.h>\n#endif\n",
    "include/skipped.h": "",
    "csrc/b.cu": KERNEL.format("b", 1),
    "csrc/c.cu": KERNEL.format("c", 1),
    "csrc/left_out.cu": "no code",
    "other/outside.txt": "",
}


class Project:
    """A project and its cache, in this process."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.lines: list[str] = []
        self.more: list[WheelFile] = []

    @property
    def files(self) -> list[WheelFile]:
        found = sorted(path for path in self.root.glob("demo/**/*") if path.is_file())
        own = [WheelFile(path, path.relative_to(self.root).as_posix()) for path in found]
        return own + [file for file in self.more if file not in own]

    def build(self, folder: Path, in_use: ExitStack | None = None) -> dict[str, bytes]:
        """Build the project, and return the content of its outputs, the SBOM included."""
        self.lines = []
        config = read_config(self.root, os.environ)
        with ProgressReporter(self.lines.append, self.lines.append) as reporter:
            built = build_files(self.root, config, self.files, reporter, folder, in_use)
        assert in_use or all(path == folder / name for name, path in built.items())
        return {name: path.read_bytes() for name, path in built.items()} | {SBOM: (folder / SBOM).read_bytes()}

    def found(self) -> WholeBuild | None:
        return WholeBuilds(Cache(), self.root, read_config(self.root, os.environ), self.files).find()


@pytest.fixture
def project(make_project: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.setattr(file_hashes, "_SETTLED_AFTER", 0)  # so that tests need not wait
    return Project(make_project(TABLE, **FILES))


@contextmanager
def changed(path: Path, content: bytes | None) -> Any:
    """Write a file, or remove it (None), for a moment."""
    before = path.read_bytes() if path.exists() else None
    _put(path, content)
    yield
    _put(path, before)


def _put(path: Path, content: bytes | None) -> None:
    if content is None:
        path.unlink()
    else:
        path.write_bytes(content)


def test_a_build_with_nothing_to_do_gives_the_same_and_every_change_is_seen(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = project.build(tmp_path / "first")
    shown = project.lines[:-1]
    assert "demo/__init__.pyi" in first and "demo/linked.fatbin" in first
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "cuda_wheel.builder.full_build", None)  # its import fails
        assert project.build(tmp_path / "again") == first
        assert sorted(project.lines[:-1]) == sorted(shown) and "from the cache" in project.lines[-1]
        modules = [line for line in project.lines if re.match(r"demo\.[\w.]+: \d", line)]
        assert modules == sorted(modules) and len(modules) > 1  # in the first build, as they were built
        with ExitStack() as in_use:
            assert project.build(tmp_path / "read", in_use) == first
            assert [*(tmp_path / "read").iterdir()] == [tmp_path / "read" / SBOM]  # all else stays where it is
            assert Cache().prune(0) == (0, 0)

    root = project.root
    changes: dict[str, bytes | None] = {
        "demo/k.cu": b"// edited\n" + FILES["demo/k.cu"].encode(),
        "demo/one.h": b"#define ONE 4\n",
        "include/two.h": b"#define TWO 4\n",
        "demo/two.h": b"#define TWO 4\n",  # found before the other two.h
        "first/two.h": b"#define TWO 4\n",  # likewise, and not for the wheel
        "first/three.h": b"",  # a source tests for it
        "include/skipped.h": b'#include "../demo/same/a.cu"\n',  # so that a.cu would be a header
        "demo/new.cu": KERNEL.format("new", 1).encode(),
        "csrc/d.cu": KERNEL.format("d", 1).encode(),
        "csrc/c.cu": None,
        "csrc/left_out.cu": None,  # an error
        "demo/__init__.py": b"",
        "demo/new.py": b"",  # `demo.new` is no kernel then
        "demo/k.tuned.json": b"{}",
        "pyproject.toml": (root / "pyproject.toml").read_bytes().replace(b"80-real", b"90-real"),
    }
    for name, content in changes.items():
        with changed(root / name, content):
            assert project.found() is None, name
        assert project.found() is not None, name
    _changed_folders_and_links(project, tmp_path)
    _changed_environment(project, monkeypatch)
    _changed_places(project, tmp_path)
    _changed_outputs(project, first)
    assert project.build(tmp_path / "last") == first


def _changed_folders_and_links(project: Project, tmp_path: Path) -> None:
    """What lies outside of the project is an error, also with the same content."""
    root = project.root
    for name in ("demo/one.h", "demo/k.cu", "demo/same", "include"):
        shutil.move(root / name, tmp_path / "outside")
        assert project.found() is None, name
        (root / name).symlink_to(tmp_path / "outside")
        assert project.found() is None, name
        (root / name).unlink()
        shutil.move(tmp_path / "outside", root / name)
        assert project.found() is not None, name


def _changed_environment(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (
        ("CUDAARCHS", "90-real"),
        ("CUDA_WHEEL_PRECOMPILED_HEADERS", "never"),
        ("CUDA_WHEEL_EXECUTOR", "dask"),
        ("LD_LIBRARY_PATH", "/somewhere"),
    ):
        with monkeypatch.context() as patch:
            patch.setenv(name, value)
            assert project.found() is None, name
    other = whole_builds.toolchain_environment() + "nvidia_another-1.dist-info"
    toolchain = recall_toolchain(Cache(), whole_builds.toolchain_environment())
    assert toolchain is not None
    remember_toolchain(Cache(), other, toolchain)
    with monkeypatch.context() as patch:
        patch.setattr(whole_builds, "toolchain_environment", lambda: other)
        assert project.found() is None
    with monkeypatch.context() as patch:
        patch.setattr(whole_builds, "toolchain_identity", lambda toolchain: repr(toolchain) + "another build")
        assert project.found() is None
    with monkeypatch.context() as patch:
        patch.setattr(whole_builds, "__version__", "another")
        assert project.found() is None
    with monkeypatch.context() as patch:  # stubs depend on it
        patch.setattr(sys, "version_info", (sys.version_info[0], sys.version_info[1] + 1, *sys.version_info[2:]))
        assert project.found() is None
    assert project.found() is not None


def _changed_places(project: Project, tmp_path: Path) -> None:
    """The folder of a project is in no output; the places of its files in it are, and their places in the wheel."""
    moved = tmp_path / "moved"
    project.root.rename(moved)
    assert Project(moved).found() is not None
    moved.rename(project.root)
    other = project.root / "other/k.cu"
    shutil.copy(project.root / "demo/k.cu", other)
    files = project.files
    for changed in (WheelFile(other, "demo/k.cu"), WheelFile(project.root / "demo/k.cu", "demo/another.cu")):
        places = [changed if file.destination == "demo/k.cu" else file for file in files]
        config = read_config(project.root, os.environ)
        assert WholeBuilds(Cache(), project.root, config, places).find() is None, changed
    other.unlink()
    assert project.found() is not None


def _changed_outputs(project: Project, outputs: dict[str, bytes]) -> None:
    for name in ("demo/k.fatbin", "demo/k.fatbin.json", "demo/__init__.pyi", SBOM):
        found = project.found()
        assert found is not None
        path, content = Path(found.files[name]), outputs[name]
        before = path.stat()
        path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
        assert project.found() is None, name
        path.write_bytes(content)
        assert project.found() is not None, name
        path.unlink()
        assert project.found() is None, name
        assert KeptFiles(Cache()).put(content) == path.parent.name + path.name
        assert project.found() is not None, name


@pytest.mark.slow
@pytest.mark.parametrize("is_in_place", [True, False])
def test_outputs_that_another_process_removes_are_made_again(
    is_in_place: bool, project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After they were found, and before they are used; where files cannot be locked, they are copied."""
    first = project.build(tmp_path / "first")
    find = WholeBuilds.find

    def find_and_remove(self: WholeBuilds) -> WholeBuild | None:
        found = find(self)
        assert found is not None
        for path in {path for name, path in found.files.items() if name != SBOM}:
            os.unlink(path)
        return found

    monkeypatch.setattr(WholeBuilds, "find", find_and_remove)
    with ExitStack() as in_use:
        assert project.build(tmp_path / "again", in_use if is_in_place else None) == first
    monkeypatch.setattr(WholeBuilds, "find", find)
    with monkeypatch.context() as patch, ExitStack() as in_use:
        patch.setitem(sys.modules, "fcntl", None)
        assert project.build(tmp_path / "copied", in_use) == first
        assert (tmp_path / "copied/demo/k.fatbin").is_file()
    assert Cache().prune(0)[0]


@pytest.mark.slow
def test_only_outputs_that_changed_since_are_read_again(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.build(tmp_path / "first")
    read: list[str] = []
    intact = kept_files._intact
    monkeypatch.setattr(kept_files, "_intact", lambda cache, digest: (read.append(digest), intact(cache, digest))[1])
    found = project.found()
    assert found is not None and len(read) == len(found.files)
    read.clear()
    assert project.found() == found and not read
    path = Path(found.files["demo/k.fatbin"])
    os.utime(path, (0, 0))  # as if it was used long ago
    assert project.found() == found and read == [path.parent.name + path.name]
    assert path.stat().st_mtime > 10**9  # so that the cache keeps it
    monkeypatch.setattr(file_hashes, "_SETTLED_AFTER", 10**18)  # another write could have the same time
    for _ in range(2):
        read.clear()
        os.utime(path)
        assert project.found() == found and len(read) == 1


@pytest.mark.parametrize(
    ("table", "source"),
    [
        ('[[tool.cuda-wheel.module]]\nname = "demo.k"\nspecialize = true\n', ""),
        ('options = ["-I/usr/include"]\n', "#if __has_include(<some/header.h>)\n#endif\n"),
    ],
)
def test_files_that_no_record_has_are_not_guessed(
    table: str, source: str, make_project: Callable[..., Path], tmp_path: Path
) -> None:
    """A wheel with sources has headers that no job reads; and a job looks for headers outside of the project."""
    text = f'[tool.cuda-wheel]\narchitectures = ["80-real"]\n{table}'
    project = Project(make_project(text, **{"demo/k.cu": source + KERNEL.format("k", 1)}))
    project.build(tmp_path / "first")
    assert project.found() is None


@pytest.mark.slow
def test_a_package_without_its_file_is_kept(project: Project, tmp_path: Path) -> None:
    """setuptools lists the `__init__.py` of a namespace package."""
    missing = project.root / "demo/more/__init__.py"
    project.more = [WheelFile(missing, "demo/more/__init__.py")]
    project.build(tmp_path / "first")
    assert project.found() is not None
    missing.parent.mkdir()
    missing.touch()
    assert project.found() is None


@pytest.mark.slow
def test_what_may_differ_next_time_is_not_kept(
    make_project: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The time of the build; an edit while it runs; a header in a link; the entries of another cache."""
    date = Project(make_project(**{"demo/k.cu": KERNEL.format("k", "__TIME__[7]"), "demo/one.h": "#define ONE 1\n"}))
    date.build(tmp_path / "time")
    assert date.found() is None
    source = date.root / "demo/k.cu"
    source.write_text('#include "one.h"\n' + KERNEL.format("k", "ONE"))

    def edit_then_write(*arguments: Any) -> Any:
        os.utime(date.root / "demo/one.h")
        return keep(*arguments)

    keep = WholeBuilds.keep
    with monkeypatch.context() as patch:
        patch.setattr(WholeBuilds, "keep", edit_then_write)
        date.build(tmp_path / "edited")
    assert date.found() is None
    (date.root / "demo/one.h").rename(date.root / "two.h")
    (date.root / "demo/one.h").symlink_to(date.root / "two.h")
    date.build(tmp_path / "link")
    assert date.found() is None
    (date.root / "demo/one.h").unlink()
    (date.root / "two.h").rename(date.root / "demo/one.h")
    date.build(tmp_path / "kept")
    assert date.found() is not None
    monkeypatch.setenv("CUDA_WHEEL_CACHE_READONLY", os.environ["CUDA_WHEEL_CACHE_DIR"])
    monkeypatch.setenv("CUDA_WHEEL_CACHE_DIR", str(tmp_path / "own"))
    assert date.found() is not None  # what others have built may be used
    environment = whole_builds.toolchain_environment()
    toolchain = recall_toolchain(Cache(), environment)
    assert toolchain is not None
    remember_toolchain(Cache(), environment, toolchain)
    monkeypatch.setattr(WholeBuilds, "find", lambda self: None)
    date.build(tmp_path / "modules")  # but is not copied
    monkeypatch.undo()
    monkeypatch.setenv("CUDA_WHEEL_CACHE_DIR", str(tmp_path / "own"))
    assert date.found() is None


@pytest.mark.slow
def test_what_is_not_certain_is_not_kept(project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    builds: list[tuple[Any, ...]] = []
    keep = WholeBuilds.keep
    monkeypatch.setattr(WholeBuilds, "keep", lambda *arguments: builds.append(arguments))
    project.build(tmp_path / "first")
    ((build, toolchain, inputs, sources, looked_for, folder, outputs, shown),) = builds
    read = {place: digest for place, digest in inputs.items() if digest is not None}
    home = (False, f"{project.root}/demo/k.cu")
    for changed in (
        (None, sources, shown),
        (inputs | dict.fromkeys(read), sources, shown),  # a header that did not exist for a job
        (inputs | dict.fromkeys(read, "another"), sources, shown),
        (inputs | {(1, "/elsewhere/x.h"): None}, sources, shown),
        (inputs | {(-99, "x.h"): None}, sources, shown),
        (inputs, [*sources, "demo/removed.cu"], shown),
        (inputs, sources, None),
        (inputs, sources, shown._replace(lines=[*shown.lines, home])),  # a build elsewhere would say the same
    ):
        keep(build, toolchain, *changed[:2], looked_for, folder, outputs, changed[2])
        assert project.found() is None, changed
    keep(build, toolchain, inputs, sources, looked_for, folder, outputs, shown)
    assert project.found() is not None


@pytest.mark.slow
def test_a_changed_header_of_the_toolchain_is_seen(
    make_project: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = Project(make_project(**{"demo/k.cu": "#include <cuda_fp16.h>\n" + KERNEL.format("k", 1)}))
    project.build(tmp_path / "first")
    assert project.found() is not None

    class Patched(file_hashes.FileHashes):
        def _of(self, path: str) -> str | None:
            return "another" if path.endswith("/cuda_fp16.h") else super()._of(path)

    monkeypatch.setattr(whole_builds, "FileHashes", Patched)
    assert project.found() is None


HOOK = "[tool.hatch.build.targets.wheel.hooks.cuda]\n[tool.cuda-wheel]"
HATCHLING = "import sys; from hatchling.build import build_wheel; build_wheel(sys.argv[1])"


@pytest.mark.slow
@pytest.mark.parametrize("settings", ["", "reproducible = false"])
def test_the_wheels_are_the_same(make_project: Callable[..., Path], tmp_path: Path, settings: str) -> None:
    """With two files of the same content, which are one in the cache."""
    source = KERNEL.format("k", 1)
    root = make_project(
        'loader = "vendor"\narchitectures = ["80-real"]', HOOK, **{"demo/k.cu": source, "demo/l.cu": source}
    )
    if settings:
        text = (root / "pyproject.toml").read_text()
        (root / "pyproject.toml").write_text(text.replace('packages = ["demo"]', f'packages = ["demo"]\n{settings}'))
    wheels = []
    for name in ("first", "again"):
        (tmp_path / name).mkdir()
        result = run(sys.executable, "-c", HATCHLING, tmp_path / name, cwd=root, SOURCE_DATE_EPOCH="1700000000")
        assert result.returncode == 0, result.stdout
        wheels.append(next((tmp_path / name).glob("*.whl")))
    assert "from the cache" in result.stdout
    if settings:  # with the times and permissions of the files
        modes = [{each.filename: each.external_attr for each in zipfile.ZipFile(wheel).infolist()} for wheel in wheels]
        assert modes[0] == modes[1]
    else:
        assert wheels[0].read_bytes() == wheels[1].read_bytes()


# --- what decides a build besides the content of files ----------------------------------------------

LISTS = """\
[tool.cuda-wheel]
architectures = ["80-real"]
include-dirs = ["include"]
sources = ["shared/*.cu"]
[[tool.cuda-wheel.module]]
name = "demo.one"
sources = ["csrc/*.cu"]
include-dirs = ["own"]
link = "ptx"
extern-default = ["defaults/*.cu"]
"""


@pytest.fixture
def facts(make_project: Callable[..., Path]) -> Callable[..., list[str] | None]:
    """Return a function that returns the facts of a project whose table is LISTS after this replacement."""
    folders = ("include", "own", "shared", "csrc", "defaults")
    root = make_project(LISTS, **{f"{folder}/a.cu": "" for folder in folders})

    def facts(old: str = "", new: str = "") -> list[str] | None:
        assert old in LISTS
        pyproject = root / "pyproject.toml"
        text = pyproject.read_text()
        pyproject.write_text(text.replace(old, new) if old else text)
        found = whole_builds._facts(root, read_config(root, {}), [])
        pyproject.write_text(text)
        return found

    facts.root = root  # type: ignore[attr-defined]
    return facts


@pytest.mark.parametrize("folder", ["shared", "csrc", "defaults"])
def test_a_new_file_that_a_pattern_of_the_table_names_decides_the_build(facts: Any, folder: str) -> None:
    before = facts()
    assert before is not None and facts() == before
    (facts.root / folder / "b.txt").touch()
    assert facts() == before
    (facts.root / folder / "b.cu").touch()
    assert facts() not in (None, before)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('architectures = ["80-real"]', 'architectures = "native"'),
        ('name = "demo.one"', 'name = "demo.one"\narchitectures = ["native"]'),
        ('name = "demo.one"', 'name = "demo.one"\nspecialize = true'),
        ('["include"]', '["missing"]'),
        ('["own"]', '["missing"]'),
    ],
)
def test_a_build_is_not_kept_where_what_decides_it_is_unknown(facts: Any, old: str, new: str) -> None:
    assert facts() is not None
    assert facts(old, new) is None


def test_include_folders_are_those_of_the_project(facts: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (facts.root / "own").rename(tmp_path / "own")
    assert facts() is None


@pytest.mark.parametrize("error", [ValueError, IndexError, NotImplementedError, OSError])
def test_a_pattern_that_python_refuses_is_left_to_the_build(
    facts: Any, error: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(root: Path, pattern: str) -> Any:
        raise error

    monkeypatch.setattr(whole_builds, "_matches", refuse)
    assert facts() is None


def test_pythons_minor_version_and_the_vendored_loader_decide_the_build(
    facts: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def with_version(*version: int) -> Any:
        with monkeypatch.context() as patch:
            patch.setattr(whole_builds, "sys", SimpleNamespace(version_info=version))
            return facts()

    assert with_version(3, 12, 1) == with_version(3, 12, 2) != with_version(3, 13, 1)
    before = facts()
    monkeypatch.setattr(whole_builds, "_loader", lambda config: "another loader")
    assert facts() != before
