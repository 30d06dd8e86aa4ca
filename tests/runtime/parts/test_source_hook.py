"""The loader reaches the build side by one registered hook, and only that of its own version."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

import cuda_wheel
from cuda_wheel import VENDORED_PACKAGE, builder
from cuda_wheel.builder import compile_on_load as editable
from cuda_wheel.builder.wheel.loader_copy import copied_files
from cuda_wheel.runtime.errors import PARTS
from cuda_wheel.runtime.parts.source_hook import no_compiler, source_hook
from tests.support.processes import run
from tests.support.projects import KERNEL, ROOT


def test_the_hook_is_the_build_side() -> None:
    hook = source_hook()
    assert hook is editable
    assert all(callable(getattr(hook, name)) for name in hook.__all__)


def test_the_hook_imports_no_compiler_before_it_is_used() -> None:
    program = "import cuda_wheel.runtime.parts.source_hook as s, sys; s.source_hook(); print(*sys.modules)"
    result = run(sys.executable, "-c", program)
    names = {name for name in result.stdout.split() if name.startswith("cuda_wheel.builder")}
    assert names == {"cuda_wheel.builder", "cuda_wheel.builder.compile_on_load"}


def test_the_build_side_of_another_version_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its metadata says its version."""
    version = cuda_wheel.__version__
    builder._check_version(str(tmp_path))  # a checkout has none
    (tmp_path / "cuda_wheel_builder-99.0.dist-info").mkdir()
    with pytest.raises(
        cuda_wheel.CudaWheelError,
        match=rf"two versions are mixed: cuda-wheel-builder 99\.0 in .*, and cuda-wheel {re.escape(version)} in ",
    ):
        builder._check_version(str(tmp_path))
    (tmp_path / f"cuda_wheel_builder-{version}.dist-info").mkdir()
    builder._check_version(str(tmp_path))


def test_a_build_side_that_is_not_installed_is_no_hook(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cuda_wheel, "SOURCE_HOOK", "cuda_wheel.not_installed.compile_on_load")
    assert source_hook() is None
    assert no_compiler(None).startswith("cuda-wheel-builder, which compiles, is not installed.")


def test_a_build_side_that_cannot_be_imported_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cuda_wheel.builder.compile_on_load", None)
    with pytest.raises(
        cuda_wheel.CudaWheelError, match=r"cannot import cuda_wheel\.builder\.compile_on_load, .*Reinstall"
    ):
        source_hook()


def test_a_package_without_a_hook_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cuda_wheel", ModuleType("cuda_wheel"))
    assert source_hook() is None


@pytest.mark.parametrize("version", ["99.0", cuda_wheel.__version__])
def test_a_vendored_copy_never_reaches_an_installed_build_side(version: str, make_project, tmp_path: Path) -> None:
    """Neither `load` nor `attach` compiles the source in the package."""
    project = make_project(
        **{"demo/fill.cu": KERNEL}
        | {
            f"demo/{VENDORED_PACKAGE}/{name}": content.decode().replace(f'"{cuda_wheel.__version__}"', f'"{version}"')
            for name, content in copied_files(PARTS).items()
        }
    )
    program = f"""
import cuda_wheel, sys
from demo import _cuda_wheel as copy
for act in (lambda: copy.load("demo.fill"), lambda: copy.attach("demo")):
    try:
        act()
    except copy.ImageError as error:
        assert not isinstance(error, cuda_wheel.CudaWheelError)
        print(error)
assert copy.__version__ == {version!r}
assert not [name for name in sys.modules if name.startswith("cuda_wheel.builder")]
"""
    result = run(sys.executable, "-c", program, PYTHONPATH=f"{project}{os.pathsep}{ROOT}")
    assert result.returncode == 0, result.stdout
    assert "fill.cu is there, but was not compiled" in result.stdout
    assert "demo has no modules: looked in" in result.stdout
