"""Coverage: its cells, the requirement that gates on it, the advice, and the picture."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cuda_wheel.builder.manifest_writer.coverage import (
    GPU_OF,
    Coverage,
    advice,
    cells_text,
    compiled,
    cover,
    gaps,
    missing,
    not_required,
    once_linked,
    required_keys,
    uncovered,
)
from cuda_wheel.builder.releases import GPUS, RELEASES
from cuda_wheel.inspect.coverage_report import parse_requirement
from cuda_wheel.runtime.manifest import Manifest, parse_version
from cuda_wheel.runtime.parts.nvjitlink_rules import knows
from cuda_wheel.runtime.rules import resolve
from tests.support.manifests import covered, image, images, manifest, module
from tests.support.projects import ROOT


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


# --- the requirement --------------------------------------------------------------------------------


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


# --- what is compiled on the user's machine -----------------------------------------------------------

HOPPER = parse_requirement("sm_90,driver==12.4")


def listed(coverage: Coverage, requirement: str) -> list[tuple[str, str, str]]:
    found = compiled([coverage.manifest], required_keys(parse_requirement(requirement)))
    return [(each.what, each.by, cells_text(each.keys)) for each in found]


@pytest.mark.parametrize(
    ("coverage", "requirement", "expected"),
    [
        (covered("sm_80", "compute_80"), "sm_86,driver==12.4", []),
        (
            covered("sm_80", "compute_80"),
            "sm_86..sm_90,!sm_89,driver>=12.4,driver<=12.5",
            [("ptx compute_80 (PTX 7.0)", "driver", "Ampere (8.7), Hopper (9.0) with drivers for CUDA 12.4 to 12.5")],
        ),
        (
            covered("compute_75", "compute_90"),
            "sm_86..sm_90,!sm_87,driver==12.4",
            [
                ("ptx compute_75 (PTX 7.0)", "driver", "Ampere (8.6), Ada (8.9) with drivers for CUDA 12.4"),
                ("ptx compute_90 (PTX 7.0)", "driver", "Hopper (9.0) with drivers for CUDA 12.4"),
            ],
        ),
        (
            covered("compute_80", ptx="8.8"),
            "sm_86,driver>=12.8,driver<=12.9",
            [
                ("ptx compute_80 (PTX 8.8)", "nvjitlink", "Ampere (8.6) with drivers for CUDA 12.8"),
                ("ptx compute_80 (PTX 8.8)", "driver", "Ampere (8.6) with drivers for CUDA 12.9"),
            ],
        ),
        (covered("sm_90"), "sm_86,driver==12.4", []),  # nothing loads, so that nothing is compiled
        (
            covered("sm_80", "compute_75", compression="lz4"),
            "sm_80..sm_86,driver==12.4",
            [("cubin sm_80", "driver, perhaps", "Ampere (8.6) with drivers for CUDA 12.4")],
        ),
        (covered("sm_80", compression="lz4"), "sm_80..sm_86,driver==12.4", []),
    ],
)
def test_what_is_compiled_is_listed(coverage: Coverage, requirement: str, expected: list[tuple[str, ...]]) -> None:
    assert listed(coverage, requirement) == expected


@given(images, st.booleans())
def test_what_is_listed_is_what_a_load_refuses_where_compiling_is_forbidden(held: Any, is_compressed: bool) -> None:
    """And `native` requires that nothing is listed."""
    made = manifest(*held)
    if is_compressed:
        made = manifest(*(each._replace(offset=None) for each in held))._replace(compression="lz4")
    keys = required_keys(parse_requirement(""))
    places = [key for each in compiled([made], keys) for key in each.keys]
    lacking = set(uncovered(made, keys, "native"))
    assert len(places) == len(set(places)) and lacking >= set(places)
    for gpu, driver in keys:
        allowed, refused = (resolve(made, gpu, driver, newest(driver), by) for by in (None, "CUDA_WHEEL_JIT=error"))
        assert ((gpu, driver) in places) == (allowed.image is not refused.image)
        assert ((gpu, driver) in lacking) == (refused.how is None or refused.doubt is not None)


def newest(driver: tuple[int, int]) -> tuple[int, int]:
    return max(release.cuda for release in RELEASES if release.cuda[0] == driver[0])


def test_the_pieces_of_a_module_that_can_only_be_linked_are_listed() -> None:
    pieces = [image("compute_80", "7.0")._replace(source=source) for source in ("a.cu", "b.cu")]
    made = manifest(*pieces, pieces[0]._replace(kind="ltoir", ptx_version=None))
    (found,) = compiled([made], required_keys(HOPPER))
    assert found == (("pkg.k",), "a.cu, b.cu", "linker", (((9, 0), (12, 4)),))
    assert uncovered(once_linked(made), found.keys, "native") == list(found.keys)


def test_modules_of_which_the_same_is_compiled_are_one_item() -> None:
    one, two, other = (
        module("compute_80")._replace(name="a.b"),
        module("compute_80", "sm_80")._replace(name="a.c"),
        module("compute_75")._replace(name="a.d"),
    )
    found = compiled([one, two, other], required_keys(HOPPER))
    assert [(each.modules, each.what) for each in found] == [
        (("a.b", "a.c"), "ptx compute_80 (PTX 7.0)"), (("a.d",), "ptx compute_75 (PTX 7.0)"),
    ]  # fmt: skip


def test_a_module_that_may_be_compiled_is_not_hidden_by_one_that_is_not() -> None:
    """Both load as machine code, but from a compressed fatbin one of them may be compiled."""

    def packed(name: str, *targets: str) -> Manifest:
        return covered(*targets, compression="lz4").manifest._replace(name=name)

    coverages = cover([packed("a.b", "sm_80", "sm_86", "compute_90"), packed("a.c", "sm_80", "compute_75")])
    requirement = parse_requirement("sm_86,driver==12.4,native")
    assert [(each.names, bool(missing(each, requirement))) for each in coverages] == [
        (("a.b",), False), (("a.c",), True),
    ]  # fmt: skip


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
        (
            covered("sm_80", "compute_75", compression="lz4"),
            "sm_86,driver==12.8,native",  # the driver may compile
            ['architectures: add "86-real"'],
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
        gap = re.search("no (?:image|machine code that loads without a compiler) for", unwrapped)
        lines = unwrapped[gap.end() :].splitlines()[1:] if gap else []
        assert result.returncode == (1 if lines else 0)
        return [line.strip() for line in lines if line.startswith("  ") and "  or toolchain:" not in line]

    lines = lines_for(SETTINGS | more)
    tried = [lines_for(settings) for settings in followed(SETTINGS | more, lines)]
    assert lines and tried == [[]] * len(tried)
    assert alternatives in (None, len(tried))


@pytest.mark.slow
def test_the_example_in_the_documentation_holds_for_a_default_wheel(make_project, cuda_wheel, tmp_path: Path) -> None:
    requirement, *_ = re.findall(r'`--require "([^"]+)"`', (ROOT / "docs/how-to/check-a-wheel.md").read_text())
    project = make_project('[tool.cuda-wheel]\narchitectures = ["75", "80-real", "90-real", "100", "120-real"]')
    assert cuda_wheel("build", project, "-o", tmp_path / "out").returncode == 0
    result = cuda_wheel("coverage", tmp_path / "out", "--require", requirement)
    assert result.returncode == 0, result.stdout
