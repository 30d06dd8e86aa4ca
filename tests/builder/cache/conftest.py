"""Fixtures for the tests of the builder's cache."""

from __future__ import annotations

import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest

from cuda_wheel.cli.main import main


@pytest.fixture(scope="session")
def known_toolchain() -> None:
    """Let the cache of each test be empty: the tests count what is in it."""


@pytest.fixture
def cuda_wheel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Return a function that runs the `cuda-wheel` command in a neutral folder and in this process.

    So mutation testing sees which code a test runs.
    """

    def run(*arguments: object, **environ: str) -> subprocess.CompletedProcess[str]:
        capfd.readouterr()
        texts = [str(part) for part in arguments]
        with monkeypatch.context() as patch, warnings.catch_warnings():
            warnings.simplefilter("always")  # a command shows them, and goes on
            patch.setattr(sys, "stderr", sys.stdout)
            patch.chdir(tmp_path)
            for name, value in environ.items():
                patch.setenv(name, value)
            status = main(texts)
        return subprocess.CompletedProcess(texts, status, capfd.readouterr().out)

    return run
