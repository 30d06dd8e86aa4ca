"""The build back end that a project names says which files its wheel has; one that cannot be asked is an error."""

from __future__ import annotations

from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from cuda_wheel.builder.errors import ConfigError
from cuda_wheel.builder.sources.layout import GROUP, Layout, WheelFile, wheel_layout

pytestmark = pytest.mark.one_toolchain


def of_one(root: Path) -> Layout:
    return Layout((WheelFile(root / "src/k.cu", "demo/k.cu"),))


def of_setuptools(root: Path) -> Layout:
    return Layout((), ({"name": "demo.k"},))


@pytest.fixture(autouse=True)
def back_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """Install three back ends: the package of the last one is missing."""
    targets = {
        "one.build": f"{__name__}:of_one",
        "setuptools.build_meta": f"{__name__}:of_setuptools",
        "lost.build": "no_such_package:wheel_layout",
    }
    installed = [EntryPoint(name, target, GROUP) for name, target in targets.items()]
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: installed if group == GROUP else [])


def layout(tmp_path: Path, build_system: str) -> Layout:
    (tmp_path / "pyproject.toml").write_text(build_system)
    return wheel_layout(tmp_path)


def test_the_back_end_of_the_project_is_asked(tmp_path: Path) -> None:
    found = layout(tmp_path, '[build-system]\nbuild-backend = "one.build"\n')
    assert found.files == (WheelFile(tmp_path / "src/k.cu", "demo/k.cu"),) and found.modules == ()


@pytest.mark.parametrize(
    "build_system",
    ["", "[build-system]\nrequires = []\n", '[build-system]\nbuild-backend = "setuptools.build_meta:__legacy__"\n'],
)
def test_a_project_without_a_back_end_is_built_by_setuptools(build_system: str, tmp_path: Path) -> None:
    assert layout(tmp_path, build_system).modules == ({"name": "demo.k"},)


@pytest.mark.parametrize(
    ("back_end", "message"),
    [
        (
            "flit_core.buildapi",
            r"'flit_core\.buildapi', .* it knows lost\.build, one\.build, setuptools\.build_meta\. cuda_wheel\.backend wraps any",
        ),
        ("lost.build", r"lost\.build, which must be installed .*no_such_package"),
    ],
)
def test_a_back_end_that_cannot_be_asked_is_an_error(back_end: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        layout(tmp_path, f'[build-system]\nbuild-backend = "{back_end}"\n')
    assert str(tmp_path / "pyproject.toml") in str(caught.value)
