"""Run a call that another machine sent, in a worker of the cluster: the receiver's side of `job_transfer`."""

from __future__ import annotations

import os
import pickle
import tempfile
import threading
import zlib
from dataclasses import replace
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from cuda_wheel import __version__
from cuda_wheel.builder.cache.compile_cache import OUTSIDE, Place, contains_project_path, pack, path_of, place_of
from cuda_wheel.builder.cluster.job_transfer import (
    NotPortableError,
    Parcel,
    Reply,
    UnfitMachineError,
    absolute_folders,
    join,
    linker_release,
    split,
    versions_of,
)
from cuda_wheel.builder.errors import ToolchainError
from cuda_wheel.builder.jobs import Compiled, Job, LinkJob
from cuda_wheel.builder.timing import TimedError
from cuda_wheel.builder.toolchain.find import find_nvvm, find_toolchain
from cuda_wheel.builder.toolchain.toolchain import Nvvm, Toolchain
from cuda_wheel.builder.workers.executor import Call
from cuda_wheel.builder.workers.pool import Workers
from cuda_wheel.runtime.errors import CudaWheelError

__all__ = ["answer"]


def answer(parcel: bytes, where: str, folder: str, count: int) -> tuple[bytes, str]:
    """Run a call and return the reply, for `RemoteCall.result`, and the reply's SHA-256.

    `parcel` is the result of `RemoteCall.pack`. `where` is the name of this machine for the sender's messages, `folder`
    is for temporary files, and `count` is the maximum number of calls at once.
    """
    version, content = pickle.loads(parcel)
    try:
        if version != __version__:
            raise UnfitMachineError(
                f"it has cuda-wheel {__version__}, and this machine has {version}. Install the same version on both."
            )
        reply = _run(pickle.loads(zlib.decompress(content)), where, folder, count)
    except (CudaWheelError, NotPortableError, TimedError) as error:
        reply = Reply(where, _for_sender(error, where))
    content = zlib.compress(pickle.dumps(reply), 1)
    return content, sha256(content).hexdigest()


def _for_sender(error: Exception, where: str) -> Exception:
    """Return the exception to raise on the sender's machine for `error`, which was raised on this machine.

    A ToolchainError, alone or in a TimedError, becomes an UnfitMachineError that names this machine. Any other error is
    returned unchanged. If the error in a TimedError is not a CudaWheelError, it is raised here. `where` is the name of
    this machine.
    """
    if isinstance(error, TimedError):
        if not isinstance(error.error, CudaWheelError):
            raise error.error
        return TimedError(_for_sender(error.error, where), error.times)
    if isinstance(error, ToolchainError):
        return UnfitMachineError(f"{where} cannot run this build's jobs: {error}")
    return error


def _run(parcel: Parcel, where: str, folder: str, count: int) -> Reply:
    with _setup_lock:
        workers = _pool(parcel.timeout, parcel.memory, count)
        toolchain, nvjitlink = _find_toolchain()
        nvvm = _find_nvvm() if parcel.versions.nvvm else None
    differences = parcel.versions.differences(versions_of(toolchain, nvjitlink, nvvm))
    if differences:
        raise UnfitMachineError(
            f"it has other versions than this machine ({differences}). Install the same versions on both."
        )
    with tempfile.TemporaryDirectory(prefix="cuda-wheel-", dir=folder) as scratch:
        root = os.path.realpath(scratch)
        for name, content in parcel.files.items():
            path = Path(root, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        job = _with_local_paths(parcel.job, root, toolchain, nvvm)
        call = Call(_call_function, (parcel.text, job), parcel.options, timed=parcel.timed)
        text, results = split(workers.enqueue(call).result(), Compiled)
    if isinstance(job, LinkJob):
        return Reply(where, None, text, tuple(pack(result, None) for result in results))
    headers = [place for result in results for place in _places(result, job)]
    return Reply(
        where,
        None,
        text,
        tuple(pack(result, job) for result in results),
        {place: _hash_file(path_of(place, job)) for place in headers if place[0] != 0},
        absolute_folders(job),
    )


def _with_local_paths(job: Job | LinkJob, root: str, toolchain: Toolchain, nvvm: Nvvm | None) -> Job | LinkJob:
    """Return the job of a `Parcel` with the paths of this machine. Create a `Job`'s include folders in `root`.

    `root`: the folder with the project's files on this machine. `nvvm`: None if the job does not need libNVVM.
    """
    if isinstance(job, LinkJob):
        return replace(job, include_dirs=toolchain.header_folders)
    for folder in job.include_dirs:  # create those without files too, for includes such as "folder/../x.h"
        os.makedirs(os.path.join(root, folder), exist_ok=True)
    if job.libdevice and nvvm is not None:
        job = replace(job, library=nvvm.library, libdevice=nvvm.libdevice)
    else:
        job = replace(job, library=toolchain.libraries[0])
    return replace(job, root=root, include_dirs=toolchain.include_folders(job.include_dirs))


def _call_function(call: tuple[bytes, Job | LinkJob]) -> Any:
    """Run a call and return its result. `call` is (`Parcel.text` of the call, the call's job). Runs in workers only.

    Afterwards the worker's current folder is the one for temporary files.
    """
    text, job = call
    function, argument = join(text, [job])
    try:
        return function(argument)
    finally:
        # The project's folder is removed before the worker's next call.
        os.chdir(tempfile.gettempdir())


def _places(compiled: Compiled, job: Job) -> list[Place]:
    """Return the `Place` of each header that the compiler read.

    Raises NotPortableError if the headers are unknown, if a header is outside the project and the include folders, or
    if an image contains the path of the project's folder.
    """
    if compiled.headers is None or contains_project_path(job, compiled):
        raise NotPortableError
    places = [place_of(path, job) for path in compiled.headers]
    if any(number == OUTSIDE for number, _ in places):
        raise NotPortableError
    return places


_setup_lock = threading.Lock()
"""Lock to hold during calls of `_pool`, `_find_toolchain` and `_find_nvvm`. Without it, two threads could compute the
same result."""


# The workers end with this process.
_pool = cache(Workers)
"""`_pool(timeout, memory, count)` returns a pool of at most `count` worker processes. `timeout` is the limit of one
call in seconds, and `memory` that of one worker in bytes. Equal arguments give the same pool, which is never closed."""


@cache
def _find_toolchain() -> tuple[Toolchain, str]:
    """Return (toolchain of this machine, exact release of its nvJitLink). A worker process finds them at the first
    call."""
    with Workers(timeout=60, memory=None, count=1) as workers:
        toolchain = workers.submit(find_toolchain, None).result()
        return toolchain, workers.submit(linker_release, toolchain).result()


@cache
def _find_nvvm() -> Nvvm:
    with Workers(timeout=60, memory=None, count=1) as workers:
        return workers.submit(find_nvvm, _find_toolchain()[0]).result()


@cache
def _hash_file(path: str) -> str:
    return sha256(Path(path).read_bytes()).hexdigest()
