"""The key of a link changes with everything that decides the result of the link."""

from __future__ import annotations

from typing import Any

import pytest

from cuda_wheel.runtime.jit import JitOptions
from cuda_wheel.runtime.manifest import Target
from cuda_wheel.runtime.parts.floating_point import FloatingPoint
from cuda_wheel.runtime.parts.linking import prepared_link
from cuda_wheel.runtime.parts.linking.prepared_link import PreparedLink
from cuda_wheel.runtime.parts.linking.strategy import LinkUnit, Strategy

pytestmark = pytest.mark.one_toolchain

PIECE = LinkUnit("user", {"ltoir": b"lto 1", "cubin": b"code 1"})
LTO = Strategy("lto", "nvjitlink", "")


@pytest.fixture(autouse=True)
def builds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prepared_link, "nvjitlink_build", lambda: "one build")
    monkeypatch.setattr(prepared_link, "driver_build", lambda: "one build")


def link(
    *units: LinkUnit,
    strategy: Strategy = LTO,
    target: str = "sm_90",
    driver: tuple[int, int] = (13, 0),
    options: JitOptions = JitOptions(),  # noqa: B008 - immutable
) -> PreparedLink:
    return PreparedLink(units or (PIECE,), Target.parse(target), (strategy,), ((12, 9), driver), None, options)


@pytest.mark.parametrize(
    "change",
    [
        {"strategy": LTO._replace(mode="ptx")},
        {"target": "sm_80"},
        {"options": JitOptions(verbose=False)},
        {"options": JitOptions(optimization_level=3)},
        {"options": JitOptions(max_registers=32)},
        {"options": JitOptions(lineinfo=True)},
    ],
    ids=str,
)
def test_another_link_has_another_key(change: dict[str, Any]) -> None:
    same = PIECE._replace(forms={"ltoir": b"one", "cubin": b"one"})
    assert link(same).digest() == link(same).digest() != link(same, **change).digest()


@pytest.mark.parametrize(
    "units",
    [
        (PIECE._replace(name="other"),),
        (PIECE._replace(forms={"ltoir": b"lto 2"}),),
        (PIECE._replace(forms={"cubin": b"lto 1"}),),
        (PIECE._replace(floating_point=FloatingPoint(fma=False)),),
        (PIECE, PIECE._replace(name="other")),
    ],
    ids=["name", "content", "kind", "floating point", "number"],
)
def test_a_link_of_other_pieces_has_another_key(units: tuple[LinkUnit, ...]) -> None:
    assert link(*units).digest() != link().digest()


def test_the_order_of_the_pieces_is_in_the_key() -> None:
    other = PIECE._replace(name="other")
    assert link(PIECE, other).digest() != link(other, PIECE).digest()


def test_the_drivers_linker_tells_the_two_highest_levels_of_optimisation_apart() -> None:
    """nvJitLink's highest is 3, so its own options are the same for both."""
    by_driver = LTO._replace(mode="ptx", linker="driver")
    keys = {link(strategy=by_driver, options=JitOptions(optimization_level=level)).digest() for level in (3, 4)}
    assert len(keys) == 2


def test_the_two_linkers_have_keys_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """A program may load both results; neither library may say which build it is."""
    for name in ("nvjitlink_build", "driver_build"):
        monkeypatch.setattr(prepared_link, name, lambda: None)
    keys = {link(strategy=Strategy("ptx", linker, "")).digest() for linker in ("nvjitlink", "driver")}
    assert len(keys) == 2


@pytest.mark.parametrize("linker", ["nvjitlink", "driver"])
def test_the_build_of_the_linker_is_in_the_key(linker: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    strategy = Strategy("ptx", linker, "")
    before = link(strategy=strategy).digest()
    monkeypatch.setattr(prepared_link, f"{linker}_build", lambda: "another build")
    assert link(strategy=strategy).digest() != before


def test_the_release_of_the_driver_is_in_the_key_of_its_links() -> None:
    strategy = Strategy("ptx", "driver", "")
    assert link(strategy=strategy, driver=(13, 0)).digest() != link(strategy=strategy, driver=(13, 1)).digest()


def test_entries_of_another_layout_have_other_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    before = link().digest()
    monkeypatch.setattr(prepared_link, "FORMAT", "another")
    assert link().digest() != before
