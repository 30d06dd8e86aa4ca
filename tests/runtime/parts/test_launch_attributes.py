"""The attributes of a launch: what the driver gets, and what a GPU or a driver without them is told."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from cuda_wheel.runtime.errors import ArgumentError
from tests.support.driver import NUMBERS, Driver
from tests.support.launches import (
    kernel_of,
)

pytestmark = pytest.mark.one_toolchain


def test_the_driver_gets_each_attribute(hopper: Driver) -> None:
    event = 0x7E57
    kernel = kernel_of()
    launches: list[tuple[dict[str, Any], dict[str, Any]]] = [
        ({"programmatic": True}, {"programmatic": 1}),
        ({"programmatic": False, "cooperative": False, "cluster": None, "priority": None}, {}),
        ({"priority": -3}, {"priority": -3}),
        ({"priority": 0}, {"priority": 0}),
        ({"cluster_scheduling": "spread"}, {"cluster_scheduling": 1}),
        ({"cluster_scheduling": "load-balancing", "cluster": 2}, {"cluster_scheduling": 2, "cluster": (2, 1, 1)}),
        ({"cluster_scheduling": "default", "memory_domain": "default"}, {}),
        ({"memory_domain": "remote"}, {"memory_domain": 1}),
        ({"completion_event": event}, {"completion_event": event}),
        ({"completion_event": SimpleNamespace(cuda_event=event)}, {"completion_event": event}),  # PyTorch
        ({"completion_event": SimpleNamespace(ptr=event)}, {"completion_event": event}),  # CuPy
        (
            {"programmatic": True, "priority": -1, "memory_domain": "remote", "completion_event": event},
            {"programmatic": 1, "priority": -1, "memory_domain": 1, "completion_event": event},
        ),
    ]
    for given, expected in launches * 2:
        kernel.launch(4, 1, **given)
        assert hopper.launches[-1].attributes == expected, given
        kernel.bind(4, 1, **given)()
        assert hopper.launches[-1].attributes == expected, given


def test_the_numbers_are_those_of_the_drivers_bindings() -> None:
    """The stand-in's numbers, by which the test above reads, against cuda.bindings."""
    driver = pytest.importorskip("cuda.bindings.driver")
    ids = {int(each): each.name.removeprefix("CU_LAUNCH_ATTRIBUTE_") for each in driver.CUlaunchAttributeID}
    assert {number: ids[number] for number in (*NUMBERS, 4, 12)} == {
        2: "COOPERATIVE",
        4: "CLUSTER_DIMENSION",
        5: "CLUSTER_SCHEDULING_POLICY_PREFERENCE",
        6: "PROGRAMMATIC_STREAM_SERIALIZATION",
        8: "PRIORITY",
        10: "MEM_SYNC_DOMAIN",
        12: "LAUNCH_COMPLETION_EVENT",
    }
    assert int(driver.CUclusterSchedulingPolicy.CU_CLUSTER_SCHEDULING_POLICY_LOAD_BALANCING) == 2
    assert int(driver.CUlaunchMemSyncDomain.CU_LAUNCH_MEM_SYNC_DOMAIN_REMOTE) == 1


def test_an_event_that_is_made_later_is_read_at_each_launch(hopper: Driver) -> None:
    event = SimpleNamespace(cuda_event=0x10)
    kernel = kernel_of()
    for address in (0x10, 0x20, 0x30):
        event.cuda_event = address
        kernel.launch(1, 1, completion_event=event)
        assert hopper.launches[-1].attributes == {"completion_event": address}


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ({"cluster_scheduling": "even"}, 'cluster_scheduling must be "default" or "spread" or "load-balancing"'),
        ({"memory_domain": 1}, 'memory_domain must be "default" or "remote", not 1'),
        ({"priority": -6}, "priority must be between -5, the most urgent, and 0, not -6"),
        ({"priority": 1}, "priority must be between -5, the most urgent, and 0, not 1"),
        ({"priority": 1.5}, "priority takes integers, not 1.5"),
        ({"completion_event": "now"}, "completion_event must be an event of PyTorch, CuPy, cuda.core or Numba, or an"),
        ({"completion_event": SimpleNamespace(cuda_event=0)}, "PyTorch makes an event when it is first recorded"),
    ],
)
def test_a_wrong_value_is_refused(hopper: Driver, attributes: dict[str, Any], message: str) -> None:
    for launch in (kernel_of().launch, kernel_of().bind):
        with pytest.raises(ArgumentError, match=message):
            launch(1, 1, **attributes)


def test_an_unknown_attribute_is_an_error_that_lists_the_known_ones(hopper: Driver) -> None:
    with pytest.raises(TypeError, match="a launch has no argument 'programatic'; its attributes are cooperative, clus"):
        kernel_of().launch(1, 1, programatic=True)  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("attributes", "capability", "version", "message"),
    [
        ({"programmatic": True}, (8, 6), 13000, "programmatic needs a GPU of compute capability 9.0 or higher; .* 8.6"),
        ({"cluster_scheduling": "spread"}, (8, 9), 13000, "cluster_scheduling needs a GPU of compute capability 9.0"),
        ({"completion_event": 5}, (8, 6), 12020, "completion_event needs a driver for CUDA 12.3 or later; .* 12.2"),
    ],
)
def test_what_this_gpu_or_driver_lacks_is_refused(
    use: Callable[..., Driver], attributes: dict[str, Any], capability: tuple[int, int], version: int, message: str
) -> None:
    use(capability, version=version)
    with pytest.raises(ArgumentError, match=f"^k: {message}"):
        kernel_of().launch(1, 1, **attributes)
    use((9, 0), version=12030)
    kernel_of().launch(1, 1, **attributes)  # the first that have them
    driver = use(capability, version=version)
    kernel_of().launch(1, 1, memory_domain="remote", priority=-1)  # every GPU takes these
    assert driver.launches[0].attributes == {"memory_domain": 1, "priority": -1}
