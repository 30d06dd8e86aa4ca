"""A vendored loader is the core and the parts that its wheel needs; another part is an error that says how to add it."""

from __future__ import annotations

import ast
import importlib
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy
import pytest

from cuda_wheel.builder.config.settings import Config
from cuda_wheel.builder.errors import ConfigError
from cuda_wheel.builder.jobs import BuiltModule
from cuda_wheel.builder.manifest_writer.text import manifest_text
from cuda_wheel.builder.sources.layout import WheelFile
from cuda_wheel.builder.wheel.loader_copy import RUNTIME, copied_files, parts_for, parts_named_in, passes_other_arrays
from cuda_wheel.builder.wheel.outputs import known_parts, loader_files, write
from cuda_wheel.runtime.errors import PARTS
from cuda_wheel.runtime.manifest import GlobalInfo, Image, KernelInfo, Manifest, Parameter, Target
from tests.support.array_libraries import ADDRESS, Jax, Named, cupy_array, torch_tensor
from tests.support.launches import core_buffer

pytestmark = pytest.mark.one_toolchain

PTX = Image("ptx", Target.parse("compute_75"), (6, 3), (8, 8), (10, 0), 0, 1, "0" * 64, {})
PLAIN = Manifest(
    "demo.k", "k.fatbin", 1, "0" * 64, {"nvrtc": "12.9.86"}, ("k.cu",), (), (PTX,), (KernelInfo("k", "k", ()),)
)


def taking(*parameters: Parameter) -> Manifest:
    return PLAIN._replace(kernels=(KernelInfo("k", "k", parameters),))


@pytest.mark.parametrize(
    ("manifest", "parts"),
    [
        (PLAIN, set()),
        (taking(Parameter("u64", 0, 8, "float*"), Parameter("f32", 8, 4, "float")), set()),
        (taking(Parameter("b8", 0, 12, "Point")), {"structs"}),
        (taking(Parameter("u8", 0, 1, "char")), {"untyped-parameters"}),
        (taking(Parameter("u64", 0, 8, "")), {"untyped-parameters"}),
        (taking(Parameter("b8", 0, 128, "CUtensorMap")), {"structs", "tensor-maps"}),
        (PLAIN._replace(kernels=(KernelInfo("k<float>", "_Z1kIfEvv", ()),)), {"instance-names"}),
        (PLAIN._replace(globals=(GlobalInfo("table", "table", "constant", 4),)), {"variables"}),
        (PLAIN._replace(variant=(("N", 4),)), {"variants"}),
        (PLAIN._replace(images=(PTX._replace(kind="cubin", target=Target.parse("sm_80")),)), {"trial"}),
    ],
)
def test_the_parts_that_a_module_needs(manifest: Manifest, parts: set[str]) -> None:
    assert parts_for(built(manifest)) == parts


def built(manifest: Manifest) -> BuiltModule:
    return BuiltModule((manifest,), manifest_text(manifest).encode(), b"", None)


def test_a_module_with_many_kernels_needs_the_part_that_reads_them_one_by_one() -> None:
    kernels = tuple(KernelInfo(f"kernel_number_{number}", f"kernel_number_{number}", ()) for number in range(1000))
    assert parts_for(built(PLAIN._replace(kernels=kernels))) == {"many-kernels"}


@pytest.mark.parametrize(
    ("line", "parts"),
    [
        ("kernel.launch(1, 256, x)", set()),
        ("step = kernel.bind(1, 256, x)", {"bind"}),
        ("kernel.launch(1, 256, x, cluster=(2, 1))", {"launch-attributes"}),
        ('kernel.launch(1, 256, x, **{"cooperative": True})', {"launch-attributes"}),
        ("print(kernel.attributes.registers)", {"compile-log", "occupancy"}),
        ("j = module.jit\nprint(j.registers, j.spills)", {"compile-log"}),
        ("block = kernel.suggest_block()", {"occupancy"}),
        ("tensor = _cuda_wheel.tensor_map(x, (8, 8))", {"tensor-maps"}),
        ("bind = functools.partial(kernel.bind, 1, 256)", {"bind"}),
        ("steps = map(getattr(kernel, 'bind'), grids)", {"bind"}),
        ("blocks = [kernel.occupancy, kernel.suggest_block]", {"occupancy"}),
        ("from demo._cuda_wheel import tensor_map as described", {"tensor-maps"}),
        ("from demo._cuda_wheel import load, tuned as choose", {"tuned-tables"}),
        ("from demo._cuda_wheel import link as join", {"linking"}),
        ("module = _cuda_wheel.link(pieces)", {"linking"}),
        ("module = _cuda_wheel.load_code(cubin)", {"linking"}),
        ("os.link(a, b)", set()),
    ],
)
def test_a_python_file_of_the_wheel_may_need_parts(line: str, parts: set[str], tmp_path: Path) -> None:
    (tmp_path / "ops.py").write_text(f"from demo import _cuda_wheel\n{line}\n")
    assert parts_named_in([tmp_path / "ops.py"]) == parts


def test_a_package_that_attaches_and_a_tuned_table_need_parts_too() -> None:
    vendored = Config(loader="vendor")
    assert known_parts(vendored, ["demo.k"], [], []) == {"array-protocols"}
    assert known_parts(vendored, ["demo.k"], ["demo"], ["demo/k.tuned.json"]) == {
        "array-protocols",
        "attach",
        "tuned-tables",
    }
    assert known_parts(Config(), ["demo.k"], ["demo"], ["demo/k.tuned.json"]) == set()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", True),  # whatever arrays the callers have
        ("import numpy as np\n", True),
        ("import torch\n", False),
        ("def f():\n    from cupy import ndarray\n", False),
        ("import torch.nn as nn\nimport einops\n", False),
        ("import torchvision\n", True),
        ("import torch\nimport jax\n", True),
        ("import cupy\nfrom numba import cuda\n", True),
        ("import torch\nfrom cuda.core import Device\n", True),
        ("import torch\nfrom cuda import core\n", True),
        ("import cupy\nx = cupy.from_dlpack(y)\n", True),
        ("import torch\n\nclass A:\n    __cuda_array_interface__ = {}\n", True),
        ("# import torch\n", True),
        ('"""Use it so:\n\n    import torch\n"""\n', True),
        ("try:\n    import torch\nexcept ImportError:\n    torch = None\n", True),
        ("if TYPE_CHECKING:\n    import torch\n", True),
        ("class A:\n    def f(self):\n        import torch.cuda\n", False),
        ("from .torch import f\n", True),
        ("import torch\nimport paddle\n", True),
        ("import torch\nimport nvidia.dali as dali\n", True),
        ("import torch\nx = (\n", True),
    ],
)
def test_arrays_of_other_libraries_than_pytorch_and_cupy(text: str, expected: bool, tmp_path: Path) -> None:
    (tmp_path / "ops.py").write_text(text)
    (tmp_path / "empty.py").write_text("")
    files = [tmp_path / "ops.py", tmp_path / "empty.py"]
    assert passes_other_arrays(files) is expected
    wheel_files = [WheelFile(path, path.name) for path in files]
    parts = known_parts(Config(loader="vendor"), ["demo.k"], [], [], wheel_files)
    assert ("array-protocols" in parts) is expected


def test_the_setting_is_checked() -> None:
    assert Config.from_table({"loader-parts": ["linking"]}).loader_parts == ("linking",)
    with pytest.raises(
        ConfigError, match=r'loader-parts must be "array-protocols", .* or "vector-pointers", not "?.linkin'
    ):
        Config.from_table({"loader-parts": ["linkin"]})


def test_only_a_vendored_loader_is_copied() -> None:
    assert loader_files(Config(), ["demo.k"], PARTS) == {}
    files = loader_files(Config(loader="vendor", loader_parts=("structs",)), ["demo.k", "other.k"])
    assert {"demo/_cuda_wheel/loading.py", "other/_cuda_wheel/parts/structs.py"} < set(files)


@pytest.fixture
def copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[object]:
    """A copy of the loader without parts."""
    write({f"bare/{name}": content for name, content in copied_files(()).items()}, tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    yield importlib.import_module("bare")
    for name in [each for each in sys.modules if each.partition(".")[0] == "bare"]:
        del sys.modules[name]


def test_each_part_that_is_not_there_says_how_to_add_it(copy) -> None:
    for file in copied_files(()):
        importlib.import_module(f"bare.{file.removesuffix('.py')}".removesuffix(".__init__"))
    for name, part in (
        ("attach", "attach"),
        ("link", "linking"),
        ("load_code", "linking"),
        ("tensor_map", "tensor-maps"),
        ("tuned", "tuned-tables"),
        ("Global", "variables"),
        ("Occupancy", "occupancy"),
    ):
        with pytest.raises(copy.CudaWheelError, match=rf'loader-parts = \["{part}"\], and build the wheel again'):
            getattr(copy, name)
    with pytest.raises(copy.CudaWheelError, match=r'loader-parts = \["linking"\]'):
        copy.load("demo.k", link=[])
    with pytest.raises(copy.CudaWheelError, match=r'loader-parts = \["linking"\]'):
        copy.JitOptions(floating_point=("--fmad=false",)).check()
    copy.JitOptions(lto=False, linker="driver").check()  # only links read these


def test_a_copy_without_parts_takes_arrays_of_pytorch_and_cupy_only(copy) -> None:
    arrays = importlib.import_module("bare.arrays")
    converter = arrays.PointerConverter("float*", True)

    def read(array: object) -> int:
        return converter[type(array)](array, None, 0, [])  # type: ignore[no-any-return]

    assert [read(cupy_array(ADDRESS)), read(torch_tensor(ADDRESS)), read(None), read(5)] == [ADDRESS, ADDRESS, 0, 5]
    for array in (Jax(), Named(), core_buffer(ADDRESS)):
        with pytest.raises(
            copy.CudaWheelError, match=r'loader-parts = \["array-protocols"\], and build the wheel again'
        ):
            read(array)
    with pytest.raises(TypeError, match=r"^is an array in host memory: copy it to the GPU$"):
        read(numpy.zeros(3, numpy.float32))
    with pytest.raises(TypeError, match="takes an array on the GPU, an address or None, not str"):
        read("x")


def test_a_name_with_template_arguments_in_a_module_without_templates_is_an_unknown_kernel(copy) -> None:
    by_name = importlib.import_module("bare.module").ByName(
        "demo.k", "kernel", PLAIN.kernels, str, copy.UnknownKernelError
    )
    assert "k<float>" not in by_name
    with pytest.raises(copy.UnknownKernelError, match=r"demo\.k has no kernel 'k<float>'"):
        by_name["k<float>"]


@pytest.mark.parametrize("part", sorted(PARTS))
def test_each_part_comes_with_all_that_it_imports(part: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = copied_files([part])
    write({f"one_part/{name}": content for name, content in files.items()}, tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    try:
        importlib.import_module("one_part.errors").need(part)
        for name in files:
            module = name.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
            importlib.import_module(f"one_part.{module}".removesuffix(".__init__"))
    finally:
        for name in [each for each in sys.modules if each.partition(".")[0] == "one_part"]:
            del sys.modules[name]


@pytest.mark.parametrize("part", sorted(PARTS))
def test_a_part_asks_for_another_before_it_imports_that_in_a_function(part: str) -> None:
    files = copied_files([part])
    for name in files:
        functions = [node for node in ast.walk(ast.parse(files[name])) if isinstance(node, ast.FunctionDef)]
        for function in functions if name.startswith("parts/") else ():
            nodes = [each for each in ast.walk(function) if isinstance(each, ast.ImportFrom) and each.level]
            folders = [Path(name).parents[each.level - 1] for each in nodes]
            imported = {
                folder.joinpath(*(each.module or "").split(".")) for each, folder in zip(nodes, folders, strict=True)
            }
            if any((RUNTIME / each).with_suffix(".py").is_file() and f"{each}.py" not in files for each in imported):
                calls = {
                    each.func.id
                    for each in ast.walk(function)
                    if isinstance(each, ast.Call) and isinstance(each.func, ast.Name)
                }
                assert {"has", "need"} & calls, (name, function.name)


def test_the_core_needs_no_part_and_no_file_of_the_build_side() -> None:
    names = set(copied_files(()))
    assert not [name for name in names if "/" in name]
    assert len(names) <= 15
    contents = copied_files(()).values()
    assert sum(content.count(b"\n") for content in contents) <= 4000
    assert sum(map(len, contents)) <= 166_000
    assert not {"parts/specialize.py", "parts/compile_text.py", "parts/source_hook.py"} & set(copied_files(PARTS))
