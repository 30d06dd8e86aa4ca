"""Coverage: its cells, the requirement that gates on it, the advice, and the picture."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cuda_wheel.builder.manifest_writer.coverage import (
    DRIVERS,
    GPU_OF,
    Coverage,
    advice,
    cells_text,
    cover,
    gaps,
    missing,
    not_required,
    required_keys,
)
from cuda_wheel.builder.releases import AS_OF, GPUS, RELEASES
from cuda_wheel.inspect.coverage_report import coverage_to_html, coverage_to_svg, driver_groups, parse_requirement
from cuda_wheel.runtime.manifest import Manifest, parse_version
from cuda_wheel.runtime.parts.nvjitlink_rules import knows
from tests.support.manifests import image, images, manifest
from tests.support.projects import KERNEL, ROOT


def covered(*targets: str, nvrtc: str = "12.9.86", ptx: str = "7.0", compression: str = "none") -> Coverage:
    made = module(*targets, nvrtc=nvrtc, ptx=ptx)._replace(compression=compression)
    if compression != "none":
        made = made._replace(images=tuple(each._replace(offset=None) for each in made.images))
    (coverage,) = cover([made])
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
        ("sm_80", "12.9.86", "7.0", (8, 7), (12, 4), "unproven"),  # Jetson, with another GPU's machine code
        ("sm_80 compute_75", "12.9.86", "7.0", (8, 7), (12, 4), "jit"),
        ("sm_87", "12.9.86", "7.0", (8, 9), (12, 4), "unproven"),
        ("sm_100", "12.9.86", "7.0", (11, 0), (13, 0), "none"),
    ],
)
def test_a_cell_states_how_a_gpu_gets_the_module(targets, nvrtc, ptx, gpu, driver, cell) -> None:
    assert covered(*targets.split(), nvrtc=nvrtc, ptx=ptx).cells[gpu, driver] == cell


@pytest.mark.parametrize(
    ("compression", "driver", "cell"),
    [("zstd", (12, 3), "none"), ("zstd", (12, 4), "native"), ("lz4", (12, 0), "native"), ("none", (12, 0), "native")],
)
def test_the_compression_decides_a_cell_too(compression: str, driver, cell: str) -> None:
    assert covered("sm_80", compression=compression).cells[(8, 6), driver] == cell


def test_modules_that_differ_in_compression_alone_are_not_grouped() -> None:
    packed = covered("sm_80", compression="zstd").manifest._replace(name="pkg.packed")
    plain = module("sm_80")._replace(images=tuple(each._replace(driver=(12, 0)) for each in module("sm_80").images))
    assert [coverage.names for coverage in cover([plain, packed])] == [("pkg.k",), ("pkg.packed",)]


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
        ("ampere", "'ampere' is not a range of GPUs"),
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


def test_missing_cells_are_listed_without_unknown_ones() -> None:
    coverage = covered("sm_80", "compute_80", nvrtc="13.5.37", ptx="8.5")
    assert missing(coverage, parse_requirement("sm_80..sm_89,driver>=12.4,driver<=12.5")) == [
        (gpu, (12, 4)) for gpu in [(8, 0), (8, 6), (8, 7), (8, 9)]
    ]
    only_12_8 = parse_requirement("sm_86,sm_120,driver>=12.6,driver<=12.8")
    assert missing(coverage, only_12_8) == []  # R560 and R565 do not know the GPU
    assert not_required(only_12_8) == [((12, 0), (12, 6)), ((12, 0), (12, 7))]
    assert missing(coverage, parse_requirement("sm_86,driver==13.0,native")) == []
    assert missing(coverage, parse_requirement("sm_86,driver==12.9,native")) == [((8, 6), (12, 9))]


def test_cells_are_described_in_text() -> None:
    keys = [(gpu, driver) for gpu in [(7, 5), (8, 9)] for driver in [(12, 2), (12, 3)]] + [((9, 0), (12, 2))]
    assert cells_text(keys) == (
        "Turing (7.5), Ada (8.9) with drivers for CUDA 12.2 to 12.3; Hopper (9.0) with drivers for CUDA 12.2"
    )


def test_drivers_that_load_no_module_are_missing_and_are_never_ignored() -> None:
    coverage = covered("sm_80", "compute_75")
    assert missing(coverage, parse_requirement("sm_80,driver>=11.8")) == [((8, 0), (11, 8))]
    assert missing(coverage, parse_requirement("sm_80,driver==11.8,link")) == [((8, 0), (11, 8))]
    assert missing(coverage, parse_requirement("sm_89,driver>=11.7")) == [((8, 9), (11, 8))]
    assert not_required(parse_requirement("sm_89,driver>=11.7")) == [((8, 9), (11, 7))]


def test_what_is_not_known_to_load_is_missing() -> None:
    requirement = parse_requirement("sm_87,driver==12.4,link")
    assert missing(covered("sm_80"), requirement) == [((8, 7), (12, 4))]
    assert missing(covered("sm_80", "compute_75"), requirement) == []


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


# --- advice -----------------------------------------------------------------------------------------

PTX = "(PTX, which the driver compiles at first use)"
CU12 = 'toolchain: build with "cuda-wheel[cu12]", whose machine code needs drivers for CUDA 12.0 or later'
LOWERING = 'ptx-version: "auto" lowers PTX to a version that more drivers accept, if it is proven equivalent'
SPEED = 'compress: "speed" or "none", because drivers before CUDA 12.4 do not read zstd'


@pytest.mark.parametrize(
    ("coverage", "requirement", "lines"),
    [
        (covered("sm_80"), "sm_86,driver==12.4", []),
        (
            covered("sm_90"),
            "sm_75..sm_89,!sm_87,driver==12.4",
            [f'architectures: add "75-real", "80-real", or "75-virtual" {PTX}'],  # 8.6 and 8.9 run sm_80
        ),
        (covered("sm_90"), "sm_86..sm_89,!sm_87,driver==12.4", [f'architectures: add "86-real", or "86-virtual" {PTX}']),
        (covered("sm_90"), "sm_75..sm_86,driver==12.4,native", ['architectures: add "75-real", "80-real"']),
        (covered("sm_90", "compute_75"), "sm_86,driver==12.4,native", ['architectures: add "86-real"']),
        (covered("sm_80"), "sm_87,driver==12.4", [f'architectures: add "87-real", or "87-virtual" {PTX}']),
        (covered("sm_80"), "sm_107,driver==13.4", [f'architectures: add "103-real", or "103-virtual" {PTX}']),
        (covered("sm_80"), "sm_110,driver==13.0", [f'architectures: add "103-virtual" {PTX}']),  # 12.9 has no sm_110
        (covered("sm_80", nvrtc="13.5.37"), "sm_110,driver==13.0", [f'architectures: add "110-real", or "110-virtual" {PTX}']),
        (
            covered("sm_80"),
            "sm_110,driver==13.0,native",
            ['toolchain: build with "cuda-wheel[cu13]", whose machine code needs drivers for CUDA 13.0 or later', 'architectures: add "110-real"'],
        ),
        (
            covered("sm_80"),
            "sm_80,sm_110,driver>=12.8,native",  # no toolchain has both
            ["no setting covers Blackwell (11.0) with drivers for CUDA 13.0 to 13.5, with NVRTC 12.9: do not require this"],
        ),
        (covered("sm_80", nvrtc="13.5.37"), "sm_86,driver==12.4", [f'architectures: add "86-virtual" {PTX}', f"or {CU12}"]),
        (covered("sm_80", nvrtc="13.5.37"), "sm_86,driver==12.4,native", [CU12]),
        (covered("sm_80", nvrtc="13.5.37"), "sm_70,driver==12.4", [CU12, f'architectures: add "70-real", or "70-virtual" {PTX}']),
        (covered("compute_80", ptx="8.8"), "sm_86,driver==12.4", [LOWERING]),
        (
            covered("compute_80", ptx="8.8"),
            "sm_86,driver==12.4,native",
            ['architectures: add "86-real"'],
        ),
        (covered("sm_80", compression="zstd"), "sm_86,driver==12.2", [SPEED]),
        (covered("sm_80", compression="zstd"), "sm_75..sm_86,driver==12.2,native", [SPEED, 'architectures: add "75-real"']),
        (
            covered("sm_80", "compute_75", nvrtc="13.5.37", compression="lz4"),
            "sm_86,driver==12.8",
            ['compress: "none", so that the loader chooses the image and not the driver', f"or {CU12}"],
        ),
        (covered("sm_80"), "sm_86,driver>=11.8", ["drivers before CUDA 12.0 load no module at all: require driver>=12.0"]),
    ],
)  # fmt: skip
def test_advice_names_what_would_cover_the_cells(coverage: Coverage, requirement: str, lines: list[str]) -> None:
    assert advice(coverage, parse_requirement(requirement)) == lines


def test_advice_names_targets_of_the_installed_compiler_only(toolchain) -> None:
    for gpu in GPUS:
        requirement = f"sm_{gpu.capability[0]}{gpu.capability[1]},driver=={'13.0' if gpu.last else '13.5'}"
        coverage = covered(nvrtc=toolchain.nvrtc)
        own = "; ".join(line for line in advice(coverage, parse_requirement(requirement)) if "architectures" in line)
        if "cuda-wheel[" not in "; ".join(advice(coverage, parse_requirement(requirement))):
            numbers = {int(number) for number in re.findall(r'"(\d+)-', own)}
            assert numbers and numbers <= set(toolchain.supported), gpu
    assert not {gpu.capability for gpu in GPUS if knows(parse_version(toolchain.nvrtc), gpu.capability)} ^ {
        gpu for gpu in GPU_OF if gpu[0] * 10 + gpu[1] in toolchain.supported
    }


def test_targets_that_cover_all_current_gpus_have_no_gaps() -> None:
    targets = ["sm_75", "sm_80", "sm_90", "sm_100", "sm_120", "compute_120"]
    assert gaps([module(*targets)]) is None
    assert gaps([module("compute_75", nvrtc="13.5.37", ptx="6.3")]) is None


def test_gaps_are_one_line() -> None:
    line = gaps([module("sm_80", nvrtc="13.5.37"), module("sm_80", nvrtc="13.5.37")._replace(name="pkg.l")])
    assert line.startswith("pkg.k and 1 more: no image for Turing (7.5), ")
    assert '"75-virtual"' in line
    assert "8.7" not in line
    assert "\n" not in line


@pytest.mark.slow
@given(st.lists(images, min_size=1, max_size=3))
def test_every_gap_has_advice(stored) -> None:
    line = gaps([manifest(*each)._replace(name=f"pkg.k{number}") for number, each in enumerate(stored)])
    assert line is None or ": no image for " in line


@pytest.mark.slow
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


# --- advice is followed -----------------------------------------------------------------------------

SETTINGS = {"architectures": ["90-real"], "compress": "none", "ptx-version": "auto"}


def followed(settings: dict[str, Any], lines: list[str]) -> Iterator[dict[str, Any]]:
    """Yield the settings of a project that follows each line, once for each alternative that a line names."""
    if not lines:
        yield settings
        return
    key, _, text = lines[0].partition(": ")
    assert key in settings, f"not advice on a setting: {lines[0]}"
    for choice in re.split(r",? or ", text):
        values = re.findall(r'"([^"]+)"', choice)
        if values:
            changed = [*settings[key], *values] if key == "architectures" else values[0]
            yield from followed(settings | {key: changed}, lines[1:])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("more", "requirement", "alternatives"),
    [
        ({}, "sm_75..sm_121,driver>=13.0", None),
        ({}, "sm_75..sm_103,!sm_87,driver>=13.0,native", 1),
        ({}, "sm_75..sm_89,driver==13.0,native", 1),
        ({}, "sm_110,driver>=13.0", None),  # 12.9 compiles PTX for it alone, 13 machine code too
        ({}, "sm_86,driver==12.2,link", None),
        ({"architectures": ["80-real"]}, "sm_87,driver>=13.0", 2),
        ({"architectures": ["120-real", "75-virtual"], "compress": "size"}, "sm_86,driver==12.2", 2),
        ({"architectures": ["120-real", "75-virtual"], "ptx-version": "as-compiled"}, "sm_86,driver>=12.0", 1),
        (
            {"architectures": ["120-real", "90-virtual"], "compress": "balance", "ptx-version": "as-compiled"},
            "sm_75..sm_90,driver>=12.0",
            None,
        ),
    ],
)
def test_who_follows_the_advice_covers_what_is_required(
    more: dict[str, Any], requirement: str, alternatives: int | None, make_project, cuda_wheel, tmp_path: Path
) -> None:
    def lines_for(settings: dict[str, Any]) -> list[str]:
        project = make_project(
            "[tool.cuda-wheel]\n" + "".join(f"{key} = {json.dumps(settings[key])}\n" for key in settings)
        )
        assert cuda_wheel("build", project, "-o", tmp_path / "out").returncode == 0
        result = cuda_wheel("coverage", tmp_path / "out", "--require", requirement)
        unwrapped = re.sub(r"\n {4,}", " ", result.stdout)
        lines = unwrapped.partition("no image for")[2].splitlines()[1:]
        assert result.returncode == (1 if lines else 0)
        return [line.strip() for line in lines if line.startswith("  ") and "  or toolchain:" not in line]

    lines = lines_for(SETTINGS | more)
    tried = [lines_for(settings) for settings in followed(SETTINGS | more, lines)]
    assert lines and tried == [[]] * len(tried)
    assert alternatives in (None, len(tried))


@pytest.mark.slow
def test_the_example_in_the_documentation_holds_for_a_default_wheel(make_project, cuda_wheel, tmp_path: Path) -> None:
    (requirement,) = re.findall(r'`--require "([^"]+)"`', (ROOT / "docs/how-to/check-a-wheel.md").read_text())
    project = make_project('[tool.cuda-wheel]\narchitectures = ["75", "80-real", "90-real", "100", "120-real"]')
    assert cuda_wheel("build", project, "-o", tmp_path / "out").returncode == 0
    result = cuda_wheel("coverage", tmp_path / "out", "--require", requirement)
    assert result.returncode == 0, result.stdout


# --- the command ------------------------------------------------------------------------------------


@pytest.mark.one_toolchain
@pytest.mark.slow
def test_the_command_is_a_gate(fixture_wheel, cuda_wheel) -> None:
    wheel = fixture_wheel("half_precision")  # PTX 6.3 for compute_75 among others
    assert cuda_wheel("coverage", wheel).returncode == 0
    assert cuda_wheel("coverage", wheel, "--require", "sm_75..sm_121,driver>=12.2").returncode == 0
    result = cuda_wheel("coverage", wheel, "--require", "sm_70..sm_75,driver<=12.4")
    assert result.returncode == 1
    assert "no image for Volta (7.0) with drivers for CUDA 12.0 to 12.4" in " ".join(result.stdout.split())
    assert max(map(len, result.stdout.splitlines())) <= 80
    assert 'architectures: add "70-real"' in result.stdout
    assert cuda_wheel("coverage", wheel, "--require", "nonsense").returncode == 2


@pytest.mark.one_toolchain
@pytest.mark.slow
def test_the_gate_closes_for_drivers_before_the_table_and_for_compression(
    make_project, cuda_wheel, tmp_path: Path
) -> None:
    project = make_project('[tool.cuda-wheel]\ncompress = "size"\narchitectures = ["90-real", "75-virtual"]')
    assert cuda_wheel("build", project, "-o", tmp_path / "out").returncode == 0
    for requirement, message in {
        "sm_80,driver>=11.8": "(8.0) with drivers for CUDA 11.8 to 12.3",
        "sm_80,driver>=12.2": "(8.0) with drivers for CUDA 12.2 to 12.3",
        "sm_80,driver==11.8": "drivers before CUDA 12.0 load no module at all",
    }.items():
        result = cuda_wheel("coverage", tmp_path / "out", "--require", requirement)
        assert result.returncode == 1
        assert message in " ".join(result.stdout.split())
    assert cuda_wheel("coverage", tmp_path / "out", "--require", "sm_75,driver>=12.4").returncode == 0
    result = cuda_wheel("coverage", tmp_path / "out", "--require", "sm_80,sm_120,driver>=12.6")
    assert result.returncode == 0
    assert (
        "not required, because the drivers do not support the GPUs: Blackwell (12.0) with drivers for CUDA 12.6 to 12.7"
        in " ".join(result.stdout.split())
    )
    assert cuda_wheel("coverage", tmp_path / "out", "--require", "sm_120,driver==12.4").returncode == 2


@pytest.mark.one_toolchain
def test_the_command_prints_json(fixture_wheel, cuda_wheel) -> None:
    result = cuda_wheel("coverage", fixture_wheel("half_precision"), "--json", "--require", "sm_70,driver==12.0")
    assert result.returncode == 1
    (document,) = json.loads(result.stdout)
    assert document["modules"] == ["half_demo.kernels.scale"]
    assert {"gpu": "sm_75", "driver": "12.0", "how": "jit"} in [
        cell | {"how": "jit"} for cell in document["cells"] if cell["how"] in ("jit", "native")
    ]
    assert document["missing"] == [{"gpu": "sm_70", "driver": "12.0"}]


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
def test_many_modules_that_are_alike_take_one_line_and_80_columns(
    make_project, cuda_wheel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    sources = {f"demo/module_of_a_long_name_{number}.cu": KERNEL for number in range(7)}
    project = make_project('[tool.cuda-wheel]\ncompress = "size"\narchitectures = ["90"]\n', **sources)
    assert cuda_wheel("build", project, "-o", tmp_path / "out").returncode == 0
    result = cuda_wheel("coverage", tmp_path / "out", "--svg", tmp_path / "picture.svg")
    assert result.stdout.startswith(f"out: GPUs and drivers as of {AS_OF}\n")
    assert result.stdout.count("module_of_a_long_name_0") == 2  # above the table, and in what is missing
    assert "module_of_a_long_name_3 and 3 more" in " ".join(result.stdout.split())
    assert "module_of_a_long_name_4" not in result.stdout + (tmp_path / "picture.svg").read_text()
    assert max(map(len, result.stdout.splitlines())) <= 80
    assert len(re.findall(r"^Hopper 9\.0 ", result.stdout, re.MULTILINE)) == 2  # seven groups of drivers


@pytest.mark.one_toolchain
def test_a_name_cannot_break_out_of_the_picture() -> None:
    coverage = covered("sm_80")._replace(names=("<script>&",))
    for draw in (coverage_to_svg, coverage_to_html):
        assert "<script>&" not in draw([coverage], "<script>&", parse_requirement(""))
