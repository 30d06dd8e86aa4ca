"""Launch with the attributes that few launches have: cooperative kernels, clusters, priorities and others."""

import struct
from collections.abc import Mapping
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple, TypedDict

from ..arguments import dimensions, value_text, whole_number
from ..driver import check_result, cuda_driver, device_and_driver, set_kernel_attribute
from ..errors import ArgumentError
from ..manifest import Version, dotted
from ..streams import is_address, object_address

if TYPE_CHECKING:
    from ..driver import HasHandle

__all__ = ["AttributeValues", "LaunchAttributes"]


class LaunchAttributes(TypedDict, total=False):
    """The less frequent arguments of `Kernel.launch` and `Kernel.bind`: attributes of the driver's cuLaunchKernelEx.

    Source: CUDA Driver API, CUlaunchAttributeID; its names, without CU_LAUNCH_ATTRIBUTE_, are in parentheses.
    """

    cooperative: bool
    """Whether all blocks run at the same time, so that they can wait for each other. (COOPERATIVE)"""
    cluster: int | tuple[int, ...] | None
    """Size of a cluster in blocks: x, (x, y) or (x, y, z); None sets no size. (CLUSTER_DIMENSION)"""
    cluster_scheduling: str | None
    """How the clusters are distributed over the GPU: "default", "spread" or "load-balancing"; None means the default.
    (CLUSTER_SCHEDULING_POLICY_PREFERENCE)"""
    programmatic: bool
    """Whether this kernel may start before the previous kernel in the stream has ended. cudaGridDependencySynchronize()
    then waits for the previous kernel's results. cudaTriggerProgrammaticLaunchCompletion(), called in the previous
    kernel, lets this one start earlier. (PROGRAMMATIC_STREAM_SERIALIZATION)"""
    priority: int | None
    """Priority of the kernel on the same scale as a stream's priority: lower numbers are more urgent. None sets no
    priority. (PRIORITY)"""
    memory_domain: str | None
    """Domain of the kernel's memory accesses: "default" or "remote"; None means "default". A memory fence of a kernel
    in the default domain does not wait for the writes of a kernel in the remote domain. (MEM_SYNC_DOMAIN)"""
    completion_event: Any
    """Event that the GPU records when all blocks of the kernel have started; None for no event. An event is an object
    of PyTorch, CuPy, cuda.core or Numba, created without timing, or the address of a CUevent.
    (LAUNCH_COMPLETION_EVENT)"""


_SCHEDULING = {"default": 0, "spread": 1, "load-balancing": 2}
"""Cluster scheduling policy -> its number. Source: CUDA Driver API, CUclusterSchedulingPolicy."""

_DOMAINS = {"default": 0, "remote": 1}
"""Memory domain -> its number. Source: CUDA Driver API, CUlaunchMemSyncDomain."""


class AttributeValues(NamedTuple):
    """The attributes of a launch, with the driver's numbers."""

    cooperative: bool
    cluster: tuple[int, int, int] | None
    cluster_scheduling: int
    programmatic: bool
    priority: int | None
    memory_domain: int
    completion_event: int

    @classmethod
    def of(cls, attributes: Mapping[str, Any]) -> "AttributeValues":
        """Return the driver's values for these arguments of `Kernel.launch`.

        Raises TypeError for an unknown argument, ArgumentError for a wrong value.
        """
        unknown = attributes.keys() - LaunchAttributes.__annotations__.keys()
        if unknown:
            known = ", ".join(LaunchAttributes.__annotations__)
            raise TypeError(f"a launch has no argument {min(unknown)!r}; its attributes are {known}")
        cluster, priority = attributes.get("cluster"), attributes.get("priority")
        event = attributes.get("completion_event")
        return cls(
            bool(attributes.get("cooperative")),
            None if cluster is None else dimensions(cluster, "cluster"),
            _choice(attributes.get("cluster_scheduling"), "cluster_scheduling", _SCHEDULING),
            bool(attributes.get("programmatic")),
            None if priority is None else whole_number(priority, "priority", -(1 << 31)),
            _choice(attributes.get("memory_domain"), "memory_domain", _DOMAINS),
            0 if event is None else _event_address(event),
        )

    @property
    def array(self) -> bytes:
        """The attributes that are set, as CUlaunchAttributes: number, 4 bytes of padding, value of 64 bytes.

        Source: CUDA Driver API, CUlaunchAttribute.
        """
        numbers = (
            (2, int(self.cooperative)),
            (5, self.cluster_scheduling),
            (6, int(self.programmatic)),
            (10, self.memory_domain),
        )
        content = b"".join(struct.pack("<I4xi60x", number, value) for number, value in numbers if value)
        if self.cluster is not None:
            content += struct.pack("<I4x3I52x", 4, *self.cluster)
        if self.priority is not None:
            content += struct.pack("<I4xi60x", 8, self.priority)
        if self.completion_event:
            content += struct.pack("<I4xQi52x", 12, self.completion_event, 0)
        return content

    def check(self, kernel: "HasHandle", grid: tuple[int, int, int]) -> None:
        """Raise ArgumentError for attributes that do not suit this GPU or the grid, and call `admit_cluster`."""
        if self.cluster is not None:
            if any(size % part for size, part in zip(grid, self.cluster, strict=True)):
                raise ArgumentError(f"{kernel.name}: the grid {grid} is not a multiple of the cluster {self.cluster}")
            self.admit_cluster(kernel)
        _check_attributes(kernel, self)

    def admit_cluster(self, kernel: "HasHandle") -> None:
        """Allow the kernel a cluster of more than 8 blocks, the most that every GPU takes, if this is one."""
        # Source: CUDA C++ Programming Guide, "Thread Block Clusters": 8 is the most that every GPU takes.
        if self.cluster is not None and prod(self.cluster) > 8:
            set_kernel_attribute("NON_PORTABLE_CLUSTER_SIZE_ALLOWED", kernel, 1)


def _check_attributes(kernel: "HasHandle", values: AttributeValues) -> None:
    """Raise ArgumentError if `values` sets an attribute or a priority that the current GPU or its driver does not
    support. The error message begins with the name of `kernel`.

    Source: CUDA Driver API, CUlaunchAttributeID; CUDA C++ Programming Guide, "Programmatic Dependent Launch and
    Synchronization".
    """
    # Memory domains need no check: a GPU without them has a single domain.
    hopper, driver_12_3 = (9, 0), (12, 3)
    needs: dict[str, tuple[Version, Version]] = {
        "programmatic": (hopper, (12, 0)),
        "cluster_scheduling": (hopper, (12, 0)),
        "completion_event": ((0, 0), driver_12_3),
    }
    for name, (least_capability, least_driver) in needs.items():
        if getattr(values, name):
            capability, driver = device_and_driver()
            if capability < least_capability:
                raise ArgumentError(
                    f"{kernel.name}: {name} needs a GPU of compute capability {dotted(least_capability)} or higher; "
                    f"this one has {dotted(capability)}"
                )
            if driver < least_driver:
                raise ArgumentError(
                    f"{kernel.name}: {name} needs a driver for CUDA {dotted(least_driver)} or later; this one is for "
                    f"{dotted(driver)}"
                )
    if values.priority is not None:
        _check_priority(kernel, values.priority)


def _check_priority(kernel: "HasHandle", priority: int) -> None:
    result = cuda_driver().cuCtxGetStreamPriorityRange()
    check_result(result[:2], "getting the range of priorities")
    least, greatest = int(result[1]), int(result[2])
    if not greatest <= priority <= least:
        raise ArgumentError(
            f"{kernel.name}: priority must be between {greatest}, the most urgent, and {least}, not {priority}"
        )


def _choice(value: Any, what: str, choices: Mapping[str, int]) -> int:
    """Return the driver's number for `value`, i.e. `choices[value]`; 0, the default, if `value` is None. Raise
    ArgumentError for any other value: "memory_domain must be "default" or "remote", not 3". `what` is the attribute's
    name in this message."""
    if value is None:
        return 0
    if not isinstance(value, str) or value not in choices:
        names = " or ".join(f'"{name}"' for name in choices)
        raise ArgumentError(f"{what} must be {names}, not {value_text(value)}")
    return choices[value]


def _event_address(event: Any) -> int:
    """Return the CUevent address of `event`, an event object of a library or an address. Raise ArgumentError for any
    other value, and if the address is 0."""
    address = object_address(event, "cuda_event")
    if address is None or not is_address(address):
        raise ArgumentError(
            "completion_event must be an event of PyTorch, CuPy, cuda.core or Numba, or an address, not "
            f"{value_text(event)}"
        )
    if not address:
        raise ArgumentError(
            "completion_event has the address 0. PyTorch makes an event when it is first recorded: record it once"
        )
    return address
