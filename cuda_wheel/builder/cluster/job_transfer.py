"""Send a call about one job to another machine, and read its reply. This is the sender's side of `remote_worker`.

Everything that the images depend on is sent by content, except the toolchain, which must be the same on the other
machine: the versions of its compilers and headers are compared. A job whose result could differ there raises
NotPortableError, and this machine runs it.
"""

from __future__ import annotations

import io
import os
import pickle
import sys
import tempfile
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from cuda_wheel import __version__
from cuda_wheel.builder.cache.compile_cache import Place, path_of, unpack
from cuda_wheel.builder.errors import ToolchainError
from cuda_wheel.builder.images import ptx_text
from cuda_wheel.builder.jobs import Compiled, Job, LinkJob
from cuda_wheel.builder.toolchain.nvrtc import FORM_OPTIONS, compile_text
from cuda_wheel.builder.toolchain.toolchain import HEADER_GROUPS, Nvvm, Toolchain
from cuda_wheel.builder.workers.executor import Call
from cuda_wheel.runtime.parts.cuda_libraries import link_code

__all__ = [
    "NotPortableError",
    "Parcel",
    "RemoteCall",
    "Reply",
    "UnfitMachineError",
    "Versions",
    "absolute_folders",
    "join",
    "linker_release",
    "split",
    "versions_of",
]


class Versions(NamedTuple):
    """Descriptions of everything that images depend on besides a job and its files: the system and its toolchain.

    Machines with equal descriptions produce equal images.
    """

    system: str
    nvrtc: str
    nvjitlink: str
    headers: str
    nvvm: str
    """Release of libNVVM on the machine; "" if the job does not need libNVVM."""

    def differences(self, there: Versions) -> str:
        """Return a description of what differs on another machine, whose versions are `there`; "" if nothing does."""
        names = ("the operating system", "NVRTC", "nvJitLink", "the folders of headers", "libNVVM")
        pairs = zip(names, there, self, strict=True)
        return "; ".join(f"{name}: {other} there, {own} here" for name, other, own in pairs if other != own)


def versions_of(toolchain: Toolchain, nvjitlink: str, nvvm: Nvvm | None) -> Versions:
    """Return the versions of this machine's toolchain. `nvjitlink` is the result of `linker_release` for it."""
    marks = [group.header for group in HEADER_GROUPS.values()]
    contents = [", ".join(mark for mark in marks if Path(folder, mark).is_file()) for folder in toolchain.include_dirs]
    headers = "; ".join(f"one with {content}" for content in contents)
    return Versions(sys.platform, toolchain.nvrtc, nvjitlink, headers, "" if nvvm is None else nvvm.release)


def linker_release(toolchain: Toolchain) -> str:
    """Return the exact release of nvJitLink, from the PTX that it writes: its API returns only MAJOR.MINOR.

    Runs in workers only.
    """
    arch = toolchain.supported[0]
    answer = compile_text(
        {
            "library": toolchain.libraries[0],
            "folder": tempfile.gettempdir(),
            "text": b"__global__ void k() {}",
            "name": "version.cu",
            "options": [f"--gpu-architecture=compute_{arch}", *FORM_OPTIONS["lto"]],
            "expressions": [],
        }
    )
    code, _ = link_code([("LTOIR", "version.cu", answer["ltoir"])], [f"-arch=sm_{arch}", "-lto", "-ptx"], True)
    return ptx_text.compiler_release(code.rstrip(b"\0").decode()) or toolchain.nvjitlink


class NotPortableError(Exception):
    """The call may have another result on another machine, so this machine must run it."""


class UnfitMachineError(ToolchainError):
    """The other machine cannot run this build's jobs: its toolchain is incomplete or has other versions."""


@dataclass(frozen=True)
class Parcel:
    """A call, and all that another machine needs to run it, as it is sent."""

    text: bytes
    """Pickled pair of the call's function and argument. The job is taken out of the argument and is in the field
    `job`."""
    job: Job | LinkJob
    """The job that the call is about, without the paths of the sender's machine. The field `libdevice` is "needed"
    instead of a path if the job needs libdevice."""
    files: Mapping[str, bytes]
    """Project-relative path, with "/" on all systems -> content, for each file that the job may read."""
    versions: Versions
    options: tuple[str, ...] | None
    """`Call.options` of the call: a worker process runs only calls with equal options. None if any worker process may
    run the call."""
    timed: bool
    """`Call.timed` of the call: whether the receiver measures how long the parts of the call take, and returns these
    times."""
    timeout: float
    """Time limit in seconds for the call on the receiver's machine."""
    memory: int | None
    """Memory limit of the worker process, in bytes; None for no limit."""


class Reply(NamedTuple):
    """The result of a call as it is sent back."""

    where: str
    """Name of the machine that ran the call, for messages: "the Dask worker tcp://10.0.0.1:4000"."""
    error: Exception | None
    text: bytes = b""
    """Pickled result of the call's function. The `Compiled` objects are taken out of the result and are in the field
    `compiled`. b"" after an error."""
    compiled: tuple[bytes, ...] = ()
    """The `Compiled` objects of the result, each as the bytes that `compile_cache.pack` returns, in the order in which
    they were taken out of `text`."""
    headers: Mapping[Place, str] = {}
    """Place of each toolchain header that the compiler read -> SHA-256 of the header."""
    folders: tuple[str, ...] = ()
    """Absolute paths of the toolchain's header folders on the machine that ran the call, in the order of the job's
    include folders; () for a link, and for a job without such folders."""


class RemoteCall:
    """A call for another machine. The constructor raises ValueError unless the call's argument contains just one
    job, which another machine can run: kernels in Python need the modules of this one."""

    def __init__(self, call: Call[Any]) -> None:
        self._text, jobs = split((call.function, call.argument), Job, LinkJob)
        if len(jobs) != 1 or (isinstance(jobs[0], Job) and (jobs[0].python_compiler or jobs[0].tileiras)):
            raise ValueError("the call must be about one job that another machine can run")
        self.call = call
        self.job: Job | LinkJob = jobs[0]

    @property
    def needs_nvvm(self) -> bool:
        """Whether the job needs libNVVM."""
        return isinstance(self.job, Job) and bool(self.job.libdevice)

    @property
    def label(self) -> str:
        """The source (of a link the module) and the architecture of the job: "k.cu for 90a"."""
        name = self.job.source if isinstance(self.job, Job) else self.job.module
        return f"{name} for {self.job.arch}"

    def pack(
        self, versions: Versions, timeout: float, memory: int | None, files: Callable[..., Mapping[str, bytes]]
    ) -> bytes:
        """Return the call as bytes, for `remote_worker.answer`.

        `versions` are those of this machine. `timeout` is in seconds; `memory` in bytes, or None without a limit.
        `files` is the function `dask_cluster.files_to_send`. Raises NotPortableError if the other machine might not
        have a file that the job needs.
        """
        job: Job | LinkJob
        contents: Mapping[str, bytes] = {}
        if isinstance(self.job, LinkJob):
            job = replace(self.job, include_dirs=())
        else:
            if self.job.system_dirs:
                raise NotPortableError(
                    f"{self.job.source} includes headers of system-include-dirs, which a cluster's workers need not "
                    "have: this machine compiles it."
                )
            folders = tuple(folder for folder in self.job.include_dirs if not os.path.isabs(folder))
            if self.job.kind == "cuda":
                contents = files(self.job.root, self.job.source, self.job.text, self.job.options, folders)
            # A `libdevice` that is not empty says that the job needs one.
            libdevice = "needed" if self.job.libdevice else ""
            job = replace(self.job, library="", root="", include_dirs=folders, libdevice=libdevice)
        parcel = Parcel(self._text, job, contents, versions, self.call.options, self.call.timed, timeout, memory)
        # Other releases may be unable to unpickle the parcel, so the version stays outside of it.
        return pickle.dumps((__version__, zlib.compress(pickle.dumps(parcel), 1)))

    def result(self, content: bytes, digest: str, hash_file: Callable[[str], str | None]) -> Any:
        """Return the result that the call would have on this machine, or raise the error that it would raise.

        `content` and `digest` are the reply and its SHA-256 from `remote_worker.answer`. `hash_file` returns the
        SHA-256 of a file of this machine; None if there is no file. Raises UnfitMachineError if the machines' headers
        differ, and ValueError if `content` does not have the SHA-256 `digest`.
        """
        if sha256(content).hexdigest() != digest:
            raise ValueError("the SHA-256 of the result differs from the one that was sent with it")
        reply: Reply = pickle.loads(zlib.decompress(content))
        if reply.error is not None:
            raise reply.error
        job = self.job if isinstance(self.job, Job) else None
        for place, value in reply.headers.items():
            if job is not None and hash_file(path_of(place, job)) != value:
                raise UnfitMachineError(
                    f"{reply.where} cannot run this build's jobs: its {place[1]} differs from this machine's "
                    f"({path_of(place, job)}). Install the same versions of the header packages on both."
                )
        return join(reply.text, [_with_local_folders(unpack(each, job), reply, job) for each in reply.compiled])


def _with_local_folders(compiled: Compiled, reply: Reply, job: Job | None) -> Compiled:
    """Return `compiled` with the paths in its log changed: each toolchain folder of the machine that ran the call is
    replaced by the same folder on this machine. `job` is None for a link."""
    log = compiled.log
    for there, here in zip(reply.folders, () if job is None else absolute_folders(job), strict=True):
        log = log.replace(there + os.sep, here + os.sep)
    return replace(compiled, log=log)


def absolute_folders(job: Job) -> tuple[str, ...]:
    """Return the include folders of a job that are absolute paths, and so are not in the project."""
    return tuple(folder for folder in job.include_dirs if os.path.isabs(folder))


class _Splitter(pickle.Pickler):
    """Pickles a value, but collects the objects of the given types inside it in `parts` instead of pickling them."""

    def __init__(self, file: io.BytesIO, types: tuple[type, ...]) -> None:
        super().__init__(file)
        self.types = types
        self.parts: list[Any] = []

    def persistent_id(self, value: Any) -> int | None:
        if not isinstance(value, self.types):
            return None
        self.parts.append(value)
        return len(self.parts) - 1


class _Joiner(pickle.Unpickler):
    def __init__(self, text: bytes, parts: list[Any]) -> None:
        super().__init__(io.BytesIO(text))
        self.parts = parts

    def persistent_load(self, number: int) -> Any:
        return self.parts[number]


def split(value: Any, *types: type) -> tuple[bytes, list[Any]]:
    """Return a pickled value without the objects of the given types inside it, and the list of these objects."""
    file = io.BytesIO()
    splitter = _Splitter(file, types)
    splitter.dump(value)
    return file.getvalue(), splitter.parts


def join(text: bytes, parts: list[Any]) -> Any:
    """Return the value that `split` pickled as `text`, with `parts` in place of the objects that it took out."""
    return _Joiner(text, parts).load()
