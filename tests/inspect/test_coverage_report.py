"""Reports of coverage: requirements, groups of drivers, text, JSON and pictures."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cuda_wheel.builder.manifest_writer.coverage import (
    DRIVERS,
    cover,
    missing,
    not_required,
    required_keys,
)
from cuda_wheel.builder.releases import AS_OF, GPUS, RELEASES
from cuda_wheel.inspect.coverage_report import (
    coverage_to_html,
    coverage_to_svg,
    driver_groups,
    gap_lines,
    parse_requirement,
)
from tests.support.manifests import covered, image, images, manifest
from tests.support.projects import ROOT


@given(images)
def test_only_drivers_with_the_same_cells_form_a_group(stored) -> None:
    (coverage,) = cover([manifest(*stored)])
    groups = driver_groups(coverage)
    assert [driver for group in groups for driver in group] == list(DRIVERS)
    for group in groups:
        for gpu in GPUS:
            assert len({coverage.cells[gpu.capability, driver] for driver in group}) == 1


@pytest.mark.parametrize(
    ("text", "gpus", "drivers", "least"),
    [
        ("sm_80", [(8, 0)], DRIVERS, "jit"),
        ("sm_80..sm_89, !sm_87", [(8, 0), (8, 6), (8, 9)], DRIVERS, "jit"),
        ("sm_75,sm_90,driver>=12.8,native", [(7, 5), (9, 0)], DRIVERS[8:], "native"),
        ("sm_75,driver>=12.2,driver<=12.4,link", [(7, 5)], ((12, 2), (12, 3), (12, 4)), "link"),
        ("driver==13.0", [gpu.capability for gpu in GPUS if gpu.capability != (10, 7)], ((13, 0),), "jit"),
        ("!sm_87", [gpu.capability for gpu in GPUS if gpu.capability != (8, 7)], DRIVERS, "jit"),
        ("", [gpu.capability for gpu in GPUS], DRIVERS, "jit"),
        ("sm_80,driver>=11.8", [(8, 0)], ((11, 8), *DRIVERS), "jit"),  # what is older than the table's columns too
        ("sm_80,driver>=11.7,driver<=12.0", [(8, 0)], ((11, 7), (11, 8), (12, 0)), "jit"),
        ("sm_80,driver==11.8", [(8, 0)], ((11, 8),), "jit"),
        ("sm_80,driver>=10.0", [(8, 0)], tuple(release.cuda for release in RELEASES), "jit"),
        ("sm_80,driver<=12.1", [(8, 0)], ((12, 0), (12, 1)), "jit"),
    ],
)
def test_a_requirement_is_parsed(text: str, gpus, drivers, least: str) -> None:
    requirement = parse_requirement(text)
    assert (list(requirement.gpus), requirement.drivers, requirement.least) == (gpus, drivers, least)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ampere", "'ampere' is not a range of GPUs.* [(]ampere is sm_80, sm_86, sm_87[)]"),
        ("H100", "'H100' is not a range of GPUs.* [(]H100 is sm_90[)]"),
        ("90", "'90' is not a range of GPUs.* [(]90 is sm_90[)]"),
        ("driver>=535", "'driver>=535' is not a range .* [(]drivers from 535 on are for CUDA 12.2[)]"),
        ("driver>=525.60.13", " [(]drivers from 525 on are for CUDA 12.0[)]"),
        ("sm_81", "'sm_81' is not a known GPU: sm_50, "),
        ("driver>12", "'driver>12' is not a range of GPUs"),
        ("driver>=99.0", "'driver>=99.0' names no known driver: they are for CUDA 10.0, "),
        ("driver>=12.10", "'driver>=12.10' names no known driver"),
        ("driver>=9.0", "names no known driver"),
        ("driver<=14.0", "names no known driver"),  # the table cannot answer for 14.0
        ("driver<=11.8", "no driver satisfies 'driver<=11.8': those that load modules are for CUDA 12.0 to "),
        ("driver>=12.8,driver<=12.4", "no driver satisfies"),
        ("driver==12.2,driver==12.4", "no driver satisfies"),
        ("sm_75..sm_130", "'sm_130' is not a known GPU"),
        ("sm_74..sm_80", "'sm_74' is not a known GPU"),
        ("sm_80,!sm_81", "'sm_81' is not a known GPU"),
        ("sm_90..sm_80", "'sm_90..sm_80' is empty"),
        ("sm_80,!sm_75..sm_90", "excludes every GPU that it names"),
        ("!sm_50..sm_121", "excludes every GPU that it names"),
        ("sm_80,native,jit", "asks for several of jit, native; ask for one"),
        ("sm_120,driver==12.4", "supports sm_120: sm_120 needs one for CUDA 12.8 and later$"),
        ("sm_75..sm_121,driver<=12.8", "supports sm_103, sm_107, sm_110, sm_121: sm_103 needs one for CUDA 12.9 and"),
        ("sm_70,driver>=13.1", "supports sm_70: sm_70 needs one for CUDA 9.0 to 13.0$"),
    ],
)
def test_an_invalid_requirement_is_rejected(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse_requirement(text)


terms = st.sampled_from([
    "sm_75", "sm_80..sm_90", "sm_75..sm_121", "!sm_87", "!sm_110", "sm_70", "sm_120", "driver>=12.2", "driver>=11.8",
    "driver<=12.8", "driver==12.4", "driver>=13.1", "native", "link",
])  # fmt: skip


@given(st.lists(terms, max_size=5))
def test_every_gpu_and_driver_of_a_requirement_gets_an_answer(listed: list[str]) -> None:
    try:
        requirement = parse_requirement(",".join(listed))
    except ValueError:
        return
    keys = required_keys(requirement)
    assert {gpu for gpu, _ in keys} == set(requirement.gpus) != set()
    named = {(gpu, driver) for gpu in requirement.gpus for driver in requirement.drivers}
    assert {*keys, *not_required(requirement)} == named
    nothing = covered()
    assert missing(nothing, requirement) == keys  # a module without images covers none of them


@pytest.mark.one_toolchain
@pytest.mark.slow
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
    assert texts[0] == f"saxpy_demo-1.0-py3-none-any.whl: GPUs and drivers as of {AS_OF}"
    assert "saxpy_demo.kernels.saxpy: no image for Maxwell (5.0)" in " ".join(texts)
    assert any(text.startswith('architectures: add "50-real"') for text in texts)
    assert [f"{gpu.name} {gpu.capability[0]}.{gpu.capability[1]}" for gpu in GPUS] == [
        text for text in texts if text.split()[0] in {gpu.name for gpu in GPUS}
    ]
    assert svg in (tmp_path / "one.html").read_text()


def test_the_picture_in_the_readme_is_up_to_date(fixture_wheel, cuda_wheel, extra: str, tmp_path: Path) -> None:
    if extra != "cu12":
        pytest.skip("the picture was drawn with the other toolchain")
    assert cuda_wheel("coverage", fixture_wheel("saxpy"), "--svg", tmp_path / "now.svg").returncode == 0
    assert (tmp_path / "now.svg").read_text() == (ROOT / "docs/coverage.svg").read_text()


@pytest.mark.one_toolchain
def test_a_name_cannot_break_out_of_the_picture() -> None:
    coverage = covered("sm_80")._replace(names=("<script>&",))
    for draw in (coverage_to_svg, coverage_to_html):
        assert "<script>&" not in draw([coverage], "<script>&", parse_requirement(""))


@pytest.mark.one_toolchain
@pytest.mark.parametrize(
    ("requirement", "target", "words"),
    [
        ("sm_80,native", "compute_80", "no machine code that loads without a compiler for Ampere (8.0)"),
        ("sm_80,jit", "compute_80", None),
        ("sm_80,jit", "sm_90", "no image for Ampere (8.0)"),
        ("sm_80,link", "sm_90", "no image for Ampere (8.0)"),
    ],
)
def test_a_gap_says_what_is_missing_for_the_required_way_of_loading(
    requirement: str, target: str, words: str | None
) -> None:
    (coverage,) = cover([manifest(image(target, "7.0"))])
    lines = gap_lines(coverage, parse_requirement(f"{requirement},driver>=12.8"))
    assert (words is None) == (not lines)
    assert words is None or f": {words}" in lines[0]
