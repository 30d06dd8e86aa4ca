"""The configurations of `triton.autotune`: read from the source, measured by `cuda-wheel tune`, and chosen by launches.

tests/gpu/test_triton_tune.py measures on a GPU.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cuda_wheel
from cuda_wheel.builder.manifest_reader import all_manifests
from cuda_wheel.runtime.errors import ArgumentError, ImageError
from cuda_wheel.runtime.parts import tuned_tables
from cuda_wheel.tuning import tunable
from cuda_wheel.tuning.tuner import table_text, tune
from tests.support.driver import Driver
from tests.support.launches import array_interface
from tests.support.loaded_modules import forget_package
from tests.support.processes import build_wheel, run, run_cuda_wheel
from tests.support.triton_project import HEAD, write_triton_project
from tests.support.wheels import contents
from tests.tuning.support import StandInTimer

pytestmark = [pytest.mark.slow, pytest.mark.one_toolchain]

pytest.importorskip("triton", reason="Triton is not installed")

AUTOTUNED = """
[tool.cuda-wheel]
architectures = ["90-real"]
[[tool.cuda-wheel.triton]]
kernel = "demo.cases:tuned_copy"
autotune = true
arguments = { out_ptr = "*fp32:16", x_ptr = "*fp32:16", n = ["i32:16", "i32"] }
"""


def autotuned(root: Path, decorator: str = "", head: str = "", table: str = AUTOTUNED) -> Path:
    """Write a project with the kernel tuned_copy, which this decorator tunes."""
    write_triton_project(root, kernels=HEAD + table)
    if decorator:
        path = root / "demo/cases.py"
        first, _, rest = path.read_text().partition("@triton.autotune(")
        path.write_text(first + head + decorator + "\n" + rest.partition("\n")[2])
    return root


def built(root: Path) -> list[dict[str, Any]]:
    """Build a project, and return its variants."""
    result = run_cuda_wheel("build", "-o", root / "output", root)
    assert result.returncode == 0, result.stdout
    manifests = all_manifests((root / "output/demo/cases.fatbin.json").read_bytes(), "the manifest")
    assert all({name: kind for name, kind, _ in each.kernels[0].python}["BLOCK"] == "tuned" for each in manifests)
    return [dict(each.variant) for each in manifests]


def failed(root: Path) -> str:
    result = run_cuda_wheel("build", "-o", root / "output", root)
    assert result.returncode == 1 and "Traceback" not in result.stdout, result.stdout
    return " ".join(result.stdout.split())


# --- the source ---------------------------------------------------------------------------------------


def test_the_configurations_of_the_source_are_compiled_for_each_row(tmp_path: Path) -> None:
    found = built(autotuned(tmp_path / "project"))
    assert [(each["n"], each["BLOCK"], each["num_warps"], each["num_stages"]) for each in found] == [
        ("i32:16", 64, 2, 3), ("i32:16", 256, 4, 3), ("i32", 64, 2, 3), ("i32", 256, 4, 3),
    ]  # fmt: skip


def test_python_computes_configurations_and_equal_ones_are_compiled_once(tmp_path: Path) -> None:
    head = """
from .sizes import SIZES

def configurations():
    return [triton.Config({"BLOCK": size}, num_warps=warps, num_stages=2, maxnreg=64 if warps == 8 else None)
            for size in SIZES for warps in (4, 8)]

def prune(configs, named_args, **kwargs):
    raise AssertionError("a build has no arguments")

"""
    decorator = '@triton.autotune(configurations() + configurations(), key=["n"], prune_configs_by={"early_config_prune": prune}, reset_to_zero=["out_ptr"])'
    root = autotuned(tmp_path / "project", decorator, head)
    (root / "demo/sizes.py").write_text("SIZES = [128, 512]\n")
    found = [each for each in built(root) if each["n"] == "i32"]
    assert [(each["BLOCK"], each["num_warps"], each.get("maxnreg")) for each in found] == [
        (128, 4, None), (128, 8, 64), (512, 4, None), (512, 8, 64),
    ]  # fmt: skip
    assert {each["num_stages"] for each in found} == {2}
    (root / "demo/sizes.py").write_text("SIZES = [1024]\n")
    shutil.rmtree(root / "output")
    assert {each["BLOCK"] for each in built(root)} == {1024}


@pytest.mark.parametrize(
    ("decorator", "said"),
    [
        ("# none", "demo.cases:tuned_copy has no @triton.autotune, so that autotune = true means nothing"),
        (
            "@triton.autotune([triton.Config({'BLOCK': absent_torch.size()})], key=['n'])",
            "configuration 1 of its triton.autotune has BLOCK = <absent_torch.size(), not installed>, which is no",
        ),
        (
            "@triton.autotune([triton.Config({'BLOCK': 64 if absent_torch.size() > 1 else 32})], key=['n'])",
            "are not known, because what it defines depends on absent_torch.size(), and the package absent_torch is not",
        ),
        (
            "@triton.autotune([triton.Config({'BLOCK': 64}, pre_hook=lambda args: None)], key=['n'])",
            "configuration 1 of its triton.autotune has pre_hook, which is called before each launch, by Triton only",
        ),
        (
            "@triton.autotune([triton.Config({'BLOCK': 64}), triton.Config({'BLOCK': object})], key=['n'])",
            "configuration 2 of its triton.autotune has BLOCK = <class 'object'>, which is no number",
        ),
        (
            "@triton.autotune([triton.Config({'BLOCK': 64, 'n': 3})], key=['n'])",
            "[[tool.cuda-wheel.triton]] of demo.cases:tuned_copy has n, and so have the configurations",
        ),
        (
            "@triton.autotune([triton.Config({'BLOCK': triton.runtime.driver.active.get_current_target().arch // 90 * 32 + 32})], key=[])",
            "demo.cases:tuned_copy: its triton.autotune lists other configurations for",
        ),
        ("@triton.autotune([triton.Config({'BLOCK': 65})], key=['n'])", "arange's range must be a power of 2"),
        ("@triton.autotune([triton.Config({'BLOCK': 64, 'GROUP': 2})], key=[])", "has no parameter GROUP, nor has"),
    ],
    ids=["none", "stand-in", "undecided", "hook", "value", "twice", "architectures", "Triton's error", "option"],
)  # fmt: skip
def test_configurations_that_a_build_cannot_use_are_said(tmp_path: Path, decorator: str, said: str) -> None:
    two = AUTOTUNED.replace('["90-real"]', '["80-real", "90-real"]')
    root = autotuned(tmp_path / "project", decorator, "import absent_torch\n", two)
    text = failed(root)
    assert said in text and "demo" in text, text


def test_a_source_tree_has_the_configurations_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, use: Callable[..., Driver]
) -> None:
    root = autotuned(tmp_path / "project")
    monkeypatch.setenv("CUDA_WHEEL_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.syspath_prepend(str(root))
    forget_package("demo")
    driver = use((9, 0))
    driver.context.device = 0
    for sizes in ([64, 256], [64, 256], [64, 128]):
        kernel = cuda_wheel.load("demo.cases")["tuned_copy"]
        assert [each["BLOCK"] for each in kernel.variants] == sizes * 2
        kernel.launch(1, array_interface(1024), array_interface(1024), 10, BLOCK=sizes[1])
        source = root / "demo/cases.py"
        source.write_text(
            source.read_text().replace(
                'Config({"BLOCK": 256})',
                'Config({"BLOCK": 128}, num_warps=2)',
                sizes[1] == 256 and len(driver.launches) > 1,
            )
        )
    assert [each.block[0] for each in driver.launches] == [128, 128, 64]
    forget_package("demo")


# --- the table ----------------------------------------------------------------------------------------


@pytest.fixture
def site(
    cases: tuple[Path, Path, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, use: Callable[..., Driver]
) -> Iterator[Path]:
    """Put a copy of the built package on the path, for a stand-in of an H200. Return the package's folder."""
    shutil.copytree(cases[1], tmp_path / "site")
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    use((9, 0)).context.device = 0
    forget_package("demo")
    yield tmp_path / "site/demo"
    forget_package("demo")
    tuned_tables.forget()


def row(problem: dict[str, Any], parameters: dict[str, Any], name: str = "tuned_copy", **more: Any) -> dict[str, Any]:
    return {
        "name": name, "gpu": "Stand-in", "compute_capability": [9, 0], "problem": problem, "variant": {},
        "kernel": "tuned_copy", "parameters": parameters, "microseconds": 1.0, "first_microseconds": 2.0,
    } | more  # fmt: skip


SMALL, LARGE = {"BLOCK": 64, "num_warps": 4}, {"BLOCK": 256, "num_warps": 2}

TABLE = [row({"n": 1000}, SMALL), row({"n": 100_000}, LARGE)]


def write_table(folder: Path, rows: list[dict[str, Any]]) -> Path:
    text = json.dumps({"format": 1, "module": "demo.cases", "choices": rows})
    (folder / "cases.tuned.json").write_text(text)
    tuned_tables.forget()
    return folder / "cases.tuned.json"


def array() -> Any:
    """Return an array of which a generated launch asks the type and address, as of PyTorch's tensors."""
    array = array_interface(1024)
    type(array).dtype, type(array).data_ptr = "float32", lambda self: 1024
    return array


def launched(driver: Driver, kernel: Any, sizes: list[int], **named: Any) -> list[tuple[int, int]]:
    """Return (BLOCK, warps) of a launch for each size."""
    before = len(driver.launches)
    for n in sizes:
        x = array()
        kernel.launch(lambda meta: (meta["BLOCK"],), x, x, n, **named)
    return [(each.grid[0], each.block[0] // 32) for each in driver.launches[before:]]


def test_a_launch_chooses_by_the_table_what_it_leaves_out(site: Path, use: Callable[..., Driver]) -> None:
    driver = use((9, 0))
    driver.context.device = 0
    assert launched(driver, cuda_wheel.load("demo.cases")["tuned_copy"], [1000, 100_000]) == [(64, 2)] * 2
    write_table(site, TABLE)
    kernel = cuda_wheel.load("demo.cases")["tuned_copy"]
    for _ in range(3):  # the first launch of a size, and those that the generated function knows
        assert launched(driver, kernel, [1, 16, 999, 1001, 100_000, 1 << 30]) == [(64, 4)] * 4 + [(256, 2)] * 2
    assert launched(driver, kernel, [1000, 100_000], BLOCK=256) == [(256, 2), (256, 2)]
    assert launched(driver, kernel, [1000, 100_000], BLOCK=64, num_warps=2) == [(64, 2)] * 2
    bound = kernel.bind(lambda meta: (meta["BLOCK"],), array_interface(1024), array_interface(1024), 100_000)
    bound()
    assert driver.launches[-1].grid[0] == 256
    other = cuda_wheel.load("demo.cases")["scale"]
    other.launch(1, array_interface(1024), array_interface(1024), 32, 0.5)  # the table has nothing for it


def test_element_types_choose_and_what_was_not_tuned_is_the_first(site: Path, use: Callable[..., Driver]) -> None:
    driver = use((9, 0))
    driver.context.device = 0
    write_table(site, [row({"n": 1000, "x_ptr": "float32"}, LARGE), row({"n": 1000, "x_ptr": "float16"}, SMALL)])
    kernel = cuda_wheel.load("demo.cases")["tuned_copy"]
    assert launched(driver, kernel, [7]) == [(256, 2)]
    write_table(site, [row({"n": 1000, "x_ptr": "float16"}, LARGE)])
    assert launched(driver, cuda_wheel.load("demo.cases")["tuned_copy"], [7]) == [(64, 2)]
    write_table(site, [row({"n": "7"}, LARGE)])
    assert launched(driver, cuda_wheel.load("demo.cases")["tuned_copy"], [7]) == [(64, 2)]


def test_another_gpus_rows_count_if_there_are_no_others(site: Path, use: Callable[..., Driver]) -> None:
    driver = use((9, 0))
    driver.context.device = 0
    write_table(site, [row({"n": 1}, LARGE, gpu="Other", compute_capability=[8, 0])])
    assert launched(driver, cuda_wheel.load("demo.cases")["tuned_copy"], [7]) == [(256, 2)]


def test_few_problems_are_kept(site: Path, use: Callable[..., Driver], monkeypatch: pytest.MonkeyPatch) -> None:
    from cuda_wheel.runtime.parts.triton import kernels, tuned

    monkeypatch.setattr(kernels, "_MOST_KEYS", 8)
    monkeypatch.setattr(tuned, "_KEPT", 8)
    driver = use((9, 0))
    driver.context.device = 0
    write_table(site, TABLE)
    kernel = cuda_wheel.load("demo.cases")["tuned_copy"]
    assert launched(driver, kernel, [*range(990, 1020)]) == [(64, 4)] * 30
    assert 0 < len(kernel._known) <= 8 and len(kernel._tuned._found) <= 8 and len(kernel._prepared) == 2


WRONG = [
    (row({"size": 1}, SMALL), "the problem has 'size', and the kernel has no parameter of this name: it has out_ptr, x_ptr"),
    (row({"BLOCK": 1}, SMALL), "the problem has 'BLOCK', which triton.autotune chooses"),
    (row({"n": 1}, {"x_ptr": 3}), "a launch passes x_ptr: only constants that triton.autotune chooses can be tuned"),
    (row({"n": 1}, {"BLOCK": 128}), "the kernel was not compiled with BLOCK=128"),
    (row({"n": 1}, {"BLOCK": 64, "maxnreg": 32}), "the kernel was not compiled with BLOCK=64, maxnreg=32"),
]  # fmt: skip


@pytest.mark.parametrize(("wrong", "said"), WRONG)
def test_a_row_that_does_not_fit_the_kernel_is_refused(
    site: Path, use: Callable[..., Driver], wrong: dict[str, Any], said: str
) -> None:
    use((9, 0)).context.device = 0
    write_table(site, [wrong])
    kernel = cuda_wheel.load("demo.cases")["tuned_copy"]
    for _ in range(2):
        with pytest.raises(
            ImageError, match=rf"cases\.tuned\.json, choice 'tuned_copy' for Stand-in and .*: {said}.*Tune it again"
        ):
            kernel.launch(1, array(), array(), 10)
    kernel.launch(1, array(), array(), 10, BLOCK=64, num_warps=2, num_stages=3)
    (found,) = measured(site, [{"n": 1000}])  # it can be tuned again
    assert found.row.parameters["BLOCK"] == 64


def test_a_build_checks_the_table_and_puts_it_into_the_wheel(tmp_path: Path) -> None:
    root = autotuned(tmp_path / "project")
    own = {"BLOCK": 256, "num_warps": 4, "num_stages": 3}
    for wrong, said in (
        *((each, said) for each, said in WRONG if "maxnreg" not in said),
        (row({"n": 1}, {}, kernel="copy"), "demo.cases has no kernel 'copy'"),
    ):
        write_table(root / "demo", [row({"n": 1000}, own), wrong | {"problem": {**wrong["problem"], "n": 7}, "gpu": "x"}]
                    if set(wrong["problem"]) == {"n"} else [wrong])  # fmt: skip
        assert said in failed(root), said
    write_table(root / "demo", [row({"n": 1000}, own), row({"any": 1}, {"grid": 3}, name="for cuda_wheel.tuned")])
    path = root / "pyproject.toml"
    path.write_text(path.read_text().replace("[tool.cuda-wheel]\n", '[tool.cuda-wheel]\nloader = "vendor"\n'))
    result = build_wheel(root, tmp_path / "wheel")
    assert result.returncode == 0, result.stdout
    (wheel,) = (tmp_path / "wheel").glob("*.whl")
    files = contents(wheel)
    assert "demo/cases.tuned.json" in files and "demo/_cuda_wheel/parts/tuned_rows.py" in files
    program = "import demo._cuda_wheel as c; print(c.load('demo.cases')['tuned_copy']._tuned.keys)"
    shutil.unpack_archive(wheel, tmp_path / "installed", "zip")
    result = run(sys.executable, "-c", program, cwd=tmp_path / "installed")
    assert "frozenset({'n'})" in result.stdout, result.stdout


# --- measuring ----------------------------------------------------------------------------------------


def measured(site: Path, problems: list[dict[str, Any]], **named: Any) -> Any:
    result = np.ones(4, np.float32)
    costs = {(64, 2): 9.0, (64, 4): 5.0, (256, 2): 7.0, (256, 4): 8.0}
    tried: list[dict[str, Any]] = []

    @tunable("demo.cases", problems=problems, name="tuned_copy", **named)
    def function(problem: Any) -> Any:
        def launch(choice: Any) -> bool:
            x = array_interface(1024)
            choice.kernel.launch(lambda meta: (meta["BLOCK"],), x, x, problem["n"], **choice.parameters)
            tried.append(choice.parameters)
            assert (result == 1).all()  # restored before each launch
            result[:] = 3
            return True

        return launch, result

    class Timer(StandInTimer):
        gpu, capability = "Stand-in", (9, 0)
        cost = staticmethod(lambda: costs[tried[-1]["BLOCK"], tried[-1]["num_warps"]])

        def flushes(self, launch: Callable[[], object]) -> int:
            result[:] = 1
            return super().flushes(launch)

    return list(tune(function, Timer()))


def test_all_that_was_compiled_is_tried_and_launches_choose_the_best(site: Path, use: Callable[..., Driver]) -> None:
    driver = use((9, 0))
    driver.context.device = 0
    (found,) = measured(site, [{"n": 1000}])
    assert [each.choice.parameters for each in found.trials] == [
        {"BLOCK": block, "num_warps": warps, "num_stages": 3} for block in (64, 256) for warps in (2, 4)
    ]
    assert found.row.parameters == {"BLOCK": 64, "num_warps": 4, "num_stages": 3} and found.row.variant == {}
    (site / "cases.tuned.json").write_text(table_text("demo.cases", [found.row]))
    assert launched(driver, cuda_wheel.load("demo.cases")["tuned_copy"], [10]) == [(64, 4)]


def test_what_cannot_be_tuned_is_refused(site: Path) -> None:
    with pytest.raises(ArgumentError, match="'size' of the problem is none of them: out_ptr, x_ptr, n, BLOCK"):
        measured(site, [{"size": 1000}])
    with pytest.raises(cuda_wheel.UnknownKernelError, match="has no kernel"):
        next(tune(tunable("demo.cases", problems=[{"n": 1}])(lambda problem: (len, np.zeros(1))), StandInTimer()))


def test_what_needs_more_shared_memory_than_the_gpu_has_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    from types import SimpleNamespace

    from cuda_wheel.runtime.parts.triton import kernels

    monkeypatch.setattr(kernels, "current_device", lambda: 0)
    monkeypatch.setattr(kernels, "device_attribute", lambda name, device: 100 << 10)
    loaded: list[int] = []

    class Kernel(kernels.TritonKernel):
        def _loaded(self, compiled: Any) -> Any:
            loaded.append(compiled["KIB"])
            return SimpleNamespace(options={"shared_memory": compiled["KIB"] << 10})

    def launched(sizes: list[int], **options: Any) -> int:
        loaded.clear()
        parameters = (("n", "argument", None), ("KIB", "tuned", None))
        variants = [{"n": "i32", "KIB": size, "num_warps": 4} for size in sizes]
        kernel = Kernel("demo", "demo:k", parameters, variants, lambda macros: None)  # type: ignore[arg-type,return-value]
        values, named = kernel._values([3], options)
        return int(kernel._prepare(values, named).options["shared_memory"]) >> 10

    assert launched([200, 101, 100, 40]) == 100 and loaded == [200, 101, 100]
    assert launched([40, 200]) == 40 and loaded == [40]
    assert launched([200, 101]) == 200  # the launch says what is wrong
    assert launched([200, 40], KIB=200) == 200


PROGRAM = """\
import numpy as np
from cuda_wheel.tuning import tunable
from tests.triton.test_tuned import array

result = np.zeros(4)
blocks = []

@tunable("demo.cases", problems=[{"n": 1000}, {"n": 50}], rounds=3)
def tuned_copy(problem):
    result[:] = 0
    def launch(choice):
        choice.kernel.launch(lambda meta: (meta["BLOCK"],), array(), array(), problem["n"], **choice.parameters)
        blocks.append(choice["BLOCK"])
        result[:] = 1
        return True
    return launch, result
"""


def test_the_command_writes_the_table_of_a_source_tree(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, use: Callable[..., Driver], capsys: pytest.CaptureFixture[str]
) -> None:
    from cuda_wheel.cli.main import main

    root = autotuned(tmp_path / "project")
    (root / "tuning.py").write_text(PROGRAM)
    monkeypatch.setenv("CUDA_WHEEL_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.chdir(root)
    monkeypatch.syspath_prepend(str(root))
    monkeypatch.delitem(sys.modules, "tuning", raising=False)
    monkeypatch.setattr("cuda_wheel.cli.tune_command.GpuTimer", StandInTimer)
    monkeypatch.setattr(StandInTimer, "cost", staticmethod(lambda: 9.0 - sys.modules["tuning"].blocks[-1] / 64))
    forget_package("demo")
    driver = use((9, 0))
    driver.context.device = 0
    assert main(["tune", "tuning:tuned_copy"]) == 0, capsys.readouterr()
    shown = capsys.readouterr().out
    assert "tuned_copy, BLOCK=256, num_stages=3, num_warps=4" in shown and "cases.tuned.json (2 measured)" in shown
    rows = json.loads((root / "demo/cases.tuned.json").read_text())["choices"]
    assert [(each["problem"], each["parameters"]["BLOCK"], each["kernel"]) for each in rows] == [
        ({"n": 50}, 256, "tuned_copy"), ({"n": 1000}, 256, "tuned_copy"),
    ]  # fmt: skip
    tuned_tables.forget()
    assert launched(driver, cuda_wheel.load("demo.cases")["tuned_copy"], [10, 16]) == [(256, 4)] * 2
    forget_package("demo")
    tuned_tables.forget()
    monkeypatch.delitem(sys.modules, "tuning")
