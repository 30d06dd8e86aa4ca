"""What nvJitLink of a release compiles and links, in the order in which its reasons count."""

from __future__ import annotations

import pytest

from cuda_wheel.runtime.manifest import parse_version
from cuda_wheel.runtime.parts.nvjitlink_rules import first_release, knows, unlinkable, why_not_compiled

pytestmark = pytest.mark.one_toolchain


@pytest.mark.parametrize(
    ("capability", "known", "unknown"),
    [
        ("5.0", "12.0 12.9", "13.0 13.5"),  # CUDA 13 dropped all before 7.5
        ("7.0", "12.0 12.9", "13.0 13.5"),
        ("7.5", "12.0 12.9 13.0 13.5", ""),
        ("9.0", "12.0 12.9 13.0 13.5", ""),
        ("8.8", "13.0 13.5", "12.0 12.9"),
        ("10.0", "12.8 13.5", "12.0 12.7"),
        ("10.1", "12.8 12.9", "12.7 13.0 13.5"),  # 11.0 since CUDA 13
        ("10.3", "12.9 13.0", "12.8"),
        ("10.7", "13.4 13.5", "13.3"),
        ("11.0", "13.0 13.5", "12.9"),
        ("12.0", "12.8 13.5", "12.7"),
        ("12.1", "12.9 13.5", "12.8"),
        ("13.0", "", "12.9 13.5"),  # no release of the table knows it, and 12.9 crashes
        ("9.9", "", "12.9 13.5"),
    ],
)
def test_a_gpu_is_known_from_its_first_release_to_its_last(capability: str, known: str, unknown: str) -> None:
    gpu = parse_version(capability)
    assert [each for each in known.split() if not knows(parse_version(each), gpu)] == []
    assert [each for each in unknown.split() if knows(parse_version(each), gpu)] == []
    if known:
        assert first_release(gpu) == parse_version(known.split()[0])
    assert knows((13, 6), gpu) and knows((14, 0), gpu)  # later than the table: nvJitLink reports what it lacks


NEEDED = (12, 3)


@pytest.mark.parametrize(
    ("capability", "driver", "nvjitlink", "reason"),
    [
        ((8, 0), (12, 2), (12, 3), None),
        ((8, 0), (12, 2), (12, 9), None),
        ((8, 0), (12, 1), (12, 2), " (this one is for 12.1), and nvJitLink 12.2 is too old too"),
        ((10, 3), (12, 2), (12, 8), ", and nvJitLink 12.8 does not know compute capability 10.3"),
        ((8, 0), (12, 2), (13, 1), ", and machine code from nvJitLink 13.1 needs a driver for CUDA 13.0"),
        ((10, 3), (12, 1), (12, 2), " (this one is for 12.1), and nvJitLink 12.2 is too old too"),  # the first of two
        ((7, 0), (12, 2), (13, 1), ", and nvJitLink 13.1 does not know compute capability 7.0"),
    ],
)
def test_ptx_that_is_too_new_for_a_driver_needs_an_nvjitlink_that_suits_both(
    capability: tuple[int, int], driver: tuple[int, int], nvjitlink: tuple[int, int], reason: str | None
) -> None:
    assert why_not_compiled(NEEDED, capability, driver, nvjitlink) == reason


@pytest.mark.parametrize(
    ("compiler", "nvjitlink", "reason"),
    [
        ((12, 4), (12, 4), None),
        ((12, 4), (12, 9), None),
        ((12, 9), (12, 4), "nvJitLink 12.4 is older"),
        ((12, 9), (13, 0), "nvJitLink 13.0 has another major version"),
        ((13, 0), (12, 9), "nvJitLink 12.9 has another major version"),
    ],
)
def test_lto_ir_needs_an_nvjitlink_of_its_major_version_and_no_older(
    compiler: tuple[int, int], nvjitlink: tuple[int, int], reason: str | None
) -> None:
    release = f"is LTO-IR of CUDA {compiler[0]}.{compiler[1]}, but "
    assert unlinkable(compiler, nvjitlink) == (reason and release + reason)
