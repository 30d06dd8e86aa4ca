"""Texts that a Python file reads from its project's files are found without running it."""

from __future__ import annotations

from pathlib import Path

import pytest

from cuda_wheel.migrate.read_files import FileText
from cuda_wheel.migrate.script_reader import UNKNOWN, Reading, calls_and_readings
from tests.support.projects import write_files

pytestmark = pytest.mark.one_toolchain

READS = [
    "open('src/demo/kernels/k.cu').read()",
    "open('kernels/k.cu', 'r', encoding='utf-8').read()",
    "open('kernels/k.cu', mode='rb').read().decode()",
    "io.open(os.path.join(os.path.dirname(os.path.abspath(__file__)), 'kernels', 'k.cu')).read()",
    "open(os.path.join(os.path.split(__file__)[0], 'kernels/k.cu')).read()",
    "open(os.path.dirname(__file__) + '/kernels/k.cu').read()",
    "Path(__file__).with_name('kernels').joinpath('k.cu').read_text()",
    "(pathlib.Path(__file__).resolve().parent / 'kernels' / 'k.cu').read_text(encoding='utf-8')",
    "Path(__file__).parents[1].joinpath('demo', 'kernels', 'k').with_suffix('.cu').open().read()",
    "Path(__file__).parent.joinpath('kernels/k.cu').read_bytes().decode('utf-8')",
    "importlib.resources.read_text('demo.kernels', 'k.cu')",
    "resources.read_text(__package__ + '.kernels', 'k.cu')",
    "read_text(f'{__package__}.kernels', 'k.cu')",
    "importlib.resources.files(__package__).joinpath('kernels', 'k.cu').read_text()",
    "(files('demo') / 'kernels/k.cu').read_text()",
    "ir.files('demo.kernels').joinpath('k.cu').read_bytes().decode()",
    "ir.files().joinpath('kernels/k.cu').read_text()",
    "importlib.resources.open_text('demo.kernels', 'k.cu').read()",
    "pkg_resources.resource_string(__name__, 'kernels/k.cu').decode()",
    "open(pkg_resources.resource_filename('demo', 'kernels/k.cu')).read()",
    "pkgutil.get_data('demo', 'kernels/k.cu').decode('utf8')",
    "load('k')",
    "load(name='k')",
]
HEAD = """
KERNELS = Path(__file__).parent / "kernels"
def load(name):
    with open(KERNELS / f"{name}.cu") as f:
        code = f.read()
    return code
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    files = {"src/demo/__init__.py": "", "src/demo/kernels/k.cu": "// a kernel\n", "pyproject.toml": ""}
    write_files(tmp_path, **files)
    return tmp_path / "src/demo/ops.py"


def read(program: Path, expression: str, head: str = HEAD) -> tuple[object, list[Reading]]:
    program.write_text(f"{head}\nwanted({expression})\n")
    (call,), readings = calls_and_readings(program, ["wanted"])
    return call.argument(0, "x"), readings


@pytest.mark.parametrize("expression", READS)
def test_a_file_is_read_by_every_function_that_reads_it(expression: str, program: Path) -> None:
    found, readings = read(program, expression)
    assert isinstance(found, FileText) and found == "// a kernel\n"
    assert not [each for each in readings if each.line == 8]
    assert Path(found.path).resolve() == (program.parent / "kernels/k.cu").resolve()


@pytest.mark.parametrize(
    "body",
    [
        "with (KERNELS / 'k.cu').open('r') as f:\n    code = f.read()",
        "with importlib.resources.path('demo.kernels', 'k.cu') as p:\n    code = p.read_text()",
        "with importlib.resources.as_file(files('demo') / 'kernels/k.cu') as p:\n    code = open(p).read()",
        "with importlib.resources.open_binary('demo.kernels', 'k.cu') as f:\n    code = f.read().decode()",
        "f = open(KERNELS / 'k.cu')\ncode = f.read()\nf.close()",
        "path = str(KERNELS / 'k.cu')\nfor each in [path]:\n    code = open(each).read()",
    ],
)
def test_a_file_is_followed_through_statements(body: str, program: Path) -> None:
    found, _ = read(program, "code", HEAD + body)
    assert isinstance(found, FileText) and found == "// a kernel\n"


@pytest.mark.parametrize(
    "expression", ["'#define N 4\\n' + load('k')", "load('k').replace('kernel', 'kernel')", "f'{load(\"k\")}'"]
)
def test_a_text_that_is_composed_of_a_file_is_no_file(expression: str, program: Path) -> None:
    found, _ = read(program, expression)
    assert isinstance(found, str) and not isinstance(found, FileText) and "// a kernel" in found


@pytest.mark.parametrize(
    ("expression", "told"),
    [
        ("open(sys.argv[1]).read()", "open(sys.argv[1])"),
        ("open('nowhere.cu').read()", "open('nowhere.cu').read()"),
        ("(KERNELS / which()).read_text()", "(KERNELS / which()).read_text()"),
        ("files(which()).joinpath('k.cu').read_text()", "files(which()).joinpath('k.cu').read_text()"),
        ("resources.read_text('elsewhere', 'k.cu')", "resources.read_text('elsewhere', 'k.cu')"),
        ("open('/dev/zero').read()", "open('/dev/zero').read()"),
        ("open('large').read()", "open('large').read()"),
        ("open('latin').read()", "open('latin').read()"),
        ("open('kernels').read()", "open('kernels').read()"),
        ("open('kernels/k.cu').read(3)", "open('kernels/k.cu').read(3)"),
    ],
)
def test_what_is_not_found_is_unknown_and_told(expression: str, told: str, program: Path) -> None:
    (program.parent / "large").write_bytes(b"x" * ((1 << 20) + 1))
    (program.parent / "latin").write_bytes(b"\xe9")
    found, readings = read(program, expression)
    assert found is UNKNOWN
    assert any(each.expression == told and each.line == 8 for each in readings), readings


def test_a_file_that_is_written_is_not_read(program: Path) -> None:
    found, _ = read(program, "open('kernels/k.cu', 'w').read()")
    assert found is UNKNOWN


def test_reading_a_large_file_in_loops_ends(program: Path) -> None:
    (program.parent / "large").write_bytes(b"x" * (1 << 20))
    reads = "text = 'a'\nfor a in range(100):\n for b in range(100):\n  text = f'{text}{open(\"large\").read()}'"
    found, _ = read(program, "text", HEAD + reads)
    assert found is UNKNOWN


def test_a_package_is_found_from_a_script_beside_it(program: Path) -> None:
    script = program.parents[2] / "tools/run.py"
    script.parent.mkdir()
    found, _ = read(script, "importlib.resources.files('demo').joinpath('kernels/k.cu').read_text()")
    assert found == "// a kernel\n"
