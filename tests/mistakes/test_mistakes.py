"""The mistakes that new users make, and what they are told: no message has a traceback or a path of cuda-wheel itself."""

from __future__ import annotations

import re
import traceback
from collections.abc import Callable
from pathlib import Path

import pytest

import cuda_wheel
from tests.mistakes import builds, loads
from tests.support.driver import Driver
from tests.support.loaded_modules import forget_all
from tests.support.processes import run_cuda_wheel
from tests.support.projects import ROOT

pytestmark = pytest.mark.one_toolchain


def check(message: str, said: tuple[str, ...]) -> None:
    """Check that a message has these words in this order, and none that a user cannot read."""
    assert re.search(".*".join(map(re.escape, said)), message, re.DOTALL), message
    for word in ("Traceback", "internal error", str(ROOT / "cuda_wheel"), "KeyError", "<lambda>", "NoneType"):
        assert word not in message, message
    assert len(message.splitlines()) <= 30, message


def test_the_list_is_long_and_has_no_mistake_twice() -> None:
    names = [each.name for each in (*builds.BUILDS, *loads.LOADS)]
    assert len(names) == len(set(names)) >= 35


@pytest.mark.parametrize("mistake", builds.BUILDS, ids=lambda mistake: mistake.name)
def test_a_build_says_what_is_wrong(
    mistake: builds.Mistake, tmp_path: Path, extra: str, kept_cache: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUDA_WHEEL_CACHE_DIR", kept_cache)
    project = tmp_path / "project"
    for name, text in {"demo/__init__.py": "", **mistake.files}.items():
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text(text)
    content = mistake.pyproject if mistake.pyproject is not None else builds.HEAD + mistake.table
    if content:
        (project / "pyproject.toml").write_bytes(content.encode() if isinstance(content, str) else content)
    result = run_cuda_wheel("build", project, "-o", tmp_path / "out", **mistake.environ)
    check(result.stdout, mistake.said)
    assert result.returncode == (0 if mistake.warns else 1)
    assert (tmp_path / "out").exists() is mistake.warns


@pytest.mark.parametrize("mistake", loads.LOADS, ids=lambda mistake: mistake.name)
def test_a_load_or_launch_says_what_is_wrong(
    mistake: loads.Mistake,
    unpacked: Callable[[str], Path],
    use: Callable[..., Driver],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    folder = unpacked("saxpy")
    monkeypatch.syspath_prepend(folder)
    forget_all()
    mistake.change(folder)
    driver = use(mistake.gpu, version=mistake.driver, **mistake.faults)
    driver.context.device = 0
    with pytest.raises((cuda_wheel.CudaWheelError, TypeError)) as caught:
        mistake.program()
    check(str(caught.value), mistake.said)
    assert not driver.launches
    steps = [frame for frame in traceback.extract_tb(caught.value.__traceback__) if "cuda_wheel" in frame.filename]
    assert len(steps) <= 7, steps
