"""Which image the loader takes from a base and its companions; the driver is a stand-in."""

from __future__ import annotations

import re
import shutil
import sys
import time
import warnings
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import cuda_wheel as package
from cuda_wheel.inspect import doctor
from cuda_wheel.runtime.manifest import Target
from cuda_wheel.runtime.parts import companions
from tests.split.conftest import write_project
from tests.support.driver import Driver, Result
from tests.support.processes import build_wheel, run_cuda_wheel
from tests.support.threads import in_threads
from tests.support.variants import SOURCE_OF_VARIANTS, VARIANTS_TABLE

pytestmark = pytest.mark.one_toolchain

Use = Callable[..., Driver]


@pytest.fixture
def installed(
    parts: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[..., None]]:
    """Return a function that installs the base and companions in place of what is installed."""
    monkeypatch.syspath_prepend(str(tmp_path / "site"))

    def install(*extras: str, folder: Path | None = None) -> None:
        shutil.rmtree(tmp_path / "site", ignore_errors=True)
        for name in ("demo", *(f"demo_cuda_{extra}" for extra in extras)):
            with zipfile.ZipFile((folder or parts()) / f"{name}-1-py3-none-any.whl") as wheel:
                wheel.extractall(tmp_path / "site")
        forget()

    def forget() -> None:
        for name in [each for each in sys.modules if each.partition(".")[0].startswith("demo")]:
            del sys.modules[name]
        sys.path_importer_cache.clear()
        companions._warned.clear()

    yield install
    forget()


def loaded(**options: object) -> tuple[str, str]:
    module = package.load("demo.fill", **options)  # type: ignore[arg-type]
    return str(module.image.target), module.how


@pytest.mark.parametrize(
    ("extras", "capability", "expected"),
    [
        (("sm80", "sm86"), (8, 9), ("sm_86", "native")),
        (("sm80",), (8, 9), ("sm_80", "native")),
        (("sm75", "sm80", "sm86", "sm90"), (9, 0), ("sm_90", "native")),
        (("sm80",), (12, 0), ("compute_80", "jit")),
        (("sm80",), (8, 7), ("compute_80", "jit")),  # whether a Jetson runs sm_80 is not known; it runs PTX
    ],
)
def test_the_best_installed_companion_is_taken_without_a_warning(
    installed, use: Use, extras: tuple[str, ...], capability: tuple[int, int], expected: tuple[str, str]
) -> None:
    installed(*extras)
    use(capability)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert loaded() == expected


def test_a_warning_says_once_what_is_missing(installed, use: Use) -> None:
    installed("sm80")
    use((9, 0), (9, 0))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert loaded() == loaded(device=1) == ("compute_80", "jit")
        package.load("demo.other")
    (warning,) = caught
    assert warning.category is RuntimeWarning and warning.filename == __file__
    assert 'demo-cuda-sm90 has it, pip install "demo[sm90]==1"' in str(warning.message)


@pytest.mark.parametrize("by", ["CUDA_WHEEL_JIT=error", "JitOptions(allow=False)"])
def test_where_compiling_is_forbidden_the_companion_is_needed(
    by: str, installed, use: Use, monkeypatch: pytest.MonkeyPatch
) -> None:
    options: dict[str, object] = {"jit": package.JitOptions(allow=by.startswith("CUDA"))}
    if by.startswith("CUDA"):
        monkeypatch.setenv("CUDA_WHEEL_JIT", "error")
    installed("sm80")
    driver = use((9, 0), (8, 6), (8, 7))
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # nothing is compiled, so that there is nothing to warn of
        with pytest.raises(package.NoImageError, match=f"must be compiled, which {re.escape(by)} forbids") as caught:
            loaded(device=0, **options)
        assert str(caught.value).endswith('demo-cuda-sm90, which has machine code: pip install "demo[sm90]==1"')
        assert driver.loaded == []
        assert loaded(device=1, **options) == ("sm_80", "native")
        # A Jetson: with PTX forbidden, what is not known to load is tried.
        assert loaded(device=2, **options) == ("sm_80", "native")


def test_threads_that_load_at_the_same_time_warn_once(monkeypatch: pytest.MonkeyPatch) -> None:
    class Slow(set[str]):
        def __contains__(self, name: object) -> bool:
            found = super().__contains__(name)
            time.sleep(0.01)
            return found

    warned = list[str]()
    monkeypatch.setattr(companions, "_warned", Slow())
    monkeypatch.setattr(companions.warnings, "warn", lambda text, *_, **more: warned.append(text))
    missing = companions.Companion("sm90", "demo-sm90", "demo_sm90", (Target.parse("sm_90"),), (13, 0), "0" * 64)
    split = companions.Split("demo", "1", None, (missing,))
    in_threads(4, lambda number: companions._warn(split, missing, (9, 0)))
    assert len(warned) == 1


def test_a_driver_that_reads_no_machine_code_needs_no_companion(installed, use: Use, extra: str) -> None:
    installed()
    use((9, 0), version=12040 if extra == "cu13" else 11080)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        if extra == "cu13":
            assert loaded() == ("compute_80", "jit")
        else:
            with pytest.raises(package.NoImageError):
                loaded()


def test_a_folder_with_the_name_of_a_companion_is_none(installed, use: Use, tmp_path: Path) -> None:
    installed()
    (tmp_path / "site" / "demo_cuda_sm90" / "__pycache__").mkdir(parents=True)
    use((9, 0))
    with pytest.warns(RuntimeWarning, match="demo-cuda-sm90 has it"):
        assert loaded() == ("compute_80", "jit")


def test_a_module_of_a_companion_is_loaded_once(installed, use: Use) -> None:
    installed("sm90")
    use((9, 0))
    assert package.load("demo.fill") is package.load("demo.fill")


def test_machine_code_is_not_loaded_if_its_hash_differs_even_without_verification(
    installed, use: Use, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed("sm90")
    use((9, 0))
    monkeypatch.setenv("CUDA_WHEEL_VERIFY", "off")
    manifest = tmp_path / "site" / "demo_cuda_sm90" / "demo.fill.fatbin.json"
    text = manifest.read_bytes()
    manifest.write_bytes(text.replace(b'"long_size":8', b'"long_size":4'))
    with pytest.raises(package.ImageError, match="was changed, or is of another build than demo 1"):
        loaded()


@pytest.mark.parametrize(
    ("extras", "loads"),
    [
        (("sm90",), {"gpu": "9.0", "image": "cubin sm_90", "how": "native", "doubt": None}),
        (
            ("sm80",),
            {
                "gpu": "9.0",
                "image": None,
                "how": "jit",
                "doubt": None,
                "missing": 'demo-cuda-sm90 is missing: pip install "demo[sm90]==1"',
            },
        ),
    ],
)
def test_doctor_sees_the_companions_of_a_base(installed, extras: tuple[str, ...], loads: dict[str, object]) -> None:
    installed(*extras)
    entries = [each for each in doctor._modules([(9, 0)], {"cuda": (13, 0)}) if each["distribution"].startswith("demo")]
    assert sorted((each["distribution"], each["name"]) for each in entries) == [
        ("demo", "demo.fill"),
        ("demo", "demo.other"),
    ]
    for entry in entries:
        (found,) = entry["loads"]
        assert found == loads | ({} if loads["image"] else {"image": found["image"]})
        assert found["image"].startswith("cubin" if loads["image"] else "ptx compute_80")


@pytest.fixture
def variants_in_parts(extra: str, tmp_path: Path) -> Path:
    """The base, with PTX for 9.0, and the companions of a module with variants, which carries its sources."""
    table = VARIANTS_TABLE.replace("[tool.cuda-wheel]", '[tool.cuda-wheel]\nsplit = "architecture"')
    table = table.replace('name = "demo.update"', 'name = "demo.update"\nspecialize = true')
    files = {"demo/update.cu": SOURCE_OF_VARIANTS, "include/scale.h": "#define SCALE 3\n"}
    project = write_project(tmp_path / "project", extra, table=table, **files)
    result = build_wheel(project, tmp_path / "dist")
    assert result.returncode == 0, result.stdout
    (wheel,) = (tmp_path / "dist").glob("*.whl")
    result = run_cuda_wheel("split", wheel, "-o", tmp_path / "variants-in-parts")
    assert result.returncode == 0, result.stdout
    return tmp_path / "variants-in-parts"


@pytest.mark.slow
def test_each_variant_is_in_the_companion(installed, use: Use, variants_in_parts: Path) -> None:
    installed("sm80", folder=variants_in_parts)
    use((8, 6))
    for macros in ({"MATH_TYPE": "float", "NUM_MODES": 4}, {"MATH_TYPE": "double", "NUM_MODES": 4}):
        module = package.load("demo.update", **macros)
        assert (str(module.image.target), dict(module.variant)) == ("sm_80", macros)
        assert module.manifest.specialize is not None and module.specialize is not None
    with pytest.raises(package.UnknownVariantError):
        package.load("demo.update")


@pytest.mark.slow
def test_a_jetson_tries_a_companion_where_nothing_else_is_left(installed, use: Use, variants_in_parts: Path) -> None:
    installed("sm80", folder=variants_in_parts)
    use((8, 7))
    module = package.load("demo.update", MATH_TYPE="float", NUM_MODES=4)
    assert str(module.image.target) == "sm_80"
    use((8, 7), cuKernelGetAttribute=Result.CUDA_ERROR_NO_BINARY_FOR_GPU)
    with pytest.raises(package.NoImageError, match="the driver refused it"):
        package.load("demo.update", MATH_TYPE="float", NUM_MODES=4)
    installed(folder=variants_in_parts)
    with pytest.raises(package.NoImageError, match="Or install demo-cuda-sm80"):
        package.load("demo.update", MATH_TYPE="float", NUM_MODES=4)
