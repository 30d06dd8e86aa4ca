"""Make a compiler's call one that another machine can answer: with all that it reads, but the toolchain.

What decides the images travels by content, and the other machine's toolchain has to be the same. What would come out
otherwise there than here is said to be so, and left to this machine.
"""

from __future__ import annotations

import io
import os
import pickle
import re
import sys
import tempfile
import threading
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from cuda_wheel import __version__
from cuda_wheel.builder.cache.compile_cache import Place, holds_folder, packed, path_of, place_of, unpacked
from cuda_wheel.builder.errors import ToolchainError
from cuda_wheel.builder.images import ptx_text
from cuda_wheel.builder.jobs import Compiled, Job, LinkJob
from cuda_wheel.builder.sources.includes import reachable
from cuda_wheel.builder.sources.paths import files_below
from cuda_wheel.builder.toolchain.find import find_nvvm, find_toolchain
from cuda_wheel.builder.toolchain.nvrtc import compile_text
from cuda_wheel.builder.toolchain.options import FORM_OPTIONS
from cuda_wheel.builder.toolchain.records import FURTHER_HEADERS, HEADERS, INCLUDE, Nvvm, Toolchain
from cuda_wheel.builder.workers.pool import Workers
from cuda_wheel.runtime import nvjitlink as nvjitlink_module
from cuda_wheel.runtime.errors import CudaWheelError

__all__ = [
    "Call",
    "NotPortable",
    "Unfit",
    "Versions",
    "answer",
    "files_of",
    "linker_release",
    "versions_of",
]


class NotPortable(Exception):
    """The call gives something else on another machine, or nobody can tell: it is for this one."""


class Unfit(ToolchainError):
    """A machine cannot do this build's calls: what it has installed is missing or different."""


class Versions(NamedTuple):
    """What decides the images beside a job and its files, in words; equal on machines that give the same."""

    system: str
    nvrtc: str
    nvjitlink: str
    headers: str
    nvvm: str
    """Empty for calls that need none."""

    def differences(self, there: Versions) -> str:
        """Return what another machine has otherwise, in words; empty where nothing is."""
        names = ("the operating system", "NVRTC", "nvJitLink", "the folders of headers", "libNVVM")
        pairs = zip(names, there, self, strict=True)
        return "; ".join(f"{name}: {other} there, {own} here" for name, other, own in pairs if other != own)


def versions_of(toolchain: Toolchain, nvjitlink: str, nvvm: Nvvm | None) -> Versions:
    """Return the versions of an environment; `nvjitlink` is what `linker_release` tells of it."""
    brought = [
        ", ".join(mark for mark in (*HEADERS.values(), *FURTHER_HEADERS.values()) if Path(folder, mark).is_file())
        for folder in toolchain.include_dirs
    ]
    headers = "; ".join(f"one with {marks}" for marks in brought)
    return Versions(sys.platform, toolchain.nvrtc, nvjitlink, headers, "" if nvvm is None else nvvm.release)


def linker_release(toolchain: Toolchain) -> str:
    """Return the exact release of nvJitLink, which tells no more than MAJOR.MINOR by itself. Runs in workers only."""
    arch = toolchain.supported[0]
    options = [f"--gpu-architecture=compute_{arch}", *FORM_OPTIONS["lto"]]
    nothing = compile_text(
        {
            "library": toolchain.libraries[0],
            "folder": tempfile.gettempdir(),
            "text": b"__global__ void k() {}",
            "name": "version.cu",
            "options": options,
            "expressions": [],
        }
    )
    code, _ = nvjitlink_module.link_code(
        [("LTOIR", "version.cu", nothing["ltoir"])], [f"-arch=sm_{arch}", "-lto", "-ptx"], True
    )
    return ptx_text.compiler_release(code.rstrip(b"\0").decode()) or toolchain.nvjitlink


# --- values without the objects that name folders --------------------------------------------------


class _Splitter(pickle.Pickler):
    """Pickles a value without its parts of some kinds, which it keeps."""

    def __init__(self, file: io.BytesIO, kinds: tuple[type, ...]) -> None:
        super().__init__(file)
        self.kinds = kinds
        self.parts: list[Any] = []

    def persistent_id(self, value: Any) -> int | None:
        if not isinstance(value, self.kinds):
            return None
        self.parts.append(value)
        return len(self.parts) - 1


class _Joiner(pickle.Unpickler):
    def __init__(self, text: bytes, parts: list[Any]) -> None:
        super().__init__(io.BytesIO(text))
        self.parts = parts

    def persistent_load(self, number: int) -> Any:
        return self.parts[number]


def _split(value: Any, *kinds: type) -> tuple[bytes, list[Any]]:
    """Return a value in bytes without its parts of those kinds, and these parts."""
    file = io.BytesIO()
    splitter = _Splitter(file, kinds)
    splitter.dump(value)
    return file.getvalue(), splitter.parts


def _joined(text: bytes, parts: list[Any]) -> Any:
    return _Joiner(text, parts).load()


# --- here ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Parcel:
    """A call, as it travels."""

    text: bytes
    """The function and its argument, without the job."""
    job: Job | LinkJob
    """Without what belongs to a machine."""
    files: Mapping[str, bytes]
    """Of the project, by path with "/"."""
    versions: Versions
    flavour: tuple[str, ...] | None
    timeout: float
    memory: int | None


class Answer(NamedTuple):
    """What a call gave elsewhere, as it travels."""

    where: str
    error: Exception | None
    text: bytes = b""
    """What the function returned, without what jobs gave."""
    compiled: tuple[bytes, ...] = ()
    headers: Mapping[Place, str] = {}
    """The SHA-256 of each header of the toolchain that was read."""
    folders: tuple[str, ...] = ()
    """Where the toolchain's headers lie there, for jobs that read any."""


class Call:
    """A call about one job, to be sent. ValueError where it is about none, or about several."""

    def __init__(self, function: Callable[[Any], Any], argument: Any) -> None:
        self._text, jobs = _split((function, argument), Job, LinkJob)
        if len(jobs) != 1:
            raise ValueError("a call about one job was expected")
        self.job: Job | LinkJob = jobs[0]

    @property
    def needs_nvvm(self) -> bool:
        return isinstance(self.job, Job) and bool(self.job.libdevice)

    @property
    def label(self) -> str:
        """The job in words."""
        name = self.job.source if isinstance(self.job, Job) else self.job.module
        return f"{name} for {self.job.arch}"

    def parcel(
        self,
        versions: Versions,
        flavour: tuple[str, ...] | None,
        timeout: float,
        memory: int | None,
        files: Callable[..., Mapping[str, bytes]],
    ) -> bytes:
        """Return the call in bytes. `files` is `files_of`; raises NotPortable as that does."""
        job: Job | LinkJob
        needed: Mapping[str, bytes] = {}
        if isinstance(self.job, LinkJob):
            job = replace(self.job, include_dirs=())
        else:
            folders = tuple(folder for folder in self.job.include_dirs if not os.path.isabs(folder))
            if self.job.kind == "cuda":
                needed = files(self.job.root, self.job.source, self.job.text, self.job.options, folders)
            # `libdevice` still tells that it is needed.
            job = replace(
                self.job, library="", root="", include_dirs=folders, libdevice="needed" * bool(self.job.libdevice)
            )
        parcel = Parcel(self._text, job, needed, versions, flavour, timeout, memory)
        # Only the same release is sure to read it.
        return pickle.dumps((__version__, zlib.compress(pickle.dumps(parcel), 1)))

    def result(self, content: bytes, digest: str, hashed: Callable[[str], str | None]) -> Any:
        """Return what the function would return here, of what `answer` gave; raise what it would raise.

        `hashed` returns the SHA-256 of a file of this machine. Raises Unfit where headers are others there, and
        ValueError where the content is not what was sent.
        """
        if sha256(content).hexdigest() != digest:
            raise ValueError("the result's SHA-256 is not the one that it was sent with")
        given: Answer = pickle.loads(zlib.decompress(content))
        if given.error is not None:
            raise given.error
        job = self.job if isinstance(self.job, Job) else None
        for place, value in given.headers.items():
            if job is not None and hashed(path_of(place, job)) != value:
                raise Unfit(
                    f"{given.where} cannot do this build's jobs: its {place[1]} is another than this machine's "
                    f"({path_of(place, job)}). Install the same versions of the packages of headers on both."
                )
        return _joined(given.text, [_relocated(unpacked(each, job), given, job) for each in given.compiled])


def _relocated(compiled: Compiled, answer: Answer, job: Job | None) -> Compiled:
    """Return what a job gave, with the toolchain's headers in its log where they lie here."""
    log = compiled.log
    for there, here in zip(answer.folders, () if job is None else _absolute(job), strict=True):
        log = log.replace(there + os.sep, here + os.sep)
    return replace(compiled, log=log)


def _absolute(job: Job) -> tuple[str, ...]:
    return tuple(folder for folder in job.include_dirs if os.path.isabs(folder))


_BY_OTHER_NAMES = re.compile(rb"__has_include|^[ \t]*#[ \t]*include(?:_next)?[ \t]+[A-Za-z_]", re.MULTILINE)
"""What may look for files that no `#include "x"` names."""


_FILE_OPTION = re.compile(r"--?(?:I|include|pre-include|pch|use-pch|create-pch)")
"""NVRTC's options that name files or folders. Source: NVRTC, "Supported Compile Options"."""


def files_of(
    root: str, source: str, text: bytes, options: Sequence[str], folders: Sequence[str]
) -> Mapping[str, bytes]:
    """Return the files of the project in `root` that a source may include, by project-relative path with "/".

    `text` is the source's, `folders` the project-relative ones that are searched, its own first. Raises NotPortable
    where it may read others.
    """
    if any(map(_FILE_OPTION.match, options)):
        raise NotPortable
    try:
        contents = {path: Path(path).read_bytes() for path, *_ in reachable(Path(root), source, folders).headers}
        if any(map(_BY_OTHER_NAMES.search, (text, *contents.values()))):
            own, *searched = folders
            further = [entry.path for entry in os.scandir(os.path.join(root, own)) if entry.is_file()]
            further += [os.path.join(root, path) for path in files_below(Path(root), searched)]
            contents |= {path: Path(path).read_bytes() for path in further}
    except OSError as error:
        raise NotPortable from error
    files = {os.path.relpath(path, root).replace(os.sep, "/"): content for path, content in contents.items()}
    if any(name.startswith("../") for name in files):
        raise NotPortable
    return files


# --- there --------------------------------------------------------------------------------------------


def answer(parcel: bytes, where: str, folder: str, count: int) -> tuple[bytes, str]:
    """Return what a call gave, for `Call.result`, and its SHA-256.

    `where` names this machine to the other; `folder` is for what is thrown away, and `count` how many calls there are
    at once at most.
    """
    version, content = pickle.loads(parcel)
    try:
        if version != __version__:
            raise Unfit(f"it has cuda-wheel {__version__}, and this machine {version}. Install the same on both.")
        given = _answer(pickle.loads(zlib.decompress(content)), where, folder, count)
    except ToolchainError as error:
        given = Answer(where, Unfit(f"{where} cannot do this build's jobs: {error}"))
    except (CudaWheelError, NotPortable) as error:
        given = Answer(where, error)
    content = zlib.compress(pickle.dumps(given), 1)
    return content, sha256(content).hexdigest()


def _answer(call: Parcel, where: str, folder: str, count: int) -> Answer:
    with _setting_up:
        workers = _pool(call.timeout, call.memory, count)
        toolchain, nvjitlink = _found()
        nvvm = _found_nvvm() if call.versions.nvvm else None
    differences = call.versions.differences(versions_of(toolchain, nvjitlink, nvvm))
    if differences:
        raise Unfit(f"it has other versions than this machine ({differences}). Install the same on both.")
    with tempfile.TemporaryDirectory(prefix="cuda-wheel-", dir=folder) as scratch:
        root = os.path.realpath(scratch)
        for name, content in call.files.items():
            path = Path(root, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        job = _settled(call.job, root, toolchain, nvvm)
        given = workers.submit(_called, (call.text, job), call.flavour).result()
    text, parts = _split(given, Compiled)
    if isinstance(job, LinkJob):
        return Answer(where, None, text, tuple(packed(each, None) for each in parts))
    return Answer(
        where,
        None,
        text,
        tuple(packed(each, job) for each in parts),
        {place: _hash(path_of(place, job)) for each in parts for place in _places(each, job) if place[0] != 0},
        _absolute(job),
    )


def _settled(job: Job | LinkJob, root: str, toolchain: Toolchain, nvvm: Nvvm | None) -> Job | LinkJob:
    """Return a job that came without what belongs to a machine, with this one's."""
    folders = (str(INCLUDE), *toolchain.include_dirs)
    if isinstance(job, LinkJob):
        return replace(job, include_dirs=folders)
    for folder in job.include_dirs:  # also those without files: "folder/../x.h" leads through one
        os.makedirs(os.path.join(root, folder), exist_ok=True)
    if job.libdevice and nvvm is not None:
        job = replace(job, library=nvvm.library, libdevice=nvvm.libdevice)
    else:
        job = replace(job, library=toolchain.libraries[0])
    return replace(job, root=root, include_dirs=(*job.include_dirs, *folders))


def _called(call: tuple[bytes, Job | LinkJob]) -> Any:
    """Return what the function returns, in a folder that will still be there for the next call."""
    text, job = call
    function, argument = _joined(text, [job])
    try:
        return function(argument)
    finally:
        os.chdir(tempfile.gettempdir())


def _places(compiled: Compiled, job: Job) -> list[Place]:
    """Return the places of what was read; raises NotPortable where they are none, or the images hold the folder's."""
    if compiled.headers is None or holds_folder(job, compiled):
        raise NotPortable
    places = [place for path in compiled.headers if (place := place_of(path, job)) is not None]
    if len(places) < len(compiled.headers):
        raise NotPortable
    return places


_setting_up = threading.Lock()
"""Held while what follows is called: what calls at once need is found once."""


@cache
def _pool(timeout: float, memory: int | None, count: int) -> Workers:
    # It is never closed: its workers end when this process does.
    return Workers(timeout, memory, count)


@cache
def _found() -> tuple[Toolchain, str]:
    """Return this machine's toolchain, and the exact release of its nvJitLink."""
    with Workers(timeout=60, memory=None, count=1) as workers:
        toolchain = workers.submit(find_toolchain, None).result()
        return toolchain, workers.submit(linker_release, toolchain).result()


@cache
def _found_nvvm() -> Nvvm:
    with Workers(timeout=60, memory=None, count=1) as workers:
        return workers.submit(find_nvvm, _found()[0]).result()


@cache
def _hash(path: str) -> str:
    return sha256(Path(path).read_bytes()).hexdigest()
