"""A package that attaches its kernels: its attributes without a GPU, in a wheel and in a source tree, and its stub."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import cuda_wheel
from cuda_wheel.runtime.parts.attach import attached, not_attached
from tests.support.attaching_package import FILES, INIT, built_wheel
from tests.support.processes import run, run_cuda_wheel
from tests.support.projects import KERNEL, ROOT

pytestmark = pytest.mark.one_toolchain

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


def show(folder: Path) -> str:
    result = run(sys.executable, "-c", SHOW, PYTHONPATH=str(folder), CUDA_VISIBLE_DEVICES="-1")
    return result.stdout


def shown(*names: str, shift: str) -> str:
    return SHOWN.format(names=list(names), listed=", ".join(map(repr, names)), shift=shift)


def test_attributes_of_a_package_in_a_wheel(make_project: Callable[..., Path], tmp_path: Path) -> None:
    wheel = built_wheel(make_project(**FILES), tmp_path)
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
    result = run_cuda_wheel("build", project, "-o", out, CUDAARCHS="80-real")
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
