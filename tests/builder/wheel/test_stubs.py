"""Stubs describe every kernel to type checkers."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from cuda_wheel.builder.wheel.stubs import stub, variant_loader_stub
from cuda_wheel.runtime.manifest import Manifest
from tests.support.attaching_package import FILES, built_wheel
from tests.support.processes import run
from tests.support.projects import BACKENDS, ROOT, copy_fixture
from tests.support.wheels import contents

pytestmark = pytest.mark.one_toolchain


RICH = '''"""The kernels, and more."""
from __future__ import annotations
import os
from cuda_wheel import attach
from .helper import helped
LIMIT: int = 5
def plain(x: int, y: str = "a") -> bool:
    """Say whether."""
    return os.sep == "/"
class Thing:
    def __init__(self) -> None:
        self.size = 3
    def method(self) -> int:
        return self.size
__getattr__, __dir__, __all__ = attach(__name__)
__all__ += ["plain"]
'''


USER = """
from demo.kernels import Thing, helped, plain, scale, shift, two
import demo.kernels
scale.launch(1, (2, 3), 0, 1.5, 3, True, b"")
scale.launch(1, 1, None, 1, 3, False, (1, 2), stream=None, shared_memory=5, check=False)
two["generic<int>"].launch(1, 1, 2)
reveal_type(scale)
reveal_type(shift)
reveal_type(two)
reveal_type(plain(1))
reveal_type(helped(1))
reveal_type(Thing().method() + Thing().size)
reveal_type(demo.kernels.LIMIT)
scale.launch(1, 1, 1.5, 1, 3, True, b"")  # a float for a pointer
scale.launch(1, 1, 0, 1, 3.5, True, b"")  # a float for an int
scale.launch(1, 1, 0, "1", 3, True, b"")  # a string for a float
scale.launch(1, 1, 0, 1)  # too few
shift.launch(1)  # no block
"""


@pytest.mark.slow
@pytest.mark.parametrize("loader", ["dependency", "vendor"])
def test_a_stub_describes_every_kernel_to_type_checkers(
    make_project: Callable[..., Path], tmp_path: Path, loader: str
) -> None:
    init = RICH if loader == "dependency" else RICH.replace("cuda_wheel", ".._cuda_wheel")
    files = {**FILES, "demo/kernels/__init__.py": init}
    files["demo/kernels/helper.py"] = "def helped(x: int) -> str: return str(x)\n"
    wheel = built_wheel(make_project(f'[tool.cuda-wheel]\nloader = "{loader}"', **files), tmp_path)
    (tmp_path / "user.py").write_text(USER)
    result = checked_by_mypy(wheel, tmp_path)
    lines = [line.removeprefix("user.py:") for line in result.stdout.splitlines() if "user.py" in line]
    place = "cuda_wheel.runtime.module" if loader == "dependency" else "demo._cuda_wheel.module"
    revealed = [line.split("Revealed type is ")[1].strip('"') for line in lines if "Revealed" in line]
    arguments = f"{place}._OnGpu | {place}._DLPack | typing.SupportsIndex | None"
    assert revealed[0].startswith(f"{place}.Kernel[{arguments}, typing.SupportsFloat | typing.SupportsIndex, "), (
        revealed
    )
    assert revealed[1:3] == [f"{place}.Kernel[{arguments}]", f"{place}.Module"]
    assert [text.removeprefix("builtins.") for text in revealed[3:]] == ["bool", "str", "int", "int"]
    wrong = [int(line.partition(":")[0]) for line in lines if "error:" in line]
    first = USER.splitlines().index('scale.launch(1, 1, 1.5, 1, 3, True, b"")  # a float for a pointer') + 1
    assert sorted(set(wrong)) == list(range(first, first + 5)), result.stdout


def checked_by_mypy(wheel: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    """Check `user.py` in the folder by mypy, with the wheel installed in an environment: there, mypy reads the types of
    a package only if it has a `py.typed`."""
    environment = folder / "environment"
    if not environment.is_dir():
        run(sys.executable, "-m", "venv", "--without-pip", environment)
    python = next(path for path in (environment / "bin/python", environment / "Scripts/python.exe") if path.exists())
    found = run(python, "-c", "import sysconfig; print(sysconfig.get_paths()['purelib'])", cwd=folder)
    site = Path(found.stdout.strip())
    run(sys.executable, "-m", "zipfile", "-e", wheel, site)
    (site / "cuda_wheel.pth").write_text(f"{ROOT}\n")
    options = ("--strict", "--no-error-summary", "--hide-error-context", "--python-executable", python)
    return run(sys.executable, "-m", "mypy", *options, "--cache-dir", folder / "cache", "user.py", cwd=folder)


@pytest.mark.parametrize(
    ("targets", "line"),
    [
        ("__getattr__, __dir__, __all__", "__all__ = ['a']"),
        ("__getattr__, __dir__, _names", "_names = ['a']"),
        ("__getattr__, *_", None),
    ],
)
def test_a_stub_has_the_same_variable_for_the_names_as_the_package(targets: str, line: str | None) -> None:
    manifest = Manifest("p.a", "a.fatbin", 0, "", {}, (), (), (), ())
    lines = stub(f"{targets} = attach(__name__)\n", [[manifest]], [], "cuda_wheel.runtime.module").splitlines()
    assert lines[2:] == [*filter(None, [line]), "a: Module", '"""The module p.a."""']


@pytest.mark.slow
def test_every_back_end_writes_the_same_stub(tmp_path: Path, extra: str) -> None:
    stubs = set()
    for backend in BACKENDS:
        project = copy_fixture("saxpy", tmp_path / backend / "project", extra, backend)
        wheel = built_wheel(project, tmp_path / backend)
        stubs.add(contents(wheel)["saxpy_demo/kernels/__init__.pyi"])
        assert [name for name in contents(wheel) if name.endswith("py.typed")] == ["saxpy_demo/kernels/py.typed"]
        # The project's own is kept, and one for the whole package suffices.
        (project / "src/saxpy_demo/py.typed").write_text("partial\n")
        typed = contents(built_wheel(project, tmp_path / backend / "typed"))
        assert {name: text for name, text in typed.items() if name.endswith("py.typed")} == {
            "saxpy_demo/py.typed": b"partial\n"
        }
    (one,) = stubs
    assert b"saxpy: Kernel[Real, Pointer, Pointer, Integer]" in one


@pytest.mark.slow
@pytest.mark.parametrize("backend", BACKENDS)
def test_an_existing_stub_is_kept(tmp_path: Path, extra: str, backend: str) -> None:
    own = "from typing import Any\nsaxpy: Any\n"
    project = copy_fixture("saxpy", tmp_path / "project", extra, backend)
    (project / "src/saxpy_demo/kernels/__init__.pyi").write_text(own)
    wheel = built_wheel(project, tmp_path)
    assert contents(wheel)["saxpy_demo/kernels/__init__.pyi"] == own.encode()
    assert not [name for name in contents(wheel) if name.endswith("py.typed")]


def test_no_stub_without_attach(make_project: Callable[..., Path], tmp_path: Path) -> None:
    files = {**FILES, "demo/kernels/__init__.py": "# attach is not called here\n"}
    wheel = built_wheel(make_project(**files), tmp_path)
    assert not [name for name in contents(wheel) if name.endswith(".pyi")]


@pytest.mark.one_toolchain
def test_the_stub_has_the_values_as_literals(variants_build: tuple[Path, str], tmp_path: Path) -> None:
    stub = (variants_build[0] / "demo/__init__.pyi").read_text()
    functions = [node for node in ast.parse(stub).body if isinstance(node, ast.FunctionDef)]
    types = [{each.arg: ast.unparse(each.annotation) for each in node.args.kwonlyargs} for node in functions]
    assert [(each["MATH_TYPE"], each["NUM_MODES"]) for each in types] == [
        ("Literal['float']", "Literal[2, 4]"),
        ("Literal['double']", "Literal[4]"),
    ]
    use = "import demo\ngood = demo.update(MATH_TYPE='double', NUM_MODES=4)['update']\ndemo.plain.launch(1, 1, None)\n"
    (tmp_path / "use.py").write_text(use + "demo.update(MATH_TYPE='double', NUM_MODES=2)\n")
    assert (variants_build[0] / "demo/py.typed").read_bytes() == b""
    result = run(sys.executable, "-m", "mypy", "--strict", "use.py", cwd=tmp_path, MYPYPATH=str(variants_build[0]))
    assert "Found 1 error" in result.stdout and "use.py:4: error: No overload variant" in result.stdout, result.stdout


@pytest.mark.one_toolchain
def test_the_stub_takes_any_value_where_the_module_can_be_compiled_again() -> None:
    rows = [(("A", "x"), ("N", 1)), (("A", "x"), ("N", 2.5)), (("B", True),)]
    plain, more = (variant_loader_stub("f", rows, any_values) for any_values in (False, True))
    assert [line.partition(", link")[0] for line in plain if line != "@overload"] == [
        "def f(*, A: Literal['x'], N: Literal[1] | float",
        "def f(*, B: Literal[True]",
    ]
    assert [line.partition(", link")[0] for line in more[len(plain) :] if line != "@overload"] == [
        "def f(*, A: str | int | float, N: str | int | float",
        "def f(*, B: str | int | float",
    ]
    odd = [(("A", number), ("B", other)) for number in range(9) for other in range(number, 50)]
    assert len(variant_loader_stub("f", odd, False)) == 2 * 9
    many = [(("A", number), ("B", other)) for number in range(60) for other in range(number, 60)]
    (line,) = variant_loader_stub("f", many, False)  # as many signatures would help nobody
    assert line.count("Literal[0, 1, 2, ") == 2
