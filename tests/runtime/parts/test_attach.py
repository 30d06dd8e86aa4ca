"""A package that attaches its kernels: its attributes without a GPU, in a wheel and in a source tree, and its stub."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import cuda_wheel
from cuda_wheel.builder.wheel.stubs import stub
from cuda_wheel.runtime.manifest import Manifest
from cuda_wheel.runtime.parts.attach import attached, not_attached
from tests.support.processes import pip_wheel, run
from tests.support.projects import BACKENDS, KERNEL, ROOT, copy_fixture
from tests.support.wheels import contents

pytestmark = pytest.mark.one_toolchain

INIT = '''"""The kernels."""
import cuda_wheel
__getattr__, __dir__, __all__ = cuda_wheel.attach(__name__)
'''
TWO = """
extern "C" __global__ void scale(float* x, float by, int n, bool b, float2 z) {}
namespace ns { __global__ void shift(double* x) {} }
template <class T> __global__ void generic(T* x) {}
#define MAKE(name, type) \\
    __global__ void name(type* x) {}
MAKE(made, int)
"""
SHOW = """
import demo.kernels as kernels
from demo.kernels import scale, shift
print(kernels.__all__, [name for name in dir(kernels) if not name.startswith("__")])
print(scale, shift)
try:
    kernels.generic
except AttributeError as error:
    print(error)
from demo.kernels import helper, made
print(helper.__name__, made)
from demo.kernels import two
print(two)
assert "cuda.bindings.driver" not in __import__("sys").modules
"""
SHOWN = """\
{names} ['cuda_wheel', {listed}]
<Kernel 'scale' of demo.kernels.two: not loaded yet> <Kernel '{shift}' of demo.kernels.two: not loaded yet>
module 'demo.kernels' has no attribute 'generic'
demo.kernels.helper <Kernel 'made' of demo.kernels.two: not loaded yet>
<Module demo.kernels.two: not loaded yet>
"""
FILES = {"demo/kernels/__init__.py": INIT, "demo/kernels/helper.py": "", "demo/kernels/two.cu": TWO}


def show(folder: Path) -> str:
    result = run(sys.executable, "-c", SHOW, PYTHONPATH=str(folder), CUDA_VISIBLE_DEVICES="-1")
    return result.stdout


def shown(*names: str, shift: str) -> str:
    return SHOWN.format(names=list(names), listed=", ".join(map(repr, names)), shift=shift)


def test_attributes_of_a_package_in_a_wheel(make_project: Callable[..., Path], tmp_path: Path) -> None:
    wheel = built(make_project(**FILES), tmp_path)
    run(sys.executable, "-m", "zipfile", "-e", wheel, tmp_path / "site")
    for place in (tmp_path / "site", wheel):  # the second is imported as a zip
        assert show(place) == shown("made", "scale", "shift", "two", shift="ns::shift")


def test_attributes_of_a_package_in_a_source_tree(make_project: Callable[..., Path]) -> None:
    assert show(make_project(**FILES)) == shown("scale", "shift", "two", shift="shift")


def test_a_package_without_modules_is_an_image_error(tmp_path: Path) -> None:
    (tmp_path / "bare").mkdir()
    (tmp_path / "bare" / "__init__.py").write_text(INIT)
    result = run(sys.executable, "-c", "import bare", PYTHONPATH=str(tmp_path))
    assert f"ImageError: bare has no modules: looked in {tmp_path / 'bare'}.\n" in result.stdout
    (tmp_path / "bare" / "fill.cu").write_text(KERNEL)  # as in a wheel whose build has no hook
    result = run(sys.executable, "-c", "import bare", PYTHONPATH=str(tmp_path))
    assert "fill.cu is there, but was not compiled" in result.stdout
    assert "[tool.hatch.build.targets.wheel.hooks.cuda]" in result.stdout


def test_a_lazy_kernel_fails_when_it_is_used(make_project: Callable[..., Path]) -> None:
    program = "from demo.kernels import scale\nscale.launch(1, 1)"
    result = run(sys.executable, "-c", program, PYTHONPATH=str(make_project(**FILES)), CUDA_VISIBLE_DEVICES="-1")
    assert result.stdout.splitlines()[-1].startswith("cuda_wheel.runtime.errors.DriverError: ")


@pytest.mark.parametrize(
    ("modules", "files", "expected"),
    [
        ({"p.a": ["f"]}, [], {"f": ("p.a", "f"), "a": ("p.a", None)}),
        ({"p.a": ["a"]}, [], {"a": ("p.a", "a")}),
        ({"p.a": ["f"], "p.b": ["f"]}, [], {"a": ("p.a", None), "b": ("p.b", None)}),
        ({"p.a": ["n::f", "g<int>"]}, [], {"f": ("p.a", "n::f"), "a": ("p.a", None)}),
        ({"p.a": ["n::f", "m::f"]}, [], {"a": ("p.a", None)}),
        ({"p.f": ["f"], "p.b": ["f"]}, [], {"b": ("p.b", None)}),
        ({"p.a": ["f", "h", "k"]}, ["f.py", "h", "k.cpython-312.so", "a.cu"], {"a": ("p.a", None)}),
        ({"p.a": ["a"], "p.b": ["g"]}, ["a.py"], {"g": ("p.b", "g"), "b": ("p.b", None)}),
        ({"p.a": ["__all__"]}, [], {"a": ("p.a", None)}),
    ],
)
def test_names_that_become_attributes(
    modules: dict[str, list[str]], files: list[str], expected: dict[str, tuple[str, str | None]]
) -> None:
    assert attached(modules, files) == expected


def test_why_kernels_are_no_attributes() -> None:
    modules = {"p.f": ["f", "g", "t<int>", "__init__"], "p.b": ["f", "n::h", "m::h"], "p.c": ["g"]}
    assert not_attached(modules, ["g.py", "c.py", "__init__.py"]) == {
        "f": 'several kernels have that name, f of p.b and f of p.f; use load("p.b")["f"] or load("p.f")["f"]',
        "g": 'it is a Python submodule, and also a kernel of p.c and p.f; the kernel is load("p.c")["g"] or '
        'load("p.f")["g"]',
        "h": 'several kernels have that name, n::h of p.b and m::h of p.b; use load("p.b")["n::h"] or '
        'load("p.b")["m::h"]',
    }


CLASHES = {
    "demo/kernels/__init__.py": INIT,
    "demo/kernels/both.py": "WHAT = 'the submodule'\n",
    "demo/kernels/one.cu": 'extern "C" __global__ void same() {}\nextern "C" __global__ void both() {}\n',
    "demo/kernels/two.cu": 'extern "C" __global__ void same() {}\nextern "C" __global__ void other() {}\n',
}

SHOW_CLASHES = """
import demo.kernels
for name in ("same", "both"):
    try:
        getattr(demo.kernels, name)
    except AttributeError as error:
        print(error)
from demo.kernels import both, other
print(both.WHAT)
"""

CLASHES_SHOWN = """\
module 'demo.kernels' has no attribute 'same': several kernels have that name, same of demo.kernels.one and same of \
demo.kernels.two; use load("demo.kernels.one")["same"] or load("demo.kernels.two")["same"]
module 'demo.kernels' has no attribute 'both': it is a Python submodule, and also a kernel of demo.kernels.one; the \
kernel is load("demo.kernels.one")["both"]
the submodule
"""


@pytest.mark.parametrize("own_stub", [False, True])
def test_names_of_several_kernels_are_warned_of_and_explained(
    make_project: Callable[..., Path], tmp_path: Path, own_stub: bool
) -> None:
    project = make_project(**CLASHES, **({"demo/kernels/__init__.pyi": "other: int\n"} if own_stub else {}))
    result = run(sys.executable, "-c", SHOW_CLASHES, PYTHONPATH=str(project), CUDA_VISIBLE_DEVICES="-1")
    assert result.stdout == CLASHES_SHOWN
    out = tmp_path / "out"
    result = run(sys.executable, "-m", "cuda_wheel", "build", project, "-o", out, CUDAARCHS="80-real")
    warned = [line for line in result.stdout.splitlines() if "does not attach" in line]
    reasons = [line.split(": ", 1)[1] for line in CLASHES_SHOWN.splitlines()[:2]]
    assert warned == [
        f"warning: demo.kernels does not attach the kernel both: {reasons[1]}",
        f"warning: demo.kernels does not attach the kernel same: {reasons[0]}",
    ]
    assert (out / "demo/kernels/__init__.pyi").exists() is not own_stub
    # The built files, and the package's own.
    for name in ("__init__.py", "both.py"):
        (out / "demo/kernels" / name).write_text(CLASHES[f"demo/kernels/{name}"])
    result = run(sys.executable, "-c", SHOW_CLASHES, PYTHONPATH=str(out), CUDA_VISIBLE_DEVICES="-1")
    assert result.stdout == CLASHES_SHOWN


# --- stubs -----------------------------------------------------------------------------------------

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


def built(project: Path, tmp_path: Path) -> Path:
    result = pip_wheel(project, tmp_path / "dist", CUDAARCHS="80-real")
    assert result.returncode == 0, result.stdout
    (wheel,) = (tmp_path / "dist").glob("*.whl")
    return wheel


@pytest.mark.slow
@pytest.mark.parametrize("loader", ["dependency", "vendor"])
def test_a_stub_describes_every_kernel_to_type_checkers(
    make_project: Callable[..., Path], tmp_path: Path, loader: str
) -> None:
    init = RICH if loader == "dependency" else RICH.replace("cuda_wheel", ".._cuda_wheel")
    files = {**FILES, "demo/kernels/__init__.py": init, "demo/py.typed": ""}
    files["demo/kernels/helper.py"] = "def helped(x: int) -> str: return str(x)\n"
    wheel = built(make_project(f'[tool.cuda-wheel]\nloader = "{loader}"', **files), tmp_path)
    site = tmp_path / "site"
    run(sys.executable, "-m", "zipfile", "-e", wheel, site)
    (tmp_path / "user.py").write_text(USER)
    result: subprocess.CompletedProcess[str] = run(
        sys.executable,
        *("-m", "mypy", "--strict", "--no-error-summary", "--hide-error-context", "--cache-dir", tmp_path / "cache"),
        "user.py",
        cwd=tmp_path,
        MYPYPATH=str(site),
    )
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


@pytest.mark.slow
def test_type_checkers_see_the_types_of_all_public_names_and_no_other_names(tmp_path: Path) -> None:
    pytest.importorskip("mypy", reason="mypy is not installed")
    names = sorted({*cuda_wheel.__all__, "torch.operator", "jax.operator"})
    lines = ["import cuda_wheel", *(f"reveal_type(cuda_wheel.{name})" for name in names), "cuda_wheel.lod"]
    (tmp_path / "user.py").write_text("\n".join([*lines, 'cuda_wheel.load("a")["b"].launch(1, "2")\n']))
    options = ("--no-error-summary", "--cache-dir", tmp_path / "cache")
    shown = run(sys.executable, "-m", "mypy", *options, "user.py", cwd=tmp_path, MYPYPATH=str(ROOT)).stdout
    revealed = [line.split("Revealed type is ")[1].strip('"') for line in shown.splitlines() if "Revealed" in line]
    assert len(revealed) == len(names) and "Any" not in revealed, shown
    assert f'user.py:{len(names) + 2}: error: Module has no attribute "lod"; maybe "load"?' in shown
    assert f'user.py:{len(names) + 3}: error: Argument 2 to "launch" of "Kernel" has incompatible type "str"' in shown


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
        wheel = built(project, tmp_path / backend)
        stubs.add(contents(wheel)["saxpy_demo/kernels/__init__.pyi"])
    (one,) = stubs
    assert b"saxpy: Kernel[Real, Pointer, Pointer, Integer]" in one


@pytest.mark.slow
def test_an_existing_stub_is_kept(make_project: Callable[..., Path], tmp_path: Path) -> None:
    own = "from typing import Any\nscale: Any\n"
    wheel = built(make_project(**FILES, **{"demo/kernels/__init__.pyi": own}), tmp_path)
    assert contents(wheel)["demo/kernels/__init__.pyi"] == own.encode()


@pytest.mark.slow
def test_the_command_writes_stubs_into_the_source_tree(make_project: Callable[..., Path], tmp_path: Path) -> None:
    project = make_project(**FILES)
    stub_path = project / "demo" / "kernels" / "__init__.pyi"
    command = (sys.executable, "-m", "cuda_wheel")
    result = run(*command, "stubs", project, CUDAARCHS="80-real", cwd=tmp_path)
    assert result.stdout.splitlines()[-1].endswith(str(Path("demo", "kernels", "__init__.pyi"))), result.stdout
    first = stub_path.read_text()
    assert '"""scale(float* x, float by, int n, bool b, float2 z) of demo.kernels.two."""' in first
    assert "scale: Kernel[Pointer, Real, Integer, bool, Struct]" in first
    # The file is the wheel's stub from now on, and an edit makes it out of date.
    build = (*command, "build", project, "-o", tmp_path / "out")
    assert "out of date" not in run(*build, CUDAARCHS="80-real").stdout
    source = project / "demo" / "kernels" / "two.cu"
    source.write_text(source.read_text().replace("int n", "int count"))
    warning = "warning: demo/kernels/__init__.pyi is out of date: run `cuda-wheel stubs`"
    assert warning in run(*build, CUDAARCHS="80-real").stdout
    run(*command, "stubs", project, CUDAARCHS="80-real")
    assert stub_path.read_text() == first.replace("int n", "int count")
    assert "out of date" not in run(*build, CUDAARCHS="80-real").stdout
    stub_path.write_text("scale: int\n")  # the user's own
    result = run(*command, "stubs", project, CUDAARCHS="80-real")
    assert "no package attaches its kernels and lacks a stub of its own" in result.stdout
    assert stub_path.read_text() == "scale: int\n"


def test_no_stub_without_attach(make_project: Callable[..., Path], tmp_path: Path) -> None:
    files = {**FILES, "demo/kernels/__init__.py": "# attach is not called here\n"}
    wheel = built(make_project(**files), tmp_path)
    assert not [name for name in contents(wheel) if name.endswith(".pyi")]
