"""Read and check the configuration of a launch: grid, block, shared memory, cluster and attributes.

Below that is what the driver knows of a kernel on one GPU: its attributes, against which a block is checked, how many
blocks a multiprocessor holds, and which block size fills it best.
"""

import operator
import struct
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, TypedDict

from .arguments import value_text
from .driver import check_result, cuda_driver, current_device, device_and_driver, device_attribute, device_with_context
from .errors import ArgumentError
from .manifest import Version, dotted
from .streams import event_address

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Protocol

    from .manifest import KernelInfo, Manifest

    class LoadedModule(Protocol):
        """What a launch needs of a `Module`."""

        @property
        def manifest(self) -> Manifest: ...
        def check_loaded(self) -> None: ...
        def on_unload(self, callback: Callable[[], object]) -> None: ...

    class LoadedKernel(Protocol):
        """What a launch needs of a `Kernel`."""

        @property
        def name(self) -> str: ...
        @property
        def handle(self) -> int: ...
        @property
        def info(self) -> KernelInfo: ...
        @property
        def module(self) -> LoadedModule: ...
        @property
        def launch(self) -> Callable[..., None]: ...


__all__ = [
    "Attributes",
    "Configuration",
    "LaunchAttributes",
    "Occupancy",
    "admit_cluster",
    "allow_block",
    "attributes",
    "check_configuration",
    "dimensions",
    "is_sequence",
    "occupancy",
    "set_function_attribute",
    "suggested_block",
    "whole_number",
]


class LaunchAttributes(TypedDict, total=False):
    """The less frequent arguments of `Kernel.launch` and `Kernel.bind`, attributes of the driver's cuLaunchKernelEx.

    Source: CUDA Driver API, CUlaunchAttributeID; each names its own without CU_LAUNCH_ATTRIBUTE_.
    """

    cooperative: bool
    """All blocks run at the same time, so that they can wait for each other. (COOPERATIVE)"""
    cluster: int | tuple[int, ...] | None
    """The size of a cluster, in blocks. (CLUSTER_DIMENSION)"""
    cluster_scheduling: str | None
    """"spread" or "load-balancing": how clusters are distributed. (CLUSTER_SCHEDULING_POLICY_PREFERENCE)"""
    programmatic: bool
    """The kernel may start before the one that the stream ran before has ended; it waits for its results with
    cudaGridDependencySynchronize(). The earlier one may call cudaTriggerProgrammaticLaunchCompletion().
    (PROGRAMMATIC_STREAM_SERIALIZATION)"""
    priority: int | None
    """As of a stream: lower numbers are more urgent. (PRIORITY)"""
    memory_domain: str | None
    """"remote": barriers of kernels in the default domain do not wait for this kernel's writes. (MEM_SYNC_DOMAIN)"""
    completion_event: Any
    """An event of any library, without timing, that is recorded when all blocks have started.
    (LAUNCH_COMPLETION_EVENT)"""


_SCHEDULING = {"default": 0, "spread": 1, "load-balancing": 2}
"""Source: CUDA Driver API, CUclusterSchedulingPolicy."""

_DOMAINS = {"default": 0, "remote": 1}
"""Source: CUDA Driver API, CUlaunchMemSyncDomain."""


class Configuration(NamedTuple):
    """The configuration of a launch, in the driver's terms; two that are equal launch equally."""

    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared_memory: int
    cooperative: bool = False
    cluster: tuple[int, int, int] | None = None
    cluster_scheduling: int = 0
    programmatic: bool = False
    priority: int | None = None
    memory_domain: int = 0
    completion_event: int = 0

    @classmethod
    def of(cls, grid: Any, block: Any, shared_memory: Any, attributes: Mapping[str, Any]) -> "Configuration":
        """Return the configuration that these arguments of `Kernel.launch` mean.

        Raises TypeError for an attribute that there is not; ArgumentError for a wrong value.
        """
        unknown = attributes.keys() - LaunchAttributes.__annotations__.keys()
        if unknown:
            known = ", ".join(LaunchAttributes.__annotations__)
            raise TypeError(f"a launch has no argument {min(unknown)!r}; its attributes are {known}")
        cluster, priority = attributes.get("cluster"), attributes.get("priority")
        event = attributes.get("completion_event")
        return cls(
            dimensions(grid, "grid"),
            dimensions(block, "block"),
            whole_number(shared_memory, "shared_memory", 0),
            bool(attributes.get("cooperative")),
            None if cluster is None else dimensions(cluster, "cluster"),
            _choice(attributes.get("cluster_scheduling"), "cluster_scheduling", _SCHEDULING),
            bool(attributes.get("programmatic")),
            None if priority is None else whole_number(priority, "priority", -(1 << 31)),
            _choice(attributes.get("memory_domain"), "memory_domain", _DOMAINS),
            0 if event is None else event_address(event),
        )

    @property
    def attributes(self) -> bytes:
        """The array of CUlaunchAttribute: of each the number, 4 bytes of padding and a value of 64 bytes.

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


def check_configuration(kernel: "LoadedKernel", configuration: Configuration) -> None:
    """Raise ArgumentError for a configuration that the kernel cannot have; opt in to large blocks and clusters."""
    grid, block, cluster = configuration.grid, configuration.block, configuration.cluster
    # Source: CUDA C++ Programming Guide, "Technical Specifications per Compute Capability".
    for what, sizes, limits in (("grid", grid, ((1 << 31) - 1, 65535, 65535)), ("block", block, (1024, 1024, 64))):
        if any(size > limit for size, limit in zip(sizes, limits, strict=True)):
            raise ArgumentError(f"{kernel.name}: a {what} of {sizes} is too large: the maximum is {limits}")
    allow_block(kernel, block[0] * block[1] * block[2], configuration.shared_memory)
    if cluster is not None:
        if any(size % part for size, part in zip(grid, cluster, strict=True)):
            raise ArgumentError(f"{kernel.name}: the grid {grid} is not a multiple of the cluster {cluster}")
        admit_cluster(kernel, cluster)
    _check_attributes(kernel, configuration)


def _check_attributes(kernel: "LoadedKernel", configuration: Configuration) -> None:
    """Raise ArgumentError for attributes that the current GPU or its driver does not have.

    Source: CUDA Driver API, CUlaunchAttributeID, and CUDA C++ Programming Guide, "Programmatic Dependent Launch and
    Synchronization". Memory domains and priorities need nothing: a GPU without them has one.
    """
    hopper, driver_12_3 = (9, 0), (12, 3)
    needs: dict[str, tuple[Version, Version]] = {
        "programmatic": (hopper, (12, 0)),
        "cluster_scheduling": (hopper, (12, 0)),
        "completion_event": ((0, 0), driver_12_3),
    }
    for name, (least_capability, least_driver) in needs.items():
        if getattr(configuration, name):
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
    if configuration.priority is not None:
        _check_priority(kernel, configuration.priority)


def _check_priority(kernel: "LoadedKernel", priority: int) -> None:
    result = cuda_driver().cuCtxGetStreamPriorityRange()
    check_result(result[:2], "getting the range of priorities")
    least, greatest = int(result[1]), int(result[2])
    if not greatest <= priority <= least:
        raise ArgumentError(
            f"{kernel.name}: priority must be between {greatest}, the most urgent, and {least}, not {priority}"
        )


def admit_cluster(kernel: "LoadedKernel", cluster: tuple[int, int, int]) -> None:
    """Opt in to a cluster of more blocks than every GPU takes."""
    # Source: CUDA C++ Programming Guide, "Thread Block Clusters": 8 is the most that every GPU takes.
    if cluster[0] * cluster[1] * cluster[2] > 8:
        set_function_attribute(kernel, "NON_PORTABLE_CLUSTER_SIZE_ALLOWED", 1)


def dimensions(value: Any, what: str) -> tuple[int, int, int]:
    """Return a size of one to three numbers as three; `what` names it in the ArgumentError for anything else."""
    sizes = list(value) if is_sequence(value) else [value]
    if not 1 <= len(sizes) <= 3:
        raise ArgumentError(f"{what} must be one to three numbers, not {value!r}")
    x, y, z = [whole_number(size, what, 1) for size in sizes] + [1] * (3 - len(sizes))
    return x, y, z


def is_sequence(value: Any) -> bool:
    """Return whether a size is given as several numbers; an array of no dimensions is one number."""
    return hasattr(value, "__len__") and getattr(value, "shape", None) != ()


def whole_number(value: Any, what: str, least: int) -> int:
    """Return an integer of at least `least` and less than 2^31; raise ArgumentError for anything else."""
    try:
        number = operator.index(value)
    except TypeError:
        raise ArgumentError(f"{what} takes integers, not {value!r}") from None
    if number < least:
        raise ArgumentError(f"{what} takes integers of {least} and more, not {value!r}")
    if number >= 1 << 31:
        raise ArgumentError(f"{what}: {value_text(value)} is too large")
    return number


def _choice(value: Any, what: str, choices: Mapping[str, int]) -> int:
    """Return the driver's number of a named choice; None is the default."""
    if value is None:
        return 0
    if not isinstance(value, str) or value not in choices:
        names = " or ".join(f'"{name}"' for name in choices)
        raise ArgumentError(f"{what} must be {names}, not {value_text(value)}")
    return choices[value]


class Attributes(NamedTuple):
    """A kernel's attributes on one GPU: sizes in bytes, versions as (major, minor).

    Source: CUDA Driver API, CUfunction_attribute; each field names its own without CU_FUNC_ATTRIBUTE_.
    """

    registers: int
    """Registers per thread. (NUM_REGS)"""
    shared: int
    """Static shared memory per block. (SHARED_SIZE_BYTES)"""
    max_dynamic_shared: int
    """The largest dynamic shared memory that a launch may request at present. (MAX_DYNAMIC_SHARED_SIZE_BYTES)"""
    constant: int
    """Constant memory of the module's variables. (CONST_SIZE_BYTES)"""
    local: int
    """Local memory per thread. (LOCAL_SIZE_BYTES)"""
    max_threads: int
    """The most threads that a block may have. (MAX_THREADS_PER_BLOCK)"""
    binary_version: Version
    """The compute capability of the machine code. (BINARY_VERSION)"""
    ptx_version: Version
    """The virtual architecture that it was compiled from. (PTX_VERSION)"""


def attributes(kernel: "LoadedKernel") -> Attributes:
    """Return a kernel's attributes on the current context's GPU, else on GPU 0; raises DriverError."""
    return Attributes(
        registers=_function_attribute(kernel, "NUM_REGS"),
        shared=_function_attribute(kernel, "SHARED_SIZE_BYTES"),
        max_dynamic_shared=_function_attribute(kernel, "MAX_DYNAMIC_SHARED_SIZE_BYTES"),
        constant=_function_attribute(kernel, "CONST_SIZE_BYTES"),
        local=_function_attribute(kernel, "LOCAL_SIZE_BYTES"),
        max_threads=_function_attribute(kernel, "MAX_THREADS_PER_BLOCK"),
        binary_version=divmod(_function_attribute(kernel, "BINARY_VERSION"), 10),
        ptx_version=divmod(_function_attribute(kernel, "PTX_VERSION"), 10),
    )


def _function_attribute(kernel: "LoadedKernel", name: str) -> int:
    driver = cuda_driver()
    which = getattr(driver.CUfunction_attribute, f"CU_FUNC_ATTRIBUTE_{name}")
    result = driver.cuKernelGetAttribute(which, kernel.handle, current_device() or 0)
    return int(check_result(result, f"getting {name} of {kernel.name}"))


def set_function_attribute(kernel: "LoadedKernel", name: str, value: int) -> None:
    """Set the CU_FUNC_ATTRIBUTE_`name` of a kernel on the current context's GPU, else on GPU 0; raises DriverError."""
    driver = cuda_driver()
    which = getattr(driver.CUfunction_attribute, f"CU_FUNC_ATTRIBUTE_{name}")
    result = driver.cuKernelSetAttribute(which, value, kernel.handle, current_device() or 0)
    check_result(result, f"setting {name} of {kernel.name}")


def allow_block(kernel: "LoadedKernel", threads: int, shared_memory: int) -> None:
    """Check that the current GPU can run a block of so many threads and bytes of dynamic shared memory.

    Above the driver's default limit, opt in to the largest shared memory that the GPU has. Raises ArgumentError if the
    block is too large.
    """
    max_threads = _function_attribute(kernel, "MAX_THREADS_PER_BLOCK")
    if threads > max_threads:
        raise ArgumentError(
            f"{kernel.name}: a block of {threads} threads is too large: {max_threads} is the most on this GPU, because "
            "of the kernel's registers or __launch_bounds__"
        )
    if shared_memory <= 0:
        return
    static = _function_attribute(kernel, "SHARED_SIZE_BYTES")
    available = device_attribute("MAX_SHARED_MEMORY_PER_BLOCK_OPTIN", current_device() or 0) - static
    if shared_memory > available:
        raise ArgumentError(
            f"{kernel.name}: {shared_memory} bytes of shared memory are too much: this GPU has {available} per "
            "block" + (f" beside the kernel's own {static} bytes" if static else "")
        )
    # Source: CUDA C++ Programming Guide, "Shared Memory": above 48 KiB a kernel needs an explicit opt-in.
    if shared_memory > _function_attribute(kernel, "MAX_DYNAMIC_SHARED_SIZE_BYTES"):
        set_function_attribute(kernel, "MAX_DYNAMIC_SHARED_SIZE_BYTES", available)


class Occupancy(NamedTuple):
    """How many blocks of a kernel a multiprocessor holds at once, and which share of its threads they take."""

    blocks: int
    share: float


def occupancy(kernel: "LoadedKernel", block: int | tuple[int, ...], shared_memory: int) -> Occupancy:
    """Return a kernel's occupancy on the current GPU; see `Kernel.occupancy`."""
    x, y, z = dimensions(block, "block")
    shared_memory = whole_number(shared_memory, "shared_memory", 0)
    device = device_with_context()
    allow_block(kernel, x * y * z, shared_memory)
    result = cuda_driver().cuOccupancyMaxActiveBlocksPerMultiprocessor(kernel.handle, x * y * z, shared_memory)
    blocks = check_result(result, f"getting the occupancy of {kernel.name}")
    threads = device_attribute("MAX_THREADS_PER_MULTIPROCESSOR", device)
    warps = -(-x * y * z // 32)
    return Occupancy(blocks, blocks * warps * 32 / threads)


def suggested_block(kernel: "LoadedKernel", shared_memory: int) -> int:
    """Return a kernel's best block size in threads on the current GPU; see `Kernel.suggest_block`."""
    shared_memory = whole_number(shared_memory, "shared_memory", 0)
    device_with_context()
    allow_block(kernel, 1, shared_memory)
    driver = cuda_driver()
    constant = driver.CUoccupancyB2DSize(0)
    result = driver.cuOccupancyMaxPotentialBlockSize(kernel.handle, constant, shared_memory, 0)
    check_result(result, f"getting a block size for {kernel.name}")
    return int(result[2])
