"""Coverage: its cells, the requirement that gates on it, the advice, and the picture."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cuda_wheel.builder.describe.coverage import DRIVERS, Coverage, advice, cells_text, cover, gaps, missing
from cuda_wheel.builder.releases import GPUS
from cuda_wheel.inspect.coverage_picture import coverage_to_html, coverage_to_svg
from cuda_wheel.inspect.coverage_report import driver_groups, parse_requirement
from cuda_wheel.runtime.manifest import Manifest
from tests.support.manifests import image, images, manifest
from tests.support.projects import ROOT


def covered(*targets: str, nvrtc: str = "12.9.86", ptx: str = "7.0") -> Coverage:
    (coverage,) = cover([module(*targets, nvrtc=nvrtc, ptx=ptx)])
    return coverage


def module(*targets: str, nvrtc: str = "12.9.86", ptx: str = "7.0") -> Manifest:
    return manifest(*(image(target, ptx, nvrtc) for target in targets))._replace(toolchain={"nvrtc": nvrtc})


@pytest.mark.parametrize(
    ("targets", "nvrtc", "ptx", "gpu", "driver", "cell"),
    [
        ("sm_80", "12.9.86", "7.0", (8, 6), (12, 0), "native"),
        ("sm_80", "13.5.37", "7.0", (8, 6), (12, 9), "none"),
        ("sm_80 compute_80", "13.5.37", "7.0", (8, 6), (12, 9), "jit"),
        ("sm_80", "13.5.37", "7.0", (8, 6), (13, 0), "native"),
        ("compute_80", "12.9.86", "8.8", (8, 6), (12, 2), "link"),  # nvJitLink 12.9 works with every driver for CUDA 12
        ("compute_80", "13.5.37", "9.5", (8, 6), (12, 2), "none"),  # nvJitLink 13.5 works with none of them
        ("compute_80", "13.5.37", "9.5", (8, 6), (13, 0), "link"),
        ("sm_80", "12.9.86", "7.0", (7, 5), (12, 4), "none"),
        ("sm_100", "12.9.86", "7.0", (10, 0), (12, 4), "unknown"),  # R550 does not know that GPU
        ("sm_70", "12.9.86", "7.0", (7, 0), (13, 0), "native"),
        ("sm_70", "12.9.86", "7.0", (7, 0), (13, 1), "unknown"),  # R590 no longer supports that GPU
    ],
)
def test_a_cell_states_how_a_gpu_gets_the_module(targets, nvrtc, ptx, gpu, driver, cell) -> None:
    assert covered(*targets.split(), nvrtc=nvrtc, ptx=ptx).cells[gpu, driver] == cell


def test_modules_with_the_same_cells_are_grouped() -> None:
    one, two, other = (
        module(target)._replace(name=name) for name, target in [("a.b", "sm_80"), ("a.c", "sm_80"), ("a.d", "sm_90")]
    )
    assert [coverage.names for coverage in cover([one, other, two])] == [("a.b", "a.c"), ("a.d",)]


@given(images)
def test_only_drivers_with_the_same_cells_form_a_group(stored) -> None:
    (coverage,) = cover([manifest(*stored)])
    groups = driver_groups(coverage)
    assert [driver for group in groups for driver in group] == list(DRIVERS)
    for group in groups:
        for gpu in GPUS:
            assert len({coverage.cells[gpu.capability, driver] for driver in group}) == 1


# --- the requirement --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "gpus", "drivers", "least"),
    [
        ("sm_80", [(8, 0)], DRIVERS, "jit"),
        ("sm_80..sm_89, !sm_87", [(8, 0), (8, 6), (8, 9)], DRIVERS, "jit"),
        ("sm_75,sm_90,driver>=12.8,native", [(7, 5), (9, 0)], DRIVERS[8:], "native"),
        ("sm_75,driver>=12.2,driver<=12.4,link", [(7, 5)], ((12, 2), (12, 3), (12, 4)), "link"),
        ("driver==13.0", [gpu.capability for gpu in GPUS], ((13, 0),), "jit"),
        ("!sm_87", [gpu.capability for gpu in GPUS if gpu.capability != (8, 7)], DRIVERS, "jit"),
    ],
)
def test_a_requirement_is_parsed(text: str, gpus, drivers, least: str) -> None:
    requirement = parse_requirement(text)
    assert (list(requirement.gpus), requirement.drivers, requirement.least) == (gpus, drivers, least)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ampere", "'ampere' is not a range of GPUs"),
        ("sm_81", "'sm_81' is not a known GPU: sm_50, "),
        ("driver>12", "'driver>12' is not a range of GPUs"),
        ("driver>=99.0", "no driver satisfies"),
    ],
)
def test_an_invalid_requirement_is_rejected(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse_requirement(text)


def test_missing_cells_are_listed_without_unknown_ones() -> None:
    coverage = covered("sm_80", "compute_80", nvrtc="13.5.37", ptx="8.5")
    assert missing(coverage, parse_requirement("sm_80..sm_89,driver>=12.4,driver<=12.5")) == [
        (gpu, (12, 4)) for gpu in [(8, 0), (8, 6), (8, 7), (8, 9)]
    ]
    assert missing(coverage, parse_requirement("sm_120,driver<=12.7")) == []
    assert missing(coverage, parse_requirement("sm_86,driver==13.0,native")) == []
    assert missing(coverage, parse_requirement("sm_86,driver==12.9,native")) == [((8, 6), (12, 9))]


def test_cells_are_described_in_text() -> None:
    keys = [(gpu, driver) for gpu in [(7, 5), (8, 9)] for driver in [(12, 2), (12, 3)]] + [((9, 0), (12, 2))]
    assert cells_text(keys) == (
        "Turing (7.5), Ada (8.9) with drivers for CUDA 12.2 to 12.3; Hopper (9.0) with drivers for CUDA 12.2"
    )


# --- advice -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("coverage", "requirement", "lines"),
    [
        (
            covered("sm_90"),
            "sm_75..sm_89,!sm_87,driver==12.4",
            ['architectures: add "75-real", "80-real", "86-real", "89-real", or "75-virtual" (PTX, which the driver compiles at first use)'],
        ),
        (
            covered("sm_80", nvrtc="13.5.37"),
            "sm_86,driver==12.4",
            ['toolchain: machine code of CUDA 13 needs a driver for CUDA 13.0; build with "cuda-wheel[cu12]"'],
        ),
        (
            covered("compute_80", ptx="8.8"),
            "sm_86,driver==12.4",
            ['ptx-version: "auto" lowers PTX to a version that more drivers accept, if it is proven equivalent'],
        ),
    ],
)  # fmt: skip
def test_advice_names_what_would_cover_the_cells(coverage: Coverage, requirement: str, lines: list[str]) -> None:
    assert advice(coverage, missing(coverage, parse_requirement(requirement))) == lines


def test_targets_that_cover_all_current_gpus_have_no_gaps() -> None:
    targets = ["sm_75", "sm_80", "sm_90", "sm_100", "sm_120", "compute_120"]
    assert gaps([module(*targets)]) is None
    assert gaps([module("compute_75", nvrtc="13.5.37", ptx="6.3")]) is None


def test_gaps_are_one_line() -> None:
    line = gaps([module("sm_80", nvrtc="13.5.37"), module("sm_80", nvrtc="13.5.37")._replace(name="pkg.l")])
    assert line.startswith("pkg.k and 1 more: no image for Turing (7.5), ")
    assert '"75-virtual"' in line and "cuda-wheel[cu12]" in line
    assert "8.7" not in line
    assert "\n" not in line


@given(st.lists(images, min_size=1, max_size=3))
def test_every_gap_has_advice(stored) -> None:
    line = gaps([manifest(*each)._replace(name=f"pkg.k{number}") for number, each in enumerate(stored)])
    assert line is None or ": no image for " in line


@pytest.mark.parametrize(
    ("architectures", "warned"),
    [('"default"', False), ('"all-major"', False), ('["90a"]', True), ('["90-real", "75-virtual"]', False)],
)
def test_a_build_warns_once(
    architectures: str, warned: bool, make_project, cuda_wheel, tmp_path: Path, extra: str
) -> None:
    project = make_project(f"[tool.cuda-wheel]\narchitectures = {architectures}")
    result = cuda_wheel("build", project, "-o", tmp_path / "out")
    assert result.returncode == 0, result.stdout
    assert result.stdout.count("no image for") == (warned or (extra == "cu13" and "major" in architectures))


# --- the command ------------------------------------------------------------------------------------


def test_the_command_is_a_gate(fixture_wheel, cuda_wheel) -> None:
    wheel = fixture_wheel("half_precision")  # PTX 6.3 for compute_75 among others
    assert cuda_wheel("coverage", wheel).returncode == 0
    assert cuda_wheel("coverage", wheel, "--require", "sm_75..sm_121,driver>=12.2").returncode == 0
    result = cuda_wheel("coverage", wheel, "--require", "sm_70..sm_75,driver<=12.4")
    assert result.returncode == 1
    assert "no image for Volta (7.0) with drivers for CUDA 12.0 to 12.4" in result.stdout
    assert 'architectures: add "70-real"' in result.stdout
    assert cuda_wheel("coverage", wheel, "--require", "nonsense").returncode == 2


def test_the_command_prints_json(fixture_wheel, cuda_wheel) -> None:
    result = cuda_wheel("coverage", fixture_wheel("half_precision"), "--json", "--require", "sm_70,driver==12.0")
    assert result.returncode == 1
    (document,) = json.loads(result.stdout)
    assert document["modules"] == ["half_demo.kernels.scale"]
    assert {"gpu": "sm_75", "driver": "12.0", "how": "jit"} in [
        cell | {"how": "jit"} for cell in document["cells"] if cell["how"] in ("jit", "native")
    ]
    assert document["missing"] == [{"gpu": "sm_70", "driver": "12.0"}]


def test_the_pictures_are_complete_and_reproducible(fixture_wheel, cuda_wheel, tmp_path: Path) -> None:
    for name in ("one", "two"):
        result = cuda_wheel(
            "coverage", fixture_wheel("saxpy"), "--svg", tmp_path / f"{name}.svg", "--html", tmp_path / f"{name}.html"
        )
        assert result.returncode == 0, result.stdout
    svg = (tmp_path / "one.svg").read_text()
    assert svg == (tmp_path / "two.svg").read_text()
    texts = [element.text for element in ElementTree.fromstring(svg).iter() if element.tag.endswith("}text")]
    assert "saxpy_demo.kernels.saxpy" in texts
    assert [f"{gpu.name} {gpu.capability[0]}.{gpu.capability[1]}" for gpu in GPUS] == [
        text for text in texts if text.split()[0] in {gpu.name for gpu in GPUS}
    ]
    assert svg in (tmp_path / "one.html").read_text()


def test_the_picture_in_the_readme_is_up_to_date(fixture_wheel, cuda_wheel, extra: str, tmp_path: Path) -> None:
    if extra != "cu12":
        pytest.skip("the picture was drawn with the other toolchain")
    assert cuda_wheel("coverage", fixture_wheel("saxpy"), "--svg", tmp_path / "now.svg").returncode == 0
    assert (tmp_path / "now.svg").read_text() == (ROOT / "docs/coverage.svg").read_text()


def test_a_name_cannot_break_out_of_the_picture() -> None:
    coverage = covered("sm_80")._replace(names=("<script>&",))
    assert "<script>&" not in coverage_to_svg([coverage]) + coverage_to_html([coverage])
