"""CUDAARCHS: what it replaces, what it keeps, and what is said about it."""

from __future__ import annotations

import pytest

from cuda_wheel.builder.config.settings import Config
from cuda_wheel.builder.config.values import Architectures

pytestmark = pytest.mark.one_toolchain

MODULE = "tool.cuda-wheel.module[0].architectures"


def overridden(value: str, project: str = "default", module: str | None = None) -> tuple[Architectures, Architectures]:
    """Return the architectures of a project and of its module under CUDAARCHS."""
    own = {} if module is None else {"architectures": module}
    config = Config.from_table(
        {"architectures": project, "module": [{"name": "pkg.gemm", **own}]}, {"CUDAARCHS": value}
    )
    return config.architectures, config.module[0].architectures


CONDA_FORGE = "50-real;60-real;70-real;75-real;80-real;86-real;89-real;90"


@pytest.mark.parametrize(
    ("value", "own", "expected"),
    [
        # A module with "a" or "f" targets alone may compile for no other target.
        (CONDA_FORGE, "90a-real", "90a-real"),
        ("75;80", "90a-real;100f-real", "90a-real;100f-real"),
        ("75;80", "sm_90a", "sm_90a"),
        ("75;80", "9.0a+PTX", "9.0a+PTX"),
        ("75;80", "compute_100f", "compute_100f"),
        ("native", "90a", "90a"),
        ("100a-real", "90a-real", "90a-real"),
        # Of a mixed list, only the others are replaced.
        ("75;80", "80-real;90a-real", "75;80;90a-real"),
        ("75;80", "default;90a-real", "75;80;90a-real"),
        ("native", "90-real;90a-real;100f-real", "native;90a-real;100f-real"),
        ("90a-real", "80-real;90a-real", "90a-real"),
        # All others are replaced.
        ("75;80", "90-real", "75;80"),
        ("75;80", "all-major", "75;80"),
        ("native", "75-virtual", "native"),
        ("90a-real", "80", "90a-real"),
    ],
)
def test_a_modules_own_specific_targets_are_kept(value: str, own: str, expected: str) -> None:
    _, module = overridden(value, module=own)
    assert ";".join(module.entries) == expected


@pytest.mark.parametrize("own", ["default", "80;90", "90a-real", "80-real;90a-real"])
def test_a_projects_list_is_replaced_and_that_of_modules_without_their_own(own: str) -> None:
    project, module = overridden("75;80", own)
    assert project.entries == module.entries == ("75", "80")
    assert project.where == module.where == "the environment variable CUDAARCHS"


def test_an_empty_variable_replaces_nothing() -> None:
    table = {"architectures": "80", "module": [{"name": "pkg.gemm", "architectures": "90"}]}
    assert Config.from_table(table, {"CUDAARCHS": " "}) == Config.from_table(table)


def test_an_error_in_a_mixed_list_names_both_places() -> None:
    assert overridden("75", module="80;90a")[1].where == f"the environment variable CUDAARCHS, with {MODULE}"


@pytest.mark.parametrize(
    ("value", "project", "own", "note"),
    [
        ("75;80", "default", None, "CUDAARCHS (75;80) replaces default in tool.cuda-wheel.architectures"),
        (
            "75;80",
            "80-real;90a-real",
            None,
            "CUDAARCHS (75;80) replaces 80-real;90a-real in tool.cuda-wheel.architectures; this build is without "
            "90a-real: write it into the architectures of a module's own table, which keep it in every build",
        ),
        ("90a-real", "90a-real", None, ""),
        ("75", "default", "80;90a-real", f"CUDAARCHS (75) replaces 80 in {MODULE} and keeps 90a-real"),
        ("75", "default", "80", f"CUDAARCHS (75) replaces 80 in {MODULE}"),
        ("80", "default", "80", ""),
        ("75", "default", "90a", f'CUDAARCHS does not replace {MODULE} (90a), which has only "a" and "f" targets'),
    ],
)
def test_a_note_says_what_is_replaced_and_kept(value: str, project: str, own: str | None, note: str) -> None:
    assert overridden(value, project, own)[1].note == note
