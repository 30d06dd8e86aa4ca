"""The bar of a build."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.one_toolchain


def test_the_bar_shows_no_time_that_is_over() -> None:
    rich = pytest.importorskip("cuda_wheel.builder.report.progress_bar")
    bar = rich.ProgressBar()

    def shown() -> str:
        (task,) = bar._progress.tasks
        return str(bar._progress.columns[-1].render(task))

    assert shown() == ""
    bar.set_remaining(61.4)
    assert shown() == "about 0:01:02 left"
    bar.set_remaining(-1.0)
    assert shown() == ""


@pytest.mark.parametrize(("width", "columns"), [(40, 3), (80, 5)])
def test_in_a_narrow_terminal_the_bar_is_numbers(width: int, columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rich = pytest.importorskip("cuda_wheel.builder.report.progress_bar")
    monkeypatch.setenv("COLUMNS", str(width))
    assert len(rich.ProgressBar()._progress.columns) == columns
