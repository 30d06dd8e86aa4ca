"""What the build imports of a Python module with Triton kernels: only what a kernel needs."""

from __future__ import annotations

import sys
import textwrap
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from cuda_wheel.builder.compile.python_modules import ProjectModules, StandIn, StandInError, UndecidedTuning
from cuda_wheel.builder.jobs import Job

KNOWN = {"absent_torch.cuda.get_device_capability()": (9, 0), "absent_torch.version.hip": None}


def define(root: Path, name: str, text: str, *, then: tuple[str, ...] = (), **others: str) -> Any:
    """Write demo/ops.py and other modules of a project; return what demo.ops defines under a name. `then` are names that
    are asked for before."""
    (root / "demo").mkdir()
    (root / "demo/__init__.py").touch()
    for module, each in {"ops": text, **others}.items():
        (root / f"demo/{module}.py").write_text(textwrap.dedent(each))
    modules = ProjectModules(str(root), "demo.ops", "demo/ops.py", KNOWN)
    with modules.active():
        for each in then:
            modules.attribute("demo.ops", each)
        return modules.attribute("demo.ops", name)


def test_a_local_variable_is_not_the_variable_of_the_module(tmp_path: Path) -> None:
    text = """
    import absent_torch

    def kernel(x, *rest, y=1, **more):
        for i in x:
            a = [b for b in rest if b]
            with open(a) as c:
                import d
        def e(f): return f
        return a, c, d, e, i, more, lambda g: g, [h := 1]

    x = y = a = b = c = d = e = f = g = i = rest = more = absent_torch.rand(10) + 1
    """
    assert define(tmp_path, "kernel", text).__name__ == "kernel"


def test_a_global_variable_of_a_nested_function_is_defined(tmp_path: Path) -> None:
    text = """
    SIZE = 3
    COUNT = 4

    def kernel():
        def inner(n=SIZE):
            global COUNT
            COUNT += 1
            return COUNT + n
        COUNT_ = inner()
        return COUNT_
    """
    assert define(tmp_path, "kernel", text)() == 8


def test_launches_tests_and_the_body_of_a_script_do_not_run(tmp_path: Path) -> None:
    text = """
    import absent_torch
    from absent_torch import testing

    class Kernel:
        def __getitem__(self, grid):
            raise RuntimeError("a launch")

    def kernel():
        return absent_torch, testing, size

    def benchmark():
        raise RuntimeError("a benchmark")

    launcher = Kernel()
    size = 3
    x = absent_torch.rand(size) + 1
    launcher[1](x, size)
    absent_torch.testing.assert_close(x, x)
    testing.assert_close(x, x)
    kernel.register(x)
    benchmark()
    print(launcher, x)

    if __name__ == "__main__":
        size = 4 + x
    """
    assert define(tmp_path, "kernel", text)()[2] == 3
    define_again(tmp_path, "launcher")


def define_again(root: Path, name: str) -> Any:
    modules = ProjectModules(str(root), "demo.ops", "demo/ops.py", KNOWN)
    with modules.active():
        return modules.attribute("demo.ops", name)


def test_what_changes_a_value_runs(tmp_path: Path) -> None:
    text = """
    import os
    import string
    from . import parts

    os.environ["DEMO_TILE"] = "8"
    TILES = [int(os.environ["DEMO_TILE"])]
    TILES.append(16)
    for each in (32, 64):
        TILES.append(each)
    OPTIONS = {}
    OPTIONS["a"] = {}
    OPTIONS["a"]["b"] = 1
    MODE = "slow"
    def choose():
        global MODE
        MODE = "fast"
    choose()
    string.demo = 5
    parts.register(7)
    RESULT = (TILES, OPTIONS, MODE, string.demo, parts.REGISTERED)
    """
    others = {"parts": "REGISTERED = []\ndef register(x): REGISTERED.append(x)\n"}
    found = define(tmp_path, "RESULT", text, **others)
    assert found == ([8, 16, 32, 64], {"a": {"b": 1}}, "fast", 5, [7])


def test_a_name_between_two_values_of_another_has_the_first(tmp_path: Path) -> None:
    text = """
    def scale(): return "kernel"
    scale_kernel = scale
    def scale(): return "wrapper"
    """
    assert define(tmp_path, "scale_kernel", text, then=("scale",))() == "kernel"


def test_of_an_import_only_the_name_that_is_needed_is_imported(tmp_path: Path) -> None:
    text = """
    from .parts import helper, SLOW
    import json, absent_module_of_demo

    def kernel():
        return helper
    """
    others = {"parts": "import absent_torch\nSLOW = absent_torch.foo() > 1\ndef helper(): return 1\n"}
    assert define(tmp_path, "kernel", text, **others)()() == 1


def test_a_statement_that_failed_fails_again(tmp_path: Path) -> None:
    text = """
    import absent_torch
    FLAG = absent_torch.foo() > 1
    """
    with pytest.raises(StandInError):
        define(tmp_path, "FLAG", text)
    modules = ProjectModules(str(tmp_path), "demo.ops", "demo/ops.py", KNOWN)
    with modules.active():
        for _ in range(2):
            with pytest.raises(StandInError):
                modules.attribute("demo.ops", "FLAG")


def test_except_exception_does_not_hide_what_cannot_be_known(tmp_path: Path) -> None:
    text = """
    import absent_torch
    try:
        MODE = "new" if absent_torch.version.cuda > "12" else "old"
    except Exception:
        MODE = "none"
    """
    with pytest.raises(StandInError, match=r"depends on absent_torch\.version\.cuda, and the package absent_torch is"):
        define(tmp_path, "MODE", text)


@pytest.mark.parametrize(
    "expression",
    [
        "absent_torch.__version__",
        "str(absent_torch.version.cuda)",
        "f'{absent_torch.version.cuda}'",
        "open(absent_torch.file)",
        "'H100' in absent_torch.cuda.get_device_name(0)",
        "[each for each in absent_torch.names]",
        "isinstance(absent_torch.x, absent_torch.Tensor)",
        "1 if absent_torch.cuda.is_available() else 2",
    ],
)
def test_what_would_decide_by_a_value_is_refused(tmp_path: Path, expression: str) -> None:
    with pytest.raises(StandInError, match="depends on absent_torch"):
        define(tmp_path, "VALUE", f"import absent_torch\nVALUE = {expression}\n")


def test_nothing_is_of_a_class_that_is_not_installed(tmp_path: Path) -> None:
    text = "import absent_torch\nVALUE = isinstance(1, absent_torch.Tensor)\n"
    assert define(tmp_path, "VALUE", text) is False


def test_a_class_may_derive_from_one_that_is_not_installed(tmp_path: Path) -> None:
    text = """
    import abc
    import absent_torch

    class Scale(absent_torch.autograd.Function, absent_torch.Mixin, abc.ABC):
        size = 3

    scale = Scale.apply
    VALUE = Scale.size, scale
    MODE = 1 if scale else 2
    """
    size, scale = define(tmp_path, "VALUE", text)
    assert size == 3
    assert isinstance(scale, StandIn)
    with pytest.raises(StandInError, match=r"absent_torch\.autograd\.Function\.apply"):
        define_again(tmp_path, "MODE")


def test_what_the_build_knows_of_the_gpu_is_told(tmp_path: Path) -> None:
    text = """
    from absent_torch import cuda
    import absent_torch as torch
    IS_HOPPER = torch.version.hip is None and cuda.get_device_capability(0)[0] == 9
    """
    assert define(tmp_path, "IS_HOPPER", text) is True


def test_a_stand_in_that_annotates_a_parameter_is_a_type(tmp_path: Path) -> None:
    text = """
    import inspect
    from typing import Optional
    from absent_torch import Tensor
    def kernel(x: Tensor, n: int, m: "Tensor" = 1) -> Optional[Tensor]: ...
    TYPES = [each.annotation for each in inspect.signature(kernel).parameters.values()]
    """
    first, *others = define(tmp_path, "TYPES", text)
    assert isinstance(first, type) and first.__name__ == "Tensor"
    assert others == [int, "Tensor"]


def test_annotations_that_stay_text_are_as_written(tmp_path: Path) -> None:
    text = "from __future__ import annotations\ndef kernel(x: tl.constexpr): ...\n"
    assert define(tmp_path, "kernel", text).__annotations__ == {"x": "tl.constexpr"}


def test_configurations_of_autotune_need_not_be_known(tmp_path: Path) -> None:
    text = """
    import absent_torch
    import tools

    def configs(wide):
        return [tools.Config({"BLOCK": 64, "STAGES": 2} if wide else {"BLOCK": 128}), tools.Config(dict(WIDTH=1), 2)]

    @tools.autotune(configs=configs(absent_torch.foo() > 1), key=["n"])
    def kernel(x): return x
    """
    found = define(tmp_path, "kernel", text)
    assert isinstance(found, UndecidedTuning)
    assert found.fn(3) == 3
    assert found.names == {"BLOCK", "STAGES", "WIDTH"}
    (tmp_path / "demo/ops.py").write_text(textwrap.dedent(text).replace("@tools.autotune(", "@tools.other("))
    with pytest.raises(StandInError):
        define_again(tmp_path, "kernel")


def test_a_module_that_an_installed_package_lacks_has_no_stand_in(tmp_path: Path) -> None:
    with pytest.raises(ModuleNotFoundError, match=r"json\.absent"):
        define(tmp_path, "found", "import json.absent as found\n")


def test_modules_have_the_type_that_triton_expects_of_one(tmp_path: Path) -> None:
    text = "from . import parts\nimport absent_torch\ndef kernel(): return parts, absent_torch\n"
    found = define(tmp_path, "kernel", text, parts="SIZE = 1\n")()
    assert [type(each) for each in found] == [ModuleType, ModuleType]
    assert found[0].SIZE == 1


def test_a_star_imports_all_public_names(tmp_path: Path) -> None:
    parts = "def __getattr__(name): raise ValueError\n_HIDDEN = 1\nSIZE = 2\nfrom .more import *\n"
    others = {"parts": parts, "more": "__all__ = ['_OTHER']\n_OTHER = 3\nUNUSED = 4\n"}
    text = """
    from .parts import *
    try:
        from .parts import absent
    except ImportError:
        absent = 0
    def kernel(): return absent, globals()
    """
    absent, found = define(tmp_path, "kernel", text, **others)()
    assert absent == 0
    assert found["SIZE"] == 2
    assert not {"_HIDDEN", "_OTHER", "UNUSED"} & found.keys()


def test_the_next_job_reads_the_modules_again(tmp_path: Path) -> None:
    text = "from .parts import SIZE\nimport absent_torch\ndef kernel(): return SIZE, absent_torch\n"
    assert define(tmp_path, "kernel", text, parts="SIZE = 1\n")()[0] == 1
    assert not [each for each in sys.modules if each.partition(".")[0] in ("demo", "absent_torch")]
    (tmp_path / "demo/parts.py").write_text("SIZE = 2\n")
    modules = ProjectModules(str(tmp_path), "demo.ops", "demo/ops.py", KNOWN)
    with modules.active():
        size, absent = modules.attribute("demo.ops", "kernel")()
        assert size == 2
        assert isinstance(absent.foo, StandIn)
    assert sorted(modules.read) == ["demo", "demo.ops", "demo.parts"]


KERNEL = """
import absent_torch
import triton
import triton.language as tl
from absent_torch import Tensor
from . import parts


def configurations():
    wide = absent_torch.are_deterministic()
    return [triton.Config({"BLOCK": 128 if wide else 64})]


@triton.autotune(configs=configurations(), key=["n"])
@triton.jit
def doubled(out_ptr: Tensor, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out_ptr + offsets, parts.twice(offsets), mask=offsets < n)


absent_torch.testing.assert_close(doubled[1](absent_torch.empty(64), 64), 1)
"""


@pytest.mark.slow
def test_each_job_of_a_worker_has_the_files_that_it_read(tmp_path: Path) -> None:
    pytest.importorskip("triton", reason="Triton is not installed")
    from cuda_wheel.builder.compile.triton_kernels import compile_triton

    (tmp_path / "demo").mkdir()
    (tmp_path / "demo/__init__.py").touch()
    (tmp_path / "demo/ops.py").write_text(KERNEL)
    parts = tmp_path / "demo/parts.py"
    # Only the functions of this module need the package, and Triton asks for them when it compiles.
    text = "import triton, late_torch\n@triton.jit\ndef twice(x: late_torch.Tensor): return x * 2\n"
    parts.write_text(text)
    variant = {
        "BLOCK": 64,
        "n": "i32",
        "num_stages": 3,
        "num_warps": 4,
        "out_ptr": "*i32",
        "triton": "demo.ops:doubled",
    }
    job = Job(
        library="", root=str(tmp_path), source="demo/ops.py", text=KERNEL.encode(), arch="80", cubin=True, ptx=True,
        options=("--triton",), include_dirs=(), instantiate=(), lineinfo=False, ptx_version="auto", kind="triton",
        variant=tuple(variant.items()), python_compiler="3.6.0",
    )  # fmt: skip
    first = compile_triton(job)
    parts.write_text(text.replace("* 2", "* 77"))
    second = compile_triton(job)
    assert first.headers == second.headers
    assert sorted(Path(each).name for each in first.headers or ()) == ["__init__.py", "ops.py", "parts.py"]
    assert b"77" in (second.ptx or b"") and b"77" not in (first.ptx or b"")
    assert first.python == (
        ("out_ptr", "argument", None),
        ("n", "argument", None),
        ("BLOCK", "tuned", None),
    )
