"""How pieces are linked for a GPU: the ways that are possible, the best first."""

from __future__ import annotations

import re
from typing import Any

import pytest

import cuda_wheel as package
from cuda_wheel import JitOptions, LinkError
from cuda_wheel.runtime.manifest import dotted
from cuda_wheel.runtime.parts.linking.strategy import LinkUnit, strategies
from tests.support.linkable import APPLY, BOTH, FORMS, USER, compiled, fatbin

BASE = LinkUnit("lib.cu", {"ltoir": b"", "ptx": b""}, (12, 9), (12, 0))
LTOIR, PTX, CUBIN, CUDA = (LinkUnit(f"user{FORMS[kind]}", {kind: b""}) for kind in ("ltoir", "ptx", "cubin", "cuda"))
NVRTC = (12, 9)


@pytest.mark.parametrize(
    ("units", "nvjitlink", "driver", "options", "expected"),
    [
        ([BASE, LTOIR], (12, 9), (13, 0), {}, "lto nvjitlink LTO: every piece has LTO-IR"),
        ([BASE, CUDA], (12, 9), (12, 9), {}, "lto nvjitlink LTO: every piece has LTO-IR"),
        ([BASE, PTX], (12, 9), (13, 0), {}, "ptx nvjitlink PTX: user.ptx is PTX, not LTO-IR"),
        ([BASE, CUBIN], (12, 9), (13, 0), {}, "ptx nvjitlink PTX: user.cubin is machine code, not LTO-IR"),
        ([BASE, CUDA], (12, 8), (13, 0), {}, "ptx driver PTX by the driver's linker: user.cu is PTX of CUDA 12.9, and nvJitLink is 12.8"),
        ([BASE], (12, 8), (13, 0), {}, "ptx nvjitlink PTX: lib.cu is LTO-IR of CUDA 12.9, but nvJitLink 12.8 is older"),
        ([BASE], (13, 0), (13, 0), {}, "ptx nvjitlink PTX: lib.cu is LTO-IR of CUDA 12.9, but nvJitLink 13.0 has another major version"),
        ([BASE, PTX], None, (12, 9), {}, "ptx driver PTX by the driver's linker: nvJitLink is not installed (pip install nvidia-nvjitlink-cu12, or nvidia-nvjitlink for CUDA 13)"),
        ([BASE, PTX], (13, 0), (12, 9), {}, "ptx driver PTX by the driver's linker: the output of nvJitLink 13.0 needs a driver for CUDA 13.0, and this one is for 12.9"),
        ([BASE, CUDA], (12, 9), (13, 0), {"lto": False}, "ptx nvjitlink PTX: JitOptions(lto=False) asks for it"),
        ([BASE, CUDA], (12, 9), (13, 0), {"linker": "driver"}, "ptx driver PTX by the driver's linker: JitOptions asks for it"),
        ([LTOIR, CUBIN], (12, 9), (13, 0), {}, "lto nvjitlink LTO of the pieces that have LTO-IR; user.cubin is machine code, not LTO-IR"),
        ([BASE, CUBIN], (12, 9), (13, 0), {"lto": True}, "lto nvjitlink LTO of the pieces that have LTO-IR; user.cubin is machine code, not LTO-IR"),
        ([BASE, PTX], (12, 9), None, {}, "ptx nvjitlink PTX: user.ptx is PTX, not LTO-IR"),
    ],
)  # fmt: skip
def test_the_best_strategy_is_first_and_says_why(
    units: list[LinkUnit], nvjitlink: Any, driver: Any, options: dict[str, Any], expected: str
) -> None:
    assert " ".join(strategies(units, nvjitlink, NVRTC, driver, JitOptions(**options))[0][:3]) == expected


def packed(*options: str) -> LinkUnit:
    """Return a unit that is a fatbin, which nvFatbin has compressed."""
    return LinkUnit("user.fatbin", {"fatbin": fatbin(compiled(BOTH, "cubin", "90"), *options)})


@pytest.mark.parametrize("mode", ["size", "balance"])
def test_a_linker_before_12_4_never_gets_a_fatbin_in_zstd(mode: str) -> None:
    """nvJitLink 12.0 crashes of it, and 12.1 to 12.3 take the compressed bytes for PTX."""
    unit, text = packed(f"-compress-mode={mode}", "-compress-all"), "user.fatbin is a fatbin compressed with zstd"
    assert strategies([unit], (12, 4), NVRTC, (12, 4))[0].linker == "nvjitlink"
    driver = strategies([unit], (12, 3), NVRTC, (12, 4))[0]
    assert driver.linker == "driver"
    assert f"{text}, which linkers before CUDA 12.4 do not read, and nvJitLink is 12.3" in driver.why
    assert strategies([unit], (12, 4), NVRTC, (12, 3))[0].linker == "nvjitlink"
    with pytest.raises(LinkError, match=f"(?s){text}.*nvJitLink is 12.3.*{text}.*the driver is for CUDA 12.3"):
        strategies([unit], (12, 3), NVRTC, (12, 3))
    with pytest.raises(LinkError, match=f"{text}.*and nvJitLink is 12.3"):
        strategies([LTOIR, unit], (12, 3), (12, 3), (12, 3))


@pytest.mark.parametrize("options", [(), ("-compress-mode=speed", "-compress-all")])
def test_every_linker_reads_other_fatbins(options: tuple[str, ...]) -> None:
    assert strategies([packed(*options)], (12, 0), NVRTC, (12, 0))[0].linker == "nvjitlink"
    assert strategies([packed(*options)], None, NVRTC, (12, 0))[0].linker == "driver"


@pytest.mark.parametrize(
    ("units", "nvjitlink", "nvrtc", "driver", "options", "message"),
    [
        ([BASE, LTOIR], None, NVRTC, (13, 0), {}, r"no way to link lib.cu, user.ltoir here:\n  LTO: nvJitLink is not installed.*\n  PTX: user.ltoir is LTO-IR alone"),
        ([BASE, CUDA], (12, 9), None, (13, 0), {}, "user.cu is CUDA C.*NVRTC, which compiles it, is not installed here: pip install"),
        ([BASE, PTX], None, NVRTC, None, {}, "nvJitLink is not installed.*\n  PTX by the driver's linker: there is no driver"),
        ([BASE._replace(driver=(13, 0)), PTX], None, NVRTC, (12, 4), {}, "lib.cu is PTX of CUDA 13.0, and the driver is for CUDA 12.4"),
        ([PTX, CUBIN], (12, 9), NVRTC, (13, 0), {"lto": True}, r"LTO: user.ptx is PTX, not LTO-IR\n  PTX: JitOptions\(lto=True\) forbids it"),
        ([LTOIR], (12, 9), NVRTC, (13, 0), {"lto": False}, "forbids it\n  PTX: user.ltoir is LTO-IR alone"),
        ([LTOIR], (12, 9), NVRTC, (13, 0), {"linker": "driver"}, "the driver's linker, which JitOptions asks for, does not take LTO-IR"),
        ([BASE, PTX], None, NVRTC, (13, 0), {"linker": "nvjitlink"}, r"nvJitLink is not installed .*\n  JitOptions\(linker='nvjitlink'\) forbids"),
        ([BASE._replace(forms={"ltoir": b""}), CUBIN], (13, 0), NVRTC, (13, 0), {}, "LTO: lib.cu is LTO-IR of CUDA 12.9, but nvJitLink 13.0 has another major"),
    ],
)  # fmt: skip
def test_without_a_strategy_the_error_lists_all_reasons(
    units: list[LinkUnit], nvjitlink: Any, nvrtc: Any, driver: Any, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(LinkError, match=f"(?s){message}"):
        strategies(units, nvjitlink, nvrtc, driver, JitOptions(**options))


@pytest.mark.parametrize(
    ("nvjitlink", "capability", "known"),
    [
        ((12, 9), (5, 0), True), ((12, 0), (9, 0), True), ((12, 9), (12, 1), True), ((12, 8), (12, 1), False),
        ((12, 9), (10, 7), False), ((12, 9), (13, 0), False), ((13, 5), (13, 0), False), ((14, 0), (13, 0), True),
        ((13, 0), (7, 0), False), ((13, 0), (7, 5), True), ((13, 0), (10, 1), False), ((12, 9), (10, 1), True),
    ],
)  # fmt: skip
def test_the_driver_links_for_a_gpu_that_nvjitlink_does_not_know(nvjitlink: Any, capability: Any, known: bool) -> None:
    why = f"nvJitLink {dotted(nvjitlink)} does not know compute capability {dotted(capability)}"
    chosen = strategies([PTX], nvjitlink, NVRTC, (14, 0), capability=capability)[0]
    assert (chosen.linker, why in chosen.why) == (("nvjitlink", False) if known else ("driver", True))
    if not known:
        with pytest.raises(LinkError, match=re.escape(why)):
            strategies([LTOIR], nvjitlink, NVRTC, (14, 0), capability=capability)


def test_a_gpu_that_nvjitlink_does_not_know_is_an_error() -> None:
    package.link([APPLY, USER], arch="90")
    with pytest.raises(LinkError, match=r"does not know compute capability 99\.0"):
        package.link([APPLY, USER], arch="990")


@pytest.mark.parametrize("options", [JitOptions(lto=3), JitOptions(linker="ld")])  # type: ignore[arg-type]
def test_an_unknown_option_value_is_refused(options: JitOptions) -> None:
    with pytest.raises(ValueError, match="must be"):
        package.link([USER], arch="90", jit=options)
