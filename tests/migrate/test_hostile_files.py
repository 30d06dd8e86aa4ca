"""`cuda-wheel import` of files that are damaged, endless or made to break it: an error with words, or a proposal."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cuda_wheel.builder.errors import ConfigError
from cuda_wheel.migrate.import_sources import ImportProposal, project_root, propose_import
from tests.support.projects import KERNEL

pytestmark = [
    pytest.mark.one_toolchain,
    pytest.mark.skipif(sys.platform == "win32", reason="links, pipes and alarms of Unix"),
]

EXTENSION = "CUDAExtension('demo._C', ['demo/a.cu'], {})\n"
HUGE = "0x" + "f" * 20_000

Prepare = Callable[[Path], object]


@pytest.fixture(autouse=True)
def _time_limit() -> Iterator[None]:
    """What reads all files of the machine, or a pipe, fails."""

    def stop(*_: object) -> None:
        raise AssertionError("it takes too long")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(60)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def imported(root: Path, script: str | bytes, pyproject: str = "", file: str = "setup.py") -> ImportProposal:
    (root / "demo").mkdir(exist_ok=True)
    (root / "demo/__init__.py").touch()
    (root / "demo/a.cu").write_text(KERNEL)
    (root / "setup.py").write_bytes(script if isinstance(script, bytes) else script.encode())
    if pyproject:
        (root / "pyproject.toml").write_text(pyproject)
    files = [root / file]
    return propose_import(project_root(files), files)


@pytest.mark.parametrize(
    "start",
    [
        "x = " + "(" * 5000 + ")" * 5000,
        "x = " + "-" * 50_000 + "1",
        "x = " + "+".join(["1"] * 3000),
        "x = " + "+".join(["1"] * 900),
        "x = a" + ".b" * 3000,
        "if a: pass\n" + "elif b: pass\n" * 3000,
        f"x = f'{{{HUGE}}}'",
        f"f({HUGE}).g()",
        f"a[{HUGE}] = 1",
        "x = []\nx.append(x)\ny = []\ny.append(y)\nif x == y: pass",
        "x = '\0'",
        b"# coding: undefined\n",
        b"x = '\xff'",
        "# coding: rot13\n",
    ],
)
def test_scripts_that_cannot_be_read_are_errors_with_words(start: str | bytes, tmp_path: Path) -> None:
    text = EXTENSION.format("")
    script = start + text.encode() if isinstance(start, bytes) else f"{start}\n{text}"
    with pytest.raises(ConfigError, match=r"setup\.py(:\d+)?:? (cannot be read|contains a number of \d+ bits)"):
        imported(tmp_path, script)


@pytest.mark.parametrize(
    "start",
    [
        "x = 'a'\nfor i in range(64): x = x + x",
        "x = (1,)\nfor i in range(64): x = x + x",
        "x = 1\nfor i in range(1000): x = x + x",
        "x = 'aaaa'\nfor i in range(64): x = x.replace('a', 'aaaa')",
        "x = 'aaaa'\nfor i in range(64): x = x.join(x)",
        "from pathlib import Path\nx = Path('a')\nfor i in range(64): x = x / x",
        "x = '%999999999d' % 1\ny = '%*d' % (10 ** 9, 1)\nz = '{:>999999999}{:>{}}'.format(1, 2, 999999999)",
        "import glob\nfrom pathlib import Path\nx = glob.glob('/**/*.cu', recursive=True)\ny = Path('/').rglob('*.cu')",
        "def f(x): return g(x)\ndef g(x): return f(x)\nf(1)",
        "for a in range(100):\n for b in range(100): x = [x]",
    ],
)
def test_what_a_script_computes_without_end_is_unknown(start: str, tmp_path: Path) -> None:
    (module,) = imported(tmp_path, f"{start}\n{EXTENSION.format('')}").modules
    assert module.table["sources"] == ["demo/a.cu"]


def test_reading_loops_ends(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"setup\.py has neither a CUDAExtension"):  # in the part that was read
        imported(tmp_path, f"for a in range(1000):\n for b in range(1000): x = 1\n{EXTENSION.format('')}")


def test_texts_that_no_file_can_have_are_unknown(tmp_path: Path) -> None:
    found = imported(tmp_path, "import cupy\nk = cupy.RawKernel('__global__ void f\\ud800(int* x) {}', 'f')\n")
    assert not found.modules and "composed at run time" in found.lines[0]


def test_launches_that_are_nested_too_deeply_are_an_error(tmp_path: Path) -> None:
    start = "k = SourceModule('__global__ void f(int* x) {}').get_function('f')\n"
    with pytest.raises(ConfigError, match=r"setup\.py cannot be read: its expressions are nested too deeply"):
        imported(tmp_path, f"{start}k({'[' * 90 + ']' * 90}, {'+'.join(['1'] * 400)}, block=(1, 1, 1))\n")


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ("", ", and build_ext from cmdclass"),
        ("Extension('demo._o', ['o.c'])\n", ", and build_ext from cmdclass"),
        ("CppExtension('demo._o', ['o.cpp'])\n", "; build_ext stays in cmdclass, for CppExtension in line 2"),
    ],
)
def test_build_ext_stays_for_an_extension_that_stays(other: str, said: str, tmp_path: Path) -> None:
    found = imported(tmp_path, f"CUDAExtension('demo._C', ['demo/a.cu'])\n{other}")
    assert found.removals == [f"setup.py:1: remove the extension demo._C{said}"]


@pytest.mark.parametrize("linked", ["", "dlink=True"])
def test_an_extension_without_any_of_its_sources_is_a_line(linked: str, tmp_path: Path) -> None:
    found = imported(tmp_path, f"CUDAExtension('demo._C', ['x.cu', 'y.cu'], {linked})\n")
    assert not found.modules
    assert "setup.py:1: no source of demo._C exists: looked for x.cu, y.cu" in found.lines


@pytest.mark.parametrize(
    ("pyproject", "message"),
    [
        ("build-system = 3", "build-system"),
        ("[tool]\nsetuptools = 1", "tool.setuptools in pyproject.toml must be a table, not 1"),
        ("[tool.setuptools]\npackages = [1]", "tool.setuptools.packages in pyproject.toml must have paths, not 1"),
        ("[tool.setuptools]\npackages = ['demo']\npackage-dir = 'x'", "tool.setuptools.package-dir in pyproject.toml"),
        ("[tool.setuptools]\npackages = ['demo']\npackage-dir = { demo = 3 }", "must have paths, not 3"),
        ("[build-system]\nbuild-backend = 'hatchling.build'\n[tool.hatch]\nbuild = 1", "tool.hatch.build in pyproject"),
        (
            "[build-system]\nbuild-backend = 'scikit_build_core.build'\n[tool.scikit-build]\nwheel = 1",
            "tool.scikit-build.wheel in pyproject.toml must be a table, not 1",
        ),
    ],
)
def test_settings_of_wrong_types_are_named(pyproject: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        imported(tmp_path, EXTENSION.format(""), pyproject)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("prepare", "file", "message"),
    [
        (lambda root: os.symlink("l.py", root / "l.py"), "l.py", r"l\.py is no file"),
        (lambda root: os.symlink("l.cu", root / "l.cu"), "l.cu", r"l\.cu is no file of the project"),
        (lambda root: os.symlink("/dev/zero", root / "z.py"), "z.py", r"z\.py is no file"),
        (lambda root: os.mkfifo(root / "f.py"), "f.py", r"f\.py is no file"),
        (lambda root: os.mkfifo(root / "f.cu"), "f.cu", r"f\.cu is no file of the project"),
    ],
)
def test_what_is_no_file_is_not_read(prepare: Prepare, file: str, message: str, tmp_path: Path) -> None:
    prepare(tmp_path)
    with pytest.raises(ConfigError, match=message):
        imported(tmp_path, "", file=file)


def test_sources_that_are_no_files_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "demo").mkdir()
    os.symlink("/dev/zero", tmp_path / "demo/zero.cu")
    os.symlink("nowhere", tmp_path / "demo/nowhere.cu")
    os.symlink("loop.cu", tmp_path / "demo/loop.cu")
    os.mkfifo(tmp_path / "demo/pipe.cu")
    assert imported(tmp_path, EXTENSION.format("")).project.sources == ("demo/a.cu",)
