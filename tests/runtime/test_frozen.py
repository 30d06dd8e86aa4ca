"""Messages in a frozen application: they speak to its developer and tell nobody to install anything."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import cuda_wheel
from cuda_wheel.runtime import driver, errors, explanations, files
from cuda_wheel.runtime.errors import CudaWheelError, ImageError, LinkError, is_frozen
from cuda_wheel.runtime.parts import source_hook, suggestions
from cuda_wheel.runtime.parts.linking import strategy
from tests.support.loaded_modules import reset_driver
from tests.support.projects import ROOT

pytestmark = pytest.mark.one_toolchain


@pytest.fixture(params=["PyInstaller", "Nuitka"])
def frozen(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "Nuitka":  # it marks each module
        monkeypatch.setitem(is_frozen.__globals__, "__compiled__", object())
    else:
        monkeypatch.setattr(sys, "frozen", True, raising=False)


def message_of(call: Callable[[], Any], error: type[Exception]) -> str:
    with pytest.raises(error) as caught:
        call()
    return str(caught.value)


def without_bindings(monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setitem(sys.modules, "cuda.bindings.driver", None)
    monkeypatch.setitem(sys.modules, "cuda.bindings", None)
    reset_driver()
    return message_of(driver.cuda_driver, cuda_wheel.DriverError)


def test_an_installed_package_is_not_frozen(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not is_frozen()
    assert without_bindings(monkeypatch).endswith("install it with pip install cuda-bindings")


def test_bindings_that_were_left_out(frozen: None, monkeypatch: pytest.MonkeyPatch) -> None:
    message = without_bindings(monkeypatch)
    assert message.endswith("this application was frozen without cuda-bindings: add it where it is frozen")


def test_a_package_that_was_left_out(frozen: None) -> None:
    message = message_of(lambda: cuda_wheel.load("absent_demo.kernels.saxpy"), ImageError)
    assert message == ("this application was frozen without package 'absent_demo.kernels': add it where it is frozen")


@pytest.mark.parametrize("with_suggestions", [True, False])
def test_images_that_were_left_out(
    with_suggestions: bool, frozen: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "left_demo").mkdir()
    (tmp_path / "left_demo/__init__.py").touch()
    (tmp_path / "left_demo/saxpy.cu").touch()
    monkeypatch.syspath_prepend(tmp_path)
    if not with_suggestions:
        monkeypatch.setattr(files, "has", lambda part: part != "suggestions" and errors.has(part))
    message = message_of(lambda: cuda_wheel.load("left_demo.saxpy"), ImageError)
    assert "this application was frozen without saxpy.fatbin.json" in message
    assert "of left_demo: add it where it is frozen" in message
    attached = message_of(lambda: cuda_wheel.attach("left_demo"), ImageError)
    assert "this application was frozen without its .fatbin and .fatbin.json files" in attached
    for text in (message, attached):
        assert "install" not in text and "pyproject.toml" not in text


def test_a_part_of_the_loader_that_was_left_out(frozen: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(errors.PARTS, "absent-part", "Kernel.absent")
    assert message_of(lambda: errors.need("absent-part"), CudaWheelError) == (
        "this application was frozen without the part 'absent-part' (Kernel.absent) of cuda_wheel.runtime: add it where it "
        "is frozen"
    )


def test_linkers_that_were_left_out(frozen: None) -> None:
    reason = strategy._why_not_nvjitlink(None, (13, 0), (9, 0))
    assert (
        reason
        == "nvJitLink is not installed (this application was frozen without nvJitLink: add it where it is frozen)"
    )
    unit: Any = SimpleNamespace(name="gain.cu", forms={"cuda": b""})
    message = message_of(lambda: strategy._check_no_cuda([unit]), LinkError)
    assert "frozen without NVRTC: add it" in message and "pip" not in message


def test_ptx_that_is_too_new(frozen: None) -> None:
    image: Any = SimpleNamespace(kind="ptx", offset=0)
    advice = explanations._what_helps_the_driver([image], (12, 4))
    assert advice == (
        "Update the NVIDIA driver, or use the newest nvJitLink for it: this application was frozen without nvJitLink of "
        "CUDA 12: add it where it is frozen."
    )


def test_a_manifest_of_another_format(frozen: None) -> None:
    message = suggestions.other_format(b'{"cuda_wheel": "9.1",\n "format": 99,', "k.fatbin.json", 4)
    assert message.endswith("Freeze the application again, with versions of cuda-wheel and of the package that fit.")


def test_nothing_is_compiled(frozen: None) -> None:
    """The compilers run in new Python processes, and `sys.executable` would start the application again."""
    assert source_hook.source_hook() is None
    message = message_of(lambda: cuda_wheel.compile("__global__ void k() {}"), CudaWheelError)
    assert message.startswith("source cannot be compiled: frozen applications and zip archives compile no CUDA C++.")


def test_a_loader_in_a_zip_archive_compiles_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    assert source_hook.source_hook() is not None
    monkeypatch.setattr(source_hook, "__file__", "app.pyz/cuda_wheel/runtime/parts/source_hook.py")
    assert source_hook.source_hook() is None


def test_who_is_told_to_install_something_is_asked_whether_it_is_frozen() -> None:
    found = []
    for path in (ROOT / "cuda_wheel" / "runtime").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.FunctionDef):
                continue
            body = node.body[1:] if ast.get_docstring(node) else node.body
            text = "\n".join(map(ast.unparse, body))
            if "pip install" in text and not {"to_add", "toolchain_to_install"} & {
                each.id for each in ast.walk(node) if isinstance(each, ast.Name)
            }:
                found.append(node.name)
    # Those that call them ask, or have a compiler, which no frozen application has.
    assert sorted(found) == ["_pip_install", "toolchain_to_install"]
